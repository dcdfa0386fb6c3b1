//! Commands that outlive their call: started and typed into by the model, seen and ended by the person, decided on,
//! shown, taken back and brought to an end like any other.

use super::stage::{Setting, Stage, Story, eventually, say};
use crate::support::client::Reply;
use countersign::rehearsal::Recorded;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn exec(id: &str, arguments: Value) -> Value {
    json!({"call": {"tool": "exec_command", "arguments": arguments, "id": id}})
}

/// A call of `write_stdin` for the terminal that call `from` began.
fn write(id: &str, from: &str, more: Value) -> Value {
    let mut arguments = json!({"session_id": format!("{{{{output:{from}:session ID (\\d+)}}}}")});
    let fields = arguments.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    json!({"call": {"tool": "write_stdin", "arguments": arguments, "id": id}})
}

/// Nobody is asked, and the shell is a plain one.
fn setting() -> Setting {
    Setting {
        config: "approval_policy = \"never\"".to_owned(),
        env: vec![("SHELL".to_owned(), "/bin/bash".to_owned())],
        ..Setting::default()
    }
}

/// An answer about a terminal: its facts and its output.
fn parts(request: &Recorded, id: &str) -> (Vec<String>, String) {
    let text = request.output(id).unwrap_or_else(|| panic!("no output of {id}"));
    let (facts, output) = text
        .split_once("Output:\n")
        .unwrap_or_else(|| panic!("no output in {text}"));
    (facts.lines().map(str::to_owned).collect(), output.to_owned())
}

fn number(request: &Recorded, id: &str) -> u64 {
    let (facts, _) = parts(request, id);
    let running = facts
        .iter()
        .find_map(|fact| fact.strip_prefix("Process running with session ID "));
    running
        .unwrap_or_else(|| panic!("{facts:?}"))
        .parse()
        .expect("a number")
}

async fn call(stage: &Stage, method: &str, params: Value) -> Value {
    stage
        .client
        .call(&format!("countersign/terminal/{method}"), params)
        .await
}

/// What ends with its thread, after the test's own story.
fn leave(stage: &Stage) {
    stage.client.ignore("countersign/terminal/exited");
}

/// The server ends in order.
async fn shut_down(stage: &mut Stage) {
    leave(stage);
    stage.client.call("shutdown", Value::Null).await;
    stage.client.notify("exit", Value::Null);
    assert_eq!(stage.client.expect_end().await, 0);
}

