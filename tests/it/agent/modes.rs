//! Modes: how far the agent may go, and what changes the mode; and what counts as the turn before.

use super::stage::{Setting, Stage, apply_patch, bash, command_output, say};
use crate::support::client::Reply;
use countersign::rehearsal::Recorded;
use serde_json::{Value, json};
use std::path::Path;

fn answers(count: usize) -> Value {
    (0..count).map(|_| json!([say("ok")])).collect()
}

async fn turn(stage: &Stage, thread: &str, settings: Value) {
    let input = json!([{"type": "text", "text": "Go on"}]);
    stage
        .run_with(json!({"threadId": thread, "input": input, "settings": settings}))
        .await;
}

fn environments(request: &Recorded) -> Vec<String> {
    let texts = request.input_texts().into_iter();
    texts.filter(|text| text.starts_with("<environment_context>")).collect()
}

/// What the model was told of modes, by their first words.
fn modes(request: &Recorded) -> Vec<String> {
    let texts = request.input_texts().into_iter();
    let told = texts.filter_map(|text| text.strip_prefix("<collaboration_mode>\n").map(str::to_owned));
    told.map(|text| text.split(':').next().unwrap_or_default().to_owned())
        .collect()
}

/// Shows S-228, S-229.
#[tokio::test]
async fn partial_settings_keep_the_mode_and_whole_ones_are_in_the_usual_one() {
    let stage = Stage::new(answers(6)).await;
    let thread = stage.thread().await;
    let whole = json!({
        "model": "another", "effort": "high", "summary": "auto", "cwd": stage.dir, "approvalPolicy": "on-request",
        "sandboxPolicy": {"type": "workspaceWrite"},
    });
    turn(&stage, &thread, json!({})).await;
    turn(&stage, &thread, json!({"mode": "plan"})).await;
    turn(&stage, &thread, json!({"effort": "low", "model": "third"})).await;
    turn(&stage, &thread, json!({"mode": "ask"})).await;
    turn(&stage, &thread, whole.clone()).await;
    let mut with_mode = whole;
    with_mode["mode"] = json!("plan");
    turn(&stage, &thread, with_mode).await;
    let requests = stage.requests(6);
    let offered = |at: usize, tool: &str| requests[at].tools().iter().any(|name| name == tool);
    for (at, patch, command) in [
        (0, true, true),
        (1, false, true),
        (2, false, true),
        (3, false, false),
        (4, true, true),
        (5, false, true),
    ] {
        assert_eq!(
            (
                offered(at, "apply_patch") || offered(at, "edit"),
                offered(at, "exec_command")
            ),
            (patch, command),
            "{at}"
        );
        assert!(offered(at, "read_file") && offered(at, "update_plan"), "{at}");
    }
    let asked = |at: usize| (requests[at].model(), requests[at].body["reasoning"]["effort"].as_str());
    assert_eq!(asked(2), ("third", Some("low")));
    assert_eq!(asked(4), ("another", Some("high")));
    assert_eq!(modes(&requests[5]), ["plan", "ask", "agent", "plan"]);
    assert_eq!(modes(&requests[2]), ["plan"], "told once");
    // The sandbox is told as it is in force.
    let last = environments(&requests[1]);
    assert!(
        last.last()
            .expect("one")
            .contains("<sandbox_mode>read-only</sandbox_mode>"),
        "{last:?}"
    );
    let last = environments(&requests[4]);
    assert!(
        last.last()
            .expect("one")
            .contains("<sandbox_mode>workspace-write</sandbox_mode>"),
        "{last:?}"
    );
}

