//! Rules as they stand now: read anew as soon as a file has changed.

use super::{Rules, load};
use crate::exec::program;
use crate::protocol::permission::Permission;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Sets of folders whose rules are kept in memory.
const KEPT: usize = 64;

/// The folders that rules come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sources {
    /// The person's own.
    pub person: PathBuf,
    /// Those of the project, outermost first; they can only tighten.
    pub project: Vec<PathBuf>,
}

impl Sources {
    /// The rules of a home folder, and of a project's own folders.
    pub fn new(home: &Path, project: &[PathBuf]) -> Self {
        Self {
            person: home.join("rules"),
            project: project.to_vec(),
        }
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.person.as_path()).chain(self.project.iter().map(PathBuf::as_path))
    }
}

/// The rules of all threads of a server; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    kept: Arc<Mutex<HashMap<Sources, Kept>>>,
}

#[derive(Debug)]
struct Kept {
    files: Vec<Seen>,
    rules: Arc<Rules>,
}

/// A file as it was seen: with the same marks it holds the same text.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    path: PathBuf,
    length: u64,
    modified: Option<SystemTime>,
    /// Where there are such numbers, since a file can be replaced within one tick of the clock.
    inode: (u64, i64, i64),
}

impl Cache {
    /// What the files say now. Looks at the folders; reads the files only if something there is another than before.
    pub fn rules(&self, sources: &Sources) -> Arc<Rules> {
        let files = look(sources);
        {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = kept.get(sources).filter(|known| known.files == files) {
                return known.rules.clone();
            }
        }
        // A file that changes between the look and the reading is found changed by the next look.
        let rules = Arc::new(load(sources));
        // What some command may write from now on, whoever asks first.
        for standing in rules.permissions() {
            if let Permission::Write { path } = &standing.permission {
                program::guard(path);
            }
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        let fresh = Kept {
            files,
            rules: rules.clone(),
        };
        kept.insert(sources.clone(), fresh);
        rules
    }
}

fn look(sources: &Sources) -> Vec<Seen> {
    let files = sources.folders().flat_map(|folder| {
        let (files, _unreadable) = super::read::files(folder);
        // A folder that appears, vanishes or cannot be read is a change too.
        std::iter::once(folder.to_owned()).chain(files)
    });
    files.map(seen).collect()
}

fn seen(path: PathBuf) -> Seen {
    let meta = std::fs::metadata(&path).ok();
    Seen {
        length: meta.as_ref().map_or(0, std::fs::Metadata::len),
        modified: meta.as_ref().and_then(|meta| meta.modified().ok()),
        inode: meta.as_ref().map_or((0, 0, 0), inode),
        path,
    }
}

#[cfg(unix)]
fn inode(meta: &std::fs::Metadata) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (meta.ino(), meta.ctime(), meta.ctime_nsec())
}

#[cfg(not(unix))]
fn inode(_meta: &std::fs::Metadata) -> (u64, i64, i64) {
    (0, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::decide::{Folders, Scene};

    #[test]
    fn a_change_counts_at_once_and_without_one_nothing_is_read() {
        let home = tempfile::tempdir().expect("a folder");
        let sources = Sources::new(home.path(), &[]);
        let cache = Cache::default();
        assert_eq!(cache.rules(&sources).iter().count(), 0);
        let folder = home.path().join("rules");
        std::fs::create_dir(&folder).expect("a folder");
        let write = |name: &str, program: &str| {
            let text = format!("[[rule]]\nprefix = [\"{program}\"]\ndecision = \"allow\"\n");
            std::fs::write(folder.join(name), text).expect("written");
        };
        write("a.toml", "aaa");
        let first = cache.rules(&sources);
        assert_eq!(first.iter().count(), 1);
        assert!(Arc::ptr_eq(&first, &cache.rules(&sources)));
        // As long as before, and within the same tick.
        write("a.toml", "bbb");
        let allows = |program: &str| {
            cache
                .rules(&sources)
                .allowing(&[program.to_owned()], &Folders::of(Scene::at(Path::new("/"))))
                .is_some()
        };
        assert!(allows("bbb") && !allows("aaa"));
        write("b.toml", "ccc");
        assert!(allows("ccc"));
        std::fs::remove_file(folder.join("b.toml")).expect("removed");
        assert!(!allows("ccc") && allows("bbb"));
    }
}
