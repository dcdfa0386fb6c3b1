//! What others than the person describe under a name that the person has given to something of their own: an MCP server, a provider of
//! models, a collector, a secret. It takes the whole place: no token, header, key, trust or word on what need not ask goes along to
//! a program or an address that is not the person's, whatever was shown when it was allowed.

use super::layers::Merged;
use serde_json::{Map, Value};

/// Tables with free names, and the keys of which one makes an entry a description of its own, and not a word on how one is
/// used. Where none is named every entry is.
const TABLES: &[(&[&str], &[&str])] = &[
    (&["mcp_servers"], &["command", "url"]),
    (&["model_providers"], &["base_url"]),
    (&["sandbox", "credentials"], &[]),
];

/// Where telemetry may go.
const EXPORTERS: [&str; 3] = ["exporter", "trace_exporter", "metrics_exporter"];

/// Whether an entry of a table, with these keys, describes something of its own.
pub(super) fn is_description<'k>(table: &str, mut keys: impl Iterator<Item = &'k str>) -> bool {
    let found = TABLES.iter().find(|(way, _)| way.join(".") == table);
    found.is_some_and(|(_, by)| by.is_empty() || keys.any(|key| by.contains(&key)))
}

/// Takes away what `merged` has where `values` describe something of their own. Gives the names of the MCP servers among it.
pub(super) fn replace(merged: &mut Merged, values: &Map<String, Value>) -> Vec<String> {
    let mut servers = Vec::new();
    for &(table, _) in TABLES {
        for (name, entry) in entries(values, table) {
            let Some(entry) = entry.as_object() else { continue };
            let mut way = table.to_vec();
            way.push(name.as_str());
            if is_description(&table.join("."), entry.keys().map(String::as_str)) {
                let is_there = merged.forget(&way);
                if is_there && table == ["mcp_servers"] {
                    servers.push(name.clone());
                }
            } else if entry.contains_key("auth") {
                // A program that gives a key.
                way.push("auth");
                merged.forget(&way);
            }
        }
    }
    for name in EXPORTERS {
        if values.get("otel").is_some_and(|otel| otel.get(name).is_some()) {
            merged.forget(&["otel", name]);
        }
    }
    if values
        .get("feedback")
        .is_some_and(|feedback| feedback.get("endpoint").is_some())
    {
        merged.forget(&["feedback", "headers"]);
    }
    servers
}

/// Takes out of a project's values the MCP servers that the person's own settings describe under the same names. Gives the names.
pub(super) fn keep(values: &mut Map<String, Value>, persons: &[&Map<String, Value>]) -> Vec<String> {
    let describes = |entry: &Value| {
        let entry = entry.as_object();
        entry.is_some_and(|entry| is_description("mcp_servers", entry.keys().map(String::as_str)))
    };
    let is_persons = |name: &str| {
        let mut of_name = persons.iter().filter_map(|values| values.get("mcp_servers")?.get(name));
        of_name.any(describes)
    };
    let mut kept = Vec::new();
    if let Some(Value::Object(servers)) = values.get_mut("mcp_servers") {
        servers.retain(|name, entry| {
            let is_kept = describes(entry) && is_persons(name);
            if is_kept {
                kept.push(name.clone());
            }
            !is_kept
        });
    }
    kept
}

/// Takes out of the person's values what is said of MCP servers that a project has put in the place of theirs, but that one is off.
pub(super) fn leave_out(values: &mut Map<String, Value>, servers: &[String]) {
    let Some(Value::Object(table)) = values.get_mut("mcp_servers") else {
        return;
    };
    for name in servers {
        if let Some(Value::Object(said)) = table.get_mut(name) {
            said.retain(|key, value| key == "enabled" && *value == Value::Bool(false));
        }
    }
}

fn entries<'v>(values: &'v Map<String, Value>, table: &[&str]) -> impl Iterator<Item = (&'v String, &'v Value)> {
    let found = values.get(table[0]);
    let found = table[1..].iter().try_fold(found, |value, name| Some(value?.get(name)));
    found.flatten().and_then(Value::as_object).into_iter().flatten()
}

/// Whether there is an entry of this name in a table, whose way has dots.
pub(super) fn is_known(values: &Map<String, Value>, table: &str, name: &str) -> bool {
    let way: Vec<&str> = table.split('.').collect();
    entries(values, &way).any(|(known, _)| known == name)
}
