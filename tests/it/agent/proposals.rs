//! The life of a proposal: it follows the text, is decided, edited, superseded, and outlives its server.

use super::patch::{files, hunk, patch, proposed, together, update};
use super::stage::{Setting, Stage, apply_patch, eventually, say, shell};
use crate::support::client::Reply;
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tempfile::TempDir;

pub(super) const FIVE: &str = "one\ntwo\nthree\nfour\nfive\n";
/// Two hunks of `a.txt`.
pub(super) const TWO_HUNKS: &str = "*** Update File: a.txt\n@@\n one\n-two\n+TWO\n three\n@@\n-four\n+FOUR\n five";

pub(super) fn typed(stage: &Stage, name: &str, version: i64, text: &str) {
    let document = json!({"uri": uri::from_path(&stage.path(name)), "version": version});
    let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
    stage.client.notify("textDocument/didChange", params);
}

pub(super) async fn refused(stage: &Stage, method: &str, params: Value) -> (String, String) {
    let error = stage
        .client
        .request(&format!("countersign/proposal/{method}"), params)
        .await
        .expect_err("it cannot be meant");
    (
        error.data["kind"].as_str().unwrap_or_default().to_owned(),
        error.message,
    )
}

async fn edit(stage: &Stage, proposal: &Value, hunk: Value, text: Option<&str>) -> Value {
    let params = json!({"proposalId": proposal["id"], "hunkId": hunk, "newText": text});
    stage.client.call("countersign/proposal/edit", params).await["proposal"].take()
}

pub(super) fn statuses(proposal: &Value) -> Vec<&str> {
    let files = proposal["files"].as_array().expect("files").iter();
    files
        .flat_map(|file| file["hunks"].as_array().expect("hunks"))
        .map(|hunk| hunk["status"].as_str().expect("a status"))
        .collect()
}

