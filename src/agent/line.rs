//! The order of the calls of one answer: each has its place in a line, and what it does waits until that is reached.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::any::Any;
use std::sync::{Mutex, PoisonError};

/// Held while a call is at the head of the line.
type Turn = Box<dyn Any + Send>;

tokio::task_local! {
    /// The place of the call that this task carries out.
    static PLACE: Place;
}

/// A place in the line.
pub(super) struct Place {
    waiting: Mutex<Option<BoxFuture<'static, Turn>>>,
    /// Kept to the end of the call.
    reached: Mutex<Option<Turn>>,
}

impl Place {
    /// Takes the next place of a gate. It is taken when this returns, whenever it is waited for.
    pub(super) fn take<G: Send + 'static>(gate: impl Future<Output = G> + Send + 'static) -> Self {
        let mut gate = gate.map(|guard| Box::new(guard) as Turn).boxed();
        let reached = (&mut gate).now_or_never();
        Self {
            waiting: Mutex::new(reached.is_none().then_some(gate)),
            reached: Mutex::new(reached),
        }
    }

    /// Carries out a call that holds this place.
    pub(super) async fn hold<T>(self, call: impl Future<Output = T>) -> T {
        PLACE.scope(self, call).await
    }
}

/// Waits until the calls before this one are done. At once outside of a call, and if it was waited for before.
pub(super) async fn reached() {
    let waiting = PLACE.try_with(|place| place.waiting.lock().unwrap_or_else(PoisonError::into_inner).take());
    if let Ok(Some(waiting)) = waiting {
        let turn = waiting.await;
        PLACE.with(|place| *place.reached.lock().unwrap_or_else(PoisonError::into_inner) = Some(turn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::sync::RwLock;

    #[tokio::test]
    async fn places_are_reached_in_their_order_whoever_waits_first() {
        let gate: Arc<RwLock<()>> = Arc::default();
        let order: Arc<Mutex<Vec<u32>>> = Arc::default();
        let places: Vec<_> = (0..3).map(|_| Place::take(gate.clone().write_owned())).collect();
        let calls = places.into_iter().zip(0..3_u32).rev().map(|(place, number)| {
            let order = order.clone();
            tokio::spawn(place.hold(async move {
                reached().await;
                reached().await;
                order.lock().expect("whole").push(number);
            }))
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.expect("done");
        }
        assert_eq!(*order.lock().expect("whole"), [0, 1, 2]);
        // Outside of a call there is nothing to wait for.
        reached().await;
    }
}
