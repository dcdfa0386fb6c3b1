//! Files as they stand: what is not understood, what is broken, what is shown.

use super::{Place, told};
use countersign::config::{self, ConfigError, Loaded};
use countersign::protocol::settings::SandboxMode;
use serde_json::json;
use std::path::PathBuf;

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
        "9: `model_providers.x.wire_api` cannot be \"grpc\"; it is one of responses, chat, anthropic. It is not used.",
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

/// A price that says only half is none, and that is said.
#[test]
fn a_price_says_what_input_and_output_cost() {
    for (price, lacks) in [
        ("input = 1", Some("no `output`")),
        ("output = 1.5", Some("no `input`")),
        ("cached_input = 0.1", Some("neither")),
        ("input = 0\noutput = 0", None),
    ] {
        let text = format!("[models.\"a-1.5\"]\ntext_calls = true\n[models.\"a-1.5\".price]\n{price}\n");
        let loaded = Place::new().user(&text).load();
        let expected = lacks.map(|lacks| {
            format!("4: `models.a-1.5.price` must have `input` and `output`, but it has {lacks}. It is not used.")
        });
        assert_eq!(told(&loaded), Vec::from_iter(expected), "{price}");
        let used = loaded
            .config
            .model_settings("A-1.5")
            .price
            .and_then(|price| price.price());
        assert_eq!(used.is_none(), lacks.is_some(), "{price}");
    }
}

#[test]
fn a_broken_file_leaves_the_defaults_but_closes_the_sandbox() {
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
        // Nobody knows what it forbids.
        assert!(loaded.is_lost && loaded.sandbox_mode() == SandboxMode::ReadOnly);
        assert!(
            loaded.warnings[0].message.contains("read-only"),
            "{:?}",
            loaded.warnings
        );
    }
    let sound = Place::new().user("model = 'x'").load();
    assert!(!sound.is_lost && sound.sandbox_mode() == SandboxMode::WorkspaceWrite);
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
fn secrets_are_not_shown() {
    let text = "[model_providers.a]\nbase_url = 'http://a/v1'\nexperimental_bearer_token = 's3cret'\nhttp_headers = { X = 's3cret' }\n";
    let place = Place::new().user(text).env("OPENAI_API_KEY", "s3cret");
    let shown = config::config_read(&place.sources).unwrap();
    let text = serde_json::to_string(&shown).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    assert_eq!(shown.config["model_providers"]["a"]["base_url"], "http://a/v1");
    assert_eq!(place.load().config.providers["a"].http_headers["X"], "s3cret");
}

/// A provider for work beside the conversation that is not there is told of with its line, and the thread's is used; its
/// model, which would mean nothing there, is not.
#[test]
fn a_helping_provider_that_is_not_known_is_told_of_and_not_used() {
    for (text, line, key) in [
        (
            "model = 'm'\nreview_model = 'r'\nreview_model_provider = 'othr'\n",
            3,
            "review_model_provider",
        ),
        ("compact_model_provider = 'othr'\n", 1, "compact_model_provider"),
        (
            "[approvals]\nassess_risk = true\nmodel_provider = 'othr'\nmodel = 'a'\n",
            3,
            "approvals.model_provider",
        ),
    ] {
        let loaded = Place::new().user(text).load();
        let told = told(&loaded);
        assert_eq!(told.len(), 1, "{told:?}");
        let beginning =
            format!("{line}: `{key}`: there is no model provider \"othr\", so the thread's is used. Known are: ");
        assert!(told[0].starts_with(&beginning), "{told:?}");
        let config = &loaded.config;
        for helper in [&config.review_by, &config.compact_by, &config.approvals_by] {
            assert!(helper.is_thread(), "{helper:?}");
        }
    }
    let known = "compact_model_provider = 'mine'\n[model_providers.mine]\nbase_url = 'http://x/v1'\n";
    let loaded = Place::new().user(known).load();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert_eq!(loaded.config.compact_by.provider.as_deref(), Some("mine"));
}

/// Keys on which somebody would count, and that change nothing here: a warning with its line says why and what to do.
#[test]
fn keys_without_effect_are_told_of_with_the_reason() {
    let text = "[model_providers.a]\nname = 'A'\nbase_url = 'http://x/v1'\nsupports_websockets = true\n\
                websocket_connect_timeout_ms = 5\naws = { region = 'x' }\n";
    let loaded = Place::new().user(text).load();
    let told = told(&loaded);
    let expected = [
        (
            "4: `model_providers.a.supports_websockets` is known, but has no effect here: ",
            "leave it out",
        ),
        (
            "5: `model_providers.a.websocket_connect_timeout_ms` is known, but",
            "streamed over HTTP",
        ),
        (
            "6: `model_providers.a.aws` is known, but has no effect here: ",
            "`base_url`",
        ),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for (told, (beginning, words)) in told.iter().zip(expected) {
        assert!(told.starts_with(beginning) && told.contains(words), "{told}");
    }
}
