//! What is there of the entries that act later. The folders of a workspace are looked through once; from then on each is
//! only asked whether it has changed.

#[cfg(target_os = "linux")]
use super::is_gone;
use super::later::{Later, Parts, REPOSITORY, is_installed};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Folders that are looked through for one command. What lies in the others is kept by the keeper's answers alone.
const MOST_FOLDERS: usize = 50_000;
/// How long that may take. What was looked through is remembered, so the next command gets further.
const PATIENCE: Duration = Duration::from_secs(1);
/// What the kernel shows of itself: nobody's files, and many of them.
const KERNELS: [&str; 3] = ["/dev", "/proc", "/sys"];
/// Entries that are found at the most.
const MOST_FOUND: usize = 512;
/// A folder that changed so short a time ago may change once more without showing it.
const UNSETTLED: Duration = Duration::from_millis(50);

/// A folder as it was looked at.
#[derive(Clone, Debug)]
struct Folder {
    /// Device, inode, and when it was changed: seconds and nanoseconds.
    state: (u64, u64, i64, i64),
    inside: Inside,
    /// It cannot be looked into, but its owner could change that.
    closed: bool,
}

/// What counts of what is in a folder.
#[derive(Clone, Debug, Default)]
struct Inside {
    /// Folders to go on with.
    below: Vec<OsString>,
    /// Entries that act later.
    acting: Vec<OsString>,
    /// Folders of what is installed or built.
    installed: Vec<OsString>,
    links: Vec<OsString>,
    /// What a repository has.
    parts: Parts,
}

/// What a place is that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Acting,
    Link,
    /// What makes the folder around it a repository, under another name than `.git`.
    Head,
    /// A folder that cannot be looked into.
    Closed,
}

/// What is there when a command begins.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Entries that act later, as real paths.
    pub there: Vec<PathBuf>,
    /// Links to folders in which nothing is kept, and what makes folders repositories.
    pub others: Vec<PathBuf>,
    /// Folders for temporary files that cannot be listed.
    pub unlisted: Vec<PathBuf>,
    /// Whether there may be more.
    pub partial: bool,
}

/// What is remembered of folders, for the names that were looked for.
#[derive(Debug, Default)]
struct Memory {
    names: (Vec<String>, Vec<String>, Option<PathBuf>),
    folders: HashMap<PathBuf, Folder>,
}

/// How much more is looked at for one command.
struct Left {
    folders: usize,
    until: Instant,
}

impl Left {
    fn is_nothing(&self) -> bool {
        self.folders == 0 || Instant::now() > self.until
    }
}

/// What has come into the roots of a command since it began.
#[cfg(target_os = "linux")]
#[derive(Debug, Default)]
pub(crate) struct Appeared {
    /// Entries that act later, whether they are new or not.
    pub entries: Vec<PathBuf>,
    /// Links to folders in which nothing is kept, and what makes folders repositories; new or not, too.
    pub others: Vec<PathBuf>,
    /// Changed folders that could not be looked into, wholly or in part.
    pub unseen: Vec<PathBuf>,
}

/// Looks for what a command may have made, if nothing of it lives any more: through all folders, however many there are
/// and however long it takes. Whatever is passed over is where a command would hide something, and it can make folders no faster
/// than they are looked through. What stays read-only right in a root is passed over. `since` is when it began, as times of
/// files go.
#[cfg(target_os = "linux")]
pub(crate) fn appeared(later: &Later, roots: &[PathBuf], read_only: &[PathBuf], since: (i64, i64)) -> Appeared {
    let mut appeared = Appeared::default();
    let mut waiting = outermost(later, roots);
    let closed = closed_parts(&waiting, roots, read_only);
    while let Some(place) = waiting.pop() {
        if KERNELS.iter().any(|folder| place == Path::new(folder)) {
            continue;
        }
        let found = match fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() => found,
            Ok(_) => continue,
            Err(error) if is_gone(&error) => continue,
            // Deeper than paths are long, for one.
            Err(_) => {
                appeared.unseen.push(place);
                continue;
            }
        };
        let changed = is_since(&found, since);
        if !changed && closed.contains(&&place) {
            continue;
        }
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) if is_gone(&error) => continue,
            // It is as it was, so there is nothing new in it: who made it lockable has changed it.
            Err(_) if !changed => continue,
            Err(_) => {
                appeared.unseen.push(place);
                continue;
            }
        };
        let mut parts = Parts::default();
        for entry in entries {
            let Ok(entry) = entry else {
                appeared.unseen.push(place.clone());
                break;
            };
            let (name, path) = (entry.file_name(), entry.path());
            let kind = entry.file_type().ok();
            parts.see(&name);
            if later.acts_in(&place, &name).is_some() {
                appeared.entries.push(path);
            } else if kind.is_some_and(|kind| kind.is_symlink()) {
                if later.leads_out(roots, &path) {
                    appeared.others.push(path);
                }
            } else if kind.is_none_or(|kind| kind.is_dir()) {
                if !is_installed(&path) {
                    waiting.push(path);
                } else if fs::symlink_metadata(path.join(REPOSITORY)).is_ok() {
                    appeared.entries.push(path.join(REPOSITORY));
                }
            }
        }
        let head = Parts::head(&place);
        if parts.are_whole() && later.covers(roots, &head) {
            appeared.others.push(head);
        }
    }
    appeared
}

