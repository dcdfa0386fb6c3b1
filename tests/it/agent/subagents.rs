//! Threads that work for threads: started, written to, waited for, stopped and closed; bounded in number and depth.

use super::stage::{Setting, Stage, Story, bash, say, shell};
use crate::support::client::Reply;
use countersign::protocol::event::EVENTS;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

fn call(tool: &str, id: &str, arguments: Value) -> Value {
    json!({"call": {"tool": tool, "arguments": arguments, "id": id}})
}

fn spawn(id: &str, name: &str, task: &str) -> Value {
    call("spawn_agent", id, json!({"message": task, "name": name}))
}

fn wait(id: &str) -> Value {
    call("wait_agents", id, json!({}))
}

/// A step that is played when the thread of this task asks for the first time.
fn of(task: &str, outputs: Value) -> Value {
    json!({"when": {"last_user": task}, "outputs": outputs})
}

/// Reads on until this thread's turn is over.
async fn until_over(stage: &Stage, thread: &str) -> Story {
    stage
        .until(|method, params| method == "turn/completed" && params["threadId"] == thread)
        .await
}

/// What comes from now on is nobody's business: agents are closed with the server.
fn enough(stage: &Stage) {
    for (method, _, _) in EVENTS {
        stage.client.ignore(method);
    }
    stage.client.take_unread();
}

fn child_of(story: &Story) -> String {
    let item = story
        .items("collabAgentToolCall")
        .into_iter()
        .find(|item| item["tool"] == "spawnAgent");
    let item = item.unwrap_or_else(|| panic!("no agent was started in {:#?}", story.events));
    item["receiverThreadIds"][0].as_str().expect("a thread").to_owned()
}

