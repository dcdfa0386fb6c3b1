//! A person who types wherever they like while the answer comes in.

use super::room::{NAME, Room};
use serde_json::json;

/// A small generator: the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides.max(1)
    }
}

/// Every key that the person strikes is in the document in the end, and all of the answer is, whichever editor it is.
#[tokio::test]
async fn every_key_and_every_word_is_there_in_the_end() {
    for (seed, editor) in [(1, "helix-25.07.1"), (2, "nvim-0.10.4"), (3, "eglot-1.17.30")] {
        let words: Vec<String> = (0..120).map(|number| format!("word{number}")).collect();
        let answer = words.join(" ");
        let script = json!({
            "delay_ms": 8,
            "chunk": 7,
            "steps": [{ "outputs": [{ "say": answer }] }],
        });
        let room = Room::start(editor, "", script).await;
        room.send("Talk").await;
        room.sees("## ◆ Agent").await;
        let mut dice = Dice(seed);
        let mut typed = Vec::new();
        let path = room.work.path(NAME);
        let whole: String = answer.split_whitespace().collect();
        // A key may stand inside a word that was not whole yet.
        let bare = |text: &str, typed: &[String]| {
            let mut bare = text.to_owned();
            for key in typed {
                bare = bare.replace(key.as_str(), "");
            }
            bare.split_whitespace().collect::<String>()
        };
        while !bare(&room.text(), &typed).contains("word118") {
            // At the beginning of a line that is neither the header's nor one of ours, or at the very end.
            let text = room.text();
            let starts: Vec<usize> = std::iter::once(0)
                .chain(text.match_indices('\n').map(|(at, _)| at + 1))
                .filter(|at| *at == text.len() || text[*at..].starts_with('\n'))
                .filter(|at| text[..*at].contains("## ❯ You"))
                .collect();
            let key = format!("<{}>", typed.len());
            // Where no line is empty any more, they make some at the end.
            let (at, keys) = match starts.is_empty() {
                true => (text.len(), format!("\n{key}\n\n\n")),
                false => (starts[dice.roll(starts.len())], key.clone()),
            };
            if room.work.editor.type_if(&path, &text, at, &keys) {
                typed.push(key);
            }
            tokio::time::sleep(std::time::Duration::from_millis(15)).await;
        }
        room.rests().await;
        let text = room
            .until("all of the answer", |text| bare(text, &typed).contains(&whole))
            .await;
        for key in &typed {
            assert_eq!(text.matches(key.as_str()).count(), 1, "{editor}: {key} in\n{text}");
        }
        assert_eq!(text.matches("## ◆ Agent").count(), 1, "{editor}: {text}");
        room.work.client.ignore("window/showMessage");
    }
}
