//! A patch and a snapshot of the files to a plan: every file's text before and after, and the hunks between.
//!
//! Nothing is planned unless everything fits. A file that the patch names twice is seen by the second section as the
//! first one left it, and becomes one file of the plan.

pub mod error;

use super::files::{Files, absolute};
use super::hunk::{PlannedHunk, hunks, hunks_within, with_hunks};
use super::lines::{BOM, Lines};
use super::parse::{Patch, Section};
use super::update::update;
use crate::protocol::item::FileChangeKind;
use error::PlanError;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What a patch would do to each file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// In the order in which the patch first names them; each path at most once, also counting where files move to.
    pub files: Vec<FilePlan>,
}

/// What a patch would do to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlan {
    /// Absolute and lexically clean; for a move, where the file is now.
    pub path: PathBuf,
    pub kind: FileChangeKind,
    /// The text now; `None` for a new file.
    pub before: Option<String>,
    /// The text if every hunk is taken; `None` for a deleted file.
    pub after: Option<String>,
    /// Empty only if nothing changes. A file that is made, deleted, or moved as it is has exactly one, even if that
    /// changes no line.
    pub hunks: Vec<PlannedHunk>,
}

impl FilePlan {
    /// The text with only some hunks: `accepted[i]` belongs to `hunks[i]`, a missing one counts as not accepted.
    /// `None` where the file is not, or no longer, there. A move takes place once any hunk is accepted.
    pub fn with(&self, accepted: &[bool]) -> Option<String> {
        let any = accepted.iter().zip(&self.hunks).any(|(&accepted, _)| accepted);
        match (&self.before, &self.after) {
            (Some(before), Some(_)) => Some(with_hunks(before, &self.hunks, accepted)),
            _ if any => self.after.clone(),
            _ => self.before.clone(),
        }
    }

    /// Where the file is moved to.
    pub fn move_to(&self) -> Option<&Path> {
        match &self.kind {
            FileChangeKind::Update { move_path } => move_path.as_deref(),
            FileChangeKind::Add | FileChangeKind::Delete => None,
        }
    }

    /// Every path that would be written or removed.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.path.as_path()).chain(self.move_to())
    }

    /// Whether the patch leaves the file as it is.
    pub fn is_noop(&self) -> bool {
        self.hunks.is_empty()
    }

    /// The difference in the way of `git diff`.
    pub fn unified_diff(&self, relative_to: &Path) -> String {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        super::diff::unified_diff(&self.path, relative_to, before, after, self.move_to())
    }
}

impl Plan {
    /// Every path that would be written or removed.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().flat_map(FilePlan::paths)
    }

    /// Whether the patch leaves every file as it is.
    pub fn is_noop(&self) -> bool {
        self.files.iter().all(FilePlan::is_noop)
    }

    /// The difference of all files in the way of `git diff`.
    pub fn unified_diff(&self, relative_to: &Path) -> String {
        self.files.iter().map(|file| file.unified_diff(relative_to)).collect()
    }

    /// One line a file, `A`, `M` or `D` and the path; a move is its new name modified and its old one deleted.
    pub fn summary(&self, relative_to: &Path) -> String {
        let mut text = String::new();
        let mut line = |sign: char, path: &Path| {
            let _ = writeln!(
                text,
                "{sign} {}",
                path.strip_prefix(relative_to).unwrap_or(path).display()
            );
        };
        for file in &self.files {
            match &file.kind {
                FileChangeKind::Add => line('A', &file.path),
                FileChangeKind::Delete => line('D', &file.path),
                FileChangeKind::Update { move_path: None } => line('M', &file.path),
                FileChangeKind::Update { move_path: Some(to) } => {
                    line('M', to);
                    line('D', &file.path);
                }
            }
        }
        text
    }
}

