//! A thread is an actor: it owns its settings and its running turn in one task and is reached by messages, taken in order.

use super::conversation::Conversation;
use super::desk::Desk;
use super::pending::Input;
use super::prompt::{BASE_INSTRUCTIONS, Environment};
use super::provider::{Provider, Unresolved};
use super::sampling;
use super::stream::Subscription;
use super::turn::{Ended, Turn, TurnParts};
use super::{AgentError, now_ms};
use crate::config::Config;
use crate::ids::{ThreadId, TurnId};
use crate::model::retry::Retry;
use crate::protocol::event::{EventKind, ThreadClosed, ThreadConfigured};
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::settings::{SettingsOverride, ThreadSettings};
use crate::protocol::thread::{Thread, ThreadStatus};
use crate::protocol::turn::{EditorContext, Turn as TurnRecord, TurnError, TurnErrorKind, TurnStatus};
use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};

/// Messages that may wait before a sender has to.
const MAILBOX: usize = 64;
/// How long a stopped turn may take to end by itself.
const GRACE: Duration = Duration::from_millis(1800);

/// What a thread can be asked to do.
enum Op {
    StartTurn {
        start: Start,
        reply: oneshot::Sender<Result<Started, AgentError>>,
    },
    Steer {
        expected: TurnId,
        input: Input,
        reply: oneshot::Sender<Result<TurnId, AgentError>>,
    },
    Interrupt {
        turn: Option<TurnId>,
        reply: oneshot::Sender<Result<bool, AgentError>>,
    },
    Settings {
        change: Box<SettingsOverride>,
        reply: oneshot::Sender<Result<ThreadSettings, AgentError>>,
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
    pub client_id: Option<String>,
}

/// The answer to an input. The turn's first event comes only when this is dropped, so that the answer can go out first.
#[derive(Debug)]
pub struct Started {
    pub turn: TurnRecord,
    /// The input joined a turn that was running.
    pub steered: bool,
    /// Dropped with this; the turn waits for it.
    _held: Option<oneshot::Sender<()>>,
}

impl Started {
    /// The input joined this turn.
    fn steered(turn: TurnRecord) -> Self {
        Self {
            turn,
            steered: true,
            _held: None,
        }
    }
}

/// A way to reach a live thread; cheap to clone.
#[derive(Clone)]
pub struct ThreadHandle {
    shared: Arc<Shared>,
}

struct Shared {
    conversation: Arc<Conversation>,
    mailbox: mpsc::Sender<Op>,
    /// What a reader sees of the thread without asking its task.
    face: Mutex<Face>,
}

struct Face {
    thread: Thread,
    settings: ThreadSettings,
    running: Option<Arc<Turn>>,
}

/// What a thread is made of.
pub struct Parts {
    pub conversation: Arc<Conversation>,
    pub desk: Arc<Desk>,
    pub config: Arc<Config>,
    pub settings: ThreadSettings,
    pub base_instructions: Option<String>,
    /// The thread as it is shown; its turns stay empty here.
    pub thread: Thread,
}

impl ThreadHandle {
    /// Starts the thread's task.
    pub fn spawn(parts: Parts) -> Self {
        let (mailbox, messages) = mpsc::channel(MAILBOX);
        let face = Face {
            thread: parts.thread.clone(),
            settings: parts.settings.clone(),
            running: None,
        };
        let shared = Arc::new(Shared {
            conversation: parts.conversation.clone(),
            mailbox,
            face: Mutex::new(face),
        });
        let base_instructions = parts
            .base_instructions
            .or_else(|| parts.config.base_instructions.clone())
            .unwrap_or_else(|| BASE_INSTRUCTIONS.to_owned());
        let actor = Actor {
            shared: Arc::downgrade(&shared),
            conversation: parts.conversation,
            desk: parts.desk,
            config: parts.config,
            settings: parts.settings,
            base_instructions,
            running: None,
            next: None,
        };
        tokio::spawn(actor.run(messages));
        Self { shared }
    }

    pub fn id(&self) -> &ThreadId {
        &self.shared.conversation.id
    }