/// Whether an entry was made or changed at this time or later.
#[cfg(target_os = "linux")]
pub(crate) fn is_since(found: &fs::Metadata, since: (i64, i64)) -> bool {
    (found.ctime(), found.ctime_nsec()) >= since
}

/// The roots in which somebody works, without those that lie in another one.
fn outermost(later: &Later, roots: &[PathBuf]) -> Vec<PathBuf> {
    let worked_in = || roots.iter().filter(|root| !later.scratch.contains(root));
    let within = |root: &PathBuf| worked_in().any(|other| root != other && root.starts_with(other));
    worked_in().filter(|root| !within(root)).cloned().collect()
}

/// Of the read-only places those that lie right in an outermost root and hold no root: no command can move what is around them,
/// so what is at such a place is what was there.
fn closed_parts<'a>(outermost: &[PathBuf], roots: &[PathBuf], read_only: &'a [PathBuf]) -> Vec<&'a PathBuf> {
    let is_in_root = |place: &&PathBuf| {
        place
            .parent()
            .is_some_and(|around| outermost.iter().any(|root| root == around))
    };
    let holds_root = |place: &PathBuf| roots.iter().any(|root| root.starts_with(place));
    read_only
        .iter()
        .filter(is_in_root)
        .filter(|place| !holds_root(place))
        .collect()
}

static MEMORY: Mutex<Option<Memory>> = Mutex::new(None);

/// What is there in the roots, without what stays read-only right in one. With `remember` for a process that asks again and
/// again.
pub(crate) fn find(later: &Later, roots: &[PathBuf], read_only: &[PathBuf], remember: bool) -> Found {
    if !remember {
        return Memory::default().find(later, roots, read_only);
    }
    let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let memory = memory.get_or_insert_default();
    let names = (later.more.clone(), later.free.clone(), later.home.clone());
    if memory.names != names {
        *memory = Memory {
            names,
            ..Memory::default()
        };
    }
    memory.find(later, roots, read_only)
}

impl Memory {
    fn find(&mut self, later: &Later, roots: &[PathBuf], read_only: &[PathBuf]) -> Found {
        let mut found = Vec::new();
        let mut others = Vec::new();
        let mut left = Left {
            folders: MOST_FOLDERS,
            until: Instant::now() + PATIENCE,
        };
        let outermost = outermost(later, roots);
        let closed = closed_parts(&outermost, roots, read_only);
        for root in &outermost {
            self.look(later, root, &closed, &mut left, &mut |place, kind| {
                let stays = match kind {
                    Kind::Link if later.leads_out(roots, &place) => {
                        others.push(place);
                        return;
                    }
                    Kind::Head if later.covers(roots, &place) => {
                        others.push(place);
                        return;
                    }
                    Kind::Link | Kind::Head => return,
                    Kind::Closed => later.covers(roots, &place),
                    Kind::Acting => later.keeps(roots, &place).is_some(),
                };
                if found.len() <= MOST_FOUND && stays {
                    found.push(place);
                }
            });
        }
        if self.folders.len() > 4 * MOST_FOLDERS {
            self.folders.clear();
        }
        let partial = left.is_nothing() || found.len() > MOST_FOUND;
        found.truncate(MOST_FOUND);
        let (meetings, unlisted) = later.meetings(roots);
        found.extend(meetings);
        Found {
            there: found,
            others,
            unlisted,
            partial,
        }
    }

