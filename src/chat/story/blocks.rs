//! Items in Markdown.

use super::super::text::{decided, decided_code, fenced, inline, inline_code, safe, safe_inline};
use super::{ONCE_ONLY, TIED_TO};
use crate::protocol::approval::{AlwaysRule, Approval, CommandApproval};
use crate::protocol::item::{
    ChangedFile, CommandSource, Confined, FileChangeKind, ItemStatus, PlanStepStatus, ThreadItem,
};
use crate::protocol::proposal::Proposal;
use crate::protocol::question::UserInputRequest;
use crate::shown;
use std::path::Path;

/// Bytes of one file's diff.
const DIFF: usize = 40_000;
/// Characters of a name in a heading.
const NAME: usize = 80;

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    inline(&shown::exact(&name.to_string_lossy()), NAME)
}

/// The names of the first files, and how many there are besides, `more` of which are not even listed.
fn listed<'p>(paths: impl ExactSizeIterator<Item = &'p Path>, more: usize) -> String {
    const NAMED: usize = 4;
    let others = paths.len().saturating_sub(NAMED) + more;
    let names: Vec<_> = paths.take(NAMED).map(name).collect();
    match others {
        0 => names.join(", "),
        others => format!("{} and {others} more", names.join(", ")),
    }
}

pub(super) fn command_begun(item: &ThreadItem, number: usize) -> String {
    let ThreadItem::CommandExecution {
        command,
        source,
        confined,
        ..
    } = item
    else {
        return String::new();
    };
    let who = match (source, confined) {
        (CommandSource::User, _) => "Your command",
        (CommandSource::Agent, Confined::ReadOnly) => "Command, reading only",
        (CommandSource::Agent, Confined::Workspace) => "Command",
        (CommandSource::Agent, Confined::Outside) => "Command, outside the sandbox",
    };
    format!(
        "### ◆ {who} {number}: {}\n\n{}",
        inline_code(command, NAME),
        fenced("sh", command)
    )
}

pub(super) fn command_done(item: &ThreadItem, _number: usize) -> String {
    let ThreadItem::CommandExecution {
        status,
        exit_code,
        duration_ms,
        reason,
        terminal_id,
        full_output,
        ..
    } = item
    else {
        return String::new();
    };
    let took = duration_ms.map(|ms| {
        let tenths = ms / 100;
        format!(" after {}.{} s", tenths / 10, tenths % 10)
    });
    let took = took.unwrap_or_default();
    let line = match (status, exit_code) {
        (ItemStatus::Completed, _) => format!("Done{took}."),
        (ItemStatus::Failed, Some(code)) => format!("Failed with exit code {code}{took}."),
        (ItemStatus::Failed, None) => "It did not run to its end.".to_owned(),
        (ItemStatus::Declined, _) => "Denied.".to_owned(),
        (ItemStatus::Interrupted, _) => "Stopped.".to_owned(),
        (ItemStatus::Background, _) => match terminal_id {
            Some(number) => format!("It runs on in terminal {number}."),
            None => "It runs on.".to_owned(),
        },
        (ItemStatus::InProgress, _) => "It runs.".to_owned(),
    };
    let reason = reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| format!("\n\n{}", safe(reason))).unwrap_or_default();
    let full = full_output
        .as_deref()
        .map(|path| format!("\n\nFull output: {}", inline_code(&shown::path(path), 400)));
    format!("*{line}*{reason}{}\n", full.unwrap_or_default())
}

pub(super) fn change_begun(item: &ThreadItem, number: usize) -> String {
    let ThreadItem::FileChange { changes, .. } = item else {
        return String::new();
    };
    let names = listed(changes.iter().map(|change| change.path.as_path()), 0);
    // Of one that cannot be read it is not known which files it is about.
    let sign = if names.is_empty() { "" } else { ": " };
    let mut block = format!("### ◆ Change {number}{sign}{names}\n");
    for change in changes {
        block.push_str(&format!("\n{}\n", file(&change.path, &change.kind)));
        // What came to nothing before it was looked at has none.
        if !change.diff.is_empty() {
            block.push_str(&format!("\n{}", diff(&change.diff)));
        }
    }
    block
}

/// What a command changed by itself.
fn command_changes(changes: &[ChangedFile], more: u32) -> String {
    let names = listed(changes.iter().map(|change| change.path.as_path()), more as usize);
    let mut block = format!("### ◆ Changed by a command: {names}\n");
    for change in changes {
        let what = file(&change.path, &change.kind);
        block.push_str(&format!("\n{what} +{} −{}\n", change.added, change.removed));
        if let Some(text) = &change.diff {
            block.push_str(&format!("\n{}", diff(text)));
        }
    }
    block
}

fn file(path: &Path, kind: &FileChangeKind) -> String {
    let path = inline_code(&shown::path(path), 400);
    match kind {
        FileChangeKind::Add => format!("New file {path}"),
        FileChangeKind::Delete => format!("Delete {path}"),
        FileChangeKind::Update { move_path: None } => path,
        FileChangeKind::Update { move_path: Some(to) } => {
            format!("{path} becomes {}", inline_code(&shown::path(to), 400))
        }
    }
}

