//! What the person is logged in to tool servers with: kept in a file of theirs, renewed when it runs out, and sent to no
//! other address than the one it is for.

use super::authority::{self, Tokens};
use crate::config::login::CredentialStore;
use crate::config::network::Network;
use crate::config::own_file::{FileError, OwnFile};
use crate::secrets::Secrets;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The file in the home folder.
pub const FILE: &str = ".credentials.json";
/// A token is renewed so long before it runs out.
const EARLY: Duration = Duration::from_secs(30);

/// Why nothing is known of logins, or one cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum LoginsError {
    #[error("{} cannot be understood: {cause}. Remove it, and log in to your tool servers again.", path.display())]
    Broken { path: PathBuf, cause: String },
    #[error("{0}. Make it possible to write there, then log in again.")]
    File(#[from] FileError),
    #[error(
        "The system's keyring is not built into this program. Set mcp_oauth_credentials_store = \"file\" in config.toml, or \
         \"ephemeral\" to keep logins in memory only."
    )]
    Keyring,
}

/// One login.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The address of the server that it is for.
    pub(super) url: String,
    pub(super) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    /// What the authorisation server calls the tool server.
    pub(super) resource: String,
    pub(super) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    pub(super) access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<u64>,
}

/// Without the secrets.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Kept {
    /// Takes what an authorisation server gave.
    pub(super) fn take(&mut self, tokens: Tokens) {
        self.access_token = tokens.access_token;
        // One that is not given anew holds on.
        self.refresh_token = tokens.refresh_token.or(self.refresh_token.take());
        let until = tokens
            .expires_in
            .map(|seconds| SystemTime::now() + Duration::from_secs(seconds));
        self.expires_at = until.map(milliseconds);
    }

    fn is_over(&self) -> bool {
        self.expires_at
            .is_some_and(|until| milliseconds(SystemTime::now() + EARLY) >= until)
    }
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[derive(Default, Serialize, Deserialize)]
struct Contents {
    /// By the name of the server.
    #[serde(default)]
    logins: BTreeMap<String, Kept>,
}

/// What a server is asked with.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) text: String,
    /// When another one is needed.
    pub(super) runs_out: Option<Duration>,
}

/// All logins of the person; a clone is another handle.
#[derive(Clone, Default)]
pub struct Logins(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Absent: nothing is kept on the disk.
    home: Option<PathBuf>,
    memory: Mutex<BTreeMap<String, Kept>>,
    secrets: Mutex<Secrets>,
    /// Held while a token is renewed: whoever comes meanwhile gets the same one.
    renewing: tokio::sync::Mutex<()>,
}

impl Logins {
    pub fn new(home: &Path) -> Self {
        Self(Arc::new(Shared {
            home: Some(home.to_owned()),
            ..Shared::default()
        }))
    }

    /// What is to be told of every token that is read or comes in.
    pub fn learn_into(&self, secrets: Secrets) {
        *self.0.secrets.lock().unwrap_or_else(PoisonError::into_inner) = secrets;
    }

    fn memory(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        self.0.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self) -> Option<PathBuf> {
        self.0.home.as_ref().map(|home| home.join(FILE))
    }

    fn learn(&self, kept: &Kept) {
        let secrets = self.0.secrets.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let all = [
            Some(&kept.access_token),
            kept.refresh_token.as_ref(),
            kept.client_secret.as_ref(),
        ];
        secrets.learn(all.into_iter().flatten());
    }

    fn contents(path: &Path, text: Option<&str>) -> Result<Contents, LoginsError> {
        match text.map(str::trim).filter(|text| !text.is_empty()) {
            None => Ok(Contents::default()),
            // What the parser says may hold parts of the text.
            Some(text) => serde_json::from_str(text).map_err(|error| LoginsError::Broken {
                path: path.to_owned(),
                cause: format!("line {}, column {}", error.line(), error.column()),
            }),
        }
    }

    /// The login to this server at this address, if there is one.
    pub(super) fn find(&self, name: &str, url: &str, store: CredentialStore) -> Result<Option<Kept>, LoginsError> {
        let found = match (store, self.path()) {
            (CredentialStore::Ephemeral, _) | (_, None) => self.memory().get(name).cloned(),
            (CredentialStore::Keyring, _) => None,
            (CredentialStore::File, Some(path)) => {
                let text = crate::config::layers::read_text(&path).map_err(|error| LoginsError::Broken {
                    path: path.clone(),
                    cause: error.to_string(),
                })?;
                Self::contents(&path, text.as_deref())?.logins.remove(name)
            }
        };
        let found = found.filter(|kept| kept.url == url);
        found.iter().for_each(|kept| self.learn(kept));
        Ok(found)
    }

