//! A thread is an actor: it owns its settings and its running turn in one task and is reached by messages, taken in order.

mod actor;
mod later;
mod promised;
mod queue;
mod rollback;
mod running;
mod task;
pub(super) mod whole;

pub use later::opens_at;
pub use queue::Change as QueueChange;
pub use task::{Task, WhenBusy, Work};

use super::AgentError;
use super::compaction;
use super::conversation::Conversation;
use super::mail::Mail;
use super::pending::Input;
use super::person::OwnCommand;
use super::review;
use super::reviewer;
use super::services::Services;
use super::stream::Subscription;
use super::turn::Turn;
use super::undo;
use super::window;
use crate::config::{Config, Loaded};
use crate::ids::{ItemId, ThreadId, TurnId};
use crate::protocol::context::ThreadContextResult;
use crate::protocol::item::UserInput;
use crate::protocol::queue::{QueuedInput, TurnQueue};
use crate::protocol::review::ReviewTarget;
use crate::protocol::settings::{SettingsOverride, ThreadSettings};
use crate::protocol::thread::{Thread, ThreadMemoryMode, ThreadStatus};
use crate::protocol::turn::{EditorContext, Metadata, Turn as TurnRecord, TurnKind, TurnStatus};
use actor::Actor;
use futures::FutureExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{mpsc, oneshot};

/// Messages that may wait before a sender has to.
const MAILBOX: usize = 64;

/// What a thread can be asked to do.
enum Op {
    StartTurn {
        start: Start,
        reply: oneshot::Sender<Result<Started, AgentError>>,
    },
    Steer {
        expected: TurnId,
        input: Input,
        reply: oneshot::Sender<Result<Started, AgentError>>,
    },
    OwnCommand {
        command: OwnCommand,
        reply: oneshot::Sender<Result<Started, AgentError>>,
    },
    Interrupt {
        turn: Option<TurnId>,
        reply: oneshot::Sender<Result<bool, AgentError>>,
    },
    Task {
        task: Task,
        reply: oneshot::Sender<Result<Started, AgentError>>,
    },
    Rollback {
        num_turns: u32,
        /// The last turn, as the caller knows it.
        expected: Option<TurnId>,
        reply: oneshot::Sender<Result<u32, AgentError>>,
    },
    Queue {
        start: Start,
        reply: oneshot::Sender<Result<Added, AgentError>>,
    },
    SendAgain {
        turn: Option<TurnId>,
        reply: oneshot::Sender<Result<Added, String>>,
    },
    ChangeQueue {
        change: QueueChange,
        reply: oneshot::Sender<Result<TurnQueue, AgentError>>,
    },
    Deliver {
        mail: Mail,
        reply: oneshot::Sender<Result<Option<TurnId>, AgentError>>,
    },
    Settings {
        change: Box<SettingsOverride>,
        reply: oneshot::Sender<Result<ThreadSettings, AgentError>>,
    },
    TakeUp {
        loaded: Box<Loaded>,
        reply: oneshot::Sender<()>,
    },
    /// The running turn's task is done.
    TurnEnded {
        turn: TurnId,
    },
    Close {
        reply: oneshot::Sender<()>,
    },
}

/// The person's input and what goes with it.
#[derive(Clone, Debug, Default)]
pub struct Start {
    pub content: Vec<UserInput>,
    pub context: Option<EditorContext>,
    pub settings: Option<SettingsOverride>,
    pub output_schema: Option<serde_json::Value>,
    pub metadata: Metadata,
    pub client_id: Option<String>,
    /// See [`Input::by_agent`].
    pub by_agent: bool,
    /// See [`Input::spoken`].
    pub spoken: bool,
    /// In the queue it waits for this time, in milliseconds since the epoch.
    pub not_before_ms: Option<i64>,
    /// It is what this turn was asked, which failed.
    pub again: Option<TurnId>,
}

impl Start {
    /// The input itself.
    fn input(&self) -> Input {
        Input {
            content: self.content.clone(),
            context: self.context.clone(),
            client_id: self.client_id.clone(),
            metadata: self.metadata.clone(),
            by_agent: self.by_agent,
            spoken: self.spoken,
        }
    }
}

/// What became of an input that may wait for a turn of its own.
#[derive(Debug)]
pub enum Added {
    Waits(QueuedInput),
    Begins(Started),
}

