//! One session: a thread of ours, shown to the client as it goes on, and the prompts that wait for the end of their turns.

use super::error::{AUTH_REQUIRED, Failure, INTERNAL};
use super::peer::Peer;
use super::serve::Client;
use super::{elicit, options, permission, update};
use crate::agent::Agent;
use crate::agent::stream::Subscription;
use crate::agent::thread::ThreadHandle;
use crate::ids::{ApprovalId, ElicitationId, ItemId, ProposalId, QuestionsId, ThreadId, TurnId};
use crate::patch::hunk::with_hunks;
use crate::protocol::event::{Event, EventKind};
use crate::protocol::item::{ItemStatus, ThreadItem};
use crate::protocol::proposal::{Hunk, HunkStatus};
use crate::protocol::settings::ThreadSettings;
use crate::protocol::turn::{Turn, TurnErrorKind, TurnStatus};
use crate::shown::{self, Eyes};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::task::AbortOnDropHandle;

/// Turns whose end is remembered, for prompts that were taken in their last moment.
const REMEMBERED: usize = 16;
/// The least time between two looks at a running command.
const PAUSE: Duration = Duration::from_millis(200);
/// Kinds of chunks.
const MESSAGE: &str = "agent_message_chunk";
const THOUGHT: &str = "agent_thought_chunk";
/// Bytes of a running command's output that are shown.
const MOST_LIVE: usize = 8 * 1024;

pub(super) struct Session {
    pub(super) thread: ThreadHandle,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Prompts, by the turn whose end is their answer.
    waiting: BTreeMap<TurnId, Vec<Value>>,
    ended: VecDeque<(TurnId, Result<Value, Failure>)>,
}

impl Session {
    /// A session whose thread is shown from here on. What it was shown before is not told again.
    pub(super) fn begin(peer: &Peer, agent: &Agent, client: Client, thread: ThreadHandle) -> Arc<Self> {
        let session = Arc::new(Self {
            thread: thread.clone(),
            state: Mutex::default(),
        });
        let events = thread.subscribe(None);
        let follower = Follower {
            session_id: thread.id().clone(),
            peer: peer.clone(),
            agent: agent.clone(),
            client,
            thread: thread.id().clone(),
            session: Some(session.clone()),
            said: BTreeMap::new(),
            spoke: BTreeMap::new(),
            live: BTreeMap::new(),
            asking: Asking::default(),
            chosen: Chosen::of(&thread.settings()),
            is_titled: thread.snapshot(false).name.is_some() || !thread.snapshot(false).preview.is_empty(),
        };
        tokio::spawn(follower.follow(events));
        session
    }

    /// Stops the running turn, if it is that one. The thread has the word when this returns; nobody waits for its answer.
    pub(super) fn interrupt(&self, turn: Option<TurnId>) {
        let thread = self.thread.clone();
        let mut stopping = async move {
            if let Err(error) = thread.interrupt(turn).await {
                tracing::info!(%error, "nothing to stop");
            }
        }
        .boxed();
        if stopping.as_mut().now_or_never().is_none() {
            tokio::spawn(stopping);
        }
    }

