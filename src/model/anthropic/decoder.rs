//! The stream: blocks begin, grow and stop; each becomes an item.

use super::{REDACTED, SIGNATURE, UNSIGNED};
use crate::model::error::ErrorKind;
use crate::model::failure::{Asked, Report};
use crate::model::item::{ContentPart, ReasoningPart, ResponseItem};
use crate::model::names::Names;
use crate::model::reading::Reading;
use crate::model::sse::SseEvent;
use crate::model::{ModelEvent, json, wire};
use crate::protocol::model::TokenUsage;
use serde_json::{Value, json as value};
use std::collections::{HashSet, VecDeque};

type Events = VecDeque<ModelEvent>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Call,
    Search,
}

/// A block that has begun and not stopped.
#[derive(Debug)]
struct Block {
    index: Option<u64>,
    kind: Kind,
    /// The id that the outside knows.
    id: String,
    /// The provider's id of a call.
    wire_id: Option<String>,
    name: String,
    /// Text, thoughts, or the input of a call.
    text: String,
    /// The text came with the beginning of the block; pieces say all of it once more.
    is_whole: bool,
    /// Bytes of a text that came with the beginning of the block; the first piece may begin with it.
    given: usize,
    seal: Option<String>,
}

#[derive(Debug)]
pub(in crate::model) struct Decoder {
    names: Names,
    /// Names of the tools whose input is text.
    custom: HashSet<String>,
    created: bool,
    response_id: Option<String>,
    /// Some of the answer is here.
    has_blocks: bool,
    open: Vec<Block>,
    usage: Option<TokenUsage>,
    stop_reason: Option<String>,
    /// Some text was for the person.
    spoke: bool,
    pub(in crate::model) reading: Reading,
}

impl Decoder {
    pub(in crate::model) fn new(names: Names, custom: HashSet<String>) -> Self {
        Self {
            names,
            custom,
            created: false,
            response_id: None,
            has_blocks: false,
            open: Vec::new(),
            usage: None,
            stop_reason: None,
            spoke: false,
            reading: Reading::default(),
        }
    }

    /// The model has said its last word; only the closing mark is still to come, if it does.
    pub(in crate::model) fn finished(&self) -> bool {
        self.stop_reason.is_some()
    }

