//! Reads a thread's stream of events, as any other subscriber does, and tells what is worth a record.

use super::emitter::Emitter;
use super::record::now;
use crate::agent::stream::Subscription;
use crate::ids::{ApprovalId, TurnId};
use crate::protocol::approval::{Approval, ApprovalDecision};
use crate::protocol::event::{Event, EventKind};
use crate::protocol::item::{CommandSource, ItemStatus, ThreadItem, UserInput};
use crate::protocol::turn::TurnStatus;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Whether a call may be carried out, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) word: &'static str,
    pub(super) source: &'static str,
}

impl Decision {
    fn of(decision: Option<ApprovalDecision>) -> Self {
        let word = match decision {
            Some(ApprovalDecision::Accept) => "approved",
            Some(ApprovalDecision::AcceptForSession | ApprovalDecision::AcceptAlways) => "approved_for_session",
            Some(ApprovalDecision::Decline) => "denied",
            Some(ApprovalDecision::Cancel) | None => "abort",
        };
        Self { word, source: "user" }
    }

    /// What became of something that nobody was asked about.
    fn of_policy(status: ItemStatus) -> Self {
        let word = match status {
            ItemStatus::Declined => "denied",
            _ => "approved",
        };
        Self { word, source: "config" }
    }

    /// What became of a patch that the person saw.
    fn of_patch(status: ItemStatus) -> Self {
        let word = match status {
            ItemStatus::Declined => "denied",
            ItemStatus::Interrupted => "abort",
            _ => "approved",
        };
        Self { word, source: "user" }
    }
}

/// Follows a thread to its end.
pub(super) struct Follower {
    emitter: Arc<Emitter>,
    /// The first words that a sub-agent hears are not the person's.
    is_agent: bool,
    /// Turns in which the person said something.
    turns: u64,
    has_spoken: bool,
    /// The call that each open question is about, and what its tool usually is.
    asked: BTreeMap<ApprovalId, (String, String)>,
    /// Calls that were asked about in the running turn.
    decided: BTreeSet<String>,
    /// When each item of the running turn began.
    began: BTreeMap<String, u64>,
    is_closed: bool,
}

impl Follower {
    pub(super) fn new(emitter: Arc<Emitter>, is_agent: bool) -> Self {
        Self {
            emitter,
            is_agent,
            turns: 0,
            has_spoken: false,
            asked: BTreeMap::new(),
            decided: BTreeSet::new(),
            began: BTreeMap::new(),
            is_closed: false,
        }
    }

    pub(super) async fn follow(mut self, mut events: Subscription) {
        while let Some(event) = events.next().await {
            self.take(&event);
        }
        self.emitter.ended(self.turns, self.is_closed);
    }

    fn take(&mut self, event: &Event) {
        let turn = event.at.turn_id.as_ref();
        if let EventKind::TurnStarted(started) = &event.kind {
            self.has_spoken = false;
            self.emitter.turn_began(&started.turn.id);
        }
        if !is_delta(&event.kind) {
            self.emitter.note(turn, event.kind.method());
        }
        match &event.kind {
            EventKind::ThreadConfigured(configured) => self.emitter.configured(&configured.settings),
            EventKind::ThreadClosed(_) => self.is_closed = true,
            EventKind::TurnCompleted(completed) => {
                self.decided.clear();
                self.began.clear();
                let outcome = match (completed.turn.status, &completed.turn.error) {
                    (TurnStatus::Completed, _) => ("completed", Ok(())),
                    (TurnStatus::Interrupted, _) => ("interrupted", Ok(())),
                    (_, Some(error)) => ("failed", Err(error.message.clone())),
                    (_, None) => ("failed", Err(String::new())),
                };
                self.emitter.turn_ended(&completed.turn.id, Some(outcome));
            }
            EventKind::ItemStarted(started) => {
                let id = item_id(&started.item);
                self.began.extend(id.map(|id| (id, now())));
            }
            EventKind::ItemCompleted(completed) => self.completed(turn, &completed.item),
            EventKind::ApprovalRequested(requested) => {
                let approval = &requested.approval;
                let (call, tool) = match approval {
                    Approval::Command(command) => (command.item_id.as_str(), "shell"),
                    Approval::Permission(permission) if permission.proposal_id.is_some() => {
                        (permission.item_id.as_str(), "apply_patch")
                    }
                    Approval::Permission(permission) => (permission.item_id.as_str(), "request_permissions"),
                    Approval::Tool(tool) => (tool.item_id.as_str(), tool.tool.as_str()),
                };
                let about = (call_of(call).to_owned(), tool.to_owned());
                self.asked.insert(approval.id().clone(), about);
            }
            EventKind::ApprovalResolved(resolved) => {
                if let Some((call, tool)) = self.asked.remove(&resolved.approval_id) {
                    self.emitter
                        .decision(turn, &call, &tool, Decision::of(resolved.decision), None);
                    self.decided.insert(call);
                }
            }
            _ => {}
        }
    }

    fn completed(&mut self, turn: Option<&TurnId>, item: &ThreadItem) {
        match item {
            ThreadItem::UserMessage { content, .. } => {
                // A sub-agent's task is its starter's.
                if std::mem::take(&mut self.is_agent) {
                    self.has_spoken = true;
                    return;
                }
                if !std::mem::replace(&mut self.has_spoken, true) {
                    self.turns += 1;
                }
                self.emitter.prompt(turn, &prompt(content));
            }
            ThreadItem::CommandExecution { id, source, status, .. } if *source == CommandSource::Agent => {
                self.by_policy(turn, id.as_str(), "shell", *status)
            }
            ThreadItem::McpToolCall { id, tool, status, .. } => self.by_policy(turn, id.as_str(), tool, *status),
            // Of one without a proposal nobody has decided anything.
            ThreadItem::FileChange {
                id,
                proposal_id: Some(_),
                status,
                auto_approved,
                ..
            } => {
                let decision = match auto_approved {
                    true => Decision::of_policy(*status),
                    false => Decision::of_patch(*status),
                };
                self.emitter
                    .decision(turn, call_of(id.as_str()), "apply_patch", decision, None);
            }
            _ => {}
        }
    }

    /// Something is over that nobody was asked about, unless somebody was.
    fn by_policy(&mut self, turn: Option<&TurnId>, id: &str, tool: &str, status: ItemStatus) {
        let call = call_of(id);
        if self.decided.insert(call.to_owned()) {
            let since = self.began.get(id).copied();
            self.emitter
                .decision(turn, call, tool, Decision::of_policy(status), since);
        }
    }
}

/// The call that an item belongs to: a second run, outside the sandbox, is an item of its own.
fn call_of(item: &str) -> &str {
    item.strip_suffix("-retry").unwrap_or(item)
}

fn item_id(item: &ThreadItem) -> Option<String> {
    match item {
        ThreadItem::CommandExecution { id, .. } | ThreadItem::McpToolCall { id, .. } => Some(id.to_string()),
        _ => None,
    }
}

fn is_delta(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::AgentMessageDelta(_)
            | EventKind::ReasoningSummaryDelta(_)
            | EventKind::ReasoningDelta(_)
            | EventKind::CommandOutputDelta(_)
            | EventKind::TerminalOutput(_)
            | EventKind::McpToolCallProgress(_)
            | EventKind::ProposalMoved(_)
    )
}

/// What the person typed.
fn prompt(content: &[UserInput]) -> String {
    let texts = content.iter().filter_map(|piece| match piece {
        UserInput::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
