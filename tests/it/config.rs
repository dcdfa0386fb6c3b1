//! Configuration: layers, what a project may do, and reports with lines.

use countersign::config::provider::WireApi;
use countersign::config::{self, ConfigError, Loaded, Sources, environment::Inherit};
use countersign::protocol::settings::{ApprovalPolicy, EditApproval, ReasoningSummary, SandboxMode, SandboxPolicy};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

struct Place {
    dir: tempfile::TempDir,
    sources: Sources,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let sources = Sources {
            home,
            env: BTreeMap::from([pair("HOME", dir.path())]),
            ..Sources::default()
        };
        Self { dir, sources }
    }

    fn user(self, text: &str) -> Self {
        std::fs::write(self.sources.home.join("config.toml"), text).unwrap();
        self
    }

    /// A project file; the project is `<dir>/project` with a `.git`.
    fn project(mut self, path: &str, text: &str) -> Self {
        let root = self.dir.path().join("project");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        self.sources.cwd.get_or_insert(root);
        self
    }

    fn client(mut self, value: Value) -> Self {
        self.sources.client = Some(value);
        self
    }

    fn request(mut self, value: Value) -> Self {
        self.sources.overrides = value.as_object().unwrap().clone();
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.sources.env.insert(name.into(), value.into());
        self
    }

    fn load(&self) -> Loaded {
        config::load(&self.sources).unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(&self) -> ConfigError {
        config::load(&self.sources).expect_err("not valid")
    }
}

fn pair(name: &str, path: &Path) -> (String, String) {
    (name.to_owned(), path.display().to_string())
}

/// `line: message` of each warning.
fn told(loaded: &Loaded) -> Vec<String> {
    let line = |line: Option<u32>| line.map_or_else(|| "-".to_owned(), |line| line.to_string());
    loaded
        .warnings
        .iter()
        .map(|warning| format!("{}: {}", line(warning.line), warning.message))
        .collect()
}

#[test]
fn without_any_file_there_are_defaults() {
    let loaded = Place::new().load();
    let config = &loaded.config;
    assert!(loaded.warnings.is_empty() && loaded.notes.is_empty());
    assert_eq!(
        (config.model.as_deref(), config.model_provider.as_str()),
        (None, "openai")
    );
    assert_eq!(config.approval_policy, ApprovalPolicy::OnRequest);
    assert_eq!(
        config.sandbox_policy,
        SandboxPolicy::from_mode(SandboxMode::WorkspaceWrite)
    );
    assert_eq!(
        (
            config.edits.approve,
            config.edits.hints,
            config.include_apply_patch_tool
        ),
        (EditApproval::Ask, true, true)
    );
    assert_eq!(config.environment.inherit, Inherit::Core);
    assert!(!config.environment.ignore_default_excludes);
    assert_eq!(config.project_doc_max_bytes, 32768);
    let openai = config.provider("openai").unwrap();
    assert_eq!(openai.base_url, "https://api.openai.com/v1");
    assert_eq!(
        (
            openai.request_max_retries,
            openai.stream_max_retries,
            openai.stream_idle_timeout_ms
        ),
        (4, 5, 300_000)
    );
    let env = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "k".to_owned())]);
    assert_eq!(
        config::key(openai, &env),
        Ok(Some("k".to_owned())),
        "the key alone is enough"
    );
    let ids: Vec<&String> = config.providers.keys().collect();
    assert_eq!(
        ids,
        [
            "anthropic",
            "azure",
            "llamacpp",
            "lmstudio",
            "ollama",
            "openai",
            "openrouter",
            "rehearsal"
        ]
    );
    assert!(matches!(
        config.provider("rehearsal"),
        Err(ConfigError::NoAddress { .. })
    ));
}

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
fn servers_of_a_project_count_only_where_it_is_trusted() {
    let project = "[mcp_servers.p]\ncommand = './run'\ncwd = 'sub'\n";
    for (trust, expected) in [(None, 0), (Some("untrusted"), 0), (Some("trusted"), 1)] {
        let place = Place::new().project(".countersign/config.toml", project);
        let user = trust.map_or_else(String::new, |trust| {
            format!(
                "[projects.{:?}]\ntrust_level = {trust:?}\n",
                place.sources.cwd.as_ref().unwrap().display().to_string()
            )
        });
        let loaded = place.user(&user).load();
        assert_eq!(loaded.config.mcp_servers.len(), expected, "{trust:?}");
        let told = told(&loaded);
        assert_eq!(
            told.iter().any(|text| text.contains("trust_level")),
            trust.is_none(),
            "{told:?}"
        );
    }
}