pub(super) fn shows(proposal: &Proposal) -> bool {
    proposal.diff.len() <= DIFF
}

fn diff(diff: &str) -> String {
    let cut = diff.floor_char_boundary(DIFF);
    let left = diff.len() - cut;
    // Nothing in a line begins another, without its sign.
    let mut block = fenced("diff", &shown::diff(&diff[..cut]).replace("\r\n", "\n"));
    if left > 0 {
        block.push_str(&format!("\n*… {left} bytes more; Show has the whole change.*\n"));
    }
    block
}

/// What is written of an item when it is done; nothing for what is not worth a line.
pub(super) fn done(item: &ThreadItem, number: usize) -> Option<String> {
    let failed = |status: ItemStatus| match status {
        ItemStatus::Failed => " (failed)",
        ItemStatus::Declined => " (declined)",
        ItemStatus::Interrupted => " (stopped)",
        ItemStatus::Background => " (runs on)",
        ItemStatus::Completed | ItemStatus::InProgress => "",
    };
    Some(match item {
        ThreadItem::FileChange {
            status,
            outcome,
            applied,
            ..
        } => {
            let what = match status {
                ItemStatus::Completed if applied.is_some() => "Accepted in part.",
                ItemStatus::Completed => "Accepted.",
                ItemStatus::Declined => "Rejected.",
                ItemStatus::Failed => "Not made.",
                ItemStatus::Interrupted => "Withdrawn: the turn was stopped.",
                ItemStatus::InProgress | ItemStatus::Background => "Still waits.",
            };
            let outcome = outcome.as_deref().map(str::trim).filter(|words| !words.is_empty());
            let outcome = outcome
                .map(|words| format!(" {}", safe_inline(words)))
                .unwrap_or_default();
            format!("*Change {number}: {what}*{outcome}\n")
        }
        ThreadItem::CommandChanges { changes, more, .. } => command_changes(changes, *more),
        ThreadItem::Plan { explanation, steps, .. } => {
            let mut block = "### ◆ Plan\n\n".to_owned();
            if let Some(words) = explanation.as_deref().map(str::trim).filter(|words| !words.is_empty()) {
                block.push_str(&format!("{}\n\n", safe(words)));
            }
            for step in steps {
                let words = inline(&step.step, 400);
                block.push_str(&match step.status {
                    PlanStepStatus::Completed => format!("- [x] {words}\n"),
                    PlanStepStatus::InProgress => format!("- [ ] **{words}**\n"),
                    PlanStepStatus::Pending => format!("- [ ] {words}\n"),
                });
            }
            block
        }
        ThreadItem::ToolCall { title, status, .. } => format!("- {}{}\n", inline(title, 200), failed(*status)),
        ThreadItem::McpToolCall {
            title,
            status,
            error,
            server,
            ..
        } => {
            let error = error.as_deref().map(|error| format!(": {}", inline(error, 400)));
            let error = error.unwrap_or_default();
            format!(
                "- {} ({}){}{error}\n",
                inline(title, 200),
                inline(server, NAME),
                failed(*status)
            )
        }
        ThreadItem::CollabAgentToolCall {
            agents_states,
            prompt,
            status,
            tool,
            ..
        } => {
            use crate::protocol::agent::CollabTool;
            let names: Vec<_> = agents_states.values().map(|state| inline(&state.name, NAME)).collect();
            let what = match tool {
                CollabTool::SpawnAgent => "Started the agent",
                CollabTool::SendMessage => "Wrote to",
                CollabTool::Wait => "Waited for",
                CollabTool::ListAgents => "Looked at the agents",
                CollabTool::CloseAgent => "Closed the agent",
            };
            let prompt = prompt.as_deref().map(|words| format!(": {}", inline(words, 400)));
            format!(
                "- {what} {}{}{}\n",
                names.join(", "),
                failed(*status),
                prompt.unwrap_or_default()
            )
        }
        ThreadItem::AgentMail { author, text, .. } => {
            format!(
                "### ◆ Message of the agent {}\n\n{}\n",
                inline(author, NAME),
                fenced("text", text)
            )
        }
        ThreadItem::EnteredReviewMode { review, .. } => format!("### ◆ Review: {}\n", inline(review, 200)),
        // What was found is the agent's next message.
        ThreadItem::ExitedReviewMode { output: Some(_), .. } => return None,
        ThreadItem::ExitedReviewMode { output: None, .. } => "*The review ended without a result.*\n".to_owned(),
        ThreadItem::Undo { message, status, .. } => {
            let words = message.as_deref().unwrap_or_default();
            format!("### ◆ Undo{}\n\n{}\n", failed(*status), safe(words.trim()))
        }
        ThreadItem::ContextCompaction {
            status,
            tokens_before,
            tokens_after,
            message,
            ..
        } => {
            let tokens = match (tokens_before, tokens_after) {
                (Some(before), Some(after)) => format!(" From about {before} to about {after} tokens."),
                _ => String::new(),
            };
            let why = message
                .as_deref()
                .map(|why| format!(" {}", safe_inline(why.trim())))
                .unwrap_or_default();
            format!(
                "*Compacted the conversation to make room{}.*{tokens}{why}\n",
                failed(*status)
            )
        }
        ThreadItem::AgentMessage { .. }
        | ThreadItem::Reasoning { .. }
        | ThreadItem::UserMessage { .. }
        | ThreadItem::CommandExecution { .. } => return None,
    })
}

