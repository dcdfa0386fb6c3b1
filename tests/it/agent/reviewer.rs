//! The automatic reviewer in the person's place, and the word on a command's risk.

use super::stage::{Setting, Stage, Story, bash, say, shell};
use crate::support::client::Reply;
use countersign::rehearsal::Recorded;
use serde_json::{Value, json};

const AUTO: &str = "approval_policy = \"untrusted\"\napprovals_reviewer = \"auto\"";

/// A step of the reviewer's; its instructions tell it from the agent.
fn review(outputs: Value) -> Value {
    json!({"when": {"instructions": "You review single actions"}, "outputs": outputs})
}

fn verdict(outcome: &str, rationale: &str) -> Value {
    let answer = json!({"outcome": outcome, "risk_level": "medium", "rationale": rationale});
    review(json!([say(&answer.to_string())]))
}

/// A step of the agent's.
fn step(outputs: Value) -> Value {
    json!({"when": {"not": {"instructions": "You review"}}, "outputs": outputs})
}

fn statuses(story: &Story) -> Vec<&str> {
    let assessments = story.all("guardian/assessment").into_iter();
    assessments.filter_map(|params| params["status"].as_str()).collect()
}

fn reviews(stage: &Stage) -> Vec<Recorded> {
    let requests = stage.model.requests().into_iter();
    requests
        .filter(|request| request.instructions().contains("You review"))
        .collect()
}

