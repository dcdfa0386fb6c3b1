//! What is accepted is in the files at once, while the rest of its proposal waits (`edits.apply = "each"`, the default).

use super::patch::{files, hunk, patch, proposed, together, update};
use super::proposals::{End, FIVE, TWO_HUNKS, next, refused, statuses, typed};
use super::stage::{Stage, apply_patch, eventually, say};
use crate::support::client::Reply;
use serde_json::{Value, json};
use std::collections::BTreeMap;

async fn accept(stage: &Stage, proposal: &Value, file: usize, number: usize) -> Value {
    let hunk = hunk(proposal, file, number);
    let params = json!({"proposalId": proposal["id"], "decision": "accept", "hunkIds": [hunk]});
    stage.decide(params).await
}

async fn until(stage: &Stage, wanted: &[&str]) -> Value {
    let story = stage
        .until(|method, params| method == "proposal/updated" && statuses(&params["proposal"]) == wanted)
        .await;
    story.last()["proposal"].clone()
}

/// One edit for each decision, and so one undo step in the editor; the hunks that wait follow it. The turn goes on when all is decided,
/// and the model is told of all together.
#[tokio::test]
async fn each_accepted_hunk_is_an_edit_of_its_own() {
    let body = format!("{TWO_HUNKS}\n{}", update("b.txt", "x", "y"));
    let script = json!([[apply_patch("c1", &patch(&body))], [say("done")]]);
    let stage = Stage::with(script, files(&[("a.txt", FIVE), ("b.txt", "x\n")])).await;
    stage.open("a.txt", FIVE);
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    let mut documents = BTreeMap::from([("a.txt".to_owned(), (1, FIVE.to_owned()))]);
    for (number, text, then) in [
        (0, FIVE.replace("two", "TWO"), ["applied", "pending", "pending"]),
        (
            1,
            FIVE.replace("two", "TWO").replace("four", "FOUR"),
            ["applied", "applied", "pending"],
        ),
    ] {
        accept(&stage, &proposal, 0, number).await;
        stage.take_edit(&mut documents).await;
        assert_eq!(documents["a.txt"].1, text);
        let now = until(&stage, &then).await;
        assert_eq!(now["status"], "partlyDecided");
        assert_eq!(
            stage.read(&thread).await["status"],
            "waitingOnApproval",
            "the turn waits on"
        );
        assert_eq!(stage.text("b.txt"), "x\n");
    }
    // What is in the file is decided.
    for (method, more) in [
        (
            "decide",
            json!({"decision": "reject", "hunkIds": [hunk(&proposal, 0, 0)]}),
        ),
        (
            "decide",
            json!({"decision": "reset", "hunkIds": [hunk(&proposal, 0, 0)]}),
        ),
        ("edit", json!({"hunkId": hunk(&proposal, 0, 0), "newText": "2"})),
    ] {
        let mut params = more;
        params["proposalId"] = proposal["id"].clone();
        let (kind, words) = refused(&stage, method, params).await;
        assert_eq!(kind, "hunkApplied");
        assert!(words.contains("Undo it in the editor"), "{words}");
    }
    // All of it means what waits.
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "reject", "feedback": "not that file"}))
        .await;
    let story = stage.finish(&turn).await;
    let last = story.all("proposal/updated").pop().expect("the end")["proposal"].clone();
    assert_eq!(
        (&last["status"], statuses(&last)),
        (&json!("applied"), vec!["applied", "applied", "rejected"])
    );
    let output = stage.requests(2)[1].output("c1").expect("an output");
    for words in [
        "Taken in part: 2 of 3 hunks are in the files.",
        "M a.txt (in the editor, unsaved)",
        "not that file",
    ] {
        assert!(output.contains(words), "{words}: {output}");
    }
    let shown = story.item("fileChange");
    assert_eq!(shown["applied"].as_array().map(Vec::len), Some(1), "{shown:#}");
    assert_eq!(stage.text("b.txt"), "x\n");
}

