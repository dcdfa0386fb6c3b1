//! MCP servers: real ones, as programs and over HTTP, scripted to be as good or as bad as servers are.

use super::stage::{Setting, Stage, eventually, say};
use crate::support::client::{Client, Reply, ServerOptions};
use crate::support::mcp::{Web, program, reading, tool};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A call of a tool.
fn call(id: &str, tool: &str, arguments: Value) -> Value {
    json!({"call": {"tool": tool, "arguments": arguments, "id": id}})
}

async fn stage(tables: String, script: Value) -> Stage {
    configured("", tables, script).await
}

async fn configured(config: &str, tables: String, script: Value) -> Stage {
    let setting = Setting {
        config: config.to_owned(),
        tables,
        ..Setting::default()
    };
    Stage::with(script, setting).await
}

/// A thread whose servers are all ready.
async fn ready(stage: &Stage, servers: usize) -> String {
    let thread = stage.thread().await;
    settled(stage, servers, "ready").await;
    thread
}

/// Reads on until so many servers have said that they are so.
async fn settled(stage: &Stage, mut servers: usize, status: &str) {
    while servers > 0 {
        let (method, params) = stage.next().await;
        if method == "mcp/status" && params["status"] == status {
            servers -= 1;
        }
    }
}

fn output(stage: &Stage, request: usize, id: &str) -> String {
    let requests = stage.model.requests();
    requests[request]
        .output(id)
        .unwrap_or_else(|| panic!("no output of {id}"))
}

/// The text of an output that is a list of blocks.
fn text(output: &str) -> String {
    let blocks: Value = serde_json::from_str(output).unwrap_or_else(|error| panic!("{error}: {output}"));
    blocks[0]["text"].as_str().unwrap_or_default().to_owned()
}

