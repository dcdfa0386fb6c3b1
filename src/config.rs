//! What the person has configured: layers of `config.toml`, the project's, the editor's and a request's own.
//!
//! [`load`] never gives up on what others wrote: a broken file or a key that does not fit costs itself only
//! and is reported with its line. Only the overrides of a request can fail as a whole, since whoever made it
//! waits for the answer. Nothing here reads the process's environment; see [`Sources`].

pub mod bounds;
mod check;
pub mod consent;
mod described;
pub mod edit;
mod effective;
pub mod environment;
mod file;
pub mod import;
pub mod instructions;
mod keys;
pub(crate) mod layers;
pub(crate) mod leftovers;
mod load;
pub mod login;
pub mod mcp;
pub mod models;
pub mod network;
pub mod open;
pub mod otel;
pub(crate) mod own_file;
pub mod permissions;
mod project_servers;
pub mod prompts;
pub mod provider;
mod redact;
pub mod requests;
pub mod schema;
mod spelling;
pub mod startup;
pub(crate) mod tree;

use crate::private::{self, OpenToOthers};
use crate::protocol::config::{ConfigReadResult, ConfigWarning};
use crate::protocol::realtime::RealtimeVersion;
use crate::protocol::settings::{
    ApprovalPolicy, ApprovalsReviewer, EditApproval, EditorContextSettings, Personality, ReasoningSummary, SandboxMode,
    SandboxPolicy,
};
use bounds::Bounds;
use check::{Checker, Layer};
use consent::Refused;
use environment::EnvironmentPolicy;
pub use layers::{Origin, Origins};
pub use load::load;
use login::Login;
use mcp::ServerSettings;
use models::ModelSettings;
use network::Network;
use otel::{Feedback, Otel};
use permissions::{Profiles, Subject};
use provider::{MissingKey, Provider};
pub(crate) use redact::{is_no_secret, secrets_of_address};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything the configuration is made from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Countersign's own folder; see [`home`].
    pub home: PathBuf,
    /// The environment of the process.
    pub env: BTreeMap<String, String>,
    /// What the client says, at its start and later.
    pub client: ClientSettings,
    /// Overrides of one request, by key; dots lead into tables.
    pub overrides: Map<String, Value>,
    /// The folder whose project layers count.
    pub cwd: Option<PathBuf>,
    /// Texts that are taken in the place of the files with these names.
    pub open: BTreeMap<PathBuf, String>,
}

/// Settings that come by the client.
#[derive(Clone, Debug, Default)]
pub struct ClientSettings {
    /// Those of the command that started the server; see [`startup`].
    pub startup: Map<String, Value>,
    /// The editor's, where the client vouches that no workspace has put them there.
    pub vouched: Option<Value>,
    /// The editor's: `initializationOptions`, or the section `countersign` of its configuration. A workspace may have put
    /// them there.
    pub sent: Option<Value>,
    /// What of `sent`, and of the overrides of requests, the person has allowed.
    pub allowed: consent::Allowed,
    /// The folders of the workspace that they have allowed it for; absent where each value says its own. None: a client without
    /// folders, until it ends.
    pub allowed_in: Option<Vec<PathBuf>>,
}

impl ClientSettings {
    /// What the person has allowed for conversations in a folder.
    fn allowed_for(&self, folder: Option<&Path>) -> &consent::Allowed {
        static NOTHING: consent::Allowed = consent::Allowed::new();
        // By where they really are: a link in the workspace, or `..`, leads to a folder that is not in it.
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let is_in = |folder: &Path, root: &Path| {
            let folder = real(folder);
            folder.starts_with(real(root)) && !folder.components().any(|part| part == std::path::Component::ParentDir)
        };
        let is_within = |roots: &Vec<PathBuf>| {
            roots.is_empty() || folder.is_none_or(|folder| roots.iter().any(|root| is_in(folder, root)))
        };
        match self.allowed_in.as_ref().is_none_or(is_within) {
            true => &self.allowed,
            false => &NOTHING,
        }
    }
}

