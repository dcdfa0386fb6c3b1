//! Tells where the hunks lie as the person types: by a task of its own, a moment after, and not once for every key.

use super::placing::Now;
use super::{Proposals, Shared, aside};
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
        let waiting: Vec<_> = {
            let mut state = self.lock();
            let waiting = state.entries.iter().filter(|(_, entry)| entry.is_waiting());
            let found: Vec<_> = waiting
                .map(|(id, entry)| {
                    let were_open: Vec<bool> = entry.placings.iter().map(super::placing::Placing::was_open).collect();
                    (id.clone(), entry.plan.clone(), were_open, self.seen_by(&entry.proposal))
                })
                .collect();
            state.following = !found.is_empty();
            found
        };
        let any = !waiting.is_empty();
        for (id, plan, were_open, workspace) in waiting {
            let files = plan.files.iter().zip(were_open).enumerate();
            // What happens on the disk is not announced; only what is or was open is looked at.
            let looked: Vec<(usize, Now)> = files
                .filter_map(|(index, (file, was_open))| {
                    let document = workspace.document(&file.path);
                    match document {
                        Some(document) => Some((index, Now::Open(document))),
                        None if was_open => Some((index, Now::of(&workspace, file))),
                        None => None,
                    }
                })
                .collect();
            let mut state = self.lock();
            let Some(entry) = state.entries.get_mut(&id) else {
                continue;
            };
            for (index, now) in &looked {
                entry.place(*index, now);
            }
            // Also those that somebody else has looked at meanwhile.
            entry.tell_moves();
        }
        any
    }
}

async fn follow(desk: Weak<Shared>, mut changed: watch::Receiver<u64>) {
    while changed.changed().await.is_ok() {
        tokio::time::sleep(A_MOMENT).await;
        changed.mark_unchanged();
        let Some(shared) = desk.upgrade() else { return };
        if !aside(move || Proposals { shared }.look_around()).await {
            return;
        }
    }
}
