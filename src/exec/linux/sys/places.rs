//! Mounts that have no place yet, and entries in folders that are known by a descriptor.

use super::{check, open_canonical, owned};
use libc::c_long;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// A new file system of a kind that needs no source, mounted nowhere.
pub(in crate::exec::linux) fn new_mount(kind: &CStr) -> io::Result<OwnedFd> {
    const CLOSE_ON_EXEC: libc::c_uint = 1;
    const CREATE: libc::c_uint = 6;
    // SAFETY: the kind is a C string, the other pointers are null as this command wants them.
    unsafe {
        let context = owned(libc::syscall(libc::SYS_fsopen, kind.as_ptr(), CLOSE_ON_EXEC))?;
        check(libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            CREATE,
            std::ptr::null::<u8>(),
            std::ptr::null::<u8>(),
            0,
        ))?;
        owned(libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOSE_ON_EXEC, 0))
    }
}

/// A detached copy of the mount that `place` was opened on, from there on.
pub(in crate::exec::linux) fn copy_of(place: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = 1 | libc::O_CLOEXEC | libc::AT_EMPTY_PATH;
    // SAFETY: the path is a C string.
    owned(unsafe { libc::syscall(libc::SYS_open_tree, place.as_raw_fd(), c"".as_ptr(), flags) })
}

/// Puts a detached mount over what `place` was opened on.
pub(in crate::exec::linux) fn mount_over(tree: &OwnedFd, place: &OwnedFd) -> io::Result<()> {
    const EMPTY_PATHS: u32 = 4 | 0x40;
    // SAFETY: both paths are C strings.
    check(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            place.as_raw_fd(),
            c"".as_ptr(),
            EMPTY_PATHS,
        )
    })
    .map(drop)
}

/// Which thing it is: device and inode, and of what kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec::linux) struct Identity {
    pub device: u64,
    pub inode: u64,
    pub is_folder: bool,
    pub is_link: bool,
}

/// Opens a canonical path only to refer to it, and tells what it is.
pub(in crate::exec::linux) fn identify(path: &Path) -> io::Result<(OwnedFd, Identity)> {
    let opened = open_canonical(path)?;
    let identity = describe(&opened)?;
    Ok((opened, identity))
}

/// What a descriptor was opened on.
pub(in crate::exec::linux) fn describe(opened: &OwnedFd) -> io::Result<Identity> {
    // SAFETY: the structure is plain data, which the call fills.
    let found = unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        check(c_long::from(libc::fstat(opened.as_raw_fd(), &raw mut found)))?;
        found
    };
    let kind = found.st_mode & libc::S_IFMT;
    Ok(Identity {
        device: found.st_dev,
        inode: found.st_ino,
        is_folder: kind == libc::S_IFDIR,
        is_link: kind == libc::S_IFLNK,
    })
}
