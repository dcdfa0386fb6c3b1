//! Where a conversation works that has no folder: in one of its own below Countersign's own folder, all else of which is
//! closed to it.

use super::services::Services;
use super::{AgentError, permissions};
use crate::config::Config;
use crate::protocol::settings::ThreadSettings;
use crate::protocol::thread::ThreadListParams;
use crate::store;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

/// The folder that holds them, below the home folder.
const FOLDER: &str = "scratch";

/// The scratch folder of this name. It need not be there.
pub(super) fn named(home: &Path, name: &str) -> PathBuf {
    home.join(FOLDER).join(name)
}

/// The scratch folder that a path is or lies in; as it is written, links are not followed.
pub(super) fn around(home: &Path, path: &Path) -> Option<PathBuf> {
    let all = home.join(FOLDER);
    match path.strip_prefix(&all).ok()?.components().next()? {
        Component::Normal(name) => Some(all.join(name)),
        _ => None,
    }
}

/// How long an empty one is left alone: its conversation may go on.
const OLD: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Removes the scratch folder of a conversation that is deleted, with what it made there, unless another one works in it.
pub(super) fn remove(home: &Path, name: &str) {
    let folder = named(home, name);
    if around(home, &folder).as_ref() != Some(&folder) || !folder.is_dir() || is_used(home, &folder) {
        return;
    }
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(folder = %folder.display(), %error, "the folder of a deleted conversation is left");
        }
        _ => {}
    }
}

/// Whether a conversation that is stored works in a folder: a copy of one works where that did.
fn is_used(home: &Path, folder: &Path) -> bool {
    let wanted = |archived| ThreadListParams {
        cwd: Some(folder.to_owned()),
        model_providers: Some(Vec::new()),
        archived,
        ..ThreadListParams::default()
    };
    let is_nobodys = |archived| store::list(home, &wanted(archived), "").is_ok_and(|found| found.data.is_empty());
    !(is_nobodys(false) && is_nobodys(true))
}

/// Removes those in which nothing has been for long, such as those of one-off commands.
fn sweep(home: &Path, now: SystemTime) {
    let all = fs::read_dir(home.join(FOLDER)).into_iter().flatten().flatten();
    for folder in all {
        let changed = folder.metadata().and_then(|found| found.modified());
        let is_old = changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > OLD));
        if is_old {
            // It is left where something is in it.
            let _holds_something = fs::remove_dir(folder.path());
        }
    }
}

/// Makes a folder that is a scratch folder; others are left as they are.
///
/// # Errors
/// It cannot be made.
pub(super) fn make(home: &Path, folder: &Path) -> Result<(), AgentError> {
    if around(home, folder).is_none_or(|around| around != folder) || folder.is_dir() {
        return Ok(());
    }
    sweep(home, SystemTime::now());
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| {
        AgentError::BadSettings(format!(
            "No folder is open, and the folder {} for a conversation without one cannot be made: {error}. Open a folder, or make \
             that place writable.",
            folder.display()
        ))
    })
}

/// What is said of a conversation that worked in Countersign's own folder.
pub(super) fn not_at_home(home: &Path, now: &Path) -> String {
    format!(
        "The folder {} of this conversation is Countersign's own, in which no conversation works, so it goes on in {}. Resume it with \
         cwd to have it work elsewhere.",
        home.display(),
        now.display()
    )
}

/// What is said of a conversation whose folder is closed to it, as it lies in Countersign's own.
pub(super) fn closed(services: &Services, config: &Config, settings: &ThreadSettings) -> Option<String> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let cwd = &settings.cwd;
    if !real(cwd).starts_with(real(&services.home)) {
        return None;
    }
    let refused = permissions::refused(services, config, settings, std::slice::from_ref(cwd));
    (!refused.is_empty()).then(|| {
        format!(
            "{} lies in Countersign's own folder, which is closed to the agent: its tools read nothing there, and its commands do not \
             start there in the sandbox. Open another folder, or name this one in a permission profile of yours.",
            cwd.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_folder_is_one() {
        let home = Path::new("/h");
        for (path, expected) in [
            ("/h/scratch/a", Some("/h/scratch/a")),
            ("/h/scratch/a/b.txt", Some("/h/scratch/a")),
            ("/h/scratch", None),
            ("/h/scratch/../rules", None),
            ("/h/rules", None),
            ("/h", None),
            ("/scratch/a", None),
        ] {
            assert_eq!(around(home, Path::new(path)), expected.map(PathBuf::from), "{path}");
        }
    }

    #[test]
    fn only_a_scratch_folder_is_made() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path().join("home");
        for (folder, made) in [("scratch/a", true), ("scratch/a/b", false), ("rules", false)] {
            make(&home, &home.join(folder)).expect("it is writable");
            assert_eq!(home.join(folder).is_dir(), made, "{folder}");
        }
    }

    #[test]
    fn what_is_deleted_goes_and_what_is_empty_for_long() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path();
        for folder in ["scratch/a/in", "scratch/b", "scratch/c/in", "rules"] {
            fs::create_dir_all(home.join(folder)).expect("a folder");
        }
        fs::write(home.join("scratch/a/in/made.txt"), "made").expect("a file");
        let is_there = |folder: &str| home.join(folder).is_dir();
        for other in ["../rules", "..", ".", "", "a/in"] {
            remove(home, other);
        }
        assert!(is_there("rules") && is_there("scratch/a/in") && is_there("scratch/b"));
        remove(home, "a");
        remove(home, "never made");
        assert!(!is_there("scratch/a"));
        let now = SystemTime::now();
        sweep(home, now);
        assert!(is_there("scratch/b"), "it is new");
        sweep(home, now + 2 * OLD);
        assert!(!is_there("scratch/b") && is_there("scratch/c/in"));
    }
}
