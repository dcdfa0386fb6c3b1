//! Items as providers send them, brought into our form; and the counts of tokens.

use crate::model::item::{ContentPart, ReasoningPart, ResponseItem};
use crate::model::{json, loose};
use crate::protocol::model::TokenUsage;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fmt::Write as _;

/// An item of the model's output. `None` for kinds that are not the model's to say (outputs of tools), kinds unknown
/// here, and what is no item.
pub(super) fn item(mut value: Value) -> Option<ResponseItem> {
    let kind = value.get("type")?.as_str()?.to_owned();
    let fields = value.as_object_mut()?;
    // An id that is no text is no id.
    for key in ["id", "call_id"] {
        if fields.get(key).is_some_and(|id| id.as_str().is_none_or(str::is_empty)) {
            fields.remove(key);
        }
    }
    match kind.as_str() {
        "message" => {
            let content = message_content(fields.remove("content"));
            Some(ResponseItem::Message {
                id: text(fields, "id"),
                role: "assistant".to_owned(),
                content,
            })
        }
        "reasoning" => Some(ResponseItem::Reasoning {
            id: text(fields, "id"),
            summary: reasoning_parts(fields.remove("summary"), |text| ReasoningPart::SummaryText { text }),
            content: Some(reasoning_parts(fields.remove("content"), |text| {
                ReasoningPart::ReasoningText { text }
            }))
            .filter(|parts| !parts.is_empty()),
            encrypted_content: text(fields, "encrypted_content"),
        }),
        "function_call" => Some(ResponseItem::FunctionCall {
            id: text(fields, "id"),
            name: text(fields, "name").unwrap_or_default(),
            arguments: as_text(fields.remove("arguments")),
            // An empty one is replaced by the decoder.
            call_id: text(fields, "call_id").unwrap_or_default(),
        }),
        "custom_tool_call" => Some(ResponseItem::CustomToolCall {
            id: text(fields, "id"),
            call_id: text(fields, "call_id").unwrap_or_default(),
            name: text(fields, "name").unwrap_or_default(),
            input: as_text(fields.remove("input")),
        }),
        "local_shell_call" | "web_search_call" => serde_json::from_value(value).ok(),
        _ => None,
    }
}

fn text(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields.get(key)?.as_str().map(str::to_owned)
}

/// Arguments are JSON in a text; some servers send the JSON itself.
pub(super) fn as_text(value: Option<Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(value) => value.to_string(),
    }
}

/// A refusal becomes text: else the person would see nothing at all.
pub(super) fn message_content(content: Option<Value>) -> Vec<ContentPart> {
    let parts = match content {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::String(text)) => return vec![ContentPart::OutputText { text }],
        Some(Value::Array(parts)) => parts,
        Some(part) => vec![part],
    };
    parts
        .into_iter()
        .filter_map(|part| match part {
            Value::String(text) => Some(text),
            part => json::text(&part, &["text", "refusal"]).map(str::to_owned),
        })
        .map(|text| ContentPart::OutputText { text })
        .collect()
}

fn reasoning_parts(parts: Option<Value>, make: impl Fn(String) -> ReasoningPart) -> Vec<ReasoningPart> {
    match parts {
        Some(Value::String(text)) => vec![make(text)],
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| json::text(part, &["text"])))
            .map(|text| make(text.to_owned()))
            .collect(),
        _ => Vec::new(),
    }
}

