//! Starting a command, following it, stopping it.

use super::Confinement;
use super::denial::{self, Denial};
use super::output::{Decoder, KEPT_OUTPUT, Kept, Stream};
#[cfg(target_os = "linux")]
use super::role;
use super::role::{Order, Report};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Bytes read at a time, and the longest piece that `on_output` gets.
const CHUNK: usize = 8 * 1024;

/// Between asking a command to end (SIGTERM) and ending it.
const GRACE: Duration = Duration::from_millis(300);

/// How long output is waited for after the command has ended, should something outside its reach hold the pipe.
const DRAIN: Duration = Duration::from_secs(2);

/// How long the keeper may take to end everything before it is ended itself.
const KEEPER_PATIENCE: Duration = Duration::from_secs(3);

/// Exit code of a command that ran out of time.
const EXIT_TIMED_OUT: i32 = 124;
/// Exit code of a command that was stopped.
const EXIT_CANCELLED: i32 = 130;

/// A command to run.
#[derive(Clone, Debug)]
pub struct CommandRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Absolute.
    pub cwd: PathBuf,
    /// All of its environment; `COUNTERSIGN_SANDBOX=1` is added when it is confined.
    pub env: BTreeMap<String, String>,
    pub confinement: Confinement,
    pub timeout: Option<Duration>,
    /// Standard input; without it the command sees the end of file at once.
    pub stdin: Option<Vec<u8>>,
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
    pub aggregated: String,
    pub duration: Duration,
    pub timed_out: bool,
    pub cancelled: bool,
    /// It failed, and as far as can be told the sandbox is why.
    pub denied: Option<Denial>,
    /// What its walls lack here, in words; none where all stand. To be told once, not with each command.
    pub weaker: Option<String>,
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
    #[error("the command's folder cannot be entered ({reason}); name one that exists: {}", path.display())]
    Folder { path: PathBuf, reason: String },
    /// Our own program could not be started in its role: out of processes, memory or descriptors, most likely.
    #[error("the program that runs commands could not be started")]
    Start(#[source] io::Error),
}

