//! The model client against real HTTP: the rehearsal server, and raw sockets for shapes that no server would send.

use countersign::config::provider::{Provider, WireApi};
use countersign::model::item::{ContentPart, ReasoningPart, ResponseItem, ToolOutputPayload, ToolSpec};
use countersign::model::retry::Retry;
use countersign::model::{ErrorKind, ModelClient, ModelError, ModelEvent, ModelRequest, catalogue, local};
use countersign::protocol::settings::ReasoningSummary;
use countersign::protocol::turn::TurnErrorKind;
use countersign::rehearsal::{Running, Script, Server};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Far more than anything here takes, far less than for ever.
const LIMIT: Duration = Duration::from_secs(30);

const BOTH: [WireApi; 2] = [WireApi::Responses, WireApi::Chat];

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.expect("it does not hang")
}

async fn rehearse(script: Value) -> Running {
    let script = Script::from_json(&script).expect("a script");
    Server::start(script, ([127, 0, 0, 1], 0).into())
        .await
        .expect("a free port")
}

fn provider(base_url: &str, wire_api: WireApi) -> Provider {
    Provider {
        name: "Acme".into(),
        base_url: base_url.into(),
        wire_api,
        request_max_retries: 2,
        stream_max_retries: 2,
        stream_idle_timeout_ms: 20_000,
        ..Default::default()
    }
}

fn client(base_url: &str, wire_api: WireApi) -> ModelClient {
    ModelClient::new(&provider(base_url, wire_api), None, &ModelClient::user_agent())
}

fn request(input: Vec<ResponseItem>) -> ModelRequest {
    let function = |name: &str| ToolSpec::Function {
        name: name.into(),
        description: "A tool.".into(),
        strict: false,
        parameters: json!({"type": "object"}),
    };
    ModelRequest {
        model: "rehearsal".into(),
        instructions: "Be brief.".into(),
        input: Arc::new(input),
        tools: vec![
            function("shell"),
            ToolSpec::Custom {
                name: "apply_patch".into(),
                description: "Patches.".into(),
                format: json!({"type": "text"}),
            },
        ],
        parallel_tool_calls: true,
        summary: ReasoningSummary::Auto,
        cache_key: "thread-1".into(),
        metadata: Default::default(),
        turn_id: "turn-1".into(),
        ..ModelRequest::default()
    }
}

fn ask() -> ModelRequest {
    request(vec![ResponseItem::user("hello")])
}

/// Everything that a request gives, and whether the promises of the stream were kept.
#[derive(Debug, Default)]
struct Heard {
    events: Vec<ModelEvent>,
    error: Option<ModelError>,
    skipped: u64,
}

impl Heard {
    /// All text deltas.
    fn text(&self) -> String {
        self.deltas(|event| match event {
            ModelEvent::TextDelta { delta, .. } => Some(delta),
            _ => None,
        })
    }

    fn thoughts(&self) -> String {
        self.deltas(|event| match event {
            ModelEvent::ReasoningSummaryDelta { delta, .. } | ModelEvent::ReasoningDelta { delta, .. } => Some(delta),
            _ => None,
        })
    }

    fn deltas<'a>(&'a self, pick: impl FnMut(&'a ModelEvent) -> Option<&'a String>) -> String {
        self.events.iter().filter_map(pick).cloned().collect()
    }

    fn done(&self) -> Vec<&ResponseItem> {
        let mut items = Vec::new();
        for event in &self.events {
            if let ModelEvent::ItemDone(item) = event {
                items.push(item);
            }
        }
        items
    }

    /// The finished items, in short: `message:text`, `call:name:arguments`.
    fn short(&self) -> Vec<String> {
        let short = |item: &&ResponseItem| match item {
            ResponseItem::Message { .. } => format!("message:{}", item.text()),
            ResponseItem::FunctionCall { name, arguments, .. } => format!("call:{name}:{arguments}"),
            ResponseItem::CustomToolCall { name, input, .. } => format!("custom:{name}:{input}"),
            ResponseItem::Reasoning { summary, content, .. } => {
                let text = |part: &ReasoningPart| match part {
                    ReasoningPart::SummaryText { text } | ReasoningPart::ReasoningText { text } => text.clone(),
                    other => format!("{other:?}"),
                };
                format!(
                    "thought:{}",
                    summary
                        .iter()
                        .chain(content.iter().flatten())
                        .map(text)
                        .collect::<String>()
                )
            }
            other => format!("{other:?}"),
        };
        self.done().iter().map(short).collect()
    }

    fn completed(&self) -> bool {
        matches!(self.events.last(), Some(ModelEvent::Completed { .. }))
    }

    fn kind(&self) -> &ErrorKind {
        &self
            .error
            .as_ref()
            .unwrap_or_else(|| panic!("an error after {:?}", self.events))
            .kind
    }

    /// The promises of `countersign::model`.
    fn check(&self) {
        let mut open: Vec<String> = Vec::new();
        let mut closed: Vec<String> = Vec::new();
        let mut calls: Vec<String> = Vec::new();
        for (index, event) in self.events.iter().enumerate() {
            match event {
                ModelEvent::ItemAdded(item) => {
                    let id = item.id().unwrap_or("local shell").to_owned();
                    assert!(
                        !open.contains(&id) && !closed.contains(&id),
                        "{id} is added twice: {:?}",
                        self.events
                    );
                    open.push(id);
                }
                ModelEvent::TextDelta { item_id, .. }
                | ModelEvent::ReasoningDelta { item_id, .. }
                | ModelEvent::ReasoningSummaryDelta { item_id, .. } => {
                    assert!(open.contains(item_id), "{item_id} is not open: {:?}", self.events);
                }
                ModelEvent::ItemDone(item) => {
                    let id = item.id().unwrap_or("local shell").to_owned();
                    let at = open.iter().position(|open| *open == id);
                    open.remove(at.unwrap_or_else(|| panic!("{id} is not open: {:?}", self.events)));
                    closed.push(id);
                    if let Some(call_id) = item.call_id() {
                        assert!(!calls.contains(&call_id.to_owned()), "{call_id} is used twice");
                        calls.push(call_id.to_owned());
                    }
                }
                ModelEvent::Completed { .. } => assert_eq!(index + 1, self.events.len(), "it is the last"),
                ModelEvent::Created | ModelEvent::RateLimits(_) => {}
            }
        }
        assert_ne!(self.completed(), self.error.is_some(), "one ending: {self:?}");
    }
}

async fn hear(client: &ModelClient, request: &ModelRequest) -> Heard {
    let mut heard = Heard::default();
    let opened = within(client.stream(request)).await;
    let mut stream = match opened {
        Ok(stream) => stream,
        Err(error) => {
            return Heard {
                error: Some(error),
                ..heard
            };
        }
    };
    while let Some(event) = within(stream.next()).await {
        match event {
            Ok(event) => heard.events.push(event),
            Err(error) => heard.error = Some(error),
        }
    }
    heard.skipped = stream.skipped();
    heard.check();
    heard
}

/// Reads one HTTP request off a connection; false if there is none.
async fn read_request(stream: &mut TcpStream) -> bool {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 65536];
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return false,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(0, |length| length.trim().parse().expect("a length"));
        if bytes.len() >= end + 4 + length {
            return true;
        }
    }
}

/// What a raw server does with a connection after it has read the request.
#[derive(Clone)]
struct Raw {
    content_type: &'static str,
    headers: String,
    body: Vec<u8>,
    /// Bytes in one HTTP chunk.
    chunk: usize,
    /// Send the end of the body, or just close.
    clean_end: bool,
}

impl Raw {
    fn events(body: impl Into<Vec<u8>>) -> Self {
        let content_type = "text/event-stream";
        Self {
            content_type,
            headers: String::new(),
            body: body.into(),
            chunk: usize::MAX,
            clean_end: true,
        }
    }

