//! Carrying out a transaction: what is prepared ([`prepare`](super::prepare)), written down in the journal, and put in
//! place ([`swap`](super::swap)). Each call that may fail is a step of its own; whatever fails, all of it is taken back.

use super::check::Target;
use super::fault::Fault;
use super::journal::{Journal, Line, PREFIX, Story};
use super::recover::take_back;
use super::system::FolderLock;
use super::{CommitError, IoKind, Transaction, Work};
use std::collections::HashSet;
use std::fs;
use std::io;
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

/// The steps of a transaction, taken one by one.
pub(super) struct Run<'t> {
    transaction: &'t Transaction,
    pub(super) fault: Fault,
    taken: usize,
    journal: Option<Journal>,
    /// As the journal has it.
    pub(super) story: Story,
    /// What each step of the story is done with.
    pub(super) means: Vec<Means<'t>>,
    /// Folders that are known to be there.
    pub(super) folders: HashSet<PathBuf>,
    /// Holds the folder of the step at hand.
    pub(super) lock: FolderLock,
}

/// What a step needs besides its record.
#[derive(Clone, Copy)]
pub(super) struct Means<'t> {
    /// The path as the transaction names it.
    pub(super) named: &'t Path,
    /// For a rename that turns out to lead to another disk.
    pub(super) instead: Option<(&'t Target, &'t Target, usize)>,
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

    pub(super) fn step<T>(
        &mut self,
        path: &Path,
        doing: &str,
        act: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, CommitError> {
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

    pub(super) fn note(&mut self, line: &Line) -> Result<(), CommitError> {
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
}
