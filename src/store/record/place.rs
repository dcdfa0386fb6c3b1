//! Where rollouts lie: their folders and files, who may read them, and the lock of the one server that writes.

use crate::private;
use crate::store::line::SessionMeta;
use crate::store::{SESSIONS, StoreError};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// `<home>/sessions/YYYY/MM/DD/rollout-<stamp>-<id>.jsonl`, in local time.
pub(super) fn path_of(home: &Path, meta: &SessionMeta) -> PathBuf {
    let time = jiff::Timestamp::from_millisecond(meta.created_at_ms).unwrap_or_else(|_| jiff::Timestamp::now());
    let local = time.to_zoned(jiff::tz::TimeZone::system());
    home.join(SESSIONS)
        .join(local.strftime("%Y").to_string())
        .join(local.strftime("%m").to_string())
        .join(local.strftime("%d").to_string())
        .join(format!(
            "rollout-{}-{}.jsonl",
            local.strftime("%Y-%m-%dT%H-%M-%S"),
            meta.id
        ))
}

/// Makes the folder, puts a file into it and takes it away again.
pub(super) fn check_writable(home: &Path, folder: &Path) -> Result<(), StoreError> {
    make_folder(home).map_err(|cause| StoreError::Unwritable {
        path: home.to_owned(),
        cause,
    })?;
    let probe = folder.join(format!(".probe-{}", uuid::Uuid::now_v7()));
    let check = || {
        make_folder(folder)?;
        private::create_new(&probe)?;
        std::fs::remove_file(&probe)
    };
    check().map_err(|cause| StoreError::Unwritable {
        path: folder.to_owned(),
        cause,
    })
}

/// Conversations are nobody else's business: folders and files are for their owner alone.
pub(in crate::store) fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

pub(super) fn open(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    lock(&file)?;
    Ok(file)
}

/// Whether an open file is the one that lies at a path.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |found: std::fs::Metadata| (found.dev(), found.ino());
    let (open, there) = (file.metadata().map(place), std::fs::metadata(path).map(place));
    open.is_ok() && open.ok() == there.ok()
}

#[cfg(not(unix))]
pub(super) fn is_at(_file: &File, _path: &Path) -> bool {
    false
}

/// Opens a thread's file for more lines, and takes its lock.
pub(super) fn hold(path: &Path) -> Result<File, StoreError> {
    let held = OpenOptions::new().append(true).open(path).and_then(|file| {
        lock(&file)?;
        Ok(file)
    });
    held.map_err(|cause| match cause.kind() {
        std::io::ErrorKind::WouldBlock => StoreError::InUse { path: path.to_owned() },
        _ => StoreError::Unwritable {
            path: path.to_owned(),
            cause,
        },
    })
}

/// One server writes a thread's file. The lock ends with the process that has it, however that ends; it hinders nobody who
/// only reads. Where there are no locks, as on some network folders, it goes without.
pub(in crate::store) fn lock(file: &File) -> std::io::Result<()> {
    if cfg!(not(unix)) {
        // There a lock would keep readers out too.
        return Ok(());
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(std::io::Error::new(
            std::io::ErrorKind::WouldBlock,
            "another server has it open",
        )),
        _ => Ok(()),
    }
}

/// Takes away the dated folders that were made for a file that never came.
pub(super) fn remove_empty_folders(path: &Path) {
    for folder in path.ancestors().skip(1).take(4) {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
