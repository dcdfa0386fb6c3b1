//! Threads: made whole or not at all, kept, listed, and brought back.

use super::stage::{Setting, Stage, bash, eventually, rollout_path, say, shell};
use serde_json::{Value, json};

/// Shows S-005, S-006, S-007, S-018, S-432, S-450.
#[tokio::test]
async fn a_thread_begins_with_its_configuration_and_then_with_what_is_wrong() {
    let setting = Setting {
        config: "no_such_key = 3\nmodel_reasoning_effort = \"high\"".into(),
        ..Setting::default()
    };
    let stage = Stage::with(json!([]), setting).await;
    let started = stage.client.call("countersign/thread/start", json!({})).await;
    let (first, second, third) = (stage.next().await, stage.next().await, stage.next().await);
    assert_eq!(first.0, "thread/started");
    assert_eq!(first.1["thread"], started["thread"]);
    assert_eq!(second.0, "thread/configured");
    assert_eq!(second.1["settings"], started["settings"]);
    assert_eq!(third.0, "warning");
    assert!(third.1["message"].as_str().unwrap().contains("no_such_key"));
    assert_eq!([&first.1["seq"], &second.1["seq"], &third.1["seq"]], [1, 2, 3]);
    let settings = &started["settings"];
    assert_eq!(settings["model"], "rehearsal");
    assert_eq!(settings["modelProvider"], "rehearsal");
    assert_eq!(settings["effort"], "high");
    assert_eq!(settings["cwd"], json!(stage.dir));
    assert_eq!(settings["approvalPolicy"], "on-request");
    assert_eq!(settings["sandboxPolicy"]["type"], "workspaceWrite");
    let thread = &started["thread"];
    assert_eq!(thread["cliVersion"], env!("CARGO_PKG_VERSION"));
    assert_eq!(thread["turns"], json!([]));
    // A thread without a turn leaves nothing on the disk.
    assert!(rollout_path(stage.client.home(), thread["id"].as_str().unwrap()).is_none());
}

/// Shows S-008, S-009, S-022, S-029, S-433.
#[tokio::test]
async fn settings_that_cannot_be_are_refused_with_nothing_left_behind() {
    let stage = Stage::new(json!([[say("ok")]])).await;
    stage.write("a.txt", "x");
    let wrong = [
        (json!({"cwd": "relative/path"}), "relative/path"),
        (json!({"cwd": stage.path("missing")}), "missing"),
        (json!({"cwd": stage.path("a.txt")}), "a.txt"),
        (json!({"modelProvider": "nobody"}), "nobody"),
    ];
    for (settings, part) in &wrong {
        let error = stage
            .client
            .request("countersign/thread/start", json!({ "settings": settings }))
            .await
            .unwrap_err();
        assert_eq!(error.code, -32602, "{error:?}");
        assert!(error.message.contains(part), "{error:?}");
    }
    for params in [
        json!({"settings": {"approvalPolicy": "sometimes"}}),
        json!({"settings": {"sandboxPolicy": {"type": "soft"}}}),
        json!({"settings": 3}),
        json!({"config": {"model_provider": "nobody"}}),
        json!({"config": {"approval_policy": "sometimes"}}),
    ] {
        let error = stage
            .client
            .request("countersign/thread/start", params.clone())
            .await
            .unwrap_err();
        assert_eq!(error.code, -32602, "{params}: {error:?}");
    }
    let list = stage.client.call("countersign/thread/list", json!({})).await;
    assert_eq!(list["data"], json!([]));
    // The same for a turn: refused, not run, and the settings are as they were.
    let thread = stage.thread().await;
    for (settings, part) in &wrong {
        let input = json!([{"type": "text", "text": "Hi"}]);
        let params = json!({"threadId": thread, "input": input, "settings": settings});
        let error = stage
            .client
            .request("countersign/turn/start", params)
            .await
            .unwrap_err();
        assert!(error.message.contains(part), "{error:?}");
    }
    stage.client.settle().await;
    assert_eq!(stage.client.take_unread(), []);
    stage.complete(&thread, "Hi").await;
    let request = &stage.requests(1)[0];
    assert!(
        request
            .input_texts()
            .iter()
            .any(|text| text.contains(&format!("<cwd>{}</cwd>", stage.dir.display())))
    );
}

/// Shows S-009, S-012.
#[tokio::test]
async fn a_home_that_takes_no_files_fails_the_start_and_says_so() {
    let stage = Stage::new(json!([])).await;
    std::fs::write(stage.client.home().join("sessions"), "in the way").expect("a file");
    let error = stage
        .client
        .request("countersign/thread/start", json!({}))
        .await
        .unwrap_err();
    assert!(error.message.contains("sessions"), "{error:?}");
    // Without a record there is nothing in the way.
    let started = stage.start_thread(json!({"ephemeral": true})).await;
    assert_eq!(started["thread"].get("path"), None);
}

