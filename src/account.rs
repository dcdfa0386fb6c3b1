//! How the person is known to the provider of models: what they are signed in with, how they sign in and out, and how a
//! login is kept alive.
//!
//! The file `auth.json` is the truth: it is read whenever it is needed, so that what another program of the person's
//! does to it counts at once, and what it does to the keyring after a moment; only a renewed login that cannot be written
//! counts before it. Signing in by browser or by code runs beside everything else; one such login runs at a
//! time, and whoever takes it out of its place tells how it ended, so that each ends once. Nothing is asked of any server
//! unless the person signs in, or is signed in.
//!
//! Knows no LSP and shows nothing: what there is to tell goes to an [`Announce`].

mod callback;
mod claims;
mod command;
mod error;
mod login;
mod mirror;
mod renew;
pub(crate) mod secret;
mod server;
mod store;
mod stored;
#[cfg(test)]
mod tests;
mod usage;

pub(crate) use callback::{Callback, Visit};
pub use command::CommandLogin;
pub use error::AccountError;
pub use login::{ByBrowser, ByCode, Ending};

use crate::config::login::{CredentialStore, ForcedMethod, Login};
use crate::config::provider::{OPENAI_URL, Provider};
use crate::keyring::Manner;
use crate::model::catalogue;
use crate::model::credential::Credential;
use crate::model::error::{KeyFrom, LoginTrouble};
use crate::protocol::account::{Account as Known, AccountLoginCompleted, AccountUpdated, AuthMethod};
use crate::secrets::Secrets;
use claims::Claims;
use login::Running;
use renew::Renewals;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use store::Store;
use stored::{Stored, Tokens};

/// What is told of the account, in the order in which it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A login has ended.
    Completed(AccountLoginCompleted),
    /// The person is known in another way.
    Updated(AccountUpdated),
}

/// Takes what is told. It must not wait.
pub type Announce = Arc<dyn Fn(Notice) + Send + Sync>;

/// The person's account; a clone is another handle.
#[derive(Clone)]
pub struct Account(Arc<Shared>);

struct Shared {
    store: Store,
    /// The login that runs.
    running: Mutex<Option<Running>>,
    /// Held while a login begins, so that each finds the one before it.
    starting: tokio::sync::Mutex<()>,
    /// Held while what is kept changes.
    changing: tokio::sync::Mutex<()>,
    /// Held while a token is renewed: whoever comes meanwhile gets the same one.
    renewing: tokio::sync::Mutex<()>,
    /// A digest of the refresh token that the authorization server does not accept, and why.
    dead: Mutex<Option<([u8; 32], LoginTrouble)>>,
    renewals: Mutex<Renewals>,
    /// Learns every key and token that is kept.
    secrets: Secrets,
}

/// What holds for one provider, by the configuration.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    pub login: &'a Login,
    pub provider: &'a Provider,
    /// The environment that the program was started with.
    pub env: &'a BTreeMap<String, String>,
}

/// The same for what outlives who asked.
#[derive(Clone)]
pub struct OwnTerms {
    pub login: Login,
    pub provider: Provider,
    pub env: BTreeMap<String, String>,
}

impl OwnTerms {
    fn of(terms: Terms<'_>) -> Self {
        Self {
            login: terms.login.clone(),
            provider: terms.provider.clone(),
            env: terms.env.clone(),
        }
    }

    pub fn terms(&self) -> Terms<'_> {
        Terms {
            login: &self.login,
            provider: &self.provider,
            env: &self.env,
        }
    }
}

/// What a provider's requests are made with.
pub enum Held {
    /// The provider needs nothing.
    Nothing,
    Key {
        key: String,
        from: KeyFrom,
    },
    /// An account that was signed in to.
    Account(Box<Tokens>),
    /// The provider needs something, and there is nothing.
    Missing,
}

impl Terms<'_> {
    /// The key of the configuration or of the environment, where it may be used.
    fn key(&self) -> Option<(String, KeyFrom)> {
        let filled = |text: &String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        if let Some(key) = self.provider.experimental_bearer_token.as_ref().and_then(filled) {
            return Some((key, KeyFrom::Nowhere));
        }
        if self.provider.requires_openai_auth && self.login.forced == Some(ForcedMethod::Account) {
            return None;
        }
        let variable = self.provider.env_key.as_ref()?;
        let key = self.env.get(variable).and_then(filled)?;
        Some((key, KeyFrom::Variable(variable.clone())))
    }
}

