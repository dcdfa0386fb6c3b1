//! Turns: what is shown of them, and how they end.

use super::client::{Acp, call, said};
use serde_json::{Value, json};

#[tokio::test]
async fn a_prompt_is_answered_in_chunks_and_ends() {
    let exec = json!({"command": ["bash", "-c", "echo out; cat missing"]});
    let plan = json!({"plan": [{"step": "Look", "status": "in_progress"}, {"step": "Mend", "status": "pending"}]});
    let script = json!([
        [
            {"think": "Let me see."},
            {"say": "I look."},
            {"call": {"tool": "update_plan", "arguments": plan, "id": "p1"}},
            {"call": {"tool": "read_file", "arguments": {"file_path": "a.txt"}, "id": "r1"}},
            {"call": {"tool": "shell", "arguments": exec, "id": "c1"}},
        ],
        [{"say": "Done."}],
    ]);
    let mut acp = Acp::start(script, "approval_policy = \"never\"").await;
    acp.write("a.txt", "one\ntwo\n");
    let session = acp.session().await;
    let (updates, reason) = acp.prompt(&session, "Go").await;
    assert_eq!(reason, "end_turn");
    assert_eq!(said(&updates, "agent_message_chunk"), "I look.Done.");
    assert_eq!(said(&updates, "agent_thought_chunk"), "Let me see.");
    assert_eq!(said(&updates, "user_message_chunk"), "");
    let planned = updates
        .iter()
        .find(|update| update["sessionUpdate"] == "plan")
        .expect("a plan");
    assert_eq!(
        planned["entries"][0],
        json!({"content": "Look", "priority": "medium", "status": "in_progress"})
    );
    let read = call(&updates, "r1");
    assert_eq!((&read["kind"], &read["status"]), (&json!("read"), &json!("completed")));
    let shown = |call: &Value| call["content"][0]["content"]["text"].as_str().expect("text").to_owned();
    assert!(shown(&read).contains("L2: two"));
    let run = call(&updates, "c1");
    assert_eq!(run["kind"], "execute");
    assert!(shown(&run).contains("out\n"), "{run:#}");
    assert!(
        run["rawInput"]["command"]
            .as_str()
            .expect("text")
            .contains("cat missing")
    );
    for update in updates.iter().filter(|update| update["sessionUpdate"] == "tool_call") {
        assert!(
            update["title"].as_str().is_some_and(|title| !title.is_empty()),
            "{update}"
        );
    }
    acp.end().await;
}

#[tokio::test]
async fn cancel_ends_the_turn_at_every_moment() {
    let script = json!([
        [{"say": "I wait", "partial": true}, {"hold": "never"}],
        {"repeat": true, "outputs": [{"say": "Again."}]},
    ]);
    let mut acp = Acp::start(script, "").await;
    let session = acp.session().await;
    // Nothing runs.
    acp.notify("session/cancel", json!({"sessionId": session}));
    let id = acp.begin_prompt(&session, "Go");
    acp.until(|update| update["sessionUpdate"] == "agent_message_chunk")
        .await;
    acp.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(acp.answer(id).await, Ok(json!({"stopReason": "cancelled"})));
    // On the heels of the prompt, before anything is shown.
    let id = acp.begin_prompt(&session, "Go");
    acp.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(acp.answer(id).await, Ok(json!({"stopReason": "cancelled"})));
    // What the model was not asked by then it is asked now.
    let (updates, reason) = acp.prompt(&session, "Go on").await;
    assert_eq!(reason, "end_turn");
    assert_eq!(said(&updates, "agent_message_chunk"), "Again.");
}

#[tokio::test]
async fn a_turn_that_fails_is_an_error_with_words() {
    let script = json!([
        [{"fail": {"status": 401, "body": {"error": {"message": "bad key"}}}}],
        [{"fail": {"status": 400, "body": {"error": {"message": "no such thing"}}}}],
        [{"say": "Here."}],
    ]);
    let mut acp = Acp::start(script, "").await;
    let session = acp.session().await;
    for (code, words) in [(-32000, "bad key"), (-32603, "no such thing")] {
        let id = acp.begin_prompt(&session, "Go");
        let error = acp.answer(id).await.expect_err("it fails");
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().expect("text").contains(words), "{error}");
    }
    assert_eq!(acp.prompt(&session, "Go").await.1, "end_turn");
}

#[tokio::test]
async fn a_second_prompt_joins_the_turn_and_both_are_answered() {
    let script = json!([
        [{"say": "One", "partial": true}, {"hold": "gate"}],
        [{"say": "Two."}],
    ]);
    let mut acp = Acp::start(script, "").await;
    let session = acp.session().await;
    let first = acp.begin_prompt(&session, "Go");
    acp.until(|update| update["sessionUpdate"] == "agent_message_chunk")
        .await;
    let second = acp.begin_prompt(&session, "And more");
    // Its words are in the turn before this is answered.
    acp.call("session/set_mode", json!({"sessionId": session, "modeId": "agent"}))
        .await;
    acp.model.release("gate");
    for id in [first, second] {
        assert_eq!(acp.answer(id).await, Ok(json!({"stopReason": "end_turn"})));
    }
    assert_eq!(acp.model.requests().len(), 2);
}