fn stored(stage: &Stage) -> Vec<String> {
    let entries = std::fs::read_dir(stage.client.home().join("proposals"));
    let mut names: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Shows S-108.
#[tokio::test]
async fn hunks_follow_what_is_typed_and_every_surface_is_told() {
    let script = json!([[apply_patch("c1", &patch(TWO_HUNKS))], [say("done")]]);
    let stage = Stage::with(script, together(&[("a.txt", FIVE)])).await;
    stage.open("a.txt", FIVE);
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    assert_eq!(
        (&proposal["status"], &proposal["files"][0]["version"]),
        (&json!("proposed"), &json!(1))
    );
    typed(&stage, "a.txt", 2, &format!("zero\n{FIVE}"));
    typed(&stage, "a.txt", 3, &format!("zero\n{}", FIVE.replace("four", "4")));
    let moved = stage
        .until(|method, params| method == "proposal/moved" && params["files"][0]["version"] == 3)
        .await;
    let moved = moved.last();
    assert_eq!(
        (&moved["proposalId"], &moved["status"]),
        (&proposal["id"], &json!("conflicting"))
    );
    let file = &moved["files"][0];
    assert_eq!(
        (&file["path"], &file["open"]),
        (&json!(stage.path("a.txt")), &json!(true))
    );
    assert_eq!(file["hunks"][0]["range"], json!({"start": 2, "end": 3}));
    assert_eq!(file["hunks"][0]["status"], "pending");
    assert_eq!(file["hunks"][1]["range"], json!({"start": 4, "end": 5}));
    assert_eq!(file["hunks"][1]["status"], "conflicting");
    assert_eq!(file["hunks"][1]["conflict"], "the lines it would replace have changed");
    assert_eq!(file["hunks"][1]["id"], hunk(&proposal, 0, 1), "ids are stable");
    // What it would lead to.
    let read = stage
        .client
        .call("countersign/proposal/read", json!({"proposalId": proposal["id"]}))
        .await;
    let file = &read["proposal"]["files"][0];
    assert_eq!(file["before"], FIVE);
    assert_eq!(file["after"], "one\nTWO\nthree\nFOUR\nfive\n");
    assert_eq!(file["current"], "zero\none\ntwo\nthree\n4\nfive\n");
    assert_eq!(file["result"], "zero\none\nTWO\nthree\n4\nfive\n");
    // Of a file, what fits is taken, and the rest waits; by name, it is refused.
    let by_file = json!({"proposalId": proposal["id"], "decision": "accept", "path": stage.path("a.txt")});
    let left = stage.decide(by_file).await;
    assert_eq!(
        (statuses(&left), &left["status"]),
        (vec!["accepted", "conflicting"], &json!("stale"))
    );
    let by_name = json!({"proposalId": proposal["id"], "decision": "accept", "hunkIds": [hunk(&proposal, 0, 1)]});
    let (kind, words) = refused(&stage, "decide", by_name.clone()).await;
    assert_eq!(kind, "hunkConflicting");
    assert!(words.contains("have changed"), "{words}");
    // The text is back: it can be taken after all. The other one was decided and is changed under the yes.
    typed(&stage, "a.txt", 4, &format!("zero\n{FIVE}").replace("two", "2"));
    let moved = stage
        .until(|method, params| method == "proposal/moved" && params["files"][0]["version"] == 4)
        .await;
    let hunks = &moved.last()["files"][0]["hunks"];
    assert_eq!(
        (&hunks[0]["status"], &hunks[1]["status"]),
        (&json!("conflicting"), &json!("pending"))
    );
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    let back = stage
        .decide(json!({"proposalId": proposal["id"], "decision": "reject", "hunkIds": [hunk(&proposal, 0, 0)]}))
        .await;
    assert_eq!(statuses(&back), ["rejected", "pending"]);
    let back = stage
        .decide(json!({"proposalId": proposal["id"], "decision": "reset", "hunkIds": [hunk(&proposal, 0, 0)]}))
        .await;
    assert_eq!(statuses(&back), ["conflicting", "pending"]);
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "reject", "hunkIds": [hunk(&proposal, 0, 0)], "feedback": "not this"}))
        .await;
    let mut documents = BTreeMap::from([("a.txt".to_owned(), (4, format!("zero\n{FIVE}").replace("two", "2")))]);
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    stage.decide(by_name).await;
    stage.take_edit(&mut documents).await;
    let story = stage.finish(&turn).await;
    assert_eq!(documents["a.txt"].1, "zero\none\n2\nthree\nFOUR\nfive\n");
    let output = stage.requests(2)[1].output("c1").unwrap();
    for words in [
        "Taken in part: 1 of 2 hunks",
        "a.txt hunk 1 (line 2): rejected by the person: not this",
        "could not have been taken: the lines it would replace have changed",
        "lines 2-4 now:\n    | one\n    | 2\n    | three",
        "a.txt hunk 2 (line 4): taken [line 5 now]",
    ] {
        assert!(output.contains(words), "{words}: {output}");
    }
    assert_eq!(
        story.all("proposal/updated").pop().unwrap()["proposal"]["outcome"],
        json!(output)
    );
}

