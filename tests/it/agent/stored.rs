//! Stored threads: copied, rolled back, put away, named, searched, deleted.

use super::stage::{Stage, apply_patch, bash, eventually, rollout_path, say, shell};
use serde_json::{Value, json};
use std::path::PathBuf;

fn ids(list: &Value) -> Vec<String> {
    let data = list["data"].as_array().expect("a page").iter();
    data.map(|thread| thread["id"].as_str().expect("an id").to_owned())
        .collect()
}

/// The person's words in the turns of a thread.
fn words(thread: &Value) -> Vec<String> {
    let turns = thread["turns"].as_array().expect("turns").iter();
    turns
        .map(|turn| {
            let words = turn["items"][0]["content"][0]["text"].as_str();
            words.unwrap_or_default().to_owned()
        })
        .collect()
}

/// Turns but for their times: those of a stored one are when its lines were written.
fn without_times(turns: &Value) -> Vec<Value> {
    let mut turns = turns.as_array().expect("turns").clone();
    for turn in turns.iter_mut().filter_map(Value::as_object_mut) {
        turn.remove("startedAtMs");
        turn.remove("completedAtMs");
    }
    turns
}

async fn list(stage: &Stage, params: Value) -> Vec<String> {
    ids(&stage.client.call("countersign/thread/list", params).await)
}

async fn refused(stage: &Stage, method: &str, params: Value) -> (String, String) {
    let method = format!("countersign/{method}");
    let error = stage.client.request(&method, params.clone()).await;
    let error = error.expect_err(&format!("{method} {params}"));
    (
        error.data["kind"].as_str().unwrap_or_default().to_owned(),
        error.message,
    )
}

fn archived_files(stage: &Stage) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(stage.client.home().join("archived_sessions"));
    entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}

