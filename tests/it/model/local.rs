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
    let found = within(local::detect(&candidates, limit)).await.expect("a server");
    assert_eq!((found.id.as_str(), found.model.as_str()), ("here", "qwen3:8b"));
    assert_eq!(
        (found.provider.base_url.as_str(), found.provider.name.as_str()),
        (server.base_url.as_str(), "HERE")
    );
    assert_eq!(found.models.len(), 2);
}