/// A hunk is taken as the person wrote it, with the line ends of the file, and the model is told.
#[tokio::test]
async fn hunks_are_edited_before_they_are_taken() {
    let body = [
        "*** Update File: a.txt\n@@\n-two\n+TWO\n@@\n-four\n+FOUR",
        "*** Add File: new.txt\n+made\n+by the model",
        "*** Delete File: gone.txt",
        "*** Update File: moved.txt\n*** Move to: there.txt",
    ]
    .join("\n");
    let script = json!([[apply_patch("c1", &patch(&body))], [say("done")]]);
    let crlf = FIVE.replace('\n', "\r\n");
    let setting = together(&[("a.txt", &crlf), ("gone.txt", "x\n"), ("moved.txt", "m\n")]);
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    let first = hunk(&proposal, 0, 0);
    let edited = edit(&stage, &proposal, first.clone(), Some("2\nand more")).await;
    let seen = &edited["files"][0]["hunks"][0];
    assert_eq!(seen["newText"], "2\r\nand more\r\n");
    assert_eq!(seen["proposedText"], "TWO\r\n");
    // The model's own text, and then the person's again.
    let back = edit(&stage, &proposal, first.clone(), None).await;
    assert_eq!(back["files"][0]["hunks"][0]["newText"], "TWO\r\n");
    assert!(back["files"][0]["hunks"][0].get("proposedText").is_none());
    // An edit takes a decision back: the yes was to another text.
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept", "hunkIds": [first]}))
        .await;
    let edited = edit(&stage, &proposal, first.clone(), Some("2\nand more")).await;
    assert_eq!(statuses(&edited)[0], "pending");
    // Back to what is there.
    edit(&stage, &proposal, hunk(&proposal, 0, 1), Some("four")).await;
    edit(&stage, &proposal, hunk(&proposal, 1, 0), Some("made\nby the person")).await;
    for (file, words) in [(2, "deletes the file"), (3, "changes no line")] {
        let params = json!({"proposalId": proposal["id"], "hunkId": hunk(&proposal, file, 0), "newText": "x"});
        let (kind, message) = refused(&stage, "edit", params).await;
        assert_eq!(kind, "hunkNotEditable");
        assert!(message.contains(words), "{message}");
    }
    for (id, hunk, kind) in [
        (json!("nobody"), first.clone(), "proposalNotFound"),
        (proposal["id"].clone(), json!("nobody"), "hunkNotFound"),
    ] {
        let params = json!({"proposalId": id, "hunkId": hunk, "newText": "x"});
        assert_eq!(refused(&stage, "edit", params).await.0, kind);
    }
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    stage.finish(&turn).await;
    assert_eq!(stage.text("a.txt"), "one\r\n2\r\nand more\r\nthree\r\nfour\r\nfive\r\n");
    assert_eq!(stage.text("new.txt"), "made\nby the person\n");
    assert_eq!(stage.text("there.txt"), "m\n");
    let output = stage.requests(2)[1].output("c1").unwrap();
    for words in [
        "The person edited the patch and accepted it so",
        "a.txt hunk 1 (line 2): taken as the person edited it:\n    | 2\n    | and more",
        "a.txt hunk 2 (line 4): taken as the person edited it: back to what was there",
        "new.txt hunk 1 (line 1): taken as the person edited it:\n    | made\n    | by the person",
        "D gone.txt",
    ] {
        assert!(output.contains(words), "{words}: {output}");
    }
    let late = json!({"proposalId": proposal["id"], "hunkId": first, "newText": "x"});
    assert_eq!(refused(&stage, "edit", late).await.0, "proposalSettled");
}

/// Shows S-116.
#[tokio::test]
async fn words_to_the_model_go_with_the_hunk_the_file_or_the_whole() {
    let two = format!("{TWO_HUNKS}\n{}", update("b.txt", "x", "y"));
    let three = format!("{two}\n{}", update("c.txt", "x", "y"));
    let script = json!([
        [apply_patch("c1", &patch(&three))],
        [apply_patch("c2", &patch(&two))],
        [say("done")]
    ]);
    let stage = Stage::with(script, files(&[("a.txt", FIVE), ("b.txt", "x\n"), ("c.txt", "x\n")])).await;
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    let id = &proposal["id"];
    for params in [
        json!({"proposalId": id, "decision": "reject", "hunkIds": [hunk(&proposal, 0, 0)], "feedback": " first "}),
        json!({"proposalId": id, "decision": "reject", "path": stage.path("b.txt"), "feedback": "leave b alone"}),
        json!({"proposalId": id, "decision": "accept", "path": stage.path("c.txt")}),
    ] {
        stage.decide(params).await;
    }
    stage
        .decide(json!({"proposalId": id, "decision": "reject", "feedback": "think again"}))
        .await;
    let proposal = stage.until_event("proposal/created").await.last()["proposal"].clone();
    let output = stage.requests(2)[1].output("c1").unwrap();
    for words in [
        "Taken in part: 1 of 4",
        "a.txt hunk 1 (line 2): rejected by the person: first\n",
        "a.txt hunk 2 (line 4): rejected by the person\n",
        "b.txt hunk 1 (line 1): rejected by the person: leave b alone",
        "M c.txt",
    ] {
        assert!(output.contains(words), "{words}: {output}");
    }
    assert!(output.ends_with("The person says: think again"), "{output}");
    // The whole of it, and nothing of it fits any more but for one.
    stage.write("a.txt", "other\n");
    stage.write("b.txt", "other\n");
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "reject", "feedback": "no"}))
        .await;
    stage.finish(&turn).await;
    let output = stage.requests(3)[2].output("c2").unwrap();
    assert!(
        output.starts_with("The person rejected the patch; no file was changed."),
        "{output}"
    );
    assert!(
        output.contains("b.txt hunk 1") && output.contains("| other"),
        "{output}"
    );
}

