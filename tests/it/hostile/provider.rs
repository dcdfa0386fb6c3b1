//! Providers that fail, as the person in front of the editor sees it: one clear message, and the next question works.

use crate::support::work::{Setting, Work};
use serde_json::{Value, json};

/// Runs one question to its end and gives the only message that was shown.
async fn shown(script: Value, config: &str) -> (Work, String) {
    let setting = Setting {
        files: vec![("a.txt", "a\n".to_owned())],
        config: config.to_owned(),
        ..Setting::default()
    };
    let work = Work::with(setting, script).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    let message = work.warned().await;
    (work, message)
}

fn html(status: u16) -> Value {
    json!([{"fail": {"status": status, "body": "<html><body>Bad gateway <script>evil()</script></body></html>"}}])
}

#[tokio::test]
async fn each_failure_is_one_clear_message_and_the_next_question_works() {
    let say = json!([{"say": "All done."}]);
    for (name, failure, parts) in [
        (
            "wrong key",
            json!([{"fail": {"status": 401, "body": {"error": {"message": "Incorrect API key provided: sk-…", "code": "invalid_api_key"}}}}]),
            &["Rehearsal", "key"][..],
        ),
        (
            "wrong model",
            json!([{"fail": {"status": 404, "body": {"error": {"message": "The model does not exist", "code": "model_not_found"}}}}]),
            &["Rehearsal", "model"],
        ),
        (
            "bad request",
            json!([{"fail": {"status": 400, "body": {"error": {"message": "tools[3] is not allowed"}}}}]),
            &["tools[3] is not allowed"],
        ),
        ("a page", html(403), &["Bad gateway"]),
        (
            "too much",
            json!([{"failed": {"code": "context_length_exceeded", "message": "too long"}}]),
            &["context"],
        ),
        (
            "out of quota",
            json!([{"fail": {"status": 429, "body": {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}}}}]),
            &["quota", "credit"],
        ),
        (
            "cut short",
            json!([{"say": "Half an ans", "partial": true}, {"incomplete": "max_output_tokens"}]),
            &["cut"],
        ),
    ] {
        let (work, message) = shown(json!([failure, say]), "").await;
        for part in parts {
            assert!(
                message.to_lowercase().contains(&part.to_lowercase()),
                "{name}: {part} is missing in {message}"
            );
        }
        assert!(!message.contains('<') && message.len() < 1000, "{name}: {message}");
        work.fix("a.txt").await;
        work.done().await;
        // What the agent had said by then may be shown as well.
        let trouble = |(_, params): &(String, Value)| params["type"] != 3;
        let more: Vec<_> = work.client.take_unread().into_iter().filter(trouble).collect();
        assert_eq!(more, [], "{name}: one message");
    }
}

/// A provider that stumbles is tried again; after the last time the person hears why.
#[tokio::test]
async fn retries_are_bounded_where_the_provider_answers() {
    let failure = json!({"outputs": [{"fail": {"status": 503, "retry_after": 0}}], "repeat": true});
    let (work, message) = shown(json!([failure]), "").await;
    assert!(
        message.contains("503") || message.to_lowercase().contains("overloaded"),
        "{message}"
    );
    assert!(work.model.requests().len() > 1);
    work.client.settle().await;
}

/// Nobody there: the person is told once, it is tried again, and Stop ends it.
#[tokio::test]
async fn a_provider_that_is_down_is_told_once_and_waited_for_until_stopped() {
    let setting = Setting {
        files: vec![("a.txt", "a\n".to_owned())],
        ..Setting::default()
    };
    let mut work = Work::with(setting, json!([])).await;
    let address = work.model.base_url.clone();
    work.stop_model().await;
    work.open("a.txt");
    work.fix("a.txt").await;
    let message = work.warned().await;
    for part in [
        address.trim_start_matches("http://").trim_end_matches("/v1"),
        "stop the turn",
    ] {
        assert!(message.contains(part), "{part} is missing in {message}");
    }
    work.choose_action("a.txt", (0, 0), "Stop the agent").await;
    work.idle("a.txt").await;
    work.client.settle().await;
}

/// An answer without an end is cut off, and the server stays quick meanwhile.
#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let line = "and on and on ".repeat(2000);
    let script = json!([[{"trickle": line, "chunk": 28000}], [{"say": "All done."}]]);
    let (work, message) = shown(script, "").await;
    assert!(message.contains("without an end"), "{message}");
    work.client.ignore("window/showMessage");
    work.client.settle().await;
}
