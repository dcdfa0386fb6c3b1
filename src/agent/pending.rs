//! Input that comes while a turn runs. It is either taken by that turn or given back, never lost in between.

use crate::protocol::item::UserInput;
use crate::protocol::turn::EditorContext;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One input of the person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    pub content: Vec<UserInput>,
    pub context: Option<EditorContext>,
    pub client_id: Option<String>,
}

#[derive(Default)]
pub struct Pending {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    closed: bool,
    inputs: Vec<Input>,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives input to the turn. Given back if the turn takes no more.
    pub fn push(&self, input: Input) -> Result<(), Input> {
        let mut state = self.lock();
        if state.closed {
            return Err(input);
        }
        state.inputs.push(input);
        Ok(())
    }

    /// Takes what has come so far, in order.
    pub fn take(&self) -> Vec<Input> {
        std::mem::take(&mut self.lock().inputs)
    }

    /// Closes the door if nobody waits before it; says whether it is closed.
    pub fn close_if_empty(&self) -> bool {
        let mut state = self.lock();
        state.closed = state.inputs.is_empty();
        state.closed
    }

    /// Closes the door and drops what waits: a stopped turn answers nothing more.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.inputs.clear();
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
                move || pending.push(input("late")).is_ok()
            });
            let mut taken = Vec::new();
            while !pending.close_if_empty() {
                taken.extend(pending.take());
            }
            assert_eq!(person.join().expect("no panic"), taken == [input("late")]);
        }
        let pending = Pending::default();
        for text in ["1", "2", "3"] {
            pending.push(input(text)).expect("open");
        }
        assert_eq!(pending.take(), ["1", "2", "3"].map(input));
    }

    /// Shows S-089.
    #[test]
    fn a_stopped_turn_drops_what_waits() {
        let pending = Pending::default();
        pending.push(input("x")).expect("open");
        pending.close();
        assert!(pending.take().is_empty());
        assert_eq!(pending.push(input("y")), Err(input("y")));
    }
}
