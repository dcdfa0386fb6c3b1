//! Taking turns back: what patches and sandboxed commands did to a workspace, without losing what came since.

mod commands;
mod others;

use super::stage::{Setting, Stage, Story, apply_patch, bash, eventually, rollout, say};
use crate::support::client::Reply;
use crate::support::git::git;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// Nobody is asked: patches and sandboxed commands are done at once.
fn setting() -> Setting {
    Setting {
        config: "approval_policy = \"never\"".to_owned(),
        ..Setting::default()
    }
}

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch")
}

fn update(name: &str, from: &str, to: &str) -> String {
    patch(&format!("*** Update File: {name}\n@@\n-{from}\n+{to}"))
}

/// Every entry below a folder: mode, and content, where a link leads, or that it is a folder.
pub(super) fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = std::fs::symlink_metadata(&path).expect("an entry");
            let content = if meta.is_symlink() {
                std::fs::read_link(&path)
                    .expect("a link")
                    .into_os_string()
                    .into_encoded_bytes()
            } else if meta.is_dir() {
                folders.push(path.clone());
                b"folder".to_vec()
            } else {
                std::fs::read(&path).expect("a file")
            };
            found.insert(path, (meta.permissions().mode(), content));
        }
    }
    found
}

#[track_caller]
fn assert_same(before: &BTreeMap<PathBuf, (u32, Vec<u8>)>, after: &BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    let show = |tree: &BTreeMap<PathBuf, (u32, Vec<u8>)>| -> Vec<String> {
        tree.iter()
            .map(|(path, (mode, content))| {
                let content = String::from_utf8_lossy(content);
                format!("{} {mode:o} {content:?}", path.display())
            })
            .collect()
    };
    let (before, after) = (show(before), show(after));
    let lost: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
    let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
    assert!(lost.is_empty() && new.is_empty(), "lost {lost:#?}, new {new:#?}");
}

impl Stage {
    /// Takes turns back: the whole story of it, which begins after the answer.
    async fn undo(&self, params: Value) -> Story {
        let answer = self.client.call("countersign/turn/undo", params).await;
        let turn = answer["turnId"].as_str().expect("an id").to_owned();
        let story = self.finish(&turn).await;
        assert!(
            story
                .all("item/completed")
                .iter()
                .all(|params| params["turnId"] == *turn)
        );
        story
    }

    async fn undo_last(&self, thread: &str) -> Story {
        let story = self.undo(json!({"threadId": thread})).await;
        assert_eq!(story.status(), "completed", "{story:#?}");
        story
    }
}

/// What was there is restored, and what was not is removed.
#[track_caller]
fn assert_each_is_as_before(
    stage: &Stage,
    before: &BTreeMap<PathBuf, (u32, Vec<u8>)>,
    files: &BTreeMap<String, String>,
) {
    for (name, result) in files {
        let is_folder = |mode: u32| mode & 0o170_000 == 0o040_000;
        let was_there = before
            .get(&stage.dir.join(name))
            .is_some_and(|(mode, _)| !is_folder(*mode));
        assert_eq!(result, if was_there { "restored" } else { "removed" }, "{name}");
    }
}

/// The undo's item, and what became of each file by its name.
fn outcome<'a>(stage: &Stage, story: &'a Story) -> (&'a Value, BTreeMap<String, String>) {
    let item = story.item("undo");
    let files = item["files"].as_array().expect("files").iter();
    let files = files.map(|file| {
        let path = PathBuf::from(file["path"].as_str().expect("a path"));
        let name = path.strip_prefix(&stage.dir).unwrap_or(&path).display().to_string();
        (name, file["result"].as_str().expect("a result").to_owned())
    });
    (item, files.collect())
}

/// What a turn of many changes does: patches and a command that creates, edits, deletes, moves, and changes modes and
/// links.
fn busy_script() -> Value {
    json!([
        [apply_patch(
            "c1",
            &patch(
                "*** Update File: patched.txt\n@@\n-one\n+two\n*** Add File: new/by/patch.txt\n+new\n*** Delete File: \
                 gone-by-patch.sh\n*** Update File: moved.txt\n*** Move to: elsewhere/moved.txt\n@@\n-m\n+n"
            )
        )],
        [bash(
            "c2",
            "set -e
             echo command >> edited.txt
             rm deleted.txt
             rm -r folder
             rm -r hollow
             mkdir -p made/deep && echo x > made/deep/file
             mkdir made/empty
             chmod 755 plain.sh
             chmod 600 open.txt
             ln -sfn patched.txt link
             rm target && ln -s patched.txt target
             printf '\\000\\001new' > binary
             rm swap && mkdir swap && echo in > swap/inner
             rm -r pair && echo out > pair
             : > untracked-empty
             echo odd > $'odd\\n\"name\"'
             echo ignored > build/out.log"
        )],
        [say("done")],
    ])
}

