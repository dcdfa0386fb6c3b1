//! Where what is signed in with is kept: `auth.json` in the private folder of the home folder, for nobody but the person,
//! changed as a whole or not at all; the system's keyring; or memory.
//!
//! The folder is closed for commands, and not only the file: a command that runs while the file is replaced would see the new
//! one. A file that somebody puts into the home folder itself counts in its place, and is moved there when it changes. Where
//! a keyring is wanted, a file counts before it in the same way: it was brought along, or is from a time without a keyring.

use super::AccountError;
use super::mirror::Mirror;
use super::stored::{File, Tokens};
use crate::config::leftovers;
use crate::config::login::CredentialStore;
use crate::exec::profile::{PRIVATE, private_folder};
use crate::keyring::{KeyringError, Manner};
use crate::private;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::task::TaskTracker;

const FILE: &str = "auth.json";
/// Held by the program that renews a token, of all that share the home folder.
const LOCK: &str = "auth.lock";
/// What errors call it where the path of the file stands otherwise.
const ENTRY: &str = "The entry in the system's keyring";
/// Larger than any file of logins.
const MOST_BYTES: u64 = 1 << 20;
/// How long another program's renewal is waited for, and how often it is looked for.
const LOCK_LIMIT: Duration = Duration::from_secs(25);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Why it cannot be kept, read or forgotten. Its words hold nothing of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("{path} cannot be read: {reason}. Fix its permissions, or sign in again.", path = .path.display())]
    Read { path: PathBuf, reason: String },
    #[error("{path} is not understood: {reason}. Remove it and sign in again.", path = .path.display())]
    Broken { path: PathBuf, reason: String },
    #[error("The key in auth.json contains something that no key does. Sign in again.")]
    BadKey,
    #[error("{path} cannot be written: {reason}. Fix the permissions of its folder, or make room there.", path = .path.display())]
    Write { path: PathBuf, reason: String },
    #[error("{path} cannot be removed: {reason}. Remove it by hand.", path = .path.display())]
    Remove { path: PathBuf, reason: String },
    #[error(
        "The login in the system's keyring cannot be {doing}: {cause}. {} Or set `cli_auth_credentials_store = \"file\"` in \
         config.toml.",
        .cause.advice()
    )]
    Keyring { doing: &'static str, cause: KeyringError },
}

pub(super) struct Store {
    home: PathBuf,
    keyring: Mirror,
    /// What is kept in memory only: all of it where that is configured, and what could not be written.
    memory: Arc<Mutex<Memory>>,
    /// What is still under way for somebody who has signed out.
    tasks: TaskTracker,
}

#[derive(Default)]
struct Memory {
    ephemeral: Option<File>,
    unwritten: Option<Unwritten>,
}

/// A renewed login that could not be written. It counts as long as there is a file, and that holds no other login.
struct Unwritten {
    file: File,
    /// Where it belongs.
    store: CredentialStore,
    /// Refresh tokens that are worth nothing since: a file that holds one of them is older.
    spent: Vec<String>,
}

impl Unwritten {
    fn is_newer_than(&self, file: &File) -> bool {
        let tokens = file.tokens.as_ref();
        tokens.is_some_and(|tokens| self.spent.contains(&tokens.refresh_token))
    }
}

/// What there is in the place of what is kept.
pub(super) enum Standing {
    /// Nothing: somebody has removed it.
    Gone,
    /// It may be there, and cannot be read now; a file without anything in it is one that somebody is writing.
    Unreadable(AccountError),
    Holds(File),
}

impl Store {
    pub(super) fn new(home: &Path) -> Self {
        let tasks = TaskTracker::new();
        tasks.close();
        Self {
            home: home.to_owned(),
            keyring: Mirror::new(home),
            memory: Arc::default(),
            tasks,
        }
    }

    /// The home folder.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Where it is kept, or stands now.
    pub(super) fn path(&self) -> PathBuf {
        let brought = self.brought();
        match fs::symlink_metadata(&brought) {
            Ok(_) => brought,
            Err(_) => self.home.join(PRIVATE).join(FILE),
        }
    }