/// Shows S-020, S-021, S-025, S-211, S-438.
#[tokio::test]
async fn a_running_turn_keeps_its_settings_and_the_next_one_has_the_new_ones() {
    let script = json!([
        [
            bash("c1", "echo ready; until test -e go; do sleep 0.02; done"),
            shell("c2", &["touch", "still-allowed"])
        ],
        [shell("c3", &["touch", "allowed-too"])],
        [say("done")],
        [shell("c4", &["touch", "too-late"])],
        [say("done")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.until_output("ready").await;
    // An override without a turn: resuming a live thread with settings.
    let settings = json!({"sandboxPolicy": {"type": "readOnly"}, "model": "another"});
    let resumed = stage
        .client
        .call(
            "countersign/thread/resume",
            json!({"threadId": thread, "settings": settings}),
        )
        .await;
    assert_eq!(resumed["settings"]["sandboxPolicy"]["type"], "readOnly");
    assert_eq!(resumed["thread"]["status"], "active");
    assert_eq!(resumed["thread"]["turns"][0]["status"], "inProgress");
    let configured = stage.until_event("thread/configured").await;
    assert_eq!(configured.last()["settings"], resumed["settings"]);
    stage.write("go", "");
    let story = stage.finish(&turn).await;
    assert!(
        story
            .items("commandExecution")
            .iter()
            .all(|item| item["status"] == "completed")
    );
    let story = stage.complete(&thread, "Again").await;
    assert_eq!(story.item("commandExecution")["confined"], "readOnly");
    assert_eq!(story.item("commandExecution")["status"], "failed");
    let models: Vec<String> = stage
        .requests(5)
        .iter()
        .map(|request| request.model().to_owned())
        .collect();
    assert_eq!(models, ["rehearsal", "rehearsal", "rehearsal", "another", "another"]);
    assert!(stage.path("allowed-too").exists() && !stage.path("too-late").exists());
}

/// A thread's turns: id, status and items.
fn items(thread: &Value) -> Vec<(Value, Value, Value)> {
    let turns = thread["turns"].as_array().expect("turns").iter();
    turns
        .map(|turn| (turn["id"].clone(), turn["status"].clone(), turn["items"].clone()))
        .collect()
}

/// A stage that goes on where another has ended, in the same folder, with what the server left. The folders live as long
/// as what is returned beside it.
async fn restarted(mut stage: Stage, script: Value) -> (Stage, [Option<tempfile::TempDir>; 2]) {
    // Ended first, so that all is on the disk.
    stage.client.call("shutdown", Value::Null).await;
    stage.client.notify("exit", Value::Null);
    assert_eq!(stage.client.expect_end().await, 0);
    let home = tempfile::tempdir().expect("a folder");
    let from = stage.client.home().join(".");
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(home.path())
        .status();
    assert!(copied.expect("cp").success());
    let setting = Setting {
        home: Some(home.path().to_owned()),
        folder: Some(stage.dir.clone()),
        ..Setting::default()
    };
    let work = stage.folder.take();
    (Stage::with(script, setting).await, [Some(home), work])
}

/// Shows S-014, S-019, S-222, S-300, S-301, S-303, S-304.
#[tokio::test]
async fn a_thread_goes_on_after_a_restart() {
    let script = json!([
        [say("I look."), shell("c1", &["echo", "out"]), {"usage": {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}}],
        [say("It says out."), {"usage": {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}}],
    ]);
    let setting = Setting {
        files: vec![("AGENTS.md".into(), "Be kind.\n".into())],
        ..Setting::default()
    };
    let first = Stage::with(script, setting).await;
    let thread = first.thread().await;
    first.complete(&thread, "Look").await;
    let before = first.read(&thread).await;
    let sent = first.requests(2)[1].clone();
    let (stage, _folders) = restarted(first, json!([[say("Still here.")], [say("And again.")]])).await;
    let path = rollout_path(stage.client.home(), &thread).expect("a rollout");
    let lines = std::fs::read_to_string(&path).expect("a rollout");
    // Read without loading.
    let read = stage.read(&thread).await;
    assert_eq!(read["status"], "notLoaded");
    assert_eq!(items(&read), items(&before));
    assert_eq!(read["preview"], "Look");
    let error = stage
        .client
        .request(
            "countersign/turn/start",
            json!({"threadId": thread, "input": [{"type": "text", "text": "x"}]}),
        )
        .await
        .unwrap_err();
    assert_eq!(error.data["kind"], "threadNotLoaded");
    let resumed = stage.resume(json!({"threadId": thread})).await;
    assert_eq!(resumed["thread"]["id"], thread);
    assert_eq!(resumed["thread"]["path"], json!(path));
    assert_eq!(resumed["thread"]["status"], "idle");
    assert_eq!(items(&resumed["thread"]), items(&before));
    assert_eq!(
        std::fs::read_to_string(&path).expect("a rollout"),
        lines,
        "nothing is written before new input"
    );
    let story = stage.complete(&thread, "Go on").await;
    assert_eq!(
        story.one("thread/tokenUsage")["tokenUsage"]["total"]["totalTokens"]
            .as_u64()
            .map(|sum| sum > 20),
        Some(true)
    );
    let request = &stage.requests(1)[0];
    // The old conversation word for word, then the new words; nothing is told twice.
    let old = sent.input().len();
    assert_eq!(request.input()[..old], *sent.input());
    let texts = request.input_texts();
    let count = |part: &str| texts.iter().filter(|text| text.contains(part)).count();
    assert_eq!(
        (count("Be kind."), count("<environment_context>")),
        (1, 1),
        "{texts:#?}"
    );
    assert_eq!(texts[texts.len() - 2..], ["It says out.", "Go on"]);
    // The same again joins the live thread, by id and by path.
    for params in [
        json!({"threadId": thread}),
        json!({"path": path}),
        json!({"path": path, "threadId": "someone-else"}),
    ] {
        let joined = stage.client.call("countersign/thread/resume", params).await;
        assert_eq!(joined["thread"]["id"], thread);
        assert_eq!(joined["thread"]["turns"].as_array().map(Vec::len), Some(2));
    }
    // A change is told as a difference to what was told before the restart.
    let settings = json!({"approvalPolicy": "never"});
    let input = json!([{"type": "text", "text": "Once more"}]);
    stage
        .run_with(json!({"threadId": thread, "input": input, "settings": settings}))
        .await;
    let texts = stage.requests(2)[1].input_texts();
    let told: Vec<_> = texts
        .iter()
        .filter(|text| text.starts_with("<environment_context>"))
        .collect();
    assert_eq!(told.len(), 2);
    assert_eq!(
        *told[1],
        "<environment_context>\n  <approval_policy>never</approval_policy>\n</environment_context>"
    );
}

/// Shows S-016.
#[tokio::test]
async fn two_resumes_at_once_make_one_thread() {
    let first = Stage::new(json!([[say("one")]])).await;
    let thread = first.thread().await;
    first.complete(&thread, "Hi").await;
    let (stage, _folders) = restarted(first, json!([[say("two")]])).await;
    let ids: Vec<i64> = (0..8)
        .map(|_| {
            stage
                .client
                .send_request("countersign/thread/resume", json!({ "threadId": thread }))
        })
        .collect();
    for id in ids {
        let answer = stage.client.expect_answer(json!(id)).await.unwrap();
        assert_eq!(answer["thread"]["id"], thread);
    }
    stage.until_event("thread/configured").await;
    let story = stage.complete(&thread, "Again").await;
    assert_eq!(story.said(), ["two"]);
}

/// Shows S-068, S-300.
#[tokio::test]
async fn a_thread_whose_server_was_killed_can_be_gone_on_with() {
    let script = json!([[bash("c1", "echo one"), {"hold": "never"}]]);
    let mut first = Stage::new(script).await;
    let thread = first.thread().await;
    first.start_turn(&thread, "Go").await;
    first
        .until(|name, params| name == "item/completed" && params["item"]["id"] == "c1")
        .await;
    let pid = i32::try_from(first.client.server_pid()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .expect("it runs");
    first.client.expect_end().await;
    let setting = Setting {
        home: Some(first.client.home().to_owned()),
        folder: Some(first.dir.clone()),
        ..Setting::default()
    };
    let stage = Stage::with(json!([[say("on it")]]), setting).await;
    let resumed = stage.resume(json!({"threadId": thread})).await;
    assert_eq!(resumed["thread"]["turns"][0]["status"], "interrupted");
    stage.complete(&thread, "Go on").await;
    let request = &stage.requests(1)[0];
    assert_eq!((request.calls().len(), request.outputs().len()), (1, 1));
}

/// Shows S-302, S-305, S-307, S-308, S-309, S-433.
#[tokio::test]
async fn lists_and_wrong_names() {
    let stage = Stage::new(json!([{"repeat": true, "outputs": [{"say": "ok"}]}])).await;
    let mut threads = Vec::new();
    for words in ["The first", "The second", "The third"] {
        let thread = stage.thread().await;
        stage.complete(&thread, words).await;
        threads.push(thread);
    }
    let silent = stage.thread().await;
    // Used last, so first.
    stage.complete(&threads[0], "More of it").await;
    let list = |params: Value| stage.client.call("countersign/thread/list", params);
    let mut previews = Vec::new();
    eventually("the end of the turn is recorded", || {
        let lines = stage.rollout(&threads[0]);
        lines
            .iter()
            .filter(|line| line["payload"]["type"] == "task_complete")
            .count()
            == 2
    })
    .await;
    // A turn's end is told a moment before its thread has come to rest.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let all = loop {
        assert!(std::time::Instant::now() < deadline, "the threads do not come to rest");
        let all = list(json!({})).await;
        let threads = all["data"].as_array().expect("threads");
        if threads.iter().all(|thread| thread["status"] == "idle") {
            break all;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    for thread in all["data"].as_array().unwrap() {
        assert_ne!(thread["id"], silent);
        assert_eq!(thread["cwd"], json!(stage.dir));
        previews.push(thread["preview"].as_str().unwrap().to_owned());
    }
    assert_eq!(previews, ["The first", "The third", "The second"]);
    let page = list(json!({"limit": 2})).await;
    assert_eq!(page["data"].as_array().map(Vec::len), Some(2));
    let rest = list(json!({"limit": 2, "cursor": page["nextCursor"]})).await;
    assert_eq!(rest["data"][0]["preview"], "The second");
    assert_eq!(rest.get("nextCursor"), None);
    assert_eq!(
        list(json!({"searchTerm": "THIRD"})).await["data"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(list(json!({"modelProviders": ["openai"]})).await["data"], json!([]));
    let nobody = "00000000-0000-7000-8000-000000000000";
    for (method, params, kind) in [
        ("thread/list", json!({"cursor": "xyz"}), "invalidCursor"),
        ("thread/resume", json!({}), "invalidParams"),
        ("thread/resume", json!({ "threadId": nobody }), "threadNotFound"),
        (
            "thread/resume",
            json!({"threadId": "../../etc/passwd"}),
            "threadNotFound",
        ),
        ("thread/resume", json!({"path": "/nowhere.jsonl"}), "storeFailed"),
        ("thread/read", json!({ "threadId": nobody }), "threadNotFound"),
    ] {
        let error = stage
            .client
            .request(&format!("countersign/{method}"), params.clone())
            .await
            .unwrap_err();
        assert_eq!(error.data["kind"], kind, "{method} {params}: {error:?}");
    }
    let error = stage
        .client
        .request("countersign/thread/read", json!({"threadId": 7}))
        .await
        .unwrap_err();
    assert_eq!(error.code, -32602);
}

/// Shows S-435.
#[tokio::test]
async fn requests_sent_back_to_back_find_what_the_first_one_made() {
    let first = Stage::new(json!([[say("one")]])).await;
    let thread = first.thread().await;
    first.complete(&thread, "Hi").await;
    let (stage, _folders) = restarted(first, json!([[say("two")]])).await;
    let resume = stage
        .client
        .send_request("countersign/thread/resume", json!({ "threadId": thread }));
    let params = json!({"threadId": thread, "input": [{"type": "text", "text": "At once"}]});
    let start = stage.client.send_request("countersign/turn/start", params);
    stage.client.expect_answer(json!(resume)).await.unwrap();
    let started = stage.client.expect_answer(json!(start)).await.unwrap();
    let story = stage.finish(started["turn"]["id"].as_str().unwrap()).await;
    assert_eq!(story.names()[..2], ["thread/started", "thread/configured"]);
    assert_eq!(story.said(), ["two"]);
}

#[tokio::test]
async fn an_ephemeral_thread_leaves_nothing() {
    let stage = Stage::new(json!([[shell("c1", &["true"])], [say("gone")]])).await;
    let started = stage.start_thread(json!({"ephemeral": true})).await;
    let thread = started["thread"]["id"].as_str().unwrap();
    stage.complete(thread, "Leave no trace").await;
    assert_eq!(stage.read(thread).await["turns"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        stage.client.call("countersign/thread/list", json!({})).await["data"],
        json!([])
    );
    assert!(rollout_path(stage.client.home(), thread).is_none());
    let sessions = stage.client.home().join("sessions");
    assert!(!sessions.exists() || std::fs::read_dir(sessions).unwrap().next().is_none());
}

/// Shows S-436.
#[tokio::test]
async fn every_announced_method_is_there() {
    let stage = Stage::new(json!([])).await;
    for (method, ..) in countersign::protocol::method::CLIENT_REQUESTS {
        for params in [json!({}), json!({"threadId": "nobody", "input": 3}), Value::Null] {
            if let Err(error) = stage.client.request(method, params).await {
                // Not signed in here.
                let nobody = method.ends_with("account/rateLimits/read") && error.code == -32600;
                assert!(nobody || [-32602, -32803].contains(&error.code), "{method}: {error:?}");
                assert!(!error.message.contains("implement"), "{method}: {error:?}");
            }
        }
    }
    stage.client.settle().await;
    stage.client.take_unread();
}
