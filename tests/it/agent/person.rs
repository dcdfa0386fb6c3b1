//! The person's own commands: beside what the agent does or in a turn of their own, with the person's rights, and nothing of
//! them for the model but what the person sends along.

use super::stage::{Setting, Stage, Story, apply_patch, bash, command_output, eventually, say};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A command that goes on until the file is there.
fn until(file: &str, then: &str) -> String {
    format!("until [ -e {file} ]; do sleep 0.02; done; {then}")
}

async fn own(stage: &Stage, thread: &str, command: &str) -> Value {
    let params = json!({"threadId": thread, "command": command});
    stage.client.call("countersign/thread/shellCommand", params).await
}

/// A command in a turn of its own, to its end.
async fn own_turn(stage: &Stage, thread: &str, command: &str) -> Story {
    let answer = own(stage, thread, command).await;
    assert_eq!(answer["joined"], false);
    stage.finish(answer["turnId"].as_str().expect("an id")).await
}

fn output(item: &Value) -> &str {
    item["aggregatedOutput"].as_str().unwrap_or_default()
}

/// Nothing that was ever sent to the model holds this.
fn never_told(stage: &Stage, text: &str) {
    for request in stage.model.requests() {
        assert!(!request.body.to_string().contains(text), "{text} in {}", request.body);
    }
}

/// Shows S-264, S-265, S-269, S-270.
#[tokio::test]
async fn an_exclamation_mark_runs_a_command_in_a_turn_of_its_own() {
    let stage = Stage::new(json!([[say("hello")], [say("again")]])).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "!echo only-mine; pwd; exit 3").await;
    let story = stage.finish(&turn).await;
    let mut names = story.names();
    names.dedup();
    assert_eq!(
        names,
        [
            "thread/statusChanged",
            "turn/started",
            "item/started",
            "item/commandExecution/outputDelta",
            "item/completed",
            "thread/statusChanged",
            "turn/completed"
        ]
    );
    assert_eq!(story.status(), "completed");
    let item = story.item("commandExecution");
    assert_eq!(
        (&item["source"], &item["confined"], &item["exitCode"], &item["status"]),
        (&json!("user"), &json!("outside"), &json!(3), &json!("failed"))
    );
    assert_eq!(item["command"], "echo only-mine; pwd; exit 3");
    assert_eq!(output(item), format!("only-mine\n{}\n", stage.dir.display()));
    stage.requests(0);
    // The same by its own request, whose answer comes first.
    let answer = own(&stage, &thread, "  echo only-yours ").await;
    let turn = answer["turnId"].as_str().expect("an id").to_owned();
    let story = stage.finish(&turn).await;
    let item = story.item("commandExecution");
    assert_eq!((&item["id"], output(item)), (&answer["itemId"], "only-yours\n"));
    let trace = stage.client.trace();
    let answered = trace
        .iter()
        .rposition(|line| line.starts_with("answer"))
        .expect("an answer");
    let begun = trace
        .iter()
        .rposition(|line| line.ends_with("turn/started"))
        .expect("a turn");
    assert!(answered < begun, "{trace:#?}");
    // What follows knows nothing of them.
    stage.complete(&thread, "Hello").await;
    stage.requests(1);
    never_told(&stage, "only-");
    // The turns are in the thread all the same, also when it comes back.
    let read = stage.read(&thread).await;
    assert_eq!(read["turns"].as_array().map(Vec::len), Some(3));
    assert_eq!(read["turns"][0]["items"][0]["source"], "user");
    let rollout = stage.rollout(&thread);
    let told = rollout.iter().filter(|line| line["type"] == "response_item");
    assert!(told.into_iter().all(|line| !line.to_string().contains("only-")));
}

