//! A patch and a snapshot of the files to a plan: every file's text before and after, and the hunks between.
//!
//! Nothing is planned unless everything fits. A file that the patch names twice is seen by the second section as the
//! first one left it, and becomes one file of the plan.

mod board;
pub mod error;

use super::edit::FileEdit;
use super::files::{Files, Whole, real_folder};
use super::hunk::{PlannedHunk, hunks, hunks_within, with_hunks};
use super::lines::Lines;
use super::parse::{Language, Patch};
use super::turn_diff::{Body, Side, one_file};
use crate::protocol::item::FileChangeKind;
use board::Board;
use error::PlanError;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

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
    /// The text now; `None` for a new file, and for one that is deleted or moved as it is.
    pub before: Option<String>,
    /// The text if every hunk is taken; `None` for a deleted file, and for one that is moved as it is.
    pub after: Option<String>,
    /// What is deleted or moved as it is, since it is no text: other bytes, or a link itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
    /// Empty only if nothing changes. A file that is made, deleted, or moved or given another mode as it is, has
    /// exactly one, even if that changes no line.
    pub hunks: Vec<PlannedHunk>,
    /// The permission bits that the file shall have where it is then; `None` for those that it has, or that the system
    /// gives to a new file. They take effect once any hunk is accepted.
    pub mode: Option<u32>,
    /// Where the folders of its paths really were when it was shown, links followed. Empty where nobody has looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
}

impl Plan {
    /// Notes where the folders of its files really are. Waits for the disk.
    pub fn note_folders(&mut self) {
        for file in &mut self.files {
            file.folders = file.real_folders();
        }
    }

    /// A path whose folder is another one by now than it was when the change was shown: a link has taken its place, or that of one above
    /// it. Waits for the disk.
    pub fn strayed(&self) -> Option<&Path> {
        self.files.iter().find_map(FilePlan::strayed)
    }
}

impl FilePlan {
    fn real_folders(&self) -> Vec<PathBuf> {
        self.paths()
            .map(|path| real_folder(path.parent().unwrap_or(path)))
            .collect()
    }

    fn strayed(&self) -> Option<&Path> {
        let now = self.real_folders();
        let mut all = self.paths().zip(self.folders.iter().zip(&now));
        all.find(|(_, (then, now))| then != now).map(|(path, _)| path)
    }

    /// What leads from one text to the other: a file that is made, changed, moved or deleted, with the hunks between.
    /// Nothing if there is neither a text before nor one after.
    pub fn between(
        path: PathBuf,
        move_to: Option<PathBuf>,
        before: Option<String>,
        after: Option<String>,
    ) -> Option<Self> {
        file_plan(path, before, after, None, move_to, None)
    }

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
        if let Some(whole) = &self.whole {
            let body = match whole {
                Whole::Bytes { sha256, size, .. } => Body::Bytes {
                    key: sha256.clone(),
                    size: *size,
                },
                Whole::Link { target } => Body::Link(target.clone()),
            };
            let side = Side { mode: None, body };
            let to = self.move_to();
            return one_file(
                &self.path,
                to.unwrap_or(&self.path),
                relative_to,
                Some(&side),
                to.map(|_| &side),
            );
        }
        super::diff::Shown {
            path: &self.path,
            before: self.before.as_deref(),
            after: self.after.as_deref(),
            move_to: self.move_to(),
            mode: self.mode,
        }
        .unified(relative_to)
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

    /// With each text that moves to a name of which this holds as one file deleted and one made: a move shows no more than the lines
    /// that change, and brings what is there when it takes place. `mode` finds the permission bits of a file.
    #[must_use]
    pub fn spelled_out(self, holds: impl Fn(&Path) -> bool, mode: impl Fn(&Path) -> Option<u32>) -> Self {
        let mut files = Vec::with_capacity(self.files.len());
        for file in self.files {
            let to = file.move_to().filter(|to| holds(to)).map(Path::to_owned);
            let (Some(to), None) = (to, &file.whole) else {
                files.push(file);
                continue;
            };
            let runs = |mode: &u32| mode & 0o111 != 0;
            let mode = file.mode.or_else(|| mode(&file.path).filter(runs));
            files.extend(file_plan(file.path, file.before, None, None, None, None));
            files.extend(file_plan(to, None, file.after, None, None, mode));
        }
        Self { files }
    }

    /// The difference of all files in the way of `git diff`.
    pub fn unified_diff(&self, relative_to: &Path) -> String {
        self.files.iter().map(|file| file.unified_diff(relative_to)).collect()
    }

    /// One line a file, `A`, `M` or `D` and the path; a move is its new name modified and its old one deleted.
    pub fn summary(&self, relative_to: &Path) -> String {
        let mut text = String::new();
        let mut line = |sign: char, path: &Path| {
            let name = path.strip_prefix(relative_to).unwrap_or(path).to_string_lossy();
            let _ = writeln!(text, "{sign} {}", super::diff::quote(&name));
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
/// The first section that does not fit, with the number of the others.
pub fn plan(patch: &Patch, cwd: &Path, files: &dyn Files) -> Result<Plan, PlanError> {
    let mut board = Board::new(files, cwd, patch.language);
    let mut errors = Vec::new();
    let mut sections = &patch.sections[..];
    for &length in &patch.steps {
        let (of_step, later) = sections.split_at(length.min(sections.len()));
        sections = later;
        board.begin_step(of_step);
        for section in of_step {
            if !board.is_doubtful(section)
                && let Err(error) = board.section(section)
            {
                board.doubt(section);
                errors.push(error);
            }
        }
    }
    let name = |path: &Path| board.name(path);
    match PlanError::joined(errors, name) {
        Some(error) => Err(error),
        None => board.finish(),
    }
}

/// Holds edits against the files, each as those before it leave them. One that does not fit keeps none of the others out.
///
/// Relative paths are below `cwd`, which is absolute. The plan comes with why each edit does not fit, in their order.
///
/// # Errors
/// What fits does not go together.
pub fn plan_each(
    edits: &[FileEdit],
    cwd: &Path,
    files: &dyn Files,
) -> Result<(Plan, Vec<Option<PlanError>>), PlanError> {
    let mut board = Board::new(files, cwd, Language::Envelope);
    let mut errors = Vec::with_capacity(edits.len());
    for edit in edits {
        board.step += 1;
        errors.push(board.edit(edit).err());
    }
    Ok((board.finish()?, errors))
}

fn file_plan(
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    replaced: Option<Vec<PlannedHunk>>,
    move_path: Option<PathBuf>,
    mode: Option<u32>,
) -> Option<FilePlan> {
    let whole = whole_hunk;
    let (kind, hunks) = match (&before, &after) {
        (None, None) => return None,
        (None, Some(new)) => (FileChangeKind::Add, vec![whole("", new)]),
        (Some(old), None) => (FileChangeKind::Delete, vec![whole(old, "")]),
        (Some(old), Some(new)) => {
            let mut found = match replaced {
                Some(replaced) => hunks_within(&replaced),
                None => hunks(old, new),
            };
            debug_assert_eq!(
                with_hunks(old, &found, &vec![true; found.len()]),
                *new,
                "hunks lead from one text to the other"
            );
            if found.is_empty() && (move_path.is_some() || mode.is_some()) {
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
        whole: None,
        hunks,
        mode,
        folders: Vec::new(),
    })
}

/// The hunk that is all of a file.
fn whole_hunk(old: &str, new: &str) -> PlannedHunk {
    PlannedHunk {
        old: 0..Lines::new(old).len(),
        old_text: old.to_owned(),
        new_text: new.to_owned(),
    }
}

#[cfg(test)]
mod tests;
