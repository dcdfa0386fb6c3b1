//! The forms in which models write calls, each read only where it is all that there is.

use super::opening::is_offered;
use super::{Offered, Written};
use crate::model::loose;
use serde_json::{Map, Value};

/// Keys under which an object has the name of the tool, what it is given, and what may stand beside.
pub(super) const NAMES: &[&str] = &[
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "recipient_name",
];
pub(super) const ARGUMENTS: &[&str] = &["arguments", "parameters", "args", "input", "params", "tool_input"];
pub(super) const BESIDE: &[&str] = &["id", "tool_call_id", "type", "index"];
/// Keys under which an object has calls.
pub(super) const WRAPPED: &[&str] = &["tool_calls", "tool_call", "function_call"];

/// More calls of one answer are none.
const MOST_CALLS: usize = 32;
/// What servers leave behind the last word.
const ENDS: &[&str] = &[
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "</s>",
];

type Found = Option<Vec<Written>>;

/// The calls that an answer consists of. `None` if it is anything else.
pub(super) fn calls(text: &str, offered: &[Offered]) -> Found {
    let mut text = text.trim();
    while let Some(front) = ENDS.iter().find_map(|end| text.strip_suffix(end)) {
        text = front.trim_end();
    }
    if text.is_empty() {
        return None;
    }
    let found = marked(text, offered)
        .or_else(|| objects(text, offered))
        .or_else(|| python(text, offered))
        .or_else(|| {
            let inner = loose::fenced(text)?;
            let is_python = text.starts_with("```tool_code") || text.starts_with("```python");
            let bare = || python_call(inner, offered).filter(|(_, rest)| rest.trim().is_empty() && is_python);
            marked(inner, offered)
                .or_else(|| objects(inner, offered))
                .or_else(|| python(inner, offered))
                .or_else(|| bare().map(|(call, _)| vec![call]))
        })?;
    (1..=MOST_CALLS).contains(&found.len()).then_some(found)
}

/// Forms that begin with a mark of their own.
fn marked(text: &str, offered: &[Offered]) -> Found {
    let within = |start: &str, end: &str| {
        let inner = text.strip_prefix(start)?;
        Some(inner.strip_suffix(end).unwrap_or(inner).trim())
    };
    if text.starts_with("<tool_call>") {
        return tagged(text, "<tool_call>", "</tool_call>", offered);
    }
    if text.starts_with("<function_call>") {
        return tagged(text, "<function_call>", "</function_call>", offered);
    }
    if text.starts_with("<function=") {
        return functions(text, offered);
    }
    for (start, end) in [
        ("<function_calls>", "</function_calls>"),
        ("<minimax:tool_call>", "</minimax:tool_call>"),
    ] {
        if let Some(inner) = within(start, end) {
            return invoked(inner, offered);
        }
    }
    if text.starts_with("<invoke ") {
        return invoked(text, offered);
    }
    for (start, end) in [
        ("<tool_calls>", "</tool_calls>"),
        ("<|tool_call|>", "<|/tool_call|>"),
        ("<|tool_call>", "<tool_call|>"),
        ("<|python_tag|>", ""),
        ("<|START_ACTION|>", "<|END_ACTION|>"),
    ] {
        if let Some(inner) = within(start, end) {
            return match inner.starts_with("<tool_call>") {
                true => marked(inner, offered),
                false => objects(inner, offered).or_else(|| python(inner, offered)),
            };
        }
    }
    if let Some(list) = text.strip_prefix("functools") {
        return objects(list, offered);
    }
    if let Some(inner) = text.strip_prefix("[TOOL_CALLS]") {
        return objects(inner.trim(), offered).or_else(|| named_objects(inner, offered));
    }
    if text.starts_with("<|channel|>") || text.starts_with("<|start|>") {
        return channels(text, offered);
    }
    if let Some(inner) = within("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>") {
        return sections(inner, offered);
    }
    let inner = text.strip_prefix("<｜tool▁calls▁begin｜>").unwrap_or(text);
    let inner = inner.strip_suffix("<｜tool▁calls▁end｜>").unwrap_or(inner);
    match inner.starts_with("<｜tool▁call▁begin｜>") {
        true => fullwidth(inner, offered),
        false => None,
    }
}