    /// Serves every connection in the same way; gives the base URL.
    async fn serve(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let raw = self.clone();
                tokio::spawn(async move {
                    if read_request(&mut stream).await {
                        // The client may have gone away in the middle, which is part of some tests.
                        let _ = raw.answer(&mut stream).await;
                    }
                });
            }
        });
        format!("http://{address}/v1")
    }

    async fn answer(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let Self {
            content_type, headers, ..
        } = self;
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n{headers}transfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        for chunk in self.body.chunks(self.chunk) {
            stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
            stream.write_all(chunk).await?;
            stream.write_all(b"\r\n").await?;
        }
        if self.clean_end {
            stream.write_all(b"0\r\n\r\n").await?;
        }
        stream.shutdown().await
    }
}

/// What the client hears of a body.
async fn hear_raw(raw: Raw, wire_api: WireApi) -> Heard {
    let base_url = raw.serve().await;
    hear(&client(&base_url, wire_api), &ask()).await
}

/// A stream of events without `event:` lines.
fn stream_of(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

async fn hear_events(events: &[Value]) -> Heard {
    hear_raw(Raw::events(stream_of(events)), WireApi::Responses).await
}

async fn hear_chunks(chunks: &[Value]) -> Heard {
    hear_raw(Raw::events(stream_of(chunks) + "data: [DONE]\n\n"), WireApi::Chat).await
}

fn message_done(text: &str) -> Value {
    json!({"type": "response.output_item.done", "item": {
        "type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"id": "r"}})
}

#[tokio::test]
async fn byte_level_shapes_of_a_stream_all_say_the_same() {
    let added = json!({"type": "response.output_item.added", "output_index": 0,
        "item": {"type": "message", "id": "m", "role": "assistant", "content": []}});
    let delta = |text: &str| json!({"type": "response.output_text.delta", "item_id": "m", "delta": text});
    let events = [
        json!({"type": "response.created"}),
        added,
        delta("häß"),
        delta("lich 🦀"),
        message_done("häßlich 🦀"),
        completed(),
    ];
    let lf = stream_of(&events);
    let with_names: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    let wrong_names: String = events
        .iter()
        .map(|event| format!("event: message\ndata: {event}\n\n"))
        .collect();
    let in_lines: String = events
        .iter()
        .map(|event| {
            serde_json::to_string_pretty(event)
                .unwrap()
                .lines()
                .map(|line| format!("data: {line}\n"))
                .collect::<String>()
                + "\n"
        })
        .collect();
    let with_noise = format!(
        ": hello\n\nretry: 5\n\ndata: [DONE]\n\ndata: {{\"type\": \"never.heard.of\", \"delta\": 5}}\n\n{}data: [DONE]\n\n",
        lf.replace("\n\n", "\n\n: keep-alive\n\nid: 7\n")
    );
    let shapes = [
        lf.clone(),
        lf.replace('\n', "\r\n"),
        lf.replace('\n', "\r"),
        format!("\u{feff}{lf}"),
        format!("\u{feff}{}", lf.replace('\n', "\r")),
        format!("\n\n  \n{lf}"),
        lf.replace("data: ", "data:"),
        with_names.clone(),
        with_names.replace('\n', "\r\n"),
        wrong_names,
        in_lines,
        with_noise,
        lf.trim_end().to_owned(),
    ];
    for shape in shapes {
        for chunk in [usize::MAX, 1, 3, 7] {
            let heard = hear_raw(
                Raw {
                    chunk,
                    ..Raw::events(shape.clone())
                },
                WireApi::Responses,
            )
            .await;
            assert_eq!(heard.text(), "häßlich 🦀", "{shape:?} in chunks of {chunk}");
            assert_eq!(heard.short(), ["message:häßlich 🦀"], "{shape:?}");
            assert!(heard.completed(), "{shape:?}");
            assert_eq!(heard.skipped, 0, "{shape:?}");
        }
    }
}

#[tokio::test]
async fn events_that_cannot_be_read_are_skipped_and_counted() {
    let body = format!(
        "data: {{\"type\": \"response.output_text.delta\", \"delta\": \n\ndata: rubbish\n\ndata: [1]\n\n{}",
        stream_of(&[
            json!({"type": "response.output_text.delta"}),
            json!({"type": "response.output_text.delta", "delta": 5}),
            json!({"type": "response.output_item.done"}),
            json!({"type": "response.output_item.done", "item": 5}),
            json!({"type": "response.output_item.done", "item": {"type": "unheard_of", "id": "x"}}),
            message_done("fine"),
            completed(),
        ])
    );
    let body = body.replace("\"fine\"", "\"fine\\ud83d\"");
    let heard = hear_raw(Raw::events(body), WireApi::Responses).await;
    assert_eq!(
        (heard.short(), heard.skipped),
        (vec!["message:fine\u{fffd}".to_owned()], 3)
    );
    assert!(heard.completed());
}

#[tokio::test]
async fn a_completed_event_needs_neither_id_nor_usage() {
    let usage = json!({"input_tokens": 5, "input_tokens_details": null, "output_tokens": 2, "total_tokens": 7});
    let table = [
        (json!({"type": "response.completed"}), None, None),
        (json!({"type": "response.completed", "response": null}), None, None),
        (json!({"type": "response.completed", "response": {}}), None, None),
        (
            json!({"type": "response.completed", "response": {"id": null, "usage": null}}),
            None,
            None,
        ),
        (
            json!({"type": "response.completed", "response": {"id": "r", "usage": {}}}),
            Some("r"),
            None,
        ),
        (
            json!({"type": "response.done", "response": {"id": "r", "usage": usage}}),
            Some("r"),
            Some(7),
        ),
    ];
    for (event, wanted_id, wanted_total) in table {
        let heard = hear_events(&[message_done("x"), event.clone()]).await;
        let Some(ModelEvent::Completed { response_id, usage }) = heard.events.last() else {
            panic!("{event}")
        };
        assert_eq!(
            (response_id.as_deref(), usage.map(|usage| usage.total_tokens)),
            (wanted_id, wanted_total),
            "{event}"
        );
    }
}

/// Shows S-072.
#[tokio::test]
async fn items_are_whole_whatever_the_provider_leaves_out() {
    let added = |item: Value| json!({"type": "response.output_item.added", "item": item});
    let done = |item: Value| json!({"type": "response.output_item.done", "item": item});
    let message = |id: &str, text: &str| json!({"type": "message", "id": id, "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let call = |id: &str, call_id: &str| json!({"type": "function_call", "id": id, "call_id": call_id, "name": "f", "arguments": "{}"});
    let delta = |fields: Value| {
        let mut event = json!({"type": "response.output_text.delta"});
        event
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        event
    };
    let finish = |output: Value| json!({"type": "response.completed", "response": {"id": "r", "output": output}});
    let table: Vec<(&str, Vec<Value>, Vec<&str>)> = vec![
        (
            "done without added",
            vec![done(message("a", "x")), completed()],
            vec!["message:x"],
        ),
        (
            "done without id",
            vec![
                added(json!({"type": "message"})),
                delta(json!({"delta": "x"})),
                done(json!({"type": "message", "content": "x"})),
                completed(),
            ],
            vec!["message:x"],
        ),
        (
            "deltas without id",
            vec![
                added(message("a", "")),
                delta(json!({"delta": "x"})),
                done(message("a", "x")),
                completed(),
            ],
            vec!["message:x"],
        ),
        (
            "deltas by place",
            vec![
                json!({"type": "response.output_item.added", "output_index": 0, "item": message("a", "")}),
                json!({"type": "response.output_item.added", "output_index": 1, "item": message("b", "")}),
                delta(json!({"delta": "1", "output_index": 0})),
                delta(json!({"delta": "2", "output_index": 1})),
                completed(),
            ],
            vec!["message:1", "message:2"],
        ),
        (
            "deltas alone",
            vec![delta(json!({"delta": "x"})), delta(json!({"delta": "y"})), completed()],
            vec!["message:xy"],
        ),
        (
            "a new id in each delta",
            vec![
                added(message("a", "")),
                delta(json!({"delta": "x", "item_id": "q"})),
                delta(json!({"delta": "y", "item_id": "s"})),
                done(message("a", "xy")),
                completed(),
            ],
            vec!["message:xy"],
        ),
        (
            "another id when done",
            vec![
                added(message("a", "")),
                delta(json!({"delta": "x", "item_id": "a"})),
                done(message("b", "x")),
                completed(),
            ],
            vec!["message:x"],
        ),
        (
            "only in the closing event",
            vec![finish(json!([message("a", "x"), call("b", "c1")]))],
            vec!["message:x", "call:f:{}"],
        ),
        (
            "again in the closing event",
            vec![
                done(message("a", "x")),
                done(call("b", "c1")),
                finish(json!([message("z", "x"), call("y", "c1")])),
            ],
            vec!["message:x", "call:f:{}"],
        ),
        (
            "done twice",
            vec![
                done(message("a", "x")),
                done(message("a", "x")),
                done(call("b", "c1")),
                done(call("b", "c1")),
                completed(),
            ],
            vec!["message:x", "call:f:{}"],
        ),
        (
            "one id for all",
            vec![done(call("a", "c1")), done(call("a", "c2")), completed()],
            vec!["call:f:{}", "call:f:{}"],
        ),
        (
            "empty ids",
            vec![done(call("", "")), done(call("", "")), completed()],
            vec!["call:f:{}", "call:f:{}"],
        ),
        (
            "one call id for all",
            vec![done(call("a", "c")), done(call("b", "c")), completed()],
            vec!["call:f:{}", "call:f:{}"],
        ),
        (
            "arguments only in deltas",
            vec![
                added(json!({"type": "function_call", "id": "a", "call_id": "c", "name": "f"})),
                json!({"type": "response.function_call_arguments.delta", "item_id": "a", "delta": "{\"x\""}),
                json!({"type": "response.function_call_arguments.delta", "item_id": "a", "delta": ":1}"}),
                done(json!({"type": "function_call", "id": "a", "call_id": "c", "arguments": ""})),
                completed(),
            ],
            vec!["call:f:{\"x\":1}"],
        ),
        (
            "a call that never was done",
            vec![
                added(json!({"type": "function_call", "id": "a", "call_id": "c", "name": "f"})),
                json!({"type": "response.function_call_arguments.done", "item_id": "a", "arguments": "{}"}),
                completed(),
            ],
            vec!["call:f:{}"],
        ),
        (
            "half a call",
            vec![
                added(json!({"type": "function_call", "id": "a", "call_id": "c", "name": "f"})),
                json!({"type": "response.function_call_arguments.delta", "item_id": "a", "delta": "{"}),
                completed(),
            ],
            vec![],
        ),
        (
            "outputs are not the model's to say",
            vec![
                done(json!({"type": "function_call_output", "call_id": "c", "output": "x"})),
                done(json!({"type": "no_such_item", "id": "n"})),
                done(message("a", "x")),
                completed(),
            ],
            vec!["message:x"],
        ),
        (
            "a refusal",
            vec![
                added(message("a", "")),
                json!({"type": "response.refusal.delta", "item_id": "a", "delta": "I won't."}),
                done(json!({"type": "message", "id": "a", "content": [{"type": "refusal", "refusal": "I won't."}]})),
                completed(),
            ],
            vec!["message:I won't."],
        ),
        (
            "after completed",
            vec![
                done(message("a", "x")),
                completed(),
                done(message("b", "y")),
                json!({"type": "error"}),
            ],
            vec!["message:x"],
        ),
        (
            "reasoning of both kinds",
            vec![
                json!({"type": "response.reasoning_summary_text.delta", "item_id": "a", "summary_index": 0, "delta": "s"}),
                json!({"type": "response.reasoning_text.delta", "item_id": "a", "content_index": 0, "delta": "r"}),
                done(json!({"type": "reasoning", "id": "a", "summary": [], "encrypted_content": "e"})),
                completed(),
            ],
            vec!["thought:sr"],
        ),
    ];
    for (name, events, wanted) in table {
        let heard = hear_events(&events).await;
        assert_eq!(heard.short(), wanted, "{name}");
        assert!(heard.completed(), "{name}");
        for item in heard.done() {
            assert!(item.id().is_some_and(|id| !id.is_empty()), "{name}");
            assert!(item.call_id().is_none_or(|id| !id.is_empty()), "{name}");
        }
    }
}

#[tokio::test]
async fn a_local_shell_call_keeps_the_ids_that_it_has() {
    let call = |id: Value, call_id: Value| {
        json!({"type": "response.output_item.done", "item": {"type": "local_shell_call", "id": id, "call_id": call_id,
            "status": "completed", "action": {"type": "exec", "command": ["ls"]}}})
    };
    for (id, call_id, wanted) in [
        (json!("i"), json!("c"), Some("c")),
        (json!("i"), json!(null), Some("i")),
        (json!(""), json!(null), None),
    ] {
        let heard = hear_events(&[call(id, call_id), completed()]).await;
        assert_eq!(heard.done()[0].call_id(), wanted);
    }
}

#[tokio::test]
async fn ids_of_the_history_are_not_given_again() {
    let server = rehearse(json!({"steps": [{"repeat": true, "outputs": [
        {"say": "hi", "id": "m1"}, {"call": {"tool": "shell", "id": "c1"}}]}]}))
    .await;
    for wire_api in BOTH {
        let client = client(&server.base_url, wire_api);
        let first = hear(&client, &ask()).await;
        let mut history = vec![ResponseItem::user("hello")];
        history.extend(first.done().into_iter().cloned());
        let call_id = first.done()[1].call_id().expect("an id").to_owned();
        assert_eq!(call_id, "c1");
        history.push(ResponseItem::FunctionCallOutput {
            call_id,
            output: ToolOutputPayload::Text("ok".into()),
        });
        let second = hear(&client, &request(history)).await;
        assert_eq!(second.short(), first.short());
        for (old, new) in first.done().iter().zip(second.done()) {
            assert_ne!(old.id(), new.id());
        }
        assert_ne!(second.done()[1].call_id(), Some("c1"));
    }
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn failures_within_a_stream_keep_their_words() {
    let failed =
        |code: &str| json!({"type": "response.failed", "response": {"error": {"code": code, "message": "the words"}}});
    let table = [
        (
            json!({"type": "error", "error": {"type": "server_error", "message": "the words"}}),
            TurnErrorKind::ServerError,
        ),
        (
            json!({"type": "error", "code": "server_error", "message": "the words", "param": null}),
            TurnErrorKind::ServerError,
        ),
        (json!({"error": {"message": "the words"}}), TurnErrorKind::ServerError),
        (json!({"error": "the words"}), TurnErrorKind::ServerError),
        (failed("server_error"), TurnErrorKind::ServerError),
        (failed("context_length_exceeded"), TurnErrorKind::ContextWindowExceeded),
        (failed("insufficient_quota"), TurnErrorKind::UsageLimitExceeded),
        (failed("invalid_prompt"), TurnErrorKind::BadRequest),
        (failed("server_is_overloaded"), TurnErrorKind::ServerOverloaded),
        (failed("slow_down"), TurnErrorKind::RateLimitExceeded),
        (failed("rate_limit_exceeded"), TurnErrorKind::RateLimitExceeded),
        (
            json!({"type": "response.completed", "response": {"status": "failed", "error": {"message": "the words"}}}),
            TurnErrorKind::ServerError,
        ),
    ];
    for (event, wanted) in table {
        let heard = hear_events(&[
            json!({"type": "response.created"}),
            message_done("before"),
            event.clone(),
        ])
        .await;
        let error = heard.error.as_ref().expect("an error").turn_error();
        assert_eq!(error.kind, wanted, "{event}");
        assert!(error.message.contains("the words"), "{event} {error:?}");
        assert_eq!(heard.short(), ["message:before"], "what was finished stays");
    }
    let incomplete =
        json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}});
    let delta = json!({"type": "response.output_text.delta", "item_id": "m", "delta": "cut sh"});
    let heard = hear_events(&[delta, incomplete]).await;
    assert_eq!(
        heard.kind(),
        &ErrorKind::Incomplete {
            reason: "max_output_tokens".into()
        }
    );
    assert_eq!(heard.short(), ["message:cut sh"]);
}

#[tokio::test]
async fn bodies_that_are_no_event_stream() {
    let document = json!({"id": "r", "object": "response", "status": "completed", "output": [
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "whole"}]}]});
    let completion = json!({"id": "r", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "whole"}}]});
    let error = json!({"error": {"message": "the words", "code": "insufficient_quota"}});
    for content_type in ["application/json", "text/event-stream", "text/html", ""] {
        for wire_api in BOTH {
            let say = async |body: String| {
                hear_raw(
                    Raw {
                        content_type,
                        chunk: 5,
                        ..Raw::events(body)
                    },
                    wire_api,
                )
                .await
            };
            let whole = if wire_api == WireApi::Chat {
                &completion
            } else {
                &document
            };
            assert_eq!(
                say(whole.to_string()).await.short(),
                ["message:whole"],
                "{content_type}"
            );
            assert!(
                matches!(say(error.to_string()).await.kind(), ErrorKind::UsageLimit { message, .. } if message == "the words")
            );
            let page = say("<!doctype html><title>Sign in</title><body>…".to_owned()).await;
            assert!(
                matches!(page.kind(), ErrorKind::Protocol { reason } if reason.contains("Sign in")),
                "{page:?}"
            );
            assert!(matches!(say(String::new()).await.kind(), ErrorKind::StreamEnded { .. }));
            assert!(matches!(
                say(" \n ".to_owned()).await.kind(),
                ErrorKind::StreamEnded { .. }
            ));
            assert!(matches!(
                say("{\"id\": ".to_owned()).await.kind(),
                ErrorKind::StreamEnded { .. }
            ));
            assert!(matches!(
                say("{\"a\": 1}".to_owned()).await.kind(),
                ErrorKind::Protocol { .. }
            ));
            assert!(matches!(
                say("just words".to_owned()).await.kind(),
                ErrorKind::StreamEnded { .. }
            ));
        }
    }
}

