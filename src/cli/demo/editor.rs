//! The editor's side: one open buffer, with text that is not saved, changed only by edits that fit its version.

use crate::workspace::uri;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;

/// An open document.
pub(super) struct Buffer {
    pub(super) uri: String,
    path: PathBuf,
    pub(super) text: String,
    pub(super) version: i64,
    /// Edits of the server that were taken.
    pub(super) edits: usize,
    /// How often the server had it saved.
    pub(super) saves: usize,
}

impl Buffer {
    /// Opens a file as it is on the disk.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        Ok(Self {
            uri: uri::from_path(&path),
            text: std::fs::read_to_string(&path)?,
            path,
            version: 1,
            edits: 0,
            saves: 0,
        })
    }

    /// What `textDocument/didOpen` says.
    pub(super) fn opened(&self) -> Value {
        let document =
            json!({"uri": self.uri, "languageId": "shellscript", "version": self.version, "text": self.text});
        json!({"textDocument": document})
    }

    /// The person inserts a line before the line `at`, counted from 0. Gives what `textDocument/didChange` says.
    pub(super) fn insert_line(&mut self, at: usize, line: &str) -> Value {
        let place = json!({"line": at, "character": 0});
        let text = format!("{line}\n");
        let change = json!({"range": {"start": place, "end": place}, "text": text});
        let offset = self.text.split_inclusive('\n').take(at).map(str::len).sum();
        self.text.insert_str(offset, &text);
        self.changed(json!([change]))
    }

    fn changed(&mut self, changes: Value) -> Value {
        self.version += 1;
        json!({"textDocument": {"uri": self.uri, "version": self.version}, "contentChanges": changes})
    }

    /// Takes a workspace edit, whole or not at all. Gives what `textDocument/didChange` says, or why it was not taken.
    pub(super) fn apply(&mut self, edit: &Value) -> Result<Value, String> {
        let changes = edit["documentChanges"].as_array().ok_or("it has no documentChanges")?;
        let [change] = changes.as_slice() else {
            return Err(format!("it has {} changes where one document is open", changes.len()));
        };
        let document = &change["textDocument"];
        if document["uri"] != self.uri {
            return Err(format!("{} is not open", document["uri"]));
        }
        if document["version"] != self.version {
            return Err(format!(
                "it is for version {}, the text is at {}",
                document["version"], self.version
            ));
        }
        let edits = change["edits"].as_array().ok_or("it has no edits")?;
        let mut ranges = Vec::new();
        for edit in edits {
            let start = self.offset(&edit["range"]["start"])?;
            let end = self.offset(&edit["range"]["end"])?;
            let text = edit["newText"].as_str().ok_or("an edit has no text")?;
            if start > end {
                return Err("an edit ends before it begins".to_owned());
            }
            ranges.push((start..end, text, &edit["range"]));
        }
        // From the end, so that the places before stay where they are.
        ranges.sort_by_key(|(range, ..)| std::cmp::Reverse(range.start));
        if ranges.windows(2).any(|pair| pair[1].0.end > pair[0].0.start) {
            return Err("its edits overlap".to_owned());
        }
        let mut events = Vec::new();
        for (range, text, place) in ranges {
            self.text.replace_range(range, text);
            events.push(json!({"range": place, "text": text}));
        }
        self.edits += 1;
        Ok(self.changed(Value::from(events)))
    }

    /// The byte at a position whose column counts bytes (LSP's `utf-8`).
    fn offset(&self, position: &Value) -> Result<usize, String> {
        let number = |name: &str| {
            let number = position[name].as_u64().and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| format!("{position} is no position"))
        };
        let (line, column) = (number("line")?, number("character")?);
        let start: usize = self.text.split_inclusive('\n').take(line).map(str::len).sum();
        let here = self.text[start..].lines().next().unwrap_or_default();
        let offset = start + column;
        if line > self.text.lines().count() || column > here.len() || !self.text.is_char_boundary(offset) {
            return Err(format!("there is no line {line}, column {column}"));
        }
        Ok(offset)
    }

    /// Saves it, as the server asked. Gives what `textDocument/didSave` says.
    pub(super) fn save(&mut self) -> io::Result<Value> {
        std::fs::write(&self.path, &self.text)?;
        self.saves += 1;
        Ok(json!({"textDocument": {"uri": self.uri}}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(text: &str) -> Buffer {
        Buffer {
            uri: "file:///a".to_owned(),
            path: "/a".into(),
            text: text.to_owned(),
            version: 3,
            edits: 0,
            saves: 0,
        }
    }

    fn edit(version: i64, edits: Value) -> Value {
        json!({"documentChanges": [{"textDocument": {"uri": "file:///a", "version": version}, "edits": edits}]})
    }

    fn replace(from: (u32, u32), to: (u32, u32), text: &str) -> Value {
        let place = |(line, character)| json!({"line": line, "character": character});
        json!({"range": {"start": place(from), "end": place(to)}, "newText": text})
    }

    #[test]
    fn edits_are_taken_whole_or_not_at_all() {
        let taken = [
            (json!([replace((1, 0), (1, 1), "B")]), "a\nB\nc\n"),
            (
                json!([replace((0, 0), (0, 1), "x"), replace((2, 0), (3, 0), "")]),
                "x\nb\n",
            ),
            (json!([replace((3, 0), (3, 0), "d\n")]), "a\nb\nc\nd\n"),
        ];
        for (edits, expected) in taken {
            let mut buffer = buffer("a\nb\nc\n");
            let event = buffer.apply(&edit(3, edits)).expect("taken");
            assert_eq!(buffer.text, expected);
            assert_eq!(event["textDocument"]["version"], 4);
        }
        let refused = [
            edit(2, json!([replace((1, 0), (1, 1), "B")])),
            edit(3, json!([replace((0, 0), (0, 1), "x"), replace((9, 0), (9, 0), "")])),
            edit(3, json!([replace((0, 0), (0, 7), "x")])),
            edit(3, json!([replace((1, 1), (1, 0), "x")])),
            edit(3, json!([replace((0, 0), (1, 1), "x"), replace((1, 0), (2, 0), "y")])),
            edit(3, json!([{"range": 1}])),
            json!({"changes": {}}),
            json!({"documentChanges": [{"textDocument": {"uri": "file:///b", "version": 3}, "edits": []}]}),
            json!({"documentChanges": []}),
        ];
        for edit in refused {
            let mut buffer = buffer("a\nb\nc\n");
            buffer.apply(&edit).expect_err("refused");
            assert_eq!(
                (buffer.text.as_str(), buffer.version, buffer.edits),
                ("a\nb\nc\n", 3, 0)
            );
        }
    }

    #[test]
    fn a_line_is_inserted_and_told() {
        let mut buffer = buffer("a\nb\n");
        let event = buffer.insert_line(1, "new");
        assert_eq!(buffer.text, "a\nnew\nb\n");
        assert_eq!(event["contentChanges"][0]["range"]["start"]["line"], 1);
        assert_eq!(event["textDocument"]["version"], 4);
    }
}
