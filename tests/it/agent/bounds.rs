//! What a command may take (`[limits]`), from the person's file to the words that the model and the person get.

use super::stage::{Setting, Stage, say, shell};
use serde_json::{Value, json};

const TAKES_MUCH: &str = "import time\nb = bytearray(b'x') * (640 << 20)\ntime.sleep(20)\nprint('got through')";

const FORKS: &str = "i=0; while [ $i -lt 700 ]; do sleep 30 & i=$((i+1)); done; echo got through";

const TOLD: &str = "the command was ended: it used more than 128 MiB of memory";

fn output(item: &Value) -> &str {
    item["aggregatedOutput"].as_str().unwrap_or_default()
}

/// The model reads why its command was ended, and the person sees the same in the item: in the sandbox, in full access, in a
/// terminal, and for a command of their own.
#[tokio::test]
async fn a_command_that_takes_too_much_is_ended_and_both_read_why() {
    let terminal = json!({"cmd": format!("exec python3 -c \"{TAKES_MUCH}\""), "yield_time_ms": 20_000});
    let outside = json!({
        "command": ["python3", "-c", TAKES_MUCH],
        "with_escalated_permissions": true,
        "justification": "test",
    });
    let script = json!([
        [shell("a", &["python3", "-c", TAKES_MUCH])],
        [{"call": {"tool": "exec_command", "arguments": terminal, "id": "b"}}],
        [{"call": {"tool": "shell", "arguments": outside, "id": "c"}}],
        [shell("d", &["sh", "-c", FORKS])],
        [say("They were ended.")],
    ]);
    let setting = Setting {
        config: "approval_policy = \"on-request\"".to_owned(),
        tables: "[limits]\nmemory = \"128 MiB\"\nprocesses = 100\n".to_owned(),
        env: vec![("SHELL".to_owned(), "/bin/bash".to_owned())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.answers(crate::support::client::Reply::Ok(json!({"decision": "accept"})));
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Take much").await;
    let requests = stage.requests(5);
    for (at, id) in ["a", "b", "c"].into_iter().enumerate() {
        let told = requests[at + 1].output(id).unwrap_or_default();
        assert!(told.contains(TOLD) && !told.contains("got through"), "{id}: {told}");
    }
    let told = requests[4].output("d").unwrap_or_default();
    assert!(
        !told.contains("got through") && told.contains("limits.processes"),
        "{told}"
    );
    let shown = story.items("commandExecution");
    let ended: Vec<_> = shown.iter().filter(|item| output(item).contains(TOLD)).collect();
    assert_eq!(ended.len(), 3, "{shown:#?}");
    for item in ended {
        assert_eq!(
            (&item["status"], &item["exitCode"]),
            (&json!("failed"), &json!(137)),
            "{item}"
        );
    }
    let own = stage.run(&thread, &format!("!exec python3 -c \"{TAKES_MUCH}\"")).await;
    assert!(output(own.item("commandExecution")).contains(TOLD), "{:?}", own.names());
}
