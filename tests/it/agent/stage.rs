//! What the tests of the agent play on: a workspace, a scripted model, the server with a plugin's client, and the story
//! of each turn, which the client holds to the rules of the protocol as it comes in.

use crate::support::client::{Answer, Caps, Client, Reply, ServerOptions};
use countersign::rehearsal::{Recorded, Running, Script, Server};
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Far more than anything here takes, far less than for ever.
const LIMIT: Duration = Duration::from_secs(30);

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.expect("it does not hang")
}

pub(crate) async fn rehearse(script: Value) -> Running {
    let script = Script::from_json(&script).unwrap_or_else(|error| panic!("{error}"));
    Server::start(script, ([127, 0, 0, 1], 0).into())
        .await
        .expect("a free port")
}

/// How the server is set up.
pub(crate) struct Setting {
    /// Lines of `config.toml` before the first table.
    pub(crate) config: String,
    /// Lines of the provider's table.
    pub(crate) provider: String,
    /// Further tables.
    pub(crate) tables: String,
    pub(crate) env: Vec<(String, String)>,
    /// See [`ServerOptions::launcher`].
    pub(crate) launcher: Vec<String>,
    pub(crate) caps: Value,
    /// Files of the workspace.
    pub(crate) files: Vec<(String, String)>,
    /// A home folder that is there already.
    pub(crate) home: Option<PathBuf>,
    /// A workspace that is there already.
    pub(crate) folder: Option<PathBuf>,
    /// What the client names as its folders, if not the workspace.
    pub(crate) roots: Option<Vec<PathBuf>>,
    /// Where the provider is, if not at the rehearsal server.
    pub(crate) base_url: Option<String>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            config: String::new(),
            provider: String::new(),
            tables: String::new(),
            env: Vec::new(),
            launcher: Vec::new(),
            caps: plugin(),
            files: Vec::new(),
            home: None,
            folder: None,
            roots: None,
            base_url: None,
        }
    }
}

/// A client with the plugin protocol that takes edits.
pub(crate) fn plugin() -> Value {
    json!({
        "general": {"positionEncodings": ["utf-8"]},
        "workspace": {
            "applyEdit": true,
            "workspaceEdit": {"documentChanges": true, "resourceOperations": ["create", "rename", "delete"]},
        },
        "experimental": {"countersign": {}},
    })
}

pub(crate) struct Stage {
    pub(crate) client: Client,
    pub(crate) model: Running,
    /// The workspace; canonical.
    pub(crate) dir: PathBuf,
    pub(crate) folder: Option<TempDir>,
}

impl Stage {
    pub(crate) async fn new(script: Value) -> Self {
        Self::with(script, Setting::default()).await
    }

    /// With lines of `config.toml`.
    pub(crate) async fn configured(config: &str, script: Value) -> Self {
        let setting = Setting {
            config: config.to_owned(),
            ..Setting::default()
        };
        Self::with(script, setting).await
    }

    pub(crate) async fn with(script: Value, setting: Setting) -> Self {
        let model = rehearse(script).await;
        let folder = setting.folder.is_none().then(|| {
            // Not in the temporary folder, which commands may write.
            tempfile::Builder::new()
                .prefix("agent")
                .tempdir_in("/var/tmp")
                .expect("a temporary folder")
        });
        let dir = setting.folder.clone().unwrap_or_else(|| {
            let dir = folder.as_ref().expect("just made").path().join("work");
            std::fs::create_dir_all(&dir).expect("a workspace");
            dir.canonicalize().expect("a path")
        });
        for (name, text) in &setting.files {
            write(&dir.join(name), text);
        }
        let base_url = setting.base_url.as_deref().unwrap_or(&model.base_url);
        let config = format!(
            "model = \"rehearsal\"\nmodel_provider = \"rehearsal\"\n{}\n[model_providers.rehearsal]\nname = \"Rehearsal\"\n\
             base_url = \"{base_url}\"\nrequest_max_retries = 2\nstream_max_retries = 2\n{}\n{}\n",
            setting.config, setting.provider, setting.tables
        );
        let client = Client::start(ServerOptions {
            caps: Caps::Own(setting.caps),
            roots: setting.roots.unwrap_or_else(|| vec![dir.clone()]),
            home: setting.home,
            config: Some(config),
            env: setting.env,
            launcher: setting.launcher,
            ..ServerOptions::default()
        })
        .await;
        // What comes with the end of the server, after the test's own story.
        client.ignore("countersign/thread/closed");
        Self {
            client,
            model,
            dir,
            folder,
        }
    }

