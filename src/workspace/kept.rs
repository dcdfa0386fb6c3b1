//! What the person keeps from the model: paths that a `.countersignignore` names, in any folder above them.
//!
//! `.gitignore` only leaves files out of listings and searches; a path that is named can be read all the same. A
//! `.countersignignore` says no to reading too. Its patterns are those of `.gitignore`, negations and nested files among
//! them, and no repository is needed.

use super::disk;
use super::walk::IGNORE_FILE;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Answers for many paths while the files are as they were at the first look: for one call, not for a session.
#[derive(Debug, Default)]
pub struct Kept(Mutex<Looked>);

#[derive(Debug, Default)]
struct Looked {
    /// By folder: what its own file says, where it has one.
    files: HashMap<PathBuf, Option<Arc<Gitignore>>>,
    /// By folder: which file keeps it, and all below it, from the model.
    folders: HashMap<PathBuf, Option<PathBuf>>,
    /// By folder: where it really is.
    real: HashMap<PathBuf, PathBuf>,
}

impl Kept {
    /// The `.countersignignore` that keeps `path`, which is absolute, from the model. Links are followed: what is kept
    /// stays so under a second name.
    pub fn by(&self, path: &Path) -> Option<PathBuf> {
        let mut looked = self.looked();
        let is_dir = path.is_dir();
        looked.path(path, is_dir).or_else(|| {
            let real = looked.real(path);
            (real != path).then(|| looked.path(&real, is_dir)).flatten()
        })
    }

    /// The same for something that is open, by its own place.
    pub fn by_place(&self, place: &Path, is_dir: bool) -> Option<PathBuf> {
        self.looked().path(place, is_dir)
    }

    fn looked(&self) -> MutexGuard<'_, Looked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Looked {
    fn path(&mut self, path: &Path, is_dir: bool) -> Option<PathBuf> {
        let parent = path.parent()?;
        self.folder(parent).or_else(|| self.own(path, is_dir))
    }

    /// A folder, and with it all that is below.
    fn folder(&mut self, folder: &Path) -> Option<PathBuf> {
        if let Some(known) = self.folders.get(folder) {
            return known.clone();
        }
        let kept = self.path(folder, true);
        self.folders.insert(folder.to_owned(), kept.clone());
        kept
    }

    /// What the files above say of a path itself: the innermost that says anything.
    fn own(&mut self, path: &Path, is_dir: bool) -> Option<PathBuf> {
        for folder in path.ancestors().skip(1) {
            let Some(file) = self.file(folder) else { continue };
            match file.matched(path, is_dir) {
                Match::None => {}
                Match::Ignore(_) => return Some(folder.join(IGNORE_FILE)),
                Match::Whitelist(_) => return None,
            }
        }
        None
    }

    fn file(&mut self, folder: &Path) -> Option<Arc<Gitignore>> {
        if let Some(known) = self.files.get(folder) {
            return known.clone();
        }
        let file = read(folder).map(Arc::new);
        self.files.insert(folder.to_owned(), file.clone());
        file
    }

    fn real(&mut self, path: &Path) -> PathBuf {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return path.to_owned();
        };
        if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
            return disk::canonical(path);
        }
        let real = match self.real.get(parent) {
            Some(real) => real,
            None => self
                .real
                .entry(parent.to_owned())
                .or_insert_with(|| disk::canonical(parent)),
        };
        real.join(name)
    }
}

/// The patterns of a folder's own file. A line that is no pattern keeps nothing, and costs only itself.
fn read(folder: &Path) -> Option<Gitignore> {
    let path = folder.join(IGNORE_FILE);
    let text = match disk::read_bytes(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(
            disk::ReadError::NotFound { .. } | disk::ReadError::NotRegular { .. } | disk::ReadError::IsDirectory { .. },
        ) => return None,
        // Whether there is one is not known, and nothing of the folder can be read anyway.
        Err(_) if std::fs::symlink_metadata(&path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) => {
            return None;
        }
        Err(error) => {
            // Nobody knows what it keeps, so all of the folder is kept.
            tracing::warn!(%error, "an ignore file cannot be read");
            "*".to_owned()
        }
    };
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{feff}').lines() {
        if let Err(error) = builder.add_line(None, line) {
            tracing::warn!(path = %path.display(), %error, "a line of an ignore file is not used");
        }
    }
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn negations_nested_files_and_folders_by_table() {
        let folder = folder(&[
            (
                ".countersignignore",
                "*.key\nsecret/\n!open.key\n/only-here.txt\n# a comment\n\n[bad\n",
            ),
            ("a/.countersignignore", "!mine.key\n*.txt\n"),
            ("a/mine.key", ""),
            ("a/note.txt", ""),
            ("a/b/deep.txt", ""),
            ("secret/open.key", ""),
            ("secret/plain", ""),
            ("only-here.txt", ""),
            ("a/only-here.md", ""),
            ("b/only-here.txt", ""),
        ]);
        for (name, kept) in [
            ("x.key", true),
            ("open.key", false),
            ("a/x.key", true),
            ("a/mine.key", false),
            ("a/note.txt", true),
            ("a/b/deep.txt", true),
            ("secret", true),
            ("secret/open.key", true),
            ("secret/plain", true),
            ("only-here.txt", true),
            ("b/only-here.txt", false),
            ("a", false),
            ("a/only-here.md", false),
            ("not/there.key", true),
            (".countersignignore", false),
        ] {
            let by = Kept::default().by(&folder.path().join(name));
            assert_eq!(by.is_some(), kept, "{name}: {by:?}");
        }
        let by = Kept::default().by(&folder.path().join("a/note.txt"));
        assert_eq!(by, Some(folder.path().join("a/.countersignignore")));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_does_not_open_what_is_kept() {
        use std::os::unix::fs::symlink;
        let folder = folder(&[(".countersignignore", "/secret/\n"), ("secret/a", "x"), ("b/c", "")]);
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        symlink(at("secret"), at("way")).unwrap();
        symlink(at("secret/a"), at("b/name")).unwrap();
        let kept = Kept::default();
        for name in ["way/a", "way", "b/name", "secret/a"] {
            assert!(kept.by(&at(name)).is_some(), "{name}");
        }
        assert_eq!(kept.by(&at("b/c")), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_no_text_keeps_what_can_be_read_of_it() {
        let folder = folder(&[("a", ""), ("b", "")]);
        std::fs::write(folder.path().join(IGNORE_FILE), b"\xff\na\n").unwrap();
        assert!(Kept::default().by(&folder.path().join("a")).is_some());
        assert_eq!(Kept::default().by(&folder.path().join("b")), None);
    }

    #[test]
    fn a_pipe_in_the_place_of_the_file_is_not_waited_for() {
        let folder = folder(&[("a", "")]);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.path().join(IGNORE_FILE),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert_eq!(Kept::default().by(&folder.path().join("a")), None);
    }
}
