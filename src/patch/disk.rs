//! Writing files on the disk, all or none.
//!
//! A [`Transaction`] says what every file holds now and what it shall hold. [`commit`] checks all of it before it
//! touches anything, writes what is new beside its targets, and only then swaps it in; whatever fails, every
//! file, folder and mode is put back. Types are serialisable, so that a sandboxed process of our own can do the work
//! ([`role`]): the sandbox holds against links that change while we look, the checks here give the clear message.
//!
//! What is kept: mode bits, owner, group, extended attributes and access lists of a file that was there. What is new
//! arrives as a new file under the old name, so other hard links keep the old text: a link from elsewhere cannot be
//! written through. Only where owner or group could not be kept that way is the file rewritten in place, and refused
//! if it has other links. Symbolic links in the last place are refused unless they are what is expected; then they are
//! replaced or removed themselves. In parent folders they are followed as long as they stay inside the roots. A file
//! without any write permission is refused rather than replaced.
//!
//! With a journal ([`Transaction::journal`]) the same holds for a process that is killed, at whatever point: once
//! [`recover`] has run, the tree is wholly before or wholly after. Without one it can leave files named `.countersign-…`
//! behind: what was there before.
//!
//! Power failures: before the second name changes, the journal is on the disk. So a transaction that the power cuts off
//! is put right as well, as far as the file systems bring names to the disk in the order in which they changed (ext4,
//! XFS, Btrfs do) and home and project lie on one of them. One that was reported as done may still be lost, wholly or
//! with new files that are empty, as what any program writes that does not wait for the disk: waiting for each file
//! would take longer than all the rest. A file that took another's place is never empty on ext4 and Btrfs, which see to
//! that themselves.
//!
//! What is not seen: somebody else who replaces the very file in the microseconds between the last look at it and its
//! own replacement. One who writes into it is noticed, and other processes of ours wait for their turn.

mod attributes;
mod check;
mod fault;
mod journal;
mod prepare;
mod record;
mod recover;
pub mod role;
mod step;
mod swap;
mod system;

pub use journal::{JournalLock, hold_journal, journal_folder, journal_path, mark_committed};
pub use recover::{Did, Recovery, leftovers, orphan_roots, recover, recover_one, settle};

use super::files::Whole;
use super::plan::FilePlan;
use crate::protocol::item::FileChangeKind;
use check::Target;
use fault::Fault;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use step::Run;

/// Changes to files that happen together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transaction {
    /// Folders (or files) inside which may be written, links resolved. None at all means nothing may be; `/` means
    /// anything may.
    pub roots: Vec<PathBuf>,
    pub changes: Vec<DiskChange>,
    /// Folders inside the roots that go at the end if nothing is in them then, in this order: they were made for files
    /// that are taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tidy: Vec<PathBuf>,
    /// Files without any write permission are replaced and removed too. For putting back what a snapshot kept;
    /// otherwise they are refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restores: bool,
    /// A file that is not there yet ([`journal_path`]), for what another process needs to put the tree right if this one
    /// dies. Its folder is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<PathBuf>,
    /// All steps are taken, but nothing is decided: what was there before is kept until [`settle`] says whether the
    /// transaction stands or is taken back. Needs a journal. If nobody says it, it is taken back by [`recover`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
}

/// One file's change. Paths are absolute, without `.` and `..`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DiskChange {
    /// The file shall hold this text. Folders on the way are made.
    Write {
        path: PathBuf,
        text: String,
        expect: Expect,
        /// The permission bits that the file shall have (of `0o7777`). Without them a file that is there keeps its own,
        /// and a new one gets those that the system gives.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// The file, which is there, shall have these bytes replaced: ranges of what it holds now, in order and apart. A
    /// small change of a large file travels as what it is. Without edits only the mode changes.
    Edit {
        path: PathBuf,
        edits: Vec<(Range<usize>, String)>,
        expect: Expect,
        /// As of `Write`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// The file or link shall be gone. Its folder stays, also when nothing is left in it.
    Remove { path: PathBuf, expect: Expect },
    /// The file shall have a new name, where nothing is yet, and hold this text. `expect` is about `from`.
    Move {
        from: PathBuf,
        to: PathBuf,
        text: String,
        expect: Expect,
        /// As of `Write`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// The file or link itself shall have a new name, where nothing is yet, as it is. `expect` is about `from`.
    Rename { from: PathBuf, to: PathBuf, expect: Expect },
    /// The path shall hold exactly this, whatever bytes they are, in place of the file or link that is there: what a
    /// snapshot kept. Folders on the way are made.
    Place {
        path: PathBuf,
        content: Content,
        expect: Expect,
    },
}

impl DiskChange {
    /// Every path that it writes or removes.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let (path, from) = match self {
            Self::Write { path, .. }
            | Self::Edit { path, .. }
            | Self::Remove { path, .. }
            | Self::Place { path, .. } => (path, None),
            Self::Move { from, to, .. } | Self::Rename { from, to, .. } => (to, Some(from)),
        };
        [Some(path), from].into_iter().flatten().map(PathBuf::as_path)
    }
}

