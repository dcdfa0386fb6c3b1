//! Looking at a folder: every file of it with its marks, without what ignore files name and without `.git`.

use super::SnapshotError;
use super::manifest::{Kind, Marks};
use crate::exec::git::Stop;
use crate::workspace::walk::IGNORE_FILE;
use ignore::WalkBuilder;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// Something that was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Below the folder.
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) mode: u32,
    pub(super) marks: Marks,
}

/// All that is in a folder and counts, in the order of paths. `except` are folders that are left out; `tracked` are
/// files that count also if they are ignored. Those that are come second.
pub(super) fn look(
    root: &Path,
    except: &[PathBuf],
    tracked: &[PathBuf],
    most: usize,
    stop: &Stop,
) -> Result<(Vec<Found>, Vec<PathBuf>), SnapshotError> {
    let mut found = Vec::new();
    let mut folders = Vec::new();
    let too_many = || SnapshotError::TooManyFiles {
        root: root.to_owned(),
        most,
    };
    for entry in walk(root, except).build() {
        if stop.is_stopped() {
            return Err(SnapshotError::Stopped);
        }
        // What cannot be entered cannot be changed by a command either, which has no more rights than we.
        let Ok(entry) = entry else { continue };
        let Ok(path) = entry.path().strip_prefix(root) else {
            continue;
        };
        if path.as_os_str().is_empty() {
            continue;
        }
        let Ok(meta) = entry.metadata() else { continue };
        match found_at(path, &meta) {
            Some(one) if one.kind == Kind::Folder => folders.push(one),
            Some(one) => found.push(one),
            None => {}
        }
        if found.len() + folders.len() > most {
            return Err(too_many());
        }
    }
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let ignored = add_tracked(root, except, tracked, &mut found);
    if found.len() > most {
        return Err(too_many());
    }
    add_empty(&folders, &mut found);
    Ok((found, ignored))
}

fn walk(root: &Path, except: &[PathBuf]) -> WalkBuilder {
    // Ignore files above the folder count as far as its repository reaches. Without one they are about something else,
    // like the `*` in a home folder that is kept in git by its owner.
    let in_repository = root.ancestors().any(|folder| folder.join(".git").exists());
    let except: BTreeSet<PathBuf> = except.iter().cloned().collect();
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(false)
        .require_git(false)
        .parents(in_repository)
        .follow_links(false)
        .add_custom_ignore_filename(IGNORE_FILE)
        .filter_entry(move |entry| entry.file_name() != ".git" && !except.contains(entry.path()));
    builder
}

/// Adds the tracked files that the ignore files hide, and names them.
fn add_tracked(root: &Path, except: &[PathBuf], tracked: &[PathBuf], found: &mut Vec<Found>) -> Vec<PathBuf> {
    let is_found = |path: &PathBuf| found.binary_search_by(|one| one.path.cmp(path)).is_ok();
    let is_excepted = |path: &PathBuf| except.iter().any(|except| root.join(path).starts_with(except));
    let more: Vec<Found> = tracked
        .iter()
        .filter(|path| !is_found(path) && !is_excepted(path))
        .filter_map(|path| found_at(path, &std::fs::symlink_metadata(root.join(path)).ok()?))
        .filter(|one| one.kind != Kind::Folder)
        .collect();
    let names = more.iter().map(|one| one.path.clone()).collect();
    if !more.is_empty() {
        found.extend(more);
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        found.dedup_by(|a, b| a.path == b.path);
    }
    names
}

/// A folder in which nothing was found is worth an entry of its own.
fn add_empty(folders: &[Found], found: &mut Vec<Found>) {
    let mut filled: BTreeSet<&Path> = BTreeSet::new();
    for one in found.iter().chain(folders) {
        for folder in one.path.ancestors().skip(1) {
            if !filled.insert(folder) {
                break;
            }
        }
    }
    let is_empty = |folder: &&Found| !filled.contains(folder.path.as_path());
    let empty: Vec<Found> = folders.iter().filter(is_empty).cloned().collect();
    if !empty.is_empty() {
        found.extend(empty);
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }
}

/// Nothing for devices, pipes and sockets.
fn found_at(path: &Path, meta: &Metadata) -> Option<Found> {
    let kind = meta.file_type();
    let kind = if kind.is_file() {
        Kind::File
    } else if kind.is_symlink() {
        Kind::Link
    } else if kind.is_dir() {
        Kind::Folder
    } else {
        return None;
    };
    let (mode, marks) = marks(meta);
    Some(Found {
        path: path.to_owned(),
        kind,
        mode,
        marks,
    })
}

/// Permission bits and marks.
#[cfg(unix)]
pub(super) fn marks(meta: &Metadata) -> (u32, Marks) {
    use std::os::unix::fs::MetadataExt as _;
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    let marks = Marks {
        size: meta.size(),
        modified: nanoseconds(meta.mtime(), meta.mtime_nsec()),
        changed: nanoseconds(meta.ctime(), meta.ctime_nsec()),
        inode: meta.ino(),
    };
    (meta.mode() & 0o7777, marks)
}

#[cfg(not(unix))]
pub(super) fn marks(meta: &Metadata) -> (u32, Marks) {
    let modified = meta.modified().ok().and_then(|time| {
        let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_nanos()).ok()
    });
    let marks = Marks {
        size: meta.len(),
        modified: modified.unwrap_or_default(),
        ..Marks::default()
    };
    let mode = if meta.permissions().readonly() { 0o444 } else { 0o644 };
    (mode, marks)
}
