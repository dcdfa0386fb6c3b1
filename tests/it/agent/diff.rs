//! The diff of a turn: what patches and commands changed, as it grows and afterwards.

use super::stage::{Setting, Stage, apply_patch, bash, say};
use serde_json::{Value, json};

fn setting(files: &[(&str, &str)]) -> Setting {
    Setting {
        config: "approval_policy = \"never\"".to_owned(),
        files: files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect(),
        ..Setting::default()
    }
}

fn update(name: &str, from: &str, to: &str) -> String {
    format!("*** Begin Patch\n*** Update File: {name}\n@@\n-{from}\n+{to}\n*** End Patch")
}

async fn read(stage: &Stage, params: Value) -> Value {
    stage.client.call("countersign/turn/diff", params).await
}

/// Shows S-271, S-272, S-273, S-274, S-275.
#[tokio::test]
async fn it_grows_with_patches_and_commands_and_shrinks_when_they_are_taken_back() {
    let script = json!([
        [apply_patch("c1", &update("a.txt", "0", "1"))],
        [bash("c2", "cat a.txt")],
        [bash(
            "c3",
            "echo new > b.txt; chmod 755 run.sh; printf '\\000' > bin; ln -s a.txt link"
        )],
        [bash("c4", "echo 0 > a.txt")],
        [bash("c5", "mv b.txt c.txt; rm bin link")],
        [say("done")],
        [say("nothing more")],
    ]);
    let stage = Stage::with(script, setting(&[("a.txt", "0\n"), ("run.sh", "echo\n")])).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Change").await;
    let diffs: Vec<&str> = story
        .all("turn/diff")
        .iter()
        .map(|params| params["diff"].as_str().expect("a diff"))
        .collect();
    assert_eq!(diffs.len(), 4, "none for the round that only read: {diffs:#?}");
    let a = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-0\n+1\n";
    assert_eq!(diffs[0], a);
    let b = "diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n";
    let bin = "diff --git a/bin b/bin\nnew file mode 100644\nBinary files /dev/null and b/bin differ\n";
    let link = "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+a.txt\n\\ No newline \
                at end of file\n";
    let run = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n";
    assert_eq!(diffs[1], format!("{a}{b}{bin}{link}{run}"));
    assert_eq!(diffs[2], format!("{b}{bin}{link}{run}"));
    assert_eq!(diffs[3], format!("{}{run}", b.replace("b.txt", "c.txt")));
    // After the outputs of its round.
    let last_command = story.at(|name, params| name == "item/completed" && params["item"]["id"] == "c5");
    let last_diff = story
        .events
        .iter()
        .rposition(|(name, _)| name == "turn/diff")
        .expect("a diff");
    assert!(last_command < last_diff);
    let turn = story.one("turn/started")["turn"]["id"].clone();
    let talk = stage.complete(&thread, "Talk").await;
    assert_eq!(talk.count("turn/diff"), 0);
    // It can be read later: the newest that changed something, or any.
    let newest = read(&stage, json!({"threadId": thread})).await;
    assert_eq!(newest, json!({"turnId": turn, "diff": diffs[3]}));
    let talked = talk.one("turn/started")["turn"]["id"].clone();
    let none = read(&stage, json!({"threadId": thread, "turnId": talked})).await;
    assert_eq!(none, json!({"turnId": talked, "diff": ""}));
    let unknown = json!({"threadId": thread, "turnId": "x"});
    let error = stage
        .client
        .request("countersign/turn/diff", unknown)
        .await
        .unwrap_err();
    assert_eq!(error.data["kind"], "turnNotFound");
    let unknown = json!({"threadId": "x"});
    let error = stage
        .client
        .request("countersign/turn/diff", unknown)
        .await
        .unwrap_err();
    assert_eq!(error.data["kind"], "threadNotFound");
}

/// Shows S-275.
#[tokio::test]
async fn what_the_person_saves_while_a_command_runs_is_not_the_agents() {
    let script = json!([
        [bash(
            "c1",
            "echo begun; until test -e go; do sleep 0.01; done; echo 1 > a.txt"
        )],
        [say("done")],
    ]);
    let stage = Stage::with(script, setting(&[("a.txt", "0\n"), ("mine.txt", "0\n")])).await;
    stage.open("mine.txt", "0\n");
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Change").await;
    stage.until_output("begun").await;
    let uri = countersign::workspace::uri::from_path(&stage.path("mine.txt"));
    let change = json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "mine\n"}]});
    stage.client.notify("textDocument/didChange", change);
    stage.write("mine.txt", "mine\n");
    stage
        .client
        .notify("textDocument/didSave", json!({"textDocument": {"uri": uri}}));
    // The answer tells that the server has seen all before it.
    let live = read(&stage, json!({"threadId": thread})).await;
    assert_eq!(live, json!({"turnId": turn, "diff": ""}));
    stage.write("go", "");
    let story = stage.finish(&turn).await;
    let diff = story.one("turn/diff")["diff"].as_str().expect("a diff").to_owned();
    assert!(diff.contains("a/a.txt") && !diff.contains("mine.txt"), "{diff}");
}
