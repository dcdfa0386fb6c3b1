//! Recording a thread as it happens.
//!
//! A [`Recorder`] numbers and stamps what it is given and hands it to a thread of its own, so that neither a
//! slow disk nor a full one holds up a turn. Lines that the file does not take stay in memory and are tried
//! again; nothing is dropped as long as the program lives.
//!
//! What is written outlives the program at once, however that ends: [`Recorder::settled`] says how far it has come, and
//! events wait for it. It outlives the machine a moment later: the file is synced when the thread has been quiet for
//! [`SYNC_AFTER`], when it is closed, and every [`SYNC_EVERY`] while it is busy. A sync takes milliseconds, so nobody waits
//! for one.

use super::StoreError;
use super::line::{EventMsg, RolloutItem, SessionMeta, format_ms, now_ms};
use super::load::{self, Line, Stored, Tail};
use super::{packed, summary, turns};
use crate::ids::TurnId;
use crate::model::item::ResponseItem;
use crate::protocol::turn::TurnStatus;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::{oneshot, watch};

/// First wait before lines that were refused are tried again; doubles up to [`RETRY_MOST`].
const RETRY: Duration = Duration::from_millis(500);
const RETRY_MOST: Duration = Duration::from_secs(30);

/// Quiet time after which what was written is made to outlive the machine.
const SYNC_AFTER: Duration = Duration::from_millis(200);
/// The same where it is never quiet.
const SYNC_EVERY: Duration = Duration::from_secs(5);

/// Writes one thread's rollout. Clones write the same file, in the order of their calls.
#[derive(Clone, Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    state: Mutex<State>,
    trouble: watch::Sender<Option<String>>,
    settled: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    /// Lines that go ahead of the first one recorded: the description, and what a fork copies.
    preamble: Vec<Parts>,
    next_ordinal: u64,
    last_ms: i64,
    /// The file's last line has no end yet.
    torn: bool,
    /// The file with its lock, where the thread was there before.
    held: Option<File>,
    /// The time that the file is to have in the end, whatever is written.
    keep_time: Option<SystemTime>,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    /// Nothing recorded so far; there is no thread and, for a new conversation, no file.
    Waiting,
    Running(Sender<Order>),
    Closed,
}

/// Type and payload (as JSON) of a line.
type Parts = (String, String);

enum Order {
    Write(Vec<Numbered>),
    Flush(oneshot::Sender<Result<(), StoreError>>),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

struct Numbered {
    at_ms: i64,
    ordinal: u64,
    body: Body,
}

enum Body {
    Item(Box<RolloutItem>),
    Parts(Parts),
}

/// How much of a thread a fork copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// All that is on record.
    End,
    /// Up to the end of this turn.
    Turn(TurnId),
    /// What was there before this turn.
    Before(TurnId),
}

/// A stored thread, ready to go on.
#[derive(Debug)]
pub struct Resumed {
    pub recorder: Recorder,
    pub stored: Stored,
    /// The file belongs to another program, so a copy of it is written instead, under the id of the
    /// description that the caller gave.
    pub forked: bool,
}

impl Recorder {
    /// Prepares the rollout of a new thread. The file appears with the first item that is recorded, so a
    /// thread without a turn leaves nothing; whether the folder takes files is found out now.
    pub async fn create(home: &Path, meta: SessionMeta) -> Result<Self, StoreError> {
        let path = path_of(home, &meta);
        let folder = path.parent().unwrap_or(home).to_owned();
        let home = home.to_owned();
        blocking(move || check_writable(&home, &folder)).await?;
        Ok(Self::new(
            path,
            vec![("session_meta".to_owned(), meta_json(&meta))],
            Tail::default(),
            None,
        ))
    }

