//! The snapshot that a patch is planned against, and the one that is simply the disk.

use crate::workspace::{Judge, Opened};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// The largest file that a patch is planned for, in bytes.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// The whole text as it is stored, with its line ends and any byte-order mark.
    pub text: String,
}

impl From<&str> for FileText {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}

/// What is under a name and is no text that a patch can change: an entry of its folder that is deleted or renamed as it
/// is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Whole {
    /// A regular file of other bytes than UTF-8 text.
    Bytes {
        /// In hexadecimal.
        sha256: String,
        size: u64,
        /// What they most likely are, for the person.
        kind: String,
    },
    /// A symbolic link itself; what it leads to is none of it.
    Link {
        #[serde(with = "super::any_path")]
        target: PathBuf,
    },
}

impl Whole {
    fn of_bytes(bytes: &[u8]) -> Self {
        Self::Bytes {
            sha256: super::disk::hexadecimal(&Sha256::digest(bytes)),
            size: bytes.len() as u64,
            kind: kind(bytes).to_owned(),
        }
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { size, kind, .. } => write!(f, "a file of {size} bytes that is no UTF-8 text but {kind}"),
            Self::Link { target } => write!(f, "a symbolic link to {}", target.display()),
        }
    }
}

/// Why a file that is there cannot be read as text.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("it is a folder")]
    Folder,
    #[error("it is neither a file nor a folder but a device, a pipe or a socket")]
    Special,
    #[error(
        "it is a symbolic link to {}, and text is not changed through a link. Put the change into what it leads to, by that \
         name; a patch that deletes or moves {} acts on the link itself", .target.display(), .link.display()
    )]
    Link { link: PathBuf, target: PathBuf },
    #[error("a part of its path is a file, not a folder")]
    ParentIsFile,
    #[error(
        "it is not UTF-8 text but {kind} (first at byte {offset}), so a patch could damage it; change it with a command. A \
         patch can delete it, or move it as it is"
    )]
    NotUtf8 { offset: usize, kind: &'static str },
    #[error("it has {bytes} bytes, more than the {MAX_FILE_BYTES} that a patch may touch")]
    TooLarge { bytes: u64 },
    #[error("it is outside the folders that may be written (links resolved: {})", .real.display())]
    Outside { real: PathBuf },
    #[error("it is open in the editor with text that is not saved; ask the person to save or close it, then try again")]
    Unsaved,
    #[error("it cannot be read: {0}")]
    Io(#[source] io::Error),
}

/// A view of the files that does not change while a patch is planned. Paths are absolute and lexically clean.
pub trait Files {
    /// The text of a file, `None` where there is no file.
    ///
    /// # Errors
    /// There is something, but it cannot be read as text.
    fn read(&self, path: &Path) -> Result<Option<FileText>, ReadError>;

    /// What is at a path and is no text; `None` for a text, and where there is nothing.
    ///
    /// # Errors
    /// There is something that cannot be deleted or renamed as it is.
    fn whole(&self, _path: &Path) -> Result<Option<Whole>, ReadError> {
        Ok(None)
    }

    /// Whether the text is that of an open document, whose file may hold other bytes.
    fn is_open(&self, _path: &Path) -> bool {
        false
    }

    /// The permission bits of a file, if there are such and they are known.
    fn mode(&self, _path: &Path) -> Option<u32> {
        None
    }

    /// The name by which the file is known once links in its parent folders are followed. Two paths with one real
    /// name are one file.
    fn real(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    /// Whether both names are one entry of one folder although they are spelled differently, as on a file system
    /// that ignores case.
    fn same_entry(&self, _a: &Path, _b: &Path) -> bool {
        false
    }
}

impl DiskFiles {
    /// The link under this name, if it is one.
    pub fn whole_link(self, path: &Path) -> Option<Whole> {
        let target = fs::read_link(path).ok()?;
        Some(Whole::Link { target })
    }
}

/// As [`DiskFiles`], for somebody who may not read all: what is read is what was judged, wherever its path leads by then.
#[derive(Clone, Copy)]
pub struct JudgedFiles<'a>(pub &'a dyn Judge);

impl JudgedFiles<'_> {
    /// As [`Files::read`].
    ///
    /// # Errors
    /// As there, or it may not be read.
    pub fn read(self, path: &Path) -> Result<Option<FileText>, ReadError> {
        as_text(self.bytes(path)?)
    }

    /// As [`Files::whole`].
    ///
    /// # Errors
    /// As there, or it may not be read.
    pub fn whole(self, path: &Path) -> Result<Option<Whole>, ReadError> {
        as_whole(self.bytes(path))
    }

    fn bytes(self, path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
        self.0.path(path).map_err(refused)?;
        match find_regular(path)? {
            None => Ok(None),
            Some(()) => {
                let opened = Opened::open(path).map_err(|error| ReadError::Io(io::Error::other(error.to_string())))?;
                self.0.opened(path, &opened).map_err(refused)?;
                check_regular(path, opened.metadata())?;
                read_open(opened.file()).map(Some)
            }
        }
    }
}

