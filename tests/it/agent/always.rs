//! Approvals that stick: what is kept for always, rules that change while the server runs, and questions that are not asked
//! twice.

use super::stage::{Setting, Stage, bash, say, shell, write};
use crate::support::client::Reply;
use serde_json::{Value, json};
use std::path::Path;

const UNTRUSTED: &str = "approval_policy = \"untrusted\"";

fn decision(decision: &str) -> Reply {
    Reply::Ok(json!({ "decision": decision }))
}

async fn untrusted(script: Value) -> Stage {
    Stage::configured(UNTRUSTED, script).await
}

fn rule_file(home: &Path) -> std::path::PathBuf {
    home.join("rules/always.toml")
}

/// The only warning about the project's rules.
fn report(story: &super::stage::Story) -> String {
    let warnings = story
        .all("warning")
        .into_iter()
        .filter_map(|event| event["message"].as_str());
    let found: Vec<_> = warnings.filter(|message| message.contains("project.toml")).collect();
    assert_eq!(found.len(), 1, "{:#?}", story.all("warning"));
    found[0].to_owned()
}

/// The text of all messages of a request that are no calls.
fn messages(request: &countersign::rehearsal::Recorded) -> String {
    serde_json::to_string(&request.body).expect("JSON")
}

/// Shows S-105, S-124, S-182.
#[tokio::test]
async fn a_yes_for_always_writes_the_rule_that_was_shown_and_no_session_asks_again() {
    let script = json!([
        [shell("c1", &["mkdir", "one"])],
        [say("done")],
        [
            shell("c2", &["mkdir", "two"]),
            bash("c3", "mkdir three && ls | head -n 1")
        ],
        [say("done")],
        [shell("c4", &["mkdir", "../four"])],
        [say("done")],
        [shell("c5", &["mkdir", "five"])],
        [say("done")],
    ]);
    let stage = untrusted(script.clone()).await;
    stage.answers(Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let asked = stage.client.expect_request("countersign/approval/command").await;
    let rule = &asked.params["alwaysRule"];
    let file = rule_file(stage.client.home());
    assert_eq!(rule["file"], json!(file));
    assert_eq!(rule["title"], "mkdir");
    assert!(
        rule["text"]
            .as_str()
            .unwrap()
            .contains(&format!("`mkdir` on paths in {}", stage.dir.display())),
        "{rule}"
    );
    assert!(!file.exists(), "nothing is written before the answer");
    stage.client.answer(&asked, Ok(json!({"decision": "acceptAlways"})));
    stage.finish(&turn).await;
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains(rule["toml"].as_str().unwrap().trim_end()), "{written}");
    // Noted for the next request, after the output of the command.
    let note = messages(&stage.requests(2)[1]);
    assert!(
        note.contains("allowed this for always") && note.contains("always.toml"),
        "{note}"
    );
    // Another session, the same capability: nobody is asked. Another one is.
    let other = stage.thread().await;
    let story = stage.complete(&other, "Go").await;
    assert_eq!(story.count("approval/requested"), 0);
    assert!(stage.path("one").is_dir() && stage.path("two").is_dir() && stage.path("three").is_dir());
    stage.answers(decision("decline"));
    let story = stage.complete(&other, "Go").await;
    assert_eq!(story.one("approval/requested")["approval"]["itemId"], "c4");
    assert!(!stage.path("../four").exists());
    // The person takes it back: it counts at once.
    std::fs::remove_file(&file).unwrap();
    let story = stage.complete(&other, "Go").await;
    assert_eq!(story.one("approval/requested")["approval"]["itemId"], "c5");
}

