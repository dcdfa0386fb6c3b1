//! Telemetry over time: the trace of a thread to its end, and collectors that are not well.

use super::stage::{Stage, bash, say};
use super::telemetry::{PROMPT, names, otel, shut_down};
use crate::support::collector::{Collector, Mood};
use serde_json::json;
use std::time::{Duration, Instant};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Shows S-394.
#[tokio::test]
async fn a_trace_says_how_its_thread_ended() {
    let collector = Collector::http().await;
    let exporter = collector.exporter("traces", "");
    let script = || json!([[bash("c", "echo hello")], [say("done")]]);
    let setting = || {
        let mut setting = otel(&format!("trace_exporter = {exporter}"));
        let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
        setting.env.push(("TRACEPARENT".to_owned(), parent));
        setting.env.push(("TRACESTATE".to_owned(), "vendor=1".to_owned()));
        setting
    };
    let mut stage = Stage::with(script(), setting()).await;
    let thread = stage.thread().await;
    stage.complete(&thread, PROMPT).await;
    // The model is part of the same trace, each request under a span of its own.
    let sent = stage.requests(2);
    let parents: Vec<&str> = sent
        .iter()
        .map(|request| request.headers["traceparent"].as_str())
        .collect();
    assert!(
        parents
            .iter()
            .all(|parent| parent.starts_with(&format!("00-{TRACE}-")) && parent.ends_with("-01"))
    );
    assert_ne!(parents[0], parents[1]);
    assert_eq!(sent[0].headers["tracestate"], "vendor=1");
    shut_down(&mut stage).await;
    let spans = collector.spans();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(spans.iter().all(|span| hex(&span.trace_id) == TRACE));
    let last = spans.last().expect("a span");
    let field = |name: &str| {
        json!(last)["attributes"]
            .as_array()
            .expect("fields")
            .iter()
            .find(|field| field["key"] == name)
            .cloned()
    };
    assert_eq!(last.name, "thread");
    assert_eq!(hex(&last.parent_span_id), "b7ad6b7169203331");
    assert_eq!(field("status").expect("a status")["value"]["stringValue"], "completed");
    assert_eq!(field("conversation.id").expect("an id")["value"]["stringValue"], thread);
    assert!(
        last.events
            .iter()
            .any(|event| event.name == "countersign/thread/closed")
    );
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let turn = named("turn")[0];
    assert_eq!(turn.parent_span_id, last.span_id);
    for method in [
        "countersign/turn/started",
        "countersign/item/completed",
        "countersign/turn/completed",
    ] {
        assert!(turn.events.iter().any(|event| event.name == method), "{method}");
    }
    for (name, count) in [("model request", 2), ("tool shell", 1)] {
        assert_eq!(named(name).len(), count, "{name}");
        assert!(named(name).iter().all(|span| span.parent_span_id == turn.span_id && span.end_time_unix_nano >= span.start_time_unix_nano));
    }
    let requests: Vec<String> = named("model request").iter().map(|span| hex(&span.span_id)).collect();
    assert!(
        parents
            .iter()
            .all(|parent| requests.iter().any(|span| parent.contains(span.as_str())))
    );
    // One that is killed says nothing of its end.
    let before = named("thread").len();
    let mut stage = Stage::with(script(), setting()).await;
    let thread = stage.thread().await;
    stage.complete(&thread, PROMPT).await;
    collector
        .until("the turn is told", |now| now.spans().len() > spans.len())
        .await;
    let pid = rustix::process::Pid::from_raw(stage.client.server_pid() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("a signal");
    stage.client.expect_end().await;
    assert_eq!(
        collector.spans().iter().filter(|span| span.name == "thread").count(),
        before
    );
}

/// Shows S-392.
#[tokio::test]
async fn a_collector_that_is_away_ill_or_slow_holds_nobody_up() {
    // A port at which nobody listens, one that never answers, one that answers with errors only.
    let (gone, silent, ill) = (
        Collector::http().await,
        Collector::http().await,
        Collector::grpc().await,
    );
    let away = gone.exporter("logs", "");
    drop(gone);
    silent.set(Mood::Silent);
    ill.set(Mood::Status(500));
    for exporter in [away, silent.exporter("logs", ""), ill.exporter("logs", "")] {
        let setting = otel(&format!("exporter = {exporter}\ntrace_exporter = {exporter}"));
        let script = json!([[bash("c", "echo hello")], [say("done")], [say("again")]]);
        let mut stage = Stage::with(script, setting).await;
        let thread = stage.thread().await;
        stage.complete(&thread, "Go").await;
        stage.complete(&thread, "And again").await;
        let begun = Instant::now();
        shut_down(&mut stage).await;
        assert!(begun.elapsed() < Duration::from_secs(20), "{exporter}");
    }
}

/// Part of S-392: what was not taken is tried again until it is, and nothing is told twice.
#[tokio::test]
async fn a_collector_that_comes_back_gets_everything() {
    let collector = Collector::http().await;
    let address = collector.address();
    collector.set(Mood::Status(503));
    let exporter = collector.exporter("logs", "");
    let mut stage = Stage::with(
        json!([[say("one")], [say("two")]]),
        otel(&format!("exporter = {exporter}")),
    )
    .await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    collector.until("it was tried", |now| !now.received().is_empty()).await;
    assert!(collector.records().is_empty());
    drop(collector);
    let collector = Collector::http_at(address).await;
    stage.complete(&thread, "And again").await;
    collector
        .until("all is there", |now| now.all("user_prompt").len() == 2)
        .await;
    shut_down(&mut stage).await;
    let records = collector.records();
    assert_eq!(records[0].name, "countersign.conversation_starts");
    assert_eq!(
        names(&records)
            .iter()
            .filter(|name| **name == "countersign.api_request")
            .count(),
        2
    );
}
