//! `countersign/config/read`.

use crate::agent::AgentError;
use crate::lsp::error::RequestError;
use crate::protocol::config::{ConfigReadParams, ConfigReadResult};
use crate::server::session::Session;

pub fn read(session: &Session, params: &ConfigReadParams) -> Result<ConfigReadResult, RequestError> {
    let loaded = session
        .agent()
        .load_config(params.cwd.as_deref(), None)
        .map_err(AgentError::from)?;
    let rules = session.agent().desk().rules(&loaded.config);
    let mut result = loaded.read_result();
    result.warnings.extend_from_slice(rules.reports());
    Ok(result)
}
