//! Where the hunks of one file lie in its text of today. What was found is kept: typing asks for it at every key.

use crate::patch::files::{DiskFiles, Files as _, Whole};
use crate::patch::plan::FilePlan;
use crate::patch::rebase::{Conflict, Follower, Rebased};
use crate::protocol::item::FileChangeKind;
use crate::workspace::{Document, Judge, Opened, ReadError, Workspace, disk};
use ropey::Rope;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Where one hunk is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It replaces these lines of today's text.
    Fits(Range<usize>),
    /// Its change is in the text already, about here; taking it changes nothing.
    There(Range<usize>),
    /// It cannot be taken.
    Conflict {
        why: String,
        /// The lines that stand there instead, as far as that can be told.
        about: Range<usize>,
    },
}

impl Place {
    /// The lines to show it at.
    pub fn lines(&self) -> &Range<usize> {
        match self {
            Self::Fits(lines) | Self::There(lines) | Self::Conflict { about: lines, .. } => lines,
        }
    }
}

/// A file as it is at this moment.
#[derive(Clone, Debug)]
pub enum Now {
    Open(Document),
    Closed(String),
    /// Moved to where the plan would move it.
    Moved(String),
    /// Of what is deleted or moved as it is.
    Whole(WholeNow),
    /// Something is there that is no text; what it is, for the person.
    Strange(String),
    /// Nothing is there.
    Gone,
}

/// What is deleted or moved as it is, at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WholeNow {
    /// As the plan saw it.
    Same,
    /// Something else; what it is, for the person.
    Other(String),
    /// Where the plan would move it.
    Moved,
    Gone,
}

impl WholeNow {
    fn of(workspace: &Workspace, planned: &FilePlan, whole: &Whole) -> Self {
        let unsaved =
            |document: &Document| document.path() == Some(planned.path.as_path()) && document.differs_from_disk();
        if workspace.document(&planned.path).as_ref().is_some_and(unsaved) {
            return Self::Other("it is open with text that is not saved".to_owned());
        }
        let there = |path: &Path| match DiskFiles.whole(path) {
            Ok(Some(there)) if there == *whole => Self::Same,
            Ok(Some(there)) => Self::Other(format!("{there} is there now")),
            Ok(None) if std::fs::symlink_metadata(path).is_err() => Self::Gone,
            Ok(None) => Self::Other("a text is there now".to_owned()),
            Err(error) => Self::Other(error.to_string()),
        };
        match (there(&planned.path), planned.move_to()) {
            (Self::Gone, Some(to)) if there(to) == Self::Same => Self::Moved,
            (found, _) => found,
        }
    }
}

impl Now {
    /// Looks at the disk for a file that is not open.
    pub fn of(workspace: &Workspace, planned: &FilePlan) -> Self {
        Self::found(workspace, planned, workspace.document(&planned.path), &disk::read_text)
    }

    /// The same for who tells the model of it: what a path leads to by now may be kept from it.
    pub fn judged(workspace: &Workspace, planned: &FilePlan, judge: &dyn Judge) -> Self {
        match workspace.judged_document(&planned.path, judge) {
            Ok(document) => Self::found(workspace, planned, document, &|path: &Path| {
                Opened::judged(path, judge)?.text(path)
            }),
            Err(error) => Self::Strange(error.to_string()),
        }
    }

    fn found(
        workspace: &Workspace,
        planned: &FilePlan,
        document: Option<Document>,
        read_text: &dyn Fn(&Path) -> Result<String, ReadError>,
    ) -> Self {
        if let Some(whole) = &planned.whole {
            return Self::Whole(WholeNow::of(workspace, planned, whole));
        }
        if let Some(document) = document {
            return Self::Open(document);
        }
        let gone = |path: &Path| std::fs::symlink_metadata(path).is_err();
        match read_text(&planned.path) {
            Ok(text) => return Self::Closed(text),
            // What cannot be read may be there all the same: it is not as good as deleted.
            Err(error) if !gone(&planned.path) => return Self::Strange(error.to_string()),
            Err(_) => {}
        }
        match planned.move_to().filter(|_| gone(&planned.path)) {
            Some(to) => workspace.read(to).map_or(Self::Gone, |read| Self::Moved(read.text)),
            None => Self::Gone,
        }
    }

    pub fn document(&self) -> Option<&Document> {
        match self {
            Self::Open(document) => Some(document),
            _ => None,
        }
    }

    /// The text where the plan has the file.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Open(document) => Some(document.text()),
            Self::Closed(text) => Some(text.clone()),
            Self::Moved(_) | Self::Whole(_) | Self::Strange(_) | Self::Gone => None,
        }
    }
}

/// Follows the hunks of one file.
#[derive(Debug, Default)]
pub(super) struct Placing {
    /// Held by whoever compares the texts.
    follower: Arc<Mutex<Follower>>,
    /// The text that was looked at last.
    seen: Option<Seen>,
    /// The number of that look.
    look: u64,
}

