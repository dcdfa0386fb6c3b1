//! Buttons of a turn that failed, where questions take no keys: each does what it says.

use crate::support::work::{Work, titles};
use serde_json::{Value, json};

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
    let error = json!({"type": "usage_limit_reached", "message": "The limit.", "resets_in_seconds": 1});
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
