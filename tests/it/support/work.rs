//! A person at work: a project on the disk, an editor with its recorded abilities, the real server behind it, and a model
//! that plays a script. No plugin: all that happens, happens by standard LSP.

use super::client::{Asked, Caps, Client, Place, Reply, ServerOptions};
use super::editor::Editor;
use countersign::protocol::event::EVENTS;
use countersign::protocol::method::NOTIFICATIONS;
use countersign::rehearsal::{Running, Script, Server};
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(30);

/// What is different from the usual.
pub(crate) struct Setting {
    /// Name of the recorded editor.
    pub(crate) editor: &'static str,
    pub(crate) files: Vec<(&'static str, String)>,
    /// Further lines of `config.toml`, above its tables.
    pub(crate) config: String,
    pub(crate) home: Option<PathBuf>,
    /// The folder that holds the project; a temporary one where absent.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) place: Place,
    /// Our plugin is in the editor; its notifications need not be read.
    pub(crate) plugin: bool,
    /// The plugin leaves changes to the editor's preview.
    pub(crate) preview: bool,
    /// Further variables of the server.
    pub(crate) env: Vec<(String, String)>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            editor: "helix-25.07.1",
            files: Vec::new(),
            config: String::new(),
            home: None,
            folder: None,
            place: Place::Process,
            plugin: false,
            preview: false,
            env: Vec::new(),
        }
    }
}

/// The fields are dropped in this order: the editor complains first, then the client ends the server.
pub(crate) struct Work {
    pub(crate) editor: Editor,
    pub(crate) client: Client,
    pub(crate) model: Running,
    root: PathBuf,
    _folder: TempDir,
}

