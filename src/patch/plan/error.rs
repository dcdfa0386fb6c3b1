//! Why a patch does not fit the files, in words that let the model send a better one.

use crate::patch::edit::Hint;
use crate::patch::files::{ReadError, Whole};
use crate::patch::update::{Excerpt, Misfit, MisfitKind};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a patch does not fit the files. The message is for the model: it names the file, the hunk, what was looked
/// for and the closest place, in full. Line numbers count from 1.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("{}: {source}. No file was changed.", .path.display())]
    Read { path: PathBuf, source: ReadError },
    #[error("{}: it is {whole}, which a patch deletes, or moves to a name where nothing is, as it is and once. No file was changed; do what is left with a patch of its own.", .path.display())]
    AsItIs { path: PathBuf, whole: Whole },
    #[error("{}: {whole} is there already, which is not replaced. No file was changed; choose another name, or delete it with a patch of its own first.", .path.display())]
    Occupied { path: PathBuf, whole: Whole },
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
    #[error("{}: there is a file of this name already, and it is not empty. No file was changed; change it with hunks that show its lines, or delete it first.", .path.display())]
    Exists { path: PathBuf },
    #[error(
        "{}: it is to be added without any line, but it is there already and has {lines}; that would empty it. No file was changed; remove its lines with an update, or delete it.",
        .path.display()
    )]
    WouldEmpty { path: PathBuf, lines: String },
    #[error(
        "{}: it is to be deleted, but it has more than the patch shows, from line {line} on: {text}. No file was changed; read it again and send the whole patch.",
        .path.display()
    )]
    Leftover { path: PathBuf, line: usize, text: String },
    #[error(
        "{}: hunk {hunk}: the file and the patch repeat themselves so much that its place cannot be found in a reasonable time. No file was changed; send fewer hunks at once, each with lines that stand nowhere else.",
        .path.display()
    )]
    TooMuch { path: PathBuf, hunk: usize },
    #[error("{}: {}", .path.display(), NoText { search, hint: *.hint })]
    TextNotFound {
        path: PathBuf,
        search: Box<Search>,
        hint: Option<Hint>,
    },
    #[error(
        "{}: the old text stands in it {} times, at line {}. No file was changed. Send it with more lines around it, so that it stands \
         there once, or say that all places are meant.",
        .path.display(), .times, list(.lines)
    )]
    TextNotUnique {
        path: PathBuf,
        times: usize,
        /// Those in which it begins, each once.
        lines: Vec<usize>,
    },
    #[error("{}: the old and the new text are the same, so there is nothing to change. No file was changed.", .path.display())]
    SameText { path: PathBuf },
    #[error(
        "{}: the old text is empty, but the file is there and has text. No file was changed. Name the text that is to be replaced, or \
         write the whole file.",
        .path.display()
    )]
    NoOldText { path: PathBuf },
    #[error("{}: there is no line {after} to insert after; the file has {lines} lines. No file was changed.", .path.display())]
    NoSuchLine { path: PathBuf, after: usize, lines: usize },
    #[error("{first}\nAlso without a place: {}.", others.join(", "))]
    Several {
        first: Box<PlanError>,
        /// The other hunks and files that do not fit, in words.
        others: Vec<String>,
    },
}

