//! Protected entries that the command made although they did not exist before: the second line behind the keeper's
//! questions, once nothing of the command is alive. They are moved away, not deleted, in case they are the person's: out of
//! their folder, or where that takes too much (another file system), to a name there by which nothing acts on them.

use super::moments::Moments;
use super::names::{Named, Names};
use super::{Post, sys};
use crate::exec::confinement::Walls;
use crate::exec::protected::{self, Guard};
use crate::exec::role::Report;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where they go: folders that outlive the command, the more lasting one first.
const PLACES: [&str; 2] = ["/var/tmp", "/tmp"];

/// What appears while so short a command runs is the command's.
const SHORT: Duration = Duration::from_secs(60);

/// The folders in which a name must not appear, held since before the command started: what it does to the way there
/// (moves the folder, puts a link in its place) leads nowhere else.
pub(super) struct Watched<'a> {
    guard: &'a Guard,
    roots: Vec<(PathBuf, OwnedFd)>,
    walls: &'a Walls,
    /// By device and inode: what was there of the entries that act later. They may have been moved with their folders.
    known: HashSet<(u64, u64)>,
    since: Instant,
    /// The same, as times of files go.
    since_files: (i64, i64),
}

impl<'a> Watched<'a> {
    pub(super) fn new(guard: &'a Guard, walls: &'a Walls) -> Self {
        let mut roots: Vec<(PathBuf, OwnedFd)> = Vec::new();
        for (root, _) in &guard.missing {
            if !roots.iter().any(|(known, _)| known == root)
                && let Ok(opened) = sys::open_canonical(root)
            {
                roots.push((root.clone(), opened));
            }
        }
        let there = walls
            .later
            .iter()
            .flat_map(|later| later.there.iter().chain(&later.others));
        let known = there.filter_map(|place| fs::symlink_metadata(place).ok());
        Self {
            guard,
            roots,
            walls,
            known: known.map(|found| (found.dev(), found.ino())).collect(),
            since: Instant::now(),
            since_files: sys::file_time(),
        }
    }

    /// Takes away what has appeared. `names` is what the command has tried to make or change.
    pub(super) fn intruders(&self, post: &Post<'_>, names: &Names) {
        let mut room = Room::default();
        if names.named > Named::Nothing {
            self.later_ones(post, names, &mut room);
        }
        for (root, name) in &self.guard.missing {
            let before = self.roots.iter().find(|(known, _)| known == root);
            // Another folder may stand there by now; a link in its place is not followed.
            let now = sys::open_canonical(root).ok();
            for folder in before.map(|(_, folder)| folder).into_iter().chain(&now) {
                take_away(folder, root, name, &mut room, post);
            }
        }
        for (root, target) in &self.guard.awaited {
            if let Some(made) = leading_to(root, target)
                && let (Some(folder), Some(name)) = (made.parent(), made.file_name())
                && let Ok(opened) = sys::open_canonical(folder)
            {
                take_away(&opened, folder, name, &mut room, post);
            }
        }
    }
}

