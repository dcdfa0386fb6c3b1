//! Calls of tools: which there are, how they run, what the model is told.

use super::stage::{Setting, Stage, bash, command_output, say, shell};
use crate::support::client::Reply;
use serde_json::{Value, json};

/// Shows S-074, S-152, S-185, S-190, S-191.
#[tokio::test]
async fn calls_that_make_no_sense_are_explained_and_the_turn_goes_on() {
    let call =
        |tool: &str, arguments: Value, id: &str| json!({"call": {"tool": tool, "arguments": arguments, "id": id}});
    let calls = [
        (call("frobnicate", json!({}), "c0"), "frobnicate"),
        (call("shell", json!("{\"command\": [\"ls\""), "c1"), "shell"),
        (call("shell", json!("not JSON at all"), "c2"), "shell"),
        (call("shell", json!({"command": 5}), "c3"), "shell"),
        (call("shell", json!({"command": []}), "c4"), "empty"),
        (call("shell", json!({"command": [""]}), "c5"), "empty"),
        (
            call("shell", json!({"command": ["true"], "workdir": "no/such"}), "c6"),
            "no/such",
        ),
        (
            call("shell", json!({"command": ["true"], "workdir": "a.txt"}), "c7"),
            "not a folder",
        ),
        (call("shell", json!({"command": ["tr\u{0}ue"]}), "c8"), ""),
        (call("read_file", json!({}), "c9"), "file_path"),
        (
            call("read_file", json!({"file_path": "no/such.txt"}), "c10"),
            "no/such.txt",
        ),
        (
            call("read_file", json!({"file_path": "a.txt", "offset": 0}), "c11"),
            "from 1",
        ),
        (call("read_file", json!({"file_path": "."}), "c12"), ""),
        (call("list_dir", json!({"dir_path": "a.txt"}), "c13"), "read_file"),
        (call("grep_files", json!({"pattern": "("}), "c14"), "regular expression"),
        (
            call("grep_files", json!({"pattern": "x", "path": "nowhere"}), "c15"),
            "nowhere",
        ),
        (
            call("grep_files", json!({"pattern": "one", "limit": u64::MAX}), "c16"),
            "a.txt:1: one",
        ),
        (
            call("list_dir", json!({"depth": u64::MAX, "limit": u64::MAX}), "c17"),
            "a.txt",
        ),
        (
            call("read_file", json!({"file_path": "a.txt", "offset": u64::MAX}), "c18"),
            "beyond the end",
        ),
        (
            call("read_file", json!({"file_path": "a.txt", "limit": u64::MAX}), "c19"),
            "L1: one",
        ),
        (call("update_plan", json!({"plan": "go"}), "c20"), "plan"),
        (call("apply_patch", json!({"input": ""}), "c21"), "Begin Patch"),
        (call("apply_patch", json!({}), "c22"), "input"),
        (call("", json!({}), "c23"), "no tool"),
    ];
    let outputs: Vec<&Value> = calls.iter().map(|(call, _)| call).collect();
    let setting = Setting {
        files: vec![("a.txt".into(), "one\ntwo\n".into())],
        ..Setting::default()
    };
    let stage = Stage::with(json!([outputs, [say("I see.")]]), setting).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let request = &stage.requests(2)[1];
    for (number, (call, part)) in calls.iter().enumerate() {
        let output = request.output(&format!("c{number}")).expect("an output");
        assert!(output.len() > 5 && output.contains(part), "{call}: {output}");
    }
    // Nothing ran.
    let ran = story.items("commandExecution");
    assert!(ran.iter().all(|item| item["status"] == "failed"), "{ran:#?}");
    let log = std::fs::read_to_string(stage.client.home().join("log/countersign.log")).expect("a log");
    for tool in ["frobnicate", "grep_files", "shell"] {
        let lines = log
            .lines()
            .filter(|line| line.contains("tool call") && line.contains(tool))
            .count();
        assert!(lines >= 1, "{tool}: {log}");
    }
}

