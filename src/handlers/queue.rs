//! `countersign/turn/queue/…`: what the person wants to say after the running turn.

use crate::agent::thread::{Added, QueueChange, Start};
use crate::ids::ThreadId;
use crate::lsp::error::RequestError;
use crate::protocol::queue::{
    TurnQueueAddParams, TurnQueueAddResult, TurnQueueEditParams, TurnQueueListParams, TurnQueueRemoveParams,
    TurnQueueReorderParams, TurnQueueResult, TurnQueueResumeParams,
};
use crate::server::call::after_reply;
use crate::server::session::Session;

pub async fn add(session: &Session, params: TurnQueueAddParams) -> Result<TurnQueueAddResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let start = Start {
        content: params.input,
        context: params.context,
        settings: params.settings,
        output_schema: params.output_schema,
        metadata: params.metadata.unwrap_or_default(),
        client_id: params.client_user_message_id,
        not_before_ms: params.not_before_ms,
        ..Start::default()
    };
    let mut result = TurnQueueAddResult {
        queued: None,
        turn: None,
    };
    match thread.queue(start).await? {
        Added::Waits(queued) => result.queued = Some(queued),
        Added::Begins(started) => {
            result.turn = Some(started.turn.clone());
            after_reply(move || drop(started));
        }
    }
    Ok(result)
}

async fn change(session: &Session, thread: &ThreadId, change: QueueChange) -> Result<TurnQueueResult, RequestError> {
    let thread = session.agent().reach(thread).await?;
    let queue = thread.change_queue(change).await?;
    Ok(TurnQueueResult { queue })
}

pub async fn list(session: &Session, params: TurnQueueListParams) -> Result<TurnQueueResult, RequestError> {
    change(session, &params.thread_id, QueueChange::Look).await
}

pub async fn edit(session: &Session, params: TurnQueueEditParams) -> Result<TurnQueueResult, RequestError> {
    let edit = QueueChange::Edit {
        id: params.queued_id,
        input: params.input,
    };
    change(session, &params.thread_id, edit).await
}

pub async fn remove(session: &Session, params: TurnQueueRemoveParams) -> Result<TurnQueueResult, RequestError> {
    let remove = params.queued_id.map_or(QueueChange::Clear, QueueChange::Remove);
    change(session, &params.thread_id, remove).await
}

pub async fn reorder(session: &Session, params: TurnQueueReorderParams) -> Result<TurnQueueResult, RequestError> {
    change(session, &params.thread_id, QueueChange::Reorder(params.queued_ids)).await
}

pub async fn resume(session: &Session, params: TurnQueueResumeParams) -> Result<TurnQueueResult, RequestError> {
    change(session, &params.thread_id, QueueChange::Resume).await
}
