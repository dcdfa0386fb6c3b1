//! The table of keys as JSON Schema, and as the table of the manual.

use super::keys::{self, At, Below, KEYS, Key, Kind, Scope};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Keys of the top level that cannot stand in a profile.
pub(super) const NOT_IN_PROFILES: [&str; 3] = ["profile", "profiles", "projects"];

/// What `config.toml` may hold, as JSON Schema (2020-12), with what holds where nothing is said.
pub fn schema() -> Value {
    let usual = Value::from(super::load::defaults(&BTreeMap::new()));
    let mut schema = table(KEYS, &usual, &[]);
    let mut profile = table(KEYS, &Value::Null, &NOT_IN_PROFILES);
    profile["title"] = "A set of settings".into();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "config.toml of Countersign".into();
    schema["$defs"] = json!({ "profile": profile });
    schema
}

fn table(keys: &[Key], usual: &Value, without: &[&str]) -> Value {
    let mut properties = Map::new();
    for key in keys.iter().filter(|key| !without.contains(&key.name)) {
        let mut one = of_kind(key.kind, &usual[key.name]);
        one["description"] = described(key).into();
        if is_single(key.kind) && !usual[key.name].is_null() {
            one["default"] = usual[key.name].clone();
        }
        for other in key.also {
            let mut same = one.clone();
            same["description"] = format!("Another name of `{}`.", key.name).into();
            same["deprecated"] = true.into();
            properties.insert((*other).to_owned(), same);
        }
        properties.insert(key.name.to_owned(), one);
    }
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

/// Whether a value of this kind is one, and no table of others.
fn is_single(kind: Kind) -> bool {
    !matches!(kind, Kind::Table(_) | Kind::Map(_) | Kind::Profiles | Kind::Permissions)
}

/// The meaning and what goes with it.
pub(super) fn described(key: &Key) -> String {
    let mut text = key.meaning.to_owned();
    if let Some(otherwise) = key.otherwise {
        text.push_str(&format!(" Without it: {otherwise}."));
    }
    if let Some(idle) = key.idle() {
        text.push_str(&format!(" {idle}"));
    }
    text
}

fn of_kind(kind: Kind, usual: &Value) -> Value {
    let list = || json!({ "type": "array", "items": { "type": "string" } });
    let named = |inner: Value| json!({ "type": "object", "additionalProperties": inner });
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Name | Kind::Path => json!({ "type": "string", "minLength": 1 }),
        Kind::Url | Kind::Address => json!({ "type": "string", "pattern": "^\\s*https?://" }),
        Kind::Seconds => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Kind::Dollars => json!({ "type": "number", "minimum": 0 }),
        Kind::Paths | Kind::Texts | Kind::Places | Kind::Hosts => list(),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count => json!({ "type": "integer", "minimum": 0 }),
        Kind::Amount => json!({ "type": ["string", "integer"] }),
        Kind::TextMap => named(json!({ "type": "string" })),
        Kind::FlagMap => named(json!({ "type": "boolean" })),
        Kind::Choice(words) => json!({ "type": "string", "enum": words }),
        Kind::Approval => {
            let granular = table(keys::GRANULAR, &Value::Null, &[]);
            json!({ "anyOf": [
                { "type": "string", "enum": keys::APPROVALS },
                {
                    "type": "object", "additionalProperties": false, "required": ["granular"],
                    "properties": { "granular": granular },
                },
            ] })
        }
        Kind::Table(keys) => table(keys, usual, &[]),
        Kind::Map(keys) => named(table(keys, &Value::Null, &[])),
        Kind::Profiles => named(json!({ "$ref": "#/$defs/profile" })),
        Kind::Permissions => named(json!({ "type": "object" })),
        Kind::Exporter => {
            let mut exporter = table(keys::EXPORTERS, &Value::Null, &[]);
            exporter["minProperties"] = 1.into();
            exporter["maxProperties"] = 1.into();
            json!({ "anyOf": [{ "type": "string", "enum": keys::NO_EXPORTERS }, exporter] })
        }
        Kind::Any => json!({}),
    }
}

/// What a key takes, in words.
pub(super) fn takes(kind: Kind) -> String {
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match kind {
        Kind::Choice(all) => format!("one of {}", words(all)),
        Kind::Approval => format!("one of {}, or a table `granular`", words(keys::APPROVALS)),
        other => super::check::wanted(other).to_owned(),
    }
}

/// Who may set it, where that is not everybody.
pub(super) fn may_set(scope: Scope) -> Option<&'static str> {
    match scope {
        Scope::Anyone => None,
        Scope::Preference => Some("A project cannot set it."),
        Scope::Tighten => Some("A project and the editor's settings can only tighten it."),
        Scope::Own => Some("A project cannot set it; the editor's settings only with your word."),
        Scope::Trusted => Some(
            "A project can set it only where you trust it; the editor's settings only with your word; a request cannot.",
        ),
        Scope::Person => Some("A project and a request cannot set it; the editor's settings only with your word."),
    }
}

/// The value that holds where nothing is said, as it would be written.
pub(super) fn usual(way: &[String]) -> Option<String> {
    let all = Value::from(super::load::defaults(&BTreeMap::new()));
    let value = way.iter().try_fold(&all, |value, part| value.get(part))?;
    (!value.is_object()).then(|| value.to_string())
}

/// All keys as a table in Markdown.
pub fn manual() -> String {
    let mut text = "| key | takes | without it | meaning |\n|---|---|---|---|\n".to_owned();
    rows(KEYS, &mut Vec::new(), &mut text);
    text
}

fn rows(keys: &'static [Key], way: &mut Vec<String>, text: &mut String) {
    for key in keys {
        way.push(key.name.to_owned());
        let otherwise = usual(way).map(|value| format!("`{value}`"));
        let otherwise = otherwise
            .or_else(|| key.otherwise.map(str::to_owned))
            .unwrap_or_default();
        let mut meaning = key.meaning.to_owned();
        meaning.extend(
            may_set(key.scope)
                .filter(|_| way.len() == 1 && key.used)
                .map(|word| format!(" {word}")),
        );
        if let Some(idle) = key.idle() {
            meaning.push_str(&format!(" *{idle}*"));
        }
        for other in key.also {
            meaning.push_str(&format!(" Also `{other}`."));
        }
        let takes = takes(key.kind);
        text.push_str(&format!(
            "| `{}` | {takes} | {otherwise} | {meaning} |\n",
            way.join(".")
        ));
        match At::Key(key).below() {
            Below::Keys(inner) => rows(inner, way, text),
            Below::Names(named) => {
                way.push("NAME".to_owned());
                if let (Kind::Map(inner), true) = (named.kind, way.len() < 8) {
                    rows(inner, way, text);
                }
                way.pop();
            }
            Below::Granular => {
                way.push("granular".to_owned());
                rows(keys::GRANULAR, way, text);
                way.pop();
            }
            Below::Nothing => {}
        }
        way.pop();
    }
}
