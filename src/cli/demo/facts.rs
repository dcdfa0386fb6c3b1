//! What really happened, noted where it was seen, and judged at the end.

use super::project::{CLOSED, OPEN};

/// What the person said to the proposal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) open_file: bool,
    pub(super) closed_file: bool,
}

impl Accepted {
    pub(super) fn all(self) -> bool {
        self.open_file && self.closed_file
    }

    pub(super) fn nothing(self) -> bool {
        !self.open_file && !self.closed_file
    }
}

/// Each is false until it was seen.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) failed_before: bool,
    pub(super) action_offered: bool,
    pub(super) agent_read_unsaved_text: bool,
    pub(super) agent_saw_failure: bool,
    /// The command failed, the server said why, and the file is not there.
    pub(super) sandbox_stopped: bool,
    pub(super) asked_before_leaving: bool,
    /// The answer to that question.
    pub(super) may_leave: bool,
    /// After a no the file is not there; after a yes it is.
    pub(super) answer_respected: bool,
    pub(super) proposed_both_files: bool,
    pub(super) untouched_before_answer: bool,
    pub(super) accepted: Accepted,
    /// Through the editor, with the unsaved line as it was, and not on the disk at once.
    pub(super) open_file_exact: bool,
    pub(super) closed_file_exact: bool,
    /// The server told that text of the person's would go with it, and nothing was saved before the answer.
    pub(super) asked_before_saving: bool,
    /// The answer to that question.
    pub(super) may_save: bool,
    pub(super) saved_for_test: bool,
    /// The status of the agent's second test run.
    pub(super) agent_test_status: Option<i32>,
    /// The result of the demonstration's own last run.
    pub(super) passes_now: bool,
    pub(super) turn_completed: bool,
    pub(super) server_ended_well: bool,
}

/// One judgement: what should have happened, and whether it did.
pub(super) type Check = (String, bool);

impl Facts {
    /// Whether the whole change is on the disk, where the test sees it.
    fn passes_expected(&self) -> bool {
        self.accepted.all() && self.may_save
    }

    /// All that must be true, in the order in which it happens.
    pub(super) fn checks(&self) -> Vec<Check> {
        let check = |words: &str, held: bool| (words.to_owned(), held);
        let mut checks = vec![
            check("the test failed before", self.failed_before),
            check("Fix with agent was offered", self.action_offered),
            check("the agent read the unsaved line", self.agent_read_unsaved_text),
            check("its test run failed in the sandbox", self.agent_saw_failure),
            check("the write outside was stopped", self.sandbox_stopped),
            check("it asked before leaving the sandbox", self.asked_before_leaving),
        ];
        checks.push(match self.may_leave {
            false => check("after the no, nothing ran", self.answer_respected),
            true => check("after the yes, it ran outside", self.answer_respected),
        });
        checks.push(check("the proposal covers both files", self.proposed_both_files));
        checks.push(check("no file touched before the answer", self.untouched_before_answer));
        if self.accepted.nothing() {
            checks.push(check(
                "both files are as they were",
                self.open_file_exact && self.closed_file_exact,
            ));
            checks.push(check("the turn was completed", self.turn_completed));
        } else {
            let open = match self.accepted.open_file {
                true => format!("{OPEN} exact, your line kept"),
                false => format!("{OPEN} untouched, your line kept"),
            };
            let closed = match self.accepted.closed_file {
                true => format!("{CLOSED} exact"),
                false => format!("{CLOSED} untouched"),
            };
            checks.push((open, self.open_file_exact));
            checks.push((closed, self.closed_file_exact));
            if self.accepted.open_file {
                checks.push(check("it asked before saving your line", self.asked_before_saving));
                checks.push(match self.may_save {
                    true => check("after the yes, it was saved", self.saved_for_test),
                    false => check("after the no, it was not saved", !self.saved_for_test),
                });
            }
            if self.passes_expected() {
                let passed = self.agent_test_status == Some(0);
                checks.push(check("its test run passed in the sandbox", passed));
                checks.push(check("the test passes now", self.passes_now));
            } else {
                let failed = self.agent_test_status.is_some_and(|status| status != 0);
                let words = match self.accepted.all() {
                    true => "with half of it saved the test fails",
                    false => "with half of it the test fails",
                };
                checks.push(check(words, failed && !self.passes_now));
            }
            checks.push(check("the turn was completed", self.turn_completed));
        }
        checks.push(check("the server ended in order", self.server_ended_well));
        checks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_holds_of_itself_and_rejecting_is_judged_by_what_stayed() {
        assert!(Facts::default().checks().iter().all(|(_, held)| !held));
        let rejected = Facts {
            open_file_exact: true,
            closed_file_exact: true,
            ..Facts::default()
        };
        let held = |facts: &Facts, words: &str| facts.checks().iter().any(|(text, held)| *held && text.contains(words));
        assert!(held(&rejected, "as they were"));
        let half = Facts {
            accepted: Accepted {
                open_file: true,
                closed_file: false,
            },
            agent_test_status: Some(1),
            ..Facts::default()
        };
        assert!(held(&half, "half"));
        assert!(!held(
            &Facts {
                passes_now: true,
                ..half
            },
            "half"
        ));
    }
}
