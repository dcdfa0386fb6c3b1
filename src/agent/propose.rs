//! A patch of the model: planned against what the person sees, checked, proposed, decided, applied, reported.

use super::apply::{self, FileResult, HunkResult, Outcome};
use super::proposals::{Decided, Origin, Waiting};
use super::turn::Turn;
use crate::ids::{HunkId, ItemId, ProposalId};
use crate::patch::files::{self, DiskFiles, FileText, Files};
use crate::patch::parse::parse;
use crate::patch::plan::error::PlanError;
use crate::patch::plan::{FilePlan, Plan, plan};
use crate::protocol::item::{Confined, FileChange, FileChangeKind, ItemStatus, ThreadItem};
use crate::protocol::proposal::{HunkStatus, ProposalDecideParams, ProposalDecision, ProposalStatus};
use crate::protocol::settings::{ApprovalPolicy, SandboxPolicy};
use crate::tools::{ToolError, ToolOutput};
use crate::workspace::Workspace;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The workspace view as a snapshot to plan against.
struct View<'a>(&'a Workspace);

impl Files for View<'_> {
    fn read(&self, path: &Path) -> Result<Option<FileText>, files::ReadError> {
        match self.0.document(path) {
            Some(document) => Ok(Some(FileText { text: document.text() })),
            None => DiskFiles.read(path),
        }
    }

    fn real(&self, path: &Path) -> std::path::PathBuf {
        DiskFiles.real(path)
    }

    fn same_entry(&self, a: &Path, b: &Path) -> bool {
        DiskFiles.same_entry(a, b)
    }
}

pub(super) async fn run(
    turn: &Arc<Turn>,
    item_id: ItemId,
    text: String,
    workdir: Option<String>,
) -> Result<ToolOutput, ToolError> {
    let answer = |error: &dyn std::fmt::Display| ToolError::Answer(format!("The patch was not proposed. {error}"));
    let parsed = parse(&text).map_err(|error| answer(&error))?;
    let base = crate::workspace::uri::clean(&turn.settings.cwd.join(workdir.as_deref().unwrap_or_default()));
    let (workspace, cwd) = (turn.desk.workspace.clone(), turn.settings.cwd.clone());
    let plan = move || {
        let planned = plan(&parsed, &base, &View(&workspace))?;
        let changes = changes(&planned, &cwd);
        Ok((planned, changes))
    };
    let planned: Result<_, PlanError> = crate::tools::blocking(plan).await?;
    let (planned, changes) = planned.map_err(|error| answer(&error))?;
    let (reason, granted) = match check(turn, &planned) {
        Check::Fine => (None, Vec::new()),
        Check::Outside { reason, folders } => (Some(reason), folders),
        Check::Refused(reason) => return Ok(ToolOutput::failed(reason)),
    };
    if planned.files.iter().all(FilePlan::is_noop) {
        return Ok(ToolOutput::ok(
            "Nothing to propose: the files hold already what the patch would put there.",
        ));
    }
    let nobody_asked = turn.settings.approval_policy == ApprovalPolicy::Never;
    let shown = Shown {
        item_id: item_id.clone(),
        proposal_id: ProposalId::fresh(),
        changes,
    };
    let proposal_id = &shown.proposal_id;
    turn.start_item(shown.item(ItemStatus::InProgress, None));
    let origin = Origin {
        thread_id: turn.conversation.id.clone(),
        turn_id: turn.id.clone(),
        item_id,
        diff: shown.changes.iter().map(|change| change.diff.as_str()).collect(),
        reason,
    };
    let stream = turn.conversation.stream.clone();
    let mut waiting = turn.desk.proposals.open(proposal_id.clone(), planned, origin, stream);
    if nobody_asked {
        accept_all(turn, proposal_id);
    }
    let decided = {
        let _waiting_status = (!nobody_asked).then(|| turn.waiting());
        tokio::select! {
            biased;
            // What was decided before the stop counts; an editor's preview may have it in the files by now.
            decided = waiting.decided() => decided,
            () = turn.cancel.cancelled() => None,
        }
    };
    let Some(decided) = decided else {
        let words = "The turn was stopped before it was decided.";
        turn.complete_item(shown.item(ItemStatus::Interrupted, Some(words.to_owned())));
        return Ok(ToolOutput::not_done(
            "The turn was stopped before the person decided; nothing was changed.",
        ));
    };
    // A task of its own: it runs to its end whatever becomes of the turn. A change is whole, or not at all.
    let carried_out = turn
        .desk
        .steps
        .spawn(carry_out(turn.clone(), shown, waiting, decided, granted));
    carried_out.await.map_err(|error| {
        ToolError::Answer(format!(
            "The patch failed inside Countersign: {error}. Read the files again."
        ))
    })
}

