//! `read_file`: lines of a file as the person sees it.

use super::{
    ANSWER_LIMIT, Call, Host, Look, Tool, ToolError, ToolOutput, arguments, blocking, schema, shown_arguments,
};
use crate::model::item::ToolSpec;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;

/// Characters shown of one line.
const LINE_LIMIT: usize = 500;
/// Lines shown where the model names no limit.
const DEFAULT_LINES: usize = 2000;

pub struct ReadFile;

#[derive(Deserialize)]
struct Arguments {
    #[serde(alias = "path")]
    file_path: String,
    /// Counted from 1.
    offset: Option<usize>,
    limit: Option<usize>,
}

impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: "read_file".to_owned(),
            description:
                "Reads a text file as the person sees it in the editor, unsaved changes included. Each line comes as \
                L<number>: <text>."
                    .to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "file_path": {"type": "string"},
                    "offset": {"type": "integer", "description": "First line, from 1."},
                    "limit": {"type": "integer", "description": "Lines. Default 2000."},
                }),
                &["file_path"],
            ),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn look(&self, call: &Call) -> Option<Look> {
        let arguments = shown_arguments(call);
        let path = arguments
            .get("file_path")
            .or_else(|| arguments.get("path"))
            .and_then(|path| path.as_str());
        Some(Look {
            title: format!("Read {}", path.unwrap_or("a file")),
            arguments,
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Arguments {
                file_path,
                offset,
                limit,
            } = arguments(call)?;
            let offset = offset.unwrap_or(1);
            if offset == 0 || limit == Some(0) {
                return Err(ToolError::Answer(
                    "offset and limit of read_file count from 1.".to_owned(),
                ));
            }
            let path = host.resolve(&file_path);
            host.may_read(&path)?;
            host.look_at(&path).await;
            let (workspace, reading) = (host.workspace().clone(), host.reading());
            let text = blocking(move || workspace.read_judged(&path, reading.as_ref()))
                .await?
                .map_err(|error| ToolError::Answer(error.to_string()))?
                .text;
            numbered_lines(&text, offset, limit.unwrap_or(DEFAULT_LINES)).map(ToolOutput::ok)
        })
    }
}

fn numbered_lines(text: &str, offset: usize, limit: usize) -> Result<String, ToolError> {
    let total = text.lines().count();
    if total == 0 {
        return Ok("(the file is empty)".to_owned());
    }
    if offset > total {
        return Err(ToolError::Answer(format!(
            "offset {offset} is beyond the end: the file has {total} lines."
        )));
    }
    let mut shown = String::new();
    let mut last = offset - 1;
    for (index, line) in text.lines().enumerate().skip(offset - 1).take(limit) {
        if shown.len() > ANSWER_LIMIT {
            break;
        }
        last = index + 1;
        let cut = line.char_indices().nth(LINE_LIMIT).map_or(line.len(), |(at, _)| at);
        let mark = if cut < line.len() { " […]" } else { "" };
        let _ = writeln!(shown, "L{last}: {}{mark}", &line[..cut]);
    }
    if last < total {
        let _ = writeln!(
            shown,
            "({} more lines; continue with offset {})",
            total - last,
            last + 1
        );
    }
    shown.truncate(shown.trim_end_matches('\n').len());
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows S-195.
    #[test]
    fn lines_are_numbered_from_one_and_cut_at_characters() {
        assert_eq!(
            numbered_lines("a\r\nb\nc\nd\ne", 3, 2).expect("lines"),
            "L3: c\nL4: d\n(1 more lines; continue with offset 5)"
        );
        let long = "ä".repeat(LINE_LIMIT + 1);
        let shown = numbered_lines(&long, 1, 1).expect("line");
        assert_eq!(shown, format!("L1: {} […]", "ä".repeat(LINE_LIMIT)));
        assert!(matches!(numbered_lines("a\n", 2, 1), Err(ToolError::Answer(text)) if text.contains("1 lines")));
        assert_eq!(numbered_lines("", 1, 1).expect("empty"), "(the file is empty)");
    }
}
