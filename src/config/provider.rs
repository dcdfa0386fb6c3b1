//! A provider of models, as `[model_providers.<id>]` describes it, and the providers that need no
//! description.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where OpenAI answers if nothing else is said.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";

/// Which of the two HTTP interfaces a provider speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireApi {
    #[default]
    Responses,
    Chat,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provider {
    /// Name for people.
    pub name: String,
    /// For example `https://api.openai.com/v1`, without a slash at the end.
    pub base_url: String,
    /// The environment variable that holds the key; absent where none is needed.
    pub env_key: Option<String>,
    /// How to get a key, shown when the variable is missing.
    pub env_key_instructions: Option<String>,
    /// The key itself; for experiments.
    pub experimental_bearer_token: Option<String>,
    pub wire_api: WireApi,
    pub query_params: BTreeMap<String, String>,
    pub http_headers: BTreeMap<String, String>,
    /// Header name to the environment variable that holds its value.
    pub env_http_headers: BTreeMap<String, String>,
    /// Tries again for a request that failed before its stream began. Default 4, at most 100.
    pub request_max_retries: u32,
    /// Tries again for a stream that broke off. Default 5, at most 100.
    pub stream_max_retries: u32,
    /// Longest silence within a stream, in milliseconds. Default 300,000.
    pub stream_idle_timeout_ms: u64,
    /// Whether what the person is logged in with is sent, where the environment holds no key.
    pub requires_openai_auth: bool,
}

impl Default for Provider {
    fn default() -> Self {
        Self {
            name: String::new(),
            base_url: String::new(),
            env_key: None,
            env_key_instructions: None,
            experimental_bearer_token: None,
            wire_api: WireApi::default(),
            query_params: BTreeMap::new(),
            http_headers: BTreeMap::new(),
            env_http_headers: BTreeMap::new(),
            request_max_retries: 4,
            stream_max_retries: 5,
            stream_idle_timeout_ms: 300_000,
            requires_openai_auth: false,
        }
    }
}

/// There is no key for a provider that needs one. The person's to mend; trying again does not help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "There is no key for {provider}: the environment variable {variable} is not set. {instructions}Set it in the \
     environment that starts your editor, then start the editor again."
)]
pub struct MissingKey {
    /// The provider's name for people.
    pub provider: String,
    pub variable: String,
    /// How to get a key; a sentence with a space behind it, or empty.
    pub instructions: String,
}

/// The key to send: `None` where the provider needs none.
pub fn key(provider: &Provider, env: &BTreeMap<String, String>) -> Result<Option<String>, MissingKey> {
    let filled = |text: &String| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
    if let Some(token) = provider.experimental_bearer_token.as_ref().and_then(filled) {
        return Ok(Some(token));
    }
    let Some(variable) = &provider.env_key else {
        return Ok(None);
    };
    match env.get(variable).and_then(filled) {
        Some(key) => Ok(Some(key)),
        None => Err(MissingKey {
            provider: provider.name.clone(),
            variable: variable.clone(),
            instructions: match provider.env_key_instructions.as_deref().map(str::trim) {
                None | Some("") => String::new(),
                Some(text) if text.ends_with(['.', '!', '?']) => format!("{text} "),
                Some(text) => format!("{text}. "),
            },
        }),
    }
}

/// The providers that are always there, in the shape of `[model_providers]`.
pub(super) fn built_in(env: &BTreeMap<String, String>) -> Value {
    let openai = env
        .get("OPENAI_BASE_URL")
        .map(|url| url.trim().trim_end_matches('/'))
        .filter(|url| !url.is_empty());
    json!({
        "openai": {
            "name": "OpenAI",
            "base_url": openai.unwrap_or(OPENAI_URL),
            "env_key": "OPENAI_API_KEY",
            "env_key_instructions": "Create a key at https://platform.openai.com/api-keys.",
            "wire_api": "responses",
            "requires_openai_auth": true,
            "env_http_headers": {
                "OpenAI-Organization": "OPENAI_ORGANIZATION",
                "OpenAI-Project": "OPENAI_PROJECT",
            },
        },
        "ollama": { "name": "Ollama", "base_url": "http://127.0.0.1:11434/v1", "wire_api": "chat" },
        "lmstudio": { "name": "LM Studio", "base_url": "http://127.0.0.1:1234/v1", "wire_api": "chat" },
        "llamacpp": { "name": "llama.cpp", "base_url": "http://127.0.0.1:8080/v1", "wire_api": "chat" },
        // `countersign rehearse` says its address when it starts; it goes into base_url.
        "rehearsal": { "name": "Rehearsal", "wire_api": "responses" },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_or_its_absence_explained() {
        let env = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let mut provider = Provider {
            name: "Acme".into(),
            ..Provider::default()
        };
        assert_eq!(key(&provider, &env(&[])), Ok(None));
        provider.env_key = Some("ACME_KEY".into());
        assert_eq!(key(&provider, &env(&[("ACME_KEY", " k\n")])), Ok(Some("k".into())));
        for empty in [env(&[]), env(&[("ACME_KEY", " ")])] {
            let text = key(&provider, &empty).unwrap_err().to_string();
            assert!(text.contains("Acme") && text.contains("ACME_KEY"), "{text}");
        }
        provider.env_key_instructions = Some("Ask Wile".into());
        let text = key(&provider, &env(&[])).unwrap_err().to_string();
        assert!(text.contains("not set. Ask Wile. Set it"), "{text}");
        provider.experimental_bearer_token = Some("t".into());
        assert_eq!(key(&provider, &env(&[])), Ok(Some("t".into())));
    }
}
