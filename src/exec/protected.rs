//! The folders inside a writable root that stay read-only: version control and agents' configuration, whose
//! files make programs outside the sandbox run code; and the places that a profile closes besides, for writing or
//! altogether.
//!
//! These stay closed at the top of each root, for patches too. What other programs act on by themselves (`table`) stays as
//! it is for commands at every depth (`later`); what is there when a command begins is `found`.

#[cfg(unix)]
mod found;
mod git_settings;
mod later;
mod meeting;
mod table;

#[cfg(unix)]
pub(crate) use found::find;
#[cfg(target_os = "linux")]
pub(crate) use found::{appeared, is_since};
pub(crate) use git_settings::{aliased, led_to_below};
pub(crate) use later::Later;
#[cfg(target_os = "linux")]
pub(crate) use later::{Looker, holds_acting};
pub(crate) use meeting::is_meeting_place;
#[cfg(target_os = "linux")]
pub(crate) use table::Reader;

use super::confinement::Walls;
use super::git::path_of_bytes;
use indexmap::IndexSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

/// Who acts on an entry that is kept for what leads to it, in words that stand after it.
pub(crate) const LED_TO: &str = "version control or another program is led to by its settings";

/// Read-only at the top of each writable root, whether they exist or not.
pub(crate) const PROTECTED: [&str; 4] = [".git", ".countersign", ".codex", ".agents"];

/// Read-only inside git metadata that was granted: what git executes or takes orders from.
const PROTECTED_IN_GIT: [&str; 6] = [
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "info/attributes",
    "objects/info/alternates",
];

/// The same in a worktree's own folder in there.
const PROTECTED_IN_WORKTREE: [&str; 3] = ["config.worktree", "commondir", "gitdir"];

/// What is looked for of links in a folder that acts later. Commands do not make it more.
const MOST_INSIDE: usize = 2_000;
/// Folders of a home folder in which each entry may be a link, how deep, and so many entries of them all.
const LINKED_WITHIN: &[&str] = &[".config", ".emacs.d", ".gnupg", ".local/bin", ".ssh", ".zsh", "bin"];
const DEPTH_OF_LINKS: usize = 2;
const MOST_STARTS: usize = 2_000;

/// What is looked at of a pointer: more than a path is long. Behind that there can only be line ends.
const POINTER: u64 = 64 << 10;

/// Of a repository's metadata, where links lead somewhere that git acts on.
const ACTING_IN_GIT: [&str; 4] = ["hooks", "info", "config", "config.worktree"];

#[cfg(not(unix))]
#[derive(Default)]
pub(crate) struct Found {
    pub there: Vec<PathBuf>,
    pub others: Vec<PathBuf>,
    pub unlisted: Vec<PathBuf>,
    pub partial: bool,
}

/// Where commands are not confined, nothing is looked for.
#[cfg(not(unix))]
pub(crate) fn find(_later: &Later, _roots: &[PathBuf], _remember: bool) -> Found {
    Found::default()
}

/// The names, and with a `*` in front the ends of names, of entries that other programs act on by themselves, and that
/// commands leave as they are at every depth.
pub fn names_that_act() -> Vec<String> {
    let whole = table::NAMES.iter().map(|(name, _)| (*name).to_owned());
    let ends = table::ENDS.iter().map(|(end, _)| format!("*{end}"));
    let around = table::AROUND.iter().map(|(begin, end, _)| format!("{begin}*{end}"));
    whole.chain(ends).chain(around).collect()
}

/// Those that are so in a folder of one name only, behind its name; and those of a home folder.
pub fn paths_that_act() -> (Vec<String>, Vec<String>) {
    let within = table::WITHIN.iter().map(|(folder, name, _)| format!("{folder}/{name}"));
    let of_home = table::OF_HOME.iter().map(|name| format!("~/{name}"));
    (within.collect(), of_home.collect())
}

/// Whether a path leads through an entry that other programs act on by themselves, or is one.
pub fn acts_later(path: &Path) -> bool {
    Later::default().acts_on_the_way(path, &[])
}

