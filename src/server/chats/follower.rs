//! Follows one document's conversation: its events become text, its orders become turns.

mod ask;
mod on_disk;
mod page;
mod send;
mod trust;

pub(super) use ask::Settled;

use super::writer::Writer;
use super::{Order, View};
use crate::agent::Opened;
use crate::agent::stream::Subscription;
use crate::agent::thread::ThreadHandle;
use crate::chat::catch_up::{self, Told};
use crate::chat::document::Chat;
use crate::chat::plan::Write;
use crate::chat::story::Story;
use crate::chat::{self};
use crate::handlers::sandbox;
use crate::ids::{ThreadId, TurnId};
use crate::protocol::approval::ApprovalDecision;
use crate::protocol::event::{Event, EventKind};
use crate::protocol::item::ThreadItem;
use crate::protocol::settings::SettingsOverride;
use crate::protocol::thread::ThreadResumeParams;
use crate::server::presenter::Severity;
use crate::server::presenter::that_fit;
use crate::server::session::Session;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use trust::Trust;

struct Follower {
    session: Session,
    uri: String,
    view: View,
    writer: Writer,
    thread: Option<ThreadHandle>,
    events: Option<Subscription>,
    /// Turns that are being written.
    stories: Vec<Telling>,
    /// Turns that are in the document already, or over.
    done: BTreeSet<TurnId>,
    /// Messages that were sent from here, by what we called them; and others that are written.
    known: BTreeSet<String>,
    /// Where the conversation was when it was taken up: its number, and the turns that it had. Others up to there were dropped.
    taken_up: (u64, BTreeSet<TurnId>),
    /// Rollbacks that the document tells of already.
    own_rollbacks: usize,
    closed: bool,
    /// It was opened while an edit was on its way: it is compared when that has come to its end.
    compare_later: bool,
    /// What of the document is the person's own; absent before somebody has looked.
    trust: Option<Trust>,
    /// A change was told of that is not looked at yet.
    changed: Arc<AtomicBool>,
    /// The person is asked about what somebody else wrote.
    asking: Option<AbortHandle>,
}

struct Telling {
    turn: TurnId,
    tag: String,
    story: Story,
    /// What the person said in it.
    words: Vec<String>,
    /// Its section is there, or on its way.
    begun: bool,
    retried: bool,
    /// It is a review, whose heading says what its first message says.
    is_review: bool,
}

/// Runs until nothing is left to be done for the document.
pub(super) async fn follow(
    session: Session,
    uri: String,
    (view, changed): (View, Arc<AtomicBool>),
    mut inbox: mpsc::UnboundedReceiver<Order>,
) {
    let mut follower = Follower {
        writer: Writer::new(session.clone(), uri.clone()),
        session: session.clone(),
        uri: uri.clone(),
        view,
        thread: None,
        events: None,
        stories: Vec::new(),
        done: BTreeSet::new(),
        known: BTreeSet::new(),
        taken_up: (0, BTreeSet::new()),
        own_rollbacks: 0,
        closed: false,
        compare_later: false,
        trust: None,
        changed,
        asking: None,
    };
    loop {
        tokio::select! {
            order = inbox.recv() => match order {
                Some(order) => follower.obey(order).await,
                None => break,
            },
            event = next(&mut follower.events) => follower.take(event),
            () = follower.writer.step() => follower.stepped().await,
        }
        if follower.closed
            && !follower.writer.is_busy()
            && follower.stories.is_empty()
            && session.chats().forget(&uri, &mut inbox)
        {
            break;
        }
    }
    follower.mute(false);
    follower.ask_no_more();
}

/// The next event; never, while there is nothing to follow.
async fn next(events: &mut Option<Subscription>) -> Option<Event> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

impl Follower {
    fn text(&self) -> Option<String> {
        let document = self.session.workspace().document_by_uri(&self.uri)?;
        Some(document.text())
    }

    fn path(&self) -> Option<PathBuf> {
        let document = self.session.workspace().document_by_uri(&self.uri)?;
        document.path().map(ToOwned::to_owned)
    }

    fn message(&self, words: &str) {
        self.session.presenter().message(Severity::Error, words);
    }

    /// What the document shows the presenter need not say.
    fn mute(&self, quiet: bool) {
        if let Some(thread) = &self.thread {
            self.session.presenter().mute(thread.id(), &self.uri, quiet);
        }
    }

