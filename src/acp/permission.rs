//! Questions to the person, as `session/request_permission`. Whatever is no clear yes is a no.

use super::peer::Peer;
use super::update;
use crate::agent::proposals::ProposalError;
use crate::agent::services::Services;
use crate::agent::thread::ThreadHandle;
use crate::chat::story;
use crate::chat::text::in_code;
use crate::config::consent;
use crate::ids::{HunkId, ProposalId, ThreadId};
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Hunk, Proposal, ProposalDecideParams, ProposalDecision, ProposalFile};
use crate::protocol::question::{UserAnswer, UserInputRequest, UserInputResponse, UserQuestion};
use crate::protocol::settings::{EditApproval, SettingsOverride};
use crate::shown;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What clients have room for, in a box that scrolls at best.
pub(super) const MOST: usize = 8000;
const MOST_LINES: usize = 200;
/// Where a question that no client has room for can be decided.
const ELSEWHERE: &str = "Deny it and ask for smaller steps, or work on it in a chat document of the language server, which shows \
                         questions whole.";
/// The same of changes: of those that have parts to decide on, and of one that has none.
const BY_PARTS: &str =
    "This is more than clients have room for, so it cannot be accepted at once. Decide on its parts, or reject it.";
const NO_PARTS: &str = "This is more than clients have room for, so it cannot be accepted here. Reject it and ask for smaller steps, or \
                        work in an editor with the language server, which shows changes whole.";
/// What is shown of a question that has no room.
const BEGINNING: usize = 500;
/// Characters of an option.
const ON_OPTION: usize = 60;

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

/// Whether an MCP server may be started.
pub(super) enum Start {
    No,
    Once,
    Always,
}

/// Asks whether an MCP server that the client named may be started, and shows all that it is. With its name and description
/// comes whether it takes the place of another one of that name.
pub(super) async fn tool_server(
    peer: &Peer,
    session: &ThreadId,
    (name, described, takes_a_place): (&str, &Value, bool),
) -> Start {
    let part = consent::key_part(name);
    let name = in_code(&part);
    let instead = match takes_a_place {
        true => " It takes the place of the server that you have under that name, of which nothing goes along.",
        false => "",
    };
    let text = format!(
        "Your editor's settings want to start the MCP server {name}. A project's own files can put settings there, and it \
         runs with your rights, outside the sandbox.{instead}\n\n```json\n{}\n```",
        consent::visible_lines(described)
    );
    let call = json!({
        "toolCallId": format!("mcp-server-{part}"),
        "title": format!("Start the MCP server {name}"),
        "kind": "execute",
        "status": "pending",
        "content": [{"type": "content", "content": {"type": "text", "text": text}}],
        "rawInput": shown::value(described),
    });
    // What is not wholly shown is not started, whatever comes back.
    let whole = is_whole(&call);
    let mut options = vec![
        option("accept", "Allow Once", "allow_once"),
        option("acceptAlways", "Always Allow in This Folder", "allow_always"),
        option("decline", "Deny", "reject_once"),
    ];
    options.retain(|option| whole || option["kind"] == "reject_once");
    let call = match whole {
        true => call,
        false => cut(
            call,
            "Deny it, and name the server in your own config.toml if you want it.",
        ),
    };
    match ask(peer, session, call, options).await.as_deref() {
        Some("accept") if whole => Start::Once,
        Some("acceptAlways") if whole => Start::Always,
        _ => Start::No,
    }
}

/// A command, a permission, or a call of a server's tool.
pub(super) async fn approval(peer: Peer, session: ThreadId, services: Arc<Services>, approval: Approval) {
    let (question, shows) = asked(&approval);
    let mut options = options(&approval);
    // What is not wholly shown is not allowed here, whatever comes back.
    options.retain(|option| match option["kind"].as_str() {
        Some("allow_once") => shows.once,
        Some("allow_always") => shows.longer,
        _ => true,
    });
    let chosen = ask(&peer, &session, question, options).await;
    let decision = match chosen.as_deref() {
        Some("accept") => ApprovalDecision::Accept,
        Some("acceptForSession") => ApprovalDecision::AcceptForSession,
        Some("acceptAlways") => ApprovalDecision::AcceptAlways,
        _ => ApprovalDecision::Decline,
    };
    let is_shown = match decision.is_for_longer() {
        true => shows.longer,
        false => shows.once || !decision.is_yes(),
    };
    let offered = approval.available_decisions().contains(&decision) && is_shown;
    let response = ApprovalResponse {
        decision: if offered { decision } else { ApprovalDecision::Decline },
        turn_id: None,
        feedback: None,
        permissions: None,
    };
    services.approvals.answer(approval.id(), response);
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
    // The whole of it is in the question.
    let with = |words: &str, more: Option<&str>| match more.map(update::line) {
        Some(more) if !more.is_empty() && more.chars().count() <= ON_OPTION => format!("{words}: {more}"),
        _ => words.to_owned(),
    };
    let options = approval.available_decisions().iter().filter_map(|decision| {
        Some(match decision {
            ApprovalDecision::Accept => option("accept", "Allow Once", "allow_once"),
            ApprovalDecision::AcceptForSession => {
                option("acceptForSession", &with("Allow for Session", scope), "allow_always")
            }
            ApprovalDecision::AcceptAlways => option("acceptAlways", &with("Always Allow", rule), "allow_always"),
            ApprovalDecision::Decline => option("decline", "Deny", "reject_once"),
            // Clients have a button of their own for that.
            ApprovalDecision::Cancel => return None,
        })
    });
    options.collect()
}

