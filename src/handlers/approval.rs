//! `countersign/approval/respond`.

use crate::lsp::error::RequestError;
use crate::protocol::approval::{ApprovalRespondParams, ApprovalRespondResult};
use crate::server::session::Session;

pub fn respond(session: &Session, params: ApprovalRespondParams) -> Result<ApprovalRespondResult, RequestError> {
    let taken = session
        .agent()
        .services()
        .approvals
        .answer(&params.approval_id, params.response);
    Ok(ApprovalRespondResult { taken })
}
