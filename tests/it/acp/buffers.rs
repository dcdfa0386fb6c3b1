//! What the client holds of files: read before the disk, written through the client, and a session's own.

use super::client::{Acp, call};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Texts of one file, by the session whose editor holds it.
type Buffers = Arc<Mutex<BTreeMap<String, String>>>;

/// A client that holds another text of one file in each session.
fn hold(acp: &mut Acp, file: &Path) -> Buffers {
    let buffers = Buffers::default();
    let whose = |params: &Value| params["sessionId"].as_str().expect("a session").to_owned();
    let (read, written, file) = (buffers.clone(), buffers.clone(), file.to_owned());
    acp.on("fs/read_text_file", move |params| {
        let held = read.lock().expect("a lock").get(&whose(params)).cloned();
        let text = held.filter(|_| params["path"] == json!(file));
        Some(text.map_or_else(
            || Err(json!({"code": -32002, "message": "it is not open"})),
            |text| Ok(json!({"content": text})),
        ))
    });
    acp.on("fs/write_text_file", move |params| {
        let text = params["content"].as_str().expect("text").to_owned();
        written.lock().expect("a lock").insert(whose(params), text);
        Some(Ok(Value::Null))
    });
    buffers
}

fn read(id: &str) -> Value {
    json!({"call": {"tool": "read_file", "arguments": {"file_path": "a.txt"}, "id": id}})
}

fn patch(old: &str, new: &str, id: &str) -> Value {
    let input = format!("*** Begin Patch\n*** Update File: a.txt\n@@\n-{old}\n+{new}\n*** End Patch\n");
    json!({"call": {"tool": "apply_patch", "arguments": {"input": input}, "id": id}})
}

/// Two sessions at work in one folder, whose editor holds different unsaved text in each: what the one reads, proposes and has
/// accepted is never of the other's buffer, whoever was asked last and whoever decides first.
#[tokio::test]
async fn sessions_of_one_folder_keep_their_buffers_apart() {
    for first_to_decide in [0, 1] {
        let step = |when: Value, outputs: Value| json!({"when": when, "outputs": outputs});
        let mut steps = Vec::new();
        for name in ["left", "right"] {
            let (r, p) = (format!("read-{name}"), format!("patch-{name}"));
            let typed = format!("typed {name}");
            steps.push(step(json!({"output": {&p: ""}}), json!([{"say": "Done."}])));
            steps.push(step(
                json!({"output": {&r: ""}}),
                json!([patch(&typed, &typed.to_uppercase(), &p)]),
            ));
            steps.push(step(json!({"last_user": name}), json!([read(&r)])));
        }
        let capabilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
        let mut acp = Acp::able(json!({"steps": steps}), "", capabilities).await;
        let file = acp.write("a.txt", "one\ntwo\n");
        let buffers = hold(&mut acp, &file);
        // Questions stay open until the test answers.
        acp.on("session/request_permission", |_| None);
        let sessions = [acp.session().await, acp.session().await];
        let mut prompts = Vec::new();
        let mut questions = Vec::new();
        for (session, name) in sessions.iter().zip(["left", "right"]) {
            let text = format!("one\ntyped {name}\ntwo\n");
            buffers.lock().expect("a lock").insert(session.clone(), text.clone());
            prompts.push(acp.begin_prompt(session, name));
            let question = acp.until_asked("session/request_permission").await;
            assert_eq!(question["params"]["sessionId"], **session);
            assert_eq!(question["params"]["toolCall"]["content"][0]["oldText"], *text);
            questions.push(question);
        }
        for at in [first_to_decide, 1 - first_to_decide] {
            let options = questions[at]["params"]["options"].as_array().expect("options");
            let yes = options
                .iter()
                .find(|option| option["kind"] == "allow_once")
                .expect("a yes");
            let outcome = json!({"outcome": {"outcome": "selected", "optionId": yes["optionId"]}});
            acp.send(&json!({"jsonrpc": "2.0", "id": questions[at]["id"], "result": outcome}));
            assert_eq!(acp.answer(prompts[at]).await, Ok(json!({"stopReason": "end_turn"})));
        }
        for (session, name) in sessions.iter().zip(["left", "right"]) {
            let held = buffers.lock().expect("a lock")[session].clone();
            assert_eq!(held, format!("one\nTYPED {}\ntwo\n", name.to_uppercase()), "{name}");
            let seen = acp
                .model
                .requests()
                .iter()
                .find_map(|request| request.output(&format!("read-{name}")));
            assert!(
                seen.as_ref()
                    .is_some_and(|seen| seen.contains(&format!("typed {name}"))),
                "{seen:?}"
            );
        }
        assert_eq!(acp.text("a.txt"), "one\ntwo\n", "never on the disk behind the client");
    }
}

