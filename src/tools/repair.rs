//! Arguments that are almost right: slips that models are known for, each with one reading. What could be meant in two ways is left as it
//! is, and the tool says what is wrong with it.

use crate::model::loose::{self, Slip};
use serde_json::{Map, Number, Value};

/// Keys in which some models wrap all that they give a tool.
const WRAPPERS: &[&str] = &["arguments", "args", "input", "parameters", "params"];
/// Lists of words: one text in their place may be one word, or a line of several.
const LISTS_OF_WORDS: &[&str] = &["args", "argv", "cmd", "command"];

/// Arguments as they were meant, and what was wrong with them.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    /// An object.
    pub arguments: String,
    /// For logs.
    pub slips: Vec<&'static str>,
}

/// Arguments as the schema of their tool wants them. `None` if nothing is wrong with them, or nothing can be done.
pub fn repaired(text: &str, schema: &Value) -> Option<Repaired> {
    if text.trim().is_empty() {
        return None;
    }
    let (mut given, slips) = loose::object(text)?;
    let mut slips: Vec<&'static str> = slips.into_iter().map(Slip::as_str).collect();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        unwrap(&mut given, properties, &mut slips);
        fit(&mut given, schema, properties, &mut slips);
    }
    slips.dedup();
    (!slips.is_empty()).then(|| Repaired {
        arguments: Value::Object(given).to_string(),
        slips,
    })
}

/// `{"arguments": {…}}` as what is in it.
fn unwrap(given: &mut Map<String, Value>, properties: &Map<String, Value>, slips: &mut Vec<&'static str>) {
    let [key] = given.keys().map(String::as_str).collect::<Vec<_>>()[..] else {
        return;
    };
    if !WRAPPERS.contains(&key) || properties.contains_key(key) {
        return;
    }
    let inner = match &given[key] {
        Value::Object(inner) => Some(inner.clone()),
        Value::String(text) => loose::object(text).map(|(inner, _)| inner),
        _ => None,
    };
    // What is in it has to be what the tool takes.
    if let Some(inner) = inner.filter(|inner| inner.keys().all(|key| properties.contains_key(key))) {
        *given = inner;
        slips.push("wrapped");
    }
}

fn fit(given: &mut Map<String, Value>, schema: &Value, properties: &Map<String, Value>, slips: &mut Vec<&'static str>) {
    let unknown: Vec<String> = given
        .keys()
        .filter(|key| !properties.contains_key(*key))
        .cloned()
        .collect();
    for key in unknown {
        let mut meant = properties.keys().filter(|known| plain(known) == plain(&key));
        if let (Some(known), None) = (meant.next(), meant.next())
            && !given.contains_key(known)
            && let Some(value) = given.remove(&key)
        {
            given.insert(known.clone(), value);
            slips.push("name of a parameter");
        }
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let nulls: Vec<String> = given
        .iter()
        .filter(|(key, value)| {
            let takes_none = properties.get(*key).is_none_or(|schema| takes(schema, "null"));
            value.is_null() && !takes_none && !required.contains(&key.as_str())
        })
        .map(|(key, _)| key.clone())
        .collect();
    for key in nulls {
        given.remove(&key);
        slips.push("null");
    }
    for (key, value) in given.iter_mut() {
        if let Some(schema) = properties.get(key) {
            fit_value(key, value, schema, slips);
        }
    }
}

/// A name without what tells `file_path`, `filePath` and `FilePath` apart.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// Whether a schema that names its types takes values of one; any where it names none.
fn takes(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => true,
    }
}

fn fit_value(key: &str, value: &mut Value, schema: &Value, slips: &mut Vec<&'static str>) {
    if takes(schema, kind_of(value)) || value.is_number() && takes(schema, "number") {
        match value {
            Value::Object(inner) => {
                if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                    fit(inner, schema, properties, slips);
                }
            }
            Value::Array(inner) => {
                if let Some(items) = schema.get("items") {
                    inner.iter_mut().for_each(|one| fit_value(key, one, items, slips));
                }
            }
            _ => {}
        }
        return;
    }
    if let Some(meant) = converted(key, value, schema) {
        *value = meant;
        slips.push("type of a value");
        fit_value(key, value, schema, slips);
    }
}

