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
