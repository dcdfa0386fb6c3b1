//! How the person gets to be known to the provider: what is offered depends on what the configured provider takes, on what is
//! there already, and on what the client can do.

use super::elicit;
use super::error::{AUTH_REQUIRED, Failure};
use super::serve::Server;
use super::sessions::apart;
use crate::account::{Announce, Held, OwnTerms};
use crate::agent::AgentError;
use crate::config::login::ForcedMethod;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// The variable of the provider's key.
const BY_KEY: &str = "key";
/// In a browser that the client opens.
const IN_BROWSER: &str = "browser";
/// The client runs this program in a terminal.
const IN_TERMINAL: &str = "terminal";
/// The person runs this program in a terminal of theirs.
const BY_HAND: &str = "login";

pub(super) struct Offered {
    pub(super) methods: Vec<Value>,
    /// There is a login of ours that can be forgotten.
    pub(super) can_log_out: bool,
}

/// What holds for the configured provider, in a folder or without one.
async fn terms(server: &Server, cwd: Option<&Path>) -> Result<OwnTerms, Failure> {
    let (agent, cwd) = (server.agent.clone(), cwd.map(Path::to_owned));
    let loaded = apart(move || agent.load_config(cwd.as_deref(), None)).await?;
    let config = loaded.map_err(AgentError::from)?.config;
    Ok(OwnTerms {
        // One that is not described needs nothing.
        provider: config
            .providers
            .get(&config.model_provider)
            .cloned()
            .unwrap_or_default(),
        login: config.login,
        env: server.agent.services().env.clone(),
    })
}

/// The ways that there are with this provider and this client. With a configuration that cannot be read there is none, and
/// the first session says why.
pub(super) async fn offered(server: &Server) -> Offered {
    match terms(server, None).await {
        Ok(terms) => Offered {
            methods: methods(server, &terms),
            can_log_out: terms.provider.requires_openai_auth,
        },
        Err(failure) => {
            tracing::warn!(failure.message, "no way to sign in can be offered");
            Offered {
                methods: Vec::new(),
                can_log_out: false,
            }
        }
    }
}

fn methods(server: &Server, terms: &OwnTerms) -> Vec<Value> {
    let (provider, client) = (&terms.provider, server.client());
    let name = match provider.name.as_str() {
        "" => "the provider",
        name => name,
    };
    let mut methods = Vec::new();
    if provider.requires_openai_auth && terms.login.forced != Some(ForcedMethod::ApiKey) {
        let title = format!("Sign in to {name}");
        methods.push(if client.asks.pages {
            json!({"id": IN_BROWSER, "name": title, "description": "A page opens in your browser, on this machine."})
        } else if client.logs_in_by_terminal {
            json!({"id": IN_TERMINAL, "type": "terminal", "name": title, "args": ["--login"],
                "description": "A terminal shows the page to open in your browser."})
        } else {
            json!({"id": BY_HAND, "name": title,
                "description": "Run countersign login in a terminal, and choose this when it is done."})
        });
    }
    if let Some(variable) = provider.env_key.as_deref()
        && !(provider.requires_openai_auth && terms.login.forced == Some(ForcedMethod::Account))
    {
        methods.push(json!({"id": BY_KEY, "name": format!("Key of {name} in {variable}"),
            "description": format!("Set {variable} where your editor starts this program, for example in its settings of this agent under env, \
                                    and start the agent again.")}));
    }
    methods
}

/// # Errors
/// Nothing is there that the provider would take; what to do.
pub(super) async fn required(server: &Server, cwd: &Path) -> Result<(), Failure> {
    let terms = terms(server, Some(cwd)).await?;
    match is_missing(server, &terms).await? {
        true => Err(missing(&terms)),
        false => Ok(()),
    }
}

async fn is_missing(server: &Server, terms: &OwnTerms) -> Result<bool, Failure> {
    let (account, terms) = (server.agent.services().account.clone(), terms.clone());
    // A login is read from the disk.
    apart(move || matches!(account.held(terms.terms()), Held::Missing)).await
}

