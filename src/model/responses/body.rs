//! The request. Nothing is stored at the provider unless the person allows it: the whole history goes along each time, without the provider's
//! ids, which would name things it has not kept.

use crate::model::item::{ContentPart, LocalShellAction, ReasoningPart, ResponseItem, ToolOutputPayload, ToolSpec};
use crate::model::{ModelRequest, anthropic, catalogue, chat, wire};
use crate::protocol::settings::ReasoningSummary;
use crate::protocol::turn::Metadata;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Letters of the longest name of a call (OpenAI, "string too long … maximum length 64").
const LONGEST_ID: usize = 64;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    instructions: &'a str,
    input: Vec<Input<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [ToolSpec],
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    store: bool,
    stream: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    prompt_cache_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

/// A history item as it is sent.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Input<'a> {
    Message {
        role: &'a str,
        content: Vec<Part<'a>>,
    },
    Reasoning {
        summary: Vec<&'a ReasoningPart>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Vec<&'a ReasoningPart>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<&'a str>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: &'a str,
        arguments: Cow<'a, str>,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
    CustomToolCall {
        call_id: Cow<'a, str>,
        name: &'a str,
        input: &'a str,
    },
    CustomToolCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
    LocalShellCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        call_id: Option<Cow<'a, str>>,
        status: &'a str,
        action: &'a LocalShellAction,
    },
    LocalShellCallOutput {
        call_id: Cow<'a, str>,
        output: &'a str,
    },
    WebSearchCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'a str>,
        action: &'a Value,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: &'a str },
    InputImage { image_url: &'a str },
    OutputText { text: &'a str },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

/// The body of one request. `openai`: the provider is OpenAI itself, which refuses raw reasoning that it did not
/// encrypt; other servers need it back.
pub(in crate::model) fn body(request: &ModelRequest, openai: bool) -> Result<Vec<u8>, serde_json::Error> {
    let reasons = catalogue::takes_reasoning(&request.model, request.effort.as_deref());
    let has_tools = !request.tools.is_empty();
    serde_json::to_vec(&Body {
        model: &request.model,
        instructions: &request.instructions,
        input: request.input.iter().filter_map(|item| input(item, openai)).collect(),
        tools: &request.tools,
        tool_choice: has_tools.then_some(if request.may_call() { "auto" } else { "none" }),
        parallel_tool_calls: has_tools.then_some(request.parallel_tool_calls),
        reasoning: reasons.then_some(Reasoning {
            effort: request.effort.as_deref(),
            summary: match request.summary {
                ReasoningSummary::Auto => Some("auto"),
                ReasoningSummary::Concise => Some("concise"),
                ReasoningSummary::Detailed => Some("detailed"),
                ReasoningSummary::None => None,
            },
        }),
        store: request.store,
        stream: true,
        include: if reasons { &["reasoning.encrypted_content"] } else { &[] },
        prompt_cache_key: &request.cache_key,
        text: text(request),
        max_output_tokens: request.max_output_tokens,
        service_tier: request.service_tier.as_deref(),
        metadata: &request.metadata,
    })
}

/// The form of the answer and how long it is to be.
fn text(request: &ModelRequest) -> Option<Value> {
    let mut text = serde_json::Map::new();
    if let Some(schema) = &request.output_schema {
        let format = json!({"type": "json_schema", "name": "final_answer", "strict": true, "schema": schema});
        text.insert("format".into(), format);
    }
    if let Some(verbosity) = request
        .verbosity
        .as_ref()
        .filter(|_| catalogue::takes_verbosity(&request.model))
    {
        text.insert("verbosity".into(), json!(verbosity));
    }
    (!text.is_empty()).then_some(Value::Object(text))
}

fn input(item: &ResponseItem, openai: bool) -> Option<Input<'_>> {
    Some(match item {
        ResponseItem::Message { role, content, .. } => {
            let content = parts(content, role == "assistant");
            if content.is_empty() {
                return None;
            }
            Input::Message { role, content }
        }
        ResponseItem::Reasoning {
            summary,
            content,
            encrypted_content,
            ..
        } => {
            // What another API has sealed means nothing here, and some servers send an empty seal for none.
            let encrypted_content = encrypted_content
                .as_deref()
                .filter(|sealed| !sealed.trim().is_empty())
                .filter(|sealed| !anthropic::is_own_seal(sealed) && !chat::is_own_seal(sealed));
            let known = |parts: &'_ &ReasoningPart| !matches!(parts, ReasoningPart::Other);
            let content: Vec<_> = content.iter().flatten().filter(known).collect();
            let raw = encrypted_content.is_none() && !openai && !content.is_empty();
            if encrypted_content.is_none() && !raw {
                return None;
            }
            Input::Reasoning {
                summary: summary.iter().filter(known).collect(),
                content: raw.then_some(content),
                encrypted_content,
            }
        }
        ResponseItem::FunctionCall {
            name,
            arguments,
            call_id,
            ..
        } => Input::FunctionCall {
            call_id: bounded(call_id),
            name,
            // Servers that read them to fill a template refuse what is no JSON, for good.
            arguments: wire::valid_arguments(arguments),
        },
        ResponseItem::FunctionCallOutput { call_id, output } => Input::FunctionCallOutput {
            call_id: bounded(call_id),
            output: payload(output),
        },
        ResponseItem::CustomToolCall {
            call_id, name, input, ..
        } => Input::CustomToolCall {
            call_id: bounded(call_id),
            name,
            input,
        },
        ResponseItem::CustomToolCallOutput { call_id, output } => Input::CustomToolCallOutput {
            call_id: bounded(call_id),
            output: payload(output),
        },
        ResponseItem::LocalShellCall { status, action, .. } => Input::LocalShellCall {
            call_id: item.call_id().map(bounded),
            status: status.as_deref().unwrap_or("completed"),
            action,
        },
        ResponseItem::LocalShellCallOutput { call_id, output } => Input::LocalShellCallOutput {
            call_id: bounded(call_id),
            output,
        },
        ResponseItem::WebSearchCall { status, action, .. } => Input::WebSearchCall {
            status: status.as_deref(),
            action: action.as_ref()?,
        },
        ResponseItem::Other => return None,
    })
}

/// The name of a call, no longer than this API takes it.
fn bounded(call_id: &str) -> Cow<'_, str> {
    wire::bounded_id(call_id, LONGEST_ID)
}