/// What must stay as it is below a set of writable roots.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Guard {
    /// Existing paths: folders, files, or links (the link itself, and its target as a path of its own).
    pub existing: IndexSet<PathBuf>,
    /// Names that do not exist yet, each with the folder in which it must not appear.
    pub missing: Vec<(PathBuf, OsString)>,
    /// Where links and pointer files lead although nothing is there yet, each with the outermost root that it lies in.
    /// Folders on the way there may be made.
    pub awaited: Vec<(PathBuf, PathBuf)>,
    /// Places that may be neither read nor written, whether they exist or not.
    pub hidden: Vec<PathBuf>,
    /// Entries further down that stay as they are, while the folders around them may be moved.
    pub standing: IndexSet<PathBuf>,
}

/// How what is there is held.
#[derive(Clone, Copy)]
enum Hold {
    /// With the folders on the way to it.
    Keep,
    /// Where it lies; folders around it may be moved, and it moves along.
    Stand,
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
        // Where the bounds of commands are kept; a grant of everything is none of that.
        let groups = Path::new("/sys/fs/cgroup");
        if groups.is_dir() {
            guard.close(&walls.roots, groups, true);
        }
        for place in &walls.unreadable {
            guard.close(&walls.roots, place, false);
            if !guard.hidden.contains(place) {
                guard.hidden.push(place.clone());
            }
        }
        if let Some(later) = &walls.later {
            let mut kept = Self {
                existing: guard.existing.clone(),
                awaited: guard.awaited.clone(),
                ..Self::default()
            };
            kept.keep_later(&walls.roots, later);
            if let Some(home) = &later.home {
                kept.keep_linked_starts(&walls.roots, home);
            }
            let is_kept = |place: &PathBuf| !later.agreed.contains(place);
            let existing = kept.existing.split_off(guard.existing.len());
            let awaited = kept.awaited.split_off(guard.awaited.len());
            guard.existing.extend(existing.into_iter().filter(is_kept));
            guard
                .awaited
                .extend(awaited.into_iter().filter(|(_, place)| is_kept(place)));
            guard.standing.extend(kept.standing.into_iter().filter(is_kept));
        }
        guard
    }

    /// Keeps what is there of the entries that act later, and where links among them lead.
    fn keep_later(&mut self, roots: &[PathBuf], later: &Later) {
        for place in &later.there {
            let at_top = place
                .parent()
                .is_some_and(|folder| roots.iter().any(|root| root == folder));
            if at_top {
                self.keep(place.clone());
            } else {
                self.stand(place.clone());
            }
            if place.file_name().is_some_and(|name| name == ".git")
                && let Some(folder) = place.parent()
            {
                let hold = if at_top { Hold::Keep } else { Hold::Stand };
                let metadata = self.keep_targets(roots, folder, place, hold);
                for target in git_settings::steering(&metadata, folder, later.home.as_deref()) {
                    self.follow(roots, &target, hold, None);
                }
                for part in metadata
                    .iter()
                    .flat_map(|folder| ACTING_IN_GIT.map(|name| folder.join(name)))
                {
                    self.keep_inner_targets(roots, &part);
                }
            } else {
                self.keep_inner_targets(roots, place);
            }
            let is_link = fs::symlink_metadata(place).is_ok_and(|found| found.is_symlink());
            if is_link && let Ok(target) = fs::canonicalize(place) {
                let inside = roots.iter().any(|root| target.starts_with(root) && target != *root);
                let around = place.starts_with(&target);
                if inside && !around && !roots.contains(&target) {
                    self.stand(target);
                }
            }
        }
    }

    /// Keeps where links of a home folder lead by whose names programs of the person start: their dot files may be the work.
    fn keep_linked_starts(&mut self, roots: &[PathBuf], home: &Path) {
        let is_link = |place: &Path| fs::symlink_metadata(place).is_ok_and(|found| found.is_symlink());
        let mut left = MOST_STARTS;
        for name in table::OF_HOME {
            let start = home.join(name);
            if start.ancestors().take_while(|above| *above != home).any(is_link) {
                self.follow(roots, &start, Hold::Keep, None);
            } else if LINKED_WITHIN.contains(name) {
                self.keep_linked_within(roots, &start, DEPTH_OF_LINKS, &mut left);
            }
        }
    }

    /// The same of links in a folder, as tools for dot files make them; down to a depth, while any are left to be looked at.
    fn keep_linked_within(&mut self, roots: &[PathBuf], folder: &Path, depth: usize, left: &mut usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => {
                    self.follow(roots, &entry.path(), Hold::Keep, None);
                }
                Ok(kind) if kind.is_dir() && depth > 1 => {
                    self.keep_linked_within(roots, &entry.path(), depth - 1, left)
                }
                _ => {}
            }
        }
    }

    /// Keeps where links in something that acts later lead: it is acted on by their names.
    fn keep_inner_targets(&mut self, roots: &[PathBuf], entry: &Path) {
        let mut waiting = vec![entry.to_owned()];
        let mut seen = 0;
        while let Some(place) = waiting.pop().filter(|_| seen < MOST_INSIDE) {
            seen += 1;
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_dir() => {
                    let inside = fs::read_dir(&place).into_iter().flatten().flatten();
                    waiting.extend(inside.map(|entry| entry.path()));
                }
                // The entry itself is followed elsewhere.
                Ok(found) if found.is_symlink() => {
                    self.follow(roots, &place, Hold::Stand, Some(entry));
                }
                _ => {}
            }
        }
    }

    fn hold(&mut self, place: PathBuf, hold: Hold) {
        match hold {
            Hold::Keep => self.keep(place),
            Hold::Stand => self.stand(place),
        }
    }

    fn stand(&mut self, place: PathBuf) {
        if !self.existing.contains(&place) {
            self.standing.insert(place);
        }
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
            let places = match is_git_metadata(root) {
                true => acting_in_git(root),
                false => PROTECTED.map(|name| root.join(name)).to_vec(),
            };
            for path in places.iter().filter(|path| !roots.contains(path)) {
                match (fs::symlink_metadata(path), path.parent(), path.file_name()) {
                    (Ok(_), ..) => {
                        self.keep(path.clone());
                        self.follow(roots, path, Hold::Keep, None);
                        self.keep_targets(roots, root, path, Hold::Keep);
                    }
                    (Err(_), Some(folder), Some(name)) if folder.is_dir() => self.miss(folder, name.to_owned()),
                    (Err(_), ..) => self.wait_for(root, path),
                }
            }
        }
    }

    fn wait_for(&mut self, root: &Path, place: &Path) {
        let entry = (root.to_owned(), place.to_owned());
        if !self.awaited.contains(&entry) {
            self.awaited.push(entry);
        }
    }

    fn keep(&mut self, path: PathBuf) {
        self.existing.insert(path);
    }

    /// A link's target and the folder that a `.git` file points at matter as much as the entry itself, also where they
    /// are not there yet. Gives these folders: a worktree's own and the shared one, or the only one.
    fn keep_targets(&mut self, roots: &[PathBuf], root: &Path, path: &Path, hold: Hold) -> Vec<PathBuf> {
        if fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
            && let Some(pointer) = pointer(path)
        {
            let own = self.follow(roots, &root.join(pointer), hold, None);
            let common = own.as_deref().and_then(common_pointer);
            let common = common.and_then(|common| self.follow(roots, &common, hold, None));
            return own.into_iter().chain(common).collect();
        }
        way(path).1.into_iter().collect()
    }

    /// Keeps where a path leads, and the links that lead there, as far as they lie inside a root and not in `kept`, which is
    /// so already. Gives where that is.
    fn follow(&mut self, roots: &[PathBuf], path: &Path, hold: Hold, kept: Option<&Path>) -> Option<PathBuf> {
        let outermost = |place: &Path| {
            // What lies around it is no target that could be kept.
            if kept.is_some_and(|kept| place.starts_with(kept) || kept.starts_with(place)) {
                return None;
            }
            let around = roots.iter().filter(|root| place.starts_with(root) && place != *root);
            around.min_by_key(|root| root.components().count())
        };
        let (links, target) = way(path);
        for link in links {
            if outermost(&link).is_some() {
                self.hold(link, hold);
            }
        }
        let target = target?;
        if let Some(root) = outermost(&target)
            && !roots.contains(&target)
        {
            match fs::symlink_metadata(&target) {
                Ok(_) => self.hold(target.clone(), hold),
                Err(_) => self.wait_for(root, &target),
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
        let existing = path.ancestors().find(|above| self.existing.contains(*above));
        let missing = self.missing.iter().map(|(root, name)| root.join(name));
        let awaited = self.awaited.iter().map(|(_, target)| target.clone());
        let others = missing.chain(awaited).filter(|guarded| path.starts_with(guarded));
        others
            .chain(existing.map(Path::to_owned))
            .max_by_key(|guarded| guarded.components().count())
    }
}

/// Whether a root is a repository's metadata folder, given by a narrow grant.
fn is_git_metadata(root: &Path) -> bool {
    let named = root.components().any(|part| part == Component::Normal(".git".as_ref()));
    named && (root.join("HEAD").exists() || root.join("objects").exists())
}

/// What git acts on in a metadata folder, in those of the submodules in it, and in those of its worktrees; whether it is
/// there or not.
fn acting_in_git(folder: &Path) -> Vec<PathBuf> {
    let mut unlisted = Vec::new();
    let mut within = |folder: &Path, name: &str| {
        let place = folder.join(name);
        let Some(inside) = entries(&place) else {
            unlisted.push(place);
            return Vec::new();
        };
        let is_folder = |place: &PathBuf| match fs::symlink_metadata(place) {
            Ok(found) => found.is_dir(),
            Err(error) => !is_gone(&error),
        };
        inside.into_iter().filter(is_folder).collect::<Vec<_>>()
    };
    let mut places = Vec::new();
    // The name of a submodule may have parts, which are folders then.
    let mut waiting = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(place) = waiting.pop().filter(|_| seen < MOST_INSIDE) {
        seen += 1;
        if place != folder && !place.join("HEAD").exists() {
            waiting.extend(within(&place, ""));
            continue;
        }
        places.extend(PROTECTED_IN_GIT.map(|name| place.join(name)));
        for worktree in within(&place, "worktrees") {
            places.extend(PROTECTED_IN_WORKTREE.map(|name| worktree.join(name)));
        }
        waiting.extend(within(&place, "modules"));
    }
    // What is in it may be any of them.
    places.extend(unlisted);
    places
}

/// What is in a folder: nothing where there is no such folder, and none where it cannot be listed.
fn entries(folder: &Path) -> Option<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) => is_gone(&error).then(Vec::new),
    }
}

