//! Asks the person about a command, by the strongest means the client has. An answer that cannot be understood, a closed
//! dialog and a lost client are a no.

use super::Presenter;

use crate::protocol::approval::{ApprovalDecision, ApprovalResponse, CommandApproval};
use crate::protocol::method::APPROVAL_COMMAND;
use crate::server::editor::Choice;
use serde_json::json;

/// Asks, and settles the question with the answer. Aborted when the question is settled elsewhere.
pub(super) async fn ask(presenter: Presenter, approval: CommandApproval) {
    let response = if presenter.shared.client.can.plugin {
        let pending = presenter
            .shared
            .outbound
            .request::<ApprovalResponse>(APPROVAL_COMMAND, &approval);
        pending.await.unwrap_or_else(|error| {
            tracing::warn!(approval = %approval.id, %error, "no usable answer to a question; it counts as declined");
            ApprovalResponse::decline()
        })
    } else {
        by_message(&presenter, &approval).await
    };
    presenter.shared.agent.desk().approvals.answer(&approval.id, response);
}

async fn by_message(presenter: &Presenter, approval: &CommandApproval) -> ApprovalResponse {
    let choices: Vec<_> = approval
        .available_decisions
        .iter()
        .map(|decision| (title(*decision, approval), *decision))
        .collect();
    let actions: Vec<_> = choices.iter().map(|(title, _)| json!({"title": title})).collect();
    let params = json!({"type": 2, "message": super::words::command_question(approval), "actions": actions});
    let answer = presenter
        .shared
        .outbound
        .request::<Option<Choice>>("window/showMessageRequest", params)
        .await;
    let decision = match answer {
        Ok(Some(chosen)) => choices
            .iter()
            .find(|(title, _)| *title == chosen.title)
            .map(|(_, decision)| *decision),
        Ok(None) => None,
        Err(error) => {
            tracing::warn!(approval = %approval.id, %error, "no usable answer to a question; it counts as declined");
            None
        }
    };
    ApprovalResponse {
        decision: decision.unwrap_or(ApprovalDecision::Decline),
        feedback: None,
    }
}

fn title(decision: ApprovalDecision, approval: &CommandApproval) -> String {
    match decision {
        ApprovalDecision::Accept => "Run once".to_owned(),
        ApprovalDecision::AcceptForSession => {
            format!(
                "Run for this session: {}",
                super::words::cut(&approval.session_scope, 60)
            )
        }
        ApprovalDecision::Decline => "Deny".to_owned(),
        ApprovalDecision::Cancel => "Stop the turn".to_owned(),
    }
}
