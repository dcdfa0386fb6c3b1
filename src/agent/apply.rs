//! Applying what was accepted of a proposal: open documents through the editor, closed files through the sandbox,
//! all files or none; and then looking whether it really happened.

pub(super) mod in_editor;
pub(super) mod on_disk;
pub(super) mod take_back;

use super::desk::Desk;
use super::proposals::{Decided, places};
use crate::exec::Confinement;
use crate::ids::{HunkId, ProposalId};
use crate::patch::hunk::apply_hunks;
use crate::patch::plan::{FilePlan, Plan};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{HunkStatus, Proposal, ProposalFile, ProposalStatus};
use crate::workspace::{Document, Workspace, disk};
use in_editor::{change_in_editor, edit_document, is_done, moved_on, quiet};
pub use on_disk::recover_leftovers;
use on_disk::{disk_change, hold_confined, made_again, write_confined};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use take_back::{Left, take_back};

/// How often a change is fitted anew because the person typed while it was on its way.
const MOST_ATTEMPTS: usize = 3;

/// Where a change is made, and what it may touch: all that applying needs of a turn. It outlives the turn.
#[derive(Clone)]
pub struct Scope {
    pub desk: Arc<Desk>,
    /// Absolute; files below it go by their short names.
    pub cwd: PathBuf,
    /// Where closed files may be written.
    pub confinement: Confinement,
}

impl Scope {
    /// The same with more folders that may be written: what a question named and the person allowed.
    pub fn with_writable(mut self, folders: &[PathBuf]) -> Self {
        self.confinement = folders
            .iter()
            .cloned()
            .fold(self.confinement, Confinement::with_writable);
        self
    }

    /// A path as people name it: below the folder of the conversation where it is.
    pub fn short_name(&self, path: &Path) -> String {
        path.strip_prefix(&self.cwd).unwrap_or(path).display().to_string()
    }
}

