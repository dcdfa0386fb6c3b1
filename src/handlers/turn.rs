//! `countersign/turn/…`: answered at once; the story follows as notifications.

use crate::agent::pending::Input;
use crate::agent::thread::Start;
use crate::lsp::error::RequestError;
use crate::protocol::turn::{
    TurnInterruptParams, TurnInterruptResult, TurnRetryNowParams, TurnRetryNowResult, TurnStartParams, TurnStartResult,
    TurnSteerParams, TurnSteerResult,
};
use crate::server::call::after_reply;
use crate::server::session::Session;

pub async fn start(session: &Session, params: TurnStartParams) -> Result<TurnStartResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    // What comes while the disk is looked at is about this turn.
    let order = thread.in_order().await;
    session.agent().follow_config(&thread).await;
    thread.check_prompt(&params.input).await?;
    let typed = params.input.clone();
    let start = Start {
        content: params.input,
        context: params.context.or_else(|| session.own_context()),
        settings: params.settings,
        output_schema: params.output_schema,
        metadata: params.metadata.unwrap_or_default(),
        client_id: params.client_user_message_id,
        by_agent: false,
        spoken: params.spoken,
        not_before_ms: None,
        again: None,
    };
    let started = thread.start_turn_in(order, start).await?;
    thread.keep_typed(&typed);
    let result = TurnStartResult {
        turn: started.turn.clone(),
        steered: started.steered,
    };
    after_reply(move || drop(started));
    Ok(result)
}

pub async fn steer(session: &Session, params: TurnSteerParams) -> Result<TurnSteerResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let order = thread.in_order().await;
    thread.check_prompt(&params.input).await?;
    let typed = params.input.clone();
    let input = Input {
        content: params.input,
        context: None,
        client_id: params.client_user_message_id,
        metadata: params.metadata.unwrap_or_default(),
        by_agent: false,
        spoken: params.spoken,
    };
    let started = thread.steer(order, params.expected_turn_id, input).await?;
    thread.keep_typed(&typed);
    let turn_id = started.turn.id.clone();
    after_reply(move || drop(started));
    Ok(TurnSteerResult { turn_id })
}

pub async fn interrupt(session: &Session, params: TurnInterruptParams) -> Result<TurnInterruptResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let interrupted = thread.interrupt(params.turn_id).await?;
    Ok(TurnInterruptResult { interrupted })
}

/// A thread that is not live has no turn that waits.
pub fn retry_now(session: &Session, params: &TurnRetryNowParams) -> Result<TurnRetryNowResult, RequestError> {
    let thread = session.agent().get(&params.thread_id)?;
    let retrying = thread.running_turn().is_some_and(|turn| turn.retry_now());
    Ok(TurnRetryNowResult { retrying })
}