/// An agent that works for a session sees what that session sees.
#[tokio::test]
async fn agents_of_a_session_read_its_buffers() {
    let spawn = json!({"call": {"tool": "spawn_agent", "arguments": {"message": "Look closely", "name": "looker"}, "id": "s1"}});
    let wait = json!({"call": {"tool": "wait_agents", "arguments": {}, "id": "w1"}});
    let script = json!({"steps": [
        {"when": {"output": {"w1": ""}}, "outputs": [{"say": "Done."}]},
        {"when": {"output": {"s1": ""}}, "outputs": [wait]},
        {"when": {"output": {"r1": ""}}, "outputs": [{"say": "It is typed."}]},
        {"when": {"last_user": "Look closely"}, "outputs": [read("r1")]},
        {"when": {"last_user": "Go"}, "outputs": [spawn]},
    ]});
    let mut acp = Acp::able(script, "", json!({"fs": {"readTextFile": true}})).await;
    let file = acp.write("a.txt", "one\n");
    let buffers = hold(&mut acp, &file);
    let (session, other) = (acp.session().await, acp.session().await);
    for (session, text) in [(&session, "typed here\n"), (&other, "typed elsewhere\n")] {
        buffers.lock().expect("a lock").insert(session.clone(), text.to_owned());
    }
    acp.prompt(&session, "Go").await;
    let seen = acp.model.requests().iter().find_map(|request| request.output("r1"));
    assert!(
        seen.as_ref().is_some_and(|seen| seen.contains("typed here")),
        "{seen:?}"
    );
}

#[tokio::test]
async fn buffers_of_the_client_are_read_and_written() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n typed\n-two\n+TWO\n*** End Patch\n";
    let script = json!([
        [{"call": {"tool": "read_file", "arguments": {"file_path": "a.txt"}, "id": "r1"}}],
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "c1"}}],
        [{"say": "Done."}],
    ]);
    let capabilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut acp = Acp::able(script, "", capabilities).await;
    let path = acp.write("a.txt", "one\ntwo\n");
    // The person has typed, and not saved.
    let buffer = std::sync::Arc::new(std::sync::Mutex::new("one\ntyped\ntwo\n".to_owned()));
    let (read, written, file) = (buffer.clone(), buffer.clone(), path.clone());
    acp.on("fs/read_text_file", move |params| {
        Some(match params["path"] == json!(file) {
            true => Ok(json!({"content": *read.lock().expect("a lock")})),
            false => Err(json!({"code": -32002, "message": "no such file"})),
        })
    });
    acp.on("fs/write_text_file", move |params| {
        let text = params["content"].as_str().expect("text");
        // Such clients save at once.
        std::fs::write(params["path"].as_str().expect("a path"), text).expect("a file");
        *written.lock().expect("a lock") = text.to_owned();
        Some(Ok(Value::Null))
    });
    acp.choose("allow_once");
    let session = acp.session().await;
    let (updates, reason) = acp.prompt(&session, "Go").await;
    assert_eq!(reason, "end_turn");
    let shown = call(&updates, "r1")["content"][0]["content"]["text"]
        .as_str()
        .expect("text")
        .to_owned();
    assert!(shown.contains("L2: typed"), "{shown}");
    assert_eq!(*buffer.lock().expect("a lock"), "one\ntyped\nTWO\n", "{updates:#?}");
    assert_eq!(acp.text("a.txt"), "one\ntyped\nTWO\n");
    let diff = call(&updates, "c1")["content"][0].clone();
    assert_eq!(
        (&diff["oldText"], &diff["newText"]),
        (&json!("one\ntyped\ntwo\n"), &json!("one\ntyped\nTWO\n"))
    );
}

