//! What a turn has changed so far, and what was shown of that. It has a lock of its own: comparing large files takes long,
//! and whoever stops the turn meanwhile does not wait for it.

use crate::patch::turn_diff::TurnDiff;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(super) struct Difference {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    diff: TurnDiff,
    /// As it was shown last.
    shown: Option<String>,
    /// Which revision that was.
    revision: u64,
}

impl Difference {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&mut TurnDiff) -> T) -> T {
        work(&mut self.lock().diff)
    }

    /// What there is to show, if it is another than was shown last. `unified` compares the texts, with nothing held.
    pub(super) fn news(&self, unified: impl FnOnce(&TurnDiff) -> Option<String>) -> Option<String> {
        let taken = self.lock().diff.clone();
        let diff = unified(&taken);
        let mut state = self.lock();
        // Somebody else may have shown a later one.
        if taken.revision() < state.revision || diff == state.shown {
            return None;
        }
        state.revision = taken.revision();
        state.shown.clone_from(&diff);
        Some(diff.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn nothing_is_held_while_texts_are_compared_and_the_latest_is_what_was_shown() {
        let difference = Difference::default();
        let record = |text: &str| difference.with(|diff| diff.record(Path::new("/w/a"), Some("0\n"), Some(text)));
        let unified = |diff: &TurnDiff| diff.unified(Path::new("/w"));
        record("1\n");
        let mut later = None;
        let earlier = difference.news(|diff| {
            assert!(
                difference.state.try_lock().is_ok(),
                "it is held while texts are compared"
            );
            // Another one is quicker.
            record("2\n");
            later = difference.news(unified);
            unified(diff)
        });
        assert!(later.expect("news").contains("+2"));
        assert_eq!(earlier, None, "an older one after a newer one");
        assert_eq!(difference.news(unified), None);
        record("0\n");
        assert_eq!(difference.news(unified).as_deref(), Some(""));
    }
}
