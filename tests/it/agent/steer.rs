//! Input while a turn runs: it joins the turn, or begins the next one; it is never lost.

use super::stage::{Stage, bash, say, shell};
use serde_json::{Value, json};

fn user_texts(request: &countersign::rehearsal::Recorded) -> Vec<String> {
    let of_person = |text: &String| !text.starts_with('<') && !text.starts_with('#');
    let messages = request.input().iter().filter(|item| item["role"] == "user");
    let texts = messages.filter_map(|item| item["content"][0]["text"].as_str().map(str::to_owned));
    texts.filter(of_person).collect()
}

/// Shows S-079, S-081, S-082, S-226.
#[tokio::test]
async fn input_during_a_call_is_in_the_next_request_in_its_order() {
    let script = json!([
        [bash("c1", "echo ready; until test -e go; do sleep 0.02; done")],
        [say("done")],
        [say("later")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Begin").await;
    stage.until_output("ready").await;
    assert_eq!(
        stage.steer(&thread, &turn, "first").await.unwrap(),
        json!({ "turnId": turn })
    );
    // An input with settings joins as well; they count from the next turn on.
    let settings = json!({"model": "another", "approvalPolicy": "never"});
    let input = json!([{"type": "text", "text": "second"}]);
    let params = json!({"threadId": thread, "input": input, "settings": settings, "clientUserMessageId": "mine"});
    let started = stage.client.call("countersign/turn/start", params).await;
    assert_eq!(
        (&started["steered"], &started["turn"]["id"]),
        (&json!(true), &json!(turn))
    );
    stage.steer(&thread, &turn, "third").await.unwrap();
    for empty in [json!([]), json!([{"type": "text", "text": "  "}])] {
        let params = json!({"threadId": thread, "expectedTurnId": turn, "input": empty});
        assert_eq!(
            stage
                .client
                .request("countersign/turn/steer", params)
                .await
                .unwrap_err()
                .code,
            -32602
        );
    }
    stage.write("go", "");
    let story = stage.finish(&turn).await;
    let messages = story.items("userMessage");
    let texts: Vec<_> = messages
        .iter()
        .map(|item| item["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["first", "second", "third"]);
    assert_eq!(messages[1]["clientId"], "mine");
    let requests = stage.requests(2);
    assert_eq!(user_texts(&requests[1]), ["Begin", "first", "second", "third"]);
    assert_eq!(requests[1].model(), "rehearsal", "the running turn keeps its settings");
    let input = requests[1].input();
    let output = input
        .iter()
        .position(|item| item["call_id"] == "c1" && item["output"].is_string())
        .unwrap();
    let first = input
        .iter()
        .position(|item| item["content"][0]["text"] == "first")
        .unwrap();
    assert!(output < first);
    let contexts = |request: &countersign::rehearsal::Recorded| {
        let texts = request.input_texts();
        texts
            .into_iter()
            .filter(|text| text.starts_with("<environment_context>"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        contexts(&requests[1]).len(),
        1,
        "steering tells nothing of the surroundings"
    );
    stage.complete(&thread, "Next").await;
    let last = stage.requests(3).pop().unwrap();
    assert_eq!(last.model(), "another");
    assert_eq!(
        contexts(&last)[1],
        "<environment_context>\n  <approval_policy>never</approval_policy>\n</environment_context>"
    );
}

/// Shows S-083.
#[tokio::test]
async fn steering_another_turn_is_refused_and_leaves_no_trace() {
    let script = json!([[say("one")], [{"hold": "gate"}, say("two")]]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let old = stage.complete(&thread, "First").await.last()["turnId"]
        .as_str()
        .unwrap()
        .to_owned();
    let error = stage.steer(&thread, &old, "too late").await.unwrap_err();
    assert_eq!((error.code, &error.data["kind"]), (-32803, &json!("noActiveTurn")));
    let turn = stage.start_turn(&thread, "Second").await;
    let error = stage.steer(&thread, &old, "wrong turn").await.unwrap_err();
    assert_eq!((error.code, &error.data["kind"]), (-32803, &json!("turnMismatch")));
    assert!(error.message.contains(&turn), "{error:?}");
    stage.model.release("gate");
    let story = stage.finish(&turn).await;
    assert_eq!(story.item("userMessage")["content"][0]["text"], "Second");
    assert_eq!(user_texts(&stage.requests(2)[1]), ["First", "Second"]);
    let unknown = json!({"threadId": "nobody", "expectedTurnId": turn, "input": [{"type": "text", "text": "x"}]});
    assert_eq!(
        stage
            .client
            .request("countersign/turn/steer", unknown)
            .await
            .unwrap_err()
            .code,
        -32803
    );
}

/// Shows S-088.
#[tokio::test]
async fn input_while_the_final_answer_streams_is_answered() {
    let script = json!([
        [{"say": "The answer", "partial": true}, {"hold": "gate"}, {"say": " is 42."}],
        [say("And now the other thing.")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Question").await;
    stage.until_event("item/agentMessage/delta").await;
    stage.steer(&thread, &turn, "One more thing").await.unwrap();
    stage.model.release("gate");
    let story = stage.finish(&turn).await;
    assert_eq!(story.said(), ["The answer is 42.", "And now the other thing."]);
    assert_eq!(user_texts(&stage.requests(2)[1]), ["Question", "One more thing"]);
}

/// Shows S-080, S-088.
#[tokio::test]
async fn input_in_the_last_moment_is_answered_once_wherever_it_lands() {
    let stage = Stage::new(json!([{"repeat": true, "outputs": [{"say": "re: {{last_user}}"}]}])).await;
    let thread = stage.thread().await;
    let (mut steered, mut started) = (0, 0);
    for round in 0..50 {
        let turn = stage.start_turn(&thread, &format!("question {round}")).await;
        // Each time a little later in the turn.
        for _ in 0..(round % 12) {
            if stage.next().await.0 == "turn/completed" {
                break;
            }
        }
        let (text, answer) = (format!("late {round}"), format!("re: late {round}"));
        let params = json!({"threadId": thread, "input": [{"type": "text", "text": text}]});
        let late = stage.client.call("countersign/turn/start", params).await;
        let last = late["turn"]["id"].as_str().unwrap().to_owned();
        if late["steered"] == true {
            assert_eq!(last, turn);
            steered += 1;
        } else {
            assert_ne!(last, turn);
            started += 1;
        }
        let story = stage.finish(&last).await;
        let answers = story.said().iter().filter(|said| **said == answer).count();
        assert_eq!(answers, 1, "{text}: {story:#?}");
    }
    assert!(steered > 0 && started > 0, "{steered} joined, {started} began a turn");
    let texts = user_texts(stage.model.requests().last().unwrap());
    assert_eq!(texts.len(), 100);
}

/// Shows S-031, S-089.
#[tokio::test]
async fn what_waited_for_a_stopped_turn_is_gone_with_it() {
    let script = json!([[bash("c1", "echo ready; sleep 1000")], [say("ok")]]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.until_output("ready").await;
    stage.steer(&thread, &turn, "never mind").await.unwrap();
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.items("userMessage").len(), 0);
    let story = stage.complete(&thread, "Next").await;
    assert_eq!(story.count("turn/diff"), 0);
    assert_eq!(user_texts(&stage.requests(2)[1]), ["Go", "Next"]);
}

#[tokio::test]
async fn what_waited_for_a_turn_that_failed_is_in_the_conversation() {
    let script = json!([
        [{"hold": "gate"}, {"fail": {"status": 401}}],
        [say("ok")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.model.wait_for_hold("gate").await;
    stage.steer(&thread, &turn, "do not forget").await.unwrap();
    stage.model.release("gate");
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "failed");
    assert_eq!(story.items("userMessage").len(), 2);
    stage.complete(&thread, "Next").await;
    assert_eq!(user_texts(&stage.requests(2)[1]), ["Go", "do not forget", "Next"]);
}

#[tokio::test]
async fn an_output_schema_of_input_that_joins_is_not_carried_into_other_turns() {
    let script = json!([[{"hold": "gate"}, shell("c", &["true"])], [say("one")], [say("two")]]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let params =
        json!({"threadId": thread, "input": [{"type": "text", "text": "more"}], "outputSchema": {"type": "object"}});
    let joined = stage.client.call("countersign/turn/start", params).await;
    assert_eq!(joined["steered"], true);
    stage.model.release("gate");
    stage.finish(&turn).await;
    stage.complete(&thread, "Next").await;
    let requests = stage.requests(3);
    assert!(
        requests
            .iter()
            .all(|request| request.body["text"].get("format").unwrap_or(&Value::Null).is_null())
    );
}
