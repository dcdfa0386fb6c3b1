//! The model layer: one provider's wire, its stream, and the retry of transient failures.
//!
//! [`ModelClient::stream`] makes one attempt at one request and gives a [`ModelStream`] of [`ModelEvent`]s, the same
//! for all wire APIs and whatever liberties the provider takes with them. What an item means in the conversation is
//! for the agent to say; so is the waiting between attempts, which [`retry::Retry`] only computes.
//!
//! What a stream promises: each item is added once before anything else is said of it, has an id that no other item of
//! the request's history has, and is done at most once; each call's id is new; refusals are visible text; the stream
//! ends with exactly one `Completed` or one error.

mod anthropic;
mod blind;
pub mod catalogue;
mod chat;
mod client;
#[cfg(test)]
mod conformance;
pub mod credential;
pub mod edit_tool;
pub mod error;
mod failure;
#[cfg(test)]
mod fuzz;
pub mod http;
pub mod item;
pub mod json;
mod limits;
pub mod local;
pub mod loose;
mod names;
pub mod post;
pub mod price;
mod reading;
mod refused;
mod responses;
pub mod retry;
pub mod socket;
pub mod sse;
mod stream;
mod text_calls;
mod trouble;
pub mod watch;
pub mod web;
mod wire;

#[cfg(test)]
pub(crate) use client::Line;
pub use client::ModelClient;
pub use error::{ErrorKind, ModelError};
pub use stream::ModelStream;

use crate::model::item::{ResponseItem, ToolSpec};
use crate::protocol::model::{RateLimits, TokenUsage};
use crate::protocol::settings::ReasoningSummary;
use crate::protocol::turn::Metadata;
use std::sync::Arc;

/// What a request is for. Sent as `x-countersign-task`, so that logs tell requests apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Task {
    /// The agent's own loop.
    #[default]
    Turn,
    Review,
    /// A summary of the conversation.
    Compaction,
    /// A question is judged in the person's place.
    Approval,
}

impl Task {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Review => "review",
            Self::Compaction => "compaction",
            Self::Approval => "approval",
        }
    }
}

/// One sampling step: all that the model is to know.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    pub model: String,
    pub instructions: String,
    /// The whole history, in order. Shared, so that a request costs no copy of it.
    pub input: Arc<Vec<ResponseItem>>,
    pub tools: Vec<ToolSpec>,
    pub parallel_tool_calls: bool,
    /// Whether an answer that is nothing but calls written as text counts as these calls. Absent: as the model's family is known.
    pub text_calls: Option<bool>,
    /// Sent only to models that take one.
    pub effort: Option<String>,
    pub summary: ReasoningSummary,
    /// How much it says: `low`, `medium`, `high`. Sent only to models that take it.
    pub verbosity: Option<String>,
    /// JSON Schema of the final answer.
    pub output_schema: Option<serde_json::Value>,
    pub max_output_tokens: Option<u32>,
    /// What the client wants the provider to be told.
    pub metadata: Metadata,
    /// The thread's id: lets the provider find the prefix that it has seen before.
    pub cache_key: String,
    /// Sent as `x-client-request-id`, to be found in the provider's logs.
    pub turn_id: String,
    pub task: Task,
    /// How urgent it is, in the provider's words.
    pub service_tier: Option<String>,
    /// The provider may keep the answer.
    pub store: bool,
    /// Who watches it.
    pub watch: Option<Arc<dyn watch::Watch>>,
}

impl ModelRequest {
    /// Whether the answer may hold calls. Tools go along with a summary too, as its prefix is that of the turns, but one that were called
    /// then would have no answer.
    fn may_call(&self) -> bool {
        self.task != Task::Compaction
    }

    /// The tools whose calls are looked for in the text of the answer.
    fn leaking(&self) -> &[ToolSpec] {
        match self.may_call() && self.output_schema.is_none() {
            true => &self.tools,
            false => &[],
        }
    }
}

/// What a stream says, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// The provider has taken the request.
    Created,
    /// An item begins; its text is still empty.
    ItemAdded(ResponseItem),
    TextDelta {
        item_id: String,
        delta: String,
    },
    /// More of part `index` of the summary.
    ReasoningSummaryDelta {
        item_id: String,
        index: u32,
        delta: String,
    },
    /// More raw reasoning.
    ReasoningDelta {
        item_id: String,
        index: u32,
        delta: String,
    },
    /// The item in its final form, whatever the deltas said.
    ItemDone(ResponseItem),
    RateLimits(RateLimits),
    /// The answer is complete; nothing follows.
    Completed {
        response_id: Option<String>,
        usage: Option<TokenUsage>,
    },
}
