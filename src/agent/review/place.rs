//! Where a finding lies: the reviewer's claim held against the files that there are.

use super::answer::Claim;
use crate::protocol::item::LineRange;
use crate::protocol::review::CodeLocation;
use crate::workspace::uri;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders that a review may find something in.
#[derive(Clone, Debug)]
pub(super) struct Folders {
    pub(super) cwd: PathBuf,
    /// The top of the work tree; what git says is named from there.
    pub(super) top: Option<PathBuf>,
    /// Of the workspace.
    pub(super) roots: Vec<PathBuf>,
}

impl Folders {
    /// The claimed place as it is in the protocol; none where it lies outside of every folder. Looks at the disk.
    pub(super) fn place(&self, claim: &Claim) -> Option<CodeLocation> {
        let absolute_file_path = self.path(&claim.path)?;
        // Counted from 1 there, from 0 here; the end is the line after the last.
        let line_range = LineRange {
            start: claim.first.saturating_sub(1),
            end: claim.last,
        };
        Some(CodeLocation {
            absolute_file_path,
            line_range,
        })
    }

    fn path(&self, claimed: &str) -> Option<PathBuf> {
        let claimed = claimed.trim().trim_matches(['`', '"', '\'']);
        if claimed.is_empty() || claimed.contains('\0') {
            return None;
        }
        let named = uri::to_path(claimed).ok().flatten();
        let named = named.unwrap_or_else(|| PathBuf::from(claimed));
        let mut candidates = self.candidates(&named);
        let at = candidates.iter().position(|path| path.is_file()).unwrap_or(0);
        if candidates.is_empty() {
            return None;
        }
        let path = candidates.swap_remove(at);
        self.holds(&path).then_some(path)
    }

    /// What a name can stand for, the likeliest first: from the folder, from the top, from another folder of the workspace; then
    /// the same without the letter that diffs put before a path.
    fn candidates(&self, named: &Path) -> Vec<PathBuf> {
        if named.is_absolute() {
            return vec![uri::clean(named)];
        }
        let side = ["a", "b"].iter().find_map(|side| named.strip_prefix(side).ok());
        let from = [&self.cwd].into_iter().chain(&self.top).chain(&self.roots);
        let from: Vec<&PathBuf> = from.collect();
        let names = [Some(named), side].into_iter().flatten();
        names
            .flat_map(|name| from.iter().map(move |folder| uri::clean(&folder.join(name))))
            .collect()
    }

    /// Whether a path lies in one of the folders, by its name or through links.
    fn holds(&self, path: &Path) -> bool {
        let folders = || [&self.cwd].into_iter().chain(&self.top).chain(&self.roots);
        let real = || {
            let real = fs::canonicalize(path).ok()?;
            let mut folders = folders().filter_map(|folder| fs::canonicalize(folder).ok());
            Some(folders.any(|folder| real.starts_with(folder)))
        };
        folders().any(|folder| path.starts_with(folder)) || real() == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claimed_places_by_table() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("a path");
        for file in [
            "top/in/a.rs",
            "top/b.rs",
            "top/b/c.rs",
            "other/d.rs",
            "outside/e.rs",
            "top/in/sp ace.rs",
        ] {
            let path = base.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, "").expect("a file");
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(base.join("top"), base.join("link")).expect("a link");
        let folders = Folders {
            cwd: base.join("top/in"),
            top: Some(base.join("top")),
            roots: vec![base.join("top/in"), base.join("other")],
        };
        let shown = base.display();
        for (claimed, expected) in [
            (format!("{shown}/top/in/a.rs"), Some("top/in/a.rs")),
            (format!("{shown}/top/in/../b.rs"), Some("top/b.rs")),
            (format!("file://{shown}/top/in/sp%20ace.rs"), Some("top/in/sp ace.rs")),
            (format!("`{shown}/top/b.rs`"), Some("top/b.rs")),
            ("a.rs".to_owned(), Some("top/in/a.rs")),
            ("./a.rs".to_owned(), Some("top/in/a.rs")),
            ("in/a.rs".to_owned(), Some("top/in/a.rs")),
            ("b.rs".to_owned(), Some("top/b.rs")),
            ("a/b.rs".to_owned(), Some("top/b.rs")),
            ("b/in/a.rs".to_owned(), Some("top/in/a.rs")),
            ("b/c.rs".to_owned(), Some("top/b/c.rs")),
            ("d.rs".to_owned(), Some("other/d.rs")),
            // Gone, but of this folder.
            ("gone.rs".to_owned(), Some("top/in/gone.rs")),
            (format!("{shown}/outside/e.rs"), None),
            (format!("{shown}/top/../outside/e.rs"), None),
            ("../../outside/e.rs".to_owned(), None),
            ("/etc/passwd".to_owned(), None),
            (String::new(), None),
            ("a\0.rs".to_owned(), None),
            #[cfg(unix)]
            (format!("{shown}/link/b.rs"), Some("link/b.rs")),
        ] {
            let claim = Claim {
                path: claimed.clone(),
                first: 3,
                last: 4,
            };
            let place = folders.place(&claim).map(|place| {
                assert_eq!(place.line_range, LineRange { start: 2, end: 4 });
                place.absolute_file_path
            });
            assert_eq!(place, expected.map(|path| base.join(path)), "{claimed}");
        }
    }
}
