//! Chat Completions, behind the same stream as the Responses API.

mod body;
mod decoder;
mod kept;
mod shape;
mod thoughts;

pub(super) use body::body;
pub(super) use decoder::Decoder;
pub(super) use kept::{Origin, is_own_seal};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::failure::Asked;
    use crate::model::names::Names;
    use crate::model::sse::SseEvent;
    use crate::model::{ModelEvent, ModelRequest};
    use serde_json::{Value, json};
    use std::collections::{HashSet, VecDeque};
    use std::sync::Arc;

    /// What a server has sent beside words and calls is in the next request, as it came.
    ///
    /// Shows S-209.
    #[test]
    fn what_came_beside_a_call_goes_back_with_it() {
        let delta = |delta: Value| json!({"choices": [{"delta": delta}]}).to_string();
        let seal = json!({"google": {"thought_signature": "s"}});
        let details = json!([{"type": "reasoning.encrypted", "data": "d"}]);
        let call = json!({"id": "c", "extra_content": seal, "function": {"name": "look", "arguments": "{}"}});
        let origin = Origin {
            server: "a.example".to_owned(),
            model: "m".to_owned(),
        };
        let mut decoder = Decoder::new(origin.clone(), Names::new(&[]), HashSet::new());
        let mut events = VecDeque::new();
        for data in [
            delta(json!({"reasoning_content": "Hm"})),
            delta(json!({"reasoning_content": "m", "reasoning_details": details})),
            delta(json!({"tool_calls": [call]})),
            "[DONE]".to_owned(),
        ] {
            let event = SseEvent { event: None, data };
            decoder.event(&event, Asked::default(), &mut events).expect("an event");
        }
        let items = events.into_iter().filter_map(|event| match event {
            ModelEvent::ItemDone(item) => Some(item),
            _ => None,
        });
        let request = ModelRequest {
            model: "m".into(),
            input: Arc::new(items.collect()),
            ..ModelRequest::default()
        };
        let sent: Value = serde_json::from_slice(&body(&request, &origin, false).expect("a body")).expect("JSON");
        let message = &sent["messages"][0];
        assert_eq!(message["reasoning_content"], "Hmm", "{sent}");
        assert_eq!(message["reasoning_details"], details, "{sent}");
        assert_eq!(message["tool_calls"][0]["extra_content"], seal, "{sent}");
    }
}