    /// Starts a thread; its first two events are read.
    pub(crate) async fn thread(&self) -> String {
        let started = self.start_thread(json!({})).await;
        started["thread"]["id"].as_str().expect("an id").to_owned()
    }

    pub(crate) async fn start_thread(&self, params: Value) -> Value {
        let started = self.client.call("countersign/thread/start", params).await;
        self.greeted(&started).await;
        started
    }

    pub(crate) async fn resume(&self, params: Value) -> Value {
        let resumed = self.client.call("countersign/thread/resume", params).await;
        self.greeted(&resumed).await;
        resumed
    }

    async fn greeted(&self, started: &Value) {
        for method in ["thread/started", "thread/configured"] {
            let (seen, params) = self.next().await;
            assert_eq!((&seen[..], &params["threadId"]), (method, &started["thread"]["id"]));
        }
    }

    /// The next notification, its name without the prefix.
    pub(crate) async fn next(&self) -> (String, Value) {
        let (method, params) = self.client.expect_any().await;
        let method = method
            .strip_prefix("countersign/")
            .unwrap_or_else(|| panic!("not expected: {method} {params}"))
            .to_owned();
        (method, params)
    }

    pub(crate) async fn start_turn(&self, thread: &str, text: &str) -> String {
        let params = json!({"threadId": thread, "input": [{"type": "text", "text": text}]});
        self.start_turn_with(params).await
    }

    pub(crate) async fn start_turn_with(&self, params: Value) -> String {
        let started = self.client.call("countersign/turn/start", params).await;
        assert_eq!(started["steered"], false, "{started}");
        started["turn"]["id"].as_str().expect("an id").to_owned()
    }

    /// A whole turn.
    pub(crate) async fn run(&self, thread: &str, text: &str) -> Story {
        let turn = self.start_turn(thread, text).await;
        self.finish(&turn).await
    }

    /// A turn that must complete.
    pub(crate) async fn complete(&self, thread: &str, text: &str) -> Story {
        let story = self.run(thread, text).await;
        assert_eq!(story.status(), "completed", "{story:#?}");
        story
    }

    pub(crate) async fn run_with(&self, params: Value) -> Story {
        let turn = self.start_turn_with(params).await;
        self.finish(&turn).await
    }

    /// All that comes up to the turn's last event.
    pub(crate) async fn finish(&self, turn: &str) -> Story {
        self.until(|method, params| method == "turn/completed" && params["turn"]["id"] == turn)
            .await
    }

    /// All that comes up to, and with, the first event that fits.
    pub(crate) async fn until(&self, fits: impl Fn(&str, &Value) -> bool) -> Story {
        let mut story = Story::default();
        loop {
            let (method, params) = self.next().await;
            let last = fits(&method, &params);
            story.events.push((method, params));
            if last {
                return story;
            }
        }
    }

    /// All up to the first event with this name.
    pub(crate) async fn until_event(&self, name: &str) -> Story {
        self.until(|method, _| method == name).await
    }

    /// Reads on until a command has said something.
    pub(crate) async fn until_output(&self, text: &str) -> Story {
        self.until(|method, params| {
            method == "item/commandExecution/outputDelta"
                && params["delta"].as_str().is_some_and(|delta| delta.contains(text))
        })
        .await
    }

    pub(crate) async fn interrupt(&self, thread: &str) -> Value {
        let params = json!({"threadId": thread});
        self.client.call("countersign/turn/interrupt", params).await
    }

    pub(crate) async fn steer(&self, thread: &str, turn: &str, text: &str) -> Answer {
        let params = json!({"threadId": thread, "expectedTurnId": turn, "input": [{"type": "text", "text": text}]});
        self.client.request("countersign/turn/steer", params).await
    }

