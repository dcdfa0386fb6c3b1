//! What is told of the account: in one order for the whole session, whichever request or command it comes from.

use super::after_reply;
use super::outbound::Outbound;
use crate::account::{Announce, Notice};
use crate::protocol::method;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Sends notices in the order in which they were given; cheap to clone. What must not precede an answer holds up what
/// comes after it: the last that is told is always the latest.
#[derive(Clone)]
pub struct Notices {
    outbound: Outbound,
    waiting: Arc<Mutex<VecDeque<(Notice, Gate)>>>,
}

/// Open once the answer to a request is in the queue.
type Gate = Arc<AtomicBool>;

impl Notices {
    pub fn new(outbound: Outbound) -> Self {
        Self {
            outbound,
            waiting: Arc::default(),
        }
    }

    /// Takes what comes of the request that is being handled: not told before its answer.
    pub fn after_the_answer(&self) -> Announce {
        let gate = Gate::default();
        let (notices, answered) = (self.clone(), gate.clone());
        after_reply(move || {
            answered.store(true, Ordering::Release);
            notices.send();
        });
        self.announce(gate)
    }

    /// Takes what comes of something that no request asked for.
    pub fn at_once(&self) -> Announce {
        self.announce(Arc::new(AtomicBool::new(true)))
    }

    fn announce(&self, gate: Gate) -> Announce {
        let notices = self.clone();
        Arc::new(move |notice| {
            notices.lock().push_back((notice, gate.clone()));
            notices.send();
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<(Notice, Gate)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what may go, up to the first that may not. The lock is held, so that nothing overtakes.
    fn send(&self) {
        let mut waiting = self.lock();
        while let Some((notice, _)) = waiting.pop_front_if(|(_, gate)| gate.load(Ordering::Acquire)) {
            match notice {
                Notice::Completed(completed) => self.outbound.notify(method::ACCOUNT_LOGIN_COMPLETED, completed),
                Notice::Updated(updated) => self.outbound.notify(method::ACCOUNT_UPDATED, updated),
            }
        }
    }
}
