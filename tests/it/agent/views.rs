//! What the model is offered, by its family and by what is switched on: images, the web, terminals, snapshots.

use super::stage::{Setting, Stage, bash, command_output, eventually, say, write};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot really";

fn view(id: &str, path: &str) -> Value {
    json!({"call": {"tool": "view_image", "arguments": {"path": path}, "id": id}})
}

/// Shows S-200.
#[tokio::test]
async fn an_image_reaches_the_model_over_both_wires_whatever_it_is_called() {
    for (wire_api, place) in [("responses", "/input_image"), ("chat", "/image_url")] {
        let script = json!([
            [
                view("c1", "shot.txt"),
                view("c2", "notes.png"),
                view("c3", "gone.png"),
                view("c4", ".")
            ],
            [say("A cat.")],
        ]);
        let setting = Setting {
            provider: format!("wire_api = \"{wire_api}\""),
            files: vec![("notes.png".into(), "words, no picture".into())],
            ..Setting::default()
        };
        let stage = Stage::with(script, setting).await;
        std::fs::write(stage.path("shot.txt"), PNG).expect("written");
        let thread = stage.thread().await;
        let story = stage.complete(&thread, "Look").await;
        let request = &stage.requests(2)[1];
        let sent = request.body.to_string();
        assert!(
            sent.contains("data:image/png;base64,iVBORw0KGgpub3QgcmVhbGx5"),
            "{place}: {sent}"
        );
        assert!(sent.contains(place.trim_start_matches('/')), "{wire_api}: {sent}");
        for (id, part) in [
            ("c1", "png, 18 bytes"),
            ("c2", "by its content"),
            ("c3", "gone.png"),
            ("c4", "not a file"),
        ] {
            let output = request.output(id).expect("an output");
            assert!(output.contains(part), "{id}: {output}");
        }
        let statuses: Vec<_> = story
            .items("toolCall")
            .iter()
            .map(|item| item["status"].clone())
            .collect();
        assert_eq!(
            statuses.iter().filter(|status| *status == "completed").count(),
            1,
            "{statuses:?}"
        );
        // The image itself is not shown a second time in the item.
        assert!(!json!(story.items("toolCall")).to_string().contains("base64"));
    }
}

