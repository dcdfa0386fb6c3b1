//! What the model asks the person: asked by request, answered over any surface, withdrawn when it is pointless.

use super::stage::{Setting, Stage, bash, say};
use crate::support::client::Reply;
use serde_json::{Value, json};

const REQUEST: &str = "countersign/userInput/request";

fn question(id: &str, options: &[&str]) -> Value {
    let choice = |label: &&str| json!({"label": label, "description": format!("Means {label}.")});
    let options: Vec<_> = options.iter().map(choice).collect();
    json!({"id": id, "header": "Store", "question": "Where should it be kept?", "options": options})
}

fn asks(call: &str, questions: Value) -> Value {
    json!({"call": {"tool": "request_user_input", "arguments": {"questions": questions}, "id": call}})
}

fn chosen(id: &str, answer: &str) -> Value {
    json!({"answers": {id: {"answers": [answer]}}})
}

/// Shows S-427.
#[tokio::test]
async fn two_questions_are_answered_in_reverse_order_and_each_answer_finds_its_call() {
    let script = json!([
        [
            asks("c1", json!([question("first", &["File", "Database"])])),
            asks(
                "c2",
                json!([question("second", &["Yes", "No"]), question("third", &[])])
            ),
        ],
        [say("Thanks.")],
    ]);
    let stage = Stage::new(script).await;
    stage.client.on_request(REQUEST, |_| Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let first = stage.client.expect_request(REQUEST).await;
    let second = stage.client.expect_request(REQUEST).await;
    assert_eq!(
        (&first.params["itemId"], &second.params["itemId"]),
        (&json!("c1"), &json!("c2"))
    );
    assert_eq!(first.params["questions"][0]["options"][1]["label"], "Database");
    assert_eq!(second.params["questions"].as_array().map(Vec::len), Some(2));
    assert_eq!(stage.read(&thread).await["status"], "waitingOnUserInput");
    // The later one first; of its two questions one stays without an answer.
    stage.client.answer(&second, Ok(chosen("third", "in words of my own")));
    stage
        .until(|method, params| method == "userInput/resolved" && params["id"] == second.params["id"])
        .await;
    stage.client.answer(&first, Ok(chosen("first", "Database")));
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "completed");
    let request = &stage.requests(2)[1];
    let told = |id: &str| serde_json::from_str::<Value>(&request.output(id).expect("an output")).expect("JSON");
    assert_eq!(told("c1"), json!({"answers": {"first": {"answers": ["Database"]}}}));
    assert_eq!(
        told("c2"),
        json!({"answers": {"third": {"answers": ["in words of my own"]}}, "unanswered": ["second"]})
    );
    assert_eq!(story.one("userInput/resolved")["answered"], true);
    let items = story.items("toolCall");
    assert!(
        items
            .iter()
            .all(|item| item["tool"] == "request_user_input" && item["status"] == "completed")
    );
    let first = items.iter().find(|item| item["id"] == "c1").expect("an item");
    assert_eq!(first["title"], "Questions: Store");
}

/// Shows S-428.
#[tokio::test]
async fn what_is_no_answer_is_told_as_none_and_the_turn_goes_on() {
    for (name, reply) in [
        ("closed", Reply::Ok(json!(null))),
        ("nothing in it", Reply::Ok(json!({"answers": {}}))),
        ("another shape", Reply::Ok(json!({"answers": ["File"]}))),
        ("a list", Reply::Ok(json!([{"answers": {}}]))),
        ("a text", Reply::Ok(json!("File"))),
        ("another question", Reply::Ok(chosen("other", "File"))),
        ("empty words", Reply::Ok(chosen("q", "  "))),
        ("an error", Reply::Error(-32601, "no such method")),
    ] {
        let script = json!([
            [asks("c1", json!([question("q", &["File", "Database"])]))],
            [say("I go on.")],
        ]);
        let stage = Stage::new(script).await;
        stage.client.on_request(REQUEST, move |_| reply.clone());
        let thread = stage.thread().await;
        let story = stage.complete(&thread, "Go").await;
        let output = stage.requests(2)[1].output("c1").expect("an output");
        assert!(output.contains("no answer"), "{name}: {output}");
        assert_eq!(
            story.one("userInput/resolved")["answered"],
            name == "another question" || name == "nothing in it" || name == "empty words"
        );
    }
}

