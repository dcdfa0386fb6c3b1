//! What can stand at a place of an open file.

use super::statements::{Part, Statement, parts, skip_blanks, statements, string, table_at};
use crate::config::keys::{self, At, Below, Key, Kind};
use crate::config::{Config, schema};
use std::ops::Range;

/// What an offer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Table,
    Key,
    Value,
}

/// One thing that can stand there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub label: String,
    /// What is written.
    pub text: String,
    pub sort: Sort,
    /// What it takes, or whose it is.
    pub detail: String,
    pub meaning: String,
    /// What is replaced, in bytes.
    pub span: Range<usize>,
}

/// Names that are offered where one is wanted.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Ids of models, each with a name for people.
    pub models: Vec<(String, String)>,
    pub providers: Vec<String>,
    pub profiles: Vec<String>,
    pub permissions: Vec<String>,
    pub servers: Vec<String>,
}

impl Names {
    /// Those that the configuration itself knows.
    pub fn of(config: &Config) -> Self {
        Self {
            models: Vec::new(),
            providers: config.providers.keys().cloned().collect(),
            profiles: config.profiles.clone(),
            permissions: config.permissions.ids(),
            servers: config.mcp_servers.keys().cloned().collect(),
        }
    }
}

impl Names {
    /// And those that the text has, which is often no TOML while it is typed.
    fn with_those_of(mut self, statements: &[Statement]) -> Self {
        let tables = [
            ("model_providers", &mut self.providers),
            ("profiles", &mut self.profiles),
            ("permissions", &mut self.permissions),
            ("mcp_servers", &mut self.servers),
        ];
        for (table, names) in tables {
            for way in statements.iter().map(Statement::way) {
                if let [first, name, ..] = way.as_slice()
                    && first == table
                    && !name.is_empty()
                    && !names.contains(name)
                {
                    names.push(name.clone());
                }
            }
        }
        self
    }
}

/// What providers call efforts; a model may know fewer.
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];
/// Switches that change something.
const FEATURES: [&str; 5] = ["unified_exec", "view_image", "web_search", "multi_agent", "snapshots"];

/// A place as far as it decides what can stand there.
enum Spot {
    /// In the name of a table.
    Header {
        above: Vec<String>,
        span: Range<usize>,
    },
    /// In a key; `alone` where no value follows.
    Key {
        above: Vec<String>,
        span: Range<usize>,
        alone: bool,
        inline: bool,
    },
    Value {
        way: Vec<String>,
        span: Range<usize>,
    },
}

/// What can stand at a place.
pub fn offers(text: &str, byte: usize, names: &Names) -> Vec<Offer> {
    let statements = statements(text);
    let names = &names.clone().with_those_of(&statements);
    match spot(text, byte, &statements) {
        None => Vec::new(),
        Some(Spot::Header { above, span }) => headers(&above, &span, names),
        Some(Spot::Key {
            above,
            span,
            alone,
            inline,
        }) => {
            let there = |name: &str| {
                let of_key = |one: &Statement| {
                    let way = one.way();
                    way.len() > above.len()
                        && way.starts_with(&above)
                        && way[above.len()] == name
                        && !one.key().contains(&span.start)
                };
                statements.iter().any(of_key)
            };
            entries(&above, &span, alone, inline, names, &there)
        }
        Some(Spot::Value { way, span }) => values(&way, &span, names),
    }
}

fn spot(text: &str, byte: usize, statements: &[Statement]) -> Option<Spot> {
    let Some(statement) = statements
        .iter()
        .find(|one| one.lines.start <= byte && byte <= one.lines.end)
    else {
        // A line without anything, or with a comment.
        let line = text[..byte].rfind('\n').map_or(0, |at| at + 1);
        return text[line..byte].trim().is_empty().then(|| Spot::Key {
            above: table_at(statements, byte),
            span: byte..byte,
            alone: true,
            inline: false,
        });
    };
    if let Some(value) = &statement.value
        && byte > statement.key().end
        && text[..byte]
            .rfind('=')
            .is_some_and(|equals| equals >= statement.key().end)
    {
        return in_value(text, statement.way(), value, byte);
    }
    let line = &text[statement.lines.start..byte];
    if line.contains('#') || (statement.is_header && line.contains(']')) {
        return None;
    }
    if !statement.is_header && line.trim().is_empty() {
        return None;
    }
    let (number, span) = under(&statement.parts, byte);
    let above = statement.way_to(number);
    Some(match statement.is_header {
        true => Spot::Header { above, span },
        false => Spot::Key {
            above,
            span,
            alone: statement.value.is_none(),
            inline: false,
        },
    })
}

