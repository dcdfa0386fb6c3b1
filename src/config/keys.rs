//! Every configuration key that is known, with what it takes and who may set it.
//!
//! The table is the reference system's; keys that stand for something Countersign cannot do yet are known
//! too, so that a configuration can be brought along without a flood of complaints.

use super::mcp::APPROVAL_MODES;
use super::models;

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    /// A text that may not be blank.
    Name,
    /// `http://…` or `https://…`, to which paths are added.
    Url,
    /// The same as it stands, for a slash at its end may count.
    Address,
    /// A number of seconds, more than none; parts of one count.
    Seconds,
    /// An amount of US dollars, 0 or more; parts of one count.
    Dollars,
    /// A file or folder; made absolute against the folder of the file it stands in, `~/` understood.
    Path,
    Paths,
    Flag,
    /// A whole number that is not negative.
    Count,
    /// An amount of memory: bytes, or words such as `8 GiB` and `50%`.
    Amount,
    Texts,
    /// A table of texts with free names.
    TextMap,
    /// A table of true or false with free names.
    FlagMap,
    Choice(&'static [&'static str]),
    /// A choice, or the granular table.
    Approval,
    Table(&'static [Key]),
    /// Free names, each a table of these keys.
    Map(&'static [Key]),
    /// Free names, each a table of the keys of the top level.
    Profiles,
    /// Free names, each a permission profile.
    Permissions,
    /// A list of places and patterns, as permission profiles name them.
    Places,
    /// A list of hosts and of package managers, as permission profiles name them.
    Hosts,
    /// A word for none, or a table with one of the exporters of telemetry.
    Exporter,
    /// Not looked into.
    Any,
}

/// Who may set a key. The person's own file, and the command that starts the server, may set all of them.
///
/// A workspace can speak through the editor: `.dir-locals.el`, `.zed/settings.json`, `.vim/`, neoconf, project files of
/// Sublime and the like become settings of the editor without a question. So what comes from there counts like what a project
/// says, but for a few preferences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// A preference: a project, the editor and a request too.
    Anyone,
    /// A preference that is not a project's: the editor and a request too.
    Preference,
    /// A project and the editor too, if it allows less than the person does; a request for its own thread.
    Tighten,
    /// A request too, for its own thread: it chooses among what the person has, or speaks in the person's name.
    Own,
    /// A project too, if the person has called it trusted: it starts programs.
    Trusted,
    /// The person only: it names addresses, starts programs, or decides what others may.
    Person,
}

impl Scope {
    /// Whether the editor's settings may set it without a question to the person.
    pub(super) fn is_editors(self) -> bool {
        matches!(self, Self::Anyone | Self::Preference | Self::Tighten)
    }

    /// Whether a request may set it for its own thread.
    pub(super) fn is_requests(self) -> bool {
        !matches!(self, Self::Trusted | Self::Person)
    }

    /// Whether a project may set it, at least where it is trusted or where it tightens.
    pub(super) fn is_projects(self) -> bool {
        matches!(self, Self::Anyone | Self::Tighten | Self::Trusted)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) scope: Scope,
    /// False: known, but nothing here reads it yet.
    pub(super) used: bool,
    /// What it is for, in one sentence: shown beside it in an editor, in the schema and in the manual.
    pub(super) meaning: &'static str,
    /// What holds without it, in words, where no built-in value says so.
    pub(super) otherwise: Option<&'static str>,
    /// Why it has no effect, to be followed by what to do, where somebody who sets it would count on one.
    pub(super) without_effect: Option<&'static str>,
    /// Other names for the very same.
    pub(super) also: &'static [&'static str],
}

impl Key {
    /// What is said of a key that changes nothing; nothing for one that does.
    pub(super) fn idle(&self) -> Option<String> {
        match self.without_effect {
            Some(why) => Some(format!("Known, but has no effect here: {why}.")),
            None => (!self.used).then(|| "Known, and not used yet.".to_owned()),
        }
    }

    const fn new(name: &'static str, kind: Kind, scope: Scope, meaning: &'static str) -> Self {
        Self {
            name,
            kind,
            scope,
            used: true,
            meaning,
            otherwise: None,
            without_effect: None,
            also: &[],
        }
    }

    const fn or(self, otherwise: &'static str) -> Self {
        Self {
            otherwise: Some(otherwise),
            ..self
        }
    }

    const fn no_effect(self, why: &'static str) -> Self {
        Self {
            without_effect: Some(why),
            ..self
        }
    }

    const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }
}

const fn anyone(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
    Key::new(name, kind, Scope::Anyone, meaning)
}

const fn tighten(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
    Key::new(name, kind, Scope::Tighten, meaning)
}

const fn trusted(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
    Key::new(name, kind, Scope::Trusted, meaning)
}

const fn preference(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
    Key::new(name, kind, Scope::Preference, meaning)
}

const fn own(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
    Key::new(name, kind, Scope::Own, meaning)
}

const fn person(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
    Key::new(name, kind, Scope::Person, meaning)
}

const fn later(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
    Key {
        used: false,
        ..Key::new(name, kind, Scope::Person, meaning)
    }
}

