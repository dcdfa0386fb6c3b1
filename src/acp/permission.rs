//! Questions to the person, as `session/request_permission`. Whatever is no clear yes is a no.

use super::peer::Peer;
use super::update;
use crate::agent::desk::Desk;
use crate::agent::thread::ThreadHandle;
use crate::ids::ThreadId;
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse};
use crate::protocol::proposal::{Proposal, ProposalDecideParams, ProposalDecision};
use crate::protocol::question::{UserAnswer, UserInputRequest, UserInputResponse};
use crate::protocol::settings::{EditApproval, SettingsOverride};
use serde_json::{Value, json};
use std::sync::Arc;

/// Asks one thing; the id of the option that the person chose.
async fn ask(peer: &Peer, session: &ThreadId, call: Value, options: Vec<Value>) -> Option<String> {
    let params = json!({"sessionId": session, "toolCall": call, "options": options});
    match peer.request("session/request_permission", params).await {
        Ok(answer) if answer["outcome"]["outcome"] == "selected" => {
            answer["outcome"]["optionId"].as_str().map(str::to_owned)
        }
        Ok(_) => None,
        Err(reason) => {
            tracing::warn!(reason, "no usable answer to a question; it counts as declined");
            None
        }
    }
}

fn option(id: &str, name: &str, kind: &str) -> Value {
    json!({"optionId": id, "name": name, "kind": kind})
}

/// A command, a permission, or a call of a server's tool.
pub(super) async fn approval(peer: Peer, session: ThreadId, desk: Arc<Desk>, approval: Approval) {
    let options = options(&approval);
    let chosen = ask(&peer, &session, question(&approval), options).await;
    let decision = match chosen.as_deref() {
        Some("accept") => ApprovalDecision::Accept,
        Some("acceptForSession") => ApprovalDecision::AcceptForSession,
        Some("acceptAlways") => ApprovalDecision::AcceptAlways,
        _ => ApprovalDecision::Decline,
    };
    let offered = approval.available_decisions().contains(&decision);
    let response = ApprovalResponse {
        decision: if offered { decision } else { ApprovalDecision::Decline },
        turn_id: None,
        feedback: None,
        permissions: None,
    };
    desk.approvals.answer(approval.id(), response);
}

fn options(approval: &Approval) -> Vec<Value> {
    let (scope, rule) = match approval {
        Approval::Command(command) => (
            Some(command.session_scope.as_str()),
            command.always_rule.as_ref().map(|rule| rule.text.as_str()),
        ),
        Approval::Tool(tool) => (Some(tool.session_scope.as_str()), Some(tool.always_rule.text.as_str())),
        Approval::Permission(_) => (None, None),
    };
    let with = |words: &str, more: Option<&str>| match more {
        Some(more) if !more.is_empty() => format!("{words}: {more}"),
        _ => words.to_owned(),
    };
    let options = approval.available_decisions().iter().filter_map(|decision| {
        Some(match decision {
            ApprovalDecision::Accept => option("accept", "Allow once", "allow_once"),
            ApprovalDecision::AcceptForSession => option(
                "acceptForSession",
                &with("Allow in this session", scope),
                "allow_always",
            ),
            ApprovalDecision::AcceptAlways => option("acceptAlways", &with("Allow always", rule), "allow_always"),
            ApprovalDecision::Decline => option("decline", "Deny", "reject_once"),
            // Clients have a button of their own for that.
            ApprovalDecision::Cancel => return None,
        })
    });
    options.collect()
}

fn question(approval: &Approval) -> Value {
    let agent = approval
        .agent()
        .map(|name| format!("The agent {name} asks. "))
        .unwrap_or_default();
    let (item, title, kind, words, input) = match approval {
        Approval::Command(command) => {
            let mut words = format!("{agent}{}", command.reason);
            if let Some(justification) = &command.justification {
                words = format!("{words}\n\n{justification}");
            }
            let line = crate::exec::command::display(&command.command);
            let input = json!({"command": line, "cwd": command.cwd, "confined": command.confined});
            (
                &command.item_id,
                format!("`{}`", line.replace('`', "'")),
                "execute",
                words,
                input,
            )
        }
        Approval::Permission(permission) => {
            let words = format!("{agent}{}", permission.reason);
            let input = json!({"folders": permission.folders, "permissions": permission.permissions});
            (
                &permission.item_id,
                "More permissions".to_owned(),
                "other",
                words,
                input,
            )
        }
        Approval::Tool(tool) => {
            let words = format!("{agent}{}", tool.reason);
            (
                &tool.item_id,
                tool.title.clone(),
                "other",
                words,
                tool.arguments.clone(),
            )
        }
    };
    json!({
        "toolCallId": item, "title": title, "kind": kind, "status": "pending", "content": [update::text(&words)],
        "rawInput": input,
    })
}

