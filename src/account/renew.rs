//! Keeping a login alive: a token is renewed shortly before it runs out, and when a provider does not accept it; once for
//! all who want that at the same time, in this program and in others of the same home folder.

use super::server::Endpoints;
use super::store::Standing;
use super::stored::{File, Stored, Tokens};
use super::{Account, AccountError, secret, server};
use crate::config::login::Login;
use crate::keyring::Manner;
use crate::model::credential::{self, Bearer};
use crate::model::error::LoginTrouble;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use std::sync::PoisonError;
use std::time::Duration;
use tokio::time::Instant;

/// A token that has less than this left is renewed, in seconds.
const EARLY: i64 = 300;
/// How long a request waits for a renewal that it cannot do without. The renewal itself goes on.
const WAIT: Duration = Duration::from_secs(15);
/// After a failure, until tokens that still hold are renewed ahead of time again: at first, and at most.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);
/// Until what could not be written is tried again.
const FIRST_WRITE: Duration = Duration::from_secs(1);

type Outcome = Shared<BoxFuture<'static, Result<Tokens, LoginTrouble>>>;

/// What is under way of renewals.
#[derive(Default)]
pub(super) struct Renewals {
    running: Option<Running>,
    /// In a row.
    failures: u32,
    /// Nothing is renewed ahead of time until then.
    not_before: Option<Instant>,
    /// A task tries to write what could not be written.
    writes: bool,
}

/// One renewal for all who want it.
struct Running {
    /// A digest of the access token that is renewed.
    of: [u8; 32],
    login: Login,
    outcome: Outcome,
}

/// The login of an account, for the client of a provider.
pub(super) struct Source {
    account: Account,
    login: Login,
    name: String,
}