/// Where the person wants all together, nothing is in a file before the last decision.
#[tokio::test]
async fn together_nothing_is_applied_before_all_is_decided() {
    let script = json!([[apply_patch("c1", &patch(TWO_HUNKS))], [say("done")]]);
    let stage = Stage::with(script, together(&[("a.txt", FIVE)])).await;
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    accept(&stage, &proposal, 0, 0).await;
    stage.client.settle().await;
    assert_eq!(stage.text("a.txt"), FIVE);
    // Until then a yes can be taken back.
    let back = json!({"proposalId": proposal["id"], "decision": "reset", "hunkIds": [hunk(&proposal, 0, 0)]});
    assert_eq!(statuses(&stage.decide(back).await), ["pending", "pending"]);
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    stage.finish(&turn).await;
    assert_eq!(stage.text("a.txt"), FIVE.replace("two", "TWO").replace("four", "FOUR"));
}

/// A turn that is stopped, or whose proposal a newer one replaces, says what of it is in the files, and undo takes that out.
#[tokio::test]
async fn what_is_applied_is_told_and_undone_where_the_rest_is_never_decided() {
    let script = json!([[apply_patch("c1", &patch(TWO_HUNKS))], [say("Still here.")]]);
    let stage = Stage::with(script, files(&[("a.txt", FIVE)])).await;
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    accept(&stage, &proposal, 0, 0).await;
    until(&stage, &["applied", "pending"]).await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    let item = story.item("fileChange");
    assert_eq!(item["status"], "interrupted");
    let outcome = item["outcome"].as_str().expect("words");
    for words in ["stopped", "1 of 2 hunks", "a.txt hunk 2 (line 4): not applied"] {
        assert!(outcome.contains(words), "{words}: {outcome}");
    }
    let applied = item["applied"][0]["diff"].as_str().expect("a diff");
    assert!(applied.contains("+TWO") && !applied.contains("+FOUR"), "{applied}");
    assert_eq!(stage.text("a.txt"), FIVE.replace("two", "TWO"));
    stage.complete(&thread, "Still there?").await;
    let output = stage.requests(2)[1].output("c1").expect("an output");
    assert!(output.contains("1 of 2 hunks"), "{output}");
    let undone = stage
        .client
        .call("countersign/turn/undo", json!({"threadId": thread, "turnId": turn}))
        .await;
    stage.finish(undone["turnId"].as_str().expect("an id")).await;
    assert_eq!(stage.text("a.txt"), FIVE);
}

/// The person undoes in the editor what was applied: it counts as not taken, and the model hears so.
#[tokio::test]
async fn what_is_undone_in_the_editor_is_not_said_to_be_taken() {
    let script = json!([[apply_patch("c1", &patch(TWO_HUNKS))], [say("done")]]);
    let stage = Stage::with(script, files(&[("a.txt", FIVE)])).await;
    stage.open("a.txt", FIVE);
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    let mut documents = BTreeMap::from([("a.txt".to_owned(), (1, FIVE.to_owned()))]);
    accept(&stage, &proposal, 0, 0).await;
    stage.take_edit(&mut documents).await;
    until(&stage, &["applied", "pending"]).await;
    typed(&stage, "a.txt", 3, FIVE);
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "reject"}))
        .await;
    let story = stage.finish(&turn).await;
    let last = story.all("proposal/updated").pop().expect("the end")["proposal"].clone();
    assert_eq!(
        (&last["status"], statuses(&last)),
        (&json!("rejected"), vec!["rejected", "rejected"])
    );
    let output = stage.requests(2)[1].output("c1").expect("an output");
    assert!(output.contains("undone in the file by the person since"), "{output}");
}

/// What cannot be applied waits again, and the person is told why.
#[tokio::test]
async fn what_cannot_be_applied_waits_again() {
    let script = json!([[apply_patch("c1", &patch(TWO_HUNKS))], [say("done")]]);
    let stage = Stage::with(script, files(&[("a.txt", FIVE)])).await;
    stage.open("a.txt", FIVE);
    let reply = json!({"applied": false, "failureReason": "the editor is busy"});
    stage
        .client
        .on_request("workspace/applyEdit", move |_| Reply::Ok(reply.clone()));
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    accept(&stage, &proposal, 0, 0).await;
    let warned = stage.until_event("warning").await;
    let words = warned.last()["message"].as_str().expect("words");
    assert!(
        words.contains("waits again") && words.contains("the editor is busy"),
        "{words}"
    );
    let read = stage
        .client
        .call("countersign/proposal/read", json!({"proposalId": proposal["id"]}))
        .await;
    assert_eq!(statuses(&read["proposal"]), ["pending", "pending"]);
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "reject"}))
        .await;
    stage.finish(&turn).await;
    assert_eq!(stage.text("a.txt"), FIVE);
}

