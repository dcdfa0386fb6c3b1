//! Folders that a stored thread's file names: which of them are open here, and what is said of the others.

use crate::agent::scratch;
use crate::shown;
use std::path::{Path, PathBuf};

/// The folders that the client has open, and scratch folders.
pub(super) struct OpenFolders {
    /// Countersign's own; canonical, as the others are.
    home: PathBuf,
    roots: Vec<PathBuf>,
}

impl OpenFolders {
    pub(super) fn of(home: &Path, roots: &[PathBuf]) -> Self {
        Self {
            home: real(home),
            roots: roots.iter().map(|root| real(root)).collect(),
        }
    }

    /// Whether a folder is one of them, or lies in one; links are followed.
    pub(super) fn hold(&self, folder: &Path) -> bool {
        let folder = real(folder);
        scratch::around(&self.home, &folder).is_some() || self.roots.iter().any(|root| folder.starts_with(root))
    }
}

fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// That a conversation cannot work where it did.
pub(super) fn elsewhere_notice(before: &Path, now: &Path, is_there: bool) -> String {
    let why = match before.as_os_str().is_empty() {
        true => "This conversation does not say in which folder it worked".to_owned(),
        false if is_there => format!(
            "The folder {} of this conversation is not open here, and its file is not among your conversations",
            shown::path(before)
        ),
        false => format!(
            "The folder {} of this conversation is not there any more",
            before.display()
        ),
    };
    let now = now.display();
    format!("{why}, so it goes on in {now}. Resume it with cwd to have it work elsewhere.")
}

/// What is said of folders that a thread's file names and nobody has opened.
pub(super) fn outside_notice(mut folders: Vec<PathBuf>) -> String {
    folders.sort();
    folders.dedup();
    let names: Vec<String> = folders.iter().map(|folder| shown::path(folder)).collect();
    format!(
        "This conversation works in folders that are not open here, as it did before: {}. What its settings allow in a workspace \
         they allow there too. Resume it with other folders if that is not what you want.",
        names.join(", ")
    )
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_seen_by_where_it_is() {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().canonicalize().expect("a path");
        for folder in ["home/scratch/a", "work/sub", "other"] {
            std::fs::create_dir_all(base.join(folder)).expect("a folder");
        }
        std::os::unix::fs::symlink(base.join("other"), base.join("work/link")).expect("a link");
        let open = OpenFolders::of(&base.join("home"), &[base.join("work")]);
        for (folder, expected) in [
            ("work", true),
            ("work/sub", true),
            ("work/link", false),
            ("work/../other", false),
            ("other", false),
            ("home/scratch/a", true),
            ("home/scratch/a/../../../other", false),
            ("home", false),
        ] {
            assert_eq!(open.hold(&base.join(folder)), expected, "{folder}");
        }
    }
}
