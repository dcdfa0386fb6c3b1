//! Shows a thread's events to the client: all of them to our plugins, and to every other editor what standard LSP can
//! show: progress, messages, questions, edits to confirm.

mod attached;
pub mod change;
pub mod diff;
mod elicitation;
mod failed;
mod findings;
mod hints;
mod inputs;
mod preview;
mod progress;
mod questions;
mod restored;
mod review;
mod seen;
mod settings;
mod undone;
mod whole;
mod words;

pub use crate::server::outbound::Severity;
use crate::server::outbound::without_links;
pub use failed::again_title;
pub use findings::{FINDINGS_SOURCE, finding_diagnostic, severity_of};
pub use questions::title as approval_title;
pub use seen::that_fit;
pub(in crate::server) use whole::fits as question_fits;
pub use whole::{page as question_page, page_path as question_page_path, shows as shows_question};

use super::idle::Idle;
use super::outbound::Outbound;
use crate::agent::Agent;
use crate::agent::stream::{Stream, Subscription};
use crate::agent::thread::ThreadHandle;
use crate::ids::{ApprovalId, ElicitationId, ProposalId, QuestionsId, ThreadId, TurnId};
use crate::lsp::client::Client;
use crate::protocol::account::AccountRateLimitsUpdated;
use crate::protocol::event::{Event, EventKind};
use crate::protocol::method;
use crate::protocol::model::RateLimits;
use crate::protocol::proposal::Proposal;
use crate::protocol::turn::TurnErrorKind;
use attached::{Attached, Shown};
use progress::Progress;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Asks how the person wants to sign in, and does it.
type LogIn = Box<dyn Fn() + Send + Sync>;

#[derive(Clone)]
pub struct Presenter {
    shared: Arc<Shared>,
}

struct Shared {
    outbound: Outbound,
    client: Arc<Client>,
    agent: Agent,
    idle: Idle,
    /// The editor's preview, where it has one.
    panel: preview::Panel,
    /// What lies on open documents.
    surface: hints::Surface,
    state: Mutex<State>,
    /// Begins what *Sign in* of the commands begins.
    log_in: OnceLock<LogIn>,
    /// See [`Presenter::decisions`].
    decisions: Arc<tokio::sync::Mutex<()>>,
    /// Held by what asks in the model's name where only one question at a time can be shown.
    asking_inputs: tokio::sync::Mutex<()>,
    /// Tells that a thread has been shown to its end.
    ended: tokio::sync::watch::Sender<()>,
}

#[derive(Default)]
struct State {
    /// Threads whose events are shown, live ones and those that only have proposals.
    attached: Attached,
    /// Turns by their progress token, for the Cancel button.
    tokens: BTreeMap<String, (ThreadId, TurnId)>,
    /// Warnings that were shown.
    warned: BTreeSet<String>,
    /// What asks the person; aborting it takes the question back.
    asking_approval: BTreeMap<ApprovalId, AbortHandle>,
    asking_input: BTreeMap<QuestionsId, AbortHandle>,
    /// Questions that the person answers with their next message, by the thread that asks.
    in_words: BTreeMap<QuestionsId, ThreadId>,
    asking_elicitation: BTreeMap<ElicitationId, AbortHandle>,
    asking_proposal: BTreeMap<ProposalId, AskingProposal>,
    /// Changes that were shown in full.
    seen: BTreeSet<crate::ids::HunkId>,
    /// Texts that show changes once the editor has them open.
    unopened: Vec<Arc<seen::Unopened>>,
    /// Threads that a document shows, with the document: what stands there is not said in messages too.
    in_documents: BTreeSet<(ThreadId, String)>,
    /// Threads whose next answer is read in a chat document that opens.
    read_in_chat: BTreeSet<ThreadId>,
    /// Proposals of an earlier server that the person is not told of yet.
    restored: Vec<Proposal>,
}

struct AskingProposal {
    task: AbortHandle,
    /// Tells the task that the person has begun to decide on the hunks where they lie.
    elsewhere: Arc<Notify>,
}

