//! What the editor shows: told with the person's words, bounded, visible to them, and switched off by them.

use super::stage::{Setting, Stage, Story, say};
use countersign::rehearsal::Recorded;
use countersign::workspace::uri;
use serde_json::{Value, json};

fn answers(count: usize) -> Value {
    (0..count).map(|_| json!([say("ok")])).collect()
}

fn told(request: &Recorded) -> Vec<String> {
    let texts = request.input_texts().into_iter();
    texts.filter(|text| text.starts_with("<editor_context>")).collect()
}

fn kinds(story: &Story) -> Vec<String> {
    let context = story.item("userMessage")["context"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    context
        .iter()
        .map(|piece| piece["kind"].as_str().expect("a kind").to_owned())
        .collect()
}

async fn stage(config: &str, count: usize) -> Stage {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let setting = Setting {
        files: vec![
            file("a.rs", "one\ntwo\nthree\nfour\n"),
            file("b.rs", "b\n"),
            file("hidden/key.txt", "hush\n"),
            file(".countersignignore", "hidden/\n"),
        ],
        tables: config.to_owned(),
        ..Setting::default()
    };
    Stage::with(answers(count), setting).await
}

fn edit(stage: &Stage, name: &str, version: i64, line: u32, text: &str) {
    let at = json!({"line": line, "character": 0});
    stage.client.notify(
        "textDocument/didChange",
        json!({
            "textDocument": {"uri": uri::from_path(&stage.path(name)), "version": version},
            "contentChanges": [{"range": {"start": at, "end": at}, "text": text}],
        }),
    );
}

fn context(stage: &Stage) -> Value {
    let path = stage.path("a.rs");
    json!({
        "activeFile": path, "selection": {"start": 1, "end": 3},
        "diagnostics": [
            {"path": path, "range": {"start": 0, "end": 1}, "severity": "warning", "message": "odd"},
            {"path": stage.path("hidden/key.txt"), "range": {"start": 0, "end": 1}, "severity": "error", "message": "hush"},
        ],
    })
}

#[tokio::test]
async fn what_is_sent_of_the_editor_is_seen_and_can_be_switched_off() {
    let stage = stage("", 5).await;
    stage.open("a.rs", "one\ntwo\nthree\nfour\n");
    stage.open("b.rs", "b, unsaved\n");
    stage.open("hidden/key.txt", "hush\n");
    let thread = stage.thread().await;
    edit(&stage, "a.rs", 2, 3, "new\n");
    edit(&stage, "hidden/key.txt", 2, 0, "x");
    let run = |context: Value, settings: Value| {
        let input = json!([{"type": "text", "text": "Hi"}]);
        stage.run_with(json!({"threadId": thread, "input": input, "context": context, "settings": settings}))
    };
    let story = run(context(&stage), json!({})).await;
    let all = ["activeFile", "selection", "diagnostics", "openFiles", "recentEdits"];
    assert_eq!(kinds(&story), all);
    for piece in story.item("userMessage")["context"].as_array().expect("a list") {
        assert!(piece["bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{piece}");
    }
    let text = told(&stage.requests(1)[0]).pop().expect("it is told");
    for part in [
        "Active file: a.rs\n",
        "Selected: lines 2-3\n```\ntwo\nthree\n```\n",
        "warning in a.rs, line 1: odd",
        "Open files: a.rs (unsaved changes), b.rs (unsaved changes)\n",
        "a.rs lines 4-5",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("hidden") && !text.contains("hush"), "{text}");
    // Edits are told once; a kind can be left out for one message, or for the thread.
    let mut once = context(&stage);
    once["leaveOut"] = json!(["selection", "openFiles"]);
    assert_eq!(kinds(&run(once, json!({})).await), ["activeFile", "diagnostics"]);
    let off = json!({"editorContext": {"diagnostics": false, "activeFile": false}});
    assert_eq!(kinds(&run(context(&stage), off).await), ["selection", "openFiles"]);
    let on = json!({"editorContext": {"diagnostics": true}});
    assert_eq!(
        kinds(&run(context(&stage), on).await),
        ["selection", "diagnostics", "openFiles"]
    );
    // A plugin that tells nothing means nothing.
    let story = stage.complete(&thread, "Hi").await;
    assert_eq!(kinds(&story), [""; 0]);
    assert_eq!(told(&stage.requests(5)[4]).len(), 4);
}

#[tokio::test]
async fn the_configuration_switches_off() {
    let stage = stage("[editor_context]\nopen_files = false\nrecent_edits = false", 1).await;
    stage.open("a.rs", "one\ntwo\nthree\n");
    edit(&stage, "a.rs", 2, 0, "x");
    let thread = stage.thread().await;
    let input = json!([{"type": "text", "text": "Hi"}]);
    let params = json!({"threadId": thread, "input": input, "context": context(&stage)});
    assert_eq!(
        kinds(&stage.run_with(params).await),
        ["activeFile", "selection", "diagnostics"]
    );
}

#[tokio::test]
async fn it_is_bounded() {
    let stage = stage("", 1).await;
    for number in 0..60 {
        stage.open(&format!("f{number}.txt"), &"long line\n".repeat(5000));
    }
    let path = stage.path("f1.txt");
    let problem = |line: u32| json!({"path": path, "range": {"start": line, "end": line + 1}, "severity": "error", "message": "x".repeat(5000)});
    let problems: Vec<Value> = (0..200).map(problem).collect();
    let context = json!({"activeFile": path, "selection": {"start": 0, "end": 5000}, "diagnostics": problems});
    let thread = stage.thread().await;
    let input = json!([{"type": "text", "text": "Hi"}]);
    stage
        .run_with(json!({"threadId": thread, "input": input, "context": context}))
        .await;
    let text = told(&stage.requests(1)[0]).pop().expect("it is told");
    assert!(text.len() < 64 << 10, "{}", text.len());
    for part in [
        "and 30 more",
        "(150 more problems are left out)",
        "(the rest is left out)",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

/// What a `.countersignignore` names is read by no tool and no patch, under no name; `.gitignore` only keeps out of lists.
#[tokio::test]
async fn what_is_kept_from_the_model_is_read_by_no_tool() {
    let call =
        |id: &str, tool: &str, arguments: Value| json!({"call": {"tool": tool, "id": id, "arguments": arguments}});
    let patch = |path: &str| format!("*** Begin Patch\n*** Update File: {path}\n@@\n-guess\n+x\n*** End Patch");
    let script = json!([
        [
            super::stage::apply_patch("patch", &patch("hidden/key.txt")),
            super::stage::apply_patch("patched link", &patch("way/key.txt")),
            call("read", "read_file", json!({"file_path": "hidden/key.txt"})),
            call("link", "read_file", json!({"file_path": "way/key.txt"})),
            call("list", "list_dir", json!({"dir_path": "."})),
            call("inside", "list_dir", json!({"dir_path": "hidden"})),
            call("grep", "grep_files", json!({"pattern": "hush"})),
            call(
                "direct",
                "grep_files",
                json!({"pattern": "hush", "path": "hidden/key.txt"})
            ),
            call("ignored", "read_file", json!({"file_path": "out/built.txt"})),
            call("lists", "grep_files", json!({"pattern": "built"})),
        ],
        [say("ok")],
    ]);
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let setting = Setting {
        files: vec![
            file("hidden/key.txt", "hush\n"),
            file(".countersignignore", "hidden/\n"),
            file(".gitignore", "out/\n"),
            file("out/built.txt", "built\n"),
        ],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    std::os::unix::fs::symlink(stage.path("hidden"), stage.path("way")).expect("a link");
    let thread = stage.thread().await;
    stage.complete(&thread, "Look").await;
    let last = &stage.requests(2)[1];
    for id in ["read", "link", "inside", "direct"] {
        let output = last.output(id).expect("an output");
        assert!(
            output.contains("is kept from you") && output.contains(".countersignignore"),
            "{id}: {output}"
        );
    }
    for id in ["patch", "patched link"] {
        let output = last.output(id).expect("an output");
        assert!(
            output.contains("keeps it from the model") && !output.contains("hush"),
            "{id}: {output}"
        );
    }
    for id in ["list", "grep", "lists"] {
        let output = last.output(id).expect("an output");
        assert!(
            !output.contains("key.txt") && !output.contains("built.txt"),
            "{id}: {output}"
        );
    }
    assert!(last.output("ignored").expect("an output").contains("L1: built"));
}

/// What a reviewer is told of edits the conversation has not heard.
#[tokio::test]
async fn edits_that_a_reviewer_was_told_of_are_told_to_the_agent_too() {
    let verdict = json!({
        "findings": [], "overall_correctness": "patch is correct", "overall_explanation": "Fine.",
        "overall_confidence_score": 0.8,
    });
    let setting = Setting {
        files: vec![("a.rs".to_owned(), "one\ntwo\n".to_owned())],
        ..Setting::default()
    };
    let script = json!([[{"hold": "look"}], [say(&verdict.to_string())], [say("ok")], [say("ok")]]);
    let stage = Stage::with(script, setting).await;
    stage.open("a.rs", "one\ntwo\n");
    let thread = stage.thread().await;
    edit(&stage, "a.rs", 2, 0, "new\n");
    let target = json!({"type": "custom", "instructions": "Look at it."});
    let started = stage
        .client
        .call(
            "countersign/review/start",
            json!({"threadId": thread, "target": target}),
        )
        .await;
    let turn = started["turn"]["id"].as_str().expect("a turn").to_owned();
    stage.model.wait_for_hold("look").await;
    let input = json!([{"type": "text", "text": "Look closely"}]);
    let steer = json!({"threadId": thread, "expectedTurnId": turn, "input": input, "context": context(&stage)});
    stage.client.call("countersign/turn/steer", steer).await;
    stage.model.release("look");
    stage.finish(&turn).await;
    let run = async |context: Value| {
        let input = json!([{"type": "text", "text": "Hi"}]);
        let story = stage
            .run_with(json!({"threadId": thread, "input": input, "context": context}))
            .await;
        kinds(&story).contains(&"recentEdits".to_owned())
    };
    assert!(run(context(&stage)).await);
    assert!(!run(context(&stage)).await, "they are told once");
}
