//! Why there is no realtime conversation, or no more.

use crate::model::ModelError;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum RealtimeError {
    /// The endpoint could not be reached, or refused.
    #[error("{}", .0.message())]
    Endpoint(ModelError),
    #[error(
        "The voice endpoint at {url} was not ready within {} s. Check that it serves realtime conversations ([realtime] in \
         config.toml has base_url, model and start_timeout_ms), then start again.",
        limit.as_secs_f64()
    )]
    NoAnswer { url: String, limit: Duration },
    /// It said so itself before it was ready.
    #[error("The voice endpoint refused to start: {} Change [realtime] in config.toml, or what was asked for.", sentence(.0))]
    Refused(String),
    #[error("The voice endpoint ended the conversation{}. Start it again to go on speaking.", because(.0))]
    Ended(Option<String>),
    #[error("The connection to the voice endpoint broke: {0}. Start again to go on speaking.")]
    Broken(String),
    #[error("The voice endpoint sent a message of more than {} MiB, which is not read. Start again to go on speaking.", .0 >> 20)]
    TooLarge(usize),
    #[error(
        "What the voice endpoint sends cannot be understood ({0}). Check that base_url leads to a realtime endpoint and that \
         version fits it ([realtime] in config.toml)."
    )]
    Garbage(String),
    #[error("The voice endpoint reports one error after the other ({0}). Fix what it says, then start again.")]
    Failing(String),
    #[error("The voice endpoint takes nothing any more. Start again to go on speaking.")]
    Stuck,
}

fn sentence(text: &str) -> String {
    match text.trim_end() {
        ended if ended.ends_with(['.', '!', '?']) => ended.to_owned(),
        open => format!("{open}."),
    }
}

fn because(reason: &Option<String>) -> String {
    reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default()
}
