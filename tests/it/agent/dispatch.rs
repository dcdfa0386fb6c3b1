//! How requests are carried out, whoever they are for: known and unknown ones, in whose trace, and how they are written down.

use super::stage::{Setting, Stage, say};
use countersign::protocol::event::EVENTS;
use serde_json::{Value, json};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

fn log(stage: &Stage) -> String {
    std::fs::read_to_string(stage.client.home().join("log/countersign.log")).expect("a log")
}

fn variable(name: &str, value: &str) -> Setting {
    Setting {
        env: vec![(name.to_owned(), value.to_owned())],
        ..Setting::default()
    }
}

/// Shows S-037.
#[tokio::test]
async fn what_nobody_knows_changes_nothing() {
    let stage = Stage::new(json!([[say("Here.")]])).await;
    let thread = stage.thread().await;
    for method in [
        "countersign/made/up",
        "countersign/turn/started",
        "made/up",
        "$/madeUp",
        "realtime",
    ] {
        let params = json!({"threadId": thread});
        stage.client.notify(method, params.clone());
        let refused = stage.client.request(method, params).await.expect_err(method);
        assert_eq!(refused.code, -32601, "{method}: {refused:?}");
    }
    let story = stage.complete(&thread, "Are you there?").await;
    assert_eq!(story.last()["lastAgentMessage"], "Here.");
    assert!(story.names().contains(&"turn/started"));
}

/// Shows S-440.
#[tokio::test]
async fn input_is_acknowledged_when_it_is_taken_and_refused_where_there_is_no_thread() {
    let stage = Stage::new(json!([[say("One.")], [say("Two.")]])).await;
    let thread = stage.thread().await;
    let input = json!([{"type": "text", "text": "Go"}]);
    // The second with all settings of a turn.
    let settings = json!({
        "model": "rehearsal", "effort": "low", "cwd": stage.dir, "approvalPolicy": "never",
        "sandboxPolicy": {"type": "readOnly"},
    });
    for extra in [json!({}), json!({"settings": settings})] {
        let with = |thread: &str| {
            let mut params = json!({"threadId": thread, "input": input});
            let fields = params.as_object_mut().expect("an object");
            fields.extend(extra.as_object().expect("an object").clone());
            params
        };
        let id = stage.client.send_request("countersign/turn/start", with(&thread));
        let answer = stage.client.expect_answer(json!(id)).await.expect("it is taken");
        assert_eq!(answer["turn"]["status"], "inProgress");
        stage.finish(answer["turn"]["id"].as_str().expect("an id")).await;
        let trace = stage.client.trace();
        let at = |name: &str| trace.iter().rposition(|seen| seen == name);
        assert!(
            at(&format!("answer {id}")) < at("countersign/turn/started"),
            "{trace:#?}"
        );
        let unknown = with("01890000-0000-7000-8000-000000000000");
        let refused = stage.client.request("countersign/turn/start", unknown).await;
        assert_eq!(refused.expect_err("no such thread").data["kind"], "threadNotLoaded");
    }
}

/// Shows S-038.
#[tokio::test]
async fn a_request_is_carried_out_under_the_clients_trace() {
    let setting = variable("COUNTERSIGN_LOG", "countersign=debug");
    let stage = Stage::with(json!([[say("One.")]]), setting).await;
    let thread = stage.thread().await;
    let carrier = json!({"traceparent": format!("00-{TRACE}-{SPAN}-01"), "tracestate": "vendor=7"});
    let list = |id: &str, trace: Value| {
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": "countersign/thread/list", "params": {}});
        message["trace"] = trace;
        message
    };
    for (id, trace) in [
        ("traced", carrier.clone()),
        ("wrong", json!({"traceparent": format!("00-{TRACE}-01")})),
        ("odd", json!("a text")),
    ] {
        stage.client.send(&list(id, trace));
        let answer = stage.client.expect_answer(json!(id)).await;
        assert!(answer.is_ok(), "{id}: {answer:?}");
    }
    // Beside the parameters, for clients that cannot reach the envelope.
    let params = json!({"threadId": thread, "input": [{"type": "text", "text": "Go"}], "_meta": carrier});
    stage.run_with(params).await;
    let log = log(&stage);
    let requests = |kind: &str| -> Vec<&str> {
        let name = format!("op.dispatch.countersign/{kind}{{");
        let lines = log.lines().filter(|line| line.contains(&name));
        lines.collect()
    };
    let linked = |line: &str| {
        line.contains(&format!("trace_id=\"{TRACE}\"")) && line.contains(&format!("parent_span_id=\"{SPAN}\""))
    };
    let lists = requests("thread/list");
    let number = |line: &str| {
        let after = line.split_once("submission_id=").expect("a number").1;
        after
            .split(' ')
            .next()
            .expect("a number")
            .parse::<u64>()
            .expect("a number")
    };
    let begun: Vec<&str> = lists
        .iter()
        .filter(|line| line.contains("request id="))
        .copied()
        .collect();
    assert_eq!(begun.len(), 3, "{lists:#?}");
    assert!(
        begun
            .iter()
            .all(|line| line.contains("kind=\"countersign/thread/list\"")),
        "{lists:#?}"
    );
    assert!(number(begun[0]) < number(begun[1]) && number(begun[1]) < number(begun[2]));
    assert!(
        linked(begun[0]) && begun[0].contains("trace_state=\"vendor=7\""),
        "{lists:#?}"
    );
    assert!(!linked(begun[1]) && !linked(begun[2]));
    let ignored = |line: &&&str| line.contains("WARN") && line.contains("trace context of a request was ignored");
    assert_eq!(lists.iter().filter(ignored).count(), 2, "{lists:#?}");
    assert!(requests("turn/start").iter().any(|line| linked(line)), "{log}");
}

