//! Every configuration key that is known, with what it takes and who may set it.
//!
//! The table is the reference system's; keys that stand for something Countersign cannot do yet are known
//! too, so that a configuration can be brought along without a flood of complaints.

use super::mcp::APPROVAL_MODES;

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
    /// A file or folder; made absolute against the folder of the file it stands in, `~/` understood.
    Path,
    Paths,
    Flag,
    /// A whole number that is not negative.
    Count,
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
    /// A word for none, or a table with one of the exporters of telemetry.
    Exporter,
    /// Not looked into.
    Any,
}

/// Who may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The person and the project.
    Anyone,
    /// The project too, if it allows less than the person does.
    Tighten,
    /// The project too, if the person has called it trusted: it starts programs.
    Trusted,
    /// The person only: it redirects keys or code, starts programs, or decides what others may.
    Person,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) scope: Scope,
    /// False: known, but nothing here reads it yet.
    pub(super) used: bool,
}

const fn anyone(name: &'static str, kind: Kind) -> Key {
    Key {
        name,
        kind,
        scope: Scope::Anyone,
        used: true,
    }
}

const fn tighten(name: &'static str, kind: Kind) -> Key {
    Key {
        name,
        kind,
        scope: Scope::Tighten,
        used: true,
    }
}

const fn trusted(name: &'static str, kind: Kind) -> Key {
    Key {
        name,
        kind,
        scope: Scope::Trusted,
        used: true,
    }
}

const fn person(name: &'static str, kind: Kind) -> Key {
    Key {
        name,
        kind,
        scope: Scope::Person,
        used: true,
    }
}

const fn later(name: &'static str, kind: Kind) -> Key {
    Key {
        name,
        kind,
        scope: Scope::Person,
        used: false,
    }
}

pub(super) const APPROVALS: &[&str] = &["untrusted", "on-request", "on-failure", "never"];
/// The kinds of questions of `approval_policy.granular`.
pub(super) const GRANULAR: &[Key] = &[
    anyone("sandbox_approval", Kind::Flag),
    anyone("rules", Kind::Flag),
    anyone("request_permissions", Kind::Flag),
    anyone("mcp_elicitations", Kind::Flag),
    later("skill_approval", Kind::Flag),
];
/// What `edits.approve` can be; a later word asks less.
pub(super) const EDIT_APPROVALS: &[&str] = &["ask", "workspace"];
pub(super) const SANDBOXES: &[&str] = &["read-only", "workspace-write", "danger-full-access", "full-access"];

/// Who answers questions; the last two are other names of `auto`.
const REVIEWERS: &[&str] = &["user", "auto", "auto_review", "guardian_subagent"];

/// Where what is logged in with is kept.
const CREDENTIAL_STORES: &[&str] = &["file", "keyring", "auto", "ephemeral"];

