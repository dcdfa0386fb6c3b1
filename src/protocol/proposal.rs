//! Proposals: patches that wait for the person.

use crate::ids::{HunkId, ItemId, ProposalId, ThreadId, TurnId};
use crate::protocol::item::{FileChangeKind, LineRange};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ProposalStatus {
    /// Waiting; no hunk, or only some hunks, are decided.
    Pending,
    /// Decided; the accepted hunks are being written.
    Applying,
    /// Every accepted hunk is in the files.
    Applied,
    /// No hunk was accepted.
    Rejected,
    /// The editor or the disk refused; every file is as it was.
    Failed,
    /// The turn ended first.
    Withdrawn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum HunkStatus {
    Pending,
    Accepted,
    Rejected,
    /// The text it would replace has changed, so it cannot be taken as it is.
    Conflicting,
    Applied,
}

/// A contiguous change in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    pub id: HunkId,
    pub status: HunkStatus,
    /// The lines it replaces, in today's text of the file.
    pub range: LineRange,
    /// The lines it replaces, with their line ends.
    pub old_text: String,
    /// What it puts there; as edited by the person, if so.
    pub new_text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalFile {
    pub path: PathBuf,
    pub uri: String,
    pub kind: FileChangeKind,
    /// Whether the file is open in the editor, so that the change goes through its buffer.
    pub open: bool,
    /// It was open and held text that was not on the disk when the change was proposed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsaved: bool,
    /// Version of the open document that the change was made against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_version: Option<i32>,
    /// Text before; absent for a new file. Only `proposal/read` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Text after, if every hunk is taken; absent for a deleted file. Only `proposal/read` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    pub hunks: Vec<Hunk>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    pub id: ProposalId,
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    pub status: ProposalStatus,
    pub files: Vec<ProposalFile>,
    /// Unified diff of the whole.
    pub diff: String,
    /// Why the person is asked more than usual, for example a path outside the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub created_at_ms: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalListParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Also those that are decided.
    #[serde(default)]
    pub include_settled: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalListResult {
    pub data: Vec<Proposal>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalReadParams {
    pub proposal_id: ProposalId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalReadResult {
    pub proposal: Proposal,
}

/// The person's word on some hunks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalDecideParams {
    pub proposal_id: ProposalId,
    pub decision: ProposalDecision,
    /// The hunks meant; absent means all that are still pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk_ids: Option<Vec<HunkId>>,
    /// All pending hunks of this file, where `hunkIds` is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Words to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ProposalDecision {
    Accept,
    Reject,
}

/// The proposal after the decision. Once no hunk is pending the accepted ones are applied;
/// `proposal/updated` tells when that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalDecideResult {
    pub proposal: Proposal,
}
