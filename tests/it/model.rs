//! The model client against real HTTP: the rehearsal server, and raw sockets for shapes that no server would send.

mod errors;
mod local;
mod networks;
mod providers;
mod rehearsal;
mod stream;
mod wires;

use countersign::config::provider::{Provider, WireApi};
use countersign::model::item::{ContentPart, ReasoningPart, ResponseItem, ToolOutputPayload, ToolSpec};
use countersign::model::retry::Retry;
use countersign::model::{ErrorKind, ModelClient, ModelError, ModelEvent, ModelRequest, catalogue};
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
