//! Chat documents: for each that is open, a task that follows its conversation and writes it into the document.
//!
//! The document is the person's. What is written is only ever put in, by the smallest edits, at most ten in a second, for the
//! version that the text was looked at in; what an editor refuses is planned anew for the text as it is then, and what it never
//! takes stays in the conversation, which keeps everything, and is written when the document is opened again.

mod follower;
mod writer;

use super::session::Session;
use crate::chat::SUFFIX;
use crate::ids::{ApprovalId, ProposalId, ThreadId};
use crate::protocol::turn::EditorContext;
use crate::workspace::Document;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use tokio::sync::mpsc;

/// Cheap to clone.
#[derive(Clone, Default)]
pub struct Chats(Arc<Shared>);

#[derive(Default)]
struct Shared {
    chats: Mutex<BTreeMap<String, Chat>>,
    /// The place outside of chats that the editor asked about last.
    looked_at: Mutex<Option<EditorContext>>,
}

struct Chat {
    orders: mpsc::UnboundedSender<Order>,
    /// It was told of a change that it has not looked at yet.
    changed: Arc<AtomicBool>,
    view: View,
}

/// What a document is told.
enum Order {
    /// With the text as it was opened.
    Opened(Document),
    Closed,
    /// Its text is another one; told once until it is looked at.
    Changed,
    /// The editor said at this moment that it has written it to the disk, as it is here.
    Saved(Document, SystemTime),
    /// The person has said what is to become of what somebody else wrote.
    Settled(follower::Settled),
    /// The person sends what they have written.
    Send,
    /// The next message begins a new conversation.
    Begin,
    /// What the person has written says why they do not want something.
    Refuse(Refused),
}

/// What a person says no to.
#[derive(Clone, Debug)]
pub enum Refused {
    Question(ApprovalId),
    Change(ProposalId),
}

/// What the follower knows that lenses and code actions show.
#[derive(Clone, Default)]
pub struct View(Arc<Mutex<Seen>>);

#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub thread: Option<ThreadId>,
    /// Why the conversation that the header names cannot be resumed.
    pub lost: bool,
    /// Where questions and changes stand, by their id: the turn's tag and how the heading begins.
    pub places: BTreeMap<String, (String, String)>,
}

impl View {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a file is a chat document.
pub fn is_chat(path: &Path) -> bool {
    path.to_string_lossy().ends_with(SUFFIX)
}

impl Chats {
    fn chats(&self) -> MutexGuard<'_, BTreeMap<String, Chat>> {
        self.0.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The editor asked what can be done at a place: what is selected there, and its problems, are what `@selection` and
    /// `@diagnostics` mean in a chat. They stand for themselves until it asks about another place.
    pub fn looked_at(&self, place: EditorContext) {
        *self.0.looked_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    /// What goes with words that point at the editor; nothing with all others.
    pub fn context(&self, words: &str) -> Option<EditorContext> {
        let (selection, diagnostics) = (words.contains("@selection"), words.contains("@diagnostics"));
        if !selection && !diagnostics {
            return None;
        }
        let looked_at = self.0.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = looked_at.clone()?;
        if !selection {
            place.selection = None;
        }
        if !diagnostics {
            place.diagnostics.clear();
        }
        Some(place)
    }

    /// A document was opened; nothing happens to one that is no chat.
    pub fn opened(&self, session: &Session, document: &Document) {
        if document.path().is_some_and(is_chat) {
            self.tell(session, document.uri(), Order::Opened(document.clone()));
        }
    }

    pub fn closed(&self, uri: &str) {
        if let Some(chat) = self.chats().get(uri) {
            let _ended = chat.orders.send(Order::Closed);
        }
    }

    /// The text of a document is another one. Cheap: every key of every document comes by.
    pub fn changed(&self, uri: &str) {
        if let Some(chat) = self.chats().get(uri)
            && !chat.changed.swap(true, Ordering::AcqRel)
        {
            let _ended = chat.orders.send(Order::Changed);
        }
    }

    /// The editor has written a document to the disk.
    pub fn saved(&self, document: &Document) {
        if let Some(chat) = self.chats().get(document.uri()) {
            let _ended = chat.orders.send(Order::Saved(document.clone(), SystemTime::now()));
        }
    }

    /// Sends what the person has written in a document.
    pub fn send(&self, session: &Session, uri: &str) {
        self.tell(session, uri, Order::Send);
    }

    /// The next message in a document begins a new conversation.
    pub fn begin(&self, session: &Session, uri: &str) {
        self.tell(session, uri, Order::Begin);
    }

    /// Says no, and gives the agent the words that the person has written as the reason.
    pub fn refuse(&self, session: &Session, uri: &str, what: Refused) {
        self.tell(session, uri, Order::Refuse(what));
    }

    /// What is known of a document's conversation.
    pub fn seen(&self, uri: &str) -> Seen {
        self.chats()
            .get(uri)
            .map(|chat| chat.view.seen().clone())
            .unwrap_or_default()
    }

    fn tell(&self, session: &Session, uri: &str, order: Order) {
        let mut chats = self.chats();
        let order = match chats.get(uri) {
            Some(chat) => match chat.orders.send(order) {
                Ok(()) => return,
                // Its task has ended; another one takes it.
                Err(lost) => lost.0,
            },
            None => order,
        };
        let (orders, inbox) = mpsc::unbounded_channel();
        let view = View::default();
        let changed = Arc::<AtomicBool>::default();
        let _its_own = orders.send(order);
        let told = (view.clone(), changed.clone());
        tokio::spawn(follower::follow(session.clone(), uri.to_owned(), told, inbox));
        chats.insert(uri.to_owned(), Chat { orders, changed, view });
    }

    /// Forgets a document that nothing is left to be done for. False if something came in the meantime.
    fn forget(&self, uri: &str, inbox: &mut mpsc::UnboundedReceiver<Order>) -> bool {
        let mut chats = self.chats();
        let idle = inbox.is_empty();
        if idle {
            inbox.close();
            chats.remove(uri);
        }
        idle
    }
}
