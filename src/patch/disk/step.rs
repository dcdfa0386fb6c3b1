//! The single steps of a transaction, each with what takes it back.

use super::check::{Target, There};
use super::system::{
    beside, copy_new, keep, links, make_alike, make_link, open_in_place, open_source, overwrite, rename_to_free,
    set_mode,
};
use super::{CommitError, Found, IoKind, Kept, New};
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Tells whether a file is still the one that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: (u64, u64),
}

impl Stamp {
    pub(super) fn of(meta: &fs::Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Self {
            length: meta.len(),
            modified: meta.modified().ok(),
            #[cfg(unix)]
            inode: (meta.dev(), meta.ino()),
        }
    }

    /// The same content as far as can be told without reading, perhaps in a copy.
    fn of_copy(self, other: Self) -> bool {
        self.length == other.length
    }
}

pub(super) fn io_error(path: &Path, doing: &str, error: &io::Error) -> CommitError {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => IoKind::Denied,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => IoKind::Full,
        _ => IoKind::Other,
    };
    CommitError::Io {
        path: path.to_owned(),
        doing: doing.to_owned(),
        kind,
        message: error.to_string(),
    }
}

/// Carries out steps and remembers how to take them back.
#[derive(Debug, Default)]
pub(super) struct Steps {
    undo: Vec<Undo>,
    /// The prepared text of each change, in order.
    texts: Vec<Option<PathBuf>>,
    /// Texts before, which are deleted once everything is in place.
    backups: Vec<PathBuf>,
    taken: usize,
    /// For tests: the step that fails, from 0.
    fail_at: Option<usize>,
}

/// How a step is taken back.
#[derive(Debug)]
enum Undo {
    RemoveFolder(PathBuf),
    RemoveFile(PathBuf),
    /// The file that was displaced goes back over the one that took its place.
    Restore {
        from: PathBuf,
        to: PathBuf,
    },
    /// The file that was taken away goes back, unless something else is there by now.
    Return {
        from: PathBuf,
        to: PathBuf,
    },
    /// The file that was rewritten in place gets its permissions back.
    Mode {
        of: PathBuf,
        mode: u32,
    },
    /// The file that was rewritten in place gets its text back from a copy.
    Rewrite {
        from: PathBuf,
        to: PathBuf,
    },
}

impl Steps {
    /// Steps of which one fails.
    #[cfg(test)]
    pub(super) fn failing_at(step: usize) -> Self {
        Self {
            fail_at: Some(step),
            ..Self::default()
        }
    }

    fn step<T>(&mut self, path: &Path, doing: &str, act: impl FnOnce() -> io::Result<T>) -> Result<T, CommitError> {
        let number = self.taken;
        self.taken += 1;
        if self.fail_at == Some(number) {
            return Err(io_error(path, doing, &io::Error::other("injected fault")));
        }
        act().map_err(|error| io_error(path, doing, &error))
    }

    pub(super) fn keep_text(&mut self, text: Option<PathBuf>) {
        self.texts.push(text);
    }

    pub(super) fn take_texts(&mut self) -> Vec<Option<PathBuf>> {
        std::mem::take(&mut self.texts)
    }

    /// Makes the folders that the file needs.
    pub(super) fn make_folders(&mut self, target: &Target) -> Result<(), CommitError> {
        let missing: Vec<&Path> = target
            .folder()
            .ancestors()
            .take_while(|folder| fs::symlink_metadata(folder).is_err())
            .collect();
        for folder in missing.into_iter().rev() {
            let made = self.step(&target.path, "making its folder", || match fs::create_dir(folder) {
                Ok(()) => Ok(true),
                // Somebody else made it in the meantime.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(false),
                Err(error) => Err(error),
            })?;
            if made {
                self.undo.push(Undo::RemoveFolder(folder.to_owned()));
            }
        }
        Ok(())
    }

