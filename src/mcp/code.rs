//! What tells a file, or all the code in a folder, from what it was before.

use crate::exec::{self, ALL, program};
use crate::patch::disk::hexadecimal;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Folders in which no code lies, or only what is made of other code. What Python makes of it, servers keep elsewhere
/// (`launch`).
const NO_CODE: &[&str] = &[
    ".git",
    ".hg",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    "__pycache__",
];
/// Entries of a folder of code that are looked at.
const MOST_ENTRIES: usize = 300_000;
/// Bytes of its files that are read; of a larger one only counts when which file was changed.
const MOST_BYTES: u64 = 512 << 20;
/// How long a yes to a folder holds that is too large to be looked at.
const TOO_LARGE_HOLDS: u64 = 120;
/// What was changed within this time may be changed again without a later time.
const SETTLED: Duration = Duration::from_secs(2);
/// Files that are named as changed last.
const MOST_NAMED: usize = 3;
const TOO_LARGE: &str = "too large at ";
/// Stands for a part of a mark that is not known.
const UNKNOWN: &str = "-";

/// What has become of a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    Same,
    /// The files hold what they held, and have this mark now.
    Touched(String),
    Changed,
}

/// Compares a path with its mark.
pub(super) fn look(path: &Path, before: &str) -> Look {
    let Some(folder) = folder_of(path) else {
        return match mark(path) == before {
            true => Look::Same,
            false => Look::Changed,
        };
    };
    if let Some(time) = before.strip_prefix(TOO_LARGE) {
        let is_recent = time
            .parse::<u64>()
            .is_ok_and(|time| now().abs_diff(time) < TOO_LARGE_HOLDS);
        return if is_recent { Look::Same } else { Look::Changed };
    }
    let (Some(tree), Some((times, content))) = (Tree::of(folder), before.split_once(' ')) else {
        return match mark(path) == before {
            true => Look::Same,
            false => Look::Changed,
        };
    };
    if times != UNKNOWN && times == tree.times() {
        return Look::Same;
    }
    let now = tree.mark();
    match content != UNKNOWN && now.split_once(' ').is_some_and(|(_, now)| now == content) {
        true => Look::Touched(now),
        false => Look::Changed,
    }
}

/// What tells it from all others: of a file the digest of its text, of a folder where it leads, of the code in one
/// (`FOLDER/*`) when its files were changed and what they hold. Empty where there is none.
pub(super) fn mark(path: &Path) -> String {
    if let Some(folder) = folder_of(path) {
        return match Tree::of(folder) {
            Some(tree) if tree.files.is_empty() && !folder.is_dir() => String::new(),
            Some(tree) => tree.mark(),
            None => format!("{TOO_LARGE}{}", now()),
        };
    }
    let Ok(found) = fs::metadata(path) else {
        return String::new();
    };
    if found.is_dir() {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        return format!("folder {}", real.display());
    }
    let mut digest = Sha256::new();
    match read(path, u64::MAX, &mut digest) {
        Some(_) => hexadecimal(&digest.finalize()),
        None => "not read".to_owned(),
    }
}

/// A path for the person, of a folder with what was changed in it last.
pub(super) fn shown(path: &Path) -> String {
    let mut files = match folder_of(path).and_then(Tree::of) {
        Some(tree) => tree.files,
        None => return crate::shown::path(path),
    };
    files.sort_by_key(|file| std::cmp::Reverse(file.changed));
    let last: Vec<_> = files
        .iter()
        .take(MOST_NAMED)
        .map(|file| crate::shown::path(&file.path))
        .collect();
    match last.is_empty() {
        true => crate::shown::path(path),
        false => format!("{} (changed last: {})", crate::shown::path(path), last.join(", ")),
    }
}

