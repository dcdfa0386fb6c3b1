//! One lane for each session: what is asked of it is done in the order in which it came.

use crate::ids::ThreadId;
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// What is to be done. How many may wait is bounded by [`super::flight`].
type Job = BoxFuture<'static, ()>;

#[derive(Default)]
pub(super) struct Lanes(Mutex<HashMap<ThreadId, UnboundedSender<Job>>>);

impl Lanes {
    fn all(&self) -> MutexGuard<'_, HashMap<ThreadId, UnboundedSender<Job>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has(&self, session: &ThreadId) -> bool {
        self.all().contains_key(session)
    }

    /// Puts a job behind those that wait.
    pub(super) fn enter(&self, session: ThreadId, job: Job) {
        let mut lanes = self.all();
        let lane = lanes.entry(session).or_insert_with(|| {
            let (sender, mut jobs) = unbounded_channel::<Job>();
            tokio::spawn(async move {
                while let Some(job) = jobs.recv().await {
                    job.await;
                }
            });
            sender
        });
        // The task ends when its lane is taken away, and never before.
        let _ = lane.send(job);
    }

    /// Takes a session's lane away; what waits in it is still done.
    pub(super) fn remove(&self, session: &ThreadId) {
        self.all().remove(session);
    }
}
