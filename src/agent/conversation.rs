//! What lasts as long as a thread: its history, its record on disk, its numbers, what was granted.

use super::context::Known;
use super::history::History;
use super::pending::Input;
use super::prompt::Environment;
use super::realtime::Voice;
use super::reviewer::Reviews;
use super::said::Said;
use super::servers::{AllowedTools, ThreadServers};
use super::spending;
use super::stream::{Listening, Stream};
use super::window::Sent;
use super::witness::Witness;
use crate::exec::decide::SessionGrants;
use crate::ids::{ItemId, ThreadId, TurnId};
use crate::model::item::ResponseItem;
use crate::protocol::agent::SubAgent;
use crate::protocol::config::ConfigWarning;
use crate::protocol::event::{EventKind, RawItem, TokenUsageUpdated, Warning};
use crate::protocol::model::{RateLimits, ThreadTokenUsage, TokenUsage};
use crate::protocol::permission::Permission;
use crate::protocol::settings::Mode;
use crate::protocol::turn::{EditorContext, Metadata, Turn};
use crate::store::line::EventMsg;
use crate::store::{Recorder, RolloutItem};
use crate::tools::Tool;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio_util::task::TaskTracker;

pub struct Conversation {
    pub id: ThreadId,
    pub stream: Stream,
    /// Looks at what commands have changed that are still under way, also after their turn.
    pub looks: TaskTracker,
    /// Absent for a thread that leaves nothing on disk.
    pub recorder: Option<Recorder>,
    /// The MCP servers of the thread.
    pub servers: ThreadServers,
    /// Speech beside what is written.
    pub voice: Voice,
    /// What makes it a sub-agent's.
    pub agent: Option<SubAgent>,
    /// Who watches beyond the events; set when the thread begins, if anybody does.
    pub witness: OnceLock<Arc<dyn Witness>>,
    /// What is said of a message that is not whole.
    said: Said,
    data: Mutex<Data>,
}

/// What went with the words of a turn and is in no item of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Along {
    pub context: Option<EditorContext>,
    pub output_schema: Option<Value>,
    pub metadata: Metadata,
    pub spoken: bool,
}

impl Along {
    /// One more input of the turn. What the editor knew first is what counts, and nothing that was left out of any of them.
    pub fn add(&mut self, input: &Input) {
        self.spoken &= input.spoken;
        match (&mut self.context, &input.context) {
            (Some(context), Some(more)) => context.leave_out.extend_from_slice(&more.leave_out),
            (context @ None, more) => context.clone_from(more),
            (Some(_), None) => {}
        }
    }
}

impl From<&Input> for Along {
    fn from(input: &Input) -> Self {
        Self {
            context: input.context.clone(),
            spoken: input.spoken,
            ..Self::default()
        }
    }
}

/// What the person is told of once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    Configuration,
    Rules,
    /// Which model answers, and what is not known of it.
    Model,
}

