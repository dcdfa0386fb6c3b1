//! What a collector is told, over each wire; what it is never told; and that nobody waits for it.

use super::stage::{Setting, Stage, apply_patch, bash, say, shell};
use crate::support::client::Reply;
use crate::support::collector::{Collector, Seen};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const KEY: &str = "key-of-the-collector-0";
const SECRET: &str = "correct-horse-battery-staple";
pub(super) const PROMPT: &str = "Tell nobody of the blue elephant";

/// `[otel]` with these lines.
pub(super) fn otel(lines: &str) -> Setting {
    Setting {
        tables: format!("[otel]\n{lines}\n"),
        env: vec![
            ("COLLECTOR_KEY".to_owned(), KEY.to_owned()),
            ("MY_OWN_TOKEN".to_owned(), SECRET.to_owned()),
        ],
        ..Setting::default()
    }
}

/// Ends the server in order, which sends what is left.
pub(super) async fn shut_down(stage: &mut Stage) {
    stage.client.call("shutdown", Value::Null).await;
    stage.client.notify("exit", Value::Null);
    assert_eq!(stage.client.expect_end().await, 0);
}

pub(super) fn names(records: &[Seen]) -> Vec<&str> {
    records.iter().map(|record| record.name.as_str()).collect()
}

/// One turn with a command that succeeds and one that fails, as each wire tells of it.
async fn a_whole_turn(collector: Collector, protocol: &str) {
    let script = json!([
        [bash("good", &format!("echo {SECRET}; echo fine"))],
        [bash("bad", "echo broken; exit 3")],
        [say("done"), {"usage": {"input_tokens": 100, "output_tokens": 20, "cached_input_tokens": 30, "reasoning_output_tokens": 7, "total_tokens": 120}}],
    ]);
    let more = format!("{protocol}, headers = {{ \"x-key\" = \"${{COLLECTOR_KEY}}\", plain = \"as it is\" }}");
    let exporter = collector.exporter("logs", &more);
    let setting = Setting {
        config: "approval_policy = \"never\"\nmodel_reasoning_effort = \"high\"\nmodel_context_window = 100000\nmodel_max_output_tokens = 5000"
            .to_owned(),
        ..otel(&format!("environment = \"a test\"\nexporter = {exporter}"))
    };
    let mut stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, PROMPT).await;
    shut_down(&mut stage).await;
    let records = collector.records();
    let kinds: BTreeSet<&str> = names(&records).into_iter().collect();
    let expected = [
        "conversation_starts",
        "api_request",
        "sse_event",
        "user_prompt",
        "tool_decision",
        "tool_result",
    ];
    let expected: Vec<String> = expected.map(|name| format!("countersign.{name}")).to_vec();
    assert_eq!(kinds, expected.iter().map(String::as_str).collect());
    for received in collector.received() {
        assert_eq!(
            (received.headers["x-key"].as_str(), received.headers["plain"].as_str()),
            (KEY, "as it is")
        );
    }
    // What stands in all of them.
    for record in &records {
        for (name, value) in [
            ("service.name", "countersign"),
            ("service.version", env!("CARGO_PKG_VERSION")),
            ("env", "a test"),
        ] {
            assert_eq!(record.resource[name], value);
        }
        assert_eq!(record.text("event.name"), record.name);
        assert!(record.text("event.timestamp").starts_with("20") && record.text("event.timestamp").ends_with('Z'));
        assert_eq!(record.text("conversation.id"), thread);
        assert_eq!(record.text("app.version"), env!("CARGO_PKG_VERSION"));
        assert!(!record.text("terminal.type").is_empty());
        assert_eq!((record.text("model"), record.text("slug")), ("rehearsal", "rehearsal"));
        // Not signed in.
        assert!(!record.fields.contains_key("auth_mode") && !record.fields.contains_key("user.account_id"));
    }
    let first = &records[0];
    assert_eq!(first.name, "countersign.conversation_starts");
    for (field, value) in [
        ("provider_name", json!("Rehearsal")),
        ("reasoning_effort", json!("high")),
        ("reasoning_summary", json!("auto")),
        ("context_window", json!(100_000)),
        ("max_output_tokens", json!(5000)),
        ("auto_compact_token_limit", json!(90_000)),
        ("approval_policy", json!("never")),
        ("sandbox_policy", json!("workspace-write")),
        ("mcp_servers", json!([])),
    ] {
        assert_eq!(first.fields[field], value, "{field}");
    }
    let requests = collector.all("api_request");
    assert_eq!(requests.len(), 3);
    for request in &requests {
        assert_eq!(
            (request.number("attempt"), request.number("http.response.status_code")),
            (1, 200)
        );
        assert!(request.number("duration_ms") >= 0 && !request.fields.contains_key("error.message"));
    }
    let events = collector.all("sse_event");
    let completed: Vec<&Seen> = events
        .iter()
        .filter(|event| event.text("event.kind") == "response.completed")
        .collect();
    assert_eq!(completed.len(), 3);
    for kind in ["response.created", "response.output_item.done"] {
        assert!(events.iter().any(|event| event.text("event.kind") == kind), "{kind}");
    }
    for (field, tokens) in [
        ("input_token_count", 100),
        ("output_token_count", 20),
        ("cached_token_count", 30),
        ("reasoning_token_count", 7),
        ("tool_token_count", 120),
    ] {
        assert_eq!(completed[2].number(field), tokens, "{field}");
    }
    let prompts = collector.all("user_prompt");
    assert_eq!(prompts.len(), 1);
    assert_eq!(
        (prompts[0].number("prompt_length"), prompts[0].text("prompt")),
        (PROMPT.chars().count() as i64, "[REDACTED]")
    );
    let decisions = collector.all("tool_decision");
    let decided: Vec<_> = decisions
        .iter()
        .map(|one| {
            [
                one.text("tool_name"),
                one.text("call_id"),
                one.text("decision"),
                one.text("source"),
            ]
        })
        .collect();
    assert_eq!(
        decided,
        [
            ["shell", "good", "approved", "config"],
            ["shell", "bad", "approved", "config"]
        ]
    );
    let results = collector.all("tool_result");
    let outcome: Vec<_> = results
        .iter()
        .map(|one| (one.text("tool_name"), one.text("call_id"), one.text("success")))
        .collect();
    assert_eq!(outcome, [("shell", "good", "true"), ("shell", "bad", "false")]);
    assert!(results[0].text("arguments").contains("echo fine") && results[0].text("output").contains("fine"));
    assert!(results[1].text("output").contains("broken") && results[1].number("duration_ms") >= 0);
    // Neither the prompt nor a secret is in any byte that was sent.
    for received in collector.received() {
        let text = String::from_utf8_lossy(&received.body);
        assert!(!text.contains(PROMPT) && !text.contains("blue elephant"), "{text}");
        assert!(!text.contains(SECRET) && !text.contains(KEY), "{text}");
    }
}

