//! What of a conversation a document does not hold yet: its file was closed before all was written, or the conversation went on
//! elsewhere. What is in doubt is written once more, never left out.

use super::document::{Chat, Role};
use super::plan::Write;
use super::story::Story;
use super::text;
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::turn::Turn;

/// A turn as a document should show it.
pub struct Told<'a> {
    pub tag: String,
    /// What the person said, in order.
    pub words: Vec<String>,
    /// All that was written of its answer.
    pub answer: &'a str,
}

/// What the person said in a turn.
pub fn words_of(turn: &Turn) -> Vec<String> {
    let messages = turn.items.iter().filter_map(|item| match item {
        ThreadItem::UserMessage { content, .. } => Some(words(content)),
        _ => None,
    });
    messages.collect()
}

/// An input as text.
pub fn words(content: &[UserInput]) -> String {
    let pieces = content.iter().map(|piece| match piece {
        UserInput::Text { text } => text.clone(),
        UserInput::Image { .. } => "(an image)".to_owned(),
        UserInput::LocalImage { path } => format!("(the image {})", path.display()),
        UserInput::Mention { path, .. } => format!("@{}", path.display()),
        UserInput::CommandOutput { .. } => "(the output of a command)".to_owned(),
    });
    pieces.collect::<Vec<_>>().join("\n")
}

/// What has to be written for the document to hold all turns. Turns before the first one that it holds are not asked for: the
/// person may have taken them out.
pub fn writes(document: &str, turns: &[Told<'_>]) -> Vec<Write> {
    let chat = Chat::read(document);
    let held = |told: &Told<'_>| chat.answer(Some(&told.tag)).is_some();
    let first = turns.iter().position(held);
    // A document of another conversation, or a new one, gets all of it.
    let from = first.unwrap_or(0);
    let mut writes = Vec::new();
    for told in &turns[from..] {
        let tag = Some(told.tag.clone());
        let mut missing = told.answer;
        if held(told) {
            let body = body(&chat, &told.tag);
            missing = rest(&body, told.answer);
            for words in unheld(&said(&chat, &told.tag), &told.words) {
                writes.push(Write::Said {
                    words: Some(words.to_owned()),
                    tag: tag.clone(),
                });
            }
        } else {
            let words = Some(told.words.join("\n\n")).filter(|words| !words.trim().is_empty());
            writes.push(Write::Said {
                words,
                tag: tag.clone(),
            });
        }
        if !missing.trim().is_empty() {
            let is_whole = missing.len() == told.answer.len();
            let gap = if is_whole { "\n\n" } else { "" };
            writes.push(Write::More {
                tag,
                text: format!("{gap}{missing}"),
            });
        }
    }
    writes
}

/// What the person said before each section of a turn, with plain line ends.
fn said(chat: &Chat<'_>, tag: &str) -> Vec<String> {
    let pairs = chat
        .sections
        .windows(2)
        .filter(|pair| pair[0].role == Role::You && pair[1].role == Role::Agent && pair[1].tag.as_deref() == Some(tag));
    let bodies = pairs.map(|pair| plain(&chat.text[pair[0].body.clone()]));
    bodies.collect()
}

fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").trim().to_owned()
}

/// The words of a turn that do not stand in its document. What began it does, since its section is there; of the others it is
/// looked for, since the person also says what is no message: the reason of a no.
fn unheld<'a>(said: &[String], words: &'a [String]) -> impl Iterator<Item = &'a str> {
    let safe = |words: &str| plain(&(text::words(words).trim_end().to_owned() + &text::closing(words)));
    // A turn that was written at once has all its words in one place.
    let begin = said.first().and_then(|first| {
        let joined = |most: &usize| *first == safe(&words[..*most].join("\n\n"));
        (1..=words.len()).rev().find(joined)
    });
    let mut left: Vec<&String> = said.iter().skip(usize::from(begin.is_some())).collect();
    words[words.len().min(begin.unwrap_or(1))..]
        .iter()
        .filter_map(move |words| match left.iter().position(|said| **said == safe(words)) {
            Some(at) => {
                left.remove(at);
                None
            }
            None => Some(words.as_str()),
        })
}

/// What stands in the last section of a turn that holds anything, with plain line ends.
fn body(chat: &Chat<'_>, tag: &str) -> String {
    let mut bodies = chat
        .sections
        .iter()
        .filter(|section| section.role == Role::Agent && section.tag.as_deref() == Some(tag))
        .map(|section| plain(&chat.text[section.body.clone()]));
    bodies.rfind(|body| !body.is_empty()).unwrap_or_default()
}

/// What of an answer comes after what a section holds. The end of the section is looked for in the answer, line by line upwards,
/// since the person may have written there.
fn rest<'a>(body: &str, answer: &'a str) -> &'a str {
    if body.is_empty() {
        return answer;
    }
    if answer.trim().is_empty() {
        return "";
    }
    if let Some(rest) = answer.trim_start().strip_prefix(body) {
        return rest;
    }
    // The more of the section's end is found, the surer the place.
    let tails = body
        .char_indices()
        .map(|(at, _)| &body[at..])
        .filter(|tail| tail.len() <= 200)
        .step_by(8);
    for tail in std::iter::once(body)
        .chain(tails)
        .filter(|tail| tail.len() >= 12 || *tail == body)
    {
        if let Some(at) = answer.find(tail) {
            return &answer[at + tail.len()..];
        }
    }
    for line in body
        .lines()
        .rev()
        .map(str::trim_end)
        .filter(|line| line.trim().len() >= 12)
    {
        if let Some(at) = answer.find(line) {
            return &answer[at + line.len()..];
        }
    }
    answer
}

/// The stories of stored turns.
pub fn stories(turns: &[Turn]) -> Vec<(String, Vec<String>, Story)> {
    turns
        .iter()
        .map(|turn| (super::tag(&turn.id), words_of(turn), Story::of(turn)))
        .collect()
}
