//! Each key is read, and each that others know is known.

use super::{Place, told};
use countersign::config::Config;
use countersign::config::bounds::Memory;
use countersign::config::environment::Inherit;
use countersign::config::login::{CredentialStore, ForcedMethod};
use countersign::config::provider::WireApi;
use countersign::protocol::settings::{ApprovalPolicy, EditApproval, ReasoningSummary, SandboxPolicy};
use std::collections::BTreeMap;

#[test]
fn every_key_is_read() {
    let place = Place::new().user(
        r#"
model = "m"
model_provider = "acme"
model_reasoning_effort = "high"
model_reasoning_summary = "detailed"
model_supports_reasoning_summaries = true
model_verbosity = "low"
model_context_window = 1000
model_max_output_tokens = 200
model_auto_compact_token_limit = 800
tool_output_token_limit = 50
model_instructions_file = "base.md"
developer_instructions = "dev"
instructions = "mine"
approval_policy = "untrusted"
sandbox_mode = "workspace-write"
include_apply_patch_tool = false
project_doc_max_bytes = 10
project_doc_fallback_filenames = ["CLAUDE.md"]
project_root_markers = [".hg"]
hide_agent_reasoning = true
show_raw_agent_reasoning = true
notify = ["notify-send", "done"]

[sandbox_workspace_write]
writable_roots = ["/data", "~/more", "near"]
network_access = true
exclude_tmpdir_env_var = true
exclude_slash_tmp = true

[shell_environment_policy]
inherit = "all"
ignore_default_excludes = true
exclude = ["AWS_*"]
set = { A = "1" }
include_only = ["PATH"]

[history]
persistence = "none"
max_bytes = 100

[edits]
approve = "workspace"
hints = false

[features]
undo = true

[model_providers.acme]
name = "Acme"
base_url = "https://acme.example/v1/"
env_key = "ACME_KEY"
env_key_instructions = "Ask."
experimental_bearer_token = "t"
wire_api = "chat"
query_params = { v = "1" }
http_headers = { X = "y" }
env_http_headers = { Z = "W" }
request_max_retries = 1000
stream_max_retries = 0
stream_idle_timeout_ms = 7
requires_openai_auth = true

[model_providers.ollama]
base_url = "http://gpu:11434/v1"
"#,
    );
    std::fs::write(place.sources.home.join("base.md"), "Be brief.").unwrap();
    let loaded = place.load();
    assert_eq!(told(&loaded), [] as [String; 0]);
    let config = loaded.config;
    assert_eq!(
        (
            config.edits.approve,
            config.edits.hints,
            config.include_apply_patch_tool
        ),
        (EditApproval::Workspace, false, false)
    );
    assert_eq!(config.model.as_deref(), Some("m"));
    assert_eq!(config.model_provider, "acme");
    assert!(config.model_provider_chosen);
    assert_eq!(config.effort.as_deref(), Some("high"));
    assert_eq!(config.summary, ReasoningSummary::Detailed);
    assert_eq!(config.supports_reasoning_summaries, Some(true));
    assert_eq!(config.verbosity.as_deref(), Some("low"));
    assert_eq!(
        (
            config.context_window,
            config.max_output_tokens,
            config.auto_compact_token_limit,
            config.tool_output_token_limit
        ),
        (Some(1000), Some(200), Some(800), Some(50))
    );
    assert_eq!(config.base_instructions.as_deref(), Some("Be brief."));
    assert_eq!(config.developer_instructions.as_deref(), Some("dev"));
    assert_eq!(config.user_instructions.as_deref(), Some("mine"));
    assert_eq!(config.approval_policy, ApprovalPolicy::Untrusted);
    let home = &place.sources.home;
    assert_eq!(
        config.sandbox_policy,
        SandboxPolicy::WorkspaceWrite {
            writable_roots: vec!["/data".into(), place.dir.path().join("more"), home.join("near")],
            network_access: true,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        }
    );
    assert_eq!(config.project_doc_max_bytes, 10);
    assert_eq!(config.project_doc_fallback_filenames, ["CLAUDE.md"]);
    assert_eq!(config.project_root_markers, [".hg"]);
    assert!(config.hide_agent_reasoning && config.show_raw_agent_reasoning);
    assert_eq!(config.notify, ["notify-send", "done"]);
    assert_eq!((config.history.save, config.history.max_bytes), (false, Some(100)));
    assert_eq!(config.features, BTreeMap::from([("undo".to_owned(), true)]));
    assert_eq!(config.environment.inherit, Inherit::All);
    assert!(config.environment.ignore_default_excludes);
    assert_eq!(config.environment.exclude, ["AWS_*"]);
    assert_eq!(config.environment.include_only, ["PATH"]);
    assert_eq!(
        config.environment.set,
        BTreeMap::from([("A".to_owned(), "1".to_owned())])
    );
    let acme = config.provider("acme").unwrap();
    assert_eq!(
        (acme.base_url.as_str(), acme.wire_api),
        ("https://acme.example/v1", WireApi::Chat)
    );
    assert_eq!(
        (
            acme.request_max_retries,
            acme.stream_max_retries,
            acme.stream_idle_timeout_ms
        ),
        (100, 0, 7)
    );
    assert_eq!(acme.query_params["v"], "1");
    assert_eq!(acme.http_headers["X"], "y");
    assert_eq!(acme.env_http_headers["Z"], "W");
    assert!(acme.requires_openai_auth);
    let ollama = config.provider("ollama").unwrap();
    assert_eq!(
        (ollama.base_url.as_str(), ollama.name.as_str()),
        ("http://gpu:11434/v1", "Ollama")
    );
}

