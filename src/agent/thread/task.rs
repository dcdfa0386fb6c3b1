//! Turns whose work is not the ordinary talk with the model: an undo, a review, a compaction. Whoever wants one brings the
//! work; that the turn begins, ends once and can be stopped is the thread's.

use crate::agent::turn::{Ended, Turn};
use crate::protocol::turn::TurnKind;
use futures::future::BoxFuture;
use std::sync::Arc;

/// What a task does in its turn, which it begins itself (`Turn::begin`). It ends soon after the turn is asked to stop.
pub type Work = Box<dyn FnOnce(Arc<Turn>) -> BoxFuture<'static, Ended> + Send>;

pub struct Task {
    pub kind: TurnKind,
    pub when_busy: WhenBusy,
    pub work: Work,
}

/// What becomes of a task that comes while a turn runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenBusy {
    /// It is refused.
    Refuse,
    /// The running turn is stopped, as replaced, and so is what waits behind it; the task begins when they have closed.
    Replace,
}

impl Task {
    pub fn new<F>(kind: TurnKind, when_busy: WhenBusy, work: impl FnOnce(Arc<Turn>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Ended> + Send + 'static,
    {
        let work: Work = Box::new(move |turn| Box::pin(work(turn)));
        Self { kind, when_busy, work }
    }
}

impl TurnKind {
    /// Whether what the person says while such a turn runs belongs to it. Else it begins the next one.
    pub(super) fn takes_input(self) -> bool {
        match self {
            Self::Regular | Self::OwnCommands | Self::Review => true,
            Self::Undo | Self::Compaction => false,
        }
    }
}
