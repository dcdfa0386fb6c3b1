//! Patches that wait for the person: what they are, where they lie in today's text, what was decided.
//!
//! A proposal is decided hunk by hunk, from any surface. Once no hunk is pending the turn that made it is woken
//! and applies what was accepted.

use super::editor::Unsaved;
use super::stream::Stream;
use crate::ids::{HunkId, ItemId, ProposalId, ThreadId, TurnId};
use crate::patch::plan::{FilePlan, Plan};
use crate::patch::rebase::{Rebased, about, rebase};
use crate::protocol::event::{EventKind, ProposalChanged};
use crate::protocol::item::{FileChangeKind, LineRange};
use crate::protocol::proposal::{
    Hunk, HunkStatus, Proposal, ProposalDecideParams, ProposalDecision, ProposalEditParams, ProposalFile,
    ProposalStatus,
};
use crate::workspace::{Document, Workspace, uri};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Settled proposals kept for those who still ask about them.
const KEPT: usize = 200;

/// All proposals of a server; cheap to clone.
#[derive(Clone)]
pub struct Proposals {
    shared: Arc<Shared>,
}

struct Shared {
    workspace: Workspace,
    entries: Mutex<BTreeMap<ProposalId, Entry>>,
}

struct Entry {
    proposal: Proposal,
    plan: Arc<Plan>,
    stream: Stream,
    feedback: Vec<String>,
    waiter: Option<oneshot::Sender<Decided>>,
}

/// What the person decided, for the turn that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Words to the model.
    pub feedback: Vec<String>,
    /// The editor has put the accepted hunks into the files itself.
    pub in_place: bool,
    /// What went wrong when it did.
    pub trouble: Option<String>,
}

/// Where a proposal comes from.
pub struct Origin {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    /// Unified diff of the whole.
    pub diff: String,
    pub reason: Option<String>,
    /// The first folder outside the workspace that would have to be opened.
    pub grant_root: Option<PathBuf>,
    /// Nobody is asked about it.
    pub auto_approved: bool,
}

/// A registered proposal. Dropping it before it is settled withdraws the proposal.
pub struct Waiting {
    pub id: ProposalId,
    desk: Proposals,
    decided: oneshot::Receiver<Decided>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposalError {
    #[error(
        "There is no proposal {0}. It may belong to an earlier run of the server; list the proposals to see what waits."
    )]
    Unknown(ProposalId),
    #[error("Proposal {0} is settled already; nothing was changed.")]
    Settled(ProposalId),
    #[error("Proposal {proposal} has no hunk {hunk}; nothing was changed.")]
    NoHunk { proposal: ProposalId, hunk: HunkId },
    #[error(
        "The text that hunk {hunk} of proposal {proposal} would replace has changed, so it cannot be accepted; nothing was \
         decided. Reject it, or bring the text back."
    )]
    Conflicting { proposal: ProposalId, hunk: HunkId },
    #[error("Hunk {hunk} of proposal {proposal} cannot be edited: {why}. Accept or reject it.")]
    NotEditable {
        proposal: ProposalId,
        hunk: HunkId,
        why: &'static str,
    },
    #[error("Proposal {proposal} does not touch {path}; nothing was changed.")]
    NoFile { proposal: ProposalId, path: PathBuf },
}

