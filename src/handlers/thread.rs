//! `countersign/thread/…`.

use super::sandbox;
use crate::agent::Opened;
use crate::agent::person::OwnCommand;
use crate::agent::stream::Stream;
use crate::agent::thread::ThreadHandle;
use crate::ids::{SubscriptionId, ThreadId, TurnId};
use crate::lsp::error::RequestError;
use crate::protocol::agent::{ThreadSendParams, ThreadSendResult};
use crate::protocol::command::{ThreadShellCommandParams, ThreadShellCommandResult};
use crate::protocol::context::{ThreadContextParams, ThreadContextResult};
use crate::protocol::error;
use crate::protocol::thread::*;
use crate::server::call::after_reply;
use crate::server::presenter::Severity;
use crate::server::session::Session;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub async fn start(session: &Session, params: ThreadStartParams) -> Result<ThreadStartResult, RequestError> {
    let opened = session.agent().start_thread(params).await?;
    Ok(opened_result(session, opened, false))
}

pub async fn resume(session: &Session, params: ThreadResumeParams) -> Result<ThreadStartResult, RequestError> {
    let opened = session.agent().resume_thread(params).await?;
    Ok(opened_result(session, opened, true))
}

pub async fn fork(session: &Session, params: ThreadForkParams) -> Result<ThreadStartResult, RequestError> {
    let opened = session.agent().fork_thread(params).await?;
    Ok(opened_result(session, opened, true))
}

pub async fn rollback(session: &Session, params: ThreadRollbackParams) -> Result<ThreadRollbackResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let num_turns = thread.roll_back(params.num_turns, params.expected_turn_id).await?;
    Ok(ThreadRollbackResult {
        thread: thread.snapshot(true),
        num_turns,
        message: rolled_back(num_turns),
    })
}

/// What the person is told of a rollback.
pub fn rolled_back(num_turns: u32) -> String {
    let turns = match num_turns {
        1 => "The last turn is".to_owned(),
        more => format!("The last {more} turns are"),
    };
    format!("{turns} gone from the conversation. Files stay as they are; undo is for those.")
}

pub async fn archive(session: &Session, params: ThreadArchiveParams) -> Result<ThreadArchiveResult, RequestError> {
    let stream = session.agent().archive_thread(&params.thread_id).await?;
    show_after(session, params.thread_id, stream);
    Ok(ThreadArchiveResult {})
}

pub async fn unarchive(
    session: &Session,
    params: ThreadUnarchiveParams,
) -> Result<ThreadUnarchiveResult, RequestError> {
    let (thread, stream) = session.agent().unarchive_thread(&params.thread_id).await?;
    show_after(session, thread.id.clone(), stream);
    Ok(ThreadUnarchiveResult { thread })
}

pub async fn delete(session: &Session, params: ThreadDeleteParams) -> Result<ThreadDeleteResult, RequestError> {
    let stream = session.agent().delete_thread(&params.thread_id).await?;
    show_after(session, params.thread_id, stream);
    Ok(ThreadDeleteResult {})
}

pub async fn name_set(session: &Session, params: ThreadNameSetParams) -> Result<ThreadNameSetResult, RequestError> {
    let thread = session.agent().name_thread(&params.thread_id, &params.name).await?;
    let (told, speaker) = (thread.clone(), session.clone());
    after_reply(move || {
        let stream = speaker.agent().tell_name(&told);
        if speaker.agent().thread(&told.id).is_none() {
            speaker.presenter().attach_stream(&told.id, &stream);
        }
    });
    Ok(ThreadNameSetResult { thread })
}

pub async fn memory_mode_set(
    session: &Session,
    params: ThreadMemoryModeSetParams,
) -> Result<ThreadMemoryModeSetResult, RequestError> {
    let thread = session.agent().set_memory_mode(&params.thread_id, params.mode).await?;
    Ok(ThreadMemoryModeSetResult { thread })
}

pub async fn search(session: &Session, params: ThreadSearchParams) -> Result<ThreadSearchResult, RequestError> {
    let agent = session.agent().clone();
    blocking(move || agent.search_threads(&params)).await
}