/// Shows S-196, S-198.
#[tokio::test]
async fn a_shell_keeps_its_variables_between_calls_until_it_ends() {
    let start = json!({"cmd": "PS1='> ' bash --norc -i", "tty": true, "yield_time_ms": 2000});
    let script = json!([
        [exec("c1", start.clone()), exec("c2", start)],
        [
            write("c3", "c1", json!({"chars": "X=one\n", "yield_time_ms": 500})),
            write("c4", "c2", json!({"chars": "X=two\n", "yield_time_ms": 500})),
        ],
        [
            write("c5", "c1", json!({"chars": "echo is-$X\n", "yield_time_ms": 3000})),
            write("c6", "c2", json!({"chars": "echo is-$X; tty\n", "yield_time_ms": 3000})),
        ],
        [write("c7", "c1", json!({"chars": "exit 3\n", "yield_time_ms": 20_000}))],
        [write("c8", "c1", json!({"chars": "echo\n"}))],
        [say("Done.")],
    ]);
    let mut stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let requests = stage.requests(6);
    let (facts, _) = parts(&requests[1], "c1");
    assert!(
        facts[0].starts_with("Chunk ID: ") && facts[1].starts_with("Wall time: "),
        "{facts:?}"
    );
    assert!(facts[3].starts_with("Original token count: "), "{facts:?}");
    let (one, two) = (number(&requests[1], "c1"), number(&requests[1], "c2"));
    assert!(one != two && [one, two].iter().all(|number| (1000..100_000).contains(number)));
    assert!(
        parts(&requests[3], "c5").1.contains("\nis-one\n"),
        "{:?}",
        parts(&requests[3], "c5")
    );
    let other = parts(&requests[3], "c6").1;
    assert!(other.contains("\nis-two\n") && other.contains("/dev/pts/"), "{other}");
    assert!(
        !other.contains('\u{1b}') && !other.contains('\r'),
        "plain text: {other:?}"
    );
    // The first call after its end tells it, the next knows it no more.
    let (facts, _) = parts(&requests[4], "c7");
    assert!(facts.contains(&"Process exited with code 3".to_owned()), "{facts:?}");
    let unknown = requests[5].output("c8").expect("an output");
    assert!(
        unknown.contains("no process with session ID") && unknown.contains(&one.to_string()),
        "{unknown}"
    );

    let items = story.items("commandExecution");
    assert_eq!(items.len(), 2);
    for (item, number) in items.iter().zip([one, two]) {
        assert_eq!(
            (&item["status"], &item["terminalId"]),
            (&json!("background"), &json!(number))
        );
        assert_eq!(item.get("exitCode"), None);
    }
    assert_eq!(story.count("terminal/started"), 2);
    let exited = story.one("terminal/exited");
    assert_eq!((&exited["terminalId"], &exited["exitCode"]), (&json!(one), &json!(3)));
    let shown: String = story
        .all("terminal/output")
        .iter()
        .filter(|output| output["terminalId"] == one)
        .filter_map(|output| output["delta"].as_str())
        .collect();
    assert!(shown.contains("is-one"), "{shown}");
    let titles: Vec<_> = story
        .items("toolCall")
        .iter()
        .map(|item| item["title"].clone())
        .collect();
    assert_eq!(titles[0], format!("Type into terminal {one}: X=one"));
    // The other one lives on until the thread ends.
    let list = call(&stage, "list", json!({"threadId": thread})).await;
    assert_eq!(list["data"].as_array().map(Vec::len), Some(1), "{list}");
    assert!(!Stage::processes(&thread).is_empty());
    shut_down(&mut stage).await;
    Stage::no_process_left(&thread).await;
}

#[tokio::test]
async fn a_command_that_ends_in_time_is_like_any_other() {
    let cmd = "echo out; echo err >&2; cat; pwd; test -t 1 || echo pipe; printenv TERM PAGER NO_COLOR LANG; exit 4";
    let setting = Setting {
        env: vec![
            ("LANG".to_owned(), "C".to_owned()),
            ("SHELL".to_owned(), "/bin/bash".to_owned()),
        ],
        files: vec![("sub/x".to_owned(), String::new())],
        ..Setting::default()
    };
    let script = json!([
        [
            exec("c1", json!({"cmd": cmd, "workdir": "sub"})),
            exec(
                "c2",
                json!({"cmd": "printenv TERM; tty; stty size", "tty": true, "login": false})
            ),
            exec("c3", json!({"cmd": "nonesuch-program"})),
        ],
        [say("Done.")]
    ]);
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let begun = Instant::now();
    let story = stage.complete(&thread, "Go").await;
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "it does not wait for the time to be over"
    );
    let request = &stage.requests(2)[1];
    let (facts, output) = parts(request, "c1");
    assert!(facts.contains(&"Process exited with code 4".to_owned()), "{facts:?}");
    let sub = stage.path("sub").display().to_string();
    for line in ["out", "err", &sub, "pipe", "dumb", "cat", "1", "C"] {
        assert!(output.lines().any(|seen| seen == line), "{line}: {output}");
    }
    let (facts, output) = parts(request, "c2");
    assert!(facts.contains(&"Process exited with code 0".to_owned()), "{facts:?}");
    assert!(
        output.starts_with("xterm-256color\n/dev/pts/") && output.ends_with("\n24 80\n"),
        "{output}"
    );
    assert!(
        parts(request, "c3")
            .0
            .contains(&"Process exited with code 127".to_owned())
    );

    let items = story.items("commandExecution");
    assert_eq!(items.len(), 3);
    assert_eq!(
        (&items[0]["status"], &items[0]["exitCode"]),
        (&json!("failed"), &json!(4))
    );
    assert_eq!(
        (&items[1]["status"], &items[1]["exitCode"]),
        (&json!("completed"), &json!(0))
    );
    assert!(items.iter().all(|item| item.get("terminalId").is_none()));
    assert!(
        !story.names().iter().any(|name| name.starts_with("terminal/")),
        "{:?}",
        story.names()
    );
}

