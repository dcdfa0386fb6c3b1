//! Proposals: patches that wait for the person.

use crate::ids::{HunkId, ItemId, ProposalId, ThreadId, TurnId};
use crate::protocol::item::{FileChangeKind, LineRange};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where a proposal is in its life. The first four wait for the person, and change into each other as the person decides
/// and types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ProposalStatus {
    /// Waits; nothing is decided yet.
    Proposed,
    /// Waits; some hunks are decided.
    PartlyDecided,
    /// Waits; the text under some of the undecided hunks has changed.
    Conflicting,
    /// Waits, but none of its undecided hunks fits the files any more: reject it, or bring the text back.
    Stale,
    /// Decided; the accepted hunks that are not in the files yet are being written.
    Accepted,
    /// Every accepted hunk is in the files.
    Applied,
    /// No hunk was accepted.
    Rejected,
    /// The editor or the disk refused; every file is as it was, but for hunks that were applied before.
    Failed,
    /// A newer proposal for the same files has taken its place.
    Superseded,
    /// The turn was stopped first.
    Withdrawn,
    /// It was applied, and the person has taken its turn back since.
    Undone,
}

impl ProposalStatus {
    /// Whether the person can still decide.
    pub fn is_waiting(self) -> bool {
        matches!(
            self,
            Self::Proposed | Self::PartlyDecided | Self::Conflicting | Self::Stale
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum HunkStatus {
    Pending,
    /// Applied in a moment, or once all is decided: a file that moves, one whose folder is asked about, and any where `edits.apply` is
    /// `together`.
    Accepted,
    Rejected,
    /// The text it would replace has changed, so it cannot be taken as it is.
    Conflicting,
    /// It was put into its file, also while others of its proposal wait. No decision takes it out.
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
    /// What the model proposed, where the person has edited it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_text: Option<String>,
    /// Why it cannot be taken as it is, in words; only while it is in conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<String>,
    /// The person's words to the model on rejecting it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
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
    /// Version of the open document that the ranges of the hunks are for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    /// Permission bits that it gets, where the change is about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// What the file is where it is no text, and so is deleted or moved as it is: its size and kind, or where the link leads.
    /// Its one hunk has no lines then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_text: Option<String>,
    /// What looks like something else in the name that the change gives to a file, in sentences; to be shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The text that the model saw; absent for a new file. Only `proposal/read` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// That text with every hunk; absent for a deleted file. Only `proposal/read` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The text today; absent where no file is. Only `proposal/read` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// Today's text with every hunk that fits and is not rejected, as edited: what accepting the rest would lead to.
    /// Absent for a file that would be deleted. Only `proposal/read` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    pub hunks: Vec<Hunk>,
}

impl ProposalFile {
    /// The name that the change gives to a file, where it gives one.
    pub fn new_name(&self) -> Option<&Path> {
        match &self.kind {
            FileChangeKind::Add => Some(&self.path),
            FileChangeKind::Update { move_path } => move_path.as_deref(),
            FileChangeKind::Delete => None,
        }
    }
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
    /// The folder outside the workspace that must be opened for writing before this can be applied; asked about on its
    /// own, once the hunks are accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_root: Option<PathBuf>,
    /// The policy accepted it: nobody was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_approved: bool,
    /// Waiting proposals of other turns for some of the same files, which were there first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacked_on: Vec<ProposalId>,
    /// The newer proposal that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<ProposalId>,
    /// What became of it, as the model is told; once it is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
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
    /// Takes an earlier decision on named hunks back: they wait again.
    Reset,
}

/// Changes what a waiting hunk would put into the file. It still has to be accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalEditParams {
    pub proposal_id: ProposalId,
    pub hunk_id: HunkId,
    /// The person's text, with its line ends; absent brings the model's own text back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalEditResult {
    pub proposal: Proposal,
}

/// Where the hunks of a waiting proposal lie now, after the person has typed. Slim, since it may follow every key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalMoved {
    pub proposal_id: ProposalId,
    pub status: ProposalStatus,
    /// The files whose text has changed.
    pub files: Vec<MovedFile>,
}

impl ProposalMoved {
    /// Takes up what a later move says, which wins.
    pub fn follow(&mut self, later: &Self) {
        self.status = later.status;
        for file in &later.files {
            match self.files.iter_mut().find(|known| known.path == file.path) {
                Some(known) => known.clone_from(file),
                None => self.files.push(file.clone()),
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct MovedFile {
    pub path: PathBuf,
    pub uri: String,
    pub open: bool,
    /// Version of the open document that the ranges are for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    pub hunks: Vec<MovedHunk>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct MovedHunk {
    pub id: HunkId,
    pub status: HunkStatus,
    pub range: LineRange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<String>,
}

/// The proposal after the decision. Once no hunk is pending the accepted ones are applied;
/// `proposal/updated` tells when that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ProposalDecideResult {
    pub proposal: Proposal,
}
