//! Threads on disk: rollout files and the list of them.
//!
//! A rollout is a file of JSON lines below `<home>/sessions`, one conversation a file, in the form that the
//! reference system writes too, so that threads can be listed and resumed across both. This room writes them
//! ([`Recorder`]), reads them back whatever state they are in ([`load`]) and finds them ([`find`], [`list`],
//! [`read`]). Beside them it keeps the [`proposals`] that wait, and what the person [`typed`]. It knows nothing of live threads: whoever holds one
//! says so in the answer.

pub mod foreign;
pub mod history;
pub mod line;
pub mod list;
pub mod load;
pub mod proposals;
pub mod record;
pub mod summary;
pub mod turns;
pub mod typed;

pub use line::{EventMsg, RolloutItem, SessionMeta, TurnContextRecord};
pub use list::{find, list, read, read_path};
pub use load::{Stored, load};
pub use record::{Recorder, Resumed};

use std::path::PathBuf;

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
    #[error("{id:?} is not a thread id; thread ids are UUIDs, as thread/list gives them.")]
    BadId { id: String },
    #[error("There is no stored thread with the id {id}. thread/list shows those that are there.")]
    NotFound { id: String },
    #[error("The cursor {cursor:?} is not valid; use the nextCursor of the page before, or none.")]
    BadCursor { cursor: String },
}

impl StoreError {
    /// Whether the caller's parameters are at fault rather than the file or the disk.
    pub fn is_bad_request(&self) -> bool {
        matches!(
            self,
            Self::BadId { .. } | Self::NotFound { .. } | Self::BadCursor { .. }
        )
    }
}
