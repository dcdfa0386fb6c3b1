//! One proposal that waits: what is shown of it, what it would do, what was decided.

use super::placing::{Now, Place, Placing};
use super::{Decided, ProposalError, Ready, line_range};
use crate::agent::stream::Stream;
use crate::ids::{HunkId, ProposalId, TurnId};
use crate::patch::plan::Plan;
use crate::protocol::event::{EventKind, ProposalChanged};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{
    Hunk, HunkStatus, MovedFile, MovedHunk, Proposal, ProposalDecideParams, ProposalDecision, ProposalFile,
    ProposalMoved, ProposalStatus,
};
use crate::store::proposals::{Bounds, Held, Kept};
use crate::workspace::uri;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

pub(super) struct Entry {
    /// With its hunks where they were at the last look.
    pub(super) proposal: Arc<Proposal>,
    /// As the model made it.
    pub(super) made: Arc<Plan>,
    /// With what the person edited.
    pub(super) plan: Arc<Plan>,
    /// By file.
    pub(super) placings: Vec<Placing>,
    pub(super) stream: Stream,
    /// The turn that its events belong to; none for one that is older than the server.
    pub(super) turn: Option<TurnId>,
    /// Words to the model about the whole.
    pub(super) feedback: Vec<String>,
    /// Whoever applies it, until it is decided.
    pub(super) waiter: Option<mpsc::UnboundedSender<Ready>>,
    /// What is accepted is applied at once, and not only when all is decided.
    pub(super) applies_each: bool,
    /// The person has been told of it.
    pub(super) shown: bool,
    /// Files whose hunks were placed anew since they were told of last.
    pub(super) untold: BTreeSet<usize>,
    /// Hunks that were in conflict in the last report: nobody shows them as what would be taken.
    unfitting: BTreeSet<HunkId>,
    /// Where it may be applied later; absent for one that does not outlive the server.
    pub(super) bounds: Option<Bounds>,
    /// The right to its file.
    pub(super) held: Option<Held>,
}

impl Entry {
    pub(super) fn new(proposal: Proposal, plan: Plan, stream: Stream, turn: Option<TurnId>) -> Self {
        let plan = Arc::new(plan);
        Self {
            placings: plan.files.iter().map(|_| Placing::default()).collect(),
            proposal: Arc::new(proposal),
            made: plan.clone(),
            plan,
            stream,
            turn,
            feedback: Vec::new(),
            waiter: None,
            applies_each: false,
            shown: false,
            untold: BTreeSet::new(),
            unfitting: BTreeSet::new(),
            bounds: None,
            held: None,
        }
    }

    /// Whether the person can decide on it.
    pub(super) fn is_waiting(&self) -> bool {
        self.proposal.status.is_waiting()
    }

    pub(super) fn change(&mut self) -> &mut Proposal {
        Arc::make_mut(&mut self.proposal)
    }

    /// What is kept of it on the disk.
    pub(super) fn kept(&self) -> Option<Kept> {
        Some(Kept {
            bounds: self.bounds.clone()?,
            proposal: self.proposal.clone(),
            plan: self.made.clone(),
            feedback: self.feedback.clone(),
            applies_each: self.applies_each,
        })
    }

    /// Whether it changes, makes or removes a file.
    pub(super) fn touches(&self, path: &Path) -> bool {
        self.plan.paths().any(|one| one == path)
    }

    pub(super) fn publish(&mut self) -> Proposal {
        let proposal = Proposal::clone(&self.proposal);
        if self.shown {
            self.is_told();
            let changed = ProposalChanged {
                proposal: proposal.clone(),
            };
            self.stream
                .publish(self.turn.clone(), EventKind::ProposalUpdated(changed));
        }
        proposal
    }

    /// All of it is told as it is now.
    fn is_told(&mut self) {
        self.untold.clear();
        let in_conflict = hunks(&self.proposal).filter(|hunk| hunk.status == HunkStatus::Conflicting);
        self.unfitting = in_conflict.map(|hunk| hunk.id.clone()).collect();
    }