#[tokio::test]
async fn calls_that_make_no_sense_are_explained() {
    let calls = [
        (exec("c0", json!({})), "cmd"),
        (exec("c1", json!({"cmd": ""})), "empty"),
        (exec("c2", json!({"cmd": "ls", "shell": "python3"})), "no shell"),
        (exec("c3", json!({"cmd": "ls", "workdir": "nowhere"})), "nowhere"),
        (
            exec("c4", json!({"cmd": "ls", "sandbox_permissions": "all"})),
            "require_escalated",
        ),
        (
            json!({"call": {"tool": "write_stdin", "arguments": {"session_id": 1}, "id": "c5"}}),
            "session ID 1",
        ),
        (
            json!({"call": {"tool": "write_stdin", "arguments": {"session_id": "x"}, "id": "c6"}}),
            "whole number",
        ),
        (
            json!({"call": {"tool": "write_stdin", "arguments": {"chars": "x"}, "id": "c7"}}),
            "session_id",
        ),
    ];
    let script = json!([calls.iter().map(|(call, _)| call).collect::<Vec<_>>(), [say("I see.")]]);
    let stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let request = &stage.requests(2)[1];
    for (index, (_, part)) in calls.iter().enumerate() {
        let output = request.output(&format!("c{index}")).expect("an output");
        assert!(output.contains(part), "c{index}: {output}");
    }
}

/// Shows S-197.
#[tokio::test]
async fn long_output_has_its_middle_cut_and_the_older_form_waits_a_minute_at_most() {
    let flood = "seq 1 200000";
    let older =
        |id: &str, arguments: Value| json!({"call": {"tool": "unified_exec", "arguments": arguments, "id": id}});
    let script = json!([
        [
            exec("c1", json!({"cmd": flood, "max_output_tokens": 100})),
            exec("c2", json!({"cmd": flood, "max_output_tokens": 100_000_000})),
            older("c3", json!({"arguments": ["sh", "-c", flood], "timeout_ms": 20_000})),
        ],
        [say("Done.")],
    ]);
    let stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let request = &stage.requests(2)[1];
    for (id, most) in [("c1", 400), ("c2", 128 * 1024), ("c3", 128 * 1024)] {
        let (facts, output) = parts(request, id);
        assert!(
            output.len() <= most + 100 && output.len() > most - 100,
            "{id}: {}",
            output.len()
        );
        assert!(
            output.starts_with("1\n2\n") && output.ends_with("199999\n200000\n"),
            "{id}"
        );
        assert!(
            output
                .lines()
                .all(|line| line.parse::<u32>().is_ok() || line.contains("cut out")),
            "{id}"
        );
        assert!(facts.iter().any(|fact| fact.starts_with("Note: ")), "{facts:?}");
        let count = facts
            .iter()
            .find_map(|fact| fact.strip_prefix("Original token count: "));
        let count: u64 = count.expect("a count").parse().expect("a number");
        assert!(count > 1_200_000 / 4, "{count}");
    }
}

/// Shows S-196.
#[tokio::test]
async fn the_older_form_of_one_tool_works() {
    let older =
        |id: &str, arguments: Value| json!({"call": {"tool": "unified_exec", "arguments": arguments, "id": id}});
    let session = "{{output:c1:session ID (\\d+)}}";
    let script = json!([
        [older(
            "c1",
            json!({"arguments": ["bash", "--norc", "-i"], "timeout_ms": 2000})
        )],
        [older(
            "c2",
            json!({"session_id": session, "arguments": ["X=", "kept\n"], "timeout_ms": 500})
        )],
        [older(
            "c3",
            json!({"session_id": session, "arguments": ["echo so-$X\n"], "timeout_ms": 3000})
        )],
        [say("Done.")],
    ]);
    let stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let (_, output) = parts(&stage.requests(4)[3], "c3");
    leave(&stage);
    assert!(output.contains("so-kept\n"), "{output}");
}

