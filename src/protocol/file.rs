//! Finding files by a few letters of their paths, and which of them a model may be shown.

use crate::ids::ThreadId;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FileSearchParams {
    /// Words of which each must be found in a path, its letters in their order but not side by side. Small letters fit capital
    /// ones too. An empty query finds nothing.
    pub query: String,
    /// Absolute folders; absent: those of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<PathBuf>>,
    /// The caller's own name for its searches: a new one stops the one that runs under the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation_token: Option<String>,
    /// Most files in an answer: 1 to 1000; absent: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Tell what is found as it comes, by `file/searchUpdated` under `cancellationToken`, which must be there.
    #[serde(default)]
    pub stream: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FileSearchResult {
    /// The best first; of those that fit as well, the shorter path first.
    pub files: Vec<FileMatch>,
    /// How many fit, told or not.
    pub total: u32,
    /// False if a newer search stopped this one, or a folder has more than a million names: there may be better ones.
    pub complete: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum FileMatchType {
    File,
    Directory,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FileMatch {
    /// The folder that was searched.
    pub root: PathBuf,
    /// Below the folder, with `/` between names.
    pub path: String,
    /// The last part of the path.
    pub file_name: String,
    pub match_type: FileMatchType,
    /// The higher, the better it fits; of use only beside the others of the same answer.
    pub score: u32,
    /// Which characters of `path` fit, counted in Unicode scalar values from 0.
    pub indices: Vec<u32>,
}

/// The best files so far of a search that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FileSearchUpdated {
    /// As `file/search` was given it.
    pub cancellation_token: String,
    pub query: String,
    pub files: Vec<FileMatch>,
    /// How many fit so far.
    pub total: u32,
}

/// May the model of a thread be shown what these files hold? Asked by tools of the client's, which read with the client's eyes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FileReadableParams {
    pub thread_id: ThreadId,
    /// Absolute; at most 10,000.
    pub paths: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FileReadableResult {
    /// Those that are kept from the model; all others may be shown.
    pub refused: Vec<FileRefused>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FileRefused {
    /// As it was asked about.
    pub path: PathBuf,
    /// Why, for the model.
    pub reason: String,
}
