//! What the agents do that a run sets to work: their events beside its own.

use crate::agent::Agent;
use crate::agent::stream::Subscription;
use crate::ids::ThreadId;
use crate::protocol::event::{Event, EventKind};
use futures::FutureExt as _;
use futures::future::{pending, select_all};
use std::collections::BTreeMap;

pub(super) struct Agents {
    agent: Agent,
    /// By the ids of their threads.
    names: BTreeMap<ThreadId, String>,
    events: Vec<Subscription>,
}

impl Agents {
    pub(super) fn new(agent: &Agent) -> Self {
        Self {
            agent: agent.clone(),
            names: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Follows an agent from its first event on, if this one tells of one that is not known yet.
    pub(super) fn note(&mut self, event: &EventKind) {
        let EventKind::AgentStatusChanged(changed) = event else {
            return;
        };
        let id = &changed.agent_thread_id;
        if let Some(thread) = self.agent.thread(id).filter(|_| !self.names.contains_key(id)) {
            self.names.insert(id.clone(), changed.state.name.clone());
            self.events.push(thread.subscribe(Some(0)));
        }
    }

    /// The next event of any of them.
    pub(super) async fn next(&mut self) -> Event {
        loop {
            if self.events.is_empty() {
                return pending().await;
            }
            let next = self.events.iter_mut().map(|events| events.next().boxed());
            let (event, at) = select_all(next).map(|(event, at, _)| (event, at)).await;
            match event {
                Some(event) => return event,
                None => drop(self.events.remove(at)),
            }
        }
    }

    /// What has come already.
    pub(super) fn rest(&mut self) -> Vec<Event> {
        let mut rest = Vec::new();
        for events in &mut self.events {
            rest.extend(std::iter::from_fn(|| events.next().now_or_never().flatten()));
        }
        rest
    }

    /// The agent's name, for those that are none of the run's own.
    pub(super) fn name(&self, thread: &ThreadId) -> Option<&str> {
        self.names.get(thread).map(String::as_str)
    }
}
