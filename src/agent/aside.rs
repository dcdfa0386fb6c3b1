//! Work that waits for the disk, or takes long, where it holds up no other task.

use tokio::task::JoinHandle;

/// Does it to its end, also if nobody waits for it any more. A panic in it goes on in whoever waits.
pub(super) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match begin(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is being taken down, and whoever waits with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// The same for whoever goes on without the result if there is none.
pub(super) fn begin<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // Another thread would be done at another moment each time the same schedule is played.
    #[cfg(test)]
    if super::schedules::is_playing() {
        return tokio::spawn(async move { work() });
    }
    tokio::task::spawn_blocking(work)
}
