//! Patch text to a [`Patch`]: the `apply_patch` grammar, taken leniently where the meaning is beyond doubt.
//!
//! Other formats of patch text end in the same types.

mod envelope;

pub(super) use envelope::here_delimiter;
use envelope::{Cursor, Line};
use std::path::{Path, PathBuf};

/// A patch as it was written, not yet held against any file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// In the order of the text; never empty.
    pub sections: Vec<Section>,
}

/// What the patch does to one file. Paths are as written; [`plan`](super::plan::plan) resolves them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    /// The file with this content, new or in place of what is there.
    Add {
        path: PathBuf,
        content: String,
    },
    Delete {
        path: PathBuf,
    },
    /// Changes inside the file, and perhaps a new name. Without a new name there is at least one chunk.
    Update {
        path: PathBuf,
        move_to: Option<PathBuf>,
        chunks: Vec<Chunk>,
    },
}

impl Section {
    /// The file that the section names.
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Add { path, .. } | Self::Delete { path } | Self::Update { path, .. } => path,
        }
    }
}

/// One contiguous piece of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Lines that come before it, outermost first: `@@ class A`, `@@ def f`.
    pub anchors: Vec<String>,
    /// Text after the numbers of `@@ -1,3 +1,3 @@ heading`: a hint only, since such headings are cut off.
    pub heading: Option<String>,
    /// The numbers of such a header, if there were any: a hint only, since models miscount.
    pub hint: Option<LineHint>,
    pub lines: Vec<ChunkLine>,
    /// `*** End of File`, or a marker that the file ends without a line end.
    pub end_of_file: bool,
    /// What the text says about the final line end of the new file, if anything.
    pub final_newline: Option<bool>,
    /// How many lines at the start, and at the end, of `lines` were wholly empty lines of the text, which may be
    /// there for looks only.
    pub loose_start: usize,
    pub loose_end: usize,
}

/// The old side of a unified header: the first line, from 1, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineHint {
    pub line: usize,
    pub count: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkLine {
    pub kind: LineKind,
    /// Without the sign in front and without a line end.
    pub text: String,
    /// The line ended in `\r\n` in a patch text whose other lines do not: this end is meant.
    pub returns: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Keep,
    Remove,
    Add,
}

/// Why a patch text cannot be read. Line numbers count from 1 in the text as given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("invalid patch: the first line must be `*** Begin Patch`, but it is `{found}`")]
    NoBegin { found: String },
    #[error("invalid patch: the last line must be `*** End Patch`, but it is `{found}`; send the whole patch again")]
    NoEnd { found: String },
    #[error("invalid patch: line {line} `{found}` comes after `*** End Patch`; send one patch that ends there")]
    TextAfterEnd { line: usize, found: String },
    #[error(
        "invalid patch: it has no `*** Add File:`, `*** Delete File:` or `*** Update File:` section, so no file would be modified"
    )]
    NoSections,
    #[error(
        "invalid patch: line {line} `{found}` is not a section header; expected `*** Add File: <path>`, `*** Delete File: <path>` or `*** Update File: <path>`"
    )]
    BadHeader { line: usize, found: String },
    #[error("invalid patch: the header in line {line} names no file")]
    NoPath { line: usize },
    #[error("invalid patch: line {line} `{found}`: every line of a new file must start with `+` (file {})", .path.display())]
    BadAddLine { path: PathBuf, line: usize, found: String },
    #[error("invalid patch: the update of {} (line {line}) has no hunk; add one, or `*** Move to: <path>`", .path.display())]
    EmptyUpdate { path: PathBuf, line: usize },
    #[error("invalid patch: the hunk in line {line} (file {}) has no lines", .path.display())]
    EmptyHunk { path: PathBuf, line: usize },
    #[error(
        "invalid patch: line {line} `{found}` (file {}): lines of a hunk must start with a space (keep), `-` (remove) or `+` (add), or be a `@@` header",
        .path.display()
    )]
    BadHunkLine { path: PathBuf, line: usize, found: String },
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";
const ENVIRONMENT: &str = "*** Environment ID:";

