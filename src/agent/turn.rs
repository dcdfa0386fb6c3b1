//! One running turn: what it shows, what it records, and that it ends exactly once.

mod difference;

use super::apart::Apart;
use super::asking::Asking;
use super::conversation::{Along, Conversation};
use super::pending::{Input, Pending};
use super::propose::Misfits;
use super::provider::Provider;
use super::sampling::WEB_SEARCH;
use super::services::Services;
use super::spending::Spending;
use super::thread::opens_at;
use super::undo::Track;
use crate::config::Config;
use crate::config::permissions::Profile;
use crate::ids::{ItemId, TurnId};
use crate::mcp::Server;
use crate::patch::turn_diff::TurnDiff;
use crate::protocol::event::{
    ErrorEvent, EventKind, ItemCompleted, ItemDelta, ItemPartDelta, ItemStarted, ThreadStatusChanged, TurnCompleted,
    TurnRetrying, TurnStarted, Warning,
};
use crate::protocol::item::{Confined, ItemStatus, ThreadItem};
use crate::protocol::permission::Permission;
use crate::protocol::settings::{SandboxMode, ThreadSettings};
use crate::protocol::thread::ThreadStatus;
use crate::protocol::turn::{
    InterruptedBy, Metadata, Turn as TurnRecord, TurnError, TurnKind, TurnStatus, UnansweredInput,
};
use crate::workspace::Workspace;
use difference::Difference;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    Completed,
    Interrupted,
    Failed(TurnError),
}

/// A snapshot of everything a turn works with; later changes of settings do not reach into it.
pub struct Turn {
    pub id: TurnId,
    pub conversation: Arc<Conversation>,
    pub services: Arc<Services>,
    /// The texts that the conversation sees.
    pub workspace: Workspace,
    pub config: Arc<Config>,
    pub settings: ThreadSettings,
    /// What commands may do, as the settings name it; its symbols are looked up when a sandbox is made.
    pub profile: Profile,
    /// Folders of the workspace at the start of the turn: the editor's, the thread's own, the profile's.
    pub roots: Vec<PathBuf>,
    /// The MCP servers of the turn.
    pub servers: Arc<[Arc<Server>]>,
    /// Which model answers; set once, before the first request.
    pub provider: OnceLock<Provider>,
    pub output_schema: Option<serde_json::Value>,
    pub base_instructions: String,
    /// A history of the turn's own, in place of the conversation's.
    pub apart: Option<Apart>,
    /// Fires when the turn is to stop.
    pub cancel: CancellationToken,
    /// Fires when the turn's first event is out.
    pub opened: CancellationToken,
    /// Fires when the turn's last event is out.
    pub closed: CancellationToken,
    /// Ends the person's own commands that run in the turn.
    pub own_commands: CancellationToken,
    /// Wakes the turn where it waits before it asks the model again.
    hurry: Notify,
    /// It does so at this moment.
    waits_to_retry: AtomicBool,
    /// Who asked the turn to stop.
    stopped_by: OnceLock<InterruptedBy>,
    /// What the automatic reviewer has denied in this turn.
    pub denials: AtomicUsize,
    /// Input that came while the turn runs.
    pub pending: Pending,
    /// What is needed to take the turn back.
    pub track: Track,
    /// Narrow grants until the turn ends.
    permissions: Mutex<Vec<Permission>>,
    /// What the client wants the provider to be told with the turn's requests.
    metadata: Mutex<Metadata>,
    /// Questions about commands of the answer that is being carried out.
    pub asking: Asking,
    /// Changes that did not fit.
    pub(super) misfits: Misfits,
    /// What its responses cost.
    pub spending: Arc<Spending>,
    difference: Difference,
    /// Held while an event of the turn is published; taken before the conversation's data, never after.
    shown: Mutex<Shown>,
}

