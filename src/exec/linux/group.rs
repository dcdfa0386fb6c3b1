//! The bounds on a command that the kernel keeps: a cgroup of its own, beside the one that this process is in. There is
//! one where the folder above may be written and hands memory and processes on, as in a session of systemd or where
//! somebody has delegated a group.
//!
//! It is made while there is no order yet, and what runs a command is forked into it: to move a process there takes long.
//! The command cannot leave it, as nobody behind the walls can write below `/sys/fs/cgroup`. When it has ended, the group
//! is removed; what killed keepers have left behind is removed by the next starter.

use super::{memory, sys};
use crate::config::bounds::Bounds;
use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Where the one hierarchy of groups is.
const ROOT: &str = "/sys/fs/cgroup";

/// What the names of our groups begin with.
const OURS: &str = "countersign-";

/// How often a group is tried to be removed whose last process is about to end, a millisecond apart.
const TRIES: usize = 100;

/// A group for one command.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    folder: OwnedFd,
    /// Bytes of memory that there are around it.
    whole: u64,
    /// Whether what was forked is in it.
    entered: Cell<bool>,
    /// Whether it has the bounds of its command.
    bounded: Cell<bool>,
}

impl Group {
    /// Makes one; none where that is not allowed.
    pub(super) fn make() -> Option<Self> {
        let path = above()?.join(own_name()?);
        fs::create_dir(&path).ok()?;
        let Ok(folder) = File::open(&path) else {
            let _gone = fs::remove_dir(&path);
            return None;
        };
        Some(Self {
            path,
            folder: folder.into(),
            whole: memory::whole(),
            entered: Cell::new(false),
            bounded: Cell::new(false),
        })
    }

    /// Sets the bounds. Where the kernel does not take one of them, the group does not count as bounded.
    pub(super) fn bound(&self, bounds: Bounds) {
        let write = |name: &str, value: u64| fs::write(self.path.join(name), value.to_string());
        // Nothing is swapped, so that the bound is one on all. Without swap there is no such file.
        let _no_swap = write("memory.swap.max", 0);
        let set = write("memory.oom.group", 1)
            .and_then(|()| write("memory.max", bounds.memory.of(self.whole)))
            // One is the inner keeper.
            .and_then(|()| write("pids.max", bounds.processes.saturating_add(1)));
        self.bounded.set(set.is_ok());
    }

    /// Forks, the child in the group if that can be.
    pub(super) fn fork(&self, flags: libc::c_int) -> io::Result<sys::Forked> {
        match sys::fork_into(flags, &self.folder) {
            Ok(forked) => {
                self.entered.set(true);
                Ok(forked)
            }
            Err(_) => {
                self.entered.set(false);
                sys::fork(flags)
            }
        }
    }

    /// Whether the kernel keeps the bounds of what was forked last.
    pub(super) fn holds(&self) -> bool {
        self.entered.get() && self.bounded.get()
    }

    /// The bytes that there may be, if the kernel has ended what is in it because there were more.
    pub(super) fn starved(&self, bounds: Bounds) -> Option<u64> {
        let events = fs::read_to_string(self.path.join("memory.events")).ok()?;
        let killed = events.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
        (self.holds() && killed.trim() != "0").then(|| bounds.memory.of(self.whole))
    }

    /// Ends all that is in it.
    pub(super) fn kill(&self) {
        let _old_kernel = fs::write(self.path.join("cgroup.kill"), "1");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        for _ in 0..TRIES {
            match fs::remove_dir(&self.path) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => sys::poll([None], 1),
                _ => return,
            };
        }
    }
}

/// Forks into a group, where there is one.
pub(super) fn fork(group: Option<&Group>, flags: libc::c_int) -> io::Result<sys::Forked> {
    match group {
        Some(group) => group.fork(flags),
        None => sys::fork(flags),
    }
}