/// A patch, with its texts before and after.
pub(super) async fn proposal(
    peer: Peer,
    session: ThreadId,
    thread: Option<ThreadHandle>,
    desk: Arc<Desk>,
    proposal: Proposal,
) {
    let id = proposal.id.clone();
    let reading = desk.clone();
    let wanted = id.clone();
    let read = tokio::task::spawn_blocking(move || reading.proposals.read(&wanted)).await;
    let shown = read.ok().and_then(Result::ok).unwrap_or(proposal);
    let call = json!({
        "toolCallId": shown.item_id,
        "title": update::title_of(shown.files.iter().map(|file| file.path.as_path())),
        "kind": "edit",
        "status": "pending",
        "content": update::diffs(&shown),
        "locations": places(&shown),
    });
    let mut shown_first = call.clone();
    shown_first["sessionUpdate"] = json!("tool_call_update");
    let update = json!({"sessionId": session, "update": shown_first});
    peer.notify("session/update", update).await;
    let options = vec![
        option("accept", "Accept", "allow_once"),
        option(
            "acceptForSession",
            "Accept, and further edits in the workspace",
            "allow_always",
        ),
        option("reject", "Reject", "reject_once"),
    ];
    let chosen = ask(&peer, &session, call, options).await;
    let is_yes = matches!(chosen.as_deref(), Some("accept" | "acceptForSession"));
    if chosen.as_deref() == Some("acceptForSession")
        && let Some(thread) = &thread
    {
        let change = SettingsOverride {
            edit_approval: Some(EditApproval::Workspace),
            ..SettingsOverride::default()
        };
        if let Err(error) = thread.update_settings(change).await {
            tracing::warn!(%error, "further edits still ask");
        }
    }
    let decided = tokio::task::spawn_blocking(move || {
        let decide = |decision, feedback: Option<&str>| {
            desk.proposals.decide(&ProposalDecideParams {
                proposal_id: id.clone(),
                decision,
                hunk_ids: None,
                path: None,
                feedback: feedback.map(str::to_owned),
            })
        };
        let accepted = match is_yes {
            true => decide(ProposalDecision::Accept, None),
            false => decide(ProposalDecision::Reject, None),
        };
        match accepted {
            // What does not fit any more would wait for ever.
            Ok(left) if left.status.is_waiting() => decide(
                ProposalDecision::Reject,
                Some("The text that this would replace has changed since."),
            )
            .map(|_| ()),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    });
    if let Ok(Err(error)) = decided.await {
        tracing::info!(%error, "an answer about a patch came too late");
    }
}

fn places(proposal: &Proposal) -> Vec<Value> {
    let files = proposal.files.iter().map(|file| {
        let line = file.hunks.first().map(|hunk| hunk.range.start + 1);
        json!({"path": file.path, "line": line})
    });
    files.collect()
}

/// What the model asks: choices only, since there is no place to type.
pub(super) async fn questions(peer: Peer, session: ThreadId, desk: Arc<Desk>, request: UserInputRequest) {
    let mut response = UserInputResponse::default();
    for (at, question) in request
        .questions
        .iter()
        .enumerate()
        .filter(|(_, question)| !question.options.is_empty())
    {
        let mut options: Vec<Value> = question
            .options
            .iter()
            .enumerate()
            .map(|(number, choice)| option(&number.to_string(), &choice.label, "allow_once"))
            .collect();
        options.push(option("none", "No answer", "reject_once"));
        let explained: Vec<String> = question
            .options
            .iter()
            .filter(|choice| !choice.description.is_empty())
            .map(|choice| format!("- {}: {}", choice.label, choice.description))
            .collect();
        let call = json!({
            "toolCallId": format!("{}-{at}", request.item_id), "title": question.question, "kind": "other", "status": "pending",
            "content": [update::text(&explained.join("\n"))],
        });
        let chosen = ask(&peer, &session, call, options).await;
        let chosen = chosen.and_then(|id| question.options.get(id.parse::<usize>().ok()?));
        if let Some(choice) = chosen {
            let answer = UserAnswer {
                answers: vec![choice.label.clone()],
            };
            response.answers.insert(question.id.clone(), answer);
        }
    }
    let answer = Some(response).filter(|response| !response.answers.is_empty());
    desk.questions.answer(&request.id, answer);
}
