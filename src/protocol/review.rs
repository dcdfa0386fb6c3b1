//! Reviews: what is looked at, what was found, and what becomes of the findings.

use crate::ids::{FindingId, ThreadId, TurnId};
use crate::protocol::item::LineRange;
use crate::protocol::turn::Turn;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is to be reviewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ReviewTarget {
    /// What the thread's folder holds beside its last commit: staged, not staged, and files that git does not know yet.
    UncommittedChanges,
    /// What was changed since the work left a branch, committed or not.
    BaseBranch { branch: String },
    /// What one commit changed.
    Commit {
        /// As git understands it: whole, short, or a name such as `HEAD`.
        sha: String,
        /// Its first line, for display; read from git where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// What the person says, in their own words.
    Custom { instructions: String },
}

/// Where a review runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ReviewDelivery {
    /// As a turn of the thread.
    #[default]
    Inline,
    /// As the first turn of a new thread with the same settings.
    Detached,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReviewStartParams {
    pub thread_id: ThreadId,
    pub target: ReviewTarget,
    #[serde(default)]
    pub delivery: ReviewDelivery,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReviewStartResult {
    /// The thread in which it runs.
    pub review_thread_id: ThreadId,
    pub turn: Turn,
}

/// The verdict on all that was reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ReviewVerdict {
    /// It can stay as it is, but for trifles.
    #[serde(rename = "patch is correct")]
    Correct,
    #[serde(rename = "patch is incorrect")]
    Incorrect,
}

/// Where a finding lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct CodeLocation {
    pub absolute_file_path: PathBuf,
    pub line_range: LineRange,
}

/// One thing that a review found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReviewFinding {
    /// At most 80 characters.
    pub title: String,
    /// Markdown.
    pub body: String,
    /// From 0 to 1.
    pub confidence_score: f64,
    /// 0 must be fixed at once, 3 is minor.
    pub priority: u8,
    /// Absent where the reviewer named no place in a file of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_location: Option<CodeLocation>,
}

/// What a review came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReviewOutput {
    pub findings: Vec<ReviewFinding>,
    /// Absent where the reviewer gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall_correctness: Option<ReviewVerdict>,
    pub overall_explanation: String,
    /// From 0 to 1; absent where the reviewer gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall_confidence_score: Option<f64>,
    /// The reviewer gave no list of findings. What it found, if anything, only `overallExplanation` says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unlisted: bool,
}

/// A finding that lies on its lines until it is dismissed, its lines change, or the same is reviewed again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct OpenFinding {
    pub id: FindingId,
    pub thread_id: ThreadId,
    /// The review.
    pub turn_id: TurnId,
    pub uri: String,
    /// Where its lines are now.
    pub code_location: CodeLocation,
    pub title: String,
    /// Markdown.
    pub body: String,
    /// From 0 to 1.
    pub confidence_score: f64,
    /// 0 must be fixed at once, 3 is minor.
    pub priority: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ReviewFindingsParams {
    /// Only those of this thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Only those of this review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReviewFindingsResult {
    /// In the order of the reviews, and within one in the reviewer's.
    pub data: Vec<OpenFinding>,
}

/// The findings that are to go: those to which all that is given applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReviewDismissParams {
    pub thread_id: ThreadId,
    /// Those of this review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// This one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding_id: Option<FindingId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReviewDismissResult {
    /// How many went; what is gone already does not count.
    pub dismissed: u32,
}