pub(super) const APPROVALS: &[&str] = &["untrusted", "on-request", "on-failure", "never"];
/// The kinds of questions of `approval_policy.granular`.
pub(super) const GRANULAR: &[Key] = &[
    anyone(
        "sandbox_approval",
        Kind::Flag,
        "Ask before a command leaves the sandbox; false says no in the person's place.",
    ),
    anyone("rules", Kind::Flag, "Ask where a standing rule says so; false says no."),
    anyone(
        "request_permissions",
        Kind::Flag,
        "Ask when the model wants more permissions; false says no.",
    ),
    anyone(
        "mcp_elicitations",
        Kind::Flag,
        "Ask what an MCP server wants to know; false declines.",
    ),
    later("skill_approval", Kind::Flag, "Questions of skills."),
];
/// What `edits.approve` can be; a later word asks less.
pub(super) const EDIT_APPROVALS: &[&str] = &["ask", "workspace"];
/// What `edits.apply` can be.
const EDIT_APPLICATIONS: &[&str] = &["each", "together"];
pub(super) const SANDBOXES: &[&str] = &["read-only", "workspace-write", "danger-full-access", "full-access"];

/// Who answers questions; the last two are other names of `auto`.
const REVIEWERS: &[&str] = &["user", "auto", "auto_review", "guardian_subagent"];

/// How far searches of the provider's reach.
const WEB_SEARCHES: &[&str] = &["disabled", "cached", "live", "indexed"];

/// Where what is signed in with is kept.
const CREDENTIAL_STORES: &[&str] = &["file", "keyring", "auto", "ephemeral"];