    pub fn conversation(&self) -> &Arc<Conversation> {
        &self.shared.conversation
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
            Some(turn) if turn.is_waiting() => ThreadStatus::WaitingOnApproval,
            Some(_) => ThreadStatus::Active,
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

    /// Events from now on, or after a number.
    pub fn subscribe(&self, after: Option<u64>) -> Subscription {
        self.shared.conversation.stream.subscribe(after)
    }

    async fn ask<T>(&self, op: impl FnOnce(oneshot::Sender<T>) -> Op) -> Result<T, AgentError> {
        let (reply, answer) = oneshot::channel();
        let dead = || AgentError::ThreadDied(self.id().clone());
        self.shared.mailbox.send(op(reply)).await.map_err(|_| dead())?;
        answer.await.map_err(|_| dead())
    }

    /// Starts a turn, or gives the input to the running one.
    pub async fn start_turn(&self, start: Start) -> Result<Started, AgentError> {
        self.ask(|reply| Op::StartTurn { start, reply }).await?
    }

    /// Gives input to the turn that is expected to run.
    pub async fn steer(&self, expected: TurnId, input: Input) -> Result<TurnId, AgentError> {
        self.ask(|reply| Op::Steer { expected, input, reply }).await?
    }

    /// Stops the running turn. True if one ran.
    pub async fn interrupt(&self, turn: Option<TurnId>) -> Result<bool, AgentError> {
        self.ask(|reply| Op::Interrupt { turn, reply }).await?
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
        let _ended_already = self.ask(|reply| Op::Close { reply }).await;
    }
}

struct Actor {
    shared: Weak<Shared>,
    conversation: Arc<Conversation>,
    desk: Arc<Desk>,
    config: Arc<Config>,
    settings: ThreadSettings,
    base_instructions: String,
    running: Option<Running>,
    /// The turn that begins when the running one is over: input that came in its last moment.
    next: Option<Next>,
}

/// A turn that was promised to the person and has not begun.
struct Next {
    id: TurnId,
    start: Start,
    /// Input that came after the first.
    more: Vec<Input>,
    /// Whoever started it lets it begin.
    released: oneshot::Receiver<()>,
    /// The person pressed stop before it began.
    stopped: bool,
}

struct Running {
    turn: Arc<Turn>,
    task: JoinHandle<()>,
}

impl Actor {
    async fn run(mut self, mut messages: mpsc::Receiver<Op>) {
        while let Some(op) = messages.recv().await {
            match op {
                Op::StartTurn { start, reply } => {
                    let _gone = reply.send(self.start_turn(start));
                }
                Op::Steer { expected, input, reply } => {
                    let _gone = reply.send(self.steer(expected, input));
                }
                Op::Interrupt { turn, reply } => {
                    let _gone = reply.send(self.interrupt(turn));
                }
                Op::Settings { change, reply } => {
                    let _gone = reply.send(self.change_settings(&change).map(|()| self.settings.clone()));
                }
                Op::TurnEnded { turn } => self.turn_ended(&turn),
                Op::Close { reply } => {
                    self.close().await;
                    let _gone = reply.send(());
                    return;
                }
            }
        }
        // Every handle is gone: the same end, without anybody to answer.
        self.close().await;
    }

    fn start_turn(&mut self, start: Start) -> Result<Started, AgentError> {
        if start.content.iter().all(is_empty) {
            return Err(AgentError::EmptyInput);
        }
        if let Some(change) = &start.settings {
            self.change_settings(change)?;
        }
        self.forget_ended();
        let input = Input {
            content: start.content,
            context: start.context,
            client_id: start.client_id,
        };
        let input = match &self.running {
            None => input,
            Some(running) => match running.turn.pending.push(input) {
                Ok(()) => {
                    let turn = running.turn.record(TurnStatus::InProgress, None);
                    return Ok(Started::steered(turn));
                }
                Err(input) => input,
            },
        };
        if let Some(next) = &mut self.next {
            let turn = first_record(&next.id, &next.start);
            next.more.push(input);
            return Ok(Started::steered(turn));
        }
        let start = Start {
            content: input.content,
            context: input.context,
            client_id: input.client_id,
            output_schema: start.output_schema,
            settings: None,
        };
        let id = TurnId::fresh();
        let turn = first_record(&id, &start);
        let (held, released) = oneshot::channel();
        let next = Next {
            id,
            start,
            more: Vec::new(),
            released,
            stopped: false,
        };
        if self.running.is_none() {
            self.spawn_turn(next);
        } else {
            // The turn is ending: the input begins the next one as soon as it has.
            self.next = Some(next);
        }
        Ok(Started {
            turn,
            steered: false,
            _held: Some(held),
        })
    }

    /// A turn whose last event is out counts as gone, also where its task has not said so yet.
    fn forget_ended(&mut self) {
        if let Some(running) = self.running.as_ref().filter(|running| running.turn.has_ended()) {
            let id = running.turn.id.clone();
            self.turn_ended(&id);
        }
    }

    /// A turn with the settings of now, and its first input.
    fn make_turn(&self, id: TurnId, start: Start, more: Vec<Input>) -> (Arc<Turn>, Input) {
        let parts = TurnParts {
            conversation: self.conversation.clone(),
            desk: self.desk.clone(),
            config: self.config.clone(),
            settings: self.settings.clone(),
            roots: self.desk.workspace.roots(),
            output_schema: start.output_schema,
            base_instructions: self.base_instructions.clone(),
        };
        let turn = Arc::new(Turn::new(id, parts));
        for input in more {
            // A new turn takes input.
            let _taken = turn.pending.push(input);
        }
        let input = Input {
            content: start.content,
            context: start.context,
            client_id: start.client_id,
        };
        (turn, input)
    }

