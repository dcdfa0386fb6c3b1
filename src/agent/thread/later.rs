//! What could not be answered since an allowance was used up: sent again once it is open, if the person wants it so.

use super::{Added, Op, QueueChange, Start, ThreadHandle};
use crate::agent::conversation::{Along, Conversation, Data};
use crate::agent::{clock, now_ms, person};
use crate::ids::TurnId;
use crate::protocol::item::ThreadItem;
use crate::protocol::queue::QueuedInput;
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
pub fn opens_at(turn: &Turn) -> Option<i64> {
    let actions = turn.error.iter().flat_map(|error| &error.actions);
    actions
        .filter_map(|action| match action {
            ErrorAction::WaitUntil { at } => Some(*at),
            _ => None,
        })
        .next()
}

/// A turn whose message can be sent again.
pub struct Again {
    pub turn: TurnId,
    /// When the allowance opens that it failed for.
    pub at_ms: i64,
}

/// The last turn, if its message can be sent again: it failed for an allowance, and its words are the person's. Never of a
/// sub-agent, whose input is another agent's, and never a review or a summary, which is more than its words.
fn last<'a>(conversation: &Conversation, data: &'a Data) -> Option<(&'a Turn, i64, &'a Along)> {
    let turn = data.turns.last().filter(|turn| turn.kind == TurnKind::Regular)?;
    let at_ms = opens_at(turn).filter(|_| conversation.agent.is_none())?;
    Some((turn, at_ms, data.along.get(&turn.id)?))
}

/// What a failed turn was asked, with all that went along, for the time at which the allowance opens. Without an id the
/// last turn is meant.
///
/// # Errors
/// Why it is not sent again, for the person.
pub(super) fn again(conversation: &Conversation, wanted: Option<&TurnId>, is_busy: bool) -> Result<Start, String> {
    let data = conversation.data();
    if is_busy || wanted.is_some_and(|wanted| data.turns.last().is_some_and(|last| last.id != *wanted)) {
        return Err(
            "The conversation has gone on since, so nothing is sent again. What you still want to be answered, send as \
             a new message."
                .to_owned(),
        );
    }
    let Some((turn, at_ms, along)) = last(conversation, &data) else {
        return Err(
            "The last turn of this conversation was not stopped by an allowance, so nothing is sent again.".to_owned(),
        );
    };
    let said = turn.items.iter().filter_map(|item| match item {
        ThreadItem::UserMessage { content, .. } => Some(content.clone()),
        _ => None,
    });
    let content: Vec<_> = said.flatten().collect();
    // Of the person's own words none that begin so ever came to a model: they would have been a command.
    if content.is_empty() || person::in_input(&content).is_some() {
        return Err("The last turn had no message of yours, so nothing can be sent again.".to_owned());
    }
    let along = along.clone();
    Ok(Start {
        content,
        context: along.context,
        output_schema: along.output_schema,
        metadata: along.metadata,
        spoken: along.spoken,
        not_before_ms: Some(at_ms.saturating_add(MARGIN_MS)),
        again: Some(turn.id.clone()),
        ..Start::default()
    })
}

/// What is said of a message that waits already.
pub(super) fn waits(waiting: &QueuedInput) -> String {
    match waiting.not_before_ms {
        Some(at) => format!("The message is waiting already; it is sent at {}.", clock(opening(at))),
        None => "The message is waiting already, in the conversation's queue, which was paused.".to_owned(),
    }
}

/// The time that the provider has named for what waits until this one.
fn opening(not_before_ms: i64) -> i64 {
    not_before_ms.saturating_sub(MARGIN_MS)
}

impl ThreadHandle {
    /// The turn whose message can be sent again: the last one, while nothing runs and its message does not wait already.
    pub fn may_send_again(&self) -> Option<Again> {
        if self.running().is_some() {
            return None;
        }
        let data = self.conversation().data();
        let (turn, at_ms, _) = last(self.conversation(), &data)?;
        (!data.sends_again.contains(&turn.id)).then(|| Again {
            turn: turn.id.clone(),
            at_ms,
        })
    }

    /// When something is sent that waits for its time.
    pub fn sends_at(&self) -> Option<i64> {
        self.conversation().data().sends_at_ms
    }

    /// Has the input of the last turn wait until it can be sent again. With an id only if that is this turn: the person was
    /// offered its message and no other. Says what happens now.
    ///
    /// # Errors
    /// Why it does not, for the person.
    pub async fn send_again(&self, turn: Option<TurnId>) -> Result<String, String> {
        let asked = self.ask(|reply| Op::SendAgain { turn, reply }).await;
        Ok(match asked.map_err(|error| error.to_string())?? {
            Added::Begins(_) => "The message is sent again now.".to_owned(),
            Added::Waits(waiting) => format!(
                "The message is sent again at {}, as long as the editor stays open until then.",
                clock(waiting.not_before_ms.map(opening).unwrap_or_default())
            ),
        })
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
}