/// The keys of the top level.
pub(super) const KEYS: &[Key] = &[
    anyone(
        "model",
        Kind::Name,
        "The model that threads begin with; without it the provider's default.",
    ),
    anyone(
        "review_model",
        Kind::Name,
        "The model of reviews; without it the thread's.",
    ),
    own(
        "review_model_provider",
        Kind::Name,
        "Id of the provider that reviews; without it the thread's. Name its model as `review_model`.",
    ),
    anyone(
        "compact_model",
        Kind::Name,
        "The model that summarizes long conversations; without it the thread's.",
    ),
    own(
        "compact_model_provider",
        Kind::Name,
        "Id of the provider that summarizes; without it the thread's. Name its model as `compact_model`.",
    ),
    own(
        "model_provider",
        Kind::Name,
        "Id of the provider of models: a built-in one, or one of [model_providers].",
    ),
    person("model_providers", Kind::Map(PROVIDER), "Providers of models, by id."),
    person(
        "openai_base_url",
        Kind::Url,
        "Address of the provider `openai` in the place of OpenAI's own.",
    ),
    anyone(
        "models",
        Kind::Map(MODEL),
        "What holds for single models, by their names as the provider has them.",
    ),
    later("oss_provider", Kind::Name, "Which local server stands for open models."),
    anyone(
        "model_context_window",
        Kind::Count,
        "Tokens that fit into the model's window, where the built-in catalogue does not know it or is wrong.",
    ),
    anyone(
        "model_max_output_tokens",
        Kind::Count,
        "The most tokens that one answer may have.",
    ),
    anyone(
        "model_auto_compact_token_limit",
        Kind::Count,
        "Tokens at which the conversation is compacted by itself; 0: never.",
    )
    .or("90 % of the window"),
    later(
        "model_auto_compact_token_limit_scope",
        Kind::Name,
        "What counts for that limit.",
    ),
    own(
        "max_requests_per_turn",
        Kind::Count,
        "Requests to the model after which a turn ends, whatever it still wants to do; those of the agents that it set to work count.",
    )
    .or("1000"),
    own(
        "max_cost_per_turn",
        Kind::Dollars,
        "US dollars after which a turn ends, the agents that it set to work included, as far as prices are known; a warning comes at 80 %.",
    )
    .or("no limit"),
    anyone(
        "model_reasoning_effort",
        Kind::Name,
        "How much the model thinks, in the words of its provider; without it the model's default.",
    ),
    later(
        "plan_mode_reasoning_effort",
        Kind::Name,
        "The same while a plan is made.",
    ),
    anyone(
        "model_reasoning_summary",
        Kind::Choice(&["auto", "concise", "detailed", "none"]),
        "How much of the model's reasoning is shown.",
    ),
    anyone(
        "model_supports_reasoning_summaries",
        Kind::Flag,
        "Whether the model gives summaries, where the catalogue does not know it.",
    ),
    anyone(
        "model_verbosity",
        Kind::Choice(&["low", "medium", "high"]),
        "How long answers are.",
    ),
    own(
        "model_instructions_file",
        Kind::Path,
        "A file whose text replaces the built-in instructions.",
    ),
    own(
        "base_instructions",
        Kind::Text,
        "A text that replaces the built-in instructions; it wins over `model_instructions_file`.",
    ),
    own(
        "instructions",
        Kind::Text,
        "Your own instructions, put before those of the project; another name of `user_instructions`.",
    ),
    own(
        "user_instructions",
        Kind::Text,
        "Your own instructions, put before those of the project.",
    ),
    own(
        "developer_instructions",
        Kind::Text,
        "A text that goes to the model as a message of the developer.",
    ),
    own(
        "compact_prompt",
        Kind::Text,
        "Replaces the built-in request for a summary when a conversation is compacted.",
    ),
    own(
        "experimental_compact_prompt_file",
        Kind::Path,
        "A file with that request.",
    ),
    later(
        "model_catalog_json",
        Kind::Path,
        "A catalogue of models in the place of the built-in one.",
    ),
    preference(
        "service_tier",
        Kind::Text,
        "How urgent requests are, in the provider's words.",
    ),
    anyone(
        "personality",
        Kind::Choice(&["none", "friendly", "pragmatic"]),
        "The tone of answers.",
    )
    .or("none"),
    tighten(
        "approval_policy",
        Kind::Approval,
        "What asks first: `untrusted` all but known reading, `on-request` what leaves the sandbox, `on-failure` what the sandbox stopped, `never` nothing; or a table `granular`.",
    ),
    own(
        "approvals_reviewer",
        Kind::Choice(REVIEWERS),
        "Who answers questions: you, or a model in your place, which fails closed.",
    )
    .or("user"),
    own("approvals", Kind::Table(APPROVALS_TABLE), "How questions are asked."),
    tighten(
        "sandbox_mode",
        Kind::Choice(SANDBOXES),
        "What commands may do: read only, write in the workspace, or all.",
    )
    .also(&["sandbox_policy"]),
    tighten(
        "sandbox_workspace_write",
        Kind::Table(WORKSPACE_WRITE),
        "What `workspace-write` allows beside the workspace.",
    ),
    tighten("sandbox", Kind::Table(SANDBOX), "What nobody may read."),
    tighten(
        "limits",
        Kind::Table(LIMITS),
        "How much all that a command starts may take together.",
    ),
    tighten(
        "default_permissions",
        Kind::Name,
        "The permission profile that threads begin with, in the place of `sandbox_mode`.",
    ),
    tighten(
        "permissions",
        Kind::Permissions,
        "Permission profiles of your own, by id.",
    ),
    tighten(
        "edits",
        Kind::Table(EDITS),
        "How the agent's changes to files are decided and shown.",
    ),
    anyone(
        "editor_context",
        Kind::Table(EDITOR_CONTEXT),
        "What of the editor the model is told.",
    ),
    later(
        "allow_login_shell",
        Kind::Flag,
        "Whether commands may run in a login shell.",
    ),
    own(
        "shell_environment_policy",
        Kind::Table(ENVIRONMENT),
        "Which variables reach commands.",
    ),
    preference(
        "background_terminal_max_timeout",
        Kind::Count,
        "Longest wait for a command in a terminal that nothing is typed into, in milliseconds.",
    )
    .or("300000"),
    preference(
        "dynamic_tool_timeout_sec",
        Kind::Count,
        "Seconds that a tool of the editor's may take; 0: without end.",
    )
    .or("300"),
    anyone(
        "tool_output_token_limit",
        Kind::Count,
        "Tokens of a tool's output that the model gets; without it as the catalogue says.",
    ),
    anyone(
        "project_doc_max_bytes",
        Kind::Count,
        "Bytes of all AGENTS.md of a project together; 0 turns them off.",
    ),
    anyone(
        "project_doc_fallback_filenames",
        Kind::Texts,
        "Names looked for where a folder has no AGENTS.md.",
    ),
    own(
        "project_doc_also_filenames",
        Kind::Texts,
        "Names looked for beside it, such as CLAUDE.md.",
    )
    .or("none"),
    own(
        "project_root_markers",
        Kind::Texts,
        "Names that mark the root of a project.",
    ),
    person(
        "projects",
        Kind::Map(PROJECT),
        "What you think of single projects, by folder.",
    ),
    person(
        "notify",
        Kind::Texts,
        "A program with its arguments, started when a turn ends, in your home folder.",
    )
    .or("none"),
    preference(
        "notify_in_editor",
        Kind::Flag,
        "Tell in the editor too when a turn ends.",
    )
    .or("false"),
    own(
        "user_commands",
        Kind::Table(USER_COMMANDS),
        "Your own commands (`!cmd`).",
    ),
    own("history", Kind::Table(HISTORY), "The file of what you typed."),
    anyone(
        "hide_agent_reasoning",
        Kind::Flag,
        "Show nothing of what the model thinks.",
    ),
    anyone(
        "show_raw_agent_reasoning",
        Kind::Flag,
        "Show what the model thinks in its own words, where it gives them.",
    ),
    later("file_opener", Kind::Text, "The editor that links to files are for."),
    own(
        "web_search",
        Kind::Choice(WEB_SEARCHES),
        "Whether the provider searches the web for the model: `live`, or `cached` for what it has kept without reaching out \
         (`indexed` is the same). Wins over `features.web_search`.",
    )
    .or("as `features.web_search`, else `disabled`"),
    later("tools", Kind::Any, "Settings of single tools."),
    own("features", Kind::FlagMap, "Switches of single features, by name."),
    own(
        "profile",
        Kind::Name,
        "The profile in force: one of [profiles], or a file NAME.config.toml beside this one.",
    )
    .or("none")
    .also(&["active_profile"]),
    person(
        "profiles",
        Kind::Profiles,
        "Sets of settings by name; each may hold the keys of the top level.",
    ),
    anyone(
        "include_apply_patch_tool",
        Kind::Flag,
        "Whether the model is offered a tool that proposes changes. Patches in commands count in any case.",
    ),
    later(
        "include_permissions_instructions",
        Kind::Flag,
        "Tell the model what it may do.",
    ),
    later("include_apps_instructions", Kind::Flag, "Tell the model of apps."),
    later(
        "include_collaboration_mode_instructions",
        Kind::Flag,
        "Tell the model of modes.",
    ),
    later(
        "include_environment_context",
        Kind::Flag,
        "Tell the model of its surroundings.",
    ),
    person(
        "cli_auth_credentials_store",
        Kind::Choice(CREDENTIAL_STORES),
        "Where the login to the provider is kept: `file` auth.json, `keyring` the system's keyring, `auto` the keyring where there is one, \
         `ephemeral` nowhere.",
    )
    .or("file")
    .also(&["cli_auth_credentials_store_mode"]),
    person(
        "mcp_oauth_credentials_store",
        Kind::Choice(CREDENTIAL_STORES),
        "Where logins to MCP servers are kept: `file` .credentials.json, `keyring` the system's keyring, `auto` the keyring where \
         there is one, `ephemeral` nowhere.",
    )
    .or("auto")
    .also(&["mcp_oauth_credentials_store_mode"]),
    person(
        "forced_login_method",
        Kind::Choice(&["chatgpt", "api"]),
        "The only way to sign in: by a key, or by an account.",
    )
    .or("any"),
    person(
        "forced_chatgpt_workspace_id",
        Kind::Any,
        "The only workspaces that may be signed in to: an id, or a list.",
    )
    .or("any"),
    person("chatgpt_base_url", Kind::Url, "Where accounts are served.").or("https://chatgpt.com/backend-api"),
    person("login", Kind::Table(LOGIN), "The authorization server of accounts."),
    person(
        "network",
        Kind::Table(NETWORK),
        "How services are reached: proxies, certificates, staying offline.",
    ),
    trusted("mcp_servers", Kind::Map(SERVER), "MCP servers, by name."),
    person(
        "mcp_oauth_callback_port",
        Kind::Count,
        "The port that the browser comes back to after a login to an MCP server.",
    )
    .or("any free one"),
    person(
        "mcp_oauth_callback_url",
        Kind::Address,
        "The address that it comes back to, on this machine.",
    )
    .or("http://127.0.0.1/auth/callback"),
    own("agents", Kind::Table(AGENTS), "How many agents may work for agents."),
    later("hooks", Kind::Any, "Programs at certain moments."),
    later("skills", Kind::Any, "Skills."),
    later("plugins", Kind::Any, "Plugins."),
    later("marketplaces", Kind::Any, "Where plugins come from."),
    later("apps", Kind::Any, "Apps."),
    later("memories", Kind::Any, "Memories."),
    later("tui", Kind::Any, "Of the terminal interface of Codex."),
    later("notice", Kind::Any, "Notices that were seen."),
    later("analytics", Kind::Any, "Statistics; none are made."),
    person(
        "feedback",
        Kind::Table(FEEDBACK),
        "Where reports may be sent; nowhere unless you say.",
    ),
    later("auto_review", Kind::Any, "Settings of the automatic reviewer."),
    person("realtime", Kind::Table(REALTIME), "The endpoint for speech."),
    later("windows", Kind::Any, "Settings for Windows."),
    person(
        "otel",
        Kind::Table(OTEL),
        "Where telemetry goes; nowhere unless you say.",
    ),
    later("sqlite_home", Kind::Path, "Where indexes are kept."),
    later("log_dir", Kind::Path, "Where logs are kept."),
    later(
        "check_for_update_on_startup",
        Kind::Flag,
        "Look for a newer version; never done.",
    ),
    own(
        "disable_response_storage",
        Kind::Flag,
        "`false` lets the provider keep the answers (`store`).",
    )
    .or("true"),
    own(
        "use_experimental_unified_exec_tool",
        Kind::Flag,
        "Whether the model is offered terminals; `features.unified_exec` wins over it.",
    )
    .or("true")
    .also(&["experimental_use_unified_exec_tool"]),
];

