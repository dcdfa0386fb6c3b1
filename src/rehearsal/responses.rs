//! The Responses API, as a provider speaks it.

use crate::rehearsal::script::Usage;
use crate::rehearsal::wire::{Ending, Opening, Wire};
use serde_json::{Value, json};

/// One answer.
pub(super) struct ResponsesWire {
    id: String,
    model: String,
    sequence: u64,
    open: Option<Open>,
    output: Vec<Value>,
    number: usize,
}

struct Open {
    opening: Opening,
    id: String,
    text: String,
}

impl ResponsesWire {
    pub(super) fn new(number: usize, model: &str) -> Self {
        let id = format!("resp_{number}");
        Self {
            id,
            model: model.to_owned(),
            sequence: 0,
            open: None,
            output: Vec::new(),
            number,
        }
    }

    fn event(&mut self, kind: &str, mut fields: Value) -> String {
        fields["type"] = json!(kind);
        fields["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        format!("event: {kind}\ndata: {fields}\n\n")
    }

    fn response(&self, status: &str, usage: Option<Usage>) -> Value {
        let usage = usage.map(|usage| {
            json!({
                "input_tokens": usage.input_tokens,
                "input_tokens_details": {"cached_tokens": usage.cached_input_tokens},
                "output_tokens": usage.output_tokens,
                "output_tokens_details": {"reasoning_tokens": usage.reasoning_output_tokens},
                "total_tokens": usage.total_tokens,
            })
        });
        json!({
            "id": self.id, "object": "response", "created_at": 0, "status": status, "model": self.model,
            "output": self.output, "usage": usage, "error": null, "incomplete_details": null,
        })
    }

    fn ended(&self, ending: &Ending, usage: Option<Usage>) -> (&'static str, Value) {
        match ending {
            Ending::Completed => ("response.completed", self.response("completed", usage)),
            Ending::Failed { code, message } => {
                let mut response = self.response("failed", usage);
                response["error"] = json!({"code": code, "message": message});
                ("response.failed", response)
            }
            Ending::Incomplete(reason) => {
                let mut response = self.response("incomplete", usage);
                response["incomplete_details"] = json!({"reason": reason});
                ("response.incomplete", response)
            }
        }
    }

    fn place(&self) -> usize {
        self.output.len()
    }
}

/// The item in the state in which it is added, or done with its text.
fn item(opening: &Opening, id: &str, text: Option<&str>) -> Value {
    let status = if text.is_some() { "completed" } else { "in_progress" };
    let part = |part: Value| if text.is_some() { json!([part]) } else { json!([]) };
    let said = text.unwrap_or_default();
    match opening {
        Opening::Message { .. } => json!({
            "type": "message", "id": id, "status": status, "role": "assistant",
            "content": part(json!({"type": "output_text", "text": said, "annotations": []})),
        }),
        Opening::Refusal { .. } => json!({
            "type": "message", "id": id, "status": status, "role": "assistant",
            "content": part(json!({"type": "refusal", "refusal": said})),
        }),
        Opening::Thought { encrypted, .. } => json!({
            "type": "reasoning", "id": id, "summary": part(json!({"type": "summary_text", "text": said})),
            "encrypted_content": encrypted.as_deref().unwrap_or("rehearsed"),
        }),
        Opening::Call { tool, call_id, .. } => json!({
            "type": "function_call", "id": id, "status": status, "call_id": call_id, "name": tool, "arguments": said,
        }),
        Opening::CustomCall { tool, call_id, .. } => json!({
            "type": "custom_tool_call", "id": id, "status": status, "call_id": call_id, "name": tool, "input": said,
        }),
    }
}

impl Wire for ResponsesWire {
    fn begin(&mut self) -> String {
        let response = self.response("in_progress", None);
        self.event("response.created", json!({ "response": response }))
    }