/// A plan changes nothing, whatever the model tries and whatever the policies allow.
#[tokio::test]
async fn in_plan_mode_nothing_is_changed() {
    let patch = "*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch\n";
    let escalated = json!({"call": {"tool": "shell", "id": "e", "arguments": {
        "command": ["bash", "-c", "touch made.txt"], "with_escalated_permissions": true, "justification": "because"}}});
    let script = json!([
        [bash("read", "cat kept.txt")],
        [bash("write", "touch made.txt; echo x > kept.txt")],
        [apply_patch("patch", patch)],
        [bash("heredoc", &format!("apply_patch <<'EOF'\n{patch}EOF\n"))],
        [escalated],
        [say("The plan.")],
    ]);
    let setting = Setting {
        config: "sandbox_mode = \"danger-full-access\"\napproval_policy = \"on-failure\"".to_owned(),
        files: vec![("kept.txt".to_owned(), "as it was\n".to_owned())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    turn(&stage, &thread, json!({"mode": "plan"})).await;
    let last = &stage.requests(6)[5];
    assert!(command_output(last, "read").0.contains("as it was"));
    assert_ne!(command_output(last, "write").1, Some(0));
    for id in ["patch", "heredoc", "e"] {
        let output = last.output(id).expect("an output");
        assert!(
            output.contains("unsupported call") || output.contains("in the mode plan"),
            "{id}: {output}"
        );
    }
    assert_eq!(stage.text("kept.txt"), "as it was\n");
    assert!(!stage.path("made.txt").exists());
}

/// A command that is known to read has a wall around it where there is none otherwise: what it turns out to write is not
/// written without a question.
#[tokio::test]
async fn what_is_known_to_read_has_a_wall_also_with_full_access() {
    let script = json!([
        [
            bash("read", "cat kept.txt"),
            bash("make", "sqlite3 made.db .tables"),
            bash("write", "touch allowed.txt"),
        ],
        [say("done")],
    ]);
    let setting = Setting {
        config: "sandbox_mode = \"danger-full-access\"\napproval_policy = \"untrusted\"".to_owned(),
        files: vec![("kept.txt".to_owned(), "as it was\n".to_owned())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.answers(Reply::Ok(json!({"decision": "decline"})));
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let ran: Vec<_> = story.items("commandExecution");
    for (id, confined) in [("read", "readOnly"), ("make", "readOnly"), ("write", "outside")] {
        let one = ran.iter().find(|item| item["id"] == id).expect("it is shown");
        assert_eq!(one["confined"], confined, "{id}");
    }
    let last = &stage.requests(2)[1];
    assert!(command_output(last, "read").0.contains("as it was"));
    assert!(!stage.path("made.db").exists() && !stage.path("allowed.txt").exists());
}

/// An undo, a review and a compaction are no turn before: the difference is to the turn of the person's before them, also
/// where that was a command of their own.
///
/// Shows S-227.
#[tokio::test]
async fn the_difference_is_to_the_last_turn_of_the_persons() {
    let verdict = json!({
        "findings": [], "overall_correctness": "patch is correct", "overall_explanation": "Fine.",
        "overall_confidence_score": 0.8,
    });
    let script = json!([
        [say("ok")],
        [say(&verdict.to_string())],
        [say("ok")],
        [say("ok")],
        [say("What was done.")],
        [say("ok")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let folder = |name: &str| {
        let path = stage.path(name);
        std::fs::create_dir(&path).expect("a folder");
        path
    };
    let (second, third) = (folder("second"), folder("third"));
    // The settings change with a command of the person's own.
    let moved = |to: &Path| {
        let input = json!([{"type": "text", "text": "!true"}]);
        stage.run_with(json!({"threadId": thread, "input": input, "settings": {"cwd": to}}))
    };
    let task = async |method: &str, params: Value| {
        stage.client.call(method, params).await;
        stage.until_event("turn/completed").await
    };
    let told = |at: usize| {
        format!(
            "<environment_context>\n  <cwd>{}</cwd>\n",
            [&second, &third][at].display()
        )
    };
    turn(&stage, &thread, json!({})).await;
    moved(&second).await;
    task("countersign/turn/undo", json!({"threadId": thread})).await;
    let target = json!({"type": "custom", "instructions": "Look at it."});
    let review = task(
        "countersign/review/start",
        json!({"threadId": thread, "target": target}),
    )
    .await;
    assert_eq!(review.status(), "completed", "{review:#?}");
    turn(&stage, &thread, json!({})).await;
    turn(&stage, &thread, json!({})).await;
    moved(&third).await;
    let compaction = task("countersign/thread/compact", json!({"threadId": thread})).await;
    assert_eq!(compaction.status(), "completed", "{compaction:#?}");
    turn(&stage, &thread, json!({})).await;
    let requests = stage.requests(6);
    assert_eq!(environments(&requests[0]).len(), 1);
    // The review is told, apart from the conversation.
    let seen = environments(&requests[1]);
    assert!(seen.len() == 1 && seen[0].starts_with(&told(0)), "{seen:?}");
    for at in [2, 3] {
        let seen = environments(&requests[at]);
        assert!(seen.len() == 2 && seen[1].starts_with(&told(0)), "{seen:?}");
    }
    // It was told with the command, which stays since no request came after it, and is told anew by the compaction.
    let seen = environments(&requests[5]);
    assert!(
        seen.len() == 2 && seen.iter().all(|seen| seen.starts_with(&told(1))),
        "{seen:?}"
    );
}

/// A command of the person's own counts as the turn before: what it was run with is what the next turn differs from.
///
/// Shows S-227.
#[tokio::test]
async fn a_command_of_the_persons_own_counts_as_the_turn_before() {
    let stage = Stage::new(json!([[say("ok")], [say("ok")], [say("ok")]])).await;
    let thread = stage.thread().await;
    let there = stage.path("there");
    std::fs::create_dir(&there).expect("a folder");
    let run = |text: &str, to: &Path| {
        let input = json!([{"type": "text", "text": text}]);
        stage.run_with(json!({"threadId": thread, "input": input, "settings": {"cwd": to}}))
    };
    let told = |to: &Path| format!("<environment_context>\n  <cwd>{}</cwd>\n", to.display());
    run("Hi", &stage.dir).await;
    run("!true", &there).await;
    // Back where the model last worked, which is elsewhere than the command.
    run("Hi", &stage.dir).await;
    let seen = environments(&stage.requests(2)[1]);
    let differences = [told(&there), told(&stage.dir)];
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert!(
        seen[1..]
            .iter()
            .zip(&differences)
            .all(|(seen, told)| seen.starts_with(told)),
        "{seen:?}"
    );
    // And nothing where nothing differs from the command.
    run("!true", &there).await;
    run("Hi", &there).await;
    assert_eq!(environments(&stage.requests(3)[2]).len(), 4);
}