/// Shows S-114, S-125.
#[tokio::test]
async fn a_rule_that_cannot_be_saved_is_told_of_and_the_command_runs_this_once() {
    let script = json!([
        [shell("c1", &["mkdir", "one"])],
        [shell("c2", &["mkdir", "two"])],
        [say("done")],
    ]);
    let stage = untrusted(script).await;
    write(&stage.client.home().join("rules"), "in the way");
    stage.answers(Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let asked = stage.client.expect_request("countersign/approval/command").await;
    stage.client.answer(&asked, Ok(json!({"decision": "acceptAlways"})));
    let first = stage
        .until(|name, params| name == "warning" && params["message"].to_string().contains("mkdir"))
        .await;
    let again = stage.client.expect_request("countersign/approval/command").await;
    stage
        .client
        .answer(&again, Ok(json!({"decision": "acceptAlways", "turnId": turn})));
    let story = stage.finish(&turn).await;
    let told = first.last();
    assert_eq!(told["turnId"], turn);
    let (unnamed, named) = (
        told["message"].as_str().unwrap(),
        story.all("warning").last().unwrap()["message"].as_str().unwrap(),
    );
    for message in [unnamed, named] {
        assert!(
            message.contains("not saved") && message.contains("mkdir") && message.contains("rules"),
            "{message}"
        );
    }
    // Where the answer does not name the turn, the question stands in for it.
    assert!(unnamed.contains(asked.params["id"].as_str().unwrap()), "{unnamed}");
    assert!(!named.contains(again.params["id"].as_str().unwrap()), "{named}");
    assert!(stage.path("one").is_dir() && stage.path("two").is_dir());
}

/// Shows S-105.
#[tokio::test]
async fn broad_and_dangerous_commands_are_not_offered_for_always() {
    let script = json!([
        [shell("c1", &["python3", "x.py"])],
        [bash("c2", "rm -rf gone")],
        [shell("c3", &["env", "A=1", "mkdir", "x"])],
        [bash("c4", "mkdir two > log")],
        [say("done")],
    ]);
    let stage = untrusted(script).await;
    // Answered all the same: it is a yes for this once.
    stage.answers(decision("acceptAlways"));
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let asked = story.all("approval/requested");
    assert_eq!(asked.len(), 4);
    for event in asked {
        let approval = &event["approval"];
        let decisions = approval["availableDecisions"].as_array().unwrap();
        assert!(!decisions.contains(&json!("acceptAlways")), "{approval}");
        assert_eq!(
            decisions.contains(&json!("acceptForSession")),
            approval["itemId"] != "c2",
            "{approval}"
        );
        assert!(approval.get("alwaysRule").is_none(), "{approval}");
    }
    assert!(!rule_file(stage.client.home()).exists());
    assert!(stage.path("two").is_dir());
}

/// Rules that ask and deny, as the files say at each moment, and what is broken in them.
/// Shows S-181, S-182.
#[tokio::test]
async fn rules_are_read_anew_and_what_is_broken_is_told() {
    let deny = "[[rule]]\nprefix = [\"mkdir\"]\ndecision = \"deny\"\nreason = \"No new folders here.\"\n";
    let script = json!([
        [bash("c1", "ls; mkdir one")],
        [say("done")],
        [shell("c2", &["mkdir", "two"])],
        [say("done")],
        [shell("c3", &["mkdir", "three"])],
        [say("done")],
    ]);
    let setting = Setting {
        files: vec![(".countersign/rules/project.toml".into(), deny.into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.answers(decision("decline"));
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("approval/requested"), 0);
    let output = stage.requests(2)[1].output("c1").unwrap();
    assert!(
        output.contains("No new folders here.") && output.contains("project.toml:1"),
        "{output}"
    );
    // The project softens it; a project's own allow is worth nothing, and said to be.
    stage.write(
        ".countersign/rules/project.toml",
        "[[rule]]\nprefix = [\"mkdir\"]\ndecision = \"ask\"\n\n[[rule]]\nprefix = [\"rm\"]\ndecision = \"allow\"\n",
    );
    let story = stage.complete(&thread, "Go").await;
    let asked = &story.one("approval/requested")["approval"];
    assert!(asked["reason"].as_str().unwrap().contains("rule"), "{asked}");
    assert!(asked.get("alwaysRule").is_none(), "it would not be heeded");
    let warning = report(&story);
    assert!(
        warning.contains("project.toml:5") && warning.contains("only tighten"),
        "{warning}"
    );
    // Without it the policy alone decides. What is broken now is told once.
    stage.write(".countersign/rules/project.toml", "broken = [\n");
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("approval/requested"), 0);
    let warning = report(&story);
    assert!(
        warning.contains("project.toml:") && warning.contains("TOML"),
        "{warning}"
    );
    assert!(!stage.path("one").exists() && !stage.path("two").exists() && stage.path("three").is_dir());
    let config = stage
        .client
        .call("countersign/config/read", json!({"cwd": stage.dir}))
        .await;
    assert!(config["warnings"].to_string().contains("project.toml"), "{config}");
}

/// Shows S-112, S-183.
#[tokio::test]
async fn two_commands_of_one_answer_ask_at_once_and_each_gets_its_own_answer() {
    let script = json!([
        [shell("c1", &["mkdir", "one"]), shell("c2", &["touch", "two"])],
        [say("done")],
    ]);
    let stage = untrusted(script).await;
    stage.answers(Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let mut asked = [
        stage.client.expect_request("countersign/approval/command").await,
        stage.client.expect_request("countersign/approval/command").await,
    ];
    asked.sort_by_key(|one| one.params["itemId"].to_string());
    stage.client.answer(&asked[1], Ok(json!({"decision": "accept"})));
    stage
        .until(|name, params| name == "approval/resolved" && params["approvalId"] == asked[1].params["id"])
        .await;
    assert!(!stage.path("two").exists(), "they run in their order");
    stage.client.answer(&asked[0], Ok(json!({"decision": "decline"})));
    let story = stage.finish(&turn).await;
    let statuses: Vec<_> = story
        .items("commandExecution")
        .iter()
        .map(|item| (item["id"].clone(), item["status"].clone()))
        .collect();
    assert_eq!(
        statuses,
        [(json!("c1"), json!("declined")), (json!("c2"), json!("completed"))]
    );
    assert!(!stage.path("one").exists() && stage.path("two").exists());
}

/// The same question is not asked twice in one answer.
#[tokio::test]
async fn one_answer_settles_the_same_question_for_all_commands_of_an_answer() {
    // What is answered to the first, how often it is asked, which folders are made. Each answer of the model has two
    // commands of one capability, then the first once more.
    for (answer, asked, made) in [
        ("acceptForSession", 1, [true, true]),
        ("acceptAlways", 1, [true, true]),
        ("accept", 2, [true, true]),
        ("decline", 2, [false, false]),
    ] {
        let script = json!([
            [
                shell("c1", &["mkdir", "one"]),
                shell("c2", &["mkdir", "two"]),
                shell("c3", &["mkdir", "one"])
            ],
            [say("done")],
        ]);
        let stage = untrusted(script).await;
        stage.answers(decision(answer));
        let thread = stage.thread().await;
        let story = stage.complete(&thread, "Go").await;
        assert_eq!(
            story.count("approval/requested"),
            asked,
            "{answer}: {:#?}",
            story.names()
        );
        assert_eq!(
            [stage.path("one").is_dir(), stage.path("two").is_dir()],
            made,
            "{answer}"
        );
        let third = stage.requests(2)[1].output("c3").unwrap();
        match answer {
            "accept" => assert!(third.contains("twice in one answer"), "{third}"),
            "decline" => assert!(third.contains("rejected"), "{third}"),
            // It ran, and found the folder there.
            _ => assert!(third.contains("exit_code"), "{third}"),
        }
    }
}

/// Shows S-104, S-181.
#[tokio::test]
async fn the_granular_form_says_no_to_the_kinds_that_are_off() {
    let wish = |id: &str| {
        json!({"call": {"tool": "shell", "id": id, "arguments":
            {"command": ["touch", "../x"], "with_escalated_permissions": true, "justification": "I want to"}}})
    };
    let script = json!([
        [wish("c1"), bash("c2", "rm -rf x"), shell("c3", &["mkdir", "one"])],
        [say("done")],
        [wish("c4")],
        [say("done")],
    ]);
    let config =
        "approval_policy = { granular = { sandbox_approval = false, rules = true, mcp_elicitations = false } }";
    let stage = Stage::configured(config, script).await;
    stage.answers(decision("decline"));
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("approval/requested"), 0);
    let request = &stage.requests(2)[1];
    assert!(request.output("c1").unwrap().contains("granular"));
    assert!(request.output("c2").unwrap().contains("granular"));
    assert!(stage.path("one").is_dir());
    // The same on the wire.
    let settings = json!({"approvalPolicy": {"granular": {"sandboxApproval": true}}});
    let input = json!([{"type": "text", "text": "More"}]);
    let story = stage
        .run_with(json!({"threadId": thread, "input": input, "settings": settings}))
        .await;
    assert_eq!(story.one("approval/requested")["approval"]["itemId"], "c4");
}
