//! Shows what an undo came to, and offers to restore what it left.

use super::{Presenter, Severity};
use crate::agent::undo::Request;
use crate::ids::ThreadId;
use crate::protocol::item::{ItemStatus, ThreadItem};
use crate::protocol::undo::{UndoConflicts, UndoResult};

const RESTORE: &str = "Restore anyway";
const KEEP: &str = "Keep as it is";

/// Shows the item of an undo; others are not its affair.
pub(super) fn show(presenter: &Presenter, thread: &ThreadId, item: &ThreadItem) {
    let ThreadItem::Undo {
        turns,
        item_id,
        files,
        status,
        message,
        ..
    } = item
    else {
        return;
    };
    let message = message.clone().unwrap_or_default();
    let left = files.iter().any(|file| file.result == UndoResult::Conflict);
    let again = Request {
        turn: turns.first().cloned(),
        item: item_id.clone(),
        paths: match item_id {
            Some(_) => files.iter().map(|file| file.path.clone()).collect(),
            None => Vec::new(),
        },
        conflicts: UndoConflicts::Restore,
    };
    match again.turn.is_some() || again.item.is_some() {
        true if left => {
            tokio::spawn(ask(presenter.clone(), thread.clone(), again, message));
        }
        _ if *status == ItemStatus::Completed => presenter.message(Severity::Info, &message),
        // The error of the turn has the same words.
        _ if !presenter.shared.client.can.plugin => {}
        _ => presenter.message(Severity::Error, &message),
    }
}

async fn ask(presenter: Presenter, thread: ThreadId, request: Request, message: String) {
    let chosen = presenter.choose(Severity::Warning, &message, [RESTORE, KEEP]).await;
    if chosen.as_deref() != Some(RESTORE) {
        return;
    }
    let done = match presenter.shared.agent.get(&thread) {
        Ok(thread) => thread.undo(request).await.map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = done {
        presenter.message(Severity::Error, &error.to_string());
    }
}