/// How the heading of a question begins; lenses find it by this.
pub(super) fn approval(approval: &Approval, number: usize) -> String {
    let who = approval
        .agent()
        .map(|name| format!(" of the agent {}", inline(name, NAME)));
    let who = who.unwrap_or_default();
    let asks = match approval {
        Approval::Command(command) => format!("run this {}?", place(command)),
        Approval::Permission(_) => "allow more?".to_owned(),
        Approval::Tool(tool) => {
            format!(
                "call {} of {}?",
                inline_code(&tool.tool, NAME),
                inline(&tool.server, NAME)
            )
        }
    };
    format!("### ◆ Question {number}{who}: {asks}\n\n{}", body(approval, true))
}

fn place(asked: &CommandApproval) -> &'static str {
    match asked.confined {
        Confined::ReadOnly => "in the sandbox, reading only",
        Confined::Workspace => "in the sandbox",
        Confined::Outside => "OUTSIDE the sandbox",
    }
}

/// All that is asked, and all that a yes of each kind covers: nothing of it is cut. Not `for_longer`: what a yes for once needs to
/// show, where what one for longer is tied to has no room.
pub(super) fn body(approval: &Approval, for_longer: bool) -> String {
    let mut block = match approval {
        Approval::Command(command) => command_question(command),
        Approval::Permission(asked) => {
            let folders = asked.folders.iter().map(|folder| shown::path(folder));
            let asks = asked.permissions.iter().map(|one| shown::exact(&one.to_string()));
            let lines: Vec<_> = folders.chain(asks).collect();
            let mut block = format!("{}\n", decided(&asked.reason));
            if !lines.is_empty() {
                block.push_str(&format!("\n{}", fenced("text", &lines.join("\n"))));
            }
            block + &said(asked.justification.as_deref())
        }
        Approval::Tool(tool) => format!(
            "Call {} of the MCP server {}. {}\n\n{}{}",
            decided_code(&shown::exact(&tool.tool)),
            decided_code(&shown::exact(&tool.server)),
            safe_inline(&shown::text(tool.reason.trim())),
            fenced("json", &shown::value(&tool.arguments).to_string()),
            match for_longer {
                true => tied_to(&tool.definition) + &covers(&tool.session_scope, Some(&tool.always_rule)),
                false => format!("\n{ONCE_ONLY}\n"),
            }
        ),
    };
    for note in approval.notes() {
        block.push_str(&format!("\n**Note:** {}\n", decided(note)));
    }
    block
}

/// How a server is reached and what it says of a tool.
fn tied_to(definition: &str) -> String {
    match definition.is_empty() {
        true => String::new(),
        false => format!("\n{TIED_TO}\n\n{}", fenced("text", &shown::text(definition))),
    }
}

/// What a yes for longer covers.
fn covers(scope: &str, always: Option<&AlwaysRule>) -> String {
    let mut block = format!("\n- for this session: {}\n", decided(scope));
    if let Some(rule) = always {
        block.push_str(&format!(
            "- always: {} (written to {})\n",
            decided(&rule.text),
            decided_code(&shown::path(&rule.file))
        ));
    }
    block
}

fn command_question(asked: &CommandApproval) -> String {
    let block = format!(
        "{}\nin {}, {}. {}\n",
        fenced("sh", asked.script.as_ref().unwrap_or(&asked.display)),
        decided_code(&shown::path(&asked.cwd)),
        place(asked),
        decided(&asked.reason)
    );
    block + &said(asked.justification.as_deref()) + &covers(&asked.session_scope, asked.always_rule.as_ref())
}

/// What the agent says of it. On one line: it begins none that could be one of ours.
fn said(words: Option<&str>) -> String {
    words
        .map(|words| format!("\nThe agent says: {}\n", decided(words)))
        .unwrap_or_default()
}

pub(super) fn question(request: &UserInputRequest, number: usize) -> String {
    let who = request
        .agent
        .as_deref()
        .map(|name| format!(" of the agent {}", inline(name, NAME)));
    let mut block = format!("### ◆ Question {number}{}\n", who.unwrap_or_default());
    for question in &request.questions {
        block.push_str(&format!("\n{}\n\n", safe(question.question.trim())));
        for option in &question.options {
            let meaning = Some(inline(&option.description, 300)).filter(|words| !words.is_empty());
            let meaning = meaning.map(|words| format!(": {words}")).unwrap_or_default();
            block.push_str(&format!("- **{}**{meaning}\n", inline(&option.label, NAME)));
        }
    }
    block.push_str("\nChoose by a code action or lens, or write your answer below and send it.\n");
    block
}
