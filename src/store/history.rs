//! The history of a stored thread: its items in order, with compactions and rollbacks applied.

use super::line::{EventMsg, RolloutItem};
use crate::model::item::{ContentPart, ResponseItem, ToolOutputPayload};
use crate::protocol::model::{RateLimits, ThreadTokenUsage};
use std::collections::HashSet;

/// Bytes of the person's latest words that a compaction without its own history keeps.
const KEPT_WORDS: usize = 80_000;

/// What the model is told about a call whose output was never stored.
const NO_OUTPUT: &str = "No output: the turn was stopped before this call ended.";

pub(super) struct Replayed {
    pub(super) history: Vec<ResponseItem>,
    pub(super) usage: Option<ThreadTokenUsage>,
    pub(super) rate_limits: Option<RateLimits>,
}

/// Where a turn began, so that a rollback can return there.
struct Mark {
    /// How many compactions there had been.
    era: usize,
    /// Length of the history.
    len: usize,
    /// The person said something in it. Rollbacks count such turns; others go with those around them.
    has_words: bool,
    usage: Option<ThreadTokenUsage>,
}

pub(super) fn replay<'a>(items: impl Iterator<Item = &'a RolloutItem>) -> Replayed {
    let mut history: Vec<ResponseItem> = Vec::new();
    // What compactions have replaced: a rollback over one brings back what was there.
    let mut replaced: Vec<Vec<ResponseItem>> = Vec::new();
    let mut usage = None;
    let mut rate_limits = None;
    let mut marks: Vec<Mark> = Vec::new();
    let mut in_turn = false;
    for item in items {
        match item {
            RolloutItem::ResponseItem(ResponseItem::Other) => {}
            RolloutItem::ResponseItem(item) => {
                if is_words(item) {
                    match marks.last_mut().filter(|_| in_turn) {
                        Some(mark) => mark.has_words = true,
                        None => marks.push(Mark {
                            era: replaced.len(),
                            len: history.len(),
                            has_words: true,
                            usage,
                        }),
                    }
                }
                history.push(item.clone());
            }
            RolloutItem::EventMsg(EventMsg::TaskStarted { .. }) => {
                marks.push(Mark {
                    era: replaced.len(),
                    len: history.len(),
                    has_words: false,
                    usage,
                });
                in_turn = true;
            }
            RolloutItem::EventMsg(EventMsg::TaskComplete { .. } | EventMsg::TurnAborted { .. }) => in_turn = false,
            RolloutItem::EventMsg(EventMsg::TokenCount {
                info,
                rate_limits: told,
            }) => {
                usage = info.clone().map(ThreadTokenUsage::from).or(usage);
                rate_limits = told
                    .as_ref()
                    .and_then(|told| RateLimits::from_json(told, 0))
                    .or(rate_limits);
            }
            RolloutItem::Compacted {
                message,
                replacement_history,
            } => {
                let compacted = match replacement_history {
                    Some(items) => items
                        .iter()
                        .filter(|item| **item != ResponseItem::Other)
                        .cloned()
                        .collect(),
                    None => rebuilt(&history, message),
                };
                replaced.push(std::mem::replace(&mut history, compacted));
            }
            RolloutItem::EventMsg(EventMsg::ThreadRolledBack { num_turns }) => {
                let mut left = *num_turns;
                while left > 0
                    && let Some(mark) = marks.pop()
                {
                    left -= usize::from(mark.has_words);
                    usage = mark.usage;
                    if let Some(before) = replaced.drain(mark.era..).next() {
                        history = before;
                    }
                    history.truncate(mark.len);
                }
                in_turn = false;
            }
            _ => {}
        }
    }
    Replayed {
        history: whole(history),
        usage,
        rate_limits,
    }
}

/// Whether an item is something that the person said, and not context that a program put in.
pub fn is_words(item: &ResponseItem) -> bool {
    words(item).is_some()
}

/// The person's own words in a history item.
pub fn words(item: &ResponseItem) -> Option<String> {
    let ResponseItem::Message { role, content, .. } = item else {
        return None;
    };
    if role != "user" {
        return None;
    }
    let mut texts = Vec::new();
    let mut pictures = false;
    for part in content {
        match part {
            ContentPart::InputText { text } if !is_context(text) => texts.push(text.as_str()),
            ContentPart::InputImage { .. } => pictures = true,
            _ => {}
        }
    }
    if texts.is_empty() && !pictures {
        return None;
    }
    Some(request_of(&texts.join("\n")).to_owned())
}