/// Shows S-049.
#[tokio::test]
async fn every_message_is_written_down_where_that_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("not/there/yet/trace.jsonl");
    let setting = variable("COUNTERSIGN_TRACE_FILE", path.to_str().expect("text"));
    let stage = Stage::with(json!([[say("One.")]]), setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go\nnow").await;
    let text = std::fs::read_to_string(&path).expect("a trace");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let at = |from: &str, method: &str| {
        let is_it = |line: &Value| line["from"] == from && line["message"]["method"] == method;
        lines
            .iter()
            .position(is_it)
            .unwrap_or_else(|| panic!("no {method} of the {from} in {text}"))
    };
    let order = [
        at("client", "initialize"),
        at("client", "countersign/turn/start"),
        at("server", "countersign/turn/started"),
        at("server", "countersign/turn/completed"),
    ];
    assert!(order.is_sorted(), "{order:?}");
    assert!(lines.iter().all(|line| line["atMs"].as_i64().is_some_and(|ms| ms > 0)));
    let input = &lines[order[1]]["message"]["params"]["input"][0]["text"];
    assert_eq!(input, "Go\nnow");
    // One that cannot be written is told of in the log, and no obstacle.
    let path = path.join("below/a/file");
    let setting = variable("COUNTERSIGN_TRACE_FILE", path.to_str().expect("text"));
    let stage = Stage::with(json!([[say("One.")]]), setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let log = log(&stage);
    let line = log
        .lines()
        .find(|line| line.contains("the trace file cannot be opened"));
    assert!(
        line.is_some_and(|line| line.contains("WARN") && line.contains("below/a/file")),
        "{log}"
    );
}

/// Shows S-041.
#[tokio::test]
async fn an_event_is_a_notification_whose_method_is_its_tag() {
    let schema = include_str!("../../../docs/protocol.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("a schema");
    let shell = json!({"call": {"tool": "shell", "arguments": {"command": ["echo", "x"]}, "id": "c1"}});
    let stage = Stage::new(json!([[shell], [say("One.")]])).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    for (name, params) in &story.events {
        let method = format!("countersign/{name}");
        let row = EVENTS.iter().find(|row| row.0 == method);
        let (_, of, _) = row.unwrap_or_else(|| panic!("{method} is in no table"));
        // The thread and the number are the same in each; the rest is by its own type.
        assert_eq!(params["threadId"], thread[..], "{method}");
        let of = &schema["$defs"][of];
        let place = &schema["$defs"]["At"];
        assert!(of.is_object() && place.is_object(), "{method}");
        let required = |shape: &Value| shape["required"].as_array().cloned().unwrap_or_default();
        let needed: Vec<Value> = [required(of), required(place)].concat();
        for field in &needed {
            assert!(
                params.get(field.as_str().expect("a name")).is_some(),
                "{method}: {field}"
            );
        }
        for field in params.as_object().expect("an object").keys() {
            let known = |shape: &Value| shape["properties"].get(field).is_some();
            assert!(known(of) || known(place), "{method}: {field}");
        }
    }
    assert!(story.events.len() > 6);
}