/// A value of another type than the schema takes, as the one that it can be.
fn converted(key: &str, value: &Value, schema: &Value) -> Option<Value> {
    match value {
        Value::String(text) => of_text(key, text, schema),
        // `10.0` where a whole number is meant.
        Value::Number(number) if takes(schema, "integer") => {
            let number = number
                .as_f64()
                .filter(|number| number.fract() == 0.0 && number.abs() < 2f64.powi(53))?;
            Some(Value::from(number as i64))
        }
        // Of a fraction (1.10), and of more digits than fit, the digits that were written are not known any more.
        Value::Number(number) if takes(schema, "string") && !number.is_f64() => Some(Value::String(value.to_string())),
        Value::Bool(_) if takes(schema, "string") => Some(Value::String(value.to_string())),
        Value::Object(one) if takes(schema, "array") && is_item(one, schema) => Some(Value::Array(vec![value.clone()])),
        _ => None,
    }
}

fn of_text(key: &str, text: &str, schema: &Value) -> Option<Value> {
    let read = loose::value_of(text);
    match read {
        Some(list @ Value::Array(_)) if takes(schema, "array") => return Some(list),
        Some(one @ Value::Object(_)) if takes(schema, "object") => return Some(one),
        Some(Value::Object(one)) if takes(schema, "array") && is_item(&one, schema) => {
            return Some(Value::Array(vec![Value::Object(one)]));
        }
        _ => {}
    }
    if takes(schema, "boolean") && ["true", "false"].contains(&text.trim().to_ascii_lowercase().as_str()) {
        return Some(Value::Bool(text.trim().eq_ignore_ascii_case("true")));
    }
    if takes(schema, "integer") || takes(schema, "number") {
        let number: Number = serde_json::from_str(text.trim()).ok()?;
        return Some(Value::Number(number));
    }
    let is_list = takes(schema, "array") && item_takes(schema, "string") && !LISTS_OF_WORDS.contains(&key);
    is_list.then(|| Value::Array(vec![Value::String(text.to_owned())]))
}

/// Whether the items of a list that a schema describes may be of a type, and it says so.
fn item_takes(schema: &Value, kind: &str) -> bool {
    schema
        .get("items")
        .is_some_and(|items| items.get("type").is_some() && takes(items, kind))
}

/// Whether an object can be an item of a list that a schema describes: it has all that one needs, and nothing else. What it is otherwise
/// the tool may know.
fn is_item(one: &Map<String, Value>, schema: &Value) -> bool {
    let items = schema.get("items").filter(|_| item_takes(schema, "object"));
    let Some(properties) = items.and_then(|items| items.get("properties")?.as_object()) else {
        return false;
    };
    let required = items.and_then(|items| items.get("required")?.as_array());
    let mut needed = required.into_iter().flatten().filter_map(Value::as_str);
    needed.all(|name| one.contains_key(name)) && one.keys().all(|key| properties.contains_key(key))
}

