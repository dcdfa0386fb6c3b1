//! What is wrong with a patch text, and where.

use super::envelope::Line;
use super::shorten;
use std::path::PathBuf;

/// Why a patch text cannot be read. Line numbers count from 1 in the text as given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error(
        "invalid patch: the first line must be `*** Begin Patch`, but it is `{found}`; a unified diff needs a `--- <path>` and a `+++ <path>` line for each file"
    )]
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
    #[error(
        "invalid patch: line {line} begins {what}, which cannot be applied; send a unified diff (`diff -u`, `git diff`)"
    )]
    OtherFormat { line: usize, what: &'static str },
    #[error(
        "invalid patch: the hunk in line {line} belongs to no file; put a `--- <path>` and a `+++ <path>` line in front of it"
    )]
    NoFile { line: usize },
    #[error(
        "invalid patch: line {line} `{found}` has no {missing} line with it; a file needs both `--- <path>` and `+++ <path>`"
    )]
    HalfHeader {
        line: usize,
        found: String,
        missing: &'static str,
    },
    #[error(
        "invalid patch: the name in line {line} `{found}` cannot be read; write the path plainly, or quoted in the way of git"
    )]
    BadName { line: usize, found: String },
    #[error(
        "invalid patch: line {line} names two files, {old} and {new}; for a new name add `rename from {old}` and `rename to {new}` below it, else write one name twice"
    )]
    TwoNames { line: usize, old: String, new: String },
    #[error("invalid patch: the file mode in line {line} `{found}` cannot be read; it is 100644 or 100755")]
    BadMode { line: usize, found: String },
    #[error("invalid patch: {} (line {line}) is {what}, which a patch cannot make or change; leave it out", .path.display())]
    NotAFile {
        path: PathBuf,
        line: usize,
        what: &'static str,
    },
    #[error("invalid patch: the change of {} (line {line}) is binary; only changes of text can be applied, and deleting or renaming a file as it is, so leave it out", .path.display())]
    Binary { path: PathBuf, line: usize },
    #[error(
        "invalid patch: line {line} `{found}` (file {}) looks like a part of the hunk in line {header}, which by its numbers has ended; correct the numbers",
        .path.display()
    )]
    Overrun {
        path: PathBuf,
        line: usize,
        found: String,
        header: usize,
    },
    #[error(
        "invalid patch: the hunk in line {line} (file {}) only adds lines, but its numbers say that it also keeps or replaces {count}, so its place is not known; send it with the lines around",
        .path.display()
    )]
    NoContext { path: PathBuf, line: usize, count: usize },
    #[error("invalid patch: the hunk in line {line} (file {}) has `{found}`, but the file is to be {fate}", .path.display())]
    Contradiction {
        path: PathBuf,
        line: usize,
        found: String,
        fate: &'static str,
    },
}

impl ParseError {
    pub(super) fn no_begin(first: Option<Line<'_>>) -> Self {
        Self::NoBegin {
            found: shorten(first.map_or("", |line| line.text)),
        }
    }
}
