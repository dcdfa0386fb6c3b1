//! The reference page: every method with its fields, order, errors and an example, then the types.

use super::{Model, examples, notes};
use crate::protocol::error::{CODES, KINDS};
use crate::protocol::event::EVENTS;
use crate::protocol::method::{CLIENT_REQUESTS, NOTIFICATIONS, SERVER_REQUESTS};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write;

const INTRODUCTION: &str = "\
# The protocol of Countersign

Generated from the Rust types in `src/protocol`; do not edit. The same as JSON Schema:
[protocol.schema.json](protocol.schema.json); as TypeScript: `editors/vscode/src/protocol.ts`.
`countersign protocol --markdown | --schema | --typescript` prints them.

Everything standard goes by the Language Server Protocol; the methods here come on top, over the same connection. A
client says that it speaks them by `capabilities.experimental.countersign = true` in `initialize`; without that the
server uses standard means only and never sends the requests of this page. In place of `true` may stand an object;
with `\"proposals\": \"preview\"` in it proposals are shown by the editor's own preview of an edit, where it has one.

Names are in camel case, ids are texts, times are milliseconds since 1970 (`…Ms`), lines count from 0 and line ranges
are half open. An absent optional field means \"no change\" in a request and \"not known\" in an answer. Fields that a
client does not know are to be ignored: new ones can come with any version.

A request may say in whose trace it belongs (W3C Trace Context): as `trace` with `traceparent` and `tracestate` beside
`method`, or as `_meta` with the same fields in its parameters. What the server logs of it stands under that trace.
";

pub(super) fn page(model: &Model) -> String {
    let (examples, events) = (examples::all_requests(), examples::all_events());
    let mut page = String::from(INTRODUCTION);
    contents(&mut page);
    let mut shown = BTreeSet::new();

    page.push_str("\n## Requests of the client\n");
    for row in CLIENT_REQUESTS {
        request(&mut page, model, row, &examples[row.0], &mut shown);
    }
    page.push_str("\n## Requests of the server\n");
    for row in SERVER_REQUESTS {
        request(&mut page, model, row, &examples[row.0], &mut shown);
    }
    page.push_str("\n## Notifications of the server\n\nWhat holds for all of a thread:\n\n");
    for rule in notes::ORDER {
        let _ = writeln!(page, "- {rule}");
    }
    page.push_str("\nEach carries the fields of [At](#at) beside its own.\n");
    for (method, params, doc) in EVENTS {
        let _ = writeln!(page, "\n### {method}\n\n{}", doc.trim());
        fields(&mut page, "Fields", model.schemas.get(*params));
        shown.insert((*params).to_owned());
        example(&mut page, "Example", &events[*method].params);
    }
    page.push_str("\n## Notifications beside all threads\n");
    for (method, params, doc) in NOTIFICATIONS {
        let _ = writeln!(page, "\n### {method}\n\n{}", doc.trim());
        fields(&mut page, "Fields", model.schemas.get(*params));
        shown.insert((*params).to_owned());
        example(&mut page, "Example", &events[*method].params);
    }
    errors(&mut page);
    page.push_str("\n## Types\n");
    for (name, schema) in &model.schemas {
        if !shown.contains(name) {
            type_section(&mut page, name, schema);
        }
    }
    page
}

fn contents(page: &mut String) {
    page.push_str("\n| method | from | |\n|---|---|---|\n");
    let mut seen = BTreeSet::new();
    let mut row = |method: &'static str, from: &str, doc: &str| {
        let first = doc.trim().split_inclusive(". ").next().unwrap_or_default().trim();
        // A heading that comes a second time is numbered.
        let again = if seen.insert(method) { "" } else { "-1" };
        let _ = writeln!(page, "| [{method}](#{}{again}) | {from} | {first} |", anchor(method));
    };
    for (method, _, _, doc) in CLIENT_REQUESTS {
        row(method, "client", doc);
    }
    for (method, _, _, doc) in SERVER_REQUESTS {
        row(method, "server", doc);
    }
    for (method, _, doc) in EVENTS.iter().chain(NOTIFICATIONS) {
        row(method, "server, no answer", doc);
    }
}

fn request(
    page: &mut String,
    model: &Model,
    (method, params, result, doc): &(&str, &str, &str, &str),
    sample: &examples::Example,
    shown: &mut BTreeSet<String>,
) {
    let _ = writeln!(page, "\n### {method}\n\n{}", doc.trim());
    fields(page, "Parameters", model.schemas.get(*params));
    fields(page, "Result", model.schemas.get(*result));
    shown.extend([(*params).to_owned(), (*result).to_owned()]);
    let notes = notes::of(method);
    let _ = writeln!(page, "\n**Order.** {}", notes.order);
    if !notes.errors.is_empty() {
        let kinds: Vec<String> = notes.errors.iter().map(|kind| format!("`{kind}`")).collect();
        let _ = writeln!(page, "\n**Errors.** {}.", kinds.join(", "));
    }
    example(page, "Example", &sample.params);
    if let Some(result) = &sample.result {
        example(page, "Answer", result);
    }
}

