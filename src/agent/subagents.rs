//! Agents that work for agents: who belongs to whom, how many there may be, who waits for whom, and what becomes of them.
//!
//! A sub-agent is a thread like any other. What is kept here is only the family: it is bounded in number and depth, is
//! stopped and closed with the thread that it works for, and knows its members by name.

mod carry;
mod family;
mod follow;
mod mail;
mod spawn;

pub(super) use carry::carry_out;
#[cfg(test)]
pub(super) use mail::envelope;
pub(super) use mail::{is_envelope, send};

use super::spending::Spending;
use super::thread::ThreadHandle;
use super::{Agent, Shared};
use crate::ids::ThreadId;
use crate::protocol::agent::SubAgent;
use family::Family;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use tokio::sync::Notify;

/// All families of a server.
#[derive(Default)]
pub struct Agents {
    family: Mutex<Family>,
    /// Somebody's status has changed, and whatever they had to say is on its way.
    changed: Notify,
    /// The threads, once they are there.
    threads: OnceLock<Weak<Shared>>,
}

impl Agents {
    /// Where the threads are; said once, by whoever has them.
    pub(super) fn belongs_to(&self, shared: &Arc<Shared>) {
        let _first_counts = self.threads.set(Arc::downgrade(shared));
    }

    fn family(&self) -> MutexGuard<'_, Family> {
        self.family.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn agent(&self) -> Option<Agent> {
        let shared = self.threads.get()?.upgrade()?;
        Some(Agent { shared })
    }

    fn thread(&self, id: &ThreadId) -> Option<ThreadHandle> {
        self.agent()?.thread(id)
    }

    /// What a live thread is, if it is a sub-agent.
    pub fn identity(&self, id: &ThreadId) -> Option<SubAgent> {
        self.family().member(id).map(|member| member.identity.clone())
    }

    /// The spending of the turn that set an agent to work last.
    pub(super) fn payer(&self, id: &ThreadId) -> Option<Arc<Spending>> {
        self.family().member(id)?.payer.clone()
    }

    /// The person has said something: what the agents of that conversation may cost is counted anew.
    pub fn person_spoke(&self, thread: &ThreadId) {
        self.family().person_spoke(thread);
    }

    /// Stops whatever works for a thread. Says whether anything did.
    pub fn interrupt_below(&self, thread: &ThreadId) -> bool {
        let below = {
            let mut family = self.family();
            let below = family.below(thread);
            if !below.is_empty() {
                family.stopped_below(thread);
            }
            below
        };
        let mut any = false;
        for handle in below.iter().filter_map(|id| self.thread(id)) {
            if handle.running().is_some() {
                any = true;
                tokio::spawn(async move {
                    if let Err(error) = handle.interrupt(None).await {
                        tracing::info!(%error, "a sub-agent was gone before it was stopped");
                    }
                });
            }
        }
        any
    }

    /// Closes whatever works for a thread, all at once: each may take its time to stop.
    pub async fn close_below(&self, thread: &ThreadId) {
        let below = self.family().below(thread);
        futures::future::join_all(below.iter().map(|id| self.close(id))).await;
    }

    /// A thread has ended: what works for it ends too, and nothing is kept of its family.
    pub(super) async fn ended(&self, thread: &ThreadId) {
        self.close_below(thread).await;
        let mut family = self.family();
        family.waits_no_more(thread);
        family.forget(thread);
    }

    /// Closes one agent. Its thread can still be read.
    async fn close(&self, id: &ThreadId) {
        let handle = self.agent().and_then(|agent| agent.forget(id));
        if let Some(handle) = handle {
            // Whoever follows it tells the others.
            handle.close().await;
        }
        self.family().remove(id);
        self.changed.notify_waiters();
    }
}