    /// Puts what is new into a file beside the target, which looks like `model` in all but its content and its mode, as
    /// far as another is wanted. `None` if it cannot be made to look so.
    pub(super) fn write_beside(
        &mut self,
        target: &Target,
        model: Option<&There>,
        new: &New<'_>,
    ) -> Result<Option<PathBuf>, CommitError> {
        let (path, name) = (&target.path, beside(target.folder()));
        let model = model.filter(|model| !model.is_link());
        let (file, mode) = match new {
            New::Link { target } => {
                self.step(path, "making a link beside it", || make_link(target, &name))?;
                self.undo.push(Undo::RemoveFile(name.clone()));
                return Ok(Some(name));
            }
            New::Text { text, mode } => {
                let mut file = self.new_file(path, &name, model.is_some())?;
                self.step(path, "writing the new text", || file.write_all(text.as_bytes()))?;
                (file, *mode)
            }
            New::Copy { from, mode } => {
                let mut source = self.step(path, "opening what it shall hold", || open_source(from))?;
                let mut file = self.new_file(path, &name, true)?;
                self.step(path, "writing what it shall hold", || io::copy(&mut source, &mut file))?;
                (file, Some(*mode))
            }
        };
        if let Some(model) = model {
            let alike = self.step(path, "keeping its permissions", || make_alike(&file, model))?;
            if !alike {
                drop(file);
                self.step(path, "removing a file beside it", || fs::remove_file(&name))?;
                return Ok(None);
            }
        }
        if let Some(mode) = mode {
            self.step(path, "setting its permissions", || set_mode(&file, mode))?;
        }
        Ok(Some(name))
    }

    /// Makes an empty file. Where it is `secret`, nobody else may read it before it has its own permissions.
    fn new_file(&mut self, path: &Path, name: &Path, secret: bool) -> Result<File, CommitError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if secret {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let file = self.step(path, "making a file beside it", || options.open(name))?;
        self.undo.push(Undo::RemoveFile(name.to_owned()));
        Ok(file)
    }

    /// Puts a prepared file over the one that is there, which stays beside it until the end.
    pub(super) fn replace(&mut self, target: &Target, new: &Path) -> Result<(), CommitError> {
        let Some(there) = &target.there else {
            return self.place_new(target, new);
        };
        let backup = beside(target.folder());
        let linked = self.step(&target.path, "keeping the text before", || keep(&there.real, &backup))?;
        self.backup(&backup);
        self.unchanged(target, &target.real, there.stamp)?;
        self.step(&target.path, "putting the new text in place", || {
            fs::rename(new, &target.real)
        })?;
        self.undo.push(Undo::Restore {
            from: backup.clone(),
            to: target.real.clone(),
        });
        if linked {
            // Somebody may have written into the old file until the last moment.
            self.unchanged(target, &backup, there.stamp)?;
        } else if !fs::symlink_metadata(&backup).is_ok_and(|meta| there.stamp.of_copy(Stamp::of(&meta))) {
            return Err(CommitError::Stale {
                path: target.path.clone(),
                found: Found::Changed,
            });
        }
        Ok(())
    }

    /// Puts a prepared file where none is.
    pub(super) fn place_new(&mut self, target: &Target, new: &Path) -> Result<(), CommitError> {
        self.rename_new(target, "putting the new file in place", new, &target.real)?;
        self.undo.push(Undo::RemoveFile(target.real.clone()));
        Ok(())
    }

    /// Takes the file away; it stays beside its place until the end.
    pub(super) fn take_away(&mut self, target: &Target) -> Result<(), CommitError> {
        let Some(there) = &target.there else { return Ok(()) };
        let backup = beside(target.folder());
        self.rename_new(target, "removing it", &target.real, &backup)?;
        self.backups.push(backup.clone());
        self.undo.push(Undo::Return {
            from: backup.clone(),
            to: target.real.clone(),
        });
        self.unchanged(target, &backup, there.stamp)
    }

