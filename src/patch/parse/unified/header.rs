//! What stands above the hunks of a file that `git diff` wrote: names, modes, where it came from.

use super::{Reader, shorten};
use crate::patch::parse::error::ParseError;
use crate::patch::parse::names::{self, Side};
use std::path::PathBuf;

/// The header of one file.
#[derive(Debug)]
pub(super) struct Git {
    /// Where the file is before, or where it comes to be if it is new.
    pub(super) path: PathBuf,
    /// Where it is after, if elsewhere; or where its copy is.
    pub(super) move_to: Option<PathBuf>,
    pub(super) is_copy: bool,
    pub(super) is_new: bool,
    pub(super) is_deleted: bool,
    /// The file was empty before.
    pub(super) was_empty: bool,
    pub(super) executable: Option<bool>,
}

/// The names under which git keeps what is empty.
const EMPTY_BLOBS: [&str; 2] = ["e69de29", "473a0f4"];

#[derive(Default)]
struct Words {
    from: Option<String>,
    to: Option<String>,
    is_copy: bool,
    is_new: bool,
    is_deleted: bool,
    was_empty: bool,
    /// The mode after, the number of its line and the line.
    mode: Option<(u32, usize)>,
}

impl Git {
    /// Reads from `diff --git` up to the first hunk.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let first = reader.at;
        let header = names::pair(&reader.text(first)["diff --git ".len()..]);
        reader.at += 1;
        let mut words = Words::default();
        while words.take(reader)? {
            reader.at += 1;
        }
        let mut sides = None;
        if reader.is_name_lines(reader.at) {
            sides = Some((reader.side(reader.at, "--- ")?, reader.side(reader.at + 1, "+++ ")?));
            reader.at += 2;
        }
        let bad = || ParseError::BadName {
            line: reader.number(first),
            found: shorten(reader.text(first)),
        };
        if let Some((old, new)) = &sides {
            words.is_new |= old.name.is_none();
            words.is_deleted |= new.name.is_none();
        }
        if words.is_new && words.is_deleted {
            return Err(bad());
        }
        let (path, move_to) = match (words.from.take(), words.to.take()) {
            (Some(from), Some(to)) => (from, Some(to)),
            (None, None) => {
                let (old, new) = both(sides, header).ok_or_else(bad)?;
                if old != new && !words.is_new && !words.is_deleted {
                    let line = reader.number(first);
                    return Err(ParseError::TwoNames { line, old, new });
                }
                (if words.is_new { new } else { old }, None)
            }
            _ => return Err(bad()),
        };
        let path = PathBuf::from(path);
        let executable = match words.mode {
            None => None,
            Some((mode, line)) => match mode & 0o170_000 {
                0 | 0o100_000 => Some(mode & 0o100 != 0),
                // It goes as it is; the text that is shown of it is where it leads.
                0o120_000 if words.is_deleted => None,
                0o120_000 => {
                    let what = "a symbolic link";
                    return Err(ParseError::NotAFile { path, line, what });
                }
                _ => {
                    let what = "a repository inside the repository";
                    return Err(ParseError::NotAFile { path, line, what });
                }
            },
        };
        Ok(Self {
            path,
            move_to: move_to.map(PathBuf::from),
            is_copy: words.is_copy,
            is_new: words.is_new,
            is_deleted: words.is_deleted,
            was_empty: words.was_empty,
            executable: executable.filter(|_| !words.is_deleted),
        })
    }
}

