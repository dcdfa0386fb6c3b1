//! Getting everything ready: folders, and what is new in files beside its targets. Nothing that is there changes.

use super::attributes::make_alike;
use super::check::{Target, There};
use super::record::Step;
use super::step::{Means, Run};
use super::system::{Stamp, allow_size, create, links, make_link, mode_of, open_source, set_mode};
use super::{CommitError, New, Work};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A new file beside its target.
pub(super) struct Fresh {
    pub(super) stamp: Stamp,
    /// Whether it could be given the owner and group of the file whose place it takes.
    pub(super) alike: bool,
}

impl<'t> Run<'t> {
    /// Makes folders and writes what is new beside its target; nothing that is there changes.
    pub(super) fn prepare(&mut self, at: usize, work: &'t Work<'t>) -> Result<(), CommitError> {
        match work {
            Work::Write { target, new } => {
                self.make_folders(target)?;
                let fresh = self.write_beside(at, target, target.there.as_deref(), new)?;
                match &target.there {
                    None => self.plan(target, self.place(at, &target.real, &fresh)),
                    Some(there) if fresh.alike => self.plan(target, self.replace(at, &target.real, there, &fresh)),
                    Some(there) => {
                        let step = self.rewrite(at, target, &target.real, there, new)?;
                        self.plan(target, step);
                    }
                }
            }
            Work::Remove { target } => {
                if let Some(there) = &target.there {
                    self.plan(target, self.remove(at, &target.real, there));
                }
            }
            Work::Move { from, to, new, respell } => {
                let Some(there) = &from.there else { return Ok(()) };
                self.make_folders(to)?;
                let rename = Step::Rename {
                    from: from.real.clone(),
                    to: to.real.clone(),
                    before: there.stamp,
                };
                let respelled = Step::Respell {
                    from: from.real.clone(),
                    to: to.real.clone(),
                };
                let fresh = match new {
                    Some(new) => Some((new, self.write_beside(at, to, Some(there), new)?)),
                    None => None,
                };
                match fresh {
                    None if *respell => self.plan(from, respelled),
                    None => {
                        self.plan(from, rename);
                        if let Some(means) = self.means.last_mut() {
                            means.instead = Some((from, to, at));
                        }
                    }
                    Some((_, fresh)) if *respell && fresh.alike => {
                        self.plan(from, self.replace(at, &from.real, there, &fresh));
                        self.plan(from, respelled);
                    }
                    Some((new, _)) if *respell => {
                        let step = self.rewrite(at, from, &from.real, there, new)?;
                        self.plan(from, step);
                        self.plan(from, respelled);
                    }
                    Some((_, fresh)) if fresh.alike => {
                        self.plan(to, self.place(at, &to.real, &fresh));
                        self.plan(from, self.remove(at, &from.real, there));
                    }
                    Some((new, _)) => {
                        let step = self.rewrite(at, from, &to.real, there, new)?;
                        self.plan(from, rename);
                        self.plan(from, step);
                    }
                }
            }
        }
        Ok(())
    }

    fn plan(&mut self, named: &'t Target, step: Step) {
        self.story.steps.push(step);
        self.means.push(Means {
            named: &named.path,
            instead: None,
        });
    }

    pub(super) fn place(&self, at: usize, path: &Path, fresh: &Fresh) -> Step {
        Step::Place {
            path: path.to_owned(),
            new: self.story.files[at].clone(),
            after: fresh.stamp,
        }
    }

    fn replace(&self, at: usize, path: &Path, there: &There, fresh: &Fresh) -> Step {
        Step::Replace {
            path: path.to_owned(),
            new: self.story.files[at].clone(),
            backup: self.backup(at, path),
            before: there.stamp,
            after: fresh.stamp,
        }
    }

    pub(super) fn remove(&self, at: usize, path: &Path, there: &There) -> Step {
        Step::Remove {
            path: path.to_owned(),
            backup: self.backup(at, path),
            before: there.stamp,
        }
    }

