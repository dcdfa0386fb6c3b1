//! Requests of the client's that have no answer yet, so that they can be taken back.

use super::error::{Failure, INTERNAL, INVALID_REQUEST};
use crate::ids::ThreadId;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Requests that may wait at one time.
const MOST: usize = 1024;

#[derive(Default)]
pub(super) struct Flight(Mutex<Vec<Entry>>);

struct Entry {
    id: Value,
    /// Of a prompt.
    session: Option<ThreadId>,
    stop: CancellationToken,
    has_begun: bool,
}

/// A request that was taken.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) id: Value,
    /// Fires when the client takes it back, or the session of a prompt is stopped.
    pub(super) stop: CancellationToken,
}

impl Flight {
    fn all(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// Too many wait, or one with this id does.
    pub(super) fn begin(&self, id: &Value, session: Option<ThreadId>) -> Result<Taken, Failure> {
        let mut all = self.all();
        if all.len() >= MOST {
            let words = format!("{MOST} requests wait already. Wait for some of their answers, then send it again.");
            return Err(Failure::new(INTERNAL, words));
        }
        if all.iter().any(|entry| entry.id == *id) {
            return Err(id_taken(id));
        }
        let stop = CancellationToken::new();
        all.push(Entry {
            id: id.clone(),
            session,
            stop: stop.clone(),
            has_begun: false,
        });
        Ok(Taken { id: id.clone(), stop })
    }

    /// Its turn has come. False if it was taken back, and has its answer.
    pub(super) fn start(&self, taken: &Taken) -> bool {
        let mut all = self.all();
        let found = all.iter_mut().find(|entry| entry.id == taken.id && !entry.has_begun);
        found.map(|entry| entry.has_begun = true).is_some() && !taken.stop.is_cancelled()
    }

    pub(super) fn end(&self, taken: &Taken) {
        let mut all = self.all();
        if let Some(at) = all.iter().position(|entry| entry.id == taken.id) {
            all.remove(at);
        }
    }

    /// Stops the prompts of a session. Those that have not begun are given back, to be answered.
    pub(super) fn stop_prompts(&self, session: &ThreadId) -> Vec<Value> {
        self.take_back(|entry| entry.session.as_ref() == Some(session))
    }

    /// Stops one request. True if it has not begun, and is to be answered.
    pub(super) fn stop(&self, id: &Value) -> bool {
        !self.take_back(|entry| entry.id == *id).is_empty()
    }

    fn take_back(&self, is_meant: impl Fn(&Entry) -> bool) -> Vec<Value> {
        let mut taken = Vec::new();
        self.all().retain(|entry| {
            if !is_meant(entry) {
                return true;
            }
            entry.stop.cancel();
            if !entry.has_begun {
                taken.push(entry.id.clone());
            }
            entry.has_begun
        });
        taken
    }
}

/// A second request with the id of one that has no answer yet.
pub(super) fn id_taken(id: &Value) -> Failure {
    let words = format!("A request with the id {id} waits already. Give each an id of its own.");
    Failure::new(INVALID_REQUEST, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_has_not_begun_is_given_back_and_never_begins() {
        let flight = Flight::default();
        let session = ThreadId::from("s");
        let begun = flight.begin(&json!(1), Some(session.clone())).expect("room");
        let waits = flight.begin(&json!("two"), Some(session.clone())).expect("room");
        let other = flight.begin(&json!(3), None).expect("room");
        assert!(flight.begin(&json!("two"), None).is_err(), "its id is taken");
        assert!(flight.start(&begun));
        assert!(flight.begin(&json!(1), None).is_err(), "its id is taken");
        assert_eq!(flight.stop_prompts(&session), [json!("two")]);
        assert!(begun.stop.is_cancelled() && !flight.start(&waits) && !other.stop.is_cancelled());
        assert!(flight.stop(&json!(3)) && !flight.start(&other) && !flight.stop(&json!(3)));
        flight.end(&begun);
        // An id is free once its request is over.
        for number in 0..MOST {
            assert!(flight.begin(&json!(number), None).is_ok());
        }
        assert!(flight.begin(&json!("more"), None).is_err());
    }
}