/// Whether nothing is there.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
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

/// Where the settings of a repository and those of the person's git lead: version control acts on what is there.
pub(crate) fn led_to_by_git(repository: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    git_settings::steering(&git_folders(repository), repository, home)
}

/// What of a home folder programs of the person start with, and who they are to others; relative.
pub(crate) fn starts_of_home() -> &'static [&'static str] {
    table::OF_HOME
}

/// The hooks that git would run in a repository, by their names.
pub(crate) fn hooks_of_git(repository: &Path, home: Option<&Path>) -> Vec<String> {
    git_settings::hooks(&git_folders(repository), repository, home)
}

/// Reads `gitdir: <path>` from a `.git` file.
fn pointer(file: &Path) -> Option<PathBuf> {
    let text = text_of(file, POINTER)?;
    let path = text.strip_prefix(b"gitdir:")?;
    pointed(path.strip_prefix(b" ").unwrap_or(path))
}

/// The path in the text of a pointer, as git reads it: without the line ends behind it, and no further than a NUL.
fn pointed(text: &[u8]) -> Option<PathBuf> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    let path = text[..=end].split(|byte| *byte == 0).next()?;
    (!path.is_empty()).then(|| path_of_bytes(path))
}

/// What a file holds, up to so many bytes. Only of a file: for a pipe somebody would wait.
pub(crate) fn text_of(file: &Path, most: u64) -> Option<Vec<u8>> {
    let mut options = fs::File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(file).ok()?;
    let mut text = Vec::new();
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    (is_file && file.take(most).read_to_end(&mut text).is_ok()).then_some(text)
}