/// What [`DiskChange::Place`] puts at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Content {
    /// A copy of the regular file `from`, which is outside of the transaction and stays, with these permission bits (of
    /// `0o7777`). It has at most [`MAX_PLACED_BYTES`].
    File { from: PathBuf, mode: u32 },
    /// A symbolic link with this target, which may lead anywhere: nothing is written through it.
    Link {
        #[serde(with = "super::any_path")]
        target: PathBuf,
    },
}

/// The largest file that a transaction places, replaces or removes, in bytes.
pub const MAX_PLACED_BYTES: u64 = 1 << 30;

impl DiskChange {
    /// What a planned file means for the disk, all of its hunks taken, for a transaction that this process carries out
    /// itself.
    pub fn of(file: FilePlan) -> Self {
        let FilePlan {
            path,
            kind,
            before,
            after,
            whole,
            mode,
            ..
        } = file;
        if let Some(whole) = whole {
            return Self::as_it_is(path, &kind, Expect::whole(&whole));
        }
        let expect = Expect::text(before.as_deref());
        match (after, kind) {
            (None, _) => Self::Remove { path, expect },
            (Some(text), FileChangeKind::Update { move_path: Some(to) }) => Self::Move {
                from: path,
                to,
                text,
                expect,
                mode,
            },
            (Some(text), _) => Self::Write {
                path,
                text,
                expect,
                mode,
            },
        }
    }

    /// The change of what is deleted or, by its kind, moved as it is.
    pub fn as_it_is(path: PathBuf, kind: &FileChangeKind, expect: Expect) -> Self {
        match kind {
            FileChangeKind::Update { move_path: Some(to) } => Self::Rename {
                from: path,
                to: to.clone(),
                expect,
            },
            _ => Self::Remove { path, expect },
        }
    }
}

/// What must be at a path before the change; anything else means that somebody was faster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Told", into = "Told")]
pub enum Expect {
    Absent,
    /// A regular file with this SHA-256, in hexadecimal.
    Content {
        sha256: String,
    },
    /// A regular file with this text. To another process it is told as its hash; in this one, comparing costs less.
    Text {
        text: Arc<str>,
    },
    /// A symbolic link with this target. It is replaced, renamed or removed itself and never followed; it cannot be
    /// edited.
    Link {
        target: PathBuf,
    },
}

/// An [`Expect`] as another process is told.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Told {
    Absent,
    Content {
        sha256: String,
    },
    Link {
        #[serde(with = "super::any_path")]
        target: PathBuf,
    },
}

impl From<Expect> for Told {
    fn from(expect: Expect) -> Self {
        match expect {
            Expect::Absent => Self::Absent,
            Expect::Content { sha256 } => Self::Content { sha256 },
            Expect::Text { text } => Self::Content {
                sha256: content_hash(text.as_bytes()),
            },
            Expect::Link { target } => Self::Link { target },
        }
    }
}

impl From<Told> for Expect {
    fn from(told: Told) -> Self {
        match told {
            Told::Absent => Self::Absent,
            Told::Content { sha256 } => Self::Content { sha256 },
            Told::Link { target } => Self::Link { target },
        }
    }
}

impl Expect {
    /// What a snapshot showed: this text, or no file.
    pub fn of(text: Option<&str>) -> Self {
        text.map_or(Self::Absent, |text| Self::Content {
            sha256: content_hash(text.as_bytes()),
        })
    }

    /// The same for a transaction that this process carries out itself.
    pub fn text(text: Option<&str>) -> Self {
        text.map_or(Self::Absent, |text| Self::Text { text: text.into() })
    }

    /// What is deleted or moved as it is.
    pub fn whole(whole: &Whole) -> Self {
        match whole {
            Whole::Bytes { sha256, .. } => Self::Content { sha256: sha256.clone() },
            Whole::Link { target } => Self::Link { target: target.clone() },
        }
    }

    /// Whether a regular file with this text is what is expected.
    fn is(&self, text: &str) -> bool {
        match self {
            Self::Text { text: expected } => **expected == *text,
            Self::Content { sha256 } => *sha256 == content_hash(text.as_bytes()),
            Self::Absent | Self::Link { .. } => false,
        }
    }
}

