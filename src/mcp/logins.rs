//! What the person is signed in to MCP servers with: kept in a file of theirs or in the system's keyring, renewed when it
//! runs out, and sent to no other address than the one it is for.
//!
//! The file lies in the private folder: that is closed for commands as a whole, also while the file is replaced. One that
//! stands in the home folder itself counts in its place, and is moved there with the first change.

use super::authority::{self, Tokens};
use super::failure::shown_name;
use crate::config::leftovers;
use crate::config::login::CredentialStore;
use crate::config::network::Network;
use crate::config::own_file::{FileError, OwnFile};
use crate::exec::profile::{PRIVATE, private_folder};
use crate::keyring::{Keyring, KeyringError, Manner};
use crate::secrets::Secrets;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// The file in the private folder.
pub const FILE: &str = ".credentials.json";
/// Held by the program that renews a token, of all that share the home folder.
const LOCK: &str = ".credentials.lock";
/// Held for as long as it takes to change what the keyring holds, which is all of them in one.
const KEYRING_LOCK: &str = ".credentials.keyring.lock";
/// How long another program's renewal is waited for, and how often it is looked for.
const LOCK_LIMIT: Duration = Duration::from_secs(25);
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// A token is renewed so long before it runs out, in milliseconds; one of a short life at half of that.
const EARLY: u64 = 30_000;
/// No token is asked for more often than this.
const SHORTEST: Duration = Duration::from_secs(5);
/// How long a login that is stopped may take to close its port.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Why nothing is known of logins, or one cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum LoginsError {
    #[error("{} cannot be understood: {cause}. Remove it, and sign in to your MCP servers again.", path.display())]
    Broken { path: PathBuf, cause: String },
    #[error("{0}. Make it possible to write there, then sign in again.")]
    File(#[from] FileError),
    #[error(
        "The logins to MCP servers in the system's keyring cannot be {doing}: {cause}. {} Or set `mcp_oauth_credentials_store = \
         \"file\"` in config.toml.",
        .cause.advice()
    )]
    Keyring { doing: &'static str, cause: KeyringError },
    #[error("The logins to MCP servers could not be looked at ({0}). Try it again.")]
    BrokeOff(String),
}

/// Why there is no token: a whole sentence with advice.
pub(super) struct NoToken {
    pub(super) text: String,
    /// Another try may go better, without the person.
    pub(super) passing: bool,
}

impl From<LoginsError> for NoToken {
    fn from(error: LoginsError) -> Self {
        // What cannot be read for a moment is no logout.
        Self {
            text: error.to_string(),
            passing: true,
        }
    }
}

/// One login.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The address of the server that it is for.
    pub(super) url: String,
    pub(super) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    /// What the authorization server calls the MCP server.
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
    /// When it is renewed; absent where another version kept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) renew_at: Option<u64>,
}

/// Without the secrets.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Kept {
    /// Takes what an authorization server gave.
    pub(super) fn take(&mut self, tokens: Tokens) {
        self.access_token = tokens.access_token;
        // One that is not given anew holds on.
        self.refresh_token = tokens.refresh_token.or(self.refresh_token.take());
        // Of one that holds for longer than times can be told, no end is known.
        let until = tokens
            .expires_in
            .and_then(|seconds| SystemTime::now().checked_add(Duration::from_secs(seconds)));
        self.expires_at = until.map(milliseconds);
        let half = tokens.expires_in.unwrap_or_default().saturating_mul(1000) / 2;
        self.renew_at = self.expires_at.map(|until| until.saturating_sub(EARLY.min(half)));
    }

    /// When another token is needed. One that cannot be renewed is used to its end.
    fn due(&self) -> Option<u64> {
        let until = self.expires_at?;
        Some(match self.refresh_token {
            None => until,
            Some(_) => self.renew_at.unwrap_or(until.saturating_sub(EARLY)).min(until),
        })
    }

    fn is_due(&self, now: u64) -> bool {
        self.due().is_some_and(|due| now >= due)
    }

    fn holds(&self, now: u64) -> bool {
        self.expires_at.is_none_or(|until| now < until)
    }

    fn runs_out(&self, now: u64) -> Option<Duration> {
        let due = self.due()?;
        Some(Duration::from_millis(due.saturating_sub(now)).max(SHORTEST))
    }

    /// Tells the authorization server that it is not wanted any more, within a bound.
    pub(super) async fn revoke(&self, network: &Network) {
        let Some(endpoint) = &self.revocation_endpoint else {
            return;
        };
        let token = self.refresh_token.as_ref().unwrap_or(&self.access_token);
        let fields = [("token", token.as_str()), ("client_id", self.client_id.as_str())];
        if let Err(error) = crate::model::web::post_form(network, endpoint, &fields).await {
            tracing::info!(%error, "an authorization server was not told of the end of a login");
        }
    }
}

