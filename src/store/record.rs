//! Recording a thread as it happens.
//!
//! A [`Recorder`] numbers and stamps what it is given and hands it to a thread of its own, so that neither a
//! slow disk nor a full one holds up a turn. Lines that the file does not take stay in memory and are tried
//! again; nothing is dropped as long as the program lives.

use super::StoreError;
use super::line::{EventMsg, RolloutItem, SessionMeta, format_ms, now_ms};
use super::load::{self, Lines, Stored, Tail};
use crate::model::item::ResponseItem;
use crate::protocol::turn::TurnStatus;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// First wait before lines that were refused are tried again; doubles up to [`RETRY_MOST`].
const RETRY: Duration = Duration::from_millis(500);
const RETRY_MOST: Duration = Duration::from_secs(30);

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
}

#[derive(Debug)]
struct State {
    /// Lines that go ahead of the first one recorded: the description, and what a fork copies.
    preamble: Vec<Parts>,
    next_ordinal: u64,
    last_ms: i64,
    /// The file's last line has no end yet.
    torn: bool,
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
        ))
    }

    /// Reads a stored thread and goes on with it. A file of ours is appended to. A file of another program is
    /// left as it is: the thread goes on in a copy that `fork` describes (its id, and where it came from is
    /// added), written with the first new item.
    pub async fn resume(home: &Path, path: &Path, fork: SessionMeta) -> Result<Resumed, StoreError> {
        let path = home.join(path);
        let from = path.clone();
        let (lines, stored) = blocking(move || {
            let lines = load::read_lines(&from)?;
            let stored = load::understand(&from, &lines)?;
            Ok((lines, stored))
        })
        .await?;
        if !stored.meta.is_ours() {
            let recorder = Self::copy(home, &lines, &stored, fork).await?;
            return Ok(Resumed {
                recorder,
                stored,
                forked: true,
            });
        }
        // Checked now, so that the person learns before the first turn that nothing could be kept.
        let probe = path.clone();
        blocking(move || match OpenOptions::new().append(true).open(&probe) {
            Ok(_) => Ok(()),
            Err(cause) => Err(StoreError::Unwritable { path: probe, cause }),
        })
        .await?;
        let recorder = Self::new(path, Vec::new(), stored.tail.clone());
        Ok(Resumed {
            recorder,
            stored,
            forked: false,
        })
    }

    /// Copies a stored thread into a new file at once. `meta` gives the new id and the surroundings.
    pub async fn fork(home: &Path, path: &Path, meta: SessionMeta) -> Result<Resumed, StoreError> {
        let path = home.join(path);
        let (lines, stored) = blocking(move || {
            let lines = load::read_lines(&path)?;
            let stored = load::understand(&path, &lines)?;
            Ok((lines, stored))
        })
        .await?;
        let recorder = Self::copy(home, &lines, &stored, meta).await?;
        recorder.write(Vec::new());
        recorder.flush().await?;
        Ok(Resumed {
            recorder,
            stored,
            forked: true,
        })
    }

    async fn copy(home: &Path, lines: &Lines, stored: &Stored, mut meta: SessionMeta) -> Result<Self, StoreError> {
        meta.forked_from_id = Some(stored.meta.id.clone());
        let recorder = Self::create(home, meta).await?;
        let mut state = recorder.state();
        for line in lines.lines.iter().filter(|line| line.kind != "session_meta") {
            state.preamble.push((line.kind.clone(), line.payload.to_string()));
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

    fn new(path: PathBuf, preamble: Vec<Parts>, tail: Tail) -> Self {
        let state = State {
            preamble,
            next_ordinal: tail.next_ordinal,
            last_ms: tail.last_ms,
            torn: tail.torn,
            writer: Writer::Waiting,
        };
        Self {
            shared: Arc::new(Shared {
                path,
                state: Mutex::new(state),
                trouble: watch::Sender::new(None),
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

    /// Records in order. Never waits; after [`Recorder::close`] it does nothing but say so in the log.
    pub fn record(&self, items: impl IntoIterator<Item = RolloutItem>) {
        // Kinds without a written form count as nothing, so that they do not bring the file into being.
        let other = RolloutItem::ResponseItem(ResponseItem::Other);
        let items: Vec<Body> = items
            .into_iter()
            .filter(|item| *item != other)
            .map(|item| Body::Item(Box::new(item)))
            .collect();
        if !items.is_empty() {
            self.write(items);
        }
    }

    /// Hands lines to the writing thread, after what must go ahead of them.
    fn write(&self, items: Vec<Body>) {
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
        match self.writer(&mut state) {
            Some(writer) => {
                if writer.send(Order::Write(numbered)).is_err() {
                    tracing::error!(path = %self.path().display(), "the recorder's thread is gone");
                }
            }
            None => tracing::warn!(path = %self.path().display(), "recorded after close; the lines are lost"),
        }
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
                file: None,
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
    file: Option<File>,
    /// The last line in the file has no end, so the next one begins with one.
    torn: bool,
    /// Lines that are not in the file yet, each with its end.
    lines: VecDeque<Vec<u8>>,
    retry: Duration,
}

impl Task {
    fn run(mut self, orders: &Receiver<Order>) {
        loop {
            let order = if self.lines.is_empty() {
                orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                orders.recv_timeout(self.retry)
            };
            match order {
                Ok(order) => {
                    if self.obey(order, orders) {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.retry = (self.retry * 2).min(RETRY_MOST);
                    // The person was told when it began; the answer matters only to those who ask.
                    drop(self.write());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    if let Err(error) = self.write() {
                        tracing::error!(%error, lines = self.lines.len(), "the end of a conversation was not recorded");
                    }
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
                    self.file = None;
                    let _unheard = reply.send(written);
                    return true;
                }
            }
            next = orders.try_recv().ok();
        }
        drop(self.write());
        false
    }

    /// Writes the waiting lines. Says so once when the file stops, and once when it begins again, to take them.
    fn write(&mut self) -> Result<(), StoreError> {
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
                // Opened anew next time: the file or its folder may have been replaced.
                self.file = None;
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
    home.join("sessions")
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
fn make_folder(folder: &Path) -> std::io::Result<()> {
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
    options.open(path)
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