/// What a question shows as the client has room for it: what a yes for once needs, and what one for longer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shows {
    once: bool,
    longer: bool,
}

/// The question in the fullest form that the client has room for.
fn asked(approval: &Approval) -> (Value, Shows) {
    let all = question(approval, &story::question(approval));
    if is_whole(&all) {
        return (
            all,
            Shows {
                once: true,
                longer: true,
            },
        );
    }
    let once = story::question_once(approval).map(|text| question(approval, &text));
    match once.filter(is_whole) {
        Some(once) => (
            once,
            Shows {
                once: true,
                longer: false,
            },
        ),
        None => (
            cut(all, ELSEWHERE),
            Shows {
                once: false,
                longer: false,
            },
        ),
    }
}

/// The question as a call: its text, in the form in which a chat document has it.
fn question(approval: &Approval, text: &str) -> Value {
    let agent = approval
        .agent()
        .map(|name| format!("The agent {} asks. ", update::line(name)))
        .unwrap_or_default();
    let (item, title, kind, input) = match approval {
        Approval::Command(command) => {
            let line = &command.display;
            let title = in_code(line);
            let input = json!({"command": line, "cwd": shown::path(&command.cwd), "confined": command.confined});
            (&command.item_id, title, "execute", input)
        }
        Approval::Permission(permission) => {
            let input = json!({"folders": permission.folders, "permissions": permission.permissions});
            let input = shown::value(&input);
            (&permission.item_id, "More permissions".to_owned(), "other", input)
        }
        Approval::Tool(tool) => (
            &tool.item_id,
            update::line(&tool.title),
            "other",
            shown::value(&tool.arguments),
        ),
    };
    let words = format!("{agent}{text}");
    json!({
        "toolCallId": item, "title": title, "kind": kind, "status": "pending", "content": [content(&words)], "rawInput": input,
    })
}

/// Text that is safe as it is.
fn content(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

fn text_of(question: &Value) -> &str {
    question["content"][0]["content"]["text"].as_str().unwrap_or_default()
}

/// Whether clients have room for all of a question.
fn is_whole(question: &Value) -> bool {
    text_of(question).len() <= MOST && text_of(question).lines().count() <= MOST_LINES
}

/// Whether clients have room for all of a question about changes: its words, the names of its files, and the lines that come
/// and go. Of a file that goes as a whole the words say all.
fn has_room<'a>(shown: &[Value], changes: impl Iterator<Item = (&'a ProposalFile, &'a Hunk)>) -> bool {
    let (mut bytes, mut lines) = (0, 0);
    let mut count = |text: &str| {
        bytes += text.len();
        lines += text.lines().count();
    };
    for one in shown {
        let words = one["content"]["text"].as_str().or_else(|| one["path"].as_str());
        count(words.unwrap_or_default());
    }
    for (_, hunk) in
        changes.filter(|(file, hunk)| file.kind != FileChangeKind::Delete && hunk.old_text != hunk.new_text)
    {
        count(&hunk.old_text);
        count(&hunk.new_text);
    }
    bytes <= MOST && lines <= MOST_LINES
}

/// The beginning of a question that no client has room for, how much more there is, and where it can be decided.
fn cut(mut question: Value, advice: &str) -> Value {
    let words = text_of(&question);
    let beginning: String = words.chars().take(BEGINNING).collect();
    let more = words.chars().count() - beginning.chars().count();
    let fence = crate::chat::text::fence_for(&beginning);
    let words =
        format!("{fence}text\n{beginning}\n{fence}\n… {more} more characters, so it cannot be allowed here. {advice}");
    let title: String = question["title"]
        .as_str()
        .unwrap_or_default()
        .chars()
        .take(ON_OPTION)
        .collect();
    question["title"] = json!(format!("{title} […]"));
    question["content"] = json!([content(&words)]);
    question
}

