//! What may happen without asking: the policies of a thread and of a turn.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// When the person is asked about a command (configuration key `approval_policy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// Everything asks, except commands that are known only to read.
    Untrusted,
    /// Commands run in the sandbox; the model may ask for more, and dangerous commands ask.
    #[default]
    OnRequest,
    /// Commands run in the sandbox; one that the sandbox stopped is offered to the person for a run outside.
    OnFailure,
    /// Nobody is ever asked; what is not allowed fails.
    Never,
    /// As `on-request`, with the kinds of questions switched on and off one by one; a question of a kind that is off is
    /// answered with a no at once.
    Granular(Granular),
}

/// Which kinds of questions reach the person. In `config.toml` the names are in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Granular {
    /// To run a command outside the sandbox, or a dangerous one at all.
    #[serde(alias = "sandbox_approval")]
    pub sandbox_approval: bool,
    /// About commands that a rule asks about.
    pub rules: bool,
    /// For more than the policy allows, asked for by the model.
    #[serde(alias = "request_permissions")]
    pub request_permissions: bool,
    /// That MCP servers ask.
    #[serde(alias = "mcp_elicitations")]
    pub mcp_elicitations: bool,
}

impl Default for Granular {
    /// What is left out: everything asks, but for permissions beyond the policy.
    fn default() -> Self {
        Self {
            sandbox_approval: true,
            rules: true,
            request_permissions: false,
            mcp_elicitations: true,
        }
    }
}

impl ApprovalPolicy {
    /// The name used in `config.toml` and on the wire; of the granular form its key.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::OnRequest => "on-request",
            Self::OnFailure => "on-failure",
            Self::Never => "never",
            Self::Granular(_) => "granular",
        }
    }
}

/// Who answers the questions that a policy asks (configuration key `approvals_reviewer`). Patches are always the person's
/// to decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ApprovalsReviewer {
    /// The person.
    #[default]
    User,
    /// A model of its own in the person's place, for commands and permissions. What it does not clearly allow is denied;
    /// `guardian/assessment` tells what it found.
    #[serde(alias = "auto_review", alias = "guardian_subagent")]
    Auto,
}

/// Which patches are applied without asking (configuration key `edits.approve`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum EditApproval {
    /// None: the person decides on each, hunk by hunk. Under the approval policy `never`, where nobody can be asked, patches
    /// inside the writable folders are applied and others refused.
    #[default]
    Ask,
    /// Those whose every file lies inside the writable folders, under `on-request` and `on-failure`, while the sandbox may
    /// write there and can be enforced. All others ask.
    Workspace,
}

/// The short name of a sandbox policy (configuration key `sandbox_mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    ReadOnly,
    #[default]
    WorkspaceWrite,
    #[serde(alias = "full-access")]
    DangerFullAccess,
}

/// What a command may touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SandboxPolicy {
    /// No sandbox at all.
    DangerFullAccess,
    /// Everything may be read, nothing written.
    ReadOnly {
        #[serde(default)]
        network_access: bool,
    },
    /// The workspace folders, the working directory and the temporary folders may be written, except the
    /// protected folders inside them.
    WorkspaceWrite {
        /// Further writable folders, absolute.
        #[serde(default)]
        writable_roots: Vec<PathBuf>,
        #[serde(default)]
        network_access: bool,
        /// Leave the folder named by `$TMPDIR` read-only.
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        /// Leave `/tmp` read-only.
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

impl SandboxPolicy {
    /// The policy that a mode stands for when nothing else is configured.
    pub fn from_mode(mode: SandboxMode) -> Self {
        match mode {
            SandboxMode::ReadOnly => Self::ReadOnly { network_access: false },
            SandboxMode::WorkspaceWrite => Self::WorkspaceWrite {
                writable_roots: Vec::new(),
                network_access: false,
                exclude_tmpdir_env_var: false,
                exclude_slash_tmp: false,
            },
            SandboxMode::DangerFullAccess => Self::DangerFullAccess,
        }
    }

    pub fn mode(&self) -> SandboxMode {
        match self {
            Self::DangerFullAccess => SandboxMode::DangerFullAccess,
            Self::ReadOnly { .. } => SandboxMode::ReadOnly,
            Self::WorkspaceWrite { .. } => SandboxMode::WorkspaceWrite,
        }
    }

    pub fn network_access(&self) -> bool {
        match self {
            Self::DangerFullAccess => true,
            Self::ReadOnly { network_access } | Self::WorkspaceWrite { network_access, .. } => *network_access,
        }
    }
}

impl Default for SandboxPolicy {
    fn default() -> Self {
        Self::from_mode(SandboxMode::default())
    }
}

/// How much of its reasoning the model is asked to sum up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ReasoningSummary {
    #[default]
    Auto,
    Concise,
    Detailed,
    None,
}

