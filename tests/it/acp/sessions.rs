//! Sessions: begun, set, listed, loaded again.

use super::client::{Acp, said};
use serde_json::{Value, json};

#[tokio::test]
async fn initialize_says_what_there_is() {
    let mut acp = Acp::connect(json!([]), "").await;
    for (version, capabilities) in [
        (json!(1), json!({})),
        (json!(99), json!({"fs": {"readTextFile": "maybe"}, "more": [1]})),
    ] {
        let answer = acp
            .call(
                "initialize",
                json!({"protocolVersion": version, "clientCapabilities": capabilities}),
            )
            .await;
        assert_eq!(answer["protocolVersion"], 1);
        assert_eq!(answer["agentCapabilities"]["loadSession"], true);
        assert_eq!(answer["agentCapabilities"]["promptCapabilities"]["image"], true);
        assert_eq!(answer["agentInfo"]["name"], "countersign");
        // The provider takes whoever comes.
        assert_eq!(answer["authMethods"], json!([]));
    }
    let none = acp.request("authenticate", json!({"methodId": "configuration"})).await;
    assert_eq!(none.expect_err("no such way")["code"], -32602);
}

/// A session's folder is no other session's: neither for commands nor for patches.
#[tokio::test]
async fn folders_belong_to_their_session() {
    // From the session's own folder: the file, which session, and whether it may be made.
    let files = [
        ("../other/a", true, false),
        ("../beside/a", true, true),
        ("a", true, true),
        ("../work/b", false, false),
        ("../beside/b", false, false),
        ("b", false, true),
    ];
    let mut script = Vec::new();
    for (file, _, _) in files {
        let touch = json!({"call": {"tool": "shell", "arguments": {"command": ["touch", file]}, "id": "c1"}});
        script.extend([json!([touch]), json!([{"say": "Done."}])]);
    }
    let patch = "*** Begin Patch\n*** Add File: ../other/p\n+made\n*** End Patch\n";
    script.push(json!([{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "c2"}}]));
    script.push(json!([{"say": "Done."}]));
    let config = "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"";
    let mut acp = Acp::start(json!(script), config).await;
    let root = acp.outside().canonicalize().expect("a path");
    let (other, beside) = (root.join("other"), root.join("beside"));
    for folder in [&other, &beside] {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    let params = json!({"cwd": acp.dir, "mcpServers": [], "additionalDirectories": [beside]});
    let first = acp.call("session/new", params).await["sessionId"].clone();
    let second = acp.call("session/new", json!({"cwd": other, "mcpServers": []})).await["sessionId"].clone();
    let (first, second) = (first.as_str().expect("an id"), second.as_str().expect("an id"));
    for (file, is_first, wanted) in files {
        let (session, cwd) = if is_first { (first, &acp.dir) } else { (second, &other) };
        let path = cwd.join(file);
        acp.prompt(session, "Go").await;
        assert_eq!(path.exists(), wanted, "{}", path.display());
    }
    acp.choose("allow_once");
    acp.prompt(first, "Go").await;
    assert!(!other.join("p").exists());
}

#[tokio::test]
async fn a_session_is_closed_and_deleted() {
    let mut acp = Acp::start(
        json!([[{"say": "One"}], [{"say": "Two", "partial": true}, {"hold": "never"}]]),
        "",
    )
    .await;
    let session = acp.session().await;
    let named = json!({"sessionId": session});
    acp.prompt(&session, "Go").await;
    let id = acp.begin_prompt(&session, "Again");
    acp.until(|update| update["content"]["text"] == "Two").await;
    // What runs is stopped.
    acp.call("session/close", named.clone()).await;
    assert_eq!(acp.answer(id).await, Ok(json!({"stopReason": "cancelled"})));
    let gone = acp
        .request("session/prompt", json!({"sessionId": session, "prompt": []}))
        .await;
    assert_eq!(gone.expect_err("closed")["code"], -32002);
    let load = json!({"sessionId": session, "cwd": acp.dir, "mcpServers": []});
    acp.call("session/load", load.clone()).await;
    acp.call("session/delete", named.clone()).await;
    assert_eq!(
        acp.request("session/load", load).await.expect_err("deleted")["code"],
        -32002
    );
    assert_eq!(acp.call("session/list", json!({})).await["sessions"], json!([]));
}

