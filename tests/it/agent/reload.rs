//! The configuration while threads are live: written, read as it is saved, and taken up.

use super::stage::{Setting, Stage, bash, command_output, say};
use serde_json::{Value, json};
use std::path::PathBuf;

fn file(stage: &Stage) -> PathBuf {
    stage.client.home().join("config.toml")
}

fn text(stage: &Stage) -> String {
    std::fs::read_to_string(file(stage)).expect("a file")
}

/// Shows S-358.
#[tokio::test]
async fn the_saved_configuration_is_read_as_it_stands() {
    let stage = Stage::configured("model_reasoning_effort = \"high\"", json!([])).await;
    let params = json!({"saved": true, "cwd": stage.dir});
    let read = stage.client.call("countersign/config/read", params.clone()).await;
    assert_eq!(read["config"]["model_reasoning_effort"], "high");
    // The defaults of other layers are not in it.
    assert_eq!(read["config"].get("approval_policy"), None, "{read}");
    let whole = stage.client.call("countersign/config/read", json!({})).await;
    assert_eq!(whole["config"]["approval_policy"], "on-request");
    assert_eq!(whole.get("version"), None);

    std::fs::write(file(&stage), "model = \n").expect("written");
    let broken = stage
        .client
        .request("countersign/config/read", params.clone())
        .await
        .unwrap_err();
    assert_eq!(
        (broken.code, &broken.data["kind"]),
        (-32603, &json!("configBroken")),
        "{broken:?}"
    );
    assert!(broken.message.contains("line 1"), "{broken:?}");
    std::fs::remove_file(file(&stage)).expect("removed");
    std::fs::create_dir(file(&stage)).expect("a folder in its place");
    let unreadable = stage
        .client
        .request("countersign/config/read", params)
        .await
        .unwrap_err();
    assert_eq!(
        (unreadable.code, &unreadable.data["kind"]),
        (-32603, &json!("configUnreadable")),
        "{unreadable:?}"
    );
}

/// Shows S-359.
#[tokio::test]
async fn the_default_model_is_saved_and_nothing_else_changes() {
    let stage = Stage::new(json!([])).await;
    let written = "# mine\nmodel = \"rehearsal\" # for now\n\n[history] # what I typed\npersistence = \"none\"\n";
    std::fs::write(file(&stage), written).expect("written");
    let set = async |params: Value| stage.client.request("countersign/model/setDefault", params).await;
    let result = set(json!({"model": "other"})).await.expect("saved");
    assert_eq!(result, json!({"path": file(&stage)}));
    assert_eq!(text(&stage), written.replace("\"rehearsal\"", "\"other\""));
    set(json!({"effort": "low"})).await.expect("saved");
    let expected = written.replace(
        "\"rehearsal\" # for now\n",
        "\"other\" # for now\nmodel_reasoning_effort = \"low\"\n",
    );
    assert_eq!(text(&stage), expected);
    assert_eq!(set(json!({})).await.unwrap_err().code, -32602);

    // Into the profile in force: a table, or a file of its own.
    std::fs::write(
        file(&stage),
        "profile = \"fast\"\nmodel = \"a\"\n[profiles.fast] # quick\nmodel = \"b\"\n",
    )
    .expect("written");
    let result = set(json!({"model": "c", "effort": "high"})).await.expect("saved");
    assert_eq!(result["profile"], "fast");
    assert_eq!(
        text(&stage),
        "profile = \"fast\"\nmodel = \"a\"\n[profiles.fast] # quick\nmodel = \"c\"\nmodel_reasoning_effort = \"high\"\n"
    );
    std::fs::write(file(&stage), "profile = \"own\"\n").expect("written");
    let own = stage.client.home().join("own.config.toml");
    std::fs::write(&own, "# here\n").expect("written");
    let result = set(json!({"model": "d"})).await.expect("saved");
    assert_eq!(result["path"], json!(own));
    let own = std::fs::read_to_string(own).expect("there");
    assert!(own.contains("model = \"d\"") && own.contains("# here"), "{own}");
    assert_eq!(text(&stage), "profile = \"own\"\n");

    // What cannot be saved is told, and the file stays.
    std::fs::write(file(&stage), "model = \n").expect("written");
    let error = set(json!({"model": "e"})).await.unwrap_err();
    assert_eq!(
        (error.code, &error.data["kind"]),
        (-32603, &json!("configBroken")),
        "{error:?}"
    );
    assert_eq!(text(&stage), "model = \n");
    std::fs::remove_file(file(&stage)).expect("removed");
    std::fs::create_dir(file(&stage)).expect("a folder in its place");
    let error = set(json!({"model": "e"})).await.unwrap_err();
    assert_eq!(error.code, -32603, "{error:?}");
}