/// A file before a change and as it is now, for the diff of the turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub path: PathBuf,
    /// Where the file is now, if it was moved.
    pub move_to: Option<PathBuf>,
    pub before: Option<String>,
    pub after: Option<String>,
    /// The permission bits that the file had, where they are known.
    pub mode: Option<u32>,
}

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub status: ProposalStatus,
    pub files: Vec<FileResult>,
    /// What the files were before and are now, also where the change failed.
    pub changed: Vec<Changed>,
    /// Folders that were made for files.
    pub made: Vec<PathBuf>,
    /// Why nothing, or not all, was applied, in words.
    pub error: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FileResult {
    pub path: PathBuf,
    pub kind: FileChangeKind,
    pub hunks: Vec<HunkOutcome>,
    /// The change is in an open document and not yet on the disk.
    pub in_editor: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HunkOutcome {
    pub id: HunkId,
    /// Counted from 0, in the text before.
    pub line: usize,
    pub result: HunkResult,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkResult {
    Taken,
    Rejected,
    /// Accepted, but its text has changed since.
    Conflict,
    /// Accepted, but the whole could not be applied.
    NotApplied,
}

/// What is to happen to one file.
pub(super) struct Step {
    /// Which file of its proposal it is.
    pub index: usize,
    pub path: PathBuf,
    /// Today's text; absent if the file is not there.
    pub now: Option<String>,
    /// The text that is to be there; absent if the file is to go.
    pub then: Option<String>,
    pub move_to: Option<PathBuf>,
    pub document: Option<Document>,
    /// Permission bits of the file as it is.
    pub mode: Option<u32>,
}

/// Why a change was not made.
pub(super) struct Failure {
    pub message: String,
    /// The person typed while the change was on its way, and nothing of it is left: it may fit now.
    pub overtaken: bool,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self {
            message,
            overtaken: false,
        }
    }
}

/// Applies the accepted hunks of a decided proposal. Runs to its end whatever becomes of the turn.
pub async fn run(scope: &Scope, id: &ProposalId, decided: &Decided) -> Outcome {
    let Some((proposal, plan)) = scope.desk.proposals.decided(id) else {
        return Outcome {
            status: ProposalStatus::Failed,
            files: Vec::new(),
            changed: Vec::new(),
            made: Vec::new(),
            error: Some(format!("Proposal {id} is gone; nothing was changed.")),
        };
    };
    if decided.in_place {
        return made_in_place(scope, &proposal, &plan, decided);
    }
    let mut attempt = 1;
    loop {
        let mut files: Vec<FileResult> = proposal.files.iter().map(first_result).collect();
        let (workspace, planned) = (scope.desk.workspace.clone(), plan.clone());
        let (mut files, steps) = aside(move || {
            let mut steps = Vec::new();
            for (index, (file, result)) in planned.files.iter().zip(&mut files).enumerate() {
                steps.extend(step(&workspace, index, file, result));
            }
            (files, Arc::new(steps))
        })
        .await;
        if steps.is_empty() {
            return outcome(files, Vec::new(), Vec::new(), None);
        }
        let made = missing_folders(&steps);
        let error = match carry_out(scope, &steps).await {
            Ok(()) => None,
            Err(failure) if failure.overtaken && attempt < MOST_ATTEMPTS => {
                attempt += 1;
                continue;
            }
            Err(failure) => Some(failure.message),
        };
        let (workspace, noted) = (scope.desk.workspace.clone(), steps.clone());
        let changed = aside(move || {
            let change = |step: &Step| {
                let move_to = step.move_to.as_deref();
                Changed::now(&workspace, &step.path, move_to, step.now.clone(), step.mode)
            };
            noted.iter().map(change).collect()
        })
        .await;
        for step in steps.iter() {
            let result = &mut files[step.index];
            result.in_editor = step.document.is_some() && step.then.is_some();
            if error.is_some() {
                instead_of(HunkResult::Taken, HunkResult::NotApplied, result);
            }
        }
        return outcome(files, changed, made, error);
    }
}

/// Reads files and compares texts where it holds up no other thread.
pub(super) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is being taken down, and whoever waits with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// The editor has put what was accepted into the files itself.
fn made_in_place(scope: &Scope, proposal: &Proposal, plan: &Plan, decided: &Decided) -> Outcome {
    let mut files: Vec<FileResult> = proposal.files.iter().map(first_result).collect();
    let mut changed = Vec::new();
    for (file, result) in plan.files.iter().zip(&mut files) {
        let unsaved = |document: Document| document.differs_from_disk();
        let now_at = file.move_to().unwrap_or(&file.path);
        result.in_editor = scope.desk.workspace.document(now_at).is_some_and(unsaved);
        changed.push(Changed::now(
            &scope.desk.workspace,
            &file.path,
            file.move_to(),
            file.before.clone(),
            permission_bits(now_at),
        ));
        if decided.trouble.is_some() {
            // Nobody knows which of them the person did not want.
            instead_of(HunkResult::Rejected, HunkResult::NotApplied, result);
        }
    }
    outcome(files, changed, Vec::new(), decided.trouble.clone())
}

fn instead_of(before: HunkResult, after: HunkResult, file: &mut FileResult) {
    for hunk in file.hunks.iter_mut().filter(|hunk| hunk.result == before) {
        hunk.result = after;
    }
}

impl Changed {
    /// What a file was, and what is there now.
    fn now(
        workspace: &Workspace,
        path: &Path,
        move_to: Option<&Path>,
        before: Option<String>,
        mode: Option<u32>,
    ) -> Self {
        let now = |path: &Path| workspace.read(path).ok().map(|read| read.text);
        let moved = move_to.filter(|_| before.is_some()).and_then(|to| Some((to, now(to)?)));
        let (move_to, after) = match moved {
            Some((to, after)) => (Some(to.to_owned()), Some(after)),
            None => (None, now(path)),
        };
        Self {
            path: path.to_owned(),
            move_to,
            before,
            after,
            mode,
        }
    }
}

fn outcome(files: Vec<FileResult>, changed: Vec<Changed>, made: Vec<PathBuf>, error: Option<String>) -> Outcome {
    let any = |result| {
        files
            .iter()
            .flat_map(|file| &file.hunks)
            .any(|hunk| hunk.result == result)
    };
    let status = if error.is_some() {
        ProposalStatus::Failed
    } else if any(HunkResult::Taken) {
        ProposalStatus::Applied
    } else if any(HunkResult::Conflict) {
        ProposalStatus::Failed
    } else {
        ProposalStatus::Rejected
    };
    Outcome {
        status,
        files,
        changed,
        made,
        error,
    }
}

fn first_result(file: &ProposalFile) -> FileResult {
    let hunks = file
        .hunks
        .iter()
        .map(|hunk| HunkOutcome {
            id: hunk.id.clone(),
            line: hunk.range.start as usize,
            result: if hunk.status == HunkStatus::Accepted {
                HunkResult::Taken
            } else {
                HunkResult::Rejected
            },
        })
        .collect();
    FileResult {
        path: file.path.clone(),
        kind: file.kind.clone(),
        hunks,
        in_editor: false,
    }
}

/// Rebases the accepted hunks of a file onto its text of today. Hunks that do not fit are marked, never forced.
fn step(workspace: &Workspace, index: usize, file: &FilePlan, result: &mut FileResult) -> Option<Step> {
    // One look at the document: what the person types after it is seen by its version.
    let document = workspace.document(&file.path);
    let now = match &document {
        Some(document) => Some(document.text()),
        None => disk::read_text(&file.path).ok(),
    };
    let mut placed = Vec::new();
    for ((hunk, planned), place) in result
        .hunks
        .iter_mut()
        .zip(&file.hunks)
        .zip(places(file, now.as_deref()))
    {
        match place {
            _ if hunk.result != HunkResult::Taken => {}
            Some(range) => placed.push((range, planned.new_text.clone())),
            None => hunk.result = HunkResult::Conflict,
        }
    }
    if placed.is_empty() {
        return None;
    }
    let then = match &file.kind {
        FileChangeKind::Delete => None,
        FileChangeKind::Add => file.after.clone(),
        FileChangeKind::Update { .. } => Some(apply_hunks(now.as_deref().unwrap_or_default(), &placed)),
    };
    let move_to = match &file.kind {
        FileChangeKind::Update { move_path } => move_path.clone(),
        _ => None,
    };
    let mode = permission_bits(&file.path);
    Some(Step {
        index,
        path: file.path.clone(),
        now,
        then,
        move_to,
        document,
        mode,
    })
}

#[cfg(unix)]
fn permission_bits(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path)
        .ok()
        .map(|found| found.permissions().mode() & 0o7777)
}

