//! What the steps ask of the file system, each a call or two.

use super::MAX_PLACED_BYTES;
use super::check::There;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A name in the folder that nobody else uses.
pub(super) fn beside(folder: &Path) -> PathBuf {
    folder.join(format!(".countersign-{}", uuid::Uuid::now_v7().simple()))
}

/// Keeps the file under a second name, or a copy where links cannot be made. Tells whether it is a link.
pub(super) fn keep(file: &Path, backup: &Path) -> io::Result<bool> {
    match fs::hard_link(file, backup) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => copy_new(file, backup).map(|()| false),
    }
}

/// Copies content and permissions, or a link, to a name that is free.
pub(super) fn copy_new(file: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(file)?.is_symlink() {
        return make_link(&link_target(file)?, to);
    }
    let mut source = open_regular(file)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut target = options.open(to)?;
    let copied =
        io::copy(&mut source, &mut target).and_then(|_| target.set_permissions(source.metadata()?.permissions()));
    // Half a copy helps nobody.
    copied.inspect_err(|_| drop(fs::remove_file(to)))
}

pub(super) fn link_target(link: &Path) -> io::Result<PathBuf> {
    fs::read_link(link)
}

/// Makes a symbolic link where nothing is.
#[cfg(unix)]
pub(super) fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
pub(super) fn make_link(_target: &Path, _link: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Opens what a placed file shall hold.
pub(super) fn open_source(from: &Path) -> io::Result<File> {
    let named = |message: String| io::Error::other(format!("{}: {message}", from.display()));
    let file = open_regular(from).map_err(|error| named(error.to_string()))?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(named("it is no regular file".to_owned()));
    }
    if meta.len() > MAX_PLACED_BYTES {
        let length = meta.len();
        return Err(named(format!(
            "it has {length} bytes, more than the {MAX_PLACED_BYTES} that may be placed"
        )));
    }
    Ok(file)
}

pub(super) fn open_regular(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    no_follow(&mut options);
    options.open(file)
}

pub(super) fn open_in_place(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    no_follow(&mut options);
    options.open(file)
}

#[cfg(unix)]
fn no_follow(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
}

#[cfg(not(unix))]
fn no_follow(_options: &mut OpenOptions) {}

pub(super) fn overwrite(mut file: &File, text: &[u8]) -> io::Result<()> {
    file.write_all(text)?;
    file.set_len(text.len() as u64)
}

/// Renames to a name that is free, and fails if it is not.
pub(super) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            // Not every file system can do this.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Gives the file the owner, group, permissions and attributes of another. `false` if owner or group cannot be.
#[cfg(unix)]
pub(super) fn make_alike(file: &File, model: &There) -> io::Result<bool> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    let (own, wanted) = (file.metadata()?, &model.meta);
    if (own.uid(), own.gid()) != (wanted.uid(), wanted.gid())
        && fchown(file, Some(wanted.uid()), Some(wanted.gid())).is_err()
    {
        return Ok(false);
    }
    #[cfg(target_os = "linux")]
    copy_attributes(file, &model.real);
    file.set_permissions(Permissions::from_mode(wanted.mode() & 0o7777))?;
    Ok(true)
}

#[cfg(not(unix))]
pub(super) fn make_alike(file: &File, model: &There) -> io::Result<bool> {
    file.set_permissions(model.meta.permissions())?;
    Ok(true)
}

/// Copies the person's own attributes and access lists as far as the file system takes them.
#[cfg(target_os = "linux")]
fn copy_attributes(file: &File, model: &Path) {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    const MOST: usize = 64 * 1024;
    let Ok(model) = open_regular(model) else { return };
    let mut names = vec![0u8; MOST];
    let Ok(length) = flistxattr(&model, &mut names[..]) else {
        return;
    };
    let mut value = vec![0u8; MOST];
    for name in names[..length].split(|byte| *byte == 0) {
        if name.starts_with(b"user.") || name == b"system.posix_acl_access" {
            let Ok(length) = fgetxattr(&model, name, &mut value[..]) else {
                continue;
            };
            let _ = fsetxattr(file, name, &value[..length], XattrFlags::empty());
        }
    }
}

#[cfg(unix)]
pub(super) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(Permissions::from_mode(mode & 0o7777))
}

#[cfg(not(unix))]
pub(super) fn set_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(super) fn links(meta: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    meta.nlink()
}

#[cfg(not(unix))]
pub(super) fn links(_meta: &fs::Metadata) -> u64 {
    1
}
