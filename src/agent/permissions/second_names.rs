//! Files that are closed for what they are, and not for where they lie: what the kernel tells of a process by a path, and
//! second names of files in Countersign's own folder.

#![cfg_attr(not(unix), allow(dead_code, unused_imports))]

use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// What lies below a process in `/proc` and shows its variables, its memory or its files.
const OF_PROCESSES: [&str; 15] = [
    "environ",
    "mem",
    "maps",
    "smaps",
    "smaps_rollup",
    "numa_maps",
    "map_files",
    "pagemap",
    "auxv",
    "stack",
    "fd",
    "fdinfo",
    "root",
    "cwd",
    "exe",
];

/// The most entries of the folder that are looked at.
const MOST: usize = 100_000;

/// Answers while the files are as they were at the first look: for one call, not for a session.
#[derive(Debug)]
pub(super) struct SecondNames {
    /// Countersign's own folder; canonical.
    home: PathBuf,
    /// Its files that have further names, by device and inode.
    files: OnceLock<HashSet<(u64, u64)>>,
}

impl SecondNames {
    pub(super) fn of(home: PathBuf) -> Self {
        Self {
            home,
            files: OnceLock::new(),
        }
    }

    /// Whether a path, which is absolute, is closed under whatever name.
    #[cfg(unix)]
    pub(super) fn closes(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        if tells_of_process(path) {
            return true;
        }
        let Ok(found) = fs::metadata(path) else { return false };
        if fs::metadata("/proc").is_ok_and(|proc| proc.dev() == found.dev()) {
            return fs::canonicalize(path).is_ok_and(|real| tells_of_process(&real));
        }
        let is_inside = || fs::canonicalize(path).is_ok_and(|real| real.starts_with(&self.home));
        self.is_known(&found) && !is_inside()
    }

    /// The same for what is open, by its place, which has no link in it.
    #[cfg(unix)]
    pub(super) fn closes_opened(&self, place: &Path, found: &fs::Metadata) -> bool {
        tells_of_process(place) || self.is_known(found) && !place.starts_with(&self.home)
    }

    /// Whether it is a file of the folder that has further names.
    #[cfg(unix)]
    fn is_known(&self, found: &fs::Metadata) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        if !found.is_file() || found.nlink() < 2 {
            return false;
        }
        let files = self.files.get_or_init(|| files_with_names(&self.home));
        files.contains(&(found.dev(), found.ino()))
    }

    #[cfg(not(unix))]
    pub(super) fn closes(&self, _path: &Path) -> bool {
        false
    }

    #[cfg(not(unix))]
    pub(super) fn closes_opened(&self, _place: &Path, _found: &fs::Metadata) -> bool {
        false
    }
}

/// Whether a path leads through what `/proc` shows of a process, as it is written.
fn tells_of_process(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix("/proc") else {
        return false;
    };
    let parts: Vec<&str> = below
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let is_process =
        |name: &str| matches!(name, "self" | "thread-self") || name.bytes().all(|byte| byte.is_ascii_digit());
    match parts.split_first() {
        Some((process, rest)) => is_process(process) && rest.iter().any(|name| OF_PROCESSES.contains(name)),
        None => false,
    }
}

/// The files of a folder, scratch folders apart, that have more than one name.
#[cfg(unix)]
fn files_with_names(home: &Path) -> HashSet<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let scratch = super::scratch::named(home, "");
    let mut found = HashSet::new();
    let mut folders = vec![home.to_owned()];
    let mut looked = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked += 1;
            if looked > MOST {
                tracing::warn!(home = %home.display(), "there is too much in the folder to know all its files");
                return found;
            }
            // Links are not followed.
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() && !scratch.starts_with(entry.path()) {
                folders.push(entry.path());
            } else if about.is_file() && about.nlink() > 1 {
                found.insert((about.dev(), about.ino()));
            }
        }
    }
    found
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::workspace::Opened;

    #[test]
    fn what_tells_of_a_process_by_table() {
        for (path, expected) in [
            ("/proc/self/environ", true),
            ("/proc/1/root/etc/passwd", true),
            ("/proc/1/root", true),
            ("/proc/thread-self/maps", true),
            ("/proc/12/task/13/environ", true),
            ("/proc/self/fd/3", true),
            ("/proc/self/status", false),
            ("/proc/cpuinfo", false),
            ("/proc/sys/fs/mem", false),
            ("/proc", false),
            ("/w/proc/self/environ", false),
        ] {
            assert_eq!(tells_of_process(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_second_name_of_what_is_in_the_home_is_closed() {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().canonicalize().expect("a path");
        let (home, work) = (base.join("home"), base.join("work"));
        for folder in [home.join("sessions/2026"), home.join("scratch/a"), work.clone()] {
            fs::create_dir_all(folder).expect("a folder");
        }
        for (file, second) in [
            ("home/history.jsonl", "work/a"),
            ("home/sessions/2026/x.jsonl", "work/b"),
            ("home/scratch/a/own", "work/c"),
            ("work/x", "work/d"),
        ] {
            fs::write(base.join(file), "text").expect("a file");
            fs::hard_link(base.join(file), base.join(second)).expect("a second name");
        }
        std::os::unix::fs::symlink("a", work.join("link")).expect("a link");
        std::os::unix::fs::symlink("/proc/self", work.join("process")).expect("a link");
        let names = SecondNames::of(home.clone());
        for (path, expected) in [
            (work.join("a"), true),
            (work.join("b"), true),
            (work.join("link"), true),
            (work.join("c"), false),
            (work.join("d"), false),
            (work.join("not there"), false),
            // By its own name the policy says what holds.
            (home.join("history.jsonl"), false),
            (work.join("process/environ"), cfg!(target_os = "linux")),
            (work.join("process/status"), false),
        ] {
            assert_eq!(names.closes(&path), expected, "{}", path.display());
            if let Ok(opened) = Opened::open(&path) {
                let closed = names.closes_opened(opened.place(), opened.metadata());
                assert_eq!(closed, expected, "open: {}", path.display());
            }
        }
    }
}
