//! Proposals of earlier servers: shown again, decided, applied, and told to the model when its thread goes on.

use super::apply::{self, HunkResult, Outcome, Scope};
use super::aside::aside;
use super::conversation::Conversation;
use super::permissions;
use super::prompt;
use super::proposals::{Adopted, Decided, Proposals, Ready, Waiting};
use super::propose::report::report;
use super::propose::{hunk_statuses, warnings};
use super::services::Services;
use super::stream::Stream;
use super::turn::Turn;
use super::undo;
use super::{Agent, Shared};
use crate::ids::{ProposalId, ThreadId};
use crate::model::item::{ContentPart, ResponseItem};
use crate::protocol::event::{EventKind, Warning};
use crate::protocol::proposal::{HunkStatus, ProposalFile, ProposalStatus};
use crate::store::proposals::{Bounds, Note};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// When it is looked once more whether a server is gone that had something.
pub const LOOK_AGAIN: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(20)];

impl Agent {
    /// Shows the proposals again that an earlier server left in the folders of the workspace. `show` gets the stream of
    /// each thread that is not live. Ends when there is nothing more to find.
    pub async fn restore_proposals(&self, show: impl Fn(&ThreadId, &Stream)) {
        let roots = self.services().workspace.roots();
        let mut looks = LOOK_AGAIN.into_iter();
        loop {
            let busy = self.restore_from(roots.clone(), &show).await;
            let Some(wait) = looks.next().filter(|_| busy) else {
                return;
            };
            // A server that is being replaced takes a moment to go.
            tokio::time::sleep(wait).await;
        }
    }

    /// True if another server has some of them.
    async fn restore_from(&self, roots: Vec<PathBuf>, show: &impl Fn(&ThreadId, &Stream)) -> bool {
        // No thread comes to life meanwhile, so that each has one stream.
        let _none_resumes = self.shared.resuming.read().await;
        let shared = self.shared.clone();
        let adopting = tokio::task::spawn_blocking(move || {
            let stream_of = |thread: &ThreadId| stream_of(&shared, thread);
            shared.services.proposals.adopt(&roots, stream_of)
        });
        let (adopted, busy) = match adopting.await {
            Ok(found) => found,
            Err(error) => {
                tracing::error!(%error, "looking for proposals of an earlier server broke off");
                return false;
            }
        };
        for Adopted {
            waiting,
            thread_id,
            bounds,
        } in adopted
        {
            if let Some(resting) = resting(&self.shared).get(&thread_id) {
                show(&thread_id, resting);
            }
            tokio::spawn(wait(self.shared.clone(), waiting, thread_id, bounds));
        }
        busy
    }

    /// A thread comes to life: its events go on where those of its proposals were.
    pub(super) fn wake_stream(&self, conversation: &Conversation) {
        if let Some(resting) = resting(&self.shared).remove(&conversation.id) {
            conversation.stream.take_over(&resting);
            let proposals = &self.services().proposals;
            proposals.use_stream(&conversation.id, &conversation.stream);
        }
    }

    /// Reads what a thread is to be told of its proposals.
    pub(super) async fn load_notes(&self, thread: &ThreadId) {
        let (services, thread) = (self.services().clone(), thread.clone());
        let loading = tokio::task::spawn_blocking(move || services.proposals.load_notes(&thread));
        if let Err(error) = loading.await {
            tracing::error!(%error, "reading what became of proposals broke off");
        }
    }
}

pub(super) fn resting(shared: &Shared) -> std::sync::MutexGuard<'_, BTreeMap<ThreadId, Stream>> {
    shared.resting.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn stream_of(shared: &Shared, thread: &ThreadId) -> Stream {
    let live = shared.threads.lock().unwrap_or_else(PoisonError::into_inner);
    match live.get(thread) {
        Some(handle) => handle.conversation().stream.clone(),
        None => resting(shared)
            .entry(thread.clone())
            .or_insert_with(|| Stream::new(thread.clone()))
            .clone(),
    }
}

