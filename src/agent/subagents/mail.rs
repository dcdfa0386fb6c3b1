//! Messages between agents. Each stands on the agent's side of the history, in an envelope that says who wrote it: never as
//! something that the person typed.

use super::Agents;
use super::family::{Allowance, MOST_MESSAGES};
use crate::agent::mail::Mail;
use crate::agent::{Agent, AgentError};
use crate::ids::{ItemId, ThreadId};
use crate::model::item::ResponseItem;
use crate::protocol::agent::{ThreadSendParams, ThreadSendResult};
use crate::protocol::item::ThreadItem;
use serde_json::json;

/// Characters of one message.
const MOST_TEXT: usize = 100_000;
/// Characters of an author's name.
const MOST_AUTHOR: usize = 64;

/// What stands under a message begins so.
const NOTE: &str = "The message above came from";

/// Who writes to whom.
pub(super) struct Letter<'a> {
    pub(super) from: &'a ThreadId,
    pub(super) to: &'a ThreadId,
    pub(super) text: &'a str,
    /// Begins a turn where none runs.
    pub(super) wakes: bool,
    /// What its work came to: it is delivered however much was said.
    pub(super) is_outcome: bool,
}

/// What became of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Done,
    /// It is read, but begins no turn.
    WakesNobody,
    /// The same, since the person stopped the work.
    Quiet,
    Refused,
}

/// A message as the model reads it and the person sees it.
pub(in crate::agent) fn envelope(author: &str, thread: Option<&ThreadId>, recipient: &str, text: &str) -> Mail {
    let text: String = text.trim().chars().take(MOST_TEXT).collect();
    let sealed = json!({"author": author, "recipient": recipient, "content": text}).to_string();
    let note = format!(
        "{NOTE} {author}, not from the person, and nobody has checked what it says. Take it into account; an \
         answer goes by send_message if {author} is an agent that waits for one."
    );
    Mail {
        words: vec![ResponseItem::assistant(sealed), ResponseItem::developer(note)],
        shown: Some(ThreadItem::AgentMail {
            id: ItemId::fresh(),
            author: author.to_owned(),
            author_thread_id: thread.cloned(),
            text,
        }),
        wakes: false,
    }
}

/// Whether two items that follow each other are such a message.
pub(in crate::agent) fn is_envelope(sealed: &ResponseItem, note: &ResponseItem) -> bool {
    let (ResponseItem::Message { role: sealed_by, .. }, ResponseItem::Message { role: noted_by, .. }) = (sealed, note)
    else {
        return false;
    };
    sealed_by == "assistant"
        && noted_by == "developer"
        && note.text().starts_with(NOTE)
        && serde_json::from_str::<serde_json::Value>(&sealed.text()).is_ok_and(|sealed| {
            ["author", "recipient", "content"]
                .iter()
                .all(|key| sealed[key].is_string())
        })
}

impl Agents {
    /// Delivers a message of one of a family to another.
    pub(super) async fn deliver(&self, letter: Letter<'_>) -> Result<Delivery, AgentError> {
        let Letter {
            from,
            to,
            text,
            wakes,
            is_outcome,
        } = letter;
        let (author, recipient, allowance) = {
            let mut family = self.family();
            (family.known_as(from), family.known_as(to), family.count_message(from))
        };
        let delivery = match allowance {
            Allowance::None if !is_outcome => return Ok(Delivery::Refused),
            _ if !wakes => Delivery::Done,
            Allowance::Wake => Delivery::Done,
            Allowance::ReadQuietly => Delivery::Quiet,
            Allowance::ReadAndTell | Allowance::Read | Allowance::None => Delivery::WakesNobody,
        };
        if allowance == Allowance::ReadAndTell {
            self.tell_the_person(from);
        }
        let wakes = wakes && allowance == Allowance::Wake;
        let handle = self.thread(to).ok_or_else(|| AgentError::UnknownThread(to.clone()))?;
        handle
            .deliver(envelope(&author, Some(from), &recipient, text), wakes)
            .await?;
        // It waits no more, even if its task has not seen that yet.
        self.family().waits_no_more(to);
        Ok(delivery)
    }

    fn tell_the_person(&self, from: &ThreadId) {
        let root = self.family().root(from);
        if let Some(handle) = self.thread(&root) {
            handle.conversation().warn(
                None,
                format!(
                    "The agents of this conversation have sent {MOST_MESSAGES} messages since you spoke last. They continue with what they \
                     are doing, but no message begins new work before you say something."
                ),
            );
        }
    }
}

/// Takes a message of a client's for a thread.
pub(in crate::agent) async fn send(agent: &Agent, params: ThreadSendParams) -> Result<ThreadSendResult, AgentError> {
    if params.text.trim().is_empty() {
        return Err(AgentError::EmptyInput);
    }
    let author = params
        .author
        .as_deref()
        .map(str::trim)
        .filter(|author| !author.is_empty());
    let author: String = author.unwrap_or("client").chars().take(MOST_AUTHOR).collect();
    let handle = agent.reach(&params.thread_id).await?;
    let recipient = agent.services().agents.family().known_as(&params.thread_id);
    let turn_id = handle
        .deliver(envelope(&author, None, &recipient, &params.text), params.starts_turn)
        .await?;
    agent.services().agents.family().waits_no_more(&params.thread_id);
    Ok(ThreadSendResult { turn_id })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows S-409.
    #[test]
    fn a_message_is_sealed_on_the_agents_side() {
        let mail = envelope("scout", Some(&"t".into()), "main", " found \"it\"\n");
        let ResponseItem::Message { role, .. } = &mail.words[0] else {
            panic!("{mail:?}")
        };
        assert_eq!(role, "assistant");
        let sealed: serde_json::Value = serde_json::from_str(&mail.words[0].text()).expect("JSON");
        assert_eq!(
            sealed,
            json!({"author": "scout", "recipient": "main", "content": "found \"it\""})
        );
        assert!(
            mail.words
                .iter()
                .all(|item| !matches!(item, ResponseItem::Message { role, .. } if role == "user"))
        );
        assert!(is_envelope(&mail.words[0], &mail.words[1]));
        for (first, second) in [
            (ResponseItem::assistant("{\"author\":\"x\"}"), mail.words[1].clone()),
            (ResponseItem::assistant("found it"), mail.words[1].clone()),
            (ResponseItem::user(mail.words[0].text()), mail.words[1].clone()),
            (mail.words[0].clone(), ResponseItem::developer("Go on.")),
            (mail.words[1].clone(), mail.words[0].clone()),
        ] {
            assert!(!is_envelope(&first, &second), "{first:?} {second:?}");
        }
        let long = envelope("scout", None, "main", &"x".repeat(MOST_TEXT + 1));
        assert!(matches!(long.shown, Some(ThreadItem::AgentMail { text, .. }) if text.len() == MOST_TEXT));
    }
}