/// Shows S-264.
#[tokio::test]
async fn without_a_command_there_is_a_hint_and_a_blank_makes_it_a_message() {
    let stage = Stage::new(json!([[say("one")], [say("two")]])).await;
    let thread = stage.thread().await;
    let text = |text: &str| json!({"threadId": thread, "input": [{"type": "text", "text": text}]});
    for (method, params) in [
        ("countersign/turn/start", text("!")),
        ("countersign/turn/start", text("! \n ")),
        (
            "countersign/thread/shellCommand",
            json!({"threadId": thread, "command": ""}),
        ),
        (
            "countersign/thread/shellCommand",
            json!({"threadId": thread, "command": " \t"}),
        ),
    ] {
        let error = stage.client.request(method, params.clone()).await.unwrap_err();
        assert_eq!(
            (error.code, &error.data["kind"]),
            (-32600, &json!("emptyCommand")),
            "{params}"
        );
        assert!(error.message.contains("!git status"), "{}", error.message);
    }
    let nul = json!({"threadId": thread, "command": "a\0b"});
    let error = stage
        .client
        .request("countersign/thread/shellCommand", nul)
        .await
        .unwrap_err();
    assert_eq!(error.code, -32602);
    let nobody = json!({"threadId": "nobody", "command": "ls"});
    let error = stage
        .client
        .request("countersign/thread/shellCommand", nobody)
        .await
        .unwrap_err();
    assert_eq!(error.data["kind"], "threadNotLoaded");
    // Words that only hold the mark, or begin after a blank, are words.
    stage.complete(&thread, " !echo x").await;
    let two = json!([{"type": "text", "text": "!echo x"}, {"type": "text", "text": "what does it do?"}]);
    let story = stage.run_with(json!({"threadId": thread, "input": two})).await;
    assert_eq!(story.said(), ["two"]);
    stage.requests(2);
}

/// Shows S-163, S-266, S-270.
#[tokio::test]
async fn beside_a_turn_it_runs_on_its_own_and_the_turn_completes() {
    let stage = Stage::new(json!([[{"hold": "gate"}, say("done")], [say("next")]])).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Long").await;
    stage.model.wait_for_hold("gate").await;
    let answer = own(&stage, &thread, "echo beside").await;
    assert_eq!((&answer["joined"], &answer["turnId"]), (&json!(true), &json!(turn)));
    let story = stage
        .until(|name, params| name == "item/completed" && params["item"]["id"] == answer["itemId"])
        .await;
    assert_eq!(story.last()["turnId"], turn);
    assert_eq!(output(story.item("commandExecution")), "beside\n");
    // The same by steering.
    stage.steer(&thread, &turn, "!echo steered").await.expect("taken");
    let story = stage.until_event("item/completed").await;
    assert_eq!(output(story.item("commandExecution")), "steered\n");
    let error = stage.steer(&thread, "another", "!echo x").await.unwrap_err();
    assert_eq!(error.data["kind"], "turnMismatch");
    stage.model.release("gate");
    let story = stage.finish(&turn).await;
    assert_eq!((story.status(), story.said()), ("completed", vec!["done"]));
    stage.complete(&thread, "Next").await;
    stage.requests(2);
    never_told(&stage, "beside");
    never_told(&stage, "steered");
}

/// Shows S-266, S-268.
#[tokio::test]
async fn stopping_the_turn_ends_the_command_with_its_children() {
    let stage = Stage::new(json!([[{"hold": "gate"}, say("done")], [say("next")]])).await;
    let thread = stage.thread().await;
    let command = "echo ready; trap '' TERM; (setsid sleep 1000 &); sleep 1000";
    for beside in [false, true] {
        let turn = if beside {
            let turn = stage.start_turn(&thread, "Long").await;
            stage.model.wait_for_hold("gate").await;
            own(&stage, &thread, command).await;
            turn
        } else {
            own(&stage, &thread, command).await["turnId"]
                .as_str()
                .expect("an id")
                .to_owned()
        };
        stage.until_output("ready").await;
        let asked = Instant::now();
        stage.interrupt(&thread).await;
        let story = stage.finish(&turn).await;
        assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
        assert_eq!(story.status(), "interrupted");
        let item = story.item("commandExecution");
        assert_eq!(item["status"], "interrupted");
        // On a machine that has no time for it the turn is closed before the command has told the rest.
        assert!(matches!(output(item), "ready\n" | ""), "{item}");
        Stage::no_process_left(&thread).await;
    }
    // The model hears that its own turn was stopped, and of the other nothing.
    stage.complete(&thread, "Next").await;
    let request = stage.model.requests().pop().expect("a request");
    let noted = request
        .input_texts()
        .iter()
        .filter(|text| text.contains("<turn_aborted>"))
        .count();
    assert_eq!(noted, 1);
    never_told(&stage, "setsid");
}

