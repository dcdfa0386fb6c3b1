//! The folders inside a writable root that stay read-only: version control and agents' configuration, whose
//! files make programs outside the sandbox run code; and the places that a profile closes besides, for writing or
//! altogether.
//!
//! Only the top of a root is looked at. What a command makes further down is its own: it may make a repository in a
//! sub-folder with hooks of its choice (`git init sub`, a clone), and whoever runs git in there runs them.

use super::confinement::Walls;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Read-only at the top of each writable root, whether they exist or not.
pub(crate) const PROTECTED: [&str; 4] = [".git", ".countersign", ".codex", ".agents"];

/// Read-only inside git metadata that was granted: what git executes or takes orders from.
const PROTECTED_IN_GIT: [&str; 3] = ["hooks", "config", "config.worktree"];

/// What must stay as it is below a set of writable roots.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Guard {
    /// Existing paths: folders, files, or links (the link itself, and its target as a path of its own).
    pub existing: Vec<PathBuf>,
    /// Names that do not exist yet, each with the folder in which it must not appear.
    pub missing: Vec<(PathBuf, OsString)>,
    /// Where links and pointer files lead although nothing is there yet, each with the outermost root that it lies in.
    /// Folders on the way there may be made.
    pub awaited: Vec<(PathBuf, PathBuf)>,
    /// Places that may be neither read nor written, whether they exist or not.
    pub hidden: Vec<PathBuf>,
}

impl Guard {
    /// Looks at the disk. `roots` are canonical; a root that is itself a protected path, or lies in one, is a
    /// grant and stays writable.
    pub(crate) fn of(roots: &[PathBuf]) -> Self {
        let mut guard = Self::default();
        guard.protect(roots);
        guard
    }

    /// As `of`, with what the walls close besides.
    pub(crate) fn of_walls(walls: &Walls) -> Self {
        let mut guard = Self::of(&walls.roots);
        for place in &walls.read_only {
            guard.close(&walls.roots, place, true);
        }
        for place in &walls.unreadable {
            guard.close(&walls.roots, place, false);
            if !guard.hidden.contains(place) {
                guard.hidden.push(place.clone());
            }
        }
        guard
    }

    /// Keeps a place from being made, where it could be: in a folder that exists, in a root. `keep` is whether it is
    /// kept as it is, too, if it exists. A root is a grant, which goes before a place that is to stay read-only.
    fn close(&mut self, roots: &[PathBuf], place: &Path, keep: bool) {
        let inside = roots.iter().any(|root| place.starts_with(root));
        if !inside || keep && roots.iter().any(|root| root == place) {
            return;
        }
        match fs::symlink_metadata(place) {
            Ok(_) if keep => self.keep(place.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let (Some(folder), Some(name)) = (place.parent(), place.file_name())
                    && folder.is_dir()
                {
                    self.miss(folder, name.to_owned());
                }
            }
            _ => {}
        }
    }

    fn miss(&mut self, folder: &Path, name: OsString) {
        let entry = (folder.to_owned(), name);
        if !self.missing.contains(&entry) {
            self.missing.push(entry);
        }
    }

    fn protect(&mut self, roots: &[PathBuf]) {
        for root in roots {
            let names: &[&'static str] = if is_git_metadata(root) {
                &PROTECTED_IN_GIT
            } else {
                &PROTECTED
            };
            for name in names {
                let path = root.join(name);
                if roots.contains(&path) {
                    continue;
                }
                match fs::symlink_metadata(&path) {
                    Err(_) => self.miss(root, (*name).into()),
                    Ok(_) => {
                        self.keep(path.clone());
                        self.keep_targets(roots, root, &path);
                    }
                }
            }
        }
    }

    fn keep(&mut self, path: PathBuf) {
        if !self.existing.contains(&path) {
            self.existing.push(path);
        }
    }

    /// A link's target and the folder that a `.git` file points at matter as much as the entry itself, also where they
    /// are not there yet.
    fn keep_targets(&mut self, roots: &[PathBuf], root: &Path, path: &Path) {
        self.follow(roots, path);
        if fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
            && let Some(pointer) = pointer(path)
            && let Some(folder) = self.follow(roots, &root.join(pointer))
            && let Some(common) = common_pointer(&folder)
        {
            self.follow(roots, &common);
        }
    }

    /// Keeps where a path leads, and the links that lead there, as far as they lie inside a root. Gives where that is.
    fn follow(&mut self, roots: &[PathBuf], path: &Path) -> Option<PathBuf> {
        let outermost = |place: &Path| {
            let around = roots.iter().filter(|root| place.starts_with(root) && place != *root);
            around.min_by_key(|root| root.components().count())
        };
        let (links, target) = way(path);
        for link in links {
            if outermost(&link).is_some() {
                self.keep(link);
            }
        }
        let target = target?;
        if let Some(root) = outermost(&target)
            && !roots.contains(&target)
        {
            let entry = (root.clone(), target.clone());
            if fs::symlink_metadata(&target).is_ok() {
                self.keep(target.clone());
            } else if !self.awaited.contains(&entry) {
                self.awaited.push(entry);
            }
        }
        Some(target)
    }

