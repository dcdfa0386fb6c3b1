//! Threads whose MCP servers cannot be made at all.

use super::stage::{Setting, Stage, Story, say};
use crate::support::mcp::{program, reading};
use serde_json::{Value, json};

async fn stage(config: &str, tables: &str) -> Stage {
    let setting = Setting {
        config: config.to_owned(),
        tables: tables.to_owned(),
        ..Setting::default()
    };
    Stage::with(json!([[say("Done.")]]), setting).await
}

fn errors(story: &Story) -> Vec<&Value> {
    story.all("error").into_iter().map(|params| &params["error"]).collect()
}

/// Shows S-013.
#[tokio::test]
async fn a_configuration_of_servers_that_is_none_is_one_error_and_the_turn_works() {
    for (config, tables) in [
        ("mcp_servers = 3", ""),
        ("mcp_servers = \"docs\"", ""),
        ("mcp_servers = []", ""),
        ("", "[[mcp_servers]]\ncommand = \"docs\""),
    ] {
        let stage = stage(config, tables).await;
        let thread = stage.thread().await;
        let story = stage.complete(&thread, "Go").await;
        let errors = errors(&story);
        assert_eq!(errors.len(), 1, "{config}{tables}: {errors:?}");
        assert_eq!(errors[0]["kind"], "toolServerFailed");
        let message = errors[0]["message"].as_str().expect("words");
        for part in ["without the MCP servers", "`mcp_servers` must be", "config.toml:"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert_eq!(story.count("mcp/status"), 0);
        let offered = stage.requests(1)[0].tools();
        assert!(offered.contains(&"exec_command".to_owned()), "{offered:?}");
        assert!(offered.iter().all(|name| !name.contains("mcp")), "{offered:?}");
    }
}

/// One that is described badly is that one's affair.
#[tokio::test]
async fn a_server_that_is_none_leaves_the_others() {
    let good = program("good", &json!({"tools": [reading("look")]}));
    let stage = stage("mcp_servers.bad = 3", &good).await;
    let thread = stage.thread().await;
    let ready = |method: &str, params: &Value| method == "mcp/status" && params["status"] == "ready";
    let mut story = stage.until(ready).await;
    story.events.extend(stage.complete(&thread, "Go").await.events);
    assert_eq!(errors(&story), Vec::<&Value>::new());
    let offered = stage.requests(1)[0].tools();
    assert!(offered.contains(&"mcp__good__look".to_owned()), "{offered:?}");
}

/// Settings that broke while a thread runs take nothing from it.
#[tokio::test]
async fn a_refresh_that_finds_none_leaves_those_that_are_there() {
    let good = program("good", &json!({"tools": [reading("look")]}));
    let stage = stage("", &good).await;
    let thread = stage.thread().await;
    stage
        .until(|method, params| method == "mcp/status" && params["status"] == "ready")
        .await;
    let file = stage.client.home().join("config.toml");
    let text = std::fs::read_to_string(&file).expect("a configuration");
    let broken: String = text
        .lines()
        .take_while(|line| !line.starts_with("[mcp_servers"))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&file, format!("mcp_servers = 3\n{broken}")).expect("a file");
    stage
        .client
        .call("countersign/mcp/refresh", json!({"threadId": thread}))
        .await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(errors(&story).len(), 1, "{story:#?}");
    let offered = stage.requests(1)[0].tools();
    assert!(offered.contains(&"mcp__good__look".to_owned()), "{offered:?}");
}
