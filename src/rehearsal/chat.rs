//! Chat Completions, as a provider speaks it.

use crate::rehearsal::script::Usage;
use crate::rehearsal::wire::{Ending, Opening, Wire};
use serde_json::{Value, json};

/// One answer.
pub(super) struct ChatWire {
    id: String,
    model: String,
    include_usage: bool,
    open: Option<Opening>,
    custom_input: String,
    text: String,
    refusal: String,
    reasoning: String,
    /// The calls so far, in their final form.
    calls: Vec<Value>,
}

impl ChatWire {
    pub(super) fn new(number: usize, request: &Value) -> Self {
        Self {
            id: format!("chatcmpl-{number}"),
            model: request
                .get("model")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            include_usage: request.pointer("/stream_options/include_usage") == Some(&Value::Bool(true)),
            open: None,
            custom_input: String::new(),
            text: String::new(),
            refusal: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
        }
    }

    fn chunk(&self, choices: Value, usage: Option<Usage>) -> String {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": 0, "model": self.model, "choices": choices,
        });
        if self.include_usage {
            chunk["usage"] = usage.map(usage_json).unwrap_or_default();
        }
        format!("data: {chunk}\n\n")
    }

    fn delta_chunk(&self, delta: Value) -> String {
        self.chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), None)
    }

    fn finish_reason(&self, ending: &Ending) -> String {
        match ending {
            Ending::Incomplete(reason) if reason == "max_output_tokens" => "length".to_owned(),
            Ending::Incomplete(reason) => reason.clone(),
            _ if self.calls.is_empty() => "stop".to_owned(),
            _ => "tool_calls".to_owned(),
        }
    }

    /// Appends to the arguments of the call that is open.
    fn arguments(&mut self, text: &str) -> String {
        let index = self.calls.len().saturating_sub(1);
        if let Some(Value::String(arguments)) = self
            .calls
            .last_mut()
            .and_then(|call| call.pointer_mut("/function/arguments"))
        {
            arguments.push_str(text);
        }
        self.delta_chunk(json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
    }
}

fn usage_json(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens},
        "completion_tokens": usage.output_tokens,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_output_tokens},
        "total_tokens": usage.total_tokens,
    })
}

impl Wire for ChatWire {
    fn begin(&mut self) -> String {
        self.delta_chunk(json!({"role": "assistant", "content": ""}))
    }

    fn open(&mut self, opening: &Opening) -> String {
        self.open = Some(opening.clone());
        let (Opening::Call { tool, call_id, .. } | Opening::CustomCall { tool, call_id, .. }) = opening else {
            return String::new();
        };
        let index = self.calls.len();
        let mut call = json!({"id": call_id, "type": "function", "function": {"name": tool, "arguments": ""}});
        self.calls.push(call.clone());
        call["index"] = json!(index);
        self.delta_chunk(json!({ "tool_calls": [call] }))
    }

    fn delta(&mut self, text: &str) -> String {
        match self.open {
            Some(Opening::Message { .. }) => {
                self.text.push_str(text);
                self.delta_chunk(json!({ "content": text }))
            }
            Some(Opening::Refusal { .. }) => {
                self.refusal.push_str(text);
                self.delta_chunk(json!({ "refusal": text }))
            }
            Some(Opening::Thought { .. }) => {
                self.reasoning.push_str(text);
                self.delta_chunk(json!({ "reasoning_content": text }))
            }
            Some(Opening::Call { .. }) => self.arguments(text),
            // The text goes into a JSON field here, so it is sent when it is all there.
            Some(Opening::CustomCall { .. }) => {
                self.custom_input.push_str(text);
                String::new()
            }
            None => String::new(),
        }
    }

    fn close(&mut self) -> String {
        match self.open.take() {
            Some(Opening::CustomCall { .. }) => {
                let input = std::mem::take(&mut self.custom_input);
                self.arguments(&json!({ "input": input }).to_string())
            }
            _ => String::new(),
        }
    }

    /// There are no items here.
    fn item(&mut self, _item: &Value) -> String {
        String::new()
    }

    fn raw_event(&mut self, event: &Value) -> String {
        format!("data: {event}\n\n")
    }

    fn error_event(&mut self, error: &Value) -> String {
        format!("event: error\ndata: {error}\n\n")
    }

    fn bad_event(&mut self) -> String {
        "data: {\"choices\": [{\"delta\": \n\n".to_owned()
    }

    fn end(&mut self, ending: &Ending, usage: Option<Usage>) -> String {
        if let Ending::Failed { code, message } = ending {
            return format!("data: {}\n\n", json!({"error": {"code": code, "message": message}}));
        }
        let reason = self.finish_reason(ending);
        let mut events = self.chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), None);
        if self.include_usage && usage.is_some() {
            events.push_str(&self.chunk(json!([]), usage));
        }
        events.push_str("data: [DONE]\n\n");
        events
    }

    fn document(&mut self, ending: &Ending, usage: Option<Usage>) -> Value {
        if let Ending::Failed { code, message } = ending {
            return json!({"error": {"code": code, "message": message}});
        }
        let mut message = json!({"role": "assistant", "content": self.text});
        for (key, text) in [("refusal", &self.refusal), ("reasoning_content", &self.reasoning)] {
            if !text.is_empty() {
                message[key] = json!(text);
            }
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = json!(self.calls);
        }
        json!({
            "id": self.id, "object": "chat.completion", "created": 0, "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason(ending)}],
            "usage": usage.map(usage_json),
        })
    }
}