impl Watched<'_> {
    /// Entries that act later, and were not there: the answers about names can be raced, these cannot. A command that runs
    /// for long and has tried nothing of the kind did not make them, but for what it has moved, and what has come while it was
    /// making something: the person works on meanwhile.
    fn later_ones(&self, post: &Post<'_>, names: &Names, room: &mut Room) {
        let has_tried = names.named == Named::Kept;
        let is_of_command = has_tried || names.moves.are_too_many() || self.since.elapsed() < SHORT;
        let Some(later) = &self.walls.later else { return };
        let roots = &self.walls.roots;
        let appeared = protected::appeared(later, roots, &self.walls.read_only, self.since_files);
        let (mut intruders, mut left, mut unseen) = (Vec::new(), Vec::new(), appeared.unseen);
        let there: HashSet<&PathBuf> = later.there.iter().chain(&later.others).collect();
        let others: HashSet<PathBuf> = appeared.others.into_iter().collect();
        for place in appeared.entries.into_iter().chain(others.iter().cloned()) {
            // A folder that cannot be looked into is no such entry.
            let counts = others.contains(&place) || later.keeps(roots, &place).is_some();
            if !counts || there.contains(&place) {
                continue;
            }
            let Ok(found) = fs::symlink_metadata(&place) else {
                continue;
            };
            // A number may be given once more, to what is new.
            if self.known.contains(&(found.dev(), found.ino())) && !protected::is_since(&found, self.since_files) {
                continue;
            }
            let brought = names.moves.brought(&place) || self.came_in(&names.moments, &place, &found);
            // Not all that was there is known then. What is unchanged was there too, but may have come with a folder around it,
            // or lead to something else.
            if !later.partial || protected::is_since(&found, self.since_files) {
                intruders.push((place, brought));
            } else if brought || others.contains(&place) && self.leads_to_changed(&place) {
                left.push(place);
            } else if (has_tried || names.moves.are_any()) && self.is_in_changed(&place) {
                unseen.push(place);
            }
        }
        // First: there is room for so many words only.
        if let Some(first) = unseen.first() {
            let (first, more) = (crate::shown::path(first), unseen.len() - 1);
            post.send(&Report::Unseen { first, more });
        }
        let leave = |place: &Path| {
            let path = crate::shown::path(place);
            post.send(&Report::Appeared { path });
        };
        left.iter().for_each(|place| leave(place));
        for (place, brought) in &intruders {
            let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
                continue;
            };
            match sys::open_canonical(folder) {
                Ok(opened) if is_of_command || *brought => take_away(&opened, folder, name, room, post),
                _ => leave(place),
            }
        }
    }

    /// Whether an entry came to its place in one of these moments: by itself, or, if it is as it was, with a folder around it.
    fn came_in(&self, moments: &Moments, place: &Path, found: &fs::Metadata) -> bool {
        let came = |found: &fs::Metadata| moments.are_of(found, self.since_files);
        let around = || {
            let mut around = place.parent().into_iter().flat_map(|folder| self.below_root(folder));
            around.any(|folder| fs::symlink_metadata(folder).is_ok_and(|found| came(&found)))
        };
        came(found) || !protected::is_since(found, self.since_files) && around()
    }

    /// A folder and those around it, as far as they lie below its root.
    fn below_root<'p>(&self, folder: &'p Path) -> impl Iterator<Item = &'p Path> {
        let ancestors = folder.ancestors();
        ancestors.take_while(|folder| !self.walls.roots.iter().any(|root| root == folder))
    }

    /// Whether a folder around an entry, below its root, has changed since the command began: where one is moved, it has.
    fn is_in_changed(&self, place: &Path) -> bool {
        place.parent().is_some_and(|folder| self.is_changed(folder))
    }

    /// The same of what a link leads to.
    fn leads_to_changed(&self, link: &Path) -> bool {
        fs::canonicalize(link).is_ok_and(|target| self.is_changed(&target))
    }

    /// Whether a folder has changed since the command began, or one around it below its root.
    fn is_changed(&self, folder: &Path) -> bool {
        self.below_root(folder)
            .any(|folder| fs::symlink_metadata(folder).is_ok_and(|found| protected::is_since(&found, self.since_files)))
    }
}

/// What makes that something is at this place in a root: what lies there, or the first link on the way, whose target may
/// have been there before. Folders on the way are let stand.
fn leading_to<'a>(root: &Path, target: &'a Path) -> Option<&'a Path> {
    fs::symlink_metadata(target).ok()?;
    let inside = target.ancestors().take_while(|place| *place != root);
    Some(inside.filter(|place| place.is_symlink()).last().unwrap_or(target))
}

/// What may still be copied to another file system for one command.
struct Room {
    bytes: u64,
    entries: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            entries: 1_000,
        }
    }
}

impl Room {
    /// Takes what an entry needs.
    ///
    /// # Errors
    /// There is not so much left.
    fn take(&mut self, bytes: u64) -> io::Result<()> {
        let left = self.bytes.checked_sub(bytes).zip(self.entries.checked_sub(1));
        (self.bytes, self.entries) = left.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(())
    }
}