/// Holds a patch against the files.
///
/// Relative paths are below `cwd`, which is absolute.
///
/// # Errors
/// The first section that does not fit.
pub fn plan(patch: &Patch, cwd: &Path, files: &dyn Files) -> Result<Plan, PlanError> {
    let mut board = Board {
        files,
        entries: Vec::new(),
        by_real: HashMap::new(),
    };
    for section in &patch.sections {
        let path = absolute(cwd, section.path());
        match section {
            Section::Add { content, .. } => board.add(path, content)?,
            Section::Delete { .. } => board.delete(path)?,
            Section::Update { move_to, chunks, .. } => {
                let index = board.existing(path, "update")?;
                let entry = &mut board.entries[index];
                let before = entry.current.as_deref().map_or("", String::as_str);
                let updated = update(before, chunks).map_err(|misfit| PlanError::misfit(entry.path.clone(), misfit))?;
                entry.set(updated.text, Some(updated.replaced));
                if let Some(to) = move_to {
                    board.relocate(index, absolute(cwd, to))?;
                }
            }
        }
    }
    board.finish()
}

/// The files as the sections so far leave them.
struct Board<'f> {
    files: &'f dyn Files,
    entries: Vec<Entry>,
    by_real: HashMap<PathBuf, usize>,
}

/// One name in the tree.
struct Entry {
    path: PathBuf,
    original: Option<Rc<String>>,
    /// The original itself as long as no section has changed it.
    current: Option<Rc<String>>,
    /// Where the file now here was in the snapshot, if elsewhere.
    moved_from: Option<usize>,
    /// What was replaced, while `current` is one update away from `original`.
    replaced: Option<Vec<PlannedHunk>>,
    steps: usize,
}

impl Entry {
    fn new(path: PathBuf, text: Option<String>) -> Self {
        let text = text.map(Rc::new);
        Self {
            path,
            original: text.clone(),
            current: text,
            moved_from: None,
            replaced: None,
            steps: 0,
        }
    }

    fn set(&mut self, text: String, replaced: Option<Vec<PlannedHunk>>) {
        self.steps += 1;
        self.replaced = replaced.filter(|_| self.steps == 1);
        self.current = Some(Rc::new(text));
    }
}

