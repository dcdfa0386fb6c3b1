//! Questions to the person: about commands, and about folders that are to be opened for writing.

use crate::ids::{ApprovalId, ItemId, ProposalId, ThreadId, TurnId};
use crate::protocol::guardian::Risk;
use crate::protocol::item::{CommandAction, Confined};
use crate::protocol::permission::{GrantScope, Permission};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A question to the person. The kinds are told apart by their fields: only a command has `command`, only a permission has
/// `folders`, only a call of a server's tool has `server`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(untagged)]
pub enum Approval {
    Command(CommandApproval),
    Permission(PermissionApproval),
    Tool(ToolApproval),
}

impl ApprovalDecision {
    /// Whether it is a yes, of whatever reach.
    pub fn is_yes(self) -> bool {
        matches!(self, Self::Accept | Self::AcceptForSession | Self::AcceptAlways)
    }

    /// Whether it is a yes that holds for more than what is asked about now.
    pub fn is_for_longer(self) -> bool {
        matches!(self, Self::AcceptForSession | Self::AcceptAlways)
    }
}

impl Approval {
    pub fn id(&self) -> &ApprovalId {
        match self {
            Self::Command(approval) => &approval.id,
            Self::Permission(approval) => &approval.id,
            Self::Tool(approval) => &approval.id,
        }
    }

    pub fn thread_id(&self) -> &ThreadId {
        match self {
            Self::Command(approval) => &approval.thread_id,
            Self::Permission(approval) => &approval.thread_id,
            Self::Tool(approval) => &approval.thread_id,
        }
    }

    /// What looks like something else in what is asked.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Command(approval) => &approval.notes,
            Self::Permission(approval) => &approval.notes,
            Self::Tool(approval) => &approval.notes,
        }
    }

    pub fn set_notes(&mut self, notes: Vec<String>) {
        match self {
            Self::Command(approval) => approval.notes = notes,
            Self::Permission(approval) => approval.notes = notes,
            Self::Tool(approval) => approval.notes = notes,
        }
    }

    /// Says which sub-agent asks.
    pub fn set_agent(&mut self, name: Option<String>) {
        match self {
            Self::Command(approval) => approval.agent = name,
            Self::Permission(approval) => approval.agent = name,
            Self::Tool(approval) => approval.agent = name,
        }
    }

    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Command(approval) => approval.agent.as_deref(),
            Self::Permission(approval) => approval.agent.as_deref(),
            Self::Tool(approval) => approval.agent.as_deref(),
        }
    }

    /// What a yes for longer is tied to, beyond what a yes for once needs to show.
    pub fn definition(&self) -> Option<&str> {
        match self {
            Self::Tool(approval) => Some(approval.definition.as_str()).filter(|text| !text.is_empty()),
            Self::Command(_) | Self::Permission(_) => None,
        }
    }

    pub fn available_decisions(&self) -> &[ApprovalDecision] {
        match self {
            Self::Command(approval) => &approval.available_decisions,
            Self::Permission(approval) => &approval.available_decisions,
            Self::Tool(approval) => &approval.available_decisions,
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
    /// Name of the sub-agent that asks; absent for the thread that the person talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The command as an argument list.
    pub command: Vec<String>,
    /// All of the command as one line, as a shell would take it and with what hides in it shown: what clients show, as it is. Of a script
    /// of one line for the person's own shell it is that script.
    pub display: String,
    /// A script of several lines for the person's own shell, with its line ends and with what hides in it shown; to be shown in the place of
    /// `display` where code has lines of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    pub cwd: PathBuf,
    pub actions: Vec<CommandAction>,
    /// Why it asks.
    pub reason: String,
    /// The model's own words on why it needs this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// How the command would run after a yes. A yes to a run inside the sandbox stays inside.
    pub confined: Confined,
    /// What a model says of its risk; only where `approvals.assess_risk` is on, and only if it said so in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// What `acceptForSession` would cover, in words.
    pub session_scope: String,
    /// What `acceptAlways` would write; absent where that is not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always_rule: Option<AlwaysRule>,
    /// What looks like something else in what is asked, in sentences; to be shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
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

/// More than the policy allows. Either an accepted patch writes in `folders` outside the workspace: a yes of any kind opens
/// them, for patches and for commands in the sandbox, until the session ends. Or the model asks for `permissions`: a yes
/// gives them for as long as `acceptCovers` says, for the session, or for always. Sent as the request
/// `countersign/approval/permission` to clients with the plugin protocol, shown by `window/showMessageRequest` to all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PermissionApproval {
    pub id: ApprovalId,
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// The file change item, the command, or the call that asks.
    pub item_id: ItemId,
    /// Name of the sub-agent that asks; absent for the thread that the person talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The proposal whose accepted hunks need it; absent where no patch asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<ProposalId>,
    /// The first of `folders`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_root: Option<PathBuf>,
    /// What the model asks for; paths have their links followed. The answer can name a part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<Permission>,
    /// How long a plain `accept` holds.
    #[serde(default)]
    pub accept_covers: GrantScope,
    /// What would be opened for a patch: absolute, links followed. One that is not there yet is made by the patch.
    pub folders: Vec<PathBuf>,
    /// The files that the patch changes there.
    pub paths: Vec<PathBuf>,
    /// What is asked and what a yes covers, in our words.
    pub reason: String,
    /// Why, in the model's own words; to be shown apart from ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// What looks like something else in what is asked, in sentences; to be shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub available_decisions: Vec<ApprovalDecision>,
}

/// A call of a server's tool that may change something. Sent as the request `countersign/approval/tool` to clients with the
/// plugin protocol, shown by `window/showMessageRequest` to all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ToolApproval {
    pub id: ApprovalId,
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// The call.
    pub item_id: ItemId,
    /// Name of the sub-agent that asks; absent for the thread that the person talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub server: String,
    /// The server's own name for it.
    pub tool: String,
    /// Its name, and what the server calls it.
    pub title: String,
    pub arguments: serde_json::Value,
    /// Why it asks. Where something was allowed before that has changed since, with all that it was and is, line by line.
    pub reason: String,
    /// How the server is reached and all that it says of the tool: what a yes for the session or for always is tied to. The
    /// server's own claims are not to be believed.
    #[serde(default)]
    pub definition: String,
    /// What `acceptForSession` would cover, in words.
    pub session_scope: String,
    /// What `acceptAlways` would write.
    pub always_rule: AlwaysRule,
    /// What looks like something else in what is asked, in sentences; to be shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub available_decisions: Vec<ApprovalDecision>,
}

/// The person's answer. Anything that cannot be understood, a closed dialog and a lost client count as `decline`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ApprovalDecision {
    /// Run it once. Of a permission: give it for as long as its `acceptCovers` says.
    Accept,
    /// Run it, and do not ask again for the same capability in this thread. Of a permission: give it until the session ends.
    AcceptForSession,
    /// Run it, and write the rule that the question showed, so that no session asks again. Of permissions: give them in
    /// every session from now on.
    AcceptAlways,
    /// Do not run it, or do not open them; the turn goes on.
    Decline,
    /// Do not run it and stop the turn.
    Cancel,
}

/// Answer of the client to `countersign/approval/command`, `countersign/approval/permission` and `countersign/approval/tool`.
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
    /// With a yes to `permissions`: the part that is given. What was not asked for is not given; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Vec<Permission>>,
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