fn now() -> u64 {
    milliseconds(SystemTime::now())
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// By the name of the server.
type All = BTreeMap<String, Kept>;

#[derive(Default, Serialize, Deserialize)]
struct Contents {
    #[serde(default)]
    logins: All,
}

/// What errors call it where the path of a file stands otherwise.
const KEYRING: &str = "the entry in the system's keyring";

fn keyring(home: &Path) -> Keyring {
    // The first name finds the entry: under another one nobody would be signed in any more, and nothing would remove what is there.
    Keyring::new("Countersign tool servers", "logins to MCP servers", home)
}

/// A lock on a file of this name, which is waited for within a bound. Where it cannot be had, one goes without.
fn held(home: &Path, name: &str) -> Option<File> {
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(private_folder(home).join(name)).ok()?;
    let deadline = Instant::now() + LOCK_LIMIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(LOCK_PAUSE),
            Err(error) => {
                tracing::warn!(%error, name, "the logins to MCP servers are changed without the lock");
                return None;
            }
        }
    }
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
    memory: Mutex<All>,
    secrets: Mutex<Secrets>,
    /// Held while a token is renewed: whoever comes meanwhile gets the same one.
    renewing: tokio::sync::Mutex<()>,
    /// Renewals, which run to their end whatever becomes of those who asked.
    renewals: TaskTracker,
    /// The login to a server that waits for the browser: what stops it, and what says that it has ended.
    running: Mutex<BTreeMap<String, (CancellationToken, CancellationToken)>>,
}

/// The one login to a server that may run.
pub(super) struct Turn {
    /// Another one has begun, or somebody has signed out.
    pub(super) stop: CancellationToken,
    _ended: DropGuard,
}

impl Logins {
    pub fn new(home: &Path) -> Self {
        Self(Arc::new(Shared {
            home: Some(home.to_owned()),
            ..Shared::default()
        }))
    }

    /// Where they are kept; nothing where that is nowhere.
    pub(super) fn home(&self) -> Option<&Path> {
        self.0.home.as_deref()
    }

    /// What is to be told of every token that is read or comes in.
    pub fn learn_into(&self, secrets: Secrets) {
        *self.0.secrets.lock().unwrap_or_else(PoisonError::into_inner) = secrets;
    }

    fn memory(&self) -> MutexGuard<'_, All> {
        self.0.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the place of the login to this server that runs, if one does, and waits until that has closed its port.
    pub(super) async fn begin_login(&self, name: &str) -> Turn {
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let turn = Turn {
            stop: stop.clone(),
            _ended: ended.clone().drop_guard(),
        };
        let before = self.running().insert(name.to_owned(), (stop, ended));
        if let Some((stop, ended)) = before {
            stop.cancel();
            let _in_time = tokio::time::timeout(STOP_LIMIT, ended.cancelled()).await;
        }
        turn
    }

