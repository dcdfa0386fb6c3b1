//! The request: the history of items becomes messages.
//!
//! The messages are strict where items are not: the outputs of calls follow at once on the one assistant message that
//! holds the calls. So everything that the model says between two inputs is gathered into one assistant message, and
//! images in outputs, which a `tool` message cannot hold, follow as a message of the person's side.

use super::kept::{INSISTED_ON, Kept, Origin, insists};
use super::shape::Shape;
use crate::model::item::{ContentPart, ReasoningPart, ResponseItem, ToolOutputPayload, ToolSpec};
use crate::model::{ModelRequest, catalogue, wire};
use serde_json::{Map, Value, json};

/// Letters of the longest name of a call at OpenAI.
const OPENAIS_LONGEST_ID: usize = 40;

/// The body of one request. `openai`: the provider is OpenAI itself, which knows names that others refuse.
///
/// # Errors
/// It cannot be written as JSON.
pub(in crate::model) fn body(request: &ModelRequest, to: &Origin, openai: bool) -> Result<Vec<u8>, serde_json::Error> {
    let shape = Shape::of(&request.model, to.is_near(), openai);
    let mut body = json!({
        "model": request.model,
        "messages": shape.shaped(messages(request, to, openai)),
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if let Value::Object(body) = &mut body {
        optional_parts(request, openai, body);
    }
    serde_json::to_vec(&body)
}

fn optional_parts(request: &ModelRequest, openai: bool, body: &mut Map<String, Value>) {
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().filter_map(tool).collect());
        body.insert(
            "tool_choice".into(),
            json!(if request.may_call() { "auto" } else { "none" }),
        );
        body.insert("parallel_tool_calls".into(), json!(request.parallel_tool_calls));
    }
    if let Some(effort) = &request.effort
        && catalogue::takes_reasoning(&request.model, Some(effort))
    {
        body.insert("reasoning_effort".into(), json!(effort));
    }
    if let Some(verbosity) = request
        .verbosity
        .as_ref()
        .filter(|_| catalogue::takes_verbosity(&request.model))
    {
        body.insert("verbosity".into(), json!(verbosity));
    }
    if let Some(schema) = &request.output_schema {
        let schema = json!({"name": "final_answer", "strict": true, "schema": schema});
        body.insert(
            "response_format".into(),
            json!({"type": "json_schema", "json_schema": schema}),
        );
    }
    if let Some(most) = request.max_output_tokens {
        let name = if openai { "max_completion_tokens" } else { "max_tokens" };
        body.insert(name.into(), json!(most));
    }
    if let Some(tier) = &request.service_tier {
        body.insert("service_tier".into(), json!(tier));
    }
    if !request.metadata.is_empty() {
        body.insert("metadata".into(), json!(request.metadata));
    }
    if openai {
        body.insert("store".into(), json!(request.store));
        body.insert("prompt_cache_key".into(), json!(request.cache_key));
    }
}

/// This API has no free-form tools: their text goes through one parameter. What providers do themselves it has not at all.
fn tool(tool: &ToolSpec) -> Option<Value> {
    Some(match tool {
        ToolSpec::WebSearch { .. } => return None,
        ToolSpec::Function {
            name,
            description,
            strict,
            parameters,
        } => {
            let mut function = json!({"name": name, "description": description, "parameters": parameters});
            // Templates put all of it into the prompt, and false is the default.
            if *strict {
                function["strict"] = json!(true);
            }
            json!({"type": "function", "function": function})
        }
        ToolSpec::Custom { name, description, .. } => {
            let parameters = wire::text_parameter();
            json!({"type": "function", "function": {
                "name": name, "description": description, "parameters": parameters}})
        }
    })
}

/// The messages so far, and what is being gathered.
#[derive(Default)]
struct Messages {
    done: Vec<Value>,
    text: String,
    reasoning: String,
    /// The server insists on the thoughts of this message if it holds calls, and on no others.
    reasoning_of_calls: String,
    /// It has insisted somewhere: a message with calls must not be without thoughts.
    insists: bool,
    /// Fields that the server wants back with the message, and with the next call.
    extra: Map<String, Value>,
    extra_of_call: Map<String, Value>,
    calls: Vec<Value>,
    /// Images out of tool outputs, until the outputs are through.
    images: Vec<Value>,
    /// Letters of the longest name of a call that is taken.
    longest_id: usize,
}