fn folder_of(path: &Path) -> Option<&Path> {
    path.parent().filter(|_| path.ends_with(ALL))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Takes up to so many bytes of a file into a digest; gives how many there were, or nothing if it cannot be read.
fn read(path: &Path, most: u64, digest: &mut Sha256) -> Option<u64> {
    let mut file = program::open_file(path).ok()?.take(most);
    let (mut part, mut length) = (vec![0; 64 << 10], 0);
    loop {
        match file.read(&mut part).ok()? {
            0 => return Some(length),
            count => digest.update(&part[..count]),
        }
        length = most - file.limit();
    }
}

struct Tree {
    files: Vec<File>,
}

struct File {
    path: PathBuf,
    /// Of a link where it leads.
    target: Option<PathBuf>,
    /// What is another with each change of it.
    state: String,
    changed: Duration,
    length: u64,
}

impl Tree {
    /// The files with code in a folder, and in those that links lead to from there. Nothing if there are too many.
    fn of(folder: &Path) -> Option<Self> {
        let (mut files, mut seen) = (Vec::new(), 0);
        let root = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let (mut folders, mut led_to) = (vec![folder.to_owned()], BTreeSet::from([root.clone()]));
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                seen += 1;
                if seen > MOST_ENTRIES {
                    return None;
                }
                let (path, name) = (entry.path(), entry.file_name());
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    if !NO_CODE.iter().any(|other| name == *other) {
                        folders.push(path);
                    }
                    continue;
                }
                let target = kind.is_symlink().then(|| fs::read_link(&path).ok()).flatten();
                let is_folder = target.is_some() && path.is_dir();
                if is_folder
                    && let Ok(real) = fs::canonicalize(&path)
                    && !real.starts_with(&root)
                    && led_to.insert(real.clone())
                {
                    folders.push(real);
                }
                if is_folder || !exec::is_data(&path) {
                    files.extend(File::of(path, target));
                }
            }
        }
        files.sort_by(|a: &File, b| a.path.cmp(&b.path));
        Some(Self { files })
    }

    fn mark(&self) -> String {
        let (times, content) = (self.times(), self.content());
        let last = self.files.iter().map(|file| file.changed).max().unwrap_or_default();
        let age = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_settled = age.saturating_sub(last) >= SETTLED;
        match content {
            Some(content) if is_settled => format!("{times} {content}"),
            Some(content) => format!("{UNKNOWN} {content}"),
            None => format!("{times} {UNKNOWN}"),
        }
    }

    /// The digest of when which file was changed.
    fn times(&self) -> String {
        let mut digest = Sha256::new();
        for file in &self.files {
            digest.update(file.path.as_os_str().as_encoded_bytes());
            digest.update([0]);
            digest.update(&file.state);
            digest.update([0]);
        }
        hexadecimal(&digest.finalize())
    }

    /// The digest of what the files hold; nothing if that is too much.
    fn content(&self) -> Option<String> {
        let length: u64 = self.files.iter().map(|file| file.length).sum();
        if length > MOST_BYTES {
            return None;
        }
        let (mut digest, mut left) = (Sha256::new(), MOST_BYTES);
        for file in &self.files {
            let mut own = Sha256::new();
            let count = read(&file.path, left, &mut own);
            left -= count.unwrap_or(0);
            let target = file.target.iter().map(|target| target.as_os_str().as_encoded_bytes());
            for part in std::iter::once(file.path.as_os_str().as_encoded_bytes()).chain(target) {
                digest.update(part);
                digest.update([0]);
            }
            digest.update([u8::from(count.is_some())]);
            digest.update(own.finalize());
        }
        // It grew meanwhile.
        (left > 0).then(|| hexadecimal(&digest.finalize()))
    }
}

impl File {
    fn of(path: PathBuf, target: Option<PathBuf>) -> Option<Self> {
        let own = fs::symlink_metadata(&path).ok()?;
        let led = target.as_ref().and_then(|_| fs::metadata(&path).ok());
        let found = led.as_ref().unwrap_or(&own);
        Some(Self {
            state: format!("{} {}", state(&own), led.as_ref().map(state).unwrap_or_default()),
            changed: changed(&own).max(changed(found)),
            length: if found.is_file() { found.len() } else { 0 },
            path,
            target,
        })
    }
}

