//! Signing in to an MCP server in a browser on this machine (OAuth 2.1 with PKCE).

use super::authority::{self, Authority, AuthorityError, Registered};
use super::failure::shown_name;
use super::logins::{Kept, Logins, LoginsError, Turn};
use crate::account::{AccountError, Callback, Visit, secret};
use crate::config::login::Login;
use crate::config::mcp::ServerSettings;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long a person may take.
const LIMIT: Duration = Duration::from_secs(600);

/// Why there is no login.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("The MCP server {server} takes no login of this kind: {1}", server = shown_name(.0))]
    NotForIt(String, &'static str),
    #[error("The login to the MCP server {server} failed: {1}.", server = shown_name(.0))]
    Authority(String, AuthorityError),
    #[error(
        "The browser's answer cannot be received: {0} To use another port or address of this machine, set \
         mcp_oauth_callback_port or mcp_oauth_callback_url in config.toml."
    )]
    Callback(AccountError),
    #[error("{0}")]
    Kept(#[from] LoginsError),
    #[error("The login to the MCP server {server} timed out. Start it again.", server = shown_name(.0))]
    TimedOut(String),
    #[error("The login to the MCP server {server} was refused{1}. Start it again, and allow it on the page.", server = shown_name(.0))]
    Refused(String, String),
    #[error("The login to the MCP server {server} was stopped: another one was started or somebody signed out.", server = shown_name(.0))]
    Stopped(String),
}

/// A login that waits for the browser.
pub struct Begun {
    /// To be opened there.
    pub url: String,
    waiting: Waiting,
}

struct Waiting {
    name: String,
    logins: Logins,
    settings: ServerSettings,
    callback: Callback,
    state: String,
    verifier: String,
    authority: Authority,
    client: Registered,
    /// Given up last, when the port is closed.
    turn: Turn,
}

/// Begins a login to a server. One to the same server that still waits is stopped.
///
/// # Errors
/// See [`LoginError`]. Nothing is kept.
pub async fn begin(name: &str, settings: &ServerSettings, logins: &Logins) -> Result<Begun, LoginError> {
    let not_for_it = |why| LoginError::NotForIt(name.to_owned(), why);
    let url = settings.url().ok_or(not_for_it(
        "it is a program, and gets what it needs to know by `env` or `env_vars`.",
    ))?;
    if settings.has_token() {
        return Err(not_for_it(
            "it gets its token from the variable that bearer_token_env_var names. Remove that to sign in by browser.",
        ));
    }
    let failed = |error| LoginError::Authority(name.to_owned(), error);
    let turn = logins.begin_login(name).await;
    let authority = authority::find(&settings.network, url).await.map_err(failed)?;
    let login = Login {
        callback_url: settings.login.callback_url.clone(),
        ..Login::default()
    };
    let callback = Callback::open(&login).await.map_err(LoginError::Callback)?;
    let scopes = settings.login.scopes.as_ref().unwrap_or(&authority.scopes);
    let scope = Some(scopes.join(" ")).filter(|scope| !scope.is_empty());
    let client = match &settings.login.client_id {
        Some(client_id) => Registered {
            client_id: client_id.clone(),
            client_secret: None,
        },
        None => authority
            .register(&settings.network, &callback.url, scope.as_deref())
            .await
            .map_err(failed)?,
    };
    let (state, verifier) = (
        secret::random().map_err(LoginError::Callback)?,
        secret::random().map_err(LoginError::Callback)?,
    );
    let challenge = secret::challenge(&verifier);
    let mut query = vec![
        ("response_type", "code"),
        ("client_id", client.client_id.as_str()),
        ("redirect_uri", callback.url.as_str()),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
        ("state", state.as_str()),
        ("resource", authority.resource.as_str()),
    ];
    query.extend(scope.as_deref().map(|scope| ("scope", scope)));
    let url = authority.page(&query).map_err(failed)?;
    Ok(Begun {
        url,
        waiting: Waiting {
            name: name.to_owned(),
            logins: logins.clone(),
            settings: settings.clone(),
            callback,
            state,
            verifier,
            authority,
            client,
            turn,
        },
    })
}

impl Begun {
    /// Waits for the browser, and keeps what it brings.
    ///
    /// # Errors
    /// See [`LoginError`]. What was kept before stays.
    pub async fn finish(self) -> Result<(), LoginError> {
        let Waiting {
            name,
            logins,
            settings,
            callback,
            state,
            verifier,
            authority,
            client,
            turn,
        } = self.waiting;
        let back = callback.url.clone();
        let (visits, mut coming) = mpsc::channel(1);
        let closed = CancellationToken::new();
        let _closes = closed.clone().drop_guard();
        let door = tokio::spawn(callback.serve(state, visits, closed.clone()));
        let visit = tokio::select! {
            biased;
            () = turn.stop.cancelled() => None,
            visit = tokio::time::timeout(LIMIT, coming.recv()) => Some(visit),
        };
        coming.close();
        let outcome = match visit {
            None => Err(LoginError::Stopped(name)),
            Some(Err(_) | Ok(None)) => Err(LoginError::TimedOut(name)),
            Some(Ok(Some(Visit { brought, answer }))) => {
                let outcome = match brought {
                    Err(why) => {
                        let why = why.unwrap_or_default();
                        let why: String = crate::shown::line(&why).chars().take(200).collect();
                        let why = Some(why).filter(|why| !why.is_empty());
                        Err(LoginError::Refused(
                            name,
                            why.map_or_else(String::new, |why| format!(": {why}")),
                        ))
                    }
                    Ok(code) => {
                        let mut fields = vec![
                            ("grant_type", "authorization_code"),
                            ("code", code.as_str()),
                            ("redirect_uri", back.as_str()),
                            ("client_id", client.client_id.as_str()),
                            ("code_verifier", verifier.as_str()),
                            ("resource", authority.resource.as_str()),
                        ];
                        fields.extend(client.client_secret.as_deref().map(|secret| ("client_secret", secret)));
                        match authority::tokens(&settings.network, &authority.token_endpoint, &fields).await {
                            Err(error) => Err(LoginError::Authority(name, error)),
                            Ok(tokens) => {
                                let mut kept = Kept {
                                    url: settings.url().unwrap_or_default().to_owned(),
                                    token_endpoint: authority.token_endpoint.clone(),
                                    revocation_endpoint: authority.revocation_endpoint.clone(),
                                    resource: authority.resource.clone(),
                                    client_id: client.client_id.clone(),
                                    client_secret: client.client_secret.clone(),
                                    access_token: String::new(),
                                    refresh_token: None,
                                    expires_at: None,
                                    renew_at: None,
                                };
                                kept.take(tokens);
                                let keeping = match turn.stop.is_cancelled() {
                                    true => Err(LoginError::Stopped(name)),
                                    false => logins
                                        .keep(&name, settings.login.store, kept.clone())
                                        .await
                                        .map_err(LoginError::Kept),
                                };
                                if keeping.is_err() {
                                    kept.revoke(&settings.network).await;
                                }
                                keeping
                            }
                        }
                    }
                };
                // The browser may be gone by now.
                let _gone = answer.send(outcome.as_ref().copied().map_err(ToString::to_string));
                outcome
            }
        };
        closed.cancel();
        let _ended = door.await;
        drop(turn);
        outcome
    }
}
