//! Deleting turns from the end of a conversation, for editors that have no view of it: with what they changed in files, or without.

use super::super::thread::rolled_back;
use crate::agent::thread::ThreadHandle;
use crate::agent::undo;
use crate::ids::TurnId;
use crate::protocol::event::EventKind;
use crate::protocol::item::ThreadItem;
use crate::protocol::turn::TurnStatus;
use crate::protocol::undo::UndoResult;
use crate::server::presenter::Severity;
use crate::server::session::Session;

const KEEP: &str = "Keep";
const BOTH: &str = "Delete and Undo Its Changes";
const CONVERSATION: &str = "Delete";

/// Asks, and says what was done; nothing if the person thought better of it. `name` is the conversation's.
pub(super) async fn roll_back(
    session: &Session,
    thread: &ThreadHandle,
    name: &str,
    turns: u32,
) -> Result<Option<String>, String> {
    let what = match turns {
        1 => "the last turn".to_owned(),
        more => format!("the last {more} turns"),
    };
    let gone = last(thread, turns);
    let newest = thread.snapshot(true).turns.last().map(|turn| turn.id.clone());
    let changed = changed_files(session, &gone).await;
    // The first choice is never the yes: it is what a stray key chooses.
    let (files, choices) = match changed {
        true => (
            "Files: undo what was changed too, or leave them as they are.",
            vec![KEEP, BOTH, CONVERSATION],
        ),
        false => ("Files stay as they are.", vec![KEEP, CONVERSATION]),
    };
    let question = format!("Delete {what} of {name}? The agent forgets it. {files}");
    let chosen = session.outbound().choose(Severity::Warning, &question, choices).await;
    let with_files = match chosen.as_deref() {
        Some(BOTH) if changed => true,
        Some(CONVERSATION) => false,
        _ => return Ok(None),
    };
    // The files first: without its turns the conversation would not know what to undo.
    let newest = match gone.first().filter(|_| with_files) {
        Some(first) => match undo_from(thread, first.clone()).await? {
            Undone::All(by) => Some(by),
            // The question about the rest is asked wherever something is undone.
            Undone::InPart => {
                return Ok(Some(format!(
                    "Nothing is deleted of {name}: not every file could be undone. Decide on those files first."
                )));
            }
        },
        None => newest,
    };
    let dropped = thread
        .roll_back(turns, newest)
        .await
        .map_err(|error| error.to_string())?;
    Ok(Some(match with_files {
        false => rolled_back(dropped),
        // What became of the files is said with the undo.
        true => format!("Deleted {what} of {name}."),
    }))
}

/// What became of an undo that was carried out.
enum Undone {
    /// By this turn.
    All(TurnId),
    /// Some files were changed since, and stay as they are.
    InPart,
}

/// The turns that would go, oldest first: so many that the person began, and what came after.
fn last(thread: &ThreadHandle, count: u32) -> Vec<TurnId> {
    let turns = thread.snapshot(true).turns;
    let is_asked = |item: &ThreadItem| matches!(item, ThreadItem::UserMessage { .. });
    let asked: Vec<usize> = (0..turns.len())
        .filter(|at| turns[*at].items.iter().any(is_asked))
        .collect();
    let first = asked.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
    let from = asked.get(first).copied().unwrap_or(turns.len());
    turns[from..].iter().map(|turn| turn.id.clone()).collect()
}

async fn changed_files(session: &Session, turns: &[TurnId]) -> bool {
    let (agent, turns) = (session.agent().clone(), turns.to_vec());
    let looked = tokio::task::spawn_blocking(move || undo::is_possible(agent.services(), &turns));
    looked.await.unwrap_or_default()
}

/// Undoes what the turns from this one on have changed.
async fn undo_from(thread: &ThreadHandle, turn: TurnId) -> Result<Undone, String> {
    let stays = |why: String| format!("{why} The conversation stays as it is.");
    let mut events = thread.subscribe(None);
    let request = undo::Request {
        turn: Some(turn),
        ..undo::Request::default()
    };
    let started = thread.undo(request).await.map_err(|error| stays(error.to_string()))?;
    let id = started.turn.id.clone();
    drop(started);
    while let Some(event) = events.next().await {
        let EventKind::TurnCompleted(completed) = event.kind else {
            continue;
        };
        if completed.turn.id != id {
            continue;
        }
        let error = completed.turn.error.map(|error| error.message);
        let is_left = completed.turn.items.iter().any(|item| match item {
            ThreadItem::Undo { files, .. } => files.iter().any(|file| file.result == UndoResult::Conflict),
            _ => false,
        });
        return match completed.turn.status {
            TurnStatus::Completed | TurnStatus::Failed if is_left => Ok(Undone::InPart),
            TurnStatus::Completed => Ok(Undone::All(id)),
            _ => Err(stays(error.unwrap_or_else(|| "The undo was stopped.".to_owned()))),
        };
    }
    Err(stays("The conversation has ended meanwhile.".to_owned()))
}
