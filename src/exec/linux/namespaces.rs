//! The wall of views: in a mount namespace of its own the command sees the whole disk read-only, except the writable
//! roots, and in those the protected entries read-only again. Unlike Landlock this also covers changes of mode, owner
//! and times; and places that may not be read are covered (`hidden`). Its own process, ipc and (without a network)
//! network namespaces hide everything outside. No devices can be opened in it but those that do no harm.

use super::limits::Limits;
use super::{hidden, landlock, sys};
use crate::config::bounds::Bounds;
use crate::exec::protected::Guard;
use indexmap::IndexMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is the same for every command, and so can be done before there is an order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prepared {
    /// Whether its loopback works, where the network is its own.
    pub loopback: bool,
    /// Whether its process namespace bounds the number of processes.
    pub bounded: bool,
    /// The capabilities that programs can still get.
    pub bounding: u64,
}

/// Prepares new namespaces, in which this process is the first.
pub(super) fn prepare(own_network: bool) -> Prepared {
    // A kernel that has no such bound leaves it to the limits of the processes.
    let bounded = Limits::of(Bounds::default()).bound_namespace();
    // Without the right to it the command has no loopback, as it has no other network.
    let loopback = own_network && sys::loopback_up().is_ok();
    // This process executes nothing itself; what it has in effect stays.
    sys::bound_capabilities(OVER_FILES, u64::MAX);
    Prepared {
        loopback,
        bounded,
        bounding: OVER_FILES,
    }
}

impl Prepared {
    /// For a command that has other bounds than most. Its `/proc/sys` must still be writable.
    pub(super) fn bounded_by(self, bounds: Bounds) -> Self {
        let usual = bounds.processes == Bounds::default().processes;
        Self {
            bounded: self.bounded && (usual || Limits::of(bounds).bound_namespace()),
            ..self
        }
    }
}

/// What the command's view of the disk adds.
#[derive(Debug)]
pub(super) struct View {
    /// Its own shared memory, which it may write.
    pub shared_memory: Option<PathBuf>,
    /// Its own message queues, which have no path where the system mounts none.
    pub message_queues: Option<OwnedFd>,
    /// Whether the terminals below `/dev/pts` are its own.
    pub own_terminals: bool,
}

/// The namespaces to try, best first: root needs no user namespace, and keeps its rights over files without one.
pub(super) fn attempts(network: bool) -> Vec<libc::c_int> {
    let mut flags = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    if !network {
        flags |= libc::CLONE_NEWNET;
    }
    let with_user = flags | libc::CLONE_NEWUSER;
    if sys::own_ids().0 == 0 {
        vec![flags, with_user]
    } else {
        vec![with_user]
    }
}

