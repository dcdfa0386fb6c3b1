//! Items as `session/update` shows them: chunks of words, and calls of tools with kind, status, content and places. Pure.

use crate::patch::hunk::apply_hunks;
use crate::protocol::item::{
    CommandAction, FileChange, FileChangeKind, ItemStatus, PlanStep, PlanStepStatus, ThreadItem,
};
use crate::protocol::proposal::{Hunk, Proposal, ProposalFile};
use serde_json::{Value, json};
use std::path::Path;

/// Bytes of a tool's output that a client is shown.
const MOST_OUTPUT: usize = 16 * 1024;

pub(super) fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

pub(super) fn plan(steps: &[PlanStep]) -> Value {
    let entries: Vec<Value> = steps
        .iter()
        .map(|step| {
            let status = match step.status {
                PlanStepStatus::Pending => "pending",
                PlanStepStatus::InProgress => "in_progress",
                PlanStepStatus::Completed => "completed",
            };
            json!({"content": step.step, "priority": "medium", "status": status})
        })
        .collect();
    json!({"sessionUpdate": "plan", "entries": entries})
}

/// What a call of a tool looks like; nothing for items that are words, or shown otherwise.
pub(super) fn call(item: &ThreadItem) -> Option<Value> {
    let mut call = match item {
        ThreadItem::CommandExecution {
            command,
            cwd,
            actions,
            aggregated_output,
            exit_code,
            reason,
            ..
        } => {
            let mut content: Vec<Value> = aggregated_output
                .iter()
                .filter(|text| !text.is_empty())
                .map(|text| code(text))
                .collect();
            content.extend(reason.as_deref().map(text));
            let mut call = json!({
                "title": format!("`{}`", first_line(command)),
                "kind": command_kind(actions),
                "content": content,
                "locations": locations(actions),
                "rawInput": {"command": command, "cwd": cwd},
            });
            if let Some(code) = exit_code {
                call["rawOutput"] = json!({"exitCode": code});
            }
            call
        }
        ThreadItem::FileChange { changes, outcome, .. } => {
            let content: Vec<Value> = outcome.as_deref().map(text).into_iter().collect();
            json!({
                "title": title_of(changes.iter().map(|change| change.path.as_path())),
                "kind": change_kind(changes),
                "content": content,
                "locations": changes.iter().map(|change| json!({"path": change.path})).collect::<Vec<_>>(),
            })
        }
        ThreadItem::McpToolCall {
            title,
            arguments,
            result,
            error,
            ..
        } => {
            let mut content: Vec<Value> = error.as_deref().map(text).into_iter().collect();
            content.extend(result.as_ref().and_then(words_of).map(|words| text(&words)));
            json!({"title": title, "kind": "other", "content": content, "rawInput": arguments})
        }
        ThreadItem::ToolCall { tool, .. } if tool == "update_plan" => return None,
        ThreadItem::ToolCall {
            tool,
            title,
            arguments,
            output,
            ..
        } => {
            let content: Vec<Value> = output
                .iter()
                .filter(|text| !text.is_empty())
                .map(|text| code(text))
                .collect();
            let path = ["file_path", "path", "dir_path"]
                .iter()
                .find_map(|key| arguments[key].as_str());
            let places: Vec<Value> = path
                .filter(|path| Path::new(path).is_absolute())
                .map(|path| json!({"path": path}))
                .into_iter()
                .collect();
            json!({
                "title": title, "kind": tool_kind(tool), "content": content, "locations": places, "rawInput": arguments,
            })
        }
        ThreadItem::CollabAgentToolCall { tool, prompt, .. } => {
            let name = serde_json::to_value(tool)
                .ok()
                .and_then(|name| name.as_str().map(str::to_owned));
            let content: Vec<Value> = prompt.as_deref().map(text).into_iter().collect();
            json!({"title": format!("Agents: {}", name.unwrap_or_default()), "kind": "other", "content": content})
        }
        ThreadItem::ContextCompaction { summary, message, .. } => {
            let content: Vec<Value> = message
                .as_deref()
                .or(summary.as_deref())
                .map(text)
                .into_iter()
                .collect();
            json!({"title": "Sum up the conversation", "kind": "think", "content": content})
        }
        ThreadItem::Undo { message, .. } => {
            let content: Vec<Value> = message.as_deref().map(text).into_iter().collect();
            json!({"title": "Take changes back", "kind": "edit", "content": content})
        }
        _ => return None,
    };
    call["toolCallId"] = json!(item.id());
    call["status"] = json!(status(item));
    Some(call)
}

/// A compaction, for clients that show one as such.
pub(super) fn compaction(item: &ThreadItem) -> Option<Value> {
    let ThreadItem::ContextCompaction {
        id,
        status,
        summary,
        message,
        ..
    } = item
    else {
        return None;
    };
    let status = match status {
        ItemStatus::InProgress => "in_progress",
        ItemStatus::Completed | ItemStatus::Background => "completed",
        ItemStatus::Failed | ItemStatus::Declined => "failed",
        ItemStatus::Interrupted => "cancelled",
    };
    let mut update = json!({"sessionUpdate": "compaction_update", "compactionId": id, "status": status});
    if let Some(summary) = summary {
        update["summary"] = json!([{"type": "text", "text": cut(summary)}]);
    }
    if status == "failed"
        && let Some(message) = message
    {
        update["error"] = json!(message);
    }
    Some(update)
}