    /// How questions about commands are answered from now on.
    pub(crate) fn answers(&self, reply: Reply) {
        self.client
            .on_request("countersign/approval/command", move |_| reply.clone());
    }

    pub(crate) async fn decide(&self, params: Value) -> Value {
        self.client.call("countersign/proposal/decide", params).await["proposal"].take()
    }

    /// The requests to the model, which must be so many.
    pub(crate) fn requests(&self, number: usize) -> Vec<Recorded> {
        let requests = self.model.requests();
        assert_eq!(requests.len(), number, "requests to the model");
        requests
    }

    pub(crate) async fn read(&self, thread: &str) -> Value {
        let params = json!({"threadId": thread, "includeTurns": true});
        self.client.call("countersign/thread/read", params).await["thread"].take()
    }

    /// The lines of a thread's rollout.
    pub(crate) fn rollout(&self, thread: &str) -> Vec<Value> {
        rollout(self.client.home(), thread)
    }

    /// Opens a document in the editor.
    pub(crate) fn open(&self, name: &str, text: &str) {
        self.client.open(&self.dir.join(name), "text", 1, text);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.dir.join(name), text);
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Takes the edit that the server asks for, as an editor would: changes the documents (all open, by name), tells the
    /// server, and says that it is done.
    pub(crate) async fn take_edit(&self, documents: &mut BTreeMap<String, (i64, String)>) -> Value {
        let asked = self.client.expect_request("workspace/applyEdit").await;
        for change in asked.params["edit"]["documentChanges"].as_array().expect("changes") {
            let place = change["textDocument"]["uri"].as_str().expect("edits of documents only");
            let (name, (version, text)) = documents
                .iter_mut()
                .find(|(name, _)| uri::from_path(&self.dir.join(name)) == place)
                .unwrap_or_else(|| panic!("{place} is not open"));
            assert_eq!(change["textDocument"]["version"], *version, "{name}");
            *text = edited(text, change["edits"].as_array().expect("edits"));
            *version += 1;
            self.client.notify(
                "textDocument/didChange",
                json!({"textDocument": {"uri": place, "version": *version}, "contentChanges": [{"text": text}]}),
            );
        }
        self.client.answer(&asked, Ok(json!({"applied": true})));
        asked.params
    }

    /// Ends the server; the workspace stays as long as what is given back.
    pub(crate) fn end(mut self) -> Option<TempDir> {
        self.folder.take()
    }

    /// The processes that a thread has started and that still live.
    pub(crate) fn processes(thread: &str) -> Vec<String> {
        let marker = format!("COUNTERSIGN_THREAD_ID={thread}");
        let found = std::fs::read_dir("/proc").expect("/proc").flatten();
        found
            .filter_map(|entry| {
                let environ = std::fs::read(entry.path().join("environ")).ok()?;
                let marked = environ.split(|byte| *byte == 0).any(|one| one == marker.as_bytes());
                let status = std::fs::read_to_string(entry.path().join("stat")).ok()?;
                let command = std::fs::read(entry.path().join("cmdline")).ok()?;
                (marked && !status.contains(") Z ")).then(|| String::from_utf8_lossy(&command).replace('\0', " "))
            })
            .collect()
    }

    /// Waits until none of them is left.
    pub(crate) async fn no_process_left(thread: &str) {
        eventually("the thread's processes are gone", || Self::processes(thread).is_empty()).await;
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let violations = self.model.violations();
            assert!(violations.is_empty(), "requests break the rules: {violations:#?}");
        }
    }
}

/// Waits for what nobody announces.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// The lines of a thread's rollout below a home folder.
pub(crate) fn rollout(home: &Path, thread: &str) -> Vec<Value> {
    let path = rollout_path(home, thread).unwrap_or_else(|| panic!("no rollout of {thread}"));
    let text = std::fs::read_to_string(path).expect("a rollout");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

pub(crate) fn rollout_path(home: &Path, thread: &str) -> Option<PathBuf> {
    let mut folders = vec![home.join("sessions")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(&format!("{thread}.jsonl")) {
                return Some(path);
            }
        }
    }
    None
}

