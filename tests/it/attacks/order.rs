//! Calls of one answer: what the first of them changes, once the others have been decided on.

use crate::agent::stage::{Setting, Stage, bash, say, shell};
use crate::support::client::Reply;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// What the person has on the other side of a link.
const OUTSIDE: &str = "../outside/.bashrc";
/// By which a folder of the workspace becomes a way out of it.
const SWAP: &str = "sleep 0.5; mv d old; ln -s ../outside d";

fn escalated(id: &str, argv: &[&str], workdir: &str) -> Value {
    let arguments = json!({
        "command": argv, "workdir": workdir, "with_escalated_permissions": true, "justification": "needed",
    });
    json!({"call": {"tool": "shell", "arguments": arguments, "id": id}})
}

async fn stage(config: &str, script: Value) -> Stage {
    let files = ["a", "d/x", "lib/x"];
    let setting = Setting {
        config: config.to_owned(),
        files: files.map(|name| (name.to_owned(), "text\n".to_owned())).into(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.write(OUTSIDE, "mine\n");
    stage.write(".git/config", "[core]\n");
    stage
}

/// The command of a yes for the session, one that it covers when the answer comes, the folder of that one, what the call
/// before it does, and a file that is there once that is done.
type Row = (
    &'static [&'static str],
    &'static [&'static str],
    &'static str,
    &'static str,
    &'static str,
);

/// What runs outside by an earlier yes is decided on once the calls before it are done.
#[tokio::test]
async fn a_yes_for_the_session_does_not_follow_what_the_call_before_swaps() {
    const REPOSITORY: &str = "sleep 0.5; echo 'ref: refs/heads/x' > lib/HEAD";
    let rows: &[Row] = &[
        (&["cp", "a", "d/b"], &["cp", "a", "d/.bashrc"], ".", SWAP, "old"),
        (&["cp", "a", "d/b"], &["ls; cp a d/.bashrc"], ".", SWAP, "old"),
        (&["cp", "a", "d/b"], &["cp", "../a", ".bashrc"], "d", SWAP, "old"),
        (&["git", "fetch"], &["git", "fetch"], "lib", REPOSITORY, "lib/HEAD"),
    ];
    for row in rows {
        let (given, wanted, workdir, first, done) = row;
        let wanted = match wanted {
            [text] => vec!["bash", "-c", *text],
            words => words.to_vec(),
        };
        let script = json!([
            [escalated("c0", given, ".")],
            [bash("c1", first), escalated("c2", &wanted, workdir)],
            [say("done")],
        ]);
        let stage = stage("", script).await;
        let asked: Arc<Mutex<Vec<(Value, bool)>>> = Arc::default();
        let (seen, mark) = (asked.clone(), stage.path(done));
        stage.client.on_request("countersign/approval/command", move |params| {
            let mut seen = seen.lock().expect("a lock");
            seen.push((params["itemId"].clone(), mark.exists()));
            let decision = if seen.len() == 1 { "acceptForSession" } else { "decline" };
            Reply::Ok(json!({ "decision": decision }))
        });
        let thread = stage.thread().await;
        stage.complete(&thread, "Go").await;
        let asked = asked.lock().expect("a lock").clone();
        assert_eq!(asked, [(json!("c0"), false), (json!("c2"), true)], "{row:?}");
        assert_eq!(stage.text(OUTSIDE), "mine\n", "{row:?}");
        stage.end();
    }
}