fn missing(terms: &OwnTerms) -> Failure {
    let provider = &terms.provider;
    let name = match provider.name.as_str() {
        "" => "The provider",
        name => name,
    };
    let key = provider
        .env_key
        .as_deref()
        .map(|variable| format!("set {variable} where your editor starts this program and start the agent again"));
    let login = provider
        .requires_openai_auth
        .then(|| "run countersign login in a terminal".to_owned());
    let ways: Vec<String> = login.into_iter().chain(key).collect();
    let ways = ways.join(", or ");
    Failure::new(
        AUTH_REQUIRED,
        format!(
            "{name} wants to know who asks, and there is neither login nor key: {ways}. countersign doctor says more."
        ),
    )
}

/// Logs in by one of the ways that were offered; answered when that has come to its end. `id`: of the request.
pub(super) async fn authenticate(server: &Arc<Server>, params: &Value, id: &Value) -> Result<Value, Failure> {
    let terms = terms(server, None).await?;
    let offered = methods(server, &terms);
    let wanted = &params["methodId"];
    if !offered.iter().any(|method| method["id"] == *wanted) {
        let ids: Vec<&str> = offered.iter().filter_map(|method| method["id"].as_str()).collect();
        return Err(Failure::params(match ids.is_empty() {
            true => "The configured provider needs no login; begin a session with session/new.".to_owned(),
            false => format!("There is no method {wanted}; there are {}.", ids.join(" and ")),
        }));
    }
    if wanted == IN_BROWSER {
        in_browser(server, &terms, id).await?;
    }
    match is_missing(server, &terms).await? {
        true => Err(missing(&terms)),
        false => Ok(json!({})),
    }
}

/// Has the client open the page, and waits for what comes of it. Dropping this gives the login up.
async fn in_browser(server: &Server, terms: &OwnTerms, id: &Value) -> Result<(), Failure> {
    let account = server.agent.services().account.clone();
    let failed = |words: String| Failure::new(AUTH_REQUIRED, words);
    let begun = account.login_in_browser(terms.terms(), &nobody()).await;
    let begun = begun.map_err(|error| failed(error.to_string()))?;
    let login = begun.id.clone();
    // A login that nobody waits for is given up, whichever way this ends.
    let _given_up = AtEnd(move || {
        // It has come to its end by itself, most often.
        let _ended = account.cancel(&login, &nobody());
    });
    let question = json!({
        "mode": "url", "requestId": id, "elicitationId": begun.id, "url": begun.url,
        "message": "Sign in on this page, which opens in your browser on this machine.",
    });
    let ending = begun.ending.wait();
    tokio::pin!(ending);
    let answer = tokio::select! {
        ended = &mut ending => return ended.map_err(failed),
        answer = elicit::ask(&server.peer, question) => answer,
    };
    if answer["action"] != "accept" {
        return Err(failed(
            "The page was not opened, so nobody signed in. Choose a way to sign in again.".to_owned(),
        ));
    }
    let ended = ending.await;
    server
        .peer
        .notify("elicitation/complete", json!({"elicitationId": begun.id}))
        .await;
    ended.map_err(failed)
}

/// Forgets what was signed in with.
pub(super) async fn logout(server: &Server) -> Result<Value, Failure> {
    let terms = terms(server, None).await?;
    let account = server.agent.services().account.clone();
    // What is begun is brought to its end, also where the client goes.
    let done = tokio::spawn(async move { account.logout(terms.terms(), &nobody()).await });
    match done.await {
        Ok(Ok(())) => Ok(json!({})),
        Ok(Err(error)) => Err(Failure::new(super::error::INTERNAL, error.to_string())),
        Err(error) => Err(Failure::new(
            super::error::INTERNAL,
            format!("Signing out broke off: {error}."),
        )),
    }
}

/// The one who asked has the answer; nobody else is told.
fn nobody() -> Announce {
    Arc::new(|_| {})
}

/// Does something when it is dropped.
struct AtEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