impl Presenter {
    pub fn new(outbound: Outbound, client: Arc<Client>, agent: Agent, idle: Idle) -> Self {
        Self {
            shared: Arc::new(Shared {
                outbound,
                client,
                agent,
                idle,
                panel: preview::Panel::default(),
                surface: hints::Surface::default(),
                state: Mutex::default(),
                log_in: OnceLock::new(),
                decisions: Arc::default(),
                asking_inputs: tokio::sync::Mutex::default(),
                ended: tokio::sync::watch::Sender::default(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One's turn to decide on changes, in the order in which it was asked for: decisions look at files, so they are taken
    /// aside, and must not overtake each other there.
    pub async fn decisions(&self) -> tokio::sync::OwnedMutexGuard<()> {
        self.shared.decisions.clone().lock_owned().await
    }

    /// What *Sign in* does where an error offers it.
    pub fn logs_in_by(&self, log_in: impl Fn() + Send + Sync + 'static) {
        let _first = self.shared.log_in.set(Box::new(log_in));
    }

    fn log_in(&self) {
        if let Some(log_in) = self.shared.log_in.get() {
            log_in();
        }
    }

    /// Shows a thread from its first kept event on. A thread that is shown already stays as it is.
    pub fn attach(&self, thread: &ThreadHandle) {
        self.attach_to((thread.id().clone(), true), &thread.conversation().stream);
    }

    /// The same for the stream of a thread that is not live, whose proposals wait. They are shown quietly: the person is
    /// told that they are there, and asked nothing.
    pub fn attach_stream(&self, thread: &ThreadId, stream: &Stream) {
        self.attach_to((thread.clone(), false), stream);
    }

    fn attach_to(&self, shown: Shown, stream: &Stream) {
        let mut next = self.state().attached.attach(shown.clone(), stream);
        if next.is_none() {
            return;
        }
        let presenter = self.clone();
        tokio::spawn(async move {
            while let Some(subscription) = next {
                presenter.show_all(subscription, shown.1).await;
                next = presenter.state().attached.next(&shown);
                presenter.shared.ended.send_replace(());
            }
        });
    }

    /// Ends when a live thread that was shown has been shown to its end.
    pub async fn shown_to_end(&self, thread: &ThreadId) {
        let mut ended = self.shared.ended.subscribe();
        let (shown, so_far) = ((thread.clone(), true), self.state().attached.so_far());
        // The channel cannot close while `self` holds its other end.
        let _open = ended
            .wait_for(|()| self.state().attached.is_shown(&shown, so_far))
            .await;
    }

    /// Takes back what asks about proposals: the server stops, and they wait for the next one.
    pub fn withdraw_questions(&self) {
        let asking = std::mem::take(&mut self.state().asking_proposal);
        asking.into_values().for_each(|asking| asking.task.abort());
    }

    /// Ends when every thread that was shown has been shown to its end. From then on nothing new is put on documents.
    pub async fn finished(&self) {
        self.stop_looking();
        let mut ended = self.shared.ended.subscribe();
        // The channel cannot close while `self` holds its other end.
        let _open = ended.wait_for(|()| self.state().attached.is_done()).await;
    }

    async fn show_all(&self, mut subscription: Subscription, live: bool) {
        let mut progress = Progress::new(self.clone());
        while let Some(event) = subscription.next().await {
            if self.shared.client.can.plugin {
                self.shared
                    .outbound
                    .notify_paced(event.kind.method(), event.params())
                    .await;
                if live && let EventKind::TokenUsageUpdated(usage) = &event.kind {
                    self.tell_limits(usage.rate_limits.as_ref());
                }
            }
            self.show(event, &mut progress, live);
        }
    }

    /// What comes with the numbers of a thread holds for the account.
    fn tell_limits(&self, limits: Option<&RateLimits>) {
        if let Some(limits) = limits {
            let rate_limits = limits.clone();
            let updated = AccountRateLimitsUpdated { rate_limits };
            self.shared
                .outbound
                .notify(method::ACCOUNT_RATE_LIMITS_UPDATED, updated);
        }
    }

    fn show(&self, event: Event, progress: &mut Progress, live: bool) {
        progress.follow(&event);
        let plugin = self.shared.client.can.plugin;
        // What a turn comes to is in its document.
        let told = plugin || event.at.turn_id.is_some() && self.is_in_document(&event.at.thread_id);
        let is_over = matches!(event.kind, EventKind::TurnCompleted(_));
        let read_in_chat = is_over && self.leave_answer_to_chat(&event.at.thread_id, false);
        match event.kind {
            EventKind::ApprovalRequested(requested) => {
                let id = requested.approval.id().clone();
                let task = tokio::spawn(questions::ask(self.clone(), requested.approval));
                self.state().asking_approval.insert(id, task.abort_handle());
            }
            EventKind::ApprovalResolved(resolved) => {
                if let Some(task) = self.state().asking_approval.remove(&resolved.approval_id) {
                    task.abort();
                }
            }
            EventKind::AgentStatusChanged(changed) => {
                // Whoever sees the one that it works for sees it too, and answers its questions.
                if let Some(thread) = self.shared.agent.thread(&changed.agent_thread_id) {
                    self.attach(&thread);
                }
                let words = words::agent(&changed.state);
                self.record(&words);
            }
            EventKind::UserInputRequested(requested) => {
                let id = requested.request.id.clone();
                let task = tokio::spawn(inputs::ask(self.clone(), requested.request));
                self.state().asking_input.insert(id, task.abort_handle());
            }
            EventKind::UserInputResolved(resolved) => {
                let mut state = self.state();
                state.in_words.remove(&resolved.id);
                if let Some(task) = state.asking_input.remove(&resolved.id) {
                    task.abort();
                }
            }
            EventKind::McpElicitationRequested(requested) => {
                let id = requested.elicitation.id.clone();
                let task = tokio::spawn(elicitation::ask(self.clone(), requested.elicitation));
                self.state().asking_elicitation.insert(id, task.abort_handle());
            }
            EventKind::McpElicitationResolved(resolved) => {
                if let Some(task) = self.state().asking_elicitation.remove(&resolved.elicitation_id) {
                    task.abort();
                }
            }
            EventKind::ProposalCreated(created) => {
                self.look_over();
                // One that the policy accepted asks nobody.
                let asks = created.proposal.status.is_waiting() && !created.proposal.auto_approved;
                match live {
                    _ if self.shared.client.can.reviews_proposals || !asks => {}
                    true => self.ask_about(created.proposal),
                    false => restored::tell(self, created.proposal),
                }
            }
            EventKind::ProposalUpdated(updated) => {
                self.look_over();
                self.follow_decisions(&updated.proposal);
                if !updated.proposal.status.is_waiting() {
                    self.forget_shown(&updated.proposal);
                }
                if let Some(trouble) = words::left_out(&updated.proposal).filter(|_| !plugin) {
                    self.message(Severity::Warning, &trouble);
                }
            }
            EventKind::ReviewCompleted(_) | EventKind::ReviewFindingsChanged(_) | EventKind::ThreadClosed(_) => {
                self.findings_changed();
            }
            EventKind::FilesChanged(changed) => {
                self.findings_changed();
                self.record(&words::written(&changed));
            }
            EventKind::Warning(warning) => {
                self.log(Severity::Warning, &words::indented(&warning.message));
                // The same words in every turn are for the log.
                let new = self.state().warned.insert(warning.message.clone());
                if new && !told {
                    self.message(Severity::Warning, &warning.message);
                }
            }
            // Tried again without end, so nothing else would ever tell the person in words.
            EventKind::TurnRetrying(retrying) if !told && retrying.limit.is_none() && retrying.attempt == 2 => {
                let message = retrying.message.trim_end();
                self.message(
                    Severity::Warning,
                    &format!("{message} It is tried again until it answers; stop the turn to give up."),
                );
            }
            EventKind::Error(error) => {
                self.log(Severity::Error, &words::indented(&error.error.message));
                // One server fails in all threads, and is told of once.
                let of_server = error.error.kind == TurnErrorKind::ToolServerFailed && event.at.turn_id.is_none();
                let new = !of_server || self.state().warned.insert(error.error.message.clone());
                if new && !told {
                    failed::show(self, &event.at.thread_id, event.at.turn_id.as_ref(), &error.error);
                }
            }
            EventKind::ItemCompleted(completed) => {
                if matches!(
                    completed.item,
                    crate::protocol::item::ThreadItem::CommandExecution { .. }
                ) {
                    // It may have changed files.
                    self.findings_changed();
                }
                if let Some(line) = words::done(&completed.item) {
                    self.record(&line);
                }
                if !told {
                    undone::show(self, &event.at.thread_id, &completed.item);
                }
                if let Some(output) = words::own_command(&completed.item).filter(|_| !told) {
                    self.message(Severity::Info, &output);
                }
                if let Some(trouble) = words::trouble(&completed.item).filter(|_| !told) {
                    self.message(Severity::Warning, &trouble);
                }
            }
            EventKind::TerminalStarted(started) => self.record(&words::terminal(&started.terminal)),
            EventKind::TerminalExited(exited) => {
                let (number, code) = (exited.terminal_id, exited.exit_code);
                self.record(&match exited.full_output {
                    None => format!("Terminal {number} has ended with exit code {code}."),
                    Some(full) => format!(
                        "Terminal {number} has ended with exit code {code}. All of its output: {}",
                        crate::shown::path(&full)
                    ),
                });
            }
            // What an agent says at its end is for the one that it works for.
            EventKind::TurnCompleted(completed) if !told && !self.is_agent(&event.at.thread_id) => {
                let running = self
                    .shared
                    .agent
                    .services()
                    .terminals
                    .running(Some(&event.at.thread_id));
                if let Some(line) = words::run_on(&running) {
                    self.record(&line);
                }
                if let Some(answer) = completed
                    .last_agent_message
                    .filter(|answer| !read_in_chat && !answer.trim().is_empty())
                {
                    // Any line of it could look like one of the server's own.
                    let answer = words::indented(&words::cut(&answer, 1500));
                    self.message(Severity::Info, &format!("Agent: {answer}"));
                }
            }
            _ => {}
        }
    }

    fn is_agent(&self, thread: &ThreadId) -> bool {
        self.shared.agent.services().agents.identity(thread).is_some()
    }

    /// Shows what an undo came to, to a client that would not be told otherwise.
    pub fn undone(&self, thread: &ThreadId, item: &crate::protocol::item::ThreadItem) {
        undone::show(self, thread, item);
    }

    /// A document shows a thread from now on, or does so no more.
    pub fn mute(&self, thread: &ThreadId, document: &str, quiet: bool) {
        let shown = (thread.clone(), document.to_owned());
        let mut state = self.state();
        match quiet {
            true => state.in_documents.insert(shown),
            false => state.in_documents.remove(&shown),
        };
    }

    /// Whether the next answer of a thread is read in a chat document that opens, from now on; returns whether it was.
    pub fn leave_answer_to_chat(&self, thread: &ThreadId, is_read_there: bool) -> bool {
        let mut state = self.state();
        match is_read_there {
            true => !state.read_in_chat.insert(thread.clone()),
            false => state.read_in_chat.remove(thread),
        }
    }

    pub fn is_in_document(&self, thread: &ThreadId) -> bool {
        self.state().in_documents.iter().any(|(shown, _)| shown == thread)
    }

    /// Whether the person's next message is the answer that a thread waits for.
    pub fn waits_for_words(&self, thread: &ThreadId) -> bool {
        self.state().in_words.values().any(|waiting| waiting == thread)
    }

    /// Shows a message without asking anything.
    pub fn message(&self, severity: Severity, text: &str) {
        self.shared.outbound.notify(
            "window/showMessage",
            json!({"type": severity as u8, "message": without_links(text)}),
        );
    }

    pub fn log(&self, severity: Severity, text: &str) {
        self.shared.outbound.notify(
            "window/logMessage",
            json!({"type": severity as u8, "message": crate::shown::prose(text)}),
        );
    }

    /// What happens, for the editor's log. Our plugins show it all themselves: there it is for whoever looks closer.
    fn record(&self, text: &str) {
        let severity = match self.shared.client.can.plugin {
            true => Severity::Debug,
            false => Severity::Info,
        };
        self.log(severity, text);
    }

    /// Ends when a question may be asked that nobody waits for: when the person does not type, or the client's questions
    /// take no keys.
    pub async fn when_idle(&self) {
        self.shared.idle.wait().await;
    }

    /// See [`Outbound::choose`].
    async fn choose<'t>(
        &self,
        severity: Severity,
        message: &str,
        titles: impl IntoIterator<Item = &'t str>,
    ) -> Option<String> {
        self.shared.outbound.choose(severity, message, titles).await
    }

    /// A proposal in one line of at most about so many characters.
    pub fn in_words(&self, proposal: &Proposal, most: usize) -> String {
        words::cut(&words::proposal(proposal, &self.folder_of(proposal)), most)
    }

    /// What was to be accepted and does not fit keeps waiting, and the person hears of it. With a path only that file was
    /// meant.
    pub fn tell_what_still_waits(&self, proposal: &Proposal, path: Option<&Path>) {
        let left = change::waiting(proposal)
            .filter(|change| change.trouble().is_some() && path.is_none_or(|path| change.file.path == path));
        let names: BTreeSet<_> = left.map(|change| words::name(&change.file.path)).collect();
        if proposal.status.is_waiting() && !names.is_empty() {
            let names: Vec<_> = names.into_iter().collect();
            self.message(
                Severity::Warning,
                &format!(
                    "Not all of the agent's changes could be accepted: in {} the text that they replace has changed. What does \
                     not fit still waits; reject it, or bring the text back.",
                    words::cut(&names.join(", "), 300)
                ),
            );
        }
    }

    fn ask_about(&self, proposal: Proposal) {
        let elsewhere = Arc::new(Notify::new());
        let id = proposal.id.clone();
        let task = tokio::spawn(review::ask(self.clone(), proposal, elsewhere.clone()));
        let task = task.abort_handle();
        self.state()
            .asking_proposal
            .insert(id, AskingProposal { task, elsewhere });
    }

    /// A question that is settled elsewhere is taken back.
    fn follow_decisions(&self, proposal: &Proposal) {
        let mut state = self.state();
        if !proposal.status.is_waiting() {
            if let Some(asking) = state.asking_proposal.remove(&proposal.id) {
                asking.task.abort();
            }
        } else if let Some(asking) = state.asking_proposal.get(&proposal.id)
            && change::waiting(proposal).count() < proposal.files.iter().map(|file| file.hunks.len()).sum()
        {
            asking.elsewhere.notify_one();
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