/// The answer to an input. The turn's first event comes only when this is dropped, so that the answer can go out first.
#[derive(Debug)]
pub struct Started {
    pub turn: TurnRecord,
    /// The input joined a turn that was running.
    pub steered: bool,
    /// The input was a command of the person's own, which is this item.
    pub command: Option<ItemId>,
    /// Dropped with this; the turn waits for it.
    _held: Option<oneshot::Sender<()>>,
}

impl Started {
    /// The input joined this turn.
    fn steered(turn: TurnRecord) -> Self {
        Self {
            turn,
            steered: true,
            command: None,
            _held: None,
        }
    }
}

/// The same for those who do not keep it alive.
#[derive(Clone)]
pub(super) struct Reach {
    id: ThreadId,
    shared: Weak<Shared>,
}

impl Reach {
    pub(super) fn thread(&self) -> Result<ThreadHandle, AgentError> {
        let shared = self.shared.upgrade();
        let shared = shared.ok_or_else(|| AgentError::ThreadDied(self.id.clone()))?;
        Ok(ThreadHandle { shared })
    }
}

/// One's turn to ask a thread: what others ask comes after, in the order in which they came.
pub struct InOrder {
    _held: tokio::sync::OwnedMutexGuard<()>,
}

/// A way to reach a live thread; cheap to clone.
#[derive(Clone)]
pub struct ThreadHandle {
    shared: Arc<Shared>,
}

struct Shared {
    conversation: Arc<Conversation>,
    services: Arc<Services>,
    mailbox: mpsc::Sender<Op>,
    /// Held by whoever is about to ask; first come, first served.
    order: Arc<tokio::sync::Mutex<()>>,
    /// What a reader sees of the thread without asking its task.
    face: Mutex<Face>,
}

struct Face {
    thread: Thread,
    config: Arc<Config>,
    settings: ThreadSettings,
    running: Option<Arc<Turn>>,
}

/// What a thread is made of.
pub struct Parts {
    pub conversation: Arc<Conversation>,
    pub services: Arc<Services>,
    pub config: Arc<Config>,
    pub settings: ThreadSettings,
    pub base_instructions: Option<String>,
    /// The thread as it is shown; its turns stay empty here.
    pub thread: Thread,
    /// Folders that the thread worked in before and was taken from: they are no part of its workspace any more.
    pub left: Vec<PathBuf>,
}

impl ThreadHandle {
    /// Starts the thread's task.
    pub fn spawn(parts: Parts) -> Self {
        let (mailbox, messages) = mpsc::channel(MAILBOX);
        let face = Face {
            thread: parts.thread.clone(),
            config: parts.config.clone(),
            settings: parts.settings.clone(),
            running: None,
        };
        let shared = Arc::new(Shared {
            conversation: parts.conversation.clone(),
            services: parts.services.clone(),
            mailbox,
            order: Arc::default(),
            face: Mutex::new(face),
        });
        tokio::spawn(Actor::new(&shared, parts).run(messages));
        Self { shared }
    }

    pub fn id(&self) -> &ThreadId {
        &self.shared.conversation.id
    }

    pub(super) fn reach(&self) -> Reach {
        Reach {
            id: self.id().clone(),
            shared: Arc::downgrade(&self.shared),
        }
    }

    pub fn conversation(&self) -> &Arc<Conversation> {
        &self.shared.conversation
    }

    pub(super) fn services(&self) -> &Arc<Services> {
        &self.shared.services
    }

    /// The configuration that the thread began with, or has taken up since.
    pub(super) fn config(&self) -> Arc<Config> {
        self.face().config.clone()
    }

    /// Has the thread go on with another configuration, from its next turn on. What is wrong in it is told in the thread.
    pub(super) async fn take_up(&self, loaded: Loaded) -> Result<(), AgentError> {
        let loaded = Box::new(loaded);
        // Whoever is about to ask may wait for this.
        self.ask_now(|reply| Op::TakeUp { loaded, reply }).await
    }

    fn face(&self) -> std::sync::MutexGuard<'_, Face> {
        self.shared.face.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread as it stands, with its turns if asked for.
    pub fn snapshot(&self, include_turns: bool) -> Thread {
        let (mut thread, model, running) = {
            let face = self.face();
            (face.thread.clone(), face.settings.model.clone(), face.running.clone())
        };
        let running = running.filter(|turn| !turn.has_ended());
        thread.model = Some(model).filter(|model| !model.is_empty());
        thread.status = match &running {
            None => ThreadStatus::Idle,
            Some(turn) => turn.standing(),
        };
        let in_progress = running
            .filter(|_| include_turns)
            .map(|turn| turn.record(TurnStatus::InProgress, None));
        let data = self.shared.conversation.data();
        thread.preview.clone_from(&data.preview);
        thread.updated_at_ms = data.updated_at_ms;
        if include_turns {
            thread.turns.clone_from(&data.turns);
            // It may have ended since it was asked.
            thread
                .turns
                .extend(in_progress.filter(|turn| data.turns.iter().all(|done| done.id != turn.id)));
        }
        thread
    }