    /// `found` gets each entry by its place.
    fn look(
        &mut self,
        later: &Later,
        root: &Path,
        closed: &[&PathBuf],
        left: &mut Left,
        found: &mut dyn FnMut(PathBuf, Kind),
    ) {
        // The nearest come first, as not all may be looked at.
        let mut waiting = std::collections::VecDeque::from([root.to_owned()]);
        while let Some(place) = waiting.pop_front() {
            let is_passed_over = closed.iter().any(|closed| place == **closed);
            if is_passed_over || KERNELS.iter().any(|folder| place == Path::new(folder)) {
                continue;
            }
            if left.is_nothing() {
                tracing::debug!(root = %root.display(), "more folders than are looked through");
                return;
            }
            left.folders -= 1;
            let Some(folder) = self.folder(later, &place) else {
                continue;
            };
            let Inside {
                below,
                acting,
                installed,
                links,
                parts,
            } = &folder.inside;
            if parts.are_whole() {
                found(Parts::head(&place), Kind::Head);
            }
            let repositories = installed.iter().map(|name| place.join(name).join(REPOSITORY));
            for repository in repositories.filter(|place| fs::symlink_metadata(place).is_ok()) {
                found(repository, Kind::Acting);
            }
            for name in acting {
                found(place.join(name), Kind::Acting);
            }
            for name in links {
                // Each is followed, which takes more than a look at a name.
                if left.is_nothing() {
                    return;
                }
                found(place.join(name), Kind::Link);
            }
            waiting.extend(below.iter().map(|name| place.join(name)));
            if folder.closed && place != root {
                found(place, Kind::Closed);
            }
        }
    }

    fn folder(&mut self, later: &Later, place: &Path) -> Option<&Folder> {
        let found = fs::symlink_metadata(place).ok().filter(fs::Metadata::is_dir);
        let Some(found) = found else {
            self.folders.remove(place);
            return None;
        };
        let state = (found.dev(), found.ino(), found.ctime(), found.ctime_nsec());
        if self.folders.get(place).is_none_or(|known| known.state != state) {
            let inside = read(later, place);
            let settled = Duration::new(state.2.max(0) as u64, state.3 as u32) + UNSETTLED;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // One that may yet change unseen is looked at once more.
            let state = if settled < now { state } else { (0, 0, 0, 0) };
            let folder = Folder {
                state,
                inside,
                closed: is_closed(&found),
            };
            self.folders.insert(place.to_owned(), folder);
        }
        self.folders.get(place)
    }
}

/// Whether a folder cannot be looked into by this process, which could open it: what lies in it would be found by nobody, and
/// then be written.
fn is_closed(folder: &fs::Metadata) -> bool {
    let user = rustix::process::geteuid();
    !user.is_root() && folder.uid() == user.as_raw() && folder.mode() & 0o500 != 0o500
}

