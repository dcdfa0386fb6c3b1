//! A file of settings as it is read: what it says, or why it says nothing.

use super::tree::{self, Node};
use crate::private::{self, OpenToOthers};
use crate::protocol::config::ConfigWarning;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Nobody writes this much configuration; a device or a log that got there by a link does.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum File {
    Missing,
    /// There, but it cannot be read.
    Unreadable(String),
    /// Others can change it, so it is not the person's word.
    Open(OpenToOthers),
    Broken(tree::SyntaxError),
    Parsed(Vec<(String, Node)>),
}

impl File {
    pub(super) fn read(path: &Path) -> Self {
        match read_text(path) {
            Ok(None) => Self::Missing,
            Ok(Some(text)) => Self::of(&text),
            Err(cause) => Self::Unreadable(cause.to_string()),
        }
    }

    /// What a file of the person's says: the text of an editor that has it open, or the file where nobody else can write it.
    pub(super) fn of_person(path: &Path, open: &BTreeMap<PathBuf, String>) -> Self {
        match private::check(path) {
            Err(trouble) if !open.contains_key(path) => Self::Open(trouble),
            _ => Self::read_or(path, open),
        }
    }

    /// The text of an editor that has the file open, or the file.
    pub(super) fn read_or(path: &Path, open: &BTreeMap<PathBuf, String>) -> Self {
        open.get(path).map_or_else(|| Self::read(path), |text| Self::of(text))
    }

    pub(super) fn of(text: &str) -> Self {
        match tree::parse(text) {
            Ok(entries) => Self::Parsed(entries),
            Err(error) => Self::Broken(error),
        }
    }

    /// Whether it is there and says nothing.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Missing | Self::Parsed(_) => false,
            Self::Unreadable(_) | Self::Open(_) | Self::Broken(_) => true,
        }
    }

    /// The entries, or a warning that says why there are none.
    pub(super) fn entries(self, path: &Path, warnings: &mut Vec<ConfigWarning>) -> Vec<(String, Node)> {
        let (message, line) = match self {
            Self::Missing => return Vec::new(),
            Self::Parsed(entries) => return entries,
            Self::Unreadable(cause) => (
                format!("The file cannot be read, so nothing in it is used: {cause}."),
                None,
            ),
            Self::Open(trouble) => (trouble.to_string(), None),
            Self::Broken(error) => (
                format!(
                    "The file is not valid TOML, so nothing in it is used: line {}, column {}: {}.",
                    error.line,
                    error.column,
                    error.message.trim_end_matches('.')
                ),
                Some(error.line),
            ),
        };
        warnings.push(ConfigWarning {
            message,
            path: Some(path.to_owned()),
            line,
        });
        Vec::new()
    }
}

/// The text of a regular file; `None` if there is none.
pub(crate) fn read_text(path: &Path) -> std::io::Result<Option<String>> {
    read_text_up_to(path, MOST_BYTES)
}

/// The same where another number of bytes is too many.
pub(super) fn read_text_up_to(path: &Path, most: u64) -> std::io::Result<Option<String>> {
    let invalid = |text: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, text);
    match std::fs::metadata(path) {
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
        // Opening a pipe would wait for its other end.
        Ok(meta) if !meta.is_file() => return Err(invalid("it is not a file")),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    crate::regular::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(invalid("it is too large"));
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| invalid("it is not UTF-8 text"))
}