fn busy_files(dir: &Path) {
    let write = |name: &str, content: &[u8], mode: u32| {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, content).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    write(".gitignore", b"build/\n", 0o644);
    write("patched.txt", b"one\n", 0o640);
    write("gone-by-patch.sh", b"#!/bin/sh\n", 0o755);
    write("moved.txt", b"m\n", 0o600);
    write("edited.txt", b"e\r\nno end", 0o644);
    write("deleted.txt", b"d\n", 0o444);
    write("folder/a/b", b"b\n", 0o644);
    write("folder/c", b"", 0o644);
    write("plain.sh", b"echo\n", 0o644);
    write("open.txt", b"o\n", 0o644);
    write("binary", &[0, 159, 146, 150, 255], 0o644);
    write("target", b"t\n", 0o644);
    write("swap", b"s\n", 0o644);
    write("pair/inner", b"p\n", 0o644);
    write("build/kept", b"k\n", 0o644);
    std::fs::create_dir(dir.join("hollow")).expect("a folder");
    symlink("edited.txt", dir.join("link")).expect("a link");
}

/// Shows S-257, S-260, S-261.
#[tokio::test]
async fn every_kind_of_change_is_taken_back_in_a_plain_folder() {
    let stage = Stage::with(busy_script(), setting()).await;
    busy_files(&stage.dir);
    let before = tree(&stage.dir);
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Be busy").await;
    let command = story.item("commandExecution");
    assert_eq!(command["exitCode"], 0, "{command}");
    assert_eq!(stage.text("patched.txt"), "two\n");
    let undo = stage.undo_last(&thread).await;
    // Ignored files are not touched, also not those that the turn made.
    assert_eq!(stage.text("build/out.log"), "ignored\n");
    std::fs::remove_file(stage.path("build/out.log")).expect("a file");
    assert_same(&before, &tree(&stage.dir));
    let (item, files) = outcome(&stage, &undo);
    assert_eq!(item["status"], "completed", "{item}");
    assert_each_is_as_before(&stage, &before, &files);
    assert_eq!(item["turns"].as_array().map(Vec::len), Some(1), "{item}");
    let names = undo.names();
    assert_eq!(
        names.iter().filter(|name| **name == "item/started").count(),
        1,
        "{names:?}"
    );
    // The undo is in the record, and once there is nothing left it says so.
    let again = stage.undo(json!({"threadId": thread})).await;
    assert_eq!((again.status(), again.error_kind()), ("failed", "undoFailed"));
    let said = again.item("undo")["message"].as_str().expect("words").to_owned();
    assert!(said.contains("already"), "{said}");
    let turns = stage.read(&thread).await["turns"].clone();
    assert_eq!(turns.as_array().map(Vec::len), Some(3), "{turns:#}");
}

/// Shows S-261.
#[tokio::test]
async fn the_persons_repository_is_as_it_was() {
    let stage = Stage::with(busy_script(), setting()).await;
    busy_files(&stage.dir);
    git(&stage.dir, &["init", "-q"]);
    git(&stage.dir, &["add", "."]);
    git(&stage.dir, &["commit", "-qm", "one"]);
    // Staged, changed after staging, and untracked.
    stage.write("staged.txt", "staged\n");
    git(&stage.dir, &["add", "staged.txt"]);
    stage.write("edited.txt", "changed, not staged\n");
    stage.write("untracked.txt", "untracked\n");
    let status = git(&stage.dir, &["status", "--porcelain=v2", "--ignored"]);
    let before = tree(&stage.dir);
    let thread = stage.thread().await;
    stage.complete(&thread, "Be busy").await;
    assert_ne!(git(&stage.dir, &["status", "--porcelain=v2"]), status);
    stage.undo_last(&thread).await;
    std::fs::remove_file(stage.path("build/out.log")).expect("a file");
    assert_same(&before, &tree(&stage.dir));
    assert_eq!(git(&stage.dir, &["status", "--porcelain=v2", "--ignored"]), status);
    git(&stage.dir, &["fsck", "--strict"]);
}

