//! What the model is told of the project, its surroundings and the editor: in the right order, and once.

use super::stage::{Setting, Stage, say};
use countersign::rehearsal::Recorded;
use serde_json::{Value, json};

/// Role and text of each message of a request.
fn messages(request: &Recorded) -> Vec<(String, String)> {
    request
        .input()
        .iter()
        .filter(|item| item["type"] == "message")
        .map(|item| {
            let text = item["content"][0]["text"].as_str().unwrap_or_default();
            (item["role"].as_str().unwrap_or_default().to_owned(), text.to_owned())
        })
        .collect()
}

fn environments(request: &Recorded) -> Vec<String> {
    let texts = request.input_texts();
    texts
        .into_iter()
        .filter(|text| text.starts_with("<environment_context>"))
        .collect()
}

fn setting(config: &str) -> Setting {
    Setting {
        config: config.to_owned(),
        files: vec![
            ("AGENTS.md".into(), "Write tests first.\n".into()),
            (".git/HEAD".into(), "ref: refs/heads/main\n".into()),
        ],
        ..Setting::default()
    }
}

/// Shows S-221, S-223, S-224, S-230, S-232.
#[tokio::test]
async fn the_first_request_begins_with_instructions_and_surroundings() {
    let config = "developer_instructions = \"Answer in verse.\"\nuser_instructions = \"Call me Ada.\"";
    let stage = Stage::with(json!([[say("ok")], [say("ok")], [say("ok")]]), setting(config)).await;
    let started = stage.start_thread(json!({})).await;
    assert_eq!(started["instructionSources"], json!([stage.path("AGENTS.md")]));
    let thread = started["thread"]["id"].as_str().unwrap();
    stage.complete(thread, "Hello there").await;
    let request = &stage.requests(1)[0];
    let messages = messages(request);
    let roles: Vec<&str> = messages.iter().map(|(role, _)| &role[..]).collect();
    assert_eq!(roles, ["developer", "user", "user", "user"]);
    assert_eq!(messages[0].1, "Answer in verse.");
    let project = &messages[1].1;
    let (own, theirs) = (project.find("Call me Ada."), project.find("Write tests first."));
    assert!(own.is_some() && own < theirs, "{project}");
    let environment = &messages[2].1;
    for line in [
        &format!("<cwd>{}</cwd>", stage.dir.display())[..],
        "<approval_policy>on-request</approval_policy>",
        "<sandbox_mode>workspace-write</sandbox_mode>",
        "<network_access>restricted</network_access>",
        "<shell>",
    ] {
        assert!(environment.contains(line), "{line}: {environment}");
    }
    assert_eq!(messages[3].1, "Hello there");
    assert!(request.instructions().contains("Countersign"));
    // Previews show the person's words.
    let list = stage.client.call("countersign/thread/list", json!({})).await;
    assert_eq!(list["data"][0]["preview"], "Hello there");
    let meta = &stage.rollout(thread)[0]["payload"];
    assert!(meta["instructions"].as_str().unwrap().contains("Write tests first."));
    // An edit of the file counts for new threads; the editor's text counts, saved or not.
    stage.open("AGENTS.md", "Write docs first.\n");
    stage.complete(thread, "More").await;
    let params = json!({"baseInstructions": "You are a parrot.", "developerInstructions": "Squawk."});
    let other = stage.start_thread(params).await;
    stage.complete(other["thread"]["id"].as_str().unwrap(), "Polly?").await;
    let requests = stage.requests(3);
    assert!(
        requests[1]
            .input_texts()
            .iter()
            .any(|text| text.contains("Write tests first."))
    );
    assert!(
        requests[2]
            .input_texts()
            .iter()
            .any(|text| text.contains("Write docs first."))
    );
    assert_eq!(requests[2].instructions(), "You are a parrot.");
    assert_eq!(
        self::messages(&requests[2])[0],
        ("developer".to_owned(), "Squawk.".to_owned())
    );
}

/// Shows S-019, S-020, S-023, S-225, S-226.
#[tokio::test]
async fn the_model_is_told_of_changed_surroundings_once_and_only_of_the_difference() {
    let steps: Vec<Value> = (0..6).map(|_| json!([say("ok")])).collect();
    let stage = Stage::with(json!(steps), setting("")).await;
    let thread = stage.thread().await;
    let other = stage.path("other");
    std::fs::create_dir(&other).expect("a folder");
    let turn = |settings: Value| {
        let input = json!([{"type": "text", "text": "Hi"}]);
        stage.run_with(json!({"threadId": thread, "input": input, "settings": settings}))
    };
    stage.complete(&thread, "First").await;
    stage.complete(&thread, "Second").await;
    turn(json!({"model": "another", "effort": "high", "summary": "concise"})).await;
    turn(json!({"cwd": other, "approvalPolicy": "never"})).await;
    let roots = json!({"type": "workspaceWrite", "writableRoots": [stage.dir], "networkAccess": true});
    turn(json!({"sandboxPolicy": roots, "effort": null})).await;
    turn(json!({"sandboxPolicy": {"type": "readOnly"}})).await;
    let requests = stage.requests(6);
    let told: Vec<usize> = requests.iter().map(|request| environments(request).len()).collect();
    assert_eq!(told, [1, 1, 1, 2, 3, 4]);
    let last = environments(&requests[5]);
    let (dir, other) = (stage.dir.display(), other.display());
    assert_eq!(
        last[1],
        format!(
            "<environment_context>\n  <cwd>{other}</cwd>\n  <approval_policy>never</approval_policy>\n  \
             <workspace_folders>{dir}</workspace_folders>\n</environment_context>"
        )
    );
    assert_eq!(
        last[2],
        format!(
            "<environment_context>\n  <network_access>enabled</network_access>\n  \
             <writable_roots>{dir}</writable_roots>\n</environment_context>"
        )
    );
    assert_eq!(
        last[3],
        "<environment_context>\n  <sandbox_mode>read-only</sandbox_mode>\n  <network_access>restricted</network_access>\n  \
         <writable_roots>none</writable_roots>\n</environment_context>"
    );
    // What was set stays; what was cleared is gone.
    let models: Vec<&str> = requests.iter().map(Recorded::model).collect();
    assert_eq!(
        models,
        ["rehearsal", "rehearsal", "another", "another", "another", "another"]
    );
    let read = stage.read(&thread).await;
    assert_eq!(read["cwd"], json!(stage.path("other")));
}