impl Account {
    /// What is kept in this home folder. `secrets` learns what must show nowhere.
    pub fn new(home: &Path, secrets: Secrets) -> Self {
        Self(Arc::new(Shared {
            store: Store::new(home),
            running: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            dead: Mutex::default(),
            renewals: Mutex::default(),
            secrets,
        }))
    }

    /// What the provider's requests are made with. What cannot be read is as good as not there, and logged.
    pub fn held(&self, terms: Terms<'_>) -> Held {
        if let Some((key, from)) = terms.key() {
            return Held::Key { key, from };
        }
        if !terms.provider.requires_openai_auth {
            return match terms.provider.env_key {
                Some(_) => Held::Missing,
                None => Held::Nothing,
            };
        }
        match self.stored(terms.login) {
            Some(Stored::Key(key)) => Held::Key {
                key,
                from: KeyFrom::Stored,
            },
            Some(Stored::Tokens(tokens)) => Held::Account(tokens),
            None => Held::Missing,
        }
    }

    /// What was signed in with, as far as the configuration lets it count.
    fn stored(&self, login: &Login) -> Option<Stored> {
        let stored = self.0.store.read(login.store).and_then(|file| match file {
            Some(file) => {
                // Another program may have put it there.
                self.0.secrets.learn(file.secrets());
                file.held().map_err(AccountError::Store)
            }
            None => Ok(None),
        });
        let stored = stored.unwrap_or_else(|error| {
            tracing::warn!(%error, "what was signed in with is not used");
            None
        })?;
        match (&stored, login.forced) {
            (Stored::Key(_), Some(ForcedMethod::Account)) | (Stored::Tokens(_), Some(ForcedMethod::ApiKey)) => None,
            (Stored::Tokens(tokens), _) if !is_allowed(login, tokens) => {
                tracing::warn!("the login is not used: the configuration allows other workspaces only");
                None
            }
            _ => Some(stored),
        }
    }

    /// Why what is kept cannot be used, if something is kept and cannot.
    pub fn trouble(&self, login: &Login) -> Option<AccountError> {
        match self.0.store.read(login.store) {
            Ok(None) => None,
            Ok(Some(file)) => match file.held() {
                Err(error) => Some(error.into()),
                Ok(Some(Stored::Key(_))) if login.forced == Some(ForcedMethod::Account) => {
                    Some(AccountError::ForcedAccount)
                }
                Ok(Some(Stored::Tokens(_))) if login.forced == Some(ForcedMethod::ApiKey) => {
                    Some(AccountError::ForcedKey)
                }
                Ok(Some(Stored::Tokens(tokens))) if !is_allowed(login, &tokens) => {
                    Some(AccountError::OtherWorkspace(tokens.account_id))
                }
                Ok(_) => None,
            },
            Err(error) => Some(error),
        }
    }

    /// The same as what a client of the provider sends, and the address that it is sent to.
    pub fn credential(&self, terms: Terms<'_>) -> (Credential, String) {
        let address = terms.provider.base_url.clone();
        match self.held(terms) {
            Held::Missing if terms.provider.requires_openai_auth => match self.trouble(terms.login) {
                // Who asks is told what is wrong with it.
                Some(trouble) => (Credential::Login(Arc::new(renew::Unusable::new(&trouble))), address),
                None => (Credential::None, address),
            },
            Held::Nothing | Held::Missing => (Credential::None, address),
            Held::Key { key, from } => (Credential::Key { key, from }, address),
            Held::Account(_) => {
                let login = renew::Source::new(self.clone(), terms.login.clone());
                // Accounts are served elsewhere than keys.
                let address = match address.trim_end_matches('/') == OPENAI_URL {
                    true => format!("{}/codex", terms.login.base_url),
                    false => address,
                };
                (Credential::Login(Arc::new(login)), address)
            }
        }
    }

