//! Completion, folds, symbols and links of a chat document, and the list of conversations.

use super::room::{NAME, Room};
use crate::support::work::Setting;
use countersign::workspace::uri;
use serde_json::{Value, json};

pub(super) fn labels(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().expect("a list");
    items
        .iter()
        .map(|item| item["label"].as_str().unwrap_or_default().to_owned())
        .collect()
}

async fn complete(room: &Room, line: u32, character: u32) -> Vec<String> {
    let params = json!({
        "textDocument": { "uri": room.uri() },
        "position": { "line": line, "character": character },
    });
    labels(&room.work.client.call("textDocument/completion", params).await)
}

#[tokio::test]
async fn what_can_be_written_is_offered() {
    let text = "---\nmode: \nmodel: \n---\n\n## ❯ You\n\n@a.t\n/com\n";
    let room = Room::start("helix-25.07.1", text, json!([])).await;
    assert_eq!(complete(&room, 1, 6).await, ["agent", "plan", "ask"]);
    assert!(complete(&room, 2, 7).await.contains(&"rehearsal".to_owned()));
    assert_eq!(complete(&room, 7, 4).await.first().map(String::as_str), Some("a.txt"));
    assert_eq!(
        complete(&room, 8, 4).await,
        [""; 0],
        "not at the beginning of a message"
    );
    let room = Room::start("helix-25.07.1", "/com", json!([])).await;
    assert!(complete(&room, 0, 4).await.contains(&"compact".to_owned()));
    // Nothing is said about other files.
    room.work.open("a.txt");
    let params = json!({
        "textDocument": { "uri": uri::from_path(&room.work.path("a.txt")) },
        "position": { "line": 0, "character": 0 },
    });
    assert_eq!(
        room.work.client.call("textDocument/completion", params).await,
        Value::Null
    );
}

#[tokio::test]
async fn a_document_has_folds_symbols_and_links() {
    let script = json!([[{ "think": "I look at it." }, { "say": "See `a.txt:2` and `/etc/passwd`." }]]);
    let room = Room::start("helix-25.07.1", "", script).await;
    room.send("What is in @a.txt?").await;
    room.sees("passwd").await;
    room.rests().await;
    let document = json!({ "textDocument": { "uri": room.uri() } });
    let symbols = room
        .work
        .client
        .call("textDocument/documentSymbol", document.clone())
        .await;
    let names: Vec<_> = symbols
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["You: What is in @a.txt?", "Agent", "You"]);
    assert_eq!(symbols[1]["children"][0]["name"], "Thinking");
    let folds = room
        .work
        .client
        .call("textDocument/foldingRange", document.clone())
        .await;
    assert!(folds.as_array().unwrap().len() >= 4, "{folds}");
    let links = room.work.client.call("textDocument/documentLink", document).await;
    let targets: Vec<_> = links
        .as_array()
        .unwrap()
        .iter()
        .map(|link| link["target"].as_str().unwrap())
        .collect();
    let file = uri::from_path(&room.work.path("a.txt"));
    assert_eq!(targets, [file.clone(), format!("{file}#L2")]);
}

/// What is asked about a selection is answered in a chat that opens, where the editor can open one; words of the person's own are
/// written in one, with the place in front of them.
#[tokio::test]
async fn a_question_about_the_selection_opens_a_chat() {
    let setting = Setting {
        files: vec![(NAME, String::new()), ("src/a.py", "a\nb\nc\n".to_owned())],
        ..Setting::default()
    };
    let room = Room::with(setting, json!([[{ "say": "It counts." }]])).await;
    let ask = "Ask agent about the selection…";
    room.work.open("src/a.py");
    room.work.choose_action("src/a.py", (1, 3), ask).await;
    let question = room.work.question().await;
    room.work.press(&question, "Write your own…");
    let draft = room.shown(1).await.remove(0);
    let text = std::fs::read_to_string(&draft).expect("a file");
    assert!(text.ends_with("## ❯ You\n\n@\"src/a.py\"#L2-3 "), "{text}");
    assert_eq!(
        room.work.model.requests().len(),
        0,
        "nothing is asked before it is sent"
    );

    room.work.choose_action("src/a.py", (1, 3), ask).await;
    let question = room.work.question().await;
    room.work.press(&question, "Explain it");
    let answer = room.shown(2).await.remove(1);
    room.work.editor.open(&answer);
    let text = room.until_in(&answer, "It counts.").await;
    assert!(text.contains("Explain what the selected lines do"), "{text}");
}

