//! Finding files by a few letters of their paths, while a person types.
//!
//! The names below a folder are walked once and kept for a while ([`tree`]); before each search the folders are looked at
//! again, so that what was made or moved since is found. A search reads names as the walk brings them, keeps the best
//! ([`rank`]), and can be asked for what it has at any moment.

mod rank;
mod tokens;
mod tree;

pub use rank::Match;
pub use tokens::{Claim, Tokens};

use rank::Best;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tree::Tree;

/// How long the names of a folder are kept after the last search in it.
pub const KEPT: Duration = Duration::from_secs(120);
/// Files that are told where nothing is said.
pub const USUAL_LIMIT: usize = 50;
/// Most that can be asked for.
pub const MOST: usize = 1000;

/// The names of folders that were searched lately; cheap to clone.
#[derive(Clone, Default)]
pub struct Searcher(Arc<Mutex<HashMap<PathBuf, Kept>>>);

struct Kept {
    tree: Arc<Tree>,
    used: Instant,
}

/// One search, while it runs and after.
pub struct Search {
    best: Best,
    trees: Vec<Arc<Tree>>,
    stop: CancellationToken,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The best first.
    pub files: Vec<Match>,
    /// How many match, told or not.
    pub total: usize,
    /// It looked at everything: it was not stopped, and no folder was too large.
    pub complete: bool,
}

impl Searcher {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prepares a search in these folders, which are absolute; one inside another is searched with it. Looks at the disk.
    pub fn search(&self, query: &str, roots: &[PathBuf], limit: usize, stop: CancellationToken) -> Search {
        let mut roots = roots.to_vec();
        roots.sort();
        roots.dedup_by(|inner, outer| inner.starts_with(&*outer));
        let trees = if query.trim().is_empty() {
            Vec::new()
        } else {
            roots.iter().map(|root| self.tree(root)).collect()
        };
        Search {
            best: Best::new(query, limit.clamp(1, MOST)),
            trees,
            stop,
        }
    }

    fn tree(&self, root: &Path) -> Arc<Tree> {
        let known = self.lock().get(root).map(|kept| kept.tree.clone());
        let tree = match known {
            Some(tree) if tree.is_current() => tree,
            _ => Tree::walk(root),
        };
        let kept = Kept {
            tree: tree.clone(),
            used: Instant::now(),
        };
        self.lock().insert(root.to_owned(), kept);
        tree
    }

    /// Forgets the names of folders in which nothing was searched for `age`.
    pub fn forget(&self, age: Duration) {
        self.lock().retain(|_, kept| kept.used.elapsed() < age);
    }
}

impl Search {
    /// Looks at every name. Blocks until all are seen or the search is stopped.
    pub fn run(&self) -> Found {
        for (index, tree) in self.trees.iter().enumerate() {
            let next = AtomicUsize::new(0);
            let work = || {
                let mut judge = self.best.judge();
                while let Some(names) = tree.names(next.fetch_add(1, Ordering::Relaxed), &self.stop) {
                    for name in names.iter() {
                        judge.look(index, name);
                    }
                }
            };
            std::thread::scope(|scope| {
                for _ in 1..tree::threads() {
                    scope.spawn(work);
                }
                work();
            });
        }
        let whole = !self.stop.is_cancelled() && self.trees.iter().all(|tree| tree.is_whole());
        Found {
            complete: whole,
            ..self.so_far()
        }
    }

    /// The best of what was seen so far.
    pub fn so_far(&self) -> Found {
        let roots: Vec<&Path> = self.trees.iter().map(|tree| tree.root()).collect();
        let (files, total) = self.best.files(&roots);
        Found {
            files,
            total,
            complete: false,
        }
    }

    /// How often the best have changed.
    pub fn changes(&self) -> usize {
        self.best.changes()
    }
}

#[cfg(test)]
mod tests;
