//! Whether a tool of a server may be called: what settles it, and the question to the person where nothing does.
//!
//! A yes for longer than one call holds for the tool as it was described, of the server as it was reached ([`Pinned`]). Where
//! either is another, nothing was allowed, and the question shows what changed.

use crate::agent::turn::Turn;
use crate::config::mcp::ApprovalMode;
use crate::exec::rules;
use crate::ids::{ApprovalId, ItemId};
use crate::mcp::{Pinned, Server, ToolInfo};
use crate::protocol::approval::{AlwaysRule, Approval, ApprovalDecision, ApprovalResponse, ToolApproval};
use crate::protocol::item::ItemStatus;
use crate::protocol::settings::{ApprovalPolicy, SandboxMode};
use crate::shown;
use crate::tools::ToolError;
use crate::tools::server_tool::ServerCall;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What the person has said yes to of tools of servers, for the rest of the session or longer.
#[derive(Default)]
pub struct AllowedTools {
    /// What may be called in this session.
    pins: BTreeSet<String>,
    /// What was allowed last, by server and tool.
    last: BTreeMap<(String, String), Pinned>,
}

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

/// Whether a call may be made of a tool that is `pinned`, after asking if need be. `before` is what the same call was asked
/// about a moment ago, where that has changed since.
pub(super) async fn may_call(turn: &Turn, call: &ServerCall, pinned: &Pinned, before: Option<&Pinned>) -> Asked {
    let reason = match verdict(turn, call, pinned) {
        Verdict::Run => return Asked::Yes,
        Verdict::Refuse(told) => {
            return Asked::No {
                status: ItemStatus::Declined,
                words: format!("The call was not made: {told} Work without it, or say what you need it for."),
                told,
            };
        }
        Verdict::Ask(reason) => match since(turn, call, pinned, before).await {
            Some(change) => format!("{change}\n{reason}"),
            None => reason,
        },
    };
    match turn.ask(Approval::Tool(question(turn, call, pinned, reason))).await {
        None => Asked::No {
            status: ItemStatus::Interrupted,
            told: "The turn was stopped before the person answered.".to_owned(),
            words: "The turn was stopped before the person answered; the call was not made.".to_owned(),
        },
        Some(answer) if answer.decision.is_yes() => {
            keep(turn, call, pinned, &answer).await;
            Asked::Yes
        }
        Some(answer) => Asked::No {
            status: ItemStatus::Declined,
            told: "The person said no.".to_owned(),
            words: denied(&answer),
        },
    }
}

/// The name under which the reading of resources is asked about and allowed; no tool has it.
const READ: &str = "resources/read";

/// Whether a resource may be read that the server has not listed. It is asked about like a call of a tool.
///
/// # Errors
/// It may not; in words for the model.
pub(in crate::agent) async fn may_read(
    turn: &Turn,
    item_id: ItemId,
    server: Arc<Server>,
    uri: String,
) -> Result<(), ToolError> {
    let description = json!({
        "name": READ,
        "title": "Read a resource",
        "description": "Reads a resource by its URI. What that makes the server do is not known.",
        "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object", "properties": {"uri": {"type": "string"}}},
    });
    let tool = ToolInfo::read(&description, server.settings.trust_annotations);
    let Some(tool) = tool else {
        return Err(ToolError::Answer(
            "The resource was not read: there is no way to ask the person about it.".to_owned(),
        ));
    };
    let arguments = Map::from_iter([("uri".to_owned(), Value::from(uri))]);
    let call = ServerCall {
        item_id,
        server,
        tool: Arc::new(tool),
        arguments,
    };
    let pinned = call.pinned().await.map_err(ToolError::Answer)?;
    match may_call(turn, &call, &pinned, None).await {
        Asked::Yes => Ok(()),
        Asked::No { words, .. } => Err(ToolError::Answer(words)),
    }
}

enum Verdict {
    Run,
    Ask(String),
    Refuse(String),
}

fn verdict(turn: &Turn, call: &ServerCall, pinned: &Pinned) -> Verdict {
    let (server, tool) = (&call.server.name, &shown::exact(&call.tool.name));
    let mode = call.server.settings.approval_of(&call.tool.name);
    let settled = match mode {
        ApprovalMode::Approve => true,
        ApprovalMode::Auto => call.tool.read_only,
        ApprovalMode::Prompt => false,
    };
    let is_allowed = || {
        let pin = pinned.pin();
        let known = turn.conversation.data().allowed_tools.pins.contains(&pin);
        known
            || turn
                .services
                .rules(&turn.config)
                .allows_tool(server, &call.tool.name, &pin)
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
            "The tool {tool} of {server} asks first, and the approval policy lets nobody be asked for MCP servers."
        )),
        _ if mode == ApprovalMode::Prompt => Verdict::Ask(format!(
            "The configuration says that {tool} of {server} asks each time."
        )),
        _ => {
            let says = |hint: &str| call.tool.hints.get(hint).and_then(Value::as_bool);
            let word = match (says("readOnlyHint"), says("destructiveHint")) {
                (Some(true), Some(true)) => "says both that {tool} only reads and that it destroys",
                (Some(true), _) => {
                    "says that {tool} only reads, and you have not said that you believe it (`trust_annotations`)"
                }
                (_, Some(false)) => "says that {tool} changes something, and destroys nothing",
                _ => "does not say that {tool} only reads, nor that it destroys nothing",
            };
            let word = word.replace("{tool}", tool);
            Verdict::Ask(format!(
                "The server {server} {word}. It runs with your rights, outside the sandbox."
            ))
        }
    }
}

