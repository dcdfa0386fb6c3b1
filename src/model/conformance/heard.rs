//! What the client gives, in words, and whether it keeps its promises.

use crate::model::item::{ContentPart, LocalShellAction, ReasoningPart, ResponseItem, ToolSpec};
use crate::model::{ModelClient, ModelError, ModelEvent, ModelRequest};
use serde_json::json;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

/// Everything that one request gives.
#[derive(Debug, Default)]
pub(in crate::model) struct Heard {
    pub(in crate::model) events: Vec<ModelEvent>,
    pub(in crate::model) error: Option<ModelError>,
    skipped: u64,
}

fn request() -> ModelRequest {
    let shell = ToolSpec::Function {
        name: "shell".into(),
        description: "Runs a command.".into(),
        strict: false,
        parameters: json!({"type": "object"}),
    };
    let patch = ToolSpec::Custom {
        name: "apply_patch".into(),
        description: "Patches.".into(),
        format: json!({"type": "text"}),
    };
    ModelRequest {
        model: "m-1".into(),
        input: Arc::new(vec![ResponseItem::user("hello")]),
        tools: vec![shell, patch],
        cache_key: "thread-1".into(),
        turn_id: "turn-1".into(),
        ..ModelRequest::default()
    }
}

/// Asks once and listens to the end.
pub(in crate::model) async fn ask(client: &ModelClient) -> Heard {
    let mut heard = Heard::default();
    match client.stream(&request()).await {
        Err(error) => heard.error = Some(error),
        Ok(mut stream) => {
            while let Some(event) = stream.next().await {
                match event {
                    Ok(event) => heard.events.push(event),
                    Err(error) => heard.error = Some(error),
                }
            }
            heard.skipped = stream.skipped();
        }
    }
    heard.check();
    heard
}

impl Heard {
    /// The promises of [`crate::model`].
    pub(in crate::model) fn check(&self) {
        let (mut open, mut closed, mut calls) = (HashSet::new(), HashSet::new(), HashSet::new());
        let id_of = |item: &ResponseItem| item.id().unwrap_or("local shell").to_owned();
        for (index, event) in self.events.iter().enumerate() {
            match event {
                ModelEvent::ItemAdded(item) => {
                    let id = id_of(item);
                    assert!(
                        !closed.contains(&id) || id == "local shell",
                        "{id} is added twice: {self:?}"
                    );
                    assert!(open.insert(id), "added twice: {self:?}");
                }
                ModelEvent::TextDelta { item_id, .. }
                | ModelEvent::ReasoningDelta { item_id, .. }
                | ModelEvent::ReasoningSummaryDelta { item_id, .. } => {
                    assert!(open.contains(item_id), "{item_id} is not open: {self:?}");
                }
                ModelEvent::ItemDone(item) => {
                    let id = id_of(item);
                    assert!(open.remove(&id), "{id} is not open: {self:?}");
                    closed.insert(id);
                    if let Some(call_id) = item.call_id() {
                        assert!(calls.insert(call_id.to_owned()), "{call_id} is used twice: {self:?}");
                    }
                }
                ModelEvent::Completed { .. } => assert_eq!(index + 1, self.events.len(), "the last: {self:?}"),
                ModelEvent::Created | ModelEvent::RateLimits(_) => {}
            }
        }
        let completed = matches!(self.events.last(), Some(ModelEvent::Completed { .. }));
        assert_ne!(completed, self.error.is_some(), "one ending: {self:?}");
    }