impl ExecError {
    fn of(report: Report) -> Option<Self> {
        Some(match report {
            Report::CannotConfine { reason } => Self::CannotConfine { reason },
            Report::NotFound { program } => Self::NotFound { program },
            Report::NotExecutable { program, reason } => Self::NotExecutable { program, reason },
            Report::Folder { path, reason } => Self::Folder {
                path: path.into(),
                reason,
            },
            Report::Blocked { .. } | Report::SetAside { .. } | Report::Weaker { .. } => return None,
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

/// Runs a command to its end. `on_output` gets the output as it comes. When `cancel` is cancelled, the time is over or
/// this future is dropped, the command is ended with everything it started; after it has ended nothing of it is left.
pub async fn run(
    request: CommandRequest,
    mut on_output: impl FnMut(Stream, &str) + Send,
    cancel: CancellationToken,
) -> Result<Finished, ExecError> {
    let start = Instant::now();
    let confined = request.confinement.walls().is_some();
    let network = request.confinement.network();
    let deadline = request.timeout.map(|timeout| start + timeout);
    let (mut child, mut line) = start_command(request).await?;

    let mut stdout = Pipe::new(child.stdout.take());
    let mut stderr = Pipe::new(child.stderr.take());
    let mut aggregated = Kept::new(KEPT_OUTPUT);
    let mut ending = Ending::Running;
    let mut exit = None;
    let mut drain_until = None;
    loop {
        if exit.is_some() && stdout.ended() && stderr.ended() {
            break;
        }
        let mut take = |stream: Stream, text: &str| {
            if !text.is_empty() {
                aggregated.push(text);
                on_output(stream, text);
            }
        };
        tokio::select! {
            text = stdout.read() => take(Stream::Stdout, &text),
            text = stderr.read() => take(Stream::Stderr, &text),
            () = line.hear() => {}
            status = child.wait(), if exit.is_none() => {
                exit = Some(status.map_err(ExecError::Start)?);
                drain_until = Some(Instant::now() + DRAIN);
            }
            () = at(drain_until) => break,
            () = cancel.cancelled(), if matches!(ending, Ending::Running) && exit.is_none() => {
                ending = Ending::asked(line.terminate(), true);
            }
            () = at(deadline), if matches!(ending, Ending::Running) && exit.is_none() => {
                ending = Ending::asked(line.terminate(), false);
            }
            () = at(ending.next_step()), if exit.is_none() => ending.escalate(&mut child, &mut line),
        }
    }
    line.hear_out().await;
    if let Some(error) = line.reports.iter().cloned().find_map(ExecError::of) {
        return Err(error);
    }
    for report in &line.reports {
        // Told whatever the exit status is: something is not where the command left it.
        if matches!(report, Report::SetAside { .. }) {
            let text = format!("\n{report}\n");
            stderr.kept.push(&text);
            aggregated.push(&text);
            on_output(Stream::Stderr, &text);
        }
    }
    let own_code = exit.map_or(EXIT_CANCELLED, exit_code);
    let (timed_out, cancelled) = (ending.timed_out(), ending.cancelled());
    let exit_code = if timed_out {
        EXIT_TIMED_OUT
    } else if cancelled {
        EXIT_CANCELLED
    } else {
        own_code
    };
    let aggregated = aggregated.finish();
    let denied = (confined && !timed_out && !cancelled)
        .then(|| denial::judge(exit_code, &aggregated, network, line.blocked()))
        .flatten();
    Ok(Finished {
        exit_code,
        stdout: stdout.kept.finish(),
        stderr: stderr.kept.finish(),
        aggregated,
        duration: start.elapsed(),
        timed_out,
        cancelled,
        denied,
        weaker: line.weaker(),
    })
}

/// A time that may never come.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// How far a command that has to end has been told so.
enum Ending {
    Running,
    /// SIGTERM was sent; more follows at this time.
    Asked {
        cancelled: bool,
        until: Instant,
    },
    /// The keeper was told to end everything; it is ended itself at this time.
    Ended {
        cancelled: bool,
        until: Instant,
    },
    KeeperKilled {
        cancelled: bool,
    },
}

impl Ending {
    /// `heard` is whether the request to end could be sent at all.
    fn asked(heard: bool, cancelled: bool) -> Self {
        let grace = if heard { GRACE } else { Duration::ZERO };
        Self::Asked {
            cancelled,
            until: Instant::now() + grace,
        }
    }

    fn next_step(&self) -> Option<Instant> {
        match self {
            Self::Asked { until, .. } | Self::Ended { until, .. } => Some(*until),
            Self::Running | Self::KeeperKilled { .. } => None,
        }
    }

    fn escalate(&mut self, child: &mut Child, line: &mut Line) {
        *self = match *self {
            Self::Asked { cancelled, .. } => {
                line.end(child);
                Self::Ended {
                    cancelled,
                    until: Instant::now() + KEEPER_PATIENCE,
                }
            }
            Self::Ended { cancelled, .. } => {
                // It cannot have been reaped: it is still waited for.
                let _gone = child.start_kill();
                Self::KeeperKilled { cancelled }
            }
            Self::Running | Self::KeeperKilled { .. } => return,
        };
    }

    fn cancelled(&self) -> bool {
        match self {
            Self::Running => false,
            Self::Asked { cancelled, .. } | Self::Ended { cancelled, .. } | Self::KeeperKilled { cancelled } => {
                *cancelled
            }
        }
    }

    fn timed_out(&self) -> bool {
        !matches!(self, Self::Running) && !self.cancelled()
    }
}

#[cfg(unix)]
fn exit_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[cfg(not(unix))]
fn exit_code(status: std::process::ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

/// One stream of the command.
struct Pipe<R> {
    reader: Option<R>,
    decoder: Decoder,
    kept: Kept,
    buffer: Box<[u8]>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(reader: Option<R>) -> Self {
        Self {
            reader,
            decoder: Decoder::default(),
            kept: Kept::new(KEPT_OUTPUT),
            buffer: vec![0; CHUNK].into_boxed_slice(),
        }
    }

    fn ended(&self) -> bool {
        self.reader.is_none()
    }

    /// The next piece of text; never comes after the end.
    async fn read(&mut self) -> String {
        let Some(reader) = &mut self.reader else {
            return std::future::pending().await;
        };
        let text = match reader.read(&mut self.buffer).await {
            Ok(read) if read > 0 => self.decoder.push(&self.buffer[..read]),
            // A broken pipe has nothing more to say.
            _ => {
                self.reader = None;
                self.decoder.finish().to_owned()
            }
        };
        self.kept.push(&text);
        text
    }
}

/// The line to the keeper of a command.
#[derive(Default)]
struct Line {
    #[cfg(target_os = "linux")]
    reader: Option<tokio::net::unix::OwnedReadHalf>,
    #[cfg(target_os = "linux")]
    writer: Option<tokio::net::unix::OwnedWriteHalf>,
    /// The command's process group, where there is no keeper to end it.
    #[cfg(not(target_os = "linux"))]
    group: Option<u32>,
    /// What has come of a line.
    heard: Vec<u8>,
    reports: Vec<Report>,
}

/// Reports kept; a command can have any number of attempts blocked.
const MAX_REPORTS: usize = 16;

#[cfg(target_os = "linux")]
async fn start_command(request: CommandRequest) -> Result<(Child, Line), ExecError> {
    use tokio::io::AsyncWriteExt as _;

    let stdin = request.stdin;
    let mut env = request.env;
    if request.confinement.walls().is_some() {
        env.insert("COUNTERSIGN_SANDBOX".to_owned(), "1".to_owned());
    }
    if request.argv.is_empty() {
        return Err(ExecError::Empty);
    }
    let order = Order {
        argv: request.argv,
        cwd: request.cwd,
        env: env.into_iter().collect(),
        walls: request.confinement.walls().cloned(),
        stdin: stdin.as_ref().map(|bytes| bytes.len() as u64),
    };
    let order = serde_json::to_vec(&order).map_err(|error| ExecError::CannotConfine {
        reason: format!("a path is not valid UTF-8: {error}"),
    })?;
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(ExecError::Start)?;
    ours.set_nonblocking(true).map_err(ExecError::Start)?;
    let ours = tokio::net::UnixStream::from_std(ours).map_err(ExecError::Start)?;
    let child = Command::new(self_program().map_err(ExecError::Start)?)
        .arg(role::SANDBOX)
        .env_clear()
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        // When this is dropped, the line is: the keeper ends everything, which it could not if it were killed itself.
        .kill_on_drop(false)
        .spawn()
        .map_err(ExecError::Start)?;
    let (reader, mut writer) = ours.into_split();
    let mut message = Vec::with_capacity(4 + order.len());
    message.extend((order.len() as u32).to_le_bytes());
    message.extend(order);
    message.extend(stdin.unwrap_or_default());
    // A keeper that has died says so by its exit status.
    let _ended = writer.write_all(&message).await;
    Ok((
        child,
        Line {
            reader: Some(reader),
            writer: Some(writer),
            ..Line::default()
        },
    ))
}

#[cfg(target_os = "linux")]
impl Line {
    /// Asks the command to end; whether that reached it.
    fn terminate(&mut self) -> bool {
        self.writer
            .as_ref()
            .is_some_and(|writer| writer.try_write(&[role::TERMINATE]).is_ok())
    }

    /// Has everything ended.
    fn end(&mut self, _child: &mut Child) {
        // Dropping this half ends the line for the keeper.
        self.writer = None;
    }

    /// Takes in what the keeper says.
    async fn hear(&mut self) {
        let Some(reader) = &mut self.reader else {
            return std::future::pending().await;
        };
        let mut bytes = [0; 1024];
        match reader.read(&mut bytes).await {
            Ok(read) if read > 0 => self.take(&bytes[..read]),
            _ => self.reader = None,
        }
    }

    /// Takes in what is left after its end.
    async fn hear_out(&mut self) {
        let _done = tokio::time::timeout(Duration::from_millis(200), async {
            while self.reader.is_some() {
                self.hear().await;
            }
        })
        .await;
    }
}

impl Line {
    fn take(&mut self, bytes: &[u8]) {
        self.heard.extend_from_slice(bytes);
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            if let Ok(report) = serde_json::from_slice(&line)
                && self.reports.len() < MAX_REPORTS
            {
                self.reports.push(report);
            }
        }
    }

    /// What the walls lack, if anything.
    fn weaker(&self) -> Option<String> {
        self.reports.iter().find_map(|report| match report {
            Report::Weaker { what } => Some(what.clone()),
            _ => None,
        })
    }

    /// What the keeper itself held back, if anything.
    fn blocked(&self) -> Option<&str> {
        self.reports.iter().find_map(|report| match report {
            Report::Blocked { what } | Report::SetAside { what } => Some(what.as_str()),
            _ => None,
        })
    }
}

/// Without a role that keeps, only full access can be given.
#[cfg(not(target_os = "linux"))]
async fn start_command(request: CommandRequest) -> Result<(Child, Line), ExecError> {
    use tokio::io::AsyncWriteExt as _;

    if request.confinement.walls().is_some() {
        return Err(ExecError::CannotConfine {
            reason: "commands can be confined on Linux only, so far".to_owned(),
        });
    }
    let (program, arguments) = request.argv.split_first().ok_or(ExecError::Empty)?;
    if !request.cwd.is_dir() {
        return Err(ExecError::Folder {
            path: request.cwd,
            reason: "it is not a folder".to_owned(),
        });
    }
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&request.cwd)
        .env_clear()
        .envs(&request.env)
        .stdin(if request.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ExecError::NotFound {
            program: program.clone(),
        },
        io::ErrorKind::PermissionDenied => ExecError::NotExecutable {
            program: program.clone(),
            reason: "permission denied".to_owned(),
        },
        _ => ExecError::Start(error),
    })?;
    if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), request.stdin) {
        tokio::spawn(async move {
            // A command that does not read its input to the end is within its rights.
            let _unread = pipe.write_all(&bytes).await;
        });
    }
    let group = child.id();
    Ok((
        child,
        Line {
            group,
            ..Line::default()
        },
    ))
}