/// What the person has typed and not saved is found by a search, and what they have deleted is not: also of files that nobody
/// has looked at before.
#[tokio::test]
async fn a_search_sees_what_the_client_holds() {
    let search =
        |pattern: &str, id: &str| json!({"call": {"tool": "grep_files", "arguments": {"pattern": pattern}, "id": id}});
    let script = json!([
        [search("typed", "g1"), search("removed", "g2")],
        [{"say": "Done."}],
    ]);
    let mut acp = Acp::able(script, "", json!({"fs": {"readTextFile": true}})).await;
    let (mentioned, found) = (acp.write("a.txt", "one\n"), acp.write("b.txt", "removed\n"));
    acp.write("c.txt", "removed\n");
    let (a, b) = (mentioned.clone(), found);
    acp.on("fs/read_text_file", move |params| {
        let path = &params["path"];
        Some(match () {
            () if *path == json!(a) => Ok(json!({"content": "one\ntyped\n"})),
            () if *path == json!(b) => Ok(json!({"content": "kept\n"})),
            () => Err(json!({"code": -32002, "message": "it is not open"})),
        })
    });
    let session = acp.session().await;
    let link = json!({"type": "resource_link", "name": "a", "uri": format!("file://{}", mentioned.display())});
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Look"}, link]});
    acp.call("session/prompt", prompt).await;
    let told = |id: &str| acp.model.requests()[1].output(id).expect("an output");
    assert!(told("g1").contains("a.txt:2: typed"), "{}", told("g1"));
    assert_eq!(told("g2"), "c.txt:1: removed");
    let mention = acp.model.requests()[0].body.to_string();
    assert!(mention.contains("typed"), "{mention}");
}

/// The two lines of a buffer that a patch changes, and what became of it and of the model's call.
struct Typed {
    buffer: String,
    writes: usize,
    output: String,
}

/// A patch of the buffer's second line is accepted; `type_in` is what the person makes of the buffer in the moment after
/// it was read for fitting the patch. `refuses` has the client refuse all writes.
async fn typed_into(type_in: fn(&str) -> String, refuses: bool) -> Typed {
    let script = json!([[patch("two", "TWO", "c1")], [{"say": "Done."}]]);
    let capabilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut acp = Acp::able(script, "", capabilities).await;
    acp.write("a.txt", "one\n");
    let buffer = Arc::new(Mutex::new("top\ntwo\nlast\n".to_owned()));
    // Once the person has said yes, the next look is the one that the patch is fitted to.
    let accepted = Arc::new(Mutex::new(false));
    let (read, yes) = (buffer.clone(), accepted.clone());
    acp.on("fs/read_text_file", move |_| {
        let mut buffer = read.lock().expect("a lock");
        let text = buffer.clone();
        if std::mem::take(&mut *yes.lock().expect("a lock")) {
            *buffer = type_in(&text);
        }
        Some(Ok(json!({"content": text})))
    });
    let writes = Arc::new(Mutex::new(0));
    let (written, counted) = (buffer.clone(), writes.clone());
    acp.on("fs/write_text_file", move |params| {
        *counted.lock().expect("a lock") += 1;
        if refuses {
            return Some(Err(json!({"code": -32000, "message": "not now"})));
        }
        let text = params["content"].as_str().expect("text").to_owned();
        *written.lock().expect("a lock") = text;
        Some(Ok(Value::Null))
    });
    acp.on("session/request_permission", move |params| {
        *accepted.lock().expect("a lock") = true;
        let options = params["options"].as_array().expect("options");
        let yes = options
            .iter()
            .find(|option| option["kind"] == "allow_once")
            .expect("a yes");
        Some(Ok(
            json!({"outcome": {"outcome": "selected", "optionId": yes["optionId"]}}),
        ))
    });
    let session = acp.session().await;
    acp.prompt(&session, "Go").await;
    let outputs = acp.model.requests();
    let output = outputs
        .iter()
        .find_map(|request| request.output("c1"))
        .expect("an output");
    let (buffer, writes) = (buffer.lock().expect("a lock").clone(), *writes.lock().expect("a lock"));
    Typed { buffer, writes, output }
}