#[test]
fn what_is_wrong_with_a_server_is_told_with_its_line() {
    let text = "[mcp_servers.a]\ncommand = 'x'\ntool_timeout_sec = -1\nheaders = {}\nstartup_timeout_sec = 2.5\n\n\
                [mcp_servers.b]\nurl = 'ftp://x'\n\n[mcp_servers.c]\ncommand = 'x'\nurl = 'http://x/'\n";
    let loaded = Place::new().user(text).load();
    let names: Vec<&String> = loaded.config.mcp_servers.keys().collect();
    assert_eq!(names, ["a"]);
    assert_eq!(loaded.config.mcp_servers["a"].startup_timeout.as_millis(), 2500);
    let told: Vec<(Option<u32>, &str)> = loaded
        .warnings
        .iter()
        .map(|one| (one.line, one.message.as_str()))
        .collect();
    for (line, words) in [
        (3, "tool_timeout_sec` must be a number of seconds, more than 0"),
        (4, "did you mean `http_headers`?"),
        (8, "http:// or https://"),
        (11, "\"c\" is not used: it has both"),
    ] {
        let found = told
            .iter()
            .any(|(at, message)| *at == Some(line) && message.contains(words));
        assert!(found, "{line} {words}: {told:?}");
    }
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
    assert_eq!(noted, [3, 6, 8, 11]);
}

/// Shows S-355.
#[test]
fn later_layers_win() {
    let user = r#"
model = "user"
profile = "work"
model_verbosity = "low"
[profiles.work]
model = "profile"
model_reasoning_effort = "low"
[profiles.home]
model = "other profile"
"#;
    let place = Place::new().user(user);
    assert_eq!(place.load().config.model.as_deref(), Some("profile"));
    let place = place.project(".codex/config.toml", "model = 'codex'");
    assert_eq!(place.load().config.model.as_deref(), Some("codex"));
    let mut place = place.project(".countersign/config.toml", "model = 'project'");
    assert_eq!(place.load().config.model.as_deref(), Some("project"));
    place = place.project("deep/.countersign/config.toml", "model = 'deep'");
    place.sources.cwd = Some(place.dir.path().join("project/deep"));
    assert_eq!(place.load().config.model.as_deref(), Some("deep"));
    let place = place.client(json!({ "model": "client", "modelVerbosity": "high", "approval_policy": null }));
    assert_eq!(place.load().config.model.as_deref(), Some("client"));
    let place = place.request(json!({
        "model": "request",
        "profile": "home",
        "model_context_window": 12,
        "project_doc_fallback_filenames": ["A", "B"],
        "shell_environment_policy.set": { "X": "1" },
        "sandbox_workspace_write.network_access": true,
    }));
    let loaded = place.load();
    assert_eq!(told(&loaded), [] as [String; 0]);
    let config = &loaded.config;
    assert_eq!(config.model.as_deref(), Some("request"));
    assert_eq!(config.effort, None, "another profile was chosen");
    assert_eq!(config.verbosity.as_deref(), Some("high"));
    assert_eq!(config.context_window, Some(12));
    assert_eq!(config.project_doc_fallback_filenames, ["A", "B"]);
    assert_eq!(config.environment.set["X"], "1");
    assert!(config.sandbox_policy.network_access());
    assert_eq!(loaded.origins["model"], "request");
    assert_eq!(loaded.origins["model_verbosity"], "editor");
    assert_eq!(loaded.origins["hide_agent_reasoning"], "built-in");
    assert!(loaded.origins["profiles"].ends_with("config.toml"));
    assert_eq!((config.profile.as_deref(), config.profiles.len()), (Some("home"), 2));

    let place = Place::new().request(json!({ "profile": "fast" }));
    std::fs::write(place.sources.home.join("fast.config.toml"), "model = 'fast'").unwrap();
    assert_eq!(place.load().config.model.as_deref(), Some("fast"));
    // The section by itself, or in what holds it.
    let place = Place::new().client(json!({ "countersign": { "model": "x", "server": { "path": "/y" } } }));
    let loaded = place.load();
    assert_eq!((loaded.config.model.as_deref(), told(&loaded).len()), (Some("x"), 0));
}