/// A text after LSP edits, whose columns count bytes.
fn edited(text: &str, edits: &[Value]) -> String {
    let offset = |position: &Value| {
        let number = |key: &str| position[key].as_u64().expect("a number") as usize;
        let line: usize = text.split_inclusive('\n').take(number("line")).map(str::len).sum();
        line + number("character")
    };
    let mut edits: Vec<_> = edits
        .iter()
        .map(|edit| {
            let range = &edit["range"];
            let new = edit["newText"].as_str().expect("text");
            (offset(&range["start"]), offset(&range["end"]), new)
        })
        .collect();
    edits.sort();
    let mut text = text.to_owned();
    for (start, end, new) in edits.into_iter().rev() {
        text.replace_range(start..end, new);
    }
    text
}

/// What has happened, in order.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) events: Vec<(String, Value)>,
}

impl Story {
    /// The events' names.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.events.iter().map(|(name, _)| &name[..]).collect()
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&Value> {
        let named = self.events.iter().filter(|(seen, _)| seen == name);
        named.map(|(_, params)| params).collect()
    }

    /// The only event of this name.
    pub(crate) fn one(&self, name: &str) -> &Value {
        let found = self.all(name);
        assert_eq!(found.len(), 1, "{name} in {:#?}", self.names());
        found[0]
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.all(name).len()
    }

    /// Where the first event of this name stands.
    pub(crate) fn at(&self, fits: impl Fn(&str, &Value) -> bool) -> usize {
        self.events
            .iter()
            .position(|(name, params)| fits(name, params))
            .unwrap_or_else(|| panic!("no such event in {:#?}", self.events))
    }

    /// The finished items of a type, in order, that are part of the turn.
    pub(crate) fn items(&self, kind: &str) -> Vec<&Value> {
        let completed = self.all("item/completed").into_iter();
        completed
            .filter(|params| params["withdrawn"] != true)
            .map(|params| &params["item"])
            .filter(|item| item["type"] == kind)
            .collect()
    }

    /// The only finished item of this type.
    pub(crate) fn item(&self, kind: &str) -> &Value {
        let found = self.items(kind);
        assert_eq!(found.len(), 1, "{kind} in {:#?}", self.events);
        found[0]
    }

    /// Types of the finished items.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        let completed = self.all("item/completed").into_iter();
        completed.filter_map(|params| params["item"]["type"].as_str()).collect()
    }

    /// The last event.
    pub(crate) fn last(&self) -> &Value {
        &self.events.last().expect("an event").1
    }

    pub(crate) fn status(&self) -> &str {
        self.one("turn/completed")["turn"]["status"].as_str().expect("a status")
    }

    pub(crate) fn error_kind(&self) -> &str {
        self.one("turn/completed")["turn"]["error"]["kind"]
            .as_str()
            .unwrap_or_default()
    }

    /// The texts of the messages that were withdrawn.
    pub(crate) fn withdrawn(&self) -> Vec<&str> {
        let completed = self.all("item/completed").into_iter();
        let withdrawn = completed.filter(|params| params["withdrawn"] == true);
        withdrawn.filter_map(|params| params["item"]["text"].as_str()).collect()
    }

    /// The texts of the agent's messages.
    pub(crate) fn said(&self) -> Vec<&str> {
        let texts = self.items("agentMessage").into_iter();
        texts.filter_map(|item| item["text"].as_str()).collect()
    }
}

/// A call of the shell with an argument list.
pub(crate) fn shell(id: &str, argv: &[&str]) -> Value {
    json!({"call": {"tool": "shell", "arguments": {"command": argv}, "id": id}})
}

/// A call of the shell with a script.
pub(crate) fn bash(id: &str, script: &str) -> Value {
    shell(id, &["bash", "-c", script])
}

pub(crate) fn apply_patch(id: &str, patch: &str) -> Value {
    json!({"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": id}})
}

pub(crate) fn say(text: &str) -> Value {
    json!({ "say": text })
}

/// The output of a command, as the model gets it: text and exit code.
pub(crate) fn command_output(request: &Recorded, id: &str) -> (String, Option<i64>) {
    let text = request.output(id).unwrap_or_else(|| panic!("no output of {id}"));
    let output: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (
        output["output"].as_str().expect("text").to_owned(),
        output["metadata"]["exit_code"].as_i64(),
    )
}
