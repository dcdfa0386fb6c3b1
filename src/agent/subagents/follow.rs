//! What becomes of a sub-agent: followed in its events, told to the thread that it works for.

use super::family::Member;
use super::mail::Letter;
use crate::agent::conversation::Conversation;
use crate::agent::services::Services;
use crate::agent::stream::Subscription;
use crate::ids::ThreadId;
use crate::protocol::agent::{AgentState, AgentStatus};
use crate::protocol::event::{AgentStatusChanged, EventKind, TurnCompleted};
use crate::protocol::turn::TurnStatus;
use std::sync::Arc;

/// Follows an agent to its end.
pub(super) fn follow(services: Arc<Services>, parent: Arc<Conversation>, id: ThreadId, mut events: Subscription) {
    tokio::spawn(async move {
        let agents = &services.agents;
        // Whoever closes it may have forgotten it before its last event is read here.
        let mut last = agents.family().member(&id).map(Member::state);
        while let Some(event) = events.next().await {
            match event.kind {
                EventKind::TurnStarted(_) => {
                    let state = agents.family().set(&id, AgentStatus::Running, None);
                    last = state.clone().or(last);
                    tell(&parent, state, &id);
                }
                EventKind::TurnCompleted(done) => {
                    let (status, words) = outcome(&done);
                    let state = agents.family().set(&id, status, words.clone());
                    if state.is_none() {
                        continue;
                    }
                    last.clone_from(&state);
                    tell(&parent, state, &id);
                    // Before whoever waits is told that it is done: they find what it said.
                    if let Some(text) = &words {
                        let letter = Letter {
                            from: &id,
                            to: &parent.id,
                            text,
                            wakes: true,
                            is_outcome: true,
                        };
                        if let Err(error) = agents.deliver(letter).await {
                            tracing::info!(agent = %id, %error, "nobody is there to hear what a sub-agent came to");
                        }
                    }
                    agents.changed.notify_waiters();
                }
                EventKind::ThreadClosed(_) => break,
                _ => {}
            }
        }
        let state = last.map(|state| AgentState {
            status: AgentStatus::Shutdown,
            ..state
        });
        tell(&parent, state, &id);
        agents.family().remove(&id);
        agents.changed.notify_waiters();
    });
}

/// Tells the parent's clients where an agent stands.
pub(super) fn tell(parent: &Conversation, state: Option<AgentState>, id: &ThreadId) {
    if let Some(state) = state {
        let agent_thread_id = id.clone();
        parent.publish(
            None,
            EventKind::AgentStatusChanged(AgentStatusChanged { agent_thread_id, state }),
        );
    }
}

/// How a turn of an agent ended, and what its parent is told of it: nothing where it was stopped, since whoever stopped it
/// knows.
fn outcome(done: &TurnCompleted) -> (AgentStatus, Option<String>) {
    match done.turn.status {
        TurnStatus::Completed | TurnStatus::InProgress => {
            let words = done.last_agent_message.clone().filter(|words| !words.trim().is_empty());
            let words = words.unwrap_or_else(|| "(I am done and have nothing to say.)".to_owned());
            (AgentStatus::Completed, Some(words))
        }
        TurnStatus::Interrupted => (AgentStatus::Interrupted, None),
        TurnStatus::Failed => {
            let why = done
                .turn
                .error
                .as_ref()
                .map_or("no reason is known", |error| error.message.as_str());
            (
                AgentStatus::Errored,
                Some(format!("(I failed and did not finish: {why})")),
            )
        }
    }
}
