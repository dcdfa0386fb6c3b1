//! The stream. Providers leave out events, ids and whole items, send them twice, or under other ids; the decoder
//! keeps a record of each item and gives a stream that keeps the promises of [`crate::model`].

use crate::model::error::ErrorKind;
use crate::model::failure::{Asked, Report};
use crate::model::item::{ContentPart, ReasoningPart, ResponseItem};
use crate::model::names::Names;
use crate::model::reading::Reading;
use crate::model::sse::SseEvent;
use crate::model::{ModelEvent, json, wire};
use crate::protocol::model::RateLimits;
use serde_json::Value;
use std::collections::BTreeMap;

/// Servers exist that use a new id in each delta; so many are kept for one item.
const MOST_ALIASES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Message,
    Reasoning,
    Function,
    Custom,
    LocalShell,
    WebSearch,
}

/// What is known of one item so far.
#[derive(Debug)]
struct Record {
    kind: Kind,
    /// The id that the outside knows.
    id: String,
    /// The ids that the provider has used for it.
    wire_ids: Vec<String>,
    output_index: Option<u64>,
    call_id: Option<String>,
    wire_call_id: Option<String>,
    name: String,
    /// Text, or arguments, or input, by part.
    text: BTreeMap<u64, String>,
    summary: BTreeMap<u64, String>,
    raw: BTreeMap<u64, String>,
    /// The arguments have been said to be complete.
    input_done: bool,
    added: bool,
    done: bool,
}

#[derive(Debug)]
pub(in crate::model) struct Decoder {
    records: Vec<Record>,
    names: Names,
    created: bool,
    pub(in crate::model) reading: Reading,
}

type Events = std::collections::VecDeque<ModelEvent>;

impl Decoder {
    pub(in crate::model) fn new(names: Names) -> Self {
        Self {
            records: Vec::new(),
            names,
            created: false,
            reading: Reading::default(),
        }
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
        // As on the Messages wire: the data of an error may have a `type` of its own.
        let name = event.event.as_deref();
        let kind = name.filter(|name| *name == "error").or(json::text(&value, &["type"]));
        let kind = kind.or(name).unwrap_or_default().to_owned();
        self.value(&kind, value, asked, out)
    }

    /// A whole answer in one piece, from a server that does not stream.
    pub(in crate::model) fn document(
        &mut self,
        value: Value,
        asked: Asked<'_>,
        out: &mut Events,
    ) -> Result<(), ErrorKind> {
        let has_error = value.get("error").is_some_and(|error| !error.is_null());
        if value.get("output").is_some() && !has_error {
            return self.finish(&value, asked, out);
        }
        if let Some(kind) = json::text(&value, &["type"]).map(str::to_owned) {
            self.value(&kind, value, asked, out)?;
            if self.reading.completed {
                return Ok(());
            }
            return Err(ErrorKind::StreamEnded { reason: None });
        }
        if has_error || value.get("detail").is_some() || value.get("message").is_some() {
            return Err(Report::from_json(&value, asked.now).into_stream(asked));
        }
        Err(ErrorKind::Protocol {
            reason: format!(
                "it is JSON, but no answer: {}",
                asked.clean(&crate::model::failure::plain(&value.to_string()))
            ),
        })
    }

    /// The stream has ended without saying that the answer is complete.
    pub(in crate::model) fn end(&mut self) -> Result<(), ErrorKind> {
        if self.reading.completed {
            Ok(())
        } else {
            Err(ErrorKind::StreamEnded { reason: None })
        }
    }

