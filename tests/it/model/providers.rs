//! What a provider is configured with, and what it lists.

use super::*;

/// Shows S-063, S-216.
#[tokio::test]
async fn without_its_key_nothing_is_sent() {
    let server = rehearse(json!([[{"say": "hi"}]])).await;
    let provider = Provider {
        env_key: Some("ACME_KEY".into()),
        env_key_instructions: Some("Ask Acme for one.".into()),
        ..provider(&server.base_url, WireApi::Responses)
    };
    for key in [None, Some(String::new()), Some("  ".to_owned())] {
        let heard = hear(&ModelClient::new(&provider, key, "test"), &ask()).await;
        let error = heard.error.expect("an error");
        assert!(
            error.message().contains("ACME_KEY") && error.message().contains("Ask Acme for one."),
            "{error}"
        );
        assert_eq!(Retry::new(&provider).next(&error), None);
    }
    assert_eq!(server.requests().len(), 0);
    let heard = hear(&ModelClient::new(&provider, Some("sk-1".into()), "test"), &ask()).await;
    assert!(heard.completed());
    assert_eq!(server.requests()[0].headers["authorization"], "Bearer sk-1");
}

/// Shows S-218, S-220.
#[tokio::test]
async fn requests_carry_what_the_provider_is_configured_with() {
    let server = rehearse(json!({"steps": [{"repeat": true, "outputs": [{"say": "hi"}]}]})).await;
    for wire_api in BOTH {
        let provider = Provider {
            query_params: [("api-version".to_owned(), "7".to_owned())].into(),
            http_headers: [("x-team".to_owned(), "blue".to_owned())].into(),
            ..provider(&server.base_url, wire_api)
        };
        let client = ModelClient::new(&provider, None, &ModelClient::user_agent())
            .with_headers([("x-from-env".to_owned(), "green".to_owned())]);
        let request = ModelRequest {
            output_schema: Some(json!({"type": "object"})),
            ..ask()
        };
        assert!(hear(&client, &request).await.completed());
        let recorded = server.requests().pop().expect("a request");
        assert_eq!(
            (
                recorded.headers["x-team"].as_str(),
                recorded.headers["x-from-env"].as_str()
            ),
            ("blue", "green")
        );
        assert_eq!(recorded.headers["user-agent"], ModelClient::user_agent());
        assert!(ModelClient::user_agent().starts_with(concat!("countersign/", env!("CARGO_PKG_VERSION"), " (")));
        assert_eq!(recorded.headers["x-client-request-id"], "turn-1");
        assert_eq!(recorded.headers["accept"], "text/event-stream");
        assert_eq!(recorded.tools(), ["shell", "apply_patch"]);
        let schema = if wire_api == WireApi::Chat {
            "/response_format/json_schema/schema"
        } else {
            "/text/format/schema"
        };
        assert_eq!(recorded.body.pointer(schema), Some(&json!({"type": "object"})));
        assert_eq!(recorded.instructions(), "Be brief.");
    }
}

#[tokio::test]
async fn models_are_listed() {
    let server = rehearse(json!({"models": ["m-1", "m-2"], "steps": []})).await;
    let listed = catalogue::list_remote(&client(&server.base_url, WireApi::Responses))
        .await
        .expect("a list");
    assert_eq!(
        listed.into_iter().map(|model| model.id).collect::<Vec<_>>(),
        ["m-1", "m-2"]
    );
    let nowhere = client("http://127.0.0.1:9/v1", WireApi::Responses);
    assert!(catalogue::list_remote(&nowhere).await.is_err());
}
