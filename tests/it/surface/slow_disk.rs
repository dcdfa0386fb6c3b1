//! A disk that takes its time holds up whoever asks for what is on it, and nobody else: what an editor says and asks meanwhile is
//! taken at once.

#![cfg(target_os = "linux")]

use crate::support::work::{Setting, Work};
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const CHAT: &str = "talk.countersign.md";
/// How long each look at the disk takes, and how long anything may take that needs none.
const SLOW_MS: u64 = 3000;
const AT_ONCE: Duration = Duration::from_millis(1500);

/// The slow disk as a library that is preloaded.
fn library(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("slow_disk.c"), folder.join("slow_disk.so"));
    std::fs::write(&source, include_str!("../fixtures/slow_disk.c")).expect("written");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status();
    assert!(compiled.expect("a C compiler").success());
    library
}

struct Slow {
    work: Work,
    gate: PathBuf,
    _folder: tempfile::TempDir,
}

/// Work with a change that waits, to a file that is open and to one that is not, made in a chat document; the disk is slow below
/// the folder of the closed file and for all of the configuration as long as the gate is there.
async fn slow() -> Slow {
    let places = [
        "project/slow",
        "home/config.toml",
        "home/prompts",
        "home/sessions",
        "home/snapshots/turns",
    ];
    slow_below(&places).await
}

