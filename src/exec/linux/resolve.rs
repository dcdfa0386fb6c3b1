//! Where a name leads, links followed as a thread of the command would follow them, and how long its keeper looks for that: a
//! name is a question of the command's, and while it is answered nothing else is.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// Links that are followed: as many as the kernel does, and the one by which the keeper gets to a thread's own folder.
const MAX_LINKS: usize = 40 + 1;

/// Parts of one path, with those of all links on the way. The kernel follows more, and nobody has such paths.
const MOST_PARTS: usize = 4_096;

/// How long one question is looked into.
const LOOKING: Duration = Duration::from_millis(250);

/// Looks for which no clock is asked: so few take no time but what others take from this process.
const UNTIMED: usize = 4_096;

/// Looks after which whatever else is due has its turn.
const EVERY: usize = 64;

/// What its keeper cannot look at: a process that has made itself so, or more than there is time for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unseen;

/// How much is still looked at for one question.
pub(super) struct Patience<'a> {
    until: Instant,
    looks: usize,
    /// Does what is due beside; whether anybody still waits for the answer.
    beside: &'a mut dyn FnMut() -> bool,
}

impl<'a> Patience<'a> {
    pub(super) fn new(beside: &'a mut dyn FnMut() -> bool) -> Self {
        Self {
            until: Instant::now() + LOOKING,
            looks: 0,
            beside,
        }
    }

    /// Has one more look.
    ///
    /// # Errors
    /// There is no more time.
    pub(super) fn look(&mut self) -> Result<(), Unseen> {
        self.looks += 1;
        if !self.looks.is_multiple_of(EVERY) {
            return Ok(());
        }
        let is_waited_for = (self.beside)();
        let has_time = self.looks <= UNTIMED || Instant::now() < self.until;
        if is_waited_for && has_time { Ok(()) } else { Err(Unseen) }
    }
}

/// A folder that is about to be moved.
#[derive(Clone, Copy)]
pub(super) struct Moved<'a> {
    pub from: &'a Path,
    pub to: &'a Path,
}

/// Where a place is, as long as the folder around it has not been moved.
pub(super) fn now_at(place: &Path, moved: Option<Moved<'_>>) -> PathBuf {
    let below = moved.and_then(|moved| Some(moved.from.join(place.strip_prefix(moved.to).ok()?)));
    below.unwrap_or_else(|| place.to_owned())
}

/// Where a path leads; its last part is followed with `last`, and need not be there. With `moved`, as it will be once that
/// has happened.
///
/// # Errors
/// It cannot be looked at, or is too much to follow.
pub(super) fn resolve(
    thread: libc::pid_t,
    path: &Path,
    mut last: bool,
    moved: Option<Moved<'_>>,
    patience: &mut Patience<'_>,
) -> Result<Option<PathBuf>, Unseen> {
    let own = PathBuf::from(format!("/proc/{thread}"));
    let mut place = PathBuf::from("/");
    let mut rest: Vec<OsString> = Vec::new();
    push(&mut rest, path);
    let (mut links, mut parts) = (0, 0);
    while let Some(part) = rest.pop() {
        parts += 1;
        // A link has many parts, of which each can be a link once more.
        if parts + rest.len() > MOST_PARTS {
            return Err(Unseen);
        }
        patience.look()?;
        if part == ".." {
            place.pop();
            continue;
        }
        place.push(&part);
        if place == Path::new("/proc/self") || place == Path::new("/proc/thread-self") {
            place.clone_from(&own);
            continue;
        }
        let is_last = rest.is_empty();
        if is_last && !last {
            continue;
        }
        match fs::read_link(now_at(&place, moved)) {
            Ok(target) => {
                // The kernel jumps to what is open there, and goes no further from a link.
                if is_last && is_jump(&place) {
                    last = false;
                }
                links += 1;
                // The kernel goes no further either. The links may be fewer once they are followed.
                if links > MAX_LINKS {
                    return Err(Unseen);
                }
                place.pop();
                if target.is_absolute() {
                    place = PathBuf::from("/");
                }
                push(&mut rest, &target);
            }
            // No link, or nothing there.
            Err(error) if crate::exec::protected::is_no_link(&error) => {}
            // The kernel does not let the command in either, unless it can change that.
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied
                    && !place.starts_with(&own)
                    && !place.parent().is_some_and(is_ours) => {}
            // Where it leads cannot be seen: a process that does not let anybody look, or a folder that is deeper than paths
            // are long.
            Err(_) => return Err(Unseen),
        }
    }
    Ok(Some(place))
}

