//! One running terminal: its task, which reads what the program prints and sees to its end, and the handle to it.

use super::scroll::Scroll;
use super::{Exit, Size, Taken, TerminalError};
use crate::exec::denial;
use crate::exec::output::{Decoder, FullOutput};
use crate::exec::run::{self, DRAIN, Ending, Line};
use crate::exec::{CommandRequest, ExecError, Input};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Bytes read at a time.
const CHUNK: usize = 16 * 1024;

/// How long typing waits for a program that does not read.
const PATIENCE: Duration = Duration::from_secs(3);

/// The byte that a terminal takes for an interrupt.
const CTRL_C: u8 = 3;

/// A command that runs on. Clones are the same terminal; when the last one is dropped, the command is ended.
#[derive(Clone)]
pub struct Terminal(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    /// Its pseudo-terminal, typed into by one at a time, so that nothing is mixed.
    keys: Option<tokio::sync::Mutex<Sender>>,
    /// The same, for its size.
    master: Option<OwnedFd>,
    interrupts: mpsc::UnboundedSender<()>,
    _end: DropGuard,
}

struct Shared {
    scroll: Mutex<Scroll>,
    full: FullOutput,
    /// There is output, or the program has ended.
    changed: Notify,
    end: CancellationToken,
    exited: CancellationToken,
    exit: Mutex<Option<Exit>>,
}

impl Shared {
    fn scroll(&self) -> MutexGuard<'_, Scroll> {
        self.scroll.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, text: &str) {
        if !text.is_empty() {
            self.scroll().push(text);
            self.full.push(text);
            self.changed.notify_one();
        }
    }
}

impl Terminal {
    /// Starts a command that runs until it ends or is ended. With a size it gets a pseudo-terminal, else pipes, and its
    /// input is closed. The request's time-out and input do not count. What keeps it from running may also show only
    /// when it has ended; see [`Exit::not_run`].
    pub async fn start(request: CommandRequest, size: Option<Size>) -> Result<Self, ExecError> {
        let begun = Instant::now();
        let (cwd, confinement, full) = (request.cwd.clone(), request.confinement.clone(), request.full.clone());
        let request = CommandRequest {
            timeout: None,
            input: Input::Nothing,
            ..request
        };
        let (mut line, mut output, master) = match size {
            None => {
                let (stdout, stdout_end) = pipe().map_err(ExecError::Start)?;
                let (stderr, stderr_end) = pipe().map_err(ExecError::Start)?;
                let line = run::start_command(request, stdout_end, stderr_end).await?;
                (line, [Pipe::new(stdout), Pipe::new(stderr)], None)
            }
            Some(size) => {
                let (line, master) = start_with_terminal(request, size).await?;
                let screen = master.try_clone().and_then(Receiver::from_owned_fd_unchecked);
                let screen = screen.map_err(ExecError::Start)?;
                (line, [Pipe::new(screen), Pipe::none()], Some(master))
            }
        };
        // It is no pipe, but to the kernel's queues much like one.
        let keys = master
            .as_ref()
            .map(|master| Sender::from_owned_fd_unchecked(master.try_clone()?))
            .transpose()
            .map_err(ExecError::Start)?;
        let shared = Arc::new(Shared {
            scroll: Mutex::default(),
            full,
            changed: Notify::new(),
            end: CancellationToken::new(),
            exited: CancellationToken::new(),
            exit: Mutex::default(),
        });
        let (interrupts, heard) = mpsc::unbounded_channel();
        let driving = shared.clone();
        tokio::spawn(async move {
            let code = drive(&driving, &mut line, &mut output, heard).await;
            for report in line.reports() {
                if report.belongs_to_output() {
                    driving.push(&format!("\n{report}\n"));
                }
            }
            let not_run = line.reports().iter().cloned().find_map(ExecError::of);
            let printed = driving.scroll().whole().text.to_string();
            let ran = denial::Ran {
                exit_code: code,
                output: &printed,
                cwd: &cwd,
                confinement: &confinement,
                blocked: run::blocked(line.reports()),
                unanswered: run::unanswered(line.reports()),
                recorded: run::recorded(line.reports()),
                refused: line.refused_hosts(),
            };
            let denied = (!confinement.is_outside() && not_run.is_none() && !driving.end.is_cancelled())
                .then(|| denial::judge(&ran))
                .flatten();
            let exit = Exit {
                code,
                signal: line.signal(),
                duration: begun.elapsed(),
                denied,
                weaker: run::weaker(line.reports()),
                left: run::left(line.reports()),
                not_run: not_run.map(|error| error.to_string()),
                full: driving.full.end().await,
            };
            *driving.exit.lock().unwrap_or_else(PoisonError::into_inner) = Some(exit);
            driving.exited.cancel();
            driving.changed.notify_one();
        });
        Ok(Self(Arc::new(Handle {
            _end: shared.end.clone().drop_guard(),
            shared,
            keys: keys.map(tokio::sync::Mutex::new),
            master,
            interrupts,
        })))
    }