impl PlanError {
    /// The file that the patch does not fit.
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. }
            | Self::AsItIs { path, .. }
            | Self::Occupied { path, .. }
            | Self::Missing { path, .. }
            | Self::FileAndFolder { path, .. }
            | Self::AnchorNotFound { path, .. }
            | Self::NotFound { path, .. }
            | Self::NotUnique { path, .. }
            | Self::BadLine { path, .. }
            | Self::Exists { path }
            | Self::WouldEmpty { path, .. }
            | Self::Leftover { path, .. }
            | Self::TooMuch { path, .. }
            | Self::TextNotFound { path, .. }
            | Self::TextNotUnique { path, .. }
            | Self::SameText { path }
            | Self::NoOldText { path }
            | Self::NoSuchLine { path, .. } => path,
            Self::Several { first, .. } => first.path(),
        }
    }

    /// The number of the hunk that does not fit, if it is one.
    fn hunk(&self) -> Option<usize> {
        match self {
            Self::AnchorNotFound { hunk, .. }
            | Self::NotFound { hunk, .. }
            | Self::NotUnique { hunk, .. }
            | Self::BadLine { hunk, .. }
            | Self::TooMuch { hunk, .. } => Some(*hunk),
            Self::Several { first, .. } => first.hunk(),
            _ => None,
        }
    }

    /// The first error, and the others in few words.
    pub(super) fn joined(errors: Vec<Self>, name: impl Fn(&Path) -> String) -> Option<Self> {
        const MOST: usize = 20;
        let mut errors = errors.into_iter();
        let first = errors.next()?;
        let (first, mut others) = match first {
            Self::Several { first, others } => (first, others),
            other => (Box::new(other), Vec::new()),
        };
        for error in errors {
            let place = name(error.path());
            others.push(match error.hunk() {
                Some(hunk) => format!("hunk {hunk} of {place}"),
                None => place,
            });
            if let Self::Several { others: more, .. } = error {
                others.extend(more);
            }
        }
        if others.is_empty() {
            return Some(*first);
        }
        if others.len() > MOST {
            let more = others.len() - MOST;
            others.truncate(MOST);
            others.push(format!("and {more} more"));
        }
        Some(Self::Several { first, others })
    }

    pub(super) fn misfit(path: PathBuf, misfit: Misfit, name: impl Fn(&Path) -> String) -> Self {
        let place = name(&path);
        let also: Vec<String> = misfit
            .also
            .iter()
            .map(|hunk| format!("hunk {hunk} of {place}"))
            .collect();
        let first = Self::one_misfit(path, misfit.hunk, *misfit.kind);
        if also.is_empty() {
            first
        } else {
            Self::Several {
                first: Box::new(first),
                others: also,
            }
        }
    }

    fn one_misfit(path: PathBuf, hunk: usize, kind: MisfitKind) -> Self {
        match kind {
            MisfitKind::TooMuch => Self::TooMuch { path, hunk },
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
    /// Which of the lines were not looked for.
    pub differs: Vec<bool>,
}

impl From<Excerpt> for Place {
    fn from(excerpt: Excerpt) -> Self {
        Self {
            line: excerpt.line,
            lines: excerpt.lines,
            differs: excerpt.differs,
        }
    }
}

impl Place {
    /// Where it is, and its lines.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marks = match self.differs.contains(&true) && self.differs.contains(&false) {
            true => " (lines with > differ)",
            false => "",
        };
        write!(f, "\nThe closest place is line {}{marks}:{self}", self.line)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.lines.iter().enumerate() {
            let mark = if self.differs.get(index).copied().unwrap_or(false) {
                '>'
            } else {
                ' '
            };
            write!(f, "\n{mark}{:>5}| {}", self.line + index, cut(line))?;
        }
        Ok(())
    }
}

/// A line in full, unless it is of a length that nobody reads.
fn cut(line: &str) -> Cow<'_, str> {
    const MOST: usize = 4000;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} bytes)", &line[..end], line.len()).into(),
        None => line.into(),
    }
}

/// The lines looked for, in full unless they are very many.
fn block(lines: &[String]) -> String {
    const MOST: usize = 200;
    let mut text: Vec<Cow<'_, str>> = lines.iter().take(MOST).map(|line| cut(line)).collect();
    if lines.len() > MOST {
        text.push(format!("… ({} lines more)", lines.len() - MOST).into());
    }
    text.join("\n")
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
                block(wanted)
            )?;
        }
        if !elsewhere.is_empty() {
            let lines = list(elsewhere);
            write!(
                f,
                "\nThey stand at line {lines}, which is before the hunk before or the `@@` line: hunks must be in the order of the file."
            )?;
        } else if let Some(closest) = closest {
            closest.show(f)?;
        } else {
            write!(f, "\nNothing in the file resembles them.")?;
        }
        write!(f, "\n{AGAIN}")
    }
}

struct NoText<'a> {
    search: &'a Search,
    hint: Option<Hint>,
}

impl fmt::Display for NoText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Search { wanted, closest, .. } = self.search;
        write!(f, "the old text is not in it:\n{}", block(wanted))?;
        let why = match self.hint {
            Some(Hint::Blanks) => "Only blanks differ: send indentation and spaces as the file has them.",
            Some(Hint::Punctuation) => {
                "Only typographic quotes, dashes or spaces differ: send the characters that the file has."
            }
            Some(Hint::Escapes) => {
                "It has escapes such as \\n or \\\" where the file has the characters themselves: send those."
            }
            Some(Hint::AlreadyThere) => "The new text is in the file already; perhaps nothing is left to do.",
            None => "",
        };
        if !why.is_empty() {
            write!(f, "\n{why}")?;
        }
        match closest {
            Some(closest) => closest.show(f)?,
            None => f.write_str("\nNothing in the file resembles it.")?,
        }
        f.write_str("\nNo file was changed. Send the old text exactly as it stands in the file, without line numbers.")
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
            let wanted = block(self.wanted);
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
