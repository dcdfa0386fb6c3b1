//! Threads: conversations, live and stored.

use crate::ids::{SubscriptionId, ThreadId, TurnId};
use crate::protocol::agent::SubAgent;
use crate::protocol::settings::{SettingsOverride, ThreadSettings};
use crate::protocol::tool::DynamicToolSpec;
use crate::protocol::turn::Turn;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ThreadStatus {
    /// Stored, not in memory.
    NotLoaded,
    Idle,
    /// A turn runs.
    Active,
    /// A turn runs and waits for the person's yes or no.
    WaitingOnApproval,
    /// A turn runs and waits for the person's answer to a question of the model.
    WaitingOnUserInput,
}

/// Whether memories may be made of a thread later. Nothing in the conversation depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ThreadMemoryMode {
    #[default]
    Enabled,
    Disabled,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct GitInfo {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_url: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    pub id: ThreadId,
    /// The person's first words.
    pub preview: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub cwd: PathBuf,
    pub model_provider: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub status: ThreadStatus,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
    /// The rollout file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Where the thread was started: `vscode`, `neovim`, `cli`, …
    pub source: String,
    /// Version of the program that wrote it.
    pub cli_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_info: Option<GitInfo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from_id: Option<ThreadId>,
    /// What makes it a sub-agent; absent for every other thread. Lists leave sub-agents out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<SubAgent>,
    /// Put away: it is listed only where archived threads are asked for, and resumed only after `thread/unarchive`.
    #[serde(default)]
    pub archived: bool,
    #[serde(default)]
    pub memory_mode: ThreadMemoryMode,
    /// Empty where the request did not ask for them.
    #[serde(default)]
    pub turns: Vec<Turn>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartParams {
    /// `settings.cwd` defaults to the workspace folder of the active document, else the first folder.
    #[serde(default)]
    pub settings: SettingsOverride,
    /// Free overrides by configuration key, above every other layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<serde_json::Map<String, serde_json::Value>>,
    /// Replaces the built-in instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_instructions: Option<String>,
    /// Added as a developer message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
    /// Leave nothing on disk.
    #[serde(default)]
    pub ephemeral: bool,
    /// Tools of the client's that the model may call in this thread, by `countersign/tool/call`. One that cannot be taken makes
    /// the request an error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dynamic_tools: Vec<DynamicToolSpec>,
}

/// Answer of `thread/start` and `thread/resume`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartResult {
    pub thread: Thread,
    pub settings: ThreadSettings,
    /// The instruction files (`AGENTS.md`) given to the model.
    pub instruction_sources: Vec<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumeParams {
    /// One of `threadId` and `path` must be there; `path` wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    #[serde(default)]
    pub settings: SettingsOverride,
    /// The client's tools from now on, in place of those before. Absent: those that the thread was started with, where the same
    /// program started it; none else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_tools: Option<Vec<DynamicToolSpec>>,
}

/// Whose threads a list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ThreadOrigin {
    /// Those of Countersign's home folder.
    #[default]
    Countersign,
    /// Those of `$CODEX_HOME`, else of `~/.codex`. They are only read: resuming one continues it in a copy.
    Codex,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadListParams {
    /// From the `nextCursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Default 25, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(default)]
    pub origin: ThreadOrigin,
    /// Absent: the current provider's, or all of another origin; empty: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_providers: Option<Vec<String>>,
    /// Only threads of this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Only threads whose preview or name holds this text, whatever the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_term: Option<String>,
    /// Where threads were started (`vscode`, `neovim`, `exec`, …); `interactive` stands for wherever a person holds them, as absent or
    /// empty does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<String>>,
    /// The archived threads in place of the others.
    #[serde(default)]
    pub archived: bool,
}

/// Newest first by last use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadListResult {
    pub data: Vec<Thread>,
    /// Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadParams {
    pub thread_id: ThreadId,
    #[serde(default)]
    pub include_turns: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadResult {
    pub thread: Thread,
}

/// The copy is told in full by the answer, as by `thread/start`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadForkParams {
    /// One of `threadId` and `path` must be there; `path` wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The copy ends with this turn, which must be over. Not together with `beforeTurnId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_id: Option<TurnId>,
    /// The copy ends before this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_turn_id: Option<TurnId>,
    /// What they leave out is as in the thread that is copied.
    #[serde(default)]
    pub settings: SettingsOverride,
    /// Free overrides by configuration key, above every other layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<serde_json::Map<String, serde_json::Value>>,
    /// Replaces the instructions of the thread that is copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_instructions: Option<String>,
    /// Added as a developer message, behind what is copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
    /// Leave nothing of the copy on disk.
    #[serde(default)]
    pub ephemeral: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollbackParams {
    pub thread_id: ThreadId,
    /// Turns to drop, counted from the last; at least 1. More than there are drops all. Only turns with words of the person
    /// count: an undo, or a turn of their own commands, goes with the turn before it.
    pub num_turns: u32,
    /// The last turn as the caller knows the conversation. If the last one is another by now nothing is dropped, and the error is
    /// `turnMismatch`: so a request that is sent twice drops once.
    #[serde(default)]
    pub expected_turn_id: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollbackResult {
    /// With the turns that are left.
    pub thread: Thread,
    /// Turns that were dropped.
    pub num_turns: u32,
    /// For the person: what was dropped, and that files stay as they are.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSubscribeParams {
    /// A live thread.
    pub thread_id: ThreadId,
    /// Also the events after this number, as far as they are kept. Absent: only what comes.
    #[serde(default)]
    pub after_seq: Option<u64>,
    /// Also the items of the history (`item/raw`): first those that are there, then each as it is added.
    #[serde(default)]
    pub raw: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSubscribeResult {
    /// Stands in each event that is sent for this subscription.
    pub subscription_id: SubscriptionId,
    /// Number of the thread's latest event at this moment.
    pub last_seq: u64,
    /// What was asked for with `afterSeq` and is not kept any more; `thread/read` tells what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingEvents>,
}

/// A gap, both ends included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct MissingEvents {
    pub first_seq: u64,
    pub last_seq: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnsubscribeParams {
    pub subscription_id: SubscriptionId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnsubscribeResult {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadArchiveParams {
    pub thread_id: ThreadId,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadArchiveResult {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnarchiveParams {
    pub thread_id: ThreadId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnarchiveResult {
    pub thread: Thread,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadDeleteParams {
    /// Letter by letter as lists give it: nothing brings the thread back.
    pub thread_id: ThreadId,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadDeleteResult {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadNameSetParams {
    pub thread_id: ThreadId,
    /// What lists show in place of the preview: one line, not blank.
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadNameSetResult {
    pub thread: Thread,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadMemoryModeSetParams {
    pub thread_id: ThreadId,
    pub mode: ThreadMemoryMode,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadMemoryModeSetResult {
    pub thread: Thread,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchParams {
    /// Looked for in what the person and the agent said, whatever the case.
    pub search_term: String,
    /// From the `nextCursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Default 25, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Absent or empty: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_providers: Option<Vec<String>>,
    /// Only threads of this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The archived threads in place of the others.
    #[serde(default)]
    pub archived: bool,
}

/// Newest first by last use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchResult {
    pub data: Vec<ThreadFound>,
    /// Absent once all threads were looked through. A page can be short, or empty, and yet have one: a request looks through
    /// a bounded amount of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadFound {
    pub thread: Thread,
    /// The first place in the thread, with some words around it.
    pub snippet: String,
    /// The turn it is in. Absent where it is the thread's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompactParams {
    pub thread_id: ThreadId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompactResult {
    /// The turn that does it.
    pub turn_id: TurnId,
}