#[test]
fn a_request_with_settings_that_do_not_fit_is_refused() {
    let rows = [
        (json!({ "model_provider": "nobody" }), "nobody"),
        (json!({ "model_provider": "rehearsal" }), "base_url"),
        (json!({ "profile": "nobody" }), "nobody"),
        (json!({ "approval_policy": "sometimes" }), "approval_policy"),
        (json!({ "sandbox_mode": "read_only" }), "Did you mean \"read-only\"?"),
        (json!({ "model_context_window": "many" }), "model_context_window"),
        (json!({ "model_context_window": -1 }), "negative"),
        (json!({ "sandbox_workspace_write": [] }), "a table"),
        (
            json!({ "sandbox_workspace_write.writable_roots": [1] }),
            "list of texts",
        ),
        (json!({ "model_providers.x.base_url": "ftp://x" }), "http://"),
    ];
    for (overrides, words) in rows {
        let error = Place::new().request(overrides.clone()).error().to_string();
        assert!(error.contains(words), "{overrides} {error}");
    }
    // A key that is not known is told, not refused.
    let loaded = Place::new().request(json!({ "modle": "x" })).load();
    assert_eq!(
        told(&loaded),
        ["-: `modle` is not a known key, so it is not used; did you mean `model`?"]
    );
}

#[test]
fn what_is_not_understood_is_reported_with_its_line() {
    let text = "\
modle = 'x'
model = 5
approval_policy = 'nevr'
network_access = true
model_provider = 'openai'

[model_providers.x]
base_url = 'nowhere'
wire_api = 'grpc'
sandbox_mode = 'read-only'
http_headers = { A = 1, B = 'b' }

[shell_environment_policy]
inherit = true
exclude = 'x'

[unheard.of]
a = 1
";
    let loaded = Place::new().user(text).load();
    let told = told(&loaded);
    let expected = [
        "1: `modle` is not a known key, so it is not used; did you mean `model`?",
        "2: `model` must be a text that is not empty, but it is a number. It is not used.",
        "3: `approval_policy` cannot be \"nevr\"; it is one of untrusted, on-request, on-failure, never. Did you mean \"never\"? It is not used.",
        "4: `network_access` is not a known key, so it is not used; `network_access` belongs to the table [sandbox_workspace_write].",
        "8: `model_providers.x.base_url` must be an address that begins with http:// or https://, but it is a text. It is not used.",
        "9: `model_providers.x.wire_api` cannot be \"grpc\"; it is one of responses, chat. It is not used.",
        "10: `sandbox_mode` is not a known key in [model_providers.x], so it is not used; `sandbox_mode` belongs to the top level: put it above the first [table] of the file.",
        "11: `model_providers.x.http_headers.A` must be a text, but it is a number. It is not used.",
        "14: `shell_environment_policy.inherit` must be a text, but it is true or false. It is not used.",
        "15: `shell_environment_policy.exclude` must be a list of texts, but it is a text. It is not used.",
        "17: `unheard` is not a known key, so it is not used.",
    ];
    assert_eq!(told, expected);
    assert!(
        loaded
            .warnings
            .iter()
            .all(|warning| warning.path == Some(Place::config_of(&loaded)))
    );
    // The rest is used.
    assert_eq!(loaded.config.providers["x"].http_headers["B"], "b");
}

impl Place {
    fn config_of(loaded: &Loaded) -> PathBuf {
        loaded.config.home.join("config.toml")
    }
}

#[test]
fn a_broken_file_leaves_the_defaults() {
    for (text, place) in [
        (&b"model = \"x\"\napproval_policy = \n"[..], "line 2"),
        (b"model = 'a'\nmodel = 'b'\n", "line 2"),
        (b"\xff\xfe", "not UTF-8"),
    ] {
        let here = Place::new();
        std::fs::write(here.sources.home.join("config.toml"), text).unwrap();
        let loaded = here.load();
        assert_eq!(loaded.config.model, None);
        assert_eq!(loaded.warnings.len(), 1);
        assert!(loaded.warnings[0].message.contains(place), "{:?}", loaded.warnings);
    }
    let here = Place::new();
    std::fs::create_dir(here.sources.home.join("config.toml")).unwrap();
    assert!(here.load().warnings[0].message.contains("not a file"));
    let here = Place::new().user("model_provider = 'gone'\nprofile = 'none'\nmodel_instructions_file = 'no.md'");
    let text = told(&here.load()).join("\n");
    for words in ["\"gone\"", "\"none\"", "no such file"] {
        assert!(text.contains(words), "{text}");
    }
    let here = Place::new().client(json!(["model"]));
    assert_eq!(here.load().warnings.len(), 1);
}

