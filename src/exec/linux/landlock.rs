//! The wall of rights: Landlock lets the command read everything (but places that are hidden, where no view of the disk
//! covers them) and write only below the roots, and keeps it from signalling, tracing and connecting to what is outside.
//!
//! It cannot take anything out of a folder that it has opened: protected entries are left to read-only mounts, and
//! where there are none, to opening the entries of a folder one by one (see `opened`).

use super::sys::{self, RulesetAttributes};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

const READING: u64 = EXECUTE | READ_FILE | READ_DIR;
/// The rights that a rule on something other than a folder may carry.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

/// Devices that do no harm and that programs take for granted.
pub(super) const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Pseudo-terminals. Where they are not the command's own, the person's are among them: whoever can open those reads what
/// is typed and writes what is believed.
const TERMINALS: [&str; 2] = ["/dev/ptmx", "/dev/pts"];

/// The file rights that a version of Landlock knows.
fn known_rights(version: u32) -> u64 {
    let highest = match version {
        0 | 1 => 12,
        2 => 13,
        3 | 4 => 14,
        _ => 15,
    };
    (1 << (highest + 1)) - 1
}

/// What is let through.
pub(super) struct Opened<'a> {
    /// What may be read.
    pub readable: &'a [PathBuf],
    /// What may be written, too.
    pub writable: &'a [PathBuf],
    /// A folder that may be written and perhaps has no path.
    pub nameless: Option<&'a OwnedFd>,
    /// Whether pseudo-terminals may be opened.
    pub terminals: bool,
    /// Whether TCP may connect, and whether it may bind.
    pub connect: bool,
    pub bind: bool,
    /// Whether the kernel is to write down what it refuses.
    pub record: bool,
}

/// Confines this process, for good.
pub(super) fn confine(version: u32, opened: &Opened<'_>) -> io::Result<()> {
    const BIND: u64 = 1;
    const CONNECT: u64 = 2;
    let known = known_rights(version);
    let network = if opened.bind { 0 } else { BIND } | if opened.connect { 0 } else { CONNECT };
    let ruleset = sys::landlock_ruleset(&RulesetAttributes {
        files: known,
        network: if version >= 4 { network } else { 0 },
        scoped: if version >= 6 { 0b11 } else { 0 },
    })?;
    let allow = |opened: &OwnedFd, rights: u64| -> io::Result<()> {
        let rights = if is_folder(opened)? { rights } else { rights & OF_FILES };
        sys::landlock_allow(&ruleset, opened, rights & known)
    };
    for path in opened.readable {
        match sys::open_canonical(path) {
            // Gone, or not to be reached by us either.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
                ) => {}
            opened => allow(&opened?, READING)?,
        }
    }
    let terminals = if opened.terminals { &TERMINALS[..] } else { &[] };
    for device in DEVICES.iter().chain(terminals) {
        // A system without one of them has nothing to open.
        let _absent = sys::open_path(Path::new(device))
            .and_then(|opened| allow(&opened, READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | IOCTL_DEV));
    }
    const WRITING: u64 = !(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV);
    for root in opened.writable {
        match sys::open_canonical(root) {
            // Gone since the policy was made.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => allow(&opened?, WRITING)?,
        }
    }
    if let Some(folder) = opened.nameless {
        allow(folder, WRITING)?;
    }
    sys::landlock_restrict(&ruleset, opened.record)
}

/// What may be read where no view of the disk hides anything: all but the hidden places and the devices, through which
/// the disk itself could be read. Folders on the way to them cannot be listed then.
pub(super) fn readable(hidden: &[PathBuf]) -> Vec<PathBuf> {
    if hidden.is_empty() {
        return vec!["/".into()];
    }
    let mut closed = hidden.to_vec();
    closed.push("/dev".into());
    opened(&["/".into()], &closed)
}

fn is_folder(opened: &OwnedFd) -> io::Result<bool> {
    sys::describe(opened).map(|found| found.is_folder)
}

/// What to open where a folder cannot be opened whole because something in it is guarded: its other entries, as they
/// are now. New entries cannot be made at its top then.
pub(super) fn opened(roots: &[PathBuf], guarded: &[PathBuf]) -> Vec<PathBuf> {
    let mut result = Vec::new();
    let mut waiting: Vec<PathBuf> = roots.to_vec();
    while let Some(path) = waiting.pop() {
        let is_root = roots.contains(&path);
        if guarded.contains(&path) && !is_root {
            continue;
        }
        if !guarded
            .iter()
            .any(|guarded| guarded.starts_with(&path) && *guarded != path)
        {
            result.push(path);
        } else if let Ok(entries) = std::fs::read_dir(&path) {
            // A link is opened neither as itself nor through its target, which may be anywhere.
            waiting.extend(
                entries
                    .flatten()
                    .map(|entry| entry.path())
                    .filter(|entry| !entry.is_symlink()),
            );
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_something_guarded_is_opened_by_its_entries() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = dir.path().to_owned();
        for folder in ["ws/.git", "ws/src/deep", "other"] {
            std::fs::create_dir_all(root.join(folder)).expect("mkdir");
        }
        std::os::unix::fs::symlink("/etc", root.join("ws/link")).expect("symlink");
        let mut paths = opened(std::slice::from_ref(&root), &[root.join("ws/.git")]);
        paths.sort();
        assert_eq!(paths, [root.join("other"), root.join("ws/src")]);
        assert_eq!(opened(std::slice::from_ref(&root), &[]), [root]);
    }
}
