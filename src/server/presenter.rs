//! Shows a thread's events to the client: all of them to our plugins, and to every other editor what standard LSP can
//! show: progress, messages, questions, edits to confirm.

mod preview;
mod progress;
mod questions;
mod review;
mod words;

use super::outbound::Outbound;
use crate::agent::Agent;
use crate::agent::stream::{Stream, Subscription};
use crate::agent::thread::ThreadHandle;
use crate::ids::{ApprovalId, ProposalId, ThreadId, TurnId};
use crate::lsp::client::Client;
use crate::protocol::event::{Event, EventKind};
use crate::protocol::thread::ThreadStatus;
use progress::Progress;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

/// Types of messages (LSP 3.17, MessageType).
#[derive(Clone, Copy)]
pub enum Severity {
    Error = 1,
    Warning = 2,
    Info = 3,
    Log = 4,
}

#[derive(Clone)]
pub struct Presenter {
    shared: Arc<Shared>,
}

struct Shared {
    outbound: Outbound,
    client: Arc<Client>,
    agent: Agent,
    state: Mutex<State>,
    /// Tells that a thread has been shown to its end.
    ended: tokio::sync::watch::Sender<()>,
}

#[derive(Default)]
struct State {
    /// Threads whose events are shown, live ones and those that only have proposals.
    attached: BTreeSet<(ThreadId, bool)>,
    /// Turns by their progress token, for the Cancel button.
    tokens: BTreeMap<String, (ThreadId, TurnId)>,
    /// Warnings that were shown.
    warned: BTreeSet<String>,
    /// What asks the person; aborting it takes the question back.
    asking_approval: BTreeMap<ApprovalId, AbortHandle>,
    asking_proposal: BTreeMap<ProposalId, AbortHandle>,
}

