//! What must show nowhere does not: after a whole story with every kind of trouble, all that was written, sent and handed on
//! is searched for keys, tokens and codes.

use super::scene::{Scene, Setting};
use crate::support::authority::{Manner, browse};
use crate::support::collector::Collector;
use crate::support::mcp::{Web, reading};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.file_type().expect("a kind") {
            kind if kind.is_dir() => found.extend(files(&entry.path())),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

#[tokio::test]
async fn secrets_show_nowhere() {
    const KEY: &str = "sk-a-key-that-shows-nowhere";
    const BEARER: &str = "a-bearer-of-a-tool-server";
    const COLLECTOR: &str = "a-password-of-a-collector";
    let collector = Collector::http().await;
    let telemetry = collector.exporter("logs", ", headers = { \"x-key\" = \"${COLLECTOR_KEY}\" }");
    let tools = Web::start(json!({"token": BEARER, "tools": [reading("look")]})).await;
    let tools_url = tools.url.clone();
    let call =
        |id: &str, command: Value| json!([{"call": {"tool": "shell", "arguments": {"command": command}, "id": id}}]);
    let prepare = |authority: &crate::support::authority::Authority, setting: &mut Setting| {
        let token = authority.access();
        setting.top = format!(
            "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"\n\
             otel = {{ log_user_prompt = true, exporter = {telemetry} }}\n\
             mcp_servers = {{ docs = {{ url = \"{tools_url}\", bearer_token_env_var = \"DOCS_TOKEN\", trust_annotations = true }} }}"
        );
        let echo = json!({"error": {"message": format!("Unknown token {token}")}});
        setting.script = Some(json!([
            {"when": {"header": {"authorization": token}}, "repeat": true,
                "outputs": [{"fail": {"status": 401, "body": echo}}]},
            call("env", json!(["env"])),
            call("cat", json!(["sh", "-c", "cat \"$HOME\"/home/auth.json \"$HOME\"/home/private/* ../home/private/auth.json 2>&1; ls -la"])),
            {"outputs": [{"call": {"tool": "read_file", "arguments": {"path": "/var/tmp/none"}, "id": "none"}}]},
            {"outputs": [{"call": {"tool": "mcp__docs__look", "arguments": {}, "id": "look"}}]},
            [{"say": "Done."}],
            {"repeat": true, "outputs": [{"fail": {"status": 401, "body": {"error": {"message": "No."}}}}]},
        ]));
    };
    let setting = Setting {
        logged_in: true,
        ..Setting::default()
    };
    let trace = tempfile::NamedTempFile::new().expect("a file");
    let setting = Setting {
        env: [
            ("COUNTERSIGN_LOG", "trace"),
            ("DOCS_TOKEN", BEARER),
            ("COLLECTOR_KEY", COLLECTOR),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        args: vec!["--trace-file".to_owned(), trace.path().display().to_string()],
        ..setting
    };
    let scene = Scene::after(setting, prepare).await;
    let thread = scene.thread().await;
    assert_eq!(scene.turn(&thread).await["status"], "completed");
    // Trouble of every kind, which repeats what it was sent.
    assert_eq!(scene.turn(&thread).await["status"], "failed");
    let refresh = scene.stored().expect("kept")["tokens"]["refresh_token"].clone();
    let echo =
        json!({"error": "invalid_grant", "error_description": format!("No {}", refresh.as_str().expect("a token"))});
    scene.authority.behave("refresh", Manner::Says(400, echo));
    scene.turn(&thread).await;
    scene.call("status", json!({"refreshToken": true})).await;
    scene.call("read", json!({"refreshToken": true})).await;
    scene.authority.behave("exchange", Manner::Html);
    let (_, page) = scene.browser().await;
    browse(&page).await.expect("a page");
    scene.completed().await;
    scene.authority.behave("exchange", Manner::Well);
    scene.log_in().await;
    scene.call("rateLimits/read", json!({})).await;
    scene.client.call("countersign/config/read", json!({})).await;
    let shown = scene.call("status", json!({"includeToken": true})).await;
    assert_eq!(shown["authToken"], scene.authority.access());
    let last = scene.stored();
    scene
        .call("login/start", json!({"type": "apiKey", "apiKey": KEY}))
        .await;
    scene.completed().await;
    scene.updated().await;
    scene
        .fails(
            "login/start",
            json!({"type": "apiKey", "apiKey": format!("{KEY} {KEY}")}),
        )
        .await;
    assert_ne!(scene.stored(), last);
    scene.turn(&thread).await;
    let Scene {
        mut client,
        model,
        authority,
        home,
        dir,
        _folder,
    } = scene;
    // What reached the model, but for the header that it is for.
    let mut places: Vec<(String, String)> = model
        .requests()
        .iter()
        .map(|request| (format!("request {}", request.number), request.body.to_string()))
        .collect();
    // What is to be sent is sent before it ends.
    client.call("shutdown", Value::Null).await;
    client.notify("exit", Value::Null);
    client.expect_end().await;
    drop(client);
    for path in files(&home)
        .into_iter()
        .chain(files(&dir))
        .chain([trace.path().to_owned()])
    {
        if path != home.join("private/auth.json") {
            let text = std::fs::read(&path).expect("bytes");
            places.push((path.display().to_string(), String::from_utf8_lossy(&text).into_owned()));
        }
    }
    assert!(places.iter().any(|(place, _)| place.ends_with("countersign.log")));
    assert!(
        places
            .iter()
            .any(|(place, text)| place == "request 3" && text.contains("PATH=")),
        "the environment was seen"
    );
    // What the collector was sent, but for the header that it is for, and what the tools were.
    let received = collector.received();
    assert!(!received.is_empty(), "telemetry was sent");
    for sent in &received {
        assert_eq!(sent.headers["x-key"], COLLECTOR);
        let body = String::from_utf8_lossy(&sent.body).into_owned();
        places.push((format!("telemetry {}", sent.path), body));
    }
    let looked = model.requests().iter().find_map(|request| request.output("look"));
    assert!(
        looked.is_some_and(|output| !output.contains("unsupported call")),
        "the tool was there"
    );
    for seen in tools.seen() {
        places.push(("the MCP server".to_owned(), seen.body.to_string()));
    }
    let mut secrets = authority.secrets();
    secrets.extend([KEY, BEARER, COLLECTOR].map(str::to_owned));
    assert!(secrets.len() > 6);
    for (place, text) in &places {
        for secret in secrets.iter().map(String::as_str) {
            assert!(!text.contains(secret), "{place} holds {secret}");
        }
    }
}

/// Whatever becomes secret while the server runs is taken out of what leaves from then on: what is signed in with and what a
/// renewal brings, a key, a value of a configuration that is loaded again.
#[tokio::test]
async fn what_changes_is_known_to_be_secret_at_once() {
    const KEY: &str = "a-key-without-any-form";
    const RELOADED: &str = "a-header-of-the-new-configuration";
    let setting = Setting {
        logged_in: true,
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    let report = async |secret: &str| {
        let asked = json!({"classification": "bug", "reason": format!("It said {secret}!")});
        let shown = scene.client.call("countersign/feedback/preview", asked).await;
        shown["report"].as_str().expect("a report").to_owned()
    };
    let tokens = |scene: &Scene| {
        let stored = scene.stored().expect("kept");
        let text = |name: &str| stored["tokens"][name].as_str().expect("a token").to_owned();
        ["access_token", "refresh_token", "id_token"].map(text)
    };
    let mut secrets = Vec::new();
    scene.call("read", json!({})).await;
    secrets.extend(tokens(&scene));
    scene.call("read", json!({"refreshToken": true})).await;
    secrets.extend(tokens(&scene));
    scene.log_in().await;
    secrets.extend(tokens(&scene));
    scene
        .call("login/start", json!({"type": "apiKey", "apiKey": KEY}))
        .await;
    scene.completed().await;
    scene.updated().await;
    secrets.push(KEY.to_owned());
    assert!(report(RELOADED).await.contains(RELOADED), "nobody knows yet");
    let path = scene.home.join("config.toml");
    let config = std::fs::read_to_string(&path).expect("text");
    let header = format!("request_max_retries = 1\nhttp_headers = {{ \"x-login-token\" = \"{RELOADED}\" }}");
    std::fs::write(&path, config.replace("request_max_retries = 1", &header)).expect("a file");
    scene.client.call("countersign/config/reload", json!({})).await;
    secrets.push(RELOADED.to_owned());
    for secret in &secrets {
        let report = report(secret).await;
        assert!(
            !report.contains(secret) && report.contains("It said <secret>!"),
            "{report}"
        );
    }
}
