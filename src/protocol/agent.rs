//! Sub-agents: threads that work for threads.

use crate::ids::{ThreadId, TurnId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What makes a thread a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct SubAgent {
    /// Unique among the agents of one conversation.
    pub name: String,
    /// The thread that it works for.
    pub parent_thread_id: ThreadId,
    /// 1 for an agent of the thread that the person talks to, 2 for an agent of such an agent.
    pub depth: u32,
}

/// Where a sub-agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum AgentStatus {
    /// It was made and has not begun.
    PendingInit,
    Running,
    /// Its turn was stopped.
    Interrupted,
    /// Its turn is done; a message can wake it.
    Completed,
    /// Its turn failed.
    Errored,
    /// It is closed.
    Shutdown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AgentState {
    pub name: String,
    pub status: AgentStatus,
    /// Its last words, or why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// By the id of the agent's thread.
pub type AgentStates = BTreeMap<String, AgentState>;

/// What an agent does with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum CollabTool {
    SpawnAgent,
    SendMessage,
    Wait,
    ListAgents,
    CloseAgent,
}

/// Puts a message for the model into a thread that the person did not write. It stands on the agent's side of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSendParams {
    /// Who gets it.
    pub thread_id: ThreadId,
    pub text: String,
    /// Who says it, as the model is told; `client` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Begin a turn for it if none runs, unless the person has stopped one and said nothing since. Otherwise it waits for the
    /// next one.
    #[serde(default)]
    pub starts_turn: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadSendResult {
    /// The turn that takes it: one that was running, or begins for it. Absent where it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}
