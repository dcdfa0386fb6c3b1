//! Folders outside the workspace that a patch needs, and patches that nobody is asked about.

use super::stage::{Setting, Stage, Story, apply_patch, bash, plugin, say};
use crate::support::client::{Asked, Reply};
use crate::support::work::{self, Work, titles};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const PERMISSION: &str = "countersign/approval/permission";

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch")
}

fn update(name: &str, from: &str, to: &str) -> String {
    format!("*** Update File: {name}\n@@\n-{from}\n+{to}")
}

fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    files.iter().map(owned).collect()
}

/// A workspace beside `sib`, a folder outside of it with one file, in a folder that commands may not write.
async fn beside(config: &str, script: Value) -> Stage {
    let setting = Setting {
        config: config.to_owned(),
        files: files(&[("a.txt", "one\n"), ("../sib/there.txt", "old\n")]),
        ..Setting::default()
    };
    Stage::with(script, setting).await
}

fn sibling(stage: &Stage) -> PathBuf {
    stage.dir.parent().expect("a folder above").join("sib")
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Runs up to the next proposal and accepts all of it. Gives the proposal as it was made.
async fn accept_next(stage: &Stage) -> (Value, Story) {
    let story = stage.until_event("proposal/created").await;
    let proposal = story.last()["proposal"].clone();
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    (proposal, story)
}

async fn asked(stage: &Stage) -> Asked {
    stage.client.expect_request(PERMISSION).await
}

async fn with_settings(stage: &Stage, thread: &str, settings: Value) -> Story {
    let input = json!([{"type": "text", "text": "More"}]);
    stage
        .run_with(json!({"threadId": thread, "input": input, "settings": settings}))
        .await
}

/// Shows S-140, S-141, S-169.
#[tokio::test]
async fn a_folder_is_asked_for_once_hunks_are_accepted_and_a_yes_holds_for_the_session() {
    for yes in ["accept", "acceptForSession"] {
        let script = json!([
            {"when": {"last_user": "Go", "not": {"output": "c1"}}, "outputs":
                [apply_patch("c1", &patch(&format!("{}\n*** Add File: ../sib/new.txt\n+new", update("a.txt", "one", "two"))))]},
            {"when": {"output": "c1", "not": {"output": "c2"}}, "outputs":
                [apply_patch("c2", &patch(&update("../sib/there.txt", "old", "changed")))]},
            {"when": {"output": "c2", "not": {"output": "c3"}}, "outputs": [bash("c3", "echo x > ../sib/by-command")]},
            {"when": {"last_user": "Another", "not": {"output": "c4"}}, "outputs":
                [apply_patch("c4", &patch("*** Add File: ../sib/four.txt\n+four"))]},
            {"repeat": true, "outputs": [say("done")]},
        ]);
        let stage = beside("", script).await;
        stage.client.on_request(PERMISSION, |_| Reply::Later);
        let sib = sibling(&stage);
        let thread = stage.thread().await;
        let turn = stage.start_turn(&thread, "Go").await;
        let (proposal, _) = accept_next(&stage).await;
        assert_eq!(proposal["grantRoot"], json!(sib));
        let reason = proposal["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("Outside the workspace") && reason.contains("sib/new.txt"),
            "{reason}"
        );
        let question = asked(&stage).await;
        let story = stage.until_event("approval/requested").await;
        let params = &question.params;
        assert_eq!(story.last()["approval"], *params);
        assert_eq!(
            (&params["threadId"], &params["turnId"], &params["itemId"]),
            (&json!(thread), &json!(turn), &json!("c1"))
        );
        assert_eq!(params["proposalId"], proposal["id"]);
        assert_eq!((&params["grantRoot"], &params["folders"]), (&json!(sib), &json!([sib])));
        assert_eq!(params["paths"], json!([sib.join("new.txt")]));
        let reason = params["reason"].as_str().expect("a reason");
        for part in [sib.to_str().unwrap(), "new.txt", "commands", "until this session ends"] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
        assert_eq!(
            params["availableDecisions"],
            json!(["acceptForSession", "decline", "cancel"])
        );
        assert_eq!(stage.read(&thread).await["status"], "waitingOnApproval");
        // Nothing is written before the answer, inside the workspace neither.
        assert_eq!(
            (text(&stage.path("a.txt")).as_deref(), text(&sib.join("new.txt"))),
            (Some("one\n"), None)
        );
        stage.client.answer(&question, Ok(json!({ "decision": yes })));
        let story = stage.until_event("item/completed").await;
        assert_eq!(story.one("approval/resolved")["decision"], yes);
        assert_eq!(story.item("fileChange")["status"], "completed");
        assert!(
            story.item("fileChange").get("autoApproved").is_none(),
            "somebody was asked"
        );
        assert_eq!(text(&sib.join("new.txt")).as_deref(), Some("new\n"));
        assert_eq!(stage.text("a.txt"), "two\n");
        // In the same turn, the next patch there and a command.
        let (second, _) = accept_next(&stage).await;
        assert!(
            second.get("grantRoot").is_none() && second.get("reason").is_none(),
            "{second}"
        );
        let rest = stage.finish(&turn).await;
        assert_eq!(rest.count("approval/requested"), 0);
        assert_eq!(text(&sib.join("there.txt")).as_deref(), Some("changed\n"));
        assert_eq!(text(&sib.join("by-command")).as_deref(), Some("x\n"));
        // Another session knows nothing of it.
        let other = stage.thread().await;
        let turn = stage.start_turn(&other, "Another").await;
        let (proposal, _) = accept_next(&stage).await;
        assert_eq!(proposal["grantRoot"], json!(sib));
        let question = asked(&stage).await;
        stage.client.answer(&question, Ok(json!({"decision": "decline"})));
        stage.finish(&turn).await;
        assert_eq!(text(&sib.join("four.txt")), None);
    }
}

/// Shows S-105, S-116, S-128, S-141.
#[tokio::test]
async fn whatever_is_no_clear_yes_writes_nothing_at_all() {
    let answers = [
        Reply::Ok(json!({"decision": "decline", "feedback": " keep it here "})),
        Reply::Ok(json!({"decision": "approved"})),
        Reply::Ok(json!({"decision": ["accept"]})),
        Reply::Ok(json!({"decision": {"accept": true}})),
        Reply::Ok(json!("acceptForSession")),
        Reply::Ok(Value::Null),
        Reply::Ok(json!([])),
        Reply::Error(-32603, "the dialog broke"),
        Reply::Error(-32601, "no such method"),
    ];
    let body = format!("{}\n*** Add File: ../sib/new.txt\n+new", update("a.txt", "one", "two"));
    let mut steps: Vec<Value> = (0..answers.len())
        .map(|number| json!([apply_patch(&format!("c{number}"), &patch(&body))]))
        .collect();
    steps.push(json!([say("done")]));
    let stage = beside("", json!(steps)).await;
    let (count, replies) = (answers.len(), answers);
    stage.client.on_request(PERMISSION, move |params| {
        let number: usize = params["itemId"].as_str().unwrap()[1..].parse().unwrap();
        replies[number].clone()
    });
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    for number in 0..count {
        let (proposal, _) = accept_next(&stage).await;
        let story = stage.until_event("item/completed").await;
        assert_eq!(story.one("approval/resolved")["decision"], "decline", "{number}");
        assert_eq!(story.item("fileChange")["status"], "declined", "{number}");
        let last = story.all("proposal/updated").pop().unwrap();
        assert_eq!(
            (&last["proposal"]["id"], &last["proposal"]["status"]),
            (&proposal["id"], &json!("rejected"))
        );
    }
    stage.finish(&turn).await;
    assert_eq!(stage.text("a.txt"), "one\n", "all or none");
    assert!(!sibling(&stage).join("new.txt").exists());
    let request = &stage.requests(count + 1)[count];
    for number in 0..count {
        let output = request.output(&format!("c{number}")).unwrap();
        assert!(
            output.contains("rejected") && output.contains("sib") && !output.contains("Success"),
            "{number}: {output}"
        );
        assert_eq!(output.contains("keep it here"), number == 0, "{number}: {output}");
    }
}

/// Shows S-105.
#[tokio::test]
async fn cancel_stops_the_turn_and_writes_nothing() {
    let script = json!([
        [apply_patch("c1", &patch("*** Add File: ../sib/new.txt\n+new"))],
        [say("later")]
    ]);
    let stage = beside("", script).await;
    stage
        .client
        .on_request(PERMISSION, |_| Reply::Ok(json!({"decision": "cancel"})));
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    accept_next(&stage).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    assert_eq!(story.one("approval/resolved")["decision"], "cancel");
    assert!(!sibling(&stage).join("new.txt").exists());
    stage.requests(1);
}

/// Shows S-110, S-131.
#[tokio::test]
async fn stopping_the_turn_withdraws_the_question_and_answers_from_elsewhere_count() {
    let add = |id: &str| json!([apply_patch(id, &patch("*** Add File: ../sib/new.txt\n+new"))]);
    let stage = beside("", json!([add("c1"), add("c2"), [say("done")]])).await;
    stage.client.on_request(PERMISSION, |_| Reply::Later);
    let new = sibling(&stage).join("new.txt");
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    accept_next(&stage).await;
    let question = asked(&stage).await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    assert!(
        story
            .one("approval/resolved")
            .get("decision")
            .is_none_or(Value::is_null)
    );
    stage.client.expect_withdrawn(&question).await;
    let respond = |question: &Asked| {
        let params = json!({"approvalId": question.params["id"], "response": {"decision": "accept"}});
        stage.client.call("countersign/approval/respond", params)
    };
    assert_eq!(respond(&question).await, json!({"taken": false}));
    stage.client.answer(&question, Ok(json!({"decision": "accept"})));
    stage.client.settle().await;
    assert!(!new.exists());
    // The next time it is answered by another surface.
    let turn = stage
        .start_turn_with(json!({"threadId": thread, "input": [{"type": "text", "text": "Go on"}]}))
        .await;
    let late = stage
        .until(|name, params| name == "proposal/created" && params["turnId"] == json!(turn))
        .await;
    stage
        .decide(json!({"proposalId": late.last()["proposal"]["id"], "decision": "accept"}))
        .await;
    let question = asked(&stage).await;
    assert_eq!(respond(&question).await, json!({"taken": true}));
    stage.client.expect_withdrawn(&question).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.one("approval/resolved")["decision"], "accept");
    assert_eq!(text(&new).as_deref(), Some("new\n"));
    assert_eq!(respond(&question).await, json!({"taken": false}));
}