#[derive(Debug)]
enum Seen {
    Rope(Rope),
    Text(String),
    Moved(String),
    Whole(WholeNow),
    Strange(String),
    Gone,
}

impl Seen {
    fn is(&self, now: &Now) -> bool {
        match (self, now) {
            (Self::Rope(seen), Now::Open(document)) => seen.is_instance(&document.rope),
            (Self::Text(seen), Now::Closed(text)) | (Self::Moved(seen), Now::Moved(text)) => seen == text,
            (Self::Whole(seen), Now::Whole(now)) => seen == now,
            (Self::Strange(seen), Now::Strange(now)) => seen == now,
            (Self::Gone, Now::Gone) => true,
            _ => false,
        }
    }
}

impl Placing {
    /// The hunks are others now, or the file has another name.
    pub(super) fn forget(&mut self) {
        self.seen = None;
    }

    /// Whether the file was open when it was looked at last.
    pub(super) fn was_open(&self) -> bool {
        matches!(self.seen, Some(Seen::Rope(_)))
    }

    /// Whether it was looked at, and nothing was changed since.
    pub(super) fn is_known(&self) -> bool {
        self.seen.is_some()
    }

    /// Whether this text is another than the one that was looked at last, and nobody has overtaken the look that found it.
    pub(super) fn wants(&self, now: &Now, look: u64) -> bool {
        look >= self.look && !self.seen.as_ref().is_some_and(|seen| seen.is(now))
    }

    /// What compares the texts. To be held while the state is not.
    pub(super) fn follower(&self) -> Arc<Mutex<Follower>> {
        self.follower.clone()
    }

    /// The hunks lie where they are in this text now.
    pub(super) fn note(&mut self, now: &Now, look: u64) {
        self.look = look;
        self.seen = Some(match now {
            Now::Open(document) => Seen::Rope(document.rope.clone()),
            Now::Closed(text) => Seen::Text(text.clone()),
            Now::Moved(text) => Seen::Moved(text.clone()),
            Now::Whole(now) => Seen::Whole(now.clone()),
            Now::Strange(what) => Seen::Strange(what.clone()),
            Now::Gone => Seen::Gone,
        });
    }
}

/// Where each hunk of a file lies, found from nothing.
pub fn places_now(planned: &FilePlan, now: &Now) -> Vec<Place> {
    find(&mut Follower::default(), planned, now)
}

/// Where each hunk of a file lies; `follower` is the one of this file.
pub(super) fn find(follower: &mut Follower, planned: &FilePlan, now: &Now) -> Vec<Place> {
    let count = planned.hunks.len();
    let conflict = |why: &str| {
        let why = why.to_owned();
        vec![Place::Conflict { why, about: 0..0 }; count]
    };
    let lines = |text: &str| 0..crate::patch::count_lines(text);
    if planned.whole.is_some() {
        return match (now, planned.move_to()) {
            (Now::Whole(WholeNow::Same), _) => vec![Place::Fits(0..0); count],
            (Now::Whole(WholeNow::Moved), _) | (Now::Whole(WholeNow::Gone), None) => vec![Place::There(0..0); count],
            (Now::Whole(WholeNow::Other(what)), _) => conflict(what),
            _ => conflict("it is not there any more"),
        };
    }
    if let Now::Strange(what) = now {
        return conflict(what);
    }
    match (&planned.kind, &planned.before, now) {
        // A file to be made fits as long as it is not there, or is there as the plan saw it.
        (FileChangeKind::Add, before, now) => match (now.text(), before) {
            (None, None) => vec![Place::Fits(0..0); count],
            (Some(text), Some(before)) if text == *before => vec![Place::Fits(lines(&text)); count],
            (Some(text), _) if planned.after.as_ref() == Some(&text) => vec![Place::There(lines(&text)); count],
            (Some(text), _) if text.is_empty() => vec![Place::Fits(0..0); count],
            (Some(_), _) => conflict("a file with another text is there now"),
            (None, Some(_)) => conflict("the file is not there any more"),
        },
        // Deleting takes the whole file, so it fits only the text that the model saw.
        (FileChangeKind::Delete, Some(before), now) => match now.text() {
            Some(text) if text == *before => vec![Place::Fits(lines(&text)); count],
            Some(_) => conflict("the file that it would delete has changed"),
            None => vec![Place::There(0..0); count],
        },
        (FileChangeKind::Update { .. }, Some(before), Now::Moved(text)) => follower
            .follow(before, &planned.hunks, text.clone())
            .into_iter()
            .zip(&planned.hunks)
            .map(|(followed, hunk)| match followed.found {
                Rebased::Conflict {
                    why: Conflict::AlreadyThere,
                } => Place::There(followed.shown),
                // The move was all that it does.
                _ if hunk.old_text == hunk.new_text => Place::There(0..0),
                _ => Place::Conflict {
                    why: "the file has been moved without it".to_owned(),
                    about: followed.shown,
                },
            })
            .collect(),
        (FileChangeKind::Update { .. }, Some(before), now) => match now.text() {
            None => conflict("the file is not there any more"),
            // Moving a file, or changing its mode, has nothing to do with its text.
            Some(_) if changes_no_line(planned) => vec![Place::Fits(0..0); count],
            Some(text) => follower
                .follow(before, &planned.hunks, text)
                .into_iter()
                .map(|followed| match followed.found {
                    Rebased::Placed(range) => Place::Fits(range),
                    Rebased::Conflict {
                        why: Conflict::AlreadyThere,
                    } => Place::There(followed.shown),
                    Rebased::Conflict { why } => Place::Conflict {
                        why: why.to_string(),
                        about: followed.shown,
                    },
                })
                .collect(),
        },
        (_, None, _) => conflict("the text that it was made for is not known"),
    }
}