/// Shows S-262.
#[tokio::test]
async fn undo_repeated_goes_back_turn_by_turn_and_can_be_taken_back_itself() {
    let script = json!([
        [apply_patch("c1", &update("a.txt", "0", "1"))],
        [say("one")],
        [bash("c2", "echo 2 > a.txt")],
        [say("two")],
        [say("only words")],
        [apply_patch("c3", &update("a.txt", "2", "3"))],
        [say("three")],
        [say("told")],
        [say("here")],
    ]);
    let stage = Stage::with(
        script,
        Setting {
            files: vec![("a.txt".into(), "0\n".into())],
            ..setting()
        },
    )
    .await;
    let thread = stage.thread().await;
    let mut turns = Vec::new();
    for words in ["1", "2", "words", "3"] {
        let story = stage.complete(&thread, words).await;
        turns.push(story.one("turn/started")["turn"]["id"].clone());
    }
    assert_eq!(stage.text("a.txt"), "3\n");
    stage.undo_last(&thread).await;
    assert_eq!(stage.text("a.txt"), "2\n");
    let second = stage.undo_last(&thread).await;
    assert_eq!(stage.text("a.txt"), "1\n");
    assert_eq!(second.item("undo")["turns"], json!([turns[1]]));
    // The undo itself is taken back, and then once more.
    let undo = second.one("turn/started")["turn"]["id"].clone();
    let redo = stage.undo(json!({"threadId": thread, "turnId": undo})).await;
    assert_eq!((redo.status(), &stage.text("a.txt")[..]), ("completed", "2\n"));
    stage.undo_last(&thread).await;
    assert_eq!(stage.text("a.txt"), "1\n");
    stage.undo_last(&thread).await;
    assert_eq!(stage.text("a.txt"), "0\n");
    // The model is told.
    stage.complete(&thread, "Go on").await;
    let requests = stage.model.requests();
    let last = requests.last().expect("a request").body.to_string();
    assert!(last.contains("took back changes that you made: a.txt"), "{last}");
    // What is typed while an undo runs begins a turn of its own, and is not lost.
    let answer = stage
        .client
        .call("countersign/turn/undo", json!({"threadId": thread}))
        .await;
    let next = stage.start_turn(&thread, "Still there?").await;
    let both = stage.finish(&next).await;
    assert_eq!(both.all("turn/completed")[0]["turn"]["id"], answer["turnId"]);
    let requests = stage.model.requests();
    let last = requests.last().expect("a request").body.to_string();
    assert!(last.contains("Still there?"), "{last}");
    // An unknown turn is an error at once.
    let params = json!({"threadId": thread, "turnId": "no-such-turn"});
    let error = stage.client.request("countersign/turn/undo", params).await.unwrap_err();
    assert_eq!(error.data["kind"], "turnNotFound");
}

#[tokio::test]
async fn a_turn_and_all_after_it_go_together() {
    let script = json!([
        [apply_patch("c1", &update("a.txt", "0", "1"))],
        [say("one")],
        [bash("c2", "echo 2 >> a.txt; echo b > b.txt")],
        [say("two")],
        [bash("c3", "rm b.txt; echo c > c.txt")],
        [say("three")],
    ]);
    let files = vec![("a.txt".into(), "0\n".into())];
    let stage = Stage::with(script, Setting { files, ..setting() }).await;
    let before = tree(&stage.dir);
    let thread = stage.thread().await;
    let mut turns = Vec::new();
    for words in ["1", "2", "3"] {
        let story = stage.complete(&thread, words).await;
        turns.push(story.one("turn/started")["turn"]["id"].clone());
    }
    let undo = stage.undo(json!({"threadId": thread, "turnId": turns[0]})).await;
    assert_same(&before, &tree(&stage.dir));
    assert_eq!(undo.item("undo")["turns"], json!(turns));
    // All three are brought back by taking the undo back.
    let id = undo.one("turn/started")["turn"]["id"].clone();
    stage.undo(json!({"threadId": thread, "turnId": id})).await;
    assert_eq!(stage.text("a.txt"), "1\n2\n");
    assert_eq!(stage.text("c.txt"), "c\n");
    assert!(!stage.path("b.txt").exists());
    stage.undo_last(&thread).await;
    assert_eq!(stage.text("b.txt"), "b\n");
    assert!(!stage.path("c.txt").exists());
}

