//! A thread is an actor: it owns its settings and its running turn in one task and is reached by messages, taken in order.

use super::conversation::Conversation;
use super::desk::Desk;
use super::pending::Input;
use super::prompt::{BASE_INSTRUCTIONS, Environment};
use super::provider::Provider;
use super::sampling;
use super::stream::Subscription;
use super::turn::{Ended, Turn, TurnParts};
use super::{AgentError, now_ms};
use crate::config::Config;
use crate::ids::{ThreadId, TurnId};
use crate::protocol::event::{EventKind, ThreadClosed, ThreadConfigured};
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::settings::{SettingsOverride, ThreadSettings};
use crate::protocol::thread::{Thread, ThreadStatus};
use crate::protocol::turn::{EditorContext, Turn as TurnRecord, TurnError, TurnErrorKind, TurnStatus};
use futures::FutureExt;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

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
            waiting: VecDeque::new(),
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
        let face = self.face();
        let mut thread = face.thread.clone();
        let data = self.shared.conversation.data();
        thread.preview.clone_from(&data.preview);
        thread.updated_at_ms = data.updated_at_ms;
        thread.model = Some(face.settings.model.clone()).filter(|model| !model.is_empty());
        thread.status = match &face.running {
            None => ThreadStatus::Idle,
            Some(turn) if turn.is_waiting() => ThreadStatus::WaitingOnApproval,
            Some(_) => ThreadStatus::Active,
        };
        if include_turns {
            thread.turns.clone_from(&data.turns);
            drop(data);
            thread.turns.extend(
                face.running
                    .as_ref()
                    .map(|turn| turn.record(TurnStatus::InProgress, None)),
            );
        }
        thread
    }

    pub fn settings(&self) -> ThreadSettings {
        self.face().settings.clone()
    }

    /// The running turn, if one runs.
    pub fn running(&self) -> Option<TurnId> {
        self.face().running.as_ref().map(|turn| turn.id.clone())
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
    shared: std::sync::Weak<Shared>,
    conversation: Arc<Conversation>,
    desk: Arc<Desk>,
    config: Arc<Config>,
    settings: ThreadSettings,
    base_instructions: String,
    running: Option<Running>,
    /// Turns that begin when the running one is over: input that came in its last moment.
    waiting: VecDeque<(TurnId, Start)>,
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
        let Start {
            content,
            context,
            output_schema,
            client_id,
            ..
        } = start;
        if let Some(running) = &self.running {
            let input = Input {
                content,
                context,
                client_id,
            };
            match running.turn.pending.push(input) {
                Ok(()) => {
                    let turn = running.turn.record(TurnStatus::InProgress, None);
                    return Ok(Started {
                        turn,
                        steered: true,
                        _held: None,
                    });
                }
                // The turn is ending: the input begins the next one as soon as it has.
                Err(Input {
                    content,
                    context,
                    client_id,
                }) => {
                    let id = TurnId::fresh();
                    let turn = first_record(&id, &content);
                    let start = Start {
                        content,
                        context,
                        output_schema,
                        client_id,
                        settings: None,
                    };
                    self.waiting.push_back((id, start));
                    return Ok(Started {
                        turn,
                        steered: false,
                        _held: None,
                    });
                }
            }
        }
        let id = TurnId::fresh();
        let turn = first_record(&id, &content);
        let held = self.spawn_turn(
            id,
            Start {
                content,
                context,
                output_schema,
                client_id,
                settings: None,
            },
        );
        Ok(Started {
            turn,
            steered: false,
            _held: Some(held),
        })
    }

    /// Starts a turn's task, which begins once the returned end is dropped. Whatever happens in it, the turn is closed
    /// exactly once and the actor hears of it.
    fn spawn_turn(&mut self, id: TurnId, start: Start) -> oneshot::Sender<()> {
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
        let input = Input {
            content: start.content,
            context: start.context,
            client_id: start.client_id,
        };
        tell_environment(&turn);
        let mailbox = self.shared.upgrade().map(|shared| shared.mailbox.clone());
        let (held, released) = oneshot::channel::<()>();
        let task = tokio::spawn({
            let turn = turn.clone();
            async move {
                let _released = released.await;
                let ended = AssertUnwindSafe(whole_turn(&turn, input)).catch_unwind().await;
                turn.end(ended.unwrap_or_else(|_| Ended::Failed(crashed())));
                if let Some(mailbox) = mailbox {
                    let _closed = mailbox.send(Op::TurnEnded { turn: turn.id.clone() }).await;
                }
            }
        });
        self.show_running(Some(turn.clone()));
        self.running = Some(Running { turn, task });
        held
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
        // What waits behind the running turn was typed before the person pressed stop.
        let Some(running) = &self.running else {
            return match wanted {
                Some(expected) => Err(AgentError::NoTurn {
                    expected: Some(expected),
                }),
                None => Ok(false),
            };
        };
        if let Some(expected) = wanted.filter(|wanted| *wanted != running.turn.id) {
            return Err(AgentError::OtherTurn {
                expected,
                running: running.turn.id.clone(),
            });
        }
        running.turn.cancel.cancel();
        let (turn, abort) = (running.turn.clone(), running.task.abort_handle());
        let mailbox = self.shared.upgrade().map(|shared| shared.mailbox.clone());
        tokio::spawn(async move {
            tokio::time::sleep(GRACE).await;
            if !abort.is_finished() {
                // It does not listen: ended by force, and closed all the same.
                abort.abort();
                turn.end(Ended::Interrupted);
                if let Some(mailbox) = mailbox {
                    let _closed = mailbox.send(Op::TurnEnded { turn: turn.id.clone() }).await;
                }
            }
        });
        Ok(true)
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
        if let Some((id, start)) = self.waiting.pop_front() {
            drop(self.spawn_turn(id, start));
            // Whatever else came in that moment steers the new turn.
            for (_, start) in std::mem::take(&mut self.waiting) {
                let _started = self.start_turn(start);
            }
        }
    }

    async fn close(&mut self) {
        self.waiting.clear();
        if let Some(Running { turn, mut task }) = self.running.take() {
            turn.cancel.cancel();
            if tokio::time::timeout(GRACE, &mut task).await.is_err() {
                task.abort();
            }
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

/// A turn from its first event to its last answer; closing it is the caller's.
async fn whole_turn(turn: &Arc<Turn>, input: Input) -> Ended {
    let resolved = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => None,
        resolved = Provider::resolve(&turn.config, &turn.settings, &turn.desk.env, &turn.desk.user_agent) => Some(resolved),
    };
    match resolved {
        Some(Ok(provider)) => {
            turn.begin(provider.context_window);
            if !provider.is_known {
                turn.warn(format!(
                    "The model {} is not known; its context window is taken to be {}.",
                    provider.model,
                    provider
                        .context_window
                        .map_or("unknown".to_owned(), |tokens| format!("{tokens} tokens"))
                ));
            }
            let _first = turn.provider.set(provider);
            sampling::run(turn, input).await
        }
        Some(Err(error)) => {
            turn.begin(None);
            sampling::take_input(turn, vec![input], true);
            Ended::Failed(error)
        }
        None => {
            turn.begin(None);
            sampling::take_input(turn, vec![input], true);
            Ended::Interrupted
        }
    }
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
fn first_record(id: &TurnId, content: &[UserInput]) -> TurnRecord {
    TurnRecord {
        id: id.clone(),
        status: TurnStatus::InProgress,
        items: vec![ThreadItem::UserMessage {
            id: id.as_str().into(),
            content: content.to_vec(),
            client_id: None,
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