/// The same where the disk is slow at other places.
async fn slow_below(places: &[&str]) -> Slow {
    let folder = tempfile::tempdir().expect("a folder");
    let (project, home, gate) = (
        folder.path().join("project"),
        folder.path().join("home"),
        folder.path().join("gate"),
    );
    std::fs::create_dir(&project).expect("a folder");
    let files = vec![
        ("a.txt", "1\n2\n3\n".to_owned()),
        ("slow/b.txt", "b\n".to_owned()),
        (CHAT, String::new()),
    ];
    let under: Vec<_> = places
        .iter()
        .map(|place| folder.path().join(place).display().to_string())
        .collect();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n 1\n-2\n+two\n 3\n*** Update File: slow/b.txt\n@@\n-b\n+B\n*** End Patch\n";
    let call = json!({"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "call_1"}});
    let work = Work::with(
        Setting {
            files,
            folder: Some(project),
            home: Some(home),
            env: vec![
                ("LD_PRELOAD".to_owned(), library(folder.path()).display().to_string()),
                ("SLOW_UNDER".to_owned(), under.join(":")),
                ("SLOW_MS".to_owned(), SLOW_MS.to_string()),
                ("SLOW_WHILE".to_owned(), gate.display().to_string()),
            ],
            ..Setting::default()
        },
        json!([[call], [{"say": "All done."}]]),
    )
    .await;
    work.client.ignore("workspace/codeLens/refresh");
    work.client.ignore("window/showMessage");
    work.open("a.txt");
    work.open(CHAT);
    work.editor.type_in(&work.path(CHAT), 0, "Look at @slow/b.txt");
    command(
        &work,
        "countersign.chatSend",
        json!({"uri": uri::from_path(&work.path(CHAT))}),
    )
    .await;
    let deadline = Instant::now() + Duration::from_secs(30);
    while work.lenses("a.txt").await.is_empty() {
        assert!(Instant::now() < deadline, "no change waits");
        work.client.settle().await;
    }
    Slow {
        work,
        gate,
        _folder: folder,
    }
}

async fn command(work: &Work, name: &str, argument: Value) {
    let params = json!({"command": name, "arguments": [argument]});
    work.client.call("workspace/executeCommand", params).await;
}

/// What looks at the disk, request by request, and after each of them something that does not.
#[tokio::test]
async fn a_slow_disk_holds_up_nobody_else() {
    let Slow { work, gate, _folder } = slow().await;
    let document = |name: &str| json!({"uri": uri::from_path(&work.path(name))});
    let proposal = work.lenses("a.txt").await[0]["command"]["arguments"][0]["proposalId"].clone();
    let text = work.buffer(CHAT);
    let place = |part: &str, more: usize| {
        let at = text.find(part).expect("in the text") + more;
        let line = text[..at].matches('\n').count();
        let character = at - text[..at].rfind('\n').map_or(0, |end| end + 1);
        json!({"line": line, "character": character})
    };
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}});
    let actions = |name: &str| json!({"textDocument": document(name), "range": range, "context": {"diagnostics": []}});
    let run = |name: &str, argument: Value| json!({"command": format!("countersign.{name}"), "arguments": [argument]});
    let rows = [
        ("textDocument/codeAction", actions("a.txt")),
        ("textDocument/codeAction", actions("slow/b.txt")),
        ("textDocument/codeAction", actions(CHAT)),
        ("textDocument/codeLens", json!({"textDocument": document("slow/b.txt")})),
        ("textDocument/codeLens", json!({"textDocument": document(CHAT)})),
        (
            "textDocument/hover",
            json!({"textDocument": document(CHAT), "position": place("slow/b", 2)}),
        ),
        (
            "textDocument/hover",
            json!({"textDocument": document(CHAT), "position": place("model: ", 8)}),
        ),
        (
            "textDocument/hover",
            json!({"textDocument": document(CHAT), "position": place("thread: ", 9)}),
        ),
        (
            "textDocument/completion",
            json!({"textDocument": document(CHAT), "position": place("model: ", 8)}),
        ),
        ("textDocument/documentLink", json!({"textDocument": document(CHAT)})),
        ("countersign/config/read", json!({})),
        ("countersign/config/reload", json!({})),
        ("countersign/permissions/profiles", json!({})),
        ("countersign/prompt/list", json!({})),
        ("countersign/model/list", json!({})),
        ("countersign/account/read", json!({})),
        ("countersign/account/status", json!({})),
        ("countersign/account/setup", json!({})),
        ("countersign/thread/list", json!({})),
        ("countersign/thread/start", json!({})),
        ("countersign/command/exec", json!({"command": ["true"]})),
        ("workspace/executeCommand", run("exec", json!({"command": ["true"]}))),
        ("countersign/mcp/list", json!({})),
        (
            "countersign/mcp/resource/list",
            json!({"server": "none", "threadId": null}),
        ),
        ("countersign/mcp/login", json!({"server": "none"})),
        ("countersign/mcp/logout", json!({"server": "none"})),
        ("countersign/mcp/refresh", json!({})),
        ("countersign/history/append", json!({"text": "typed"})),
        ("countersign/history/list", json!({})),
        ("countersign/history/read", json!({"logId": "0", "offset": 0})),
        ("countersign/proposal/list", json!({})),
        ("countersign/proposal/read", json!({"proposalId": proposal})),
        ("countersign/file/search", json!({"query": "b"})),
        ("workspace/executeCommand", run("showProposal", json!({}))),
        ("workspace/executeCommand", run("nextChange", json!({}))),
        (
            "workspace/executeCommand",
            run("rejectWithWords", json!({"proposalId": proposal, "feedback": "No."})),
        ),
        (
            "workspace/executeCommand",
            run("decide", json!({"proposalId": proposal, "decision": "reset"})),
        ),
        (
            "workspace/executeCommand",
            run("acceptAll", json!({"proposalId": "none"})),
        ),
        (
            "workspace/executeCommand",
            run("openThread", json!({"threadId": "none"})),
        ),
        (
            "countersign/proposal/decide",
            json!({"proposalId": proposal, "decision": "reject"}),
        ),
    ];
    std::fs::write(&gate, "").expect("written");
    let mut held_up = Vec::new();
    let mut asked = Vec::new();
    for (method, params) in rows {
        asked.push(work.client.send_request(method, params.clone()));
        let begin = Instant::now();
        work.editor.type_at(&work.path("a.txt"), 0, "x");
        work.client
            .call("textDocument/foldingRange", json!({"textDocument": document(CHAT)}))
            .await;
        let took = begin.elapsed();
        if took > AT_ONCE {
            held_up.push(format!("{method} {params}: {took:?}"));
        }
    }
    std::fs::remove_file(&gate).expect("there");
    assert!(
        held_up.is_empty(),
        "what looks at the disk holds up what does not:\n{}",
        held_up.join("\n")
    );
    for id in asked {
        // Some have nothing to find; each is answered.
        let _answer = work.client.expect_answer(json!(id)).await;
    }
}

