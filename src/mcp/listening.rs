//! A transport that hears of progress in the order in which it comes: what a server says before its answer is known before
//! the answer is. It also keeps a server that floods within bounds: what is too much is not read until there is room for it,
//! and everybody else goes on meanwhile.

use super::caller::{Callers, Progress};
use futures::FutureExt as _;
use rmcp::RoleClient;
use rmcp::model::{GetExtensions as _, JsonRpcMessage, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Requests of a server that are not answered yet.
const MOST_OPEN: usize = 64;
/// Requests and notifications that a server may send at once.
const BURST: u32 = 2000;
/// How often one may come beyond that.
const PACE: Duration = Duration::from_millis(1);
/// Messages after which others have their turn.
const IN_A_ROW: usize = 16;

pub(super) struct Listening<T> {
    transport: T,
    callers: Arc<Callers>,
    /// The server says that its tools are others now.
    tools_changed: Arc<Notify>,
    /// What is read and has to wait. The library drops the future that reads whenever something else happens.
    held: Option<RxJsonRpcMessage<RoleClient>>,
    open: Open,
    pace: Pace,
    in_a_row: usize,
}

impl<T> Listening<T> {
    pub(super) fn new(transport: T, callers: Arc<Callers>, tools_changed: Arc<Notify>) -> Self {
        Self {
            transport,
            callers,
            tools_changed,
            held: None,
            open: Open::new(),
            pace: Pace::new(),
            in_a_row: 0,
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Listening<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // A server that does not read its answers gets no further than with unanswered requests.
        let is_answer = matches!(&message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let place = is_answer.then(|| self.open.take());
        self.transport.send(message).map(move |sent| {
            drop(place);
            sent
        })
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if self.in_a_row >= IN_A_ROW {
                self.in_a_row = 0;
                tokio::task::yield_now().await;
            }
            if self.held.is_none() {
                self.held = Some(self.transport.receive().await?);
            }
            // Whatever waits here takes nothing yet: it may be dropped and begun again.
            if matches!(
                &self.held,
                Some(JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_))
            ) {
                let wait = self.pace.wait();
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
            }
            if matches!(&self.held, Some(JsonRpcMessage::Request(_))) {
                self.open.room().await;
            }
            let Some(mut message) = self.held.take() else { continue };
            self.in_a_row += 1;
            match &mut message {
                JsonRpcMessage::Request(request) => {
                    self.pace.take();
                    // It goes with the request, and is free when that is worked off; its answer takes one of its own.
                    let place = Arc::new(self.open.take());
                    request.request.extensions_mut().insert(place);
                }
                JsonRpcMessage::Notification(notification) => {
                    self.pace.take();
                    match &notification.notification {
                        ServerNotification::ProgressNotification(heard) => {
                            let params = &heard.params;
                            let progress = Progress {
                                progress: params.progress,
                                total: params.total,
                                message: params.message.clone(),
                            };
                            self.callers.progress(params.progress_token.clone(), progress);
                        }
                        // However often it is said, it is one thing to do; the library would start a task for each.
                        ServerNotification::ToolListChangedNotification(_) => {
                            self.tools_changed.notify_one();
                            continue;
                        }
                        _ => {}
                    }
                }
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

/// How many requests are open: worked on, or their answers on the way.
struct Open(watch::Sender<usize>);

impl Open {
    fn new() -> Self {
        Self(watch::channel(0).0)
    }

    fn take(&self) -> Place {
        self.0.send_modify(|count| *count += 1);
        Place(self.0.clone())
    }

    /// Ends when one more may be open.
    async fn room(&self) {
        let mut count = self.0.subscribe();
        // It fails only where nobody counts any more.
        let _has_room = count.wait_for(|count| *count < MOST_OPEN).await.is_ok();
    }
}

/// The place of an open request. Dropping it frees the place.
struct Place(watch::Sender<usize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// How fast messages may come, after a burst.
struct Pace {
    /// When all of the burst is there again.
    full: Instant,
}

impl Pace {
    fn new() -> Self {
        Self { full: Instant::now() }
    }

    /// How long until the next one may come.
    fn wait(&self) -> Duration {
        let used = self.full.saturating_duration_since(Instant::now());
        (used + PACE).saturating_sub(PACE * BURST)
    }

    fn take(&mut self) {
        self.full = self.full.max(Instant::now()) + PACE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Semaphore;
    use tokio::time::timeout;

    /// A server that says what the iterator gives it, and reads as much as the test allows it.
    struct Fake {
        says: Box<dyn Iterator<Item = Value> + Send>,
        reads: Arc<Semaphore>,
    }

    impl Transport<RoleClient> for Fake {
        type Error = std::io::Error;

        fn send(
            &mut self,
            _: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
            let reads = self.reads.clone();
            async move {
                reads.acquire().await.expect("open").forget();
                Ok(())
            }
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            match self.says.next() {
                Some(message) => Some(serde_json::from_value(message).expect("a message")),
                None => std::future::pending().await,
            }
        }

        async fn close(&mut self) -> Result<(), Self::Error> {
            Ok(())
        }
    }

    struct Server {
        listening: Listening<Fake>,
        reads: Arc<Semaphore>,
        tools_changed: Arc<Notify>,
    }

    fn server(says: impl Iterator<Item = Value> + Send + 'static) -> Server {
        let (reads, tools_changed) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
        let fake = Fake {
            says: Box::new(says),
            reads: reads.clone(),
        };
        Server {
            listening: Listening::new(fake, Arc::default(), tools_changed.clone()),
            reads,
            tools_changed,
        }
    }

    impl Server {
        /// What comes within a second.
        async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            let within = timeout(Duration::from_secs(1), self.listening.receive()).await;
            within.ok().map(|message| message.expect("it goes on"))
        }
    }

    fn request(id: usize) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"})
    }

    fn answer(id: usize) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "result": {}})
    }

    fn notification(method: &str) -> Value {
        json!({"jsonrpc": "2.0", "method": method})
    }

    fn id(message: &RxJsonRpcMessage<RoleClient>) -> String {
        match message {
            JsonRpcMessage::Request(request) => format!("request {}", request.id),
            JsonRpcMessage::Response(response) => format!("answer {}", response.id),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_requests_leaves_few_of_them_open() {
        let mut server = server((0..100_000).map(request));
        let mut open = Vec::new();
        while let Some(message) = server.next().await {
            assert_eq!(id(&message), format!("request {}", open.len()));
            open.push(message);
        }
        assert_eq!(open.len(), MOST_OPEN);
        // One that is worked off, and its answer lies there unread: no room yet.
        open.pop();
        let answer = serde_json::from_value(answer(63)).expect("an answer");
        let sending = tokio::spawn(server.listening.send(answer));
        assert!(server.next().await.is_none());
        server.reads.add_permits(1);
        sending.await.expect("no panic").expect("sent");
        let next = server.next().await.expect("room");
        assert_eq!(id(&next), "request 64", "what had to wait is not lost");
        assert!(server.next().await.is_none());
        // An answer that is never sent does not count for ever.
        drop((open, next));
        assert_eq!(id(&server.next().await.expect("room")), "request 65");
    }

    #[tokio::test(start_paused = true)]
    async fn answers_pass_when_all_places_are_taken_and_keep_their_order() {
        let says = (0..MOST_OPEN)
            .map(request)
            .chain([answer(1), answer(2), request(64), answer(3)]);
        let mut server = server(says);
        let mut open = Vec::new();
        for _ in 0..MOST_OPEN {
            open.push(server.next().await.expect("room"));
        }
        for expected in ["answer 1", "answer 2"] {
            assert_eq!(id(&server.next().await.expect("an answer")), expected);
        }
        assert!(server.next().await.is_none());
        open.pop();
        let last = server.next().await.expect("room");
        assert_eq!(id(&last), "request 64");
        assert_eq!(id(&server.next().await.expect("an answer")), "answer 3");
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_comes_at_once_and_more_at_its_pace_however_often_reading_is_begun_anew() {
        let mut server = server((0..100_000).map(request));
        let begun = Instant::now();
        for number in 0..BURST + 1000 {
            let message = loop {
                let short = Duration::from_micros(300);
                if let Ok(message) = timeout(short, server.listening.receive()).await {
                    break message.expect("it goes on");
                }
            };
            assert_eq!(id(&message), format!("request {number}"));
            if number < BURST {
                assert!(begun.elapsed().is_zero(), "{number}");
            }
        }
        let took = begun.elapsed();
        assert!(
            (Duration::from_millis(900)..Duration::from_secs(4)).contains(&took),
            "{took:?}"
        );
    }

    #[tokio::test]
    async fn others_have_their_turn_meanwhile() {
        let mut server = server(std::iter::repeat_with(|| answer(1)));
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = turns.clone();
        tokio::spawn(async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        for _ in 0..IN_A_ROW * 100 {
            server.listening.receive().await.expect("it goes on");
        }
        assert!(turns.load(Ordering::Relaxed) >= 90, "{turns:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn changed_tools_are_told_once_and_not_passed_on() {
        let changed = std::iter::repeat_with(|| notification("notifications/tools/list_changed"));
        let mut server = server(changed.take(5000).chain([answer(1)]));
        let passed = server.listening.receive().await.expect("it goes on");
        assert_eq!(id(&passed), "answer 1");
        assert!(server.tools_changed.notified().now_or_never().is_some());
        assert!(server.tools_changed.notified().now_or_never().is_none());
    }
}