/// The error for who may not read a file; `why` in their words.
pub fn refused(why: String) -> ReadError {
    ReadError::Io(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

fn as_text(bytes: Option<Vec<u8>>) -> Result<Option<FileText>, ReadError> {
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).map_err(|error| ReadError::NotUtf8 {
        offset: error.utf8_error().valid_up_to(),
        kind: kind(error.as_bytes()),
    })?;
    Ok(Some(FileText { text }))
}

fn as_whole(read: Result<Option<Vec<u8>>, ReadError>) -> Result<Option<Whole>, ReadError> {
    match read {
        Err(ReadError::Link { target, .. }) => Ok(Some(Whole::Link { target })),
        Ok(Some(bytes)) if bytes.contains(&0) || std::str::from_utf8(&bytes).is_err() => {
            Ok(Some(Whole::of_bytes(&bytes)))
        }
        found => found.map(|_text| None),
    }
}

/// The disk as it is now. Never follows a link in the last place and never opens anything but a regular file.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read(&self, path: &Path) -> Result<Option<FileText>, ReadError> {
        as_text(read_regular(path)?)
    }

    fn whole(&self, path: &Path) -> Result<Option<Whole>, ReadError> {
        as_whole(read_regular(path))
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        mode(path)
    }

    fn real(&self, path: &Path) -> PathBuf {
        real_path(path)
    }

    fn same_entry(&self, a: &Path, b: &Path) -> bool {
        same_entry(a, b)
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(meta.permissions().mode() & 0o7777)
}

#[cfg(not(unix))]
fn mode(_path: &Path) -> Option<u32> {
    None
}

/// The bytes of a regular file, `None` where there is nothing.
pub(crate) fn read_regular(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    if find_regular(path)?.is_none() {
        return Ok(None);
    }
    let file = open_regular(path).map_err(ReadError::Io)?;
    // The name may mean something else by now than a moment ago.
    let meta = file.metadata().map_err(ReadError::Io)?;
    check_regular(path, &meta)?;
    read_open(&file).map(Some)
}

/// Whether a regular file is there, and no link to one; `None` where there is nothing.
fn find_regular(path: &Path) -> Result<Option<()>, ReadError> {
    match fs::symlink_metadata(path) {
        Ok(meta) => check_regular(path, &meta).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(ReadError::ParentIsFile),
        Err(error) => Err(ReadError::Io(error)),
    }
}

fn read_open(file: &File) -> Result<Vec<u8>, ReadError> {
    let size = file.metadata().map_err(ReadError::Io)?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(MAX_FILE_BYTES)).unwrap_or(0));
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(ReadError::Io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge {
            bytes: bytes.len() as u64,
        });
    }
    Ok(bytes)
}

fn check_regular(path: &Path, meta: &fs::Metadata) -> Result<(), ReadError> {
    let kind = meta.file_type();
    if kind.is_symlink() {
        let target = fs::read_link(path).map_err(ReadError::Io)?;
        let link = path.to_owned();
        Err(ReadError::Link { link, target })
    } else if kind.is_dir() {
        Err(ReadError::Folder)
    } else if !kind.is_file() {
        Err(ReadError::Special)
    } else if meta.len() > MAX_FILE_BYTES {
        Err(ReadError::TooLarge { bytes: meta.len() })
    } else {
        Ok(())
    }
}

