//! `countersign/sandbox/status`, and the word to the person where commands are confined less well than they could be.

use crate::exec;
use crate::lsp::error::RequestError;
use crate::protocol::sandbox::{SandboxStatusParams, SandboxStatusResult};
use crate::server::presenter::Severity;
use crate::server::session::Session;

/// The walls are tried anew each time, by a process that lives for some milliseconds.
pub async fn status(_params: SandboxStatusParams) -> Result<SandboxStatusResult, RequestError> {
    tokio::task::spawn_blocking(|| exec::support().status())
        .await
        .map_err(|error| RequestError::internal(format!("trying the walls of the sandbox failed: {error}")))
}

/// Tells the person, with the first thread of the session and in the background, if walls are missing. Where all stand there
/// is nothing to say, and who starts no thread need not wait for the trial.
pub fn tell_what_is_missing(session: &Session) {
    session.first_thread().call_once(|| {
        let session = session.clone();
        tokio::spawn(async move {
            let Ok(support) = tokio::task::spawn_blocking(exec::support).await else {
                return;
            };
            if let Some((serious, words)) = support.notice() {
                let severity = if serious { Severity::Error } else { Severity::Warning };
                session.presenter().message(severity, &words);
            }
        });
    });
}
