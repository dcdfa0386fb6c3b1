//! Carrying an undo out: open documents by one edit, the disk by one transaction under the sandbox, all or none.

use super::plan::Planned;
use super::state::{Data, Thing};
use crate::agent::apply::in_editor::{LOOK, change_in_editor, edit_document, is_done, moved_on, quiet};
use crate::agent::apply::on_disk::commit_confined;
use crate::agent::apply::take_back::{Left, take_back};
use crate::agent::apply::{Scope, Step, is_gone};
use crate::agent::aside::aside;
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
    let folder = TemporaryFolder::new(&scope.services.snapshots).map_err(failed)?;
    // Last of all, since it cannot be taken back: the editor closes what shows them.
    let can_delete = scope.services.editor.has_resource_operations();
    let by_editor = |planned: &&Planned| can_delete && planned.is_open && matches!(planned.disk, Some(None));
    let on_disk: Vec<&Planned> = planned.iter().filter(|one| !by_editor(one)).collect();
    let changes = disk_changes(scope, &on_disk, &folder.0).await.map_err(failed)?;
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
    if let Err(mut message) = write(scope, changes, &tidy).await {
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
            then_mode: None,
            whole: None,
            kept: None,
        })
    };
    planned.iter().enumerate().filter_map(step).collect()
}

/// What goes to the disk: in one transaction or, where a file and a folder change places, in two.
#[derive(Default)]
struct DiskChanges {
    /// Only removals, where they have to be first.
    first: Vec<DiskChange>,
    /// What takes those back.
    first_back: Vec<DiskChange>,
    then: Vec<DiskChange>,
}

/// Contents that a transaction copies from files.
struct Copies<'a> {
    folder: &'a Path,
    blobs: Vec<Blob>,
    texts: Vec<(PathBuf, String)>,
}

async fn disk_changes(scope: &Scope, planned: &[&Planned], folder: &Path) -> Result<DiskChanges, String> {
    let mut copies = Copies {
        folder,
        blobs: Vec::new(),
        texts: Vec::new(),
    };
    let change = |copies: &mut Copies<'_>, planned: &Planned, now: Option<&Thing>, then: Option<&Thing>| {
        let change = copies.change(&planned.path, now, then);
        change.ok_or_else(|| format!("What {} held is not kept.", scope.short_name(&planned.path)))
    };
    let (mut gone, mut back, mut there) = (Vec::new(), Vec::new(), Vec::new());
    for planned in planned {
        let Some(then) = &planned.disk else { continue };
        let made = change(&mut copies, planned, planned.there.as_ref(), then.as_ref())?;
        if then.is_some() {
            there.push(made);
        } else {
            gone.push(made);
            back.push(*planned);
        }
    }
    let mut changes = DiskChanges::default();
    if change_places(&gone, &there) {
        for planned in back {
            // As the record knows it, so with the name of its content.
            let seen = planned.seen.as_ref();
            changes.first_back.push(change(&mut copies, planned, None, seen)?);
        }
        changes.first = gone;
        changes.then = there;
    } else {
        gone.extend(there);
        changes.then = gone;
    }
    export(scope, copies.blobs, copies.texts, folder).await?;
    Ok(changes)
}