    pub fn settings(&self) -> ThreadSettings {
        self.face().settings.clone()
    }

    /// The running turn, if one runs.
    pub fn running(&self) -> Option<TurnId> {
        let running = self.face().running.clone();
        running.filter(|turn| !turn.has_ended()).map(|turn| turn.id.clone())
    }

    /// The running turn itself.
    pub fn running_turn(&self) -> Option<Arc<Turn>> {
        let running = self.face().running.clone();
        running.filter(|turn| !turn.has_ended())
    }

    /// Events from now on, or after a number.
    pub fn subscribe(&self, after: Option<u64>) -> Subscription {
        self.shared.conversation.stream.subscribe(after)
    }

    /// Takes one's place among those who ask, at the first poll. For whoever has to look at the disk before they ask.
    pub async fn in_order(&self) -> InOrder {
        InOrder {
            _held: self.shared.order.clone().lock_owned().await,
        }
    }

    async fn ask<T>(&self, op: impl FnOnce(oneshot::Sender<T>) -> Op) -> Result<T, AgentError> {
        self.ask_in(self.in_order().await, op).await
    }

    async fn ask_in<T>(&self, order: InOrder, op: impl FnOnce(oneshot::Sender<T>) -> Op) -> Result<T, AgentError> {
        let answer = self.post(op).await?;
        drop(order);
        answer.await.map_err(|_| self.dead())
    }

    async fn ask_now<T>(&self, op: impl FnOnce(oneshot::Sender<T>) -> Op) -> Result<T, AgentError> {
        self.post(op).await?.await.map_err(|_| self.dead())
    }

    async fn post<T>(&self, op: impl FnOnce(oneshot::Sender<T>) -> Op) -> Result<oneshot::Receiver<T>, AgentError> {
        let (reply, answer) = oneshot::channel();
        self.shared.mailbox.send(op(reply)).await.map_err(|_| self.dead())?;
        Ok(answer)
    }

    fn dead(&self) -> AgentError {
        AgentError::ThreadDied(self.id().clone())
    }

    /// Starts a turn, or gives the input to the running one.
    pub async fn start_turn(&self, start: Start) -> Result<Started, AgentError> {
        self.start_turn_in(self.in_order().await, start).await
    }

    /// The same for whoever has their place already.
    pub async fn start_turn_in(&self, order: InOrder, start: Start) -> Result<Started, AgentError> {
        self.ask_in(order, |reply| Op::StartTurn { start, reply }).await?
    }

    /// Gives input to the turn that is expected to run.
    pub async fn steer(&self, order: InOrder, expected: TurnId, input: Input) -> Result<Started, AgentError> {
        self.ask_in(order, |reply| Op::Steer { expected, input, reply }).await?
    }

    /// Gives input a turn of its own: now, or after what runs and waits.
    pub async fn queue(&self, start: Start) -> Result<Added, AgentError> {
        self.ask(|reply| Op::Queue { start, reply }).await?
    }

    /// Changes what waits for its turn, or only looks at it. Gives it as it is then.
    pub async fn change_queue(&self, change: QueueChange) -> Result<TurnQueue, AgentError> {
        self.ask(|reply| Op::ChangeQueue { change, reply }).await?
    }

    /// Gives the model something to read with its next request: in the running turn if that is one with the model, else in
    /// the next. With `wakes` a turn begins for it if none runs, unless the person has stopped one and said nothing since.
    /// Says which turn reads it, if it does not wait.
    pub async fn deliver(&self, mail: Mail, wakes: bool) -> Result<Option<TurnId>, AgentError> {
        let mail = Mail { wakes, ..mail };
        self.ask(|reply| Op::Deliver { mail, reply }).await?
    }

    /// Runs a command of the person's own, beside the running turn or as a turn of its own.
    pub async fn run_own(&self, command: OwnCommand) -> Result<Started, AgentError> {
        self.ask(|reply| Op::OwnCommand { command, reply }).await?
    }

