//! A client of the Agent Client Protocol that trusts nothing that it is told.

use countersign::rehearsal::{Running, Script, Server};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc;

/// Only ever reached by a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a request of the agent's is answered.
pub(super) type Reply = Box<dyn Fn(&Value) -> Option<Result<Value, Value>> + Send>;

pub(super) struct Acp {
    pub(super) model: Running,
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::UnboundedReceiver<String>,
    /// Held while nothing is read.
    reading: Arc<tokio::sync::Mutex<()>>,
    last_id: i64,
    replies: BTreeMap<String, Reply>,
    /// Answers that nobody has taken.
    answers: BTreeMap<i64, Result<Value, Value>>,
    /// Updates that nobody has taken, in order.
    pub(super) updates: VecDeque<Value>,
    /// Requests of the agent's, answered or not.
    pub(super) asked: Vec<Value>,
    /// Requests that the agent has taken back.
    pub(super) withdrawn: Vec<Value>,
    /// Answers to nobody.
    pub(super) strays: Vec<Value>,
    pub(super) dir: PathBuf,
    pub(super) home: PathBuf,
    folder: TempDir,
}

impl Acp {
    /// A program that has heard nothing yet.
    pub(super) async fn connect(script: Value, config: &str) -> Self {
        let script = Script::from_json(&script).unwrap_or_else(|error| panic!("{error}"));
        let model = Server::start(script, ([127, 0, 0, 1], 0).into())
            .await
            .expect("a free port");
        // Not in the temporary folder, which commands may write.
        let folder = tempfile::Builder::new()
            .prefix("acp")
            .tempdir_in("/var/tmp")
            .expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let (dir, home) = (root.join("work"), root.join("home"));
        for folder in [&dir, &home] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        let text = format!(
            "model = \"rehearsal\"\nmodel_provider = \"rehearsal\"\n{config}\n[model_providers.rehearsal]\nname = \"Rehearsal\"\n\
             base_url = \"{}\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
            model.base_url
        );
        std::fs::write(home.join("config.toml"), text).expect("a configuration");
        let reading = Arc::default();
        let (child, input, lines) = start(&home, &reading);
        Self {
            model,
            child,
            input: Some(input),
            lines,
            reading,
            last_id: 0,
            replies: BTreeMap::new(),
            answers: BTreeMap::new(),
            updates: VecDeque::new(),
            asked: Vec::new(),
            withdrawn: Vec::new(),
            strays: Vec::new(),
            dir,
            home,
            folder,
        }
    }

    /// Changes the configuration, which counts from the next request on.
    pub(super) fn configure(&self, change: impl FnOnce(String) -> String) {
        let path = self.home.join("config.toml");
        let text = std::fs::read_to_string(&path).expect("a configuration");
        std::fs::write(&path, change(text)).expect("a configuration");
    }

    /// Reads nothing of what the program says, until what this gives is dropped.
    pub(super) async fn stop_reading(&self) -> tokio::sync::OwnedMutexGuard<()> {
        self.reading.clone().lock_owned().await
    }

    /// One that is initialized, by a client that can do nothing more.
    pub(super) async fn start(script: Value, config: &str) -> Self {
        Self::able(script, config, json!({})).await
    }

    pub(super) async fn able(script: Value, config: &str, capabilities: Value) -> Self {
        let mut acp = Self::connect(script, config).await;
        acp.call(
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": capabilities}),
        )
        .await;
        acp
    }

    /// The same home and folder, with a program that is started anew.
    pub(super) async fn restart(&mut self) {
        self.end().await;
        let (child, input, lines) = start(&self.home, &self.reading);
        (self.child, self.input, self.lines) = (child, Some(input), lines);
        self.updates.clear();
        self.call("initialize", json!({"protocolVersion": 1})).await;
    }

    /// How requests of the agent's with this method are answered; `None`: not at all.
    pub(super) fn on(&mut self, method: &str, reply: impl Fn(&Value) -> Option<Result<Value, Value>> + Send + 'static) {
        self.replies.insert(method.to_owned(), Box::new(reply));
    }

    /// Chooses the option of this kind whenever something is asked.
    pub(super) fn choose(&mut self, kind: &'static str) {
        self.on("session/request_permission", move |params| {
            let options = params["options"].as_array().expect("options");
            let chosen = options
                .iter()
                .find(|option| option["kind"] == kind)
                .expect("such an option");
            Some(Ok(
                json!({"outcome": {"outcome": "selected", "optionId": chosen["optionId"]}}),
            ))
        });
    }