const PROVIDER: &[Key] = &[
    person("name", Kind::Text, "Its name in messages.").or("its id"),
    person(
        "base_url",
        Kind::Url,
        "Its address, to which the paths of requests are added.",
    ),
    person("env_key", Kind::Name, "The variable that holds its key."),
    person(
        "env_key_instructions",
        Kind::Text,
        "How to get a key; shown where it is missing.",
    ),
    person(
        "experimental_bearer_token",
        Kind::Text,
        "The key itself; better in a variable (`env_key`).",
    ),
    person("auth", Kind::Table(PROVIDER_AUTH), "A program that prints the key."),
    later("aws", Kind::Any, "Signing for Amazon Bedrock.").no_effect(
        "requests are not signed for Amazon Bedrock: put a gateway in between that takes a key, and name it in `base_url`",
    ),
    person(
        "wire_api",
        Kind::Choice(&["responses", "chat", "anthropic"]),
        "How it is spoken to.",
    )
    .or("responses"),
    person("query_params", Kind::TextMap, "Parameters added to each address."),
    person("http_headers", Kind::TextMap, "Headers sent along."),
    person(
        "env_http_headers",
        Kind::TextMap,
        "Headers sent along, with the variable that holds each value.",
    ),
    person(
        "request_max_retries",
        Kind::Count,
        "How often a request is tried again.",
    )
    .or("4"),
    person(
        "stream_max_retries",
        Kind::Count,
        "How often a broken stream is begun again.",
    )
    .or("5"),
    person(
        "stream_idle_timeout_ms",
        Kind::Count,
        "Silence after which a stream counts as broken.",
    )
    .or("300000"),
    later(
        "websocket_connect_timeout_ms",
        Kind::Count,
        "How long a WebSocket may take to open.",
    )
    .no_effect(NO_WEBSOCKETS),
    person(
        "requires_openai_auth",
        Kind::Flag,
        "Whether it is used with your account.",
    )
    .or("false"),
    person(
        "tls",
        Kind::Table(PROVIDER_TLS),
        "The certificate that shows who you are, and whom to trust.",
    ),
    later("supports_websockets", Kind::Flag, "Whether it speaks by WebSocket.").no_effect(NO_WEBSOCKETS),
];

/// Of what providers say of web sockets.
const NO_WEBSOCKETS: &str = "answers are always streamed over HTTP, which every provider speaks: leave it out";

const PROVIDER_AUTH: &[Key] = &[
    person("command", Kind::Name, "The program."),
    person("args", Kind::Texts, "Its arguments.").or("none"),
    person("cwd", Kind::Path, "The folder that it runs in.").or("your home folder"),
    person("timeout_ms", Kind::Count, "How long it may take, in milliseconds.").or("5000"),
    person(
        "refresh_interval_ms",
        Kind::Count,
        "How long its key is good, in milliseconds; 0: until it is refused.",
    )
    .or("300000"),
];

