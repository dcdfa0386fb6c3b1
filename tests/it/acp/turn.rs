//! Turns: what is shown of them, and how they end.

use super::client::{Acp, call, said};
use crate::support::git::git;
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
    assert_eq!(said(&updates, "agent_message_chunk"), "I look.\n\nDone.");
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

/// By their ids a client tells the texts of an answer apart, also when the conversation is loaded: each is whole in its own.
#[tokio::test]
async fn each_text_of_an_answer_has_an_id_of_its_own() {
    let plan = json!({"plan": [{"step": "Look", "status": "in_progress"}]});
    let script = json!([
        [
            {"think": "Let me see."},
            {"say": "```\nx"},
            {"call": {"tool": "update_plan", "arguments": plan, "id": "p1"}},
        ],
        [{"say": "Done."}],
    ]);
    let texts = |updates: &[Value]| {
        let mut texts: Vec<(String, String)> = Vec::new();
        let chunks = updates.iter().filter(|update| {
            ["agent_message_chunk", "agent_thought_chunk"]
                .map(Value::from)
                .contains(&update["sessionUpdate"])
        });
        for chunk in chunks {
            let id = chunk["messageId"].as_str().expect("an id");
            let text = chunk["content"]["text"].as_str().expect("text");
            match texts.iter_mut().find(|(known, _)| known == id) {
                Some((_, all)) => all.push_str(text),
                None => texts.push((id.to_owned(), text.to_owned())),
            }
        }
        texts.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
    };
    let told = ["Let me see.", "```\nx\n```\n", "\n\nDone."];
    // In small pieces.
    let mut acp = Acp::start(json!({"chunk": 2, "steps": script}), "").await;
    let session = acp.session().await;
    let (updates, _) = acp.prompt(&session, "Go").await;
    assert_eq!(texts(&updates), told);
    acp.restart().await;
    let params = json!({"sessionId": session, "cwd": acp.dir, "mcpServers": []});
    acp.call("session/load", params).await;
    let updates: Vec<Value> = acp.updates.drain(..).collect();
    assert_eq!(texts(&updates), told);
}

/// A client may join the messages of an answer to one text, also when a conversation is loaded: what one of them leaves open,
/// in its code or in brackets, does not go on in the next, where it would load something.
#[tokio::test]
async fn no_message_goes_on_in_the_code_of_the_one_before() {
    let load = "![a](https://x.example/?q=1)";
    for (first, second, safe) in [
        // Its closing mark would open what comes then.
        (
            "```\nx",
            format!("```\n{load}\n```"),
            "```\nx\n```\n\n\n```\n![a](https://x.example/?q=1)\n```",
        ),
        // A list ends its code by itself, so a mark at the margin would open it again.
        (
            "- one\n  ~~~\n  x\n\nI look.",
            format!("~~~\n{load}\n"),
            "- one\n~~~\n  x\n\nI look.\n~~~\n\n\n~~~\n![a](https://x.example/?q=1)\n~~~\n",
        ),
        (
            "![a",
            "](https://x.example/2)".to_owned(),
            "![a\n\n](https://x.example/2)",
        ),
    ] {
        let plan = json!({"plan": [{"step": "Look", "status": "in_progress"}]});
        let script = json!([
            [{"say": first}, {"call": {"tool": "update_plan", "arguments": plan, "id": "p1"}}],
            [{"say": second}],
        ]);
        // In small pieces.
        let mut acp = Acp::start(json!({"chunk": 2, "steps": script}), "").await;
        let session = acp.session().await;
        let (updates, _) = acp.prompt(&session, "Go").await;
        assert_eq!(said(&updates, "agent_message_chunk"), safe, "{first}");
        acp.restart().await;
        let params = json!({"sessionId": session, "cwd": acp.dir, "mcpServers": []});
        acp.call("session/load", params).await;
        let updates: Vec<Value> = acp.updates.drain(..).collect();
        assert_eq!(said(&updates, "agent_message_chunk"), safe, "{first}");
    }
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

/// Commands run in our own sandbox, whatever terminals the client has: it is asked for none, and the output is in the call.
#[tokio::test]
async fn no_terminal_of_the_client_is_used() {
    let script = json!([
        [{"call": {"tool": "shell", "arguments": {"command": ["echo", "out"]}, "id": "c1"}}],
        [{"say": "Done."}],
    ]);
    let mut acp = Acp::able(script, "approval_policy = \"never\"", json!({"terminal": true})).await;
    let session = acp.session().await;
    let (updates, reason) = acp.prompt(&session, "Go").await;
    assert_eq!(reason, "end_turn");
    let run = call(&updates, "c1");
    assert_eq!((&run["kind"], &run["status"]), (&json!("execute"), &json!("completed")));
    for part in run["content"].as_array().expect("content") {
        assert_eq!(part["type"], "content", "{run:#}");
    }
    assert!(run["content"].to_string().contains("out"), "{run:#}");
    assert!(acp.asked.is_empty(), "{:#?}", acp.asked);
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

/// What a slash begins that is no prompt of the person's: the conversation is compacted, changes are reviewed, the last turn is
/// undone, a page of instructions is asked for. Each ends as a turn does.
#[tokio::test]
async fn commands_of_ours_are_carried_out() {
    let review = json!({
        "findings": [], "overall_correctness": "patch is correct", "overall_explanation": "Nothing is wrong.",
        "overall_confidence_score": 0.8,
    });
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch\n";
    let script = json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "p1"}}],
        [{"say": "Made it."}],
        [{"say": review.to_string()}],
        [{"say": "What was said so far."}],
        [{"say": "It is written."}],
    ]);
    let mut acp = Acp::start(
        script,
        "approval_policy = \"on-request\"\n[edits]\napprove = \"workspace\"",
    )
    .await;
    git(&acp.dir, &["init", "-q", "-b", "main"]);
    acp.write("a.txt", "one\n");
    let session = acp.session().await;
    acp.prompt(&session, "Make a file").await;
    assert!(acp.dir.join("new.txt").exists());
    let (_, reason) = acp.prompt(&session, "/undo").await;
    assert_eq!((reason.as_str(), acp.dir.join("new.txt").exists()), ("end_turn", false));
    let (updates, reason) = acp.prompt(&session, "/context").await;
    let words = said(&updates, "agent_message_chunk");
    assert!(
        reason == "end_turn" && words.contains("Context: ") && words.contains("\nTool results"),
        "{words}"
    );
    let (updates, reason) = acp.prompt(&session, "/review").await;
    assert_eq!(reason, "end_turn");
    assert!(
        said(&updates, "agent_message_chunk").contains("Nothing is wrong."),
        "{updates:#?}"
    );
    let (_, reason) = acp.prompt(&session, "/compact").await;
    assert_eq!(reason, "end_turn");
    acp.prompt(&session, "/init").await;
    let requests = acp.model.requests();
    assert_eq!(requests.len(), 5);
    let asked = requests[4].input_texts();
    assert!(
        asked.iter().any(|text| text.contains("What was said so far.")),
        "it was compacted: {asked:?}"
    );
    assert!(
        asked.last().is_some_and(|text| text.contains("write AGENTS.md")),
        "{asked:?}"
    );
    acp.end().await;
}

