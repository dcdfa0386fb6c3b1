//! What a voice is told before it speaks: what it is for, and what the written conversation is about.

use crate::agent::conversation::Conversation;
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::settings::ThreadSettings;
use crate::protocol::turn::Turn;
use crate::realtime::cut;

/// What it is for, where nobody says otherwise.
const INSTRUCTIONS: &str = "You are the voice of a coding agent in the person's editor. Speak briefly and plainly. You cannot see \
    or change files yourself: whatever needs the project, a command or a change, hand to the agent and say that you did. When its \
    result comes, sum it up in a sentence or two. Never claim that something was done before the agent has said so. Messages \
    marked [USER] were typed in the editor and are answered there; know them, and do not read them out.";

/// The last turns that it is told of.
const TURNS: usize = 6;
/// Tokens of one text, and of all of them.
const TEXT_TOKENS: usize = 300;
const CONTEXT_TOKENS: usize = 2000;

pub(super) fn instructions(
    conversation: &Conversation,
    settings: &ThreadSettings,
    instructions: Option<String>,
    with_context: bool,
) -> String {
    let instructions = instructions.unwrap_or_else(|| INSTRUCTIONS.to_owned());
    if !with_context {
        return instructions;
    }
    let mut context = format!("The project is in {}.", settings.cwd.display());
    let data = conversation.data();
    let last = &data.turns[data.turns.len().saturating_sub(TURNS)..];
    let said: Vec<String> = last.iter().flat_map(said).collect();
    drop(data);
    if !said.is_empty() {
        context.push_str("\nThe conversation in the editor so far ended with:\n");
        // The latest matter most.
        let mut room = (CONTEXT_TOKENS * 4).saturating_sub(context.len());
        let fits = |line: &&String| {
            let fits = line.len() < room;
            room = room.saturating_sub(line.len() + 1);
            fits
        };
        let mut kept: Vec<&String> = said.iter().rev().take_while(fits).collect();
        kept.reverse();
        context.push_str(&kept.into_iter().map(String::as_str).collect::<Vec<_>>().join("\n"));
    }
    format!("{instructions}\n\n{context}")
}

/// What the person and the agent said in a turn, a line each.
fn said(turn: &Turn) -> Vec<String> {
    let line = |who: &str, text: &str| {
        let text = text.trim();
        (!text.is_empty()).then(|| format!("{who}: {}", cut(text, TEXT_TOKENS)))
    };
    let mut lines = Vec::new();
    let mut answer = None;
    for item in &turn.items {
        match item {
            ThreadItem::UserMessage { content, .. } => {
                let texts = content.iter().filter_map(|piece| match piece {
                    UserInput::Text { text } => Some(text.as_str()),
                    _ => None,
                });
                lines.extend(line("The person", &texts.collect::<Vec<_>>().join("\n")));
            }
            ThreadItem::AgentMessage { text, .. } => answer = line("The agent", text),
            _ => {}
        }
    }
    lines.extend(answer);
    lines
}
