//! Asks the person about a command or a folder, by the strongest means the client has. An answer that cannot be understood,
//! a closed dialog and a lost client are a no.

use super::{Presenter, Severity, words};
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse, PermissionApproval};
use crate::protocol::method::{APPROVAL_COMMAND, APPROVAL_PERMISSION, APPROVAL_TOOL};
use crate::protocol::permission::GrantScope;
use std::time::Duration;

/// Leaves a question open that stands in a chat document, to be decided there.
const IN_CHAT: &str = "Decide in the chat";
/// How often it is looked whether the document still shows a question that was left to it.
const LOOK: Duration = Duration::from_secs(1);
/// Folders named on a button or in a question; of more, how many there are.
const NAMED: usize = 8;

/// Asks, and settles the question with the answer. Aborted when the question is settled elsewhere.
pub(super) async fn ask(presenter: Presenter, approval: Approval) {
    let response = if presenter.shared.client.can.plugin {
        let method = match &approval {
            Approval::Command(_) => APPROVAL_COMMAND,
            Approval::Permission(_) => APPROVAL_PERMISSION,
            Approval::Tool(_) => APPROVAL_TOOL,
        };
        let pending = presenter.shared.outbound.request::<ApprovalResponse>(method, &approval);
        pending.await.unwrap_or_else(|error| {
            tracing::warn!(approval = %approval.id(), %error, "no usable answer to a question; it counts as declined");
            ApprovalResponse::decline()
        })
    } else {
        loop {
            if let Some(response) = by_message(&presenter, &approval).await {
                break response;
            }
            // A document that is closed shows the question no more.
            while presenter.is_in_document(approval.thread_id()) {
                tokio::time::sleep(LOOK).await;
            }
        }
    };
    presenter.shared.agent.desk().approvals.answer(approval.id(), response);
}

/// Nothing, where the person decides in the chat document that shows the question.
async fn by_message(presenter: &Presenter, approval: &Approval) -> Option<ApprovalResponse> {
    let mut choices: Vec<_> = approval
        .available_decisions()
        .iter()
        .map(|decision| (title(*decision, approval), *decision))
        .collect();
    // Some prompts have the first choice filled in already: it must not be a yes.
    choices.sort_by_key(|(_, decision)| *decision != ApprovalDecision::Decline);
    let message = match approval {
        Approval::Command(command) => words::command_question(command),
        Approval::Permission(permission) => permission_question(permission),
        Approval::Tool(tool) => words::tool_question(tool),
    };
    let message = match approval.agent() {
        Some(name) => format!("The agent {name} asks. {message}"),
        None => message,
    };
    presenter.when_idle().await;
    let in_chat = presenter.is_in_document(approval.thread_id()).then_some(IN_CHAT);
    let titles = choices.iter().map(|(title, _)| title.as_str()).chain(in_chat);
    let chosen = presenter.choose(Severity::Warning, &message, titles).await;
    if in_chat.is_some() && chosen.as_deref() == in_chat {
        return None;
    }
    let decision = choices.iter().find(|(title, _)| Some(title) == chosen.as_ref());
    Some(ApprovalResponse {
        decision: decision.map_or(ApprovalDecision::Decline, |(_, decision)| *decision),
        turn_id: None,
        feedback: None,
        permissions: None,
    })
}

/// A decision on a button.
pub fn title(decision: ApprovalDecision, approval: &Approval) -> String {
    match (decision, approval) {
        (ApprovalDecision::Accept, Approval::Command(_)) => "Run once".to_owned(),
        (ApprovalDecision::AcceptForSession, Approval::Command(command)) => {
            format!("Run for this session: {}", words::cut(&command.session_scope, 60))
        }
        (ApprovalDecision::AcceptAlways, Approval::Command(command)) => {
            let programs = command.always_rule.as_ref().map_or("this", |rule| rule.title.as_str());
            format!("Always for `{}`", words::cut(programs, 60))
        }
        (ApprovalDecision::Accept, Approval::Tool(_)) => "Call once".to_owned(),
        (ApprovalDecision::AcceptForSession, Approval::Tool(tool)) => {
            format!("Call for this session: {}", words::cut(&tool.tool, 60))
        }
        (ApprovalDecision::AcceptAlways, Approval::Tool(tool)) => {
            format!("Always for `{}`", words::cut(&tool.always_rule.title, 60))
        }
        (decision, Approval::Permission(asked)) if !asked.permissions.is_empty() => {
            match (decision, asked.accept_covers) {
                (ApprovalDecision::AcceptForSession, _) => "Allow for this session".to_owned(),
                (ApprovalDecision::AcceptAlways, _) => "Allow always".to_owned(),
                (ApprovalDecision::Accept, GrantScope::Command) => "Allow for this command".to_owned(),
                (ApprovalDecision::Accept, _) => "Allow for this turn".to_owned(),
                (ApprovalDecision::Decline, _) => "Deny".to_owned(),
                (ApprovalDecision::Cancel, _) => "Stop the turn".to_owned(),
            }
        }
        (
            ApprovalDecision::Accept | ApprovalDecision::AcceptForSession | ApprovalDecision::AcceptAlways,
            Approval::Permission(_),
        ) => "Allow writing there for this session".to_owned(),
        (ApprovalDecision::Decline, _) => "Deny".to_owned(),
        (ApprovalDecision::Cancel, _) => "Stop the turn".to_owned(),
    }
}

/// The question about folders: which, for what, and what a yes covers.
fn permission_question(permission: &PermissionApproval) -> String {
    if !permission.permissions.is_empty() {
        let lines: Vec<_> = permission.permissions.iter().map(|one| format!("  {one}")).collect();
        return format!(
            "Countersign asks for more than the sandbox allows:\n{}\n{}",
            lines.join("\n"),
            permission.reason
        );
    }
    let mut folders: Vec<_> = permission
        .folders
        .iter()
        .take(NAMED)
        .map(|folder| format!("  {}", folder.display()))
        .collect();
    if permission.folders.len() > NAMED {
        folders.push(format!("  … and {} more", permission.folders.len() - NAMED));
    }
    format!(
        "Countersign asks for a folder outside the workspace:\n{}\n{}",
        folders.join("\n"),
        permission.reason
    )
}
