//! Questions to the person: asked once, withdrawn with their turn, and silence is no yes.

use super::client::{Acp, call};
use serde_json::{Value, json};

const PATCH: &str =
    "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Add File: new.txt\n+made\n*** End Patch\n";

fn patching() -> Value {
    json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": PATCH}, "id": "c1"}}],
        [{"say": "Done."}],
    ])
}

fn running() -> Value {
    json!([
        [{"call": {"tool": "shell", "arguments": {"command": ["touch", "made.txt"]}, "id": "c1"}}],
        [{"say": "Done."}],
    ])
}

#[tokio::test]
async fn a_patch_shows_its_texts_and_is_applied_or_not() {
    for (kind, wanted) in [("allow_once", "ONE\n"), ("reject_once", "one\n")] {
        let mut acp = Acp::start(patching(), "").await;
        acp.write("a.txt", "one\n");
        acp.choose(kind);
        let session = acp.session().await;
        let (updates, reason) = acp.prompt(&session, "Go").await;
        assert_eq!(reason, "end_turn");
        assert_eq!(acp.text("a.txt"), wanted);
        assert_eq!(acp.dir.join("new.txt").exists(), kind == "allow_once");
        let asked = acp
            .asked
            .iter()
            .find(|asked| asked["method"] == "session/request_permission")
            .expect("a question");
        let shown = &asked["params"]["toolCall"];
        assert_eq!(
            (&shown["toolCallId"], &shown["kind"], &shown["status"]),
            (&json!("c1"), &json!("edit"), &json!("pending"))
        );
        let path = acp.dir.join("a.txt");
        let diff = json!({"type": "diff", "path": path, "oldText": "one\n", "newText": "ONE\n"});
        assert_eq!(shown["content"][0], diff);
        assert_eq!(shown["content"][1]["newText"], "made\n");
        assert!(shown["content"][1].get("oldText").is_none());
        let status = call(&updates, "c1")["status"].clone();
        assert_eq!(status, if kind == "allow_once" { "completed" } else { "failed" });
    }
}

/// Answers that are no yes, by table: whatever comes, nothing is run.
#[tokio::test]
async fn what_is_no_clear_yes_is_a_no() {
    let selected = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
    let answers: Vec<Result<Value, Value>> = vec![
        Ok(selected("decline")),
        Ok(selected("made up")),
        Ok(selected("")),
        Ok(json!({"outcome": {"outcome": "cancelled"}})),
        Ok(json!({"outcome": "accept"})),
        Ok(json!({"outcome": {"outcome": "selected"}})),
        Ok(json!({"outcome": {"outcome": "accept", "optionId": "accept"}})),
        Ok(json!("accept")),
        Ok(Value::Null),
        Err(json!({"code": -32603, "message": "the dialog fell over"})),
        Err(json!("accept")),
    ];
    for answer in answers {
        let mut acp = Acp::start(running(), "approval_policy = \"untrusted\"").await;
        let given = answer.clone();
        acp.on("session/request_permission", move |_| Some(given.clone()));
        let session = acp.session().await;
        let (updates, reason) = acp.prompt(&session, "Go").await;
        assert_eq!(reason, "end_turn", "{answer:?}");
        assert!(!acp.dir.join("made.txt").exists(), "{answer:?}");
        assert_eq!(call(&updates, "c1")["status"], "failed", "{answer:?}");
    }
}

#[tokio::test]
async fn a_command_runs_after_a_yes_and_for_the_session_is_not_asked_again() {
    let touch =
        |name: &str, id: &str| json!({"call": {"tool": "shell", "arguments": {"command": ["touch", name]}, "id": id}});
    let script = json!([[touch("a.txt", "c1")], [touch("b.txt", "c2")], [{"say": "Done."}]]);
    let config = "approval_policy = \"untrusted\"\nsandbox_mode = \"workspace-write\"";
    let mut acp = Acp::start(script, config).await;
    acp.choose("allow_always");
    let session = acp.session().await;
    let (updates, _) = acp.prompt(&session, "Go").await;
    assert!(
        acp.dir.join("a.txt").exists() && acp.dir.join("b.txt").exists(),
        "{updates:#?}"
    );
    let asked: Vec<_> = acp
        .asked
        .iter()
        .filter(|asked| asked["method"] == "session/request_permission")
        .collect();
    assert_eq!(asked.len(), 1, "{asked:#?}");
    let params = &asked[0]["params"];
    assert_eq!(params["sessionId"], *session);
    assert!(
        params["toolCall"]["title"]
            .as_str()
            .expect("text")
            .contains("touch a.txt")
    );
    for option in params["options"].as_array().expect("options") {
        assert!(option["name"].is_string() && option["optionId"].is_string(), "{option}");
    }
}

