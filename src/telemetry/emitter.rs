//! The records of one thread: what stands in each, what stands in all, and what never does.

use super::exchange::Asked;
use super::follower::Decision;
use super::line::Line;
use super::record::{Count, Entry, Fields, Place, Record, now};
use super::trace::{Done, Notes, Trace, fresh_span};
use super::{Account, Accounts};
use crate::agent::witness::Witness;
use crate::config::Config;
use crate::ids::{ThreadId, TurnId};
use crate::model::catalogue;
use crate::model::watch::Watch;
use crate::protocol::settings::ThreadSettings;
use crate::secrets::Secrets;
use crate::tools::{Call, Payload, ToolError, ToolOutput};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

pub(super) const CONVERSATION_STARTS: &str = "countersign.conversation_starts";
pub(super) const API_REQUEST: &str = "countersign.api_request";
pub(super) const SSE_EVENT: &str = "countersign.sse_event";
pub(super) const USER_PROMPT: &str = "countersign.user_prompt";
pub(super) const TOOL_DECISION: &str = "countersign.tool_decision";
pub(super) const TOOL_RESULT: &str = "countersign.tool_result";
/// The counter of the person's turns.
pub(super) const TURN_COUNT: &str = "countersign.conversation.turn.count";

/// What stands in the place of a prompt.
const REDACTED: &str = "[REDACTED]";
/// Bytes of a text in a record; what is longer is cut.
const LONGEST: usize = 16 << 10;
/// Beyond that so much is looked at, so that a secret at the cut is seen whole.
const MARGIN: usize = 4 << 10;
/// Calls whose tool is remembered for their decisions.
const MOST_CALLS: usize = 4096;

/// Tells of one thread.
pub(super) struct Emitter {
    me: Weak<Emitter>,
    pub(super) logs: Option<Arc<Line>>,
    metrics: Option<Arc<Line>>,
    pub(super) trace: Option<Trace>,
    thread: ThreadId,
    start: u64,
    secrets: Secrets,
    accounts: Accounts,
    /// Prompts go along as they are.
    shows_prompts: bool,
    /// The editor that the person works in.
    terminal: String,
    state: Mutex<State>,
}

impl std::fmt::Debug for Emitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emitter")
            .field("thread", &self.thread)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    model: String,
    /// The key of the provider is there.
    has_key: bool,
    /// The turns that run, or are about to.
    turns: BTreeMap<TurnId, Turn>,
    /// Tools by the ids of their calls.
    tools: BTreeMap<String, String>,
}

/// What there is of a turn while it runs.
#[derive(Debug)]
pub(super) struct Turn {
    span: [u8; 8],
    start: u64,
    notes: Notes,
    /// Attempts since the last answer, by what they were for.
    attempts: BTreeMap<&'static str, u32>,
}

/// What an emitter is made of.
pub(super) struct Parts {
    pub(super) logs: Option<Arc<Line>>,
    pub(super) metrics: Option<Arc<Line>>,
    pub(super) trace: Option<Trace>,
    pub(super) thread: ThreadId,
    pub(super) secrets: Secrets,
    pub(super) accounts: Accounts,
    pub(super) shows_prompts: bool,
    pub(super) terminal: String,
}

impl Emitter {
    pub(super) fn new(parts: Parts) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            logs: parts.logs,
            metrics: parts.metrics,
            trace: parts.trace,
            thread: parts.thread,
            start: now(),
            secrets: parts.secrets,
            accounts: parts.accounts,
            shows_prompts: parts.shows_prompts,
            terminal: parts.terminal,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread's first record: what it begins with.
    pub(super) fn begins(&self, config: &Config, settings: &ThreadSettings, has_key: bool) {
        {
            let mut state = self.state();
            state.model.clone_from(&settings.model);
            state.has_key = has_key;
        }
        let provider = config.providers.get(&settings.model_provider);
        let window =
            provider.and_then(|provider| catalogue::context_window(&settings.model, provider, config.context_window));
        let window = window.or(config.context_window);
        let compacts_at = config.auto_compact_token_limit;
        let compacts_at = compacts_at.or_else(|| window.map(|window| (u64::from(window) * 9 / 10) as u32));
        let servers: Vec<String> = config.mcp_servers.keys().cloned().collect();
        let fields = Fields::default()
            .with(
                "provider_name",
                provider.map_or(settings.model_provider.as_str(), |provider| provider.name.as_str()),
            )
            .with_some("reasoning_effort", settings.effort.as_deref())
            .with("reasoning_summary", word(&settings.summary))
            .with_some("context_window", window)
            .with_some("max_output_tokens", config.max_output_tokens)
            .with_some("auto_compact_token_limit", compacts_at)
            .with("approval_policy", word(&settings.approval_policy))
            .with("sandbox_policy", word(&settings.sandbox_policy.mode()))
            .with("mcp_servers", servers)
            .with_some("active_profile", config.profile.as_deref());
        self.record(CONVERSATION_STARTS, None, Ok(()), fields);
    }

