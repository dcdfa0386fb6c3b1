//! Tells where the hunks lie as the person types: by a task of its own, a moment after, and not once for every key.

use super::entry::Entry;
use super::placing::{Now, Placing};
use super::{Look, Proposals, Shared, aside};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// How long what the person types is collected.
const A_MOMENT: Duration = Duration::from_millis(30);

impl Proposals {
    /// Starts the task, if it does not run. It begins with what has changed since.
    pub(super) fn follow_typing(&self, changed: watch::Receiver<u64>) {
        if !std::mem::replace(&mut self.lock().following, true) {
            tokio::spawn(follow(Arc::downgrade(&self.shared), changed));
        }
    }

    /// Puts the hunks of open documents in place and tells what moved. False if nothing waits: then nobody follows.
    fn look_around(&self) -> bool {
        let looks = self.looks(|_| true);
        let were_open = {
            let mut state = self.lock();
            let were_open = |look: &Look| match state.entries.get(&look.id) {
                Some(entry) => entry.placings.iter().map(Placing::was_open).collect(),
                None => vec![false; look.plan.files.len()],
            };
            let were_open: Vec<Vec<bool>> = looks.iter().map(were_open).collect();
            state.following = state.entries.values().any(Entry::is_waiting);
            if !state.following {
                return false;
            }
            were_open
        };
        for (look, were_open) in looks.into_iter().zip(were_open) {
            // What happens on the disk is not announced; only what is or was open is looked at.
            let looked = look.take(|index, workspace, file| match workspace.document(&file.path) {
                Some(document) if file.whole.is_none() => Some(Now::Open(document)),
                Some(_) => Some(Now::of(workspace, file)),
                None if were_open[index] => Some(Now::of(workspace, file)),
                None => None,
            });
            // Also those that somebody else has looked at meanwhile.
            let id = looked.look.id.clone();
            looked.place(self);
            if let Some(entry) = self.lock().entries.get_mut(&id) {
                entry.tell_moves();
            }
        }
        true
    }
}

async fn follow(shared: Weak<Shared>, mut changed: watch::Receiver<u64>) {
    while changed.changed().await.is_ok() {
        tokio::time::sleep(A_MOMENT).await;
        changed.mark_unchanged();
        let Some(shared) = shared.upgrade() else { return };
        if !aside(move || Proposals { shared }.look_around()).await {
            return;
        }
    }
}
