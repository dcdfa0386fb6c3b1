//! Putting stored threads away, bringing them back, and deleting them.
//!
//! A thread's file is moved under the name that it has, never copied over another, and not while another server writes it.

use super::list::{check_id, find, find_archived, name_of};
use super::record::{lock, make_folder};
use super::{ARCHIVE, SESSIONS, StoreError, packed, summary};
use crate::ids::ThreadId;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Moves a thread's file to the archive. Gives the place where it is now.
///
/// # Errors
/// There is no such thread, another server has it open, or the file cannot be moved.
pub fn archive(home: &Path, id: &ThreadId) -> Result<PathBuf, StoreError> {
    match find(home, id)? {
        Some(path) => archive_file(home, id, &path),
        None if find_archived(home, id)?.is_some() => Err(StoreError::Archived { id: id.to_string() }),
        None => Err(StoreError::NotFound { id: id.to_string() }),
    }
}

/// The same for a file that is known; a relative path is below `home`. It must lie in the sessions folder, whatever links
/// lead to it, and its name must end with the id.
///
/// # Errors
/// The path is not that of the thread's file, or the file cannot be moved.
pub fn archive_file(home: &Path, id: &ThreadId, path: &Path) -> Result<PathBuf, StoreError> {
    let path = &home.join(path);
    let name = check_place(&home.join(SESSIONS), id, path)?;
    let held = hold(path)?;
    let to = home.join(ARCHIVE).join(name);
    move_file(path, &to)?;
    drop(held);
    Ok(to)
}

/// Moves an archived thread's file back to the folder of its day.
///
/// # Errors
/// There is no such archived thread, or the file cannot be moved.
pub fn unarchive(home: &Path, id: &ThreadId) -> Result<PathBuf, StoreError> {
    let path = find_archived(home, id)?.ok_or_else(|| StoreError::NotArchived { id: id.to_string() })?;
    let name = check_place(&home.join(ARCHIVE), id, &path)?;
    // The day stands in the name.
    let day = summary::parse_name(&name).and_then(|_| name.get("rollout-".len()..)?.get(..10));
    let parts: Vec<&str> = day.map(|day| day.split('-').collect()).unwrap_or_default();
    let [year, month, day] = parts[..] else {
        return Err(misplaced(
            &home.join(ARCHIVE),
            id,
            &path,
            "its name does not begin with rollout- and a day",
        ));
    };
    let held = hold(&path)?;
    let to = home.join(SESSIONS).join(year).join(month).join(day).join(&name);
    move_file(&path, &to)?;
    drop(held);
    Ok(to)
}

/// Deletes a thread's file, archived or not. Gives the place where it was.
///
/// # Errors
/// There is no thread with exactly this id, another server has it open, or the file cannot be deleted.
pub fn delete(home: &Path, id: &ThreadId) -> Result<PathBuf, StoreError> {
    let unknown = || StoreError::NotFound { id: id.to_string() };
    let (path, folder) = match find(home, id)? {
        Some(path) => (path, SESSIONS),
        None => (find_archived(home, id)?.ok_or_else(unknown)?, ARCHIVE),
    };
    let stored = summary::head(&path).ok().map(|head| head.meta.id);
    // What brings nothing back is not done by a name that was only meant like this.
    if stored.is_some_and(|stored| stored != *id) {
        return Err(unknown());
    }
    let root = home.join(folder);
    let real = real_folder(&root)?;
    if !std::fs::canonicalize(&path).is_ok_and(|path| path.starts_with(&real)) {
        return Err(misplaced(&root, id, &path, "it lies outside, or a link leads there"));
    }
    let held = hold(&path)?;
    std::fs::remove_file(&path).map_err(|cause| StoreError::Delete {
        path: path.clone(),
        cause,
    })?;
    drop(held);
    Ok(path)
}

/// The file's name, if it is the thread's file in this folder.
fn check_place(folder: &Path, id: &ThreadId, path: &Path) -> Result<String, StoreError> {
    let wanted = check_id(id)?;
    let root = real_folder(folder)?;
    let misplaced = |reason| Err(misplaced(folder, id, path, reason));
    let real = match std::fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StoreError::NotFound { id: id.to_string() });
        }
        Err(cause) => {
            return Err(StoreError::Read {
                path: path.to_owned(),
                cause,
            });
        }
    };
    if !real.starts_with(&root) {
        return misplaced("it lies outside, or a link leads there");
    }
    if !real.is_file() || std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        return misplaced("it is not a plain file");
    }
    let name = name_of(path);
    if !packed::stem(&name).is_some_and(|stem| stem.to_ascii_lowercase().ends_with(&wanted)) {
        return misplaced("its name does not end with the id");
    }
    Ok(name)
}

fn real_folder(folder: &Path) -> Result<PathBuf, StoreError> {
    std::fs::canonicalize(folder).map_err(|cause| StoreError::Read {
        path: folder.to_owned(),
        cause,
    })
}

fn misplaced(folder: &Path, id: &ThreadId, path: &Path, reason: &'static str) -> StoreError {
    StoreError::Misplaced {
        path: path.to_owned(),
        folder: folder.to_owned(),
        id: id.to_string(),
        reason,
    }
}

/// Keeps other servers from opening the file until it is where it is to be.
fn hold(path: &Path) -> Result<File, StoreError> {
    let file = File::open(path).map_err(|cause| StoreError::Read {
        path: path.to_owned(),
        cause,
    })?;
    match lock(&file) {
        Ok(()) => Ok(file),
        Err(_) => Err(StoreError::InUse { path: path.to_owned() }),
    }
}

/// Moves a file, also onto another disk, and never over one that is there.
fn move_file(from: &Path, to: &Path) -> Result<(), StoreError> {
    let moved = || {
        if let Some(folder) = to.parent() {
            make_folder(folder)?;
        }
        if std::fs::symlink_metadata(to).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file already"));
        }
        match std::fs::rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => carry(from, to),
            other => other,
        }
    };
    moved().map_err(|cause: io::Error| StoreError::Move {
        from: from.to_owned(),
        to: to.to_owned(),
        cause,
    })
}

/// The file goes only once all of it is in its new place.
fn carry(from: &Path, to: &Path) -> io::Result<()> {
    let part = to.with_extension("part");
    let carried = (|| {
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut copy = options.open(&part)?;
        let mut file = File::open(from)?;
        io::copy(&mut file, &mut copy)?;
        copy.set_modified(file.metadata()?.modified()?)?;
        copy.sync_all()?;
        std::fs::rename(&part, to)?;
        std::fs::remove_file(from)
    })();
    if carried.is_err() {
        let _gone = std::fs::remove_file(&part);
    }
    carried
}
