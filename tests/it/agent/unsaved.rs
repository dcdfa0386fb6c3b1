//! A record that takes no more lines, at the moment when it matters.

use super::stage::{Setting, Stage, eventually, rollout_path, say};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

/// Lets the server write no file beyond a size; `None`: as large as it likes.
fn limit_files(stage: &Stage, size: Option<u64>) {
    let pid = i32::try_from(stage.client.server_pid()).expect("a process id");
    let limit = Rlimit {
        current: size,
        maximum: None,
    };
    prlimit(Pid::from_raw(pid), Resource::Fsize, limit).expect("our own child");
}

fn words(thread: &Value) -> Vec<&str> {
    let turns = thread["turns"].as_array().expect("turns").iter();
    turns
        .filter_map(|turn| turn["items"][0]["content"][0]["text"].as_str())
        .collect()
}

/// Shows S-318.
#[tokio::test]
async fn a_rollback_whose_marker_cannot_be_saved_holds_and_is_saved_later() {
    let setting = Setting {
        // A file that may not grow is an error then, and no signal that ends the server.
        launcher: ["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""]
            .map(str::to_owned)
            .to_vec(),
        ..Setting::default()
    };
    let script = json!([[say("One.")], [say("Two.")], [say("Three.")], [say("Four.")]]);
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "First").await;
    stage.complete(&thread, "Second").await;
    stage.client.settle().await;
    let path = rollout_path(stage.client.home(), &thread).expect("a rollout");
    let record = || std::fs::read_to_string(&path).expect("text");
    limit_files(&stage, Some(std::fs::metadata(&path).expect("a file").len()));
    let params = json!({"threadId": thread, "numTurns": 1});
    let rolled = stage.client.call("countersign/thread/rollback", params).await;
    assert_eq!(
        (&rolled["numTurns"], words(&rolled["thread"])),
        (&json!(1), vec!["First"])
    );
    let story = stage.until_event("thread/rolledBack").await;
    let warnings: Vec<&str> = story
        .all("warning")
        .iter()
        .filter_map(|one| one["message"].as_str())
        .collect();
    let told = warnings
        .iter()
        .filter(|text| text.contains("will be tried again"))
        .count();
    assert_eq!(told, 1, "{warnings:?}");
    assert!(!record().contains("thread_rolled_back"));
    // It goes on from there, on record or not.
    stage.complete(&thread, "Third").await;
    let texts = stage.requests(3)[2].input_texts();
    assert!(
        texts.iter().any(|text| text == "First") && texts.iter().all(|text| text != "Second"),
        "{texts:?}"
    );
    assert!(!record().contains("Third"));
    limit_files(&stage, None);
    let is_again = |params: &Value| {
        let text = params["message"].as_str();
        text.is_some_and(|text| text.contains("recorded again"))
    };
    stage
        .until(|method, params| method == "warning" && is_again(params))
        .await;
    eventually("it is on record", || record().contains("Three.")).await;
    assert_eq!(record().matches("thread_rolled_back").count(), 1);
    let read = stage.read(&thread).await;
    assert_eq!(words(&read), ["First", "Third"]);
    stage
        .client
        .call("countersign/thread/archive", json!({"threadId": thread}))
        .await;
    stage.until_event("thread/archived").await;
}
