//! A `config.toml` in the editor: what is wrong, what can stand there, what it means; through the real server.

use crate::support::client::{Caps, Client, Reply, ServerOptions, initialize_params};
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

struct Scene {
    client: Client,
    dir: tempfile::TempDir,
}

impl Scene {
    async fn new(config: &str, files: &[(&str, &str)], caps: Value) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("project");
        std::fs::create_dir_all(root.join(".git")).expect("a folder");
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        let client = Client::start(ServerOptions {
            caps: Caps::Own(caps),
            roots: vec![root],
            home: Some(dir.path().join("home")),
            config: Some(config.to_owned()),
            ..ServerOptions::default()
        })
        .await;
        Self { client, dir }
    }

    fn own(&self) -> PathBuf {
        self.client.home().join("config.toml")
    }

    fn project(&self, name: &str) -> PathBuf {
        self.dir.path().join("project").join(name)
    }

    /// The diagnostics of the next version of a document: text of the range, severity, message.
    async fn told(&self, path: &Path, text: &str, version: i32) -> Vec<(String, u64, String)> {
        let place = uri::from_path(path);
        let params = self
            .client
            .expect_notification_where("textDocument/publishDiagnostics", |params| {
                params["uri"] == place.as_str() && params["version"] == version
            })
            .await;
        let lines: Vec<&str> = text.split('\n').collect();
        let one = |diagnostic: &Value| {
            assert_eq!(diagnostic["source"], "countersign config");
            let at = |end: &str, part: &str| diagnostic["range"][end][part].as_u64().expect("a number") as usize;
            let last = at("end", "line");
            let end = match last == at("start", "line") {
                true => at("end", "character"),
                false => lines[at("start", "line")].len(),
            };
            let covered = &lines[at("start", "line")][at("start", "character")..end];
            let severity = diagnostic["severity"].as_u64().expect("a number");
            (
                covered.to_owned(),
                severity,
                diagnostic["message"].as_str().expect("a text").to_owned(),
            )
        };
        params["diagnostics"]
            .as_array()
            .expect("a list")
            .iter()
            .map(one)
            .collect()
    }

    fn change(&self, path: &Path, version: i32, text: &str) {
        let document = json!({"uri": uri::from_path(path), "version": version});
        let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
        self.client.notify("textDocument/didChange", params);
    }

    /// Labels and what they write, at the place of `|`, which is taken out of the text.
    async fn offered(&self, path: &Path, version: i32, text: &str) -> Vec<(String, String)> {
        let (plain, place) = marked(text);
        self.change(path, version, &plain);
        let params = json!({"textDocument": {"uri": uri::from_path(path)}, "position": place});
        let answer = self.client.call("textDocument/completion", params).await;
        let items = answer["items"].as_array().expect("items");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        items
            .iter()
            .map(|item| (text(&item["label"]), text(&item["textEdit"]["newText"])))
            .collect()
    }

    async fn meaning(&self, path: &Path, version: i32, text: &str) -> Option<String> {
        let (plain, place) = marked(text);
        self.change(path, version, &plain);
        let params = json!({"textDocument": {"uri": uri::from_path(path)}, "position": place});
        let answer = self.client.call("textDocument/hover", params).await;
        answer["contents"]["value"].as_str().map(str::to_owned)
    }
}

fn marked(text: &str) -> (String, Value) {
    let at = text.find('|').expect("a mark");
    let before = &text[..at];
    let line = before.matches('\n').count();
    let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
    (text.replacen('|', "", 1), json!({"line": line, "character": column}))
}

fn caps() -> Value {
    json!({
        "general": {"positionEncodings": ["utf-8"]},
        "textDocument": {"publishDiagnostics": {}},
    })
}

#[tokio::test]
async fn what_is_wrong_is_marked_where_it_stands_also_before_it_is_saved() {
    let scene = Scene::new("", &[], caps()).await;
    let own = scene.own();
    let text = "modle = 'x'\nmodel = 5 # five\nmodel_provider = \"opnai\"\napproval_policy = \"nevr\"\ntui = {}\n\n[edits]\napprove = 'ask'\nhinst = true\n\
                [mcp_servers.a]\ncommand = 'x'\nurl = 'http://x/'\n";
    scene.client.open(&own, "toml", 1, text);
    let told = scene.told(&own, text, 1).await;
    let expected = [
        ("modle", 2, "did you mean `model`?"),
        ("5", 2, "must be a text that is not empty"),
        ("\"opnai\"", 2, "There is no model provider \"opnai\""),
        ("\"nevr\"", 2, "Did you mean \"never\"?"),
        ("tui", 4, "not used yet"),
        ("hinst", 2, "did you mean `hints`?"),
        ("'x'", 2, "it has both `command` and `url`"),
    ];
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for ((covered, severity, message), (place, weight, words)) in told.iter().zip(expected) {
        assert_eq!((covered.as_str(), *severity), (place, weight), "{message}");
        assert!(message.contains(words), "{message}");
    }

    // No TOML: that, and nothing else.
    let broken = "modle = 'x'\nmodel = [1,\n";
    scene.change(&own, 2, broken);
    let told = scene.told(&own, broken, 2).await;
    assert!(
        !told.is_empty() && told.iter().all(|(_, severity, _)| *severity == 1),
        "{told:#?}"
    );
    assert!(told[0].2.contains("not valid TOML"), "{told:#?}");
    // Mended: nothing is left.
    scene.change(&own, 3, "model = 'x'\n");
    assert_eq!(scene.told(&own, "", 3).await, []);
}