/// Keys and what the person closed are no images either, also not by way of a link.
#[tokio::test]
async fn closed_places_are_closed_for_images() {
    let script = json!([[view("c1", "secret/a.png"), view("c2", "link.png")], [say("ok")]]);
    let setting = Setting {
        tables: "[sandbox]\nunreadable = [\"secret\"]".into(),
        files: vec![("secret/a.png".into(), String::new())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    std::fs::write(stage.path("secret/a.png"), PNG).expect("written");
    std::os::unix::fs::symlink(stage.path("secret/a.png"), stage.path("link.png")).expect("a link");
    let setting = json!({"config": {"sandbox.unreadable": [stage.path("secret")]}});
    let started = stage.start_thread(setting).await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    stage.complete(&thread, "Look").await;
    let request = &stage.requests(2)[1];
    for id in ["c1", "c2"] {
        let output = request.output(id).expect("an output");
        assert!(output.contains("closed"), "{id}: {output}");
    }
    assert!(!request.body.to_string().contains("base64"));
}

/// Shows S-186, S-187.
#[tokio::test]
async fn what_is_offered_follows_the_models_family_and_the_features() {
    let rows = [
        (
            "gpt-5",
            "",
            &["view_image", "exec_command", "write_stdin", "request_user_input"][..],
            &["web_search"][..],
        ),
        ("gpt-4", "", &["exec_command"], &["view_image"]),
        ("gpt-3.5-turbo", "", &["exec_command"], &["view_image"]),
        ("somebodys-model", "", &["view_image"], &[]),
        ("o3", "", &["view_image"], &[]),
        ("gpt-5", "view_image = false", &[], &["view_image"]),
        ("gpt-5", "view_image_tool = false", &[], &["view_image"]),
        (
            "gpt-5",
            "unified_exec = false",
            &["shell"],
            &["exec_command", "write_stdin"],
        ),
        (
            "gpt-5",
            "streamable_shell = false",
            &["shell"],
            &["exec_command", "write_stdin"],
        ),
        ("gpt-5", "web_search = true", &["web_search"], &[]),
        ("gpt-5", "web_search_request = true", &["web_search"], &[]),
    ];
    for (model, feature, has, has_not) in rows {
        let setting = Setting {
            tables: format!("[features]\n{feature}"),
            ..Setting::default()
        };
        let stage = Stage::with(json!([[view("c1", "a.png")], [say("ok")]]), setting).await;
        let started = stage.start_thread(json!({"settings": {"model": model}})).await;
        let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
        stage.complete(&thread, "Go").await;
        let requests = stage.requests(2);
        // What the provider does itself has a type and no name.
        let mut offered = requests[0].tools();
        let tools = requests[0].body["tools"].as_array().expect("tools");
        offered.extend(tools.iter().filter_map(|tool| tool["type"].as_str()).map(str::to_owned));
        for name in has {
            assert!(
                offered.contains(&(*name).to_owned()),
                "{model} {feature}: {name} is missing in {offered:?}"
            );
        }
        for name in has_not {
            assert!(
                !offered.contains(&(*name).to_owned()),
                "{model} {feature}: {name} is in {offered:?}"
            );
        }
        let side_by_side = model != "o3";
        assert_eq!(requests[0].body["parallel_tool_calls"], side_by_side, "{model}");
        if has_not.contains(&"view_image") {
            let output = requests[1].output("c1").expect("an output");
            let why = if feature.is_empty() {
                "takes no images"
            } else {
                "switched off"
            };
            assert!(output.contains(why), "{model} {feature}: {output}");
        }
    }
}

/// The other wire API has no such thing, so nothing is offered that it cannot express.
#[tokio::test]
async fn the_web_is_not_offered_where_the_provider_cannot_search_it() {
    let setting = Setting {
        provider: "wire_api = \"chat\"".into(),
        tables: "[features]\nweb_search = true".into(),
        ..Setting::default()
    };
    let stage = Stage::with(json!([[say("ok")]]), setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    assert!(!stage.requests(1)[0].body["tools"].to_string().contains("web_search"));
}

/// The key says more than the feature, and wins over it: `cached` reaches nothing but what the provider has kept, and is not
/// offered where a search always reaches out.
#[tokio::test]
async fn the_key_of_the_web_search_says_how_far_it_reaches() {
    for (key, feature, expected) in [
        ("disabled", "true", None),
        ("live", "false", Some(Value::Null)),
        ("cached", "false", Some(json!(false))),
        ("indexed", "true", Some(json!(false))),
    ] {
        let setting = Setting {
            config: format!("web_search = \"{key}\""),
            tables: format!("[features]\nweb_search = {feature}"),
            ..Setting::default()
        };
        let stage = Stage::with(json!([[say("ok")]]), setting).await;
        let thread = stage.thread().await;
        stage.complete(&thread, "Go").await;
        let request = &stage.requests(1)[0];
        let mut tools = request.body["tools"].as_array().expect("tools").iter();
        let search = tools.find(|tool| tool["type"] == "web_search");
        assert_eq!(
            search.map(|tool| tool["external_web_access"].clone()),
            expected,
            "{key}: {search:?}"
        );
    }
}

/// Shows S-200.
#[tokio::test]
async fn a_search_of_the_providers_is_shown_as_it_begins_and_as_one_item() {
    let done = json!({
        "type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": {"type": "search", "query": "rust editions"},
    });
    let begun = json!({
        "type": "response.output_item.added", "output_index": 0,
        "item": {"type": "web_search_call", "id": "ws_1", "status": "in_progress"},
    });
    let script = json!([[{ "raw_event": begun }, { "item": done }, say("There are four.")]]);
    let setting = Setting {
        tables: "[features]\nweb_search = true".into(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "How many?").await;
    let start = story.at(|name, params| name == "item/started" && params["item"]["tool"] == "web_search");
    assert_eq!(story.events[start].1["item"]["status"], "inProgress");
    let item = story.item("toolCall");
    assert_eq!(
        (&item["tool"], &item["title"], &item["status"]),
        (
            &json!("web_search"),
            &json!("Search the web for rust editions"),
            &json!("completed")
        )
    );
}

/// A program in the place of git that lets the real one begin only when a file is there, and says that it was called.
fn slow_git(gate: &std::path::Path) -> String {
    let gate = gate.display();
    format!(
        "#!/bin/sh\n: > {gate}/called\nwhile [ ! -e {gate}/go ]; do sleep 0.02; done\nPATH=/usr/local/bin:/usr/bin:/bin\n\
         exec git \"$@\"\n"
    )
}

/// Shows S-187, S-194.
#[tokio::test]
async fn a_command_that_may_write_waits_for_the_snapshot_unless_that_is_switched_off() {
    for (snapshots, expected) in [(true, "after\n"), (false, "before\n")] {
        let bin = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let gate = bin.path().to_owned();
        write(&gate.join("git"), &slow_git(&gate));
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(gate.join("git"), std::fs::Permissions::from_mode(0o755)).expect("a program");
        let check = format!("test -e {}/go && echo after || echo before; touch made", gate.display());
        let setting = Setting {
            tables: format!("[features]\nghost_commit = {snapshots}"),
            // Without a file there is nothing that git would have to keep.
            files: vec![("kept.txt".into(), "kept\n".into())],
            env: vec![
                (
                    "PATH".into(),
                    format!("{}:/usr/local/bin:/usr/bin:/bin", gate.display()),
                ),
                ("SLOW_GIT".into(), gate.display().to_string()),
            ],
            ..Setting::default()
        };
        let stage = Stage::with(json!([[bash("c1", &check)], [say("ok")]]), setting).await;
        if !snapshots {
            // Whatever else looks at the repository is not held up, and the command tells what it found.
            let thread = stage.thread().await;
            stage.complete(&thread, "Go").await;
            let (output, _) = command_output(&stage.requests(2)[1], "c1");
            assert_eq!(output, expected);
            continue;
        }
        let thread = stage.thread().await;
        let turn = stage.start_turn(&thread, "Go").await;
        eventually("the snapshot is under way", || gate.join("called").exists()).await;
        stage
            .until(|method, params| method == "item/started" && params["item"]["type"] == "commandExecution")
            .await;
        // A command that did not wait would have run by now.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        assert!(!stage.path("made").exists(), "it ran before the snapshot was there");
        write(&gate.join("go"), "");
        assert_eq!(stage.finish(&turn).await.status(), "completed");
        let (output, _) = command_output(&stage.requests(2)[1], "c1");
        assert_eq!(output, expected);
    }
}

/// A provider that keeps what it is asked with, lists one model, and answers nothing else.
async fn listening() -> (String, Arc<Mutex<Vec<(String, String, String)>>>) {
    let heard: Arc<Mutex<Vec<(String, String, String)>>> = Arc::default();
    let told = heard.clone();
    let app = axum::Router::new().fallback(
        async move |uri: axum::http::Uri, headers: axum::http::HeaderMap, body: String| {
            let key = headers.get("authorization").or_else(|| headers.get("x-api-key"));
            let key = key.and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
            told.lock().expect("whole").push((uri.path().to_owned(), key, body));
            match uri.path() {
                "/v1/models" => {
                    let models = json!({"data": [{"id": "listed"}, {"id": "some-embedding"}]});
                    (axum::http::StatusCode::OK, models.to_string())
                }
                _ => (axum::http::StatusCode::BAD_REQUEST, "{}".to_owned()),
            }
        },
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    (format!("http://{address}/v1"), heard)
}

/// Over Anthropic's wire the provider searches, so often at most that it does not pause in the midst of an answer.
#[tokio::test]
async fn the_web_is_offered_over_anthropics_wire() {
    for (model, key, feature, is_offered) in [
        ("claude-sonnet-4-5", "", "web_search = true", true),
        ("anthropic/claude-opus-4.5", "", "web_search = true", true),
        ("claude-sonnet-4-5", "", "web_search = false", false),
        ("somebodys-model", "", "web_search = true", false),
        ("claude-sonnet-4-5", "web_search = \"live\"", "", true),
        // It would reach out.
        (
            "claude-sonnet-4-5",
            "web_search = \"cached\"",
            "web_search = true",
            false,
        ),
    ] {
        let (base_url, heard) = listening().await;
        let setting = Setting {
            config: key.to_owned(),
            provider: "wire_api = \"anthropic\"".into(),
            tables: format!("[features]\n{feature}"),
            base_url: Some(base_url),
            ..Setting::default()
        };
        let stage = Stage::with(json!([]), setting).await;
        let started = stage.start_thread(json!({"settings": {"model": model}})).await;
        let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
        assert_eq!(stage.run(&thread, "Go").await.status(), "failed");
        let heard = heard.lock().expect("whole");
        let body: Value = serde_json::from_str(&heard[0].2).expect("JSON");
        let tools = body["tools"].as_array().expect("tools");
        let search = tools.iter().find(|tool| tool["type"] == "web_search_20250305");
        assert_eq!(search.is_some(), is_offered, "{tools:?}");
        if let Some(search) = search {
            assert_eq!(
                (&search["name"], &search["max_uses"]),
                (&json!("web_search"), &json!(8))
            );
        }
    }
}

/// The models that a provider lists itself are asked for with the key that its program gives; what cannot be talked to is not
/// among them. Where it does not answer, what is configured is there all the same.
#[cfg(unix)]
#[tokio::test]
async fn the_models_of_a_provider_are_asked_for_with_the_key_of_its_program() {
    for (script, key, models) in [
        (
            "echo token-of-the-program",
            "Bearer token-of-the-program",
            &["rehearsal", "listed"][..],
        ),
        ("exit 3", "", &["rehearsal"]),
    ] {
        let (base_url, heard) = listening().await;
        let setting = Setting {
            tables: format!(
                "[model_providers.rehearsal.auth]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"{script}\"]\ntimeout_ms = 20000"
            ),
            base_url: Some(base_url),
            ..Setting::default()
        };
        let stage = Stage::with(json!([]), setting).await;
        let list = stage.client.call("countersign/model/list", json!({})).await;
        let listed: Vec<&str> = list["data"]
            .as_array()
            .expect("models")
            .iter()
            .filter_map(|model| model["id"].as_str())
            .collect();
        assert_eq!(listed, models, "{script}");
        let heard = heard.lock().expect("whole");
        let keys: Vec<&str> = heard.iter().map(|(_, key, _)| key.as_str()).collect();
        assert!(keys.iter().all(|sent| *sent == key), "{keys:?}");
        assert_eq!(keys.is_empty(), key.is_empty(), "without a key nothing is sent");
    }
}
