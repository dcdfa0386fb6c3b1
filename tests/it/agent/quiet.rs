//! After the person has stopped a turn the agent does nothing of its own accord until they speak.

use super::stage::{Stage, eventually, say};
use serde_json::{Value, json};

async fn send(stage: &Stage, thread: &str, text: &str) -> Value {
    let params = json!({"threadId": thread, "text": text, "author": "ci", "startsTurn": true});
    stage.client.call("countersign/thread/send", params).await
}

#[tokio::test]
async fn mail_waits_after_a_stop_until_the_person_speaks() {
    let script = json!([
        [say("I begin."), {"hold": "for ever"}],
        {"when": {"input": "Go on"}, "outputs": [say("Yes.")]},
        {"when": {"input": "build is green"}, "outputs": [say("Good.")]},
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "First").await;
    stage.model.wait_for_hold("for ever").await;
    // One that the turn has, one that comes while nothing runs, and one beside a command of the person's own.
    send(&stage, &thread, "build is red").await;
    stage.interrupt(&thread).await;
    assert_eq!(stage.finish(&turn).await.status(), "interrupted");
    assert_eq!(send(&stage, &thread, "build is redder").await, json!({}));
    let own = stage.start_turn(&thread, "!sleep 1").await;
    send(&stage, &thread, "build is reddest").await;
    let story = stage.finish(&own).await;
    assert_eq!((story.status(), story.kinds()), ("completed", vec!["commandExecution"]));
    stage.client.settle().await;
    assert_eq!(stage.model.requests().len(), 1, "nothing was asked");
    let story = stage.complete(&thread, "Go on").await;
    assert_eq!(story.said(), ["Yes."]);
    let texts = stage.requests(2)[1].input_texts().join("\n");
    for text in ["build is red", "build is redder", "build is reddest"] {
        assert_eq!(texts.matches(&format!("{text}\"")).count(), 1, "{text}: {texts}");
    }
    let shown: Vec<&Value> = story.items("agentMail").iter().map(|item| &item["text"]).collect();
    assert_eq!(shown, ["build is red", "build is redder", "build is reddest"]);
    // From now on it is as before.
    let woken = send(&stage, &thread, "build is green").await;
    let turn = woken["turnId"].as_str().expect("a turn");
    assert_eq!(stage.finish(turn).await.said(), ["Good."]);
}

#[tokio::test]
async fn what_waits_for_the_model_is_bounded() {
    let script = json!([[say("I begin."), {"hold": "full"}], [say("Enough.")]]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "First").await;
    stage.model.wait_for_hold("full").await;
    let mut taken = 0;
    let error = loop {
        match stage.steer(&thread, &turn, &format!("And {taken}.")).await {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 1000, "without end");
    };
    assert_eq!((taken, &error.data["kind"]), (100, &json!("queueFull")), "{error:?}");
    let input = json!([{"type": "text", "text": "More"}]);
    let params = json!({"threadId": thread, "input": input});
    let error = stage
        .client
        .request("countersign/turn/start", params)
        .await
        .expect_err("full");
    assert_eq!(error.data["kind"], "queueFull");
    let params = json!({"threadId": thread, "text": "x"});
    let mut mails = 0;
    let error = loop {
        match stage.client.request("countersign/thread/send", params.clone()).await {
            Ok(_) => mails += 1,
            Err(error) => break error,
        }
        assert!(mails < 1000, "without end");
    };
    assert_eq!((mails, &error.data["kind"]), (200, &json!("queueFull")), "{error:?}");
    stage.model.release("full");
    let story = stage.finish(&turn).await;
    assert_eq!((story.status(), story.items("userMessage").len()), ("completed", 101));
    assert_eq!(story.items("agentMail").len(), 200);
    eventually("it takes more again", || stage.model.requests().len() == 2).await;
}