/// Shows S-266.
#[tokio::test]
async fn the_turn_ends_when_both_are_done_and_takes_input_until_then() {
    let stage = Stage::new(json!([[say("first")], [say("second")], [say("third")]])).await;
    let thread = stage.thread().await;
    // Begun by a command: what the person says meanwhile is answered in the same turn.
    let answer = own(&stage, &thread, &until("go", "echo went")).await;
    let turn = answer["turnId"].as_str().expect("an id").to_owned();
    stage.until_event("item/started").await;
    let params = json!({"threadId": thread, "input": [{"type": "text", "text": "Meanwhile"}]});
    let started = stage.client.call("countersign/turn/start", params).await;
    assert_eq!(
        (&started["steered"], &started["turn"]["id"]),
        (&json!(true), &json!(turn))
    );
    let said = |text: &'static str| {
        move |name: &str, params: &Value| name == "item/completed" && params["item"]["text"] == text
    };
    stage.until(said("first")).await;
    assert_eq!(stage.read(&thread).await["status"], "active");
    stage.steer(&thread, &turn, "And more").await.expect("taken");
    stage.until(said("second")).await;
    stage.write("go", "");
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "completed");
    assert_eq!(output(story.item("commandExecution")), "went\n");
    assert_eq!(story.last()["lastAgentMessage"], "second");
    let requests = stage.requests(2);
    let texts = requests[1].input_texts();
    assert!(
        texts.iter().any(|text| text.contains("<environment_context>")),
        "{texts:#?}"
    );
    never_told(&stage, "went");
    // A turn that fails ends it.
    let stage = Stage::new(json!([[{"hold": "gate"}, {"fail": {"status": 400}}]])).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Fail").await;
    stage.model.wait_for_hold("gate").await;
    own(&stage, &thread, "echo ready; sleep 1000").await;
    stage.until_output("ready").await;
    stage.model.release("gate");
    let story = stage.finish(&turn).await;
    assert_eq!(
        (story.status(), &story.item("commandExecution")["status"]),
        ("failed", &json!("interrupted"))
    );
    Stage::no_process_left(&thread).await;
}

/// Shows S-163, S-268.
#[tokio::test]
async fn output_is_bounded_on_every_side() {
    let stage = Stage::new(json!([])).await;
    let thread = stage.thread().await;
    let story = own_turn(
        &stage,
        &thread,
        "head -c 10485760 /dev/zero | tr '\\0' x; echo; echo the end",
    )
    .await;
    let live: usize = story
        .all("item/commandExecution/outputDelta")
        .iter()
        .map(|params| params["delta"].as_str().expect("text").len())
        .sum();
    // So many pieces a second: how much that is depends on how long the command runs.
    assert!((16 << 10..300 << 10).contains(&live), "{live}");
    let item = story.item("commandExecution");
    assert!(output(item).len() < 80 << 10, "{}", output(item).len());
    assert!(output(item).ends_with("the end\n") && output(item).contains("cut out"));
    let kept: usize = stage.rollout(&thread).iter().map(|line| line.to_string().len()).sum();
    assert!(kept < 300 << 10, "{kept}");
    // It is live, and has an end.
    let answer = own(&stage, &thread, &format!("echo one; {}", until("go", "echo two"))).await;
    stage.until_output("one").await;
    stage.write("go", "");
    let story = stage.finish(answer["turnId"].as_str().expect("an id")).await;
    assert_eq!(output(story.item("commandExecution")), "one\ntwo\n");
    let params = json!({"threadId": thread, "command": "echo begun; sleep 1000", "timeoutMs": 4000});
    let answer = stage.client.call("countersign/thread/shellCommand", params).await;
    let story = stage.finish(answer["turnId"].as_str().expect("an id")).await;
    let item = story.item("commandExecution");
    assert_eq!(
        (&item["status"], &item["exitCode"], output(item)),
        (&json!("failed"), &json!(124), "begun\n")
    );
    assert!(item["reason"].as_str().expect("a reason").contains("4 seconds"));
    Stage::no_process_left(&thread).await;
}

