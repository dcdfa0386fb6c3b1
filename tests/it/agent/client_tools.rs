//! Tools that the client brings along: declared, called by request, and never the end of a turn.

use super::patch::{files, patch, update};
use super::stage::{Setting, Stage, plugin, say};
use crate::support::client::Reply;
use countersign::workspace::uri;
use serde_json::{Value, json};

const CALL: &str = "countersign/tool/call";

fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": "Finds a definition.",
        "inputSchema": {"type": "object", "properties": {"symbol": {"type": "string"}}, "required": ["symbol"]},
    })
}

fn calls(id: &str, tool: &str) -> Value {
    json!({"call": {"tool": tool, "arguments": {"symbol": "total"}, "id": id}})
}

fn text(text: &str) -> Value {
    json!({"contentItems": [{"type": "inputText", "text": text}], "success": true})
}

async fn declared(script: Value, setting: Setting) -> (Stage, String) {
    let stage = Stage::with(script, setting).await;
    let started = stage
        .start_thread(json!({"dynamicTools": [tool("find_definition")]}))
        .await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    (stage, thread)
}

/// Shows S-425.
#[tokio::test]
async fn the_client_carries_out_what_it_declared_and_the_model_gets_its_answer() {
    for wire_api in ["responses", "chat"] {
        let script = json!([[calls("c1", "find_definition")], [say("Found.")]]);
        let setting = Setting {
            provider: format!("wire_api = \"{wire_api}\""),
            ..Setting::default()
        };
        let (stage, thread) = declared(script, setting).await;
        stage.client.on_request(CALL, |_| Reply::Later);
        let turn = stage.start_turn(&thread, "Where is it?").await;
        let asked = stage.client.expect_request(CALL).await;
        assert_eq!(
            asked.params,
            json!({
                "threadId": thread, "turnId": turn, "callId": "c1", "tool": "find_definition",
                "arguments": {"symbol": "total"},
            })
        );
        // While it is open the server answers as ever.
        stage.client.settle().await;
        let image = "data:image/png;base64,iVBORw0KGgo=";
        let content = json!([{"type": "inputText", "text": "src/lib.rs:4"}, {"type": "inputImage", "imageUrl": image}]);
        stage
            .client
            .answer(&asked, Ok(json!({"contentItems": content, "success": true})));
        let story = stage.finish(&turn).await;
        assert_eq!(story.status(), "completed");
        let requests = stage.requests(2);
        assert!(
            requests[0].tools().contains(&"find_definition".to_owned()),
            "{wire_api}"
        );
        assert!(requests[1].output("c1").expect("an output").contains("src/lib.rs:4"));
        assert!(
            requests[1].body.to_string().contains(image),
            "{wire_api}: the image is missing"
        );
        let item = story.item("toolCall");
        assert_eq!(
            (&item["tool"], &item["status"]),
            (&json!("find_definition"), &json!("completed"))
        );
    }
}

/// Shows S-426.
#[tokio::test]
async fn whatever_fails_is_an_output_and_the_turn_goes_on() {
    for (name, reply, part) in [
        (
            "it says so",
            Reply::Ok(json!({"contentItems": [{"type": "inputText", "text": "no such symbol"}], "success": false})),
            "no such symbol",
        ),
        (
            "without a word",
            Reply::Ok(json!({"contentItems": [], "success": false})),
            "did not say why",
        ),
        (
            "an error",
            Reply::Error(-32000, "the index is not ready"),
            "the index is not ready",
        ),
        ("no method", Reply::Error(-32601, "no such method"), "no such method"),
        ("null", Reply::Ok(json!(null)), "cannot be understood"),
        ("another shape", Reply::Ok(json!({"text": "x"})), "cannot be understood"),
        ("a list", Reply::Ok(json!([])), "cannot be understood"),
        (
            "content of another kind",
            Reply::Ok(json!({"contentItems": [{"type": "video"}], "success": true})),
            "cannot be understood",
        ),
        (
            "success missing",
            Reply::Ok(json!({"contentItems": []})),
            "cannot be understood",
        ),
    ] {
        let script = json!([[calls("c1", "find_definition")], [say("I see.")]]);
        let (stage, thread) = declared(script, Setting::default()).await;
        stage.client.on_request(CALL, move |_| reply.clone());
        let story = stage.complete(&thread, "Go").await;
        let output = stage.requests(2)[1].output("c1").expect("an output");
        assert!(output.contains(part), "{name}: {output}");
        assert_eq!(story.item("toolCall")["status"], "failed", "{name}");
    }
}

