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
