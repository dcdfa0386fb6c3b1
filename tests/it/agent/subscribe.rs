//! Subscriptions: a thread's events once more, from any number on, with the history where it is wanted.

use super::stage::{Stage, say};
use countersign::protocol::order::Order;
use serde_json::{Value, json};
use std::collections::BTreeMap;

async fn subscribe(stage: &Stage, params: Value) -> (String, Value) {
    let answer = stage.client.call("countersign/thread/subscribe", params).await;
    let id = answer["subscriptionId"].as_str().expect("an id").to_owned();
    (id, answer)
}

/// Runs a turn and reads until so many subscriptions, and the client itself, have seen its end: what each has got. The
/// client's own is under the empty name.
async fn told(stage: &Stage, thread: &str, text: &str, subscriptions: usize) -> BTreeMap<String, Vec<(String, Value)>> {
    stage.start_turn(thread, text).await;
    ended(stage, subscriptions + 1).await
}

async fn ended(stage: &Stage, mut open: usize) -> BTreeMap<String, Vec<(String, Value)>> {
    let mut told: BTreeMap<String, Vec<(String, Value)>> = BTreeMap::new();
    while open > 0 {
        let (method, mut params) = stage.next().await;
        open -= usize::from(method == "turn/completed");
        let of = params.as_object_mut().expect("an object").remove("subscriptionId");
        let of = of.and_then(|id| id.as_str().map(str::to_owned)).unwrap_or_default();
        told.entry(of).or_default().push((method, params));
    }
    told
}

fn tool() -> Value {
    json!({"call": {"tool": "shell", "arguments": {"command": ["echo", "hello"]}, "id": "c1"}})
}

/// Shows S-445, S-446.
#[tokio::test]
async fn a_thread_is_followed_until_the_subscription_ends() {
    let mut stage = Stage::new(json!([[say("One.")], [say("Two.")]])).await;
    let thread = stage.thread().await;
    let unknown = json!({"threadId": "01890000-0000-7000-8000-000000000000"});
    let refused = stage.client.request("countersign/thread/subscribe", unknown).await;
    assert_eq!(refused.expect_err("no such thread").data["kind"], "threadNotLoaded");
    let (id, answer) = subscribe(&stage, json!({"threadId": thread})).await;
    assert!(uuid::Uuid::parse_str(&id).is_ok(), "{id}");
    assert_eq!((answer["lastSeq"].as_u64(), answer.get("missing")), (Some(2), None));
    let (other, _) = subscribe(&stage, json!({"threadId": thread})).await;
    assert_ne!(id, other);
    let mut told = told(&stage, &thread, "Go", 2).await;
    let own = told.remove("").expect("the client's own");
    let finals = |events: &[(String, Value)]| -> Vec<(String, Value)> {
        let is_delta = |method: &str| method.ends_with("elta");
        events.iter().filter(|(method, _)| !is_delta(method)).cloned().collect()
    };
    // All see the same story, by the same rules.
    for (name, events) in &told {
        assert_eq!(finals(events), finals(&own), "{name}");
        let mut order = Order::default();
        for (method, params) in events {
            order.take(method, params).unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }
    assert!(own.iter().all(|(method, _)| method != "item/raw"));
    // One ends, and the other goes on.
    let end = json!({"subscriptionId": id});
    assert_eq!(
        stage.client.call("countersign/thread/unsubscribe", end.clone()).await,
        json!({})
    );
    let told = self::told(&stage, &thread, "Go on", 1).await;
    assert_eq!(told.keys().collect::<Vec<_>>(), ["", &other[..]]);
    let refused = stage.client.request("countersign/thread/unsubscribe", end).await;
    assert_eq!(refused.expect_err("it has ended").data["kind"], "subscriptionNotFound");
    // The other ends with its thread, after the last event, which both have before the server ends.
    stage.client.heed("countersign/thread/closed");
    let id = stage.client.send_request("shutdown", Value::Null);
    let mut closed = Vec::new();
    while closed.len() < 2 {
        let (method, params) = stage.next().await;
        if method == "thread/closed" {
            closed.push(params["subscriptionId"].clone());
        }
    }
    assert!(
        closed.contains(&json!(other)) && closed.contains(&Value::Null),
        "{closed:?}"
    );
    assert_eq!(stage.client.expect_answer(json!(id)).await, Ok(Value::Null));
    stage.client.notify("exit", Value::Null);
    assert_eq!(stage.client.expect_end().await, 0);
}

#[tokio::test]
async fn what_is_kept_comes_again_from_a_number_on() {
    let stage = Stage::new(json!([[say("One.")], [say("Two.")]])).await;
    let thread = stage.thread().await;
    let own = told(&stage, &thread, "Go", 0).await.remove("").expect("the story");
    let last = own.last().expect("an event").1["seq"].as_u64().expect("a number");
    let (_, answer) = subscribe(&stage, json!({"threadId": thread, "afterSeq": 0})).await;
    assert_eq!((&answer["lastSeq"], answer.get("missing")), (&json!(last), None));
    let again = ended(&stage, 1).await.into_values().next().expect("a story");
    assert_eq!(again[0].0, "thread/started");
    assert_eq!(again.last(), own.last());
    // What the client has not seen of it, and nothing else.
    let (id, _) = subscribe(&stage, json!({"threadId": thread, "afterSeq": last - 1})).await;
    let rest = ended(&stage, 1).await.remove(&id).expect("a story");
    assert_eq!(rest.len(), 1);
    // A number of another life.
    let params = json!({"threadId": thread, "afterSeq": last + 1});
    let refused = stage.client.request("countersign/thread/subscribe", params).await;
    let refused = refused.expect_err("not yet there");
    assert_eq!(refused.data["kind"], "invalidParams");
    assert!(refused.message.contains("earlier life"), "{refused:?}");
}

/// Shows S-046.
#[tokio::test]
async fn items_of_the_history_come_to_those_who_asked_in_its_order() {
    let stage = Stage::new(json!([[tool()], [say("Done.")], [say("Again.")]])).await;
    let thread = stage.thread().await;
    let (plain, _) = subscribe(&stage, json!({"threadId": thread})).await;
    let (raw, _) = subscribe(&stage, json!({"threadId": thread, "raw": true})).await;
    let mut seen: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut keep = |told: BTreeMap<String, Vec<(String, Value)>>| {
        for (of, events) in told {
            let items = events.into_iter().filter(|(method, _)| method == "item/raw");
            seen.entry(of)
                .or_default()
                .extend(items.map(|(_, params)| params["item"].clone()));
        }
    };
    keep(told(&stage, &thread, "Go", 2).await);
    // One that comes late is told of what is there first.
    let (late, _) = subscribe(&stage, json!({"threadId": thread, "raw": true})).await;
    keep(told(&stage, &thread, "Again", 3).await);
    let history: Vec<Value> = stage
        .rollout(&thread)
        .into_iter()
        .filter(|line| line["type"] == "response_item")
        .map(|line| line["payload"].clone())
        .collect();
    assert!(
        history.iter().any(|item| item["type"] == "function_call_output"),
        "{history:?}"
    );
    assert_eq!(seen.remove(&raw), Some(history.clone()));
    assert_eq!(seen.remove(&late), Some(history));
    assert_eq!(seen, BTreeMap::from([(String::new(), vec![]), (plain, vec![])]));
}
