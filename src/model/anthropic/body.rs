//! The request: the history of items becomes messages of blocks, whose sides take turns. What a call brought stands at the
//! beginning of the message after it.

use super::{REDACTED, SIGNATURE, UNSIGNED};
use crate::model::catalogue::{self, Thinking};
use crate::model::item::{ContentPart, ReasoningPart, ResponseItem, TEXT_EDITOR, ToolOutputPayload, ToolSpec};
use crate::model::{ModelRequest, edit_tool, wire};
use serde_json::{Map, Value, json};

/// Tokens that are left for the answer beside the thoughts.
const ROOM_TO_ANSWER: u32 = 4096;
/// Searches of the web in one answer: with more it may pause in their midst, which cannot be gone on from here.
const MOST_SEARCHES: u32 = 8;
/// Stands behind the beginning of an answer that broke off: models from Claude 4.6 on refuse to be asked with their own words last.
const BROKEN_OFF: &str = "Your answer broke off here. Go on where it ended.";
/// Stands for a search that was made, with what it found.
const SEARCHED: &str = "(I searched the web here; what was found is not repeated.)";
/// What it takes for `service_tier`.
const TIERS: [&str; 2] = ["auto", "standard_only"];

/// The body of one request.
pub(in crate::model) fn body(request: &ModelRequest) -> Result<Vec<u8>, serde_json::Error> {
    let mut input = request.input.as_slice();
    let mut system = vec![request.instructions.clone()];
    while let [item @ ResponseItem::Message { role, .. }, rest @ ..] = input
        && matches!(role.as_str(), "developer" | "system")
    {
        system.push(item.text());
        input = rest;
    }
    system.retain(|text| !text.trim().is_empty());
    let most = request
        .max_output_tokens
        .unwrap_or_else(|| catalogue::output_limit(&request.model));
    let mut body = json!({
        "model": request.model,
        "max_tokens": most,
        "messages": messages(input),
        "stream": true,
    });
    if let Value::Object(body) = &mut body {
        if !system.is_empty() {
            // Tools and instructions are the same in each request of a thread, and stand before all else.
            let text = json!({"type": "text", "text": system.join("\n\n"), "cache_control": {"type": "ephemeral"}});
            body.insert("system".into(), json!([text]));
        }
        if !request.tools.is_empty() {
            let editor = edit_tool::declared_text_editor(&request.model);
            body.insert(
                "tools".into(),
                request.tools.iter().map(|spec| tool(spec, editor)).collect(),
            );
            let alone = !request.parallel_tool_calls;
            // Also where no call is wanted: another choice would make the provider read the whole conversation again, uncached
            // (Anthropic, "Prompt caching", what invalidates the cache). A summary that is a call counts as an empty one.
            body.insert(
                "tool_choice".into(),
                json!({"type": "auto", "disable_parallel_tool_use": alone}),
            );
        }
        thinking(request, most, body);
        if let Some(schema) = &request.output_schema {
            let format = json!({"type": "json_schema", "schema": schema});
            let config = body.entry("output_config").or_insert_with(|| json!({}));
            config["format"] = format;
        }
        // The setting may hold another provider's words.
        if let Some(tier) = request.service_tier.as_deref().filter(|tier| TIERS.contains(tier)) {
            body.insert("service_tier".into(), json!(tier));
        }
    }
    serde_json::to_vec(&body)
}

/// How much the model thinks, in the words that its generation knows.
fn thinking(request: &ModelRequest, most: u32, body: &mut Map<String, Value>) {
    let Some(effort) = request.effort.as_deref().filter(|effort| *effort != "none") else {
        return;
    };
    match catalogue::thinking(&request.model) {
        Thinking::None => {}
        Thinking::Adaptive => {
            let effort = if effort == "minimal" { "low" } else { effort };
            body.insert("thinking".into(), json!({"type": "adaptive", "display": "summarized"}));
            body.insert("output_config".into(), json!({"effort": effort}));
        }
        Thinking::Budget => {
            let wanted = match effort {
                "minimal" => 1024,
                "low" => 4096,
                "medium" => 10_000,
                _ => 24_000,
            };
            let budget = wanted.min(most.saturating_sub(ROOM_TO_ANSWER));
            // Less is refused.
            if budget >= 1024 {
                body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
            }
        }
    }
}

