//! Starting a command, following it, stopping it.

#[cfg(not(target_os = "linux"))]
mod direct;
mod ending;
mod input;
mod live;
mod stream;

use super::Confinement;
use super::denial::{self, Denial, Ran, Refusal};
#[cfg(target_os = "linux")]
pub(super) use super::linux::Line;
#[cfg(target_os = "linux")]
use super::linux::launch;
use super::output::{Excerpt, FullOutput, KEPT_OUTPUT, Kept, Stream};
use super::proxy::{self, Proxy, Traffic};
use super::role::{Order, Report};
use super::wrote::Wrote;
#[cfg(not(target_os = "linux"))]
pub(super) use direct::Line;
#[cfg(not(target_os = "linux"))]
use direct::launch;
pub(super) use ending::Ending;
pub(crate) use input::Descriptor;
pub use input::{Input, InputWriter, PipeEnd};
use live::Live;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use stream::Pipe;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

#[cfg(not(target_os = "linux"))]
pub(super) use direct::run_here;

/// How long output is waited for after the command has ended, should something outside its reach hold the pipe.
pub(super) const DRAIN: Duration = Duration::from_secs(2);

/// Exit code of a command that ran out of time.
const EXIT_TIMED_OUT: i32 = 124;
/// Exit code of a command that was stopped.
pub(super) const EXIT_CANCELLED: i32 = 130;

/// Commands that run at once; more wait for their turn, so that descriptors do not run out.
const PLACES: usize = 128;
static PLACE: Semaphore = Semaphore::const_new(PLACES);

/// A command to run.
#[derive(Debug)]
pub struct CommandRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// What the program is told that it is called, where that is not its own name.
    pub argv0: Option<String>,
    /// Absolute.
    pub cwd: PathBuf,
    /// All of its environment; `COUNTERSIGN_SANDBOX=1` is added when it is confined.
    pub env: BTreeMap<String, String>,
    pub confinement: Confinement,
    pub timeout: Option<Duration>,
    pub input: Input,
    /// Who hears what it writes.
    pub wrote: Wrote,
    /// Where all of a long output is kept.
    pub full: FullOutput,
}

/// A command that has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The program's own, or 128 and the number of the signal that ended it; 124 when it ran out of time, 130 when it
    /// was cancelled.
    pub exit_code: i32,
    /// Each stream, and both as they came; bounded, with the middle left out.
    pub stdout: String,
    pub stderr: String,
    pub aggregated: Excerpt,
    /// The file with all of it, if it is long; see [`CommandRequest::full`].
    pub full: Option<PathBuf>,
    /// The signal that ended it, also where it is this program that sent it.
    pub signal: Option<i32>,
    pub duration: Duration,
    pub timed_out: bool,
    pub cancelled: bool,
    /// It failed, and as far as can be told the sandbox is why.
    pub denied: Option<Denial>,
    /// What its walls lack here, in words; none where all stand. To be told once, not with each command.
    pub weaker: Option<String>,
    /// What became of files that may be the person's, in sentences for them.
    pub left: Vec<String>,
    /// What went to the hosts that it may reach by name, and came from them.
    pub traffic: Vec<Traffic>,
}

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error("the command is empty; give the program and its arguments")]
    Empty,
    /// The walls that the policy asks for do not stand. Nothing ran.
    #[error(
        "the command was not run, because it cannot be confined here: {reason}. `countersign doctor` tells what is \
         missing; with full access it runs unconfined"
    )]
    CannotConfine { reason: String },
    #[error("there is no program to run by this name; check the spelling and PATH: {program}")]
    NotFound { program: String },
    #[error("the program cannot be executed ({reason}): {program}")]
    NotExecutable { program: String, reason: String },
    /// A pseudo-terminal was asked for and there is none to be had. Nothing ran.
    #[error("the command could not be given a terminal ({reason}); run it without one")]
    NoTerminal { reason: String },
    #[error("the command's folder cannot be entered ({reason}); name one that exists: {}", path.display())]
    Folder { path: PathBuf, reason: String },
    /// Our own program could not be started in its role: out of processes, memory or descriptors, most likely.
    #[error("the program that runs commands could not be started")]
    Start(#[source] io::Error),
}

impl ExecError {
    pub(super) fn of(report: Report) -> Option<Self> {
        Some(match report {
            Report::CannotConfine { reason } => Self::CannotConfine { reason },
            Report::NotFound { program } => Self::NotFound { program },
            Report::NotExecutable { program, reason } => Self::NotExecutable { program, reason },
            Report::NoTerminal { reason } => Self::NoTerminal { reason },
            Report::Folder { path, reason } => Self::Folder {
                path: path.into(),
                reason,
            },
            Report::Taken { .. }
            | Report::Ended { .. }
            | Report::Signalled { .. }
            | Report::Blocked { .. }
            | Report::Unanswered { .. }
            | Report::Weaker { .. }
            | Report::SetAside { .. }
            | Report::Appeared { .. }
            | Report::Unseen { .. }
            | Report::Unswept
            | Report::Naming
            | Report::Wrote { .. }
            | Report::WroteUnnamed
            | Report::Refused { .. }
            | Report::Crowded { .. }
            | Report::Starved { .. }
            | Report::Forced { .. } => return None,
        })
    }
}

