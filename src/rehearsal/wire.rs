//! What the player needs of a wire API: each method gives the text of the stream's next events.

use crate::rehearsal::script::Usage;
use serde_json::Value;

/// The kinds of items that are streamed in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    Message {
        id: Option<String>,
    },
    Refusal {
        id: Option<String>,
    },
    Thought {
        id: Option<String>,
        encrypted: Option<String>,
    },
    Call {
        tool: String,
        call_id: String,
        id: Option<String>,
    },
    CustomCall {
        tool: String,
        call_id: String,
        id: Option<String>,
    },
}

impl Opening {
    /// Whether `self` can go on with an item that `open` began.
    pub(super) fn continues(&self, open: &Opening) -> bool {
        match (self, open) {
            (Self::Message { id }, Self::Message { id: open })
            | (Self::Refusal { id }, Self::Refusal { id: open })
            | (Self::Thought { id, .. }, Self::Thought { id: open, .. }) => id.is_none() || id == open,
            (Self::Call { call_id, .. }, Self::Call { call_id: open, .. })
            | (Self::CustomCall { call_id, .. }, Self::CustomCall { call_id: open, .. }) => call_id == open,
            _ => false,
        }
    }
}

/// How an answer ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Completed,
    Failed { code: String, message: String },
    Incomplete(String),
}

/// One answer in one of the two APIs.
pub(super) trait Wire: Send {
    fn begin(&mut self) -> String;
    fn open(&mut self, opening: &Opening) -> String;
    fn delta(&mut self, text: &str) -> String;
    fn close(&mut self) -> String;
    /// A finished item as it is.
    fn item(&mut self, item: &Value) -> String;
    fn raw_event(&mut self, event: &Value) -> String;
    fn error_event(&mut self, error: &Value) -> String;
    fn bad_event(&mut self) -> String;
    fn end(&mut self, ending: &Ending, usage: Option<Usage>) -> String;
    /// The whole answer as one document, for a request that did not ask for a stream.
    fn document(&mut self, ending: &Ending, usage: Option<Usage>) -> Value;
}
