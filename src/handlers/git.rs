//! `countersign/git/diffToRemote`. Git runs in the background and ends with the request.

use crate::exec::git::{self, Stop};
use crate::lsp::error::RequestError;
use crate::protocol::error;
use crate::protocol::git::{GitDiffToRemoteParams, GitDiffToRemoteResult};
use crate::server::session::Session;

/// Ends git when the request is dropped.
struct EndWithRequest(Stop);

impl Drop for EndWithRequest {
    fn drop(&mut self) {
        self.0.stop();
    }
}

pub async fn diff_to_remote(
    session: &Session,
    params: GitDiffToRemoteParams,
) -> Result<GitDiffToRemoteResult, RequestError> {
    let running = EndWithRequest(Stop::default());
    let (services, stop, folder) = (
        session.agent().services().clone(),
        running.0.clone(),
        params.cwd.clone(),
    );
    let work = move || git::diff_to_remote(&folder, &services.env, &services.home.join("tmp"), &stop);
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(git::Difference { sha, diff })) => Ok(GitDiffToRemoteResult { sha, diff }),
        Ok(Err(reason)) => Err(RequestError::failed(
            error::NO_DIFFERENCE,
            format!(
                "There is no difference to a remote for {}: {reason}.",
                params.cwd.display()
            ),
        )),
        Err(error) => Err(RequestError::internal(format!(
            "comparing with the remote broke off: {error}"
        ))),
    }
}
