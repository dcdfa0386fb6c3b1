//! A provider of models, as `[model_providers.<id>]` describes it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which of the two HTTP interfaces a provider speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireApi {
    #[default]
    Responses,
    Chat,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Whether an OpenAI account is needed.
    pub requires_openai_auth: bool,
}