#[tokio::test]
async fn a_chat_is_opened_by_command_and_conversations_are_listed() {
    let setting = Setting {
        editor: "nvim-0.12.4",
        files: vec![(NAME, String::new())],
        ..Setting::default()
    };
    let room = Room::with(setting, json!([[{ "say": "Here I am." }]])).await;
    room.command("countersign.openChat", json!({})).await;
    let shown = room.shown(1).await;
    let made = &shown[0];
    let text = std::fs::read_to_string(made).expect("a file");
    assert!(text.contains("folder: ") && text.ends_with("## ❯ You\n\n"), "{text}");
    assert!(
        made.starts_with(room.work.client.home().join("chats")),
        "{}",
        made.display()
    );
    room.send("A question about whales").await;
    room.sees("Here I am.").await;
    room.rests().await;
    room.command("countersign.listThreads", Value::Null).await;
    let list = room.shown(2).await.remove(1);
    assert!(
        std::fs::read_to_string(&list)
            .unwrap()
            .contains("- A question about whales `thread ")
    );
    room.work.editor.open(&list);
    let params = json!({ "textDocument": { "uri": uri::from_path(&list) } });
    let lenses = room.work.client.call("textDocument/codeLens", params).await;
    let open = lenses
        .as_array()
        .unwrap()
        .iter()
        .find(|lens| lens["command"]["title"] == "Agent: Open as a chat document");
    // The conversation in another document: all of it is written there.
    room.work.run(open.expect("a lens")).await;
    let copy = room.shown(3).await.remove(2);
    room.work.editor.open(&copy);
    let text = room.until_in(&copy, "Here I am.").await;
    assert!(
        text.contains("## ❯ You\n\nA question about whales\n\n## ◆ Agent"),
        "{text}"
    );
    room.work.client.ignore("window/showMessage");
    // Put away it stands below the others, and can only be brought back. A list that is open stays as it is.
    let files = |folder: &str| files_below(&room.work.client.home().join(folder));
    press(&room, &list, "Agent: Archive").await;
    room.until("the file to be put away", |_| files("archived_sessions") == 1)
        .await;
    room.command("countersign.listThreads", Value::Null).await;
    let after = room.shown(4).await.remove(3);
    assert_ne!(after, list);
    room.work.editor.open(&after);
    let text = room
        .until_in(&after, "## Archived\n\n- A question about whales `thread ")
        .await;
    assert_eq!(text.matches("`thread ").count(), 1, "{text}");
    assert_eq!(press(&room, &after, "Agent: Unarchive").await, 1);
    room.until("the file to be back", |_| {
        files("archived_sessions") == 0 && files("sessions") == 1
    })
    .await;
    // The same list has the same file.
    room.command("countersign.listThreads", Value::Null).await;
    assert_eq!(room.shown(5).await.remove(4), list);
}

/// Presses a lens of a list; says how many there are.
async fn press(room: &Room, list: &std::path::Path, title: &str) -> usize {
    let params = json!({ "textDocument": { "uri": uri::from_path(list) } });
    let lenses = room.work.client.call("textDocument/codeLens", params).await;
    let lenses = lenses.as_array().expect("lenses").clone();
    let lens = lenses.iter().find(|lens| lens["command"]["title"] == title);
    room.work
        .run(lens.unwrap_or_else(|| panic!("no {title} among {lenses:?}")))
        .await;
    lenses.len()
}

/// How many files lie below a folder.
fn files_below(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.path() {
            folder if folder.is_dir() => files_below(&folder),
            _ => 1,
        })
        .sum()
}
