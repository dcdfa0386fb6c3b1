//! The JSON Schema: one document with every type, and the methods that use them.

use super::{Model, Schemas, visit_all};
use crate::protocol::event::EVENTS;
use crate::protocol::method::{CLIENT_REQUESTS, NOTIFICATIONS, SERVER_REQUESTS};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The schema of every type. A type that only we send has all its fields required that are always there; a
/// type that a client sends has those optional that it may leave out.
pub(super) fn collect() -> Map<String, Value> {
    let read = {
        let mut schemas = Schemas(SchemaSettings::draft2020_12().into_generator());
        visit_all(&mut schemas);
        schemas.0.take_definitions(true)
    };
    let mut written = {
        let mut schemas = Schemas(SchemaSettings::draft2020_12().for_serialize().into_generator());
        visit_all(&mut schemas);
        schemas.0.take_definitions(true)
    };
    for name in sent_by_clients(&read) {
        if let Some(schema) = read.get(&name) {
            written.insert(name, schema.clone());
        }
    }
    written
}

/// The types in what clients send, all the way down.
pub(super) fn sent_by_clients(schemas: &Map<String, Value>) -> BTreeSet<String> {
    let roots = CLIENT_REQUESTS
        .iter()
        .map(|(_, params, _, _)| *params)
        .chain(SERVER_REQUESTS.iter().map(|(_, _, result, _)| *result));
    let mut found = BTreeSet::new();
    let mut next: Vec<String> = roots.map(str::to_owned).collect();
    while let Some(name) = next.pop() {
        if let Some(schema) = schemas.get(&name)
            && found.insert(name)
        {
            references(schema, &mut next);
        }
    }
    found
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(name) = map
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|text| text.strip_prefix("#/$defs/"))
            {
                found.push(name.to_owned());
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

pub(super) fn page(model: &Model) -> String {
    let to = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let requests = |table: &[(&str, &str, &str, &str)]| -> Map<String, Value> {
        table
            .iter()
            .map(|(method, params, result, doc)| {
                let entry = json!({ "description": doc.trim(), "params": to(params), "result": to(result) });
                ((*method).to_owned(), entry)
            })
            .collect()
    };
    let of_threads = EVENTS.iter().map(|(method, params, doc)| {
        let entry = json!({ "description": doc.trim(), "params": { "allOf": [to("At"), to(params)] } });
        ((*method).to_owned(), entry)
    });
    let others = NOTIFICATIONS.iter().map(|(method, params, doc)| {
        let entry = json!({ "description": doc.trim(), "params": to(params) });
        ((*method).to_owned(), entry)
    });
    let notifications: Map<String, Value> = of_threads.chain(others).collect();
    let document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Countersign's protocol",
        "description": "Generated from the Rust types; do not edit. Methods stand under clientRequests, serverRequests and notifications, types under $defs.",
        "clientRequests": requests(CLIENT_REQUESTS),
        "serverRequests": requests(SERVER_REQUESTS),
        "notifications": notifications,
        "$defs": model.schemas,
    });
    let mut text = serde_json::to_string_pretty(&document).expect("a value has a text");
    text.push('\n');
    text
}

#[test]
fn every_reference_leads_somewhere() {
    let schemas = collect();
    let mut names = Vec::new();
    schemas.values().for_each(|schema| references(schema, &mut names));
    for (_, params, result, _) in CLIENT_REQUESTS.iter().chain(SERVER_REQUESTS) {
        names.extend([(*params).to_owned(), (*result).to_owned()]);
    }
    names.extend(
        EVENTS
            .iter()
            .chain(NOTIFICATIONS)
            .map(|(_, params, _)| (*params).to_owned()),
    );
    let lost: Vec<&String> = names.iter().filter(|name| !schemas.contains_key(*name)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}
