//! What other programs change while a command of the agent runs: it is none of the turn's, and no undo takes it away.

use super::{Setting, Stage, bash, outcome, say, setting};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A command that begins, waits for the person, and then does its work.
fn waits_for_the_person(work: &str) -> Value {
    let command = format!("set -e; echo begun; until test -e go; do sleep 0.01; done; {work}");
    json!([[bash("c1", &command)], [say("done")], [say("more")]])
}

async fn begun(stage: &Stage) -> (String, String) {
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Change").await;
    stage.until_output("begun").await;
    (thread, turn)
}

/// The command writes in each way that there is, and another program of the person's does so at the same time.
#[tokio::test]
async fn what_other_programs_change_meanwhile_is_left_alone() {
    let work = "echo agent > agent.txt; sed -i s/0/1/ edited.txt; rm old.txt; mv folder moved; chmod 755 bits.sh; \
                mkdir made; echo x > made/inner; ln -s edited.txt link; \
                ln linked.txt other; echo x >> other; rm other";
    let names = [
        "edited.txt",
        "old.txt",
        "folder/inner",
        "bits.sh",
        "linked.txt",
        "mine.txt",
        "gone.txt",
    ];
    let files = names.map(|name| (name.to_owned(), "0\n".to_owned())).into();
    let stage = Stage::with(waits_for_the_person(work), Setting { files, ..setting() }).await;
    let (thread, turn) = begun(&stage).await;
    stage.write("new.txt", "precious\n");
    std::fs::hard_link(stage.path("new.txt"), stage.path("second.txt")).expect("a link");
    stage.write("mine.txt", "0\nmine\n");
    std::fs::remove_file(stage.path("gone.txt")).expect("a file");
    stage.write("go", "");
    let story = stage.finish(&turn).await;
    assert_eq!(story.item("commandExecution")["exitCode"], 0);
    let diff = story.one("turn/diff")["diff"].as_str().expect("a diff").to_owned();
    for name in [
        "agent.txt",
        "edited.txt",
        "old.txt",
        "moved/inner",
        "bits.sh",
        "made/inner",
        "link",
        "linked.txt",
    ] {
        assert!(diff.contains(name), "{name}: {diff}");
    }
    for name in ["new.txt", "second.txt", "mine.txt", "gone.txt", "b/go"] {
        assert!(!diff.contains(name), "{name}: {diff}");
    }
    let warnings = story.all("warning").into_iter();
    let mut told = warnings.filter_map(|warning| {
        warning["message"]
            .as_str()
            .filter(|told| told.contains("Other programs"))
    });
    let told = told.next().expect("a warning").to_owned();
    for name in ["new.txt", "mine.txt", "gone.txt"] {
        assert!(told.contains(name), "{name}: {told}");
    }
    let undo = stage.undo_last(&thread).await;
    for (name, expected) in [
        ("new.txt", Some("precious\n")),
        ("second.txt", Some("precious\n")),
        ("linked.txt", Some("0\n")),
        ("mine.txt", Some("0\nmine\n")),
        ("gone.txt", None),
        ("agent.txt", None),
        ("edited.txt", Some("0\n")),
        ("old.txt", Some("0\n")),
        ("folder/inner", Some("0\n")),
        ("moved/inner", None),
        ("made/inner", None),
        ("link", None),
    ] {
        let there = std::fs::read_to_string(stage.path(name)).ok();
        assert_eq!(there.as_deref(), expected, "{name}");
    }
    let bits = std::fs::metadata(stage.path("bits.sh")).expect("a file").permissions();
    assert_eq!(bits.mode() & 0o111, 0);
    // What it took away can be found.
    let (item, files) = outcome(&stage, &undo);
    assert!(
        !files.contains_key("new.txt") && files.contains_key("agent.txt"),
        "{files:#?}"
    );
    let message = item["message"].as_str().expect("words");
    let (_, copies) = message.split_once("is kept for 14 days: ").expect("where");
    let work = stage.dir.strip_prefix("/").expect("an absolute path");
    let copy = |name: &str| std::fs::read_to_string(Path::new(copies).join(work).join(name)).ok();
    assert_eq!(copy("agent.txt").as_deref(), Some("agent\n"));
    assert_eq!(copy("edited.txt").as_deref(), Some("1\n"));
    assert_eq!(copy("mine.txt"), None);
}

/// What both changed is taken back by the person's word only.
#[tokio::test]
async fn what_the_person_saved_and_a_command_changed_is_asked_about() {
    let work = "echo agent > agent.txt; echo agent >> both.txt";
    let files = vec![("both.txt".to_owned(), "0\n".to_owned())];
    let stage = Stage::with(waits_for_the_person(work), Setting { files, ..setting() }).await;
    stage.open("both.txt", "0\n");
    let uri = countersign::workspace::uri::from_path(&stage.path("both.txt"));
    let change = |version: i32, text: &str| {
        let change = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]});
        stage.client.notify("textDocument/didChange", change);
    };
    let (thread, turn) = begun(&stage).await;
    change(2, "mine\n");
    stage.write("both.txt", "mine\n");
    let saved = json!({"textDocument": {"uri": uri}});
    stage.client.notify("textDocument/didSave", saved);
    // The answer tells that the server has seen all before it.
    stage
        .client
        .call("countersign/turn/diff", json!({"threadId": thread}))
        .await;
    stage.write("go", "");
    stage.finish(&turn).await;
    // The editor shows what is there.
    change(3, "mine\nagent\n");
    let undo = stage.undo_last(&thread).await;
    let (item, files) = outcome(&stage, &undo);
    assert_eq!(files.get("both.txt").map(String::as_str), Some("conflict"), "{item:#}");
    assert_eq!(files.get("agent.txt").map(String::as_str), Some("removed"), "{item:#}");
    assert_eq!(stage.text("both.txt"), "mine\nagent\n");
}

/// What the sandbox took away is said by itself, with where it is now.
#[tokio::test]
async fn what_is_set_aside_is_said_to_the_person() {
    let stage = Stage::with(waits_for_the_person("echo agent > agent.txt"), setting()).await;
    let (_thread, turn) = begun(&stage).await;
    stage.write("AGENTS.md", "mine\n");
    stage.write("go", "");
    let story = stage.finish(&turn).await;
    let warnings = story.all("warning").into_iter();
    let mut told =
        warnings.filter_map(|warning| warning["message"].as_str().filter(|told| told.contains("may be yours")));
    let told = told.next().expect("a warning").to_owned();
    let (what, place) = told.split_once(": moved to ").expect("where it is");
    assert!(what.contains("AGENTS.md"), "{told}");
    assert_eq!(std::fs::read_to_string(place).expect("a file"), "mine\n");
    let around = Path::new(place).parent().expect("a folder of its own");
    if around.to_string_lossy().contains("set-aside") {
        std::fs::remove_dir_all(around).expect("clean up");
    }
}