    fn open(&mut self, opening: &Opening) -> String {
        let (prefix, wanted) = match opening {
            Opening::Message { id } | Opening::Refusal { id } => ("msg", id),
            Opening::Thought { id, .. } => ("rs", id),
            Opening::Call { id, .. } => ("fc", id),
            Opening::CustomCall { id, .. } => ("ctc", id),
        };
        let place = self.place();
        let id = wanted
            .clone()
            .unwrap_or_else(|| format!("{prefix}_{}_{}", self.number, place + 1));
        let added = item(opening, &id, None);
        let mut events = self.event(
            "response.output_item.added",
            json!({"output_index": place, "item": added}),
        );
        let at = json!({"item_id": id, "output_index": place});
        let with = |fields: Value| {
            let mut at = at.clone();
            if let (Some(at), Value::Object(fields)) = (at.as_object_mut(), fields) {
                at.extend(fields);
            }
            at
        };
        match opening {
            Opening::Message { .. } => {
                let part = json!({"content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}});
                events.push_str(&self.event("response.content_part.added", with(part)));
            }
            Opening::Refusal { .. } => {
                let part = json!({"content_index": 0, "part": {"type": "refusal", "refusal": ""}});
                events.push_str(&self.event("response.content_part.added", with(part)));
            }
            Opening::Thought { .. } => {
                let part = json!({"summary_index": 0, "part": {"type": "summary_text", "text": ""}});
                events.push_str(&self.event("response.reasoning_summary_part.added", with(part)));
            }
            Opening::Call { .. } | Opening::CustomCall { .. } => {}
        }
        self.open = Some(Open {
            opening: opening.clone(),
            id,
            text: String::new(),
        });
        events
    }

    fn delta(&mut self, text: &str) -> String {
        let place = self.place();
        let Some(open) = &mut self.open else {
            return String::new();
        };
        open.text.push_str(text);
        let at = |index: &str| json!({"item_id": open.id, "output_index": place, index: 0, "delta": text});
        let (kind, fields) = match &open.opening {
            Opening::Message { .. } => ("response.output_text.delta", at("content_index")),
            Opening::Refusal { .. } => ("response.refusal.delta", at("content_index")),
            Opening::Thought { .. } => ("response.reasoning_summary_text.delta", at("summary_index")),
            Opening::Call { .. } => {
                let fields = json!({"item_id": open.id, "output_index": place, "delta": text});
                ("response.function_call_arguments.delta", fields)
            }
            Opening::CustomCall { .. } => {
                let fields = json!({"item_id": open.id, "output_index": place, "delta": text});
                ("response.custom_tool_call_input.delta", fields)
            }
        };
        self.event(kind, fields)
    }

    fn close(&mut self) -> String {
        let place = self.place();
        let Some(Open { opening, id, text }) = self.open.take() else {
            return String::new();
        };
        let at = |key: &str, index: Option<&str>| {
            let mut fields = json!({"item_id": id, "output_index": place, key: text});
            if let Some(index) = index {
                fields[index] = json!(0);
            }
            fields
        };
        let (kind, fields) = match &opening {
            Opening::Message { .. } => ("response.output_text.done", at("text", Some("content_index"))),
            Opening::Refusal { .. } => ("response.refusal.done", at("refusal", Some("content_index"))),
            Opening::Thought { .. } => (
                "response.reasoning_summary_text.done",
                at("text", Some("summary_index")),
            ),
            Opening::Call { .. } => ("response.function_call_arguments.done", at("arguments", None)),
            Opening::CustomCall { .. } => ("response.custom_tool_call_input.done", at("input", None)),
        };
        let mut events = self.event(kind, fields);
        events.push_str(&self.item(&item(&opening, &id, Some(&text))));
        events
    }

    fn item(&mut self, item: &Value) -> String {
        let place = self.place();
        self.output.push(item.clone());
        self.event(
            "response.output_item.done",
            json!({"output_index": place, "item": item}),
        )
    }

    fn raw_event(&mut self, event: &Value) -> String {
        match event.get("type").and_then(Value::as_str) {
            Some(kind) => format!("event: {kind}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        }
    }

    fn error_event(&mut self, error: &Value) -> String {
        format!("event: error\ndata: {error}\n\n")
    }

    fn bad_event(&mut self) -> String {
        "event: response.output_text.delta\ndata: {\"type\": \"response.output_text.delta\", \"delta\": \n\n".to_owned()
    }

    fn end(&mut self, ending: &Ending, usage: Option<Usage>) -> String {
        let (kind, response) = self.ended(ending, usage);
        self.event(kind, json!({ "response": response }))
    }

    fn document(&mut self, ending: &Ending, usage: Option<Usage>) -> Value {
        self.ended(ending, usage).1
    }
}
