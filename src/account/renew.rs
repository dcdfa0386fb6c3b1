//! Keeping a login alive: a token is renewed shortly before it runs out, and when a provider does not accept it; once for
//! all who want that at the same time, in this program and in others of the same home folder.

use super::server::Endpoints;
use super::stored::{File, Stored, Tokens};
use super::{Account, secret, server};
use crate::config::login::Login;
use crate::model::credential::{self, Bearer};
use crate::model::error::LoginTrouble;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::sync::PoisonError;

/// A token that has less than this left is renewed, in seconds.
const EARLY: i64 = 300;

/// The login of an account, for the client of a provider.
pub(super) struct Source {
    account: Account,
    login: Login,
    name: String,
}

impl Source {
    pub(super) fn new(account: Account, login: Login) -> Self {
        Self {
            name: format!("{} {login:?}", account.0.store.path().display()),
            account,
            login,
        }
    }

    fn bearer(tokens: Tokens) -> Bearer {
        let account = tokens
            .account_id
            .filter(|id| id.bytes().all(|byte| byte.is_ascii_graphic()));
        Bearer {
            token: tokens.access_token,
            headers: account
                .into_iter()
                .map(|id| ("chatgpt-account-id".to_owned(), id))
                .collect(),
        }
    }
}

impl credential::Login for Source {
    fn current(&self) -> BoxFuture<'_, Result<Bearer, LoginTrouble>> {
        async { self.account.current(&self.login).await.map(Self::bearer) }.boxed()
    }

    fn renew<'a>(&'a self, refused: &'a str) -> BoxFuture<'a, Result<Bearer, LoginTrouble>> {
        async { self.account.renew(&self.login, refused).await.map(Self::bearer) }.boxed()
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Account {
    fn tokens(&self, login: &Login) -> Result<Tokens, LoginTrouble> {
        match self.stored(login) {
            Some(Stored::Tokens(tokens)) => Ok(*tokens),
            _ => Err(over("nobody is logged in to an account any more")),
        }
    }

    /// The tokens as they are, renewed if they are about to run out.
    pub(super) async fn current(&self, login: &Login) -> Result<Tokens, LoginTrouble> {
        let tokens = self.tokens(login)?;
        let now = jiff::Timestamp::now().as_second();
        let Some(left) = tokens
            .runs_out()
            .map(|at| at.saturating_sub(now))
            .filter(|left| *left < EARLY)
        else {
            return Ok(tokens);
        };
        match self.renew(login, &tokens.access_token).await {
            // It still holds; who gets to send something may as well try.
            Err(error) if left > 0 => {
                tracing::warn!(%error, "a login that runs out soon could not be renewed");
                Ok(tokens)
            }
            renewed => renewed,
        }
    }

    /// Other tokens than those with this access token. Runs to its end whatever becomes of who asked: the server gives new
    /// tokens once, and takes the old ones back.
    pub(super) async fn renew(&self, login: &Login, refused: &str) -> Result<Tokens, LoginTrouble> {
        let (account, login, refused) = (self.clone(), login.clone(), refused.to_owned());
        let renewal = tokio::spawn(async move { account.renew_now(&login, &refused).await });
        renewal.await.unwrap_or_else(|error| {
            Err(LoginTrouble {
                reason: format!("the renewal broke off ({error})"),
                passing: true,
            })
        })
    }

    async fn renew_now(&self, login: &Login, refused: &str) -> Result<Tokens, LoginTrouble> {
        let _one = self.0.renewing.lock().await;
        let _of_all = self.0.store.lock(login.store).await;
        let old = self.tokens(login)?;
        // Somebody was quicker.
        if old.access_token != refused {
            return Ok(old);
        }
        if old.refresh_token.is_empty() {
            return Err(over("the login cannot be renewed, and it does not hold any more"));
        }
        let endpoints = Endpoints::of(login).map_err(|error| over(&error.to_string()))?;
        let known = secret::digest(&old.refresh_token);
        if let Some((dead, trouble)) = &*self.dead()
            && *dead == known
        {
            return Err(trouble.clone());
        }
        tracing::info!("a login is renewed");
        match endpoints.renew(&old).await {
            Ok(tokens) => self.keep(login, &old, tokens).await,
            Err(error) if error.is_passing() => Err(LoginTrouble {
                reason: format!("the authorisation server {error}"),
                passing: true,
            }),
            Err(error) => {
                // It need not be asked again.
                let trouble = over(&format!("the authorisation server {error}"));
                *self.dead() = Some((known, trouble.clone()));
                Err(trouble)
            }
        }
    }

    /// Keeps renewed tokens, unless the person has logged out, or logged in anew, meanwhile.
    async fn keep(&self, login: &Login, old: &Tokens, new: Tokens) -> Result<Tokens, LoginTrouble> {
        let _alone = self.0.changing.lock().await;
        let file = self.0.store.read(login.store).ok().flatten();
        let is_same = |file: &File| {
            let tokens = file.tokens.as_ref();
            tokens.is_some_and(|tokens| tokens.refresh_token == old.refresh_token)
        };
        match file.filter(is_same) {
            Some(file) => {
                self.0.store.write_renewed(login.store, file.renewed(new.clone())).await;
                self.tokens(login)
            }
            None => {
                let login = login.clone();
                self.0
                    .store
                    .before_end(async move { server::revoke(&login, &new).await });
                Err(over("somebody logged out meanwhile"))
            }
        }
    }

    /// Renews the login that counts, where it is one, before something is told of it. A failure is only logged.
    pub async fn refresh(&self, login: &Login) {
        let Ok(tokens) = self.tokens(login) else { return };
        if let Err(error) = self.renew(login, &tokens.access_token).await {
            tracing::warn!(%error, "the login could not be renewed");
        }
    }

    fn dead(&self) -> std::sync::MutexGuard<'_, Option<([u8; 32], LoginTrouble)>> {
        self.0.dead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The login holds no more; what is needed is another.
fn over(reason: &str) -> LoginTrouble {
    LoginTrouble {
        reason: reason.to_owned(),
        passing: false,
    }
}