/// Shows S-384, S-385, S-386, S-387, S-388, S-390, S-391.
#[tokio::test]
async fn a_turn_over_http_in_protobuf() {
    a_whole_turn(Collector::http().await, "").await;
}

/// Shows S-384.
#[tokio::test]
async fn a_turn_over_http_in_json() {
    a_whole_turn(Collector::http().await, ", protocol = \"json\"").await;
}

/// Shows S-384.
#[tokio::test]
async fn a_turn_over_grpc() {
    a_whole_turn(Collector::grpc().await, "").await;
}

/// Shows S-383.
#[tokio::test]
async fn nothing_is_sent_unless_the_person_says_so() {
    let collector = Collector::http().await;
    let exporter = collector.exporter("logs", "");
    // The usual places of a collector, a table without an exporter, and a project that would like to.
    for lines in [
        "",
        "[otel]\nenvironment = \"x\"\nlog_user_prompt = true\nexporter = \"none\"\n",
    ] {
        let setting = Setting {
            tables: lines.to_owned(),
            env: vec![(
                "OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(),
                format!("http://{}", collector.address()),
            )],
            files: vec![(
                ".countersign/config.toml".to_owned(),
                format!("[otel]\nexporter = {exporter}\n"),
            )],
            ..Setting::default()
        };
        let mut stage = Stage::with(json!([[say("hello")]]), setting).await;
        let started = stage.client.call("countersign/thread/start", json!({})).await;
        let thread = started["thread"]["id"].as_str().expect("an id");
        let warnings = stage.until(|method, _| method == "warning").await;
        let told = warnings.last()["message"].as_str().expect("words");
        assert!(told.contains("A project cannot set `otel`"), "{told}");
        let turn = stage.start_turn(thread, PROMPT).await;
        stage.finish(&turn).await;
        assert!(!stage.requests(1)[0].headers.contains_key("traceparent"));
        shut_down(&mut stage).await;
    }
    assert!(collector.received().is_empty());
}

