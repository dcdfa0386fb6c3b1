//! What fills the window of a conversation's model.

use crate::ids::ThreadId;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadContextParams {
    pub thread_id: ThreadId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadContextResult {
    /// The model that was asked last. Absent where this server has not asked one yet: instructions and tools are not among the parts then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that it takes; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u32>,
    /// Tokens at which the conversation is compacted by itself; absent where it never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacts_at: Option<u32>,
    /// Tokens of the conversation with all that goes along: the provider's count and an estimate of what has come since; where it has not
    /// counted, an estimate.
    pub tokens: u32,
    /// What takes them, largest first. These are estimates of four bytes to a token, so their sum is not `tokens`.
    pub parts: Vec<ContextPart>,
    /// What is not sent since the window is small, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ContextPart {
    pub kind: ContextPartKind,
    /// The kind in words.
    pub title: String,
    pub tokens: u32,
    /// How many there are: tools, messages, results.
    pub count: u32,
    /// The largest of them by name, where they have names: tools, and results by their tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub largest: Vec<ContextEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ContextEntry {
    pub name: String,
    pub tokens: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ContextPartKind {
    /// Countersign's own instructions, or those of the configuration.
    Instructions,
    /// Names, descriptions and schemas of the tools that are offered.
    Tools,
    /// Those of MCP servers.
    McpTools,
    /// `AGENTS.md` and its like.
    InstructionFiles,
    /// Where the work is done, modes, notes on what happened.
    Environment,
    /// What messages point at, and what the editor shows.
    Attachments,
    /// The person's own words.
    UserMessages,
    AgentMessages,
    Reasoning,
    ToolCalls,
    ToolResults,
    /// What stands for the part of the conversation that was compacted.
    Summary,
}