/// Shows S-140.
#[tokio::test]
async fn only_folders_of_accepted_hunks_are_asked_for() {
    let body = format!("{}\n*** Add File: ../sib/new.txt\n+new", update("a.txt", "one", "two"));
    let script = json!([[apply_patch("c1", &patch(&body))], [say("done")]]);
    let stage = beside("", script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let story = stage.until_event("proposal/created").await;
    let id = &story.last()["proposal"]["id"];
    for (file, decision) in [
        (stage.path("a.txt"), "accept"),
        (sibling(&stage).join("new.txt"), "reject"),
    ] {
        stage
            .decide(json!({"proposalId": id, "path": file, "decision": decision}))
            .await;
    }
    let story = stage.finish(&turn).await;
    assert_eq!(story.count("approval/requested"), 0);
    assert_eq!(stage.text("a.txt"), "two\n");
    assert!(!sibling(&stage).join("new.txt").exists());
}

/// Shows S-108, S-140.
#[tokio::test]
async fn several_folders_are_one_question_and_a_move_names_where_it_goes() {
    let body = [
        "*** Update File: a.txt\n*** Move to: ../sib/moved/a.txt\n@@\n-one\n+two",
        "*** Add File: ../other/new/deep.txt\n+new",
        "*** Delete File: ../sib/there.txt",
        "*** Add File: b.txt\n+b",
    ]
    .join("\n");
    let more = patch("*** Add File: ../other/new/more.txt\n+more");
    let script = json!([
        [apply_patch("c1", &patch(&body))],
        [apply_patch("c2", &more)],
        [say("done")]
    ]);
    let stage = beside("", script).await;
    stage.client.on_request(PERMISSION, |_| Reply::Later);
    let (sib, above) = (sibling(&stage), stage.dir.parent().unwrap().to_owned());
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let (proposal, story) = accept_next(&stage).await;
    let moved = json!({"type": "update", "movePath": sib.join("moved/a.txt")});
    let kinds = [
        (stage.path("a.txt"), moved, "-one\n+two"),
        (above.join("other/new/deep.txt"), json!({"type": "add"}), "+new"),
        (sib.join("there.txt"), json!({"type": "delete"}), "-old"),
        (stage.path("b.txt"), json!({"type": "add"}), "+b"),
    ];
    let started = story.all("item/started").pop().unwrap();
    for (number, (path, kind, diff)) in kinds.iter().enumerate() {
        let file = &proposal["files"][number];
        assert_eq!((&file["path"], &file["kind"]), (&json!(path), kind));
        let change = &started["item"]["changes"][number];
        assert_eq!((&change["path"], &change["kind"]), (&json!(path), kind));
        assert!(change["diff"].as_str().unwrap().contains(diff), "{change}");
    }
    assert_eq!(proposal["itemId"], "c1");
    assert_eq!(proposal["files"][1]["hunks"][0]["newText"], "new\n");
    assert_eq!(proposal["grantRoot"], json!(sib.join("moved")));
    let question = asked(&stage).await;
    // `sib` covers the folder in it that is still to be made.
    assert_eq!(question.params["folders"], json!([above.join("other/new"), sib]));
    assert_eq!(
        question.params["paths"],
        json!([
            sib.join("moved/a.txt"),
            above.join("other/new/deep.txt"),
            sib.join("there.txt")
        ])
    );
    stage.client.answer(&question, Ok(json!({"decision": "accept"})));
    let story = stage.until_event("item/completed").await;
    assert_eq!(story.count("approval/requested"), 1, "{story:#?}");
    assert_eq!(story.item("fileChange")["status"], "completed", "{story:#?}");
    // A folder that the patch has made is as open as one that was there.
    accept_next(&stage).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.count("approval/requested"), 0);
    assert_eq!(text(&above.join("other/new/more.txt")).as_deref(), Some("more\n"));
    assert_eq!(text(&sib.join("moved/a.txt")).as_deref(), Some("two\n"));
    assert_eq!(text(&above.join("other/new/deep.txt")).as_deref(), Some("new\n"));
    assert!(!stage.path("a.txt").exists() && !sib.join("there.txt").exists());
}