/// Whether a plan of an existing file leaves its text as it is.
pub(super) fn changes_no_line(planned: &FilePlan) -> bool {
    matches!(planned.kind, FileChangeKind::Update { .. })
        && planned
            .hunks
            .iter()
            .all(|hunk| hunk.old.is_empty() && hunk.old_text.is_empty() && hunk.new_text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::hunk::{PlannedHunk, hunks};

    fn planned(kind: FileChangeKind, before: Option<&str>, after: Option<&str>) -> FilePlan {
        let found = match (before, after) {
            (Some(before), Some(after)) => hunks(before, after),
            _ => vec![PlannedHunk {
                old: 0..crate::patch::count_lines(before.unwrap_or_default()),
                old_text: before.unwrap_or_default().to_owned(),
                new_text: after.unwrap_or_default().to_owned(),
            }],
        };
        FilePlan {
            path: "/nowhere/a.txt".into(),
            kind,
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            whole: None,
            hunks: found,
            mode: None,
            folders: Vec::new(),
        }
    }

    #[test]
    fn each_kind_of_change_fits_is_there_or_is_in_conflict() {
        let update = || FileChangeKind::Update { move_path: None };
        let shut = |text: &str| Now::Closed(text.to_owned());
        let rows: Vec<(&str, FilePlan, Now, Result<&str, &str>)> = vec![
            (
                "add",
                planned(FileChangeKind::Add, None, Some("x\n")),
                Now::Gone,
                Ok("fits"),
            ),
            (
                "add, empty",
                planned(FileChangeKind::Add, None, Some("x\n")),
                shut(""),
                Ok("fits"),
            ),
            (
                "add, made",
                planned(FileChangeKind::Add, None, Some("x\n")),
                shut("x\n"),
                Ok("there"),
            ),
            (
                "add, other",
                planned(FileChangeKind::Add, None, Some("x\n")),
                shut("y\n"),
                Err("another text"),
            ),
            (
                "delete",
                planned(FileChangeKind::Delete, Some("x\n"), None),
                shut("x\n"),
                Ok("fits"),
            ),
            (
                "delete, gone",
                planned(FileChangeKind::Delete, Some("x\n"), None),
                Now::Gone,
                Ok("there"),
            ),
            (
                "delete, changed",
                planned(FileChangeKind::Delete, Some("x\n"), None),
                shut("y\n"),
                Err("has changed"),
            ),
            (
                "update",
                planned(update(), Some("x\n"), Some("y\n")),
                shut("z\nx\n"),
                Ok("fits"),
            ),
            (
                "update, made",
                planned(update(), Some("x\n"), Some("y\n")),
                shut("y\n"),
                Ok("there"),
            ),
            (
                "update, changed",
                planned(update(), Some("x\n"), Some("y\n")),
                shut("z\n"),
                Err("have changed"),
            ),
            (
                "update, gone",
                planned(update(), Some("x\n"), Some("y\n")),
                Now::Gone,
                Err("not there"),
            ),
            (
                "update, moved",
                planned(update(), Some("x\n"), Some("y\n")),
                Now::Moved("y\n".to_owned()),
                Ok("there"),
            ),
            (
                "update, moved without it",
                planned(update(), Some("x\n"), Some("y\n")),
                Now::Moved("x\n".to_owned()),
                Err("without it"),
            ),
        ];
        for (name, planned, now, expected) in rows {
            let found = places_now(&planned, &now);
            assert_eq!(found.len(), 1, "{name}");
            match (&found[0], expected) {
                (Place::Fits(_), Ok("fits")) | (Place::There(_), Ok("there")) => {}
                (Place::Conflict { why, .. }, Err(words)) => assert!(why.contains(words), "{name}: {why}"),
                (other, _) => panic!("{name}: {other:?}"),
            }
        }
    }
}