impl Source {
    pub(super) fn new(account: Account, login: Login) -> Self {
        Self {
            name: format!("{} {login:?}", account.0.store.home().display()),
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

/// What is kept and cannot be used: whoever asks for it is told why.
pub(super) struct Unusable {
    trouble: LoginTrouble,
    name: String,
}

impl Unusable {
    pub(super) fn new(error: &AccountError) -> Self {
        let trouble = LoginTrouble::from(error);
        Self {
            name: format!("unusable: {trouble}"),
            trouble,
        }
    }
}

impl credential::Login for Unusable {
    fn current(&self) -> BoxFuture<'_, Result<Bearer, LoginTrouble>> {
        std::future::ready(Err(self.trouble.clone())).boxed()
    }

    fn renew<'a>(&'a self, _refused: &'a str) -> BoxFuture<'a, Result<Bearer, LoginTrouble>> {
        self.current()
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl From<&AccountError> for LoginTrouble {
    fn from(error: &AccountError) -> Self {
        Self {
            is_kept: matches!(error, AccountError::Store(_)),
            ..over(error.to_string().trim_end_matches('.'))
        }
    }
}

impl Account {
    fn tokens(&self, login: &Login) -> Result<Tokens, LoginTrouble> {
        match self.stored(login) {
            Some(Stored::Tokens(tokens)) => Ok(*tokens),
            _ => Err(match self.trouble(login) {
                None => over("nobody is signed in to an account any more"),
                Some(trouble) => (&trouble).into(),
            }),
        }
    }

    /// The tokens as they are. Those that run out soon are renewed beside the request, which need not wait for that; those
    /// that have run out are renewed first.
    pub(super) async fn current(&self, login: &Login) -> Result<Tokens, LoginTrouble> {
        let tokens = self.tokens(login)?;
        let now = jiff::Timestamp::now().as_second();
        match tokens.runs_out().map(|at| at.saturating_sub(now)) {
            Some(left) if left <= 0 => self.renew(login, &tokens.access_token).await,
            Some(left) if left < EARLY => {
                self.renew_ahead(login, &tokens);
                Ok(tokens)
            }
            _ => Ok(tokens),
        }
    }

    /// Begins to renew tokens that still hold, unless that has failed a moment ago.
    fn renew_ahead(&self, login: &Login, tokens: &Tokens) {
        let is_due = self.renewals().not_before.is_none_or(|due| due <= Instant::now());
        if is_due && !tokens.refresh_token.is_empty() {
            // It runs by itself, and whoever asks next finds what came of it.
            drop(self.renewal(login, &tokens.access_token));
        }
    }

    /// Other tokens than those with this access token. Runs to its end whatever becomes of who asked: the server gives new
    /// tokens once, and takes the old ones back.
    pub(super) async fn renew(&self, login: &Login, refused: &str) -> Result<Tokens, LoginTrouble> {
        let renewal = self.renewal(login, refused);
        tokio::time::timeout(WAIT, renewal).await.unwrap_or_else(|_| {
            Err(LoginTrouble {
                reason: format!(
                    "the authorization server has given no answer within {} s",
                    WAIT.as_secs()
                ),
                passing: true,
                is_kept: false,
            })
        })
    }

    /// The renewal of these tokens: the one that is under way, or one that begins.
    fn renewal(&self, login: &Login, refused: &str) -> Outcome {
        let of = secret::digest(refused);
        let mut renewals = self.renewals();
        if let Some(running) = &renewals.running
            && running.of == of
            && running.login == *login
        {
            return running.outcome.clone();
        }
        let (account, terms, refused) = (self.clone(), login.clone(), refused.to_owned());
        let task = tokio::spawn(async move {
            let outcome = account.renew_now(&terms, &refused).await;
            account.renewed(of, &outcome);
            outcome
        });
        let broke_off = |error| {
            Err(LoginTrouble {
                reason: format!("the renewal broke off ({error})"),
                passing: true,
                is_kept: false,
            })
        };
        let outcome = async move { task.await.unwrap_or_else(broke_off) }.boxed().shared();
        renewals.running = Some(Running {
            of,
            login: login.clone(),
            outcome: outcome.clone(),
        });
        outcome
    }

    /// A renewal has ended: the next one is another, and not before its time.
    fn renewed(&self, of: [u8; 32], outcome: &Result<Tokens, LoginTrouble>) {
        let mut renewals = self.renewals();
        renewals.running.take_if(|running| running.of == of);
        match outcome {
            Ok(_) => (renewals.failures, renewals.not_before) = (0, None),
            Err(error) => {
                let pause = PAUSE.saturating_mul(1 << renewals.failures.min(16)).min(LONGEST_PAUSE);
                renewals.failures += 1;
                renewals.not_before = Some(Instant::now() + pause);
                tracing::warn!(%error, "a login could not be renewed");
            }
        }
    }

    async fn renew_now(&self, login: &Login, refused: &str) -> Result<Tokens, LoginTrouble> {
        let _one = self.0.renewing.lock().await;
        let of_all = self.0.store.lock(login.store).await;
        self.0.store.look_again(login.store).await;
        let old = self.tokens(login)?;
        // Somebody was quicker.
        if old.access_token != refused {
            return Ok(old);
        }
        if old.refresh_token.is_empty() {
            return Err(over("the login cannot be renewed, and it does not hold any more"));
        }
        let before = match self.0.store.standing(login.store) {
            Standing::Holds(file) if file.is_of(&old) => file,
            _ => File::of_tokens(old.clone()),
        };
        let endpoints = Endpoints::of(login).map_err(|error| over(&error.to_string()))?;
        let known = secret::digest(&old.refresh_token);
        if let Some((dead, trouble)) = &*self.dead()
            && *dead == known
        {
            return Err(trouble.clone());
        }
        tracing::info!("a login is renewed");
        match endpoints.renew(&old).await {
            Ok(tokens) => {
                self.0.secrets.learn(tokens.secrets());
                self.keep(login, before, tokens, of_all.is_some()).await?;
                self.tokens(login)
            }
            Err(error) => {
                let trouble = LoginTrouble {
                    passing: !error.ends_the_login(),
                    is_kept: false,
                    reason: format!("the authorization server {error}"),
                };
                if !trouble.passing {
                    // It need not be asked again.
                    *self.dead() = Some((known, trouble.clone()));
                }
                Err(trouble)
            }
        }
    }

    /// Keeps renewed tokens, unless the person has signed out, or signed in anew, meanwhile. That the file cannot be read or
    /// written is neither: then they are kept in memory, and written as soon as that can be done.
    async fn keep(&self, login: &Login, before: File, new: Tokens, alone: bool) -> Result<(), LoginTrouble> {
        let _alone = self.0.changing.lock().await;
        let store = &self.0.store;
        let old = before.tokens.clone().unwrap_or_default();
        store.look_again(login.store).await;
        let trouble = match store.standing(login.store) {
            Standing::Gone => {
                self.give_back(login, new);
                return Err(over("somebody signed out meanwhile"));
            }
            Standing::Holds(file) if !file.is_of(&old) => {
                // Where another program may have renewed the same login beside us, taking ours back could end that one too.
                if alone || file.tokens.is_none_or(|theirs| theirs.account_id != new.account_id) {
                    self.give_back(login, new);
                }
                return Ok(());
            }
            Standing::Holds(file) => store
                .write(login.store, file.renewed(new.clone()), Manner::Quiet)
                .await
                .err(),
            Standing::Unreadable(error) => Some(error),
        };
        if let Some(error) = trouble {
            tracing::error!(%error, "a renewed login is kept in memory until it can be written");
            store.hold(login.store, &old, before.renewed(new));
            self.write_later(login);
        }
        Ok(())
    }

    /// Tells the authorization server that these tokens are not wanted.
    pub(super) fn give_back(&self, login: &Login, tokens: Tokens) {
        let login = login.clone();
        self.0
            .store
            .before_end(async move { server::revoke(&login, &tokens).await });
    }

    /// Tries to write what could not be written, until it is or does not count any more.
    fn write_later(&self, login: &Login) {
        if std::mem::replace(&mut self.renewals().writes, true) {
            return;
        }
        let (account, login) = (self.clone(), login.clone());
        tokio::spawn(async move {
            let mut pause = FIRST_WRITE;
            loop {
                tokio::time::sleep(pause).await;
                if account.write_again(&login).await {
                    return;
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        });
    }

    /// Whether nothing waits to be written any more. What cannot be read for so long is written over.
    async fn write_again(&self, login: &Login) -> bool {
        let _alone = self.0.changing.lock().await;
        let store = &self.0.store;
        let Some((waiting, _)) = store.held_back() else {
            self.renewals().writes = false;
            return true;
        };
        let counts = match store.standing(login.store) {
            Standing::Holds(file) => file == waiting,
            _ => false,
        };
        if !counts {
            // Somebody has signed out or in: it is theirs to say what counts.
            if let Some(tokens) = store.let_go().and_then(|file| file.tokens) {
                self.give_back(login, tokens);
            }
        } else if let Err(error) = store.write(login.store, waiting, Manner::Quiet).await {
            tracing::warn!(%error, "a renewed login still cannot be written");
            return false;
        }
        self.renewals().writes = false;
        true
    }

    /// Writes what could not be written, for the last time.
    pub(super) async fn write_at_the_end(&self) {
        let _alone = self.0.changing.lock().await;
        let store = &self.0.store;
        if let Some((waiting, place)) = store.held_back()
            && matches!(store.standing(place), Standing::Holds(file) if file == waiting)
            && let Err(error) = store.write(place, waiting, Manner::Quiet).await
        {
            tracing::error!(%error, "a renewed login is lost, and has to be made again");
        }
    }

    /// Renews the login that counts, where it is one, before something is told of it. A failure is only logged.
    pub async fn refresh(&self, login: &Login) {
        let Ok(tokens) = self.tokens(login) else { return };
        // What goes wrong is logged there.
        let _logged = self.renew(login, &tokens.access_token).await;
    }

    fn renewals(&self) -> std::sync::MutexGuard<'_, Renewals> {
        self.0.renewals.lock().unwrap_or_else(PoisonError::into_inner)
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
        is_kept: false,
    }
}
