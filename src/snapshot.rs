//! What the workspace held at one moment, so that a turn can be taken back, also what its commands changed.
//!
//! Each folder has a store of its own under the home folder: a git repository that only we use ([`store`]), and a
//! manifest of the last look ([`manifest`]), so that the next look reads only files whose marks have changed and starts
//! git only if there is something new to keep. The person's repository, its index and its names are never written.
//! Ignored files and `.git` are left out; tracked ones that are ignored count. Everything is bounded: what is too much
//! is an error that says so, never a half snapshot.
//!
//! What a turn changed is written down beside it ([`record`]), with the texts that no snapshot has, so that it can be
//! taken back after a restart.
//!
//! What is compared when, and who takes what back, is the agent's affair.

mod manifest;
pub mod record;
mod store;
mod walk;

pub use crate::patch::any_path::of_bytes as path_of_bytes;
pub use manifest::Kind;

use crate::exec::git::{GitError, OwnRepository, Stop};
use crate::ids::TurnId;
use crate::patch::disk::hexadecimal;
use manifest::{Entry, Manifest, Oid};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::Store;
use tokio_util::sync::CancellationToken;

/// How long a folder that was too much for a snapshot is left alone.
const GIVEN_UP_FOR: Duration = Duration::from_secs(15 * 60);
/// How long work that was told to stop is waited for.
const STOPPING: Duration = Duration::from_secs(1);

/// Bounds of one snapshot.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Files, links and folders.
    pub files: usize,
    /// Bytes of one file; a larger one is only known to be there.
    pub file_bytes: u64,
    /// Bytes that a snapshot newly keeps.
    pub new_bytes: u64,
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 60_000,
            file_bytes: 32 << 20,
            new_bytes: 1 << 30,
            time: Duration::from_secs(20),
        }
    }
}

/// Why there is no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    #[error("the program git was not found; install it")]
    NoGit,
    #[error("{} has more than {most} files; name folders that need no undo in .gitignore or .countersignignore", root.display())]
    TooManyFiles { root: PathBuf, most: usize },
    #[error(
        "there are more than {} MiB to keep; name what needs no undo in .gitignore or .countersignignore", most >> 20
    )]
    TooLarge { most: u64 },
    #[error(
        "it took longer than {} s; name folders that need no undo in .gitignore or .countersignignore", limit.as_secs()
    )]
    TooSlow { limit: Duration },
    #[error("it was stopped")]
    Stopped,
    #[error("it is switched off in the configuration, features.snapshots")]
    SwitchedOff,
    #[error("{} is not a folder that can be read: {message}", root.display())]
    Folder { root: PathBuf, message: String },
    #[error("{message}")]
    Git { message: String },
    #[error("{doing} {} failed: {message}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        message: String,
    },
}

impl SnapshotError {
    fn io(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            message: error.to_string(),
        }
    }

    /// Whether it would be the same the next time.
    fn lasts(&self) -> bool {
        matches!(
            self,
            Self::NoGit | Self::TooManyFiles { .. } | Self::TooLarge { .. } | Self::TooSlow { .. }
        )
    }
}

impl From<GitError> for SnapshotError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Missing(unfound) if unfound.is_nowhere() => Self::NoGit,
            GitError::Stopped => Self::Stopped,
            other => Self::Git {
                message: other.to_string(),
            },
        }
    }
}

/// A content that a store keeps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Blob {
    /// Name of the folder's store.
    store: String,
    oid: String,
    /// The first half of the SHA-256 of the content, in hexadecimal.
    digest: String,
}

impl Blob {
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The name in one word: two with the same have the same content.
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.store, self.oid, self.digest)
    }

    /// The blob of such a word.
    pub fn of_key(key: &str) -> Option<Self> {
        let (store, rest) = key.split_once('/')?;
        let (oid, digest) = rest.split_once('/')?;
        Some(Self {
            store: store.to_owned(),
            oid: oid.to_owned(),
            digest: digest.to_owned(),
        })
    }
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Bytes.
    pub size: u64,
    /// Tells apart what is not kept; see [`stamp`].
    pub stamp: String,
    /// The content of a file, or where a link leads.
    pub blob: Option<Blob>,
}

/// A path that is not the same in two snapshots. Absent: there is nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub before: Option<State>,
    pub after: Option<State>,
}

/// What a folder held at one moment; cheap to clone.
#[derive(Clone, Debug)]
pub struct Snapshot {
    root: PathBuf,
    store: String,
    manifest: Arc<Manifest>,
}

impl Snapshot {
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What is another in a later snapshot of the same folder, in the order of paths.
    pub fn changes(&self, later: &Self) -> Vec<Change> {
        let state = |entry: &Entry| self.state(entry);
        self.manifest
            .differences(&later.manifest)
            .into_iter()
            .map(|(before, after)| {
                let path = before.or(after).map(|entry| self.root.join(&entry.path));
                Change {
                    path: path.unwrap_or_default(),
                    before: before.map(state),
                    after: after.map(state),
                }
            })
            .collect()
    }