#[tokio::test]
async fn what_the_person_did_since_is_kept_or_asked_about() {
    let script = json!([
        [bash(
            "c1",
            "sed -i s/two/TWO/ merged.txt conflict.txt; echo new > made.txt; rm deleted.txt; echo same > same.txt"
        )],
        [say("done")],
        [say("told")],
    ]);
    let text = "one\n\n\ntwo\n\n\nthree\n";
    let files = ["merged.txt", "conflict.txt", "deleted.txt"].map(|name| (name.to_owned(), text.to_owned()));
    let stage = Stage::with(
        script,
        Setting {
            files: files.into(),
            ..setting()
        },
    )
    .await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Change").await;
    stage.write("merged.txt", "ONE\n\n\nTWO\n\n\nthree\nfour\n");
    stage.write("conflict.txt", "one\n\n\nzwei\n\n\nthree\n");
    stage.write("made.txt", "new\nand mine\n");
    let undo = stage.undo_last(&thread).await;
    let (item, files) = outcome(&stage, &undo);
    let expected = [
        ("conflict.txt", "conflict"),
        ("deleted.txt", "restored"),
        ("made.txt", "conflict"),
        ("merged.txt", "merged"),
        ("same.txt", "removed"),
    ];
    let expected: BTreeMap<String, String> = expected.map(|(name, result)| (name.into(), result.into())).into();
    assert_eq!(files, expected, "{item:#}");
    assert_eq!(stage.text("merged.txt"), "ONE\n\n\ntwo\n\n\nthree\nfour\n");
    assert_eq!(stage.text("conflict.txt"), "one\n\n\nzwei\n\n\nthree\n");
    assert_eq!(stage.text("made.txt"), "new\nand mine\n");
    assert_eq!(stage.text("deleted.txt"), text);
    let message = item["message"].as_str().expect("words");
    assert!(
        message.contains("Left as it is: ") && message.contains("conflict.txt"),
        "{message}"
    );
    // Restore anyway.
    let turn = item["turns"][0].clone();
    let params = json!({"threadId": thread, "turnId": turn, "conflicts": "restore"});
    let forced = stage.undo(params).await;
    assert_eq!(forced.status(), "completed", "{forced:#?}");
    assert_eq!(stage.text("conflict.txt"), text);
    assert!(!stage.path("made.txt").exists());
}

/// All or none: a file that cannot be put back keeps every other as it is.
#[tokio::test]
async fn an_undo_that_fails_changes_nothing() {
    let script = json!([
        [bash("c1", "echo 1 > a.txt; echo 1 > closed/b.txt; rm c.txt")],
        [say("done")],
    ]);
    let files = ["a.txt", "closed/b.txt", "c.txt"].map(|name| (name.to_owned(), "0\n".to_owned()));
    let stage = Stage::with(
        script,
        Setting {
            files: files.into(),
            ..setting()
        },
    )
    .await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Change").await;
    // A protected name: what is in it may not be written any more.
    std::fs::rename(stage.path("closed"), stage.path(".git")).expect("a rename");
    symlink(".git", stage.path("closed")).expect("a link");
    let undo = stage.undo(json!({"threadId": thread})).await;
    assert_eq!((undo.status(), undo.error_kind()), ("failed", "undoFailed"));
    let (item, files) = outcome(&stage, &undo);
    assert!(files.values().all(|result| result == "kept"), "{item:#}");
    assert_eq!(
        (stage.text("a.txt"), stage.text(".git/b.txt")),
        ("1\n".into(), "1\n".into())
    );
    assert!(!stage.path("c.txt").exists());
    // Mended, it works.
    std::fs::remove_file(stage.path("closed")).expect("a link");
    std::fs::rename(stage.path(".git"), stage.path("closed")).expect("a rename");
    stage.undo_last(&thread).await;
    for name in ["a.txt", "closed/b.txt", "c.txt"] {
        assert_eq!(stage.text(name), "0\n", "{name}");
    }
}

