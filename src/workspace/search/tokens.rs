//! The names that a client gives its searches: a new one under a name stops the one before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The searches that run, by name; cheap to clone.
#[derive(Clone, Default)]
pub struct Tokens(Arc<Mutex<Running>>);

#[derive(Default)]
struct Running {
    by_name: HashMap<String, (u64, CancellationToken)>,
    last: u64,
}

/// A search that runs. Its name is free when this is dropped, unless a newer search has taken it; its work is to stop then.
pub struct Claim {
    all: Tokens,
    name: Option<String>,
    number: u64,
    stop: CancellationToken,
}

impl Tokens {
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a search, and stops the one that has its name.
    pub fn begin(&self, name: Option<String>) -> Claim {
        let stop = CancellationToken::new();
        let mut running = self.lock();
        running.last += 1;
        let number = running.last;
        if let Some(name) = &name
            && let Some((_, older)) = running.by_name.insert(name.clone(), (number, stop.clone()))
        {
            older.cancel();
        }
        drop(running);
        Claim {
            all: self.clone(),
            name,
            number,
            stop,
        }
    }
}

impl Claim {
    /// Fires when the search is to stop.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.stop.cancel();
        let Some(name) = &self.name else { return };
        let mut running = self.all.lock();
        if running
            .by_name
            .get(name)
            .is_some_and(|(number, _)| *number == self.number)
        {
            running.by_name.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows S-368, S-369.
    #[test]
    fn a_name_belongs_to_the_newest_search_until_that_ends() {
        let all = Tokens::default();
        let name = || Some("at".to_owned());
        let first = all.begin(name());
        let second = all.begin(name());
        assert!(first.stop().is_cancelled() && !second.stop().is_cancelled());
        let third = all.begin(name());
        assert!(second.stop().is_cancelled());
        // One that has lost its name leaves it to the newest.
        drop(second);
        drop(first);
        let other = all.begin(Some("other".to_owned()));
        assert!(!third.stop().is_cancelled());
        let fourth = all.begin(name());
        assert!(third.stop().is_cancelled() && !other.stop().is_cancelled());
        drop((third, fourth, other));
        assert!(all.lock().by_name.is_empty());
        assert!(!all.begin(None).stop().is_cancelled());
    }
}
