//! Questions about commands and permissions: asked on every surface there is, and silence never approves.

use super::aside::aside;
use super::open::{Ask, Open};
use super::turn::{Turn, WaitsFor};
use crate::ids::{ApprovalId, ThreadId};
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse};
use crate::protocol::event::{ApprovalRequested, ApprovalResolved, EventKind};
use crate::protocol::turn::InterruptedBy;
use crate::shown;

/// The open ones of a server.
pub type Approvals = Open<Approval>;

impl Ask for Approval {
    type Id = ApprovalId;
    type Answer = ApprovalResponse;

    fn id(&self) -> &ApprovalId {
        Self::id(self)
    }

    fn thread_id(&self) -> &ThreadId {
        Self::thread_id(self)
    }

    fn unanswered() -> ApprovalResponse {
        ApprovalResponse::decline()
    }
}

impl ApprovalResponse {
    /// What an unclear answer, a closed dialog and a lost client count as.
    pub fn decline() -> Self {
        Self {
            decision: ApprovalDecision::Decline,
            turn_id: None,
            feedback: None,
            permissions: None,
        }
    }
}

impl Turn {
    /// Asks the person, on every surface there is. `None` if the turn was stopped before the answer; the question is
    /// withdrawn then. The answer `cancel` stops the turn.
    pub async fn ask(&self, mut approval: Approval) -> Option<ApprovalResponse> {
        approval.set_agent(self.conversation.agent_name());
        if let Some(answer) = self.reviewed(&approval).await {
            return answer;
        }
        let risk = self.risk(&approval).await;
        if let Approval::Command(command) = &mut approval {
            command.risk = risk;
        }
        approval.set_notes(look_alikes(&approval).await);
        if self.cancel.is_cancelled() {
            return None;
        }
        let mut question = self.services.approvals.open(approval.clone());
        let _waiting = self.waiting(WaitsFor::Approval);
        let mut asked = Asked {
            turn: self,
            id: approval.id().clone(),
            decision: None,
        };
        self.publish(EventKind::ApprovalRequested(ApprovalRequested { approval }));
        let answer = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            response = question.answered() => Some(response),
        };
        asked.decision = answer.as_ref().map(|response| response.decision);
        drop(asked);
        if answer
            .as_ref()
            .is_some_and(|response| response.decision == ApprovalDecision::Cancel)
        {
            self.stop(InterruptedBy::Person);
        }
        answer
    }
}

/// What looks like something else in what a question asks. Looked for aside, since what is asked may be long.
async fn look_alikes(approval: &Approval) -> Vec<String> {
    let text = asked_text(approval);
    aside(move || shown::alike::notes(&text)).await
}

/// The names, addresses and commands that a yes would cover.
fn asked_text(approval: &Approval) -> String {
    match approval {
        Approval::Command(command) => format!("{} {}", command.command.join(" "), command.cwd.display()),
        Approval::Permission(asked) => {
            let paths = asked.folders.iter().chain(&asked.paths);
            let paths = paths.map(|path| path.display().to_string());
            let asks = asked.permissions.iter().map(ToString::to_string);
            paths.chain(asks).collect::<Vec<_>>().join(" ")
        }
        Approval::Tool(tool) => format!("{} {} {}", tool.server, tool.tool, tool.arguments),
    }
}

/// A question that was announced. However it ends, what shows it is told.
struct Asked<'a> {
    turn: &'a Turn,
    id: ApprovalId,
    /// Absent: withdrawn.
    decision: Option<ApprovalDecision>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.turn.publish_always(EventKind::ApprovalResolved(ApprovalResolved {
            approval_id: self.id.clone(),
            decision: self.decision,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::approval::CommandApproval;
    use crate::protocol::item::Confined;
    use std::sync::{Arc, Mutex};

    fn approval(id: &str) -> Approval {
        Approval::Command(CommandApproval {
            id: id.into(),
            thread_id: "t".into(),
            turn_id: "u".into(),
            item_id: "i".into(),
            agent: None,
            command: vec!["true".to_owned()],
            display: "true".to_owned(),
            script: None,
            cwd: "/".into(),
            actions: Vec::new(),
            reason: "a test".to_owned(),
            justification: None,
            confined: Confined::Workspace,
            risk: None,
            session_scope: "true".to_owned(),
            always_rule: None,
            notes: Vec::new(),
            available_decisions: vec![ApprovalDecision::Accept],
        })
    }

    fn yes() -> ApprovalResponse {
        ApprovalResponse {
            decision: ApprovalDecision::Accept,
            turn_id: None,
            feedback: None,
            permissions: None,
        }
    }

    /// Shows S-109, S-113.
    #[tokio::test]
    async fn the_fastest_answer_finds_its_waiter_and_a_second_one_has_no_effect() {
        let services = Approvals::default();
        for _ in 0..1000 {
            let mut question = services.open(approval("a"));
            assert!(services.answer(&"a".into(), yes()));
            assert!(!services.answer(&"a".into(), ApprovalResponse::decline()));
            assert_eq!(question.answered().await, yes());
        }
        assert!(services.pending(None).is_empty());
    }

    /// Shows S-112.
    #[tokio::test]
    async fn two_open_questions_each_get_their_own_answer() {
        let services = Approvals::default();
        let (mut a, mut b) = (services.open(approval("a")), services.open(approval("b")));
        assert!(services.answer(&"b".into(), yes()));
        assert!(services.answer(&"a".into(), ApprovalResponse::decline()));
        assert_eq!(a.answered().await, ApprovalResponse::decline());
        assert_eq!(b.answered().await, yes());
    }

    /// Shows S-110.
    #[tokio::test]
    async fn a_dropped_question_is_closed() {
        let services = Approvals::default();
        let question = services.open(approval("a"));
        assert_eq!(services.pending(Some(&"t".into())).len(), 1);
        drop(question);
        assert!(!services.answer(&"a".into(), yes()));
    }

    /// A writer that keeps what is logged.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("whole").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Shows S-111.
    #[tokio::test]
    async fn a_second_waiter_under_one_key_is_warned_of_and_the_first_counts_as_declined() {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        let services = Approvals::default();
        let (mut first, mut second) = tracing::subscriber::with_default(subscriber, || {
            (services.open(approval("the-key")), services.open(approval("the-key")))
        });
        assert!(services.answer(&"the-key".into(), yes()));
        assert_eq!(first.answered().await, ApprovalResponse::decline());
        assert_eq!(second.answered().await, yes());
        let logged = String::from_utf8(log.0.lock().expect("whole").clone()).expect("text");
        assert!(logged.contains("WARN") && logged.contains("the-key"), "{logged}");
    }
}