#[tokio::test]
async fn open_documents_go_through_the_editor_and_unsaved_text_stays() {
    let script = json!([
        [apply_patch("c1", &update("open.txt", "two", "TWO"))],
        [bash("c2", "echo closed > closed.txt")],
        [say("done")],
    ]);
    let files = vec![
        ("open.txt".into(), "one\ntwo\nthree\n".into()),
        ("closed.txt".into(), "0\n".into()),
    ];
    let stage = Stage::with(script, Setting { files, ..setting() }).await;
    stage
        .client
        .on_request("countersign/document/save", |_| Reply::Ok(json!({"saved": []})));
    // Unsaved text of the person's before the turn.
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    stage.open("open.txt", "unsaved\n\none\ntwo\nthree\n");
    let mut documents = BTreeMap::from([("open.txt".to_owned(), (1, "unsaved\n\none\ntwo\nthree\n".to_owned()))]);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Change").await;
    stage.take_edit(&mut documents).await;
    stage.finish(&turn).await;
    assert_eq!(documents["open.txt"].1, "unsaved\n\none\nTWO\nthree\n");
    // And more since.
    let typed = "unsaved\n\none\nTWO\nthree\n\n\ntyped since\n";
    documents.insert("open.txt".to_owned(), (3, typed.to_owned()));
    stage.client.notify(
        "textDocument/didChange",
        json!({
            "textDocument": {"uri": countersign::workspace::uri::from_path(&stage.path("open.txt")), "version": 3},
            "contentChanges": [{"text": typed}],
        }),
    );
    let answer = stage
        .client
        .call("countersign/turn/undo", json!({"threadId": thread}))
        .await;
    let edit = stage.take_edit(&mut documents).await;
    let edits = edit["edit"]["documentChanges"][0]["edits"]
        .as_array()
        .expect("edits")
        .clone();
    assert_eq!(edits.len(), 1, "one small edit: {edits:?}");
    let story = stage.finish(answer["turnId"].as_str().expect("an id")).await;
    assert_eq!(story.status(), "completed", "{story:#?}");
    assert_eq!(documents["open.txt"].1, "unsaved\n\none\ntwo\nthree\n\n\ntyped since\n");
    assert_eq!(
        stage.text("open.txt"),
        "one\ntwo\nthree\n",
        "the disk is the person's to save"
    );
    assert_eq!(stage.text("closed.txt"), "0\n");
    let (_, files) = outcome(&stage, &story);
    assert_eq!(files["open.txt"], "merged");
    assert_eq!(files["closed.txt"], "restored");
}

/// The editor says no: the disk stays as it is, too.
#[tokio::test]
async fn a_refusal_of_the_editor_takes_everything_back() {
    let script = json!([
        [apply_patch("c1", &update("open.txt", "two", "TWO"))],
        [bash("c2", "echo closed > closed.txt")],
        [say("done")],
    ]);
    let files = vec![("open.txt".into(), "two\n".into()), ("closed.txt".into(), "0\n".into())];
    let stage = Stage::with(script, Setting { files, ..setting() }).await;
    stage
        .client
        .on_request("countersign/document/save", |_| Reply::Ok(json!({"saved": []})));
    stage.client.on_request("workspace/applyEdit", |_| Reply::Later);
    stage.open("open.txt", "two\n");
    let mut documents = BTreeMap::from([("open.txt".to_owned(), (1, "two\n".to_owned()))]);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Change").await;
    stage.take_edit(&mut documents).await;
    stage.finish(&turn).await;
    stage.client.on_request("workspace/applyEdit", |_| {
        Reply::Ok(json!({"applied": false, "failureReason": "not now"}))
    });
    let undo = stage.undo(json!({"threadId": thread})).await;
    assert_eq!(undo.status(), "failed");
    let message = undo.item("undo")["message"].as_str().expect("words").to_owned();
    assert!(message.contains("not now"), "{message}");
    assert_eq!(stage.text("closed.txt"), "closed\n");
}

/// Shows S-259.
#[tokio::test]
async fn what_an_interrupted_command_did_is_taken_back() {
    let script = json!([
        [bash(
            "c1",
            "echo 1 > a.txt; echo b > b.txt; echo begun; exec sleep 1000"
        )],
        [say("done")],
    ]);
    let files = vec![("a.txt".into(), "0\n".into())];
    let stage = Stage::with(script, Setting { files, ..setting() }).await;
    let before = tree(&stage.dir);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Change").await;
    stage.until_output("begun").await;
    // One turn at a time.
    let params = json!({"threadId": thread});
    let error = stage.client.request("countersign/turn/undo", params).await.unwrap_err();
    assert_eq!(error.data["kind"], "turnRunning");
    stage.interrupt(&thread).await;
    assert_eq!(stage.finish(&turn).await.status(), "interrupted");
    stage.undo_last(&thread).await;
    assert_same(&before, &tree(&stage.dir));
    Stage::no_process_left(&thread).await;
}

#[tokio::test]
async fn a_turn_is_taken_back_after_a_restart_of_the_server() {
    let home = tempfile::tempdir().expect("a folder");
    let first = Stage::with(
        busy_script(),
        Setting {
            home: Some(home.path().to_owned()),
            ..setting()
        },
    )
    .await;
    busy_files(&first.dir);
    let before = tree(&first.dir);
    let thread = first.thread().await;
    first.complete(&thread, "Be busy").await;
    let dir = first.dir.clone();
    // The folder outlives the first server.
    let folder = first.end();
    eventually("the turn is recorded", || {
        rollout(home.path(), &thread)
            .iter()
            .any(|line| line.to_string().contains("task_complete"))
    })
    .await;
    let second = Stage::with(
        json!([[say("hello")]]),
        Setting {
            home: Some(home.path().to_owned()),
            folder: Some(dir.clone()),
            ..setting()
        },
    )
    .await;
    // The diff can be read without the thread.
    let params = json!({"threadId": thread});
    let diff = second.client.call("countersign/turn/diff", params).await;
    assert!(
        diff["diff"].as_str().expect("a diff").contains("+no endcommand"),
        "{diff}"
    );
    second.resume(json!({"threadId": thread})).await;
    second.undo_last(&thread).await;
    std::fs::remove_file(second.path("build/out.log")).expect("a file");
    assert_same(&before, &tree(&dir));
    drop(folder);
}