/// Whether it is a link of `/proc` that stands for what a process has open, whatever its text says.
fn is_jump(place: &Path) -> bool {
    let is = |part: Option<&OsStr>, names: &[&str]| part.is_some_and(|part| names.iter().any(|name| part == *name));
    let folder = place.parent().and_then(Path::file_name);
    place.starts_with("/proc") && (is(folder, &["fd", "map_files"]) || is(place.file_name(), &["cwd", "root", "exe"]))
}

/// Whether a folder belongs to the user that the command runs as, who can open it.
fn is_ours(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(folder).is_ok_and(|found| found.uid() == user)
}

/// Puts the parts of a path on top, the first one uppermost.
fn push(rest: &mut Vec<OsString>, path: &Path) {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => rest.push(name.to_owned()),
            Component::ParentDir => rest.push("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::questions::seen_by;
    use super::*;
    use std::os::unix::fs::symlink;

    fn resolved(
        thread: libc::pid_t,
        path: &Path,
        last: bool,
        moved: Option<Moved<'_>>,
    ) -> Result<Option<PathBuf>, Unseen> {
        resolve(thread, path, last, moved, &mut Patience::new(&mut || true))
    }

    #[test]
    fn where_names_lead_by_table() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        fs::create_dir_all(root.join("a/b")).expect("mkdir");
        symlink("/proc/self/root", root.join("own")).expect("symlink");
        symlink("a/b", root.join("short")).expect("symlink");
        symlink("../.vscode", root.join("a/alias")).expect("symlink");
        symlink("round", root.join("round")).expect("symlink");
        // Each of these crosses as many links as its number says.
        symlink("a/b/x", root.join("link1")).expect("symlink");
        for at in 2..=42 {
            symlink(format!("link{}", at - 1), root.join(format!("link{at}"))).expect("symlink");
        }
        let own = i32::try_from(std::process::id()).expect("a number");
        for (path, last, expected) in [
            ("a/b/x", true, Ok("a/b/x")),
            ("a/../a/./b", true, Ok("a/b")),
            ("short/x", true, Ok("a/b/x")),
            ("short", true, Ok("a/b")),
            ("short", false, Ok("short")),
            ("a/alias", true, Ok(".vscode")),
            ("a/alias", false, Ok("a/alias")),
            ("short/../alias", true, Ok(".vscode")),
            ("link39", true, Ok("a/b/x")),
            // Nothing gets by because it is too much to follow.
            ("link42", true, Err(Unseen)),
            ("round", true, Err(Unseen)),
        ] {
            let expected = expected.map(|path| Some(root.join(path)));
            assert_eq!(resolved(own, &root.join(path), last, None), expected, "{path}");
            let around = root.join("own").join(root.strip_prefix("/").expect("below")).join(path);
            assert_eq!(
                resolved(own, &around, last, None),
                expected,
                "{path} by the process's own root"
            );
        }
    }

    /// A path that is relative to a folder is followed as far as the kernel follows it from there.
    #[test]
    fn as_many_links_as_the_kernel_follows() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        symlink("file", root.join("link1")).expect("symlink");
        for at in 2..=41 {
            symlink(format!("link{}", at - 1), root.join(format!("link{at}"))).expect("symlink");
        }
        let folder = fs::File::open(&root).expect("open");
        let own = i32::try_from(std::process::id()).expect("a number");
        for (at, expected) in [
            (39, Ok(Some(root.join("file")))),
            (40, Ok(Some(root.join("file")))),
            (41, Err(Unseen)),
        ] {
            use std::os::fd::AsRawFd as _;
            let seen = seen_by(own, folder.as_raw_fd(), Path::new(&format!("link{at}")));
            assert_eq!(resolved(own, &seen, true, None), expected, "{at}");
        }
        fs::write(root.join("file"), "x").expect("write");
        assert!(fs::metadata(root.join("link40")).is_ok() && fs::metadata(root.join("link41")).is_err());
    }

    #[test]
    fn a_link_that_is_open_is_meant_itself() {
        use std::os::fd::AsRawFd as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        symlink("elsewhere", root.join("link")).expect("symlink");
        fs::write(root.join("file"), "x").expect("write");
        let own = i32::try_from(std::process::id()).expect("a number");
        for name in ["link", "file"] {
            let open = fs::File::options()
                .read(true)
                .custom_flags(libc::O_PATH | libc::O_NOFOLLOW)
                .open(root.join(name))
                .expect("open");
            let path = format!("/proc/self/fd/{}", open.as_raw_fd());
            assert_eq!(
                resolved(own, Path::new(&path), true, None),
                Ok(Some(root.join(name))),
                "{name}"
            );
        }
    }

    #[test]
    fn links_are_followed_as_they_will_lead() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        fs::create_dir_all(root.join("old/sub")).expect("mkdir");
        symlink("/usr", root.join("old/out")).expect("symlink");
        let (from, to) = (root.join("old"), root.join("new"));
        let moved = Some(Moved { from: &from, to: &to });
        for (path, expected) in [
            ("new/sub/../x", root.join("new/x")),
            ("new/out/../x", "/x".into()),
            ("new/sub", root.join("new/sub")),
        ] {
            assert_eq!(resolved(1, &root.join(path), true, moved), Ok(Some(expected)), "{path}");
        }
        assert!(now_at(&root.join("new/sub"), moved).is_dir());
    }

    fn is_given_up(root: &Path, patience: &mut Patience<'_>) -> bool {
        resolve(1, &root.join("link39"), true, None, patience) == Err(Unseen)
    }

    /// What takes long to follow is given up, and what is due beside has its turn meanwhile.
    #[test]
    fn what_takes_too_long_is_given_up() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        // No file system has shorter links.
        let round = "d/../".repeat(180);
        symlink("file", root.join("link0")).expect("symlink");
        for at in 1..=40 {
            symlink(format!("{round}link{}", at - 1), root.join(format!("link{at}"))).expect("symlink");
        }
        let own = i32::try_from(std::process::id()).expect("a number");
        for (path, expected) in [
            ("link0", Ok(Some(root.join("file")))),
            ("link1", Ok(Some(root.join("file")))),
            ("link39", Err(Unseen)),
        ] {
            assert_eq!(resolved(own, &root.join(path), true, None), expected, "{path}");
        }
        let mut turns = 0;
        let mut beside = || {
            turns += 1;
            true
        };
        let mut patience = Patience::new(&mut beside);
        patience.until = Instant::now() + Duration::from_secs(60);
        for _ in 0..3 {
            assert!(is_given_up(&root, &mut patience));
        }
        // However many there are, they have the time of one question together.
        patience.until = Instant::now();
        let looks = patience.looks;
        assert!(is_given_up(&root, &mut patience));
        assert!(patience.looks - looks <= EVERY, "{looks} {}", patience.looks);
        assert!(turns >= 3 * (MOST_PARTS / EVERY / 2), "{turns}");
        // Where nobody waits any more there is no time at all.
        let mut gone = || false;
        let mut patience = Patience::new(&mut gone);
        assert!(is_given_up(&root, &mut patience));
        assert_eq!(patience.looks, EVERY);
        // Of few, no clock is asked.
        let mut beside = || true;
        let mut patience = Patience::new(&mut beside);
        patience.until = Instant::now();
        let found = resolve(own, &root.join("link1"), true, None, &mut patience);
        assert_eq!(found, Ok(Some(root.join("file"))));
    }
}