#[test]
fn the_saved_file_can_be_read_by_itself() {
    let place = Place::new().user("model = 'm'\n[model_providers.a]\nexperimental_bearer_token = 'secret'\n");
    assert_eq!(
        config::saved(&place.sources.home).unwrap().config,
        json!({ "model": "m", "model_providers": { "a": { "experimental_bearer_token": "<hidden>" } } })
    );
    std::fs::write(place.sources.home.join("config.toml"), "a = ").unwrap();
    assert!(matches!(
        config::saved(&place.sources.home),
        Err(ConfigError::Syntax { line: 1, .. })
    ));
    std::fs::remove_file(place.sources.home.join("config.toml")).unwrap();
    assert_eq!(config::saved(&place.sources.home).unwrap().config, json!({}));
    std::fs::create_dir(place.sources.home.join("config.toml")).unwrap();
    assert!(matches!(
        config::saved(&place.sources.home),
        Err(ConfigError::Unreadable { .. })
    ));
}

#[test]
fn automatic_acceptance_is_the_persons_to_give() {
    use EditApproval::{Ask, Workspace};
    let given = "[edits]\napprove = 'workspace'";
    for (user, project, approve, warnings) in [
        ("", given, Ask, 1),
        ("", "edits.approve = 'workspace'", Ask, 1),
        ("", "edits = { approve = 'workspace', hints = false }", Ask, 1),
        ("", "[edits]\napprove = 'always'", Ask, 1),
        ("", "[edits]\napprove = true", Ask, 1),
        ("", "edits = 'workspace'", Ask, 1),
        ("", "[edits]\naprove = 'workspace'", Ask, 1),
        ("", "[profiles.x.edits]\napprove = 'workspace'", Ask, 1),
        (given, "[edits]\napprove = 'ask'", Ask, 0),
        (given, given, Workspace, 0),
        (given, "[edits]\nhints = false", Workspace, 0),
        (given, "", Workspace, 0),
    ] {
        let loaded = Place::new()
            .user(user)
            .project(".countersign/config.toml", project)
            .load();
        assert_eq!(loaded.config.edits.approve, approve, "{user} / {project}");
        assert_eq!(told(&loaded).len(), warnings, "{project}: {:?}", told(&loaded));
        assert_eq!(
            loaded.config.edits.hints,
            !project.contains("hints = false"),
            "{project}"
        );
    }
    // The editor's settings and a request are the person's own, and a profile is.
    for client in [
        json!({"edits": {"approve": "workspace"}}),
        json!({"edits": {"approve": "workspace", "hints": null}}),
    ] {
        let loaded = Place::new().client(client).load();
        assert_eq!(
            (loaded.config.edits.approve, loaded.config.edits.hints),
            (Workspace, true)
        );
    }
    let loaded = Place::new().request(json!({"edits.approve": "workspace"})).load();
    assert_eq!(loaded.config.edits.approve, Workspace);
    let loaded = Place::new()
        .user("profile = 'x'\n[profiles.x.edits]\napprove = 'workspace'")
        .load();
    assert_eq!(loaded.config.edits.approve, Workspace);
    let error = Place::new().request(json!({"edits.approve": "yes"})).error();
    assert!(error.to_string().contains("ask, workspace"), "{error}");
}