/// The keys of the top level.
pub(super) const KEYS: &[Key] = &[
    anyone("model", Kind::Name),
    anyone("review_model", Kind::Name),
    person("model_provider", Kind::Name),
    person("model_providers", Kind::Map(PROVIDER)),
    person("openai_base_url", Kind::Url),
    later("oss_provider", Kind::Name),
    anyone("model_context_window", Kind::Count),
    anyone("model_max_output_tokens", Kind::Count),
    anyone("model_auto_compact_token_limit", Kind::Count),
    later("model_auto_compact_token_limit_scope", Kind::Name),
    anyone("model_reasoning_effort", Kind::Name),
    later("plan_mode_reasoning_effort", Kind::Name),
    anyone(
        "model_reasoning_summary",
        Kind::Choice(&["auto", "concise", "detailed", "none"]),
    ),
    anyone("model_supports_reasoning_summaries", Kind::Flag),
    anyone("model_verbosity", Kind::Choice(&["low", "medium", "high"])),
    person("model_instructions_file", Kind::Path),
    person("base_instructions", Kind::Text),
    person("instructions", Kind::Text),
    person("user_instructions", Kind::Text),
    anyone("developer_instructions", Kind::Text),
    person("compact_prompt", Kind::Text),
    person("experimental_compact_prompt_file", Kind::Path),
    later("model_catalog_json", Kind::Path),
    person("service_tier", Kind::Text),
    anyone("personality", Kind::Choice(&["none", "friendly", "pragmatic"])),
    tighten("approval_policy", Kind::Approval),
    person("approvals_reviewer", Kind::Choice(REVIEWERS)),
    person("approvals", Kind::Table(APPROVALS_TABLE)),
    tighten("sandbox_mode", Kind::Choice(SANDBOXES)),
    tighten("sandbox_workspace_write", Kind::Table(WORKSPACE_WRITE)),
    tighten("sandbox", Kind::Table(SANDBOX)),
    tighten("default_permissions", Kind::Name),
    tighten("permissions", Kind::Permissions),
    tighten("edits", Kind::Table(EDITS)),
    anyone("editor_context", Kind::Table(EDITOR_CONTEXT)),
    later("allow_login_shell", Kind::Flag),
    person("shell_environment_policy", Kind::Table(ENVIRONMENT)),
    person("background_terminal_max_timeout", Kind::Count),
    person("dynamic_tool_timeout_sec", Kind::Count),
    anyone("tool_output_token_limit", Kind::Count),
    anyone("project_doc_max_bytes", Kind::Count),
    anyone("project_doc_fallback_filenames", Kind::Texts),
    person("project_doc_also_filenames", Kind::Texts),
    person("project_root_markers", Kind::Texts),
    person("projects", Kind::Map(PROJECT)),
    person("notify", Kind::Texts),
    person("notify_in_editor", Kind::Flag),
    person("user_commands", Kind::Table(USER_COMMANDS)),
    person("history", Kind::Table(HISTORY)),
    anyone("hide_agent_reasoning", Kind::Flag),
    anyone("show_raw_agent_reasoning", Kind::Flag),
    later("file_opener", Kind::Text),
    later("web_search", Kind::Any),
    later("tools", Kind::Any),
    person("features", Kind::FlagMap),
    person("profile", Kind::Name),
    person("profiles", Kind::Profiles),
    anyone("include_apply_patch_tool", Kind::Flag),
    later("include_permissions_instructions", Kind::Flag),
    later("include_apps_instructions", Kind::Flag),
    later("include_collaboration_mode_instructions", Kind::Flag),
    later("include_environment_context", Kind::Flag),
    person("cli_auth_credentials_store", Kind::Choice(CREDENTIAL_STORES)),
    later("mcp_oauth_credentials_store", Kind::Text),
    person("forced_login_method", Kind::Choice(&["chatgpt", "api"])),
    person("forced_chatgpt_workspace_id", Kind::Any),
    person("chatgpt_base_url", Kind::Url),
    person("login", Kind::Table(LOGIN)),
    person("network", Kind::Table(NETWORK)),
    trusted("mcp_servers", Kind::Map(SERVER)),
    later("mcp_oauth_callback_port", Kind::Count),
    later("mcp_oauth_callback_url", Kind::Url),
    person("agents", Kind::Table(AGENTS)),
    later("hooks", Kind::Any),
    later("skills", Kind::Any),
    later("plugins", Kind::Any),
    later("marketplaces", Kind::Any),
    later("apps", Kind::Any),
    later("memories", Kind::Any),
    later("tui", Kind::Any),
    later("notice", Kind::Any),
    later("analytics", Kind::Any),
    person("feedback", Kind::Table(FEEDBACK)),
    later("auto_review", Kind::Any),
    person("realtime", Kind::Table(REALTIME)),
    later("windows", Kind::Any),
    person("otel", Kind::Table(OTEL)),
    later("sqlite_home", Kind::Path),
    later("log_dir", Kind::Path),
    later("check_for_update_on_startup", Kind::Flag),
    later("disable_response_storage", Kind::Flag),
    later("use_experimental_unified_exec_tool", Kind::Flag),
    later("experimental_use_unified_exec_tool", Kind::Flag),
];