/// A client that does not read, and a long conversation that is told to it, hold nobody else up.
#[tokio::test]
async fn a_long_conversation_that_is_told_holds_up_no_stop() {
    let long = "word ".repeat(2_000);
    let say = json!([{"say": long}]);
    let mut script = vec![say; 60];
    let wait = json!({"call": {"tool": "shell", "arguments": {"command": ["bash", "-c", "exec 3>pipe; sleep 1000"]}, "id": "c1"}});
    script.push(json!([wait]));
    let mut acp = Acp::start(
        json!(script),
        "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"",
    )
    .await;
    let told = acp.session().await;
    for _ in 0..60 {
        acp.prompt(&told, "More").await;
    }
    acp.call("session/close", json!({"sessionId": told})).await;
    let session = acp.session().await;
    // It ends when the command that holds its other end does.
    let pipe = acp.dir.join("pipe");
    let status = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .expect("mkfifo");
    assert!(status.success());
    let (opened, is_open) = tokio::sync::oneshot::channel();
    let over = tokio::task::spawn_blocking(move || {
        let mut pipe = std::fs::File::open(pipe).expect("a pipe");
        opened.send(()).expect("it waits");
        std::io::Read::read_to_end(&mut pipe, &mut Vec::new()).expect("its end")
    });
    let prompt = acp.begin_prompt(&session, "Go");
    is_open.await.expect("the command runs");
    let paused = acp.stop_reading().await;
    let load = acp.begin(
        "session/load",
        json!({"sessionId": told, "cwd": acp.dir, "mcpServers": []}),
    );
    let queued = acp.begin_prompt(&told, "Too early");
    acp.notify("session/cancel", json!({"sessionId": told}));
    acp.notify("session/cancel", json!({"sessionId": session}));
    let over = tokio::time::timeout(std::time::Duration::from_secs(30), over).await;
    over.expect("the command is stopped").expect("read");
    drop(paused);
    for id in [queued, prompt] {
        assert_eq!(acp.answer(id).await, Ok(json!({"stopReason": "cancelled"})));
    }
    acp.answer(load).await.expect("loaded all the same");
    assert_eq!(
        said(&Vec::from(std::mem::take(&mut acp.updates)), "agent_message_chunk").len(),
        60 * long.len()
    );
}

/// What was not wanted any more has its answer, and what comes after it is taken.
#[tokio::test]
async fn requests_are_taken_back() {
    let script = json!([
        [{"say": "One", "partial": true}, {"hold": "never"}],
        [{"say": "Two."}],
    ]);
    let mut acp = Acp::start(script, "").await;
    let session = acp.session().await;
    let id = acp.begin_prompt(&session, "Go");
    acp.until(|update| update["content"]["text"] == "One").await;
    acp.notify("$/cancel_request", json!({"requestId": id}));
    assert_eq!(acp.answer(id).await, Ok(json!({"stopReason": "cancelled"})));
    for nobody in [
        json!({}),
        json!({"requestId": 4711}),
        json!({"requestId": id}),
        json!(null),
    ] {
        acp.notify("$/cancel_request", nobody);
    }
    assert_eq!(acp.prompt(&session, "Go").await.1, "end_turn");
}