#[test]
fn keys_of_the_reference_system_are_known() {
    let text = r#"
review_model = "r"
web_search = "live"
chatgpt_base_url = "https://chatgpt.example/"
forced_login_method = "api"
disable_response_storage = true
otel = { exporter = "none" }
log_dir = "logs"
[mcp_servers.docs]
command = "docs"
[tui]
theme = "dark"
[history]
persistence = "save-all"
"#;
    let loaded = Place::new().user(text).load();
    assert_eq!(told(&loaded), [] as [String; 0]);
    let noted: Vec<u32> = loaded.notes.iter().filter_map(|note| note.line).collect();
    assert_eq!(noted, [8, 11]);
}

/// Each setting that the snapshots of the reference system name is read; what was not understood is named with its line.
///
/// Shows S-361.
#[test]
fn each_named_setting_is_read() {
    type Row = (&'static str, fn(&Config) -> bool);
    let rows: &[Row] = &[
        ("model = 'm'", |config| config.model.as_deref() == Some("m")),
        ("model_provider = 'ollama'", |config| config.model_provider == "ollama"),
        ("model_reasoning_effort = 'high'", |config| {
            config.effort.as_deref() == Some("high")
        }),
        ("model_reasoning_summary = 'none'", |config| {
            config.summary == ReasoningSummary::None
        }),
        ("model_context_window = 7", |config| config.context_window == Some(7)),
        ("model_max_output_tokens = 7", |config| {
            config.max_output_tokens == Some(7)
        }),
        ("model_auto_compact_token_limit = 7", |config| {
            config.auto_compact_token_limit == Some(7)
        }),
        ("review_model = 'r'", |config| {
            config.review_by.model.as_deref() == Some("r")
        }),
        ("review_model_provider = 'azure'", |config| {
            config.review_by.provider.as_deref() == Some("azure")
        }),
        ("compact_model = 'c'", |config| {
            config.compact_by.model.as_deref() == Some("c")
        }),
        ("compact_model_provider = 'azure'", |config| {
            config.compact_by.provider.as_deref() == Some("azure")
        }),
        ("approvals = {model = 'a', model_provider = 'azure'}", |config| {
            (
                config.approvals_by.model.as_deref(),
                config.approvals_by.provider.as_deref(),
            ) == (Some("a"), Some("azure"))
        }),
        ("approval_policy = 'never'", |config| {
            config.approval_policy == ApprovalPolicy::Never
        }),
        ("sandbox_policy = 'danger-full-access'", |config| {
            config.sandbox_policy == SandboxPolicy::DangerFullAccess
        }),
        ("[shell_environment_policy]\ninherit = 'none'", |config| {
            config.environment.inherit == Inherit::None
        }),
        ("[mcp_servers.a]\ncommand = 'x'", |config| {
            config.mcp_servers.contains_key("a")
        }),
        ("mcp_oauth_credentials_store_mode = 'ephemeral'", |config| {
            config.mcp_logins.store == CredentialStore::Ephemeral
        }),
        ("cli_auth_credentials_store_mode = 'ephemeral'", |config| {
            config.login.store == CredentialStore::Ephemeral
        }),
        ("notify = ['x']", |config| config.notify == ["x"]),
        ("history = { persistence = 'none' }", |config| !config.history.save),
        (
            "[otel.exporter.otlp-http]\nendpoint = 'http://127.0.0.1:4318/v1/logs'",
            |config| config.otel.logs.is_some(),
        ),
        ("features = { undo = false }", |config| !config.snapshots()),
        ("show_raw_agent_reasoning = true", |config| {
            config.show_raw_agent_reasoning
        }),
        ("forced_login_method = 'api'", |config| {
            config.login.forced == Some(ForcedMethod::ApiKey)
        }),
        ("forced_chatgpt_workspace_id = 'w'", |config| {
            config.login.workspaces == Some(vec!["w".to_owned()])
        }),
        ("chatgpt_base_url = 'https://b.example/'", |config| {
            config.login.base_url == "https://b.example"
        }),
        ("limits = { memory = '1 GiB' }", |config| {
            config.bounds.memory == Memory::Bytes(1 << 30)
        }),
        ("limits = { processes = 99 }", |config| config.bounds.processes == 99),
        ("disable_response_storage = false", |config| config.stores_answers),
        ("active_profile = 'p'\n[profiles.p]\nmodel = 'of p'", |config| {
            config.model.as_deref() == Some("of p")
        }),
        ("base_instructions = 'b'", |config| {
            config.base_instructions.as_deref() == Some("b")
        }),
        ("user_instructions = 'u'", |config| {
            config.user_instructions.as_deref() == Some("u")
        }),
        ("use_experimental_unified_exec_tool = false", |config| {
            !config.unified_exec()
        }),
    ];
    let plain = Place::new().load().config;
    for (text, holds) in rows {
        assert!(!holds(&plain), "{text}: it is so without it");
        let loaded = Place::new().user(text).load();
        assert!(holds(&loaded.config), "{text}");
        assert_eq!((told(&loaded), loaded.notes.len()), (Vec::new(), 0), "{text}");
    }
    let loaded = Place::new().user("model = 'm'\nunheard_of = 1\n").load();
    assert_eq!(
        told(&loaded),
        ["2: `unheard_of` is not a known key, so it is not used."]
    );
}

/// Another name of a key counts as the key, for a project too, and never twice.
#[test]
fn other_names_are_the_key_itself() {
    let loaded = Place::new()
        .user("active_profile = 'a'\nprofile = 'b'\n[profiles.a]\n[profiles.b]\n")
        .load();
    assert_eq!(loaded.config.profile.as_deref(), Some("b"));
    assert_eq!(
        told(&loaded),
        ["1: `active_profile` is another name of `profile`, which stands there too; it is not used."]
    );
    let place = Place::new().project(".countersign/config.toml", "sandbox_policy = 'danger-full-access'\n");
    let loaded = place.load();
    assert_eq!(loaded.origins["sandbox_mode"], "built-in");
    assert!(told(&loaded)[0].contains("can only tighten"), "{:?}", told(&loaded));
}
