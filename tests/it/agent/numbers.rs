//! What a response says beside its words: tokens, the account's allowance, a search of the provider's own; and what a
//! request says of how it is to be answered.

use super::stage::{Setting, Stage, bash, say};
use serde_json::{Value, json};

/// Shows S-213, S-214.
#[tokio::test]
async fn tokens_and_allowance_come_in_one_event_a_response() {
    let used =
        |percent: &str| json!({"x-codex-primary-used-percent": percent, "x-codex-primary-window-minutes": "300"});
    let usage = json!({"usage": {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}});
    let script = json!([
        {"headers": used("12.5"), "outputs": [
            {"raw_event": {"type": "codex.rate_limits", "plan_type": "plus", "rate_limits": {"secondary": {"used_percent": 3}}}},
            say("one"), usage]},
        {"headers": used("20"), "outputs": [say("two"), {"usage": null}]},
        [say("three"), usage],
        [say("four"), {"usage": null}],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "1").await;
    let numbers = story.one("thread/tokenUsage");
    assert_eq!(numbers["tokenUsage"]["last"]["totalTokens"], 100);
    assert_eq!(
        numbers["rateLimits"],
        json!({"primary": {"usedPercent": 12.5, "windowMinutes": 300}, "secondary": {"usedPercent": 3.0}, "plan": "plus"})
    );
    // Without usage the tokens stay; what was known of the allowance and is not said again stays too.
    let story = stage.complete(&thread, "2").await;
    let numbers = story.one("thread/tokenUsage");
    assert_eq!(numbers["tokenUsage"]["total"]["totalTokens"], 100);
    assert_eq!(numbers["rateLimits"]["primary"]["usedPercent"], 20.0);
    assert_eq!(numbers["rateLimits"]["plan"], "plus");
    let story = stage.complete(&thread, "3").await;
    let numbers = story.one("thread/tokenUsage");
    assert_eq!(numbers["tokenUsage"]["total"]["totalTokens"], 200);
    assert_eq!(numbers["rateLimits"]["primary"]["usedPercent"], 20.0);
    let story = stage.complete(&thread, "4").await;
    assert_eq!(story.count("thread/tokenUsage"), 0, "no empty one");
}

async fn context(stage: &Stage, thread: &str) -> Value {
    let params = json!({ "threadId": thread });
    stage.client.call("countersign/thread/context", params).await
}

fn part<'a>(context: &'a Value, kind: &str) -> &'a Value {
    let parts = context["parts"].as_array().expect("parts");
    parts
        .iter()
        .find(|part| part["kind"] == kind)
        .unwrap_or_else(|| panic!("no {kind} in {context:#}"))
}

