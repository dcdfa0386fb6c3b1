//! What once went wrong in chat documents, and what editors and people do to them.

use super::room::{NAME, Room};
use crate::support::editor::Act;
use crate::support::work::{Setting, diagnostic};
use serde_json::{Value, json};

const HELIX: &str = "helix-25.07.1";

/// A document that is closed and opened again while an edit is on its way gets each word once.
#[tokio::test]
async fn an_edit_that_is_on_its_way_when_a_document_is_opened_again_is_not_made_twice() {
    let room = Room::start(HELIX, "", json!([[{ "say": "Only once." }], [{ "say": "And on." }]])).await;
    room.work.editor.next([Act::ReopenedBefore(room.work.path(NAME))]);
    room.send("Hi").await;
    let edit = room.work.client.expect_request("workspace/applyEdit").await;
    // The server has heard of both, and would have compared by now.
    for _ in 0..5 {
        room.titles().await;
    }
    let answer = room.work.editor.make(&edit.params);
    room.work.client.answer(&edit, Ok(answer));
    room.sees("Only once.").await;
    room.rests().await;
    room.send("More").await;
    room.sees("And on.").await;
    room.rests().await;
    let text = room.text();
    for once in ["Only once.", "And on.", "\nHi\n", "thread: "] {
        assert_eq!(text.matches(once).count(), 1, "{once:?} in\n{text}");
    }
    assert_eq!(text.matches("## ◆ Agent").count(), 2, "{text}");
}

/// A conversation of a document follows the person's configuration as it is when they send.
#[tokio::test]
async fn what_is_configured_counts_from_the_next_message_on() {
    let print = json!([{ "call": { "tool": "shell", "arguments": { "command": ["sh", "-c", "echo mark-$MARK"] }, "id": "c1" } }]);
    let script = json!([print, [{ "say": "One." }], print, [{ "say": "Two." }]]);
    let setting = Setting {
        files: vec![(NAME, String::new())],
        config: "approval_policy = \"never\"\nshell_environment_policy.set.MARK = \"first\"\n".to_owned(),
        ..Setting::default()
    };
    let room = Room::with(setting, script).await;
    room.send("Go").await;
    room.sees("One.").await;
    room.rests().await;
    let path = room.work.client.home().join("config.toml");
    let text = std::fs::read_to_string(&path).expect("a configuration");
    std::fs::write(&path, text.replace("first", "second")).expect("a configuration");
    room.send("Go on").await;
    room.sees("Two.").await;
    room.rests().await;
    let text = room.text();
    assert!(text.contains("mark-first") && text.contains("mark-second"), "{text}");
}

/// The same of what is no message.
#[tokio::test]
async fn what_is_configured_counts_for_a_command_of_the_chat() {
    let script = json!([[{ "say": "One." }], [{ "say": "In short." }]]);
    let setting = Setting {
        files: vec![(NAME, String::new())],
        config: "compact_prompt = \"Sum up in prose.\"\n".to_owned(),
        ..Setting::default()
    };
    let room = Room::with(setting, script).await;
    room.send("Go").await;
    room.sees("One.").await;
    room.rests().await;
    let path = room.work.client.home().join("config.toml");
    let text = std::fs::read_to_string(&path).expect("a configuration");
    std::fs::write(&path, text.replace("in prose", "in verse")).expect("a configuration");
    room.send("/compact").await;
    room.sees("Compacted the conversation to make room").await;
    room.rests().await;
    let asked = room.work.model.requests().pop().expect("a request").body.to_string();
    assert!(asked.contains("Sum up in verse."), "{asked}");
}

/// Headers that are none, by table: nothing is lost, nothing panics, and the message is answered.
#[tokio::test]
async fn a_damaged_header_keeps_nobody_from_talking() {
    for (text, kept) in [
        ("---\nthread: x\n\n## ❯ You\n\n", "---\nthread: x\n\n## ❯ You"),
        ("---\n: : :\n\t\nmodel\n---\n\n", ": : :\n\t\nmodel\n"),
        (
            "---\nmode: agent\nmode: plan\nnote: [1, {\n---\n\n",
            "mode: agent\nmode: plan\nnote: [1, {\n",
        ),
        ("---\nthread: ../../etc/passwd\n---\n\n## ❯ You\n\n", "---\n"),
        ("\u{feff}---\nmode: agent\n---\n\n", "\u{feff}---\nmode: agent\n"),
        ("---\n---\n\n## ❯ You\n\n", "---\n"),
        ("----\nmode: agent\n----\n\n## ❯ You\n\n", "----\nmode: agent\n----\n"),
    ] {
        let room = Room::start(HELIX, text, json!([[{ "say": "Hello." }]])).await;
        room.work.client.ignore("window/showMessage");
        room.send("Hi").await;
        if ["\nmode: agent", "\nthread: .."]
            .iter()
            .any(|field| text.contains(field))
            && !text.starts_with("----")
        {
            let question = room.work.question().await;
            room.work.press(&question, "Send without Header");
        }
        room.sees("Hello.").await;
        room.rests().await;
        let now = room.text();
        assert!(now.contains(kept), "{text:?} became {now:?}");
        assert_eq!(now.matches("Hello.").count(), 1, "{now}");
    }
}

