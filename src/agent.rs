//! The conversation: threads as actors, turns, history, questions to the person, proposals.
//!
//! Knows no LSP, no HTTP and no editor: what it needs of an editor it asks through [`editor::Editor`], and what there is
//! to see it publishes as events, one stream a thread.

pub mod apart;
pub mod apply;
pub mod approvals;
mod aside;
mod asking;
mod calls;
mod client_tools;
pub mod command;
mod compaction;
mod consult;
pub mod context;
pub mod contributors;
pub mod conversation;
pub mod editor;
pub mod history;
mod host;
mod line;
pub mod mail;
mod mode;
pub mod notifier;
pub mod one_off;
pub mod open;
mod outputs;
pub mod pending;
pub mod permissions;
pub mod person;
pub mod prompt;
pub mod proposals;
mod propose;
pub mod provider;
pub mod questions;
pub mod realtime;
mod reload;
pub mod restore;
pub mod review;
mod reviewer;
mod said;
mod sampling;
#[cfg(test)]
mod schedules;
mod scratch;
pub mod servers;
pub mod services;
pub mod settings;
mod small;
mod spending;
mod stored;
pub mod stream;
pub mod subagents;
pub mod terminals;
pub mod thread;
pub mod turn;
pub mod typed;
pub mod undo;
mod window;
pub mod witness;

pub(crate) use propose::READ_ONLY;

use crate::config::{self, ConfigError, Loaded, Sources};
use crate::exec::ExecError;
use crate::exec::rules::Rules;
use crate::ids::{ItemId, ThreadId};
use crate::protocol::error as kinds;
use crate::protocol::event::{EventKind, ThreadStarted};
use crate::protocol::settings::{SettingsOverride, ThreadSettings};
use crate::protocol::thread::{
    GitInfo, Thread, ThreadListParams, ThreadListResult, ThreadMemoryMode, ThreadOrigin, ThreadStartParams,
    ThreadStatus,
};
use crate::secrets::Secrets;
use crate::snapshot::Snapshots;
use crate::store::{self, Recorder, SessionMeta, StoreError};
use crate::tools::{Registry, dynamic};
use crate::workspace::Workspace;
use contributors::{Beginning, Contributor, Contributors};
use conversation::{Conversation, Subject};
use history::History;
use proposals::ProposalError;
use services::Services;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use stream::Stream;
use thread::ThreadHandle;
use tokio_util::task::TaskTracker;

/// How long steps that must not be broken off may take once everything else has ended.
const LAST_STEPS: Duration = Duration::from_millis(300);

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// A time as people say it: `14:05`, with the day where that is not today.
pub(crate) fn clock(at_ms: i64) -> String {
    clock_in(at_ms, now_ms(), &jiff::tz::TimeZone::system())
}

fn clock_in(at_ms: i64, now_ms: i64, zone: &jiff::tz::TimeZone) -> String {
    let there = |at: i64| jiff::Timestamp::from_millisecond(at).map(|at| at.to_zoned(zone.clone()));
    match (there(at_ms), there(now_ms)) {
        (Ok(at), Ok(now)) if at.date() == now.date() => at.strftime("%H:%M").to_string(),
        (Ok(at), _) => at.strftime("%Y-%m-%d %H:%M").to_string(),
        (Err(_), _) => "an unknown time".to_owned(),
    }
}