/// Shows S-063, S-188, S-189.
#[tokio::test]
async fn a_tool_called_in_a_form_it_does_not_have_ends_the_turn() {
    let script = json!([
        [{"custom_call": {"tool": "shell", "input": "ls", "id": "c1"}}, shell("c2", &["true"])],
        [say("ok")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Go").await;
    assert_eq!(story.status(), "failed");
    let message = story.one("error")["error"]["message"].as_str().unwrap();
    assert!(message.contains("shell") && message.contains("payload"), "{message}");
    stage.requests(1);
    // The conversation goes on, with an output for each call.
    stage.complete(&thread, "Again").await;
    assert_eq!(stage.requests(2)[1].outputs().len(), 2);
}

/// Shows S-073, S-151, S-185.
#[tokio::test]
async fn call_ids_are_made_good_where_the_model_repeats_or_forgets_them() {
    let function = |call_id: &str, text: &str| json!({"item": {"type": "function_call", "id": "", "call_id": call_id, "name": "shell", "arguments": json!({"command": ["echo", text]}).to_string()}});
    let local = |ids: Value, text: &str| {
        let mut item = json!({"type": "local_shell_call", "status": "completed", "action": {"type": "exec", "command": ["echo", text], "env": {}}});
        item.as_object_mut().unwrap().extend(ids.as_object().unwrap().clone());
        json!({ "item": item })
    };
    let script = json!([
        [
            function("same", "one"),
            function("same", "two"),
            function("", "three"),
            function("", "four")
        ],
        [
            function("same", "five"),
            local(json!({"call_id": "local_1", "id": "ls_1"}), "six"),
            local(json!({"id": "ls_2"}), "seven"),
            local(json!({}), "eight")
        ],
        [say("done")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let words = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    let items = story.items("commandExecution");
    let outputs: Vec<_> = items
        .iter()
        .map(|item| item["aggregatedOutput"].as_str().unwrap().trim())
        .collect();
    assert_eq!(outputs, words);
    let ids: std::collections::BTreeSet<_> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), words.len());
    let request = &stage.requests(3)[2];
    let outputs = request.outputs();
    assert_eq!(outputs.len(), words.len());
    for ((id, output), word) in outputs.iter().zip(words) {
        assert!(!id.is_empty() && output.contains(word), "{id}: {output}");
    }
    for id in ["same", "local_1", "ls_2"] {
        assert!(request.output(id).is_some(), "{id}");
    }
}

/// Shows S-027, S-153, S-155, S-156, S-157, S-160, S-162.
#[tokio::test]
async fn a_command_and_what_is_said_of_it() {
    let with = |id: &str, argv: Value, more: Value| {
        let mut arguments = json!({ "command": argv });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"call": {"tool": "shell", "arguments": arguments, "id": id}})
    };
    let stage_dir_script = |absolute: &str| {
        json!([
            [
                bash("both", "echo out; echo err >&2; exit 3"),
                bash("slow", "sleep 0.26; printf x"),
                with("here", json!(["pwd"]), json!({})),
                with("sub", json!(["pwd"]), json!({"workdir": "sub"})),
                with("absolute", json!(["pwd"]), json!({ "workdir": absolute })),
                with("script", json!("echo $((6 * 7)) | cat"), json!({})),
                json!({"call": {"tool": "container.exec", "arguments": {"command": ["echo", "old name"]}, "id": "old"}}),
            ],
            [say("done")],
        ])
    };
    let other = tempfile::tempdir().expect("a folder");
    let other_path = other.path().canonicalize().expect("a path");
    let setting = Setting {
        files: vec![("sub/x".into(), String::new())],
        ..Setting::default()
    };
    let stage = Stage::with(stage_dir_script(other_path.to_str().unwrap()), setting).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let request = &stage.requests(2)[1];
    let told = |id: &str| command_output(request, id);
    let (text, code) = told("both");
    // Two pipes: which of two lines at the same moment comes first is nobody's promise.
    assert!(
        text.contains("out\n") && text.contains("err\n") && code == Some(3),
        "{text}"
    );
    assert_eq!(told("slow"), ("x".to_owned(), Some(0)));
    assert_eq!(told("here").0.trim(), stage.dir.to_str().unwrap());
    assert_eq!(told("sub").0.trim(), stage.path("sub").to_str().unwrap());
    assert_eq!(told("absolute").0.trim(), other_path.to_str().unwrap());
    assert_eq!(told("script").0, "42\n");
    assert_eq!(told("old").0, "old name\n");
    let slow: Value = serde_json::from_str(&request.output("slow").unwrap()).unwrap();
    let seconds = slow["metadata"]["duration_seconds"].as_f64().unwrap();
    assert!(seconds >= 0.2 && (seconds * 10.0).fract() < 1e-9, "{seconds}");
    // One pair of events each, in order, and the item tells the rest.
    let items = story.items("commandExecution");
    assert_eq!(items.len(), 7);
    let both = items[0];
    assert_eq!(
        (&both["id"], &both["status"], &both["exitCode"]),
        (&json!("both"), &json!("failed"), &json!(3))
    );
    assert_eq!(both["aggregatedOutput"], json!(text));
    assert_eq!(both["cwd"], json!(stage.dir));
    assert_eq!(both["confined"], "workspace");
    assert_eq!(items[1]["status"], "completed");
    assert!(items[1]["durationMs"].as_u64() >= Some(260));
    for id in ["both", "slow"] {
        let start = story.at(|name, params| name == "item/started" && params["item"]["id"] == id);
        let output = story.at(|name, params| name == "item/commandExecution/outputDelta" && params["itemId"] == id);
        let end = story.at(|name, params| name == "item/completed" && params["item"]["id"] == id);
        assert!(start < output && output < end);
        assert_eq!(story.events[start].1["item"]["status"], "inProgress");
    }
}

/// Shows S-158, S-159, S-163.
#[tokio::test]
async fn time_outs_and_programs_that_are_not_there() {
    let script = json!([
        [
            {"call": {"tool": "shell", "arguments": {"command": ["bash", "-c", "echo begun; sleep 1000"], "timeout_ms": 4000}, "id": "late"}},
            shell("missing", &["no-such-program-anywhere"]),
            bash("denied", "./not-executable"),
        ],
        [say("done")],
    ]);
    let setting = Setting {
        files: vec![("not-executable".into(), "#!/bin/sh\n".into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    // Shown while it runs.
    stage.until_output("begun").await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "completed");
    let request = &stage.requests(2)[1];
    let (late, code) = command_output(request, "late");
    assert!(
        late.starts_with("command timed out after 4000 milliseconds\nbegun"),
        "{late}"
    );
    assert_ne!(code, Some(0));
    let missing = request.output("missing").unwrap();
    assert!(
        missing.contains("no-such-program-anywhere") && !missing.starts_with('{'),
        "{missing}"
    );
    assert!(command_output(request, "denied").1 != Some(0));
    let statuses: Vec<_> = story
        .items("commandExecution")
        .iter()
        .map(|item| item["status"].clone())
        .collect();
    assert_eq!(statuses, ["failed", "failed", "failed"]);
    Stage::no_process_left(&thread).await;
}

/// Shows S-154.
#[tokio::test]
async fn output_is_bounded_on_every_side() {
    let script = json!([[bash("big", "echo first; seq 100000; echo last")], [say("done")],]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let (told, _) = command_output(&stage.requests(2)[1], "big");
    let shown = story.item("commandExecution")["aggregatedOutput"].as_str().unwrap();
    for (text, most) in [(&told[..], 41_000), (shown, 66_000)] {
        assert!(text.len() < most, "{}", text.len());
        assert!(text.starts_with("first\n1\n") && text.ends_with("100000\nlast\n"));
        assert!(text.contains("cut out"));
    }
}

/// All of a long output can be opened: of the agent's commands, in a terminal or not, and of the person's own. It goes with its
/// conversation.
#[tokio::test]
async fn the_whole_of_a_long_output_is_kept_for_the_person() {
    let script = json!([
        [bash("big", "echo first; seq 100000; echo last")],
        [{"call": {"tool": "exec_command", "id": "run", "arguments": {"cmd": "seq 100000; echo over", "yield_time_ms": 20000}}}],
        [bash("small", "echo small")],
        [say("done")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let params = json!({"threadId": thread, "command": "seq 100000; echo mine"});
    let answer = stage.client.call("countersign/thread/shellCommand", params).await;
    let own = stage.finish(answer["turnId"].as_str().expect("an id")).await;
    let counted: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    let items = story.items("commandExecution");
    for (item, whole) in [
        (&items[0], format!("first\n{counted}last\n")),
        (&items[1], format!("{counted}over\n")),
        (&own.item("commandExecution"), format!("{counted}mine\n")),
    ] {
        assert!(
            item["aggregatedOutput"].as_str().expect("a text").contains("cut out"),
            "{item}"
        );
        let path = item["fullOutput"].as_str().expect("a file");
        assert_eq!(std::fs::read_to_string(path).expect("all of it"), whole, "{path}");
    }
    assert!(items[2].get("fullOutput").is_none(), "{}", items[2]);
    stage
        .client
        .call("countersign/thread/delete", json!({"threadId": thread}))
        .await;
    stage.until_event("thread/deleted").await;
    let left = items[0]["fullOutput"].as_str().expect("a file");
    assert!(
        !std::path::Path::new(left).parent().expect("a folder").exists(),
        "{left}"
    );
}

/// Shows S-175, S-177.
#[tokio::test]
async fn the_providers_key_reaches_no_command() {
    let script = json!([[shell("env", &["env"])], [say("done")]]);
    let setting = Setting {
        provider: "env_key = \"ACME_WORD\"\nenv_http_headers = { \"X-Acme\" = \"ACME_HEADER\" }".into(),
        tables: "[shell_environment_policy]\ninherit = \"all\"\nignore_default_excludes = true".into(),
        env: [
            ("ACME_WORD", "sesame"),
            ("ACME_HEADER", "open"),
            ("ACME_TOKEN", "kept"),
            ("ACME_PLAIN", "plain"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let requests = stage.requests(2);
    assert_eq!(requests[0].headers["authorization"], "Bearer sesame");
    assert_eq!(requests[0].headers["x-acme"], "open");
    let (env, _) = command_output(&requests[1], "env");
    assert!(
        env.contains("ACME_PLAIN=plain") && env.contains("ACME_TOKEN=kept"),
        "{env}"
    );
    assert!(!env.contains("sesame") && !env.contains("open\n"), "{env}");
    assert!(env.contains(&format!("COUNTERSIGN_THREAD_ID={thread}")));
}

#[tokio::test]
async fn a_command_is_told_which_files_it_sees_otherwise_than_the_person() {
    let script = json!([
        [shell("cat", &["cat", "a.txt"])],
        [shell("again", &["cat", "a.txt"])],
        [say("done")]
    ]);
    let setting = Setting {
        files: vec![("a.txt".into(), "on disk\n".into()), ("b.txt".into(), "same\n".into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.open("a.txt", "in the editor\n");
    stage.open("b.txt", "same\n");
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let (output, _) = command_output(&stage.requests(3)[1], "cat");
    let (note, text) = output.split_once('\n').unwrap();
    assert!(note.contains("a.txt") && !note.contains("b.txt"), "{note}");
    assert_eq!(text, "on disk\n");
}

/// Shows S-195.
#[tokio::test]
async fn reading_tools_see_what_the_person_sees() {
    let call =
        |tool: &str, arguments: Value, id: &str| json!({"call": {"tool": tool, "arguments": arguments, "id": id}});
    let script = json!([
        [
            call("read_file", json!({"file_path": "a.txt"}), "read"),
            call("read_file", json!({"file_path": "unsaved.txt"}), "new"),
            call(
                "read_file",
                json!({"file_path": "long.txt", "offset": 3, "limit": 2}),
                "part"
            ),
            call("list_dir", json!({}), "list"),
            call("grep_files", json!({"pattern": "needle"}), "grep"),
        ],
        [say("done")],
    ]);
    let long: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let files = [
        (".gitignore", "ignored/\n"),
        ("a.txt", "needle on disk\n"),
        ("b.txt", "a needle here\n"),
        ("ignored/c.txt", "a needle nobody finds\n"),
        ("long.txt", &long),
    ];
    let setting = Setting {
        files: files.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.open("a.txt", "typed just now\nneedle, typed\n");
    stage.open("unsaved.txt", "not on the disk yet");
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let request = &stage.requests(2)[1];
    let output = |id: &str| request.output(id).unwrap();
    assert_eq!(output("read"), "L1: typed just now\nL2: needle, typed");
    assert_eq!(output("new"), "L1: not on the disk yet");
    assert_eq!(
        output("part"),
        "L3: line 3\nL4: line 4\n(5 more lines; continue with offset 5)"
    );
    assert!(!output("list").contains("ignored/"), "{}", output("list"));
    assert_eq!(output("grep"), "a.txt:2: needle, typed\nb.txt:1: a needle here");
    let items = story.items("toolCall");
    assert_eq!(items.len(), 5);
    for item in items {
        assert_eq!(item["status"], "completed");
        assert!(!item["title"].as_str().unwrap().is_empty());
        assert_eq!(item["output"], json!(output(item["id"].as_str().unwrap())));
    }
}

#[tokio::test]
async fn the_plan_is_shown_and_replaced() {
    let plan = |id: &str, status: &str| {
        let plan = json!([{"step": "Look", "status": "completed"}, {"step": "Mend", "status": status}]);
        json!({"call": {"tool": "update_plan", "arguments": {"explanation": "so far", "plan": plan}, "id": id}})
    };
    let script = json!([[plan("p1", "in_progress")], [plan("p2", "completed")], [say("done")]]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Plan").await;
    let updates = story.all("turn/planUpdated");
    assert_eq!(updates.len(), 2);
    assert_eq!(updates[0]["explanation"], "so far");
    assert_eq!(updates[0]["steps"][1], json!({"step": "Mend", "status": "inProgress"}));
    assert_eq!(updates[1]["steps"][1], json!({"step": "Mend", "status": "completed"}));
    assert_eq!(story.items("plan").len(), 2);
    let read = stage.read(&thread).await;
    assert_eq!(read["turns"][0]["items"].as_array().map(Vec::len), Some(4));
}

/// Shows S-058.
#[tokio::test]
async fn reading_waits_for_the_change_before_it_and_outputs_keep_their_order() {
    let read = |id: &str| json!({"call": {"tool": "read_file", "arguments": {"file_path": "a.txt"}, "id": id}});
    let script = json!([
        [
            read("r1"),
            bash("w1", "sleep 0.1; echo two > a.txt"),
            read("r2"),
            bash("w2", "echo three > a.txt"),
            read("r3"),
            read("r4")
        ],
        [say("done")],
    ]);
    let setting = Setting {
        files: vec![("a.txt".into(), "one\n".into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let outputs = stage.requests(2)[1].outputs();
    let ids: Vec<&str> = outputs.iter().map(|(id, _)| &id[..]).collect();
    assert_eq!(ids, ["r1", "w1", "r2", "w2", "r3", "r4"]);
    let read: Vec<&str> = [0, 2, 4, 5].iter().map(|at| &outputs[*at].1[..]).collect();
    assert_eq!(read, ["L1: one", "L1: two", "L1: three", "L1: three"]);
}

/// Shows S-209.
#[tokio::test]
async fn chat_completions_get_the_same_conversation() {
    let script = json!([
        [say("I look."), bash("c1", "echo one"), bash("c2", "echo two"), say("Wait.")],
        [bash("c3", "exit 1"), say("Hm, not"), {"custom_call": {"tool": "apply_patch", "input": "rubbish", "id": "c4"}}],
        [say("done")],
    ]);
    let setting = Setting {
        provider: "wire_api = \"chat\"".into(),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.items("commandExecution").len(), 3);
    let requests = stage.requests(3);
    assert!(requests.iter().all(countersign::rehearsal::Recorded::is_chat));
    assert_eq!(requests[2].outputs().len(), 4);
    assert!(requests[2].output("c2").unwrap().contains("two"));
}

/// Shows S-201.
#[tokio::test]
async fn a_patch_as_a_free_form_call_has_an_output_of_its_own_kind() {
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch";
    let script = json!([[{"custom_call": {"tool": "apply_patch", "input": patch, "id": "c1"}}], [say("done")]]);
    let stage = Stage::configured("approval_policy = \"never\"", script).await;
    stage.answers(Reply::Error(-32603, "nobody should be asked"));
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    assert_eq!(stage.text("new.txt"), "hello\n");
    let request = &stage.requests(2)[1];
    let output = request
        .input()
        .iter()
        .find(|item| item["type"] == "custom_tool_call_output")
        .expect("of its kind");
    assert_eq!(output["call_id"], "c1");
    assert!(output["output"].as_str().unwrap().contains("new.txt"), "{output}");
}