    /// Reads a stored thread and goes on with it. A file of ours is appended to. A file of another program is
    /// left as it is: the thread goes on in a copy that `fork` describes (its id, and where it came from is
    /// added), written with the first new item.
    pub async fn resume(home: &Path, path: &Path, fork: SessionMeta) -> Result<Resumed, StoreError> {
        let path = home.join(path);
        // What lies elsewhere is somebody else's, whoever wrote it.
        let (from, folder) = (path.clone(), home.join(super::SESSIONS));
        let (lines, stored, held, is_ours) = blocking(move || {
            let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let is_here = real(&from).starts_with(real(&folder));
            // What is packed takes no more lines.
            let is_ours =
                is_here && !packed::is_packed(&from) && summary::head(&from).is_ok_and(|head| head.meta.is_ours());
            // Before it is read, so that no other server adds to it meanwhile.
            let held = hold(&from);
            let lines = load::read_lines(&from, !is_ours)?;
            let stored = load::understand(&from, &lines)?;
            Ok((lines, stored, held, is_ours))
        })
        .await?;
        if !is_ours {
            drop(held);
            let recorder = Self::copy(home, &lines.lines, &stored, fork).await?;
            return Ok(Resumed {
                recorder,
                stored,
                forked: true,
            });
        }
        // Said now, so that the person learns before the first turn that nothing could be kept.
        let recorder = Self::new(path, Vec::new(), stored.tail.clone(), Some(held?));
        Ok(Resumed {
            recorder,
            stored,
            forked: false,
        })
    }

    /// Goes on with the file of a thread without reading it whole, to add a line or two. The thread must be one of ours and
    /// not be open anywhere.
    pub async fn reopen(path: PathBuf) -> Result<Self, StoreError> {
        blocking(move || {
            if packed::is_packed(&path) {
                return Err(StoreError::Foreign { path });
            }
            let held = hold(&path)?;
            let tail = load::tail_of(&path)?;
            Ok(Self::new(path, Vec::new(), tail, Some(held)))
        })
        .await
    }

    /// Copies a stored thread into a new file, which is written with the first item or by [`Recorder::persist`]. `meta` gives
    /// the new id and the surroundings; what it leaves out is as in the thread.
    pub async fn fork(home: &Path, path: &Path, until: Until, meta: SessionMeta) -> Result<Resumed, StoreError> {
        let (lines, stored) = Self::read_until(home, path, until).await?;
        let recorder = Self::copy(home, &lines, &stored, meta).await?;
        Ok(Resumed {
            recorder,
            stored,
            forked: true,
        })
    }

    /// Adds a line to a thread that is not open anywhere. It counts as no use of the thread, whose file keeps its time.
    pub async fn annotate(path: &Path, item: RolloutItem) -> Result<(), StoreError> {
        let recorder = Self::reopen(path.to_owned()).await?;
        let time = std::fs::metadata(path).and_then(|meta| meta.modified());
        recorder.state().keep_time = time.ok();
        recorder.record([item]);
        recorder.close().await
    }

    /// What a fork of a thread would hold.
    pub async fn before_fork(home: &Path, path: &Path, until: Until) -> Result<Stored, StoreError> {
        Ok(Self::read_until(home, path, until).await?.1)
    }

    async fn read_until(home: &Path, path: &Path, until: Until) -> Result<(Vec<Line>, Stored), StoreError> {
        let path = home.join(path);
        blocking(move || {
            let mut lines = load::read_lines(&path, true)?;
            let (turn, through) = match &until {
                Until::End => (None, true),
                Until::Turn(turn) => (Some(turn), true),
                Until::Before(turn) => (Some(turn), false),
            };
            if let Some(turn) = turn {
                let Some(end) = turns::cut(&lines.lines, turn, through) else {
                    let id = load::understand(&path, &lines)?.meta.id;
                    return Err(StoreError::NoTurn {
                        id: id.to_string(),
                        turn: turn.to_string(),
                    });
                };
                lines.lines.truncate(end);
            }
            let stored = load::understand(&path, &lines)?;
            Ok((lines.lines, stored))
        })
        .await
    }

