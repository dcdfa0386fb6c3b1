//! The stream: chunks of one message become items.

use super::kept::{INSISTED_ON, Kept, Origin, add_details};
use super::thoughts::{Piece, Splitter};
use crate::model::error::ErrorKind;
use crate::model::failure::{Asked, Report};
use crate::model::item::{ReasoningPart, ResponseItem};
use crate::model::names::Names;
use crate::model::reading::{DONE, Reading};
use crate::model::sse::SseEvent;
use crate::model::text_calls::TextCalls;
use crate::model::{ModelEvent, json, wire};
use crate::protocol::model::TokenUsage;
use serde_json::{Map, Value};
use std::collections::{HashSet, VecDeque};

type Events = VecDeque<ModelEvent>;

/// A call whose fragments are still coming.
#[derive(Debug)]
struct Call {
    index: Option<u64>,
    wire_id: Option<String>,
    name: String,
    arguments: String,
    /// What the server wants back with it.
    extra: Option<Value>,
}

#[derive(Debug)]
pub(in crate::model) struct Decoder {
    /// Who was asked.
    origin: Origin,
    names: Names,
    /// Names of the tools whose input is text.
    custom: HashSet<String>,
    created: bool,
    response_id: Option<String>,
    /// Id and text of the reasoning and of the message, once they have begun.
    reasoning: Option<(String, String)>,
    /// The name under which its words come; empty where they are parts of the content.
    thought_key: &'static str,
    /// Details of thoughts, as the server wants them back.
    details: Vec<Value>,
    message: Option<(String, String)>,
    /// Thoughts in the text of the content.
    splitter: Splitter,
    /// Calls in the text of the answer.
    text_calls: TextCalls,
    reasoning_done: bool,
    calls: Vec<Call>,
    usage: Option<TokenUsage>,
    finish_reason: Option<String>,
    /// What gave the reason brought a part of the answer as well, so more may come: some servers give one with every piece.
    is_amid: bool,
    /// Pieces of the answer have come, so a whole message is a repetition.
    has_pieces: bool,
    /// Some text was for the person.
    spoke: bool,
    pub(in crate::model) reading: Reading,
}

impl Decoder {
    pub(in crate::model) fn new(origin: Origin, names: Names, custom: HashSet<String>) -> Self {
        Self {
            origin,
            names,
            custom,
            created: false,
            response_id: None,
            reasoning: None,
            thought_key: "",
            details: Vec::new(),
            message: None,
            splitter: Splitter::default(),
            text_calls: TextCalls::nothing(),
            reasoning_done: false,
            calls: Vec::new(),
            usage: None,
            finish_reason: None,
            is_amid: false,
            has_pieces: false,
            spoke: false,
            reading: Reading::default(),
        }
    }

    /// Looks for calls in the text of the answer, too.
    pub(in crate::model) fn with(self, text_calls: TextCalls) -> Self {
        Self { text_calls, ..self }
    }

    /// The model has said its last word, as far as is known; usage and the closing mark are still to come, if they do.
    pub(in crate::model) fn finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// More of the answer may come although a reason for its end was given.
    pub(in crate::model) fn is_amid(&self) -> bool {
        self.is_amid
    }

    pub(in crate::model) fn event(
        &mut self,
        event: &SseEvent,
        asked: Asked<'_>,
        out: &mut Events,
    ) -> Result<(), ErrorKind> {
        if event.data.trim() == DONE && !self.reading.completed {
            if !self.created {
                return Err(ErrorKind::StreamEnded {
                    reason: Some("nothing came before its end".to_owned()),
                });
            }
            return self.complete(out);
        }
        let Some(value) = self.reading.object(event) else {
            return Ok(());
        };
        let names_itself = || {
            ["object", "type"]
                .iter()
                .any(|key| json::text(&value, &[key]) == Some("error"))
        };
        if value.get("error").is_some_and(|error| !error.is_null())
            || event.event.as_deref() == Some("error")
            || (value.get("choices").is_none() && names_itself())
            || has_failed(&value)
        {
            return Err(Report::from_json(&value, asked.now).into_stream(asked));
        }
        self.chunk(&value, out)
    }