/// Shows S-258.
#[tokio::test]
async fn without_git_turns_go_on_and_undo_says_so() {
    let script = json!([
        [bash("c1", "echo 1 > a.txt")],
        [say("one")],
        [apply_patch("c2", &update("b.txt", "0", "1"))],
        [bash("c3", "echo 2 > a.txt")],
        [say("two")],
    ]);
    let nowhere = tempfile::tempdir().expect("a folder");
    for program in ["bash", "cat"] {
        symlink(format!("/usr/bin/{program}"), nowhere.path().join(program)).expect("a link");
    }
    let files = vec![("a.txt".into(), "0\n".into()), ("b.txt".into(), "0\n".into())];
    let stage = Stage::with(
        script,
        Setting {
            files,
            env: vec![("PATH".into(), nowhere.path().display().to_string())],
            ..setting()
        },
    )
    .await;
    let thread = stage.thread().await;
    let first = stage.complete(&thread, "Change").await;
    assert_eq!(first.item("commandExecution")["exitCode"], 0, "{first:#?}");
    let warning = first.one("warning")["message"].as_str().expect("words").to_owned();
    assert!(warning.contains("git") && warning.contains("snapshot"), "{warning}");
    let undo = stage.undo(json!({"threadId": thread})).await;
    assert_eq!(undo.status(), "failed");
    let message = undo.item("undo")["message"].as_str().expect("words").to_owned();
    assert!(message.contains("no snapshot") && message.contains("git"), "{message}");
    assert_eq!(stage.text("a.txt"), "1\n");
    // Patches know what they changed; the rest is named.
    let second = stage.complete(&thread, "Change").await;
    assert_eq!(second.count("warning"), 0, "once is enough");
    let undo = stage.undo_last(&thread).await;
    let message = undo.item("undo")["message"].as_str().expect("words").to_owned();
    assert!(message.contains("no snapshot"), "{message}");
    assert_eq!((stage.text("b.txt"), stage.text("a.txt")), ("0\n".into(), "2\n".into()));
}

#[tokio::test]
async fn a_workspace_that_is_too_large_is_said_once() {
    let script = json!([[bash("c1", "echo 1 > a.txt")], [say("one")]]);
    let stage = Stage::with(script, setting()).await;
    for folder in 0..61 {
        std::fs::create_dir(stage.path(&folder.to_string())).expect("a folder");
        for file in 0..1000 {
            std::fs::File::create(stage.path(&format!("{folder}/{file}"))).expect("a file");
        }
    }
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Change").await;
    let warning = story.one("warning")["message"].as_str().expect("words").to_owned();
    assert!(
        warning.contains("60000 files") && warning.contains(".countersignignore"),
        "{warning}"
    );
    let undo = stage.undo(json!({"threadId": thread})).await;
    let message = undo.item("undo")["message"].as_str().expect("words").to_owned();
    assert!(
        message.contains("no snapshot") && message.contains("60000 files"),
        "{message}"
    );
}

#[tokio::test]
async fn commands_that_only_read_and_turns_of_words_cost_no_snapshot() {
    let script = json!([[bash("c1", "cat a.txt && ls")], [say("read")], [say("words")],]);
    let files = vec![("a.txt".into(), "0\n".into())];
    let stage = Stage::with(script, Setting { files, ..setting() }).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Read").await;
    stage.complete(&thread, "Talk").await;
    let undo = stage.undo(json!({"threadId": thread})).await;
    assert_eq!(undo.status(), "failed");
    let message = undo.item("undo")["message"].as_str().expect("words").to_owned();
    assert!(message.contains("nothing to undo"), "{message}");
}