fn example(page: &mut String, title: &str, value: &Value) {
    let text = serde_json::to_string_pretty(value).expect("a value has a text");
    let _ = writeln!(page, "\n{title}:\n\n```json\n{text}\n```");
}

fn errors(page: &mut String) {
    page.push_str("\n## Errors\n\nEvery error has a message for a person and `data.kind` for programs.\n\n");
    page.push_str("| code | name | meaning |\n|---|---|---|\n");
    for code in CODES {
        let _ = writeln!(page, "| {} | {} | {} |", code.code, code.name, code.meaning);
    }
    page.push_str("\n| `data.kind` | code | meaning |\n|---|---|---|\n");
    for kind in KINDS {
        let _ = writeln!(page, "| `{}` | {} | {} |", kind.name, kind.code, kind.meaning.trim());
    }
}

fn type_section(page: &mut String, name: &str, schema: &Value) {
    let _ = writeln!(page, "\n### {name}");
    if let Some(about) = description(schema) {
        let _ = writeln!(page, "\n{about}");
    }
    let alternatives = schema
        .get("oneOf")
        .or_else(|| schema.get("anyOf"))
        .and_then(Value::as_array);
    match alternatives {
        Some(alternatives) => {
            for alternative in alternatives {
                match tag(alternative) {
                    Some(tag) => {
                        let _ = writeln!(page, "\n`{tag}`: {}", description(alternative).unwrap_or_default());
                        fields(page, "", Some(alternative));
                    }
                    None => {
                        let about = description(alternative).unwrap_or_default();
                        let _ = writeln!(page, "\n- {} {about}", type_text(alternative));
                    }
                }
            }
        }
        None if schema.get("properties").is_some() => fields(page, "", Some(schema)),
        None => {
            let _ = writeln!(page, "\n{}", type_text(schema));
        }
    }
}

/// The value of `type` that an alternative stands for.
fn tag(alternative: &Value) -> Option<&str> {
    alternative.pointer("/properties/type/const")?.as_str()
}

fn fields(page: &mut String, title: &str, schema: Option<&Value>) {
    let empty = Map::new();
    let properties = schema
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let rows: Vec<_> = properties
        .iter()
        .filter(|(_, field)| field.get("const").is_none())
        .collect();
    if rows.is_empty() {
        if !title.is_empty() {
            let _ = writeln!(page, "\n{title}: none.");
        }
        return;
    }
    if !title.is_empty() {
        let _ = writeln!(page, "\n{title}:");
    }
    let required: Vec<&str> = schema
        .and_then(|schema| schema.get("required"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    page.push_str("\n| field | type | |\n|---|---|---|\n");
    for (name, field) in rows {
        let optional = if required.contains(&name.as_str()) {
            ""
        } else {
            "optional"
        };
        let about = description(field).unwrap_or_default();
        let gap = if optional.is_empty() || about.is_empty() {
            ""
        } else {
            ". "
        };
        let _ = writeln!(page, "| `{name}` | {} | {optional}{gap}{about} |", type_text(field));
    }
}

fn description(schema: &Value) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    // `[`Type`]` links mean nothing outside of Rust.
    Some(
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace("[`", "`")
            .replace("`]", "`")
            .replace('|', "\\|"),
    )
}

fn type_text(schema: &Value) -> String {
    if let Some(name) = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|text| text.strip_prefix("#/$defs/"))
    {
        return format!("[{name}](#{})", anchor(name));
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values
            .iter()
            .map(|value| format!("`{value}`"))
            .collect::<Vec<_>>()
            .join(" \\| ");
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(list) = schema.get(key).and_then(Value::as_array) {
            return list.iter().map(type_text).collect::<Vec<_>>().join(" \\| ");
        }
    }
    let one = |kind: &str| match kind {
        "array" => format!("{}[]", schema.get("items").map_or_else(|| "any".to_owned(), type_text)),
        "object" => match schema.get("additionalProperties") {
            Some(of) if of.is_object() => format!("object of {}", type_text(of)),
            _ => "object".to_owned(),
        },
        other => other.to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(kind)) => one(kind),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .map(one)
            .collect::<Vec<_>>()
            .join(" \\| "),
        _ => "any".to_owned(),
    }
}

/// As forges make them from headings.
fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || *letter == '-')
        .collect()
}
