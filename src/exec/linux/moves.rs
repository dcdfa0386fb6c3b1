//! Where a command has moved something to, as far as its keeper was asked. What lies there when it has ended has come along,
//! whatever was there when the keeper looked.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The most places that are remembered.
const MOST: usize = 4_000;

/// In the place of a place that does not matter.
const ELSEWHERE: u64 = 0;

/// The places, each by its folder (device and inode), which may be moved itself, and by its name there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Moves(HashSet<u64>);

impl Moves {
    /// Remembers that something comes to a place, or where none is given, to one that does not matter. Where the folder is not
    /// there yet, the first one on the way that is not stands for it.
    pub(super) fn note(&mut self, place: Option<&Path>) {
        let mark = place.map_or(Some(ELSEWHERE), |place| place.ancestors().find_map(mark));
        if self.0.len() <= MOST {
            self.0.extend(mark);
        }
    }

    /// Whether anything was moved at all.
    pub(super) fn are_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether there were more than are remembered.
    pub(super) fn are_too_many(&self) -> bool {
        self.0.len() > MOST
    }

    /// Whether something was moved to this place, or to that of a folder around it.
    pub(super) fn brought(&self, place: &Path) -> bool {
        let was_moved = |place: &Path| mark(place).is_some_and(|mark| self.0.contains(&mark));
        !self.0.is_empty() && place.ancestors().any(was_moved)
    }

    /// As they are told between processes.
    pub(super) fn written(&self) -> Vec<u8> {
        self.0.iter().flat_map(|mark| mark.to_le_bytes()).collect()
    }

    /// What was written so.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let marks = bytes.chunks_exact(8).filter_map(|mark| mark.try_into().ok());
        Self(marks.map(u64::from_le_bytes).collect())
    }
}

fn mark(place: &Path) -> Option<u64> {
    let folder = fs::metadata(place.parent()?).ok()?;
    let mut hasher = DefaultHasher::new();
    (folder.dev(), folder.ino(), place.file_name()?).hash(&mut hasher);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_brought_along() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        fs::create_dir_all(root.join("from/deep")).expect("mkdir");
        fs::create_dir_all(root.join("src/other")).expect("mkdir");
        let mut moves = Moves::default();
        assert!(!moves.brought(&root.join("src/to/deep")));
        moves.note(None);
        assert!(moves.are_any() && !moves.brought(&root.join("src/to")));
        moves.note(Some(&root.join("src/to")));
        moves.note(Some(&root.join("src/absent/x")));
        fs::rename(root.join("from"), root.join("src/to")).expect("rename");
        fs::rename(root.join("src"), root.join("new")).expect("rename");
        fs::create_dir(root.join("new/absent")).expect("mkdir");
        let told = Moves::of(&moves.written());
        assert_eq!(told, moves);
        for (place, expected) in [
            ("new/to", true),
            ("new/to/deep/x", true),
            ("new/absent/x/y", true),
            ("new/other", false),
            ("new/to2", false),
            ("to", false),
        ] {
            assert_eq!(told.brought(&root.join(place)), expected, "{place}");
        }
        assert!(!told.are_too_many());
        for at in 0..2 * MOST {
            moves.note(Some(&root.join(at.to_string())));
        }
        assert!(moves.are_too_many());
        assert_eq!(moves.written().len(), 8 * (MOST + 1));
    }
}
