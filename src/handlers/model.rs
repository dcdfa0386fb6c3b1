//! `countersign/model/list`.

use crate::agent::AgentError;
use crate::lsp::error::RequestError;
use crate::model::catalogue;
use crate::protocol::model::{ModelListParams, ModelListResult};
use crate::server::session::Session;

pub fn list(session: &Session, params: &ModelListParams) -> Result<ModelListResult, RequestError> {
    let config = session
        .agent()
        .load_config(None, None)
        .map_err(AgentError::from)?
        .config;
    let models = match config.provider(&config.model_provider) {
        Ok(provider) => catalogue::offered(
            &config.model_provider,
            provider,
            config.model.as_deref().unwrap_or_default(),
        ),
        Err(_) => Vec::new(),
    };
    let start = match &params.cursor {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .ok()
            .filter(|start| *start <= models.len())
            .ok_or_else(|| {
                RequestError::failed(
                    crate::protocol::error::INVALID_CURSOR,
                    format!("The cursor {cursor} is not one of this list; start again without a cursor."),
                )
            })?,
    };
    let limit = params.limit.map_or(models.len(), |limit| limit.max(1) as usize);
    let end = start.saturating_add(limit).min(models.len());
    let next_cursor = (end < models.len()).then(|| end.to_string());
    Ok(ModelListResult {
        data: models[start..end].to_vec(),
        next_cursor,
    })
}