    async fn copy(home: &Path, lines: &[Line], stored: &Stored, mut meta: SessionMeta) -> Result<Self, StoreError> {
        meta.forked_from_id = Some(stored.meta.id.clone());
        let from = stored.meta.clone();
        if meta.cwd.as_os_str().is_empty() {
            meta.cwd = stored
                .last_context
                .as_ref()
                .map_or(from.cwd, |context| context.cwd.clone());
        }
        meta.model_provider = meta.model_provider.or(from.model_provider);
        meta.instructions = meta.instructions.or(from.instructions);
        meta.base_instructions = meta.base_instructions.or(from.base_instructions);
        meta.git = meta.git.or(from.git);
        meta.memory_mode = from.memory_mode;
        let recorder = Self::create(home, meta).await?;
        let mut state = recorder.state();
        // The copy is a thread of its own, and has no name yet.
        let is_copied = |line: &&Line| {
            line.kind != "session_meta" && line.item.as_ref().is_none_or(|item| summary::name_of(item).is_none())
        };
        for line in lines.iter().filter(is_copied) {
            state.preamble.push((line.kind.clone(), line.payload.clone()));
        }
        // The copy is of a turn that will never end over there.
        if let Some(turn) = stored.turns.last()
            && turn.status == TurnStatus::Interrupted
            && turn.completed_at_ms.is_none()
        {
            let event = EventMsg::aborted(Some(turn.id.clone()), turn.interrupted_by, None);
            let event = RolloutItem::EventMsg(event);
            state
                .preamble
                .extend(event.to_parts().map(|(kind, payload)| (kind.to_owned(), payload)));
        }
        drop(state);
        Ok(recorder)
    }

    fn new(path: PathBuf, preamble: Vec<Parts>, tail: Tail, held: Option<File>) -> Self {
        let state = State {
            preamble,
            next_ordinal: tail.next_ordinal,
            last_ms: tail.last_ms,
            torn: tail.torn,
            held,
            keep_time: None,
            writer: Writer::Waiting,
        };
        Self {
            shared: Arc::new(Shared {
                path,
                state: Mutex::new(state),
                trouble: watch::Sender::new(None),
                settled: watch::Sender::new(0),
            }),
        }
    }

    /// Where the thread is, or will be, recorded.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Says when the file stops taking lines (the text is for the person, set once per failure) and when it
    /// takes them again (`None`).
    pub fn trouble(&self) -> watch::Receiver<Option<String>> {
        self.shared.trouble.subscribe()
    }

    /// How far writing has come: all that [`Recorder::record`] answered with this number, or a smaller one, is in the file,
    /// or was refused by it.
    pub fn settled(&self) -> watch::Receiver<u64> {
        self.shared.settled.subscribe()
    }

    /// Records in order. Never waits; after [`Recorder::close`] it does nothing but say so in the log. Says what
    /// [`Recorder::settled`] will be when this is done; 0 if there is nothing to wait for.
    pub fn record(&self, items: impl IntoIterator<Item = RolloutItem>) -> u64 {
        // Kinds without a written form count as nothing, so that they do not bring the file into being.
        let other = RolloutItem::ResponseItem(ResponseItem::Other);
        let items: Vec<Body> = items
            .into_iter()
            .filter(|item| *item != other)
            .map(|item| Body::Item(Box::new(item)))
            .collect();
        match items.is_empty() {
            true => 0,
            false => self.write(items),
        }
    }

    /// Brings the file into being, also where nothing was recorded yet.
    pub async fn persist(&self) -> Result<(), StoreError> {
        self.write(Vec::new());
        self.flush().await
    }

    /// Hands lines to the writing thread, after what must go ahead of them.
    fn write(&self, items: Vec<Body>) -> u64 {
        let mut state = self.state();
        let now = now_ms().max(state.last_ms);
        state.last_ms = now;
        let preamble: Vec<Body> = std::mem::take(&mut state.preamble)
            .into_iter()
            .map(Body::Parts)
            .collect();
        let mut numbered = Vec::new();
        for body in preamble.into_iter().chain(items) {
            numbered.push(Numbered {
                at_ms: now,
                ordinal: state.next_ordinal,
                body,
            });
            state.next_ordinal += 1;
        }
        let last = state.next_ordinal;
        match self.writer(&mut state) {
            Some(writer) => match writer.send(Order::Write(numbered)) {
                Ok(()) => return last,
                Err(_) => tracing::error!(path = %self.path().display(), "the recorder's thread is gone"),
            },
            None => tracing::warn!(path = %self.path().display(), "recorded after close; the lines are lost"),
        }
        0
    }