/// What asks first is chosen with the mode; what would never ask is offered only where the sandbox holds it.
#[tokio::test]
async fn what_asks_first_is_chosen_with_the_mode() {
    let patch = |name: &str| format!("*** Begin Patch\n*** Add File: {name}\n+x\n*** End Patch\n");
    let script = json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch("a.txt")}, "id": "p1"}}],
        [{"say": "Made it."}],
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch("b.txt")}, "id": "p2"}}],
        [{"say": "And that."}],
    ]);
    let mut acp = Acp::start(script, "").await;
    let cwd = acp.dir.clone();
    let state = acp.call("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
    let session = state["sessionId"].as_str().expect("an id").to_owned();
    let ids = |state: &Value| -> Vec<String> {
        let modes = state["modes"]["availableModes"].as_array().expect("modes").iter();
        modes
            .map(|mode| mode["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(ids(&state), ["agent", "accept-edits", "never-ask", "plan", "ask"]);
    let choose = |mode: &str| json!({"sessionId": session, "modeId": mode});
    acp.call("session/set_mode", choose("accept-edits")).await;
    acp.prompt(&session, "Make a file").await;
    assert!(
        acp.dir.join("a.txt").exists() && acp.asked.is_empty(),
        "{:?}",
        acp.asked
    );
    acp.call("session/set_mode", choose("never-ask")).await;
    acp.call("session/set_mode", choose("agent")).await;
    acp.on("session/request_permission", |_| {
        Some(Ok(json!({"outcome": {"outcome": "cancelled"}})))
    });
    acp.prompt(&session, "Make another").await;
    assert!(!acp.dir.join("b.txt").exists(), "it was asked about, and denied");
    acp.end().await;

    let mut acp = Acp::start(json!([]), "sandbox_mode = \"danger-full-access\"").await;
    let cwd = acp.dir.clone();
    let state = acp.call("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
    assert_eq!(ids(&state), ["agent", "plan", "ask"]);
    let refused = acp
        .request(
            "session/set_mode",
            json!({"sessionId": state["sessionId"], "modeId": "never-ask"}),
        )
        .await;
    assert!(refused.is_err_and(|error| error.to_string().contains("agent, plan, ask")));
    acp.end().await;
}
