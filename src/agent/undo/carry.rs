//! Carrying an undo out: open documents by one edit, the disk by one transaction under the sandbox, all or none.

use super::plan::Planned;
use super::state::{Data, Thing};
use crate::agent::apply::in_editor::{LOOK, change_in_editor, edit_document, is_done, moved_on, quiet};
use crate::agent::apply::on_disk::commit_confined;
use crate::agent::apply::take_back::{Left, take_back};
use crate::agent::apply::{Scope, Step, aside, is_gone};
use crate::agent::editor::{EditorChange, EditorStep};
use crate::exec::git::{Stop, make_private};
use crate::exec::{self, CommandRequest};
use crate::patch::disk::{Content, DiskChange, Transaction};
use crate::patch::hunk::text_edits;
use crate::snapshot::{Blob, Snapshots};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long an editor may take to delete a file.
const DELETE_LIMIT: Duration = Duration::from_secs(3);
/// How long making folders may take.
const FOLDER_LIMIT: Duration = Duration::from_secs(10);

/// Why an undo was not carried out; every file is as it was, but for what the message names.
pub(super) struct Failure {
    pub(super) message: String,
    /// The person typed meanwhile; it may work now.
    pub(super) overtaken: bool,
}

/// Does all that is planned, or nothing. `new_folders` go where they are empty then. Gives the files that the editor was
/// to delete and that could not be deleted at all.
pub(super) async fn carry_out(
    scope: &Scope,
    planned: &[Planned],
    new_folders: &[PathBuf],
) -> Result<Vec<PathBuf>, Failure> {
    let failed = |message: String| Failure {
        message,
        overtaken: false,
    };
    let folder = TemporaryFolder::new(&scope.desk.snapshots).map_err(failed)?;
    // Last of all, since it cannot be taken back: the editor closes what shows them.
    let can_delete = scope.desk.editor.has_resource_operations();
    let by_editor = |planned: &&Planned| can_delete && planned.is_open && matches!(planned.disk, Some(None));
    let on_disk: Vec<&Planned> = planned.iter().filter(|one| !by_editor(one)).collect();
    let (first, then) = disk_changes(scope, &on_disk, &folder.0).await.map_err(failed)?;
    let steps = steps(planned);
    let mut editor_steps = Vec::new();
    for step in &steps {
        if let Some(document) = &step.document {
            edit_document(step, document, false, &mut editor_steps).map_err(failed)?;
        }
    }
    if !editor_steps.is_empty()
        && let Err(mut message) = change_in_editor(scope, &steps, editor_steps).await
    {
        quiet(scope).await;
        if !steps.iter().all(|step| is_done(scope, step)) {
            let overtaken = steps.iter().any(|step| moved_on(scope, step));
            let left = take_back(scope, &steps).await;
            message.push_str(&left.in_words());
            return Err(Failure {
                message,
                overtaken: overtaken && matches!(left, Left::Nothing),
            });
        }
    }
    let mut tidy = new_folders.to_vec();
    tidy.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    if let Err(mut message) = write(scope, first, then, &tidy).await {
        if !steps.is_empty() {
            message.push_str(&take_back(scope, &steps).await.in_words());
        }
        return Err(failed(message));
    }
    let deleted: Vec<&Planned> = planned.iter().filter(by_editor).collect();
    Ok(delete(scope, &deleted, &tidy).await)
}

