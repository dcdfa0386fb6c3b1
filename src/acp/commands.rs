//! What a session offers behind a slash: commands of our own, and the person's prompts.

use super::update;
use crate::chat::line::{self, Line};
use crate::config::prompts::Prompt;
use crate::protocol::item::UserInput;
use crate::protocol::review::ReviewTarget;
use serde_json::{Map, Value, json};

/// A command of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Compact,
    Context,
    Review(ReviewTarget),
    Undo,
    Init,
}

/// Their names among those of a chat document.
const SHARED: [&str; 4] = ["compact", "context", "review", "undo"];
const INIT: &str = "init";

/// What `/init` asks for.
pub(super) const INIT_WORDS: &str = "Look through this project and write AGENTS.md for it, or improve the one that is there: how to build, test \
     and run it, how it is laid out, and the conventions that its code follows. Keep it under a page, and write only what you \
     have seen to be so.";

/// The command that an input is, with its name.
pub(super) fn read(content: &[UserInput]) -> Option<(String, Command)> {
    let [UserInput::Text { text }] = content else {
        return None;
    };
    let words = text.trim();
    let name = words.strip_prefix('/')?.split(char::is_whitespace).next()?.to_owned();
    let command = match line::read(words) {
        Line::Compact => Command::Compact,
        Line::Context => Command::Context,
        Line::Review(target) => Command::Review(target),
        Line::Undo => Command::Undo,
        _ if words == "/init" => Command::Init,
        _ => return None,
    };
    Some((name, command))
}

/// All of them, as a client lists them. A prompt of the person's takes the place of a command of ours with its name.
pub(super) fn all(prompts: &[Prompt]) -> Vec<Value> {
    let shared = line::COMMANDS.iter().filter(|(name, ..)| SHARED.contains(name));
    let own = shared
        .copied()
        .chain([(INIT, "", "Write AGENTS.md for this project, or improve it")])
        .filter(|(name, ..)| prompts.iter().all(|prompt| prompt.name != *name))
        .map(|(name, hint, does)| command(name, does, hint));
    let theirs = prompts.iter().map(|prompt| {
        let does = prompt.front.description.as_deref().unwrap_or_default();
        command(
            &prompt.name,
            &update::line(does),
            &update::line(&prompt.argument_hint()),
        )
    });
    theirs.chain(own).collect()
}

fn command(name: &str, does: &str, hint: &str) -> Value {
    let mut command = Map::new();
    command.insert("name".to_owned(), json!(name));
    command.insert("description".to_owned(), json!(does));
    if !hint.is_empty() {
        command.insert("input".to_owned(), json!({ "hint": hint }));
    }
    Value::Object(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_command_by_table() {
        let review = |target| Some(Command::Review(target));
        for (words, expected) in [
            ("/compact", Some(Command::Compact)),
            (" /compact\n", Some(Command::Compact)),
            ("/compact it", None),
            ("/undo", Some(Command::Undo)),
            ("/context", Some(Command::Context)),
            ("/context of it", None),
            ("/init", Some(Command::Init)),
            ("/init now", None),
            ("/review", review(ReviewTarget::UncommittedChanges)),
            ("/rollback", None),
            ("/tidy", None),
            ("compact", None),
            ("", None),
        ] {
            let text = |text: &str| UserInput::Text { text: text.to_owned() };
            let read = |content: &[UserInput]| read(content).map(|(_, command)| command);
            assert_eq!(read(&[text(words)]), expected, "{words:?}");
            assert_eq!(read(&[text(words), text("and more")]), None, "{words:?}");
        }
    }
}
