//! The program that hears when a turn is over.

use super::stage::{Setting, Stage, eventually, say};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A folder of its own for a program that writes down its arguments, each call a file.
struct Notifier {
    folder: tempfile::TempDir,
}

impl Notifier {
    fn new(script: &str) -> Self {
        // Not where commands can write: from there it would not be started.
        let folder = tempfile::Builder::new().prefix("notifier").tempdir_in("/var/tmp");
        let folder = folder.expect("a folder");
        let program = folder.path().join("notify.sh");
        std::fs::write(&program, format!("#!/bin/sh\ncd \"$(dirname \"$0\")\"\n{script}\n")).expect("a program");
        let mut permissions = std::fs::metadata(&program).expect("a program").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        std::fs::set_permissions(&program, permissions).expect("a program");
        Self { folder }
    }

    /// One that writes each argument on a line of a file of its own.
    fn writing() -> Self {
        Self::new("for a in \"$@\"; do printf '%s\\n' \"$a\"; done > tmp.$$ && mv tmp.$$ call.$$")
    }

    fn config(&self) -> String {
        let program = self.folder.path().join("notify.sh");
        format!(
            "notify = [{:?}, \"own\", \"with blank\"]",
            program.display().to_string()
        )
    }

    fn calls(&self) -> Vec<Vec<String>> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder").flatten();
        let calls = entries.map(|entry| entry.path()).filter(|path| is_call(path));
        let lines = |path: PathBuf| {
            let text = std::fs::read_to_string(path).expect("a call");
            text.lines().map(str::to_owned).collect()
        };
        calls.map(lines).collect()
    }
}

fn is_call(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("call."))
}

/// Shows S-333, S-334, S-335, S-337.
#[tokio::test]
async fn a_turn_that_ends_by_itself_is_told_of_and_no_other() {
    let notifier = Notifier::writing();
    let script = json!([
        [say("Hello to you")],
        [{"hold": "never"}],
        [{"fail": {"status": 400}}],
        [{"call": {"tool": "list_dir", "arguments": {"path": "."}, "id": "l"}}, {"hold": "gate"}],
        [say("both")],
    ]);
    let stage = Stage::configured(&notifier.config(), script).await;
    let thread = stage.thread().await;
    let first = stage.start_turn(&thread, "hello").await;
    stage.finish(&first).await;
    eventually("the program was called", || notifier.calls().len() == 1).await;
    let call = notifier.calls().remove(0);
    assert_eq!(call[..2], ["own", "with blank"]);
    let told: Value = serde_json::from_str(&call[2]).expect("JSON");
    assert_eq!(
        told,
        json!({
            "type": "agent-turn-complete",
            "thread-id": thread,
            "turn-id": first,
            "cwd": stage.dir,
            "input-messages": ["hello"],
            "last-assistant-message": "Hello to you",
        })
    );
    // Stopped, failed, and the person's own command: nobody is told.
    let turn = stage.start_turn(&thread, "stop me").await;
    stage.model.wait_for_hold("never").await;
    stage.interrupt(&thread).await;
    assert_eq!(stage.finish(&turn).await.status(), "interrupted");
    assert_eq!(stage.run(&thread, "fail").await.status(), "failed");
    assert_eq!(stage.run(&thread, "!true").await.status(), "completed");
    // All that the person said in the turn, and in order.
    let turn = stage.start_turn(&thread, "one").await;
    stage.model.wait_for_hold("gate").await;
    stage.steer(&thread, &turn, "two").await.expect("taken");
    stage.model.release("gate");
    assert_eq!(stage.finish(&turn).await.status(), "completed");
    eventually("the program was called again", || notifier.calls().len() >= 2).await;
    let calls = notifier.calls();
    assert_eq!(calls.len(), 2, "{calls:#?}");
    let last = calls
        .iter()
        .find(|call| call[2].contains(&turn))
        .expect("of the last turn");
    let told: Value = serde_json::from_str(&last[2]).expect("JSON");
    assert_eq!(told["input-messages"], json!(["one", "two"]));
    assert_eq!(told["last-assistant-message"], "both");
}

/// Shows S-336.
#[tokio::test]
async fn it_never_holds_up_a_turn() {
    let hanging = Notifier::new("echo $$ > call.pid; exec sleep 1000");
    let stage = Stage::configured(&hanging.config(), json!([[say("one")], [say("two")]])).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "First").await;
    eventually("the program runs", || !hanging.calls().concat().is_empty()).await;
    stage.complete(&thread, "Second").await;
    drop(stage);
    // It outlives the server, and is the test's to end.
    let pid = hanging.calls().concat().remove(0);
    assert!(Path::new("/proc").join(&pid).exists());
    let ended = std::process::Command::new("kill").arg(&pid).status().expect("kill");
    assert!(ended.success());

    let missing = Setting {
        config: "notify = [\"/no/such/program\"]".into(),
        ..Setting::default()
    };
    let stage = Stage::with(json!([[say("one")], [say("two")]]), missing).await;
    let thread = stage.thread().await;
    stage.client.ignore("window/showMessage");
    stage.client.heed("window/showMessage");
    let turn = stage.start_turn(&thread, "First").await;
    let told = stage.client.expect_notification("window/showMessage").await;
    let message = told["message"].as_str().expect("text");
    assert!(
        message.contains("`notify`") && message.contains("/no/such/program"),
        "{message}"
    );
    stage.finish(&turn).await;
    // Not each time.
    stage.complete(&thread, "Second").await;
    let log = stage.client.home().join("log/countersign.log");
    eventually("the failure is in the log", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.contains("notifier could not be started") && text.contains("/no/such/program")
    })
    .await;
}

/// Shows S-333.
#[tokio::test]
async fn an_empty_command_is_none_and_the_editor_can_be_told_too() {
    for empty in ["notify = []", "notify = [\"\"]"] {
        let stage = Stage::configured(empty, json!([[say("one")]])).await;
        let thread = stage.thread().await;
        stage.complete(&thread, "First").await;
        let log = std::fs::read_to_string(stage.client.home().join("log/countersign.log")).unwrap_or_default();
        assert!(!log.contains("notifier"), "{log}");
    }
    let notifier = Notifier::writing();
    let config = format!("{}\nnotify_in_editor = true", notifier.config());
    let long = "x".repeat(200_000);
    let stage = Stage::configured(&config, json!([[say(&format!("All is well.\n{long}"))]])).await;
    let thread = stage.thread().await;
    stage.client.ignore("window/showMessage");
    stage.client.heed("window/showMessage");
    let turn = stage.start_turn(&thread, &long).await;
    // Two streams end here, so they are read side by side.
    let told = stage.client.expect_notification("window/showMessage").await;
    assert_eq!(told["message"], "Countersign is done: All is well.");
    stage.finish(&turn).await;
    eventually("the program was called", || notifier.calls().len() == 1).await;
    let call = notifier.calls().remove(0);
    // Longer than any argument may be; what is told is cut, and still JSON.
    let told: Value = serde_json::from_str(&call[2]).expect("JSON");
    assert_eq!(told["turn-id"], turn);
    assert!(told["input-messages"][0].as_str().expect("text").len() > 1000);
}