    /// A whole answer in one piece, from a server that does not stream.
    pub(in crate::model) fn document(
        &mut self,
        value: Value,
        asked: Asked<'_>,
        out: &mut Events,
    ) -> Result<(), ErrorKind> {
        if value.get("choices").is_some_and(Value::is_array) {
            self.chunk(&value, out)?;
            return self.complete(out);
        }
        let is_error = ["error", "detail", "message"]
            .iter()
            .any(|key| value.get(*key).is_some_and(|e| !e.is_null()));
        if is_error || has_failed(&value) {
            return Err(Report::from_json(&value, asked.now).into_stream(asked));
        }
        let start = asked.clean(&crate::model::failure::plain(&value.to_string()));
        Err(ErrorKind::Protocol {
            reason: format!("it is JSON, but no answer: {start}"),
        })
    }

    /// The stream has ended without its closing mark.
    pub(in crate::model) fn end(&mut self, out: &mut Events) -> Result<(), ErrorKind> {
        if self.reading.completed {
            return Ok(());
        }
        if self.finish_reason.is_none() {
            return Err(ErrorKind::StreamEnded { reason: None });
        }
        self.complete(out)
    }

    fn chunk(&mut self, value: &Value, out: &mut Events) -> Result<(), ErrorKind> {
        if !std::mem::replace(&mut self.created, true) {
            out.push_back(ModelEvent::Created);
        }
        if self.response_id.is_none() {
            self.response_id = json::text(value, &["id"]).map(str::to_owned);
        }
        let usage = value
            .get("usage")
            .filter(|usage| !usage.is_null())
            .or_else(|| value.pointer("/x_groq/usage"))
            .or_else(|| value.pointer("/choices/0/usage"));
        if let Some(usage) = wire::usage(usage) {
            self.usage = Some(usage);
        }
        // One answer was asked for; a server that gives several mixes them chunk by chunk.
        let is_first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        let choices = value.get("choices").and_then(Value::as_array);
        let Some(choice) = choices.and_then(|choices| choices.iter().find(is_first)) else {
            return Ok(());
        };
        let part = |key: &str| choice.get(key).filter(|part| part.is_object());
        let brings = |part: &Value| {
            let mut fields = part.as_object().into_iter().flatten();
            fields.any(|(key, value)| key != "role" && !is_nothing(value))
        };
        let has_piece = part("delta").is_some_and(brings);
        match (part("delta"), part("message")) {
            (Some(delta), None) => self.delta(delta, out),
            (Some(delta), Some(_)) if has_piece => self.delta(delta, out),
            // All of the answer once more, as the last word.
            (_, Some(_)) if self.has_pieces => {}
            (_, Some(message)) => self.delta(message, out),
            (None, None) => {}
        }
        self.has_pieces |= has_piece;
        match json::text(choice, &["finish_reason"]) {
            // Google's words are in capitals.
            Some(reason) if is_failure(&reason.to_ascii_lowercase()) => {
                let mut report = Report::from_json(choice, 0);
                report.code = report.code.or((reason != "error").then(|| reason.to_owned()));
                if report.message.is_empty() {
                    report.message = "it gave no reason".to_owned();
                }
                return Err(report.into_stream(Asked::default()));
            }
            Some(reason) => {
                self.finish_reason = Some(reason.to_ascii_lowercase());
                self.is_amid = has_piece;
            }
            None => self.is_amid |= has_piece && self.finish_reason.is_some(),
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, out: &mut Events) {
        for key in [INSISTED_ON, "reasoning", "thinking"] {
            let text = content_text(delta.get(key), false);
            if !text.is_empty() {
                self.think(&text, key, out);
                break;
            }
        }
        let thought = content_text(delta.get("content"), true);
        if !thought.is_empty() {
            self.think(&thought, "", out);
        }
        if let Some(Value::Array(more)) = delta.get("reasoning_details") {
            add_details(&mut self.details, more);
        }
        let content = content_text(delta.get("content"), false);
        let pieces = self.splitter.take(&content);
        self.tell(pieces, out);
        let refusal = content_text(delta.get("refusal"), false);
        if !refusal.is_empty() {
            self.say(&refusal, out);
        }
        let calls = match delta.get("tool_calls") {
            Some(Value::Array(calls)) => calls.as_slice(),
            Some(call) => std::slice::from_ref(call),
            None => &[],
        };
        for (position, call) in calls.iter().enumerate().filter(|(_, call)| call.is_object()) {
            let index = call
                .get("index")
                .and_then(Value::as_u64)
                .or((calls.len() > 1).then_some(position as u64));
            self.call(
                index,
                call.get("id").and_then(Value::as_str),
                call.get("function").unwrap_or(call),
                call.get("extra_content"),
            );
        }
        if let Some(function) = delta.get("function_call").filter(|function| function.is_object()) {
            self.call(Some(0), None, function, None);
        }
    }

    /// What the content is made of. Thoughts in its text are not wanted back.
    fn tell(&mut self, pieces: Vec<Piece>, out: &mut Events) {
        for piece in pieces {
            match piece {
                Piece::Thought(text) => self.think(&text, "", out),
                Piece::Said(text) => {
                    let text = self.text_calls.take(text);
                    if !text.is_empty() {
                        self.say(&text, out);
                    }
                }
            }
        }
    }

    fn think(&mut self, text: &str, key: &'static str, out: &mut Events) {
        self.thought_key = key;
        if self.reasoning_done {
            // Thoughts after the answer has begun: a new item, so that the first stays as it was shown.
            self.reasoning = None;
            self.reasoning_done = false;
        }
        let (id, so_far) = self.reasoning.get_or_insert_with(|| {
            let id = self.names.item(None, "rs");
            out.push_back(ModelEvent::ItemAdded(ResponseItem::Reasoning {
                id: Some(id.clone()),
                summary: Vec::new(),
                content: None,
                encrypted_content: None,
            }));
            (id, String::new())
        });
        so_far.push_str(text);
        out.push_back(ModelEvent::ReasoningDelta {
            item_id: id.clone(),
            index: 0,
            delta: text.to_owned(),
        });
    }

    fn say(&mut self, text: &str, out: &mut Events) {
        self.spoke = true;
        self.close_reasoning(out);
        let (id, so_far) = self.message.get_or_insert_with(|| {
            let id = self.names.item(None, "msg");
            out.push_back(ModelEvent::ItemAdded(ResponseItem::Message {
                id: Some(id.clone()),
                role: "assistant".to_owned(),
                content: Vec::new(),
            }));
            (id, String::new())
        });
        so_far.push_str(text);
        out.push_back(ModelEvent::TextDelta {
            item_id: id.clone(),
            delta: text.to_owned(),
        });
    }

    fn close_reasoning(&mut self, out: &mut Events) {
        if let Some((id, text)) = self.reasoning.as_ref().filter(|_| !self.reasoning_done) {
            self.reasoning_done = true;
            let kept = Kept {
                thoughts: Some(self.thought_key.to_owned()),
                ..Kept::default()
            };
            let is_usual = !matches!(self.thought_key, "" | INSISTED_ON);
            out.push_back(ModelEvent::ItemDone(ResponseItem::Reasoning {
                id: Some(id.clone()),
                summary: Vec::new(),
                content: Some(vec![ReasoningPart::ReasoningText { text: text.clone() }]),
                encrypted_content: if is_usual { None } else { kept.seal(&self.origin) },
            }));
        }
    }

    /// An item without words, for what goes back beside them.
    fn keep(&mut self, kept: &Kept, out: &mut Events) {
        let id = Some(self.names.item(None, "rs"));
        let make = |encrypted_content| ResponseItem::Reasoning {
            id: id.clone(),
            summary: Vec::new(),
            content: None,
            encrypted_content,
        };
        out.push_back(ModelEvent::ItemAdded(make(None)));
        out.push_back(ModelEvent::ItemDone(make(kept.seal(&self.origin))));
    }

    /// A fragment belongs to the call with its index and id; some servers give every call index 0 and its own id, or none.
    fn call(&mut self, index: Option<u64>, id: Option<&str>, function: &Value, extra: Option<&Value>) {
        let id = id.filter(|id| !id.is_empty());
        let name = json::text(function, &["name"]);
        let at = self.calls.iter().rposition(|call| {
            let same_index = index.is_none() || call.index.is_none() || call.index == index;
            let other_id = id.is_some() && call.wire_id.is_some() && call.wire_id.as_deref() != id;
            same_index && !other_id
        });
        let arguments = wire::as_text(function.get("arguments").cloned());
        // Nothing can be added to arguments that are whole.
        let is_whole = |at: usize| {
            !arguments.trim().is_empty() && json::parse(&self.calls[at].arguments).is_some_and(|all| all.is_object())
        };
        // Without index and id, a name begins a call; so does one behind a call that is whole.
        let begins = id.is_none() && name.is_some() && (index.is_none() || at.is_some_and(is_whole));
        let at = at.filter(|_| !begins).unwrap_or_else(|| {
            self.calls.push(Call {
                index,
                wire_id: None,
                name: String::new(),
                arguments: String::new(),
                extra: None,
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.wire_id.is_none() {
            call.wire_id = id.map(str::to_owned);
        }
        match name {
            // Repeated in each fragment by some.
            Some(name) if call.name.is_empty() => name.clone_into(&mut call.name),
            Some(name) if call.name != name && call.arguments.is_empty() => call.name.push_str(name),
            _ => {}
        }
        call.arguments.push_str(&arguments);
        if let Some(extra) = extra.filter(|extra| extra.is_object()) {
            call.extra = Some(extra.clone());
        }
    }

    fn complete(&mut self, out: &mut Events) -> Result<(), ErrorKind> {
        let held = self.splitter.finish();
        self.tell(held, out);
        self.end_text(out);
        self.close_reasoning(out);
        if let Some((id, text)) = self.message.take() {
            out.push_back(ModelEvent::ItemDone(ResponseItem::Message {
                id: Some(id),
                role: "assistant".to_owned(),
                content: wire::message_content(Some(Value::String(text))),
            }));
        }
        match self.finish_reason.as_deref() {
            // A call that was cut short must not run.
            Some(reason) if is_too_long(reason) => {
                return Err(ErrorKind::Incomplete {
                    reason: "max_output_tokens".to_owned(),
                });
            }
            Some("model_context_window_exceeded") => {
                return Err(ErrorKind::ContextWindowExceeded {
                    status: None,
                    message: String::new(),
                });
            }
            Some(reason) if is_filtered(reason) => {
                return Err(ErrorKind::ContentFilter {
                    status: None,
                    message: String::new(),
                });
            }
            Some("refusal") if !self.spoke => return Err(ErrorKind::Refused),
            _ => {}
        }
        let is_something = |call: &Call| !call.name.is_empty() || !call.arguments.is_empty() || call.wire_id.is_some();
        let calls: Vec<Call> = std::mem::take(&mut self.calls)
            .into_iter()
            .filter(is_something)
            .collect();
        if !self.details.is_empty() && !calls.is_empty() {
            let details = Value::Array(std::mem::take(&mut self.details));
            let message = Map::from_iter([("reasoning_details".to_owned(), details)]);
            let kept = Kept {
                message,
                ..Kept::default()
            };
            self.keep(&kept, out);
        }
        for call in calls {
            self.finish_call(call, out);
        }
        self.reading.completed = true;
        out.push_back(ModelEvent::Completed {
            response_id: self.response_id.take(),
            usage: self.usage,
        });
        Ok(())
    }

    /// What was held back of the text is calls, or text after all: above all beside other calls, and where the answer was cut off.
    fn end_text(&mut self, out: &mut Events) {
        let is_whole = self.finish_reason.as_deref().is_none_or(|reason| !is_cut(reason));
        match self.text_calls.finish(is_whole && self.calls.is_empty()) {
            Ok(calls) => {
                let calls = calls.into_iter().map(|written| Call {
                    index: None,
                    wire_id: None,
                    name: written.name,
                    arguments: written.arguments,
                    extra: None,
                });
                self.calls.extend(calls);
            }
            Err(text) if !text.is_empty() => self.say(&text, out),
            Err(_) => {}
        }
    }

    fn finish_call(&mut self, call: Call, out: &mut Events) {
        let Call {
            wire_id,
            name,
            arguments,
            extra,
            ..
        } = call;
        if let Some(extra) = extra {
            let call = Map::from_iter([("extra_content".to_owned(), extra)]);
            let kept = Kept {
                call,
                ..Kept::default()
            };
            self.keep(&kept, out);
        }
        let id = Some(self.names.item(None, "fc"));
        let call_id = self.names.call(wire_id.as_deref());
        let (added, done) = if self.custom.contains(&name) {
            let input = wire::text_argument(arguments);
            let make = |input| ResponseItem::CustomToolCall {
                id: id.clone(),
                call_id: call_id.clone(),
                name: name.clone(),
                input,
            };
            (make(String::new()), make(input))
        } else {
            let make = |arguments| ResponseItem::FunctionCall {
                id: id.clone(),
                name: name.clone(),
                arguments,
                call_id: call_id.clone(),
            };
            (make(String::new()), make(arguments))
        };
        out.push_back(ModelEvent::ItemAdded(added));
        out.push_back(ModelEvent::ItemDone(done));
    }
}

/// Whether the answer ended because something went wrong at the provider.
fn is_failure(reason: &str) -> bool {
    let named = [
        "error",
        "abort",
        "network_error",
        "insufficient_system_resource",
        "malformed_function_call",
    ];
    named.contains(&reason) || reason.starts_with("function_call_filter")
}

/// Whether the answer ended because it had no more room.
fn is_too_long(reason: &str) -> bool {
    ["length", "max_tokens", "model_length"].contains(&reason)
}

/// Whether the provider cut it off. Some name the rule behind a colon; the words of the second row are Google's.
fn is_filtered(reason: &str) -> bool {
    reason.starts_with("content_filter")
        || reason == "sensitive"
        || ["safety", "recitation", "blocklist", "prohibited_content", "spii"].contains(&reason)
}

/// Whether the model did not come to the end of its answer.
fn is_cut(reason: &str) -> bool {
    is_too_long(reason) || is_filtered(reason) || ["refusal", "model_context_window_exceeded"].contains(&reason)
}

/// Whether MiniMax says that it failed, which it does beside the answer, with a status of success.
fn has_failed(value: &Value) -> bool {
    let status = value.pointer("/base_resp/status_code").and_then(Value::as_i64);
    status.is_some_and(|status| status != 0)
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        _ => false,
    }
}

/// The text in a content field: a text, an object with one, or a list of parts. `thoughts` picks the parts of a list
/// that are thinking, else the others.
fn content_text(content: Option<&Value>, thoughts: bool) -> String {
    match content {
        Some(Value::String(text)) if !thoughts => text.clone(),
        Some(part @ Value::Object(_)) if !thoughts => {
            json::text(part, &["text", "content"]).unwrap_or_default().to_owned()
        }
        Some(Value::Array(parts)) => parts
            .iter()
            .filter(|part| (part.get("type").and_then(Value::as_str) == Some("thinking")) == thoughts)
            .map(|part| match part {
                Value::String(text) => text.clone(),
                part if thoughts => content_text(part.get("thinking"), false),
                part => json::text(part, &["text", "refusal"]).unwrap_or_default().to_owned(),
            })
            .collect(),
        _ => String::new(),
    }
}