/// A gzip file of stored blocks.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & 0u32.wrapping_sub(crc & 1));
        }
    }
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let length = u16::try_from(bytes.len()).expect("small");
    file.push(1);
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(&(!length).to_le_bytes());
    file.extend_from_slice(bytes);
    file.extend_from_slice(&(!crc).to_le_bytes());
    file.extend_from_slice(&u32::from(length).to_le_bytes());
    file
}

#[tokio::test]
async fn a_compressed_stream_is_read() {
    let body = gzip(stream_of(&[message_done("packed"), completed()]).as_bytes());
    let raw = Raw {
        headers: "content-encoding: gzip\r\n".into(),
        chunk: 11,
        ..Raw::events(body)
    };
    assert_eq!(hear_raw(raw, WireApi::Responses).await.short(), ["message:packed"]);
}

#[tokio::test]
async fn an_event_beyond_all_bounds_is_refused() {
    let mut body = b"data: ".to_vec();
    body.resize(17 * 1024 * 1024, b'x');
    let heard = hear_raw(
        Raw {
            chunk: 1 << 20,
            ..Raw::events(body)
        },
        WireApi::Responses,
    )
    .await;
    assert!(
        matches!(heard.kind(), ErrorKind::Protocol { reason } if reason.contains("larger")),
        "{heard:?}"
    );
}