fn messages(request: &ModelRequest, to: &Origin, openai: bool) -> Vec<Value> {
    let system_role = |role: &str| matches!(role, "developer" | "system");
    let mut system = vec![request.instructions.as_str().to_owned()];
    let mut input = request.input.as_slice();
    // Many chat templates take one system message, at the beginning.
    while let [item @ ResponseItem::Message { role, .. }, rest @ ..] = input
        && system_role(role)
    {
        system.push(item.text());
        input = rest;
    }
    system.retain(|text| !text.trim().is_empty());
    let sealed = |item: &ResponseItem| match item {
        ResponseItem::Reasoning {
            encrypted_content: Some(sealed),
            ..
        } => insists(sealed, to),
        _ => false,
    };
    let mut messages = Messages {
        insists: input.iter().any(sealed),
        longest_id: if openai { OPENAIS_LONGEST_ID } else { usize::MAX },
        ..Messages::default()
    };
    if !system.is_empty() {
        messages
            .done
            .push(json!({"role": "system", "content": system.join("\n\n")}));
    }
    let last_user = input
        .iter()
        .rposition(|item| matches!(item, ResponseItem::Message { role, .. } if role == "user"))
        .unwrap_or(0);
    for (index, item) in input.iter().enumerate() {
        match item {
            ResponseItem::Message { role, .. } if role == "assistant" => messages.say(&item.text()),
            ResponseItem::Message { role, content, .. } => {
                let content = content_of(content);
                messages.flush();
                match (role.as_str(), content) {
                    ("developer", content) if openai => messages.push("developer", content),
                    // The templates of many models refuse a system message that is not the first.
                    ("developer" | "system", Value::String(text)) if !openai && !text.is_empty() => {
                        messages.push("user", json!(wire::system_note(&text)));
                    }
                    ("developer" | "system", content) => messages.push("system", content),
                    (_, content) => messages.push("user", content),
                }
            }
            ResponseItem::Reasoning {
                content,
                summary,
                encrypted_content,
                ..
            } => {
                let sealed = encrypted_content.as_deref();
                let kept = sealed.and_then(|sealed| Kept::open(sealed, to));
                let Kept {
                    thoughts,
                    message,
                    call,
                } = kept.unwrap_or_default();
                messages.extra.extend(message);
                messages.extra_of_call.extend(call);
                let text = reasoning_text(content.as_deref().unwrap_or(summary));
                match thoughts.as_deref() {
                    Some(INSISTED_ON) => messages.reasoning_of_calls.push_str(&text),
                    Some("") => {}
                    // Only within the turn that runs: earlier thoughts are no business of the model any more.
                    _ if index > last_user => messages.reasoning.push_str(&text),
                    _ => {}
                }
            }
            ResponseItem::FunctionCall {
                name,
                arguments,
                call_id,
                ..
            } => {
                messages.call(call_id, name, &wire::valid_arguments(arguments));
            }
            ResponseItem::CustomToolCall {
                name, input, call_id, ..
            } => {
                messages.call(call_id, name, &json!({ "input": input }).to_string());
            }
            ResponseItem::LocalShellCall { action, .. } => {
                let arguments = serde_json::to_string(action).unwrap_or_else(|_| "{}".to_owned());
                messages.call(item.call_id().unwrap_or_default(), "local_shell", &arguments);
            }
            ResponseItem::FunctionCallOutput { call_id, output }
            | ResponseItem::CustomToolCallOutput { call_id, output } => messages.output(call_id, output),
            ResponseItem::LocalShellCallOutput { call_id, output } => {
                messages.output(call_id, &ToolOutputPayload::Text(output.clone()));
            }
            ResponseItem::WebSearchCall { .. } | ResponseItem::Other => {}
        }
    }
    messages.flush();
    messages.done
}