#[test]
fn a_project_tightens_and_never_loosens() {
    let roots = "[sandbox_workspace_write]\nwritable_roots = ['/a', '/b']\n";
    let rows: &[(&str, &str, &str, &str, usize)] = &[
        // the person's, the project's, approval, sandbox, warnings
        ("", "approval_policy = 'untrusted'", "untrusted", "workspace-write", 0),
        ("", "approval_policy = 'never'", "on-request", "workspace-write", 1),
        ("", "approval_policy = 'on-failure'", "on-request", "workspace-write", 1),
        (
            "approval_policy = 'never'",
            "approval_policy = 'on-request'",
            "on-request",
            "workspace-write",
            0,
        ),
        ("", "sandbox_mode = 'read-only'", "on-request", "read-only", 0),
        (
            "",
            "sandbox_mode = 'danger-full-access'",
            "on-request",
            "workspace-write",
            1,
        ),
        ("", "sandbox_mode = 'full-access'", "on-request", "workspace-write", 1),
        (
            "sandbox_mode = 'read-only'",
            "sandbox_mode = 'workspace-write'",
            "on-request",
            "read-only",
            1,
        ),
        (
            "sandbox_mode = 'danger-full-access'",
            "sandbox_mode = 'workspace-write'",
            "on-request",
            "workspace-write",
            0,
        ),
        (
            "",
            "[sandbox_workspace_write]\nnetwork_access = true",
            "on-request",
            "workspace-write",
            1,
        ),
        (
            "",
            "[sandbox_workspace_write]\nwritable_roots = ['/']",
            "on-request",
            "workspace-write",
            1,
        ),
        (
            "",
            "[sandbox_workspace_write]\nexclude_slash_tmp = true",
            "on-request",
            "workspace-write",
            0,
        ),
        (
            roots,
            "[sandbox_workspace_write]\nwritable_roots = ['/b']",
            "on-request",
            "workspace-write",
            0,
        ),
        (
            roots,
            "[sandbox_workspace_write]\nwritable_roots = ['/b', '/c']",
            "on-request",
            "workspace-write",
            1,
        ),
        ("", "model_provider = 'ollama'", "on-request", "workspace-write", 1),
        (
            "",
            "openai_base_url = 'http://evil.example'",
            "on-request",
            "workspace-write",
            1,
        ),
        ("", "notify = ['rm', '-rf']", "on-request", "workspace-write", 1),
        ("", "profile = 'x'", "on-request", "workspace-write", 1),
        (
            "",
            "[shell_environment_policy]\ninherit = 'all'",
            "on-request",
            "workspace-write",
            1,
        ),
        (
            "",
            "[model_providers.openai]\nbase_url = 'http://evil.example'",
            "on-request",
            "workspace-write",
            1,
        ),
        ("", "[mcp_servers.x]\ncommand = 'x'", "on-request", "workspace-write", 1),
        ("", "[features]\nx = true", "on-request", "workspace-write", 1),
        (
            "",
            "projects = { '/' = { trust_level = 'trusted' } }",
            "on-request",
            "workspace-write",
            1,
        ),
    ];
    for (user, project, approval, sandbox, warnings) in rows {
        for name in [".countersign/config.toml", ".codex/config.toml"] {
            let place = Place::new().user(user).project(name, project);
            let loaded = place.load();
            let config = &loaded.config;
            assert_eq!(config.approval_policy.as_str(), *approval, "{project}");
            assert_eq!(json!(config.sandbox_policy.mode()), json!(sandbox), "{project}");
            assert!(
                !config.sandbox_policy.network_access()
                    || config.sandbox_policy.mode() == SandboxMode::DangerFullAccess
            );
            assert_eq!(config.model_provider, "openai");
            assert_eq!(config.providers["openai"].base_url, "https://api.openai.com/v1");
            assert_eq!(told(&loaded).len(), *warnings, "{project}: {:?}", told(&loaded));
            for warning in &loaded.warnings {
                assert!(
                    warning.path.as_ref().unwrap().ends_with(name) && warning.line.is_some(),
                    "{warning:?}"
                );
            }
        }
    }
    // What the person asks for by other means is the person's.
    let place = Place::new().project(".countersign/config.toml", "sandbox_mode = 'read-only'");
    let loaded = place.request(json!({ "sandbox_mode": "workspace-write" })).load();
    assert_eq!(loaded.config.sandbox_policy.mode(), SandboxMode::WorkspaceWrite);
}

