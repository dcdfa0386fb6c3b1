//! Between the diff of a turn, which is in memory, and its record, which lasts.

use super::track::Tracked;
use crate::agent::apply::Changed;
use crate::agent::turn::Turn;
use crate::ids::{ThreadId, TurnId};
use crate::patch::turn_diff::{Body, FileChanged, Side, TurnDiff};
use crate::snapshot::Blob;
use crate::snapshot::record::{self, Content, FileRecord, Records, TurnRecord};
use std::io;
use std::path::PathBuf;

/// Whether the turn has changed nothing so far.
pub(in crate::agent) fn is_untouched(turn: &Turn) -> bool {
    turn.with_diff(|diff| diff.revision()) == 0 && turn.track.now() == Tracked::default()
}

/// Writes down what the turn has changed so far, if there is anything to write. Waits for the disk. A failure is for the
/// log: undo then says that it knows nothing.
pub(in crate::agent) fn save(turn: &Turn) {
    if !turn.track.is_new(turn.with_diff(|diff| diff.revision())) {
        return;
    }
    let record = of_turn(turn);
    let records = turn.services.snapshots.records();
    if record.is_empty() && !records.has(&turn.id) {
        return;
    }
    if let Err(error) = records.save(&record) {
        tracing::error!(turn = %turn.id, %error, "what the turn changed was not recorded, so it cannot be taken back");
    }
}

/// Adds what a proposal changed after its turn had ended to the record of that turn. Waits for the disk.
///
/// # Errors
/// The home folder cannot be written.
pub(in crate::agent) fn add(
    records: &Records,
    thread: &ThreadId,
    turn: &TurnId,
    changed: &[Changed],
    made: &[PathBuf],
) -> io::Result<()> {
    let mut record = records.load(turn).unwrap_or_else(|| TurnRecord {
        thread: thread.clone(),
        turn: turn.clone(),
        no_snapshot: None,
        files: Vec::new(),
        new_folders: Vec::new(),
        gone_folders: Vec::new(),
        shared: Vec::new(),
        undoes: Vec::new(),
    });
    let mut diff = diff_of(&record);
    note(&mut diff, changed);
    record.files = diff.changed().into_iter().filter_map(file_record).collect();
    record.new_folders.extend(made.iter().cloned());
    records.save(&record)
}

/// Notes what applying a proposal changed.
pub(in crate::agent) fn note(diff: &mut TurnDiff, changed: &[Changed]) {
    for one in changed {
        let Changed {
            path,
            move_to,
            before,
            after,
            mode,
            new_mode,
            whole,
        } = one;
        if let Some(side) = whole {
            diff.record_sides(path, Some(side.clone()), None);
            if let Some(to) = move_to {
                diff.record_sides(to, None, Some(side.clone()));
            }
            continue;
        }
        match (move_to, before, after) {
            (Some(to), Some(before), Some(after)) => diff.record_move(path, to, before, after),
            _ => diff.record(path, before.as_deref(), after.as_deref()),
        }
        if let Some(mode) = mode {
            diff.record_mode(path, *mode);
        }
        if let Some(mode) = new_mode {
            diff.record_new_mode(move_to.as_deref().unwrap_or(path), *mode);
        }
    }
}

/// What the turn has changed so far.
pub(super) fn of_turn(turn: &Turn) -> TurnRecord {
    let tracked = turn.track.now();
    TurnRecord {
        thread: turn.conversation.id.clone(),
        turn: turn.id.clone(),
        no_snapshot: tracked.no_snapshot,
        files: turn
            .with_diff(|diff| diff.changed())
            .into_iter()
            .filter_map(file_record)
            .collect(),
        new_folders: tracked.new_folders.into_iter().collect(),
        gone_folders: tracked.gone_folders.into_iter().collect(),
        shared: tracked.shared.into_iter().collect(),
        undoes: tracked.undoes,
    }
}

/// Nothing if a content has a name that nobody gave.
pub(super) fn file_record(file: FileChanged) -> Option<FileRecord> {
    let side = |side: Option<Side>| match side {
        None => Some(None),
        Some(side) => record_side(side).map(Some),
    };
    Some(FileRecord {
        path: file.path,
        before: side(file.before)?,
        after: side(file.after)?,
        moved_from: file.moved_from,
    })
}

fn record_side(side: Side) -> Option<record::Side> {
    let content = match side.body {
        Body::Text(text) => Content::Text { text: text.to_string() },
        Body::Bytes { key, size } => Content::Kept {
            blob: Blob::of_key(&key)?,
            size,
        },
        Body::Link(target) => Content::Link { target },
        Body::Unkept { key, size } => Content::Unkept { size, key },
    };
    Some(record::Side {
        mode: side.mode,
        content,
    })
}

/// The diff of a recorded turn.
pub(super) fn diff_of(record: &TurnRecord) -> TurnDiff {
    let side = |side: &Option<record::Side>| {
        side.as_ref().map(|side| Side {
            mode: side.mode,
            body: match &side.content {
                Content::Text { text } => Body::Text(text.as_str().into()),
                Content::Kept { blob, size } => Body::Bytes {
                    key: blob.key(),
                    size: *size,
                },
                Content::Link { target } => Body::Link(target.clone()),
                Content::Unkept { size, key } => Body::Unkept {
                    key: key.clone(),
                    size: *size,
                },
            },
        })
    };
    let mut diff = TurnDiff::default();
    for file in &record.files {
        diff.restore(FileChanged {
            path: file.path.clone(),
            before: side(&file.before),
            after: side(&file.after),
            moved_from: file.moved_from.clone(),
        });
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Snapshots;
    use std::path::Path;

    #[test]
    fn what_is_applied_after_the_turn_joins_its_record() {
        let home = tempfile::tempdir().unwrap();
        let records = Snapshots::new(home.path(), &std::collections::BTreeMap::new()).records();
        let changed = |before: Option<&str>, after: Option<&str>| Changed {
            path: "/w/a".into(),
            move_to: None,
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            mode: Some(0o755),
            new_mode: None,
            whole: None,
        };
        let (thread, turn) = (ThreadId::from("t"), TurnId::from("u"));
        let made = [PathBuf::from("/w")];
        add(&records, &thread, &turn, &[changed(None, Some("1\n"))], &made).unwrap();
        add(&records, &thread, &turn, &[changed(Some("1\n"), Some("2\n"))], &[]).unwrap();
        let record = records.load(&turn).unwrap();
        assert_eq!((record.files.len(), &record.new_folders[..]), (1, &made[..]));
        let shown = diff_of(&record).unified(Path::new("/w")).unwrap();
        assert!(
            shown.contains("new file mode 100755") && shown.contains("+2\n"),
            "{shown}"
        );
    }
}
