//! The thread's task: takes messages in order, owns the settings and the running turn, and never waits for a turn.

use super::promised::{Opening, Promised, Words};
use super::queue::{Change, Queue};
use super::running::Running;
use super::task::{Task, WhenBusy};
use super::{Added, Op, Parts, Shared, Start, Started, later, rollback, whole};
use crate::agent::conversation::{Conversation, Subject};
use crate::agent::mail::Mail;
use crate::agent::pending::Input;
use crate::agent::person::{self, OwnCommand, Queued};
use crate::agent::prompt::BASE_INSTRUCTIONS;
use crate::agent::services::Services;
use crate::agent::turn::{Ended, Turn, TurnParts};
use crate::agent::{AgentError, mode, now_ms, permissions, review, sampling, settings};
use crate::config::permissions::Profile;
use crate::config::{Config, Loaded};
use crate::ids::TurnId;
use crate::protocol::event::{ErrorEvent, EventKind, ThreadClosed, TurnQueueChanged};
use crate::protocol::item::{ItemStatus, ThreadItem, UserInput};
use crate::protocol::queue::TurnQueue;
use crate::protocol::settings::Mode;
use crate::protocol::settings::{SettingsOverride, ThreadSettings};
use crate::protocol::turn::{InterruptedBy, Metadata, TurnError, TurnErrorKind, TurnKind, TurnStatus};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, Weak};
use tokio::sync::{mpsc, oneshot};

/// Pairs of metadata with a request.
const MOST_METADATA: usize = 16;
/// Characters of a metadata key, and of its value.
const LONGEST_KEY: usize = 64;
const LONGEST_VALUE: usize = 512;
/// Inputs that wait for the model's next request. More are a mistake of a program.
const MOST_INPUTS: usize = 100;
/// Messages of others that wait for it.
const MOST_MAIL: usize = 200;