#[tokio::test]
async fn a_projects_file_is_held_to_what_a_project_may() {
    let scene = Scene::new("sandbox_mode = \"read-only\"\n", &[], caps()).await;
    for folder in [".countersign", ".codex"] {
        let path = scene.project(folder).join("config.toml");
        let text = "model = 'x'\nsandbox_mode = 'workspace-write'\nnotify = ['x']\n";
        scene.client.open(&path, "toml", 1, text);
        let told = scene.told(&path, text, 1).await;
        assert_eq!(told.len(), 2, "{told:#?}");
        assert_eq!(told[0].0, "sandbox_mode = 'workspace-write'");
        assert!(told[0].2.contains("can only tighten"), "{told:#?}");
        assert_eq!(told[1].0, "notify");
        assert!(told[1].2.contains("A project cannot set"), "{told:#?}");
        scene.client.notify(
            "textDocument/didClose",
            json!({"textDocument": {"uri": uri::from_path(&path)}}),
        );
    }
    // Any other file of that name is nobody's business.
    let other = scene.project("config.toml");
    scene.client.open(&other, "toml", 1, "modle = 1\n");
    let params = json!({"textDocument": {"uri": uri::from_path(&other)}, "position": {"line": 0, "character": 1}});
    assert_eq!(
        scene.client.call("textDocument/hover", params.clone()).await,
        Value::Null
    );
    assert_eq!(scene.client.call("textDocument/completion", params).await, Value::Null);
    assert!(
        scene
            .client
            .take_unread()
            .iter()
            .all(|(_, params)| params["uri"] != uri::from_path(&other).as_str())
    );
    // A closed one is cleared, whenever that comes.
    scene.client.ignore("textDocument/publishDiagnostics");
}

#[tokio::test]
async fn what_can_stand_at_a_place_is_offered() {
    let config = "[model_providers.acme]\nbase_url = 'http://127.0.0.1:9/v1'\n[profiles.\"my own\"]\n[profiles.fast]\n";
    let scene = Scene::new(config, &[], caps()).await;
    let own = scene.own();
    scene.client.ignore("textDocument/publishDiagnostics");
    scene.client.open(&own, "toml", 1, config);
    // The text, what must be offered with what it writes, and what must not.
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);
    let rows: &[Row] = &[
        (
            "mod|\n",
            &[("model", "model = "), ("model_provider", "model_provider = ")],
            &["approve"],
        ),
        (
            "model = 'x'\n|\n",
            &[("review_model", "review_model = "), ("[edits]", "[edits]")],
            &["model"],
        ),
        (
            "[edits]\napprove = 'ask'\n|",
            &[("hints", "hints = ")],
            &["approve", "model"],
        ),
        ("[edits]\n# why\nhi|= true\n", &[("hints", "hints")], &[]),
        (
            "[sand|]\n",
            &[("sandbox_workspace_write", "sandbox_workspace_write")],
            &["model"],
        ),
        (
            "[model_providers.|]\n[model_providers.acme]\n",
            &[("acme", "acme"), ("ollama", "ollama")],
            &[],
        ),
        (
            "[model_providers.acme]\nwire|\n",
            &[("wire_api", "wire_api = ")],
            &["model"],
        ),
        (
            "[model_providers.acme]\nwire_api = |\n",
            &[("chat", "\"chat\""), ("responses", "\"responses\"")],
            &[],
        ),
        ("sandbox_mode = \"|\"\n", &[("read-only", "\"read-only\"")], &["true"]),
        (
            "hide_agent_reasoning = |\n",
            &[("true", "true"), ("false", "false")],
            &[],
        ),
        (
            "model_provider = 'a|'\n[model_providers.acme]\nbase_url = 'http://h/'\n",
            &[("acme", "\"acme\""), ("openai", "\"openai\"")],
            &[],
        ),
        (
            "profile = |\n[profiles.fast]\n[profiles.\"my own\"]\n",
            &[("fast", "\"fast\""), ("my own", "\"my own\"")],
            &[],
        ),
        ("default_permissions = |\n", &[(":read-only", "\":read-only\"")], &[]),
        (
            "[profiles.fast]\nmodel_reas|\n",
            &[("model_reasoning_effort", "model_reasoning_effort = ")],
            &["profile", "projects"],
        ),
        ("edits = { |\n", &[("approve", "approve = ")], &["model"]),
        ("edits = { approve = |}\n", &[("workspace", "\"workspace\"")], &[]),
        (
            "edits = { approve = 'ask', hi| }\n",
            &[("hints", "hints = ")],
            &["model"],
        ),
        ("[otel]\nexporter = |\n", &[("none", "\"none\"")], &[]),
        ("[features]\nunified_exec = |\n", &[("true", "true")], &[]),
        ("model = 'x' # |\n", &[], &["model", "true"]),
        ("[nobody.knows]\n|\n", &[], &["model"]),
    ];
    for (number, (text, wanted, unwanted)) in rows.iter().enumerate() {
        let offered = scene.offered(&own, number as i32 + 2, text).await;
        for (label, written) in *wanted {
            let found = offered.iter().find(|(known, _)| known == label);
            assert_eq!(
                found.map(|(_, text)| text.as_str()),
                Some(*written),
                "{text:?}: {offered:?}"
            );
        }
        for label in *unwanted {
            assert!(offered.iter().all(|(known, _)| known != label), "{text:?}: {label}");
        }
    }
    // Models come from the catalogue of the provider.
    let models = scene.offered(&own, 90, "model = |\n").await;
    assert!(
        models
            .iter()
            .any(|(label, text)| label.starts_with("gpt-") && *text == format!("{label:?}")),
        "{models:?}"
    );
}

