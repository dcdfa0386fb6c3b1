//! Work-done progress: one a turn, a readable line for each item, ended in every way a turn can end.

use crate::support::client::{Client, Reply};
use crate::support::work::{Work, calls};
use serde_json::{Value, json};

/// All progress of one token until its end.
async fn story(client: &Client) -> (Value, Vec<Value>) {
    let first = client.expect_notification("$/progress").await;
    let token = first["token"].clone();
    let mut values = vec![first["value"].clone()];
    while values.last().expect("some")["kind"] != "end" {
        let next = client
            .expect_notification_where("$/progress", |params| params["token"] == token)
            .await;
        values.push(next["value"].clone());
    }
    (token, values)
}

fn lines(values: &[Value]) -> Vec<&str> {
    values
        .iter()
        .map(|value| value["message"].as_str().expect("a line"))
        .collect()
}

/// A work whose progress must be read.
async fn work(script: Value) -> Work {
    let work = Work::start("helix-25.07.1", &[("a.txt", "a\nb\n")], script).await;
    work.client.heed("$/progress");
    work.open("a.txt");
    work
}

#[tokio::test]
async fn each_item_has_a_line_and_the_end_says_how() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** End Patch\n";
    let work = work(json!([
        [{"think": "Hm."}, {"say": "I look."}, {"call": {"tool": "read_file", "arguments": {"path": "a.txt"}, "id": "r"}}],
        [{"call": {"tool": "shell", "arguments": {"command": ["cat", "a.txt"]}, "id": "c"}}],
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "p"}}],
        [{"say": "All done."}],
    ]))
    .await;
    work.fix("a.txt").await;
    work.accept().await;
    let (_, values) = story(&work.client).await;
    assert_eq!(values[0]["kind"], "begin");
    assert_eq!(values[0]["title"], "Countersign");
    assert_eq!(values[0]["cancellable"], true);
    let lines = lines(&values);
    for part in [
        "Thinking",
        "Writing",
        "a.txt",
        "Reading a.txt",
        "Proposing changes to a.txt",
        "Waiting for your review",
    ] {
        assert!(
            lines.iter().any(|line| line.contains(part)),
            "{part} is missing in {lines:?}"
        );
    }
    assert_eq!(lines.last(), Some(&"Done"));
    assert!(
        values[1..values.len() - 1]
            .iter()
            .all(|value| value["kind"] == "report")
    );
    work.done().await;
    // The log tells what came of each.
    work.client.expect_log("agent: I look.").await;
    work.client.expect_log("$ cat a.txt").await;
    work.client.expect_log("file change (done)").await;
}

/// Shows S-131.
#[tokio::test]
async fn cancel_stops_the_turn_and_withdraws_its_question() {
    let arguments = json!({"command": ["true"], "with_escalated_permissions": true, "justification": "a test"});
    let work = work(calls("shell", arguments)).await;
    work.fix("a.txt").await;
    let question = work.question().await;
    let begin = work.client.expect_notification("$/progress").await;
    work.client
        .notify("window/workDoneProgress/cancel", json!({"token": begin["token"]}));
    work.client.expect_withdrawn(&question).await;
    let end = work
        .client
        .expect_notification_where("$/progress", |params| params["value"]["kind"] == "end")
        .await;
    assert_eq!(end["value"]["message"], "Stopped");
    // The answer that crosses the withdrawal, and a cancellation of what is over, have no effect.
    work.client.answer(&question, Ok(json!({"title": "Allow Once"})));
    for token in [begin["token"].clone(), json!("unknown"), json!(7)] {
        work.client
            .notify("window/workDoneProgress/cancel", json!({"token": token}));
    }
    work.client.settle().await;
    work.client.ignore("$/progress");
    assert_eq!(work.model.requests().len(), 1, "the model is not asked again");
}

#[tokio::test]
async fn a_failed_turn_ends_its_progress() {
    let work = work(json!([[{"fail": {"status": 401}}]])).await;
    work.fix("a.txt").await;
    let (_, values) = story(&work.client).await;
    assert_eq!(lines(&values).last(), Some(&"Failed"));
    work.warned().await;
}

#[tokio::test]
async fn an_editor_that_wants_no_progress_gets_none() {
    for reply in [
        Reply::Error(-32601, "no"),
        Reply::Never,
        Reply::Rubbish(json!({"jsonrpc": "2.0", "id": "x", "result": 1})),
    ] {
        let work = work(json!([[{"say": "All done."}]])).await;
        let answer = reply.clone();
        work.client
            .on_request("window/workDoneProgress/create", move |_| answer.clone());
        work.fix("a.txt").await;
        work.done().await;
        if matches!(reply, Reply::Never) {
            work.client.expect_request("window/workDoneProgress/create").await;
        }
        assert_eq!(work.client.take_unread(), [], "{reply:?}");
    }
}

/// Two turns at once have a progress each.
#[tokio::test]
async fn turns_side_by_side_have_tokens_of_their_own() {
    let work = work(json!([
        {"when": {"request": 1}, "outputs": [{"hold": "first"}, {"say": "All done."}]},
        {"when": {"request": 2}, "outputs": [{"say": "All done."}]},
    ]))
    .await;
    work.fix("a.txt").await;
    work.model.wait_for_hold("first").await;
    let first = work.client.expect_notification("$/progress").await["token"].clone();
    work.fix("a.txt").await;
    work.done().await;
    let of = |token: Value| move |params: &Value| (params["token"] == token) && params["value"]["kind"] == "end";
    let other = work
        .client
        .expect_notification_where("$/progress", |params| {
            params["value"]["kind"] == "end" && params["token"] != first
        })
        .await;
    assert_eq!(other["value"]["message"], "Done");
    work.model.release("first");
    work.client.expect_notification_where("$/progress", of(first)).await;
    work.done().await;
    work.client.ignore("$/progress");
}
