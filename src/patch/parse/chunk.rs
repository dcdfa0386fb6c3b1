//! One hunk of the `apply_patch` grammar: its headers, its lines, its marks.

use super::envelope::Cursor;
use super::{Chunk, END_OF_FILE, LineHint, LineKind, ParseError, shorten};
use std::path::Path;

/// One hunk; the cursor is at its headers, or at its first line if it may go without.
pub(super) fn chunk(cursor: &mut Cursor<'_>, path: &Path, first: bool) -> Result<Chunk, ParseError> {
    let mut chunk = Chunk::default();
    let mut number = cursor.peek_past_blank().map_or(0, |line| line.number);
    let headed = cursor.peek_past_blank().is_some_and(|line| is_chunk_header(line.text));
    // Empty lines in front of a header are looks; without a header they may be lines of the file.
    while headed
        && let Some(line) = cursor.peek_past_blank()
        && is_chunk_header(line.text)
    {
        number = line.number;
        while cursor.next().is_some_and(|passed| passed.number != line.number) {}
        chunk_header(line.text, &mut chunk);
    }
    if !headed
        && !first
        && let Some(line) = cursor.peek_past_blank()
    {
        let (path, found) = (path.to_owned(), shorten(line.text));
        return Err(ParseError::BadHunkLine {
            path,
            line: line.number,
            found,
        });
    }

    let mut closed = false;
    while let Some(line) = cursor.peek() {
        let mut chars = line.text.chars();
        let kind = match chars.next() {
            None => LineKind::Keep,
            Some(' ') => LineKind::Keep,
            Some('-') => LineKind::Remove,
            Some('+') => LineKind::Add,
            Some('*') if line.text.trim_end() == END_OF_FILE => {
                cursor.next();
                chunk.end_of_file = true;
                closed = true;
                break;
            }
            Some('*') if line.text.starts_with("*** ") => break,
            Some('@') if is_chunk_header(line.text) => break,
            Some('\\') if is_no_newline(line.text) => {
                no_newline(&mut chunk);
                cursor.next();
                continue;
            }
            // A form feed or other blank without a sign is as good as an empty line.
            Some(_) if line.text.trim().is_empty() => LineKind::Keep,
            Some(_) => {
                let (path, found) = (path.to_owned(), shorten(line.text));
                return Err(ParseError::BadHunkLine {
                    path,
                    line: line.number,
                    found,
                });
            }
        };
        let text = if line.text.trim().is_empty() && !line.text.starts_with([' ', '-', '+']) {
            ""
        } else {
            chars.as_str()
        };
        chunk.push(kind, text, line.text, line.returns);
        cursor.next();
    }
    if closed {
        chunk.loose_end = 0;
    }
    if chunk.lines.len() == chunk.loose_end {
        return Err(ParseError::EmptyHunk {
            path: path.to_owned(),
            line: number,
        });
    }
    Ok(chunk)
}

/// `\ No newline at end of file`, in whatever tongue.
pub(super) fn is_no_newline(text: &str) -> bool {
    text.starts_with("\\ ")
}

/// The line above has no line end: on the old side, the new side, or both.
pub(super) fn no_newline(chunk: &mut Chunk) {
    chunk.end_of_file = true;
    match chunk.lines.last().map(|line| line.kind) {
        Some(LineKind::Add) => chunk.final_newline = Some(false),
        // Unless a `+` line below says otherwise the new file ends properly.
        Some(LineKind::Remove) => chunk.final_newline = Some(true),
        // Kept as it is, which is what happens anyway.
        Some(LineKind::Keep) | None => {}
    }
}

pub(super) fn is_chunk_header(text: &str) -> bool {
    text.strip_prefix("@@")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '@']))
}

pub(super) fn chunk_header(text: &str, chunk: &mut Chunk) {
    let rest = text.strip_prefix("@@").unwrap_or(text);
    if let Some(Numbers { old, heading, .. }) = numbers(rest) {
        chunk.hint = Some(old);
        chunk.heading = Some(heading.trim())
            .filter(|heading| !heading.is_empty())
            .map(str::to_owned);
        return;
    }
    // One blank separates the marker from the text; the rest is indentation, which counts in an exact match.
    let anchor = rest.strip_prefix(' ').unwrap_or(rest).trim_end();
    let anchor = anchor.strip_suffix("@@").map_or(anchor, str::trim_end);
    // An ellipsis stands for nothing in particular.
    if !anchor.trim().trim_matches(['.', '…']).is_empty() {
        chunk.anchors.push(anchor.to_owned());
    }
}

/// The numbers of a unified header, and the text after them.
pub(super) struct Numbers<'a> {
    pub(super) old: LineHint,
    pub(super) new: LineHint,
    heading: &'a str,
}

/// Reads ` -1,3 +1,4 @@ heading`.
pub(super) fn numbers(rest: &str) -> Option<Numbers<'_>> {
    let (numbers, heading) = rest.split_once("@@").unwrap_or((rest, ""));
    let mut words = numbers.split_whitespace();
    let old = span(words.next()?.strip_prefix('-')?)?;
    let new = span(words.next()?.strip_prefix('+')?)?;
    words.next().is_none().then_some(Numbers { old, new, heading })
}

fn span(text: &str) -> Option<LineHint> {
    let (line, count) = text.split_once(',').unwrap_or((text, "1"));
    Some(LineHint {
        line: line.parse().ok()?,
        count: count.parse().ok()?,
    })
}
