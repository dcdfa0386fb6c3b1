//! Whose socket a socket file belongs to, as the kernel's socket diagnosis tells. The file itself does not say: any
//! process can connect to any socket file that it can reach.

use super::{descent, sys};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const UDIAG_SHOW_VFS: u32 = 2;
const UNIX_DIAG_VFS: u16 = 1;
/// Sizes of the netlink header, of the description of a socket, and of an attribute's header.
const HEADER: usize = 16;
const DESCRIPTION: usize = 16;
const ATTRIBUTE: usize = 4;

/// Whether a socket of this network namespace is bound to the file. False when the kernel cannot tell.
pub(super) fn is_bound_here(file: &OwnedFd, metadata: &fs::Metadata) -> bool {
    !bound_to(file, metadata).is_empty()
}

/// Whether a process that descends from `keeper` holds the socket that is bound to the file. No such process gets
/// sockets from outside, so it is one of its own. False when the kernel cannot tell.
pub(super) fn is_held_below(keeper: libc::pid_t, file: &OwnedFd, metadata: &fs::Metadata) -> bool {
    let sockets = bound_to(file, metadata);
    if sockets.is_empty() || !shows_own_processes() {
        return false;
    }
    let names: Vec<PathBuf> = sockets.iter().map(|inode| format!("socket:[{inode}]").into()).collect();
    descent::descendants(keeper).into_iter().any(|pid| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
        descriptors
            .into_iter()
            .flatten()
            .flatten()
            .any(|entry| fs::read_link(entry.path()).is_ok_and(|target| names.contains(&target)))
    })
}

/// Whether `/proc` numbers processes as this process's namespace does.
pub(super) fn shows_own_processes() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.trim() == sys::own_pid().to_string())
}

/// The inodes of the sockets that are bound to the file.
fn bound_to(file: &OwnedFd, metadata: &fs::Metadata) -> Vec<u32> {
    // The diagnosis names the device of the file system, which is not always the one that stat gives.
    let devices = [Some(kernel_device(metadata.dev())), mounted_device(file)];
    let inode = metadata.ino() as u32;
    let mut bound = bound_files().unwrap_or_default();
    bound.retain(|bound| bound.inode == inode && devices.contains(&Some(bound.device)));
    bound.into_iter().map(|bound| bound.socket).collect()
}

/// A device number as the kernel itself keeps it.
fn kernel_device(device: u64) -> u32 {
    (libc::major(device) << 20) | libc::minor(device)
}

fn mounted_device(file: &OwnedFd) -> Option<u32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
    let mount = info
        .lines()
        .find_map(|line| line.strip_prefix("mnt_id:"))?
        .trim()
        .to_owned();
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mut fields = mounts
        .lines()
        .map(|line| line.split(' '))
        .find(|fields| fields.clone().next() == Some(&mount))?;
    let (major, minor) = fields.nth(2)?.split_once(':')?;
    Some((major.parse::<u32>().ok()? << 20) | minor.parse::<u32>().ok()?)
}

/// A file that a Unix socket is bound to, and the inode of the socket itself.
#[derive(Debug, PartialEq, Eq)]
struct Bound {
    inode: u32,
    device: u32,
    socket: u32,
}

/// Every file that a Unix socket of this namespace is bound to.
fn bound_files() -> io::Result<Vec<Bound>> {
    let netlink = sys::socket_diagnosis()?;
    sys::send(&netlink, &request())?;
    let mut files = Vec::new();
    let mut buffer = vec![0u8; 32 * 1024];
    loop {
        let read = sys::receive(&netlink, &mut buffer)?;
        if !take(&buffer[..read], &mut files) {
            return Ok(files);
        }
    }
}

fn request() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(40);
    bytes.extend(40u32.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    // All states, no inode in particular.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(0u32.to_ne_bytes());
    bytes.extend(UDIAG_SHOW_VFS.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes
}

/// Reads the messages of one packet; false after the last.
fn take(mut bytes: &[u8], files: &mut Vec<Bound>) -> bool {
    while bytes.len() >= HEADER {
        let length = u32_at(bytes, 0) as usize;
        let kind = u16_at(bytes, 4);
        if length < HEADER || length > bytes.len() || matches!(kind, NLMSG_DONE | NLMSG_ERROR) {
            return false;
        }
        let mut attributes = bytes[..length].get(HEADER + DESCRIPTION..).unwrap_or_default();
        while attributes.len() >= ATTRIBUTE {
            let size = usize::from(u16_at(attributes, 0));
            if size < ATTRIBUTE || size > attributes.len() {
                break;
            }
            if u16_at(attributes, 2) == UNIX_DIAG_VFS && size >= ATTRIBUTE + 8 {
                files.push(Bound {
                    inode: u32_at(attributes, ATTRIBUTE),
                    device: u32_at(attributes, ATTRIBUTE + 4),
                    socket: u32_at(bytes, HEADER + 4),
                });
            }
            attributes = attributes.get(size.next_multiple_of(4)..).unwrap_or_default();
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    true
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_bound_socket_is_found_and_a_plain_file_is_not() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let path = dir.path().join("socket");
        let _listener = UnixListener::bind(&path).expect("bind");
        fs::write(dir.path().join("file"), "").expect("write");
        for (name, expected) in [("socket", true), ("file", false)] {
            let opened = sys::open_path(&dir.path().join(name)).expect("open");
            let metadata = fs::metadata(dir.path().join(name)).expect("metadata");
            assert_eq!(is_bound_here(&opened, &metadata), expected, "{name}");
        }
    }

    #[test]
    fn broken_packets_end_the_reading() {
        let mut files = Vec::new();
        assert!(take(&[], &mut files));
        assert!(!take(&[0; 16], &mut files));
        assert!(!take(&[255; 40], &mut files));
        assert!(files.is_empty());
    }
}