    fn rewrite(
        &self,
        at: usize,
        named: &Target,
        path: &Path,
        there: &There,
        new: &New<'_>,
    ) -> Result<Step, CommitError> {
        if links(&there.meta) > 1 {
            let reason =
                "its owner or group cannot be kept, and it has other hard links, so it cannot be rewritten in place";
            return Err(CommitError::Refused {
                path: named.path.clone(),
                reason: reason.to_owned(),
            });
        }
        let mode = mode_of(&there.meta);
        Ok(Step::Rewrite {
            path: path.to_owned(),
            new: self.story.files[at].clone(),
            backup: self.backup(at, path),
            before: there.stamp,
            mode,
            wanted: new.mode().map(|mode| mode & 0o7777).filter(|wanted| *wanted != mode),
        })
    }

    /// The name beside a path under which what is there is kept.
    fn backup(&self, at: usize, path: &Path) -> PathBuf {
        let mut name = self.story.files[at].file_name().unwrap_or_default().to_owned();
        name.push("-before");
        path.with_file_name(name)
    }

    /// Makes the folders that the file needs.
    fn make_folders(&mut self, target: &Target) -> Result<(), CommitError> {
        let mut missing: Vec<&Path> = target
            .folder()
            .ancestors()
            .take_while(|folder| !self.folders.contains(*folder))
            .collect();
        while let Some(folder) = missing.pop() {
            let made = self.step(&target.path, "making its folder", || match fs::create_dir(folder) {
                Ok(()) => Ok(true),
                // Somebody else made it in the meantime.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(false),
                Err(error) => Err(error),
            })?;
            if !made {
                self.story.folders.retain(|known| known != folder);
            }
            self.folders.insert(folder.to_owned());
        }
        Ok(())
    }

    /// Puts what is new into a file beside the target, which looks like `model` in all but its content and its mode, as
    /// far as another is wanted.
    pub(super) fn write_beside(
        &mut self,
        at: usize,
        target: &Target,
        model: Option<&There>,
        new: &New<'_>,
    ) -> Result<Fresh, CommitError> {
        let (path, name) = (&target.path, self.story.files[at].clone());
        let model = model.filter(|model| !model.meta.is_symlink());
        // Nobody else may read it before it has its own permissions.
        let secret = Some(0o600);
        let file = match new {
            New::Link { target } => {
                let stamp = self.step(path, "making a link beside it", || {
                    make_link(target, &name)?;
                    fs::symlink_metadata(&name)
                })?;
                return Ok(Fresh {
                    stamp: Stamp::of(&stamp),
                    alike: true,
                });
            }
            New::Text { text, mode } => {
                let first = if model.is_some() { secret } else { *mode };
                let mut file = self.step(path, "making a file beside it", || create(&name, first))?;
                self.step(path, "writing the new text", || {
                    allow_size(text.len() as u64)?;
                    file.write_all(text.as_bytes())
                })?;
                file
            }
            New::Copy { from, .. } => {
                let mut source = self.step(path, "opening what it shall hold", || open_source(from))?;
                let mut file = self.step(path, "making a file beside it", || create(&name, secret))?;
                self.step(path, "writing what it shall hold", || {
                    allow_size(source.metadata()?.len())?;
                    io::copy(&mut source, &mut file)
                })?;
                file
            }
        };
        let own = self.step(path, "looking at a file beside it", || file.metadata())?;
        let stamp = Stamp::of(&own);
        if let Some(model) = model {
            let alike = self.step(path, "keeping its owner", || {
                make_alike(&file, &own, &model.real, &model.meta)
            })?;
            let alike = alike && !self.fault.is_foreign();
            if !alike {
                return Ok(Fresh { stamp, alike });
            }
        }
        if let Some(mode) = new.mode().or(model.map(|model| mode_of(&model.meta))) {
            self.step(path, "setting its permissions", || set_mode(&file, mode))?;
        }
        Ok(Fresh { stamp, alike: true })
    }
}