/// Shows S-316, S-317, S-320, S-044.
#[tokio::test]
async fn a_rollback_drops_turns_and_leaves_files() {
    let usage = |total: u64| json!({"usage": {"input_tokens": total, "output_tokens": 0, "total_tokens": total}});
    let script = json!([
        [say("One."), usage(10)],
        [
            apply_patch("p", "*** Begin Patch\n*** Add File: new.txt\n+made\n*** End Patch"),
            usage(20)
        ],
        [say("Two."), usage(30)],
        [say("Three."), usage(40)],
        [say("Four."), usage(50)],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let params = |turns: u32| json!({"threadId": thread, "numTurns": turns});
    // Nothing to drop, and nothing meant.
    for (turns, part) in [(0, "at least 1"), (1, "no turn to drop")] {
        let (kind, message) = refused(&stage, "thread/rollback", params(turns)).await;
        assert_eq!(kind, "rollbackFailed");
        assert!(message.contains(part), "{message}");
    }
    stage.complete(&thread, "First").await;
    let usage_before = stage.read(&thread).await;
    assert_eq!(words(&usage_before), ["First"]);
    let turn = stage.start_turn(&thread, "Second").await;
    let story = stage.until_event("proposal/created").await;
    // While a turn runs nothing is dropped.
    let (kind, message) = refused(&stage, "thread/rollback", params(1)).await;
    assert_eq!(kind, "rollbackFailed");
    assert!(message.contains("running"), "{message}");
    let proposal = &story.last()["proposal"]["id"];
    stage
        .decide(json!({"proposalId": proposal, "decision": "accept"}))
        .await;
    stage.finish(&turn).await;
    let last = stage.complete(&thread, "Third").await.last()["turn"]["id"].clone();
    assert_eq!(stage.text("new.txt"), "made\n");
    // One that means another last turn drops none: a request that is sent twice drops once.
    let seen = |turns: u32, last: &Value| json!({"threadId": thread, "numTurns": turns, "expectedTurnId": last});
    let (kind, message) = refused(&stage, "thread/rollback", seen(2, &json!(turn))).await;
    assert_eq!(kind, "turnMismatch");
    assert!(message.contains("no turn was dropped"), "{message}");
    let rolled = stage.client.call("countersign/thread/rollback", seen(2, &last)).await;
    let (kind, _) = refused(&stage, "thread/rollback", seen(2, &last)).await;
    assert_eq!(kind, "turnMismatch");
    assert_eq!(rolled["numTurns"], 2);
    assert!(rolled["message"].as_str().unwrap().contains("Files stay"), "{rolled}");
    assert_eq!(words(&rolled["thread"]), ["First"]);
    let story = stage.until_event("thread/rolledBack").await;
    assert_eq!(story.names(), ["thread/tokenUsage", "thread/rolledBack"]);
    assert_eq!(story.last()["numTurns"], 2);
    assert_eq!(story.one("thread/tokenUsage")["tokenUsage"]["total"]["totalTokens"], 10);
    assert_eq!(stage.text("new.txt"), "made\n", "files are the business of undo");
    let markers = |stage: &Stage| {
        let lines = stage.rollout(&thread).into_iter();
        let markers = lines.filter(|line| line["payload"]["type"] == "thread_rolled_back");
        markers
            .map(|line| line["payload"]["num_turns"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(markers(&stage), [2], "recorded once");
    // The model hears nothing more of them.
    stage.complete(&thread, "Fourth").await;
    let request = &stage.requests(5)[4];
    let texts = request.input_texts().join("\n");
    assert!(texts.contains("First") && texts.contains("Fourth"), "{texts}");
    assert!(!texts.contains("Second") && !texts.contains("Third"), "{texts}");
    assert!(request.outputs().is_empty());
    // What is read from the disk says the same.
    let stored = countersign::store::load(&rollout_path(stage.client.home(), &thread).unwrap()).unwrap();
    assert_eq!(stored.turns.len(), 2);
    // More than there are drops all.
    let rolled = stage.client.call("countersign/thread/rollback", params(9)).await;
    assert_eq!(
        (&rolled["numTurns"], &rolled["thread"]["turns"]),
        (&json!(2), &json!([]))
    );
    stage.until_event("thread/rolledBack").await;
    // A thread that leaves nothing on disk has no log to play.
    let private = stage.start_thread(json!({"ephemeral": true})).await;
    let (kind, message) = refused(
        &stage,
        "thread/rollback",
        json!({"threadId": private["thread"]["id"], "numTurns": 1}),
    )
    .await;
    assert_eq!(kind, "rollbackFailed");
    assert!(message.contains("not stored"), "{message}");
}

/// Shows S-301, S-321.
#[tokio::test]
async fn a_copy_and_its_original_go_their_own_ways() {
    let script = json!([[say("1")], [say("2")], [say("A")], [say("B")], [say("C")], [say("D")]]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "One").await;
    stage.complete(&thread, "Two").await;
    let turns = stage.read(&thread).await["turns"].clone();
    let fork = async |params: Value| {
        let forked = stage.client.call("countersign/thread/fork", params).await;
        let id = forked["thread"]["id"].as_str().unwrap().to_owned();
        stage.until_event("thread/configured").await;
        assert_ne!(id, thread);
        assert_eq!(forked["thread"]["forkedFromId"], thread);
        (id, forked)
    };
    let (whole, forked) = fork(json!({"threadId": thread})).await;
    assert_eq!(without_times(&forked["thread"]["turns"]), without_times(&turns));
    assert_eq!(forked["settings"]["cwd"], json!(stage.dir));
    let first = stage.rollout(&whole)[0].clone();
    assert_eq!(
        (&first["type"], &first["payload"]["id"]),
        (&json!("session_meta"), &json!(whole))
    );
    assert_eq!(first["payload"]["forked_from_id"], thread);
    assert_eq!(first["payload"]["cwd"], json!(stage.dir));
    let (through, forked) = fork(json!({"threadId": thread, "lastTurnId": turns[0]["id"]})).await;
    assert_eq!(words(&forked["thread"]), ["One"]);
    let (_, forked) = fork(json!({"threadId": thread, "beforeTurnId": turns[1]["id"], "ephemeral": true})).await;
    assert_eq!(words(&forked["thread"]), ["One"]);
    assert_eq!(forked["thread"].get("path"), None);
    let (_, forked) =
        fork(json!({"threadId": thread, "beforeTurnId": turns[0]["id"], "settings": {"model": "other"}})).await;
    assert_eq!(
        (&forked["thread"]["turns"], &forked["settings"]["model"]),
        (&json!([]), &json!("other"))
    );
    // Each goes on by itself.
    for (id, said) in [
        (&thread, "Three"),
        (&whole, "Three of the copy"),
        (&through, "Two of the copy"),
    ] {
        stage.complete(id, said).await;
    }
    let requests = stage.requests(5);
    let heard = |number: usize| {
        let texts = requests[number].input_texts();
        let texts = texts
            .into_iter()
            .filter(|text| text.len() < 40 && !text.starts_with('<'));
        texts.collect::<Vec<_>>()
    };
    assert_eq!(heard(2), ["One", "1", "Two", "2", "Three"]);
    assert_eq!(heard(3), ["One", "1", "Two", "2", "Three of the copy"]);
    assert_eq!(heard(4), ["One", "1", "Two of the copy"]);
    assert_eq!(words(&stage.read(&thread).await), ["One", "Two", "Three"]);
    // What cannot be meant leaves nothing behind.
    let count = list(&stage, json!({})).await.len();
    let rows = [
        (json!({}), "invalidParams"),
        (json!({"threadId": "nobody"}), "threadNotFound"),
        (
            json!({"threadId": "01890000-0000-7000-8000-000000000000"}),
            "threadNotFound",
        ),
        (
            json!({"threadId": thread, "lastTurnId": "no such turn"}),
            "turnNotFound",
        ),
        (
            json!({"threadId": thread, "lastTurnId": "a", "beforeTurnId": "b"}),
            "invalidParams",
        ),
        (
            json!({"threadId": thread, "settings": {"cwd": "/no/such/folder"}}),
            "invalidConfig",
        ),
        (
            json!({"threadId": thread, "settings": {"modelProvider": "nobody"}}),
            "invalidConfig",
        ),
    ];
    for (params, expected) in rows {
        assert_eq!(
            refused(&stage, "thread/fork", params.clone()).await.0,
            expected,
            "{params}"
        );
    }
    assert_eq!(list(&stage, json!({})).await.len(), count);
}

/// Shows S-321.
#[tokio::test]
async fn a_copy_of_a_running_thread_has_what_is_on_record() {
    let script = json!([
        [say("Done first.")],
        [
            say("I wait."),
            bash("c1", "echo ready; until test -e go; do sleep 0.02; done")
        ],
        [say("Done.")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "First").await;
    let turn = stage.start_turn(&thread, "Wait").await;
    stage.until_output("ready").await;
    let (kind, _) = refused(&stage, "thread/fork", json!({"threadId": thread, "lastTurnId": turn})).await;
    assert_eq!(kind, "turnRunning");
    let forked = stage
        .client
        .call("countersign/thread/fork", json!({"threadId": thread}))
        .await;
    let copied = &forked["thread"]["turns"][1];
    assert_eq!(
        (&copied["id"], &copied["status"]),
        (&json!(turn), &json!("interrupted"))
    );
    assert_eq!(words(&forked["thread"]), ["First", "Wait"]);
    stage.until_event("thread/configured").await;
    // The original goes on.
    stage.write("go", "");
    assert_eq!(stage.finish(&turn).await.status(), "completed");
}

/// Shows S-313, S-314, S-315.
#[tokio::test]
async fn threads_are_put_away_and_brought_back() {
    let script = json!([[say("Kept.")], [bash("c1", "echo ready; sleep 1000")], [say("Again.")],]);
    let stage = Stage::new(script).await;
    stage.client.heed("countersign/thread/closed");
    let kept = stage.thread().await;
    stage.complete(&kept, "Keep me").await;
    let running = stage.thread().await;
    let turn = stage.start_turn(&running, "Run").await;
    stage.until_output("ready").await;
    let path = rollout_path(stage.client.home(), &running).unwrap();
    // A live one is ended first: its turn, its file, its last event; then it is told.
    stage
        .client
        .call("countersign/thread/archive", json!({"threadId": running}))
        .await;
    let story = stage.until_event("thread/archived").await;
    assert_eq!(story.one("turn/completed")["turn"]["id"], turn);
    assert_eq!(story.status(), "interrupted");
    let names = story.names();
    assert_eq!(names[names.len() - 2..], ["thread/closed", "thread/archived"]);
    assert!(!path.exists());
    let files = archived_files(&stage);
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].file_name(), path.file_name());
    assert_eq!(list(&stage, json!({})).await, std::slice::from_ref(&kept));
    assert_eq!(
        list(&stage, json!({"archived": true})).await,
        std::slice::from_ref(&running)
    );
    assert_eq!(stage.read(&running).await["archived"], true);
    let not_now = [
        ("thread/archive", json!({"threadId": running})),
        ("thread/resume", json!({"threadId": running})),
        ("thread/name/set", json!({"threadId": running, "name": "x"})),
        (
            "thread/memoryMode/set",
            json!({"threadId": running, "mode": "disabled"}),
        ),
    ];
    for (method, params) in not_now {
        let (kind, message) = refused(&stage, method, params).await;
        assert_eq!(kind, "threadArchived", "{method}");
        assert!(message.contains("unarchive"), "{message}");
    }
    let back = stage
        .client
        .call("countersign/thread/unarchive", json!({"threadId": running}))
        .await;
    assert_eq!(
        (&back["thread"]["id"], &back["thread"]["archived"]),
        (&json!(running), &json!(false))
    );
    assert_eq!(stage.until_event("thread/unarchived").await.last()["threadId"], running);
    assert!(path.exists() && archived_files(&stage).is_empty());
    let resumed = stage
        .client
        .call("countersign/thread/resume", json!({"threadId": running}))
        .await;
    assert_eq!(resumed["thread"]["turns"][0]["status"], "interrupted");
    stage.until_event("thread/configured").await;
    assert_eq!(stage.run(&running, "Again").await.said(), ["Again."]);
    let unknown = "01890000-0000-7000-8000-000000000000";
    for method in ["thread/archive", "thread/unarchive", "thread/delete"] {
        for id in [unknown, "no id"] {
            let (kind, message) = refused(&stage, method, json!({ "threadId": id })).await;
            assert_eq!(kind, "threadNotFound", "{method} {id}");
            assert!(message.contains(id), "{message}");
        }
    }
    let (kind, _) = refused(&stage, "thread/unarchive", json!({"threadId": kept})).await;
    assert_eq!(kind, "threadNotFound");
    stage.client.ignore("countersign/thread/closed");
}

#[tokio::test]
async fn a_deleted_thread_leaves_nothing() {
    let script = json!([
        [apply_patch(
            "p",
            "*** Begin Patch\n*** Add File: new.txt\n+made\n*** End Patch"
        )],
        [say("Done.")],
        [say("Other.")],
    ]);
    let stage = Stage::new(script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Make it").await;
    let story = stage.until_event("proposal/created").await;
    let proposal = story.last()["proposal"]["id"].clone();
    stage
        .decide(json!({"proposalId": proposal, "decision": "accept"}))
        .await;
    stage.finish(&turn).await;
    let record = stage.client.home().join("snapshots/turns").join(format!("{turn}.json"));
    let path = rollout_path(stage.client.home(), &thread).unwrap();
    let other = stage.thread().await;
    stage.complete(&other, "Other").await;
    let had_record = record.exists();
    // Only by exactly this id.
    let (kind, _) = refused(&stage, "thread/delete", json!({"threadId": thread.to_uppercase()})).await;
    assert_eq!(kind, "threadNotFound");
    assert!(path.exists());
    stage
        .client
        .call("countersign/thread/delete", json!({"threadId": thread}))
        .await;
    assert_eq!(stage.until_event("thread/deleted").await.last()["threadId"], thread);
    assert!(!path.exists());
    assert!(!had_record || !record.exists());
    assert_eq!(list(&stage, json!({})).await, std::slice::from_ref(&other));
    assert_eq!(
        refused(&stage, "thread/read", json!({"threadId": thread})).await.0,
        "threadNotFound"
    );
    assert_eq!(stage.text("new.txt"), "made\n");
    // An archived one too.
    stage
        .client
        .call("countersign/thread/archive", json!({"threadId": other}))
        .await;
    stage.until_event("thread/archived").await;
    stage
        .client
        .call("countersign/thread/delete", json!({"threadId": other}))
        .await;
    stage.until_event("thread/deleted").await;
    assert!(archived_files(&stage).is_empty());
}

#[tokio::test]
async fn a_thread_has_the_name_that_it_was_given_last() {
    let stage = Stage::new(json!([[say("1")], [say("2")]])).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "What is it?").await;
    let name = async |name: &str| {
        let params = json!({"threadId": thread, "name": name});
        let named = stage.client.call("countersign/thread/name/set", params).await;
        let told = stage.until_event("thread/nameUpdated").await.last().clone();
        assert_eq!(
            (&told["threadId"], &told["name"]),
            (&json!(thread), &named["thread"]["name"])
        );
        named["thread"]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(name("First").await, "First");
    assert_eq!(name("  The \n thing \u{fc} ").await, "The thing \u{fc}");
    stage.complete(&thread, "Go on").await;
    let found = stage
        .client
        .call("countersign/thread/list", json!({"searchTerm": "THING"}))
        .await;
    assert_eq!(found["data"][0]["name"], "The thing \u{fc}");
    for blank in ["", "  \n\t"] {
        let (kind, message) = refused(&stage, "thread/name/set", json!({"threadId": thread, "name": blank})).await;
        assert_eq!(kind, "invalidParams");
        assert!(message.contains("blank"), "{message}");
    }
    let long = json!({"threadId": thread, "name": "x".repeat(501)});
    assert_eq!(refused(&stage, "thread/name/set", long).await.0, "invalidParams");
    let lines = stage.rollout(&thread).into_iter();
    let names = lines.filter(|line| line["payload"]["type"] == "thread_name_updated");
    assert_eq!(names.count(), 2);
}

#[tokio::test]
async fn words_are_found_in_what_was_said() {
    let stage = Stage::new(json!([
        [say("The answer has a NEEDLE in it.")],
        [shell("c1", &["echo", "needle in an output"])],
        [say("Nothing.")],
    ]))
    .await;
    let first = stage.thread().await;
    stage.complete(&first, "What is \"in\" the\nhaystack?").await;
    let second = stage.thread().await;
    stage.complete(&second, "Look again").await;
    let search = async |params: Value| stage.client.call("countersign/thread/search", params).await;
    let found = search(json!({"searchTerm": "needle"})).await;
    assert_eq!(found["data"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["data"][0]["thread"]["id"], first);
    assert_eq!(found["data"][0]["snippet"], "The answer has a NEEDLE in it.");
    assert!(found["data"][0]["turnId"].is_string());
    let found = search(json!({"searchTerm": "\"in\" the"})).await;
    assert_eq!(found["data"][0]["thread"]["id"], first);
    let page = search(json!({"searchTerm": "a", "limit": 1})).await;
    assert_eq!(page["data"][0]["thread"]["id"], second);
    let page = search(json!({"searchTerm": "a", "limit": 1, "cursor": page["nextCursor"]})).await;
    assert_eq!(page["data"][0]["thread"]["id"], first);
    for empty in ["", "  ", "no such words"] {
        assert_eq!(
            search(json!({ "searchTerm": empty })).await["data"],
            json!([]),
            "{empty}"
        );
    }
    let bad = json!({"searchTerm": "a", "cursor": "xyz"});
    assert_eq!(refused(&stage, "thread/search", bad).await.0, "invalidCursor");
}

/// Shows S-420, S-421, S-422.
#[tokio::test]
async fn the_memory_mode_is_kept_and_nobody_else_hears_of_it() {
    let stage = Stage::new(json!([[say("1")], [say("2")]])).await;
    let thread = stage.thread().await;
    let set = async |mode: &str| {
        let params = json!({"threadId": thread, "mode": mode});
        let set = stage.client.call("countersign/thread/memoryMode/set", params).await;
        assert_eq!(set["thread"]["memoryMode"], mode);
    };
    // Also before the first turn: then the thread gets its file.
    set("disabled").await;
    stage.complete(&thread, "Hi").await;
    set("enabled").await;
    set("disabled").await;
    stage.client.settle().await;
    assert_eq!(stage.client.take_unread(), []);
    stage.requests(1);
    let stored = stage.rollout(&thread);
    let modes: Vec<&Value> = stored
        .iter()
        .filter(|line| line["type"] == "session_meta")
        .map(|line| &line["payload"]["memory_mode"])
        .collect();
    assert_eq!(
        modes,
        [&Value::Null, &json!("disabled"), &json!("enabled"), &json!("disabled")]
    );
    let listed = stage.client.call("countersign/thread/list", json!({})).await;
    assert_eq!(listed["data"][0]["memoryMode"], "disabled");
    let copy = stage
        .client
        .call("countersign/thread/fork", json!({"threadId": thread}))
        .await;
    assert_eq!(copy["thread"]["memoryMode"], "disabled");
    stage.until_event("thread/configured").await;
    let private = stage.start_thread(json!({"ephemeral": true})).await;
    let params = json!({"threadId": private["thread"]["id"], "mode": "disabled"});
    assert_eq!(
        refused(&stage, "thread/memoryMode/set", params).await.0,
        "threadNotStored"
    );
    let unknown = json!({"threadId": "01890000-0000-7000-8000-000000000000", "mode": "disabled"});
    assert_eq!(
        refused(&stage, "thread/memoryMode/set", unknown).await.0,
        "threadNotFound"
    );
}

/// Two servers on one home: a thread is written by one of them.
#[tokio::test]
async fn a_thread_is_open_in_one_server() {
    let home = tempfile::tempdir().expect("a folder");
    let setting = |folder: Option<PathBuf>| super::stage::Setting {
        home: Some(home.path().to_owned()),
        folder,
        ..Default::default()
    };
    let first = Stage::with(json!([[say("1")]]), setting(None)).await;
    let thread = first.thread().await;
    first.complete(&thread, "Hi").await;
    let second = Stage::with(json!([[say("2")]]), setting(Some(first.dir.clone()))).await;
    let params = json!({"threadId": thread});
    for method in ["thread/resume", "thread/archive", "thread/delete"] {
        let (kind, message) = refused(&second, method, params.clone()).await;
        assert_eq!(kind, "threadInUse", "{method}");
        assert!(message.contains("fork"), "{message}");
    }
    assert_eq!(words(&second.read(&thread).await), ["Hi"]);
    let copy = second.client.call("countersign/thread/fork", params.clone()).await;
    second.until_event("thread/configured").await;
    let copy = copy["thread"]["id"].as_str().unwrap().to_owned();
    assert_eq!(second.complete(&copy, "There?").await.said(), ["2"]);
    let _folder = first.end();
    eventually("the first server lets it go", || {
        let path = rollout_path(second.client.home(), &thread).expect("a file");
        std::fs::File::open(path).expect("a file").try_lock().is_ok()
    })
    .await;
    second.resume(params).await;
}

/// The threads of the reference system's home folder are shown and gone on with, and never changed.
#[tokio::test]
async fn threads_of_the_reference_system_are_continued_in_a_copy() {
    let theirs = tempfile::tempdir().expect("a folder");
    let id = "0199a213-81c0-7800-8aa1-bbab2a035a53";
    let folder = theirs.path().join("sessions/2025/10/01");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(format!("rollout-2025-10-01T10-00-00-{id}.jsonl"));
    let line =
        |kind: &str, payload: Value| json!({"timestamp": "2025-10-01T10:00:00.000Z", "type": kind, "payload": payload});
    let message = |role: &str, kind: &str, text: &str| {
        line(
            "response_item",
            json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
        )
    };
    let meta = json!({"id": id, "timestamp": "2025-10-01T10:00:00.000Z", "cwd": theirs.path(), "originator": "codex_cli_rs",
                      "cli_version": "0.50.0", "source": "cli", "model_provider": "openai"});
    let lines = [
        line("session_meta", meta),
        message("user", "input_text", "What was it?"),
        json!({"timestamp": "2025-10-01T10:00:01.000Z", "type": "response_item", "payload": {"type": "message"}}),
        message("assistant", "output_text", "It was this."),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let text = format!("\u{feff}{text}{{\"timestamp\": \"2025-10-01T10:0");
    std::fs::write(&path, &text).expect("a file");
    let setting = super::stage::Setting {
        env: vec![("CODEX_HOME".into(), theirs.path().to_string_lossy().into_owned())],
        ..Default::default()
    };
    let stage = Stage::with(json!([[say("Still this.")]]), setting).await;
    assert_eq!(list(&stage, json!({})).await, [""; 0]);
    assert_eq!(list(&stage, json!({"origin": "codex"})).await, [id]);
    assert_eq!(words(&stage.read(id).await), ["What was it?"]);
    let changing = [
        ("thread/name/set", json!({"threadId": id, "name": "x"})),
        ("thread/memoryMode/set", json!({"threadId": id, "mode": "disabled"})),
        ("thread/archive", json!({"threadId": id})),
        ("thread/delete", json!({"threadId": id})),
    ];
    for (method, params) in changing {
        let (kind, _) = refused(&stage, method, params).await;
        assert!(
            ["storeFailed", "threadNotFound"].contains(&kind.as_str()),
            "{method}: {kind}"
        );
    }
    let here = json!({"modelProvider": "rehearsal", "model": "rehearsal"});
    let resumed = stage.resume(json!({"threadId": id, "settings": here})).await;
    let copy = resumed["thread"]["id"].as_str().unwrap().to_owned();
    assert_ne!(copy, id);
    assert_eq!(resumed["thread"]["forkedFromId"], id);
    // The broken line is told of; the one that was cut off is nobody's fault.
    let warning = stage.until_event("warning").await.last()["message"].clone();
    assert!(warning.as_str().unwrap().contains("(1 in all)"), "{warning}");
    assert_eq!(stage.complete(&copy, "And now?").await.said(), ["Still this."]);
    assert_eq!(words(&stage.read(&copy).await), ["What was it?", "And now?"]);
    assert_eq!(
        std::fs::read_to_string(&path).expect("a file"),
        text,
        "theirs is as it was"
    );
    assert_eq!(list(&stage, json!({})).await, [copy]);
}

/// A thread whose first line, the description, is lost: what is left of it is listed, read, and continued in a copy.
#[tokio::test]
async fn a_thread_without_its_description_is_listed_read_and_continued() {
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path().join("home");
    let setting = |folder: Option<PathBuf>| super::stage::Setting {
        home: Some(home.clone()),
        folder,
        ..Default::default()
    };
    let stage = Stage::with(json!([[say("One.")]]), setting(None)).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "First words").await;
    let folder = stage.end();
    let dir = folder.as_ref().expect("a workspace").path().join("work");
    let dir = dir.canonicalize().expect("a path");
    let stage = Stage::with(json!([[say("Two.")]]), setting(Some(dir))).await;
    let path = rollout_path(&home, &thread).expect("a file");
    let text = std::fs::read_to_string(&path).expect("a file");
    for first in ["", "{\"timestamp\": \"2025-10-01T10:0\n"] {
        let (_, rest) = text.split_once('\n').expect("lines");
        std::fs::write(&path, format!("{first}{rest}")).expect("a file");
        let listed = stage.client.call("countersign/thread/list", json!({})).await;
        let [found] = &listed["data"].as_array().expect("a page")[..] else {
            panic!("{listed:#}");
        };
        assert_eq!(
            (&found["id"], &found["preview"]),
            (&json!(thread), &json!("First words")),
            "{found:#}"
        );
        assert_eq!(found["cwd"], json!(stage.dir), "as its turn says");
        assert_eq!(words(&stage.read(&thread).await), ["First words"]);
    }
    let resumed = stage.resume(json!({"threadId": thread})).await;
    let copy = resumed["thread"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(resumed["thread"]["forkedFromId"], json!(thread));
    stage.complete(&copy, "Second words").await;
    assert_eq!(words(&stage.read(&copy).await), ["First words", "Second words"]);
}