/// Shows S-276, S-279, S-280, S-184.
#[tokio::test]
async fn tools_of_two_servers_are_offered_and_called_apart() {
    let one = json!({"tools": [reading("same"), reading("fail"), reading("refuse")]});
    let two = json!({"tools": [reading("same"), reading("odd.name here")]});
    let script = json!([
        [
            call("c1", "mcp__one__same", json!({"a": 1})),
            call("c2", "mcp__two__same", json!({"a": 2})),
            call("c3", "mcp__one__fail", json!({})),
            call("c4", "mcp__one__refuse", json!({})),
            call("c5", "mcp__two__odd_name_here", json!({})),
        ],
        [say("done")],
    ]);
    let stage = stage(program("one", &one) + &program("two", &two), script).await;
    let thread = ready(&stage, 2).await;
    let story = stage.complete(&thread, "Go").await;
    let offered = stage.requests(2)[0].tools();
    for name in [
        "mcp__one__same",
        "mcp__two__same",
        "mcp__one__fail",
        "mcp__two__odd_name_here",
        "exec_command",
    ] {
        assert_eq!(
            offered.iter().filter(|known| *known == name).count(),
            1,
            "{name} in {offered:?}"
        );
    }
    assert!(!offered.iter().any(|name| name.contains("resource")), "{offered:?}");
    assert_eq!(text(&output(&stage, 1, "c1")), r#"same {"a":1}"#);
    assert_eq!(text(&output(&stage, 1, "c2")), r#"same {"a":2}"#);
    assert!(output(&stage, 1, "c3").contains("it went wrong"));
    assert!(output(&stage, 1, "c4").contains("not today"));
    assert_eq!(text(&output(&stage, 1, "c5")), "odd.name here {}");
    let started = story
        .all("item/started")
        .into_iter()
        .filter(|item| item["item"]["type"] == "mcpToolCall");
    assert_eq!(started.count(), 5);
    let mut items = story.items("mcpToolCall");
    items.sort_by_key(|item| item["id"].as_str().map(str::to_owned));
    let shown: Vec<_> = items
        .iter()
        .map(|item| [&item["server"], &item["tool"], &item["status"]].map(|value| value.as_str().unwrap_or_default()))
        .collect();
    assert_eq!(
        shown,
        [
            ["one", "same", "completed"],
            ["two", "same", "completed"],
            ["one", "fail", "failed"],
            ["one", "refuse", "failed"],
            ["two", "odd.name here", "completed"],
        ]
    );
    assert_eq!(items[0]["arguments"], json!({"a": 1}));
    assert_eq!(items[0]["result"]["content"][0]["text"], r#"same {"a":1}"#);
    assert!(items[0]["durationMs"].is_u64() && items[0]["readOnly"] == true);
    assert!(
        items[3]["error"]
            .as_str()
            .is_some_and(|error| error.contains("not today"))
    );
}

/// Shows S-202, S-203.
#[tokio::test]
async fn results_reach_the_model_as_what_they_are_by_both_wires() {
    let tools = ["structured", "null_structured", "fail", "image", "odd", "large"].map(reading);
    let server = json!({"tools": tools});
    let calls = ["structured", "null_structured", "fail", "image", "odd", "large"];
    let calls: Vec<_> = calls
        .iter()
        .map(|name| call(name, &format!("mcp__s__{name}"), json!({})))
        .collect();
    for wire in ["responses", "chat"] {
        let setting = Setting {
            tables: program("s", &server),
            provider: format!("wire_api = \"{wire}\""),
            ..Setting::default()
        };
        let stage = Stage::with(json!([calls, [say("done")]]), setting).await;
        let thread = ready(&stage, 1).await;
        let story = stage.complete(&thread, "Go").await;
        assert_eq!(output(&stage, 1, "structured"), r#"{"sum":3}"#);
        assert_eq!(text(&output(&stage, 1, "null_structured")), "plain");
        assert!(output(&stage, 1, "fail").contains("it went wrong"));
        assert!(
            output(&stage, 1, "odd").contains("seen"),
            "{wire}: {}",
            output(&stage, 1, "odd")
        );
        assert!(output(&stage, 1, "large").len() < 70_000);
        let body = stage.requests(2)[1].body.to_string();
        assert!(body.contains("data:image/png;base64,iVBORw0KGgo="), "{wire}");
        let statuses: Vec<_> = story
            .items("mcpToolCall")
            .iter()
            .map(|item| item["status"].clone())
            .collect();
        assert_eq!(
            statuses.iter().filter(|status| **status == "failed").count(),
            1,
            "{statuses:?}"
        );
    }
}

/// Shows S-173.
#[tokio::test]
async fn a_server_has_the_network_and_a_small_environment() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let server = json!({"tools": [reading("connect"), reading("env"), reading("child")]});
    let table = program("s", &server);
    let table = table.replace(
        "[mcp_servers.s.env]",
        "env_vars = [\"ASKED\", \"ACME_KEY\"]\n[mcp_servers.s.env]\nSET = \"here\"",
    );
    let script = json!([
        [
            call("c1", "mcp__s__connect", json!({"address": address})),
            call("c2", "mcp__s__env", json!({})),
        ],
        [say("done")],
    ]);
    let setting = |env_key: &str| Setting {
        config: "sandbox_mode = \"read-only\"".to_owned(),
        tables: table.clone(),
        provider: env_key.to_owned(),
        env: [("ASKED", "yes"), ("OTHER", "no"), ("ACME_KEY", "sk-secret")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        ..Setting::default()
    };
    let stage = Stage::with(script.clone(), setting("")).await;
    let thread = ready(&stage, 1).await;
    stage.complete(&thread, "Go").await;
    assert_eq!(text(&output(&stage, 1, "c1")), "connected");
    let env: Value = serde_json::from_str(&text(&output(&stage, 1, "c2"))).expect("JSON");
    assert_eq!((&env["SET"], &env["ASKED"]), (&json!("here"), &json!("yes")));
    assert!(env["PATH"].is_string() && env["OTHER"].is_null(), "{env}");
    assert_eq!(
        env["ACME_KEY"], "sk-secret",
        "the person named it, and no provider has it"
    );
    // The key of a provider is given to no server.
    let stage = Stage::with(json!([[say("done")]]), setting("env_key = \"ACME_KEY\"")).await;
    stage.thread().await;
    let failed = stage.until(|method, _| method == "error").await;
    let message = failed.last()["error"]["message"].as_str().expect("words");
    assert!(
        message.contains("ACME_KEY") && !message.contains("sk-secret"),
        "{message}"
    );
}

/// Shows S-007, S-285, S-450.
#[tokio::test]
async fn a_broken_server_is_told_of_once_and_harms_nothing_else() {
    let good = json!({"tools": [reading("fine"), {"title": "no name"}, {"name": "bare"}]});
    let bad = json!({"exit": 4, "stderr": "no licence found"});
    let tables =
        program("good", &good) + &program("bad", &bad) + "[mcp_servers.gone]\ncommand = \"/no/such/program\"\n";
    let script = json!([[call("c1", "mcp__good__fine", json!({}))], [say("done")]]);
    let stage = stage(tables, script).await;
    let thread = stage.thread().await;
    let mut errors = Vec::new();
    let (mut good, mut failed) = (false, 0);
    while !good || failed < 2 || errors.len() < 2 {
        let (method, params) = stage.next().await;
        match method.as_str() {
            "error" => errors.push(params["error"]["message"].as_str().expect("words").to_owned()),
            "mcp/status" => {
                good |= params["server"] == "good" && params["status"] == "ready";
                failed += usize::from(params["status"] == "failed");
            }
            other => panic!("{other} {params}"),
        }
    }
    errors.sort();
    assert!(
        errors[0].contains("MCP server bad") && errors[0].contains("exit code 4"),
        "{errors:?}"
    );
    assert!(errors[0].contains("no licence found"), "{errors:?}");
    assert!(
        errors[1].contains("MCP server gone") && errors[1].contains("/no/such/program"),
        "{errors:?}"
    );
    stage.complete(&thread, "Go").await;
    let offered = stage.requests(2)[0].tools();
    let ours: Vec<_> = offered.iter().filter(|name| name.starts_with("mcp__")).collect();
    assert_eq!(ours, ["mcp__good__fine", "mcp__good__bare"]);
    assert!(output(&stage, 1, "c1").contains("fine"));
    let log = std::fs::read_to_string(stage.client.home().join("log/countersign.log")).expect("a log");
    let lines = log
        .lines()
        .filter(|line| line.contains("an MCP server did not start server=bad"));
    assert_eq!(lines.count(), 1, "{log}");
    assert!(
        !log.contains("no licence found"),
        "what a server says is no business of the log's"
    );
}

/// Shows S-278.
#[tokio::test]
async fn tools_are_offered_as_the_configuration_says() {
    let tools = ["a", "b", "c", "hang"].map(reading);
    let server = json!({"tools": tools, "page": 2});
    let limits =
        |keys: &str| program("s", &server).replace("[mcp_servers.s.env]", &format!("{keys}\n[mcp_servers.s.env]"));
    for (keys, expected) in [
        ("", vec!["a", "b", "c", "hang"]),
        ("enabled_tools = [\"a\", \"b\", \"zzz\"]", vec!["a", "b"]),
        ("disabled_tools = [\"a\"]", vec!["b", "c", "hang"]),
        ("enabled_tools = [\"a\", \"b\"]\ndisabled_tools = [\"b\"]", vec!["a"]),
    ] {
        let script = json!([[call("c1", "mcp__s__b", json!({}))], [say("done")]]);
        let stage = stage(limits(keys), script).await;
        let thread = ready(&stage, 1).await;
        stage.complete(&thread, "Go").await;
        let offered = stage.requests(2)[0].tools();
        let ours: Vec<_> = offered
            .iter()
            .filter_map(|name| name.strip_prefix("mcp__s__"))
            .collect();
        assert_eq!(ours, expected, "{keys}");
        let answer = output(&stage, 1, "c1");
        assert_eq!(
            answer.contains("unsupported call"),
            !expected.contains(&"b"),
            "{answer}"
        );
    }
    // One that is switched off is not there at all.
    let off = stage(limits("enabled = false"), json!([[say("done")]])).await;
    let thread = off.thread().await;
    let story = off.complete(&thread, "Go").await;
    assert_eq!(story.count("mcp/status"), 0);
    // A call that takes too long.
    let script = json!([[call("c1", "mcp__s__hang", json!({}))], [say("done")]]);
    let slow = stage(limits("tool_timeout_sec = 0.3"), script).await;
    let thread = ready(&slow, 1).await;
    let story = slow.complete(&thread, "Go").await;
    assert_eq!(story.item("mcpToolCall")["status"], "failed");
    assert!(output(&slow, 1, "c1").contains("within 0.3 seconds"));
}

/// Shows S-011, S-284.
#[tokio::test]
async fn a_server_that_never_answers_fails_in_its_time_and_nobody_waits_for_it() {
    let never = json!({"never": true});
    let table = |name: &str, limit: &str| {
        program(name, &never).replace(
            &format!("[mcp_servers.{name}.env]"),
            &format!("startup_timeout_sec = {limit}\n[mcp_servers.{name}.env]"),
        )
    };
    let begun = Instant::now();
    let stage = stage(table("slow", "600") + &table("short", "0.5"), json!([[say("done")]])).await;
    let thread = stage.thread().await;
    let failed = stage.until(|method, _| method == "error").await;
    let message = failed.last()["error"]["message"].as_str().expect("words");
    assert!(message.contains("within 0.5 seconds"), "{message}");
    assert!(
        message.contains("[mcp_servers.short]\nstartup_timeout_sec = "),
        "{message}"
    );
    stage.complete(&thread, "Go").await;
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "the turn did not wait for the slow one"
    );
}

#[tokio::test]
async fn a_turn_does_not_begin_without_a_server_that_it_needs() {
    let bad = json!({"exit": 4});
    let table = program("s", &bad).replace("[mcp_servers.s.env]", "required = true\n[mcp_servers.s.env]");
    let stage = stage(table, json!([[say("never")]])).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Go").await;
    assert_eq!((story.status(), story.error_kind()), ("failed", "toolServerFailed"));
    stage.requests(0);
    // The server's own story goes beside the turn's.
    stage.client.ignore("countersign/mcp/status");
    stage.client.ignore("countersign/error");
}

/// A call that is no reading one asks, and each answer does what it says.
#[tokio::test]
async fn calls_that_may_change_something_ask_first() {
    let server = json!({"tools": [tool("write"), tool("other"), reading("look")]});
    let one = |id: &str, name: &str| json!([call(id, &format!("mcp__s__{name}"), json!({"x": 1}))]);
    let script = json!([
        one("c1", "write"),
        one("c2", "write"),
        one("c3", "write"),
        one("c4", "other"),
        one("c5", "other"),
        one("c6", "look"),
        [say("done")],
    ]);
    let stage = stage(program("s", &server), script).await;
    let thread = ready(&stage, 1).await;
    let replies = ["decline", "acceptForSession", "acceptAlways"].map(|decision| json!({"decision": decision}));
    let left = std::sync::Mutex::new(replies.to_vec());
    stage.client.on_request("countersign/approval/tool", move |_| {
        Reply::Ok(left.lock().expect("whole").remove(0))
    });
    let story = stage.complete(&thread, "Go").await;
    let asked: Vec<_> = story
        .all("approval/requested")
        .iter()
        .map(|event| event["approval"].clone())
        .collect();
    let items: Vec<_> = asked.iter().map(|approval| approval["itemId"].clone()).collect();
    assert_eq!(items, ["c1", "c2", "c4"]);
    assert_eq!((&asked[0]["server"], &asked[0]["tool"]), (&json!("s"), &json!("write")));
    assert_eq!(asked[0]["arguments"], json!({"x": 1}));
    assert!(
        asked[0]["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("outside the sandbox"))
    );
    assert!(output(&stage, 6, "c1").contains("rejected"));
    assert_eq!(text(&output(&stage, 6, "c2")), r#"write {"x":1}"#);
    let statuses: Vec<_> = story
        .items("mcpToolCall")
        .iter()
        .map(|item| item["status"].clone())
        .collect();
    assert_eq!(
        statuses,
        [
            "declined",
            "completed",
            "completed",
            "completed",
            "completed",
            "completed"
        ]
    );
    let rule = std::fs::read_to_string(stage.client.home().join("rules/always.toml")).expect("a rule");
    assert!(
        rule.contains("[[tool]]\nserver = \"s\"\ntool = \"other\"\ndecision = \"allow\"\npin = \"sha256:"),
        "{rule}"
    );
}

/// Who is never asked, and what runs all the same.
#[tokio::test]
async fn policies_and_settings_decide_who_is_asked() {
    let server = json!({"tools": [tool("write"), reading("look")]});
    let mode =
        |keys: &str| program("s", &server).replace("[mcp_servers.s.env]", &format!("{keys}\n[mcp_servers.s.env]"));
    let never = "approval_policy = \"never\"";
    let silent = "approval_policy = { granular = { mcp_elicitations = false } }";
    let full = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"";
    for (config, keys, write, look) in [
        (never, "", "declined", "completed"),
        (silent, "", "declined", "completed"),
        (full, "", "completed", "completed"),
        (
            never,
            "default_tools_approval_mode = \"approve\"",
            "completed",
            "completed",
        ),
        (
            never,
            "default_tools_approval_mode = \"prompt\"",
            "declined",
            "declined",
        ),
        (
            never,
            "tools = { write = { approval_mode = \"approve\" }, look = { approval_mode = \"prompt\" } }",
            "completed",
            "declined",
        ),
    ] {
        let script = json!([
            [
                call("c1", "mcp__s__write", json!({})),
                call("c2", "mcp__s__look", json!({}))
            ],
            [say("done")],
        ]);
        let stage = configured(config, mode(keys), script).await;
        let thread = ready(&stage, 1).await;
        let story = stage.complete(&thread, "Go").await;
        assert_eq!(story.count("approval/requested"), 0);
        let status = |id: &str| {
            let items = story.items("mcpToolCall");
            let item = items.into_iter().find(|item| item["id"] == id).expect("an item");
            item["status"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(
            (status("c1").as_str(), status("c2").as_str()),
            (write, look),
            "{config} {keys}"
        );
    }
}

/// Shows S-290.
#[tokio::test]
async fn nothing_of_a_server_outlives_the_end() {
    let server = json!({"tools": [reading("child")], "stays": true});
    let stage = stage(
        program("s", &server),
        json!([[call("c1", "mcp__s__child", json!({}))], [say("done")]]),
    )
    .await;
    let thread = ready(&stage, 1).await;
    stage.complete(&thread, "Go").await;
    let pids: Vec<u32> = serde_json::from_str(&text(&output(&stage, 1, "c1"))).expect("two processes");
    let lives = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    // The numbers are those of this machine, so they can be looked for.
    assert!(pids.iter().all(lives), "{pids:?}");
    drop(stage);
    eventually("the server and its child are gone", || !pids.iter().any(lives)).await;
}

/// Shows S-291.
#[tokio::test]
async fn a_server_that_crashed_is_told_of_and_started_again() {
    let server = json!({"tools": [reading("crash"), reading("pid")]});
    let script = json!([
        [call("c1", "mcp__s__pid", json!({}))],
        [call("c2", "mcp__s__crash", json!({}))],
        [call("c3", "mcp__s__pid", json!({}))],
        [say("done")],
    ]);
    let stage = stage(program("s", &server), script).await;
    let thread = ready(&stage, 1).await;
    let story = stage.complete(&thread, "Go").await;
    let statuses: Vec<_> = story
        .items("mcpToolCall")
        .iter()
        .map(|item| item["status"].clone())
        .collect();
    assert_eq!(statuses, ["completed", "failed", "completed"]);
    assert!(
        output(&stage, 3, "c2").contains("was lost during the call"),
        "{}",
        output(&stage, 3, "c2")
    );
    assert_ne!(output(&stage, 3, "c1"), output(&stage, 3, "c3"));
    let lost = story
        .all("mcp/status")
        .into_iter()
        .find(|event| event["status"] == "lost")
        .expect("told");
    assert!(
        lost["error"]
            .as_str()
            .is_some_and(|error| error.contains("exit code 3")),
        "{lost}"
    );
    assert!(story.all("mcp/status").iter().any(|event| event["status"] == "ready"));
}

#[tokio::test]
async fn a_stopped_turn_stops_the_call_and_the_server_hears_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("heard");
    let server = json!({"tools": [reading("hang")], "log": log});
    let stage = stage(
        program("s", &server),
        json!([[call("c1", "mcp__s__hang", json!({}))], [say("never")]]),
    )
    .await;
    let thread = ready(&stage, 1).await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage
        .until(|method, params| method == "item/started" && params["item"]["id"] == "c1")
        .await;
    let heard = |words: &str| std::fs::read_to_string(&log).is_ok_and(|text| text.contains(words));
    eventually("the server has the call", || heard("tools/call")).await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.item("mcpToolCall")["status"], "interrupted");
    eventually("the server is told", || heard("notifications/cancelled")).await;
}

#[tokio::test]
async fn progress_is_shown_as_it_comes() {
    let server = json!({"tools": [reading("progress")]});
    let stage = stage(
        program("s", &server),
        json!([[call("c1", "mcp__s__progress", json!({}))], [say("done")]]),
    )
    .await;
    let thread = ready(&stage, 1).await;
    let story = stage.complete(&thread, "Go").await;
    let steps: Vec<_> = story
        .all("item/mcpToolCall/progress")
        .iter()
        .map(|event| {
            (
                event["itemId"].clone(),
                event["message"].clone(),
                event["total"].clone(),
            )
        })
        .collect();
    let expected = ["step 1", "step 2", "step 3"].map(|step| (json!("c1"), json!(step), json!(3.0)));
    assert_eq!(steps, expected);
}

fn web(name: &str, url: &str, keys: &str) -> String {
    format!("[mcp_servers.{name}]\nurl = {url:?}\ntrust_annotations = true\n{keys}\n")
}

/// Shows S-277.
#[tokio::test]
async fn servers_of_both_kinds_are_called_and_the_web_sees_its_headers() {
    let near = json!({"tools": [reading("look")]});
    let far = Web::start(json!({"tools": [reading("look"), reading("progress")], "token": "sesame"})).await;
    let keys = "bearer_token_env_var = \"FAR_TOKEN\"\nhttp_headers = { X-Plain = \"one\" }\nenv_http_headers = { X-Env = \"FAR_HEADER\", \
                X-Unset = \"NOT_SET\" }";
    let setting = Setting {
        tables: program("near", &near) + &web("far", &far.url, keys),
        env: [("FAR_TOKEN", "sesame"), ("FAR_HEADER", "two")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        ..Setting::default()
    };
    let script = json!([
        [
            call("c1", "mcp__near__look", json!({})),
            call("c2", "mcp__far__look", json!({"q": 1})),
            call("c3", "mcp__far__progress", json!({})),
        ],
        [say("done")],
    ]);
    let stage = Stage::with(script, setting).await;
    let thread = ready(&stage, 2).await;
    stage.complete(&thread, "Go").await;
    assert_eq!(text(&output(&stage, 1, "c1")), "look {}");
    assert_eq!(text(&output(&stage, 1, "c2")), r#"look {"q":1}"#);
    assert_eq!(text(&output(&stage, 1, "c3")), "done");
    let called = far
        .seen()
        .into_iter()
        .find(|seen| seen.body["method"] == "tools/call")
        .expect("a call");
    let header = |name: &str| called.headers.get(name).and_then(|value| value.to_str().ok());
    assert_eq!(header("authorization"), Some("Bearer sesame"));
    assert_eq!(
        (header("x-plain"), header("x-env"), header("x-unset")),
        (Some("one"), Some("two"), None)
    );
    drop(stage);
    let deleted = far.seen().into_iter().find(|seen| seen.method == "DELETE");
    assert!(
        deleted.is_some_and(|seen| seen.headers["mcp-session-id"] == "session-1"),
        "the session is closed"
    );
}

/// A server that was started again has forgotten the session, and says so in one of several ways: the call gets a new session, and its
/// answer. What it says against a request without naming it is that request's answer.
#[tokio::test]
async fn a_session_that_a_server_forgot_begins_again() {
    for lost in [
        Value::Null,
        json!("words"),
        json!("Bad Request: No valid session ID provided"),
    ] {
        let far = Web::start(json!({"tools": [reading("look")], "lost": lost})).await;
        let script = json!([
            [call("c1", "mcp__far__look", json!({"n": 1}))],
            [say("one")],
            [call("c2", "mcp__far__look", json!({"n": 2}))],
            [say("two")],
        ]);
        let stage = stage(web("far", &far.url, ""), script).await;
        let thread = ready(&stage, 1).await;
        stage.complete(&thread, "Go").await;
        far.restart();
        stage.complete(&thread, "Again").await;
        assert_eq!(text(&output(&stage, 3, "c2")), r#"look {"n":2}"#, "{lost}");
    }
    let far = Web::start(json!({"tools": [reading("look")], "lost": "The tool is out of order"})).await;
    let script = json!([[call("c1", "mcp__far__look", json!({}))], [say("done")]]);
    let stage = stage(web("far", &far.url, ""), script).await;
    let thread = ready(&stage, 1).await;
    far.restart();
    stage.complete(&thread, "Go").await;
    let said = output(&stage, 1, "c1");
    assert!(said.contains("The tool is out of order"), "{said}");
}

/// What a server comes back with after it has forgotten the session is looked at before a call is sent to it: a yes for the session was one
/// to the tool as it was, also where the question was answered for this call.
#[tokio::test]
async fn a_server_that_comes_back_as_another_is_asked_about_before_it_is_called() {
    let other = json!({"name": "write", "description": "Does something else.", "inputSchema": {"type": "object"}});
    for (back, asks, done) in [
        (json!([tool("write")]), 1, true),
        (json!([other]), 2, false),
        (json!([tool("different")]), 1, false),
    ] {
        let far = Web::start(json!({"tools": [tool("write")]})).await;
        let script = json!([
            [call("c1", "mcp__far__write", json!({"n": 1}))],
            [say("one")],
            [call("c2", "mcp__far__write", json!({"n": 2}))],
            [say("two")],
        ]);
        let stage = stage(web("far", &far.url, ""), script).await;
        let thread = ready(&stage, 1).await;
        let replies = ["acceptForSession", "decline"].map(|decision| json!({"decision": decision}));
        let left = std::sync::Mutex::new(replies.to_vec());
        stage.client.on_request("countersign/approval/tool", move |_| {
            Reply::Ok(left.lock().expect("whole").remove(0))
        });
        let first = stage.complete(&thread, "Go").await;
        far.restart_as(json!({ "tools": back }));
        let second = stage.complete(&thread, "Again").await;
        let asked = first.count("approval/requested") + second.count("approval/requested");
        let calls = far
            .seen()
            .iter()
            .filter(|seen| seen.body["method"] == "tools/call" && seen.headers["mcp-session-id"] == "session-2")
            .count();
        assert_eq!((asked, calls), (asks, usize::from(done)), "{back}");
        let said = output(&stage, 3, "c2");
        assert_eq!(said.contains("write {"), done, "{said}");
    }
}

/// Shows S-284.
#[tokio::test]
async fn a_server_that_wants_a_login_says_so() {
    let far = Web::start(json!({"token": "sesame"})).await;
    let closed = {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        format!("http://{}/mcp", listener.local_addr().expect("an address"))
    };
    let tables = web("login", &far.url, "")
        + &web("closed", &closed, "")
        + &web("unset", &far.url, "bearer_token_env_var = \"NOT_SET\"");
    let stage = stage(tables, json!([[say("done")]])).await;
    let thread = stage.thread().await;
    let mut errors = Vec::new();
    while errors.len() < 3 {
        let (method, params) = stage.next().await;
        if method == "error" {
            errors.push(params["error"]["message"].as_str().expect("words").to_owned());
        }
    }
    errors.sort();
    assert!(errors[0].contains("MCP server closed did not start"), "{errors:?}");
    assert!(
        errors[1].contains("not signed in") && errors[1].contains("countersign mcp login login"),
        "{errors:?}"
    );
    assert!(errors[2].contains("NOT_SET"), "{errors:?}");
    let listed = stage
        .client
        .call("countersign/mcp/list", json!({"threadId": thread}))
        .await;
    let auth: Vec<_> = listed["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|server| server["authStatus"].clone())
        .collect();
    assert_eq!(auth, ["unsupported", "notLoggedIn", "bearerToken"]);
}

/// No name out of a library, and no address, which may hold a key: neither where a server starts nor where it is called.
///
/// Shows S-284.
#[tokio::test]
async fn why_a_server_fails_is_told_in_words() {
    let missing = Web::start(json!({"status": {"initialize": 404}})).await;
    let failing = Web::start(json!({"tools": [reading("look")], "status": {"tools/call": 500}})).await;
    let closed = {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        format!(
            "http://{}/mcp?key=hidden-from-all",
            listener.local_addr().expect("an address")
        )
    };
    let tables = web("closed", &closed, "")
        + &web("missing", &missing.url, "")
        + &program("refuses", &json!({"refuses": "that version is too old"}))
        + &web("failing", &failing.url, "");
    let script = json!([[call("c1", "mcp__failing__look", json!({}))], [say("done")]]);
    let stage = stage(tables, script).await;
    let thread = stage.thread().await;
    let (mut errors, mut is_ready) = (Vec::new(), false);
    while errors.len() < 3 || !is_ready {
        let (method, params) = stage.next().await;
        is_ready |= method == "mcp/status" && params["status"] == "ready";
        if method == "error" {
            errors.push(params["error"]["message"].as_str().expect("words").to_owned());
        }
    }
    errors.sort();
    stage.complete(&thread, "Go").await;
    errors.push(output(&stage, 1, "c1"));
    for (error, words) in errors
        .iter()
        .zip(["refused", "HTTP 404 Not Found", "that version is too old", "HTTP 500"])
    {
        assert!(error.contains(words), "{words}: {error}");
        for inner in ["rmcp", "Transport", "reqwest", "hidden", "<html>", ".."] {
            assert!(!error.contains(inner), "{inner}: {error}");
        }
    }
    let log = std::fs::read_to_string(stage.client.home().join("log/countersign.log")).expect("a log");
    assert!(!log.contains("hidden-from-all"), "{log}");
}

/// Shows S-281, S-282, S-283.
#[tokio::test]
async fn what_servers_hold_is_listed_and_read() {
    let resources: Vec<Value> = (1..=5)
        .map(|at| json!({"uri": format!("m://{at}"), "name": format!("R{at}"), "annotations": {"priority": 0.5}}))
        .collect();
    let templates = json!([{"uriTemplate": "m://{x}", "name": "Any"}]);
    let contents = json!({
        "m://1": {"uri": "m://1", "mimeType": "text/plain", "text": "first"},
        "m://dot": {"uri": "m://dot", "mimeType": "image/png", "blob": "iVBORw0KGgo="},
    });
    let full = json!({"tools": [reading("look")], "resources": resources, "templates": templates, "contents": contents, "page": 2});
    let slow = json!({"tools": [reading("look")], "resources": [], "hangingResources": true});
    let script = json!([
        [
            call("c1", "list_mcp_resources", json!({"server": "full"})),
            call("c2", "list_mcp_resources", json!({"server": "full", "cursor": "4"})),
            call("c3", "list_mcp_resource_templates", json!({"server": "full"})),
            call("c4", "read_mcp_resource", json!({"server": "full", "uri": "m://1"})),
            call("c5", "read_mcp_resource", json!({"server": "full", "uri": "m://dot"})),
            call("c6", "read_mcp_resource", json!({"server": "full", "uri": "m://none"})),
            call("c7", "read_mcp_resource", json!({"server": "nobody", "uri": "m://1"})),
        ],
        [say("done")],
    ]);
    let stage = stage(program("full", &full) + &program("slow", &slow), script).await;
    let thread = ready(&stage, 2).await;
    let listed = stage
        .client
        .call("countersign/mcp/list", json!({"threadId": thread}))
        .await;
    let servers = listed["data"].as_array().expect("a list");
    assert_eq!(
        (&servers[0]["name"], &servers[0]["status"]),
        (&json!("full"), &json!("ready"))
    );
    assert_eq!(servers[0]["resources"], json!(resources));
    assert_eq!(servers[0]["resourceTemplates"], templates);
    assert_eq!(servers[0]["tools"][0]["qualifiedName"], "mcp__full__look");
    assert_eq!(servers[0]["authStatus"], "unsupported");
    assert_eq!(
        servers[1]["tools"][0]["name"], "look",
        "the tools are there all the same"
    );
    assert!(
        servers[1]["error"]
            .as_str()
            .is_some_and(|error| error.contains("could not be listed")),
        "{listed}"
    );
    let page = |cursor: Value| json!({"threadId": thread, "server": "full", "cursor": cursor});
    let first = stage
        .client
        .call("countersign/mcp/resource/list", page(Value::Null))
        .await;
    assert_eq!(first, json!({"data": resources[..2], "nextCursor": "2"}));
    let last = stage
        .client
        .call("countersign/mcp/resource/list", page(json!("4")))
        .await;
    assert_eq!(last, json!({"data": resources[4..]}));
    let found = stage
        .client
        .call("countersign/mcp/resource/templates", page(Value::Null))
        .await;
    assert_eq!(found, json!({"data": templates}));
    let read = json!({"threadId": thread, "server": "full", "uri": "m://1"});
    let read = stage.client.call("countersign/mcp/resource/read", read).await;
    assert_eq!(read, json!({"contents": [contents["m://1"]]}));
    let unknown = json!({"threadId": thread, "server": "nobody", "uri": "m://1"});
    let unknown = stage
        .client
        .request("countersign/mcp/resource/read", unknown)
        .await
        .expect_err("no such server");
    assert_eq!(unknown.data["kind"], "toolServerNotFound");
    stage.complete(&thread, "Go").await;
    let json = |id: &str| serde_json::from_str::<Value>(&output(&stage, 1, id)).expect("JSON");
    assert_eq!(
        json("c1"),
        json!({"server": "full", "resources": resources[..2], "nextCursor": "2"})
    );
    assert_eq!(
        json("c2"),
        json!({"server": "full", "resources": resources[4..], "nextCursor": null})
    );
    assert_eq!(json("c3")["resourceTemplates"], templates);
    assert_eq!(json("c4")["contents"][0]["text"], "first");
    assert!(
        stage.requests(2)[1]
            .body
            .to_string()
            .contains("data:image/png;base64,iVBORw0KGgo=")
    );
    assert!(output(&stage, 1, "c6").contains("no such resource"));
    assert!(output(&stage, 1, "c7").contains("There are: full"));
}

/// Shows S-075, S-286.
#[tokio::test]
async fn a_refresh_counts_from_the_next_turn_on_and_new_tools_from_the_next_round() {
    let one = json!({"tools": [reading("add_tool"), reading("hang")]});
    let two = json!({"tools": [reading("look")]});
    let script = json!([
        [call("c1", "mcp__one__add_tool", json!({}))],
        [call("c2", "shell", json!({"command": ["sleep", "3"]}))],
        [say("first")],
        [say("second")],
        [say("third")],
    ]);
    let stage = stage(program("one", &one), script).await;
    let thread = ready(&stage, 1).await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage
        .until(|method, params| method == "item/completed" && params["item"]["id"] == "c1")
        .await;
    let file = stage.client.home().join("config.toml");
    let before = std::fs::read_to_string(&file).expect("a configuration");
    std::fs::write(
        &file,
        before
            .replace(
                "[mcp_servers.one]",
                "[mcp_servers.gone]\nenabled = false\ncommand = \"x\"\n[mcp_servers.kept]",
            )
            .replace("[mcp_servers.one.env]", "[mcp_servers.kept.env]")
            + &program("two", &two),
    )
    .expect("written");
    stage.client.call("countersign/mcp/refresh", json!({})).await;
    stage.finish(&turn).await;
    let ours = |request: usize| {
        let offered = stage.model.requests()[request].tools();
        offered
            .into_iter()
            .filter(|name| name.starts_with("mcp__"))
            .collect::<Vec<_>>()
    };
    // A tool that the server has brought meanwhile is offered in a later round; the configuration is that of before.
    assert_eq!(ours(0), ["mcp__one__add_tool", "mcp__one__hang"]);
    assert_eq!(ours(2), ["mcp__one__add_tool", "mcp__one__hang", "mcp__one__added"]);
    stage.complete(&thread, "Again").await;
    assert_eq!(ours(3), ["mcp__kept__add_tool", "mcp__kept__hang", "mcp__two__look"]);
}

/// A server whose command changes while it still starts: what the configuration says now is what the model gets, and the
/// first opening changes nothing when it comes to its end after the second.
#[cfg(unix)]
#[tokio::test]
async fn an_opening_that_another_configuration_has_overtaken_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let script = file("slow_server.py");
    std::fs::write(&script, include_str!("../fixtures/slow_server.py")).expect("a program");
    let table = |name: &str| {
        let args = [
            name.into(),
            file(&format!("{name}.pid")),
            file(&format!("{name}.go.txt")),
        ];
        format!(
            "[mcp_servers.s]\ntrust_annotations = true\ncommand = \"python3\"\nargs = [{script:?}, {:?}, {:?}, {:?}]\n",
            args[0], args[1], args[2]
        )
    };
    let model = json!([
        [say("nobody there yet")],
        [call("c1", "mcp__s__which_new", json!({}))],
        [say("second")],
        [call("c2", "mcp__s__which_new", json!({}))],
        [say("third")],
    ]);
    let stage = stage(table("old"), model).await;
    let thread = stage.thread().await;
    eventually("the first one has begun", || file("old.pid").exists()).await;
    let config = stage.client.home().join("config.toml");
    let before = std::fs::read_to_string(&config).expect("a configuration");
    std::fs::write(&config, before.replace(&table("old"), &table("new"))).expect("written");
    stage.client.call("countersign/mcp/refresh", json!({})).await;
    // The turn has the new one, which starts beside the first: neither has answered.
    stage.complete(&thread, "Is anybody there?").await;
    eventually("the second one has begun", || file("new.pid").exists()).await;
    let old: u32 = std::fs::read_to_string(file("old.pid"))
        .expect("a file")
        .parse()
        .expect("a number");
    assert!(!file("new.go.txt").exists() && std::path::Path::new(&format!("/proc/{old}")).exists());
    // The second comes to its end first.
    std::fs::write(file("new.go.txt"), "").expect("written");
    settled(&stage, 1, "ready").await;
    stage.complete(&thread, "And now?").await;
    std::fs::write(file("old.go.txt"), "").expect("written");
    eventually("nothing is left of the first", || {
        !std::path::Path::new(&format!("/proc/{old}")).exists()
    })
    .await;
    let story = stage.complete(&thread, "And now?").await;
    assert_eq!(story.count("mcp/status"), 0, "{:#?}", story.names());
    let requests = stage.requests(5);
    let ours = |request: usize| {
        let offered = requests[request].tools().into_iter();
        offered.filter(|name| name.starts_with("mcp__")).collect::<Vec<_>>()
    };
    assert_eq!(ours(0), [""; 0]);
    for (request, call) in [(2, "c1"), (4, "c2")] {
        assert_eq!(ours(request), ["mcp__s__which_new"]);
        assert!(output(&stage, request, call).contains("I am new."));
    }
    let unread = stage.client.take_unread();
    assert!(unread.iter().all(|(method, _)| !method.contains("mcp")), "{unread:?}");
}

/// A question of a server, and how it is answered.
fn asking(id: Value, meta: Option<Value>) -> Value {
    let mut params = json!({
        "message": "Which branch?",
        "requestedSchema": {"type": "object", "properties": {"branch": {"type": "string"}}, "required": ["branch"]},
    });
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    json!({"id": id, "params": params})
}

/// Shows S-287, S-288, S-289.
#[tokio::test]
async fn questions_of_a_server_reach_the_person_and_answers_go_back_as_they_are() {
    let server = json!({"tools": [reading("ask")]});
    let rows = [
        (
            json!(7),
            json!({"action": "accept", "content": {"branch": "main"}, "_meta": {"by": "ada"}}),
            json!({"action": "accept", "content": {"branch": "main"}, "_meta": {"by": "ada"}}),
        ),
        (
            json!("abc"),
            json!({"action": "accept"}),
            json!({"action": "accept", "content": {}}),
        ),
        (
            json!(8),
            json!({"action": "decline", "content": {"branch": "x"}}),
            json!({"action": "decline"}),
        ),
        (
            json!("9"),
            json!({"action": "cancel", "content": {"branch": "x"}}),
            json!({"action": "cancel"}),
        ),
        (json!(10), json!({"nonsense": true}), json!({"action": "cancel"})),
        (
            json!(11),
            json!({"action": "accept", "content": "no table"}),
            json!({"action": "cancel"}),
        ),
    ];
    let mut script: Vec<Value> = rows
        .iter()
        .enumerate()
        .map(|(at, (id, ..))| {
            json!([call(
                &format!("c{at}"),
                "mcp__s__ask",
                asking(id.clone(), Some(json!({"hint": at})))
            )])
        })
        .collect();
    script.push(json!([say("done")]));
    let stage = stage(program("s", &server), Value::Array(script)).await;
    // The servers of the refreshed configuration ask as before.
    let thread = ready(&stage, 1).await;
    stage
        .client
        .call("countersign/mcp/refresh", json!({"threadId": thread}))
        .await;
    let replies = std::sync::Mutex::new(rows.iter().map(|(_, reply, _)| reply.clone()).collect::<Vec<_>>());
    stage.client.on_request("countersign/mcp/elicitation", move |_| {
        Reply::Ok(replies.lock().expect("whole").remove(0))
    });
    let story = stage.complete(&thread, "Go").await;
    let asked = story.all("mcp/elicitationRequested");
    assert_eq!(asked.len(), rows.len());
    assert_eq!(story.count("mcp/elicitationResolved"), rows.len());
    for (at, (id, _, expected)) in rows.iter().enumerate() {
        let question = &asked[at]["elicitation"];
        assert_eq!((&question["requestId"], &question["server"]), (id, &json!("s")));
        assert_eq!(
            (&question["itemId"], &question["message"]),
            (&json!(format!("c{at}")), &json!("Which branch?"))
        );
        assert_eq!(question["mode"], "form");
        assert_eq!(question["requestedSchema"]["properties"]["branch"]["type"], "string");
        assert_eq!(question["_meta"]["hint"], at, "{question}");
        let answer: Value = serde_json::from_str(&text(&output(&stage, rows.len(), &format!("c{at}")))).expect("JSON");
        assert_eq!((&answer["id"], &answer["result"]), (id, expected), "{answer}");
    }
    let unknown = json!({"server": "s", "requestId": 7, "response": {"action": "accept"}});
    let unknown = stage.client.call("countersign/mcp/elicitation/respond", unknown).await;
    assert_eq!(unknown, json!({"taken": false}));
}

#[tokio::test]
async fn a_question_is_withdrawn_with_its_turn_and_can_be_answered_elsewhere() {
    let server = json!({"tools": [reading("ask")]});
    let ask = |id: &str, request: Value| json!([call(id, "mcp__s__ask", asking(request, None))]);
    let script = json!([
        ask("c1", json!(1)),
        [say("one")],
        ask("c2", json!("two")),
        [say("never")]
    ]);
    let stage = stage(program("s", &server), script).await;
    let thread = ready(&stage, 1).await;
    stage.client.on_request("countersign/mcp/elicitation", |_| Reply::Later);
    let turn = stage.start_turn(&thread, "Go").await;
    stage.until_event("mcp/elicitationRequested").await;
    assert_eq!(stage.read(&thread).await["status"], "waitingOnApproval");
    let first = stage.client.expect_request("countersign/mcp/elicitation").await;
    assert_eq!(first.params["requestId"], 1);
    let answer = json!({"server": "s", "requestId": 1, "response": {"action": "accept", "content": {"branch": "b"}}});
    let taken = stage
        .client
        .call("countersign/mcp/elicitation/respond", answer.clone())
        .await;
    assert_eq!(taken, json!({"taken": true}));
    let story = stage.finish(&turn).await;
    assert_eq!(story.one("mcp/elicitationResolved")["action"], "accept");
    assert_eq!(
        stage.client.call("countersign/mcp/elicitation/respond", answer).await,
        json!({"taken": false})
    );
    let turn = stage.start_turn(&thread, "Again").await;
    stage.until_event("mcp/elicitationRequested").await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert!(story.one("mcp/elicitationResolved")["action"].is_null());
    assert_eq!(story.status(), "interrupted");
}

/// Servers that mean nothing are told of, and cost nothing else.
#[tokio::test]
async fn a_configuration_of_servers_that_cannot_be_used_costs_no_turn() {
    let tables = "[mcp_servers.both]\ncommand = \"x\"\nurl = \"http://h\"\n[mcp_servers.neither]\nenabled = true\n[mcp_servers.odd]\ncommand = 7\n";
    let stage = stage(tables.to_owned(), json!([[say("done")]])).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let warnings: Vec<_> = story
        .all("warning")
        .iter()
        .filter_map(|event| event["message"].as_str())
        .collect();
    for word in [
        "\"both\" is not used",
        "\"neither\" is not used",
        "mcp_servers.odd.command",
    ] {
        assert!(
            warnings.iter().any(|warning| warning.contains(word)),
            "{word}: {warnings:?}"
        );
    }
    assert!(
        warnings.iter().any(|warning| warning.contains("config.toml:")),
        "with its line: {warnings:?}"
    );
}

/// Shows S-285.
#[tokio::test]
async fn an_editor_without_a_plugin_is_told_once_of_each_failed_server() {
    let bad = json!({"exit": 4});
    let client = Client::start(ServerOptions {
        config: Some(program("bad", &bad)),
        ..ServerOptions::default()
    })
    .await;
    client.on_request("window/workDoneProgress/create", |_| Reply::Ok(Value::Null));
    for _ in 0..2 {
        client.call("countersign/thread/start", json!({})).await;
    }
    let (method, params) = client.expect_any().await;
    assert_eq!((&method[..], &params["type"]), ("window/showMessage", &json!(1)));
    let message = params["message"].as_str().expect("words");
    assert!(message.contains("The MCP server bad did not start"), "{message}");
    // A second one would be unread at the end, and fail the test.
    client.call("countersign/mcp/list", json!({})).await;
}

/// A question of yes or no, by the means of any editor.
#[tokio::test]
async fn an_editor_without_a_plugin_answers_by_buttons() {
    let server = json!({"tools": [reading("ask"), tool("write")]});
    let schema = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}});
    let ask = json!({"id": "q", "params": {"message": "Sure?", "requestedSchema": schema}});
    let form = asking(json!("f"), None);
    let script = json!([
        [call("c1", "mcp__s__ask", ask)],
        [call("c2", "mcp__s__ask", form)],
        [call("c3", "mcp__s__write", json!({}))],
        [say("done")],
    ]);
    let model = super::stage::rehearse(script).await;
    let config = format!(
        "model = \"rehearsal\"\nmodel_provider = \"rehearsal\"\n[model_providers.rehearsal]\nbase_url = \"{}\"\n{}",
        model.base_url,
        program("s", &server)
    );
    let client = Client::start(ServerOptions {
        config: Some(config),
        ..ServerOptions::default()
    })
    .await;
    client.on_request("window/workDoneProgress/create", |_| Reply::Ok(Value::Null));
    client.ignore("$/progress");
    client.on_request("window/showMessageRequest", |params| {
        let message = params["message"].as_str().unwrap_or_default();
        let chosen = match message.contains("Sure?") {
            true => "Yes",
            false => "Allow Once",
        };
        assert_eq!(
            params["actions"][0]["title"],
            if chosen == "Yes" { "Decline" } else { "Deny" }
        );
        Reply::Ok(json!({"title": chosen}))
    });
    let started = client.call("countersign/thread/start", json!({})).await;
    let thread = &started["thread"]["id"];
    let input = json!([{"type": "text", "text": "Go"}]);
    client
        .call("countersign/turn/start", json!({"threadId": thread, "input": input}))
        .await;
    let mut told = Vec::new();
    while !told.iter().any(|text: &String| text.contains("done")) {
        let (_, params) = client.expect_any().await;
        told.push(params["message"].as_str().unwrap_or_default().to_owned());
    }
    assert!(
        told.iter().any(|text| text.contains("wants a form filled in")),
        "{told:?}"
    );
    let request = &model.requests()[3];
    let answer = |id: &str| text(&request.output(id).expect("an output"));
    let result = |id: &str| serde_json::from_str::<Value>(&answer(id)).expect("JSON")["result"].clone();
    assert_eq!(result("c1"), json!({"action": "accept", "content": {"sure": true}}));
    assert_eq!(result("c2"), json!({"action": "cancel"}));
    assert_eq!(answer("c3"), "write {}");
}

/// A real server that others have written, with the official library of another language. Skipped where that is not
/// installed.
#[tokio::test]
async fn a_published_server_works() {
    let has_library = std::process::Command::new("python3")
        .args(["-c", "import mcp.server.stdio, pydantic"])
        .stderr(std::process::Stdio::null())
        .status();
    if !has_library.is_ok_and(|status| status.success()) {
        return crate::exec::place::skipped("the package `mcp` of python3 is not installed");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("server.py");
    std::fs::write(&file, include_str!("../fixtures/tool_server.py")).expect("a program");
    let table = format!(
        "[mcp_servers.real]\ncommand = \"python3\"\nargs = [{file:?}]\nstartup_timeout_sec = 60\ntrust_annotations = true\n"
    );
    let script = json!([
        [
            call("c1", "mcp__real__add", json!({"a": 2, "b": 3})),
            call("c2", "mcp__real__ask", json!({})),
            call("c3", "mcp__real__dot", json!({})),
            call(
                "c4",
                "read_mcp_resource",
                json!({"server": "real", "uri": "notes://one"})
            ),
            call("c5", "mcp__real__add", json!({"a": "no number"})),
        ],
        [say("done")],
    ]);
    let path = std::env::var("PATH").expect("a path");
    let setting = Setting {
        tables: table,
        env: vec![("PATH".to_owned(), path)],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = ready(&stage, 1).await;
    let reply = json!({"action": "accept", "content": {"branch": "main"}});
    stage
        .client
        .on_request("countersign/mcp/elicitation", move |_| Reply::Ok(reply.clone()));
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(output(&stage, 1, "c1"), r#"{"result":5}"#);
    assert!(
        output(&stage, 1, "c2").contains("accept main"),
        "{}",
        output(&stage, 1, "c2")
    );
    assert!(
        stage.requests(2)[1]
            .body
            .to_string()
            .contains("data:image/png;base64,iVBORw==")
    );
    assert!(output(&stage, 1, "c4").contains("a note"));
    let failed = story
        .items("mcpToolCall")
        .into_iter()
        .filter(|item| item["status"] == "failed");
    assert_eq!(failed.count(), 1);
    assert_eq!(story.count("item/mcpToolCall/progress"), 1);
}

/// What a program changes in the workspace is the turn's doing, and can be taken back.
#[tokio::test]
async fn what_a_tool_changed_can_be_undone() {
    let server = json!({"tools": [tool("write_file")]});
    let folder = tempfile::Builder::new()
        .prefix("agent")
        .tempdir_in("/var/tmp")
        .expect("a folder");
    let work = folder.path().canonicalize().expect("a path").join("work");
    std::fs::create_dir_all(&work).expect("a workspace");
    let file = work.join("a.txt");
    let setting = Setting {
        tables: program("s", &server).replace(
            "[mcp_servers.s.env]",
            "default_tools_approval_mode = \"approve\"\n[mcp_servers.s.env]",
        ),
        files: vec![("a.txt".to_owned(), "before\n".to_owned())],
        folder: Some(work),
        ..Setting::default()
    };
    let script = json!([[call("c1", "mcp__s__write_file", json!({"path": file}))], [say("done")]]);
    let stage = Stage::with(script, setting).await;
    let thread = ready(&stage, 1).await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(stage.text("a.txt"), "changed by the server\n");
    let diff = story.all("turn/diff").last().expect("a diff")["diff"]
        .as_str()
        .expect("text")
        .to_owned();
    assert!(diff.contains("+changed by the server"), "{diff}");
    let undo = stage
        .client
        .call("countersign/turn/undo", json!({"threadId": thread}))
        .await;
    stage.finish(undo["turnId"].as_str().expect("an id")).await;
    assert_eq!(stage.text("a.txt"), "before\n");
}

/// More tools than a request can carry: some are left out, and the person hears of it once.
#[tokio::test]
async fn too_many_tools_are_cut_and_told_of() {
    let tools: Vec<Value> = (0..150).map(|at| reading(&format!("tool{at}"))).collect();
    let script = json!([[call("c1", "mcp__s__tool1", json!({}))], [say("one")], [say("two")]]);
    let few = program("z", &json!({"tools": [reading("one"), reading("two")]}));
    let stage = stage(program("s", &json!({"tools": tools})) + &few, script).await;
    let thread = ready(&stage, 2).await;
    let first = stage.complete(&thread, "Go").await;
    let second = stage.complete(&thread, "Go on").await;
    let told = |story: &super::stage::Story| {
        let warnings = story.all("warning").into_iter();
        warnings
            .filter(|event| {
                event["message"]
                    .as_str()
                    .is_some_and(|text| text.contains("52 of them") && text.contains("(52 of s)"))
            })
            .count()
    };
    assert_eq!((told(&first), told(&second)), (1, 0));
    let offered = stage.requests(3)[0].tools();
    assert_eq!(offered.iter().filter(|name| name.starts_with("mcp__")).count(), 100);
    // A server with many tools takes nothing from one with few.
    let of_few = offered.iter().filter(|name| name.starts_with("mcp__z__"));
    assert_eq!(of_few.count(), 2);
}

/// A server that asks while it carries out several calls does not say for which: the end of another takes nothing back.
#[tokio::test]
async fn a_question_outlives_other_calls_that_end_meanwhile() {
    let server = json!({"tools": [reading("ask"), reading("look")]});
    let script = json!([
        [
            call("c1", "mcp__s__ask", asking(json!(1), None)),
            call("c2", "mcp__s__look", json!({})),
            call("c3", "mcp__s__look", json!({})),
        ],
        [say("done")],
    ]);
    let stage = stage(program("s", &server), script).await;
    let thread = ready(&stage, 1).await;
    stage.client.on_request("countersign/mcp/elicitation", |_| Reply::Later);
    let turn = stage.start_turn(&thread, "Go").await;
    let question = stage.client.expect_request("countersign/mcp/elicitation").await;
    for _ in 0..2 {
        stage
            .until(|method, params| method == "item/completed" && params["item"]["tool"] == "look")
            .await;
    }
    let answer = json!({"action": "accept", "content": {"branch": "late"}});
    stage.client.answer(&question, Ok(answer.clone()));
    stage.finish(&turn).await;
    let heard: Value = serde_json::from_str(&text(&output(&stage, 1, "c1"))).expect("JSON");
    assert_eq!(heard["result"], answer);
}