    pub(super) fn write(&mut self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub(super) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(super) fn send_line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("an open pipe");
        input
            .write_all(line)
            .and_then(|()| input.write_all(b"\n"))
            .and_then(|()| input.flush())
            .expect("written");
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes());
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(super) fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.begin(method, params);
        self.answer(id).await
    }

    pub(super) async fn call(&mut self, method: &str, params: Value) -> Value {
        self.request(method, params)
            .await
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    pub(super) async fn answer(&mut self, id: i64) -> Result<Value, Value> {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            self.take().await;
        }
    }

    /// Reads on until this is so of an update, which is taken with those before it.
    pub(super) async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            while let Some(update) = self.updates.pop_front() {
                if fits(&update) {
                    return update;
                }
            }
            self.take().await;
        }
    }

    /// Reads on until a request of the agent's has come that fits.
    pub(super) async fn until_asked(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.asked.iter().position(|asked| asked["method"] == method) {
                return self.asked.remove(at);
            }
            self.take().await;
        }
    }

    /// Takes one message.
    pub(super) async fn take(&mut self) {
        let line = tokio::time::timeout(PATIENCE, self.lines.recv()).await;
        let line = line
            .unwrap_or_else(|_| panic!("nothing came; updates: {:#?}", self.updates))
            .expect("the agent lives");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        match (message["method"].as_str(), message["id"].as_i64()) {
            // A question that has no use any more.
            (Some("$/cancel_request"), None) => self.withdrawn.push(message["params"]["requestId"].clone()),
            (Some("session/update"), None) => {
                assert!(message["params"]["sessionId"].is_string(), "{message}");
                self.updates.push_back(message["params"]["update"].clone());
            }
            (Some(method), Some(id)) => {
                let reply = match self.replies.get(method) {
                    Some(reply) => reply(&message["params"]),
                    None => Some(Err(json!({"code": -32601, "message": "this client cannot do that"}))),
                };
                match reply {
                    Some(Ok(result)) => self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
                    Some(Err(error)) => self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error})),
                    None => {}
                }
                self.asked.push(message);
            }
            (None, Some(id)) => {
                let answer = match message.get("error") {
                    None => Ok(message["result"].clone()),
                    Some(error) => Err(error.clone()),
                };
                assert!(self.answers.insert(id, answer).is_none(), "answered twice: {message}");
            }
            _ => self.strays.push(message),
        }
    }

    pub(super) async fn session(&mut self) -> String {
        let cwd = self.dir.clone();
        let session = self.call("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
        session["sessionId"].as_str().expect("an id").to_owned()
    }

    pub(super) fn begin_prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.begin("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    /// A whole turn: what was shown of it, and why it stopped.
    pub(super) async fn prompt(&mut self, session: &str, text: &str) -> (Vec<Value>, String) {
        let id = self.begin_prompt(session, text);
        let answer = self.answer(id).await.unwrap_or_else(|error| panic!("{error}"));
        let reason = answer["stopReason"].as_str().expect("a reason").to_owned();
        (self.updates.drain(..).collect(), reason)
    }

    /// Closes the pipe; the program ends in order.
    pub(super) async fn end(&mut self) {
        self.input = None;
        let next = async |lines: &mut tokio::sync::mpsc::UnboundedReceiver<_>| {
            let line = tokio::time::timeout(PATIENCE, lines.recv());
            line.await.expect("it ends").is_some()
        };
        while next(&mut self.lines).await {}
        let status = self.child.wait().expect("its status");
        assert!(status.success(), "{status}");
    }

    pub(super) fn outside(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Acp {
    fn drop(&mut self) {
        // A program whose pipe is closed ends; one that does not is ended.
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !std::thread::panicking() {
            let violations = self.model.violations();
            assert!(violations.is_empty(), "requests break the rules: {violations:#?}");
        }
    }
}

fn start(home: &Path, reading: &Arc<tokio::sync::Mutex<()>>) -> (Child, ChildStdin, mpsc::UnboundedReceiver<String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .arg("acp")
        .env_clear()
        .env("COUNTERSIGN_HOME", home)
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program");
    let input = child.stdin.take().expect("a pipe");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let (sender, lines) = mpsc::unbounded_channel();
    let reading = reading.clone();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            drop(reading.blocking_lock());
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    (child, input, lines)
}

/// The words of chunks of a kind.
pub(super) fn said(updates: &[Value], kind: &str) -> String {
    let chunks = updates.iter().filter(|update| update["sessionUpdate"] == kind);
    chunks
        .map(|update| update["content"]["text"].as_str().expect("text"))
        .collect()
}

/// A call of a tool as all that was told of it leaves it.
pub(super) fn call(updates: &[Value], id: &str) -> Value {
    let mut whole = json!({});
    let of_call = updates.iter().filter(|update| update["toolCallId"] == id);
    for update in of_call {
        for (key, value) in update.as_object().expect("an object") {
            whole[key] = value.clone();
        }
    }
    whole
}