#[tokio::test]
async fn a_stream_that_is_cut_is_an_error_and_keeps_what_was_finished() {
    let server = rehearse(json!({"steps": [{"repeat": true, "outputs": [
        {"say": "done"}, {"say": "not do", "partial": true}, {"drop": true}]}]}))
    .await;
    for wire_api in BOTH {
        let heard = hear(&client(&server.base_url, wire_api), &ask()).await;
        assert_eq!(heard.text(), "donenot do");
        assert!(
            matches!(heard.kind(), ErrorKind::StreamEnded { reason: Some(_) }),
            "{heard:?}"
        );
        assert_eq!(
            heard.error.as_ref().expect("an error").turn_error().kind,
            TurnErrorKind::StreamDisconnected
        );
    }
    let clean = rehearse(json!([[{"say": "done"}, {"no_completed": true}]])).await;
    let heard = hear(&client(&clean.base_url, WireApi::Responses), &ask()).await;
    assert_eq!(heard.short(), ["message:done"]);
    assert_eq!(heard.kind(), &ErrorKind::StreamEnded { reason: None });
}

#[tokio::test]
async fn silence_has_a_limit_and_comments_are_silence() {
    let server = rehearse(json!({"steps": [
        {"outputs": [{"say": "half", "partial": true}, {"stall": true}]},
        {"outputs": [{"stall": true}]}]}))
    .await;
    let impatient = Provider {
        stream_idle_timeout_ms: 300,
        ..provider(&server.base_url, WireApi::Responses)
    };
    let client = ModelClient::new(&impatient, None, "test");
    let heard = hear(&client, &ask()).await;
    assert_eq!(
        (heard.text().as_str(), heard.kind()),
        (
            "half",
            &ErrorKind::Idle {
                limit: Duration::from_millis(300)
            }
        )
    );
    let heard = hear(&client, &ask()).await;
    assert_eq!(
        (heard.events.len(), heard.kind()),
        (
            0,
            &ErrorKind::Idle {
                limit: Duration::from_millis(300)
            }
        )
    );

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        read_request(&mut stream).await;
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            .await;
        while stream.write_all(b": keep-alive\n\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let impatient = Provider {
        stream_idle_timeout_ms: 300,
        ..provider(&base_url, WireApi::Responses)
    };
    let heard = hear(&ModelClient::new(&impatient, None, "test"), &ask()).await;
    assert!(matches!(heard.kind(), ErrorKind::Idle { .. }), "{heard:?}");
}

#[tokio::test]
async fn a_stream_that_is_dropped_closes_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        read_request(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let event = stream_of(&[json!({"type": "response.created"})]);
        stream
            .write_all(format!("{head}{event}").as_bytes())
            .await
            .expect("sent");
        let mut rest = Vec::new();
        // Ends when the client closes; a reset is an end too.
        let _ = stream.read_to_end(&mut rest).await;
    });
    let client = client(&base_url, WireApi::Responses);
    let mut stream = within(client.stream(&ask())).await.expect("a stream");
    assert_eq!(
        within(stream.next()).await.expect("an event").expect("no error"),
        ModelEvent::Created
    );
    drop(stream);
    within(server).await.expect("the connection was closed");
}

#[tokio::test]
async fn connections_are_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let accepted = Arc::new(AtomicUsize::new(0));
    let answered = Arc::new(tokio::sync::Semaphore::new(0));
    tokio::spawn({
        let (accepted, answered) = (accepted.clone(), answered.clone());
        async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                let answered = answered.clone();
                tokio::spawn(async move {
                    while read_request(&mut stream).await {
                        let body = stream_of(&[message_done("x"), completed()]);
                        let head =
                            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                        let _ = stream
                            .write_all(format!("{head}{:x}\r\n{body}\r\n", body.len()).as_bytes())
                            .await;
                        // The end comes by itself, as it does from servers.
                        tokio::task::yield_now().await;
                        let _ = stream.write_all(b"0\r\n\r\n").await;
                        answered.add_permits(1);
                    }
                });
            }
        }
    });
    let client = client(&base_url, WireApi::Responses);
    // The connection goes back to the pool a moment after the answer, so not each request must find it there.
    for number in 1..=50 {
        assert!(hear(&client, &ask()).await.completed());
        within(answered.acquire()).await.expect("answered").forget();
        if accepted.load(Ordering::SeqCst) < number {
            return;
        }
    }
    panic!("each request had a connection of its own");
}