    /// Whether it has a pseudo-terminal.
    pub fn has_tty(&self) -> bool {
        self.0.master.is_some()
    }

    /// Types. All of it is taken by the terminal when this returns, or the error says how much. Without a
    /// pseudo-terminal only an interrupt can be sent.
    pub async fn write(&self, bytes: &[u8]) -> Result<(), TerminalError> {
        if self.exit().is_some() {
            return Err(TerminalError::Ended);
        }
        let Some(keys) = &self.0.keys else {
            return match bytes {
                [CTRL_C] => {
                    let _ended = self.0.interrupts.send(());
                    Ok(())
                }
                _ => Err(TerminalError::NoTerminal),
            };
        };
        let until = Instant::now() + PATIENCE;
        let keys = keys.lock().await;
        let mut written = 0;
        while written < bytes.len() {
            tokio::select! {
                ready = keys.writable() => ready?,
                () = tokio::time::sleep_until(until) => {
                    return Err(TerminalError::NotRead { written, length: bytes.len() });
                }
                () = self.0.shared.exited.cancelled() => return Err(TerminalError::Ended),
            }
            match keys.try_write(&bytes[written..]) {
                Ok(more) => written += more,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(_) if self.exit().is_some() => return Err(TerminalError::Ended),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Changes the size; programs hear of it by SIGWINCH.
    pub fn resize(&self, size: Size) -> Result<(), TerminalError> {
        let master = self.0.master.as_ref().ok_or(TerminalError::NoTerminal)?;
        rustix::termios::tcsetwinsize(master, size.into()).map_err(|error| TerminalError::Refused(error.into()))
    }

    /// The output since the last time this was called: at most 1 MiB of it, half from its start, half from its end.
    pub fn take(&self) -> Taken {
        self.0.shared.scroll().take()
    }

    /// The output since the last time this was called, for showing it as it comes: at most 16 KiB.
    pub fn take_live(&self) -> String {
        self.0.shared.scroll().take_live()
    }

    /// All output so far: at most 256 KiB of it.
    pub fn whole(&self) -> Taken {
        self.0.shared.scroll().whole()
    }

    /// How it ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        self.0
            .shared
            .exit
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Somebody who waits for what is new, and does not keep it running.
    pub fn watcher(&self) -> Watcher {
        Watcher(self.0.shared.clone())
    }

    /// Ends when the program has ended, and nothing of it is left.
    pub async fn exited(&self) {
        self.0.shared.exited.cancelled().await;
    }

    /// Has the program end, with everything it started. Does not wait.
    pub fn ask_to_end(&self) {
        self.0.shared.end.cancel();
    }

    /// Has the program end, with everything it started, and waits for that.
    pub async fn end(&self) {
        self.ask_to_end();
        self.exited().await;
    }
}

/// Tells when there is something new of a terminal. For one waiter.
pub struct Watcher(Arc<Shared>);

impl Watcher {
    /// Ends when there is new output, or the program has ended.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    pub fn has_exited(&self) -> bool {
        self.0.exited.is_cancelled()
    }
}

/// Starts a command and takes its terminal's other end from it.
#[cfg(target_os = "linux")]
async fn start_with_terminal(request: CommandRequest, size: Size) -> Result<(Line, OwnedFd), ExecError> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(ExecError::Start)?;
    ours.set_nonblocking(true).map_err(ExecError::Start)?;
    let ours = tokio::net::UnixStream::from_std(ours).map_err(ExecError::Start)?;
    let receiving = ours.as_fd().try_clone_to_owned().map_err(ExecError::Start)?;
    let mut line = run::start_in_terminal(request, size, theirs.into()).await?;
    let master = loop {
        tokio::select! {
            ready = ours.readable() => ready.map_err(ExecError::Start)?,
            // It ended before it came so far, and says why.
            () = line.hear(), if !line.is_over() => if line.is_over() { break None },
        }
        let received = ours.try_io(Interest::READABLE, || crate::exec::linux::receive_terminal(&receiving));
        match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => break received.map_err(ExecError::Start)?,
        }
    };
    let master = match master {
        Some(master) => master,
        // A command that ends at once may have sent it all the same.
        None => match crate::exec::linux::receive_terminal(&receiving) {
            Ok(Some(master)) => master,
            _ => return Err(never_came(line).await),
        },
    };
    rustix::io::ioctl_fionbio(&master, true).map_err(|error| ExecError::Start(error.into()))?;
    Ok((line, master))
}

