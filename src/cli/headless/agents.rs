//! What the agents do that a run sets to work: their events beside its own.

use crate::agent::Agent;
use crate::agent::stream::Subscription;
use crate::ids::ThreadId;
use crate::protocol::event::{Event, EventKind};
use std::collections::BTreeMap;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub(super) struct Agents {
    agent: Agent,
    /// By the ids of their threads.
    names: BTreeMap<ThreadId, String>,
    to: UnboundedSender<Event>,
    events: UnboundedReceiver<Event>,
}

impl Agents {
    pub(super) fn new(agent: &Agent) -> Self {
        let (to, events) = unbounded_channel();
        Self {
            agent: agent.clone(),
            names: BTreeMap::new(),
            to,
            events,
        }
    }

    /// Follows an agent from its first event on, if this one tells of one that is not known yet.
    pub(super) fn note(&mut self, event: &EventKind) {
        let EventKind::AgentStatusChanged(changed) = event else {
            return;
        };
        if self.names.contains_key(&changed.agent_thread_id) {
            return;
        }
        if let Some(thread) = self.agent.thread(&changed.agent_thread_id) {
            self.names
                .insert(changed.agent_thread_id.clone(), changed.state.name.clone());
            tokio::spawn(forward(thread.subscribe(Some(0)), self.to.clone()));
        }
    }

    /// The next event of any of them.
    pub(super) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// What has come already.
    pub(super) fn rest(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    /// The agent's name, for those that are none of the run's own.
    pub(super) fn name(&self, thread: &ThreadId) -> Option<&str> {
        self.names.get(thread).map(String::as_str)
    }
}

async fn forward(mut events: Subscription, to: UnboundedSender<Event>) {
    while let Some(event) = events.next().await {
        if to.send(event).is_err() {
            break;
        }
    }
}
