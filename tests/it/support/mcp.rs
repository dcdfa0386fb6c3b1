//! An MCP server of our own: as a program (this test binary in another role) and over HTTP. It speaks plain JSON, so that it
//! can be as wrong as any server in the world.
//!
//! What a tool does is told by its name; see [`Play::call`].

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

/// The variable that holds the script of the program.
const SCRIPT: &str = "TOOL_SERVER_SCRIPT";

/// A tool's description.
pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object", "properties": {}}})
}

/// One that says that it only reads.
pub(crate) fn reading(name: &str) -> Value {
    let mut tool = tool(name);
    tool["annotations"] = json!({"readOnlyHint": true});
    tool
}

/// The table of a program that plays this script, and whose hints the person believes.
pub(crate) fn program(name: &str, script: &Value) -> String {
    let table = distrusted(name, script);
    let env = format!("[mcp_servers.{name}.env]");
    table.replace(&env, &format!("trust_annotations = true\n{env}"))
}

/// The same of a server whose word counts for nothing.
pub(crate) fn distrusted(name: &str, script: &Value) -> String {
    let own = own_program();
    format!(
        "[mcp_servers.{name}]\ncommand = {own:?}\nargs = [\"--exact\", \"support::mcp::plays_a_tool_server\", \"--ignored\", \
         \"--nocapture\", \"--quiet\"]\n[mcp_servers.{name}.env]\n{SCRIPT} = {}\n",
        Value::from(script.to_string())
    )
}

/// This program. Where the checkout lies in a folder that commands can write, all of it would count as the server's code,
/// and it changes while tests run: then as a link that `tests/all` removes at its end.
pub(crate) fn own_program() -> PathBuf {
    let own = std::env::current_exe().expect("this program");
    if !own.starts_with(std::env::temp_dir()) {
        return own;
    }
    let about = std::fs::metadata(&own).expect("this program");
    let changed = about
        .modified()
        .expect("a time")
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    let folder = std::env::temp_dir().join(format!(
        "countersign-tool-server-{}-{}",
        about.len(),
        changed.as_nanos()
    ));
    let link = folder.join("it");
    if !link.exists() {
        let made = tempfile::tempdir().expect("a folder");
        std::fs::hard_link(&own, made.path().join("it")).expect("a link beside it");
        // Another test may have been first.
        if std::fs::rename(made.path(), &folder).is_ok() {
            let _moved = made.keep();
        }
    }
    link
}

