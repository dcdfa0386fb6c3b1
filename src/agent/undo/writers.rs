//! Whose a change is that came while commands of the agent ran. A command of the agent's is known to have written what its
//! keeper was asked about by name; where nobody is asked (full access, MCP servers, another system) it may have written
//! whatever it may write at all.

use crate::exec::Wrote;
use crate::ids::ThreadId;
use crate::snapshot::{Change, Kind, Snapshot, State};
use crate::workspace::disk;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Commands that are remembered; of more, those that ended first are forgotten.
const MOST: usize = 256;

/// A command that is about to begin.
#[derive(Clone, Debug, Default)]
pub(in crate::agent) struct Doing {
    /// Hears what it writes.
    pub(in crate::agent) wrote: Wrote,
    /// Where it may write; absent: everywhere.
    pub(in crate::agent) places: Option<Vec<PathBuf>>,
}

/// The agent's commands of a server that run, or ran at the same time as one of those; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Writers(Arc<Mutex<Vec<Writer>>>);

#[derive(Clone, Debug)]
pub(super) struct Writer {
    thread: ThreadId,
    doing: Doing,
    noted: Noted,
}

/// Whether what a command changed is in the record of its turn already; a clone is the same. What is changed there later was
/// not changed by it.
#[derive(Clone, Debug, Default)]
pub(super) struct Noted(Arc<AtomicBool>);

impl Noted {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Whose a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// A command of this conversation's made it, as far as can be told.
    Ours,
    /// It is in another record, or in this one already.
    Theirs,
    /// No command of the agent's did.
    Nobodys,
}

impl Writers {
    fn all(&self) -> MutexGuard<'_, Vec<Writer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command begins.
    pub(super) fn begin(&self, thread: &ThreadId, doing: Doing) -> Noted {
        let mut all = self.all();
        let is_over = |writer: &Writer| writer.doing.wrote.is_over();
        if all.iter().all(is_over) {
            all.clear();
        }
        if all.len() >= MOST {
            let oldest = all.iter().position(is_over).unwrap_or_default();
            all.remove(oldest);
        }
        let noted = Noted::default();
        all.push(Writer {
            thread: thread.clone(),
            doing,
            noted: noted.clone(),
        });
        noted
    }

    /// These files are changed by a patch, or by an undo, which tell their texts themselves.
    pub(in crate::agent) fn writes<'p>(&self, thread: &ThreadId, paths: impl Iterator<Item = &'p Path>) {
        let real = |path: &Path| {
            let folder = path.parent().map(disk::canonical);
            folder.map_or_else(
                || path.to_owned(),
                |folder| folder.join(path.file_name().unwrap_or_default()),
            )
        };
        let paths: Vec<PathBuf> = paths.map(real).collect();
        let wrote = Wrote::of(&paths);
        self.begin(thread, Doing { wrote, places: None }).set();
    }

    /// As they are now. Whoever holds them keeps them from being forgotten.
    pub(super) fn now(&self) -> Vec<Writer> {
        self.all().clone()
    }
}

impl Writer {
    /// Whether it may have made a change that nobody has told of.
    fn may_have(&self, place: &Path) -> bool {
        let Doing { wrote, places } = &self.doing;
        !wrote.is_known() && may_write(places.as_deref(), place)
    }
}

fn may_write(places: Option<&[PathBuf]>, place: &Path) -> bool {
    places.is_none_or(|places| places.iter().any(|folder| place.starts_with(folder)))
}

/// Whether a change may be the doing of a command that wrote this by name. Bits, and files of more names, it may have changed unseen.
pub(super) fn may_be_of(wrote: &Wrote, change: &Change, place: &Path) -> bool {
    !wrote.is_known() || wrote.names(place) || is_untold(change, place)
}

/// Nobody is asked about these; they lose nothing of the person's, or were written by another name. What is new was not.
fn is_untold(change: &Change, place: &Path) -> bool {
    is_of_bits(change) || change.before.is_some() && has_more_names(place)
}

/// Whose a change is that came while these ran, for a conversation. `place` is its real path.
pub(super) fn whose(writers: &[Writer], thread: &ThreadId, change: &Change, place: &Path) -> Whose {
    let is_ours = |writer: &&Writer| writer.thread == *thread && !writer.noted.0.load(Ordering::Relaxed);
    let (ours, theirs): (Vec<&Writer>, Vec<&Writer>) = writers.iter().partition(is_ours);
    let names = |writers: &[&Writer]| writers.iter().any(|writer| writer.doing.wrote.names(place));
    let may = |writer: &&Writer| may_write(writer.doing.places.as_deref(), place);
    if names(&ours) || ours.iter().any(|writer| writer.may_have(place)) {
        Whose::Ours
    } else if names(&theirs) || theirs.iter().any(|writer| writer.may_have(place)) {
        Whose::Theirs
    } else if is_untold(change, place) && ours.iter().any(may) {
        Whose::Ours
    } else {
        Whose::Nobodys
    }
}