#[tokio::test]
async fn modes_and_models_can_be_chosen() {
    let script = json!([[{"say": "One."}], [{"say": "Two."}]]);
    let mut acp = Acp::start(script, "").await;
    let prompts = acp.home.join("prompts");
    std::fs::create_dir_all(&prompts).expect("a folder");
    std::fs::write(
        prompts.join("tidy.md"),
        "---\ndescription: Tidy up\n---\nTidy $ARGUMENTS.\n",
    )
    .expect("a prompt");
    let cwd = acp.dir.clone();
    let state = acp.call("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
    let session = state["sessionId"].as_str().expect("an id").to_owned();
    assert_eq!(state["modes"]["currentModeId"], "agent");
    assert_eq!(state["models"]["currentModelId"], "rehearsal");
    let values = |options: &Value| -> Vec<(String, String)> {
        let options = options["configOptions"].as_array().expect("options").iter();
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        options
            .map(|option| (text(&option["id"]), text(&option["currentValue"])))
            .collect()
    };
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    assert_eq!(values(&state), pairs(&[("mode", "agent"), ("model", "rehearsal")]));
    let commands = acp
        .until(|update| update["sessionUpdate"] == "available_commands_update")
        .await;
    assert_eq!(commands["availableCommands"][0]["name"], "tidy");
    assert_eq!(commands["availableCommands"][0]["description"], "Tidy up");
    let names: Vec<&str> = commands["availableCommands"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|command| command["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["tidy", "compact", "context", "review", "undo", "init"]);
    acp.call("session/set_mode", json!({"sessionId": session, "modeId": "plan"}))
        .await;
    let told = acp
        .until(|update| update["sessionUpdate"] == "current_mode_update")
        .await;
    assert_eq!(told["currentModeId"], "plan");
    let told = acp
        .until(|update| update["sessionUpdate"] == "config_option_update")
        .await;
    assert_eq!(values(&told)[0].1, "plan");
    acp.call("session/set_model", json!({"sessionId": session, "modelId": "other"}))
        .await;
    acp.prompt(&session, "/tidy the shed").await;
    let option = json!({"sessionId": session, "configId": "model", "value": "third"});
    let answer = acp.call("session/set_config_option", option).await;
    assert_eq!(values(&answer), pairs(&[("mode", "plan"), ("model", "third")]));
    let option = json!({"sessionId": session, "configId": "effort", "value": "high"});
    let answer = acp.call("session/set_config_option", option).await;
    assert_eq!(values(&answer)[2], ("effort".to_owned(), "high".to_owned()));
    let option = json!({"sessionId": session, "configId": "effort", "value": "default"});
    acp.call("session/set_config_option", option).await;
    acp.prompt(&session, "Go").await;
    let requests = acp.model.requests();
    assert_eq!((requests[0].model(), requests[1].model()), ("other", "third"));
    assert!(requests[0].body.to_string().contains("Tidy the shed."));
}

#[tokio::test]
async fn a_session_is_loaded_with_all_that_was_said() {
    let script = json!([
        [{"say": "I look."}, {"call": {"tool": "shell", "arguments": {"command": ["echo", "out"]}, "id": "c1"}}],
        [{"say": "Done."}],
        [{"say": "Still here."}],
    ]);
    let mut acp = Acp::start(script, "approval_policy = \"never\"").await;
    let session = acp.session().await;
    acp.prompt(&session, "What is there?").await;
    acp.restart().await;
    let listed = acp.call("session/list", json!({"cwd": acp.dir})).await;
    assert_eq!(listed["sessions"][0]["sessionId"], *session, "{listed}");
    assert_eq!(listed["sessions"][0]["title"], "What is there?");
    let load = json!({"sessionId": session, "cwd": acp.dir, "mcpServers": []});
    let state = acp.call("session/load", load.clone()).await;
    assert_eq!(state["modes"]["currentModeId"], "never-ask");
    let updates: Vec<Value> = acp.updates.drain(..).collect();
    assert_eq!(said(&updates, "user_message_chunk"), "What is there?");
    assert_eq!(said(&updates, "agent_message_chunk"), "I look.\n\nDone.");
    let told = updates
        .iter()
        .find(|update| update["sessionUpdate"] == "tool_call")
        .expect("a call");
    assert_eq!(
        (&told["toolCallId"], &told["status"]),
        (&json!("c1"), &json!("completed"))
    );
    // Once more, while it is live: told again, and shown once from then on.
    acp.call("session/load", load).await;
    acp.updates.clear();
    let (updates, _) = acp.prompt(&session, "And now?").await;
    assert_eq!(said(&updates, "agent_message_chunk"), "Still here.");
}

/// A conversation is told again in the order in which it was said, all of it before the answer to `session/load`; resumed, it is
/// not told at all.
#[tokio::test]
async fn what_was_said_is_told_again_in_its_order() {
    let look = json!({"call": {"tool": "shell", "arguments": {"command": ["echo", "out"]}, "id": "c1"}});
    let script = json!([
        [{"think": "Let me see."}, {"say": "I look."}, look],
        [{"say": "There is out."}],
        [{"say": "Still there."}],
    ]);
    let mut acp = Acp::start(script, "approval_policy = \"never\"").await;
    let session = acp.session().await;
    for words in ["What is there?", "And now?"] {
        acp.prompt(&session, words).await;
    }
    acp.restart().await;
    let told = [
        ("user_message_chunk", "What is there?"),
        ("agent_thought_chunk", "Let me see."),
        ("agent_message_chunk", "I look."),
        ("tool_call", "c1"),
        ("agent_message_chunk", "\n\nThere is out."),
        ("user_message_chunk", "And now?"),
        ("agent_message_chunk", "Still there."),
    ];
    let of_talk = |update: &Value| {
        let kind = update["sessionUpdate"].as_str().expect("a kind").to_owned();
        let said = match kind.as_str() {
            "tool_call" => &update["toolCallId"],
            kind if kind.ends_with("_chunk") => &update["content"]["text"],
            _ => return None,
        };
        Some((kind, said.as_str().expect("text").to_owned()))
    };
    for (method, expected) in [
        ("session/load", &told[..]),
        ("session/close", &[]),
        ("session/resume", &[]),
    ] {
        acp.updates.clear();
        acp.call(method, json!({"sessionId": session, "cwd": acp.dir, "mcpServers": []}))
            .await;
        // What has come by now came before the answer.
        let seen: Vec<_> = acp.updates.iter().filter_map(of_talk).collect();
        let seen: Vec<_> = seen.iter().map(|(kind, said)| (kind.as_str(), said.as_str())).collect();
        assert_eq!(seen, expected, "{method}");
    }
}

#[tokio::test]
async fn servers_of_the_client_are_offered_to_the_model() {
    let server = json!({"tools": [crate::support::mcp::reading("child")]});
    let mut acp = Acp::start(json!([[{"say": "Yes."}]]), "").await;
    let servers = json!([named("s", &server)]);
    acp.choose("allow_once");
    let state = acp
        .call("session/new", json!({"cwd": acp.dir, "mcpServers": servers}))
        .await;
    let session = state["sessionId"].as_str().expect("an id").to_owned();
    acp.prompt(&session, "Go").await;
    let offered = acp.model.requests()[0].body["tools"].to_string();
    assert!(offered.contains("mcp__s__child"), "{offered}");
}

/// A server as a client names it.
fn named(name: &str, server: &Value) -> Value {
    let table = crate::support::mcp::program(name, server);
    let described: toml::Table = toml::from_str(&table).expect("a table");
    let described = &described["mcp_servers"][name];
    let text = |value: &toml::Value| value.as_str().expect("text").to_owned();
    let args: Vec<String> = described["args"].as_array().expect("a list").iter().map(text).collect();
    let env: Vec<Value> = described
        .get("env")
        .and_then(toml::Value::as_table)
        .into_iter()
        .flatten()
        .map(|(name, value)| json!({"name": name, "value": text(value)}))
        .collect();
    json!({"name": name, "command": text(&described["command"]), "args": args, "env": env})
}

/// One under a name of the person's is asked about as such, and gets nothing of theirs.
#[tokio::test]
async fn a_server_that_takes_a_name_of_the_persons_gets_nothing_of_theirs() {
    let server = json!({"tools": [crate::support::mcp::reading("child")]});
    let own =
        "[mcp_servers.s]\ncommand = \"countersign-no-such-program\"\nenabled = false\ndisabled_tools = [\"child\"]";
    let mut acp = Acp::start(json!([[{"say": "Yes."}]]), own).await;
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = asked.clone();
    acp.on("session/request_permission", move |params| {
        heard.lock().expect("a list").push(params.clone());
        Some(Ok(json!({"outcome": {"outcome": "selected", "optionId": "accept"}})))
    });
    let (cwd, server) = (acp.dir.clone(), named("s", &server));
    let state = acp
        .call("session/new", json!({"cwd": cwd, "mcpServers": [server]}))
        .await;
    let session = state["sessionId"].as_str().expect("an id").to_owned();
    acp.prompt(&session, "Go").await;
    let offered = acp.model.requests()[0].body["tools"].to_string();
    assert!(offered.contains("mcp__s__child"), "{offered}");
    let asked = asked.lock().expect("a list");
    assert_eq!(asked.len(), 1, "{asked:?}");
    let text = asked[0]["toolCall"]["content"].to_string();
    assert!(text.contains("takes the place of the server that you have"), "{text}");
}

/// A project's settings can name servers in some editors: none starts before the person has seen it whole and allowed it, and
/// what they said counts for that very server in that folder.
#[tokio::test]
async fn a_server_that_the_client_names_starts_by_the_persons_word_only() {
    let server = json!({"tools": [crate::support::mcp::reading("child")]});
    let turns: Vec<Value> = (0..7).map(|_| json!([{"say": "Yes."}])).collect();
    let mut acp = Acp::start(json!(turns), "").await;
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let given = named("s", &server);
    let mut changed = given.clone();
    changed["args"].as_array_mut().expect("a list").push(json!("--more"));
    let other = acp.dir.join("other");
    std::fs::create_dir(&other).expect("a folder");
    let dir = acp.dir.clone();
    let rows = [
        ("", &dir, &given, true, false),
        ("decline", &dir, &given, true, false),
        ("nonsense", &dir, &given, true, false),
        ("acceptAlways", &dir, &given, true, true),
        ("decline", &dir, &given, false, true),
        ("decline", &dir, &changed, true, false),
        ("decline", &other, &given, true, false),
    ];
    for (at, (answer, cwd, server, asks, starts)) in rows.into_iter().enumerate() {
        let heard = asked.clone();
        acp.on("session/request_permission", move |params| {
            heard.lock().expect("a list").push(params.clone());
            let outcome = match answer {
                "" => json!({"outcome": "cancelled"}),
                option => json!({"outcome": "selected", "optionId": option}),
            };
            Some(Ok(json!({"outcome": outcome})))
        });
        let state = acp
            .call("session/new", json!({"cwd": cwd, "mcpServers": [server]}))
            .await;
        let session = state["sessionId"].as_str().expect("an id").to_owned();
        acp.prompt(&session, "Go").await;
        let offered = acp.model.requests()[at].body["tools"].to_string();
        assert_eq!(offered.contains("mcp__s__child"), starts, "row {at}");
        let questions = std::mem::take(&mut *asked.lock().expect("a list"));
        assert_eq!(questions.len(), usize::from(asks), "row {at}: {questions:?}");
        if let Some(question) = questions.first() {
            let text = question["toolCall"]["content"].to_string();
            let command = server["command"].as_str().expect("text");
            assert!(text.contains(command) && text.contains("outside the sandbox"), "{text}");
        }
    }
}

/// A name that could pass for words of the question is not asked about, and one that is asked about stands there as code.
#[tokio::test]
async fn a_servers_name_says_nothing_in_its_question() {
    let long = "y".repeat(3000);
    let rows = [
        (
            "docs\". It only reads documentation, and nothing is started. Other servers are named \"x",
            None,
        ),
        ("a ![](https://example.org/opened.png) b", None),
        (long.as_str(), None),
        ("x`\n\n# hi", None),
        ("a\u{202e}b", None),
        ("docs\"x", None),
        (
            "a![](https://example.org/x.png)",
            Some("`\"a![](https://example.org/x.png)\"`"),
        ),
        ("a`b", Some("`` \"a`b\" ``")),
        ("docs", Some("`docs`")),
    ];
    let turns: Vec<Value> = rows.iter().map(|_| json!([{"say": "Yes."}])).collect();
    let mut acp = Acp::start(json!(turns), "").await;
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = asked.clone();
    acp.on("session/request_permission", move |params| {
        heard.lock().expect("a list").push(params["toolCall"].clone());
        Some(Ok(json!({"outcome": {"outcome": "cancelled"}})))
    });
    for (name, shown) in rows {
        let server = json!({"name": name, "command": "/bin/true", "args": [], "env": []});
        let new = json!({"cwd": acp.dir, "mcpServers": [server]});
        let session = acp.call("session/new", new).await["sessionId"].clone();
        let (updates, _) = acp.prompt(session.as_str().expect("an id"), "Go").await;
        let questions = std::mem::take(&mut *asked.lock().expect("a list"));
        let is_said = json!(updates).to_string().contains("is not started: its name");
        assert_eq!(
            (questions.len(), is_said),
            (usize::from(shown.is_some()), shown.is_none()),
            "{name}"
        );
        if let Some((question, shown)) = questions.first().zip(shown) {
            let text = question["content"][0]["content"]["text"].as_str().expect("text");
            assert!(text.contains(&format!("the MCP server {shown}. A project")), "{text}");
            assert_eq!(question["title"], format!("Start the MCP server {shown}"));
        }
    }
}

/// Servers that a client named once are not asked about where it loads the session without them.
#[tokio::test]
async fn servers_that_are_named_no_more_are_not_asked_about() {
    let mut acp = Acp::start(json!([[{"say": "Here."}]]), "").await;
    acp.on("session/request_permission", |_| None);
    let server = json!({"name": "s", "command": "/bin/true", "args": [], "env": []});
    let new = json!({"cwd": acp.dir, "mcpServers": [server]});
    let session = acp.call("session/new", new).await["sessionId"].clone();
    let id = session.as_str().expect("an id").to_owned();
    let prompt = acp.begin_prompt(&id, "Go");
    acp.until_asked("session/request_permission").await;
    acp.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(acp.answer(prompt).await, Ok(json!({"stopReason": "cancelled"})));
    let load = json!({"sessionId": session, "cwd": acp.dir, "mcpServers": []});
    acp.call("session/load", load).await;
    assert_eq!(acp.prompt(&id, "Go").await.1, "end_turn");
    let asked = acp
        .asked
        .iter()
        .filter(|asked| asked["method"] == "session/request_permission");
    assert_eq!(asked.count(), 0);
}
