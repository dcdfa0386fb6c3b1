//! Compaction: a summary takes the place of the conversation, by itself or on request, and nothing that matters is lost.

use super::stage::{Setting, Stage, Story, bash, say};
use countersign::rehearsal::Recorded;
use serde_json::{Value, json};

/// An answer's end with so many tokens.
fn usage(total: u32) -> Value {
    json!({"usage": {"input_tokens": total - 1, "output_tokens": 1, "total_tokens": total}})
}

/// Calls a command, and takes so many tokens.
fn call(id: &str, total: u32) -> Value {
    json!([bash(id, &format!("echo out of {id}")), usage(total)])
}

fn answer(text: &str, total: u32) -> Value {
    json!([say(text), usage(total)])
}

fn is_compaction(request: &Recorded) -> bool {
    request.headers["x-countersign-task"] == "compaction"
}

/// Texts of the request that are not instructions or surroundings.
fn told(request: &Recorded) -> Vec<String> {
    let mut texts = request.input_texts();
    texts.retain(|text| !text.starts_with("<environment_context>") && !text.starts_with("# AGENTS.md"));
    texts
}

async fn compact(stage: &Stage, thread: &str) -> String {
    let params = json!({ "threadId": thread });
    let answer = stage.client.call("countersign/thread/compact", params).await;
    answer["turnId"].as_str().expect("an id").to_owned()
}

async fn compacted(stage: &Stage, thread: &str) -> Story {
    let turn = compact(stage, thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "completed", "{story:#?}");
    story
}

fn summary_of(text: &str) -> String {
    format!(
        "<compaction_summary>\nEarlier parts of this conversation are gone; these are your notes on them.\n\n{text}\n\
         </compaction_summary>"
    )
}