/// Shows S-426.
#[tokio::test]
async fn a_client_that_never_answers_is_not_waited_for_longer_than_configured() {
    let script = json!([[calls("c1", "find_definition")], [say("I go on.")]]);
    let setting = Setting {
        config: "dynamic_tool_timeout_sec = 4".into(),
        ..Setting::default()
    };
    let (stage, thread) = declared(script, setting).await;
    stage.client.on_request(CALL, |_| Reply::Later);
    let turn = stage.start_turn(&thread, "Go").await;
    let asked = stage.client.expect_request(CALL).await;
    stage.client.expect_withdrawn(&asked).await;
    stage.client.answer(&asked, Ok(text("too late")));
    assert_eq!(stage.finish(&turn).await.status(), "completed");
    let output = stage.requests(2)[1].output("c1").expect("an output");
    assert!(
        output.contains("within 4 seconds") && !output.contains("too late"),
        "{output}"
    );
}

/// Shows S-426.
#[tokio::test]
async fn a_stopped_turn_takes_the_call_back() {
    let script = json!([[calls("c1", "find_definition")], [say("Again.")]]);
    let (stage, thread) = declared(script, Setting::default()).await;
    stage.client.on_request(CALL, |_| Reply::Later);
    let turn = stage.start_turn(&thread, "Go").await;
    let asked = stage.client.expect_request(CALL).await;
    stage.interrupt(&thread).await;
    assert_eq!(stage.finish(&turn).await.status(), "interrupted");
    stage.client.expect_withdrawn(&asked).await;
    stage.client.answer(&asked, Ok(text("too late")));
    stage.complete(&thread, "Again").await;
    let output = stage.requests(2)[1].output("c1").expect("an output");
    assert!(output.contains("stopped") && !output.contains("too late"), "{output}");
}

#[tokio::test]
async fn declarations_that_cannot_be_meant_are_refused_and_leave_no_thread() {
    let stage = Stage::new(json!([])).await;
    for (tools, part) in [
        (json!([tool("shell")]), "itself"),
        (json!([tool("mcp__x__y")]), "MCP servers"),
        (json!([tool("two words")]), "letters"),
        (json!([tool("a"), tool("a")]), "this name"),
        (
            json!([{"name": "a", "description": "", "inputSchema": []}]),
            "not a JSON object",
        ),
        (
            json!([{"name": "a", "description": "", "inputSchema": {"type": "string"}}]),
            "another type",
        ),
    ] {
        let params = json!({ "dynamicTools": tools });
        let error = stage
            .client
            .request("countersign/thread/start", params)
            .await
            .expect_err(part);
        assert_eq!((error.code, &error.data["kind"]), (-32602, &json!("invalidParams")));
        assert!(error.message.contains(part), "{}", error.message);
    }
    let list = stage
        .client
        .call("countersign/thread/list", json!({"modelProviders": []}))
        .await;
    assert_eq!(list["data"], json!([]));
}

/// A thread that goes on has the tools it was started with where the same program goes on with it, and those of the request
/// where that names any.
#[tokio::test]
async fn a_resumed_thread_knows_the_tools_it_was_started_with() {
    let script = json!([[say("One.")]]);
    let (stage, thread) = declared(script, Setting::default()).await;
    stage.complete(&thread, "Go").await;
    let meta = stage.rollout(&thread)[0]["payload"].clone();
    assert_eq!(meta["dynamic_tools"][0]["name"], "find_definition");
    assert_eq!(meta["dynamic_tools"][0]["inputSchema"]["required"], json!(["symbol"]));
    let home = tempfile::tempdir().expect("a folder");
    let from = stage.client.home().join(".");
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(home.path())
        .status();
    assert!(copied.expect("cp").success());
    let (dir, folder) = (stage.dir.clone(), stage.end());
    for (dynamic_tools, expected) in [
        (None, Some("find_definition")),
        (Some(json!([tool("find_uses")])), Some("find_uses")),
        (Some(json!([])), None),
    ] {
        let setting = Setting {
            home: Some(home.path().to_owned()),
            folder: Some(dir.clone()),
            ..Setting::default()
        };
        let stage = Stage::with(json!([[say("Two.")]]), setting).await;
        let mut params = json!({ "threadId": thread });
        if let Some(tools) = dynamic_tools {
            params["dynamicTools"] = tools;
        }
        stage.resume(params).await;
        stage.complete(&thread, "Go on").await;
        let offered = stage.requests(1)[0].tools();
        let found: Vec<_> = offered.iter().filter(|name| name.starts_with("find_")).collect();
        assert_eq!(found, Vec::from_iter(expected));
    }
    drop(folder);
}

