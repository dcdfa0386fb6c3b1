//! How an answer comes into the document: at a pace, in small steps, and beside what the person types.

use super::room::{NAME, Room};
use serde_json::{Value, json};
use std::time::Duration;

/// The least time between two edits (docs/chat-document.md: at most ten a second).
const PACE: Duration = Duration::from_millis(100);

/// A long answer in many pieces: few edits, never closer than the pace, each of which only puts the next words behind those that
/// are there, while the person types above and below. The distance is taken where edits come in, before they are answered; the
/// next is only begun after that answer, so no load can make it look shorter than it was.
#[tokio::test]
async fn a_long_answer_comes_at_a_pace_and_only_at_its_end() {
    for editor in ["helix-25.07.1", "eglot-1.17.30"] {
        let words: Vec<String> = (0..400).map(|number| format!("word{number}")).collect();
        let answer = words.join(" ");
        let pieces = answer.len().div_ceil(6);
        let script = json!({"delay_ms": 4, "chunk": 6, "steps": [{"outputs": [{"say": answer}]}]});
        let room = Room::start(editor, "Some words of mine stay above.\n\n## ❯ You\n\n", script).await;
        room.send("Talk").await;
        room.sees("word10").await;
        let path = room.work.path(NAME);
        let mut typed = Vec::new();
        while !room.text().contains("word399") {
            // Above all of it; and below, where the next message is written.
            let text = room.text();
            let key = format!("<{}>", typed.len());
            let (at, keys) = match typed.len() % 2 {
                0 => (text.find("Some words of mine").expect("it stays"), key.clone()),
                _ => (text.len(), format!("\n\n{key}")),
            };
            if room.work.editor.type_if(&path, &text, at, &keys) {
                typed.push(key);
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        room.rests().await;
        let text = room.text();
        for key in &typed {
            assert_eq!(text.matches(key.as_str()).count(), 1, "{editor}: {key} in\n{text}");
        }
        let came = room.work.editor.came();
        for two in came.windows(2) {
            let apart = two[1].duration_since(two[0]);
            assert!(apart >= PACE - Duration::from_millis(2), "{editor}: {apart:?} apart");
        }
        assert!(
            came.len() * 4 < pieces,
            "{editor}: {} edits for {pieces} pieces",
            came.len()
        );
        // Only put in, and no letter twice: all that was sent is little more than the answer.
        let mut sent = 0;
        for edit in room.work.editor.edits() {
            let edits = edit["edit"]["documentChanges"][0]["edits"].as_array().cloned();
            for edit in edits.expect("edits") {
                assert_eq!(edit["range"]["start"], edit["range"]["end"], "{editor}: {edit}");
                sent += edit["newText"].as_str().map_or(0, str::len);
            }
        }
        let refused = typed.len() * PIECE_AT_MOST;
        assert!(
            sent < answer.len() + 400 + refused,
            "{editor}: {sent} bytes for {}",
            answer.len()
        );
        room.work.client.ignore("window/showMessage");
    }
}

/// What one edit may hold that is refused because a key came first, and is sent again with more.
const PIECE_AT_MOST: usize = 400;

#[tokio::test]
async fn nothing_is_written_where_nothing_is_said() {
    let room = Room::start("helix-25.07.1", "", json!([[{"say": "Hello."}]])).await;
    room.send("Talk").await;
    room.sees("Hello.").await;
    room.rests().await;
    let text = room.text();
    let edits = room.work.editor.edits().len();
    // Looking at the document makes no edit, nor does typing in it.
    room.write("And");
    let looked: Value = room.work.lenses(NAME).await.into();
    assert!(looked.is_array());
    room.titles().await;
    assert_eq!(room.work.editor.edits().len(), edits);
    assert_eq!(room.text(), format!("{text}And"));
}
