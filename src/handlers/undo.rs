//! `countersign/turn/undo` and `countersign/turn/diff`, and the same as commands for editors without a plugin.

use crate::agent::undo::Request;
use crate::lsp::error::RequestError;
use crate::protocol::undo::{TurnDiffParams, TurnDiffResult, TurnUndoParams, TurnUndoResult};
use crate::server::call::after_reply;
use crate::server::session::Session;

pub async fn undo(session: &Session, params: TurnUndoParams) -> Result<TurnUndoResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let started = thread
        .undo(Request {
            turn: params.turn_id,
            conflicts: params.conflicts,
        })
        .await?;
    let turn_id = started.turn.id.clone();
    after_reply(move || drop(started));
    Ok(TurnUndoResult { turn_id })
}

pub async fn diff(session: &Session, params: TurnDiffParams) -> Result<TurnDiffResult, RequestError> {
    let agent = session.agent().clone();
    // Reads the thread and the turn's record.
    let read = tokio::task::spawn_blocking(move || agent.turn_diff(&params.thread_id, params.turn_id.as_ref()));
    let read = read
        .await
        .map_err(|error| RequestError::internal(format!("the diff was not made: {error}")))?;
    Ok(read?)
}
