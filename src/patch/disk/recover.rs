//! Putting the tree right after a transaction that did not come to its end: wholly as it was before, or, once all was in
//! place, wholly as it was meant. What somebody wrote since is left alone, and what was there before is kept beside it.

use super::check::inside;
use super::journal::{Journal, Line, ReadError, Story, journals};
use super::record::{Left, Step};
use super::system::FolderLock;
use super::{CommitError, Kept, list};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long a journal is kept whose folders are not there: they may lie on a disk that is not.
const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);

/// What became of one unfinished transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recovery {
    pub journal: PathBuf,
    pub did: Did,
    /// The files that were put back.
    pub files: Vec<PathBuf>,
    /// Those that were not.
    pub kept: Vec<Kept>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Did {
    /// There was nothing to do: it is gone, or somebody is at work with it.
    Nothing,
    /// Its folders are not there; it waits for them.
    Waits,
    /// Every file is as it was before, except those that are kept.
    TookBack,
    /// It had come to its end; what was kept of the time before is gone.
    Finished,
    /// Nothing was done.
    Failed { message: String },
}

impl Recovery {
    fn of(journal: &Path, did: Did) -> Self {
        Self {
            journal: journal.to_owned(),
            did,
            files: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// What to tell the person; nothing where no file of theirs was touched and none is in doubt.
    pub fn in_words(&self) -> Option<String> {
        let names = |files: &[PathBuf]| {
            const MOST: usize = 5;
            let mut names: Vec<String> = files.iter().take(MOST).map(|file| file.display().to_string()).collect();
            if files.len() > MOST {
                names.push(format!("and {} more", files.len() - MOST));
            }
            names.join(", ")
        };
        let words = match &self.did {
            Did::Nothing | Did::Waits | Did::Finished if self.kept.is_empty() => return None,
            Did::Failed { message } => {
                return Some(format!(
                    "A change of files was interrupted, and it could not be undone: {message}. Look at the files; the journal \
                     that lists them is {}",
                    self.journal.display()
                ));
            }
            _ if self.files.is_empty() && self.kept.is_empty() => return None,
            _ if self.files.is_empty() => "A change of files was interrupted.".to_owned(),
            _ => format!(
                "A change of files was interrupted and has been undone. As before are: {}.",
                names(&self.files)
            ),
        };
        Some(if self.kept.is_empty() {
            words
        } else {
            format!(
                "{words} These were left alone; what they held before is kept where a place is named: {}",
                list(&self.kept)
            )
        })
    }
}

/// What taking back has come to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) files: Vec<PathBuf>,
    pub(super) kept: Vec<Kept>,
    /// The file system refused something that it may not refuse another time.
    pub(super) again: bool,
}

/// Takes every step back, the last first, and cleans up.
pub(super) fn take_back(story: &Story) -> Outcome {
    let mut outcome = Outcome::default();
    let mut lock = FolderLock::default();
    for step in story.steps.iter().rev() {
        lock.hold(step.path());
        match step.take_back() {
            Ok(true) => outcome.files.push(step.path().to_owned()),
            Ok(false) => {}
            Err(Left::Theirs(kept)) => outcome.kept.push(kept),
            Err(Left::Failed(kept)) => {
                outcome.kept.push(kept);
                outcome.again = true;
            }
        }
    }
    for file in &story.files {
        // A text that was half written in place is told by the new one.
        let needed = |step: &Step| matches!(step, Step::Rewrite { new, .. } if new == file);
        if !(outcome.again && story.steps.iter().any(needed)) {
            let _ = fs::remove_file(file);
        }
    }
    for folder in story.folders.iter().rev() {
        // Somebody may have put something into it: then it stays.
        let _ = fs::remove_dir(folder);
    }
    outcome.files.sort();
    outcome.files.dedup();
    outcome
}

/// Removes what is not needed once all steps stand.
pub(super) fn finish(story: &Story, roots: &[PathBuf]) {
    for backup in story.steps.iter().filter_map(Step::backup) {
        let _ = fs::remove_file(backup);
    }
    for step in &story.steps {
        if let Step::Rewrite { new, .. } = step {
            let _ = fs::remove_file(new);
        }
    }
    for folder in &story.tidy {
        // One that somebody uses by now stays.
        if let Some(folder) = inside(folder, roots) {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Puts right what all transactions have left whose journals are in `folder` and whose processes are dead. Only what
/// lies in `roots` is touched; without them, what lies in the roots that the journal names: for journals that nobody
/// else can have written.
pub fn recover(folder: &Path, roots: Option<&[PathBuf]>) -> Vec<Recovery> {
    journals(folder)
        .iter()
        .map(|journal| recover_one(journal, roots))
        .collect()
}

/// As [`recover`], for one journal.
pub fn recover_one(path: &Path, roots: Option<&[PathBuf]>) -> Recovery {
    let failed = |message: String| Recovery::of(path, Did::Failed { message });
    let mut journal = match Journal::orphaned(path) {
        Ok(Some(journal)) => journal,
        Ok(None) => return Recovery::of(path, Did::Nothing),
        // Where we may not write, it is for somebody else to do: we are in a sandbox, most likely.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            return Recovery::of(path, Did::Nothing);
        }
        Err(error) => return failed(format!("its journal cannot be opened ({error})")),
    };
    match journal.story() {
        Ok(None) => {
            let _ = journal.remove();
            Recovery::of(path, Did::Nothing)
        }
        Ok(Some(story)) if is_away(&story) && !is_old(path) => Recovery::of(path, Did::Waits),
        Ok(Some(story)) => match outside(&story, roots) {
            Some(outside) => failed(format!(
                "{} is outside the folders that may be written",
                outside.display()
            )),
            None => settle_story(journal, &story, roots),
        },
        Err(ReadError::Strange | ReadError::Version) if is_old(path) => {
            let _ = journal.remove();
            Recovery::of(path, Did::Nothing)
        }
        Err(error) => failed(error.to_string()),
    }
}

fn settle_story(journal: Journal, story: &Story, roots: Option<&[PathBuf]>) -> Recovery {
    let path = journal.path().to_owned();
    let (did, outcome) = if story.committed || story.steps.iter().any(Step::is_over) {
        finish(story, roots.unwrap_or(&story.roots));
        (Did::Finished, Outcome::default())
    } else {
        (Did::TookBack, take_back(story))
    };
    if !outcome.again {
        let _ = journal.remove();
    }
    Recovery {
        journal: path,
        did,
        files: outcome.files,
        kept: outcome.kept,
    }
}

/// Decides on a transaction that was held: it stands, or every file is put back as it was.
///
/// # Errors
/// The journal cannot be read or written; or not all could be put back.
pub fn settle(path: &Path, stands: bool) -> Result<(), CommitError> {
    let io = |doing: &str, error: &std::io::Error| super::step::io_error(path, doing, error);
    let mut journal = Journal::join(path, false).map_err(|error| io("opening the journal", &error))?;
    let story = journal.story().map_err(|error| CommitError::Role {
        message: format!("the journal {}: {error}", path.display()),
    })?;
    let Some(mut story) = story else {
        let _ = journal.remove();
        return Ok(());
    };
    if stands && !story.committed {
        story.committed = true;
        if journal.append(&Line::Committed).is_err() {
            // Without a journal nobody takes anything back: that decides as well, and needs no room.
            journal.remove().map_err(|error| io("removing the journal", &error))?;
            finish(&story, &story.roots);
            return Ok(());
        }
    }
    let recovery = settle_story(journal, &story, None);
    if recovery.kept.is_empty() {
        Ok(())
    } else {
        Err(CommitError::Left { kept: recovery.kept })
    }
}

/// The roots that the journal of a dead transaction names, none if it is not understood; `None` if somebody is at work
/// with it.
pub fn orphan_roots(path: &Path) -> Option<Vec<PathBuf>> {
    let mut journal = Journal::orphaned(path).ok()??;
    let story = journal.story().ok().flatten();
    Some(story.unwrap_or_default().roots)
}

/// The journals in a folder, whoever is at work with them.
pub fn leftovers(folder: &Path) -> Vec<PathBuf> {
    journals(folder)
}

/// The first path of a journal that may not be written.
fn outside(story: &Story, roots: Option<&[PathBuf]>) -> Option<PathBuf> {
    let roots = roots.unwrap_or(&story.roots);
    let outside = story.paths().find(|path| inside(path, roots).is_none());
    outside.map(Path::to_owned)
}

/// Whether none of the folders is there in which it worked.
fn is_away(story: &Story) -> bool {
    let mut folders = story.paths().filter_map(Path::parent).peekable();
    folders.peek().is_some() && folders.all(|folder| fs::symlink_metadata(folder).is_err())
}

fn is_old(journal: &Path) -> bool {
    let written = fs::symlink_metadata(journal).and_then(|meta| meta.modified());
    written.is_ok_and(|written| {
        SystemTime::now()
            .duration_since(written)
            .is_ok_and(|age| age > PATIENCE)
    })
}