/// Keeps one's own user and group in a new user namespace, whose other ids are nobody's. Must come before anything else
/// in it. `ids` are those of the process that forked.
pub(super) fn enter(flags: libc::c_int, (user, group): (u32, u32)) -> io::Result<()> {
    if flags & libc::CLONE_NEWUSER == 0 {
        return Ok(());
    }
    // A kernel without the file does not ask for it.
    let _old_kernel = fs::write("/proc/self/setgroups", "deny");
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Lays out the view. `roots` are canonical; `names` is the text of the table of host names, where the machine's own will
/// not do.
///
/// # Errors
/// The kernel refuses a part of it, as a fresh `/proc` in many containers.
pub(super) fn build(roots: &[PathBuf], guard: &Guard, names: Option<&str>) -> io::Result<View> {
    let everything = roots.iter().any(|root| root == Path::new("/"));
    // From here on nothing that is mounted shows outside.
    sys::mount(c"none", Path::new("/"), c"", libc::MS_REC | libc::MS_PRIVATE, c"")?;
    let mut trees = Vec::new();
    // Terminals are mounted anew.
    for device in &landlock::DEVICES {
        if let Ok((opened, found)) = sys::identify(Path::new(device))
            && !found.is_folder
            && !found.is_link
        {
            trees.push((sys::copy_of(&opened)?, PathBuf::from(device)));
        }
    }
    for (path, access) in plan(roots, guard) {
        let tree = match sys::copy_tree(&path) {
            Ok(tree) => tree,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let attributes = match access {
            Access::Write => sys::MOUNT_NO_DEVICES,
            Access::Read => sys::MOUNT_NO_DEVICES | sys::MOUNT_READ_ONLY,
        };
        sys::set_tree(Some(&tree), attributes)?;
        trees.push((tree, path));
    }
    let attributes = if everything {
        sys::MOUNT_NO_DEVICES
    } else {
        sys::MOUNT_NO_DEVICES | sys::MOUNT_READ_ONLY
    };
    sys::set_tree(None, attributes)?;
    for (tree, path) in trees {
        match sys::place_tree(&tree, &path) {
            // The person has taken it away meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound && guard.standing.contains(&path) => {}
            placed => placed?,
        }
    }
    hidden::cover(&guard.hidden, names)?;
    let unused = libc::MS_NOSUID | libc::MS_NOEXEC | libc::MS_NODEV;
    // Where parts of /proc are covered (containers), a fresh one is not allowed. By the old one the keeper would ask other
    // processes than those that it has the numbers of.
    let holder = Path::new(hidden::HOLDER);
    sys::mount(c"proc", holder, c"proc", unused | libc::MS_RDONLY, c"")
        .map_err(|error| io::Error::new(error.kind(), format!("a {} of its own: {error}", hidden::HOLDER)))?;
    let own_terminals = own_terminals();
    let shared_memory = own_shared_memory(roots);
    let message_queues = own_message_queues();
    Ok(View {
        shared_memory,
        message_queues,
        own_terminals,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// What to mount where, outer before inner: the roots, the guarded entries in them, and the folders between a root and a
/// guarded entry: a folder that is a mount cannot be renamed, so what it leads to stays where it is. A root within a root
/// needs no mount of its own, which would only keep files from being renamed into it.
fn plan(roots: &[PathBuf], guard: &Guard) -> Vec<(PathBuf, Access)> {
    let mut mounts = Mounts::default();
    let within = |path: &Path| roots.iter().any(|root| path.starts_with(root) && path != root);
    let between = |path: &Path, mounts: &mut Mounts| {
        for folder in path
            .ancestors()
            .skip(1)
            .take_while(|folder| within(folder) || roots.iter().any(|root| root == folder))
        {
            mounts.add(folder, || {
                // On the way to a place that was granted inside something guarded.
                let guarded = guard.nearest(folder).is_some() && !granted(folder, roots, guard);
                if guarded { Access::Read } else { Access::Write }
            });
        }
    };
    for path in &guard.existing {
        mounts.add(path, || Access::Read);
        between(path, &mut mounts);
    }
    // The folders around these may be moved, and they with them.
    for path in guard.standing.iter().filter(|path| within(path)) {
        mounts.add(path, || Access::Read);
    }
    // What covers a hidden place comes later; here it is kept where it is.
    for path in guard.hidden.iter().filter(|path| within(path)) {
        between(path, &mut mounts);
    }
    for root in roots {
        if !within(root) {
            mounts.add(root, || Access::Write);
        } else if guard.nearest(root).is_some() {
            mounts.add(root, || Access::Write);
            between(root, &mut mounts);
        }
    }
    let mut mounts: Vec<_> = mounts.0.into_iter().collect();
    mounts.sort_by_key(|(path, _)| path.components().count());
    mounts
}

/// Places and how each is mounted: as it was first said.
#[derive(Default)]
struct Mounts(IndexMap<PathBuf, Access>);

impl Mounts {
    fn add(&mut self, path: &Path, access: impl FnOnce() -> Access) {
        if path != Path::new("/") && !self.0.contains_key(path) {
            self.0.insert(path.to_owned(), access());
        }
    }
}

/// Whether a path lies in a root that itself lies in something guarded, or is one.
fn granted(path: &Path, roots: &[PathBuf], guard: &Guard) -> bool {
    let depth = |path: &Path| path.components().count();
    let root = roots
        .iter()
        .filter(|root| path.starts_with(root))
        .map(|root| depth(root))
        .max();
    root > guard.nearest(path).map(|guarded| depth(&guarded))
}

/// Pseudo-terminals of its own, so that the person's are out of reach. Without them programs do as in a pipe.
fn own_terminals() -> bool {
    let folder = Path::new("/dev/pts");
    let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
    let mounted = sys::mount(
        c"devpts",
        folder,
        c"devpts",
        flags,
        c"newinstance,ptmxmode=0666,mode=0620",
    )
    .is_ok();
    if mounted {
        let ptmx = Path::new("/dev/ptmx");
        if !ptmx.is_symlink() {
            let _absent = sys::copy_tree(&folder.join("ptmx")).and_then(|tree| sys::place_tree(&tree, ptmx));
        }
    }
    mounted
}

/// Semaphores and shared memory are files below `/dev/shm`: a fresh one, unless it is among the roots.
fn own_shared_memory(roots: &[PathBuf]) -> Option<PathBuf> {
    // A link to `/run/shm` on some systems.
    let folder = fs::canonicalize("/dev/shm").ok()?;
    if roots
        .iter()
        .any(|root| root.starts_with(&folder) || folder.starts_with(root))
    {
        return None;
    }
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    sys::mount(c"tmpfs", &folder, c"tmpfs", flags, c"mode=1777")
        .is_ok()
        .then_some(folder)
}

/// Message queues have names in a file system of their own, one for each ipc namespace.
fn own_message_queues() -> Option<OwnedFd> {
    let queues = sys::new_mount(c"mqueue").ok()?;
    // Where the system shows its own, whose messages could be taken by whoever may read them.
    if let Ok(place) = sys::open_canonical(Path::new("/dev/mqueue")) {
        let _covered = sys::mount_over(&queues, &place);
    }
    Some(queues)
}

/// Capabilities that act on files only: to change owners, to pass by modes, to do what only owners may, to keep set-user
/// bits.
const OVER_FILES: u64 = 1 | 1 << 1 | 1 << 3 | 1 << 4;

impl View {
    /// Root needs none, except where the roots lie in folders of other people: there it would be locked out of its
    /// own work. These act on files only, and files outside the roots are read-only to everyone in this view.
    pub(super) fn capabilities_to_keep(&self, roots: &[PathBuf]) -> u64 {
        let foreign = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.uid() != 0);
        if sys::own_ids().0 == 0 && roots.iter().any(|root| root.ancestors().any(foreign)) {
            OVER_FILES & sys::own_capabilities()
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_by_table() {
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        let read = |path: &str| (PathBuf::from(path), Access::Read);
        let write = |path: &str| (PathBuf::from(path), Access::Write);
        for (roots, existing, expected) in [
            (
                paths(&["/ws"]),
                paths(&["/ws/.git"]),
                vec![write("/ws"), read("/ws/.git")],
            ),
            (
                paths(&["/tmp", "/tmp/a/b/ws"]),
                paths(&["/tmp/a/b/ws/.git"]),
                vec![
                    write("/tmp"),
                    write("/tmp/a"),
                    write("/tmp/a/b"),
                    write("/tmp/a/b/ws"),
                    read("/tmp/a/b/ws/.git"),
                ],
            ),
            // A grant inside something guarded, and the way to it.
            (
                paths(&["/ws", "/ws/.git/refs/heads"]),
                paths(&["/ws/.git"]),
                vec![
                    write("/ws"),
                    read("/ws/.git"),
                    read("/ws/.git/refs"),
                    write("/ws/.git/refs/heads"),
                ],
            ),
            // A root in a root.
            (paths(&["/ws", "/ws/sub"]), vec![], vec![write("/ws")]),
            (
                paths(&["/ws", "/ws/.git"]),
                paths(&["/ws/.git/hooks"]),
                vec![write("/ws"), write("/ws/.git"), read("/ws/.git/hooks")],
            ),
            // The target of a link.
            (
                paths(&["/ws"]),
                paths(&["/ws/.git", "/ws/deep/real"]),
                vec![write("/ws"), read("/ws/.git"), write("/ws/deep"), read("/ws/deep/real")],
            ),
        ] {
            let guard = Guard {
                existing: existing.into_iter().collect(),
                ..Guard::default()
            };
            let mut mounts = plan(&roots, &guard);
            mounts.sort();
            let mut expected: Vec<_> = expected;
            expected.sort();
            assert_eq!(mounts, expected, "{roots:?}");
        }
    }

    #[test]
    fn the_way_to_a_hidden_place_cannot_be_moved() {
        let guard = Guard {
            hidden: ["/ws/a/b/secret", "/ws", "/elsewhere/secret"]
                .map(PathBuf::from)
                .to_vec(),
            ..Guard::default()
        };
        let mounts = plan(&[PathBuf::from("/ws")], &guard);
        let expected = ["/ws", "/ws/a", "/ws/a/b"].map(|path| (PathBuf::from(path), Access::Write));
        assert_eq!(mounts, expected);
    }

    impl PartialOrd for Access {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Access {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            (*self as u8).cmp(&(*other as u8))
        }
    }
}
