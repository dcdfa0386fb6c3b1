//! Where what is logged in with is kept: `auth.json` in the home folder, for nobody but the person, changed as a whole or
//! not at all; or memory.

use super::AccountError;
use super::stored::File;
use crate::config::login::CredentialStore;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::task::TaskTracker;

pub(super) const FILE: &str = "auth.json";
/// Held by the program that renews a token, of all that share the home folder.
const LOCK: &str = "auth.lock";
/// Larger than any file of logins.
const MOST_BYTES: u64 = 1 << 20;
/// How long another program's renewal is waited for, and how often it is looked for.
const LOCK_LIMIT: Duration = Duration::from_secs(25);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Why it cannot be kept, read or forgotten. Its words hold nothing of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("{path} cannot be read: {reason}. Mend its permissions, or log in again.", path = .path.display())]
    Read { path: PathBuf, reason: String },
    #[error("{path} is not understood: {reason}. Remove it and log in again.", path = .path.display())]
    Broken { path: PathBuf, reason: String },
    #[error("The key in auth.json holds what no key does. Log in again.")]
    BadKey,
    #[error("{path} cannot be written: {reason}. Mend the permissions of its folder, or make room there.", path = .path.display())]
    Write { path: PathBuf, reason: String },
    #[error("{path} cannot be removed: {reason}. Remove it by hand.", path = .path.display())]
    Remove { path: PathBuf, reason: String },
    #[error(
        "The system's keyring is not built into this program. Set `cli_auth_credentials_store = \"file\"` in config.toml, or \
         \"ephemeral\" to keep nothing."
    )]
    Keyring,
}

pub(super) struct Store {
    path: PathBuf,
    /// What is kept in memory only: all of it where that is configured, and what could not be written.
    memory: Arc<Mutex<Memory>>,
    /// What is still under way for somebody who has logged out.
    tasks: TaskTracker,
}

#[derive(Default)]
struct Memory {
    ephemeral: Option<File>,
    /// Newer than the file, which had these bytes when it could not be written.
    unwritten: Option<(Vec<u8>, File)>,
}