/// SHA-256 in hexadecimal.
pub fn content_hash(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal, lower case.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Why nothing was written. Every file is as it was, except as [`Stuck`](Self::Stuck) says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CommitError {
    #[error("{}: {found}. No file was changed; read it again and send the change again.", .path.display())]
    Stale { path: PathBuf, found: Found },
    #[error("{}: it is outside the folders that may be written (links resolved: {}). No file was changed.", .path.display(), .real.display())]
    Outside { path: PathBuf, real: PathBuf },
    #[error("{}: {reason}. No file was changed.", .path.display())]
    Refused { path: PathBuf, reason: String },
    #[error("{}: {doing} failed: {message}. No file was changed.", .path.display())]
    Io {
        path: PathBuf,
        doing: String,
        kind: IoKind,
        message: String,
    },
    #[error(
        "{cause} But putting things back failed too; the texts before are kept: {}",
        list(kept)
    )]
    Stuck { cause: Box<CommitError>, kept: Vec<Kept> },
    #[error("Not every file could be put back as it was: {}", list(kept))]
    Left { kept: Vec<Kept> },
    #[error("the process that writes files failed: {message}. Look at the files before trying again.")]
    Role { message: String },
    #[error("the process that writes files ended without a report. Look at the files before trying again.")]
    Died,
}

impl CommitError {
    /// The path that could not be written for want of permission: one that a grant may help.
    pub fn denied(&self) -> Option<&PathBuf> {
        match self {
            Self::Outside { path, .. }
            | Self::Io {
                path,
                kind: IoKind::Denied,
                ..
            } => Some(path),
            Self::Stuck { cause, .. } => cause.denied(),
            _ => None,
        }
    }
}

/// What is there instead of what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    #[error("the file is gone")]
    Missing,
    #[error("a file of this name is there already")]
    Present,
    #[error("the file has changed since it was read")]
    Changed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IoKind {
    /// Permission denied, or a file system that may only be read.
    Denied,
    /// No space left, or a quota.
    Full,
    Other,
}

/// A file that could not be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    pub path: PathBuf,
    /// Where its text from before is.
    pub copy: Option<PathBuf>,
    pub message: String,
}

fn list(kept: &[Kept]) -> String {
    let each = kept.iter().map(|one| match &one.copy {
        Some(copy) => format!("{} in {} ({})", one.path.display(), copy.display(), one.message),
        None => format!("{} ({})", one.path.display(), one.message),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Carries out a transaction, all or none.
///
/// # Errors
/// The first expectation that does not hold, path that may not be written, or step that failed.
pub fn commit(transaction: &Transaction) -> Result<(), CommitError> {
    commit_with(transaction, Fault::default())
}

fn commit_with(transaction: &Transaction, fault: Fault) -> Result<(), CommitError> {
    if transaction.hold && transaction.journal.is_none() {
        let message = "a transaction that is held needs a journal; nothing was changed".to_owned();
        return Err(CommitError::Role { message });
    }
    let mut works = check::works(transaction)?;
    // They do not depend on each other, and a folder is looked up and held once for all files in it.
    works.sort_by(|a, b| a.target().folder().cmp(b.target().folder()));
    let mut run = Run::new(transaction, &works, fault);
    match run.carry_out(&works) {
        Ok(()) if transaction.hold => Ok(()),
        Ok(()) => {
            run.finish();
            Ok(())
        }
        Err(cause) => Err(run.roll_back(cause)),
    }
}

/// A change whose expectations held.
enum Work<'t> {
    Write {
        target: Target,
        new: New<'t>,
    },
    Remove {
        target: Target,
    },
    Move {
        from: Target,
        to: Target,
        /// Absent if the file only changes its name: then it is renamed, which keeps all of it.
        new: Option<New<'t>>,
        /// It is another spelling of the same name, for the file system.
        respell: bool,
    },
}

impl Work<'_> {
    /// Where the file is afterwards, or was.
    fn target(&self) -> &Target {
        match self {
            Self::Write { target, .. } | Self::Remove { target } | Self::Move { to: target, .. } => target,
        }
    }
}

/// What a path shall hold.
enum New<'t> {
    Text { text: Cow<'t, str>, mode: Option<u32> },
    Copy { from: &'t Path, mode: u32 },
    Link { target: &'t Path },
}

impl New<'_> {
    /// The permission bits that are wanted.
    fn mode(&self) -> Option<u32> {
        match self {
            Self::Text { mode, .. } => *mode,
            Self::Copy { mode, .. } => Some(*mode),
            Self::Link { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
