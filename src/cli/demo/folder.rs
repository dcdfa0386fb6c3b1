//! The places of the demonstration on the disk. Both are gone when it ends, however it ends.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What the names of its files begin with.
const PREFIX: &str = "countersign-demo";

/// A file in the folder that is locked for as long as the demonstration lives.
const ALIVE: &str = "alive";

/// The temporary folder with the project and the server's home; removed on drop. One whose owner was killed, so that
/// nothing could be done any more, is removed by the next.
pub(super) struct Folder {
    path: PathBuf,
    /// Held for its lock.
    _alive: File,
}

impl Folder {
    /// Makes it, readable for this person only.
    pub(super) fn new() -> io::Result<Self> {
        let base = std::fs::canonicalize(std::env::temp_dir())?;
        remove_abandoned(&base);
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let name = |number: u32| base.join(format!("{PREFIX}-{}-{number}", std::process::id()));
        let (path, ()) = first_free(name, |path| builder.create(path))?;
        let locked = File::create_new(path.join(ALIVE)).and_then(|file| file.lock().map(|()| file));
        match locked {
            Ok(alive) => Ok(Self { path, _alive: alive }),
            Err(error) => {
                // The first error is the one to tell.
                let _ = std::fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A folder in it.
    pub(super) fn make(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::create_dir(&path)?;
        Ok(path)
    }

    /// Removes it now, to know whether that works.
    pub(super) fn remove(self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // After `remove` there is nothing left; else nobody is left to be told.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders whose owners were killed. What cannot be removed is somebody else's.
fn remove_abandoned(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        let path = entry.path();
        if is_ours && File::open(path.join(ALIVE)).is_ok_and(|alive| alive.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// A new file that stays, for the logs of a demonstration that failed.
pub(super) fn fresh_log() -> io::Result<(PathBuf, File)> {
    let mut options = File::options();
    // Never through a link that somebody put there.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let fresh = |number: u32| std::env::temp_dir().join(format!("{PREFIX}-{}-{number}.log", std::process::id()));
    first_free(fresh, |path| options.open(path))
}

/// Makes the first of a hundred paths that is not taken.
fn first_free<T>(name: impl Fn(u32) -> PathBuf, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    let mut number = 0;
    loop {
        let path = name(number);
        match make(&path) {
            Ok(made) => return Ok((path, made)),
            // Left by somebody else, whoever it was.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 99 => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// A file outside the project that the agent would like to write. It is not there at the beginning, so if it is at the
/// end it is the agent's; removed on drop.
pub(super) struct Outside {
    path: PathBuf,
}

impl Outside {
    /// In the person's home; else beside the project. Tried out first: nothing but the sandbox must stand in the way,
    /// or a failure would prove nothing.
    pub(super) fn choose(folder: &Folder) -> io::Result<Self> {
        let name = format!("{PREFIX}-{}.bak", std::process::id());
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let path = home.filter(|home| home.is_absolute()).map(|home| home.join(&name));
        let path = match path.filter(|path| can_be_made(path)) {
            Some(path) => path,
            None => folder.make("outside")?.join(name),
        };
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_there(&self) -> bool {
        std::fs::symlink_metadata(&self.path).is_ok()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // Mostly it was never written.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether this person can make this file, which is not there.
fn can_be_made(path: &Path) -> bool {
    File::create_new(path).is_ok() && std::fs::remove_file(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner_and_an_abandoned_one_with_the_next() {
        let folder = Folder::new().expect("a folder");
        let other = Folder::new().expect("another folder");
        assert_ne!(folder.path(), other.path());
        assert!(folder.path().exists(), "it is not abandoned");
        let project = folder.make("project").expect("a folder in it");
        std::fs::write(project.join("x"), "x").expect("written");
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
        let path = other.path().to_owned();
        other.remove().expect("removed");
        assert!(!path.exists());

        let abandoned = std::env::temp_dir().join(format!("{PREFIX}-test-{}", std::process::id()));
        std::fs::create_dir(&abandoned).expect("made");
        File::create_new(abandoned.join(ALIVE)).expect("made");
        drop(Folder::new().expect("a folder"));
        assert!(!abandoned.exists());
    }
}
