//! How much a conversation takes, and when that is too much.
//!
//! The provider's own count comes first. What has come since, and everything where the provider counts nothing, is
//! estimated: four bytes of text to a token, and a fixed number for an image.

use crate::agent::small::{Budget, Fit};
use crate::agent::turn::Turn;
use crate::config::Config;
use crate::model::item::{ContentPart, LocalShellAction, ReasoningPart, ResponseItem, ToolOutputPayload, ToolSpec};

/// Bytes of text in a token, roughly, whatever the language.
pub(in crate::agent) const BYTES_PER_TOKEN: usize = 4;
/// An image of the size that people paste.
const IMAGE: usize = 1600;
/// Share of the window that a summary may need, as a divisor.
const ROOM_FOR_ANSWER: usize = 12;
/// What stands around an item: its kind, its role, its ids.
const FRAME: usize = 4;

pub(in crate::agent) fn text(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

pub(super) fn items<'a>(items: impl IntoIterator<Item = &'a ResponseItem>) -> usize {
    items.into_iter().map(item).sum()
}

pub(in crate::agent) fn item(item: &ResponseItem) -> usize {
    let reasoning = |parts: &[ReasoningPart]| -> usize {
        let texts = parts.iter().filter_map(|part| match part {
            ReasoningPart::SummaryText { text }
            | ReasoningPart::ReasoningText { text }
            | ReasoningPart::Text { text } => Some(text),
            ReasoningPart::Other => None,
        });
        texts.map(|part| text(part)).sum()
    };
    FRAME
        + match item {
            ResponseItem::Message { content, .. } => parts(content),
            ResponseItem::Reasoning {
                summary,
                content,
                encrypted_content,
                ..
            } => {
                let sealed = encrypted_content.as_deref().map_or(0, text);
                sealed.max(content.as_deref().map_or(0, reasoning)) + reasoning(summary)
            }
            ResponseItem::FunctionCall { name, arguments, .. } => text(name) + text(arguments),
            ResponseItem::CustomToolCall { name, input, .. } => text(name) + text(input),
            ResponseItem::FunctionCallOutput { output, .. } | ResponseItem::CustomToolCallOutput { output, .. } => {
                match output {
                    ToolOutputPayload::Text(output) => text(output),
                    ToolOutputPayload::Parts(content) => parts(content),
                }
            }
            ResponseItem::LocalShellCall { action, .. } => {
                let LocalShellAction::Exec { command, .. } = action;
                command.iter().map(|word| text(word)).sum()
            }
            ResponseItem::LocalShellCallOutput { output, .. } => text(output),
            ResponseItem::WebSearchCall { action, .. } => action.as_ref().map_or(0, |action| text(&action.to_string())),
            ResponseItem::Other => 0,
        }
}

fn parts(content: &[ContentPart]) -> usize {
    let of = |part: &ContentPart| match part {
        ContentPart::InputImage { .. } => IMAGE,
        part => part.text().map_or(0, text),
    };
    content.iter().map(of).sum()
}

/// What goes along with every request: instructions and tools.
fn around(turn: &Turn) -> usize {
    let budget = Budget::of(turn);
    let fit = turn.with_history(|history| Fit::of(turn, budget, history.items()));
    text(&fit.instructions_of(turn)) + tools(turn)
}

/// What the tools take that go along with every request.
pub(in crate::agent) fn tools(turn: &Turn) -> usize {
    turn.tool_specs().iter().map(tool).sum()
}

/// What one of them takes.
pub(in crate::agent) fn tool(tool: &ToolSpec) -> usize {
    serde_json::to_string(tool).map_or(0, |described| text(&described))
}

