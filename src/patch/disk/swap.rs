//! Changing what names mean, one step after the other; each can be taken back by its record.

use super::check::Target;
use super::journal::Line;
use super::record::Step;
use super::step::{Means, Run};
use super::system::{Stamp, copy_new, copy_over, keep, link_target, mode_of, oddity, rename_to_free, set_mode_at};
use super::{CommitError, Found, New};
use std::fs;
use std::io;
use std::path::Path;

impl<'t> Run<'t> {
    /// Takes one step. `false` if others take its place, which are still to be taken.
    pub(super) fn swap(&mut self, at: usize) -> Result<bool, CommitError> {
        let (step, Means { named, instead }) = (self.story.steps[at].clone(), self.means[at]);
        let fault = self.fault;
        self.lock.hold(step.path());
        match &step {
            Step::Replace {
                path,
                new,
                backup,
                before,
                ..
            } => {
                let kept = self.step(named, "keeping what is there", || {
                    if fault.is_linkless() {
                        return copy_new(path, backup).map(|()| false);
                    }
                    keep(path, backup)
                });
                let linked = kept.map_err(|error| now_missing(error, path))?;
                self.unchanged(named, path, *before)?;
                self.change(named, path, "putting the new one in place", || fs::rename(new, path))?;
                if linked {
                    // Somebody may have written into the old file until the last moment.
                    self.unchanged(named, backup, *before)?;
                } else if !fs::symlink_metadata(backup).is_ok_and(|meta| meta.len() == before.length()) {
                    return Err(changed(named));
                }
            }
            Step::Place { path, new, .. } => {
                let placed = self.change(named, path, "putting the new file in place", || {
                    rename_to_free(new, path)
                });
                placed.map_err(|error| now_present(error, path))?;
            }
            Step::Remove { path, backup, before } => {
                let removed = self.change(named, path, "removing it", || rename_to_free(path, backup));
                removed.map_err(|error| now_missing(error, path))?;
                self.unchanged(named, backup, *before)?;
            }
            Step::Rename { from, to, before } => {
                let renamed = self.change(named, from, "moving it", || match () {
                    () if fault.is_apart() => Ok(false),
                    () => rename_on_disk(from, to),
                });
                let renamed = renamed.map_err(|error| now_present(now_missing(error, from), to))?;
                if !renamed {
                    return self.copy_instead(at, instead).map(|()| false);
                }
                self.unchanged(named, to, *before)?;
            }
            Step::Respell { from, to } => {
                self.change(named, from, "moving it", || fs::rename(from, to))?;
            }
            Step::Rewrite {
                path,
                new,
                backup,
                before,
                wanted,
                ..
            } => {
                self.step(named, "keeping what is there", || copy_new(path, backup))?;
                self.unchanged(named, path, *before)?;
                self.change(named, path, "writing the new text", || copy_over(new, path))?;
                if let Some(mode) = *wanted {
                    self.step(named, "setting its permissions", || set_mode_at(path, mode))?;
                }
            }
        }
        Ok(true)
    }

    /// A file that cannot be renamed to another disk is copied there.
    fn copy_instead(&mut self, at: usize, instead: Option<(&'t Target, &'t Target, usize)>) -> Result<(), CommitError> {
        let named = self.means[at].named;
        let refused = || {
            let reason = "it cannot be moved to another disk with its owner and group".to_owned();
            CommitError::Refused {
                path: named.to_owned(),
                reason,
            }
        };
        let Some((from, to, work)) = instead else {
            return Err(refused());
        };
        let Some(there) = &from.there else {
            return Err(refused());
        };
        let leads;
        let same = if there.meta.is_symlink() {
            leads = self.step(named, "reading the link", || link_target(&from.real))?;
            New::Link { target: &leads }
        } else {
            New::Copy {
                from: &from.real,
                mode: mode_of(&there.meta),
            }
        };
        let fresh = self.write_beside(work, to, Some(there), &same)?;
        if !fresh.alike {
            return Err(refused());
        }
        let steps = vec![self.place(work, &to.real, &fresh), self.remove(work, &from.real, there)];
        self.note(&Line::Instead {
            at,
            steps: steps.clone(),
        })?;
        self.story.steps.splice(at..=at, steps);
        let means = [&to.path, &from.path].map(|named| Means { named, instead: None });
        self.means.splice(at..=at, means);
        Ok(())
    }

    /// A step that changes what a name means. Where the file itself is the reason that it cannot be, that is told.
    fn change<T>(
        &mut self,
        named: &Path,
        path: &Path,
        doing: &str,
        act: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, CommitError> {
        let done = self.step(named, doing, act);
        done.map_err(|error| match (error, oddity(path)) {
            (CommitError::Io { path, .. }, Some(reason)) => CommitError::Refused {
                path,
                reason: reason.to_owned(),
            },
            (other, _) => other,
        })
    }

    fn unchanged(&mut self, named: &Path, at: &Path, stamp: Stamp) -> Result<(), CommitError> {
        let meta = self.step(named, "looking at it", || fs::symlink_metadata(at));
        let meta = meta.map_err(|error| now_missing(error, at))?;
        if stamp.shows(&meta) {
            Ok(())
        } else {
            Err(changed(named))
        }
    }
}

/// Renames to a free name; `false` if that is on another disk.
fn rename_on_disk(from: &Path, to: &Path) -> io::Result<bool> {
    match rename_to_free(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => Ok(false),
        other => other.map(|()| true),
    }
}

fn changed(named: &Path) -> CommitError {
    CommitError::Stale {
        path: named.to_owned(),
        found: Found::Changed,
    }
}

/// A step that failed because its target is not free any more.
fn now_present(error: CommitError, target: &Path) -> CommitError {
    match error {
        CommitError::Io { path, .. } if fs::symlink_metadata(target).is_ok() => CommitError::Stale {
            path,
            found: Found::Present,
        },
        other => other,
    }
}

/// A step that failed because the file is not there any more.
fn now_missing(error: CommitError, file: &Path) -> CommitError {
    match error {
        CommitError::Io { path, .. }
            if fs::symlink_metadata(file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) =>
        {
            CommitError::Stale {
                path,
                found: Found::Missing,
            }
        }
        other => other,
    }
}
