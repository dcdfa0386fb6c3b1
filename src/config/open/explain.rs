//! What a place in an open file means.

use super::statements::statements;
use crate::chat::text::in_code;
use crate::config::keys::{self, At, Key, Kind};
use crate::config::redact::is_secret;
use crate::config::{Loaded, schema};
use crate::shown;
use serde_json::Value;
use std::ops::Range;

/// What stands at a place, in Markdown, and what of the text it is about. `loaded` is the configuration with this text in it.
pub fn explain(text: &str, byte: usize, loaded: &Loaded) -> Option<(String, Range<usize>)> {
    let statement = statements(text)
        .into_iter()
        .find(|one| one.lines.start <= byte && byte <= one.lines.end)?;
    let touches = |span: &Range<usize>| span.start <= byte && byte <= span.end;
    let (way, span) = match statement.parts.iter().position(|part| touches(&part.span)) {
        Some(number) => (statement.way_to(number + 1), statement.parts[number].span.clone()),
        None => (statement.way(), statement.value.clone().filter(touches)?),
    };
    let place = keys::at(&way)?;
    Some((words(place, &way, loaded), span))
}

fn words(place: At, way: &[String], loaded: &Loaded) -> String {
    // A project writes it, and an editor shows this as Markdown.
    let name = in_code(&shown::exact(&way.join(".")));
    let (key, own) = match place {
        At::Key(key) => (key, true),
        At::Name(key) => (key, false),
        At::Granular => {
            return format!("**{name}**\n\nWhich kinds of questions are asked; the others are answered with no.");
        }
    };
    let mut text = match own {
        true => format!("**{name}**: {}\n\n{}", schema::takes(key.kind), key.meaning),
        false => format!("**{name}**: {}\n\nOne of `{}`: {}", named(key), key.name, key.meaning),
    };
    let proper: Vec<String> = proper_way(way);
    if own {
        // In a profile the defaults are those of the top level.
        let at_top = match proper.as_slice() {
            [profiles, _, rest @ ..] if profiles == "profiles" => rest,
            all => all,
        };
        let usual = schema::usual(at_top).map(|value| format!("`{value}`"));
        if let Some(usual) = usual.or_else(|| key.otherwise.map(str::to_owned)) {
            text.push_str(&format!("\n\nWithout it: {usual}."));
        }
        text.push_str(&in_force(at_top, loaded));
        if let Some(word) = schema::may_set(key.scope) {
            text.push_str(&format!("\n\n{word}"));
        }
        if let Some(idle) = key.idle() {
            text.push_str(&format!("\n\n{idle}"));
        }
    }
    text
}

/// What stands below a name that is free to choose.
fn named(key: &Key) -> &'static str {
    match key.kind {
        Kind::TextMap => "a text",
        Kind::FlagMap => "true or false",
        _ => "a table",
    }
}

/// The way under the proper names of its keys.
fn proper_way(way: &[String]) -> Vec<String> {
    let mut proper = Vec::new();
    for number in 0..way.len() {
        proper.push(match keys::at(&way[..=number]) {
            Some(At::Key(key)) => key.name.to_owned(),
            _ => way[number].clone(),
        });
    }
    proper
}

/// The value that counts, and where it comes from.
fn in_force(way: &[String], loaded: &Loaded) -> String {
    let Some(origin) = loaded.leaves.get(way) else {
        return String::new();
    };
    let value = way.iter().try_fold(&loaded.values, |value, part| value.get(part));
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return String::new();
    };
    let is_hidden = way.iter().any(|part| is_secret(part)) || is_in_headers(way);
    let shown = match value {
        _ if is_hidden => "a value that is not shown".to_owned(),
        Value::String(text) if text.chars().count() > 80 || text.contains('\n') => "a longer text".to_owned(),
        other => in_code(&shown::exact(&other.to_string())),
    };
    format!(
        "\n\nIn force: {shown}, from {}.",
        shown::inert(&shown::line(&origin.in_words()))
    )
}

fn is_in_headers(way: &[String]) -> bool {
    let tables = ["http_headers", "headers", "env", "query_params"];
    way.iter().any(|part| tables.contains(&part.as_str()))
}