impl Messages {
    fn say(&mut self, text: &str) {
        self.flush_images();
        if text.is_empty() || self.text == text || self.text.ends_with(&format!("\n\n{text}")) {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }

    fn call(&mut self, call_id: &str, name: &str, arguments: &str) {
        self.flush_images();
        let function = json!({"name": name, "arguments": arguments});
        let call_id = wire::bounded_id(call_id, self.longest_id);
        let mut call = json!({"id": call_id, "type": "function", "function": function});
        if let Value::Object(call) = &mut call {
            call.append(&mut self.extra_of_call);
        }
        self.calls.push(call);
    }

    fn output(&mut self, call_id: &str, output: &ToolOutputPayload) {
        self.flush_assistant();
        let text = match output {
            ToolOutputPayload::Text(text) => text.clone(),
            ToolOutputPayload::Parts(parts) => {
                self.images.extend(parts.iter().filter_map(image));
                parts
                    .iter()
                    .filter_map(ContentPart::text)
                    .collect::<Vec<_>>()
                    .join("\n")
            }
        };
        let text = if text.is_empty() && !self.images.is_empty() {
            "See the image below.".to_owned()
        } else {
            text
        };
        let call_id = wire::bounded_id(call_id, self.longest_id);
        self.done
            .push(json!({"role": "tool", "tool_call_id": call_id, "content": text}));
    }

    fn push(&mut self, role: &str, content: Value) {
        if content != json!("") {
            self.done.push(json!({"role": role, "content": content}));
        }
    }

    fn flush(&mut self) {
        self.flush_assistant();
        self.flush_images();
    }

    fn flush_assistant(&mut self) {
        let (text, calls) = (std::mem::take(&mut self.text), std::mem::take(&mut self.calls));
        let reasoning = std::mem::take(&mut self.reasoning);
        let mut insisted_on = std::mem::take(&mut self.reasoning_of_calls);
        let mut extra = std::mem::take(&mut self.extra);
        // The call that it was for is not there.
        self.extra_of_call.clear();
        if text.is_empty() && calls.is_empty() {
            return;
        }
        let content = if text.is_empty() { Value::Null } else { json!(text) };
        let mut message = json!({"role": "assistant", "content": content});
        if !reasoning.is_empty() {
            message["reasoning"] = json!(reasoning);
        }
        if !calls.is_empty() {
            if self.insists {
                if insisted_on.is_empty() {
                    // Nothing at all is refused, too.
                    insisted_on.push(' ');
                }
                message[INSISTED_ON] = json!(insisted_on);
            }
            message["tool_calls"] = json!(calls);
            if let Value::Object(message) = &mut message {
                message.append(&mut extra);
            }
        }
        self.done.push(message);
    }

    fn flush_images(&mut self) {
        if !self.images.is_empty() {
            let content = std::mem::take(&mut self.images);
            self.done.push(json!({"role": "user", "content": content}));
        }
    }
}

fn image(part: &ContentPart) -> Option<Value> {
    let ContentPart::InputImage { image_url } = part else {
        return None;
    };
    Some(json!({"type": "image_url", "image_url": {"url": image_url}}))
}

/// One text, or parts where there are images.
fn content_of(content: &[ContentPart]) -> Value {
    if content
        .iter()
        .any(|part| matches!(part, ContentPart::InputImage { .. }))
    {
        let part = |part| image(part).or_else(|| Some(json!({"type": "text", "text": part.text()?})));
        return content.iter().filter_map(part).collect();
    }
    json!(
        content
            .iter()
            .filter_map(ContentPart::text)
            .collect::<Vec<_>>()
            .join("\n")
    )
}

fn reasoning_text(parts: &[ReasoningPart]) -> String {
    let text = |part: &ReasoningPart| match part {
        ReasoningPart::SummaryText { text } | ReasoningPart::ReasoningText { text } | ReasoningPart::Text { text } => {
            Some(text.clone())
        }
        ReasoningPart::Other => None,
    };
    parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::item::samples::{call, output};
    use crate::protocol::settings::ReasoningSummary;
    use std::sync::Arc;

    fn at(server: &str, model: &str) -> Origin {
        Origin {
            server: server.to_owned(),
            model: model.to_owned(),
        }
    }

    fn request(input: Vec<ResponseItem>) -> ModelRequest {
        ModelRequest {
            model: "some-model".into(),
            instructions: "Be brief.".into(),
            input: Arc::new(input),
            parallel_tool_calls: true,
            summary: ReasoningSummary::Auto,
            cache_key: "thread-1".into(),
            metadata: Default::default(),
            turn_id: "turn-1".into(),
            ..ModelRequest::default()
        }
    }

    fn text(text: &str) -> ContentPart {
        ContentPart::OutputText { text: text.into() }
    }

    /// Shows S-209.
    #[test]
    fn calls_and_their_outputs_stand_as_the_messages_demand() {
        let thought = |text: &str| ResponseItem::Reasoning {
            id: None,
            summary: vec![],
            content: Some(vec![ReasoningPart::ReasoningText { text: text.into() }]),
            encrypted_content: None,
        };
        let image = ContentPart::InputImage {
            image_url: "data:,x".into(),
        };
        let sent = messages(
            &request(vec![
                ResponseItem::developer("Rules."),
                ResponseItem::user("one"),
                thought("old thought"),
                ResponseItem::assistant("fine"),
                ResponseItem::user("two"),
                thought("new thought"),
                ResponseItem::assistant("I look."),
                call("a", "{}"),
                ResponseItem::assistant("And more."),
                call("b", "{broken"),
                output("a", vec![image, text("pic")]),
                output("b", vec![text("x"), text("y")]),
                ResponseItem::CustomToolCall {
                    id: None,
                    call_id: "c".into(),
                    name: "p".into(),
                    input: "raw".into(),
                },
                ResponseItem::CustomToolCallOutput {
                    call_id: "c".into(),
                    output: ToolOutputPayload::Text("ok".into()),
                },
                ResponseItem::assistant("Done."),
                ResponseItem::assistant("Done."),
                ResponseItem::developer("Later rule."),
                ResponseItem::Other,
            ]),
            &at("a.example", "some-model"),
            false,
        );
        let function = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        assert_eq!(
            json!(sent),
            json!([
                {"role": "system", "content": "Be brief.\n\nRules."},
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": "fine"},
                {"role": "user", "content": "two"},
                {"role": "assistant", "content": "I look.\n\nAnd more.", "reasoning": "new thought", "tool_calls": [
                    function("a", "f", "{}"), function("b", "f", r#"{"invalid_arguments":"{broken"}"#)]},
                {"role": "tool", "tool_call_id": "a", "content": "pic"},
                {"role": "tool", "tool_call_id": "b", "content": "x\ny"},
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,x"}}]},
                {"role": "assistant", "content": null, "tool_calls": [function("c", "p", r#"{"input":"raw"}"#)]},
                {"role": "tool", "tool_call_id": "c", "content": "ok"},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "<system-note>\nLater rule.\n</system-note>"},
            ])
        );
    }

    /// What servers insist on getting back: thoughts under their name, also of earlier turns where calls came of them, seals of
    /// calls and of messages; and nobody else is sent any of it.
    ///
    /// Shows S-209.
    #[test]
    fn what_a_server_wants_back_goes_back_to_it_alone() {
        let kept = |text: Option<&str>, kept: Kept| ResponseItem::Reasoning {
            id: None,
            summary: vec![],
            content: text.map(|text| vec![ReasoningPart::ReasoningText { text: text.into() }]),
            encrypted_content: kept.seal(&at("a.example", "some-model")),
        };
        let thought = |text: &str| {
            let thoughts = Some(INSISTED_ON.to_owned());
            kept(
                Some(text),
                Kept {
                    thoughts,
                    ..Kept::default()
                },
            )
        };
        let fields = |value: Value| value.as_object().cloned().expect("an object");
        let of_call = fields(json!({"extra_content": {"google": {"thought_signature": "s"}}}));
        let of_message = fields(json!({"reasoning_details": [{"data": "d"}]}));
        let request = request(vec![
            ResponseItem::user("one"),
            call("early", "{}"),
            output("early", vec![text("o")]),
            thought("why"),
            call("a", "{}"),
            output("a", vec![text("x")]),
            thought("no call comes of it"),
            ResponseItem::assistant("fine"),
            ResponseItem::user("two"),
            kept(
                Some("parts"),
                Kept {
                    thoughts: Some(String::new()),
                    ..Kept::default()
                },
            ),
            kept(
                None,
                Kept {
                    message: of_message,
                    ..Kept::default()
                },
            ),
            kept(
                None,
                Kept {
                    call: of_call,
                    ..Kept::default()
                },
            ),
            call("b", "{}"),
            call("c", "{}"),
            output("b", vec![text("y")]),
            output("c", vec![text("z")]),
        ]);
        let function = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
        let with = |mut value: Value, more: Value| {
            value.as_object_mut().expect("an object").extend(fields(more));
            value
        };
        let assistant = |calls: Value| json!({"role": "assistant", "content": null, "tool_calls": calls});
        let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
        let signed = with(
            function("b"),
            json!({"extra_content": {"google": {"thought_signature": "s"}}}),
        );
        assert_eq!(
            json!(messages(&request, &at("a.example", "some-model"), false)[1..]),
            json!([
                {"role": "user", "content": "one"},
                with(assistant(json!([function("early")])), json!({"reasoning_content": " "})),
                result("early", "o"),
                with(assistant(json!([function("a")])), json!({"reasoning_content": "why"})),
                result("a", "x"),
                {"role": "assistant", "content": "fine"},
                {"role": "user", "content": "two"},
                with(
                    assistant(json!([signed, function("c")])),
                    json!({"reasoning_content": " ", "reasoning_details": [{"data": "d"}]})
                ),
                result("b", "y"),
                result("c", "z"),
            ])
        );
        // Another model of the same server insists as well, and nobody else is told of it.
        let sent = |server: &str| json!(messages(&request, &at(server, "another-model"), false)).to_string();
        for word in ["reasoning", "extra_content", "why", "parts"] {
            let sent = sent("b.example").replace("a.example", "");
            assert!(!sent.contains(word), "{word}: {sent}");
        }
        let padded = sent("a.example");
        assert_eq!(padded.matches(r#""reasoning_content":" ""#).count(), 3, "{padded}");
        assert!(!padded.contains("why") && !padded.contains("extra_content"), "{padded}");
    }

    #[test]
    fn options_take_the_names_that_the_provider_knows() {
        let mut request = request(vec![ResponseItem::user("x")]);
        request.max_output_tokens = Some(7);
        request.effort = Some("low".into());
        request.output_schema = Some(json!({"type": "object"}));
        request.tools = vec![ToolSpec::Custom {
            name: "p".into(),
            description: "d".into(),
            format: json!({}),
        }];
        let sent = |openai| {
            serde_json::from_slice::<Value>(&body(&request, &at("a.example", "some-model"), openai).expect("ok"))
                .expect("JSON")
        };
        let (theirs, others) = (sent(true), sent(false));
        assert_eq!(
            (&theirs["max_completion_tokens"], theirs.get("max_tokens")),
            (&json!(7), None)
        );
        assert_eq!(
            (&others["max_tokens"], others.get("max_completion_tokens")),
            (&json!(7), None)
        );
        assert_eq!(
            (theirs["prompt_cache_key"].as_str(), others.get("prompt_cache_key")),
            (Some("thread-1"), None)
        );
        assert_eq!(others["reasoning_effort"], "low");
        assert_eq!(
            others["response_format"]["json_schema"]["schema"],
            json!({"type": "object"})
        );
        assert_eq!(
            others["tools"][0]["function"]["parameters"]["required"],
            json!(["input"])
        );
        assert_eq!(others["stream_options"], json!({"include_usage": true}));
    }
}