    /// Starts a turn's task, which begins once it is released. Whatever happens in it, the turn is closed exactly once
    /// and the actor hears of it.
    fn spawn_turn(&mut self, next: Next) {
        let (turn, input) = self.make_turn(next.id, next.start, next.more);
        if next.stopped {
            turn.cancel.cancel();
        }
        tell_environment(&turn);
        let released = next.released;
        let task = tokio::spawn({
            let (turn, thread) = (turn.clone(), self.shared.clone());
            async move {
                let _released = released.await;
                let ended = AssertUnwindSafe(whole_turn(&turn, input)).catch_unwind().await;
                let ended = ended.unwrap_or_else(|_| Ended::Failed(crashed()));
                // Whoever added to a turn that fails is not forgotten: the words are in the conversation.
                while matches!(ended, Ended::Failed(_)) && !turn.pending.close_if_empty() {
                    sampling::take_input(&turn, turn.pending.take(), false);
                }
                turn.end(ended);
                say_ended(&thread, &turn).await;
            }
        });
        tokio::spawn(end_by_force(turn.clone(), task.abort_handle(), self.shared.clone()));
        self.show_running(Some(turn.clone()));
        self.running = Some(Running { turn, task });
    }

    fn show_running(&self, turn: Option<Arc<Turn>>) {
        if let Some(shared) = self.shared.upgrade() {
            shared.face.lock().unwrap_or_else(PoisonError::into_inner).running = turn;
        }
    }

    fn steer(&mut self, expected: TurnId, input: Input) -> Result<TurnId, AgentError> {
        if input.content.iter().all(is_empty) {
            return Err(AgentError::EmptyInput);
        }
        self.forget_ended();
        if let Some(next) = self.next.as_mut().filter(|next| next.id == expected) {
            next.more.push(input);
            return Ok(expected);
        }
        match &self.running {
            None => Err(AgentError::NoTurn {
                expected: Some(expected),
            }),
            Some(running) if running.turn.id != expected => Err(AgentError::OtherTurn {
                expected,
                running: running.turn.id.clone(),
            }),
            Some(running) => match running.turn.pending.push(input) {
                Ok(()) => Ok(expected),
                Err(_) => Err(AgentError::NoTurn {
                    expected: Some(expected),
                }),
            },
        }
    }

    fn interrupt(&mut self, wanted: Option<TurnId>) -> Result<bool, AgentError> {
        self.forget_ended();
        // What waits behind the running turn was typed before the person pressed stop.
        if let Some(next) = &mut self.next
            && wanted.as_ref().is_none_or(|wanted| *wanted == next.id)
        {
            next.stopped = true;
            if wanted.is_some() {
                return Ok(true);
            }
        }
        match (&self.running, wanted) {
            (None, None) => Ok(false),
            (None, expected) => Err(AgentError::NoTurn { expected }),
            (Some(running), Some(expected)) if expected != running.turn.id => Err(AgentError::OtherTurn {
                expected,
                running: running.turn.id.clone(),
            }),
            (Some(running), _) => Ok(running.turn.stop() || self.next.is_some()),
        }
    }

    fn change_settings(&mut self, change: &SettingsOverride) -> Result<(), AgentError> {
        let changed = super::settings::changed(&self.config, &self.settings, change)?;
        if changed == self.settings {
            return Ok(());
        }
        self.settings = changed;
        if let Some(shared) = self.shared.upgrade() {
            let mut face = shared.face.lock().unwrap_or_else(PoisonError::into_inner);
            face.settings = self.settings.clone();
            face.thread.cwd.clone_from(&self.settings.cwd);
            face.thread.model_provider.clone_from(&self.settings.model_provider);
        }
        let settings = self.settings.clone();
        self.conversation
            .publish(None, EventKind::ThreadConfigured(ThreadConfigured { settings }));
        Ok(())
    }

    fn turn_ended(&mut self, turn: &TurnId) {
        if self.running.as_ref().is_none_or(|running| running.turn.id != *turn) {
            return;
        }
        self.running = None;
        self.show_running(None);
        if let Some(next) = self.next.take() {
            self.spawn_turn(next);
        }
    }

