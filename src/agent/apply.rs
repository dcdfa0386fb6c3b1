//! Applying what was accepted of a proposal: open documents through the editor, closed files through the sandbox,
//! all files or none; and then looking whether it really happened.

use super::editor::{ApplyReply, EditorChange, EditorStep};
use super::proposals::{Decided, places};
use super::turn::Turn;
use crate::exec::{self, CommandRequest};
use crate::ids::{HunkId, ProposalId};
use crate::patch::disk::{DiskChange, Expect, Transaction, role};
use crate::patch::hunk::{apply_hunks, hunks, placed_edits, text_edits};
use crate::patch::plan::{FilePlan, Plan};
use crate::patch::rebase::{Conflict, Rebased, rebase};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{HunkStatus, Proposal, ProposalFile, ProposalStatus};
use crate::workspace::{Document, Workspace, disk};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long an editor may take to send the change that it claims to have made.
const SETTLE: Duration = Duration::from_secs(3);
/// How often the disk is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Quiet after which an editor that failed has sent what it changed all the same.
const QUIET: Duration = Duration::from_millis(400);
/// How long an editor's answer is waited for once its text is there. Some never answer.
const ANSWER: Duration = Duration::from_secs(1);
/// How often a change is fitted anew because the person typed while it was on its way.
const MOST_ATTEMPTS: usize = 3;
/// How long writing to the disk may take.
const WRITE_LIMIT: Duration = Duration::from_secs(60);

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub status: ProposalStatus,
    pub files: Vec<FileResult>,
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
struct Step {
    index: usize,
    path: PathBuf,
    /// Today's text; absent if the file is not there.
    now: Option<String>,
    /// The text that is to be there; absent if the file is to go.
    then: Option<String>,
    move_to: Option<PathBuf>,
    document: Option<Document>,
    /// Permission bits of the file as it is.
    mode: Option<u32>,
}