/// Shows S-428.
#[tokio::test]
async fn a_stopped_turn_withdraws_its_question_and_a_late_answer_is_ignored() {
    let script = json!([
        [asks("c1", json!([question("q", &["File", "Database"])]))],
        [say("Again.")],
    ]);
    let stage = Stage::new(script).await;
    stage.client.on_request(REQUEST, |_| Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let asked = stage.client.expect_request(REQUEST).await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    assert_eq!(story.one("userInput/resolved")["answered"], false);
    stage.client.expect_withdrawn(&asked).await;
    stage.client.answer(&asked, Ok(chosen("q", "File")));
    let respond = json!({"id": asked.params["id"], "response": chosen("q", "File")});
    let late = stage.client.call("countersign/userInput/respond", respond).await;
    assert_eq!(late, json!({"taken": false}));
    stage.complete(&thread, "Again").await;
    let output = stage.requests(2)[1].output("c1").expect("an output");
    assert!(output.contains("withdrawn") && !output.contains("File"), "{output}");
}

/// Shows S-427.
#[tokio::test]
async fn the_first_answer_over_all_surfaces_wins() {
    let script = json!([
        [asks("c1", json!([question("q", &["File", "Database"])]))],
        [say("Thanks.")],
    ]);
    let stage = Stage::new(script).await;
    stage.client.on_request(REQUEST, |_| Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let asked = stage.client.expect_request(REQUEST).await;
    let respond = json!({"id": asked.params["id"], "response": chosen("q", "File")});
    let taken = stage.client.call("countersign/userInput/respond", respond).await;
    assert_eq!(taken, json!({"taken": true}));
    stage.client.expect_withdrawn(&asked).await;
    stage.client.answer(&asked, Ok(chosen("q", "Database")));
    assert_eq!(stage.finish(&turn).await.status(), "completed");
    let output = stage.requests(2)[1].output("c1").expect("an output");
    assert!(output.contains("File") && !output.contains("Database"), "{output}");
}

/// A message of the person's while the question is open is their answer.
#[tokio::test]
async fn whoever_writes_instead_of_choosing_has_answered() {
    let script = json!([
        [asks("c1", json!([question("q", &["File", "Database"])]))],
        {"when": {"last_user": "neither"}, "outputs": [say("I see.")]},
    ]);
    let stage = Stage::new(script).await;
    stage.client.on_request(REQUEST, |_| Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let asked = stage.client.expect_request(REQUEST).await;
    stage
        .steer(&thread, &turn, "neither, keep it in memory")
        .await
        .expect("taken");
    stage.client.expect_withdrawn(&asked).await;
    assert_eq!(stage.finish(&turn).await.status(), "completed");
    let output = stage.requests(2)[1].output("c1").expect("an output");
    assert!(output.contains("message instead"), "{output}");
}

/// Where nobody is to be asked, nobody is.
#[tokio::test]
async fn under_never_the_model_is_told_to_decide() {
    let script = json!([
        [
            asks("c1", json!([question("q", &["File", "Database"])])),
            bash("c2", "true")
        ],
        [say("I decided.")],
    ]);
    let stage = Stage::configured("approval_policy = \"never\"", script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("userInput/requested"), 0);
    let output = stage.requests(2)[1].output("c1").expect("an output");
    assert!(output.contains("never") && output.contains("Decide"), "{output}");
}

/// Bad questions are explained to the model, and nothing is shown.
#[tokio::test]
async fn questions_that_cannot_be_asked_are_answers_to_the_model() {
    let calls = [
        (json!({}), "questions"),
        (json!({"questions": []}), "one to 3"),
        (json!({"questions": "Which?"}), "could not be read"),
        (json!({"questions": [question("q", &["only"])]}), "1 choices"),
        (json!({"questions": [question("q", &["a", "a"])]}), "differ"),
        (
            json!({"questions": [question("q", &[]), question("q", &[])]}),
            "id of its own",
        ),
    ];
    let outputs: Vec<_> = (0..)
        .zip(&calls)
        .map(|(number, (arguments, _))| {
            json!({"call": {"tool": "request_user_input", "arguments": arguments, "id": format!("c{number}")}})
        })
        .collect();
    let stage = Stage::with(json!([outputs, [say("I see.")]]), Setting::default()).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("userInput/requested"), 0);
    let request = &stage.requests(2)[1];
    for (number, (arguments, part)) in calls.iter().enumerate() {
        let output = request.output(&format!("c{number}")).expect("an output");
        assert!(output.contains(part), "{arguments}: {output}");
    }
}