    /// Stops the running turn. True if one ran. What runs stops at once, also while somebody looks at the disk before they ask;
    /// what was asked for before the stop is stopped as well.
    pub async fn interrupt(&self, turn: Option<TurnId>) -> Result<bool, AgentError> {
        // Its place is taken at the first poll: what is asked for from here on is not meant.
        let mut place = self.shared.order.clone().lock_owned().boxed();
        if let Some(_held) = (&mut place).now_or_never() {
            return self.interrupt_now(turn).await;
        }
        match self.interrupt_now(turn.clone()).await {
            Ok(true) if turn.is_some() => Ok(true),
            Ok(true) => {
                let thread = self.clone();
                tokio::spawn(async move {
                    let _held = place.await;
                    if let Err(error) = thread.interrupt_now(None).await {
                        tracing::info!(%error, "nothing more to stop");
                    }
                });
                Ok(true)
            }
            Ok(false) | Err(_) => {
                let _held = place.await;
                self.interrupt_now(turn).await
            }
        }
    }

    async fn interrupt_now(&self, turn: Option<TurnId>) -> Result<bool, AgentError> {
        self.ask_now(|reply| Op::Interrupt { turn, reply }).await?
    }

    /// Takes turns back, in a turn of its own.
    pub async fn undo(&self, request: undo::Request) -> Result<Started, AgentError> {
        // The one that runs cannot be taken back yet, which is another thing than that there is none.
        if self.running().is_none()
            && let Some(turn) = &request.turn
            && self.conversation().data().turns.iter().all(|known| known.id != *turn)
        {
            return Err(AgentError::UnknownTurn(turn.clone()));
        }
        let work = |turn| async move { undo::run(&turn, request).await };
        self.start_task(Task::new(TurnKind::Undo, WhenBusy::Refuse, work)).await
    }

    /// Has the conversation summed up, in a turn of its own that takes the place of one that runs.
    pub async fn compact(&self) -> Result<Started, AgentError> {
        self.start_task(Task::new(TurnKind::Compaction, WhenBusy::Replace, compaction::run))
            .await
    }

    /// Starts a turn whose work is the task's.
    pub async fn start_task(&self, task: Task) -> Result<Started, AgentError> {
        self.ask(|reply| Op::Task { task, reply }).await?
    }

    /// Has a change reviewed, in a turn of its own.
    pub async fn review(&self, target: ReviewTarget) -> Result<Started, AgentError> {
        review::check(&target)?;
        let work = |turn| review::run(turn, target);
        self.start_task(Task::new(TurnKind::Review, WhenBusy::Refuse, work))
            .await
    }

    /// The person allows what the automatic reviewer denied; false if there is nothing of the kind. The model is told in the
    /// running turn, or at the start of the next one.
    pub async fn approve_denied(&self, assessment: &str) -> Result<bool, AgentError> {
        let conversation = &self.shared.conversation;
        let Some(action) = conversation.data().reviews.overrule(assessment) else {
            tracing::info!(thread = %conversation.id, assessment, "no denied action under this id; nothing was allowed");
            return Ok(false);
        };
        self.deliver(Mail::new(reviewer::overruled_message(&action)), false)
            .await?;
        Ok(true)
    }

    /// What fills the window of the conversation's model.
    pub fn context(&self) -> ThreadContextResult {
        window::report(self.conversation())
    }

    /// Drops the last turns from the conversation, unless its last turn is another one than is expected. Says how many.
    ///
    /// # Errors
    ///
    /// A turn runs, there is none, the conversation is not stored, or its file cannot be read: all turns stay.
    pub async fn roll_back(&self, num_turns: u32, expected: Option<TurnId>) -> Result<u32, AgentError> {
        self.ask(|reply| Op::Rollback {
            num_turns,
            expected,
            reply,
        })
        .await?
    }

    /// What lists show in place of the preview.
    pub(super) fn set_name(&self, name: &str) {
        self.face().thread.name = Some(name.to_owned());
    }

    pub(super) fn set_memory_mode(&self, mode: ThreadMemoryMode) {
        self.face().thread.memory_mode = mode;
    }

    /// Changes settings without a turn.
    pub async fn update_settings(&self, change: SettingsOverride) -> Result<ThreadSettings, AgentError> {
        self.ask(|reply| Op::Settings {
            change: Box::new(change),
            reply,
        })
        .await?
    }

    /// Stops what runs, writes what is left, says that it is closed, and ends the task.
    pub async fn close(&self) {
        // Also while somebody looks at a disk that does not answer.
        let _ended_already = self.ask_now(|reply| Op::Close { reply }).await;
    }
}
