//! Carrying out a transaction: folders, new files beside their targets, then one change of a name after the other. Each
//! call that may fail is a step of its own; whatever fails, all of it is taken back.

use super::attributes::make_alike;
use super::check::{Target, There};
use super::journal::{Journal, Line, PREFIX, Story};
use super::record::Step;
use super::recover::take_back;
use super::system::{
    FolderLock, Stamp, allow_size, copy_new, copy_over, create, keep, links, make_link, mode_of, oddity, open_source,
    rename_to_free, set_mode, set_mode_at,
};
use super::{CommitError, Found, IoKind, New, Transaction, Work};
use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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

/// For tests: what goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fault {
    /// The step of this number fails, from 0.
    #[cfg(test)]
    pub(super) fails: Option<usize>,
    /// The process is killed before the step of this number.
    #[cfg(test)]
    pub(super) kills: Option<usize>,
    /// Somebody else does this before the step of this number.
    #[cfg(test)]
    pub(super) meddles: Option<(usize, fn())>,
    /// The file system has no hard links.
    #[cfg(test)]
    pub(super) linkless: bool,
    /// No file can be given its owner.
    #[cfg(test)]
    pub(super) foreign: bool,
    /// Every folder is a disk of its own.
    #[cfg(test)]
    pub(super) apart: bool,
}

#[cfg(not(test))]
impl Fault {
    fn at(self, _step: usize) -> io::Result<()> {
        Ok(())
    }

    fn is_linkless(self) -> bool {
        false
    }

    fn is_foreign(self) -> bool {
        false
    }

    fn is_apart(self) -> bool {
        false
    }
}

#[cfg(test)]
impl Fault {
    fn at(self, step: usize) -> io::Result<()> {
        if self.kills == Some(step) {
            super::tests::die();
        }
        if let Some((number, meddle)) = self.meddles
            && number == step
        {
            meddle();
        }
        if self.fails == Some(step) {
            return Err(io::Error::other("injected fault"));
        }
        Ok(())
    }

    fn is_linkless(self) -> bool {
        self.linkless
    }

    fn is_foreign(self) -> bool {
        self.foreign
    }

    fn is_apart(self) -> bool {
        self.apart
    }
}

/// The steps of a transaction, taken one by one.
pub(super) struct Run<'t> {
    transaction: &'t Transaction,
    fault: Fault,
    taken: usize,
    journal: Option<Journal>,
    /// As the journal has it.
    story: Story,
    /// What each step of the story is done with.
    means: Vec<Means<'t>>,
    /// Folders that are known to be there.
    folders: HashSet<PathBuf>,
    /// Holds the folder of the step at hand.
    lock: FolderLock,
}

/// What a step needs besides its record.
#[derive(Clone, Copy)]
struct Means<'t> {
    /// The path as the transaction names it.
    named: &'t Path,
    /// For a rename that turns out to lead to another disk.
    instead: Option<(&'t Target, &'t Target, usize)>,
}

/// A new file beside its target.
struct Fresh {
    stamp: Stamp,
    /// Whether it could be given the owner and group of the file whose place it takes.
    alike: bool,
}

