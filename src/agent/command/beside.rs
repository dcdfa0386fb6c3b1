//! The commands that run in a sandbox now, of all conversations. Each can change files and links while a command outside is
//! decided on, asked about and run.

use crate::exec::command::display;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Default)]
pub struct Beside(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: BTreeMap<u64, String>,
    next: u64,
}

/// As long as this is held, the command counts as running.
pub struct Running {
    beside: Beside,
    number: u64,
}

impl Beside {
    /// A command begins that can change files.
    pub fn enter(&self, argv: &[String]) -> Running {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.running.insert(number, display(argv));
        Running {
            beside: self.clone(),
            number,
        }
    }

    /// The one that has run for longest.
    pub fn first(&self) -> Option<String> {
        self.state().running.values().next().cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.beside.state().running.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_run_are_known() {
        let beside = Beside::default();
        assert_eq!(beside.first(), None);
        let first = beside.enter(&["make".to_owned()]);
        let second = beside.enter(&["npm".to_owned(), "run dev".to_owned()]);
        assert_eq!(beside.first().as_deref(), Some("make"));
        drop(first);
        assert_eq!(beside.first().as_deref(), Some("npm 'run dev'"));
        drop(second);
        assert_eq!(beside.first(), None);
    }
}
