//! Calls that a model writes into its answer as text, because its server does not take them out or because nobody taught it
//! otherwise. Only an answer that is nothing but calls counts, and only of tools that were offered; whatever stands in prose or in an
//! answer's code is an answer, and so is what the model shows of a file, of a command's output or of the person's words. Text that may still become a call is held back, within bounds.
//!
//! The forms are those of the models' own chat templates, and of the parsers of vLLM and SGLang, looked at on 2026-11-30.

mod forms;
mod opening;
mod quoted;

use crate::model::item::{ResponseItem, ToolSpec};
use serde_json::{Map, Value};
use std::sync::Arc;

/// More is held back of no answer (bytes); a call may carry a whole file.
const MOST_HELD: usize = 256 << 10;
/// From here on (bytes) what is held is not looked at before its end.
const HEAD: usize = 512;

/// Families whose calls their provider takes out of the text, by how the last part of a model's name begins.
const TAKEN_OUT: &[&str] = &[
    "chatgpt",
    "claude",
    "codex",
    "gemini",
    "gpt",
    "grok",
    "o1",
    "o3",
    "o4",
    "rehearsal",
];

/// Whether a model that the person says nothing of may write calls as text.
fn may_leak(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    name.starts_with("gpt-oss") || !TAKEN_OUT.iter().any(|family| name.starts_with(family))
}

/// A tool that was offered.
#[derive(Debug)]
struct Offered {
    name: String,
    /// The schemas of its parameters, by name.
    properties: Map<String, Value>,
    /// Its input is text, in the one parameter `input`.
    is_custom: bool,
}

/// A call that was written as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) name: String,
    /// An object as JSON text.
    pub(super) arguments: String,
}

/// The answer so far.
#[derive(Debug, Default)]
pub(super) struct TextCalls {
    offered: Vec<Offered>,
    held: String,
    /// It is said as it comes: it is no call, or none is looked for.
    is_text: bool,
    /// What the model was given: what stands there it shows, and does not call.
    given: Arc<Vec<ResponseItem>>,
}

impl TextCalls {
    /// Looks for none.
    pub(super) fn nothing() -> Self {
        Self {
            is_text: true,
            ..Self::default()
        }
    }

    /// Looks for calls of these tools. `wanted` is what the person says of the model.
    pub(super) fn new(model: &str, tools: &[ToolSpec], wanted: Option<bool>) -> Self {
        let offered: Vec<Offered> = tools
            .iter()
            .filter_map(|tool| match tool {
                ToolSpec::Function { name, parameters, .. } => {
                    let properties = parameters.get("properties").and_then(Value::as_object);
                    Some(Offered {
                        name: name.clone(),
                        properties: properties.cloned().unwrap_or_default(),
                        is_custom: false,
                    })
                }
                ToolSpec::Custom { name, .. } => Some(Offered {
                    name: name.clone(),
                    properties: Map::from_iter([("input".to_owned(), serde_json::json!({"type": "string"}))]),
                    is_custom: true,
                }),
                ToolSpec::WebSearch { .. } => None,
            })
            .collect();
        let is_looked_for = wanted.unwrap_or_else(|| may_leak(model)) && !offered.is_empty();
        Self {
            offered,
            held: String::new(),
            is_text: !is_looked_for,
            given: Arc::default(),
        }
    }

    /// In answer to a conversation.
    #[must_use]
    pub(super) fn to(self, conversation: Arc<Vec<ResponseItem>>) -> Self {
        Self {
            given: conversation,
            ..self
        }
    }

    /// The next piece of the answer: what of it, and of what was held back, is text.
    pub(super) fn take(&mut self, said: String) -> String {
        if self.is_text {
            return said;
        }
        let is_known = self.held.len() > HEAD;
        self.held.push_str(&said);
        let may_be_call = is_known || opening::may_be_call(&self.held, &self.offered);
        self.is_text = !may_be_call || self.held.len() > MOST_HELD;
        match self.is_text {
            true => std::mem::take(&mut self.held),
            false => String::new(),
        }
    }

    /// The answer is over; `is_all` if it came to its end and there is no other call in it.
    ///
    /// # Errors
    /// What was held back is text.
    pub(super) fn finish(&mut self, is_all: bool) -> Result<Vec<Written>, String> {
        let held = std::mem::take(&mut self.held);
        self.is_text = true;
        match is_all.then(|| forms::calls(&held, &self.offered)).flatten() {
            Some(calls) if quoted::is_quoted(&held, &self.given) || quoted::is_one_quoted(&calls, &self.given) => {
                tracing::info!("what looks like calls stands in the conversation, and counts as text");
                Err(held)
            }
            Some(calls) => {
                let names = calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>();
                tracing::info!(?names, "calls that were written as text");
                Ok(calls)
            }
            None => Err(held),
        }
    }
}

#[cfg(test)]
mod tests;