/// The tone of the agent's answers (configuration key `personality`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum Personality {
    /// The model's own: nothing is said of it.
    #[default]
    None,
    Friendly,
    Pragmatic,
}

/// The settings in force for a thread; a turn works on a snapshot of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSettings {
    pub model: String,
    /// Id of the provider in `model_providers`.
    pub model_provider: String,
    /// Reasoning effort; absent means the model's own default.
    pub effort: Option<String>,
    pub summary: ReasoningSummary,
    /// Absolute working directory of the thread.
    pub cwd: PathBuf,
    pub approval_policy: ApprovalPolicy,
    #[serde(default)]
    pub approvals_reviewer: ApprovalsReviewer,
    /// What commands may touch; with a permission profile, the policy that comes nearest to it.
    pub sandbox_policy: SandboxPolicy,
    /// Id of the permission profile in force; absent where `sandbox_policy` was given by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Folders that belong to the workspace beside `cwd` and the editor's folders. Absolute. A profile's own are not among
    /// them.
    #[serde(default)]
    pub runtime_workspace_roots: Vec<PathBuf>,
    #[serde(default)]
    pub edit_approval: EditApproval,
    /// How urgent requests are, in the provider's words, such as `flex` or `priority`; absent means the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    #[serde(default)]
    pub personality: Personality,
    /// What of the editor the model is told with the person's words.
    #[serde(default)]
    pub editor_context: EditorContextSettings,
    #[serde(default)]
    pub mode: Mode,
}

/// How far the agent may go in a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// All that the policies allow.
    #[default]
    #[serde(alias = "default")]
    Agent,
    /// It looks, runs what only reads, and makes a plan: commands are confined to reading, and no patch is taken.
    Plan,
    /// It answers: it can read, list and search, and has no tool that could change anything.
    Ask,
}

/// What of the editor is told to the model (configuration table `editor_context`); what is off is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct EditorContextSettings {
    /// Which file the person looks at.
    #[serde(alias = "active_file")]
    pub active_file: bool,
    /// What they have selected in it, with its text.
    pub selection: bool,
    /// Which files are open, and which of them are not saved.
    #[serde(alias = "open_files")]
    pub open_files: bool,
    /// The problems that the editor shows.
    pub diagnostics: bool,
    /// Where they have edited since their last message.
    #[serde(alias = "recent_edits")]
    pub recent_edits: bool,
}

impl Default for EditorContextSettings {
    fn default() -> Self {
        Self {
            active_file: true,
            selection: true,
            open_files: true,
            diagnostics: true,
            recent_edits: true,
        }
    }
}

/// Changes to what of the editor is told; absent means no change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct EditorContextChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_file: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_edits: Option<bool>,
}

impl From<EditorContextSettings> for EditorContextChange {
    /// What makes any settings these.
    fn from(settings: EditorContextSettings) -> Self {
        Self {
            active_file: Some(settings.active_file),
            selection: Some(settings.selection),
            open_files: Some(settings.open_files),
            diagnostics: Some(settings.diagnostics),
            recent_edits: Some(settings.recent_edits),
        }
    }
}

impl EditorContextSettings {
    /// The settings after a change.
    #[must_use]
    pub fn with(self, change: EditorContextChange) -> Self {
        Self {
            active_file: change.active_file.unwrap_or(self.active_file),
            selection: change.selection.unwrap_or(self.selection),
            open_files: change.open_files.unwrap_or(self.open_files),
            diagnostics: change.diagnostics.unwrap_or(self.diagnostics),
            recent_edits: change.recent_edits.unwrap_or(self.recent_edits),
        }
    }
}

/// Changes to a thread's settings. Absent means no change; they stay in force for later turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct SettingsOverride {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<String>,
    /// `null` clears the effort, absence leaves it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub effort: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ReasoningSummary>,
    /// Must be absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Id of a permission profile, as `permissions/profiles` lists them; not together with `sandboxPolicy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Folders of the workspace beside `cwd`, in place of those before. Relative ones start from `cwd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_workspace_roots: Option<Vec<PathBuf>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_approval: Option<EditApproval>,
    /// `null` clears it, absence leaves it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub service_tier: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<Personality>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_context: Option<EditorContextChange>,
    /// Absent: the mode stays, unless all of `model`, `effort`, `summary`, `cwd`, `approvalPolicy` and one of `sandboxPolicy` and
    /// `permissions` are given: then it is `agent` again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

impl SettingsOverride {
    /// Whether this says everything there is to say of a turn's settings, and so stands for itself.
    pub fn is_whole(&self) -> bool {
        self.model.is_some()
            && self.effort.is_some()
            && self.summary.is_some()
            && self.cwd.is_some()
            && self.approval_policy.is_some()
            && (self.sandbox_policy.is_some() || self.permissions.is_some())
    }
}

/// Keeps `null` and absence apart.
fn present<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}
