//! What a command changes by itself is an item of its own, and is undone by itself, file by file.

use super::{Setting, Stage, apply_patch, assert_same, bash, outcome, patch, say, setting, tree, update};
use crate::agent::stage::eventually;
use serde_json::{Value, json};
use std::path::Path;

/// What an item says was changed: kind, name, lines added and removed.
fn listed(stage: &Stage, item: &Value) -> Vec<String> {
    let name = |path: &Value| {
        let path = Path::new(path.as_str().expect("a path"));
        path.strip_prefix(&stage.dir)
            .expect("in the workspace")
            .display()
            .to_string()
    };
    let changes = item["changes"].as_array().expect("changes").iter();
    let line = |change: &Value| {
        let to = match &change["kind"]["movePath"] {
            Value::Null => String::new(),
            to => format!(" to {}", name(to)),
        };
        let kind = change["kind"]["type"].as_str().expect("a kind");
        format!(
            "{kind} {}{to} +{} -{}",
            name(&change["path"]),
            change["added"],
            change["removed"]
        )
    };
    changes.map(line).collect()
}

#[tokio::test]
async fn what_a_command_changes_is_listed_right_after_it() {
    let script = json!([
        [apply_patch("c1", &update("a.txt", "0", "1"))],
        [bash(
            "c2",
            "echo 2 >> a.txt; mkdir new; printf 'x\\ny\\n' > new/b.txt; rm gone.txt; mv here.txt there.txt; chmod 755 run.sh; \
             printf '\\000' > binary"
        )],
        [bash("c3", "cat a.txt > /dev/null")],
        [bash("c4", "echo 3 > c.txt; rm c.txt")],
        [say("done")],
    ]);
    let files = ["a.txt", "gone.txt", "here.txt", "run.sh", "binary"];
    let text = |name: &str| if name == "here.txt" { "here\n" } else { "0\n" }.to_owned();
    let files = files.map(|name| (name.to_owned(), text(name))).into();
    let stage = Stage::with(script, Setting { files, ..setting() }).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Change").await;
    let items = story.all("item/completed");
    let of_kind = |kind: &str| -> Vec<&Value> {
        let items = items.iter().map(|params| &params["item"]);
        items.filter(|item| item["type"] == kind).collect()
    };
    let found = of_kind("commandChanges");
    assert_eq!(found.len(), 1, "what changes nothing has none: {found:#?}");
    assert_eq!(
        listed(&stage, found[0]),
        [
            // From before the command, not from before the turn.
            "update a.txt +1 -0",
            "update binary +0 -0",
            "delete gone.txt +0 -1",
            "add new/b.txt +2 -0",
            "update run.sh +0 -0",
            "update here.txt to there.txt +0 -0",
        ]
    );
    let command = of_kind("commandExecution")[0];
    assert_eq!(found[0]["sourceId"], command["id"]);
    let diff = found[0]["changes"][0]["diff"].as_str().expect("a diff");
    assert!(diff.contains(" 1\n+2\n"), "{diff}");
    let at = |id: &Value| items.iter().position(|params| params["item"]["id"] == *id);
    assert_eq!(at(&found[0]["id"]), at(&command["id"]).map(|at| at + 1));
    // It is in the conversation, too.
    let turns = stage.read(&thread).await["turns"].to_string();
    assert!(turns.contains("commandChanges"), "{turns}");
}

