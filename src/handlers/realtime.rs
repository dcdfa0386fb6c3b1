//! `countersign/realtime/…`: speech beside the written conversation. Nothing here waits for the endpoint, and nothing is
//! sent to it unless a client has asked.

use crate::agent::realtime;
use crate::lsp::error::RequestError;
use crate::protocol::realtime::{
    RealtimeAudioParams, RealtimeAudioResult, RealtimeCloseParams, RealtimeCloseResult, RealtimeStartParams,
    RealtimeStartResult, RealtimeTextParams, RealtimeTextResult, RealtimeVoicesResult,
};
use crate::realtime::{MOST_PIECE, MOST_TEXT, SAMPLE_RATE, Said, catalogue};
use crate::server::call::after_reply;
use crate::server::session::Session;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub async fn start(session: &Session, params: RealtimeStartParams) -> Result<RealtimeStartResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let begun = realtime::start(&thread, params)?;
    let result = begun.result.clone();
    after_reply(move || drop(begun));
    Ok(result)
}

pub async fn audio(session: &Session, params: RealtimeAudioParams) -> Result<RealtimeAudioResult, RequestError> {
    let audio = params.audio;
    let refuse = |what: String| Err(RequestError::invalid_params(what));
    if audio.data.len() > MOST_PIECE.div_ceil(3) * 4 {
        return refuse(format!(
            "A piece of sound may have {MOST_PIECE} bytes, and this one has more. Send it in several pieces."
        ));
    }
    let Ok(sound) = STANDARD.decode(&audio.data) else {
        return refuse("`audio.data` is no base64 (with padding, of the usual alphabet).".to_owned());
    };
    if sound.is_empty() || sound.len() % 2 != 0 {
        let length = sound.len();
        return refuse(format!(
            "`audio.data` has {length} bytes. Send whole samples of 16 bits, and at least one."
        ));
    }
    if audio.sample_rate != SAMPLE_RATE || audio.channels != 1 {
        return refuse(format!(
            "The endpoint hears one channel with {SAMPLE_RATE} samples a second, not {} with {}. Convert the sound before it is \
             sent.",
            audio.channels, audio.sample_rate
        ));
    }
    let thread = session.agent().reach(&params.thread_id).await?;
    thread.conversation().voice.say(Said::Audio(audio.data))?;
    Ok(RealtimeAudioResult {})
}

pub async fn text(session: &Session, params: RealtimeTextParams) -> Result<RealtimeTextResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let text = params.text;
    if text.trim().is_empty() {
        return Err(RequestError::invalid_params(
            "There is nothing to say: `text` is empty.".to_owned(),
        ));
    }
    if text.len() > MOST_TEXT {
        return Err(RequestError::invalid_params(format!(
            "A voice takes {MOST_TEXT} bytes of text at one time, and this has {}. Say less, or ask the agent in writing.",
            text.len()
        )));
    }
    thread.conversation().voice.say(Said::Text(text))?;
    Ok(RealtimeTextResult {})
}

pub async fn close(session: &Session, params: RealtimeCloseParams) -> Result<RealtimeCloseResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    Ok(RealtimeCloseResult {
        closing: thread.conversation().voice.close(),
    })
}

pub fn voices() -> RealtimeVoicesResult {
    catalogue()
}