/// Shows S-217.
#[tokio::test]
async fn answers_with_an_error_status() {
    let fail = |fail: Value| json!([[{ "fail": fail }]]);
    let table = [
        (
            json!({"status": 401, "body": {"error": {"message": "bad key"}}}),
            TurnErrorKind::Unauthorized,
            None,
        ),
        (
            json!({"status": 404, "body": {"error": {"message": "x", "code": "model_not_found"}}}),
            TurnErrorKind::ModelNotFound,
            None,
        ),
        (
            json!({"status": 400, "body": {"error": {"message": "x", "code": "context_length_exceeded"}}}),
            TurnErrorKind::ContextWindowExceeded,
            None,
        ),
        (json!({"status": 400}), TurnErrorKind::BadRequest, None),
        (
            json!({"status": 429, "retry_after": 3}),
            TurnErrorKind::RateLimitExceeded,
            Some(3000),
        ),
        (
            json!({"status": 429, "body": {"error": {"message": "try again in 1.5s"}}}),
            TurnErrorKind::RateLimitExceeded,
            Some(1500),
        ),
        (
            json!({"status": 503, "headers": {"retry-after-ms": "70"}}),
            TurnErrorKind::ServerError,
            Some(70),
        ),
        (
            json!({"status": 429, "body": {"error": {"type": "usage_limit_reached", "message": "x"}}}),
            TurnErrorKind::UsageLimitExceeded,
            None,
        ),
        (
            json!({"status": 302, "headers": {"location": "/elsewhere"}, "body": ""}),
            TurnErrorKind::ServerError,
            None,
        ),
    ];
    for (step, kind, delay) in table {
        for wire_api in BOTH {
            let server = rehearse(fail(step.clone())).await;
            let heard = hear(&client(&server.base_url, wire_api), &ask()).await;
            let error = heard.error.expect("an error");
            let turn_error = error.turn_error();
            assert_eq!(
                (turn_error.kind, turn_error.http_status),
                (kind, step["status"].as_u64().map(|s| s as u16)),
                "{step}"
            );
            assert!(
                turn_error.message.contains("Acme") && turn_error.message.contains(&server.base_url),
                "{turn_error:?}"
            );
            let wait = Retry::new(&provider(&server.base_url, wire_api)).next(&error);
            assert_eq!(wait.map(|wait| wait.delay.as_millis()), delay, "{step}");
            assert_eq!(server.requests().len(), 1, "the client makes one attempt");
        }
    }
}

#[tokio::test]
async fn no_connection_and_a_connection_that_breaks_are_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    drop(listener);
    let refused = hear(&client(&base_url, WireApi::Responses), &ask()).await;
    assert!(
        matches!(refused.kind(), ErrorKind::Unreachable { reason } if reason.contains("refused")),
        "{refused:?}"
    );
    let unknown = hear(&client("http://no-such-host.invalid/v1", WireApi::Responses), &ask()).await;
    assert!(
        unknown.error.is_some(),
        "a name that is not there, or a proxy that says so"
    );
    let server = rehearse(json!([[{"drop": true}]])).await;
    let broken = hear(&client(&server.base_url, WireApi::Responses), &ask()).await;
    assert!(matches!(broken.kind(), ErrorKind::Broken { .. }), "{broken:?}");
    for base_url in ["", "nonsense", "ftp://x/v1"] {
        let heard = hear(&client(base_url, WireApi::Responses), &ask()).await;
        assert!(matches!(heard.kind(), ErrorKind::Setup { .. }), "{heard:?}");
    }
}

/// Shows S-063, S-216.
#[tokio::test]
async fn without_its_key_nothing_is_sent() {
    let server = rehearse(json!([[{"say": "hi"}]])).await;
    let provider = Provider {
        env_key: Some("ACME_KEY".into()),
        env_key_instructions: Some("Ask Acme for one.".into()),
        ..provider(&server.base_url, WireApi::Responses)
    };
    for key in [None, Some(String::new()), Some("  ".to_owned())] {
        let heard = hear(&ModelClient::new(&provider, key, "test"), &ask()).await;
        let error = heard.error.expect("an error");
        assert!(
            error.message().contains("ACME_KEY") && error.message().contains("Ask Acme for one."),
            "{error}"
        );
        assert_eq!(Retry::new(&provider).next(&error), None);
    }
    assert_eq!(server.requests().len(), 0);
    let heard = hear(&ModelClient::new(&provider, Some("sk-1".into()), "test"), &ask()).await;
    assert!(heard.completed());
    assert_eq!(server.requests()[0].headers["authorization"], "Bearer sk-1");
}

/// Shows S-218, S-220.
#[tokio::test]
async fn requests_carry_what_the_provider_is_configured_with() {
    let server = rehearse(json!({"steps": [{"repeat": true, "outputs": [{"say": "hi"}]}]})).await;
    for wire_api in BOTH {
        let provider = Provider {
            query_params: [("api-version".to_owned(), "7".to_owned())].into(),
            http_headers: [("x-team".to_owned(), "blue".to_owned())].into(),
            ..provider(&server.base_url, wire_api)
        };
        let client = ModelClient::new(&provider, None, &ModelClient::user_agent())
            .with_headers([("x-from-env".to_owned(), "green".to_owned())]);
        let request = ModelRequest {
            output_schema: Some(json!({"type": "object"})),
            ..ask()
        };
        assert!(hear(&client, &request).await.completed());
        let recorded = server.requests().pop().expect("a request");
        assert_eq!(
            (
                recorded.headers["x-team"].as_str(),
                recorded.headers["x-from-env"].as_str()
            ),
            ("blue", "green")
        );
        assert_eq!(recorded.headers["user-agent"], ModelClient::user_agent());
        assert!(ModelClient::user_agent().starts_with(concat!("countersign/", env!("CARGO_PKG_VERSION"), " (")));
        assert_eq!(recorded.headers["x-client-request-id"], "turn-1");
        assert_eq!(recorded.headers["accept"], "text/event-stream");
        assert_eq!(recorded.tools(), ["shell", "apply_patch"]);
        let schema = if wire_api == WireApi::Chat {
            "/response_format/json_schema/schema"
        } else {
            "/text/format/schema"
        };
        assert_eq!(recorded.body.pointer(schema), Some(&json!({"type": "object"})));
        assert_eq!(recorded.instructions(), "Be brief.");
    }
}

#[tokio::test]
async fn limits_come_first_and_with_the_error() {
    let limits = json!({"x-codex-primary-used-percent": "12.5", "x-codex-primary-window-minutes": "300"});
    let mut with_limits = json!({"status": 429, "body": {"error": {"type": "usage_limit_reached", "message": "x"}}});
    with_limits["headers"] = limits.clone();
    let server = rehearse(json!([{"headers": limits, "outputs": [{"say": "hi"}]}, [{ "fail": with_limits }]])).await;
    let client = client(&server.base_url, WireApi::Responses);
    let heard = hear(&client, &ask()).await;
    let ModelEvent::RateLimits(limits) = &heard.events[0] else {
        panic!("{heard:?}")
    };
    assert_eq!(limits.primary.expect("a window").used_percent, 12.5);
    let heard = hear(&client, &ask()).await;
    let ErrorKind::UsageLimit {
        rate_limits: Some(limits),
        ..
    } = heard.kind()
    else {
        panic!("{heard:?}")
    };
    assert_eq!(limits.primary.expect("a window").window_minutes, Some(300));
}

