//! The commands that run for the client beside all conversations, by the names that it gave them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Those that run; cheap to clone.
#[derive(Clone, Default)]
pub struct OneOffs {
    running: Arc<Mutex<HashMap<String, CancellationToken>>>,
}

/// One that runs. It is forgotten when this is dropped.
pub struct Entry {
    all: OneOffs,
    name: Option<String>,
    stop: CancellationToken,
}

impl OneOffs {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one in. None if another of this name still runs.
    pub fn begin(&self, name: Option<String>) -> Option<Entry> {
        let stop = CancellationToken::new();
        if let Some(name) = &name {
            let mut running = self.lock();
            if running.contains_key(name) {
                return None;
            }
            running.insert(name.clone(), stop.clone());
        }
        Some(Entry {
            all: self.clone(),
            name,
            stop,
        })
    }

    /// Stops one. False if none of this name runs.
    pub fn stop(&self, name: &str) -> bool {
        let found = self.lock().get(name).cloned();
        found.map(|stop| stop.cancel()).is_some()
    }
}

impl Entry {
    /// Fires when it is to stop.
    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            self.all.lock().remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_free_again_when_its_command_has_ended() {
        let all = OneOffs::default();
        let first = all.begin(Some("a".to_owned())).expect("free");
        assert!(all.begin(Some("a".to_owned())).is_none());
        assert!(all.begin(None).is_some() && all.begin(Some("b".to_owned())).is_some());
        assert!(all.stop("a") && first.stop().is_cancelled());
        assert!(!all.stop("b"), "dropped at once");
        drop(first);
        assert!(!all.stop("a"));
        assert!(all.begin(Some("a".to_owned())).is_some());
    }
}