    /// Shows it for the first time.
    pub(super) fn show(&mut self) {
        self.shown = true;
        self.is_told();
        let proposal = Proposal::clone(&self.proposal);
        self.stream.publish(
            self.turn.clone(),
            EventKind::ProposalCreated(ProposalChanged { proposal }),
        );
    }

    /// Whether it is not known where the hunks of a file lie in this text. `look` is the number of the look that has found it: an older
    /// one than the last changes nothing.
    pub(super) fn wants(&self, index: usize, now: &Now, look: u64) -> bool {
        self.is_waiting() && self.placings[index].wants(now, look)
    }

    /// Puts the hunks of a file where they were found in this text.
    pub(super) fn put(&mut self, index: usize, now: &Now, look: u64, places: Vec<Place>) {
        self.placings[index].note(now, look);
        let proposal = Arc::make_mut(&mut self.proposal);
        let file = &mut proposal.files[index];
        file.open = now.document().is_some();
        file.version = now.document().map(|document| document.version);
        if let Some(document) = now.document() {
            document.uri().clone_into(&mut file.uri);
        }
        for (hunk, place) in file.hunks.iter_mut().zip(places) {
            hunk.range = line_range(place.lines());
            follow(hunk, place);
        }
        proposal.status = waiting_status(proposal);
        self.untold.insert(index);
    }

    /// Tells of the files whose hunks were placed anew, whoever asked for that.
    pub(super) fn tell_moves(&mut self) {
        let untold = std::mem::take(&mut self.untold);
        if !untold.is_empty() && self.shown && self.is_waiting() {
            let moved = self.moved(untold);
            self.is_told();
            self.stream.publish(self.turn.clone(), EventKind::ProposalMoved(moved));
        }
    }

    fn moved(&self, files: BTreeSet<usize>) -> ProposalMoved {
        let file = |index: usize| {
            let file = &self.proposal.files[index];
            let hunk = |hunk: &Hunk| MovedHunk {
                id: hunk.id.clone(),
                status: hunk.status,
                range: hunk.range,
                conflict: hunk.conflict.clone(),
            };
            MovedFile {
                path: file.path.clone(),
                uri: file.uri.clone(),
                open: file.open,
                version: file.version,
                hunks: file.hunks.iter().map(hunk).collect(),
            }
        };
        ProposalMoved {
            proposal_id: self.proposal.id.clone(),
            status: self.proposal.status,
            files: files.into_iter().map(file).collect(),
        }
    }

