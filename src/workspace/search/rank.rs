//! How well a path fits what was typed, and the best of many.

use super::tree::Name;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A path that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The folder that was searched.
    pub root: PathBuf,
    /// Below it, with `/` between names.
    pub path: String,
    pub is_dir: bool,
    /// The higher, the better it fits.
    pub score: u32,
    /// Which characters of `path` fit, counted in Unicode scalar values from 0; rising.
    pub indices: Vec<u32>,
}

/// The best so far. Better is greater.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    score: u32,
    /// Of two that fit as well, the shorter one; then by name.
    length: Reverse<usize>,
    path: Reverse<Box<str>>,
    root: Reverse<usize>,
    is_dir: bool,
}

/// The best of all names that were looked at, from any number of threads.
pub(super) struct Best {
    /// One a word of the query; absent where there is none.
    pattern: Option<Pattern>,
    limit: usize,
    ranked: Mutex<BinaryHeap<Reverse<Ranked>>>,
    /// The score that a name must reach to be among the best.
    floor: AtomicU32,
    total: AtomicUsize,
    changes: AtomicUsize,
}

/// Looks at names for one thread.
pub(super) struct Judge<'a> {
    best: &'a Best,
    matcher: Matcher,
    buffer: Vec<char>,
}

fn matcher() -> Matcher {
    Matcher::new(Config::DEFAULT.match_paths())
}

impl Best {
    /// Words of the query are found in any order; capital letters count where there are any.
    pub(super) fn new(query: &str, limit: usize) -> Self {
        let query = query.trim();
        let words = || Pattern::new(query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
        Self {
            pattern: (!query.is_empty()).then(words),
            limit,
            ranked: Mutex::default(),
            floor: AtomicU32::new(0),
            total: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
        }
    }

    pub(super) fn judge(&self) -> Judge<'_> {
        Judge {
            best: self,
            matcher: matcher(),
            buffer: Vec::new(),
        }
    }

    fn ranked(&self) -> MutexGuard<'_, BinaryHeap<Reverse<Ranked>>> {
        self.ranked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, ranked: Ranked) {
        let mut best = self.ranked();
        if best.len() >= self.limit {
            if best.peek().is_some_and(|Reverse(worst)| *worst >= ranked) {
                return;
            }
            best.pop();
        }
        best.push(Reverse(ranked));
        if best.len() >= self.limit
            && let Some(Reverse(worst)) = best.peek()
        {
            self.floor.store(worst.score, Ordering::Relaxed);
        }
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn changes(&self) -> usize {
        self.changes.load(Ordering::Relaxed)
    }

    /// The best first, and how many fit in all.
    pub(super) fn files(&self, roots: &[&Path]) -> (Vec<Match>, usize) {
        let Some(pattern) = &self.pattern else {
            return (Vec::new(), 0);
        };
        let mut matcher = matcher();
        let mut buffer = Vec::new();
        let best = self.ranked();
        let mut ranked: Vec<&Ranked> = best.iter().map(|Reverse(ranked)| ranked).collect();
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        let found = |ranked: &Ranked| {
            let path = &ranked.path.0;
            let mut indices = Vec::new();
            let _score = pattern.indices(Utf32Str::new(path, &mut buffer), &mut matcher, &mut indices);
            indices.sort_unstable();
            indices.dedup();
            Match {
                root: roots[ranked.root.0].to_owned(),
                path: path.to_string(),
                is_dir: ranked.is_dir,
                score: ranked.score,
                indices,
            }
        };
        let files = ranked.into_iter().map(found).collect();
        (files, self.total.load(Ordering::Relaxed))
    }
}

impl Judge<'_> {
    pub(super) fn look(&mut self, root: usize, name: &Name) {
        let Some(pattern) = &self.best.pattern else { return };
        let Some(score) = pattern.score(Utf32Str::new(&name.path, &mut self.buffer), &mut self.matcher) else {
            return;
        };
        self.best.total.fetch_add(1, Ordering::Relaxed);
        if score >= self.best.floor.load(Ordering::Relaxed) {
            self.best.take(Ranked {
                score,
                length: Reverse(name.path.len()),
                path: Reverse(name.path.clone()),
                root: Reverse(root),
                is_dir: name.is_dir,
            });
        }
    }
}
