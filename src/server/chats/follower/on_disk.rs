//! What is on the disk at the place of a document, and what tells one state of it from all others.

use crate::exec;
use crate::store::documents;
use crate::workspace::disk::{self, ReadError};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A larger file is looked at by nobody, and trusted by nobody.
pub(super) const MOST_BYTES: u64 = 8 << 20;
/// The clock of files moves in steps, and a file that is being written has no time of its own yet: one that changed so short a time
/// ago may change once more without showing it.
const UNSETTLED: Duration = Duration::from_millis(20);
/// How far the clocks of the system and of a file system may be apart.
const APART: Duration = Duration::from_millis(50);
/// Looks at a file that changes all the time.
const MOST_LOOKS: usize = 10;

/// A file, or a link, as it is until somebody changes it: what was put back is not what was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    /// When its text was written, since 1970, and when anything of it was changed. Programs can set the first.
    written: Duration,
    changed: Duration,
}

impl Stamp {
    #[cfg(unix)]
    fn of(found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let since = |seconds: i64, nanoseconds: i64| {
            let nanoseconds = u32::try_from(nanoseconds).unwrap_or_default();
            Duration::new(u64::try_from(seconds).unwrap_or_default(), nanoseconds)
        };
        Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            written: since(found.mtime(), found.mtime_nsec()),
            changed: since(found.ctime(), found.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    fn of(found: &Metadata) -> Self {
        let written = found.modified().ok();
        let written = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let written = written.unwrap_or_default();
        Self {
            device: 0,
            inode: 0,
            size: found.len(),
            written,
            changed: written,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    Absent,
    There(Stamp),
    /// Something is there that nobody may look at.
    Closed,
}

/// Where a path leads, and which state of a file is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The links that lead there: each of them can be made to lead elsewhere, and back.
    links: Vec<(PathBuf, Option<Stamp>)>,
    /// The path without them.
    pub(super) real: PathBuf,
    file: File,
}

impl Place {
    pub(super) fn of(path: &Path) -> Self {
        let (links, real) = way(path);
        let links = links.into_iter().map(|link| {
            let stamp = fs::symlink_metadata(&link).ok();
            (link, stamp.as_ref().map(Stamp::of))
        });
        let links = links.collect();
        let file = match fs::metadata(path) {
            Ok(found) => File::There(Stamp::of(&found)),
            Err(error) if is_absent(&error) => File::Absent,
            Err(_) => File::Closed,
        };
        Self { links, real, file }
    }

    /// Whether the same way leads to the same path, whatever the file there is.
    pub(super) fn leads_as(&self, other: &Self) -> bool {
        self.links == other.links && self.real == other.real
    }

    /// Whether it is the same file, with the text that was written then: editors give it its rights afterwards.
    pub(super) fn was_written_as(&self, other: &Self) -> bool {
        match (self.file, other.file) {
            (File::There(one), File::There(two)) => {
                let changed = Duration::ZERO;
                self.leads_as(other) && Stamp { changed, ..one } == Stamp { changed, ..two }
            }
            _ => false,
        }
    }

    /// Whether the file was changed at the most so long before a moment.
    pub(super) fn changed_before(&self, moment: SystemTime, at_most: Duration) -> bool {
        let moment = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        matches!(self.file, File::There(stamp) if moment <= stamp.changed + at_most)
    }

    /// Whether the file was changed at the most so long before a moment, and not after it: on a file system whose clock is ahead,
    /// every change seems to have been made just now.
    pub(super) fn changed_just_before(&self, moment: SystemTime, at_most: Duration) -> bool {
        let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_over = |stamp: Stamp| stamp.changed <= since + APART;
        self.changed_before(moment, at_most) && matches!(self.file, File::There(stamp) if is_over(stamp))
    }

    /// Whether this is a file, there or not, right in a folder of the person's, and no link leads there but those that lead to the folder
    /// around that one: none that somebody else could have made, now or a moment ago.
    pub(super) fn lies_in(&self, around: &Path, folder: &str) -> bool {
        let (known, around) = way(around);
        self.real.parent() == Some(around.join(folder).as_path())
            && self.links.iter().all(|(link, _)| known.contains(link))
    }

    /// The digest of the links that lead there; empty where none does.
    pub(super) fn links(&self) -> String {
        let link = |(path, stamp): &(PathBuf, Option<Stamp>)| {
            let stamp = stamp.map(|stamp| (stamp.inode, stamp.size, stamp.written, stamp.changed));
            format!("{path:?} {stamp:?}\n")
        };
        match self.links.is_empty() {
            true => String::new(),
            false => documents::digest(&self.links.iter().map(link).collect::<String>()),
        }
    }

    /// Whether nothing is there, as between two steps of an editor that writes a file.
    fn is_empty(&self) -> bool {
        match self.file {
            File::Absent => true,
            File::There(stamp) => stamp.size == 0,
            File::Closed => false,
        }
    }
}

/// The links that lead to a path, and the path without them, from one look at each part of it: a folder that becomes a link
/// meanwhile leads nowhere else.
fn way(path: &Path) -> (Vec<PathBuf>, PathBuf) {
    let (links, end) = exec::way(path);
    match cfg!(unix) {
        true => (links, end.unwrap_or_else(|| path.to_owned())),
        false => (links, disk::canonical(path)),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) enum Content {
    Absent,
    Text {
        text: String,
        /// Every editor reads these bytes as this text, unless it is made to take them for something else.
        is_plain: bool,
    },
    /// It is too large, changes all the time, or cannot be read.
    Unknown,
}

/// What was found at a place.
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) content: Content,
}

impl Found {
    /// Looks until the file has stayed as it is for long enough to be known again by its place; a file that the editor may be about
    /// to write is given some time to be more than empty.
    pub(super) fn at(path: &Path, is_being_written: bool) -> Self {
        let mut before = Place::of(path);
        for look in 1..=MOST_LOOKS {
            thread::sleep(UNSETTLED);
            let content = content(path);
            let place = Place::of(path);
            if place == before && (look > 4 || !is_being_written || !place.is_empty()) {
                return Self { place, content };
            }
            before = place;
        }
        Self {
            place: before,
            content: Content::Unknown,
        }
    }
}

/// Whether the file holds this text now, or another one with its digest. It may hold something else a moment later.
pub(super) fn holds(path: &Path, text: &str) -> bool {
    matches!(content(path), Content::Text { text: held, .. } if documents::digest(&held) == documents::digest(text))
}

fn content(path: &Path) -> Content {
    if fs::metadata(path).is_ok_and(|found| found.len() > MOST_BYTES) {
        return Content::Unknown;
    }
    let bytes = match disk::read_bytes(path) {
        Ok(bytes) if bytes.len() as u64 <= MOST_BYTES => bytes,
        Err(ReadError::NotFound { .. }) => return Content::Absent,
        Ok(_) | Err(_) => return Content::Unknown,
    };
    match disk::decode(&bytes) {
        Some(text) => Content::Text {
            is_plain: !text.contains('\0') && std::str::from_utf8(&bytes).is_ok(),
            text,
        },
        None => Content::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_back_is_another_state() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        fs::write(&path, "one").expect("written");
        let first = Found::at(&path, false).place;
        assert_eq!(Place::of(&path), first);
        // As soon as the first one is known: no later change has its time.
        fs::write(&path, "two").expect("written");
        fs::write(&path, "one").expect("written");
        assert_ne!(Place::of(&path), first);
        fs::remove_file(&path).expect("removed");
        let found = Found::at(&path, false);
        assert!(matches!(found.content, Content::Absent));
        assert_ne!(found.place, first);
    }

    #[cfg(unix)]
    #[test]
    fn an_editor_may_give_a_file_its_rights_last() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        fs::write(&path, "one").expect("written");
        assert!(holds(&path, "one \r\n") && !holds(&path, "two"));
        let first = Found::at(&path, false).place;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("private");
        let private = Found::at(&path, false).place;
        assert!(private != first && private.was_written_as(&first));
        fs::write(&path, "one").expect("written");
        assert!(!Place::of(&path).was_written_as(&private));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_led_elsewhere_meanwhile_is_another_way() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for real in ["one", "two"] {
            fs::create_dir(at(real)).expect("a folder");
            fs::write(at(real).join("a"), "").expect("written");
        }
        let link = |target: &str| {
            let _may_be_missing = fs::remove_file(at("way"));
            symlink(at(target), at("way")).expect("a link");
        };
        link("one");
        let path = at("way").join("a");
        let first = Found::at(&path, false).place;
        assert_eq!(Place::of(&path), first);
        link("two");
        assert!(!Place::of(&path).leads_as(&first));
        link("one");
        let last = Place::of(&path);
        assert_eq!(last.real, first.real);
        assert!(!last.leads_as(&first), "{last:?}");
    }

    #[test]
    fn bytes_are_text_only_where_every_editor_reads_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        for (bytes, expected, plain) in [
            (&b"caf\xc3\xa9"[..], "caf\u{e9}", true),
            (b"caf\xe9", "caf\u{e9}", false),
            (b"\xff\xfeh\0i\0", "hi", false),
            (b"hi\0", "hi\0", false),
        ] {
            fs::write(&path, bytes).expect("written");
            match Found::at(&path, false).content {
                Content::Text { text, is_plain } => assert_eq!((text.as_str(), is_plain), (expected, plain)),
                _ => panic!("{bytes:?}"),
            }
        }
        fs::write(&path, b"\xff\xfeh").expect("written");
        assert!(matches!(Found::at(&path, false).content, Content::Unknown));
        fs::File::create(&path)
            .and_then(|file| file.set_len(MOST_BYTES + 1))
            .expect("written");
        assert!(matches!(Found::at(&path, false).content, Content::Unknown));
        assert!(matches!(Found::at(folder.path(), false).content, Content::Unknown));
    }
}
