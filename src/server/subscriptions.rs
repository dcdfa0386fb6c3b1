//! Threads whose events a client has asked for once more: each subscription is a task that follows one stream.
//!
//! Nothing is asked here and nothing is shown to the person; that is the presenter's, once for each thread.

use super::outbound::Outbound;
use crate::agent::stream::Subscription;
use crate::ids::SubscriptionId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

/// Cheap to clone.
#[derive(Clone)]
pub struct Subscriptions(Arc<Shared>);

struct Shared {
    outbound: Outbound,
    live: Mutex<BTreeMap<SubscriptionId, JoinHandle<()>>>,
    tasks: TaskTracker,
}

impl Subscriptions {
    pub fn new(outbound: Outbound) -> Self {
        Self(Arc::new(Shared {
            outbound,
            live: Mutex::default(),
            tasks: TaskTracker::new(),
        }))
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<SubscriptionId, JoinHandle<()>>> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the events under the id, from the moment on in which the sender is dropped, until the thread's last one.
    pub fn begin(&self, id: SubscriptionId, events: Subscription) -> oneshot::Sender<()> {
        let (held, released) = oneshot::channel();
        let mut live = self.live();
        let task = self.0.tasks.spawn(self.clone().follow(id.clone(), events, released));
        live.insert(id, task);
        held
    }

    async fn follow(self, id: SubscriptionId, mut events: Subscription, released: oneshot::Receiver<()>) {
        let _answered = released.await;
        while let Some(mut event) = events.next().await {
            event.at.subscription_id = Some(id.clone());
            // One that cannot be written is logged there, and the next one comes.
            self.0.outbound.notify_paced(event.kind.method(), event.params()).await;
        }
        self.live().remove(&id);
    }

    /// Ends one; nothing is sent for it any more when this returns. False if there is none.
    pub async fn end(&self, id: &SubscriptionId) -> bool {
        let Some(task) = self.live().remove(id) else {
            return false;
        };
        task.abort();
        let _ended = task.await;
        true
    }

    /// Ends when all threads that are followed have been followed to their end.
    pub async fn finished(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::stream::Stream;
    use crate::protocol::document::{ChangedKind, ChangedPath, FilesChanged};
    use crate::protocol::event::{EventKind, ThreadClosed, Warning};
    use crate::server::outbound::Outgoing;
    use crate::server::stop::Stop;
    use serde_json::Value;
    use std::ffi::OsStr;

    fn warning(message: &str) -> EventKind {
        EventKind::Warning(Warning {
            message: message.to_owned(),
        })
    }

    /// A writer that keeps what is logged.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Shows S-451.
    #[cfg(unix)]
    #[tokio::test]
    async fn an_event_that_cannot_be_written_is_logged_and_the_next_one_comes() {
        let (outbound, queue) = Outbound::new(Stop::default());
        let subscriptions = Subscriptions::new(outbound);
        let stream = Stream::new("t".into());
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        let _logging = tracing::subscriber::set_default(subscriber);
        // JSON has no place for a name that is no text.
        let broken = ChangedPath {
            path: <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"/w/\xff").into(),
            uri: String::new(),
            kind: ChangedKind::Changed,
        };
        let broken = FilesChanged { paths: vec![broken] };
        drop(subscriptions.begin("s".into(), stream.subscribe(None)));
        stream.publish(None, warning("before"));
        stream.publish(None, EventKind::FilesChanged(broken));
        stream.publish(None, warning("after"));
        stream.publish(None, EventKind::ThreadClosed(ThreadClosed {}));
        subscriptions.finished().await;
        let sent: Vec<Value> = queue
            .try_iter()
            .filter_map(|outgoing| match outgoing {
                Outgoing::Message(body, _) => serde_json::from_slice(&body).ok(),
                Outgoing::Last(_) => None,
            })
            .collect();
        let shown: Vec<_> = sent
            .iter()
            .map(|message| {
                (
                    message["params"]["seq"].as_u64(),
                    message["params"]["subscriptionId"].as_str(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [(Some(1), Some("s")), (Some(3), Some("s")), (Some(4), Some("s"))]
        );
        let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert!(
            logged.contains("countersign/file/changed") && logged.contains("skipped"),
            "{logged}"
        );
        // Its task has ended with the thread.
        assert!(!subscriptions.end(&"s".into()).await);
    }
}
