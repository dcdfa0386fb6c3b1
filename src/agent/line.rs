//! The order of the calls of one answer: each has its place in a line, and what it does waits until that is reached.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held while a call is at the head of a line.
type Turn = Box<dyn Any + Send>;

tokio::task_local! {
    /// The place of the call that this task carries out.
    static PLACE: Place;
}

/// The place of a call: in the line of those that do something, and in that of those that may ask ahead of it.
pub(super) struct Place {
    doing: Waiting,
    deciding: Waiting,
}

/// Waiting in one line.
#[derive(Default)]
struct Waiting {
    until: Mutex<Option<BoxFuture<'static, Turn>>>,
    /// Kept to the end of the call, or till it steps out of the line.
    reached: Mutex<Option<Turn>>,
}

impl Place {
    /// Takes the next place of a gate. It is taken when this returns, whenever it is waited for.
    pub(super) fn take<G: Send + 'static>(gate: impl Future<Output = G> + Send + 'static) -> Self {
        Self {
            doing: Waiting::take(gate),
            deciding: Waiting::default(),
        }
    }

    /// Takes the next place also among those that decide whether to ask, before it is their turn to do something.
    pub(super) fn decides_after<G: Send + 'static>(self, gate: impl Future<Output = G> + Send + 'static) -> Self {
        Self {
            deciding: Waiting::take(gate),
            ..self
        }
    }

    /// Carries out a call that holds this place.
    pub(super) async fn hold<T>(self, call: impl Future<Output = T>) -> T {
        PLACE.scope(self, call).await
    }
}

impl Waiting {
    fn take<G: Send + 'static>(gate: impl Future<Output = G> + Send + 'static) -> Self {
        let mut gate = gate.map(|guard| Box::new(guard) as Turn).boxed();
        let reached = (&mut gate).now_or_never();
        Self {
            until: Mutex::new(reached.is_none().then_some(gate)),
            reached: Mutex::new(reached),
        }
    }
}

/// Waits until the calls before this one are done, and says whether it had to: then they may have changed something. At
/// once outside of a call, and if it was waited for before. Whoever waits here asks nothing ahead of its turn.
pub(super) async fn reached() -> bool {
    decided();
    wait_in(|place| &place.doing).await
}

/// Waits until the calls before this one have decided whether to ask, so that questions come in the order of the calls. At
/// once outside of a call, and if it was waited for before.
pub(super) async fn decides() {
    wait_in(|place| &place.deciding).await;
}

/// This call has decided whether to ask: the next one may.
pub(super) fn decided() {
    let _outside = PLACE.try_with(|place| {
        *lock(&place.deciding.until) = None;
        *lock(&place.deciding.reached) = None;
    });
}

async fn wait_in(line: impl Fn(&Place) -> &Waiting) -> bool {
    let waiting = PLACE.try_with(|place| lock(&line(place).until).take());
    let Ok(Some(waiting)) = waiting else { return false };
    let turn = waiting.await;
    PLACE.with(|place| *lock(&line(place).reached) = Some(turn));
    true
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
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
                // The first was never waited for by others.
                assert_eq!(reached().await, number > 0);
                assert!(!reached().await);
                order.lock().expect("whole").push(number);
            }))
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.expect("done");
        }
        assert_eq!(*order.lock().expect("whole"), [0, 1, 2]);
        // Outside of a call there is nothing to wait for.
        assert!(!reached().await);
    }

    #[tokio::test]
    async fn calls_decide_in_their_order_and_hold_up_only_the_decisions_after_them() {
        let (doing, deciding): (Arc<RwLock<()>>, Arc<RwLock<()>>) = Default::default();
        let order: Arc<Mutex<Vec<(&str, u32)>>> = Arc::default();
        let places: Vec<_> = (0..3)
            .map(|_| Place::take(doing.clone().write_owned()).decides_after(deciding.clone().write_owned()))
            .collect();
        let calls = places.into_iter().zip(0..3_u32).rev().map(|(place, number)| {
            let order = order.clone();
            tokio::spawn(place.hold(async move {
                // The second asks nothing, and its turn comes all the same.
                if number != 1 {
                    decides().await;
                    lock(&order).push(("decides", number));
                }
                reached().await;
                lock(&order).push(("does", number));
            }))
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.expect("done");
        }
        let order = lock(&order).clone();
        let of = |what: &str| {
            order
                .iter()
                .filter(|(is, _)| *is == what)
                .map(|(_, number)| *number)
                .collect::<Vec<_>>()
        };
        assert_eq!((of("decides"), of("does")), (vec![0, 2], vec![0, 1, 2]));
        // Outside of a call there is nothing to wait for.
        decides().await;
        decided();
    }
}
