//! Patches that wait for the person: what they are, where they lie in today's text, what was decided.
//!
//! A proposal is decided hunk by hunk, from any surface. Once no hunk is pending the turn that made it is woken
//! and applies what was accepted. While it waits its hunks follow their text: one whose text changes is in conflict, and
//! can only be rejected until the text is as it was. It outlives the server: what waits is kept on the disk, and shown
//! again by the next server in the same folders.

mod entry;
mod error;
mod fitting;
mod follow;
mod keep;
pub mod placing;

pub use error::ProposalError;
pub use keep::Adopted;

use super::aside::aside;
use super::editor::Unsaved;
use super::stream::Stream;
use crate::ids::{HunkId, ItemId, ProposalId, ThreadId, TurnId};
use crate::patch::hunk::apply_hunks;
use crate::patch::plan::{FilePlan, Plan};
use crate::protocol::event::EventKind;
use crate::protocol::item::{FileChangeKind, LineRange};
use crate::protocol::proposal::{
    Hunk, HunkStatus, Proposal, ProposalDecideParams, ProposalEditParams, ProposalFile, ProposalStatus,
};
use crate::shown;
use crate::store::proposals::{Bounds, Note, ProposalStore};
use crate::workspace::{Document, Workspace, uri};
use entry::{Entry, open_for_decision};
use placing::{Now, Place, places_now};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Bytes of text that are written to the disk before a proposal is shown; more are written meanwhile.
const SMALL: usize = 256 << 10;
/// Settled proposals kept for those who still ask about them.
const KEPT: usize = 200;
/// Bytes of a person's text for one hunk.
const MOST_TEXT: usize = 8 << 20;

/// All proposals of a server; cheap to clone.
#[derive(Clone)]
pub struct Proposals {
    shared: Arc<Shared>,
}

struct Shared {
    workspace: Workspace,
    store: ProposalStore,
    state: Mutex<State>,
    /// Held while a proposal's file is written, so that the last state is the one that stays.
    writing: Mutex<()>,
    /// The server stops: what waits is left for the next one.
    stopping: AtomicBool,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<ProposalId, Entry>,
    /// What live threads are to be told.
    notes: BTreeMap<ThreadId, Vec<Note>>,
    /// A task follows what the person types.
    following: bool,
    /// Looks at files that were begun.
    looks: u64,
}

/// A look at the files of one proposal. Files are read while nothing is held, so one look can be overtaken by another.
struct Look {
    /// Later ones have higher numbers.
    number: u64,
    id: ProposalId,
    plan: Arc<Plan>,
    workspace: Workspace,
}

/// What a look has found, by the number of the file.
struct Looked {
    look: Look,
    found: Vec<(usize, Now)>,
}

impl Look {
    /// Reads the files, as far as `read` does.
    fn take(self, read: impl Fn(usize, &Workspace, &FilePlan) -> Option<Now>) -> Looked {
        let files = self.plan.files.iter().enumerate();
        let found = files.filter_map(|(index, file)| Some((index, read(index, &self.workspace, file)?)));
        Looked {
            found: found.collect(),
            look: self,
        }
    }
}

impl Looked {
    /// Puts hunks where they are, unless somebody who looked later was faster, or the file has another name by now.
    fn place(self, proposals: &Proposals) {
        let Look {
            number,
            id,
            plan,
            workspace,
        } = self.look;
        for (index, now) in self.found {
            let path = &plan.files[index].path;
            proposals.place((&id, index), path, (number, now), || workspace.document(path));
        }
    }
}

/// What there is to apply of a proposal that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// What is accepted so far; the rest still waits.
    Part,
    /// Nothing waits any more.
    All(Decided),
}

/// What the person decided, for the turn that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Words to the model about the whole.
    pub feedback: Vec<String>,
    /// The editor has put the accepted hunks into the files itself.
    pub in_place: bool,
    /// What went wrong when it did.
    pub trouble: Option<String>,
    /// A newer proposal for the same files came first.
    pub superseded_by: Option<ProposalId>,
}

