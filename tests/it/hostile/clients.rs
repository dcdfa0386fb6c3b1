//! Clients that vanish: what was asked counts as declined, everything is torn down, and the record is whole.

use crate::support::client::Reply;
use crate::support::work::{Work, calls, proposes};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The rollout files below a home folder.
fn rollouts(home: &Path) -> Vec<PathBuf> {
    let walk = ignore::WalkBuilder::new(home.join("sessions"))
        .standard_filters(false)
        .build();
    walk.flatten()
        .map(ignore::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect()
}

/// What the record says the model was told about a call.
fn recorded_output(home: &Path, call: &str) -> String {
    let files = rollouts(home);
    assert_eq!(files.len(), 1, "{files:?}");
    let text = std::fs::read_to_string(&files[0]).expect("a record");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("whole lines"))
        .collect();
    let output = lines
        .iter()
        .map(|line| &line["payload"])
        .find(|payload| payload["type"] == "function_call_output" && payload["call_id"] == call);
    let output = output.unwrap_or_else(|| panic!("no output of {call} in {text}"));
    match &output["output"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Processes whose command line holds this.
fn processes(part: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("proc").flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(part) {
            found.push(line);
        }
    }
    found
}

/// Shows S-128, S-129.
#[tokio::test]
async fn a_client_that_vanishes_with_a_question_open_has_declined_it() {
    let command = json!({"command": ["touch", "made"], "with_escalated_permissions": true, "justification": "a test"});
    for (name, script) in [
        ("command", calls("shell", command)),
        (
            "proposal",
            proposes("*** Update File: a.txt\n@@\n-a\n+A\n*** Add File: b.txt\n+b\n"),
        ),
    ] {
        let mut work = Work::start("helix-25.07.1", &[("a.txt", "a\n")], script).await;
        work.client.on_request("window/showMessageRequest", |_| Reply::Never);
        work.open("a.txt");
        work.fix("a.txt").await;
        work.question().await;
        let before = Instant::now();
        work.client.hang_up();
        assert_eq!(work.client.expect_end().await, 1, "{name}");
        assert!(
            before.elapsed() < Duration::from_secs(20),
            "{name}: {:?}",
            before.elapsed()
        );
        assert_eq!(work.disk("a.txt").unwrap(), "a\n", "{name}");
        assert_eq!((work.disk("made"), work.disk("b.txt")), (None, None), "{name}");
        let output = recorded_output(work.client.home(), "call_1");
        let told = ["rejected", "stopped", "not run", "nothing was changed"];
        assert!(told.iter().any(|words| output.contains(words)), "{name}: {output}");
        assert_eq!(work.model.requests().len(), 1, "{name}");
    }
}

/// The same while the question is still held back, since the person types.
///
/// Shows S-128.
#[tokio::test]
async fn a_client_that_vanishes_before_it_was_asked_has_declined_too() {
    // On a busy machine a pause can come between two keys, and then the question is in order: that try shows nothing.
    for _ in 0..10 {
        if vanishes_while_typing().await < countersign::server::idle::PAUSE {
            return;
        }
    }
    panic!("no try without a pause of the hands");
}

/// The longest pause between two keys. Where it is shorter than the server's, it was looked that nobody was asked.
async fn vanishes_while_typing() -> Duration {
    let mut script = proposes("*** Update File: a.txt\n@@\n-a\n+A\n");
    script[0]
        .as_array_mut()
        .expect("outputs")
        .insert(0, json!({"hold": "thinking"}));
    let mut work = Work::start("helix-25.07.1", &[("a.txt", "a\n")], script).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    work.model.wait_for_hold("thinking").await;
    let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
    work.editor.type_at(&work.path("a.txt"), 0, "z\n");
    work.model.release("thinking");
    while work.lenses("a.txt").await.is_empty() {
        longest = longest.max(last.elapsed());
        last = Instant::now();
        work.editor.type_at(&work.path("a.txt"), 0, "z\n");
    }
    work.client.hang_up();
    longest = longest.max(last.elapsed());
    assert_eq!(work.client.expect_end().await, 1);
    assert_eq!(work.disk("a.txt").unwrap(), "a\n");
    let asked = work
        .client
        .trace()
        .iter()
        .any(|method| method == "window/showMessageRequest");
    if longest < countersign::server::idle::PAUSE {
        assert!(!asked, "nobody was asked");
    }
    recorded_output(work.client.home(), "call_1");
    longest
}

/// Gone while a command runs, inside or outside the sandbox: nothing of it is left.
#[tokio::test]
async fn a_client_that_vanishes_takes_its_commands_along() {
    for (seconds, escalated) in [("9871", false), ("9872", true)] {
        let script = format!("touch begun; sleep {seconds} & sleep {seconds}");
        let mut arguments = json!({"command": ["bash", "-c", script]});
        if escalated {
            arguments["with_escalated_permissions"] = json!(true);
            arguments["justification"] = json!("a test");
        }
        let mut work = Work::start("helix-25.07.1", &[("a.txt", "a\n")], calls("shell", arguments)).await;
        work.open("a.txt");
        work.fix("a.txt").await;
        if escalated {
            let question = work.question().await;
            work.press(&question, "Allow Once");
        }
        let deadline = Instant::now() + Duration::from_secs(30);
        while work.disk("begun").is_none() {
            assert!(Instant::now() < deadline, "the command does not begin");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        work.client.hang_up();
        assert_eq!(work.client.expect_end().await, 1);
        let marker = format!("sleep {seconds}");
        let deadline = Instant::now() + Duration::from_secs(30);
        while !processes(&marker).is_empty() {
            assert!(Instant::now() < deadline, "{:?}", processes(&marker));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        recorded_output(work.client.home(), "call_1");
    }
}

/// Shut down in order while a question is open: it is withdrawn, the answer to `shutdown` comes, the status is 0.
#[tokio::test]
async fn a_shutdown_with_questions_open_is_in_order() {
    let work = Work::start(
        "helix-25.07.1",
        &[("a.txt", "a\n")],
        proposes("*** Add File: b.txt\n+b\n"),
    )
    .await;
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    work.client.call("shutdown", Value::Null).await;
    work.client.expect_withdrawn(&question).await;
    work.client.notify("exit", Value::Null);
    let mut work = work;
    assert_eq!(work.client.expect_end().await, 0);
    assert_eq!(work.disk("b.txt"), None);
    recorded_output(work.client.home(), "call_1");
}
