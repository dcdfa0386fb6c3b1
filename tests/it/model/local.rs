//! Servers on this machine.

use super::*;
use countersign::model::local;

#[tokio::test]
async fn a_local_server_is_found() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let other = Raw {
        content_type: "text/html",
        ..Raw::events("<html>my web site</html>")
    }
    .serve()
    .await;
    let embedding = rehearse(json!({"models": ["nomic-embed-text"], "steps": []})).await;
    let server = rehearse(json!({"models": ["nomic-embed-text", "qwen3:8b"], "steps": []})).await;
    let candidate = |id: &str, base_url: &str| local::Candidate {
        id: id.into(),
        name: id.to_uppercase(),
        base_url: base_url.into(),
    };
    let nobody = [
        candidate("gone", "http://127.0.0.1:9/v1"),
        candidate(
            "silent",
            &format!("http://{}/v1", silent.local_addr().expect("an address")),
        ),
        candidate("page", &other),
        candidate("embedding", &embedding.base_url),
    ];
    // More than the usual limit: this machine is slow, and what is shown is that silence ends.
    let limit = Duration::from_secs(1);
    assert_eq!(within(local::detect(&nobody, limit)).await, None);
    let mut candidates = nobody.to_vec();
    candidates.push(candidate("here", &server.base_url));
    candidates.push(candidate("also", &server.base_url));
    let found = within(local::detect(&candidates, Duration::from_secs(10)))
        .await
        .expect("a server");
    assert_eq!((found.id.as_str(), found.model.as_str()), ("here", "qwen3:8b"));
    assert_eq!(
        (found.provider.base_url.as_str(), found.provider.name.as_str()),
        (server.base_url.as_str(), "HERE")
    );
    assert_eq!(found.models.len(), 2);
}

/// How much a model is loaded with, in the words of each server; nothing where it is not said of this model.
#[tokio::test]
async fn the_window_that_a_local_server_has_loaded_is_found() {
    let table = [
        (json!({"models": [{"name": "m", "context_length": 4096}]}), Some(4096)),
        (json!({"models": [{"model": "m", "context_length": "8192"}]}), None),
        (json!({"models": [{"name": "other", "context_length": 4096}]}), None),
        (json!({"models": [{"name": "m", "context_length": 0}]}), None),
        (json!({"models": [{"name": "m"}]}), None),
        (
            json!({"data": [{"id": "m", "loaded_context_length": 8192, "max_context_length": 131_072}]}),
            Some(8192),
        ),
        (
            json!({"data": [{"id": "m", "max_context_length": 131_072}]}),
            Some(131_072),
        ),
        (json!({"default_generation_settings": {"n_ctx": 2048}}), Some(2048)),
        (json!({"default_generation_settings": {"n_ctx": -1}}), None),
        (json!([]), None),
        (json!("<html>"), None),
    ];
    for (body, window) in table {
        let server = Raw {
            content_type: "application/json",
            ..Raw::events(body.to_string())
        };
        let client = client(&server.serve().await, WireApi::Chat);
        let found = within(local::window(&client, "m", Duration::from_secs(20))).await;
        assert_eq!(found, window, "{body}");
    }
    // Nobody there: nothing is known, and it ends.
    let gone = client("http://127.0.0.1:9/v1", WireApi::Chat);
    assert_eq!(within(local::window(&gone, "m", Duration::from_secs(20))).await, None);
}
