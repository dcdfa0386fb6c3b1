//! Items in Markdown.

use super::super::text::{fenced, inline, safe};
use crate::protocol::approval::{Approval, CommandApproval};
use crate::protocol::item::{
    CommandSource, Confined, FileChange, FileChangeKind, ItemStatus, PlanStepStatus, ThreadItem,
};
use crate::protocol::question::UserInputRequest;
use std::path::Path;

/// Bytes of one file's diff.
const DIFF: usize = 40_000;
/// Characters of a name in a heading.
const NAME: usize = 80;

fn name(path: &Path) -> String {
    inline(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy(), NAME)
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
        "### ◆ {who} {number}: `{}`\n\n{}",
        inline(command, NAME),
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
        (ItemStatus::Declined, _) => "Not run: it was declined.".to_owned(),
        (ItemStatus::Interrupted, _) => "Stopped.".to_owned(),
        (ItemStatus::Background, _) => match terminal_id {
            Some(number) => format!("It runs on in terminal {number}."),
            None => "It runs on.".to_owned(),
        },
        (ItemStatus::InProgress, _) => "It runs.".to_owned(),
    };
    let reason = reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| format!("\n\n{}", safe(reason))).unwrap_or_default();
    format!("*{line}*{reason}\n")
}

pub(super) fn change_begun(item: &ThreadItem, number: usize) -> String {
    let ThreadItem::FileChange { changes, .. } = item else {
        return String::new();
    };
    let names: Vec<_> = changes.iter().take(4).map(|change| name(&change.path)).collect();
    let more = match changes.len() {
        0..=4 => String::new(),
        many => format!(" and {} more", many - 4),
    };
    let mut block = format!("### ◆ Change {number}: {}{more}\n", names.join(", "));
    for change in changes {
        block.push_str(&format!("\n{}\n\n{}", file(change), diff(&change.diff)));
    }
    block
}

fn file(change: &FileChange) -> String {
    let path = inline(&change.path.display().to_string(), 400);
    match &change.kind {
        FileChangeKind::Add => format!("New file `{path}`"),
        FileChangeKind::Delete => format!("Delete `{path}`"),
        FileChangeKind::Update { move_path: None } => format!("`{path}`"),
        FileChangeKind::Update { move_path: Some(to) } => {
            format!("`{path}` becomes `{}`", inline(&to.display().to_string(), 400))
        }
    }
}

fn diff(diff: &str) -> String {
    let cut = diff.floor_char_boundary(DIFF);
    let left = diff.len() - cut;
    let mut block = fenced("diff", &diff[..cut]);
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
        ThreadItem::FileChange { status, outcome, .. } => {
            let what = match status {
                ItemStatus::Completed => "Accepted.",
                ItemStatus::Declined => "Rejected.",
                ItemStatus::Failed => "Not made.",
                ItemStatus::Interrupted => "Withdrawn: the turn was stopped.",
                ItemStatus::InProgress | ItemStatus::Background => "Still waits.",
            };
            let outcome = outcome.as_deref().map(str::trim).filter(|words| !words.is_empty());
            let outcome = outcome.map(|words| format!(" {}", safe(words))).unwrap_or_default();
            format!("*Change {number}: {what}*{outcome}\n")
        }
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
                .map(|why| format!(" {}", safe(why.trim())))
                .unwrap_or_default();
            format!(
                "*The conversation was summed up to make room{}.*{tokens}{why}\n",
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
    match approval {
        Approval::Command(command) => command_question(command, number, &who),
        Approval::Permission(asked) => {
            let mut block = format!(
                "### ◆ Question {number}{who}: allow more?\n\n{}\n",
                safe(asked.reason.trim())
            );
            let folders = asked.folders.iter().map(|folder| folder.display().to_string());
            let asks = asked.permissions.iter().map(ToString::to_string);
            let lines: Vec<_> = folders.chain(asks).collect();
            if !lines.is_empty() {
                block.push_str(&format!("\n{}", fenced("text", &lines.join("\n"))));
            }
            block
        }
        Approval::Tool(tool) => format!(
            "### ◆ Question {number}{who}: call `{}` of {}?\n\n{}\n\n{}",
            inline(&tool.tool, NAME),
            inline(&tool.server, NAME),
            safe(tool.reason.trim()),
            fenced("json", &tool.arguments.to_string())
        ),
    }
}

fn command_question(asked: &CommandApproval, number: usize, who: &str) -> String {
    let place = match asked.confined {
        Confined::ReadOnly => "in the sandbox, reading only",
        Confined::Workspace => "in the sandbox",
        Confined::Outside => "OUTSIDE the sandbox",
    };
    let command = crate::exec::command::display(&asked.command);
    let mut block = format!(
        "### ◆ Question {number}{who}: run this {place}?\n\n{}\nin `{}`. {}\n",
        fenced("sh", &command),
        inline(&asked.cwd.display().to_string(), 400),
        safe(asked.reason.trim())
    );
    if let Some(words) = asked
        .justification
        .as_deref()
        .filter(|words| !asked.reason.contains(*words))
    {
        block.push_str(&format!("\nThe agent says: {}\n", safe(words.trim())));
    }
    block.push_str(&format!(
        "\n- for this session: {}\n",
        inline(&asked.session_scope, 300)
    ));
    if let Some(rule) = &asked.always_rule {
        block.push_str(&format!(
            "- always: {} (written to `{}`)\n",
            inline(&rule.text, 300),
            inline(&rule.file.display().to_string(), 300)
        ));
    }
    block
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