/// Shows S-205, S-206, S-207.
#[tokio::test]
async fn one_script_says_the_same_over_both_apis_side_by_side() {
    let script = json!({"chunk": 3, "steps": [
        {"outputs": [
            {"think": "Let me see."},
            {"say": "I look äround."},
            {"call": {"tool": "shell", "arguments": {"command": ["ls", "-l"]}, "id": "c1"}},
            {"custom_call": {"tool": "apply_patch", "input": "*** Begin Patch\n\"quoted\"\n*** End Patch", "id": "c2"}},
            {"usage": {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 9, "reasoning_output_tokens": 3}}
        ]},
        {"when": {"output": {"c1": "two files", "c2": "patched"}}, "outputs": [{"say": "You have {{output:c1:(two) files}}."}]}
    ]});
    let play = async |wire_api| {
        let server = rehearse(script.clone()).await;
        let client = client(&server.base_url, wire_api);
        let first = hear(&client, &ask()).await;
        assert_eq!(
            first.short(),
            [
                "thought:Let me see.",
                "message:I look äround.",
                r#"call:shell:{"command":["ls","-l"]}"#,
                "custom:apply_patch:*** Begin Patch\n\"quoted\"\n*** End Patch",
            ]
        );
        assert_eq!(
            (first.thoughts().as_str(), first.text().as_str()),
            ("Let me see.", "I look äround.")
        );
        let Some(ModelEvent::Completed { usage: Some(usage), .. }) = first.events.last() else {
            panic!("{first:?}")
        };
        assert_eq!(
            (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens),
            (100, 40, 9)
        );
        assert_eq!((usage.reasoning_output_tokens, usage.total_tokens), (3, 109));

        let mut history = vec![ResponseItem::user("hello")];
        history.extend(first.done().into_iter().cloned());
        let output = |text: &str| ToolOutputPayload::Text(text.into());
        history.push(ResponseItem::FunctionCallOutput {
            call_id: "c1".into(),
            output: output("two files"),
        });
        history.push(ResponseItem::CustomToolCallOutput {
            call_id: "c2".into(),
            output: output("patched"),
        });
        let second = hear(&client, &request(history)).await;
        assert_eq!(second.short(), ["message:You have two."]);
        assert_eq!(server.violations(), Vec::<String>::new());

        let recorded = server.requests().pop().expect("a request");
        assert_eq!(recorded.calls().len(), 2);
        assert!(
            recorded.input_texts().iter().any(|text| text == "hello"),
            "the whole history goes along"
        );
        assert!(recorded.body.get("previous_response_id").is_none());
        if wire_api == WireApi::Responses {
            assert_eq!(
                (&recorded.body["store"], &recorded.body["prompt_cache_key"]),
                (&json!(false), &json!("thread-1"))
            );
            assert!(
                recorded.input().iter().all(|item| item.get("id").is_none()),
                "{}",
                recorded.body
            );
            assert!(
                recorded
                    .input()
                    .iter()
                    .any(|item| item["encrypted_content"] == "rehearsed"),
                "{}",
                recorded.body
            );
        }
    };
    tokio::join!(play(WireApi::Responses), play(WireApi::Chat));
}

/// Shows S-209.
#[tokio::test]
async fn fragments_of_chat_calls_are_put_together() {
    let delta = |delta: Value| json!({"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let call = |call: Value| delta(json!({"tool_calls": [call]}));
    let finish = |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let arguments = r#"{"a":1,"b":[true]}"#;
    let mut in_fragments = vec![
        call(json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}})),
        call(json!({"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}})),
    ];
    for fragment in arguments.as_bytes().chunks(2) {
        let fragment = std::str::from_utf8(fragment).expect("ASCII");
        for index in 0..2 {
            in_fragments.push(call(json!({"index": index, "function": {"arguments": fragment}})));
        }
    }
    assert!(in_fragments.len() >= 20);
    in_fragments.push(finish("tool_calls"));
    let whole =
        |id: &str, name: &str| json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
    let (f, g) = (format!("call:f:{arguments}"), format!("call:g:{arguments}"));
    let both = vec![f.as_str(), g.as_str()];
    let table: Vec<(&str, Vec<Value>, Vec<&str>)> = vec![
        ("by index", in_fragments, both.clone()),
        (
            "one index for all",
            vec![call(whole("c1", "f")), call(whole("c2", "g")), finish("tool_calls")],
            both.clone(),
        ),
        (
            "no index",
            vec![
                call(json!({"id": "c1", "function": {"name": "f", "arguments": arguments}})),
                call(json!({"id": "c2", "function": {"name": "g", "arguments": arguments}})),
                finish("stop"),
            ],
            both.clone(),
        ),
        (
            "no ids",
            vec![
                call(json!({"function": {"name": "f", "arguments": arguments}})),
                call(json!({"function": {"name": "g", "arguments": arguments}})),
                finish("tool_calls"),
            ],
            both.clone(),
        ),
        (
            "one chunk",
            vec![
                delta(json!({"tool_calls": [
            {"id": "c1", "function": {"name": "f", "arguments": arguments}},
            {"id": "c2", "function": {"name": "g", "arguments": arguments}}]})),
                finish("tool_calls"),
            ],
            both,
        ),
        (
            "id and name in each",
            vec![
                call(json!({"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{\"a\":1,"}})),
                call(json!({"index": 0, "id": "c1", "function": {"name": "f", "arguments": "\"b\":[true]}"}})),
                finish("tool_calls"),
            ],
            vec![&f],
        ),
        (
            "arguments as JSON",
            vec![
                call(json!({"index": 0, "id": "c1", "function": {"name": "f", "arguments": {"a": 1, "b": [true]}}})),
                finish("tool_calls"),
            ],
            vec![&f],
        ),
        (
            "the old form",
            vec![
                delta(json!({"function_call": {"name": "f", "arguments": "{\"a\":1,"}})),
                delta(json!({"function_call": {"arguments": "\"b\":[true]}"}})),
                finish("function_call"),
            ],
            vec![&f],
        ),
        (
            "a custom tool",
            vec![
                call(
                    json!({"index": 0, "id": "c", "function": {"name": "apply_patch", "arguments": "{\"input\":\"\"}"}}),
                ),
                finish("tool_calls"),
            ],
            vec!["custom:apply_patch:"],
        ),
        (
            "a custom tool called wrongly",
            vec![
                call(json!({"index": 0, "id": "c", "function": {"name": "apply_patch", "arguments": "*** Begin"}})),
                finish("tool_calls"),
            ],
            vec!["custom:apply_patch:*** Begin"],
        ),
    ];
    for (name, chunks, wanted) in table {
        let heard = hear_chunks(&chunks).await;
        assert_eq!(heard.short(), wanted, "{name}");
        assert!(heard.completed(), "{name}");
    }
}

#[tokio::test]
async fn chat_streams_in_their_shapes() {
    let delta = |delta: Value| json!({"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let finish = |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}});
    let text = || delta(json!({"content": "hi"}));
    let table = [
        (
            vec![
                delta(json!({"role": "assistant", "content": null})),
                text(),
                finish("stop"),
                usage,
            ],
            vec!["message:hi"],
        ),
        (vec![text()], vec!["message:hi"]),
        (
            vec![delta(json!({"reasoning_content": "hm"})), text(), finish("stop")],
            vec!["thought:hm", "message:hi"],
        ),
        (
            vec![delta(json!({"reasoning": "hm"})), text(), finish("stop")],
            vec!["thought:hm", "message:hi"],
        ),
        (
            vec![
                delta(json!({"reasoning": {"text": "hm"}, "content": ""})),
                text(),
                finish("stop"),
            ],
            vec!["thought:hm", "message:hi"],
        ),
        (
            vec![
                delta(json!({"reasoning": "hm", "reasoning_content": "hm"})),
                finish("stop"),
            ],
            vec!["thought:hm"],
        ),
        (
            vec![
                delta(
                    json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "hi"}]}),
                ),
                finish("stop"),
            ],
            vec!["thought:hm", "message:hi"],
        ),
        (
            vec![delta(json!({"refusal": "no"})), finish("stop")],
            vec!["message:no"],
        ),
        (vec![finish("stop")], vec![]),
    ];
    for (chunks, wanted) in table {
        let heard = hear_chunks(&chunks).await;
        assert_eq!(heard.short(), wanted, "{chunks:?}");
        assert!(heard.completed(), "{chunks:?}");
    }
    let raw = async |body: String| hear_raw(Raw::events(body), WireApi::Chat).await;
    let unmarked = raw(stream_of(&[text(), finish("stop")])).await;
    assert!(
        unmarked.completed(),
        "a missing [DONE] is forgiven once the model has finished"
    );
    let broken = raw(stream_of(&[text()])).await;
    assert!(matches!(broken.kind(), ErrorKind::StreamEnded { .. }));
    let empty = raw("data: [DONE]\n\n".to_owned()).await;
    assert!(matches!(empty.kind(), ErrorKind::StreamEnded { .. }));
    let error = raw(stream_of(&[
        text(),
        json!({"error": {"message": "the words", "code": 502}}),
    ]))
    .await;
    assert!(
        matches!(error.kind(), ErrorKind::Failed { message, .. } if message == "the words"),
        "{error:?}"
    );
    let cut_call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{\"a"}}]});
    let length = hear_chunks(&[text(), delta(cut_call), finish("length")]).await;
    assert_eq!(
        (length.short(), length.kind()),
        (
            vec!["message:hi".to_owned()],
            &ErrorKind::Incomplete {
                reason: "max_output_tokens".into()
            }
        )
    );
    let filtered = hear_chunks(&[finish("content_filter")]).await;
    assert_eq!(
        filtered.kind(),
        &ErrorKind::Incomplete {
            reason: "content_filter".into()
        }
    );
    // A server that finishes and never closes.
    let open = Raw {
        clean_end: false,
        ..Raw::events(stream_of(&[text(), finish("stop")]))
    };
    assert!(hear_raw(open, WireApi::Chat).await.completed());
}