/// Locked for a few lines at a time, never across an await.
pub struct Data {
    pub history: History,
    /// Said before the first turn, and not yet on the record: a thread without a turn leaves nothing behind.
    unrecorded: Vec<ResponseItem>,
    pub usage: ThreadTokenUsage,
    /// Whether responses went into the usage, with or without tokens that were counted.
    has_responses: bool,
    /// What the provider said last of the account's allowance.
    pub rate_limits: Option<RateLimits>,
    /// What the person allowed for the rest of the session.
    pub grants: SessionGrants,
    /// Folders that the person made writable for the rest of the session.
    pub granted_roots: Vec<PathBuf>,
    /// Narrow grants for the rest of the session.
    pub permissions: Vec<Permission>,
    /// What the person has said yes to of tools of servers.
    pub allowed_tools: AllowedTools,
    /// What the model was last told of its surroundings.
    pub environment: Option<Environment>,
    /// The mode that it was told of.
    pub mode: Mode,
    /// What it was told of the instruction files.
    pub instructions: Known,
    /// The last edit of the person's that it was told of.
    pub told_edits: u64,
    /// The turns so far, for clients that read a live thread.
    pub turns: Vec<Turn>,
    /// Items that were shown and are in no turn, since what they came from broke off or was rolled back. No other gets their
    /// ids.
    pub withdrawn: HashSet<ItemId>,
    /// The person's first words.
    pub preview: String,
    pub updated_at_ms: i64,
    /// The person was told that there are no snapshots.
    pub told_no_snapshot: bool,
    /// They were told that the sandbox lacks something here.
    pub told_weaker: bool,
    /// They were told that not all tools of servers are offered.
    pub told_tools_left_out: bool,
    /// What they were told of a small window.
    pub told_small: Option<String>,
    /// What went along with the last request.
    pub(super) sent: Option<Sent>,
    /// When the first of the inputs is sent that wait for a time, in milliseconds since the epoch.
    pub sends_at_ms: Option<i64>,
    /// Turns that failed and whose message waits to be sent again.
    pub sends_again: Vec<TurnId>,
    /// What went with the words of turns that failed for an allowance.
    pub along: HashMap<TurnId, Along>,
    /// What the automatic reviewer has found.
    pub reviews: Reviews,
    /// What the model is to be told before it is asked again.
    notes: Vec<ResponseItem>,
    /// What the person was told of their rules last.
    reports: HashMap<Subject, Vec<ConfigWarning>>,
    /// Tools that the client brought along.
    pub client_tools: Vec<Arc<dyn Tool>>,
}

/// Whether a folder is there, and no link leads to it.
pub fn is_itself(folder: &Path) -> bool {
    std::fs::canonicalize(folder).is_ok_and(|real| real == folder)
}

impl Data {
    /// The numbers of a conversation that goes on: the latest tells how much its history takes.
    pub fn set_usage(&mut self, usage: ThreadTokenUsage) {
        self.usage = usage;
        self.has_responses |= usage.total.total_tokens > 0;
        self.history.count(usage.last.total_tokens);
    }

    /// Adds one response to the sum, and what it cost.
    fn add_usage(&mut self, last: TokenUsage, usd: Option<f64>) {
        self.usage.cost = spending::with(self.usage.cost, self.has_responses, usd);
        self.has_responses = true;
        let total = &mut self.usage.total;
        total.input_tokens = total.input_tokens.saturating_add(last.input_tokens);
        total.cached_input_tokens = total.cached_input_tokens.saturating_add(last.cached_input_tokens);
        total.cache_write_input_tokens = total
            .cache_write_input_tokens
            .saturating_add(last.cache_write_input_tokens);
        total.output_tokens = total.output_tokens.saturating_add(last.output_tokens);
        total.reasoning_output_tokens = total
            .reasoning_output_tokens
            .saturating_add(last.reasoning_output_tokens);
        total.total_tokens = total.total_tokens.saturating_add(last.total_tokens);
    }

    /// The person opened folders for writing: patches and commands may, from now on.
    pub fn grant(&mut self, folders: &[PathBuf]) {
        for folder in folders {
            if !self.granted_roots.contains(folder) {
                self.granted_roots.push(folder.clone());
            }
        }
    }
}

