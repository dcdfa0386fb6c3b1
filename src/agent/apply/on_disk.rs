//! The part of a change that is in closed files: written by a process of our own under the sandbox.

use super::{Scope, Step, aside, is_gone, written};
use crate::exec::{self, CommandRequest};
use crate::patch::disk::{DiskChange, Expect, Transaction, role};
use crate::patch::hunk::text_edits;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long writing to the disk may take.
const WRITE_LIMIT: Duration = Duration::from_secs(60);

pub(super) fn disk_change(step: &Step) -> DiskChange {
    let expect = || Expect::of(step.now.as_deref());
    match (&step.then, &step.move_to) {
        (None, _) => DiskChange::Remove {
            path: step.path.clone(),
            expect: expect(),
        },
        (Some(text), Some(to)) => DiskChange::Move {
            from: step.path.clone(),
            to: to.clone(),
            text: text.clone(),
            expect: expect(),
            mode: None,
        },
        (Some(text), None) => write(step, step.now.as_deref(), text, None),
    }
}

/// A file that is there is edited, so that a small change of a large one stays small.
fn write(step: &Step, there: Option<&str>, text: &str, mode: Option<u32>) -> DiskChange {
    let (path, expect) = (step.path.clone(), Expect::of(there));
    match there {
        Some(there) => DiskChange::Edit {
            path,
            edits: text_edits(there, text),
            expect,
            mode: None,
        },
        None => DiskChange::Write {
            path,
            text: text.to_owned(),
            expect,
            mode,
        },
    }
}

/// Takes a disk change back.
pub(super) fn undo(step: &Step) -> DiskChange {
    let expect = || Expect::of(step.then.as_deref());
    match (&step.now, &step.move_to) {
        (Some(text), Some(to)) => DiskChange::Move {
            from: to.clone(),
            to: step.path.clone(),
            text: text.clone(),
            expect: expect(),
            mode: None,
        },
        (Some(text), None) => write(step, step.then.as_deref(), text, step.mode),
        (None, _) => DiskChange::Remove {
            path: step.path.clone(),
            expect: expect(),
        },
    }
}

/// The folders that will be made for the files that are written, the innermost first.
pub(super) fn missing_folders(steps: &[Step]) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = written(steps)
        .map(|step| step.move_to.as_ref().unwrap_or(&step.path))
        .flat_map(|path| path.ancestors().skip(1))
        .filter(|folder| is_gone(folder))
        .map(Path::to_owned)
        .collect();
    missing.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    missing.dedup();
    missing
}

/// Writes closed files in a process of our own under the sandbox, so that no link leads out of the folders meant: the
/// workspace, and what was outside of it when the person was asked. A link that slipped in since widens nothing.
pub(super) async fn write_confined(scope: &Scope, changes: Vec<DiskChange>, tidy: Vec<PathBuf>) -> Result<(), String> {
    let program = exec::self_program().map_err(|error| format!("The own program was not found: {error}."))?;
    let confinement = scope.confinement.clone();
    let transaction = Transaction {
        roots: confinement.writable_roots().to_vec(),
        changes,
        tidy,
        ..Transaction::default()
    };
    let stdin = aside(move || transaction.to_json())
        .await
        .map_err(|error| error.to_string())?;
    let request = CommandRequest {
        argv: vec![program.display().to_string(), role::NAME.to_owned()],
        cwd: scope.cwd.clone(),
        env: std::collections::BTreeMap::new(),
        confinement,
        timeout: Some(WRITE_LIMIT),
        stdin: Some(stdin),
    };
    let finished = exec::run(request, |_, _| {}, CancellationToken::new())
        .await
        .map_err(|error| error.to_string())?;
    role::read_outcome(finished.stdout.as_bytes()).map_err(|error| error.to_string())
}