impl Board<'_> {
    fn entry(&mut self, path: PathBuf) -> Result<usize, PlanError> {
        let real = self.files.real(&path);
        if let Some(&index) = self.by_real.get(&real) {
            return Ok(index);
        }
        let text = match self.files.read(&path) {
            Ok(text) => text.map(|file| file.text),
            Err(source) => return Err(PlanError::Read { path, source }),
        };
        Ok(self.insert(real, Entry::new(path, text)))
    }

    fn insert(&mut self, real: PathBuf, entry: Entry) -> usize {
        self.entries.push(entry);
        self.by_real.insert(real, self.entries.len() - 1);
        self.entries.len() - 1
    }

    fn existing(&mut self, path: PathBuf, action: &'static str) -> Result<usize, PlanError> {
        let index = self.entry(path.clone())?;
        if self.entries[index].current.is_none() {
            return Err(PlanError::Missing { path, action });
        }
        Ok(index)
    }

    fn add(&mut self, path: PathBuf, content: &str) -> Result<(), PlanError> {
        let index = self.entry(path)?;
        let entry = &mut self.entries[index];
        let text = match &entry.current {
            Some(there) => in_the_way_of(there, content),
            None => content.to_owned(),
        };
        entry.moved_from = entry.moved_from.filter(|_| entry.current.is_some());
        entry.set(text, None);
        Ok(())
    }

    fn delete(&mut self, path: PathBuf) -> Result<(), PlanError> {
        let index = self.existing(path, "delete")?;
        let entry = &mut self.entries[index];
        entry.steps += 1;
        (entry.current, entry.moved_from, entry.replaced) = (None, None, None);
        Ok(())
    }

    /// Moves the file to another name. A file that is there already is replaced, which the plan shows as such.
    fn relocate(&mut self, index: usize, to: PathBuf) -> Result<(), PlanError> {
        let from = self.entries[index].path.clone();
        let real = self.files.real(&to);
        let target = match self.by_real.get(&real) {
            Some(&target) => target,
            // Only the spelling changes: what the snapshot has under the new name is the file itself.
            None if self.files.same_entry(&from, &to) => self.insert(real, Entry::new(to, None)),
            None => self.entry(to)?,
        };
        if target == index {
            return Ok(());
        }
        let source = &mut self.entries[index];
        let text = source.current.take();
        let replaced = source.replaced.take();
        let origin = source
            .moved_from
            .take()
            .or_else(|| source.original.is_some().then_some(index));
        let simple = source.steps <= 1;
        source.steps += 1;
        let target_entry = &mut self.entries[target];
        target_entry.steps += 1;
        target_entry.current = text;
        target_entry.replaced = replaced.filter(|_| simple && target_entry.steps == 1);
        target_entry.moved_from = origin.filter(|&origin| origin != target);
        Ok(())
    }

    fn finish(mut self) -> Result<Plan, PlanError> {
        self.check_folders()?;
        // A move is planned at its source, if the source is gone and nothing was at the target.
        let mut target_of: HashMap<usize, usize> = HashMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            if let Some(from) = entry.moved_from
                && entry.original.is_none()
                && entry.current.is_some()
                && self.entries[from].current.is_none()
            {
                target_of.entry(from).or_insert(index);
            }
        }
        let mut plans = Vec::with_capacity(self.entries.len());
        for index in 0..self.entries.len() {
            let moved_here = self.entries[index]
                .moved_from
                .is_some_and(|from| target_of.get(&from) == Some(&index));
            if moved_here {
                continue;
            }
            let (path, before) = (self.entries[index].path.clone(), self.entries[index].original.take());
            let target = target_of.get(&index).copied();
            let last = &mut self.entries[target.unwrap_or(index)];
            let (after, replaced) = (last.current.take(), last.replaced.take());
            let move_path = target.map(|_| last.path.clone());
            let (before, after) = (before.map(Rc::unwrap_or_clone), after.map(Rc::unwrap_or_clone));
            plans.extend(file_plan(path, before, after, replaced, move_path));
        }
        Ok(Plan { files: plans })
    }

    /// No file may be in the place of a folder that another one needs.
    fn check_folders(&self) -> Result<(), PlanError> {
        let present: HashMap<&Path, &Entry> = self
            .entries
            .iter()
            .filter(|entry| entry.current.is_some())
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

/// New content for a file that is there already: with its byte-order mark and, if all its lines end alike, its ends.
fn in_the_way_of(there: &str, content: &str) -> String {
    let old = Lines::new(there);
    let mut text = String::with_capacity(content.len());
    if old.bom() > 0 && !content.starts_with(BOM) {
        text.push(BOM);
    }
    match old.uniform_end() {
        Some(end) if end != "\n" && Lines::new(content).uniform_end() == Some("\n") => {
            text.push_str(&content.replace('\n', end));
        }
        _ => text.push_str(content),
    }
    text
}

fn file_plan(
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    replaced: Option<Vec<PlannedHunk>>,
    move_path: Option<PathBuf>,
) -> Option<FilePlan> {
    let whole = |old: &str, new: &str| PlannedHunk {
        old: 0..Lines::new(old).len(),
        old_text: old.to_owned(),
        new_text: new.to_owned(),
    };
    let (kind, hunks) = match (&before, &after) {
        (None, None) => return None,
        (None, Some(new)) => (FileChangeKind::Add, vec![whole("", new)]),
        (Some(old), None) => (FileChangeKind::Delete, vec![whole(old, "")]),
        (Some(old), Some(new)) => {
            let mut found = match replaced {
                Some(replaced) => hunks_within(&replaced),
                None => hunks(old, new),
            };
            if found.is_empty() && move_path.is_some() {
                found.push(whole("", ""));
            }
            (FileChangeKind::Update { move_path }, found)
        }
    };
    Some(FilePlan {
        path,
        kind,
        before,
        after,
        hunks,
    })
}

#[cfg(test)]
mod tests;
