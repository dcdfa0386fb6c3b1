//! The requests that came: what they hold, in the words of either wire API, and whether they keep the rules.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A request for an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Counted from 1.
    pub number: usize,
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The JSON body; null if it was none.
    pub body: Value,
    /// Which step of the script answered, counted from 0.
    pub step: Option<usize>,
}

/// A call of a tool, as the request repeats it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCall {
    pub call_id: String,
    pub tool: String,
    /// The arguments or the input, as text.
    pub arguments: String,
}

impl Recorded {
    /// Whether it came by Chat Completions.
    pub fn is_chat(&self) -> bool {
        self.path.ends_with("/chat/completions")
    }

    pub fn model(&self) -> &str {
        self.body.get("model").and_then(Value::as_str).unwrap_or_default()
    }

    /// The instructions, or the system messages.
    pub fn instructions(&self) -> String {
        if !self.is_chat() {
            return self
                .body
                .get("instructions")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
        }
        let system = |item: &&Value| matches!(role(item), "system" | "developer");
        self.input()
            .iter()
            .filter(system)
            .map(item_text)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Input items, or messages.
    pub fn input(&self) -> &[Value] {
        let input = self.body.get(if self.is_chat() { "messages" } else { "input" });
        input.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The text of each input item that has one, outputs of tools included.
    pub fn input_texts(&self) -> Vec<String> {
        if let Some(text) = self.body.get("input").and_then(Value::as_str) {
            return vec![text.to_owned()];
        }
        self.input()
            .iter()
            .map(item_text)
            .filter(|text| !text.is_empty())
            .collect()
    }

    /// The text of the last message of the person's side.
    pub fn last_user_text(&self) -> String {
        if let Some(text) = self.body.get("input").and_then(Value::as_str) {
            return text.to_owned();
        }
        self.input()
            .iter()
            .rfind(|item| role(item) == "user")
            .map(item_text)
            .unwrap_or_default()
    }

    /// The names of the tools on offer.
    pub fn tools(&self) -> Vec<String> {
        let tools = self
            .body
            .get("tools")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let name = |tool: &Value| {
            tool.get("name")
                .or_else(|| tool.pointer("/function/name"))?
                .as_str()
                .map(str::to_owned)
        };
        tools.iter().filter_map(name).collect()
    }

    /// The calls in the history, in order.
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.input().iter().flat_map(calls_of).collect()
    }

    /// The outputs in the history: call id and text, in order.
    pub fn outputs(&self) -> Vec<(String, String)> {
        self.input().iter().filter_map(output_of).collect()
    }

    /// The output for a call.
    pub fn output(&self, call_id: &str) -> Option<String> {
        self.outputs()
            .into_iter()
            .find(|(id, _)| id == call_id)
            .map(|(_, text)| text)
    }

    /// The rules that the request breaks: each call has exactly one output, after it, and no output is without a call.
    pub fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.body.is_object() {
            found.push("the body is no JSON object".to_owned());
            return found;
        }
        let mut open: BTreeSet<String> = BTreeSet::new();
        let mut answered: BTreeSet<String> = BTreeSet::new();
        for (index, item) in self.input().iter().enumerate() {
            for call in calls_of(item) {
                let RecordedCall { call_id, tool, .. } = call;
                if call_id.is_empty() {
                    found.push(format!("item {index}: the call of `{tool}` has no call id"));
                } else if answered.contains(&call_id) || !open.insert(call_id.clone()) {
                    found.push(format!("item {index}: a second call has the id {call_id}"));
                }
            }
            if let Some((call_id, _)) = output_of(item) {
                if open.remove(&call_id) {
                    answered.insert(call_id);
                } else if answered.contains(&call_id) {
                    found.push(format!("item {index}: a second output for {call_id}"));
                } else {
                    found.push(format!(
                        "item {index}: an output for {call_id:?}, which no call before it has"
                    ));
                }
            } else if self.is_chat() && role(item) != "tool" && calls_of(item).is_empty() && !open.is_empty() {
                found.push(format!("item {index}: comes between a call and its output"));
            }
        }
        found.extend(open.iter().map(|call_id| format!("the call {call_id} has no output")));
        found
    }

    /// For people and files: without the key.
    pub fn to_json(&self) -> Value {
        let secret = |name: &str| matches!(name, "authorization" | "api-key" | "x-api-key" | "cookie");
        let headers: BTreeMap<&str, &str> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), if secret(name) { "[hidden]" } else { value.as_str() }))
            .collect();
        json!({
            "number": self.number, "path": self.path, "headers": headers, "body": self.body, "step": self.step,
            "violations": self.violations(),
        })
    }
}