    /// What was at a path; nothing also for what does not count.
    pub fn find(&self, path: &Path) -> Option<State> {
        let inner = path.strip_prefix(&self.root).ok()?;
        self.manifest.find(inner).map(|entry| self.state(entry))
    }

    /// Whether the folder was there.
    pub fn has_folder(&self, path: &Path) -> bool {
        match path.strip_prefix(&self.root) {
            Ok(inner) => inner.as_os_str().is_empty() || self.manifest.has_folder(inner),
            Err(_) => false,
        }
    }

    fn state(&self, entry: &Entry) -> State {
        let blob = matches!(entry.kind, Kind::File | Kind::Link).then(|| Blob {
            store: self.store.clone(),
            oid: entry.oid.hex(),
            digest: hexadecimal(&entry.digest),
        });
        State {
            kind: entry.kind,
            mode: entry.mode,
            size: entry.marks.size,
            stamp: entry.marks.stamp(),
            blob,
        }
    }
}

/// All stores of a home folder; cheap to clone.
#[derive(Clone)]
pub struct Snapshots {
    shared: Arc<Shared>,
}

struct Shared {
    home: PathBuf,
    /// Tells where programs are.
    env: BTreeMap<String, String>,
    limits: Limits,
    /// Folders that were too much, since when, and why.
    given_up: Mutex<HashMap<PathBuf, (Instant, SnapshotError)>>,
    /// Ends the tidying of stores.
    tidying: Stop,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.tidying.stop();
    }
}