pub(super) struct Actor {
    shared: Weak<Shared>,
    conversation: Arc<Conversation>,
    services: Arc<Services>,
    config: Arc<Config>,
    settings: ThreadSettings,
    /// Folders that the thread worked in before and was taken from.
    left: Vec<PathBuf>,
    base_instructions: String,
    running: Option<Running>,
    /// Turns that begin, one after the other, when the running one is over.
    next: VecDeque<Promised>,
    /// What the person wants to say after all that.
    queue: Queue,
    /// Messages that the model has not read.
    mail: Vec<Mail>,
    /// The person stopped a turn and has said nothing since, so no message begins another.
    quiet: bool,
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
            services: parts.services,
            config: parts.config,
            settings: parts.settings,
            left: parts.left,
            base_instructions,
            running: None,
            next: VecDeque::new(),
            queue: Queue::default(),
            mail: Vec::new(),
            quiet: false,
        }
    }

    /// Until the thread is closed, or nobody holds it any more.
    pub(super) async fn run(mut self, mut messages: mpsc::Receiver<Op>) {
        loop {
            let next = tokio::select! {
                biased;
                next = messages.recv() => next,
                () = later::reached(self.next_time()) => {
                    self.go_on();
                    continue;
                }
            };
            let Some(op) = next else { break };
            match op {
                Op::StartTurn { start, reply } => {
                    let _gone = reply.send(self.start_turn(start));
                }
                Op::Steer { expected, input, reply } => {
                    let _gone = reply.send(self.steer(expected, input));
                }
                Op::OwnCommand { command, reply } => {
                    let _gone = reply.send(self.check_room().map(|()| self.run_own(command)));
                }
                Op::Interrupt { turn, reply } => {
                    let _gone = reply.send(self.interrupt(turn));
                }
                Op::Task { task, reply } => {
                    let _gone = reply.send(self.start_task(task));
                }
                Op::Rollback {
                    num_turns,
                    expected,
                    reply,
                } => {
                    let _gone = reply.send(self.roll_back(num_turns, expected).await);
                }
                Op::Queue { start, reply } => {
                    let _gone = reply.send(self.queue(start));
                }
                Op::SendAgain { turn, reply } => {
                    let _gone = reply.send(self.send_again(turn.as_ref()));
                }
                Op::ChangeQueue { change, reply } => {
                    let _gone = reply.send(self.change_queue(change));
                }
                Op::Deliver { mail, reply } => {
                    let _gone = reply.send(self.deliver(mail));
                }
                Op::Settings { change, reply } => {
                    let _gone = reply.send(self.change_settings(&change).map(|()| self.settings.clone()));
                }
                Op::TakeUp { loaded, reply } => {
                    self.take_up(*loaded);
                    let _gone = reply.send(());
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

    /// Whether the input can be taken at all; the command that it is, if it is one.
    fn check(&self, input: &Input) -> Result<Option<OwnCommand>, AgentError> {
        if input.content.iter().all(is_empty) {
            return Err(AgentError::EmptyInput);
        }
        check_metadata(&input.metadata)?;
        let command = person::in_input(&input.content)
            .filter(|_| !input.by_agent)
            .map(|text| OwnCommand::new(text, None))
            .transpose()?;
        self.check_sent_along(&input.content)?;
        Ok(command)
    }

    fn start_turn(&mut self, mut start: Start) -> Result<Started, AgentError> {
        let command = self.check(&start.input())?;
        self.forget_ended();
        self.check_room()?;
        if let Some(change) = start.settings.take() {
            self.change_settings(&change)?;
        }
        if let Some(command) = command {
            return Ok(self.run_own(command));
        }
        let mut input = start.input();
        self.mirror(&input);
        if let Some(running) = &self.running {
            match running.turn.pending.push(input) {
                None => {
                    let turn = running.turn.record(TurnStatus::InProgress, None);
                    self.person_speaks();
                    return Ok(Started::steered(turn));
                }
                Some(back) => input = back,
            }
        }
        if let Some(next) = self.next.back_mut() {
            let turn = next.record();
            if let Some(words) = next.words() {
                words.more.push(input);
                return Ok(Started::steered(turn));
            }
        }
        let words = Words {
            start,
            ..Words::default()
        };
        Ok(self.promise(Opening::Input(Box::new(words))))
    }

    /// Tells the realtime conversation, if one runs, what the person wrote and it did not hear.
    fn mirror(&self, input: &Input) {
        if !input.by_agent && !input.spoken {
            self.conversation.voice.mirror(&input.content);
        }
    }

    /// Begins a turn, at once or as soon as those before it have ended.
    fn promise(&mut self, opening: Opening) -> Started {
        let (promised, held) = Promised::new(opening);
        let started = promised.started(held);
        self.next.push_back(promised);
        self.go_on();
        started
    }

    /// Decides what an idle thread does next: the turn that was promised, one for mail that is worth it, or one for what the
    /// person has queued.
    fn go_on(&mut self) {
        if self.running.is_some() {
            return;
        }
        if let Some(next) = self.next.pop_front() {
            return self.begin(next);
        }
        if !self.quiet && self.mail.iter().any(|mail| mail.wakes) {
            // Nobody waits for an answer before it may begin.
            drop(self.promise(Opening::Mail));
            return;
        }
        self.keep_mail();
        while let Some(start) = self.queue.take(now_ms()) {
            self.show_queue();
            match self.start_turn(start.clone()) {
                Ok(_begins) => return,
                Err(error) => {
                    self.queue.put_back(start);
                    let words = format!("What waited cannot be sent as it is, so the queue was paused. {error}");
                    self.conversation.warn(None, words);
                    self.show_queue();
                }
            }
        }
    }

    /// No call waits for its output, so the words of the mail can be in the conversation already.
    fn keep_mail(&mut self) {
        for mail in &mut self.mail {
            self.conversation.say(mail.words.drain(..));
        }
        self.mail.retain(|mail| mail.shown.is_some());
    }

    /// The turn that reads it; `None` if it waits.
    fn deliver(&mut self, mail: Mail) -> Result<Option<TurnId>, AgentError> {
        self.forget_ended();
        let running = self.running.as_ref().map(|running| running.turn.pending.mail());
        if self.mail.len() + running.unwrap_or_default() >= MOST_MAIL {
            return Err(AgentError::MailFull(MOST_MAIL));
        }
        self.mail.push(mail);
        self.running_reads_mail();
        self.go_on();
        let reader = self.running.as_ref().filter(|_| self.mail.is_empty());
        Ok(reader.map(|running| running.turn.id.clone()))
    }

    /// Gives the mail to a turn that runs or begins, if that is one that reads it. After a stop a turn of the person's own
    /// commands is none: it would become one with the model.
    fn hand_over_mail(&mut self, turn: &Turn) {
        if turn.kind().reads_mail() && !self.quiet {
            let mail = std::mem::take(&mut self.mail);
            let back = mail.into_iter().filter_map(|mail| turn.pending.deliver(mail));
            self.mail = back.collect();
        }
    }

    /// In the running turn, where a message may follow theirs again.
    fn person_speaks(&mut self) {
        self.quiet = false;
        self.running_reads_mail();
    }

    fn running_reads_mail(&mut self) {
        if let Some(turn) = self.running.as_ref().map(|running| running.turn.clone()) {
            self.hand_over_mail(&turn);
        }
    }

    /// Whether what waits for the model's next request leaves room for one more input.
    fn check_room(&self) -> Result<(), AgentError> {
        let running = self.running.as_ref().map(|running| running.turn.pending.inputs());
        let next = self.next.iter().map(Promised::waiting).max();
        match running.max(next) {
            Some(waiting) if waiting >= MOST_INPUTS => Err(AgentError::InputFull(MOST_INPUTS)),
            _ => Ok(()),
        }
    }

    fn queue(&mut self, start: Start) -> Result<Added, AgentError> {
        self.check(&start.input())?;
        if let Some(change) = &start.settings {
            settings::changed(&self.config, &self.settings, change)?;
        }
        self.forget_ended();
        let may_begin = start.not_before_ms.is_none_or(|at| at <= now_ms());
        let is_next = self.running.is_none() && self.next.is_empty() && self.queue.holds_nobody_up();
        if may_begin && is_next {
            return Ok(Added::Begins(self.start_turn(start)?));
        }
        let queued = self.queue.add(start)?;
        self.show_queue();
        Ok(Added::Waits(queued))
    }

    /// Looks and queues in one step, so that what is asked for twice is sent once.
    fn send_again(&mut self, turn: Option<&TurnId>) -> Result<Added, String> {
        self.forget_ended();
        let last = self.conversation.data().turns.last().map(|turn| turn.id.clone());
        if let Some(waiting) = turn.cloned().or(last).and_then(|turn| self.queue.again(&turn)) {
            return Err(later::waits(&waiting));
        }
        let is_busy = self.running.is_some() || !self.next.is_empty();
        let start = later::again(&self.conversation, turn, is_busy)?;
        self.queue(start).map_err(|error| error.to_string())
    }

    /// When an idle thread has something to say that waits for its time.
    fn next_time(&self) -> Option<i64> {
        let is_idle = self.running.is_none() && self.next.is_empty();
        is_idle.then(|| self.queue.times().min()).flatten()
    }

    fn change_queue(&mut self, change: Change) -> Result<TurnQueue, AgentError> {
        self.forget_ended();
        if let Change::Edit { input, .. } = &change {
            let content = input.clone();
            self.check(&Input {
                content,
                ..Input::default()
            })?;
        }
        if self.queue.change(change)? {
            self.show_queue();
            self.go_on();
        }
        Ok(self.queue.shown())
    }

    fn show_queue(&self) {
        let queue = self.queue.shown();
        {
            let mut data = self.conversation.data();
            data.sends_at_ms = self.queue.times().min();
            data.sends_again = self.queue.sent_again().cloned().collect();
        }
        self.conversation
            .publish(None, EventKind::TurnQueueChanged(TurnQueueChanged { queue }));
    }

    /// Runs a command of the person's own: in the running turn, else in the one that begins next, else in a turn of its own.
    fn run_own(&mut self, command: OwnCommand) -> Started {
        self.forget_ended();
        let item_id = command.item_id.clone();
        let started = |turn, steered, held| Started {
            turn,
            steered,
            command: Some(item_id.clone()),
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
        if let Some(next) = self.next.back_mut() {
            let turn = next.record();
            if let Some(words) = next.words() {
                words.commands.push(queued);
                return started(turn, true, held);
            }
        }
        // Its turn is held, and the command begins with it.
        queued.released = None;
        let words = Words {
            commands: vec![queued],
            ..Words::default()
        };
        let promised = self.promise(Opening::Input(Box::new(words)));
        Started {
            command: Some(item_id),
            ..promised
        }
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

    fn start_task(&mut self, task: Task) -> Result<Started, AgentError> {
        self.forget_ended();
        match task.when_busy {
            WhenBusy::Refuse if self.running.is_some() => return Err(AgentError::TurnRunning),
            WhenBusy::Refuse => {}
            WhenBusy::Replace => {
                if let Some(running) = &self.running {
                    running.turn.stop(InterruptedBy::Replaced);
                }
                self.stop_promised(InterruptedBy::Replaced);
            }
        }
        let Task { kind, work, .. } = task;
        Ok(self.promise(Opening::Task { kind, work }))
    }

    /// What waits behind the running turn will be closed as soon as it begins.
    fn stop_promised(&mut self, by: InterruptedBy) {
        for next in &mut self.next {
            next.stopped.get_or_insert(by);
        }
    }

    /// A turn whose last event is out counts as gone, also where its task has not said so yet.
    fn forget_ended(&mut self) {
        if let Some(running) = self.running.as_ref().filter(|running| running.turn.has_ended()) {
            let id = running.turn.id.clone();
            self.turn_ended(&id);
        }
    }

    /// A turn with the settings of now.
    fn make_turn(&self, promised: &Promised) -> Arc<Turn> {
        let settings = mode::held(&self.settings);
        let profile = permissions::profile(&self.config, &self.settings);
        let profile = match settings.mode {
            Mode::Agent => profile,
            // What is closed stays so.
            Mode::Plan | Mode::Ask => profile.reading_only(),
        };
        let roots = self.roots(&profile);
        let output_schema = match &promised.opening {
            Opening::Input(words) => words.start.output_schema.clone(),
            Opening::Task { .. } | Opening::Mail => None,
        };
        let parts = TurnParts {
            kind: promised.kind(),
            conversation: self.conversation.clone(),
            services: self.services.clone(),
            config: self.config.clone(),
            settings,
            profile,
            roots,
            output_schema,
            base_instructions: self.base_instructions.clone(),
            apart: None,
        };
        let parts = match promised.kind() {
            TurnKind::Review => review::parts(parts),
            _ => parts,
        };
        let turn = Arc::new(Turn::new(promised.id.clone(), parts));
        if !promised.kind().takes_input() {
            turn.pending.close();
        }
        if let Some(by) = promised.stopped {
            turn.stop(by);
        }
        turn
    }

    /// The folders of the workspace as they are now: the editor's, but for the one that the thread was taken out of; the
    /// thread's own; the profile's.
    fn roots(&self, profile: &Profile) -> Vec<PathBuf> {
        let cwd = &self.settings.cwd;
        let is_left = |root: &PathBuf| !cwd.starts_with(root) && self.left.iter().any(|old| old.starts_with(root));
        let mut roots = self.services.workspace.roots();
        roots.retain(|root| !is_left(root));
        let own = profile.own_roots(permissions::home_of(&self.services).as_deref());
        for root in self.settings.runtime_workspace_roots.iter().cloned().chain(own) {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }

    fn begin(&mut self, promised: Promised) {
        let turn = self.make_turn(&promised);
        // It begins with words: for mail alone none is promised while it is quiet.
        self.quiet &= turn.kind() != TurnKind::Regular;
        self.hand_over_mail(&turn);
        let (thread, released) = (self.shared.clone(), promised.released);
        let work = turn.clone();
        let running = match promised.opening {
            Opening::Task { work: task, .. } => Running::start(turn, released, thread, async move {
                match work.cancel.is_cancelled() {
                    true => Ended::Interrupted,
                    false => task(work).await,
                }
            }),
            opening => {
                let words = match opening {
                    Opening::Input(words) => *words,
                    _ => Words::default(),
                };
                let inputs = words.inputs();
                for queued in words.commands {
                    // A new turn takes them.
                    let _taken = person::start(&turn, queued);
                }
                if turn.kind() == TurnKind::OwnCommands {
                    Running::start(turn, released, thread, async move { whole::run_own(&work).await })
                } else {
                    Running::start(
                        turn,
                        released,
                        thread,
                        async move { whole::run(&work, inputs, true).await },
                    )
                }
            }
        };
        self.show_running(Some(running.turn.clone()));
        self.running = Some(running);
    }

    fn show_running(&self, turn: Option<Arc<Turn>>) {
        if let Some(shared) = self.shared.upgrade() {
            shared.face.lock().unwrap_or_else(PoisonError::into_inner).running = turn;
        }
    }

    fn steer(&mut self, expected: TurnId, input: Input) -> Result<Started, AgentError> {
        let command = self.check(&input)?;
        self.forget_ended();
        self.check_room()?;
        if let Some(next) = self.next.iter_mut().find(|next| next.id == expected) {
            let turn = next.record();
            if let Some(words) = next.words() {
                match command {
                    Some(command) => return Ok(self.run_own(command)),
                    None => words.more.push(input.clone()),
                }
                self.mirror(&input);
                return Ok(Started::steered(turn));
            }
            return Err(AgentError::NoTurn {
                expected: Some(expected),
            });
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
                match running.turn.pending.push(input.clone()) {
                    None => {
                        self.mirror(&input);
                        self.person_speaks();
                        Ok(Started::steered(turn))
                    }
                    Some(_) => Err(AgentError::NoTurn {
                        expected: Some(expected),
                    }),
                }
            }
        }
    }

    fn interrupt(&mut self, wanted: Option<TurnId>) -> Result<bool, AgentError> {
        self.forget_ended();
        // What waits behind the running turn was typed before the person pressed stop.
        if let Some(wanted) = &wanted
            && let Some(next) = self.next.iter_mut().find(|next| next.id == *wanted)
        {
            next.stopped.get_or_insert(InterruptedBy::Person);
            return Ok(true);
        }
        if wanted.is_none() {
            self.stop_promised(InterruptedBy::Person);
        }
        match (&self.running, wanted) {
            // Nothing of its own runs; what works for it may.
            (None, None) => {
                let any = self.services.agents.interrupt_below(&self.conversation.id);
                self.quiet |= any;
                Ok(any)
            }
            (None, expected) => Err(AgentError::NoTurn { expected }),
            (Some(running), Some(expected)) if expected != running.turn.id => Err(AgentError::OtherTurn {
                expected,
                running: running.turn.id.clone(),
            }),
            (Some(running), _) => Ok(running.turn.stop(InterruptedBy::Person) || !self.next.is_empty()),
        }
    }

    /// Nothing else is done meanwhile, so no turn begins on what is about to change.
    async fn roll_back(&mut self, num_turns: u32, expected: Option<TurnId>) -> Result<u32, AgentError> {
        self.forget_ended();
        if let Some(expected) = expected
            && self.conversation.data().turns.last().map(|turn| &turn.id) != Some(&expected)
        {
            return Err(AgentError::NotLast { expected });
        }
        if self.running.is_some() {
            return Err(AgentError::Rollback {
                reason: "a turn is running; wait for its end or stop it".to_owned(),
            });
        }
        rollback::roll_back(&self.conversation, num_turns).await
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
        self.show_settings();
        Ok(())
    }

    fn show_settings(&self) {
        if let Some(shared) = self.shared.upgrade() {
            let mut face = shared.face.lock().unwrap_or_else(PoisonError::into_inner);
            face.config = self.config.clone();
            face.settings = self.settings.clone();
            face.thread.cwd.clone_from(&self.settings.cwd);
            face.thread.model_provider.clone_from(&self.settings.model_provider);
        }
        let settings = self.settings.clone();
        self.conversation.publish(
            None,
            EventKind::ThreadConfigured(self.services.configured(&self.config, settings)),
        );
    }

    fn take_up(&mut self, loaded: Loaded) {
        let config = Arc::new(loaded.config);
        if self.config != config {
            self.settings = settings::followed(&self.config, &config, &self.settings);
            self.config = config;
            self.show_settings();
        }
        for warning in self.conversation.new_reports(Subject::Configuration, &loaded.warnings) {
            self.conversation.warn(None, warning.in_words());
        }
    }

    fn turn_ended(&mut self, turn: &TurnId) {
        let Some(Running { turn, .. }) = self.running.take_if(|running| running.turn.id == *turn) else {
            return;
        };
        self.show_running(None);
        let status = turn.status();
        let is_stopped = status == TurnStatus::Interrupted;
        // What the turn did not read came before what it could not be given any more.
        self.mail.splice(..0, turn.pending.take_mail());
        for mail in &mut self.mail {
            mail.wakes &= !is_stopped;
        }
        let by_person = is_stopped && matches!(turn.stopped_by(), InterruptedBy::Person | InterruptedBy::Reviewer);
        // What may wake a sub-agent is decided for its whole family.
        self.quiet |= is_stopped && self.conversation.agent.is_none();
        if (by_person || status == TurnStatus::Failed) && self.queue.pause() {
            self.show_queue();
        }
        self.go_on();
    }

    async fn close(&mut self) {
        for at in self.queue.times() {
            let words = format!(
                "The message that was to be sent at {} was not sent: its conversation was closed before. It is still in \
                 the conversation: send it as a new message.",
                crate::agent::clock(at)
            );
            self.conversation.warn(None, words);
        }
        if let Some(running) = self.running.take() {
            let turn = running.turn.clone();
            running.end(InterruptedBy::Shutdown).await;
            self.mail.extend(turn.pending.take_mail());
        }
        for next in std::mem::take(&mut self.next) {
            // It was promised to the person: their words are kept, and the turn is closed like any other.
            let turn = self.make_turn(&next);
            turn.stop(InterruptedBy::Shutdown);
            if let Opening::Input(words) = next.opening {
                turn.begin(None);
                sampling::take_input(&turn, words.inputs(), true).await;
            }
            turn.end(Ended::Interrupted);
        }
        self.keep_mail();
        self.show_running(None);
        let conversation = &self.conversation;
        let turns = conversation.data().turns.len();
        tracing::info!(thread = %conversation.id, turns, "the thread ends");
        self.services.contributors.stopped(&self.services, conversation).await;
        if let Some(recorder) = &conversation.recorder
            && let Err(error) = recorder.close().await
        {
            tracing::error!(thread = %conversation.id, %error, "the record of a thread could not be finished");
            let message = format!(
                "The conversation could not be recorded to its end: {error}. Its last steps may be missing when it \
                 is resumed. Make sure that the home folder has room and can be written. Your files are as they were left."
            );
            let error = TurnError {
                message,
                kind: TurnErrorKind::Other,
                http_status: None,
                actions: Vec::new(),
            };
            conversation.stream.publish(
                None,
                EventKind::Error(ErrorEvent {
                    error,
                    realtime_id: None,
                }),
            );
        }
        conversation
            .stream
            .publish(None, EventKind::ThreadClosed(ThreadClosed {}));
    }
}

/// The bounds that providers set.
fn check_metadata(metadata: &Metadata) -> Result<(), AgentError> {
    let refuse = |what: String| Err(AgentError::BadMetadata(what));
    if metadata.len() > MOST_METADATA {
        let count = metadata.len();
        return refuse(format!(
            "The metadata has {count} pairs; providers take at most {MOST_METADATA}."
        ));
    }
    for (key, value) in metadata {
        if key.is_empty() || key.chars().count() > LONGEST_KEY {
            return refuse(format!(
                "A metadata key must have 1 to {LONGEST_KEY} characters: {key:?}."
            ));
        }
        if value.chars().count() > LONGEST_VALUE {
            return refuse(format!(
                "The metadata value of {key:?} has more than {LONGEST_VALUE} characters."
            ));
        }
    }
    Ok(())
}

fn is_empty(input: &UserInput) -> bool {
    matches!(input, UserInput::Text { text } if text.trim().is_empty())
}
