//! The way to a file that the client opens by its name. A command that runs may put a link in the place of a folder for a moment, and
//! the client would read, or write, another file than the one that was judged; so the way is looked at before and after.

use super::sessions::apart;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What was changed within this time may be changed again within a tick of the file system's clock, which nobody could see.
const QUIET: Duration = Duration::from_millis(40);
/// Looks at a way on which something changes.
const LOOKS: usize = 10;

/// What stands at each part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    file: Part,
    folders: Vec<Part>,
}

/// Device, number, and the time at which it was last changed or moved; nothing for what is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Part {
    device: u64,
    number: u64,
    changed: Duration,
}

impl Way {
    /// The way to a file, once nothing on it has changed for a moment; none if something goes on changing.
    pub(super) async fn steady(path: &Path) -> Option<Self> {
        for _ in 0..LOOKS {
            let way = Self::now(path).await?;
            if way.is_quiet() {
                return Some(way);
            }
            tokio::time::sleep(QUIET / 2).await;
        }
        None
    }

    pub(super) async fn now(path: &Path) -> Option<Self> {
        let path = path.to_owned();
        apart(move || Self::look(&path)).await.ok()
    }

    fn look(path: &Path) -> Self {
        Self {
            file: Part::at(path),
            folders: path.ancestors().skip(1).map(Part::at).collect(),
        }
    }

    fn is_quiet(&self) -> bool {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let mut parts = self.folders.iter().chain([&self.file]);
        // Another machine's clock may be ahead.
        parts.all(|part| part.changed + QUIET <= now || part.changed > now + QUIET)
    }

    /// Whether the folders are the same, whatever was written into them.
    pub(super) fn has_folders_of(&self, other: &Self) -> bool {
        let names = |way: &Self| {
            way.folders
                .iter()
                .map(|part| (part.device, part.number))
                .collect::<Vec<_>>()
        };
        names(self) == names(other)
    }
}

impl Part {
    #[cfg(unix)]
    fn at(place: &Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(found) = std::fs::symlink_metadata(place) else {
            return Self::default();
        };
        // Everybody makes entries in folders for temporary files; nobody moves those.
        let is_shared = found.is_dir() && found.mode() & 0o1000 != 0;
        let time = if is_shared {
            (0, 0)
        } else {
            (found.ctime(), found.ctime_nsec())
        };
        let seconds = u64::try_from(time.0).unwrap_or_default();
        let nanoseconds = u32::try_from(time.1).unwrap_or_default();
        Self {
            device: found.dev(),
            number: found.ino(),
            changed: Duration::new(seconds, nanoseconds),
        }
    }

    #[cfg(not(unix))]
    fn at(_place: &Path) -> Self {
        Self::default()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[tokio::test]
    async fn a_way_that_is_exchanged_is_another_also_when_it_is_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        fs::create_dir_all(root.join("d")).expect("mkdir");
        fs::create_dir_all(root.join("else")).expect("mkdir");
        fs::write(root.join("d/x"), "own").expect("write");
        fs::write(root.join("else/x"), "another's").expect("write");
        let look = || Way::look(&root.join("d/x"));
        assert!(!look().is_quiet());
        let before = Way::steady(&root.join("d/x")).await.expect("steady");
        assert_eq!(before, look());
        fs::rename(root.join("d"), root.join("away")).expect("moved");
        symlink(root.join("else"), root.join("d")).expect("a link");
        assert!(!look().has_folders_of(&before));
        fs::remove_file(root.join("d")).expect("removed");
        fs::rename(root.join("away"), root.join("d")).expect("moved");
        assert_ne!(look(), before);
        assert!(look().has_folders_of(&before));
        // What is written into the folder leads nowhere else.
        fs::write(root.join("d/y"), "more").expect("write");
        assert!(look().has_folders_of(&before));
    }
}