/// A client takes whole texts only: what was typed since the buffer was read must not go with it.
#[tokio::test]
async fn what_is_typed_while_a_change_is_on_its_way_stays() {
    let elsewhere = typed_into(|text| format!("typed\n{text}"), false).await;
    assert_eq!(elsewhere.buffer, "typed\ntop\nTWO\nlast\n", "{}", elsewhere.output);
    assert!(elsewhere.output.contains("Success"), "{}", elsewhere.output);
    let same_line = typed_into(|text| text.replace("two", "two and a half"), false).await;
    assert_eq!(same_line.buffer, "top\ntwo and a half\nlast\n", "{}", same_line.output);
    assert_eq!(same_line.writes, 0);
    assert!(!same_line.output.contains("Success"), "{}", same_line.output);
    let already = typed_into(|text| text.replace("two", "TWO"), false).await;
    assert_eq!((already.buffer.as_str(), already.writes), ("top\nTWO\nlast\n", 0));
}

/// What the client refuses is refused: nobody typed meanwhile, so it is not tried again.
#[tokio::test]
async fn a_refused_write_is_not_tried_again() {
    let refused = typed_into(str::to_owned, true).await;
    assert_eq!(refused.writes, 1, "{}", refused.output);
    assert_eq!(refused.buffer, "top\ntwo\nlast\n");
    assert!(refused.output.contains("not now"), "{}", refused.output);
}

/// Where something on the way changes after the last look, the buffer is read again: nothing is waited for between that and the write.
#[tokio::test]
async fn what_is_typed_while_the_way_becomes_quiet_stays() {
    let script = json!([[patch("two", "TWO", "c1")], [{"say": "Done."}]]);
    let capabilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut acp = Acp::able(script, "", capabilities).await;
    let file = acp.write("a.txt", "one\n");
    let folder = file.parent().expect("a folder").to_owned();
    let buffer = Arc::new(Mutex::new("top\ntwo\nlast\n".to_owned()));
    // Reads since the person has said yes: one that the patch is fitted to, then the one before the write.
    let reads = Arc::new(Mutex::new(None));
    let (read, count) = (buffer.clone(), reads.clone());
    acp.on("fs/read_text_file", move |_| {
        if let Some(count) = count.lock().expect("a lock").as_mut() {
            *count += 1;
            if *count == 2 {
                let (folder, typed) = (folder.clone(), read.clone());
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(3));
                    std::fs::write(folder.join("made"), "").expect("written");
                    std::thread::sleep(Duration::from_millis(30));
                    typed.lock().expect("a lock").insert_str(0, "typed\n");
                });
            }
        }
        Some(Ok(json!({"content": *read.lock().expect("a lock")})))
    });
    let written = buffer.clone();
    acp.on("fs/write_text_file", move |params| {
        let text = params["content"].as_str().expect("text").to_owned();
        *written.lock().expect("a lock") = text;
        Some(Ok(Value::Null))
    });
    acp.on("session/request_permission", move |params| {
        *reads.lock().expect("a lock") = Some(0);
        let options = params["options"].as_array().expect("options");
        let mut yes = options.iter().filter(|option| option["kind"] == "allow_once");
        let outcome = json!({"outcome": "selected", "optionId": yes.next().expect("a yes")["optionId"]});
        Some(Ok(json!({"outcome": outcome})))
    });
    let session = acp.session().await;
    acp.prompt(&session, "Go").await;
    // The keys may come after the write.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(*buffer.lock().expect("a lock"), "typed\ntop\nTWO\nlast\n");
}
