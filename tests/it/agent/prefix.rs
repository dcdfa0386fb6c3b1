//! What has been sent is sent the same again: each request begins with the bytes of the one before it, which providers then read from
//! their caches.

use super::stage::{Setting, Stage, bash, say};
use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Where a command of the script waits.
const WAIT: &str = "echo ready; until test -e go; do sleep 0.02; done";

/// A model behind the Messages API: answers one after the other, each a call of a command or words.
struct Messages {
    base_url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Messages {
    async fn start(answers: Vec<Answer>) -> Self {
        let requests: Arc<Mutex<Vec<Value>>> = Arc::default();
        let keep = requests.clone();
        let app = Router::new().fallback(async move |body: Bytes| {
            let request = serde_json::from_slice(&body).unwrap_or_default();
            let number = {
                let mut kept = keep.lock().expect("not poisoned");
                kept.push(request);
                kept.len()
            };
            let answer = answers.get(number - 1).unwrap_or(&Answer::Words("No more."));
            ([(header::CONTENT_TYPE, "text/event-stream")], answer.events(number))
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
        Self { base_url, requests }
    }
}

#[derive(Clone, Copy)]
enum Answer {
    Command(&'static str),
    Words(&'static str),
}

impl Answer {
    /// Of the rehearsal server.
    fn step(self, number: usize) -> Value {
        match self {
            Self::Command(script) => bash(&format!("c{number}"), script),
            Self::Words(words) => say(words),
        }
    }

    /// Events of the Messages API.
    fn events(self, number: usize) -> String {
        let (block, delta, reason) = match self {
            Self::Command(script) => (
                json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": "exec_command", "input": {}}),
                json!({"type": "input_json_delta", "partial_json": json!({"cmd": script}).to_string()}),
                "tool_use",
            ),
            Self::Words(words) => (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": words}),
                "end_turn",
            ),
        };
        let usage = json!({"input_tokens": 10, "output_tokens": 1});
        let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "content": [], "model": "m", "usage": usage});
        [
            json!({"type": "message_start", "message": message}),
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ]
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().expect("a type")))
        .collect()
    }
}

/// A place where requests go, and what came there.
async fn stage(wire_api: &str, answers: &[Answer], home: &Path, folder: Option<&Path>) -> (Stage, Messages) {
    let messages = Messages::start(answers.to_vec()).await;
    let steps = answers
        .iter()
        .enumerate()
        .map(|(at, answer)| json!([answer.step(at + 1)]));
    let setting = Setting {
        config: "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"".to_owned(),
        provider: format!("wire_api = \"{wire_api}\""),
        home: Some(home.to_owned()),
        folder: folder.map(Path::to_owned),
        files: vec![("AGENTS.md".to_owned(), "Be brief.\n".to_owned())],
        base_url: (wire_api == "anthropic").then(|| messages.base_url.clone()),
        ..Setting::default()
    };
    let stage = Stage::with(Value::from_iter(steps), setting).await;
    (stage, messages)
}

fn requests(stage: &Stage, messages: &Messages) -> Vec<Value> {
    let at_messages = messages.requests.lock().expect("not poisoned").clone();
    let rehearsed = stage.model.requests().into_iter().map(|request| request.body);
    at_messages.into_iter().chain(rehearsed).collect()
}

/// The parts of a request in the order in which caches see them, without the marks that say up to where one is wanted.
fn parts(request: &Value) -> Vec<String> {
    fn unmarked(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let fields = fields.iter().filter(|(key, _)| *key != "cache_control");
                fields.map(|(key, value)| (key.clone(), unmarked(value))).collect()
            }
            Value::Array(list) => list.iter().map(unmarked).collect(),
            other => other.clone(),
        }
    }
    let head = ["tools", "instructions", "system"].map(|key| unmarked(&request[key]).to_string());
    let list = request.get("input").or_else(|| request.get("messages"));
    let mut parts = head.to_vec();
    for item in list.and_then(Value::as_array).expect("a conversation") {
        let item = unmarked(item);
        let content = item["content"].as_array().filter(|_| item["role"].is_string());
        match content {
            // Messages of one side in a row are one there: what is new stands behind what was sent.
            Some(content) => parts.extend(content.iter().map(|part| format!("{} {part}", item["role"]))),
            None => parts.push(item.to_string()),
        }
    }
    parts
}

fn check(requests: &[Value], what: &str) {
    for (before, after) in requests.iter().map(parts).zip(requests[1..].iter().map(parts)) {
        assert!(before.len() < after.len(), "{what}: nothing is new");
        for (at, (old, new)) in before.iter().zip(&after).enumerate() {
            assert_eq!(old, new, "{what}: part {at} of {}", before.len());
        }
    }
}

/// Through calls, a message while a turn runs, another turn, and another server.
#[tokio::test]
async fn each_request_begins_with_the_one_before_it() {
    use Answer::{Command, Words};
    for wire_api in ["responses", "chat", "anthropic"] {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path().join("home");
        let answers = [Command(WAIT), Command("true"), Words("One."), Words("Two.")];
        let (first, messages) = stage(wire_api, &answers, &home, None).await;
        let thread = first.thread().await;
        let turn = first.start_turn(&thread, "Begin").await;
        first.until_output("ready").await;
        first.steer(&thread, &turn, "Hurry.").await.expect("taken");
        first.write("go", "");
        assert_eq!(first.finish(&turn).await.status(), "completed", "{wire_api}");
        first.complete(&thread, "Another").await;
        let mut all = requests(&first, &messages);
        assert_eq!(all.len(), 4, "{wire_api}");
        let folder = first.end();
        let dir = folder.as_ref().expect("a workspace").path().join("work");
        let dir = dir.canonicalize().expect("a path");
        let answers = [Command("true"), Words("Three.")];
        let (second, messages) = stage(wire_api, &answers, &home, Some(&dir)).await;
        second.resume(json!({"threadId": thread})).await;
        second.complete(&thread, "Once more").await;
        all.extend(requests(&second, &messages));
        assert_eq!(all.len(), 6, "{wire_api}");
        check(&all, wire_api);
    }
}

/// A summary takes the place of the conversation; tools and instructions stay, and from then on what was sent is sent the same again.
#[tokio::test]
async fn after_a_summary_requests_begin_alike_again() {
    use Answer::{Command, Words};
    for wire_api in ["responses", "chat", "anthropic"] {
        let home = tempfile::tempdir().expect("a folder");
        let answers = [
            Words("One."),
            Words("A summary."),
            Command("true"),
            Words("Two."),
            Words("Three."),
        ];
        let (stage, messages) = stage(wire_api, &answers, &home.path().join("home"), None).await;
        let thread = stage.thread().await;
        stage.complete(&thread, "Begin").await;
        let params = json!({"threadId": thread});
        stage.client.call("countersign/thread/compact", params).await;
        stage.until_event("turn/completed").await;
        stage.complete(&thread, "Go on").await;
        stage.complete(&thread, "And on").await;
        let all = requests(&stage, &messages);
        assert_eq!(all.len(), 5, "{wire_api}");
        assert_eq!(parts(&all[0])[..3], parts(&all[2])[..3], "{wire_api}");
        check(&all[2..], wire_api);
    }
}
