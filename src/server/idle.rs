//! Whether the person is typing. In many editors a question takes the keys (a popup, a prompt line), so one that nobody
//! asked for waits until the keys are still: else the next key of a word would answer it.
//!
//! A server hears of keys only by what they lead to: changes of documents, requests for code actions. A pause in these is
//! taken for a pause of the hands. Editors that show questions aside, where no key reaches them, are never waited for.

use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long nothing must come of the person's keys. Longer than the pauses within a word and between words, short enough
/// to be asked before the hands have left the keyboard.
pub const PAUSE: Duration = Duration::from_millis(1500);

/// When the keys were last heard. A clone is another handle.
#[derive(Clone, Debug)]
pub struct Idle {
    pause: Duration,
    /// Nothing where the person has just turned to us, or has not typed yet.
    last_key: watch::Sender<Option<Instant>>,
}

impl Idle {
    /// `questions_take_keys` tells whether the client's questions stand where keys go.
    pub fn new(questions_take_keys: bool) -> Self {
        Self::with_pause(if questions_take_keys { PAUSE } else { Duration::ZERO })
    }

    fn with_pause(pause: Duration) -> Self {
        Self {
            pause,
            last_key: watch::Sender::new(None),
        }
    }

    /// Something came that a key led to.
    pub fn typed(&self) {
        self.last_key.send_replace(Some(Instant::now()));
    }

    /// The person asked for something of ours: what it leads to may ask at once. Whoever types on says so with the next key.
    pub fn turned_to_us(&self) {
        self.last_key.send_replace(None);
    }

    /// Ends when the keys are still, at once if they are. Safe to cancel.
    pub async fn wait(&self) {
        let mut last_key = self.last_key.subscribe();
        loop {
            let Some(still) = last_key.borrow_and_update().map(|key| key + self.pause) else {
                return;
            };
            if Instant::now() >= still {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(still) => {}
                // The sender lives as long as `self`.
                _changed = last_key.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test(start_paused = true)]
    async fn a_question_waits_for_the_last_key() {
        let idle = Idle::with_pause(Duration::from_millis(60));
        assert!(idle.wait().now_or_never().is_some(), "nobody has typed");
        idle.typed();
        let first = Instant::now();
        let waits = tokio::spawn({
            let idle = idle.clone();
            async move { idle.wait().await }
        });
        // Each key begins the pause anew.
        let mut last = first;
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            idle.typed();
            last = Instant::now();
            assert!(idle.wait().now_or_never().is_none(), "a key came just now");
        }
        waits.await.expect("it ends");
        assert!(last.elapsed() >= Duration::from_millis(55), "{:?}", last.elapsed());
    }

    #[tokio::test]
    async fn whoever_turns_to_us_is_asked_at_once_and_whoever_types_on_is_not() {
        let idle = Idle::with_pause(Duration::from_secs(3600));
        idle.typed();
        let mut held = Box::pin(idle.wait());
        assert!(held.as_mut().now_or_never().is_none());
        idle.turned_to_us();
        tokio::time::timeout(Duration::from_secs(20), held)
            .await
            .expect("it is let through");
        idle.typed();
        assert!(idle.wait().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_question_that_takes_no_keys_waits_for_nothing() {
        let idle = Idle::new(false);
        idle.typed();
        assert!(idle.wait().now_or_never().is_some());
    }
}
