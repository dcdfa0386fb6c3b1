//! The same question is not asked twice in one answer of the model.
//!
//! While a question is open, another about the same capability waits for its answer: if that was for the session or for
//! always, it is settled with it. The identical command is settled by any answer: a no holds for it too, and a yes for one
//! run has had its run.

use crate::exec::decide::{Capability, Planted};
use crate::protocol::approval::ApprovalResponse;
use crate::protocol::item::Confined;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The questions about commands of one answer.
#[derive(Default)]
pub struct Asking {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    asked: Vec<Asked>,
    /// How many answers there were in the whole turn.
    answers: Answers,
}

/// A point in the row of answers: what was decided at it knows of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answers(u64);

/// One command as it would run, with what its words come to on the disk as it is. An answer is about all of that: where
/// links, repositories and programs have changed since, it is another question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub confined: Confined,
    /// What a yes for the session covers: the reach of the command and the repository that it acts on.
    pub scope: Capability,
    /// The program in it that commands could have put there.
    pub planted: Option<Planted>,
}

struct Asked {
    subject: Subject,
    /// Absent while the question is open. With it, when it came.
    answer: Option<(ApprovalResponse, Answers)>,
    /// Closed with the question.
    open: watch::Receiver<()>,
}

/// What is to be done about a question.
pub enum Entry {
    /// Ask it.
    Ask(Ticket),
    /// Another is open that may settle it: look again when that is closed.
    Wait(watch::Receiver<()>),
    /// Another was answered since it was decided on, which may settle it: look again.
    LookAgain,
    /// The same command was asked about before in this answer.
    Answered(ApprovalResponse),
}

/// The right to ask. Dropped without an answer, the question counts as not asked.
pub struct Ticket {
    state: Arc<Mutex<State>>,
    subject: Subject,
    _open: watch::Sender<()>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Asking {
    /// Another answer of the model: what was said before is said.
    pub fn begin_answer(&self) {
        lock(&self.state).asked.retain(|asked| asked.answer.is_none());
    }

    /// How far the answers are, to be read before a command is decided on.
    pub fn answers(&self) -> Answers {
        lock(&self.state).answers
    }

    /// Whether a question is to be asked, and takes the right to. That there is one was decided with what the answers up
    /// to `known` gave.
    pub fn enter(&self, subject: &Subject, known: Answers) -> Entry {
        let mut state = lock(&self.state);
        for before in &state.asked {
            let identical = before.subject == *subject;
            let related = identical || before.subject.scope.covers(&subject.scope);
            match &before.answer {
                Some((_, at)) if related && *at > known => return Entry::LookAgain,
                Some((answer, _)) if identical => return Entry::Answered(answer.clone()),
                None if related => return Entry::Wait(before.open.clone()),
                _ => {}
            }
        }
        let (sender, open) = watch::channel(());
        state.asked.push(Asked {
            subject: subject.clone(),
            answer: None,
            open,
        });
        Entry::Ask(Ticket {
            state: self.state.clone(),
            subject: subject.clone(),
            _open: sender,
        })
    }
}

impl Ticket {
    /// The question is answered, and what the answer gives is kept already.
    pub fn answered(self, answer: &ApprovalResponse) {
        let mut state = lock(&self.state);
        state.answers.0 += 1;
        let at = state.answers;
        if let Some(own) = state.asked.iter_mut().find(|asked| asked.is_open(&self.subject)) {
            own.answer = Some((answer.clone(), at));
        }
    }
}

impl Asked {
    fn is_open(&self, subject: &Subject) -> bool {
        self.answer.is_none() && self.subject == *subject
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        lock(&self.state).asked.retain(|asked| !asked.is_open(&self.subject));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::decide::Scene;
    use crate::protocol::approval::ApprovalDecision;
    use std::path::Path;

    fn subject(text: &str) -> Subject {
        let argv: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let scope = Capability::of(
            &argv,
            Scene::at(Path::new("/w")),
            Confined::Workspace,
            text.starts_with("rm"),
        );
        Subject {
            argv,
            cwd: "/w".into(),
            confined: Confined::Workspace,
            scope,
            planted: None,
        }
    }

    fn enter(asking: &Asking, text: &str) -> Entry {
        asking.enter(&subject(text), asking.answers())
    }

    fn no() -> ApprovalResponse {
        ApprovalResponse::decline()
    }

    #[tokio::test]
    async fn what_one_answer_settles() {
        let asking = Asking::default();
        let Entry::Ask(ticket) = enter(&asking, "cargo test a") else {
            panic!("the first asks")
        };
        // The same capability waits, another does not.
        let Entry::Wait(mut open) = enter(&asking, "cargo test b") else {
            panic!("it waits")
        };
        assert!(matches!(enter(&asking, "cargo build"), Entry::Ask(_)));
        ticket.answered(&no());
        assert!(open.changed().await.is_err(), "closed");
        // A no to one is none to the other, but to the identical one it is.
        assert!(matches!(enter(&asking, "cargo test a"), Entry::Answered(answer) if answer == no()));
        let Entry::Ask(second) = enter(&asking, "cargo test b") else {
            panic!("it asks")
        };
        // Withdrawn: it was never asked.
        drop(second);
        assert!(matches!(enter(&asking, "cargo test b"), Entry::Ask(_)));
        asking.begin_answer();
        assert!(matches!(enter(&asking, "cargo test a"), Entry::Ask(_)));
    }

    #[test]
    fn what_an_answer_gave_meanwhile_is_looked_at_before_anything_is_asked() {
        let asking = Asking::default();
        let known = asking.answers();
        let Entry::Ask(ticket) = enter(&asking, "mkdir a") else {
            panic!("the first asks")
        };
        ticket.answered(&no());
        for text in ["mkdir a", "mkdir b"] {
            assert!(
                matches!(asking.enter(&subject(text), known), Entry::LookAgain),
                "{text}"
            );
        }
        assert!(matches!(asking.enter(&subject("touch a"), known), Entry::Ask(_)));
        assert!(matches!(enter(&asking, "mkdir a"), Entry::Answered(_)));
        assert!(matches!(enter(&asking, "mkdir b"), Entry::Ask(_)));
    }

    #[test]
    fn the_same_words_in_another_world_are_another_question() {
        let asking = Asking::default();
        let before = subject("cp a d/b");
        let Entry::Ask(ticket) = asking.enter(&before, asking.answers()) else {
            panic!("the first asks")
        };
        ticket.answered(&no());
        assert!(matches!(asking.enter(&before, asking.answers()), Entry::Answered(_)));
        let planted = Subject {
            planted: Some(Planted {
                name: "cp".to_owned(),
                path: "/w/bin/cp".into(),
                others: Vec::new(),
                is_in_path: true,
            }),
            ..before.clone()
        };
        let elsewhere = Subject {
            scope: subject("cp a /etc/b").scope,
            ..before
        };
        for other in [planted, elsewhere] {
            assert!(
                matches!(asking.enter(&other, asking.answers()), Entry::Ask(_)),
                "{other:?}"
            );
        }
    }

    #[test]
    fn what_is_asked_each_time_waits_only_for_itself() {
        let asking = Asking::default();
        let first = enter(&asking, "rm -rf a");
        assert!(matches!(first, Entry::Ask(_)));
        assert!(matches!(enter(&asking, "rm -rf b"), Entry::Ask(_)));
        assert!(matches!(enter(&asking, "rm -rf a"), Entry::Wait(_)));
        assert_eq!(no().decision, ApprovalDecision::Decline);
    }
}