#[tokio::test]
async fn a_cancelled_turn_withdraws_its_question() {
    for script in [running(), patching()] {
        let mut acp = Acp::start(script, "approval_policy = \"untrusted\"").await;
        acp.write("a.txt", "one\n");
        // The person does not answer.
        acp.on("session/request_permission", |_| None);
        let session = acp.session().await;
        let id = acp.begin_prompt(&session, "Go");
        let asked = acp.until_asked("session/request_permission").await;
        acp.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(acp.answer(id).await, Ok(json!({"stopReason": "cancelled"})));
        while !acp.withdrawn.contains(&asked["id"]) {
            acp.take().await;
        }
        // A yes that comes too late is none.
        let yes = json!({"outcome": {"outcome": "selected", "optionId": "accept"}});
        acp.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes}));
        acp.call("session/set_mode", json!({"sessionId": session, "modeId": "ask"}))
            .await;
        assert!(!acp.dir.join("made.txt").exists() && acp.text("a.txt") == "one\n");
        acp.end().await;
    }
}

#[tokio::test]
async fn a_client_that_goes_away_is_no_yes() {
    let mut acp = Acp::start(running(), "approval_policy = \"untrusted\"").await;
    acp.on("session/request_permission", |_| None);
    let session = acp.session().await;
    acp.begin_prompt(&session, "Go");
    acp.until_asked("session/request_permission").await;
    acp.end().await;
    assert!(!acp.dir.join("made.txt").exists());
}

const WIDE: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+ONE\n 2\n 3\n 4\n 5\n 6\n 7\n 8\n-9\n+NINE\n*** Update File: b.txt\n@@\n-b\n+B\n\
                    *** Add File: new.txt\n+made\n*** End Patch\n";
const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// Each file, and each hunk of a file, is a question of its own where the person wants that; the model is told which were taken.
#[tokio::test]
async fn a_patch_is_decided_file_by_file_and_hunk_by_hunk() {
    let table: &[(&[&str], [&str; 2], bool)] = &[
        // All; a's hunks: yes, no; b no; new yes.
        (
            &["each", "each", "accept", "reject", "reject", "accept"],
            ["ONE\n2\n3\n4\n5\n6\n7\n8\n9\n", "b\n"],
            true,
        ),
        (
            &["each", "accept", "accept", "reject"],
            ["ONE\n2\n3\n4\n5\n6\n7\n8\nNINE\n", "B\n"],
            false,
        ),
        // A dialog that is closed in the middle is a no to what is left.
        (
            &["each", "accept", ""],
            ["ONE\n2\n3\n4\n5\n6\n7\n8\nNINE\n", "b\n"],
            false,
        ),
        (&["each", "each", ""], [LINES, "b\n"], false),
        (&["each", "reject", "reject", "reject"], [LINES, "b\n"], false),
    ];
    for (answers, wanted, made) in table {
        let script = json!([
            [{"call": {"tool": "apply_patch", "arguments": {"input": WIDE}, "id": "c1"}}],
            [{"say": "Done."}],
        ]);
        let mut acp = Acp::start(script, "").await;
        acp.write("a.txt", LINES);
        acp.write("b.txt", "b\n");
        let left = std::sync::Mutex::new(std::collections::VecDeque::from(answers.to_vec()));
        acp.on("session/request_permission", move |params| {
            let chosen = left.lock().expect("whole").pop_front().expect("no further question");
            let options = params["options"].as_array().expect("options");
            let outcome = match options.iter().any(|option| option["optionId"] == chosen) {
                true => json!({"outcome": "selected", "optionId": chosen}),
                false => json!({"outcome": "cancelled"}),
            };
            Some(Ok(json!({ "outcome": outcome })))
        });
        let session = acp.session().await;
        let (_, reason) = acp.prompt(&session, "Go").await;
        assert_eq!(reason, "end_turn");
        assert_eq!([acp.text("a.txt"), acp.text("b.txt")], *wanted, "{answers:?}");
        assert_eq!(acp.dir.join("new.txt").exists(), *made, "{answers:?}");
        let asked: Vec<_> = acp
            .asked
            .iter()
            .filter(|asked| asked["method"] == "session/request_permission")
            .collect();
        assert_eq!(asked.len(), answers.len(), "{answers:?}: {asked:#?}");
        for (at, asked) in asked.iter().enumerate().skip(1) {
            let call = &asked["params"]["toolCall"];
            assert_eq!(call["content"].as_array().map(Vec::len), Some(1), "{call:#}");
            assert_eq!(
                (&call["toolCallId"], &call["status"]),
                (&json!("c1"), &json!("pending")),
                "{at}"
            );
        }
        if answers.get(1) == Some(&"each") && answers.len() > 3 {
            let hunk = &asked[3]["params"]["toolCall"]["content"][0];
            let path = acp.dir.join("a.txt");
            let title = asked[3]["params"]["toolCall"]["title"].as_str().expect("text");
            assert!(title.contains("hunk 2 of 2"), "{title}");
            assert_eq!((&hunk["path"], &hunk["oldText"]), (&json!(path), &json!(LINES)));
            assert_eq!(hunk["newText"], "1\n2\n3\n4\n5\n6\n7\n8\nNINE\n");
            let told = acp.model.requests()[1].output("c1").expect("an output");
            assert!(told.contains("a.txt") && told.contains("b.txt"), "{told}");
        }
    }
}