/// Files with certificates, as PEM.
const PROVIDER_TLS: &[Key] = &[
    person(
        "ca_certificate",
        Kind::Path,
        "A file with authorities that are trusted for this provider.",
    ),
    person(
        "client_certificate",
        Kind::Path,
        "A file with the certificate that is shown.",
    ),
    person("client_private_key", Kind::Path, "A file with its key."),
];

const NETWORK: &[Key] = &[
    person("offline", Kind::Flag, "Send nothing beyond this machine.").or("false"),
    person(
        "proxy",
        Kind::Text,
        "The proxy of all services; without it as the usual variables say.",
    ),
    person(
        "no_proxy",
        Kind::Texts,
        "Hosts that are reached without it; without it as `NO_PROXY` says.",
    ),
    person(
        "ca_certificates",
        Kind::Paths,
        "Files with authorities that are trusted beside the system's.",
    ),
];

const SERVER: &[Key] = &[
    anyone("command", Kind::Name, "The program of a server that runs here."),
    anyone("args", Kind::Texts, "Its arguments."),
    anyone("env", Kind::TextMap, "Variables that it gets."),
    anyone(
        "env_vars",
        Kind::Texts,
        "Names of variables that it gets from the environment of your editor.",
    ),
    anyone("cwd", Kind::Path, "The folder that it starts in.").or("your home folder"),
    anyone("url", Kind::Address, "The address of a server that is reached by HTTP."),
    anyone("bearer_token_env_var", Kind::Name, "The variable that holds its token."),
    anyone("http_headers", Kind::TextMap, "Headers sent along."),
    anyone(
        "env_http_headers",
        Kind::TextMap,
        "Headers sent along, with the variable that holds each value.",
    ),
    anyone(
        "oauth",
        Kind::Table(SERVER_OAUTH),
        "How this program is known to its authorization server.",
    ),
    anyone("scopes", Kind::Texts, "What a login asks for."),
    anyone("enabled", Kind::Flag, "Switches it off.").or("true"),
    anyone("required", Kind::Flag, "No turn begins without it.").or("false"),
    anyone("startup_timeout_sec", Kind::Seconds, "How long it may take to start.").or("10"),
    anyone("startup_timeout_ms", Kind::Count, "The same in milliseconds."),
    anyone("tool_timeout_sec", Kind::Seconds, "How long a call may take.").or("60"),
    anyone("enabled_tools", Kind::Texts, "The only tools that are offered.").or("all"),
    anyone("disabled_tools", Kind::Texts, "Tools that are not offered.").or("none"),
    anyone(
        "default_tools_approval_mode",
        Kind::Choice(APPROVAL_MODES),
        "Which calls ask first.",
    )
    .or("auto"),
    anyone("tools", Kind::Map(SERVER_TOOL), "The same for single tools."),
    anyone(
        "supports_parallel_tool_calls",
        Kind::Flag,
        "Its calls run side by side.",
    )
    .or("false"),
    person(
        "trust_annotations",
        Kind::Flag,
        "Believe it where it says that a tool only reads: such calls do not ask.",
    )
    .or("false"),
];

const SERVER_OAUTH: &[Key] = &[anyone(
    "client_id",
    Kind::Name,
    "The id of a client that is registered there already.",
)
.or("one is registered at the first login")];

const SERVER_TOOL: &[Key] = &[anyone(
    "approval_mode",
    Kind::Choice(APPROVAL_MODES),
    "Which calls of this tool ask first.",
)];

/// What other programs call the keys of an MCP server.
const SERVER_WORDS: &[(&str, &str)] = &[
    ("allowed_tools", "enabled_tools"),
    ("bearer_token", "bearer_token_env_var"),
    ("disabled", "enabled"),
    ("environment", "env"),
    ("headers", "http_headers"),
    ("timeout", "tool_timeout_sec"),
    ("working_directory", "cwd"),
];

const WORKSPACE_WRITE: &[Key] = &[
    tighten(
        "writable_roots",
        Kind::Paths,
        "Folders that may be written beside the workspace.",
    ),
    tighten("network_access", Kind::Flag, "Whether commands reach the network."),
    tighten("exclude_tmpdir_env_var", Kind::Flag, "Keep $TMPDIR from being written."),
    tighten("exclude_slash_tmp", Kind::Flag, "Keep /tmp from being written."),
];

const SANDBOX: &[Key] = &[
    tighten(
        "unreadable",
        Kind::Places,
        "Files, folders and patterns that neither commands nor tools may read.",
    ),
    tighten(
        "unreadable_defaults",
        Kind::Flag,
        "Whether the places where keys are usually kept belong to them.",
    ),
    person(
        "network",
        Kind::Hosts,
        "Hosts (`example.org`, `*.example.org`, `example.org:443`) and package managers (`npm`, `cargo`, `pip`, …) that commands \
         reach by name where the network is off.",
    ),
    tighten(
        "protected",
        Kind::Texts,
        "Names of further files and folders that commands leave as they are at every depth, beside those that other programs \
         act on by themselves.",
    ),
    person(
        "unprotected",
        Kind::Texts,
        "Names of such files and folders that commands may write all the same.",
    ),
    person(
        "credentials",
        Kind::Map(CREDENTIAL),
        "Secrets that commands use without having them, by the variable in which a command finds a placeholder.",
    ),
    person(
        "methods",
        Kind::Map(METHODS),
        "Methods of HTTP that hosts may be asked with, by host; other hosts take all.",
    ),
];