/// Stops work on another thread when whoever waits for it is gone.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Snapshots {
    /// Stores below the home folder; `env` tells where git is.
    pub fn new(home: &Path, env: &BTreeMap<String, String>) -> Self {
        Self::with_limits(home, env, Limits::default())
    }

    pub fn with_limits(home: &Path, env: &BTreeMap<String, String>, limits: Limits) -> Self {
        Self {
            shared: Arc::new(Shared {
                home: home.to_owned(),
                env: env.clone(),
                limits,
                given_up: Mutex::default(),
                tidying: Stop::default(),
            }),
        }
    }

    /// Where all of it is.
    pub fn folder(&self) -> PathBuf {
        self.shared.home.join("snapshots")
    }

    /// What turns have changed.
    pub fn records(&self) -> record::Records {
        record::Records::new(&self.folder())
    }

    fn given_up(&self) -> MutexGuard<'_, HashMap<PathBuf, (Instant, SnapshotError)>> {
        self.shared.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a folder holds now. `except` are folders in it that have snapshots of their own. Bounded in time; ends early
    /// with `cancel`, and leaves no process and no lock behind however it ends.
    pub async fn take(
        &self,
        root: &Path,
        except: &[PathBuf],
        cancel: &CancellationToken,
    ) -> Result<Snapshot, SnapshotError> {
        if let Some((since, error)) = self.given_up().get(root)
            && since.elapsed() < GIVEN_UP_FOR
        {
            return Err(error.clone());
        }
        let taken = self.take_in_time(root, except, cancel).await;
        if let Err(error) = &taken
            && error.lasts()
        {
            self.given_up().insert(root.to_owned(), (Instant::now(), error.clone()));
        }
        taken
    }

    async fn take_in_time(
        &self,
        root: &Path,
        except: &[PathBuf],
        cancel: &CancellationToken,
    ) -> Result<Snapshot, SnapshotError> {
        let stop = Stop::default();
        let _guard = StopOnDrop(stop.clone());
        let mut work = tokio::task::spawn_blocking({
            let (this, root, except, stop) = (self.clone(), root.to_owned(), except.to_owned(), stop.clone());
            move || this.take_now(&root, &except, &stop)
        });
        let limit = self.shared.limits.time;
        let why = tokio::select! {
            taken = &mut work => return taken.unwrap_or_else(|error| Err(crashed(&error))),
            () = cancel.cancelled() => SnapshotError::Stopped,
            () = tokio::time::sleep(limit) => SnapshotError::TooSlow { limit },
        };
        stop.stop();
        // It looks at the sign between two files; a disk that hangs is left to itself.
        let _ended = tokio::time::timeout(STOPPING, work).await;
        Err(why)
    }

    fn take_now(&self, root: &Path, except: &[PathBuf], stop: &Stop) -> Result<Snapshot, SnapshotError> {
        let folder = |error: io::Error| SnapshotError::Folder {
            root: root.to_owned(),
            message: error.to_string(),
        };
        let real = std::fs::canonicalize(root).map_err(folder)?;
        std::fs::read_dir(&real).map_err(folder)?;
        let name = store_name(&real);
        let store = self.store(&name);
        store.make()?;
        // Our own files, which are there by now, are no part of anybody's work; work that lies among them is.
        let except: Vec<PathBuf> = except
            .iter()
            .chain([&self.shared.home])
            .filter_map(|path| std::fs::canonicalize(path).ok())
            .filter(|path| !real.starts_with(path))
            .collect();
        let manifest = store.take(&real, &except, &self.shared.limits, stop)?;
        Ok(Snapshot {
            root: root.to_owned(),
            store: name,
            manifest: Arc::new(manifest),
        })
    }

    fn store(&self, name: &str) -> Store {
        let folder = self.folder().join(name);
        Store {
            repository: OwnRepository::new(folder, &self.shared.env),
            env: self.shared.env.clone(),
        }
    }

    /// Keeps bytes with the records of a turn, for as long as those. Waits for the disk.
    ///
    /// # Errors
    /// The home folder cannot be written.
    pub fn keep(&self, turn: &TurnId, bytes: &[u8]) -> io::Result<Blob> {
        self.records().keep(turn, bytes)
    }

    /// Gives up what is old in the stores of these folders and in the records of turns. Waits; does little most of the
    /// time.
    pub fn tidy(&self, roots: &[PathBuf]) {
        for root in roots {
            let Ok(real) = std::fs::canonicalize(root) else {
                continue;
            };
            let store = self.store(&store_name(&real));
            if let Err(error) = store.prune(&self.shared.tidying) {
                tracing::warn!(root = %root.display(), %error, "old snapshots were not removed");
            }
        }
        self.records().prune();
    }

    /// Contents, in the order asked for; nothing for one that is not kept any more. Waits for git.
    pub fn read(&self, blobs: &[Blob], stop: &Stop) -> Result<Vec<Option<Vec<u8>>>, SnapshotError> {
        let mut contents = vec![None; blobs.len()];
        for (at, blob) in blobs.iter().enumerate() {
            contents[at] = self.records().kept(blob);
        }
        for (store, places) in by_store(blobs) {
            let (oids, places) = names(blobs, places);
            let mut content = Vec::new();
            self.store(store).read(&oids, stop, |at, piece| match piece {
                Some(bytes) => content.extend_from_slice(bytes),
                None => contents[places[at]] = Some(std::mem::take(&mut content)),
            })?;
        }
        Ok(contents)
    }

    /// Puts contents into files of a folder, each named by its number. False for one that is not kept any more. Waits
    /// for git.
    pub fn export(&self, blobs: &[Blob], folder: &Path, stop: &Stop) -> Result<Vec<bool>, SnapshotError> {
        let mut done = vec![false; blobs.len()];
        for (at, blob) in blobs.iter().enumerate() {
            if let Some(bytes) = self.records().kept(blob) {
                let path = folder.join(at.to_string());
                std::fs::write(&path, bytes).map_err(|error| SnapshotError::io("writing", &path, &error))?;
                done[at] = true;
            }
        }
        for (store, places) in by_store(blobs) {
            let (oids, places) = names(blobs, places);
            let mut file = None;
            let mut failure = None;
            self.store(store).read(&oids, stop, |at, piece| {
                let path = folder.join(places[at].to_string());
                let mut write = || -> io::Result<()> {
                    if file.is_none() {
                        file = Some(std::fs::File::create(&path)?);
                    }
                    match (&mut file, piece) {
                        (Some(file), Some(bytes)) => file.write_all(bytes)?,
                        _ => file = None,
                    }
                    Ok(())
                };
                match write() {
                    Ok(()) => done[places[at]] = true,
                    Err(error) => {
                        failure.get_or_insert_with(|| SnapshotError::io("writing", &path, &error));
                    }
                }
            })?;
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        Ok(done)
    }
}

/// Size and time stamps of a file in one word: while it is the same, the file most likely is.
pub fn stamp(path: &Path) -> Option<String> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    Some(walk::marks(&meta).1.stamp())
}

fn crashed(error: &tokio::task::JoinError) -> SnapshotError {
    SnapshotError::Git {
        message: format!("the work broke off: {error}"),
    }
}

/// The places of the blobs of each store.
fn by_store(blobs: &[Blob]) -> BTreeMap<&str, Vec<usize>> {
    let mut stores: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, blob) in blobs.iter().enumerate() {
        // A record names it, and a record is a file that anybody may have written.
        if blob.store.bytes().all(|byte| byte.is_ascii_hexdigit()) && !blob.store.is_empty() {
            stores.entry(&blob.store).or_default().push(at);
        }
    }
    stores
}

/// The names of those that have one, and their places.
fn names(blobs: &[Blob], places: Vec<usize>) -> (Vec<Oid>, Vec<usize>) {
    places
        .into_iter()
        .filter_map(|at| Some((Oid::parse(&blobs[at].oid)?, at)))
        .unzip()
}

/// The folder of a store: by the real path, so that a folder has one by whatever name it is reached.
fn store_name(real: &Path) -> String {
    let digest = Sha256::digest(real.as_os_str().as_encoded_bytes());
    hexadecimal(&digest[..10])
}

#[cfg(test)]
mod tests;
