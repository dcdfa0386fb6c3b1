//! The thread's task: takes messages in order, owns the settings and the running turn, and never waits for a turn.

use super::{Op, Parts, Shared, Start, Started, whole};
use crate::agent::conversation::Conversation;
use crate::agent::desk::Desk;
use crate::agent::pending::Input;
use crate::agent::person::{self, OwnCommand, Queued};
use crate::agent::prompt::BASE_INSTRUCTIONS;
use crate::agent::turn::{Ended, Turn, TurnParts};
use crate::agent::undo;
use crate::agent::{AgentError, mode, now_ms, permissions, sampling, settings};
use crate::config::Config;
use crate::config::permissions::Profile;
use crate::ids::TurnId;
use crate::protocol::event::{EventKind, ThreadClosed};
use crate::protocol::item::{ItemStatus, ThreadItem, UserInput};
use crate::protocol::settings::{SettingsOverride, ThreadSettings};
use crate::protocol::turn::{Turn as TurnRecord, TurnStatus};
use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};

/// How long a stopped turn may take to end by itself.
const GRACE: Duration = Duration::from_millis(1800);

/// How long the person's own commands may take to end with their turn.
const OWN_GRACE: Duration = Duration::from_millis(1200);

pub(super) struct Actor {
    shared: Weak<Shared>,
    conversation: Arc<Conversation>,
    desk: Arc<Desk>,
    config: Arc<Config>,
    settings: ThreadSettings,
    /// Folders that the thread worked in before and was taken from.
    left: Vec<PathBuf>,
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
    /// Commands of the person's own; without any input the turn is theirs alone.
    commands: Vec<Queued>,
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
    pub(super) fn new(shared: &Arc<Shared>, parts: Parts) -> Self {
        let base_instructions = parts
            .base_instructions
            .or_else(|| parts.config.base_instructions.clone())
            .unwrap_or_else(|| BASE_INSTRUCTIONS.to_owned());
        Self {
            shared: Arc::downgrade(shared),
            conversation: parts.conversation,
            desk: parts.desk,
            config: parts.config,
            settings: parts.settings,
            left: parts.left,
            base_instructions,
            running: None,
            next: None,
        }
    }

