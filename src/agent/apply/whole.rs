//! What is deleted or moved as it is, since it is no text: kept first, so that it can be put back byte for byte.

use super::{Step, permission_bits};
use crate::ids::TurnId;
use crate::patch::disk::content_hash;
use crate::patch::files::{Whole, read_regular};
use crate::patch::plan::FilePlan;
use crate::patch::turn_diff::{Body, Side};
use crate::snapshot::Snapshots;

/// The step of a file that fits. It never goes through an editor, which shows something else than what is there.
pub(super) fn step(index: usize, file: &FilePlan, whole: &Whole) -> Step {
    let mode = match whole {
        Whole::Bytes { .. } => permission_bits(&file.path),
        // That of what it leads to is none of its own.
        Whole::Link { .. } => None,
    };
    Step {
        index,
        path: file.path.clone(),
        now: None,
        then: None,
        move_to: file.move_to().map(ToOwned::to_owned),
        document: None,
        mode,
        then_mode: None,
        whole: Some(whole.clone()),
        kept: None,
    }
}

/// Keeps what a step is about with the records of the turn. Waits for the disk. The error says why it cannot be kept, and
/// then it stays where it is.
pub(super) fn keep(step: &mut Step, snapshots: &Snapshots, turn: &TurnId) -> Result<(), String> {
    let body = match &step.whole {
        None => return Ok(()),
        Some(Whole::Link { target }) => Body::Link(target.clone()),
        Some(Whole::Bytes { sha256, size, .. }) => {
            let path = step.path.display();
            let bytes = read_regular(&step.path)
                .map_err(|error| format!("{path}: {error}. No file was changed."))?
                .filter(|bytes| content_hash(bytes) == *sha256)
                .ok_or_else(|| format!("{path} has changed since the patch was made. No file was changed."))?;
            let blob = snapshots.keep(turn, &bytes).map_err(|error| {
                format!(
                    "What {path} holds cannot be kept for an undo in {} ({error}), so it was left as it is. No file was changed; \
                     make room there, then try again.",
                    snapshots.folder().display()
                )
            })?;
            Body::Bytes {
                key: blob.key(),
                size: *size,
            }
        }
    };
    step.kept = Some(Side { mode: step.mode, body });
    Ok(())
}