static SELF_PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Names the program that can play the roles, for a process that is not the program itself (tests, embedders). The
/// first call counts.
pub fn use_program(program: PathBuf) {
    let _first_counts = SELF_PROGRAM.set(program);
}

/// A path by which this program can be started again, also when its file was replaced meanwhile.
pub fn self_program() -> io::Result<PathBuf> {
    if let Some(program) = SELF_PROGRAM.get() {
        return Ok(program.clone());
    }
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe()
    }
}

/// Runs a command to its end. `on_output` gets the output as it comes, joined to some 25 pieces a second of at most
/// 16 KiB; of a flood it gets what fits. When `cancel` is cancelled, the time is over or this future is dropped, the
/// command is ended with everything it started; after it has ended nothing of it is left.
///
/// # Errors
/// It did not run.
pub async fn run(
    request: CommandRequest,
    mut on_output: impl FnMut(Stream, &str) + Send,
    cancel: CancellationToken,
) -> Result<Finished, ExecError> {
    let start = Instant::now();
    let (cwd, confinement) = (request.cwd.clone(), request.confinement.clone());
    let argv = request.argv.clone();
    let (timeout, full) = (request.timeout, request.full.clone());
    let (mut stdout, stdout_end) = Pipe::open().map_err(ExecError::Start)?;
    let (mut stderr, stderr_end) = Pipe::open().map_err(ExecError::Start)?;
    // Its place is free again when this function is left.
    let starting = async {
        let place = PLACE
            .acquire()
            .await
            .map_err(|closed| ExecError::Start(io::Error::other(closed)))?;
        let line = start_command(request, stdout_end, stderr_end).await?;
        Ok::<_, ExecError>((line, place))
    };
    let (mut line, _place) = tokio::select! {
        started = starting => started?,
        () = cancel.cancelled() => return Ok(Finished::never_began(start.elapsed())),
    };
    // Waiting for a place is not the command's time.
    let deadline = timeout.map(|timeout| Instant::now() + timeout);

    let mut aggregated = Kept::new(KEPT_OUTPUT);
    let mut live = Live::new();
    let mut ending = Ending::Running;
    let mut drain_until = None;
    loop {
        if line.is_over() {
            if stdout.ended() && stderr.ended() {
                break;
            }
            drain_until.get_or_insert_with(|| Instant::now() + DRAIN);
        }
        let (stream, text) = tokio::select! {
            text = stdout.read() => (Stream::Stdout, text),
            text = stderr.read() => (Stream::Stderr, text),
            () = line.hear() => continue,
            () = at(live.due()) => {
                live.deliver(&mut on_output);
                continue;
            }
            () = at(drain_until) => break,
            () = cancel.cancelled(), if ending.is_running() && !line.is_over() => {
                ending = Ending::asked(line.terminate(), true);
                continue;
            }
            () = at(deadline), if ending.is_running() && !line.is_over() => {
                ending = Ending::asked(line.terminate(), false);
                continue;
            }
            () = at(ending.next_step()), if !line.is_over() => {
                ending.escalate(&mut line);
                continue;
            }
        };
        aggregated.push(&text);
        full.push(&text);
        live.push(stream, &text);
        live.deliver_due(&mut on_output);
    }
    if let Some(error) = line.reports().iter().cloned().find_map(ExecError::of) {
        return Err(error);
    }
    let (timed_out, cancelled) = (ending.timed_out(), ending.cancelled());
    let exit_code = if timed_out {
        EXIT_TIMED_OUT
    } else if cancelled {
        EXIT_CANCELLED
    } else {
        line.exit_code().unwrap_or(EXIT_CANCELLED)
    };
    let printed = aggregated.so_far().to_string();
    let ran = Ran {
        exit_code,
        output: &printed,
        cwd: &cwd,
        confinement: &confinement,
        blocked: blocked(line.reports()),
        unanswered: unanswered(line.reports()),
        recorded: recorded(line.reports()),
        refused: line.refused_hosts(),
    };
    let is_judged = !confinement.is_outside() && !timed_out && !cancelled;
    let denied = is_judged.then(|| denial::judge(&ran)).flatten();
    let went_without = is_judged.then(|| denial::behind_a_pipe(&ran, &argv)).flatten();
    let reports = line.reports().iter().filter(|report| report.belongs_to_output());
    for remark in reports.map(ToString::to_string).chain(went_without) {
        let text = format!("\n{remark}\n");
        stderr.kept.push(&text);
        aggregated.push(&text);
        full.push(&text);
        live.push(Stream::Stderr, &text);
    }
    live.deliver(&mut on_output);
    let aggregated = aggregated.excerpt();
    Ok(Finished {
        exit_code,
        stdout: stdout.kept.finish(),
        stderr: stderr.kept.finish(),
        aggregated,
        full: full.end().await,
        signal: line.signal(),
        duration: start.elapsed(),
        timed_out,
        cancelled,
        denied,
        weaker: weaker(line.reports()),
        left: left(line.reports()),
        traffic: line.traffic(),
    })
}

