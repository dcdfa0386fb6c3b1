//! Turns: from one input of the person to the agent's final answer.

use crate::ids::{ThreadId, TurnId};
use crate::protocol::item::{LineRange, SentContextKind, ThreadItem, UserInput};
use crate::protocol::settings::SettingsOverride;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    InProgress,
    Completed,
    Interrupted,
    Failed,
}

/// What a turn is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum TurnKind {
    /// The model answers the person.
    #[default]
    Regular,
    /// Only commands that the person runs themselves; the model hears nothing of them. Words that the person sends
    /// meanwhile make it a regular one, as `turn/completed` shows it.
    OwnCommands,
    /// Earlier turns are taken back.
    Undo,
    /// Changes are reviewed, apart from the conversation.
    Review,
    /// The conversation is made shorter.
    Compaction,
}

impl TurnKind {
    pub fn is_regular(&self) -> bool {
        *self == Self::Regular
    }
}

/// Who or what stopped a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum InterruptedBy {
    /// By `turn/interrupt`, the cancel button of a progress, or `cancel` as the answer to a question.
    Person,
    /// The automatic reviewer, after it had denied too much.
    Reviewer,
    /// Another turn took its place.
    Replaced,
    /// The thread was closed, or the server ended.
    Shutdown,
    /// The server ended without closing it. Only in stored turns.
    Crash,
}

/// The machine-readable side of a turn's error; the message says the same in words and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum TurnErrorKind {
    /// No key, or no variable that holds it.
    MissingKey,
    Unauthorized,
    ModelNotFound,
    ContextWindowExceeded,
    /// The account's allowance is used up for now.
    UsageLimitExceeded,
    /// There is no credit left.
    QuotaExceeded,
    /// The account's plan does not cover it.
    PlanLimit,
    /// The provider lets the request or the answer not pass for what it holds.
    ContentFilter,
    /// The model does not want to answer.
    Refused,
    RateLimitExceeded,
    ServerOverloaded,
    BadRequest,
    /// The provider answered with a failure of its own.
    ServerError,
    /// The provider could not be reached.
    ConnectionFailed,
    /// The answer broke off and the retries are used up.
    StreamDisconnected,
    /// The answer was cut short by the provider.
    Incomplete,
    /// The model went round in circles: more rounds than a turn may have.
    TooManyRounds,
    /// The turn cost as much as a turn may.
    CostLimitExceeded,
    SandboxError,
    /// An MCP server did not start.
    ToolServerFailed,
    /// Nothing was taken back; the message says why.
    UndoFailed,
    /// Nothing was reviewed, or nothing came of it; the message says why.
    ReviewFailed,
    /// What has no name of its own here, such as a record that could not be finished.
    Other,
    /// A fault of Countersign itself.
    Internal,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnError {
    /// What happened, to what, and what to do next.
    pub message: String,
    pub kind: TurnErrorKind,
    /// HTTP status of the provider's answer, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// What may help and can be done for the person, most helpful first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ErrorAction>,
}

/// Something to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ErrorAction {
    /// Put a summary in the place of the conversation.
    Compact,
    /// Ask again once this time is reached.
    WaitUntil {
        /// Milliseconds since the epoch.
        at: i64,
    },
    /// Choose another model or provider.
    ChangeModel,
    LogIn,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    pub id: TurnId,
    #[serde(default)]
    pub kind: TurnKind,
    pub status: TurnStatus,
    pub items: Vec<ThreadItem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError>,
    /// With status `interrupted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_by: Option<InterruptedBy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at_ms: Option<i64>,
}

/// What the client wants the provider to be told beside the conversation: at most 16 pairs, keys of at most 64 characters,
/// values of at most 512.
pub type Metadata = BTreeMap<String, String>;

/// The person's words that no model has read: their turn was stopped before. They are in no later turn, so an editor offers
/// them again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UnansweredInput {
    pub input: Vec<UserInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_user_message_id: Option<String>,
}

/// What the editor knows at the moment of asking; told to the model beside the person's words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct EditorContext {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<LineRange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<EditorDiagnostic>,
    /// What the model is not told this time, whatever the thread's settings say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leave_out: Vec<SentContextKind>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct EditorDiagnostic {
    pub path: PathBuf,
    pub range: LineRange,
    /// `error`, `warning`, `information` or `hint`.
    pub severity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnStartParams {
    pub thread_id: ThreadId,
    /// One text that begins with `!` is a command of the person's own, as by `thread/shellCommand`.
    pub input: Vec<UserInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<EditorContext>,
    /// Stays in force for later turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsOverride>,
    /// JSON Schema of the final answer; for this turn only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    /// Sent to the provider with this turn's requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Echoed as `clientId` on the user message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_user_message_id: Option<String>,
    /// The words were spoken: a running realtime conversation, which has heard them, is not told again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spoken: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnStartResult {
    pub turn: Turn,
    /// The input joined this running turn; no turn was started.
    pub steered: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerParams {
    pub thread_id: ThreadId,
    /// The turn that the person sees running; refused if another one runs.
    pub expected_turn_id: TurnId,
    pub input: Vec<UserInput>,
    /// Sent to the provider with the turn's requests from now on, beside what it has; the same key is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_user_message_id: Option<String>,
    /// As in `turn/start`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spoken: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerResult {
    pub turn_id: TurnId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnInterruptParams {
    pub thread_id: ThreadId,
    /// Refused if it is not the running turn; absent means whichever runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnInterruptResult {
    /// Whether a turn was running. `turn/completed` with status `interrupted` follows if so.
    pub interrupted: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnRetryNowParams {
    pub thread_id: ThreadId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnRetryNowResult {
    /// Whether a turn was waiting.
    pub retrying: bool,
}
