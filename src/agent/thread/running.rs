//! A turn that runs: its task, that it is closed exactly once whatever happens in it, and that the thread hears of it.

use super::{Op, Shared, whole};
use crate::agent::sampling;
use crate::agent::turn::{Ended, Turn};
use crate::protocol::turn::InterruptedBy;
use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};

/// How long a stopped turn may take to end by itself.
const GRACE: Duration = Duration::from_millis(1800);

/// How long the person's own commands may take to end with their turn.
const OWN_GRACE: Duration = Duration::from_millis(1200);

pub(super) struct Running {
    pub(super) turn: Arc<Turn>,
    task: JoinHandle<()>,
}

impl Running {
    /// Starts a turn's task, which begins once it is released.
    pub(super) fn start(
        turn: Arc<Turn>,
        released: oneshot::Receiver<()>,
        thread: Weak<Shared>,
        work: impl Future<Output = Ended> + Send + 'static,
    ) -> Self {
        let task = tokio::spawn({
            let (turn, thread) = (turn.clone(), thread.clone());
            async move {
                let _released = released.await;
                let ended = AssertUnwindSafe(work).catch_unwind().await;
                let ended = ended.unwrap_or_else(|_| Ended::Failed(whole::crashed()));
                // What closes it may break off as well: it is closed and the thread hears of it all the same.
                let by_force = || turn.end(Ended::Failed(whole::crashed()));
                whatever_happens(close(&turn, ended), by_force).await;
                say_ended(&thread, &turn).await;
            }
        });
        tokio::spawn(end_by_force(turn.clone(), task.abort_handle(), thread));
        Self { turn, task }
    }

    /// Stops the turn and waits until it is closed, which takes no longer than it may.
    pub(super) async fn end(self, by: InterruptedBy) {
        self.turn.stop(by);
        if tokio::time::timeout(GRACE, self.turn.closed.cancelled()).await.is_err() {
            self.task.abort();
        }
        self.turn.end(Ended::Interrupted);
    }
}

/// Does what may panic, and something else if it has. Ends in any case.
async fn whatever_happens(work: impl Future<Output = ()>, or_else: impl FnOnce()) {
    if AssertUnwindSafe(work).catch_unwind().await.is_ok() {
        return;
    }
    tracing::error!("closing a turn broke off through a fault of Countersign");
    if std::panic::catch_unwind(AssertUnwindSafe(or_else)).is_err() {
        tracing::error!("closing a turn by force broke off, too");
    }
}

async fn close(turn: &Arc<Turn>, ended: Ended) {
    if ended != Ended::Completed {
        // They end with the turn; what they said so far is shown.
        turn.own_commands.cancel();
        let _in_time = tokio::time::timeout(OWN_GRACE, turn.pending.commands_done()).await;
    }
    // Whoever added to a turn that fails is not forgotten: the words are in the conversation.
    // Of work apart there is none; what was said to it goes back to the person.
    let keeps = matches!(ended, Ended::Failed(_)) && !turn.is_apart();
    while keeps && !turn.pending.close_if_empty() {
        sampling::take_input(turn, turn.pending.take(), false).await;
    }
    turn.end(ended);
}

/// A stopped turn that does not listen is ended by force, and closed all the same, whoever stopped it.
async fn end_by_force(turn: Arc<Turn>, task: AbortHandle, thread: Weak<Shared>) {
    // One that closed before this was looked at was stopped all the same.
    tokio::select! {
        biased;
        () = turn.cancel.cancelled() => {}
        () = turn.closed.cancelled() => return,
    }
    // They work for it.
    turn.services.agents.interrupt_below(&turn.conversation.id);
    tokio::select! {
        biased;
        () = turn.closed.cancelled() => return,
        () = tokio::time::sleep(GRACE) => {}
    }
    tracing::error!(turn = %turn.id, "a stopped turn did not end by itself");
    task.abort();
    whatever_happens(async { turn.end(Ended::Interrupted) }, || {}).await;
    say_ended(&thread, &turn).await;
}

/// Tells the thread, if anybody still has it. A turn does not keep its thread alive.
async fn say_ended(thread: &Weak<Shared>, turn: &Turn) {
    let mailbox = thread.upgrade().map(|shared| shared.mailbox.clone());
    if let Some(mailbox) = mailbox {
        let _closed = mailbox.send(Op::TurnEnded { turn: turn.id.clone() }).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A thread stays busy for ever if its turn's task dies before it has said that the turn is over.
    #[tokio::test]
    async fn what_panics_is_followed_by_what_comes_next() {
        let forced = Cell::new(0);
        whatever_happens(async {}, || forced.set(forced.get() + 1)).await;
        assert_eq!(forced.get(), 0);
        whatever_happens(async { panic!("while it closes") }, || forced.set(forced.get() + 1)).await;
        assert_eq!(forced.get(), 1);
        whatever_happens(async { panic!("while it closes") }, || panic!("by force")).await;
    }
}
