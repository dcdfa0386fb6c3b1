//! What a turn changed, written down in a folder of its own, so that it can be taken back after a restart: a small
//! file of JSON with the paths, and one file with the texts that no snapshot keeps.

use super::{Blob, SnapshotError, Snapshots, files};
use crate::exec::git::Stop;
use crate::ids::{ThreadId, TurnId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Records older than this are given up, like the snapshots that they lean on.
const MOST_AGE: Duration = Duration::from_secs(14 * 24 * 3600);
/// Records kept in all.
const MOST_KEPT: usize = 2000;

/// A turn's changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    pub thread: ThreadId,
    pub turn: TurnId,
    /// Why it is not known what the turn's commands changed; absent if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_snapshot: Option<String>,
    pub files: Vec<FileRecord>,
    /// Folders that the turn made, the inner ones first.
    #[serde(default, with = "paths", skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
    /// For an undo: the turns that it took back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<TurnId>,
}

/// One path before and after the turn; absent means that nothing was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRecord {
    #[serde(with = "path")]
    pub path: PathBuf,
    pub before: Option<Side>,
    pub after: Option<Side>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// Permission bits, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    pub content: Content,
}

/// What a file holds, or that it is a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Content {
    /// A text that the record itself keeps.
    Text(#[serde(skip)] String, Place),
    /// Bytes that a snapshot keeps.
    Kept(Blob),
    Link {
        #[serde(with = "path")]
        target: PathBuf,
    },
    /// Known to have been there, but not kept: too large, or not to be read.
    Unkept,
}

/// Where a text stands in the file of texts, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    at: u64,
    length: u64,
}

impl Content {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into(), Place::default())
    }
}