    /// The turn whose end is the answer to a prompt.
    pub(super) fn turn_of(&self, prompt: &Value) -> Option<TurnId> {
        let state = self.state();
        let mut waiting = state.waiting.iter();
        let found = waiting.find(|(_, prompts)| prompts.contains(prompt));
        found.map(|(turn, _)| turn.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A prompt waits for the end of a turn, which may be over.
    pub(super) fn wait_for(&self, peer: &Peer, turn: &TurnId, prompt: Value) {
        let mut state = self.state();
        let ended = state.ended.iter().find(|(ended, _)| ended == turn);
        if let Some((_, answer)) = ended {
            return peer.answer(&prompt, answer.clone());
        }
        state.waiting.entry(turn.clone()).or_default().push(prompt);
    }

    fn ended(&self, peer: &Peer, turn: &TurnId, answer: Result<Value, Failure>) {
        let mut state = self.state();
        for prompt in state.waiting.remove(turn).unwrap_or_default() {
            peer.answer(&prompt, answer.clone());
        }
        if state.ended.len() == REMEMBERED {
            state.ended.pop_front();
        }
        state.ended.push_back((turn.clone(), answer));
    }

    /// The thread is over: nobody waits any more.
    fn closed(&self, peer: &Peer) {
        let waiting = std::mem::take(&mut self.state().waiting);
        for prompt in waiting.into_values().flatten() {
            peer.answer(&prompt, Ok(json!({"stopReason": "cancelled"})));
        }
    }
}

/// What a prompt is answered with.
fn answer(turn: &Turn) -> Result<Value, Failure> {
    let stopped = |reason: &str| Ok(json!({ "stopReason": reason }));
    match (turn.status, &turn.error) {
        (TurnStatus::Interrupted, _) => stopped("cancelled"),
        (TurnStatus::Failed, Some(error)) => match error.kind {
            TurnErrorKind::TooManyRounds | TurnErrorKind::CostLimitExceeded => stopped("max_turn_requests"),
            TurnErrorKind::Incomplete if error.message.contains("max_output_tokens") => stopped("max_tokens"),
            TurnErrorKind::Refused => stopped("refusal"),
            kind => Err(Failure {
                code: match kind {
                    TurnErrorKind::MissingKey | TurnErrorKind::Unauthorized => AUTH_REQUIRED,
                    _ => INTERNAL,
                },
                message: shown::markdown(&error.message),
                data: Some(json!({ "kind": kind })),
            }),
        },
        _ => stopped("end_turn"),
    }
}

/// Questions that are open; dropping one takes it back.
#[derive(Default)]
struct Asking {
    approvals: BTreeMap<ApprovalId, AbortOnDropHandle<()>>,
    proposals: BTreeMap<ProposalId, AbortOnDropHandle<()>>,
    questions: BTreeMap<QuestionsId, AbortOnDropHandle<()>>,
    elicitations: BTreeMap<ElicitationId, AbortOnDropHandle<()>>,
}

/// What the person can choose, as the client knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Chosen {
    mode: &'static str,
    model: String,
    effort: Option<String>,
}

impl Chosen {
    fn of(settings: &ThreadSettings) -> Self {
        Self {
            mode: options::mode_of(settings),
            model: settings.model.clone(),
            effort: settings.effort.clone(),
        }
    }
}

#[derive(Default)]
struct Said {
    bytes: usize,
    /// Of a thought, the part that was shown last.
    part: u32,
    eyes: Eyes,
}

/// Output of a command that runs.
struct Live {
    text: String,
    shown: Instant,
}

/// Shows one thread's events in a session.
struct Follower {
    session_id: ThreadId,
    peer: Peer,
    agent: Agent,
    client: Client,
    thread: ThreadId,
    /// Absent for a sub-agent, of which only the questions are shown.
    session: Option<Arc<Session>>,
    /// What was shown of each message and each thought.
    said: BTreeMap<ItemId, Said>,
    /// Since the person's last words: kinds of chunks that were shown, with the text of the last one.
    spoke: BTreeMap<&'static str, ItemId>,
    live: BTreeMap<ItemId, Live>,
    asking: Asking,
    chosen: Chosen,
    /// The client knows what the conversation is about.
    is_titled: bool,
}

impl Follower {
    /// Boxed, since sub-agents may have some of their own.
    fn follow(mut self, mut events: Subscription) -> BoxFuture<'static, ()> {
        let mut agents: BTreeSet<ThreadId> = BTreeSet::new();
        async move {
            while let Some(event) = events.next().await {
                if let EventKind::AgentStatusChanged(changed) = &event.kind
                    && agents.insert(changed.agent_thread_id.clone())
                    && let Some(thread) = self.agent.thread(&changed.agent_thread_id)
                {
                    let events = thread.subscribe(Some(0));
                    tokio::spawn(self.of_agent(thread.id()).follow(events));
                }
                self.questions(&event);
                if let Some(session) = self.session.clone() {
                    self.show(&session, event).await;
                }
            }
            if let Some(session) = &self.session {
                session.closed(&self.peer);
            }
        }
        .boxed()
    }