/// Where a `.git` file points, if that is there.
fn pointed_at(root: &Path, file: &Path) -> Option<PathBuf> {
    fs::canonicalize(root.join(pointer(file)?)).ok()
}

/// The links that a path crosses, and where it leads in the end, whether something is there or not. It leads nowhere
/// where links go round or a folder cannot be looked into.
pub(crate) fn way(path: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
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

/// Where a link leads in the end, if that is there. The kernel itself follows it, which is quick also where links go a long
/// way round.
#[cfg(target_os = "linux")]
pub(crate) fn end_of(link: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = fs::File::options();
    options.read(true).custom_flags(libc::O_PATH);
    let opened = options.open(link).ok()?;
    let place = fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    place.or_else(|_| fs::canonicalize(link)).ok()
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) fn end_of(link: &Path) -> Option<PathBuf> {
    fs::canonicalize(link).ok()
}

/// Whether something else than a link is there, or nothing.
pub(crate) fn is_no_link(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Where a worktree's own metadata folder says that the shared one is.
fn common_pointer(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(pointed(&text_of(&folder.join("commondir"), POINTER)?)?))
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
        assert_eq!(guard.existing, IndexSet::from([root.join(".git")]));
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

    /// What is in a folder that cannot be listed may be what git acts on.
    #[test]
    fn modules_that_cannot_be_listed_are_kept_as_a_whole() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir).join(".git");
        fs::create_dir_all(root.join("objects")).expect("mkdir");
        let modules = root.join("modules");
        fs::create_dir_all(modules.join("a/objects")).expect("mkdir");
        fs::write(modules.join("a/HEAD"), "x").expect("write");
        let acts = || acting_in_git(&root);
        assert!(acts().contains(&modules.join("a/config")) && !acts().contains(&modules));
        fs::set_permissions(&modules, fs::Permissions::from_mode(0o300)).expect("chmod");
        let then = acts();
        fs::set_permissions(&modules, fs::Permissions::from_mode(0o700)).expect("chmod");
        // Root lists every folder.
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(then.contains(&modules), !is_root, "{then:?}");
    }

    #[test]
    fn what_pointers_say_by_table() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let file = dir.path().join(".git");
        let long = [b"gitdir: meta".as_slice(), &vec![b'\n'; 500_000]].concat();
        for (text, expected) in [
            (b"gitdir: meta\n".as_slice(), Some(b"meta".as_slice())),
            (b"gitdir: meta \r\n\n", Some(b"meta ")),
            (b"gitdir:  meta", Some(b" meta")),
            (b"gitdir: m\xe9ta\n", Some(b"m\xe9ta")),
            (b"gitdir: meta\0more\n", Some(b"meta")),
            (&long, Some(b"meta")),
            (b"gitdir: \n", None),
            (b"gitdir", None),
            (b"", None),
        ] {
            fs::write(&file, text).expect("write");
            assert_eq!(pointer(&file), expected.map(path_of_bytes), "{:?}", text.get(..20));
            let Some(common) = text.strip_prefix(b"gitdir: ") else {
                continue;
            };
            fs::write(dir.path().join("commondir"), common).expect("write");
            let expected = expected.map(|path| dir.path().join(path_of_bytes(path)));
            assert_eq!(common_pointer(dir.path()), expected);
        }
    }

    /// What waits in a repository's folder is not waited for, and what is large is not read.
    #[test]
    fn only_files_are_read() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        fs::create_dir(root.join("meta")).expect("mkdir");
        let large = fs::File::create(root.join(".git")).expect("create");
        large.set_len(4 << 30).expect("a sparse file");
        let pipe = |name: &str| {
            let made = std::process::Command::new("mkfifo").arg(root.join(name)).status();
            assert!(made.expect("mkfifo").success());
        };
        pipe("meta/commondir");
        pipe("meta/config");
        assert_eq!(pointer(&root.join(".git")), None);
        fs::write(root.join(".git"), "gitdir: meta\n").expect("write");
        let (done, waiting) = std::sync::mpsc::channel();
        let walls = Walls {
            roots: vec![root.clone()],
            later: Some(Later::default()),
            ..Walls::default()
        };
        std::thread::spawn(move || {
            let guard = Guard::of_walls(&walls.looked(false));
            done.send(Box::new(guard))
        });
        let guard = waiting
            .recv_timeout(std::time::Duration::from_secs(60))
            .expect("an end");
        assert!(guard.existing.contains(&root.join("meta")), "{:?}", guard.existing);
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
        assert_eq!(existing, IndexSet::from(expected.map(|name| root.join(name))));
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
        assert!(guard.missing.contains(&(root.join(".git"), "commondir".into())));
        assert!(
            guard
                .awaited
                .contains(&(root.join(".git"), root.join(".git/info/attributes")))
        );
    }

    #[test]
    fn granted_git_metadata_of_submodules_and_worktrees() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        let git = root.join(".git");
        for folder in [
            "modules/group/lib/hooks",
            "modules/group/lib/modules/deep",
            "worktrees/x",
        ] {
            fs::create_dir_all(git.join(folder)).expect("mkdir");
        }
        for place in [".", "modules/group/lib", "modules/group/lib/modules/deep"] {
            fs::write(git.join(place).join("HEAD"), "ref: refs/heads/main\n").expect("write");
        }
        fs::write(git.join("worktrees/x/gitdir"), "elsewhere\n").expect("write");
        let guard = Guard::of(&[root.clone(), git.clone()]);
        for place in ["modules/group/lib/hooks", "worktrees/x/gitdir"] {
            assert!(guard.existing.contains(&git.join(place)), "{place}");
        }
        for (folder, name) in [
            ("modules/group/lib", "config"),
            ("modules/group/lib/modules/deep", "hooks"),
            ("worktrees/x", "config.worktree"),
        ] {
            assert!(
                guard.missing.contains(&(git.join(folder), name.into())),
                "{folder} {name}"
            );
        }
    }

    #[test]
    fn where_links_in_what_acts_later_lead_is_kept() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        for folder in [".git/hooks", "sub/.vscode", "config", "scripts"] {
            fs::create_dir_all(root.join(folder)).expect("mkdir");
        }
        for name in ["scripts/pre-commit.sh", "config/tasks.json", "sub/.vscode/own.json"] {
            fs::write(root.join(name), "x").expect("write");
        }
        for (to, at) in [
            ("../../scripts/pre-commit.sh", ".git/hooks/pre-commit"),
            ("../../config/tasks.json", "sub/.vscode/tasks.json"),
            ("../../config/launch.json", "sub/.vscode/launch.json"),
            ("own.json", "sub/.vscode/settings.json"),
            ("..", "sub/.vscode/up"),
            ("/usr/bin/env", "sub/.vscode/outside"),
        ] {
            std::os::unix::fs::symlink(to, root.join(at)).expect("symlink");
        }
        let walls = Walls {
            roots: vec![root.clone()],
            later: Some(Later::default()),
            ..Walls::default()
        };
        let guard = Guard::of_walls(&walls.looked(false));
        let mut standing = guard.standing.clone();
        standing.sort();
        let expected = ["config/tasks.json", "scripts/pre-commit.sh", "sub/.vscode"];
        assert_eq!(standing, IndexSet::from(expected.map(|name| root.join(name))));
        assert_eq!(guard.awaited, [(root.clone(), root.join("config/launch.json"))]);
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
        assert_eq!(guard.existing, IndexSet::from([root.join("docs")]));
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
