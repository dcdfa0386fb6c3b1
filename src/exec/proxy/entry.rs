//! The place of a connection among those that a command may have. Whoever has not shown the secret gets a small one for a
//! moment only, so that nobody who just connects keeps the command out.

use super::lock;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

/// How long a client may take to show the secret.
const SHOWING: Duration = Duration::from_secs(3);

/// Of one connection.
pub(super) struct Entry {
    place: Mutex<OwnedSemaphorePermit>,
    shown: AtomicBool,
}

impl Entry {
    pub(super) fn new(place: OwnedSemaphorePermit) -> Arc<Self> {
        Arc::new(Self {
            place: Mutex::new(place),
            shown: AtomicBool::new(false),
        })
    }

    /// The secret was shown: waits for a place among those who have.
    pub(super) async fn admit(&self, places: &Arc<Semaphore>) {
        if self.shown.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Ok(place) = places.clone().acquire_owned().await {
            *lock(&self.place) = place;
        }
    }

    /// Is over when the secret was not shown in time.
    pub(super) async fn overdue(&self) {
        sleep(SHOWING).await;
        if self.shown.load(Ordering::Relaxed) {
            pending().await
        }
    }
}
