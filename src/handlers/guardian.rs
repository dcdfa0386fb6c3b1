//! `countersign/guardian/approveDenied`.

use crate::lsp::error::RequestError;
use crate::protocol::guardian::{GuardianApproveDeniedParams, GuardianApproveDeniedResult};
use crate::server::session::Session;

pub async fn approve_denied(
    session: &Session,
    params: GuardianApproveDeniedParams,
) -> Result<GuardianApproveDeniedResult, RequestError> {
    let thread = session.agent().reach(&params.thread_id).await?;
    let taken = thread.approve_denied(&params.assessment_id).await?;
    Ok(GuardianApproveDeniedResult { taken })
}
