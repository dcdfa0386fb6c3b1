//! The tools by which families of models change files: all of them end in the same proposals.

use super::patch::files;
use super::stage::{Setting, Stage, apply_patch, say};
use serde_json::{Value, json};

fn call(id: &str, tool: &str, arguments: Value) -> Value {
    json!({"call": {"tool": tool, "arguments": arguments, "id": id}})
}

fn edit(id: &str, file: &str, old: &str, new: &str) -> Value {
    call(
        id,
        "edit",
        json!({"file_path": file, "old_string": old, "new_string": new}),
    )
}

/// A file whose lines are told apart by their numbers.
const TEN: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// A conversation with a model of this name, whose changes are taken without a question.
async fn unasked(script: Value, wire_api: &str, model: &str, more: &str) -> (Stage, String) {
    let setting = Setting {
        provider: format!("wire_api = \"{wire_api}\""),
        config: "edits.approve = \"workspace\"".to_owned(),
        tables: more.to_owned(),
        ..files(&[("a.txt", TEN), ("sub/b.txt", "old\n")])
    };
    let stage = Stage::with(script, setting).await;
    let started = stage.start_thread(json!({"settings": {"model": model}})).await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    (stage, thread)
}

#[tokio::test]
async fn a_model_is_offered_the_tool_of_its_family_or_the_one_the_person_names() {
    let tools = ["apply_patch", "str_replace_based_edit_tool", "edit", "write"];
    let named = "[models.\"qwen3-coder:30b\"]\nedit_tool = \"apply_patch\"\n[models.GPT-5]\nedit_tool = \"edit\"\n";
    for (model, more, wanted) in [
        ("gpt-5-codex", "", vec!["apply_patch"]),
        ("claude-sonnet-4-5", "", vec!["str_replace_based_edit_tool"]),
        ("qwen3-coder:30b", "", vec!["edit", "write"]),
        ("qwen3:8b", "", vec!["write"]),
        ("nobody-knows-it", "", vec!["edit", "write"]),
        ("qwen3-coder:30b", named, vec!["apply_patch"]),
        ("gpt-5", named, vec!["edit", "write"]),
    ] {
        let (stage, thread) = unasked(json!([[say("Hello.")]]), "responses", model, more).await;
        stage.complete(&thread, "Hello").await;
        let request = &stage.requests(1)[0];
        let offered: Vec<String> = request
            .tools()
            .into_iter()
            .filter(|name| tools.contains(&name.as_str()))
            .collect();
        assert_eq!(offered, wanted, "{model}");
        // No prompt and no description names a tool that is not there.
        let text = request.body.to_string();
        for tool in tools.iter().filter(|tool| !wanted.contains(tool) && tool.len() > 5) {
            assert!(!text.contains(tool), "{model} reads of {tool}");
        }
    }
}

#[tokio::test]
async fn whatever_the_tool_the_same_change_comes_out() {
    let changed = TEN.replace("two", "2").replace("nine\n", "nine\nnine and a half\n");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n three\n@@\n nine\n+nine and a half\n ten\n*** Add File: new/c.txt\n+c\n*** End Patch";
    let editor = |id: &str, arguments: Value| call(id, "str_replace_based_edit_tool", arguments);
    let ways = [
        ("apply_patch", json!([apply_patch("c1", patch)])),
        (
            "edit and write",
            json!([
                edit("c1", "a.txt", "two\n", "2\n"),
                edit("c2", "a.txt", "nine\nten", "nine\nnine and a half\nten"),
                call("c3", "write", json!({"file_path": "new/c.txt", "content": "c\n"})),
            ]),
        ),
        (
            "whole files",
            json!([
                call("c1", "write", json!({"file_path": "a.txt", "content": changed})),
                call("c3", "write", json!({"file_path": "new/c.txt", "content": "c\n"})),
            ]),
        ),
        (
            "Claude's",
            json!([
                editor(
                    "c1",
                    json!({"command": "str_replace", "path": "a.txt", "old_str": "two", "new_str": "2"})
                ),
                editor(
                    "c2",
                    json!({"command": "insert", "path": "a.txt", "insert_line": 9, "insert_text": "nine and a half"})
                ),
                editor(
                    "c3",
                    json!({"command": "create", "path": "new/c.txt", "file_text": "c\n"})
                ),
            ]),
        ),
        (
            "names of other programs",
            json!([
                call(
                    "c1",
                    "Edit",
                    json!({"filePath": "a.txt", "oldString": "two", "newString": "2"})
                ),
                call(
                    "c2",
                    "replace",
                    json!({"path": "a.txt", "old_str": "ten\n", "new_str": "nine and a half\nten\n"})
                ),
                call("c3", "write_file", json!({"path": "new/c.txt", "contents": "c\n"})),
            ]),
        ),
    ];
    let mut first = None;
    for (way, answer) in ways {
        for wire_api in ["responses", "chat"] {
            let (stage, thread) = unasked(json!([answer, [say("Done.")]]), wire_api, "glm-4.6", "").await;
            let story = stage.complete(&thread, "Change it").await;
            assert_eq!(story.status(), "completed", "{way}");
            assert_eq!(stage.text("a.txt"), changed, "{way}, {wire_api}");
            assert_eq!(stage.text("new/c.txt"), "c\n", "{way}, {wire_api}");
            assert_eq!(story.items("fileChange").len(), 1, "{way}: one proposal");
            let diffs: Vec<Value> = story.item("fileChange")["changes"]
                .as_array()
                .expect("changes")
                .iter()
                .map(|change| json!([change["kind"], change["diff"]]))
                .collect();
            assert_eq!(*first.get_or_insert_with(|| diffs.clone()), diffs, "{way}, {wire_api}");
            let request = &stage.requests(2)[1];
            let outputs: Vec<String> = ["c1", "c2", "c3"].iter().filter_map(|id| request.output(id)).collect();
            assert_eq!(outputs.len(), answer.as_array().expect("calls").len());
            assert!(outputs[0].contains("M a.txt"), "{way}: {outputs:?}");
            let follow = |output: &String| output.contains("together with the changes before it");
            assert!(outputs[1..].iter().all(follow), "{way}: {outputs:?}");
        }
    }
}