/// The person is asked about a run outside when it is known what it would meet.
#[tokio::test]
async fn a_question_about_a_run_outside_comes_after_the_calls_before_it() {
    let second = escalated("c2", &["cp", "a", "d/.bashrc"], ".");
    let stage = stage("", json!([[bash("c1", SWAP), second], [say("done")]])).await;
    stage.answers(Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let asked = stage.client.expect_request("countersign/approval/command").await;
    assert_eq!(asked.params["itemId"], "c2");
    assert!(stage.path("old").exists(), "the call before it is done");
    let scope = asked.params["sessionScope"].as_str().unwrap_or_default();
    assert!(scope.starts_with("exactly `cp a d/.bashrc`"), "{scope}");
    stage.client.answer(&asked, Ok(json!({"decision": "decline"})));
    stage.finish(&turn).await;
    assert_eq!(stage.text(OUTSIDE), "mine\n");
    stage.end();
}

/// A yes that was given ahead of the calls before it is a yes to what was shown then.
#[tokio::test]
async fn a_yes_for_once_does_not_follow_what_the_call_before_swaps() {
    let script = json!([
        [
            bash("c1", SWAP),
            shell("c2", &["cp", "a", "d/.bashrc"]),
            shell("c3", &["cp", "a", "b"])
        ],
        [say("done")],
    ]);
    let stage = stage("approval_policy = \"untrusted\"", script).await;
    stage.answers(Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let mut first = None;
    for _question in 0..3 {
        let asked = stage.client.expect_request("countersign/approval/command").await;
        match asked.params["itemId"] == "c1" {
            // It begins once the others have had their answer.
            true => first = Some(asked),
            false => stage.client.answer(&asked, Ok(json!({"decision": "accept"}))),
        }
    }
    let first = first.expect("the first asks too");
    stage.client.answer(&first, Ok(json!({"decision": "accept"})));
    let again = stage.client.expect_request("countersign/approval/command").await;
    assert_eq!(again.params["itemId"], "c2", "{:?}", again.params);
    assert!(stage.path("old").exists(), "the call before it is done");
    stage.client.answer(&again, Ok(json!({"decision": "decline"})));
    let story = stage.finish(&turn).await;
    let ended: Vec<_> = story
        .items("commandExecution")
        .iter()
        .map(|item| (item["id"].clone(), item["status"].clone()))
        .collect();
    assert!(ended.contains(&(json!("c2"), json!("declined"))), "{ended:?}");
    // What is as it was shown runs by the first yes.
    assert!(ended.contains(&(json!("c3"), json!("completed"))), "{ended:?}");
    assert_eq!(stage.text("b"), "text\n");
    stage.end();
}

/// A terminal that runs on in the sandbox can swap a link after the command outside was decided on: what goes by paths is asked
/// about each time then, and the question says so. A repository as a whole is not turned by a link.
#[tokio::test]
async fn no_yes_from_before_holds_beside_a_command_that_can_swap_links() {
    // The command of the yes for the session, one that it covers, and whether that is asked about beside the terminal.
    const ROWS: &[(&[&str], &[&str], bool)] = &[
        (&["cp", "a", "d/b"], &["cp", "a", "d/c"], true),
        (&["touch", "d/b"], &["touch", "b"], true),
        (&["cat", "a"], &["cat", "d/x"], true),
        (
            &["curl", "-o", "a", "http://127.0.0.1:9/"],
            &["curl", "-o", "b", "http://127.0.0.1:9/"],
            true,
        ),
        (&["bash", "-c", "cp a d/b"], &["bash", "-c", "ls; cp a d/c"], true),
        (&["git", "status"], &["git", "status"], false),
    ];
    for row in ROWS {
        let (given, wanted, asks) = row;
        let swaps = json!({"call": {"tool": "exec_command", "id": "c2",
            "arguments": {"cmd": "while sleep 0.1; do ln -sfn ../outside d2; done", "yield_time_ms": 300}}});
        let script = json!([
            [escalated("c0", given, ".")],
            [escalated("c1", wanted, ".")],
            [swaps],
            [escalated("c3", wanted, ".")],
            [say("done")],
        ]);
        let stage = stage("", script).await;
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let seen = asked.clone();
        stage.client.on_request("countersign/approval/command", move |params| {
            let mut seen = seen.lock().expect("a lock");
            seen.push(params.clone());
            let decision = if seen.len() == 1 { "acceptForSession" } else { "decline" };
            Reply::Ok(json!({ "decision": decision }))
        });
        // The terminal ends with the server.
        stage.client.ignore("countersign/terminal/exited");
        let thread = stage.thread().await;
        stage.complete(&thread, "Go").await;
        let asked = asked.lock().expect("a lock").clone();
        let ids: Vec<_> = asked.iter().filter_map(|asked| asked["itemId"].as_str()).collect();
        let expected: &[&str] = if *asks { &["c0", "c3"] } else { &["c0"] };
        assert_eq!(ids, expected, "{row:?}");
        if let Some(question) = asked.get(1) {
            let reason = question["reason"].as_str().unwrap_or_default();
            assert!(reason.contains("still runs in the sandbox"), "{reason}");
            assert!(
                !question["availableDecisions"].to_string().contains("Session"),
                "{question}"
            );
        }
        stage.end();
    }
}
