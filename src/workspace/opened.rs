//! Opening first and judging then: what a path leads to can be another thing a moment later, what is open cannot.

use super::disk::{self, ReadError};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// How often a file is opened that is replaced each time before it is known where it is.
const TRIES: usize = 8;

/// Says what may be read for somebody who may not read all.
pub trait Judge: Send + Sync {
    /// Whether what a path leads to now may be read.
    ///
    /// # Errors
    /// Why not, in words for who reads.
    fn path(&self, path: &Path) -> Result<(), String>;

    /// The same for what is open, which was opened as `name`. This is the word that counts.
    ///
    /// # Errors
    /// Why not, in words for who reads.
    fn opened(&self, name: &Path, opened: &Opened) -> Result<(), String>;
}

/// Lets all be read.
#[cfg(test)]
pub(crate) struct All;

#[cfg(test)]
impl Judge for All {
    fn path(&self, _path: &Path) -> Result<(), String> {
        Ok(())
    }

    fn opened(&self, _name: &Path, _opened: &Opened) -> Result<(), String> {
        Ok(())
    }
}

/// Exchanges a link once the path through it was looked at, as a command can that runs beside; what it leads to then is
/// closed.
#[cfg(all(test, unix))]
pub(crate) struct Swaps {
    _folder: tempfile::TempDir,
    /// To the folder `open` at first, to the folder `closed` after a look.
    pub(crate) link: PathBuf,
    closed: PathBuf,
}

#[cfg(all(test, unix))]
impl Swaps {
    /// Both folders have a file of this name, that of the closed one with the text "secret".
    pub(crate) fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for (folder, text) in [("open", "plain"), ("closed", "secret")] {
            fs::create_dir(base.join(folder)).unwrap();
            fs::write(base.join(folder).join(name), text).unwrap();
        }
        let link = base.join("link");
        std::os::unix::fs::symlink("open", &link).unwrap();
        Self {
            _folder: folder,
            link,
            closed: base.join("closed"),
        }
    }
}

#[cfg(all(test, unix))]
impl Judge for Swaps {
    fn path(&self, _path: &Path) -> Result<(), String> {
        fs::remove_file(&self.link).unwrap();
        std::os::unix::fs::symlink("closed", &self.link).unwrap();
        Ok(())
    }

    fn opened(&self, _name: &Path, opened: &Opened) -> Result<(), String> {
        match opened.place().starts_with(&self.closed) {
            true => Err("it is closed".to_owned()),
            false => Ok(()),
        }
    }
}

/// A file or folder that is open for reading, with the place where it is.
#[derive(Debug)]
pub struct Opened {
    file: File,
    found: Metadata,
    place: PathBuf,
}

impl Opened {
    /// Opens a file or a folder. Links are followed; a device, a pipe or a socket is an error.
    ///
    /// # Errors
    /// Nothing of the kind is there, or nobody can say where it is.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let failed = |error| ReadError::from_io(path, error);
        for _ in 0..TRIES {
            // Before it is opened, which could have an effect; and after that, since it may be another by then.
            disk::check_readable(path, &fs::metadata(path).map_err(failed)?)?;
            let file = disk::open(path).map_err(failed)?;
            let found = file.metadata().map_err(failed)?;
            disk::check_readable(path, &found)?;
            if let Some(place) = place_of(&file, &found, path).map_err(failed)? {
                return Ok(Self { file, found, place });
            }
        }
        Err(failed(io::Error::other("it is replaced again and again")))
    }

    /// As [`Opened::open`], and only if it may be read.
    ///
    /// # Errors
    /// As there, or it may not be read.
    pub fn judged(path: &Path, judge: &dyn Judge) -> Result<Self, ReadError> {
        judge.path(path).map_err(ReadError::Refused)?;
        Self::after_look(path, judge)
    }

    /// As [`Opened::judged`], where the path was looked at already.
    ///
    /// # Errors
    /// As there.
    pub fn after_look(path: &Path, judge: &dyn Judge) -> Result<Self, ReadError> {
        let opened = Self::open(path)?;
        judge.opened(path, &opened).map_err(ReadError::Refused)?;
        Ok(opened)
    }

    /// Where it is, without any link.
    pub fn place(&self) -> &Path {
        &self.place
    }

    pub fn metadata(&self) -> &Metadata {
        &self.found
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// The bytes of a regular file. `path` is its name in errors.
    ///
    /// # Errors
    /// It is a folder, it is too large, or it cannot be read.
    pub fn bytes(self, path: &Path) -> Result<Vec<u8>, ReadError> {
        disk::check_regular(path, &self.found)?;
        disk::read_open(path, self.file, &self.found)
    }

    /// The text of a regular file. A byte-order mark stays part of it.
    ///
    /// # Errors
    /// As [`Opened::bytes`], or it is no text.
    pub fn text(self, path: &Path) -> Result<String, ReadError> {
        disk::text_of(path, self.bytes(path)?)
    }

    /// Whether a folder that is open has an entry of this name.
    #[cfg(unix)]
    pub fn has(&self, name: &OsStr) -> bool {
        rustix::fs::statat(&self.file, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether a folder that is open has an entry of this name.
    #[cfg(not(unix))]
    pub fn has(&self, name: &OsStr) -> bool {
        fs::symlink_metadata(self.place.join(name)).is_ok()
    }
}

/// Where an open file is; nothing if it has no name any more.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn place_of(file: &File, found: &Metadata, path: &Path) -> io::Result<Option<PathBuf>> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::ffi::OsStrExt as _;
    let place = match fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
        Ok(place) => place,
        // Nothing is mounted there.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return led_to(found, path),
        Err(error) => return Err(error),
    };
    // The kernel says it so of what was removed; a file can be called so too.
    let is_gone = place.as_os_str().as_bytes().ends_with(b" (deleted)") && !is_at(found, &place);
    Ok(Some(place).filter(|place| place.is_absolute() && !is_gone))
}

