//! Undo in editors without our plugin: a code action, a command, a message, a question about what was changed since.

use crate::support::work::{Work, calls, titles};
use serde_json::{Value, json};

async fn command(work: &Work, name: &str) {
    let params = json!({"command": name, "arguments": []});
    work.client.call("workspace/executeCommand", params).await;
}

fn script(text: &str) -> Value {
    calls("shell", json!({"command": ["bash", "-c", text]}))
}

async fn source_actions(work: &Work) -> Vec<String> {
    let mut actions = work.actions("a.txt", (0, 0), json!({"diagnostics": []})).await;
    let kinds = ["countersign.review", "countersign.control", "countersign.show"];
    actions.retain(|action| kinds.contains(&action["kind"].as_str().unwrap_or_default()));
    let title = |action: &Value| action["title"].as_str().expect("a title").to_owned();
    actions.iter().map(title).collect()
}

async fn told(work: &Work, begins: &str) -> String {
    let wanted = |params: &Value| {
        params["message"]
            .as_str()
            .is_some_and(|message| message.starts_with(begins))
    };
    let shown = work
        .client
        .expect_notification_where("window/showMessage", wanted)
        .await;
    shown["message"].as_str().expect("a text").to_owned()
}

/// Shows S-263.
#[tokio::test]
async fn the_last_turn_is_shown_and_taken_back_by_commands() {
    let work = Work::start(
        "helix-25.07.1",
        &[("a.txt", "0\n")],
        script("echo 1 > b.txt; echo 1 > a.txt"),
    )
    .await;
    work.open("a.txt");
    assert!(
        !source_actions(&work)
            .await
            .contains(&"Agent: Undo last turn's changes".to_owned())
    );
    work.fix("a.txt").await;
    work.done().await;
    work.idle("a.txt").await;
    let titles = source_actions(&work).await;
    assert!(
        titles.contains(&"Agent: Undo last turn's changes".to_owned()),
        "{titles:?}"
    );
    command(&work, "countersign.showTurnDiff").await;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while work.editor.shown().is_empty() {
        assert!(std::time::Instant::now() < deadline, "no diff is shown");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let diff = std::fs::read_to_string(&work.editor.shown()[0]).expect("a diff");
    assert!(diff.contains("-0\n+1\n") && diff.contains("b/b.txt"), "{diff}");
    command(&work, "countersign.undoLastTurn").await;
    let message = told(&work, "Restored").await;
    assert!(message.starts_with("Restored 1 file. Removed 1 new file."), "{message}");
    // The editor still showed the text of before, so the file is simply what it shows.
    assert_eq!(work.disk("a.txt").as_deref(), Some("0\n"));
    assert_eq!(work.disk("b.txt"), None);
    work.idle("a.txt").await;
    assert!(
        !source_actions(&work)
            .await
            .contains(&"Agent: Undo last turn's changes".to_owned())
    );
    command(&work, "countersign.undoLastTurn").await;
    let message = told(&work, "No conversation").await;
    assert!(message.contains("nothing to undo"), "{message}");
}

#[tokio::test]
async fn what_was_changed_since_is_asked_about() {
    let work = Work::start(
        "kakoune-lsp-22.0.0",
        &[("a.txt", "0\n"), ("b.txt", "0\n")],
        script("echo 1 > b.txt; echo 1 > c.txt"),
    )
    .await;
    work.open("a.txt");
    work.fix("a.txt").await;
    work.done().await;
    work.idle("a.txt").await;
    std::fs::write(work.path("b.txt"), "mine\n").expect("a file");
    command(&work, "countersign.undoLastTurn").await;
    let question = work.question().await;
    assert_eq!(titles(&question), ["Restore anyway", "Keep as it is"]);
    let message = question.params["message"].as_str().expect("a text");
    assert!(message.contains("Left as it is: b.txt"), "{message}");
    assert_eq!(work.disk("b.txt").as_deref(), Some("mine\n"));
    assert_eq!(work.disk("c.txt"), None);
    work.press(&question, "Restore anyway");
    told(&work, "Restored").await;
    assert_eq!(work.disk("b.txt").as_deref(), Some("0\n"));
}

/// Turns are deleted with what they changed, or without, by the person's choice; where a file was changed since, nothing is deleted.
#[tokio::test]
async fn the_last_turn_is_deleted_with_its_changes_or_without() {
    let both = "Delete and Undo Its Changes";
    for (choice, since, said, conversation, file) in [
        (
            json!({"title": both}),
            None,
            &["Restored", "Deleted the last turn of"][..],
            "gone",
            "0\n",
        ),
        (
            json!({"title": "Delete"}),
            None,
            &["The last turn is gone"],
            "gone",
            "1\n",
        ),
        (json!({"title": "Keep"}), None, &[], "there", "1\n"),
        (json!(null), None, &[], "there", "1\n"),
        (
            json!({"title": both}),
            Some("mine\n"),
            &["Nothing was undone", "Nothing is deleted"],
            "there",
            "mine\n",
        ),
    ] {
        let mut steps = script("echo 1 > b.txt");
        steps
            .as_array_mut()
            .expect("a list")
            .push(json!([{"say": "All done."}]));
        let work = Work::start("helix-25.07.1", &[("a.txt", "0\n"), ("b.txt", "0\n")], steps).await;
        work.open("a.txt");
        work.fix("a.txt").await;
        work.done().await;
        work.idle("a.txt").await;
        if let Some(text) = since {
            std::fs::write(work.path("b.txt"), text).expect("a file");
        }
        command(&work, "countersign.rollBack").await;
        let question = work.question().await;
        assert_eq!(titles(&question), ["Keep", both, "Delete"]);
        work.client.answer(&question, Ok(choice.clone()));
        if since.is_some() {
            let left = work.question().await;
            work.press(&left, "Keep as it is");
        }
        for begins in said {
            told(&work, begins).await;
        }
        work.client.settle().await;
        assert_eq!(work.disk("b.txt").as_deref(), Some(file), "{choice} {since:?}");
        work.fix("a.txt").await;
        work.done().await;
        let is_there = work.model.requests()[2].body.to_string().contains("echo 1 > b.txt");
        assert_eq!(is_there, conversation == "there", "{choice} {since:?}");
        work.idle("a.txt").await;
    }
}
