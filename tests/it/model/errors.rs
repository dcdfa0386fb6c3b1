//! What a provider says has gone wrong, and what is made of it.

use super::*;

#[tokio::test]
async fn failures_within_a_stream_keep_their_words() {
    let failed =
        |code: &str| json!({"type": "response.failed", "response": {"error": {"code": code, "message": "the words"}}});
    let table = [
        (
            json!({"type": "error", "error": {"type": "server_error", "message": "the words"}}),
            TurnErrorKind::ServerError,
        ),
        (
            json!({"type": "error", "code": "server_error", "message": "the words", "param": null}),
            TurnErrorKind::ServerError,
        ),
        (json!({"error": {"message": "the words"}}), TurnErrorKind::ServerError),
        (json!({"error": "the words"}), TurnErrorKind::ServerError),
        (failed("server_error"), TurnErrorKind::ServerError),
        (failed("context_length_exceeded"), TurnErrorKind::ContextWindowExceeded),
        (failed("insufficient_quota"), TurnErrorKind::QuotaExceeded),
        (failed("invalid_prompt"), TurnErrorKind::BadRequest),
        (failed("server_is_overloaded"), TurnErrorKind::ServerOverloaded),
        (failed("slow_down"), TurnErrorKind::ServerOverloaded),
        (failed("rate_limit_exceeded"), TurnErrorKind::RateLimitExceeded),
        (
            json!({"type": "response.completed", "response": {"status": "failed", "error": {"message": "the words"}}}),
            TurnErrorKind::ServerError,
        ),
    ];
    for (event, wanted) in table {
        let heard = hear_events(&[
            json!({"type": "response.created"}),
            message_done("before"),
            event.clone(),
        ])
        .await;
        let error = heard.error.as_ref().expect("an error").turn_error();
        assert_eq!(error.kind, wanted, "{event}");
        assert!(error.message.contains("the words"), "{event} {error:?}");
        assert_eq!(heard.short(), ["message:before"], "what was finished stays");
    }
    let incomplete =
        json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}});
    let delta = json!({"type": "response.output_text.delta", "item_id": "m", "delta": "cut sh"});
    let heard = hear_events(&[delta, incomplete]).await;
    assert_eq!(
        heard.kind(),
        &ErrorKind::Incomplete {
            reason: "max_output_tokens".into()
        }
    );
    assert_eq!(heard.short(), ["message:cut sh"]);
}

/// Shows S-217.
#[tokio::test]
async fn answers_with_an_error_status() {
    let fail = |fail: Value| json!([[{ "fail": fail }]]);
    let table = [
        (
            json!({"status": 401, "body": {"error": {"message": "bad key"}}}),
            TurnErrorKind::Unauthorized,
            None,
        ),
        (
            json!({"status": 404, "body": {"error": {"message": "x", "code": "model_not_found"}}}),
            TurnErrorKind::ModelNotFound,
            None,
        ),
        (
            json!({"status": 400, "body": {"error": {"message": "x", "code": "context_length_exceeded"}}}),
            TurnErrorKind::ContextWindowExceeded,
            None,
        ),
        (json!({"status": 400}), TurnErrorKind::BadRequest, None),
        (
            json!({"status": 429, "retry_after": 3}),
            TurnErrorKind::RateLimitExceeded,
            Some(3000),
        ),
        (
            json!({"status": 429, "body": {"error": {"message": "try again in 1.5s"}}}),
            TurnErrorKind::RateLimitExceeded,
            Some(1500),
        ),
        (
            json!({"status": 503, "headers": {"retry-after-ms": "70"}}),
            TurnErrorKind::ServerError,
            Some(70),
        ),
        (
            json!({"status": 429, "body": {"error": {"type": "usage_limit_reached", "message": "x"}}}),
            TurnErrorKind::UsageLimitExceeded,
            None,
        ),
        (
            json!({"status": 302, "headers": {"location": "/elsewhere"}, "body": ""}),
            TurnErrorKind::ServerError,
            None,
        ),
    ];
    for (step, kind, delay) in table {
        for wire_api in BOTH {
            let server = rehearse(fail(step.clone())).await;
            let heard = hear(&client(&server.base_url, wire_api), &ask()).await;
            let error = heard.error.expect("an error");
            let turn_error = error.turn_error();
            assert_eq!(
                (turn_error.kind, turn_error.http_status),
                (kind, step["status"].as_u64().map(|s| s as u16)),
                "{step}"
            );
            assert!(
                turn_error.message.contains("Acme") && turn_error.message.contains(&server.base_url),
                "{turn_error:?}"
            );
            let wait = Retry::new(&provider(&server.base_url, wire_api)).next(&error);
            assert_eq!(wait.map(|wait| wait.delay.as_millis()), delay, "{step}");
            assert_eq!(server.requests().len(), 1, "the client makes one attempt");
        }
    }
}

#[tokio::test]
async fn no_connection_and_a_connection_that_breaks_are_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    drop(listener);
    let refused = hear(&client(&base_url, WireApi::Responses), &ask()).await;
    assert!(
        matches!(refused.kind(), ErrorKind::Unreachable { reason, .. } if reason.contains("refused")),
        "{refused:?}"
    );
    let unknown = hear(&client("http://no-such-host.invalid/v1", WireApi::Responses), &ask()).await;
    assert!(
        unknown.error.is_some(),
        "a name that is not there, or a proxy that says so"
    );
    let server = rehearse(json!([[{"drop": true}]])).await;
    let broken = hear(&client(&server.base_url, WireApi::Responses), &ask()).await;
    assert!(matches!(broken.kind(), ErrorKind::Broken { .. }), "{broken:?}");
    for base_url in ["", "nonsense", "ftp://x/v1"] {
        let heard = hear(&client(base_url, WireApi::Responses), &ask()).await;
        assert!(matches!(heard.kind(), ErrorKind::Setup { .. }), "{heard:?}");
    }
}

#[tokio::test]
async fn limits_come_first_and_with_the_error() {
    let limits = json!({"x-codex-primary-used-percent": "12.5", "x-codex-primary-window-minutes": "300"});
    let mut with_limits = json!({"status": 429, "body": {"error": {"type": "usage_limit_reached", "message": "x"}}});
    with_limits["headers"] = limits.clone();
    let server = rehearse(json!([{"headers": limits, "outputs": [{"say": "hi"}]}, [{ "fail": with_limits }]])).await;
    let client = client(&server.base_url, WireApi::Responses);
    let heard = hear(&client, &ask()).await;
    let ModelEvent::RateLimits(limits) = &heard.events[0] else {
        panic!("{heard:?}")
    };
    assert_eq!(limits.primary.expect("a window").used_percent, 12.5);
    let heard = hear(&client, &ask()).await;
    let ErrorKind::UsageLimit {
        rate_limits: Some(limits),
        ..
    } = heard.kind()
    else {
        panic!("{heard:?}")
    };
    assert_eq!(limits.primary.expect("a window").window_minutes, Some(300));
}