/// A project closes what the person left open, and opens nothing.
#[test]
fn a_project_can_only_tighten_permissions() {
    let own = "default_permissions = 'own'\n[permissions.own]\nextends = ':workspace'\n[permissions.own.network]\n\
               enabled = true\n[permissions.own.filesystem]\n'/w' = 'write'\n";
    let full = "default_permissions = ':full-access'";
    let rows: &[(&str, &str, Option<&str>, usize)] = &[
        ("", "default_permissions = ':read-only'", Some(":read-only"), 0),
        ("", "default_permissions = ':workspace'", None, 1),
        ("", "default_permissions = ':full-access'", None, 1),
        (full, "default_permissions = ':workspace'", Some(":workspace"), 0),
        (full, "sandbox_mode = 'read-only'", None, 0),
        (
            "default_permissions = ':read-only'",
            "sandbox_mode = 'workspace-write'",
            Some(":read-only"),
            1,
        ),
        (own, "sandbox_mode = 'read-only'", Some("own"), 1),
        (own, "default_permissions = ':read-only'", Some("own"), 1),
        (
            own,
            "[permissions.own.filesystem]\n'/w' = 'deny'\n'**/.env' = 'deny'",
            Some("own"),
            0,
        ),
        (
            own,
            "[permissions.own.filesystem]\n'/x' = 'write'\n'/y' = 'read'",
            Some("own"),
            2,
        ),
        (
            own,
            "[permissions.own]\nworkspace_roots = ['/']\nextends = ':full-access'",
            Some("own"),
            2,
        ),
        (own, "[permissions.own.network]\nenabled = false", Some("own"), 0),
        (own, "[permissions.own.network]\nloopback_ports = [1]", Some("own"), 1),
        (own, "[permissions.new]\nextends = ':full-access'", Some("own"), 1),
        ("", "[sandbox]\nunreadable_defaults = false", None, 1),
        (
            "[sandbox]\nunreadable = ['/a']",
            "[sandbox]\nunreadable = ['/b']",
            None,
            0,
        ),
    ];
    for (user, project, expected, warnings) in rows {
        let place = Place::new().user(user).project(".countersign/config.toml", project);
        let loaded = place.load();
        let config = &loaded.config;
        assert_eq!(config.default_permissions.as_deref(), *expected, "{project}");
        assert_eq!(told(&loaded).len(), *warnings, "{project}: {:?}", told(&loaded));
        assert!(
            loaded.warnings.iter().all(|warning| warning.line.is_some()),
            "{project}"
        );
        assert!(config.unreadable_defaults && config.permissions.get("new").is_none());
        if let Some(profile) = config.permissions.get("own") {
            let opens = |profile: &countersign::config::permissions::Profile| profile.own_roots(None).len();
            assert_eq!(opens(profile), 0, "{project}");
            assert_eq!(profile.extends.as_deref(), Some(":workspace"), "{project}");
            assert_eq!(
                profile.network.is_whole(),
                !project.contains("enabled = false"),
                "{project}"
            );
            let writes = profile.policy(None);
            let w = matches!(writes, SandboxPolicy::WorkspaceWrite { writable_roots, .. } if writable_roots == [Path::new("/w")]);
            assert_eq!(w, !project.contains("'/w' = 'deny'"), "{project}");
        }
        if project.contains("'/b'") {
            let closed: Vec<String> = config.unreadable.iter().map(ToString::to_string).collect();
            assert_eq!(closed, ["/b", "/a"]);
        }
    }
}

/// The last layer's word counts, whether it is a profile or a mode; a name that means nothing leaves the least open.
#[test]
fn a_profile_and_a_mode_take_turns() {
    let place = |user: &str| Place::new().user(user);
    let mode = place("default_permissions = ':read-only'").client(json!({"sandbox_mode": "workspace-write"}));
    assert_eq!(mode.load().config.default_permissions, None);
    let profile = place("sandbox_mode = 'danger-full-access'").client(json!({"defaultPermissions": ":workspace"}));
    assert_eq!(profile.load().config.default_permissions.as_deref(), Some(":workspace"));
    let both = place("sandbox_mode = 'workspace-write'\ndefault_permissions = ':read-only'").load();
    assert_eq!(both.config.default_permissions.as_deref(), Some(":read-only"));
    assert!(told(&both)[0].contains("twice"), "{:?}", told(&both));
    let unknown = place("default_permissions = ':workspce'").load();
    assert_eq!(unknown.config.default_permissions.as_deref(), Some(":read-only"));
    assert!(
        told(&unknown)[0].contains("Did you mean :workspace?"),
        "{:?}",
        told(&unknown)
    );
}

#[test]
fn a_project_that_is_not_trusted_is_asked_about() {
    let place = Place::new().project(".countersign/config.toml", "model = 'x'");
    let root = place.sources.cwd.clone().unwrap();
    let entry = format!("[projects.'{}']\ntrust_level = 'untrusted'\n", root.display());
    let loaded = place.user(&entry).load();
    assert_eq!(
        (loaded.config.model, loaded.config.approval_policy),
        (None, ApprovalPolicy::Untrusted)
    );
}

