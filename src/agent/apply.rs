//! Applying what was accepted of a proposal: open documents through the editor, closed files through the sandbox,
//! all files or none; and then looking whether it really happened.

mod aftermath;
mod altered;
pub(super) mod in_editor;
pub(super) mod on_disk;
pub(super) mod take_back;
mod whole;

use super::aside::aside;
use super::proposals::Decided;
use super::proposals::placing::{Now, Place, places_now};
use super::services::Services;
use crate::exec::Confinement;
use crate::ids::{HunkId, ProposalId, ThreadId};
use crate::patch::files::Whole;
use crate::patch::hunk::{PlannedHunk, apply_hunks};
use crate::patch::plan::{FilePlan, Plan};
use crate::patch::turn_diff::Side;
use crate::patch::{count_lines, lines_of};
use crate::protocol::document::{ChangedKind, ChangedPath, FilesChanged};
use crate::protocol::event::EventKind;
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Hunk, HunkStatus, Proposal, ProposalFile, ProposalStatus};
use crate::workspace::{Document, Judge, Workspace, uri};
pub use aftermath::Aftermath;
use altered::{altered, differs};
use in_editor::{change_in_editor, edit_document, is_done, moved_on, quiet};
pub use on_disk::{Leftovers, put_right, recover_leftovers};
use on_disk::{disk_change, hold_confined, made_again, mode_change, write_confined};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use take_back::{Left, take_back};

/// How often a change is fitted anew because the person typed while it was on its way.
const MOST_ATTEMPTS: usize = 3;

/// Where a change is made, and what it may touch: all that applying needs of a turn. It outlives the turn.
#[derive(Clone)]
pub struct Scope {
    pub services: Arc<Services>,
    /// The conversation whose changes they are.
    pub thread: ThreadId,
    /// The texts that it sees.
    pub workspace: Workspace,
    /// Absolute; files below it go by their short names.
    pub cwd: PathBuf,
    /// Where closed files may be written.
    pub confinement: Confinement,
    /// What may be read: the model hears what stands in the place of lines that are not there.
    pub reader: Arc<dyn Judge>,
    /// Where files that other programs act on by themselves really were when the person was asked about them: a link may
    /// have led there.
    pub shown_at: Vec<PathBuf>,
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
    /// Those that it was given, if others.
    pub new_mode: Option<u32>,
    /// What was there and was deleted, or moved, as it is; then there is no text before or after.
    pub whole: Option<Side>,
}

/// What became of a proposal.
pub struct Outcome {
    pub status: ProposalStatus,
    pub files: Vec<FileResult>,
    /// What the files were before and are now, also where the change failed.
    pub changed: Vec<Changed>,
    /// Folders that were made for files.
    pub made: Vec<PathBuf>,
    /// What may still happen to the text in open documents.
    pub aftermath: Option<Aftermath>,
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
    /// The change was made, and then the editor changed its lines further, as a formatter does: the difference between
    /// what was planned and what is there.
    pub altered: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HunkOutcome {
    pub id: HunkId,
    /// Lines of the text that the model saw, counted from 0.
    pub old: Range<usize>,
    /// Where it stands now that the others of its file are applied, or about where.
    pub now: Range<usize>,
    pub result: HunkResult,
    /// The person's text, where it is not the model's.
    pub edited: Option<String>,
    /// The person's text is what was there before.
    pub changes_nothing: bool,
    /// The person's words on rejecting it.
    pub feedback: Option<String>,
    /// Its text had changed.
    pub misfit: Option<Misfit>,
    /// It was put into the file before, while others were undecided.
    pub applied: bool,
}

/// Why a hunk had no place, and what stands there.
#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    pub why: String,
    /// The first of `lines`, counted from 0.
    pub first: usize,
    /// The lines that stand there, with one more on each side; absent where the file is not there.
    pub lines: Option<String>,
}

