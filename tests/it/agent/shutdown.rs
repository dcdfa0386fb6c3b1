//! The end of a session: in order, whole, and with nothing left of it.

use super::stage::{Setting, Stage, eventually, say};
use crate::support::mcp::{program, reading};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Shows S-453.
#[tokio::test]
async fn what_runs_ends_in_order_and_nothing_is_left() {
    let server = json!({"tools": [reading("child")], "stays": true});
    let exec = json!({"cmd": "echo up; sleep 1000", "tty": true, "yield_time_ms": 250});
    let steps = json!([
        [
            {"call": {"tool": "mcp__s__child", "arguments": {}, "id": "c1"}},
            {"call": {"tool": "exec_command", "arguments": exec, "id": "c2"}},
        ],
        [{"say": "I wait", "partial": true}, {"hold": "never"}],
    ]);
    let ready = json!({"event": {"type": "session.updated"}});
    let script = json!({"steps": steps, "realtime": [[{"await": "session.update"}, ready]]});
    let setting = Setting {
        config: "approval_policy = \"never\"".to_owned(),
        tables: program("s", &server),
        env: vec![("SHELL".to_owned(), "/bin/bash".to_owned())],
        ..Setting::default()
    };
    let mut stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage
        .until(|method, params| method == "mcp/status" && params["status"] == "ready")
        .await;
    stage.start_turn(&thread, "Go").await;
    stage.until_event("item/agentMessage/delta").await;
    stage
        .client
        .call("countersign/realtime/start", json!({"threadId": thread}))
        .await;
    stage.until_event("realtime/started").await;
    let blocks: Value = serde_json::from_str(&stage.requests(2)[1].output("c1").expect("an output")).expect("blocks");
    let pids: Vec<u32> = serde_json::from_str(blocks[0]["text"].as_str().expect("text")).expect("two processes");
    let lives = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    eventually("all runs", || {
        pids.iter().all(lives) && !Stage::processes(&thread).is_empty()
    })
    .await;
    stage.client.heed("countersign/thread/closed");
    let begun = Instant::now();
    let id = stage.client.send_request("shutdown", Value::Null);
    let story = stage.until_event("thread/closed").await;
    assert_eq!(stage.client.expect_answer(json!(id)).await, Ok(Value::Null));
    assert!(begun.elapsed() < Duration::from_secs(10));
    let trace = stage.client.trace();
    let at = |name: &str| {
        trace
            .iter()
            .rposition(|seen| seen == name)
            .unwrap_or_else(|| panic!("no {name}"))
    };
    let order = [
        "countersign/turn/completed",
        "countersign/realtime/closed",
        "countersign/terminal/exited",
        "countersign/thread/closed",
    ];
    assert!(order.map(at).is_sorted(), "{trace:#?}");
    assert!(
        at("countersign/thread/closed") < at(&format!("answer {id}")),
        "{trace:#?}"
    );
    let turn = &story.one("turn/completed")["turn"];
    assert_eq!(
        (&turn["status"], &turn["interruptedBy"]),
        (&json!("interrupted"), &json!("shutdown"))
    );
    Stage::no_process_left(&thread).await;
    eventually("the server and its child are gone", || !pids.iter().any(lives)).await;
    stage.client.notify("exit", Value::Null);
    assert_eq!(stage.client.expect_end().await, 0);
}

/// What the log says of the end of a thread.
#[tokio::test]
async fn the_log_counts_the_turns_of_a_thread_that_ends() {
    let mut stage = Stage::new(json!([[say("One.")], [say("Two.")]])).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    stage.complete(&thread, "Go on").await;
    stage.client.heed("countersign/thread/closed");
    stage.client.call("shutdown", Value::Null).await;
    stage.until_event("thread/closed").await;
    stage.client.notify("exit", Value::Null);
    assert_eq!(stage.client.expect_end().await, 0);
    let log = std::fs::read_to_string(stage.client.home().join("log/countersign.log")).expect("a log");
    let line = log
        .lines()
        .find(|line| line.contains("the thread ends"))
        .expect("a line");
    assert!(line.contains(&thread) && line.contains("turns=2"), "{line}");
}