/// A call of a tool that was offered.
fn call(name: &str, arguments: Map<String, Value>, offered: &[Offered]) -> Option<Written> {
    let name = name.trim();
    let name = name.strip_prefix("functions.").unwrap_or(name);
    is_offered(name, offered).then(|| Written {
        name: name.to_owned(),
        arguments: Value::Object(arguments).to_string(),
    })
}

/// Objects, one after the other or in a list: `{"name": …, "arguments": {…}}`.
fn objects(text: &str, offered: &[Offered]) -> Found {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if !rest.starts_with(['{', '[']) {
            return None;
        }
        let (value, behind) = loose::first(rest, &mut Vec::new())?;
        add_objects(value, offered, &mut found)?;
        rest = behind.trim_start().trim_start_matches([';', ',']).trim_start();
    }
    Some(found)
}

fn add_objects(value: Value, offered: &[Offered], found: &mut Vec<Written>) -> Option<()> {
    match value {
        Value::Array(list) => {
            for one in list {
                // A list in a list is something else.
                if !one.is_object() {
                    return None;
                }
                add_objects(one, offered, found)?;
            }
            Some(())
        }
        Value::Object(mut one) => {
            if let Some(inner) = WRAPPED.iter().find_map(|key| one.remove(*key)) {
                return match one.is_empty() && (inner.is_object() || inner.is_array()) {
                    true => add_objects(inner, offered, found),
                    false => None,
                };
            }
            found.push(of_object(one, offered)?);
            Some(())
        }
        _ => None,
    }
}

fn of_object(mut one: Map<String, Value>, offered: &[Offered]) -> Option<Written> {
    let kind = one.remove("type");
    if kind.is_some_and(|kind| kind != "function" && kind != "tool_call") {
        return None;
    }
    for key in BESIDE {
        one.remove(*key);
    }
    if one.len() == 1
        && let Some(Value::Object(function)) = one.get("function")
    {
        return of_object(function.clone(), offered);
    }
    let name = NAMES.iter().find_map(|key| one.remove(*key))?;
    let arguments = ARGUMENTS.iter().find_map(|key| one.remove(*key))?;
    // Whatever else it says, it is more than a call.
    let name = name.as_str().filter(|_| one.is_empty())?;
    let given = given(name, arguments, offered)?;
    call(name, given, offered)
}

/// What a tool is given: an object, also as text.
fn given(name: &str, arguments: Value, offered: &[Offered]) -> Option<Map<String, Value>> {
    match arguments {
        Value::Object(given) => Some(given),
        Value::String(text) => {
            let is_custom = offered.iter().any(|tool| tool.name == name && tool.is_custom);
            match loose::object(&text) {
                Some((given, _)) => Some(given),
                None if is_custom => Some(Map::from_iter([("input".to_owned(), Value::String(text))])),
                None => None,
            }
        }
        _ => None,
    }
}

/// Calls in tags: of Hermes and Qwen with an object, of Qwen Coder with a function, of GLM with pairs.
fn tagged(text: &str, start: &str, end: &str, offered: &[Offered]) -> Found {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let body = rest.strip_prefix(start)?.trim_start();
        let behind = if body.starts_with("<function=") {
            let (one, behind) = function(body, offered)?;
            found.push(one);
            behind
        } else if body.starts_with(['{', '[']) {
            let (value, behind) = loose::first(body, &mut Vec::new())?;
            add_objects(value, offered, &mut found)?;
            behind
        } else {
            let (one, behind) = pairs(body, end, offered)?;
            found.push(one);
            behind
        };
        let behind = behind.trim_start();
        // The last one may not be closed: some models end there.
        rest = match behind.strip_prefix(end) {
            Some(behind) => behind.trim_start(),
            None if behind.is_empty() => "",
            None => return None,
        };
    }
    Some(found)
}

/// `<function=name>`, one after the other.
fn functions(text: &str, offered: &[Offered]) -> Found {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (one, behind) = function(rest, offered)?;
        found.push(one);
        rest = behind.trim_start();
        rest = rest.strip_prefix("</tool_call>").unwrap_or(rest).trim_start();
    }
    Some(found)
}