    /// Which method counts, with what is sent for it.
    pub fn method(&self, terms: Terms<'_>) -> Option<(AuthMethod, String)> {
        match self.held(terms) {
            Held::Nothing | Held::Missing => None,
            Held::Key { key, .. } => Some((AuthMethod::ApiKey, key)),
            Held::Account(tokens) => Some((AuthMethod::Account, tokens.access_token)),
        }
    }

    /// How requests are paid for: by what there is, else by what the provider's settings want.
    pub fn paid_by(&self, terms: Terms<'_>) -> catalogue::Login {
        match self.held(terms) {
            Held::Account(_) => catalogue::Login::Account,
            Held::Key { .. } => catalogue::Login::Key,
            Held::Nothing | Held::Missing => catalogue::Login::of(terms.provider),
        }
    }

    /// Who is signed in.
    pub fn known(&self, terms: Terms<'_>) -> Option<Known> {
        match self.held(terms) {
            Held::Nothing | Held::Missing => None,
            Held::Key { .. } => Some(Known::ApiKey {}),
            Held::Account(tokens) => {
                let claims = Claims::of(&tokens.id_token);
                Some(Known::Account {
                    email: claims.email,
                    plan: claims.plan,
                    workspace_id: tokens.account_id.or(claims.workspace),
                })
            }
        }
    }

    /// How the person is known, as it is told.
    pub fn updated(&self, terms: Terms<'_>) -> AccountUpdated {
        match self.known(terms) {
            None => AccountUpdated {
                auth_method: None,
                plan: None,
            },
            Some(Known::ApiKey {}) => AccountUpdated {
                auth_method: Some(AuthMethod::ApiKey),
                plan: None,
            },
            Some(Known::Account { plan, .. }) => AccountUpdated {
                auth_method: Some(AuthMethod::Account),
                plan,
            },
        }
    }

    /// Logs in with a key: keeps it in the place of whatever was kept.
    pub async fn login_with_key(&self, terms: Terms<'_>, key: &str, announce: &Announce) -> Result<(), AccountError> {
        if terms.login.forced == Some(ForcedMethod::Account) {
            return Err(AccountError::ForcedAccount);
        }
        let key = stored::key(key)?;
        self.0.secrets.learn([&key]);
        let _alone = self.0.changing.lock().await;
        self.give_up("Somebody signed in with a key.", announce);
        self.0
            .store
            .write(terms.login.store, stored::File::of_key(key), Manner::MayAsk)
            .await?;
        announce(Notice::Completed(AccountLoginCompleted {
            login_id: None,
            success: true,
            error: None,
        }));
        announce(Notice::Updated(self.updated(terms)));
        Ok(())
    }

    /// Forgets what was signed in with. The authorization server is told afterwards, in the background.
    pub async fn logout(&self, terms: Terms<'_>, announce: &Announce) -> Result<(), AccountError> {
        let _alone = self.0.changing.lock().await;
        self.give_up("Somebody signed out.", announce);
        let (before, removed) = self.0.store.remove(terms.login.store).await;
        if removed.is_ok() {
            announce(Notice::Updated(self.updated(terms)));
        }
        for tokens in before.into_iter().filter_map(|file| file.tokens) {
            self.give_back(terms.login, tokens);
        }
        removed
    }

    /// Ends when the authorization server has been told of a logout, or cannot be told, and a renewed login is written.
    pub async fn told(&self) {
        self.write_at_the_end().await;
        self.0.store.ended().await;
    }
}

/// Whether the configuration allows the workspace of a login.
fn is_allowed(login: &Login, tokens: &Tokens) -> bool {
    let Some(allowed) = &login.workspaces else {
        return true;
    };
    let workspace = Claims::of(&tokens.id_token).workspace.or(tokens.account_id.clone());
    workspace.is_some_and(|workspace| allowed.contains(&workspace))
}

/// Where what is signed in with is kept, for people.
pub fn place(home: &Path, login: &Login) -> String {
    match login.store {
        CredentialStore::File => Store::new(home).path().display().to_string(),
        CredentialStore::Keyring | CredentialStore::Auto => {
            let store = Store::new(home);
            match store.is_in_a_file() {
                true => store.path().display().to_string(),
                false => "the system's keyring".to_owned(),
            }
        }
        CredentialStore::Ephemeral => "memory, until the program ends".to_owned(),
    }
}