const CREDENTIAL: &[Key] = &[
    person(
        "hosts",
        Kind::Texts,
        "Names of the hosts that get the secret, by https only.",
    ),
    person(
        "from",
        Kind::Name,
        "The variable of the server's environment that has the secret.",
    )
    .or("the same name"),
    person(
        "headers",
        Kind::Texts,
        "Names of the headers that the secret goes into.",
    )
    .or("those that are for credentials, as `Authorization`"),
    person(
        "in_query",
        Kind::Flag,
        "Whether it goes into what follows the `?` of an address too.",
    )
    .or("false"),
];

const METHODS: &[Key] = &[person("allow", Kind::Texts, "Methods, as `GET` and `HEAD`.")];

const EDITS: &[Key] = &[
    tighten(
        "approve",
        Kind::Choice(EDIT_APPROVALS),
        "Which patches are applied without asking.",
    ),
    anyone(
        "apply",
        Kind::Choice(EDIT_APPLICATIONS),
        "When an accepted hunk is applied: `each` at once, or all `together` once the whole proposal is decided.",
    )
    .or("\"each\""),
    anyone(
        "hints",
        Kind::Flag,
        "Show hunks that wait as hints, in editors without our plugin.",
    ),
];

const LIMITS: &[Key] = &[
    tighten(
        "memory",
        Kind::Amount,
        "Memory: \"8 GiB\", bytes, or a share of the machine as \"50%\".",
    )
    .or("50%"),
    tighten(
        "processes",
        Kind::Count,
        "Processes and threads at one time, 8 at the least.",
    )
    .or("2048"),
];

const AGENTS: &[Key] = &[
    person("max_threads", Kind::Count, "How many there may be at a time.").or("6"),
    person("max_depth", Kind::Count, "How deep; 1: agents start no agents.").or("1"),
    later("job_max_runtime_seconds", Kind::Count, "How long one may work."),
];

const REALTIME: &[Key] = &[
    person("version", Kind::Choice(&["v1", "v2"]), "The version of the protocol."),
    person("base_url", Kind::Url, "Its address.").or("the provider's"),
    person("model", Kind::Name, "The model that speaks."),
    person("voice", Kind::Name, "Its voice."),
    person("instructions", Kind::Text, "In the place of the built-in ones."),
    person(
        "startup_context",
        Kind::Flag,
        "Tell the voice what the written conversation is about.",
    ),
    person("start_timeout_ms", Kind::Count, "How long it may take to be ready."),
    later("transport", Kind::Text, "How sound is carried."),
    later("type", Kind::Text, "The kind of session."),
];

const EDITOR_CONTEXT: &[Key] = &[
    anyone("active_file", Kind::Flag, "The file that you are in."),
    anyone("selection", Kind::Flag, "What is selected."),
    anyone("open_files", Kind::Flag, "Which files are open."),
    anyone("diagnostics", Kind::Flag, "Diagnostics of other servers."),
    anyone("recent_edits", Kind::Flag, "Where you changed something."),
];

/// The authorization server of accounts.
const LOGIN: &[Key] = &[
    person("issuer", Kind::Url, "The authorization server."),
    person("client_id", Kind::Name, "The id under which it knows this program."),
    person("scopes", Kind::Texts, "What a login asks for."),
    person("authorization_endpoint", Kind::Address, "Where the browser is sent."),
    person("token_endpoint", Kind::Address, "Where codes become tokens."),
    person(
        "device_authorization_endpoint",
        Kind::Address,
        "Where codes for devices come from.",
    ),
    person("revocation_endpoint", Kind::Address, "Where a logout is told."),
    person("usage_endpoint", Kind::Address, "Where the allowance is asked for."),
    person("callback_url", Kind::Address, "Where the browser comes back to.").or("http://127.0.0.1/auth/callback"),
    person("timeout_sec", Kind::Seconds, "How long a login may take.").or("600"),
];

const APPROVALS_TABLE: &[Key] = &[
    person(
        "assess_risk",
        Kind::Flag,
        "Have a model say how risky a command is before you are asked.",
    )
    .or("false"),
    person(
        "model",
        Kind::Name,
        "The model that says so, and that answers in your place (`approvals_reviewer`); without it the thread's.",
    ),
    person(
        "model_provider",
        Kind::Name,
        "Id of the provider of that model; without it the thread's.",
    ),
];

const MODEL: &[Key] = &[
    anyone(
        "edit_tool",
        Kind::Choice(models::EDIT_TOOLS),
        "How it says what to change: by patches, by Claude's own tool, by replacing text and writing files, or by whole files only.",
    )
    .or("the tool of its family"),
    own(
        "text_calls",
        Kind::Flag,
        "Whether an answer over Chat Completions that is nothing but tool calls written as text counts as these calls.",
    )
    .or("true where the family is known for it"),
    own(
        "price",
        Kind::Table(PRICE),
        "What its tokens cost, in US dollars for a million; input and output have to be there.",
    )
    .or("the provider's list price, where it is known and paid with a key"),
];

const PRICE: &[Key] = &[
    own("input", Kind::Dollars, "Input."),
    own(
        "cached_input",
        Kind::Dollars,
        "Input that the provider reads from its cache.",
    )
    .or("`input`"),
    own(
        "cache_write",
        Kind::Dollars,
        "Input that the provider writes into its cache.",
    )
    .or("`input`"),
    own("output", Kind::Dollars, "Output, thoughts included."),
];

const USER_COMMANDS: &[Key] = &[person("sandboxed", Kind::Flag, "Run them in the thread's sandbox.").or("false")];

