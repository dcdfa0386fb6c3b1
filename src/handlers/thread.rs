//! `countersign/thread/…`.

use super::sandbox;
use crate::agent::Opened;
use crate::agent::person::OwnCommand;
use crate::lsp::error::RequestError;
use crate::protocol::command::{ThreadShellCommandParams, ThreadShellCommandResult};
use crate::protocol::thread::{
    ThreadListParams, ThreadListResult, ThreadReadParams, ThreadReadResult, ThreadResumeParams, ThreadStartParams,
    ThreadStartResult,
};
use crate::server::call::after_reply;
use crate::server::session::Session;
use std::time::Duration;

pub async fn start(session: &Session, params: ThreadStartParams) -> Result<ThreadStartResult, RequestError> {
    let opened = session.agent().start_thread(params).await?;
    Ok(opened_result(session, opened, false))
}

pub async fn resume(session: &Session, params: ThreadResumeParams) -> Result<ThreadStartResult, RequestError> {
    let opened = session.agent().resume_thread(params).await?;
    Ok(opened_result(session, opened, true))
}

/// The answer; the thread's events follow it.
fn opened_result(session: &Session, opened: Opened, include_turns: bool) -> ThreadStartResult {
    let Opened {
        handle,
        instruction_sources,
    } = opened;
    let result = ThreadStartResult {
        thread: handle.snapshot(include_turns),
        settings: handle.settings(),
        instruction_sources,
    };
    let session = session.clone();
    after_reply(move || {
        session.presenter().attach(&handle);
        sandbox::tell_what_is_missing(&session);
    });
    result
}

/// Runs a command of the person's own; its events follow the answer.
pub async fn shell_command(
    session: &Session,
    params: ThreadShellCommandParams,
) -> Result<ThreadShellCommandResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let command = OwnCommand::new(&params.command, params.timeout_ms.map(Duration::from_millis))?;
    let item_id = command.item_id.clone();
    let started = thread.run_own(command).await?;
    let result = ThreadShellCommandResult {
        turn_id: started.turn.id.clone(),
        item_id,
        joined: started.steered,
    };
    after_reply(move || drop(started));
    Ok(result)
}

pub async fn list(session: &Session, params: ThreadListParams) -> Result<ThreadListResult, RequestError> {
    let agent = session.agent().clone();
    blocking(move || agent.list_threads(&params)).await
}

pub async fn read(session: &Session, params: ThreadReadParams) -> Result<ThreadReadResult, RequestError> {
    let agent = session.agent().clone();
    let thread = blocking(move || agent.read_thread(&params.thread_id, params.include_turns)).await?;
    Ok(ThreadReadResult { thread })
}

/// Reading the store is disk work.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, crate::agent::AgentError> + Send + 'static,
) -> Result<T, RequestError> {
    let done = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| RequestError::internal(error.to_string()))?;
    Ok(done?)
}
