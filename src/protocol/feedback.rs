//! Feedback: a report of a conversation that is shown before it is saved or sent.

use crate::ids::ThreadId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackPreviewParams {
    /// What it is, in a word: `bug`, `badResult`, `goodResult`, `other`, or a word of the client's.
    pub classification: String,
    /// In the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The conversation that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// With the last lines of the server's log about this conversation, and the record of the conversation if it is live.
    #[serde(default)]
    pub include_logs: bool,
    /// Further words for whoever sorts the reports.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Further files, by absolute path; only with logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_log_files: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackPreviewResult {
    /// Saves or sends exactly this report. The latest few are kept.
    pub preview_id: String,
    /// The conversation; an id of the report's own where it is about none.
    pub thread_id: String,
    /// All of the report, byte for byte as it would go: a JSON document.
    pub report: String,
    /// What is in it beside the person's words.
    pub parts: Vec<FeedbackPart>,
    /// Where `feedback/upload` would send it; absent: it can only be saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackPart {
    /// `logs`, or the name of a file.
    pub name: String,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackUploadParams {
    /// As in `feedback/preview`, as all that follows.
    pub classification: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    #[serde(default)]
    pub include_logs: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_log_files: Vec<PathBuf>,
    /// The report that was shown; all else but the classification is left out then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackUploadResult {
    /// The conversation that the report names.
    pub thread_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackSaveParams {
    /// As in `feedback/preview`, as all that follows.
    pub classification: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    #[serde(default)]
    pub include_logs: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_log_files: Vec<PathBuf>,
    /// The report that was shown; all else but the classification is left out then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview_id: Option<String>,
    /// An absolute path at which there is no file yet.
    pub save_path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackSaveResult {
    pub saved_path: PathBuf,
    /// The conversation that the report names.
    pub thread_id: String,
}

impl FeedbackUploadParams {
    /// What is asked for, and the report that was shown.
    pub fn parts(self) -> (FeedbackPreviewParams, Option<String>) {
        let Self {
            classification,
            reason,
            thread_id,
            include_logs,
            tags,
            extra_log_files,
            preview_id,
        } = self;
        let asked = FeedbackPreviewParams {
            classification,
            reason,
            thread_id,
            include_logs,
            tags,
            extra_log_files,
        };
        (asked, preview_id)
    }
}

impl FeedbackSaveParams {
    /// What is asked for, the report that was shown, and where it goes.
    pub fn parts(self) -> (FeedbackPreviewParams, Option<String>, PathBuf) {
        let Self {
            classification,
            reason,
            thread_id,
            include_logs,
            tags,
            extra_log_files,
            preview_id,
            save_path,
        } = self;
        let asked = FeedbackPreviewParams {
            classification,
            reason,
            thread_id,
            include_logs,
            tags,
            extra_log_files,
        };
        (asked, preview_id, save_path)
    }
}