/// The result of [`load`].
#[derive(Clone, Debug)]
pub struct Loaded {
    pub config: Config,
    /// The layer that each top-level key came from: `built-in`, a file's path, `editor` or `request`.
    pub origins: BTreeMap<String, String>,
    /// Where each single value comes from.
    pub leaves: Origins,
    /// What the person should mend.
    pub warnings: Vec<ConfigWarning>,
    /// Settings of the editor that do not count without the person's word.
    pub refused: Vec<Refused>,
    /// A file of the person's is there and says nothing: it is no TOML, cannot be read, or others can write it.
    pub is_lost: bool,
    /// Known keys that do nothing yet; for `countersign doctor`, not for the editor.
    pub notes: Vec<ConfigWarning>,
    /// The effective values by key, secrets included; see [`Loaded::read_result`].
    pub values: Value,
}

/// How many agents there may be in one conversation (`[agents]`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Those that are not closed.
    pub threads: usize,
    /// 1: agents start no agents.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { threads: 6, depth: 1 }
    }
}

/// Who is asked for work beside the conversation; what is absent is the thread's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Helper {
    pub model: Option<String>,
    /// Id of a provider that is known.
    pub provider: Option<String>,
}

impl Helper {
    /// Whether the thread's own model is meant.
    pub fn is_thread(&self) -> bool {
        *self == Self::default()
    }
}