#[cfg(not(target_os = "linux"))]
impl Line {
    fn terminate(&mut self) -> bool {
        self.signal(false)
    }

    fn end(&mut self, child: &mut Child) {
        self.signal(true);
        let _gone = child.start_kill();
    }

    #[cfg(unix)]
    fn signal(&self, kill: bool) -> bool {
        use rustix::process::{Pid, Signal, kill_process_group};
        let group = self.group.and_then(|group| Pid::from_raw(group as i32));
        let signal = if kill { Signal::KILL } else { Signal::TERM };
        group.is_some_and(|group| kill_process_group(group, signal).is_ok())
    }

    #[cfg(not(unix))]
    fn signal(&self, _kill: bool) -> bool {
        false
    }

    async fn hear(&mut self) {
        std::future::pending().await
    }

    async fn hear_out(&mut self) {}
}

/// Runs an order in the foreground, where there is no keeper.
#[cfg(not(target_os = "linux"))]
pub(super) fn run_here(order: &Order, report: impl Fn(&str)) -> std::process::ExitCode {
    let refuse = |failed: Report| {
        report(&failed.to_string());
        std::process::ExitCode::from(failed.exit_code())
    };
    if order.walls.is_some() {
        return refuse(Report::CannotConfine {
            reason: "commands can be confined on Linux only, so far".to_owned(),
        });
    }
    let Some((program, arguments)) = order.argv.split_first() else {
        return refuse(Report::NotFound { program: String::new() });
    };
    let status = std::process::Command::new(program)
        .args(arguments)
        .current_dir(&order.cwd)
        .env_clear()
        .envs(order.env.iter().cloned())
        .status();
    match status {
        Ok(status) => std::process::ExitCode::from(exit_code(status) as u8),
        Err(error) if error.kind() == io::ErrorKind::NotFound => refuse(Report::NotFound {
            program: program.clone(),
        }),
        Err(error) => refuse(Report::NotExecutable {
            program: program.clone(),
            reason: error.to_string(),
        }),
    }
}
