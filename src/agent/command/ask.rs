//! The question to the person before a command runs: what it shows, what a yes keeps, and what a no comes to.

use super::Run;
use crate::agent::asking::{Answers, Entry, Subject, Ticket};
use crate::agent::line;
use crate::exec::decide::{Beside, Hooks, Scopes};
use crate::exec::{command, rules};
use crate::ids::{ApprovalId, ItemId};
use crate::protocol::approval::{AlwaysRule, Approval, ApprovalDecision, ApprovalResponse, CommandApproval};
use crate::protocol::item::{Confined, ItemStatus};
use crate::shown;
use crate::tools::ToolOutput;
use std::path::Path;

/// What comes of the wish to ask.
pub(super) enum Asked {
    /// The person said yes.
    Yes,
    /// They did not, or cannot any more; this is what the model is told.
    No(ToolOutput),
    /// Another question may have settled this one: decide again.
    LookAgain,
}

impl Run<'_> {
    /// What a question would be about.
    pub(super) fn subject(&self, confined: Confined, scopes: &Scopes) -> Subject {
        Subject {
            argv: self.argv.clone(),
            cwd: self.cwd.clone(),
            confined,
            scope: scopes.session.clone(),
            planted: scopes.planted.clone(),
        }
    }

    /// Asks the person, unless they have been asked the same in this answer. It was decided with what the answers up to
    /// `known` gave.
    pub(super) async fn ask(
        &self,
        id: &ItemId,
        reason: String,
        subject: &Subject,
        scopes: &Scopes,
        known: Answers,
    ) -> Asked {
        let confined = subject.confined;
        let ticket = match self.turn.asking.enter(subject, known) {
            Entry::Ask(ticket) => ticket,
            Entry::Answered(answer) => return Asked::No(self.repeated(id, confined, &answer)),
            Entry::LookAgain => return Asked::LookAgain,
            Entry::Wait(mut open) => {
                line::decided();
                tokio::select! {
                    biased;
                    () = self.turn.cancel.cancelled() => return Asked::No(self.never_begun(confined)),
                    _closed = open.changed() => return Asked::LookAgain,
                }
            }
        };
        self.begin(id, confined);
        line::decided();
        let said = match (&scopes.planted, confined) {
            (Some(planted), _) => Some(planted.to_string()),
            (None, Confined::Outside) => command::runs_what_the_folder_says(&self.argv).map(|name| {
                format!("`{name}` runs what files of the folder say, which commands of the agent can change.")
            }),
            (None, _) => None,
        };
        let beside = scopes.beside.as_ref().map(Beside::to_string);
        let hooks = scopes.hooks.as_deref().map(Hooks::to_string);
        let untold = "Which files it reads and writes is only known when it runs, so you are asked each time.";
        let untold = scopes.is_untold.then(|| untold.to_owned());
        let reason = [Some(reason), said, hooks, beside, untold]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        let Some(response) = self.put(id, reason, confined, scopes, ticket).await else {
            return Asked::No(self.stopped(id, confined));
        };
        match response.decision.is_yes() {
            true => Asked::Yes,
            false => Asked::No(self.denied(id, confined, &response)),
        }
    }

    /// What the person's shell is given to run, where that says all.
    fn script(&self) -> Option<&str> {
        let persons_shell = self.turn.services.env.get("SHELL").map(String::as_str);
        command::asked(&self.argv, persons_shell)
    }

    /// The command as one line.
    pub(super) fn as_asked(&self) -> String {
        match self.script() {
            Some(script) if !script.contains('\n') => script.to_owned(),
            _ => command::display(&self.argv),
        }
    }

    /// Puts the question and keeps what the answer gives. `None` if the turn was stopped before the answer; the question
    /// is withdrawn then.
    async fn put(
        &self,
        id: &ItemId,
        reason: String,
        confined: Confined,
        scopes: &Scopes,
        ticket: Ticket,
    ) -> Option<ApprovalResponse> {
        let turn = self.turn;
        let question = ApprovalId::fresh();
        let approval = CommandApproval {
            id: question.clone(),
            thread_id: turn.conversation.id.clone(),
            turn_id: turn.id.clone(),
            item_id: id.clone(),
            agent: None,
            command: self.argv.clone(),
            display: shown::exact(&self.as_asked()),
            script: self.script().filter(|script| script.contains('\n')).map(shown::lines),
            cwd: self.cwd.clone(),
            actions: self.actions.clone(),
            reason,
            justification: self.justification.clone(),
            confined,
            risk: None,
            session_scope: scopes.session.to_string(),
            always_rule: always_rule(scopes, &turn.services.home),
            notes: Vec::new(),
            available_decisions: available_decisions(scopes),
        };
        let response = turn.ask(Approval::Command(approval)).await?;
        match response.decision {
            ApprovalDecision::AcceptForSession => turn.conversation.data().grants.add(scopes.session.clone()),
            ApprovalDecision::AcceptAlways => self.keep(scopes, &response, &question).await,
            ApprovalDecision::Accept | ApprovalDecision::Decline | ApprovalDecision::Cancel => {}
        }
        ticket.answered(&response);
        Some(response)
    }

    /// Writes the rule that the question showed, then notes it in the conversation. If it cannot be written the person is
    /// told why; their yes holds for this once.
    async fn keep(&self, scopes: &Scopes, response: &ApprovalResponse, question: &ApprovalId) {
        let turn = self.turn;
        let about = match &response.turn_id {
            Some(_) => String::new(),
            None => format!(" (question {question})"),
        };
        let Some(new) = scopes.always.clone() else {
            return turn.warn(format!(
                "No rule was saved for {}, so your yes holds for this one run only{about}: none was offered, since it \
                 would be too broad or would have no effect.",
                scopes.session.in_short()
            ));
        };
        let home = turn.services.home.clone();
        let written = tokio::task::spawn_blocking(move || rules::add_rules(&home, &new)).await;
        let failure = match written {
            Ok(Ok(file)) => {
                tracing::info!(thread = %turn.conversation.id, file = %file.display(), "a rule for always was written");
                turn.conversation.note(format!(
                    "The person has allowed this for always: {}. The rule is in {}; commands that fall under it run without a \
                     question from now on.",
                    scopes.session,
                    file.display()
                ));
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => format!("writing it broke off ({error})"),
        };
        turn.warn(format!(
            "The rule for {} was not saved, so it holds for this one run only{about}: {failure}",
            scopes.session.in_short()
        ));
    }

    fn stopped(&self, id: &ItemId, confined: Confined) -> ToolOutput {
        let words = "The turn was stopped before the person answered; the command was not run.";
        self.not_run(id, confined, ItemStatus::Interrupted, words);
        ToolOutput::not_done(words)
    }

    fn denied(&self, id: &ItemId, confined: Confined, response: &ApprovalResponse) -> ToolOutput {
        self.not_run(id, confined, ItemStatus::Declined, "The person said no.");
        let words = feedback(response)
            .unwrap_or_else(|| " Do not try to reach the same by another command; find another way or ask.".to_owned());
        ToolOutput::not_done(format!("The person rejected this command; it was not run.{words}"))
    }

    /// The same command came twice in one answer, and the person has answered about it.
    fn repeated(&self, id: &ItemId, confined: Confined, before: &ApprovalResponse) -> ToolOutput {
        if before.decision.is_yes() {
            let words = "The person allowed one run of this command, and this answer asked for it twice.";
            self.not_run(id, confined, ItemStatus::Declined, words);
            return ToolOutput::not_done(
                "Not run again: you called this same command twice in one answer, and the person allowed one run, which the other \
                 call has had. If a second run is needed, call it again now.",
            );
        }
        self.not_run(
            id,
            confined,
            ItemStatus::Declined,
            "The person said no to the same command.",
        );
        let words = feedback(before).unwrap_or_default();
        ToolOutput::not_done(format!(
            "The person rejected this same command a moment ago; it was not run, and they were not asked again.{words}"
        ))
    }
}