/// Shows S-261, S-271.
#[tokio::test]
async fn modes_that_a_patch_gave_are_in_the_diff_and_taken_back() {
    let given = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
                 diff --git a/new.sh b/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1 @@\n+echo\n\
                 diff --git a/old.sh b/moved.sh\nold mode 100755\nnew mode 100644\nsimilarity index 50%\nrename from old.sh\n\
                 rename to moved.sh\n--- a/old.sh\n+++ b/moved.sh\n@@ -1 +1 @@\n-1\n+2\n";
    let stage = Stage::with(json!([[apply_patch("c1", given)], [say("done")]]), setting()).await;
    for (name, text, mode) in [("run.sh", "r\n", 0o644), ("old.sh", "1\n", 0o755)] {
        stage.write(name, text);
        std::fs::set_permissions(stage.path(name), std::fs::Permissions::from_mode(mode)).expect("a mode");
    }
    let before = tree(&stage.dir);
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Make it run").await;
    let runs = |name: &str| {
        let meta = std::fs::metadata(stage.path(name)).expect("a file");
        meta.permissions().mode() & 0o111 != 0
    };
    assert_eq!((runs("run.sh"), runs("new.sh"), runs("moved.sh")), (true, true, false));
    let diff = story.all("turn/diff").pop().expect("a diff")["diff"].clone();
    let diff = diff.as_str().expect("words");
    for words in [
        "old mode 100644\nnew mode 100755",
        "new file mode 100755",
        "old mode 100755\nnew mode 100644",
    ] {
        assert!(diff.contains(words), "{words}: {diff}");
    }
    stage.undo_last(&thread).await;
    assert_same(&before, &tree(&stage.dir));
}

/// What is no text, one of each: its name, and what is there.
fn write_entries(dir: &Path) {
    let entries: [(&str, &[u8], u32); 7] = [
        ("logo.png", b"\x89PNG\r\n\x1a\n\0\0\xff", 0o600),
        ("latin.txt", b"caf\xe9\n", 0o644),
        ("nul.dat", b"ab\0cd\n", 0o755),
        ("move.bin", b"\xfe\0\xff", 0o640),
        ("latin-move.txt", b"na\xefve\n", 0o644),
        ("real.txt", b"real\n", 0o644),
        ("folder/inner.txt", b"inner\n", 0o644),
    ];
    std::fs::create_dir(dir.join("folder")).expect("a folder");
    for (name, bytes, mode) in entries {
        std::fs::write(dir.join(name), bytes).expect("a file");
        std::fs::set_permissions(dir.join(name), std::fs::Permissions::from_mode(mode)).expect("a mode");
    }
    std::fs::write(dir.parent().expect("above").join("outside.txt"), "outside\n").expect("a file");
    for (name, target) in ENTRY_LINKS {
        symlink(target, dir.join(name)).expect("a link");
    }
    std::fs::hard_link(dir.join("logo.png"), dir.join("second-name.png")).expect("a link");
}

const ENTRY_LINKS: [(&str, &str); 6] = [
    ("link", "real.txt"),
    ("link-out", "../outside.txt"),
    ("link-folder", "folder"),
    ("link-nowhere", "nowhere"),
    ("link-moved", "real.txt"),
    ("link-folder-moved", "folder"),
];

/// Deleting and renaming act on the entry, whatever it is; what links lead to is left alone; all of it comes back byte for
/// byte, in the same server or in a later one, also where the target of a link is open in the editor.
#[tokio::test]
async fn entries_that_are_no_text_are_deleted_and_moved_as_they_are_and_come_back() {
    let gone = [
        "logo.png",
        "latin.txt",
        "nul.dat",
        "link",
        "link-out",
        "link-folder",
        "link-nowhere",
    ];
    let moved = [
        ("move.bin", "deep/er/moved.bin"),
        ("latin-move.txt", "latin moved.txt"),
        ("link-moved", "deep/link"),
        ("link-folder-moved", "link-elsewhere"),
    ];
    let gone_lines = gone.iter().map(|name| format!("*** Delete File: {name}"));
    let moved_lines = moved
        .iter()
        .map(|(from, to)| format!("*** Update File: {from}\n*** Move to: {to}"));
    let body: Vec<String> = gone_lines.chain(moved_lines).collect();
    let script = json!([
        [apply_patch("c1", &patch(&body.join("\n")))],
        [say("done")],
        [say("more")]
    ]);
    let stage = Stage::with(script, setting()).await;
    write_entries(&stage.dir);
    stage.open("real.txt", "real\n");
    let before = tree(&stage.dir);
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Tidy up").await;
    let change = story.item("fileChange");
    assert_eq!(change["status"], "completed", "{change:#}");
    let after = tree(&stage.dir);
    for name in gone {
        assert!(!after.contains_key(&stage.path(name)), "{name}");
    }
    for (from, to) in moved {
        assert_eq!(after.get(&stage.path(to)), before.get(&stage.path(from)), "{from}");
        assert!(!after.contains_key(&stage.path(from)), "{from}");
    }
    for name in ["real.txt", "folder/inner.txt", "second-name.png"] {
        assert_eq!(after.get(&stage.path(name)), before.get(&stage.path(name)), "{name}");
    }
    assert_eq!(stage.text("../outside.txt"), "outside\n");
    // What is shown says what it was.
    let diffs = change["changes"].as_array().expect("changes").iter();
    let diffs: Vec<&str> = diffs.filter_map(|change| change["diff"].as_str()).collect();
    assert!(
        diffs
            .iter()
            .any(|diff| diff.contains("Binary files a/logo.png and /dev/null differ")),
        "{diffs:#?}"
    );
    assert!(
        diffs
            .iter()
            .any(|diff| diff.contains("deleted file mode 120000") && diff.contains("-../outside.txt")),
        "{diffs:#?}"
    );
    assert!(
        diffs.iter().any(|diff| diff.contains("rename from move.bin")),
        "{diffs:#?}"
    );
    let undo = stage.undo_last(&thread).await;
    assert_same(&before, &tree(&stage.dir));
    let (_, files) = outcome(&stage, &undo);
    assert_each_is_as_before(&stage, &before, &files);
}

