//! Looking for words in what was said in stored threads.
//!
//! Files are read one after the other, those used last first; a request reads a bounded amount and says where the next one
//! goes on.

use super::list::{Filter, Position, by_use};
use super::{StoreError, load, packed};
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::thread::{ThreadFound, ThreadListParams, ThreadSearchParams, ThreadSearchResult};
use crate::protocol::turn::Turn;
use regex::bytes::{Regex, RegexBuilder};
use std::path::Path;

/// Threads on a page if the request does not say.
const PAGE: usize = 25;

/// Bytes of files that one request looks through.
const MOST_READ: u64 = 256 * 1024 * 1024;

/// Letters around what was found.
const AROUND: usize = 60;

/// A page of the threads in which the words occur: in their name, or in what the person or the agent said.
///
/// # Errors
/// The cursor is not one of a page before.
pub fn search(home: &Path, params: &ThreadSearchParams) -> Result<ThreadSearchResult, StoreError> {
    let after = params.cursor.as_deref().map(Position::decode).transpose()?;
    let limit = params.limit.map_or(PAGE, |limit| limit.max(1) as usize);
    let term = params.search_term.trim();
    let mut result = ThreadSearchResult::default();
    if term.is_empty() {
        return Ok(result);
    }
    let listing = ThreadListParams {
        model_providers: Some(params.model_providers.clone().unwrap_or_default()),
        cwd: params.cwd.clone(),
        ..ThreadListParams::default()
    };
    let wanted = Filter::new(&listing, "");
    let wording = Wording::new(term);
    let (mut read, mut last) = (0, None);
    for (position, path) in by_use(home, params.archived, after.as_ref()) {
        if result.data.len() == limit || read > MOST_READ {
            result.next_cursor = last.map(|position: Position| position.encode());
            break;
        }
        // What is larger than a request may read is read all the same: it has its turn.
        read += std::fs::metadata(&path).map_or(0, |meta| packed::weight(&path, meta.len()));
        if let Some(thread) = wanted.admit(&path, &position) {
            let in_name = thread.name.as_deref().and_then(|name| wording.snippet(name));
            let found = match in_name {
                Some(snippet) => Some((snippet, None)),
                None => wording.in_file(&path),
            };
            if let Some((snippet, turn_id)) = found {
                result.data.push(ThreadFound {
                    thread,
                    snippet,
                    turn_id,
                });
            }
        }
        last = Some(position);
    }
    Ok(result)
}

/// The words that are looked for.
struct Wording {
    /// In lower case.
    term: String,
    /// Tells by its bytes alone that a file does not hold them; `None` where the words look otherwise inside JSON.
    raw: Option<Regex>,
}

impl Wording {
    fn new(term: &str) -> Self {
        let plain = term
            .chars()
            .all(|letter| letter != '"' && letter != '\\' && !letter.is_control() && letter.is_ascii());
        let raw = RegexBuilder::new(&regex::escape(term)).case_insensitive(true).build();
        Self {
            term: term.to_lowercase(),
            raw: raw.ok().filter(|_| plain),
        }
    }

    /// The first place in a thread, and its turn.
    fn in_file(&self, path: &Path) -> Option<(String, Option<crate::ids::TurnId>)> {
        let bytes = packed::read(path).ok()?;
        if self.raw.as_ref().is_some_and(|raw| !raw.is_match(&bytes)) {
            return None;
        }
        // What was rolled back is no part of the thread any more.
        let stored = load::load_bytes(path, &bytes).ok()?;
        stored.turns.iter().find_map(|turn| {
            let snippet = said(turn).find_map(|text| self.snippet(text))?;
            Some((snippet, Some(turn.id.clone())))
        })
    }

    /// The words with some around them, on one line.
    fn snippet(&self, text: &str) -> Option<String> {
        // Lower case can have another length, so places are found letter by letter.
        let lower: Vec<(usize, char)> = text
            .char_indices()
            .flat_map(|(at, letter)| letter.to_lowercase().map(move |small| (at, small)))
            .collect();
        let small: String = lower.iter().map(|(_, letter)| *letter).collect();
        let from = small[..small.find(&self.term)?].chars().count();
        let to = from + self.term.chars().count();
        let begin = from.saturating_sub(AROUND);
        let place = |at: usize| lower.get(at).map_or(text.len(), |(place, _)| *place);
        let middle = text[place(begin)..place(to + AROUND)].split_whitespace();
        let middle = middle.collect::<Vec<_>>().join(" ");
        let (before, after) = (
            if begin > 0 { "…" } else { "" },
            if to + AROUND < lower.len() { "…" } else { "" },
        );
        Some(format!("{before}{middle}{after}"))
    }
}

/// What was said in a turn.
fn said(turn: &Turn) -> impl Iterator<Item = &str> {
    turn.items.iter().flat_map(|item| match item {
        ThreadItem::UserMessage { content, .. } => content
            .iter()
            .filter_map(|input| match input {
                UserInput::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect(),
        ThreadItem::AgentMessage { text, .. } => vec![text.as_str()],
        ThreadItem::Plan {
            explanation: Some(text),
            ..
        } => vec![text.as_str()],
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whatever_their_case_and_shown_on_one_line() {
        let long = format!("{} the\n  NEEDLE here {}", "x ".repeat(100), "y ".repeat(100));
        let rows = [
            ("needle", "Find the Needle", Some("Find the Needle".to_owned())),
            ("ÄRGER", "viel ärger\nhier", Some("viel ärger hier".to_owned())),
            ("i̇", "İstanbul", Some("İstanbul".to_owned())),
            ("nothing", "Find the Needle", None),
            (
                "needle",
                long.as_str(),
                Some(format!(
                    "…{}the NEEDLE here {}…",
                    "x ".repeat(26),
                    "y ".repeat(27).trim_end()
                )),
            ),
        ];
        for (term, text, expected) in rows {
            assert_eq!(Wording::new(term).snippet(text), expected, "{term}");
        }
    }
}
