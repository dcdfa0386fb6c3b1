//! `countersign/config/…`.

use crate::agent::AgentError;
use crate::config::edit::{self, Edit, EditError};
use crate::config::{self};
use crate::lsp::error::RequestError;
use crate::protocol::config::{
    ConfigReadParams, ConfigReadResult, ConfigReloadParams, ConfigReloadResult, ConfigWriteParams, ConfigWriteResult,
};
use crate::protocol::error::{CONFIG_NOT_WRITTEN, CONTENT_MODIFIED, INVALID_CONFIG};
use crate::server::session::Session;
use std::path::PathBuf;

pub async fn read(session: &Session, params: ConfigReadParams) -> Result<ConfigReadResult, RequestError> {
    let agent = session.agent().clone();
    let reading = tokio::task::spawn_blocking(move || -> Result<_, AgentError> {
        if params.saved {
            return Ok(config::saved(&agent.services().home)?);
        }
        let loaded = agent.load_config(params.cwd.as_deref(), None)?;
        let rules = agent.services().rules(&loaded.config);
        let mut result = loaded.read_result();
        result.warnings.extend_from_slice(rules.reports());
        Ok(result)
    });
    let read = reading
        .await
        .map_err(|error| RequestError::internal(error.to_string()))?;
    Ok(read?)
}

pub async fn write(session: &Session, params: ConfigWriteParams) -> Result<ConfigWriteResult, RequestError> {
    if params.edits.is_empty() {
        return Err(RequestError::invalid_params(
            "There is nothing to write: name at least one edit.",
        ));
    }
    let path = session.agent().services().home.join("config.toml");
    let edits: Vec<Edit> = params
        .edits
        .into_iter()
        .map(|edit| Edit {
            key_path: edit.key_path,
            value: Some(edit.value).filter(|value| !value.is_null()),
        })
        .collect();
    let written = written(path, edits.clone(), params.expected_version).await?;
    let agent = session.agent().clone();
    let loaded = tokio::task::spawn_blocking(move || agent.load_config(None, None)).await;
    let loaded = loaded
        .map_err(|error| RequestError::internal(error.to_string()))?
        .map_err(AgentError::from)?;
    let own = written.path.display().to_string();
    let elsewhere = |edit: &Edit| {
        let origin = loaded.origins.get(edit.key_path.split('.').next()?)?;
        let decides = edit.value.is_some() && *origin != own && origin != "built-in";
        decides.then(|| (edit.key_path.clone(), origin.clone()))
    };
    Ok(ConfigWriteResult {
        overridden: edits.iter().filter_map(elsewhere).collect(),
        warnings: loaded.warnings,
        path: written.path,
        version: written.version,
    })
}

/// Makes the changes, aside.
pub(super) async fn written(
    path: PathBuf,
    edits: Vec<Edit>,
    expected: Option<String>,
) -> Result<edit::Written, RequestError> {
    let write = tokio::task::spawn_blocking(move || edit::write(&path, &edits, expected.as_deref()));
    let written = write.await.map_err(|error| RequestError::internal(error.to_string()))?;
    written.map_err(|error| match error {
        EditError::Broken(error) => AgentError::from(error).into(),
        EditError::Changed(_) => RequestError::failed(CONTENT_MODIFIED, error.to_string()),
        EditError::File(_) => RequestError::failed(CONFIG_NOT_WRITTEN, error.to_string()),
        EditError::Misfit(_) => RequestError::failed(INVALID_CONFIG, error.to_string()),
        EditError::KeyPath { .. } | EditError::Value { .. } => RequestError::invalid_params(error.to_string()),
    })
}

pub async fn reload(session: &Session, params: ConfigReloadParams) -> Result<ConfigReloadResult, RequestError> {
    let warnings = session.agent().reload_config(params.thread_id.as_ref()).await?;
    Ok(ConfigReloadResult { warnings })
}