    async fn close(&mut self) {
        if let Some(Running { turn, task }) = self.running.take() {
            turn.stop();
            if tokio::time::timeout(GRACE, turn.closed.cancelled()).await.is_err() {
                task.abort();
            }
            turn.end(Ended::Interrupted);
        }
        if let Some(next) = self.next.take() {
            // It was promised to the person: their words are kept, and the turn is closed like any other.
            let (turn, input) = self.make_turn(next.id, next.start, next.more);
            turn.begin(None);
            sampling::take_input(&turn, vec![input], true);
            sampling::take_input(&turn, turn.pending.take(), false);
            turn.end(Ended::Interrupted);
        }
        self.show_running(None);
        if let Some(recorder) = &self.conversation.recorder
            && let Err(error) = recorder.close().await
        {
            self.conversation
                .warn(None, format!("The end of the thread could not be recorded: {error}"));
        }
        self.conversation
            .stream
            .publish(None, EventKind::ThreadClosed(ThreadClosed {}));
    }
}

/// A stopped turn that does not listen is ended by force, and closed all the same, whoever stopped it.
async fn end_by_force(turn: Arc<Turn>, task: AbortHandle, thread: Weak<Shared>) {
    tokio::select! {
        () = turn.closed.cancelled() => return,
        () = turn.cancel.cancelled() => {}
    }
    tokio::select! {
        () = turn.closed.cancelled() => return,
        () = tokio::time::sleep(GRACE) => {}
    }
    tracing::error!(turn = %turn.id, "a stopped turn did not end by itself");
    task.abort();
    turn.end(Ended::Interrupted);
    say_ended(&thread, &turn).await;
}

/// Tells the thread, if anybody still has it. A turn does not keep its thread alive.
async fn say_ended(thread: &Weak<Shared>, turn: &Turn) {
    let mailbox = thread.upgrade().map(|shared| shared.mailbox.clone());
    if let Some(mailbox) = mailbox {
        let _closed = mailbox.send(Op::TurnEnded { turn: turn.id.clone() }).await;
    }
}

/// A turn from its first event to its last answer; closing it is the caller's.
async fn whole_turn(turn: &Arc<Turn>, input: Input) -> Ended {
    let mut input = Some(input);
    // The person sees their words before the provider is waited for in earnest.
    let begin = |input: &mut Option<Input>, window| {
        if let Some(input) = input.take() {
            turn.begin(window);
            sampling::take_input(turn, vec![input], true);
        }
    };
    let mut retry = None;
    let provider = loop {
        let resolved = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => None,
            resolved = Provider::resolve(&turn.config, &turn.settings, &turn.desk) => Some(resolved),
        };
        let failure = match resolved {
            Some(Ok(provider)) => break provider,
            Some(Err(failure)) => failure,
            None => {
                begin(&mut input, None);
                return Ended::Interrupted;
            }
        };
        begin(&mut input, None);
        let (error, provider) = match failure {
            Unresolved::Final(error) => return Ended::Failed(error),
            Unresolved::Provider(error, provider) => (error, provider),
        };
        let retry = retry.get_or_insert_with(|| Retry::new(&provider));
        let Some(wait) = retry.next(&error) else {
            return Ended::Failed(error.turn_error());
        };
        if !sampling::wait_to_retry(turn, wait, &error).await {
            return Ended::Interrupted;
        }
    };
    begin(&mut input, provider.context_window);
    if !provider.is_known {
        turn.warn(match provider.context_window {
            Some(window) => format!(
                "The model {} is not known; its context window is taken to be {window} tokens. Set model_context_window in \
                 config.toml if it is another.",
                provider.model
            ),
            None => format!(
                "The model {} is not known, nor is its context window. Set model_context_window in config.toml.",
                provider.model
            ),
        });
    }
    let _first = turn.provider.set(provider);
    sampling::run(turn).await
}

/// Tells the model of its surroundings where they are not what it was told last.
fn tell_environment(turn: &Turn) {
    let environment = Environment::new(&turn.settings, &turn.roots, turn.desk.shell());
    let message = {
        let mut data = turn.conversation.data();
        let message = match &data.environment {
            Some(before) => environment.difference(before),
            None => Some(environment.message()),
        };
        data.environment = Some(environment);
        message
    };
    turn.conversation.say(message);
}

fn is_empty(input: &UserInput) -> bool {
    matches!(input, UserInput::Text { text } if text.trim().is_empty())
}

/// A turn as the answer to its start shows it: the person's words, in progress.
fn first_record(id: &TurnId, start: &Start) -> TurnRecord {
    TurnRecord {
        id: id.clone(),
        status: TurnStatus::InProgress,
        items: vec![ThreadItem::UserMessage {
            id: id.as_str().into(),
            content: start.content.clone(),
            client_id: start.client_id.clone(),
        }],
        error: None,
        started_at_ms: Some(now_ms()),
        completed_at_ms: None,
    }
}

fn crashed() -> TurnError {
    TurnError {
        message:
            "The turn broke off through a fault of Countersign. The conversation can go on; the log has the details."
                .to_owned(),
        kind: TurnErrorKind::Internal,
        http_status: None,
    }
}
