//! `countersign/turn/undo` and `countersign/turn/diff`, and the same as commands, which find out by themselves which
//! conversation is meant.

use crate::agent::AgentError;
use crate::agent::thread::ThreadHandle;
use crate::agent::undo::{self, Request};
use crate::ids::{ThreadId, TurnId};
use crate::lsp::error::RequestError;
use crate::protocol::event::EventKind;
use crate::protocol::settings::SettingsOverride;
use crate::protocol::thread::{ThreadListParams, ThreadResumeParams};
use crate::protocol::undo::{TurnDiffParams, TurnDiffResult, TurnUndoParams, TurnUndoResult, UndoConflicts};
use crate::server::call::after_reply;
use crate::server::presenter::Severity;
use crate::server::session::Session;
use serde::{Deserialize, Serialize};

/// Stored conversations that are looked through for a turn to take back.
const MOST_LISTED: u32 = 20;

pub async fn undo(session: &Session, params: TurnUndoParams) -> Result<TurnUndoResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let started = thread
        .undo(Request {
            turn: params.turn_id,
            item: params.item_id,
            paths: params.paths,
            conflicts: params.conflicts,
        })
        .await?;
    let turn_id = started.turn.id.clone();
    after_reply(move || drop(started));
    Ok(TurnUndoResult { turn_id })
}

pub async fn diff(session: &Session, params: TurnDiffParams) -> Result<TurnDiffResult, RequestError> {
    let agent = session.agent().clone();
    blocking(move || agent.turn_diff(&params.thread_id, params.turn_id.as_ref()))
        .await?
        .map_err(RequestError::from)
}

/// Reading threads and records is disk work.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, RequestError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| RequestError::internal(error.to_string()))
}

/// What a command may name; without it the conversation that the person was in last is meant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Which {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    pub conflicts: UndoConflicts,
}

/// Takes the last turn back, in the background; what becomes of it is shown.
pub(super) fn undo_last(session: &Session, which: Which) {
    let session = session.clone();
    tokio::spawn(async move {
        if let Err(message) = undo_and_show(&session, which).await {
            session.presenter().message(Severity::Error, &message);
        }
    });
}

async fn undo_and_show(session: &Session, which: Which) -> Result<(), String> {
    let thread = thread_to_undo(session, which.thread_id).await?;
    let mut events = thread.subscribe(None);
    let request = Request {
        turn: which.turn_id,
        conflicts: which.conflicts,
        ..Request::default()
    };
    let started = thread.undo(request).await.map_err(|error| error.to_string())?;
    if !session.client().can.plugin {
        // The presenter shows what becomes of it, as of any turn.
        return Ok(());
    }
    // With a plugin nobody but this command knows that the person waits for a word.
    let turn = started.turn.id.clone();
    drop(started);
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::ItemCompleted(completed) if event.at.turn_id.as_ref() == Some(&turn) => {
                session.presenter().undone(thread.id(), &completed.item);
            }
            EventKind::TurnCompleted(_) if event.at.turn_id.as_ref() == Some(&turn) => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

/// Shows what the last turn changed as a diff.
pub(super) fn show_diff(session: &Session, which: Which) {
    let session = session.clone();
    tokio::spawn(async move {
        if let Err(message) = read_and_show(&session, which).await {
            session.presenter().message(Severity::Info, &message);
        }
    });
}

async fn read_and_show(session: &Session, which: Which) -> Result<(), String> {
    let id = match which.thread_id {
        Some(id) => id,
        None => match busy(session) {
            Some(thread) => thread.id().clone(),
            None => thread_to_undo(session, None).await?.id().clone(),
        },
    };
    let params = TurnDiffParams {
        thread_id: id,
        turn_id: which.turn_id,
    };
    let found = diff(session, params).await.map_err(|error| error.message)?;
    match found.turn_id.filter(|_| !found.diff.is_empty()) {
        Some(turn) => session.presenter().show_turn_diff(&turn, &found.diff).await,
        None => return Err("The agent has not changed anything in this turn.".to_owned()),
    }
    Ok(())
}

/// A conversation in which a turn runs.
fn busy(session: &Session) -> Option<ThreadHandle> {
    let mut live = session.agent().live().into_iter();
    live.find(|thread| thread.running().is_some())
}

/// The conversation in which there is something to take back: the one named, one that the person is in, or the newest
/// stored one of these folders.
async fn thread_to_undo(session: &Session, named: Option<ThreadId>) -> Result<ThreadHandle, String> {
    let agent = session.agent();
    let in_words = |error: AgentError| error.to_string();
    if let Some(id) = named {
        return agent.reach(&id).await.map_err(in_words);
    }
    let looking = session.clone();
    let live = blocking(move || live_to_undo(&looking)).await;
    if let Some(thread) = live.map_err(|error| error.message)? {
        return Ok(thread);
    }
    let folders = session.workspace().roots();
    let listing = agent.clone();
    let found = blocking(move || {
        let of_folder = |folder| ThreadListParams {
            limit: Some(MOST_LISTED),
            model_providers: Some(Vec::new()),
            cwd: Some(folder),
            ..ThreadListParams::default()
        };
        let pages = folders
            .into_iter()
            .filter_map(|folder| listing.list_threads(&of_folder(folder)).ok());
        let mut threads: Vec<_> = pages.flat_map(|page| page.data).collect();
        threads.sort_by_key(|thread| std::cmp::Reverse(thread.updated_at_ms));
        threads.into_iter().find_map(|thread| {
            let whole = listing.read_thread(&thread.id, true).ok()?;
            undo::is_possible(listing.services(), &undo::undoable(&whole.turns)).then_some(thread)
        })
    });
    let stored = found.await.map_err(|error| error.message)?;
    let Some(stored) = stored else {
        return Err("No conversation in this workspace has changed a file, so there is nothing to undo.".to_owned());
    };
    let params = ThreadResumeParams {
        thread_id: Some(stored.id),
        path: None,
        settings: SettingsOverride::default(),
        dynamic_tools: None,
    };
    let opened = agent.resume_thread(params).await.map_err(in_words)?;
    session.set_current_thread(&stored.cwd, opened.handle.id().clone());
    session.presenter().attach(&opened.handle);
    Ok(opened.handle)
}

/// The live conversation that was used last and has a turn to take back. Looks at files.
pub(super) fn live_to_undo(session: &Session) -> Option<ThreadHandle> {
    let mut live = session.agent().live();
    live.sort_by_key(|thread| std::cmp::Reverse(thread.snapshot(false).updated_at_ms));
    live.into_iter().find(|thread| {
        // A turn that runs waits for this lock at each word of the model.
        let turns = undo::undoable(&thread.conversation().data().turns);
        undo::is_possible(session.agent().services(), &turns)
    })
}
