//! Whether a tool of a server may be called: what settles it, and the question to the person where nothing does.

use crate::agent::turn::Turn;
use crate::config::mcp::ApprovalMode;
use crate::exec::rules;
use crate::ids::ApprovalId;
use crate::protocol::approval::{AlwaysRule, Approval, ApprovalDecision, ApprovalResponse, ToolApproval};
use crate::protocol::item::ItemStatus;
use crate::protocol::settings::{ApprovalPolicy, SandboxMode};
use crate::tools::server_tool::ServerCall;
use serde_json::Value;

/// What came of it.
pub(super) enum Asked {
    Yes,
    No {
        status: ItemStatus,
        /// For the person.
        told: String,
        /// For the model.
        words: String,
    },
}

/// Whether a call may be made, after asking if need be.
pub(super) async fn may_call(turn: &Turn, call: &ServerCall) -> Asked {
    let reason = match verdict(turn, call) {
        Verdict::Run => return Asked::Yes,
        Verdict::Refuse(told) => {
            return Asked::No {
                status: ItemStatus::Declined,
                words: format!("The call was not made: {told} Work without it, or say what you need it for."),
                told,
            };
        }
        Verdict::Ask(reason) => reason,
    };
    match turn.ask(Approval::Tool(question(turn, call, reason))).await {
        None => Asked::No {
            status: ItemStatus::Interrupted,
            told: "The turn was stopped before the person answered.".to_owned(),
            words: "The turn was stopped before the person answered; the call was not made.".to_owned(),
        },
        Some(answer) if answer.decision.is_yes() => {
            keep(turn, call, &answer).await;
            Asked::Yes
        }
        Some(answer) => Asked::No {
            status: ItemStatus::Declined,
            told: "The person said no.".to_owned(),
            words: denied(&answer),
        },
    }
}

enum Verdict {
    Run,
    Ask(String),
    Refuse(String),
}

fn verdict(turn: &Turn, call: &ServerCall) -> Verdict {
    let (server, tool) = (&call.server.name, &call.tool.name);
    let mode = call.server.settings.approval_of(tool);
    let settled = match mode {
        ApprovalMode::Approve => true,
        ApprovalMode::Auto => call.tool.read_only,
        ApprovalMode::Prompt => false,
    };
    let is_allowed = || {
        let known = turn
            .conversation
            .data()
            .allowed_tools
            .contains(&(server.clone(), tool.clone()));
        known || turn.desk.rules(&turn.config).allows_tool(server, tool)
    };
    if settled || is_allowed() {
        return Verdict::Run;
    }
    match &turn.settings.approval_policy {
        ApprovalPolicy::Never if turn.settings.sandbox_policy.mode() == SandboxMode::DangerFullAccess => Verdict::Run,
        ApprovalPolicy::Never => Verdict::Refuse(format!(
            "The tool {tool} of {server} may change something outside the sandbox, and the approval policy is never, under which \
             nobody is asked."
        )),
        ApprovalPolicy::Granular(kinds) if !kinds.mcp_elicitations => Verdict::Refuse(format!(
            "The tool {tool} of {server} asks first, and the approval policy lets nobody be asked for tool servers."
        )),
        _ if mode == ApprovalMode::Prompt => Verdict::Ask(format!(
            "The configuration says that {tool} of {server} asks each time."
        )),
        _ => Verdict::Ask(format!(
            "The server {server} does not say that {tool} only reads. It runs with your rights, outside the sandbox."
        )),
    }
}

fn question(turn: &Turn, call: &ServerCall, reason: String) -> ToolApproval {
    let (server, tool) = (call.server.name.clone(), call.tool.name.clone());
    ToolApproval {
        id: ApprovalId::fresh(),
        thread_id: turn.conversation.id.clone(),
        turn_id: turn.id.clone(),
        item_id: call.item_id.clone(),
        agent: None,
        title: call.tool.shown().to_owned(),
        arguments: Value::Object(call.arguments.clone()),
        reason,
        session_scope: format!("{tool} of {server}, with any arguments"),
        always_rule: AlwaysRule {
            text: format!("{tool} of {server}, with any arguments, in every session"),
            title: format!("{server}: {tool}"),
            toml: rules::tool_to_toml(&server, &tool),
            file: rules::always_file(&turn.desk.home),
        },
        server,
        tool,
        available_decisions: vec![
            ApprovalDecision::Accept,
            ApprovalDecision::AcceptForSession,
            ApprovalDecision::AcceptAlways,
            ApprovalDecision::Decline,
            ApprovalDecision::Cancel,
        ],
    }
}

/// Keeps a yes for as long as it holds.
async fn keep(turn: &Turn, call: &ServerCall, answer: &ApprovalResponse) {
    let (server, tool) = (call.server.name.clone(), call.tool.name.clone());
    match answer.decision {
        ApprovalDecision::AcceptForSession => {
            turn.conversation.data().allowed_tools.insert((server, tool));
        }
        ApprovalDecision::AcceptAlways => {
            let home = turn.desk.home.clone();
            let written = tokio::task::spawn_blocking({
                let (server, tool) = (server.clone(), tool.clone());
                move || rules::add_tool(&home, &server, &tool)
            });
            let failure = match written.await {
                Ok(Ok(_)) => return,
                Ok(Err(error)) => error.to_string(),
                Err(error) => format!("writing it broke off ({error})"),
            };
            turn.warn(format!(
                "That {tool} of {server} is always allowed was not saved, so it holds for this one call only: {failure}"
            ));
        }
        ApprovalDecision::Accept | ApprovalDecision::Decline | ApprovalDecision::Cancel => {}
    }
}

fn denied(answer: &ApprovalResponse) -> String {
    let feedback = answer
        .feedback
        .as_deref()
        .map(str::trim)
        .filter(|words| !words.is_empty());
    let words = match feedback {
        Some(words) => format!("They say: {words}"),
        None => "Do not try to reach the same in another way; find another way to help, or ask.".to_owned(),
    };
    format!("The person rejected this call; it was not made. {words}")
}
