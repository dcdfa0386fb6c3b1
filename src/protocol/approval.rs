//! Questions to the person about commands.

use crate::ids::{ApprovalId, ItemId, ThreadId, TurnId};
use crate::protocol::item::{CommandAction, Confined};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A command that asks first. Sent as the request `countersign/approval/command` to clients with the plugin
/// protocol, shown by `window/showMessageRequest` to all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct CommandApproval {
    pub id: ApprovalId,
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// The command execution item.
    pub item_id: ItemId,
    /// The command as an argument list.
    pub command: Vec<String>,
    pub cwd: PathBuf,
    pub actions: Vec<CommandAction>,
    /// Why it asks.
    pub reason: String,
    /// The model's own words on why it needs this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// How the command would run after a yes. A yes to a run inside the sandbox stays inside.
    pub confined: Confined,
    /// What `acceptForSession` would cover, in words.
    pub session_scope: String,
    pub available_decisions: Vec<ApprovalDecision>,
}

/// The person's answer. Anything that cannot be understood, a closed dialog and a lost client count as `decline`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ApprovalDecision {
    /// Run it once.
    Accept,
    /// Run it, and do not ask again for the same capability in this thread.
    AcceptForSession,
    /// Do not run it; the turn goes on.
    Decline,
    /// Do not run it and stop the turn.
    Cancel,
}

/// Answer of the client to `countersign/approval/command`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResponse {
    pub decision: ApprovalDecision,
    /// Words to the model, with `decline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

/// Settles a question from another surface than the one that was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRespondParams {
    pub approval_id: ApprovalId,
    pub response: ApprovalResponse,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRespondResult {
    /// False if the question was already settled.
    pub taken: bool,
}
