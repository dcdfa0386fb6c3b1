//! What goes wrong with a voice, and what it costs: never more than the voice.

use super::super::stage::{Setting, Stage, say};
use super::{connection, one_of, sound, stage};
use serde_json::{Value, json};

/// Starts that fail, by what the endpoint does, with a word of the reason.
fn failing() -> Vec<(Value, &'static str)> {
    let garbage = |count: usize| -> Value { (0..count).map(|_| json!({"text": "<html>"})).collect() };
    vec![
        (
            json!([{"fail": {"status": 401, "body": {"error": {"message": "bad key"}}}}]),
            "bad key",
        ),
        (json!([{"fail": {"status": 500, "body": "<html>down</html>"}}]), "500"),
        (
            json!([{"fail": {"status": 302, "headers": {"location": "http://127.0.0.1:1/"}}}]),
            "302",
        ),
        (
            json!([{"fail": {"status": 200, "body": {"hello": 1}}}]),
            "opened no WebSocket",
        ),
        (json!([{"drop": true}]), "127.0.0.1"),
        (json!([{"begin": true}, {"drop": true}]), "voice endpoint"),
        (
            json!([{"await": "session.update"}, {"close": {"code": 4001, "reason": "go away"}}]),
            "go away",
        ),
        (
            json!([{"event": {"type": "error", "error": {"message": "no such model"}}}]),
            "no such model",
        ),
        (json!([{"raw_bytes": [243, 0]}]), "cannot be understood"),
        (
            json!([{"raw_bytes": format!("HTTP/1.1 500 Oops\r\n\r\n{}", "Oops. ".repeat(40))}]),
            "cannot be understood",
        ),
        (json!([{"huge": 5_000_000}]), "more than 4 MiB"),
        (garbage(40), "cannot be understood"),
        // Silence before the connection is taken up, and after.
        (json!([{"stall": true}]), "not ready within 4 s"),
        (json!([{"begin": true}, {"stall": true}]), "not ready within 4 s"),
        (json!([{"begin": true}]), "not ready within 4 s"),
    ]
}

/// Shows S-396.
#[tokio::test]
async fn a_start_that_fails_is_one_error_and_the_thread_goes_on() {
    let table = failing();
    let scripts = table.iter().map(|(script, _)| script.clone());
    let steps = json!([{"repeat": true, "outputs": [say("Still here.")]}]);
    let stage = stage(steps, scripts, "[realtime]\nstart_timeout_ms = 4000").await;
    let thread = stage.thread().await;
    for (script, wanted) in &table {
        let started = stage.realtime("start", &thread, json!({})).await;
        let (method, params) = stage.next().await;
        assert_eq!(method, "error", "{script}: {params}");
        assert_eq!(
            (&params["error"]["kind"], &params["realtimeId"]),
            (&json!("other"), &started["realtimeId"])
        );
        let message = params["error"]["message"].as_str().expect("text");
        assert!(message.contains(wanted), "{script}: {message}");
        assert!(params.get("turnId").is_none());
        assert_eq!(
            stage.realtime("close", &thread, json!({})).await["closing"],
            false,
            "{script}"
        );
        let story = stage.complete(&thread, "Are you there?").await;
        assert_eq!(story.last()["lastAgentMessage"], "Still here.");
    }
    let calls = stage.model.calls();
    assert_eq!(calls.len(), table.len());
}

#[tokio::test]
async fn no_server_at_all_is_the_same_error() {
    let setting = Setting {
        tables: "[realtime]\nbase_url = \"http://127.0.0.1:1/v1\"".to_owned(),
        ..Setting::default()
    };
    let stage = Stage::with(json!([[say("Here.")]]), setting).await;
    let thread = stage.thread().await;
    let started = stage.realtime("start", &thread, json!({})).await;
    let (method, params) = stage.next().await;
    assert_eq!(
        (method.as_str(), &params["realtimeId"]),
        ("error", &started["realtimeId"])
    );
    assert_eq!(params["error"]["kind"], "other");
    stage.complete(&thread, "Hello").await;
}