fn secrets() -> Setting {
    Setting {
        provider: "env_key = \"ACME_WORD\"".into(),
        env: [
            ("ACME_WORD", "sesame"),
            ("ACME_TOKEN", "hidden"),
            ("ACME_PLAIN", "plain"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        tables: "[shell_environment_policy]\ninherit = \"all\"\nset = { ACME_SET = \"given\" }".into(),
        ..Setting::default()
    }
}

/// Shows S-175, S-267.
#[tokio::test]
async fn it_has_the_persons_rights_or_those_of_the_thread() {
    let outside = "touch ../outside 2>&1 && echo written; env";
    for sandboxed in [false, true] {
        let mut setting = secrets();
        if sandboxed {
            setting.tables.push_str("\n[user_commands]\nsandboxed = true");
        }
        let stage = Stage::with(json!([]), setting).await;
        let thread = stage.thread().await;
        let story = own_turn(&stage, &thread, outside).await;
        let item = story.item("commandExecution");
        let expected = if sandboxed { "workspace" } else { "outside" };
        assert_eq!(item["confined"], expected);
        assert_eq!(output(item).contains("written"), !sandboxed, "{item}");
        assert_eq!(stage.path("../outside").exists(), !sandboxed);
        // The environment is that of every command either way.
        assert!(
            output(item).contains("ACME_PLAIN=plain") && output(item).contains("ACME_SET=given"),
            "{item}"
        );
        assert!(
            !output(item).contains("sesame") && !output(item).contains("hidden"),
            "{item}"
        );
        assert!(output(item).contains(&format!("COUNTERSIGN_THREAD_ID={thread}")));
    }
}

/// Shows S-177.
#[tokio::test]
async fn sandbox_and_environment_hold_for_whatever_runs() {
    let look = "touch ../outside 2>&1 && echo written; env";
    let patch = "*** Begin Patch\n*** Add File: ../outside\n+x\n*** End Patch\n";
    let script = json!([
        [bash("c1", look)],
        [say("done")],
        [apply_patch("p1", patch)],
        [say("done")]
    ]);
    let mut setting = secrets();
    setting.config = "approval_policy = \"never\"".into();
    setting.tables.push_str("\n[user_commands]\nsandboxed = true");
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Run").await;
    let of_model = command_output(&stage.requests(2)[1], "c1").0;
    let story = own_turn(&stage, &thread, look).await;
    let of_person = output(story.item("commandExecution")).to_owned();
    let params = json!({"command": ["sh", "-c", look]});
    let answer = stage.client.call("countersign/command/exec", params).await;
    let of_client = answer["stdout"].as_str().expect("text").to_owned();
    for (who, text) in [("model", of_model), ("person", of_person), ("client", of_client)] {
        assert!(
            text.contains("ACME_PLAIN=plain") && text.contains("ACME_SET=given"),
            "{who}: {text}"
        );
        assert!(!text.contains("sesame") && !text.contains("hidden"), "{who}: {text}");
        assert!(
            !text.contains("written") && text.contains("COUNTERSIGN_SANDBOX=1"),
            "{who}: {text}"
        );
        assert!(text.contains("COUNTERSIGN_SANDBOX_NETWORK_DISABLED=1"), "{who}: {text}");
    }
    let story = stage.complete(&thread, "Patch").await;
    assert!(
        story
            .items("fileChange")
            .iter()
            .all(|item| item["status"] != "completed"),
        "{story:#?}"
    );
    assert!(!stage.path("../outside").exists());
}

/// Shows S-174, S-176, S-178.
#[tokio::test]
async fn the_environment_is_what_the_policy_says() {
    let all: &[(&str, &str)] = &[
        ("ACME_ONE", "1"),
        ("ACME_TWO", "2"),
        ("OTHER", "3"),
        ("MY_KEY", "4"),
        ("USER", "ada"),
    ];
    for (policy, there, absent) in [
        ("", vec!["PATH", "HOME", "USER"], vec!["ACME_ONE", "OTHER", "MY_KEY"]),
        (
            "inherit = \"all\"",
            vec!["PATH", "ACME_ONE", "ACME_TWO", "OTHER"],
            vec!["MY_KEY"],
        ),
        (
            "inherit = \"none\"",
            vec![],
            vec!["PATH", "HOME", "USER", "ACME_ONE", "OTHER", "MY_KEY"],
        ),
        (
            "inherit = \"none\"\nset = { A = \"b\" }",
            vec!["A"],
            vec!["PATH", "HOME"],
        ),
        (
            "inherit = \"all\"\nexclude = [\"acme_*\"]",
            vec!["OTHER"],
            vec!["ACME_ONE", "ACME_TWO", "MY_KEY"],
        ),
        (
            "inherit = \"all\"\nignore_default_excludes = true\ninclude_only = [\"*_KEY\", \"PATH\"]",
            vec!["MY_KEY", "PATH"],
            vec!["ACME_ONE", "OTHER", "HOME"],
        ),
        (
            "set = { OTHER = \"own\" }\nexclude = [\"OTHER\"]",
            vec!["OTHER"],
            vec!["MY_KEY"],
        ),
    ] {
        let setting = Setting {
            tables: format!("[shell_environment_policy]\n{policy}"),
            env: all
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Setting::default()
        };
        let stage = Stage::with(json!([]), setting).await;
        // By its full name: there may be no PATH to find it by.
        let answer = stage
            .client
            .call("countersign/command/exec", json!({"command": ["/usr/bin/env"]}))
            .await;
        assert_eq!(answer["exitCode"], 0, "{policy}: {answer}");
        let text = answer["stdout"].as_str().expect("text");
        let names: Vec<_> = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, _)| name)
            .collect();
        for name in there {
            assert!(names.contains(&name), "{policy}: no {name} in {names:?}");
        }
        for name in absent {
            assert!(!names.contains(&name), "{policy}: {name} in {names:?}");
        }
    }
}

