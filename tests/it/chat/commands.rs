//! Every command that is offered after `/` does what it says.

use super::room::{NAME, Room};
use super::shape::labels;
use crate::support::git::git;
use crate::support::work::Setting;
use serde_json::{Value, json};

/// What follows each command in the document, in the order in which they are sent.
const SAID: [(&str, &str, &str); 9] = [
    ("help", "/help", "`/compact`"),
    ("model", "/model other", "*The model is `other` from now on.*"),
    ("mode", "/mode agent", "*The mode is `agent` from now on.*"),
    ("undo", "/undo", "Restored 1 file."),
    ("compact", "/compact", "summed up to make room"),
    ("review", "/review", "Nothing is wrong with it."),
    ("stop", "/stop", "*Nothing was running.*"),
    ("tidy", "/tidy the shed", "It is tidy."),
    ("new", "/new", "*A new conversation begins here.*"),
];

fn script() -> Value {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** End Patch\n";
    let review = json!({
        "findings": [],
        "overall_correctness": "patch is correct",
        "overall_explanation": "Nothing is wrong with it.",
        "overall_confidence_score": 1.0,
    });
    json!({"steps": [
        {"when": {"output": {"c1": ""}}, "outputs": [{"say": "It is changed."}]},
        {"when": {"last_user": "Change it"}, "outputs": [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "c1"}}]},
        {"when": {"last_user": "Tidy the shed."}, "outputs": [{"say": "It is tidy."}]},
        {"outputs": [{"say": review.to_string()}], "repeat": true},
    ]})
}

/// Each of those that are offered, prompts of the person's too, is carried out and answered in the document.
#[tokio::test]
async fn every_command_that_is_offered_works() {
    let home = tempfile::tempdir().expect("a folder");
    let prompts = home.path().join("prompts");
    std::fs::create_dir_all(&prompts).expect("a folder");
    std::fs::write(prompts.join("tidy.md"), "Tidy $ARGUMENTS.").expect("a prompt");
    let setting = Setting {
        files: vec![(NAME, "/".to_owned()), ("a.txt", "one\ntwo\nthree\n".to_owned())],
        home: Some(home.path().to_owned()),
        ..Setting::default()
    };
    let room = Room::with(setting, script()).await;
    let folder = room.work.path(".");
    for arguments in [&["init", "-q"][..], &["add", "a.txt"], &["commit", "-qm", "first"]] {
        git(&folder, arguments);
    }
    let params = json!({"textDocument": {"uri": room.uri()}, "position": {"line": 0, "character": 1}});
    let mut offered = labels(&room.work.client.call("textDocument/completion", params).await);
    offered.sort();
    let mut told: Vec<_> = SAID.iter().map(|(name, ..)| (*name).to_owned()).collect();
    told.sort();
    assert_eq!(offered, told, "each that is offered is tried here, and no other");
    room.work.editor.close(&room.work.path(NAME));
    std::fs::write(room.work.path(NAME), "").expect("a file");
    room.work.open(NAME);
    // Something that can be taken back, and reviewed.
    room.send("Change it").await;
    room.choose("Agent: Accept the change").await;
    room.sees("It is changed.").await;
    room.rests().await;
    assert_eq!(room.work.disk("a.txt").as_deref(), Some("one\nTWO\nthree\n"));
    for (name, words, answer) in SAID {
        let before = room.text().len();
        room.send(words).await;
        let text = room
            .until(&format!("{answer:?} after {words}"), |text| {
                text.get(before..)
                    .is_some_and(|new| new.contains(answer) && new.trim_end().ends_with("## ❯ You"))
            })
            .await;
        room.rests().await;
        match name {
            "model" => assert!(text.contains("\nmodel: other\n"), "{text}"),
            "undo" => assert_eq!(room.work.disk("a.txt").as_deref(), Some("one\ntwo\nthree\n")),
            "compact" => std::fs::write(room.work.path("a.txt"), "one\ntwo\nfour\n").expect("a file"),
            _ => {}
        }
    }
    room.work.client.ignore("window/showMessage");
}

/// The words do what the code action does, and are not sent to the model.
#[tokio::test]
async fn stop_as_words_ends_the_running_turn() {
    let room = Room::start("helix-25.07.1", "", json!([[{"say": "I begin. "}, {"hold": "never"}]])).await;
    room.send("Begin").await;
    room.sees("I begin.").await;
    room.send("/stop").await;
    room.sees("*Stopped.*").await;
    room.rests().await;
    let sent = room.work.model.requests();
    assert_eq!(sent.len(), 1);
    assert!(!sent[0].body.to_string().contains("/stop"));
}
