//! Items as `session/update` shows them: chunks of words, and calls of tools with kind, status, content and places. Pure.

use crate::chat::text::{fenced, in_code};
use crate::ids::{HunkId, ItemId};
use crate::patch::hunk::apply_hunks;
use crate::protocol::item::{
    CommandAction, FileChange, FileChangeKind, ItemStatus, PlanStep, PlanStepStatus, ThreadItem,
};
use crate::protocol::proposal::{Hunk, HunkStatus, Proposal, ProposalFile};
use crate::shown;
use crate::workspace::uri;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Stands between two texts that a client may join.
pub(super) const BETWEEN: &str = "\n\n";
/// Bytes of a tool's output that a client is shown.
const MOST_OUTPUT: usize = 16 * 1024;

/// Text of others for a place of one line: a title, a name, a step. Clients may show any of these as Markdown.
pub(super) fn line(text: &str) -> String {
    shown::inert(&shown::line(text))
}

/// Text of others, whole: what hides is shown, and nothing is loaded by being shown.
pub(super) fn chunk(kind: &str, id: &ItemId, text: &str) -> Value {
    piece(kind, id, &shown::markdown(text))
}

/// The parts of a thought, each a text of its own.
pub(super) fn thought(parts: &[String]) -> String {
    let parts: Vec<_> = parts.iter().map(|part| shown::markdown(part)).collect();
    parts.join(BETWEEN)
}