/// What is asked of a conversation after a turn is about that turn, also while the disk is still looked at for it.
#[tokio::test]
async fn what_follows_a_turn_that_waits_for_the_disk_comes_after_it() {
    let Slow { work, gate, _folder } = slow().await;
    let thread = at_rest(&work).await;
    std::fs::write(&gate, "").expect("written");
    let input = json!([{"type": "text", "text": "Go on"}]);
    let started = work
        .client
        .send_request("countersign/turn/start", json!({"threadId": thread, "input": input}));
    let stopped = work
        .client
        .send_request("countersign/turn/interrupt", json!({"threadId": thread}));
    let started = work.client.expect_answer(json!(started)).await.expect("it starts");
    let stopped = work.client.expect_answer(json!(stopped)).await.expect("it is answered");
    std::fs::remove_file(&gate).expect("there");
    assert_eq!(stopped["interrupted"], true);
    until_interrupted(&work, &thread, &started["turn"]["id"]).await;
}

/// A stop waits for no disk, and what was asked for before it is stopped as well.
#[tokio::test]
async fn a_stop_does_not_wait_behind_a_message_that_is_looked_at() {
    let Slow { work, gate, _folder } = slow().await;
    let waiting = work.client.call("countersign/proposal/list", json!({})).await;
    let thread = waiting["data"][0]["threadId"].clone();
    assert!(thread.is_string(), "{waiting}");
    std::fs::write(&gate, "").expect("written");
    let input = json!([{"type": "text", "text": "Go on"}]);
    let started = work
        .client
        .send_request("countersign/turn/start", json!({"threadId": thread, "input": input}));
    let begin = Instant::now();
    let stopped = work
        .client
        .call("countersign/turn/interrupt", json!({"threadId": thread}))
        .await;
    let took = begin.elapsed();
    let started = work.client.expect_answer(json!(started)).await.expect("it starts");
    std::fs::remove_file(&gate).expect("there");
    assert_eq!(stopped["interrupted"], true);
    assert!(took < AT_ONCE, "the stop waited for {took:?}");
    until_interrupted(&work, &thread, &started["turn"]["id"]).await;
}