/// What is shown as applied is what was applied: what was rejected, before or after, is not in it.
///
/// Shows S-116.
#[tokio::test]
async fn what_was_rejected_is_not_shown_as_applied() {
    let three = format!(
        "{TWO_HUNKS}\n{}\n{}",
        update("b.txt", "x", "y"),
        update("c.txt", "x", "y")
    );
    for (name, accepts, shown) in [
        (
            "one file, then the rest is rejected",
            json!([{"path": "c.txt"}]),
            json!({"c.txt": "-x\n+y\n"}),
        ),
        (
            "one hunk of two",
            json!([{"hunk": 1}]),
            json!({"a.txt": "-four\n+FOUR\n"}),
        ),
        (
            "an edited hunk",
            json!([{"hunk": 1, "text": "fourth\n"}]),
            json!({"a.txt": "-four\n+fourth\n"}),
        ),
        ("all", json!([{}]), Value::Null),
        ("nothing", json!([]), Value::Null),
    ] {
        let script = json!([[apply_patch("c1", &patch(&three))], [say("done")]]);
        let stage = Stage::with(script, files(&[("a.txt", FIVE), ("b.txt", "x\n"), ("c.txt", "x\n")])).await;
        let thread = stage.thread().await;
        let (turn, proposal, _) = proposed(&stage, &thread).await;
        let id = &proposal["id"];
        for accept in accepts.as_array().expect("a list") {
            let mut params = json!({"proposalId": id, "decision": "accept"});
            if let Some(path) = accept["path"].as_str() {
                params["path"] = json!(stage.path(path));
            }
            if let Some(number) = accept["hunk"].as_u64() {
                let number = usize::try_from(number).expect("a number");
                let hunk = hunk(&proposal, 0, number);
                if let Some(text) = accept["text"].as_str() {
                    edit(&stage, &proposal, hunk.clone(), Some(text)).await;
                }
                params["hunkIds"] = json!([hunk]);
            }
            stage.decide(params).await;
        }
        if name != "all" {
            stage.decide(json!({"proposalId": id, "decision": "reject"})).await;
        }
        let story = stage.finish(&turn).await;
        let item = story.item("fileChange");
        assert_eq!(
            item["changes"].as_array().map(Vec::len),
            Some(3),
            "{name}: what was proposed stays"
        );
        let Some(shown) = shown.as_object() else {
            assert!(item["applied"].is_null(), "{name}: {item}");
            continue;
        };
        let applied = item["applied"].as_array().expect(name);
        assert_eq!(applied.len(), shown.len(), "{name}: {item}");
        for (change, (file, lines)) in applied.iter().zip(shown) {
            assert_eq!(change["path"], json!(stage.path(file)), "{name}");
            let diff = change["diff"].as_str().expect("a diff");
            let changed: String = diff
                .lines()
                .filter(|line| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---"))
                .map(|line| format!("{line}\n"))
                .collect();
            assert_eq!(json!(changed), *lines, "{name}: {diff}");
        }
    }
}

/// Shows S-110, S-113.
#[tokio::test]
async fn what_is_settled_leaves_nothing_behind() {
    let body = |to: &str| patch(&update("a.txt", "one", to));
    let script = json!([
        [apply_patch("c1", &body("two"))],
        [say("done")],
        [apply_patch("c2", &body("three"))],
    ]);
    let stage = Stage::with(script, files(&[("a.txt", "one\n")])).await;
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    let id = proposal["id"].as_str().expect("an id").to_owned();
    assert_eq!(stored(&stage), [format!("{id}.json"), format!("{id}.lock")]);
    use std::os::unix::fs::PermissionsExt as _;
    let kept = stage.client.home().join("proposals").join(format!("{id}.json"));
    assert_eq!(
        std::fs::metadata(&kept).expect("kept").permissions().mode() & 0o777,
        0o600
    );
    stage.decide(json!({"proposalId": id, "decision": "reject"})).await;
    stage.finish(&turn).await;
    eventually("the file is gone", || stored(&stage).is_empty()).await;
    // A turn that the person stops takes its proposal along.
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    stage.interrupt(&thread).await;
    stage.finish(&turn).await;
    let late = json!({"proposalId": proposal["id"], "decision": "accept"});
    assert_eq!(refused(&stage, "decide", late).await.0, "proposalSettled");
    eventually("the file is gone", || stored(&stage).is_empty()).await;
    assert_eq!(stage.text("a.txt"), "one\n");
}

pub(super) enum End {
    Killed,
    Shutdown,
}

/// A stage in the place of another, whose server is gone. The folders live as long as what is returned beside it.
pub(super) async fn next(stage: &mut Stage, end: End, script: Value) -> (Stage, [Option<TempDir>; 2]) {
    match end {
        End::Killed => {
            let pid = i32::try_from(stage.client.server_pid()).expect("a process");
            let pid = rustix::process::Pid::from_raw(pid).expect("a process");
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
            stage.client.expect_end().await;
        }
        End::Shutdown => {
            stage.client.call("shutdown", Value::Null).await;
            stage.client.notify("exit", Value::Null);
            assert_eq!(stage.client.expect_end().await, 0);
        }
    }
    // Its story is told.
    stage.client.take_unread();
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

/// Killed in the middle: the proposal waits again with all that was decided and edited, follows the text that the disk has
/// now, is applied, and the model hears of it once when its thread goes on.
#[tokio::test]
async fn a_proposal_outlives_a_server_that_is_killed() {
    let body = format!("{TWO_HUNKS}\n{}", update("b.txt", "x", "y"));
    let script = json!([[apply_patch("c1", &patch(&body))]]);
    let mut first = Stage::with(script, files(&[("a.txt", FIVE), ("b.txt", "x\n")])).await;
    let thread = first.thread().await;
    let (_, proposal, _) = proposed(&first, &thread).await;
    let id = proposal["id"].clone();
    edit(&first, &proposal, hunk(&proposal, 0, 0), Some("2")).await;
    first
        .decide(json!({"proposalId": id, "decision": "reject", "hunkIds": [hunk(&proposal, 0, 1)], "feedback": "keep four"}))
        .await;
    first.write("a.txt", &format!("zero\n{FIVE}"));
    let script = json!([[say("I see.")], [say("Yes.")]]);
    let (stage, _folders) = next(&mut first, End::Killed, script).await;
    let shown = stage.until_event("proposal/created").await;
    let again = shown.last()["proposal"].clone();
    assert_eq!((&again["id"], &again["threadId"]), (&id, &json!(thread)));
    assert_eq!(statuses(&again), ["pending", "rejected", "pending"]);
    assert_eq!(again["status"], "partlyDecided");
    let hunks = &again["files"][0]["hunks"];
    assert_eq!(
        (&hunks[0]["newText"], &hunks[0]["proposedText"]),
        (&json!("2\n"), &json!("TWO\n"))
    );
    assert_eq!(hunks[0]["range"], json!({"start": 2, "end": 3}));
    assert_eq!(hunks[1]["feedback"], "keep four");
    let listed = stage.client.call("countersign/proposal/list", json!({})).await;
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    stage.decide(json!({"proposalId": id, "decision": "accept"})).await;
    let story = stage
        .until(|method, params| method == "proposal/updated" && params["proposal"]["status"] == "applied")
        .await;
    assert_eq!(story.one("file/changed")["paths"].as_array().map(Vec::len), Some(2));
    assert_eq!(stage.text("a.txt"), "zero\none\n2\nthree\nfour\nfive\n");
    assert_eq!(stage.text("b.txt"), "y\n");
    eventually("only the note is left", || {
        stored(&stage).iter().all(|name| name.ends_with(".note.json"))
    })
    .await;
    stage.resume(json!({"threadId": thread})).await;
    stage.complete(&thread, "Go on").await;
    stage.complete(&thread, "And?").await;
    let requests = stage.requests(2);
    let marker = format!("<countersign_proposal id=\\\"{}\\\">", id.as_str().expect("an id"));
    for request in &requests {
        let body = request.body.to_string();
        assert_eq!(body.matches(&marker).count(), 1, "told once: {body}");
        assert!(
            body.contains("taken as the person edited it") && body.contains("keep four"),
            "{body}"
        );
    }
    eventually("nothing is left", || stored(&stage).is_empty()).await;
    let read = stage.read(&thread).await;
    assert_eq!(read["preview"], "Change it", "the note is nobody's words");
}

/// Stopped in order: the same, and the model is told in its own words what became of its call. A thread that is live again
/// has the proposal in its own stream.
#[tokio::test]
async fn a_proposal_outlives_a_server_that_is_stopped() {
    let script = json!([[apply_patch("c1", &patch(TWO_HUNKS))]]);
    let mut first = Stage::with(script, together(&[("a.txt", FIVE)])).await;
    let thread = first.thread().await;
    let (_, proposal, _) = proposed(&first, &thread).await;
    first
        .decide(json!({"proposalId": proposal["id"], "decision": "accept", "hunkIds": [hunk(&proposal, 0, 0)]}))
        .await;
    let script = json!([[{"hold": "round"}, say("Hm.")], [say("Ah.")]]);
    let (stage, _folders) = next(&mut first, End::Shutdown, script).await;
    let shown = stage.until_event("proposal/created").await;
    assert_eq!(statuses(&shown.last()["proposal"]), ["accepted", "pending"]);
    let seq = shown.last()["seq"].as_u64().expect("a number");
    stage
        .client
        .call("countersign/thread/resume", json!({"threadId": thread}))
        .await;
    let started = stage.until_event("thread/started").await;
    assert!(started.last()["seq"].as_u64().expect("a number") > seq, "numbers go on");
    let turn = stage.start_turn(&thread, "What now?").await;
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "reject", "feedback": "enough"}))
        .await;
    stage
        .until(|method, params| method == "proposal/updated" && params["proposal"]["status"] == "applied")
        .await;
    stage.model.release("round");
    stage.finish(&turn).await;
    stage.complete(&thread, "And now?").await;
    let requests = stage.requests(2);
    let output = requests[0].output("c1").expect("an output");
    assert!(
        output.contains("The server stopped before the person decided"),
        "{output}"
    );
    let body = requests[1].body.to_string();
    assert!(
        body.contains("Taken in part: 1 of 2") && body.contains("enough"),
        "{body}"
    );
    assert_eq!(stage.text("a.txt"), FIVE.replace("two", "TWO"));
}