    /// After each step of the writer: a document that takes nothing is no place to be told in.
    fn speak(&self) {
        self.mute(!self.closed && self.writer.works());
    }

    /// The writer has come to the end of a step.
    async fn stepped(&mut self) {
        if !self.writer.is_busy() && std::mem::take(&mut self.compare_later) && !self.closed {
            self.reopen().await;
        }
        self.speak();
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Opened(document) => {
                self.closed = false;
                // At once: a turn that ends while the disk is looked at is told in the document.
                self.speak();
                self.distrust(&document).await;
                self.writer.clear();
                self.compare_later = self.writer.is_busy();
                if !self.compare_later {
                    self.reopen().await;
                }
                self.speak();
            }
            Order::Closed => {
                self.closed = true;
                self.compare_later = false;
                self.writer.clear();
                self.mute(false);
                self.ask_no_more();
            }
            Order::Changed => return self.looked_at().await,
            Order::Saved(document, said) => return self.saved(document, said).await,
            Order::Settled(settled) => {
                if let Err(trouble) = self.settle(settled).await {
                    self.message(&trouble);
                }
                self.speak();
            }
            Order::Send => {
                if let Err(trouble) = self.send().await {
                    self.message(&trouble);
                }
                self.speak();
            }
            Order::Refuse(what) => {
                if let Err(trouble) = self.refuse(what).await {
                    self.message(&trouble);
                }
                self.speak();
            }
            Order::Begin => {
                self.leave();
                self.view.seen().lost = true;
                self.session.presenter().message(
                    Severity::Info,
                    "The next message in this document begins a new conversation.",
                );
            }
        }
        self.session.presenter().lenses_changed();
    }

    /// Lets go of the conversation.
    fn leave(&mut self) {
        self.mute(false);
        for telling in std::mem::take(&mut self.stories) {
            self.done.insert(telling.turn);
        }
        (self.thread, self.events) = (None, None);
        *self.view.seen() = super::Seen::default();
    }

    /// Brings the document and the conversation that its header names together.
    async fn reopen(&mut self) {
        let Some(text) = self.text() else { return };
        self.writer.clear();
        let chat = Chat::read(&text);
        let Some(id) = chat.field("thread").map(ThreadId::from) else {
            return;
        };
        if !self.follows(&chat, "thread") {
            return self.says_whose_it_is();
        }
        if self.thread.as_ref().is_none_or(|thread| *thread.id() != id) {
            self.leave();
            let params = ThreadResumeParams {
                thread_id: Some(id.clone()),
                path: None,
                settings: SettingsOverride::default(),
                dynamic_tools: None,
            };
            match self.session.agent().resume_thread(params).await {
                Ok(opened) => self.hold(&opened),
                Err(error) => return self.lost(&text, &error.to_string()),
            }
        }
        self.catch_up();
    }

    /// The conversation cannot be resumed: the document says so, once, and what to do.
    fn lost(&mut self, text: &str, why: &str) {
        self.view.seen().lost = true;
        let why = why.trim().trim_end_matches('.');
        let words = format!(
            "*This conversation cannot be resumed: {}. What stands here stays; the next message that you send begins a new \
             conversation.*",
            chat::text::inline(why, 600)
        );
        let chat = Chat::read(text);
        let said = chat
            .answer(None)
            .is_some_and(|section| text[section.body.clone()].contains("This conversation cannot be resumed"));
        if !said {
            self.writer.put(Write::Said { words: None, tag: None });
            self.writer.put(Write::More { tag: None, text: words });
        }
    }

    fn hold(&mut self, opened: &Opened) {
        let thread = opened.handle.clone();
        self.session.presenter().attach(&thread);
        sandbox::tell_what_is_missing(&self.session);
        let number = thread.conversation().stream.last_seq();
        self.events = Some(thread.subscribe(Some(0)));
        let turns = thread.snapshot(true).turns.into_iter().map(|turn| turn.id);
        self.taken_up = (number, turns.collect());
        self.own_rollbacks = 0;
        let mut seen = self.view.seen();
        seen.thread = Some(thread.id().clone());
        seen.lost = false;
        drop(seen);
        self.thread = Some(thread);
    }

    /// Writes what the document lacks.
    fn catch_up(&mut self) {
        let (Some(thread), Some(text)) = (&self.thread, self.text()) else {
            return;
        };
        let turns = thread.snapshot(true).turns;
        let over: Vec<_> = turns
            .into_iter()
            // The one that runs is told by its events.
            .filter(|turn| turn.status != crate::protocol::turn::TurnStatus::InProgress)
            .filter(|turn| self.stories.iter().all(|telling| telling.turn != turn.id))
            .collect();
        let stories = catch_up::stories(&over);
        let mut told: Vec<Told<'_>> = stories
            .iter()
            .map(|(tag, words, story)| Told {
                tag: tag.clone(),
                words: words.clone(),
                answer: story.all(),
            })
            .collect();
        for telling in self.stories.iter_mut().filter(|telling| telling.begun) {
            telling.story.skip();
        }
        told.extend(self.stories.iter().filter(|telling| telling.begun).map(|telling| Told {
            tag: telling.tag.clone(),
            words: telling.words.clone(),
            answer: telling.story.all(),
        }));
        for write in catch_up::writes(&text, &told) {
            self.writer.put(write);
        }
        self.done.extend(over.into_iter().map(|turn| turn.id));
    }

    fn telling(&mut self, turn: &TurnId) -> &mut Telling {
        let at = match self.stories.iter().position(|telling| telling.turn == *turn) {
            Some(at) => at,
            None => {
                self.stories.push(Telling {
                    tag: chat::tag(turn),
                    turn: turn.clone(),
                    story: Story::default(),
                    words: Vec::new(),
                    begun: false,
                    retried: false,
                    is_review: false,
                });
                self.stories.len() - 1
            }
        };
        &mut self.stories[at]
    }

    fn take(&mut self, event: Option<Event>) {
        let Some(event) = event else {
            // The conversation is closed; it is taken up again with the next message.
            self.events = None;
            self.stories.clear();
            return;
        };
        let (number, turns) = &self.taken_up;
        let is_old = event.at.seq <= *number;
        if let EventKind::ThreadRolledBack(dropped) = &event.kind
            && !is_old
        {
            return self.rolled_back(dropped.num_turns);
        }
        let is_told = |turn: &TurnId| self.done.contains(turn) || is_old && !turns.contains(turn);
        let Some(turn) = event.at.turn_id.clone().filter(|turn| !is_told(turn)) else {
            return;
        };
        let place = |view: &View, id: &str, tag: &str, heading: String| {
            view.seen().places.insert(id.to_owned(), (tag.to_owned(), heading));
        };
        let view = self.view.clone();
        let mut lenses = false;
        match event.kind {
            EventKind::TurnStarted(_) => {
                self.telling(&turn);
                lenses = true;
            }
            EventKind::ItemStarted(started) => match &started.item {
                ThreadItem::UserMessage { .. } => self.said(&turn, &started.item),
                item => self.tell(&turn).started(item),
            },
            EventKind::ItemCompleted(completed) => match &completed.item {
                ThreadItem::UserMessage { .. } => self.said(&turn, &completed.item),
                ThreadItem::EnteredReviewMode { .. } => {
                    self.tell(&turn).completed(&completed.item);
                    self.telling(&turn).is_review = true;
                }
                item => self.tell(&turn).completed(item),
            },
            EventKind::AgentMessageDelta(delta) | EventKind::CommandOutputDelta(delta) => {
                self.tell(&turn).delta(&delta.item_id, 0, &delta.delta);
            }
            EventKind::ReasoningSummaryDelta(delta) => {
                self.tell(&turn).delta(&delta.item_id, delta.index, &delta.delta);
            }
            EventKind::ApprovalRequested(requested) => {
                let number = self.tell(&turn).approval(&requested.approval);
                place(
                    &view,
                    requested.approval.id().as_str(),
                    &chat::tag(&turn),
                    format!("Question {number}"),
                );
                lenses = true;
            }
            EventKind::ApprovalResolved(resolved) => {
                let answer = match resolved.decision {
                    Some(ApprovalDecision::Accept) => "Allowed once.",
                    Some(ApprovalDecision::AcceptForSession) => "Allowed for this session.",
                    Some(ApprovalDecision::AcceptAlways) => "Allowed always.",
                    Some(ApprovalDecision::Decline) => "Denied.",
                    Some(ApprovalDecision::Cancel) => "Denied, and the turn is stopped.",
                    None => "The question was withdrawn.",
                };
                self.tell(&turn).note(answer);
                view.seen().places.remove(resolved.approval_id.as_str());
                lenses = true;
            }
            EventKind::UserInputRequested(requested) => {
                let number = self.tell(&turn).question(&requested.request);
                place(
                    &view,
                    requested.request.id.as_str(),
                    &chat::tag(&turn),
                    format!("Question {number}"),
                );
                lenses = true;
            }
            EventKind::UserInputResolved(resolved) => {
                view.seen().places.remove(resolved.id.as_str());
                lenses = true;
            }
            EventKind::ProposalCreated(created) => {
                let change = self.tell(&turn).change(&created.proposal.item_id);
                let change = change.map(|(number, text)| (number, text.to_owned()));
                let heading = match &change {
                    Some((number, _)) => format!("Change {number}:"),
                    None => "Change ".to_owned(),
                };
                place(&view, created.proposal.id.as_str(), &chat::tag(&turn), heading);
                if let Some((_, text)) = change
                    && chat::story::shows(&created.proposal)
                {
                    let hunks = that_fit(&created.proposal);
                    self.session.presenter().shows_in_chat(&self.uri, &text, hunks);
                }
                lenses = true;
            }
            EventKind::ProposalUpdated(_) => lenses = true,
            EventKind::TurnRetrying(retrying) => {
                let telling = self.telling(&turn);
                if !std::mem::replace(&mut telling.retried, true) {
                    let words = chat::text::inline(&retrying.message, 600);
                    self.tell(&turn).note(&format!("{words} It is tried again."));
                }
            }
            EventKind::Warning(warning) => {
                let words = chat::text::inline(&warning.message, 1000);
                self.tell(&turn).note(&words);
            }
            EventKind::TurnCompleted(completed) => {
                let unread = !completed.unanswered.is_empty();
                self.tell(&turn).turn_completed(&completed.turn, unread);
                self.flush(&turn);
                self.stories.retain(|telling| telling.turn != turn);
                self.done.insert(turn.clone());
                lenses = true;
            }
            _ => {}
        }
        self.flush(&turn);
        if lenses {
            self.session.presenter().lenses_changed();
        }
    }

    /// Turns were dropped; where it was not said here, the document says so.
    fn rolled_back(&mut self, turns: u32) {
        if let Some(left) = self.own_rollbacks.checked_sub(1) {
            self.own_rollbacks = left;
            return;
        }
        self.put(Write::Said { words: None, tag: None });
        self.put(Write::More {
            tag: None,
            text: send::rolled_back(turns),
        });
    }

    /// The story of a turn; its section begins where it has none yet.
    fn tell(&mut self, turn: &TurnId) -> &mut Story {
        let telling = self.telling(turn);
        if !std::mem::replace(&mut telling.begun, true) {
            let tag = Some(telling.tag.clone());
            self.put(Write::Said { words: None, tag });
        }
        &mut self.telling(turn).story
    }

    /// Somebody said something. What was sent from this document stands in it already.
    fn said(&mut self, turn: &TurnId, item: &ThreadItem) {
        let ThreadItem::UserMessage {
            id, content, client_id, ..
        } = item
        else {
            return;
        };
        let ours = client_id.as_ref().is_some_and(|id| self.known.contains(id));
        if ours || !self.known.insert(id.to_string()) {
            return;
        }
        let words = catch_up::words(content);
        let telling = self.telling(turn);
        if std::mem::take(&mut telling.is_review) {
            return;
        }
        telling.begun = true;
        telling.words.push(words.clone());
        telling.story.pause();
        self.flush(turn);
        let tag = Some(chat::tag(turn));
        self.put(Write::Said {
            words: Some(words),
            tag,
        });
    }

    fn flush(&mut self, turn: &TurnId) {
        let new = self
            .stories
            .iter_mut()
            .find(|telling| telling.turn == *turn && telling.begun);
        let new = new.and_then(|telling| Some((telling.tag.clone(), telling.story.take()?)));
        if let Some((tag, text)) = new {
            self.put(Write::More { tag: Some(tag), text });
        }
    }

    /// What comes while the document is closed is looked for when it is opened again.
    fn put(&mut self, write: Write) {
        if !self.closed {
            self.writer.put(write);
        }
    }
}