/// What has been shown of the turn so far.
struct Shown {
    kind: TurnKind,
    started_at_ms: i64,
    /// Items begun and not yet done, in their order.
    open: Vec<ThreadItem>,
    /// Items done.
    done: Vec<ThreadItem>,
    /// Items whose stream broke off, and that are said again.
    withdrawn: Vec<ItemId>,
    last_agent_message: Option<String>,
    /// What went with the person's words, once there are any.
    along: Option<Along>,
    /// Questions about commands and permissions that wait for the person.
    approvals: usize,
    /// Questions of the model that wait for the person.
    questions: usize,
    /// The first event is out.
    begun: bool,
    /// The last event is out.
    ended: bool,
    /// How it ended.
    status: TurnStatus,
}

pub struct TurnParts {
    pub kind: TurnKind,
    pub conversation: Arc<Conversation>,
    pub services: Arc<Services>,
    pub config: Arc<Config>,
    pub settings: ThreadSettings,
    pub profile: Profile,
    pub roots: Vec<PathBuf>,
    pub output_schema: Option<serde_json::Value>,
    pub base_instructions: String,
    pub apart: Option<Apart>,
}

impl Turn {
    pub fn new(id: TurnId, parts: TurnParts) -> Self {
        let TurnParts {
            kind,
            conversation,
            services,
            config,
            settings,
            profile,
            roots,
            output_schema,
            base_instructions,
            apart,
        } = parts;
        let shown = Shown {
            kind,
            started_at_ms: super::now_ms(),
            open: Vec::new(),
            done: Vec::new(),
            withdrawn: Vec::new(),
            last_agent_message: None,
            along: None,
            approvals: 0,
            questions: 0,
            begun: false,
            ended: false,
            status: TurnStatus::InProgress,
        };
        let cancel = CancellationToken::new();
        let spending = Spending::below(services.agents.payer(&conversation.id));
        let servers = super::servers::take_up(&services, &conversation);
        let workspace = services.workspace.seen_by(&conversation.id);
        Self {
            id,
            conversation,
            services,
            workspace,
            config,
            settings,
            profile,
            roots,
            servers,
            provider: OnceLock::new(),
            output_schema,
            base_instructions,
            apart,
            own_commands: cancel.child_token(),
            stopped_by: OnceLock::new(),
            denials: AtomicUsize::new(0),
            cancel,
            opened: CancellationToken::new(),
            closed: CancellationToken::new(),
            pending: Pending::default(),
            track: Track::default(),
            permissions: Mutex::default(),
            metadata: Mutex::default(),
            asking: Asking::default(),
            misfits: Misfits::default(),
            spending: Arc::new(spending),
            hurry: Notify::new(),
            waits_to_retry: AtomicBool::new(false),
            difference: Difference::default(),
            shown: Mutex::new(shown),
        }
    }

    /// The model that answers.
    pub fn provider(&self) -> &Provider {
        self.provider.get().expect("set before the first request")
    }

