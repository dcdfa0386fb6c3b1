//! What the steps ask of the file system, each a call or two.

use super::MAX_PLACED_BYTES;
use super::attributes::make_alike;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Tells whether a file is still the one that was looked at, without reading it. Links and renames leave it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    length: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    inode: u64,
}

impl Stamp {
    #[cfg(unix)]
    pub(super) fn of(meta: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            inode: meta.ino(),
        }
    }

    #[cfg(not(unix))]
    pub(super) fn of(meta: &Metadata) -> Self {
        let since = meta
            .modified()
            .ok()
            .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let since = since.unwrap_or_default();
        Self {
            length: meta.len(),
            modified: (since.as_secs() as i64, i64::from(since.subsec_nanos())),
            inode: 0,
        }
    }

    /// The same file, and nobody has written to it.
    pub(super) fn shows(self, meta: &Metadata) -> bool {
        Self::of(meta) == self
    }

    /// The same file, whatever it holds by now.
    pub(super) fn is_file_of(self, meta: &Metadata) -> bool {
        Self::of(meta).inode == self.inode
    }

    pub(super) fn length(self) -> u64 {
        self.length
    }
}

/// Keeps the file under a second name, or a copy where links cannot be made. Tells whether it is a link.
pub(super) fn keep(file: &Path, backup: &Path) -> io::Result<bool> {
    match fs::hard_link(file, backup) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => copy_new(file, backup).map(|()| false),
    }
}

/// Copies content and attributes, or a link, to a name that is free.
pub(super) fn copy_new(file: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(file)?;
    if meta.is_symlink() {
        return make_link(&fs::read_link(file)?, to);
    }
    allow_size(meta.len())?;
    let mut source = open_regular(file)?;
    let mut target = create(to, Some(0o600))?;
    let copied = io::copy(&mut source, &mut target)
        .and_then(|_| make_alike(&target, &target.metadata()?, file, &meta))
        .and_then(|_| set_mode(&target, mode_of(&meta)));
    // Half a copy helps nobody.
    copied.inspect_err(|_| drop(fs::remove_file(to)))
}

/// Makes a file where nothing is.
pub(super) fn create(name: &Path, mode: Option<u32>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(mode) = mode {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(mode);
    }
    #[cfg(not(unix))]
    let _ = mode;
    options.open(name)
}

/// Makes a symbolic link where nothing is.
#[cfg(unix)]
pub(super) fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
pub(super) fn make_link(_target: &Path, _link: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Opens what a placed file shall hold. Its errors name it: it is not the file that they are about.
pub(super) fn open_source(from: &Path) -> io::Result<File> {
    let named = |message: String| io::Error::other(format!("{}: {message}", from.display()));
    let file = open_regular(from).map_err(|error| named(error.to_string()))?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(named("it is no regular file".to_owned()));
    }
    if meta.len() > MAX_PLACED_BYTES {
        let length = meta.len();
        return Err(named(format!(
            "it has {length} bytes, more than the {MAX_PLACED_BYTES} that may be placed"
        )));
    }
    Ok(file)
}

/// Opens without waiting (a pipe may have taken the file's place) and without following a link.
pub(super) fn open_regular(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    no_follow(&mut options);
    options.open(file)
}

pub(super) fn open_in_place(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    no_follow(&mut options);
    options.open(file)
}

#[cfg(unix)]
fn no_follow(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
}

#[cfg(not(unix))]
fn no_follow(_options: &mut OpenOptions) {}

/// Writes the bytes of one file into another that is there, from its beginning, and cuts off what is left. What is
/// there changes in one order: a reader sees the new bytes, then the old ones.
pub(super) fn copy_over(from: &Path, to: &Path) -> io::Result<()> {
    let (mut source, mut target) = (open_regular(from)?, open_in_place(to)?);
    let length = io::copy(&mut source, &mut target)?;
    target.flush()?;
    target.set_len(length)
}

/// Renames to a name that is free, and fails if it is not.
pub(super) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            // Not every file system can do this.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

#[cfg(unix)]
pub(super) fn mode_of(meta: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    meta.permissions().mode() & 0o7777
}

#[cfg(not(unix))]
pub(super) fn mode_of(_meta: &Metadata) -> u32 {
    0o644
}

#[cfg(unix)]
pub(super) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(Permissions::from_mode(mode & 0o7777))
}

#[cfg(not(unix))]
pub(super) fn set_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Sets the permission bits of a regular file, unless it has them.
pub(super) fn set_mode_at(path: &Path, mode: u32) -> io::Result<()> {
    if mode_of(&fs::symlink_metadata(path)?) == mode {
        return Ok(());
    }
    set_mode(&open_in_place(path)?, mode)
}

#[cfg(unix)]
pub(super) fn links(meta: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    meta.nlink()
}

#[cfg(not(unix))]
pub(super) fn links(_meta: &Metadata) -> u64 {
    1
}

/// Says no to a file that is larger than this process may write: the kernel would end it.
pub(super) fn allow_size(length: u64) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Fsize).current
        && length > limit
    {
        let message =
            format!("{length} bytes are more than a file of this process may have ({limit}; see `ulimit -f`)");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    let _ = length;
    Ok(())
}

/// What is special about a path that could not be changed, in words.
pub(super) fn oddity(path: &Path) -> Option<&'static str> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS).ok()?;
        let is = |attribute| found.stx_attributes.contains(attribute);
        if is(StatxAttributes::IMMUTABLE) {
            return Some("it is marked as immutable; `chattr -i` takes the mark away");
        }
        if is(StatxAttributes::APPEND) {
            return Some("it is marked so that it can only be appended to; `chattr -a` takes the mark away");
        }
        if is(StatxAttributes::MOUNT_ROOT) && !path.is_dir() {
            return Some("another file is mounted on it, so it cannot be replaced");
        }
    }
    let _ = path;
    None
}

/// Where a link leads.
pub(super) fn link_target(link: &Path) -> io::Result<PathBuf> {
    fs::read_link(link)
}

/// One folder at a time is held against other processes of ours, while a file in it is compared and replaced. Two that
/// change the same file at once would not see each other otherwise.
#[derive(Debug, Default)]
pub(super) struct FolderLock {
    held: Option<(PathBuf, Option<File>)>,
}

impl FolderLock {
    /// Holds the folder of this path, and no other any more. Where it cannot be held, all goes on without.
    pub(super) fn hold(&mut self, path: &Path) {
        let Some(folder) = path.parent() else { return };
        if self.held.as_ref().is_some_and(|(held, _)| held == folder) {
            return;
        }
        // Never two at once: nobody can wait for the other in a circle.
        self.held = None;
        self.held = Some((folder.to_owned(), lock_folder(folder)));
    }
}

fn lock_folder(folder: &Path) -> Option<File> {
    /// Others hold it for a moment. One who does not let go is none of ours.
    const PATIENCE: Duration = Duration::from_secs(1);
    let file = open_regular(folder).ok()?;
    let start = Instant::now();
    while let Err(TryLockError::WouldBlock) = file.try_lock() {
        if start.elapsed() > PATIENCE {
            return None;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Some(file)
}