    fn value(&mut self, kind: &str, value: Value, asked: Asked<'_>, out: &mut Events) -> Result<(), ErrorKind> {
        let fails = matches!(kind, "response.failed" | "response.cancelled" | "response.error");
        if kind.starts_with("response.") && !fails && !std::mem::replace(&mut self.created, true) {
            out.push_back(ModelEvent::Created);
        }
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {}
            "response.output_item.added" => self.added(&value, out),
            "response.output_text.delta" | "response.refusal.delta" => self.text_delta(&value, out),
            "response.output_text.done" | "response.refusal.done" => {
                self.text_done(&value, &["text", "refusal"], Kind::Message);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_summary.delta" => {
                self.reasoning_delta(&value, true, out);
            }
            "response.reasoning_text.delta" | "response.reasoning.delta" => self.reasoning_delta(&value, false, out),
            "response.function_call_arguments.delta" => self.input_delta(&value, Kind::Function),
            "response.custom_tool_call_input.delta" => self.input_delta(&value, Kind::Custom),
            "response.function_call_arguments.done" => self.text_done(&value, &["arguments"], Kind::Function),
            "response.custom_tool_call_input.done" => self.text_done(&value, &["input"], Kind::Custom),
            "response.output_item.done" => self.item_done(value, out),
            "response.completed" | "response.done" | "response.incomplete" => {
                let response = value
                    .get("response")
                    .filter(|response| response.is_object())
                    .unwrap_or(&value);
                if kind == "response.incomplete" {
                    self.unfinished(response, out);
                    return Err(incomplete(response));
                }
                return self.finish(response, asked, out);
            }
            "response.failed" | "response.cancelled" | "error" | "response.error" => {
                return Err(Report::from_json(&value, asked.now).into_stream(asked));
            }
            "codex.rate_limits" => {
                out.extend(RateLimits::from_json(&value, asked.now).map(ModelEvent::RateLimits));
            }
            "" | "message" if value.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(Report::from_json(&value, asked.now).into_stream(asked));
            }
            "" if value.get("output").is_some_and(Value::is_array) => return self.finish(&value, asked, out),
            "" => {
                self.reading.skipped += 1;
                tracing::warn!("skipped an event without a type");
            }
            kind => tracing::trace!(kind, "an event of no use here"),
        }
        Ok(())
    }

    fn added(&mut self, value: &Value, out: &mut Events) {
        let Some(item) = value.get("item").cloned().and_then(wire::item) else {
            return;
        };
        let index = value.get("output_index").and_then(Value::as_u64);
        let wire_id = item.id().map(str::to_owned);
        let kind = kind_of(&item);
        let known = wire_id
            .as_deref()
            .and_then(|id| self.by_wire_id(id, kind))
            .filter(|at| !self.records[*at].done || !self.is_another(*at, &item, index));
        let at = known.unwrap_or_else(|| self.record(&item, index));
        if self.records[at].call_id.is_some() || !is_call(kind) {
            self.announce(at, out);
        }
    }

    fn text_delta(&mut self, value: &Value, out: &mut Events) {
        let Some(delta) = delta(value) else { return };
        let at = self.place(value, Kind::Message, out);
        let record = &mut self.records[at];
        if record.done {
            return;
        }
        record
            .text
            .entry(part(value, "content_index"))
            .or_default()
            .push_str(delta);
        out.push_back(ModelEvent::TextDelta {
            item_id: record.id.clone(),
            delta: delta.to_owned(),
        });
    }

    fn reasoning_delta(&mut self, value: &Value, summary: bool, out: &mut Events) {
        let Some(delta) = delta(value) else { return };
        let at = self.place(value, Kind::Reasoning, out);
        let record = &mut self.records[at];
        if record.done {
            return;
        }
        let (item_id, delta) = (record.id.clone(), delta.to_owned());
        let (parts, key) = if summary {
            (&mut record.summary, "summary_index")
        } else {
            (&mut record.raw, "content_index")
        };
        let index = part(value, key);
        parts.entry(index).or_default().push_str(&delta);
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        out.push_back(match summary {
            true => ModelEvent::ReasoningSummaryDelta { item_id, index, delta },
            false => ModelEvent::ReasoningDelta { item_id, index, delta },
        });
    }

    fn input_delta(&mut self, value: &Value, kind: Kind) {
        let Some(delta) = delta(value) else { return };
        if let Some(at) = self.find(value, kind) {
            self.records[at].text.entry(0).or_default().push_str(delta);
        }
    }

    /// A part is complete: what it says now wins over the deltas.
    fn text_done(&mut self, value: &Value, keys: &[&str], kind: Kind) {
        let Some(text) = json::text(value, keys) else { return };
        let Some(at) = self.find(value, kind) else { return };
        let index = if kind == Kind::Message {
            part(value, "content_index")
        } else {
            0
        };
        self.records[at].text.insert(index, text.to_owned());
        self.records[at].input_done = true;
    }

    fn item_done(&mut self, mut value: Value, out: &mut Events) {
        let index = value.get("output_index").and_then(Value::as_u64);
        let Some(item) = value.get_mut("item").map(Value::take).and_then(wire::item) else {
            return;
        };
        let at = self.for_done(&item, index);
        self.finish_item(at, item, out);
    }

    /// The record that a finished item belongs to.
    fn for_done(&mut self, item: &ResponseItem, index: Option<u64>) -> usize {
        let kind = kind_of(item);
        let open = |record: &Record| record.kind == kind && !record.done;
        let wire_call_id = item.call_id().filter(|id| !id.is_empty());
        let same_id = item.id().and_then(|id| self.by_wire_id(id, kind));
        let same_call = || {
            wire_call_id.and_then(|id| {
                self.records
                    .iter()
                    .position(|r| open(r) && r.wire_call_id.as_deref() == Some(id))
            })
        };
        let same_place = || {
            index.and_then(|index| {
                self.records
                    .iter()
                    .position(|r| open(r) && r.output_index == Some(index))
            })
        };
        let last = || {
            if is_call(kind) {
                None
            } else {
                self.records.iter().rposition(open)
            }
        };
        let same_text = || {
            let text = item.text();
            let holds = |record: &Record| record.text.values().map(String::as_str).collect::<String>() == text;
            if text.is_empty() {
                None
            } else {
                self.records.iter().position(|r| open(r) && holds(r))
            }
        };
        match same_id.or_else(same_call).or_else(same_place).or_else(same_text) {
            Some(at) if self.records[at].done && self.is_another(at, item, index) => self.record(item, index),
            Some(at) => at,
            // Without any id or place: the one that is open.
            None if item.id().is_none() && index.is_none() => last().unwrap_or_else(|| self.record(item, index)),
            None => self.record(item, index),
        }
    }

    /// Whether an item that uses a finished one's id is a second item for all that.
    fn is_another(&self, at: usize, item: &ResponseItem, index: Option<u64>) -> bool {
        let record = &self.records[at];
        let call_id = item.call_id().filter(|id| !id.is_empty());
        let differ = |a: Option<&str>, b: Option<&str>| matches!((a, b), (Some(a), Some(b)) if a != b);
        matches!((record.output_index, index), (Some(a), Some(b)) if a != b)
            || (is_call(record.kind) && differ(record.wire_call_id.as_deref(), call_id))
    }

    fn finish_item(&mut self, at: usize, mut item: ResponseItem, out: &mut Events) {
        if self.records[at].done {
            tracing::debug!(id = self.records[at].id, "an item was done twice");
            return;
        }
        if is_call(self.records[at].kind) && self.records[at].call_id.is_none() {
            let wanted = item
                .call_id()
                .filter(|id| !id.is_empty())
                .or(item.id())
                .map(str::to_owned);
            self.records[at].wire_call_id = wanted.clone();
            self.records[at].call_id = Some(self.names.call(wanted.as_deref()));
        }
        let record = &mut self.records[at];
        match &mut item {
            ResponseItem::Message { id, content, .. } => {
                *id = Some(record.id.clone());
                if content.is_empty() {
                    content.extend(parts(&record.text).map(|text| ContentPart::OutputText { text }));
                }
            }
            ResponseItem::Reasoning {
                id, summary, content, ..
            } => {
                *id = Some(record.id.clone());
                if summary.is_empty() {
                    summary.extend(parts(&record.summary).map(|text| ReasoningPart::SummaryText { text }));
                }
                if content.is_none() && !record.raw.is_empty() {
                    *content = Some(
                        parts(&record.raw)
                            .map(|text| ReasoningPart::ReasoningText { text })
                            .collect(),
                    );
                }
            }
            ResponseItem::FunctionCall {
                id,
                name,
                arguments: input,
                call_id,
            }
            | ResponseItem::CustomToolCall {
                id,
                name,
                input,
                call_id,
            } => {
                *id = Some(record.id.clone());
                if name.is_empty() {
                    name.clone_from(&record.name);
                }
                if input.is_empty() {
                    *input = parts(&record.text).collect();
                }
                call_id.clone_from(record.call_id.as_ref().unwrap_or(&record.id));
                record.name.clone_from(name);
            }
            ResponseItem::WebSearchCall { id, .. } => *id = Some(record.id.clone()),
            _ => {}
        }
        record.text = BTreeMap::from([(0, item.text())]);
        if record.kind == Kind::LocalShell {
            // Its ids, and their absence, mean something: the item goes on as it came.
            record.added = true;
            out.push_back(ModelEvent::ItemAdded(item.clone()));
        } else {
            self.announce(at, out);
        }
        self.records[at].done = true;
        out.push_back(ModelEvent::ItemDone(item));
    }

    /// The answer is complete: what was left open is closed first.
    fn finish(&mut self, response: &Value, asked: Asked<'_>, out: &mut Events) -> Result<(), ErrorKind> {
        self.unfinished(response, out);
        match response.get("status").and_then(Value::as_str) {
            Some("failed" | "cancelled") => return Err(Report::from_json(response, asked.now).into_stream(asked)),
            Some("incomplete") => return Err(incomplete(response)),
            _ => {}
        }
        self.reading.completed = true;
        out.push_back(ModelEvent::Completed {
            response_id: json::text(response, &["id"]).map(str::to_owned),
            usage: wire::usage(response.get("usage")),
        });
        Ok(())
    }

    /// Items that only the closing event holds, and open ones that it does not.
    fn unfinished(&mut self, response: &Value, out: &mut Events) {
        let output = response
            .get("output")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        for (index, value) in output.iter().enumerate() {
            let Some(item) = wire::item(value.clone()) else {
                continue;
            };
            let index = index as u64;
            if !self.has_done(&item, index) {
                let at = self.for_done(&item, Some(index));
                self.finish_item(at, item, out);
            }
        }
        for at in 0..self.records.len() {
            let record = &self.records[at];
            if record.done {
                continue;
            }
            let text = || parts(&record.text).collect::<String>();
            let item = match record.kind {
                Kind::Message if record.text.values().any(|text| !text.is_empty()) => ResponseItem::Message {
                    id: None,
                    role: "assistant".to_owned(),
                    content: Vec::new(),
                },
                Kind::Reasoning if !record.summary.is_empty() || !record.raw.is_empty() => ResponseItem::Reasoning {
                    id: None,
                    summary: Vec::new(),
                    content: None,
                    encrypted_content: None,
                },
                // A call counts only if it was all there: half a call must not run.
                Kind::Function if record.input_done => ResponseItem::FunctionCall {
                    id: None,
                    name: record.name.clone(),
                    arguments: text(),
                    call_id: String::new(),
                },
                Kind::Custom if record.input_done => ResponseItem::CustomToolCall {
                    id: None,
                    call_id: String::new(),
                    name: record.name.clone(),
                    input: text(),
                },
                _ => continue,
            };
            self.finish_item(at, item, out);
        }
    }

    /// Whether an item of the closing event has been done before, be it under another id.
    fn has_done(&self, item: &ResponseItem, index: u64) -> bool {
        let kind = kind_of(item);
        let call_id = item.call_id().filter(|id| !id.is_empty());
        let text = item.text();
        self.records
            .iter()
            .filter(|record| record.done && record.kind == kind)
            .any(|record| {
                record.output_index == Some(index)
                    || item
                        .id()
                        .is_some_and(|id| record.wire_ids.iter().any(|wire_id| wire_id == id))
                    || match kind {
                        Kind::Message => record.text.values().eq([&text]),
                        Kind::Reasoning => true,
                        _ if call_id.is_some() && record.wire_call_id.is_some() => {
                            record.wire_call_id.as_deref() == call_id
                        }
                        // In doubt it is the same: nothing runs twice.
                        _ => record.output_index.is_none(),
                    }
            })
    }

    /// The record that a delta belongs to; made if there is none.
    fn place(&mut self, value: &Value, kind: Kind, out: &mut Events) -> usize {
        let at = self.find(value, kind).unwrap_or_else(|| {
            let id = json::text(value, &["item_id"]).map(str::to_owned);
            let item = match kind {
                Kind::Reasoning => ResponseItem::Reasoning {
                    id,
                    summary: Vec::new(),
                    content: None,
                    encrypted_content: None,
                },
                _ => ResponseItem::Message {
                    id,
                    role: "assistant".to_owned(),
                    content: Vec::new(),
                },
            };
            self.record(&item, value.get("output_index").and_then(Value::as_u64))
        });
        self.announce(at, out);
        at
    }

    /// By id, else by place, else the one that is open: servers use ids in deltas that no item has.
    fn find(&mut self, value: &Value, kind: Kind) -> Option<usize> {
        let wire_id = json::text(value, &["item_id"]);
        if let Some(at) = wire_id.and_then(|id| self.by_wire_id(id, kind)) {
            return Some(at);
        }
        let open = |record: &Record| record.kind == kind && !record.done;
        let index = value.get("output_index").and_then(Value::as_u64);
        let at = index
            .and_then(|index| {
                self.records
                    .iter()
                    .position(|r| open(r) && r.output_index == Some(index))
            })
            .or_else(|| {
                self.records
                    .iter()
                    .rposition(|r| open(r) && (index.is_none() || r.output_index.is_none()))
            })?;
        let wire_ids = &mut self.records[at].wire_ids;
        if let Some(id) = wire_id.filter(|_| wire_ids.len() < MOST_ALIASES) {
            wire_ids.push(id.to_owned());
        }
        Some(at)
    }

    fn by_wire_id(&self, id: &str, kind: Kind) -> Option<usize> {
        let has = |record: &Record| record.kind == kind && record.wire_ids.iter().any(|known| known == id);
        self.records
            .iter()
            .rposition(|record| has(record) && !record.done)
            .or_else(|| self.records.iter().rposition(has))
    }

    fn record(&mut self, item: &ResponseItem, output_index: Option<u64>) -> usize {
        let kind = kind_of(item);
        let wire_id = item.id().map(str::to_owned);
        let wire_call_id = item
            .call_id()
            .filter(|id| !id.is_empty() && is_call(kind))
            .map(str::to_owned);
        let prefix = match kind {
            Kind::Message => "msg",
            Kind::Reasoning => "rs",
            Kind::Function | Kind::Custom | Kind::LocalShell => "fc",
            Kind::WebSearch => "ws",
        };
        let name = match item {
            ResponseItem::FunctionCall { name, .. } | ResponseItem::CustomToolCall { name, .. } => name.clone(),
            _ => String::new(),
        };
        self.records.push(Record {
            kind,
            id: self.names.item(wire_id.as_deref(), prefix),
            wire_ids: wire_id.into_iter().collect(),
            output_index,
            call_id: wire_call_id.as_deref().map(|id| self.names.call(Some(id))),
            wire_call_id,
            name,
            text: BTreeMap::new(),
            summary: BTreeMap::new(),
            raw: BTreeMap::new(),
            input_done: false,
            added: false,
            done: false,
        });
        self.records.len() - 1
    }

    /// Says that the item begins, once.
    fn announce(&mut self, at: usize, out: &mut Events) {
        let record = &mut self.records[at];
        if std::mem::replace(&mut record.added, true) {
            return;
        }
        let id = Some(record.id.clone());
        let call_id = record.call_id.clone().unwrap_or_default();
        let name = record.name.clone();
        out.push_back(ModelEvent::ItemAdded(match record.kind {
            Kind::Message => ResponseItem::Message {
                id,
                role: "assistant".to_owned(),
                content: Vec::new(),
            },
            Kind::Reasoning => ResponseItem::Reasoning {
                id,
                summary: Vec::new(),
                content: None,
                encrypted_content: None,
            },
            Kind::Function => ResponseItem::FunctionCall {
                id,
                name,
                arguments: String::new(),
                call_id,
            },
            Kind::Custom => ResponseItem::CustomToolCall {
                id,
                call_id,
                name,
                input: String::new(),
            },
            Kind::WebSearch => ResponseItem::WebSearchCall {
                id,
                status: None,
                action: None,
            },
            // Announced when it is done.
            Kind::LocalShell => {
                record.added = false;
                return;
            }
        }));
    }
}

