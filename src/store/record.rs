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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;
use tokio::sync::{oneshot, watch};
use writer::{Body, Numbered, Order, Parts, RETRY, Task};

/// Lines that wait for a thread to take them. What is more is lost: a machine that has no thread for so long has no memory for them
/// either.
const MOST_KEPT: usize = 100_000;

/// Writes one thread's rollout. Clones write the same file, in the order of their calls.
#[derive(Clone, Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
}

/// A recorder of somebody who does not keep the thread open.
#[derive(Clone, Debug)]
pub struct WeakRecorder(Weak<Shared>);

impl WeakRecorder {
    /// The recorder, while somebody else has the thread open.
    pub fn upgrade(&self) -> Option<Recorder> {
        self.0.upgrade().map(|shared| Recorder { shared })
    }
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    state: Mutex<State>,
    trouble: watch::Sender<Option<String>>,
    settled: watch::Sender<u64>,
    /// How its thread is started.
    start: Start,
}

/// Starts a thread that does this; what it is for is lost if it cannot be.
type Start = fn(Box<dyn FnOnce() + Send>) -> std::io::Result<()>;

fn start_thread(work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name("rollout".to_owned())
        .spawn(work)
        .map(drop)
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
    /// Lines that were not handed over yet, since there is no thread to take them: it could not be started.
    kept: Vec<Numbered>,
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
        let is_ours = stored.is_ours(home);
        if meta.cwd.as_os_str().is_empty() {
            let last = stored.last_context.as_ref().filter(|_| is_ours);
            meta.cwd = last.map_or(from.cwd, |context| context.cwd.clone());
        }
        let cwd = meta.cwd.clone();
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
            let payload = match line.kind.as_str() {
                "turn_context" if !is_ours => without_folders(&line.payload, &cwd),
                _ => line.payload.clone(),
            };
            state.preamble.push((line.kind.clone(), payload));
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
            kept: Vec::new(),
            writer: Writer::Waiting,
        };
        Self {
            shared: Arc::new(Shared {
                path,
                state: Mutex::new(state),
                trouble: watch::Sender::new(None),
                settled: watch::Sender::new(0),
                start: start_thread,
            }),
        }
    }

    /// The same for who does not keep it open.
    pub fn weak(&self) -> WeakRecorder {
        WeakRecorder(Arc::downgrade(&self.shared))
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
        if state.kept.len() >= MOST_KEPT && self.hand_over(&mut state).is_err() {
            tracing::error!(path = %self.path().display(), "too many lines wait to be recorded; what comes now is lost");
            return 0;
        }
        let now = now_ms().max(state.last_ms);
        state.last_ms = now;
        let preamble: Vec<Body> = std::mem::take(&mut state.preamble)
            .into_iter()
            .map(Body::Parts)
            .collect();
        for body in preamble.into_iter().chain(items) {
            let ordinal = state.next_ordinal;
            state.next_ordinal += 1;
            state.kept.push(Numbered {
                at_ms: now,
                ordinal,
                body,
            });
        }
        let last = state.next_ordinal;
        match self.hand_over(&mut state) {
            Ok(true) => last,
            Ok(false) => {
                tracing::warn!(path = %self.path().display(), "recorded after close; the lines are lost");
                state.kept.clear();
                0
            }
            // They are kept, and nobody waits for them meanwhile.
            Err(_) => {
                self.shared.settled.send_replace(last);
                last
            }
        }
    }

    /// Hands over what is kept. False if the recorder is closed.
    fn hand_over(&self, state: &mut State) -> Result<bool, StoreError> {
        let Some(writer) = self.writer(state).map_err(|cause| self.not_started(cause))? else {
            return Ok(false);
        };
        let writer = writer.clone();
        let lines = std::mem::take(&mut state.kept);
        if let Err(refused) = writer.send(Order::Write(lines)) {
            // It has died; the next order starts another one, which begins a line of its own.
            if let Order::Write(lines) = refused.0 {
                state.kept = lines;
            }
            state.torn = true;
            state.writer = Writer::Waiting;
            return Err(self.not_started(std::io::Error::other("the thread that writes it has ended")));
        }
        Ok(true)
    }

    /// Says once that lines have to wait, until they are written.
    fn not_started(&self, cause: std::io::Error) -> StoreError {
        let error = StoreError::Write {
            path: self.shared.path.clone(),
            cause,
        };
        if self.shared.trouble.borrow().is_none() {
            tracing::error!(%error, "no thread for the recorder");
            self.shared.trouble.send_replace(Some(error.to_string()));
        }
        error
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
            // A thread that has died gives the lines back; the next one takes them.
            if !state.kept.is_empty()
                && self.hand_over(&mut state).is_err()
                && let Err(error) = self.hand_over(&mut state)
            {
                if close {
                    let lines = std::mem::take(&mut state.kept).len();
                    state.held = None;
                    state.writer = Writer::Closed;
                    tracing::error!(%error, lines, "the end of a conversation was not recorded");
                }
                return Err(error);
            }
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

    /// The thread's mailbox, which is opened with the first order; none once it is closed. A thread that cannot be started is
    /// tried again with the next order.
    fn writer<'a>(&self, state: &'a mut State) -> std::io::Result<Option<&'a Sender<Order>>> {
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
            // Where it comes back from if nobody takes it: it has the file, and its lock.
            let slot = Arc::new(Mutex::new(Some(task)));
            let taken = slot.clone();
            let started = (self.shared.start)(Box::new(move || {
                let task = taken.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(task) = task {
                    task.run(&orders);
                }
            }));
            if let Err(error) = started {
                let task = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
                state.held = task.and_then(|task| task.file);
                return Err(error);
            }
            state.writer = Writer::Running(sender);
        }
        Ok(match &state.writer {
            Writer::Running(sender) => Some(sender),
            _ => None,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in the locked parts can panic halfway through a change.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The settings of a turn without the folders that somebody else wrote down: in a copy they would be ours.
fn without_folders(payload: &str, cwd: &Path) -> String {
    let Ok(mut settings) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(payload) else {
        return payload.to_owned();
    };
    settings.remove("runtime_workspace_roots");
    if settings.contains_key("cwd") {
        settings.insert("cwd".to_owned(), serde_json::Value::from(cwd.to_string_lossy()));
    }
    serde_json::Value::Object(settings).to_string()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Threads that cannot be started before one can.
    static REFUSED: AtomicUsize = AtomicUsize::new(0);

    fn start_after_refusals(work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        let refused = REFUSED.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match refused {
            Ok(_) => Err(std::io::ErrorKind::WouldBlock.into()),
            Err(_) => start_thread(work),
        }
    }

    fn said(text: &str) -> RolloutItem {
        RolloutItem::EventMsg(EventMsg::UserMessage {
            message: text.to_owned(),
            images: None,
        })
    }

    /// No line is lost where the machine has no thread left for a while, and the person hears of it once.
    #[tokio::test]
    async fn lines_wait_for_a_thread_that_cannot_be_started() {
        let home = tempfile::tempdir().expect("a folder");
        let meta = SessionMeta::new("019a0000-0000-7000-8000-000000000001".into(), home.path(), "test");
        let mut recorder = Recorder::create(home.path(), meta).await.expect("a recorder");
        Arc::get_mut(&mut recorder.shared).expect("its only owner").start = start_after_refusals;
        // One for each record, and two for what waits for it.
        REFUSED.store(4, Ordering::SeqCst);
        let settled = recorder.settled();
        for text in ["one", "two"] {
            let last = recorder.record([said(text)]);
            assert!(
                last > 0 && *settled.borrow() >= last,
                "nobody waits for what is refused"
            );
        }
        let trouble = recorder.trouble();
        let notice = trouble.borrow().clone().expect("a notice");
        assert!(notice.contains("cannot be recorded"), "{notice}");
        assert!(matches!(recorder.flush().await, Err(StoreError::Write { .. })));
        recorder.record([said("three")]);
        recorder.flush().await.expect("a thread");
        assert_eq!(*trouble.borrow(), None);
        let text = std::fs::read_to_string(recorder.path()).expect("a file");
        let places: Vec<_> = ["session_meta", "one", "two", "three"]
            .map(|word| text.find(word))
            .into();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
        recorder.close().await.expect("closed");
    }

    fn start_never(_: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        Err(std::io::ErrorKind::WouldBlock.into())
    }

    async fn fresh(home: &Path, start: Start) -> Recorder {
        let meta = SessionMeta::new("019a0000-0000-7000-8000-000000000002".into(), home, "test");
        let mut recorder = Recorder::create(home, meta).await.expect("a recorder");
        Arc::get_mut(&mut recorder.shared).expect("its only owner").start = start;
        recorder
    }

    /// A thread that has died loses nothing of what it was not given, also where nothing comes after it but the end.
    #[tokio::test]
    async fn what_a_dead_thread_did_not_take_is_written_at_the_end() {
        let home = tempfile::tempdir().expect("a folder");
        let recorder = fresh(home.path(), start_thread).await;
        let (dead, mailbox) = channel();
        drop(mailbox);
        recorder.state().writer = Writer::Running(dead);
        recorder.record([said("one")]);
        let (dead, mailbox) = channel();
        drop(mailbox);
        recorder.state().writer = Writer::Running(dead);
        recorder.close().await.expect("closed");
        let text = std::fs::read_to_string(recorder.path()).expect("a file");
        assert!(text.contains("session_meta") && text.contains("one"), "{text}");
        assert_eq!(recorder.record([said("two")]), 0, "it is closed");
    }

    /// Where no thread can be started for very long, what waits has a bound, and the end is the end.
    #[tokio::test]
    async fn what_waits_for_a_thread_that_never_comes_is_bounded() {
        let home = tempfile::tempdir().expect("a folder");
        let recorder = fresh(home.path(), start_never).await;
        assert!(recorder.record((0..MOST_KEPT).map(|_| said("one"))) > 0);
        assert_eq!(recorder.record([said("two")]), 0);
        assert!(recorder.state().kept.len() <= MOST_KEPT + 1);
        assert!(matches!(recorder.close().await, Err(StoreError::Write { .. })));
        {
            let state = recorder.state();
            assert!(state.kept.is_empty() && matches!(state.writer, Writer::Closed));
        }
        assert_eq!(recorder.record([said("three")]), 0);
    }
}
