//! `countersign/history/…`: the file is looked at beside the loop.

use crate::agent::{Agent, AgentError, typed};
use crate::lsp::error::RequestError;
use crate::protocol::history::{
    HistoryAppendParams, HistoryAppendResult, HistoryListParams, HistoryListResult, HistoryReadParams,
    HistoryReadResult,
};
use crate::server::session::Session;

pub async fn read(session: &Session, params: HistoryReadParams) -> Result<HistoryReadResult, RequestError> {
    blocking(session, move |agent| typed::read(agent, params)).await
}

pub async fn list(session: &Session, params: HistoryListParams) -> Result<HistoryListResult, RequestError> {
    blocking(session, move |agent| typed::list(agent, &params)).await
}

pub async fn append(session: &Session, params: HistoryAppendParams) -> Result<HistoryAppendResult, RequestError> {
    let append = move |agent: &Agent| typed::append(agent, params.thread_id.as_ref(), &params.text);
    let kept = blocking(session, append).await?;
    Ok(HistoryAppendResult { kept })
}

/// Beside the loop, and in the order in which it was asked for.
async fn blocking<T: Send + 'static>(
    session: &Session,
    work: impl FnOnce(&Agent) -> Result<T, AgentError> + Send + 'static,
) -> Result<T, RequestError> {
    let (order, agent) = (session.agent().typed_in_order().await, session.agent().clone());
    let work = move || {
        let _until_done = order;
        work(&agent)
    };
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|error| RequestError::internal(error.to_string()))??)
}