    /// Takes the person's word on some hunks. All of it, or an error and nothing. Without `is_shown`, what was told to fit counts
    /// as shown.
    pub(super) fn decide(
        &mut self,
        params: &ProposalDecideParams,
        is_shown: Option<&dyn Fn(&HunkId) -> bool>,
    ) -> Result<(), ProposalError> {
        let chosen = chosen(&self.proposal, params)?;
        let proposal = Arc::make_mut(&mut self.proposal);
        let words = params
            .feedback
            .as_deref()
            .map(str::trim)
            .filter(|words| !words.is_empty());
        let about_hunks = params.hunk_ids.is_some() || params.path.is_some();
        let mut meant: Vec<&mut Hunk> = proposal
            .files
            .iter_mut()
            .flat_map(|file| &mut file.hunks)
            .filter(|hunk| chosen.contains(&hunk.id))
            .collect();
        if params.decision == ProposalDecision::Accept {
            let fits = |hunk: &&mut Hunk| hunk.status != HunkStatus::Conflicting;
            // Of a file those in conflict are left waiting where others can be taken; of the whole they are left out.
            let all_must = params.hunk_ids.is_some() || params.path.is_some() && !meant.iter().any(&fits);
            if let Some(hunk) = meant.iter().find(|hunk| all_must && !fits(hunk)) {
                return Err(ProposalError::Conflicting {
                    proposal: params.proposal_id.clone(),
                    hunk: hunk.id.clone(),
                    why: hunk
                        .conflict
                        .clone()
                        .unwrap_or_else(|| "its text has changed".to_owned()),
                });
            }
            meant.retain(|hunk| fits(hunk));
            let fitting = meant.len();
            let all_shown = match is_shown {
                Some(is_shown) => meant.iter().all(|hunk| is_shown(&hunk.id)),
                None if params.hunk_ids.is_some() => true,
                None => {
                    meant.retain(|hunk| !self.unfitting.contains(&hunk.id));
                    fitting == 0 || !meant.is_empty()
                }
            };
            if !all_shown {
                return Err(ProposalError::NotShown(params.proposal_id.clone()));
            }
        }
        for hunk in meant {
            hunk.feedback = None;
            match params.decision {
                ProposalDecision::Accept => hunk.status = HunkStatus::Accepted,
                ProposalDecision::Reject => {
                    hunk.status = HunkStatus::Rejected;
                    hunk.conflict = None;
                    hunk.feedback = words.filter(|_| about_hunks).map(str::to_owned);
                }
                ProposalDecision::Reset if hunk.conflict.is_some() => hunk.status = HunkStatus::Conflicting,
                ProposalDecision::Reset => hunk.status = HunkStatus::Pending,
            }
        }
        proposal.status = waiting_status(proposal);
        match params.decision {
            ProposalDecision::Reset => {
                if !about_hunks {
                    self.feedback.clear();
                }
                // A rejected hunk is not followed: where it lies, and whether it fits, is looked for again.
                self.placings.iter_mut().for_each(Placing::forget);
            }
            ProposalDecision::Accept => self.feedback.extend(words.map(str::to_owned)),
            ProposalDecision::Reject if !about_hunks => self.feedback.extend(words.map(str::to_owned)),
            ProposalDecision::Reject => {}
        }
        let pending = |hunk: &Hunk| hunk.status == HunkStatus::Pending;
        let in_conflict = |hunk: &Hunk| hunk.status == HunkStatus::Conflicting;
        let whole = params.decision == ProposalDecision::Accept && !about_hunks;
        let is_left = hunks(&self.proposal).any(|hunk| pending(hunk) || in_conflict(hunk) && !whole);
        match is_left {
            true => self.apply_part(),
            false => self.wake(Decided::default()),
        }
        Ok(())
    }

    /// Has what is accepted applied while others are still undecided.
    pub(super) fn apply_part(&self) {
        let is_accepted = |hunk: &Hunk| hunk.status == HunkStatus::Accepted;
        if self.applies_each
            && hunks(&self.proposal).any(is_accepted)
            && let Some(waiter) = &self.waiter
        {
            let _gone = waiter.send(Ready::Part);
        }
    }

    /// What became of accepted hunks that were applied while others are undecided.
    pub(super) fn part_is_applied(&mut self, results: &BTreeMap<HunkId, HunkStatus>) {
        for hunk in self.change().files.iter_mut().flat_map(|file| &mut file.hunks) {
            match results.get(&hunk.id) {
                // Whatever was decided meanwhile: it is in the file.
                Some(HunkStatus::Applied) => {
                    hunk.status = HunkStatus::Applied;
                    hunk.feedback = None;
                    hunk.conflict = None;
                }
                Some(status @ (HunkStatus::Pending | HunkStatus::Conflicting))
                    if hunk.status == HunkStatus::Accepted =>
                {
                    hunk.status = *status;
                }
                _ => {}
            }
        }
        if self.is_waiting() {
            let status = waiting_status(&self.proposal);
            self.change().status = status;
            self.placings.iter_mut().for_each(Placing::forget);
        }
    }

    /// Takes these hunks, as far as they wait and fit.
    pub(super) fn accept_shown(&mut self, shown: &BTreeSet<HunkId>) {
        let proposal = Arc::make_mut(&mut self.proposal);
        for hunk in proposal.files.iter_mut().flat_map(|file| &mut file.hunks) {
            if hunk.status == HunkStatus::Pending && shown.contains(&hunk.id) {
                hunk.feedback = None;
                hunk.status = HunkStatus::Accepted;
            }
        }
        proposal.status = waiting_status(proposal);
        let waits = |hunk: &Hunk| matches!(hunk.status, HunkStatus::Pending | HunkStatus::Conflicting);
        let is_left = hunks(&self.proposal).any(waits);
        match is_left {
            true => self.apply_part(),
            false => self.wake(Decided::default()),
        }
    }

