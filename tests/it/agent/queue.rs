//! The queue: what the person wants to say after the running turn, visible and theirs until its turn comes.

use super::stage::{Setting, Stage, bash, say};
use serde_json::{Value, json};

fn words(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

async fn add(stage: &Stage, thread: &str, text: &str) -> Value {
    let params = json!({"threadId": thread, "input": words(text), "clientUserMessageId": format!("id of {text}")});
    stage.client.call("countersign/turn/queue/add", params).await
}

async fn change(stage: &Stage, method: &str, thread: &str, more: Value) -> Result<Value, Value> {
    let mut params = json!({"threadId": thread});
    let more = more.as_object().expect("fields").clone();
    params.as_object_mut().expect("an object").extend(more);
    let answer = stage
        .client
        .request(&format!("countersign/turn/queue/{method}"), params)
        .await;
    answer
        .map(|result| result["queue"].clone())
        .map_err(|error| error.data["kind"].clone())
}

fn texts(queue: &Value) -> Vec<&str> {
    let inputs = queue["inputs"].as_array().expect("a list").iter();
    inputs
        .map(|queued| queued["input"][0]["text"].as_str().expect("text"))
        .collect()
}

/// A step that answers to whatever the person said last.
fn echoes() -> Value {
    json!({"repeat": true, "outputs": [{"say": "re: {{last_user}}"}]})
}

#[tokio::test]
async fn what_is_queued_gets_its_turns_one_after_the_other() {
    let stage = Stage::new(json!([[{"hold": "gate"}, say("first answer")], echoes()])).await;
    let thread = stage.thread().await;
    let began = add(&stage, &thread, "one").await;
    assert_eq!(began.get("queued"), None, "nothing runs, so it begins at once");
    let first = began["turn"]["id"].as_str().expect("a turn").to_owned();
    let queued = add(&stage, &thread, "two").await["queued"].clone();
    assert_eq!(
        (&queued["input"], &queued["clientUserMessageId"]),
        (&words("two"), &json!("id of two"))
    );
    assert_eq!(add(&stage, &thread, "three").await.get("turn"), None);
    let queue = change(&stage, "list", &thread, json!({})).await.expect("a queue");
    assert_eq!((texts(&queue), &queue["paused"]), (vec!["two", "three"], &json!(false)));
    stage.model.wait_for_hold("gate").await;
    stage.model.release("gate");
    let story = stage.finish(&first).await;
    assert_eq!(story.said(), ["first answer"], "what waits joins no turn");
    let changes = story.all("turn/queueChanged");
    assert_eq!(
        changes
            .iter()
            .map(|params| texts(&params["queue"]).len())
            .collect::<Vec<_>>(),
        [1, 2]
    );
    for (text, left) in [("two", 1), ("three", 0)] {
        let story = stage.until_event("turn/completed").await;
        assert_eq!(texts(&story.one("turn/queueChanged")["queue"]).len(), left);
        let changed = story.at(|name, _| name == "turn/queueChanged");
        assert!(
            changed < story.at(|name, _| name == "turn/started"),
            "it left the queue before its turn began"
        );
        assert_eq!(story.item("userMessage")["content"], words(text));
        assert_eq!(story.item("userMessage")["clientId"], format!("id of {text}"));
        assert_eq!(story.said(), [format!("re: {text}")]);
    }
    assert_eq!(stage.requests(3).len(), 3);
}

#[tokio::test]
async fn what_waits_can_be_changed_until_its_turn() {
    let stage = Stage::new(json!([[{"hold": "gate"}, say("ok")], echoes()])).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let mut ids = Vec::new();
    for text in ["a", "b", "c", "d"] {
        ids.push(add(&stage, &thread, text).await["queued"]["id"].clone());
    }
    let edit = json!({"queuedId": ids[1], "input": words("B")});
    let queue = change(&stage, "edit", &thread, edit).await.expect("edited");
    assert_eq!(texts(&queue), ["a", "B", "c", "d"]);
    assert_eq!(queue["inputs"][1]["id"], ids[1], "it stays the same one");
    let queue = change(&stage, "reorder", &thread, json!({"queuedIds": [ids[3], ids[1]]})).await;
    assert_eq!(texts(&queue.expect("reordered")), ["d", "B", "a", "c"]);
    let queue = change(&stage, "remove", &thread, json!({"queuedId": ids[0]})).await;
    assert_eq!(texts(&queue.expect("removed")), ["d", "B", "c"]);
    for (method, more, kind) in [
        (
            "edit",
            json!({"queuedId": ids[0], "input": words("x")}),
            "queuedNotFound",
        ),
        (
            "edit",
            json!({"queuedId": ids[1], "input": words("  ")}),
            "invalidParams",
        ),
        ("edit", json!({"queuedId": ids[1], "input": []}), "invalidParams"),
        ("edit", json!({"queuedId": ids[1], "input": words("!")}), "emptyCommand"),
        ("remove", json!({"queuedId": "nobody"}), "queuedNotFound"),
        ("reorder", json!({"queuedIds": [ids[0]]}), "queuedNotFound"),
        ("reorder", json!({"queuedIds": [ids[1], ids[1]]}), "invalidParams"),
        ("add", json!({"input": []}), "invalidParams"),
        ("add", json!({"input": words("!")}), "emptyCommand"),
        (
            "add",
            json!({"input": words("x"), "settings": {"modelProvider": "nobody"}}),
            "invalidConfig",
        ),
        (
            "add",
            json!({"input": words("x"), "metadata": {"": "x"}}),
            "invalidParams",
        ),
        (
            "add",
            json!({"input": words("x"), "metadata": {"k": "x".repeat(513)}}),
            "invalidParams",
        ),
    ] {
        assert_eq!(
            change(&stage, method, &thread, more.clone()).await,
            Err(json!(kind)),
            "{method} {more}"
        );
    }
    let queue = change(&stage, "list", &thread, json!({})).await.expect("a queue");
    assert_eq!(texts(&queue), ["d", "B", "c"], "what was refused changed nothing");
    stage.model.release("gate");
    stage.finish(&turn).await;
    for text in ["d", "B", "c"] {
        let story = stage.until_event("turn/completed").await;
        assert_eq!(story.said(), [format!("re: {text}")]);
    }
    assert_eq!(
        change(&stage, "remove", &thread, json!({}))
            .await
            .map(|queue| texts(&queue).len()),
        Ok(0)
    );
}

/// Shows S-089.
#[tokio::test]
async fn a_stop_gives_back_what_was_not_read_and_pauses_what_waits() {
    let stage = Stage::new(json!([[bash("c1", "echo ready; sleep 1000")], echoes()])).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.until_output("ready").await;
    let steer =
        json!({"threadId": thread, "expectedTurnId": turn, "input": words("steered"), "clientUserMessageId": "s"});
    stage.client.call("countersign/turn/steer", steer).await;
    let queued = add(&stage, &thread, "queued").await["queued"]["id"].clone();
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    let end = story.one("turn/completed");
    assert_eq!(end["turn"]["interruptedBy"], "person");
    assert_eq!(
        end["unanswered"],
        json!([{"input": words("steered"), "clientUserMessageId": "s"}])
    );
    let changed = stage.until_event("turn/queueChanged").await;
    assert_eq!(changed.last()["queue"]["paused"], true);
    // What the person says now has its turn; what waits does not follow by itself.
    let story = stage.complete(&thread, "Something else").await;
    assert_eq!(story.one("turn/completed")["unanswered"], json!([]));
    let queue = change(&stage, "list", &thread, json!({})).await.expect("a queue");
    assert_eq!((&queue["inputs"][0]["id"], &queue["paused"]), (&queued, &json!(true)));
    // Nor does what is queued behind it.
    assert_eq!(add(&stage, &thread, "more").await.get("turn"), None);
    stage.until_event("turn/queueChanged").await;
    change(&stage, "resume", &thread, json!({})).await.expect("it goes on");
    for text in ["queued", "more"] {
        let story = stage.until_event("turn/completed").await;
        assert_eq!(story.said(), [format!("re: {text}")]);
    }
    let heard = stage.model.requests().pop().expect("a request").input_texts();
    assert!(!heard.iter().any(|text| text == "steered"), "{heard:#?}");
}

#[tokio::test]
async fn a_failed_turn_pauses_the_queue_and_an_emptied_queue_is_not_paused() {
    let stage = Stage::new(json!([[{"hold": "gate"}, {"fail": {"status": 401}}], echoes()])).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.model.wait_for_hold("gate").await;
    add(&stage, &thread, "queued").await;
    stage.model.release("gate");
    assert_eq!(stage.finish(&turn).await.status(), "failed");
    assert_eq!(
        stage.until_event("turn/queueChanged").await.last()["queue"]["paused"],
        true
    );
    change(&stage, "remove", &thread, json!({})).await.expect("emptied");
    let empty = json!({"inputs": [], "paused": false});
    assert_eq!(stage.until_event("turn/queueChanged").await.last()["queue"], empty);
    let began = add(&stage, &thread, "next").await;
    let story = stage
        .finish(began["turn"]["id"].as_str().expect("it begins at once"))
        .await;
    assert_eq!(story.said(), ["re: next"]);
}

#[tokio::test]
async fn settings_and_commands_wait_with_their_input() {
    let stage = Stage::new(json!([[{"hold": "gate"}, say("ok")], echoes()])).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.model.wait_for_hold("gate").await;
    let params = json!({"threadId": thread, "input": words("later"), "settings": {"model": "another"}});
    stage.client.call("countersign/turn/queue/add", params).await;
    add(&stage, &thread, "!echo mine").await;
    stage.model.release("gate");
    let story = stage.finish(&turn).await;
    assert_eq!(story.count("thread/configured"), 0, "not before its turn");
    let story = stage.until_event("turn/completed").await;
    assert_eq!(story.one("thread/configured")["settings"]["model"], "another");
    let story = stage.until_event("turn/completed").await;
    assert_eq!(story.one("turn/started")["turn"]["kind"], "ownCommands");
    assert_eq!(story.item("commandExecution")["aggregatedOutput"], "mine\n");
    assert_eq!(stage.requests(2)[1].model(), "another");
}

/// Shows S-084.
#[tokio::test]
async fn metadata_goes_with_the_requests_of_its_turn() {
    for wire in ["responses", "chat"] {
        let script = json!([
            [bash("c1", "echo ready; until test -e go; do sleep 0.02; done")],
            echoes()
        ]);
        let setting = Setting {
            provider: format!("wire_api = \"{wire}\""),
            ..Setting::default()
        };
        let stage = Stage::with(script, setting).await;
        let thread = stage.thread().await;
        let params = json!({"threadId": thread, "input": words("Go"), "metadata": {"ticket": "12", "kept": "k"}});
        let turn = stage.start_turn_with(params).await;
        stage.until_output("ready").await;
        let steer =
            json!({"threadId": thread, "expectedTurnId": turn, "input": words("more"), "metadata": {"ticket": "13"}});
        stage.client.call("countersign/turn/steer", steer.clone()).await;
        let mut many = steer;
        many["metadata"] = (0..17)
            .map(|at| (format!("k{at}"), json!("v")))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let error = stage
            .client
            .request("countersign/turn/steer", many)
            .await
            .expect_err("too many");
        assert_eq!((error.code, &error.data["kind"]), (-32602, &json!("invalidParams")));
        stage.write("go", "");
        stage.finish(&turn).await;
        stage.complete(&thread, "Next").await;
        let sent: Vec<_> = stage
            .requests(3)
            .iter()
            .map(|request| request.body["metadata"].clone())
            .collect();
        assert_eq!(
            sent[..2],
            [
                json!({"ticket": "12", "kept": "k"}),
                json!({"ticket": "13", "kept": "k"})
            ]
        );
        assert_eq!(sent[2], Value::Null, "a turn's metadata is its own");
    }
}