fn read(later: &Later, place: &Path) -> Inside {
    let mut inside = Inside::default();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        inside.parts.see(&name);
        if later.acts_in(place, &name).is_some() {
            inside.acting.push(name);
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && is_installed(&entry.path()) => inside.installed.push(name),
            Ok(kind) if kind.is_dir() => inside.below.push(name),
            Ok(kind) if kind.is_symlink() => inside.links.push(name),
            _ => {}
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_shows_of_itself_is_passed_over() {
        let later = Later::default();
        let mut left = Left {
            folders: 5,
            until: Instant::now() + Duration::from_secs(60),
        };
        for folder in KERNELS {
            Memory::default().look(&later, Path::new(folder), &[], &mut left, &mut |place, _| {
                panic!("{place:?}")
            });
        }
        assert_eq!(left.folders, 5);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn all_that_has_come_since_is_found() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        for folder in ["a/b/.vscode", "node_modules/x/.vscode", "old", "closed", "shut"] {
            fs::create_dir_all(root.join(folder)).expect("mkdir");
        }
        let close = |folder: &str, mode: u32| {
            fs::set_permissions(root.join(folder), fs::Permissions::from_mode(mode)).expect("chmod");
        };
        symlink(root.join("node_modules/x"), root.join("old/link")).expect("symlink");
        close("closed", 0);
        std::thread::sleep(Duration::from_millis(50));
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after");
        let since = (since.as_secs() as i64, i64::from(since.subsec_nanos()));
        std::thread::sleep(Duration::from_millis(50));
        close("shut", 0);
        // More than a start looks through would not do here; that there is no bound shows in the code.
        for at in 0..1000 {
            fs::create_dir(root.join(format!("old/{at}"))).expect("mkdir");
        }
        fs::create_dir(root.join("old/999/.git")).expect("mkdir");
        for name in ["HEAD", "objects", "refs"] {
            fs::create_dir_all(root.join("old/bare").join(name)).expect("mkdir");
        }
        for (name, to) in [
            ("out", "node_modules/x"),
            ("in", "a/b"),
            ("file", "old/f"),
            ("nowhere", "target/x"),
        ] {
            symlink(root.join(to), root.join("a").join(name)).expect("symlink");
        }
        let mut found = appeared(&Later::default(), std::slice::from_ref(&root), &[], since);
        close("closed", 0o755);
        close("shut", 0o755);
        found.entries.sort();
        assert_eq!(found.entries, [root.join("a/b/.vscode"), root.join("old/999/.git")]);
        found.others.sort();
        assert_eq!(
            found.others,
            ["a/out", "old/bare/HEAD", "old/link"].map(|name| root.join(name))
        );
        let others = Memory::default()
            .find(&Later::default(), std::slice::from_ref(&root), &[])
            .others;
        assert_eq!(others.len(), 3, "{others:?}");
        let unseen = match rustix::process::geteuid().is_root() {
            true => vec![],
            false => vec![root.join("shut")],
        };
        assert_eq!(found.unseen, unseen);
    }

    /// What stays read-only right in a root is not gone through: with all of `/` writable that is most of the disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_stays_read_only_is_passed_over() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        for folder in ["closed", "around", "deep/closed", "around/root", "open"] {
            fs::create_dir_all(root.join(folder)).expect("mkdir");
            fs::write(root.join(folder).join("AGENTS.md"), "x").expect("write");
        }
        let roots = [root.clone(), root.join("around/root")];
        let read_only = ["closed", "around", "deep/closed"].map(|folder| root.join(folder));
        let later = Later::default();
        let below = |mut places: Vec<PathBuf>| {
            places.sort();
            let below = places.iter().map(|path| path.strip_prefix(&root).expect("below"));
            below.map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        let entries = [
            "around/AGENTS.md",
            "around/root/AGENTS.md",
            "deep/closed/AGENTS.md",
            "open/AGENTS.md",
        ];
        let found = Memory::default().find(&later, &roots, &read_only);
        assert_eq!(below(found.there), entries);
        let since = |at: SystemTime| {
            let since = at.duration_since(UNIX_EPOCH).expect("after");
            (since.as_secs() as i64, i64::from(since.subsec_nanos()))
        };
        let after = since(SystemTime::now() + Duration::from_secs(60));
        assert_eq!(below(appeared(&later, &roots, &read_only, after).entries), entries);
        // One that has come since is no wall's: it is looked into.
        let before = since(SystemTime::now() - Duration::from_secs(60));
        assert_eq!(
            below(appeared(&later, &roots, &read_only, before).entries),
            [&entries[..2], &["closed/AGENTS.md"], &entries[2..]].concat()
        );
    }

    #[test]
    fn what_takes_too_long_is_left() {
        let dir = tempfile::tempdir().expect("temporary folder");
        fs::write(dir.path().join("AGENTS.md"), "x").expect("write");
        let mut left = Left {
            folders: 5,
            until: Instant::now(),
        };
        std::thread::sleep(Duration::from_millis(1));
        Memory::default().look(&Later::default(), dir.path(), &[], &mut left, &mut |place, _| {
            panic!("{place:?}")
        });
        assert!(left.is_nothing());
    }

    #[test]
    fn what_is_there_and_what_has_come_since() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        for folder in ["a/b/.vscode", "node_modules/x/.vscode", ".git/hooks", "sub/.git"] {
            fs::create_dir_all(root.join(folder)).expect("mkdir");
        }
        fs::write(root.join("a/AGENTS.md"), "x").expect("write");
        let later = Later::default();
        let mut memory = Memory::default();
        let mut look = || {
            let found = memory.find(&later, std::slice::from_ref(&root), &[]);
            let below = found.there.iter().map(|path| path.strip_prefix(&root).expect("below"));
            let mut names: Vec<String> = below.map(|path| path.display().to_string()).collect();
            names.sort();
            names
        };
        assert_eq!(look(), [".git", "a/AGENTS.md", "a/b/.vscode", "sub/.git"]);
        fs::write(root.join("a/b/.envrc"), "x").expect("write");
        fs::remove_file(root.join("a/AGENTS.md")).expect("remove");
        assert_eq!(look(), [".git", "a/b/.envrc", "a/b/.vscode", "sub/.git"]);
        fs::create_dir_all(root.join("a/new/deep")).expect("mkdir");
        assert_eq!(look().len(), 4);
        fs::write(root.join("a/new/deep/.exrc"), "x").expect("write");
        assert_eq!(look().len(), 5);
    }
}