/// Shows what happened to a thread that is not live any more: after the answer, and after the last event of its life.
pub(super) fn show_after(session: &Session, thread: ThreadId, stream: Stream) {
    let session = session.clone();
    after_reply(move || {
        tokio::spawn(async move {
            session.presenter().shown_to_end(&thread).await;
            session.presenter().attach_stream(&thread, &stream);
        });
    });
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

pub async fn subscribe(
    session: &Session,
    params: ThreadSubscribeParams,
) -> Result<ThreadSubscribeResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let listening = thread.conversation().listen(params.after_seq, params.raw);
    if let Some(after) = params.after_seq.filter(|after| *after > listening.last_seq) {
        return Err(RequestError::invalid_params(format!(
            "Thread {} has come to event {} and not yet to {after}: that number is of an earlier life of it. Subscribe without \
             afterSeq, or with 0 for all that is kept.",
            params.thread_id, listening.last_seq
        )));
    }
    let subscription_id = SubscriptionId::fresh();
    let held = session
        .subscriptions()
        .begin(subscription_id.clone(), listening.subscription);
    after_reply(move || drop(held));
    let gap = |(first_seq, last_seq)| MissingEvents { first_seq, last_seq };
    Ok(ThreadSubscribeResult {
        subscription_id,
        last_seq: listening.last_seq,
        missing: listening.missing.map(gap),
    })
}

pub async fn unsubscribe(
    session: &Session,
    params: ThreadUnsubscribeParams,
) -> Result<ThreadUnsubscribeResult, RequestError> {
    match session.subscriptions().end(&params.subscription_id).await {
        true => Ok(ThreadUnsubscribeResult {}),
        false => Err(RequestError::failed(
            error::SUBSCRIPTION_NOT_FOUND,
            format!(
                "There is no subscription {}: it was ended already, or its thread has ended. Nothing is sent for it.",
                params.subscription_id
            ),
        )),
    }
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

/// What fills the window of a conversation's model. A long history is measured beside the loop.
pub async fn context(session: &Session, params: ThreadContextParams) -> Result<ThreadContextResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let measured = tokio::task::spawn_blocking(move || thread.context()).await;
    measured.map_err(|error| RequestError::internal(error.to_string()))
}

/// Has the conversation summed up; the turn that does it follows the answer.
pub async fn compact(session: &Session, params: ThreadCompactParams) -> Result<ThreadCompactResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let started = thread.compact().await?;
    let turn_id = started.turn.id.clone();
    after_reply(move || drop(started));
    Ok(ThreadCompactResult { turn_id })
}

/// What the command may name; without it the conversation that was used last is meant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Which {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
}

/// What *Send again* was offered for. Without a turn the last one is meant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Again {
    #[serde(flatten)]
    which: Which,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<TurnId>,
}

impl Again {
    pub fn of(thread: &ThreadHandle, turn: TurnId) -> Self {
        Self {
            which: Which {
                thread_id: Some(thread.id().clone()),
            },
            turn_id: Some(turn),
        }
    }
}

/// Has a conversation summed up, in the background; its turn shows as any other.
pub(super) fn compact_last(session: &Session, which: Which) {
    in_thread(session, which, |thread| {
        async move {
            let started = thread.compact().await;
            started.map(|_| None).map_err(|error| error.to_string())
        }
        .boxed()
    });
}

/// Has the message of a turn that an allowance stopped sent again once that is open.
pub(super) fn send_again(session: &Session, again: Again) {
    let Again { which, turn_id } = again;
    in_thread(session, which, |thread| {
        async move { thread.send_again(turn_id).await.map(Some) }.boxed()
    });
}

/// Takes that back.
pub(super) fn do_not_send(session: &Session, which: Which) {
    in_thread(session, which, |thread| {
        async move { thread.do_not_send().await.map(Some) }.boxed()
    });
}

/// Does something with a conversation, in the background, and shows what it says.
fn in_thread(
    session: &Session,
    which: Which,
    work: impl FnOnce(ThreadHandle) -> BoxFuture<'static, Result<Option<String>, String>> + Send + 'static,
) {
    let session = session.clone();
    tokio::spawn(async move {
        let agent = session.agent();
        let thread = match which.thread_id {
            Some(id) => agent.reach(&id).await.map_err(|error| error.to_string()),
            None => {
                let live = agent.live().into_iter();
                let last = live.max_by_key(|thread| thread.snapshot(false).updated_at_ms);
                last.ok_or_else(|| "No conversation is open.".to_owned())
            }
        };
        let done = match thread {
            Ok(thread) => work(thread).await,
            Err(message) => Err(message),
        };
        match done {
            Ok(Some(message)) => session.presenter().message(Severity::Info, &message),
            Ok(None) => {}
            Err(message) => session.presenter().message(Severity::Error, &message),
        }
    });
}

/// Takes a message that the person did not write.
pub async fn send(session: &Session, params: ThreadSendParams) -> Result<ThreadSendResult, RequestError> {
    Ok(session.agent().send(params).await?)
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