impl Presenter {
    pub fn new(outbound: Outbound, client: Arc<Client>, agent: Agent) -> Self {
        Self {
            shared: Arc::new(Shared {
                outbound,
                client,
                agent,
                state: Mutex::default(),
                ended: tokio::sync::watch::Sender::default(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows a thread from its first kept event on. A thread that is shown already stays as it is.
    pub fn attach(&self, thread: &ThreadHandle) {
        self.attach_to((thread.id().clone(), true), || thread.subscribe(Some(0)));
    }

    /// The same for the stream of a thread that is not live, whose proposals wait.
    pub fn attach_stream(&self, thread: &ThreadId, stream: &Stream) {
        self.attach_to((thread.clone(), false), || stream.subscribe(Some(0)));
    }

    fn attach_to(&self, shown: (ThreadId, bool), subscribe: impl FnOnce() -> Subscription) {
        if self.state().attached.insert(shown.clone()) {
            let (presenter, subscription) = (self.clone(), subscribe());
            tokio::spawn(async move {
                presenter.show_all(subscription).await;
                presenter.state().attached.remove(&shown);
                presenter.shared.ended.send_replace(());
            });
        }
    }

    /// Takes back what asks about proposals: the server stops, and they wait for the next one.
    pub fn withdraw_questions(&self) {
        let asking = std::mem::take(&mut self.state().asking_proposal);
        asking.into_values().for_each(|task| task.abort());
    }

    /// Ends when every thread that was shown has been shown to its end.
    pub async fn finished(&self) {
        let mut ended = self.shared.ended.subscribe();
        // The channel cannot close while `self` holds its other end.
        let _open = ended
            .wait_for(|()| self.state().attached.iter().all(|(_, live)| !live))
            .await;
    }

    async fn show_all(&self, mut subscription: Subscription) {
        let mut progress = Progress::new(self.clone());
        while let Some(event) = subscription.next().await {
            if self.shared.client.can.plugin {
                self.shared
                    .outbound
                    .notify_paced(event.kind.method(), event.params())
                    .await;
            }
            self.show(event, &mut progress);
        }
    }

    fn show(&self, event: Event, progress: &mut Progress) {
        progress.follow(&event);
        let plugin = self.shared.client.can.plugin;
        match event.kind {
            EventKind::ApprovalRequested(requested) => {
                let id = requested.approval.id.clone();
                let task = tokio::spawn(questions::ask(self.clone(), requested.approval));
                self.state().asking_approval.insert(id, task.abort_handle());
            }
            EventKind::ApprovalResolved(resolved) => {
                if let Some(task) = self.state().asking_approval.remove(&resolved.approval_id) {
                    task.abort();
                }
            }
            EventKind::ProposalCreated(created) if !plugin => {
                self.refresh_lenses();
                let id = created.proposal.id.clone();
                let task = tokio::spawn(review::ask(self.clone(), created.proposal));
                self.state().asking_proposal.insert(id, task.abort_handle());
            }
            EventKind::ProposalUpdated(updated) if !plugin => {
                self.refresh_lenses();
                let settled = !updated.proposal.status.is_waiting();
                if settled && let Some(task) = self.state().asking_proposal.remove(&updated.proposal.id) {
                    task.abort();
                }
                if let Some(trouble) = words::left_out(&updated.proposal) {
                    self.message(Severity::Warning, &trouble);
                }
            }
            EventKind::FilesChanged(changed) => {
                self.log(Severity::Info, &words::written(&changed));
            }
            EventKind::Warning(warning) => {
                self.log(Severity::Warning, &warning.message);
                // The same words in every turn are for the log.
                let new = self.state().warned.insert(warning.message.clone());
                if new && !plugin {
                    self.message(Severity::Warning, &warning.message);
                }
            }
            // Tried again without end, so nothing else would ever tell the person in words.
            EventKind::TurnRetrying(retrying) if !plugin && retrying.limit.is_none() && retrying.attempt == 2 => {
                let message = retrying.message.trim_end();
                self.message(
                    Severity::Warning,
                    &format!("{message} It is tried again until it answers; stop the turn to give up."),
                );
            }
            EventKind::Error(error) => {
                self.log(Severity::Error, &error.error.message);
                if !plugin {
                    self.message(Severity::Error, &error.error.message);
                }
            }
            EventKind::ItemCompleted(completed) => {
                if let Some(line) = words::done(&completed.item) {
                    self.log(Severity::Info, &line);
                }
                if let Some(trouble) = words::trouble(&completed.item).filter(|_| !plugin) {
                    self.message(Severity::Warning, &trouble);
                }
            }
            EventKind::TurnCompleted(completed) if !plugin => {
                if let Some(answer) = completed.last_agent_message.filter(|answer| !answer.trim().is_empty()) {
                    self.message(Severity::Info, &words::cut(&answer, 1500));
                }
            }
            EventKind::ThreadStatusChanged(changed) if changed.status == ThreadStatus::Idle => self.refresh_lenses(),
            _ => {}
        }
    }

    /// Shows a message without asking anything.
    pub fn message(&self, severity: Severity, text: &str) {
        self.shared
            .outbound
            .notify("window/showMessage", json!({"type": severity as u8, "message": text}));
    }

    pub fn log(&self, severity: Severity, text: &str) {
        self.shared
            .outbound
            .notify("window/logMessage", json!({"type": severity as u8, "message": text}));
    }

    fn refresh_lenses(&self) {
        if self.shared.client.can.code_lens_refresh {
            let pending = self
                .shared
                .outbound
                .request::<serde_json::Value>("workspace/codeLens/refresh", ());
            tokio::spawn(async move {
                let _shown = tokio::time::timeout(std::time::Duration::from_secs(10), pending).await;
            });
        }
    }

    /// The person pressed Cancel on a progress.
    pub fn cancel_progress(&self, token: &str) {
        let Some((thread, turn)) = self.state().tokens.get(token).cloned() else {
            return;
        };
        if let Some(handle) = self.shared.agent.thread(&thread) {
            tokio::spawn(async move {
                if let Err(error) = handle.interrupt(Some(turn)).await {
                    tracing::info!(%error, "nothing to cancel");
                }
            });
        }
    }
}
