//! Stopping a turn: at once, whatever it does, with one closing event and a history that can be gone on with.

use super::stage::{Setting, Stage, apply_patch, bash, eventually, say, shell};
use serde_json::{Value, json};

async fn stopped(stage: &Stage, thread: &str, turn: &str) -> super::stage::Story {
    assert_eq!(stage.interrupt(thread).await, json!({"interrupted": true}));
    let story = stage.finish(turn).await;
    assert_eq!(story.status(), "interrupted");
    assert_eq!(story.count("error"), 0);
    assert_eq!(story.last()["turn"].get("error"), None);
    story
}

/// The next turn works, and the model has an output for each call and knows that it was stopped.
async fn goes_on(stage: &Stage, thread: &str) -> countersign::rehearsal::Recorded {
    let story = stage.complete(thread, "Go on").await;
    assert_eq!(story.said(), ["on it"]);
    let request = stage.model.requests().pop().expect("a request");
    assert_eq!(request.calls().len(), request.outputs().len());
    let noted = request
        .input_texts()
        .iter()
        .filter(|text| text.contains("<turn_aborted>"))
        .count();
    assert_eq!(noted, 1);
    request
}

/// Shows S-091, S-092, S-095, S-096, S-442, S-443.
#[tokio::test]
async fn an_idle_thread_is_answered_at_once_and_wrong_ids_are_refused() {
    let stage = Stage::new(json!([[say("one")], [{"hold": "gate"}, say("two")], [say("on it")]])).await;
    let thread = stage.thread().await;
    assert_eq!(stage.interrupt(&thread).await, json!({"interrupted": false}));
    let old = stage.complete(&thread, "First").await.last()["turnId"].clone();
    assert_eq!(stage.interrupt(&thread).await, json!({"interrupted": false}));
    let interrupt = |thread: &str, turn: &Value| {
        let params = json!({"threadId": thread, "turnId": turn});
        stage.client.request("countersign/turn/interrupt", params)
    };
    let error = interrupt(&thread, &old).await.unwrap_err();
    assert_eq!(error.data["kind"], "noActiveTurn");
    let turn = stage.start_turn(&thread, "Second").await;
    let error = interrupt(&thread, &old).await.unwrap_err();
    assert_eq!((error.code, &error.data["kind"]), (-32803, &json!("turnMismatch")));
    let error = interrupt("nobody", &json!(turn)).await.unwrap_err();
    assert_eq!((error.code, &error.data["kind"]), (-32803, &json!("threadNotLoaded")));
    assert_eq!(interrupt(&thread, &json!(3)).await.unwrap_err().code, -32602);
    stage.model.wait_for_hold("gate").await;
    assert_eq!(
        interrupt(&thread, &json!(turn)).await.unwrap(),
        json!({"interrupted": true})
    );
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    goes_on(&stage, &thread).await;
}

