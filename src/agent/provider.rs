//! Which model answers a turn: the configured provider, its key, its window; or a local server where no key is there.

use super::desk::Desk;
use crate::account::{CommandLogin, Terms};
use crate::config::{Config, provider::Provider as Settings};
use crate::model::credential::Credential;
use crate::model::{ModelClient, ModelError, catalogue, local};
use crate::protocol::settings::ThreadSettings;
use crate::protocol::turn::{TurnError, TurnErrorKind};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long local servers may take to say that they are there.
const DETECTION: Duration = Duration::from_millis(300);
/// Tokens up to which a window counts as small: instructions and all tools fill a large part of it.
const SMALL_WINDOW: u32 = 16_384;
/// The model asked for where the configuration names none and the provider is OpenAI.
const DEFAULT_MODEL: &str = "gpt-5-codex";

/// Why there is no provider for a turn.
#[derive(Debug)]
pub enum Unresolved {
    /// The person has to change something.
    Final(TurnError),
    /// The provider was asked what it serves and failed; with its settings, which say how often to try again.
    Provider(ModelError, Box<Settings>),
}

/// Clients kept for later turns. More providers than this are hardly in use at a time.
const KEPT: usize = 8;

/// The clients of a server's turns. A client has connections and the system's certificates, which are dear to make and
/// serve every turn with the same settings.
#[derive(Default)]
pub struct Clients {
    /// The latest used last.
    known: Mutex<VecDeque<ModelClient>>,
}

impl Clients {
    /// This client answers from now on wherever one like it is wanted.
    #[cfg(test)]
    pub(super) fn keep(&self, client: ModelClient) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_back(client);
    }

    /// The client that is in use already, if there is one like this, else this one from now on.
    fn share(&self, client: ModelClient) -> ModelClient {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let at = known.iter().position(|known| known.is_like(&client));
        let client = at.and_then(|at| known.remove(at)).unwrap_or(client);
        if known.len() == KEPT {
            known.pop_front();
        }
        known.push_back(client.clone());
        client
    }
}

#[derive(Clone)]
pub struct Provider {
    pub client: ModelClient,
    pub model: String,
    /// Tokens, where it is known.
    pub context_window: Option<u32>,
    /// Whether the model is one whose window and abilities are known or configured.
    pub is_known: bool,
    /// The window is one that the person has set.
    is_configured: bool,
    /// The window is what a local server has loaded the model with.
    is_loaded: bool,
}

impl Provider {
    /// Finds what the settings name. A missing key is no error here: where nothing was chosen a local server may stand
    /// in, and else the first request says which variable is missing.
    pub async fn resolve(config: &Config, settings: &ThreadSettings, desk: &Desk) -> Result<Self, Unresolved> {
        let Desk {
            env,
            user_agent,
            clients,
            ..
        } = desk;
        let id = &settings.model_provider;
        let provider = config.provider(id).map_err(|error| {
            Unresolved::Final(TurnError {
                message: error.to_string(),
                kind: TurnErrorKind::BadRequest,
                http_status: None,
                actions: Vec::new(),
            })
        })?;
        let terms = Terms {
            login: &config.login,
            provider,
            env,
        };
        let (credential, base_url) = match &provider.auth {
            Some(command) => {
                let login = CommandLogin::new(command, env, desk.secrets.clone());
                (Credential::Login(Arc::new(login)), provider.base_url.clone())
            }
            None => desk.account.credential(terms),
        };
        let wants_one = provider.env_key.is_some() || provider.requires_openai_auth;
        if wants_one
            && credential == Credential::None
            && !config.model_provider_chosen
            && let Some(found) = local::detect(&local::usual_candidates(), DETECTION).await
        {
            let client = clients.share(ModelClient::new(&found.provider, None, user_agent));
            return Ok(Self::new(config, client, found.model).look_at_window().await);
        }
        let headers = provider.env_http_headers.iter();
        let headers = headers.filter_map(|(name, variable)| Some((name.clone(), env.get(variable)?.clone())));
        let provider = &Settings {
            base_url,
            ..provider.clone()
        };
        let client = ModelClient::with_credential(provider, credential, user_agent).with_headers(headers);
        let client = clients.share(client);
        let model = match settings.model.as_str() {
            "" if id == "openai" => DEFAULT_MODEL.to_owned(),
            "" => first_model(&client, provider).await?,
            model => model.to_owned(),
        };
        let mut resolved = Self::new(config, client, model);
        // A script has no window to know of.
        resolved.is_known |= id == "rehearsal";
        match local::usual_candidates().iter().any(|usual| usual.id == *id) {
            true => Ok(resolved.look_at_window().await),
            false => Ok(resolved),
        }
    }

    /// Asks a local server how much the model takes as it is loaded, where the configuration does not say: mostly far less
    /// than the model could.
    async fn look_at_window(mut self) -> Self {
        if !self.is_configured
            && let Some(window) = local::window(&self.client, &self.model, DETECTION).await
        {
            self.context_window = Some(window);
            self.is_known = true;
            self.is_loaded = true;
        }
        self
    }

    /// Whether the window is so small that only the tools which matter most are offered. Only what a
    /// local server says counts: who has set a window has decided.
    pub fn is_small(&self) -> bool {
        self.is_loaded && self.context_window.is_some_and(|window| window <= SMALL_WINDOW)
    }

    fn new(config: &Config, client: ModelClient, model: String) -> Self {
        let context_window = catalogue::context_window(&model, client.provider(), config.context_window);
        let is_known = config.context_window.is_some() || catalogue::family(&model).is_some();
        Self {
            client,
            model,
            context_window,
            is_known,
            is_configured: config.context_window.is_some(),
            is_loaded: false,
        }
    }
}

/// The model of a provider that serves what it has, such as a local server, where none is configured.
async fn first_model(client: &ModelClient, provider: &Settings) -> Result<String, Unresolved> {
    let models = catalogue::list_remote(client)
        .await
        .map_err(|error| Unresolved::Provider(error, Box::new(provider.clone())))?;
    let none = || {
        Unresolved::Final(TurnError {
            message: format!(
                "{} serves no model. Load one there, or set model in config.toml.",
                provider.name
            ),
            kind: TurnErrorKind::ModelNotFound,
            http_status: None,
            actions: Vec::new(),
        })
    };
    models.into_iter().next().map(|model| model.id).ok_or_else(none)
}
