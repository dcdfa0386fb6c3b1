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
/// and llama.cpp, and in those of the common list. All are asked at once, for at most `limit`. Whether it takes images is noted.
pub async fn window(client: &ModelClient, model: &str, limit: Duration) -> Option<u32> {
    let base = client.provider().base_url.trim().trim_end_matches('/').to_owned();
    let root = client.at(base.strip_suffix("/v1").unwrap_or(&base));
    let ask = async |path: &str| root.get_json(path, limit).await.ok();
    let (running, loaded, props) = futures::join!(ask("api/ps"), ask("api/v0/models"), ask("props"));
    // llama.cpp says what the model is loaded to take.
    let sees = props
        .as_ref()
        .and_then(|props| props.pointer("/modalities/vision")?.as_bool());
    if let Some(sees) = sees {
        client.note_blind(model, !sees);
    }
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

impl Found {
    /// The server with this model in the place of its first. `None` where it has none of that name.
    #[must_use]
    pub fn with(&self, model: &str) -> Option<Self> {
        self.models.iter().any(|one| one == model).then(|| Self {
            model: model.to_owned(),
            ..self.clone()
        })
    }
}

/// Asks all candidates at once for their models, for at most `limit`; the first in the list that has one is taken.
pub async fn detect(candidates: &[Candidate], limit: Duration) -> Option<Found> {
    detect_all(candidates, limit).await.into_iter().next()
}

/// All candidates that have a model, in their order; all are asked at once, for at most `limit`.
pub async fn detect_all(candidates: &[Candidate], limit: Duration) -> Vec<Found> {
    let asked = candidates.iter().map(|candidate| ask(candidate, limit));
    futures::future::join_all(asked).await.into_iter().flatten().collect()
}

/// Whether a model is one to talk to, by its name.
pub fn talks(model: &str) -> bool {
    let model = model.to_lowercase();
    !["embed", "rerank", "whisper"].iter().any(|word| model.contains(word))
}

/// The first user number of people; those below are the system's, which run servers as services.
const FIRST_PERSON: u32 = 1000;

/// Whether another person of this machine listens at a port of it: who did would get what is said, and answer it.
#[cfg(target_os = "linux")]
async fn is_strangers(port: u16) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let tables = tokio::task::spawn_blocking(|| {
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).unwrap_or_default())
    });
    let tables = tables.await.unwrap_or_default();
    let mut users = tables.iter().flat_map(|table| listeners(table, port));
    users.any(|user| user != own && user >= FIRST_PERSON)
}

#[cfg(not(target_os = "linux"))]
async fn is_strangers(_port: u16) -> bool {
    false
}

/// Who listens at a port, by a table of the kernel's (`proc_net_tcp`).
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn listeners(table: &str, port: u16) -> impl Iterator<Item = u32> {
    const LISTENS: &str = "0A";
    let port = format!(":{port:04X}");
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(1)?.ends_with(&port) && *fields.get(3)? == LISTENS;
        is_it.then(|| fields.get(7)?.parse().ok())?
    })
}

async fn ask(candidate: &Candidate, limit: Duration) -> Option<Found> {
    let port = url::Url::parse(&candidate.base_url)
        .ok()
        .and_then(|address| address.port());
    if let Some(port) = port
        && is_strangers(port).await
    {
        tracing::warn!(
            port,
            name = candidate.name,
            "a server of another user is not taken for the model"
        );
        return None;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_is_read_from_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 5 1\n   \
                     1: 0100007F:2CAA 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000  1002        0 6 1\n   \
                     2: 00000000:04D2 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7 1\nodd\n";
        assert_eq!(listeners(table, 11434).collect::<Vec<_>>(), [1001]);
        assert_eq!(listeners(table, 1234).collect::<Vec<_>>(), [0]);
        assert_eq!(listeners(table, 8080).count(), 0);
        assert_eq!(listeners("", 8080).count(), 0);
    }
}
