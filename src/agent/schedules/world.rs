//! The thread of a schedule, the provider behind it, and what everybody saw.

use super::dice::Dice;
use super::script;
use crate::agent::conversation::Conversation;
use crate::agent::editor::{ApplyReply, Editor, EditorChange, Saving, Unsaved};
use crate::agent::history::History;
use crate::agent::thread::{Parts, ThreadHandle};
use crate::agent::{Agent, Setup, settings};
use crate::config::{self, Config, Sources};
use crate::ids::{QueuedId, ThreadId, TurnId};
use crate::model::item::ToolSpec;
use crate::model::{Line, ModelClient};
use crate::protocol::order::Order;
use crate::protocol::permission::Permission;
use crate::protocol::settings::SettingsOverride;
use crate::protocol::thread::{Thread, ThreadMemoryMode, ThreadStatus};
use crate::rehearsal::{Indoors, Script};
use crate::tools::{Call, Host, Registry, Tool, ToolError, ToolOutput, arguments};
use crate::workspace::Workspace;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::Instant;

/// Whether this thread plays a schedule.
pub(super) fn is_playing() -> bool {
    PROVIDER.with_borrow(Option::is_some)
}

thread_local! {
    /// The provider of the schedule that this thread plays.
    static PROVIDER: RefCell<Option<Indoors>> = const { RefCell::new(None) };
}

/// An agent that the schedules of one thread share: its provider is whatever is scripted at the moment.
pub(super) struct Stageless {
    agent: Agent,
    config: Arc<Config>,
    _home: tempfile::TempDir,
}

impl Stageless {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let provider = json!({
            "name": "Rehearsal", "base_url": "http://127.0.0.1:9/v1", "request_max_retries": 2, "stream_max_retries": 2,
        });
        let loaded = config::load(&Sources {
            home: home.path().to_owned(),
            env: BTreeMap::new(),
            client: config::ClientSettings {
                startup: json!({
                    "model": "rehearsal", "model_provider": "rehearsal", "model_providers": {"rehearsal": provider},
                    "sandbox_mode": "read-only", "approval_policy": "on-request",
                })
                .as_object()
                .cloned()
                .expect("a table"),
                ..Default::default()
            },
            overrides: serde_json::Map::new(),
            cwd: Some(home.path().to_owned()),
            ..Sources::default()
        })
        .expect("a configuration");
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        let setup = Setup {
            workspace: Workspace::new(),
            editor: Arc::new(NoEditor),
            home: home.path().to_owned(),
            env: BTreeMap::new(),
            client: Default::default(),
            user_agent: "schedules".to_owned(),
            source: "schedules".to_owned(),
            secrets: Default::default(),
        };
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(Busy::Look),
            Arc::new(Busy::Work),
            Arc::new(Busy::Deaf),
            Arc::new(Ask),
        ];
        let agent = Agent::with(setup, Registry::new(tools), Vec::new());
        let provider = loaded.config.provider("rehearsal").expect("it is configured");
        let line: Line = Arc::new(|headers, body, cut| {
            let provider = PROVIDER.with_borrow(|provider| provider.clone().expect("a schedule is played"));
            Box::pin(async move { provider.answer(headers, body, cut).await })
        });
        let client = ModelClient::new(provider, None, "schedules").over(line);
        agent.services().clients.keep(client);
        Self {
            agent,
            config: Arc::new(loaded.config),
            _home: home,
        }
    }
}

/// What the person has said, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fate {
    /// The thread has it.
    Taken,
    /// It was not accepted.
    Refused,
    /// The person took it out of the queue.
    Removed,
}

#[derive(Default)]
pub(super) struct Record {
    /// Everything, in order, for the report.
    pub(super) story: Vec<String>,
    /// Method and parameters, and when.
    pub(super) events: Vec<(Duration, String, Value)>,
    pub(super) order: Order,
    pub(super) faults: Vec<String>,
    pub(super) words: BTreeMap<String, Fate>,
    /// What the person saw in the queue.
    pub(super) queued: Vec<(QueuedId, String)>,
    /// Turns that the person stopped, and when.
    pub(super) stopped: Vec<(TurnId, Duration)>,
    /// Messages that others sent.
    pub(super) mail: Vec<String>,
    /// Ids in the order in which they were seen: stories of the same seed are the same but for them.
    pub(super) names: BTreeMap<String, usize>,
    pub(super) numbers: u64,
}

pub(super) struct World {
    pub(super) agent: Agent,
    pub(super) thread: ThreadHandle,
    pub(super) provider: Indoors,
    start: Instant,
    record: Mutex<Record>,
}