impl Proposals {
    pub fn new(workspace: Workspace) -> Self {
        Self {
            shared: Arc::new(Shared {
                workspace,
                entries: Mutex::default(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ProposalId, Entry>> {
        self.shared.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a proposal, then shows it.
    pub fn open(&self, id: ProposalId, plan: Plan, origin: Origin, stream: Stream) -> Waiting {
        let (waiter, decided) = oneshot::channel();
        let proposal = self.describe(&id, &plan, origin);
        let entry = Entry {
            proposal: proposal.clone(),
            plan: Arc::new(plan),
            stream: stream.clone(),
            feedback: Vec::new(),
            waiter: Some(waiter),
        };
        {
            let mut entries = self.lock();
            entries.insert(id.clone(), entry);
            let settled: Vec<_> = entries
                .iter()
                .filter(|(_, entry)| entry.waiter.is_none())
                .map(|(id, _)| id.clone())
                .collect();
            for old in settled.iter().take(settled.len().saturating_sub(KEPT)) {
                entries.remove(old);
            }
        }
        let turn = proposal.turn_id.clone();
        stream.publish(Some(turn), EventKind::ProposalCreated(ProposalChanged { proposal }));
        Waiting {
            id,
            desk: self.clone(),
            decided,
        }
    }

    fn describe(&self, id: &ProposalId, plan: &Plan, origin: Origin) -> Proposal {
        let files = plan.files.iter().map(|file| self.describe_file(id, file)).collect();
        Proposal {
            id: id.clone(),
            thread_id: origin.thread_id,
            turn_id: origin.turn_id,
            item_id: origin.item_id,
            status: ProposalStatus::Proposed,
            files,
            diff: origin.diff,
            reason: origin.reason,
            grant_root: origin.grant_root,
            auto_approved: origin.auto_approved,
            stacked_on: Vec::new(),
            superseded_by: None,
            outcome: None,
            created_at_ms: super::now_ms(),
        }
    }

    fn describe_file(&self, id: &ProposalId, file: &FilePlan) -> ProposalFile {
        let document = self.shared.workspace.document(&file.path);
        let hunks = file
            .hunks
            .iter()
            .map(|hunk| Hunk {
                id: HunkId::fresh(),
                status: HunkStatus::Pending,
                range: line_range(&hunk.old),
                old_text: hunk.old_text.clone(),
                new_text: hunk.new_text.clone(),
                proposed_text: None,
                conflict: None,
                feedback: None,
            })
            .collect();
        tracing::debug!(proposal = %id, path = %file.path.display(), open = document.is_some(), "proposed");
        ProposalFile {
            path: file.path.clone(),
            uri: document
                .as_ref()
                .map_or_else(|| uri::from_path(&file.path), |document| document.uri().to_owned()),
            kind: file.kind.clone(),
            open: document.is_some(),
            unsaved: document.as_ref().is_some_and(Document::differs_from_disk),
            base_version: document.as_ref().map(|document| document.version),
            version: document.map(|document| document.version),
            mode: None,
            // Large, and the same in every event: who wants them reads the proposal.
            before: None,
            after: None,
            current: None,
            result: None,
            hunks,
        }
    }

    /// One proposal with its texts, its hunks placed in today's text.
    pub fn read(&self, id: &ProposalId) -> Result<Proposal, ProposalError> {
        let (mut proposal, plan) = {
            let entries = self.lock();
            let entry = entries.get(id).ok_or_else(|| ProposalError::Unknown(id.clone()))?;
            (entry.proposal.clone(), entry.plan.clone())
        };
        self.place(&mut proposal, &plan, |_| true);
        for (file, planned) in proposal.files.iter_mut().zip(&plan.files) {
            file.before.clone_from(&planned.before);
            file.after.clone_from(&planned.after);
        }
        Ok(proposal)
    }

    /// The proposals that wait, or all, oldest first.
    pub fn list(&self, thread: Option<&ThreadId>, include_settled: bool) -> Vec<Proposal> {
        let found: Vec<_> = self
            .lock()
            .values()
            .filter(|entry| thread.is_none_or(|id| entry.proposal.thread_id == *id))
            .filter(|entry| include_settled || entry.proposal.status.is_waiting())
            .map(|entry| (entry.proposal.clone(), entry.plan.clone()))
            .collect();
        found
            .into_iter()
            .map(|(mut proposal, plan)| {
                self.place(&mut proposal, &plan, |_| true);
                proposal
            })
            .collect()
    }

    /// The waiting proposals that change this document, with its hunks placed in today's text. Looks at no other
    /// file: cheap enough for every code action request.
    pub fn on_document(&self, path: &Path, uri: &str) -> Vec<Proposal> {
        let is_it = |file: &ProposalFile| file.path == path || file.uri == uri;
        let found: Vec<_> = self
            .lock()
            .values()
            .filter(|entry| entry.proposal.status.is_waiting())
            .filter(|entry| entry.proposal.files.iter().any(is_it))
            .map(|entry| (entry.proposal.clone(), entry.plan.clone()))
            .collect();
        found
            .into_iter()
            .map(|(mut proposal, plan)| {
                self.place(&mut proposal, &plan, is_it);
                proposal
            })
            .collect()
    }

    /// Puts the pending hunks of these files where their text is today, and marks those whose text changed.
    fn place(&self, proposal: &mut Proposal, plan: &Plan, which: impl Fn(&ProposalFile) -> bool) {
        if !proposal.status.is_waiting() {
            return;
        }
        for (file, planned) in proposal.files.iter_mut().zip(&plan.files) {
            if !which(file) {
                continue;
            }
            file.open = self.shared.workspace.document(&file.path).is_some();
            let now = self.shared.workspace.read(&file.path).ok().map(|read| read.text);
            let places = places(planned, now.as_deref());
            for ((hunk, planned_hunk), place) in file.hunks.iter_mut().zip(&planned.hunks).zip(places) {
                if let (None, Some(before), Some(now)) = (&place, &planned.before, &now) {
                    hunk.range = line_range(&about(before, &planned_hunk.old, now));
                }
                match place {
                    Some(range) => {
                        hunk.range = line_range(&range);
                        if hunk.status == HunkStatus::Conflicting {
                            hunk.status = HunkStatus::Pending;
                        }
                    }
                    None if hunk.status == HunkStatus::Pending => hunk.status = HunkStatus::Conflicting,
                    None => {}
                }
            }
        }
    }

    /// Takes the person's word on some hunks. Wakes the turn once none is left to decide.
    pub fn decide(&self, params: &ProposalDecideParams) -> Result<Proposal, ProposalError> {
        let id = &params.proposal_id;
        let proposal = {
            let mut entries = self.lock();
            let entry = entries.get_mut(id).ok_or_else(|| ProposalError::Unknown(id.clone()))?;
            if entry.waiter.is_none() || !entry.proposal.status.is_waiting() {
                return Err(ProposalError::Settled(id.clone()));
            }
            let status = match params.decision {
                ProposalDecision::Accept => HunkStatus::Accepted,
                ProposalDecision::Reject => HunkStatus::Rejected,
                ProposalDecision::Reset => HunkStatus::Pending,
            };
            for hunk in chosen(&mut entry.proposal, params)? {
                hunk.status = status;
            }
            entry.proposal.status = match params.decision {
                ProposalDecision::Reset if nothing_decided(&entry.proposal) => ProposalStatus::Proposed,
                _ => ProposalStatus::PartlyDecided,
            };
            entry
                .feedback
                .extend(params.feedback.iter().filter(|words| !words.trim().is_empty()).cloned());
            if all_decided(&entry.proposal) {
                entry.wake(Decided::default());
            }
            entry.publish()
        };
        Ok(proposal)
    }

    /// Changes what a hunk would put into its file. It waits again, whatever was decided on it.
    pub fn edit(&self, params: &ProposalEditParams) -> Result<Proposal, ProposalError> {
        let id = &params.proposal_id;
        let mut entries = self.lock();
        let entry = entries.get_mut(id).ok_or_else(|| ProposalError::Unknown(id.clone()))?;
        if entry.waiter.is_none() || !entry.proposal.status.is_waiting() {
            return Err(ProposalError::Settled(id.clone()));
        }
        let named = |file: &mut ProposalFile| file.hunks.iter().position(|hunk| hunk.id == params.hunk_id);
        let mut files = entry.proposal.files.iter_mut();
        let Some((file, index)) = files
            .find_map(|file| Some((named(file)?, file)))
            .map(|(at, file)| (file, at))
        else {
            return Err(ProposalError::NoHunk {
                proposal: id.clone(),
                hunk: params.hunk_id.clone(),
            });
        };
        if file.kind == FileChangeKind::Delete {
            return Err(ProposalError::NotEditable {
                proposal: id.clone(),
                hunk: params.hunk_id.clone(),
                why: "it deletes the file",
            });
        }
        let hunk = &mut file.hunks[index];
        let own = hunk.proposed_text.take();
        let proposed = own.unwrap_or_else(|| hunk.new_text.clone());
        hunk.new_text = params.new_text.clone().unwrap_or_else(|| proposed.clone());
        hunk.proposed_text = (hunk.new_text != proposed).then_some(proposed);
        if hunk.status != HunkStatus::Conflicting {
            hunk.status = HunkStatus::Pending;
        }
        Ok(entry.publish())
    }

    /// The editor's own preview settled the whole proposal: these hunks are in the files now, the others were refused,
    /// or, where there was `trouble`, did not make it.
    pub fn settled_in_place(
        &self,
        id: &ProposalId,
        taken: &[HunkId],
        trouble: Option<String>,
    ) -> Result<Proposal, ProposalError> {
        let mut entries = self.lock();
        let entry = entries.get_mut(id).ok_or_else(|| ProposalError::Unknown(id.clone()))?;
        if entry.waiter.is_none() || !entry.proposal.status.is_waiting() {
            return Err(ProposalError::Settled(id.clone()));
        }
        for hunk in entry.proposal.files.iter_mut().flat_map(|file| &mut file.hunks) {
            hunk.status = if taken.contains(&hunk.id) {
                HunkStatus::Accepted
            } else {
                HunkStatus::Rejected
            };
        }
        entry.wake(Decided {
            in_place: true,
            trouble,
            ..Decided::default()
        });
        Ok(entry.publish())
    }

    /// The proposal and its plan, for the turn that applies it.
    pub fn decided(&self, id: &ProposalId) -> Option<(Proposal, Arc<Plan>)> {
        self.lock()
            .get(id)
            .map(|entry| (entry.proposal.clone(), entry.plan.clone()))
    }

    /// The person took these turns back: what was applied of their proposals is undone.
    pub fn mark_undone(&self, turns: &[TurnId]) {
        let mut entries = self.lock();
        let of_turns = |entry: &&mut Entry| {
            entry.proposal.status == ProposalStatus::Applied && turns.contains(&entry.proposal.turn_id)
        };
        for entry in entries.values_mut().filter(of_turns) {
            entry.proposal.status = ProposalStatus::Undone;
            entry.publish();
        }
    }

    /// The last word on a proposal.
    pub fn settle(&self, id: &ProposalId, status: ProposalStatus, hunks: &BTreeMap<HunkId, HunkStatus>) {
        if let Some(entry) = self.lock().get_mut(id) {
            entry.waiter = None;
            entry.proposal.status = status;
            for hunk in entry.proposal.files.iter_mut().flat_map(|file| &mut file.hunks) {
                if let Some(status) = hunks.get(&hunk.id) {
                    hunk.status = *status;
                }
            }
            entry.publish();
        }
    }

    /// Which of these files, all open and not saved, the thread has changed by its proposals.
    pub fn changed_by_agent(&self, thread: &ThreadId, unsaved: &[PathBuf]) -> Vec<Unsaved> {
        let entries = self.lock();
        let applied =
            |entry: &&Entry| entry.proposal.thread_id == *thread && entry.proposal.status == ProposalStatus::Applied;
        // The first change tells what was there before the agent: ids sort by their time.
        let first = |path: &PathBuf| {
            let mut files = entries.values().filter(applied).flat_map(|entry| &entry.proposal.files);
            let held_unsaved_text = files.find(|file| file.path == *path && took_anything(file))?.unsaved;
            Some(Unsaved {
                path: path.clone(),
                held_unsaved_text,
            })
        };
        unsaved.iter().filter_map(first).collect()
    }
}

impl Entry {
    fn publish(&self) -> Proposal {
        let proposal = self.proposal.clone();
        let changed = ProposalChanged {
            proposal: proposal.clone(),
        };
        self.stream
            .publish(Some(proposal.turn_id.clone()), EventKind::ProposalUpdated(changed));
        proposal
    }

    fn wake(&mut self, decided: Decided) {
        let any = self
            .proposal
            .files
            .iter()
            .flat_map(|file| &file.hunks)
            .any(|hunk| hunk.status == HunkStatus::Accepted);
        self.proposal.status = if any || decided.trouble.is_some() {
            ProposalStatus::Accepted
        } else {
            ProposalStatus::Rejected
        };
        if let Some(waiter) = self.waiter.take() {
            let _gone = waiter.send(Decided {
                feedback: std::mem::take(&mut self.feedback),
                ..decided
            });
        }
    }
}

impl Waiting {
    /// The person's decision; nothing if it can never come.
    pub async fn decided(&mut self) -> Option<Decided> {
        (&mut self.decided).await.ok()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut entries = self.desk.lock();
        if let Some(entry) = entries.get_mut(&self.id)
            && matches!(
                entry.proposal.status,
                ProposalStatus::Proposed | ProposalStatus::PartlyDecided | ProposalStatus::Accepted
            )
        {
            entry.waiter = None;
            entry.proposal.status = ProposalStatus::Withdrawn;
            entry.publish();
        }
    }
}

/// Where each hunk of a file lies in its text of today; nothing where it does not fit any more.
pub fn places(file: &FilePlan, now: Option<&str>) -> Vec<Option<std::ops::Range<usize>>> {
    let count = file.hunks.len();
    match (&file.kind, &file.before, now) {
        // A file to be made fits as long as it is not there, or is there as the plan saw it.
        (FileChangeKind::Add, before, now) => {
            let fits = now == before.as_deref() || now.is_some_and(str::is_empty);
            vec![fits.then_some(0..0); count]
        }
        // Deleting takes the whole file, so it fits only the text that the model saw.
        (FileChangeKind::Delete, Some(before), Some(now)) => {
            vec![(before == now).then(|| file.hunks[0].old.clone()); count]
        }
        (FileChangeKind::Update { .. }, Some(before), Some(now)) => rebase(before, &file.hunks, now)
            .into_iter()
            .map(|rebased| match rebased {
                Rebased::Placed(range) => Some(range),
                Rebased::Conflict { .. } => None,
            })
            .collect(),
        _ => vec![None; count],
    }
}

/// Whether anything of an applied proposal went into this file: the person may have rejected all of its hunks.
fn took_anything(file: &ProposalFile) -> bool {
    file.hunks.is_empty() || file.hunks.iter().any(|hunk| hunk.status == HunkStatus::Applied)
}

fn all_decided(proposal: &Proposal) -> bool {
    !proposal
        .files
        .iter()
        .flat_map(|file| &file.hunks)
        .any(|hunk| matches!(hunk.status, HunkStatus::Pending | HunkStatus::Conflicting))
}

fn nothing_decided(proposal: &Proposal) -> bool {
    proposal
        .files
        .iter()
        .flat_map(|file| &file.hunks)
        .all(|hunk| matches!(hunk.status, HunkStatus::Pending | HunkStatus::Conflicting))
}

/// The undecided hunks that a decision means.
fn chosen<'a>(proposal: &'a mut Proposal, params: &ProposalDecideParams) -> Result<Vec<&'a mut Hunk>, ProposalError> {
    let id = &params.proposal_id;
    if let Some(wanted) = &params.hunk_ids {
        let known = |hunk: &&HunkId| {
            proposal
                .files
                .iter()
                .flat_map(|file| &file.hunks)
                .any(|h| h.id == **hunk)
        };
        if let Some(hunk) = wanted.iter().find(|hunk| !known(hunk)) {
            return Err(ProposalError::NoHunk {
                proposal: id.clone(),
                hunk: hunk.clone(),
            });
        }
    }
    if let Some(path) = &params.path
        && !proposal.files.iter().any(|file| file.path == *path)
    {
        return Err(ProposalError::NoFile {
            proposal: id.clone(),
            path: path.clone(),
        });
    }
    Ok(proposal
        .files
        .iter_mut()
        .filter(|file| params.hunk_ids.is_some() || params.path.as_ref().is_none_or(|path| file.path == *path))
        .flat_map(|file| &mut file.hunks)
        .filter(|hunk| match &params.hunk_ids {
            // Naming a hunk again changes an earlier decision.
            Some(wanted) => wanted.contains(&hunk.id),
            None => matches!(hunk.status, HunkStatus::Pending | HunkStatus::Conflicting),
        })
        .collect())
}

fn line_range(lines: &std::ops::Range<usize>) -> LineRange {
    let line = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    LineRange {
        start: line(lines.start),
        end: line(lines.end),
    }
}
