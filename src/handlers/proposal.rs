//! `countersign/proposal/…`.

use crate::agent::AgentError;
use crate::lsp::error::RequestError;
use crate::protocol::proposal::{
    ProposalDecideParams, ProposalDecideResult, ProposalEditParams, ProposalEditResult, ProposalListParams,
    ProposalListResult, ProposalReadParams, ProposalReadResult,
};
use crate::server::session::Session;

pub fn list(session: &Session, params: &ProposalListParams) -> Result<ProposalListResult, RequestError> {
    let data = session
        .agent()
        .desk()
        .proposals
        .list(params.thread_id.as_ref(), params.include_settled);
    Ok(ProposalListResult { data })
}

pub fn read(session: &Session, params: &ProposalReadParams) -> Result<ProposalReadResult, RequestError> {
    let proposal = session
        .agent()
        .desk()
        .proposals
        .read(&params.proposal_id)
        .map_err(AgentError::from)?;
    Ok(ProposalReadResult { proposal })
}

pub fn decide(session: &Session, params: &ProposalDecideParams) -> Result<ProposalDecideResult, RequestError> {
    let proposal = session
        .agent()
        .desk()
        .proposals
        .decide(params)
        .map_err(AgentError::from)?;
    Ok(ProposalDecideResult { proposal })
}

pub fn edit(session: &Session, params: &ProposalEditParams) -> Result<ProposalEditResult, RequestError> {
    let proposal = session
        .agent()
        .desk()
        .proposals
        .edit(params)
        .map_err(AgentError::from)?;
    Ok(ProposalEditResult { proposal })
}
