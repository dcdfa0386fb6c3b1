//! Places where a command of the agent, or another user, could have put a program.

use super::mounts::{Mounts, Origin};
use super::{GUARDED, changed_by_others, follow};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where commands write under every policy that lets them write.
const TEMPORARY: &[&str] = &["/tmp", "/dev/shm"];
const TEMPORARY_BY: &[&str] = &["TMPDIR", "TEMP", "TMP"];
/// How long what was seen of them holds, as long as nothing is known to have changed.
const HOLDS: Duration = Duration::from_secs(1);

/// What was looked at last.
static KEPT: Mutex<Option<(Key, Instant, Arc<Places>)>> = Mutex::new(None);

/// What the places depend on, beside the links and repositories around them.
#[derive(PartialEq, Eq)]
struct Key {
    /// How many folders are guarded: they only become more.
    guarded: usize,
    mounts: Option<Vec<u8>>,
    variables: Vec<Option<String>>,
}

/// Folders of programs that a project brings along.
const OF_PROJECTS: &[&str] = &[
    "node_modules/.bin",
    ".venv/bin",
    "venv/bin",
    ".venv/Scripts",
    "venv/Scripts",
];

/// What others than the person can write, looked at once.
pub(super) struct Places {
    guarded: Vec<PathBuf>,
    /// The same, by whatever name they are reached.
    origins: Vec<Origin>,
    numbers: BTreeMap<(u64, u64), PathBuf>,
    temporary: Vec<PathBuf>,
    /// Nothing where they cannot be seen.
    mounts: Option<Mounts>,
    home: Option<PathBuf>,
}

impl Places {
    /// Those of now. They are looked at again where there are more of them, or mounts have changed, and otherwise after a moment:
    /// a search for a program asks a few times in a row.
    pub(super) fn of(env: &BTreeMap<String, String>) -> Arc<Self> {
        // Before the places are read: what comes in between makes another key.
        let guarded = GUARDED.read().unwrap_or_else(PoisonError::into_inner).len();
        let key = Key {
            guarded,
            mounts: Mounts::table(),
            variables: std::iter::once("HOME")
                .chain(TEMPORARY_BY.iter().copied())
                .map(|name| env.get(name).cloned())
                .collect(),
        };
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, at, places)) = &*kept
            && *of == key
            && at.elapsed() < HOLDS
        {
            return places.clone();
        }
        let places = Arc::new(Self::look(env, key.mounts.as_deref().map(Mounts::read)));
        *kept = Some((key, Instant::now(), places.clone()));
        places
    }

    fn look(env: &BTreeMap<String, String>, mounts: Option<Mounts>) -> Self {
        let guarded = GUARDED.read().unwrap_or_else(PoisonError::into_inner).clone();
        let home = env.get("HOME").map(|home| follow(Path::new(home)).0);
        let mut real: Vec<PathBuf> = Vec::new();
        for folder in guarded {
            let (folder, _) = follow(&folder);
            real.extend(repository_around(&folder, home.as_deref()));
            real.push(folder);
        }
        real.retain(|folder| folder.parent().is_some());
        let by_variable = TEMPORARY_BY.iter().filter_map(|name| env.get(*name));
        let temporary = by_variable.map(String::as_str).chain(TEMPORARY.iter().copied());
        let temporary = temporary
            .map(Path::new)
            .filter(|path| path.is_absolute() && path.parent().is_some());
        Self {
            origins: real
                .iter()
                .filter_map(|folder| mounts.as_ref()?.origin(folder))
                .collect(),
            numbers: real
                .iter()
                .filter_map(|folder| Some((number_of(folder)?, folder.clone())))
                .collect(),
            guarded: real,
            temporary: temporary.map(|path| follow(path).0).collect(),
            mounts,
            home,
        }
    }

    /// Whether a number is that of a guarded folder, and of it still: another folder gets the number of one that is gone.
    fn is_of_guarded(&self, number: (u64, u64)) -> bool {
        let folder = self.numbers.get(&number);
        folder.is_some_and(|folder| number_of(folder) == Some(number))
    }

    /// Why nothing is started from a folder of `PATH`.
    pub(super) fn refuses_entry(&self, entry: &Path) -> Option<String> {
        let (real, _) = follow(entry);
        let project = OF_PROJECTS
            .iter()
            .find(|end| real.ends_with(end))
            .and_then(|_| real.parent()?.parent());
        let repository = project.and_then(|project| repository_around(project, self.home.as_deref()));
        let of_project = repository.map(|repository| format!("it belongs to the project in {}", repository.display()));
        self.refuses(entry).or(of_project)
    }

    /// Why nothing is started from a place, or from a link that leads there.
    pub(super) fn refuses(&self, path: &Path) -> Option<String> {
        let (real, links) = follow(path);
        links.iter().chain([&real]).find_map(|place| self.refuses_itself(place))
    }

    fn refuses_itself(&self, place: &Path) -> Option<String> {
        if self.mounts.is_none() {
            return Some(
                "by what other names it can be reached is not known, since /proc/self/mountinfo cannot be read"
                    .to_owned(),
            );
        }
        let lies_in = |folders: &[PathBuf]| folders.iter().any(|folder| place.starts_with(folder));
        if lies_in(&self.guarded) || self.is_guarded_by_another_name(place) {
            return Some("commands can write there, or it belongs to the workspace".to_owned());
        }
        if lies_in(&self.temporary) {
            return Some("it is a temporary folder".to_owned());
        }
        place.ancestors().find_map(|above| {
            let found = fs::symlink_metadata(above).ok()?;
            let who = changed_by_others(&found, above == place)?;
            Some(format!("{who} {}", above.display()))
        })
    }

    /// Whether a guarded folder is mounted there, or is what is meant where upper and lower case are the same.
    fn is_guarded_by_another_name(&self, place: &Path) -> bool {
        let by_mount = self.mounts.as_ref().and_then(|mounts| mounts.origin(place));
        let by_mount = by_mount.is_some_and(|origin| self.origins.iter().any(|folder| origin.lies_in(folder)));
        by_mount
            || place
                .ancestors()
                .any(|above| number_of(above).is_some_and(|number| self.is_of_guarded(number)))
    }
}

/// The repository around a folder belongs to it, but not a home folder that is kept in one.
fn repository_around(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let around = folder.ancestors().find(|above| above.join(".git").exists())?;
    (!home.is_some_and(|home| home.starts_with(around))).then(|| around.to_owned())
}

/// What tells a folder from all others.
#[cfg(unix)]
fn number_of(folder: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::symlink_metadata(folder).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn number_of(_folder: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_started_where_its_other_names_are_unknown() {
        let env = BTreeMap::new();
        let known = Places::look(&env, Some(Mounts::read(b"")));
        assert_eq!(known.refuses(Path::new("/usr")), None);
        let unknown = Places::look(&env, None);
        let why = unknown.refuses(Path::new("/usr")).expect("refused");
        assert!(why.contains("mountinfo"), "{why}");
    }

    #[cfg(unix)]
    #[test]
    fn the_number_of_a_folder_that_is_gone_is_no_guarded_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let (gone, there) = (dir.path().join("gone"), dir.path().to_owned());
        let number = number_of(&there).expect("its number");
        let mut places = Places::look(&BTreeMap::new(), None);
        for (folder, expected) in [(gone, false), (there, true)] {
            places.numbers.insert(number, folder);
            assert_eq!(places.is_of_guarded(number), expected);
        }
    }
}