/// A folder for the contents that a transaction copies; gone with this.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new(snapshots: &Snapshots) -> Result<Self, String> {
        let folder = snapshots.folder().join(format!("undo-{}", uuid::Uuid::now_v7()));
        make_private(&folder).map_err(|error| format!("{} cannot be made: {error}.", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

/// What goes through the editor.
fn steps(planned: &[Planned]) -> Vec<Step> {
    let step = |(index, planned): (usize, &Planned)| {
        let (document, then) = planned.edit.clone()?;
        Some(Step {
            index,
            path: planned.path.clone(),
            now: Some(document.text()),
            then: Some(then),
            move_to: None,
            document: Some(document),
            mode: None,
        })
    };
    planned.iter().enumerate().filter_map(step).collect()
}

/// What goes to the disk, in one transaction or, where a file and a folder change places, in two.
async fn disk_changes(
    scope: &Scope,
    planned: &[&Planned],
    folder: &Path,
) -> Result<(Vec<DiskChange>, Vec<DiskChange>), String> {
    let mut blobs: Vec<Blob> = Vec::new();
    let (mut gone, mut there) = (Vec::new(), Vec::new());
    let mut texts: Vec<(PathBuf, String)> = Vec::new();
    for planned in planned {
        let Some(then) = &planned.disk else { continue };
        let path = planned.path.clone();
        let Some(expect) = Thing::expect(planned.there.as_ref()) else {
            return Err(format!("{} cannot be replaced.", scope.short_name(&path)));
        };
        let now = planned.there.as_ref();
        let Some(then) = then else {
            gone.push(DiskChange::Remove { path, expect });
            continue;
        };
        let mode = then.mode.or(now.and_then(|now| now.mode));
        let changed_mode = then.mode.filter(|mode| now.and_then(|now| now.mode) != Some(*mode));
        let change = match (&then.data, now.map(|now| &now.data)) {
            (Data::Text(text), Some(Data::Text(now))) => DiskChange::Edit {
                edits: text_edits(now, text),
                path,
                expect,
                mode: changed_mode,
            },
            (Data::Text(text), None) => DiskChange::Write {
                path,
                text: text.clone(),
                expect,
                mode: then.mode,
            },
            // Bytes or a link are there now.
            (Data::Text(text), Some(_)) => {
                let from = folder.join(format!("text-{}", texts.len()));
                texts.push((from.clone(), text.clone()));
                let content = Content::File {
                    from,
                    mode: then.mode.unwrap_or(0o644),
                };
                DiskChange::Place { path, content, expect }
            }
            (Data::Bytes { .. }, Some(_)) if now.is_some_and(|now| now.same_content(then)) => DiskChange::Edit {
                path,
                edits: Vec::new(),
                expect,
                mode: changed_mode,
            },
            (Data::Bytes { blob: Some(blob), .. }, _) => {
                let content = Content::File {
                    from: folder.join(blobs.len().to_string()),
                    mode: mode.unwrap_or(0o644),
                };
                blobs.push(blob.clone());
                DiskChange::Place { path, content, expect }
            }
            (Data::Link(target), _) => {
                let content = Content::Link { target: target.clone() };
                DiskChange::Place { path, content, expect }
            }
            (Data::Bytes { .. } | Data::Unkept { .. } | Data::Strange(_), _) => {
                return Err(format!("What {} held is not kept.", scope.short_name(&path)));
            }
        };
        there.push(change);
    }
    export(scope, blobs, texts, folder).await?;
    if change_places(&gone, &there) {
        return Ok((gone, there));
    }
    gone.extend(there);
    Ok((Vec::new(), gone))
}

/// Whether something goes where a folder is to be, or a folder goes where something is to be.
fn change_places(gone: &[DiskChange], there: &[DiskChange]) -> bool {
    let paths = |changes: &[DiskChange]| {
        changes
            .iter()
            .filter_map(path_of)
            .map(Path::to_owned)
            .collect::<Vec<_>>()
    };
    let (gone, there) = (paths(gone), paths(there));
    let is_above = |a: &PathBuf, b: &PathBuf| a != b && b.starts_with(a);
    gone.iter()
        .any(|old| there.iter().any(|new| is_above(old, new) || is_above(new, old)))
}

fn path_of(change: &DiskChange) -> Option<&Path> {
    match change {
        DiskChange::Write { path, .. }
        | DiskChange::Edit { path, .. }
        | DiskChange::Remove { path, .. }
        | DiskChange::Place { path, .. } => Some(path),
        DiskChange::Move { .. } => None,
    }
}

/// Puts the contents that are to be copied into files.
async fn export(scope: &Scope, blobs: Vec<Blob>, texts: Vec<(PathBuf, String)>, folder: &Path) -> Result<(), String> {
    let (snapshots, folder) = (scope.desk.snapshots.clone(), folder.to_owned());
    aside(move || {
        for (path, text) in texts {
            std::fs::write(&path, text).map_err(|error| format!("{} cannot be written: {error}.", path.display()))?;
        }
        if blobs.is_empty() {
            return Ok(());
        }
        let done = snapshots
            .export(&blobs, &folder, &Stop::default())
            .map_err(|error| format!("The snapshot cannot be read: {error}."))?;
        match done.iter().all(|done| *done) {
            true => Ok(()),
            false => Err("The snapshot is not kept any more: it was too old.".to_owned()),
        }
    })
    .await
}

async fn write(scope: &Scope, first: Vec<DiskChange>, then: Vec<DiskChange>, tidy: &[PathBuf]) -> Result<(), String> {
    let transaction = |changes: Vec<DiskChange>, tidy: &[PathBuf]| Transaction {
        changes,
        tidy: tidy.to_vec(),
        restores: true,
        ..Transaction::default()
    };
    if !first.is_empty() {
        commit_confined(scope, transaction(first, tidy)).await?;
    }
    if then.is_empty() && tidy.is_empty() {
        return Ok(());
    }
    commit_confined(scope, transaction(then, tidy)).await
}

/// Deletes files of open documents, through the editor first, so that it closes what shows them. Gives those that are
/// still there.
async fn delete(scope: &Scope, planned: &[&Planned], tidy: &[PathBuf]) -> Vec<PathBuf> {
    if planned.is_empty() {
        return Vec::new();
    }
    let change = EditorChange {
        label: "Countersign: undo".to_owned(),
        steps: planned
            .iter()
            .map(|planned| EditorStep::Delete {
                path: planned.path.clone(),
            })
            .collect(),
    };
    let all_gone = async {
        while !planned.iter().all(|planned| is_gone(&planned.path)) {
            tokio::time::sleep(LOOK).await;
        }
    };
    let made = async { tokio::join!(scope.desk.editor.apply(change), all_gone) };
    let answer = tokio::time::timeout(DELETE_LIMIT, made).await;
    tracing::debug!(?answer, "open files that a turn had made are deleted");
    let left: Vec<&Planned> = planned
        .iter()
        .copied()
        .filter(|planned| !is_gone(&planned.path))
        .collect();
    // They hold what the turn put there, and so do the documents: nothing of the person's goes with them.
    let removals = left.iter().filter_map(|planned| {
        Some(DiskChange::Remove {
            path: planned.path.clone(),
            expect: Thing::expect(planned.there.as_ref())?,
        })
    });
    let removed = write(scope, Vec::new(), removals.collect(), tidy).await;
    match removed {
        Ok(()) => Vec::new(),
        Err(error) => {
            tracing::warn!(%error, "files that a turn had made could not be deleted");
            left.iter().map(|planned| planned.path.clone()).collect()
        }
    }
}

/// Makes folders that were empty before and are gone. What cannot be made is for the log: nothing is lost with it.
pub(super) async fn make_folders(scope: &Scope, folders: &[PathBuf]) {
    let names: Vec<String> = folders
        .iter()
        .filter(|folder| !folder.exists())
        .filter_map(|folder| folder.to_str().map(str::to_owned))
        .collect();
    if names.is_empty() {
        return;
    }
    let words = ["mkdir", "-p", "--"].map(str::to_owned);
    let request = CommandRequest {
        argv: words.into_iter().chain(names).collect(),
        cwd: scope.cwd.clone(),
        env: scope
            .desk
            .env
            .get("PATH")
            .map(|path| ("PATH".to_owned(), path.clone()))
            .into_iter()
            .collect(),
        confinement: scope.confinement.clone(),
        timeout: Some(FOLDER_LIMIT),
        stdin: None,
    };
    match exec::run(request, |_, _| {}, CancellationToken::new()).await {
        Ok(finished) if finished.exit_code == 0 => {}
        Ok(finished) => tracing::warn!(output = %finished.aggregated, "empty folders were not made again"),
        Err(error) => tracing::warn!(%error, "empty folders were not made again"),
    }
}
