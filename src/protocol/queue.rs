//! The queue of a thread: what the person wants to say after the running turn, one turn each, in order.

use crate::ids::{QueuedId, ThreadId};
use crate::protocol::item::UserInput;
use crate::protocol::settings::SettingsOverride;
use crate::protocol::turn::{EditorContext, Metadata, Turn};
use serde::{Deserialize, Serialize};

/// One input that waits for its turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct QueuedInput {
    pub id: QueuedId,
    pub input: Vec<UserInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_user_message_id: Option<String>,
    pub queued_at_ms: i64,
    /// It waits for this time (milliseconds since the epoch), and lets others go first until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before_ms: Option<i64>,
}

/// What waits, in the order in which it will be said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnQueue {
    pub inputs: Vec<QueuedInput>,
    /// Nothing is taken from the queue until `turn/queue/resume`, but for what waits for a time: the person stopped a turn, or
    /// one failed. Never of an empty queue.
    pub paused: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueAddParams {
    pub thread_id: ThreadId,
    /// As for `turn/start`, also a command of the person's own.
    pub input: Vec<UserInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<EditorContext>,
    /// Changed when its turn begins; stays in force for later turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsOverride>,
    /// JSON Schema of the final answer; for its turn only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Echoed as `clientId` on the user message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_user_message_id: Option<String>,
    /// Its turn begins at this time (milliseconds since the epoch) at the earliest, also where the queue is paused: for
    /// `waitUntil` of an error. It is gone with the thread, which says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before_ms: Option<i64>,
}

/// Exactly one of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueAddResult {
    /// It waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<QueuedInput>,
    /// Nothing was running or waiting, so this turn begins with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueListParams {
    pub thread_id: ThreadId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueEditParams {
    pub thread_id: ThreadId,
    pub queued_id: QueuedId,
    /// In place of what it said. The rest of it stays, and so does its place.
    pub input: Vec<UserInput>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueRemoveParams {
    pub thread_id: ThreadId,
    /// Absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_id: Option<QueuedId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueReorderParams {
    pub thread_id: ThreadId,
    /// The ones to come first, in this order; the others keep theirs behind them.
    pub queued_ids: Vec<QueuedId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueResumeParams {
    pub thread_id: ThreadId,
}

/// The queue after the change, or as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueResult {
    pub queue: TurnQueue,
}
