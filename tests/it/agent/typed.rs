//! The file of what the person typed.

use super::stage::{Setting, Stage, eventually, say};
use serde_json::{Value, json};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

fn answers(count: usize) -> Value {
    (0..count).map(|_| json!([say("ok")])).collect()
}

fn file(stage: &Stage) -> PathBuf {
    stage.client.home().join("history.jsonl")
}

fn lines(stage: &Stage) -> Vec<Value> {
    let text = std::fs::read_to_string(file(stage)).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Shows S-322, S-324, S-326, S-327, S-328.
#[tokio::test]
async fn what_is_typed_is_kept_and_read_back_by_number() {
    let stage = Stage::new(answers(3)).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "first").await;
    stage.complete(&thread, "second\nwith @words").await;
    let kept = stage
        .client
        .call("countersign/history/append", json!({"text": "from elsewhere"}))
        .await;
    assert_eq!(kept, json!({"kept": true}));
    eventually("all is written", || lines(&stage).len() == 3).await;
    let texts: Vec<_> = lines(&stage).iter().map(|line| line["text"].clone()).collect();
    assert_eq!(texts, ["first", "second\nwith @words", "from elsewhere"]);
    assert_eq!(lines(&stage)[0]["session_id"], json!(thread));
    assert!(lines(&stage)[0]["ts"].as_i64().is_some_and(|ts| ts > 1_700_000_000));
    let found = std::fs::metadata(file(&stage)).expect("a file");
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    // A new thread is told where the end is; from there one goes back.
    let other = stage.client.call("countersign/thread/start", json!({})).await["thread"]["id"].clone();
    let story = stage
        .until(|method, params| method == "thread/configured" && params["threadId"] == other)
        .await;
    let configured = story.last();
    assert_eq!(configured["historyLogId"], json!(found.ino().to_string()));
    assert_eq!(configured["historyEntryCount"], 3);
    let read = |log: String, offset: u64| {
        let params = json!({"logId": log, "offset": offset});
        stage.client.call("countersign/history/read", params)
    };
    let id = found.ino().to_string();
    for (offset, text) in [(2, "from elsewhere"), (1, "second\nwith @words"), (0, "first")] {
        let answer = read(id.clone(), offset).await;
        assert_eq!(
            (&answer["entry"]["text"], &answer["logId"], &answer["offset"]),
            (&json!(text), &json!(id), &json!(offset))
        );
    }
    for (log, offset) in [
        (id.clone(), 3),
        (id.clone(), u64::MAX),
        ("12".to_owned(), 0),
        ("none".to_owned(), 0),
    ] {
        assert_eq!(read(log.clone(), offset).await, json!({"logId": log, "offset": offset}));
    }
    // Another program adds: the numbers stay.
    let mut text = std::fs::read_to_string(file(&stage)).expect("a file");
    text.push_str("{\"session_id\":\"x\",\"ts\":1,\"text\":\"of another\"}\n");
    std::fs::write(file(&stage), text).expect("a file");
    assert_eq!(read(id.clone(), 1).await["entry"]["text"], "second\nwith @words");
    assert_eq!(read(id.clone(), 3).await["entry"]["text"], "of another");
    let page = stage.client.call("countersign/history/list", json!({"limit": 2})).await;
    let texts: Vec<_> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["text"])
        .collect();
    assert_eq!(texts, ["of another", "from elsewhere"]);
    assert_eq!(page["count"], 4);
    // The file is replaced.
    std::fs::rename(file(&stage), stage.client.home().join("old.jsonl")).expect("a file");
    assert_eq!(read(id.clone(), 0).await, json!({"logId": id, "offset": 0}));
}

/// Shows S-325.
#[tokio::test]
async fn nothing_is_kept_where_the_person_does_not_want_it() {
    let setting = Setting {
        tables: "[history]\npersistence = \"none\"".to_owned(),
        ..Setting::default()
    };
    let stage = Stage::with(answers(1), setting).await;
    std::fs::write(file(&stage), "{\"session_id\":\"x\",\"ts\":1,\"text\":\"before\"}\n").expect("a file");
    let started = stage.client.call("countersign/thread/start", json!({})).await;
    let story = stage.until_event("thread/configured").await;
    assert_eq!(story.last()["historyEntryCount"], 0);
    stage.complete(started["thread"]["id"].as_str().unwrap(), "typed").await;
    let kept = stage
        .client
        .call("countersign/history/append", json!({"text": "x"}))
        .await;
    assert_eq!(kept, json!({"kept": false}));
    let list = stage.client.call("countersign/history/list", json!({})).await;
    assert_eq!(list, json!({"logId": "0", "count": 0, "data": []}));
    assert_eq!(lines(&stage).len(), 1);
}

/// Shows S-322, S-329.
#[tokio::test]
async fn a_file_that_cannot_be_written_holds_nothing_up() {
    let stage = Stage::new(answers(3)).await;
    // Somebody holds the lock for ever.
    std::fs::write(file(&stage), "").expect("a file");
    let held = std::fs::File::options().write(true).open(file(&stage)).expect("a file");
    held.lock().expect("a lock");
    let thread = stage.thread().await;
    stage.complete(&thread, "one").await;
    let read = stage.client.call("countersign/history/list", json!({})).await;
    assert_eq!(read["data"], json!([]));
    drop(held);
    eventually("it is written after all", || lines(&stage).len() == 1).await;
    // And now it is no file at all: a warning in the log, and the turn goes on.
    std::fs::remove_file(file(&stage)).expect("a file");
    std::fs::create_dir(file(&stage)).expect("a folder");
    assert_eq!(stage.complete(&thread, "two").await.status(), "completed");
    let log = stage.client.home().join("log/countersign.log");
    eventually("the log says so", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("history.jsonl"))
    })
    .await;
    let error = stage
        .client
        .request("countersign/history/list", json!({}))
        .await
        .expect_err("no file");
    assert_eq!(error.data["kind"], "storeFailed");
}

/// What leaves nothing on the disk leaves nothing here; commands of the person's own and steering words are typed, too.
#[tokio::test]
async fn what_counts_as_typed() {
    let stage = Stage::new(answers(1)).await;
    let private = stage.start_thread(json!({"ephemeral": true})).await;
    let private = private["thread"]["id"].as_str().unwrap().to_owned();
    stage.complete(&private, "off the record").await;
    let thread = stage.thread().await;
    let params = json!({"threadId": thread, "input": [{"type": "text", "text": "!true"}]});
    stage.run_with(params).await;
    eventually("it is written", || lines(&stage).len() == 1).await;
    assert_eq!(lines(&stage)[0]["text"], "!true");
}