impl Conversation {
    pub fn new(id: ThreadId, recorder: Option<Recorder>, history: History) -> Self {
        let data = Data {
            history,
            unrecorded: Vec::new(),
            usage: ThreadTokenUsage::default(),
            has_responses: false,
            rate_limits: None,
            grants: SessionGrants::default(),
            granted_roots: Vec::new(),
            permissions: Vec::new(),
            allowed_tools: AllowedTools::default(),
            environment: None,
            instructions: Known::default(),
            mode: Mode::default(),
            told_edits: 0,
            turns: Vec::new(),
            withdrawn: HashSet::new(),
            preview: String::new(),
            updated_at_ms: super::now_ms(),
            told_no_snapshot: false,
            told_weaker: false,
            told_tools_left_out: false,
            told_small: None,
            sent: None,
            sends_at_ms: None,
            sends_again: Vec::new(),
            along: HashMap::new(),
            reviews: Reviews::default(),
            notes: Vec::new(),
            reports: HashMap::new(),
            client_tools: Vec::new(),
        };
        let stream = Stream::new(id.clone());
        if let Some(recorder) = &recorder {
            stream.after(recorder.settled());
        }
        Self {
            stream,
            looks: TaskTracker::new(),
            id,
            recorder,
            servers: ThreadServers::default(),
            voice: Voice::default(),
            agent: None,
            witness: OnceLock::new(),
            said: Said::default(),
            data: Mutex::new(data),
        }
    }

    /// The same as a sub-agent's.
    #[must_use]
    pub fn with_agent(self, agent: Option<SubAgent>) -> Self {
        Self { agent, ..self }
    }

    /// The sub-agent's name.
    pub fn agent_name(&self) -> Option<String> {
        self.agent.as_ref().map(|agent| agent.name.clone())
    }

    pub fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folders that the person opened for writing and that are what they were then: where a link has taken the place
    /// of one, it is not the folder that was named.
    pub fn granted_roots(&self) -> Vec<PathBuf> {
        let granted = self.data().granted_roots.clone();
        granted.into_iter().filter(|folder| is_itself(folder)).collect()
    }

    /// Puts items into the history and onto the record, in the same order.
    pub fn say(&self, items: impl IntoIterator<Item = ResponseItem>) {
        for item in items {
            let mut data = self.data();
            self.record_first(&mut data);
            let line = self.record(RolloutItem::ResponseItem(item.clone()));
            self.add(&mut data, item, line);
        }
    }

    /// Records what was said before the first turn.
    fn record_first(&self, data: &mut Data) {
        for item in std::mem::take(&mut data.unrecorded) {
            self.record(RolloutItem::ResponseItem(item));
        }
    }

    /// Puts a shorter history in the place of the first `replaced` items, on the record too. What was said since stays
    /// behind it. `summary` is for readers that know nothing of replaced histories.
    pub fn replace(&self, replaced: usize, mut items: Vec<ResponseItem>, summary: String) {
        let mut data = self.data();
        self.record_first(&mut data);
        items.extend_from_slice(data.history.items().get(replaced..).unwrap_or_default());
        data.history = History::new(items.clone());
        self.record(RolloutItem::Compacted {
            message: summary,
            replacement_history: Some(items),
        });
    }

    /// Puts items into the history, and onto the record as soon as something else is said.
    pub fn remember(&self, items: impl IntoIterator<Item = ResponseItem>) {
        let mut data = self.data();
        for item in items {
            data.unrecorded.push(item.clone());
            self.add(&mut data, item, 0);
        }
    }

    /// Adds an item to the history and shows it to those who watch that, in one order.
    fn add(&self, data: &mut Data, item: ResponseItem, line: u64) {
        if History::keeps(&item) {
            self.stream.publish_raw(line, || raw_item(&item));
            data.history.push(item);
        }
    }

    /// Events from now on, or after a number; with `raw` the items of the history, too.
    pub fn listen(&self, after: Option<u64>, raw: bool) -> Listening {
        // Locked until the subscriber is there, so that no item is told twice or not at all.
        let data = self.data();
        let so_far = raw.then(|| data.history.items().iter().map(raw_item).collect());
        self.stream.listen(after, so_far)
    }

    /// Keeps something that the model is to know before it is asked again: at any moment, also between a call and its
    /// output.
    pub fn note(&self, words: String) {
        self.note_item(super::prompt::message("user", words));
    }

    /// The same with a message of another role.
    pub fn note_item(&self, item: ResponseItem) {
        self.data().notes.push(item);
    }