/// Ends while it runs: what the endpoint does, the reason, and a word of the message.
#[tokio::test]
async fn what_ends_it_ends_only_it() {
    let garbage = (0..40).map(|_| json!({"text": "no JSON"}));
    let errors = (0..40).map(|_| json!({"event": {"type": "error", "error": {"message": "again"}}}));
    let table: Vec<(Value, &str, &str, usize)> = vec![
        (
            connection([json!({"close": {"code": 1001, "reason": "restarting"}})]),
            "endpoint",
            "restarting",
            0,
        ),
        (connection([json!({"drop": true})]), "", "voice endpoint", 0),
        (connection([json!({"huge": 5_000_000})]), "failed", "more than 4 MiB", 0),
        (
            connection([json!({"raw_bytes": [243, 0]})]),
            "failed",
            "cannot be understood",
            0,
        ),
        (connection(garbage), "failed", "cannot be understood", 32),
        (connection(errors), "failed", "one error after the other (again)", 32),
    ];
    let steps = json!([{"repeat": true, "outputs": [say("Still here.")]}]);
    let scripts = table.iter().map(|row| row.0.clone());
    let stage = stage(steps, scripts, "").await;
    let thread = stage.thread().await;
    for (script, reason, words, errors) in &table {
        let id = stage.speak(&thread, json!({})).await;
        let story = stage.until_event("realtime/closed").await;
        let closed = one_of(&story, "realtime/closed");
        assert_eq!(closed["realtimeId"], *id);
        let message = closed["message"].as_str().expect("text");
        assert!(message.contains(words), "{script}: {message}");
        assert!(reason.is_empty() || closed["reason"] == *reason, "{script}: {closed}");
        assert_eq!(story.all("realtime/error").len(), *errors, "{script}");
        stage.complete(&thread, "Are you there?").await;
    }
}

#[tokio::test]
async fn what_is_odd_is_borne() {
    let odd = connection([
        json!({"ping": "are you there"}),
        json!({"text": "{"}),
        json!({"event": {"type": "never.heard.of", "delta": [1]}}),
        json!({"event": {"type": "error", "error": {"message": "too short"}}}),
        json!({"event": {"type": "response.output_audio.delta", "delta": "***"}}),
        json!({"binary": "{\"type\": \"response.output_text.delta\", \"delta\": \"in bytes\"}"}),
        json!({"event": {"type": "response.output_text.done", "text": "whole"}}),
    ]);
    let stage = stage(json!([]), [odd], "").await;
    let thread = stage.thread().await;
    stage.speak(&thread, json!({"outputModality": "text"})).await;
    let story = stage.until_event("realtime/transcript/done").await;
    let errors: Vec<_> = story
        .all("realtime/error")
        .iter()
        .map(|error| error["message"].clone())
        .collect();
    assert_eq!(errors.len(), 3, "{errors:#?}");
    assert!(errors[1].as_str().expect("text").contains("too short"));
    assert_eq!(one_of(&story, "realtime/transcript/delta")["delta"], "in bytes");
    let call = stage.endpoint(|call| !call.pongs.is_empty()).await;
    assert_eq!(call.pongs, ["are you there"]);
    stage.client.ignore("countersign/realtime/closed");
}

/// An answer that the endpoint was asked for and refuses leaves nobody waiting: the next words are answered.
#[tokio::test]
async fn an_answer_that_is_refused_gives_the_floor_back() {
    for refusal in [
        json!({"message": "not now"}),
        json!({"message": "not now", "event_id": "countersign-respond"}),
    ] {
        let script = connection([
            json!({"await": "response.create"}),
            json!({"event": {"type": "error", "error": refusal}}),
            json!({"await": "response.create"}),
            json!({"event": {"type": "response.output_text.done", "text": "At last."}}),
        ]);
        let stage = stage(json!([]), [script], "").await;
        let thread = stage.thread().await;
        stage.speak(&thread, json!({"outputModality": "text"})).await;
        stage.realtime("text", &thread, json!({"text": "One"})).await;
        let story = stage.until_event("realtime/error").await;
        let message = one_of(&story, "realtime/error")["message"].clone();
        assert!(
            message.as_str().is_some_and(|text| text.contains("not now")),
            "{message}"
        );
        stage.realtime("text", &thread, json!({"text": "Two"})).await;
        let story = stage.until_event("realtime/transcript/done").await;
        assert_eq!(one_of(&story, "realtime/transcript/done")["text"], "At last.");
        stage.client.ignore("countersign/realtime/closed");
    }
}