/// Shows S-198.
#[tokio::test]
async fn the_person_sees_types_into_resizes_and_ends_what_runs_on() {
    let cmd = "trap 'stty size' WINCH; echo ready; while read -t 1000 line; do echo \"<$line>\"; done";
    let script = json!([
        [
            exec("c1", json!({"cmd": cmd, "tty": true, "yield_time_ms": 1000})),
            exec("c2", json!({"cmd": "sleep 1000", "yield_time_ms": 250}))
        ],
        [say("They run.")],
        [say("I see.")],
    ]);
    let stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let started = story.all("terminal/started");
    let [one, two] = [&started[0]["terminal"], &started[1]["terminal"]];
    assert_eq!(one["size"], json!({"rows": 24, "columns": 80}));
    assert_eq!(two.get("size"), None);
    let number = &one["terminalId"];
    let list = call(&stage, "list", json!({})).await;
    assert_eq!(list["data"], json!([one, two]));
    let elsewhere = call(
        &stage,
        "list",
        json!({"threadId": "0199a213-81c0-7800-8aa1-bbab2a035a53"}),
    )
    .await;
    assert_eq!(elsewhere["data"], json!([]));

    let output = |text: &'static str| {
        move |method: &str, params: &Value| {
            method == "terminal/output" && params["delta"].as_str().is_some_and(|delta| delta.contains(text))
        }
    };
    call(&stage, "write", json!({"terminalId": number, "text": "by hand\r"})).await;
    stage.until(output("<by hand>")).await;
    call(
        &stage,
        "resize",
        json!({"terminalId": number, "size": {"rows": 40, "columns": 120}}),
    )
    .await;
    call(&stage, "write", json!({"terminalId": number, "text": "\r"})).await;
    stage.until(output("40 120")).await;
    let read = call(&stage, "read", json!({"terminalId": number})).await;
    assert!(
        read["output"]
            .as_str()
            .is_some_and(|text| text.contains("ready\r\n") && text.contains("<by hand>"))
    );
    assert_eq!(read["terminal"]["size"], json!({"rows": 40, "columns": 120}));
    assert_eq!(
        read["outputBytes"].as_u64(),
        read["output"].as_str().map(|text| text.len() as u64)
    );

    let refused = |method: &'static str, params: Value| {
        let stage = &stage;
        async move {
            let method = format!("countersign/terminal/{method}");
            stage.client.request(&method, params).await.unwrap_err()
        }
    };
    for (method, params, kind) in [
        (
            "write",
            json!({"terminalId": two["terminalId"], "text": "x"}),
            "terminalRefused",
        ),
        (
            "resize",
            json!({"terminalId": two["terminalId"], "size": {"rows": 1, "columns": 1}}),
            "terminalRefused",
        ),
        (
            "resize",
            json!({"terminalId": number, "size": {"rows": 0, "columns": 80}}),
            "invalidParams",
        ),
        ("read", json!({"terminalId": 1}), "terminalNotFound"),
        ("kill", json!({"terminalId": 1}), "terminalNotFound"),
        (
            "kill",
            json!({"terminalId": number, "threadId": "0199a213-81c0-7800-8aa1-bbab2a035a53"}),
            "terminalNotFound",
        ),
        ("write", json!({"terminalId": "x"}), "invalidParams"),
    ] {
        let error = refused(method, params.clone()).await;
        assert_eq!(error.data["kind"], kind, "{method} {params}: {error:?}");
    }

    let begun = Instant::now();
    let killed = call(&stage, "kill", json!({"threadId": thread})).await;
    assert_eq!(killed["killed"], json!([number, two["terminalId"]]));
    for _ in 0..2 {
        stage.until_event("terminal/exited").await;
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    Stage::no_process_left(&thread).await;
    assert_eq!(call(&stage, "list", json!({})).await["data"], json!([]));

    // The model hears what the person did, and not what they typed.
    stage.complete(&thread, "On").await;
    let told = stage.requests(3)[2].body.to_string();
    assert!(
        told.contains("typed into terminal") && told.contains("ended terminal"),
        "{told}"
    );
    assert!(!told.contains("by hand"), "{told}");
}