/// A patch that no client has room for is accepted by its parts only, and a part that is too long itself by none; an answer that
/// was not offered is no yes. What its names look like, and what hides in them, stands beside each question.
#[tokio::test]
async fn a_change_that_has_no_room_is_not_accepted() {
    let long: String = (0..300).map(|number| format!("+line {number}\n")).collect();
    let patch = format!(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Add File: su\u{200b}b/\u{430}uth.py\n+made\n\
         *** Add File: long.txt\n{long}*** Delete File: old.txt\n*** End Patch\n"
    );
    let script = json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "c1"}}],
        [{"say": "Done."}],
    ]);
    // The answers in order, and whether the last one was offered.
    for (answers, was_offered) in [
        (vec!["accept"], false),
        (vec!["acceptForSession"], false),
        (vec!["each", "accept", "accept", "accept"], false),
        (vec!["each", "accept", "accept", "reject", "accept"], true),
    ] {
        let mut acp = Acp::start(script.clone(), "").await;
        acp.write("a.txt", "one\n");
        acp.write("old.txt", &"old\n".repeat(300));
        let left = std::sync::Mutex::new(std::collections::VecDeque::from(answers.clone()));
        acp.on("session/request_permission", move |_| {
            let chosen = left.lock().expect("whole").pop_front().expect("no further question");
            Some(Ok(json!({"outcome": {"outcome": "selected", "optionId": chosen}})))
        });
        let session = acp.session().await;
        acp.prompt(&session, "Go").await;
        let asked = acp.asked.iter().map(|asked| &asked["params"]);
        let asked: Vec<&Value> = asked.filter(|asked| asked["options"].is_array()).collect();
        assert_eq!(asked.len(), answers.len(), "{asked:#?}");
        let offers = |at: usize| asked[at]["options"].to_string();
        assert!(
            !offers(0).contains("accept") && offers(0).contains("each"),
            "{}",
            offers(0)
        );
        let said = asked[0]["toolCall"].to_string();
        assert!(said.contains("more than clients have room for"), "{said}");
        let is_by_parts = answers[0] == "each";
        if is_by_parts {
            let named = asked[2]["toolCall"].to_string();
            for part in ["su<U+200B>b", "Note: “\u{430}uth.py” looks like “auth.py”"] {
                assert!(named.contains(part), "{named}");
            }
            assert!(
                asked[2]["toolCall"]["title"].to_string().contains("su<U+200B>b"),
                "{named}"
            );
            assert!(
                !offers(3).contains("accept") && !offers(3).contains("each"),
                "{}",
                offers(3)
            );
        }
        assert_eq!(offers(answers.len() - 1).contains("\"accept\""), was_offered);
        assert_eq!(acp.text("a.txt"), if is_by_parts { "ONE\n" } else { "one\n" });
        assert!(!acp.dir.join("long.txt").exists());
        assert_eq!(acp.dir.join("old.txt").exists(), !was_offered);
    }
}

