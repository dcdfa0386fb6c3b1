//! Work beside the conversation goes to the thread's own model and provider, unless the person says otherwise for that kind of
//! work: then model and provider are the named ones, and the conversation stays where it is.

use super::stage::{Setting, Stage, bash, rehearse, say};
use crate::support::client::Reply;
use countersign::rehearsal::Running;
use serde_json::{Value, json};

/// A stage with a second provider, `other`.
async fn stage(config: &str, tables: &str, script: Value, other: Value) -> (Stage, Running) {
    let other = rehearse(other).await;
    let setting = Setting {
        config: config.to_owned(),
        tables: format!(
            "{tables}\n[model_providers.other]\nname = \"Other\"\nbase_url = \"{}\"\n",
            other.base_url
        ),
        ..Setting::default()
    };
    (Stage::with(script, setting).await, other)
}

fn usage(total: u32) -> Value {
    json!({"usage": {"input_tokens": total - 1, "output_tokens": 1, "total_tokens": total}})
}

#[tokio::test]
async fn a_summary_is_made_by_whom_the_person_names() {
    let said = || json!([say(&"A long answer. ".repeat(400)), usage(5000)]);
    for (config, elsewhere, model) in [
        ("", false, "rehearsal"),
        ("compact_model = \"brief\"", false, "brief"),
        (
            "compact_model_provider = \"other\"\ncompact_model = \"brief\"",
            true,
            "brief",
        ),
        // Without a model its own first one.
        ("compact_model_provider = \"other\"", true, "listed"),
    ] {
        let mut own = vec![said()];
        let summary = json!([say("SUMMARY"), usage(100)]);
        let theirs = match elsewhere {
            true => vec![summary],
            false => {
                own.push(summary);
                vec![]
            }
        };
        own.push(json!([say("end"), usage(300)]));
        let others = json!({"models": ["listed"], "steps": theirs});
        let (stage, other) = stage(config, "", Value::from(own), others).await;
        let thread = stage.thread().await;
        stage.complete(&thread, "Hello").await;
        let params = json!({"threadId": thread});
        let turn = stage.client.call("countersign/thread/compact", params).await["turnId"].take();
        let story = stage.finish(turn.as_str().expect("an id")).await;
        assert_eq!(story.status(), "completed", "{config}: {story:#?}");
        let asked = match elsewhere {
            true => other.requests(),
            false => stage.model.requests().split_off(1),
        };
        assert_eq!(asked.len(), 1, "{config}");
        assert_eq!(
            (asked[0].model(), asked[0].headers["x-countersign-task"].as_str()),
            (model, "compaction"),
            "{config}"
        );
        stage.complete(&thread, "Go on").await;
        let last = stage.model.requests().pop().expect("a request");
        assert_eq!(last.model(), "rehearsal", "{config}");
        assert!(last.body.to_string().contains("SUMMARY"), "{config}");
    }
}

#[tokio::test]
async fn the_risk_of_a_command_is_told_by_whom_the_person_names() {
    let risk = json!({"risk_level": "high", "description": "It deletes."}).to_string();
    for (table, elsewhere, model) in [
        ("model = \"careful\"", false, "careful"),
        ("model_provider = \"other\"\nmodel = \"careful\"", true, "careful"),
        ("model_provider = \"other\"", true, "listed"),
    ] {
        let mut own = vec![json!([bash("c1", "touch one")])];
        let mut theirs = vec![];
        match elsewhere {
            true => theirs.push(json!([say(&risk)])),
            false => own.push(json!([say(&risk)])),
        }
        own.push(json!([say("done")]));
        let tables = format!("[approvals]\nassess_risk = true\n{table}");
        let others = json!({"models": ["listed"], "steps": theirs});
        let config = "approval_policy = \"untrusted\"";
        let (stage, other) = stage(config, &tables, Value::from(own), others).await;
        stage.answers(Reply::Ok(json!({"decision": "accept"})));
        let thread = stage.thread().await;
        let story = stage.complete(&thread, "Go").await;
        let approval = &story.one("approval/requested")["approval"];
        assert_eq!(approval["risk"]["level"], "high", "{table}: {approval}");
        let asked = match elsewhere {
            true => other.requests(),
            false => stage.model.requests().split_off(1),
        };
        assert_eq!(asked[0].model(), model, "{table}");
    }
}

#[tokio::test]
async fn a_review_is_made_by_whom_the_person_names() {
    let verdict = json!({"findings": [], "overall_correctness": "patch is correct",
        "overall_explanation": "Fine.", "overall_confidence_score": 0.9})
    .to_string();
    let config = "review_model_provider = \"other\"\nreview_model = \"strict\"";
    let (stage, other) = stage(config, "", json!([[say("ok")]]), json!([[say(&verdict)]])).await;
    let thread = stage.thread().await;
    let params = json!({"threadId": thread, "target": {"type": "custom", "instructions": "Look at nothing."}});
    let started = stage.client.call("countersign/review/start", params).await;
    let turn = started["turn"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(stage.finish(&turn).await.status(), "completed");
    assert_eq!(other.requests()[0].model(), "strict");
    stage.complete(&thread, "Hello").await;
    assert_eq!(stage.requests(1)[0].model(), "rehearsal");
}