/// Starts a process in a group, where there is one, that ends with what `child` returns.
pub(super) fn spawn(group: Option<&Group>, mut child: impl FnMut() -> u8) -> io::Result<libc::pid_t> {
    match group {
        None => sys::spawn(child),
        Some(group) => match group.fork(0)? {
            sys::Forked::Child => sys::exit(child()),
            sys::Forked::Parent(pid) => Ok(pid),
        },
    }
}

/// Removes groups whose keepers were killed, with what still runs in them.
pub(super) fn clear() {
    let Some(above) = above() else { return };
    for entry in fs::read_dir(&above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(is_left) {
            let _old_kernel = fs::write(entry.path().join("cgroup.kill"), "1");
            let _busy = fs::remove_dir(entry.path());
        }
    }
}

/// The folder above this process's own group, if groups can be made there that bound memory and processes.
fn above() -> Option<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let above = above_of(&own)?;
    let handed_on = fs::read_to_string(above.join("cgroup.subtree_control")).ok()?;
    let has = |name: &str| handed_on.split_ascii_whitespace().any(|one| one == name);
    (has("memory") && has("pids")).then_some(above)
}

/// The same by its path alone, as `/proc/self/cgroup` has it.
fn above_of(own: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // One outside of the namespace of groups leads up.
    let inside = !path.is_empty() && !path.split('/').any(|part| part == "..");
    inside.then(|| Path::new(ROOT).join(path).parent().map(Path::to_owned))?
}

/// `countersign-`, the namespace of process ids, this process's id in it, and when it has started.
fn own_name() -> Option<String> {
    let pid = sys::own_pid();
    Some(format!("{OURS}{}-{pid}-{}", namespace()?, began(pid)?))
}

/// Whether a group of this name is one of a keeper that is no more. Of other namespaces that cannot be known.
fn is_left(name: &str) -> bool {
    let mut parts = name
        .strip_prefix(OURS)
        .unwrap_or_default()
        .split('-')
        .map(str::parse::<u64>);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(Ok(space)), Some(Ok(pid)), Some(Ok(start)), None) => {
            let is_there = libc::pid_t::try_from(pid).is_ok_and(|pid| began(pid) == Some(start));
            namespace() == Some(space) && !is_there
        }
        _ => false,
    }
}

fn namespace() -> Option<u64> {
    Some(fs::metadata("/proc/self/ns/pid").ok()?.ino())
}

/// When a process has started, in the kernel's own ticks.
fn began(pid: libc::pid_t) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_groups_are_made() {
        for (own, expected) in [
            (
                "0::/user.slice/user-1.slice/session-3.scope\n",
                Some("/sys/fs/cgroup/user.slice/user-1.slice"),
            ),
            ("4:memory:/x\n0::/a/b\n", Some("/sys/fs/cgroup/a")),
            ("0::/a\n", Some("/sys/fs/cgroup")),
            // The root has nothing beside it, and what is outside of the namespace is not ours.
            ("0::/\n", None),
            ("0::/../a\n", None),
            ("4:memory:/x\n", None),
            ("", None),
        ] {
            assert_eq!(above_of(own).as_deref(), expected.map(Path::new), "{own:?}");
        }
    }

    #[test]
    fn what_is_left_of_others() {
        let own = own_name().expect("/proc");
        let space = namespace().expect("/proc");
        assert!(!is_left(&own), "{own}");
        for (name, expected) in [
            (format!("{OURS}{space}-{}-1", libc::pid_t::MAX), true),
            // The id is somebody else's now.
            (format!("{OURS}{space}-{}-1", sys::own_pid()), true),
            (format!("{OURS}1-{}-1", libc::pid_t::MAX), false),
            (format!("{OURS}{space}-5"), false),
            (format!("{OURS}{space}-x-1"), false),
            ("session-3.scope".to_owned(), false),
        ] {
            assert_eq!(is_left(&name), expected, "{name}");
        }
    }
}
