//! Which model answers a turn: the configured provider, its key, its window; or a local server where no key is there.

use super::services::Services;
use super::turn::Turn;
use crate::account::{CommandLogin, Terms};
use crate::config::models::{Price, PriceSettings};
use crate::config::{Config, Helper, provider::Provider as Settings};
use crate::model::credential::Credential;
use crate::model::{ErrorKind, ModelClient, ModelError, catalogue, local, price};
use crate::protocol::account::{AccountSetupResult, LocalServer};
use crate::protocol::model::{Model, TokenUsage};
use crate::protocol::settings::ThreadSettings;
use crate::protocol::turn::{TurnError, TurnErrorKind};
use crate::shown;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinError;

/// How long local servers may take to say that they are there.
const DETECTION: Duration = Duration::from_millis(300);
/// How long the server that is configured is waited for to say how much its model takes: one that is there but busy is worth it.
const LOADED: Duration = Duration::from_secs(2);
/// So many models of a server are named in a message.
const MOST_NAMED: usize = 12;
/// How long a provider may take to list its models for a person who chooses one.
const LISTING: Duration = Duration::from_secs(3);
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

impl Unresolved {
    /// For the end of a turn that cannot go on without it.
    pub(super) fn into_error(self) -> TurnError {
        match self {
            Self::Final(error) => error,
            Self::Provider(error, _) => error.turn_error(),
        }
    }
}

/// Clients kept for later turns. More providers than this are hardly in use at a time.
const KEPT: usize = 8;

/// The clients of a server's turns. A client has connections and the system's certificates, which are dear to make and
/// serve every turn with the same settings.
#[derive(Default)]
pub struct Clients {
    /// The latest used last.
    known: Mutex<VecDeque<ModelClient>>,
    /// The local server that answered last in the place of a provider without a key, by name and address.
    stood_in: Mutex<Option<(String, String)>>,
}

