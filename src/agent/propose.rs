//! A patch of the model: planned against what the person sees, checked, proposed, decided, applied, reported.

mod check;
pub(super) mod edits;
mod grant;
mod misfits;
mod place;
pub(super) mod report;

pub(crate) use check::READ_ONLY;

use super::apply::{self, HunkResult, Outcome, Scope};
use super::aside::aside;
use super::permissions::Reader;
use super::proposals::{Decided, Origin, Proposals, Ready, Waiting};
use super::turn::{Turn, WaitsFor};
use crate::ids::{HunkId, ItemId, ProposalId};
use crate::patch::files::{self, DiskFiles, FileText, Files, JudgedFiles, ReadError, Whole};
use crate::patch::hunk::with_hunks;
use crate::patch::parse::{Section, parse};
use crate::patch::plan::error::PlanError;
use crate::patch::plan::{FilePlan, Plan, plan};
use crate::protocol::item::{FileChange, FileChangeKind, ItemStatus, ThreadItem};
use crate::protocol::proposal::{HunkStatus, ProposalStatus};
use crate::tools::{ToolError, ToolOutput};
use crate::workspace::{Document, Workspace};
use check::check;
pub(super) use misfits::Misfits;
use place::Place;
use report::report;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The workspace view as a snapshot to plan against.
struct View<'a> {
    workspace: &'a Workspace,
    /// What may be read: no more by a patch, whose failure would tell of it.
    reader: &'a Reader,
}

impl View<'_> {
    fn document(&self, path: &Path) -> Result<Option<Document>, ReadError> {
        let document = self.workspace.judged_document(path, self.reader);
        document.map_err(|error| files::refused(error.to_string()))
    }

    fn may_read(&self, path: &Path) -> Result<(), ReadError> {
        let checked = self.reader.check(path);
        checked.map_err(|refused| files::refused(refused.in_short()))
    }
}

impl Files for View<'_> {
    fn read(&self, path: &Path) -> Result<Option<FileText>, ReadError> {
        self.may_read(path)?;
        // Also where what it leads to is open: that has a name of its own.
        if let Some(Whole::Link { target }) = DiskFiles.whole_link(path) {
            let link = path.to_owned();
            return Err(ReadError::Link { link, target });
        }
        match self.document(path)? {
            Some(document) => Ok(Some(FileText { text: document.text() })),
            None => JudgedFiles(self.reader)
                .read(path)?
                .map(|file| files::without_nul(file.text))
                .transpose(),
        }
    }

    fn whole(&self, path: &Path) -> Result<Option<Whole>, ReadError> {
        self.may_read(path)?;
        let own = |document: &Document| document.path() == Some(path);
        let document = self.workspace.document(path).filter(own);
        match JudgedFiles(self.reader).whole(path)? {
            Some(_) if document.as_ref().is_some_and(Document::differs_from_disk) => Err(ReadError::Unsaved),
            found => Ok(found),
        }
    }

    fn is_open(&self, path: &Path) -> bool {
        self.workspace.document(path).is_some()
    }

    fn real(&self, path: &Path) -> std::path::PathBuf {
        DiskFiles.real(path)
    }

    fn same_entry(&self, a: &Path, b: &Path) -> bool {
        DiskFiles.same_entry(a, b)
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        DiskFiles.mode(path)
    }
}

/// Those that may be read: the editor is not asked for the others either.
async fn readable(turn: &Arc<Turn>, paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let turn = turn.clone();
    aside(move || {
        let reader = turn.reader();
        let clean = paths.iter().map(|path| crate::workspace::uri::clean(path));
        clean.filter(|path| reader.may_read(path)).collect()
    })
    .await
}