#[tokio::test]
async fn commands_find_what_the_profile_sets_where_that_is_wanted() {
    for wanted in [false, true] {
        let setting = Setting {
            provider: "env_key = \"ACME_WORD\"".into(),
            env: [("ACME_WORD", "sesame")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            tables: format!("[shell_environment_policy]\nexperimental_use_profile = {wanted}"),
            ..Setting::default()
        };
        let script = json!([[bash("c1", "echo [$FROM_PROFILE$ACME_WORD] 'a b'")], [say("done")]]);
        let stage = Stage::with(script, setting).await;
        let profile = stage.client.home().parent().expect("a folder").join(".profile");
        std::fs::write(profile, "export FROM_PROFILE=found ACME_WORD=sesame\n").expect("a profile");
        let thread = stage.thread().await;
        stage.complete(&thread, "Run").await;
        let expected = if wanted { "[found] a b\n" } else { "[] a b\n" };
        assert_eq!(
            command_output(&stage.requests(2)[1], "c1"),
            (expected.to_owned(), Some(0))
        );
    }
}

/// Shows S-270.
#[tokio::test]
async fn the_person_can_send_the_output_along() {
    let stage = Stage::new(json!([[say("I see")], [say("again")]])).await;
    let thread = stage.thread().await;
    let answer = own(&stage, &thread, "echo told-later; exit 7").await;
    stage.finish(answer["turnId"].as_str().expect("an id")).await;
    let along = |id: &Value, text: &str| {
        json!({"threadId": thread, "input": [
            {"type": "text", "text": text},
            {"type": "commandOutput", "itemId": id},
        ]})
    };
    let unknown = along(&json!("nothing"), "Look");
    let error = stage
        .client
        .request("countersign/turn/start", unknown)
        .await
        .unwrap_err();
    assert_eq!((error.code, &error.data["kind"]), (-32803, &json!("commandNotFound")));
    let story = stage.run_with(along(&answer["itemId"], "Look at this")).await;
    assert_eq!(story.said(), ["I see"]);
    let message = story.item("userMessage");
    assert_eq!(
        message["content"][1],
        json!({"type": "commandOutput", "itemId": answer["itemId"]})
    );
    let texts = stage.requests(1)[0].input_texts();
    let told = texts
        .iter()
        .find(|text| text.contains("told-later"))
        .expect("the output");
    for part in ["<user_command>", "echo told-later; exit 7", "<exit_code>7</exit_code>"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert_eq!(texts.last().map(String::as_str), Some("Look at this"));
    // One that still runs has to end first.
    let running = own(&stage, &thread, &until("go", "echo x")).await;
    stage.until_event("item/started").await;
    let early = along(&running["itemId"], "Look");
    let error = stage.client.request("countersign/turn/start", early).await.unwrap_err();
    assert_eq!(error.data["kind"], "commandRunning");
    stage.write("go", "");
    stage.finish(running["turnId"].as_str().expect("an id")).await;
    // Alone.
    let alone = json!({"threadId": thread, "input": [{"type": "commandOutput", "itemId": answer["itemId"]}]});
    assert_eq!(stage.run_with(alone).await.said(), ["again"]);
    // And when the thread has come back in another server.
    let (home, folder) = (tempfile::tempdir().expect("a folder"), stage.dir.clone());
    let sessions = stage.client.home().join("sessions");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(&sessions)
        .arg(home.path())
        .status();
    assert!(copied.expect("cp").success());
    let _folder = stage.end();
    let setting = Setting {
        home: Some(home.path().to_owned()),
        folder: Some(folder),
        ..Setting::default()
    };
    let stage = Stage::with(json!([[say("still here")]]), setting).await;
    stage.resume(json!({"threadId": thread})).await;
    let story = stage.run_with(along(&answer["itemId"], "Look once more")).await;
    assert_eq!(story.said(), ["still here"]);
    let texts = stage.requests(1)[0].input_texts();
    let told = texts.iter().filter(|text| text.contains("told-later")).count();
    assert_eq!(told, 3, "{texts:#?}");
}

#[tokio::test]
async fn what_the_person_changes_meanwhile_is_not_the_agents_doing() {
    let script = json!([
        [bash(
            "c1",
            &format!("echo ready; {}", until("go", "echo a > agents.txt"))
        )],
        [say("done")],
    ]);
    let setting = Setting {
        files: vec![("old.txt".into(), "old\n".into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Work").await;
    stage.until_output("ready").await;
    let mine = own(&stage, &thread, "echo mine > mine.txt; echo more >> old.txt").await;
    stage
        .until(|name, params| name == "item/completed" && params["item"]["id"] == mine["itemId"])
        .await;
    stage.write("go", "");
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "completed");
    let diff = stage
        .client
        .call("countersign/turn/diff", json!({"threadId": thread, "turnId": turn}))
        .await;
    let diff = diff["diff"].as_str().expect("a diff");
    assert!(diff.contains("agents.txt"), "{diff}");
    assert!(!diff.contains("mine.txt") && !diff.contains("old.txt"), "{diff}");
    // So an undo leaves it.
    let undone = stage
        .client
        .call("countersign/turn/undo", json!({"threadId": thread}))
        .await;
    stage.client.ignore("countersign/file/changed");
    let story = stage.finish(undone["turnId"].as_str().expect("an id")).await;
    assert_eq!(story.status(), "completed", "{story:#?}");
    eventually("the agent's file is gone", || !stage.path("agents.txt").exists()).await;
    assert_eq!(
        (stage.text("mine.txt"), stage.text("old.txt")),
        ("mine\n".into(), "old\nmore\n".into())
    );
}