impl Clients {
    /// This client answers from now on wherever one like it is wanted.
    #[cfg(test)]
    pub(super) fn keep(&self, client: ModelClient) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_back(client);
    }

    fn stood_in(&self) -> Option<(String, String)> {
        self.stood_in.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_standing_in(&self, found: &local::Found) {
        let server = (found.provider.name.clone(), found.provider.base_url.clone());
        *self.stood_in.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
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

/// A thread's settings with another model or provider for work beside its conversation. A provider that is named without a
/// model answers with its own default.
pub(super) fn helped_by(helper: &Helper, settings: ThreadSettings) -> ThreadSettings {
    let is_elsewhere = helper
        .provider
        .as_ref()
        .is_some_and(|id| *id != settings.model_provider);
    let own = match is_elsewhere {
        true => String::new(),
        false => settings.model.clone(),
    };
    ThreadSettings {
        model: helper.model.clone().unwrap_or(own),
        model_provider: helper.provider.clone().unwrap_or(settings.model_provider),
        ..settings
    }
}

/// The configuration without the window that it gives the thread's model.
pub(super) fn without_window(config: &Arc<Config>) -> Arc<Config> {
    match config.context_window {
        None => config.clone(),
        Some(_) => Arc::new(Config {
            context_window: None,
            ..Config::clone(config)
        }),
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
    /// The id of the local server that stands in for the provider of the settings, which wants a key that is not there.
    pub stands_in: Option<String>,
    /// What its tokens cost, where that is known.
    price: Option<Price>,
}

impl Provider {
    /// What a response cost, in US dollars, where the price is known.
    pub fn cost(&self, usage: &TokenUsage) -> Option<f64> {
        self.price.map(|price| price.of_usage(usage))
    }

    /// Who does work beside a turn's conversation: the turn's own model, where nobody else is named.
    pub(super) async fn helper(turn: &Turn, helper: &Helper) -> Result<Self, Unresolved> {
        let settings = helped_by(helper, turn.settings.clone());
        match turn.provider.get() {
            Some(own) if helper.is_thread() || settings == turn.settings => Ok(own.clone()),
            _ => Self::resolve(&without_window(&turn.config), &settings, &turn.services).await,
        }
    }

    /// Finds what the settings name. A missing key is no error here: where nothing was chosen a local server may stand
    /// in, and else the first request says which variable is missing.
    pub async fn resolve(config: &Config, settings: &ThreadSettings, services: &Services) -> Result<Self, Unresolved> {
        let Services {
            user_agent, clients, ..
        } = services;
        let id = &settings.model_provider;
        let provider = config.provider(id).map_err(|error| {
            Unresolved::Final(TurnError {
                message: error.to_string(),
                kind: TurnErrorKind::BadRequest,
                http_status: None,
                actions: Vec::new(),
            })
        })?;
        let (credential, base_url) = credential(config, provider, services);
        if lacks_credential(provider, &credential)
            && !config.model_provider_chosen
            // Who was named for one kind of work, such as approving, is stood in for by nobody.
            && *id == config.model_provider
        {
            let local = local::detect_all(&local::usual_candidates(), DETECTION).await;
            let standing_in = standing_in(&settings.model, &local, clients.stood_in(), provider);
            if let Some(found) = standing_in.map_err(Unresolved::Final)? {
                clients.note_standing_in(&found);
                let client = clients.share(ModelClient::new(&found.provider, None, user_agent));
                let resolved = Self::new(config, client, found.model).look_at_window().await;
                return Ok(Self {
                    stands_in: Some(found.id),
                    ..resolved
                });
            }
        }
        let client = client(provider, credential, base_url, services);
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
            && let Some(window) = local::window(&self.client, &self.model, LOADED).await
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
        let own = config.model_settings(&model).price.and_then(PriceSettings::price);
        let price = own.or_else(|| price::listed(&client, &model));
        let is_known = config.context_window.is_some() || catalogue::family(&model).is_some();
        Self {
            client,
            model,
            context_window,
            is_known,
            is_configured: config.context_window.is_some(),
            is_loaded: false,
            stands_in: None,
            price,
        }
    }
}

/// The local server that answers for a provider whose key is missing: one that has the model which was asked for, or the first, where
/// none was.
///
/// # Errors
/// None of them has it; or the one that answered so far is gone.
fn standing_in(
    wanted: &str,
    local: &[local::Found],
    so_far: Option<(String, String)>,
    provider: &Settings,
) -> Result<Option<local::Found>, TurnError> {
    let error = |kind, message| TurnError {
        message,
        kind,
        http_status: None,
        actions: Vec::new(),
    };
    let name = shown::line(&provider.name);
    let key = match &provider.env_key {
        Some(variable) => format!("No key is set for {name} ({variable})"),
        None => format!("No key is set for {name}"),
    };
    let Some(first) = local.first() else {
        let Some((server, address)) = so_far else {
            return Ok(None);
        };
        return Err(error(
            TurnErrorKind::ConnectionFailed,
            format!(
                "{server} ({address}), which answered so far, cannot be reached. Start it again. {key}, which would answer otherwise."
            ),
        ));
    };
    if wanted.is_empty() {
        return Ok(Some(first.clone()));
    }
    let found = local.iter().find_map(|found| found.with(wanted));
    found.map(Some).ok_or_else(|| {
        let has: Vec<String> = local
            .iter()
            .map(|found| {
                let models = found.models.iter().filter(|model| local::talks(model));
                let names: Vec<String> = models.take(MOST_NAMED).map(|model| shown::line(model)).collect();
                format!("{} has {}", found.provider.name, names.join(", "))
            })
            .collect();
        error(
            TurnErrorKind::ModelNotFound,
            format!(
                "{key}, and no server on this machine has the model {}. {}. Choose one of these, or set the key.",
                shown::line(wanted),
                has.join("; ")
            ),
        )
    })
}

/// Whether a provider wants a key or a login, and there is none.
fn lacks_credential(provider: &Settings, credential: &Credential) -> bool {
    let wants_one = provider.env_key.is_some() || provider.requires_openai_auth;
    wants_one && *credential == Credential::None
}

/// Whether the configured provider can be asked, and by what ways it could be.
///
/// # Errors
/// Looking for a login broke off.
pub async fn setup(config: Config, services: Arc<Services>) -> Result<AccountSetupResult, JoinError> {
    // A login is read from the disk.
    let looked = tokio::task::spawn_blocking(move || {
        let provider = config.provider(&config.model_provider).cloned().unwrap_or_default();
        let (credential, _) = credential(&config, &provider, &services);
        let lacks = lacks_credential(&provider, &credential);
        (config, provider, lacks)
    });
    let (config, provider, lacks) = looked.await?;
    let local_server = match lacks && !config.model_provider_chosen {
        true => local::detect(&local::usual_candidates(), DETECTION).await,
        false => None,
    };
    let login = &config.login;
    Ok(AccountSetupResult {
        ready: !lacks || local_server.is_some(),
        provider: match provider.name.as_str() {
            "" => config.model_provider.clone(),
            name => name.to_owned(),
        },
        env_key: provider.env_key.clone(),
        takes_key: provider.requires_openai_auth,
        takes_browser: provider.requires_openai_auth
            && login.client_id.is_some()
            && login.authorization_endpoint.is_some()
            && login.token_endpoint.is_some(),
        local_server: local_server.map(|found| LocalServer {
            name: found.provider.name,
            model: found.model,
        }),
    })
}

/// How we are known to a provider, and where it answers us: by its program, else by the account or a key.
fn credential(config: &Config, provider: &Settings, services: &Services) -> (Credential, String) {
    let terms = Terms {
        login: &config.login,
        provider,
        env: &services.env,
    };
    match &provider.auth {
        Some(command) => {
            let login = CommandLogin::new(command, &services.env, services.secrets.clone());
            (Credential::Login(Arc::new(login)), provider.base_url.clone())
        }
        None => services.account.credential(terms),
    }
}

/// The client of a provider, the same for all turns that have the same settings.
fn client(provider: &Settings, credential: Credential, base_url: String, services: &Services) -> ModelClient {
    let headers = provider.env_http_headers.iter();
    let headers = headers.filter_map(|(name, variable)| Some((name.clone(), services.env.get(variable)?.clone())));
    let provider = &Settings {
        base_url,
        ..provider.clone()
    };
    let client = ModelClient::with_credential(provider, credential, &services.user_agent).with_headers(headers);
    services.clients.share(client)
}

/// The models of a provider as far as they are known without asking it, the configured one among them. Empty for a provider
/// that is not known.
pub fn known(config: &Config, id: &str, services: &Services) -> Vec<Model> {
    let current = config.model.as_deref().unwrap_or_default();
    known_beside(config, id, current, services)
}

fn known_beside(config: &Config, id: &str, current: &str, services: &Services) -> Vec<Model> {
    let Ok(provider) = config.provider(id) else {
        return Vec::new();
    };
    let paid_by = services.account.paid_by(Terms {
        login: &config.login,
        provider,
        env: &services.env,
    });
    catalogue::offered(paid_by, id, provider, current)
}

/// The same, and what the provider says itself: it is asked for a moment, unless it is OpenAI, whose table is ours.
pub async fn offered(config: Arc<Config>, id: String, current: String, services: Arc<Services>) -> Vec<Model> {
    let id_read = id.clone();
    // A login is read from the disk, and a client reads the system's certificates.
    let prepared = tokio::task::spawn_blocking(move || {
        let provider = config.provider(&id_read).ok()?;
        let stood_in_for = !config.model_provider_chosen
            && id_read == config.model_provider
            && lacks_credential(provider, &credential(&config, provider, &services).0);
        let asked = catalogue::is_listed(provider).then(|| {
            let (credential, base_url) = credential(&config, provider, &services);
            client(provider, credential, base_url, &services)
        });
        let known = known_beside(&config, &id_read, &current, &services);
        Some((provider.clone(), current, known, asked, stood_in_for))
    });
    let Ok(Some((provider, current, mut known, asked, stood_in_for))) = prepared.await else {
        return Vec::new();
    };
    // Those of the provider cannot be had without its key.
    if stood_in_for {
        let local = local::detect_all(&local::usual_candidates(), DETECTION).await;
        let models = local.iter().flat_map(|found| {
            let talking = found.models.iter().filter(|model| local::talks(model));
            talking.map(|model| catalogue::describe(model, &found.id, &found.provider, &current))
        });
        let models: Vec<Model> = models.collect();
        if !models.is_empty() {
            return models;
        }
    }
    if let Some(client) = asked {
        match tokio::time::timeout(LISTING, catalogue::list_remote(&client)).await {
            Ok(Ok(listed)) => {
                for model in listed.into_iter().filter(|model| local::talks(&model.id)) {
                    if known.iter().all(|known| known.id != model.id) {
                        known.push(catalogue::describe(&model.id, &id, &provider, &current));
                    }
                }
            }
            Ok(Err(error)) => tracing::info!(%error, provider = id, "the provider's models are not known"),
            Err(_) => tracing::info!(provider = id, "the provider did not list its models in time"),
        }
    }
    known
}

/// The model of a provider that serves what it has, such as a local server, where none is configured.
async fn first_model(client: &ModelClient, provider: &Settings) -> Result<String, Unresolved> {
    let models = catalogue::list_remote(client)
        .await
        .map_err(|error| unlisted(error, provider))?;
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

/// What it means that a provider's list of models could not be had.
fn unlisted(error: ModelError, provider: &Settings) -> Unresolved {
    match error.kind {
        // Not every provider has one; all that is asked of others is in the configuration.
        ErrorKind::Http {
            status: status @ (404 | 405 | 501),
            ..
        } => Unresolved::Final(TurnError {
            message: format!(
                "{} ({}) lists no models: it answered with status {status}. Set `model` in config.toml to one that it has. If \
                 that does not help, check `base_url` there.",
                provider.name, error.endpoint.url
            ),
            kind: TurnErrorKind::ModelNotFound,
            http_status: Some(status),
            actions: Vec::new(),
        }),
        _ => Unresolved::Provider(error, Box::new(provider.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::error::Endpoint;

    /// Who asked for a model gets it, or hears who has which; who asked for none gets the first.
    #[test]
    fn a_local_server_answers_with_the_model_that_was_asked_for() {
        let found = |id: &str, models: &[&str]| local::Found {
            id: id.to_owned(),
            provider: Settings {
                name: id.to_uppercase(),
                base_url: format!("http://{id}"),
                ..Settings::default()
            },
            model: models[0].to_owned(),
            models: models.iter().map(|model| (*model).to_owned()).collect(),
        };
        let all = [found("a", &["one", "two"]), found("b", &["three", "embed-x"])];
        let openai = Settings {
            name: "OpenAI".into(),
            env_key: Some("KEY".into()),
            ..Settings::default()
        };
        for (wanted, there, expected) in [
            ("", &all[..], Some(("a", "one"))),
            ("two", &all, Some(("a", "two"))),
            ("three", &all, Some(("b", "three"))),
            ("", &[], None),
            ("two", &[], None),
        ] {
            let found = standing_in(wanted, there, None, &openai).expect("no error");
            let found = found.map(|found| (found.id, found.model));
            let expected = expected.map(|(id, model): (&str, &str)| (id.to_owned(), model.to_owned()));
            assert_eq!(found, expected, "{wanted}");
        }
        let error = standing_in("gpt-5", &all, None, &openai).expect_err("nobody has it");
        assert_eq!(error.kind, TurnErrorKind::ModelNotFound);
        for part in ["OpenAI (KEY)", "gpt-5", "A has one, two; B has three."] {
            assert!(error.message.contains(part), "{}", error.message);
        }
        let so_far = Some(("A".to_owned(), "http://a".to_owned()));
        let error = standing_in("one", &[], so_far, &openai).expect_err("it is gone");
        assert!(
            error.message.starts_with("A (http://a), which answered so far"),
            "{}",
            error.message
        );
    }

    /// A provider that has no list is told from one that is not there.
    #[test]
    fn where_no_models_are_listed_the_advice_is_to_name_one() {
        for (status, expected) in [(404, true), (405, true), (501, true), (500, false), (400, false)] {
            let error = ModelError {
                kind: ErrorKind::Http {
                    status,
                    message: String::new(),
                    request_id: None,
                    retry_after: None,
                },
                endpoint: Arc::new(Endpoint {
                    name: "Acme".into(),
                    url: "https://acme.example/v1".into(),
                }),
            };
            let provider = Settings {
                name: "Acme".into(),
                ..Settings::default()
            };
            let told = unlisted(error, &provider).into_error();
            let is_told = told.message.contains("lists no models") && told.message.contains("Set `model`");
            assert_eq!(is_told, expected, "{}", told.message);
            assert_eq!(told.http_status, Some(status), "{}", told.message);
        }
    }
}
