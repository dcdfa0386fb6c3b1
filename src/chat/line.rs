//! What a message says that begins with `/`: a command of the chat document, or a prompt of the person's. And what is being
//! written where the cursor stands, for completion.

use super::document::Chat;
use crate::protocol::review::ReviewTarget;
use crate::protocol::settings::Mode;

/// A command of the document: name, what stands behind it, what it does.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("new", "", "Begin a new conversation in this document"),
    ("compact", "", "Compact the conversation to make room"),
    ("context", "", "Show what fills the model's context window"),
    (
        "review",
        "[branch NAME | commit SHA | words]",
        "Review the uncommitted changes, or what is named",
    ),
    ("model", "NAME", "Use another model from now on"),
    ("mode", "agent | plan | ask", "Change how far the agent may go"),
    ("stop", "", "Stop the running turn"),
    ("undo", "", "Undo what the last turn changed"),
    ("diff", "", "Show what the last turn changed"),
    (
        "rollback",
        "[NUMBER]",
        "Delete the last turn from the conversation, or so many; files stay as they are",
    ),
    ("fork", "", "Fork the conversation into another document"),
    ("rename", "NAME", "Give the conversation a name"),
    (
        "list",
        "",
        "List the conversations, to open, copy, archive and unarchive them",
    ),
    ("help", "", "Say what can be written here"),
];

/// The modes, and what each means.
pub const MODES: [(Mode, &str); 3] = [
    (Mode::Agent, "All that the policies allow"),
    (Mode::Plan, "It looks and makes a plan, and changes nothing"),
    (Mode::Ask, "It answers, and has no tool that could change anything"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    New,
    Compact,
    Context,
    Review(ReviewTarget),
    Model(String),
    Mode(Mode),
    Stop,
    Undo,
    Diff,
    /// So many turns are dropped.
    RollBack(u32),
    Fork,
    Rename(String),
    List,
    Help,
    /// What cannot be carried out, and why.
    Wrong(String),
    /// For the model, or one of the person's prompts, or a command of their own.
    Message,
}

/// What the person's words are.
pub fn read(words: &str) -> Line {
    let Some(rest) = words.strip_prefix('/') else {
        return Line::Message;
    };
    let (name, behind) = match rest.split_once(char::is_whitespace) {
        Some((name, behind)) => (name, behind.trim()),
        None => (rest, ""),
    };
    let alone = |line: Line| match behind {
        "" => line,
        _ => Line::Message,
    };
    match name {
        "new" => alone(Line::New),
        "compact" => alone(Line::Compact),
        "context" => alone(Line::Context),
        "stop" => alone(Line::Stop),
        "undo" => alone(Line::Undo),
        "diff" => alone(Line::Diff),
        "fork" => alone(Line::Fork),
        "list" => alone(Line::List),
        "help" => alone(Line::Help),
        "review" => Line::Review(target(behind)),
        "rollback" if behind.is_empty() => Line::RollBack(1),
        "rollback" => match behind.parse() {
            Ok(turns @ 1..) => Line::RollBack(turns),
            _ => Line::Wrong(format!(
                "{behind:?} is no number of turns. Write /rollback to drop the last turn, or /rollback 2 for the last two."
            )),
        },
        "rename" if behind.is_empty() => Line::Wrong("Write /rename and the name of the conversation.".to_owned()),
        "rename" => Line::Rename(behind.to_owned()),
        "model" if behind.is_empty() || behind.contains(char::is_whitespace) => {
            Line::Wrong("Write /model and the name of one model.".to_owned())
        }
        "model" => Line::Model(behind.to_owned()),
        "mode" => match mode(behind) {
            Some(mode) => Line::Mode(mode),
            None => Line::Wrong(format!(
                "{behind:?} is no mode. Write /mode agent, /mode plan or /mode ask."
            )),
        },
        _ => Line::Message,
    }
}

pub fn mode(name: &str) -> Option<Mode> {
    match name {
        "agent" => Some(Mode::Agent),
        "plan" => Some(Mode::Plan),
        "ask" => Some(Mode::Ask),
        _ => None,
    }
}

pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Agent => "agent",
        Mode::Plan => "plan",
        Mode::Ask => "ask",
    }
}

fn target(words: &str) -> ReviewTarget {
    let named = |kind: &str| {
        let name = words.strip_prefix(kind)?.strip_prefix(char::is_whitespace)?.trim();
        (!name.is_empty() && !name.contains(char::is_whitespace)).then(|| name.to_owned())
    };
    if words.is_empty() {
        return ReviewTarget::UncommittedChanges;
    }
    if let Some(branch) = named("branch") {
        return ReviewTarget::BaseBranch { branch };
    }
    if let Some(sha) = named("commit") {
        return ReviewTarget::Commit { sha, title: None };
    }
    ReviewTarget::Custom {
        instructions: words.to_owned(),
    }
}

/// What is being written at a place, and where its beginning is, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writing {
    /// `@…` in the person's words: what stands behind the sign so far.
    Mention { from: usize, query: String },
    /// `/…` at their beginning.
    Command { from: usize, query: String },
    /// The value of `/model` or `/mode`, or of a line of the header.
    Value { key: String, from: usize },
}

/// What the person is writing at a byte of the text; nothing where nothing can be completed.
pub fn writing_at(chat: &Chat<'_>, at: usize) -> Option<Writing> {
    let text = chat.text.get(..at)?;
    let line_start = text.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let line = &text[line_start..];
    if chat.header.is_some() && at < chat.start {
        let (key, value) = line.split_once(':')?;
        let blanks = value.len() - value.trim_start().len();
        return Some(Writing::Value {
            key: key.trim().to_owned(),
            from: line_start + key.len() + 1 + blanks,
        });
    }
    let composer = chat.composer().filter(|range| range.start <= at)?;
    if let Some(sign) = line.rfind('@') {
        let (before, query) = (&line[..sign], &line[sign + 1..]);
        let begins = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        if begins && !query.contains(char::is_whitespace) {
            return Some(Writing::Mention {
                from: line_start + sign + 1,
                query: query.trim_start_matches('"').to_owned(),
            });
        }
    }
    // Only the first words of a message call anything.
    let written = &chat.text[composer.start..at];
    let words = written.trim_start();
    let begin = at - words.len();
    let rest = words.strip_prefix('/')?;
    match rest.split_once(char::is_whitespace) {
        None => Some(Writing::Command {
            from: begin + 1,
            query: rest.to_owned(),
        }),
        Some((key @ ("model" | "mode"), value)) if !value.trim_start().contains(char::is_whitespace) => {
            Some(Writing::Value {
                key: key.to_owned(),
                from: at - value.trim_start().len(),
            })
        }
        Some(_) => None,
    }
}
