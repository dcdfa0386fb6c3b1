//! What a transaction does to the tree, step by step, in such words that it can be taken back by somebody who only
//! looks at the tree: by the process itself after a failure, or by another after its death.

use super::Kept;
use super::system::{Stamp, copy_over, rename_to_free, set_mode_at};
use crate::patch::files::same_inode;
use serde::{Deserialize, Serialize};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// One change of a name. Paths are real ones. `new` is the file beside the target that holds what is new, `backup` the
/// name beside it under which what was there stays until the end; both names are used for nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Step {
    /// What is new takes the place of what is there.
    Replace {
        path: PathBuf,
        new: PathBuf,
        backup: PathBuf,
        before: Stamp,
        after: Stamp,
    },
    /// What is new is put where nothing is.
    Place { path: PathBuf, new: PathBuf, after: Stamp },
    /// What is there goes.
    Remove {
        path: PathBuf,
        backup: PathBuf,
        before: Stamp,
    },
    /// What is there gets a new name.
    Rename { from: PathBuf, to: PathBuf, before: Stamp },
    /// What is there gets another spelling of its name, where the file system does not tell case.
    Respell { from: PathBuf, to: PathBuf },
    /// What is new is written into the file that is there.
    Rewrite {
        path: PathBuf,
        new: PathBuf,
        backup: PathBuf,
        before: Stamp,
        /// Permission bits as they were.
        mode: u32,
        /// Those that are wanted.
        wanted: Option<u32>,
    },
}

/// Why a step was not taken back.
#[derive(Debug)]
pub(super) enum Left {
    /// Somebody has been at the file since; theirs stays, whoever asks again.
    Theirs(Kept),
    /// The file system refused. It may go another time.
    Failed(Kept),
}

const CHANGED_SINCE: &str = "somebody has changed it since";

