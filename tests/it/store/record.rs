//! What happens is written as it happens, for its owner only, and nothing of it is lost.

use super::{Play, assistant, lines, meta, user};
use countersign::model::item::ResponseItem;
use countersign::protocol::thread::GitInfo;
use countersign::store::{self, EventMsg, Recorder, RolloutItem, StoreError};
use serde_json::json;

/// Shows S-293, S-294, S-295, S-030, S-299.
#[tokio::test]
async fn a_thread_is_recorded_line_by_line() {
    let home = tempfile::tempdir().unwrap();
    let mut meta = meta(home.path());
    meta.git = Some(GitInfo {
        sha: Some("abc".into()),
        branch: Some("main".into()),
        origin_url: Some("https://example.com/r.git".into()),
    });
    let id = meta.id.clone();
    let mut play = Play {
        thread: id.clone(),
        seq: 0,
        recorder: Recorder::create(home.path(), meta).await.unwrap(),
    };
    play.whole_turn("Mend it", "Done.");
    play.recorder.record([RolloutItem::Compacted {
        message: "sum".into(),
        replacement_history: Some(vec![user("x")]),
    }]);
    play.recorder.close().await.unwrap();

    let path = play.recorder.path().to_owned();
    assert!(path.to_str().unwrap().ends_with(&format!("-{id}.jsonl")));
    assert_eq!(store::find(home.path(), &id).unwrap(), Some(path.clone()));
    let lines = lines(&path);
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "session_meta",
            "event_msg",
            "turn_context",
            "response_item",
            "event_msg",
            "event_msg",
            "response_item",
            "event_msg",
            "event_msg",
            "event_msg",
            "compacted"
        ]
    );
    let first = &lines[0]["payload"];
    assert_eq!(first["id"], json!(id));
    assert_eq!(first["cwd"], json!(home.path().join("project")));
    assert_eq!(first["originator"], "countersign");
    assert_eq!(first["cli_version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(first["instructions"], "Use tabs.");
    assert_eq!(first["source"], json!({ "custom": "neovim" }));
    assert_eq!(first["model_provider"], "openai");
    assert_eq!(
        first["git"],
        json!({ "commit_hash": "abc", "branch": "main", "repository_url": "https://example.com/r.git" })
    );
    let context = &lines[2]["payload"];
    assert_eq!(context["approval_policy"], "untrusted");
    assert_eq!(context["sandbox_policy"]["type"], "workspace-write");
    assert_eq!(
        (&context["model"], &context["effort"], &context["summary"]),
        (&json!("gpt-x"), &json!("high"), &json!("concise"))
    );
    let stamps: Vec<&str> = lines.iter().map(|line| line["timestamp"].as_str().unwrap()).collect();
    assert!(stamps.is_sorted(), "{stamps:?}");
    assert!(
        stamps.iter().all(|stamp| stamp.len() == 24 && stamp.ends_with('Z')),
        "{stamps:?}"
    );
    let ordinals: Vec<u64> = lines.iter().map(|line| line["ordinal"].as_u64().unwrap()).collect();
    assert_eq!(ordinals, (0..lines.len() as u64).collect::<Vec<_>>());
}

#[cfg(unix)]
#[tokio::test]
async fn a_rollout_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    play.whole_turn("a", "b");
    play.recorder.flush().await.unwrap();
    let mode = std::fs::metadata(play.recorder.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        lines(play.recorder.path())[0]["payload"].get("git").is_none(),
        "no repository, no part about it"
    );
}

#[tokio::test]
async fn a_thread_without_a_turn_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::create(home.path(), meta(home.path())).await.unwrap();
    // Events that are not kept do not bring the file into being.
    recorder.record([]);
    recorder.record([RolloutItem::ResponseItem(ResponseItem::Other)]);
    recorder.flush().await.unwrap();
    assert!(!recorder.path().exists());
    recorder.close().await.unwrap();
    assert!(!home.path().join("sessions").exists());
}

#[tokio::test]
async fn a_home_that_cannot_be_written_fails_the_creation() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    std::fs::write(&home, "a file in the way").unwrap();
    let error = Recorder::create(&home, meta(dir.path())).await.unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }));
    let text = error.to_string();
    assert!(
        text.contains(home.to_str().unwrap()) && text.contains("COUNTERSIGN_HOME"),
        "{text}"
    );
}

/// Shows S-297.
#[tokio::test]
async fn flush_puts_all_that_was_recorded_on_disk() {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    for round in 1..=50 {
        play.recorder
            .record([RolloutItem::ResponseItem(user(&format!("w{round}")))]);
        play.recorder.flush().await.unwrap();
        assert_eq!(lines(play.recorder.path()).len(), round + 1);
    }
    // Closing drains what nobody flushed.
    play.whole_turn("last", "answer");
    play.recorder.close().await.unwrap();
    assert_eq!(lines(play.recorder.path()).len(), 51 + 9);
    assert!(matches!(play.recorder.flush().await, Err(StoreError::Closed { .. })));
    play.recorder.close().await.unwrap();
}

/// Shows S-298.
#[tokio::test]
async fn a_failed_write_is_told_once_and_made_up_for() {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    let folder = play.recorder.path().parent().unwrap().to_owned();
    std::fs::remove_dir(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    let mut trouble = play.recorder.trouble();
    play.whole_turn("first", "one");
    trouble.wait_for(Option::is_some).await.unwrap();
    let text = trouble.borrow_and_update().clone().unwrap();
    assert!(text.contains(play.recorder.path().to_str().unwrap()), "{text}");
    play.whole_turn("second", "two");
    assert!(matches!(play.recorder.flush().await, Err(StoreError::Write { .. })));
    assert!(!trouble.has_changed().unwrap(), "told twice");

    std::fs::remove_file(&folder).unwrap();
    play.recorder.flush().await.unwrap();
    assert!(trouble.borrow_and_update().is_none());
    let stored = store::load(play.recorder.path()).unwrap();
    assert_eq!(
        stored.history,
        [user("first"), assistant("one"), user("second"), assistant("two")]
    );
    assert_eq!(stored.skipped, 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    std::os::unix::fs::symlink("/dev/full", play.recorder.path()).unwrap();
    play.whole_turn("a", "b");
    let error = play.recorder.flush().await.unwrap_err();
    assert!(error.to_string().contains("disk space"), "{error}");
    std::fs::remove_file(play.recorder.path()).unwrap();
    // Without a word from anyone: it tries again by itself.
    play.recorder.trouble().wait_for(Option::is_none).await.unwrap();
    assert_eq!(
        store::load(play.recorder.path()).unwrap().history,
        [user("a"), assistant("b")]
    );
}

#[test]
fn unknown_events_are_kept_as_they_are() {
    let value = json!({ "type": "brand_new", "x": [1] });
    let event: EventMsg = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(event, EventMsg::Other(value.clone()));
    assert_eq!(serde_json::to_value(event).unwrap(), value);
}