/// Shows S-198.
#[tokio::test]
async fn a_stopped_turn_ends_what_its_call_waits_for_and_leaves_what_runs_on() {
    let script = json!([
        [exec(
            "c1",
            json!({"cmd": "echo first; sleep 1000", "yield_time_ms": 250})
        )],
        [exec(
            "c2",
            json!({"cmd": "echo second; sleep 1001", "yield_time_ms": 30_000})
        )],
        [write("c3", "c1", json!({"yield_time_ms": 300_000}))],
        [say("Well.")],
    ]);
    let mut stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.until_output("second").await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    let item = story.item("commandExecution");
    assert_eq!(item["status"], "interrupted", "{item}");
    assert_eq!(
        call(&stage, "list", json!({})).await["data"].as_array().map(Vec::len),
        Some(1)
    );
    let sleeps = |thread: &str| -> Vec<String> {
        let all = Stage::processes(thread);
        all.into_iter()
            .filter(|command| command.contains("sleep 100"))
            .collect()
    };
    eventually("only the first one sleeps", || {
        let left = sleeps(&thread);
        !left.is_empty() && left.iter().all(|command| command.contains("sleep 1000"))
    })
    .await;
    // Nor does it end with the turn that waits for it.
    let turn = stage.start_turn(&thread, "Wait").await;
    stage
        .until(|method, params| method == "item/started" && params["item"]["type"] == "toolCall")
        .await;
    stage.interrupt(&thread).await;
    assert_eq!(stage.finish(&turn).await.status(), "interrupted");
    assert!(!sleeps(&thread).is_empty());
    shut_down(&mut stage).await;
    Stage::no_process_left(&thread).await;
}

/// What a terminal changes while the turn goes on belongs to the turn, whoever waits, and can be taken back.
#[tokio::test]
async fn what_a_terminal_changes_later_is_found_and_taken_back() {
    let cmd = "echo early > early.txt; while ! test -e go; do sleep 0.05; done; rm go; echo late > late.txt; echo done; sleep 1000";
    let script = json!([
        [exec("c1", json!({"cmd": cmd, "yield_time_ms": 500}))],
        [{"call": {"tool": "shell", "arguments": {"command": ["touch", "go"]}, "id": "c2"}}],
        [write("c3", "c1", json!({"yield_time_ms": 8000}))],
        [say("Done.")],
    ]);
    let stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let diff = |story: &Story| {
        story
            .all("turn/diff")
            .last()
            .map(|diff| diff["diff"].as_str().unwrap_or_default().to_owned())
    };
    let shown = diff(&story).expect("a diff");
    assert!(shown.contains("+early") && shown.contains("+late"), "{shown}");
    // Each command lists what it has done itself, once.
    let items = story.all("item/completed");
    let items = items.iter().map(|params| &params["item"]);
    let lists = |name: &str| -> Vec<Value> {
        let lists = |item: &&Value| item["type"] == "commandChanges" && item["changes"].to_string().contains(name);
        items
            .clone()
            .filter(lists)
            .map(|item| item["sourceId"].clone())
            .collect()
    };
    let commands: Vec<&Value> = items
        .clone()
        .filter(|item| item["type"] == "commandExecution")
        .map(|item| &item["id"])
        .collect();
    assert_eq!(lists("early.txt"), [commands[0].clone()]);
    assert_eq!(lists("late.txt"), [Value::Null]);
    let undone = stage
        .client
        .call("countersign/turn/undo", json!({"threadId": thread}))
        .await;
    let undo = undone["turnId"].as_str().expect("an id").to_owned();
    assert_eq!(stage.finish(&undo).await.status(), "completed");
    assert!(!stage.path("early.txt").exists() && !stage.path("late.txt").exists());
    leave(&stage);
    assert!(!Stage::processes(&thread).is_empty(), "it runs on");
}

