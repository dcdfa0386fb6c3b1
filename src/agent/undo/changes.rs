//! What one command, or one call of an MCP server, has changed: shown in an item of its own and recorded, so that it can be undone by
//! itself, file by file.

use super::keep::file_record;
use crate::agent::turn::Turn;
use crate::ids::{ItemId, TurnId};
use crate::patch::turn_diff::{Side, TurnDiff};
use crate::protocol::item::{ChangedFile, ThreadItem};
use crate::snapshot::record::{Records, TurnRecord};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Files that one item lists.
const MOST_FILES: usize = 200;
/// Bytes of the diff of one file, and of all of one item.
const MOST_DIFF: usize = 64 << 10;
const MOST_DIFFS: usize = 512 << 10;
/// What stands in the name of such an item, and of its record, between the name of the turn and a number.
pub(super) const COMMAND: &str = "-command-";

/// What was found to be different after a command, as far as it is its own doing.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) files: Vec<(PathBuf, Option<Side>, Option<Side>)>,
    pub(super) new_folders: Vec<PathBuf>,
    pub(super) gone_folders: Vec<PathBuf>,
    /// Files that the person saved meanwhile.
    pub(super) shared: BTreeSet<PathBuf>,
}

impl Made {
    pub(super) fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.new_folders.extend(other.new_folders);
        self.gone_folders.extend(other.gone_folders);
        self.shared.extend(other.shared);
    }

    /// Records it, then shows it. Waits for the disk. Nothing where no file is different.
    pub(super) fn show(self, turn: &Turn, source_id: Option<&ItemId>) {
        let mut diff = TurnDiff::default();
        for (path, before, after) in self.files {
            diff.record_sides(&path, before, after);
        }
        let shown = diff.files_shown(&turn.settings.cwd);
        if shown.is_empty() {
            return;
        }
        let id = ItemId::from(turn.track.next_item(&turn.id));
        let record = TurnRecord {
            thread: turn.conversation.id.clone(),
            turn: TurnId::from(id.as_str()),
            no_snapshot: None,
            files: diff.changed().into_iter().filter_map(file_record).collect(),
            new_folders: self.new_folders,
            gone_folders: self.gone_folders,
            shared: self.shared.into_iter().collect(),
            undoes: Vec::new(),
        };
        if let Err(error) = turn.services.snapshots.records().save(&record) {
            tracing::error!(item = %id, %error, "what a command changed was not recorded, so it cannot be undone by itself");
        }
        let more = u32::try_from(shown.len().saturating_sub(MOST_FILES)).unwrap_or(u32::MAX);
        let mut left = MOST_DIFFS;
        let changes = shown.into_iter().take(MOST_FILES).map(|file| {
            let (added, removed) = counts(&file.diff);
            let fits = file.diff.len() <= MOST_DIFF.min(left);
            left -= if fits { file.diff.len() } else { 0 };
            ChangedFile {
                path: file.path,
                kind: file.kind,
                added,
                removed,
                diff: fits.then_some(file.diff),
            }
        });
        turn.complete_item(ThreadItem::CommandChanges {
            id,
            source_id: source_id.cloned(),
            changes: changes.collect(),
            more,
        });
    }
}

/// Whether a name of a record is that of what a command of this turn changed.
pub(super) fn is_of(item: &TurnId, turn: &TurnId) -> bool {
    let rest = item.as_str().strip_prefix(turn.as_str());
    rest.is_some_and(|rest| rest.starts_with(COMMAND))
}

/// Whether an undo undid what commands had changed, and no whole turns.
pub(super) fn is_of_command(undo: &TurnRecord) -> bool {
    !undo.undoes.is_empty() && undo.undoes.iter().all(|item| item.as_str().contains(COMMAND))
}

/// Lines that the diff of one file adds and removes.
fn counts(diff: &str) -> (u32, u32) {
    let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
    lines.fold((0, 0), |(added, removed), line| match line.as_bytes().first() {
        Some(b'+') => (added + 1, removed),
        Some(b'-') => (added, removed + 1),
        _ => (added, removed),
    })
}

/// What an item of this kind says was changed, as far as it is wanted, for the way back.
///
/// # Errors
/// In words: it is not known any more, or none of the wanted files is among it.
pub(super) fn recorded(records: &Records, item: &ItemId, paths: &[PathBuf]) -> Result<Vec<TurnRecord>, String> {
    let record = records.load(&TurnId::from(item.as_str()));
    let mut record =
        record.ok_or("What this command changed is not recorded any more, so it cannot be undone by itself.")?;
    if !paths.is_empty() {
        record.files.retain(|file| paths.contains(&file.path));
        let files = &record.files;
        let holds = |folder: &PathBuf| files.iter().any(|file| file.path.starts_with(folder));
        record.new_folders.retain(holds);
        record.gone_folders.retain(holds);
    }
    match record.files.is_empty() {
        true => Err("The command has not changed these files.".to_owned()),
        false => Ok(vec![record]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_in_hunks_only() {
        for (diff, expected) in [
            ("", (0, 0)),
            ("diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", (0, 0)),
            (
                "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n-x\n--- y\n+++ z\n \n",
                (1, 2),
            ),
            ("diff --git a/a b/b\nrename from a\nrename to b\n", (0, 0)),
        ] {
            assert_eq!(counts(diff), expected, "{diff}");
        }
    }
}
