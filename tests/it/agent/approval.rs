//! Questions about commands: when they are asked, what they say, and what becomes of each answer.

use super::stage::{Setting, Stage, bash, command_output, say, shell};
use crate::support::client::Reply;
use serde_json::{Value, json};

const UNTRUSTED: &str = "approval_policy = \"untrusted\"";

fn decision(decision: &str) -> Reply {
    Reply::Ok(json!({ "decision": decision }))
}

async fn untrusted(script: Value) -> Stage {
    Stage::configured(UNTRUSTED, script).await
}

/// Shows S-106, S-107, S-115, S-118, S-127, S-130, S-153, S-448.
#[tokio::test]
async fn a_command_that_asks_says_what_where_and_why_and_stays_inside_after_a_yes() {
    let script = json!([[bash("c1", "touch inside && touch ../outside; echo $?")], [say("done")],]);
    let stage = untrusted(script).await;
    stage.answers(Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let story = stage.until_event("approval/requested").await;
    let asked = stage.client.expect_request("countersign/approval/command").await;
    let announced = &story.last()["approval"];
    assert_eq!(asked.params, *announced);
    assert_eq!(announced["threadId"], thread);
    assert_eq!(announced["turnId"], turn);
    assert_eq!(announced["itemId"], "c1");
    assert_eq!(
        announced["command"],
        json!(["bash", "-c", "touch inside && touch ../outside; echo $?"])
    );
    assert_eq!(announced["cwd"], json!(stage.dir));
    assert_eq!(announced["confined"], "workspace");
    assert!(announced["reason"].as_str().unwrap().contains("untrusted"));
    assert!(!announced["sessionScope"].as_str().unwrap().is_empty());
    assert!(
        announced["actions"]
            .as_array()
            .is_some_and(|actions| !actions.is_empty())
    );
    let decisions = announced["availableDecisions"].as_array().unwrap();
    assert!(
        ["accept", "decline", "cancel"]
            .iter()
            .all(|one| decisions.contains(&json!(one)))
    );
    // The item is there, and nothing has run.
    let item = story.at(|name, params| name == "item/started" && params["item"]["id"] == "c1");
    assert!(item < story.events.len() - 1);
    assert_eq!(stage.read(&thread).await["status"], "waitingOnApproval");
    assert!(!stage.path("inside").exists());
    // Everything else goes on.
    let other = stage.thread().await;
    assert_eq!(stage.read(&other).await["status"], "idle");
    stage.client.answer(&asked, Ok(json!({"decision": "accept"})));
    let rest = stage.finish(&turn).await;
    assert_eq!(rest.one("approval/resolved")["approvalId"], announced["id"]);
    assert_eq!(rest.one("approval/resolved")["decision"], "accept");
    let statuses: Vec<_> = rest
        .all("thread/statusChanged")
        .iter()
        .map(|event| event["status"].clone())
        .collect();
    assert_eq!(statuses, ["active", "idle"]);
    assert_eq!(rest.item("commandExecution")["confined"], "workspace");
    assert!(stage.path("inside").exists());
    assert!(!stage.path("../outside").exists(), "a yes to a run inside stays inside");
}

/// Shows S-107.
#[tokio::test]
async fn what_a_command_does_is_told_apart() {
    let script = json!([
        [
            shell("c0", &["cat", "a.txt"]),
            shell("c1", &["ls", "-la"]),
            shell("c2", &["grep", "-rn", "needle", "."]),
            shell("c3", &["touch", "x"])
        ],
        [say("done")],
    ]);
    let setting = Setting {
        files: vec![("a.txt".into(), "needle\n".into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let kinds: Vec<_> = story
        .items("commandExecution")
        .iter()
        .map(|item| item["actions"][0]["type"].clone())
        .collect();
    assert_eq!(kinds, ["read", "listFiles", "search", "unknown"]);
}

/// Shows S-033, S-117.
#[tokio::test]
async fn a_yes_for_the_session_covers_the_same_capability_and_no_other() {
    let script = json!([
        [shell("c1", &["mkdir", "one"])],
        [shell("c2", &["mkdir", "-p", "one/two"])],
        [say("one")],
        [shell("c3", &["mkdir", "other"])],
        [shell("c4", &["touch", "file"])],
        [say("two")],
        [shell("c5", &["mkdir", "third"])],
        [say("three")],
    ]);
    let stage = untrusted(script).await;
    stage.answers(decision("acceptForSession"));
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.one("approval/requested")["approval"]["itemId"], "c1");
    assert_eq!(story.one("approval/resolved")["decision"], "acceptForSession");
    // Other settings do not take it back.
    let settings = json!({"model": "another", "sandboxPolicy": {"type": "workspaceWrite", "networkAccess": true}});
    let input = json!([{"type": "text", "text": "More"}]);
    let story = stage
        .run_with(json!({"threadId": thread, "input": input, "settings": settings}))
        .await;
    assert_eq!(story.status(), "completed");
    let asked = story.one("approval/requested");
    assert_eq!(asked["approval"]["itemId"], "c4");
    assert!(stage.path("one/two").is_dir() && stage.path("other").is_dir());
    // Another thread knows nothing of it.
    let other = stage.thread().await;
    let story = stage.complete(&other, "Go").await;
    assert_eq!(story.one("approval/requested")["approval"]["itemId"], "c5");
}

/// Shows S-105, S-115, S-116.
#[tokio::test]
async fn a_no_is_told_to_the_model_with_the_persons_words() {
    let script = json!([
        [shell("c1", &["touch", "one"])],
        [shell("c2", &["touch", "two"])],
        [say("I understand.")],
    ]);
    let stage = untrusted(script).await;
    stage.client.on_request("countersign/approval/command", |asked| {
        Reply::Ok(match asked["itemId"].as_str() {
            Some("c1") => json!({"decision": "decline", "feedback": "  use mktemp instead "}),
            _ => json!({"decision": "decline"}),
        })
    });
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let request = &stage.requests(3)[2];
    let (first, second) = (request.output("c1").unwrap(), request.output("c2").unwrap());
    assert!(
        first.contains("rejected") && first.ends_with("use mktemp instead"),
        "{first}"
    );
    assert!(second.contains("rejected"), "{second}");
    for item in story.items("commandExecution") {
        assert_eq!((&item["status"], &item["exitCode"]), (&json!("declined"), &Value::Null));
    }
    assert!(!stage.path("one").exists() && !stage.path("two").exists());
}

/// Shows S-098, S-105.
#[tokio::test]
async fn cancel_stops_the_whole_turn() {
    let script = json!([
        [
            shell("c1", &["touch", "one"]),
            shell("c2", &["touch", "two"]),
            say("and")
        ],
        [say("later")],
    ]);
    let stage = untrusted(script).await;
    stage.answers(decision("cancel"));
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Go").await;
    assert_eq!(story.status(), "interrupted");
    assert_eq!(story.count("approval/requested"), 1);
    assert_eq!(story.one("approval/resolved")["decision"], "cancel");
    assert!(!stage.path("one").exists() && !stage.path("two").exists());
    stage.requests(1);
    stage.complete(&thread, "Go on").await;
    let request = &stage.requests(2)[1];
    assert_eq!(request.outputs().len(), request.calls().len());
}

/// Shows S-105, S-128, S-129.
#[tokio::test]
async fn an_answer_that_is_none_counts_as_a_no() {
    let rubbish = [
        Reply::Ok(Value::Null),
        Reply::Ok(json!("accept")),
        Reply::Ok(json!({})),
        Reply::Ok(json!({"decision": "sure"})),
        Reply::Ok(json!({"decision": true})),
        Reply::Ok(json!([{"decision": "accept"}])),
        Reply::Error(-32603, "the editor fell over"),
        Reply::Error(-32601, "no such method"),
    ];
    let mut steps: Vec<Value> = (0..rubbish.len())
        .map(|n| json!([shell(&format!("c{n}"), &["touch", "x"])]))
        .collect();
    steps.push(json!([say("done")]));
    let stage = untrusted(json!(steps)).await;
    stage.client.on_request("countersign/approval/command", move |asked| {
        let number: usize = asked["itemId"].as_str().unwrap()[1..].parse().unwrap();
        rubbish[number].clone()
    });
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let resolved = story.all("approval/resolved");
    assert_eq!(resolved.len(), 8);
    assert!(
        resolved.iter().all(|event| event["decision"] == "decline"),
        "{resolved:#?}"
    );
    assert!(!stage.path("x").exists());
}

/// Shows S-109, S-113.
#[tokio::test]
async fn quick_answers_and_answers_that_come_twice_are_taken_once() {
    let mut steps: Vec<Value> = (0..30)
        .map(|n| json!([shell(&format!("c{n}"), &["mkdir", &format!("d{n}")])]))
        .collect();
    steps.push(json!([say("done")]));
    let stage = untrusted(json!(steps)).await;
    stage.answers(Reply::Twice(json!({"decision": "accept"})));
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("approval/requested"), 30);
    assert_eq!(story.count("approval/resolved"), 30);
    assert!((0..30).all(|n| stage.path(&format!("d{n}")).is_dir()));
}

/// Shows S-112, S-183.
#[tokio::test]
async fn two_questions_at_once_each_get_their_own_answer() {
    let script = json!([
        {"when": {"last_user": "first", "not": {"output": "c1"}}, "outputs": [shell("c1", &["touch", "one"])]},
        {"when": {"last_user": "second", "not": {"output": "c2"}}, "outputs": [shell("c2", &["touch", "two"])]},
        {"repeat": true, "outputs": [say("done")]},
    ]);
    let stage = untrusted(script).await;
    stage.answers(Reply::Later);
    let (first, second) = (stage.thread().await, stage.thread().await);
    let one = stage.start_turn(&first, "first").await;
    let asked_one = stage.client.expect_request("countersign/approval/command").await;
    let two = stage.start_turn(&second, "second").await;
    let asked_two = stage.client.expect_request("countersign/approval/command").await;
    assert_eq!(
        (&asked_one.params["itemId"], &asked_two.params["itemId"]),
        (&json!("c1"), &json!("c2"))
    );
    stage.client.answer(&asked_two, Ok(json!({"decision": "decline"})));
    let story = stage.finish(&two).await;
    assert_eq!(story.item("commandExecution")["status"], "declined");
    stage.client.answer(&asked_one, Ok(json!({"decision": "accept"})));
    let story = stage.finish(&one).await;
    assert_eq!(story.item("commandExecution")["status"], "completed");
    assert!(stage.path("one").exists() && !stage.path("two").exists());
}

/// Shows S-113, S-131.
#[tokio::test]
async fn an_answer_from_elsewhere_counts_and_takes_the_dialog_away() {
    let script = json!([[shell("c1", &["touch", "one"])], [say("done")]]);
    let stage = untrusted(script).await;
    stage.answers(Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let asked = stage.client.expect_request("countersign/approval/command").await;
    let respond = |decision: &str| {
        let params = json!({"approvalId": asked.params["id"], "response": {"decision": decision}});
        stage.client.call("countersign/approval/respond", params)
    };
    assert_eq!(respond("accept").await, json!({"taken": true}));
    stage.client.expect_withdrawn(&asked).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.one("approval/resolved")["decision"], "accept");
    assert_eq!(story.item("commandExecution")["status"], "completed");
    assert_eq!(respond("cancel").await, json!({"taken": false}));
    let unknown = json!({"approvalId": "nobody", "response": {"decision": "accept"}});
    assert_eq!(
        stage.client.call("countersign/approval/respond", unknown).await,
        json!({"taken": false})
    );
}

/// Shows S-099, S-110, S-131.
#[tokio::test]
async fn stopping_the_turn_withdraws_the_question_and_a_late_answer_changes_nothing() {
    let script = json!([[shell("c1", &["touch", "one"])], [say("done")]]);
    let stage = untrusted(script).await;
    stage.answers(Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let asked = stage.client.expect_request("countersign/approval/command").await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    assert_eq!(
        story
            .one("approval/resolved")
            .get("decision")
            .cloned()
            .unwrap_or_default(),
        Value::Null
    );
    let item = story.item("commandExecution");
    assert_eq!(item["status"], "interrupted");
    stage.client.expect_withdrawn(&asked).await;
    let params = json!({"approvalId": asked.params["id"], "response": {"decision": "accept"}});
    assert_eq!(
        stage.client.call("countersign/approval/respond", params).await,
        json!({"taken": false})
    );
    stage.client.answer(&asked, Ok(json!({"decision": "accept"})));
    stage.complete(&thread, "Go on").await;
    assert!(!stage.path("one").exists());
    let output = stage.requests(2)[1].output("c1").unwrap();
    assert!(output.contains("stopped") && !output.contains("rejected"), "{output}");
}

/// Shows S-123, S-181.
#[tokio::test]
async fn under_never_nobody_is_asked() {
    let escalated = json!({"call": {"tool": "shell", "id": "c2", "arguments":
        {"command": ["touch", "../outside"], "with_escalated_permissions": true, "justification": "I want to"}}});
    let script = json!([
        [
            bash("c1", "touch ../outside"),
            escalated,
            shell("c3", &["touch", "inside"])
        ],
        [say("done")],
    ]);
    let stage = Stage::configured("approval_policy = \"never\"", script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("approval/requested"), 0);
    assert_eq!(story.count("proposal/created"), 0);
    let request = &stage.requests(2)[1];
    let (text, code) = command_output(request, "c1");
    assert!(text.contains("the sandbox") && code != Some(0), "{text}");
    let refused = request.output("c2").unwrap();
    assert!(refused.contains("never"), "{refused}");
    assert!(!stage.path("../outside").exists() && stage.path("inside").exists());
}

/// Shows S-104, S-179, S-180.
#[tokio::test]
async fn untrusted_asks_for_all_but_plain_reading() {
    let script = json!([
        [
            shell("c1", &["cat", "a.txt"]),
            shell("c2", &["ls"]),
            bash("c3", "cat a.txt > b.txt"),
            bash("c4", "cat a.txt | head -1")
        ],
        [say("done")],
    ]);
    let setting = Setting {
        config: UNTRUSTED.into(),
        files: vec![("a.txt".into(), "text\n".into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.answers(decision("accept"));
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.one("approval/requested")["approval"]["itemId"], "c3");
    assert_eq!(story.items("commandExecution").len(), 4);
}

/// A repository is made outside of the sandbox only, so that one command is offered there; one among others is not.
#[tokio::test]
async fn a_command_that_makes_a_repository_is_offered_outside() {
    let script = json!([
        [bash("c1", "git init -q made")],
        [bash("c2", "git init -q refused")],
        [bash("c3", "mkdir -p other && git init -q other")],
        [say("done")],
    ]);
    let stage = Stage::configured("approval_policy = \"on-request\"", script).await;
    stage.client.on_request("countersign/approval/command", |asked| {
        Reply::Ok(match asked["itemId"].as_str() {
            Some("c1-retry") => json!({"decision": "accept"}),
            _ => json!({"decision": "decline"}),
        })
    });
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let asked = story.all("approval/requested");
    let ids: Vec<_> = asked
        .iter()
        .map(|event| event["approval"]["itemId"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["c1-retry", "c2-retry"]);
    assert!(stage.path("made/.git/HEAD").exists());
    assert!(!stage.path("refused/.git").exists() && !stage.path("other/.git").exists());
    let request = &stage.requests(4)[3];
    let told = request.output("c3").unwrap();
    assert!(told.contains("escalated permissions"), "{told}");
}

/// Shows S-119, S-120, S-121, S-122.
#[tokio::test]
async fn on_failure_a_run_outside_is_offered_once_with_the_reason() {
    let script = json!([
        [bash("c1", "echo tried; touch ../outside1")],
        [bash("c2", "echo tried; touch ../outside2")],
        [bash("c3", "exit 1")],
        [bash("c4", "touch ../outside4")],
        [say("done")],
    ]);
    let stage = Stage::configured("approval_policy = \"on-failure\"", script).await;
    stage.client.on_request("countersign/approval/command", |asked| {
        Reply::Ok(match asked["itemId"].as_str() {
            Some("c2-retry") => json!({"decision": "decline", "feedback": "stay in"}),
            _ => json!({"decision": "accept"}),
        })
    });
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let asked: Vec<_> = story
        .all("approval/requested")
        .iter()
        .map(|event| event["approval"].clone())
        .collect();
    let ids: Vec<_> = asked
        .iter()
        .map(|approval| approval["itemId"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["c1-retry", "c2-retry", "c4-retry"], "a yes once is for once");
    for approval in &asked {
        assert_eq!(approval["confined"], "outside");
        assert!(approval["reason"].as_str().unwrap().contains("sandbox"), "{approval}");
    }
    let items = story.items("commandExecution");
    let shown: Vec<_> = items
        .iter()
        .map(|item| {
            (
                item["id"].as_str().unwrap(),
                item["status"].as_str().unwrap(),
                item["confined"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("c1", "failed", "workspace"),
            ("c1-retry", "completed", "outside"),
            ("c2", "failed", "workspace"),
            ("c2-retry", "declined", "outside"),
            ("c3", "failed", "workspace"),
            ("c4", "failed", "workspace"),
            ("c4-retry", "completed", "outside"),
        ]
    );
    assert!(stage.path("../outside1").exists() && !stage.path("../outside2").exists());
    let request = &stage.requests(5)[4];
    assert_eq!(command_output(request, "c1"), ("tried\n".to_owned(), Some(0)));
    let declined = request.output("c2").unwrap();
    assert!(
        declined.contains("rejected") && declined.contains("stay in"),
        "{declined}"
    );
    assert_eq!(command_output(request, "c3").1, Some(1));
}

/// Shows S-170, S-171, S-172.
#[tokio::test]
async fn a_wish_to_leave_the_sandbox_is_asked_about_only_where_that_is_the_policy() {
    let wish = |id: &str, path: &str, justification: Value| {
        json!({"call": {"tool": "shell", "id": id, "arguments":
            {"command": ["touch", path], "with_escalated_permissions": true, "justification": justification}}})
    };
    let script = json!([
        [
            wish("c1", "../one", json!("The file belongs there.")),
            wish("c2", "../two", json!("  "))
        ],
        [say("done")],
        [
            wish("c3", "../three", json!("Please.")),
            shell("c4", &["touch", "four"])
        ],
        [say("done")],
    ]);
    let stage = Stage::new(script).await;
    stage.client.on_request("countersign/approval/command", |asked| {
        assert_eq!(asked["confined"], "outside");
        Reply::Ok(json!({"decision": if asked["itemId"] == "c1" { "accept" } else { "decline" }}))
    });
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let asked = story.all("approval/requested");
    assert_eq!(asked[0]["approval"]["justification"], "The file belongs there.");
    // Our words and the model's stand apart.
    assert_eq!(
        asked[0]["approval"]["reason"],
        "The model asks to run it outside the sandbox."
    );
    assert!(asked[1]["approval"]["reason"].as_str().unwrap().contains("no reason"));
    assert!(stage.path("../one").exists() && !stage.path("../two").exists());
    let input = json!([{"type": "text", "text": "More"}]);
    let settings = json!({"approvalPolicy": "on-failure"});
    let story = stage
        .run_with(json!({"threadId": thread, "input": input, "settings": settings}))
        .await;
    assert_eq!(story.count("approval/requested"), 0);
    // What was refused is shown too.
    let items = story.items("commandExecution");
    let shown: Vec<_> = items.iter().map(|item| (&item["id"], &item["status"])).collect();
    assert_eq!(
        shown,
        [(&json!("c3"), &json!("declined")), (&json!("c4"), &json!("completed"))]
    );
    let refused = stage.requests(4)[3].output("c3").unwrap();
    assert!(refused.contains("on-failure"), "{refused}");
    assert!(!stage.path("../three").exists() && stage.path("four").exists());
}

/// Outside the sandbox nothing is loaded from where commands write, unless the person's own policy says so; and a question about what
/// the folder says tells that it does.
#[tokio::test]
async fn what_leaves_the_sandbox_loads_no_code_of_the_folder() {
    let outside = |id: &str, command: &[&str]| {
        json!({"call": {"tool": "shell", "id": id, "arguments":
            {"command": command, "with_escalated_permissions": true, "justification": "a test"}}})
    };
    let print = "echo \"[$PYTHONPATH][$NODE_PATH]\"";
    let script = json!([
        [bash("c1", print)],
        [outside("c2", &["bash", "-c", print])],
        [outside("c3", &["make", "test"])],
        [say("done")],
    ]);
    let setting = Setting {
        config: "approval_policy = \"on-request\"".to_owned(),
        tables: "[shell_environment_policy]\ninherit = \"all\"\nset = { NODE_PATH = \"own\" }\n".to_owned(),
        env: vec![("PYTHONPATH".to_owned(), "lib:/usr/lib/none".to_owned())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = asked.clone();
    stage.client.on_request("countersign/approval/command", move |params| {
        let reason = params["reason"].as_str().unwrap_or_default().to_owned();
        seen.lock().expect("a lock").push(reason);
        decision("accept")
    });
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let requests = stage.requests(4);
    for (at, id, expected) in [(1, "c1", "[lib:/usr/lib/none][own]"), (2, "c2", "[/usr/lib/none][own]")] {
        let (text, _) = command_output(&requests[at], id);
        assert_eq!(text.trim(), expected, "{id}");
    }
    let asked = asked.lock().expect("a lock").clone();
    let tells: Vec<bool> = asked
        .iter()
        .map(|reason| reason.contains("runs what files of the folder say"))
        .collect();
    assert_eq!(tells, [false, true], "{asked:?}");
}