    fn of_agent(&self, thread: &ThreadId) -> Self {
        Self {
            session_id: self.session_id.clone(),
            peer: self.peer.clone(),
            agent: self.agent.clone(),
            client: self.client,
            thread: thread.clone(),
            session: None,
            said: BTreeMap::new(),
            spoke: BTreeMap::new(),
            live: BTreeMap::new(),
            asking: Asking::default(),
            chosen: Chosen::default(),
            is_titled: true,
        }
    }

    async fn update(&self, update: Value) {
        let params = json!({"sessionId": self.session_id, "update": update});
        self.peer.notify("session/update", params).await;
    }

    /// Questions are asked while they are open, and taken back when they are settled.
    fn questions(&mut self, event: &Event) {
        let services = self.agent.services().clone();
        let (peer, session) = (self.peer.clone(), self.session_id.clone());
        match &event.kind {
            EventKind::ApprovalRequested(requested) => {
                let approval = requested.approval.clone();
                let id = approval.id().clone();
                let task = tokio::spawn(permission::approval(peer, session, services, approval));
                self.asking.approvals.insert(id, AbortOnDropHandle::new(task));
            }
            EventKind::ApprovalResolved(resolved) => {
                self.asking.approvals.remove(&resolved.approval_id);
            }
            EventKind::ProposalCreated(created) => {
                let proposal = created.proposal.clone();
                if proposal.status.is_waiting() && !proposal.auto_approved {
                    let id = proposal.id.clone();
                    let thread = self.agent.thread(&self.thread);
                    let task = tokio::spawn(permission::proposal(peer, session, thread, services, proposal));
                    self.asking.proposals.insert(id, AbortOnDropHandle::new(task));
                }
            }
            EventKind::ProposalUpdated(updated) if !updated.proposal.status.is_waiting() => {
                self.asking.proposals.remove(&updated.proposal.id);
            }
            EventKind::UserInputRequested(requested) => {
                let request = requested.request.clone();
                let id = request.id.clone();
                let asks = self.client.asks;
                let task = tokio::spawn(async move {
                    match asks.forms {
                        true => elicit::questions(peer, session, services, request).await,
                        false => permission::questions(peer, session, services, request).await,
                    }
                });
                self.asking.questions.insert(id, AbortOnDropHandle::new(task));
            }
            EventKind::UserInputResolved(resolved) => {
                self.asking.questions.remove(&resolved.id);
            }
            EventKind::McpElicitationRequested(requested) => {
                let question = requested.elicitation.clone();
                let id = question.id.clone();
                let task = tokio::spawn(elicit::server(peer, session, self.client.asks, services, question));
                self.asking.elicitations.insert(id, AbortOnDropHandle::new(task));
            }
            EventKind::McpElicitationResolved(resolved) => {
                self.asking.elicitations.remove(&resolved.elicitation_id);
            }
            _ => {}
        }
    }

