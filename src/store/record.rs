//! Recording a thread as it happens.
//!
//! A [`Recorder`] numbers and stamps what it is given and hands it to a thread of its own, so that neither a
//! slow disk nor a full one holds up a turn. Lines that the file does not take stay in memory and are tried
//! again; nothing is dropped as long as the program lives.
//!
//! What is written outlives the program at once, however that ends: [`Recorder::settled`] says how far it has come, and
//! events wait for it. It outlives the machine a moment later: the file is synced when the thread has been quiet for
//! `SYNC_AFTER`, when it is closed, and every `SYNC_EVERY` while it is busy. A sync takes milliseconds, so nobody waits
//! for one.

mod place;
mod writer;

pub(super) use place::{lock, make_folder};

use super::StoreError;
use super::line::{EventMsg, RolloutItem, SessionMeta, now_ms};
use super::load::{self, Line, Stored, Tail};
use super::{packed, summary, turns};
use crate::ids::TurnId;
use crate::model::item::ResponseItem;
use crate::protocol::turn::TurnStatus;
use place::{check_writable, hold, path_of, remove_empty_folders};
use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use tokio::sync::{oneshot, watch};
use writer::{Body, Numbered, Order, Parts, RETRY, Task};

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

fn meta_json(meta: &SessionMeta) -> String {
    RolloutItem::SessionMeta(meta.clone())
        .to_parts()
        .map(|(_, payload)| payload)
        .unwrap_or_default()
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