    /// Keeps a login, or forgets the one there is.
    pub(super) fn keep(&self, name: &str, store: CredentialStore, kept: Option<Kept>) -> Result<(), LoginsError> {
        kept.iter().for_each(|kept| self.learn(kept));
        let put = |all: &mut BTreeMap<String, Kept>| match kept {
            Some(kept) => all.insert(name.to_owned(), kept),
            None => all.remove(name),
        };
        match (store, self.path()) {
            (CredentialStore::Keyring, _) => return Err(LoginsError::Keyring),
            (CredentialStore::Ephemeral, _) | (_, None) => {
                put(&mut self.memory());
            }
            (CredentialStore::File, Some(path)) => {
                let file = OwnFile::open(&path)?;
                let mut contents = Self::contents(&path, file.text())?;
                put(&mut contents.logins);
                let text = serde_json::to_string_pretty(&contents).unwrap_or_default();
                file.replace(&format!("{text}\n"), |_new| Ok::<(), LoginsError>(()))?;
            }
        }
        Ok(())
    }

    /// What a server is asked with, renewed where it must be; nothing where nobody is logged in to it.
    ///
    /// # Errors
    /// The login cannot be read or renewed; why, as a whole sentence with advice.
    pub(super) async fn token(
        &self,
        name: &str,
        url: &str,
        store: CredentialStore,
        network: &Network,
    ) -> Result<Option<Token>, String> {
        let find = || self.find(name, url, store).map_err(|error| error.to_string());
        let Some(kept) = find()? else { return Ok(None) };
        let kept = match kept.is_over() {
            false => kept,
            true => {
                let _one = self.0.renewing.lock().await;
                match find()? {
                    None => return Ok(None),
                    Some(kept) if !kept.is_over() => kept,
                    Some(kept) => self.renewed(name, store, network, kept).await?,
                }
            }
        };
        let now = milliseconds(SystemTime::now() + EARLY);
        Ok(Some(Token {
            text: kept.access_token,
            runs_out: kept
                .expires_at
                .map(|until| Duration::from_millis(until.saturating_sub(now))),
        }))
    }

    async fn renewed(
        &self,
        name: &str,
        store: CredentialStore,
        network: &Network,
        mut kept: Kept,
    ) -> Result<Kept, String> {
        let again = format!("log in again: `countersign mcp login {}`", super::failure::word(name));
        let Some(refresh) = kept.refresh_token.clone() else {
            return Err(format!("The login to the tool server {name} has run out; {again}."));
        };
        let mut fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.as_str()),
            ("client_id", kept.client_id.as_str()),
            ("resource", kept.resource.as_str()),
        ];
        fields.extend(kept.client_secret.as_deref().map(|secret| ("client_secret", secret)));
        let tokens = authority::tokens(network, &kept.token_endpoint, &fields).await;
        let tokens = tokens
            .map_err(|error| format!("The login to the tool server {name} was not renewed: {error}. Or {again}."))?;
        kept.take(tokens);
        // The older one is worth nothing any more, so this one is used also where it cannot be kept.
        if let Err(error) = self.keep(name, store, Some(kept.clone())) {
            tracing::error!(%error, "a renewed login to a tool server is not kept");
        }
        Ok(kept)
    }

    /// Forgets the login to a server and tells its authorisation server, within a bound. False if there was none.
    ///
    /// # Errors
    /// What is kept cannot be changed.
    pub async fn forget(
        &self,
        name: &str,
        url: &str,
        store: CredentialStore,
        network: &Network,
    ) -> Result<bool, LoginsError> {
        let Some(kept) = self.find(name, url, store)? else {
            return Ok(false);
        };
        self.keep(name, store, None)?;
        if let Some(endpoint) = &kept.revocation_endpoint {
            let token = kept.refresh_token.as_ref().unwrap_or(&kept.access_token);
            let fields = [("token", token.as_str()), ("client_id", kept.client_id.as_str())];
            if let Err(error) = crate::model::web::post_form(network, endpoint, &fields).await {
                tracing::info!(%error, "an authorisation server was not told of a logout");
            }
        }
        Ok(true)
    }
}