    async fn show(&mut self, session: &Session, event: Event) {
        match event.kind {
            EventKind::AgentMessageDelta(delta) => {
                let said = self.said.entry(delta.item_id.clone()).or_default();
                said.bytes += delta.delta.len();
                let words = said.eyes.push(&delta.delta);
                self.say(MESSAGE, delta.item_id, &words).await;
            }
            EventKind::ReasoningSummaryDelta(delta) => {
                let said = self.said.entry(delta.item_id.clone()).or_default();
                let is_new_part = said.bytes > 0 && delta.index != said.part;
                said.part = delta.index;
                said.bytes += delta.delta.len();
                let mut words = match is_new_part {
                    true => said.eyes.finish() + update::BETWEEN,
                    false => String::new(),
                };
                words.push_str(&said.eyes.push(&delta.delta));
                self.say(THOUGHT, delta.item_id, &words).await;
            }
            EventKind::ItemStarted(started) => {
                if matches!(started.item, ThreadItem::UserMessage { .. }) {
                    self.person_spoke().await;
                } else if let Some(update) = update::compaction(&started.item).filter(|_| self.client.compactions) {
                    self.update(update).await;
                } else if let Some(mut call) = update::call(&started.item) {
                    call["sessionUpdate"] = json!("tool_call");
                    self.update(call).await;
                }
            }
            EventKind::CommandOutputDelta(delta) => self.live(delta.item_id, &delta.delta).await,
            EventKind::ItemCompleted(completed) => self.completed(&completed.item).await,
            EventKind::PlanUpdated(planned) => self.update(update::plan(&planned.steps)).await,
            EventKind::ThreadConfigured(configured) => self.configured(session, &configured.settings).await,
            EventKind::ThreadNameUpdated(named) => self.title(named.name.as_deref()).await,
            EventKind::TurnStarted(_) if !self.is_titled => {
                self.is_titled = true;
                let preview = session.thread.snapshot(false).preview;
                self.title(Some(preview.as_str()).filter(|preview| !preview.is_empty()))
                    .await;
            }
            EventKind::TokenUsageUpdated(usage) => {
                if let Some(window) = usage.token_usage.model_context_window {
                    let used = usage.token_usage.last.total_tokens;
                    let mut update = json!({"sessionUpdate": "usage_update", "used": used, "size": window});
                    if let Some(cost) = usage.token_usage.cost {
                        update["cost"] = json!({"amount": cost.usd, "currency": "USD"});
                    }
                    self.update(update).await;
                }
            }
            EventKind::Warning(warning) => self.notice("warning", &warning.message).await,
            EventKind::TurnRetrying(retrying) => self.notice("info", &retrying.message).await,
            EventKind::TurnCompleted(completed) => {
                // What never ended, ends here.
                for (id, mut said) in std::mem::take(&mut self.said) {
                    let kind = self.spoke.iter().find(|(_, last)| **last == id);
                    if let Some(kind) = kind.map(|(kind, _)| *kind) {
                        let rest = said.eyes.finish();
                        self.say(kind, id, &rest).await;
                    }
                }
                self.live.clear();
                session.ended(&self.peer, &completed.turn.id, answer(&completed.turn));
            }
            _ => {}
        }
    }

    /// What the person chose, here or elsewhere.
    async fn configured(&mut self, session: &Session, settings: &ThreadSettings) {
        let chosen = Chosen::of(settings);
        if chosen == self.chosen {
            return;
        }
        if chosen.mode != self.chosen.mode {
            self.update(json!({"sessionUpdate": "current_mode_update", "currentModeId": chosen.mode}))
                .await;
        }
        self.chosen = chosen;
        let state = options::state(&self.agent, &session.thread).await;
        self.update(json!({"sessionUpdate": "config_option_update", "configOptions": state["configOptions"]}))
            .await;
    }

    async fn title(&mut self, title: Option<&str>) {
        self.is_titled = true;
        let title = title.map(update::line);
        self.update(json!({"sessionUpdate": "session_info_update", "title": title}))
            .await;
    }