/// The text of a file that may be changed as text: bytes that only look like UTF-8 since they are few are none.
///
/// # Errors
/// It holds a NUL, as binary files do.
pub fn without_nul(text: String) -> Result<FileText, ReadError> {
    match text.bytes().position(|byte| byte == 0) {
        Some(offset) => Err(ReadError::NotUtf8 {
            offset,
            kind: kind(text.as_bytes()),
        }),
        None => Ok(FileText { text }),
    }
}

/// What bytes that are no UTF-8 most likely are.
fn kind(bytes: &[u8]) -> &'static str {
    let start = &bytes[..bytes.len().min(8192)];
    let pairs = start.chunks_exact(2);
    let count = pairs.len().max(1);
    let zeros = |place: usize| pairs.clone().filter(|pair| pair[place] == 0).count();
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => "UTF-32",
        [0xff, 0xfe, ..] => "UTF-16 (little endian)",
        [0xfe, 0xff, ..] => "UTF-16 (big endian)",
        _ if zeros(1) * 2 > count => "UTF-16 (little endian, without a mark)",
        _ if zeros(0) * 2 > count => "UTF-16 (big endian, without a mark)",
        _ if start.contains(&0) => "binary",
        _ if bytes.iter().any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127)) => "binary",
        // Where Latin-1 has control characters the other has quotes and dashes.
        _ if bytes.iter().any(|byte| matches!(byte, 0x80..=0x9f)) => "Windows-1252 or another text of single bytes",
        _ => "Latin-1 or another text of single bytes",
    }
}

/// Opens without waiting (a pipe may have taken the file's place) and without following a link.
fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY);
    }
    options.open(path)
}

/// Follows links in the parent folders as far as those exist; the last component stays as it is.
pub(super) fn real_path(path: &Path) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    real_folder(parent).join(name)
}

/// Follows links in the part of the path that exists; the rest is appended as it is.
pub(super) fn real_folder(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(real) = fs::canonicalize(existing) {
            return rest.iter().rev().fold(real, |real, name| real.join(name));
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
            return path.to_owned();
        };
        rest.push(name);
        existing = parent;
    }
}

/// See [`Files::same_entry`].
pub(super) fn same_entry(a: &Path, b: &Path) -> bool {
    let (a, b) = (real_path(a), real_path(b));
    let (Some(name_a), Some(name_b)) = (a.file_name(), b.file_name()) else {
        return a == b;
    };
    if a == b {
        return true;
    }
    if a.parent() != b.parent() || name_a.to_string_lossy().to_lowercase() != name_b.to_string_lossy().to_lowercase() {
        return false;
    }
    // Two names that differ in case only: one entry if both lead to one file and the folder does not list both.
    let (Ok(meta_a), Ok(meta_b)) = (fs::symlink_metadata(&a), fs::symlink_metadata(&b)) else {
        return false;
    };
    if !same_inode(&meta_a, &meta_b) {
        return false;
    }
    let Some(entries) = a.parent().and_then(|parent| fs::read_dir(parent).ok()) else {
        return false;
    };
    let listed = entries
        .flatten()
        .filter(|entry| entry.file_name() == name_a || entry.file_name() == name_b)
        .count();
    listed < 2
}

#[cfg(unix)]
pub(super) fn same_inode(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
pub(super) fn same_inode(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    a.len() == b.len() && a.modified().ok() == b.modified().ok()
}

/// Joins and takes out `.` and `..` by the letters alone, so that the result is what was named and what is checked.
pub fn absolute(cwd: &Path, path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::workspace::opened::Swaps;

    /// What a patch is planned against is what was judged, also where a folder becomes a link in between.
    #[test]
    fn what_is_swapped_after_the_look_is_not_read() {
        let swaps = Swaps::new("f");
        let path = swaps.link.join("f");
        let read = JudgedFiles(&swaps).read(&path);
        assert!(matches!(read, Err(ReadError::Io(_))), "{read:?}");
        let swaps = Swaps::new("f");
        let whole = JudgedFiles(&swaps).whole(&swaps.link.join("f"));
        assert!(matches!(whole, Err(ReadError::Io(_))), "{whole:?}");
    }
}