/// How the item of a proposal is shown.
struct Shown {
    item_id: ItemId,
    proposal_id: ProposalId,
    changes: Vec<FileChange>,
}

impl Shown {
    fn item(&self, status: ItemStatus, outcome: Option<String>) -> ThreadItem {
        ThreadItem::FileChange {
            id: self.item_id.clone(),
            proposal_id: Some(self.proposal_id.clone()),
            changes: self.changes.clone(),
            status,
            outcome,
        }
    }
}

/// Applies what was decided, says what became of it, and settles the proposal.
async fn carry_out(
    turn: Arc<Turn>,
    shown: Shown,
    waiting: Waiting,
    decided: Decided,
    granted: Vec<PathBuf>,
) -> ToolOutput {
    let outcome = apply::run(&turn, &waiting.id, &decided, &granted).await;
    let status = match outcome.status {
        ProposalStatus::Applied => ItemStatus::Completed,
        ProposalStatus::Rejected => ItemStatus::Declined,
        _ => ItemStatus::Failed,
    };
    let report = report(&turn, &outcome, &decided.feedback);
    let hunks = hunk_statuses(&outcome);
    turn.desk.proposals.settle(&waiting.id, outcome.status, &hunks);
    turn.complete_item(shown.item(status, Some(report.clone())));
    ToolOutput {
        text: report,
        success: Some(outcome.status == ProposalStatus::Applied),
    }
}

fn accept_all(turn: &Turn, id: &ProposalId) {
    let all = ProposalDecideParams {
        proposal_id: id.clone(),
        decision: ProposalDecision::Accept,
        hunk_ids: None,
        path: None,
        feedback: None,
    };
    if let Err(error) = turn.desk.proposals.decide(&all) {
        tracing::warn!(%error, "a proposal that nobody is asked about could not be accepted");
    }
}

enum Check {
    Fine,
    /// The person must see this; a yes covers these folders, their links resolved as they were when it was asked.
    Outside {
        reason: String,
        folders: Vec<PathBuf>,
    },
    Refused(String),
}

/// Where the patch may write. Protected folders are refused; a place outside the workspace is said in the question,
/// and refused where nobody may be asked.
fn check(turn: &Turn, plan: &Plan) -> Check {
    let never = turn.settings.approval_policy == ApprovalPolicy::Never;
    if never && matches!(turn.settings.sandbox_policy, SandboxPolicy::ReadOnly { .. }) {
        return Check::Refused(
            "The policy is read-only and nobody may be asked, so no file can be changed. Explain the change instead."
                .to_owned(),
        );
    }
    let confinement = turn.patch_confinement();
    let (mut outside, mut folders) = (Vec::new(), Vec::new());
    for path in plan.paths() {
        if confinement.is_protected(path) {
            return Check::Refused(format!(
                "{} is in a protected folder, which patches and commands may only read. Leave it as it is, or tell the person \
                 what to change there.",
                turn.short_name(path)
            ));
        }
        let home = turn.settings.cwd.join("~");
        if path.starts_with(&home) && !home.exists() {
            return Check::Refused(format!(
                "{} is below a folder with the name ~: nothing stands for the home folder in a patch. Write the whole path.",
                turn.short_name(path)
            ));
        }
        let may_write = confinement.may_write(path);
        // Names there mean something else to each process.
        if !may_write && ["/proc", "/sys", "/dev"].iter().any(|folder| path.starts_with(folder)) {
            return Check::Refused(format!(
                "{} is in a folder of the kernel, where patches do not write.",
                path.display()
            ));
        }
        if !may_write {
            let folder = existing_folder(path);
            let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
            let name = turn.short_name(path);
            outside.push(match real == folder {
                true => name,
                false => format!("{name} (which is in {})", real.display()),
            });
            folders.push(real);
        }
    }
    match (
        outside.is_empty(),
        never && turn.confinement(Confined::Workspace).confined() != Confined::Outside,
    ) {
        (true, _) => Check::Fine,
        (false, true) => Check::Refused(format!(
            "Outside the workspace, where nothing may be changed under the approval policy never: {}.",
            outside.join(", ")
        )),
        (false, false) => Check::Outside {
            reason: format!("Outside the workspace: {}", outside.join(", ")),
            folders,
        },
    }
}

