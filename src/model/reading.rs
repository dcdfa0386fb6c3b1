//! What the decoders of all wires have in common: how far an answer has come, and the JSON of its events.

use super::json;
use super::sse::SseEvent;
use serde_json::Value;

/// What ends a stream, without being JSON.
pub(super) const DONE: &str = "[DONE]";

#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The answer is complete; what comes now is of no interest.
    pub(super) completed: bool,
    /// Events whose data could not be read.
    pub(super) skipped: u64,
}

impl Reading {
    /// The JSON object that an event brings. Nothing where it brings none, or none is waited for any more.
    pub(super) fn object(&mut self, event: &SseEvent) -> Option<Value> {
        let data = event.data.trim();
        if self.completed || data.is_empty() || data == DONE {
            return None;
        }
        let object = json::parse(data).filter(Value::is_object);
        if object.is_none() {
            self.skipped += 1;
            tracing::warn!(
                event = event.event,
                bytes = data.len(),
                "skipped an event whose data is no JSON object"
            );
        }
        object
    }
}
