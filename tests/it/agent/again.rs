//! What an allowance has stopped is sent again once it is open: in the queue, for everybody to see, and as long as the person
//! wants it.

use super::stage::{Setting, Stage, Story, eventually, say, within};
use countersign::rehearsal::Recorded;
use serde_json::{Value, json};

fn words(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// The provider refuses: the allowance opens in so many seconds.
fn used_up(seconds: u64) -> Value {
    json!([{"fail": {"status": 429,
        "body": {"error": {"type": "usage_limit_reached", "message": "The limit.", "resets_in_seconds": seconds}}}}])
}

async fn command(stage: &Stage, name: &str, thread: &str) -> String {
    let params = json!({"command": format!("countersign.{name}"), "arguments": [{"threadId": thread}]});
    stage.client.call("workspace/executeCommand", params).await;
    let told = stage.client.expect_notification("window/showMessage").await;
    told["message"].as_str().expect("words").to_owned()
}

async fn offered(stage: &Stage) -> Vec<String> {
    let params = json!({
        "textDocument": {"uri": countersign::workspace::uri::from_path(&stage.path("a.txt"))},
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "context": {"diagnostics": []},
    });
    let actions = stage.client.call("textDocument/codeAction", params).await;
    let actions = actions.as_array().expect("a list").iter();
    actions
        .filter_map(|action| action["title"].as_str())
        .filter(|title| title.to_lowercase().contains("send again"))
        .map(str::to_owned)
        .collect()
}

async fn stage(script: Value) -> Stage {
    let setting = Setting {
        files: vec![("a.txt".to_owned(), "a\n".to_owned())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.open("a.txt", "a\n");
    stage
}

async fn queue(stage: &Stage, thread: &str) -> Value {
    let params = json!({"threadId": thread});
    stage.client.call("countersign/turn/queue/list", params).await["queue"].take()
}

/// The same words begin a turn by themselves when the allowance opens.
#[tokio::test]
async fn the_message_is_sent_again_when_the_allowance_opens() {
    let stage = stage(json!([used_up(6), [say("here I am")]])).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Where are you?").await;
    let opens = story.one("error")["error"]["actions"][0].clone();
    assert_eq!(opens["type"], "waitUntil", "{story:#?}");
    let titles = offered(&stage).await;
    assert!(
        titles.len() == 1 && titles[0].starts_with("Send again at "),
        "{titles:?}"
    );
    let told = command(&stage, "sendAgain", &thread).await;
    assert!(told.starts_with("The message is sent again "), "{told}");
    let changed = stage.until_event("turn/queueChanged").await;
    let waiting = &changed.one("turn/queueChanged")["queue"]["inputs"][0];
    assert_eq!(
        (&waiting["input"], &waiting["notBeforeMs"]),
        // The two clocks may differ a little.
        (
            &words("Where are you?"),
            &json!(opens["at"].as_i64().expect("a time") + 2000)
        )
    );
    let story = stage.until_event("turn/completed").await;
    assert_eq!(story.said(), ["here I am"]);
    let started = story.one("turn/started")["turn"]["startedAtMs"]
        .as_i64()
        .expect("a time");
    assert!(
        started >= opens["at"].as_i64().expect("a time"),
        "not before the allowance opens"
    );
    assert_eq!(stage.requests(2)[1].last_user_text(), "Where are you?");
    assert_eq!(offered(&stage).await, [""; 0]);
}

/// Until then it can be taken back, everything else goes first, and it is sent once only.
#[tokio::test]
async fn what_waits_can_be_taken_back_and_keeps_nobody_waiting() {
    let stage = stage(json!([used_up(7200), [say("something else")]])).await;
    let thread = stage.thread().await;
    stage.run(&thread, "First").await;
    command(&stage, "sendAgain", &thread).await;
    stage.until_event("turn/queueChanged").await;
    let twice = command(&stage, "sendAgain", &thread).await;
    assert!(twice.contains("waiting already"), "{twice}");
    let titles = offered(&stage).await;
    assert!(
        titles.len() == 1 && titles[0].starts_with("Do not send again at "),
        "{titles:?}"
    );
    // Another message of the person's has its turn at once, also through the queue.
    let params = json!({"threadId": thread, "input": words("Second")});
    stage.client.call("countersign/turn/queue/add", params).await;
    let story = stage.until_event("turn/completed").await;
    assert_eq!(story.said(), ["something else"]);
    assert_eq!(queue(&stage, &thread).await["inputs"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        command(&stage, "doNotSend", &thread).await,
        "The message is not sent again."
    );
    stage.until_event("turn/queueChanged").await;
    assert_eq!(queue(&stage, &thread).await["inputs"], json!([]));
    assert_eq!(
        command(&stage, "doNotSend", &thread).await,
        "Nothing waits to be sent again."
    );
    let none = command(&stage, "sendAgain", &thread).await;
    assert!(none.contains("was not stopped by an allowance"), "{none}");
    stage.requests(2);
}

/// Presses *Send again* for a turn. What is said to it.
async fn again(stage: &Stage, thread: &str, turn: &str) -> String {
    let params = json!({
        "command": "countersign.sendAgain", "arguments": [{"threadId": thread, "turnId": turn}],
    });
    stage.client.call("workspace/executeCommand", params).await;
    let told = stage.client.expect_notification("window/showMessage").await;
    told["message"].as_str().expect("words").to_owned()
}

/// All that a request says beside the conversation before it, and whose it is.
fn beside(request: &Recorded) -> Value {
    let mut body = request.body.clone();
    body["input"].take();
    body
}

const DOT: &str = "data:image/png;base64,iVBORw0KGgo=";

/// A turn with all that can go with one.
fn full(stage: &Stage, thread: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false, "required": []});
    json!({
        "threadId": thread,
        "input": [
            {"type": "text", "text": "Where are you?"},
            {"type": "image", "url": DOT},
            {"type": "mention", "path": stage.path("a.txt")},
        ],
        "context": {"activeFile": stage.path("a.txt"), "selection": {"start": 0, "end": 1}, "leaveOut": ["openFiles"]},
        "settings": {"model": "gpt-5", "effort": "high", "mode": "ask"},
        "outputSchema": schema,
        "metadata": {"ticket": "12"},
        "clientUserMessageId": "mine",
    })
}

/// Pictures, files, what the editor showed and what was left out, the form of the answer, metadata, the model, how much it
/// thinks, the mode: all of it goes along once more.
#[tokio::test]
async fn what_is_sent_again_is_all_that_was_sent() {
    let stage = stage(json!([used_up(0), [say("{}")]])).await;
    let thread = stage.thread().await;
    let story = stage.run_with(full(&stage, &thread)).await;
    assert_eq!(story.error_kind(), "usageLimitExceeded");
    let turn = story.last()["turn"]["id"].as_str().expect("an id").to_owned();
    let sent = story.item("userMessage").clone();
    again(&stage, &thread, &turn).await;
    let story = stage.until_event("turn/completed").await;
    assert_eq!(story.status(), "completed");
    let item = story.item("userMessage");
    assert_eq!(
        (&item["content"], &item["context"]),
        (&sent["content"], &sent["context"])
    );
    // That is the client's name for another message.
    assert_eq!(item["clientId"], Value::Null);
    let requests = stage.requests(2);
    assert_eq!(beside(&requests[0]), beside(&requests[1]));
    let body = &requests[1].body;
    assert_eq!(body["text"]["format"]["schema"]["type"], "object", "{body}");
    assert_eq!(
        (
            &body["metadata"]["ticket"],
            &body["model"],
            &body["reasoning"]["effort"]
        ),
        (&json!("12"), &json!("gpt-5"), &json!("high"))
    );
    // What the input came to, with all that was told beside it, stands there twice.
    let (first, second) = (requests[0].input(), requests[1].input());
    let is_context = |item: &Value| item.to_string().contains("<editor_context>");
    let from = first.iter().position(is_context).expect("what the editor shows");
    assert!(first[from..].iter().any(|item| item.to_string().contains(DOT)));
    assert_eq!(second[..first.len()], *first);
    let of_again = second[first.len()..].iter().position(is_context).expect("once more") + first.len();
    assert_eq!(second[of_again..], first[from..]);
}

/// However often, wherever and however fast it is pressed.
#[tokio::test]
async fn a_message_is_sent_again_once() {
    for (seconds, first, others) in [
        (7200, "The message is sent again at ", "waiting already"),
        // It begins at once.
        (0, "The message is sent again", "nothing is sent again"),
    ] {
        let stage = stage(json!([used_up(seconds), [{"hold": "it"}, say("here I am")]])).await;
        let thread = stage.thread().await;
        let story = stage.run(&thread, "Where are you?").await;
        let turn = story.last()["turn"]["id"].as_str().expect("an id").to_owned();
        let at = story.one("error")["error"]["actions"][0]["at"]
            .as_i64()
            .expect("a time")
            + 2000;
        if seconds == 0 {
            // The margin for two clocks is over.
            let now = || jiff::Timestamp::now().as_millisecond();
            eventually("the allowance is open", || now() > at).await;
        }
        let press = |turn: Value| {
            let params = json!({
                "command": "countersign.sendAgain", "arguments": [{"threadId": thread, "turnId": turn}],
            });
            stage.client.call("workspace/executeCommand", params)
        };
        let ignored = [
            "turn/queueChanged",
            "turn/started",
            "thread/status",
            "item/started",
            "item/completed",
        ];
        for method in ignored {
            stage.client.ignore(&format!("countersign/{method}"));
        }
        futures::future::join_all((0..10).map(|_| press(json!(turn)))).await;
        let mut said = Vec::new();
        for _ in 0..10 {
            let told = stage.client.expect_notification("window/showMessage").await;
            said.push(told["message"].as_str().expect("words").to_owned());
        }
        let sent = said.iter().filter(|words| words.starts_with(first)).count();
        let refused = said.iter().filter(|words| words.contains(others)).count();
        assert_eq!((sent, refused), (1, 9), "{said:#?}");
        let waits = queue(&stage, &thread).await["inputs"].as_array().map(Vec::len);
        assert_eq!(waits, Some(usize::from(seconds > 0)));
        if seconds > 0 {
            command(&stage, "doNotSend", &thread).await;
        }
        if seconds == 0 {
            within(stage.model.wait_for_hold("it")).await;
            stage.model.release("it");
            stage.until_event("turn/completed").await;
            stage.requests(2);
        }
    }
}

/// An offer is for the message of its turn. Where another has come since, that is said, and neither is sent; one that fails
/// while another waits can wait as well.
#[tokio::test]
async fn an_offer_of_an_older_turn_sends_nothing_else() {
    let stage = stage(json!([used_up(7200), used_up(7200), used_up(7200)])).await;
    let thread = stage.thread().await;
    let id = |story: &Story| story.last()["turn"]["id"].as_str().expect("an id").to_owned();
    let first = id(&stage.run(&thread, "First").await);
    let second = id(&stage.run(&thread, "Second").await);
    let gone_on = again(&stage, &thread, &first).await;
    assert!(gone_on.starts_with("The conversation has gone on since"), "{gone_on}");
    assert_eq!(queue(&stage, &thread).await["inputs"], json!([]));
    let told = again(&stage, &thread, &second).await;
    assert!(told.starts_with("The message is sent again at "), "{told}");
    stage.until_event("turn/queueChanged").await;
    let third = id(&stage.run(&thread, "Third").await);
    assert!(again(&stage, &thread, &second).await.contains("waiting already"));
    let told = again(&stage, &thread, &third).await;
    assert!(told.starts_with("The message is sent again at "), "{told}");
    stage.until_event("turn/queueChanged").await;
    let waiting = queue(&stage, &thread).await;
    let inputs: Vec<_> = waiting["inputs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["input"])
        .collect();
    assert_eq!(inputs, [&words("Second"), &words("Third")]);
    // Nothing is offered that waits; what waits can be taken back.
    let titles = offered(&stage).await;
    assert!(
        titles.len() == 1 && titles[0].starts_with("Do not send again at "),
        "{titles:?}"
    );
    assert_eq!(
        command(&stage, "doNotSend", &thread).await,
        "The message is not sent again."
    );
    stage
        .until(|method, params| method == "turn/queueChanged" && params["queue"]["inputs"] == json!([]))
        .await;
    stage.requests(3);
}

/// The server that failed is gone; its conversation is open again, and what it was asked is on the disk, with what went along.
#[tokio::test]
async fn a_conversation_that_comes_back_offers_it_again() {
    let home = tempfile::tempdir().expect("a folder");
    let setting = || Setting {
        files: vec![("a.txt".to_owned(), "a\n".to_owned())],
        home: Some(home.path().join("home")),
        ..Setting::default()
    };
    let stage = Stage::with(json!([used_up(0)]), setting()).await;
    stage.open("a.txt", "a\n");
    let thread = stage.thread().await;
    stage.run_with(full(&stage, &thread)).await;
    let before = stage.requests(1).remove(0);
    let folder = stage.end();
    let dir = folder.as_ref().expect("a workspace").path().join("work");
    let later = Setting {
        folder: Some(dir.canonicalize().expect("a path")),
        ..setting()
    };
    let stage = Stage::with(json!([[say("{}")]]), later).await;
    stage.open("a.txt", "a\n");
    let resumed = stage.resume(json!({"threadId": thread})).await;
    let turns = resumed["thread"]["turns"].as_array().expect("turns");
    assert_eq!(turns[0]["error"]["actions"][0]["type"], "waitUntil", "{resumed}");
    assert_eq!(offered(&stage).await.len(), 1);
    command(&stage, "sendAgain", &thread).await;
    let story = stage.until_event("turn/completed").await;
    assert_eq!(story.said(), ["{}"]);
    let after = &stage.requests(1)[0];
    for part in ["/text/format", "/metadata", "/model", "/reasoning/effort"] {
        assert_eq!(after.body.pointer(part), before.body.pointer(part), "{part}");
    }
    let pictures = |request: &Recorded| request.body.to_string().matches(DOT).count();
    assert_eq!((pictures(&before), pictures(after)), (1, 2));
    // What the editor showed then is not what it shows now.
    assert_eq!(after.body.to_string().matches("<editor_context>").count(), 1);
}

/// It is gone with its conversation, and not in silence.
#[tokio::test]
async fn a_conversation_that_is_closed_says_what_was_not_sent() {
    let stage = stage(json!([used_up(7200)])).await;
    let thread = stage.thread().await;
    stage.run(&thread, "First").await;
    command(&stage, "sendAgain", &thread).await;
    stage.until_event("turn/queueChanged").await;
    stage.client.ignore("countersign/thread/archived");
    stage
        .client
        .call("countersign/thread/archive", json!({"threadId": thread}))
        .await;
    let story = stage.until_event("warning").await;
    let told = story.one("warning")["message"].as_str().expect("words");
    assert!(
        told.contains("was not sent") && told.contains("closed before"),
        "{told}"
    );
}
