//! What an undo overwrites and deletes is kept, where the person can find it: whose it was cannot always be known.

use super::plan::Planned;
use super::state::{Data, Thing};
use crate::exec::git::make_private;
use crate::workspace::{Judge, Opened};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Copies older than this are given up, like the records of turns.
const MOST_AGE: Duration = Duration::from_secs(DAYS * 24 * 3600);
const DAYS: u64 = 14;
/// Bytes of all copies of one undo.
const MOST_BYTES: u64 = 1 << 30;

/// The copies of one undo.
#[derive(Debug)]
pub(super) struct Copies {
    folder: PathBuf,
    made: Vec<PathBuf>,
}

/// One content that goes.
enum Going<'a> {
    Text(String),
    Link(&'a Path),
    /// As many bytes of the file.
    Bytes(u64),
}

impl Copies {
    /// Copies all that is to go into a folder of its own, under the names that it has. Waits for the disk.
    ///
    /// # Errors
    /// Not all of it can be kept; nothing is, then.
    pub(super) fn keep(folder: PathBuf, planned: &[Planned], closed: &dyn Judge) -> Result<Self, String> {
        let going: Vec<(&Path, Going<'_>)> = planned.iter().filter_map(going).collect();
        let bytes: u64 = going.iter().map(|(_, going)| going.bytes()).sum();
        if bytes > MOST_BYTES {
            return Err(format!(
                "What would be overwritten or deleted takes {} MiB, and copies are kept of up to {} MiB. Move large files \
                 away first.",
                bytes >> 20,
                MOST_BYTES >> 20
            ));
        }
        let mut copies = Self {
            folder,
            made: Vec::new(),
        };
        for (path, going) in going {
            if let Err(error) = copies.add(path, &going, closed) {
                let folder = copies.folder.display().to_string();
                copies.discard();
                return Err(format!(
                    "A copy of {} cannot be kept in {folder}: {error}.",
                    path.display()
                ));
            }
        }
        Ok(copies)
    }

    fn add(&mut self, path: &Path, going: &Going<'_>, closed: &dyn Judge) -> io::Result<()> {
        if self.made.is_empty() {
            make_private(&self.folder)?;
        }
        let mut place = self.folder.clone();
        place.extend(path.components().filter(|part| matches!(part, Component::Normal(_))));
        if let Some(around) = place.parent() {
            fs::create_dir_all(around)?;
        }
        let create = || fs::File::options().write(true).create_new(true).open(&place);
        match going {
            Going::Text(text) => create()?.write_all(text.as_bytes())?,
            Going::Link(target) => link(target, &place)?,
            Going::Bytes(size) => {
                let opened = Opened::judged(path, closed).map_err(|error| io::Error::other(error.to_string()))?;
                if !opened.metadata().is_file() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                // The undo does not happen where it holds something else by then.
                io::copy(&mut opened.file().take(*size), &mut create()?)?;
            }
        }
        self.made.push(place);
        Ok(())
    }

    /// The undo did not happen.
    pub(super) fn discard(self) {
        if !self.made.is_empty() {
            let _gone = fs::remove_dir_all(&self.folder);
        }
    }

    /// Where the copies are, in a sentence; nothing if there are none.
    pub(super) fn in_words(&self) -> Option<String> {
        let place = match &self.made[..] {
            [] => return None,
            [only] => only,
            _ => &self.folder,
        };
        let place = crate::shown::path(place);
        Some(format!("What was there is kept for {DAYS} days: {place}"))
    }
}

impl Going<'_> {
    fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Link(_) => 0,
            Self::Bytes(size) => *size,
        }
    }
}

/// What goes at a path. Of a document that is open it is what the editor shows.
fn going(planned: &Planned) -> Option<(&Path, Going<'_>)> {
    let path = planned.path.as_path();
    if let Some((document, _)) = &planned.edit {
        return Some((path, Going::Text(document.text())));
    }
    let (then, there) = (planned.disk.as_ref()?.as_ref(), planned.there.as_ref()?);
    // Only its bits change.
    if then.is_some_and(|then| Thing::same_content(then, there)) {
        return None;
    }
    let going = match &there.data {
        Data::Text(text) => Going::Text(text.clone()),
        Data::Link(target) => Going::Link(target),
        Data::Bytes { size, .. } | Data::Unkept { size, .. } => Going::Bytes(*size),
        Data::Strange(_) => return None,
    };
    Some((path, going))
}

#[cfg(unix)]
fn link(target: &Path, place: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, place)
}

#[cfg(not(unix))]
fn link(target: &Path, place: &Path) -> io::Result<()> {
    fs::write(place, target.as_os_str().as_encoded_bytes())
}

/// The folder of all copies, in that of the snapshots.
pub(super) fn folder(snapshots: &Path) -> PathBuf {
    snapshots.join("undone")
}

/// Gives up old copies. Waits for the disk.
pub(super) fn prune(snapshots: &Path) {
    let entries = fs::read_dir(folder(snapshots)).into_iter().flatten().flatten();
    for entry in entries {
        let time = entry.metadata().and_then(|meta| meta.modified());
        if time.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > MOST_AGE)) {
            let _gone = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::agent::undo::state::on_disk;
    use crate::protocol::undo::UndoResult;
    use crate::workspace::opened::All;

    fn planned(path: &Path, then: Option<Option<Thing>>) -> Planned {
        let there = on_disk(path, &All);
        Planned {
            path: path.to_owned(),
            result: UndoResult::Restored,
            message: None,
            edit: None,
            disk: then,
            seen: there.clone(),
            there,
            is_open: false,
            save: false,
        }
    }

    /// What goes is kept as it was, by its own name, and only that.
    #[test]
    fn what_an_undo_takes_away_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("w");
        fs::create_dir_all(work.join("deep")).unwrap();
        fs::write(work.join("deep/text"), "mine\n").unwrap();
        fs::write(work.join("bytes"), [0, 255]).unwrap();
        fs::write(work.join("bits"), "same").unwrap();
        std::os::unix::fs::symlink("deep", work.join("link")).unwrap();
        let place = |name: &str| work.join(name);
        let other = Some(Some(Thing::text("before".to_owned(), None)));
        let same = Some(Some(Thing::text("same".to_owned(), Some(0o755))));
        let all = [
            planned(&place("deep/text"), Some(None)),
            planned(&place("bytes"), other.clone()),
            planned(&place("link"), Some(None)),
            planned(&place("bits"), same),
            planned(&place("absent"), other),
            planned(&place("left"), None),
        ];
        let folder = dir.path().join("undone/turn");
        let copies = Copies::keep(folder.clone(), &all, &All).unwrap();
        let kept = folder.join(work.strip_prefix("/").unwrap());
        assert_eq!(fs::read_to_string(kept.join("deep/text")).unwrap(), "mine\n");
        assert_eq!(fs::read(kept.join("bytes")).unwrap(), [0, 255]);
        assert_eq!(fs::read_link(kept.join("link")).unwrap(), Path::new("deep"));
        assert_eq!(copies.made.len(), 3);
        let said = copies.in_words().unwrap();
        assert!(said.contains("14 days") && said.contains("undone/turn"), "{said}");
        // As when the undo does not happen.
        copies.discard();
        assert!(!folder.exists());
        let none = Copies::keep(folder.clone(), &all[3..], &All).unwrap();
        assert!(none.in_words().is_none() && !folder.exists());
    }
}
