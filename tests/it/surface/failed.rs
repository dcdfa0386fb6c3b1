//! Buttons of a turn that failed, where questions take no keys: each does what it says.

use crate::support::work::{Work, titles};
use serde_json::{Value, json};
use std::time::Duration;

async fn work(script: Value) -> Work {
    let work = Work::start("vscode-lc9", &[("a.txt", "a\nb\n")], script).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    work
}

fn failing(status: u16, error: Value) -> Value {
    json!([{"fail": {"status": status, "body": {"error": error}}}])
}

/// A message to the person that begins like this.
async fn told(work: &Work, beginning: &'static str) -> String {
    let fits = move |params: &Value| {
        params["message"]
            .as_str()
            .is_some_and(|text| text.starts_with(beginning))
    };
    let shown = work.client.expect_notification_where("window/showMessage", fits).await;
    shown["message"].as_str().expect("words").to_owned()
}

/// *Send again at …*: the turn begins by itself when the allowance opens.
#[tokio::test]
async fn a_used_up_allowance_offers_to_send_again_when_it_opens() {
    let error = json!({"type": "usage_limit_reached", "message": "The limit.", "resets_in_seconds": 6});
    let work = work(json!([failing(429, error), [{"say": "All done."}]])).await;
    let question = work.question().await;
    let buttons = titles(&question);
    assert!(buttons[0].starts_with("Send again at "), "{buttons:?}");
    assert_eq!(buttons[1..], ["Choose another model", "Close"]);
    work.press(&question, "Send again at ");
    told(&work, "The message is sent again ").await;
    work.done().await;
    let requests = work.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].last_user_text(), requests[1].last_user_text());
}

/// What is offered is the message of the turn that failed, also where another has failed since.
#[tokio::test]
async fn the_button_of_an_older_failure_sends_no_other_message() {
    let error = json!({"type": "usage_limit_reached", "message": "The limit.", "resets_in_seconds": 7200});
    let work = work(json!([failing(429, error.clone()), failing(429, error)])).await;
    let older = work.question().await;
    work.fix("a.txt").await;
    let newer = work.question().await;
    work.press(&older, "Send again at ");
    let words = told(&work, "The conversation has gone on since").await;
    assert!(words.contains("nothing is sent again"), "{words}");
    let waits = async || {
        let actions = work.actions("a.txt", (0, 0), json!({ "diagnostics": [] })).await;
        let title = |action: &Value| {
            action["title"]
                .as_str()
                .unwrap_or_default()
                .starts_with("Do not send again")
        };
        actions.iter().filter(|action| title(action)).count()
    };
    assert_eq!(waits().await, 0);
    work.press(&newer, "Send again at ");
    told(&work, "The message is sent again at ").await;
    assert_eq!(waits().await, 1);
    assert_eq!(work.model.requests().len(), 2);
    let params = json!({ "command": "countersign.doNotSend", "arguments": [] });
    work.client.call("workspace/executeCommand", params).await;
    told(&work, "The message is not sent again.").await;
}

/// *Compact conversation*: the summary takes the conversation's place, and the next message is answered after it.
#[tokio::test]
async fn a_conversation_that_is_too_long_can_be_compacted() {
    let error = json!({"message": "Too long.", "type": "invalid_request_error", "code": "context_length_exceeded"});
    let too_long = || failing(400, error.clone());
    let script = json!([
        [{"say": "All done."}],
        too_long(),
        // A summary is tried without being asked for, which is too much as well.
        [{"say": "SUMMARY 1"}],
        too_long(),
        [{"say": "SUMMARY 2"}],
        [{"say": "All done."}],
    ]);
    let work = work(script).await;
    work.done().await;
    work.fix("a.txt").await;
    let question = work.question().await;
    assert_eq!(
        titles(&question),
        ["Compact conversation", "Choose another model", "Close"]
    );
    assert_eq!(work.model.requests().len(), 4);
    work.press(&question, "Compact conversation");
    let summed = tokio::time::timeout(Duration::from_secs(30), work.model.wait_for_requests(5));
    summed.await.expect("a request for the summary");
    work.fix("a.txt").await;
    work.done().await;
    let requests = work.model.requests();
    assert_eq!(requests.len(), 6);
    let texts = |request: usize| requests[request].input_texts().join("\n");
    // It sums up what the last request had, and is what the next one has of it.
    assert!(texts(4).contains("SUMMARY 1"), "{}", texts(4));
    assert!(
        texts(5).contains("SUMMARY 2") && !texts(5).contains("SUMMARY 1"),
        "{}",
        texts(5)
    );
}

/// *Choose another model*: the models that the provider lists; the chosen one answers from then on.
#[tokio::test]
async fn another_model_can_be_chosen() {
    let error = json!({"type": "usage_not_included", "message": "Not in the plan."});
    let script = json!({"models": ["rehearsal", "other-model"],
        "steps": [failing(429, error), [{"say": "All done."}]]});
    let work = work(script).await;
    let question = work.question().await;
    assert_eq!(titles(&question), ["Choose another model", "Close"]);
    work.press(&question, "Choose another model");
    let question = work.question().await;
    assert_eq!(titles(&question), ["other-model"]);
    work.press(&question, "other-model");
    told(&work, "other-model answers from now on").await;
    work.fix("a.txt").await;
    work.done().await;
    assert_eq!(work.model.requests()[1].model(), "other-model");
}
