//! Finding an OpenAI-compatible server on this machine, for the person who has no key.

use crate::config::provider::{Provider, WireApi};
use crate::model::{ModelClient, catalogue, json};
use serde_json::Value;
use std::time::Duration;

/// How long a server on this machine may take to answer.
pub const DETECTION_LIMIT: Duration = Duration::from_millis(300);

/// A place to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The provider's id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// For example `http://127.0.0.1:11434/v1`.
    pub base_url: String,
}

/// A server that answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub id: String,
    pub provider: Provider,
    /// The first model that it offers and that can talk.
    pub model: String,
    /// All that it offers.
    pub models: Vec<String>,
}

/// The usual servers at their usual ports, in the order in which they are taken.
pub fn usual_candidates() -> Vec<Candidate> {
    [
        ("ollama", "Ollama", 11434),
        ("llamacpp", "llama.cpp", 8080),
        ("lmstudio", "LM Studio", 1234),
    ]
    .map(|(id, name, port)| Candidate {
        id: id.to_owned(),
        name: name.to_owned(),
        base_url: format!("http://127.0.0.1:{port}/v1"),
    })
    .into()
}

/// How many tokens a model takes as a local server has it loaded, where the server says: in the words of Ollama, LM Studio
/// and llama.cpp, and in those of the common list. All are asked at once, for at most `limit`.
pub async fn window(client: &ModelClient, model: &str, limit: Duration) -> Option<u32> {
    let base = client.provider().base_url.trim().trim_end_matches('/').to_owned();
    let root = client.at(base.strip_suffix("/v1").unwrap_or(&base));
    let ask = async |path: &str| root.get_json(path, limit).await.ok();
    let (running, loaded, props) = futures::join!(ask("api/ps"), ask("api/v0/models"), ask("props"));
    let is_it = |entry: &&Value| {
        ["model", "name", "id"]
            .iter()
            .any(|key| json::text(entry, &[key]) == Some(model))
    };
    let of_model = |list: Option<Value>, list_key: &str, keys: &[&str]| {
        let list = list?;
        let entry = list.get(list_key)?.as_array()?.iter().find(is_it)?.clone();
        keys.iter().find_map(|key| json::count(entry.get(*key)))
    };
    of_model(running, "models", &["context_length"])
        .or_else(|| of_model(loaded, "data", &["loaded_context_length", "max_context_length"]))
        .or_else(|| json::count(props?.pointer("/default_generation_settings/n_ctx")))
        .filter(|window| *window > 0)
}

/// Asks all candidates at once for their models, for at most `limit`; the first in the list that has one is taken.
pub async fn detect(candidates: &[Candidate], limit: Duration) -> Option<Found> {
    let asked = candidates.iter().map(|candidate| ask(candidate, limit));
    futures::future::join_all(asked).await.into_iter().flatten().next()
}

/// Whether a model is one to talk to, by its name.
pub fn talks(model: &str) -> bool {
    let model = model.to_lowercase();
    !["embed", "rerank", "whisper"].iter().any(|word| model.contains(word))
}

async fn ask(candidate: &Candidate, limit: Duration) -> Option<Found> {
    let provider = Provider {
        name: candidate.name.clone(),
        base_url: candidate.base_url.clone(),
        // All of them speak this one; the other is younger.
        wire_api: WireApi::Chat,
        request_max_retries: 4,
        stream_max_retries: 5,
        stream_idle_timeout_ms: 300_000,
        ..Default::default()
    };
    let client = ModelClient::new(&provider, None, &ModelClient::user_agent());
    let listed = catalogue::list_within(&client, limit).await.ok()?;
    let models: Vec<String> = listed.into_iter().map(|model| model.id).collect();
    let model = models.iter().find(|model| talks(model))?.clone();
    Some(Found {
        id: candidate.id.clone(),
        provider,
        model,
        models,
    })
}