#[tokio::test]
async fn a_change_that_does_not_fit_keeps_none_of_the_others_out() {
    let script = json!([
        [
            edit("c1", "a.txt", "two", "2"),
            edit("c2", "a.txt", "  three", "3"),
            edit("c3", "missing.txt", "x", "y"),
            edit("c4", "sub/b.txt", "old", "new"),
            edit("c5", "a.txt", "2\n", "two again\n"),
        ],
        [
            edit("c6", "a.txt", "e", "E"),
            edit("c7", "a.txt", "", "all"),
            edit("c8", "a.txt", "one", "one")
        ],
        [say("Done.")],
    ]);
    let (stage, thread) = unasked(script, "responses", "glm-4.6", "").await;
    let story = stage.complete(&thread, "Change it").await;
    // The later one sees what the earlier one made.
    assert_eq!(stage.text("a.txt"), TEN.replace("two", "two again"));
    assert_eq!(stage.text("sub/b.txt"), "new\n");
    let statuses: Vec<&Value> = story.items("fileChange").iter().map(|item| &item["status"]).collect();
    assert_eq!(
        statuses,
        ["failed", "failed", "completed", "failed", "failed", "failed"]
    );
    let request = &stage.requests(3)[2];
    for (id, parts) in [
        ("c1", &["M a.txt", "M sub/b.txt"][..]),
        (
            "c2",
            &[
                "not proposed",
                "the old text is not in it",
                "Only blanks differ",
                "    3| three",
            ],
        ),
        ("c3", &["missing.txt: there is no such file to change"]),
        ("c4", &["together with the changes before it"]),
        ("c5", &["together with the changes before it"]),
        ("c6", &["stands in it 9 times, at line 1, 3, 5, 7, 8, 9, 10."]),
        ("c7", &["the old text is empty, but the file is there"]),
        ("c8", &["are the same"]),
    ] {
        let output = request.output(id).expect("an output");
        for part in parts {
            assert!(output.contains(part), "{id}: {part}: {output}");
        }
    }
}

