//! Questions to the person, as `session/request_permission`. Whatever is no clear yes is a no.

use super::peer::Peer;
use super::update;
use crate::agent::desk::Desk;
use crate::agent::thread::ThreadHandle;
use crate::ids::{HunkId, ProposalId, ThreadId};
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse};
use crate::protocol::proposal::{Hunk, HunkStatus, Proposal, ProposalDecideParams, ProposalDecision};
use crate::protocol::question::{UserAnswer, UserInputRequest, UserInputResponse};
use crate::protocol::settings::{EditApproval, SettingsOverride};
use serde_json::{Value, json};
use std::collections::BTreeSet;
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

/// A patch, with its texts before and after: as a whole, or file by file and hunk by hunk if the person wants that.
pub(super) async fn proposal(
    peer: Peer,
    session: ThreadId,
    thread: Option<ThreadHandle>,
    desk: Arc<Desk>,
    proposal: Proposal,
) {
    let id = proposal.id.clone();
    let shown = read(&desk, &id).await.unwrap_or(proposal);
    let call = patch_call(&shown, update::diffs(&shown), title(&shown));
    show(&peer, &session, &call).await;
    let mut options = vec![
        option("accept", "Accept", "allow_once"),
        option(
            "acceptForSession",
            "Accept, and further edits in the workspace",
            "allow_always",
        ),
    ];
    let pending = pending(&shown);
    let files = pending.iter().map(|(file, _)| *file).collect::<BTreeSet<_>>().len();
    if pending.len() > 1 {
        let name = match files {
            1 => "Decide hunk by hunk",
            _ => "Decide file by file",
        };
        options.push(option("each", name, "allow_once"));
    }
    options.push(option("reject", "Reject", "reject_once"));
    match ask(&peer, &session, call, options).await.as_deref() {
        Some("each") => each(&peer, &session, &desk, &shown).await,
        Some("acceptForSession") => {
            if let Some(thread) = &thread {
                let change = SettingsOverride {
                    edit_approval: Some(EditApproval::Workspace),
                    ..SettingsOverride::default()
                };
                if let Err(error) = thread.update_settings(change).await {
                    tracing::warn!(%error, "further edits still ask");
                }
            }
            decide(&desk, &id, None, true).await;
        }
        chosen => decide(&desk, &id, None, chosen == Some("accept")).await,
    }
    // What does not fit any more would wait for ever.
    settle(&desk, &id).await;
}

fn title(proposal: &Proposal) -> String {
    update::title_of(proposal.files.iter().map(|file| file.path.as_path()))
}

fn patch_call(proposal: &Proposal, content: Vec<Value>, title: String) -> Value {
    json!({
        "toolCallId": proposal.item_id,
        "title": title,
        "kind": "edit",
        "status": "pending",
        "content": content,
        "locations": places(proposal),
    })
}

async fn show(peer: &Peer, session: &ThreadId, call: &Value) {
    let mut update = call.clone();
    update["sessionUpdate"] = json!("tool_call_update");
    let params = json!({"sessionId": session, "update": update});
    peer.notify("session/update", params).await;
}

/// The proposal with its texts, as it is now.
async fn read(desk: &Arc<Desk>, id: &ProposalId) -> Option<Proposal> {
    let (desk, id) = (desk.clone(), id.clone());
    let read = tokio::task::spawn_blocking(move || desk.proposals.read(&id)).await;
    read.ok().and_then(Result::ok)
}

/// The hunks that can be decided: the place of the file, and of the hunk in it.
fn pending(proposal: &Proposal) -> Vec<(usize, usize)> {
    let files = proposal.files.iter().enumerate();
    let hunks = files.flat_map(|(at, file)| file.hunks.iter().enumerate().map(move |(hunk, it)| (at, hunk, it)));
    hunks
        .filter(|(.., hunk)| hunk.status == HunkStatus::Pending)
        .map(|(file, hunk, _)| (file, hunk))
        .collect()
}