/// Shows S-210.
#[tokio::test]
async fn effort_and_summary_reach_models_that_take_them_and_can_be_cleared() {
    let stage = Stage::new(json!([[say("ok")], [say("ok")], [say("ok")], [say("ok")]])).await;
    let thread = stage.thread().await;
    let turn = |settings: Value| {
        let input = json!([{"type": "text", "text": "Hi"}]);
        stage.run_with(json!({"threadId": thread, "input": input, "settings": settings}))
    };
    turn(json!({"model": "gpt-5-codex", "effort": "high", "summary": "detailed"})).await;
    turn(json!({})).await;
    turn(json!({"effort": null})).await;
    turn(json!({"model": "gpt-4o", "effort": "low"})).await;
    let requests = stage.requests(4);
    let effort = |n: usize| requests[n].body["reasoning"]["effort"].clone();
    assert_eq!(
        (effort(0), effort(1), effort(2)),
        (json!("high"), json!("high"), Value::Null)
    );
    assert_eq!(requests[0].body["reasoning"]["summary"], "detailed");
    assert_eq!(effort(3), Value::Null, "a model that takes none");
}

/// Shows S-024, S-076, S-218.
#[tokio::test]
async fn an_output_schema_is_for_one_turn() {
    let stage = Stage::new(json!([[say("{}")], [say("ok")]])).await;
    let thread = stage.thread().await;
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false, "required": []});
    let input = json!([{"type": "text", "text": "JSON, please"}]);
    stage
        .run_with(json!({"threadId": thread, "input": input, "outputSchema": schema}))
        .await;
    stage.complete(&thread, "And now?").await;
    let requests = stage.requests(2);
    assert_eq!(requests[0].body["text"]["format"]["schema"], schema);
    assert!(requests[1].body["text"].get("format").unwrap_or(&Value::Null).is_null());
    let tools = requests[0].tools();
    for tool in [
        "exec_command",
        "apply_patch",
        "read_file",
        "list_dir",
        "grep_files",
        "update_plan",
    ] {
        assert!(tools.contains(&tool.to_owned()), "{tools:?}");
    }
    assert_eq!(requests[0].body["parallel_tool_calls"], true);
    assert_eq!(requests[0].body["store"], false);
}

/// Shows S-039, S-047, S-230.
#[tokio::test]
async fn what_the_editor_shows_and_what_the_person_attaches() {
    let stage = Stage::with(json!([[say("ok")], [say("ok")]]), setting("")).await;
    let png = b"\x89PNG\r\n\x1a\nnot really";
    std::fs::write(stage.path("shot.png"), png).expect("an image");
    stage.write("a.txt", "one\n");
    stage.open("a.txt", "one, unsaved\n");
    let thread = stage.thread().await;
    let context = json!({
        "activeFile": stage.path("a.txt"), "selection": {"start": 2, "end": 5},
        "diagnostics": [{"path": stage.path("a.txt"), "range": {"start": 3, "end": 4}, "severity": "error",
                         "source": "rustc", "code": "E0308", "message": "mismatched types"}],
    });
    let input = json!([
        {"type": "text", "text": "Mend this"},
        {"type": "image", "url": "data:image/png;base64,AAAA"},
        {"type": "localImage", "path": stage.path("shot.png")},
        {"type": "localImage", "path": stage.path("missing.png")},
        {"type": "mention", "path": stage.path("a.txt"), "lineRange": {"start": 0, "end": 1}},
    ]);
    let story = stage
        .run_with(json!({"threadId": thread, "input": input, "context": context}))
        .await;
    assert_eq!(story.item("userMessage")["content"], input);
    let request = &stage.requests(1)[0];
    let messages = messages(request);
    let told = &messages[messages.len() - 2].1;
    for part in [
        "Active file: a.txt",
        "lines 3-5",
        "error [rustc] (E0308) in a.txt, line 4: mismatched types",
        "a.txt (unsaved changes)",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let content = request.input().last().unwrap()["content"].as_array().unwrap().clone();
    let kinds: Vec<_> = content.iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["input_text", "input_image", "input_image", "input_text", "input_text"]
    );
    assert_eq!(content[1]["image_url"], "data:image/png;base64,AAAA");
    assert!(
        content[2]["image_url"]
            .as_str()
            .unwrap()
            .starts_with("data:image/png;base64,iVBOR")
    );
    assert!(content[3]["text"].as_str().unwrap().contains("missing.png"));
    assert!(content[4]["text"].as_str().unwrap().contains("a.txt, line 1"));
    assert_eq!(stage.read(&thread).await["preview"], "Mend this");
    stage.complete(&thread, "Thanks").await;
}