/// Text that comes in pieces, made visible already. By the id a client tells one text from the next.
pub(super) fn piece(kind: &str, id: &ItemId, text: &str) -> Value {
    json!({"sessionUpdate": kind, "messageId": id, "content": {"type": "text", "text": text}})
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
            json!({"content": line(&step.step), "priority": "medium", "status": status})
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
            full_output,
            ..
        } => {
            let mut content: Vec<Value> = aggregated_output
                .iter()
                .filter(|text| !text.is_empty())
                .map(|text| code(text))
                .collect();
            content.extend(reason.as_deref().map(text));
            let full = full_output.as_deref().map(shown::path);
            content.extend(full.map(|path| text(&format!("Full output: {path}"))));
            let mut call = json!({
                "title": format!("`{}`", first_line(command)),
                "kind": command_kind(actions),
                "content": content,
                "locations": locations(actions, cwd),
                "rawInput": {"command": shown::lines(command), "cwd": shown::path(cwd)},
            });
            if let Some(code) = exit_code {
                call["rawOutput"] = json!({"exitCode": code});
            }
            call
        }
        ThreadItem::FileChange { changes, outcome, .. } => {
            let content: Vec<Value> = outcome.as_deref().map(text).into_iter().collect();
            json!({
                "title": title_of(changes.iter().map(|change| (change.path.as_path(), &change.kind))),
                "kind": change_kind(changes),
                "content": content,
                "locations": changes.iter().map(|change| json!({"path": change.path})).collect::<Vec<_>>(),
            })
        }
        ThreadItem::CommandChanges { changes, more, .. } => {
            let names: Vec<String> = changes.iter().map(|change| name(&change.path)).collect();
            let diffs = changes.iter().filter_map(|change| change.diff.as_deref());
            json!({
                "title": format!("Changed by a command: {}", listed(&names, *more as usize)),
                "kind": "edit",
                "content": [code(&diffs.collect::<String>())],
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
            json!({"title": title, "kind": "other", "content": content, "rawInput": shown::value(arguments)})
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
                "title": title, "kind": tool_kind(tool), "content": content, "locations": places,
                "rawInput": shown::value(arguments),
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
    // Nothing in code is more than text, and there a backslash would be one of the command's.
    let is_code = matches!(item, ThreadItem::CommandExecution { .. });
    let shown = |title: &str| if is_code { shown::line(title) } else { line(title) };
    if let Some(title) = call["title"].as_str().map(shown) {
        call["title"] = json!(title);
    }
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
        update["summary"] = json!([{"type": "text", "text": shown::markdown(&cut(summary))}]);
    }
    if status == "failed"
        && let Some(message) = message
    {
        update["error"] = json!(shown::markdown(message));
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
    proposal.files.iter().flat_map(file).chain(reasons).collect()
}

/// The same for a question: `fitting` is what a yes takes.
pub(super) fn asked(proposal: &Proposal, fitting: &BTreeSet<HunkId>) -> Vec<Value> {
    let reasons = proposal.reason.as_deref().map(text);
    let files = proposal.files.iter().flat_map(|file| asked_file(file, fitting));
    files.chain(reasons).collect()
}

/// One file of it.
pub(super) fn asked_file(file: &ProposalFile, fitting: &BTreeSet<HunkId>) -> Vec<Value> {
    let fits = |hunk: &&Hunk| fitting.contains(&hunk.id);
    let waits = |hunk: &&Hunk| matches!(hunk.status, HunkStatus::Pending | HunkStatus::Conflicting);
    let left_out = file.hunks.iter().filter(|hunk| waits(hunk) && !fits(hunk)).count();
    let path = in_code(&shown::path(&file.path));
    let words = match left_out {
        0 => None,
        1 => Some(format!(
            "1 change of {path} is left out: it does not fit the text that is there now, or is in it already."
        )),
        count => Some(format!(
            "{count} changes of {path} are left out: they do not fit the text that is there now, or are in it already."
        )),
    };
    let mut content: Vec<Value> = words.iter().map(|words| text(words)).collect();
    if file.hunks.iter().any(|hunk| fits(&hunk)) {
        content.extend(self::file(file));
    }
    content
}

/// One file of it.
pub(super) fn file(file: &ProposalFile) -> Vec<Value> {
    let old = file.current.as_ref().or(file.before.as_ref());
    let new = file.result.as_ref().or(file.after.as_ref());
    let diff = shown_diff(file, old.map(String::as_str), new.map(String::as_str));
    // What is no text has none to compare.
    let diff = file.not_text.is_none().then_some(diff);
    beyond_text(file).into_iter().chain(diff).collect()
}

/// One hunk of a file: the text with it alone.
pub(super) fn hunk(file: &ProposalFile, hunk: &Hunk) -> Vec<Value> {
    let Some(old) = file.current.as_ref().or(file.before.as_ref()) else {
        return self::file(file);
    };
    if file.not_text.is_some() {
        return self::file(file);
    }
    let place = hunk.range.start as usize..hunk.range.end as usize;
    let new = apply_hunks(old, &[(place, hunk.new_text.clone())]);
    let diff = shown_diff(file, Some(old), Some(&new));
    beyond_text(file).into_iter().chain([diff]).collect()
}

/// What two texts do not show of a change: that the file goes, where it moves from, what it is where it is no text, the
/// rights that it gets, what its name looks like, and what hides.
fn beyond_text(file: &ProposalFile) -> Option<Value> {
    let path = in_code(&shown::path(&file.path));
    let what = file
        .not_text
        .as_ref()
        .map(|what| format!(", {what}"))
        .unwrap_or_default();
    let deed = match &file.kind {
        FileChangeKind::Delete => Some(format!("Delete {path}{what}.")),
        FileChangeKind::Update { move_path: Some(to) } => {
            Some(format!("Move {path} to {}{what}.", in_code(&shown::path(to))))
        }
        // Clients show the path of a diff as it is.
        FileChangeKind::Update { move_path: None } | FileChangeKind::Add => {
            hides_in(&file.path).then(|| format!("The path is {path}."))
        }
    };
    let notes = shown::alike::of_paths(file.new_name());
    let mode = file.mode.map(|mode| format!("{path} gets the mode {mode:03o}."));
    // No client shows what hides in a text.
    let hides = |hunk: &&Hunk| shown::text(&hunk.new_text) != hunk.new_text.replace("\r\n", "\n");
    let hidden: String = file
        .hunks
        .iter()
        .filter(hides)
        .map(|hunk| shown::text(&hunk.new_text))
        .collect();
    let hidden = (!hidden.is_empty()).then(|| {
        format!(
            "Something hides in the lines that come in. With it shown:\n\n{}",
            fenced("text", &hidden)
        )
    });
    let all: Vec<_> = deed
        .into_iter()
        .chain(mode)
        .chain(notes.iter().map(|note| format!("Note: {note}")))
        .map(|one| shown::inert(&one))
        .chain(hidden)
        .collect();
    (!all.is_empty()).then(|| json!({"type": "content", "content": {"type": "text", "text": all.join("\n\n")}}))
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
pub(super) fn title_of<'a>(files: impl Iterator<Item = (&'a Path, &'a FileChangeKind)>) -> String {
    shown::inert(&deed_of(files))
}

fn deed_of<'a>(files: impl Iterator<Item = (&'a Path, &'a FileChangeKind)>) -> String {
    let files: Vec<_> = files.collect();
    let names: Vec<_> = files.iter().map(|(path, _)| name(path)).collect();
    if let ([(_, kind)], [name]) = (files.as_slice(), names.as_slice()) {
        match kind {
            FileChangeKind::Delete => return format!("Delete {name}"),
            FileChangeKind::Update { move_path: Some(to) } => return format!("Move {name} to {}", shown::path(to)),
            FileChangeKind::Update { move_path: None } | FileChangeKind::Add => {}
        }
    }
    match names.as_slice() {
        [] => "Change files".to_owned(),
        names => format!("Change {}", listed(names, 0)),
    }
}

/// A file's name without its folder, unless something hides in that.
fn name(path: &Path) -> String {
    match path.parent().is_some_and(hides_in) {
        true => shown::path(path),
        false => shown::exact(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()),
    }
}

fn hides_in(path: &Path) -> bool {
    shown::path(path) != path.to_string_lossy()
}

/// The first of some names, and how many there are besides, `more` of which are not even listed.
fn listed(names: &[String], more: usize) -> String {
    match names {
        [one, two, three, rest @ ..] if !rest.is_empty() || more > 0 => {
            format!("{one}, {two}, {three} and {} more", rest.len() + more)
        }
        few => few.join(", "),
    }
}

pub(super) fn text(words: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": shown::markdown(&cut(words))}})
}

/// Output as it came.
pub(super) fn code(output: &str) -> Value {
    let output = shown::prose(&cut(output));
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

/// Where a command reads and searches, once each. A pattern of a shell is no place.
fn locations(actions: &[CommandAction], cwd: &Path) -> Vec<Value> {
    let mut places: Vec<PathBuf> = Vec::new();
    for action in actions {
        let named = match action {
            CommandAction::Read { path, .. } => path.to_str(),
            CommandAction::Search { path, .. } | CommandAction::ListFiles { path, .. } => path.as_deref(),
            _ => None,
        };
        let place = named
            .filter(|named| !named.is_empty() && !named.contains(['*', '?', '[', '{', '$', '~']))
            .map(|named| uri::clean(&cwd.join(named)));
        places.extend(place.filter(|place| !places.contains(place)));
    }
    places.iter().map(|place| json!({"path": place})).collect()
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
    fn places_that_a_command_reads_and_searches_are_named_once() {
        let read = |path: &str| CommandAction::Read {
            command: String::new(),
            name: String::new(),
            path: path.into(),
        };
        let search = |path: Option<&str>| CommandAction::Search {
            command: String::new(),
            query: None,
            path: path.map(str::to_owned),
        };
        let list = CommandAction::ListFiles {
            command: String::new(),
            path: Some("../lib".to_owned()),
        };
        let unknown = CommandAction::Unknown { command: String::new() };
        let actions = [
            read("/etc/x"),
            read("a.rs"),
            search(Some("src")),
            search(None),
            read("src/*.rs"),
            list,
            unknown,
            read("a.rs"),
        ];
        let paths = ["/etc/x", "/w/a.rs", "/w/src", "/lib"].map(|path| json!({"path": path}));
        assert_eq!(locations(&actions, Path::new("/w")), paths);
    }

    #[test]
    fn output_cannot_leave_its_fence() {
        let shown = |output: &str| code(output)["content"]["text"].as_str().expect("text").to_owned();
        assert_eq!(shown("a\n"), "```\na\n```");
        assert_eq!(shown("```\nx"), "````\n```\nx\n````");
        assert!(shown(&"é".repeat(20_000)).len() < MOST_OUTPUT + 40);
    }

    #[test]
    fn titles_are_short() {
        let title = |names: &[&str]| title_of(names.iter().map(|name| (Path::new(name), &FileChangeKind::Add)));
        let one = |kind| title_of(std::iter::once((Path::new("/w/a.rs"), &kind)));
        let to = Some("/w/b.rs".into());
        assert_eq!(one(FileChangeKind::Delete), "Delete a.rs");
        assert_eq!(one(FileChangeKind::Update { move_path: to }), "Move a.rs to /w/b.rs");
        assert_eq!(title(&[]), "Change files");
        assert_eq!(title(&["/w/a.rs", "/w/b.rs"]), "Change a.rs, b.rs");
        assert_eq!(
            title(&["/w/su\u{200b}b/ma\u{202e}in.py"]),
            "Change /w/su<U+200B>b/ma<U+202E>in.py"
        );
        assert_eq!(title(&["a", "b", "c", "d", "e"]), "Change a, b, c and 2 more");
        assert_eq!(first_line("echo `x`\nrm y"), "echo 'x' …");
    }
}