/// A patch, with its texts before and after: as a whole, or file by file and hunk by hunk if the person wants that.
pub(super) async fn proposal(
    peer: Peer,
    session: ThreadId,
    thread: Option<ThreadHandle>,
    services: Arc<Services>,
    proposal: Proposal,
) {
    let id = proposal.id.clone();
    // What cannot be looked at fits nowhere.
    let (shown, fitting) = read(&services, &id).await.unwrap_or((proposal, BTreeSet::new()));
    let mut content = update::asked(&shown, &fitting);
    let changes = shown.files.iter().flat_map(|file| hunks_of(file, &fitting));
    let has_room = has_room(&content, changes);
    if !has_room && !fitting.is_empty() {
        content.insert(0, update::text(if fitting.len() > 1 { BY_PARTS } else { NO_PARTS }));
    }
    let call = patch_call(&shown, content, title(&shown));
    show(&peer, &session, &call).await;
    let mut options = Vec::new();
    if !fitting.is_empty() && has_room {
        options.push(option("accept", "Accept", "allow_once"));
        options.push(option(
            "acceptForSession",
            "Accept, and further edits in the workspace",
            "allow_always",
        ));
    }
    let fits = |file: &&ProposalFile| file.hunks.iter().any(|hunk| fitting.contains(&hunk.id));
    let alone = shown.files.iter().filter(fits).count() == 1;
    if fitting.len() > 1 {
        let name = match alone {
            true => "Decide hunk by hunk",
            false => "Decide file by file",
        };
        options.push(option("each", name, "allow_once"));
    }
    options.push(option("reject", "Reject", "reject_once"));
    match ask(&peer, &session, call, options).await.as_deref() {
        Some("each") => each(&peer, &session, &services, &shown, alone).await,
        Some("acceptForSession") if has_room => {
            if let Some(thread) = &thread {
                let change = SettingsOverride {
                    edit_approval: Some(EditApproval::Workspace),
                    ..SettingsOverride::default()
                };
                if let Err(error) = thread.update_settings(change).await {
                    tracing::warn!(%error, "further edits still ask");
                }
            }
            accept(&services, &id, fitting).await;
        }
        Some("accept") if has_room => accept(&services, &id, fitting).await,
        _ => reject(&services, &id, None).await,
    }
    // What was not decided would wait for ever.
    settle(&services, &id).await;
}

/// A file's hunks of these.
fn hunks_of<'a>(
    file: &'a ProposalFile,
    these: &'a BTreeSet<HunkId>,
) -> impl Iterator<Item = (&'a ProposalFile, &'a Hunk)> {
    let hunks = file.hunks.iter().filter(move |hunk| these.contains(&hunk.id));
    hunks.map(move |hunk| (file, hunk))
}