/// A change that comes after the last call, but before the turn's end.
#[tokio::test]
async fn what_a_terminal_changes_before_the_turn_ends_is_the_turns() {
    let cmd = "while ! test -e go; do sleep 0.05; done; echo late > late.txt; sleep 1000";
    let script = json!([
        [exec("c1", json!({"cmd": cmd, "yield_time_ms": 250}))],
        {"outputs": [{"say": "Wait."}, {"hold": "changed"}]},
    ]);
    let stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.until_event("terminal/started").await;
    stage.until_event("item/agentMessage/delta").await;
    stage.write("go", "");
    let late = stage.path("late.txt");
    let is_written = || std::fs::read_to_string(&late).is_ok_and(|text| text == "late\n");
    eventually("it has changed something", is_written).await;
    stage.model.release("changed");
    let story = stage.finish(&turn).await;
    let shown = story.all("turn/diff").last().map(|diff| diff["diff"].to_string());
    leave(&stage);
    assert!(shown.is_some_and(|diff| diff.contains("+late")), "{:?}", story.names());
}

/// Shows S-199.
#[tokio::test]
async fn terminals_are_offered_on_both_wires_unless_they_are_switched_off() {
    for (wire, tables, offered) in [
        ("responses", "", true),
        ("chat", "", true),
        ("responses", "[features]\nunified_exec = false", false),
        ("chat", "[features]\nunified_exec = false", false),
    ] {
        let script = json!([[exec("c1", json!({"cmd": "echo hi"}))], [say("Done.")]]);
        let setting = Setting {
            provider: format!("wire_api = \"{wire}\""),
            tables: tables.to_owned(),
            ..setting()
        };
        let stage = Stage::with(script, setting).await;
        let thread = stage.thread().await;
        stage.complete(&thread, "Go").await;
        let requests = stage.requests(2);
        let tools = requests[0].body["tools"].as_array().expect("tools").clone();
        // One form for both: a function with a schema.
        let named = |name: &str| -> Vec<Value> {
            let function = |tool: &Value| tool.get("function").cloned().unwrap_or_else(|| tool.clone());
            tools
                .iter()
                .filter(|tool| tool["type"] == "function")
                .map(function)
                .filter(|tool| tool["name"] == name && tool["parameters"]["type"] == "object")
                .collect()
        };
        for name in ["exec_command", "write_stdin"] {
            assert_eq!(named(name).len(), usize::from(offered), "{wire} {tables}");
        }
        // One way to run commands is offered.
        assert_eq!(named("shell").len(), usize::from(!offered), "{wire} {tables}");
        let output = requests[1].output("c1").expect("an output");
        assert_eq!(output.contains("hi\n"), offered, "{output}");
        assert_eq!(output.contains("unsupported call"), !offered, "{output}");
    }
}