/// What is other than it was when the person allowed it; nothing where they never did.
async fn since(turn: &Turn, call: &ServerCall, pinned: &Pinned, before: Option<&Pinned>) -> Option<String> {
    let (server, name) = (call.server.name.clone(), call.tool.name.clone());
    let tool = shown::exact(&name);
    let last = turn
        .conversation
        .data()
        .allowed_tools
        .last
        .get(&(server.clone(), name.clone()))
        .cloned();
    let (services, config) = (turn.services.clone(), turn.config.clone());
    let (pinned, given) = (pinned.clone(), before.cloned());
    // It reads files, and long texts take their time to be compared.
    let work = move || {
        if let Some(given) = given {
            return Some(format!(
                "{tool} of {server} changed while you were being asked. What changed, line by line (- was, + is):\n{}",
                pinned.difference(&given)
            ));
        }
        let pins = services.rules(&config).pins(&server, &name);
        if let Some(before) = last.or_else(|| standing(&services.home, &pins, &pinned)) {
            return Some(format!(
                "{tool} of {server} is not what you allowed, so it asks again. What changed, line by line (- was, + is):\n{}",
                pinned.difference(&before)
            ));
        }
        match pins.last()? {
            None => Some(format!(
                "A rule of yours allows {tool} of {server} by its name alone, which does not say what it is today, so it asks. \
                 *Always* writes a rule for exactly this:\n{}",
                pinned.described()
            )),
            Some(_) => Some(format!(
                "{tool} of {server} is not what you allowed, so it asks again. Its earlier description is no longer stored; it is \
                 now:\n{}",
                pinned.described()
            )),
        }
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}

/// What a rule was written for: of several the latest for this very server, else the latest.
fn standing(home: &Path, pins: &[Option<String>], now: &Pinned) -> Option<Pinned> {
    let kept: Vec<Pinned> = pins
        .iter()
        .flatten()
        .filter_map(|pin| {
            let text = std::fs::read_to_string(rules::pinned_file(home, pin)).ok()?;
            Pinned::read(&text, pin)
        })
        .collect();
    let same = kept.iter().rfind(|kept| kept.is_same_server(now));
    same.or(kept.last()).cloned()
}

fn question(turn: &Turn, call: &ServerCall, pinned: &Pinned, reason: String) -> ToolApproval {
    let (server, tool) = (call.server.name.clone(), shown::exact(&call.tool.name));
    ToolApproval {
        id: ApprovalId::fresh(),
        thread_id: turn.conversation.id.clone(),
        turn_id: turn.id.clone(),
        item_id: call.item_id.clone(),
        agent: None,
        title: call.tool.shown(),
        arguments: Value::Object(call.arguments.clone()),
        reason,
        definition: pinned.described(),
        session_scope: format!("{tool} of {server} as it is now, with any arguments"),
        always_rule: AlwaysRule {
            text: format!("{tool} of {server} as it is now, with any arguments, in every session"),
            title: format!("{server}: {tool}"),
            toml: rules::tool_to_toml(&server, &call.tool.name, &pinned.pin()),
            file: rules::always_file(&turn.services.home),
        },
        server,
        tool,
        notes: Vec::new(),
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
async fn keep(turn: &Turn, call: &ServerCall, pinned: &Pinned, answer: &ApprovalResponse) {
    let (server, tool) = (call.server.name.clone(), call.tool.name.clone());
    let remember = |for_session: bool| {
        let mut data = turn.conversation.data();
        let allowed = &mut data.allowed_tools;
        allowed.last.insert((server.clone(), tool.clone()), pinned.clone());
        if for_session {
            allowed.pins.insert(pinned.pin());
        }
    };
    match answer.decision {
        ApprovalDecision::AcceptForSession => remember(true),
        ApprovalDecision::AcceptAlways => {
            let (home, pinned) = (turn.services.home.clone(), pinned.clone());
            let written = tokio::task::spawn_blocking({
                let (server, tool) = (server.clone(), tool.clone());
                move || rules::add_tool(&home, &server, &tool, &pinned.pin(), &pinned.text())
            });
            let failure = match written.await {
                Ok(Ok(_)) => return remember(false),
                Ok(Err(error)) => error.to_string(),
                Err(error) => format!("writing it broke off ({error})"),
            };
            turn.warn(format!(
                "“Always Allow” for {} of {server} could not be saved, so it holds for this call only: {failure}",
                shown::exact(&tool)
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