/// Whether the text starts like a patch, so that it cannot be meant as anything else.
pub(super) fn starts_like_a_patch(text: &str) -> bool {
    text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n'])
        .starts_with(BEGIN)
}

/// Reads a patch text.
///
/// # Errors
/// The first thing in the text that has no certain meaning, with its line.
pub fn parse(text: &str) -> Result<Patch, ParseError> {
    let mut cursor = Cursor::new(text)?;
    let mut sections = Vec::new();
    while let Some(line) = cursor.peek() {
        if line.text.trim().is_empty() {
            cursor.next();
        } else {
            sections.push(section(&mut cursor)?);
        }
    }
    if sections.is_empty() {
        Err(ParseError::NoSections)
    } else {
        Ok(Patch { sections })
    }
}

fn section(cursor: &mut Cursor<'_>) -> Result<Section, ParseError> {
    let Some(line) = cursor.next() else {
        return Err(ParseError::NoSections);
    };
    let header = line.text.trim();
    if let Some(path) = header.strip_prefix(ADD) {
        let path = path_of(path, line)?;
        let content = added(cursor, &path)?;
        Ok(Section::Add { path, content })
    } else if let Some(path) = header.strip_prefix(DELETE) {
        Ok(Section::Delete {
            path: path_of(path, line)?,
        })
    } else if let Some(path) = header.strip_prefix(UPDATE) {
        let path = path_of(path, line)?;
        update(cursor, path, line)
    } else {
        Err(ParseError::BadHeader {
            line: line.number,
            found: shorten(line.text),
        })
    }
}

fn path_of(text: &str, line: Line<'_>) -> Result<PathBuf, ParseError> {
    let text = text.trim();
    // A NUL can be in no file name.
    if text.is_empty() || text.contains('\0') {
        return Err(ParseError::NoPath { line: line.number });
    }
    Ok(PathBuf::from(text))
}

/// The lines of a new file. Empty lines between `+` lines are taken for empty lines of the file whose sign was
/// forgotten; those before the next section are looks.
fn added(cursor: &mut Cursor<'_>, path: &Path) -> Result<String, ParseError> {
    let mut content = String::new();
    let mut blank = 0;
    while let Some(line) = cursor.peek() {
        if let Some(text) = line.text.strip_prefix('+') {
            content.extend(std::iter::repeat_n('\n', blank));
            blank = 0;
            content.push_str(text);
            content.push_str(if line.returns { "\r\n" } else { "\n" });
        } else if line.text.trim().is_empty() {
            blank += 1;
        } else if line.text.starts_with(END_OF_FILE) {
            blank = 0;
        } else if line.text.starts_with("*** ") {
            break;
        } else if is_no_newline(line.text) {
            let bare = content.strip_suffix('\n').map_or(0, str::len);
            content.truncate(bare);
            if content.ends_with('\r') && line.returns {
                content.pop();
            }
        } else {
            let (path, found) = (path.to_owned(), shorten(line.text));
            return Err(ParseError::BadAddLine {
                path,
                line: line.number,
                found,
            });
        }
        cursor.next();
    }
    Ok(content)
}

fn is_no_newline(text: &str) -> bool {
    text.starts_with("\\ ")
}

fn update(cursor: &mut Cursor<'_>, path: PathBuf, header: Line<'_>) -> Result<Section, ParseError> {
    let mut move_to = None;
    if let Some(line) = cursor.peek_past_blank()
        && let Some(target) = line.text.trim().strip_prefix(MOVE)
    {
        move_to = Some(path_of(target, line)?);
        while cursor.next().is_some_and(|passed| passed.number != line.number) {}
    }
    skip_unified_names(cursor);

    let mut chunks = Vec::new();
    while let Some(line) = cursor.peek_past_blank() {
        if line.text.starts_with("*** ") && line.text.trim_end() != END_OF_FILE {
            break;
        }
        chunks.push(chunk(cursor, &path, chunks.is_empty())?);
    }
    if chunks.is_empty() && move_to.is_none() {
        return Err(ParseError::EmptyUpdate {
            path,
            line: header.number,
        });
    }
    Ok(Section::Update { path, move_to, chunks })
}