impl World {
    pub(super) fn new(stageless: &Stageless, dice: &mut Dice) -> Arc<Self> {
        let script = script::make(dice);
        let provider = Indoors::new(Script::from_json(&script).expect("a sound script"));
        PROVIDER.set(Some(provider.clone()));
        let cwd = stageless._home.path().to_owned();
        let settings =
            settings::initial(&stageless.config, cwd.clone(), &SettingsOverride::default()).expect("settings");
        let id = ThreadId::fresh();
        let conversation = Arc::new(Conversation::new(id.clone(), None, History::default()));
        let thread = Thread {
            id,
            preview: String::new(),
            name: None,
            cwd,
            model_provider: settings.model_provider.clone(),
            model: None,
            status: ThreadStatus::Idle,
            created_at_ms: 0,
            updated_at_ms: 0,
            path: None,
            source: String::new(),
            cli_version: String::new(),
            git_info: None,
            forked_from_id: None,
            agent: None,
            archived: false,
            memory_mode: ThreadMemoryMode::default(),
            turns: Vec::new(),
        };
        let thread = ThreadHandle::spawn(Parts {
            conversation,
            services: stageless.agent.services().clone(),
            config: stageless.config.clone(),
            settings,
            base_instructions: Some("Be brief.".to_owned()),
            thread,
            left: Vec::new(),
        });
        let world = Arc::new(Self {
            agent: stageless.agent.clone(),
            thread,
            provider,
            start: Instant::now(),
            record: Mutex::default(),
        });
        world.note(format!("script {script}"));
        let watching = Arc::downgrade(&world);
        let mut events = world.thread.subscribe(None);
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                let Some(world) = watching.upgrade() else { return };
                let params = serde_json::to_value(event.params()).expect("JSON");
                world.saw(event.kind.method(), params);
            }
        });
        world
    }

    pub(super) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("no panic while it is held")
    }

    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Writes down what somebody did.
    pub(super) fn note(&self, what: impl Into<String>) {
        let line = format!("{:>6} {}", self.now().as_millis(), what.into());
        let mut record = self.record();
        let line = record.anonymous(&line);
        record.story.push(line);
    }

    fn saw(&self, method: &str, params: Value) {
        let what = [
            &params["item"]["type"],
            &params["item"]["status"],
            &params["turn"]["status"],
            &params["delta"],
        ];
        let what: Vec<String> = what
            .iter()
            .filter_map(|what| what.as_str().map(str::to_owned))
            .collect();
        let turn = params["turnId"].as_str().unwrap_or_default();
        let method = method.trim_start_matches("countersign/").to_owned();
        self.note(format!("      {method} {turn} {}", what.join(" ")));
        let now = self.now();
        let mut record = self.record();
        if let Err(wrong) = record.order.take(&method, &params) {
            record.faults.push(wrong);
        }
        record.events.push((now, method, params));
    }

    /// Words that nobody has said yet.
    pub(super) fn fresh_words(&self) -> String {
        let mut record = self.record();
        record.numbers += 1;
        format!("word-{}.", record.numbers)
    }

    pub(super) fn fate(&self, words: &str, fate: Fate) {
        self.note(format!("    {words} {fate:?}"));
        self.record().words.insert(words.to_owned(), fate);
    }

    pub(super) fn story(&self) -> Vec<String> {
        self.record().story.clone()
    }
}

/// The schedule is over.
impl Drop for World {
    fn drop(&mut self) {
        PROVIDER.set(None);
    }
}

impl Record {
    /// The same with a number for each id.
    fn anonymous(&mut self, line: &str) -> String {
        let mut shown = String::new();
        for word in line.split(' ') {
            let is_id = word.len() == 36 && word.matches('-').count() == 4;
            if is_id {
                let count = self.names.len();
                let number = *self.names.entry(word.to_owned()).or_insert(count);
                shown.push_str(&format!("#{number} "));
            } else {
                shown.push_str(word);
                shown.push(' ');
            }
        }
        shown.trim_end().to_owned()
    }
}

/// Tools that take their time.
enum Busy {
    /// Runs beside others.
    Look,
    /// Runs alone.
    Work,
    /// The same, and does not hear that the turn is stopped.
    Deaf,
}

#[derive(Deserialize)]
struct HowLong {
    ms: u64,
}

impl Tool for Busy {
    fn spec(&self) -> ToolSpec {
        let name = match self {
            Self::Look => "look",
            Self::Work => "work",
            Self::Deaf => "deaf",
        };
        ToolSpec::Function {
            name: name.to_owned(),
            description: "Takes a while.".to_owned(),
            strict: false,
            parameters: json!({"type": "object", "properties": {"ms": {"type": "integer"}}}),
        }
    }

    fn only_reads(&self) -> bool {
        matches!(self, Self::Look)
    }

    fn look(&self, call: &Call) -> Option<crate::tools::Look> {
        Some(crate::tools::Look {
            title: "Take a while".to_owned(),
            arguments: crate::tools::shown_arguments(call),
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let HowLong { ms } = arguments(call)?;
            let deaf = matches!(self, Self::Deaf);
            let cancelled = host.cancelled();
            tokio::select! {
                biased;
                () = cancelled.cancelled(), if !deaf => Ok(ToolOutput::not_done("stopped")),
                () = tokio::time::sleep(Duration::from_millis(if deaf { ms * 100 } else { ms })) => Ok(ToolOutput::ok("done")),
            }
        })
    }
}

/// Asks the person for something.
struct Ask;

#[derive(Deserialize)]
struct ForWhat {
    host: String,
}

impl Tool for Ask {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: "ask".to_owned(),
            description: "Asks.".to_owned(),
            strict: false,
            parameters: json!({"type": "object", "properties": {"host": {"type": "string"}}}),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn look(&self, call: &Call) -> Option<crate::tools::Look> {
        Some(crate::tools::Look {
            title: "Ask".to_owned(),
            arguments: crate::tools::shown_arguments(call),
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let ForWhat { host: name } = arguments(call)?;
            let wanted = vec![Permission::Host { host: name, port: None }];
            host.request_permissions(call.id.as_str().into(), wanted, None).await
        })
    }
}

struct NoEditor;

impl Editor for NoEditor {
    fn apply(&self, _change: EditorChange) -> BoxFuture<'static, ApplyReply> {
        Box::pin(async { ApplyReply::NoAnswer })
    }

    fn save(&self, _thread: ThreadId, _documents: Vec<Unsaved>) -> BoxFuture<'static, Saving> {
        Box::pin(async { Saving::Over })
    }

    fn has_resource_operations(&self) -> bool {
        false
    }
}