impl Copies<'_> {
    /// The change that makes one thing of another; nothing if what shall be there is not kept.
    fn change(&mut self, path: &Path, now: Option<&Thing>, then: Option<&Thing>) -> Option<DiskChange> {
        let expect = Thing::expect(now)?;
        let path = path.to_owned();
        let Some(then) = then else {
            return Some(DiskChange::Remove { path, expect });
        };
        let mode = then.mode.or(now.and_then(|now| now.mode));
        let changed_mode = then.mode.filter(|mode| now.and_then(|now| now.mode) != Some(*mode));
        let edits = match (&then.data, now.map(|now| &now.data)) {
            (Data::Link(_), _) => None,
            (Data::Text(text), Some(Data::Text(now))) => Some(text_edits(now, text)),
            _ if now.is_some_and(|now| now.same_content(then)) => Some(Vec::new()),
            _ => None,
        };
        if let Some(edits) = edits {
            return Some(DiskChange::Edit {
                path,
                edits,
                expect,
                mode: changed_mode,
            });
        }
        let content = match &then.data {
            Data::Text(text) if now.is_none() => {
                return Some(DiskChange::Write {
                    path,
                    text: text.clone(),
                    expect,
                    mode: then.mode,
                });
            }
            // Bytes or a link are there now.
            Data::Text(text) => {
                let from = self.folder.join(format!("text-{}", self.texts.len()));
                self.texts.push((from.clone(), text.clone()));
                let mode = then.mode.unwrap_or(0o644);
                Content::File { from, mode }
            }
            Data::Bytes { blob, .. } => {
                let from = self.folder.join(self.blobs.len().to_string());
                self.blobs.push(blob.clone()?);
                let mode = mode.unwrap_or(0o644);
                Content::File { from, mode }
            }
            Data::Link(target) => Content::Link { target: target.clone() },
            Data::Unkept { .. } | Data::Strange(_) => return None,
        };
        Some(DiskChange::Place { path, content, expect })
    }
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
        DiskChange::Move { .. } | DiskChange::Rename { .. } => None,
    }
}

/// Puts the contents that are to be copied into files.
async fn export(scope: &Scope, blobs: Vec<Blob>, texts: Vec<(PathBuf, String)>, folder: &Path) -> Result<(), String> {
    let (snapshots, folder) = (scope.services.snapshots.clone(), folder.to_owned());
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

async fn write(scope: &Scope, changes: DiskChanges, tidy: &[PathBuf]) -> Result<(), String> {
    let transaction = |changes: Vec<DiskChange>, tidy: &[PathBuf]| Transaction {
        changes,
        tidy: tidy.to_vec(),
        restores: true,
        ..Transaction::default()
    };
    let DiskChanges {
        first,
        first_back,
        then,
    } = changes;
    let in_two = !first.is_empty();
    if in_two {
        commit_confined(scope, transaction(first, tidy)).await?;
    }
    if then.is_empty() && tidy.is_empty() {
        return Ok(());
    }
    let done = commit_confined(scope, transaction(then, tidy)).await;
    match done {
        Err(mut message) if in_two => {
            if let Err(error) = commit_confined(scope, transaction(first_back, &[])).await {
                message.push_str(&format!(
                    " Files that were removed first could not be put back: {error}"
                ));
            }
            Err(message)
        }
        done => done,
    }
}

/// Deletes files of open documents, through the editor first, so that it closes what shows them. Gives those that are
/// still there.
async fn delete(scope: &Scope, planned: &[&Planned], tidy: &[PathBuf]) -> Vec<PathBuf> {
    if planned.is_empty() {
        return Vec::new();
    }
    let change = EditorChange {
        thread: Some(scope.thread.clone()),
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
    let made = async { tokio::join!(scope.services.editor.apply(change), all_gone) };
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
    let changes = DiskChanges {
        then: removals.collect(),
        ..DiskChanges::default()
    };
    let removed = write(scope, changes, tidy).await;
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
        argv0: None,
        cwd: scope.cwd.clone(),
        env: scope
            .services
            .env
            .get("PATH")
            .map(|path| ("PATH".to_owned(), path.clone()))
            .into_iter()
            .collect(),
        confinement: scope.confinement.clone(),
        timeout: Some(FOLDER_LIMIT),
        input: exec::Input::Nothing,
        wrote: exec::Wrote::default(),
        full: exec::FullOutput::default(),
    };
    match exec::run(request, |_, _| {}, CancellationToken::new()).await {
        Ok(finished) if finished.exit_code == 0 => {}
        Ok(finished) => tracing::warn!(output = %finished.aggregated, "empty folders were not made again"),
        Err(error) => tracing::warn!(%error, "empty folders were not made again"),
    }
}