pub(super) async fn run(
    turn: &Arc<Turn>,
    item_id: ItemId,
    text: String,
    workdir: Option<String>,
) -> Result<ToolOutput, ToolError> {
    let base = crate::workspace::uri::clean(&turn.settings.cwd.join(workdir.as_deref().unwrap_or_default()));
    let parsed = parse(&text).map_err(|error| refuse(turn, &item_id, Vec::new(), None, error))?;
    let named: Named = parsed
        .sections
        .iter()
        .map(|section| (base.join(section.path()), kind_of(section, &base)))
        .collect();
    let planned: Result<_, PlanError> = planned(turn, &named, move |view| plan(&parsed, &base, view)).await?;
    let planned = planned.map_err(|error| {
        let path = error.path().to_owned();
        refuse(turn, &item_id, named.clone(), Some(&path), error)
    })?;
    propose(turn, item_id, planned, named).await
}

/// Files, and what is wanted of each by the words of the call.
type Named = Vec<(PathBuf, FileChangeKind)>;

/// Plans something with what the person sees of the files that are named.
async fn planned<T: Send + 'static>(
    turn: &Arc<Turn>,
    named: &Named,
    plan: impl FnOnce(&View<'_>) -> T + Send + 'static,
) -> Result<T, ToolError> {
    let asked = readable(turn, named.iter().map(|(path, _)| path.clone()).collect()).await;
    turn.services.editor.look(&turn.conversation.id, asked).await;
    let reading = turn.clone();
    crate::tools::blocking(move || {
        let reader = reading.reader();
        plan(&View {
            workspace: &reading.workspace,
            reader: &reader,
        })
    })
    .await
}

/// A change that does not fit: shown to the person, and the answer for the model. `path` is the file that it does not fit.
fn refuse(turn: &Turn, item_id: &ItemId, files: Named, path: Option<&Path>, why: impl std::fmt::Display) -> ToolError {
    show_refused(turn, item_id, files, why.to_string());
    turn.misfits
        .count(turn, path, format!("The change was not proposed. {why}"))
}