/// What does not fit while a question is up, or is in its file already, is not asked about and not accepted by the answer to the
/// rest, also where it fits again by then; the model hears that it was not taken.
#[tokio::test]
async fn a_yes_leaves_out_what_its_question_did_not_show() {
    // The text of a file while the person looks, what it is when they answer, and what is asked about then.
    for (name, file, shown, then, other) in [
        ("in conflict", "a.txt", "busy\n", "one\n", "new.txt"),
        ("there already", "new.txt", "made\n", "made\n", "a.txt"),
    ] {
        let mut acp = Acp::start(patching(), "").await;
        acp.write("a.txt", "one\n");
        let path = acp.dir.join(file);
        let questions = std::sync::Mutex::new(0);
        acp.on("session/request_permission", move |_| {
            let mut questions = questions.lock().expect("whole");
            *questions += 1;
            let (text, chosen) = match *questions {
                1 => (shown, "each"),
                _ => (then, "accept"),
            };
            std::fs::write(&path, text).expect("a file");
            Some(Ok(json!({"outcome": {"outcome": "selected", "optionId": chosen}})))
        });
        let session = acp.session().await;
        let (_, reason) = acp.prompt(&session, "Go").await;
        assert_eq!(reason, "end_turn");
        let titles: Vec<_> = acp
            .asked
            .iter()
            .map(|asked| asked["params"]["toolCall"]["title"].as_str().unwrap_or_default())
            .collect();
        assert!(titles.len() == 2 && titles[1].contains(other), "{name}: {titles:?}");
        assert_eq!(acp.text(file), then, "{name}");
        let taken = if other == "a.txt" { "ONE\n" } else { "made\n" };
        assert_eq!(acp.text(other), taken, "{name}");
        let told = acp.model.requests()[1].output("c1").expect("an output");
        assert!(
            told.contains("Taken in part: 1 of 2") && told.contains("not taken"),
            "{name}: {told}"
        );
    }
}

/// What the model asks is a form where the client has forms; what an MCP server asks, too.
#[tokio::test]
async fn forms_are_filled_in() {
    let choices = json!([{"label": "File", "description": ""}, {"label": "Database", "description": ""}]);
    let questions = json!([
        {"id": "where", "header": "Store", "question": "Where?", "options": choices},
        {"id": "name", "header": "Name", "question": "How is it called?", "options": []},
    ]);
    let ask = json!({"call": {"tool": "request_user_input", "arguments": {"questions": questions}, "id": "c1"}});
    for (answer, wanted) in [
        (
            json!({"action": "accept", "content": {"choice0": "1", "words1": "shed"}}),
            true,
        ),
        (json!({"action": "decline"}), false),
        (json!({"action": "accept", "content": {"choice0": "made up"}}), false),
        (json!("accept"), false),
    ] {
        let capabilities = json!({"elicitation": {"form": {}}});
        let mut acp = Acp::able(json!([[ask], [{"say": "Done."}]]), "", capabilities).await;
        let given = answer.clone();
        acp.on("elicitation/create", move |_| Some(Ok(given.clone())));
        let session = acp.session().await;
        assert_eq!(acp.prompt(&session, "Go").await.1, "end_turn");
        let asked = &acp.asked[0]["params"];
        assert_eq!((&asked["mode"], &asked["sessionId"]), (&json!("form"), &json!(session)));
        assert_eq!(
            asked["message"],
            "The agent asks:\n> Store: Where?\n> Name: How is it called?"
        );
        let told = acp.model.requests()[1].output("c1").expect("an output");
        assert_eq!(
            told.contains("Database") && told.contains("shed"),
            wanted,
            "{answer}: {told}"
        );
    }
}
