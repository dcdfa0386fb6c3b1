//! Layers and which of them wins.

use super::{Place, told};
use countersign::config::bounds::{Bounds, Memory};
use countersign::config::environment::Inherit;
use countersign::config::{self, ConfigError};
use countersign::protocol::settings::{ApprovalPolicy, EditApproval, SandboxMode, SandboxPolicy};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

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
        (
            json!({ "model_providers.x.base_url": "http://x/" }),
            "A request cannot set `model_providers.x`",
        ),
        (
            json!({ "mcp_servers": { "x": { "command": "y" } } }),
            "A request cannot set `mcp_servers.x`",
        ),
        (json!({ "notify": ["x"] }), "A request cannot set `notify`"),
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

/// Shows that a project may lower what commands may take, and not raise it.
#[test]
fn a_project_lowers_the_bounds_of_commands_only() {
    let bounds = |memory: Memory, processes: u64| Bounds { memory, processes };
    let person = "[limits]\nmemory = '1 GiB'\nprocesses = 500\n";
    for (own, project, expected, complaints) in [
        ("", "", bounds(Memory::Share(50), 2048), 0),
        (person, "", bounds(Memory::Bytes(1 << 30), 500), 0),
        (
            person,
            "[limits]\nmemory = '100 MiB'",
            bounds(Memory::Bytes(100 << 20), 500),
            0,
        ),
        (
            person,
            "[limits]\nprocesses = 20",
            bounds(Memory::Bytes(1 << 30), 20),
            0,
        ),
        (
            person,
            "[limits]\nmemory = '2 GiB'\nprocesses = 20",
            bounds(Memory::Bytes(1 << 30), 20),
            1,
        ),
        (
            person,
            "[limits]\nmemory = 2000000000",
            bounds(Memory::Bytes(1 << 30), 500),
            1,
        ),
        (
            person,
            "[limits]\nmemory = '100%'",
            bounds(Memory::Bytes(1 << 30), 500),
            1,
        ),
        (
            person,
            "[limits]\nprocesses = 501",
            bounds(Memory::Bytes(1 << 30), 500),
            1,
        ),
        (
            "",
            "[limits]\nmemory = '51%'\nprocesses = 3000",
            bounds(Memory::Share(50), 2048),
            2,
        ),
        ("", "[limits]\nmemory = '49%'", bounds(Memory::Share(49), 2048), 0),
        // What means nothing counts for nothing.
        (
            person,
            "[limits]\nmemory = 'all'",
            bounds(Memory::Bytes(1 << 30), 500),
            1,
        ),
        ("[limits]\nmemory = 5\n", "", bounds(Memory::Share(50), 2048), 1),
        (
            "[limits]\nmemory = '0%'\nprocesses = -1\n",
            "",
            bounds(Memory::Share(50), 2048),
            2,
        ),
        // Nothing could be run with fewer.
        ("[limits]\nprocesses = 0\n", "", bounds(Memory::Share(50), 8), 0),
    ] {
        let place = Place::new().user(own).project(".countersign/config.toml", project);
        let loaded = place.load();
        assert_eq!(loaded.config.bounds, expected, "{own} {project}");
        assert_eq!(told(&loaded).len(), complaints, "{own} {project}: {:?}", told(&loaded));
    }
}
