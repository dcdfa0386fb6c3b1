//! Commands that outlive the call that began them: started in the sandbox as any other, with a pseudo-terminal or with
//! pipes, read from and typed into while they run, and ended with everything they started.
//!
//! What is remembered of the output is bounded, however much there is; see [`Terminal::take`]. It leaves to others which
//! of them a conversation has, and when they end.

#[cfg(not(unix))]
mod absent;
#[cfg(unix)]
mod running;
mod scroll;

#[cfg(not(unix))]
pub use absent::{Terminal, Watcher};
#[cfg(unix)]
pub use running::{Terminal, Watcher};
pub use scroll::Taken;

use super::Denial;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Rows and columns of a pseudo-terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub rows: u16,
    pub columns: u16,
}

impl Default for Size {
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

#[cfg(unix)]
impl From<Size> for rustix::termios::Winsize {
    fn from(size: Size) -> Self {
        Self {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        }
    }
}

/// How a command in a terminal ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The program's own, or 128 and the number of the signal that ended it.
    pub code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// From its start to its end.
    pub duration: Duration,
    /// It failed, and as far as can be told the sandbox is why.
    pub denied: Option<Denial>,
    /// What its walls lack here, in words; see [`super::Finished::weaker`].
    pub weaker: Option<String>,
    /// What became of files that may be the person's; see [`super::Finished::left`].
    pub left: Vec<String>,
    /// Why it never ran, if it did not.
    pub not_run: Option<String>,
    /// The file with all that it printed, if that is much; see [`super::CommandRequest::full`].
    pub full: Option<PathBuf>,
}

/// Why a terminal could not be typed into or changed.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("its program has ended")]
    Ended,
    /// It has pipes.
    #[error("it has no terminal, so its input is closed; only Ctrl-C reaches it")]
    NoTerminal,
    #[error("its program does not read what is typed: {written} of {length} bytes were taken; wait, or send Ctrl-C")]
    NotRead { written: usize, length: usize },
    #[error("the kernel refused: {0}")]
    Refused(#[from] std::io::Error),
}
