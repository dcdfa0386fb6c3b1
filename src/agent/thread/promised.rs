//! Turns that were promised and have not begun: the one that runs has to close first.

use super::task::Work;
use super::{Start, Started};
use crate::agent::now_ms;
use crate::agent::pending::Input;
use crate::agent::person::Queued;
use crate::ids::TurnId;
use crate::protocol::item::ThreadItem;
use crate::protocol::turn::{InterruptedBy, Turn as TurnRecord, TurnKind, TurnStatus};
use tokio::sync::oneshot;

pub(super) struct Promised {
    pub(super) id: TurnId,
    pub(super) opening: Opening,
    /// Whoever started it lets it begin.
    pub(super) released: oneshot::Receiver<()>,
    /// It was stopped before it began.
    pub(super) stopped: Option<InterruptedBy>,
}

/// What a turn begins with.
pub(super) enum Opening {
    Input(Box<Words>),
    /// Mail that is worth a turn; it is with the thread until then.
    Mail,
    Task {
        kind: TurnKind,
        work: Work,
    },
}

/// What the person said, and ran.
#[derive(Default)]
pub(super) struct Words {
    pub(super) start: Start,
    /// Input that came after the first.
    pub(super) more: Vec<Input>,
    /// Commands of the person's own; without any input the turn is theirs alone.
    pub(super) commands: Vec<Queued>,
}

impl Promised {
    /// A turn that begins once the answer that promises it is dropped.
    pub(super) fn new(opening: Opening) -> (Self, oneshot::Sender<()>) {
        let (held, released) = oneshot::channel();
        let promised = Self {
            id: TurnId::fresh(),
            opening,
            released,
            stopped: None,
        };
        (promised, held)
    }

    pub(super) fn kind(&self) -> TurnKind {
        match &self.opening {
            Opening::Task { kind, .. } => *kind,
            Opening::Input(words) if words.inputs().is_empty() => TurnKind::OwnCommands,
            Opening::Input(_) | Opening::Mail => TurnKind::Regular,
        }
    }

    /// The words that it begins with, if more can still be put to them.
    pub(super) fn words(&mut self) -> Option<&mut Words> {
        match &mut self.opening {
            Opening::Input(words) if self.stopped.is_none() => Some(words),
            _ => None,
        }
    }

    /// How much was put to the words that it begins with.
    pub(super) fn waiting(&self) -> usize {
        match &self.opening {
            Opening::Input(words) => words.more.len() + words.commands.len(),
            Opening::Mail | Opening::Task { .. } => 0,
        }
    }

    /// The turn as the answer to its start shows it: the person's words, in progress.
    pub(super) fn record(&self) -> TurnRecord {
        let items = match &self.opening {
            Opening::Input(words) if !words.start.content.is_empty() => vec![ThreadItem::UserMessage {
                id: self.id.as_str().into(),
                content: words.start.content.clone(),
                client_id: words.start.client_id.clone(),
                context: Vec::new(),
            }],
            _ => Vec::new(),
        };
        TurnRecord {
            id: self.id.clone(),
            kind: self.kind(),
            status: TurnStatus::InProgress,
            items,
            error: None,
            interrupted_by: None,
            started_at_ms: Some(now_ms()),
            completed_at_ms: None,
        }
    }

    /// The answer to whoever started it.
    pub(super) fn started(&self, held: oneshot::Sender<()>) -> Started {
        Started {
            turn: self.record(),
            steered: false,
            command: None,
            _held: Some(held),
        }
    }
}

impl Words {
    /// All that was said, in order.
    pub(super) fn inputs(&self) -> Vec<Input> {
        let first = Some(self.start.input()).filter(|first| !first.content.is_empty());
        first.into_iter().chain(self.more.iter().cloned()).collect()
    }
}