impl<'t> Run<'t> {
    pub(super) fn new(transaction: &'t Transaction, works: &[Work<'t>], fault: Fault) -> Self {
        let token = uuid::Uuid::now_v7().simple();
        let mut story = Story {
            roots: transaction.roots.clone(),
            tidy: transaction.tidy.clone(),
            ..Story::default()
        };
        // One name for each change beside its target; the name of what was there differs in its end.
        for (at, work) in works.iter().enumerate() {
            story
                .files
                .push(work.target().folder().join(format!("{PREFIX}{token}-{at}")));
        }
        let mut folders = HashSet::new();
        for work in works {
            for folder in work.target().folder().ancestors() {
                if folders.contains(folder) || fs::symlink_metadata(folder).is_ok() {
                    folders.insert(folder.to_owned());
                    break;
                }
                if !story.folders.iter().any(|known| known == folder) {
                    story.folders.push(folder.to_owned());
                }
            }
        }
        story.folders.sort_by_key(|folder| folder.components().count());
        Self {
            transaction,
            fault,
            taken: 0,
            journal: None,
            story,
            means: Vec::new(),
            folders,
            lock: FolderLock::default(),
        }
    }

    fn step<T>(&mut self, path: &Path, doing: &str, act: impl FnOnce() -> io::Result<T>) -> Result<T, CommitError> {
        let number = self.taken;
        self.taken += 1;
        let done = self.fault.at(number).and_then(|()| act());
        done.map_err(|error| io_error(path, doing, &error))
    }

    /// Takes all steps.
    pub(super) fn carry_out(&mut self, works: &'t [Work<'t>]) -> Result<(), CommitError> {
        self.begin()?;
        for (at, work) in works.iter().enumerate() {
            self.prepare(at, work)?;
        }
        let ready = self.story.ready();
        self.note(&ready)?;
        self.sync()?;
        let mut at = 0;
        while at < self.story.steps.len() {
            if self.swap(at)? {
                at += 1;
            }
        }
        if self.transaction.hold {
            return Ok(());
        }
        self.note(&Line::Committed)
    }

    fn begin(&mut self) -> Result<(), CommitError> {
        let Some(path) = &self.transaction.journal else {
            return Ok(());
        };
        self.journal = Some(self.step(path, "making the journal", || Journal::open(path))?);
        let begun = self.story.begun();
        self.note(&begun)
    }

    fn note(&mut self, line: &Line) -> Result<(), CommitError> {
        let Some(mut journal) = self.journal.take() else {
            return Ok(());
        };
        let path = journal.path().to_owned();
        let noted = self.step(&path, "writing the journal", || journal.append(line));
        self.journal = Some(journal);
        noted
    }

    /// From here on the tree is neither as it was nor as it shall be. One step alone is whole by itself; for more the
    /// journal must be on the disk, should the power fail.
    fn sync(&mut self) -> Result<(), CommitError> {
        let Some(journal) = self.journal.take() else {
            return Ok(());
        };
        let mut synced = Ok(());
        if self.story.steps.len() > 1 || self.transaction.hold {
            synced = self.step(journal.path(), "waiting until the journal is on the disk", || {
                journal.sync()
            });
        }
        self.journal = Some(journal);
        synced
    }

    /// All is in place: what was there goes. It could be made and renamed, so this hardly fails; if it does, an extra
    /// file is no loss.
    pub(super) fn finish(mut self) {
        super::recover::finish(&self.story, &self.transaction.roots);
        if let Some(journal) = self.journal.take() {
            let _ = journal.remove();
        }
    }

    /// Takes every step back, the last first.
    pub(super) fn roll_back(mut self, cause: CommitError) -> CommitError {
        self.lock = FolderLock::default();
        let left = take_back(&self.story);
        if let Some(journal) = self.journal.take()
            && !left.again
        {
            let _ = journal.remove();
        }
        if left.kept.is_empty() {
            cause
        } else {
            CommitError::Stuck {
                cause: Box::new(cause),
                kept: left.kept,
            }
        }
    }

    /// Makes folders and writes what is new beside its target; nothing that is there changes.
    fn prepare(&mut self, at: usize, work: &'t Work<'t>) -> Result<(), CommitError> {
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

    fn place(&self, at: usize, path: &Path, fresh: &Fresh) -> Step {
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

    fn remove(&self, at: usize, path: &Path, there: &There) -> Step {
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
    fn write_beside(
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

    /// Takes one step. `false` if others take its place, which are still to be taken.
    fn swap(&mut self, at: usize) -> Result<bool, CommitError> {
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
        let same = New::Copy {
            from: &from.real,
            mode: mode_of(&there.meta),
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