/// `<function=name>{…}</function>`, or with `<parameter=key>value</parameter>`.
fn function<'t>(text: &'t str, offered: &[Offered]) -> Option<(Written, &'t str)> {
    let (name, mut body) = text.strip_prefix("<function=")?.split_once('>')?;
    body = body.trim_start();
    let mut given = Map::new();
    if body.starts_with('{') {
        let (value, behind) = loose::first(body, &mut Vec::new())?;
        let Value::Object(value) = value else { return None };
        (given, body) = (value, behind.trim_start());
    } else {
        while let Some(parameter) = body.strip_prefix("<parameter=") {
            let (key, value) = parameter.split_once('>')?;
            let (value, behind) = closed(value, "</parameter>", &["<parameter=", "</function>"])?;
            // One line break on each side belongs to the form.
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            let value = typed(name, key.trim(), value, offered);
            // One that stands there twice: nobody knows which is meant.
            if given.insert(key.trim().to_owned(), value).is_some() {
                return None;
            }
            body = behind.trim_start();
        }
    }
    let behind = body.strip_prefix("</function>")?;
    Some((call(name, given, offered)?, behind))
}

/// A value up to its closing tag: the first behind which one of these stands, or nothing.
fn closed<'t>(text: &'t str, end: &str, next: &[&str]) -> Option<(&'t str, &'t str)> {
    text.match_indices(end)
        .map(|(at, _)| (&text[..at], &text[at + end.len()..]))
        .find(|(_, behind)| {
            let behind = behind.trim_start();
            behind.is_empty() || next.iter().any(|next| behind.starts_with(next))
        })
}

/// A value that was written without quotes, as the schema wants it.
fn typed(name: &str, key: &str, value: &str, offered: &[Offered]) -> Value {
    let schema = offered
        .iter()
        .find(|tool| tool.name == name.trim())
        .and_then(|tool| tool.properties.get(key));
    let is_text = schema
        .and_then(|schema| schema.get("type"))
        .is_none_or(|kind| kind == "string");
    let read = (!is_text)
        .then(|| loose::value(value.trim(), &mut Vec::new()))
        .flatten();
    read.unwrap_or_else(|| Value::String(value.to_owned()))
}

/// `name`, and then `<arg_key>key</arg_key><arg_value>value</arg_value>`.
fn pairs<'t>(text: &'t str, end: &str, offered: &[Offered]) -> Option<(Written, &'t str)> {
    let at = text.find(['<', '\n'])?;
    let (name, mut body) = (&text[..at], text[at..].trim_start());
    let mut given = Map::new();
    while let Some(pair) = body.strip_prefix("<arg_key>") {
        let (key, value) = pair.split_once("</arg_key>")?;
        let value = value.trim_start().strip_prefix("<arg_value>")?;
        let (value, behind) = closed(value, "</arg_value>", &["<arg_key>", end])?;
        let value = typed(name, key.trim(), value, offered);
        if given.insert(key.trim().to_owned(), value).is_some() {
            return None;
        }
        body = behind.trim_start();
    }
    Some((call(name, given, offered)?, body))
}

/// `<invoke name="…">` with `<parameter name="…">value</parameter>`.
fn invoked(text: &str, offered: &[Offered]) -> Found {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, body) = rest.strip_prefix("<invoke name=\"")?.split_once("\">")?;
        let mut body = body.trim_start();
        let mut given = Map::new();
        while let Some(parameter) = body.strip_prefix("<parameter name=\"") {
            let (key, value) = parameter.split_once("\">")?;
            let (value, behind) = closed(value, "</parameter>", &["<parameter name=", "</invoke>"])?;
            if given.insert(key.to_owned(), typed(name, key, value, offered)).is_some() {
                return None;
            }
            body = behind.trim_start();
        }
        rest = body.strip_prefix("</invoke>")?.trim_start();
        found.push(call(name, given, offered)?);
    }
    Some(found)
}