/// Starts a command whose output goes where the caller says. What it has for its standard input is in the request; its
/// time is not looked after.
///
/// # Errors
/// It cannot be started.
pub(super) async fn start_command(
    request: CommandRequest,
    stdout: Descriptor,
    stderr: Descriptor,
) -> Result<Line, ExecError> {
    start_with(request, None, stdout, stderr).await
}

/// The same in a pseudo-terminal of this size, whose other end comes through the other end of `socket`.
#[cfg(target_os = "linux")]
pub(super) async fn start_in_terminal(
    request: CommandRequest,
    size: super::terminal::Size,
    socket: Descriptor,
) -> Result<Line, ExecError> {
    let nothing = std::fs::File::open("/dev/null").map_err(ExecError::Start)?;
    start_with(request, Some(size), socket, nothing.into()).await
}

async fn start_with(
    request: CommandRequest,
    terminal: Option<super::terminal::Size>,
    stdout: Descriptor,
    stderr: Descriptor,
) -> Result<Line, ExecError> {
    let mut env = request.env;
    if request.confinement.walls().is_some() {
        env.insert("COUNTERSIGN_SANDBOX".to_owned(), "1".to_owned());
    }
    if request.argv.is_empty() {
        return Err(ExecError::Empty);
    }
    let stdin = request.input.open().await.map_err(ExecError::Start)?;
    let walls = match request.confinement.walls().cloned() {
        // Looking through the workspace's folders may take a moment.
        Some(walls) if walls.later.is_some() => {
            let looked = tokio::task::spawn_blocking(|| walls.looked(true)).await;
            Some(looked.map_err(|error| ExecError::Start(io::Error::other(error)))?)
        }
        walls => walls,
    };
    let proxy = match request.confinement.walls() {
        Some(walls) => Proxy::for_walls(walls).await,
        None => Ok(None),
    };
    let proxy = proxy.map_err(|reason| ExecError::CannotConfine { reason })?;
    let mut order = Order {
        argv: request.argv,
        argv0: request.argv0,
        cwd: request.cwd,
        env: env.into_iter().collect(),
        walls,
        bounds: request.confinement.bounds(),
        terminal,
    };
    match &proxy {
        Some(proxy) => proxy.lead(&mut order),
        None => proxy::withhold(&mut order),
    }
    let mut line = launch(&order, [stdin, stdout, stderr]).await?;
    line.tell_of(request.wrote);
    line.keep(proxy);
    Ok(line)
}

/// What the keeper itself held back, if anything.
pub(super) fn blocked(reports: &[Report]) -> Option<&str> {
    reports.iter().find_map(|report| match report {
        Report::Blocked { what } | Report::SetAside { what } => Some(what.as_str()),
        _ => None,
    })
}

/// The first that the kernel has written down as refused.
pub(super) fn recorded(reports: &[Report]) -> Option<&Refusal> {
    reports.iter().find_map(|report| match report {
        Report::Refused { refusal } => Some(refusal),
        _ => None,
    })
}

/// That a port of its own loopback did not answer, in words.
pub(super) fn unanswered(reports: &[Report]) -> Option<String> {
    reports.iter().find_map(|report| match report {
        Report::Unanswered { .. } => Some(report.to_string()),
        _ => None,
    })
}

/// What the walls around it lack, in words.
pub(super) fn weaker(reports: &[Report]) -> Option<String> {
    reports.iter().find_map(|report| match report {
        Report::Weaker { what } => Some(what.clone()),
        _ => None,
    })
}

/// What became of files that may be the person's, in sentences for them.
pub(super) fn left(reports: &[Report]) -> Vec<String> {
    let of_files = reports.iter().filter(|report| report.is_of_files());
    let sentence = |report: &Report| match report {
        Report::SetAside { .. } | Report::Appeared { .. } => format!("This may be yours: {report}"),
        report => report.to_string(),
    };
    of_files.map(sentence).collect()
}

impl Finished {
    /// It was cancelled before there was anything to cancel.
    pub fn never_began(duration: Duration) -> Self {
        Self {
            exit_code: EXIT_CANCELLED,
            stdout: String::new(),
            stderr: String::new(),
            aggregated: Excerpt::default(),
            full: None,
            signal: None,
            duration,
            timed_out: false,
            cancelled: true,
            denied: None,
            weaker: None,
            left: Vec::new(),
            traffic: Vec::new(),
        }
    }
}

/// A time that may never come.
pub(super) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn exit_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[cfg(not(unix))]
fn exit_code(status: std::process::ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}
