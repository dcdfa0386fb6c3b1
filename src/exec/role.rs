//! The role in which our own program puts up the walls and keeps the command inside: the order it is given, what it
//! reports, and its entry points. `main` calls these before anything else has started.

use super::confinement::Walls;
use super::denial::Refusal;
use super::terminal::Size;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::ExitCode;

/// First argument of the role that runs commands. Its standard input is a socket of messages; each brings a line to the
/// one who asks and the command's three standard streams (see [`Order`]).
pub const SANDBOX: &str = "--sandbox-role";

/// First argument of the role that tries which walls can be put up here and prints them as JSON.
pub const PROBE: &str = "--sandbox-probe-role";

/// Why nothing is confined on a system that has no sandbox of ours.
#[cfg(any(test, not(any(target_os = "linux", target_os = "macos"))))]
pub(crate) const NO_SANDBOX: &str = "there is no sandbox for this system; on Windows, Countersign in WSL 2 has one";

/// Exit status when the command could not be confined, as of other programs that run programs.
pub const EXIT_REFUSED: u8 = 125;
/// Exit status when the program cannot be executed.
pub const EXIT_NOT_EXECUTABLE: u8 = 126;
/// Exit status when there is no such program.
pub const EXIT_NOT_FOUND: u8 = 127;

/// Asks the keeper to end the command: SIGTERM to its process group. Closing the socket is SIGKILL to all of it.
pub(crate) const TERMINATE: u8 = b'T';
/// Interrupts the command, as Ctrl-C at a terminal would: SIGINT to its process group.
pub(crate) const INTERRUPT: u8 = b'I';

/// What the role is to do: sent through the line as a length (u32, little endian) and the order as JSON. The command's
/// standard streams came with the line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Program and arguments; not empty.
    pub argv: Vec<String>,
    /// What the program is told that it is called; its own name if not given.
    #[serde(default)]
    pub argv0: Option<String>,
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    /// None: full access, the keeper only keeps.
    pub walls: Option<Walls>,
    /// The command gets a pseudo-terminal of this size in place of its standard streams. Its standard output is a socket
    /// then, through which the terminal's other end comes back.
    #[serde(default)]
    pub terminal: Option<Size>,
}

/// What the role says, as lines of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Report {
    /// The first: this process has the order, or will have it in a moment.
    Taken {
        pid: u32,
    },
    /// The last: nothing of the command is left.
    Ended {
        exit_code: u8,
    },
    /// The command was ended by this signal.
    Signalled {
        signal: i32,
    },
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
    NoTerminal {
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
    /// The command runs, and found nothing on this port of its own loopback. The machine's may have more.
    Unanswered {
        port: u16,
    },
    /// The command runs behind a weaker wall than there could be.
    Weaker {
        what: String,
    },
    /// The command has ended, and something that it made was taken away.
    SetAside {
        what: String,
    },
    /// The kernel has written this down as refused.
    Refused {
        refusal: Refusal,
    },
    /// The command was ended, as it had more processes and threads at one time than this.
    Crowded {
        most: u64,
    },
}

impl Report {
    /// Whether the person is to see it with the command's output, whatever the exit status is.
    pub(crate) fn belongs_to_output(&self) -> bool {
        matches!(self, Self::SetAside { .. } | Self::Crowded { .. })
    }

    /// The exit status that goes with it.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } => EXIT_NOT_FOUND,
            Self::NotExecutable { .. } => EXIT_NOT_EXECUTABLE,
            Self::Ended { exit_code } => *exit_code,
            Self::CannotConfine { .. }
            | Self::NoTerminal { .. }
            | Self::Folder { .. }
            | Self::Blocked { .. }
            | Self::SetAside { .. }
            | Self::Crowded { .. }
            | Self::Refused { .. }
            | Self::Unanswered { .. }
            | Self::Weaker { .. }
            | Self::Taken { .. }
            | Self::Signalled { .. } => EXIT_REFUSED,
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
            Self::NoTerminal { reason } => write!(f, "the command could not be given a terminal: {reason}"),
            Self::Folder { path, reason } => {
                write!(
                    f,
                    "the command's folder cannot be entered ({reason}); name one that exists: {path}"
                )
            }
            Self::Unanswered { port } => write!(
                f,
                "nothing in the sandbox listens on port {port}, and the machine's own ports are out of its reach"
            ),
            Self::Weaker { what } => write!(f, "the sandbox is weaker than it could be: {what}"),
            Self::Blocked { what } | Self::SetAside { what } => write!(f, "the sandbox blocked {what}"),
            Self::Crowded { most } => write!(
                f,
                "the sandbox ended the command, as it had more than {most} processes and threads at one time; let it start \
                 fewer at once"
            ),
            Self::Refused { refusal } => write!(f, "the sandbox blocked {}", refusal.what),
            Self::Taken { pid } => write!(f, "process {pid} keeps the command"),
            Self::Ended { exit_code } => write!(f, "the command has ended with {exit_code}"),
            Self::Signalled { signal } => write!(f, "signal {signal} has ended the command"),
        }
    }
}

/// The role behind [`SANDBOX`].
pub fn sandbox() -> ExitCode {
    #[cfg(target_os = "linux")]
    return super::linux::serve();
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

/// A command that is about to be run in this process's place.
pub struct Here {
    /// What is told why a command did not run.
    report: fn(&str),
    #[cfg(target_os = "linux")]
    begun: super::linux::Begun,
}

/// Begins what any confined command needs, while whoever calls finds out which. For the command line; must be called
/// before any thread has started, and closes this process's other descriptors to the command. `report` is told why the
/// command did not run.
pub fn begin(report: fn(&str)) -> Here {
    Here {
        report,
        #[cfg(target_os = "linux")]
        begun: super::linux::begin(report),
    }
}

/// Runs a command in this process's place, with its standard streams, and returns its exit status.
pub fn run_here(
    here: Here,
    argv: Vec<String>,
    cwd: PathBuf,
    env: Vec<(String, String)>,
    confinement: &super::Confinement,
) -> ExitCode {
    let order = Order {
        argv,
        argv0: None,
        cwd,
        env,
        walls: confinement.walls().cloned(),
        terminal: None,
    };
    #[cfg(target_os = "linux")]
    return super::linux::run_here(&order, here.begun, here.report);
    #[cfg(not(target_os = "linux"))]
    return super::run::run_here(&order, here.report);
}
