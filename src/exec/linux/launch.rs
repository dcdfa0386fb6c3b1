//! The asker's side: hands orders to the starter, and holds the line to a command's keeper. This runs in the server,
//! everything else of `linux` in processes of the sandbox role.

use super::sys;
use crate::exec::proxy::{Proxy, Refused, Traffic};
use crate::exec::role::{self, Order, Report};
use crate::exec::run::{ExecError, self_program};
use crate::exec::wrote::Wrote;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// How often an order is given anew when the starter died with it.
const TRIES: usize = 3;

/// Between attempts to hand over while more orders wait than the socket holds.
const CROWDED: Duration = Duration::from_millis(2);

/// Reports kept, of those for the person and of the others; a command can have any number of attempts blocked.
const MAX_REPORTS: usize = 16;

/// The starter that this process has, if any. It ends when the socket is closed: with this process.
static STARTER: Mutex<Option<Starter>> = Mutex::new(None);

/// Our own program in its role, which has a keeper ready for each order.
struct Starter {
    socket: OwnedFd,
    process: Child,
}

impl Starter {
    fn start() -> io::Result<Self> {
        let (ours, theirs) = sys::message_pair()?;
        let process = Command::new(self_program()?)
            .arg(role::SANDBOX)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { socket: ours, process })
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        // Its keepers are not its affair any more; it has nothing to tidy.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

/// What became of a message to the starter.
enum HandedOver {
    Done,
    /// The socket is full.
    Crowded,
}

/// Gives descriptors to the starter, which is started where there is none.
fn hand_over(descriptors: &[&OwnedFd]) -> io::Result<HandedOver> {
    let mut starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut tries = 0;
    loop {
        let there = match starter.take() {
            Some(there) => there,
            None => Starter::start()?,
        };
        match sys::send_descriptors(&there.socket, descriptors) {
            Ok(()) => {
                *starter = Some(there);
                return Ok(HandedOver::Done);
            }
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::EAGAIN | libc::ETOOMANYREFS | libc::ENOBUFS)
                ) =>
            {
                *starter = Some(there);
                return Ok(HandedOver::Crowded);
            }
            // It has died: another takes its place.
            Err(error) => {
                tries += 1;
                if tries == TRIES {
                    return Err(error);
                }
            }
        }
    }
}

/// The line to the keeper of a command.
pub(in crate::exec) struct Line {
    reader: Option<OwnedReadHalf>,
    writer: Option<OwnedWriteHalf>,
    /// What has come of a report.
    heard: Vec<u8>,
    reports: Vec<Report>,
    keeper: Option<u32>,
    /// Whether the keeper looks for what the command has made before it ends.
    sweeps: bool,
    exit_code: Option<u8>,
    signal: Option<i32>,
    /// What the command writes.
    wrote: Wrote,
    /// What leads it to hosts by their names.
    proxy: Option<Proxy>,
}

/// Has a keeper run the order. `streams` are the command's standard input, output and error.
pub(in crate::exec) async fn start(order: &Order, streams: [OwnedFd; 3]) -> Result<Line, ExecError> {
    let sweeps = order.walls.as_ref().is_some_and(|walls| walls.later.is_some());
    let order = serde_json::to_vec(order).map_err(|error| ExecError::CannotConfine {
        reason: format!("a path is not valid UTF-8: {error}"),
    })?;
    let mut message = Vec::with_capacity(4 + order.len());
    message.extend((order.len() as u32).to_le_bytes());
    message.extend(order);
    for _ in 0..TRIES {
        let mut line = Line::open(&message, &streams).await.map_err(ExecError::Start)?;
        if line.keeper.is_some() {
            line.sweeps = sweeps;
            return Ok(line);
        }
    }
    let reason = "it ends as soon as it is started; `countersign doctor` shows what is missing";
    Err(ExecError::Start(io::Error::other(reason)))
}

impl Line {
    /// Sends the order, and waits until a process has taken it or none will.
    async fn open(message: &[u8], [stdin, stdout, stderr]: &[OwnedFd; 3]) -> io::Result<Self> {
        let (ours, theirs) = sys::socket_pair()?;
        let ours = std::os::unix::net::UnixStream::from(ours);
        ours.set_nonblocking(true)?;
        let (reader, mut writer) = UnixStream::from_std(ours)?.into_split();
        while let HandedOver::Crowded = hand_over(&[&theirs, stdin, stdout, stderr])? {
            tokio::time::sleep(CROWDED).await;
        }
        drop(theirs);
        // Where nobody reads it, nobody takes it.
        let _ended = writer.write_all(message).await;
        let mut line = Self {
            reader: Some(reader),
            writer: Some(writer),
            heard: Vec::new(),
            reports: Vec::new(),
            keeper: None,
            sweeps: false,
            exit_code: None,
            signal: None,
            wrote: Wrote::default(),
            proxy: None,
        };
        while line.keeper.is_none() && !line.is_over() {
            line.hear().await;
        }
        Ok(line)
    }

