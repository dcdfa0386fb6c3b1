//! What waits is kept on the disk, and taken up again by the next server: killed or stopped in order, nothing is lost.

use super::entry::Entry;
use super::{Decided, Proposals, Waiting, aside};
use crate::agent::stream::Stream;
use crate::ids::{ProposalId, ThreadId};
use crate::protocol::proposal::{HunkStatus, Proposal, ProposalStatus};
use crate::store::proposals::{Bounds, Kept, Note};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use tokio::sync::mpsc;

/// A proposal of an earlier server that waits again.
pub struct Adopted {
    pub waiting: Waiting,
    pub thread_id: ThreadId,
    /// Where it may be applied.
    pub bounds: Bounds,
}

impl Proposals {
    /// Takes the right to a proposal's file, if it is one that is kept.
    pub(super) fn hold(&self, id: &ProposalId) {
        let to_keep = |entry: &Entry| entry.bounds.is_some() && entry.held.is_none() && entry.is_waiting();
        if !self.lock().entries.get(id).is_some_and(to_keep) {
            return;
        }
        let mut held = match self.shared.store.hold(id) {
            Ok(held) => held,
            Err(error) => {
                tracing::warn!("{error}");
                return;
            }
        };
        if let Some(entry) = self.lock().entries.get_mut(id).filter(|entry| entry.is_waiting()) {
            entry.held = held.take();
        }
        // It was settled meanwhile, and nothing of it stays.
        if held.is_some() {
            self.shared.store.forget(id, held);
        }
    }

    /// Writes the proposal as it is now.
    pub(super) fn save(&self, id: &ProposalId) {
        let _alone = self.shared.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = {
            let state = self.lock();
            let entry = state.entries.get(id);
            // What is decided is about to be applied, and settled then: who dies in between asks once more.
            let entry = entry.filter(|entry| entry.held.is_some() && entry.is_waiting());
            entry.and_then(Entry::kept)
        };
        if let Some(kept) = kept
            && let Err(error) = self.shared.store.keep(&kept)
        {
            tracing::warn!("{error}");
        }
    }

    /// Removes the proposal's file.
    pub(super) fn forget(&self, id: &ProposalId) {
        let _alone = self.shared.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let held = self.lock().entries.get_mut(id).and_then(|entry| entry.held.take());
        if let Some(held) = held {
            self.shared.store.forget(id, Some(held));
        }
    }

    fn is_kept(&self, id: &ProposalId) -> bool {
        self.lock().entries.get(id).is_some_and(|entry| entry.held.is_some())
    }

    pub(super) fn save_later(&self, id: &ProposalId) {
        if self.is_kept(id) {
            let (proposals, id) = (self.clone(), id.clone());
            later(move || proposals.save(&id));
        }
    }

    /// Ends when what was decided so far is on the disk.
    pub async fn saved(&self, id: &ProposalId) {
        if self.is_kept(id) {
            let (proposals, id) = (self.clone(), id.clone());
            aside(move || proposals.save(&id)).await;
        }
    }

    /// The server stops in order: from now on nothing is decided, and what waits is left for the next server.
    pub async fn keep_for_later(&self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        let proposals = self.clone();
        aside(move || {
            let waiting: Vec<ProposalId> = {
                let state = proposals.lock();
                let waiting = state.entries.iter().filter(|(_, entry)| entry.is_waiting());
                waiting.map(|(id, _)| id.clone()).collect()
            };
            for id in waiting {
                proposals.save(&id);
                // The next server may be there before this one is gone.
                if let Some(entry) = proposals.lock().entries.get_mut(&id) {
                    entry.held = None;
                }
            }
        })
        .await;
    }

    /// Whether a proposal outlives this server.
    pub fn outlives(&self, id: &ProposalId) -> bool {
        self.lock().entries.get(id).is_some_and(|entry| entry.bounds.is_some())
    }

    /// Takes up the proposals of earlier servers that change files in these folders and that no live server has. Says
    /// also whether a live server has some. Reads the disk.
    pub fn adopt(&self, roots: &[PathBuf], stream_of: impl Fn(&ThreadId) -> Stream) -> (Vec<Adopted>, bool) {
        let (mut adopted, mut busy) = (Vec::new(), false);
        for id in self.shared.store.list() {
            if self.is_stopping() {
                break;
            }
            if self.lock().entries.contains_key(&id) {
                continue;
            }
            match self.adopt_one(&id, roots, &stream_of) {
                Ok(Some(one)) => adopted.push(one),
                Ok(None) => {}
                Err(Busy) => busy = true,
            }
        }
        if !adopted.is_empty() {
            self.follow_typing(self.shared.workspace.changed());
        }
        (adopted, busy)
    }