impl Store {
    pub(super) fn new(home: &Path) -> Self {
        let tasks = TaskTracker::new();
        tasks.close();
        Self {
            path: home.join(FILE),
            memory: Arc::default(),
            tasks,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept, if anything is.
    pub(super) fn read(&self, store: CredentialStore) -> Result<Option<File>, AccountError> {
        match store {
            CredentialStore::Ephemeral => Ok(self.memory().ephemeral.clone()),
            CredentialStore::Keyring => Ok(None),
            CredentialStore::File => {
                let Some(bytes) = self.bytes()? else { return Ok(None) };
                if let Some((old, file)) = &self.memory().unwritten
                    && *old == bytes
                {
                    return Ok(Some(file.clone()));
                }
                self.parse(&bytes)
            }
        }
    }

    fn bytes(&self) -> Result<Option<Vec<u8>>, AccountError> {
        let failed = |reason: String| StoreError::Read {
            path: self.path.clone(),
            reason,
        };
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error.to_string()).into()),
            // Reading a pipe would wait for ever.
            Ok(found) if !found.is_file() => return Err(failed("it is no file".to_owned()).into()),
            Ok(found) if found.len() > MOST_BYTES => return Err(failed("it is too large".to_owned()).into()),
            Ok(_) => {}
        }
        fs::read(&self.path)
            .map(Some)
            .map_err(|error| failed(error.to_string()).into())
    }

    /// An empty file is none.
    fn parse(&self, bytes: &[u8]) -> Result<Option<File>, AccountError> {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        // What the parser says may hold parts of the text.
        serde_json::from_slice(text).map(Some).map_err(|error| {
            let reason = match error.classify() {
                serde_json::error::Category::Data => "a field is not of the type that belongs there".to_owned(),
                _ => format!("it is no JSON at line {}, column {}", error.line(), error.column()),
            };
            let path = self.path.clone();
            StoreError::Broken { path, reason }.into()
        })
    }

    /// Keeps this and nothing else.
    pub(super) async fn write(&self, store: CredentialStore, file: File) -> Result<(), AccountError> {
        match store {
            CredentialStore::Ephemeral => {
                self.memory().ephemeral = Some(file);
                Ok(())
            }
            CredentialStore::Keyring => Err(StoreError::Keyring.into()),
            CredentialStore::File => {
                let path = self.path.clone();
                let written = tokio::task::spawn_blocking(move || write(&path, &file)).await;
                let written = written.unwrap_or_else(|error| Err(io::Error::other(error)));
                self.memory().unwritten = None;
                written.map_err(|error| {
                    let path = self.path.clone();
                    let reason = error.to_string();
                    StoreError::Write { path, reason }.into()
                })
            }
        }
    }

    /// Keeps renewed tokens, in memory if it must be: the older ones are worth nothing any more.
    pub(super) async fn write_renewed(&self, store: CredentialStore, file: File) {
        let before = self.bytes().ok().flatten();
        if let Err(error) = self.write(store, file.clone()).await {
            tracing::error!(%error, "a renewed login is kept in memory only");
            if let Some(before) = before {
                self.memory().unwritten = Some((before, file));
            }
        }
    }

    /// Keeps nothing from now on.
    pub(super) async fn remove(&self, store: CredentialStore) -> Result<(), AccountError> {
        match store {
            CredentialStore::Ephemeral => self.memory().ephemeral = None,
            CredentialStore::Keyring => {}
            CredentialStore::File => {
                self.memory().unwritten = None;
                // What a link leads to holds the secrets; then the link itself.
                for path in [fs::canonicalize(&self.path).ok(), Some(self.path.clone())]
                    .into_iter()
                    .flatten()
                {
                    match fs::remove_file(&path) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => {
                            let reason = error.to_string();
                            return Err(StoreError::Remove { path, reason }.into());
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits for other programs that renew a token here. Held until it is dropped; where it cannot be had, one goes without.
    pub(super) async fn lock(&self, store: CredentialStore) -> Option<fs::File> {
        if store != CredentialStore::File {
            return None;
        }
        let path = self.path.with_file_name(LOCK);
        let open = move || options().append(true).create(true).open(path);
        let file = tokio::task::spawn_blocking(open).await.ok()?.ok()?;
        let deadline = tokio::time::Instant::now() + LOCK_LIMIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(fs::TryLockError::WouldBlock) if tokio::time::Instant::now() < deadline => {
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "a token is renewed without the lock");
                    return None;
                }
            }
        }
    }

    /// Something that is better done before the program ends.
    pub(super) fn before_end(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    pub(super) async fn ended(&self) {
        self.tasks.wait().await;
    }
}

/// Opens files that only the person may read.
fn options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Writes beside the file, and puts the new one in its place. A link is followed, so that it stays one.
fn write(path: &Path, file: &File) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut text = serde_json::to_vec_pretty(file)?;
    text.push(b'\n');
    let beside = path.with_file_name(format!(".{FILE}.{}", uuid::Uuid::now_v7()));
    let written = (|| {
        let mut new = options().write(true).create_new(true).open(&beside)?;
        new.write_all(&text)?;
        new.sync_all()?;
        fs::rename(&beside, &path)
    })();
    if written.is_err() {
        // It may never have been there.
        let _gone = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[tokio::test]
    async fn the_file_is_the_persons_alone_and_whole() {
        let home = tempfile::tempdir().expect("a folder");
        let store = Store::new(home.path());
        let path = home.path().join(FILE);
        let read = || store.read(CredentialStore::File);
        assert!(matches!(read(), Ok(None)));
        fs::write(&path, "old").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
        let file = File::of_key("sk-1".into());
        store.write(CredentialStore::File, file.clone()).await.expect("written");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert!(read().is_ok_and(|found| found == Some(file)));
        let names: Vec<_> = fs::read_dir(home.path()).expect("a folder").flatten().collect();
        assert_eq!(names.len(), 1, "nothing is left beside it");
        store.remove(CredentialStore::File).await.expect("removed");
        store
            .remove(CredentialStore::File)
            .await
            .expect("removed twice is removed");
        assert!(matches!(read(), Ok(None)));
    }

    #[tokio::test]
    async fn what_cannot_be_read_or_written_is_told_without_its_text() {
        let home = tempfile::tempdir().expect("a folder");
        let store = Store::new(home.path());
        let path = home.path().join(FILE);
        for odd in [
            "{",
            "[\"sk-secret\"]",
            "\"sk-secret\"",
            "{\"tokens\": \"sk-secret\"}",
            "{\"OPENAI_API_KEY\": {\"a\": \"sk-secret\"}}",
            "\u{0}",
        ] {
            fs::write(&path, odd).expect("a file");
            let error = store.read(CredentialStore::File).err().expect("no logins").to_string();
            assert!(error.contains("auth.json") && !error.contains("secret"), "{error}");
        }
        for none in ["", " \n", "\u{feff}"] {
            fs::write(&path, none).expect("a file");
            assert!(matches!(store.read(CredentialStore::File), Ok(None)));
        }
        fs::remove_file(&path).expect("gone");
        fs::create_dir(&path).expect("a folder in its place");
        let error = store.write(CredentialStore::File, File::of_key("k".into())).await;
        assert!(error.is_err_and(|error| error.to_string().contains("cannot be written")));
        assert!(store.read(CredentialStore::File).is_err());
        assert!(store.remove(CredentialStore::File).await.is_err());
        assert!(store.write(CredentialStore::Keyring, File::default()).await.is_err());
    }

    #[tokio::test]
    async fn memory_keeps_what_must_not_be_written() {
        let home = tempfile::tempdir().expect("a folder");
        let store = Store::new(home.path());
        let file = File::of_key("sk-1".into());
        store
            .write(CredentialStore::Ephemeral, file.clone())
            .await
            .expect("kept");
        assert!(
            store
                .read(CredentialStore::Ephemeral)
                .is_ok_and(|found| found == Some(file))
        );
        assert!(fs::read_dir(home.path()).expect("a folder").next().is_none());
        store.remove(CredentialStore::Ephemeral).await.expect("forgotten");
        assert!(
            store
                .read(CredentialStore::Ephemeral)
                .is_ok_and(|found| found.is_none())
        );
    }
}