/// The innermost folder on the way to a path that is there.
fn existing_folder(path: &Path) -> &Path {
    path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(path)
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

fn hunk_statuses(outcome: &Outcome) -> BTreeMap<HunkId, HunkStatus> {
    let mut statuses = BTreeMap::new();
    for hunk in outcome.files.iter().flat_map(|file| &file.hunks) {
        let status = match hunk.result {
            HunkResult::Taken => HunkStatus::Applied,
            HunkResult::Rejected => HunkStatus::Rejected,
            HunkResult::Conflict => HunkStatus::Conflicting,
            HunkResult::NotApplied => HunkStatus::Pending,
        };
        statuses.insert(hunk.id.clone(), status);
    }
    statuses
}

/// What became of each hunk, exactly, for the model and for the person.
fn report(turn: &Turn, outcome: &Outcome, feedback: &[String]) -> String {
    let mut text = String::new();
    let hunks = || outcome.files.iter().flat_map(|file| &file.hunks);
    let count = |result: HunkResult| hunks().filter(|hunk| hunk.result == result).count();
    let total = hunks().count();
    match (&outcome.status, &outcome.error) {
        (_, Some(error)) => {
            let _ = writeln!(text, "{error}");
        }
        (ProposalStatus::Applied, None) if count(HunkResult::Taken) == total => {
            text.push_str("Success. The person accepted the whole patch; it is in the files:\n");
        }
        (ProposalStatus::Applied, None) => {
            let _ = writeln!(
                text,
                "Taken in part: {} of {total} hunks are in the files.",
                count(HunkResult::Taken)
            );
        }
        (ProposalStatus::Rejected, None) => {
            text.push_str("The person rejected the patch; no file was changed.\n");
        }
        (_, None) => text.push_str("Nothing was changed.\n"),
    }
    if total == 0 || outcome.status != ProposalStatus::Rejected {
        for file in &outcome.files {
            describe(&mut text, turn, file);
        }
    }
    for words in feedback {
        let _ = writeln!(text, "The person says: {}", words.trim());
    }
    text.truncate(text.trim_end().len());
    text
}

fn describe(text: &mut String, turn: &Turn, file: &FileResult) {
    let name = turn.short_name(&file.path);
    let taken = file
        .hunks
        .iter()
        .filter(|hunk| hunk.result == HunkResult::Taken)
        .count();
    if taken > 0 {
        let (letter, name) = match &file.kind {
            FileChangeKind::Add => ("A", name.clone()),
            FileChangeKind::Delete => ("D", name.clone()),
            FileChangeKind::Update { move_path: Some(to) } => ("M", format!("{name} -> {}", turn.short_name(to))),
            FileChangeKind::Update { move_path: None } => ("M", name.clone()),
        };
        let unsaved = if file.in_editor {
            " (in the editor, unsaved)"
        } else {
            ""
        };
        let _ = writeln!(text, "{letter} {name}{unsaved}");
    }
    if taken == file.hunks.len() {
        return;
    }
    for (number, hunk) in file.hunks.iter().enumerate() {
        let result = match hunk.result {
            HunkResult::Taken => "taken",
            HunkResult::Rejected => "rejected by the person",
            HunkResult::Conflict => "not taken: the text it would replace has changed since; read the file again",
            HunkResult::NotApplied => "not applied",
        };
        let _ = writeln!(text, "  {name} hunk {} (line {}): {result}", number + 1, hunk.line + 1);
    }
}
