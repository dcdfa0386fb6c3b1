//! The role in which our own program puts up the walls and keeps the command inside: the order it is given, what it
//! reports, and its entry points. `main` calls these before anything else has started.

use super::confinement::Walls;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::ExitCode;

/// First argument of the role that runs a command. Its standard input is a socket to the one who asked.
pub const SANDBOX: &str = "--sandbox-role";

/// First argument of the role that tries which walls can be put up here and prints them as JSON.
pub const PROBE: &str = "--sandbox-probe-role";

/// Exit status when the command could not be confined, as of other programs that run programs.
pub const EXIT_REFUSED: u8 = 125;
/// Exit status when the program cannot be executed.
pub const EXIT_NOT_EXECUTABLE: u8 = 126;
/// Exit status when there is no such program.
pub const EXIT_NOT_FOUND: u8 = 127;

/// Asks the keeper to end the command: SIGTERM to its process group. Closing the socket is SIGKILL to all of it.
pub(crate) const TERMINATE: u8 = b'T';

/// What the role is to do: sent through the socket as a length (u32, little endian), the order as JSON, and, where
/// `stdin` says so, the bytes of the command's standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Program and arguments; not empty.
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    /// None: full access, the keeper only keeps.
    pub walls: Option<Walls>,
    /// Length of the standard input that follows; none is an empty input.
    pub stdin: Option<u64>,
}

/// What the role says, as lines of JSON, about a command that did not start or was held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Report {
    CannotConfine {
        reason: String,
    },
    NotFound {
        program: String,
    },
    NotExecutable {
        program: String,
        reason: String,
    },
    /// The working directory cannot be entered.
    Folder {
        path: String,
        reason: String,
    },
    /// The command runs, and was refused this.
    Blocked {
        what: String,
    },
    /// The command runs behind a weaker wall than there could be.
    Weaker {
        what: String,
    },
    /// The command has ended, and something that it made was taken away.
    SetAside {
        what: String,
    },
}

impl Report {
    /// The exit status that goes with it.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } => EXIT_NOT_FOUND,
            Self::NotExecutable { .. } => EXIT_NOT_EXECUTABLE,
            Self::CannotConfine { .. }
            | Self::Folder { .. }
            | Self::Blocked { .. }
            | Self::Weaker { .. }
            | Self::SetAside { .. } => EXIT_REFUSED,
        }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CannotConfine { reason } => write!(
                f,
                "the command was not run, because it cannot be confined here: {reason}. \
                 `countersign doctor` tells what is missing"
            ),
            Self::NotFound { program } => {
                write!(
                    f,
                    "there is no program to run by this name; check the spelling and PATH: {program}"
                )
            }
            Self::NotExecutable { program, reason } => {
                write!(f, "the program cannot be executed ({reason}): {program}")
            }
            Self::Folder { path, reason } => {
                write!(
                    f,
                    "the command's folder cannot be entered ({reason}); name one that exists: {path}"
                )
            }
            Self::Weaker { what } => write!(f, "the sandbox is weaker than it could be: {what}"),
            Self::Blocked { what } | Self::SetAside { what } => write!(f, "the sandbox blocked {what}"),
        }
    }
}

/// The role behind [`SANDBOX`].
pub fn sandbox() -> ExitCode {
    #[cfg(target_os = "linux")]
    return super::linux::serve_order();
    #[cfg(not(target_os = "linux"))]
    ExitCode::from(EXIT_REFUSED)
}

/// The role behind [`PROBE`].
pub fn probe() -> ExitCode {
    #[cfg(target_os = "linux")]
    return super::linux::probe();
    #[cfg(not(target_os = "linux"))]
    ExitCode::FAILURE
}

/// Runs a command in this process's place, with its standard streams, and returns its exit status. For the command
/// line; must be called before any thread has started. `report` is told why a command did not run.
pub fn run_here(
    argv: Vec<String>,
    cwd: PathBuf,
    env: Vec<(String, String)>,
    confinement: &super::Confinement,
    report: impl Fn(&str),
) -> ExitCode {
    let order = Order {
        argv,
        cwd,
        env,
        walls: confinement.walls().cloned(),
        stdin: None,
    };
    #[cfg(target_os = "linux")]
    return super::linux::run_here(&order, report);
    #[cfg(not(target_os = "linux"))]
    return super::run::run_here(&order, report);
}