/// Models sometimes put the two name lines of a unified diff in front of the first hunk.
fn skip_unified_names(cursor: &mut Cursor<'_>) {
    let start = cursor.at;
    while cursor.peek().is_some_and(|line| {
        ["diff --git ", "index "].iter().any(|word| line.text.starts_with(word)) || line.text.trim().is_empty()
    }) {
        cursor.next();
    }
    let starts = |ahead: usize, word: &str| {
        cursor
            .lines
            .get(cursor.at + ahead)
            .is_some_and(|line| line.text.starts_with(word))
    };
    if starts(0, "--- ") && starts(1, "+++ ") && starts(2, "@@") {
        cursor.at += 2;
    } else {
        cursor.at = start;
    }
}

fn chunk(cursor: &mut Cursor<'_>, path: &Path, first: bool) -> Result<Chunk, ParseError> {
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
        chunk.lines.push(ChunkLine {
            kind,
            text: text.to_owned(),
            returns: line.returns,
        });
        let loose = line.text.is_empty();
        chunk.loose_end = if loose { chunk.loose_end + 1 } else { 0 };
        if loose && chunk.loose_start + 1 == chunk.lines.len() {
            chunk.loose_start += 1;
        }
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

/// The line above has no line end: on the old side, the new side, or both.
fn no_newline(chunk: &mut Chunk) {
    chunk.end_of_file = true;
    match chunk.lines.last().map(|line| line.kind) {
        Some(LineKind::Add) => chunk.final_newline = Some(false),
        // Unless a `+` line below says otherwise the new file ends properly.
        Some(LineKind::Remove) => chunk.final_newline = Some(true),
        // Kept as it is, which is what happens anyway.
        Some(LineKind::Keep) | None => {}
    }
}

fn is_chunk_header(text: &str) -> bool {
    text.strip_prefix("@@")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '@']))
}

fn chunk_header(text: &str, chunk: &mut Chunk) {
    let rest = text.strip_prefix("@@").unwrap_or(text);
    if let Some((hint, heading)) = unified_header(rest) {
        chunk.hint = Some(hint);
        chunk.heading = Some(heading.trim())
            .filter(|heading| !heading.is_empty())
            .map(str::to_owned);
        return;
    }
    // One blank separates the marker from the text; the rest is indentation, which counts in an exact match.
    let anchor = rest.strip_prefix(' ').unwrap_or(rest).trim_end();
    let anchor = anchor.strip_suffix("@@").map_or(anchor, str::trim_end);
    if !anchor.trim().is_empty() {
        chunk.anchors.push(anchor.to_owned());
    }
}

/// Reads ` -1,3 +1,4 @@ heading`.
fn unified_header(rest: &str) -> Option<(LineHint, &str)> {
    let (numbers, heading) = rest.split_once("@@").unwrap_or((rest, ""));
    let mut words = numbers.split_whitespace();
    let old = span(words.next()?.strip_prefix('-')?)?;
    span(words.next()?.strip_prefix('+')?)?;
    words.next().is_none().then_some((old, heading))
}

fn span(text: &str) -> Option<LineHint> {
    let (line, count) = text.split_once(',').unwrap_or((text, "1"));
    Some(LineHint {
        line: line.parse().ok()?,
        count: count.parse().ok()?,
    })
}

/// A line of a stranger's text, short enough for a message.
fn shorten(text: &str) -> String {
    let text = text.trim_end();
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