/// The effective values.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub home: PathBuf,
    /// Absent: the provider's default.
    pub model: Option<String>,
    /// Who reviews.
    pub review_by: Helper,
    /// Who sums up long conversations.
    pub compact_by: Helper,
    /// Who says how risky a command is, and answers questions in the person's place.
    pub approvals_by: Helper,
    /// Id of a provider; see [`Config::provider`].
    pub model_provider: String,
    /// Whether someone chose the provider, so that no local server is looked for in its place.
    pub model_provider_chosen: bool,
    pub providers: BTreeMap<String, Provider>,
    /// How the person may sign in.
    pub login: Login,
    /// The MCP servers that are switched on, by their names.
    pub mcp_servers: BTreeMap<String, ServerSettings>,
    /// How one signs in to them.
    pub mcp_logins: mcp::Login,
    /// Why there are none, where the configuration of all of them cannot be read.
    pub mcp_problem: Option<ConfigWarning>,
    pub approval_policy: ApprovalPolicy,
    /// Who answers the questions that a policy asks.
    pub approvals_reviewer: ApprovalsReviewer,
    /// `approvals.assess_risk`: have a model say how risky a command is before the person is asked about it.
    pub assess_risk: bool,
    pub sandbox_policy: SandboxPolicy,
    /// Id of the permission profile that threads begin with, in place of `sandbox_policy`.
    pub default_permissions: Option<String>,
    /// The permission profiles there are.
    pub permissions: Profiles,
    /// What neither commands in the sandbox nor tools may read, beside what a profile says.
    pub unreadable: Vec<Subject>,
    /// Hosts that commands which may write the workspace reach by name where their network is off.
    pub network_hosts: Vec<(String, Option<u16>)>,
    /// What requests of commands to hosts carry, and may ask for.
    pub requests: requests::Requests,
    /// Whether the places where keys are kept usually belong to it.
    pub unreadable_defaults: bool,
    /// Names that commands leave as they are at every depth, beside those that other programs act on by themselves.
    pub protected: Vec<String>,
    /// Names among those that commands may write all the same.
    pub unprotected: Vec<String>,
    /// Which variables reach commands.
    pub environment: EnvironmentPolicy,
    /// Reasoning effort; absent: the model's default.
    pub effort: Option<String>,
    pub summary: ReasoningSummary,
    /// Absent: as the catalogue says.
    pub supports_reasoning_summaries: Option<bool>,
    pub verbosity: Option<String>,
    /// Tokens; absent: as the catalogue says.
    pub context_window: Option<u32>,
    pub max_output_tokens: Option<u32>,
    /// Tokens at which the conversation is compacted; absent: 90 % of the window; 0: never by itself.
    pub auto_compact_token_limit: Option<u32>,
    /// Replaces the built-in request for a summary.
    pub compact_prompt: Option<String>,
    /// How urgent requests are, in the provider's words.
    pub service_tier: Option<String>,
    pub personality: Personality,
    /// Tokens of a tool's output that the model gets.
    pub tool_output_token_limit: Option<u32>,
    /// Replaces the built-in instructions.
    pub base_instructions: Option<String>,
    /// Becomes a developer message.
    pub developer_instructions: Option<String>,
    /// The person's own instructions, put before the project's documents.
    pub user_instructions: Option<String>,
    /// Where `base_instructions` were read from.
    pub instructions_file: Option<PathBuf>,
    /// Bytes of all `AGENTS.md` of a project together; 0 turns them off.
    pub project_doc_max_bytes: usize,
    /// Names looked for where a folder has no `AGENTS.md`; each stays in the folder.
    pub project_doc_fallback_filenames: Vec<String>,
    /// Names looked for beside it, such as `CLAUDE.md` and `.github/copilot-instructions.md`; each stays in the folder.
    pub project_doc_also_filenames: Vec<String>,
    /// Names that mark the root of a project.
    pub project_root_markers: Vec<String>,
    pub show_raw_agent_reasoning: bool,
    pub hide_agent_reasoning: bool,
    pub history: History,
    /// A program to start when a turn ends, with its arguments.
    pub notify: Vec<String>,
    /// Tell of it in the editor too.
    pub notify_in_editor: bool,
    /// `user_commands.sandboxed`: the person's own commands run in the thread's sandbox, and not with the person's rights.
    pub user_commands_sandboxed: bool,
    pub edits: Edits,
    /// What of the editor the model is told.
    pub editor_context: EditorContextSettings,
    /// Whether the model is offered a tool that proposes changes. Without it, patches in shell commands still count.
    pub include_apply_patch_tool: bool,
    /// Requests to the model after which a turn ends.
    pub max_requests_per_turn: u32,
    /// US dollars after which a turn ends; absent: never.
    pub max_cost_per_turn: Option<f64>,
    /// What the person says of single models, by name.
    pub models: BTreeMap<String, ModelSettings>,
    pub features: BTreeMap<String, bool>,
    /// `use_experimental_unified_exec_tool`: see [`Config::unified_exec`].
    pub unified_exec_tool: Option<bool>,
    /// `web_search`: see [`Config::web_search`].
    pub web_search_key: Option<WebSearch>,
    /// The provider may keep the answers (`disable_response_storage = false`).
    pub stores_answers: bool,
    /// Whether the person has called the project trusted.
    pub trusts_project: bool,
    /// Folders that hold the project's own rules on commands, outermost first; none of a project that is not trusted.
    pub rule_folders: Vec<PathBuf>,
    /// Where and how to speak.
    pub realtime: Realtime,
    /// How many agents may work for agents, and how deep.
    pub agents: Limits,
    /// How much a command may take (`[limits]`).
    pub bounds: Bounds,
    /// How long a tool of the client's may take to answer; absent: without end.
    pub dynamic_tool_timeout: Option<Duration>,
    /// Folders that hold the project's own prompts, outermost first; none of a project that is not trusted.
    pub prompt_folders: Vec<PathBuf>,
    /// Longest wait for a command in a terminal that nothing is typed into.
    pub background_terminal_max_timeout: Duration,
    /// Where telemetry goes; nowhere unless the person says.
    pub otel: Otel,
    /// Where feedback may be sent; nowhere unless the person says.
    pub feedback: Feedback,
    /// How services beyond this machine are reached.
    pub network: Network,
    /// The profile in force.
    pub profile: Option<String>,
    /// The profiles there are.
    pub profiles: Vec<String>,
    /// What the request overrode that made this, so that it can be made again; see [`Sources::overrides`].
    pub overrides: Map<String, Value>,
}