#[test]
fn the_persons_own_folder_is_no_project() {
    let mut place = Place::new().user("model = 'x'");
    // The home folder is a repository, and the thread runs there.
    let user_home = place.dir.path().to_owned();
    std::fs::create_dir_all(user_home.join(".git")).unwrap();
    std::fs::rename(user_home.join("home"), user_home.join(".countersign")).unwrap();
    place.sources.home = user_home.join(".countersign");
    place.sources.cwd = Some(user_home);
    let place = place.user("approval_policy = 'never'\nmodel_provider = 'ollama'");
    let loaded = place.load();
    assert_eq!(told(&loaded), [] as [String; 0]);
    assert_eq!(loaded.config.approval_policy, ApprovalPolicy::Never);
}

#[test]
fn the_address_of_openai_can_be_changed() {
    let url = |place: Place| place.load().config.provider("openai").unwrap().base_url.clone();
    assert_eq!(
        url(Place::new().env("OPENAI_BASE_URL", "http://proxy/v1/")),
        "http://proxy/v1"
    );
    assert_eq!(
        url(Place::new().env("OPENAI_BASE_URL", " ")),
        "https://api.openai.com/v1"
    );
    assert_eq!(
        url(Place::new().user("openai_base_url = 'https://eu.example/v1'")),
        "https://eu.example/v1"
    );
}

#[test]
fn secrets_are_not_shown() {
    let text = "[model_providers.a]\nbase_url = 'http://a/v1'\nexperimental_bearer_token = 's3cret'\nhttp_headers = { X = 's3cret' }\n";
    let place = Place::new().user(text).env("OPENAI_API_KEY", "s3cret");
    let shown = config::config_read(&place.sources).unwrap();
    let text = serde_json::to_string(&shown).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    assert_eq!(shown.config["model_providers"]["a"]["base_url"], "http://a/v1");
    assert_eq!(place.load().config.providers["a"].http_headers["X"], "s3cret");
}

#[test]
fn the_home_folder_follows_the_environment() {
    let env = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    };
    type Row = (&'static [(&'static str, &'static str)], Option<&'static str>);
    let rows: &[Row] = &[
        (&[("COUNTERSIGN_HOME", "/x"), ("HOME", "/h")], Some("/x")),
        (&[("COUNTERSIGN_HOME", ""), ("HOME", "/h")], Some("/h/.countersign")),
        (&[("HOME", "/h")], Some("/h/.countersign")),
        (&[("COUNTERSIGN_HOME", "relative")], None),
        (&[], None),
    ];
    for (pairs, expected) in rows {
        assert_eq!(config::home(&env(pairs)).as_deref(), expected.map(Path::new));
    }
}

#[test]
fn agents_files_are_collected_from_the_root_down() {
    let place = Place::new()
        .user("project_doc_fallback_filenames = ['CLAUDE.md', '../../etc/passwd']\ninstructions = 'mine'")
        .project("AGENTS.md", "root\n")
        .project("a/AGENTS.override.md", "a override")
        .project("a/AGENTS.md", "a plain")
        .project("a/b/CLAUDE.md", "\u{feff}b")
        .project("a/b/c/AGENTS.md", "  \n")
        .project("z/AGENTS.md", "elsewhere");
    std::fs::write(place.sources.home.join("AGENTS.md"), "home\n").unwrap();
    let root = place.dir.path().join("project");
    let config = place.load().config;
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let found = config::instructions::project_documents(&config, &place.sources.home, &root.join("a/b/c"), &read);
    assert_eq!(
        found.text,
        "mine\n\nhome\n\n--- project-doc ---\n\nroot\n\na override\n\nb"
    );
    assert_eq!(
        found.sources,
        [
            place.sources.home.join("AGENTS.md"),
            root.join("AGENTS.md"),
            root.join("a/AGENTS.override.md"),
            root.join("a/b/CLAUDE.md")
        ]
    );
    assert_eq!(found.truncated_warning, None);

    let limited = |max: usize| {
        let mut config = config.clone();
        config.project_doc_max_bytes = max;
        config::instructions::project_documents(&config, &place.sources.home, &root.join("a/b"), &read)
    };
    let some = limited(9);
    assert_eq!(some.text, "mine\n\nhome\n\n--- project-doc ---\n\nroot\n\na ov");
    let warning = some.truncated_warning.unwrap();
    assert!(
        warning.contains("AGENTS.override.md from byte 4") && warning.contains("CLAUDE.md"),
        "{warning}"
    );
    assert_eq!(limited(0).text, "mine\n\nhome");
    assert_eq!(limited(0).truncated_warning, None);
}
