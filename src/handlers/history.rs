//! `countersign/history/…`: the file is looked at beside the loop.

use crate::agent::{AgentError, typed};
use crate::lsp::error::RequestError;
use crate::protocol::history::{
    HistoryAppendParams, HistoryAppendResult, HistoryListParams, HistoryListResult, HistoryReadParams,
    HistoryReadResult,
};
use crate::server::session::Session;

pub async fn read(session: &Session, params: HistoryReadParams) -> Result<HistoryReadResult, RequestError> {
    let agent = session.agent().clone();
    blocking(move || typed::read(&agent, params)).await
}

pub async fn list(session: &Session, params: HistoryListParams) -> Result<HistoryListResult, RequestError> {
    let agent = session.agent().clone();
    blocking(move || typed::list(&agent, &params)).await
}

pub fn append(session: &Session, params: &HistoryAppendParams) -> Result<HistoryAppendResult, RequestError> {
    let kept = typed::append(session.agent(), params.thread_id.as_ref(), &params.text)?;
    Ok(HistoryAppendResult { kept })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AgentError> + Send + 'static,
) -> Result<T, RequestError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|error| RequestError::internal(error.to_string()))??)
}