    /// Takes nothing of what still waits.
    pub(super) fn leave_out(&mut self) {
        for hunk in self.change().files.iter_mut().flat_map(|file| &mut file.hunks) {
            if hunk.status == HunkStatus::Pending {
                hunk.status = HunkStatus::Conflicting;
            }
        }
        self.wake(Decided::default());
    }

    pub(super) fn wake(&mut self, decided: Decided) {
        // One in conflict is left out when the rest is applied, and said to be.
        let wanted = |hunk: &Hunk| {
            matches!(
                hunk.status,
                HunkStatus::Accepted | HunkStatus::Applied | HunkStatus::Conflicting
            )
        };
        let any = hunks(&self.proposal).any(wanted);
        self.change().status = match any || decided.trouble.is_some() {
            _ if decided.superseded_by.is_some() => ProposalStatus::Superseded,
            true => ProposalStatus::Accepted,
            false => ProposalStatus::Rejected,
        };
        if let Some(waiter) = self.waiter.take() {
            let _gone = waiter.send(Ready::All(Decided {
                feedback: self.feedback.clone(),
                ..decided
            }));
        }
    }

    /// Changes what a hunk would put into its file; `None` brings the model's own text back.
    pub(super) fn edit(&mut self, hunk: &HunkId, text: Option<&str>) -> Result<(), ProposalError> {
        let id = self.proposal.id.clone();
        let mut places = self.proposal.files.iter().enumerate();
        let found = places.find_map(|(at, file)| Some((at, file.hunks.iter().position(|one| one.id == *hunk)?)));
        let Some((at, number)) = found else {
            return Err(ProposalError::NoHunk {
                proposal: id,
                hunk: hunk.clone(),
            });
        };
        let planned = &self.made.files[at];
        let refused = |why| ProposalError::NotEditable {
            proposal: id.clone(),
            hunk: hunk.clone(),
            why,
        };
        if self.proposal.files[at].hunks[number].status == HunkStatus::Applied {
            return Err(ProposalError::Applied {
                proposal: id,
                hunk: hunk.clone(),
            });
        }
        if planned.kind == FileChangeKind::Delete {
            return Err(refused("it deletes the file"));
        }
        if super::placing::changes_no_line(planned) {
            return Err(refused("it changes no line of the file"));
        }
        if text.is_some_and(|text| text.len() > super::MOST_TEXT) {
            return Err(refused("the new text is larger than 8 MiB"));
        }
        let proposed = &planned.hunks[number].new_text;
        let new_text = match text {
            Some(text) => super::fitting::fitting(planned, number, text),
            None => proposed.clone(),
        };
        let changed = Arc::make_mut(&mut self.plan);
        changed.files[at].hunks[number].new_text.clone_from(&new_text);
        if planned.kind == FileChangeKind::Add {
            changed.files[at].after = Some(new_text.clone());
        }
        let proposed = (new_text != *proposed).then(|| proposed.clone());
        let hunk = &mut self.change().files[at].hunks[number];
        hunk.new_text = new_text;
        hunk.proposed_text = proposed;
        hunk.feedback = None;
        hunk.status = match hunk.conflict {
            Some(_) => HunkStatus::Conflicting,
            None => HunkStatus::Pending,
        };
        let status = waiting_status(&self.proposal);
        self.change().status = status;
        // Whether it fits can depend on its text.
        self.placings[at].forget();
        Ok(())
    }

