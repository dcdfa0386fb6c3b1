//! What is known of models: a small table of our own, and what a provider lists.

use crate::config::provider::Provider;
use crate::model::client::is_openai;
use crate::model::{ErrorKind, ModelClient, ModelError};
use crate::protocol::model::Model;
use serde_json::Value;
use std::time::Duration;

/// The model that is used when nobody chose one.
pub const DEFAULT_MODEL: &str = "gpt-5";

/// The window taken for a model of OpenAI's that the table does not know, in tokens.
const FALLBACK_WINDOW: u32 = 272_000;
const LIST_LIMIT: Duration = Duration::from_secs(10);

/// A family of models: all whose name begins with `prefix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    pub prefix: &'static str,
    /// Tokens of input and output together, as far as input may use them.
    pub context_window: u32,
    /// Empty for models that do not reason.
    pub efforts: &'static [&'static str],
    pub default_effort: Option<&'static str>,
    pub parallel_tool_calls: bool,
    /// Whether it takes free-form tools over the Responses API.
    pub custom_tools: bool,
}

const NO_EFFORTS: &[&str] = &[];
const CLASSIC: &[&str] = &["low", "medium", "high"];
const MINIMAL: &[&str] = &["minimal", "low", "medium", "high"];
const NONE_TO_HIGH: &[&str] = &["none", "low", "medium", "high"];
const NONE_TO_XHIGH: &[&str] = &["none", "low", "medium", "high", "xhigh"];
const LOW_TO_XHIGH: &[&str] = &["low", "medium", "high", "xhigh"];

const fn plain(prefix: &'static str, context_window: u32) -> Family {
    let (efforts, default_effort) = (NO_EFFORTS, None);
    Family {
        prefix,
        context_window,
        efforts,
        default_effort,
        parallel_tool_calls: true,
        custom_tools: false,
    }
}