impl Step {
    /// The path whose content it is about.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Replace { path, .. }
            | Self::Place { path, .. }
            | Self::Remove { path, .. }
            | Self::Rewrite { path, .. } => path,
            Self::Rename { from, .. } | Self::Respell { from, .. } => from,
        }
    }

    /// Every path that it touches.
    pub(super) fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Replace { path, new, backup, .. } | Self::Rewrite { path, new, backup, .. } => {
                vec![path, new, backup]
            }
            Self::Place { path, new, .. } => vec![path, new],
            Self::Remove { path, backup, .. } => vec![path, backup],
            Self::Rename { from, to, .. } | Self::Respell { from, to } => vec![from, to],
        }
    }

    /// What was there, which nobody needs once all is in place.
    pub(super) fn backup(&self) -> Option<&Path> {
        match self {
            Self::Replace { backup, .. } | Self::Remove { backup, .. } | Self::Rewrite { backup, .. } => Some(backup),
            Self::Place { .. } | Self::Rename { .. } | Self::Respell { .. } => None,
        }
    }

    /// Whether the tree shows that what was kept of the time before is gone because all was in place: after a power
    /// failure the disk may know of this, and not of the line in the journal that came before it.
    pub(super) fn is_over(&self) -> bool {
        let gone = |path: &Path| look(path).is_ok_and(|found| found.is_none());
        match self {
            Self::Replace {
                path,
                new,
                backup,
                after,
                ..
            } => gone(new) && gone(backup) && fs::symlink_metadata(path).is_ok_and(|now| after.shows(&now)),
            _ => false,
        }
    }

    /// Puts back what was there, as far as the step was taken: the tree tells. True if there was something to do.
    /// Nothing that somebody wrote since is overwritten or removed.
    pub(super) fn take_back(&self) -> Result<bool, Left> {
        self.inspect_and_return().map_err(|trouble| {
            let copy = self.backup().filter(|backup| look(backup).is_ok_and(|it| it.is_some()));
            let kept = |message: String| Kept {
                path: self.path().to_owned(),
                copy: copy.map(Path::to_owned),
                message,
            };
            match trouble {
                Trouble::Theirs(message) => Left::Theirs(kept(message.to_owned())),
                Trouble::Io(error) => Left::Failed(kept(error.to_string())),
            }
        })
    }

    fn inspect_and_return(&self) -> Result<bool, Trouble> {
        match self {
            Self::Replace {
                path,
                new,
                backup,
                after,
                ..
            } => {
                if look(backup)?.is_none() {
                    return Ok(false);
                }
                if look(new)?.is_some() {
                    // It has not come to that.
                    return remove(backup).map(|()| false);
                }
                match look(path)? {
                    Some(now) if after.shows(&now) => Ok(fs::rename(backup, path).map(|()| true)?),
                    Some(_) if same_content(path, backup)? => remove(backup).map(|()| false),
                    Some(_) => Err(Trouble::Theirs(CHANGED_SINCE)),
                    None => Err(Trouble::Theirs("somebody has removed it since")),
                }
            }
            Self::Place { path, new, after } => match (look(path)?, look(new)?) {
                (Some(now), _) if after.shows(&now) => remove(path).map(|()| true),
                // It has not come to that: what is there is not ours.
                (_, Some(_)) | (None, None) => Ok(false),
                (Some(_), None) => Err(Trouble::Theirs(CHANGED_SINCE)),
            },
            Self::Remove { path, backup, before } => match (look(path)?, look(backup)?) {
                (_, None) => Ok(false),
                (None, Some(_)) => Ok(rename_to_free(backup, path).map(|()| true)?),
                (Some(now), Some(_)) if before.shows(&now) => remove(backup).map(|()| false),
                (Some(_), Some(_)) if same_content(path, backup)? => remove(backup).map(|()| false),
                (Some(_), Some(_)) => Err(Trouble::Theirs("somebody has created it again since")),
            },
            Self::Rename { from, to, before } => match (look(from)?, look(to)?) {
                // Where it was changed since, the change goes with it.
                (None, Some(now)) if before.is_file_of(&now) => Ok(rename_to_free(to, from).map(|()| true)?),
                (Some(old), Some(now)) if before.is_file_of(&old) && same_inode(&old, &now) => {
                    remove(to).map(|()| true)
                }
                (Some(_), Some(now)) if before.is_file_of(&now) => Err(Trouble::Theirs(
                    "another file has taken its name; it has its new name still",
                )),
                _ => Ok(false),
            },
            Self::Respell { from, to } => match look(to)? {
                Some(_) => Ok(fs::rename(to, from).map(|()| true)?),
                None => Ok(false),
            },
            Self::Rewrite {
                path,
                new,
                backup,
                before,
                mode,
                ..
            } => {
                if look(backup)?.is_none() {
                    return Ok(false);
                }
                let Some(now) = look(path)? else {
                    return Err(Trouble::Theirs("somebody has removed it since"));
                };
                let begun = !before.shows(&now);
                if begun {
                    if !before.is_file_of(&now) || !is_half_written(path, new, backup)? {
                        return Err(Trouble::Theirs(CHANGED_SINCE));
                    }
                    copy_over(backup, path)?;
                }
                set_mode_at(path, *mode)?;
                remove(backup).map(|()| begun)
            }
        }
    }
}

enum Trouble {
    Theirs(&'static str),
    Io(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What is at a path, links not followed.
fn look(path: &Path) -> Result<Option<Metadata>, Trouble> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn remove(file: &Path) -> Result<(), Trouble> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether both are regular files of the same bytes, or links of the same target.
fn same_content(a: &Path, b: &Path) -> Result<bool, Trouble> {
    let (Some(at), Some(bt)) = (look(a)?, look(b)?) else {
        return Ok(false);
    };
    if at.is_symlink() && bt.is_symlink() {
        return Ok(fs::read_link(a)? == fs::read_link(b)?);
    }
    Ok(at.is_file() && bt.is_file() && at.len() == bt.len() && fs::read(a)? == fs::read(b)?)
}

/// Whether every byte of the file is of the new text or of the one before, at its place: it was written, or written
/// back, in part.
fn is_half_written(path: &Path, new: &Path, backup: &Path) -> Result<bool, Trouble> {
    let (now, new, before) = (fs::read(path)?, fs::read(new)?, fs::read(backup)?);
    let shortest = new.len().min(before.len());
    let ours = |(at, byte): (usize, &u8)| new.get(at) == Some(byte) || before.get(at) == Some(byte);
    Ok(now.len() >= shortest && now.iter().enumerate().all(ours))
}
