//! What a thread that is brought back goes on with of its settings, and what not.

use super::stage::{Setting, Stage, say};
use countersign::protocol::event::EVENTS;
use serde_json::{Value, json};

/// A thread of an earlier server that ran one turn with these settings; then one with another configuration, which resumes
/// it with `change`. Gives the settings and the warnings.
async fn resumed(first: &str, settings: Value, second: &str, change: Value) -> (Value, Vec<String>) {
    let home = tempfile::tempdir().expect("a folder");
    let setting = |config: &str| Setting {
        config: config.to_owned(),
        home: Some(home.path().join("home")),
        ..Setting::default()
    };
    let stage = Stage::with(json!([[say("One.")]]), setting(first)).await;
    let thread = stage.thread().await;
    let input = json!([{"type": "text", "text": "First"}]);
    let story = stage
        .run_with(json!({"threadId": thread, "input": input, "settings": settings}))
        .await;
    assert_eq!(story.status(), "completed", "{story:#?}");
    let folder = stage.end();
    let dir = folder.as_ref().expect("a workspace").path().join("work");
    let stage = Stage::with(
        json!([[say("Two.")]]),
        Setting {
            folder: Some(dir.canonicalize().expect("a path")),
            ..setting(second)
        },
    )
    .await;
    let params = json!({"threadId": thread, "settings": change});
    let resumed = stage.resume(params).await;
    let story = stage.complete(&thread, "Second").await;
    let warnings = story.all("warning").into_iter();
    let warnings = warnings
        .filter_map(|one| one["message"].as_str().map(str::to_owned))
        .collect();
    (resumed["settings"].clone(), warnings)
}

#[tokio::test]
async fn what_is_not_wider_than_the_configuration_is_taken_up() {
    let writes = "sandbox_mode = \"workspace-write\"\napproval_policy = \"on-request\"";
    let open = "sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"";
    let network = json!({"type": "readOnly", "networkAccess": true});
    for (first, settings, second, change, expected, told) in [
        // Of the same configuration all comes back, the mode too.
        (
            writes,
            json!({"mode": "plan"}),
            writes,
            json!({}),
            ("plan", "on-request", "workspaceWrite"),
            &[][..],
        ),
        (
            writes,
            json!({"mode": "ask"}),
            writes,
            json!({}),
            ("ask", "on-request", "workspaceWrite"),
            &[],
        ),
        (
            writes,
            json!({"approvalPolicy": "untrusted", "sandboxPolicy": {"type": "readOnly"}}),
            writes,
            json!({}),
            ("agent", "untrusted", "readOnly"),
            &[],
        ),
        // Less than is usual now.
        (
            writes,
            json!({}),
            open,
            json!({}),
            ("agent", "on-request", "workspaceWrite"),
            &[],
        ),
        // More than is usual now is told.
        (
            open,
            json!({}),
            writes,
            json!({}),
            ("agent", "on-request", "workspaceWrite"),
            &["never", "danger-full-access"],
        ),
        (
            writes,
            json!({"sandboxPolicy": network}),
            "sandbox_mode = \"read-only\"",
            json!({}),
            ("agent", "on-request", "readOnly"),
            &["read-only with more in it"],
        ),
        // What the request says counts before all.
        (
            open,
            json!({"mode": "plan"}),
            writes,
            json!({"mode": "agent", "approvalPolicy": "never", "sandboxPolicy": {"type": "dangerFullAccess"}}),
            ("agent", "never", "dangerFullAccess"),
            &[],
        ),
    ] {
        let name = format!("{first} {settings} {second} {change}");
        let (now, warnings) = resumed(first, settings, second, change).await;
        let policy = (&now["mode"], &now["approvalPolicy"], &now["sandboxPolicy"]["type"]);
        assert_eq!(
            policy,
            (&json!(expected.0), &json!(expected.1), &json!(expected.2)),
            "{name}"
        );
        assert_eq!(warnings.len(), told.len(), "{name}: {warnings:?}");
        for part in told {
            assert!(
                warnings.iter().any(|warning| warning.contains(part)),
                "{part}: {warnings:?}"
            );
        }
    }
}