fn role(item: &Value) -> &str {
    item.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn calls_of(item: &Value) -> Vec<RecordedCall> {
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    let call_id = || text(item.get("call_id").filter(|id| id.is_string()));
    match item.get("type").and_then(Value::as_str) {
        Some("function_call") => vec![RecordedCall {
            call_id: call_id(),
            tool: text(item.get("name")),
            arguments: text(item.get("arguments")),
        }],
        Some("custom_tool_call") => {
            vec![RecordedCall {
                call_id: call_id(),
                tool: text(item.get("name")),
                arguments: text(item.get("input")),
            }]
        }
        Some("local_shell_call") => vec![RecordedCall {
            call_id: call_id(),
            tool: "local_shell".to_owned(),
            arguments: text(item.get("action")),
        }],
        _ => item
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|call| RecordedCall {
                call_id: text(call.get("id")),
                tool: text(call.pointer("/function/name")),
                arguments: text(call.pointer("/function/arguments")),
            })
            .collect(),
    }
}

fn output_of(item: &Value) -> Option<(String, String)> {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    let id = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if matches!(
        kind,
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output"
    ) {
        return Some((id("call_id"), item_text(item)));
    }
    (role(item) == "tool").then(|| (id("tool_call_id"), item_text(item)))
}

/// All text in an item: of its content, its output, or its summary.
fn item_text(item: &Value) -> String {
    let texts = ["content", "output", "summary"]
        .into_iter()
        .filter_map(|key| item.get(key))
        .map(text_of);
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let part = |part: &Value| match part {
                Value::String(text) => Some(text.clone()),
                part => part
                    .get("text")
                    .or_else(|| part.get("refusal"))?
                    .as_str()
                    .map(str::to_owned),
            };
            parts.iter().filter_map(part).collect::<Vec<_>>().join("\n")
        }
        // An output of the shape {"content": …}.
        Value::Object(fields) => fields.get("content").map(text_of).unwrap_or_default(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn responses(input: Value) -> Recorded {
        let body =
            json!({"model": "m", "instructions": "i", "input": input, "tools": [{"type": "function", "name": "f"}]});
        Recorded {
            number: 1,
            path: "/v1/responses".into(),
            headers: BTreeMap::new(),
            body,
            step: None,
        }
    }

    fn chat(messages: Value) -> Recorded {
        let body = json!({"model": "m", "messages": messages});
        Recorded {
            number: 1,
            path: "/v1/chat/completions".into(),
            headers: BTreeMap::new(),
            body,
            step: None,
        }
    }

    #[test]
    fn calls_and_outputs_must_pair_up() {
        let call = |id: &str| json!({"type": "function_call", "name": "f", "arguments": "{}", "call_id": id});
        let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "o"});
        let table = [
            (json!([call("a"), call("b"), output("b"), output("a")]), vec![]),
            (json!([call("a")]), vec!["the call a has no output"]),
            (
                json!([output("a")]),
                vec!["item 0: an output for \"a\", which no call before it has"],
            ),
            (
                json!([output("a"), call("a")]),
                vec![
                    "item 0: an output for \"a\", which no call before it has",
                    "the call a has no output",
                ],
            ),
            (
                json!([call("a"), output("a"), output("a")]),
                vec!["item 2: a second output for a"],
            ),
            (
                json!([call("a"), output("a"), call("a"), output("a")]),
                vec!["item 2: a second call has the id a", "item 3: a second output for a"],
            ),
            (json!([call("")]), vec!["item 0: the call of `f` has no call id"]),
        ];
        for (input, wanted) in table {
            assert_eq!(responses(input.clone()).violations(), wanted, "{input}");
        }
        let call = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
        let output = json!({"role": "tool", "tool_call_id": "a", "content": "o"});
        let user = json!({"role": "user", "content": "u"});
        assert!(chat(json!([user, call, output, user])).violations().is_empty());
        assert_eq!(
            chat(json!([call, user, output])).violations(),
            ["item 1: comes between a call and its output"]
        );
        assert_eq!(chat(json!([user, call])).violations(), ["the call a has no output"]);
        let nothing = Recorded {
            body: Value::Null,
            ..chat(json!([]))
        };
        assert_eq!(nothing.violations().len(), 1);
    }

    #[test]
    fn both_languages_are_understood() {
        let recorded = responses(json!([
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]},
            {"role": "user", "content": "two"},
            {"type": "custom_tool_call", "call_id": "c", "name": "p", "input": "raw"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "out"}]},
        ]));
        assert_eq!(recorded.last_user_text(), "two");
        assert_eq!(recorded.input_texts(), ["one", "two", "out"]);
        assert_eq!(recorded.output("c").as_deref(), Some("out"));
        assert_eq!(recorded.calls()[0].arguments, "raw");
        assert_eq!(
            (recorded.tools(), recorded.instructions().as_str()),
            (vec!["f".to_owned()], "i")
        );
        let recorded = chat(json!([{"role": "system", "content": "s"}, {"role": "user", "content": [
            {"type": "text", "text": "u"}, {"type": "image_url", "image_url": {"url": "x"}}]}]));
        assert_eq!(
            (recorded.instructions().as_str(), recorded.last_user_text().as_str()),
            ("s", "u")
        );
    }

    #[test]
    fn the_key_is_not_shown() {
        let mut recorded = responses(json!([]));
        recorded
            .headers
            .insert("authorization".into(), "Bearer sk-secret".into());
        assert!(!recorded.to_json().to_string().contains("sk-secret"));
    }
}