#[cfg(target_vendor = "apple")]
fn place_of(file: &File, found: &Metadata, _path: &Path) -> io::Result<Option<PathBuf>> {
    use std::os::unix::ffi::OsStringExt as _;
    let place = rustix::fs::getpath(file)?.into_bytes();
    let place = PathBuf::from(std::ffi::OsString::from_vec(place));
    Ok(Some(place).filter(|place| place.is_absolute() && is_at(found, place)))
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn place_of(_file: &File, found: &Metadata, path: &Path) -> io::Result<Option<PathBuf>> {
    led_to(found, path)
}

/// Nobody tells where an open file is, so it is looked for where its path leads.
#[cfg(not(target_vendor = "apple"))]
fn led_to(found: &Metadata, path: &Path) -> io::Result<Option<PathBuf>> {
    let place = fs::canonicalize(path)?;
    Ok(Some(place).filter(|place| is_at(found, place)))
}

/// Whether a place, which has no link in it, is that of this file.
#[cfg(unix)]
fn is_at(found: &Metadata, place: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::symlink_metadata(place).is_ok_and(|there| (there.dev(), there.ino()) == (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn is_at(found: &Metadata, place: &Path) -> bool {
    let same = |there: Metadata| there.len() == found.len() && there.modified().ok() == found.modified().ok();
    fs::symlink_metadata(place).is_ok_and(same)
}

/// Opens what lies at an absolute path for reading, following no link, also not where a folder on the way should be. Never
/// waits for a pipe.
///
/// # Errors
/// There is nothing, or a link is on the way.
pub fn open_unlinked(path: &Path) -> io::Result<File> {
    unlinked::open(path)
}

/// The target of the link at an absolute path, following no link on the way there.
///
/// # Errors
/// There is no link, or one is on the way.
pub fn read_link_unlinked(path: &Path) -> io::Result<PathBuf> {
    unlinked::read_link(path)
}

/// Whether an error of these two says that what was looked for is not there: nothing is, or a link took its place.
pub fn is_gone(error: &io::Error) -> bool {
    #[cfg(unix)]
    let is_link = error.raw_os_error() == Some(libc::ELOOP);
    #[cfg(not(unix))]
    let is_link = false;
    is_link || matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(unix)]
mod unlinked {
    use rustix::fs::{Mode, OFlags};
    use std::ffi::OsString;
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::{Path, PathBuf};

    const READS: OFlags = OFlags::RDONLY
        .union(OFlags::NONBLOCK)
        .union(OFlags::NOCTTY)
        .union(OFlags::NOFOLLOW)
        .union(OFlags::CLOEXEC);

    /// For a folder that only has to be gone through.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const THROUGH: OFlags = OFlags::PATH
        .union(OFlags::DIRECTORY)
        .union(OFlags::NOFOLLOW)
        .union(OFlags::CLOEXEC);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const THROUGH: OFlags = OFlags::RDONLY
        .union(OFlags::DIRECTORY)
        .union(OFlags::NOFOLLOW)
        .union(OFlags::CLOEXEC);

    pub(super) fn open(path: &Path) -> io::Result<File> {
        at(path, READS).map(File::from)
    }

    pub(super) fn read_link(path: &Path) -> io::Result<PathBuf> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let target = rustix::fs::readlinkat(at(folder, THROUGH)?, name, Vec::<u8>::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn at(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        use rustix::fs::{CWD, ResolveFlags, openat2};
        use rustix::io::Errno;
        if !path.is_absolute() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Kernels before 5.6, and sandboxes around us that do not know the call.
            Err(Errno::NOSYS | Errno::PERM) => by_parts(path, flags),
            opened => Ok(opened?),
        }
    }

    #[cfg(target_vendor = "apple")]
    fn at(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        if !path.is_absolute() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // It says all that `NOFOLLOW` says, and the two do not go together.
        let no_links = OFlags::from_bits_retain(libc::O_NOFOLLOW_ANY.cast_unsigned());
        let flags = flags.difference(OFlags::NOFOLLOW).union(no_links);
        match rustix::fs::open(path, flags, Mode::empty()) {
            // Systems that do not know the flag.
            Err(rustix::io::Errno::INVAL) => by_parts(path, flags.difference(no_links).union(OFlags::NOFOLLOW)),
            opened => Ok(opened?),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    fn at(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        by_parts(path, flags)
    }

    /// Part by part, each in the folder that is open by then.
    pub(super) fn by_parts(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        use std::path::Component;
        let mut parts = path.components();
        if parts.next() != Some(Component::RootDir) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut folder = rustix::fs::open("/", THROUGH, Mode::empty())?;
        let mut parts = parts.peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let wanted = if parts.peek().is_some() { THROUGH } else { flags };
            folder = rustix::fs::openat(&folder, name, wanted, Mode::empty())?;
        }
        Ok(folder)
    }

    #[cfg(test)]
    pub(super) fn open_by_parts(path: &Path) -> io::Result<File> {
        by_parts(path, READS).map(File::from)
    }
}

#[cfg(not(unix))]
mod unlinked {
    use std::fs::{self, File};
    use std::io;
    use std::path::{Path, PathBuf};

    /// There is no call for it: the folder around is looked at before and after.
    fn around(path: &Path) -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let inside = folder.ancestors().filter(|folder| folder.parent().is_some());
        for folder in inside {
            if fs::symlink_metadata(folder)?.is_symlink() {
                return Err(io::ErrorKind::NotFound.into());
            }
        }
        Ok(())
    }

    pub(super) fn open(path: &Path) -> io::Result<File> {
        around(path)?;
        if fs::symlink_metadata(path)?.is_symlink() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = File::open(path)?;
        around(path)?;
        Ok(file)
    }

    pub(super) fn read_link(path: &Path) -> io::Result<PathBuf> {
        around(path)?;
        let target = fs::read_link(path)?;
        around(path)?;
        Ok(target)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    type Open = fn(&Path) -> io::Result<File>;

    struct Ground {
        _folder: tempfile::TempDir,
        base: PathBuf,
    }

    /// `work/f` holds "plain", `closed/f` holds "secret", and links lead there.
    fn ground() -> Ground {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for (name, text) in [("work", "plain"), ("closed", "secret")] {
            fs::create_dir(base.join(name)).unwrap();
            fs::write(base.join(name).join("f"), text).unwrap();
        }
        symlink("../closed", base.join("work/folder")).unwrap();
        symlink("../closed/f", base.join("work/file")).unwrap();
        symlink("f", base.join("work/own")).unwrap();
        Ground { _folder: folder, base }
    }

    #[test]
    fn what_is_open_says_where_it_is() {
        let Ground { base, _folder } = ground();
        fs::write(base.join("work/x (deleted)"), "named so").unwrap();
        for (name, place) in [
            ("work/f", "work/f"),
            ("work/own", "work/f"),
            ("work/file", "closed/f"),
            ("work/folder/f", "closed/f"),
            ("work/folder", "closed"),
            ("work/x (deleted)", "work/x (deleted)"),
        ] {
            let opened = Opened::open(&base.join(name)).unwrap();
            assert_eq!(opened.place(), base.join(place), "{name}");
        }
        let opened = Opened::open(&base.join("work/folder")).unwrap();
        assert!(opened.has(OsStr::new("f")) && !opened.has(OsStr::new("own")));
        assert!(matches!(
            opened.text(&base.join("work/folder")),
            Err(ReadError::IsDirectory { .. })
        ));
    }

    /// What was opened is read, wherever its path leads by then.
    #[test]
    fn what_is_open_stays_what_it_is() {
        let Ground { base, _folder } = ground();
        let path = base.join("work/f");
        let opened = Opened::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        symlink("../closed/f", &path).unwrap();
        assert_eq!(opened.text(&path).unwrap(), "plain");
        assert_eq!(Opened::open(&path).unwrap().place(), base.join("closed/f"));
    }

    #[test]
    fn no_link_on_the_way_is_followed_by_table() {
        let Ground { base, _folder } = ground();
        let ways: [(&str, Open); 2] = [("at once", open_unlinked), ("by parts", unlinked::open_by_parts)];
        for (way, open) in ways {
            for (name, expected) in [
                ("work/f", Some("plain")),
                ("closed/f", Some("secret")),
                ("work/own", None),
                ("work/file", None),
                ("work/folder/f", None),
                ("work/none", None),
                ("work/f/x", None),
            ] {
                let read = open(&base.join(name)).and_then(|mut file| {
                    let mut text = String::new();
                    file.read_to_string(&mut text).map(|_| text)
                });
                assert_eq!(read.as_deref().ok(), expected, "{way}: {name}");
                assert!(read.err().is_none_or(|error| is_gone(&error)), "{way}: {name}");
            }
        }
        assert_eq!(read_link_unlinked(&base.join("work/own")).unwrap(), Path::new("f"));
        symlink("x", base.join("closed/link")).unwrap();
        let through = read_link_unlinked(&base.join("work/folder/link"));
        assert!(through.is_err_and(|error| is_gone(&error)));
    }
}
