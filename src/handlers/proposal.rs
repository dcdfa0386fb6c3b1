//! `countersign/proposal/…`.

use crate::agent::AgentError;
use crate::agent::proposals::Proposals;
use crate::lsp::error::RequestError;
use crate::protocol::proposal::{
    ProposalDecideParams, ProposalDecideResult, ProposalEditParams, ProposalEditResult, ProposalListParams,
    ProposalListResult, ProposalReadParams, ProposalReadResult,
};
use crate::server::session::Session;
use crate::workspace::uri;
use lsp_types::RenameFilesParams;
use std::path::PathBuf;

pub async fn list(session: &Session, params: ProposalListParams) -> Result<ProposalListResult, RequestError> {
    let data = aside(session, move |proposals| {
        proposals.list(params.thread_id.as_ref(), params.include_settled)
    });
    Ok(ProposalListResult { data: data.await? })
}

pub async fn read(session: &Session, params: ProposalReadParams) -> Result<ProposalReadResult, RequestError> {
    let proposal = aside(session, move |proposals| proposals.read(&params.proposal_id));
    let proposal = proposal.await?.map_err(AgentError::from)?;
    Ok(ProposalReadResult { proposal })
}

/// Answered when the decision is on the disk too.
pub async fn decide_and_keep(
    session: &Session,
    params: ProposalDecideParams,
) -> Result<ProposalDecideResult, RequestError> {
    let turn = session.decisions().await;
    let proposal = aside(session, move |proposals| {
        let _until_decided = turn;
        proposals.decide(&params)
    });
    let proposal = proposal.await?.map_err(AgentError::from)?;
    session.agent().services().proposals.saved(&proposal.id).await;
    Ok(ProposalDecideResult { proposal })
}

/// Answered when the edit is on the disk too.
pub async fn edit(session: &Session, params: ProposalEditParams) -> Result<ProposalEditResult, RequestError> {
    let turn = session.decisions().await;
    let proposal = aside(session, move |proposals| {
        let _until_edited = turn;
        proposals.edit(&params)
    });
    let proposal = proposal.await?.map_err(AgentError::from)?;
    session.agent().services().proposals.saved(&proposal.id).await;
    Ok(ProposalEditResult { proposal })
}

/// Files were renamed in the editor: what waits for them follows.
pub fn renamed(session: &Session, params: &RenameFilesParams) {
    let renames: Vec<_> = params
        .files
        .iter()
        .filter_map(|file| Some((path(&file.old_uri)?, path(&file.new_uri)?)))
        .collect();
    let proposals = session.agent().services().proposals.clone();
    tokio::task::spawn_blocking(move || {
        for (from, to) in renames {
            proposals.renamed(&from, &to);
        }
    });
}

fn path(uri: &str) -> Option<PathBuf> {
    uri::to_path(uri).ok().flatten()
}

/// Files are read where that holds up nothing.
async fn aside<T: Send + 'static>(
    session: &Session,
    work: impl FnOnce(&Proposals) -> T + Send + 'static,
) -> Result<T, RequestError> {
    let proposals = session.agent().services().proposals.clone();
    tokio::task::spawn_blocking(move || work(&proposals))
        .await
        .map_err(|error| RequestError::internal(error.to_string()))
}
