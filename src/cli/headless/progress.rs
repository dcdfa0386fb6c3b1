//! What happens, on standard error: for who watches a run.

use crate::protocol::event::EventKind;
use crate::protocol::item::{FileChangeKind, ItemStatus, ThreadItem};
use crate::shown;
use std::path::{Path, PathBuf};

/// Characters of a command or a title.
const LONGEST: usize = 120;
/// Lines at the end of what a failed command wrote.
const LAST_LINES: usize = 10;

pub(super) struct Progress {
    cwd: PathBuf,
    /// What the agent said last. It is the answer, which goes elsewhere, unless something comes after it.
    said: Option<String>,
}

impl Progress {
    pub(super) fn new(cwd: &Path) -> Self {
        Self {
            cwd: cwd.to_owned(),
            said: None,
        }
    }

    /// What the agent of the run said before it went on with this, marked, so that it passes for no line of ours.
    pub(super) fn words_before(&mut self, event: &EventKind) -> Option<String> {
        match event {
            EventKind::ItemCompleted(completed) => {
                let ThreadItem::AgentMessage { text, .. } = &completed.item else {
                    return None;
                };
                let text = Some(text.trim()).filter(|text| !completed.withdrawn && !text.is_empty());
                let before = std::mem::replace(&mut self.said, text.map(str::to_owned));
                before.map(|words| marked(&words))
            }
            EventKind::ItemStarted(started) if !matches!(started.item, ThreadItem::AgentMessage { .. }) => {
                self.said.take().map(|words| marked(&words))
            }
            _ => None,
        }
    }

    pub(super) fn line(&self, event: &EventKind) -> Option<String> {
        match event {
            EventKind::ItemCompleted(completed) if !completed.withdrawn => self.item(&completed.item),
            EventKind::Warning(warning) => Some(format!("warning: {}", shown::line(&warning.message))),
            EventKind::TurnRetrying(retrying) => Some(format!(
                "retrying in {:.1} s: {}",
                retrying.delay_ms as f64 / 1000.0,
                shown::line(&retrying.message)
            )),
            _ => None,
        }
    }

    fn item(&self, item: &ThreadItem) -> Option<String> {
        match item {
            ThreadItem::CommandExecution {
                command,
                status,
                exit_code,
                reason,
                aggregated_output,
                ..
            } => {
                let end = match (status, exit_code) {
                    (ItemStatus::Declined, _) => format!("refused: {}", short(reason.as_deref().unwrap_or_default())),
                    (_, Some(0)) => "exit status 0".to_owned(),
                    (_, Some(code)) => format!("failed, exit status {code}"),
                    _ => word(*status).to_owned(),
                };
                let output = match status {
                    ItemStatus::Failed => last_lines(aggregated_output.as_deref().unwrap_or_default()),
                    _ => String::new(),
                };
                Some(format!("$ {} ({end}){output}", short(command)))
            }
            ThreadItem::FileChange {
                changes,
                applied,
                status,
                outcome,
                ..
            } => {
                let made = applied.as_ref().unwrap_or(changes);
                let names: Vec<String> = made
                    .iter()
                    .map(|change| self.name(&change.path, &change.kind))
                    .collect();
                let end = match (status, outcome) {
                    (ItemStatus::Completed, _) => String::new(),
                    (status, Some(outcome)) => format!(" ({}: {})", word(*status), short(outcome)),
                    (status, None) => format!(" ({})", word(*status)),
                };
                Some(format!("{}{end}", names.join(", ")))
            }
            ThreadItem::CommandChanges { changes, more, .. } => {
                let count = changes.len() + *more as usize;
                let names: Vec<String> = changes
                    .iter()
                    .map(|change| self.name(&change.path, &change.kind))
                    .collect();
                let files = if count == 1 { "file" } else { "files" };
                Some(format!(
                    "a command changed {count} {files}: {}",
                    short(&names.join(", "))
                ))
            }
            ThreadItem::McpToolCall { title, status, .. } | ThreadItem::ToolCall { title, status, .. } => {
                let end = match status {
                    ItemStatus::Completed => String::new(),
                    status => format!(" ({})", word(*status)),
                };
                Some(format!("{}{end}", short(title)))
            }
            _ => None,
        }
    }

    /// `M src/a.rs`, as Git has it.
    fn name(&self, path: &Path, kind: &FileChangeKind) -> String {
        let letter = match kind {
            FileChangeKind::Add => 'A',
            FileChangeKind::Delete => 'D',
            FileChangeKind::Update { .. } => 'M',
        };
        format!("{letter} {}", shown::path(path.strip_prefix(&self.cwd).unwrap_or(path)))
    }
}

fn word(status: ItemStatus) -> &'static str {
    match status {
        ItemStatus::InProgress => "running",
        ItemStatus::Completed => "done",
        ItemStatus::Failed => "failed",
        ItemStatus::Declined => "refused",
        ItemStatus::Interrupted => "stopped",
        ItemStatus::Background => "runs on",
    }
}

/// Words of the agent: a dot before them, and what follows it under them.
fn marked(words: &str) -> String {
    format!("• {}", shown::prose(words).trim().replace('\n', "\n  "))
}

/// The end of what a command wrote, indented, each line cut.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    last.iter()
        .map(|line| format!("\n    {}", cut(shown::text(line.trim_end()))))
        .collect()
}

/// On one line, cut.
pub(super) fn short(text: &str) -> String {
    cut(shown::line(text))
}

fn cut(line: String) -> String {
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