#[tokio::test]
async fn what_a_command_changed_is_undone_file_by_file() {
    let script = json!([
        [apply_patch("c1", &update("a.txt", "0", "1"))],
        [bash(
            "c2",
            "echo 2 >> a.txt; mkdir new; echo x > new/b.txt; mv here.txt there.txt; echo 1 > d.txt"
        )],
        [say("done")],
        [say("told")],
    ]);
    let files = ["a.txt", "here.txt", "d.txt"];
    let files = files.map(|name| (name.to_owned(), "0\n".to_owned())).into();
    let stage = Stage::with(script, Setting { files, ..setting() }).await;
    let before = tree(&stage.dir);
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Change").await;
    let item = story.item("commandChanges")["id"].clone();
    let undo = |names: &[&str]| {
        let paths: Vec<_> = names.iter().map(|name| stage.path(name)).collect();
        json!({"threadId": thread, "itemId": item, "paths": paths})
    };
    // What the patch did stays.
    let undone = stage.undo(undo(&["a.txt"])).await;
    assert_eq!((undone.status(), &stage.text("a.txt")[..]), ("completed", "1\n"));
    let (said, results) = outcome(&stage, &undone);
    assert_eq!((&said["itemId"], &said["turns"]), (&item, &json!([])));
    assert_eq!(
        results.into_iter().collect::<Vec<_>>(),
        [("a.txt".to_owned(), "restored".to_owned())]
    );
    assert_eq!(stage.text("new/b.txt"), "x\n");
    // A file that is new goes, and its folder; one that was moved comes back.
    let undone = stage.undo(undo(&["new/b.txt", "here.txt", "there.txt"])).await;
    let (said, results) = outcome(&stage, &undone);
    assert_eq!(results["new/b.txt"], "removed");
    assert_eq!(
        (&results["here.txt"][..], &results["there.txt"][..]),
        ("restored", "removed")
    );
    let message = said["message"].as_str().expect("words");
    assert!(
        message.starts_with("Restored 1 file. Removed 2 new files. "),
        "{message}"
    );
    assert!(!stage.path("new").exists() && !stage.path("there.txt").exists());
    assert_eq!(
        (stage.text("here.txt"), stage.text("d.txt")),
        ("0\n".to_owned(), "1\n".to_owned())
    );
    // That can be undone, like any turn.
    let turn = undone.one("turn/started")["turn"]["id"].clone();
    stage.undo(json!({"threadId": thread, "turnId": turn})).await;
    assert_eq!(
        (stage.text("new/b.txt"), stage.text("there.txt")),
        ("x\n".to_owned(), "0\n".to_owned())
    );
    // What the person has changed since where the command did is left alone.
    stage.write("d.txt", "mine\n");
    let left = stage.undo(undo(&["d.txt"])).await;
    assert_eq!((left.status(), &stage.text("d.txt")[..]), ("failed", "mine\n"));
    stage.write("d.txt", "1\n");
    // The rest of the turn is undone as ever.
    stage.undo_last(&thread).await;
    assert_same(&before, &tree(&stage.dir));
    // The model is told.
    stage.complete(&thread, "Go on").await;
    let requests = stage.model.requests();
    let last = requests.last().expect("a request").body.to_string();
    assert!(last.contains("took back changes that you made: a.txt"), "{last}");
}

/// A link that has taken the place of a folder since leads an undo nowhere.
#[cfg(unix)]
#[tokio::test]
async fn an_undo_follows_no_link_that_came_since() {
    let script = json!([[bash("c1", "rm dir/x.txt dir/deep/y.txt")], [say("done")]]);
    let files = [("dir/x.txt", "old\n"), ("dir/deep/y.txt", "old\n"), ("x.txt", "mine\n")];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let stage = Stage::with(script, Setting { files, ..setting() }).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Change").await;
    let item = story.item("commandChanges")["id"].clone();
    std::fs::rename(stage.path("dir"), stage.path("away")).expect("moved");
    std::os::unix::fs::symlink(".", stage.path("dir")).expect("a link");
    for params in [
        json!({"threadId": thread, "itemId": item}),
        json!({"threadId": thread, "itemId": item, "paths": [stage.path("dir/deep/y.txt")]}),
        json!({"threadId": thread}),
    ] {
        let undone = stage.undo(params.clone()).await;
        let message = undone.item("undo")["message"].to_string();
        assert!(
            undone.status() == "failed" && message.contains("is a link that was put there since"),
            "{params}: {message}"
        );
        assert_eq!(stage.text("x.txt"), "mine\n");
        assert!(!stage.path("deep").exists());
    }
    std::fs::remove_file(stage.path("dir")).expect("removed");
    std::fs::rename(stage.path("away"), stage.path("dir")).expect("moved");
    let undone = stage.undo(json!({"threadId": thread, "itemId": item})).await;
    assert_eq!((undone.status(), &stage.text("dir/x.txt")[..]), ("completed", "old\n"));
}

