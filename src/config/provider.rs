//! A provider of models, as `[model_providers.<id>]` describes it, and the providers that need no
//! description.

use super::network::{Network, Tls};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where OpenAI answers if nothing else is said.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";

/// Where Anthropic answers if nothing else is said.
const ANTHROPIC_URL: &str = "https://api.anthropic.com/v1";

/// Which of the HTTP interfaces a provider speaks: Responses and Chat Completions of OpenAI's, or Anthropic's Messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireApi {
    #[default]
    Responses,
    Chat,
    Anthropic,
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
    /// A program that gives the key, where no variable holds one.
    pub auth: Option<AuthCommand>,
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
    /// Whether what the person is signed in with is sent, where the environment holds no key.
    pub requires_openai_auth: bool,
    /// Certificates beside those of the system.
    pub tls: Tls,
    /// How it is reached; the same for all, from `[network]`.
    #[serde(skip)]
    pub network: Network,
}

/// A program of the person's that writes a key on its standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuthCommand {
    pub command: String,
    pub args: Vec<String>,
    /// Where it is started; absent: where the server was.
    pub cwd: Option<PathBuf>,
    /// How long it may take, in milliseconds. Default 5,000.
    pub timeout_ms: u64,
    /// How long its answer is good for, in milliseconds. Default 300,000.
    pub refresh_interval_ms: u64,
}

impl Default for AuthCommand {
    fn default() -> Self {
        Self {
            command: String::new(),
            args: Vec::new(),
            cwd: None,
            timeout_ms: 5_000,
            refresh_interval_ms: 300_000,
        }
    }
}

impl Default for Provider {
    fn default() -> Self {
        Self {
            name: String::new(),
            base_url: String::new(),
            env_key: None,
            env_key_instructions: None,
            experimental_bearer_token: None,
            auth: None,
            wire_api: WireApi::default(),
            query_params: BTreeMap::new(),
            http_headers: BTreeMap::new(),
            env_http_headers: BTreeMap::new(),
            request_max_retries: 4,
            stream_max_retries: 5,
            stream_idle_timeout_ms: 300_000,
            requires_openai_auth: false,
            tls: Tls::default(),
            network: Network::default(),
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
    let address = |name: &str| {
        let url = env.get(name)?.trim().trim_end_matches('/');
        (!url.is_empty()).then(|| url.to_owned())
    };
    json!({
        "openai": {
            "name": "OpenAI",
            "base_url": address("OPENAI_BASE_URL").unwrap_or_else(|| OPENAI_URL.to_owned()),
            "env_key": "OPENAI_API_KEY",
            "env_key_instructions": "Create a key at https://platform.openai.com/api-keys.",
            "wire_api": "responses",
            "requires_openai_auth": true,
            "env_http_headers": {
                "OpenAI-Organization": "OPENAI_ORGANIZATION",
                "OpenAI-Project": "OPENAI_PROJECT",
            },
        },
        "anthropic": {
            "name": "Anthropic",
            "base_url": address("ANTHROPIC_BASE_URL").map_or_else(|| ANTHROPIC_URL.to_owned(), |url| match url.ends_with("/v1") {
                true => url,
                false => format!("{url}/v1"),
            }),
            "env_key": "ANTHROPIC_API_KEY",
            "env_key_instructions": "Create a key at https://console.anthropic.com/settings/keys.",
            "wire_api": "anthropic",
        },
        "azure": {
            "name": "Azure OpenAI",
            // Each resource has an address of its own.
            "base_url": address("AZURE_OPENAI_ENDPOINT").map(|url| match url.contains("/openai") {
                true => url,
                false => format!("{url}/openai/v1"),
            }).unwrap_or_default(),
            "env_key": "AZURE_OPENAI_API_KEY",
            "env_key_instructions": "See Keys and Endpoint of the resource at https://portal.azure.com.",
            "wire_api": "responses",
        },
        "openrouter": {
            "name": "OpenRouter",
            "base_url": "https://openrouter.ai/api/v1",
            "env_key": "OPENROUTER_API_KEY",
            "env_key_instructions": "Create a key at https://openrouter.ai/keys.",
            "wire_api": "chat",
            "http_headers": { "X-Title": "Countersign" },
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