/// Shows S-069, S-101.
#[tokio::test]
async fn while_the_answer_streams_what_was_said_is_kept_and_marked() {
    let script = json!([
        [say("Finished."), {"say": "The answer is fo", "partial": true}, {"hold": "never"}],
        [say("on it")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Question").await;
    stage
        .until(|name, params| name == "item/agentMessage/delta" && params["delta"].as_str().unwrap().contains("fo"))
        .await;
    let story = stopped(&stage, &thread, &turn).await;
    let partial = story.item("agentMessage");
    assert_eq!(
        (&partial["text"], &partial["partial"]),
        (&json!("The answer is fo"), &json!(true))
    );
    let read = stage.read(&thread).await;
    let items = read["turns"][0]["items"].as_array().unwrap();
    assert_eq!(items.len(), 3);
    assert_eq!(items[1].get("partial"), None);
    let request = goes_on(&stage, &thread).await;
    let texts = request.input_texts();
    let at = |text: &str| {
        texts
            .iter()
            .position(|seen| seen == text)
            .unwrap_or_else(|| panic!("{text}: {texts:#?}"))
    };
    assert!(at("Finished.") < at("The answer is fo"));
}

/// Shows S-069.
#[tokio::test]
async fn while_the_request_is_on_its_way() {
    let stage = Stage::new(json!([[{"hold": "never"}, say("x")], [say("on it")]])).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Question").await;
    stage.model.wait_for_hold("never").await;
    stage
        .until(|name, params| name == "item/completed" && params["item"]["type"] == "userMessage")
        .await;
    let story = stopped(&stage, &thread, &turn).await;
    assert_eq!(story.names(), ["thread/statusChanged", "turn/completed"]);
    goes_on(&stage, &thread).await;
}

/// Shows S-068, S-069, S-091, S-100, S-101.
#[tokio::test]
async fn while_commands_run_they_end_with_their_children_and_later_ones_never_begin() {
    let script = json!([
        [
            say("I run."),
            bash("c1", "echo done before"),
            bash(
                "c2",
                "trap '' TERM; echo ready; setsid sleep 1000 & sleep 1000 & sleep 1000"
            ),
            bash("c3", "touch never"),
            apply_patch("c4", "*** Begin Patch\n*** Add File: never\n+x\n*** End Patch")
        ],
        [say("on it")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.until_output("ready").await;
    eventually("its children run", || Stage::processes(&thread).len() >= 3).await;
    let story = stopped(&stage, &thread, &turn).await;
    let item = story.item("commandExecution");
    assert_eq!((&item["id"], &item["status"]), (&json!("c2"), &json!("interrupted")));
    assert_eq!(item["aggregatedOutput"], "ready\n");
    assert_eq!(story.count("proposal/created"), 0);
    Stage::no_process_left(&thread).await;
    let request = goes_on(&stage, &thread).await;
    assert!(request.output("c1").unwrap().contains("done before"));
    assert!(request.output("c2").unwrap().contains("stopped the command"));
    assert!(request.output("c3").unwrap().contains("before this call began"));
    assert!(!stage.path("never").exists());
}

/// Shows S-068.
#[tokio::test]
async fn after_the_first_of_two_calls_each_has_an_output_also_after_a_restart() {
    let script = json!([
        [bash("c1", "echo one"), {"hold": "never"}, bash("c2", "echo two")],
        [say("on it")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage
        .until(|name, params| name == "item/completed" && params["item"]["id"] == "c1")
        .await;
    stopped(&stage, &thread, &turn).await;
    // The record is written behind the events.
    eventually("each line is on the record once", || {
        let lines = stage.rollout(&thread);
        let of = |kind: &str| lines.iter().filter(|line| line["payload"]["type"] == kind).count();
        (of("function_call"), of("function_call_output"), of("turn_aborted")) == (1, 1, 1)
    })
    .await;
    goes_on(&stage, &thread).await;
}

/// Shows S-101.
#[tokio::test]
async fn while_a_proposal_waits() {
    let script = json!([
        [apply_patch(
            "c1",
            "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch"
        )],
        [say("on it")],
    ]);
    let setting = Setting {
        files: vec![("a.txt".into(), "one\n".into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let created = stage.until_event("proposal/created").await;
    let proposal = created.last()["proposal"]["id"].clone();
    let story = stopped(&stage, &thread, &turn).await;
    assert_eq!(story.one("proposal/updated")["proposal"]["status"], "withdrawn");
    assert_eq!(story.item("fileChange")["status"], "interrupted");
    let decide = json!({"proposalId": proposal, "decision": "accept"});
    let error = stage
        .client
        .request("countersign/proposal/decide", decide)
        .await
        .unwrap_err();
    assert_eq!((error.code, &error.data["kind"]), (-32803, &json!("proposalSettled")));
    assert_eq!(stage.text("a.txt"), "one\n");
    let request = goes_on(&stage, &thread).await;
    assert!(request.output("c1").unwrap().contains("nothing was changed"));
}

/// Shows S-097.
#[tokio::test]
async fn many_stops_at_once_are_all_answered_and_end_the_turn_once() {
    let mut steps: Vec<Value> = (0..20).map(|_| json!({"when": {"last_user": "Go now"}, "outputs": [say("a few words"), shell("c", &["true"]), {"hold": "never"}]})).collect();
    steps.push(json!([say("on it")]));
    let stage = Stage::new(json!(steps)).await;
    let thread = stage.thread().await;
    for round in 0..20 {
        let turn = stage.start_turn(&thread, "Go now").await;
        // Each time a little later in the turn, which has no more than these events before it holds.
        for _ in 0..(round % 9) {
            stage.next().await;
        }
        let ids: Vec<i64> = (0..3)
            .map(|_| {
                stage
                    .client
                    .send_request("countersign/turn/interrupt", json!({ "threadId": thread }))
            })
            .collect();
        let mut taken = 0;
        for id in ids {
            let answer = stage.client.expect_answer(json!(id)).await.unwrap();
            taken += usize::from(answer["interrupted"] == true);
        }
        assert!(taken >= 1, "round {round}");
        let story = stage.finish(&turn).await;
        assert_eq!(story.status(), "interrupted");
    }
    let story = stage.complete(&thread, "And again").await;
    assert_eq!(story.said(), ["on it"]);
}
