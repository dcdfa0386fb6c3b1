//! The same question is not asked twice in one answer of the model.
//!
//! While a question is open, another about the same capability waits for its answer: if that was for the session or for
//! always, it is settled with it. The identical command is settled by any answer: a no holds for it too, and a yes for one
//! run has had its run.

use crate::exec::decide::Capability;
use crate::protocol::approval::ApprovalResponse;
use crate::protocol::item::Confined;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The questions about commands of one answer.
#[derive(Default)]
pub struct Asking {
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// One command as it would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub confined: Confined,
}

struct Asked {
    subject: Subject,
    scope: Capability,
    /// Absent while the question is open.
    answer: Option<ApprovalResponse>,
    /// Closed with the question.
    open: watch::Receiver<()>,
}

/// What is to be done about a question.
pub enum Entry {
    /// Ask it.
    Ask(Ticket),
    /// Another is open that may settle it: look again when that is closed.
    Wait(watch::Receiver<()>),
    /// The same command was asked about before in this answer.
    Answered(ApprovalResponse),
}

/// The right to ask. Dropped without an answer, the question counts as not asked.
pub struct Ticket {
    asked: Arc<Mutex<Vec<Asked>>>,
    subject: Subject,
    _open: watch::Sender<()>,
}

fn lock(asked: &Mutex<Vec<Asked>>) -> MutexGuard<'_, Vec<Asked>> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Asking {
    /// Another answer of the model: what was said before is said.
    pub fn begin_answer(&self) {
        lock(&self.asked).retain(|asked| asked.answer.is_none());
    }

    /// Whether a question is to be asked, and takes the right to.
    pub fn enter(&self, subject: &Subject, scope: &Capability) -> Entry {
        let mut asked = lock(&self.asked);
        for before in asked.iter() {
            let identical = before.subject == *subject;
            match &before.answer {
                Some(answer) if identical => return Entry::Answered(answer.clone()),
                None if identical || before.scope.covers(scope) => return Entry::Wait(before.open.clone()),
                _ => {}
            }
        }
        let (sender, open) = watch::channel(());
        asked.push(Asked {
            subject: subject.clone(),
            scope: scope.clone(),
            answer: None,
            open,
        });
        Entry::Ask(Ticket {
            asked: self.asked.clone(),
            subject: subject.clone(),
            _open: sender,
        })
    }
}

impl Ticket {
    /// The question is answered.
    pub fn answered(self, answer: &ApprovalResponse) {
        let mut asked = lock(&self.asked);
        if let Some(own) = asked.iter_mut().find(|asked| asked.is_open(&self.subject)) {
            own.answer = Some(answer.clone());
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
        lock(&self.asked).retain(|asked| !asked.is_open(&self.subject));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::approval::ApprovalDecision;
    use std::path::Path;

    fn subject(text: &str) -> (Subject, Capability) {
        let argv: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let scope = Capability::of(&argv, Path::new("/w"), Confined::Workspace, text.starts_with("rm"));
        let subject = Subject {
            argv,
            cwd: "/w".into(),
            confined: Confined::Workspace,
        };
        (subject, scope)
    }

    fn enter(asking: &Asking, text: &str) -> Entry {
        let (subject, scope) = subject(text);
        asking.enter(&subject, &scope)
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
    fn what_is_asked_each_time_waits_only_for_itself() {
        let asking = Asking::default();
        let first = enter(&asking, "rm -rf a");
        assert!(matches!(first, Entry::Ask(_)));
        assert!(matches!(enter(&asking, "rm -rf b"), Entry::Ask(_)));
        assert!(matches!(enter(&asking, "rm -rf a"), Entry::Wait(_)));
        assert_eq!(no().decision, ApprovalDecision::Decline);
    }
}