/// Proposes what was planned, waits for the person's decisions, carries them out, and says what became of it.
async fn propose(turn: &Arc<Turn>, item_id: ItemId, planned: Plan, named: Named) -> Result<ToolOutput, ToolError> {
    turn.misfits
        .forget(planned.files.iter().map(|file| file.path.as_path()));
    let checked = match check(turn, &planned).await {
        Ok(checked) => checked,
        Err(reason) => {
            show_refused(turn, &item_id, named, reason.clone());
            return Ok(ToolOutput::failed(reason));
        }
    };
    let cwd = turn.settings.cwd.clone();
    let acting: Vec<PathBuf> = checked.acting().map(Path::to_owned).collect();
    let (planned, changes) = crate::tools::blocking(move || {
        let acts = |path: &Path| acting.iter().any(|acting| acting == path);
        let planned = planned.spelled_out(acts, |path| DiskFiles.mode(path));
        let changes = changes(&planned, &cwd);
        (planned, changes)
    })
    .await?;
    if planned.files.iter().all(FilePlan::is_noop) {
        return Ok(ToolOutput::ok(
            "Nothing to propose: the files hold already what the patch would put there.",
        ));
    }
    let nobody_asked = checked.auto_approved;
    // A conversation that leaves nothing on the disk leaves no proposal there either.
    let bounds = match turn.conversation.recorder {
        Some(_) => {
            let turn = turn.clone();
            Some(aside(move || turn.bounds()).await)
        }
        None => None,
    };
    let mut shown = Shown {
        item_id: item_id.clone(),
        proposal_id: ProposalId::fresh(),
        changes,
        applied: None,
        auto_approved: nobody_asked,
    };
    let proposal_id = &shown.proposal_id.clone();
    turn.start_item(shown.item(ItemStatus::InProgress, None));
    let origin = Origin {
        thread_id: turn.conversation.id.clone(),
        turn_id: turn.id.clone(),
        item_id,
        diff: shown.changes.iter().map(|change| change.diff.as_str()).collect(),
        reason: checked.reason,
        cwd: turn.settings.cwd.clone(),
        grant_root: checked.grant_root,
        auto_approved: nobody_asked,
        applies_each: turn.config.edits.applies_each,
        bounds,
    };
    let stream = turn.conversation.stream.clone();
    let proposals = &turn.services.proposals;
    // Whoever sees the proposal sees that the thread waits for them.
    let waiting_status = (!nobody_asked).then(|| turn.waiting(WaitsFor::Approval));
    let mut waiting = proposals.open(proposal_id.clone(), planned, origin, stream).await;
    if nobody_asked {
        tracing::info!(thread = %turn.conversation.id, proposal = %proposal_id, "the policy accepts this patch: nobody is asked");
        proposals.accept_unasked(proposal_id);
    }
    let places = Arc::new(checked.places);
    let decided = loop {
        let ready = tokio::select! {
            biased;
            // What was decided before the stop counts; an editor's preview may have it in the files by now.
            ready = waiting.ready() => ready,
            () = turn.cancel.cancelled() => None,
        };
        match ready {
            // A task of its own, as below.
            Some(Ready::Part) => {
                let applying = apply_part(turn.clone(), proposal_id.clone(), places.clone());
                let applied = turn.services.steps.spawn(applying);
                if let Err(error) = applied.await {
                    turn.warn(format!(
                        "Applying what was accepted failed inside Countersign: {error}."
                    ));
                }
            }
            Some(Ready::All(decided)) => break Some(decided),
            None => break None,
        }
    };
    drop(waiting_status);
    let Some(decided) = decided else {
        let (shown_words, told) = match proposals.is_stopping() && proposals.outlives(proposal_id) {
            true => (
                "The server stopped before it was decided; it waits for the next start.",
                "The server stopped before the person decided; nothing was changed so far. The patch still waits for them, and \
                 you will be told what became of it. Do not send it again.",
            ),
            false => (
                "The turn was stopped before it was decided.",
                "The turn was stopped before the person decided; nothing was changed.",
            ),
        };
        if let Some(told) = shown.broken_off(turn, shown_words) {
            return Ok(ToolOutput::not_done(told));
        }
        turn.complete_item(shown.item(ItemStatus::Interrupted, Some(shown_words.to_owned())));
        return Ok(ToolOutput::not_done(told));
    };
    if let Some(words) = Proposals::superseded(&decided) {
        let newer = "A newer proposal took the place of what was not decided.";
        if let Some(told) = shown.broken_off(turn, newer) {
            return Ok(ToolOutput::not_done(told));
        }
        turn.complete_item(shown.item(ItemStatus::Interrupted, Some(words.clone())));
        return Ok(ToolOutput::not_done(words));
    }
    // A task of its own: it runs to its end whatever becomes of the turn. A change is whole, or not at all.
    let carried_out = turn
        .services
        .steps
        .spawn(carry_out(turn.clone(), shown, waiting, decided, places));
    carried_out.await.map_err(|error| {
        ToolError::Answer(format!(
            "The patch failed inside Countersign: {error}. Read the files again."
        ))
    })
}

/// What a section of a patch wants of its file, by its words.
fn kind_of(section: &Section, base: &Path) -> FileChangeKind {
    match section {
        Section::Add { .. } | Section::Copy { .. } => FileChangeKind::Add,
        Section::Delete { .. } => FileChangeKind::Delete,
        Section::Update { move_to, .. } => FileChangeKind::Update {
            move_path: move_to.as_ref().map(|to| base.join(to)),
        },
    }
}

/// Shows a patch that came to nothing before anybody was asked: the person sees what the agent tried, and why it was not taken.
fn show_refused(turn: &Turn, item_id: &ItemId, files: Named, why: String) {
    let change = |(path, kind)| FileChange {
        path,
        kind,
        diff: String::new(),
    };
    turn.complete_item(ThreadItem::FileChange {
        id: item_id.clone(),
        proposal_id: None,
        changes: files.into_iter().map(change).collect(),
        applied: None,
        auto_approved: false,
        status: ItemStatus::Failed,
        outcome: Some(why),
    });
}

