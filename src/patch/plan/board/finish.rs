//! The plan that the board comes to, once every section fits.

use super::super::{FilePlan, Plan, file_plan, whole_hunk};
use super::{Board, Entry, Held, State};
use crate::patch::files::Whole;
use crate::patch::plan::error::PlanError;
use crate::protocol::item::FileChangeKind;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

impl Board<'_> {
    pub(in crate::patch::plan) fn finish(mut self) -> Result<Plan, PlanError> {
        self.check_folders()?;
        // A move is planned at its source, if the source is gone and nothing was at the target.
        let mut target_of: HashMap<usize, usize> = HashMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            if let Some(from) = entry.now.moved_from
                && entry.original.is_none()
                && entry.now.held.is_some()
                && self.entries[from].now.held.is_none()
            {
                target_of.entry(from).or_insert(index);
            }
        }
        // What only remembers the past would make copies of the texts necessary.
        self.entries.iter_mut().for_each(|entry| entry.base = None);
        let mut plans = Vec::with_capacity(self.entries.len());
        for index in 0..self.entries.len() {
            let moved_here = self.entries[index]
                .now
                .moved_from
                .is_some_and(|from| target_of.get(&from) == Some(&index));
            if moved_here {
                continue;
            }
            let target = target_of.get(&index).copied();
            if let Some(whole) = self.as_it_is(index, target)? {
                plans.extend(whole);
                continue;
            }
            let (path, before) = (self.entries[index].path.clone(), self.entries[index].original.take());
            let last = &mut self.entries[target.unwrap_or(index)];
            let (after, replaced) = (last.now.held.take(), last.replaced.take());
            let move_path = target.map(|_| last.path.clone());
            let mode = last.now.executable.filter(|_| after.is_some()).and_then(|runs| {
                let now = before.as_ref().and_then(|_| self.files.mode(&path));
                mode(now, before.is_some(), runs)
            });
            let (before, after) = (before.and_then(Held::text), after.and_then(Held::text));
            plans.extend(file_plan(path, before, after, replaced, move_path, mode));
        }
        Ok(Plan { files: plans })
    }

    /// The plan of what is deleted or moved as it is (none if it stays); nothing for a text. `target` is where it moves.
    fn as_it_is(&self, index: usize, target: Option<usize>) -> Result<Option<Option<FilePlan>>, PlanError> {
        let entry = &self.entries[index];
        let (before, now) = (entry.original.as_ref(), &self.entries[target.unwrap_or(index)].now);
        let whole = match (before.and_then(Held::whole), now.whole()) {
            (None, Some(other)) => return Err(self.only_as_it_is(index, other)),
            (None, None) => match self.shown_otherwise(index, target)? {
                Some(whole) => Rc::new(whole),
                None => return Ok(None),
            },
            (Some(whole), Some(same)) if target.is_none() && Rc::ptr_eq(whole, same) => return Ok(Some(None)),
            (Some(whole), Some(same)) if target.is_some() && Rc::ptr_eq(whole, same) => whole.clone(),
            (Some(whole), None) if now.held.is_none() => whole.clone(),
            (Some(whole), _) => return Err(self.only_as_it_is(index, whole)),
        };
        let move_path = target.map(|target| self.entries[target].path.clone());
        let plan = FilePlan {
            path: entry.path.clone(),
            kind: match move_path {
                Some(_) => FileChangeKind::Update { move_path },
                None => FileChangeKind::Delete,
            },
            before: None,
            after: None,
            whole: Some(Whole::clone(&whole)),
            hunks: vec![whole_hunk("", "")],
            mode: None,
            folders: Vec::new(),
        };
        Ok(Some(Some(plan)))
    }

    fn only_as_it_is(&self, index: usize, whole: &Whole) -> PlanError {
        PlanError::AsItIs {
            path: self.entries[index].path.clone(),
            whole: whole.clone(),
        }
    }

    /// An editor shows bytes of another encoding as text. What it does not change is deleted or moved as it is, so that it
    /// can come back byte for byte.
    fn shown_otherwise(&self, index: usize, target: Option<usize>) -> Result<Option<Whole>, PlanError> {
        let entry = &self.entries[index];
        let Some(Held::Text(before)) = &entry.original else {
            return Ok(None);
        };
        let stays = match (target.map(|target| &self.entries[target].now), &entry.now.held) {
            (None, None) => true,
            (
                Some(State {
                    held: Some(Held::Text(after)),
                    executable: None,
                    ..
                }),
                _,
            ) => before == after,
            _ => false,
        };
        if !stays || !self.files.is_open(&entry.path) {
            return Ok(None);
        }
        let path = entry.path.clone();
        self.files
            .whole(&path)
            .map_err(|source| PlanError::Read { path, source })
    }

    /// No file may be in the place of a folder that another one needs.
    fn check_folders(&self) -> Result<(), PlanError> {
        let present: HashMap<&Path, &Entry> = self
            .entries
            .iter()
            .filter(|entry| entry.now.held.is_some())
            .map(|entry| (entry.path.as_path(), entry))
            .collect();
        for path in present.keys() {
            if let Some(above) = path.ancestors().skip(1).find(|above| present.contains_key(above)) {
                return Err(PlanError::FileAndFolder {
                    path: above.to_owned(),
                    below: path.to_path_buf(),
                });
            }
        }
        Ok(())
    }
}

/// The permission bits of a file that shall be executable, or not, by those who may read it; nothing if it is so.
fn mode(now: Option<u32>, is_there: bool, executable: bool) -> Option<u32> {
    match (now, executable) {
        (Some(now), _) if (now & 0o100 != 0) == executable => None,
        (Some(now), true) => Some(now | (now & 0o444) >> 2),
        (Some(now), false) => Some(now & !0o111),
        (None, true) => Some(0o755),
        (None, false) => is_there.then_some(0o644),
    }
}
