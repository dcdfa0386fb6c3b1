//! What somebody other than the person has to say to the model: the server itself, another agent. It reaches the model with
//! its next request; what is worth it wakes a thread that has nothing to do.

use super::turn::Turn;
use crate::model::item::ResponseItem;
use crate::protocol::item::ThreadItem;
use crate::protocol::turn::TurnKind;

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Mail {
    /// What the model reads. Empty once it is in the history.
    pub words: Vec<ResponseItem>,
    /// What the person sees of it, in the turn in which the model reads it.
    pub shown: Option<ThreadItem>,
    /// A thread without a turn begins one for it, and a turn does not end before it was read.
    pub wakes: bool,
}

impl Mail {
    /// A message that waits until the model is asked for another reason.
    pub fn new(words: ResponseItem) -> Self {
        Self {
            words: vec![words],
            shown: None,
            wakes: false,
        }
    }
}

impl TurnKind {
    /// Whether such a turn reads the mail of its thread. Else it waits for the next one.
    pub(super) fn reads_mail(self) -> bool {
        matches!(self, Self::Regular | Self::OwnCommands)
    }
}

/// Lets the model read what has come. Not for moments between a call and its output.
pub(super) fn read(turn: &Turn, mail: Vec<Mail>) {
    for Mail { words, shown, .. } in mail {
        turn.hear();
        turn.conversation.say(words);
        if let Some(item) = shown {
            turn.complete_item(item);
        }
    }
}