const PROVIDER: &[Key] = &[
    person("name", Kind::Text),
    person("base_url", Kind::Url),
    person("env_key", Kind::Name),
    person("env_key_instructions", Kind::Text),
    person("experimental_bearer_token", Kind::Text),
    person("auth", Kind::Table(PROVIDER_AUTH)),
    later("aws", Kind::Any),
    person("wire_api", Kind::Choice(&["responses", "chat", "anthropic"])),
    person("query_params", Kind::TextMap),
    person("http_headers", Kind::TextMap),
    person("env_http_headers", Kind::TextMap),
    person("request_max_retries", Kind::Count),
    person("stream_max_retries", Kind::Count),
    person("stream_idle_timeout_ms", Kind::Count),
    later("websocket_connect_timeout_ms", Kind::Count),
    person("requires_openai_auth", Kind::Flag),
    person("tls", Kind::Table(PROVIDER_TLS)),
    later("supports_websockets", Kind::Flag),
];

const PROVIDER_AUTH: &[Key] = &[
    person("command", Kind::Name),
    person("args", Kind::Texts),
    person("cwd", Kind::Path),
    person("timeout_ms", Kind::Count),
    person("refresh_interval_ms", Kind::Count),
];

/// Files with certificates, as PEM.
const PROVIDER_TLS: &[Key] = &[
    person("ca_certificate", Kind::Path),
    person("client_certificate", Kind::Path),
    person("client_private_key", Kind::Path),
];

const NETWORK: &[Key] = &[
    person("offline", Kind::Flag),
    person("proxy", Kind::Text),
    person("no_proxy", Kind::Texts),
    person("ca_certificates", Kind::Paths),
];

const SERVER: &[Key] = &[
    anyone("command", Kind::Name),
    anyone("args", Kind::Texts),
    anyone("env", Kind::TextMap),
    anyone("env_vars", Kind::Texts),
    anyone("cwd", Kind::Path),
    anyone("url", Kind::Address),
    anyone("bearer_token_env_var", Kind::Name),
    anyone("http_headers", Kind::TextMap),
    anyone("env_http_headers", Kind::TextMap),
    later("oauth", Kind::Any),
    later("scopes", Kind::Texts),
    anyone("enabled", Kind::Flag),
    anyone("required", Kind::Flag),
    anyone("startup_timeout_sec", Kind::Seconds),
    anyone("startup_timeout_ms", Kind::Count),
    anyone("tool_timeout_sec", Kind::Seconds),
    anyone("enabled_tools", Kind::Texts),
    anyone("disabled_tools", Kind::Texts),
    anyone("default_tools_approval_mode", Kind::Choice(APPROVAL_MODES)),
    anyone("tools", Kind::Map(SERVER_TOOL)),
    anyone("supports_parallel_tool_calls", Kind::Flag),
];

const SERVER_TOOL: &[Key] = &[anyone("approval_mode", Kind::Choice(APPROVAL_MODES))];

/// What other programs call the keys of a tool server.
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
    tighten("writable_roots", Kind::Paths),
    tighten("network_access", Kind::Flag),
    tighten("exclude_tmpdir_env_var", Kind::Flag),
    tighten("exclude_slash_tmp", Kind::Flag),
];

const SANDBOX: &[Key] = &[
    tighten("unreadable", Kind::Places),
    tighten("unreadable_defaults", Kind::Flag),
];

const EDITS: &[Key] = &[
    tighten("approve", Kind::Choice(EDIT_APPROVALS)),
    anyone("hints", Kind::Flag),
];

const AGENTS: &[Key] = &[
    person("max_threads", Kind::Count),
    person("max_depth", Kind::Count),
    later("job_max_runtime_seconds", Kind::Count),
];

const REALTIME: &[Key] = &[
    person("version", Kind::Choice(&["v1", "v2"])),
    person("base_url", Kind::Url),
    person("model", Kind::Name),
    person("voice", Kind::Name),
    person("instructions", Kind::Text),
    person("startup_context", Kind::Flag),
    person("start_timeout_ms", Kind::Count),
    later("transport", Kind::Text),
    later("type", Kind::Text),
];

const EDITOR_CONTEXT: &[Key] = &[
    anyone("active_file", Kind::Flag),
    anyone("selection", Kind::Flag),
    anyone("open_files", Kind::Flag),
    anyone("diagnostics", Kind::Flag),
    anyone("recent_edits", Kind::Flag),
];

