//! What is said of a message before it is whole goes on record now and then: whoever saw it finds it again after a crash.

use crate::ids::{ItemId, TurnId};
use crate::store::line::EventMsg;
use crate::store::{Recorder, RolloutItem, WeakRecorder};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;

/// Between two lines about a message. A message that is whole sooner has none.
const EVERY: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct Said(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    turn: Option<TurnId>,
    /// The message that is being said.
    item: Option<ItemId>,
    /// What is not on record yet.
    text: String,
    /// Some of it is.
    is_written: bool,
    /// Somebody writes it down from time to time.
    is_followed: bool,
}

impl Said {
    /// More of a message.
    pub(super) fn more(&self, turn: Option<&TurnId>, item: &ItemId, text: &str, recorder: &Recorder) {
        let mut state = self.state();
        if state.item.as_ref() != Some(item) {
            *state = State {
                turn: turn.cloned(),
                item: Some(item.clone()),
                is_followed: state.is_followed,
                ..State::default()
            };
        }
        state.text.push_str(text);
        let Some(runtime) = Handle::try_current().ok().filter(|_| !state.is_followed) else {
            return;
        };
        state.is_followed = true;
        // It keeps no conversation open.
        let (said, recorder) = (self.0.clone(), recorder.weak());
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                if !write(&said, &recorder) {
                    return;
                }
            }
        });
    }

    /// A message is whole, or is said again as another one. Whether some of it is on record.
    pub(super) fn ends(&self, item: &ItemId) -> bool {
        let mut state = self.state();
        if state.item.as_ref() != Some(item) {
            return false;
        }
        state.item = None;
        state.text.clear();
        std::mem::take(&mut state.is_written)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes down what was said since the last time; false if that is nothing.
fn write(said: &Mutex<State>, recorder: &WeakRecorder) -> bool {
    // Held meanwhile, so that the line does not come after that of the whole message.
    let mut state = said.lock().unwrap_or_else(PoisonError::into_inner);
    let item = state.item.clone().filter(|_| !state.text.is_empty());
    let (Some(item_id), Some(recorder)) = (item, recorder.upgrade()) else {
        state.is_followed = false;
        return false;
    };
    state.is_written = true;
    recorder.record([RolloutItem::EventMsg(EventMsg::AgentMessagePartial {
        turn_id: state.turn.clone(),
        item_id,
        text: std::mem::take(&mut state.text),
        withdrawn: false,
    })]);
    true
}