#[tokio::test]
async fn the_person_decides_on_all_of_one_answer_at_once() {
    let script = json!([
        [
            edit("c1", "a.txt", "two", "2"),
            edit("c2", "sub/b.txt", "old", "new"),
            edit("c3", "a.txt", "nine", "9")
        ],
        [say("Done.")],
    ]);
    let stage = Stage::with(script, files(&[("a.txt", TEN), ("sub/b.txt", "old\n")])).await;
    let started = stage
        .start_thread(json!({"settings": {"model": "gemini-2.5-pro"}}))
        .await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    let turn = stage.start_turn(&thread, "Change it").await;
    let story = stage.until_event("proposal/created").await;
    let proposal = story.last()["proposal"].clone();
    assert_eq!(proposal["files"].as_array().map(Vec::len), Some(2));
    assert_eq!(proposal["files"][0]["hunks"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        (stage.text("a.txt").as_str(), stage.text("sub/b.txt").as_str()),
        (TEN, "old\n")
    );
    let reject = json!({"proposalId": proposal["id"], "decision": "reject", "hunkIds": [proposal["files"][0]["hunks"][1]["id"]]});
    stage.decide(reject).await;
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    stage.finish(&turn).await;
    assert_eq!(
        (stage.text("a.txt"), stage.text("sub/b.txt")),
        (TEN.replace("two", "2"), "new\n".to_owned())
    );
    let told = stage.requests(2)[1].output("c1").expect("an output");
    assert!(told.contains("Taken in part: 2 of 3 hunks"), "{told}");
}

#[tokio::test]
async fn looking_between_two_changes_sees_the_first() {
    let view = |id: &str| {
        call(
            id,
            "str_replace_based_edit_tool",
            json!({"command": "view", "path": "a.txt", "view_range": [2, 3]}),
        )
    };
    let folder = call(
        "c4",
        "str_replace_based_edit_tool",
        json!({"command": "view", "path": "sub"}),
    );
    let script = json!([
        [
            edit("c1", "a.txt", "two", "2"),
            view("c2"),
            edit("c3", "a.txt", "three", "3"),
            folder
        ],
        [say("Done.")],
    ]);
    let (stage, thread) = unasked(script, "responses", "claude-sonnet-4-5", "").await;
    let story = stage.complete(&thread, "Change it").await;
    assert_eq!(story.items("fileChange").len(), 2);
    assert_eq!(stage.text("a.txt"), TEN.replace("two", "2").replace("three", "3"));
    let request = &stage.requests(2)[1];
    assert_eq!(
        request.output("c2").as_deref(),
        Some("L2: 2\nL3: three\n(7 more lines; continue with offset 4)")
    );
    assert!(request.output("c4").expect("an output").contains("b.txt"));
}

#[tokio::test]
async fn tries_that_never_fit_are_advised_and_then_ended() {
    let miss = |number: usize| json!([edit(&format!("c{number}"), "a.txt", "not there", "x")]);
    let script: Vec<Value> = (1..=7).map(miss).collect();
    let (stage, thread) = unasked(json!(script), "responses", "glm-4.6", "").await;
    let story = stage.run(&thread, "Change it").await;
    assert_eq!(story.status(), "failed");
    let error = story.one("turn/completed")["turn"]["error"]["message"]
        .as_str()
        .expect("words")
        .to_owned();
    assert!(error.contains("tried 6 times in a row to change a.txt"), "{error}");
    let requests = stage.requests(6);
    let outputs: Vec<String> = (1..=5)
        .map(|number| requests[5].output(&format!("c{number}")).expect("an output"))
        .collect();
    let advised: Vec<bool> = outputs
        .iter()
        .map(|output| output.contains("in a row for a.txt"))
        .collect();
    assert_eq!(advised, [false, false, true, true, true]);
    assert!(outputs[2].contains("write the whole file with write"), "{}", outputs[2]);
    assert_eq!(stage.text("a.txt"), TEN);
}

/// However many changes one answer has, the model hears of all of them at once: it is one try.
#[tokio::test]
async fn the_changes_of_one_answer_are_one_try() {
    let answer = |from: usize| -> Value {
        (from..from + 8)
            .map(|number| edit(&format!("c{number}"), "a.txt", "not there", "x"))
            .collect()
    };
    let script = json!([answer(0), answer(8), [edit("c16", "a.txt", "two", "2")], [say("Done.")]]);
    let (stage, thread) = unasked(script, "responses", "glm-4.6", "").await;
    let story = stage.complete(&thread, "Change it").await;
    assert_eq!(story.status(), "completed");
    assert_eq!(stage.text("a.txt"), TEN.replace("two", "2"));
    let request = &stage.requests(4)[3];
    for number in 0..16 {
        let output = request.output(&format!("c{number}")).expect("an output");
        assert!(!output.contains("in a row"), "c{number}: {output}");
    }
}

/// Another file, or a change that fits, begins the row again; patches count like all others.
#[tokio::test]
async fn a_change_that_fits_begins_the_row_again() {
    let patch = |id: &str, old: &str| {
        json!([apply_patch(
            id,
            &format!("*** Begin Patch\n*** Update File: a.txt\n@@\n-{old}\n+x\n*** End Patch")
        )])
    };
    let script = json!([
        patch("c1", "not there"),
        patch("c2", "not there"),
        [edit("c3", "a.txt", "two", "2")],
        patch("c4", "not there"),
        patch("c5", "not there"),
        [edit("c6", "sub/b.txt", "not there", "x")],
        patch("c7", "not there"),
        [say("I give up.")],
    ]);
    let (stage, thread) = unasked(script, "responses", "rehearsal", "").await;
    let story = stage.complete(&thread, "Change it").await;
    assert_eq!(story.status(), "completed");
    let request = &stage.requests(8)[7];
    for number in 1..=7 {
        let output = request.output(&format!("c{number}")).expect("an output");
        assert!(!output.contains("in a row"), "c{number}: {output}");
    }
}

/// A mode without changes has none of any family.
#[tokio::test]
async fn no_tool_gets_past_a_mode_that_only_reads() {
    let script = json!([
        [
            edit("c1", "a.txt", "two", "2"),
            call("c2", "write", json!({"file_path": "a.txt", "content": "x"})),
            call(
                "c3",
                "str_replace_based_edit_tool",
                json!({"command": "create", "path": "a.txt", "file_text": "x"})
            ),
            call("c4", "Write", json!({"file_path": "/etc/x", "content": "x"})),
        ],
        [say("So be it.")],
    ]);
    let (stage, thread) = unasked(script, "responses", "glm-4.6", "").await;
    let params = json!({"threadId": thread, "input": [{"type": "text", "text": "Look"}], "settings": {"mode": "ask"}});
    let story = stage.run_with(params).await;
    assert_eq!(story.status(), "completed");
    assert_eq!(
        (stage.text("a.txt").as_str(), story.items("fileChange").len()),
        (TEN, 0)
    );
    let request = &stage.requests(2)[1];
    for id in ["c1", "c2", "c3", "c4"] {
        let output = request.output(id).expect("an output");
        assert!(output.contains("unsupported call"), "{id}: {output}");
    }
}