/// Shows S-407, S-409, S-410.
#[tokio::test]
async fn an_agent_works_for_another_and_its_last_message_comes_back() {
    let script = json!([
        of("Main", json!([spawn("c1", "scout", "Scout task")])),
        of("Scout", json!([bash("s1", "echo looked"), ])),
        {"when": {"output": {"s1": "looked"}}, "outputs": [say("The bug is in line 4.")]},
        {"when": {"output": {"c1": "scout"}, "not": {"output": "c2"}}, "outputs": [wait("c2")]},
        {"when": {"input": "line 4"}, "outputs": [say("Found by scout.")]},
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.start_turn(&thread, "Main task").await;
    let story = until_over(&stage, &thread).await;
    let ended: Vec<_> = story.all("turn/completed");
    assert!(
        ended.iter().all(|params| params["turn"]["status"] == "completed"),
        "{ended:#?}"
    );
    let child = child_of(&story);
    // The child's story is told in its own stream.
    assert!(
        story
            .events
            .iter()
            .any(|(name, params)| name == "thread/started" && params["threadId"] == child)
    );
    let statuses: Vec<_> = story
        .all("thread/agentStatus")
        .iter()
        .filter(|params| params["threadId"] == thread)
        .map(|params| params["state"]["status"].as_str().expect("a status").to_owned())
        .collect();
    assert_eq!(statuses, ["pendingInit", "running", "completed"]);
    let mail = story.item("agentMail");
    assert_eq!(
        (&mail["author"], &mail["text"]),
        (&json!("scout"), &json!("The bug is in line 4."))
    );
    assert_eq!(mail["authorThreadId"], json!(child));
    // The envelope stands on the agent's side, and the preview is the person's.
    let requests = stage.model.requests();
    let last = requests.last().expect("a request");
    let envelope = last
        .input()
        .iter()
        .find(|item| item.to_string().contains("line 4"))
        .expect("an envelope");
    assert_eq!(envelope["role"], "assistant");
    let read = stage.read(&thread).await;
    assert_eq!(read["preview"], "Main task");
    // The child has a record that names its parent.
    let meta = &stage.rollout(&child)[0]["payload"];
    let spawned = &meta["source"]["subagent"]["thread_spawn"];
    assert_eq!(spawned["parent_thread_id"], json!(thread));
    assert_eq!(
        (&spawned["agent_nickname"], &spawned["depth"]),
        (&json!("scout"), &json!(1))
    );
    let read = stage.read(&child).await;
    assert_eq!(
        read["agent"],
        json!({"name": "scout", "parentThreadId": thread, "depth": 1})
    );
    enough(&stage);
}

/// Shows S-408, S-410.
#[tokio::test]
async fn two_agents_exchange_messages_and_both_finish() {
    let send = |id: &str, to: &str, text: &str| call("send_message", id, json!({"to": to, "message": text}));
    let script = json!([
        of("Main", json!([spawn("c1", "left", "Left task"), spawn("c2", "right", "Right task"), wait("c3")])),
        of("Left", json!([send("l1", "right", "ping from left"), wait("l2")])),
        of("Right", json!([wait("r1")])),
        {"when": {"input": "ping from left", "output": "r1"}, "outputs": [send("r2", "left", "pong from right")]},
        {"when": {"output": "r2"}, "outputs": [say("Right is done.")]},
        {"when": {"input": "pong from right", "output": "l2"}, "outputs": [say("Left is done.")]},
        {"when": {"output": "c3", "not": {"input": "Right is done."}}, "outputs": [wait("c4")]},
        {"when": {"output": "c3", "not": {"input": "Left is done."}}, "outputs": [wait("c5")]},
        {"when": {"input": "Right is done."}, "outputs": [say("Both are done.")]},
    ]);
    let setting = Setting::default();
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.start_turn(&thread, "Main task").await;
    let story = until_over(&stage, &thread).await;
    let done: Vec<_> = story
        .all("turn/completed")
        .iter()
        .map(|params| params["turn"]["status"].clone())
        .collect();
    assert_eq!(done, ["completed", "completed", "completed"]);
    let texts: Vec<_> = story
        .items("agentMail")
        .iter()
        .map(|item| item["text"].clone())
        .collect();
    for text in ["ping from left", "pong from right", "Left is done.", "Right is done."] {
        assert!(texts.contains(&json!(text)), "{text}: {texts:?}");
    }
    enough(&stage);
}

/// Shows S-408.
#[tokio::test]
async fn mail_starts_a_turn_in_an_idle_thread_if_it_is_to_and_joins_a_running_one() {
    let script = json!([
        [say("Hello.")],
        {"when": {"input": "build is red"}, "outputs": [say("I look at the build."), {"hold": "busy"}]},
        {"when": {"input": "build is green"}, "outputs": [say("Never mind.")]},
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Hi").await;
    let send = |text: &str, starts_turn: bool| json!({"threadId": thread, "text": text, "author": "ci", "startsTurn": starts_turn});
    // Without the flag it waits.
    let quiet = stage
        .client
        .call("countersign/thread/send", send("nightly is late", false))
        .await;
    assert_eq!(quiet, json!({}));
    stage.client.settle().await;
    assert_eq!(stage.model.requests().len(), 1);
    let woken = stage
        .client
        .call("countersign/thread/send", send("build is red", true))
        .await;
    let turn = woken["turnId"].as_str().expect("a turn").to_owned();
    stage.model.wait_for_hold("busy").await;
    // A busy one takes it up in its course.
    let joined = stage
        .client
        .call("countersign/thread/send", send("build is green", true))
        .await;
    assert_eq!(joined["turnId"], json!(turn));
    stage.model.release("busy");
    let story = stage.finish(&turn).await;
    assert_eq!(story.one("turn/completed")["turn"]["status"], "completed");
    let texts: Vec<_> = story
        .items("agentMail")
        .iter()
        .map(|item| item["text"].clone())
        .collect();
    assert_eq!(texts, ["nightly is late", "build is red", "build is green"]);
    assert_eq!(story.said(), ["I look at the build.", "Never mind."]);
    assert!(
        stage.model.requests()[1]
            .input_texts()
            .iter()
            .any(|text| text.contains("nightly is late"))
    );
    let read = stage.read(&thread).await;
    assert_eq!(read["preview"], "Hi");
    for (params, part) in [
        (json!({"threadId": thread, "text": "  "}), "empty"),
        (
            json!({"threadId": "01890000-0000-7000-8000-000000000000", "text": "x"}),
            "no thread",
        ),
    ] {
        let error = stage
            .client
            .request("countersign/thread/send", params)
            .await
            .expect_err(part);
        assert!(error.message.contains(part), "{}", error.message);
    }
}

/// Shows S-410.
#[tokio::test]
async fn stopping_the_parent_stops_what_works_for_it() {
    let script = json!([
        of("Main", json!([spawn("c1", "slow", "Slow task"), wait("c2")])),
        of("Slow", json!([bash("s1", "echo begun; sleep 1000")])),
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.start_turn(&thread, "Main task").await;
    stage.until_output("begun").await;
    stage.interrupt(&thread).await;
    let mut ended = Vec::new();
    while ended.len() < 2 {
        let story = stage.until_event("turn/completed").await;
        assert_eq!(story.last()["turn"]["status"], "interrupted");
        ended.push(story.last()["threadId"].clone());
    }
    ended.sort_by_key(Value::to_string);
    ended.dedup();
    assert_eq!(ended.len(), 2);
    stage.client.settle().await;
    assert_eq!(stage.model.requests().len(), 2, "a stopped agent wakes nobody");
    let child = ended
        .iter()
        .find(|id| **id != json!(thread))
        .and_then(Value::as_str)
        .expect("a child");
    Stage::no_process_left(child).await;
    enough(&stage);
}

/// Shows S-410.
#[tokio::test]
async fn a_childs_question_names_it_and_it_may_never_do_more_than_its_parent() {
    let outside = json!({"call": {"tool": "shell", "id": "s1", "arguments": {
        "command": ["touch", "made"], "with_escalated_permissions": true, "justification": "the task needs it",
    }}});
    let script = json!([
        of("Main", json!([
            spawn("c1", "writer", "Writer task"),
            call("spawn_agent", "c2", json!({"message": "Reader task", "name": "reader", "read_only": true})),
            wait("c3"),
        ])),
        of("Writer", json!([outside])),
        {"when": {"output": "s1"}, "outputs": [say("Writer is done.")]},
        of("Reader", json!([shell("r1", &["touch", "never"])])),
        {"when": {"output": "r1"}, "outputs": [say("Reader is done.")]},
        {"when": {"output": "c3"}, "outputs": [say("Fine.")], "repeat": true},
    ]);
    let stage = Stage::new(script).await;
    let askers: Arc<Mutex<Vec<(Value, Value)>>> = Arc::default();
    let seen = askers.clone();
    stage.client.on_request("countersign/approval/command", move |params| {
        let is_writer = params["agent"] == "writer";
        let asker = (params["agent"].clone(), params["threadId"].clone());
        seen.lock().expect("whole").push(asker);
        Reply::Ok(json!({"decision": if is_writer { "accept" } else { "decline" }}))
    });
    let thread = stage.thread().await;
    stage.start_turn(&thread, "Main task").await;
    let mut mail = Vec::new();
    while mail.len() < 2 {
        let (method, params) = stage.next().await;
        if method == "item/completed" && params["item"]["type"] == "agentMail" {
            mail.push(params["item"]["author"].clone());
        }
    }
    let askers = askers.lock().expect("whole").clone();
    assert!(askers.iter().any(|(agent, _)| agent == "writer"), "{askers:?}");
    assert!(
        askers
            .iter()
            .all(|(agent, of)| agent.is_string() && *of != json!(thread)),
        "{askers:?}"
    );
    assert!(stage.path("made").exists());
    assert!(!stage.path("never").exists(), "a reading agent wrote");
    enough(&stage);
}

/// Shows S-410.
#[tokio::test]
async fn agents_are_bounded_and_bad_wishes_are_answers() {
    let script = json!([
        {"when": {"last_user": "Main"}, "outputs": [
            spawn("c1", "one", "First task"),
            spawn("c2", "one", "Other task"),
            spawn("c3", "two words", "Other task"),
            spawn("c4", "two", "Second task"),
            spawn("c5", "three", "Third task"),
            call("spawn_agent", "c6", json!({"message": " "})),
            call("spawn_agent", "c7", json!({})),
            call("send_message", "c8", json!({"to": "nobody", "message": "hello"})),
            call("close_agent", "c9", json!({"agent": "nobody"})),
            call("wait_agents", "c10", json!({"agents": ["nobody"]})),
        ]},
        {"when": {"last_user": "First task"}, "outputs": [{"hold": "first"}, say("done")]},
        {"when": {"last_user": "Second task"}, "outputs": [{"hold": "second"}, say("done")]},
        {"when": {"output": "c10", "not": {"output": "c20"}}, "outputs": [
            {"hold": "go"},
            call("close_agent", "c20", json!({"agent": "one"})),
            spawn("c21", "three", "Third task"),
            call("list_agents", "c22", json!({})),
        ]},
        {"when": {"last_user": "Third task"}, "outputs": [{"hold": "third"}, say("done")]},
        {"when": {"output": "c22"}, "outputs": [say("Enough."), {"hold": "end"}]},
    ]);
    let setting = Setting {
        tables: "[agents]\nmax_threads = 2".into(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.start_turn(&thread, "Main task").await;
    // Not closed before it has begun.
    stage.model.wait_for_hold("first").await;
    stage.model.wait_for_hold("go").await;
    stage.model.release("go");
    stage.model.wait_for_hold("end").await;
    let requests = stage.model.requests();
    let main = requests
        .iter()
        .rfind(|request| request.output("c22").is_some())
        .expect("the last one");
    for (id, part) in [
        ("c1", "at work"),
        ("c2", "taken"),
        ("c3", "no name"),
        ("c4", "at work"),
        ("c5", "2 at a time"),
        ("c6", "empty"),
        ("c7", "message"),
        ("c8", "no agent nobody"),
        ("c9", "no agent nobody"),
        ("c10", "no agent nobody"),
        ("c20", "one is closed"),
        ("c21", "at work"),
        ("c22", "three"),
    ] {
        let output = main.output(id).unwrap_or_else(|| panic!("no output of {id}"));
        assert!(output.contains(part), "{id}: {output}");
    }
    assert!(!main.output("c22").expect("a list").contains("\"one\""));
    // Agents that may start none are not offered to.
    let child = requests
        .iter()
        .find(|request| request.last_user_text() == "First task")
        .expect("a child's request");
    let offered = child.tools();
    assert!(
        !offered.contains(&"spawn_agent".to_owned()) && offered.contains(&"send_message".to_owned()),
        "{offered:?}"
    );
    stage.interrupt(&thread).await;
    until_over(&stage, &thread).await;
    enough(&stage);
}

/// Shows S-410.
#[tokio::test]
async fn a_parent_that_waits_for_a_child_that_asks_it_hears_the_question() {
    let script = json!([
        of("Main", json!([spawn("c1", "unsure", "Unsure task"), wait("c2")])),
        of("Unsure", json!([
            call("send_message", "u1", json!({"to": "parent", "message": "Which of the two?"})),
            call("wait_agents", "u2", json!({"agents": ["parent"]})),
        ])),
        {"when": {"input": "Which of the two?", "output": "c2", "not": {"output": "c3"}}, "outputs": [
            call("send_message", "c3", json!({"to": "unsure", "message": "The second one."})),
            wait("c4"),
        ]},
        {"when": {"input": "The second one.", "output": "u2"}, "outputs": [say("Done with the second.")]},
        {"when": {"output": "c4"}, "outputs": [say("Good.")]},
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.start_turn(&thread, "Main task").await;
    let story = until_over(&stage, &thread).await;
    assert_eq!(story.last()["turn"]["status"], "completed");
    let texts: Vec<_> = story
        .items("agentMail")
        .iter()
        .map(|item| item["text"].clone())
        .collect();
    assert_eq!(texts, ["Which of the two?", "The second one.", "Done with the second."]);
    enough(&stage);
}

/// The person is heard while an agent waits.
#[tokio::test]
async fn whoever_speaks_wakes_the_one_that_waits() {
    let script = json!([
        of("Main", json!([spawn("c1", "slow", "Slow task"), wait("c2")])),
        {"when": {"last_user": "Slow task"}, "outputs": [{"hold": "slow"}, say("late")]},
        {"when": {"last_user": "never mind"}, "outputs": [call("close_agent", "c3", json!({"agent": "slow"}))]},
        {"when": {"output": "c3"}, "outputs": [say("Stopped it.")]},
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Main task").await;
    stage.model.wait_for_hold("slow").await;
    stage
        .until(|method, params| method == "item/started" && params["item"]["tool"] == "wait")
        .await;
    stage.steer(&thread, &turn, "never mind").await.expect("taken");
    let story = until_over(&stage, &thread).await;
    assert_eq!(story.last()["turn"]["status"], "completed");
    let requests = stage.model.requests();
    let output = requests
        .iter()
        .find_map(|request| request.output("c2"))
        .expect("an output");
    assert!(output.contains("The person says something"), "{output}");
    // It ends beside the turn that closed it.
    let is_gone = |params: &Value| params["state"]["status"] == "shutdown";
    if !story.all("thread/agentStatus").into_iter().any(is_gone) {
        stage
            .until(|method, params| method == "thread/agentStatus" && is_gone(params))
            .await;
    }
    enough(&stage);
}

/// Switched off, nobody is offered any of it.
#[tokio::test]
async fn agents_can_be_switched_off() {
    let setting = Setting {
        tables: "[features]\nmulti_agent = false".into(),
        ..Setting::default()
    };
    let stage = Stage::with(json!([[spawn("c1", "a", "Task")], [say("ok")]]), setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let requests = stage.requests(2);
    let offered = requests[0].tools();
    assert!(
        !offered
            .iter()
            .any(|name| name.ends_with("_agent") || name.ends_with("_agents")),
        "{offered:?}"
    );
    let output = requests[1].output("c1").expect("an output");
    assert!(output.contains("switched off"), "{output}");
}

/// What one agent tells another is text: it runs nothing and calls no prompt, whatever it begins with.
#[tokio::test]
async fn a_task_is_never_a_command_of_the_persons() {
    let outside = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let made = outside.path().join("made");
    let task = format!("!touch {}", made.display());
    let script = json!([
        of("Main", json!([spawn("c1", "scout", &task), wait("c2")])),
        {"when": {"last_user": "!touch"}, "outputs": [say("It is only text.")]},
        {"when": {"input": "only text"}, "outputs": [say("Done.")]},
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.start_turn(&thread, "Main task").await;
    let story = until_over(&stage, &thread).await;
    assert_eq!(story.last()["turn"]["status"], "completed");
    assert_eq!(story.item("agentMail")["text"], "It is only text.");
    assert!(!made.exists(), "the task was run as a command");
    let commands = story.items("commandExecution");
    assert!(commands.is_empty(), "{commands:#?}");
    enough(&stage);
}