    /// What came of it: finished items, what was shown and is in no item, and the ending.
    pub(in crate::model) fn outcome(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let (mut shown, mut said) = (String::new(), String::new());
        for event in &self.events {
            match event {
                ModelEvent::ItemDone(item) => {
                    said.push_str(&item.text());
                    lines.push(in_words(item));
                }
                ModelEvent::TextDelta { delta, .. } => shown.push_str(delta),
                ModelEvent::RateLimits(limits) => {
                    let windows = [limits.primary, limits.secondary].into_iter().flatten();
                    let used: Vec<String> = windows.map(|window| format!("{}%", window.used_percent)).collect();
                    lines.push(format!("limits {}", used.join(" ")));
                }
                ModelEvent::Completed { response_id, usage } => {
                    let mut line = format!("done {}", response_id.as_deref().unwrap_or("without an id"));
                    if let Some(usage) = usage {
                        let _ = write!(
                            line,
                            ", {} in ({} cached), {} out ({} thinking), {} in all",
                            usage.input_tokens,
                            usage.cached_input_tokens,
                            usage.output_tokens,
                            usage.reasoning_output_tokens,
                            usage.total_tokens
                        );
                    }
                    lines.push(line);
                }
                _ => {}
            }
        }
        if shown != said && !shown.is_empty() {
            lines.push(format!("shown {shown}"));
        }
        if self.skipped > 0 {
            lines.push(format!("skipped {}", self.skipped));
        }
        if let Some(error) = &self.error {
            let kind = format!("{:?}", error.kind);
            let kind = kind.split([' ', '{', '(']).next().unwrap_or_default();
            let message = error.to_string().replace(&error.endpoint.url, "URL");
            lines.push(format!("{kind}, {:?}: {message}", error.kind.transience()));
        }
        lines
    }

    /// Every event, with ids in the order in which they come, since some are new each time.
    pub(super) fn trace(&self) -> String {
        let mut ids: Vec<String> = Vec::new();
        let mut number = |id: &str| {
            ids.iter().position(|known| known == id).unwrap_or_else(|| {
                ids.push(id.to_owned());
                ids.len() - 1
            })
        };
        let mut trace = String::new();
        for event in &self.events {
            let _ = match event {
                ModelEvent::ItemAdded(item) => writeln!(trace, "+{}", number(item.id().unwrap_or_default())),
                ModelEvent::TextDelta { item_id, delta } => writeln!(trace, "{} text {delta}", number(item_id)),
                ModelEvent::ReasoningSummaryDelta { item_id, index, delta } => {
                    writeln!(trace, "{} summary {index} {delta}", number(item_id))
                }
                ModelEvent::ReasoningDelta { item_id, index, delta } => {
                    writeln!(trace, "{} thought {index} {delta}", number(item_id))
                }
                ModelEvent::ItemDone(item) => {
                    let (id, call) = (item.id().unwrap_or_default(), item.call_id().unwrap_or_default());
                    let (id, call) = (number(id), number(call));
                    writeln!(trace, "={id} {call} {}", in_words(item))
                }
                other => writeln!(trace, "{other:?}"),
            };
        }
        trace + &self.outcome().join("\n")
    }
}

fn in_words(item: &ResponseItem) -> String {
    let text = |part: &ReasoningPart| match part {
        ReasoningPart::SummaryText { text } | ReasoningPart::ReasoningText { text } | ReasoningPart::Text { text } => {
            text.clone()
        }
        ReasoningPart::Other => "something else".to_owned(),
    };
    match item {
        ResponseItem::Message { role, content, .. } => {
            let images = content
                .iter()
                .filter(|part| matches!(part, ContentPart::InputImage { .. }));
            let images = " and an image".repeat(images.count());
            let role = if role == "assistant" { "" } else { role };
            format!("message{role} {}{images}", item.text())
        }
        ResponseItem::Reasoning {
            summary,
            content,
            encrypted_content,
            ..
        } => {
            let summary: Vec<String> = summary.iter().map(text).collect();
            let content: Vec<String> = content.iter().flatten().map(text).collect();
            let sealed = if encrypted_content.is_some() { ", sealed" } else { "" };
            match content.is_empty() {
                true => format!("thought, in short, {}{sealed}", summary.join(" | ")),
                false => format!("thought {}{sealed}", [summary, content].concat().join(" | ")),
            }
        }
        ResponseItem::FunctionCall { name, arguments, .. } => format!("call {name} {arguments}"),
        ResponseItem::CustomToolCall { name, input, .. } => format!("free-form call {name} {input}"),
        ResponseItem::LocalShellCall { action, .. } => {
            let LocalShellAction::Exec { command, .. } = action;
            format!("shell {}", command.join(" "))
        }
        ResponseItem::WebSearchCall { action, .. } => {
            format!(
                "search {}",
                action.as_ref().map(ToString::to_string).unwrap_or_default()
            )
        }
        other => format!("{other:?}"),
    }
}