/// Why there is no terminal.
#[cfg(target_os = "linux")]
async fn never_came(mut line: Line) -> ExecError {
    while !line.is_over() {
        line.hear().await;
    }
    let said = line.reports().iter().cloned().find_map(ExecError::of);
    said.unwrap_or_else(|| ExecError::NoTerminal {
        reason: "the program that runs commands ended too early".to_owned(),
    })
}

#[cfg(not(target_os = "linux"))]
async fn start_with_terminal(_request: CommandRequest, _size: Size) -> Result<(Line, OwnedFd), ExecError> {
    Err(ExecError::NoTerminal {
        reason: "there are pseudo-terminals on Linux only, so far".to_owned(),
    })
}

/// A pipe, and the end that the command writes to.
fn pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((Receiver::from_owned_fd(reader.into())?, writer.into()))
}

/// Follows a program to its end. Its exit code; nothing of it is left then.
async fn drive(
    shared: &Shared,
    line: &mut Line,
    [first, second]: &mut [Pipe; 2],
    mut interrupts: mpsc::UnboundedReceiver<()>,
) -> i32 {
    let mut ending = Ending::Running;
    let mut drain_until = None;
    loop {
        if line.is_over() {
            if first.reader.is_none() && second.reader.is_none() {
                break;
            }
            drain_until.get_or_insert_with(|| Instant::now() + DRAIN);
        }
        tokio::select! {
            text = first.read() => shared.push(&text),
            text = second.read() => shared.push(&text),
            () = line.hear() => {}
            () = run::at(drain_until) => break,
            Some(()) = interrupts.recv(), if !line.is_over() => line.interrupt(),
            () = shared.end.cancelled(), if ending.is_running() && !line.is_over() => {
                ending = Ending::asked(line.terminate(), true);
            }
            () = run::at(ending.next_step()), if !line.is_over() => ending.escalate(line),
        }
    }
    line.exit_code().unwrap_or(run::EXIT_CANCELLED)
}

/// What a program prints: its terminal, or one of its pipes.
struct Pipe {
    reader: Option<Receiver>,
    decoder: Decoder,
    buffer: Vec<u8>,
}

impl Pipe {
    fn new(reader: Receiver) -> Self {
        Self {
            reader: Some(reader),
            ..Self::none()
        }
    }

    /// One that has ended.
    fn none() -> Self {
        Self {
            reader: None,
            decoder: Decoder::default(),
            buffer: Vec::new(),
        }
    }

    /// The next piece of text; never comes after the end.
    async fn read(&mut self) -> String {
        let Some(reader) = &mut self.reader else {
            return std::future::pending().await;
        };
        if self.buffer.is_empty() {
            self.buffer = vec![0; CHUNK];
        }
        match reader.read(&mut self.buffer).await {
            Ok(read) if read > 0 => self.decoder.push(&self.buffer[..read]),
            // For a terminal the last program that had it is gone.
            _ => {
                self.reader = None;
                self.decoder.finish().to_owned()
            }
        }
    }
}
