//! One folder's store: a repository of our own with every content that a snapshot has seen, and the manifest of the last
//! look, so that the next one reads only what has changed.

use super::manifest::{Entry, Kind, Manifest, Marks, Oid};
use super::walk::{self, Found};
use super::{Limits, SnapshotError};
use crate::exec::git::{self, GitError, OwnRepository, OwnRun, Stop};
use crate::private;
use crate::workspace::opened::{is_gone, open_unlinked, read_link_unlinked};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often a lock that somebody else holds is tried.
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// A file that was changed so shortly before it was read may have been changed again with the same time stamp.
const FRESH: i64 = 40_000_000;
/// The same where time stamps count whole seconds.
const FRESH_COARSE: i64 = 2_000_000_000;
/// The oldest snapshot is given up when the one after it is as old as this.
const MOST_AGE: Duration = Duration::from_secs(14 * 24 * 3600);
/// Snapshots kept of one folder.
const MOST_KEPT: usize = 400;
/// Bytes of one folder's store above which only the newest snapshots are kept.
const MOST_BYTES: u64 = 2 << 30;
/// How many those are.
const KEPT_WHEN_FULL: usize = 40;
/// Snapshots given up at a time: tidying reads all of the store.
const PRUNED_TOGETHER: usize = 40;
/// Between two looks whether there is something to give up.
const PRUNE_EVERY: Duration = Duration::from_secs(6 * 3600);

pub(super) struct Store {
    pub(super) repository: OwnRepository,
    /// Tells where programs are.
    pub(super) env: BTreeMap<String, String>,
}

