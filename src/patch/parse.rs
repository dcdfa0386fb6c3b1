//! Patch text to a [`Patch`]: the `apply_patch` grammar and unified diffs, taken leniently where the meaning is beyond
//! doubt.
//!
//! [`grammar`] reads the sections of the one, [`unified`] the files of the other; both end in the same types.

mod chunk;
mod envelope;
pub mod error;
mod grammar;
mod names;
mod unified;

use envelope::Cursor;
pub(super) use envelope::here_delimiter;
use error::ParseError;
use std::path::PathBuf;

/// A patch as it was written, not yet held against any file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub language: Language,
    /// In the order of the text; never empty.
    pub sections: Vec<Section>,
    /// How many of the sections each step has, in order; together they are all. What is moved or copied within a step
    /// is the file as it was before the step.
    pub steps: Vec<usize>,
}

/// In which words a patch was written, since they do not mean quite the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `*** Begin Patch` and so on: each section is a step, and a new name may be that of a file that is there.
    Envelope,
    /// As `git diff` and `diff -u` write: the files of one commit are one step, and a new name must be free.
    Unified,
}

/// What the patch does to one file. Paths are as written; [`plan`](super::plan::plan) resolves them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    /// The file with this content, new or in place of what is there.
    Add {
        path: PathBuf,
        content: String,
        /// Whether it may be run, if the patch says so.
        executable: Option<bool>,
    },
    Delete {
        path: PathBuf,
        /// Other names that may be meant, in case there is no file at `path`.
        or: Vec<PathBuf>,
        /// What must be in the file: chunks that take out all of it. `None` if the patch does not say.
        holds: Option<Vec<Chunk>>,
    },
    /// Changes inside the file, and perhaps a new name or mode. Without those there is at least one chunk.
    Update {
        path: PathBuf,
        /// Other names that may be meant, in case there is no file at `path`.
        or: Vec<PathBuf>,
        move_to: Option<PathBuf>,
        chunks: Vec<Chunk>,
        executable: Option<bool>,
    },
    /// A second file with the text of the first, and perhaps with changes.
    Copy {
        from: PathBuf,
        path: PathBuf,
        chunks: Vec<Chunk>,
        executable: Option<bool>,
    },
}

impl Section {
    /// The file that the section names.
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Add { path, .. }
            | Self::Delete { path, .. }
            | Self::Update { path, .. }
            | Self::Copy { path, .. } => path,
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

impl Chunk {
    /// One more line; `whole` is the line as it stands in the patch, `returns` whether it ended in a return and a feed.
    fn push(&mut self, kind: LineKind, text: &str, whole: &str, returns: bool) {
        self.lines.push(ChunkLine {
            kind,
            text: text.to_owned(),
            end: if returns { LineEnd::ReturnFeed } else { LineEnd::Unsaid },
        });
        let loose = whole.is_empty();
        self.loose_end = if loose { self.loose_end + 1 } else { 0 };
        if loose && self.loose_start + 1 == self.lines.len() {
            self.loose_start += 1;
        }
    }
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
    pub end: LineEnd,
}

/// What the patch text says about the end of a line of the new file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// Nothing: the file's own ends are kept.
    #[default]
    Unsaid,
    /// `\n`: other lines of the diff end in `\r\n`, this one does not.
    Feed,
    /// `\r\n`: the line ends so in a patch text whose headers do not.
    ReturnFeed,
    /// `\r`, and with that the file ends.
    Return,
}

impl LineEnd {
    /// The end as text, if one was said.
    pub(super) fn said(self) -> Option<&'static str> {
        match self {
            Self::Unsaid => None,
            Self::Feed => Some("\n"),
            Self::ReturnFeed => Some("\r\n"),
            Self::Return => Some("\r"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Keep,
    Remove,
    Add,
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
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    text.starts_with(BEGIN) || unified::starts_like_one(text)
}

/// Reads a patch text.
///
/// # Errors
/// The first thing in the text that has no certain meaning, with its line.
pub fn parse(text: &str) -> Result<Patch, ParseError> {
    let lines = envelope::lines(text);
    if !envelope::begins(&lines) && unified::looks_like_one(&lines) {
        return unified::read(lines);
    }
    let mut cursor = Cursor::new(lines)?;
    // A diff in the envelope of the other language.
    if cursor
        .peek_past_blank()
        .is_some_and(|line| unified::begins_a_file(line.text))
    {
        return unified::read(cursor.rest());
    }
    let mut sections = Vec::new();
    while let Some(line) = cursor.peek() {
        if line.text.trim().is_empty() {
            cursor.next();
        } else {
            sections.push(grammar::section(&mut cursor)?);
        }
    }
    if sections.is_empty() {
        return Err(ParseError::NoSections);
    }
    Ok(Patch {
        language: Language::Envelope,
        steps: vec![1; sections.len()],
        sections,
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