    /// Until the thread is closed, or nobody holds it any more.
    pub(super) async fn run(mut self, mut messages: mpsc::Receiver<Op>) {
        while let Some(op) = messages.recv().await {
            match op {
                Op::StartTurn { start, reply } => {
                    let _gone = reply.send(self.start_turn(start));
                }
                Op::Steer { expected, input, reply } => {
                    let _gone = reply.send(self.steer(expected, input));
                }
                Op::OwnCommand { command, reply } => {
                    let _gone = reply.send(Ok(self.run_own(command)));
                }
                Op::Interrupt { turn, reply } => {
                    let _gone = reply.send(self.interrupt(turn));
                }
                Op::Undo { request, reply } => {
                    let _gone = reply.send(self.start_undo(request));
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
        let command = person::in_input(&start.content)
            .map(|text| OwnCommand::new(text, None))
            .transpose()?;
        self.check_sent_along(&start.content)?;
        if let Some(change) = &start.settings {
            self.change_settings(change)?;
        }
        if let Some(command) = command {
            return Ok(self.run_own(command));
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
        self.start_next(Next {
            id,
            start,
            more: Vec::new(),
            commands: Vec::new(),
            released,
            stopped: false,
        });
        Ok(Started {
            turn,
            steered: false,
            command: None,
            _held: Some(held),
        })
    }

    fn start_next(&mut self, next: Next) {
        if self.running.is_none() {
            self.spawn_turn(next);
        } else {
            // The turn is ending: the input begins the next one as soon as it has.
            self.next = Some(next);
        }
    }

    /// Runs a command of the person's own: in the running turn, else in the one that begins next, else in a turn of its own.
    fn run_own(&mut self, command: OwnCommand) -> Started {
        self.forget_ended();
        let item_id = command.item_id.clone();
        let started = |turn, steered, held| Started {
            turn,
            steered,
            command: Some(item_id),
            _held: Some(held),
        };
        let (held, released) = oneshot::channel();
        let mut queued = Queued {
            command,
            released: Some(released),
        };
        if let Some(running) = &self.running {
            match person::start(&running.turn, queued) {
                Ok(()) => return started(running.turn.record(TurnStatus::InProgress, None), true, held),
                Err(back) => queued = back,
            }
        }
        if let Some(next) = &mut self.next {
            next.commands.push(queued);
            return started(first_record(&next.id, &next.start), true, held);
        }
        let id = TurnId::fresh();
        let start = Start::default();
        let turn = first_record(&id, &start);
        // Its turn is held, and the command begins with it.
        let Some(released) = queued.released.take() else {
            return started(turn, false, held);
        };
        self.start_next(Next {
            id,
            start,
            more: Vec::new(),
            commands: vec![queued],
            released,
            stopped: false,
        });
        started(turn, false, held)
    }

    /// Whether the commands whose output the person sends along are there and done.
    fn check_sent_along(&self, content: &[UserInput]) -> Result<(), AgentError> {
        let running = self.running.as_ref().map(|running| &running.turn);
        for piece in content {
            let UserInput::CommandOutput { item_id } = piece else {
                continue;
            };
            let own = running.and_then(|turn| turn.item(item_id));
            let item = own.or_else(|| {
                let data = self.conversation.data();
                let mut items = data.turns.iter().flat_map(|turn| &turn.items);
                items.find(|item| item.id() == item_id).cloned()
            });
            match item {
                Some(ThreadItem::CommandExecution {
                    status: ItemStatus::InProgress,
                    ..
                }) => return Err(AgentError::CommandRuns(item_id.clone())),
                Some(ThreadItem::CommandExecution { .. }) => {}
                _ => return Err(AgentError::UnknownCommand(item_id.clone())),
            }
        }
        Ok(())
    }

    /// Begins to take turns back, if none runs.
    fn start_undo(&mut self, request: undo::Request) -> Result<Started, AgentError> {
        self.forget_ended();
        if self.running.is_some() || self.next.is_some() {
            return Err(AgentError::TurnRunning);
        }
        if let Some(turn) = &request.turn
            && self.conversation.data().turns.iter().all(|known| known.id != *turn)
        {
            return Err(AgentError::UnknownTurn(turn.clone()));
        }
        let (turn, _no_input) = self.make_turn(TurnId::fresh(), Start::default(), Vec::new());
        // What the person types from now on begins a turn of its own.
        turn.pending.close();
        let record = turn.record(TurnStatus::InProgress, None);
        let (held, released) = oneshot::channel();
        let work = turn.clone();
        self.spawn_task(turn, released, async move { undo::run(&work, request).await });
        Ok(Started {
            turn: record,
            steered: false,
            command: None,
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
        let settings = mode::held(&self.settings);
        let profile = permissions::profile(&self.config, &settings);
        let roots = self.roots(&profile);
        let parts = TurnParts {
            conversation: self.conversation.clone(),
            desk: self.desk.clone(),
            config: self.config.clone(),
            settings,
            profile,
            roots,
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

    /// The folders of the workspace as they are now: the editor's, but for the one that the thread was taken out of; the
    /// thread's own; the profile's.
    fn roots(&self, profile: &Profile) -> Vec<PathBuf> {
        let cwd = &self.settings.cwd;
        let is_left = |root: &PathBuf| !cwd.starts_with(root) && self.left.iter().any(|old| old.starts_with(root));
        let mut roots = self.desk.workspace.roots();
        roots.retain(|root| !is_left(root));
        let own = profile.own_roots(permissions::home_of(&self.desk).as_deref());
        for root in self.settings.runtime_workspace_roots.iter().cloned().chain(own) {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }

    /// Starts a turn's task, which begins once it is released. Whatever happens in it, the turn is closed exactly once
    /// and the actor hears of it.
    fn spawn_turn(&mut self, next: Next) {
        let (turn, input) = self.make_turn(next.id, next.start, next.more);
        if next.stopped {
            turn.cancel.cancel();
        }
        for queued in next.commands {
            // A new turn takes them.
            let _taken = person::start(&turn, queued);
        }
        let work = turn.clone();
        if input.content.is_empty() {
            turn.set_private(true);
            self.spawn_task(turn, next.released, async move { whole::run_own(&work).await });
        } else {
            whole::tell_environment(&turn);
            self.spawn_task(turn, next.released, async move {
                whole::run(&work, vec![input], true).await
            });
        }
    }

    fn spawn_task(
        &mut self,
        turn: Arc<Turn>,
        released: oneshot::Receiver<()>,
        work: impl Future<Output = Ended> + Send + 'static,
    ) {
        let task = tokio::spawn({
            let (turn, thread) = (turn.clone(), self.shared.clone());
            async move {
                let _released = released.await;
                let ended = AssertUnwindSafe(work).catch_unwind().await;
                let ended = ended.unwrap_or_else(|_| Ended::Failed(whole::crashed()));
                if ended != Ended::Completed {
                    // They end with the turn; what they said so far is shown.
                    turn.own_commands.cancel();
                    let _in_time = tokio::time::timeout(OWN_GRACE, turn.pending.commands_done()).await;
                }
                // Whoever added to a turn that fails is not forgotten: the words are in the conversation.
                while matches!(ended, Ended::Failed(_)) && !turn.pending.close_if_empty() {
                    sampling::take_input(&turn, turn.pending.take(), false).await;
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

    fn steer(&mut self, expected: TurnId, input: Input) -> Result<Started, AgentError> {
        if input.content.iter().all(is_empty) {
            return Err(AgentError::EmptyInput);
        }
        let command = person::in_input(&input.content)
            .map(|text| OwnCommand::new(text, None))
            .transpose()?;
        self.check_sent_along(&input.content)?;
        self.forget_ended();
        if let Some(next) = self.next.as_mut().filter(|next| next.id == expected) {
            let turn = first_record(&next.id, &next.start);
            match command {
                Some(command) => return Ok(self.run_own(command)),
                None => next.more.push(input),
            }
            return Ok(Started::steered(turn));
        }
        match &self.running {
            None => Err(AgentError::NoTurn {
                expected: Some(expected),
            }),
            Some(running) if running.turn.id != expected => Err(AgentError::OtherTurn {
                expected,
                running: running.turn.id.clone(),
            }),
            Some(running) => {
                if let Some(command) = command {
                    return Ok(self.run_own(command));
                }
                let turn = running.turn.record(TurnStatus::InProgress, None);
                match running.turn.pending.push(input) {
                    Ok(()) => Ok(Started::steered(turn)),
                    Err(_) => Err(AgentError::NoTurn {
                        expected: Some(expected),
                    }),
                }
            }
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
        let changed = settings::changed(&self.config, &self.settings, change)?;
        if changed == self.settings {
            return Ok(());
        }
        if changed.cwd != self.settings.cwd {
            self.left.push(self.settings.cwd.clone());
            self.left.retain(|folder| *folder != changed.cwd);
        }
        self.settings = changed;
        if let Some(shared) = self.shared.upgrade() {
            let mut face = shared.face.lock().unwrap_or_else(PoisonError::into_inner);
            face.settings = self.settings.clone();
            face.thread.cwd.clone_from(&self.settings.cwd);
            face.thread.model_provider.clone_from(&self.settings.model_provider);
        }
        let settings = self.settings.clone();
        self.conversation.publish(
            None,
            EventKind::ThreadConfigured(self.desk.configured(&self.config, settings)),
        );
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
            turn.set_private(true);
            // Nothing is read for it any more.
            turn.cancel.cancel();
            let own = Some(input).filter(|input| !input.content.is_empty());
            sampling::take_input(&turn, own.into_iter().collect(), true).await;
            sampling::take_input(&turn, turn.pending.take(), false).await;
            turn.end(Ended::Interrupted);
        }
        self.show_running(None);
        self.desk.terminals.end_thread(&self.conversation.id).await;
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

fn is_empty(input: &UserInput) -> bool {
    matches!(input, UserInput::Text { text } if text.trim().is_empty())
}

/// A turn as the answer to its start shows it: the person's words, in progress.
fn first_record(id: &TurnId, start: &Start) -> TurnRecord {
    let words = || ThreadItem::UserMessage {
        id: id.as_str().into(),
        content: start.content.clone(),
        client_id: start.client_id.clone(),
        context: Vec::new(),
    };
    TurnRecord {
        id: id.clone(),
        status: TurnStatus::InProgress,
        items: (!start.content.is_empty()).then(words).into_iter().collect(),
        error: None,
        started_at_ms: Some(now_ms()),
        completed_at_ms: None,
    }
}