/// A server that lives keeps its proposals; files that are none are left as they are and named.
#[tokio::test]
async fn another_live_server_and_broken_files_are_left_alone() {
    let script = json!([[apply_patch("c1", &patch(TWO_HUNKS))], [say("done")]]);
    let first = Stage::with(script, files(&[("a.txt", FIVE)])).await;
    let thread = first.thread().await;
    let (turn, proposal, _) = proposed(&first, &thread).await;
    let folder = first.client.home().join("proposals");
    let broken = [
        ("0-broken.json", "{"),
        ("0-foreign.json", "[1, 2]"),
        ("0-newer.json", r#"{"format": 7, "proposal": {}}"#),
    ];
    for (name, text) in broken {
        std::fs::write(folder.join(name), text).expect("written");
    }
    let setting = Setting {
        home: Some(first.client.home().to_owned()),
        folder: Some(first.dir.clone()),
        base_url: Some(first.model.base_url.clone()),
        ..Setting::default()
    };
    let second = Stage::with(json!([]), setting).await;
    // Its log tells when it has looked at all of them.
    let log = first.client.home().join("log/countersign.log");
    eventually("the broken files are named", || {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        broken.iter().all(|(name, _)| log.contains(name))
    })
    .await;
    second.client.settle().await;
    let listed = second.client.call("countersign/proposal/list", json!({})).await;
    assert_eq!(listed["data"], json!([]));
    assert_eq!(second.client.take_unread(), []);
    for (name, text) in broken {
        assert_eq!(std::fs::read_to_string(folder.join(name)).expect("there"), text);
    }
    first
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    first.finish(&turn).await;
    assert_eq!(first.text("a.txt"), "one\nTWO\nthree\nFOUR\nfive\n");
}

/// The thread goes on before the person has decided, and proposes anew for the same file: the old one gives way, visibly.
/// One of another thread stands below it.
#[tokio::test]
async fn a_newer_proposal_supersedes_or_stands_on_an_older_one() {
    let script = json!([[apply_patch("c1", &patch(TWO_HUNKS))]]);
    let mut first = Stage::with(script, files(&[("a.txt", FIVE)])).await;
    let thread = first.thread().await;
    let (_, old, _) = proposed(&first, &thread).await;
    let script = json!([
        [apply_patch("c2", &patch(&update("a.txt", "two", "2")))],
        [apply_patch("c3", &patch(&update("a.txt", "two", "II")))],
        [say("mine is in")],
        [say("and mine")],
    ]);
    let (stage, _folders) = next(&mut first, End::Killed, script).await;
    stage.until_event("proposal/created").await;
    let other = {
        let started = stage.client.call("countersign/thread/start", json!({})).await;
        started["thread"]["id"].as_str().expect("an id").to_owned()
    };
    let other_turn = stage.start_turn(&other, "Do it").await;
    let of_other = stage
        .until(|method, params| method == "proposal/created" && params["threadId"] == other)
        .await
        .last()["proposal"]
        .clone();
    assert_eq!(of_other["stackedOn"], json!([old["id"]]));
    stage
        .client
        .call("countersign/thread/resume", json!({"threadId": thread}))
        .await;
    let turn = stage.start_turn(&thread, "Do it").await;
    let story = stage
        .until(|method, params| method == "proposal/updated" && params["proposal"]["status"] == "superseded")
        .await;
    let newer = story.one("proposal/created")["proposal"].clone();
    assert_eq!(story.last()["proposal"]["supersededBy"], newer["id"]);
    assert_eq!(story.last()["proposal"]["id"], old["id"]);
    assert_eq!(newer["stackedOn"], json!([of_other["id"]]));
    // Both change the same line: once one is taken, the other has no place.
    stage
        .decide(json!({"proposalId": newer["id"], "decision": "accept"}))
        .await;
    stage.finish(&turn).await;
    assert_eq!(stage.text("a.txt"), FIVE.replace("two", "II"));
    let read = stage
        .client
        .call("countersign/proposal/read", json!({"proposalId": of_other["id"]}))
        .await;
    assert_eq!(read["proposal"]["status"], "stale");
    stage
        .decide(json!({"proposalId": of_other["id"], "decision": "reject"}))
        .await;
    stage.finish(&other_turn).await;
    let told = stage.model.requests().iter().any(|request| {
        let body = request.body.to_string();
        body.contains("was never decided: the newer proposal")
    });
    assert!(told, "the model hears what became of the old one");
}

/// A formatter that runs over what was just applied is told from a change that was not made.
#[tokio::test]
async fn a_formatter_is_noticed_and_reported() {
    let before = "fn a() {\n    one();\n}\n";
    let script = json!([
        [apply_patch(
            "c1",
            &patch("*** Update File: a.rs\n@@\n fn a() {\n-    one();\n+    one( 1,2 );\n }")
        )],
        [say("done")]
    ]);
    let stage = Stage::with(script, files(&[("a.rs", before)])).await;
    stage.open("a.rs", before);
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    let asked = stage.client.expect_request("workspace/applyEdit").await;
    typed(&stage, "a.rs", 2, "fn a() {\n    one(1, 2);\n}\n");
    stage.client.answer(&asked, Ok(json!({"applied": true})));
    let story = stage.finish(&turn).await;
    assert_eq!(story.item("fileChange")["status"], "completed");
    assert_eq!(
        story.all("proposal/updated").pop().unwrap()["proposal"]["status"],
        "applied"
    );
    let output = stage.requests(2)[1].output("c1").unwrap();
    for words in [
        "Success",
        "changed further by the editor",
        "-    one( 1,2 );",
        "+    one(1, 2);",
    ] {
        assert!(output.contains(words), "{words}: {output}");
    }
    let warning = story.one("warning")["message"].as_str().expect("words");
    assert!(warning.contains("a.rs"), "{warning}");
}

/// An editor that sends a change in pieces, the last a moment later, as Neovim does with the last line of a file, has changed nothing
/// further; and what is undone is what it came to.
#[tokio::test]
async fn a_change_that_comes_in_pieces_is_no_other_change() {
    let script = json!([
        [apply_patch("c1", &patch(&update("a.txt", "one", "two")))],
        [say("done")]
    ]);
    let stage = Stage::with(script, files(&[("a.txt", "one\n")])).await;
    stage.open("a.txt", "one\n");
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    let asked = stage.client.expect_request("workspace/applyEdit").await;
    typed(&stage, "a.txt", 2, "two\n\n");
    stage.client.answer(&asked, Ok(json!({"applied": true})));
    tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    typed(&stage, "a.txt", 3, "two\n");
    let story = stage.finish(&turn).await;
    assert_eq!(story.item("fileChange")["status"], "completed");
    assert_eq!(story.count("warning"), 0, "{story:#?}");
    let output = stage.requests(2)[1].output("c1").expect("an answer");
    assert!(!output.contains("changed further"), "{output}");
    let mut documents = std::collections::BTreeMap::from([("a.txt".to_owned(), (3, "two\n".to_owned()))]);
    let undo = stage
        .client
        .request("countersign/turn/undo", json!({"threadId": thread}));
    let (undone, _) = tokio::join!(undo, stage.take_edit(&mut documents));
    assert_eq!(documents["a.txt"].1, "one\n", "{undone:?}");
    stage.until_event("turn/completed").await;
}

/// The person gives the file another name while the proposal waits.
#[tokio::test]
async fn a_file_that_is_renamed_in_the_editor_is_followed() {
    let script = json!([
        [apply_patch("c1", &patch(&update("a.txt", "one", "two")))],
        [say("done")]
    ]);
    let stage = Stage::with(script, files(&[("a.txt", "one\n")])).await;
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    std::fs::rename(stage.path("a.txt"), stage.path("b.txt")).expect("renamed");
    let (from, to) = (
        uri::from_path(&stage.path("a.txt")),
        uri::from_path(&stage.path("b.txt")),
    );
    let params = json!({"files": [{"oldUri": from, "newUri": to}]});
    stage.client.notify("workspace/didRenameFiles", params);
    let moved = stage
        .until(|method, params| {
            method == "proposal/updated" && params["proposal"]["files"][0]["path"] == json!(stage.path("b.txt"))
        })
        .await;
    assert_eq!(moved.last()["proposal"]["files"][0]["uri"], json!(to));
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.item("fileChange")["status"], "completed", "{story:#?}");
    assert_eq!(stage.text("b.txt"), "two\n");
    assert!(!stage.path("a.txt").exists());
}

