//! What waits to be said: in order, and not without bound.

use super::wire::Said;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Bytes that may wait: some twenty seconds of sound.
const BUDGET: u32 = 1 << 20;

/// Says things in a conversation, also before it has begun. Cheap to clone.
#[derive(Clone)]
pub struct Sender {
    queue: mpsc::UnboundedSender<Waiting>,
    budget: Arc<Semaphore>,
}

/// What was said and is not sent yet.
pub struct Queue(mpsc::UnboundedReceiver<Waiting>);

pub(super) enum Waiting {
    Words(
        Said,
        #[expect(dead_code, reason = "its room is free when it is dropped")] OwnedSemaphorePermit,
    ),
    /// Past the queue.
    Urgent(Said),
    /// Nothing follows.
    End,
}

/// Why something was not said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSaid {
    /// Too much waits.
    Busy,
    /// The conversation is over.
    Over,
}

impl Sender {
    pub fn new() -> (Self, Queue) {
        let (queue, receiver) = mpsc::unbounded_channel();
        let budget = Arc::new(Semaphore::new(BUDGET as usize));
        (Self { queue, budget }, Queue(receiver))
    }

    /// Never waits.
    pub fn say(&self, said: Said) -> Result<(), NotSaid> {
        let cost = u32::try_from(said.bytes()).unwrap_or(BUDGET).clamp(1, BUDGET);
        let Ok(room) = self.budget.clone().try_acquire_many_owned(cost) else {
            return Err(NotSaid::Busy);
        };
        self.queue.send(Waiting::Words(said, room)).map_err(|_| NotSaid::Over)
    }

    /// What waits is said, and then the conversation is closed.
    pub fn end(&self) {
        // If nobody listens it is over already.
        let _over = self.queue.send(Waiting::End);
    }
}

impl Queue {
    pub(super) async fn next(&mut self) -> Waiting {
        self.0.recv().await.unwrap_or(Waiting::End)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_said_keeps_its_order_and_its_bound() {
        let (sender, mut queue) = Sender::new();
        let piece = |mark: char| Said::Audio(mark.to_string().repeat(300_000));
        for mark in ['a', 'b', 'c'] {
            assert_eq!(sender.say(piece(mark)), Ok(()));
        }
        assert_eq!(sender.say(piece('d')), Err(NotSaid::Busy));
        assert_eq!(sender.say(Said::Text("small".to_owned())), Ok(()));
        let heard = async |queue: &mut Queue| match queue.next().await {
            Waiting::Words(Said::Audio(data), _) => data[..1].to_owned(),
            Waiting::Words(Said::Text(text), _) => text,
            _ => "end".to_owned(),
        };
        assert_eq!(heard(&mut queue).await, "a");
        // There is room again.
        assert_eq!(sender.say(piece('e')), Ok(()));
        sender.end();
        for wanted in ["b", "c", "small", "e", "end"] {
            assert_eq!(heard(&mut queue).await, wanted);
        }
        drop(queue);
        assert_eq!(sender.say(piece('f')), Err(NotSaid::Over));
        sender.end();
    }
}
