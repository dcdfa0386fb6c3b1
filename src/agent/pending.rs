//! Input that comes while a turn runs. It is either taken by that turn or given back, never lost in between.

use super::mail::Mail;
use super::turn::Turn;
use crate::protocol::item::UserInput;
use crate::protocol::turn::{EditorContext, Metadata, UnansweredInput};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// One input of the person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    pub content: Vec<UserInput>,
    pub context: Option<EditorContext>,
    pub client_id: Option<String>,
    pub metadata: Metadata,
    /// An agent wrote it, not the person: it is text and nothing else, so it runs no command, calls no prompt and mentions
    /// nothing.
    pub by_agent: bool,
    /// It was heard by the realtime conversation, which is not told again.
    pub spoken: bool,
}

impl From<Input> for UnansweredInput {
    fn from(input: Input) -> Self {
        Self {
            input: input.content,
            client_user_message_id: input.client_id,
        }
    }
}

#[derive(Default)]
pub struct Pending {
    state: Mutex<State>,
    /// Something came, or one of the person's commands has ended.
    changed: Notify,
    /// Input or mail came; for everybody who waits for it beside the turn's own task.
    arrived: Notify,
}

#[derive(Default)]
struct State {
    closed: bool,
    inputs: Vec<Input>,
    /// What others have to say.
    mail: Vec<Mail>,
    /// The person's own commands that run beside the turn. It stays open for them.
    commands: usize,
}

/// Keeps a turn open for a command of the person's.
pub struct Beside(Arc<Turn>);

impl Beside {
    /// None if the turn takes no more.
    pub fn of(turn: &Arc<Turn>) -> Option<Self> {
        let mut state = turn.pending.lock();
        if state.closed {
            return None;
        }
        state.commands += 1;
        drop(state);
        Some(Self(turn.clone()))
    }

    pub fn turn(&self) -> &Arc<Turn> {
        &self.0
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.pending.lock().commands -= 1;
        self.0.pending.changed.notify_one();
    }
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives input to the turn. Given back if the turn takes no more.
    #[must_use]
    pub fn push(&self, input: Input) -> Option<Input> {
        let mut state = self.lock();
        if state.closed {
            return Some(input);
        }
        state.inputs.push(input);
        drop(state);
        self.changed.notify_one();
        self.arrived.notify_waiters();
        None
    }

    /// How many inputs wait to be taken.
    pub fn inputs(&self) -> usize {
        self.lock().inputs.len()
    }

    /// How many messages of others do.
    pub fn mail(&self) -> usize {
        self.lock().mail.len()
    }

    /// Whether input waits to be taken.
    pub fn has_input(&self) -> bool {
        !self.lock().inputs.is_empty()
    }

    /// Whether input or mail waits to be taken.
    pub fn has_news(&self) -> bool {
        let state = self.lock();
        !state.inputs.is_empty() || !state.mail.is_empty()
    }

    /// Ends as soon as there is input; it stays where it is. For whatever waits for the person in the course of the turn.
    pub async fn input_came(&self) {
        self.until(Self::has_input).await;
    }

    /// Ends as soon as there is input or mail; it stays where it is.
    pub async fn news_came(&self) {
        self.until(Self::has_news).await;
    }

    async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        loop {
            // Listening before looking: what comes in between is heard.
            let mut arrived = std::pin::pin!(self.arrived.notified());
            arrived.as_mut().enable();
            if is_so(self) {
                return;
            }
            arrived.await;
        }
    }

    /// Takes what has come so far, in order.
    pub fn take(&self) -> Vec<Input> {
        std::mem::take(&mut self.lock().inputs)
    }

    /// Gives a message to the turn. Given back if the turn takes no more.
    #[must_use]
    pub fn deliver(&self, mail: Mail) -> Option<Mail> {
        let mut state = self.lock();
        if state.closed {
            return Some(mail);
        }
        state.mail.push(mail);
        drop(state);
        self.changed.notify_one();
        self.arrived.notify_waiters();
        None
    }

    /// Takes the messages that have come so far, in order; also of a turn that is over.
    pub fn take_mail(&self) -> Vec<Mail> {
        std::mem::take(&mut self.lock().mail)
    }

    /// Closes the door if nobody waits before it; says whether it is closed.
    pub fn close_if_empty(&self) -> bool {
        let mut state = self.lock();
        state.closed = state.inputs.is_empty();
        state.closed
    }

    /// Closes the door once nobody waits before it and no command of the person's runs beside the turn: true then. False as
    /// soon as there is input, or mail that keeps it open. For the turn's own task only.
    pub async fn close_when_done(&self) -> bool {
        loop {
            {
                let mut state = self.lock();
                if !state.inputs.is_empty() || state.mail.iter().any(|mail| mail.wakes) {
                    return false;
                }
                if state.commands == 0 {
                    state.closed = true;
                    return true;
                }
            }
            self.changed.notified().await;
        }
    }

    /// Ends when no command of the person's runs beside the turn. For the turn's own task only.
    pub async fn commands_done(&self) {
        while self.lock().commands > 0 {
            self.changed.notified().await;
        }
    }

    /// Closes the door and gives what waits: a stopped turn answers nothing more.
    pub fn close(&self) -> Vec<Input> {
        let mut state = self.lock();
        state.closed = true;
        std::mem::take(&mut state.inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str) -> Input {
        Input {
            content: vec![UserInput::Text { text: text.to_owned() }],
            ..Input::default()
        }
    }

    /// Shows S-080, S-081.
    #[test]
    fn input_that_races_the_end_is_either_taken_or_given_back() {
        for _ in 0..1000 {
            let pending = std::sync::Arc::new(Pending::default());
            let person = std::thread::spawn({
                let pending = pending.clone();
                move || pending.push(input("late")).is_none()
            });
            let mut taken = Vec::new();
            while !pending.close_if_empty() {
                taken.extend(pending.take());
            }
            assert_eq!(person.join().expect("no panic"), taken == [input("late")]);
        }
        let pending = Pending::default();
        for text in ["1", "2", "3"] {
            assert_eq!(pending.push(input(text)), None);
        }
        assert_eq!(pending.take(), ["1", "2", "3"].map(input));
    }

    /// Shows S-089.
    #[test]
    fn a_stopped_turn_gives_back_what_waits() {
        let pending = Pending::default();
        assert_eq!(pending.push(input("x")), None);
        assert_eq!(pending.close(), [input("x")]);
        assert!(pending.take().is_empty());
        assert_eq!(pending.push(input("y")), Some(input("y")));
    }
}