fn take_away(folder: &OwnedFd, root: &Path, name: &OsStr, room: &mut Room, post: &Post<'_>) {
    let real = at(folder);
    if fs::symlink_metadata(real.join(name)).is_err() {
        return;
    }
    let around = fs::read_link(&real).unwrap_or_else(|_| root.to_owned());
    let shown = around.join(name);
    let what = match move_away(&real, name, room) {
        Ok(place) => format!(
            "{}, a protected name that appeared while the command ran: moved to {}",
            shown.display(),
            around.join(place.strip_prefix(&real).unwrap_or(&place)).display()
        ),
        Err(error) => format!(
            "{}, a protected name that appeared while the command ran, but could not move it away ({error}); check it before you \
             use the folder",
            shown.display()
        ),
    };
    post.send(&Report::SetAside { what });
}

/// A path to what a descriptor was opened on, however long its real one is.
fn at(opened: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}

/// Moves an entry of a folder away; where it is then.
///
/// # Errors
/// It has its name still.
fn move_away(folder: &Path, name: &OsStr, room: &mut Room) -> io::Result<PathBuf> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let unique = format!("countersign-set-aside-{}-{now}", sys::own_pid());
    // By this name nothing acts on it, whatever becomes of the rest. It needs no room, and no rights to what is inside.
    let renamed = folder.join(&unique);
    fs::rename(folder.join(name), &renamed)?;
    for place in PLACES {
        let own = Path::new(place).join(&unique);
        if fs::DirBuilder::new().mode(0o700).create(&own).is_err() {
            continue;
        }
        // Commands can write in the second place: a link that takes the place of the folder leads nowhere.
        let Ok(opened) = open_folder(&own) else {
            continue;
        };
        let target = at(&opened).join(name);
        match fs::rename(&renamed, &target) {
            Ok(()) => return Ok(own.join(name)),
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices && copy(&renamed, &target, room).is_ok() => {
                // What cannot be removed is still under a name that says nothing.
                let _left = remove(&renamed);
                return Ok(own.join(name));
            }
            Err(_) => {
                let _left = remove(&own);
            }
        }
    }
    Ok(renamed)
}

/// Copies to another file system; links as links, other special files not at all. Paths stay short, however deep it lies.
/// Another command can still exchange what is copied here, so what is opened counts and no link is followed on either side.
fn copy(from: &Path, to: &Path, room: &mut Room) -> io::Result<()> {
    let kind = fs::symlink_metadata(from)?.file_type();
    if kind.is_symlink() {
        room.take(0)?;
        return symlink(fs::read_link(from)?, to);
    }
    if !kind.is_dir() && !kind.is_file() {
        return room.take(0);
    }
    copy_opened(from, to, room)
}

fn copy_opened(from: &Path, to: &Path, room: &mut Room) -> io::Result<()> {
    let mut options = fs::File::options();
    // Where a pipe has taken its place, opening it does not wait.
    options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
    let from = options.open(from)?;
    let found = from.metadata()?;
    room.take(if found.is_file() { found.len() } else { 0 })?;
    if found.is_dir() {
        fs::create_dir(to)?;
        let to = open_folder(to)?;
        for entry in fs::read_dir(at(&from))? {
            let name = entry?.file_name();
            copy(&at(&from).join(&name), &at(&to).join(&name), room)?;
        }
    } else if found.is_file() {
        let mut options = fs::File::options();
        options.write(true).create_new(true).mode(found.mode() & 0o777);
        let mut to = options.open(to)?;
        // What is written to it meanwhile has no room.
        io::copy(&mut from.take(found.len()), &mut to)?;
    }
    Ok(())
}