/// Closed files that were written are announced, each with what happened to it.
#[tokio::test]
async fn files_written_on_the_disk_are_announced() {
    let body = "*** Add File: new.txt\n+x\n*** Delete File: gone.txt\n*** Update File: from.txt\n*** Move to: to.txt\n@@\n-m\n+M\n\
                *** Update File: a.txt\n@@\n-one\n+two";
    let script = json!([
        [apply_patch("c1", &patch(body))],
        [shell("c2", &["true"])],
        [say("done")]
    ]);
    let setting = files(&[("gone.txt", "x\n"), ("from.txt", "m\n"), ("a.txt", "one\n")]);
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    let story = stage.finish(&turn).await;
    let paths = story.one("file/changed")["paths"].as_array().expect("paths").clone();
    let mut seen: Vec<(String, String)> = paths
        .iter()
        .map(|changed| {
            let path = changed["path"].as_str().expect("a path");
            let name = path.rsplit('/').next().expect("a name");
            (name.to_owned(), changed["kind"].as_str().expect("a kind").to_owned())
        })
        .collect();
    seen.sort();
    let expected = [
        ("a.txt", "changed"),
        ("from.txt", "deleted"),
        ("gone.txt", "deleted"),
        ("new.txt", "created"),
        ("to.txt", "created"),
    ];
    assert_eq!(seen, expected.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
}