/// Of Mistral: `name{…}`, `name[ARGS]{…}`, `name[CALL_ID]id[ARGS]{…}`, each perhaps behind another mark.
fn named_objects(text: &str, offered: &[Offered]) -> Found {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let at = rest.find(['[', '{'])?;
        let (name, mut behind) = (&rest[..at], &rest[at..]);
        if let Some(id) = behind.strip_prefix("[CALL_ID]") {
            behind = &id[id.find("[ARGS]")?..];
        }
        behind = behind.strip_prefix("[ARGS]").unwrap_or(behind).trim_start();
        let (value, after) = loose::first(behind, &mut Vec::new())?;
        let Value::Object(given) = value else { return None };
        found.push(call(name, given, offered)?);
        rest = after.trim_start();
        rest = rest.strip_prefix("[TOOL_CALLS]").unwrap_or(rest);
    }
    Some(found)
}

/// Of gpt-oss: `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`.
fn channels(text: &str, offered: &[Offered]) -> Found {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (head, body) = rest.split_once("<|message|>")?;
        let to = head.split_once(" to=")?.1;
        let name = to.split([' ', '<']).next()?;
        let (value, behind) = loose::first(body, &mut Vec::new())?;
        let Value::Object(given) = value else { return None };
        found.push(call(name, given, offered)?);
        let behind = behind.trim_start();
        rest = behind.strip_prefix("<|call|>").unwrap_or(behind).trim_start();
    }
    Some(found)
}

/// Of Kimi: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`.
fn sections(text: &str, offered: &[Offered]) -> Found {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (id, body) = rest
            .strip_prefix("<|tool_call_begin|>")?
            .split_once("<|tool_call_argument_begin|>")?;
        let name = id.rsplit_once(':').map_or(id, |(name, _)| name);
        let (value, behind) = loose::first(body, &mut Vec::new())?;
        let Value::Object(given) = value else { return None };
        found.push(call(name, given, offered)?);
        let behind = behind.trim_start();
        rest = behind.strip_prefix("<|tool_call_end|>").unwrap_or(behind).trim_start();
    }
    Some(found)
}

/// Of DeepSeek: `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`; the older ones have the name behind `function`, and the
/// object in a fenced block.
fn fullwidth(text: &str, offered: &[Offered]) -> Found {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (head, body) = rest
            .strip_prefix("<｜tool▁call▁begin｜>")?
            .split_once("<｜tool▁sep｜>")?;
        let (name, body) = match head == "function" {
            true => body.split_once('\n')?,
            false => (head, body),
        };
        let body = body.trim_start();
        let body = body.strip_prefix("```json").unwrap_or(body);
        let (value, behind) = loose::first(body, &mut Vec::new())?;
        let Value::Object(given) = value else { return None };
        found.push(call(name, given, offered)?);
        let behind = behind.trim_start();
        let behind = behind.strip_prefix("```").unwrap_or(behind).trim_start();
        rest = behind
            .strip_prefix("<｜tool▁call▁end｜>")
            .unwrap_or(behind)
            .trim_start();
    }
    Some(found)
}

/// Of Llama 4: `[name(key="value"), …]`.
fn python(text: &str, offered: &[Offered]) -> Found {
    let mut rest = text.strip_prefix('[')?.trim_start();
    let mut found = Vec::new();
    loop {
        let (one, behind) = python_call(rest, offered)?;
        found.push(one);
        rest = behind.trim_start();
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind.trim_start(),
            None => return rest.strip_prefix(']')?.trim().is_empty().then_some(found),
        }
    }
}

/// `name(key="value")`, perhaps in `print(…)`.
fn python_call<'t>(text: &'t str, offered: &[Offered]) -> Option<(Written, &'t str)> {
    if let Some(inner) = text.strip_prefix("print(") {
        let (one, behind) = python_call(inner, offered)?;
        return Some((one, behind.trim_start().strip_prefix(')')?));
    }
    let (name, mut rest) = text.split_once('(')?;
    let mut given = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix(')') {
            return Some((call(name, given, offered)?, behind));
        }
        let (key, value) = rest.split_once('=')?;
        let key = key.trim();
        let is_word = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let (value, behind) = loose::first(value, &mut Vec::new()).filter(|_| is_word)?;
        if given.insert(key.to_owned(), value).is_some() {
            return None;
        }
        rest = behind.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(behind) => behind,
            None if rest.starts_with(')') => rest,
            None => return None,
        };
    }
}