    /// Whether nothing more will be heard. Nothing of the command is left then, unless its keeper was killed by force.
    pub(in crate::exec) fn is_over(&self) -> bool {
        self.reader.is_none() || self.exit_code.is_some()
    }

    /// The command's exit code (128 and the signal's number if a signal ended it); none if its keeper was killed.
    pub(in crate::exec) fn exit_code(&self) -> Option<i32> {
        self.exit_code.map(i32::from)
    }

    /// The signal that ended the command.
    pub(in crate::exec) fn signal(&self) -> Option<i32> {
        self.signal
    }

    /// What the keeper has said about walls and about a command that did not start.
    pub(in crate::exec) fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Lets this hear what the command writes, as long as it runs.
    pub(in crate::exec) fn tell_of(&mut self, wrote: Wrote) {
        wrote.take_over(&self.wrote);
        self.wrote = wrote;
    }

    /// Keeps the proxy for as long as the command runs.
    pub(in crate::exec) fn keep(&mut self, proxy: Option<Proxy>) {
        self.proxy = proxy;
    }

    /// The hosts that it was refused.
    pub(in crate::exec) fn refused_hosts(&self) -> Vec<Refused> {
        self.proxy.as_ref().map(Proxy::refused).unwrap_or_default()
    }

    /// What went to hosts and came from them.
    pub(in crate::exec) fn traffic(&self) -> Vec<Traffic> {
        self.proxy.as_ref().map(Proxy::traffic).unwrap_or_default()
    }

    /// Asks the command to end; whether that reached it.
    pub(in crate::exec) fn terminate(&mut self) -> bool {
        self.tell(role::TERMINATE)
    }

    /// Asks the command to break off what it does.
    pub(in crate::exec) fn interrupt(&mut self) {
        self.tell(role::INTERRUPT);
    }

    fn tell(&mut self, wish: u8) -> bool {
        self.writer
            .as_ref()
            .is_some_and(|writer| writer.try_write(&[wish]).is_ok())
    }

    /// Has everything ended.
    pub(in crate::exec) fn end(&mut self) {
        // Dropping this half ends the line for the keeper.
        self.writer = None;
    }

    /// Ends the keeper itself, by force; in a process namespace all the rest goes with it.
    pub(in crate::exec) fn kill_keeper(&mut self) {
        // While the line is open the number is the keeper's.
        if let Some(keeper) = self.keeper.filter(|_| !self.is_over()) {
            sys::kill(keeper as libc::pid_t, libc::SIGKILL);
        }
    }

    /// Takes in what the keeper says; never returns once the line is over.
    pub(in crate::exec) async fn hear(&mut self) {
        let Some(reader) = self.reader.as_mut().filter(|_| self.exit_code.is_none()) else {
            return std::future::pending().await;
        };
        let mut bytes = [0; 1024];
        match reader.read(&mut bytes).await {
            Ok(read) if read > 0 => self.take(&bytes[..read]),
            _ => {
                self.reader = None;
                // It was ended, by this process or another one, before its last word.
                if self.sweeps {
                    self.reports.push(Report::Unswept);
                }
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.heard.extend_from_slice(bytes);
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Report::Taken { pid }) => self.keeper = Some(pid),
                Ok(Report::Ended { exit_code }) => self.exit_code = Some(exit_code),
                Ok(Report::Signalled { signal }) => self.signal = Some(signal),
                Ok(Report::Naming) => self.wrote.begin(),
                Ok(Report::Wrote { mark }) => self.wrote.add(mark),
                Ok(Report::WroteUnnamed) => self.wrote.lose(),
                Ok(report) if !self.reports.contains(&report) => {
                    let alike = |kept: &&Report| kept.belongs_to_output() == report.belongs_to_output();
                    if self.reports.iter().filter(alike).count() < MAX_REPORTS {
                        self.reports.push(report);
                    }
                }
                _ => {}
            }
        }
    }
}