#[tokio::test]
async fn models_are_listed() {
    let server = rehearse(json!({"models": ["m-1", "m-2"], "steps": []})).await;
    let listed = catalogue::list_remote(&client(&server.base_url, WireApi::Responses))
        .await
        .expect("a list");
    assert_eq!(
        listed.into_iter().map(|model| model.id).collect::<Vec<_>>(),
        ["m-1", "m-2"]
    );
    let nowhere = client("http://127.0.0.1:9/v1", WireApi::Responses);
    assert!(catalogue::list_remote(&nowhere).await.is_err());
}

#[tokio::test]
async fn a_local_server_is_found() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let other = Raw {
        content_type: "text/html",
        ..Raw::events("<html>my web site</html>")
    }
    .serve()
    .await;
    let embedding = rehearse(json!({"models": ["nomic-embed-text"], "steps": []})).await;
    let server = rehearse(json!({"models": ["nomic-embed-text", "qwen3:8b"], "steps": []})).await;
    let candidate = |id: &str, base_url: &str| local::Candidate {
        id: id.into(),
        name: id.to_uppercase(),
        base_url: base_url.into(),
    };
    let nobody = [
        candidate("gone", "http://127.0.0.1:9/v1"),
        candidate(
            "silent",
            &format!("http://{}/v1", silent.local_addr().expect("an address")),
        ),
        candidate("page", &other),
        candidate("embedding", &embedding.base_url),
    ];
    // More than the usual limit: this machine is slow, and what is shown is that silence ends.
    let limit = Duration::from_secs(1);
    assert_eq!(within(local::detect(&nobody, limit)).await, None);
    let mut candidates = nobody.to_vec();
    candidates.push(candidate("here", &server.base_url));
    candidates.push(candidate("also", &server.base_url));
    let found = within(local::detect(&candidates, limit)).await.expect("a server");
    assert_eq!((found.id.as_str(), found.model.as_str()), ("here", "qwen3:8b"));
    assert_eq!(
        (found.provider.base_url.as_str(), found.provider.name.as_str()),
        (server.base_url.as_str(), "HERE")
    );
    assert_eq!(found.models.len(), 2);
}

