//! A client that drives the real server and trusts nothing that it says.
//!
//! Every message must be sound JSON-RPC, every request answered exactly once, every request of the server expected.
//! What it is told of threads is held to the order of the protocol. At the end (`drop`) the client does `shutdown` and `exit`, and fails the test if a message was not read: what a
//! test does not expect, it must say so ([`Client::ignore`]).

use countersign::config::startup::Startup;
use countersign::protocol::order::Order;
use countersign::server::run::{self, Setup};
use countersign::server::stop::{End, Stop};
use countersign::server::transport::Wire;
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::watch;

/// Longest wait for anything. Only ever reached by a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where the server runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// The real program, over standard input and output.
    #[default]
    Process,
    /// In this process, over a pair of sockets: quicker, but without a sandbox role.
    Thread,
}

/// What the client announces.
#[derive(Clone, Debug)]
pub(crate) enum Caps {
    /// Nothing at all.
    Bare,
    /// What a real editor sends, recorded in `fixtures/caps/NAME.json`.
    Recorded(&'static str),
    /// Our plugin in VS Code.
    Plugin,
    /// The same, where the person looks at changes in the editor's preview.
    Preview,
    /// Any `capabilities` object.
    Own(Value),
}

pub(crate) struct ServerOptions {
    pub(crate) place: Place,
    pub(crate) caps: Caps,
    /// Folders of the workspace.
    pub(crate) roots: Vec<PathBuf>,
    /// The home folder; a fresh one where absent.
    pub(crate) home: Option<PathBuf>,
    /// Text of `config.toml` in the home folder.
    pub(crate) config: Option<String>,
    pub(crate) initialization_options: Value,
    /// Further variables; the server sees only these, `PATH` and its homes.
    pub(crate) env: Vec<(String, String)>,
    /// Further arguments.
    pub(crate) args: Vec<String>,
    /// A program and its arguments that start the server, whose own words follow.
    pub(crate) launcher: Vec<String>,
    /// The client's process, which the server watches.
    pub(crate) process_id: Option<u32>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            place: Place::default(),
            caps: Caps::Recorded("nvim-0.12.4"),
            roots: Vec::new(),
            home: None,
            config: None,
            initialization_options: Value::Null,
            env: Vec::new(),
            args: Vec::new(),
            launcher: Vec::new(),
            process_id: Some(std::process::id()),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

pub(crate) type Answer = Result<Value, RpcError>;

/// How the client answers a request of the server.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Ok(Value),
    Error(i64, &'static str),
    /// Later, by [`Client::answer`], when the test has taken it with [`Client::expect_request`].
    Later,
    /// Not at all, as some editors do.
    Never,
    Twice(Value),
    /// This value in place of a message.
    Rubbish(Value),
    /// To an id that was never used, and then not at all.
    WrongId(Value),
}

/// A request of the server.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Value,
}

type Handler = Arc<dyn Fn(&Value) -> Reply + Send + Sync>;

#[derive(Default)]
struct State {
    /// Ids of ours without an answer yet.
    open: HashSet<String>,
    /// Answers that nobody has taken yet.
    answers: Vec<(Value, Answer)>,
    unread: VecDeque<(String, Value)>,
    /// Requests of the server that the test wants to see.
    asked: Vec<Asked>,
    /// Ids of the server's requests that are open, by their text.
    open_asked: HashMap<String, bool>,
    used_ids: HashSet<String>,
    /// Ids of requests that the server took back.
    withdrawn: Vec<Value>,
    logs: Vec<Value>,
    handlers: HashMap<String, Handler>,
    ignored: HashSet<String>,
    faults: Vec<String>,
    /// Holds what comes of threads to the rules of the protocol.
    order: Order,
    /// All that came, in order: `answer ID`, or the method of a call.
    trace: Vec<String>,
    ended: bool,
}

struct Shared {
    state: Mutex<State>,
    condvar: Condvar,
    generation: watch::Sender<u64>,
    writer: Mutex<Option<Box<dyn Write + Send>>>,
}

enum Server {
    Process(Child),
    Thread(JoinHandle<std::io::Result<End>>),
}

pub(crate) struct Client {
    shared: Arc<Shared>,
    server: Option<Server>,
    last_id: AtomicI64,
    live: bool,
    home: PathBuf,
    /// What `initialize` answered.
    pub(crate) server_says: Value,
    _folder: Option<TempDir>,
}

impl Client {
    /// A server that is initialised.
    pub(crate) async fn start(options: ServerOptions) -> Self {
        let params = initialize_params(&options);
        let mut client = Self::connect(options);
        client.server_says = client.call("initialize", params).await;
        client.notify("initialized", json!({}));
        client.live = true;
        client
    }