#[tokio::test]
async fn what_is_no_change_of_a_command_is_refused() {
    let script = json!([
        [bash("c1", "echo 1 > a.txt")],
        [say("done")],
        [apply_patch("c2", &patch("*** Add File: b.txt\n+b"))],
        [say("done")],
    ]);
    let stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    let item = stage.complete(&thread, "Change").await.item("commandChanges")["id"].clone();
    let other = stage.thread().await;
    let patched = stage.complete(&other, "Change").await;
    let patched = patched.item("fileChange")["id"].clone();
    let outside = json!([stage.path("b.txt")]);
    for (params, said) in [
        (json!({"threadId": other, "itemId": item}), "no such changes"),
        (json!({"threadId": other, "itemId": patched}), "no such changes"),
        (json!({"threadId": thread, "itemId": "no-such-item"}), "no such changes"),
        (
            json!({"threadId": thread, "itemId": item, "paths": outside}),
            "has not changed these files",
        ),
    ] {
        let story = stage.undo(params.clone()).await;
        let message = story.item("undo")["message"].to_string();
        assert!(
            story.status() == "failed" && message.contains(said),
            "{params}: {message}"
        );
    }
    assert_eq!(
        (stage.text("a.txt"), stage.text("b.txt")),
        ("1\n".to_owned(), "b\n".to_owned())
    );
}

/// Back to before a message: the files by an undo, then the conversation, which forgets the undo as well.
#[tokio::test]
async fn what_was_undone_can_be_dropped_from_the_conversation() {
    let script = json!([
        [apply_patch("c1", &update("a.txt", "0", "1"))],
        [say("one")],
        [say("two")],
    ]);
    let files = vec![("a.txt".to_owned(), "0\n".to_owned())];
    let stage = Stage::with(script, Setting { files, ..setting() }).await;
    let thread = stage.thread().await;
    let first = stage.complete(&thread, "One").await;
    stage.complete(&thread, "Two").await;
    let turn = first.one("turn/started")["turn"]["id"].clone();
    stage.undo(json!({"threadId": thread, "turnId": turn})).await;
    assert_eq!(stage.text("a.txt"), "0\n");
    let dropped = stage
        .client
        .call(
            "countersign/thread/rollback",
            json!({"threadId": thread, "numTurns": 2}),
        )
        .await;
    assert_eq!(dropped["numTurns"], 2);
    assert_eq!(stage.read(&thread).await["turns"], json!([]));
    for told in ["tokenUsage", "rolledBack"] {
        stage.client.ignore(&format!("countersign/thread/{told}"));
    }
}

/// What a command had changed before it was stopped is listed as well, also where it had to be ended by force.
#[tokio::test]
async fn what_a_stopped_command_had_changed_is_listed() {
    for stays in ["exec sleep 100", "trap '' TERM; while :; do sleep 1; done"] {
        let command = format!("echo 1 > a.txt; echo 2 > new.txt; touch begun; {stays}");
        let files = [("a.txt".to_owned(), "0\n".to_owned())].into();
        let stage = Stage::with(
            json!([[bash("c1", &command)], [say("done")]]),
            Setting { files, ..setting() },
        )
        .await;
        let thread = stage.thread().await;
        let turn = stage.start_turn(&thread, "Change").await;
        eventually("the command has begun", || stage.dir.join("begun").exists()).await;
        assert_eq!(stage.interrupt(&thread).await, json!({"interrupted": true}));
        let story = stage.finish(&turn).await;
        assert_eq!(story.status(), "interrupted");
        assert_eq!(
            listed(&stage, story.item("commandChanges")),
            ["update a.txt +1 -1", "add begun +0 -0", "add new.txt +1 -0"],
            "{stays}"
        );
    }
}
