//! Places that a command may not read: in the view of the disk an empty file or folder without any mode lies over each.
//! A mount cannot be renamed, replaced or removed, and every way to the place (links, `/proc/self/root`) leads to what
//! lies over it. Where the same place shows elsewhere too, through another mount, it is covered there as well.
//!
//! It cannot cover what has no name yet, nor a hard link to a file that somebody made before.

use super::sys;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Covers the places and, with `names`, the machine's table of host names; places are found in the view as it is now.
/// What the covers are copied from is left on top of [`HOLDER`], to be covered itself: taking a mount away is slow.
pub(super) fn cover(places: &[PathBuf], names: Option<&str>) -> io::Result<()> {
    let places = everywhere(places);
    let table = match names {
        Some(_) => Some(fs::canonicalize(HOST_TABLE)?),
        None => None,
    };
    if places.is_empty() && table.is_none() {
        return Ok(());
    }
    sys::mount(
        c"tmpfs",
        Path::new(HOLDER),
        c"tmpfs",
        libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
        c"mode=0700,size=4m",
    )?;
    cover_from(Path::new(HOLDER), &places, table.as_deref().zip(names))
}

/// Any folder will do to hold the covers; this one is always there, and gets a mount of its own anyway.
pub(super) const HOLDER: &str = "/proc";

const HOST_TABLE: &str = "/etc/hosts";

fn cover_from(holder: &Path, places: &[PathBuf], table: Option<(&Path, &str)>) -> io::Result<()> {
    let (file, folder) = (holder.join("file"), holder.join("folder"));
    let create = |path: &Path, mode: u32| {
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)
    };
    create(&file, 0)?;
    fs::DirBuilder::new().mode(0o0).create(&folder)?;
    let names = holder.join("names");
    if let Some((_, text)) = table {
        let mut written = create(&names, 0o644)?;
        written.write_all(text.as_bytes())?;
        written.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o444))?;
    }
    let seal = |cover: &OwnedFd| sys::set_tree(Some(cover), sys::MOUNT_READ_ONLY);
    let lay = |cover: &OwnedFd, place: &OwnedFd| {
        let copy = sys::copy_of(cover)?;
        seal(&copy)?;
        sys::mount_over(&copy, place)
    };
    let (file, folder) = (sys::open_path(&file)?, sys::open_path(&folder)?);
    for place in places {
        // What has gone meanwhile needs no cover.
        if let Some((opened, found)) = find(place)? {
            lay(if found.is_folder { &folder } else { &file }, &opened)?;
        }
    }
    if let Some((table, _)) = table
        && let Some((opened, _)) = find(table)?
    {
        lay(&sys::open_path(&names)?, &opened)?;
    }
    Ok(())
}

/// What stands at a place; none where nothing does, or nobody like us gets there.
fn find(place: &Path) -> io::Result<Option<(OwnedFd, sys::Identity)>> {
    match sys::identify(place) {
        Ok(found) => Ok(Some(found)),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::ENAMETOOLONG) => Ok(None),
            _ => Err(error),
        },
    }
}

/// The places that exist, where links lead that have come to stand on the way meanwhile, with every other path that a
/// mount gives them.
pub(super) fn everywhere(places: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut add = |path: PathBuf| {
        if !found.contains(&path) {
            found.push(path);
        }
    };
    for place in places {
        let known = sys::identify(place);
        if known.is_ok() {
            add(place.clone());
        }
        let elsewhere = match &known {
            Ok((_, known)) => known.is_link,
            Err(error) => error.raw_os_error() == Some(libc::ELOOP),
        };
        if elsewhere && let Ok(target) = fs::canonicalize(place) {
            add(target);
        }
    }
    if found.is_empty() {
        return found;
    }
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mounts: Vec<Mount> = mounts.split(|byte| *byte == b'\n').filter_map(Mount::read).collect();
    for place in found.clone() {
        for alias in aliases(&place, &mounts) {
            if !found.contains(&alias) && is_same(&place, &alias) {
                found.push(alias);
            }
        }
    }
    found
}

