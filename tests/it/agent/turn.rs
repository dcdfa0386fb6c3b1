//! The turn loop: its order, its record, its end.

use super::stage::{Setting, Stage, apply_patch, bash, eventually, rollout, say, shell, within};
use serde_json::{Value, json};

/// Shows S-003, S-004, S-045, S-048, S-050, S-051, S-055, S-071, S-213, S-447, S-449.
#[tokio::test]
async fn a_turn_from_its_first_event_to_its_last() {
    let script = json!([[
        {"think": "Let me see."}, {"say": "Hello, world."},
        {"usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}},
    ]]);
    let stage = Stage::configured("model_context_window = 5000", script).await;
    let thread = stage.thread().await;
    for input in [json!([]), json!([{"type": "text", "text": " \n"}])] {
        let params = json!({"threadId": thread, "input": input});
        let error = stage
            .client
            .request("countersign/turn/start", params)
            .await
            .unwrap_err();
        assert_eq!(error.code, -32602, "{error:?}");
    }
    let turn = stage.start_turn(&thread, "Hi").await;
    let story = stage.finish(&turn).await;
    let mut names = story.names();
    names.dedup();
    assert_eq!(
        names,
        [
            "thread/statusChanged",
            "turn/started",
            "item/started",
            "item/completed",
            "item/started",
            "item/reasoning/summaryTextDelta",
            "item/completed",
            "item/started",
            "item/agentMessage/delta",
            "item/completed",
            "thread/tokenUsage",
            "thread/statusChanged",
            "turn/completed",
        ]
    );
    assert_eq!(story.kinds(), ["userMessage", "reasoning", "agentMessage"]);
    assert_eq!(story.one("turn/started")["modelContextWindow"], 5000);
    assert_eq!(story.item("userMessage")["content"][0]["text"], "Hi");
    assert_eq!(story.item("userMessage")["id"], turn);
    assert_eq!(story.item("reasoning")["summary"], json!(["Let me see."]));
    assert_eq!(story.item("agentMessage")["text"], "Hello, world.");
    let deltas: String = story
        .all("item/agentMessage/delta")
        .iter()
        .filter_map(|delta| delta["delta"].as_str())
        .collect();
    assert_eq!(deltas, "Hello, world.");
    let completed = story.one("turn/completed");
    assert_eq!(completed["turn"]["status"], "completed");
    assert_eq!(completed["turn"]["items"].as_array().map(Vec::len), Some(3));
    assert_eq!(completed["lastAgentMessage"], "Hello, world.");
    assert_eq!(completed["turn"].get("error"), None);
    let usage = &story.one("thread/tokenUsage")["tokenUsage"];
    assert_eq!(usage["last"]["totalTokens"], 15);
    assert_eq!(usage["modelContextWindow"], 5000);
    // Ids are never used twice.
    let request = &stage.requests(1)[0];
    assert_eq!(request.last_user_text(), "Hi");
}

/// Shows S-017, S-018, S-437, S-438, S-439.
#[tokio::test]
async fn answers_come_before_the_story_they_begin() {
    let stage = Stage::new(json!([[say("ok")]])).await;
    let started = stage.start_thread(json!({})).await;
    let thread = started["thread"]["id"].as_str().unwrap();
    assert_eq!(started["settings"]["model"], "rehearsal");
    assert_eq!(started["thread"]["status"], "idle");
    assert!(
        started["thread"]["path"]
            .as_str()
            .unwrap()
            .ends_with(&format!("{thread}.jsonl"))
    );
    let input = json!([{"type": "text", "text": "Hi"}]);
    let params = json!({"threadId": thread, "input": input, "clientUserMessageId": "mine"});
    let answer = stage.client.call("countersign/turn/start", params).await;
    let turn = &answer["turn"];
    assert_eq!(answer["steered"], false);
    assert_eq!(turn["status"], "inProgress");
    assert_eq!(turn.get("error"), None);
    let item = json!({"type": "userMessage", "id": turn["id"], "content": input, "clientId": "mine"});
    assert_eq!(turn["items"], json!([item]));
    let story = stage.finish(turn["id"].as_str().unwrap()).await;
    assert_eq!(*story.item("userMessage"), item);
    let trace = stage.client.trace();
    let of_threads: Vec<&str> = trace
        .iter()
        .map(String::as_str)
        .filter(|line| line.starts_with("answer") || line.starts_with("countersign/t"))
        .collect();
    // The first answer is that to initialize.
    assert_eq!(
        of_threads[..6],
        [
            "answer 1",
            "answer 2",
            "countersign/thread/started",
            "countersign/thread/configured",
            "answer 3",
            "countersign/thread/statusChanged",
        ]
    );
    let unknown = json!({"threadId": "00000000-0000-7000-8000-000000000000", "input": input});
    let error = stage
        .client
        .request("countersign/turn/start", unknown)
        .await
        .unwrap_err();
    assert_eq!((error.code, &error.data["kind"]), (-32803, &json!("threadNotLoaded")));
}

/// Shows S-053, S-059, S-151, S-206, S-208, S-213.
#[tokio::test]
async fn the_second_request_holds_the_call_and_its_output() {
    let script = json!([
        [say("I look."), shell("call_1", &["echo", "from the command"]), {"usage": {"input_tokens": 7, "output_tokens": 1, "total_tokens": 8}}],
        [say("It says so."), {"usage": {"input_tokens": 20, "output_tokens": 2, "total_tokens": 22}}],
        [say("Again."), {"usage": null}],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Look").await;
    assert_eq!(
        story.kinds(),
        ["userMessage", "agentMessage", "commandExecution", "agentMessage"]
    );
    let second = stage.complete(&thread, "And now?").await;
    let requests = stage.requests(3);
    assert_eq!(requests[0].calls(), []);
    let call = &requests[1].calls()[0];
    assert_eq!((&call.call_id[..], &call.tool[..]), ("call_1", "shell"));
    assert!(requests[1].output("call_1").unwrap().contains("from the command"));
    assert!(requests[2].input_texts().contains(&"It says so.".to_owned()));
    assert!(requests[2].output("call_1").is_some());
    assert!(!requests[0].instructions().is_empty());
    assert!(
        requests
            .iter()
            .all(|request| request.instructions() == requests[0].instructions())
    );
    // The numbers add up, and an answer without them leaves them.
    let usages = story.all("thread/tokenUsage");
    assert_eq!(usages[1]["tokenUsage"]["total"]["totalTokens"], 30);
    assert_eq!(usages[1]["tokenUsage"]["last"]["totalTokens"], 22);
    assert_eq!(second.count("thread/tokenUsage"), 0);
    // Announced before the outputs of the calls are waited for.
    let first_usage = story.at(|name, _| name == "thread/tokenUsage");
    let answer = story.at(|name, params| name == "item/completed" && params["item"]["text"] == "It says so.");
    assert!(first_usage < answer);
}

/// Shows S-056.
#[tokio::test]
async fn the_last_word_is_that_of_the_last_round() {
    let script = json!([
        [say("one"), say("two")],
        [say("I look."), shell("call_1", &["true"])],
        [{"think": "Nothing to add."}],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Talk").await;
    assert_eq!(story.last()["lastAgentMessage"], "two");
    let story = stage.complete(&thread, "Look").await;
    assert_eq!(story.last()["lastAgentMessage"], Value::Null);
    assert_eq!(story.said(), ["I look."]);
}

/// Shows S-052, S-054, S-222.
#[tokio::test]
async fn what_the_person_said_is_on_disk_before_the_model_is_asked() {
    let script = json!([[{"hold": "for ever"}, say("never")]]);
    let setting = Setting {
        files: vec![("AGENTS.md".into(), "Be kind.".into())],
        ..Setting::default()
    };
    let mut stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.start_turn(&thread, "Do not forget me").await;
    let story = stage
        .until(|name, params| name == "item/completed" && params["item"]["type"] == "userMessage")
        .await;
    assert_eq!(story.names()[1], "turn/started");
    within(stage.model.wait_for_requests(1)).await;
    let pid = i32::try_from(stage.client.server_pid()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .expect("it runs");
    stage.client.expect_end().await;
    let lines = rollout(stage.client.home(), &thread);
    assert_eq!(lines[0]["type"], "session_meta");
    assert_eq!(lines[0]["payload"]["instructions"], "Be kind.");
    let said: Vec<&str> = lines
        .iter()
        .filter(|line| line["type"] == "response_item")
        .filter_map(|line| line["payload"]["content"][0]["text"].as_str())
        .collect();
    assert_eq!(said.len(), 3, "{said:#?}");
    assert!(said[0].contains("Be kind."));
    assert!(said[1].starts_with("<environment_context>"));
    assert_eq!(said[2], "Do not forget me");
    let contexts: Vec<_> = lines.iter().filter(|line| line["type"] == "turn_context").collect();
    assert_eq!(contexts.len(), 1);
    assert_eq!(contexts[0]["payload"]["model"], "rehearsal");
    assert_eq!(contexts[0]["payload"]["cwd"], json!(stage.dir));
    assert_eq!(contexts[0]["payload"]["approval_policy"], "on-request");
    assert_eq!(contexts[0]["payload"]["sandbox_policy"]["type"], "workspace-write");
}

/// Shows S-054, S-293, S-296.
#[tokio::test]
async fn each_request_has_its_context_on_record_and_no_item_stands_twice() {
    let mut steps: Vec<Value> = (0..5)
        .map(|n| json!([shell(&format!("call_{n}"), &["true"])]))
        .collect();
    steps.push(json!([say("done")]));
    let stage = Stage::new(json!(steps)).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    stage.requests(6);
    let mut lines = Vec::new();
    eventually("the end of the turn is recorded", || {
        lines = stage.rollout(&thread);
        lines.iter().any(|line| line["payload"]["type"] == "task_complete")
    })
    .await;
    let contexts = lines.iter().filter(|line| line["type"] == "turn_context").count();
    assert_eq!(contexts, 6);
    let items: Vec<String> = lines
        .iter()
        .filter(|line| line["type"] == "response_item")
        .map(|line| line["payload"].to_string())
        .collect();
    let mut once = items.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), items.len());
    assert!(lines.is_sorted_by_key(|line| line["timestamp"].as_str().map(str::to_owned)));
}

/// Shows S-070, S-071.
#[tokio::test]
async fn raw_reasoning_is_shown_only_where_it_is_switched_on() {
    let script = json!([[
        {"raw_event": {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": []}}},
        {"raw_event": {"type": "response.reasoning_text.delta", "item_id": "rs_1", "output_index": 0, "content_index": 0, "delta": "raw thought"}},
        {"raw_event": {"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "delta": "in short"}},
        {"raw_event": {"type": "response.reasoning_summary_part.added", "item_id": "rs_1", "output_index": 0, "summary_index": 1, "part": {"type": "summary_text", "text": ""}}},
        {"raw_event": {"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0, "summary_index": 1, "delta": "and more"}},
        {"item": {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "in short"}, {"type": "summary_text", "text": "and more"}],
                  "content": [{"type": "reasoning_text", "text": "raw thought"}], "encrypted_content": "x"}},
        say("ok"),
    ]]);
    for (config, raw) in [("", 0), ("show_raw_agent_reasoning = true", 1)] {
        let stage = Stage::configured(config, script.clone()).await;
        let thread = stage.thread().await;
        let story = stage.complete(&thread, "Think").await;
        assert_eq!(story.count("item/reasoning/textDelta"), raw, "{config}");
        let deltas = story.all("item/reasoning/summaryTextDelta");
        let deltas: Vec<_> = deltas.iter().map(|delta| (&delta["index"], &delta["delta"])).collect();
        assert_eq!(
            deltas,
            [(&json!(0), &json!("in short")), (&json!(1), &json!("and more"))]
        );
        let item = story.item("reasoning");
        assert_eq!(item["summary"], json!(["in short", "and more"]));
        assert_eq!(item["content"].as_array().map(Vec::len), Some(raw));
    }
}

/// Shows S-072, S-185.
#[tokio::test]
async fn items_that_no_model_should_send_are_passed_over() {
    let script = json!([
        [
            {"item": {"type": "function_call_output", "call_id": "nobody", "output": "stray"}},
            {"item": {"type": "telepathy", "id": "tp_1", "thought": "unknown kind"}},
            say("Hello"),
        ],
        [say("again")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Hi").await;
    assert_eq!(story.kinds(), ["userMessage", "agentMessage"]);
    stage.complete(&thread, "More").await;
    let second = stage.requests(2).pop().unwrap();
    let body = second.body.to_string();
    assert!(!body.contains("stray") && !body.contains("telepathy"), "{body}");
}

/// Shows S-015, S-016, S-036.
#[tokio::test]
async fn threads_run_side_by_side() {
    let script = json!([
        {"when": {"last_user": "first"}, "outputs": [{"hold": "gate"}, {"say": "slow"}]},
        {"when": {"last_user": "second"}, "outputs": [{"say": "quick"}]},
    ]);
    let stage = Stage::new(script).await;
    let (first, second) = (stage.thread().await, stage.thread().await);
    let slow = stage.start_turn(&first, "first").await;
    let started = stage.until_event("turn/started").await;
    assert_eq!(started.last()["threadId"], first);
    let turn = stage.start_turn(&second, "second").await;
    let story = stage
        .until(|name, params| name == "turn/completed" && params["turnId"] == turn)
        .await;
    assert!(
        story
            .all("turn/completed")
            .iter()
            .all(|done| done["threadId"] == second)
    );
    assert_eq!(stage.read(&first).await["status"], "active");
    assert_eq!(stage.read(&second).await["status"], "idle");
    stage.model.release("gate");
    assert_eq!(stage.finish(&slow).await.said(), ["slow"]);
    assert_eq!(stage.read(&first).await["status"], "idle");
}

/// Shows S-271, S-272, S-273, S-274.
#[tokio::test]
async fn the_diff_of_the_turn_is_whole_each_time_and_absent_without_a_change() {
    let patch =
        |from: &str, to: &str| format!("*** Begin Patch\n*** Update File: a.txt\n@@\n-{from}\n+{to}\n*** End Patch");
    let script = json!([
        [apply_patch("p1", &patch("one", "ONE"))],
        [shell("c1", &["true"])],
        [apply_patch(
            "p2",
            "*** Begin Patch\n*** Add File: b.txt\n+new\n*** End Patch"
        )],
        [apply_patch("p3", &patch("ONE", "one"))],
        [say("done")],
    ]);
    let stage = Stage::with(
        script,
        Setting {
            config: "approval_policy = \"never\"".into(),
            files: vec![("a.txt".into(), "one\ntwo\n".into())],
            ..Setting::default()
        },
    )
    .await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Change").await;
    let diffs: Vec<&str> = story
        .all("turn/diff")
        .iter()
        .filter_map(|event| event["diff"].as_str())
        .collect();
    assert_eq!(diffs.len(), 3, "{diffs:#?}");
    assert!(diffs[0].contains("-one\n+ONE"), "{}", diffs[0]);
    assert!(diffs[1].contains("+ONE") && diffs[1].contains("b.txt"), "{}", diffs[1]);
    assert!(!diffs[2].contains("a.txt") && diffs[2].contains("+new"), "{}", diffs[2]);
    let first_diff = story.at(|name, _| name == "turn/diff");
    let first_change = story.at(|name, params| name == "item/completed" && params["item"]["id"] == "p1");
    assert!(first_change < first_diff);
}

/// Shows S-026, S-028, S-042.
#[tokio::test]
async fn a_model_that_is_not_known_is_said_once_and_is_no_obstacle() {
    let tables = |url: &str| format!("[model_providers.acme]\nname = \"Acme\"\nbase_url = \"{url}\"");
    let model = super::stage::rehearse(json!([[say("one")], [say("two")], [say("three")]])).await;
    let stage = Stage::with(
        json!([]),
        Setting {
            tables: tables(&model.base_url),
            ..Setting::default()
        },
    )
    .await;
    let thread = stage.thread().await;
    let settings = |name: &str| json!({"modelProvider": "acme", "model": name});
    let turn =
        |name: &str| json!({"threadId": thread, "input": [{"type": "text", "text": "Hi"}], "settings": settings(name)});
    for is_first in [true, false] {
        let story = stage.run_with(turn("frobnicator-9")).await;
        assert_eq!(story.status(), "completed");
        let warnings = story.all("warning");
        assert_eq!(warnings.len(), usize::from(is_first));
        let names = |warning: &Value| {
            warning["message"]
                .as_str()
                .is_some_and(|text| text.contains("frobnicator-9"))
        };
        assert!(warnings.iter().all(|warning| names(warning)), "{warnings:?}");
        assert_eq!(story.one("turn/started")["modelContextWindow"], Value::Null);
    }
    let story = stage.run_with(turn("gpt-5-codex")).await;
    assert_eq!(story.count("warning"), 0);
    assert!(story.one("turn/started")["modelContextWindow"].as_u64() > Some(100_000));
}

#[tokio::test]
async fn an_answer_without_end_ends_the_turn() {
    let endless = json!({"trickle": "all work and no play ".repeat(2000), "chunk": 60_000});
    let script = json!([[endless], [say("still here")]]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Go on").await;
    assert_eq!((story.status(), story.error_kind()), ("failed", "incomplete"));
    assert_eq!(story.item("agentMessage")["partial"], true);
    assert_eq!(story.count("error"), 1);
    stage.complete(&thread, "Still there?").await;
}

/// Shows S-057.
#[tokio::test]
async fn a_tool_starts_while_the_answer_still_streams() {
    let script = json!([
        [bash("call_1", "echo early"), {"hold": "end"}, say("later")],
        [say("done")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let story = stage
        .until(|name, params| name == "item/completed" && params["item"]["type"] == "commandExecution")
        .await;
    assert_eq!(story.last()["item"]["aggregatedOutput"], "early\n");
    stage.requests(1);
    stage.model.release("end");
    assert_eq!(stage.finish(&turn).await.said(), ["later", "done"]);
}

/// Shows S-453, S-456, S-457.
#[tokio::test]
async fn the_end_of_the_server_closes_a_running_turn_in_order() {
    for politely in [true, false] {
        let script = json!([[bash("call_1", "echo ready; sleep 1000 & sleep 1000")]]);
        let mut stage = Stage::new(script).await;
        let thread = stage.thread().await;
        stage.start_turn(&thread, "Wait").await;
        stage.until_output("ready").await;
        assert!(!Stage::processes(&thread).is_empty());
        if politely {
            stage.client.call("shutdown", Value::Null).await;
            let story = stage.until_event("turn/completed").await;
            assert_eq!(story.status(), "interrupted");
            assert_eq!(story.item("commandExecution")["status"], "interrupted");
            Stage::no_process_left(&thread).await;
            let at = |name: &str| stage.client.trace().iter().position(|line| line == name);
            eventually("the thread is closed", || at("countersign/thread/closed").is_some()).await;
            assert!(at("countersign/turn/completed") < at("countersign/thread/closed"));
        }
        stage.client.hang_up();
        assert_eq!(stage.client.expect_end().await, 1);
        Stage::no_process_left(&thread).await;
        let lines = rollout(stage.client.home(), &thread);
        let last = &lines.last().unwrap()["payload"];
        assert_eq!(last["type"], "turn_aborted", "{last}");
        let outputs: Vec<_> = lines
            .iter()
            .filter(|line| line["payload"]["type"] == "function_call_output")
            .collect();
        assert_eq!(outputs.len(), 1);
        stage.client.take_unread();
    }
}