/// Held while the store is changed; let go with the process at the latest.
struct Lock(#[expect(dead_code, reason = "held for what dropping it does")] File);

impl Store {
    pub(super) fn make(&self) -> Result<(), SnapshotError> {
        let failed = |error: io::Error| SnapshotError::io("making the store", self.repository.folder(), &error);
        self.repository.make().map_err(failed)
    }

    /// The folder's state, as of now; what is new in it is kept.
    pub(super) fn take(
        &self,
        root: &Path,
        except: &[PathBuf],
        limits: &Limits,
        stop: &Stop,
    ) -> Result<Manifest, SnapshotError> {
        let _lock = self.lock(stop)?;
        let known = self.last();
        match self.take_locked(root, except, &known, limits, stop) {
            Err(SnapshotError::Git { message }) => {
                // The store may be damaged: once more from nothing, which needs none of what is in it.
                tracing::warn!(folder = %self.repository.folder().display(), "a snapshot store is begun anew: {message}");
                self.take_locked(root, except, &Manifest::default(), limits, stop)
            }
            done => done,
        }
    }

    fn take_locked(
        &self,
        root: &Path,
        except: &[PathBuf],
        known: &Manifest,
        limits: &Limits,
        stop: &Stop,
    ) -> Result<Manifest, SnapshotError> {
        let (tracked, index) = self.tracked(root, known, stop)?;
        let (found, tracked) = walk::look(root, except, &tracked, limits.files, stop)?;
        let mut keeping = Keeping::new(self, known, limits, stop);
        let mut entries = Vec::with_capacity(found.len());
        for one in found {
            if stop.is_stopped() {
                return Err(SnapshotError::Stopped);
            }
            entries.extend(keeping.entry(root, one)?);
        }
        let tree = keeping.commit(root, &mut entries)?;
        let now = Manifest {
            entries,
            tree,
            tracked,
            index,
        };
        if now != *known {
            let kept = private::replace(&self.manifest_path(), now.encode());
            kept.map_err(|error| SnapshotError::io("writing", &self.manifest_path(), &error))?;
        }
        Ok(now)
    }

    /// Files that the person's repository tracks, as of its index. Read anew only when that has changed.
    fn tracked(&self, root: &Path, known: &Manifest, stop: &Stop) -> Result<(Vec<PathBuf>, Marks), SnapshotError> {
        let Some(index) = index_of(root) else {
            return Ok((Vec::new(), Marks::default()));
        };
        if index == known.index {
            return Ok((known.tracked.clone(), index));
        }
        match git::tracked(root, &self.env, stop) {
            Ok(tracked) => Ok((tracked, index)),
            Err(GitError::Stopped) => Err(SnapshotError::Stopped),
            // Git may not want to read a repository of somebody else: then its ignore files decide alone.
            Err(error) => {
                tracing::debug!(root = %root.display(), %error, "the tracked files are not known");
                Ok((Vec::new(), index))
            }
        }
    }

    fn manifest_path(&self) -> PathBuf {
        self.repository.folder().join("manifest")
    }

    fn last(&self) -> Manifest {
        let bytes = std::fs::read(self.manifest_path()).unwrap_or_default();
        Manifest::decode(&bytes).unwrap_or_default()
    }

    fn lock(&self, stop: &Stop) -> Result<Lock, SnapshotError> {
        let path = self.repository.folder().join("lock");
        let failed = |error: io::Error| SnapshotError::io("locking", &path, &error);
        let file = private::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock(file)),
                Err(TryLockError::WouldBlock) if stop.is_stopped() => return Err(SnapshotError::Stopped),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// The contents of these names, each handed to `take` in pieces, then its end as `None`. False for one that is not
    /// kept any more.
    pub(super) fn read(
        &self,
        oids: &[Oid],
        stop: &Stop,
        mut take: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<Vec<bool>, GitError> {
        let mut run = self.repository.start(&["cat-file", "--batch"], stop)?;
        let mut found = Vec::with_capacity(oids.len());
        for (at, oid) in oids.iter().enumerate() {
            run.write(format!("{}\n", oid.hex()).as_bytes())?;
            run.flush()?;
            let head = run.read_line()?;
            let size = head
                .rsplit_once(' ')
                .filter(|_| head.contains(" blob "))
                .and_then(|(_, size)| size.parse().ok());
            found.push(size.is_some());
            if let Some(size) = size {
                run.read_bytes(size, |bytes| take(at, Some(bytes)))?;
                run.read_bytes(1, |_line_end| {})?;
                take(at, None);
            }
        }
        run.finish()?;
        Ok(found)
    }

    /// Gives up old snapshots, if it is time to look for them.
    pub(super) fn prune(&self, stop: &Stop) -> Result<(), SnapshotError> {
        let mark = self.repository.folder().join("pruned");
        let last = std::fs::metadata(&mark).and_then(|meta| meta.modified()).ok();
        if last.is_some_and(|last| last.elapsed().is_ok_and(|age| age < PRUNE_EVERY)) {
            return Ok(());
        }
        let _lock = self.lock(stop)?;
        let failed = |error: io::Error| SnapshotError::io("tidying", self.repository.folder(), &error);
        private::write(&mark, "").map_err(failed)?;
        let folder = self.repository.folder().join(NAMES);
        let mut names: Vec<(u64, PathBuf)> = std::fs::read_dir(&folder)
            .map_err(failed)?
            .flatten()
            .filter_map(|entry| Some((birth(&entry.file_name().to_string_lossy())?, entry.path())))
            .collect();
        names.sort();
        let kept = match size(self.repository.folder()) > MOST_BYTES {
            true => KEPT_WHEN_FULL,
            false => MOST_KEPT,
        };
        let old = too_old(
            &names.iter().map(|(birth, _)| *birth).collect::<Vec<_>>(),
            millis_now(),
            kept,
        );
        if old < PRUNED_TOGETHER.min(kept) {
            return Ok(());
        }
        for (_, name) in &names[..old] {
            std::fs::remove_file(name).map_err(failed)?;
        }
        let run = self.repository.start(&["gc", "--prune=now", "--quiet"], stop)?;
        run.finish()?;
        Ok(())
    }
}

/// How many of the oldest snapshots may go. One lasts as long as the one that came after it, since it was the state until
/// then.
fn too_old(births: &[u64], now: u64, kept: usize) -> usize {
    let limit = now.saturating_sub(u64::try_from(MOST_AGE.as_millis()).unwrap_or(u64::MAX));
    let aged = births.iter().skip(1).take_while(|birth| **birth < limit).count();
    aged.max(births.len().saturating_sub(kept))
        .min(births.len().saturating_sub(1))
}

/// Where snapshots have their names, below the repository's folder.
const NAMES: &str = "refs/snapshots";

/// A name that sorts by its time of birth and that nobody else gives.
fn fresh_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{:013}-{}-{count}", millis_now(), std::process::id())
}

fn birth(name: &str) -> Option<u64> {
    name.split('-').next()?.parse().ok()
}

fn millis_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn nanos_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Bytes of the files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// The marks of the index of the repository that a folder is in, if it is in one.
fn index_of(root: &Path) -> Option<Marks> {
    let top = root.ancestors().find(|folder| folder.join(".git").exists())?;
    let git = top.join(".git");
    let folder = match crate::regular::read_to_string(&git) {
        // A work tree or a submodule: the repository is elsewhere.
        Ok(text) => top.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let meta = std::fs::metadata(folder.join("index")).ok()?;
    Some(walk::marks(&meta).1)
}

/// A content that is to be kept: already known by name, or by its number in this import.
#[derive(Clone, Copy)]
enum Source {
    Known(Oid),
    Mark(usize),
}

/// One look's work of keeping what is new.
struct Keeping<'a> {
    store: &'a Store,
    known: &'a Manifest,
    limits: &'a Limits,
    stop: &'a Stop,
    /// Started with the first content that is new.
    import: Option<OwnRun>,
    /// Contents of this import: how many, and whose entries they are.
    marked: Vec<PathBuf>,
    bytes: u64,
}

impl<'a> Keeping<'a> {
    fn new(store: &'a Store, known: &'a Manifest, limits: &'a Limits, stop: &'a Stop) -> Self {
        Self {
            store,
            known,
            limits,
            stop,
            import: None,
            marked: Vec::new(),
            bytes: 0,
        }
    }

    /// The entry of something found; its content is read only if its marks are new. Nothing if it is gone meanwhile.
    fn entry(&mut self, root: &Path, found: Found) -> Result<Option<Entry>, SnapshotError> {
        let Found {
            path,
            kind,
            mode,
            marks,
        } = found;
        let mut entry = Entry {
            path,
            kind,
            mode,
            marks,
            fresh: false,
            digest: [0; 16],
            oid: Oid::default(),
        };
        if kind == Kind::Folder {
            // Its time stamps change with what is ignored in it.
            entry.marks = Marks::default();
            return Ok(Some(entry));
        }
        let known = self.known.find(&entry.path);
        if let Some(known) = known.filter(|known| known.marks == marks && !known.fresh && is_kind(known.kind, kind)) {
            entry.kind = known.kind;
            entry.digest = known.digest;
            entry.oid = known.oid;
            return Ok(Some(entry));
        }
        let whole = root.join(&entry.path);
        let content = match kind {
            Kind::Link => match read_link_unlinked(&whole) {
                Ok(target) => target.into_os_string().into_encoded_bytes(),
                Err(_) => return Ok(None),
            },
            _ if marks.size > self.limits.file_bytes => {
                entry.kind = Kind::Unkept;
                return Ok(Some(entry));
            }
            _ => match read(&whole, self.limits.file_bytes) {
                Ok(Some(content)) => content,
                Ok(None) => {
                    entry.kind = Kind::Unkept;
                    return Ok(Some(entry));
                }
                // Also where a folder on the way is a link by now: nothing of the workspace is there.
                Err(error) if is_gone(&error) => return Ok(None),
                Err(_) => {
                    entry.kind = Kind::Unkept;
                    return Ok(Some(entry));
                }
            },
        };
        entry.fresh = is_fresh(&marks, nanos_now());
        entry.digest = digest(&content);
        match known.filter(|known| known.kind == kind && known.digest == entry.digest && known.marks.size == marks.size)
        {
            Some(known) => entry.oid = known.oid,
            None => self.keep(&entry.path, &content)?,
        }
        Ok(Some(entry))
    }

    fn import(&mut self) -> Result<&mut OwnRun, SnapshotError> {
        if self.import.is_none() {
            let run = self.store.repository.start(
                &["fast-import", "--quiet", "--done", "--force", "--export-marks=marks"],
                self.stop,
            )?;
            self.import = Some(run);
        }
        Ok(self.import.as_mut().expect("just started"))
    }

    fn keep(&mut self, path: &Path, content: &[u8]) -> Result<(), SnapshotError> {
        self.bytes += content.len() as u64;
        if self.bytes > self.limits.new_bytes {
            return Err(SnapshotError::TooLarge {
                most: self.limits.new_bytes,
            });
        }
        self.marked.push(path.to_owned());
        let mark = self.marked.len();
        let import = self.import()?;
        import.write(format!("blob\nmark :{mark}\ndata {}\n", content.len()).as_bytes())?;
        import.write(content)?;
        import.write(b"\n")?;
        Ok(())
    }

    /// Keeps the whole as a commit that nothing but its own name leads to, and fills in the names of the new contents.
    /// Gives the tree.
    fn commit(mut self, root: &Path, entries: &mut [Entry]) -> Result<Option<Oid>, SnapshotError> {
        let changes = self.changes(entries);
        if changes.is_empty() {
            return Ok(self.known.tree);
        }
        let name = fresh_name();
        let message = format!("What {} held", root.display());
        let mark = self.marked.len() + 1;
        let mut text = format!(
            "commit {NAMES}/{name}\nmark :{mark}\ncommitter Countersign <countersign@localhost> {} +0000\ndata {}\n{message}\n",
            millis_now() / 1000,
            message.len()
        )
        .into_bytes();
        if let Some(tree) = self.known.tree {
            text.extend(format!("M 040000 {} \"\"\n", tree.hex()).into_bytes());
        }
        text.extend(changes);
        text.extend(format!("\nls :{mark} \"\"\ndone\n").into_bytes());
        self.import()?.write(&text)?;
        let import = self.import.take().expect("just written to");
        let answer = import.finish()?;
        let tree = String::from_utf8_lossy(&answer)
            .split_whitespace()
            .nth(2)
            .and_then(Oid::parse)
            .ok_or_else(|| SnapshotError::Git {
                message: "git fast-import did not name the tree".to_owned(),
            })?;
        self.fill_in(entries)?;
        Ok(Some(tree))
    }

    /// What makes the last tree this one, as fast-import reads it.
    fn changes(&self, entries: &[Entry]) -> Vec<u8> {
        let mut sources = std::collections::HashMap::with_capacity(self.marked.len());
        for (at, path) in self.marked.iter().enumerate() {
            sources.insert(path.as_path(), Source::Mark(at + 1));
        }
        let (mut gone, mut there) = (Vec::new(), Vec::new());
        let mut old = self.known.entries.iter().filter(|entry| is_kept(entry)).peekable();
        for entry in entries.iter().filter(|entry| is_kept(entry)) {
            while let Some(before) = old.next_if(|before| before.path < entry.path) {
                remove(&mut gone, &before.path);
            }
            let before = old.next_if(|before| before.path == entry.path);
            let source = sources
                .get(entry.path.as_path())
                .copied()
                .unwrap_or(Source::Known(entry.oid));
            let same = before.is_some_and(|before| {
                matches!(source, Source::Known(oid) if oid == before.oid) && tree_mode(before) == tree_mode(entry)
            });
            if same {
                continue;
            }
            let source = match source {
                Source::Known(oid) => oid.hex(),
                Source::Mark(mark) => format!(":{mark}"),
            };
            there.extend(format!("M {} {source} ", tree_mode(entry)).into_bytes());
            quote(&mut there, &entry.path);
            there.push(b'\n');
        }
        old.for_each(|before| remove(&mut gone, &before.path));
        // First what goes: a folder may take the place of a file, or a file that of a folder.
        gone.extend(there);
        gone
    }

    fn fill_in(&self, entries: &mut [Entry]) -> Result<(), SnapshotError> {
        if self.marked.is_empty() {
            return Ok(());
        }
        let path = self.store.repository.folder().join("marks");
        let marks = std::fs::read_to_string(&path).map_err(|error| SnapshotError::io("reading", &path, &error))?;
        let _gone = std::fs::remove_file(&path);
        let mut named = 0;
        for line in marks.lines() {
            let Some((mark, oid)) = line.strip_prefix(':').and_then(|line| line.split_once(' ')) else {
                continue;
            };
            let Some(path) = mark
                .parse()
                .ok()
                .and_then(|mark: usize| self.marked.get(mark.checked_sub(1)?))
            else {
                continue;
            };
            let at = entries.binary_search_by(|entry| entry.path.cmp(path));
            if let (Ok(at), Some(oid)) = (at, Oid::parse(oid)) {
                entries[at].oid = oid;
                named += 1;
            }
        }
        if named == self.marked.len() {
            return Ok(());
        }
        Err(SnapshotError::Git {
            message: "git fast-import did not name all contents".to_owned(),
        })
    }
}

fn is_kind(known: Kind, found: Kind) -> bool {
    known == found || (known == Kind::Unkept && found == Kind::File)
}

fn is_kept(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::File | Kind::Link)
}