fn kind_of(item: &ResponseItem) -> Kind {
    match item {
        ResponseItem::Message { .. } => Kind::Message,
        ResponseItem::Reasoning { .. } => Kind::Reasoning,
        ResponseItem::CustomToolCall { .. } => Kind::Custom,
        ResponseItem::LocalShellCall { .. } => Kind::LocalShell,
        ResponseItem::WebSearchCall { .. } => Kind::WebSearch,
        // `wire::item` gives no outputs and nothing unknown.
        ResponseItem::FunctionCall { .. }
        | ResponseItem::FunctionCallOutput { .. }
        | ResponseItem::CustomToolCallOutput { .. }
        | ResponseItem::LocalShellCallOutput { .. }
        | ResponseItem::Other => Kind::Function,
    }
}

fn is_call(kind: Kind) -> bool {
    matches!(kind, Kind::Function | Kind::Custom)
}

fn delta(value: &Value) -> Option<&str> {
    let delta = value.get("delta")?;
    delta
        .as_str()
        .or_else(|| json::text(delta, &["text"]))
        .filter(|delta| !delta.is_empty())
}

fn part(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn parts(parts: &BTreeMap<u64, String>) -> impl Iterator<Item = String> {
    parts.values().filter(|text| !text.is_empty()).cloned()
}

fn incomplete(response: &Value) -> ErrorKind {
    let reason = response
        .pointer("/incomplete_details/reason")
        .and_then(Value::as_str)
        .unwrap_or("no reason given");
    match reason {
        "content_filter" => ErrorKind::ContentFilter {
            status: None,
            message: String::new(),
        },
        reason => ErrorKind::Incomplete {
            reason: reason.to_owned(),
        },
    }
}
