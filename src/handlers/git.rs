//! `countersign/git/diffToRemote`. Git runs in the background and ends with the request.

use crate::exec::git::{self, DiffError};
use crate::lsp::error::RequestError;
use crate::protocol::error;
use crate::protocol::git::{GitDiffToRemoteParams, GitDiffToRemoteResult};
use crate::server::session::Session;

pub async fn diff_to_remote(
    session: &Session,
    params: GitDiffToRemoteParams,
) -> Result<GitDiffToRemoteResult, RequestError> {
    let desk = session.agent().desk();
    let difference = git::diff_to_remote(&params.cwd, &desk.env, &desk.home.join("tmp")).await;
    match difference {
        Ok(difference) => Ok(GitDiffToRemoteResult {
            sha: difference.sha,
            diff: difference.diff,
        }),
        Err(DiffError { folder, reason }) => Err(RequestError::failed(
            error::NO_DIFFERENCE,
            format!("There is no difference to a remote for {}: {reason}.", folder.display()),
        )),
    }
}
