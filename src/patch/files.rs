//! The snapshot that a patch is planned against, and the one that is simply the disk.

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

/// Why a file that is there cannot be read as text.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("it is a folder")]
    Folder,
    #[error("it is neither a file nor a folder but a device, a pipe or a socket")]
    Special,
    #[error("it is a symbolic link to {}; name that file instead", .target.display())]
    Link { target: PathBuf },
    #[error("a part of its path is a file, not a folder")]
    ParentIsFile,
    #[error(
        "it is not UTF-8 text but {kind} (first at byte {offset}), so a patch could damage it; change it with a command"
    )]
    NotUtf8 { offset: usize, kind: &'static str },
    #[error("it has {bytes} bytes, more than the {MAX_FILE_BYTES} that a patch may touch")]
    TooLarge { bytes: u64 },
    #[error("it is outside the folders that may be written (links resolved: {})", .real.display())]
    Outside { real: PathBuf },
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

/// The disk as it is now. Never follows a link in the last place and never opens anything but a regular file.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read(&self, path: &Path) -> Result<Option<FileText>, ReadError> {
        let Some(bytes) = read_regular(path)? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes).map_err(|error| ReadError::NotUtf8 {
            offset: error.utf8_error().valid_up_to(),
            kind: kind(error.as_bytes()),
        })?;
        Ok(Some(FileText { text }))
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
pub(super) fn read_regular(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(ReadError::ParentIsFile),
        Err(error) => return Err(ReadError::Io(error)),
    };
    check_regular(path, &meta)?;
    let mut file = open_regular(path).map_err(ReadError::Io)?;
    // The name may mean something else by now than a moment ago.
    let meta = file.metadata().map_err(ReadError::Io)?;
    check_regular(path, &meta)?;
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    file.by_ref()
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(ReadError::Io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge {
            bytes: bytes.len() as u64,
        });
    }
    Ok(Some(bytes))
}

fn check_regular(path: &Path, meta: &fs::Metadata) -> Result<(), ReadError> {
    let kind = meta.file_type();
    if kind.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        Err(ReadError::Link { target })
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