/// How far a search of the provider's reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebSearch {
    Disabled,
    /// What the provider has kept.
    #[serde(alias = "indexed")]
    Cached,
    Live,
}

/// `[history]`: the file of the person's prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// Keep it.
    pub save: bool,
    pub max_bytes: Option<u64>,
}

/// `[realtime]`: the endpoint for speech.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Realtime {
    pub version: RealtimeVersion,
    /// Absent: the provider's.
    pub base_url: Option<String>,
    /// Absent: [`crate::realtime::USUAL_MODEL`].
    pub model: Option<String>,
    pub voice: Option<String>,
    /// In the place of the built-in ones.
    pub instructions: Option<String>,
    /// Whether the voice is told what the written conversation is about.
    pub startup_context: Option<bool>,
    /// How long it may take until the endpoint is ready; absent: [`crate::realtime::START_LIMIT`].
    pub start_limit: Option<Duration>,
}

/// `[edits]`: how the agent's changes to files are decided and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edits {
    /// Which patches are applied without asking.
    pub approve: EditApproval,
    /// An accepted hunk is applied at once; else once all of its proposal is decided.
    pub applies_each: bool,
    /// Show hunks that wait as diagnostics of severity hint, in editors without our plugin.
    pub hints: bool,
}

/// Why there is no configuration for a request, or no provider in one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// An override of the request does not fit.
    #[error("The settings of this request are not valid: {problem}")]
    Override { problem: String },
    #[error(
        "There is no model provider {id:?}. Known are: {known}. Add [model_providers.{id}] to config.toml, or choose another."
    )]
    UnknownProvider { id: String, known: String },
    /// A provider without an address.
    #[error("The model provider {id:?} has no address; set base_url in [model_providers.{id}] of config.toml.")]
    NoAddress { id: String },
    #[error("There is no profile {name:?}. {known}")]
    UnknownProfile { name: String, known: String },
    /// Others can write what counts as the person's word.
    #[error(transparent)]
    Open(#[from] OpenToOthers),
    /// The person's file is there but cannot be read.
    #[error("{} cannot be read: {cause}. Fix its permissions or remove it.", path.display())]
    Unreadable { path: PathBuf, cause: String },
    /// The person's file is no TOML.
    #[error("{} is not valid TOML: line {line}, column {column}: {message}. Fix it there.", path.display())]
    Syntax {
        path: PathBuf,
        line: u32,
        column: u32,
        message: String,
    },
}

/// Countersign's folder: `$COUNTERSIGN_HOME`, else `~/.countersign`. `None` where the environment names neither.
pub fn home(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let named = |name: &str| env.get(name).filter(|text| !text.is_empty()).map(PathBuf::from);
    named("COUNTERSIGN_HOME")
        .or_else(|| Some(named("HOME").or_else(|| named("USERPROFILE"))?.join(".countersign")))
        .filter(|path| path.is_absolute())
}

impl Config {
    /// Every service is reached in the same way.
    fn reach_by(&mut self, network: Network) {
        for provider in self.providers.values_mut() {
            provider.network = network.clone();
        }
        let exporters = [&mut self.otel.logs, &mut self.otel.traces, &mut self.otel.metrics];
        for exporter in exporters.into_iter().flatten() {
            exporter.network = network.clone();
        }
        for server in self.mcp_servers.values_mut() {
            server.network = network.clone();
        }
        self.feedback.network = network.clone();
        self.login.network = network.clone();
        self.network = network;
    }