/// The authorisation server of accounts.
const LOGIN: &[Key] = &[
    person("issuer", Kind::Url),
    person("client_id", Kind::Name),
    person("scopes", Kind::Texts),
    person("authorization_endpoint", Kind::Address),
    person("token_endpoint", Kind::Address),
    person("device_authorization_endpoint", Kind::Address),
    person("revocation_endpoint", Kind::Address),
    person("usage_endpoint", Kind::Address),
    person("callback_url", Kind::Address),
    person("timeout_sec", Kind::Seconds),
];

const APPROVALS_TABLE: &[Key] = &[person("assess_risk", Kind::Flag)];

const USER_COMMANDS: &[Key] = &[person("sandboxed", Kind::Flag)];

const ENVIRONMENT: &[Key] = &[
    person("inherit", Kind::Choice(&["all", "core", "none"])),
    person("ignore_default_excludes", Kind::Flag),
    person("exclude", Kind::Texts),
    person("set", Kind::TextMap),
    person("include_only", Kind::Texts),
    person("experimental_use_profile", Kind::Flag),
];

const PROJECT: &[Key] = &[person("trust_level", Kind::Choice(&["trusted", "untrusted"]))];

const FEEDBACK: &[Key] = &[
    person("enabled", Kind::Flag),
    person("endpoint", Kind::Address),
    person("headers", Kind::TextMap),
];

const OTEL: &[Key] = &[
    person("environment", Kind::Name),
    person("exporter", Kind::Exporter),
    person("trace_exporter", Kind::Exporter),
    person("metrics_exporter", Kind::Exporter),
    person("log_user_prompt", Kind::Flag),
];

/// What an exporter can be where it is a word; the second is a service of the reference system's, and none here.
pub(super) const NO_EXPORTERS: &[&str] = &["none", "statsig"];

/// What it can be where it is a table.
pub(super) const EXPORTERS: &[Key] = &[
    person("otlp-http", Kind::Table(OTLP_HTTP)),
    person("otlp-grpc", Kind::Table(OTLP_GRPC)),
];

const OTLP_HTTP: &[Key] = &[
    person("endpoint", Kind::Address),
    person("protocol", Kind::Choice(&["binary", "json"])),
    person("headers", Kind::TextMap),
    person("tls", Kind::Table(OTLP_TLS)),
];

const OTLP_GRPC: &[Key] = &[
    person("endpoint", Kind::Address),
    person("headers", Kind::TextMap),
    person("tls", Kind::Table(OTLP_TLS)),
];

const OTLP_TLS: &[Key] = &[
    person("ca-certificate", Kind::Path),
    person("client-certificate", Kind::Path),
    person("client-private-key", Kind::Path),
];

const HISTORY: &[Key] = &[
    person("persistence", Kind::Choice(&["save-all", "none"])),
    person("max_bytes", Kind::Count),
];

/// Words that people write for a key, and names it had.
const ALSO_KNOWN: &[(&str, &str)] = &[
    ("active_profile", "profile"),
    ("approval", "approval_policy"),
    ("ask_for_approval", "approval_policy"),
    ("auto_compact_limit", "model_auto_compact_token_limit"),
    ("base_url", "openai_base_url"),
    ("cli_auth_credentials_store_mode", "cli_auth_credentials_store"),
    ("context_window", "model_context_window"),
    ("edit", "edits"),
    ("edit_approval", "edits"),
    ("effort", "model_reasoning_effort"),
    ("env", "shell_environment_policy"),
    ("experimental_instructions_file", "model_instructions_file"),
    ("instructions_file", "model_instructions_file"),
    ("max_output_tokens", "model_max_output_tokens"),
    ("mcp_oauth_credentials_store_mode", "mcp_oauth_credentials_store"),
    ("model_instructions", "model_instructions_file"),
    ("provider", "model_provider"),
    ("providers", "model_providers"),
    ("reasoning_effort", "model_reasoning_effort"),
    ("sandbox_policy", "sandbox_mode"),
    ("verbosity", "model_verbosity"),
];

/// The key with this name.
pub(super) fn find(keys: &'static [Key], name: &str) -> Option<&'static Key> {
    keys.iter().find(|key| key.name == name)
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

/// The name that differs least from `wanted`, if it differs little.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
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
            (KEYS, vec![], "sandbox_policy", Some("did you mean `sandbox_mode`?")),
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