    /// Follows a file, or all below a folder, to another name. True if it touches one.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> bool {
        let moved = |path: &Path| path.strip_prefix(from).ok().map(|rest| joined(to, rest));
        if !self.plan.files.iter().any(|file| moved(&file.path).is_some()) {
            return false;
        }
        for plan in [&mut self.made, &mut self.plan] {
            for file in &mut Arc::make_mut(plan).files {
                if let Some(path) = moved(&file.path) {
                    file.path = path;
                    // The person has moved it: where it is now is where it is to be.
                    file.folders.clear();
                }
            }
        }
        let mut touched = Vec::new();
        for (index, file) in self.change().files.iter_mut().enumerate() {
            if let Some(path) = moved(&file.path) {
                file.uri = uri::from_path(&path);
                file.path = path;
                touched.push(index);
            }
        }
        for index in touched {
            self.placings[index].forget();
        }
        true
    }
}

fn joined(to: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        to.to_owned()
    } else {
        to.join(rest)
    }
}

pub(super) fn hunks(proposal: &Proposal) -> impl Iterator<Item = &Hunk> {
    proposal.files.iter().flat_map(|file| &file.hunks)
}

/// A hunk's text is there as it was, has changed, or fits again. What was decided on text that has changed counts no more.
pub(super) fn follow(hunk: &mut Hunk, place: Place) {
    let undecided = matches!(hunk.status, HunkStatus::Pending | HunkStatus::Conflicting);
    match place {
        Place::Conflict { why, .. } if undecided || hunk.status == HunkStatus::Accepted => {
            hunk.status = HunkStatus::Conflicting;
            hunk.conflict = Some(why);
        }
        Place::Conflict { .. } => {}
        Place::Fits(_) | Place::There(_) => {
            hunk.conflict = None;
            if hunk.status == HunkStatus::Conflicting {
                hunk.status = HunkStatus::Pending;
            }
        }
    }
}

/// What the hunks of a waiting proposal make of it.
fn waiting_status(proposal: &Proposal) -> ProposalStatus {
    let count = |status| hunks(proposal).filter(|hunk| hunk.status == status).count();
    match (count(HunkStatus::Pending), count(HunkStatus::Conflicting)) {
        (0, 1..) => ProposalStatus::Stale,
        (_, 1..) => ProposalStatus::Conflicting,
        (pending, 0) if pending == hunks(proposal).count() => ProposalStatus::Proposed,
        _ => ProposalStatus::PartlyDecided,
    }
}

/// The hunks that a decision means.
fn chosen(proposal: &Proposal, params: &ProposalDecideParams) -> Result<Vec<HunkId>, ProposalError> {
    let id = &params.proposal_id;
    if let Some(wanted) = &params.hunk_ids {
        // Naming a hunk again changes an earlier decision.
        for hunk in wanted {
            let known = hunks(proposal).find(|known| known.id == *hunk);
            let known = known.ok_or_else(|| ProposalError::NoHunk {
                proposal: id.clone(),
                hunk: hunk.clone(),
            })?;
            if known.status == HunkStatus::Applied {
                return Err(ProposalError::Applied {
                    proposal: id.clone(),
                    hunk: hunk.clone(),
                });
            }
        }
        return Ok(wanted.clone());
    }
    if let Some(path) = &params.path
        && !proposal.files.iter().any(|file| file.path == *path)
    {
        return Err(ProposalError::NoFile {
            proposal: id.clone(),
            path: path.clone(),
        });
    }
    let here = |file: &&ProposalFile| params.path.as_ref().is_none_or(|path| file.path == *path);
    let meant = |hunk: &&Hunk| match params.decision {
        ProposalDecision::Reset => hunk.status != HunkStatus::Applied,
        _ => matches!(hunk.status, HunkStatus::Pending | HunkStatus::Conflicting),
    };
    let files = proposal.files.iter().filter(here);
    let found = files.flat_map(|file| &file.hunks).filter(meant);
    Ok(found.map(|hunk| hunk.id.clone()).collect())
}

/// The id and nothing else, for the errors of a request.
pub(super) fn open_for_decision(entry: &Entry, id: &ProposalId) -> Result<(), ProposalError> {
    match entry.shown && entry.waiter.is_some() && entry.is_waiting() {
        true => Ok(()),
        false => Err(ProposalError::Settled(id.clone())),
    }
}
