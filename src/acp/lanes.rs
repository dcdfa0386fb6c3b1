//! One lane for each session: what is asked of it is done in the order in which it came.

use crate::ids::ThreadId;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// What is to be done. How many may wait is bounded by [`super::flight`].
type Job = BoxFuture<'static, ()>;

#[derive(Default)]
pub(super) struct Lanes(Mutex<HashMap<ThreadId, Lane>>);

struct Lane {
    jobs: UnboundedSender<Job>,
    /// Jobs that have not come to their end. It grows only under the lock of all lanes.
    open: Arc<AtomicUsize>,
}

impl Lane {
    fn begin() -> Self {
        let (sender, mut jobs) = unbounded_channel::<Job>();
        let open = Arc::new(AtomicUsize::new(0));
        let counted = open.clone();
        tokio::spawn(async move {
            while let Some(job) = jobs.recv().await {
                // What breaks in one job must not keep those behind it from being done.
                if AssertUnwindSafe(job).catch_unwind().await.is_err() {
                    tracing::error!("a request of a session broke off");
                }
                counted.fetch_sub(1, Ordering::AcqRel);
            }
        });
        Self { jobs: sender, open }
    }

    /// The error gives the job back: nobody takes any here.
    fn enter(&self, job: Job) -> Result<(), Job> {
        self.open.fetch_add(1, Ordering::AcqRel);
        self.jobs.send(job).map_err(|unsent| unsent.0)
    }
}

impl Lanes {
    fn all(&self) -> MutexGuard<'_, HashMap<ThreadId, Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has(&self, session: &ThreadId) -> bool {
        self.all().contains_key(session)
    }

    /// Puts a job behind those that wait.
    pub(super) fn enter(&self, session: ThreadId, job: Job) {
        let mut lanes = self.all();
        let lane = lanes.entry(session).or_insert_with(Lane::begin);
        if let Err(job) = lane.enter(job) {
            tracing::error!("a session's lane had ended; it has a new one");
            *lane = Lane::begin();
            // A lane that has just begun takes what comes.
            let _taken = lane.enter(job);
        }
    }

    /// Takes a session's lane away, for its last job: not while others wait in it, which a new lane would pass.
    pub(super) fn leave(&self, session: &ThreadId) {
        let mut lanes = self.all();
        if lanes
            .get(session)
            .is_some_and(|lane| lane.open.load(Ordering::Acquire) <= 1)
        {
            lanes.remove(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    async fn breaks() {
        panic!("broken");
    }

    #[tokio::test]
    async fn a_job_that_breaks_off_stops_no_other_and_a_lane_stays_while_jobs_wait() {
        let lanes = Arc::new(Lanes::default());
        let session = ThreadId::from("s");
        lanes.enter(session.clone(), Box::pin(breaks()));
        let (told, first) = oneshot::channel();
        let (of_first, id) = (lanes.clone(), session.clone());
        let (go, waits) = oneshot::channel::<()>();
        let work = async move {
            waits.await.expect("word");
            of_first.leave(&id);
            told.send(of_first.has(&id)).expect("somebody waits");
        };
        lanes.enter(session.clone(), Box::pin(work));
        let (told, second) = oneshot::channel();
        let (of_second, id) = (lanes.clone(), session.clone());
        let work = async move {
            of_second.leave(&id);
            told.send(of_second.has(&id)).expect("somebody waits");
        };
        lanes.enter(session.clone(), Box::pin(work));
        go.send(()).expect("it waits");
        assert!(first.await.expect("done"), "another job waits behind the first");
        assert!(!second.await.expect("done"), "nothing waits behind the second");
    }
}
