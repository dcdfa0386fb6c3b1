//! The chat document: a conversation as a Markdown file, for editors without a panel (`docs/chat-document.md`).
//!
//! Everything here is text to text: what a document holds ([`document`]), what of a turn is written into it ([`story`]), where
//! ([`plan`]), and what of it is missing ([`catch_up`]). What the agent says and what commands print is untrusted: it goes through
//! [`text`], so that no line of it is taken for a heading of ours.

pub mod catch_up;
pub mod document;
pub mod folds;
pub mod line;
pub mod plan;
pub mod story;
pub mod text;
pub mod window;

#[cfg(test)]
mod tests;

/// How the files of chats end.
pub const SUFFIX: &str = ".countersign.md";

/// What a document tells its turns apart by: the end of the turn's id.
pub fn tag(turn: &crate::ids::TurnId) -> String {
    let digits: Vec<char> = turn.as_str().chars().filter(char::is_ascii_hexdigit).collect();
    digits[digits.len().saturating_sub(document::TAG)..]
        .iter()
        .collect::<String>()
        .to_ascii_lowercase()
}