#[cfg(unix)]
fn changed(found: &Metadata) -> Duration {
    use std::os::unix::fs::MetadataExt as _;
    // No command can set it back.
    let seconds = u64::try_from(found.ctime()).unwrap_or_default();
    Duration::new(seconds, u32::try_from(found.ctime_nsec()).unwrap_or_default())
}

#[cfg(not(unix))]
fn changed(found: &Metadata) -> Duration {
    let time = found.modified().ok();
    time.and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default()
}

#[cfg(unix)]
fn state(found: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let time = changed(found).as_nanos();
    format!(
        "{} {} {} {} {time}",
        found.dev(),
        found.ino(),
        found.mode(),
        found.len()
    )
}

#[cfg(not(unix))]
fn state(found: &Metadata) -> String {
    format!("{} {}", found.len(), changed(found).as_nanos())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// However it is changed, also with the length and the time as they were.
    #[test]
    fn the_code_of_a_folder_by_table() {
        let dir = tempfile::tempdir().expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        let (work, other) = (base.join("work"), base.join("other"));
        let tree = work.join(ALL);
        assert_eq!(mark(&tree), "", "there is none");
        let write = |name: &str, text: &str| {
            let path = base.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(&path, text).expect("a file");
            path
        };
        for name in ["work/a.py", "work/in/b.py", "work/node_modules/x/i.js", "other/c.py"] {
            write(name, "as it was");
        }
        std::os::unix::fs::symlink(&other, work.join("led")).expect("a link");
        for (name, text, is_changed) in [
            ("work/a.py", "of another", true),
            ("work/a.py", "as it wat", true),
            ("work/in/b.py", "as it wat", true),
            ("work/node_modules/x/i.js", "as it wat", true),
            ("work/package.json", "{}", true),
            ("work/requirements.txt", "x", true),
            ("other/c.py", "as it wat", true),
            ("work/new", "", true),
            ("work/a.py", "as it wat", false),
            ("work/state.json", "{}", false),
            ("work/notes.md", "x", false),
            ("work/.git/config", "x", false),
            ("work/__pycache__/a.pyc", "x", false),
        ] {
            let before = mark(&tree);
            assert_eq!(before, mark(&tree));
            assert!(!matches!(look(&tree, &before), Look::Changed));
            let path = base.join(name);
            let kept = fs::metadata(&path).and_then(|found| found.modified());
            write(name, text);
            if let Ok(time) = kept {
                let file = fs::File::options().write(true).open(&path).expect("a file");
                file.set_modified(time).expect("set back");
            }
            assert_eq!(look(&tree, &before) == Look::Changed, is_changed, "{name}: {text}");
        }
        // Where a link leads.
        let before = mark(&tree);
        fs::remove_file(work.join("led")).expect("a link");
        std::os::unix::fs::symlink(work.join("in"), work.join("led")).expect("a link");
        assert_eq!(look(&tree, &before), Look::Changed);
        assert!(shown(&tree).contains("changed last: "), "{}", shown(&tree));
        // A yes to what is too large holds for a moment.
        for (age, expected) in [(0, Look::Same), (TOO_LARGE_HOLDS + 1, Look::Changed)] {
            assert_eq!(look(&tree, &format!("{TOO_LARGE}{}", now() - age)), expected, "{age}");
        }
    }

    /// What has not been touched is not read again.
    #[test]
    fn times_tell_what_need_not_be_read() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("a.py"), "x").expect("a file");
        let tree = Tree::of(dir.path()).expect("not large");
        let path = dir.path().join(ALL);
        assert_eq!(look(&path, &format!("{} of others", tree.times())), Look::Same);
        assert_eq!(look(&path, &format!("{} {UNKNOWN}", tree.times())), Look::Same);
        let content = tree.content().expect("not much");
        assert!(matches!(look(&path, &format!("others {content}")), Look::Touched(_)));
        assert_eq!(look(&path, &format!("others {UNKNOWN}")), Look::Changed);
    }
}
