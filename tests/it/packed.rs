//! Rollouts that another program has packed: listed, read, searched and gone on with in a copy, never written.

use countersign::ids::ThreadId;
use countersign::model::item::ResponseItem;
use countersign::protocol::thread::{ThreadListParams, ThreadSearchParams};
use countersign::store::{self, Index, Recorder, RolloutItem, SessionMeta, StoreError};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ID: &str = "5973b6c0-94b8-487b-a530-2aeb6098ae0e";
const OTHER: &str = "6973b6c0-94b8-487b-a530-2aeb6098ae0e";

fn line(kind: &str, payload: Value) -> Value {
    json!({ "timestamp": "2025-05-07T17:24:21.123Z", "type": kind, "payload": payload })
}

/// A conversation; long enough that its name stands far from its beginning.
fn body(id: &str, originator: &str, words: &str) -> String {
    let meta = json!({
        "id": id, "timestamp": "2025-05-07T17:24:21.123Z", "cwd": "/project", "originator": originator,
        "cli_version": "0.50.0", "source": "cli", "instructions": null, "model_provider": "openai",
    });
    let message = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": words }] });
    let mut lines = vec![
        line("session_meta", meta),
        line("response_item", message),
        line(
            "event_msg",
            json!({ "type": "user_message", "message": words, "kind": "plain" }),
        ),
    ];
    for number in 0..2000 {
        let text = format!("Answer {number}");
        lines.push(line("event_msg", json!({ "type": "agent_message", "message": text })));
    }
    lines.push(line(
        "event_msg",
        json!({ "type": "thread_name_updated", "thread_id": id, "thread_name": "A name" }),
    ));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn put(home: &Path, id: &str, ending: &str, bytes: &[u8]) -> PathBuf {
    let folder = home.join("sessions/2025/05/07");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(format!("rollout-2025-05-07T17-24-21-{id}{ending}"));
    std::fs::write(&path, bytes).expect("a file");
    path
}

fn packed(text: &str) -> Vec<u8> {
    compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
}

fn listing() -> ThreadListParams {
    ThreadListParams {
        model_providers: Some(Vec::new()),
        ..ThreadListParams::default()
    }
}

#[tokio::test]
async fn a_packed_conversation_is_listed_read_searched_and_goes_on_in_a_copy() {
    // Also where it is one of ours that somebody has packed.
    for originator in ["codex_cli_rs", "countersign"] {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path();
        let bytes = packed(&body(ID, originator, "Where is the bug?"));
        let path = put(home, ID, ".jsonl.zst", &bytes);
        let page = store::list(home, &listing(), "openai").expect("a page");
        let [thread] = &page.data[..] else { panic!("{page:?}") };
        assert_eq!((thread.id.as_str(), thread.preview.as_str()), (ID, "Where is the bug?"));
        assert_eq!(thread.name.as_deref(), Some("A name"));
        let index = Index::new(home);
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while !index.is_ready() {
            assert!(std::time::Instant::now() < deadline, "the index is never ready");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(index.list(&listing(), "openai", &[]).expect("a page"), page);
        assert_eq!(store::find(home, &ID.into()).expect("an id"), Some(path.clone()));
        let read = store::read(home, &ID.into(), true).expect("sound");
        assert_eq!((read.turns.len(), read.name.as_deref()), (1, Some("A name")));
        let search = ThreadSearchParams {
            search_term: "answer 1999".to_owned(),
            ..serde_json::from_value(json!({"searchTerm": ""})).expect("params")
        };
        let found = store::search(home, &search).expect("a page");
        assert_eq!(found.data.len(), 1);
        assert_eq!(found.data[0].snippet, "Answer 1999");
        let meta = SessionMeta::new(ThreadId::fresh(), Path::new("/project"), "test");
        let resumed = Recorder::resume(home, &path, meta).await.expect("it can be read");
        assert!(resumed.forked);
        resumed
            .recorder
            .record([RolloutItem::ResponseItem(ResponseItem::assistant("Here."))]);
        resumed.recorder.close().await.expect("a copy");
        let copy = store::load(resumed.recorder.path()).expect("sound");
        assert_eq!(copy.meta.forked_from_id, Some(ID.into()));
        assert_eq!(copy.history.last(), Some(&ResponseItem::assistant("Here.")));
        // Nothing is added to what is packed.
        let marker = RolloutItem::ResponseItem(ResponseItem::assistant("x"));
        let refused = Recorder::annotate(&path, marker).await;
        assert!(matches!(refused, Err(StoreError::Foreign { .. })), "{refused:?}");
        assert_eq!(std::fs::read(&path).expect("it is there"), bytes);
        // It can be put away and brought back as it is.
        let there = store::archive::archive(home, &ID.into()).expect("it moves");
        assert!(
            there.to_str().is_some_and(|path| path.ends_with(".jsonl.zst")),
            "{there:?}"
        );
        assert_eq!(store::archive::unarchive(home, &ID.into()).expect("it moves"), path);
    }
}

#[test]
fn one_that_is_plain_too_counts_once_and_damaged_ones_cost_only_themselves() {
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path();
    let text = body(ID, "codex_cli_rs", "Plain");
    let plain = put(home, ID, ".jsonl", text.as_bytes());
    put(home, ID, ".jsonl.zst", &packed(&text));
    let whole = packed(&body(OTHER, "codex_cli_rs", "Cut"));
    let damaged = put(home, OTHER, ".jsonl.zst", &whole[..whole.len() / 2]);
    put(
        home,
        "7973b6c0-94b8-487b-a530-2aeb6098ae0e",
        ".jsonl.zst",
        b"no such thing",
    );
    let page = store::list(home, &listing(), "openai").expect("a page");
    let plain_ones: Vec<_> = page.data.iter().filter(|thread| thread.id.as_str() == ID).collect();
    assert_eq!(plain_ones.len(), 1);
    assert_eq!(plain_ones[0].path.as_deref(), Some(plain.as_path()));
    assert!(page.data.len() <= 2, "{page:?}");
    let error = store::load(&damaged).expect_err("damaged");
    assert!(matches!(error, StoreError::Read { .. }), "{error}");
    assert!(error.to_string().contains(damaged.to_str().expect("text")), "{error}");
}