/// The part that a place touches, and what of the text it is.
fn under(parts: &[Part], byte: usize) -> (usize, Range<usize>) {
    let touched = parts
        .iter()
        .position(|part| part.span.start <= byte && byte <= part.span.end);
    match touched {
        Some(number) => (number, parts[number].span.clone()),
        None => (parts.len(), byte..byte),
    }
}

fn in_value(text: &str, way: Vec<String>, value: &Range<usize>, byte: usize) -> Option<Spot> {
    if text[value.clone()].starts_with('{') && byte > value.start {
        // One that is not closed yet goes on behind its last word.
        let end = match text[value.clone()].ends_with('}') {
            true => value.end,
            false => value.end.max(byte),
        };
        return in_table(text, way, &(value.start..end), byte);
    }
    if text[value.clone()].starts_with('[') || byte > value.end && !value.is_empty() {
        return None;
    }
    let span = match value.is_empty() {
        true => byte..byte,
        false => value.clone(),
    };
    Some(Spot::Value { way, span })
}

/// A place in an inline table.
fn in_table(text: &str, way: Vec<String>, value: &Range<usize>, byte: usize) -> Option<Spot> {
    let mut at = value.start + 1;
    loop {
        at = skip_blanks(text, at);
        if at > value.end || byte < at {
            return (byte <= value.end).then_some(Spot::Key {
                above: way,
                span: byte..byte,
                alone: true,
                inline: true,
            });
        }
        let (found, behind) = parts(text, at, value.end);
        let names: Vec<String> = way
            .iter()
            .cloned()
            .chain(found.iter().map(|part| part.name.clone()))
            .collect();
        // Blanks behind the table's end are not of it.
        let equals = skip_blanks(text, behind).min(value.end);
        let has_value = text[equals..value.end].starts_with('=');
        if byte <= behind || !has_value {
            let (number, span) = under(&found, byte);
            return Some(Spot::Key {
                above: names[..way.len() + number].to_vec(),
                span,
                alone: !has_value,
                inline: true,
            });
        }
        let from = skip_blanks(text, equals + 1).min(value.end);
        let end = end_of_entry(text, from, value.end);
        let inner = from..from + text[from..end].trim_end().len();
        if byte <= end {
            return in_value(text, names, &inner, byte);
        }
        at = end + 1;
    }
}

/// Where an entry of an inline table ends: at its comma, or with the table.
fn end_of_entry(text: &str, from: usize, end: usize) -> usize {
    let mut depth = 0usize;
    let mut at = from;
    while at < end {
        let rest = &text[at..end];
        let Some(letter) = rest.chars().next() else { break };
        match letter {
            '"' | '\'' => {
                at += string(rest, letter).unwrap_or(1);
                continue;
            }
            '{' | '[' => depth += 1,
            ',' | '}' if depth == 0 => return at,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += letter.len_utf8();
    }
    end
}

/// A name as a part of a key.
fn part(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}

fn is_table(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Table(_)
            | Kind::Map(_)
            | Kind::Profiles
            | Kind::Permissions
            | Kind::TextMap
            | Kind::FlagMap
            | Kind::Exporter
    )
}

/// Names of tables below a way.
fn headers(above: &[String], span: &Range<usize>, names: &Names) -> Vec<Offer> {
    let offer = |name: &str, detail: String, meaning: String| Offer {
        label: name.to_owned(),
        text: part(name),
        sort: Sort::Table,
        detail,
        meaning,
        span: span.clone(),
    };
    match keys::below(above) {
        Below::Keys(keys) => keys
            .iter()
            .filter(|key| is_table(key.kind))
            .map(|key| offer(key.name, schema::takes(key.kind), schema::described(key)))
            .collect(),
        Below::Names(key) => known(key, names)
            .into_iter()
            .map(|name| offer(&name, format!("one of {}", key.name), String::new()))
            .collect(),
        Below::Granular => vec![offer("granular", "a table".to_owned(), String::new())],
        Below::Nothing => Vec::new(),
    }
}