fn status(item: &ThreadItem) -> &'static str {
    let status = match item {
        ThreadItem::CommandExecution { status, .. }
        | ThreadItem::FileChange { status, .. }
        | ThreadItem::McpToolCall { status, .. }
        | ThreadItem::ToolCall { status, .. }
        | ThreadItem::CollabAgentToolCall { status, .. }
        | ThreadItem::Undo { status, .. }
        | ThreadItem::ContextCompaction { status, .. } => *status,
        _ => ItemStatus::Completed,
    };
    match status {
        ItemStatus::InProgress => "in_progress",
        ItemStatus::Completed | ItemStatus::Background => "completed",
        ItemStatus::Failed | ItemStatus::Declined | ItemStatus::Interrupted => "failed",
    }
}

/// The whole texts before and after, file by file, as the proposal has them when it was read.
pub(super) fn diffs(proposal: &Proposal) -> Vec<Value> {
    let reasons = proposal.reason.as_deref().map(text);
    proposal.files.iter().map(diff).chain(reasons).collect()
}

/// One file of it.
pub(super) fn diff(file: &ProposalFile) -> Value {
    let old = file.current.as_ref().or(file.before.as_ref());
    let new = file.result.as_ref().or(file.after.as_ref());
    shown_diff(file, old.map(String::as_str), new.map(String::as_str))
}

/// One hunk of a file: the text with it alone.
pub(super) fn hunk(file: &ProposalFile, hunk: &Hunk) -> Value {
    let Some(old) = file.current.as_ref().or(file.before.as_ref()) else {
        return diff(file);
    };
    let place = hunk.range.start as usize..hunk.range.end as usize;
    let new = apply_hunks(old, &[(place, hunk.new_text.clone())]);
    shown_diff(file, Some(old), Some(&new))
}

fn shown_diff(file: &ProposalFile, old: Option<&str>, new: Option<&str>) -> Value {
    let path = match &file.kind {
        FileChangeKind::Update { move_path: Some(to) } => to,
        _ => &file.path,
    };
    let mut diff = json!({"type": "diff", "path": path, "newText": new.unwrap_or_default()});
    if let Some(old) = old {
        diff["oldText"] = json!(old);
    }
    diff
}

/// What a change of files is called.
pub(super) fn title_of<'a>(paths: impl Iterator<Item = &'a Path>) -> String {
    let names: Vec<_> = paths
        .map(|path| {
            path.file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    match names.as_slice() {
        [] => "Change files".to_owned(),
        [one, two, three, rest @ ..] if !rest.is_empty() => {
            format!("Change {one}, {two}, {three} and {} more", rest.len())
        }
        few => format!("Change {}", few.join(", ")),
    }
}

pub(super) fn text(words: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": cut(words)}})
}

/// Output as it came.
pub(super) fn code(output: &str) -> Value {
    let output = cut(output);
    let longest = output.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    json!({"type": "content", "content": {"type": "text", "text": format!("{fence}\n{}\n{fence}", output.trim_end_matches('\n'))}})
}

/// The end of it, which says most.
fn cut(words: &str) -> String {
    if words.len() <= MOST_OUTPUT {
        return words.to_owned();
    }
    let start = words.ceil_char_boundary(words.len() - MOST_OUTPUT);
    format!("[…]{}", &words[start..])
}

fn first_line(command: &str) -> String {
    let line = command.lines().next().unwrap_or_default();
    match command.lines().nth(1) {
        Some(_) => format!("{line} …"),
        None => line.to_owned(),
    }
    .replace('`', "'")
}

fn command_kind(actions: &[CommandAction]) -> &'static str {
    let all = |fits: fn(&CommandAction) -> bool| !actions.is_empty() && actions.iter().all(fits);
    if all(|action| matches!(action, CommandAction::Read { .. })) {
        "read"
    } else if all(|action| matches!(action, CommandAction::Search { .. } | CommandAction::ListFiles { .. })) {
        "search"
    } else {
        "execute"
    }
}

fn locations(actions: &[CommandAction]) -> Vec<Value> {
    let read = actions.iter().filter_map(|action| match action {
        CommandAction::Read { path, .. } if path.is_absolute() => Some(json!({"path": path})),
        _ => None,
    });
    read.collect()
}

fn change_kind(changes: &[FileChange]) -> &'static str {
    let all =
        |fits: fn(&FileChangeKind) -> bool| !changes.is_empty() && changes.iter().all(|change| fits(&change.kind));
    if all(|kind| matches!(kind, FileChangeKind::Delete)) {
        "delete"
    } else if all(|kind| matches!(kind, FileChangeKind::Update { move_path: Some(_) })) {
        "move"
    } else {
        "edit"
    }
}

fn tool_kind(tool: &str) -> &'static str {
    match tool {
        "read_file" | "list_dir" | "view_image" => "read",
        "grep_files" => "search",
        "web_search" => "fetch",
        _ => "other",
    }
}

/// The words of a server's answer.
fn words_of(result: &Value) -> Option<String> {
    let blocks = result["content"].as_array()?.iter();
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    Some(texts.join("\n")).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_cannot_leave_its_fence() {
        let shown = |output: &str| code(output)["content"]["text"].as_str().expect("text").to_owned();
        assert_eq!(shown("a\n"), "```\na\n```");
        assert_eq!(shown("```\nx"), "````\n```\nx\n````");
        assert!(shown(&"é".repeat(20_000)).len() < MOST_OUTPUT + 40);
    }

    #[test]
    fn titles_are_short() {
        let title = |names: &[&str]| title_of(names.iter().map(Path::new));
        assert_eq!(title(&[]), "Change files");
        assert_eq!(title(&["/w/a.rs", "/w/b.rs"]), "Change a.rs, b.rs");
        assert_eq!(title(&["a", "b", "c", "d", "e"]), "Change a, b, c and 2 more");
        assert_eq!(first_line("echo `x`\nrm y"), "echo 'x' …");
    }
}
