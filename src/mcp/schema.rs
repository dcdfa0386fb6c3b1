//! A tool's schema of arguments as every provider takes it. Servers write what they like; one schema that is refused would
//! fail the whole request, with all tools in it.

use serde_json::{Map, Value, json};

/// Bytes of a schema; of a larger one only the names of the arguments are kept.
const MOST: usize = 32 << 10;

/// How deep a schema is looked into.
const DEPTH: usize = 24;

/// What providers refuse at the top: the arguments are one object.
const NOT_AT_TOP: [&str; 9] = ["anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else"];

/// The schema, mended.
pub(super) fn sane(schema: &Value) -> Value {
    let mut top = match schema {
        Value::Object(map) => map.clone(),
        _ => Map::new(),
    };
    // What may be given one way or the other may be given.
    let mut properties = take_map(&mut top, "properties");
    for key in ["allOf", "anyOf", "oneOf"] {
        for branch in top.get(key).and_then(Value::as_array).into_iter().flatten() {
            let more = branch.get("properties").and_then(Value::as_object);
            for (name, schema) in more.into_iter().flatten() {
                properties.entry(name.clone()).or_insert_with(|| schema.clone());
            }
        }
    }
    for key in NOT_AT_TOP.iter().chain(&["$schema", "$id", "id"]) {
        top.remove(*key);
    }
    top.insert("type".to_owned(), "object".into());
    let required = required(&top, &properties);
    for schema in properties.values_mut() {
        mend(schema, DEPTH);
    }
    for key in ["$defs", "definitions"] {
        if let Some(definitions) = top.get_mut(key) {
            match definitions {
                Value::Object(map) => map.values_mut().for_each(|schema| mend(schema, DEPTH)),
                other => *other = json!({}),
            }
        }
    }
    top.insert("properties".to_owned(), properties.into());
    match required.is_empty() {
        true => top.remove("required"),
        false => top.insert("required".to_owned(), required.into()),
    };
    let mended = Value::Object(top);
    match mended.to_string().len() > MOST {
        true => names_only(&mended),
        false => mended,
    }
}

fn take_map(map: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    match map.remove(key) {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    }
}

/// The names that must be given, as far as there are such.
fn required(schema: &Map<String, Value>, properties: &Map<String, Value>) -> Vec<Value> {
    let named = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut kept: Vec<Value> = Vec::new();
    for name in named {
        if name.as_str().is_some_and(|name| properties.contains_key(name)) && !kept.contains(name) {
            kept.push(name.clone());
        }
    }
    kept
}

/// Mends a schema below the top.
fn mend(schema: &mut Value, depth: usize) {
    let Value::Object(map) = schema else {
        if let Value::Bool(_) | Value::Null = schema {
            *schema = json!({});
        } else {
            *schema = json!({"type": "string"});
        }
        return;
    };
    if depth == 0 {
        *schema = json!({});
        return;
    }
    for key in ["$schema", "$id"] {
        map.remove(key);
    }
    let is = |map: &Map<String, Value>, word: &str| match map.get("type") {
        Some(Value::String(kind)) => kind == word,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == word),
        _ => false,
    };
    if map.contains_key("properties") && !map.contains_key("type") {
        map.insert("type".to_owned(), "object".into());
    }
    if is(map, "array") && !map.contains_key("items") && !map.contains_key("prefixItems") {
        map.insert("items".to_owned(), json!({}));
    }
    if is(map, "object") || map.contains_key("properties") {
        let mut properties = take_map(map, "properties");
        let required = required(map, &properties);
        properties.values_mut().for_each(|schema| mend(schema, depth - 1));
        map.insert("properties".to_owned(), properties.into());
        match required.is_empty() {
            true => map.remove("required"),
            false => map.insert("required".to_owned(), required.into()),
        };
    }
    for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        match map.get_mut(key) {
            Some(Value::Array(list)) if !list.is_empty() => list.iter_mut().for_each(|schema| mend(schema, depth - 1)),
            Some(_) => {
                map.remove(key);
            }
            None => {}
        }
    }
    match map.get_mut("items") {
        // The older form of `prefixItems`.
        Some(items @ Value::Array(_)) => *items = json!({}),
        Some(items) => mend(items, depth - 1),
        None => {}
    }
    if let Some(more @ Value::Object(_)) = map.get_mut("additionalProperties") {
        mend(more, depth - 1);
    }
}

/// The arguments by their names, and nothing of what they are but their kind.
fn names_only(schema: &Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut names = Map::new();
    let mut size = 0;
    for (name, schema) in properties.into_iter().flatten() {
        let kind = schema.get("type").and_then(Value::as_str);
        let plain = match kind {
            Some("array") => json!({"type": "array", "items": {}}),
            Some(kind) if kind.len() < 16 => json!({"type": kind}),
            _ => json!({}),
        };
        size += name.len() + 32;
        if size > MOST {
            break;
        }
        names.insert(name.clone(), plain);
    }
    let empty = Map::new();
    let required = required(schema.as_object().unwrap_or(&empty), &names);
    json!({"type": "object", "properties": names, "required": required})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_providers_refuse_is_mended() {
        let any = json!({"type": "object", "properties": {}});
        for (schema, expected) in [
            (json!(null), any.clone()),
            (json!(true), any.clone()),
            (json!([]), any.clone()),
            (json!({}), any.clone()),
            (
                json!({"type": "string", "properties": null, "required": null}),
                any.clone(),
            ),
            (json!({"$schema": "x", "type": "object"}), any),
            (
                json!({"type": "object", "properties": {"a": {"type": "array"}, "b": true}, "required": ["a", "c", 7, "a"]}),
                json!({"type": "object", "properties": {"a": {"type": "array", "items": {}}, "b": {}}, "required": ["a"]}),
            ),
            (
                json!({"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {}}}]}),
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"items": [{}], "type": ["array", "null"]}, "o": {"type": "object"}}}),
                json!({"type": "object", "properties": {
                    "a": {"items": {}, "type": ["array", "null"]}, "o": {"type": "object", "properties": {}},
                }}),
            ),
        ] {
            assert_eq!(sane(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn what_is_good_stays() {
        let good = json!({
            "type": "object", "additionalProperties": false, "required": ["p"], "description": "d",
            "properties": {"p": {"$ref": "#/$defs/P"}, "n": {"type": "integer", "minimum": 1, "default": 3}},
            "$defs": {"P": {"type": "object", "properties": {"x": {"enum": ["a", "b"]}}, "required": ["x"]}},
        });
        assert_eq!(sane(&good), good);
    }

    #[test]
    fn large_and_deep_ones_are_bounded() {
        let large =
            json!({"type": "object", "properties": {"a": {"type": "string", "description": "x".repeat(50_000)}}});
        assert_eq!(
            sane(&large),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": []})
        );
        let mut deep = json!({"type": "string"});
        for _ in 0..100 {
            deep = json!({"type": "object", "properties": {"x": deep}});
        }
        assert!(sane(&deep).to_string().len() < 2000);
    }
}
