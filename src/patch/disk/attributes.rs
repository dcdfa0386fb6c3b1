//! Making a new file look like the one whose place it takes: owner, group, extended attributes, access lists.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Gives the file the owner, group and attributes of another. `false` if owner or group cannot be. The mode is left to
/// the caller: changing the owner may clear bits of it.
#[cfg(unix)]
pub(super) fn make_alike(file: &File, own: &Metadata, model: &Path, wanted: &Metadata) -> io::Result<bool> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    if (own.uid(), own.gid()) != (wanted.uid(), wanted.gid())
        && fchown(file, Some(wanted.uid()), Some(wanted.gid())).is_err()
    {
        return Ok(false);
    }
    #[cfg(target_os = "linux")]
    copy_attributes(file, model);
    #[cfg(not(target_os = "linux"))]
    let _ = model;
    Ok(true)
}

#[cfg(not(unix))]
pub(super) fn make_alike(_file: &File, _own: &Metadata, _model: &Path, _wanted: &Metadata) -> io::Result<bool> {
    Ok(true)
}

/// Copies the person's own attributes and access lists as far as the file system takes them.
#[cfg(target_os = "linux")]
fn copy_attributes(file: &File, model: &Path) {
    use rustix::fs::{XattrFlags, fsetxattr, lgetxattr, llistxattr};
    /// The most that the kernel gives out.
    const MOST: usize = 64 * 1024;
    // Hardly a file has any, and few have many.
    let mut few = [0u8; 512];
    let mut many = Vec::new();
    let names = match llistxattr(model, &mut few[..]) {
        Ok(0) => return,
        Ok(length) => &few[..length],
        Err(rustix::io::Errno::RANGE) => {
            many.resize(MOST, 0);
            match llistxattr(model, &mut many[..]) {
                Ok(length) => &many[..length],
                Err(_) => return,
            }
        }
        Err(_) => return,
    };
    let mut value = vec![0u8; MOST];
    for name in names.split(|byte| *byte == 0) {
        if name.starts_with(b"user.") || name == b"system.posix_acl_access" {
            let Ok(length) = lgetxattr(model, name, &mut value[..]) else {
                continue;
            };
            let _ = fsetxattr(file, name, &value[..length], XattrFlags::empty());
        }
    }
}
