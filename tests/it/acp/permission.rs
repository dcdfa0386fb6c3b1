//! Questions to the person: asked once, withdrawn with their turn, and silence is no yes.

use super::client::{Acp, call};
use serde_json::{Value, json};

const PATCH: &str =
    "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Add File: new.txt\n+made\n*** End Patch\n";

fn patching() -> Value {
    json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": PATCH}, "id": "c1"}}],
        [{"say": "Done."}],
    ])
}

fn running() -> Value {
    json!([
        [{"call": {"tool": "shell", "arguments": {"command": ["touch", "made.txt"]}, "id": "c1"}}],
        [{"say": "Done."}],
    ])
}

#[tokio::test]
async fn a_patch_shows_its_texts_and_is_applied_or_not() {
    for (kind, wanted) in [("allow_once", "ONE\n"), ("reject_once", "one\n")] {
        let mut acp = Acp::start(patching(), "").await;
        acp.write("a.txt", "one\n");
        acp.choose(kind);
        let session = acp.session().await;
        let (updates, reason) = acp.prompt(&session, "Go").await;
        assert_eq!(reason, "end_turn");
        assert_eq!(acp.text("a.txt"), wanted);
        assert_eq!(acp.dir.join("new.txt").exists(), kind == "allow_once");
        let asked = acp
            .asked
            .iter()
            .find(|asked| asked["method"] == "session/request_permission")
            .expect("a question");
        let shown = &asked["params"]["toolCall"];
        assert_eq!(
            (&shown["toolCallId"], &shown["kind"], &shown["status"]),
            (&json!("c1"), &json!("edit"), &json!("pending"))
        );
        let path = acp.dir.join("a.txt");
        let diff = json!({"type": "diff", "path": path, "oldText": "one\n", "newText": "ONE\n"});
        assert_eq!(shown["content"][0], diff);
        assert_eq!(shown["content"][1]["newText"], "made\n");
        assert!(shown["content"][1].get("oldText").is_none());
        let status = call(&updates, "c1")["status"].clone();
        assert_eq!(status, if kind == "allow_once" { "completed" } else { "failed" });
    }
}

/// Answers that are no yes, by table: whatever comes, nothing is run.
#[tokio::test]
async fn what_is_no_clear_yes_is_a_no() {
    let selected = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
    let answers: Vec<Result<Value, Value>> = vec![
        Ok(selected("decline")),
        Ok(selected("made up")),
        Ok(selected("")),
        Ok(json!({"outcome": {"outcome": "cancelled"}})),
        Ok(json!({"outcome": "accept"})),
        Ok(json!({"outcome": {"outcome": "selected"}})),
        Ok(json!({"outcome": {"outcome": "accept", "optionId": "accept"}})),
        Ok(json!("accept")),
        Ok(Value::Null),
        Err(json!({"code": -32603, "message": "the dialog fell over"})),
        Err(json!("accept")),
    ];
    for answer in answers {
        let mut acp = Acp::start(running(), "approval_policy = \"untrusted\"").await;
        let given = answer.clone();
        acp.on("session/request_permission", move |_| Some(given.clone()));
        let session = acp.session().await;
        let (updates, reason) = acp.prompt(&session, "Go").await;
        assert_eq!(reason, "end_turn", "{answer:?}");
        assert!(!acp.dir.join("made.txt").exists(), "{answer:?}");
        assert_eq!(call(&updates, "c1")["status"], "failed", "{answer:?}");
    }
}

#[tokio::test]
async fn a_command_runs_after_a_yes_and_for_the_session_is_not_asked_again() {
    let touch =
        |name: &str, id: &str| json!({"call": {"tool": "shell", "arguments": {"command": ["touch", name]}, "id": id}});
    let script = json!([[touch("a.txt", "c1")], [touch("b.txt", "c2")], [{"say": "Done."}]]);
    let config = "approval_policy = \"untrusted\"\nsandbox_mode = \"workspace-write\"";
    let mut acp = Acp::start(script, config).await;
    acp.choose("allow_always");
    let session = acp.session().await;
    let (updates, _) = acp.prompt(&session, "Go").await;
    assert!(
        acp.dir.join("a.txt").exists() && acp.dir.join("b.txt").exists(),
        "{updates:#?}"
    );
    let asked: Vec<_> = acp
        .asked
        .iter()
        .filter(|asked| asked["method"] == "session/request_permission")
        .collect();
    assert_eq!(asked.len(), 1, "{asked:#?}");
    let params = &asked[0]["params"];
    assert_eq!(params["sessionId"], *session);
    assert!(
        params["toolCall"]["title"]
            .as_str()
            .expect("text")
            .contains("touch a.txt")
    );
    for option in params["options"].as_array().expect("options") {
        assert!(option["name"].is_string() && option["optionId"].is_string(), "{option}");
    }
}

#[tokio::test]
async fn a_cancelled_turn_withdraws_its_question() {
    for script in [running(), patching()] {
        let mut acp = Acp::start(script, "approval_policy = \"untrusted\"").await;
        acp.write("a.txt", "one\n");
        // The person does not answer.
        acp.on("session/request_permission", |_| None);
        let session = acp.session().await;
        let id = acp.begin_prompt(&session, "Go");
        let asked = acp.until_asked("session/request_permission").await;
        acp.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(acp.answer(id).await, Ok(json!({"stopReason": "cancelled"})));
        // A yes that comes too late is none.
        let yes = json!({"outcome": {"outcome": "selected", "optionId": "accept"}});
        acp.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes}));
        acp.call("session/set_mode", json!({"sessionId": session, "modeId": "ask"}))
            .await;
        assert!(!acp.dir.join("made.txt").exists() && acp.text("a.txt") == "one\n");
        acp.end().await;
    }
}

#[tokio::test]
async fn a_client_that_goes_away_is_no_yes() {
    let mut acp = Acp::start(running(), "approval_policy = \"untrusted\"").await;
    acp.on("session/request_permission", |_| None);
    let session = acp.session().await;
    acp.begin_prompt(&session, "Go");
    acp.until_asked("session/request_permission").await;
    acp.end().await;
    assert!(!acp.dir.join("made.txt").exists());
}
