//! What responses cost: shown as far as prices are known, kept with the conversation, and bounded for a turn.

use super::stage::{Setting, Stage, say, shell};
use serde_json::{Value, json};

/// Input, of which so much came from the cache, and output.
fn usage(input: u32, cached: u32, output: u32) -> Value {
    let total = input + output;
    json!({"usage": {"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output, "total_tokens": total}})
}

const PRICE: &str = "[models.\"my-model\".price]\ninput = 2\ncached_input = 0.5\noutput = 10.5\n";

async fn stage(script: Value, config: &str, tables: &str) -> (Stage, String) {
    let setting = Setting {
        config: config.to_owned(),
        tables: tables.to_owned(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let started = stage.start_thread(json!({"settings": {"model": "my-model"}})).await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    (stage, thread)
}

fn usd(cost: &Value) -> f64 {
    cost["usd"].as_f64().unwrap_or_else(|| panic!("no amount: {cost}"))
}

#[tokio::test]
async fn a_turn_and_its_conversation_say_what_they_cost() {
    let script = json!([
        [shell("a", &["true"]), usage(1_000_000, 500_000, 100_000)],
        [say("Done."), usage(1_000_000, 0, 0)],
        [say("Again."), usage(500_000, 0, 0)],
    ]);
    let (stage, thread) = stage(script, "", PRICE).await;
    let story = stage.complete(&thread, "Go").await;
    let first = 1.0 + 0.25 + 1.05;
    let shown: Vec<f64> = story
        .all("thread/tokenUsage")
        .iter()
        .map(|params| usd(&params["tokenUsage"]["cost"]))
        .collect();
    assert!(
        (shown[0] - first).abs() < 1e-9 && (shown[1] - first - 2.0).abs() < 1e-9,
        "{shown:?}"
    );
    let ended = story.last();
    assert!((usd(&ended["cost"]) - first - 2.0).abs() < 1e-9, "{ended}");
    assert_eq!(ended["cost"]["isPartial"], false);
    // The next turn has a cost of its own; the conversation's goes on.
    let story = stage.complete(&thread, "Again").await;
    assert!((usd(&story.last()["cost"]) - 1.0).abs() < 1e-9);
    let total = &story.all("thread/tokenUsage")[0]["tokenUsage"]["cost"];
    assert!((usd(total) - first - 3.0).abs() < 1e-9, "{total}");
}

#[tokio::test]
async fn what_is_not_known_is_not_shown_as_nothing() {
    let script = json!([[say("Hello."), usage(1000, 0, 10)]]);
    let (stage, thread) = stage(script, "", "").await;
    let story = stage.complete(&thread, "Hello").await;
    assert_eq!(story.last()["cost"], Value::Null);
    assert_eq!(story.all("thread/tokenUsage")[0]["tokenUsage"]["cost"], Value::Null);
    // A response that says nothing of its tokens leaves the sum open.
    let script = json!([
        [shell("a", &["true"]), usage(1_000_000, 0, 0)],
        [say("Done."), {"usage": null}],
    ]);
    let (stage, thread) = self::stage(script, "", PRICE).await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.last()["cost"], json!({"usd": 2.0, "isPartial": true}));
    // And so does one before the first that says something.
    let script = json!([
        [shell("a", &["true"]), {"usage": null}],
        [say("Done."), usage(1_000_000, 0, 0)],
    ]);
    let (stage, thread) = self::stage(script, "", PRICE).await;
    let story = stage.complete(&thread, "Go").await;
    let partial = json!({"usd": 2.0, "isPartial": true});
    assert_eq!(story.last()["cost"], partial);
    let shown = story.all("thread/tokenUsage");
    let total = shown.last().expect("the numbers");
    assert_eq!(total["tokenUsage"]["cost"], partial);
}

#[tokio::test]
async fn a_turn_that_costs_as_much_as_it_may_is_warned_of_and_ends() {
    let script = json!([
        [shell("a", &["true"]), usage(400_000, 0, 0)],
        [shell("b", &["true"]), usage(50_000, 0, 0)],
        [shell("c", &["true"]), usage(100_000, 0, 0)],
        [say("Never said.")],
    ]);
    let (stage, thread) = stage(script, "max_cost_per_turn = 1", PRICE).await;
    let story = stage.run(&thread, "Go").await;
    let warnings: Vec<&Value> = story.all("warning").iter().map(|params| &params["message"]).collect();
    assert_eq!(
        warnings,
        ["This turn has cost about $0.80 of the $1.00 that a turn may cost (max_cost_per_turn)."]
    );
    let turn = &story.last()["turn"];
    assert_eq!(turn["status"], "failed");
    assert_eq!(turn["error"]["kind"], "costLimitExceeded");
    let message = turn["error"]["message"].as_str().expect("words");
    assert!(
        message.contains("about $1.10") && message.contains("$1.00"),
        "{message}"
    );
    stage.requests(3);
}

#[tokio::test]
async fn a_limit_without_a_price_is_said_to_have_no_effect() {
    let script = json!([
        [shell("a", &["true"]), usage(400_000, 0, 0)],
        [say("Done."), usage(1, 0, 1)]
    ]);
    let (stage, thread) = stage(script, "max_cost_per_turn = 0.01", "").await;
    let story = stage.complete(&thread, "Go").await;
    let warnings: Vec<&str> = story
        .all("warning")
        .iter()
        .filter_map(|params| params["message"].as_str())
        .collect();
    assert!(
        warnings.iter().any(|text| text.contains("no price for my-model")),
        "{warnings:?}"
    );
}