/// How the item of a proposal is shown.
struct Shown {
    item_id: ItemId,
    proposal_id: ProposalId,
    changes: Vec<FileChange>,
    /// What of them was made, once that is known to be less.
    applied: Option<Vec<FileChange>>,
    auto_approved: bool,
}

impl Shown {
    fn item(&self, status: ItemStatus, outcome: Option<String>) -> ThreadItem {
        ThreadItem::FileChange {
            id: self.item_id.clone(),
            proposal_id: Some(self.proposal_id.clone()),
            changes: self.changes.clone(),
            applied: self.applied.clone(),
            auto_approved: self.auto_approved,
            status,
            outcome,
        }
    }

    /// Ends the item of a proposal that is not wholly decided, and some of which is in the files: what the model hears. Nothing if none
    /// of it is.
    fn broken_off(&mut self, turn: &Turn, why: &str) -> Option<String> {
        let (proposal, plan) = turn.services.proposals.decided(&self.proposal_id)?;
        let outcome = apply::so_far(&proposal, &plan, why)?;
        self.applied = applied(&plan, &outcome, &turn.settings.cwd);
        let told = report(&turn.scope(), &outcome, &[], false);
        turn.complete_item(self.item(ItemStatus::Interrupted, Some(told.clone())));
        Some(told)
    }
}

/// Applies what is accepted while the rest waits. What cannot be applied waits again.
async fn apply_part(turn: Arc<Turn>, id: ProposalId, places: Arc<Vec<Place>>) {
    let scope = grant::scope(&turn, &places).await;
    let outcome = apply::run_part(&scope, &id).await;
    record(&turn, &outcome).await;
    let (proposals, results) = (turn.services.proposals.clone(), hunk_statuses(&outcome));
    aside(move || proposals.part_is_applied(&id, &results)).await;
    for warning in warnings(&scope, &outcome) {
        turn.warn(warning);
    }
    if let Some(error) = &outcome.error {
        turn.warn(format!(
            "What was accepted is not in the files, and waits again. {error}"
        ));
    }
    watch(&turn, outcome);
}

/// Notes what was changed, so that it can be undone.
async fn record(turn: &Arc<Turn>, outcome: &Outcome) {
    turn.with_diff(|diff| super::undo::note(diff, &outcome.changed));
    turn.track.made_folders(&outcome.made);
    // Before anybody is told: what is shown as done can be taken back, also after a crash.
    let saving = turn.clone();
    aside(move || super::undo::save(&saving)).await;
}

/// Tells the model what becomes of applied text in the editor.
fn watch(turn: &Turn, outcome: Outcome) {
    let Some(aftermath) = outcome.aftermath else {
        return;
    };
    let conversation = turn.conversation.clone();
    tokio::spawn(async move {
        if let Some(lines) = aftermath.watch().await {
            tracing::info!(thread = %conversation.id, "applied text was changed further in the editor");
            conversation.note(format!(
                "After your patch was applied, some of its lines were changed further in the editor, by its formatter or by \
                 the person (- as applied, + there now). {lines}"
            ));
        }
    });
}

/// Applies what was decided, says what became of it, and settles the proposal.
async fn carry_out(
    turn: Arc<Turn>,
    mut shown: Shown,
    waiting: Waiting,
    decided: Decided,
    places: Arc<Vec<Place>>,
) -> ToolOutput {
    let outcome = grant::carry_out(&turn, &waiting.id, &shown.item_id, &decided, places).await;
    record(&turn, &outcome).await;
    let status = match outcome.status {
        ProposalStatus::Applied => ItemStatus::Completed,
        ProposalStatus::Rejected => ItemStatus::Declined,
        ProposalStatus::Withdrawn => ItemStatus::Interrupted,
        _ => ItemStatus::Failed,
    };
    let scope = turn.find_scope().await;
    let report = report(&scope, &outcome, &decided.feedback, shown.auto_approved);
    let proposals = &turn.services.proposals;
    proposals
        .settle(
            &waiting.id,
            outcome.status,
            &hunk_statuses(&outcome),
            Some(report.clone()),
        )
        .await;
    for warning in warnings(&scope, &outcome) {
        turn.warn(warning);
    }
    if let Some((_, plan)) = proposals.decided(&waiting.id) {
        shown.applied = applied(&plan, &outcome, &turn.settings.cwd);
    }
    turn.complete_item(shown.item(status, Some(report.clone())));
    let is_applied = outcome.status == ProposalStatus::Applied;
    watch(&turn, outcome);
    ToolOutput::new(report, is_applied)
}

