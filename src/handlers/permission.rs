//! `countersign/permissions/…`.

use crate::agent::{AgentError, permissions};
use crate::lsp::error::RequestError;
use crate::protocol::permission::{PermissionProfilesParams, PermissionProfilesResult};
use crate::server::session::Session;

pub async fn profiles(
    session: &Session,
    params: PermissionProfilesParams,
) -> Result<PermissionProfilesResult, RequestError> {
    let first = session.workspace().roots().into_iter().next();
    let (agent, cwd) = (session.agent().clone(), params.cwd.or(first));
    let loading = tokio::task::spawn_blocking(move || agent.load_config(cwd.as_deref(), None));
    let loaded = loading
        .await
        .map_err(|error| RequestError::internal(error.to_string()))?;
    Ok(permissions::list(&loaded.map_err(AgentError::from)?.config))
}