    /// The thread has other settings.
    pub(super) fn configured(&self, settings: &ThreadSettings) {
        if !settings.model.is_empty() {
            self.state().model.clone_from(&settings.model);
        }
    }

    /// The person has said something, and it was taken.
    pub(super) fn prompt(&self, turn: Option<&TurnId>, text: &str) {
        let shown = match self.shows_prompts {
            true => self.text(text),
            false => REDACTED.to_owned(),
        };
        let fields = Fields::default()
            .with("prompt_length", text.chars().count() as u64)
            .with("prompt", shown);
        self.record(USER_PROMPT, turn, Ok(()), fields);
    }

    /// Whether a call may be carried out. `since` is when that was known, if not now.
    pub(super) fn decision(
        &self,
        turn: Option<&TurnId>,
        call: &str,
        usual: &str,
        decision: Decision,
        since: Option<u64>,
    ) {
        let tool = self.state().tools.get(call).cloned();
        let fields = Fields::default()
            .with("tool_name", tool.as_deref().unwrap_or(usual))
            .with("call_id", call)
            .with("decision", decision.word)
            .with("source", decision.source);
        self.record_at(since.unwrap_or_else(now), TOOL_DECISION, turn, Ok(()), fields);
    }

    /// A request to the model was answered, or was not.
    pub(super) fn request(&self, turn: &TurnId, asked: &Asked, outcome: Result<(), &str>) {
        let fields = Fields::default()
            .with("attempt", asked.attempt)
            .with("duration_ms", milliseconds(asked.began.elapsed()))
            .with("task", asked.task.as_str())
            .with_some("cf_ray", asked.ray.as_deref())
            .with_some("http.response.status_code", asked.status.map(u32::from));
        self.record(API_REQUEST, Some(turn), outcome, fields);
    }

    /// Something came of the model's answer.
    pub(super) fn streamed(&self, turn: &TurnId, outcome: Result<(), &str>, fields: Fields) {
        self.record(SSE_EVENT, Some(turn), outcome, fields);
    }

    /// The thread has ended after so many of the person's turns.
    pub(super) fn ended(&self, turns: u64, is_whole: bool) {
        if let (Some(line), true) = (&self.metrics, turns > 0) {
            line.put(Entry::Count(Count {
                name: TURN_COUNT,
                start: self.start,
                at: now(),
                value: turns,
                fields: self.common(TURN_COUNT, now(), false),
            }));
        }
        let left: Vec<TurnId> = self.state().turns.keys().cloned().collect();
        for turn in left {
            self.turn_ended(&turn, None);
        }
        if let Some(trace) = &self.trace {
            let (word, status) = match is_whole {
                true => ("completed", Ok(())),
                false => ("lost", Err("the thread's events broke off".to_owned())),
            };
            let fields = Fields::default()
                .with("conversation.id", self.thread.as_str())
                .with("turns", turns)
                .with("status", word);
            trace.end(fields, status);
        }
    }

    /// What there is of a turn; from the first time that anybody asks.
    fn with_turn<T>(&self, turn: &TurnId, work: impl FnOnce(&mut Turn) -> T) -> T {
        let mut state = self.state();
        work(state.turns.entry(turn.clone()).or_insert_with(|| Turn {
            span: fresh_span(),
            start: now(),
            notes: Notes::default(),
            attempts: BTreeMap::new(),
        }))
    }

