//! Applies what was decided of a patch, and opens the folders outside the workspace that it needs: the person is asked for
//! them, before anything is written, and a yes holds for the rest of the session.
//!
//! A folder can also lose its place among the writable ones while the person reads. That is found before the patch is
//! written, or after it failed, and asked about in the same way; the patch is then applied once more. A path that leads
//! to another place than it did when the patch was planned is never asked about: somebody has put a link into its way.

use super::check::acting;
use super::place::{Lies, Place, existing_folder};
use crate::agent::apply::{self, HunkResult, Outcome, Scope};
use crate::agent::aside::aside;
use crate::agent::conversation::is_itself;
use crate::agent::proposals::Decided;
use crate::agent::turn::Turn;
use crate::ids::{ApprovalId, ItemId, ProposalId};
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse, PermissionApproval};
use crate::protocol::permission::GrantScope;
use crate::protocol::proposal::{HunkStatus, Proposal, ProposalStatus};
use crate::protocol::settings::{ApprovalPolicy, SandboxMode};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files named in a question.
const NAMED: usize = 12;

/// A place that is accepted and closed.
#[derive(Clone)]
struct Shut {
    path: PathBuf,
    /// What the person is asked to open.
    folder: PathBuf,
}

/// Applies a decided proposal; `places` are its paths as they lay when it was planned.
pub(super) async fn carry_out(
    turn: &Arc<Turn>,
    id: &ProposalId,
    item_id: &ItemId,
    decided: &Decided,
    places: Arc<Vec<Place>>,
) -> Outcome {
    let mut opened = opened_without_asking(turn, decided, &places);
    // What the editor has put into the files itself needs no folder of ours; nobody is asked under `never`.
    let may_ask = !decided.in_place && turn.settings.approval_policy != ApprovalPolicy::Never;
    let mut asked = BTreeSet::new();
    loop {
        let shut = match may_ask {
            true => shut(turn, id, &places, &opened, &asked).await,
            false => Vec::new(),
        };
        if !shut.is_empty() {
            let folders = folders(&shut);
            if let Some(no) = ask(turn, id, item_id, &folders, &shut).await {
                return no;
            }
            turn.conversation.data().grant(&folders);
            // The patch itself makes a folder that is not there yet, so what is above it is opened too, for this once.
            let above = shut.iter().map(|shut| existing_folder(&shut.path).to_owned());
            opened.extend(above.filter(|folder| is_itself(folder)));
            asked.extend(folders);
            continue;
        }
        let scope = scope(turn, &places).await.with_writable(&opened);
        let outcome = apply::run(&scope, id, decided).await;
        let lost = outcome.status == ProposalStatus::Failed
            && may_ask
            && !self::shut(turn, id, &places, &opened, &asked).await.is_empty();
        if !lost {
            return outcome;
        }
    }
}

/// Where the changes of a patch are made, whose paths lay at these places when the person was asked about it.
pub(super) async fn scope(turn: &Arc<Turn>, places: &[Place]) -> Scope {
    Scope {
        shown_at: acting(places).map(|place| place.real.clone()).collect(),
        ..turn.find_scope().await
    }
}

/// The folders outside the workspace that may be written without a question: under full access commands may too.
fn opened_without_asking(turn: &Turn, decided: &Decided, places: &[Place]) -> Vec<PathBuf> {
    if turn.settings.sandbox_policy.mode() != SandboxMode::DangerFullAccess && !decided.in_place {
        return Vec::new();
    }
    let outside = places.iter().filter(|place| place.lies != Lies::Inside);
    let above = outside.map(|place| existing_folder(&place.real).to_owned());
    above.filter(|folder| is_itself(folder)).collect()
}

/// The paths of accepted hunks that cannot be written now, though they are where they were.
async fn shut(
    turn: &Arc<Turn>,
    id: &ProposalId,
    places: &Arc<Vec<Place>>,
    opened: &[PathBuf],
    asked: &BTreeSet<PathBuf>,
) -> Vec<Shut> {
    let Some((proposal, _)) = turn.services.proposals.decided(id) else {
        return Vec::new();
    };
    let (turn, places, opened, asked) = (turn.clone(), places.clone(), opened.to_vec(), asked.clone());
    let look = move || {
        let confinement = turn.scope().with_writable(&opened).confinement;
        let surroundings = turn.surroundings(&confinement);
        let accepted: BTreeSet<&Path> = accepted_paths(&proposal).collect();
        let shut = places.iter().filter(|place| accepted.contains(place.path.as_path()));
        let shut = shut.filter_map(|then| match surroundings.place(&then.path, then.itself) {
            Place {
                real,
                lies: Lies::Outside(folder),
                ..
            } if real == then.real && !asked.contains(&folder) => Some(Shut { path: real, folder }),
            _ => None,
        });
        shut.collect()
    };
    crate::tools::blocking(look).await.unwrap_or_default()
}

/// The files that something was accepted of, and where they go.
fn accepted_paths(proposal: &Proposal) -> impl Iterator<Item = &Path> {
    let accepted = proposal
        .files
        .iter()
        .filter(|file| file.hunks.iter().any(|hunk| hunk.status == HunkStatus::Accepted));
    accepted.flat_map(|file| {
        let moved = match &file.kind {
            crate::protocol::item::FileChangeKind::Update { move_path } => move_path.as_deref(),
            _ => None,
        };
        std::iter::once(file.path.as_path()).chain(moved)
    })
}