/// Shows S-388.
#[tokio::test]
async fn a_prompt_is_sent_where_the_person_wants_it() {
    let collector = Collector::http().await;
    let exporter = collector.exporter("logs", "");
    let setting = otel(&format!("exporter = {exporter}\nlog_user_prompt = true"));
    let mut stage = Stage::with(json!([[say("hello")]]), setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, &format!("{PROMPT} and {SECRET}")).await;
    shut_down(&mut stage).await;
    let prompts = collector.all("user_prompt");
    assert_eq!(prompts[0].text("prompt"), format!("{PROMPT} and <secret>"));
}

/// Shows S-389.
#[tokio::test]
async fn each_decision_is_told_with_who_made_it() {
    let collector = Collector::http().await;
    let exporter = collector.exporter("logs", "");
    let script = json!([
        [bash("once", "touch a")],
        [bash("session", "touch b")],
        [bash("no", "rm -rf c")],
        [shell("free", &["ls"])],
        [say("more")],
        [bash("stop", "rm -rf d")],
    ]);
    let setting = Setting {
        config: "approval_policy = \"untrusted\"".to_owned(),
        ..otel(&format!("exporter = {exporter}"))
    };
    let mut stage = Stage::with(script, setting).await;
    stage.client.on_request("countersign/approval/command", |params| {
        let decision = match params["itemId"].as_str() {
            Some("once") => "accept",
            Some("session") => "acceptForSession",
            Some("no") => "decline",
            _ => "cancel",
        };
        Reply::Ok(json!({ "decision": decision }))
    });
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    assert_eq!(stage.run(&thread, "Go on").await.status(), "interrupted");
    shut_down(&mut stage).await;
    let decisions = collector.all("tool_decision");
    let mut decided = decided(&decisions);
    decided.sort();
    assert_eq!(
        decided,
        [
            ["free", "shell", "approved", "config"],
            ["no", "shell", "denied", "user"],
            ["once", "shell", "approved", "user"],
            ["session", "shell", "approved_for_session", "user"],
            ["stop", "shell", "abort", "user"],
        ]
    );
}

/// Of each decision the call, its tool, what was decided and by whom.
fn decided(decisions: &[Seen]) -> Vec<[&str; 4]> {
    let fields = ["call_id", "tool_name", "decision", "source"];
    decisions.iter().map(|one| fields.map(|name| one.text(name))).collect()
}

/// Part of S-389: a patch is decided on, too.
#[tokio::test]
async fn a_patch_is_a_decision() {
    let collector = Collector::http().await;
    let exporter = collector.exporter("logs", "");
    let patch = |name: &str| format!("*** Begin Patch\n*** Add File: {name}\n+x\n*** End Patch");
    let script = json!([
        [apply_patch("p", &patch("a"))],
        [apply_patch("q", &patch("b"))],
        [say("done")]
    ]);
    let mut stage = Stage::with(script, otel(&format!("exporter = {exporter}"))).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    for decision in ["accept", "reject"] {
        let created = stage.until_event("proposal/created").await;
        let id = created.last()["proposal"]["id"].clone();
        stage.decide(json!({"proposalId": id, "decision": decision})).await;
    }
    stage.finish(&turn).await;
    shut_down(&mut stage).await;
    let decisions = collector.all("tool_decision");
    let decided = decided(&decisions);
    assert_eq!(
        decided,
        [
            ["p", "apply_patch", "approved", "user"],
            ["q", "apply_patch", "denied", "user"]
        ]
    );
}

