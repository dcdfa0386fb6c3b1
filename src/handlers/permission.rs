//! `countersign/permissions/…`.

use crate::agent::{AgentError, permissions};
use crate::lsp::error::RequestError;
use crate::protocol::permission::{PermissionProfilesParams, PermissionProfilesResult};
use crate::server::session::Session;

pub fn profiles(
    session: &Session,
    params: &PermissionProfilesParams,
) -> Result<PermissionProfilesResult, RequestError> {
    let first = session.workspace().roots().into_iter().next();
    let cwd = params.cwd.clone().or(first);
    let loaded = session
        .agent()
        .load_config(cwd.as_deref(), None)
        .map_err(AgentError::from)?;
    Ok(permissions::list(&loaded.config))
}