    /// Whether `path` is, or lies in, a place that may not be read. `path` is canonical.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    /// The guarded path that is nearest above `path`, if any. `path` is canonical.
    pub(crate) fn nearest(&self, path: &Path) -> Option<PathBuf> {
        let missing = self.missing.iter().map(|(root, name)| root.join(name));
        let awaited = self.awaited.iter().map(|(_, target)| target.clone());
        self.existing
            .iter()
            .cloned()
            .chain(missing)
            .chain(awaited)
            .filter(|guarded| path.starts_with(guarded))
            .max_by_key(|guarded| guarded.components().count())
    }
}

/// Whether a root is a repository's metadata folder, given by a narrow grant.
fn is_git_metadata(root: &Path) -> bool {
    let named = root.components().any(|part| part == Component::Normal(".git".as_ref()));
    named && (root.join("HEAD").exists() || root.join("objects").exists())
}

/// The metadata folders of a repository: its `.git`, or what a `.git` file points at and that one's shared folder.
/// Nothing where there is none.
pub(crate) fn git_folders(repository: &Path) -> Vec<PathBuf> {
    let entry = repository.join(".git");
    let folders = match fs::symlink_metadata(&entry) {
        Ok(found) if found.is_dir() => vec![entry],
        Ok(found) if found.is_file() => {
            let folder = pointed_at(repository, &entry);
            let common = folder.as_deref().and_then(common_folder);
            folder.into_iter().chain(common).collect()
        }
        _ => Vec::new(),
    };
    folders.into_iter().filter(|folder| is_git_metadata(folder)).collect()
}

/// Reads `gitdir: <path>` from a `.git` file.
fn pointer(file: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    (!target.is_empty()).then(|| target.into())
}

/// Where a `.git` file points, if that is there.
fn pointed_at(root: &Path, file: &Path) -> Option<PathBuf> {
    fs::canonicalize(root.join(pointer(file)?)).ok()
}

/// The links that a path crosses, and where it leads in the end, whether something is there or not. It leads nowhere
/// where links go round or a folder cannot be looked into.
fn way(path: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
    const MAX_LINKS: usize = 40;
    let mut links = Vec::new();
    let mut wanted = path.to_owned();
    'links: while links.len() <= MAX_LINKS {
        let mut place = PathBuf::from("/");
        let mut parts = wanted.components();
        while let Some(part) = parts.next() {
            match part {
                Component::Normal(name) => place.push(name),
                Component::ParentDir => drop(place.pop()),
                _ => continue,
            }
            match fs::read_link(&place) {
                Ok(target) => {
                    links.push(place.clone());
                    place.pop();
                    wanted = place.join(target).join(parts.as_path());
                    continue 'links;
                }
                Err(error) if is_no_link(&error) => {}
                Err(_) => return (links, None),
            }
        }
        return (links, Some(place));
    }
    (links, None)
}

