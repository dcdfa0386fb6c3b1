//! What happens, a line each, on standard error: for who watches a run.

use crate::protocol::event::EventKind;
use crate::protocol::item::{FileChangeKind, ItemStatus, ThreadItem};
use crate::shown;
use std::path::{Path, PathBuf};

/// Characters of a command or a title.
const LONGEST: usize = 120;

pub(super) struct Progress {
    cwd: PathBuf,
}

impl Progress {
    pub(super) fn new(cwd: &Path) -> Self {
        Self { cwd: cwd.to_owned() }
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
                ..
            } => {
                let end = match (status, exit_code) {
                    (ItemStatus::Declined, _) => format!("refused: {}", short(reason.as_deref().unwrap_or_default())),
                    (_, Some(0)) => "exit status 0".to_owned(),
                    (_, Some(code)) => format!("failed, exit status {code}"),
                    _ => word(*status).to_owned(),
                };
                Some(format!("$ {} ({end})", short(command)))
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

/// On one line, cut.
pub(super) fn short(text: &str) -> String {
    let line = shown::line(text);
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
