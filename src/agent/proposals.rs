//! Patches that wait for the person: what they are, where they lie in today's text, what was decided.
//!
//! A proposal is decided hunk by hunk, from any surface. Once no hunk is pending the turn that made it is woken
//! and applies what was accepted. While it waits its hunks follow their text: one whose text changes is in conflict, and
//! can only be rejected until the text is as it was. It outlives the server: what waits is kept on the disk, and shown
//! again by the next server in the same folders.

mod decide;
mod describe;
mod entry;
mod error;
mod fitting;
mod follow;
mod keep;
pub mod placing;
mod read;

pub use error::ProposalError;
pub use keep::Adopted;

use super::aside::aside;
use super::editor::Unsaved;
use super::stream::Stream;
use crate::ids::{ItemId, ProposalId, ThreadId, TurnId};
use crate::patch::plan::{FilePlan, Plan};
use crate::protocol::event::EventKind;
use crate::protocol::item::{FileChangeKind, LineRange};
use crate::protocol::proposal::{HunkStatus, Proposal, ProposalFile, ProposalStatus};
use crate::store::proposals::{Bounds, Note, ProposalStore};
use crate::workspace::{Document, Workspace};
use entry::Entry;
use placing::{Now, Place, places_now};
use std::collections::BTreeMap;
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
    proposals: Proposals,
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
            proposals: self.clone(),
            ready,
        };
        let proposals = self.clone();
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
            let proposal = proposals.describe(&id, &plan, origin);
            let mut entry = Entry::new(proposal, plan, stream, Some(turn));
            entry.waiter = Some(waiter);
            entry.applies_each = applies_each;
            entry.bounds = bounds;
            proposals.look(&mut entry);
            if !proposals.insert(entry) {
                // Its turn was ended by force meanwhile.
                return;
            }
            proposals.hold(&id);
            if is_small {
                proposals.save(&id);
                proposals.show(&id);
            } else {
                // Nobody decides as fast as it is written, so nobody need wait for the disk.
                proposals.show(&id);
                proposals.save_later(&id);
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
        if self.proposals.is_stopping() {
            return;
        }
        let withdrawn = {
            let mut state = self.proposals.lock();
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
            let (proposals, id) = (self.proposals.clone(), self.id.clone());
            keep::later(move || proposals.forget(&id));
            self.proposals.unstack(&self.id);
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