/// Several chats at once, each with its own conversation: nothing of one comes into another.
#[tokio::test]
async fn several_documents_talk_at_once() {
    const NAMES: [&str; 3] = ["a.countersign.md", "b.countersign.md", NAME];
    let script = json!([{"repeat": true, "outputs": [{ "say": "I answer.", "partial": true }, { "say": " All." }]}]);
    let setting = Setting {
        files: NAMES.iter().map(|name| (*name, String::new())).collect(),
        ..Setting::default()
    };
    let room = Room::with(setting, script).await;
    for name in NAMES.iter().filter(|name| **name != NAME) {
        room.work.open(name);
    }
    for name in NAMES {
        let path = room.work.path(name);
        room.work.editor.type_in(&path, 0, &format!("I am {name}"));
        let uri = countersign::workspace::uri::from_path(&path);
        room.command("countersign.chatSend", json!({ "uri": uri })).await;
    }
    let mut threads = std::collections::BTreeSet::new();
    for name in NAMES {
        let text = room.until_in(&room.work.path(name), "I answer.").await;
        assert_eq!(text.matches("I am").count(), 1, "{text}");
        assert!(text.contains(&format!("I am {name}")), "{text}");
        let thread = text
            .lines()
            .find(|line| line.starts_with("thread: "))
            .expect("a thread");
        threads.insert(thread.to_owned());
    }
    assert_eq!(threads.len(), 3);
    room.rests().await;
}

async fn hover(room: &Room, part: &str) -> String {
    let text = room.text();
    let at = text.find(part).unwrap_or_else(|| panic!("no {part:?} in {text}")) + part.len() - 1;
    let line = text[..at].matches('\n').count();
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    // The editor that is played counts bytes or UTF-16; the lines that are asked about are ASCII up to there.
    let params = json!({
        "textDocument": { "uri": room.uri() },
        "position": { "line": line, "character": at - begin },
    });
    let told = room.work.client.call("textDocument/hover", params).await;
    told["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn places_of_a_document_are_told_about() {
    let script = json!([
        [{ "call": { "tool": "shell", "arguments": { "command": ["cat", "a.txt"] }, "id": "c1" } }],
        [{ "say": "See `a.txt:2` and `b.txt`." }],
    ]);
    let room = Room::start(HELIX, "", script).await;
    room.send("Look at @a.txt").await;
    room.sees("See `a.txt").await;
    room.rests().await;
    // Unsaved text is what is shown.
    room.work.open("a.txt");
    room.work.editor.type_in(&room.work.path("a.txt"), 0, "typed\n");
    for (part, wanted) in [
        ("@a.txt", "typed\none\ntwo"),
        ("`a.txt:2", "4 lines"),
        ("model: rehearsal", "Model `rehearsal`"),
        ("mode: agent", "All that the policies allow"),
        ("thread: ", "“Look at @a.txt”"),
        ("Command 1", "in the sandbox"),
    ] {
        let told = hover(&room, part).await;
        assert!(told.contains(wanted), "{part}: {told:?}");
    }
    for nothing in ["b.txt", "## ❯ You", "and `"] {
        assert_eq!(hover(&room, nothing).await, "", "{nothing}");
    }
    room.work.open("a.txt");
    let params = json!({
        "textDocument": { "uri": countersign::workspace::uri::from_path(&room.work.path("a.txt")) },
        "position": { "line": 0, "character": 0 },
    });
    assert_eq!(room.work.client.call("textDocument/hover", params).await, Value::Null);
}

/// What is selected, and the problems, where the person was last: pointed at by words, and told to the model then only.
#[tokio::test]
async fn the_selection_and_the_problems_are_pointed_at() {
    let script = json!([[{ "say": "One." }], [{ "say": "Two." }]]);
    let room = Room::start(HELIX, "", script).await;
    room.work.open("a.txt");
    let context = json!({ "diagnostics": [diagnostic(1, "two is no number")] });
    let params = json!({
        "textDocument": { "uri": countersign::workspace::uri::from_path(&room.work.path("a.txt")) },
        "range": { "start": { "line": 1, "character": 0 }, "end": { "line": 2, "character": 0 } },
        "context": context,
    });
    room.work.client.call("textDocument/codeAction", params).await;
    room.write("@");
    let end = room.text().len();
    let params = json!({ "textDocument": { "uri": room.uri() }, "position": { "line": 0, "character": end } });
    let offered = room.work.client.call("textDocument/completion", params).await;
    let labels: Vec<_> = offered["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| item["label"].clone())
        .collect();
    assert_eq!(labels, ["selection", "diagnostics"]);
    room.send("selection and @diagnostics: why?").await;
    room.sees("One.").await;
    room.rests().await;
    room.send("And now?").await;
    room.sees("Two.").await;
    room.rests().await;
    let requests = room.work.model.requests();
    let asked = requests[0].body.to_string();
    assert!(asked.contains("two is no number"), "{asked}");
    let count = |at: usize| requests[at].body.to_string().matches("two is no number").count();
    assert_eq!(count(0), count(1), "it is not told again");
}
