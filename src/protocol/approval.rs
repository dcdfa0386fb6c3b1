//! Questions to the person: about commands, and about folders that are to be opened for writing.

use crate::ids::{ApprovalId, ItemId, ProposalId, ThreadId, TurnId};
use crate::protocol::item::{CommandAction, Confined};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A question to the person. The kinds are told apart by their fields: only a command has `command`, only a permission has
/// `folders`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(untagged)]
pub enum Approval {
    Command(CommandApproval),
    Permission(PermissionApproval),
}

impl ApprovalDecision {
    /// Whether it is a yes, of whatever reach.
    pub fn is_yes(self) -> bool {
        matches!(self, Self::Accept | Self::AcceptForSession | Self::AcceptAlways)
    }
}

impl Approval {
    pub fn id(&self) -> &ApprovalId {
        match self {
            Self::Command(approval) => &approval.id,
            Self::Permission(approval) => &approval.id,
        }
    }

    pub fn thread_id(&self) -> &ThreadId {
        match self {
            Self::Command(approval) => &approval.thread_id,
            Self::Permission(approval) => &approval.thread_id,
        }
    }

    pub fn available_decisions(&self) -> &[ApprovalDecision] {
        match self {
            Self::Command(approval) => &approval.available_decisions,
            Self::Permission(approval) => &approval.available_decisions,
        }
    }
}

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
    /// What `acceptAlways` would write; absent where that is not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always_rule: Option<AlwaysRule>,
    pub available_decisions: Vec<ApprovalDecision>,
}

/// A rule on commands as it would be written for always.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AlwaysRule {
    /// What it covers, in words.
    pub text: String,
    /// The programs with their sub-commands, short enough for a button.
    pub title: String,
    /// What would be written, to the letter.
    pub toml: String,
    /// The file it would be added to.
    pub file: PathBuf,
}

/// Folders outside the workspace that an accepted patch writes in. A yes of either kind opens them, for patches and for
/// commands in the sandbox, until the session ends. Sent as the request `countersign/approval/permission` to clients with
/// the plugin protocol, shown by `window/showMessageRequest` to all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PermissionApproval {
    pub id: ApprovalId,
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// The file change item.
    pub item_id: ItemId,
    /// The proposal whose accepted hunks need it.
    pub proposal_id: ProposalId,
    /// The first of `folders`.
    pub grant_root: PathBuf,
    /// What would be opened: absolute, links followed. One that is not there yet is made by the patch.
    pub folders: Vec<PathBuf>,
    /// The files that the patch changes there.
    pub paths: Vec<PathBuf>,
    /// What is asked and what a yes covers, in words.
    pub reason: String,
    pub available_decisions: Vec<ApprovalDecision>,
}

/// The person's answer. Anything that cannot be understood, a closed dialog and a lost client count as `decline`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ApprovalDecision {
    /// Run it once. Of a permission: open the folders for the rest of the session.
    Accept,
    /// Run it, and do not ask again for the same capability in this thread. Of a permission: the same as `accept`.
    AcceptForSession,
    /// Run it, and write the rule that the question showed, so that no session asks again. Of a permission: the same as
    /// `accept`.
    AcceptAlways,
    /// Do not run it, or do not open them; the turn goes on.
    Decline,
    /// Do not run it and stop the turn.
    Cancel,
}

/// Answer of the client to `countersign/approval/command` and `countersign/approval/permission`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResponse {
    pub decision: ApprovalDecision,
    /// The turn that the answer is for, if the client names it. Messages about the answer name the question where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
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