/// The program. Prints the harness's own lines first, as real servers print banners.
#[test]
#[ignore = "a role that other tests start"]
fn plays_a_tool_server() {
    let Ok(script) = std::env::var(SCRIPT) else { return };
    let script: Value = serde_json::from_str(&script).expect("a script");
    if let Some(words) = script["stderr"].as_str() {
        writeln!(std::io::stderr(), "{words}").expect("a reader");
    }
    if let Some(code) = script["exit"].as_i64() {
        std::process::exit(i32::try_from(code).expect("a code"));
    }
    let mut play = Play::new(script);
    let mut lines = std::io::stdin().lock().lines();
    while let Some(Ok(line)) = lines.next() {
        let message: Value = serde_json::from_str(&line).expect("JSON");
        play.heard(&message);
        let mut out = std::io::stdout().lock();
        while let Some(answer) = play.out.pop_front() {
            if let Some(pause) = answer.get("sleep").and_then(Value::as_u64) {
                out.flush().expect("a reader");
                std::thread::sleep(Duration::from_millis(pause));
                continue;
            }
            writeln!(out, "{answer}").expect("a reader");
        }
        out.flush().expect("a reader");
        if let Some(code) = play.exit {
            std::process::exit(code);
        }
    }
    // Its input is closed: a server that does not mind stays.
    if play.script["stays"] == true {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    std::process::exit(0);
}

/// A server in mid-conversation.
struct Play {
    script: Value,
    tools: Vec<Value>,
    /// To be sent.
    out: VecDeque<Value>,
    exit: Option<i32>,
    /// The call that waits for the person.
    asking: Option<Value>,
}

impl Play {
    fn new(script: Value) -> Self {
        let tools = script["tools"].as_array().cloned().unwrap_or_default();
        Self {
            script,
            tools,
            out: VecDeque::new(),
            exit: None,
            asking: None,
        }
    }

    fn answer(&mut self, id: &Value, result: Value) {
        self.out
            .push_back(json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn refuse(&mut self, id: &Value, code: i64, message: &str) {
        self.out
            .push_back(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.out
            .push_back(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn heard(&mut self, message: &Value) {
        if let Some(log) = self.script["log"].as_str() {
            let mut file = std::fs::File::options()
                .create(true)
                .append(true)
                .open(log)
                .expect("a log");
            writeln!(file, "{message}").expect("room");
        }
        let id = &message["id"];
        let params = &message["params"];
        match message["method"].as_str() {
            Some("initialize") => {
                if self.script["never"] == true {
                    return;
                }
                if let Some(words) = self.script["refuses"].as_str() {
                    let error = json!({"code": -32602, "message": words});
                    self.out.push_back(json!({"jsonrpc": "2.0", "id": id, "error": error}));
                    return;
                }
                if let Some(pause) = self.script["slowMs"].as_u64() {
                    self.out.push_back(json!({"sleep": pause}));
                }
                let mut capabilities = json!({"tools": {"listChanged": true}});
                if self.script["resources"].is_array() {
                    capabilities["resources"] = json!({});
                }
                let result = json!({
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": capabilities,
                    "serverInfo": {"name": "played", "version": "1"},
                });
                self.answer(id, result);
            }
            Some("tools/list") => {
                let tools = self.tools.clone();
                self.page(id, params, "tools", &tools);
                if self.script["alwaysChanging"] == true {
                    self.notify("notifications/tools/list_changed", json!({}));
                }
            }
            Some("resources/list") if self.script["hangingResources"] == true => {}
            Some("resources/list") => {
                let all = self.script["resources"].as_array().cloned().unwrap_or_default();
                self.page(id, params, "resources", &all);
            }
            Some("resources/templates/list") => {
                let all = self.script["templates"].as_array().cloned().unwrap_or_default();
                self.page(id, params, "resourceTemplates", &all);
            }
            Some("resources/read") => match &self.script["contents"] {
                Value::Object(contents) => match contents.get(params["uri"].as_str().unwrap_or_default()) {
                    Some(part) => {
                        let part = part.clone();
                        self.answer(id, json!({"contents": [part]}));
                    }
                    None => self.refuse(id, -32002, "no such resource"),
                },
                _ => self.refuse(id, -32601, "no resources"),
            },
            Some("tools/call") => self.call(id, params),
            Some("ping") => self.answer(id, json!({})),
            Some(method) if id.is_null() => drop(method.to_owned()),
            Some(_) => self.refuse(id, -32601, "no such method"),
            // An answer to what we asked.
            None => {
                if let Some(call) = self.asking.take() {
                    let text = json!({"id": id, "result": message["result"], "error": message["error"]}).to_string();
                    self.answer(&call, json!({"content": [{"type": "text", "text": text}]}));
                }
            }
        }
    }

    fn page(&mut self, id: &Value, params: &Value, key: &str, all: &[Value]) {
        let size = self.script["page"].as_u64().map_or(usize::MAX, |size| size as usize);
        let start: usize = params["cursor"]
            .as_str()
            .map_or(0_usize, |cursor| cursor.parse().expect("our cursor"));
        let end = all.len().min(start.saturating_add(size));
        let mut result = json!({ key: all[start..end] });
        if end < all.len() {
            result["nextCursor"] = end.to_string().into();
        }
        self.answer(id, result);
    }

    /// What each tool does.
    fn call(&mut self, id: &Value, params: &Value) {
        let text = |text: String| json!({"content": [{"type": "text", "text": text}]});
        let arguments = &params["arguments"];
        let result = match params["name"].as_str().unwrap_or_default() {
            "structured" => json!({"content": [{"type": "text", "text": "plain"}], "structuredContent": {"sum": 3}}),
            "null_structured" => json!({"content": [{"type": "text", "text": "plain"}], "structuredContent": null}),
            "fail" => json!({"content": [{"type": "text", "text": "it went wrong"}], "isError": true}),
            "odd" => json!({"content": [{"type": "hologram", "data": 7}, {"type": "text", "text": "seen"}]}),
            "image" => json!({"content": [
                {"type": "text", "text": "a dot"},
                {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            ]}),
            "large" => text("x".repeat(300_000)),
            "refuse" => return self.refuse(id, -32000, "not today"),
            "crash" => {
                self.exit = Some(3);
                return;
            }
            "hang" => return,
            // Writes for as long as it can, and reads nothing any more. An id that is `true` is another one each time.
            "flood" => {
                let mut out = std::io::stdout().lock();
                let mut message = arguments["message"].clone();
                let is_request = message["id"] == true;
                for number in 0_u64.. {
                    if is_request {
                        message["id"] = number.into();
                    }
                    if writeln!(out, "{message}").is_err() {
                        std::process::exit(0);
                    }
                }
                return;
            }
            "progress" => {
                let token = &params["_meta"]["progressToken"].clone();
                for at in 1..=3 {
                    let params =
                        json!({"progressToken": token, "progress": at, "total": 3, "message": format!("step {at}")});
                    self.notify("notifications/progress", params);
                }
                text("done".to_owned())
            }
            "ask" => {
                self.asking = Some(id.clone());
                let mut question = json!({"jsonrpc": "2.0", "id": arguments["id"], "method": "elicitation/create"});
                question["params"] = arguments["params"].clone();
                self.out.push_back(question);
                return;
            }
            "env" => text(
                serde_json::to_string(&std::env::vars().collect::<std::collections::BTreeMap<_, _>>()).expect("JSON"),
            ),
            "connect" => {
                let address = arguments["address"].as_str().expect("an address");
                match std::net::TcpStream::connect(address) {
                    Ok(_) => text("connected".to_owned()),
                    Err(error) => text(format!("refused: {error}")),
                }
            }
            "child" => {
                let mut child = std::process::Command::new("setsid")
                    .args(["sleep", "1000"])
                    .stdin(std::process::Stdio::null())
                    .stdout(std::process::Stdio::null())
                    .spawn()
                    .expect("a child");
                let answer = json!([std::process::id(), child.id()]).to_string();
                // Nobody waits for it: it is to be ended with the server.
                drop(std::thread::spawn(move || child.wait()));
                text(answer)
            }
            "write_file" => {
                let path = arguments["path"].as_str().expect("a path");
                std::fs::write(path, "changed by the server\n").expect("written");
                text("written".to_owned())
            }
            "pid" => text(std::process::id().to_string()),
            // Its tools are others from now on, or once that time is over.
            "become" => {
                self.answer(id, text("it is so".to_owned()));
                if let Some(pause) = arguments["sleep"].as_u64() {
                    self.out.push_back(json!({"sleep": pause}));
                }
                self.tools = arguments["tools"].as_array().cloned().unwrap_or_default();
                return self.notify("notifications/tools/list_changed", json!({}));
            }
            "say" => arguments["result"].clone(),
            "add_tool" => {
                self.tools.push(reading("added"));
                self.notify("notifications/tools/list_changed", json!({}));
                text("added".to_owned())
            }
            name => text(format!("{name} {arguments}")),
        };
        self.answer(id, result);
    }
}

/// A server over streamable HTTP.
pub(crate) struct Web {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    play: Arc<Mutex<Play>>,
    session: Arc<AtomicUsize>,
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

#[derive(Clone)]
struct WebState {
    script: Value,
    seen: Arc<Mutex<Vec<Seen>>>,
    play: Arc<Mutex<Play>>,
    /// The number of the session that it knows.
    session: Arc<AtomicUsize>,
}

impl Web {
    /// Serves a script. `token` is the bearer token that it wants, if it wants one.
    pub(crate) async fn start(script: Value) -> Self {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let url = format!("http://{}/mcp/", listener.local_addr().expect("an address"));
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let session = Arc::new(AtomicUsize::new(1));
        let play = Arc::new(Mutex::new(Play::new(script.clone())));
        let state = WebState {
            session: session.clone(),
            play: play.clone(),
            script,
            seen: seen.clone(),
        };
        let app = Router::new().fallback(answer).with_state(state);
        // On a thread of its own: it answers also while a test waits for the end of a server.
        let listener = listener.into_std().expect("a listener");
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                axum::serve(listener, app).await
            })
        });
        Self {
            url,
            seen,
            play,
            session,
        }
    }

    /// As if it had been started again: it has forgotten the session. `lost` in the script says how it answers to that.
    pub(crate) fn restart(&self) {
        self.session.fetch_add(1, Ordering::SeqCst);
    }

    /// The same, and it comes back as another.
    pub(crate) fn restart_as(&self, script: Value) {
        *self.play.lock().expect("whole") = Play::new(script);
        self.restart();
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("whole").clone()
    }
}

async fn answer(
    State(state): State<WebState>,
    method: Method,
    uri: axum::http::Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    // Where one signs in to it, for those who ask as they should.
    if let Some(issuer) = state.script["issuer"].as_str()
        && uri.path() == "/.well-known/oauth-protected-resource/mcp"
    {
        let host = headers["host"].to_str().expect("a text");
        let resource = format!("http://{host}/mcp/");
        let described = json!({"resource": resource, "authorization_servers": [issuer], "scopes_supported": ["read"]});
        return ([("content-type", "application/json")], described.to_string()).into_response();
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    state.seen.lock().expect("whole").push(Seen {
        method: method.clone(),
        headers: headers.clone(),
        body: message.clone(),
    });
    if let Some(token) = state.script["token"].as_str()
        && headers.get("authorization").and_then(|value| value.to_str().ok()) != Some(&format!("Bearer {token}"))
    {
        return (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")], "").into_response();
    }
    let failing = message["method"].as_str().map(|method| &state.script["status"][method]);
    if let Some(status) = failing.and_then(Value::as_u64) {
        let status = StatusCode::from_u16(u16::try_from(status).expect("small")).expect("a status");
        return (status, "<html>a page</html>").into_response();
    }
    if method == Method::GET {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if method == Method::DELETE {
        return StatusCode::NO_CONTENT.into_response();
    }
    let known = format!("session-{}", state.session.load(Ordering::SeqCst));
    if message["method"] != "initialize" && headers.get("mcp-session-id").is_none_or(|id| *id != known) {
        return match state.script["lost"].as_str() {
            None => StatusCode::NOT_FOUND.into_response(),
            Some("words") => (StatusCode::BAD_REQUEST, "Invalid session ID").into_response(),
            Some(words) => {
                let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": words}});
                let json = [("content-type", "application/json")];
                (StatusCode::BAD_REQUEST, json, error.to_string()).into_response()
            }
        };
    }
    let answers: Vec<Value> = {
        let mut play = state.play.lock().expect("whole");
        play.heard(&message);
        play.out
            .drain(..)
            .filter(|answer| answer.get("sleep").is_none())
            .collect()
    };
    let session = [("mcp-session-id", known)];
    match answers.as_slice() {
        [] if message["id"].is_null() => (StatusCode::ACCEPTED, session).into_response(),
        // It never answers.
        [] => std::future::pending().await,
        [one] => (session, [("content-type", "application/json")], one.to_string()).into_response(),
        many => {
            let events: String = many.iter().map(|one| format!("data: {one}\n\n")).collect();
            (session, [("content-type", "text/event-stream")], events).into_response()
        }
    }
}