#[tokio::test]
async fn buffers_of_the_client_are_read_and_written() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n typed\n-two\n+TWO\n*** End Patch\n";
    let script = json!([
        [{"call": {"tool": "read_file", "arguments": {"file_path": "a.txt"}, "id": "r1"}}],
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "c1"}}],
        [{"say": "Done."}],
    ]);
    let capabilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut acp = Acp::able(script, "", capabilities).await;
    let path = acp.write("a.txt", "one\ntwo\n");
    // The person has typed, and not saved.
    let buffer = std::sync::Arc::new(std::sync::Mutex::new("one\ntyped\ntwo\n".to_owned()));
    let (read, written, file) = (buffer.clone(), buffer.clone(), path.clone());
    acp.on("fs/read_text_file", move |params| {
        Some(match params["path"] == json!(file) {
            true => Ok(json!({"content": *read.lock().expect("a lock")})),
            false => Err(json!({"code": -32002, "message": "no such file"})),
        })
    });
    acp.on("fs/write_text_file", move |params| {
        let text = params["content"].as_str().expect("text");
        // Such clients save at once.
        std::fs::write(params["path"].as_str().expect("a path"), text).expect("a file");
        *written.lock().expect("a lock") = text.to_owned();
        Some(Ok(Value::Null))
    });
    acp.choose("allow_once");
    let session = acp.session().await;
    let (updates, reason) = acp.prompt(&session, "Go").await;
    assert_eq!(reason, "end_turn");
    let shown = call(&updates, "r1")["content"][0]["content"]["text"]
        .as_str()
        .expect("text")
        .to_owned();
    assert!(shown.contains("L2: typed"), "{shown}");
    assert_eq!(*buffer.lock().expect("a lock"), "one\ntyped\nTWO\n", "{updates:#?}");
    assert_eq!(acp.text("a.txt"), "one\ntyped\nTWO\n");
    let diff = call(&updates, "c1")["content"][0].clone();
    assert_eq!(
        (&diff["oldText"], &diff["newText"]),
        (&json!("one\ntyped\ntwo\n"), &json!("one\ntyped\nTWO\n"))
    );
}

/// What the person has typed and not saved is found by a search, and what they have deleted is not: also of files that nobody
/// has looked at before.
#[tokio::test]
async fn a_search_sees_what_the_client_holds() {
    let search =
        |pattern: &str, id: &str| json!({"call": {"tool": "grep_files", "arguments": {"pattern": pattern}, "id": id}});
    let script = json!([
        [search("typed", "g1"), search("removed", "g2")],
        [{"say": "Done."}],
    ]);
    let mut acp = Acp::able(script, "", json!({"fs": {"readTextFile": true}})).await;
    let (mentioned, found) = (acp.write("a.txt", "one\n"), acp.write("b.txt", "removed\n"));
    acp.write("c.txt", "removed\n");
    let (a, b) = (mentioned.clone(), found);
    acp.on("fs/read_text_file", move |params| {
        let path = &params["path"];
        Some(match () {
            () if *path == json!(a) => Ok(json!({"content": "one\ntyped\n"})),
            () if *path == json!(b) => Ok(json!({"content": "kept\n"})),
            () => Err(json!({"code": -32002, "message": "it is not open"})),
        })
    });
    let session = acp.session().await;
    let link = json!({"type": "resource_link", "name": "a", "uri": format!("file://{}", mentioned.display())});
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Look"}, link]});
    acp.call("session/prompt", prompt).await;
    let told = |id: &str| acp.model.requests()[1].output(id).expect("an output");
    assert!(told("g1").contains("a.txt:2: typed"), "{}", told("g1"));
    assert_eq!(told("g2"), "c.txt:1: removed");
    let mention = acp.model.requests()[0].body.to_string();
    assert!(mention.contains("typed"), "{mention}");
}

/// What a client shows beside the words: what the session is called, and how full its window is.
#[tokio::test]
async fn the_title_and_the_tokens_are_told() {
    let mut acp = Acp::start(json!([[{"say": "Here."}]]), "model_context_window = 100000").await;
    let session = acp.session().await;
    let (updates, _) = acp.prompt(&session, "Mend the roof").await;
    let of = |kind: &str| updates.iter().find(|update| update["sessionUpdate"] == kind);
    assert_eq!(of("session_info_update").expect("a title")["title"], "Mend the roof");
    let usage = of("usage_update").expect("tokens");
    assert!(
        usage["used"].as_u64().is_some_and(|used| used > 0) && usage["size"].as_u64().is_some(),
        "{usage}"
    );
}