/// Shows S-132, S-401, S-402.
#[tokio::test]
async fn the_setting_says_who_answers() {
    let script = json!([
        verdict("allow", "The person asked for it."),
        verdict("deny", "Nobody asked for this."),
        step(json!([shell("c1", &["touch", "one"])])),
        step(json!([say("first")])),
        step(json!([shell("c2", &["touch", "two"])])),
        step(json!([say("second")])),
        step(json!([shell("c3", &["touch", "three"])])),
        step(json!([say("third")])),
    ]);
    let stage = Stage::configured(AUTO, script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Please touch one").await;
    assert_eq!(statuses(&story), ["inProgress", "approved"]);
    assert_eq!(story.count("approval/requested"), 0);
    assert!(stage.path("one").exists());
    let assessment = story.all("guardian/assessment")[1];
    assert_eq!(assessment["itemId"], "c1");
    assert_eq!(assessment["id"], story.all("guardian/assessment")[0]["id"]);
    assert_eq!(assessment["action"]["command"], json!(["touch", "one"]));
    assert_eq!(
        (&assessment["riskLevel"], &assessment["rationale"]),
        (&json!("medium"), &json!("The person asked for it."))
    );
    // The request is the reviewer's own.
    let request = reviews(&stage).remove(0);
    assert!(request.tools().is_empty(), "{:?}", request.tools());
    let texts = request.input_texts();
    assert_eq!(texts.len(), 1);
    assert!(
        texts[0].contains("Please touch one") && texts[0].contains("\"touch\""),
        "{}",
        texts[0]
    );
    // A no is told like a person's, with the reason.
    let story = stage.complete(&thread, "Now something else").await;
    assert_eq!(statuses(&story), ["inProgress", "denied"]);
    assert_eq!(story.item("commandExecution")["status"], "declined");
    assert!(!stage.path("two").exists());
    let requests = stage.model.requests();
    let told = requests.last().expect("a request").output("c2").expect("an output");
    assert!(
        told.contains("reviewer") && told.contains("Nobody asked for this."),
        "{told}"
    );
    // For one turn and from then on it is the person again.
    stage.answers(Reply::Ok(json!({"decision": "accept"})));
    let params = json!({
        "threadId": thread,
        "input": [{"type": "text", "text": "Third"}],
        "settings": {"approvalsReviewer": "user"},
    });
    let story = stage.run_with(params).await;
    assert_eq!((story.count("approval/requested"), statuses(&story).len()), (1, 0));
    assert!(stage.path("three").exists());
    assert_eq!(reviews(&stage).len(), 2);
}

#[tokio::test]
async fn what_is_no_clear_yes_is_a_no() {
    for (answers, requests, expected) in [
        (vec![json!([say("Sure, go ahead!")]); 3], 3, "could not be understood"),
        (vec![json!([{"fail": {"status": 500}}]); 3], 3, "no result"),
        (
            vec![json!([{"refuse": "I cannot judge this."}]); 3],
            3,
            "could not be understood",
        ),
        (
            vec![
                json!([say("hm")]),
                json!([say("```json\n{\"outcome\": \"allow\"}\n```")]),
            ],
            2,
            "",
        ),
    ] {
        let mut script: Vec<Value> = answers.into_iter().map(review).collect();
        script.push(step(json!([shell("c1", &["touch", "one"])])));
        script.push(step(json!([say("done")])));
        let stage = Stage::configured(AUTO, Value::from(script)).await;
        let thread = stage.thread().await;
        let story = stage.complete(&thread, "Go").await;
        assert_eq!(reviews(&stage).len(), requests, "{expected}");
        let allowed = expected.is_empty();
        assert_eq!(stage.path("one").exists(), allowed);
        assert_eq!(
            statuses(&story),
            ["inProgress", if allowed { "approved" } else { "denied" }]
        );
        let rationale = story.all("guardian/assessment")[1]["rationale"]
            .as_str()
            .expect("words")
            .to_owned();
        assert!(rationale.contains(expected), "{rationale}");
    }
}

/// Shows S-406.
#[tokio::test]
async fn a_review_ends_with_its_turn_and_many_denials_end_the_turn() {
    let script = json!([
        review(json!([{"hold": "never"}])),
        step(json!([shell("c1", &["touch", "one"])])),
    ]);
    let stage = Stage::configured(AUTO, script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.model.wait_for_hold("never").await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(
        (story.status(), statuses(&story)),
        ("interrupted", vec!["inProgress", "aborted"])
    );
    assert!(!stage.path("one").exists());
    drop(stage);

    let no = json!({"outcome": "deny", "rationale": "No."}).to_string();
    let mut script = vec![json!({
        "when": {"instructions": "You review single actions"}, "repeat": true, "outputs": [say(&no)],
    })];
    script.extend((0..9).map(|n| step(json!([shell(&format!("c{n}"), &["touch", &format!("f{n}")])]))));
    let stage = Stage::configured(AUTO, Value::from(script)).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Go").await;
    assert_eq!(story.status(), "interrupted");
    assert_eq!(statuses(&story).iter().filter(|status| **status == "denied").count(), 5);
    let warned = story.one("warning")["message"].as_str().expect("words");
    assert!(warned.contains("denied 5 actions"), "{warned}");
    // The server ends while a review is under way, and leaves nothing.
}

#[tokio::test]
async fn permissions_are_reviewed_and_patches_are_not() {
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch\n";
    let ask = |id: &str| {
        json!({"call": {"tool": "request_permissions", "id": id, "arguments": {
            "permissions": [{"type": "write", "path": "../beside"}], "reason": "The task needs it.",
        }}})
    };
    let script = json!([
        verdict("deny", "Too wide."),
        verdict("allow", "It was asked for."),
        step(json!([ask("p1")])),
        step(json!([ask("p2")])),
        step(json!([bash("c1", "echo new > ../beside/there")])),
        step(json!([{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "patch"}}])),
        step(json!([say("done")])),
    ]);
    let setting = Setting {
        config: "approvals_reviewer = \"auto\"".into(),
        files: vec![("../beside/there".into(), "old\n".into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let story = stage.until_event("proposal/created").await;
    assert_eq!(
        statuses(&story),
        ["inProgress", "denied", "inProgress", "approved"],
        "{story:#?}"
    );
    assert_eq!(story.count("approval/requested"), 0);
    let action = &story.all("guardian/assessment")[0]["action"];
    assert_eq!(
        (&action["type"], &action["permissions"][0]["type"]),
        (&json!("permission"), &json!("write"))
    );
    assert_eq!(stage.text("../beside/there"), "new\n");
    // The patch waits for the person.
    let proposal = &story.last()["proposal"];
    assert_eq!(proposal["status"], "proposed");
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    stage.client.ignore("countersign/file/changed");
    assert_eq!(stage.finish(&turn).await.status(), "completed");
    assert_eq!(reviews(&stage).len(), 2);
}

/// Shows S-403, S-404, S-405.
#[tokio::test]
async fn the_person_can_overrule_one_denial() {
    let script = json!([
        verdict("deny", "Nobody asked for this."),
        verdict("allow", "Fine."),
        verdict("deny", "Still no."),
        step(json!([shell("c1", &["touch", "one"])])),
        step(json!([say("denied")])),
        step(json!([shell("c2", &["touch", "one"])])),
        step(json!([shell("c3", &["touch", "two"])])),
        step(json!([shell("c4", &["touch", "one"]), {"hold": "gate"}])),
        step(json!([say("end")])),
    ]);
    let stage = Stage::configured(AUTO, script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let denied = story.all("guardian/assessment")[1]["id"].clone();
    let approve = |id: &Value| {
        let params = json!({"threadId": thread, "assessmentId": id});
        stage.client.call("countersign/guardian/approveDenied", params)
    };
    assert_eq!(approve(&json!("nothing")).await, json!({"taken": false}));
    assert_eq!(approve(&denied).await, json!({"taken": true}));
    assert_eq!(approve(&denied).await, json!({"taken": false}), "once");
    let turn = stage.start_turn(&thread, "Again").await;
    let story = stage
        .until(|name, params| name == "item/completed" && params["item"]["id"] == "c3")
        .await;
    // Just this action, once: the other one was reviewed.
    assert_eq!(statuses(&story), ["inProgress", "approved", "inProgress", "approved"]);
    assert_eq!(reviews(&stage).len(), 2);
    let allowed = story.all("guardian/assessment")[3]["id"].clone();
    assert_eq!(approve(&allowed).await, json!({"taken": false}), "it was not denied");
    let requests: Vec<_> = stage
        .model
        .requests()
        .into_iter()
        .filter(|request| !request.tools().is_empty())
        .collect();
    let message = |request: &Recorded| {
        let developer = request.input().iter().filter(|item| item["role"] == "developer");
        let texts: Vec<String> = developer.map(|item| item["content"][0]["text"].to_string()).collect();
        texts
    };
    let told = message(&requests[2]);
    assert_eq!(told.len(), 1, "{told:#?}");
    for part in [
        "exactly the action",
        "\\\"touch\\\"",
        "\\\"outcome\\\": \\\"allowed\\\"",
    ] {
        assert!(told[0].contains(part), "{part} in {}", told[0]);
    }
    let place = |text: &str| requests[2].input_texts().iter().position(|seen| seen.contains(text));
    assert!(place("exactly the action") < place("Again"), "first in the next turn");
    // In a running turn it is told in the next round.
    let denied = |name: &str, params: &Value| name == "guardian/assessment" && params["status"] == "denied";
    let story = stage.until(denied).await;
    assert_eq!(approve(&story.last()["id"]).await, json!({"taken": true}));
    stage.model.wait_for_hold("gate").await;
    stage.model.release("gate");
    let story = stage.finish(&turn).await;
    assert_eq!(story.said(), ["end"]);
    let last = stage.model.requests().pop().expect("a request");
    assert_eq!(message(&last).len(), 2);
}

/// Shows S-126.
#[tokio::test]
async fn the_risk_is_told_with_the_question_if_there_is_a_word_on_it() {
    let risky = |outputs: Value| json!({"when": {"instructions": "how risky it is"}, "outputs": outputs});
    let good = json!({"risk_level": "high", "description": "It deletes what is not in git."}).to_string();
    for (on, answer, expected) in [
        (true, json!([say(&good)]), Some("high")),
        (true, json!([say("no idea")]), None),
        (true, json!([{"fail": {"status": 500}}]), None),
        // Not in time.
        (true, json!([{"hold": "never"}]), None),
        (false, json!([say(&good)]), None),
    ] {
        let agent = |outputs: Value| json!({"when": {"not": {"instructions": "how risky"}}, "outputs": outputs});
        let script = json!([
            risky(answer),
            agent(json!([bash("c1", "touch one")])),
            agent(json!([say("done")]))
        ]);
        let setting = Setting {
            config: "approval_policy = \"untrusted\"".into(),
            tables: format!("[approvals]\nassess_risk = {on}"),
            ..Setting::default()
        };
        let stage = Stage::with(script, setting).await;
        stage.answers(Reply::Ok(json!({"decision": "accept"})));
        let thread = stage.thread().await;
        let story = stage.complete(&thread, "Go").await;
        let approval = &story.one("approval/requested")["approval"];
        assert_eq!(approval["risk"]["level"].as_str(), expected, "{approval}");
        if expected.is_some() {
            assert_eq!(approval["risk"]["description"], "It deletes what is not in git.");
        }
        assert!(stage.path("one").exists());
    }
}