/// Shows S-386, S-387.
#[tokio::test]
async fn failures_of_the_model_are_told_with_their_attempts() {
    let collector = Collector::http().await;
    let exporter = collector.exporter("logs", "");
    let script = json!([
        [{"fail": {"status": 503}}],
        [{"say": "broken", "partial": true}, {"drop": true}],
        [say("whole")],
        [{"fail": {"status": 400}}],
    ]);
    let mut stage = Stage::with(script, otel(&format!("exporter = {exporter}"))).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    assert_eq!(stage.run(&thread, "Again").await.status(), "failed");
    shut_down(&mut stage).await;
    let requests = collector.all("api_request");
    let told: Vec<_> = requests
        .iter()
        .map(|one| {
            (
                one.number("attempt"),
                one.number("http.response.status_code"),
                one.fields.contains_key("error.message"),
            )
        })
        .collect();
    assert_eq!(told, [(1, 503, true), (2, 200, false), (3, 200, false), (1, 400, true)]);
    let failed: Vec<Seen> = collector
        .all("sse_event")
        .into_iter()
        .filter(|one| one.fields.contains_key("error.message"))
        .collect();
    assert_eq!(failed.len(), 1, "{failed:#?}");
    assert!(!failed[0].text("error.message").is_empty());
}

/// Shows S-085.
#[tokio::test]
async fn refused_steering_leaves_no_prompt() {
    let collector = Collector::http().await;
    let exporter = collector.exporter("logs", "");
    let script = json!([
        [bash("c", "echo ready; until test -e go; do sleep 0.02; done")],
        [say("done")]
    ]);
    let mut stage = Stage::with(script, otel(&format!("exporter = {exporter}"))).await;
    let thread = stage.thread().await;
    assert!(
        stage
            .steer(&thread, "no such turn", "refused: nothing runs")
            .await
            .is_err()
    );
    let turn = stage.start_turn(&thread, "taken").await;
    stage.until_output("ready").await;
    assert!(
        stage
            .steer(&thread, "another turn", "refused: another one")
            .await
            .is_err()
    );
    assert!(stage.steer(&thread, &turn, "  ").await.is_err());
    stage.steer(&thread, &turn, "taken, too").await.expect("it runs");
    stage.write("go", "");
    stage.finish(&turn).await;
    assert!(stage.steer(&thread, &turn, "refused: it is over").await.is_err());
    shut_down(&mut stage).await;
    let prompts = collector.all("user_prompt");
    let lengths: Vec<i64> = prompts.iter().map(|prompt| prompt.number("prompt_length")).collect();
    assert_eq!(lengths, ["taken".len() as i64, "taken, too".len() as i64]);
}

/// Shows S-393.
#[tokio::test]
async fn the_turns_are_counted_at_the_end() {
    let collector = Collector::http().await;
    let exporter = collector.exporter("logs", "");
    let script = json!([[say("one")], [say("two")], [say("three")]]);
    let mut stage = Stage::with(script, otel(&format!("exporter = {exporter}"))).await;
    let thread = stage.thread().await;
    for words in ["first", "second", "third"] {
        stage.complete(&thread, words).await;
    }
    assert!(collector.counts().is_empty(), "at the end");
    shut_down(&mut stage).await;
    let counts = collector.counts();
    assert_eq!(counts.len(), 1);
    let (count, value) = &counts[0];
    assert_eq!(
        (count.name.as_str(), *value),
        ("countersign.conversation.turn.count", 3)
    );
    assert_eq!(count.fields["conversation.id"], thread);
}

/// Part of S-385: the key of a provider is a login, and is never told.
#[tokio::test]
async fn who_is_logged_in_is_told_and_not_the_key() {
    let collector = Collector::http().await;
    let exporter = collector.exporter("logs", "");
    let mut setting = Setting {
        provider: "env_key = \"ACME_KEY\"".to_owned(),
        ..otel(&format!("exporter = {exporter}"))
    };
    setting.env.push(("ACME_KEY".to_owned(), "acme-0123456789".to_owned()));
    let mut stage = Stage::with(json!([[bash("c", "echo acme-0123456789")], [say("done")]]), setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    shut_down(&mut stage).await;
    assert!(
        collector
            .records()
            .iter()
            .all(|record| record.text("auth_mode") == "ApiKey")
    );
    assert!(collector.all("tool_result")[0].text("output").contains("<secret>"));
    for received in collector.received() {
        assert!(!String::from_utf8_lossy(&received.body).contains("acme-0123456789"));
    }
}
