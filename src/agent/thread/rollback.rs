//! Dropping the last turns of a conversation: the stored log is played again with a marker behind it. What is on the disk of
//! the person stays as it is; that is the business of undo.

use crate::agent::conversation::Conversation;
use crate::agent::history::History;
use crate::agent::prompt::Environment;
use crate::agent::{AgentError, context, mode};
use crate::protocol::event::{EventKind, ThreadRolledBack};
use crate::store::{self, EventMsg, RolloutItem};

/// Drops turns while none runs. Says how many; an error leaves the conversation as it is.
pub(super) async fn roll_back(conversation: &Conversation, num_turns: u32) -> Result<u32, AgentError> {
    let failed = |reason: String| AgentError::Rollback { reason };
    if num_turns == 0 {
        return Err(failed(
            "numTurns is 0; say how many turns to drop, at least 1".to_owned(),
        ));
    }
    let Some(recorder) = &conversation.recorder else {
        return Err(failed(
            "the conversation is not stored, and what is dropped is found by its file".to_owned(),
        ));
    };
    recorder
        .flush()
        .await
        .map_err(|error| failed(format!("what was said is not all in its file yet. {error}")))?;
    let path = recorder.path().to_owned();
    let playing = tokio::task::spawn_blocking(move || {
        // A conversation without a turn has no file.
        match path.exists() {
            true => store::load_rolled_back(&path, num_turns as usize).map(Some),
            false => Ok(None),
        }
    });
    let played = playing.await.map_err(|error| failed(error.to_string()))?;
    let played = played.map_err(|error| failed(error.to_string()))?;
    let Some((stored, dropped)) = played.filter(|(_, dropped)| *dropped > 0) else {
        return Err(failed("there is no turn to drop".to_owned()));
    };
    let usage = stored.usage.unwrap_or_default();
    {
        let mut data = conversation.data();
        data.history = History::new(stored.history);
        data.environment = Environment::told(data.history.items());
        data.instructions = context::Known::told(data.history.items());
        data.mode = mode::told(data.history.items());
        data.set_usage(usage);
        data.turns = stored.turns;
        data.withdrawn.extend(stored.dropped);
        data.updated_at_ms = crate::agent::now_ms();
    }
    conversation.record(RolloutItem::EventMsg(EventMsg::ThreadRolledBack { num_turns: dropped }));
    if let Err(error) = recorder.flush().await {
        conversation.warn(
            None,
            format!("The turns are dropped, but that is not on record yet; it will be tried again. {error}"),
        );
    }
    let dropped = u32::try_from(dropped).unwrap_or(num_turns);
    // As they were then, and so on record already.
    conversation.stream.publish(None, conversation.numbers());
    let rolled_back = EventKind::ThreadRolledBack(ThreadRolledBack { num_turns: dropped });
    conversation.publish(None, rolled_back);
    Ok(dropped)
}