    /// Variables that hold the server's own credentials; no command ever gets them.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let servers = self.mcp_servers.values().filter_map(|server| match &server.transport {
            mcp::Transport::Http {
                bearer_token_env_var,
                env_http_headers,
                ..
            } => Some(bearer_token_env_var.iter().chain(env_http_headers.values())),
            mcp::Transport::Program { .. } => None,
        });
        self.provider_variables().chain(servers.flatten().map(String::as_str))
    }

    /// Those that hold the keys of providers; no MCP server ever gets them.
    pub fn provider_variables(&self) -> impl Iterator<Item = &str> {
        self.providers
            .values()
            .flat_map(|provider| provider.env_key.iter().chain(provider.env_http_headers.values()))
            .map(String::as_str)
    }

    /// Values that must never be shown, as the files and the environment have them.
    pub fn secret_values<'a>(&'a self, env: &'a BTreeMap<String, String>) -> impl Iterator<Item = &'a str> {
        let tokens = self.providers.values();
        let tokens = tokens.filter_map(|provider| provider.experimental_bearer_token.as_ref());
        let providers = self.providers.values();
        let providers = providers.flat_map(|provider| provider.http_headers.iter().chain(&provider.query_params));
        let servers = self.mcp_servers.values().flat_map(|server| match &server.transport {
            mcp::Transport::Program { env, .. } => env,
            mcp::Transport::Http { http_headers, .. } => http_headers,
        });
        let otel = [&self.otel.logs, &self.otel.traces, &self.otel.metrics];
        let collectors = otel.into_iter().flatten().flat_map(|exporter| &exporter.headers);
        let named = providers.chain(servers).chain(collectors).chain(&self.feedback.headers);
        let named = named.chain(&self.environment.set);
        let named = named.filter_map(|(name, value)| redact::may_hold_secret(name).then_some(value));
        let otel = [&self.otel.logs, &self.otel.traces, &self.otel.metrics];
        let addresses = self.providers.values().map(|provider| &provider.base_url);
        let addresses = addresses.chain(self.mcp_servers.values().filter_map(|server| match &server.transport {
            mcp::Transport::Http { url, .. } => Some(url),
            mcp::Transport::Program { .. } => None,
        }));
        let addresses = addresses.chain(otel.into_iter().flatten().map(|exporter| &exporter.endpoint));
        let addresses = addresses.chain(&self.feedback.endpoint);
        let in_addresses = addresses.flat_map(|address| redact::secrets_of_address(address));
        let credentials = self.requests.credentials.iter();
        let credentials = credentials.map(|credential| credential.from.as_str());
        let variables = self.secret_variables().chain(credentials);
        let variables = variables.filter_map(|name| env.get(name));
        let known = tokens.chain(named).chain(variables).map(String::as_str);
        known.chain(in_addresses).chain(self.network.passwords())
    }

    /// A provider that can be asked: it is known and has an address.
    pub fn provider(&self, id: &str) -> Result<&Provider, ConfigError> {
        match self.providers.get(id) {
            None => Err(ConfigError::UnknownProvider {
                id: id.to_owned(),
                known: self.providers.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
            }),
            Some(provider) if provider.base_url.is_empty() => Err(ConfigError::NoAddress { id: id.to_owned() }),
            Some(provider) => Ok(provider),
        }
    }

    /// Whether a feature is on; one that nobody has set is as `default` says.
    pub fn feature(&self, name: &str, default: bool) -> bool {
        self.features.get(name).copied().unwrap_or(default)
    }

    /// The same for a feature that has had several names, the latest first.
    fn feature_named(&self, names: &[&str], default: bool) -> bool {
        let set = names.iter().find_map(|name| self.features.get(*name).copied());
        set.unwrap_or(default)
    }

    /// What the person says of a model, by its name in whatever case.
    pub fn model_settings(&self, model: &str) -> ModelSettings {
        let mut models = self.models.iter();
        let named = models.find(|(name, _)| name.eq_ignore_ascii_case(model));
        named.map(|(_, settings)| *settings).unwrap_or_default()
    }

    /// Whether the model is offered terminals: commands that outlive their call.
    pub fn unified_exec(&self) -> bool {
        let otherwise = self.unified_exec_tool.unwrap_or(true);
        self.feature_named(&["unified_exec", "streamable_shell"], otherwise)
    }

    /// Whether the model is offered to look at image files.
    pub fn view_image(&self) -> bool {
        self.feature_named(&["view_image", "view_image_tool"], true)
    }

    /// Whether the provider may search the web for the model.
    pub fn web_search(&self) -> WebSearch {
        let by_feature = || match self.feature_named(&["web_search", "web_search_request"], false) {
            true => WebSearch::Live,
            false => WebSearch::Disabled,
        };
        self.web_search_key.unwrap_or_else(by_feature)
    }

    /// Whether the model may start other agents.
    pub fn multi_agent(&self) -> bool {
        self.feature_named(&["multi_agent", "collab"], true)
    }

    /// Whether the workspace is looked at before commands, so that what they change can be undone.
    pub fn snapshots(&self) -> bool {
        self.feature_named(&["snapshots", "ghost_commit", "undo"], true)
    }
}