/// This API has no free-form tools: their text goes through one parameter. `editor` is the type of Claude's own tool for files, for
/// those that know it.
fn tool(tool: &ToolSpec, editor: Option<&str>) -> Value {
    match tool {
        // Its description and schema are the model's own.
        ToolSpec::Function { name, .. } if name == TEXT_EDITOR && editor.is_some() => {
            json!({"type": editor, "name": name})
        }
        ToolSpec::WebSearch { .. } => {
            json!({"type": "web_search_20250305", "name": "web_search", "max_uses": MOST_SEARCHES})
        }
        ToolSpec::Function {
            name,
            description,
            parameters,
            ..
        } => json!({"name": name, "description": description, "input_schema": parameters}),
        ToolSpec::Custom { name, description, .. } => {
            json!({"name": name, "description": description, "input_schema": wire::text_parameter()})
        }
    }
}

/// The messages so far, and the one that is being gathered.
#[derive(Default)]
struct Messages {
    done: Vec<Value>,
    role: &'static str,
    blocks: Vec<Value>,
}

impl Messages {
    fn add(&mut self, role: &'static str, block: Value) {
        if self.role != role {
            self.flush();
            self.role = role;
        }
        self.blocks.push(block);
    }

    fn text(&mut self, role: &'static str, text: &str) {
        if !text.trim().is_empty() {
            self.add(role, json!({"type": "text", "text": text}));
        }
    }

    /// Whether the model has spoken last.
    fn is_models(&self) -> bool {
        self.role == "assistant" && !self.blocks.is_empty()
    }

    fn call(&mut self, call_id: &str, name: &str, arguments: &str) {
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        let block = json!({"type": "tool_use", "id": plain_id(call_id), "name": name, "input": input});
        self.add("assistant", block);
    }

    fn output(&mut self, call_id: &str, output: &ToolOutputPayload) {
        let content = match output {
            ToolOutputPayload::Text(text) => json!(text),
            ToolOutputPayload::Parts(parts) => parts.iter().filter_map(block).collect(),
        };
        let block = json!({"type": "tool_result", "tool_use_id": plain_id(call_id), "content": content});
        self.add("user", block);
    }

    fn flush(&mut self) {
        let mut blocks = std::mem::take(&mut self.blocks);
        if blocks.is_empty() {
            return;
        }
        if self.role == "assistant" && self.done.is_empty() {
            // The person's side begins.
            self.done
                .push(json!({"role": "user", "content": "(What was said before is not here any more.)"}));
        }
        // Outputs come first, whatever was said while they were made.
        blocks.sort_by_key(|block| block["type"] != "tool_result" && self.role == "user");
        self.done.push(json!({"role": self.role, "content": blocks}));
    }
}

