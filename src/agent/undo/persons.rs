//! What the person's own commands change while a command of the agent runs: it would look like the agent's doing, and an
//! undo would take it back.
//!
//! Only a command of the person's that begins while one of the agent's is watched is looked at; outside such a time nobody
//! compares the workspace. What both change at the same time counts as the agent's unless it is just what the person's
//! command left.

use super::track::look;
use crate::agent::turn::Turn;
use crate::snapshot::{Change, Snapshot};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The person's commands of a server; cheap to clone.
#[derive(Clone, Default)]
pub struct Persons {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Commands of the agent that are watched now.
    watches: usize,
    /// The person's commands that began meanwhile, in their order.
    windows: Vec<Arc<Window>>,
}

struct Window {
    before: Vec<Snapshot>,
    /// Absent while it runs.
    after: Mutex<Option<Vec<Snapshot>>>,
}

/// A command of the person's on its way.
pub(in crate::agent) struct Doing(Option<Arc<Window>>);

/// A command of the agent that is watched.
pub(super) struct Watching {
    persons: Persons,
    /// Commands of the person's before this one are none of its time.
    from: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Persons {
    /// Call before a command of the person's begins.
    pub(in crate::agent) async fn begin(&self, turn: &Turn) -> Doing {
        if lock(&self.state).watches == 0 {
            return Doing(None);
        }
        let Ok(before) = look(turn, &turn.own_commands).await else {
            return Doing(None);
        };
        let window = Arc::new(Window {
            before,
            after: Mutex::default(),
        });
        let mut state = lock(&self.state);
        if state.watches == 0 {
            return Doing(None);
        }
        state.windows.push(window.clone());
        Doing(Some(window))
    }

    pub(super) fn watch(&self) -> Watching {
        let mut state = lock(&self.state);
        state.watches += 1;
        Watching {
            persons: self.clone(),
            from: state.windows.len(),
        }
    }
}

impl Doing {
    /// Call when the command has ended.
    pub(in crate::agent) async fn end(self, turn: &Turn) {
        if let Some(window) = self.0
            && let Ok(after) = look(turn, &CancellationToken::new()).await
        {
            *lock(&window.after) = Some(after);
        }
    }
}

impl Watching {
    /// What the person's commands have changed in a folder since the watch began; `now` is how it stands.
    pub(super) fn changes(&self, now: &Snapshot) -> Vec<Change> {
        let windows: Vec<_> = lock(&self.persons.state).windows[self.from..].to_vec();
        let of_folder = |snapshots: &[Snapshot]| {
            let mut of_folder = snapshots.iter().filter(|snapshot| snapshot.root() == now.root());
            of_folder.next().cloned()
        };
        let changes = windows.iter().filter_map(|window| {
            let before = of_folder(&window.before)?;
            let after = lock(&window.after).as_deref().and_then(of_folder);
            Some(before.changes(after.as_ref().unwrap_or(now)))
        });
        changes.flatten().collect()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut state = lock(&self.persons.state);
        state.watches -= 1;
        if state.watches == 0 {
            state.windows.clear();
        }
    }
}