/// What fills the window is what is sent: what went along with the last request, and the history as it is now.
#[tokio::test]
async fn what_fills_the_window_is_measured() {
    let usage = |total: u32| json!({"usage": {"input_tokens": total - 10, "output_tokens": 10, "total_tokens": total}});
    let script = json!([
        [bash("c1", "seq 2000"), usage(6000)],
        [say("That is a lot."), usage(9000)],
        [say("They were numbers."), usage(9100)],
    ]);
    let setting = Setting {
        config: "model_context_window = 100000".into(),
        files: vec![("AGENTS.md".into(), "Use tabs.\n".repeat(400))],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let before = context(&stage, &thread).await;
    assert!(
        before["model"].is_null() && before["contextWindow"].is_null(),
        "nobody was asked yet: {before:#}"
    );
    stage.complete(&thread, "Count").await;
    let after = context(&stage, &thread).await;
    assert_eq!(
        (
            &after["model"],
            &after["contextWindow"],
            &after["compactsAt"],
            &after["tokens"]
        ),
        (&json!("rehearsal"), &json!(100_000), &json!(90_000), &json!(9000)),
        "{after:#}"
    );
    let request = stage.requests(2).remove(1);
    let tools = request.body["tools"].as_array().expect("tools");
    assert_eq!(part(&after, "tools")["count"], tools.len());
    let instructions = request.body["instructions"].as_str().expect("instructions").len() as u64;
    assert_eq!(part(&after, "instructions")["tokens"], instructions.div_ceil(4));
    let results = part(&after, "toolResults");
    assert!(
        results["largest"][0]["name"] == "shell" && results["tokens"].as_u64() > Some(2000),
        "{results}"
    );
    assert!(part(&after, "instructionFiles")["tokens"].as_u64() > Some(1000));
    for (kind, count) in [("userMessages", 1), ("agentMessages", 1), ("toolCalls", 1)] {
        assert_eq!(part(&after, kind)["count"], count, "{kind}");
    }
    let sizes: Vec<u64> = after["parts"]
        .as_array()
        .expect("parts")
        .iter()
        .filter_map(|part| part["tokens"].as_u64())
        .collect();
    assert!(sizes.is_sorted_by(|one, next| one >= next), "{sizes:?}");
    // What was compacted is gone, and its summary has come.
    let params = json!({ "threadId": thread });
    let turn = stage.client.call("countersign/thread/compact", params).await["turnId"].take();
    stage.finish(turn.as_str().expect("an id")).await;
    let compacted = context(&stage, &thread).await;
    assert_eq!(part(&compacted, "summary")["count"], 1);
    let kinds = compacted["parts"].to_string();
    assert!(
        !kinds.contains("toolResults") && kinds.contains("userMessages"),
        "{kinds}"
    );
}

/// Shows S-065.
#[tokio::test]
async fn a_used_up_allowance_is_kept_and_shown_before_the_error() {
    let refused = json!([{"fail": {"status": 429,
        "headers": {"x-codex-primary-used-percent": "100", "x-codex-primary-window-minutes": "300"},
        "body": {"error": {"type": "usage_limit_reached", "message": "The limit.", "resets_in_seconds": 60}}}}]);
    let usage = json!({"usage": {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}});
    let stage = Stage::new(json!([refused, [say("open again"), usage]])).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Hi").await;
    assert_eq!((story.status(), story.error_kind()), ("failed", "usageLimitExceeded"));
    let full = json!({"primary": {"usedPercent": 100.0, "windowMinutes": 300}});
    assert_eq!(story.one("thread/tokenUsage")["rateLimits"], full);
    let at = |wanted: &str| story.at(|name, _| name == wanted);
    assert!(at("thread/tokenUsage") < at("error"));
    stage.requests(1);
    // It is on the record, and stays known.
    let counts: Vec<Value> = stage
        .rollout(&thread)
        .into_iter()
        .filter(|line| line["payload"]["type"] == "token_count")
        .collect();
    assert_eq!(counts[0]["payload"]["rate_limits"]["primary"]["used_percent"], 100.0);
    let story = stage.complete(&thread, "Again").await;
    assert_eq!(story.one("thread/tokenUsage")["rateLimits"], full);
}

/// A provider that gives an id again gets another one for it here, also where a rollback took the first out of the conversation.
#[tokio::test]
async fn no_id_is_given_twice_after_a_rollback() {
    let found = json!({"type": "response.output_item.done", "output_index": 0, "item": {
        "type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "rope crates"}}});
    let step = json!([{"raw_event": found}, say("Found it.")]);
    let stage = Stage::new(json!([step, step, step])).await;
    let thread = stage.thread().await;
    let mut ids: Vec<Value> = Vec::new();
    for round in 0..3 {
        let story = stage.complete(&thread, "Search").await;
        let id = story.item("toolCall")["id"].clone();
        assert!(!ids.contains(&id), "{id} is given again in round {round}");
        ids.push(id);
        let rollback = json!({"threadId": thread, "numTurns": 1});
        stage.client.call("countersign/thread/rollback", rollback).await;
        stage.until_event("thread/rolledBack").await;
    }
}

/// Shows S-071, S-077.
#[tokio::test]
async fn a_search_of_the_providers_own_shows_as_it_begins() {
    let search = |status: &str, action: Value| json!({"type": "web_search_call", "id": "ws_1", "status": status, "action": action});
    let added =
        json!({"type": "response.output_item.added", "output_index": 0, "item": search("in_progress", Value::Null)});
    let done = json!({"type": "response.output_item.done", "output_index": 0,
        "item": search("completed", json!({"type": "search", "query": "rope crates"}))});
    let script = json!([
        [{"raw_event": added}, {"hold": "search"}, {"raw_event": done}, say("Found it.")],
        [{"raw_event": added}, {"drop": true}],
        [say("No search.")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Search").await;
    let story = stage
        .until(|name, params| name == "item/started" && params["item"]["tool"] == "web_search")
        .await;
    let id = story.last()["item"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(story.last()["item"]["status"], "inProgress");
    let lines = stage.rollout(&thread);
    assert!(!lines.iter().any(|line| line.to_string().contains("web_search")));
    stage.model.release("search");
    let story = stage.finish(&turn).await;
    let item = story.item("toolCall");
    assert_eq!(
        (&item["id"], &item["status"], &item["title"]),
        (
            &json!(id),
            &json!("completed"),
            &json!("Search the web for rope crates")
        )
    );
    // One whose stream breaks off ends with it, and is no part of the turn.
    let story = stage.complete(&thread, "Again").await;
    assert_eq!(story.items("toolCall").len(), 0);
    let ended = story.all("item/completed").into_iter();
    let ended: Vec<_> = ended.filter(|params| params["item"]["type"] == "toolCall").collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(
        (&ended[0]["item"]["status"], &ended[0]["withdrawn"]),
        (&json!("interrupted"), &json!(true))
    );
    assert_eq!(story.said(), ["No search."]);
}

/// Shows S-219.
#[tokio::test]
async fn tier_and_tone_reach_the_request_where_they_are_set() {
    for wire in ["responses", "chat"] {
        let setting = Setting {
            provider: format!("wire_api = \"{wire}\""),
            ..Setting::default()
        };
        let stage = Stage::with(json!([[say("a")], [say("b")], [say("c")], [say("d")]]), setting).await;
        let thread = stage.thread().await;
        stage.complete(&thread, "1").await;
        let turn = |settings: Value| json!({"threadId": thread, "input": [{"type": "text", "text": "x"}], "settings": settings});
        stage
            .run_with(turn(json!({"serviceTier": "priority", "personality": "friendly"})))
            .await;
        stage.run_with(turn(json!({"personality": "pragmatic"}))).await;
        stage
            .run_with(turn(json!({"serviceTier": null, "personality": "none"})))
            .await;
        let requests = stage.requests(4);
        let tiers: Vec<_> = requests
            .iter()
            .map(|request| request.body.get("service_tier").cloned())
            .collect();
        let priority = Some(json!("priority"));
        assert_eq!(tiers, [None, priority.clone(), priority, None], "{wire}");
        let tones = requests.iter().map(|request| {
            let instructions = request.instructions();
            ["Be warm.", "Be matter-of-fact."].map(|tone| instructions.contains(tone))
        });
        assert_eq!(
            tones.collect::<Vec<_>>(),
            [[false, false], [true, false], [false, true], [false, false]],
            "{wire}"
        );
    }
}
