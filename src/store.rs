//! Threads on disk: rollout files and the list of them.
//!
//! A rollout is a file of JSON lines below `<home>/sessions`, one conversation a file, in the form that the
//! reference system writes too, so that threads can be listed and resumed across both. This room writes them
//! ([`Recorder`]), reads them back whatever state they are in ([`load`]), finds them ([`find`], [`list`], [`read`],
//! [`search`]) and puts them away ([`archive`]); an [`Index`] makes lists quick. Beside them it keeps the [`proposals`]
//! that wait, what the person [`typed`], and which chat [`documents`] are theirs. It knows nothing of live threads: whoever holds one
//! says so in the answer.

pub mod archive;
pub mod documents;
pub mod foreign;
pub mod history;
pub mod index;
pub mod line;
pub mod list;
pub mod load;
mod packed;
pub mod proposals;
pub mod record;
pub mod search;
pub mod summary;
pub mod turns;
pub mod typed;
mod unfinished;

pub use index::Index;
pub use line::{EventMsg, RolloutItem, SessionMeta, TurnContextRecord};
pub use list::{INTERACTIVE, find, find_archived, list, read, read_path};
pub use load::{Stored, load, load_rolled_back};
pub use record::{Recorder, Resumed, Until, WeakRecorder};
pub use search::search;

use std::path::PathBuf;

/// The folder of the threads, below the home folder; in it one for each day.
pub const SESSIONS: &str = "sessions";

/// The folder of the archived threads, below the home folder.
pub const ARCHIVE: &str = "archived_sessions";

/// The start of `originator` in every file that Countersign wrote. Files of others are never changed.
pub const ORIGINATOR: &str = "countersign";

/// What can go wrong with stored threads.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The sessions folder cannot take a new rollout. The person's disk or rights.
    #[error(
        "The folder {} cannot be written: {cause}. Make it writable, or set COUNTERSIGN_HOME to a folder that is.",
        path.display()
    )]
    Unwritable { path: PathBuf, cause: std::io::Error },
    /// Lines wait in memory because the file does not take them. Transient: it is tried again.
    #[error(
        "The conversation cannot be recorded in {}: {cause}. Its lines are kept and written as soon as the file \
         takes them; free some disk space or make the folder writable.",
        path.display()
    )]
    Write { path: PathBuf, cause: std::io::Error },
    /// The recorder was closed, or its thread is gone.
    #[error("The recorder of {} is closed; resume the thread to go on recording.", path.display())]
    Closed { path: PathBuf },
    #[error("The rollout {} cannot be read: {cause}.", path.display())]
    Read { path: PathBuf, cause: std::io::Error },
    /// Nothing in the file can be used.
    #[error("The rollout {} is empty; it holds no conversation. Pick another thread.", path.display())]
    Empty { path: PathBuf },
    #[error(
        "The rollout {} does not start with the record that describes its thread (session_meta); it is not a \
         rollout, or its beginning is damaged.",
        path.display()
    )]
    NoMeta { path: PathBuf },
    /// The caller's text is no thread id.
    #[error(
        "{id:?} is not the id of a conversation. Ids are UUIDs; thread/list and `countersign thread list` show them."
    )]
    BadId { id: String },
    #[error("There is no stored thread with the id {id}. thread/list shows those that are there.")]
    NotFound { id: String },
    #[error("Thread {id} is archived. Unarchive it first (thread/unarchive), then continue it.")]
    Archived { id: String },
    #[error("There is no archived thread with the id {id}. thread/list with archived shows those that are there.")]
    NotArchived { id: String },
    /// The person has it open elsewhere.
    #[error(
        "The thread in {} is open in another Countersign. Resume it there, or fork it to have a copy here.",
        path.display()
    )]
    InUse { path: PathBuf },
    /// Nothing is added to what another program wrote.
    #[error(
        "The rollout {} was written, or packed, by another program, so nothing is added to it. Resume the thread first: it goes on in a \
         copy, which can be changed.",
        path.display()
    )]
    Foreign { path: PathBuf },
    /// Only what is a thread's file, and lies where they do, is moved or deleted.
    #[error(
        "{} is not the file of thread {id} in {}: {reason}. Nothing was moved; put the file where it belongs.",
        path.display(), folder.display()
    )]
    Misplaced {
        path: PathBuf,
        folder: PathBuf,
        id: String,
        reason: &'static str,
    },
    #[error("{} could not be moved to {}: {cause}. It stays where it was.", from.display(), to.display())]
    Move {
        from: PathBuf,
        to: PathBuf,
        cause: std::io::Error,
    },
    #[error("{} could not be deleted: {cause}. Make its folder writable and try again.", path.display())]
    Delete { path: PathBuf, cause: std::io::Error },
    #[error("Thread {id} has no turn {turn}, or it was rolled back. thread/read shows its turns.")]
    NoTurn { id: String, turn: String },
    #[error("The cursor {cursor:?} is not valid; use the nextCursor of the page before, or none.")]
    BadCursor { cursor: String },
}

impl StoreError {
    /// Whether the caller's parameters are at fault rather than the file or the disk.
    pub fn is_bad_request(&self) -> bool {
        matches!(
            self,
            Self::BadId { .. }
                | Self::NotFound { .. }
                | Self::BadCursor { .. }
                | Self::Archived { .. }
                | Self::NotArchived { .. }
                | Self::Misplaced { .. }
                | Self::NoTurn { .. }
        )
    }
}