    /// Narrow grants until the turn ends.
    pub fn permissions(&self) -> MutexGuard<'_, Vec<Permission>> {
        self.permissions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn metadata(&self) -> MutexGuard<'_, Metadata> {
        self.metadata.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a command of the turn is confined that asks for nothing else.
    pub fn inside(&self) -> Confined {
        match self.settings.sandbox_policy.mode() {
            SandboxMode::ReadOnly => Confined::ReadOnly,
            SandboxMode::WorkspaceWrite => Confined::Workspace,
            SandboxMode::DangerFullAccess => Confined::Outside,
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows an event of the turn. Once the turn is closed nothing more is shown of it.
    pub fn publish(&self, kind: EventKind) {
        self.publish_open(&self.shown(), kind);
    }

    /// Publishes with the lock held, so that nothing can overtake it, least of all the turn's last event.
    fn publish_open(&self, shown: &Shown, kind: EventKind) {
        if !shown.ended {
            self.conversation.publish(Some(&self.id), kind);
        }
    }

    fn thread_status(&self, status: ThreadStatus) {
        self.conversation
            .publish(None, EventKind::ThreadStatusChanged(ThreadStatusChanged { status }));
    }

    /// Says that the model is asked again, and waits until then, or until the person does not want to wait. False if the turn is stopped
    /// meanwhile.
    pub(super) async fn wait_to_retry(&self, why: TurnRetrying) -> bool {
        let delay = Duration::from_millis(why.delay_ms);
        let hurried = self.hurry.notified();
        self.waits_to_retry.store(true, Ordering::SeqCst);
        self.publish(EventKind::TurnRetrying(why));
        let goes_on = tokio::select! {
            biased;
            () = self.cancel.cancelled() => false,
            () = hurried => true,
            () = tokio::time::sleep(delay) => true,
        };
        self.waits_to_retry.store(false, Ordering::SeqCst);
        goes_on
    }

    /// Ends that wait; false if there is none.
    pub fn retry_now(&self) -> bool {
        let waits = self.waits_to_retry.load(Ordering::SeqCst);
        self.hurry.notify_waiters();
        waits
    }

    pub fn warn(&self, message: String) {
        tracing::warn!(thread = %self.conversation.id, "{message}");
        self.publish(EventKind::Warning(Warning { message }));
    }

    /// Publishes what must be told even if the turn is over: that what was shown of it is settled.
    pub fn publish_always(&self, kind: EventKind) {
        let _in_order = self.shown();
        self.conversation.publish(Some(&self.id), kind);
    }

    /// The turn as a client reads it now.
    pub fn record(&self, status: TurnStatus, error: Option<TurnError>) -> TurnRecord {
        self.record_of(&self.shown(), status, error)
    }

    fn record_of(&self, shown: &Shown, status: TurnStatus, error: Option<TurnError>) -> TurnRecord {
        TurnRecord {
            id: self.id.clone(),
            kind: shown.kind,
            status,
            items: shown.done.iter().chain(&shown.open).cloned().collect(),
            error,
            interrupted_by: (status == TurnStatus::Interrupted).then(|| self.stopped_by()),
            started_at_ms: Some(shown.started_at_ms),
            completed_at_ms: (status != TurnStatus::InProgress).then(super::now_ms),
        }
    }

    /// The turn's first event.
    pub fn begin(&self, context_window: Option<u32>) {
        self.begin_once(&mut self.shown(), context_window);
    }

    fn begin_once(&self, shown: &mut Shown, context_window: Option<u32>) {
        if shown.ended || std::mem::replace(&mut shown.begun, true) {
            return;
        }
        self.thread_status(ThreadStatus::Active);
        let turn = TurnRecord {
            items: Vec::new(),
            ..self.record_of(shown, TurnStatus::InProgress, None)
        };
        self.publish_open(
            shown,
            EventKind::TurnStarted(TurnStarted {
                turn,
                model_context_window: context_window,
            }),
        );
        self.opened.cancel();
    }

    /// Asks the turn to stop; whoever asks first is the one who stopped it. False if it is over already: then it stays as
    /// it ended.
    pub fn stop(&self, by: InterruptedBy) -> bool {
        let shown = self.shown();
        if !shown.ended {
            let _first = self.stopped_by.set(by);
            self.cancel.cancel();
        }
        !shown.ended
    }

    /// A turn that nobody asked to stop is stopped in the person's name.
    pub fn stopped_by(&self) -> InterruptedBy {
        self.stopped_by.get().copied().unwrap_or(InterruptedBy::Person)
    }

    pub fn kind(&self) -> TurnKind {
        self.shown().kind
    }

    /// The person said something in a turn of their own commands, which makes it one like any other.
    pub fn hear(&self) {
        let kind = &mut self.shown().kind;
        if *kind == TurnKind::OwnCommands {
            *kind = TurnKind::Regular;
        }
    }

    /// Keeps what goes with the person's words, which may have to be sent again.
    pub fn goes_along(&self, input: &Input) {
        let mut shown = self.shown();
        match &mut shown.along {
            Some(along) => along.add(input),
            along @ None => *along = Some(input.into()),
        }
    }

    /// The same with what is said of the whole turn.
    fn along(&self, shown: &Shown) -> Along {
        Along {
            output_schema: self.output_schema.clone(),
            metadata: self.metadata().clone(),
            ..shown.along.clone().unwrap_or_default()
        }
    }

    /// An item of this turn, open or done.
    pub fn item(&self, id: &ItemId) -> Option<ThreadItem> {
        let shown = self.shown();
        let mut items = shown.done.iter().chain(&shown.open);
        items.find(|item| item.id() == id).cloned()
    }

    /// All items of this turn so far, those that are open last.
    pub fn items(&self) -> Vec<ThreadItem> {
        let shown = self.shown();
        shown.done.iter().chain(&shown.open).cloned().collect()
    }

    /// How it ended, or that it runs.
    pub fn status(&self) -> TurnStatus {
        self.shown().status
    }

    /// Whether the turn's last event is out.
    pub fn has_ended(&self) -> bool {
        self.shown().ended
    }

    /// An item begins. One that is open already is only brought up to date.
    pub fn start_item(&self, item: ThreadItem) {
        let mut shown = self.shown();
        if shown.ended {
            return;
        }
        if let Some(open) = shown.open.iter_mut().find(|open| open.id() == item.id()) {
            *open = item;
            return;
        }
        if shown.is_over(item.id()) {
            tracing::warn!(item = %item.id(), "an item that is over began once more; it is not shown");
            return;
        }
        shown.open.push(item.clone());
        self.publish_started(&shown, item);
    }

    /// An item is done. Recorded first, then shown. Each item is completed once.
    pub fn complete_item(&self, item: ThreadItem) {
        let mut shown = self.shown();
        if shown.ended || shown.is_over(item.id()) {
            return;
        }
        match shown.open.iter().position(|open| open.id() == item.id()) {
            Some(at) => {
                shown.open.remove(at);
            }
            None => self.publish_started(&shown, item.clone()),
        }
        self.done(&mut shown, item);
    }

    fn publish_started(&self, shown: &Shown, item: ThreadItem) {
        let started_at_ms = super::now_ms();
        self.publish_open(shown, EventKind::ItemStarted(ItemStarted { item, started_at_ms }));
    }

    fn done(&self, shown: &mut Shown, item: ThreadItem) {
        if let ThreadItem::AgentMessage { text, .. } = &item {
            shown.last_agent_message = Some(text.clone());
        }
        shown.done.push(item.clone());
        self.publish_completed(shown, item, false);
    }

    fn publish_completed(&self, shown: &Shown, item: ThreadItem, withdrawn: bool) {
        let completed = ItemCompleted {
            item,
            completed_at_ms: super::now_ms(),
            withdrawn,
        };
        self.publish_open(shown, EventKind::ItemCompleted(completed));
    }

    /// A new round begins: what was said in the ones before is not the turn's last word.
    pub fn begin_round(&self) {
        self.shown().last_agent_message = None;
    }

    /// More text of an open message.
    pub fn message_delta(&self, item_id: &ItemId, delta: &str) {
        let mut shown = self.shown();
        match shown.open_item(item_id) {
            Some(ThreadItem::AgentMessage { text, .. }) => text.push_str(delta),
            _ => return,
        }
        self.publish_open(&shown, EventKind::AgentMessageDelta(text_delta(item_id, delta)));
    }

    /// More text of part `index` of an open reasoning item; `raw` is the reasoning itself, else its summary.
    pub fn reasoning_delta(&self, item_id: &ItemId, index: u32, delta: &str, raw: bool) {
        let mut shown = self.shown();
        let Some(ThreadItem::Reasoning { summary, content, .. }) = shown.open_item(item_id) else {
            return;
        };
        {
            let parts = if raw { content } else { summary };
            // A provider that counts wildly must not make us reserve memory for it.
            let index = (index as usize).min(parts.len());
            if index == parts.len() {
                parts.push(String::new());
            }
            parts[index].push_str(delta);
        }
        let params = ItemPartDelta {
            item_id: item_id.clone(),
            index,
            delta: delta.to_owned(),
        };
        let kind = if raw {
            EventKind::ReasoningDelta(params)
        } else {
            EventKind::ReasoningSummaryDelta(params)
        };
        self.publish_open(&shown, kind);
    }

    /// More output of an open command.
    pub fn output_delta(&self, item_id: &ItemId, delta: &str) {
        self.publish(EventKind::CommandOutputDelta(text_delta(item_id, delta)));
    }

    /// Whether an item is begun and not yet done.
    pub fn is_open(&self, item_id: &ItemId) -> bool {
        self.shown().open_item(item_id).is_some()
    }

    /// The texts of the messages whose stream has not come to its end.
    pub fn streamed(&self) -> Vec<String> {
        let shown = self.shown();
        let texts = shown.open.iter().filter_map(|item| match item {
            ThreadItem::AgentMessage { text, .. } if !text.is_empty() => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    }

    /// Ends what streams and comes to no end any more: it stays as far as it came, and is marked.
    pub fn close_streamed(&self) {
        for item in self.streamed_items() {
            self.complete_item(stopped(item));
        }
    }

    /// The same where it is said again: it is no part of the turn any more, so that nothing stands there twice.
    pub fn withdraw_streamed(&self) {
        for item in self.streamed_items() {
            self.conversation.data().withdrawn.insert(item.id().clone());
            let mut shown = self.shown();
            shown.open.retain(|open| open.id() != item.id());
            shown.withdrawn.push(item.id().clone());
            self.publish_completed(&shown, stopped(item), true);
        }
    }

    fn streamed_items(&self) -> Vec<ThreadItem> {
        let streamed = |item: &&ThreadItem| match item {
            ThreadItem::AgentMessage { .. } | ThreadItem::Reasoning { .. } => true,
            ThreadItem::ToolCall { tool, .. } => tool == WEB_SEARCH,
            _ => false,
        };
        self.shown().open.iter().filter(streamed).cloned().collect()
    }

    /// Whether an item of the conversation had this id before.
    pub fn has_used(&self, id: &ItemId) -> bool {
        {
            let shown = self.shown();
            if shown.is_over(id) || shown.open.iter().any(|open| open.id() == id) {
                return true;
            }
        }
        let data = self.conversation.data();
        if data.withdrawn.contains(id) {
            return true;
        }
        let items = data.turns.iter().flat_map(|turn| &turn.items);
        items.into_iter().any(|item| item.id() == id) || data.history.has_call(id.as_str())
    }

    /// A question is open: the thread waits for the person until the guard is dropped.
    pub fn waiting(&self, what: WaitsFor) -> WaitingGuard<'_> {
        self.count_waiting(what, |count| *count += 1);
        WaitingGuard(self, what)
    }

    fn count_waiting(&self, what: WaitsFor, change: impl FnOnce(&mut usize)) {
        let mut shown = self.shown();
        let before = shown.status();
        change(match what {
            WaitsFor::Approval => &mut shown.approvals,
            WaitsFor::Input => &mut shown.questions,
        });
        let after = shown.status();
        if before != after && !shown.ended {
            self.thread_status(after);
        }
    }

    /// Where a thread stands in which this turn runs.
    pub fn standing(&self) -> ThreadStatus {
        self.shown().status()
    }

    /// Works with the diff of the turn.
    pub fn with_diff<T>(&self, work: impl FnOnce(&mut TurnDiff) -> T) -> T {
        self.difference.with(work)
    }

    /// The diff of the turn, if it is another than was shown last.
    pub fn changed_diff(&self) -> Option<String> {
        self.difference.news(|diff| diff.unified(&self.settings.cwd))
    }

    /// Closes the turn: open items first, then the one closing event. Later calls do nothing. A turn that was asked to
    /// stop in its last moment counts as stopped.
    pub fn end(&self, ended: Ended) {
        let unread = self.pending.close();
        super::review::left(self);
        let mut shown = self.shown();
        if shown.ended {
            return;
        }
        // One that broke off before its first event has a story all the same.
        self.begin_once(&mut shown, None);
        for item in std::mem::take(&mut shown.open) {
            self.done(&mut shown, stopped(item));
        }
        let (status, error) = match ended {
            Ended::Completed if self.cancel.is_cancelled() => (TurnStatus::Interrupted, None),
            Ended::Completed => (TurnStatus::Completed, None),
            Ended::Interrupted => (TurnStatus::Interrupted, None),
            Ended::Failed(error) => (TurnStatus::Failed, Some(error)),
        };
        // Of the person's own commands it knows nothing, and a compaction that was stopped has changed nothing.
        let is_apart = matches!(shown.kind, TurnKind::OwnCommands | TurnKind::Compaction);
        if status == TurnStatus::Interrupted && !is_apart {
            // What the model must know of a stopped turn.
            self.say([super::prompt::interrupted()]);
        }
        if let Some(error) = &error {
            tracing::warn!(thread = %self.conversation.id, turn = %self.id, kind = ?error.kind, "{}", error.message);
            self.publish_open(
                &shown,
                EventKind::Error(ErrorEvent {
                    error: error.clone(),
                    realtime_id: None,
                }),
            );
        }
        let turn = self.record_of(&shown, status, error);
        {
            let mut data = self.conversation.data();
            data.updated_at_ms = super::now_ms();
            data.turns.push(turn.clone());
            if opens_at(&turn).is_some() {
                data.along.insert(self.id.clone(), self.along(&shown));
            }
        }
        self.thread_status(ThreadStatus::Idle);
        let last_agent_message = shown.last_agent_message.clone();
        self.publish_open(
            &shown,
            EventKind::TurnCompleted(TurnCompleted {
                turn,
                last_agent_message,
                unanswered: unread.into_iter().map(UnansweredInput::from).collect(),
                cost: self.spending.cost(),
            }),
        );
        shown.status = status;
        shown.ended = true;
        drop(shown);
        self.closed.cancel();
    }
}

fn text_delta(item_id: &ItemId, delta: &str) -> ItemDelta {
    ItemDelta {
        item_id: item_id.clone(),
        delta: delta.to_owned(),
    }
}

impl Shown {
    /// A yes or no comes before an answer in words.
    fn status(&self) -> ThreadStatus {
        match (self.approvals, self.questions) {
            (0, 0) => ThreadStatus::Active,
            (0, _) => ThreadStatus::WaitingOnUserInput,
            _ => ThreadStatus::WaitingOnApproval,
        }
    }

    /// Whether an item was shown to its end.
    fn is_over(&self, id: &ItemId) -> bool {
        self.done.iter().any(|done| done.id() == id) || self.withdrawn.contains(id)
    }

    fn open_item(&mut self, id: &ItemId) -> Option<&mut ThreadItem> {
        self.open.iter_mut().find(|item| item.id() == id)
    }
}

/// The final form of an item that was stopped before it was done.
fn stopped(mut item: ThreadItem) -> ThreadItem {
    match &mut item {
        ThreadItem::AgentMessage { partial, .. } => *partial = true,
        ThreadItem::CommandExecution { status, .. }
        | ThreadItem::FileChange { status, .. }
        | ThreadItem::ToolCall { status, .. }
        | ThreadItem::CollabAgentToolCall { status, .. }
        | ThreadItem::McpToolCall { status, .. }
        | ThreadItem::Undo { status, .. }
        | ThreadItem::ContextCompaction { status, .. } => *status = ItemStatus::Interrupted,
        ThreadItem::UserMessage { .. }
        | ThreadItem::Reasoning { .. }
        | ThreadItem::Plan { .. }
        | ThreadItem::AgentMail { .. }
        | ThreadItem::CommandChanges { .. }
        | ThreadItem::EnteredReviewMode { .. }
        | ThreadItem::ExitedReviewMode { .. } => {}
    }
    item
}

/// What a turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// A yes or no to a command or a permission.
    Approval,
    /// An answer to a question of the model.
    Input,
}

pub struct WaitingGuard<'a>(&'a Turn, WaitsFor);

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.count_waiting(self.1, |count| *count -= 1);
    }
}
