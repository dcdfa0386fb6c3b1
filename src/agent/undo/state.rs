//! What is at a path: as a turn recorded it, and as it is now.

use crate::patch::disk::{Expect, content_hash, hexadecimal};
use crate::patch::turn_diff::{Body, Side};
use crate::snapshot::Blob;
use crate::snapshot::record::{self, Content};
use crate::workspace::{Judge, Opened};
use sha2::{Digest as _, Sha256};
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file that is looked at as text, in bytes.
const MOST_TEXT: u64 = 64 << 20;

/// A file, a link, or something else that a turn cannot have made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thing {
    /// Permission bits, where they are known.
    pub(super) mode: Option<u32>,
    pub(super) data: Data,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Data {
    Text(String),
    /// Bytes by the SHA-256 of them, in hexadecimal, or by the first half of that. They can be put back if there is a
    /// blob of them.
    Bytes {
        digest: String,
        blob: Option<Blob>,
        size: u64,
    },
    Link(PathBuf),
    /// Only known to have been there.
    Unkept {
        key: String,
        size: u64,
    },
    /// A folder, a device, or a file that cannot be read; in words.
    Strange(String),
}

impl Thing {
    pub(super) fn text(text: String, mode: Option<u32>) -> Self {
        Self {
            mode,
            data: Data::Text(text),
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A side of a record.
    pub(super) fn of_record(side: &record::Side) -> Self {
        let data = match &side.content {
            Content::Text { text } => Data::Text(text.clone()),
            Content::Kept { blob, size } => Data::Bytes {
                digest: blob.digest().to_owned(),
                blob: Some(blob.clone()),
                size: *size,
            },
            Content::Link { target } => Data::Link(target.clone()),
            Content::Unkept { size, key } => Data::Unkept {
                key: key.clone(),
                size: *size,
            },
        };
        Self { mode: side.mode, data }
    }

    /// For the diff of a turn.
    pub(super) fn side(&self) -> Side {
        let body = match &self.data {
            Data::Text(text) => Body::Text(text.as_str().into()),
            Data::Bytes {
                blob: Some(blob), size, ..
            } => Body::Bytes {
                key: blob.key(),
                size: *size,
            },
            Data::Bytes { digest, size, .. } => Body::Unkept {
                key: digest.clone(),
                size: *size,
            },
            Data::Link(target) => Body::Link(target.clone()),
            Data::Unkept { key, size } => Body::Unkept {
                key: key.clone(),
                size: *size,
            },
            Data::Strange(words) => Body::Unkept {
                key: words.clone(),
                size: 0,
            },
        };
        Side { mode: self.mode, body }
    }

    /// What a transaction expects where this is.
    pub(super) fn expect(thing: Option<&Self>) -> Option<Expect> {
        Some(match thing.map(|thing| &thing.data) {
            None => Expect::Absent,
            Some(Data::Text(text)) => Expect::Content {
                sha256: content_hash(text.as_bytes()),
            },
            Some(Data::Bytes { digest, .. }) => Expect::Content { sha256: digest.clone() },
            Some(Data::Link(target)) => Expect::Link { target: target.clone() },
            Some(Data::Unkept { .. } | Data::Strange(_)) => return None,
        })
    }

    /// Whether both hold the same; bits do not count.
    pub(super) fn same_content(&self, other: &Self) -> bool {
        match (&self.data, &other.data) {
            (Data::Bytes { digest: a, .. }, Data::Bytes { digest: b, .. }) => same_digest(a, b),
            (Data::Text(text), Data::Bytes { digest, size, .. })
            | (Data::Bytes { digest, size, .. }, Data::Text(text)) => {
                text.len() as u64 == *size && same_digest(&content_hash(text.as_bytes()), digest)
            }
            (a, b) => a == b,
        }
    }
}

/// One of the two may be only the first half.
fn same_digest(a: &str, b: &str) -> bool {
    let shorter = a.len().min(b.len());
    shorter >= 32 && a.as_bytes()[..shorter] == b.as_bytes()[..shorter]
}

/// What is on the disk. Never follows a link, never opens a device, and reads nothing that is closed, should a folder on the
/// way lead elsewhere by now.
pub(super) fn on_disk(path: &Path, closed: &dyn Judge) -> Option<Thing> {
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return None,
        Err(error) => return Some(strange(format!("it cannot be looked at ({error})"))),
    };
    let kind = meta.file_type();
    if kind.is_symlink() {
        return Some(match std::fs::read_link(path) {
            Ok(target) => Thing {
                mode: None,
                data: Data::Link(target),
            },
            Err(error) => strange(format!("it cannot be read ({error})")),
        });
    }
    if kind.is_dir() {
        return Some(strange("a folder is there now".to_owned()));
    }
    if !kind.is_file() {
        return Some(strange("a device, a pipe or a socket is there now".to_owned()));
    }
    let data = read(path, closed).unwrap_or_else(|error| Data::Strange(format!("it cannot be read ({error})")));
    Some(Thing {
        mode: permission_bits(&meta),
        data,
    })
}

fn strange(words: String) -> Thing {
    Thing {
        mode: None,
        data: Data::Strange(words),
    }
}

fn read(path: &Path, closed: &dyn Judge) -> io::Result<Data> {
    let opened = Opened::judged(path, closed).map_err(|error| io::Error::other(error.to_string()))?;
    let (mut file, meta) = (opened.file(), opened.metadata());
    if !meta.is_file() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if meta.len() <= MOST_TEXT {
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default() + 1);
        file.take(MOST_TEXT + 1).read_to_end(&mut bytes)?;
        let is_text = !bytes.contains(&0);
        return Ok(match String::from_utf8(bytes) {
            Ok(text) if is_text => Data::Text(text),
            Ok(text) => bytes_data(text.as_bytes()),
            Err(error) => bytes_data(error.as_bytes()),
        });
    }
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        size += read as u64;
    }
    let digest = hexadecimal(&hash.finalize());
    Ok(Data::Bytes {
        digest,
        blob: None,
        size,
    })
}

fn bytes_data(bytes: &[u8]) -> Data {
    Data::Bytes {
        digest: content_hash(bytes),
        blob: None,
        size: bytes.len() as u64,
    }
}

#[cfg(unix)]
fn permission_bits(meta: &Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(meta.permissions().mode() & 0o7777)
}

#[cfg(not(unix))]
fn permission_bits(_meta: &Metadata) -> Option<u32> {
    None
}

/// Whether a file is the one that was only known to be there.
pub(super) fn is_unkept(path: &Path, key: &str) -> bool {
    crate::snapshot::stamp(path).is_some_and(|stamp| stamp == key)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::workspace::opened::Swaps;

    /// What is closed is not read for an undo, also where a folder becomes a link to it in between.
    #[test]
    fn what_is_swapped_after_the_look_is_not_read() {
        let swaps = Swaps::new("f");
        let found = on_disk(&swaps.link.join("f"), &swaps).expect("something is there");
        assert!(matches!(found.data, Data::Strange(_)), "{found:?}");
    }
}