fn changes(plan: &Plan, cwd: &Path) -> Vec<FileChange> {
    plan.files
        .iter()
        .map(|file| FileChange {
            path: file.path.clone(),
            kind: file.kind.clone(),
            diff: file.unified_diff(cwd),
        })
        .collect()
}

/// What of a plan was made: its files with the hunks that were taken, as the person had them. Nothing where that is all of it.
fn applied(plan: &Plan, outcome: &Outcome, cwd: &Path) -> Option<Vec<FileChange>> {
    let is_taken = |hunk: &apply::HunkOutcome| hunk.result == HunkResult::Taken && hunk.edited.is_none();
    let all = outcome.files.iter().flat_map(|file| &file.hunks).all(is_taken);
    if all || !has_taken(outcome) {
        return None;
    }
    let made = plan.files.iter().filter_map(|file| {
        let result = outcome.files.iter().find(|result| result.path == file.path)?;
        let taken: Vec<_> = result
            .hunks
            .iter()
            .map(|hunk| hunk.result == HunkResult::Taken)
            .collect();
        if !taken.contains(&true) {
            return None;
        }
        let mut made = file.clone();
        for (hunk, result) in made.hunks.iter_mut().zip(&result.hunks) {
            if let Some(edited) = &result.edited {
                hunk.new_text.clone_from(edited);
            }
        }
        if made.whole.is_none() && made.kind != FileChangeKind::Delete {
            let before = made.before.as_deref().unwrap_or_default();
            made.after = Some(with_hunks(before, &made.hunks, &taken));
        }
        Some(FileChange {
            path: made.path.clone(),
            kind: made.kind.clone(),
            diff: made.unified_diff(cwd),
        })
    });
    Some(made.collect())
}

/// Whether some of it is in the files.
fn has_taken(outcome: &Outcome) -> bool {
    let mut hunks = outcome.files.iter().flat_map(|file| &file.hunks);
    hunks.any(|hunk| hunk.result == HunkResult::Taken)
}

pub(super) fn hunk_statuses(outcome: &Outcome) -> BTreeMap<HunkId, HunkStatus> {
    let mut statuses = BTreeMap::new();
    for hunk in outcome.files.iter().flat_map(|file| &file.hunks) {
        let status = match hunk.result {
            HunkResult::Taken => HunkStatus::Applied,
            HunkResult::Rejected | HunkResult::Undone => HunkStatus::Rejected,
            HunkResult::Conflict => HunkStatus::Conflicting,
            HunkResult::NotApplied => HunkStatus::Pending,
        };
        statuses.insert(hunk.id.clone(), status);
    }
    statuses
}

/// What the person should hear of a change beside what became of its hunks.
pub(super) fn warnings(scope: &Scope, outcome: &Outcome) -> Vec<String> {
    let altered = |file: &&apply::FileResult| file.altered.is_some();
    let name = |file: &apply::FileResult| scope.short_name(&file.path);
    let names: Vec<_> = outcome.files.iter().filter(altered).map(name).collect();
    let words = format!(
        "The agent's change was applied, and the editor changed its lines further: {}. The agent knows; undo in the editor \
         reverts both.",
        names.join(", ")
    );
    (!names.is_empty()).then_some(words).into_iter().collect()
}