impl Words {
    /// Takes one line of the header; false if it is none.
    fn take(&mut self, reader: &Reader<'_>) -> Result<bool, ParseError> {
        let (text, line) = (reader.text(reader.at), reader.number(reader.at));
        let name = |rest: &str| {
            names::whole(rest).ok_or_else(|| ParseError::BadName {
                line,
                found: shorten(text),
            })
        };
        let mode = |rest: &str| {
            let mode = u32::from_str_radix(rest.trim(), 8).map_err(|_| ParseError::BadMode {
                line,
                found: shorten(text),
            })?;
            Ok(Some((mode, line)))
        };
        if let Some(rest) = text.strip_prefix("new mode ") {
            self.mode = mode(rest)?;
        } else if let Some(rest) = text.strip_prefix("new file mode ") {
            self.mode = mode(rest)?;
            self.is_new = true;
        } else if let Some(rest) = text.strip_prefix("deleted file mode ") {
            self.mode = mode(rest)?;
            self.is_deleted = true;
        } else if let Some(rest) = ["rename from ", "rename old ", "copy from "]
            .iter()
            .find_map(|word| text.strip_prefix(word))
        {
            self.is_copy = text.starts_with("copy");
            self.from = Some(name(rest)?);
        } else if let Some(rest) = ["rename to ", "rename new ", "copy to "]
            .iter()
            .find_map(|word| text.strip_prefix(word))
        {
            self.to = Some(name(rest)?);
        } else if let Some(rest) = text.strip_prefix("index ") {
            self.was_empty = EMPTY_BLOBS.iter().any(|blob| rest.starts_with(blob));
            // The mode stands there only if it is the same before and after: it matters if that is no file's.
            if let Some((_, same)) = rest.trim_end().rsplit_once(' ')
                && let Ok(same) = u32::from_str_radix(same, 8)
                && !matches!(same & 0o170_000, 0 | 0o100_000)
            {
                self.mode = Some((same, line));
            }
        } else {
            let others = ["old mode ", "similarity index ", "dissimilarity index "];
            return Ok(others.iter().any(|word| text.starts_with(word)));
        }
        Ok(true)
    }
}

/// The file's two names, without what git puts in front. The name lines tell if they are there, else the first line.
fn both(sides: Option<(Side, Side)>, header: Option<(String, String)>) -> Option<(String, String)> {
    let (old, new) = match (sides, header) {
        (Some((Side { name: Some(old), .. }, Side { name: Some(new), .. })), _) => (old, new),
        // No file on one side: whether the other's first folder was put there, the first line can tell.
        (Some((Side { name: Some(name), .. }, _) | (_, Side { name: Some(name), .. })), header) => {
            let put = match header {
                Some((old, new)) => old != new,
                None => names::has_letter(&name),
            };
            let bare = names::below(&name).filter(|_| put);
            let name = bare.unwrap_or(&name).to_owned();
            return Some((name.clone(), name));
        }
        (Some(_), _) | (None, None) => return None,
        (None, Some(header)) => header,
    };
    if old == new {
        return Some((old, new));
    }
    let (a, b) = (names::below(&old), names::below(&new));
    if names::have_letters(&old, &new) || a.is_some() && a == b {
        return Some((a?.to_owned(), b?.to_owned()));
    }
    Some((old, new))
}

/// The file of a change that is not shown since it is binary.
pub(super) fn binary(text: &str) -> Option<PathBuf> {
    if text.starts_with("GIT binary patch") {
        return Some(PathBuf::from("?"));
    }
    let files = text.strip_prefix("Binary files ")?.strip_suffix(" differ")?;
    let (old, new) = files.split_once(" and ").unwrap_or((files, files));
    Some(PathBuf::from(if old == "/dev/null" { new } else { old }))
}

/// Whether the line is above a commit's diff: in a mailbox, or as `git show` has it.
pub(super) fn begins_a_commit(text: &str) -> bool {
    let hash = text.strip_prefix("From ").or_else(|| text.strip_prefix("commit "));
    let hash = hash.and_then(|rest| rest.split(' ').next()).unwrap_or("");
    hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether the line can come after the last hunk of a file and is none of it.
pub(super) fn ends_a_file(text: &str) -> bool {
    const WORDS: [&str; 9] = [
        "diff ",
        "Index: ",
        "Only in ",
        "Binary files ",
        "GIT binary patch",
        "Property changes on: ",
        "=====",
        "```",
        "*** ",
    ];
    begins_a_commit(text) || WORDS.iter().any(|word| text.starts_with(word))
}
