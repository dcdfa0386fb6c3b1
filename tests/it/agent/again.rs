//! What an allowance has stopped is sent again once it is open: in the queue, for everybody to see, and as long as the person
//! wants it.

use super::stage::{Setting, Stage, say};
use serde_json::{Value, json};

fn words(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// The provider refuses: the allowance opens in so many seconds.
fn used_up(seconds: u64) -> Value {
    json!([{"fail": {"status": 429,
        "body": {"error": {"type": "usage_limit_reached", "message": "The limit.", "resets_in_seconds": seconds}}}}])
}

async fn command(stage: &Stage, name: &str, thread: &str) -> String {
    let params = json!({"command": format!("countersign.{name}"), "arguments": [{"threadId": thread}]});
    stage.client.call("workspace/executeCommand", params).await;
    let told = stage.client.expect_notification("window/showMessage").await;
    told["message"].as_str().expect("words").to_owned()
}

async fn offered(stage: &Stage) -> Vec<String> {
    let params = json!({
        "textDocument": {"uri": countersign::workspace::uri::from_path(&stage.path("a.txt"))},
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "context": {"diagnostics": [], "only": ["source"]},
    });
    let actions = stage.client.call("textDocument/codeAction", params).await;
    let actions = actions.as_array().expect("a list").iter();
    actions
        .filter_map(|action| action["title"].as_str())
        .filter(|title| title.to_lowercase().contains("send again"))
        .map(str::to_owned)
        .collect()
}

async fn stage(script: Value) -> Stage {
    let setting = Setting {
        files: vec![("a.txt".to_owned(), "a\n".to_owned())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.open("a.txt", "a\n");
    stage
}

async fn queue(stage: &Stage, thread: &str) -> Value {
    let params = json!({"threadId": thread});
    stage.client.call("countersign/turn/queue/list", params).await["queue"].take()
}

/// The same words begin a turn by themselves when the allowance opens.
#[tokio::test]
async fn the_message_is_sent_again_when_the_allowance_opens() {
    let stage = stage(json!([used_up(2), [say("here I am")]])).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Where are you?").await;
    let opens = story.one("error")["error"]["actions"][0].clone();
    assert_eq!(opens["type"], "waitUntil", "{story:#?}");
    let titles = offered(&stage).await;
    assert!(
        titles.len() == 1 && titles[0].starts_with("Send again at "),
        "{titles:?}"
    );
    let told = command(&stage, "sendAgain", &thread).await;
    assert!(told.starts_with("The message is sent again "), "{told}");
    let changed = stage.until_event("turn/queueChanged").await;
    let waiting = &changed.one("turn/queueChanged")["queue"]["inputs"][0];
    assert_eq!(
        (&waiting["input"], &waiting["notBeforeMs"]),
        // The two clocks may differ a little.
        (
            &words("Where are you?"),
            &json!(opens["at"].as_i64().expect("a time") + 2000)
        )
    );
    let story = stage.until_event("turn/completed").await;
    assert_eq!(story.said(), ["here I am"]);
    let started = story.one("turn/started")["turn"]["startedAtMs"]
        .as_i64()
        .expect("a time");
    assert!(
        started >= opens["at"].as_i64().expect("a time"),
        "not before the allowance opens"
    );
    assert_eq!(stage.requests(2)[1].last_user_text(), "Where are you?");
    assert_eq!(offered(&stage).await, [""; 0]);
}

/// Until then it can be taken back, everything else goes first, and it is sent once only.
#[tokio::test]
async fn what_waits_can_be_taken_back_and_keeps_nobody_waiting() {
    let stage = stage(json!([used_up(7200), [say("something else")]])).await;
    let thread = stage.thread().await;
    stage.run(&thread, "First").await;
    command(&stage, "sendAgain", &thread).await;
    stage.until_event("turn/queueChanged").await;
    let twice = command(&stage, "sendAgain", &thread).await;
    assert!(twice.contains("waiting already"), "{twice}");
    let titles = offered(&stage).await;
    assert!(
        titles.len() == 1 && titles[0].starts_with("Do not send again at "),
        "{titles:?}"
    );
    // Another message of the person's has its turn at once, also through the queue.
    let params = json!({"threadId": thread, "input": words("Second")});
    stage.client.call("countersign/turn/queue/add", params).await;
    let story = stage.until_event("turn/completed").await;
    assert_eq!(story.said(), ["something else"]);
    assert_eq!(queue(&stage, &thread).await["inputs"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        command(&stage, "doNotSend", &thread).await,
        "The message is not sent again."
    );
    stage.until_event("turn/queueChanged").await;
    assert_eq!(queue(&stage, &thread).await["inputs"], json!([]));
    assert_eq!(
        command(&stage, "doNotSend", &thread).await,
        "Nothing waits to be sent again."
    );
    let none = command(&stage, "sendAgain", &thread).await;
    assert!(none.contains("was not stopped by an allowance"), "{none}");
    stage.requests(2);
}

/// It is gone with its conversation, and not in silence.
#[tokio::test]
async fn a_conversation_that_is_closed_says_what_was_not_sent() {
    let stage = stage(json!([used_up(7200)])).await;
    let thread = stage.thread().await;
    stage.run(&thread, "First").await;
    command(&stage, "sendAgain", &thread).await;
    stage.until_event("turn/queueChanged").await;
    stage.client.ignore("countersign/thread/archived");
    stage
        .client
        .call("countersign/thread/archive", json!({"threadId": thread}))
        .await;
    let story = stage.until_event("warning").await;
    let told = story.one("warning")["message"].as_str().expect("words");
    assert!(
        told.contains("was not sent") && told.contains("closed before"),
        "{told}"
    );
}
