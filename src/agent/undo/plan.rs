//! What is to happen to each path of an undo: in the open document, on the disk, or nothing, and why.

use super::inverse::{Change, Inverse, force, take_out};
use super::state::{Data, Thing, is_unkept, on_disk};
use crate::protocol::undo::{UndoConflicts, UndoFile, UndoResult};
use crate::snapshot::record::TurnRecord;
use crate::workspace::{Document, Judge, Workspace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What is to happen to one path.
pub(super) struct Planned {
    pub(super) path: PathBuf,
    pub(super) result: UndoResult,
    pub(super) message: Option<String>,
    /// The open document's text is to become this.
    pub(super) edit: Option<(Document, String)>,
    /// The disk is to hold this; absent means that nothing is to happen there.
    pub(super) disk: Option<Option<Thing>>,
    /// The disk as it is.
    pub(super) there: Option<Thing>,
    /// The file goes, and a document of it is open.
    pub(super) is_open: bool,
    /// The document had no unsaved text and the disk is to become what it will hold: it wants saving.
    pub(super) save: bool,
    /// For the undo's own diff: what the person saw there.
    pub(super) seen: Option<Thing>,
}

impl Planned {
    fn left(path: &Path, result: UndoResult, message: String) -> Self {
        Self {
            path: path.to_owned(),
            result,
            message: Some(message),
            edit: None,
            disk: None,
            there: None,
            is_open: false,
            save: false,
            seen: None,
        }
    }

    /// Whether anything is to happen.
    pub(super) fn changes(&self) -> bool {
        self.edit.is_some() || self.disk.is_some()
    }

    pub(super) fn file(&self) -> UndoFile {
        // A name that is no UTF-8 has no place in JSON.
        let path = self.path.to_string_lossy().into_owned().into();
        UndoFile {
            path,
            result: self.result,
            message: self.message.clone(),
        }
    }

    /// What the person sees there afterwards.
    pub(super) fn then(&self) -> Option<Thing> {
        let mode = self.seen.as_ref().and_then(|seen| seen.mode);
        match (&self.edit, &self.disk) {
            (Some((_, text)), disk) => {
                let mode = disk.as_ref().and_then(|then| then.as_ref()?.mode).or(mode);
                Some(Thing::text(text.clone(), mode))
            }
            (None, Some(then)) => then.clone(),
            (None, None) => self.seen.clone(),
        }
    }
}

/// What each path needs, in the order of paths. `records` are the turns to take back, newest first. Reads the files.
pub(super) fn plan(
    (workspace, closed): (&Workspace, &dyn Judge),
    records: &[TurnRecord],
    conflicts: UndoConflicts,
) -> Vec<Planned> {
    let mut paths: BTreeMap<&Path, Vec<Change>> = BTreeMap::new();
    for record in records {
        for file in &record.files {
            let change = Change {
                before: file.before.as_ref().map(Thing::of_record),
                after: file.after.as_ref().map(Thing::of_record),
            };
            paths.entry(&file.path).or_default().push(change);
        }
    }
    let shared: BTreeSet<&Path> = records
        .iter()
        .flat_map(|record| record.shared.iter().map(PathBuf::as_path))
        .collect();
    let new_folders: BTreeSet<&Path> = records
        .iter()
        .flat_map(|record| record.new_folders.iter().map(PathBuf::as_path))
        .collect();
    let (later, first): (Vec<Place<'_>>, Vec<Place<'_>>) = paths
        .into_iter()
        .map(|(path, changes)| Place {
            path,
            changes,
            conflicts,
            is_shared: shared.contains(path),
        })
        .partition(|place| new_folders.contains(place.path) && place.path.is_dir());
    let mut planned: Vec<Planned> = first.iter().map(|place| place.plan(workspace, closed)).collect();
    // Where a turn made a folder of a file, that is gone once what the turn put into it is.
    let goes: BTreeSet<PathBuf> = planned
        .iter()
        .filter(|planned| matches!(planned.disk, Some(None)))
        .map(|planned| planned.path.clone())
        .collect();
    for place in later {
        let is_ours = holds_only(place.path, &goes, &new_folders);
        planned.push(if is_ours {
            place.closed(None)
        } else {
            place.plan(workspace, closed)
        });
    }
    planned.sort_by(|a, b| a.path.cmp(&b.path));
    planned
}

/// Whether a folder holds nothing but files that go, in folders that the turns made.
fn holds_only(folder: &Path, goes: &BTreeSet<PathBuf>, new_folders: &BTreeSet<&Path>) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return false;
    };
    entries.into_iter().all(|entry| {
        let Ok(entry) = entry else { return false };
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => new_folders.contains(path.as_path()) && holds_only(&path, goes, new_folders),
            Ok(_) => goes.contains(&path),
            Err(_) => false,
        }
    })
}

/// One path and what the turns made of it, newest first.
struct Place<'a> {
    path: &'a Path,
    changes: Vec<Change>,
    conflicts: UndoConflicts,
    /// The person changed it at the same time as a command.
    is_shared: bool,
}

