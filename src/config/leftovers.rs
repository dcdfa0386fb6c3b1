//! What a program that died while it replaced a file has left beside it: the new text, with all its secrets, under a name that
//! nobody looks for. A program that lives keeps its own locked.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Files of the home folder that are replaced and may hold secrets.
const KEPT: [&str; 7] = [
    "auth.json",
    "private/auth.json",
    ".credentials.json",
    "private/.credentials.json",
    // Values of the editor's settings, as they were written.
    "private/editor-settings.json",
    "config.toml",
    "rules/always.toml",
];

/// Removes what was left beside the files of a home folder. What cannot be removed is in the log.
pub(crate) fn sweep_home(home: &Path) {
    for name in KEPT {
        if let Err((path, error)) = sweep(&home.join(name)) {
            tracing::warn!(path = %path.display(), %error, "what a program that died has left could not be removed");
        }
    }
}

/// Removes what was left beside a file, and beside the one that it leads to where it is a link.
///
/// # Errors
/// The first that is left and cannot be removed.
pub(crate) fn sweep(file: &Path) -> Result<(), (PathBuf, io::Error)> {
    let Some(name) = file.file_name() else { return Ok(()) };
    let target = fs::canonicalize(file).ok();
    let mut places = vec![(file, name)];
    if let Some(target) = &target {
        // Under either name.
        places.extend([
            (target.as_path(), name),
            (target.as_path(), target.file_name().unwrap_or(name)),
        ]);
    }
    let mut failed = Ok(());
    for (beside, name) in places {
        let entries = beside.parent().map(fs::read_dir);
        // Where there is no folder nothing was left.
        for entry in entries.into_iter().flatten().flatten().flatten() {
            if !is_left_of(&entry.file_name(), name) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            let path = entry.path();
            match remove(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound && failed.is_ok() => failed = Err((path, error)),
                _ => {}
            }
        }
    }
    failed
}

/// Removes files of the user's that programs that died have left in a folder of everybody's, by their names.
pub(crate) fn sweep_folder(folder: &Path, is_ours: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(&is_ours) && entry.metadata().is_ok_and(|found| is_own_file(&found)) {
            let path = entry.path();
            if let Err(error) = remove(&path) {
                tracing::debug!(path = %path.display(), %error, "what a program that died has left could not be removed");
            }
        }
    }
}

/// Others can put there what only looks like it, and what never lets go of who opens it.
#[cfg(unix)]
fn is_own_file(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.is_file() && found.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own_file(found: &fs::Metadata) -> bool {
    found.is_file()
}

/// Marks a file as one that is being written, for as long as it is open.
pub(crate) fn hold(file: &File) {
    // On other systems a lock would keep readers away.
    #[cfg(unix)]
    if let Err(error) = file.try_lock() {
        tracing::debug!(%error, "a file that is written is not held");
    }
    #[cfg(not(unix))]
    let _ = file;
}

/// `.NAME.PID.new` or `.NAME.UUID`.
fn is_left_of(found: &OsStr, name: &OsStr) -> bool {
    let (found, name) = (found.to_string_lossy(), name.to_string_lossy());
    let rest = found
        .strip_prefix('.')
        .and_then(|rest| rest.strip_prefix(&*name)?.strip_prefix('.'));
    rest.is_some_and(|rest| {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        uuid::Uuid::try_parse(rest).is_ok() || rest.strip_suffix(".new").is_some_and(is_number)
    })
}

fn remove(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let file = File::open(path)?;
        if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
            return Ok(());
        }
        fs::remove_file(path)
    }
    #[cfg(not(unix))]
    {
        let age = fs::metadata(path)?.modified()?.elapsed().unwrap_or_default();
        match age > std::time::Duration::from_secs(60) {
            true => fs::remove_file(path),
            false => Ok(()),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_goes_and_what_is_anybody_elses_stays() {
        let home = tempfile::tempdir().expect("a folder");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let id = uuid::Uuid::now_v7();
        let file = home.path().join("auth.json");
        let target = elsewhere.path().join("login.json");
        fs::write(&target, "{}").expect("a file");
        std::os::unix::fs::symlink(&target, &file).expect("a link");
        let left = [
            home.path().join(format!(".auth.json.{id}")),
            home.path().join(".auth.json.4711.new"),
            elsewhere.path().join(format!(".auth.json.{id}")),
            elsewhere.path().join(".login.json.12.new"),
        ];
        let stays = [
            home.path().join(".auth.json.bak"),
            home.path().join("auth.json.4711.new"),
            home.path().join(format!(".other.json.{id}")),
            home.path().join(".auth.json.x1.new"),
            elsewhere.path().join(".login.json.new"),
        ];
        let held = home.path().join(".auth.json.4712.new");
        for path in left.iter().chain(&stays).chain([&held]) {
            fs::write(path, "at-secret").expect("a file");
        }
        fs::create_dir(home.path().join(".auth.json.1.new")).expect("a folder");
        let writer = File::open(&held).expect("open");
        hold(&writer);
        sweep(&file).expect("removed");
        assert!(left.iter().all(|path| !path.exists()), "{left:?}");
        assert!(stays.iter().all(|path| path.exists()) && held.exists() && target.exists());
        drop(writer);
        sweep(&file).expect("removed");
        assert!(!held.exists());
    }

    #[test]
    fn of_a_folder_only_what_is_named_and_not_held_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["ours-1", "ours-2", "others"] {
            fs::write(at(name), "").expect("a file");
        }
        fs::create_dir(at("ours-3")).expect("a folder");
        std::os::unix::fs::symlink(at("others"), at("ours-4")).expect("a link");
        let writer = File::open(at("ours-2")).expect("open");
        hold(&writer);
        sweep_folder(folder.path(), |name| name.starts_with("ours-"));
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["others", "ours-2", "ours-3", "ours-4"]);
    }
}
