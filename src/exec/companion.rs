//! A program of the person's own that talks over its standard streams for as long as it is wanted: with their rights,
//! outside the sandbox, but kept like a command. With it ends all that it started, at the latest with this server.

use super::run::{DRAIN, Descriptor, Ending, Line, at, start_command};
use super::{CommandRequest, Confinement, ExecError, FullOutput, Input, InputWriter, Wrote};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

#[cfg(unix)]
type Reader = tokio::net::unix::pipe::Receiver;
#[cfg(not(unix))]
type Reader = tokio::fs::File;

/// Bytes kept of what it says on its standard error: the last ones.
const LAST_WORDS: usize = 4096;

/// A running program. Dropping it ends the program.
#[derive(Debug)]
pub struct Companion {
    shared: Arc<Shared>,
    _end: DropGuard,
}

/// What it writes to its standard output.
#[derive(Debug)]
pub struct CompanionOutput(Reader);

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompanionExit {
    /// It never ran; why, in words.
    NotRun(String),
    /// It never ran, because the walls that it was to have do not stand here; why.
    NotConfined(String),
    /// With this code, or 128 and the number of the signal that ended it; none if it was ended by force.
    Code(Option<i32>),
}

#[derive(Debug)]
struct Shared {
    last_words: Mutex<Vec<u8>>,
    exit: Mutex<Option<CompanionExit>>,
    exited: CancellationToken,
    end: CancellationToken,
}

impl Companion {
    /// Starts it. What keeps it from running may also show only when it has ended; see [`CompanionExit::NotRun`].
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn start(
        argv: Vec<String>,
        cwd: PathBuf,
        env: BTreeMap<String, String>,
    ) -> Result<(Self, CompanionOutput, InputWriter), ExecError> {
        Self::start_within(argv, cwd, env, Confinement::outside().without_bounds()).await
    }

    /// The same behind walls.
    pub(super) async fn start_within(
        argv: Vec<String>,
        cwd: PathBuf,
        env: BTreeMap<String, String>,
        confinement: Confinement,
    ) -> Result<(Self, CompanionOutput, InputWriter), ExecError> {
        let (input, writer) = Input::pipe().map_err(ExecError::Start)?;
        let (stdout, stdout_end) = pipe().map_err(ExecError::Start)?;
        let (stderr, stderr_end) = pipe().map_err(ExecError::Start)?;
        let request = CommandRequest {
            argv,
            argv0: None,
            cwd,
            env,
            confinement,
            timeout: None,
            input,
            wrote: Wrote::default(),
            full: FullOutput::default(),
        };
        let line = start_command(request, stdout_end, stderr_end).await?;
        let shared = Arc::new(Shared {
            last_words: Mutex::default(),
            exit: Mutex::default(),
            exited: CancellationToken::new(),
            end: CancellationToken::new(),
        });
        tokio::spawn(keep(shared.clone(), line, stderr));
        let companion = Self {
            _end: shared.end.clone().drop_guard(),
            shared,
        };
        Ok((companion, CompanionOutput(stdout), writer))
    }

    /// The last of what it said on its standard error.
    pub fn last_words(&self) -> String {
        let bytes = self.shared.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    /// How it ended, if it has.
    pub fn exit(&self) -> Option<CompanionExit> {
        self.shared.exit.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends when it has ended, and nothing of it is left.
    pub async fn exited(&self) {
        self.shared.exited.cancelled().await;
    }

    /// Waits for it to end by itself; one that takes longer is asked to, then ended with everything that it started.
    pub async fn end(&self, patience: Duration) {
        if tokio::time::timeout(patience, self.exited()).await.is_err() {
            self.shared.end.cancel();
            self.exited().await;
        }
    }
}

fn pipe() -> io::Result<(Reader, Descriptor)> {
    let (reader, writer) = io::pipe()?;
    let (reader, writer) = (Descriptor::from(reader), Descriptor::from(writer));
    #[cfg(unix)]
    let reader = Reader::from_owned_fd(reader)?;
    #[cfg(not(unix))]
    let reader = Reader::from_std(reader.into());
    Ok((reader, writer))
}

/// Stays with it until it has ended, whoever ends it.
async fn keep(shared: Arc<Shared>, mut line: Line, stderr: Reader) {
    let mut stderr = Some(stderr);
    let mut ending = Ending::Running;
    let mut buffer = vec![0; LAST_WORDS];
    let mut drain_until = None;
    loop {
        if line.is_over() {
            if stderr.is_none() {
                break;
            }
            drain_until.get_or_insert_with(|| Instant::now() + DRAIN);
        }
        tokio::select! {
            said = read(&mut stderr, &mut buffer) => match said {
                0 => stderr = None,
                count => shared.heard(&buffer[..count]),
            },
            () = line.hear() => {}
            () = shared.end.cancelled(), if ending.is_running() && !line.is_over() => {
                ending = Ending::asked(line.terminate(), true);
            }
            () = at(ending.next_step()), if !line.is_over() => ending.escalate(&mut line),
            () = at(drain_until) => break,
        }
    }
    let not_run = line.reports().iter().cloned().find_map(ExecError::of);
    let exit = match not_run {
        Some(error @ ExecError::CannotConfine { .. }) => CompanionExit::NotConfined(error.to_string()),
        Some(error) => CompanionExit::NotRun(error.to_string()),
        None => CompanionExit::Code(line.exit_code()),
    };
    *shared.exit.lock().unwrap_or_else(PoisonError::into_inner) = Some(exit);
    shared.exited.cancel();
}

/// The next bytes; 0 at the end. Never comes after it.
async fn read(stderr: &mut Option<Reader>, buffer: &mut [u8]) -> usize {
    match stderr {
        Some(reader) => reader.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

impl Shared {
    fn heard(&self, bytes: &[u8]) {
        let mut kept = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let surplus = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..surplus);
    }
}

impl tokio::io::AsyncRead for CompanionOutput {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_read(context, buffer)
    }
}
