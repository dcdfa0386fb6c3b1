//! Questions of the model by `window/showMessageRequest`, one at a time.

use crate::support::client::Reply;
use crate::support::work::{Work, calls, titles};
use serde_json::{Value, json};

fn two_questions() -> Value {
    let choice = |label: &str| json!({"label": label, "description": format!("Means {label}.")});
    calls(
        "request_user_input",
        json!({"questions": [
            {"id": "store", "header": "Store", "question": "Where to?", "options": [choice("File"), choice("Database")]},
            {"id": "name", "header": "Name", "question": "Which name?", "options": [choice("total"), choice("sum")]},
        ]}),
    )
}

async fn work(editor: &'static str) -> Work {
    let work = Work::start(editor, &[("a.txt", "a\n")], two_questions()).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    work
}

/// Shows S-427, S-428.
#[tokio::test]
async fn choices_are_buttons_and_one_question_follows_the_other() {
    let work = work("helix-25.07.1").await;
    let first = work.question().await;
    let message = first.params["message"].as_str().unwrap();
    for part in ["Store", "Where to?", "Database: Means Database."] {
        assert!(message.contains(part), "{part} is missing in {message}");
    }
    assert_eq!(titles(&first), ["No answer", "File", "Database", "Answer in words…"]);
    work.client.settle().await;
    work.press(&first, "Database");
    let second = work.question().await;
    assert!(second.params["message"].as_str().unwrap().contains("Which name?"));
    work.client.answer(&second, Ok(json!(null)));
    work.done().await;
    let output: Value = serde_json::from_str(&work.output("call_1").await).expect("JSON");
    assert_eq!(
        output,
        json!({"answers": {"store": {"answers": ["Database"]}}, "unanswered": ["name"]})
    );
}

/// Shows S-428.
#[tokio::test]
async fn whatever_is_no_clear_choice_is_no_answer() {
    for (name, reply) in [
        ("closed", Reply::Ok(json!(null))),
        ("no answer", Reply::Ok(json!({"title": "No answer"}))),
        ("another title", Reply::Ok(json!({"title": "Disk"}))),
        ("a number", Reply::Ok(json!({"title": 1}))),
        ("a list", Reply::Ok(json!(["File"]))),
        ("an error", Reply::Error(-32601, "no such method")),
    ] {
        let work = Work::start("nvim-0.10.4", &[("a.txt", "a\n")], two_questions()).await;
        work.client
            .on_request("window/showMessageRequest", move |_| reply.clone());
        work.open("a.txt");
        work.fix("a.txt").await;
        work.done().await;
        let output = work.output("call_1").await;
        assert!(output.contains("no answer"), "{name}: {output}");
    }
}

/// Shows S-428.
#[tokio::test]
async fn a_question_is_withdrawn_with_its_turn() {
    let work = work("eglot-1.17.30").await;
    let question = work.question().await;
    work.choose_action("a.txt", (0, 0), "Stop the agent").await;
    work.client.expect_withdrawn(&question).await;
    work.client.answer(&question, Ok(json!({"title": "File"})));
    work.client.settle().await;
    assert_eq!(work.model.requests().len(), 1);
}

/// Whoever wants to answer in words writes a message: the question waits for it.
#[tokio::test]
async fn an_answer_in_words_is_the_next_message() {
    let work = work("vscode-1.139-lc11").await;
    let question = work.question().await;
    work.press(&question, "Answer in words");
    let told = |params: &Value| {
        params["message"]
            .as_str()
            .is_some_and(|text| text.contains("next message"))
    };
    work.client.expect_notification_where("window/showMessage", told).await;
    work.fix("a.txt").await;
    work.done().await;
    let output = work.output("call_1").await;
    assert!(output.contains("message instead"), "{output}");
}
