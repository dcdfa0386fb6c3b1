//! Which entries a command has written by their names, as far as its keeper was asked. What else changes while it runs was
//! changed by somebody else.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most entries that are remembered of one command. Of one that writes more, it is not known what it wrote.
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "told by the keeper, which Linux has")
)]
pub(super) const MOST: usize = 1 << 17;

/// What one command writes, from before it starts on. A clone is the same.
#[derive(Clone, Debug, Default)]
pub struct Wrote(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Whether somebody tells of it.
    is_told: bool,
    /// Whether something was written that nobody has told of.
    is_lost: bool,
    marks: HashSet<u64>,
}

impl Wrote {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These real paths, and no others.
    pub fn of(places: &[PathBuf]) -> Self {
        Self(Arc::new(Mutex::new(State {
            is_told: true,
            is_lost: false,
            marks: places.iter().map(|place| mark(place, false)).collect(),
        })))
    }

    /// Whether all that the command has written so far is known by name.
    pub fn is_known(&self) -> bool {
        let state = self.state();
        state.is_told && !state.is_lost
    }

    /// Whether it has written this entry, or has moved it with a folder around it. A real path.
    pub fn names(&self, place: &Path) -> bool {
        let state = self.state();
        let mut around = place.ancestors();
        state.marks.contains(&mark(place, false)) || around.any(|place| state.marks.contains(&mark(place, true)))
    }

    /// Whether nobody but who asks has to do with it: the command has ended.
    pub fn is_over(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "told by the keeper, which Linux has")
)]
impl Wrote {
    /// From now on it is told.
    pub(super) fn begin(&self) {
        self.state().is_told = true;
    }

    pub(super) fn add(&self, mark: u64) {
        self.state().marks.insert(mark);
    }

    pub(super) fn lose(&self) {
        self.state().is_lost = true;
    }

    /// Takes over what was told before it was known who wants to hear it.
    pub(super) fn take_over(&self, earlier: &Self) {
        let earlier = std::mem::take(&mut *earlier.state());
        let mut state = self.state();
        state.is_told |= earlier.is_told;
        state.is_lost |= earlier.is_lost;
        state.marks.extend(earlier.marks);
    }
}

/// Stands for an entry between processes of this program; with `whole` for all that is in it, too.
pub(super) fn mark(place: &Path, whole: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    (place, whole).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_wrote_by_table() {
        let early = Wrote::default();
        early.begin();
        early.add(mark(Path::new("/w/early"), false));
        let wrote = Wrote::default();
        assert!(!wrote.is_known());
        wrote.take_over(&early);
        wrote.add(mark(Path::new("/w/made"), false));
        wrote.add(mark(Path::new("/w/moved"), true));
        assert!(wrote.is_known());
        for (place, expected) in [
            ("/w/early", true),
            ("/w/made", true),
            // What is in a folder that was only made has names of its own.
            ("/w/made/x", false),
            ("/w/moved", true),
            ("/w/moved/deep/x", true),
            ("/w/moved2", false),
            ("/w", false),
        ] {
            assert_eq!(wrote.names(Path::new(place)), expected, "{place}");
        }
        wrote.lose();
        assert!(!wrote.is_known());
        let clone = wrote.clone();
        assert!(!wrote.is_over());
        drop(clone);
        assert!(wrote.is_over());
    }
}