/// A conversation that begins looks at the rules; a stop of another one does not wait for that.
#[tokio::test]
async fn a_stop_does_not_wait_behind_a_conversation_that_begins() {
    let Slow { work, gate, _folder } = slow_below(&["home/rules"]).await;
    let thread = at_rest(&work).await;
    std::fs::write(&gate, "").expect("written");
    let started = work.client.send_request("countersign/thread/start", json!({}));
    let answer = work.client.expect_answer(json!(started));
    tokio::pin!(answer);
    let mut longest = Duration::ZERO;
    let started = loop {
        let begin = Instant::now();
        // Nothing runs there, which is an answer like another.
        let _stopped = work
            .client
            .request("countersign/turn/interrupt", json!({"threadId": thread}))
            .await;
        longest = longest.max(begin.elapsed());
        tokio::select! {
            biased;
            started = &mut answer => break started,
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    };
    std::fs::remove_file(&gate).expect("there");
    assert!(started.is_ok(), "{started:?}");
    assert!(longest < AT_ONCE, "the stop waited for {longest:?}");
}

async fn until_interrupted(work: &Work, thread: &Value, turn: &Value) {
    let read = json!({"threadId": thread, "includeTurns": true});
    loop {
        let found = work.client.call("countersign/thread/read", read.clone()).await;
        let turns = found["thread"]["turns"].as_array().expect("turns");
        let status = turns
            .iter()
            .find(|found| found["id"] == *turn)
            .map(|turn| &turn["status"]);
        if status.is_some_and(|status| status != "inProgress") {
            assert_eq!(status, Some(&json!("interrupted")));
            return;
        }
        work.client.settle().await;
    }
}

/// The answer to a question waits for no decision on a change.
#[tokio::test]
async fn an_answer_to_a_question_does_not_wait_behind_a_decision() {
    let Slow { work, gate, _folder } = slow().await;
    let waiting = work.client.call("countersign/proposal/list", json!({})).await;
    let proposal = &waiting["data"][0]["id"];
    assert!(proposal.is_string(), "{waiting}");
    std::fs::write(&gate, "").expect("written");
    let run = |name: &str, argument: Value| json!({"command": format!("countersign.{name}"), "arguments": [argument]});
    let decided = work.client.send_request(
        "workspace/executeCommand",
        run("decide", json!({"proposalId": proposal, "decision": "reject"})),
    );
    let begin = Instant::now();
    let answer = run("approve", json!({"approvalId": "none", "decision": "decline"}));
    work.client.call("workspace/executeCommand", answer).await;
    let took = begin.elapsed();
    std::fs::remove_file(&gate).expect("there");
    assert!(took < AT_ONCE, "the answer waited for {took:?}");
    let _decided = work.client.expect_answer(json!(decided)).await;
}

/// The conversation, once its change is rejected and its turn over.
async fn at_rest(work: &Work) -> Value {
    let waiting = work.client.call("countersign/proposal/list", json!({})).await;
    let thread = waiting["data"][0]["threadId"].clone();
    assert!(thread.is_string(), "{waiting}");
    let reject = json!({"proposalId": waiting["data"][0]["id"], "decision": "reject"});
    work.client.call("countersign/proposal/decide", reject).await;
    let read = json!({"threadId": thread, "includeTurns": true});
    loop {
        let found = work.client.call("countersign/thread/read", read.clone()).await;
        if found["thread"]["turns"][0]["status"] == "completed" {
            return thread;
        }
        work.client.settle().await;
    }
}

/// The answer to the message about a change looks at its files, and holds up nobody meanwhile.
#[tokio::test]
async fn an_answer_to_a_message_about_a_change_holds_up_nobody_else() {
    let Slow { work, gate, _folder } = slow().await;
    let asked = work.client.expect_request("window/showMessageRequest").await;
    let message = asked.params["message"].as_str().expect("a message");
    assert!(message.contains("proposes"), "{message}");
    std::fs::write(&gate, "").expect("written");
    work.client.answer(&asked, Ok(json!({"title": "Reject"})));
    let begin = Instant::now();
    let mut longest = Duration::ZERO;
    while begin.elapsed() < AT_ONCE {
        let begin = Instant::now();
        let document = json!({"uri": uri::from_path(&work.path(CHAT))});
        work.client
            .call("textDocument/foldingRange", json!({"textDocument": document}))
            .await;
        longest = longest.max(begin.elapsed());
    }
    std::fs::remove_file(&gate).expect("there");
    assert!(longest < AT_ONCE, "others were held up for {longest:?}");
    let deadline = Instant::now() + Duration::from_secs(30);
    while work.client.call("countersign/proposal/list", json!({})).await["data"] != json!([]) {
        assert!(Instant::now() < deadline, "the answer counts");
        work.client.settle().await;
    }
}

/// While a turn to undo is looked for, for who opens the menu, the conversation itself goes on: nothing of it is held.
#[tokio::test]
async fn a_slow_disk_holds_up_no_conversation() {
    let Slow { work, gate, _folder } = slow().await;
    let thread = at_rest(&work).await;
    let read = json!({"threadId": thread, "includeTurns": true});
    std::fs::write(&gate, "").expect("written");
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}});
    let document = json!({"uri": uri::from_path(&work.path("a.txt"))});
    let by_hand = json!({"textDocument": document, "range": range, "context": {"diagnostics": [], "triggerKind": 1}});
    let asked = work.client.send_request("textDocument/codeAction", by_hand);
    let begin = Instant::now();
    let mut longest = Duration::ZERO;
    while begin.elapsed() < AT_ONCE {
        let begin = Instant::now();
        work.client.call("countersign/thread/read", read.clone()).await;
        longest = longest.max(begin.elapsed());
    }
    assert!(longest < AT_ONCE, "the conversation was held up for {longest:?}");
    let answer = work.client.expect_answer(json!(asked)).await;
    assert!(
        begin.elapsed() > Duration::from_millis(SLOW_MS),
        "nothing was looked at: {answer:?}"
    );
}