impl Work {
    pub(crate) async fn start(editor: &'static str, files: &[(&'static str, &str)], script: Value) -> Self {
        let setting = Setting {
            editor,
            files: files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect(),
            ..Setting::default()
        };
        Self::with(setting, script).await
    }

    pub(crate) async fn with(setting: Setting, script: Value) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = setting.folder.unwrap_or_else(|| {
            let root = folder.path().join("project");
            std::fs::create_dir(&root).expect("a folder");
            root
        });
        for (name, text) in &setting.files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        let script = Script::from_json(&script).expect("a script");
        let model = Server::start(script, ([127, 0, 0, 1], 0).into())
            .await
            .expect("a free port");
        let provider = format!(
            "model = \"rehearsal\"\nmodel_provider = \"rehearsal\"\n{}\n[model_providers.rehearsal]\nname = \"Rehearsal\"\n\
             base_url = \"{}\"\n",
            setting.config, model.base_url
        );
        let home = setting.home.unwrap_or_else(|| folder.path().join("home"));
        let client = Client::start(ServerOptions {
            place: setting.place,
            caps: match (setting.plugin, setting.preview) {
                (true, true) => Caps::Preview,
                (true, false) => Caps::Plugin,
                (false, _) => Caps::Recorded(setting.editor),
            },
            roots: vec![root.clone()],
            initialization_options: json!({}),
            config: Some(provider),
            home: Some(home),
            env: setting.env,
            ..ServerOptions::default()
        })
        .await;
        client.ignore("$/progress");
        client.ignore("textDocument/publishDiagnostics");
        for (method, _, _) in EVENTS.iter().chain(NOTIFICATIONS).filter(|_| setting.plugin) {
            client.ignore(method);
        }
        client.on_request("window/showMessageRequest", |_| Reply::Later);
        let editor = Editor::new(&client, setting.editor);
        Self {
            editor,
            client,
            model,
            root,
            _folder: folder,
        }
    }

    /// The provider goes down; its address stays in the configuration.
    pub(crate) async fn stop_model(&mut self) {
        let script = Script::from_json(&json!([])).expect("a script");
        let other = Server::start(script, ([127, 0, 0, 1], 0).into())
            .await
            .expect("a free port");
        std::mem::replace(&mut self.model, other).stop().await;
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn open(&self, name: &str) {
        self.editor.open(&self.path(name));
    }

    /// The text on the disk; nothing if there is no such file of text.
    pub(crate) fn disk(&self, name: &str) -> Option<String> {
        let path = self.path(name);
        // Reading a pipe would wait for ever.
        path.is_file().then(|| std::fs::read_to_string(path).ok())?
    }

    /// The text of the buffer.
    pub(crate) fn buffer(&self, name: &str) -> String {
        self.editor.text(&self.path(name)).expect("an open file")
    }

    /// What the editor offers for some lines, with these diagnostics in them.
    pub(crate) async fn actions(&self, name: &str, lines: (u32, u32), context: Value) -> Vec<Value> {
        let params = json!({
            "textDocument": { "uri": uri::from_path(&self.path(name)) },
            "range": { "start": { "line": lines.0, "character": 0 }, "end": { "line": lines.1, "character": 0 } },
            "context": context,
        });
        let answer = self.client.call("textDocument/codeAction", params).await;
        answer.as_array().expect("a list").clone()
    }

    pub(crate) async fn lenses(&self, name: &str) -> Vec<Value> {
        let params = json!({ "textDocument": { "uri": uri::from_path(&self.path(name)) } });
        let answer = self.client.call("textDocument/codeLens", params).await;
        answer.as_array().expect("a list").clone()
    }

    /// Presses the first lens with this title.
    pub(crate) async fn press_lens(&self, name: &str, title: &str) {
        let lenses = self.lenses(name).await;
        let lens = lenses.iter().find(|lens| lens["command"]["title"] == title);
        self.run(lens.unwrap_or_else(|| panic!("no {title:?} among {lenses:?}")))
            .await;
    }

    /// Runs the command of an action or a lens.
    pub(crate) async fn run(&self, action: &Value) {
        let command = match action["command"].is_object() {
            true => &action["command"],
            false => action,
        };
        let params = json!({ "command": command["command"], "arguments": command["arguments"] });
        self.client.call("workspace/executeCommand", params).await;
    }

    /// Chooses the action with this title.
    pub(crate) async fn choose_action(&self, name: &str, lines: (u32, u32), title: &str) {
        let actions = self.actions(name, lines, json!({ "diagnostics": [] })).await;
        let action = actions.iter().find(|action| action["title"] == title);
        let titles: Vec<_> = actions.iter().map(|action| &action["title"]).collect();
        self.run(action.unwrap_or_else(|| panic!("no {title:?} among {titles:?}")))
            .await;
    }

    /// *Fix with agent* on a diagnostic of another server in the first line of a file.
    pub(crate) async fn fix(&self, name: &str) {
        let diagnostic = diagnostic(0, "something is wrong");
        let actions = self.actions(name, (0, 0), json!({ "diagnostics": [diagnostic] })).await;
        let fix = actions.iter().find(|action| action["title"] == "Fix with agent");
        self.run(fix.expect("a fix")).await;
    }

    /// The question that the person is asked next.
    pub(crate) async fn question(&self) -> Asked {
        self.client.expect_request("window/showMessageRequest").await
    }

    /// Presses a button of a question, which must be there.
    pub(crate) fn press(&self, question: &Asked, title: &str) {
        let titles = titles(question);
        let title = titles.iter().find(|one| one.starts_with(title));
        let title = title.unwrap_or_else(|| panic!("no such button among {titles:?}"));
        self.client.answer(question, Ok(json!({ "title": title })));
    }

    /// Accepts the whole of the next proposal.
    pub(crate) async fn accept(&self) {
        let question = self.question().await;
        self.accept_all(question).await;
    }

    /// Accepts the proposal that a question is about, after a look at its diff where the question has no room for it.
    pub(crate) async fn accept_all(&self, mut question: Asked) {
        if !titles(&question).iter().any(|title| title == "Accept all") {
            self.press(&question, "Show the diff");
            question = self.question().await;
            if self.editor.shown().is_empty() {
                // An editor that shows no documents is told where it is.
                self.client.expect_notification("window/showMessage").await;
            }
        }
        self.press(&question, "Accept all");
    }

    /// Waits until something is so that no message tells of.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = std::time::Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(std::time::Instant::now() < deadline, "waited in vain until {what}");
            self.client.settle().await;
        }
    }

    /// Waits until nothing is left that could be stopped.
    pub(crate) async fn idle(&self, name: &str) {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let actions = self.actions(name, (0, 0), json!({ "diagnostics": [] })).await;
            if actions.iter().all(|action| action["title"] != "Stop the agent") {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "the turn does not stop");
        }
    }

    /// What the model was told about a call.
    pub(crate) async fn output(&self, call: &str) -> String {
        for number in 1.. {
            let requests = tokio::time::timeout(PATIENCE, self.model.wait_for_requests(number)).await;
            let requests = requests.unwrap_or_else(|_| panic!("no request with the output of {call}"));
            if let Some(output) = requests.iter().find_map(|request| request.output(call)) {
                return output;
            }
        }
        unreachable!("there is no end to numbers")
    }

    /// The message that shows the agent's last words: the turn is over.
    pub(crate) async fn done(&self) {
        let last = |params: &Value| params["message"] == "Agent: All done.";
        self.client.expect_notification_where("window/showMessage", last).await;
        assert_eq!(self.model.violations(), [""; 0]);
    }

    /// A warning or an error that is shown to the person.
    pub(crate) async fn warned(&self) -> String {
        let trouble = |params: &Value| params["type"] == 1 || params["type"] == 2;
        let shown = self
            .client
            .expect_notification_where("window/showMessage", trouble)
            .await;
        shown["message"].as_str().expect("a text").to_owned()
    }
}

pub(crate) fn titles(question: &Asked) -> Vec<String> {
    let actions = question.params["actions"].as_array().expect("a list");
    let title = |action: &Value| action["title"].as_str().expect("a title").to_owned();
    actions.iter().map(title).collect()
}

pub(crate) fn diagnostic(line: u32, message: &str) -> Value {
    json!({
        "range": { "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 1 } },
        "severity": 1,
        "source": "linter",
        "code": "E1",
        "message": message,
    })
}

/// A model that calls one tool and then says that all is done.
pub(crate) fn calls(tool: &str, arguments: Value) -> Value {
    json!([
        [{ "call": { "tool": tool, "arguments": arguments, "id": "call_1" } }],
        [{ "say": "All done." }],
    ])
}

/// A model that proposes one patch, given without its first and last line.
pub(crate) fn proposes(patch: &str) -> Value {
    let input = format!("*** Begin Patch\n{patch}*** End Patch\n");
    calls("apply_patch", json!({ "input": input }))
}

/// Names of the entries of a folder, for what must have left nothing behind.
pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