/// Why a request to the agent was refused.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("There is no thread {0} in memory. Resume it first, or start a new one.")]
    UnknownThread(ThreadId),
    #[error("Thread {0} has ended. Resume it or start a new one.")]
    ThreadDied(ThreadId),
    #[error("There is nothing to send: the input is empty.")]
    EmptyInput,
    #[error(
        "There is nothing to run. Type a command after the exclamation mark, such as !git status: it runs in your own shell, \
         and the agent hears nothing of it."
    )]
    EmptyCommand,
    #[error("{0}")]
    BadCommand(String),
    #[error("This conversation has no command {0} whose output could be sent along.")]
    UnknownCommand(ItemId),
    #[error("The command {0} still runs. Send its output along when it has ended, or stop it first.")]
    CommandRuns(ItemId),
    #[error(transparent)]
    Prompt(#[from] config::prompts::CallError),
    #[error("The file of what was typed (history.jsonl in the home folder) cannot be read: {0}.")]
    History(std::io::Error),
    #[error("The command could not be run: {}.", in_full(.0))]
    Exec(ExecError),
    #[error("No turn is running{}. Start one instead.", expected.as_ref().map(|id| format!(", so not {id} either")).unwrap_or_default())]
    NoTurn { expected: Option<crate::ids::TurnId> },
    #[error("Turn {expected} is not the one that runs; that is {running}.")]
    OtherTurn {
        expected: crate::ids::TurnId,
        running: crate::ids::TurnId,
    },
    #[error("A turn is running. Wait for its end or stop it, then try again.")]
    TurnRunning,
    #[error("{0} inputs wait in this conversation already, which is the most. Remove some, or wait for their turns.")]
    QueueFull(usize),
    #[error(
        "{0} inputs wait already for the model's next request, which is the most. Wait until it has read them, or stop the turn."
    )]
    InputFull(usize),
    #[error(
        "{0} messages of agents and programs wait already until the model reads them, which is the most; this one was not taken."
    )]
    MailFull(usize),
    #[error(
        "No input {0} waits in this conversation: its turn has begun, or it was removed. Look at the queue as it is now."
    )]
    UnknownQueued(crate::ids::QueuedId),
    #[error("The new order names {0} twice. Name each input once.")]
    QueuedTwice(crate::ids::QueuedId),
    #[error("{0}")]
    BadMetadata(String),
    #[error("This conversation has no turn {0}.")]
    UnknownTurn(crate::ids::TurnId),
    #[error("Turn {expected} is not the last one of this conversation any more, so no turn was dropped.")]
    NotLast { expected: crate::ids::TurnId },
    #[error("No turn was dropped: {reason}. Files stay as they are in any case.")]
    Rollback { reason: String },
    #[error("Turn {0} still runs, so no copy can end with it. Wait for its end, stop it, or fork before it.")]
    TurnStillRuns(crate::ids::TurnId),
    #[error(
        "Thread {0} has no file: it leaves nothing on disk, or nothing was said in it yet. What is asked needs one."
    )]
    NotStored(ThreadId),
    #[error("{0}")]
    BadRequest(&'static str),
    #[error("No realtime conversation runs in this thread. Start one first.")]
    NoRealtime,
    #[error(
        "The voice endpoint takes what is said more slowly than it comes; this was not taken. Wait a moment and say it again."
    )]
    RealtimeBusy,
    #[error("There is no voice {voice:?}. There are: {known}.")]
    UnknownVoice { voice: String, known: String },
    #[error("{0}")]
    BadReview(String),
    #[error("{0}")]
    BadSettings(String),
    #[error(transparent)]
    BadTool(#[from] crate::tools::dynamic::BadTool),
    #[error("Neither a thread id nor a path was given. Name the thread to resume.")]
    NothingToResume,
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Proposal(#[from] ProposalError),
    #[error("This conversation has no MCP server {name:?}. {}", if known.is_empty() { "It has none".to_owned() } else { format!("There are: {known}") })]
    UnknownServer { name: String, known: String },
    #[error("{0}")]
    Server(String),
    #[error("There is no terminal {0}: it was never started, or it has ended and was read to its end.")]
    UnknownTerminal(u32),
    #[error("Terminal {number} refuses: {reason}.")]
    TerminalRefused {
        number: u32,
        reason: crate::exec::terminal::TerminalError,
    },
}

impl AgentError {
    /// Stable name for programs; its JSON-RPC code is in the protocol's table.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnknownThread(_) => kinds::THREAD_NOT_LOADED,
            Self::ThreadDied(_) => kinds::THREAD_CLOSED,
            Self::EmptyInput
            | Self::NothingToResume
            | Self::BadCommand(_)
            | Self::BadTool(_)
            | Self::QueuedTwice(_)
            | Self::BadMetadata(_)
            | Self::BadRequest(_)
            | Self::Prompt(_)
            | Self::UnknownVoice { .. }
            | Self::BadReview(_) => kinds::INVALID_PARAMS,
            Self::Rollback { .. } => kinds::ROLLBACK_FAILED,
            Self::TurnStillRuns(_) => kinds::TURN_RUNNING,
            Self::NotStored(_) => kinds::THREAD_NOT_STORED,
            Self::EmptyCommand => kinds::EMPTY_COMMAND,
            Self::UnknownCommand(_) => kinds::COMMAND_NOT_FOUND,
            Self::CommandRuns(_) => kinds::COMMAND_RUNNING,
            Self::Exec(_) => kinds::EXEC_FAILED,
            Self::NoTurn { .. } => kinds::NO_ACTIVE_TURN,
            Self::OtherTurn { .. } | Self::NotLast { .. } => kinds::TURN_MISMATCH,
            Self::TurnRunning => kinds::TURN_RUNNING,
            Self::QueueFull(_) | Self::InputFull(_) | Self::MailFull(_) => kinds::QUEUE_FULL,
            Self::UnknownQueued(_) => kinds::QUEUED_NOT_FOUND,
            Self::UnknownTurn(_) => kinds::TURN_NOT_FOUND,
            Self::Config(ConfigError::Unreadable { .. } | ConfigError::Open(_)) => kinds::CONFIG_UNREADABLE,
            Self::Config(ConfigError::Syntax { .. }) => kinds::CONFIG_BROKEN,
            Self::BadSettings(_) | Self::Config(_) => kinds::INVALID_CONFIG,
            Self::Store(StoreError::NotFound { .. } | StoreError::NotArchived { .. } | StoreError::BadId { .. }) => {
                kinds::THREAD_NOT_FOUND
            }
            Self::Store(StoreError::Archived { .. }) => kinds::THREAD_ARCHIVED,
            Self::Store(StoreError::InUse { .. }) => kinds::THREAD_IN_USE,
            Self::Store(StoreError::NoTurn { .. }) => kinds::TURN_NOT_FOUND,
            Self::Store(StoreError::Misplaced { .. }) => kinds::INVALID_PARAMS,
            Self::Store(StoreError::BadCursor { .. }) => kinds::INVALID_CURSOR,
            Self::Store(_) | Self::History(_) => kinds::STORE_FAILED,
            Self::Proposal(ProposalError::Unknown(_)) => kinds::PROPOSAL_NOT_FOUND,
            Self::Proposal(ProposalError::Settled(_) | ProposalError::Stopping(_)) => kinds::PROPOSAL_SETTLED,
            Self::Proposal(ProposalError::Conflicting { .. } | ProposalError::NotShown(_)) => kinds::HUNK_CONFLICTING,
            Self::UnknownServer { .. } => kinds::SERVER_NOT_FOUND,
            Self::Server(_) => kinds::SERVER_FAILED,
            Self::NoRealtime => kinds::REALTIME_NOT_RUNNING,
            Self::RealtimeBusy => kinds::REALTIME_BUSY,
            Self::UnknownTerminal(_) => kinds::TERMINAL_NOT_FOUND,
            Self::TerminalRefused { .. } => kinds::TERMINAL_REFUSED,
            Self::Proposal(ProposalError::NotEditable { .. }) => kinds::HUNK_NOT_EDITABLE,
            Self::Proposal(ProposalError::Applied { .. }) => kinds::HUNK_APPLIED,
            Self::Proposal(ProposalError::NoHunk { .. } | ProposalError::NoFile { .. }) => kinds::HUNK_NOT_FOUND,
        }
    }
}