/// Tokens that the next request would take.
pub(super) fn in_window(turn: &Turn) -> u32 {
    let budget = Budget::of(turn);
    let (counted, since) = {
        let data = turn.conversation.data();
        let (counted, since) = data.history.since_count();
        let fit = Fit::of(turn, budget, data.history.items());
        (counted, since.iter().map(|one| fit.size(one)).sum::<usize>())
    };
    let before = counted.map_or_else(|| around(turn), |tokens| tokens as usize);
    u32::try_from(before + since).unwrap_or(u32::MAX)
}

/// Tokens of a history that has taken the place of another, until the provider has counted them. One that counts will do so
/// with the next answer; for one that never does, what goes along with every request is part of it.
pub(super) fn anew(turn: &Turn, provider_counts: bool) -> u32 {
    let history = items(turn.conversation.data().history.items());
    let around = if provider_counts { 0 } else { around(turn) };
    u32::try_from(around + history).unwrap_or(u32::MAX)
}

/// How many tokens of the history, by the estimate, can go along with a request for a summary. None: all of it, or nobody
/// knows.
///
/// `window`: tokens that fit into the window of the model that sums up.
pub(super) fn room_for_items(turn: &Turn, window: Option<u32>, prompt: &ResponseItem) -> Option<usize> {
    let window = window? as usize;
    // The summary itself needs some of it.
    let room = window - window / ROOM_FOR_ANSWER;
    let (counted, estimated) = {
        let data = turn.conversation.data();
        (data.history.since_count().0, items(data.history.items()))
    };
    match counted {
        None => Some(room.saturating_sub(around(turn) + item(prompt))),
        Some(_) => {
            let now = in_window(turn) as usize;
            // Within the window the provider's own word counts, which comes soon enough.
            let bare = room.saturating_sub(around(turn) + item(prompt));
            (now > window).then(|| (estimated.saturating_mul(room) / now).min(bare))
        }
    }
}

/// Tokens at which a conversation is compacted by itself. None: never, since the person wants it so, or nobody knows how
/// much the model takes.
pub(in crate::agent) fn limit(config: &Config, window: Option<u32>) -> Option<u32> {
    match (config.auto_compact_token_limit, window) {
        (Some(0), _) => None,
        // More than the model takes would be no limit at all.
        (Some(limit), Some(window)) => Some(limit.min(window)),
        (Some(limit), None) => Some(limit),
        (None, Some(window)) => Some(window / 10 * 9 + window % 10 * 9 / 10),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_what_was_set_or_nine_tenths_of_the_window() {
        let table = [
            (None, None, None),
            (None, Some(1000), Some(900)),
            (None, Some(999), Some(899)),
            (None, Some(u32::MAX), Some(3_865_470_565)),
            (Some(0), Some(1000), None),
            (Some(1), Some(1000), Some(1)),
            (Some(500), None, Some(500)),
            (Some(5000), Some(1000), Some(1000)),
        ];
        for (set, window, expect) in table {
            let config = Config {
                auto_compact_token_limit: set,
                ..Config::clone(
                    &crate::config::load(&Default::default())
                        .expect("the built-in values")
                        .config,
                )
            };
            assert_eq!(limit(&config, window), expect, "{set:?} of {window:?}");
        }
    }

    #[test]
    fn text_counts_by_its_bytes_and_an_image_by_the_piece() {
        let image = ContentPart::InputImage {
            image_url: format!("data:image/png;base64,{}", "A".repeat(100_000)),
        };
        let output = ResponseItem::FunctionCallOutput {
            call_id: "c".into(),
            output: ToolOutputPayload::Parts(vec![image]),
        };
        let table = [
            (ResponseItem::user(""), FRAME),
            (ResponseItem::user("12345678"), FRAME + 2),
            (ResponseItem::assistant("123456789"), FRAME + 3),
            (output, FRAME + IMAGE),
        ];
        for (one, tokens) in table {
            assert_eq!(item(&one), tokens, "{one:?}");
        }
        assert_eq!(items(&[ResponseItem::user("1234"), ResponseItem::Other]), 2 * FRAME + 1);
    }
}