/// Shows S-360.
#[tokio::test]
async fn a_live_thread_takes_the_changed_file_up() {
    let script = json!([
        [bash("c1", "echo \"<$MARK>\"")],
        [say("one")],
        [bash("c2", "echo \"<$MARK>\"")],
        [say("two")],
        [bash("c3", "echo \"<$MARK>\"")],
        [say("three")],
        [bash("c4", "echo \"<$MARK>\"")],
        [say("four")],
    ]);
    let setting = Setting {
        tables: "[shell_environment_policy.set]\nMARK = \"first\"".to_owned(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.client.ignore("countersign/thread/configured");
    stage.client.ignore("countersign/warning");
    stage.complete(&thread, "Go").await;

    // Asked for.
    std::fs::write(file(&stage), text(&stage).replace("first", "second")).expect("written");
    let reloaded = stage
        .client
        .call("countersign/config/reload", json!({"threadId": thread}))
        .await;
    assert_eq!(reloaded["warnings"], json!([]));
    stage.complete(&thread, "Go").await;

    // Seen before the next turn.
    let params = json!({"edits": [{"keyPath": "shell_environment_policy.set.MARK", "value": "the third"}]});
    stage.client.call("countersign/config/write", params).await;
    stage.complete(&thread, "Go").await;

    // A broken file takes nothing away.
    std::fs::write(file(&stage), format!("{}\nbroken = \n", text(&stage))).expect("written");
    let error = stage
        .client
        .request("countersign/config/reload", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.data["kind"], "configBroken", "{error:?}");
    stage.complete(&thread, "Go").await;

    let requests = stage.requests(8);
    for (call, mark) in [
        ("c1", "<first>"),
        ("c2", "<second>"),
        ("c3", "<the third>"),
        ("c4", "<the third>"),
    ] {
        let (printed, _) = command_output(&requests[7], call);
        assert!(printed.contains(mark), "{call}: {printed}");
    }
}

#[tokio::test]
async fn settings_from_the_file_follow_it_and_those_of_the_thread_stay() {
    let stage = Stage::configured(
        "approval_policy = \"on-request\"\npersonality = \"friendly\"",
        json!([]),
    )
    .await;
    let own = stage
        .start_thread(json!({"settings": {"approvalPolicy": "never"}}))
        .await;
    let plain = stage.start_thread(json!({})).await;
    let edits = json!([
        {"keyPath": "approval_policy", "value": "untrusted"},
        {"keyPath": "personality", "value": "pragmatic"},
        {"keyPath": "model", "value": "another"},
    ]);
    let written = stage
        .client
        .call("countersign/config/write", json!({"edits": edits}))
        .await;
    assert_eq!(written["overridden"], json!({}));
    stage.client.call("countersign/config/reload", json!({})).await;
    // Each is told once, in whichever order.
    let told = [stage.next().await, stage.next().await];
    for (started, approval) in [(&own, "never"), (&plain, "untrusted")] {
        let of_it = |event: &&(String, Value)| event.1["threadId"] == started["thread"]["id"];
        let (method, params) = told.iter().find(of_it).expect("told");
        assert_eq!(method, "thread/configured");
        let settings = &params["settings"];
        assert_eq!(settings["approvalPolicy"], approval);
        assert_eq!(settings["personality"], "pragmatic");
        assert_eq!(settings["model"], "rehearsal");
    }
    // A thread that begins now has all of it.
    let new = stage.start_thread(json!({})).await;
    assert_eq!(new["settings"]["model"], "another");
    // What is there already is told no second time.
    stage.client.call("countersign/config/reload", json!({})).await;
    stage.client.settle().await;
    assert_eq!(stage.client.take_unread(), []);
}

/// Shows S-356.
#[tokio::test]
async fn what_would_not_be_valid_is_not_written() {
    let stage = Stage::new(json!([])).await;
    let before = text(&stage);
    let version = stage
        .client
        .call("countersign/config/read", json!({"saved": true}))
        .await["version"]
        .clone();
    let table = [
        (
            json!([{"keyPath": "approval_policy", "value": "sometimes"}]),
            -32602,
            "sometimes",
        ),
        (
            json!([{"keyPath": "model", "value": "a"}, {"keyPath": "model_context_window", "value": "wide"}]),
            -32602,
            "model_context_window",
        ),
        (json!([{"keyPath": "a..b", "value": 1}]), -32602, "names no key"),
        (json!([{"keyPath": "model.x", "value": 1}]), -32602, "no table"),
    ];
    for (edits, code, part) in table {
        let error = stage
            .client
            .request("countersign/config/write", json!({"edits": edits}))
            .await
            .unwrap_err();
        assert_eq!(error.code, code, "{error:?}");
        assert!(error.message.contains(part), "{error:?}");
        assert_eq!(text(&stage), before);
    }
    let edit = json!([{"keyPath": "hide_agent_reasoning", "value": true}]);
    let params = json!({"edits": edit, "expectedVersion": "0000000000000000"});
    let stale = stage
        .client
        .request("countersign/config/write", params)
        .await
        .unwrap_err();
    assert_eq!(
        (stale.code, &stale.data["kind"]),
        (-32801, &json!("contentModified")),
        "{stale:?}"
    );
    assert_eq!(text(&stage), before);
    let params = json!({"edits": edit, "expectedVersion": version});
    stage.client.call("countersign/config/write", params).await;
    let params = json!({"edits": [{"keyPath": "hide_agent_reasoning", "value": null}]});
    stage.client.call("countersign/config/write", params).await;
    assert_eq!(text(&stage), before);

    // Writers side by side lose nothing of each other's.
    let names: Vec<String> = (0..12).map(|number| format!("m{number}")).collect();
    let all = names.iter().map(|name| {
        let edits = json!([{"keyPath": format!("model_providers.{name}"), "value": {"name": name, "base_url": "http://127.0.0.1:9"}}]);
        stage.client.call("countersign/config/write", json!({"edits": edits}))
    });
    futures::future::join_all(all).await;
    let read = stage
        .client
        .call("countersign/config/read", json!({"saved": true}))
        .await;
    for name in names {
        assert_eq!(read["config"]["model_providers"][&name]["name"], json!(name), "{read}");
    }
}