fn title(proposal: &Proposal) -> String {
    update::title_of(proposal.files.iter().map(|file| (file.path.as_path(), &file.kind)))
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

/// The proposal with its texts, as it is now, and the hunks that these show: a yes is to no other.
async fn read(services: &Arc<Services>, id: &ProposalId) -> Option<(Proposal, BTreeSet<HunkId>)> {
    let (services, id) = (services.clone(), id.clone());
    let read = tokio::task::spawn_blocking(move || services.proposals.read_fitting(&id)).await;
    read.ok().and_then(Result::ok)
}

/// Asks about each file, and about each hunk of those that the person wants to look into, or of the only one. A closed dialog
/// rejects what is left.
async fn each(peer: &Peer, session: &ThreadId, services: &Arc<Services>, proposal: &Proposal, alone: bool) {
    let count = proposal.files.len();
    let mut seen = BTreeSet::new();
    for at in 0..count {
        // Typing, or an answer elsewhere, may have changed it.
        let Some((now, fitting)) = read(services, &proposal.id)
            .await
            .filter(|(now, _)| now.status.is_waiting())
        else {
            return;
        };
        let Some(file) = now.files.get(at) else { return };
        let hunks: BTreeSet<HunkId> = file
            .hunks
            .iter()
            .map(|hunk| &hunk.id)
            .filter(|id| fitting.contains(*id))
            .cloned()
            .collect();
        if hunks.is_empty() {
            continue;
        }
        let mut by_hunk = alone;
        if !alone {
            let name = update::title_of(std::iter::once((file.path.as_path(), &file.kind)));
            let title = format!("{name} (file {} of {count})", at + 1);
            let mut content = update::asked_file(file, &fitting);
            let has_room = has_room(&content, hunks_of(file, &fitting));
            let mut options = Vec::new();
            match has_room {
                true => options.push(option("accept", "Accept this file", "allow_once")),
                false => content.insert(0, update::text(if hunks.len() > 1 { BY_PARTS } else { NO_PARTS })),
            }
            let call = patch_call(&now, content, title);
            show(peer, session, &call).await;
            if hunks.len() > 1 {
                options.push(option("each", "Decide hunk by hunk", "allow_once"));
            }
            options.push(option("reject", "Reject this file", "reject_once"));
            match ask(peer, session, call, options).await.as_deref() {
                Some("each") => by_hunk = true,
                Some("accept") if has_room => accept(services, &now.id, hunks).await,
                Some("reject") => reject(services, &now.id, Some(hunks)).await,
                _ => return reject(services, &now.id, None).await,
            }
        }
        if by_hunk && !hunk_by_hunk(peer, session, services, &now.id, (at, &mut seen)).await {
            return reject(services, &now.id, None).await;
        }
    }
}

/// False where the person does not answer any more.
async fn hunk_by_hunk(
    peer: &Peer,
    session: &ThreadId,
    services: &Arc<Services>,
    id: &ProposalId,
    (at, seen): (usize, &mut BTreeSet<HunkId>),
) -> bool {
    loop {
        let Some((now, fitting)) = read(services, id).await.filter(|(now, _)| now.status.is_waiting()) else {
            return true;
        };
        let Some(file) = now.files.get(at) else { return true };
        let left = |(_, hunk): &(usize, &Hunk)| fitting.contains(&hunk.id) && !seen.contains(&hunk.id);
        let Some((number, hunk)) = (1..).zip(&file.hunks).find(left) else {
            return true;
        };
        let hunk_id = hunk.id.clone();
        let name = update::title_of(std::iter::once((file.path.as_path(), &file.kind)));
        let title = format!("{name} (hunk {number} of {})", file.hunks.len());
        let mut content = update::hunk(file, hunk);
        let has_room = has_room(&content, std::iter::once((file, hunk)));
        let mut options = Vec::new();
        match has_room {
            true => options.push(option("accept", "Accept this hunk", "allow_once")),
            false => content.insert(0, update::text(NO_PARTS)),
        }
        options.push(option("reject", "Reject this hunk", "reject_once"));
        let call = patch_call(&now, content, title);
        seen.insert(hunk_id.clone());
        show(peer, session, &call).await;
        let it = BTreeSet::from([hunk_id]);
        match ask(peer, session, call, options).await.as_deref() {
            Some("accept") if has_room => accept(services, id, it).await,
            Some("reject") => reject(services, id, Some(it)).await,
            _ => return false,
        }
    }
}

/// Accepts what was shown, as far as it still fits.
async fn accept(services: &Arc<Services>, id: &ProposalId, shown: BTreeSet<HunkId>) {
    let id = id.clone();
    decided(services, move |services| {
        services.proposals.accept_shown(&id, &shown).map(drop)
    })
    .await;
}

/// Rejects these hunks, or all that are left.
async fn reject(services: &Arc<Services>, id: &ProposalId, hunks: Option<BTreeSet<HunkId>>) {
    let params = ProposalDecideParams {
        proposal_id: id.clone(),
        decision: ProposalDecision::Reject,
        hunk_ids: hunks.map(|hunks| hunks.into_iter().collect()),
        path: None,
        feedback: None,
    };
    decided(services, move |services| services.proposals.decide(&params).map(drop)).await;
}

/// Leaves out what was not shown, or does not fit any more.
async fn settle(services: &Arc<Services>, id: &ProposalId) {
    let left = read(services, id).await;
    if left.is_some_and(|(left, _)| left.status.is_waiting()) {
        let id = id.clone();
        decided(services, move |services| services.proposals.leave_out(&id).map(drop)).await;
    }
}

async fn decided(
    services: &Arc<Services>,
    decide: impl FnOnce(&Services) -> Result<(), ProposalError> + Send + 'static,
) {
    let services = services.clone();
    let decided = tokio::task::spawn_blocking(move || decide(&services));
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

/// Who asks in the words of a model: those are never ours.
pub(super) fn who_asks(agent: Option<&str>) -> String {
    match agent {
        Some(name) => format!("The agent {} asks", update::line(name)),
        None => "The agent asks".to_owned(),
    }
}

/// What the model asks: choices only, since there is no place to type.
pub(super) async fn questions(peer: Peer, session: ThreadId, services: Arc<Services>, request: UserInputRequest) {
    let mut response = UserInputResponse::default();
    let who = who_asks(request.agent.as_deref());
    for (at, question) in request
        .questions
        .iter()
        .enumerate()
        .filter(|(_, question)| !question.options.is_empty())
    {
        let call_id = format!("{}-{at}", request.item_id);
        let Some((call, options)) = choice(&call_id, &who, question) else {
            tracing::warn!(
                "a question of the model's is longer than a client has room for; it is left without an answer"
            );
            continue;
        };
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
    services.questions.answer(&request.id, answer);
}

/// One question with its choices, each known by its place. Nothing where no client has room for it.
fn choice(call_id: &str, who: &str, question: &UserQuestion) -> Option<(Value, Vec<Value>)> {
    let each = question.options.iter().enumerate();
    let mut options: Vec<Value> = each
        .map(|(number, choice)| option(&number.to_string(), &update::line(&choice.label), "allow_once"))
        .collect();
    options.push(option("none", "No answer", "reject_once"));
    let explained: Vec<String> = question
        .options
        .iter()
        .filter(|choice| !choice.description.is_empty())
        .map(|choice| format!("- {}: {}", shown::line(&choice.label), shown::line(&choice.description)))
        .collect();
    let call = json!({
        "toolCallId": call_id, "title": format!("{who}: {}", update::line(&question.question)), "kind": "other", "status": "pending",
        "content": [content(&shown::inert(&explained.join("\n")))],
    });
    let length = call.to_string().len() + Value::from(options.clone()).to_string().len();
    (length <= MOST).then_some((call, options))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::approval::{AlwaysRule, ToolApproval};
    use crate::protocol::question::UserChoice;

    #[test]
    fn what_hides_in_a_question_is_shown_and_what_is_too_long_is_not_asked() {
        let question = |text: &str, label: &str| UserQuestion {
            id: "q".to_owned(),
            header: "Q".to_owned(),
            question: text.to_owned(),
            is_other: false,
            options: vec![UserChoice {
                label: label.to_owned(),
                description: "why\u{202e}\nnot".to_owned(),
            }],
        };
        let (call, options) = choice(
            "c-0",
            "The agent asks",
            &question("Which\u{200b}\none?", "Ye\u{e0041}s"),
        )
        .expect("it has room");
        assert_eq!(call["title"], "The agent asks: Which<U+200B> one?");
        assert_eq!(text_of(&call), "- Ye<U+E0041>s: why<U+202E> not");
        assert_eq!(options[0], option("0", "Ye<U+E0041>s", "allow_once"));
        assert_eq!(
            choice("c-0", "The agent asks", &question(&"long ".repeat(MOST), "Yes")),
            None
        );
        assert_eq!(
            who_asks(Some("a\n![p](https://x.example/)")),
            "The agent a ![p]\\(https://x.example/) asks"
        );
    }

    #[test]
    fn a_tool_is_allowed_for_longer_only_where_all_that_is_said_of_it_is_shown() {
        let approval = |arguments: Value, definition: &str| {
            Approval::Tool(ToolApproval {
                id: "q".into(),
                thread_id: "t".into(),
                turn_id: "u".into(),
                item_id: "i".into(),
                agent: None,
                server: "s".to_owned(),
                tool: "look".to_owned(),
                title: "look".to_owned(),
                arguments,
                reason: "It asks.".to_owned(),
                definition: definition.to_owned(),
                session_scope: "look of s as it is now".to_owned(),
                always_rule: AlwaysRule {
                    text: "look of s".to_owned(),
                    title: "s: look".to_owned(),
                    toml: String::new(),
                    file: "/h/rules/always.toml".into(),
                },
                notes: Vec::new(),
                available_decisions: vec![ApprovalDecision::Accept, ApprovalDecision::AcceptAlways],
            })
        };
        let long = "says\n".repeat(MOST_LINES + 1);
        for (arguments, definition, once, longer) in [
            (json!({}), "server: \"s\"\ndescription:\n    Looks.", true, true),
            (json!({}), "", true, true),
            (json!({}), long.as_str(), true, false),
            (json!({"text": "x".repeat(MOST)}), "short", false, false),
        ] {
            let (question, shows) = asked(&approval(arguments, definition));
            assert_eq!(shows, Shows { once, longer }, "{question}");
            let words = text_of(&question);
            assert_eq!(
                words.contains(story::TIED_TO),
                longer && !definition.is_empty(),
                "{words}"
            );
            assert_eq!(words.contains(story::ONCE_ONLY), once && !longer, "{words}");
            assert_eq!(words.contains("- always: "), longer, "{words}");
            assert!(
                !longer || definition.lines().all(|line| words.contains(line)),
                "{words}"
            );
        }
    }
}