    /// More of a text, in a chunk of this kind. Clients may join what is of a kind, by whatever id: what is of another text stands
    /// apart from what was shown before, and begins outside of its code.
    async fn say(&mut self, kind: &'static str, id: ItemId, words: &str) {
        if words.is_empty() {
            return;
        }
        let mut text = String::new();
        if let Some(before) = self.spoke.get(kind).filter(|last| **last != id).cloned() {
            // The end of its code is its own: in the next text it would open some.
            let rest = self.said.get_mut(&before).map(|said| said.eyes.pause());
            if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
                self.update(update::piece(kind, &before, &rest)).await;
            }
            text.push_str(update::BETWEEN);
        }
        text.push_str(words);
        let update = update::piece(kind, &id, &text);
        self.spoke.insert(kind, id);
        self.update(update).await;
    }

    /// The client shows the person's words, and what comes then behind them, or still at the end of what came before.
    async fn person_spoke(&mut self) {
        for (kind, id) in std::mem::take(&mut self.spoke) {
            if let Some(said) = self.said.get_mut(&id) {
                let rest = said.eyes.leave();
                if !rest.is_empty() {
                    self.update(update::piece(kind, &id, &rest)).await;
                }
            }
        }
    }

    /// Something the person should know that is no part of the answer.
    async fn notice(&mut self, severity: &str, words: &str) {
        if self.client.notices {
            let update = json!({"sessionUpdate": "notice", "severity": severity, "title": shown::markdown(words)});
            return self.update(update).await;
        }
        self.say(THOUGHT, ItemId::fresh(), &shown::markdown(&format!("{words}\n\n")))
            .await;
    }

    /// A running command is looked at now and then; what it printed is told as a whole at its end.
    async fn live(&mut self, id: ItemId, delta: &str) {
        let now = Instant::now();
        let live = self.live.entry(id.clone()).or_insert_with(|| Live {
            text: String::new(),
            shown: now - PAUSE,
        });
        live.text.push_str(delta);
        if live.text.len() > 2 * MOST_LIVE {
            let start = live.text.ceil_char_boundary(live.text.len() - MOST_LIVE);
            live.text.drain(..start);
        }
        if now.duration_since(live.shown) < PAUSE {
            return;
        }
        live.shown = now;
        let content = update::code(&live.text);
        self.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress", "content": [content]}))
            .await;
    }

    async fn completed(&mut self, item: &ThreadItem) {
        self.live.remove(item.id());
        match item {
            ThreadItem::UserMessage { .. } => self.person_spoke().await,
            ThreadItem::AgentMessage { id, text, .. } => {
                // What came without deltas, or after them.
                let mut said = self.said.remove(id).unwrap_or_default();
                let rest = said.eyes.push(text.get(said.bytes..).unwrap_or_default()) + &said.eyes.finish();
                self.say(MESSAGE, id.clone(), &rest).await;
            }
            ThreadItem::Reasoning { id, summary, .. } => {
                let told = self.said.remove(id);
                let rest = match told {
                    Some(mut said) => said.eyes.finish(),
                    None => update::thought(summary),
                };
                self.say(THOUGHT, id.clone(), &rest).await;
            }
            ThreadItem::ExitedReviewMode { id, review, .. } => {
                self.say(MESSAGE, id.clone(), &shown::markdown(review)).await;
            }
            ThreadItem::AgentMail { id, author, text, .. } => {
                let words = shown::markdown(&format!("{author}: {text}\n\n"));
                self.say(THOUGHT, id.clone(), &words).await;
            }
            item => {
                if let Some(update) = update::compaction(item).filter(|_| self.client.compactions) {
                    return self.update(update).await;
                }
                let Some(mut call) = update::call(item) else { return };
                call["sessionUpdate"] = json!("tool_call_update");
                let is_applied = matches!(
                    item,
                    ThreadItem::FileChange {
                        status: ItemStatus::Completed,
                        ..
                    }
                );
                if is_applied && let Some(content) = self.diffs_of(item).await {
                    call["content"] = json!(content);
                }
                self.update(call).await;
            }
        }
    }

    /// A patch that is in the files keeps showing what it changed.
    async fn diffs_of(&self, item: &ThreadItem) -> Option<Vec<Value>> {
        let ThreadItem::FileChange {
            proposal_id: Some(id),
            outcome,
            ..
        } = item
        else {
            return None;
        };
        let (services, id) = (self.agent.services().clone(), id.clone());
        let planned = services.proposals.decided(&id).map(|(_, plan)| plan);
        let read = tokio::task::spawn_blocking(move || services.proposals.read(&id)).await;
        let mut proposal = read.ok()?.ok()?;
        let is_made = |hunk: &Hunk| hunk.status == HunkStatus::Applied;
        proposal
            .files
            .retain(|file| file.hunks.is_empty() || file.hunks.iter().any(is_made));
        for file in &mut proposal.files {
            // Today's text has it already.
            file.current = file.before.clone();
            file.result = file.after.clone();
            let planned = planned
                .iter()
                .flat_map(|plan| &plan.files)
                .find(|planned| planned.path == file.path);
            if let (Some(planned), Some(before)) = (planned, &file.before)
                && !file.hunks.iter().all(is_made)
            {
                let made: Vec<_> = file.hunks.iter().map(is_made).collect();
                file.result = Some(with_hunks(before, &planned.hunks, &made));
            }
        }
        let mut content = update::diffs(&proposal);
        content.extend(outcome.as_deref().map(update::text));
        Some(content)
    }
}
