//! What could not be answered since an allowance was used up: sent again once it is open, if the person wants it so.

use super::{Added, QueueChange, Start, ThreadHandle};
use crate::agent::{clock, now_ms, person};
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::turn::{ErrorAction, Turn, TurnKind};
use std::time::Duration;

/// How long after the time that a provider has named its allowance is asked for: the two clocks may differ a little.
const MARGIN_MS: i64 = 2_000;
/// A machine that slept has a clock that ran on, so it is looked at now and then.
const LOOK: Duration = Duration::from_secs(20);

/// Ends at a time, in milliseconds since the epoch; never where there is none.
pub(super) async fn reached(at_ms: Option<i64>) {
    let Some(at) = at_ms else {
        return std::future::pending().await;
    };
    while let Some(left) = u64::try_from(at.saturating_sub(now_ms())).ok().filter(|left| *left > 0) {
        tokio::time::sleep(Duration::from_millis(left).min(LOOK)).await;
    }
}

/// When what a failed turn was asked can be sent again, as its error says.
fn opens_at(turn: &Turn) -> Option<i64> {
    let actions = turn.error.iter().flat_map(|error| &error.actions);
    actions
        .filter_map(|action| match action {
            ErrorAction::WaitUntil { at } => Some(*at),
            _ => None,
        })
        .next()
}

impl ThreadHandle {
    /// When the input of the last turn can be sent again: it failed for an allowance that opens then, nothing runs, and
    /// nothing waits for a time already. Never for a sub-agent, whose input is another agent's, and never for a review or a
    /// summary, which is more than its words.
    pub fn may_send_again_at(&self) -> Option<i64> {
        if self.running().is_some() || self.conversation().agent.is_some() {
            return None;
        }
        let data = self.conversation().data();
        data.turns
            .last()
            .filter(|turn| turn.kind == TurnKind::Regular)
            .and_then(opens_at)
            .filter(|_| data.sends_at_ms.is_none())
    }

    /// When something is sent that waits for its time.
    pub fn sends_at(&self) -> Option<i64> {
        self.conversation().data().sends_at_ms
    }

    /// Has the input of the last turn wait until it can be sent again. Says what happens now.
    ///
    /// # Errors
    /// Why it does not, for the person.
    pub async fn send_again(&self) -> Result<String, String> {
        let Some(at) = self.may_send_again_at() else {
            return Err(match self.sends_at() {
                Some(at) => format!(
                    "A message of this conversation is waiting already; it is sent at {}.",
                    clock(at)
                ),
                None => "The last turn of this conversation was not stopped by an allowance, so nothing is sent again."
                    .to_owned(),
            });
        };
        let content = self.last_input();
        // Of the person's own words none that begin so ever came to a model: they would have been a command.
        if content.is_empty() || person::in_input(&content).is_some() {
            return Err("The last turn had no message of yours, so nothing can be sent again.".to_owned());
        }
        let start = Start {
            content,
            not_before_ms: Some(at.saturating_add(MARGIN_MS)),
            ..Start::default()
        };
        match self.queue(start).await.map_err(|error| error.to_string())? {
            Added::Begins(_) => Ok("The message is sent again now.".to_owned()),
            Added::Waits(_) => Ok(format!(
                "The message is sent again at {}, as long as the editor stays open until then.",
                clock(at)
            )),
        }
    }

    /// Takes back what waits for a time. Says what happened.
    ///
    /// # Errors
    /// The thread is gone.
    pub async fn do_not_send(&self) -> Result<String, String> {
        let waits = self.change_queue(QueueChange::Look).await;
        let waits = waits.map_err(|error| error.to_string())?.inputs;
        let mut taken = 0;
        for input in waits.iter().filter(|input| input.not_before_ms.is_some()) {
            // It may have been sent a moment ago.
            taken += usize::from(self.change_queue(QueueChange::Remove(input.id.clone())).await.is_ok());
        }
        Ok(match taken {
            0 => "Nothing waits to be sent again.".to_owned(),
            _ => "The message is not sent again.".to_owned(),
        })
    }

    /// All that the person said in the last turn.
    fn last_input(&self) -> Vec<UserInput> {
        let data = self.conversation().data();
        let items = data.turns.last().into_iter().flat_map(|turn| &turn.items);
        items
            .filter_map(|item| match item {
                ThreadItem::UserMessage { content, .. } => Some(content.clone()),
                _ => None,
            })
            .flatten()
            .collect()
    }
}