/// Whether a text of the role `user` is instructions or surroundings rather than words of the person.
pub fn is_context(text: &str) -> bool {
    const TAGS: &[&str] = &[
        "INSTRUCTIONS",
        "approval_policy",
        "apps_instructions",
        "collaboration_mode",
        "compaction_summary",
        "editor_context",
        "environment_context",
        "environments_instructions",
        "model_switch",
        "permissions instructions",
        "personality_spec",
        "plugins_instructions",
        "realtime_conversation",
        "skill",
        "skills_instructions",
        "subagent_notification",
        "turn_aborted",
        "undo",
        "user_action",
        "user_command",
        "user_instructions",
        "user_shell_command",
    ];
    let text = text.trim_start();
    if text.starts_with("# AGENTS.md instructions") {
        return true;
    }
    let Some(tag) = text.strip_prefix('<') else {
        return false;
    };
    TAGS.iter().any(|known| {
        tag.get(..known.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(known))
            && tag[known.len()..].starts_with(['>', ' '])
    }) || tag.starts_with("countersign_")
}

/// What follows the heading that separates an editor's context from the request itself, or all of it.
pub fn request_of(text: &str) -> &str {
    const HEADING: &str = "## My request";
    let mut from = 0;
    while let Some(at) = text[from..].find(HEADING).map(|at| from + at) {
        let rest = &text[at + HEADING.len()..];
        let line = rest.lines().next().unwrap_or_default();
        let starts_line = at == 0 || text[..at].ends_with('\n');
        if starts_line && let Some(colon) = line.find(':') {
            let title = line[..colon].trim();
            if title.is_empty() || title.starts_with("for ") {
                return rest[colon + 1..].trim();
            }
        }
        from = at + HEADING.len();
    }
    text.trim()
}

/// The history after a compaction that stored no history of its own.
fn rebuilt(history: &[ResponseItem], summary: &str) -> Vec<ResponseItem> {
    let is_message = |item: &&ResponseItem| matches!(item, ResponseItem::Message { .. });
    let mut kept: Vec<ResponseItem> = history
        .iter()
        .take_while(|item| !is_words(item))
        .filter(is_message)
        .cloned()
        .collect();
    let mut room = KEPT_WORDS;
    let mut latest = Vec::new();
    for item in history.iter().rev().filter(|item| is_words(item)) {
        let size = words(item).map_or(0, |text| text.len());
        if size > room {
            break;
        }
        room -= size;
        latest.push(item.clone());
    }
    latest.reverse();
    kept.extend(latest);
    kept.push(ResponseItem::Message {
        id: None,
        role: "user".to_owned(),
        content: vec![ContentPart::InputText {
            text: format!("<compaction_summary>\n{summary}\n</compaction_summary>"),
        }],
    });
    kept
}

/// Makes the history one that a provider accepts: each call once and with its output, no output without its
/// call. A crash, or a file that was written twice over, leaves such gaps.
fn whole(history: Vec<ResponseItem>) -> Vec<ResponseItem> {
    let outputs: HashSet<String> = history.iter().filter_map(output_of).map(str::to_owned).collect();
    let mut calls: HashSet<String> = HashSet::new();
    let mut answered: HashSet<String> = HashSet::new();
    let mut ids: HashSet<String> = HashSet::new();
    let mut result = Vec::with_capacity(history.len());
    for item in history {
        if let Some(id) = id_of(&item)
            && !ids.insert(id.to_owned())
        {
            continue;
        }
        if let Some(id) = output_of(&item) {
            if calls.contains(id) && answered.insert(id.to_owned()) {
                result.push(item);
            }
            continue;
        }
        let Some(call) = call_of(&item).map(str::to_owned) else {
            result.push(item);
            continue;
        };
        if !calls.insert(call.clone()) {
            continue;
        }
        let missing = (!outputs.contains(&call)).then(|| no_output(&item, call));
        result.push(item);
        result.extend(missing);
    }
    result
}

/// The provider's id of a message or a reasoning; calls have their call id.
fn id_of(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::Message { id, .. } | ResponseItem::Reasoning { id, .. } => {
            id.as_deref().filter(|id| !id.is_empty())
        }
        _ => None,
    }
}

fn call_of(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::FunctionCall { call_id, .. } | ResponseItem::CustomToolCall { call_id, .. } => Some(call_id),
        ResponseItem::LocalShellCall { id, call_id, .. } => call_id.as_deref().or(id.as_deref()),
        _ => None,
    }
}

fn output_of(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::FunctionCallOutput { call_id, .. }
        | ResponseItem::CustomToolCallOutput { call_id, .. }
        | ResponseItem::LocalShellCallOutput { call_id, .. } => Some(call_id),
        _ => None,
    }
}

fn no_output(call: &ResponseItem, call_id: String) -> ResponseItem {
    let output = ToolOutputPayload::Text(NO_OUTPUT.to_owned());
    match call {
        ResponseItem::CustomToolCall { .. } => ResponseItem::CustomToolCallOutput { call_id, output },
        ResponseItem::LocalShellCall { .. } => ResponseItem::LocalShellCallOutput {
            call_id,
            output: NO_OUTPUT.to_owned(),
        },
        _ => ResponseItem::FunctionCallOutput { call_id, output },
    }
}