    /// Where somebody may have put a file.
    fn brought(&self) -> PathBuf {
        self.home.join(FILE)
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept, if anything is.
    pub(super) fn read(&self, store: CredentialStore) -> Result<Option<File>, AccountError> {
        match self.standing(store) {
            Standing::Gone => Ok(None),
            Standing::Holds(file) => Ok(Some(file)),
            Standing::Unreadable(AccountError::Store(StoreError::Broken { reason, .. })) if reason == EMPTY => Ok(None),
            Standing::Unreadable(error) => Err(error),
        }
    }

    /// The same, for who must not take what cannot be read for what is gone.
    pub(super) fn standing(&self, store: CredentialStore) -> Standing {
        if store == CredentialStore::Ephemeral {
            return self.memory().ephemeral.clone().map_or(Standing::Gone, Standing::Holds);
        }
        let found = match self.on_disk() {
            Standing::Gone if store != CredentialStore::File => self.in_keyring(store),
            found => found,
        };
        let memory = self.memory();
        match (&memory.unwritten, found) {
            (None, found) => found,
            (Some(_), Standing::Gone) => Standing::Gone,
            (Some(newer), Standing::Holds(file)) if !newer.is_newer_than(&file) => Standing::Holds(file),
            (Some(newer), _) => Standing::Holds(newer.file.clone()),
        }
    }

    fn in_keyring(&self, store: CredentialStore) -> Standing {
        match self.keyring.read() {
            Ok(None) => Standing::Gone,
            Ok(Some(text)) => parse(Path::new(ENTRY), text.as_bytes())
                .map_or_else(|error| Standing::Unreadable(error.into()), Standing::Holds),
            // Where none is demanded, nothing is missing either.
            Err(KeyringError::Absent(_)) if store == CredentialStore::Auto => Standing::Gone,
            Err(cause) => Standing::Unreadable(StoreError::Keyring { doing: "read", cause }.into()),
        }
    }

    /// Looks at the keyring anew, for who must know what another program has done to it a moment ago.
    pub(super) async fn look_again(&self, store: CredentialStore) {
        if matches!(store, CredentialStore::Keyring | CredentialStore::Auto) {
            self.keyring.look_again().await;
        }
    }

    /// Whether there is a file, which counts before the keyring.
    pub(super) fn is_in_a_file(&self) -> bool {
        !matches!(self.on_disk(), Standing::Gone)
    }

    fn on_disk(&self) -> Standing {
        let path = self.path();
        match bytes(&path) {
            Ok(None) => Standing::Gone,
            Ok(Some(bytes)) => {
                parse(&path, &bytes).map_or_else(|error| Standing::Unreadable(error.into()), Standing::Holds)
            }
            Err(reason) => Standing::Unreadable(StoreError::Read { path, reason }.into()),
        }
    }

    /// Keeps this and nothing else.
    pub(super) async fn write(&self, store: CredentialStore, file: File, manner: Manner) -> Result<(), AccountError> {
        match store {
            CredentialStore::Ephemeral => {
                self.memory().ephemeral = Some(file);
                return Ok(());
            }
            CredentialStore::File => self.write_file(file).await?,
            // What is renewed stays where it is: the file may be another program's as well.
            _ if manner == Manner::Quiet && self.is_in_a_file() => self.write_file(file).await?,
            CredentialStore::Keyring | CredentialStore::Auto => match self.write_to_keyring(&file, manner).await {
                // What is left of it would count before the keyring.
                Ok(()) => self.remove_files(false)?,
                Err(error) if store == CredentialStore::Auto => {
                    tracing::warn!(%error, "a login is kept in a file");
                    self.write_file(file).await?;
                }
                Err(error) => return Err(error.into()),
            },
        }
        self.memory().unwritten = None;
        Ok(())
    }

    async fn write_file(&self, file: File) -> Result<(), StoreError> {
        let home = self.home.clone();
        let written = tokio::task::spawn_blocking(move || write(&home, &file)).await;
        let written = written.unwrap_or_else(|error| Err(io::Error::other(error)));
        written.map_err(|error| StoreError::Write {
            path: self.path(),
            reason: error.to_string(),
        })
    }

    async fn write_to_keyring(&self, file: &File, manner: Manner) -> Result<(), StoreError> {
        let text = serde_json::to_string(file).map_err(|error| KeyringError::Failed(error.to_string()));
        let written = match text {
            Ok(text) => self.keyring.write(text, manner).await,
            Err(cause) => Err(cause),
        };
        written.map_err(|cause| StoreError::Keyring { doing: "kept", cause })
    }

    /// Keeps a renewed login in memory, where it cannot be written: what it was renewed from is worth nothing any more.
    pub(super) fn hold(&self, store: CredentialStore, spent: &Tokens, file: File) {
        let mut memory = self.memory();
        let mut all = memory.unwritten.take().map(|before| before.spent).unwrap_or_default();
        all.push(spent.refresh_token.clone());
        memory.unwritten = Some(Unwritten {
            file,
            store,
            spent: all,
        });
    }

    /// What is held in that way, and where it belongs.
    pub(super) fn held_back(&self) -> Option<(File, CredentialStore)> {
        let memory = self.memory();
        let unwritten = memory.unwritten.as_ref()?;
        Some((unwritten.file.clone(), unwritten.store))
    }

    /// What was held in that way counts no more: somebody has signed out, or signed in anew.
    pub(super) fn let_go(&self) -> Option<File> {
        self.memory().unwritten.take().map(|unwritten| unwritten.file)
    }

    /// Keeps nothing from now on. Gives all that is not kept any more, as far as it could be read, also where something else
    /// could not be removed.
    pub(super) async fn remove(&self, store: CredentialStore) -> (Vec<File>, Result<(), AccountError>) {
        if store == CredentialStore::Ephemeral {
            return (self.memory().ephemeral.take().into_iter().collect(), Ok(()));
        }
        let held = self.held_back().map(|(file, _)| file);
        let in_file = match self.read(CredentialStore::File) {
            Ok(Some(file)) => Some(file),
            _ => held.filter(|_| store != CredentialStore::File),
        };
        // First, since it can be done whatever becomes of the keyring.
        if let Err(error) = self.remove_files(true) {
            return (Vec::new(), Err(error.into()));
        }
        self.memory().unwritten = None;
        let mut removed: Vec<File> = in_file.into_iter().collect();
        if store == CredentialStore::File {
            return (removed, Ok(()));
        }
        let done = match self.keyring.take().await {
            Ok(text) => {
                removed.extend(text.and_then(|text| parse(Path::new(ENTRY), text.as_bytes()).ok()));
                Ok(())
            }
            Err(KeyringError::Absent(_)) if store == CredentialStore::Auto => Ok(()),
            Err(cause) => Err(StoreError::Keyring {
                doing: "forgotten",
                cause,
            }
            .into()),
        };
        (removed, done)
    }

    /// `with_targets`: what links lead to goes too, since it holds the secrets.
    fn remove_files(&self, with_targets: bool) -> Result<(), StoreError> {
        for place in [self.brought(), self.home.join(PRIVATE).join(FILE)] {
            // A program that died while it wrote has left the same beside it.
            leftovers::sweep(&place).map_err(|(path, error)| StoreError::Remove {
                path,
                reason: error.to_string(),
            })?;
            let target = fs::canonicalize(&place).ok().filter(|_| with_targets);
            for path in target.into_iter().chain([place]) {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        let reason = error.to_string();
                        return Err(StoreError::Remove { path, reason });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Waits for other programs that renew a token here. Held until it is dropped; where it cannot be had, one goes without.
    pub(super) async fn lock(&self, store: CredentialStore) -> Option<fs::File> {
        if store == CredentialStore::Ephemeral {
            return None;
        }
        let path = self.home.join(LOCK);
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

/// The bytes of a file; none if it is not there. The error is the end of a sentence.
fn bytes(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
        // Reading a pipe would wait for ever.
        Ok(found) if !found.is_file() => return Err("it is no file".to_owned()),
        Ok(found) if found.len() > MOST_BYTES => return Err("it is too large".to_owned()),
        Ok(_) => private::check(path).map_err(|trouble| trouble.to_string())?,
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Why a file without anything in it cannot be understood.
const EMPTY: &str = "it is empty";

fn parse(path: &Path, bytes: &[u8]) -> Result<File, StoreError> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let broken = |reason: String| StoreError::Broken {
        path: path.to_owned(),
        reason,
    };
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(broken(EMPTY.to_owned()));
    }
    // What the parser says may hold parts of the text.
    serde_json::from_slice(text).map_err(|error| {
        broken(match error.classify() {
            serde_json::error::Category::Data => "a field is not of the type that belongs there".to_owned(),
            _ => format!("it is no JSON at line {}, column {}", error.line(), error.column()),
        })
    })
}

/// Writes beside the file, and puts the new one in its place. A link is followed, so that it stays one; a file that somebody
/// has put into the home folder is moved to its place first, so that there is one at every moment.
fn write(home: &Path, file: &File) -> io::Result<()> {
    private::make_folder(home)?;
    let kept = private_folder(home).join(FILE);
    let brought = home.join(FILE);
    let place = match fs::symlink_metadata(&brought) {
        Ok(found) if found.is_file() => {
            fs::rename(&brought, &kept)?;
            kept
        }
        // A link, or what will not be written over.
        Ok(_) => brought,
        Err(_) => kept,
    };
    let place = fs::canonicalize(&place).unwrap_or(place);
    for beside in [&place, &home.join(FILE), &private_folder(home).join(FILE)] {
        if let Err((path, error)) = leftovers::sweep(beside) {
            tracing::warn!(path = %path.display(), %error, "what a program that died has left could not be removed");
        }
    }
    let mut text = serde_json::to_vec_pretty(file)?;
    text.push(b'\n');
    let beside = place.with_file_name(format!(".{FILE}.{}", uuid::Uuid::now_v7()));
    let written = (|| {
        let mut new = options().write(true).create_new(true).open(&beside)?;
        leftovers::hold(&new);
        new.write_all(&text)?;
        new.sync_all()?;
        fs::rename(&beside, &place)
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
        let private = home.path().join(PRIVATE);
        let path = private.join(FILE);
        let read = || store.read(CredentialStore::File);
        assert!(matches!(read(), Ok(None)));
        // Brought along, for everybody to read.
        let brought = home.path().join(FILE);
        fs::write(&brought, r#"{"OPENAI_API_KEY": "sk-0"}"#).expect("a file");
        fs::set_permissions(&brought, fs::Permissions::from_mode(0o644)).expect("a mode");
        assert!(read().is_ok_and(|found| found.is_some_and(|file| file.api_key.as_deref() == Some("sk-0"))));
        let file = File::of_key("sk-1".into());
        store
            .write(CredentialStore::File, file.clone(), Manner::Quiet)
            .await
            .expect("written");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&private), mode(&path)), (0o700, 0o600));
        assert!(read().is_ok_and(|found| found == Some(file)));
        let names = |folder: &Path| fs::read_dir(folder).expect("a folder").count();
        assert_eq!(
            (names(home.path()), names(&private)),
            (1, 1),
            "nothing is left beside it"
        );
        store.remove(CredentialStore::File).await.1.expect("removed");
        store
            .remove(CredentialStore::File)
            .await
            .1
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
        let error = store
            .write(CredentialStore::File, File::of_key("k".into()), Manner::Quiet)
            .await;
        assert!(error.is_err_and(|error| error.to_string().contains("cannot be written")));
        assert!(store.read(CredentialStore::File).is_err());
        assert!(store.remove(CredentialStore::File).await.1.is_err());
    }

    #[tokio::test]
    async fn a_link_stays_one() {
        let (home, elsewhere) = (
            tempfile::tempdir().expect("a folder"),
            tempfile::tempdir().expect("a folder"),
        );
        let store = Store::new(home.path());
        let (link, target) = (home.path().join(FILE), elsewhere.path().join("login.json"));
        fs::write(&target, "{}").expect("a file");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        store
            .write(CredentialStore::File, File::of_key("sk-1".into()), Manner::Quiet)
            .await
            .expect("written");
        assert!(link.is_symlink() && fs::read_to_string(&target).expect("text").contains("sk-1"));
        store.remove(CredentialStore::File).await.1.expect("removed");
        assert!(!link.is_symlink() && !target.exists());
    }

    #[tokio::test]
    async fn what_could_not_be_written_counts_until_there_is_something_newer() {
        let tokens = |refresh: &str| Tokens {
            access_token: format!("at-{refresh}"),
            refresh_token: refresh.to_owned(),
            ..Tokens::default()
        };
        let text = |refresh: &str| serde_json::to_string(&File::of_tokens(tokens(refresh))).expect("JSON");
        let home = tempfile::tempdir().expect("a folder");
        let store = Store::new(home.path());
        let path = home.path().join(FILE);
        let now = || match store.standing(CredentialStore::File) {
            Standing::Gone => "gone".to_owned(),
            Standing::Unreadable(_) => "unreadable".to_owned(),
            Standing::Holds(file) => file.tokens.map(|tokens| tokens.refresh_token).unwrap_or_default(),
        };
        fs::write(&path, "").expect("a file");
        assert_eq!(now(), "unreadable");
        store.hold(CredentialStore::File, &tokens("r0"), File::of_tokens(tokens("r1")));
        store.hold(CredentialStore::File, &tokens("r1"), File::of_tokens(tokens("r2")));
        for (on_disk, counts) in [
            (text("r0"), "r2"),
            (text("r1"), "r2"),
            (String::new(), "r2"),
            ("{".to_owned(), "r2"),
            // Another login, and none.
            (text("r9"), "r9"),
            ("{}".to_owned(), ""),
        ] {
            fs::write(&path, &on_disk).expect("a file");
            assert_eq!(now(), counts, "{on_disk}");
        }
        fs::remove_file(&path).expect("gone");
        assert_eq!(now(), "gone");
        // What cannot be done changes nothing of it.
        fs::create_dir(&path).expect("a folder in its place");
        let failed = store
            .write(CredentialStore::File, File::of_key("k".into()), Manner::Quiet)
            .await;
        assert!(failed.is_err() && store.remove(CredentialStore::File).await.1.is_err());
        assert_eq!(now(), "r2");
        fs::remove_dir(&path).expect("gone");
        store
            .write(CredentialStore::File, File::of_tokens(tokens("r3")), Manner::Quiet)
            .await
            .expect("written");
        assert_eq!(now(), "r3");
        assert!(store.held_back().is_none());
    }

    /// A program that is killed while it writes leaves the tokens beside the file.
    #[tokio::test]
    async fn what_a_killed_writer_left_goes_with_the_next_login_and_logout() {
        let home = tempfile::tempdir().expect("a folder");
        let store = Store::new(home.path());
        let private = private_folder(home.path());
        let leave = || {
            [home.path(), &private].map(|folder| {
                let left = folder.join(format!(".{FILE}.{}", uuid::Uuid::now_v7()));
                fs::write(&left, r#"{"tokens": {"refresh_token": "rt-left"}}"#).expect("a file");
                left
            })
        };
        let left = leave();
        let file = File::of_key("sk-1".into());
        store
            .write(CredentialStore::File, file, Manner::Quiet)
            .await
            .expect("written");
        assert!(left.iter().all(|left| !left.exists()), "a login: {left:?}");
        let left = leave();
        store.remove(CredentialStore::File).await.1.expect("removed");
        assert!(left.iter().all(|left| !left.exists()), "a logout: {left:?}");
        let left = leave();
        leftovers::sweep_home(home.path());
        assert!(left.iter().all(|left| !left.exists()), "a start: {left:?}");
    }

    #[tokio::test]
    async fn memory_keeps_what_must_not_be_written() {
        let home = tempfile::tempdir().expect("a folder");
        let store = Store::new(home.path());
        let file = File::of_key("sk-1".into());
        store
            .write(CredentialStore::Ephemeral, file.clone(), Manner::Quiet)
            .await
            .expect("kept");
        assert!(
            store
                .read(CredentialStore::Ephemeral)
                .is_ok_and(|found| found == Some(file))
        );
        assert!(fs::read_dir(home.path()).expect("a folder").next().is_none());
        store.remove(CredentialStore::Ephemeral).await.1.expect("forgotten");
        assert!(
            store
                .read(CredentialStore::Ephemeral)
                .is_ok_and(|found| found.is_none())
        );
    }
}