    /// Gives the file its new name. `false` if it would have to go to another disk for that.
    pub(super) fn rename(&mut self, from: &Target, to: &Target) -> Result<bool, CommitError> {
        let renamed = self.step(&to.path, "moving it", || match rename_to_free(&from.real, &to.real) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => Ok(false),
            other => other.map(|()| true),
        });
        if !renamed.map_err(|error| now_present(error, to))? {
            return Ok(false);
        }
        self.undo.push(Undo::Return {
            from: to.real.clone(),
            to: from.real.clone(),
        });
        match &from.there {
            Some(there) => self.unchanged(from, &to.real, there.stamp).map(|()| true),
            None => Ok(true),
        }
    }

    /// Gives the file another spelling of its name, which leads to the file itself already.
    pub(super) fn rename_spelling(&mut self, from: &Target, to: &Target) -> Result<(), CommitError> {
        self.step(&from.path, "moving it", || fs::rename(&from.real, &to.real))?;
        self.undo.push(Undo::Restore {
            from: to.real.clone(),
            to: from.real.clone(),
        });
        Ok(())
    }

    /// Writes what is new into the file that is there.
    pub(super) fn rewrite(&mut self, target: &Target, new: &New<'_>) -> Result<(), CommitError> {
        let Some(there) = &target.there else { return Ok(()) };
        let path = &target.path;
        let (bytes, mode): (Cow<'_, [u8]>, _) = match new {
            New::Text { text, mode } => (text.as_bytes().into(), *mode),
            New::Copy { from, mode } => {
                let mut bytes = Vec::new();
                self.step(path, "reading what it shall hold", || {
                    open_source(from)?.read_to_end(&mut bytes)
                })?;
                (bytes.into(), Some(*mode))
            }
            New::Link { .. } => return Ok(()),
        };
        if links(&there.meta) > 1 {
            let reason =
                "its owner or group cannot be kept, and it has other hard links, so it cannot be rewritten in place";
            return Err(CommitError::Refused {
                path: target.path.clone(),
                reason: reason.to_owned(),
            });
        }
        let backup = beside(target.folder());
        self.step(&target.path, "keeping the text before", || {
            copy_new(&target.real, &backup)
        })?;
        self.backup(&backup);
        self.unchanged(target, &target.real, there.stamp)?;
        let file = self.step(&target.path, "opening it for writing", || open_in_place(&target.real))?;
        self.undo.push(Undo::Rewrite {
            from: backup,
            to: target.real.clone(),
        });
        self.step(path, "writing the new text", || overwrite(&file, &bytes))?;
        match mode.filter(|mode| mode & 0o7777 != there.mode()) {
            Some(mode) => {
                self.undo.push(Undo::Mode {
                    of: target.real.clone(),
                    mode: there.mode(),
                });
                self.step(path, "setting its permissions", || set_mode(&file, mode))
            }
            None => Ok(()),
        }
    }

    /// Deletes the texts before, which are not needed any more.
    pub(super) fn forget_backups(self) {
        for backup in self.backups {
            // It could be made and renamed, so this hardly fails; if it does, an extra file is no loss.
            let _ = fs::remove_file(backup);
        }
    }

    /// Takes every step back, the last first.
    pub(super) fn roll_back(self, cause: CommitError) -> CommitError {
        let mut kept: Vec<Kept> = Vec::new();
        for undo in self.undo.into_iter().rev() {
            // What a failed step needs stays where it is.
            if let Undo::RemoveFile(file) = &undo
                && kept.iter().any(|one| one.copy.as_ref() == Some(file))
            {
                continue;
            }
            if let Err((path, copy, error)) = undo.run() {
                kept.push(Kept {
                    path,
                    copy,
                    message: error.to_string(),
                });
            }
        }
        if kept.is_empty() {
            cause
        } else {
            CommitError::Stuck {
                cause: Box::new(cause),
                kept,
            }
        }
    }

    fn backup(&mut self, file: &Path) {
        self.backups.push(file.to_owned());
        self.undo.push(Undo::RemoveFile(file.to_owned()));
    }

    fn unchanged(&mut self, target: &Target, at: &Path, stamp: Stamp) -> Result<(), CommitError> {
        let meta = self.step(&target.path, "looking at it", || fs::symlink_metadata(at))?;
        if Stamp::of(&meta) == stamp {
            return Ok(());
        }
        Err(CommitError::Stale {
            path: target.path.clone(),
            found: Found::Changed,
        })
    }

    fn rename_new(&mut self, target: &Target, doing: &str, from: &Path, to: &Path) -> Result<(), CommitError> {
        let renamed = self.step(&target.path, doing, || rename_to_free(from, to));
        renamed.map_err(|error| {
            if to == target.real {
                now_present(error, target)
            } else {
                error
            }
        })
    }
}

/// A rename that failed because its target is not free any more.
fn now_present(error: CommitError, target: &Target) -> CommitError {
    match error {
        CommitError::Io { path, .. } if fs::symlink_metadata(&target.real).is_ok() => CommitError::Stale {
            path,
            found: Found::Present,
        },
        other => other,
    }
}

impl Undo {
    /// The path that stays wrong, where its text from before is, and why.
    fn run(self) -> Result<(), (PathBuf, Option<PathBuf>, io::Error)> {
        match self {
            // Somebody may have put something into the folder: then it stays.
            Self::RemoveFolder(folder) => {
                let _ = fs::remove_dir(folder);
                Ok(())
            }
            Self::RemoveFile(file) => match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err((file, None, error)),
                _ => Ok(()),
            },
            Self::Restore { from, to } => fs::rename(&from, &to).map_err(|error| (to, Some(from), error)),
            Self::Return { from, to } => rename_to_free(&from, &to).map_err(|error| (to, Some(from), error)),
            Self::Mode { of, mode } => open_in_place(&of)
                .and_then(|file| set_mode(&file, mode))
                .map_err(|error| (of, None, error)),
            Self::Rewrite { from, to } => fs::read(&from)
                .and_then(|text| overwrite(&open_in_place(&to)?, &text))
                .map_err(|error| (to, Some(from), error)),
        }
    }
}