/// Names that are known below a key whose names are free to choose.
fn known(key: &Key, names: &Names) -> Vec<String> {
    match key.name {
        "model_providers" => names.providers.clone(),
        "profiles" => names.profiles.clone(),
        "mcp_servers" => names.servers.clone(),
        "permissions" => names
            .permissions
            .iter()
            .filter(|id| !id.starts_with(':'))
            .cloned()
            .collect(),
        "features" => FEATURES.map(str::to_owned).to_vec(),
        _ => Vec::new(),
    }
}

/// Keys of a table that are not there yet.
fn entries(
    above: &[String],
    span: &Range<usize>,
    alone: bool,
    inline: bool,
    names: &Names,
    there: &dyn Fn(&str) -> bool,
) -> Vec<Offer> {
    let key_of = |name: &str, detail: String, meaning: String| Offer {
        label: name.to_owned(),
        text: match alone {
            true => format!("{} = ", part(name)),
            false => part(name),
        },
        sort: Sort::Key,
        detail,
        meaning,
        span: span.clone(),
    };
    let in_profile = above.first().is_some_and(|first| first == "profiles") && above.len() == 2;
    let offer = |key: &Key| {
        let one = key_of(key.name, schema::takes(key.kind), schema::described(key));
        // A table of the file stands under a header of its own.
        if !is_table(key.kind) || matches!(key.kind, Kind::Exporter) || !alone || inline {
            return one;
        }
        let way: Vec<String> = above.iter().map(|name| part(name)).chain([part(key.name)]).collect();
        let header = format!("[{}]", way.join("."));
        Offer {
            label: header.clone(),
            text: header,
            sort: Sort::Table,
            ..one
        }
    };
    match keys::below(above) {
        Below::Keys(keys) => keys
            .iter()
            .filter(|key| !in_profile || !schema::NOT_IN_PROFILES.contains(&key.name))
            .filter(|key| !there(key.name) || matches!(key.kind, Kind::Map(_) | Kind::Profiles | Kind::Permissions))
            .map(offer)
            .collect(),
        Below::Names(key) => known(key, names)
            .into_iter()
            .filter(|name| !there(name))
            .map(|name| key_of(&name, format!("one of {}", key.name), String::new()))
            .collect(),
        Below::Granular => vec![key_of("granular", "a table".to_owned(), String::new())],
        Below::Nothing => Vec::new(),
    }
}

/// Values that a key can have.
fn values(way: &[String], span: &Range<usize>, names: &Names) -> Vec<Offer> {
    let offer = |label: &str, text: String, detail: &str| Offer {
        label: label.to_owned(),
        text,
        sort: Sort::Value,
        detail: detail.to_owned(),
        meaning: String::new(),
        span: span.clone(),
    };
    let text = |word: &str, detail: &str| offer(word, format!("{word:?}"), detail);
    let texts = |words: &[&str]| words.iter().map(|word| text(word, "")).collect();
    let flags = || {
        ["true", "false"]
            .iter()
            .map(|word| offer(word, (*word).to_owned(), ""))
            .collect()
    };
    let all = |words: &[String]| words.iter().map(|word| text(word, "")).collect();
    let key = match keys::at(way) {
        Some(At::Key(key)) => key,
        Some(At::Name(key)) if matches!(key.kind, Kind::FlagMap) => return flags(),
        _ => return Vec::new(),
    };
    let at_top = way.len() == 1 || way.len() == 3 && way[0] == "profiles";
    match key.kind {
        Kind::Flag => flags(),
        Kind::Choice(words) => texts(words),
        Kind::Approval => texts(keys::APPROVALS),
        Kind::Exporter => texts(keys::NO_EXPORTERS),
        _ if !at_top && way[0] != "approvals" => Vec::new(),
        _ => match key.name {
            "model" | "review_model" | "compact_model" => {
                names.models.iter().map(|(id, name)| text(id, name)).collect()
            }
            "model_provider" | "review_model_provider" | "compact_model_provider" => all(&names.providers),
            "profile" => all(&names.profiles),
            "default_permissions" => all(&names.permissions),
            "model_reasoning_effort" => texts(&EFFORTS),
            _ => Vec::new(),
        },
    }
}
