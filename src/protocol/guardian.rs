//! What a model finds of a question: in the person's place, or as a word of advice to them.

use crate::ids::{ItemId, ThreadId};
use crate::protocol::item::Confined;
use crate::protocol::permission::{GrantScope, Permission};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How much harm something can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum RiskLevel {
    Low,
    Medium,
    High,
    Critical,
}

/// What a model says of the risk of a command that the person is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Risk {
    pub level: RiskLevel,
    pub description: String,
}

/// What is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum GuardianAction {
    Command {
        command: Vec<String>,
        /// As it is shown: one line, with what hides in it written out.
        display: String,
        cwd: PathBuf,
        confined: Confined,
        /// Why it asks.
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        justification: Option<String>,
    },
    /// A call of a tool of a server.
    Tool {
        server: String,
        tool: String,
        arguments: serde_json::Value,
        /// Why it asks.
        reason: String,
    },
    /// More than the policy gives.
    Permission {
        /// What is asked for, in words.
        request: String,
        /// Why, in the model's own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        justification: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        permissions: Vec<Permission>,
        /// Folders that a patch writes in.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        folders: Vec<PathBuf>,
        /// How long it would hold.
        covers: GrantScope,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum GuardianStatus {
    InProgress,
    Approved,
    Denied,
    /// The turn was stopped first.
    Aborted,
}

/// The automatic reviewer at work on one question: once when it begins, once when it has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct GuardianAssessment {
    /// The same in both events.
    pub id: String,
    /// The item that asks.
    pub item_id: ItemId,
    pub action: GuardianAction,
    pub status: GuardianStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_level: Option<RiskLevel>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
}

/// Allows exactly the action that the automatic reviewer denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct GuardianApproveDeniedParams {
    pub thread_id: ThreadId,
    /// Of the assessment.
    pub assessment_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct GuardianApproveDeniedResult {
    /// False if there is no such assessment, if it is none that was denied, or if it was overruled before: then nothing
    /// happens.
    pub taken: bool,
}