fn messages(input: &[ResponseItem]) -> Vec<Value> {
    let mut messages = Messages::default();
    for item in input {
        match item {
            ResponseItem::Message { role, .. } if role == "assistant" => messages.text("assistant", &item.text()),
            ResponseItem::Message { role, content, .. } if role == "user" => {
                for block in content.iter().filter_map(block) {
                    messages.add("user", block);
                }
            }
            // There is no side for it in the middle of a conversation.
            ResponseItem::Message { .. } => {
                messages.text("user", &wire::system_note(&item.text()));
            }
            ResponseItem::Reasoning {
                summary,
                content,
                encrypted_content: Some(sealed),
                ..
            } => {
                // As they were sealed. Those of turns that are over are passed over there; one that a running call stands behind
                // must not be missing, whatever the person has said meanwhile.
                let thinking = || text_of(summary) + &text_of(content.as_deref().unwrap_or_default());
                if let Some(data) = sealed.strip_prefix(REDACTED) {
                    messages.add("assistant", json!({"type": "redacted_thinking", "data": data}));
                } else if let Some(signature) = sealed.strip_prefix(SIGNATURE) {
                    let block = json!({"type": "thinking", "thinking": thinking(), "signature": signature});
                    messages.add("assistant", block);
                } else if sealed == UNSIGNED {
                    messages.add("assistant", json!({"type": "thinking", "thinking": thinking()}));
                }
            }
            ResponseItem::FunctionCall {
                name,
                arguments,
                call_id,
                ..
            } => messages.call(call_id, name, &wire::valid_arguments(arguments)),
            ResponseItem::CustomToolCall {
                name, input, call_id, ..
            } => messages.call(call_id, name, &json!({ "input": input }).to_string()),
            ResponseItem::LocalShellCall { action, .. } => {
                let arguments = serde_json::to_string(action).unwrap_or_else(|_| "{}".to_owned());
                messages.call(item.call_id().unwrap_or_default(), "local_shell", &arguments);
            }
            ResponseItem::FunctionCallOutput { call_id, output }
            | ResponseItem::CustomToolCallOutput { call_id, output } => messages.output(call_id, output),
            ResponseItem::LocalShellCallOutput { call_id, output } => {
                messages.output(call_id, &ToolOutputPayload::Text(output.clone()));
            }
            // What was found is not kept; without a word the model would think that it has yet to look.
            ResponseItem::WebSearchCall { .. } => messages.text("assistant", SEARCHED),
            ResponseItem::Reasoning { .. } | ResponseItem::Other => {}
        }
    }
    if messages.is_models() {
        messages.text("user", &wire::system_note(BROKEN_OFF));
    }
    messages.flush();
    let mut messages = messages.done;
    // All up to here is the same in the next request.
    let last = messages
        .last_mut()
        .and_then(|message| message["content"].as_array_mut()?.last_mut());
    if let Some(Value::Object(block)) = last
        && !block["type"].as_str().is_some_and(|kind| kind.contains("thinking"))
    {
        block.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
    messages
}

fn text_of(parts: &[ReasoningPart]) -> String {
    let text = |part: &ReasoningPart| match part {
        ReasoningPart::SummaryText { text } | ReasoningPart::ReasoningText { text } | ReasoningPart::Text { text } => {
            text.clone()
        }
        ReasoningPart::Other => String::new(),
    };
    parts.iter().map(text).collect()
}

fn block(part: &ContentPart) -> Option<Value> {
    let ContentPart::InputImage { image_url } = part else {
        let text = part.text().filter(|text| !text.trim().is_empty())?;
        return Some(json!({"type": "text", "text": text}));
    };
    let data = image_url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    Some(match data {
        Some((media_type, data)) => {
            let source = json!({"type": "base64", "media_type": media_type, "data": data});
            json!({"type": "image", "source": source})
        }
        None => json!({"type": "image", "source": {"type": "url", "url": image_url}}),
    })
}

/// An id as this API takes it: other providers use characters that it refuses.
fn plain_id(id: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
            c
        } else {
            '_'
        }
    };
    id.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::item::samples::{call, output};
    use std::sync::Arc;

    fn request(model: &str, input: Vec<ResponseItem>) -> ModelRequest {
        ModelRequest {
            model: model.into(),
            instructions: "Be brief.".into(),
            input: Arc::new(input),
            parallel_tool_calls: true,
            ..ModelRequest::default()
        }
    }

    fn sent(request: &ModelRequest) -> Value {
        serde_json::from_slice(&body(request).expect("serialises")).expect("is JSON")
    }

    fn thought(sealed: Option<&str>) -> ResponseItem {
        ResponseItem::Reasoning {
            id: None,
            summary: vec![ReasoningPart::SummaryText { text: "Hm".into() }],
            content: None,
            encrypted_content: sealed.map(str::to_owned),
        }
    }

    /// Claude knows its own tool for files by the type; for other models of this wire it is a function like any other.
    #[test]
    fn claudes_own_tool_is_declared_by_its_type() {
        let tools = |model: &str| {
            let mut request = request(model, vec![ResponseItem::user("hello")]);
            request.tools = vec![ToolSpec::Function {
                name: TEXT_EDITOR.into(),
                description: "d".into(),
                strict: false,
                parameters: json!({"type": "object"}),
            }];
            sent(&request)["tools"][0].take()
        };
        let declared = json!({"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"});
        assert_eq!(tools("claude-opus-4-7"), declared);
        let described = json!({"name": TEXT_EDITOR, "description": "d", "input_schema": {"type": "object"}});
        for model in ["claude-3-7-sonnet-latest", "kimi-k2"] {
            assert_eq!(tools(model), described, "{model}");
        }
    }

    #[test]
    fn sides_take_turns_and_outputs_stand_first() {
        let image = ContentPart::InputImage {
            image_url: "data:image/png;base64,AAAA".into(),
        };
        let text = |text: &str| ContentPart::InputText { text: text.into() };
        let sent = sent(&request(
            "claude-sonnet-4-5",
            vec![
                ResponseItem::developer("Rules."),
                ResponseItem::user("one"),
                thought(Some("anthropic-signature:old")),
                ResponseItem::assistant("fine"),
                ResponseItem::user("two"),
                thought(Some("anthropic-signature:sig")),
                thought(Some("anthropic-redacted:xyz")),
                thought(Some("gAAA")),
                thought(None),
                ResponseItem::assistant("I look."),
                call("a.1", "{\"x\":1}"),
                call("b", "{broken"),
                ResponseItem::developer("Meanwhile."),
                output("a.1", vec![image, text("pic"), text(" ")]),
                output("b", vec![]),
            ],
        ));
        assert_eq!(sent["system"][0]["text"], "Be brief.\n\nRules.");
        assert_eq!(
            sent["messages"],
            json!([
                {"role": "user", "content": [{"type": "text", "text": "one"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm", "signature": "old"},
                    {"type": "text", "text": "fine"},
                ]},
                {"role": "user", "content": [{"type": "text", "text": "two"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "xyz"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "a_1", "name": "f", "input": {"x": 1}},
                    {"type": "tool_use", "id": "b", "name": "f", "input": {"invalid_arguments": "{broken"}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a_1", "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                        {"type": "text", "text": "pic"}]},
                    {"type": "tool_result", "tool_use_id": "b", "content": []},
                    {"type": "text", "text": "<system-note>\nMeanwhile.\n</system-note>",
                     "cache_control": {"type": "ephemeral"}}]},
            ])
        );
    }

    #[test]
    fn thinking_is_asked_for_in_the_words_of_the_models_generation() {
        let table = [
            ("claude-3-5-sonnet-latest", Some("high"), json!([null, null])),
            ("claude-sonnet-4-5", None, json!([null, null])),
            ("claude-sonnet-4-5", Some("none"), json!([null, null])),
            (
                "claude-sonnet-4-5",
                Some("low"),
                json!([{"type": "enabled", "budget_tokens": 4096}, null]),
            ),
            (
                "anthropic/claude-opus-4-7",
                Some("high"),
                json!([{"type": "adaptive", "display": "summarized"}, {"effort": "high"}]),
            ),
            (
                "claude-opus-4-6",
                Some("minimal"),
                json!([{"type": "adaptive", "display": "summarized"}, {"effort": "low"}]),
            ),
            ("somebody-elses", Some("high"), json!([null, null])),
        ];
        for (model, effort, wanted) in table {
            let mut request = request(model, vec![ResponseItem::user("x")]);
            request.effort = effort.map(str::to_owned);
            let sent = sent(&request);
            assert_eq!(
                json!([sent.get("thinking"), sent.get("output_config")]),
                wanted,
                "{model} {effort:?}"
            );
        }
        let mut request = request("claude-sonnet-4-5", vec![ResponseItem::assistant("said before")]);
        request.max_output_tokens = Some(2000);
        request.effort = Some("high".into());
        request.output_schema = Some(json!({"type": "object"}));
        let sent = sent(&request);
        assert_eq!(
            (&sent["max_tokens"], sent.get("thinking")),
            (&json!(2000), None),
            "there is no room to think"
        );
        assert_eq!(sent["output_config"]["format"]["type"], "json_schema");
        assert_eq!(sent["messages"][0]["role"], "user");
    }
}