/// Shows S-425.
#[tokio::test]
async fn what_is_kept_from_the_model_is_left_out_of_an_answer() {
    let script = json!([[calls("c1", "find_definition")], [say("Found.")]]);
    let (stage, thread) = declared(script, Setting::default()).await;
    stage.write(".countersignignore", "secret/\n");
    stage.write("secret/keys.py", "KEY = 1\n");
    let content = json!([
        {"type": "inputText", "text": "a.py:1: total", "paths": [stage.path("a.py")]},
        {"type": "inputText", "text": "secret/keys.py:1: KEY", "paths": [stage.path("secret/keys.py")]},
        {"type": "inputText", "text": "a.py:2: by its name", "paths": ["a.py", "secret/keys.py"]},
    ]);
    stage.client.on_request(CALL, move |_| {
        Reply::Ok(json!({"contentItems": content, "success": true}))
    });
    let story = stage.run(&thread, "Where is it?").await;
    assert_eq!(story.status(), "completed");
    let requests = stage.requests(2);
    let output = requests[1].output("c1").expect("an output");
    assert!(
        output.contains("a.py:1: total") && output.contains("2 pieces left out"),
        "{output}"
    );
    assert!(!output.contains("keys") && !output.contains("by its name"), "{output}");
}

/// Shows S-425.
#[tokio::test]
async fn a_change_in_an_answer_is_a_proposal_of_the_thread() {
    for (file, kept, part) in [
        ("a.py", "", "a.py"),
        ("a.py", "a.py\n", "kept from you"),
        ("missing.py", "", "not proposed"),
    ] {
        let script = json!([[calls("c1", "find_definition")], [say("Renamed.")]]);
        let (stage, thread) = declared(script, Setting::default()).await;
        stage.write("a.py", "totl = 1\n");
        stage.write(".countersignignore", kept);
        let patch = format!("*** Begin Patch\n*** Update File: {file}\n@@\n-totl = 1\n+total = 1\n*** End Patch\n");
        let answer = json!({"contentItems": [{"type": "patch", "patch": patch}], "success": true});
        stage.client.on_request(CALL, move |_| Reply::Ok(answer.clone()));
        let turn = stage.start_turn(&thread, "Rename it.").await;
        let is_proposed = part == "a.py";
        if is_proposed {
            let story = stage.until_event("proposal/created").await;
            let proposal = &story.last()["proposal"];
            assert_ne!(proposal["itemId"], json!("c1"), "the call has an item of its own");
            assert_eq!(stage.text("a.py"), "totl = 1\n");
            stage
                .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
                .await;
        }
        assert_eq!(stage.finish(&turn).await.status(), "completed");
        let requests = stage.requests(2);
        let output = requests[1].output("c1").expect("an output");
        assert!(output.contains(part), "{file} {kept:?}: {output}");
        assert_eq!(stage.text("a.py") == "total = 1\n", is_proposed);
    }
}

/// A move makes a file and a copy shows one: both names of either are looked at.
#[tokio::test]
async fn a_change_that_moves_or_copies_a_kept_file_is_not_proposed() {
    let moved = patch("*** Update File: a.py\n*** Move to: secret.py\n@@\n-total = 1\n+total = 2");
    let copied = "diff --git a/secret.py b/b.py\nsimilarity index 100%\ncopy from secret.py\ncopy to b.py\n".to_owned();
    for change in [moved, copied] {
        let script = json!([[calls("c1", "find_definition")], [say("I see.")]]);
        let (stage, thread) = declared(script, Setting::default()).await;
        stage.write("a.py", "total = 1\n");
        stage.write("secret.py", "hush = 1\n");
        stage.write(".countersignignore", "secret.py\n");
        let answer = json!({"contentItems": [{"type": "patch", "patch": change}], "success": true});
        stage.client.on_request(CALL, move |_| Reply::Ok(answer.clone()));
        let story = stage.complete(&thread, "Go").await;
        assert!(!story.names().contains(&"proposal/created"), "{change}: {story:#?}");
        let output = stage.requests(2)[1].output("c1").expect("an output");
        assert!(output.contains("kept from you"), "{change}: {output}");
    }
}