/// A failure with its cause.
fn in_full(error: &ExecError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// What an agent is made of.
pub struct Setup {
    pub workspace: Workspace,
    pub editor: Arc<dyn editor::Editor>,
    pub home: PathBuf,
    pub env: BTreeMap<String, String>,
    /// Settings of the client, beside the configuration files.
    pub client: config::ClientSettings,
    pub user_agent: String,
    pub source: String,
    /// What stands in nothing that leaves: learns keys and tokens of logins and configurations, whenever they change.
    pub secrets: Secrets,
}

/// All live threads and what they share; cheap to clone.
#[derive(Clone)]
pub struct Agent {
    shared: Arc<Shared>,
}

struct Shared {
    services: Arc<Services>,
    client: RwLock<config::ClientSettings>,
    /// The name of the scratch folder of what belongs to no conversation.
    scratch: String,
    /// The person's file as it was last looked at.
    config_stamp: tokio::sync::Mutex<reload::Stamp>,
    /// See [`Agent::typed_in_order`].
    typed: Arc<tokio::sync::Mutex<()>>,
    threads: Mutex<BTreeMap<ThreadId, ThreadHandle>>,
    /// Streams of threads that are not live and have proposals that wait.
    resting: Mutex<BTreeMap<ThreadId, Stream>>,
    /// Makes lists of stored threads quick.
    index: store::Index,
    /// Taken alone by whoever brings a stored thread back, so that what was asked after it finds the thread.
    resuming: tokio::sync::RwLock<()>,
}

/// What a thread begins with.
struct Launch {
    conversation: Arc<Conversation>,
    loaded: Loaded,
    /// Read beforehand: others wait for the list of threads, also those that must not wait for a disk.
    rules: Arc<Rules>,
    settings: ThreadSettings,
    base_instructions: Option<String>,
    thread: Thread,
    /// Folders that it worked in before.
    left: Vec<PathBuf>,
}

/// A thread that was started or resumed.
pub struct Opened {
    pub handle: ThreadHandle,
    /// Instruction files given to the model.
    pub instruction_sources: Vec<PathBuf>,
}

impl Agent {
    pub fn new(setup: Setup) -> Self {
        Self::with(setup, Registry::standard(), Vec::new())
    }

    /// An agent whose model is offered these tools and no others, and with these who hear of its threads beside our own.
    pub fn with(setup: Setup, tools: Registry, contributors: Vec<Arc<dyn Contributor>>) -> Self {
        let proposals = proposals::Proposals::new(setup.workspace.clone(), &setup.home);
        let home = setup.home.clone();
        // Beside everything else: nobody waits for it.
        let swept = std::thread::Builder::new()
            .name("leftovers".to_owned())
            .spawn(move || crate::config::leftovers::sweep_home(&home));
        if let Err(error) = swept {
            tracing::warn!(%error, "it was not looked for what a program that died has left");
        }
        // What commands may write by a standing permission is known before any program of our own is looked for.
        let rules = crate::exec::rules::Cache::default();
        rules.rules(&crate::exec::rules::Sources::new(&setup.home, &[]));
        let services = Services {
            workspace: setup.workspace,
            approvals: approvals::Approvals::default(),
            questions: questions::Questions::default(),
            agents: subagents::Agents::default(),
            proposals,
            contributors: Contributors::with(contributors),
            terminals: terminals::Terminals::default(),
            beside: command::Beside::default(),
            tools,
            servers: crate::mcp::Pool::new(crate::mcp::Logins::new(&setup.home)),
            elicitations: servers::Elicitations::default(),
            account: crate::account::Account::new(&setup.home, setup.secrets.clone()),
            clients: provider::Clients::default(),
            editor: setup.editor,
            snapshots: Snapshots::new(&setup.home, &setup.env),
            rules,
            instructions: Default::default(),
            notifier_problem_shown: Default::default(),
            typed: crate::store::typed::Typed::new(&setup.home),
            findings: review::Findings::default(),
            changing: Arc::default(),
            persons: undo::Persons::default(),
            writers: undo::Writers::default(),
            home: setup.home,
            env: setup.env,
            user_agent: setup.user_agent,
            secrets: setup.secrets,
            steps: TaskTracker::new(),
            source: setup.source,
        };
        let shared = Shared {
            scratch: ThreadId::fresh().to_string(),
            config_stamp: tokio::sync::Mutex::new(reload::Stamp::of(&services.home)),
            typed: Arc::default(),
            index: store::Index::new(&services.home),
            services: Arc::new(services),
            client: RwLock::new(setup.client),
            threads: Mutex::default(),
            resting: Mutex::default(),
            resuming: tokio::sync::RwLock::default(),
        };
        let shared = Arc::new(shared);
        shared.services.agents.belongs_to(&shared);
        Self { shared }
    }

    pub fn services(&self) -> &Arc<Services> {
        &self.shared.services
    }

    fn threads(&self) -> MutexGuard<'_, BTreeMap<ThreadId, ThreadHandle>> {
        self.shared.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the settings of the client; for threads that start from now on.
    pub fn change_client_settings(&self, change: impl FnOnce(&mut config::ClientSettings)) {
        change(&mut self.shared.client.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// The configuration as it stands for a folder.
    pub fn load_config(
        &self,
        cwd: Option<&Path>,
        overrides: Option<&serde_json::Map<String, serde_json::Value>>,
    ) -> Result<Loaded, config::ConfigError> {
        let loaded = config::load(&Sources {
            overrides: overrides.cloned().unwrap_or_default(),
            cwd: cwd.map(Path::to_owned),
            ..self.sources()
        })?;
        // Before anything is done with it, at a reload too.
        let services = self.services();
        services.secrets.learn(loaded.config.secret_values(&services.env));
        Ok(loaded)
    }

    /// The configuration as it would be with the text that a file of it has in the editor, and the name that the file is
    /// known by in it.
    pub fn load_open(
        &self,
        role: &config::open::Role,
        path: &Path,
        text: &str,
    ) -> Result<(PathBuf, Loaded), config::ConfigError> {
        config::open::load_with(role, path, text, self.sources())
    }

    /// What every configuration is made from.
    fn sources(&self) -> Sources {
        let client = self.shared.client.read();
        Sources {
            home: self.services().home.clone(),
            env: self.services().env.clone(),
            client: client.unwrap_or_else(PoisonError::into_inner).clone(),
            ..Sources::default()
        }
    }

    /// Names of instruction files, as the configuration stands for the first folder of the workspace.
    pub fn instruction_names(&self) -> Vec<String> {
        let root = self.services().workspace.roots().into_iter().next();
        let config = self.load_config(root.as_deref(), None).map(|loaded| loaded.config);
        let configured = config.ok().map(|config| config.instruction_names());
        configured.unwrap_or_else(|| config::instructions::NAMES.map(str::to_owned).to_vec())
    }

    /// The first folder of the workspace. Countersign's own is none to work in.
    fn first_root(&self) -> Option<PathBuf> {
        let mut roots = self.services().workspace.roots().into_iter();
        roots.find(|root| *root != self.services().home)
    }

    /// One's turn at what was typed, in the order in which it was asked for: it is written and read aside.
    pub async fn typed_in_order(&self) -> tokio::sync::OwnedMutexGuard<()> {
        self.shared.typed.clone().lock_owned().await
    }

    /// The folder of what belongs to none, and to no conversation: the workspace's first, else a scratch folder, which need
    /// not be there.
    pub fn default_folder(&self) -> PathBuf {
        let scratch = || scratch::named(&self.services().home, &self.shared.scratch);
        self.first_root().unwrap_or_else(scratch)
    }

    /// The folder of a thread that names none: the workspace's first, else a scratch folder of its own.
    fn folder_for(&self, id: &ThreadId) -> PathBuf {
        // What is no id, but a path, names no folder.
        let is_id = uuid::Uuid::try_parse(id.as_str()).is_ok();
        let name = if is_id { id.clone() } else { ThreadId::fresh() };
        let scratch = || scratch::named(&self.services().home, name.as_str());
        self.first_root().unwrap_or_else(scratch)
    }

    /// The scratch folder of a conversation that a file lies in.
    pub fn scratch_around(&self, file: &Path) -> Option<PathBuf> {
        scratch::around(&self.services().home, file)
    }

    /// Starts a thread. All of it, or an error and nothing left behind.
    pub async fn start_thread(&self, params: ThreadStartParams) -> Result<Opened, AgentError> {
        let id = ThreadId::fresh();
        let cwd = params.settings.cwd.clone().unwrap_or_else(|| self.folder_for(&id));
        let client_tools = dynamic::declared(&params.dynamic_tools, &self.services().tools)?;
        let (agent, config, change) = (self.clone(), params.config.clone(), params.settings.clone());
        let read = aside::aside(move || {
            let services = agent.services();
            scratch::make(&services.home, &cwd)?;
            settings::check_folder(&cwd)?;
            let loaded = agent.load_config(Some(&cwd), config.as_ref())?;
            let settings = settings::initial(&loaded.config, cwd, &change)?;
            let mut read = context::read_instructions(services, &services.workspace, &loaded.config, &settings);
            read.1.extend(scratch::closed(services, &loaded.config, &settings));
            let rules = services.rules(&loaded.config);
            Ok::<_, AgentError>((loaded, rules, settings, read))
        });
        let (loaded, rules, settings, (instructions, warnings, known)) = read.await?;
        let base = params
            .base_instructions
            .clone()
            .or_else(|| loaded.config.base_instructions.clone());
        let (git, ()) = tokio::join!(
            git_info(&settings.cwd, &self.services().env),
            self.services().look_at_history(&loaded.config)
        );
        let meta = SessionMeta {
            model_provider: Some(settings.model_provider.clone()),
            instructions: Some(instructions.text.clone()).filter(|text| !text.is_empty()),
            base_instructions: base.clone(),
            dynamic_tools: params.dynamic_tools,
            git,
            ..SessionMeta::new(id.clone(), &settings.cwd, &self.services().source)
        };
        let (git_info, created_at_ms) = (meta.git.clone(), meta.created_at_ms);
        let recorder = match params.ephemeral {
            true => None,
            false => Some(Recorder::create(&self.services().home, meta).await?),
        };
        let path = recorder.as_ref().map(|recorder| recorder.path().to_owned());
        let conversation = Arc::new(Conversation::new(id.clone(), recorder, History::default()));
        conversation.data().client_tools = client_tools;
        let thread = Thread {
            id,
            preview: String::new(),
            name: None,
            cwd: settings.cwd.clone(),
            model_provider: settings.model_provider.clone(),
            model: Some(settings.model.clone()).filter(|model| !model.is_empty()),
            status: ThreadStatus::Idle,
            created_at_ms,
            updated_at_ms: conversation.data().updated_at_ms,
            path,
            source: self.services().source.clone(),
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
            git_info,
            forked_from_id: None,
            agent: None,
            archived: false,
            memory_mode: ThreadMemoryMode::default(),
            turns: Vec::new(),
        };
        let developer = params
            .developer_instructions
            .or_else(|| loaded.config.developer_instructions.clone());
        conversation.remember(developer.map(|text| prompt::message("developer", text)));
        if !instructions.text.is_empty() {
            conversation.remember([prompt::project_instructions(&settings.cwd, &instructions.text)]);
        }
        conversation.data().instructions = known;
        let handle = self.launch(Launch {
            conversation,
            loaded,
            rules,
            settings,
            base_instructions: base,
            thread,
            left: Vec::new(),
        });
        for warning in warnings {
            handle.conversation().warn(None, warning);
        }
        Ok(Opened {
            handle,
            instruction_sources: instructions.sources,
        })
    }

    /// Starts a thread with the settings of another, and nothing of what was said there.
    pub async fn start_beside(&self, thread: &ThreadHandle) -> Result<Opened, AgentError> {
        let now = thread.settings();
        let settings = SettingsOverride {
            model: Some(now.model).filter(|model| !model.is_empty()),
            model_provider: Some(now.model_provider),
            effort: Some(now.effort),
            summary: Some(now.summary),
            cwd: Some(now.cwd),
            approval_policy: Some(now.approval_policy),
            approvals_reviewer: Some(now.approvals_reviewer),
            sandbox_policy: now.permissions.is_none().then_some(now.sandbox_policy),
            permissions: now.permissions,
            runtime_workspace_roots: Some(now.runtime_workspace_roots),
            edit_approval: Some(now.edit_approval),
            editor_context: Some(now.editor_context.into()),
            mode: Some(now.mode),
            service_tier: Some(now.service_tier),
            personality: Some(now.personality),
        };
        let params = ThreadStartParams {
            settings,
            ..ThreadStartParams::default()
        };
        self.start_thread(params).await
    }

    /// Starts the thread's task and publishes its first events: started, configured, then what went wrong on the way. If
    /// the thread has come to life meanwhile, there is only that one.
    fn launch(&self, launch: Launch) -> ThreadHandle {
        let Launch {
            conversation,
            loaded,
            rules,
            settings,
            base_instructions,
            thread,
            left,
        } = launch;
        let mut threads = self.threads();
        let place = match threads.entry(thread.id.clone()) {
            Entry::Occupied(live) => return live.get().clone(),
            Entry::Vacant(place) => place,
        };
        self.wake_stream(&conversation);
        tracing::info!(thread = %thread.id, model = settings.model, "a thread begins");
        conversation.publish(None, EventKind::ThreadStarted(ThreadStarted { thread: thread.clone() }));
        conversation.publish(
            None,
            EventKind::ThreadConfigured(self.services().configured(&loaded.config, settings.clone())),
        );
        for warning in conversation.new_reports(Subject::Configuration, &loaded.warnings) {
            conversation.warn(None, warning.in_words());
        }
        for warning in conversation.new_reports(Subject::Rules, rules.reports()) {
            conversation.warn(None, warning.in_words());
        }
        if let Some(recorder) = &conversation.recorder {
            tokio::spawn(warn_of_trouble(recorder.trouble(), Arc::downgrade(&conversation)));
        }
        self.services().contributors.started(&Beginning {
            services: self.services(),
            conversation: &conversation,
            config: &loaded.config,
            settings: &settings,
            cwd: &settings.cwd,
        });
        place
            .insert(ThreadHandle::spawn(thread::Parts {
                conversation,
                services: self.services().clone(),
                config: Arc::new(loaded.config),
                settings,
                base_instructions,
                thread,
                left,
            }))
            .clone()
    }

    /// A live thread.
    pub fn thread(&self, id: &ThreadId) -> Option<ThreadHandle> {
        self.threads().get(id).cloned()
    }

    /// A live thread, or the error that says what to do.
    pub fn get(&self, id: &ThreadId) -> Result<ThreadHandle, AgentError> {
        self.thread(id).ok_or_else(|| AgentError::UnknownThread(id.clone()))
    }

    /// Takes a message that the person did not write.
    pub async fn send(
        &self,
        params: crate::protocol::agent::ThreadSendParams,
    ) -> Result<crate::protocol::agent::ThreadSendResult, AgentError> {
        subagents::send(self, params).await
    }

    /// A thread that is being closed is no live one any more.
    fn forget(&self, id: &ThreadId) -> Option<ThreadHandle> {
        self.threads().remove(id)
    }

    /// A live thread, or one that is being brought back at this moment.
    pub async fn reach(&self, id: &ThreadId) -> Result<ThreadHandle, AgentError> {
        if let Some(live) = self.thread(id) {
            return Ok(live);
        }
        let _all_are_back = self.shared.resuming.read().await;
        self.get(id)
    }

    /// Which of these files the model of a live thread may not be shown, each with the reason for it.
    pub async fn kept_from_model(
        &self,
        id: &ThreadId,
        paths: Vec<PathBuf>,
    ) -> Result<Vec<permissions::Refused>, AgentError> {
        let thread = self.reach(id).await?;
        // The thread's own: it may have been begun with other values than the files of the configuration say.
        let (settings, config) = (thread.settings(), thread.config());
        let services = self.services().clone();
        aside::aside(move || Ok(permissions::refused(&services, &config, &settings, &paths))).await
    }

    /// Live threads, oldest first.
    pub fn live(&self) -> Vec<ThreadHandle> {
        self.threads().values().cloned().collect()
    }

    /// Reads a thread, live or stored, without loading it.
    pub fn read_thread(&self, id: &ThreadId, include_turns: bool) -> Result<Thread, AgentError> {
        match self.thread(id) {
            Some(handle) => Ok(handle.snapshot(include_turns)),
            None => Ok(self.read_stored(id, include_turns)?),
        }
    }

    /// What a turn of a live or stored thread has changed.
    pub fn turn_diff(
        &self,
        id: &ThreadId,
        turn: Option<&crate::ids::TurnId>,
    ) -> Result<crate::protocol::undo::TurnDiffResult, AgentError> {
        let thread = self.read_thread(id, true)?;
        let running = self.thread(id).and_then(|handle| handle.running_turn());
        undo::diff(self.services(), &thread.turns, running.as_ref(), turn, &thread.cwd)
    }

    /// The MCP servers that a thread has which is started now without a folder of its own.
    pub async fn configured_servers(&self) -> Result<Vec<Arc<crate::mcp::Server>>, AgentError> {
        let agent = self.clone();
        aside::aside(move || {
            let cwd = agent.default_folder();
            let config = agent.load_config(Some(&cwd), None)?.config;
            Ok(servers::configured(agent.services(), &config, &cwd))
        })
        .await
    }

    /// Reads the configuration of MCP servers again, for one live thread or all; their next turns take it up.
    pub async fn refresh_servers(&self, thread: Option<&ThreadId>) -> Result<(), AgentError> {
        let threads = match thread {
            Some(id) => vec![self.reach(id).await?],
            None => self.live(),
        };
        for thread in threads {
            let cwd = thread.settings().cwd;
            let (agent, place, config) = (self.clone(), cwd.clone(), thread.config());
            let load = move || agent.load_config(Some(&place), Some(&config.overrides));
            let loaded = aside::aside(load).await?;
            for warning in &loaded.warnings {
                tracing::warn!("{}", warning.in_words());
            }
            servers::want(thread.conversation(), &loaded.config, &cwd);
        }
        Ok(())
    }

    pub fn list_threads(&self, params: &ThreadListParams) -> Result<ThreadListResult, AgentError> {
        let provider = self
            .load_config(None, None)
            .map(|loaded| loaded.config.model_provider)
            .unwrap_or_default();
        if params.origin == ThreadOrigin::Codex {
            return Ok(self.list_of_others(params)?);
        }
        let recorders = self.live().into_iter();
        let written: Vec<PathBuf> = recorders
            .filter_map(|live| Some(live.conversation().recorder.as_ref()?.path().to_owned()))
            .collect();
        let mut page = self.shared.index.list(params, &provider, &written)?;
        for thread in &mut page.data {
            if let Some(live) = self.thread(&thread.id) {
                thread.status = live.snapshot(false).status;
            }
        }
        Ok(page)
    }

    /// Closes all threads, side by side: turns are stopped, records written.
    pub async fn shutdown(&self) {
        self.services().proposals.keep_for_later().await;
        let threads: Vec<_> = std::mem::take(&mut *self.threads()).into_values().collect();
        futures::future::join_all(threads.iter().map(ThreadHandle::close)).await;
        self.services().servers.close().await;
        self.services().account.close();
        // An authorization server that takes its time need not be told.
        let _in_time = tokio::time::timeout(LAST_STEPS, self.services().account.told()).await;
        let steps = &self.services().steps;
        steps.close();
        if tokio::time::timeout(LAST_STEPS, steps.wait()).await.is_err() {
            tracing::error!("a change of files was still under way at the end");
        }
    }
}

/// Says once when the record stops taking lines, and when it takes them again.
async fn warn_of_trouble(
    mut trouble: tokio::sync::watch::Receiver<Option<String>>,
    conversation: std::sync::Weak<Conversation>,
) {
    while trouble.changed().await.is_ok() {
        let text = trouble.borrow_and_update().clone();
        let Some(conversation) = conversation.upgrade() else {
            return;
        };
        let text = text.unwrap_or_else(|| "The conversation is being recorded again; nothing was lost.".to_owned());
        conversation.warn(None, text);
    }
}

/// Commit, branch and remote of a folder; nothing outside a repository.
async fn git_info(cwd: &Path, env: &BTreeMap<String, String>) -> Option<GitInfo> {
    let info = crate::exec::git::info(cwd, env).await?;
    Some(GitInfo {
        sha: info.sha,
        branch: info.branch,
        origin_url: info.origin_url,
    })
}