    fn adopt_one(
        &self,
        id: &ProposalId,
        roots: &[PathBuf],
        stream_of: &impl Fn(&ThreadId) -> Stream,
    ) -> Result<Option<Adopted>, Busy> {
        let store = &self.shared.store;
        let read = || match store.read(id) {
            Ok(kept) => kept,
            Err(error) => {
                tracing::warn!("{error}");
                None
            }
        };
        let here = |kept: &Kept| {
            kept.plan
                .paths()
                .any(|path| roots.iter().any(|root| path.starts_with(root)))
        };
        if !read().as_ref().is_some_and(here) {
            return Ok(None);
        }
        let held = match store.hold(id) {
            Ok(Some(held)) => held,
            Ok(None) => return Err(Busy),
            Err(error) => {
                tracing::warn!("{error}");
                return Ok(None);
            }
        };
        if store.has_note(id) {
            // It was settled in the last moment of its server.
            store.forget(id, Some(held));
            return Ok(None);
        }
        // Only now nobody else changes it.
        let Some(Kept {
            proposal,
            plan,
            bounds,
            feedback,
            applies_each,
        }) = read()
        else {
            return Ok(None);
        };
        let thread_id = proposal.thread_id.clone();
        let (waiter, ready) = mpsc::unbounded_channel();
        let proposal = waiting_again(Arc::unwrap_or_clone(proposal));
        let mut entry = Entry::new(proposal, Arc::unwrap_or_clone(plan), stream_of(&thread_id), None);
        for (planned, file) in Arc::make_mut(&mut entry.plan)
            .files
            .iter_mut()
            .zip(&entry.proposal.files)
        {
            for (planned, hunk) in planned.hunks.iter_mut().zip(&file.hunks) {
                planned.new_text.clone_from(&hunk.new_text);
            }
            if planned.before.is_none() && planned.whole.is_none() {
                planned.after = file.hunks.first().map(|hunk| hunk.new_text.clone());
            }
        }
        entry.waiter = Some(waiter);
        entry.bounds = Some(bounds.clone());
        entry.held = Some(held);
        entry.feedback = feedback;
        entry.applies_each = applies_each;
        self.look(&mut entry);
        tracing::info!(proposal = %id, thread = %thread_id, "a proposal of an earlier server waits again");
        let waiting = Waiting {
            id: id.clone(),
            proposals: self.clone(),
            ready,
        };
        // What was accepted and not applied any more.
        entry.apply_part();
        self.insert(entry);
        self.show(id);
        Ok(Some(Adopted {
            waiting,
            thread_id,
            bounds,
        }))
    }

    /// A thread is live (again): events about its proposals go there from now on.
    pub fn use_stream(&self, thread: &ThreadId, stream: &Stream) {
        let mut state = self.lock();
        let of_thread = |entry: &&mut Entry| entry.proposal.thread_id == *thread;
        for entry in state.entries.values_mut().filter(of_thread) {
            entry.stream = stream.clone();
        }
    }

    /// The thread is deleted: nothing of its proposals is kept, and none waits any more. Reads the disk.
    pub fn forget_thread(&self, thread: &ThreadId) {
        let waiting: Vec<ProposalId> = {
            let state = self.lock();
            let of_thread = |entry: &&Entry| entry.proposal.thread_id == *thread && entry.is_waiting();
            let of_thread = state.entries.values().filter(of_thread);
            of_thread.map(|entry| entry.proposal.id.clone()).collect()
        };
        for id in waiting {
            let outcome = Some("The conversation was deleted, and the change was not made.".to_owned());
            self.note_settled(&id, ProposalStatus::Superseded, &BTreeMap::new(), outcome);
            self.forget(&id);
            self.unstack(&id);
        }
        let store = &self.shared.store;
        for id in store.list() {
            let is_of_thread = |kept: Kept| kept.proposal.thread_id == *thread;
            if !store.read(&id).ok().flatten().is_some_and(is_of_thread) {
                continue;
            }
            if let Ok(Some(held)) = store.hold(&id) {
                store.forget(&id, Some(held));
            }
        }
        for note in store.notes(thread) {
            store.forget_note(&note.proposal_id);
        }
        self.lock().notes.remove(thread);
    }

    /// Keeps what became of a proposal until its thread goes on, and tells it there. `live` says that the thread is
    /// loaded. Writes to the disk.
    pub fn note(&self, note: Note, live: bool) {
        if let Err(error) = self.shared.store.keep_note(&note) {
            tracing::warn!("{error}");
        }
        if live {
            let mut state = self.lock();
            state.notes.entry(note.thread_id.clone()).or_default().push(note);
        }
    }

    /// A thread is loaded: what it is to be told is read from the disk.
    pub fn load_notes(&self, thread: &ThreadId) {
        let notes = self.shared.store.notes(thread);
        if !notes.is_empty() {
            self.lock().notes.insert(thread.clone(), notes);
        }
    }

    /// What a thread is to be told now.
    pub fn take_notes(&self, thread: &ThreadId) -> Vec<Note> {
        self.lock().notes.remove(thread).unwrap_or_default()
    }

    /// The model was told.
    pub fn forget_note(&self, id: &ProposalId) {
        let (store, id) = (self.shared.store.clone(), id.clone());
        later(move || store.forget_note(&id));
    }

    /// Settles a proposal that a newer one has taken the place of.
    pub fn superseded(decided: &Decided) -> Option<String> {
        let newer = decided.superseded_by.as_ref()?;
        Some(format!(
            "It was never decided: the newer proposal {newer} took its place. Nothing of it was applied."
        ))
    }
}

/// A live server has it.
struct Busy;

/// A proposal as it is shown again. Where all was decided and the server ended before it was applied, nobody knows how
/// far that went: the person is asked again.
fn waiting_again(mut proposal: Proposal) -> Proposal {
    let hunks = || proposal.files.iter().flat_map(|file| &file.hunks);
    let undecided = |status| matches!(status, HunkStatus::Pending | HunkStatus::Conflicting);
    let all_decided = !hunks().any(|hunk| undecided(hunk.status));
    let all_applied = !hunks().any(|hunk| hunk.status != HunkStatus::Applied);
    for hunk in proposal.files.iter_mut().flat_map(|file| &mut file.hunks) {
        if all_applied || all_decided && hunk.status != HunkStatus::Applied {
            hunk.status = HunkStatus::Pending;
        }
    }
    for file in &mut proposal.files {
        file.open = false;
        file.version = None;
    }
    proposal.status = ProposalStatus::Proposed;
    proposal.stacked_on.clear();
    proposal.outcome = None;
    proposal
}

/// Does what writes to the disk beside the tasks.
pub(super) fn later(work: impl FnOnce() + Send + 'static) {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => {
            runtime.spawn_blocking(work);
        }
        Err(_) => work(),
    }
}