/// What is left to the end: a file that moves, and one outside the folders that may be written, which is asked about then.
#[tokio::test]
async fn what_needs_more_than_its_lines_is_applied_at_the_end() {
    let outside = tempfile::Builder::new().tempdir_in("/var/tmp").expect("a folder");
    let far = outside.path().canonicalize().expect("a path").join("far.txt");
    std::fs::write(&far, "x\n").expect("written");
    let body = [
        "*** Update File: a.txt\n*** Move to: b.txt\n@@\n one\n-two\n+TWO\n three\n@@\n-four\n+FOUR\n five".to_owned(),
        update(far.to_str().expect("a name"), "x", "y"),
    ]
    .join("\n");
    let script = json!([[apply_patch("c1", &patch(&body))], [say("done")]]);
    let stage = Stage::with(script, files(&[("a.txt", FIVE)])).await;
    stage
        .client
        .on_request("countersign/approval/permission", |_| Reply::Never);
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    accept(&stage, &proposal, 0, 0).await;
    let now = accept(&stage, &proposal, 1, 0).await;
    assert_eq!(statuses(&now), ["accepted", "pending", "accepted"]);
    stage.client.settle().await;
    assert_eq!(stage.text("a.txt"), FIVE);
    assert_eq!(std::fs::read_to_string(&far).expect("it is there"), "x\n");
    accept(&stage, &proposal, 0, 1).await;
    let asked = stage.until_event("approval/requested").await;
    let id = asked.last()["approval"]["id"].clone();
    stage
        .client
        .call(
            "countersign/approval/respond",
            json!({"approvalId": id, "response": {"decision": "acceptForSession"}}),
        )
        .await;
    stage.finish(&turn).await;
    assert_eq!(stage.text("b.txt"), FIVE.replace("two", "TWO").replace("four", "FOUR"));
    assert_eq!(std::fs::read_to_string(&far).expect("it is there"), "y\n");
}

/// The next server knows what is in the files, and applies the rest as it is accepted.
#[tokio::test]
async fn the_next_server_goes_on_where_the_last_one_was() {
    for end in [End::Killed, End::Shutdown] {
        let body = format!("{TWO_HUNKS}\n{}", update("b.txt", "x", "y"));
        let script = json!([[apply_patch("c1", &patch(&body))]]);
        let mut first = Stage::with(script, files(&[("a.txt", FIVE), ("b.txt", "x\n")])).await;
        let thread = first.thread().await;
        let (_, proposal, _) = proposed(&first, &thread).await;
        accept(&first, &proposal, 0, 0).await;
        until(&first, &["applied", "pending", "pending"]).await;
        let kept = first.client.home().join("proposals");
        eventually("it is on the disk", || {
            let files = std::fs::read_dir(&kept).into_iter().flatten().flatten();
            files
                .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
                .any(|text| text.contains("\"applied\""))
        })
        .await;
        let (stage, _folders) = next(&mut first, end, json!([[say("I see.")]])).await;
        let shown = stage.until_event("proposal/created").await;
        let again = shown.last()["proposal"].clone();
        assert_eq!(statuses(&again), ["applied", "pending", "pending"]);
        accept(&stage, &again, 1, 0).await;
        until(&stage, &["applied", "pending", "applied"]).await;
        assert_eq!(stage.text("b.txt"), "y\n");
        stage
            .decide(json!({"proposalId": again["id"], "decision": "reject"}))
            .await;
        let story = stage
            .until(|method, params| method == "proposal/updated" && params["proposal"]["status"] == "applied")
            .await;
        assert_eq!(statuses(&story.last()["proposal"]), ["applied", "rejected", "applied"]);
        assert_eq!(stage.text("a.txt"), FIVE.replace("two", "TWO"));
        stage.resume(json!({"threadId": thread})).await;
        stage.complete(&thread, "Go on").await;
        let body = stage.requests(1)[0].body.to_string();
        assert!(body.contains("Taken in part: 2 of 3"), "{body}");
    }
}
