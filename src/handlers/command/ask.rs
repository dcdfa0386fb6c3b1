//! *Ask agent about the selection* and *Ask agent to rewrite the selection*, for clients that cannot ask for words: ready-made
//! instructions, or a chat document for words of the person's own.

use super::{Answer, Task, set_off};
use crate::handlers::chat;
use crate::protocol::item::LineRange;
use crate::server::presenter::Severity;
use crate::server::session::Session;
use crate::shown;

/// Ready-made instructions, for clients that cannot ask for words of the person's own.
type Choices = [(&'static str, &'static str)];

const QUESTIONS: [(&str, &str); 3] = [
    (
        "Explain it",
        "Explain what the selected lines do and why, for somebody new to this project. Change nothing.",
    ),
    (
        "Find problems",
        "Look for faults in the selected lines and explain each with its line. Change nothing.",
    ),
    (
        "How is it used?",
        "Show where and how the selected code is used in this project. Change nothing.",
    ),
];

const REWRITES: [(&str, &str); 4] = [
    (
        "Simplify",
        "Rewrite the selected lines so that they are simpler and easier to read, with the same behaviour.",
    ),
    (
        "Handle errors",
        "Rewrite the selected lines so that failures are handled and reported clearly.",
    ),
    (
        "Add documentation",
        "Add documentation comments to the selected code in the style of the project.",
    ),
    (
        "Add tests",
        "Write tests for the selected code in the way this project writes tests.",
    ),
];

/// The choice that opens a chat, for words of the person's own.
const OWN_WORDS: &str = "Write your own…";

/// Asks about the selection.
pub(super) fn about_selection(session: &Session, task: Task) {
    ask(session, task, &QUESTIONS, Answer::Read);
}

/// Has the selection rewritten.
pub(super) fn to_rewrite(session: &Session, task: Task) {
    ask(session, task, &REWRITES, Answer::Changes);
}

/// Asks for an instruction where none came along, then sets the turn off.
fn ask(session: &Session, task: Task, choices: &'static Choices, answer: Answer) {
    let given = task.place.instruction.clone();
    if let Some(words) = given.filter(|words| !words.trim().is_empty()) {
        return set_off(session, task, words, answer);
    }
    let message = format!("What should Countersign do with {}?", selection_in_words(&task));
    let own = opens_chats(session).then_some(OWN_WORDS);
    let titles = choices.iter().map(|(title, _)| *title).chain(own);
    let pending = session.outbound().choose(Severity::Info, &message, titles);
    let session = session.clone();
    tokio::spawn(async move {
        let Some(chosen) = pending.await else { return };
        if own.is_some_and(|own| own == chosen) {
            let draft = mention(&session, &task);
            return chat::open_with(&session, chat::Open::near(&task.place.uri), &draft);
        }
        if let Some((_, words)) = choices.iter().find(|(title, _)| *title == chosen) {
            set_off(&session, task, (*words).to_owned(), answer);
        }
    });
}

/// Whether a chat document can be opened for the person. Our plugins have a chat of their own.
pub(super) fn opens_chats(session: &Session) -> bool {
    let can = &session.client().can;
    can.show_document && !can.plugin
}

/// A place as it is mentioned in a message, with a blank behind it; nothing where its name does not stand for itself.
fn mention(session: &Session, task: &Task) -> String {
    let folder = session.folder_of(&task.path);
    let name = task.path.strip_prefix(&folder).unwrap_or(&task.path).to_string_lossy();
    if name.contains('"') || shown::exact(&name) != name {
        return String::new();
    }
    let lines = match task.place.lines {
        Some(LineRange { start, end }) if end > start.saturating_add(1) => {
            format!("#L{}-{end}", start.saturating_add(1))
        }
        Some(LineRange { start, .. }) => format!("#L{}", start.saturating_add(1)),
        None => String::new(),
    };
    format!("@\"{name}\"{lines} ")
}

fn selection_in_words(task: &Task) -> String {
    let name = task.path.file_name().unwrap_or(task.path.as_os_str()).to_string_lossy();
    match task.place.lines {
        Some(lines) if lines.end > lines.start.saturating_add(1) => {
            format!("lines {} to {} of {name}", lines.start.saturating_add(1), lines.end)
        }
        Some(lines) => format!("line {} of {name}", lines.start.saturating_add(1)),
        None => name.into_owned(),
    }
}