const fn reasons(prefix: &'static str, context_window: u32, efforts: &'static [&'static str]) -> Family {
    let default_effort = Some("medium");
    Family {
        prefix,
        context_window,
        efforts,
        default_effort,
        parallel_tool_calls: false,
        custom_tools: false,
    }
}

const fn gpt5(prefix: &'static str, efforts: &'static [&'static str]) -> Family {
    let default_effort = Some("medium");
    let context_window = 272_000;
    Family {
        prefix,
        context_window,
        efforts,
        default_effort,
        parallel_tool_calls: true,
        custom_tools: true,
    }
}

/// Anthropic's: the effort is the person's wish to see it think.
const fn claude(prefix: &'static str, efforts: &'static [&'static str]) -> Family {
    Family {
        prefix,
        context_window: 200_000,
        efforts,
        default_effort: None,
        parallel_tool_calls: true,
        custom_tools: false,
    }
}

/// How a model of Anthropic's is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    None,
    /// So many tokens at most.
    Budget,
    /// As much as it sees fit for an effort.
    Adaptive,
}

/// Families that think within a budget; those after them see for themselves, those before do not think.
const BUDGET: &[&str] = &[
    "claude-3-7",
    "claude-sonnet-4-5",
    "claude-sonnet-4-0",
    "claude-sonnet-4-20250514",
    "claude-opus-4-5",
    "claude-opus-4-1",
    "claude-opus-4-0",
    "claude-opus-4-20250514",
    "claude-haiku-4-5",
];

/// How a model is asked to think over Anthropic's API.
pub(super) fn thinking(model: &str) -> Thinking {
    match family(model) {
        Some(family) if !family.prefix.starts_with("claude") || family.efforts.is_empty() => Thinking::None,
        Some(family) if BUDGET.contains(&family.prefix) => Thinking::Budget,
        Some(_) => Thinking::Adaptive,
        None => Thinking::None,
    }
}

/// The most that one answer may hold over an API that wants to be told, in tokens.
pub(super) fn output_limit(model: &str) -> u32 {
    match family(model).map(|family| family.prefix) {
        Some("claude-3-opus" | "claude-3-sonnet" | "claude-3-haiku") => 4096,
        Some("claude-3-5") => 8192,
        Some("claude-opus-4-0" | "claude-opus-4-1" | "claude-opus-4-20250514") => 32_000,
        Some(prefix) if prefix.starts_with("claude") => 64_000,
        // All that speak it take this.
        _ => 8192,
    }
}

/// Longer prefixes before the shorter ones that they begin with.
const FAMILIES: &[Family] = &[
    plain("gpt-5-chat", 128_000),
    plain("gpt-5.1-chat", 128_000),
    plain("gpt-5.2-chat", 128_000),
    gpt5("gpt-5.1-codex-max", LOW_TO_XHIGH),
    gpt5("gpt-5.1-codex", CLASSIC),
    gpt5("gpt-5.1", NONE_TO_HIGH),
    gpt5("gpt-5-codex", CLASSIC),
    gpt5("gpt-5.2-codex", LOW_TO_XHIGH),
    gpt5("gpt-5.3-codex", LOW_TO_XHIGH),
    gpt5("gpt-5.", NONE_TO_XHIGH),
    gpt5("gpt-5", MINIMAL),
    claude("claude-3-opus", NO_EFFORTS),
    claude("claude-3-sonnet", NO_EFFORTS),
    claude("claude-3-haiku", NO_EFFORTS),
    claude("claude-3-5", NO_EFFORTS),
    claude("claude-3-7", CLASSIC),
    claude("claude-sonnet-4-5", CLASSIC),
    claude("claude-sonnet-4-0", CLASSIC),
    claude("claude-sonnet-4-20250514", CLASSIC),
    claude("claude-opus-4-5", CLASSIC),
    claude("claude-opus-4-1", CLASSIC),
    claude("claude-opus-4-0", CLASSIC),
    claude("claude-opus-4-20250514", CLASSIC),
    claude("claude-haiku-4-5", CLASSIC),
    claude("claude", LOW_TO_XHIGH),
    plain("gpt-4.1", 1_047_576),
    plain("gpt-4.5", 128_000),
    plain("gpt-4o", 128_000),
    plain("chatgpt-4o", 128_000),
    plain("gpt-4-turbo", 128_000),
    plain("gpt-4-32k", 32_768),
    plain("gpt-4", 8_192),
    plain("gpt-3.5-turbo", 16_385),
    Family {
        custom_tools: false,
        parallel_tool_calls: false,
        ..reasons("gpt-oss", 131_072, CLASSIC)
    },
    plain("o1-mini", 128_000),
    plain("o1-preview", 128_000),
    reasons("o1", 200_000, CLASSIC),
    reasons("o3", 200_000, CLASSIC),
    reasons("o4", 200_000, CLASSIC),
    reasons("codex-mini", 200_000, CLASSIC),
];

/// How requests to a provider are paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// By a key, or not at all.
    Key,
    /// By an account's plan, which covers some models only.
    Account,
}

impl Login {
    /// What a provider's settings say: an account where one is needed and no key is named.
    pub fn of(provider: &Provider) -> Self {
        let has_key = provider.env_key.is_some() || provider.experimental_bearer_token.is_some();
        match provider.requires_openai_auth && !has_key {
            true => Self::Account,
            false => Self::Key,
        }
    }
}

/// The models offered for OpenAI when its own list cannot be had: id, name, and whether accounts have them too.
const OFFERED: &[(&str, &str, bool)] = &[
    ("gpt-5", "GPT-5", true),
    ("gpt-5-codex", "GPT-5 Codex", true),
    ("gpt-5.1", "GPT-5.1", true),
    ("gpt-5.1-codex", "GPT-5.1 Codex", true),
    ("gpt-5.1-codex-max", "GPT-5.1 Codex Max", true),
    ("gpt-5.2", "GPT-5.2", true),
    ("gpt-5.2-codex", "GPT-5.2 Codex", true),
    ("gpt-5.3-codex", "GPT-5.3 Codex", true),
    ("gpt-5-mini", "GPT-5 mini", false),
    ("gpt-4.1", "GPT-4.1", false),
    ("o4-mini", "o4-mini", false),
];

/// The family of a model; names with a vendor before a slash (`openai/gpt-5`) count too.
pub fn family(model: &str) -> Option<&'static Family> {
    let mut name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    if name.starts_with("claude") {
        // Gateways write the number of the version with a dot.
        name = name.replace('.', "-");
    }
    // `o1` must not take `o100`, `gpt-4` not `gpt-40`.
    let fits = |family: &&Family| {
        name.strip_prefix(family.prefix)
            .is_some_and(|rest| family.prefix.ends_with('.') || !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    FAMILIES.iter().find(fits)
}

/// Whether a model may call several tools in one answer. One that the table does not know is taken to.
pub fn calls_side_by_side(model: &str) -> bool {
    family(model).is_none_or(|family| family.parallel_tool_calls)
}

/// Whether a model may be told how much to say.
pub fn takes_verbosity(model: &str) -> bool {
    family(model).is_some_and(|family| family.prefix.starts_with("gpt-5") && family.custom_tools)
}

/// Families that see no images.
const BLIND: &[&str] = &[
    "gpt-4",
    "gpt-4-32k",
    "gpt-3.5-turbo",
    "gpt-oss",
    "o1-mini",
    "o1-preview",
];

/// Whether a model takes images. One that the table does not know is taken to.
pub fn takes_images(model: &str) -> bool {
    family(model).is_none_or(|family| !BLIND.contains(&family.prefix))
}

/// Whether a reasoning block may be sent. For models that the table does not know, an effort that the person set is
/// taken as the word that they do.
pub fn takes_reasoning(model: &str, effort: Option<&str>) -> bool {
    match family(model) {
        Some(family) => !family.efforts.is_empty(),
        None => effort.is_some(),
    }
}

/// The context window in tokens: the configured one, else the table's; for a model that nobody knows only OpenAI's
/// fallback, else it is not known.
pub fn context_window(model: &str, provider: &Provider, configured: Option<u32>) -> Option<u32> {
    configured
        .or_else(|| family(model).map(|family| family.context_window))
        .or_else(|| is_openai(&provider.base_url).then_some(FALLBACK_WINDOW))
}

/// A model as clients see it.
pub fn describe(model: &str, provider_id: &str, provider: &Provider, current: &str) -> Model {
    let family = family(model);
    let known_name = OFFERED
        .iter()
        .find(|(id, ..)| *id == model)
        .map(|(_, name, _)| (*name).to_owned());
    Model {
        id: model.to_owned(),
        display_name: known_name.unwrap_or_else(|| model.to_owned()),
        provider: provider_id.to_owned(),
        context_window: context_window(model, provider, None),
        supported_reasoning_efforts: family
            .map(|family| family.efforts.iter().map(|effort| (*effort).to_owned()).collect())
            .unwrap_or_default(),
        default_reasoning_effort: family.and_then(|family| family.default_effort).map(str::to_owned),
        is_default: model == current,
    }
}

/// The models of a provider without asking it: the table's for OpenAI, and in any case the current one.
pub fn offered(login: Login, provider_id: &str, provider: &Provider, current: &str) -> Vec<Model> {
    let table = if is_openai(&provider.base_url) { OFFERED } else { &[] };
    let is_covered = |(_, _, by_account): &&(&str, &str, bool)| login == Login::Key || *by_account;
    let mut ids: Vec<&str> = table.iter().filter(is_covered).map(|(id, ..)| *id).collect();
    if !current.is_empty() && !ids.contains(&current) {
        ids.insert(0, current);
    }
    ids.into_iter()
        .map(|id| describe(id, provider_id, provider, current))
        .collect()
}

/// Whether the provider itself knows best what it offers: all but OpenAI, whose list names far more than can be talked to.
pub fn is_listed(provider: &Provider) -> bool {
    !is_openai(&provider.base_url)
}

/// A model as its provider lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteModel {
    pub id: String,
    /// Tokens, where the provider says so.
    pub context_window: Option<u32>,
}

/// Asks the provider for its models, `GET <base_url>/models`.
pub async fn list_remote(client: &ModelClient) -> Result<Vec<RemoteModel>, ModelError> {
    list_within(client, LIST_LIMIT).await
}

pub(super) async fn list_within(client: &ModelClient, limit: Duration) -> Result<Vec<RemoteModel>, ModelError> {
    let value = client.get_json("models", limit).await?;
    parse_list(&value).ok_or_else(|| {
        let endpoint = crate::model::error::Endpoint {
            name: client.provider().name.clone(),
            url: client.provider().base_url.clone(),
        };
        let reason = "its list of models has no `data`".to_owned();
        ModelError {
            kind: ErrorKind::Protocol { reason },
            endpoint: std::sync::Arc::new(endpoint),
        }
    })
}

fn parse_list(value: &Value) -> Option<Vec<RemoteModel>> {
    let list = value
        .get("data")
        .or_else(|| value.get("models"))
        .unwrap_or(value)
        .as_array()?;
    let model = |entry: &Value| {
        let id = entry
            .as_str()
            .or_else(|| super::json::text(entry, &["id", "slug", "model", "name"]))?;
        let window = [
            "/context_window",
            "/context_length",
            "/max_context_length",
            "/max_model_len",
            "/meta/n_ctx",
        ]
        .iter()
        .find_map(|at| super::json::count(entry.pointer(at)))
        .filter(|window| *window > 0);
        Some(RemoteModel {
            id: id.to_owned(),
            context_window: window,
        })
    };
    Some(list.iter().filter_map(model).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn families_are_found_by_the_longest_prefix() {
        let table = [
            ("gpt-5", Some("gpt-5")),
            ("gpt-5-mini-2025-08-07", Some("gpt-5")),
            ("gpt-5-codex", Some("gpt-5-codex")),
            ("gpt-5-chat-latest", Some("gpt-5-chat")),
            ("gpt-5.1", Some("gpt-5.1")),
            ("gpt-5.1-codex-mini", Some("gpt-5.1-codex")),
            ("gpt-5.9-whatever", Some("gpt-5.")),
            ("gpt-50", None),
            ("openai/gpt-oss:20b", Some("gpt-oss")),
            ("GPT-4.1-mini", Some("gpt-4.1")),
            ("gpt-4", Some("gpt-4")),
            ("gpt-40", None),
            ("o1-pro", Some("o1")),
            ("o1000", None),
            ("o3-mini", Some("o3")),
            ("claude-opus-4-20250514", Some("claude-opus-4-20250514")),
            ("anthropic/claude-sonnet-4.5", Some("claude-sonnet-4-5")),
            ("claude-3-5-haiku-20241022", Some("claude-3-5")),
            ("claude-opus-4-7", Some("claude")),
            ("llama3.2", None),
            ("", None),
        ];
        for (model, wanted) in table {
            assert_eq!(family(model).map(|family| family.prefix), wanted, "{model}");
        }
        for (at, family) in FAMILIES.iter().enumerate() {
            let hidden = FAMILIES[..at]
                .iter()
                .find(|earlier| family.prefix.starts_with(earlier.prefix));
            assert_eq!(hidden, None, "{} can never be found", family.prefix);
        }
    }

    /// Shows S-215.
    #[test]
    fn the_window_of_an_unknown_model_comes_from_the_configuration() {
        let openai = Provider {
            base_url: "https://api.openai.com/v1".into(),
            ..Default::default()
        };
        let local = Provider {
            base_url: "http://127.0.0.1:1/v1".into(),
            ..Default::default()
        };
        assert_eq!(context_window("mystery", &local, Some(1000)), Some(1000));
        assert_eq!(context_window("mystery", &local, None), None);
        assert_eq!(context_window("mystery", &openai, None), Some(272_000));
        assert_eq!(context_window("gpt-4.1", &local, None), Some(1_047_576));
        assert_eq!(context_window("gpt-4.1", &local, Some(5)), Some(5));
    }

    #[test]
    fn the_current_model_is_always_on_offer() {
        let openai = Provider {
            base_url: "https://api.openai.com/v1".into(),
            ..Default::default()
        };
        let default = |models: &[Model]| {
            models
                .iter()
                .filter(|model| model.is_default)
                .map(|m| m.id.clone())
                .collect()
        };
        let models = offered(Login::Key, "openai", &openai, "gpt-4.1");
        assert_eq!(
            (models.len(), default(&models)),
            (OFFERED.len(), vec!["gpt-4.1".to_owned()])
        );
        let models = offered(Login::Key, "local", &Provider::default(), "llama");
        assert_eq!((models.len(), default(&models)), (1, vec!["llama".to_owned()]));
    }

    /// Shows S-362, S-365.
    #[test]
    fn the_list_depends_on_the_login() {
        let openai = Provider {
            base_url: "https://api.openai.com/v1".into(),
            ..Default::default()
        };
        let ids = |login, provider: &Provider| -> Vec<String> {
            offered(login, "openai", provider, "")
                .into_iter()
                .map(|model| model.id)
                .collect()
        };
        let by_account = [
            "gpt-5",
            "gpt-5-codex",
            "gpt-5.1",
            "gpt-5.1-codex",
            "gpt-5.1-codex-max",
            "gpt-5.2",
            "gpt-5.2-codex",
            "gpt-5.3-codex",
        ];
        assert_eq!(ids(Login::Account, &openai), by_account);
        let by_key = ids(Login::Key, &openai);
        assert_eq!(by_key[..8], by_account);
        assert_eq!(by_key[8..], ["gpt-5-mini", "gpt-4.1", "o4-mini"]);
        assert_eq!(ids(Login::Account, &Provider::default()), [""; 0]);
        let needs_account = Provider {
            requires_openai_auth: true,
            ..openai.clone()
        };
        let either = Provider {
            env_key: Some("KEY".into()),
            ..needs_account.clone()
        };
        let logins = [openai, needs_account, either].map(|provider| Login::of(&provider));
        assert_eq!(logins, [Login::Key, Login::Account, Login::Key]);
    }

    #[test]
    fn lists_in_their_shapes() {
        let ids = |value: Value| parse_list(&value).map(|list| list.into_iter().map(|m| m.id).collect::<Vec<_>>());
        assert_eq!(
            ids(json!({"data": [{"id": "a"}, {"no": 1}, {"id": "b"}]})),
            Some(vec!["a".into(), "b".into()])
        );
        assert_eq!(ids(json!({"models": [{"name": "a"}]})), Some(vec!["a".into()]));
        assert_eq!(ids(json!(["a"])), Some(vec!["a".into()]));
        assert_eq!(ids(json!({"data": []})), Some(vec![]));
        assert_eq!(ids(json!({"hello": 1})), None);
        let with_window = parse_list(&json!({"data": [{"id": "a", "max_model_len": 4096}]})).expect("a list");
        assert_eq!(with_window[0].context_window, Some(4096));
    }
}
