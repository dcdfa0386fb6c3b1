//! What a folder's repository says of the person's work.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct GitDiffToRemoteParams {
    /// An absolute folder in a repository.
    pub cwd: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct GitDiffToRemoteResult {
    /// The newest commit in the history of the present one that a remote has, as far as is known here.
    pub sha: String,
    /// From that commit to the files as they are, with new files that are not ignored; paths from the repository's top.
    pub diff: String,
}