/// Whether only permission bits changed.
fn is_of_bits(change: &Change) -> bool {
    let same = |a: &State, b: &State| a.kind == b.kind && a.blob.is_some() && a.blob == b.blob;
    matches!((&change.before, &change.after), (Some(before), Some(after)) if same(before, after))
}

#[cfg(unix)]
fn has_more_names(place: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::symlink_metadata(place).is_ok_and(|found| found.is_file() && found.nlink() > 1)
}

#[cfg(not(unix))]
fn has_more_names(_place: &Path) -> bool {
    false
}

/// The real path of what is in a snapshot.
pub(super) fn real(snapshot: &Snapshot, root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(snapshot.root())
        .map_or_else(|_| path.to_owned(), |inner| root.join(inner))
}

/// What was changed by nobody of the agent's, as the person is told. Nothing for what editors put beside the files that they
/// have open.
pub(super) fn to_tell(change: &Change) -> bool {
    let name = change.path.file_name().unwrap_or_default().to_string_lossy();
    let is_folder = [&change.before, &change.after]
        .into_iter()
        .flatten()
        .all(|state| state.kind == Kind::Folder);
    let is_swap = name.starts_with('.') && name.rsplit_once(".sw").is_some_and(|(_, end)| end.len() == 1);
    let is_lock = name.starts_with(".#") || name.starts_with('#') && name.ends_with('#');
    !(is_folder || is_swap || is_lock || name.ends_with('~') || name == "4913")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(mode: u32, content: &str) -> State {
        State {
            kind: Kind::File,
            mode,
            size: content.len() as u64,
            stamp: String::new(),
            blob: crate::snapshot::Blob::of_key(&format!("s/{content}/d")),
        }
    }

    /// What a command of the agent's cannot have written is nobody's, and what cannot be known is not left out.
    #[test]
    fn whose_a_change_is_by_table() {
        let ours = ThreadId::from("ours");
        let within = |folder: &str| Some(vec![PathBuf::from(folder)]);
        let writer = |thread: &str, (told, named): (bool, &[&str]), places: Option<Vec<PathBuf>>| {
            let named: Vec<PathBuf> = named.iter().map(PathBuf::from).collect();
            let wrote = if told { Wrote::of(&named) } else { Wrote::default() };
            Writer {
                thread: ThreadId::from(thread),
                doing: Doing { wrote, places },
                noted: Noted::default(),
            }
        };
        let told = |named| writer("ours", (true, named), within("/w"));
        let other = |named| writer("theirs", (true, named), within("/w"));
        let noted = || {
            let writer = told(&["/w/f"]);
            writer.noted.set();
            writer
        };
        let untold = |places| writer("ours", (false, &[]), places);
        let content = (Some(state(0o644, "a")), Some(state(0o644, "b")));
        let bits = (Some(state(0o644, "a")), Some(state(0o755, "a")));
        for (writers, (before, after), expected) in [
            (vec![told(&["/w/f"])], content.clone(), Whose::Ours),
            (vec![told(&["/w/g"])], content.clone(), Whose::Nobodys),
            (vec![told(&["/w/g"])], bits, Whose::Ours),
            (vec![told(&[]), other(&["/w/f"])], content.clone(), Whose::Theirs),
            (
                vec![told(&[]), writer("theirs", (false, &[]), None)],
                content.clone(),
                Whose::Theirs,
            ),
            (vec![told(&["/w/f"]), other(&["/w/f"])], content.clone(), Whose::Ours),
            (vec![told(&[]), noted()], content.clone(), Whose::Theirs),
            (vec![told(&["/w/f"]), noted()], content.clone(), Whose::Ours),
            (vec![untold(within("/w"))], content.clone(), Whose::Ours),
            (vec![untold(None)], content.clone(), Whose::Ours),
            (vec![untold(within("/elsewhere"))], content.clone(), Whose::Nobodys),
            (vec![told(&[]), untold(within("/w"))], content, Whose::Ours),
        ] {
            let path = PathBuf::from("/w/f");
            let change = Change {
                path: path.clone(),
                before,
                after,
            };
            assert_eq!(whose(&writers, &ours, &change, &path), expected, "{writers:?}");
        }
    }

    #[test]
    fn what_editors_put_beside_files_is_not_told() {
        for (name, expected) in [
            ("a.txt", true),
            (".env", true),
            ("a.swift", true),
            (".a.txt.swp", false),
            (".#a.txt", false),
            ("#a.txt#", false),
            ("a.txt~", false),
            ("4913", false),
        ] {
            let change = Change {
                path: Path::new("/w").join(name),
                before: None,
                after: Some(state(0o644, "a")),
            };
            assert_eq!(to_tell(&change), expected, "{name}");
        }
    }
}