const ENVIRONMENT: &[Key] = &[
    person(
        "inherit",
        Kind::Choice(&["all", "core", "none"]),
        "Which variables it starts from.",
    ),
    person(
        "ignore_default_excludes",
        Kind::Flag,
        "Keep names that look like secrets.",
    ),
    person("exclude", Kind::Texts, "Patterns of names that are dropped."),
    person("set", Kind::TextMap, "Variables that are set."),
    person(
        "include_only",
        Kind::Texts,
        "The only names that are kept, if any are given.",
    ),
    person("experimental_use_profile", Kind::Flag, "Run through your login shell.").or("false"),
];

const PROJECT: &[Key] = &[person(
    "trust_level",
    Kind::Choice(&["trusted", "untrusted"]),
    "Whether the project may start programs with your rights.",
)];

const FEEDBACK: &[Key] = &[
    person("enabled", Kind::Flag, "Whether reports can be made.").or("true"),
    person("endpoint", Kind::Address, "Where a report is sent when you say so."),
    person("headers", Kind::TextMap, "Headers sent along."),
];

const OTEL: &[Key] = &[
    person("environment", Kind::Name, "The environment that is told.").or("dev"),
    person("exporter", Kind::Exporter, "Where records go.").or("none"),
    person("trace_exporter", Kind::Exporter, "Where traces go.").or("none"),
    person("metrics_exporter", Kind::Exporter, "Where metrics go.").or("none"),
    person("log_user_prompt", Kind::Flag, "Tell what you typed too.").or("false"),
];

/// What an exporter can be where it is a word; the second is a service of the reference system's, and none here.
pub(super) const NO_EXPORTERS: &[&str] = &["none", "statsig"];

/// What it can be where it is a table.
pub(super) const EXPORTERS: &[Key] = &[
    person("otlp-http", Kind::Table(OTLP_HTTP), "A collector by HTTP."),
    person("otlp-grpc", Kind::Table(OTLP_GRPC), "A collector by gRPC."),
];

const OTLP_HTTP: &[Key] = &[
    person("endpoint", Kind::Address, "Its address."),
    person(
        "protocol",
        Kind::Choice(&["binary", "json"]),
        "How records are written.",
    )
    .or("binary"),
    person("headers", Kind::TextMap, "Headers sent along."),
    person("tls", Kind::Table(OTLP_TLS), "Certificates."),
];

const OTLP_GRPC: &[Key] = &[
    person("endpoint", Kind::Address, "Its address."),
    person("headers", Kind::TextMap, "Headers sent along."),
    person("tls", Kind::Table(OTLP_TLS), "Certificates."),
];

const OTLP_TLS: &[Key] = &[
    person("ca-certificate", Kind::Path, "Who its certificate is from."),
    person("client-certificate", Kind::Path, "Our certificate."),
    person("client-private-key", Kind::Path, "Our key."),
];

const HISTORY: &[Key] = &[
    person(
        "persistence",
        Kind::Choice(&["save-all", "none"]),
        "Whether it is kept.",
    ),
    person("max_bytes", Kind::Count, "How large it may get.").or("any"),
];

/// Words that people write for a key, and names it had.
const ALSO_KNOWN: &[(&str, &str)] = &[
    ("approval", "approval_policy"),
    ("ask_for_approval", "approval_policy"),
    ("auto_compact_limit", "model_auto_compact_token_limit"),
    ("base_url", "openai_base_url"),
    ("context_window", "model_context_window"),
    ("edit", "edits"),
    ("edit_approval", "edits"),
    ("effort", "model_reasoning_effort"),
    ("env", "shell_environment_policy"),
    ("experimental_instructions_file", "model_instructions_file"),
    ("instructions_file", "model_instructions_file"),
    ("max_output_tokens", "model_max_output_tokens"),
    ("model_instructions", "model_instructions_file"),
    ("provider", "model_provider"),
    ("providers", "model_providers"),
    ("reasoning_effort", "model_reasoning_effort"),
    ("verbosity", "model_verbosity"),
];

