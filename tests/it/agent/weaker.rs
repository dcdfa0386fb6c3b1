//! What the person hears of a sandbox that lacks a wall on their machine.

use super::stage::{Setting, Stage, bash, command_output, say};
use crate::exec::fallback::NO_NAMESPACES;
use crate::exec::place::has;
use serde_json::json;

/// A person whose machine allows no namespaces hears of it before their first command, and not with every one.
#[tokio::test]
async fn a_weaker_sandbox_is_told_when_the_server_begins_and_once_in_a_session() {
    assert!(
        has("unshare") && has("setpriv"),
        "install util-linux: this test takes namespaces away from the server"
    );
    let command = |id: &str| json!({"call": {"tool": "shell", "arguments": {"command": ["true"]}, "id": id}});
    let script = json!([
        [command("a"), command("b")],
        [say("Both ran.")],
        [command("c")],
        [say("That too.")],
    ]);
    let setting = Setting {
        config: "approval_policy = \"never\"".to_owned(),
        launcher: NO_NAMESPACES.map(str::to_owned).to_vec(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let started = stage.client.call("countersign/thread/start", json!({})).await;
    for name in ["thread/started", "thread/configured"] {
        stage.client.expect_notification(&format!("countersign/{name}")).await;
    }
    let notice = stage.client.expect_notification("window/showMessage").await;
    let words = notice["message"].as_str().expect("words");
    assert!(
        words.contains("namespaces") && words.contains("countersign doctor"),
        "{words}"
    );
    let thread = started["thread"]["id"].as_str().expect("an id");
    for (request, warned) in [("Twice", 1), ("And again", 0)] {
        let story = stage.complete(thread, request).await;
        let warnings: Vec<_> = story.events.iter().filter(|(method, _)| method == "warning").collect();
        assert_eq!(warnings.len(), warned, "{request}: {warnings:#?}");
        for (_, warning) in warnings {
            let words = warning["message"].as_str().expect("words");
            assert!(
                words.contains("weaker than it could be") && words.contains("countersign doctor"),
                "{words}"
            );
        }
        for (_, item) in story.events.iter().filter(|(method, _)| method == "item/completed") {
            if item["item"]["type"] == "commandExecution" {
                assert_eq!(item["item"]["exitCode"], 0, "{item}");
            }
        }
    }
    assert!(
        stage
            .client
            .take_unread()
            .iter()
            .all(|(method, _)| method != "window/showMessage")
    );
}

/// Of a pipe only the last program's status is seen: that the network was missing is said all the same, in the output.
#[tokio::test]
async fn what_a_pipe_hides_is_said_in_the_output() {
    let lost = "echo 'curl: (6) Could not resolve host: example.org' | tail -1";
    let script = json!([
        [bash("a", lost), bash("b", "echo 'all is well' | tail -1")],
        [say("Both ran.")],
    ]);
    let setting = Setting {
        config: "approval_policy = \"never\"".to_owned(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let request = &stage.requests(2)[1];
    let remark = "the sandbox blocked the network (example.org)";
    for (id, expected) in [("a", true), ("b", false)] {
        let (output, code) = command_output(request, id);
        assert_eq!((output.contains(remark), code), (expected, Some(0)), "{output}");
    }
    stage.end();
}
