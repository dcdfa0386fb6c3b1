//! Tools that the client brings along: declared when a thread begins, called by request.

use crate::ids::{ItemId, ThreadId, TurnId};
use serde::{Deserialize, Serialize};

/// A tool of the client's, offered to the model beside our own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolSpec {
    /// Letters, digits, `_` and `-`, at most 64 of them; not the name of a tool of ours.
    pub name: String,
    /// For the model: what it does and when to use it.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the arguments, which are an object.
    #[serde(alias = "input_schema")]
    pub input_schema: serde_json::Value,
    /// Calls only look at things, so they may run beside others. Absent: each call is alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// The model calls a tool of the client's. Cancelled where the turn is stopped or the answer takes too long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ToolCallParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// Id of the item that shows the call.
    pub call_id: ItemId,
    pub tool: String,
    /// An object, as the model wrote it; it was not held against the schema.
    pub arguments: serde_json::Value,
}

/// Answer of the client to `countersign/tool/call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ToolCallResult {
    pub content_items: Vec<ToolContent>,
    pub success: bool,
    /// A change to files that the call comes to, in the form that `apply_patch` takes, paths from the thread's folder. It becomes
    /// a proposal of the thread, like any other, and the model is told what the person took of it. Not of a tool that is
    /// declared `readOnly`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

/// A piece of what a tool gives back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ToolContent {
    InputText {
        text: String,
    },
    /// A `data:` or `https:` URL.
    InputImage {
        image_url: String,
    },
}