    /// What of these reports the person has not been told yet. From now on they have.
    pub fn new_reports(&self, about: Subject, reports: &[ConfigWarning]) -> Vec<ConfigWarning> {
        let told = self.data().reports.insert(about, reports.to_vec()).unwrap_or_default();
        reports
            .iter()
            .filter(|report| !told.contains(report))
            .cloned()
            .collect()
    }

    /// Tells the model what was noted.
    pub fn say_notes(&self) {
        let notes = std::mem::take(&mut self.data().notes);
        self.say(notes);
    }

    /// Says how far the record must have come for the item to be on it.
    pub fn record(&self, item: RolloutItem) -> u64 {
        self.recorder.as_ref().map_or(0, |recorder| recorder.record([item]))
    }

    /// Waits until all that was recorded is in the file, or refused by it; the recorder's own trouble tells the person.
    pub async fn recorded(&self) {
        if let Some(recorder) = &self.recorder
            && let Err(error) = recorder.flush().await
        {
            tracing::debug!(%error, "not on record yet");
        }
    }

    /// Records an event as far as it is kept, then shows it.
    pub fn publish(&self, turn: Option<&TurnId>, kind: EventKind) {
        self.stream.publish_after(turn.cloned(), kind, |event| {
            let Some(recorder) = &self.recorder else { return 0 };
            match &event.kind {
                // Nobody waits for it: what is shown goes first.
                EventKind::AgentMessageDelta(delta) => {
                    let turn = event.at.turn_id.as_ref();
                    self.said.more(turn, &delta.item_id, &delta.delta, recorder);
                    0
                }
                EventKind::ItemCompleted(body) if self.said.ends(body.item.id()) && body.withdrawn => {
                    recorder.record([RolloutItem::EventMsg(EventMsg::AgentMessagePartial {
                        turn_id: event.at.turn_id.clone(),
                        item_id: body.item.id().clone(),
                        text: String::new(),
                        withdrawn: true,
                    })])
                }
                _ => recorder.record(RolloutItem::of_event(event)),
            }
        });
    }

    pub fn warn(&self, turn: Option<&TurnId>, message: String) {
        tracing::warn!(thread = %self.id, "{message}");
        self.publish(turn, EventKind::Warning(Warning { message }));
    }

    /// Adds the usage of one response to the sum, and what it cost; it tells how much the history takes now.
    pub fn add_usage(&self, last: TokenUsage, window: Option<u32>, usd: Option<f64>) {
        let mut data = self.data();
        data.add_usage(last, usd);
        data.usage.last = last;
        data.usage.model_context_window = window;
        data.history.count(last.total_tokens);
    }

    /// Adds the usage of a response to what was not this conversation, and what it cost.
    pub fn add_usage_apart(&self, last: TokenUsage, usd: Option<f64>) {
        self.data().add_usage(last, usd);
    }

    /// The provider finds the conversation too long: the window counts as used up.
    pub fn fill_window(&self, window: Option<u32>) {
        let mut data = self.data();
        data.usage.last.total_tokens = window.unwrap_or(data.usage.last.total_tokens);
        data.usage.model_context_window = window;
        let tokens = data.usage.last.total_tokens;
        data.history.count(tokens);
    }

    /// What an answer said of the account's allowance; what it did not say stays.
    pub fn note_limits(&self, limits: RateLimits) {
        self.data().rate_limits.get_or_insert_default().merge(limits);
    }

    /// The numbers as they stand, for the person.
    pub fn numbers(&self) -> EventKind {
        let data = self.data();
        EventKind::TokenUsageUpdated(TokenUsageUpdated {
            token_usage: data.usage,
            rate_limits: data.rate_limits.clone(),
        })
    }
}

/// An item as those see it who asked for it.
fn raw_item(item: &ResponseItem) -> EventKind {
    let item = serde_json::to_value(item).unwrap_or_else(|error| {
        tracing::error!(%error, "an item of the history cannot be shown");
        serde_json::Value::Null
    });
    EventKind::RawItem(RawItem { item })
}
