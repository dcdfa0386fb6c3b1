//! A stored conversation, told again to a client that loads it. Pure.

use super::update::{BETWEEN, call, chunk, piece, plan, thought};
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::turn::Turn;
use serde_json::{Value, json};

/// The updates that show these turns.
pub(super) fn updates(turns: &[Turn]) -> Vec<Value> {
    let mut updates: Vec<Value> = turns.iter().flat_map(|turn| &turn.items).filter_map(update).collect();
    // Clients that do not know ids join what is of a kind, also where something else was shown between.
    let mut spoken: Vec<Value> = Vec::new();
    for update in &mut updates {
        let kind = update["sessionUpdate"].clone();
        if kind == "user_message_chunk" {
            spoken.retain(|spoken| *spoken == kind);
        } else {
            spoken.retain(|spoken| *spoken != "user_message_chunk");
        }
        let Some(text) = update["content"]["text"].as_str() else {
            continue;
        };
        match spoken.contains(&kind) {
            true => update["content"]["text"] = json!(format!("{BETWEEN}{text}")),
            false => spoken.push(kind),
        }
    }
    updates
}

fn update(item: &ThreadItem) -> Option<Value> {
    let said = |kind: &str, text: String| (!text.trim().is_empty()).then(|| chunk(kind, item.id(), &text));
    match item {
        ThreadItem::UserMessage { content, .. } => {
            let words: Vec<String> = content.iter().map(words).collect();
            said("user_message_chunk", words.join("\n"))
        }
        ThreadItem::AgentMessage { text, .. } => said("agent_message_chunk", text.clone()),
        ThreadItem::Reasoning { id, summary, .. } => {
            let words = thought(summary);
            (!words.trim().is_empty()).then(|| piece("agent_thought_chunk", id, &words))
        }
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