impl Loaded {
    /// The policy of a sandbox mode, with what the configuration says of it.
    pub fn sandbox_policy(&self, mode: SandboxMode) -> SandboxPolicy {
        let nothing = Map::new();
        effective::policy_of(self.values.as_object().unwrap_or(&nothing), mode)
    }

    /// How far threads may go that begin under it.
    pub fn sandbox_mode(&self) -> SandboxMode {
        let usual = self.config.default_permissions.as_deref();
        let usual = usual.and_then(|id| self.config.permissions.get(id));
        usual.map_or_else(
            || self.config.sandbox_policy.mode(),
            |profile| profile.policy(None).mode(),
        )
    }

    /// The answer of `config/read`: secrets hidden.
    pub fn read_result(&self) -> ConfigReadResult {
        let mut config = self.values.clone();
        redact::redact(&mut config);
        ConfigReadResult {
            config,
            origins: self.origins.clone(),
            warnings: self.warnings.clone(),
            version: None,
        }
    }
}

/// Answers `config/read`.
pub fn config_read(sources: &Sources) -> Result<ConfigReadResult, ConfigError> {
    Ok(load(sources)?.read_result())
}

/// The person's `config.toml` as it stands on disk, without any other layer; secrets hidden.
pub fn saved(home: &Path) -> Result<ConfigReadResult, ConfigError> {
    private::check_home(home)?;
    let path = home.join("config.toml");
    private::check(&path)?;
    let text = layers::read_text(&path).map_err(|cause| ConfigError::Unreadable {
        path: path.clone(),
        cause: cause.to_string(),
    })?;
    let text = text.unwrap_or_default();
    let entries = tree::parse(&text).map_err(|tree::SyntaxError { message, line, column }| ConfigError::Syntax {
        path: path.clone(),
        line,
        column,
        message,
    })?;
    let mut checker = Checker::new(Layer::Person, Some(&path));
    let mut values = Value::from(checker.check(&entries));
    redact::redact(&mut values);
    let names = values.as_object().into_iter().flatten().map(|(name, _)| name.clone());
    Ok(ConfigReadResult {
        origins: names.map(|name| (name, path.display().to_string())).collect(),
        config: values,
        warnings: checker.warnings,
        version: Some(edit::version(&text)),
    })
}

/// The key for a provider, from its own settings or the environment.
pub fn key(provider: &Provider, env: &BTreeMap<String, String>) -> Result<Option<String>, MissingKey> {
    provider::key(provider, env)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_for_a_folder_does_not_hold_behind_a_link_in_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let work = dir.path().join("work");
        for folder in [work.join("sub"), dir.path().join("other")] {
            std::fs::create_dir_all(folder).expect("mkdir");
        }
        std::os::unix::fs::symlink(dir.path().join("other"), work.join("link")).expect("a link");
        let client = ClientSettings {
            allowed: consent::Allowed::from(["a value".to_owned()]),
            allowed_in: Some(vec![work.clone()]),
            ..ClientSettings::default()
        };
        for (folder, expected) in [
            ("", true),
            ("sub", true),
            ("link", false),
            ("../other", false),
            ("../nowhere", false),
        ] {
            let holds = !client.allowed_for(Some(&work.join(folder))).is_empty();
            assert_eq!(holds, expected, "{folder}");
        }
    }
}