#[cfg(not(unix))]
fn permission_bits(_path: &Path) -> Option<u32> {
    None
}

/// All steps, or none.
pub(super) async fn carry_out(scope: &Scope, steps: &Arc<Vec<Step>>) -> Result<(), Failure> {
    let resources = scope.desk.editor.has_resource_operations();
    let all = steps.clone();
    let sorted = aside(move || {
        let mut editor_steps = Vec::new();
        let mut writes = Vec::new();
        for step in all.iter() {
            match &step.document {
                Some(document) => edit_document(step, document, resources, &mut editor_steps)?,
                None => writes.push(disk_change(step)),
            }
        }
        Ok::<_, String>((editor_steps, writes))
    });
    let (editor_steps, writes) = sorted.await?;
    if editor_steps.is_empty() {
        return match writes.is_empty() {
            true => Ok(()),
            false => Ok(write_confined(scope, writes).await?),
        };
    }
    let held = match writes.is_empty() {
        true => None,
        false => Some(hold_confined(scope, writes).await?),
    };
    let changed = change_in_editor(scope, steps, editor_steps).await;
    if changed.is_err() {
        quiet(scope).await;
    }
    let Err(mut message) = changed.or_else(|message| {
        // Whatever it said.
        let all_done = open_steps(steps).all(|(step, _)| is_done(scope, step));
        if all_done { Ok(()) } else { Err(message) }
    }) else {
        if let Some(held) = held {
            held.keep().await;
        }
        return Ok(());
    };
    let overtaken = open_steps(steps).any(|(step, _)| moved_on(scope, step));
    let left = take_back(scope, steps).await;
    let deleted = open_steps(steps).filter(|(step, _)| step.then.is_none() && is_gone(&step.path));
    let again: Vec<_> = deleted.filter_map(|(step, _)| made_again(step)).collect();
    let any = held.is_some() || !again.is_empty();
    let mut back = match held {
        Some(held) => held.take_back().await,
        None => Ok(()),
    };
    if !again.is_empty() {
        back = back.and(write_confined(scope, again).await);
    }
    match back {
        Ok(()) if any => message.push_str(" The files on the disk are as they were before."),
        Ok(()) => {}
        Err(error) => {
            message.push_str(&format!(" Putting the files on the disk back failed: {error}"));
            return Err(message.into());
        }
    }
    message.push_str(&left.in_words());
    Err(Failure {
        message,
        overtaken: overtaken && matches!(left, Left::Nothing),
    })
}

/// The folders that will be made for files.
fn missing_folders(steps: &[Step]) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = steps
        .iter()
        .filter(|step| step.then.is_some())
        .map(|step| step.move_to.as_ref().unwrap_or(&step.path))
        .flat_map(|path| path.ancestors().skip(1).take_while(|folder| is_gone(folder)))
        .map(Path::to_owned)
        .collect();
    missing.sort();
    missing.dedup();
    missing
}

/// The steps that go through the editor.
fn open_steps(steps: &[Step]) -> impl Iterator<Item = (&Step, &Document)> {
    steps.iter().filter_map(|step| Some((step, step.document.as_ref()?)))
}

pub(super) fn is_gone(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err()
}
