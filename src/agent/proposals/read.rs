//! Reading proposals: one with its texts, those of a thread, those of a document.

use super::entry::{self, Entry};
use super::placing::{Now, Place, places_now};
use super::{ProposalError, Proposals, line_range};
use crate::ids::{HunkId, ProposalId, ThreadId};
use crate::patch::hunk::apply_hunks;
use crate::patch::plan::FilePlan;
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{HunkStatus, Proposal, ProposalFile};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

impl Proposals {
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