/// A change that a tool comes to is a proposal like any other: the person decides, and the model hears what was taken.
#[tokio::test]
async fn a_change_that_a_tool_comes_to_is_a_proposal_of_the_thread() {
    let rename = json!({"contentItems": [{"type": "inputText", "text": "total is renamed to sum in 1 file."},
        {"type": "patch", "patch": patch(&update("a.txt", "total", "sum"))}], "success": true});
    for (decision, part, text) in [("accept", "Success", "sum\n"), ("reject", "rejected", "total\n")] {
        let script = json!([[calls("c1", "rename")], [say("So be it.")]]);
        let stage = Stage::with(script, files(&[("a.txt", "total\n")])).await;
        let started = stage.start_thread(json!({"dynamicTools": [tool("rename")]})).await;
        let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
        let answer = rename.clone();
        stage.client.on_request(CALL, move |_| Reply::Ok(answer.clone()));
        let turn = stage.start_turn(&thread, "Rename it").await;
        let story = stage.until_event("proposal/created").await;
        let proposal = story.last()["proposal"].clone();
        assert_eq!(
            stage.text("a.txt"),
            "total\n",
            "nothing is changed before it is decided"
        );
        stage
            .decide(json!({"proposalId": proposal["id"], "decision": decision}))
            .await;
        let story = stage.finish(&turn).await;
        assert_eq!(story.status(), "completed");
        assert_eq!(stage.text("a.txt"), text);
        let change = story.item("fileChange");
        assert_eq!(change["proposalId"], proposal["id"]);
        assert_ne!(change["id"], "c1", "the call's item is another");
        let output = stage.requests(2)[1].output("c1").expect("an output");
        assert!(
            output.contains("renamed to sum") && output.contains(part),
            "{decision}: {output}"
        );
    }
}

/// A call that runs beside others, or that failed, changes nothing.
#[tokio::test]
async fn a_tool_that_only_reads_or_fails_proposes_nothing() {
    for (read_only, success, part) in [(true, true, "only reads"), (false, false, "no such name")] {
        let script = json!([[calls("c1", "rename")], [say("I see.")]]);
        let stage = Stage::with(script, files(&[("a.txt", "total\n")])).await;
        let mut declared = tool("rename");
        declared["readOnly"] = json!(read_only);
        let started = stage.start_thread(json!({"dynamicTools": [declared]})).await;
        let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
        let answer = json!({"contentItems": [{"type": "inputText", "text": "no such name"},
            {"type": "patch", "patch": patch(&update("a.txt", "total", "sum"))}], "success": success});
        stage.client.on_request(CALL, move |_| Reply::Ok(answer.clone()));
        let story = stage.complete(&thread, "Rename it").await;
        assert!(!story.names().contains(&"proposal/created"), "{story:#?}");
        assert_eq!(stage.text("a.txt"), "total\n");
        let output = stage.requests(2)[1].output("c1").expect("an output");
        assert!(output.contains(part), "{output}");
    }
}

/// The client asks before a tool of its own shows the model a file.
#[tokio::test]
async fn the_client_is_told_what_is_kept_from_the_model() {
    let given = [
        (".countersignignore", "hidden/\n*.key\n"),
        ("hidden/a.txt", "x"),
        ("b.key", "x"),
        ("c.txt", "x"),
    ];
    let stage = Stage::with(json!([]), files(&given)).await;
    std::os::unix::fs::symlink(stage.path("b.key"), stage.path("link.txt")).expect("a link");
    let thread = stage.thread().await;
    let ask = |paths: Value| json!({"threadId": thread, "paths": paths});
    let paths = ["hidden/a.txt", "b.key", "c.txt", "link.txt", "none.txt"].map(|name| stage.path(name));
    let told = stage.client.call("countersign/file/readable", ask(json!(paths))).await;
    let refused = told["refused"].as_array().expect("a list");
    let names: Vec<&Value> = refused.iter().map(|one| &one["path"]).collect();
    assert_eq!(names, [&json!(paths[0]), &json!(paths[1]), &json!(paths[3])]);
    let reason = refused[0]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("kept from you") && reason.contains(".countersignignore"),
        "{reason}"
    );
    for (params, kind) in [
        (ask(json!(["relative.txt"])), "invalidParams"),
        (ask(json!(vec!["/x"; 10_001])), "invalidParams"),
        (ask(json!([])), "invalidParams"),
        (json!({"threadId": "none", "paths": ["/x"]}), "threadNotLoaded"),
    ] {
        let error = stage
            .client
            .request("countersign/file/readable", params)
            .await
            .expect_err(kind);
        assert_eq!(error.data["kind"], kind, "{}", error.message);
    }
}

/// A thread that a command begins has the tools that the client said at the start.
#[tokio::test]
async fn threads_of_commands_have_the_clients_tools() {
    let mut caps = plugin();
    caps["experimental"]["countersign"]["tools"] = json!([tool("find_definition")]);
    let setting = Setting {
        caps,
        ..files(&[("a.txt", "total\n")])
    };
    let stage = Stage::with(json!([[say("Done.")]]), setting).await;
    let place = json!({"uri": uri::from_path(&stage.path("a.txt")), "lines": {"start": 0, "end": 1}});
    let params = json!({"command": "countersign.fix", "arguments": [place]});
    stage.client.call("workspace/executeCommand", params).await;
    stage.until_event("turn/completed").await;
    assert!(stage.requests(1)[0].tools().contains(&"find_definition".to_owned()));
}
