//! Telling the asker which entries a command writes, each once and before it is written.

use super::Post;
use super::later::{Heard, Kept};
use super::names::Names;
use crate::exec::role::Report;
use crate::exec::wrote::{MOST, mark};
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What was told of one command.
pub(super) struct Telling<'a> {
    roots: &'a [PathBuf],
    post: &'a Post<'a>,
    told: RefCell<HashSet<u64>>,
}

impl<'a> Telling<'a> {
    /// Begins to tell, where calls that write are asked about.
    pub(super) fn begin(kept: Option<Kept<'a>>, post: &'a Post<'a>) -> Self {
        if kept.is_some() {
            post.send(&Report::Naming);
        }
        Self {
            roots: kept.map(|kept| kept.roots).unwrap_or_default(),
            post,
            told: RefCell::default(),
        }
    }

    fn tell(&self, place: &Path, whole: bool) {
        // What git keeps is no part of what can be taken back, and there is much of it.
        let is_in_git = place.iter().any(|part| part == ".git");
        if is_in_git || !self.roots.iter().any(|root| place.starts_with(root)) {
            return;
        }
        let (mark, mut told) = (mark(place, whole), self.told.borrow_mut());
        if told.len() > MOST || !told.insert(mark) {
            return;
        }
        self.post.send(&match told.len() > MOST {
            true => Report::WroteUnnamed,
            false => Report::Wrote { mark },
        });
    }
}

/// Who hears of calls that may be carried out.
pub(super) struct Hearing<'h, 'a> {
    pub names: &'h RefCell<Names>,
    pub telling: &'h Telling<'a>,
}

impl Heard for Hearing<'_, '_> {
    fn moved(&mut self, place: Option<&Path>) {
        self.names.borrow_mut().moves.note(place);
    }

    fn wrote(&mut self, place: &Path, whole: bool) {
        self.telling.tell(place, whole);
    }

    fn wrote_unseen(&mut self) {
        self.telling.post.send(&Report::WroteUnnamed);
    }
}