/// Asks about each file, and about each hunk of those that the person wants to look into. A closed dialog rejects what is
/// left.
async fn each(peer: &Peer, session: &ThreadId, desk: &Arc<Desk>, proposal: &Proposal) {
    let files: BTreeSet<usize> = pending(proposal).into_iter().map(|(file, _)| file).collect();
    let alone = files.len() == 1;
    for (number, at) in files.iter().enumerate() {
        // Typing, or an answer elsewhere, may have changed it.
        let Some(now) = read(desk, &proposal.id).await.filter(|now| now.status.is_waiting()) else {
            return;
        };
        let Some(file) = now.files.get(*at) else { return };
        let hunks: Vec<usize> = pending(&now)
            .into_iter()
            .filter_map(|(file, hunk)| (file == *at).then_some(hunk))
            .collect();
        let mut by_hunk = alone;
        if !alone {
            let name = update::title_of(std::iter::once(file.path.as_path()));
            let title = format!("{name} (file {} of {})", number + 1, files.len());
            let call = patch_call(&now, vec![update::diff(file)], title);
            show(peer, session, &call).await;
            let mut options = vec![option("accept", "Accept this file", "allow_once")];
            if hunks.len() > 1 {
                options.push(option("each", "Decide hunk by hunk", "allow_once"));
            }
            options.push(option("reject", "Reject this file", "reject_once"));
            match ask(peer, session, call, options).await.as_deref() {
                Some("each") => by_hunk = true,
                Some(chosen @ ("accept" | "reject")) => {
                    let ids = hunks.iter().map(|hunk| file.hunks[*hunk].id.clone()).collect();
                    decide(desk, &now.id, Some(ids), chosen == "accept").await;
                }
                _ => return decide(desk, &now.id, None, false).await,
            }
        }
        if by_hunk && !hunk_by_hunk(peer, session, desk, &now.id, *at).await {
            return decide(desk, &now.id, None, false).await;
        }
    }
}

/// False where the person does not answer any more.
async fn hunk_by_hunk(peer: &Peer, session: &ThreadId, desk: &Arc<Desk>, id: &ProposalId, at: usize) -> bool {
    let (mut number, mut seen) = (0, BTreeSet::new());
    loop {
        let Some(now) = read(desk, id).await.filter(|now| now.status.is_waiting()) else {
            return true;
        };
        let Some(file) = now.files.get(at) else { return true };
        let left = |hunk: &&Hunk| hunk.status == HunkStatus::Pending && !seen.contains(&hunk.id);
        let Some(hunk) = file.hunks.iter().find(left) else {
            return true;
        };
        number += 1;
        seen.insert(hunk.id.clone());
        let name = update::title_of(std::iter::once(file.path.as_path()));
        let title = format!("{name} (hunk {number} of {})", file.hunks.len());
        let call = patch_call(&now, vec![update::hunk(file, hunk)], title);
        show(peer, session, &call).await;
        let options = vec![
            option("accept", "Accept this hunk", "allow_once"),
            option("reject", "Reject this hunk", "reject_once"),
        ];
        match ask(peer, session, call, options).await.as_deref() {
            Some(chosen @ ("accept" | "reject")) => {
                decide(desk, id, Some(vec![hunk.id.clone()]), chosen == "accept").await;
            }
            _ => return false,
        }
    }
}

/// Decides on hunks, or on all that are pending.
async fn decide(desk: &Arc<Desk>, id: &ProposalId, hunks: Option<Vec<HunkId>>, is_yes: bool) {
    let decision = match is_yes {
        true => ProposalDecision::Accept,
        false => ProposalDecision::Reject,
    };
    decide_with(desk, id, hunks, decision, None).await;
}

async fn decide_with(
    desk: &Arc<Desk>,
    id: &ProposalId,
    hunk_ids: Option<Vec<HunkId>>,
    decision: ProposalDecision,
    feedback: Option<&str>,
) {
    let params = ProposalDecideParams {
        proposal_id: id.clone(),
        decision,
        hunk_ids,
        path: None,
        feedback: feedback.map(str::to_owned),
    };
    let desk = desk.clone();
    let decided = tokio::task::spawn_blocking(move || desk.proposals.decide(&params).map(drop));
    if let Ok(Err(error)) = decided.await {
        tracing::info!(%error, "an answer about a patch came too late");
    }
}

/// Rejects what cannot be accepted any more.
async fn settle(desk: &Arc<Desk>, id: &ProposalId) {
    let left = read(desk, id).await;
    if left.is_some_and(|left| left.status.is_waiting()) {
        let why = "The text that this would replace has changed since.";
        decide_with(desk, id, None, ProposalDecision::Reject, Some(why)).await;
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