    fn stop_login(&self, name: &str) {
        // It stays there, so that the next one waits for its port.
        if let Some((stop, _)) = self.running().get(name) {
            stop.cancel();
        }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, (CancellationToken, CancellationToken)>> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for renewals that are under way.
    pub(super) async fn ended(&self) {
        self.0.renewals.close();
        self.0.renewals.wait().await;
    }

    /// Does what may wait for the disk, or for another program, where nobody else waits with it.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, LoginsError> + Send + 'static,
    ) -> Result<T, LoginsError> {
        let logins = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&logins)).await;
        done.unwrap_or_else(|error| Err(LoginsError::BrokeOff(error.to_string())))
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

    /// What the file says.
    fn read(home: &Path) -> Result<Contents, LoginsError> {
        // In this order: one that is moved meanwhile is found in its new place.
        for path in [home.join(FILE), home.join(PRIVATE).join(FILE)] {
            let text = crate::config::layers::read_text(&path).map_err(|error| LoginsError::Broken {
                path: path.clone(),
                cause: error.to_string(),
            })?;
            if text.is_some() {
                return Self::contents(&path, text.as_deref());
            }
        }
        Ok(Contents::default())
    }

    /// Where the file is written. One that stands in the home folder is moved first; a link stays where it is.
    fn place(home: &Path) -> Result<PathBuf, LoginsError> {
        let (old, place) = (home.join(FILE), private_folder(home).join(FILE));
        match fs::symlink_metadata(&old) {
            Ok(found) if found.is_file() => match fs::rename(&old, &place) {
                Ok(()) => {
                    // Whoever put it there may have let everybody read it.
                    #[cfg(unix)]
                    let _as_it_was = fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o600));
                    Ok(place)
                }
                // Another program was quicker.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(place),
                Err(cause) => Err(LoginsError::File(FileError::Io {
                    what: "moving the file",
                    path: old,
                    cause,
                })),
            },
            Ok(_) => Ok(old),
            Err(_) => Ok(place),
        }
    }

    /// The login to this server at this address, if there is one.
    fn find(&self, name: &str, url: &str, store: CredentialStore) -> Result<Option<Kept>, LoginsError> {
        let found = match (store, &self.0.home) {
            (CredentialStore::Ephemeral, _) | (_, None) => self.memory().get(name).cloned(),
            (_, Some(home)) => match Self::read(home)?.logins.remove(name) {
                None if store != CredentialStore::File => Self::in_keyring(home, store)?.logins.remove(name),
                found => found,
            },
        };
        let found = found.filter(|kept| kept.url == url);
        found.iter().for_each(|kept| self.learn(kept));
        Ok(found)
    }

    fn in_keyring(home: &Path, store: CredentialStore) -> Result<Contents, LoginsError> {
        match keyring(home).read(Manner::Quiet) {
            Ok(text) => Self::contents(Path::new(KEYRING), text.as_deref()),
            Err(cause) => {
                let error = LoginsError::Keyring { doing: "read", cause };
                if store == CredentialStore::Keyring {
                    return Err(error);
                }
                // Where none is demanded the servers do without: most of them need no login. That there is none is nothing new.
                if !matches!(
                    error,
                    LoginsError::Keyring {
                        cause: KeyringError::Absent(_),
                        ..
                    }
                ) {
                    tracing::warn!(%error, "the logins in the keyring are not used");
                }
                Ok(Contents::default())
            }
        }
    }

    async fn found(&self, name: &str, url: &str, store: CredentialStore) -> Result<Option<Kept>, LoginsError> {
        let (name, url) = (name.to_owned(), url.to_owned());
        self.aside(move |logins| logins.find(&name, &url, store)).await
    }

    /// Changes what the file holds, as a whole.
    fn change_file<T>(home: &Path, change: impl FnOnce(&mut All) -> T) -> Result<T, LoginsError> {
        let file = OwnFile::open(&Self::place(home)?)?;
        let mut contents = Self::contents(file.path(), file.text())?;
        let done = change(&mut contents.logins);
        let text = serde_json::to_string_pretty(&contents).unwrap_or_default();
        file.replace(&format!("{text}\n"), |_new| Ok::<(), LoginsError>(()))?;
        Ok(done)
    }

    /// Changes what the keyring holds, as a whole.
    fn change_keyring<T>(home: &Path, manner: Manner, change: impl FnOnce(&mut All) -> T) -> Result<T, LoginsError> {
        let failed = |doing| move |cause| LoginsError::Keyring { doing, cause };
        let keyring = keyring(home);
        if manner == Manner::MayAsk {
            // The person may take their time to unlock it, and nobody else waits for that.
            keyring.read(manner).map_err(failed("read"))?;
        }
        let _held = held(home, KEYRING_LOCK);
        let text = keyring.read(Manner::Quiet).map_err(failed("read"))?;
        let mut contents = Self::contents(Path::new(KEYRING), text.as_deref())?;
        let done = change(&mut contents.logins);
        let changed = match contents.logins.is_empty() {
            true => keyring.remove(Manner::Quiet),
            // The first of all may need a keyring that is locked still.
            false => keyring.write(&serde_json::to_string(&contents).unwrap_or_default(), manner),
        };
        changed.map_err(failed("changed"))?;
        Ok(done)
    }

    /// Changes what is kept of a login that is there, in the place where it is.
    fn change<T>(
        &self,
        name: &str,
        store: CredentialStore,
        change: impl FnOnce(&mut All) -> T,
    ) -> Result<T, LoginsError> {
        match (store, &self.0.home) {
            (CredentialStore::Ephemeral, _) | (_, None) => Ok(change(&mut self.memory())),
            (CredentialStore::Keyring | CredentialStore::Auto, Some(home))
                if !Self::read(home)?.logins.contains_key(name) =>
            {
                Self::change_keyring(home, Manner::Quiet, change)
            }
            (_, Some(home)) => Self::change_file(home, change),
        }
    }

    /// Keeps a login.
    pub(super) async fn keep(&self, name: &str, store: CredentialStore, kept: Kept) -> Result<(), LoginsError> {
        self.learn(&kept);
        let name = name.to_owned();
        self.aside(move |logins| {
            let insert = |all: &mut All| all.insert(name.clone(), kept.clone());
            let home = match (store, &logins.0.home) {
                (CredentialStore::Ephemeral, _) | (_, None) => {
                    insert(&mut logins.memory());
                    return Ok(());
                }
                (_, Some(home)) => home,
            };
            if store != CredentialStore::File {
                match Self::change_keyring(home, Manner::MayAsk, insert) {
                    // One in the file would count before it.
                    Ok(_before) if !Self::read(home)?.logins.contains_key(&name) => return Ok(()),
                    Ok(_before) => return Self::change_file(home, |all| all.remove(&name)).map(|_before| ()),
                    Err(error) if store == CredentialStore::Auto => {
                        tracing::warn!(%error, "a login to an MCP server is kept in a file");
                    }
                    Err(error) => return Err(error),
                }
            }
            Self::change_file(home, insert).map(|_before| ())
        })
        .await
    }

    /// Takes the login to this server at this address out of all places where it may be.
    fn remove(&self, name: &str, url: &str, store: CredentialStore) -> Result<Option<Kept>, LoginsError> {
        let is_it = |all: &All| all.get(name).is_some_and(|kept| kept.url == url);
        let take = |all: &mut All| is_it(all).then(|| all.remove(name)).flatten();
        let home = match (store, &self.0.home) {
            (CredentialStore::Ephemeral, _) | (_, None) => return Ok(take(&mut self.memory())),
            (_, Some(home)) => home,
        };
        for file in [home.join(FILE), home.join(PRIVATE).join(FILE)] {
            // What a program that died has left of it is forgotten, too.
            leftovers::sweep(&file).map_err(|(path, cause)| FileError::Io {
                what: "removing what was left of a login",
                path,
                cause,
            })?;
        }
        // First, since it can be done whatever becomes of the keyring.
        let in_file = match is_it(&Self::read(home)?.logins) {
            true => Self::change_file(home, take)?,
            false => None,
        };
        if store == CredentialStore::File {
            return Ok(in_file);
        }
        match Self::change_keyring(home, Manner::MayAsk, take) {
            Ok(in_keyring) => Ok(in_file.or(in_keyring)),
            Err(LoginsError::Keyring {
                cause: KeyringError::Absent(_),
                ..
            }) if store == CredentialStore::Auto => Ok(in_file),
            Err(error) => Err(error),
        }
    }

    /// What a server is asked with, renewed where it must be; nothing where nobody is signed in to it.
    ///
    /// # Errors
    /// The login cannot be read or renewed.
    pub(super) async fn token(
        &self,
        name: &str,
        url: &str,
        store: CredentialStore,
        network: &Network,
    ) -> Result<Option<Token>, NoToken> {
        let Some(mut kept) = self.found(name, url, store).await? else {
            return Ok(None);
        };
        if kept.is_due(now()) {
            let (logins, name, url, network) = (self.clone(), name.to_owned(), url.to_owned(), network.clone());
            // By itself: the server gives new tokens once, and takes the old ones back.
            let renewing = self
                .0
                .renewals
                .spawn(async move { logins.renewed(&name, &url, store, &network).await });
            let renewed = renewing
                .await
                .unwrap_or_else(|error| Err(LoginsError::BrokeOff(error.to_string()).into()));
            match renewed {
                Ok(None) => return Ok(None),
                Ok(Some(renewed)) => kept = renewed,
                Err(error) if error.passing && kept.holds(now()) => {
                    tracing::warn!("a login to an MCP server could not be renewed yet, and still holds");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Token {
            runs_out: kept.runs_out(now()),
            text: kept.access_token,
        }))
    }

    /// Waits for other programs that renew a token here. Held until it is dropped; where it cannot be had, one goes without.
    async fn lock(&self, store: CredentialStore) -> Option<File> {
        let home = self.0.home.clone().filter(|_| store != CredentialStore::Ephemeral)?;
        tokio::task::spawn_blocking(move || held(&home, LOCK)).await.ok()?
    }

    /// The login, renewed unless somebody was quicker; nothing where somebody has signed out.
    async fn renewed(
        &self,
        name: &str,
        url: &str,
        store: CredentialStore,
        network: &Network,
    ) -> Result<Option<Kept>, NoToken> {
        let _one = self.0.renewing.lock().await;
        let of_all = self.lock(store).await;
        let mut kept = match self.found(name, url, store).await? {
            Some(kept) if kept.is_due(now()) => kept,
            found => return Ok(found),
        };
        let again = super::failure::word(name);
        let again = format!("sign in again: `countersign mcp login {}`", crate::shown::exact(&again));
        let Some(refresh) = kept.refresh_token.clone() else {
            return Err(NoToken {
                text: format!("The login to the MCP server {} has run out; {again}.", shown_name(name)),
                passing: false,
            });
        };
        let mut fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.as_str()),
            ("client_id", kept.client_id.as_str()),
            ("resource", kept.resource.as_str()),
        ];
        fields.extend(kept.client_secret.as_deref().map(|secret| ("client_secret", secret)));
        let tokens = authority::tokens(network, &kept.token_endpoint, &fields).await;
        let tokens = tokens.map_err(|error| NoToken {
            text: format!(
                "The login to the MCP server {} was not renewed: {error}. Or {again}.",
                shown_name(name)
            ),
            passing: !error.ends_the_login(),
        })?;
        kept.take(tokens);
        self.learn(&kept);
        let (of, new) = (name.to_owned(), kept.clone());
        let replaced = self.aside(move |logins| {
            logins.change(&of.clone(), store, move |all| {
                let same = all
                    .get_mut(&of)
                    .filter(|now| now.url == new.url && now.refresh_token.as_ref() == Some(&refresh));
                let is_there = same.is_some();
                if let Some(now) = same {
                    *now = new;
                }
                is_there
            })
        });
        match replaced.await {
            Ok(true) => Ok(Some(kept)),
            Ok(false) => {
                // Somebody has signed out, or in anew, meanwhile: that counts. Where another program may have renewed the
                // same login beside us, taking ours back could end that one too.
                if of_all.is_some() || store == CredentialStore::Ephemeral {
                    kept.revoke(network).await;
                }
                Ok(self.found(name, url, store).await?)
            }
            Err(error) => {
                // The older one is worth nothing any more, so this one is used also where it cannot be kept.
                tracing::error!(%error, "a renewed login to an MCP server is not kept");
                Ok(Some(kept))
            }
        }
    }

    /// Forgets the login to a server and tells its authorization server, within a bound. False if there was none. One that
    /// still waits for the browser is stopped.
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
        self.stop_login(name);
        let (name, url) = (name.to_owned(), url.to_owned());
        let forgotten = self.aside(move |logins| logins.remove(&name, &url, store));
        let Some(kept) = forgotten.await? else {
            return Ok(false);
        };
        kept.revoke(network).await;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(refresh: bool, expires_in: Option<u64>) -> Kept {
        let mut kept = Kept {
            url: "https://host/mcp".to_owned(),
            token_endpoint: "https://host/token".to_owned(),
            revocation_endpoint: None,
            resource: "https://host/mcp".to_owned(),
            client_id: "client".to_owned(),
            client_secret: None,
            access_token: String::new(),
            refresh_token: None,
            expires_at: None,
            renew_at: None,
        };
        kept.take(Tokens {
            access_token: "access-token-0000".to_owned(),
            refresh_token: refresh.then(|| "refresh-token-1111".to_owned()),
            expires_in,
        });
        kept
    }

    #[test]
    fn a_token_is_renewed_in_time_and_not_again_and_again() {
        // Whether it can be renewed, its seconds, and the seconds after which another one is needed.
        for (refresh, lifetime, due) in [
            (true, None, None),
            (true, Some(u64::MAX), None),
            (true, Some(3600), Some(3570)),
            (true, Some(60), Some(30)),
            (true, Some(30), Some(15)),
            (true, Some(0), Some(0)),
            (false, Some(30), Some(30)),
            (false, Some(3600), Some(3600)),
        ] {
            let kept = kept(refresh, lifetime);
            let case = format!("{refresh} {lifetime:?}");
            let start = kept.expires_at.map(|until| until - lifetime.unwrap_or_default() * 1000);
            assert_eq!(kept.expires_at.is_some(), due.is_some(), "{case}");
            let Some((start, due)) = start.zip(due) else {
                assert!(!kept.is_due(u64::MAX) && kept.holds(u64::MAX), "{case}");
                assert_eq!(kept.runs_out(start.unwrap_or_default()), None, "{case}");
                continue;
            };
            assert!(kept.is_due(start + due * 1000), "{case}");
            assert!(due == 0 || !kept.is_due(start + due * 1000 - 1), "{case}");
            let wait = Duration::from_secs(due).max(SHORTEST);
            assert_eq!(kept.runs_out(start), Some(wait), "{case}");
            assert_eq!(kept.runs_out(u64::MAX), Some(SHORTEST), "{case}");
        }
    }

    #[tokio::test]
    async fn a_file_in_the_old_place_counts_and_is_moved() {
        let home = tempfile::tempdir().expect("a folder");
        let (old, place) = (home.path().join(FILE), home.path().join(PRIVATE).join(FILE));
        let mut contents = Contents::default();
        contents.logins.insert("one".to_owned(), kept(true, None));
        std::fs::write(&old, serde_json::to_string(&contents).expect("JSON")).expect("a file");
        let logins = Logins::new(home.path());
        let found = |name: &str| {
            logins
                .find(name, "https://host/mcp", CredentialStore::File)
                .expect("read")
        };
        assert!(found("one").is_some() && found("two").is_none());
        let keeping = logins.keep("two", CredentialStore::File, kept(false, None)).await;
        keeping.expect("kept");
        assert!(!old.exists() && place.exists());
        assert!(found("one").is_some() && found("two").is_some());
    }
}
