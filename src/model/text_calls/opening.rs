//! Whether an answer may become nothing but calls, by how it begins.

use super::Offered;
use super::forms::{ARGUMENTS, BESIDE, NAMES, WRAPPED};

/// How calls begin that no answer in prose begins with.
const MARKS: &[&str] = &[
    "<tool_call>",
    "<tool_calls>",
    "<function=",
    "<function_call>",
    "<function_calls>",
    "<invoke ",
    "<minimax:tool_call>",
    "<|tool_call|>",
    "<|tool_call>",
    "<|python_tag|>",
    "<|tool_calls_section_begin|>",
    "<|START_ACTION|>",
    "<|channel|>commentary",
    "<|start|>assistant<|channel|>commentary",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "[TOOL_CALLS]",
    "functools[",
];
/// What a fenced block may call its language.
const LANGUAGES: &[&str] = &["", "json", "python", "tool_call", "tool_calls", "tool_code", "xml"];

pub(super) fn may_be_call(text: &str, offered: &[Offered]) -> bool {
    let text = text.trim_start();
    if MARKS.iter().any(|mark| agree(mark, text)) {
        return true;
    }
    if "```".starts_with(text) {
        return true;
    }
    match text.strip_prefix("```") {
        Some(block) => match block.split_once('\n') {
            Some((language, inner)) => {
                let language = language.trim();
                let inner = inner.trim_start();
                LANGUAGES.contains(&language)
                    && (MARKS.iter().any(|mark| agree(mark, inner))
                        || begins_json(inner, offered)
                        || ["python", "tool_code"].contains(&language) && begins_python(inner, offered))
            }
            None => LANGUAGES.iter().any(|language| language.starts_with(block.trim())),
        },
        None => begins_json(text, offered),
    }
}

/// Whether one begins with the other.
fn agree(mark: &str, text: &str) -> bool {
    text.starts_with(mark) || mark.starts_with(text)
}

/// An object that is a call, or a list of such; also a list of calls as Python writes them.
fn begins_json(text: &str, offered: &[Offered]) -> bool {
    match text.chars().next() {
        None => true,
        Some('{') => begins_object(text, offered),
        Some('[') => {
            let inner = text[1..].trim_start();
            match inner.chars().next() {
                None => true,
                Some('{') => begins_object(inner, offered),
                _ => begins_python(inner, offered),
            }
        }
        _ => false,
    }
}

fn begins_object(text: &str, offered: &[Offered]) -> bool {
    let inner = text[1..].trim_start();
    let Some(quote) = inner.chars().next() else { return true };
    if !matches!(quote, '"' | '\'') {
        return false;
    }
    let is_key = |fits: &dyn Fn(&str) -> bool| {
        let keys = NAMES.iter().chain(ARGUMENTS).chain(BESIDE).chain(WRAPPED);
        keys.copied().any(fits)
    };
    let Some((key, behind)) = inner[1..].split_once(quote) else {
        return is_key(&|known| known.starts_with(&inner[1..]));
    };
    if !is_key(&|known| known == key) {
        return false;
    }
    // The name of the tool, where it stands first.
    let value = behind.trim_start().strip_prefix(':').map(str::trim_start);
    let value = value.and_then(|value| value.strip_prefix(['"', '\'']));
    match value.filter(|_| NAMES.contains(&key)) {
        None => true,
        Some(value) => match value.split_once(['"', '\'']) {
            Some((name, _)) => is_offered(name, offered),
            None => begins_name(value, offered),
        },
    }
}

/// `name(`, or `print(name(`.
fn begins_python(text: &str, offered: &[Offered]) -> bool {
    if "print(".starts_with(text) {
        return true;
    }
    let text = text.strip_prefix("print(").unwrap_or(text);
    match text.split_once('(') {
        Some((name, _)) => is_offered(name, offered),
        None => begins_name(text, offered),
    }
}

/// Whether a name is one of a tool that was offered, with or without the room that some models put in front.
pub(super) fn is_offered(name: &str, offered: &[Offered]) -> bool {
    let name = name.strip_prefix("functions.").unwrap_or(name);
    offered.iter().any(|tool| tool.name == name)
}

fn begins_name(part: &str, offered: &[Offered]) -> bool {
    if "functions.".starts_with(part) {
        return true;
    }
    let part = part.strip_prefix("functions.").unwrap_or(part);
    offered.iter().any(|tool| tool.name.starts_with(part))
}