/// Whether something else than a link is there, or nothing.
fn is_no_link(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Where a worktree's own metadata folder says that the shared one is.
fn common_pointer(folder: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(folder.join("commondir")).ok()?;
    Some(folder.join(text.trim()))
}

/// The shared metadata folder of a worktree's own one.
fn common_folder(folder: &Path) -> Option<PathBuf> {
    fs::canonicalize(common_pointer(folder)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(dir: &tempfile::TempDir) -> PathBuf {
        fs::canonicalize(dir.path()).expect("temporary folder")
    }

    #[test]
    fn entries_that_exist_and_entries_that_do_not() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        fs::create_dir(root.join(".git")).expect("mkdir");
        let guard = Guard::of(std::slice::from_ref(&root));
        assert_eq!(guard.existing, [root.join(".git")]);
        let missing: Vec<_> = guard.missing.iter().map(|(_, name)| name.as_os_str()).collect();
        assert_eq!(missing, [".countersign", ".codex", ".agents"]);
        assert_eq!(
            guard.nearest(&root.join(".git/hooks/pre-commit")),
            Some(root.join(".git"))
        );
        assert_eq!(guard.nearest(&root.join(".codex")), Some(root.join(".codex")));
        assert_eq!(guard.nearest(&root.join(".github/x")), None);
    }

    #[test]
    fn links_and_pointer_files_guard_their_targets() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        for folder in ["main/.git/worktrees/tree", "tree", "linked", "real"] {
            fs::create_dir_all(root.join(folder)).expect("mkdir");
        }
        fs::write(root.join("main/.git/worktrees/tree/commondir"), "../..\n").expect("write");
        fs::write(
            root.join("tree/.git"),
            format!("gitdir: {}\n", root.join("main/.git/worktrees/tree").display()),
        )
        .expect("write");
        std::os::unix::fs::symlink("../real", root.join("linked/.git")).expect("symlink");

        let guard = Guard::of(&[root.clone(), root.join("tree"), root.join("linked")]);
        for expected in [
            "tree/.git",
            "main/.git",
            "main/.git/worktrees/tree",
            "linked/.git",
            "real",
        ] {
            assert!(
                guard.existing.contains(&root.join(expected)),
                "{expected} in {:?}",
                guard.existing
            );
        }
    }

    #[test]
    fn what_links_and_pointer_files_lead_to_must_not_appear() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        for folder in ["a/deep", "b", "c"] {
            fs::create_dir_all(root.join(folder)).expect("mkdir");
        }
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, root.join(at)).expect("symlink");
        link("data", "a/.git");
        link("deep/../deep/x/y", "a/.codex");
        link("one", "a/.agents");
        link("two", "a/one");
        link("/no/such/place", "a/.countersign");
        link("round", "b/round");
        link("round", "b/.git");
        fs::write(root.join("c/.git"), "gitdir: ../a/deep/modules/c\n").expect("write");
        let guard = Guard::of(&["a", "b", "c"].map(|name| root.join(name)));
        let mut awaited: Vec<_> = guard.awaited.iter().map(|(_, target)| target.clone()).collect();
        awaited.sort();
        let expected = ["a/data", "a/deep/modules/c", "a/deep/x/y", "a/two"];
        assert_eq!(awaited, expected.map(|name| root.join(name)));
        // Names on the way stay free, and no name but the protected ones is taken away as such.
        for (_, name) in &guard.missing {
            assert!(PROTECTED.iter().any(|known| name == known), "{name:?}");
        }
        for (place, guarded) in [
            ("a/deep/x", None),
            ("a/deep/x/z", None),
            ("a/deep/x/y/z", Some("a/deep/x/y")),
        ] {
            let expected = guarded.map(|guarded| root.join(guarded));
            assert_eq!(guard.nearest(&root.join(place)), expected, "{place}");
        }
    }

    #[test]
    fn links_on_the_way_are_kept_and_those_outside_are_not() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let base = canonical(&dir);
        let root = base.join("root");
        for folder in ["root/real/deep", "root/metadata"] {
            fs::create_dir_all(base.join(folder)).expect("mkdir");
        }
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, base.join(at)).expect("symlink");
        link("one", "root/.agents");
        link("two/deep", "root/one");
        link("../outside", "root/two");
        link("root/real", "outside");
        link("three/x", "root/.codex");
        link("nothing", "root/three");
        link("round", "root/.countersign");
        link("round", "root/round");
        link(".", "root/here");
        fs::write(root.join(".git"), "gitdir: here/metadata\n").expect("write");
        let guard = Guard::of(std::slice::from_ref(&root));
        let mut existing = guard.existing.clone();
        existing.sort();
        let expected = [
            ".agents",
            ".codex",
            ".countersign",
            ".git",
            "here",
            "metadata",
            "one",
            "real/deep",
            "round",
            "three",
            "two",
        ];
        assert_eq!(existing, expected.map(|name| root.join(name)));
        assert_eq!(guard.awaited, [(root.clone(), root.join("nothing/x"))]);
        assert_eq!(guard.missing, []);
    }

    #[test]
    fn granted_git_metadata_keeps_its_hooks_and_configuration() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        fs::create_dir_all(root.join(".git/hooks")).expect("mkdir");
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").expect("write");
        let guard = Guard::of(&[root.clone(), root.join(".git")]);
        assert!(!guard.existing.contains(&root.join(".git")));
        assert!(guard.existing.contains(&root.join(".git/hooks")));
        assert!(guard.missing.contains(&(root.join(".git"), "config".into())));
    }

    #[test]
    fn places_that_a_profile_closes() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        fs::create_dir_all(root.join("docs/deep")).expect("mkdir");
        fs::write(root.join(".env"), "KEY=1").expect("write");
        let walls = Walls {
            roots: vec![root.clone(), root.join("docs/deep")],
            read_only: ["docs", "docs/deep", "new", "no/where"]
                .map(|name| root.join(name))
                .to_vec(),
            unreadable: vec![root.join(".env"), root.join(".env.local"), "/etc/ssh".into()],
            ..Walls::default()
        };
        let guard = Guard::of_walls(&walls);
        assert_eq!(guard.existing, [root.join("docs")]);
        assert_eq!(guard.hidden, walls.unreadable);
        for (name, expected) in [("new", true), (".env.local", true), (".env", false), ("where", false)] {
            let missing = guard.missing.contains(&(root.clone(), name.into()));
            assert_eq!(missing, expected, "{name}");
        }
        for (path, expected) in [(".env", true), (".env/x", true), (".envrc", false), ("docs", false)] {
            assert_eq!(guard.hides(&root.join(path)), expected, "{path}");
        }
    }
}