#[tokio::test]
async fn a_place_says_what_it_means_and_what_counts() {
    let scene = Scene::new("", &[], caps()).await;
    let own = scene.own();
    scene.client.ignore("textDocument/publishDiagnostics");
    scene.client.open(&own, "toml", 1, "");
    let rows: &[(&str, &[&str])] = &[
        (
            "sandbox_m|ode = 'read-only'\n",
            &[
                "`read-only`, `workspace-write`",
                "Without it: `\"workspace-write\"`",
                "In force: `\"read-only\"`",
                "config.toml:1",
                "only tighten",
            ],
        ),
        ("[his|tory]\n", &["a table", "what you typed"]),
        (
            "[history]\nmax_bytes = 1|0\n",
            &["a whole number", "In force: `10`", "config.toml:2"],
        ),
        ("[model_providers.ac|me]\n", &["a table", "model_providers"]),
        (
            "[model_providers.acme]\nexperimental_bearer_token = 's3cr|et'\n",
            &["not shown"],
        ),
        ("active_pro|file = 'p'\n[profiles.p]\n", &["The profile in force"]),
        ("log_d|ir = 'x'\n", &["not used yet"]),
        // Broken elsewhere: what it means is known all the same.
        ("a = = b\nmod|el = 'x'\n", &["The model that threads begin with"]),
    ];
    for (number, (text, wanted)) in rows.iter().enumerate() {
        let meaning = scene.meaning(&own, number as i32 + 2, text).await;
        let meaning = meaning.unwrap_or_else(|| panic!("{text:?} means nothing"));
        for words in *wanted {
            assert!(meaning.contains(words), "{text:?}: {words}: {meaning}");
        }
        assert!(!meaning.contains("s3cret"), "{meaning}");
    }
    assert_eq!(scene.meaning(&own, 81, "unheard_|of = 1\n").await, None);
    // What a file says stays in its code.
    for (version, text, code) in [
        (
            82,
            "mod|el = 'm` ![p](https://evil.example/p.png)'\n",
            "In force: `` \"m` ![p](https://evil.example/p.png)\" ``, from",
        ),
        (
            83,
            "[model_providers.'x|` <img src=y>']\n",
            "**`` model_providers.x` <img src=y> ``**",
        ),
    ] {
        let meaning = scene.meaning(&own, version, text).await.expect("a meaning");
        assert!(meaning.contains(code), "{meaning}");
    }
}

/// A client that takes registrations is asked for these files only.
#[tokio::test]
async fn editors_are_told_for_which_files_it_is() {
    let dynamic = json!({"dynamicRegistration": true});
    let mut caps = caps();
    caps["textDocument"]["hover"] = dynamic.clone();
    caps["textDocument"]["completion"] = dynamic;
    let options = ServerOptions {
        caps: Caps::Own(caps),
        config: Some(String::new()),
        ..ServerOptions::default()
    };
    let params = initialize_params(&options);
    let mut client = Client::connect(options);
    client.on_request("client/registerCapability", |_| Reply::Later);
    client.server_says = client.call("initialize", params).await;
    assert_eq!(
        client.server_says["capabilities"].get("hoverProvider"),
        None,
        "{}",
        client.server_says
    );
    client.notify("initialized", json!({}));
    client.initialized();
    let asked = client.expect_request("client/registerCapability").await;
    let registrations = asked.params["registrations"].as_array().expect("a list").clone();
    client.answer(&asked, Ok(Value::Null));
    let of = |method: &str| -> Vec<String> {
        let mine = registrations.iter().filter(|one| one["method"] == method);
        let patterns = mine.flat_map(|one| {
            one["registerOptions"]["documentSelector"]
                .as_array()
                .expect("a list")
                .clone()
        });
        patterns
            .map(|one| one["pattern"].as_str().expect("a text").to_owned())
            .collect()
    };
    for method in ["textDocument/hover", "textDocument/completion"] {
        assert_eq!(
            of(method),
            ["**/*.countersign.md", "**/config.toml", "**/*.config.toml"],
            "{method}"
        );
    }
}