impl Place<'_> {
    fn plan(&self, workspace: &Workspace, closed: &dyn Judge) -> Planned {
        if self.path.to_str().is_none() {
            let message = "its name is not UTF-8, so it has to be put back by hand".to_owned();
            return Planned::left(self.path, UndoResult::Skipped, message);
        }
        let there = on_disk(self.path, closed);
        match (workspace.document(self.path), &there) {
            // Where the file is gone, a document that is still shown is only a picture of it.
            (Some(_), Some(there)) if self.is_of_a_link(there) => self.closed(Some(there.clone())),
            (Some(document), Some(there)) if !matches!(there.data, Data::Strange(_)) => self.open(document, there),
            _ => self.closed(there),
        }
    }

    /// Whether it is about a link itself: the document that is open under its name shows what it leads to.
    fn is_of_a_link(&self, there: &Thing) -> bool {
        let is_text = |thing: &Option<Thing>| thing.as_ref().is_some_and(|thing| thing.as_text().is_some());
        let newest = self.changes.first();
        matches!(there.data, Data::Link(_)) && newest.is_some_and(|newest| !is_text(&newest.after))
    }

    fn inverse(&self, now: Option<&Thing>) -> Inverse {
        match self.conflicts {
            UndoConflicts::Keep => match take_out(now, &self.changes) {
                Inverse::Restored(then) | Inverse::Merged(then) if self.is_shared && then.as_ref() != now => {
                    Inverse::Conflict("you saved it while a command was changing it".to_owned())
                }
                inverse => inverse,
            },
            UndoConflicts::Restore => force(now, &self.changes),
        }
    }

    fn left(&self, inverse: &Inverse) -> Option<Planned> {
        let (result, message) = match inverse {
            Inverse::Conflict(message) => (UndoResult::Conflict, message),
            Inverse::Skipped(message) => (UndoResult::Skipped, message),
            Inverse::Restored(_) | Inverse::Merged(_) => return None,
        };
        Some(Planned::left(self.path, result, message.clone()))
    }

    /// The file as the records know it, where they only know that it was there.
    fn recognised(&self, there: Option<&Thing>) -> Option<Thing> {
        let mut there = there?.clone();
        let newest = self.changes.first().and_then(|change| change.after.as_ref());
        match newest.map(|after| &after.data) {
            Some(Data::Unkept { key, size }) if is_unkept(self.path, key) => {
                there.data = Data::Unkept {
                    key: key.clone(),
                    size: *size,
                };
            }
            // Its content can be brought back by the blob of the record.
            Some(Data::Bytes { .. }) if newest.is_some_and(|after| after.same_content(&there)) => {
                there.data = newest.map_or(there.data, |after| after.data.clone());
            }
            _ => {}
        }
        Some(there)
    }

    fn closed(&self, there: Option<Thing>) -> Planned {
        let known = self.recognised(there.as_ref());
        let inverse = self.inverse(known.as_ref());
        if let Some(left) = self.left(&inverse) {
            return left;
        }
        let (then, result) = outcome(inverse);
        let same = then == known;
        Planned {
            path: self.path.to_owned(),
            result,
            message: None,
            edit: None,
            disk: (!same).then_some(then),
            there,
            is_open: false,
            save: false,
            seen: known,
        }
    }

    /// The text belongs to the editor. The disk is touched only where it holds what the turn put there and the editor
    /// has nothing to change: then nothing of the person's is in it.
    fn open(&self, document: Document, there: &Thing) -> Planned {
        let text = document.text();
        let view = Thing::text(text.clone(), there.mode);
        let seen = self.inverse(Some(&view));
        if let Some(left) = self.left(&seen) {
            return left;
        }
        let known = self.recognised(Some(there));
        let on_disk = self.inverse(known.as_ref());
        let is_saved = view.same_content(there);
        let (then, result) = outcome(seen);
        let mut planned = Planned {
            path: self.path.to_owned(),
            result,
            message: None,
            edit: None,
            disk: None,
            there: Some(there.clone()),
            is_open: true,
            save: false,
            seen: Some(view),
        };
        let disk_then = match &on_disk {
            Inverse::Restored(then) => Some(then.clone()),
            _ => None,
        };
        match then.as_ref().map(|then| &then.data) {
            // The file goes, or is no text any more: only where nothing unsaved is in the document.
            None | Some(Data::Bytes { .. } | Data::Link(_)) if is_saved => planned.disk = Some(then),
            None | Some(Data::Bytes { .. } | Data::Link(_)) => {
                let message = "it is open with unsaved text; save or close it, then undo again".to_owned();
                return Planned::left(self.path, UndoResult::Conflict, message);
            }
            Some(Data::Text(new)) => {
                let mode = then.as_ref().and_then(|then| then.mode);
                if *new != text {
                    planned.save = is_saved;
                    planned.edit = Some((document, new.clone()));
                    if mode.is_some() && mode != there.mode {
                        planned.disk = Some(Some(Thing { mode, ..there.clone() }));
                    }
                } else if let Some(disk_then) = disk_then.filter(|then| then.as_ref() != known.as_ref()) {
                    planned.disk = Some(disk_then);
                }
            }
            Some(Data::Unkept { .. } | Data::Strange(_)) => {}
        }
        planned
    }
}

fn outcome(inverse: Inverse) -> (Option<Thing>, UndoResult) {
    match inverse {
        Inverse::Restored(None) => (None, UndoResult::Removed),
        Inverse::Restored(then) => (then, UndoResult::Restored),
        Inverse::Merged(then) => (then, UndoResult::Merged),
        Inverse::Conflict(_) | Inverse::Skipped(_) => (None, UndoResult::Kept),
    }
}