    pub(in crate::model) fn event(
        &mut self,
        event: &SseEvent,
        asked: Asked<'_>,
        out: &mut Events,
    ) -> Result<(), ErrorKind> {
        let Some(value) = self.reading.object(event) else {
            return Ok(());
        };
        // The name of the event comes first where it says that something failed: llama-server sends the error itself as data, whose `type` is
        // the error's.
        let name = event.event.as_deref();
        let kind = name.filter(|name| *name == "error").or(json::text(&value, &["type"]));
        match kind.or(name).unwrap_or_default() {
            "message_start" => return self.start(value.get("message").unwrap_or(&Value::Null), out),
            "content_block_start" => self.block(&value, out),
            "content_block_delta" => self.delta(&value, out),
            "content_block_stop" => self.stop(index(&value), out),
            "message_delta" => {
                if let Some(reason) = value.get("delta").and_then(|delta| json::text(delta, &["stop_reason"])) {
                    self.stop_reason = Some(reason.to_owned());
                }
                self.count(value.get("usage"));
            }
            "message_stop" => return self.complete(out),
            "error" => return Err(Report::from_json(&value, asked.now).into_stream(asked)),
            "" if value.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(Report::from_json(&value, asked.now).into_stream(asked));
            }
            kind => tracing::trace!(kind, "an event of no use here"),
        }
        Ok(())
    }

    /// A whole answer in one piece, from a server that does not stream.
    pub(in crate::model) fn document(
        &mut self,
        value: Value,
        asked: Asked<'_>,
        out: &mut Events,
    ) -> Result<(), ErrorKind> {
        let has_error = ["error", "detail"]
            .iter()
            .any(|key| value.get(*key).is_some_and(|error| !error.is_null()));
        let Some(content) = value.get("content").and_then(Value::as_array).filter(|_| !has_error) else {
            if has_error || value.get("message").is_some() {
                return Err(Report::from_json(&value, asked.now).into_stream(asked));
            }
            let start = asked.clean(&crate::model::failure::plain(&value.to_string()));
            return Err(ErrorKind::Protocol {
                reason: format!("it is JSON, but no answer: {start}"),
            });
        };
        self.start(&value, out)?;
        for (index, block) in content.iter().enumerate() {
            self.block(&value!({"index": index, "content_block": block}), out);
            self.stop(Some(index as u64), out);
        }
        self.stop_reason = json::text(&value, &["stop_reason"]).map(str::to_owned);
        self.complete(out)
    }

    /// The stream has ended without its closing mark.
    pub(in crate::model) fn end(&mut self, out: &mut Events) -> Result<(), ErrorKind> {
        if self.reading.completed {
            return Ok(());
        }
        match self.finished() {
            true => self.complete(out),
            false => Err(ErrorKind::StreamEnded { reason: None }),
        }
    }

    /// # Errors
    /// A second answer begins in the midst of the first: something on the way has asked once more. Neither is whole.
    fn start(&mut self, message: &Value, out: &mut Events) -> Result<(), ErrorKind> {
        self.create(out);
        let id = json::text(message, &["id"]).map(str::to_owned);
        if self.has_blocks && id.is_some() && self.response_id.is_some() && id != self.response_id {
            return Err(ErrorKind::StreamEnded {
                reason: Some("another answer began in its midst".to_owned()),
            });
        }
        self.response_id = id.or(self.response_id.take());
        self.count(message.get("usage"));
        Ok(())
    }

    fn create(&mut self, out: &mut Events) {
        if !std::mem::replace(&mut self.created, true) {
            out.push_back(ModelEvent::Created);
        }
    }

    /// What is cached is told apart from the rest here, and is part of it elsewhere. Later numbers are whole ones, too.
    fn count(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else {
            return;
        };
        let number = |key: &str| json::count(usage.get(key));
        let before = self.usage.unwrap_or_default();
        let cached = number("cache_read_input_tokens");
        let written = number("cache_creation_input_tokens");
        let input = number("input_tokens").map(|fresh| {
            let fresh = fresh.saturating_add(written.unwrap_or(0));
            fresh.saturating_add(cached.unwrap_or(0))
        });
        // An update tells the output only, or all over again; a zero is what it does not know.
        let input_tokens = input.filter(|input| *input > 0).unwrap_or(before.input_tokens);
        let output_tokens = number("output_tokens").unwrap_or(before.output_tokens);
        if self.usage.is_none() && input.is_none() && number("output_tokens").is_none() {
            return;
        }
        let told = |count: Option<u32>| count.filter(|_| input.is_some_and(|input| input > 0));
        self.usage = Some(TokenUsage {
            input_tokens,
            cached_input_tokens: told(cached).unwrap_or(before.cached_input_tokens),
            cache_write_input_tokens: told(written).unwrap_or(before.cache_write_input_tokens),
            output_tokens,
            reasoning_output_tokens: 0,
            total_tokens: input_tokens.saturating_add(output_tokens),
        });
    }

    fn block(&mut self, value: &Value, out: &mut Events) {
        self.create(out);
        let Some(block) = value.get("content_block") else {
            return;
        };
        let kind = match json::text(block, &["type"]) {
            Some("text") => Kind::Text,
            Some("thinking" | "redacted_thinking") => Kind::Thinking,
            Some("tool_use") => Kind::Call,
            Some("server_tool_use") if json::text(block, &["name"]) == Some("web_search") => Kind::Search,
            _ => return,
        };
        let index = index(value);
        // A place that is used again: what stood there is over. A call may be half of one.
        let at = self.open.iter().position(|open| index.is_some() && open.index == index);
        if let Some(at) = at {
            let block = self.open.remove(at);
            if is_whole(&block) {
                self.finish(block, out);
            }
        }
        self.begin(index, kind, out);
        let opened = self.open.last_mut().expect("just begun");
        opened.wire_id = json::text(block, &["id"]).map(str::to_owned);
        json::text(block, &["name"])
            .unwrap_or_default()
            .clone_into(&mut opened.name);
        // An empty one is one: some servers have no other, and want it back.
        let signature = block.get("signature").and_then(Value::as_str);
        opened.seal = match (json::text(block, &["data"]), signature) {
            (Some(data), _) if kind == Kind::Thinking => Some(format!("{REDACTED}{data}")),
            (_, Some(signature)) => Some(format!("{SIGNATURE}{signature}")),
            _ => None,
        };
        match kind {
            Kind::Text | Kind::Thinking => {
                let text = json::text(block, &["text", "thinking"]).unwrap_or_default().to_owned();
                opened.given = text.len();
                self.grow(self.open.len() - 1, &text, out);
            }
            // It is empty where it comes in pieces.
            Kind::Call | Kind::Search => {
                if let Some(input) = block
                    .get("input")
                    .filter(|input| input.as_object().is_none_or(|all| !all.is_empty()))
                {
                    opened.text = wire::as_text(Some(input.clone()));
                    opened.is_whole = true;
                }
            }
        }
    }

    fn begin(&mut self, index: Option<u64>, kind: Kind, out: &mut Events) {
        let prefix = match kind {
            Kind::Text => "msg",
            Kind::Thinking => "rs",
            Kind::Call => "fc",
            Kind::Search => "ws",
        };
        let id = self.names.item(None, prefix);
        match kind {
            Kind::Thinking => out.push_back(ModelEvent::ItemAdded(ResponseItem::Reasoning {
                id: Some(id.clone()),
                summary: Vec::new(),
                content: None,
                encrypted_content: None,
            })),
            Kind::Search => out.push_back(ModelEvent::ItemAdded(ResponseItem::WebSearchCall {
                id: Some(id.clone()),
                status: None,
                action: None,
            })),
            // A message begins with its first letter, and a call once it is whole.
            Kind::Text | Kind::Call => {}
        }
        self.open.push(Block {
            index,
            kind,
            id,
            wire_id: None,
            name: String::new(),
            text: String::new(),
            is_whole: false,
            given: 0,
            seal: None,
        });
        self.has_blocks = true;
    }

    fn delta(&mut self, value: &Value, out: &mut Events) {
        self.create(out);
        let Some(delta) = value.get("delta") else { return };
        let (kind, key) = match json::text(delta, &["type"]) {
            Some("text_delta") => (Kind::Text, "text"),
            Some("thinking_delta") => (Kind::Thinking, "thinking"),
            Some("signature_delta") => (Kind::Thinking, "signature"),
            Some("input_json_delta") => (Kind::Call, "partial_json"),
            _ => return,
        };
        let Some(text) = json::text(delta, &[key]) else { return };
        let index = index(value);
        let fits = |block: &Block| {
            let is_call = kind == Kind::Call && matches!(block.kind, Kind::Call | Kind::Search);
            (index.is_none() || block.index == index) && (block.kind == kind || is_call)
        };
        let at = match self.open.iter().rposition(fits) {
            Some(at) => at,
            // A call without a name cannot be made.
            None if kind == Kind::Call || key == "signature" => return,
            None => {
                self.begin(index, kind, out);
                self.open.len() - 1
            }
        };
        match key {
            "signature" => {
                let seal = self.open[at].seal.get_or_insert_with(|| SIGNATURE.to_owned());
                seal.push_str(text);
            }
            "partial_json" => {
                let block = &mut self.open[at];
                if std::mem::take(&mut block.is_whole) {
                    block.text.clear();
                }
                block.text.push_str(text);
            }
            _ => {
                let block = &mut self.open[at];
                let given = std::mem::take(&mut block.given);
                // MiniMax says it twice.
                let more = text.strip_prefix(&block.text[..given]).filter(|_| given > 0);
                self.grow(at, more.unwrap_or(text), out);
            }
        }
    }

    /// More of a text or a thought.
    fn grow(&mut self, at: usize, text: &str, out: &mut Events) {
        if text.is_empty() {
            return;
        }
        let block = &mut self.open[at];
        let (item_id, delta) = (block.id.clone(), text.to_owned());
        if block.kind == Kind::Text {
            self.spoke = true;
            if block.text.is_empty() {
                out.push_back(ModelEvent::ItemAdded(ResponseItem::Message {
                    id: Some(item_id.clone()),
                    role: "assistant".to_owned(),
                    content: Vec::new(),
                }));
            }
            out.push_back(ModelEvent::TextDelta { item_id, delta });
        } else {
            // What these models show of their thoughts is a summary.
            out.push_back(ModelEvent::ReasoningSummaryDelta {
                item_id,
                index: 0,
                delta,
            });
        }
        block.text.push_str(text);
    }

    fn stop(&mut self, index: Option<u64>, out: &mut Events) {
        let at = match index {
            Some(_) => self.open.iter().position(|block| block.index == index),
            None => self.open.len().checked_sub(1),
        };
        if let Some(at) = at {
            let block = self.open.remove(at);
            self.finish(block, out);
        }
    }

    fn finish(&mut self, block: Block, out: &mut Events) {
        let Block {
            kind,
            id,
            wire_id,
            name,
            text,
            seal,
            ..
        } = block;
        let id = Some(id);
        match kind {
            Kind::Text if text.is_empty() => {}
            Kind::Text => out.push_back(ModelEvent::ItemDone(ResponseItem::Message {
                id,
                role: "assistant".to_owned(),
                content: vec![ContentPart::OutputText { text }],
            })),
            Kind::Thinking => out.push_back(ModelEvent::ItemDone(ResponseItem::Reasoning {
                id,
                encrypted_content: seal.or_else(|| (!text.is_empty()).then(|| UNSIGNED.to_owned())),
                summary: Some(text)
                    .filter(|text| !text.is_empty())
                    .map(|text| ReasoningPart::SummaryText { text })
                    .into_iter()
                    .collect(),
                content: None,
            })),
            Kind::Search => {
                let query = json::parse(&text).and_then(|input| Some(json::text(&input, &["query"])?.to_owned()));
                out.push_back(ModelEvent::ItemDone(ResponseItem::WebSearchCall {
                    id,
                    status: Some("completed".to_owned()),
                    action: query.map(|query| value!({"type": "search", "query": query})),
                }));
            }
            Kind::Call => {
                let call_id = self.names.call(wire_id.as_deref());
                let make = |text: String| match self.custom.contains(&name) {
                    true => ResponseItem::CustomToolCall {
                        id: id.clone(),
                        call_id: call_id.clone(),
                        name: name.clone(),
                        input: text,
                    },
                    false => ResponseItem::FunctionCall {
                        id: id.clone(),
                        name: name.clone(),
                        arguments: text,
                        call_id: call_id.clone(),
                    },
                };
                out.push_back(ModelEvent::ItemAdded(make(String::new())));
                let text = match self.custom.contains(&name) {
                    true => wire::text_argument(text),
                    // What has no input comes without a piece of it.
                    false if text.trim().is_empty() => "{}".to_owned(),
                    false => text,
                };
                out.push_back(ModelEvent::ItemDone(make(text)));
            }
        }
    }

    /// The answer is over: what was left open is closed first.
    fn complete(&mut self, out: &mut Events) -> Result<(), ErrorKind> {
        let cut = matches!(
            self.stop_reason.as_deref(),
            Some("max_tokens" | "model_context_window_exceeded")
        );
        for block in std::mem::take(&mut self.open) {
            // Half a call must not run.
            if block.kind != Kind::Call || (!cut && is_whole(&block)) {
                self.finish(block, out);
            }
        }
        match self.stop_reason.as_deref() {
            Some("max_tokens") => {
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
            // It would go on from results of searches, which are not kept.
            Some("pause_turn") => {
                return Err(ErrorKind::Incomplete {
                    reason: "pause_turn".to_owned(),
                });
            }
            Some("refusal") if !self.spoke => return Err(ErrorKind::Refused),
            None if !self.created => return Err(ErrorKind::StreamEnded { reason: None }),
            _ => {}
        }
        self.reading.completed = true;
        out.push_back(ModelEvent::Completed {
            response_id: self.response_id.take(),
            usage: self.usage,
        });
        Ok(())
    }
}

/// Whether nothing is missing of it, as far as that can be seen: of a call, its input.
fn is_whole(block: &Block) -> bool {
    block.kind != Kind::Call || json::parse(&block.text).is_some_and(|input| input.is_object())
}

fn index(value: &Value) -> Option<u64> {
    value.get("index").and_then(Value::as_u64)
}
