//! Every command that is offered after `/` does what it says.

use super::room::{NAME, Room};
use super::shape::labels;
use crate::support::git::git;
use crate::support::work::Setting;
use serde_json::{Value, json};

/// What follows each command in the document, in the order in which they are sent.
const SAID: [(&str, &str, &str); 16] = [
    ("help", "/help", "`/compact`"),
    ("model", "/model other", "*The model is `other` from now on.*"),
    ("mode", "/mode agent", "*The mode is `agent` from now on.*"),
    (
        "diff",
        "/diff",
        "*What the last turn changed is shown in a document of its own.*",
    ),
    ("undo", "/undo", "Restored 1 file."),
    ("context", "/context", "\nTools ("),
    ("compact", "/compact", "Compacted the conversation to make room"),
    ("review", "/review", "Nothing is wrong with it."),
    ("stop", "/stop", "*Nothing was running.*"),
    ("tidy", "/tidy the shed", "It is tidy."),
    ("prompts:list", "/prompts:list", "It is on the list."),
    (
        "rename",
        "/rename The shed",
        "*The conversation is called “The shed” from now on.*",
    ),
    (
        "list",
        "/list",
        "*The conversations are listed in a document of their own.*",
    ),
    (
        "fork",
        "/fork",
        "*A copy of the conversation is in a chat document of its own.",
    ),
    (
        "rollback",
        "/rollback",
        "*The last turn is gone from the conversation. Files stay as they are;",
    ),
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
        {"when": {"last_user": "Put it on my list."}, "outputs": [{"say": "It is on the list."}]},
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
    // One that has the name of a command is called by its full name.
    std::fs::write(prompts.join("list.md"), "Put it on my list.").expect("a prompt");
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
            "diff" => {
                let shown = room.shown(1).await.remove(0);
                let diff = std::fs::read_to_string(shown).expect("a file");
                assert!(diff.contains("-two\n+TWO\n"), "{diff}");
            }
            "review" => {
                assert_eq!(text.matches("Nothing is wrong with it.").count(), 1, "{text}");
                assert!(!text.contains("## ❯ You\n\nReview"), "{text}");
            }
            "list" => {
                let list = room.shown(2).await.remove(1);
                let list = std::fs::read_to_string(list).expect("a file");
                assert!(list.contains("- The shed `thread "), "{list}");
            }
            "fork" => {
                // The copy goes by its own id, and has all that was said.
                let copy = room.shown(3).await.remove(2);
                room.work.editor.open(&copy);
                let of_copy = room.until_in(&copy, "It is tidy.").await;
                let id = |text: &str| {
                    text.lines()
                        .find(|line| line.starts_with("thread: "))
                        .map(str::to_owned)
                };
                assert!(id(&of_copy).is_some() && id(&of_copy) != id(&text), "{of_copy}");
            }
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

/// What was dropped is not sent any more, stays in the document, and is not written there once more; files are left alone. What
/// cannot be dropped is said, and the words wait.
///
/// Shows S-316, S-320.
#[tokio::test]
async fn a_rollback_drops_turns_and_leaves_the_document() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** End Patch\n";
    let script = json!({"steps": [
        {"when": {"last_user": "Mind the pear"}, "outputs": [{"say": "A pear it is."}]},
        {"when": {"last_user": "Change it"}, "outputs": [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "c1"}}]},
        {"when": {"output": {"c1": ""}}, "outputs": [{"say": "It is changed."}]},
        {"when": {"last_user": "Mind the plum"}, "outputs": [{"say": "A plum, too. "}, {"hold": "plum"}]},
        {"when": {"last_user": "What do you mind?"}, "outputs": [{"say": "Only the pear."}]},
        {"when": {"last_user": "And now?"}, "outputs": [{"say": "Nothing at all."}]},
    ]});
    let room = Room::start("helix-25.07.1", "", script).await;
    room.send("/rollback").await;
    let refused = room.work.warned().await;
    assert!(
        refused.contains("There is no conversation in this document yet"),
        "{refused}"
    );
    room.work.editor.close(&room.work.path(NAME));
    room.work.open(NAME);
    room.send("Mind the pear").await;
    room.sees("A pear it is.").await;
    room.rests().await;
    room.send("Change it").await;
    room.choose("Agent: Accept the change").await;
    room.sees("It is changed.").await;
    room.rests().await;
    room.send("Mind the plum").await;
    room.sees("A plum, too.").await;
    // Not while a turn runs, and not nothing; the words are where they were.
    room.send("/rollback 2").await;
    let refused = room.work.warned().await;
    assert!(refused.contains("a turn is running"), "{refused}");
    room.work.model.release("plum");
    room.rests().await;
    assert!(
        room.text().trim_end().ends_with("## ❯ You\n\n/rollback 2"),
        "{}",
        room.text()
    );
    room.command("countersign.chatSend", json!({ "uri": room.uri() })).await;
    let text = room
        .sees("*The last 2 turns are gone from the conversation. Files stay as they are; undo is for those.")
        .await;
    for said in ["A pear it is.", "It is changed.", "A plum, too."] {
        assert_eq!(text.matches(said).count(), 1, "{text}");
    }
    assert_eq!(room.work.disk("a.txt").as_deref(), Some("one\nTWO\nthree\n"));
    // Opened again, what was dropped is no news.
    let path = room.work.path(NAME);
    room.work.editor.save(&path);
    room.work.editor.close(&path);
    // Whoever followed it has nothing left to do.
    room.work.client.settle().await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    room.work.open(NAME);
    room.send("What do you mind?").await;
    let text = room.sees("Only the pear.").await;
    room.rests().await;
    for once in ["A pear it is.", "It is changed.", "A plum, too.", "turns are gone"] {
        assert_eq!(text.matches(once).count(), 1, "{once}: {text}");
    }
    let asked = room.work.model.requests().pop().expect("a request").body.to_string();
    assert!(asked.contains("Mind the pear"), "{asked}");
    for gone in ["Mind the plum", "Change it", "/rollback"] {
        assert!(!asked.contains(gone), "{gone}: {asked}");
    }
    // Dropped from elsewhere, it is told here as well.
    let thread = text
        .lines()
        .find_map(|line| line.strip_prefix("thread: "))
        .expect("a header");
    let params = json!({ "threadId": thread, "numTurns": 1 });
    room.work.client.call("countersign/thread/rollback", params).await;
    let text = room.sees("*The last turn is gone from the conversation.").await;
    assert_eq!(text.matches("gone from the conversation").count(), 2, "{text}");
    room.send("And now?").await;
    room.sees("Nothing at all.").await;
    let asked = room.work.model.requests().pop().expect("a request").body.to_string();
    assert!(
        asked.contains("Mind the pear") && !asked.contains("What do you mind?"),
        "{asked}"
    );
    room.rests().await;
    room.work.client.ignore("window/showMessage");
}