fn payload(output: &ToolOutputPayload) -> Output<'_> {
    match output {
        ToolOutputPayload::Text(text) => Output::Text(text),
        ToolOutputPayload::Parts(content) => Output::Parts(parts(content, false)),
    }
}

/// The side that speaks decides the kind of a text, whatever a foreign rollout file called it.
fn parts(content: &[ContentPart], assistant: bool) -> Vec<Part<'_>> {
    content
        .iter()
        .filter_map(|part| match part {
            ContentPart::InputImage { .. } if assistant => None,
            ContentPart::InputImage { image_url } => Some(Part::InputImage { image_url }),
            part => {
                let text = part.text()?;
                Some(if assistant {
                    Part::OutputText { text }
                } else {
                    Part::InputText { text }
                })
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Task;
    use std::sync::Arc;

    pub(in crate::model) fn request(model: &str, input: Vec<ResponseItem>) -> ModelRequest {
        ModelRequest {
            model: model.into(),
            instructions: "Be brief.".into(),
            input: Arc::new(input),
            parallel_tool_calls: true,
            summary: ReasoningSummary::Auto,
            cache_key: "thread-1".into(),
            metadata: Metadata::new(),
            turn_id: "turn-1".into(),
            ..ModelRequest::default()
        }
    }

    fn sent(request: &ModelRequest) -> Value {
        serde_json::from_slice(&body(request, true).expect("serialises")).expect("is JSON")
    }

    #[test]
    fn a_call_and_its_output_have_a_name_that_is_taken() {
        let long = format!("call_1__thought__{}", "Q".repeat(400));
        let items = vec![
            crate::model::item::samples::call(&long, "{}"),
            crate::model::item::samples::output(&long, vec![]),
        ];
        let input = sent(&request("gpt-5", items))["input"].take();
        let name = input[0]["call_id"].as_str().expect("a name");
        assert!(name.len() <= 64 && input[1]["call_id"] == name, "{input}");
    }

    /// Shows S-207, S-208.
    #[test]
    fn nothing_is_stored_and_everything_is_sent() {
        let mut request = request("gpt-4.1", vec![ResponseItem::user("hello")]);
        assert_eq!(
            sent(&request),
            json!({
                "model": "gpt-4.1", "instructions": "Be brief.", "store": false, "stream": true,
                "prompt_cache_key": "thread-1",
                "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
            })
        );
        let parameters = json!({"type": "object"});
        request.tools = vec![
            ToolSpec::Function {
                name: "f".into(),
                description: "d".into(),
                strict: false,
                parameters: parameters.clone(),
            },
            ToolSpec::Custom {
                name: "c".into(),
                description: "d".into(),
                format: json!({"type": "text"}),
            },
        ];
        request.max_output_tokens = Some(10);
        request.verbosity = Some("low".into());
        request.output_schema = Some(json!({"type": "object"}));
        let sent = sent(&request);
        assert_eq!(
            sent["tools"],
            json!([
                {"type": "function", "name": "f", "description": "d", "strict": false, "parameters": parameters},
                {"type": "custom", "name": "c", "description": "d", "format": {"type": "text"}},
            ])
        );
        assert_eq!(
            (&sent["tool_choice"], &sent["parallel_tool_calls"]),
            (&json!("auto"), &json!(true))
        );
        request.task = Task::Compaction;
        assert_eq!(self::sent(&request)["tool_choice"], "none", "a summary is no call");
        assert_eq!(sent["max_output_tokens"], 10);
        assert_eq!(sent["text"]["format"]["schema"], json!({"type": "object"}));
        assert_eq!(sent["text"]["format"]["type"], "json_schema");
        assert_eq!(sent["text"].get("verbosity"), None, "the model does not take it");
        request.model = "gpt-5".into();
        assert_eq!(self::sent(&request)["text"]["verbosity"], "low");
    }

    /// Shows S-210.
    #[test]
    fn reasoning_is_asked_for_only_where_the_model_takes_it() {
        let mut request = request("gpt-5", vec![]);
        request.effort = Some("high".into());
        assert_eq!(
            sent(&request)["reasoning"],
            json!({"effort": "high", "summary": "auto"})
        );
        assert_eq!(sent(&request)["include"], json!(["reasoning.encrypted_content"]));
        request.summary = ReasoningSummary::None;
        request.effort = None;
        assert_eq!(sent(&request)["reasoning"], json!({}));
        request.model = "gpt-4.1".into();
        request.effort = Some("high".into());
        assert_eq!(
            (sent(&request).get("reasoning"), sent(&request).get("include")),
            (None, None)
        );
        request.model = "somebody-elses-model".into();
        assert!(
            sent(&request).get("reasoning").is_some(),
            "an effort that the person set is the person's word"
        );
        request.effort = None;
        assert_eq!(sent(&request).get("reasoning"), None);
    }

    /// Shows S-078.
    #[test]
    fn items_go_without_the_providers_ids_and_reasoning_only_where_it_is_of_use() {
        let id = Some("id_1".to_owned());
        let reasoning = |encrypted: Option<&str>| ResponseItem::Reasoning {
            id: id.clone(),
            summary: vec![ReasoningPart::SummaryText { text: "s".into() }, ReasoningPart::Other],
            content: Some(vec![ReasoningPart::ReasoningText { text: "raw".into() }]),
            encrypted_content: encrypted.map(str::to_owned),
        };
        let items = vec![
            ResponseItem::Message {
                id: id.clone(),
                role: "assistant".into(),
                content: vec![ContentPart::InputText { text: "a".into() }, ContentPart::Other],
            },
            ResponseItem::Message {
                id: id.clone(),
                role: "assistant".into(),
                content: vec![ContentPart::Other],
            },
            reasoning(Some("enc")),
            reasoning(None),
            ResponseItem::FunctionCall {
                id: id.clone(),
                name: "f".into(),
                arguments: String::new(),
                call_id: "c".into(),
            },
            reasoning(Some("")),
            ResponseItem::FunctionCall {
                id: id.clone(),
                name: "f".into(),
                arguments: "{\"a\": ".into(),
                call_id: "d".into(),
            },
            ResponseItem::FunctionCallOutput {
                call_id: "c".into(),
                output: ToolOutputPayload::Parts(vec![
                    ContentPart::OutputText { text: "t".into() },
                    ContentPart::InputImage {
                        image_url: "data:,".into(),
                    },
                ]),
            },
            ResponseItem::LocalShellCall {
                id: id.clone(),
                call_id: None,
                status: None,
                action: LocalShellAction::Exec {
                    command: vec!["ls".into()],
                    timeout_ms: None,
                    working_directory: None,
                    env: None,
                    user: None,
                },
            },
            ResponseItem::WebSearchCall {
                id,
                status: None,
                action: None,
            },
            ResponseItem::Other,
        ];
        let mut request = request("gpt-5", items);
        let wanted = json!([
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "enc"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "d", "name": "f", "arguments": "{\"invalid_arguments\":\"{\\\"a\\\": \"}"},
            {"type": "function_call_output", "call_id": "c", "output": [
                {"type": "input_text", "text": "t"}, {"type": "input_image", "image_url": "data:,"}]},
            {"type": "local_shell_call", "call_id": "id_1", "status": "completed",
             "action": {"type": "exec", "command": ["ls"]}},
        ]);
        assert_eq!(sent(&request)["input"], wanted);
        request.model = "gpt-oss:20b".into();
        let elsewhere: Value = serde_json::from_slice(&body(&request, false).expect("serialises")).expect("is JSON");
        assert_eq!(
            elsewhere["input"][2],
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}],
                   "content": [{"type": "reasoning_text", "text": "raw"}]})
        );
    }
}