/// Why a change was not made.
struct Failure {
    message: String,
    /// The person typed while the change was on its way, and nothing of it is left: it may fit now.
    overtaken: bool,
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
pub async fn run(turn: &Arc<Turn>, id: &ProposalId, decided: &Decided) -> Outcome {
    let Some((proposal, plan)) = turn.desk.proposals.decided(id) else {
        return Outcome {
            status: ProposalStatus::Failed,
            files: Vec::new(),
            error: Some(format!("Proposal {id} is gone; nothing was changed.")),
        };
    };
    if decided.in_place {
        return made_in_place(turn, &proposal, &plan, decided);
    }
    for attempt in 1.. {
        let mut files: Vec<FileResult> = proposal.files.iter().map(first_result).collect();
        let (workspace, planned) = (turn.desk.workspace.clone(), plan.clone());
        let (mut files, steps) = aside(move || {
            let mut steps = Vec::new();
            for (index, (file, result)) in planned.files.iter().zip(&mut files).enumerate() {
                steps.extend(step(&workspace, index, file, result));
            }
            (files, Arc::new(steps))
        })
        .await;
        if steps.is_empty() {
            return outcome(files, None);
        }
        let error = match carry_out(turn, &steps).await {
            Ok(()) => None,
            Err(failure) if failure.overtaken && attempt < MOST_ATTEMPTS => continue,
            Err(failure) => Some(failure.message),
        };
        let (noting, noted) = (turn.clone(), steps.clone());
        aside(move || {
            for step in noted.iter() {
                note(&noting, &step.path, step.move_to.as_deref(), step.now.as_deref());
            }
        })
        .await;
        for step in steps.iter() {
            let result = &mut files[step.index];
            result.in_editor = step.document.is_some() && step.then.is_some();
            if error.is_some() {
                instead_of(HunkResult::Taken, HunkResult::NotApplied, result);
            }
        }
        return outcome(files, error);
    }
    unreachable!("the last attempt returns")
}

/// Reads files and compares texts where it holds up no other thread.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
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
fn made_in_place(turn: &Turn, proposal: &Proposal, plan: &Plan, decided: &Decided) -> Outcome {
    let mut files: Vec<FileResult> = proposal.files.iter().map(first_result).collect();
    for (file, result) in plan.files.iter().zip(&mut files) {
        let unsaved = |document: Document| document.differs_from_disk();
        let now_at = file.move_to().unwrap_or(&file.path);
        result.in_editor = turn.desk.workspace.document(now_at).is_some_and(unsaved);
        note(turn, &file.path, file.move_to(), file.before.as_deref());
        if decided.trouble.is_some() {
            // Nobody knows which of them the person did not want.
            instead_of(HunkResult::Rejected, HunkResult::NotApplied, result);
        }
    }
    outcome(files, decided.trouble.clone())
}

fn instead_of(before: HunkResult, after: HunkResult, file: &mut FileResult) {
    for hunk in file.hunks.iter_mut().filter(|hunk| hunk.result == before) {
        hunk.result = after;
    }
}

/// Notes for the diff of the turn what a file was and what it is now.
fn note(turn: &Turn, path: &Path, move_to: Option<&Path>, before: Option<&str>) {
    let now = |path: &Path| turn.desk.workspace.read(path).ok().map(|read| read.text);
    let moved = move_to.and_then(|to| Some((to, before?, now(to)?)));
    turn.with_diff(|diff| match moved {
        Some((to, before, after)) => diff.record_move(path, to, before, &after),
        None => diff.record(path, before, now(path).as_deref()),
    });
}

fn outcome(files: Vec<FileResult>, error: Option<String>) -> Outcome {
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
    Outcome { status, files, error }
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
async fn carry_out(turn: &Turn, steps: &[Step]) -> Result<(), Failure> {
    let resources = turn.desk.editor.has_resource_operations();
    let mut editor_steps = Vec::new();
    let mut writes = Vec::new();
    for step in steps {
        match &step.document {
            Some(document) => edit_document(step, document, resources, &mut editor_steps)?,
            None => writes.push(disk_change(step)),
        }
    }
    if !writes.is_empty() {
        write_confined(turn, steps, writes.clone()).await?;
    }
    if editor_steps.is_empty() {
        return Ok(());
    }
    let Err(mut message) = change_in_editor(turn, steps, editor_steps).await else {
        return Ok(());
    };
    quiet(turn).await;
    let overtaken = open_steps(steps).any(|(step, _)| moved_on(turn, step));
    let left = take_back(turn, steps).await;
    if !writes.is_empty() {
        let back = written(steps).rev().map(undo).collect();
        match write_confined(turn, steps, back).await {
            Ok(()) => message.push_str(" The files that were written already are as they were before."),
            Err(error) => {
                message.push_str(&format!(
                    " Restoring the files that were written already failed: {error}"
                ));
                return Err(message.into());
            }
        }
    }
    message.push_str(&left.in_words());
    Err(Failure {
        message,
        overtaken: overtaken && matches!(left, Left::Nothing),
    })
}

/// Hands the change to the editor and looks whether it was made.
async fn change_in_editor(turn: &Turn, steps: &[Step], editor_steps: Vec<EditorStep>) -> Result<(), String> {
    let change = EditorChange {
        label: "Countersign".to_owned(),
        steps: editor_steps,
    };
    let made = async {
        all_done(turn, steps).await;
        tokio::time::sleep(ANSWER).await;
    };
    let reply = tokio::select! {
        reply = turn.desk.editor.apply(change) => reply,
        // Every text is there, whatever becomes of the answer.
        () = made => ApplyReply::Applied,
    };
    match reply {
        ApplyReply::Applied => happened(turn, steps).await,
        ApplyReply::Refused { reason: Some(reason) } => Err(format!(
            "The editor refused the change: {}.",
            reason.trim_end_matches('.')
        )),
        ApplyReply::Refused { reason: None } => Err("The editor refused the change and gave no reason.".to_owned()),
        ApplyReply::NoAnswer => Err("The editor never answered whether it made the change.".to_owned()),
    }
}

/// The change of an open document, which only the editor may make.
fn edit_document(
    step: &Step,
    document: &Document,
    resources: bool,
    editor_steps: &mut Vec<EditorStep>,
) -> Result<(), String> {
    let before = document.text();
    match &step.then {
        None if resources => editor_steps.push(EditorStep::Delete {
            path: step.path.clone(),
        }),
        None => {
            return Err(format!(
                "{} is open in an editor that cannot delete files for us. Ask the person to close it, then propose the deletion again.",
                step.path.display()
            ));
        }
        Some(then) => {
            let edits = text_edits(&before, then);
            if !edits.is_empty() {
                editor_steps.push(EditorStep::Edit {
                    path: step.path.clone(),
                    uri: document.uri().to_owned(),
                    version: document.version,
                    before,
                    edits,
                });
            }
            match &step.move_to {
                Some(to) if resources => {
                    editor_steps.push(EditorStep::Rename {
                        from: step.path.clone(),
                        to: to.clone(),
                    });
                }
                Some(_) => {
                    return Err(format!(
                        "{} is open in an editor that cannot rename files for us. Ask the person to close it, then propose the move \
                         again.",
                        step.path.display()
                    ));
                }
                None => {}
            }
        }
    }
    Ok(())
}

fn disk_change(step: &Step) -> DiskChange {
    let expect = Expect::of(step.now.as_deref());
    match (&step.then, &step.move_to) {
        (None, _) => DiskChange::Remove {
            path: step.path.clone(),
            expect,
        },
        (Some(text), Some(to)) => DiskChange::Move {
            from: step.path.clone(),
            to: to.clone(),
            text: text.clone(),
            expect,
        },
        (Some(text), None) => DiskChange::Write {
            path: step.path.clone(),
            text: text.clone(),
            expect,
            mode: None,
        },
    }
}

/// The steps that go to the disk, in order.
fn written(steps: &[Step]) -> impl DoubleEndedIterator<Item = &Step> {
    steps.iter().filter(|step| step.document.is_none())
}

/// Takes a disk change back.
fn undo(step: &Step) -> DiskChange {
    let expect = Expect::of(step.then.as_deref());
    match (&step.now, &step.move_to) {
        (Some(text), Some(to)) => DiskChange::Move {
            from: to.clone(),
            to: step.path.clone(),
            text: text.clone(),
            expect,
        },
        (Some(text), None) => DiskChange::Write {
            path: step.path.clone(),
            text: text.clone(),
            expect,
            mode: step.mode,
        },
        (None, _) => DiskChange::Remove {
            path: step.path.clone(),
            expect,
        },
    }
}

/// Writes closed files in a process of our own under the sandbox, so that no link leads out of the folders meant.
async fn write_confined(turn: &Turn, steps: &[Step], changes: Vec<DiskChange>) -> Result<(), String> {
    let program = exec::self_program().map_err(|error| format!("The own program was not found: {error}."))?;
    let mut confinement = turn.patch_confinement();
    for path in written(steps).flat_map(|step| std::iter::once(&step.path).chain(&step.move_to)) {
        // Places outside the workspace are in the question that the person said yes to.
        if let Some(folder) = existing_parent(path).filter(|_| !confinement.may_write(path)) {
            confinement = confinement.with_writable(folder.to_owned());
        }
    }
    let transaction = Transaction {
        roots: confinement.writable_roots().to_vec(),
        changes,
    };
    let stdin = aside(move || transaction.to_json())
        .await
        .map_err(|error| error.to_string())?;
    let request = CommandRequest {
        argv: vec![program.display().to_string(), role::NAME.to_owned()],
        cwd: turn.settings.cwd.clone(),
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

fn existing_parent(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|folder| folder.is_dir())
}

/// `applied: true` is a claim: waits until the documents really hold the new text.
async fn happened(turn: &Turn, steps: &[Step]) -> Result<(), String> {
    if tokio::time::timeout(SETTLE, all_done(turn, steps)).await.is_ok() {
        return Ok(());
    }
    let missing = open_steps(steps).filter(|(step, _)| !is_done(turn, step));
    let names: Vec<_> = missing.map(|(step, _)| turn.short_name(&step.path)).collect();
    Err(format!(
        "The editor said that it made the change, but the text is not there: {}.",
        names.join(", ")
    ))
}

/// Waits until every open document holds its new text.
async fn all_done(turn: &Turn, steps: &[Step]) {
    let mut changed = turn.desk.workspace.changed();
    while !open_steps(steps).all(|(step, _)| is_done(turn, step)) {
        // What happens on the disk is not announced.
        let _looked_again = tokio::time::timeout(LOOK, changed.changed()).await;
    }
}

/// Waits until the editor has sent nothing for a while.
async fn quiet(turn: &Turn) {
    let mut changed = turn.desk.workspace.changed();
    let deadline = tokio::time::Instant::now() + SETTLE;
    while tokio::time::Instant::now() < deadline
        && matches!(tokio::time::timeout(QUIET, changed.changed()).await, Ok(Ok(())))
    {}
}

/// The steps that go through the editor.
fn open_steps(steps: &[Step]) -> impl Iterator<Item = (&Step, &Document)> {
    steps.iter().filter_map(|step| Some((step, step.document.as_ref()?)))
}

/// Whether an open document holds its new text; the person may have typed elsewhere in it meanwhile.
fn is_done(turn: &Turn, step: &Step) -> bool {
    let path = step.move_to.as_ref().unwrap_or(&step.path);
    let Some(then) = &step.then else {
        // Some editors keep showing the text of a file that they have deleted.
        return std::fs::symlink_metadata(path).is_err();
    };
    let Ok(now) = turn.desk.workspace.read(path) else {
        return false;
    };
    if *then == now.text {
        return true;
    }
    let before = step.now.as_deref().unwrap_or_default();
    let there = Rebased::Conflict {
        why: Conflict::AlreadyThere,
    };
    rebase(before, &hunks(before, then), &now.text)
        .iter()
        .all(|hunk| *hunk == there)
}

/// Whether a document is not as it was when the change was made for it.
fn moved_on(turn: &Turn, step: &Step) -> bool {
    turn.desk
        .workspace
        .document(&step.path)
        .is_none_or(|document| Some(document.text()) != step.now)
}

/// What an editor that failed has left of a change.
enum Left {
    Nothing,
    /// A part was made and taken back, in these documents.
    TakenBack(Vec<String>),
    /// A part is still in these documents.
    Still(Vec<String>),
}

impl Left {
    fn in_words(&self) -> String {
        match self {
            Self::Nothing => " No open document was changed.".to_owned(),
            Self::TakenBack(names) => format!(
                " It had made a part of it, which was taken back: {}. Every document is as it was.",
                names.join(", ")
            ),
            Self::Still(names) => format!(
                " Some of it is still in these open documents; undo there takes it back: {}.",
                names.join(", ")
            ),
        }
    }
}

/// Takes back what an editor that failed has made of a change all the same, and nothing that the person typed.
async fn take_back(turn: &Turn, steps: &[Step]) -> Left {
    let back: Vec<EditorStep> = open_steps(steps).filter_map(|(step, _)| inverse(turn, step)).collect();
    if back.is_empty() {
        return Left::Nothing;
    }
    let touched = open_steps(steps).filter(|(step, _)| inverse(turn, step).is_some());
    let names = touched.map(|(step, _)| turn.short_name(&step.path)).collect();
    let gone = async {
        let mut changed = turn.desk.workspace.changed();
        while open_steps(steps).any(|(step, _)| inverse(turn, step).is_some()) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    };
    let label = "Countersign: take back a change that failed".to_owned();
    let answer = turn.desk.editor.apply(EditorChange { label, steps: back });
    let all = async { tokio::join!(tokio::time::timeout(SETTLE, answer), gone) };
    match tokio::time::timeout(2 * SETTLE, all).await {
        Ok(_) => Left::TakenBack(names),
        Err(_) => Left::Still(names),
    }
}

/// The edit that takes a step's own lines out of a document again; nothing where none of them are there.
fn inverse(turn: &Turn, step: &Step) -> Option<EditorStep> {
    let (before, then) = (step.now.as_deref()?, step.then.as_deref()?);
    let document = turn.desk.workspace.document(&step.path)?;
    let now = document.text();
    if now == before {
        return None;
    }
    let hunks = hunks(then, before);
    let placed: Vec<_> = hunks
        .iter()
        .zip(rebase(then, &hunks, &now))
        .filter_map(|(hunk, found)| match found {
            Rebased::Placed(range) => Some((range, hunk.new_text.clone())),
            Rebased::Conflict { .. } => None,
        })
        .collect();
    let edits = placed_edits(&now, &placed);
    (!edits.is_empty()).then(|| EditorStep::Edit {
        path: step.path.clone(),
        uri: document.uri().to_owned(),
        version: document.version,
        before: now,
        edits,
    })
}