/// The name of a value's type in schemas.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "limit": {"type": "integer"},
                "ratio": {"type": "number"},
                "all": {"type": "boolean"},
                "paths": {"type": "array", "items": {"type": "string"}},
                "command": {"type": "array", "items": {"type": "string"}},
                "steps": {"type": "array", "items": {"type": "object", "properties": {"done": {"type": "boolean"}}}},
                "more": {"type": "object"},
                "either": {"type": ["string", "null"]},
                "any": {},
            },
            "required": ["file_path"],
        })
    }

    #[test]
    fn slips_by_table() {
        let table = [
            // What is right stays as it is.
            (
                r#"{"file_path": "a", "limit": 5, "ratio": 1, "any": "7", "either": null}"#,
                None,
            ),
            (r#"{"other": {"x": "1"}}"#, None),
            (r#"{"file_path": "a", "limit": "5", "file_path": "b"}"#, None),
            (
                r#"{"file_path": "a", "filePath": null, "more": {"x": 1, "x": 2}}"#,
                None,
            ),
            (r#"{"file_path": 1.10}"#, None),
            (
                r#"{"file_path": "a", "command": ["echo", 1.10, 12345678901234567890123]}"#,
                None,
            ),
            ("", None),
            ("{", None),
            // How it is written.
            (r#"{"file_path": "a",}"#, Some(json!({"file_path": "a"}))),
            (r#""{\"file_path\": \"a\"}""#, Some(json!({"file_path": "a"}))),
            ("```json\n{\"file_path\": \"a\"}\n```", Some(json!({"file_path": "a"}))),
            ("{\"file_path\": \"a\nb\"}", Some(json!({"file_path": "a\nb"}))),
            // Where it stands, and under which name.
            (r#"{"arguments": {"file_path": "a"}}"#, Some(json!({"file_path": "a"}))),
            (
                r#"{"input": "{\"file_path\": \"a\"}"}"#,
                Some(json!({"file_path": "a"})),
            ),
            (r#"{"arguments": {"nothing": 1}}"#, None),
            (r#"{"filePath": "a"}"#, Some(json!({"file_path": "a"}))),
            (r#"{"FILE-PATH": "a"}"#, Some(json!({"file_path": "a"}))),
            (r#"{"filePath": "a", "file_path": "b"}"#, None),
            (r#"{"path": "a"}"#, None),
            // Of which type it is.
            (r#"{"limit": "5"}"#, Some(json!({"limit": 5}))),
            (r#"{"limit": 5.0}"#, Some(json!({"limit": 5}))),
            (r#"{"limit": 5.5}"#, None),
            (r#"{"limit": "five"}"#, None),
            (r#"{"ratio": "0.5"}"#, Some(json!({"ratio": 0.5}))),
            (r#"{"all": "True"}"#, Some(json!({"all": true}))),
            (r#"{"all": "yes"}"#, None),
            (r#"{"file_path": 7}"#, Some(json!({"file_path": "7"}))),
            (r#"{"paths": "a"}"#, Some(json!({"paths": ["a"]}))),
            (r#"{"paths": "[\"a\", \"b\"]"}"#, Some(json!({"paths": ["a", "b"]}))),
            (r#"{"paths": "['a']"}"#, Some(json!({"paths": ["a"]}))),
            (r#"{"command": "ls -l"}"#, None),
            (
                r#"{"command": "[\"ls\", \"-l\"]"}"#,
                Some(json!({"command": ["ls", "-l"]})),
            ),
            (r#"{"steps": {"other": "true"}}"#, None),
            (
                r#"{"steps": {"done": "true"}}"#,
                Some(json!({"steps": [{"done": true}]})),
            ),
            (
                r#"{"steps": "[{\"done\": true}]"}"#,
                Some(json!({"steps": [{"done": true}]})),
            ),
            (r#"{"more": "{\"a\": 1}"}"#, Some(json!({"more": {"a": 1}}))),
            (r#"{"all": null, "file_path": "a"}"#, Some(json!({"file_path": "a"}))),
            (r#"{"file_path": null}"#, None),
        ];
        for (text, wanted) in table {
            let found = repaired(text, &schema());
            let found = found.map(|found| serde_json::from_str::<Value>(&found.arguments).expect("JSON"));
            assert_eq!(found, wanted, "{text}");
        }
    }

    #[test]
    fn what_was_repaired_is_right() {
        let found = repaired(r#"{"filePath": "a", "limit": "5",}"#, &schema()).expect("repaired");
        assert_eq!(
            found.slips,
            ["trailing comma", "name of a parameter", "type of a value"]
        );
        assert_eq!(repaired(&found.arguments, &schema()), None);
    }
}
