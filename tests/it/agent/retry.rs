//! Failures of the model: what is tried again, how that is shown, and what ends the turn.

use super::stage::{Setting, Stage, bash, say, shell, within};
use countersign::rehearsal::{Script, Server};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Shows S-060, S-061, S-062.
#[tokio::test]
async fn a_stream_that_breaks_off_is_tried_again_and_nothing_is_shown_twice() {
    let script = json!([
        [say("Finished."), {"say": "And I was ab", "partial": true}, {"drop": true}],
        [{"no_completed": true}],
        [say("Here is the rest.")],
        [say("more")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Talk").await;
    let notices = story.all("turn/retrying");
    let counts: Vec<_> = notices
        .iter()
        .map(|notice| (&notice["attempt"], &notice["limit"]))
        .collect();
    assert_eq!(counts, [(&json!(1), &json!(2)), (&json!(2), &json!(2))]);
    assert!(
        notices
            .iter()
            .all(|notice| !notice["message"].as_str().unwrap().is_empty())
    );
    assert_eq!(story.count("error"), 0);
    assert_eq!(story.said(), ["Finished.", "Here is the rest."]);
    assert_eq!(story.withdrawn(), ["And I was ab"]);
    assert!(story.items("agentMessage").iter().all(|item| item["partial"] != true));
    // Neither the turn, nor whoever reads it later, has both.
    let texts = |items: &Value| -> Vec<String> {
        let messages = items.as_array().expect("items").iter();
        messages
            .filter(|item| item["type"] == "agentMessage")
            .map(|item| item["text"].as_str().expect("a text").to_owned())
            .collect()
    };
    assert_eq!(texts(&story.last()["turn"]["items"]), story.said());
    assert_eq!(texts(&stage.read(&thread).await["turns"][0]["items"]), story.said());
    let recorded = stage
        .rollout(&thread)
        .iter()
        .any(|line| line.to_string().contains("I was ab"));
    assert!(!recorded, "what was withdrawn is not on record");
    assert_eq!(story.last()["lastAgentMessage"], "Here is the rest.");
    stage.complete(&thread, "More").await;
    let requests = stage.requests(4);
    // What was finished is part of the conversation; what broke off and was said again is not.
    for request in &requests[1..] {
        assert!(request.input_texts().contains(&"Finished.".to_owned()));
        assert!(!request.input_texts().iter().any(|text| text.contains("I was ab")));
    }
    assert_eq!(requests[1].input(), requests[2].input());
}

/// Some answer a request that is sent again with the ids of the answer that broke off, or give every message the same one.
/// The client holds each item to one beginning and one end.
#[tokio::test]
async fn ids_that_the_provider_repeats_are_not_given_twice() {
    let message = |text: &str| json!({"say": text, "id": "msg_1"});
    let half = |text: &str| json!({"say": text, "id": "msg_1", "partial": true});
    let thought = |text: &str| json!({"think": text, "id": "rs_1"});
    let half_thought = |text: &str| json!({"think": text, "id": "rs_1", "partial": true});
    let script = json!([
        [half_thought("I wond"), {"drop": true}],
        [thought("I wonder."), half("And so"), {"drop": true}],
        [thought("I wonder."), message("And so it is.")],
        // The call's id is the message's.
        [message("I look."), bash("msg_1", "echo out"), bash("rs_1", "echo too")],
        [message("Done.")],
        [message("Again.")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let first = stage.complete(&thread, "Talk").await;
    assert_eq!(first.said(), ["And so it is."]);
    assert_eq!(first.withdrawn(), ["And so"]);
    let second = stage.complete(&thread, "Go").await;
    assert_eq!(second.said(), ["I look.", "Done."]);
    assert_eq!(second.items("commandExecution").len(), 2);
    let third = stage.complete(&thread, "Once more").await;
    assert_eq!(third.said(), ["Again."]);
    let stories = [first, second, third];
    let ended = stories.iter().flat_map(|story| story.all("item/completed"));
    let mut ids: Vec<_> = ended
        .map(|event| event["item"]["id"].as_str().expect("an id"))
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "{ids:?}");
}

/// A thought whose answer breaks off is thought again: the model finds it once, and never without what it led to.
#[tokio::test]
async fn a_thought_that_is_thought_again_is_in_the_conversation_once() {
    let thought = |id: &str| json!({"think": "I wonder.", "id": id});
    let script = json!([
        [thought("rs_1"), {"say": "And so", "partial": true}, {"drop": true}],
        [thought("rs_2"), say("And so it is.")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Talk").await;
    assert!(!stage.requests(2)[1].body.to_string().contains("I wonder."));
    let lines = stage.rollout(&thread);
    let thoughts = lines.iter().filter(|line| line["payload"]["type"] == "reasoning");
    assert_eq!(thoughts.count(), 1);
}

/// What was withdrawn for an attempt that brings nothing is there again: the person sees what the model knows.
#[tokio::test]
async fn what_is_said_by_no_later_attempt_stays_with_the_person() {
    let script = json!([
        [{"say": "I was ab", "partial": true}, {"drop": true}],
        [{"no_completed": true}],
        [{"no_completed": true}],
        [say("better now")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Talk").await;
    assert_eq!(story.status(), "failed");
    assert_eq!((story.withdrawn(), story.said()), (vec!["I was ab"], vec!["I was ab"]));
    assert_eq!(story.item("agentMessage")["partial"], true);
    stage.complete(&thread, "And now?").await;
    let texts = stage.requests(4)[3].input_texts();
    assert_eq!(texts.iter().filter(|text| *text == "I was ab").count(), 1, "{texts:#?}");
}

/// Shows S-060, S-068.
#[tokio::test]
async fn a_call_before_the_break_runs_once_and_its_output_goes_along() {
    let script = json!([
        [bash("call_1", "echo ran >> log; echo out"), {"say": "Now", "partial": true}, {"drop": true}],
        [say("done")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("turn/retrying"), 1);
    assert_eq!(stage.text("log"), "ran\n");
    assert!(stage.requests(2)[1].output("call_1").unwrap().contains("out"));
}

/// Shows S-061, S-066, S-067.
#[tokio::test]
async fn retries_that_are_used_up_fail_the_turn_and_not_the_thread() {
    let broken = json!([{"say": "Once more", "partial": true}, {"drop": true}]);
    let script = json!([broken, broken, broken, [say("better now")]]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Talk").await;
    assert_eq!(story.count("turn/retrying"), 2);
    assert_eq!((story.status(), story.error_kind()), ("failed", "streamDisconnected"));
    assert_eq!(story.one("error")["error"], story.last()["turn"]["error"]);
    stage.requests(3);
    let story = stage.complete(&thread, "And now?").await;
    assert_eq!(story.said(), ["better now"]);
    // What the person was shown last of the broken answer is known to the model.
    let texts = stage.requests(4)[3].input_texts();
    assert_eq!(
        texts.iter().filter(|text| *text == "Once more").count(),
        1,
        "{texts:#?}"
    );
}

/// Shows S-061, S-217.
#[tokio::test]
async fn the_providers_own_delay_is_kept_to() {
    let script = json!([
        [{"fail": {"status": 429, "retry_after": 1}}],
        [{"fail": {"status": 503}}],
        [say("ok")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let begin = Instant::now();
    let story = stage.complete(&thread, "Hi").await;
    assert!(begin.elapsed() >= Duration::from_secs(1));
    let delays: Vec<u64> = story
        .all("turn/retrying")
        .iter()
        .filter_map(|notice| notice["delayMs"].as_u64())
        .collect();
    assert_eq!(delays.len(), 2);
    assert_eq!(delays[0], 1000);
    assert!(delays[1] < 1000, "{delays:?}");
}

/// Shows S-063, S-064, S-066, S-067.
#[tokio::test]
async fn what_would_fail_again_is_not_tried_again() {
    let error = |status: u16, code: &str| json!({"fail": {"status": status, "body": {"error": {"message": "No, since the moon is full.", "type": "invalid_request_error", "code": code}}}});
    for (failure, kind, status) in [
        (error(401, "invalid_api_key"), "unauthorized", Some(401)),
        (error(403, "forbidden"), "unauthorized", Some(403)),
        (error(404, "model_not_found"), "modelNotFound", Some(404)),
        (
            error(400, "context_length_exceeded"),
            "contextWindowExceeded",
            Some(400),
        ),
        (error(400, "invalid_value"), "badRequest", Some(400)),
        (error(429, "insufficient_quota"), "quotaExceeded", Some(429)),
        (
            json!({"fail": {"status": 429, "body": {"error": {"type": "usage_limit_reached", "message": "The limit.", "resets_in_seconds": 60}}}}),
            "usageLimitExceeded",
            Some(429),
        ),
        (
            json!({"fail": {"status": 429, "body": {"error": {"type": "usage_not_included", "message": "Not in the plan."}}}}),
            "planLimit",
            Some(429),
        ),
        (
            json!({"failed": {"code": "context_length_exceeded"}}),
            "contextWindowExceeded",
            None,
        ),
        (json!({"incomplete": "max_output_tokens"}), "incomplete", None),
    ] {
        let script = json!([[failure], [say("ok")]]);
        let stage = Stage::configured("model_context_window = 1000", script).await;
        let thread = stage.thread().await;
        let story = stage.run(&thread, "Hi").await;
        assert_eq!(
            (story.status(), story.error_kind()),
            ("failed", kind),
            "{failure}: {story:#?}"
        );
        let error = &story.one("error")["error"];
        assert_eq!(error["httpStatus"].as_u64(), status, "{failure}");
        assert!(error["message"].as_str().unwrap().len() > 20, "{error}");
        assert_eq!(story.count("turn/retrying"), 0);
        stage.requests(1);
        if kind == "contextWindowExceeded" {
            let usage = &story.one("thread/tokenUsage")["tokenUsage"];
            assert_eq!(usage["last"]["totalTokens"], 1000, "the window is full");
        }
        stage.complete(&thread, "Again").await;
    }
}

/// Shows S-063, S-216.
#[tokio::test]
async fn a_missing_key_is_one_error_that_names_the_variable() {
    let setting = Setting {
        provider: "env_key = \"ACME_API_KEY\"\nenv_key_instructions = \"Ask Wile.\"".into(),
        ..Setting::default()
    };
    let stage = Stage::with(json!([]), setting).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Hi").await;
    assert_eq!((story.status(), story.error_kind()), ("failed", "missingKey"));
    let message = story.one("error")["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("ACME_API_KEY") && message.contains("Ask Wile."),
        "{message}"
    );
    assert_eq!(story.count("turn/retrying"), 0);
    assert_eq!(story.kinds(), ["userMessage"]);
    stage.requests(0);
}

/// An address where nobody listens.
async fn nowhere() -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address")
}

/// Shows S-069, S-101.
#[tokio::test]
async fn a_provider_that_is_down_is_waited_for_until_the_person_stops() {
    let address = nowhere().await;
    // With a model, and without one, where the provider is asked first what it serves.
    for model in ["rehearsal", ""] {
        let setting = Setting {
            base_url: Some(format!("http://{address}/v1")),
            ..Setting::default()
        };
        let stage = Stage::with(json!([]), setting).await;
        let started = stage.start_thread(json!({"settings": {"model": model}})).await;
        let thread = started["thread"]["id"].as_str().unwrap().to_owned();
        let turn = stage.start_turn(&thread, "Hi").await;
        let story = stage.until_event("turn/retrying").await;
        assert_eq!(story.kinds(), ["userMessage"]);
        assert_eq!(story.last()["attempt"], 1);
        assert_eq!(story.last().get("limit").cloned().unwrap_or_default(), Value::Null);
        assert_eq!(stage.interrupt(&thread).await["interrupted"], true);
        let story = stage.finish(&turn).await;
        assert_eq!(story.status(), "interrupted");
        assert_eq!(story.count("error"), 0);
    }
}

#[tokio::test]
async fn a_provider_that_comes_up_is_found() {
    let address = nowhere().await;
    for model in ["rehearsal", ""] {
        let setting = Setting {
            base_url: Some(format!("http://{address}/v1")),
            ..Setting::default()
        };
        let stage = Stage::with(json!([]), setting).await;
        let started = stage.start_thread(json!({"settings": {"model": model}})).await;
        let thread = started["thread"]["id"].as_str().unwrap().to_owned();
        let turn = stage.start_turn(&thread, "Hi").await;
        stage.until_event("turn/retrying").await;
        let script = Script::from_json(&json!([[say("up")]])).unwrap();
        let late = Server::start(script, address).await.expect("the port is free");
        let story = stage.finish(&turn).await;
        assert_eq!(story.status(), "completed");
        assert_eq!(late.requests()[0].model(), "rehearsal");
        late.stop().await;
    }
}

/// Who does not want to wait has it asked again at once.
#[tokio::test]
async fn the_wait_before_a_retry_ends_when_the_person_wants_it() {
    let script = json!([[{"fail": {"status": 429, "retry_after": 300}}], [say("ok")]]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let retry = async || {
        let params = json!({"threadId": thread});
        stage.client.call("countersign/turn/retryNow", params).await["retrying"].clone()
    };
    assert_eq!(retry().await, false, "nothing runs");
    let turn = stage.start_turn(&thread, "Hi").await;
    stage
        .until(|name, params| name == "turn/retrying" && params["delayMs"] == 300_000)
        .await;
    assert_eq!(retry().await, true);
    let story = stage.finish(&turn).await;
    assert_eq!((story.status(), story.said()), ("completed", vec!["ok"]));
    let params = json!({"threadId": "no-such-thread"});
    let error = stage
        .client
        .request("countersign/turn/retryNow", params)
        .await
        .unwrap_err();
    assert_eq!(error.data["kind"], "threadNotLoaded");
}

/// Shows S-101.
#[tokio::test]
async fn stopping_in_the_wait_before_a_retry_ends_the_turn() {
    let script = json!([
        [{"say": "I was", "partial": true}, {"drop": true}],
        [{"fail": {"status": 429, "retry_after": 300}}],
        [say("ok")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Hi").await;
    stage
        .until(|name, params| name == "turn/retrying" && params["delayMs"] == 300_000)
        .await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    // What was withdrawn for the attempt that did not come is there again.
    let ends = [
        "item/started",
        "item/completed",
        "thread/statusChanged",
        "turn/completed",
    ];
    assert_eq!((story.names(), story.said()), (ends.to_vec(), vec!["I was"]));
    stage.complete(&thread, "Again").await;
    // What the person saw of the answer is part of the conversation.
    let texts = stage.requests(3)[2].input_texts();
    assert_eq!(texts.iter().filter(|text| *text == "I was").count(), 1, "{texts:#?}");
}

/// Shows S-060.
#[tokio::test]
async fn a_silent_stream_is_tried_again() {
    let setting = Setting {
        provider: "stream_idle_timeout_ms = 4000".into(),
        ..Setting::default()
    };
    let script = json!([[{"say": "Hm", "partial": true}, {"stall": true}], [shell("c", &["true"])], [say("ok")]]);
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Hi").await;
    assert_eq!(story.count("turn/retrying"), 1);
    within(stage.model.wait_for_requests(3)).await;
}

/// A model that takes no images gets words in their place: at once where it refuses one, and from then on without being asked.
#[tokio::test]
async fn an_image_that_the_model_refuses_is_left_out() {
    let error = json!({
        "code": 500,
        "message": "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        "type": "server_error",
    });
    let script = json!([
        [{"fail": {"status": 500, "body": {"error": error}}}],
        [say("I see none.")],
        [say("Still none.")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let input = json!([
        {"type": "text", "text": "What is this?"},
        {"type": "image", "url": "data:image/png;base64,iVBORw0KGgo="},
    ]);
    let story = stage.run_with(json!({"threadId": thread, "input": input})).await;
    assert_eq!(
        (story.status(), story.count("turn/retrying")),
        ("completed", 0),
        "{story:#?}"
    );
    stage.complete(&thread, "And now?").await;
    let requests = stage.requests(3);
    let has_image = |at: usize| requests[at].body.to_string().contains("iVBORw0KGgo=");
    assert_eq!([0, 1, 2].map(has_image), [true, false, false]);
    let said = requests[1].input_texts().join("\n");
    assert!(
        said.contains("What is this?") && said.contains("An image is left out here"),
        "{said}"
    );
}