fn feedback(response: &ApprovalResponse) -> Option<String> {
    let words = response.feedback.as_deref().map(str::trim);
    words
        .filter(|words| !words.is_empty())
        .map(|words| format!(" They say: {words}"))
}

/// What a yes for always would write, as it is shown before it is given.
fn always_rule(scopes: &Scopes, home: &Path) -> Option<AlwaysRule> {
    let new = scopes.always.as_ref()?;
    let tables: Vec<String> = new.iter().map(rules::NewRule::to_toml).collect();
    let outside = if new.iter().any(|rule| rule.outside) {
        "outside the sandbox"
    } else {
        "as the sandbox policy confines it"
    };
    Some(AlwaysRule {
        text: format!("{}, {outside}, in every session", scopes.session.parts_in_words()),
        title: scopes.session.in_short(),
        toml: tables.join("\n"),
        file: rules::always_file(home),
    })
}

/// What the person may answer: some commands are asked about each time, some are too broad for always.
fn available_decisions(scopes: &Scopes) -> Vec<ApprovalDecision> {
    let session = scopes
        .session
        .can_be_remembered()
        .then_some(ApprovalDecision::AcceptForSession);
    let always = scopes.always.as_ref().map(|_| ApprovalDecision::AcceptAlways);
    let all = [
        Some(ApprovalDecision::Accept),
        session,
        always,
        Some(ApprovalDecision::Decline),
        Some(ApprovalDecision::Cancel),
    ];
    all.into_iter().flatten().collect()
}
