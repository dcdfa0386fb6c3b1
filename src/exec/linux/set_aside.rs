//! Protected entries that the command made although they did not exist before: the second line behind the keeper's
//! questions, once nothing of the command is alive. They are moved away, not deleted, in case they are the person's.

use super::{Post, sys};
use crate::exec::protected::Guard;
use crate::exec::role::Report;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where they go: folders that outlive the command, the more lasting one first.
const PLACES: [&str; 2] = ["/var/tmp", "/tmp"];

/// The folders in which a name must not appear, held since before the command started: what it does to the way there
/// (moves the folder, puts a link in its place) leads nowhere else.
pub(super) struct Watched<'a> {
    guard: &'a Guard,
    roots: Vec<(PathBuf, OwnedFd)>,
}

impl<'a> Watched<'a> {
    pub(super) fn new(guard: &'a Guard) -> Self {
        let mut roots: Vec<(PathBuf, OwnedFd)> = Vec::new();
        for (root, _) in &guard.missing {
            if !roots.iter().any(|(known, _)| known == root)
                && let Ok(opened) = sys::open_canonical(root)
            {
                roots.push((root.clone(), opened));
            }
        }
        Self { guard, roots }
    }

    /// Takes away what has appeared.
    pub(super) fn intruders(&self, post: &Post<'_>) {
        for (root, name) in &self.guard.missing {
            let before = self.roots.iter().find(|(known, _)| known == root);
            // Another folder may stand there by now; a link in its place is not followed.
            let now = sys::open_canonical(root).ok();
            for folder in before.map(|(_, folder)| folder).into_iter().chain(&now) {
                take_away(folder, root, name, post);
            }
        }
        for (root, target) in &self.guard.awaited {
            if let Some(made) = leading_to(root, target)
                && let (Some(folder), Some(name)) = (made.parent(), made.file_name())
                && let Ok(opened) = sys::open_canonical(folder)
            {
                take_away(&opened, folder, name, post);
            }
        }
    }
}

/// What makes that something is at this place in a root: what lies there, or the first link on the way, whose target may
/// have been there before. Folders on the way are let stand.
fn leading_to<'a>(root: &Path, target: &'a Path) -> Option<&'a Path> {
    fs::symlink_metadata(target).ok()?;
    let inside = target.ancestors().take_while(|place| *place != root);
    Some(inside.filter(|place| place.is_symlink()).last().unwrap_or(target))
}

fn take_away(folder: &OwnedFd, root: &Path, name: &OsStr, post: &Post<'_>) {
    let real = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    let path = real.join(name);
    if fs::symlink_metadata(&path).is_err() {
        return;
    }
    let shown = fs::read_link(&real).unwrap_or_else(|_| root.to_owned()).join(name);
    let what = match move_away(&path, name) {
        Ok(place) => format!(
            "a protected entry that the command made, {}: moved to {}",
            shown.display(),
            place.display()
        ),
        Err(error) => format!(
            "a protected entry that the command made, but could not take it away ({error}); look at it before you use \
             the folder: {}",
            shown.display()
        ),
    };
    post.send(&Report::SetAside { what });
}

fn move_away(path: &Path, name: &OsStr) -> io::Result<PathBuf> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let mut trouble = io::Error::from(io::ErrorKind::NotFound);
    for place in PLACES {
        let folder = Path::new(place).join(format!("countersign-set-aside-{}-{now}", sys::own_pid()));
        if let Err(error) = fs::DirBuilder::new().mode(0o700).create(&folder) {
            trouble = error;
            continue;
        }
        let target = folder.join(name);
        if fs::rename(path, &target).is_ok() {
            return Ok(target);
        }
        match copy(path, &target).and_then(|()| remove(path)) {
            Ok(()) => return Ok(target),
            Err(error) => trouble = error,
        }
    }
    Err(trouble)
}

/// Copies to another file system; links as links, other special files not at all.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(from)?.file_type();
    if kind.is_symlink() {
        symlink(fs::read_link(from)?, to)
    } else if kind.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        Ok(())
    } else if kind.is_file() {
        fs::copy(from, to).map(drop)
    } else {
        Ok(())
    }
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
