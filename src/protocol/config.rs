//! The configuration as a client may read it.

use crate::ids::ThreadId;
use crate::shown;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ConfigReadParams {
    /// Adds the project layers of this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Only the person's own config.toml as it stands on the disk, without any other layer.
    #[serde(default)]
    pub saved: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ConfigReadResult {
    /// The effective values by key, in the shape of `config.toml`. Secrets are not shown.
    pub config: serde_json::Value,
    /// The layer that each top-level key came from.
    pub origins: std::collections::BTreeMap<String, String>,
    pub warnings: Vec<ConfigWarning>,
    /// With `saved`: names the text that the file has, for `config/write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A change of the person's config.toml.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ConfigEdit {
    /// The key with its tables, dots between them, parts in quotes that hold dots themselves.
    pub key_path: String,
    /// Null takes the key away.
    #[serde(default)]
    pub value: serde_json::Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ConfigWriteParams {
    /// Made together or not at all.
    pub edits: Vec<ConfigEdit>,
    /// Write only if the file still has the text that this names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ConfigWriteResult {
    pub path: PathBuf,
    /// Names the text that the file has now.
    pub version: String,
    /// What the edits set that another layer decides all the same, by key path, with that layer.
    pub overridden: std::collections::BTreeMap<String, String>,
    /// What is not as it should be in the configuration as it is now.
    pub warnings: Vec<ConfigWarning>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ConfigReloadParams {
    /// Absent: all live threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ConfigReloadResult {
    pub warnings: Vec<ConfigWarning>,
}

/// Something in the configuration that was not understood, or not allowed where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ConfigWarning {
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl ConfigWarning {
    /// Behind its place, as compilers write them.
    pub fn in_words(&self) -> String {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => format!("{}:{line}: {}", shown::path(path), self.message),
            (Some(path), None) => format!("{}: {}", shown::path(path), self.message),
            (None, _) => self.message.clone(),
        }
    }
}