/// Whether the second path leads to the first place or to something in it.
fn is_same(place: &Path, alias: &Path) -> bool {
    match (sys::identify(place), sys::identify(alias)) {
        (Ok((_, place)), Ok((_, alias))) => place.device == alias.device,
        _ => false,
    }
}

/// One line of the kernel's table of mounts.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// Which file system, as the kernel writes it.
    device: Vec<u8>,
    /// What of the file system is mounted.
    root: PathBuf,
    /// Where.
    place: PathBuf,
}

impl Mount {
    fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let device = fields.nth(2)?.to_owned();
        let root = unescape(fields.next()?);
        let place = unescape(fields.next()?);
        Some(Self { device, root, place })
    }
}

/// The kernel writes blanks and the like as a backslash and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut at = 0;
    while at < field.len() {
        let code = field
            .get(at + 1..at + 4)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if field[at] == b'\\' => {
                bytes.push(code);
                at += 4;
            }
            _ => {
                bytes.push(field[at]);
                at += 1;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Other paths that lead to a place, or to parts of it, because its file system is mounted more than once.
fn aliases(place: &Path, mounts: &[Mount]) -> Vec<PathBuf> {
    // The last mount of those that are nearest above is the one on top.
    let above = mounts.iter().filter(|mount| place.starts_with(&mount.place));
    let Some(own) = above.max_by_key(|mount| mount.place.as_os_str().as_bytes().len()) else {
        return Vec::new();
    };
    let Ok(below) = place.strip_prefix(&own.place) else {
        return Vec::new();
    };
    let inner = join(&own.root, below);
    let mut found = Vec::new();
    for mount in mounts.iter().filter(|mount| mount.device == own.device) {
        let path = if let Ok(below) = inner.strip_prefix(&mount.root) {
            join(&mount.place, below)
        } else if mount.root.starts_with(&inner) {
            mount.place.clone()
        } else {
            continue;
        };
        if !path.starts_with(place) && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// Without the slash that joining nothing leaves behind.
fn join(path: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() {
        path.to_owned()
    } else {
        path.join(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_another_mount_gives_by_table() {
        let table = b"22 27 0:21 / /proc rw - proc proc rw\n\
            27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
            50 27 254:0 / /mnt/whole\\040disk rw - ext4 /dev/vda rw\n\
            51 27 254:0 /home /srv/home rw - ext4 /dev/vda rw\n\
            52 27 254:0 /home/u/.ssh/keys /srv/keys rw - ext4 /dev/vda rw\n\
            53 27 254:1 / /other rw - ext4 /dev/vdb rw\n\
            54 27 254:0 /ws /ws rw - ext4 /dev/vda rw\n\
            broken\n";
        let mounts: Vec<Mount> = table.split(|byte| *byte == b'\n').filter_map(Mount::read).collect();
        assert_eq!(mounts.len(), 7);
        for (place, expected) in [
            (
                "/home/u/.ssh",
                vec!["/mnt/whole disk/home/u/.ssh", "/srv/home/u/.ssh", "/srv/keys"],
            ),
            ("/srv/home/x", vec!["/home/x", "/mnt/whole disk/home/x"]),
            ("/ws/secret", vec!["/mnt/whole disk/ws/secret"]),
            ("/other/secret", vec![]),
            ("/proc/secret", vec![]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(aliases(Path::new(place), &mounts), expected, "{place}");
        }
    }

    #[test]
    fn what_does_not_exist_needs_no_cover() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        fs::write(base.join("secret"), "x").expect("write");
        std::os::unix::fs::symlink("secret", base.join("link")).expect("symlink");
        let places = ["secret", "missing", "secret/below", "link"].map(|name| base.join(name));
        let found = everywhere(&places);
        assert!(found.contains(&base.join("secret")));
        assert!(!found.contains(&base.join("missing")) && !found.contains(&base.join("secret/below")));
    }
}
