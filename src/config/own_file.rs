//! A file of the person's that is changed for them: by one writer at a time, in one step, with its rights, and through the
//! link where it is one.

use super::layers::read_text;
use super::leftovers;
use crate::private;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long another server may take to write its own.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Why the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{what} failed ({cause}): {}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
    #[error("the file is read-only: {}", .0.display())]
    ReadOnly(PathBuf),
    #[error("another process keeps it locked: {}", .0.display())]
    Locked(PathBuf),
}

/// The file, locked against other servers until this is dropped.
pub(crate) struct OwnFile {
    /// What is written: the file itself, where its name is a link to it.
    path: PathBuf,
    holder: PathBuf,
    before: Option<(String, Permissions)>,
    _alone: File,
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError + use<> {
    let path = path.to_owned();
    move |cause| FileError::Io { what, path, cause }
}

impl OwnFile {
    /// Makes the folder where it is missing, waits for its lock, and reads the file.
    pub(crate) fn open(named: &Path) -> Result<Self, FileError> {
        let folder = named.parent().unwrap_or(Path::new("/"));
        private::make_folder(folder).map_err(failed("making the folder", folder))?;
        let alone = lock(folder)?;
        let path = fs::canonicalize(named).unwrap_or_else(|_| named.to_owned());
        if let Err((path, error)) = leftovers::sweep(named) {
            tracing::warn!(path = %path.display(), %error, "what a program that died has left could not be removed");
        }
        let before = match fs::metadata(&path) {
            Ok(meta) if meta.permissions().readonly() => return Err(FileError::ReadOnly(path)),
            Ok(meta) => Some((
                read_text(&path)
                    .map_err(failed("reading the file", &path))?
                    .unwrap_or_default(),
                meta.permissions(),
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("reading the file", &path)(error)),
        };
        let holder = path.parent().unwrap_or(folder).to_owned();
        if fs::metadata(&holder).is_ok_and(|meta| meta.permissions().readonly()) {
            return Err(FileError::ReadOnly(holder));
        }
        Ok(Self {
            path,
            holder,
            before,
            _alone: alone,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What it says; nothing where it is not there.
    pub(crate) fn text(&self) -> Option<&str> {
        self.before.as_ref().map(|(text, _)| text.as_str())
    }

    /// Writes the text beside the file, has it looked at there, and lets it take the file's place.
    pub(crate) fn replace<E: From<FileError>>(
        &self,
        text: &str,
        is_right: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let new = self.holder.join(format!(".{name}.{}.new", std::process::id()));
        let written = self
            .write(&new, text)
            .map_err(|cause| failed("writing the file", &self.path)(cause).into())
            .and_then(|held| is_right(&new).map(|()| held))
            .and_then(|_held| {
                fs::rename(&new, &self.path).map_err(|cause| failed("writing the file", &self.path)(cause).into())
            });
        if written.is_err() {
            let _gone_already = fs::remove_file(&new);
        }
        written
    }

    /// The file is kept from those who look for what others have left, as long as it is open.
    fn write(&self, new: &Path, text: &str) -> io::Result<File> {
        let _left_by_one_that_died = fs::remove_file(new);
        // What a new one holds is nobody else's business.
        let mut file = private::create_new(new)?;
        leftovers::hold(&file);
        file.write_all(text.as_bytes())?;
        if let Some((_, mode)) = &self.before {
            file.set_permissions(mode.clone())?;
        }
        file.sync_all()?;
        Ok(file)
    }
}

/// Locks the folder against other servers.
fn lock(folder: &Path) -> Result<File, FileError> {
    let path = folder.join(".lock");
    let opened = private::options().write(true).create(true).truncate(false).open(&path);
    let file = opened.map_err(failed("locking the folder", &path))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(FileError::Locked(path)),
            Err(TryLockError::Error(cause)) => return Err(failed("locking the folder", &path)(cause)),
        }
    }
}
