//! Work-done progress: one for each turn, with a line for each item, ended in every way a turn can end.

use super::{Presenter, words};
use crate::ids::{ThreadId, TurnId};
use crate::protocol::approval::ApprovalDecision;
use crate::protocol::event::{Event, EventKind};
use crate::protocol::proposal::ProposalStatus;
use crate::protocol::turn::{Turn, TurnStatus};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a client may take to accept a progress token; one that never answers gets no progress.
const CREATE_LIMIT: Duration = Duration::from_secs(10);

pub(super) struct Progress {
    presenter: Presenter,
    running: Option<Running>,
    /// What the latest item does, to be said again after a question.
    doing: Option<String>,
}

struct Running {
    turn: TurnId,
    values: mpsc::UnboundedSender<Value>,
}

impl Progress {
    pub(super) fn new(presenter: Presenter) -> Self {
        Self {
            presenter,
            running: None,
            doing: None,
        }
    }

    /// Shows what an event says of a turn's progress.
    pub(super) fn follow(&mut self, event: &Event) {
        match &event.kind {
            EventKind::TurnStarted(started) => self.begin(&event.at.thread_id, &started.turn.id),
            EventKind::ItemStarted(started) => {
                if let Some(line) = words::doing(&started.item) {
                    self.report(&line);
                    self.doing = Some(line);
                }
            }
            EventKind::ApprovalResolved(resolved) => {
                let goes_on = resolved.decision.is_some_and(ApprovalDecision::is_yes);
                if let Some(line) = self.doing.as_deref().filter(|_| goes_on) {
                    self.report(line);
                }
            }
            EventKind::ProposalUpdated(updated) if updated.proposal.status == ProposalStatus::Accepted => {
                self.report("Applying the change");
            }
            EventKind::UserInputResolved(_) => {
                if let Some(line) = self.doing.as_deref() {
                    self.report(line);
                }
            }
            EventKind::ApprovalRequested(_) | EventKind::UserInputRequested(_) => {
                self.report("Waiting for your answer")
            }
            EventKind::ProposalCreated(_) => self.report("Waiting for your review"),
            EventKind::TurnRetrying(retrying) => {
                let count = match retrying.limit {
                    Some(limit) => format!("{} of {limit}", retrying.attempt),
                    None => format!("{}", retrying.attempt),
                };
                self.report(&format!("Reconnecting {count}: {}", words::cut(&retrying.message, 120)));
            }
            EventKind::TurnCompleted(completed) => self.end(&completed.turn),
            _ => {}
        }
    }

    fn begin(&mut self, thread: &ThreadId, turn: &TurnId) {
        if !self.presenter.shared.client.can.work_done_progress {
            return;
        }
        let token = format!("countersign-{turn}");
        self.presenter
            .state()
            .tokens
            .insert(token.clone(), (thread.clone(), turn.clone()));
        let (values, queue) = mpsc::unbounded_channel();
        tokio::spawn(send(self.presenter.clone(), token, queue));
        let _first =
            values.send(json!({"kind": "begin", "title": "Countersign", "message": "Starting", "cancellable": true}));
        self.running = Some(Running {
            turn: turn.clone(),
            values,
        });
    }

    fn report(&self, line: &str) {
        if let Some(running) = &self.running {
            let _gone = running
                .values
                .send(json!({"kind": "report", "message": crate::shown::line(line), "cancellable": true}));
        }
    }

    fn end(&mut self, turn: &Turn) {
        if let Some(running) = self.running.take_if(|running| running.turn == turn.id) {
            let message = match turn.status {
                TurnStatus::Completed | TurnStatus::InProgress => "Done",
                TurnStatus::Interrupted => "Stopped",
                TurnStatus::Failed => "Failed",
            };
            let _gone = running.values.send(json!({"kind": "end", "message": message}));
        }
    }
}

/// Sends a turn's progress once the client has accepted the token. Ends with the `end` value, or with the thread.
async fn send(presenter: Presenter, token: String, mut values: mpsc::UnboundedReceiver<Value>) {
    let outbound = &presenter.shared.outbound;
    let create = outbound.request::<Value>("window/workDoneProgress/create", json!({"token": token}));
    let accepted = matches!(tokio::time::timeout(CREATE_LIMIT, create).await, Ok(Ok(_)));
    let mut ended = false;
    while let Some(value) = values.recv().await {
        ended = value["kind"] == "end";
        if accepted {
            outbound.notify("$/progress", json!({"token": token, "value": value}));
        }
        if ended {
            break;
        }
    }
    if accepted && !ended {
        outbound.notify("$/progress", json!({"token": token, "value": {"kind": "end"}}));
    }
    presenter.state().tokens.remove(&token);
}