/// Shows S-233, S-234, S-235, S-236, S-243, S-212.
#[tokio::test]
async fn on_request_a_summary_takes_the_place_of_the_conversation() {
    let script = json!([
        answer(&"A long answer. ".repeat(400), 5000),
        answer("SUMMARY ONE", 5100),
        answer("Second answer", 700),
        answer("SUMMARY TWO", 800),
        answer("Third answer", 600),
    ]);
    let setting = Setting {
        config: "compact_prompt = \"Write it down.\"\ndeveloper_instructions = \"Be kind.\"".into(),
        files: vec![("AGENTS.md".into(), "Use tabs.".into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "First question").await;
    let before = stage.rollout(&thread);
    let story = compacted(&stage, &thread).await;
    assert_eq!(story.last()["turn"]["kind"], "compaction");
    // The prompt is nobody's message.
    assert_eq!(story.kinds(), ["contextCompaction"]);
    let item = story.item("contextCompaction");
    assert_eq!(
        (
            &item["reason"],
            &item["status"],
            &item["summary"],
            &item["tokensBefore"]
        ),
        (
            &json!("requested"),
            &json!("completed"),
            &json!("SUMMARY ONE"),
            &json!(5000)
        )
    );
    let after = item["tokensAfter"].as_u64().expect("tokens");
    assert!(after < 1000, "{after}");
    let usage = &story.one("thread/tokenUsage")["tokenUsage"];
    assert_eq!(usage["last"]["totalTokens"], after);
    assert_eq!(usage["total"]["totalTokens"], 10_100);
    assert_eq!(stage.read(&thread).await["preview"], "First question");
    let asked = &stage.requests(2)[1];
    assert!(is_compaction(asked));
    assert_eq!(asked.last_user_text(), "Write it down.");
    assert_eq!(asked.input()[..asked.input().len() - 1][..], {
        let mut first = stage.requests(2)[0].input().to_vec();
        first.extend_from_slice(&asked.input()[first.len()..asked.input().len() - 1]);
        first
    });
    assert!(told(asked).iter().any(|text| text.starts_with("A long answer.")));

    let lines = stage.rollout(&thread);
    assert_eq!(lines[..before.len()], before[..], "earlier lines stay");
    let records: Vec<_> = lines.iter().filter(|line| line["type"] == "compacted").collect();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["payload"]["message"], "SUMMARY ONE");
    assert!(!lines.iter().any(|line| line.to_string().contains("Write it down.")));

    stage.complete(&thread, "Second question").await;
    let next = stage.requests(3)[2].clone();
    assert_eq!(
        told(&next),
        [
            "Be kind.",
            "First question",
            &summary_of("SUMMARY ONE"),
            "Second question"
        ]
    );
    let contexts = |request: &Recorded, start: &str| {
        let texts = request.input_texts();
        texts.iter().filter(|text| text.starts_with(start)).count()
    };
    assert_eq!(contexts(&next, "<environment_context>"), 1);
    assert_eq!(contexts(&next, "# AGENTS.md"), 1);
    assert!(next.body.to_string().len() < asked.body.to_string().len());
    // Of the replaced history the record says exactly what was sent.
    let recorded = records[0]["payload"]["replacement_history"]
        .as_array()
        .expect("a history");
    assert_eq!(recorded.len(), next.input().len() - 1);

    compacted(&stage, &thread).await;
    stage.complete(&thread, "Third question").await;
    assert_eq!(
        told(&stage.requests(5)[4]),
        [
            "Be kind.",
            "First question",
            "Second question",
            &summary_of("SUMMARY TWO"),
            "Third question"
        ]
    );
    let tasks: Vec<bool> = stage.requests(5).iter().map(is_compaction).collect();
    assert_eq!(tasks, [false, true, false, true, false]);
}

/// Shows S-238, S-240, S-241.
#[tokio::test]
async fn at_the_limit_the_turn_makes_room_and_goes_on() {
    let script = json!([
        call("one", 900),
        answer("SUMMARY ONE", 950),
        call("two", 100),
        call("three", 800),
        answer("SUMMARY TWO", 900),
        answer("Done", 100),
    ]);
    let stage = Stage::configured("model_auto_compact_token_limit = 700", script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Work").await;
    assert_eq!(
        story.kinds(),
        [
            "userMessage",
            "commandExecution",
            "contextCompaction",
            "commandExecution",
            "commandExecution",
            "contextCompaction",
            "agentMessage",
        ]
    );
    let items = story.items("contextCompaction");
    let ids: Vec<_> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["auto-compact-1", "auto-compact-2"]);
    assert!(items.iter().all(|item| item["reason"] == "limit"), "{items:?}");
    assert_eq!(story.said(), ["Done"]);
    let requests = stage.requests(6);
    // What the round produced is told to whoever sums up, and is on the record before that.
    assert!(
        requests[1]
            .output("one")
            .is_some_and(|output| output.contains("out of one"))
    );
    assert_eq!(told(&requests[2]), ["Work", &summary_of("SUMMARY ONE")]);
    assert!(requests[2].calls().is_empty());
    assert_eq!(told(&requests[5]), ["Work", &summary_of("SUMMARY TWO")]);
    let lines = stage.rollout(&thread);
    let at = |fits: &dyn Fn(&Value) -> bool| lines.iter().position(fits).expect("a line");
    let output = at(&|line| line["payload"]["type"] == "function_call_output" && line["payload"]["call_id"] == "one");
    assert!(output < at(&|line| line["type"] == "compacted"));
    let contexts = lines.iter().filter(|line| line["type"] == "turn_context").count();
    assert_eq!(contexts, 6, "one for each request");
    // The next turn's compaction has an id of its own too.
    let ids = |thread: Value| -> Vec<String> {
        let turns = thread["turns"].as_array().expect("turns").clone();
        let items = turns.iter().flat_map(|turn| turn["items"].as_array().expect("items"));
        let items = items.filter(|item| item["type"] == "contextCompaction");
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(stage.read(&thread).await), ["auto-compact-1", "auto-compact-2"]);
}

/// Shows S-239.
#[tokio::test]
async fn a_limit_that_cannot_be_kept_ends_the_turn_with_advice() {
    let script = json!([
        call("one", 40),
        answer("SUMMARY", 50),
        call("two", 30),
        answer("Hello", 20)
    ]);
    let stage = Stage::configured("model_auto_compact_token_limit = 1", script).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Work").await;
    assert_eq!(
        (story.status(), story.error_kind()),
        ("failed", "contextWindowExceeded")
    );
    assert_eq!(story.items("contextCompaction").len(), 1);
    let message = story.one("error")["error"]["message"].as_str().unwrap();
    let number = message
        .strip_prefix("The conversation takes ")
        .and_then(|rest| rest.split(' ').next())
        .and_then(|number| number.parse::<u64>().ok());
    assert!(number.is_some_and(|number| number >= 30), "{message}");
    assert!(message.contains("limit is 1") && message.contains("new thread") && message.contains("shorter input"));
    stage.requests(3);
    // The thread goes on.
    let last = stage.run(&thread, "Hi").await;
    assert_eq!(last.kinds()[0], "userMessage");
}

/// Shows S-238.
#[tokio::test]
async fn no_limit_and_no_room_to_gain_mean_no_compaction() {
    // Switched off.
    let script = json!([call("one", 950), answer("Done", 990), answer("Again", 990)]);
    let config = "model_context_window = 1000\nmodel_auto_compact_token_limit = 0";
    let stage = Stage::configured(config, script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Work").await;
    stage.complete(&thread, "More").await;
    stage.requests(3);
    // Nothing but the person's words: a first message, however long, is for the provider to judge.
    let stage = Stage::configured("model_auto_compact_token_limit = 10", json!([answer("Fine", 5000)])).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, &"long ".repeat(1000)).await;
    assert_eq!(story.kinds(), ["userMessage", "agentMessage"]);
    stage.requests(1);
}

#[tokio::test]
async fn a_full_window_is_emptied_before_the_next_turn_asks() {
    let script = json!([
        answer("First answer", 950),
        answer("SUMMARY", 960),
        answer("Second answer", 100)
    ]);
    let stage = Stage::configured("model_context_window = 1000", script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "First").await;
    let story = stage.complete(&thread, "Second").await;
    assert_eq!(story.kinds(), ["userMessage", "contextCompaction", "agentMessage"]);
    let requests = stage.requests(3);
    // The new question is not what is summed up, and comes after the summary as it is.
    assert!(!told(&requests[1]).contains(&"Second".to_owned()));
    assert_eq!(told(&requests[2]), ["First", &summary_of("SUMMARY"), "Second"]);
}

#[tokio::test]
async fn what_the_provider_refuses_as_too_long_is_compacted_once() {
    let too_long = json!([{"fail": {"status": 400, "body": {"error": {
        "message": "Too long.", "type": "invalid_request_error", "code": "context_length_exceeded"}}}}]);
    let script = json!([
        call("old", 100),
        call("new", 200),
        answer("First answer", 300),
        too_long,
        // The request for the summary is too long as well: the oldest goes, call and output together.
        too_long,
        answer("SUMMARY", 250),
        too_long,
        answer("Third answer", 100),
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "First").await;
    let story = stage.run(&thread, "Second").await;
    assert_eq!(
        (story.status(), story.error_kind()),
        ("failed", "contextWindowExceeded")
    );
    let item = story.item("contextCompaction");
    assert_eq!(
        (&item["reason"], &item["status"]),
        (&json!("tooLong"), &json!("completed"))
    );
    assert_eq!(story.count("error"), 1);
    assert_eq!(story.count("turn/retrying"), 0);
    let requests = stage.requests(7);
    assert_eq!(requests[4].outputs().len(), 2);
    assert_eq!(requests[5].outputs().len(), 1, "{:#?}", requests[5].input());
    assert!(requests[5].output("new").is_some());
    assert!(told(&requests[5]).contains(&"First answer".to_owned()));
    assert_eq!(told(&requests[6]), ["First", &summary_of("SUMMARY"), "Second"]);
    stage.complete(&thread, "Third").await;
}

/// Shows S-101.
#[tokio::test]
async fn stopping_in_a_compaction_leaves_the_conversation_as_it_was() {
    let held = |name: &str| json!([{"say": "SUM", "partial": true}, {"hold": name}, say("MARY")]);
    let script = json!([call("one", 900), held("there"), held("here"), answer("SUMMARY", 100)]);
    let stage = Stage::configured("model_auto_compact_token_limit = 700", script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Work").await;
    stage
        .until(|name, params| name == "item/started" && params["item"]["type"] == "contextCompaction")
        .await;
    stage.model.wait_for_hold("there").await;
    assert_eq!(stage.interrupt(&thread).await["interrupted"], true);
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    assert_eq!(story.item("contextCompaction")["status"], "interrupted");
    assert!(!stage.rollout(&thread).iter().any(|line| line["type"] == "compacted"));
    stage.model.release("there");
    // On request: not even a word of the interruption.
    let turn = compact(&stage, &thread).await;
    stage.model.wait_for_hold("here").await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    assert_eq!(story.item("contextCompaction")["status"], "interrupted");
    stage.model.release("here");
    assert!(!stage.rollout(&thread).iter().any(|line| line["type"] == "compacted"));
    let turn = compact(&stage, &thread).await;
    stage.finish(&turn).await;
    let requests = stage.requests(4);
    let (before, after) = (requests[2].input(), requests[3].input());
    assert_eq!(before, after, "the conversation is as it was");
    assert!(requests[3].output("one").is_some());
}

/// A summary that does not come the first time.
#[tokio::test]
async fn a_request_for_a_summary_is_tried_again_like_any_other() {
    let script = json!([
        answer("Answer", 900),
        [{"fail": {"status": 503}}],
        [{"say": "SUM", "partial": true}, {"drop": true}],
        [usage(10)],
        answer("SUMMARY", 900),
        answer("More", 100),
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Hi").await;
    let story = compacted(&stage, &thread).await;
    assert_eq!(story.count("turn/retrying"), 2);
    assert_eq!(story.item("contextCompaction")["summary"], "SUMMARY");
    stage.complete(&thread, "Next").await;
    assert_eq!(told(&stage.requests(6)[5]), ["Hi", &summary_of("SUMMARY"), "Next"]);
}

#[tokio::test]
async fn without_a_summary_nothing_is_replaced() {
    let refused = json!([{"fail": {"status": 400, "body": {"error": {"message": "No.", "code": "invalid_value"}}}}]);
    let script = json!([
        answer("Answer", 900),
        [usage(10)],
        [usage(10)],
        refused,
        answer("More", 100),
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Hi").await;
    for kind in ["incomplete", "badRequest"] {
        let turn = compact(&stage, &thread).await;
        let story = stage.finish(&turn).await;
        assert_eq!((story.status(), story.error_kind()), ("failed", kind));
        let item = story.item("contextCompaction");
        assert_eq!(item["status"], "failed");
        assert!(
            item["message"].as_str().is_some_and(|message| message.len() > 20),
            "{item}"
        );
    }
    stage.complete(&thread, "Next").await;
    assert_eq!(told(&stage.requests(5)[4]), ["Hi", "Answer", "Next"]);
}

/// Shows S-242.
#[tokio::test]
async fn a_compaction_takes_the_place_of_a_turn_that_runs() {
    let script = json!([
        [bash("one", "echo ready; sleep 60")],
        answer("SUMMARY", 100),
        answer("Done", 100),
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let running = stage.start_turn(&thread, "Work").await;
    stage.until_output("ready").await;
    let turn = compact(&stage, &thread).await;
    let story = stage.finish(&running).await;
    assert_eq!(story.last()["turn"]["interruptedBy"], "replaced");
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "completed");
    assert_eq!(story.kinds(), ["contextCompaction"]);
    stage.complete(&thread, "Go on").await;
    let requests = stage.requests(3);
    assert!(requests[1].output("one").is_some(), "the stopped call has its output");
    let texts = told(&requests[2]);
    assert_eq!(
        (&texts[0][..], texts.last().map(String::as_str)),
        ("Work", Some("Go on"))
    );
}

#[tokio::test]
async fn words_that_come_during_a_compaction_are_taken_after_it() {
    let script = json!([
        call("one", 900),
        [{"say": "SUM", "partial": true}, {"hold": "here"}, say("MARY")],
        answer("Done", 100),
    ]);
    let stage = Stage::configured("model_auto_compact_token_limit = 700", script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Work").await;
    stage.model.wait_for_hold("here").await;
    stage.steer(&thread, &turn, "and this").await.expect("taken");
    stage.model.release("here");
    let story = stage.finish(&turn).await;
    assert_eq!(
        story.kinds(),
        [
            "userMessage",
            "commandExecution",
            "contextCompaction",
            "userMessage",
            "agentMessage"
        ]
    );
    assert_eq!(
        told(&stage.requests(3)[2]),
        ["Work", &summary_of("SUMMARY"), "and this"]
    );
}

/// Shows S-237.
#[tokio::test]
async fn a_resumed_thread_goes_on_with_the_compacted_history() {
    let script = json!([
        [{"call": {"tool": "update_plan", "arguments": {"plan": [
            {"step": "Look", "status": "completed"}, {"step": "Mend", "status": "in_progress"}]}, "id": "plan"}}, usage(900)],
        answer("SUMMARY ONE", 950),
        call("one", 100),
        answer("Done", 100),
        answer("More", 100),
    ]);
    let mut stage = Stage::configured("model_auto_compact_token_limit = 700", script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Work").await;
    stage.complete(&thread, "Next").await;
    let live = stage.requests(5)[4].clone();
    let summary = told(&live)
        .into_iter()
        .find(|text| text.starts_with("<compaction_summary>"));
    let summary = summary.expect("a summary");
    assert!(summary.contains("- (done) Look\n- (under way) Mend"), "{summary}");
    stage.client.call("shutdown", Value::Null).await;
    stage.client.notify("exit", Value::Null);
    stage.client.expect_end().await;
    let setting = Setting {
        home: Some(stage.client.home().to_owned()),
        folder: Some(stage.dir.clone()),
        config: "model_auto_compact_token_limit = 700".into(),
        ..Setting::default()
    };
    let again = Stage::with(json!([answer("Resumed", 100)]), setting).await;
    again.resume(json!({"threadId": thread})).await;
    again.complete(&thread, "Still there?").await;
    let resumed = again.requests(1)[0].clone();
    let expected = live.input().len() + 2;
    assert_eq!(resumed.input()[..live.input().len()], live.input()[..]);
    assert_eq!(resumed.input().len(), expected, "{:#?}", told(&resumed));
}

/// A server that counts no tokens, over the other wire.
#[tokio::test]
async fn where_the_provider_counts_nothing_we_do() {
    let long = "x".repeat(40_000);
    let script = json!([
        [bash("one", "true"), {"usage": null}],
        [say(&long), {"usage": null}],
        [say("SUMMARY"), {"usage": null}],
        [say("Short"), {"usage": null}],
        [say("Shorter"), {"usage": null}],
    ]);
    let setting = Setting {
        provider: "wire_api = \"chat\"".into(),
        config: "model_auto_compact_token_limit = 12800".into(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "First").await;
    let story = stage.complete(&thread, "Second").await;
    assert_eq!(story.kinds(), ["userMessage", "contextCompaction", "agentMessage"]);
    let item = story.item("contextCompaction");
    let tokens = |key: &str| item[key].as_u64().expect("tokens");
    assert!(
        tokens("tokensBefore") >= 12_800 && tokens("tokensAfter") < 10_000,
        "{item}"
    );
    let story = stage.complete(&thread, "Third").await;
    assert_eq!(story.kinds(), ["userMessage", "agentMessage"]);
    assert!(stage.requests(5)[4].body.to_string().len() < 40_000);
}

#[tokio::test]
async fn there_is_nothing_to_sum_up_in_a_new_thread() {
    let stage = Stage::new(json!([])).await;
    let thread = stage.thread().await;
    let story = compacted(&stage, &thread).await;
    let item = story.item("contextCompaction");
    assert_eq!(item["status"], "completed");
    assert!(
        item["message"]
            .as_str()
            .is_some_and(|message| message.contains("nothing")),
        "{item}"
    );
    stage.requests(0);
}