/// An agent that is brought back stands as deep as it did.
#[tokio::test]
async fn a_sub_agent_that_is_resumed_starts_no_deeper_ones() {
    let call =
        |tool: &str, id: &str, arguments: Value| json!({"call": {"tool": tool, "arguments": arguments, "id": id}});
    let spawn = |id: &str, name: &str, task: &str| call("spawn_agent", id, json!({"name": name, "message": task}));
    let script = json!([
        {"when": {"last_user": "Main task"}, "outputs": [spawn("c1", "scout", "Look around")]},
        {"when": {"last_user": "Look around"}, "outputs": [say("Nothing here.")]},
        {
            "when": {"output": {"c1": "scout"}, "not": {"output": "c2"}},
            "outputs": [call("wait_agents", "c2", json!({}))],
        },
        {"when": {"input": "Nothing here"}, "outputs": [say("Fine.")]},
    ]);
    let home = tempfile::tempdir().expect("a folder");
    let setting = || Setting {
        tables: "[agents]\nmax_depth = 2".to_owned(),
        home: Some(home.path().join("home")),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    stage.start_turn(&thread, "Main task").await;
    let story = stage
        .until(|method, params| method == "turn/completed" && params["threadId"] == thread)
        .await;
    let calls = story.items("collabAgentToolCall");
    let scout = calls[0]["receiverThreadIds"][0].as_str().expect("an agent").to_owned();
    // What comes with the end of the server is nobody's business here.
    for (method, _, _) in EVENTS {
        stage.client.ignore(method);
    }
    stage.client.take_unread();
    let folder = stage.end();
    let dir = folder.as_ref().expect("a workspace").path().join("work");
    let script = json!([
        {"when": {"last_user": "Go below"}, "outputs": [spawn("s1", "mole", "Tunnel")]},
        {"when": {"last_user": "Tunnel"}, "outputs": [say("Dug.")]},
        {
            "when": {"output": {"s1": "mole"}, "not": {"input": "Dug."}},
            "outputs": [call("wait_agents", "s2", json!({}))],
        },
        {"when": {"input": "Dug."}, "outputs": [say("Good.")]},
    ]);
    let setting = Setting {
        folder: Some(dir.canonicalize().expect("a path")),
        ..setting()
    };
    let stage = Stage::with(script, setting).await;
    stage.resume(json!({"threadId": scout})).await;
    stage.start_turn(&scout, "Go below").await;
    let over = |method: &str, params: &Value| method == "turn/completed" && params["threadId"] == scout;
    assert_eq!(stage.until(over).await.said().last(), Some(&"Good."));
    let may_start = |words: &str| {
        let requests = stage.model.requests();
        let asked = requests.iter().find(|request| {
            let texts = request.input_texts();
            texts.iter().any(|text| text == words)
        });
        let offered = asked.unwrap_or_else(|| panic!("{words} was not asked")).tools();
        offered.contains(&"spawn_agent".to_owned())
    };
    assert!(may_start("Go below") && !may_start("Tunnel"));
    for (method, _, _) in EVENTS {
        stage.client.ignore(method);
    }
    stage.client.take_unread();
}

/// A conversation whose folder is gone, and one that never said where it worked, go on in the workspace, and say so.
#[tokio::test]
async fn a_conversation_without_its_folder_goes_on_in_the_workspace() {
    let theirs = tempfile::tempdir().expect("a folder");
    let folder = theirs.path().join("sessions/2025/10/01");
    std::fs::create_dir_all(&folder).expect("a folder");
    let gone = theirs.path().join("gone");
    let rows = [
        (
            "0199a213-81c0-7800-8aa1-bbab2a035a51",
            None,
            "does not say in which folder",
        ),
        (
            "0199a213-81c0-7800-8aa1-bbab2a035a52",
            Some(json!(gone)),
            "is not there any more",
        ),
        (
            "0199a213-81c0-7800-8aa1-bbab2a035a53",
            Some(json!("relative")),
            "is not there any more",
        ),
    ];
    for (id, cwd, _) in &rows {
        let line = |kind: &str, payload: Value| json!({"timestamp": "2025-10-01T10:00:00.000Z", "type": kind, "payload": payload});
        let mut meta = json!({"id": id, "timestamp": "2025-10-01T10:00:00.000Z", "originator": "codex_cli_rs",
                              "cli_version": "0.50.0", "source": "cli"});
        if let Some(cwd) = cwd {
            meta["cwd"] = cwd.clone();
        }
        let message =
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What was it?"}]});
        let text = format!("{}\n{}\n", line("session_meta", meta), line("response_item", message));
        std::fs::write(folder.join(format!("rollout-2025-10-01T10-00-00-{id}.jsonl")), text).expect("a file");
    }
    let setting = Setting {
        env: vec![("CODEX_HOME".into(), theirs.path().to_string_lossy().into_owned())],
        ..Setting::default()
    };
    let stage = Stage::with(json!([[say("Here.")], [say("Here.")], [say("Here.")]]), setting).await;
    for (id, _, part) in &rows {
        let here = json!({"modelProvider": "rehearsal", "model": "rehearsal"});
        let resumed = stage.resume(json!({"threadId": id, "settings": here})).await;
        assert_eq!(resumed["settings"]["cwd"], json!(stage.dir), "{id}: {resumed:#}");
        let copy = resumed["thread"]["id"].as_str().expect("an id").to_owned();
        let story = stage.complete(&copy, "Where are you?").await;
        let warnings: Vec<_> = story
            .all("warning")
            .into_iter()
            .map(|one| one["message"].clone())
            .collect();
        let is_it = |message: &Value| {
            message
                .as_str()
                .is_some_and(|text| text.contains(part) && text.contains("goes on in"))
        };
        assert!(warnings.iter().any(is_it), "{id}: {warnings:#?}");
        // What is asked for is not replaced.
        let asked =
            json!({"threadId": id, "settings": {"cwd": gone, "modelProvider": "rehearsal", "model": "rehearsal"}});
        let error = stage
            .client
            .request("countersign/thread/resume", asked)
            .await
            .expect_err("refused");
        assert!(error.message.contains("gone"), "{}", error.message);
    }
}

/// What a thread's file says of folders opens none that is not open here without a word; and none at all where the file is not
/// among the person's threads, whatever it says of itself.
#[tokio::test]
async fn what_a_file_says_of_folders_is_said() {
    let id = "0199a213-81c0-7800-8aa1-bbab2a035a54";
    let base = tempfile::tempdir().expect("a folder");
    let base = base.path().canonicalize().expect("a path");
    let outside = base.join("outside");
    std::fs::create_dir(&outside).expect("a folder");
    let line =
        |kind: &str, payload: Value| json!({"timestamp": "2025-10-01T10:00:00.000Z", "type": kind, "payload": payload});
    let lines = [
        line(
            "session_meta",
            json!({"id": id, "timestamp": "2025-10-01T10:00:00.000Z", "originator": "countersign", "cli_version": "1",
                   "source": "cli", "cwd": outside}),
        ),
        line(
            "turn_context",
            json!({"cwd": outside, "runtime_workspace_roots": [outside], "model": "rehearsal"}),
        ),
        line(
            "response_item",
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What was it?"}]}),
        ),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    for (folder, is_own, part) in [
        ("home/sessions/2025/10/01", true, "not open here, as it did before"),
        ("downloads", false, "not among your conversations"),
    ] {
        let file = base
            .join(folder)
            .join(format!("rollout-2025-10-01T10-00-00-{id}.jsonl"));
        std::fs::create_dir_all(base.join(folder)).expect("a folder");
        std::fs::write(&file, &text).expect("a file");
        let home = if is_own { base.join("home") } else { base.join("other") };
        let setting = Setting {
            home: Some(home),
            ..Setting::default()
        };
        let stage = Stage::with(json!([[say("Here.")]]), setting).await;
        let here = json!({"modelProvider": "rehearsal", "model": "rehearsal"});
        let resumed = stage.resume(json!({"path": file, "settings": here})).await;
        let settings = &resumed["settings"];
        let cwd = if is_own { &outside } else { &stage.dir };
        assert_eq!(settings["cwd"], json!(cwd), "{folder}");
        let has_root = settings["runtimeWorkspaceRoots"] == json!([outside]);
        assert_eq!(has_root, is_own, "{folder}: {settings}");
        let thread = resumed["thread"]["id"].as_str().expect("an id").to_owned();
        let story = stage.complete(&thread, "Where are you?").await;
        let told = story.all("warning");
        let is_it = |one: &Value| one["message"].as_str().is_some_and(|text| text.contains(part));
        assert!(told.iter().any(|one| is_it(one)), "{folder}: {told:#?}");
        // Nor does a copy say so as its own.
        if !is_own {
            let copy = resumed["thread"]["path"].as_str().expect("a path");
            let copied = std::fs::read_to_string(copy).expect("a file");
            let settings = copied.lines().filter(|line| line.contains("\"turn_context\""));
            let named = format!("\"runtime_workspace_roots\":[{}]", json!(outside));
            assert!(
                settings.clone().count() > 1 && settings.clone().all(|line| !line.contains(&named)),
                "{copied}"
            );
        }
    }
}
