//! The question to the person before a command runs, and what a no comes to.

use super::Run;
use crate::exec::decide::Capability;
use crate::ids::{ApprovalId, ItemId};
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse, CommandApproval};
use crate::protocol::item::{Confined, ItemStatus};
use crate::tools::ToolOutput;

impl Run<'_> {
    /// Asks the person. `None` if the turn was stopped before the answer; the question is withdrawn then.
    pub(super) async fn ask(
        &self,
        id: &ItemId,
        reason: String,
        confined: Confined,
        scope: &Capability,
    ) -> Option<ApprovalResponse> {
        let turn = self.turn;
        let approval = CommandApproval {
            id: ApprovalId::fresh(),
            thread_id: turn.conversation.id.clone(),
            turn_id: turn.id.clone(),
            item_id: id.clone(),
            command: self.argv.clone(),
            cwd: self.cwd.clone(),
            actions: self.actions.clone(),
            reason,
            justification: self.justification.clone(),
            confined,
            risk: None,
            session_scope: scope.to_string(),
            available_decisions: available_decisions(scope),
        };
        let answer = turn.ask(Approval::Command(approval)).await;
        if answer
            .as_ref()
            .is_some_and(|response| response.decision == ApprovalDecision::AcceptForSession)
        {
            turn.conversation.data().grants.add(scope.clone());
        }
        answer
    }

    /// The output for a no; nothing for a yes.
    pub(super) fn denied(
        &self,
        id: &ItemId,
        confined: Confined,
        response: Option<&ApprovalResponse>,
    ) -> Option<ToolOutput> {
        let Some(response) = response else {
            let words = "The turn was stopped before the person answered; the command was not run.";
            self.not_run(id, confined, ItemStatus::Interrupted, words);
            return Some(ToolOutput::not_done(words));
        };
        match response.decision {
            ApprovalDecision::Accept | ApprovalDecision::AcceptForSession | ApprovalDecision::AcceptAlways => {
                return None;
            }
            ApprovalDecision::Decline | ApprovalDecision::Cancel => {}
        }
        self.not_run(id, confined, ItemStatus::Declined, "The person said no.");
        let words = match response
            .feedback
            .as_deref()
            .map(str::trim)
            .filter(|words| !words.is_empty())
        {
            Some(words) => format!(" They say: {words}"),
            None => " Do not try to reach the same by another command; find another way or ask.".to_owned(),
        };
        Some(ToolOutput::not_done(format!(
            "The person rejected this command; it was not run.{words}"
        )))
    }
}

/// What the person may answer: some commands are asked about each time.
fn available_decisions(scope: &Capability) -> Vec<ApprovalDecision> {
    let session = scope.can_be_remembered().then_some(ApprovalDecision::AcceptForSession);
    let all = [
        Some(ApprovalDecision::Accept),
        session,
        Some(ApprovalDecision::Decline),
        Some(ApprovalDecision::Cancel),
    ];
    all.into_iter().flatten().collect()
}