    /// Waits until everything recorded so far is in the file, or has been refused by it.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.ask(Order::Flush, false).await
    }

    /// Writes what is left and ends. A thread that recorded nothing leaves no file and no empty folder.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.ask(Order::Close, true).await
    }

    async fn ask(
        &self,
        order: fn(oneshot::Sender<Result<(), StoreError>>) -> Order,
        close: bool,
    ) -> Result<(), StoreError> {
        let closed = || StoreError::Closed {
            path: self.shared.path.clone(),
        };
        let answer = {
            let mut state = self.state();
            let writer = if close {
                state.held = None;
                std::mem::replace(&mut state.writer, Writer::Closed)
            } else {
                match &state.writer {
                    Writer::Running(sender) => Writer::Running(sender.clone()),
                    Writer::Waiting => Writer::Waiting,
                    Writer::Closed => Writer::Closed,
                }
            };
            match writer {
                Writer::Running(sender) => {
                    let (reply, answer) = oneshot::channel();
                    sender.send(order(reply)).map_err(|_| closed())?;
                    answer
                }
                Writer::Waiting => {
                    if close {
                        remove_empty_folders(&self.shared.path);
                    }
                    return Ok(());
                }
                Writer::Closed if close => return Ok(()),
                Writer::Closed => return Err(closed()),
            }
        };
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// The thread's mailbox, which is opened with the first order.
    fn writer<'a>(&self, state: &'a mut State) -> Option<&'a Sender<Order>> {
        if let Writer::Waiting = state.writer {
            let (sender, orders) = channel();
            let task = Task {
                path: self.shared.path.clone(),
                trouble: self.shared.trouble.clone(),
                settled: self.shared.settled.clone(),
                last: 0,
                unsynced: None,
                is_new: state.held.is_none(),
                file: state.held.take(),
                keep_time: state.keep_time,
                torn: state.torn,
                lines: VecDeque::new(),
                retry: RETRY,
            };
            let started = std::thread::Builder::new()
                .name("rollout".to_owned())
                .spawn(move || task.run(&orders));
            if let Err(error) = started {
                tracing::error!(%error, "no thread for the recorder");
            }
            state.writer = Writer::Running(sender);
        }
        match &state.writer {
            Writer::Running(sender) => Some(sender),
            _ => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in the locked parts can panic halfway through a change.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writing thread's own.
struct Task {
    path: PathBuf,
    trouble: watch::Sender<Option<String>>,
    settled: watch::Sender<u64>,
    /// The number behind the last line that was handed over.
    last: u64,
    /// When the first line was written that a fall of the machine would take.
    unsynced: Option<Instant>,
    /// Nor does its folder know of the file yet.
    is_new: bool,
    file: Option<File>,
    /// See [`State::keep_time`].
    keep_time: Option<SystemTime>,
    /// The last line in the file has no end, so the next one begins with one.
    torn: bool,
    /// Lines that are not in the file yet, each with its end.
    lines: VecDeque<Vec<u8>>,
    retry: Duration,
}

impl Task {
    fn run(mut self, orders: &Receiver<Order>) {
        loop {
            let order = match (self.lines.is_empty(), self.unsynced) {
                (false, _) => orders.recv_timeout(self.retry),
                (true, Some(_)) => orders.recv_timeout(SYNC_AFTER),
                (true, None) => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match order {
                Ok(order) => {
                    if self.obey(order, orders) {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.lines.is_empty() => self.sync(),
                Err(RecvTimeoutError::Timeout) => {
                    self.retry = (self.retry * 2).min(RETRY_MOST);
                    // The person was told when it began; the answer matters only to those who ask.
                    drop(self.write());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    if let Err(error) = self.write() {
                        tracing::error!(%error, lines = self.lines.len(), "the end of a conversation was not recorded");
                    }
                    self.sync();
                    return;
                }
            }
        }
    }

    /// Takes an order and all that wait behind it, so that a burst of items is one write. True: end.
    fn obey(&mut self, order: Order, orders: &Receiver<Order>) -> bool {
        let mut next = Some(order);
        while let Some(order) = next {
            match order {
                Order::Write(items) => {
                    for item in items {
                        self.last = self.last.max(item.ordinal + 1);
                        self.lines.extend(line_of(item));
                    }
                }
                Order::Flush(reply) => {
                    let written = self.write();
                    // Whoever asked may have stopped waiting.
                    let _unheard = reply.send(written);
                }
                Order::Close(reply) => {
                    let written = self.write();
                    if let (Some(file), Some(time)) = (&self.file, self.keep_time)
                        && let Err(error) = file.set_modified(time)
                    {
                        tracing::debug!(path = %self.path.display(), %error, "the thread counts as used");
                    }
                    // Others may go on with the file, or move it, from now on.
                    if let Some(file) = &self.file
                        && let Err(error) = file.unlock()
                    {
                        tracing::debug!(%error, "the lock goes with the file");
                    }
                    let _unheard = reply.send(written);
                    self.sync();
                    return true;
                }
            }
            next = orders.try_recv().ok();
        }
        drop(self.write());
        if self.unsynced.is_some_and(|since| since.elapsed() > SYNC_EVERY) {
            self.sync();
        }
        false
    }

    /// Makes what was written outlive the machine.
    fn sync(&mut self) {
        if self.unsynced.take().is_none() {
            return;
        }
        let synced = self.file.as_ref().map_or(Ok(()), File::sync_data);
        let synced = synced.and_then(|()| match (std::mem::take(&mut self.is_new), self.path.parent()) {
            (true, Some(folder)) if cfg!(unix) => File::open(folder)?.sync_all(),
            _ => Ok(()),
        });
        if let Err(error) = synced {
            // The lines are in the file all the same, as long as the machine stays up.
            tracing::debug!(path = %self.path.display(), %error, "not synced");
        }
    }

    /// [`Task::write_lines`]; whoever waits for it goes on, also where the file refused.
    fn write(&mut self) -> Result<(), StoreError> {
        let written = self.write_lines();
        self.settled.send_replace(self.last);
        written
    }

    /// Writes the waiting lines. Says so once when the file stops, and once when it begins again, to take them.
    fn write_lines(&mut self) -> Result<(), StoreError> {
        if self.lines.is_empty() {
            return Ok(());
        }
        match self.try_write() {
            Ok(()) => {
                self.retry = RETRY;
                if self.trouble.borrow().is_some() {
                    tracing::info!(path = %self.path.display(), "recording again");
                    self.trouble.send_replace(None);
                }
                Ok(())
            }
            Err(cause) => {
                let error = StoreError::Write {
                    path: self.path.clone(),
                    cause,
                };
                if self.trouble.borrow().is_none() {
                    tracing::warn!(%error, "recording failed");
                    self.trouble.send_replace(Some(error.to_string()));
                }
                Err(error)
            }
        }
    }

    fn try_write(&mut self) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        if self.torn {
            bytes.push(b'\n');
        }
        let lead = bytes.len();
        for line in &self.lines {
            bytes.extend_from_slice(line);
        }
        // After a failure the file or its folder may have been replaced. Else the lock stays where it is: nobody else adds lines
        // before those that wait.
        if self.trouble.borrow().is_some() {
            self.file = self.file.take().filter(|file| is_at(file, &self.path));
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(open(&self.path)?),
        };
        let mut written = 0;
        let result = loop {
            match file.write(&bytes[written..]) {
                Ok(0) => break Err(std::io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
            if written == bytes.len() {
                break Ok(());
            }
        };
        if written == 0 {
            return result;
        }
        self.unsynced.get_or_insert_with(Instant::now);
        // What is in the file whole is done; a line that is there in part is written again, after an end.
        let mut rest = written - lead;
        while let Some(line) = self.lines.front() {
            if line.len() > rest {
                break;
            }
            rest -= line.len();
            self.lines.pop_front();
        }
        self.torn = rest > 0;
        result
    }
}

fn line_of(numbered: Numbered) -> Option<Vec<u8>> {
    let (kind, payload) = match numbered.body {
        Body::Item(item) => item.to_parts().map(|(kind, payload)| (kind.to_owned(), payload))?,
        Body::Parts(parts) => parts,
    };
    // By hand, so that the fields stand in the usual order and the payload is not parsed again.
    let (stamp, ordinal) = (format_ms(numbered.at_ms), numbered.ordinal);
    let kind = serde_json::to_string(&kind).ok()?;
    let head = format!(r#"{{"timestamp":"{stamp}","ordinal":{ordinal},"type":{kind},"payload":"#);
    Some([head.as_bytes(), payload.as_bytes(), b"}\n"].concat())
}

fn meta_json(meta: &SessionMeta) -> String {
    RolloutItem::SessionMeta(meta.clone())
        .to_parts()
        .map(|(_, payload)| payload)
        .unwrap_or_default()
}

/// `<home>/sessions/YYYY/MM/DD/rollout-<stamp>-<id>.jsonl`, in local time.
fn path_of(home: &Path, meta: &SessionMeta) -> PathBuf {
    let time = jiff::Timestamp::from_millisecond(meta.created_at_ms).unwrap_or_else(|_| jiff::Timestamp::now());
    let local = time.to_zoned(jiff::tz::TimeZone::system());
    home.join(super::SESSIONS)
        .join(local.strftime("%Y").to_string())
        .join(local.strftime("%m").to_string())
        .join(local.strftime("%d").to_string())
        .join(format!(
            "rollout-{}-{}.jsonl",
            local.strftime("%Y-%m-%dT%H-%M-%S"),
            meta.id
        ))
}

/// Makes the folder, puts a file into it and takes it away again.
fn check_writable(home: &Path, folder: &Path) -> Result<(), StoreError> {
    make_folder(home).map_err(|cause| StoreError::Unwritable {
        path: home.to_owned(),
        cause,
    })?;
    let probe = folder.join(format!(".probe-{}", uuid::Uuid::now_v7()));
    let check = || {
        make_folder(folder)?;
        OpenOptions::new().write(true).create_new(true).open(&probe)?;
        std::fs::remove_file(&probe)
    };
    check().map_err(|cause| StoreError::Unwritable {
        path: folder.to_owned(),
        cause,
    })
}

/// Conversations are nobody else's business: folders and files are for their owner alone.
pub(super) fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn open(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    lock(&file)?;
    Ok(file)
}

/// Whether an open file is the one that lies at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |found: std::fs::Metadata| (found.dev(), found.ino());
    let (open, there) = (file.metadata().map(place), std::fs::metadata(path).map(place));
    open.is_ok() && open.ok() == there.ok()
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    false
}

/// Opens a thread's file for more lines, and takes its lock.
fn hold(path: &Path) -> Result<File, StoreError> {
    let held = OpenOptions::new().append(true).open(path).and_then(|file| {
        lock(&file)?;
        Ok(file)
    });
    held.map_err(|cause| match cause.kind() {
        std::io::ErrorKind::WouldBlock => StoreError::InUse { path: path.to_owned() },
        _ => StoreError::Unwritable {
            path: path.to_owned(),
            cause,
        },
    })
}

/// One server writes a thread's file. The lock ends with the process that has it, however that ends; it hinders nobody who
/// only reads. Where there are no locks, as on some network folders, it goes without.
pub(super) fn lock(file: &File) -> std::io::Result<()> {
    if cfg!(not(unix)) {
        // There a lock would keep readers out too.
        return Ok(());
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(std::io::Error::new(
            std::io::ErrorKind::WouldBlock,
            "another server has it open",
        )),
        _ => Ok(()),
    }
}

/// Takes away the dated folders that were made for a file that never came.
fn remove_empty_folders(path: &Path) {
    for folder in path.ancestors().skip(1).take(4) {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only when the runtime is being taken down; whoever asked is going too.
            Err(_) => Err(StoreError::Closed { path: PathBuf::new() }),
        },
    }
}