    /// The span of a turn, and which attempt at what this is.
    pub(super) fn attempt(&self, turn: &TurnId, task: &'static str, model: &str) -> ([u8; 8], u32) {
        {
            let mut state = self.state();
            if state.model.is_empty() {
                state.model = model.to_owned();
            }
        }
        self.with_turn(turn, |turn| {
            let attempt = turn.attempts.entry(task).or_default();
            *attempt = attempt.saturating_add(1);
            (turn.span, *attempt)
        })
    }

    /// A request was answered to its end: the next one is a first attempt.
    pub(super) fn answered(&self, turn: &TurnId, task: &'static str) {
        if let Some(turn) = self.state().turns.get_mut(turn) {
            turn.attempts.remove(task);
        }
    }

    /// Notes an event of the protocol in the trace.
    pub(super) fn note(&self, turn: Option<&TurnId>, name: &'static str) {
        let Some(trace) = &self.trace else { return };
        match turn {
            // What comes after a turn's end belongs to the thread.
            Some(turn) => match self.state().turns.get_mut(turn) {
                Some(turn) => turn.notes.add(name),
                None => trace.note(name),
            },
            None => trace.note(name),
        }
    }

    /// A turn runs.
    pub(super) fn turn_began(&self, id: &TurnId) {
        self.with_turn(id, |_| ());
    }

    /// A turn is over.
    pub(super) fn turn_ended(&self, id: &TurnId, outcome: Option<(&str, Result<(), String>)>) {
        let Some(turn) = self.state().turns.remove(id) else {
            return;
        };
        if let Some(trace) = &self.trace {
            let fields = Fields::default()
                .with("turn.id", id.as_str())
                .with_some("status", outcome.as_ref().map(|(word, _)| *word));
            trace.done(Done {
                span: turn.span,
                parent: trace.root(),
                name: "turn".to_owned(),
                is_client: false,
                start: turn.start,
                fields,
                notes: turn.notes,
                status: outcome.map(|(_, outcome)| outcome.map_err(|words| self.text(&words))),
            });
        }
    }

    /// A text as it may be sent: without secrets, and not too long.
    pub(super) fn text(&self, text: &str) -> String {
        let looked_at = &text[..text.floor_char_boundary(LONGEST + MARGIN)];
        let masked = self.secrets.mask(looked_at);
        if masked.len() <= LONGEST && looked_at.len() == text.len() {
            return masked.into_owned();
        }
        // What is masked is shorter, so the half of a secret at the end of what was looked at could come into sight.
        let most = match looked_at.len() == text.len() {
            true => LONGEST,
            false => LONGEST.min(masked.len().saturating_sub(MARGIN)),
        };
        let head = &masked[..masked.floor_char_boundary(most)];
        format!("{head} […]")
    }

    fn record(&self, name: &'static str, turn: Option<&TurnId>, outcome: Result<(), &str>, fields: Fields) {
        self.record_at(now(), name, turn, outcome, fields);
    }

    fn record_at(&self, at: u64, name: &'static str, turn: Option<&TurnId>, outcome: Result<(), &str>, fields: Fields) {
        let Some(line) = &self.logs else { return };
        let mut all = self.common(name, at, true);
        all.0.extend(fields.0);
        let all = all.with_some("error.message", outcome.err().map(|error| self.text(error)));
        line.put(Entry::Record(Record {
            at,
            name,
            is_failure: outcome.is_err(),
            fields: all,
            place: self.place(turn),
        }));
    }

    fn place(&self, turn: Option<&TurnId>) -> Option<Place> {
        let trace = self.trace.as_ref()?;
        let turn = turn.and_then(|turn| Some(self.state().turns.get(turn)?.span));
        Some(trace.place(turn.unwrap_or_else(|| trace.root())))
    }