/// Waits for the person, applies what they took, and leaves a note for the model.
async fn wait(shared: Arc<Shared>, mut waiting: Waiting, thread_id: ThreadId, bounds: Bounds) {
    let services = shared.services.clone();
    let decided = loop {
        match waiting.ready().await {
            Some(Ready::Part) => {
                let part = apply_part(services.clone(), waiting.id.clone(), thread_id.clone(), bounds.clone());
                if let Err(error) = services.steps.spawn(part).await {
                    tracing::error!(proposal = %waiting.id, %error, "applying what was accepted broke off");
                }
            }
            Some(Ready::All(decided)) => break decided,
            None => return,
        }
    };
    // A step of its own: it runs to its end also when the server stops.
    services
        .steps
        .spawn(carry_out(shared, waiting, thread_id, bounds, decided));
}

fn scope(services: &Arc<Services>, thread_id: &ThreadId, bounds: &Bounds) -> Scope {
    Scope {
        services: services.clone(),
        thread: thread_id.clone(),
        workspace: services.workspace.seen_by(thread_id),
        cwd: bounds.cwd.clone(),
        confinement: bounds.confinement(),
        reader: Arc::new(permissions::reader_within(services, bounds)),
        shown_at: Vec::new(),
    }
}

/// Applies what is accepted while the rest waits. What cannot be applied waits again.
async fn apply_part(services: Arc<Services>, id: ProposalId, thread_id: ThreadId, bounds: Bounds) {
    let scope = scope(&services, &thread_id, &bounds);
    let outcome = apply::run_part(&scope, &id).await;
    remember(&services, &id, &thread_id, &outcome).await;
    let (proposals, results, of) = (services.proposals.clone(), hunk_statuses(&outcome), id.clone());
    aside(move || proposals.part_is_applied(&of, &results)).await;
    let failed = outcome.error.iter();
    let failed = failed.map(|error| format!("What was accepted is not in the files, and waits again. {error}"));
    for message in warnings(&scope, &outcome).into_iter().chain(failed) {
        services.proposals.tell(&id, EventKind::Warning(Warning { message }));
    }
}

async fn carry_out(shared: Arc<Shared>, waiting: Waiting, thread_id: ThreadId, bounds: Bounds, decided: Decided) {
    let services: &Arc<Services> = &shared.services;
    let id = &waiting.id;
    let words = match Proposals::superseded(&decided) {
        Some(words) => {
            let so_far = services.proposals.decided(id);
            let newer = "A newer proposal took the place of what was not decided.";
            let so_far = so_far.and_then(|(proposal, plan)| apply::so_far(&proposal, &plan, newer));
            let told = |outcome| report(&scope(services, &thread_id, &bounds), &outcome, &[], false);
            so_far.map_or(words, told)
        }
        None => {
            let scope = scope(services, &thread_id, &bounds);
            let outcome = match closed(&scope, id, &decided).await {
                Some(closed) => closed,
                None => apply::run(&scope, id, &decided).await,
            };
            remember(services, id, &thread_id, &outcome).await;
            let words = report(&scope, &outcome, &decided.feedback, false);
            let trouble =
                (outcome.status == ProposalStatus::Failed).then(|| format!("The agent's change was not made. {words}"));
            for message in warnings(&scope, &outcome).into_iter().chain(trouble) {
                services.proposals.tell(id, EventKind::Warning(Warning { message }));
            }
            let note = note(id, &thread_id, &words);
            leave(&shared, note).await;
            services
                .proposals
                .settle(id, outcome.status, &hunk_statuses(&outcome), Some(words))
                .await;
            return;
        }
    };
    leave(&shared, note(id, &thread_id, &words)).await;
    services
        .proposals
        .settle(id, ProposalStatus::Superseded, &BTreeMap::new(), Some(words))
        .await;
}