/// The person sees what it is that goes, and text is not changed through a link.
#[tokio::test]
async fn what_no_hunk_shows_is_said_and_links_are_not_written_through() {
    let delete = patch("*** Delete File: logo.png\n*** Delete File: link-out");
    let script = json!([
        [
            apply_patch("c1", &update("link", "real", "changed")),
            apply_patch("c2", &patch("*** Add File: link\n+x")),
            apply_patch(
                "c3",
                &patch("*** Update File: real.txt\n*** Move to: link-nowhere\n@@\n-real\n+x")
            ),
            apply_patch("c4", &patch("*** Update File: move.bin\n*** Move to: link")),
            apply_patch("c5", &patch("*** Delete File: pipe")),
            apply_patch("c6", &delete),
        ],
        [say("done")],
    ]);
    let stage = Stage::with(script, Setting::default()).await;
    write_entries(&stage.dir);
    let made = std::process::Command::new("mkfifo").arg(stage.path("pipe")).status();
    assert!(made.expect("mkfifo").success());
    stage.open("real.txt", "real\n");
    let before = tree_of_entries(&stage);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let created = stage.until_event("proposal/created").await;
    let proposal = created.last()["proposal"].clone();
    let reason = proposal["reason"].as_str().expect("a reason");
    for part in [
        "logo.png is a file of 11 bytes that is no UTF-8 text but binary",
        "link-out is a symbolic link to ../outside.txt: the link itself is deleted",
    ] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    // A link that is turned elsewhere meanwhile is another one.
    std::fs::remove_file(stage.path("link-out")).expect("a link");
    symlink("real.txt", stage.path("link-out")).expect("a link");
    stage
        .decide(json!({"proposalId": proposal["id"], "decision": "accept"}))
        .await;
    stage.finish(&turn).await;
    let request = &stage.requests(2)[1];
    for (id, part) in [
        ("c1", "text is not changed through a link"),
        ("c1", "a patch that deletes or moves"),
        ("c2", "text is not changed through a link"),
        ("c3", "a symbolic link to nowhere is there already"),
        ("c4", "a symbolic link to real.txt is there already"),
        ("c5", "a device, a pipe or a socket"),
        ("c6", "a symbolic link to real.txt is there now"),
    ] {
        let output = request.output(id).expect("an output");
        assert!(output.contains(part), "{id}: {part}: {output}");
    }
    assert!(!stage.path("logo.png").exists());
    let mut after = tree_of_entries(&stage);
    after.insert("logo.png".into(), before["logo.png"].clone());
    after.insert("link-out".into(), before["link-out"].clone());
    assert_eq!(after, before);
    assert_eq!(stage.text("../outside.txt"), "outside\n");
}

/// What is right in the folder but the pipe, which nobody opens.
fn tree_of_entries(stage: &Stage) -> BTreeMap<String, Vec<u8>> {
    let names = std::fs::read_dir(&stage.dir).expect("a folder").flatten();
    let files = names.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_symlink()));
    files
        .map(|entry| {
            let path = entry.path();
            let content = match std::fs::read_link(&path) {
                Ok(target) => target.into_os_string().into_encoded_bytes(),
                Err(_) => std::fs::read(&path).expect("a file"),
            };
            (entry.file_name().to_string_lossy().into_owned(), content)
        })
        .collect()
}