/// Usage in the words of either wire API. `None` if there is none.
pub(super) fn usage(value: Option<&Value>) -> Option<TokenUsage> {
    let value = value?;
    let at = |paths: &[&str]| paths.iter().find_map(|path| json::count(value.pointer(path)));
    let input = at(&["/input_tokens", "/prompt_tokens"]);
    let output = at(&["/output_tokens", "/completion_tokens"]);
    let total = at(&["/total_tokens"]);
    if input.is_none() && output.is_none() && total.is_none() {
        return None;
    }
    let input_tokens = input.unwrap_or(0);
    let said = input_tokens.saturating_add(output.unwrap_or(0));
    // xAI and Gemini leave the thoughts out of the tokens of the answer, not out of the sum, and bill them. Where the cache is counted
    // beside the input, the sum is larger for that.
    let is_beside = at(&["/cache_read_input_tokens", "/cache_creation_input_tokens"]).is_some_and(|count| count > 0);
    let thought = match (output, total) {
        (Some(_), Some(total)) if !is_beside => total.saturating_sub(said),
        _ => 0,
    };
    let reasoning = at(&[
        "/output_tokens_details/reasoning_tokens",
        "/completion_tokens_details/reasoning_tokens",
    ]);
    let output_tokens = output.unwrap_or(0).saturating_add(thought);
    Some(TokenUsage {
        input_tokens,
        cached_input_tokens: at(&[
            "/input_tokens_details/cached_tokens",
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
        ])
        .unwrap_or(0),
        cache_write_input_tokens: at(&[
            "/input_tokens_details/cache_write_tokens",
            "/prompt_tokens_details/cache_write_tokens",
            "/prompt_tokens_details/cache_creation_tokens",
            "/cache_creation_input_tokens",
        ])
        .unwrap_or(0),
        output_tokens,
        reasoning_output_tokens: reasoning.unwrap_or(thought),
        total_tokens: total.unwrap_or_else(|| input_tokens.saturating_add(output_tokens)),
    })
}

/// The name of a call as a provider takes it that refuses longer ones: another in the place of one that is, the same each time. LiteLLM
/// puts a seal of hundreds of letters into it.
pub(super) fn bounded_id(id: &str, most: usize) -> Cow<'_, str> {
    match id.len() <= most {
        true => id.into(),
        false => {
            let mut name = "call_".to_owned();
            for byte in &Sha256::digest(id.as_bytes())[..16] {
                // Writing to a text never fails.
                let _ = write!(name, "{byte:02x}");
            }
            name.into()
        }
    }
}

/// Arguments that providers can parse: history may hold what the model wrote wrongly, and some servers refuse a
/// whole request for that.
pub(super) fn valid_arguments(arguments: &str) -> Cow<'_, str> {
    if arguments.trim().is_empty() {
        return "{}".into();
    }
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => arguments.into(),
        _ => json!({ "invalid_arguments": arguments }).to_string().into(),
    }
}

/// The schema of the one parameter through which the text of a free-form tool goes where there are no such tools.
pub(super) fn text_parameter() -> Value {
    let input = json!({"type": "string", "description": "The whole input of the tool, as text."});
    json!({"type": "object", "properties": {"input": input}, "required": ["input"], "additionalProperties": false})
}

/// How the system speaks in the middle of a conversation where there is no side for it.
pub(super) fn system_note(text: &str) -> String {
    format!("<system-note>\n{text}\n</system-note>")
}

