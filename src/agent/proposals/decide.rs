//! What the person says of a proposal, and how it ends.

use super::entry::{Entry, open_for_decision};
use super::{Decided, ProposalError, Proposals, placing};
use crate::agent::aside::aside;
use crate::ids::{HunkId, ProposalId, TurnId};
use crate::patch::plan::Plan;
use crate::protocol::proposal::{HunkStatus, Proposal, ProposalDecideParams, ProposalEditParams, ProposalStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Proposals {
    /// Takes the person's word on some hunks. Wakes the turn once none is left to decide; what is in conflict when the
    /// whole is accepted is left out. What is accepted without being named was said to fit, or it waits on. Reads the files.
    ///
    /// # Errors
    /// The proposal does not wait any more, has no such hunk or file, or a hunk in conflict was to be accepted by name.
    pub fn decide(&self, params: &ProposalDecideParams) -> Result<Proposal, ProposalError> {
        self.change(&params.proposal_id, |entry| entry.decide(params, None))
    }

    /// The same, where only hunks may be accepted that `is_shown` is true for. It is asked for those that fit as the files are
    /// now.
    ///
    /// # Errors
    /// As of [`Self::decide`], or one was not shown; nothing is decided then.
    pub fn decide_shown(
        &self,
        params: &ProposalDecideParams,
        is_shown: impl Fn(&HunkId) -> bool,
    ) -> Result<Proposal, ProposalError> {
        self.change(&params.proposal_id, |entry| entry.decide(params, Some(&is_shown)))
    }

    /// Takes a yes to what a question showed: of these hunks those that wait and still fit, and no other. Reads the files.
    ///
    /// # Errors
    /// The proposal does not wait any more.
    pub fn accept_shown(&self, id: &ProposalId, shown: &BTreeSet<HunkId>) -> Result<Proposal, ProposalError> {
        self.change(id, |entry| {
            entry.accept_shown(shown);
            Ok(())
        })
    }

    /// Ends the waiting for what nobody will decide: it is not taken, and is said to be. Reads the files.
    ///
    /// # Errors
    /// The proposal does not wait any more.
    pub fn leave_out(&self, id: &ProposalId) -> Result<Proposal, ProposalError> {
        self.change(id, |entry| {
            entry.leave_out();
            Ok(())
        })
    }

    /// Changes what a hunk would put into its file. It waits again, whatever was decided on it. Reads the files.
    ///
    /// # Errors
    /// The proposal does not wait any more or has no such hunk, or the hunk is none that has a text to edit.
    pub fn edit(&self, params: &ProposalEditParams) -> Result<Proposal, ProposalError> {
        let text = params.new_text.as_deref();
        self.change(&params.proposal_id, |entry| entry.edit(&params.hunk_id, text))
    }

    /// Changes a waiting proposal whose hunks are in place, keeps it and tells of it.
    fn change(
        &self,
        id: &ProposalId,
        change: impl FnOnce(&mut Entry) -> Result<(), ProposalError>,
    ) -> Result<Proposal, ProposalError> {
        if self.is_stopping() {
            return Err(ProposalError::Stopping(id.clone()));
        }
        self.refresh(|entry| entry.proposal.id == *id);
        let proposal = {
            let mut state = self.lock();
            let entry = state.entries.get_mut(id).filter(|entry| entry.shown);
            let entry = entry.ok_or_else(|| ProposalError::Unknown(id.clone()))?;
            open_for_decision(entry, id)?;
            if let Err(error) = change(entry) {
                // So that it can be shown as it is, and decided then.
                entry.tell_moves();
                return Err(error);
            }
            let is_known = entry.placings.iter().all(placing::Placing::is_known);
            is_known.then(|| entry.publish())
        };
        let proposal = match proposal {
            Some(proposal) => proposal,
            // What was forgotten is looked at again, while nothing is held: the disk may be slow.
            None => {
                self.refresh(|entry| entry.proposal.id == *id);
                let mut state = self.lock();
                let entry = state.entries.get_mut(id);
                entry.ok_or_else(|| ProposalError::Unknown(id.clone()))?.publish()
            }
        };
        self.save_later(id);
        Ok(proposal)
    }

    /// Accepts all of a proposal that nobody is asked about, whatever has become of the text: what does not fit is left
    /// out when it is applied.
    pub fn accept_unasked(&self, id: &ProposalId) {
        if let Some(entry) = self.lock().entries.get_mut(id) {
            for hunk in entry.change().files.iter_mut().flat_map(|file| &mut file.hunks) {
                hunk.status = HunkStatus::Accepted;
            }
            entry.wake(Decided::default());
            entry.publish();
        }
    }

    /// The editor's own preview settled the whole proposal: these hunks are in the files now, the others were refused,
    /// or, where there was `trouble`, did not make it.
    pub fn settled_in_place(
        &self,
        id: &ProposalId,
        taken: &[HunkId],
        trouble: Option<String>,
    ) -> Result<Proposal, ProposalError> {
        let mut state = self.lock();
        let entry = state
            .entries
            .get_mut(id)
            .ok_or_else(|| ProposalError::Unknown(id.clone()))?;
        open_for_decision(entry, id)?;
        // What was accepted elsewhere meanwhile is not in the files yet, and was not refused by being left out here.
        let mut more = false;
        for hunk in entry.change().files.iter_mut().flat_map(|file| &mut file.hunks) {
            let in_place = taken.contains(&hunk.id);
            more |= !in_place && hunk.status == HunkStatus::Accepted;
            if in_place {
                hunk.status = HunkStatus::Accepted;
            } else if !matches!(hunk.status, HunkStatus::Accepted | HunkStatus::Applied) {
                hunk.status = HunkStatus::Rejected;
            }
        }
        entry.wake(Decided {
            in_place: !more,
            trouble,
            ..Decided::default()
        });
        Ok(entry.publish())
    }

    /// Accepted hunks were applied, or not, while others are undecided. Reads the files.
    pub fn part_is_applied(&self, id: &ProposalId, results: &BTreeMap<HunkId, HunkStatus>) {
        if let Some(entry) = self.lock().entries.get_mut(id) {
            entry.part_is_applied(results);
        }
        self.refresh(|entry| entry.proposal.id == *id);
        if let Some(entry) = self.lock().entries.get_mut(id) {
            entry.publish();
        }
        self.save_later(id);
    }

    /// The proposal and its plan, with what the person edited, for whoever applies it.
    pub fn decided(&self, id: &ProposalId) -> Option<(Arc<Proposal>, Arc<Plan>)> {
        self.lock()
            .entries
            .get(id)
            .map(|entry| (entry.proposal.clone(), entry.plan.clone()))
    }

    /// The person took these turns back: what was applied of their proposals is undone.
    pub fn mark_undone(&self, turns: &[TurnId]) {
        let mut state = self.lock();
        let of_turns = |entry: &&mut Entry| {
            entry.proposal.status == ProposalStatus::Applied && turns.contains(&entry.proposal.turn_id)
        };
        for entry in state.entries.values_mut().filter(of_turns) {
            entry.change().status = ProposalStatus::Undone;
            entry.publish();
        }
    }

    /// The last word on a proposal; `outcome` says it as the model is told. Ends when nothing of it is on the disk any more.
    pub async fn settle(
        &self,
        id: &ProposalId,
        status: ProposalStatus,
        hunks: &BTreeMap<HunkId, HunkStatus>,
        outcome: Option<String>,
    ) {
        self.note_settled(id, status, hunks, outcome);
        let (proposals, settled) = (self.clone(), id.clone());
        aside(move || proposals.forget(&settled)).await;
        self.unstack(id);
    }

    /// The same in memory alone.
    pub(super) fn note_settled(
        &self,
        id: &ProposalId,
        status: ProposalStatus,
        hunks: &BTreeMap<HunkId, HunkStatus>,
        outcome: Option<String>,
    ) {
        if let Some(entry) = self.lock().entries.get_mut(id) {
            entry.waiter = None;
            let proposal = entry.change();
            proposal.status = status;
            proposal.outcome = outcome;
            for hunk in proposal.files.iter_mut().flat_map(|file| &mut file.hunks) {
                if let Some(status) = hunks.get(&hunk.id) {
                    hunk.status = *status;
                }
            }
            entry.publish();
        }
    }

    /// A proposal is settled: it is not below another any more.
    pub(super) fn unstack(&self, id: &ProposalId) {
        let mut state = self.lock();
        for entry in state.entries.values_mut() {
            if entry.is_waiting() && entry.proposal.stacked_on.contains(id) {
                entry.change().stacked_on.retain(|below| below != id);
                entry.publish();
            }
        }
    }
}
