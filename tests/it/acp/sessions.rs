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
        assert!(answer["authMethods"][0]["id"].is_string());
    }
    assert_eq!(
        acp.call("authenticate", json!({"methodId": "configuration"})).await,
        json!({})
    );
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
    assert_eq!(state["configOptions"][0]["currentValue"], "rehearsal");
    let commands = acp
        .until(|update| update["sessionUpdate"] == "available_commands_update")
        .await;
    assert_eq!(commands["availableCommands"][0]["name"], "tidy");
    assert_eq!(commands["availableCommands"][0]["description"], "Tidy up");
    acp.call("session/set_mode", json!({"sessionId": session, "modeId": "plan"}))
        .await;
    let told = acp
        .until(|update| update["sessionUpdate"] == "current_mode_update")
        .await;
    assert_eq!(told["currentModeId"], "plan");
    acp.call("session/set_model", json!({"sessionId": session, "modelId": "other"}))
        .await;
    acp.prompt(&session, "/tidy the shed").await;
    let option = json!({"sessionId": session, "configId": "model", "value": "third"});
    let answer = acp.call("session/set_config_option", option).await;
    assert_eq!(answer["configOptions"][0]["currentValue"], "third");
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
    assert_eq!(state["modes"]["currentModeId"], "agent");
    let updates: Vec<Value> = acp.updates.drain(..).collect();
    assert_eq!(said(&updates, "user_message_chunk"), "What is there?");
    assert_eq!(said(&updates, "agent_message_chunk"), "I look.Done.");
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

#[tokio::test]
async fn servers_of_the_client_are_offered_to_the_model() {
    let server = json!({"tools": [crate::support::mcp::reading("child")]});
    let mut acp = Acp::start(json!([[{"say": "Yes."}]]), "").await;
    let table = crate::support::mcp::program("s", &server);
    let described: toml::Table = toml::from_str(&table).expect("a table");
    let described = &described["mcp_servers"]["s"];
    let text = |value: &toml::Value| value.as_str().expect("text").to_owned();
    let args: Vec<String> = described["args"].as_array().expect("a list").iter().map(text).collect();
    let env: Vec<Value> = described
        .get("env")
        .and_then(toml::Value::as_table)
        .into_iter()
        .flatten()
        .map(|(name, value)| json!({"name": name, "value": text(value)}))
        .collect();
    let servers = json!([{"name": "s", "command": text(&described["command"]), "args": args, "env": env}]);
    let state = acp
        .call("session/new", json!({"cwd": acp.dir, "mcpServers": servers}))
        .await;
    let session = state["sessionId"].as_str().expect("an id").to_owned();
    acp.prompt(&session, "Go").await;
    let offered = acp.model.requests()[0].body["tools"].to_string();
    assert!(offered.contains("mcp__s__child"), "{offered}");
}