/// A link is never opened: what it leads to is named and opened, and nothing else.
///
/// Shows S-140, S-148.
#[tokio::test]
async fn a_folder_behind_a_link_is_asked_for_by_its_real_name() {
    let script = json!([
        [apply_patch("c1", &patch("*** Add File: out/new.txt\n+new"))],
        [apply_patch("c2", &patch("*** Add File: file/x.txt\n+x"))],
        [apply_patch("c3", &patch(&update("hard.txt", "old", "near")))],
        [bash("c4", "echo y > ../other/y; echo z > ../sib/z")],
        [say("done")],
    ]);
    let stage = beside("", script).await;
    let (sib, other) = (sibling(&stage), stage.dir.parent().unwrap().join("other"));
    std::fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink(&sib, stage.path("out")).unwrap();
    std::os::unix::fs::symlink(other.join("missing"), stage.path("file")).unwrap();
    std::fs::hard_link(sib.join("there.txt"), stage.path("hard.txt")).unwrap();
    stage.client.on_request(PERMISSION, |_| Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let (proposal, _) = accept_next(&stage).await;
    assert_eq!(proposal["grantRoot"], json!(sib));
    assert!(proposal["reason"].as_str().unwrap().contains(sib.to_str().unwrap()));
    let question = asked(&stage).await;
    assert_eq!(question.params["folders"], json!([sib]));
    // While it waits, the link is turned elsewhere: the yes was for the folder that was named.
    std::fs::remove_file(stage.path("out")).unwrap();
    std::os::unix::fs::symlink(&other, stage.path("out")).unwrap();
    stage.client.answer(&question, Ok(json!({"decision": "accept"})));
    let story = stage.until_event("item/completed").await;
    assert_eq!(story.item("fileChange")["status"], "failed", "{story:#?}");
    // A hard link: the file of the workspace is another one afterwards, the one outside stays.
    accept_next(&stage).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.count("approval/requested"), 0);
    assert_eq!(stage.text("hard.txt"), "near\n");
    assert_eq!(text(&sib.join("there.txt")).as_deref(), Some("old\n"));
    assert!(!other.join("new.txt").exists() && !other.join("missing").exists() && !other.join("y").exists());
    assert_eq!(
        text(&sib.join("z")).as_deref(),
        Some("z\n"),
        "the folder that was named is open"
    );
    let request = &stage.requests(5)[4];
    assert!(!request.output("c1").unwrap().contains("Success"));
    let refused = request.output("c2").unwrap();
    assert!(refused.contains("link"), "{refused}");
}