/// What would be written where it is not allowed: nobody can be asked about a folder outside of a turn, so nothing is.
async fn closed(scope: &Scope, id: &ProposalId, decided: &Decided) -> Option<Outcome> {
    if decided.in_place {
        return None;
    }
    let (proposal, plan) = scope.services.proposals.decided(id)?;
    let look = {
        let scope = scope.clone();
        let (proposal, plan) = (proposal.clone(), plan.clone());
        move || {
            let accepted = |file: &ProposalFile| file.hunks.iter().any(|hunk| hunk.status == HunkStatus::Accepted);
            let files = proposal
                .files
                .iter()
                .zip(&plan.files)
                .filter(|(file, _)| accepted(file));
            let closed = files
                .flat_map(|(_, planned)| planned.paths())
                .find(|path| !scope.confinement.may_write(path));
            closed.map(Path::to_owned)
        }
    };
    let path = tokio::task::spawn_blocking(look).await.ok()??;
    let mut files = apply::first_results(&proposal, &plan);
    for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
        if hunk.result == HunkResult::Taken && !hunk.applied {
            hunk.result = HunkResult::NotApplied;
        }
    }
    Some(Outcome {
        status: ProposalStatus::Failed,
        files,
        changed: Vec::new(),
        made: Vec::new(),
        aftermath: None,
        error: Some(format!(
            "{} is where patches may not write unless the person opens its folder, and that can only be asked while a turn runs. \
             No file was changed. Continue the conversation and have the patch sent again.",
            path.display()
        )),
    })
}

/// Adds what was changed to the record of the proposal's turn, so that it is taken back with that.
async fn remember(services: &Arc<Services>, id: &ProposalId, thread_id: &ThreadId, outcome: &apply::Outcome) {
    let Some((proposal, _)) = services.proposals.decided(id) else {
        return;
    };
    if outcome.changed.is_empty() {
        return;
    }
    let (records, thread, turn) = (
        services.snapshots.records(),
        thread_id.clone(),
        proposal.turn_id.clone(),
    );
    let (changed, made) = (outcome.changed.clone(), outcome.made.clone());
    let added = aside(move || undo::add(&records, &thread, &turn, &changed, &made)).await;
    if let Err(error) = added {
        tracing::error!(proposal = %id, %error, "a late change was not recorded, so it cannot be taken back");
    }
}

/// On the disk first: whatever happens next, the model hears of it.
async fn leave(shared: &Arc<Shared>, note: Note) {
    let shared = shared.clone();
    let leaving = tokio::task::spawn_blocking(move || {
        let live = shared
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(&note.thread_id);
        shared.services.proposals.note(note, live);
    });
    if let Err(error) = leaving.await {
        tracing::error!(%error, "what became of a proposal was not noted");
    }
}

fn note(id: &ProposalId, thread_id: &ThreadId, words: &str) -> Note {
    Note {
        proposal_id: id.clone(),
        thread_id: thread_id.clone(),
        text: format!(
            "{}\nA patch of yours still waited for the person when the server ended. What has become of it since:\n{}\n\
             </countersign_proposal>",
            opening(id),
            crate::shown::envelope::inside(words)
        ),
    }
}

/// What tells that the model knows of a proposal.
fn opening(id: &ProposalId) -> String {
    format!("<countersign_proposal id=\"{id}\">")
}

/// Tells the model what became of proposals that it left behind. Between two rounds, where every call has its output.
pub(super) fn tell_model(turn: &Turn) {
    let conversation = &turn.conversation;
    for note in turn.services.proposals.take_notes(&conversation.id) {
        let opening = opening(&note.proposal_id);
        let knows = conversation
            .data()
            .history
            .items()
            .iter()
            .any(|item| says(item, &opening));
        // The server may have ended after it was said and before that was noted.
        if !knows {
            conversation.say([prompt::message("user", note.text)]);
        }
        turn.services.proposals.forget_note(&note.proposal_id);
    }
}

fn says(item: &ResponseItem, opening: &str) -> bool {
    let ResponseItem::Message { content, .. } = item else {
        return false;
    };
    let starts = |part: &ContentPart| matches!(part, ContentPart::InputText { text } if text.starts_with(opening));
    content.iter().any(starts)
}
