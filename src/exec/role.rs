//! The role in which our own program puts up the walls and keeps the command inside: the order it is given, what it
//! reports, and its entry points. `main` calls these before anything else has started.

use super::confinement::Walls;
use super::denial::Refusal;
use super::proxy::Way;
use super::terminal::Size;
use crate::config::bounds::Bounds;
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
    /// How much it may take; none: as much as there is.
    #[serde(default)]
    pub bounds: Option<Bounds>,
    /// The command gets a pseudo-terminal of this size in place of its standard streams. Its standard output is a socket
    /// then, through which the terminal's other end comes back.
    #[serde(default)]
    pub terminal: Option<Size>,
}

impl Order {
    /// Leads the command to the proxy for the hosts that it may reach by name; `more` are variables that go with it.
    pub(super) fn use_proxy(&mut self, way: &Way, more: Vec<(String, String)>) {
        let Some(walls) = &mut self.walls else { return };
        walls.loopback_ports.push(way.port);
        walls.proxy = Some(way.clone());
        let mut variables = way.environment();
        variables.extend(more);
        self.env
            .retain(|(name, _)| variables.iter().all(|(set, _)| set != name));
        self.env.extend(variables);
    }
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
    /// The command has ended, and what came while it ran was left where it is: it may be the person's.
    Appeared {
        path: String,
    },
    /// The command has ended, and what it made could not be looked for here, nor in so many other places.
    Unseen {
        first: String,
        more: usize,
    },
    /// The command's keeper was ended before it could look for what the command made.
    Unswept,
    /// The command has ended, and something that it made was taken away.
    SetAside {
        what: String,
    },
    /// From now on it is told which entries the command writes by their names.
    Naming,
    /// The command writes this entry (`exec::wrote::mark`).
    Wrote {
        mark: u64,
    },
    /// The command may write what is not told.
    WroteUnnamed,
    /// The kernel has written this down as refused.
    Refused {
        refusal: Refusal,
    },
    /// The command was ended, as it had more processes and threads at one time than this.
    Crowded {
        most: u64,
    },
    /// The command was ended, as all that it started took more bytes of memory than this.
    Starved {
        most: u64,
    },
    /// The command was ended by force, as it did not heed this signal.
    Forced {
        signal: i32,
    },
}

impl Report {
    /// Whether the person is to see it with the command's output, whatever the exit status is.
    pub(crate) fn belongs_to_output(&self) -> bool {
        matches!(
            self,
            Self::SetAside { .. }
                | Self::Appeared { .. }
                | Self::Unseen { .. }
                | Self::Unswept
                | Self::Crowded { .. }
                | Self::Starved { .. }
        )
    }

    /// Whether it tells what the command writes, which nobody reads.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "told by the keeper, which Linux has")
    )]
    pub(crate) fn is_of_writing(&self) -> bool {
        matches!(self, Self::Naming | Self::Wrote { .. } | Self::WroteUnnamed)
    }

    /// Whether it is about files that the person has to know of, as they may be theirs.
    pub(crate) fn is_of_files(&self) -> bool {
        matches!(
            self,
            Self::SetAside { .. } | Self::Appeared { .. } | Self::Unseen { .. } | Self::Unswept
        )
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
            | Self::Appeared { .. }
            | Self::Unseen { .. }
            | Self::Unswept
            | Self::Crowded { .. }
            | Self::Starved { .. }
            | Self::Forced { .. }
            | Self::Naming
            | Self::Wrote { .. }
            | Self::WroteUnnamed
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
            Self::Appeared { path } => write!(
                f,
                "{path} is new since the command began, and other programs run or obey such files automatically; check it before you \
                 use the folder"
            ),
            Self::Unseen { first, more } => {
                write!(f, "the sandbox could not check all that the command has left behind: {first}")?;
                if *more > 0 {
                    write!(f, " and {more} other places")?;
                }
                write!(f, "; look there before you open the folder in another program")
            }
            Self::Unswept => f.write_str(
                "the command was ended by force before the sandbox could check what it has left behind; look for files that other \
                 programs run or obey automatically before you open the folder in one",
            ),
            Self::Crowded { most } => write!(
                f,
                "the command was ended: it had more than {most} processes and threads at one time (limits.processes); let it \
                 start fewer at once"
            ),
            Self::Forced { signal } => {
                let name = match signal {
                    1 => "SIGHUP",
                    2 => "SIGINT",
                    _ => "SIGTERM",
                };
                write!(
                    f,
                    "the command did not end at {name}, so it was ended by force, with all that it started"
                )
            }
            Self::Starved { most } => write!(
                f,
                "the command was ended: it used more than {} of memory, with all that it started (limits.memory); let it \
                 take less, or do less at once",
                amount(*most)
            ),
            Self::Naming => f.write_str("it is told what the command writes"),
            Self::Wrote { mark } => write!(f, "the command writes {mark:x}"),
            Self::WroteUnnamed => f.write_str("the command may write what is not told"),
            Self::Refused { refusal } => write!(f, "the sandbox blocked {}", refusal.what),
            Self::Taken { pid } => write!(f, "process {pid} keeps the command"),
            Self::Ended { exit_code } => write!(f, "the command has ended with {exit_code}"),
            Self::Signalled { signal } => write!(f, "signal {signal} has ended the command"),
        }
    }
}

/// Bytes in words, as people write them.
fn amount(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..0x4000_0000 => (1_u64 << 20, "MiB"),
        _ => (1 << 30, "GiB"),
    };
    // Down to a tenth; a whole number stands without one.
    match (bytes / unit, bytes % unit * 10 / unit) {
        (whole, 0) => format!("{whole} {name}"),
        (whole, tenths) => format!("{whole}.{tenths} {name}"),
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
        walls: confinement.walls().cloned().map(|walls| walls.looked(false)),
        bounds: confinement.bounds(),
        terminal: None,
    };
    #[cfg(target_os = "linux")]
    return super::linux::run_here(order, here.begun, here.report);
    #[cfg(not(target_os = "linux"))]
    return super::run::run_here(order, here.report);
}