fn tree_mode(entry: &Entry) -> &'static str {
    match entry.kind {
        Kind::Link => "120000",
        _ if entry.mode & 0o100 != 0 => "100755",
        _ => "100644",
    }
}

fn remove(text: &mut Vec<u8>, path: &Path) {
    text.extend(b"D ");
    quote(text, path);
    text.push(b'\n');
}

/// A path as fast-import reads any name.
fn quote(text: &mut Vec<u8>, path: &Path) {
    text.push(b'"');
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', byte]),
            0x20..0x7f => text.push(byte),
            _ => text.extend(format!("\\{byte:03o}").into_bytes()),
        }
    }
    text.push(b'"');
}

fn is_fresh(marks: &Marks, now: i64) -> bool {
    let last = marks.modified.max(marks.changed);
    let coarse = marks.modified % 1_000_000_000 == 0 && marks.changed % 1_000_000_000 == 0;
    now.saturating_sub(last) < if coarse { FRESH_COARSE } else { FRESH }
}

fn digest(content: &[u8]) -> [u8; 16] {
    use sha2::Digest as _;
    let whole: [u8; 32] = sha2::Sha256::digest(content).into();
    let mut first = [0; 16];
    first.copy_from_slice(&whole[..16]);
    first
}

/// The content of a regular file; nothing if it is too large. Never waits for a pipe and never follows a link that has
/// taken its place, or that of a folder around it.
fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = open_unlinked(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    let mut content = Vec::with_capacity(usize::try_from(meta.len().min(most)).unwrap_or_default() + 1);
    file.take(most + 1).read_to_end(&mut content)?;
    Ok(Some(content).filter(|content| content.len() as u64 <= most))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A folder that becomes a link between the look and the reading leads nowhere.
    #[test]
    fn no_folder_that_became_a_link_is_gone_through() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        for name in ["kept", "elsewhere"] {
            std::fs::create_dir(root.join(name)).expect("mkdir");
            std::fs::write(root.join(name).join("f"), name).expect("write");
            std::os::unix::fs::symlink("f", root.join(name).join("l")).expect("symlink");
        }
        let content = read(&root.join("kept/f"), 100).expect("read");
        assert_eq!(content.as_deref(), Some(&b"kept"[..]));
        assert_eq!(read(&root.join("kept/f"), 3).expect("read"), None);
        assert_eq!(read_link_unlinked(&root.join("kept/l")).expect("read"), Path::new("f"));
        std::fs::rename(root.join("kept"), root.join("moved")).expect("rename");
        std::os::unix::fs::symlink("elsewhere", root.join("kept")).expect("symlink");
        for name in ["kept/f", "kept/l"] {
            let error = read(&root.join(name), 100).expect_err(name);
            assert!(is_gone(&error), "{name}: {error}");
        }
        assert!(read_link_unlinked(&root.join("kept/l")).is_err());
    }
}
