//! A stored conversation, told again to a client that loads it. Pure.

use super::update::{call, chunk, plan};
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::turn::Turn;
use serde_json::{Value, json};

/// The updates that show these turns.
pub(super) fn updates(turns: &[Turn]) -> Vec<Value> {
    turns.iter().flat_map(|turn| &turn.items).filter_map(update).collect()
}

fn update(item: &ThreadItem) -> Option<Value> {
    let said = |kind: &str, text: String| (!text.trim().is_empty()).then(|| chunk(kind, &text));
    match item {
        ThreadItem::UserMessage { content, .. } => {
            let words: Vec<String> = content.iter().map(words).collect();
            said("user_message_chunk", words.join("\n"))
        }
        ThreadItem::AgentMessage { text, .. } => said("agent_message_chunk", text.clone()),
        ThreadItem::Reasoning { summary, .. } => said("agent_thought_chunk", summary.join("\n\n")),
        ThreadItem::Plan { steps, .. } => Some(plan(steps)),
        ThreadItem::ExitedReviewMode { review, .. } => said("agent_message_chunk", review.clone()),
        other => {
            let mut call = call(other)?;
            call["sessionUpdate"] = json!("tool_call");
            Some(call)
        }
    }
}

fn words(input: &UserInput) -> String {
    match input {
        UserInput::Text { text } => text.clone(),
        UserInput::Mention { path, .. } => format!("@{}", path.display()),
        UserInput::LocalImage { path } => format!("[image {}]", path.display()),
        UserInput::Image { .. } => "[image]".to_owned(),
        UserInput::CommandOutput { .. } => "[output of a command]".to_owned(),
    }
}