/// The key with this name.
pub(super) fn find(keys: &'static [Key], name: &str) -> Option<&'static Key> {
    keys.iter().find(|key| key.name == name)
}

/// The name that a key is known by here, for another name that it has.
pub(super) fn proper<'a>(keys: &'static [Key], name: &'a str) -> &'a str {
    let other = keys.iter().find(|key| key.also.contains(&name));
    other.map_or(name, |key| key.name)
}

/// The place that a way through the tables leads to.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// A key of the table.
    Key(&'static Key),
    /// A name that is free to choose, below this key.
    Name(&'static Key),
    /// The granular form of `approval_policy`.
    Granular,
}

/// What may stand in a table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Below {
    Keys(&'static [Key]),
    /// Names that are free to choose, below this key.
    Names(&'static Key),
    Granular,
    /// Nothing that is known.
    Nothing,
}

impl At {
    /// What may stand below it.
    pub(super) fn below(self) -> Below {
        match self {
            Self::Granular => Below::Keys(GRANULAR),
            Self::Name(key) => match key.kind {
                Kind::Map(keys) => Below::Keys(keys),
                Kind::Profiles => Below::Keys(KEYS),
                _ => Below::Nothing,
            },
            Self::Key(key) => match key.kind {
                Kind::Table(keys) => Below::Keys(keys),
                Kind::Exporter => Below::Keys(EXPORTERS),
                Kind::Approval => Below::Granular,
                Kind::Map(_) | Kind::Profiles | Kind::Permissions | Kind::TextMap | Kind::FlagMap => Below::Names(key),
                _ => Below::Nothing,
            },
        }
    }
}

/// The place that a way leads to, from the top level on; an empty way leads nowhere.
pub(super) fn at(way: &[String]) -> Option<At> {
    let mut below = Below::Keys(KEYS);
    let mut place = None;
    for part in way {
        let next = match below {
            Below::Keys(keys) => At::Key(find(keys, proper(keys, part))?),
            Below::Names(key) => At::Name(key),
            Below::Granular if part == "granular" => At::Granular,
            Below::Granular | Below::Nothing => return None,
        };
        below = next.below();
        place = Some(next);
    }
    place
}

/// What may stand in the table that a way leads to; an empty way is the top level.
pub(super) fn below(way: &[String]) -> Below {
    match way {
        [] => Below::Keys(KEYS),
        way => at(way).map_or(Below::Nothing, At::below),
    }
}

/// What an unknown key may have meant, as words that end a sentence: a near name in the same table, or the
/// place where the name belongs.
pub(super) fn suggestion(keys: &'static [Key], table: &[String], name: &str) -> Option<String> {
    let plain = snake(name);
    let top = table.is_empty();
    if find(keys, &plain).is_some() {
        return Some(format!("did you mean `{plain}`?"));
    }
    if top && let Some((_, known)) = ALSO_KNOWN.iter().find(|(other, _)| *other == plain) {
        return Some(format!("did you mean `{known}`?"));
    }
    if table.first().is_some_and(|table| table == "mcp_servers")
        && let Some((_, known)) = SERVER_WORDS.iter().find(|(other, _)| *other == plain)
    {
        return Some(format!("did you mean `{known}`?"));
    }
    if !top && find(KEYS, &plain).is_some() {
        return Some(format!(
            "`{plain}` belongs to the top level: put it above the first [table] of the file"
        ));
    }
    if let Some(home) = tables().find(|(_, keys)| find(keys, &plain).is_some()) {
        return Some(format!("`{plain}` belongs to the table [{}]", home.0));
    }
    let names = keys.iter().map(|key| key.name);
    nearest(&plain, names).map(|near| format!("did you mean `{near}`?"))
}

/// Tables with keys of their own.
fn tables() -> impl Iterator<Item = (String, &'static [Key])> {
    KEYS.iter().filter_map(|key| match key.kind {
        Kind::Table(keys) => Some((key.name.to_owned(), keys)),
        Kind::Map(keys) => Some((format!("{}.<name>", key.name), keys)),
        _ => None,
    })
}

/// Characters of what is compared with the names that are known.
const MOST_OF_A_WISH: usize = 64;

/// The name that differs least from `wanted`, if it differs little.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // No name that is known is nearly as long, and the longer it is, the longer it takes to compare.
    if wanted.chars().nth(MOST_OF_A_WISH).is_some() {
        return None;
    }
    let most = (wanted.chars().count() / 3).clamp(1, 4);
    names
        .map(|name| (distance(wanted, name), name))
        .filter(|(far, _)| *far <= most)
        .min()
        .map(|(_, name)| name)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let swap = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + swap);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// `modelReasoningEffort` and `model-reasoning-effort` as `model_reasoning_effort`.
pub(super) fn snake(name: &str) -> String {
    let mut result = String::with_capacity(name.len() + 4);
    let mut lower_before = false;
    for letter in name.chars() {
        if letter.is_uppercase() {
            if lower_before {
                result.push('_');
            }
            result.extend(letter.to_lowercase());
        } else {
            result.push(if letter == '-' { '_' } else { letter });
        }
        lower_before = letter.is_lowercase() || letter.is_ascii_digit();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_stands_once() {
        let all = std::iter::once(KEYS).chain(tables().map(|(_, keys)| keys));
        for keys in all {
            let mut names: Vec<&str> = keys.iter().map(|key| key.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        }
        assert!(
            ALSO_KNOWN
                .iter()
                .all(|(other, known)| find(KEYS, known).is_some() && find(KEYS, other).is_none())
        );
    }

    #[test]
    fn suggestions_name_the_key_that_was_meant() {
        let table = |name: &str| vec![name.to_owned()];
        type Row = (&'static [Key], Vec<String>, &'static str, Option<&'static str>);
        let rows: &[Row] = &[
            (KEYS, vec![], "aproval_policy", Some("did you mean `approval_policy`?")),
            (KEYS, vec![], "approval-policy", Some("did you mean `approval_policy`?")),
            (KEYS, vec![], "approvalPolicy", Some("did you mean `approval_policy`?")),
            (KEYS, vec![], "modle", Some("did you mean `model`?")),
            (
                KEYS,
                vec![],
                "ask_for_approval",
                Some("did you mean `approval_policy`?"),
            ),
            (
                KEYS,
                vec![],
                "network_access",
                Some("`network_access` belongs to the table [sandbox_workspace_write]"),
            ),
            (
                KEYS,
                vec![],
                "env_key",
                Some("`env_key` belongs to the table [model_providers.<name>]"),
            ),
            (KEYS, vec![], "approve", Some("`approve` belongs to the table [edits]")),
            (EDITS, table("edits"), "aprove", Some("did you mean `approve`?")),
            (
                PROVIDER,
                table("model_providers"),
                "base_ulr",
                Some("did you mean `base_url`?"),
            ),
            (
                HISTORY,
                table("history"),
                "sandbox_mode",
                Some("`sandbox_mode` belongs to the top level: put it above the first [table] of the file"),
            ),
            (KEYS, vec![], "completely_different", None),
            (KEYS, vec![], "x", None),
        ];
        for (keys, table, name, expected) in rows {
            assert_eq!(suggestion(keys, table, name).as_deref(), *expected, "{name}");
        }
    }
}