    /// What stands in everything.
    fn common(&self, name: &str, at: u64, is_event: bool) -> Fields {
        let state = self.state();
        let model = Some(state.model.as_str())
            .filter(|model| !model.is_empty())
            .unwrap_or("unknown");
        let account = self.accounts.get().or_else(|| {
            state.has_key.then(|| Account {
                mode: "ApiKey".to_owned(),
                id: None,
            })
        });
        let fields = match is_event {
            true => Fields::default()
                .with("event.name", name)
                .with("event.timestamp", timestamp(at)),
            false => Fields::default(),
        };
        fields
            .with("conversation.id", self.thread.as_str())
            .with("app.version", env!("CARGO_PKG_VERSION"))
            .with_some("auth_mode", account.as_ref().map(|account| account.mode.as_str()))
            .with_some(
                "user.account_id",
                account.as_ref().and_then(|account| account.id.as_deref()),
            )
            .with("terminal.type", self.terminal.as_str())
            .with("model", model)
            .with("slug", catalogue::family(model).map_or(model, |family| family.prefix))
    }
}

impl Witness for Emitter {
    fn watch(&self, turn: &TurnId) -> Option<Arc<dyn Watch>> {
        let emitter = self.me.upgrade()?;
        Some(Arc::new(super::exchange::Turn {
            emitter,
            id: turn.clone(),
        }))
    }

    fn calling(&self, _turn: &TurnId, call: &Call) {
        let mut state = self.state();
        if state.tools.len() >= MOST_CALLS {
            state.tools.clear();
        }
        state.tools.insert(call.id.clone(), call.tool.clone());
    }

    fn called(&self, turn: &TurnId, call: &Call, outcome: &Result<ToolOutput, ToolError>, took: Duration) {
        let (is_success, output) = match outcome {
            Ok(output) => (output.success == Some(true), self.text(&output.text)),
            Err(error) => (false, self.text(&error.to_string())),
        };
        let arguments = match &call.payload {
            Payload::Function(text) | Payload::Custom(text) => self.text(text),
            Payload::LocalShell(action) => self.text(&serde_json::to_string(action).unwrap_or_default()),
        };
        let fields = Fields::default()
            .with("tool_name", call.tool.as_str())
            .with("call_id", call.id.as_str())
            .with("arguments", arguments)
            .with("duration_ms", milliseconds(took))
            .with("success", if is_success { "true" } else { "false" })
            .with("output", output);
        self.record(TOOL_RESULT, Some(turn), Ok(()), fields);
        if let Some(trace) = &self.trace {
            let start = now().saturating_sub(u64::try_from(took.as_nanos()).unwrap_or(0));
            let running = self.state().turns.get(turn).map(|turn| turn.span);
            let parent = running.unwrap_or_else(|| trace.root());
            trace.done(Done {
                span: fresh_span(),
                parent,
                name: format!("tool {}", call.tool),
                is_client: false,
                start,
                fields: Fields::default().with("call_id", call.id.as_str()),
                notes: Notes::default(),
                status: Some(match is_success {
                    true => Ok(()),
                    false => Err("it did not succeed".to_owned()),
                }),
            });
        }
    }
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A moment as a text that sorts by time, to the millisecond.
fn timestamp(at: u64) -> String {
    let moment = jiff::Timestamp::from_nanosecond(at.into()).unwrap_or_default();
    moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A setting in the word that stands for it in files.
fn word(setting: &impl serde::Serialize) -> String {
    match serde_json::to_value(setting) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(value) => value.to_string(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_masked() {
        let secrets = Secrets::default();
        secrets.learn(["the-secret-of-it"]);
        let emitter = Emitter::new(Parts {
            logs: None,
            metrics: None,
            trace: None,
            thread: "t".into(),
            secrets,
            accounts: Accounts::default(),
            shows_prompts: false,
            terminal: String::new(),
        });
        assert_eq!(emitter.text("a the-secret-of-it b"), "a <secret> b");
        let long = format!("{}the-secret-of-it", "ü".repeat(LONGEST / 2 - 3));
        let sent = emitter.text(&long);
        assert!(!sent.contains("the-s") && sent.len() <= LONGEST + 8, "{}", sent.len());
        let endless = emitter.text(&"x".repeat(10 * LONGEST));
        assert!(endless.ends_with("x […]") && endless.len() <= LONGEST + 8);
        assert_eq!(timestamp(1_700_000_000_123_000_000), "2023-11-14T22:13:20.123Z");
    }
}
