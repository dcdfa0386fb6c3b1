//! The sections of the `apply_patch` grammar, between the envelope's two lines.

use super::chunk::{chunk, is_no_newline};
use super::envelope::{Cursor, Line};
use super::{ADD, DELETE, END_OF_FILE, MOVE, ParseError, Section, UPDATE, shorten};
use std::path::{Path, PathBuf};

/// One section of the patch; the cursor is at its header.
pub(super) fn section(cursor: &mut Cursor<'_>) -> Result<Section, ParseError> {
    let Some(line) = cursor.next() else {
        return Err(ParseError::NoSections);
    };
    let header = line.text.trim();
    if let Some(path) = header.strip_prefix(ADD) {
        let path = path_of(path, line)?;
        let content = added(cursor, &path)?;
        Ok(Section::Add {
            path,
            content,
            executable: None,
        })
    } else if let Some(path) = header.strip_prefix(DELETE) {
        Ok(Section::Delete {
            path: path_of(path, line)?,
            or: Vec::new(),
            holds: None,
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
    Ok(Section::Update {
        path,
        or: Vec::new(),
        move_to,
        chunks,
        executable: None,
    })
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
