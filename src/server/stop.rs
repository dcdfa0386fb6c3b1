//! The end of the session: who may call for it, and what is done in which order.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// All steps together get this long.
pub const TEARDOWN_LIMIT: Duration = Duration::from_millis(2200);
/// A step whose turn comes after the limit still gets this long.
const LAST_MOMENT: Duration = Duration::from_millis(100);

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `exit` after `shutdown`.
    Exit,
    /// `exit` without `shutdown`.
    ExitWithoutShutdown,
    /// The client closed its end, or cannot be written to.
    ClientGone,
    /// The process that started the server is gone.
    ParentGone,
    /// The system asked the process to end.
    Signal,
    /// A message too large to be read.
    TooLarge,
    /// Bytes that belong to no message, over a socket.
    NoFrame,
}

impl End {
    /// The status of the process.
    pub fn code(self) -> u8 {
        match self {
            Self::Exit => 0,
            _ => 1,
        }
    }
}

/// Ends the session from anywhere. The first reason counts.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    why: OnceLock<End>,
    token: CancellationToken,
}

impl Stop {
    pub fn now(&self, why: End) {
        // Only the first reason is kept.
        let _ = self.0.why.set(why);
        self.0.token.cancel();
    }

    /// Waits for the end to be called for.
    pub async fn called(&self) -> End {
        self.0.token.cancelled().await;
        self.0.why.get().copied().unwrap_or(End::ClientGone)
    }
}

type Step = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// What must be done before the process ends, in the order in which it was registered. Runs once, however
/// many ask for it: `shutdown`, `exit`, a lost pipe, a dead parent, a signal.
#[derive(Clone, Default)]
pub struct Teardown(Arc<TeardownState>);

struct TeardownState {
    limit: Duration,
    plan: Mutex<Plan>,
    done: watch::Sender<bool>,
}

#[derive(Default)]
struct Plan {
    steps: Vec<(&'static str, Step)>,
    begun: bool,
}

impl Default for TeardownState {
    fn default() -> Self {
        Self {
            limit: TEARDOWN_LIMIT,
            plan: Mutex::default(),
            done: watch::Sender::new(false),
        }
    }
}

impl Teardown {
    /// Adds a step. One that is added when the teardown has begun runs at once.
    pub fn register<F>(&self, name: &'static str, step: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let step: Step = Box::new(move || step().boxed());
        {
            let mut plan = self.plan();
            if !plan.begun {
                plan.steps.push((name, step));
                return;
            }
        }
        tokio::spawn(run_step(name, step, Instant::now() + self.0.limit));
    }

    /// Runs all steps, or waits until they have run if another has begun. Dropping the future stops nothing.
    pub async fn run(&self) {
        let mut done = self.0.done.subscribe();
        let steps = {
            let mut plan = self.plan();
            (!std::mem::replace(&mut plan.begun, true)).then(|| std::mem::take(&mut plan.steps))
        };
        if let Some(steps) = steps {
            let state = self.0.clone();
            tokio::spawn(async move {
                let deadline = Instant::now() + state.limit;
                for (name, step) in steps {
                    run_step(name, step, deadline).await;
                }
                state.done.send_replace(true);
            });
        }
        // The sender lives as long as `self`.
        let _ = done.wait_for(|done| *done).await;
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.0.plan.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

async fn run_step(name: &'static str, step: Step, deadline: Instant) {
    let deadline = deadline.max(Instant::now() + LAST_MOMENT);
    let work = AssertUnwindSafe(async move { step().await }).catch_unwind();
    match tokio::time::timeout_at(deadline, work).await {
        Ok(Ok(())) => tracing::debug!(name, "teardown step done"),
        Ok(Err(_)) => tracing::error!(name, "teardown step panicked"),
        Err(_) => tracing::error!(name, "teardown step did not end in time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn steps_run_once_in_order_and_within_the_limit() {
        let limit = Duration::from_millis(50);
        let teardown = Teardown(Arc::new(TeardownState {
            limit,
            ..TeardownState::default()
        }));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let note = |name: &'static str| {
            let seen = seen.clone();
            move || seen.lock().unwrap().push(name)
        };
        let (first, second, late) = (note("first"), note("second"), note("late"));
        teardown.register("first", move || async move { first() });
        teardown.register("panics", || async { panic!("a step that fails") });
        teardown.register("hangs", std::future::pending);
        teardown.register("second", move || async move { second() });
        let other = teardown.clone();
        let both = async { tokio::join!(teardown.run(), other.run()) };
        tokio::time::timeout(TEARDOWN_LIMIT, both)
            .await
            .expect("ends within its limit");
        assert_eq!(*seen.lock().unwrap(), ["first", "second"]);
        teardown.register("late", move || async move { late() });
        tokio::task::yield_now().await;
        assert_eq!(*seen.lock().unwrap(), ["first", "second", "late"]);
        teardown.run().await;
    }

    #[tokio::test]
    async fn a_caller_that_gives_up_stops_nothing() {
        let teardown = Teardown::default();
        let (sent, received) = tokio::sync::oneshot::channel();
        teardown.register("slow", move || async move {
            tokio::task::yield_now().await;
            let _ = sent.send(());
        });
        assert!(teardown.run().now_or_never().is_none());
        received.await.unwrap();
    }

    #[tokio::test]
    async fn the_first_reason_counts() {
        let stop = Stop::default();
        stop.now(End::ParentGone);
        stop.now(End::Exit);
        assert_eq!(stop.called().await, End::ParentGone);
        assert_eq!((End::Exit.code(), End::ExitWithoutShutdown.code()), (0, 1));
    }
}
