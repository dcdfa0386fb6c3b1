//! Why a patch does not fit the files, in words that let the model send a better one.

use crate::patch::files::ReadError;
use crate::patch::update::{Excerpt, Misfit, MisfitKind};
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a patch does not fit the files. The message is for the model: it names the file, the hunk, what was looked
/// for and the closest place, in full. Line numbers count from 1.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("{}: {source}. No file was changed.", .path.display())]
    Read { path: PathBuf, source: ReadError },
    #[error("{}: there is no such file to {action}. No file was changed.", .path.display())]
    Missing { path: PathBuf, action: &'static str },
    #[error("{}: it cannot be a file, since {} is to be a file below it. No file was changed.", .path.display(), .below.display())]
    FileAndFolder { path: PathBuf, below: PathBuf },
    #[error("{}: {}", .path.display(), NoAnchor { hunk: *.hunk, anchor, closest: closest.as_ref() })]
    AnchorNotFound {
        path: PathBuf,
        hunk: usize,
        anchor: String,
        closest: Option<Place>,
    },
    #[error("{}: {}", .path.display(), NotFound { hunk: *.hunk, search })]
    NotFound {
        path: PathBuf,
        hunk: usize,
        search: Box<Search>,
    },
    #[error("{}: {}", .path.display(), NotUnique { hunk: *.hunk, wanted, candidates })]
    NotUnique {
        path: PathBuf,
        hunk: usize,
        wanted: Vec<String>,
        candidates: Vec<usize>,
    },
    #[error(
        "{}: hunk {hunk} inserts after line {line}, but it must be after line {after} and the file has {lines} lines. No file was changed.",
        .path.display()
    )]
    BadLine {
        path: PathBuf,
        hunk: usize,
        line: usize,
        after: usize,
        lines: usize,
    },
}

impl PlanError {
    /// The file that the patch does not fit.
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. }
            | Self::Missing { path, .. }
            | Self::FileAndFolder { path, .. }
            | Self::AnchorNotFound { path, .. }
            | Self::NotFound { path, .. }
            | Self::NotUnique { path, .. }
            | Self::BadLine { path, .. } => path,
        }
    }

    pub(super) fn misfit(path: PathBuf, Misfit { hunk, kind }: Misfit) -> Self {
        match kind {
            MisfitKind::NoAnchor { anchor, closest } => Self::AnchorNotFound {
                path,
                hunk,
                anchor,
                closest: closest.map(Place::from),
            },
            MisfitKind::NotFound {
                wanted,
                closest,
                elsewhere,
                after,
            } => {
                let closest = closest.map(Place::from);
                let search = Box::new(Search {
                    wanted,
                    closest,
                    elsewhere,
                    after,
                });
                Self::NotFound { path, hunk, search }
            }
            MisfitKind::NotUnique { wanted, places } => Self::NotUnique {
                path,
                hunk,
                wanted,
                candidates: places,
            },
            MisfitKind::BadLine { line, after, lines } => Self::BadLine {
                path,
                hunk,
                line,
                after,
                lines,
            },
        }
    }
}

/// A search for a hunk's lines that found nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Kept and removed lines as they were looked for.
    pub wanted: Vec<String>,
    pub closest: Option<Place>,
    /// Lines where they stand although it cannot be meant: before the hunk before, or before the `@@` line.
    pub elsewhere: Vec<usize>,
    /// The search began after this line.
    pub after: Option<usize>,
}

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first line's number, from 1.
    pub line: usize,
    pub lines: Vec<String>,
}

impl From<Excerpt> for Place {
    fn from(excerpt: Excerpt) -> Self {
        Self {
            line: excerpt.line,
            lines: excerpt.lines,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.lines.iter().enumerate() {
            write!(f, "\n{:>6}| {line}", self.line + index)?;
        }
        Ok(())
    }
}

const AGAIN: &str = "No file was changed. Read the file again and send the whole patch with the lines as they are.";

struct NoAnchor<'a> {
    hunk: usize,
    anchor: &'a str,
    closest: Option<&'a Place>,
}

impl fmt::Display for NoAnchor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "hunk {}: the line named after `@@` is not in the file:\n{}",
            self.hunk, self.anchor
        )?;
        if let Some(closest) = self.closest {
            write!(f, "\nThe closest line is:{closest}")?;
        }
        write!(f, "\n{AGAIN}")
    }
}

struct NotFound<'a> {
    hunk: usize,
    search: &'a Search,
}

impl fmt::Display for NotFound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (
            hunk,
            Search {
                wanted,
                closest,
                elsewhere,
                after,
            },
        ) = (self.hunk, self.search);
        let after = after.map(|line| format!(" after line {line}")).unwrap_or_default();
        if wanted.is_empty() {
            write!(f, "hunk {hunk}: the line named after `@@` is not found{after}")?;
        } else {
            write!(
                f,
                "hunk {hunk}: these lines were looked for{after} but not found:\n{}",
                wanted.join("\n")
            )?;
        }
        if !elsewhere.is_empty() {
            let lines = list(elsewhere);
            write!(
                f,
                "\nThey stand at line {lines}, which is before the hunk before or the `@@` line: hunks must be in the order of the file."
            )?;
        } else if let Some(closest) = closest {
            write!(f, "\nThe closest place is line {}:{closest}", closest.line)?;
        } else {
            write!(f, "\nNothing in the file resembles them.")?;
        }
        write!(f, "\n{AGAIN}")
    }
}

struct NotUnique<'a> {
    hunk: usize,
    wanted: &'a [String],
    candidates: &'a [usize],
}

impl fmt::Display for NotUnique<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hunk, lines) = (self.hunk, list(self.candidates));
        if self.wanted.is_empty() {
            write!(
                f,
                "hunk {hunk}: the line named after `@@` is not unique; the insertion could go in front of line {lines}."
            )?;
        } else {
            let wanted = self.wanted.join("\n");
            write!(
                f,
                "hunk {hunk}: its place is not unique. These lines stand at line {lines}:\n{wanted}"
            )?;
        }
        write!(
            f,
            "\nNo file was changed. Send the whole patch with more lines around the change, or with `@@` lines that name what it is in."
        )
    }
}

fn list(lines: &[usize]) -> String {
    const MOST: usize = 12;
    let mut shown: Vec<String> = lines.iter().take(MOST).map(usize::to_string).collect();
    if lines.len() > MOST {
        shown.push(format!("… ({} places)", lines.len()));
    }
    shown.join(", ")
}