/// What to open: each folder once, in order, without those that lie in another.
fn folders(shut: &[Shut]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for Shut { folder, .. } in shut {
        let covered = |other: &&Shut| folder.starts_with(&other.folder) && *folder != other.folder;
        if !folders.contains(folder) && !shut.iter().any(|other| covered(&other)) {
            folders.push(folder.clone());
        }
    }
    folders
}

/// Asks for the folders. Nothing for a yes; else what became of the proposal.
async fn ask(
    turn: &Arc<Turn>,
    id: &ProposalId,
    item_id: &ItemId,
    folders: &[PathBuf],
    shut: &[Shut],
) -> Option<Outcome> {
    let (asking, opened, closed) = (turn.clone(), folders.to_vec(), shut.to_vec());
    let reason = aside(move || reason(&asking, &opened, &closed)).await;
    let approval = PermissionApproval {
        id: ApprovalId::fresh(),
        thread_id: turn.conversation.id.clone(),
        turn_id: turn.id.clone(),
        item_id: item_id.clone(),
        agent: None,
        proposal_id: Some(id.clone()),
        grant_root: Some(folders.first()?.clone()),
        permissions: Vec::new(),
        accept_covers: GrantScope::Session,
        folders: folders.to_vec(),
        paths: shut.iter().map(|shut| shut.path.clone()).collect(),
        reason,
        justification: None,
        notes: Vec::new(),
        available_decisions: vec![
            ApprovalDecision::AcceptForSession,
            ApprovalDecision::Decline,
            ApprovalDecision::Cancel,
        ],
    };
    let answer = turn.ask(Approval::Permission(approval)).await;
    let named = named(folders);
    let (status, words) = match answer {
        Some(ApprovalResponse {
            decision: ApprovalDecision::Accept | ApprovalDecision::AcceptForSession | ApprovalDecision::AcceptAlways,
            ..
        }) => {
            tracing::info!(thread = %turn.conversation.id, folders = %named, "opened for the rest of the session");
            return None;
        }
        Some(ApprovalResponse { feedback, .. }) => (ProposalStatus::Rejected, refusal(&named, feedback.as_deref())),
        None => (
            ProposalStatus::Withdrawn,
            format!(
                "The turn was stopped before the person had said whether {named} may be written; no file was changed."
            ),
        ),
    };
    Some(nothing_written(turn, id, status, words))
}

/// The words of the question. Looks on the disk.
fn reason(turn: &Turn, folders: &[PathBuf], shut: &[Shut]) -> String {
    let mut names: Vec<_> = shut
        .iter()
        .take(NAMED)
        .map(|shut| crate::shown::exact(&turn.short_name(&shut.path)))
        .collect();
    if shut.len() > NAMED {
        names.push(format!("{} more", shut.len() - NAMED));
    }
    let confinement = turn.patch_confinement();
    let surroundings = turn.surroundings(&confinement);
    let warnings: String = folders
        .iter()
        .filter_map(|folder| Some(format!(" {}", surroundings.warning(folder)?)))
        .collect();
    let commands = match turn.settings.sandbox_policy.mode() {
        SandboxMode::WorkspaceWrite => " and commands in the sandbox",
        SandboxMode::ReadOnly | SandboxMode::DangerFullAccess => "",
    };
    format!(
        "The patch writes outside the workspace: {}. With a yes, patches{commands} may write in {} until this session ends; \
         with a no, nothing of this patch is written.{warnings}",
        names.join(", "),
        named(folders)
    )
}

fn named(folders: &[PathBuf]) -> String {
    let folders: Vec<_> = folders.iter().map(|folder| crate::shown::path(folder)).collect();
    folders.join(", ")
}

fn refusal(folders: &str, feedback: Option<&str>) -> String {
    let words = match feedback.map(str::trim).filter(|words| !words.is_empty()) {
        Some(words) => format!(" The person says: {words}"),
        None => String::new(),
    };
    format!(
        "The person rejected the patch: it may not write in {folders}, which is outside the workspace. No file was changed, \
         inside the workspace neither. Do it without that folder, or ask.{words}"
    )
}

/// The proposal as it ends when its folders stay closed.
fn nothing_written(turn: &Turn, id: &ProposalId, status: ProposalStatus, error: String) -> Outcome {
    let result = match status {
        ProposalStatus::Rejected => HunkResult::Rejected,
        _ => HunkResult::NotApplied,
    };
    let decided = turn.services.proposals.decided(id);
    let mut files = decided.map_or_else(Vec::new, |(proposal, plan)| apply::first_results(&proposal, &plan));
    let hunks = files.iter_mut().flat_map(|file| &mut file.hunks);
    for hunk in hunks.filter(|hunk| !hunk.applied) {
        hunk.result = result;
    }
    Outcome {
        status,
        files,
        changed: Vec::new(),
        made: Vec::new(),
        aftermath: None,
        error: Some(error),
    }
}
