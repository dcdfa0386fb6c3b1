//! `countersign/account/…`: how the person is known to the provider.

use crate::account::{AccountError, Announce, OwnTerms};
use crate::agent::{AgentError, provider};
use crate::config::Config;
use crate::lsp::error::RequestError;
use crate::protocol::account::{
    AccountLoginCancelParams, AccountLoginCancelResult, AccountLoginStartParams, AccountLoginStartResult,
    AccountLogoutParams, AccountLogoutResult, AccountRateLimitsReadParams, AccountRateLimitsReadResult,
    AccountReadParams, AccountReadResult, AccountSetupParams, AccountSetupResult, AccountStatusParams,
    AccountStatusResult,
};
use crate::server::session::Session;
use std::sync::Arc;

impl From<AccountError> for RequestError {
    fn from(error: AccountError) -> Self {
        Self::failed(error.kind(), error.to_string())
    }
}

pub async fn read(session: &Session, params: AccountReadParams) -> Result<AccountReadResult, RequestError> {
    let terms = terms(session).await?;
    let account = &session.agent().services().account;
    if params.refresh_token == Some(true) {
        account.refresh(&terms.login).await;
    }
    let requires_openai_auth = terms.provider.requires_openai_auth;
    let known = account.known(terms.terms());
    Ok(AccountReadResult {
        account: known.filter(|_| requires_openai_auth),
        requires_openai_auth,
    })
}

pub async fn status(session: &Session, params: AccountStatusParams) -> Result<AccountStatusResult, RequestError> {
    let terms = terms(session).await?;
    let requires_openai_auth = terms.provider.requires_openai_auth;
    if !requires_openai_auth {
        return Ok(AccountStatusResult {
            auth_method: None,
            auth_token: None,
            requires_openai_auth,
        });
    }
    let account = &session.agent().services().account;
    if params.refresh_token == Some(true) {
        account.refresh(&terms.login).await;
    }
    let (auth_method, auth_token) = account.method(terms.terms()).unzip();
    Ok(AccountStatusResult {
        auth_method,
        auth_token: auth_token.filter(|_| params.include_token == Some(true)),
        requires_openai_auth,
    })
}

pub async fn setup(session: &Session, _params: AccountSetupParams) -> Result<AccountSetupResult, RequestError> {
    let config = config(session).await?;
    let found = provider::setup(config, session.agent().services().clone()).await;
    found.map_err(|error| RequestError::internal(error.to_string()))
}

pub async fn login_start(
    session: &Session,
    params: AccountLoginStartParams,
) -> Result<AccountLoginStartResult, RequestError> {
    let announce = session.notices().after_the_answer();
    let terms = terms(session).await?;
    let account = session.agent().services().account.clone();
    // What is begun is brought to its end, also where the client takes its request back.
    let begun = tokio::spawn(async move {
        Ok(match params {
            AccountLoginStartParams::ApiKey { api_key } => {
                account.login_with_key(terms.terms(), &api_key, &announce).await?;
                AccountLoginStartResult::ApiKey {}
            }
            AccountLoginStartParams::Browser {} => {
                let begun = account.login_in_browser(terms.terms(), &announce).await?;
                AccountLoginStartResult::Browser {
                    login_id: begun.id,
                    auth_url: begun.url,
                }
            }
            AccountLoginStartParams::DeviceCode {} => {
                let begun = account.login_by_code(terms.terms(), &announce).await?;
                AccountLoginStartResult::DeviceCode {
                    login_id: begun.id,
                    user_code: begun.code,
                    verification_url: begun.page,
                    verification_url_complete: begun.filled_page,
                }
            }
        })
    });
    brought_to_its_end(begun.await)
}

pub fn login_cancel(
    session: &Session,
    params: &AccountLoginCancelParams,
) -> Result<AccountLoginCancelResult, RequestError> {
    let announce = session.notices().after_the_answer();
    session.agent().services().account.cancel(&params.login_id, &announce)?;
    Ok(AccountLoginCancelResult {})
}

pub async fn logout(session: &Session, _params: AccountLogoutParams) -> Result<AccountLogoutResult, RequestError> {
    let announce = session.notices().after_the_answer();
    let terms = terms(session).await?;
    let account = session.agent().services().account.clone();
    let done = tokio::spawn(async move { account.logout(terms.terms(), &announce).await });
    brought_to_its_end(done.await).map(|()| AccountLogoutResult {})
}

pub async fn rate_limits_read(
    session: &Session,
    _params: AccountRateLimitsReadParams,
) -> Result<AccountRateLimitsReadResult, RequestError> {
    let terms = terms(session).await?;
    let rate_limits = session.agent().services().account.rate_limits(terms.terms()).await?;
    Ok(AccountRateLimitsReadResult { rate_limits })
}

fn brought_to_its_end<T>(done: Result<Result<T, AccountError>, tokio::task::JoinError>) -> Result<T, RequestError> {
    match done {
        Ok(outcome) => Ok(outcome?),
        Err(error) => Err(RequestError::internal(format!(
            "What was asked of the account broke off: {error}."
        ))),
    }
}

/// What holds for the configured provider, as the files say now.
pub(super) async fn terms(session: &Session) -> Result<OwnTerms, RequestError> {
    let config = config(session).await?;
    Ok(OwnTerms {
        // One that is not described needs nothing.
        provider: config
            .providers
            .get(&config.model_provider)
            .cloned()
            .unwrap_or_default(),
        login: config.login,
        env: session.agent().services().env.clone(),
    })
}

/// The configuration as the files say now.
async fn config(session: &Session) -> Result<Config, RequestError> {
    let agent = session.agent().clone();
    let root = session.workspace().roots().into_iter().next();
    let loading = tokio::task::spawn_blocking(move || agent.load_config(root.as_deref(), None));
    let loaded = loading
        .await
        .map_err(|error| RequestError::internal(error.to_string()))?;
    Ok(loaded.map_err(AgentError::from)?.config)
}

/// Tells our plugins at once what comes of something that no request asked for; other clients are told in words.
pub(super) fn to_plugins(session: &Session) -> Announce {
    match session.client().can.plugin {
        true => session.notices().at_once(),
        false => Arc::new(drop),
    }
}