/// Where a proposal comes from, and what there is to say of it.
pub struct Origin {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    /// Unified diff of the whole.
    pub diff: String,
    pub reason: Option<String>,
    /// The folder that the person works in, from which on the names of files are looked at.
    pub cwd: PathBuf,
    /// The first folder outside the workspace that would have to be opened.
    pub grant_root: Option<PathBuf>,
    /// Nobody is asked about it.
    pub auto_approved: bool,
    /// What is accepted is applied at once, and not only when all is decided.
    pub applies_each: bool,
    /// Where it may be applied by a later server; absent for what leaves nothing on the disk.
    pub bounds: Option<Bounds>,
}

/// A registered proposal. Dropping it before it is settled withdraws the proposal, unless the server is stopping.
pub struct Waiting {
    pub id: ProposalId,
    services: Proposals,
    ready: mpsc::UnboundedReceiver<Ready>,
}

impl Proposals {
    /// `home` is where those that wait are kept.
    pub fn new(workspace: Workspace, home: &Path) -> Self {
        Self {
            shared: Arc::new(Shared {
                workspace,
                store: ProposalStore::new(home),
                state: Mutex::default(),
                writing: Mutex::default(),
                stopping: AtomicBool::new(false),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server is stopping, and what waits is left for the next one.
    pub fn is_stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::SeqCst)
    }

    /// Registers a proposal, keeps it and shows it. An older one of the same thread for some of the same files gives way.
    pub async fn open(&self, id: ProposalId, plan: Plan, origin: Origin, stream: Stream) -> Waiting {
        let (waiter, ready) = mpsc::unbounded_channel();
        // From here on, whatever becomes of the task, the proposal is settled.
        let waiting = Waiting {
            id: id.clone(),
            services: self.clone(),
            ready,
        };
        let services = self.clone();
        // From before it is looked at: somebody may type as soon as it is shown.
        let changed = self.shared.workspace.changed();
        aside(move || {
            let mut plan = plan;
            plan.note_folders();
            let turn = origin.turn_id.clone();
            let applies_each = origin.applies_each;
            let bounds = origin.bounds.clone().filter(|_| !origin.auto_approved);
            let texts = plan.files.iter().flat_map(|file| [&file.before, &file.after]);
            let is_small = texts.flatten().map(String::len).sum::<usize>() <= SMALL;
            let proposal = services.describe(&id, &plan, origin);
            let mut entry = Entry::new(proposal, plan, stream, Some(turn));
            entry.waiter = Some(waiter);
            entry.applies_each = applies_each;
            entry.bounds = bounds;
            services.look(&mut entry);
            if !services.insert(entry) {
                // Its turn was ended by force meanwhile.
                return;
            }
            services.hold(&id);
            if is_small {
                services.save(&id);
                services.show(&id);
            } else {
                // Nobody decides as fast as it is written, so nobody need wait for the disk.
                services.show(&id);
                services.save_later(&id);
            }
        })
        .await;
        self.follow_typing(changed);
        waiting
    }

    /// The texts as the conversation sees them whose proposal it is.
    fn seen_by(&self, proposal: &Proposal) -> Workspace {
        self.shared.workspace.seen_by(&proposal.thread_id)
    }

    /// Puts the hunks of an entry that nobody else sees where their text is.
    fn look(&self, entry: &mut Entry) {
        for index in 0..entry.plan.files.len() {
            let file = &entry.plan.files[index];
            let now = Now::of(&self.seen_by(&entry.proposal), file);
            let follower = entry.placings[index].follower();
            let places = placing::find(&mut follower.lock().unwrap_or_else(PoisonError::into_inner), file, &now);
            entry.put(index, &now, 0, places);
        }
    }

    /// False for one that nobody waits for any more: it would stay for ever. A server that stops keeps it for the next one.
    fn insert(&self, entry: Entry) -> bool {
        let mut state = self.lock();
        if entry.waiter.as_ref().is_some_and(mpsc::UnboundedSender::is_closed) && !self.is_stopping() {
            return false;
        }
        state.entries.insert(entry.proposal.id.clone(), entry);
        let settled: Vec<_> = state
            .entries
            .iter()
            .filter(|(_, entry)| entry.waiter.is_none())
            .map(|(id, _)| id.clone())
            .collect();
        for old in settled.iter().take(settled.len().saturating_sub(KEPT)) {
            state.entries.remove(old);
        }
        true
    }

    /// Tells of a new proposal, and settles what it takes the place of.
    fn show(&self, id: &ProposalId) {
        let mut superseded = Vec::new();
        {
            let mut state = self.lock();
            // One that was withdrawn before it was shown is nobody's.
            let Some(new) = state.entries.get(id).filter(|entry| entry.is_waiting()) else {
                return;
            };
            let (thread, plan) = (new.proposal.thread_id.clone(), new.plan.clone());
            let same_files = |entry: &Entry| plan.paths().any(|path| entry.touches(path));
            let others = state.entries.iter_mut().filter(|(other, entry)| {
                *other != id && entry.shown && entry.is_waiting() && entry.waiter.is_some() && same_files(entry)
            });
            let mut below = Vec::new();
            for (other, entry) in others {
                if entry.proposal.thread_id == thread {
                    superseded.push(other.clone());
                } else {
                    below.push(other.clone());
                }
            }
            if let Some(new) = state.entries.get_mut(id) {
                new.change().stacked_on = below;
                new.show();
            }
            for old in &superseded {
                if let Some(entry) = state.entries.get_mut(old) {
                    entry.change().superseded_by = Some(id.clone());
                    entry.wake(Decided {
                        superseded_by: Some(id.clone()),
                        ..Decided::default()
                    });
                    entry.publish();
                }
            }
        }
        for old in superseded {
            self.forget(&old);
            self.unstack(&old);
        }
    }

    fn describe(&self, id: &ProposalId, plan: &Plan, origin: Origin) -> Proposal {
        let workspace = self.shared.workspace.seen_by(&origin.thread_id);
        let files = plan
            .files
            .iter()
            .map(|file| self.describe_file(id, &workspace, file, &origin.cwd))
            .collect();
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

    fn describe_file(&self, id: &ProposalId, workspace: &Workspace, file: &FilePlan, cwd: &Path) -> ProposalFile {
        let document = workspace.document(&file.path);
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
        let mut described = ProposalFile {
            path: file.path.clone(),
            uri: document
                .as_ref()
                .map_or_else(|| uri::from_path(&file.path), |document| document.uri().to_owned()),
            kind: file.kind.clone(),
            open: document.is_some(),
            unsaved: document.as_ref().is_some_and(Document::differs_from_disk),
            base_version: document.as_ref().map(|document| document.version),
            version: document.map(|document| document.version),
            mode: file.mode,
            not_text: file.whole.as_ref().map(|whole| shown::line(&whole.to_string())),
            notes: Vec::new(),
            // Large, and the same in every event: who wants them reads the proposal.
            before: None,
            after: None,
            current: None,
            result: None,
            hunks,
        };
        let name = described.new_name().map(|name| name.strip_prefix(cwd).unwrap_or(name));
        described.notes = shown::alike::of_paths(name);
        described
    }

    /// Looks at the files of waiting proposals, without holding anything up meanwhile, and puts their hunks in place.
    fn refresh(&self, which: impl Fn(&Entry) -> bool) {
        for look in self.looks(which) {
            look.take(|_, workspace, file| Some(Now::of(workspace, file)))
                .place(self);
        }
    }

    /// Puts the hunks of one file of a proposal where they are now. What was found is compared while nothing is held but the right to do
    /// so for this file: of a long file with much of it changed that takes its time, and everybody asks for the state. Who had to wait
    /// for that right compares with the text as `reopened` has it then: of many that wait, one compares.
    fn place(
        &self,
        (id, index): (&ProposalId, usize),
        path: &Path,
        (mut number, mut now): (u64, Now),
        reopened: impl Fn() -> Option<Document>,
    ) {
        let found = |state: &State, number: u64, now: &Now| {
            let entry = state.entries.get(id)?;
            let is_same = entry.plan.files[index].path == path;
            let wanted = is_same && entry.wants(index, now, number);
            wanted.then(|| (entry.placings[index].follower(), entry.plan.clone()))
        };
        let Some((follower, _)) = found(&self.lock(), number, &now) else {
            return;
        };
        let mut follower = follower.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = {
            let mut state = self.lock();
            if let (Now::Open(_), Some(document)) = (&now, reopened()) {
                state.looks += 1;
                (number, now) = (state.looks, Now::Open(document));
            }
            match found(&state, number, &now) {
                Some((_, plan)) => plan,
                None => return,
            }
        };
        let places = placing::find(&mut follower, &plan.files[index], &now);
        if let Some(entry) = self.lock().entries.get_mut(id) {
            // Whoever has changed the plan looks again.
            if Arc::ptr_eq(&entry.plan, &plan) && entry.wants(index, &now, number) {
                entry.put(index, &now, number, places);
            }
        }
    }

    /// Looks at waiting proposals that are about to be taken.
    fn looks(&self, which: impl Fn(&Entry) -> bool) -> Vec<Look> {
        let mut state = self.lock();
        state.looks += 1;
        let number = state.looks;
        let waiting = state
            .entries
            .iter()
            .filter(|(_, entry)| entry.is_waiting() && which(entry));
        let look = |(id, entry): (&ProposalId, &Entry)| Look {
            number,
            id: id.clone(),
            plan: entry.plan.clone(),
            workspace: self.seen_by(&entry.proposal),
        };
        waiting.map(look).collect()
    }

    /// One proposal with its texts, its hunks placed in today's text. Reads its files.
    pub fn read(&self, id: &ProposalId) -> Result<Proposal, ProposalError> {
        self.read_fitting(id).map(|(proposal, _)| proposal)
    }

    /// The same, with the hunks that its texts show: those that wait and fit into the very texts that come along. One that is in
    /// the text already, or does not fit, is not seen in them.
    ///
    /// # Errors
    /// There is no such proposal.
    pub fn read_fitting(&self, id: &ProposalId) -> Result<(Proposal, BTreeSet<HunkId>), ProposalError> {
        self.refresh(|entry| entry.proposal.id == *id);
        let (mut proposal, made, plan) = {
            let state = self.lock();
            let entry = state.entries.get(id).filter(|entry| entry.shown);
            let entry = entry.ok_or_else(|| ProposalError::Unknown(id.clone()))?;
            (Proposal::clone(&entry.proposal), entry.made.clone(), entry.plan.clone())
        };
        let workspace = self.seen_by(&proposal);
        let mut fitting = BTreeSet::new();
        for ((file, made), planned) in proposal.files.iter_mut().zip(&made.files).zip(&plan.files) {
            file.before.clone_from(&made.before);
            file.after.clone_from(&made.after);
            let now = Now::of(&workspace, planned);
            file.result = now.text();
            if proposal.status.is_waiting() {
                // The file may be another one already than it was when the hunks were placed.
                let places = places_now(planned, &now);
                file.result = result(file, planned, &now, &places);
                for (hunk, place) in file.hunks.iter_mut().zip(places) {
                    let lines = match &place {
                        Place::Fits(lines) => Some(line_range(lines)),
                        Place::There(_) | Place::Conflict { .. } => None,
                    };
                    entry::follow(hunk, place);
                    if let Some(lines) = lines {
                        hunk.range = lines;
                        if hunk.status == HunkStatus::Pending {
                            fitting.insert(hunk.id.clone());
                        }
                    }
                }
            }
            file.current = now.text();
        }
        Ok((proposal, fitting))
    }

    /// The proposals that wait, or all, oldest first. Reads the files of those that wait.
    pub fn list(&self, thread: Option<&ThreadId>, include_settled: bool) -> Vec<Proposal> {
        let of_thread = |entry: &Entry| thread.is_none_or(|id| entry.proposal.thread_id == *id);
        self.refresh(of_thread);
        self.lock()
            .entries
            .values()
            .filter(|entry| entry.shown && of_thread(entry))
            .filter(|entry| include_settled || entry.is_waiting())
            .map(|entry| Proposal::clone(&entry.proposal))
            .collect()
    }

    /// The proposals of a thread that wait, oldest first, as they were at the last look. Reads no file.
    pub fn waiting(&self, thread: &ThreadId) -> Vec<Arc<Proposal>> {
        let state = self.lock();
        let of_thread = |entry: &&Entry| entry.shown && entry.proposal.thread_id == *thread && entry.is_waiting();
        let of_thread = state.entries.values().filter(of_thread);
        of_thread.map(|entry| entry.proposal.clone()).collect()
    }

    /// The waiting proposals that change this document, with its hunks placed in today's text. Looks at no other
    /// file, and copies nothing: cheap enough for every code action request.
    pub fn on_document(&self, path: &Path, uri: &str) -> Vec<Arc<Proposal>> {
        let is_it = |file: &ProposalFile| file.path == path || file.uri == uri;
        let (here, number): (Vec<_>, u64) = {
            let mut state = self.lock();
            state.looks += 1;
            let number = state.looks;
            let shown = state
                .entries
                .iter()
                .filter(|(_, entry)| entry.is_waiting() && entry.shown);
            let here = shown
                .filter_map(|(id, entry)| {
                    let index = entry.proposal.files.iter().position(is_it)?;
                    Some((id.clone(), index, entry.plan.clone()))
                })
                .collect();
            (here, number)
        };
        let mut found = Vec::new();
        for (id, index, plan) in here {
            // Looked at while nothing is held: the disk may be slow.
            let file = &plan.files[index];
            let document = || self.shared.workspace.document_by_uri(uri);
            let now = match document() {
                // What is deleted or moved as it is is no matter of what the document shows.
                Some(document) if file.whole.is_none() => Now::Open(document),
                _ => Now::of(&self.shared.workspace, file),
            };
            self.place((&id, index), &file.path, (number, now), document);
            if let Some(entry) = self.lock().entries.get(&id).filter(|entry| entry.is_waiting()) {
                found.push(entry.proposal.clone());
            }
        }
        found
    }

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
        let (services, settled) = (self.clone(), id.clone());
        aside(move || services.forget(&settled)).await;
        self.unstack(id);
    }

    /// The same in memory alone.
    fn note_settled(
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
    fn unstack(&self, id: &ProposalId) {
        let mut state = self.lock();
        for entry in state.entries.values_mut() {
            if entry.is_waiting() && entry.proposal.stacked_on.contains(id) {
                entry.change().stacked_on.retain(|below| below != id);
                entry.publish();
            }
        }
    }

    /// The person gave a file, or a folder, another name in the editor: what waits for it follows.
    pub fn renamed(&self, from: &Path, to: &Path) {
        let mut moved = Vec::new();
        {
            let mut state = self.lock();
            let open = |entry: &Entry| entry.is_waiting() || entry.proposal.status == ProposalStatus::Accepted;
            let open = state.entries.iter_mut().filter(|(_, entry)| open(entry));
            for (id, entry) in open {
                if entry.rename(from, to) {
                    moved.push(id.clone());
                }
            }
        }
        for id in moved {
            tracing::info!(proposal = %id, from = %from.display(), to = %to.display(), "follows a file to its new name");
            self.refresh(|entry| entry.proposal.id == id);
            if let Some(entry) = self.lock().entries.get_mut(&id) {
                entry.publish();
            }
            self.save_later(&id);
        }
    }

    /// Publishes an event beside a proposal, in the stream of its thread.
    pub fn tell(&self, id: &ProposalId, kind: EventKind) {
        if let Some(entry) = self.lock().entries.get(id) {
            entry.stream.publish(None, kind);
        }
    }

    /// Which of these files, all open and not saved, the thread has changed by its proposals.
    pub fn changed_by_agent(&self, thread: &ThreadId, unsaved: &[PathBuf]) -> Vec<Unsaved> {
        let state = self.lock();
        let is_in_files = |proposal: &Proposal| {
            let any = || entry::hunks(proposal).any(|hunk| hunk.status == HunkStatus::Applied);
            proposal.status == ProposalStatus::Applied || proposal.status != ProposalStatus::Undone && any()
        };
        let applied = |entry: &&Entry| entry.proposal.thread_id == *thread && is_in_files(&entry.proposal);
        // The first change tells what was there before the agent: ids sort by their time.
        let first = |path: &PathBuf| {
            let mut files = state
                .entries
                .values()
                .filter(applied)
                .flat_map(|entry| &entry.proposal.files);
            let is_there = |file: &&ProposalFile| now_at(file) == path && took_anything(file);
            let held_unsaved_text = files.find(is_there)?.unsaved;
            Some(Unsaved {
                path: path.clone(),
                held_unsaved_text,
            })
        };
        unsaved.iter().filter_map(first).collect()
    }
}

impl Waiting {
    /// What there is to apply next; nothing if it can never come. After all of it nothing comes.
    pub async fn ready(&mut self) -> Option<Ready> {
        self.ready.recv().await
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // Before anything is looked at: one that is only about to be registered is seen to be nobody's then.
        self.ready.close();
        if self.services.is_stopping() {
            return;
        }
        let withdrawn = {
            let mut state = self.services.lock();
            let entry = state.entries.get_mut(&self.id);
            // One that is older than the server is nobody's to withdraw.
            match entry.filter(|entry| entry.turn.is_some()) {
                Some(entry) if entry.is_waiting() || entry.proposal.status == ProposalStatus::Accepted => {
                    entry.waiter = None;
                    entry.change().status = ProposalStatus::Withdrawn;
                    entry.publish();
                    true
                }
                _ => false,
            }
        };
        if withdrawn {
            let (services, id) = (self.services.clone(), self.id.clone());
            keep::later(move || services.forget(&id));
            self.services.unstack(&self.id);
        }
    }
}

/// Where each hunk of a file lies in its text of today; nothing where there is nothing to put in: it does not fit any
/// more, or is there already.
pub fn places(file: &FilePlan, now: Option<&str>) -> Vec<Option<Range<usize>>> {
    let now = now.map_or(Now::Gone, |text| Now::Closed(text.to_owned()));
    let place = |place| match place {
        Place::Fits(range) => Some(range),
        Place::There(_) | Place::Conflict { .. } => None,
    };
    places_now(file, &now).into_iter().map(place).collect()
}

/// Today's text with every hunk that fits and is not rejected.
fn result(file: &ProposalFile, planned: &FilePlan, now: &Now, places: &[Place]) -> Option<String> {
    let hunks = file.hunks.iter().zip(&planned.hunks).zip(places);
    let fitting: Vec<_> = hunks
        .filter(|((hunk, _), _)| hunk.status != HunkStatus::Rejected)
        .filter_map(|((_, planned), place)| match place {
            Place::Fits(range) => Some((range.clone(), planned.new_text.clone())),
            Place::There(_) | Place::Conflict { .. } => None,
        })
        .collect();
    if fitting.is_empty() {
        return now.text();
    }
    match &planned.kind {
        FileChangeKind::Delete => None,
        FileChangeKind::Add => planned.after.clone(),
        FileChangeKind::Update { .. } => now.text().map(|now| apply_hunks(&now, &fitting)),
    }
}

/// Where a file that was changed is now.
fn now_at(file: &ProposalFile) -> &Path {
    match &file.kind {
        FileChangeKind::Update { move_path: Some(to) } => to,
        _ => &file.path,
    }
}

/// Whether anything of an applied proposal went into this file: the person may have rejected all of its hunks.
fn took_anything(file: &ProposalFile) -> bool {
    file.hunks.is_empty() || file.hunks.iter().any(|hunk| hunk.status == HunkStatus::Applied)
}

fn line_range(lines: &Range<usize>) -> LineRange {
    let line = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    LineRange {
        start: line(lines.start),
        end: line(lines.end),
    }
}

#[cfg(test)]
mod tests;