/// The folder itself becomes a link while the person reads the question, or later: what was named is not there any more.
///
/// Shows S-148.
#[tokio::test]
async fn a_yes_to_a_folder_is_no_yes_to_a_link_in_its_place() {
    let script = json!([
        [apply_patch("c1", &patch("*** Add File: ../sib/one.txt\n+x"))],
        [bash(
            "c2",
            "echo x > ../sib/two.txt; echo x > ../other/three.txt; echo tried"
        )],
        [apply_patch("c3", &patch("*** Add File: ../sib/four.txt\n+x"))],
        [say("done")],
    ]);
    let stage = beside("", script).await;
    let (sib, other) = (sibling(&stage), stage.dir.parent().unwrap().join("other"));
    std::fs::create_dir(&other).unwrap();
    stage.client.on_request(PERMISSION, |_| Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    accept_next(&stage).await;
    let question = asked(&stage).await;
    assert_eq!(question.params["folders"], json!([sib]));
    std::fs::rename(&sib, sib.with_extension("was")).unwrap();
    std::os::unix::fs::symlink(&other, &sib).unwrap();
    stage.client.answer(&question, Ok(json!({"decision": "accept"})));
    let story = stage.until_event("item/completed").await;
    assert_eq!(story.item("fileChange")["status"], "failed", "{story:#?}");
    let (proposal, _) = accept_next(&stage).await;
    assert_eq!(
        proposal["grantRoot"],
        json!(other),
        "it is asked about by its real name"
    );
    let question = asked(&stage).await;
    assert_eq!(question.params["folders"], json!([other]));
    stage.client.answer(&question, Ok(json!({"decision": "decline"})));
    stage.finish(&turn).await;
    let left: Vec<_> = std::fs::read_dir(&other).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// What nobody can open is refused, and not even shown.
///
/// Shows S-138, S-139.
#[tokio::test]
async fn places_that_are_never_opened_are_refused_without_a_question() {
    let folder = tempfile::Builder::new().prefix("agent").tempdir_in("/var/tmp").unwrap();
    let above = folder.path().canonicalize().unwrap();
    let (dir, person) = (above.join("deep/work"), above.join("people/ada"));
    let home = person.join(".countersign");
    for made in [&dir, &home, &person.join(".ssh"), &above.join("sib/.git/hooks")] {
        std::fs::create_dir_all(made).unwrap();
    }
    let places = [
        (person.join(".ssh/config"), "keys and passwords"),
        (person.join(".netrc"), "keys and passwords"),
        (home.join("config.toml.new"), "cannot be read"),
        (home.join("auth.json"), "kept from the model"),
        (above.join("sib/.git/hooks/pre-commit"), "protected"),
        (above.join("sib/.agents/x"), "protected"),
        (above.join("people/x.txt"), "never opened"),
        (PathBuf::from("/countersign-test.txt"), "never opened"),
        (PathBuf::from("/proc/countersign-test"), "kernel"),
        (PathBuf::from("/dev/shm/countersign-test"), "kernel"),
        (dir.join("~/x.txt"), "~"),
        (dir.join(".git/config.new"), "protected"),
    ];
    let mut steps: Vec<Value> = Vec::new();
    for (number, (path, _)) in places.iter().enumerate() {
        let body = format!(
            "*** Add File: ok-{number}.txt\n+x\n*** Add File: {}\n+x",
            path.display()
        );
        steps.push(json!([apply_patch(&format!("c{number}"), &patch(&body))]));
    }
    steps.push(json!([say("done")]));
    let setting = Setting {
        folder: Some(dir.clone()),
        home: Some(home),
        ..Setting::default()
    };
    let stage = Stage::with(json!(steps), setting).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(
        (story.count("proposal/created"), story.count("approval/requested")),
        (0, 0)
    );
    let request = &stage.requests(places.len() + 1)[places.len()];
    for (number, (path, part)) in places.iter().enumerate() {
        let output = request.output(&format!("c{number}")).unwrap();
        assert!(output.contains(part), "{}: {output}", path.display());
        assert!(!path.exists() && !dir.join(format!("ok-{number}.txt")).exists());
    }
}

/// The home folder can be opened, but the question says what that means.
#[tokio::test]
async fn the_home_folder_is_named_as_what_it_is() {
    let folder = tempfile::Builder::new().prefix("agent").tempdir_in("/var/tmp").unwrap();
    let person = folder.path().canonicalize().unwrap().join("ada");
    let dir = folder.path().canonicalize().unwrap().join("work");
    std::fs::create_dir_all(&dir).unwrap();
    let script = json!([
        [apply_patch(
            "c1",
            &patch(&format!("*** Add File: {}\n+x", person.join("notes.txt").display()))
        )],
        [say("done")]
    ]);
    let setting = Setting {
        folder: Some(dir),
        home: Some(person.join(".countersign")),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.client.on_request(PERMISSION, |_| Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    accept_next(&stage).await;
    let question = asked(&stage).await;
    assert_eq!(question.params["grantRoot"], json!(person));
    let reason = question.params["reason"].as_str().unwrap();
    assert!(reason.contains("whole home folder"), "{reason}");
    stage.client.answer(&question, Ok(json!({"decision": "decline"})));
    stage.finish(&turn).await;
    assert!(!person.join("notes.txt").exists());
}

/// A folder that was writable when the patch was planned, and is not when it is written.
///
/// Shows S-147.
#[tokio::test]
async fn a_folder_that_lost_its_place_meanwhile_is_asked_for_and_the_patch_applied_once_more() {
    for (decision, written) in [("accept", true), ("decline", false)] {
        let folder = tempfile::Builder::new().prefix("agent").tempdir_in("/var/tmp").unwrap();
        let above = folder.path().canonicalize().unwrap();
        let (dir, real, other) = (above.join("work"), above.join("real"), above.join("other"));
        for made in [&dir, &real, &other, &above.join("gone")] {
            std::fs::create_dir(made).unwrap();
        }
        std::fs::write(real.join("f.txt"), "one\n").unwrap();
        std::os::unix::fs::symlink(&real, above.join("root")).unwrap();
        let body = "*** Update File: ../real/f.txt\n*** Move to: here.txt\n@@\n-one\n+two\n*** Add File: ../gone/new.txt\n+new";
        let setting = Setting {
            folder: Some(dir.clone()),
            tables: format!(
                "[sandbox_workspace_write]\nwritable_roots = ['{}', '{}']",
                above.join("root").display(),
                above.join("gone").display()
            ),
            ..Setting::default()
        };
        let stage = Stage::with(json!([[apply_patch("c1", &patch(body))], [say("done")]]), setting).await;
        stage.client.on_request(PERMISSION, |_| Reply::Later);
        let thread = stage.thread().await;
        let turn = stage.start_turn(&thread, "Go").await;
        let story = stage.until_event("proposal/created").await;
        let proposal = &story.last()["proposal"];
        assert!(
            proposal.get("grantRoot").is_none() && proposal.get("reason").is_none(),
            "{proposal}"
        );
        // The root is another folder now, and the other one is gone.
        std::fs::remove_file(above.join("root")).unwrap();
        std::os::unix::fs::symlink(&other, above.join("root")).unwrap();
        std::fs::remove_dir(above.join("gone")).unwrap();
        stage
            .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
            .await;
        let question = asked(&stage).await;
        assert_eq!(question.params["grantRoot"], json!(real), "the source of the move");
        assert_eq!(question.params["folders"], json!([real, above.join("gone")]));
        stage.client.answer(&question, Ok(json!({ "decision": decision })));
        let story = stage.finish(&turn).await;
        assert_eq!(story.count("approval/requested"), 1);
        let status = if written { "completed" } else { "declined" };
        assert_eq!(story.item("fileChange")["status"], status, "{story:#?}");
        assert_eq!(text(&dir.join("here.txt")).is_some(), written);
        assert_eq!(text(&real.join("f.txt")).is_some(), !written);
        assert_eq!(text(&above.join("gone/new.txt")).is_some(), written);
        let output = stage.requests(2)[1].output("c1").unwrap();
        assert_eq!(output.contains("Success"), written, "{output}");
    }
}

const WORKSPACE: &str = "edits = { approve = \"workspace\" }";

/// Shows S-138, S-142.
#[tokio::test]
async fn with_the_setting_a_patch_inside_the_workspace_asks_nobody_and_says_so() {
    let add = |id: &str, name: &str| json!([apply_patch(id, &patch(&format!("*** Add File: {name}\n+x")))]);
    let script = json!([
        [apply_patch(
            "c1",
            &patch(&format!(
                "{}\n*** Add File: sub/b.txt\n+b",
                update("a.txt", "one", "two")
            ))
        )],
        [say("one")],
        add("c2", "untrusted.txt"),
        [say("two")],
        add("c3", "read-only.txt"),
        [say("three")],
        add("c4", "ask.txt"),
        [say("four")],
        add("c5", "on-failure.txt"),
        [say("five")],
        add("c6", ".git/x"),
        [say("six")],
        add("c7", "../sib/x.txt"),
        add("c8", "../sib/y.txt"),
        [say("seven")],
        add("c9", "never.txt"),
        add("c10", "../other/never.txt"),
        [say("eight")],
    ]);
    let stage = beside(WORKSPACE, script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    let created = &story.one("proposal/created")["proposal"];
    assert_eq!((&created["autoApproved"], created.get("reason")), (&json!(true), None));
    assert_eq!(story.all("item/started")[1]["item"]["autoApproved"], true);
    let item = story.item("fileChange");
    assert_eq!(
        (&item["autoApproved"], &item["status"]),
        (&json!(true), &json!("completed"))
    );
    assert!(item["outcome"].as_str().unwrap().contains("without asking"), "{item}");
    let statuses: Vec<_> = story
        .all("thread/statusChanged")
        .iter()
        .map(|event| &event["status"])
        .collect();
    assert!(!statuses.contains(&&json!("waitingOnApproval")), "{statuses:?}");
    assert_eq!(
        (stage.text("a.txt"), stage.text("sub/b.txt")),
        ("two\n".to_owned(), "b\n".to_owned())
    );
    let diff = story.one("turn/diff")["diff"].as_str().unwrap();
    assert!(diff.contains("+two"), "{diff}");
    // The policies ask all the same, and say why.
    let input = json!([{"type": "text", "text": "More"}]);
    for (settings, name, why) in [
        (json!({"approvalPolicy": "untrusted"}), "untrusted.txt", "untrusted"),
        (
            json!({"approvalPolicy": "on-request", "sandboxPolicy": {"type": "readOnly"}}),
            "read-only.txt",
            "read-only",
        ),
        (
            json!({"sandboxPolicy": {"type": "workspaceWrite"}, "editApproval": "ask"}),
            "ask.txt",
            "",
        ),
    ] {
        let turn = stage
            .start_turn_with(json!({"threadId": thread, "input": input, "settings": settings}))
            .await;
        let story = stage.until_event("proposal/created").await;
        let proposal = &story.last()["proposal"];
        assert!(proposal.get("autoApproved").is_none(), "{proposal}");
        assert!(
            proposal["reason"].as_str().unwrap_or_default().contains(why),
            "{proposal}"
        );
        assert!(!stage.path(name).exists());
        stage
            .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
            .await;
        let story = stage.finish(&turn).await;
        assert!(story.item("fileChange").get("autoApproved").is_none());
        assert_eq!(stage.text(name), "x\n");
    }
    let story = with_settings(
        &stage,
        &thread,
        json!({"editApproval": "workspace", "approvalPolicy": "on-failure"}),
    )
    .await;
    assert_eq!(story.item("fileChange")["autoApproved"], true);
    let story = with_settings(&stage, &thread, json!({"approvalPolicy": "on-request"})).await;
    assert_eq!(
        (story.count("proposal/created"), &story.item("fileChange")["status"]),
        (0, &json!("failed")),
        "protected"
    );
    // Outside is asked, both questions; with the folder open, the next one there is inside.
    stage
        .client
        .on_request(PERMISSION, |_| Reply::Ok(json!({"decision": "accept"})));
    let turn = stage.start_turn_with(json!({"threadId": thread, "input": input})).await;
    let (proposal, _) = accept_next(&stage).await;
    assert!(
        proposal.get("autoApproved").is_none() && proposal["grantRoot"].is_string(),
        "{proposal}"
    );
    let story = stage.finish(&turn).await;
    assert_eq!(story.count("approval/requested"), 1);
    let items = story.items("fileChange");
    assert_eq!(
        (items[0].get("autoApproved"), items[1].get("autoApproved")),
        (None, Some(&json!(true)))
    );
    assert!(sibling(&stage).join("x.txt").exists() && sibling(&stage).join("y.txt").exists());
    // Under never inside is applied, and outside refused.
    let story = with_settings(&stage, &thread, json!({"approvalPolicy": "never"})).await;
    let items = story.items("fileChange");
    let [applied, refused] = ["completed", "failed"].map(|status| {
        let found: Vec<_> = items.iter().filter(|item| item["status"] == status).collect();
        assert_eq!(found.len(), 1, "{items:#?}");
        found[0]
    });
    assert_eq!(
        (&applied["autoApproved"], refused.get("autoApproved")),
        (&json!(true), None)
    );
    assert_eq!(story.count("approval/requested"), 0);
    assert!(stage.path("never.txt").exists() && !stage.path("../other/never.txt").exists());
    let requests = stage.model.requests();
    let output = requests.last().unwrap().output("c10").unwrap();
    assert!(output.contains("never"), "{output}");
}

/// Where commands may write everywhere, the review of the patch is the only question.
#[tokio::test]
async fn with_full_access_there_is_no_folder_to_ask_for() {
    let add = |id: &str, name: &str| {
        json!([apply_patch(
            id,
            &patch(&format!("*** Add File: ../sib/deep/{name}\n+x"))
        )])
    };
    let script = json!([add("c1", "one.txt"), [say("one")], add("c2", "two.txt"), [say("two")]]);
    let stage = beside("sandbox_mode = \"danger-full-access\"", script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let (proposal, _) = accept_next(&stage).await;
    assert!(proposal.get("grantRoot").is_none(), "{proposal}");
    assert!(proposal["reason"].as_str().unwrap().contains("Outside the workspace"));
    let story = stage.finish(&turn).await;
    assert_eq!(story.count("approval/requested"), 0);
    let story = with_settings(&stage, &thread, json!({"approvalPolicy": "never"})).await;
    assert_eq!(story.item("fileChange")["autoApproved"], true);
    let deep = sibling(&stage).join("deep");
    assert!(deep.join("one.txt").exists() && deep.join("two.txt").exists());
}

/// The setting comes from each place that settings come from.
#[tokio::test]
async fn the_setting_can_be_made_for_one_conversation() {
    let add = |name: &str| json!([apply_patch(name, &patch(&format!("*** Add File: {name}\n+x")))]);
    let script = json!([
        add("one.txt"),
        [say("one")],
        add("two.txt"),
        [say("two")],
        add("three.txt"),
        [say("three")]
    ]);
    let stage = Stage::new(script).await;
    for (params, seen) in [
        (json!({"settings": {"editApproval": "workspace"}}), "workspace"),
        (json!({"config": {"edits.approve": "workspace"}}), "workspace"),
        (json!({"config": {"edits": {"approve": "workspace"}}}), "workspace"),
    ] {
        let started = stage.start_thread(params).await;
        assert_eq!(started["settings"]["editApproval"], seen);
        let thread = started["thread"]["id"].as_str().unwrap();
        let story = stage.complete(thread, "Go").await;
        assert_eq!(story.item("fileChange")["autoApproved"], true);
    }
    let wrong = json!({"config": {"edits.approve": "always"}});
    let error = stage
        .client
        .request("countersign/thread/start", wrong)
        .await
        .unwrap_err();
    assert!(error.message.contains("edits.approve"), "{error:?}");
}

/// Open documents are edited by the editor only, whoever accepted; and what it refuses is reported, not forced.
#[tokio::test]
async fn what_nobody_was_asked_about_still_goes_through_the_editor() {
    let body = |from: &str, to: &str| patch(&format!("{}\n*** Add File: {to}.txt\n+x", update("a.txt", from, to)));
    let script = json!([
        [apply_patch("c1", &body("unsaved", "two"))],
        [say("one")],
        [apply_patch("c2", &body("two", "three"))],
        [say("two")],
        [apply_patch("c3", &body("two", "four"))],
        [say("three")]
    ]);
    let stage = beside(WORKSPACE, script).await;
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    stage.open("a.txt", "unsaved\n");
    let mut documents = BTreeMap::from([("a.txt".to_owned(), (1, "unsaved\n".to_owned()))]);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage.take_edit(&mut documents).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.item("fileChange")["status"], "completed", "{story:#?}");
    assert_eq!(
        (documents["a.txt"].1.as_str(), &stage.text("a.txt")[..]),
        ("two\n", "one\n")
    );
    stage.client.on_request("workspace/applyEdit", |_| {
        Reply::Ok(json!({"applied": false, "failureReason": "busy"}))
    });
    let story = stage.complete(&thread, "Again").await;
    let item = story.item("fileChange");
    assert_eq!(
        (&item["status"], &item["autoApproved"]),
        (&json!("failed"), &json!(true))
    );
    assert!(item["outcome"].as_str().unwrap().contains("busy"), "{item}");
    assert!(stage.path("two.txt").exists() && !stage.path("three.txt").exists());
    // The person types in the very moment: what no longer fits is reported, and the rest is in.
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    let turn = stage.start_turn(&thread, "Once more").await;
    let asked = stage.client.expect_request("workspace/applyEdit").await;
    let uri = &asked.params["edit"]["documentChanges"][0]["textDocument"]["uri"];
    stage.client.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": uri, "version": 9}, "contentChanges": [{"text": "mine\n"}]}),
    );
    stage.client.answer(&asked, Ok(json!({"applied": false})));
    let story = stage.finish(&turn).await;
    let last = &story.all("proposal/updated").pop().unwrap()["proposal"];
    assert_eq!(last["files"][0]["hunks"][0]["status"], "conflicting", "{last}");
    let outcome = story.item("fileChange")["outcome"].as_str().unwrap();
    assert!(outcome.contains("has changed since"), "{outcome}");
}

/// Shows S-150.
#[tokio::test]
async fn the_patch_tool_is_offered_as_the_conversation_was_made() {
    let heredoc = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: b.txt\n+b\n*** End Patch\nEOF";
    let script = json!([
        [say("with")],
        [apply_patch("c1", &patch("*** Add File: x.txt\n+x"))],
        [bash("c2", heredoc)],
        [say("without")],
    ]);
    let stage = Stage::new(script).await;
    let with = stage.thread().await;
    stage.complete(&with, "Go").await;
    let started = stage
        .start_thread(json!({"config": {"include_apply_patch_tool": false, "edits.approve": "workspace"}}))
        .await;
    let without = started["thread"]["id"].as_str().unwrap();
    let story = stage.complete(without, "Go").await;
    let requests = stage.requests(4);
    let patch_tool = "apply_patch".to_owned();
    assert!(requests[0].tools().contains(&patch_tool));
    let mut offered = requests[0].tools();
    offered.retain(|name| *name != patch_tool);
    assert_eq!(requests[1].tools(), offered, "all the others");
    let output = requests[3].output("c1").unwrap();
    assert!(output.contains("no tool named apply_patch"), "{output}");
    // A patch in a command is a patch all the same.
    assert_eq!(story.item("fileChange")["id"], "c2");
    assert_eq!(stage.text("b.txt"), "b\n");
    assert!(!stage.path("x.txt").exists());
}

/// Editors without our plugin are asked by message; and about what the policy accepts they are not asked.
///
/// Shows S-128, S-140.
#[tokio::test]
async fn other_editors_are_asked_by_message() {
    for (title, written, goes_on) in [
        (Some("Allow Writing"), true, true),
        (Some("Deny"), false, true),
        (None, false, true),
        (Some("Deny and Stop"), false, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (project, sib) = (folder.path().join("project"), folder.path().join("sib"));
        for made in [&project, &sib] {
            std::fs::create_dir(made).unwrap();
        }
        let setting = work::Setting {
            folder: Some(project),
            config: "sandbox_workspace_write = { exclude_slash_tmp = true, exclude_tmpdir_env_var = true }".to_owned(),
            ..work::Setting::default()
        };
        let work = Work::with(setting, work::proposes("*** Add File: ../sib/new.txt\n+new\n")).await;
        work.fix("a.txt").await;
        work.accept().await;
        let question = work.question().await;
        let message = question.params["message"].as_str().unwrap();
        let real = sib.canonicalize().unwrap();
        for part in [
            real.to_str().unwrap(),
            "outside the workspace",
            "new.txt",
            "until this session ends",
        ] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert_eq!(titles(&question).len(), 3, "{:?}", titles(&question));
        match title {
            Some(title) => work.press(&question, title),
            None => work.client.answer(&question, Ok(Value::Null)),
        }
        if goes_on {
            work.done().await;
            let output = work.output("call_1").await;
            assert_eq!(output.contains("rejected"), !written, "{title:?}: {output}");
        } else {
            work.idle("a.txt").await;
            assert_eq!(work.model.requests().len(), 1);
            work.client.ignore("window/showMessage");
        }
        assert_eq!(sib.join("new.txt").exists(), written, "{title:?}");
    }
}

#[tokio::test]
async fn other_editors_are_not_asked_about_what_the_policy_accepts() {
    let setting = work::Setting {
        config: WORKSPACE.to_owned(),
        ..work::Setting::default()
    };
    let work = Work::with(setting, work::proposes("*** Add File: new.txt\n+new\n")).await;
    work.fix("a.txt").await;
    work.done().await;
    assert_eq!(work.disk("new.txt").as_deref(), Some("new\n"));
    let asked = work.client.trace();
    assert!(
        !asked.iter().any(|line| line == "window/showMessageRequest"),
        "{asked:?}"
    );
    work.client.expect_log("without asking").await;
}

/// A client that goes away with the question open has said no.
///
/// Shows S-128.
#[tokio::test]
async fn a_client_that_is_gone_has_said_no() {
    let script = json!([
        [apply_patch("c1", &patch("*** Add File: ../sib/new.txt\n+new"))],
        [say("done")]
    ]);
    let setting = Setting {
        files: files(&[("../sib/there.txt", "old\n")]),
        caps: plugin(),
        ..Setting::default()
    };
    let mut stage = Stage::with(script, setting).await;
    stage.client.on_request(PERMISSION, |_| Reply::Later);
    let thread = stage.thread().await;
    stage.start_turn(&thread, "Go").await;
    accept_next(&stage).await;
    asked(&stage).await;
    stage.client.hang_up();
    stage.client.expect_end().await;
    // What was on its way to it, nobody reads.
    stage.client.take_unread();
    assert!(!sibling(&stage).join("new.txt").exists());
}