fn open_folder(place: &Path) -> io::Result<fs::File> {
    let mut options = fs::File::options();
    options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW);
    options.open(place)
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// A folder in which the last one has a path that is longer than paths can be.
    fn make_deep(place: &Path) {
        fs::create_dir(place).expect("mkdir");
        let mut folder = open_folder(place).expect("open");
        for _ in 0..20 {
            let inner = at(&folder).join("x".repeat(250));
            fs::create_dir(&inner).expect("mkdir");
            folder = open_folder(&inner).expect("open");
        }
        fs::write(at(&folder).join("end"), "x").expect("write");
    }

    fn make_many(place: &Path) {
        fs::create_dir(place).expect("mkdir");
        for at in 0..Room::default().entries {
            fs::write(place.join(at.to_string()), "x").expect("write");
        }
    }

    #[test]
    fn what_is_moved_away_by_table() {
        // Each with whether it is copied to another file system.
        type Make = fn(&Path);
        let rows: [(&str, Make, bool); 6] = [
            (".envrc", |place| fs::write(place, "x").expect("write"), true),
            (".git", |place| symlink("nowhere", place).expect("symlink"), true),
            (".vscode", make_deep, true),
            (
                ".shut",
                |place| {
                    fs::create_dir(place).expect("mkdir");
                    fs::set_permissions(place, fs::Permissions::from_mode(0o555)).expect("chmod");
                },
                true,
            ),
            (".many", make_many, false),
            (
                ".large",
                |place| {
                    let file = fs::File::create(place).expect("create");
                    file.set_len(Room::default().bytes + 1).expect("a sparse file");
                },
                false,
            ),
        ];
        for around in ["/var/tmp", "/dev/shm"] {
            let Ok(dir) = tempfile::tempdir_in(around) else {
                continue;
            };
            let root = fs::canonicalize(dir.path()).expect("canonical");
            let device = |place: &Path| fs::metadata(place).expect("there").dev();
            let is_elsewhere = PLACES.iter().all(|place| device(Path::new(place)) != device(&root));
            for (name, make, fits) in rows {
                make(&root.join(name));
                let place = move_away(&root, OsStr::new(name), &mut Room::default()).expect(name);
                assert!(
                    fs::symlink_metadata(root.join(name)).is_err(),
                    "{around} {name} is there"
                );
                assert!(fs::symlink_metadata(&place).is_ok(), "{around} {name}: {place:?}");
                let stays = place.starts_with(&root);
                if is_elsewhere {
                    assert_eq!(stays, !fits, "{around} {name}: {place:?}");
                }
                if !stays {
                    remove(place.parent().expect("a folder of its own")).expect("clean up");
                }
            }
        }
    }

    /// What a link leads to is not copied, whenever the link came, and nothing is written through one.
    #[test]
    fn what_is_swapped_while_it_is_copied_is_not_followed() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        fs::write(root.join("secret"), "secret").expect("write");
        fs::create_dir(root.join("folder")).expect("mkdir");
        fs::write(root.join("folder/f"), "secret").expect("write");
        symlink("secret", root.join("file link")).expect("symlink");
        symlink("folder", root.join("folder link")).expect("symlink");
        let pipe = root.join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
        // As if each had been a file or a folder at the look before.
        for (name, is_error) in [("file link", true), ("folder link", true), ("pipe", false)] {
            let to = root.join("copy");
            let copied = copy_opened(&root.join(name), &to, &mut Room::default());
            assert_eq!(copied.is_err(), is_error, "{name}: {copied:?}");
            assert!(fs::symlink_metadata(&to).is_err(), "{name}");
        }
        fs::write(root.join("new"), "new").expect("write");
        for (from, to) in [("new", "file link"), ("folder", "folder link"), ("new", "secret")] {
            let copied = copy(&root.join(from), &root.join(to), &mut Room::default());
            assert!(copied.is_err(), "{from} to {to}");
        }
        assert_eq!(fs::read_to_string(root.join("secret")).expect("read"), "secret");
        copy(&root.join("file link"), &root.join("second link"), &mut Room::default()).expect("a link");
        assert_eq!(
            fs::read_link(root.join("second link")).expect("a link"),
            Path::new("secret")
        );
    }

    /// Where not all that was there is known, nothing that may have come is passed over in silence.
    #[test]
    fn what_may_have_come_along_is_named() {
        use std::cell::RefCell;
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        for folder in [
            "src/deep",
            "node_modules/old/.vscode",
            "node_modules/other/.vscode",
            "own/.vscode",
        ] {
            fs::create_dir_all(root.join(folder)).expect("mkdir");
        }
        fs::write(root.join("node_modules/f"), "x").expect("write");
        symlink("../node_modules/f", root.join("src/link")).expect("symlink");
        std::thread::sleep(Duration::from_millis(50));
        let walls = Walls {
            roots: vec![root.clone()],
            later: Some(protected::Later {
                partial: true,
                ..protected::Later::default()
            }),
            ..Walls::default()
        };
        let guard = Guard::default();
        let watched = Watched::new(&guard, &walls);
        std::thread::sleep(Duration::from_millis(50));
        fs::remove_file(root.join("node_modules/f")).expect("remove");
        fs::create_dir(root.join("node_modules/f")).expect("mkdir");
        let mut names = Names {
            named: Named::Any,
            ..Names::default()
        };
        names.moves.note(Some(&root.join("src/moved")));
        fs::rename(root.join("node_modules/old"), root.join("src/moved")).expect("rename");
        // Where it goes was not seen.
        fs::rename(root.join("node_modules/other"), root.join("src/deep/unseen")).expect("rename");
        let told = RefCell::new(Vec::new());
        let tell = |words: &str| told.borrow_mut().push(words.to_owned());
        watched.intruders(&Post::Person(&tell), &names);
        let told = told.into_inner();
        for (place, expected) in [
            ("src/link", 1),
            ("src/moved/.vscode", 1),
            ("src/deep/unseen/.vscode", 1),
            ("own/.vscode", 0),
        ] {
            let path = root.join(place).display().to_string();
            let count = told.iter().filter(|words| words.contains(&path)).count();
            assert_eq!(count, expected, "{place}: {told:?}");
            assert!(fs::symlink_metadata(&path).is_ok(), "{place}");
        }
    }

    /// However long a command runs, what has come while it was making something, or moving it, is its own. What has come at
    /// other times is the person's.
    #[test]
    fn what_came_while_something_was_made_is_taken_away() {
        use std::cell::RefCell;
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        for folder in ["a", "b", "target/c/.vscode"] {
            fs::create_dir_all(root.join(folder)).expect("mkdir");
        }
        let walls = Walls {
            roots: vec![root.clone()],
            later: Some(protected::Later::default()),
            ..Walls::default()
        };
        let pause = || std::thread::sleep(Duration::from_millis(100));
        pause();
        let guard = Guard::default();
        let mut watched = Watched::new(&guard, &walls);
        let long_ago = watched.since.checked_sub(2 * SHORT);
        watched.since = long_ago.expect("a machine that has been up for two minutes");
        pause();
        let from = sys::file_time();
        fs::write(root.join("a/AGENTS.md"), "x").expect("write");
        fs::rename(root.join("target/c"), root.join("c")).expect("rename");
        pause();
        let to = sys::file_time();
        pause();
        fs::write(root.join("b/AGENTS.md"), "x").expect("write");
        let span = [from.0, from.1, to.0, to.1].map(i64::to_le_bytes).concat();
        let names = Names {
            named: Named::Any,
            moments: Moments::of([&span, &span]),
            ..Names::default()
        };
        let told = RefCell::new(Vec::new());
        let tell = |words: &str| told.borrow_mut().push(words.to_owned());
        watched.intruders(&Post::Person(&tell), &names);
        let told = told.into_inner();
        for (place, expected) in [("a/AGENTS.md", true), ("c/.vscode", true), ("b/AGENTS.md", false)] {
            let is_gone = fs::symlink_metadata(root.join(place)).is_err();
            assert_eq!(is_gone, expected, "{place}: {told:?}");
            assert!(told.iter().any(|words| words.contains(place)), "{place}: {told:?}");
        }
        let moved = told.iter().filter_map(|words| words.rsplit_once("moved to "));
        for own in moved.filter_map(|(_, place)| Path::new(place).parent()) {
            let is_own = own.starts_with(PLACES[0]) || own.starts_with(PLACES[1]);
            if is_own && !own.starts_with(&root) {
                remove(own).expect("clean up");
            }
        }
    }

    #[test]
    fn what_leads_to_a_place_by_table() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        for folder in ["plain/target", "empty", "own/target", "deep"] {
            fs::create_dir_all(root.join(folder)).expect("mkdir");
        }
        for (to, at) in [("own", "link"), ("../link", "deep/link"), ("nowhere", "empty/dangling")] {
            symlink(to, root.join(at)).expect("symlink");
        }
        for (target, expected) in [
            ("plain/target", Some("plain/target")),
            ("plain/other", None),
            ("empty/target", None),
            ("absent/target", None),
            ("empty/dangling", Some("empty/dangling")),
            ("link/target", Some("link")),
            ("link/other", None),
            ("deep/link/target", Some("deep/link")),
        ] {
            let target = root.join(target);
            let expected = expected.map(|place| root.join(place));
            assert_eq!(leading_to(&root, &target), expected.as_deref(), "{target:?}");
        }
    }
}
