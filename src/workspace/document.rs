//! One open document: its rope and its version.

use crate::workspace::disk;
use ropey::Rope;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A snapshot of an open document. Cloning it costs nothing; edits of the document do not reach a clone.
#[derive(Clone, Debug)]
pub struct Document {
    name: Arc<Name>,
    /// Set by the editor, rises with each of its edits.
    pub version: i32,
    pub rope: Rope,
    /// The version that the editor last said it has written to the disk.
    pub saved_version: Option<i32>,
}

/// What does not change while the document is open.
#[derive(Debug)]
struct Name {
    uri: Arc<str>,
    /// Cleaned, absolute; `None` for what is not a file.
    path: Option<PathBuf>,
    language: Box<str>,
    /// The path without links. Found when first asked for, since it takes a look at the disk.
    canonical: OnceLock<PathBuf>,
}

impl Document {
    pub(super) fn new(uri: &str, path: Option<PathBuf>, language: &str, version: i32, rope: Rope) -> Self {
        let name = Name {
            uri: uri.into(),
            path,
            language: language.into(),
            canonical: OnceLock::new(),
        };
        Self {
            name: Arc::new(name),
            version,
            rope,
            saved_version: None,
        }
    }

    /// The URI in the editor's own spelling; what edits of it must be addressed to.
    pub fn uri(&self) -> &str {
        &self.name.uri
    }

    pub(super) fn shared_uri(&self) -> Arc<str> {
        self.name.uri.clone()
    }

    /// Absolute path, cleaned; `None` for what is not a file, for example an untitled buffer.
    pub fn path(&self) -> Option<&Path> {
        self.name.path.as_deref()
    }

    /// The editor's name for the language, for example `rust`.
    pub fn language(&self) -> &str {
        &self.name.language
    }

    pub fn text(&self) -> String {
        self.rope.to_string()
    }

    /// Whether the disk holds another text. Line ends, a byte-order mark and the encoding are not text. True
    /// where there is no such file; false for what is not a file. Reads the file.
    pub fn differs_from_disk(&self) -> bool {
        let Some(path) = self.path() else { return false };
        match disk::read_bytes(path) {
            Ok(bytes) => !disk::same_text(&self.text(), &bytes),
            Err(_) => true,
        }
    }

    /// The path with its links resolved, as far as it exists. Looks at the disk the first time.
    pub(super) fn canonical(&self) -> Option<&PathBuf> {
        let path = self.path()?;
        Some(self.name.canonical.get_or_init(|| disk::canonical(path)))
    }
}
