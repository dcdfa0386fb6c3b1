//! Edits in LSP's words (3.17, WorkspaceEdit): positions in the client's encoding, operations on files.

use crate::workspace::{Encoding, position, uri};
use ropey::Rope;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::Path;

/// Edits of one text: byte ranges in `before`, ordered and not overlapping, as LSP text edits.
pub fn text_edits(
    before: &str,
    edits: &[(Range<usize>, String)],
    encoding: Encoding,
    annotation: Option<&str>,
) -> Vec<Value> {
    let rope = Rope::from_str(before);
    let place = |byte| {
        let at = position::position_of_byte(&rope, byte, encoding);
        json!({"line": at.line, "character": at.column})
    };
    edits
        .iter()
        .map(|(range, text)| {
            let edit = json!({"range": {"start": place(range.start), "end": place(range.end)}, "newText": text});
            annotated(edit, annotation)
        })
        .collect()
}

pub fn rename(from: &Path, to: &Path, annotation: Option<&str>) -> Value {
    let (from, to) = (uri::from_path(from), uri::from_path(to));
    let operation = json!({"kind": "rename", "oldUri": from, "newUri": to, "options": {"overwrite": false, "ignoreIfExists": false}});
    annotated(operation, annotation)
}

pub fn delete(path: &Path, annotation: Option<&str>) -> Value {
    annotated(
        json!({"kind": "delete", "uri": uri::from_path(path), "options": {"recursive": false}}),
        annotation,
    )
}

/// Only for a path that is not there: several editors empty a file that is.
pub fn create(path: &Path, annotation: Option<&str>) -> Value {
    annotated(
        json!({"kind": "create", "uri": uri::from_path(path), "options": {"ignoreIfExists": true}}),
        annotation,
    )
}

fn annotated(mut edit: Value, annotation: Option<&str>) -> Value {
    if let Some(id) = annotation {
        edit["annotationId"] = id.into();
    }
    edit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::hunk;
    use proptest::prelude::*;

    /// A client that knows the text as lines and counts columns in its own units.
    fn applied(text: &str, edits: &[Value], encoding: Encoding) -> String {
        let mut starts = vec![0];
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' || *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
                starts.push(at + 1);
            }
        }
        let units = |c: char| match encoding {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        };
        let offset = |place: &Value| {
            let number = |name: &str| usize::try_from(place[name].as_u64().expect("a number")).expect("small");
            let start = starts[number("line")];
            let mut left = number("character");
            for (at, c) in text[start..].char_indices() {
                if left == 0 {
                    return start + at;
                }
                left -= units(c);
            }
            assert_eq!(left, 0, "{place} is beyond the end");
            text.len()
        };
        let mut text = text.to_owned();
        let places: Vec<_> = edits
            .iter()
            .map(|edit| offset(&edit["range"]["start"])..offset(&edit["range"]["end"]))
            .collect();
        for (edit, range) in edits.iter().zip(places).rev() {
            text.replace_range(range, edit["newText"].as_str().expect("a text"));
        }
        text
    }

    const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

    proptest! {
        /// Whatever a client counts in, the text comes out the same: for the edits of a patch, which are of whole lines,
        /// and for those inside a line.
        #[test]
        fn edits_give_the_same_text_in_every_encoding(
            old in "(a|é|😀|\u{feff}|\u{2028}|b\n|\r\n|c\r){0,30}",
            new in "(a|é|😀|\u{feff}|\u{2028}|b\n|\r\n|c\r){0,30}",
            from in 0usize..30,
            to in 0usize..30,
        ) {
            let edits = hunk::text_edits(&old, &new);
            let boundary = |nth: usize| old.char_indices().nth(nth).map_or(old.len(), |(at, _)| at);
            // Between the two halves of one line end no position is.
            let whole = |at: usize| if old[..at].ends_with('\r') && old[at..].starts_with('\n') { at + 1 } else { at };
            let range = whole(boundary(from.min(to)))..whole(boundary(from.max(to)));
            let mut inside = old.clone();
            inside.replace_range(range.clone(), &new);
            for encoding in ENCODINGS {
                prop_assert_eq!(&applied(&old, &text_edits(&old, &edits, encoding, None), encoding), &new);
                let one = text_edits(&old, &[(range.clone(), new.clone())], encoding, None);
                prop_assert_eq!(&applied(&old, &one, encoding), &inside);
            }
        }
    }
}