impl Misfit {
    fn new(why: String, about: &Range<usize>, now: Option<&str>) -> Self {
        let first = about.start.saturating_sub(1);
        let lines = now.map(|now| lines_of(now, first..about.end.saturating_add(1)).to_owned());
        Self { why, first, lines }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkResult {
    Taken,
    Rejected,
    /// Accepted, but its text has changed since.
    Conflict,
    /// Accepted, but the whole could not be applied.
    NotApplied,
    /// Applied while others were undecided, and undone in the file since.
    Undone,
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
    /// Permission bits that it is to get, if others.
    pub then_mode: Option<u32>,
    /// What is to be deleted, or moved, as it is. There is no text then.
    pub whole: Option<Whole>,
    /// The same as it can be put back.
    pub kept: Option<Side>,
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
    if decided.in_place
        && let Some((proposal, plan)) = scope.services.proposals.decided(id)
    {
        return made_in_place(scope, &proposal, &plan, decided);
    }
    apply(scope, id, Extent::All).await
}

/// Applies what is accepted so far of a proposal that still waits. Left for the end is what a question may be asked about first (a
/// place outside the folders that may be written), and what more than its lines happens to: a file that moves or goes as it is.
pub async fn run_part(scope: &Scope, id: &ProposalId) -> Outcome {
    apply(scope, id, Extent::Part).await
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Part,
    All,
}

impl Extent {
    fn holds(self, scope: &Scope, file: &FilePlan) -> bool {
        let is_plain = || file.whole.is_none() && file.move_to().is_none() && file.mode.is_none();
        self == Self::All || is_plain() && file.paths().all(|path| scope.confinement.may_write(path))
    }
}

async fn apply(scope: &Scope, id: &ProposalId, extent: Extent) -> Outcome {
    let Some((proposal, plan)) = scope.services.proposals.decided(id) else {
        return Outcome {
            status: ProposalStatus::Failed,
            files: Vec::new(),
            changed: Vec::new(),
            made: Vec::new(),
            aftermath: None,
            error: Some(format!("Proposal {id} is gone; nothing was changed.")),
        };
    };
    let paths = proposal.files.iter().map(|file| file.path.clone());
    scope.services.editor.look(&scope.thread, paths.collect()).await;
    let mut attempt = 1;
    loop {
        // A file that the person has renamed meanwhile is followed.
        let (proposal, plan) = scope
            .services
            .proposals
            .decided(id)
            .unwrap_or((proposal.clone(), plan.clone()));
        let (workspace, planned) = (scope.workspace.clone(), plan.clone());
        let (snapshots, reader, within) = (scope.services.snapshots.clone(), scope.reader.clone(), scope.clone());
        let (mut files, steps, kept) = aside(move || {
            let mut files = first_results(&proposal, &planned);
            let mut steps = Vec::new();
            for (index, (file, result)) in planned.files.iter().zip(&mut files).enumerate() {
                if !extent.holds(&within, file) {
                    // As accepted as before.
                    result.hunks.clear();
                    continue;
                }
                steps.extend(step((&workspace, reader.as_ref()), index, file, result));
            }
            if let Some(path) = planned.strayed().filter(|_| !steps.is_empty()) {
                let message = format!(
                    "{}: its folder is not the one it was when the change was shown, since a link has taken its place. Nothing was \
                     changed; ask for the change again.",
                    path.display()
                );
                return (files, Arc::new(steps), Err(message));
            }
            let mut wholes = steps.iter_mut().filter(|step| step.whole.is_some());
            let kept = wholes.try_for_each(|step| whole::keep(step, &snapshots, &proposal.turn_id));
            (files, Arc::new(steps), kept)
        })
        .await;
        if steps.is_empty() {
            return outcome(files, Vec::new(), Vec::new(), None);
        }
        let made = missing_folders(&steps);
        let carried_out = match kept {
            Ok(()) => carry_out(scope, &steps).await,
            Err(message) => Err(message.into()),
        };
        let error = match carried_out {
            Ok(()) => None,
            Err(failure) if failure.overtaken && attempt < MOST_ATTEMPTS => {
                attempt += 1;
                continue;
            }
            Err(failure) => Some(failure.message),
        };
        let (workspace, noted, cwd) = (scope.workspace.clone(), steps.clone(), scope.cwd.clone());
        let (reader, done) = (scope.reader.clone(), error.is_none());
        if done {
            let (workspace, reader, noted) = (workspace.clone(), reader.clone(), noted.clone());
            let is_between = move || noted.iter().any(|step| differs((&workspace, &*reader), step));
            // What is noted for undoing is what the editor comes to.
            if aside(is_between).await {
                quiet(scope).await;
            }
        }
        let (changed, altered) = aside(move || {
            let seen = (&workspace, &*reader);
            let change = |step: &Step| match done && step.document.is_none() {
                // The disk holds what was written; there is no need to read it again.
                true => Changed {
                    path: step.path.clone(),
                    move_to: step.move_to.clone(),
                    before: step.now.clone(),
                    after: step.then.clone(),
                    mode: step.mode,
                    new_mode: step.then_mode,
                    whole: step.kept.clone(),
                },
                false => {
                    let move_to = step.move_to.as_deref();
                    let now = Changed::now(seen, &step.path, move_to, step.now.clone(), step.mode);
                    let new_mode = step.then_mode.filter(|_| done);
                    Changed { new_mode, ..now }
                }
            };
            // What is no text was not touched if it failed: it goes and comes in one transaction.
            let touched = noted.iter().filter(|step| done || step.whole.is_none());
            let changed = touched.map(change).collect();
            let altered = |step: &Step| altered(seen, &cwd, step).filter(|_| done);
            (changed, noted.iter().map(altered).collect::<Vec<_>>())
        })
        .await;
        let aftermath = Aftermath::of(scope, &steps).filter(|_| done && altered.iter().all(Option::is_none));
        for (step, altered) in steps.iter().zip(altered) {
            let result = &mut files[step.index];
            result.in_editor = step.document.is_some() && step.then.is_some();
            result.altered = altered;
            if error.is_some() {
                instead_of(HunkResult::Taken, HunkResult::NotApplied, result);
            }
        }
        let paths = if done { written_paths(&steps) } else { Vec::new() };
        if !paths.is_empty() {
            let announced = EventKind::FilesChanged(FilesChanged { paths });
            scope.services.proposals.tell(id, announced);
        }
        return Outcome {
            aftermath,
            ..outcome(files, changed, made, error)
        };
    }
}

/// The editor has put what was accepted into the files itself.
fn made_in_place(scope: &Scope, proposal: &Proposal, plan: &Plan, decided: &Decided) -> Outcome {
    let mut files = first_results(proposal, plan);
    let mut changed = Vec::new();
    for (file, result) in plan.files.iter().zip(&mut files) {
        let unsaved = |document: Document| document.differs_from_disk();
        let now_at = file.move_to().unwrap_or(&file.path);
        result.in_editor = scope.workspace.document(now_at).is_some_and(unsaved);
        changed.push(Changed::now(
            (&scope.workspace, scope.reader.as_ref()),
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
    let changed = |hunk: &&mut HunkOutcome| hunk.result == before && !hunk.applied;
    for hunk in file.hunks.iter_mut().filter(changed) {
        hunk.result = after;
    }
}

impl Changed {
    /// What a file was, and what is there now.
    fn now(
        (workspace, reader): (&Workspace, &dyn Judge),
        path: &Path,
        move_to: Option<&Path>,
        before: Option<String>,
        mode: Option<u32>,
    ) -> Self {
        let now = |path: &Path| workspace.read_judged(path, reader).ok().map(|read| read.text);
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
            new_mode: None,
            whole: None,
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
        aftermath: None,
        error,
    }
}

/// What is in the files of a proposal that ended before all of it was decided, for `why`. Nothing where none of it is.
pub(super) fn so_far(proposal: &Proposal, plan: &Plan, why: &str) -> Option<Outcome> {
    let mut files = first_results(proposal, plan);
    let hunks = || files.iter().flat_map(|file| &file.hunks);
    let (total, applied) = (hunks().count(), hunks().filter(|hunk| hunk.applied).count());
    if applied == 0 {
        return None;
    }
    for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
        let is_rejected = hunk.result == HunkResult::Rejected && hunk.feedback.is_some();
        if !hunk.applied && !is_rejected {
            hunk.result = HunkResult::NotApplied;
        }
    }
    Some(Outcome {
        status: ProposalStatus::Withdrawn,
        files,
        changed: Vec::new(),
        made: Vec::new(),
        aftermath: None,
        error: Some(format!(
            "{why} What was accepted before is in the files: {applied} of {total} hunks."
        )),
    })
}

/// What the person decided, before anything is tried.
pub(super) fn first_results(proposal: &Proposal, plan: &Plan) -> Vec<FileResult> {
    let hunk = |(hunk, planned): (&Hunk, &PlannedHunk)| HunkOutcome {
        id: hunk.id.clone(),
        old: planned.old.clone(),
        now: hunk.range.start as usize..hunk.range.end as usize,
        result: match hunk.status {
            HunkStatus::Accepted | HunkStatus::Applied => HunkResult::Taken,
            // Nobody has seen what it would do to a text that is back by now.
            HunkStatus::Conflicting => HunkResult::Conflict,
            _ => HunkResult::Rejected,
        },
        edited: hunk.proposed_text.as_ref().map(|_| hunk.new_text.clone()),
        changes_nothing: hunk.proposed_text.is_some() && hunk.new_text == hunk.old_text,
        feedback: hunk.feedback.clone(),
        misfit: None,
        applied: hunk.status == HunkStatus::Applied,
    };
    let file = |(file, planned): (&ProposalFile, &FilePlan)| FileResult {
        path: file.path.clone(),
        kind: file.kind.clone(),
        hunks: file.hunks.iter().zip(&planned.hunks).map(hunk).collect(),
        in_editor: false,
        altered: None,
    };
    proposal.files.iter().zip(&plan.files).map(file).collect()
}

/// Rebases the accepted hunks of a file onto its text of today. Hunks that do not fit are marked, never forced.
fn step(
    (workspace, reader): (&Workspace, &dyn Judge),
    index: usize,
    file: &FilePlan,
    result: &mut FileResult,
) -> Option<Step> {
    // One look at the document: what the person types after it is seen by its version.
    let found = Now::judged(workspace, file, reader);
    let (document, now) = (found.document().cloned(), found.text());
    let mut placed = Vec::new();
    let mut shift = 0isize;
    let places = places_now(file, &found);
    for ((hunk, planned), place) in result.hunks.iter_mut().zip(&file.hunks).zip(places) {
        let Range { start, end } = *place.lines();
        hunk.now = start.saturating_add_signed(shift)..end.saturating_add_signed(shift);
        if hunk.applied {
            // Undone is what is as it was before. What was changed further was applied all the same.
            if let Place::Fits(_) = place {
                hunk.result = HunkResult::Undone;
            }
            result.in_editor |= document.as_ref().is_some_and(Document::differs_from_disk);
            continue;
        }
        if hunk.result == HunkResult::Taken
            && let Place::Fits(range) = &place
        {
            shift += count_lines(&planned.new_text) as isize - range.len() as isize;
        }
        match place {
            Place::Conflict { why, about } => {
                hunk.misfit = Some(Misfit::new(why, &about, now.as_deref()));
                if hunk.result == HunkResult::Taken {
                    hunk.result = HunkResult::Conflict;
                }
            }
            Place::Fits(range) if hunk.result == HunkResult::Taken => placed.push((range, planned.new_text.clone())),
            // It is there already: the person made the same change.
            Place::Fits(_) | Place::There(_) => {}
        }
    }
    let is_to_do = |hunk: &HunkOutcome| hunk.result == HunkResult::Taken && !hunk.applied;
    let taken = result.hunks.iter().any(is_to_do);
    if let Some(whole) = &file.whole {
        return (taken && !placed.is_empty()).then(|| whole::step(index, file, whole));
    }
    let moves = file.move_to().is_some() && now.is_some();
    let changes_file = moves || file.mode.is_some() && now.is_some();
    if !taken || placed.is_empty() && !changes_file {
        return None;
    }
    let then = match &file.kind {
        FileChangeKind::Delete => None,
        FileChangeKind::Add => file.after.clone(),
        FileChangeKind::Update { .. } => Some(apply_hunks(now.as_deref().unwrap_or_default(), &placed)),
    };
    if now == then && !moves && file.mode.is_none() {
        // The person edited it back to what was there.
        return None;
    }
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
        then_mode: file.mode,
        whole: None,
        kept: None,
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
    let resources = scope.services.editor.has_resource_operations();
    let all = steps.clone();
    let sorted = aside(move || {
        let mut editor_steps = Vec::new();
        let mut writes = Vec::new();
        for step in all.iter() {
            match &step.document {
                Some(document) => {
                    edit_document(step, document, resources, &mut editor_steps)?;
                    // Editors do not change modes; the file on the disk gets it beside them.
                    writes.extend(mode_change(step));
                }
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
        .filter(|step| step.then.is_some() || step.move_to.is_some())
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

/// What was done on the disk, for whoever shows files.
pub(super) fn written_paths(steps: &[Step]) -> Vec<ChangedPath> {
    let changed = |path: &Path, kind| ChangedPath {
        path: path.to_owned(),
        uri: uri::from_path(path),
        kind,
    };
    let mut paths = Vec::new();
    for step in steps.iter().filter(|step| step.document.is_none()) {
        match (&step.now, &step.then, &step.move_to) {
            (_, None, Some(to)) if step.whole.is_some() => {
                paths.push(changed(&step.path, ChangedKind::Deleted));
                paths.push(changed(to, ChangedKind::Created));
            }
            (_, None, _) => paths.push(changed(&step.path, ChangedKind::Deleted)),
            (Some(_), Some(_), Some(to)) => {
                paths.push(changed(&step.path, ChangedKind::Deleted));
                paths.push(changed(to, ChangedKind::Created));
            }
            (None, Some(_), _) => paths.push(changed(&step.path, ChangedKind::Created)),
            (Some(_), Some(_), None) => paths.push(changed(&step.path, ChangedKind::Changed)),
        }
    }
    paths
}

pub(super) fn is_gone(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err()
}
