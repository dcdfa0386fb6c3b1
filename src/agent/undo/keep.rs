//! Between the diff of a turn, which is in memory, and its record, which lasts.

use crate::agent::turn::Turn;
use crate::patch::turn_diff::{Body, FileChanged, Side, TurnDiff};
use crate::snapshot::Blob;
use crate::snapshot::record::{self, Content, FileRecord, TurnRecord};

/// Writes down what the turn has changed so far, if there is anything to write. Waits for the disk. A failure is for the
/// log: undo then says that it knows nothing.
pub(in crate::agent) fn save(turn: &Turn) {
    if !turn.track.is_new(turn.with_diff(|diff| diff.revision())) {
        return;
    }
    let record = of_turn(turn);
    let records = turn.desk.snapshots.records();
    if record.is_empty() && !records.has(&turn.id) {
        return;
    }
    if let Err(error) = records.save(&record) {
        tracing::error!(turn = %turn.id, %error, "what the turn changed was not recorded, so it cannot be taken back");
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
        undoes: tracked.undoes,
    }
}

/// Nothing if a content has a name that nobody gave.
fn file_record(file: FileChanged) -> Option<FileRecord> {
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