    /// A server that has heard nothing yet. Unless the test does `initialize` and calls [`Client::initialized`], the
    /// end is made by closing the connection.
    pub(crate) fn connect(options: ServerOptions) -> Self {
        let folder = options
            .home
            .is_none()
            .then(|| tempfile::tempdir().expect("a temporary folder"));
        let home = options
            .home
            .clone()
            .unwrap_or_else(|| folder.as_ref().expect("just made").path().join("home"));
        if let Some(config) = &options.config {
            std::fs::create_dir_all(&home).expect("a home folder");
            std::fs::write(home.join("config.toml"), config).expect("a configuration");
        }
        let (server, reader, writer) = match options.place {
            Place::Process => start_process(&options, &home),
            Place::Thread => start_thread(&options, &home),
        };
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            condvar: Condvar::new(),
            generation: watch::Sender::new(0),
            writer: Mutex::new(Some(writer)),
        });
        let client = Self {
            shared: shared.clone(),
            server: Some(server),
            last_id: AtomicI64::new(0),
            live: false,
            home,
            server_says: Value::Null,
            _folder: folder,
        };
        client.on_request("window/workDoneProgress/create", |_| Reply::Ok(Value::Null));
        client.on_request("client/registerCapability", |_| Reply::Ok(Value::Null));
        client.on_request("workspace/codeLens/refresh", |_| Reply::Ok(Value::Null));
        client.on_request("workspace/configuration", |params| {
            let items = params["items"].as_array().map_or(0, Vec::len);
            Reply::Ok(Value::Array(vec![Value::Null; items]))
        });
        std::thread::spawn(move || shared.read_all(reader));
        client
    }

    /// Says that the test has done `initialize` by itself.
    pub(crate) fn initialized(&mut self) {
        self.live = true;
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Sends a request and gives its answer.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Answer {
        let id = self.send_request(method, params);
        self.expect_answer(json!(id)).await
    }

    /// Like [`Client::request`], for requests that must succeed.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        match self.request(method, params).await {
            Ok(result) => result,
            Err(error) => panic!("{method} failed: {error:?}"),
        }
    }

    /// Sends a request without waiting; its answer is taken by [`Client::expect_answer`].
    pub(crate) fn send_request(&self, method: &str, params: Value) -> i64 {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        self.shared.state().open.insert(id.to_string());
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// A handle that can speak for this client, for what plays the editor behind it.
    pub(crate) fn voice(&self) -> Voice {
        Voice(self.shared.clone())
    }

    /// Any value as a message; the answer, if there is to be one, is taken by [`Client::expect_answer`].
    pub(crate) fn send(&self, message: &Value) {
        self.shared.send(message);
    }

    /// Bytes on the wire, framed by nobody.
    pub(crate) fn send_bytes(&self, bytes: &[u8]) {
        self.shared.send_bytes(bytes);
    }

    /// Closes the client's end.
    pub(crate) fn hang_up(&self) {
        *self.shared.writer() = None;
    }

    /// The answer with this id, which may also be `null`.
    pub(crate) async fn expect_answer(&self, id: Value) -> Answer {
        self.wait(&format!("the answer to {id}"), |state| {
            let at = state.answers.iter().position(|(seen, _)| *seen == id)?;
            Some(state.answers.remove(at).1)
        })
        .await
    }

    /// The parameters of the first unread notification with this method; others stay unread.
    pub(crate) async fn expect_notification(&self, method: &str) -> Value {
        self.expect_notification_where(method, |_| true).await
    }

    /// The first unread notification with this method that fits.
    pub(crate) async fn expect_notification_where(&self, method: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.wait(&format!("the notification {method}"), |state| {
            let at = state
                .unread
                .iter()
                .position(|(seen, params)| seen == method && fits(params))?;
            state.unread.remove(at).map(|(_, params)| params)
        })
        .await
    }

    /// The next unread notification, whichever it is.
    pub(crate) async fn expect_any(&self) -> (String, Value) {
        self.wait("any notification", |state| state.unread.pop_front()).await
    }

    /// Takes all unread notifications, in order.
    pub(crate) fn take_unread(&self) -> Vec<(String, Value)> {
        self.shared.state().unread.drain(..).collect()
    }

    /// All that came so far, in order: `answer ID`, or the method of a request or notification.
    pub(crate) fn trace(&self) -> Vec<String> {
        self.shared.state().trace.clone()
    }

    /// A line in the client's log that holds this text.
    pub(crate) async fn expect_log(&self, part: &str) -> Value {
        self.wait(&format!("a log line with {part:?}"), |state| {
            let at = state
                .logs
                .iter()
                .position(|line| line["message"].as_str().is_some_and(|text| text.contains(part)))?;
            Some(state.logs.remove(at))
        })
        .await
    }

    /// Notifications with this method need not be read.
    pub(crate) fn ignore(&self, method: &str) {
        let mut state = self.shared.state();
        state.ignored.insert(method.to_owned());
        state.unread.retain(|(seen, _)| seen != method);
    }

    /// Notifications with this method, which were ignored, must be read again.
    pub(crate) fn heed(&self, method: &str) {
        self.shared.state().ignored.remove(method);
    }

    /// How requests with this method are answered from now on.
    pub(crate) fn on_request(&self, method: &str, handler: impl Fn(&Value) -> Reply + Send + Sync + 'static) {
        self.shared
            .state()
            .handlers
            .insert(method.to_owned(), Arc::new(handler));
    }

    /// The first request with this method that the test has not seen. Its handler must have said [`Reply::Later`]
    /// or [`Reply::Never`].
    pub(crate) async fn expect_request(&self, method: &str) -> Asked {
        self.wait(&format!("the request {method}"), |state| {
            let at = state.asked.iter().position(|asked| asked.method == method)?;
            Some(state.asked.remove(at))
        })
        .await
    }

    /// Answers a request that was left for later.
    pub(crate) fn answer(&self, asked: &Asked, answer: Result<Value, (i64, &str)>) {
        self.shared.answer(&asked.id, answer);
    }

    /// Waits until the server has taken a request back.
    pub(crate) async fn expect_withdrawn(&self, asked: &Asked) {
        self.wait(&format!("the withdrawal of {}", asked.id), |state| {
            let at = state.withdrawn.iter().position(|id| *id == asked.id)?;
            Some(state.withdrawn.remove(at))
        })
        .await;
    }

    /// The same where it takes longer than anything else.
    pub(crate) async fn expect_withdrawn_within(&self, asked: &Asked, limit: Duration) {
        let deadline = Instant::now() + limit;
        while !self.shared.state().withdrawn.contains(&asked.id) {
            assert!(
                Instant::now() < deadline,
                "waited in vain for the withdrawal of {}",
                asked.id
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the server has taken some request back.
    pub(crate) async fn expect_any_withdrawn(&self) {
        self.wait("a withdrawal", |state| state.withdrawn.pop()).await;
    }

    /// Waits until the server has dealt with all that was sent so far.
    pub(crate) async fn settle(&self) {
        // Any request will do: messages are taken in order.
        let _ = self.request("countersign/test/settle", json!({})).await;
    }

    pub(crate) fn open(&self, path: &Path, language: &str, version: i32, text: &str) {
        let document = json!({ "uri": uri::from_path(path), "languageId": language, "version": version, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Waits for the server to close its end, then for its end altogether; gives the status.
    pub(crate) async fn expect_end(&mut self) -> i32 {
        self.wait("the end of the server", |state| state.ended.then_some(()))
            .await;
        self.live = false;
        self.join(PATIENCE).expect("the server ends once its output is closed")
    }

    /// The process of the server.
    pub(crate) fn server_pid(&self) -> u32 {
        match &self.server {
            Some(Server::Process(child)) => child.id(),
            _ => std::process::id(),
        }
    }

    async fn wait<T>(&self, what: &str, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut generation = self.shared.generation.subscribe();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            {
                let mut state = self.shared.state();
                if let Some(found) = look(&mut state) {
                    return found;
                }
                if state.ended {
                    panic!(
                        "the server has ended while the test waits for {what}; {}",
                        state.summary()
                    );
                }
            }
            if tokio::time::timeout_at(deadline, generation.changed()).await.is_err() {
                panic!("waited in vain for {what}; {}", self.shared.state().summary());
            }
        }
    }

    fn wait_blocking<T>(&self, limit: Duration, mut look: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + limit;
        let mut state = self.shared.state();
        loop {
            if let Some(found) = look(&mut state) {
                return Some(found);
            }
            let left = deadline
                .checked_duration_since(Instant::now())
                .filter(|_| !state.ended)?;
            state = self
                .shared
                .condvar
                .wait_timeout(state, left)
                .expect("no panic while held")
                .0;
        }
    }

    fn join(&mut self, limit: Duration) -> Option<i32> {
        let deadline = Instant::now() + limit;
        let mut server = self.server.take()?;
        loop {
            match &mut server {
                Server::Process(child) => {
                    if let Some(status) = child.try_wait().expect("the status of a child") {
                        return Some(status.code().unwrap_or(-1));
                    }
                }
                Server::Thread(thread) if thread.is_finished() => {
                    let Server::Thread(thread) = server else {
                        unreachable!("matched just now")
                    };
                    return Some(i32::from(
                        thread.join().expect("no panic in the server").expect("a server").code(),
                    ));
                }
                Server::Thread(_) => {}
            }
            if Instant::now() > deadline {
                self.server = Some(server);
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn end_politely(&mut self) -> Vec<String> {
        let mut faults = Vec::new();
        let was_live = self.live && !self.shared.state().ended;
        if was_live {
            let id = json!(self.send_request("shutdown", Value::Null));
            let answered = self.wait_blocking(PATIENCE, |state| {
                let at = state.answers.iter().position(|(seen, _)| *seen == id)?;
                Some(state.answers.remove(at).1)
            });
            match answered {
                Some(Ok(Value::Null)) => {}
                other => faults.push(format!("shutdown was answered with {other:?}")),
            }
            self.notify("exit", Value::Null);
        }
        self.hang_up();
        if self.server.is_some() {
            match (self.join(PATIENCE), was_live) {
                (Some(0), _) | (Some(_), false) => {}
                (status, _) => faults.push(format!("the server ended with the status {status:?}")),
            }
        }
        self.wait_blocking(Duration::from_secs(5), |state| state.ended.then_some(()));
        let state = self.shared.state();
        faults.extend(state.faults.iter().cloned());
        faults.extend(state.order.left_open_of_closed());
        faults.extend(state.open.iter().map(|id| format!("request {id} was never answered")));
        faults.extend(
            state
                .answers
                .iter()
                .map(|answer| format!("an answer that was not expected: {answer:?}")),
        );
        faults.extend(
            state
                .unread
                .iter()
                .map(|(method, params)| format!("not read: {method} {params}")),
        );
        faults.extend(
            state
                .asked
                .iter()
                .map(|asked| format!("a request that was not expected: {asked:?}")),
        );
        faults
    }
}

/// Speaks for a client.
#[derive(Clone)]
pub(crate) struct Voice(Arc<Shared>);

impl Voice {
    pub(crate) fn notify(&self, method: &str, params: Value) {
        self.0
            .send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.hang_up();
            if let Some(Server::Process(mut child)) = self.server.take() {
                // It has a few seconds to end in order, since it may have children.
                for _ in 0..500 {
                    if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
                let _ = child.kill();
                let _ = child.wait();
            }
            return;
        }
        let faults = self.end_politely();
        assert!(faults.is_empty(), "the server misbehaved:\n  {}", faults.join("\n  "));
    }
}

impl State {
    fn summary(&self) -> String {
        let unread: Vec<String> = self
            .unread
            .iter()
            .map(|(method, params)| format!("{method} {params}"))
            .collect();
        let last = self.trace.len().saturating_sub(20);
        format!(
            "last: {:?}, unread: {unread:#?}, answers: {:?}, asked: {:?}, log: {:?}, faults: {:?}",
            &self.trace[last..],
            self.answers,
            self.asked,
            self.logs,
            self.faults
        )
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn writer(&self) -> MutexGuard<'_, Option<Box<dyn Write + Send>>> {
        self.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn changed(&self) {
        self.condvar.notify_all();
        self.generation.send_modify(|generation| *generation += 1);
    }

    fn send(&self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    fn send_bytes(&self, bytes: &[u8]) {
        // A server that has ended cannot be written to; the test sees that elsewhere.
        if let Some(writer) = self.writer().as_mut() {
            let _ = writer.write_all(bytes).and_then(|()| writer.flush());
        }
    }

    fn answer(&self, id: &Value, answer: Result<Value, (i64, &str)>) {
        self.state().open_asked.remove(&id.to_string());
        match answer {
            Ok(result) => self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
            Err((code, message)) => {
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }));
            }
        }
    }

    fn read_all(&self, reader: Box<dyn Read + Send>) {
        let mut reader = BufReader::new(reader);
        loop {
            match read_frame(&mut reader) {
                Ok(Some(message)) => {
                    if let Err(fault) = self.take(message) {
                        self.state().faults.push(fault);
                    }
                }
                Ok(None) => break,
                Err(fault) => {
                    self.state().faults.push(fault);
                    break;
                }
            }
            self.changed();
        }
        self.state().ended = true;
        self.changed();
    }

    fn take(&self, message: Value) -> Result<(), String> {
        let object = message.as_object().ok_or_else(|| format!("not an object: {message}"))?;
        if object.get("jsonrpc") != Some(&json!("2.0")) {
            return Err(format!("no jsonrpc 2.0: {message}"));
        }
        let keys: Vec<&str> = object
            .keys()
            .map(String::as_str)
            .filter(|key| *key != "jsonrpc")
            .collect();
        match (object.get("method").map(|method| method.as_str()), object.get("id")) {
            (Some(None), _) => Err(format!("the method is no string: {message}")),
            (Some(Some(method)), id) => {
                if keys.iter().any(|key| !["method", "id", "params"].contains(key)) {
                    return Err(format!("a call with other members: {message}"));
                }
                self.state().trace.push(method.to_owned());
                let params = object.get("params").cloned().unwrap_or_default();
                if !params.is_object() && !params.is_array() && !params.is_null() {
                    return Err(format!("params are neither object nor array: {message}"));
                }
                match id {
                    None => self.take_notification(method, params),
                    Some(id) => self.take_request(id.clone(), method, params),
                }
            }
            (None, None) => Err(format!("neither method nor id: {message}")),
            (None, Some(id)) => {
                let answer = match (object.get("result"), object.get("error")) {
                    (Some(result), None) if keys.len() == 2 => Ok(result.clone()),
                    (None, Some(error)) if keys.len() == 2 => Err(RpcError {
                        code: error["code"]
                            .as_i64()
                            .ok_or_else(|| format!("an error without a code: {message}"))?,
                        message: error["message"]
                            .as_str()
                            .ok_or_else(|| format!("no text: {message}"))?
                            .to_owned(),
                        data: error["data"].clone(),
                    }),
                    _ => return Err(format!("not exactly one of result and error: {message}")),
                };
                let mut state = self.state();
                state.trace.push(format!("answer {id}"));
                state.open.remove(&id.to_string());
                state.answers.push((id.clone(), answer));
                Ok(())
            }
        }
    }

    fn take_notification(&self, method: &str, params: Value) -> Result<(), String> {
        let mut state = self.state();
        if let Err(wrong) = state.order.take(method, &params) {
            state.faults.push(wrong);
        }
        match method {
            "window/logMessage" => state.logs.push(params),
            "$/cancelRequest" => {
                let id = params["id"].clone();
                if !state.used_ids.contains(&id.to_string()) {
                    return Err(format!("a request was taken back that was never made: {id}"));
                }
                let will_answer = state.open_asked.remove(&id.to_string()).unwrap_or(false);
                state.asked.retain(|asked| asked.id != id);
                state.withdrawn.push(id.clone());
                drop(state);
                if will_answer {
                    self.answer(&id, Err((-32800, "cancelled")));
                }
            }
            method if state.ignored.contains(method) => {}
            method => state.unread.push_back((method.to_owned(), params)),
        }
        Ok(())
    }

    fn take_request(&self, id: Value, method: &str, params: Value) -> Result<(), String> {
        if !id.is_i64() && !id.is_string() {
            return Err(format!("{method} with an id that is none: {id}"));
        }
        let handler = {
            let mut state = self.state();
            if !state.used_ids.insert(id.to_string()) {
                return Err(format!("{method} with an id that was used before: {id}"));
            }
            state.handlers.get(method).cloned()
        };
        let Some(handler) = handler else {
            self.answer(&id, Err((-32601, "this client has no such method")));
            return Err(format!("a request that the test did not expect: {method} {params}"));
        };
        match handler(&params) {
            Reply::Ok(result) => self.answer(&id, Ok(result)),
            Reply::Error(code, message) => self.answer(&id, Err((code, message))),
            Reply::Twice(result) => {
                self.answer(&id, Ok(result.clone()));
                self.answer(&id, Ok(result));
            }
            Reply::Rubbish(message) => self.send(&message),
            Reply::WrongId(result) => self.answer(&json!(format!("not {id}")), Ok(result)),
            reply @ (Reply::Later | Reply::Never) => {
                let mut state = self.state();
                state.open_asked.insert(id.to_string(), matches!(reply, Reply::Later));
                state.asked.push(Asked {
                    id,
                    method: method.to_owned(),
                    params,
                });
            }
        }
        Ok(())
    }
}

fn read_frame(reader: &mut impl BufRead) -> Result<Option<Value>, String> {
    let mut length = None;
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            // A server that was killed, or that closes a socket with input left in it.
            Ok(0) | Err(_) => return Ok(None),
            Ok(_) => {}
        }
        let line = line
            .strip_suffix("\r\n")
            .ok_or_else(|| format!("a header line without CRLF: {line:?}"))?;
        if line.is_empty() {
            break;
        }
        let number = line
            .strip_prefix("Content-Length: ")
            .ok_or_else(|| format!("not a header: {line:?}"))?;
        length = Some(number.parse::<usize>().map_err(|error| format!("{line:?}: {error}"))?);
    }
    let mut body = vec![0; length.ok_or("a header without a length")?];
    if reader.read_exact(&mut body).is_err() {
        return Ok(None);
    }
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&body)))
}

/// The parameters of `initialize` as the client of these options sends them.
pub(crate) fn initialize_params(options: &ServerOptions) -> Value {
    let mut params = match &options.caps {
        Caps::Bare => json!({ "capabilities": {} }),
        Caps::Own(capabilities) => json!({ "capabilities": capabilities }),
        Caps::Recorded(name) => recorded(name),
        Caps::Plugin | Caps::Preview => {
            let mut params = recorded("vscode-1.139-lc11");
            let ours = match options.caps {
                Caps::Preview => json!({ "proposals": "preview" }),
                _ => json!({}),
            };
            params["capabilities"]["experimental"] = json!({ "countersign": ours });
            params
        }
    };
    let first = options.roots.first();
    params["processId"] = json!(options.process_id);
    params["rootPath"] = json!(first);
    params["rootUri"] = json!(first.map(|root| uri::from_path(root)));
    let folder = |root: &PathBuf| json!({ "uri": uri::from_path(root), "name": root.file_name().unwrap_or_default().to_string_lossy() });
    params["workspaceFolders"] = options.roots.iter().map(folder).collect();
    params["initializationOptions"] = options.initialization_options.clone();
    params
}

/// What a real editor sent.
pub(crate) fn recorded(name: &str) -> Value {
    let path = format!("{}/tests/it/fixtures/caps/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))).expect("JSON")
}

type Ends = (Server, Box<dyn Read + Send>, Box<dyn Write + Send>);

fn start_process(options: &ServerOptions, home: &Path) -> Ends {
    let program = env!("CARGO_BIN_EXE_countersign");
    let mut words = options.launcher.iter().map(String::as_str).chain([program]);
    let mut child = Command::new(words.next().expect("at least the server"))
        .args(words)
        .args(&options.args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.parent().unwrap_or(home))
        .env("COUNTERSIGN_HOME", home)
        .envs(options.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the server starts");
    let reader = child.stdout.take().expect("piped");
    let writer = child.stdin.take().expect("piped");
    (Server::Process(child), Box::new(reader), Box::new(writer))
}

fn start_thread(options: &ServerOptions, home: &Path) -> Ends {
    // This process is not the program whose roles put up the sandbox.
    countersign::exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let mut env: BTreeMap<String, String> = std::env::vars().collect();
    env.extend(
        options
            .env
            .iter()
            .filter(|(name, _)| name.starts_with("COUNTERSIGN_SETTINGS"))
            .cloned(),
    );
    let setup = Setup {
        home: home.to_owned(),
        startup: Startup::read(&[], &mut env),
        env,
        parent: None,
        log_trouble: None,
        trace_file: None,
        secrets: Default::default(),
        ring: Default::default(),
    };
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        runtime.block_on(run::run(Wire::from_unix(theirs)?, setup, Stop::default()))
    });
    let reader = ours.try_clone().expect("another handle");
    (Server::Thread(thread), Box::new(reader), Box::new(ShutOnDrop(ours)))
}

/// Dropping one of two handles of a socket closes nothing; this does.
struct ShutOnDrop(UnixStream);

impl Write for ShutOnDrop {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Drop for ShutOnDrop {
    fn drop(&mut self) {
        let _ = self.0.shutdown(std::net::Shutdown::Write);
    }
}