mod rehearsal {
    //! The rehearsal server as its users see it.

    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, Command, Stdio};

    #[tokio::test]
    async fn a_barrier_holds_the_answer_back() {
        let server = rehearse(
            json!([[{"hold": "before"}, {"say": "one ", "partial": true}, {"hold": "within"}, {"say": "two"}]]),
        )
        .await;
        let client = client(&server.base_url, WireApi::Responses);
        let listening = tokio::spawn(async move { hear(&client, &ask()).await });
        within(server.wait_for_requests(1)).await;
        within(server.wait_for_hold("before")).await;
        assert!(!listening.is_finished());
        server.release("before");
        within(server.wait_for_hold("within")).await;
        assert!(!listening.is_finished());
        server.release("within");
        assert_eq!(within(listening).await.expect("heard").short(), ["message:one two"]);
    }

    #[tokio::test]
    async fn requests_that_break_the_rules_are_refused() {
        let orphan = vec![ResponseItem::FunctionCallOutput {
            call_id: "c".into(),
            output: ToolOutputPayload::Text("x".into()),
        }];
        for wire_api in BOTH {
            let server = rehearse(json!({"steps": [{"outputs": [{"say": "hi"}]}]})).await;
            let heard = hear(&client(&server.base_url, wire_api), &request(orphan.clone())).await;
            assert!(
                matches!(heard.kind(), ErrorKind::BadRequest { message, .. } if message.contains("no call before it")),
                "{heard:?}"
            );
            assert_eq!(server.violations().len(), 1);
            assert!(
                hear(&client(&server.base_url, wire_api), &ask()).await.completed(),
                "the step is still to be played"
            );
            let lenient = rehearse(json!({"lenient": true, "steps": [{"outputs": [{"say": "hi"}]}]})).await;
            assert!(
                hear(&client(&lenient.base_url, wire_api), &request(orphan.clone()))
                    .await
                    .completed()
            );
            assert_eq!(lenient.violations().len(), 1);
        }
    }

    #[tokio::test]
    async fn a_request_that_nothing_fits_is_told_why() {
        let server = rehearse(json!([{"when": {"last_user": "bye"}, "outputs": [{"say": "bye"}]}])).await;
        let heard = hear(&client(&server.base_url, WireApi::Chat), &ask()).await;
        assert!(
            matches!(heard.kind(), ErrorKind::Http { status: 500, message, .. } if message.contains("does not contain \"bye\"")),
            "{heard:?}"
        );
        assert_eq!(server.requests()[0].step, None);
        let unfilled = rehearse(json!([[{"say": "{{last_output}}"}]])).await;
        let heard = hear(&client(&unfilled.base_url, WireApi::Chat), &ask()).await;
        assert!(
            matches!(heard.kind(), ErrorKind::Http { status: 500, message, .. } if message.contains("last_output")),
            "{heard:?}"
        );
    }

    #[tokio::test]
    async fn every_fault_arrives() {
        let table = [
            (json!([{"bad_event": true}, {"say": "x"}]), "completed"),
            (
                json!([{"error_event": {"type": "error", "message": "words"}}]),
                "Failed",
            ),
            (json!([{"error_event": {"error": {"message": "words"}}}]), "Failed"),
            (
                json!([{"failed": {"code": "context_length_exceeded"}}]),
                "ContextWindowExceeded",
            ),
            (json!([{"say": "x"}, {"incomplete": "max_output_tokens"}]), "Incomplete"),
            (
                json!([{"say": "x", "partial": true}, {"no_completed": true}]),
                "StreamEnded",
            ),
            (json!([{"begin": true}, {"drop": true}]), "StreamEnded"),
            (json!([{"wait_ms": 1}, {"drop": true}]), "Broken"),
            (json!([{"refuse": "I won't."}]), "completed"),
            (json!([{"raw_bytes": "data: nonsense\n\n"}, {"say": "x"}]), "completed"),
            (json!([{"usage": null}, {"say": "x"}]), "completed"),
            (json!([{"hold": "open"}, {"fail": {"status": 400}}]), "BadRequest"),
        ];
        for (outputs, wanted) in table {
            for wire_api in BOTH {
                let server = rehearse(json!([outputs])).await;
                server.release("open");
                let heard = hear(&client(&server.base_url, wire_api), &ask()).await;
                let got = match &heard.error {
                    None => "completed".to_owned(),
                    Some(error) => format!("{:?}", error.kind),
                };
                assert!(got.starts_with(wanted), "{outputs} {wire_api:?}: {got}");
            }
        }
    }

    #[tokio::test]
    async fn never_ending_answers_end_with_the_client_or_the_server() {
        let server =
            rehearse(json!({"steps": [{"repeat": true, "outputs": [{"trickle": "on and on ", "delay_ms": 1}]}]})).await;
        let client = client(&server.base_url, WireApi::Responses);
        let mut stream = within(client.stream(&ask())).await.expect("a stream");
        let mut deltas = 0;
        while deltas < 20 {
            let event = within(stream.next()).await.expect("endless").expect("no error");
            deltas += usize::from(matches!(event, ModelEvent::TextDelta { .. }));
        }
        within(server.stop()).await;
        let ended = async { while let Some(Ok(_)) = stream.next().await {} };
        within(ended).await;
    }

    /// One HTTP request by hand, whole answer.
    async fn http(base_url: &str, head: &str, body: &str) -> String {
        let address = base_url.trim_start_matches("http://").trim_end_matches("/v1");
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let request = format!(
            "{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        within(stream.read_to_string(&mut answer)).await.expect("an answer");
        answer
    }

    fn json_of(answer: &str) -> Value {
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    #[tokio::test]
    async fn answers_in_one_piece() {
        let script = json!({"steps": [{"repeat": true, "outputs": [
            {"think": "hm"}, {"say": "hi"}, {"call": {"tool": "f", "arguments": {"a": 1}, "id": "c"}}, {"usage": {"input_tokens": 1}}]}]});
        let server = rehearse(script).await;
        let responses = json_of(
            &http(
                &server.base_url,
                "POST /v1/responses",
                r#"{"model": "m", "input": "hello"}"#,
            )
            .await,
        );
        assert_eq!(
            (&responses["status"], &responses["output"][1]["content"][0]["text"]),
            (&json!("completed"), &json!("hi"))
        );
        assert_eq!(
            (
                &responses["output"][2]["arguments"],
                &responses["usage"]["total_tokens"]
            ),
            (&json!("{\"a\":1}"), &json!(1))
        );
        let chat = json_of(&http(&server.base_url, "POST /v1/chat/completions", r#"{"messages": []}"#).await);
        let message = &chat["choices"][0]["message"];
        assert_eq!(
            (&message["content"], &message["tool_calls"][0]["id"]),
            (&json!("hi"), &json!("c"))
        );
        assert_eq!(
            (&chat["choices"][0]["finish_reason"], &message["reasoning_content"]),
            (&json!("tool_calls"), &json!("hm"))
        );
    }

    #[tokio::test]
    async fn the_other_routes() {
        let server = rehearse(json!([[{"hold": "gate"}, {"say": "hi"}]])).await;
        let client = client(&server.base_url, WireApi::Responses);
        let listening = tokio::spawn(async move { hear(&client, &ask()).await });
        within(server.wait_for_hold("gate")).await;
        let listed = json_of(&http(&server.base_url, "GET /requests", "").await);
        assert_eq!(
            (&listed[0]["number"], &listed[0]["body"]["model"]),
            (&json!(1), &json!("rehearsal"))
        );
        assert!(
            http(&server.base_url, "POST /release/gate", "")
                .await
                .starts_with("HTTP/1.1 200")
        );
        assert!(within(listening).await.expect("heard").completed());
        let unknown = http(&server.base_url, "GET /v2/nothing", "").await;
        assert!(
            unknown.starts_with("HTTP/1.1 404") && unknown.contains("/v1/responses"),
            "{unknown}"
        );
        let rubbish = http(&server.base_url, "POST /v1/responses", "not json").await;
        assert!(
            rubbish.starts_with("HTTP/1.1 400") && rubbish.contains("no JSON object"),
            "{rubbish}"
        );
    }

    struct Program(Child);

    impl Drop for Program {
        fn drop(&mut self) {
            // It may have ended by itself.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn program(args: &[&std::ffi::OsStr]) -> Program {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command
            .arg("rehearse")
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Program(command.spawn().expect("the program starts"))
    }

    #[tokio::test]
    async fn the_command_serves_a_script_and_records() {
        let folder = tempfile::tempdir().expect("a folder");
        let (script, record) = (folder.path().join("script.json"), folder.path().join("requests.jsonl"));
        std::fs::write(&script, r#"{"steps": [[{"say": "from the file"}]]}"#).expect("written");
        let mut program = program(&[script.as_os_str(), "--record".as_ref(), record.as_os_str()]);
        let mut line = String::new();
        BufReader::new(program.0.stdout.take().expect("stdout"))
            .read_line(&mut line)
            .expect("a line");
        let base_url = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("{line:?}"));
        assert!(
            base_url.starts_with("http://127.0.0.1:") && base_url.ends_with("/v1"),
            "{base_url}"
        );
        let provider = Provider {
            env_key: Some("KEY".into()),
            ..provider(base_url, WireApi::Responses)
        };
        let heard = hear(&ModelClient::new(&provider, Some("sk-secret".into()), "test"), &ask()).await;
        assert_eq!(heard.short(), ["message:from the file"]);
        let recorded = std::fs::read_to_string(&record).expect("a record");
        let recorded_json: Value = serde_json::from_str(&recorded).expect("one line of JSON");
        assert_eq!(recorded_json["step"], 0);
        assert!(!recorded.contains("sk-secret"));
    }

    #[test]
    fn the_command_says_what_is_wrong() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            path.into_os_string()
        };
        let good = write("good.json", "[]");
        let here = |text: &'static str| std::ffi::OsString::from(text);
        let table = [
            (
                vec![folder.path().join("absent.json").into_os_string()],
                "cannot read the script",
            ),
            (vec![write("broken.json", "{")], "line 1, column 1"),
            (
                vec![write("wrong.json", r#"[[{"sya": "x"}]]"#)],
                "[0][0]: there is no output `sya`",
            ),
            (vec![good.clone(), here("--addr"), here("0.0.0.0:0")], "--remote"),
            (
                vec![good.clone(), here("--record"), folder.path().as_os_str().to_owned()],
                "--record",
            ),
            (
                vec![good, here("--addr"), here("203.0.113.1:1"), here("--remote")],
                "cannot listen",
            ),
        ];
        for (args, words) in table {
            let args: Vec<_> = args.iter().map(std::ffi::OsString::as_os_str).collect();
            let mut program = program(&args);
            let mut said = String::new();
            program
                .0
                .stderr
                .take()
                .expect("stderr")
                .read_to_string(&mut said)
                .expect("read");
            assert!(!program.0.wait().expect("it ends").success(), "{args:?}");
            assert!(said.contains(words), "{args:?}: {said}");
        }
    }
}

#[tokio::test]
async fn images_go_along_over_both_apis() {
    let server = rehearse(json!({"steps": [{"repeat": true, "outputs": [{"say": "seen"}]}]})).await;
    let image = ContentPart::InputImage {
        image_url: "data:image/png;base64,AA==".into(),
    };
    let input = vec![ResponseItem::Message {
        id: None,
        role: "user".into(),
        content: vec![image],
    }];
    for wire_api in BOTH {
        assert!(
            hear(&client(&server.base_url, wire_api), &request(input.clone()))
                .await
                .completed()
        );
        let body = server.requests().pop().expect("a request").body.to_string();
        assert!(body.contains("data:image/png;base64,AA=="), "{body}");
    }
}
