//! The names below a folder: walked by threads of its own, readable while they come, and checked against the disk later.

use crate::workspace::walk;
use ignore::{DirEntry, WalkState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio_util::sync::CancellationToken;

/// Names that are handed on together.
const CHUNK: usize = 1024;
/// The first of each thread: something to see soon.
const FIRST_CHUNK: usize = 32;
/// Most names of one folder. A disk with more is searched as far as this.
const MOST_NAMES: usize = 1_000_000;
/// A folder that changed less than this before it was read may change again without a newer time.
const SETTLED: Duration = Duration::from_millis(50);
/// Between two looks whether a search that waits for names was stopped.
const PATIENCE: Duration = Duration::from_millis(5);

/// Threads that walk, and that look at names.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(4)
}

pub(super) struct Name {
    /// Below the root, with `/` between names.
    pub(super) path: Box<str>,
    pub(super) is_dir: bool,
}

pub(super) struct Tree {
    root: PathBuf,
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    chunks: Vec<Arc<[Name]>>,
    count: usize,
    /// What the names depend on.
    seen: Vec<(PathBuf, Stamp)>,
    done: bool,
    /// There are more names than are kept.
    cut: bool,
}

/// When something was changed last; `None` where nothing is there.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp(Option<SystemTime>);

impl Stamp {
    fn of(path: &Path) -> Self {
        Self(std::fs::symlink_metadata(path).and_then(|meta| meta.modified()).ok())
    }

    /// Whether a change from now on would give it another time.
    fn is_settled(self, now: SystemTime) -> bool {
        self.0
            .is_none_or(|time| now.duration_since(time).is_ok_and(|age| age > SETTLED))
    }
}

/// What one thread of the walk has found and not handed on.
struct Gathering<'a> {
    tree: &'a Tree,
    names: Vec<Name>,
    seen: Vec<(PathBuf, Stamp)>,
    room: usize,
}

impl Tree {
    /// Begins to walk.
    pub(super) fn walk(root: &Path) -> Arc<Self> {
        let tree = Arc::new(Self {
            root: root.to_owned(),
            state: Mutex::default(),
            more: Condvar::new(),
        });
        let walking = Arc::downgrade(&tree);
        let root = root.to_owned();
        let started = std::thread::Builder::new()
            .name("file names".to_owned())
            .spawn(move || {
                if let Some(tree) = walking.upgrade() {
                    tree.read(&root);
                    tree.finish();
                }
            });
        if let Err(error) = started {
            tracing::warn!(%error, "no thread to walk a folder with");
            tree.finish();
        }
        tree
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn read(&self, root: &Path) {
        let above = root.ancestors().skip(1).flat_map(rules_in);
        let global = ignore::gitignore::gitconfig_excludes_path();
        let own = root.join(".git/info/exclude");
        let seen = above.chain(global).chain([own]).map(|path| {
            let stamp = Stamp::of(&path);
            (path, stamp)
        });
        let seen: Vec<_> = seen.collect();
        self.state().seen.extend(seen);
        walk::builder(root).threads(threads()).build_parallel().run(|| {
            let mut gathering = Gathering {
                tree: self,
                names: Vec::new(),
                seen: Vec::new(),
                room: FIRST_CHUNK,
            };
            Box::new(move |entry| match entry {
                Ok(entry) => gathering.take(&entry),
                Err(_) => WalkState::Continue,
            })
        });
    }

    fn finish(&self) {
        self.state().done = true;
        self.more.notify_all();
    }

    /// A part of the names, by its number. Waits for the walk; `None` where there is no such part, or the search is stopped.
    pub(super) fn names(&self, number: usize, stop: &CancellationToken) -> Option<Arc<[Name]>> {
        let mut state = self.state();
        loop {
            if stop.is_cancelled() {
                return None;
            }
            if let Some(chunk) = state.chunks.get(number) {
                return Some(chunk.clone());
            }
            if state.done {
                return None;
            }
            let waited = self.more.wait_timeout(state, PATIENCE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether every name is kept.
    pub(super) fn is_whole(&self) -> bool {
        let state = self.state();
        state.done && !state.cut
    }

    /// Whether the disk is as it was when the names were read. A walk that is under way is as new as can be.
    pub(super) fn is_current(&self) -> bool {
        let state = self.state();
        if !state.done {
            return true;
        }
        let seen = &state.seen;
        let changed = AtomicBool::new(false);
        let part = seen.len().div_ceil(threads()).max(256);
        std::thread::scope(|scope| {
            let mut parts = seen.chunks(part);
            let first = parts.next();
            for part in parts {
                let changed = &changed;
                scope.spawn(move || compare(part, changed));
            }
            compare(first.unwrap_or_default(), &changed);
        });
        !changed.into_inner()
    }
}

fn compare(seen: &[(PathBuf, Stamp)], changed: &AtomicBool) {
    for (path, stamp) in seen {
        if changed.load(Ordering::Relaxed) {
            return;
        }
        if Stamp::of(path) != *stamp {
            changed.store(true, Ordering::Relaxed);
        }
    }
}

/// The files that say what is left out below a folder.
fn rules_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    walk::RULES.iter().map(move |name| folder.join(name))
}

impl Gathering<'_> {
    fn take(&mut self, entry: &DirEntry) -> WalkState {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        if is_dir {
            // Before the folder is read: what changes from here on gives it another time.
            self.look(entry.path());
        }
        if entry.depth() == 0 {
            return WalkState::Continue;
        }
        let below = entry.path().strip_prefix(&self.tree.root).unwrap_or(entry.path());
        let path = below.to_string_lossy();
        #[cfg(windows)]
        let path = path.replace('\\', "/");
        self.names.push(Name {
            path: path.into(),
            is_dir,
        });
        match self.names.len() < self.room || self.hand_on() {
            true => WalkState::Continue,
            false => WalkState::Quit,
        }
    }

    fn look(&mut self, folder: &Path) {
        let stamp = Stamp::of(folder);
        if stamp.is_settled(SystemTime::now()) {
            self.seen.push((folder.to_owned(), stamp));
        } else {
            // No time is ever like this one.
            self.seen.push((folder.to_owned(), Stamp(Some(SystemTime::UNIX_EPOCH))));
        }
        for rules in rules_in(folder) {
            let stamp = Stamp::of(&rules);
            if stamp.0.is_some() {
                self.seen.push((rules, stamp));
            }
        }
    }

    /// False if there is no room for more names.
    fn hand_on(&mut self) -> bool {
        self.room = CHUNK;
        let names = std::mem::take(&mut self.names);
        let mut state = self.tree.state();
        state.seen.append(&mut self.seen);
        if !names.is_empty() {
            state.count += names.len();
            state.chunks.push(names.into());
        }
        state.cut |= state.count >= MOST_NAMES;
        let go_on = !state.cut;
        drop(state);
        self.tree.more.notify_all();
        go_on
    }
}

impl Drop for Gathering<'_> {
    fn drop(&mut self) {
        self.hand_on();
    }
}