/// Whoever may leave the sandbox, or does what is dangerous, is asked about as with `shell`; and what is typed into a
/// shell is decided on like a command, however many calls the line is typed in.
#[tokio::test]
async fn the_same_decisions_as_for_any_command() {
    let outside = json!({"cmd": "PS1='> ' bash --norc -i", "tty": true, "yield_time_ms": 2000,
        "sandbox_permissions": "require_escalated", "justification": "To reach it."});
    let inside = json!({"cmd": "PS1='> ' bash --norc -i", "tty": true, "yield_time_ms": 2000});
    let script = json!([
        [exec("c1", outside)],
        [write("c2", "c1", json!({"chars": "echo typed\n"}))],
        [write("c3", "c1", json!({"chars": "\u{3}"}))],
        [exec("c4", inside)],
        [
            write("c5", "c4", json!({"chars": "rm -r"})),
            write("c6", "c4", json!({"chars": " -f ~/\n"}))
        ],
        [
            write("c7", "c4", json!({"chars": "\u{3}", "yield_time_ms": 500})),
            write("c8", "c4", json!({"chars": "echo fine\n", "yield_time_ms": 3000}))
        ],
        [say("Done.")],
    ]);
    let setting = Setting {
        config: "approval_policy = \"on-request\"".to_owned(),
        ..setting()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = asked.clone();
    stage.client.on_request("countersign/approval/command", move |params| {
        let mut seen = seen.lock().expect("a lock");
        seen.push(params.clone());
        // Only the program itself may start.
        let decision = if seen.len() == 1 { "accept" } else { "decline" };
        Reply::Ok(json!({ "decision": decision }))
    });
    let story = stage.complete(&thread, "Go").await;
    let asked = asked.lock().expect("a lock").clone();
    let commands: Vec<_> = asked
        .iter()
        .map(|question| question["command"][2].as_str().unwrap_or_default())
        .collect();
    assert_eq!(
        commands,
        ["PS1='> ' bash --norc -i", "echo typed\n", "rm -r -f ~/\n"],
        "{asked:#?}"
    );
    assert_eq!(
        (&asked[0]["confined"], &asked[1]["confined"]),
        (&json!("outside"), &json!("outside"))
    );
    assert!(
        asked[1]["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("terminal")),
        "{}",
        asked[1]
    );
    let requests = stage.requests(7);
    for id in ["c2", "c6"] {
        assert!(requests[6].output(id).expect("an output").contains("rejected"), "{id}");
    }
    assert!(
        requests[6]
            .output("c3")
            .expect("an output")
            .contains("running with session ID")
    );
    assert!(parts(&requests[6], "c8").1.contains("\nfine\n"));
    let declined = story
        .items("commandExecution")
        .iter()
        .filter(|item| item["status"] == "declined")
        .count();
    leave(&stage);
    assert_eq!(declined, 2);
}

/// Without the plugin protocol: the log tells, a code action and a command end them.
#[tokio::test]
async fn any_editor_can_stop_what_runs_on() {
    let script = json!([
        [exec("c1", json!({"cmd": "sleep 1000", "yield_time_ms": 250}))],
        [say("It runs.")]
    ]);
    let mut caps = super::stage::plugin();
    caps["experimental"] = json!({});
    let setting = Setting {
        caps,
        files: vec![("a.txt".to_owned(), "text\n".to_owned())],
        ..setting()
    };
    let stage = Stage::with(script, setting).await;
    for method in ["window/showMessage", "$/progress"] {
        stage.client.ignore(method);
    }
    let started = stage.client.call("countersign/thread/start", json!({})).await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    stage.start_turn(&thread, "Go").await;
    stage.client.expect_log("runs on in terminal").await;
    stage
        .client
        .expect_log("Still running in the background: sleep 1000")
        .await;
    stage.open("a.txt", "text\n");
    let uri = countersign::workspace::uri::from_path(&stage.path("a.txt"));
    let params = json!({
        "textDocument": {"uri": uri},
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "context": {"diagnostics": []},
    });
    let offered = |actions: &Value| {
        let actions = actions.as_array().expect("actions").clone();
        actions
            .into_iter()
            .find(|action| action.to_string().contains("countersign.stopTerminals"))
    };
    let actions = stage.client.call("textDocument/codeAction", params.clone()).await;
    assert!(
        offered(&actions)
            .expect("offered")
            .to_string()
            .contains("Stop background terminals")
    );
    let command = json!({"command": "countersign.stopTerminals"});
    stage.client.call("workspace/executeCommand", command).await;
    stage.client.expect_log("has ended").await;
    Stage::no_process_left(&thread).await;
    let actions = stage.client.call("textDocument/codeAction", params).await;
    assert_eq!(offered(&actions), None);
}

/// A server that is killed leaves nothing running.
#[tokio::test]
async fn nothing_survives_the_death_of_the_server() {
    let script = json!([
        [exec(
            "c1",
            json!({"cmd": "trap '' TERM HUP; (setsid sleep 1000 &); while :; do sleep 1; done", "tty": true, "yield_time_ms": 250})
        )],
        [say("It runs.")],
    ]);
    let mut stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    eventually("it runs", || Stage::processes(&thread).len() >= 2).await;
    let pid = rustix::process::Pid::from_raw(stage.client.server_pid() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    stage.client.expect_end().await;
    Stage::no_process_left(&thread).await;
}
