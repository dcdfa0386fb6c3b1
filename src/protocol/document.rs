//! Open documents that a command is to see, and files that were written beside them.

use crate::ids::ThreadId;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Documents that the agent changed, to be saved before a command runs: commands see the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct DocumentSaveParams {
    pub thread_id: ThreadId,
    pub documents: Vec<DocumentToSave>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct DocumentToSave {
    pub uri: String,
    /// It held text of the person's that was not saved when the agent changed it: saving is the person's to decide.
    pub held_unsaved_text: bool,
}

/// What was saved. A document that is left out, and a refusal, only mean that the command runs without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct DocumentSaveResult {
    pub saved: Vec<String>,
}

/// Closed files that were written on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FilesChanged {
    pub paths: Vec<ChangedPath>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ChangedPath {
    pub path: PathBuf,
    pub uri: String,
    pub kind: ChangedKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ChangedKind {
    Created,
    Changed,
    Deleted,
}