/// The text out of that parameter; some models write it bare.
pub(super) fn text_argument(arguments: String) -> String {
    match loose::object(&arguments) {
        Some((given, _)) => match given.get("input") {
            Some(Value::String(input)) => input.clone(),
            _ => arguments,
        },
        None => arguments,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_in_all_their_shapes() {
        let message = |text: &str| {
            Some(ResponseItem::Message {
                id: None,
                role: "assistant".into(),
                content: vec![ContentPart::OutputText { text: text.into() }],
            })
        };
        let call = |arguments: &str| {
            Some(ResponseItem::FunctionCall {
                id: None,
                name: "f".into(),
                arguments: arguments.into(),
                call_id: String::new(),
            })
        };
        let table = [
            (
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}),
                message("a"),
            ),
            (json!({"type": "message", "content": "a", "id": 7}), message("a")),
            (json!({"type": "message", "content": ["a"], "id": ""}), message("a")),
            (json!({"type": "message", "content": {"text": "a"}}), message("a")),
            (
                json!({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}),
                message("no"),
            ),
            (
                json!({"type": "message", "content": [{"type": "unheard", "x": 1}, {"type": "text", "text": "a"}]}),
                message("a"),
            ),
            (
                json!({"type": "function_call", "name": "f", "arguments": "{}", "call_id": null}),
                call("{}"),
            ),
            (
                json!({"type": "function_call", "name": "f", "arguments": {"a": 1}}),
                call(r#"{"a":1}"#),
            ),
            (json!({"type": "function_call", "name": "f"}), call("")),
            (
                json!({"type": "function_call_output", "call_id": "c", "output": "x"}),
                None,
            ),
            (json!({"type": "image_generation_call", "id": "i"}), None),
            (json!({"no": "type"}), None),
            (json!([]), None),
        ];
        for (value, wanted) in table {
            assert_eq!(item(value.clone()), wanted, "{value}");
        }
        let reasoning =
            item(json!({"type": "reasoning", "summary": null, "content": ["raw"], "encrypted_content": "x"}));
        assert_eq!(
            reasoning,
            Some(ResponseItem::Reasoning {
                id: None,
                summary: vec![],
                content: Some(vec![ReasoningPart::ReasoningText { text: "raw".into() }]),
                encrypted_content: Some("x".into()),
            })
        );
    }

    #[test]
    fn usage_in_both_languages() {
        let wanted = Some(TokenUsage {
            input_tokens: 10,
            cached_input_tokens: 4,
            cache_write_input_tokens: 0,
            output_tokens: 6,
            reasoning_output_tokens: 2,
            total_tokens: 16,
        });
        let table = [
            (
                json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 6,
                "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 16}),
                wanted,
            ),
            (
                json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens": 6.0,
                "completion_tokens_details": {"reasoning_tokens": 2}}),
                wanted,
            ),
            (
                json!({"input_tokens": 1, "input_tokens_details": null}),
                Some(TokenUsage {
                    input_tokens: 1,
                    total_tokens: 1,
                    ..Default::default()
                }),
            ),
            (
                json!({"total_tokens": 1e99, "input_tokens": -3}),
                Some(TokenUsage {
                    total_tokens: u32::MAX,
                    ..Default::default()
                }),
            ),
            // Thoughts beside the answer: xAI, then Gemini, which does not name them.
            (
                json!({"prompt_tokens": 10120, "completion_tokens": 1499, "total_tokens": 14428,
                "prompt_tokens_details": {"cached_tokens": 128}, "completion_tokens_details": {"reasoning_tokens": 2809}}),
                Some(TokenUsage {
                    input_tokens: 10120,
                    cached_input_tokens: 128,
                    output_tokens: 4308,
                    reasoning_output_tokens: 2809,
                    total_tokens: 14428,
                    ..Default::default()
                }),
            ),
            (
                json!({"completion_tokens": 198, "prompt_tokens": 20, "total_tokens": 623}),
                Some(TokenUsage {
                    input_tokens: 20,
                    output_tokens: 603,
                    reasoning_output_tokens: 405,
                    total_tokens: 623,
                    ..Default::default()
                }),
            ),
            // Moonshot's cache, and LiteLLM's, which is counted beside the input.
            (
                json!({"prompt_tokens": 2000, "completion_tokens": 13, "total_tokens": 2013, "cached_tokens": 1800}),
                Some(TokenUsage {
                    input_tokens: 2000,
                    cached_input_tokens: 1800,
                    output_tokens: 13,
                    total_tokens: 2013,
                    ..Default::default()
                }),
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115, "cache_creation_input_tokens": 100}),
                Some(TokenUsage {
                    input_tokens: 10,
                    cache_write_input_tokens: 100,
                    output_tokens: 5,
                    total_tokens: 115,
                    ..Default::default()
                }),
            ),
            (json!({}), None),
            (json!(null), None),
            (json!("many"), None),
        ];
        for (value, wanted) in table {
            assert_eq!(usage(Some(&value)), wanted, "{value}");
        }
    }

    #[test]
    fn names_of_calls_are_bounded_and_stay_apart() {
        let (one, other) = ("c".repeat(65), "c".repeat(66));
        assert_eq!(bounded_id(&one[..64], 64), one[..64]);
        assert_eq!(bounded_id(&one, 64), bounded_id(&one, 64));
        assert_ne!(bounded_id(&one, 64), bounded_id(&other, 64));
        assert_eq!(bounded_id(&one, 40).len(), 37);
    }

    #[test]
    fn arguments_that_are_no_object_are_wrapped() {
        assert_eq!(valid_arguments(" "), "{}");
        assert_eq!(valid_arguments(r#"{"a":1}"#), r#"{"a":1}"#);
        assert_eq!(valid_arguments(r#"{"a"#), r#"{"invalid_arguments":"{\"a"}"#);
    }
}