#[tokio::test]
async fn requests_that_cannot_be_meant_are_refused() {
    let stage = stage(json!([]), [connection([])], "").await;
    let thread = stage.thread().await;
    let audio = |audio: Value| json!({"audio": audio});
    // Before it is started.
    for (method, more) in [("audio", sound(&[1, 2])), ("text", json!({"text": "x"}))] {
        assert_eq!(
            stage.not_taken(method, &thread, more).await,
            (-32803, json!("realtimeNotRunning"))
        );
    }
    assert_eq!(stage.realtime("close", &thread, json!({})).await["closing"], false);
    for bad in [
        json!({"voice": "nobody"}),
        json!({"voice": "cove", "version": "v2"}),
        json!({"voice": "marin", "version": "v1"}),
        json!({"voice": ""}),
        json!({"version": "v3"}),
        json!({"outputModality": "smell"}),
    ] {
        assert_eq!(stage.not_taken("start", &thread, bad.clone()).await.0, -32602, "{bad}");
    }
    stage.speak(&thread, json!({})).await;
    let large = sound(&vec![0; 96 * 1024 + 2]);
    for bad in [
        json!({}),
        audio(json!({})),
        audio(json!({"data": 7})),
        audio(json!({"data": ""})),
        audio(json!({"data": "AAA"})),
        audio(json!({"data": "A-_="})),
        audio(json!({"data": "AAAA"})),
        audio(json!({"data": "AAA=", "sampleRate": 48_000})),
        audio(json!({"data": "AAA=", "channels": 2})),
        large,
    ] {
        let refused = stage.not_taken("audio", &thread, bad.clone()).await;
        assert_eq!(
            refused.0,
            -32602,
            "{}",
            bad.to_string().chars().take(80).collect::<String>()
        );
    }
    for bad in [json!({"text": "  \n"}), json!({"text": "x".repeat(40_000)}), json!({})] {
        assert_eq!(stage.not_taken("text", &thread, bad).await.0, -32602);
    }
    for method in ["start", "close"] {
        assert_eq!(stage.not_taken(method, "nobody", json!({})).await.1, "threadNotLoaded");
    }
    stage.realtime("audio", &thread, sound(&[1, 2])).await;
    let call = stage.endpoint(|call| call.received.len() == 2).await;
    assert_eq!(call.received[1]["audio"], "AQI=");
    stage.client.ignore("countersign/realtime/closed");
}

/// An endpoint that reads nothing is not fed without end, and can be left at once.
#[tokio::test]
async fn who_speaks_faster_than_is_heard_is_told() {
    let stage = stage(json!([]), [connection([json!({"stall": true})])], "").await;
    let thread = stage.thread().await;
    stage.speak(&thread, json!({})).await;
    let piece = sound(&vec![7; 96 * 1024]);
    let mut taken = 0;
    loop {
        let params = super::with_thread(&thread, piece.clone());
        match stage.client.request("countersign/realtime/audio", params).await {
            Ok(_) => taken += 1,
            Err(error) => {
                assert_eq!(error.data["kind"], "realtimeBusy");
                break;
            }
        }
        // Of the sockets' buffers some megabytes, and one of ours.
        assert!(taken < 1000);
    }
    assert!(taken >= 7, "{taken}");
    stage.realtime("close", &thread, json!({})).await;
    let story = stage.until_event("realtime/closed").await;
    assert_eq!(one_of(&story, "realtime/closed")["reason"], "requested");
}

#[tokio::test]
async fn one_that_still_starts_can_be_closed_and_started_again() {
    let stage = stage(json!([]), [json!([{"stall": true}]), connection([])], "").await;
    let thread = stage.thread().await;
    stage.realtime("start", &thread, json!({})).await;
    super::within(stage.model.wait_for_calls(|calls| calls.len() == 1)).await;
    assert_eq!(stage.realtime("close", &thread, json!({})).await["closing"], true);
    // Nothing was told of the first.
    let started = stage.realtime("start", &thread, json!({})).await;
    let (method, params) = stage.next().await;
    assert_eq!(
        (method.as_str(), &params["realtimeId"]),
        ("realtime/started", &started["realtimeId"])
    );
    stage.client.ignore("countersign/realtime/closed");
}
