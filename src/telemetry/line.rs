//! The line to one collector: entries wait in a bounded queue, go out in batches in the background, and are tried again
//! while the collector is away. Nobody who puts something in waits.

use super::record::{Entry, Value};
use crate::config::otel::{Exporter, Wire};
use crate::model::post::{Answer, Post, PostError};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// How long entries wait for others to go with them.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// Entries, and bytes of them, that go in one request.
const BATCH_ENTRIES: usize = 512;
const BATCH_BYTES: usize = 1 << 20;
/// Entries, and bytes of them, that wait at most. Beyond, the oldest go.
const MOST_ENTRIES: usize = 16_384;
const MOST_BYTES: usize = 8 << 20;
/// How long a collector may take for a request.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
/// The first wait before another try, and the longest.
const FIRST_DELAY: Duration = Duration::from_millis(500);
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// Tries of one batch that the collector answers with an error of its own.
const MOST_REFUSALS: u32 = 5;

/// What a line carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Logs,
    Traces,
    Metrics,
}

impl Signal {
    fn path(self) -> &'static str {
        match self {
            Self::Logs => "/v1/logs",
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
        }
    }

    fn service(self) -> &'static str {
        match self {
            Self::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
            Self::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Self::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        }
    }
}

/// Who sends: the same for all entries of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Resource(pub(super) Vec<(&'static str, Value)>);

/// The putting end.
#[derive(Debug)]
pub(super) struct Line {
    shared: Arc<Shared>,
    flushed: watch::Receiver<u64>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// Something was put in, or is to go out at once.
    arrived: Notify,
    ended: CancellationToken,
}

#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Entries that went for want of room since the last delivery.
    dropped: u64,
    /// How often it was asked to send all at once.
    flushes: u64,
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Line {
    /// Begins a line; its task runs until the line is dropped. Within a runtime.
    pub(super) fn begin(signal: Signal, exporter: &Exporter, resource: Resource) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            arrived: Notify::new(),
            ended: CancellationToken::new(),
        });
        let (done, flushed) = watch::channel(0);
        let sender = Sender {
            shared: shared.clone(),
            wire: exporter.wire,
            resource,
            post: Post::new(
                address(signal, exporter),
                exporter.headers.clone(),
                exporter.network.clone(),
                exporter.tls.clone(),
                exporter.wire == Wire::Grpc,
            ),
            collector: exporter.endpoint.clone(),
            done,
            is_away: false,
        };
        tokio::spawn(sender.run());
        Self { shared, flushed }
    }

    /// Puts an entry in. Where there is no room the oldest goes.
    pub(super) fn put(&self, entry: Entry) {
        let size = entry.size();
        {
            let mut queue = lock(&self.shared.queue);
            queue.bytes += size;
            queue.entries.push_back(entry);
            queue.bound();
        }
        self.shared.arrived.notify_one();
    }

    /// Sends all that waits, once: what the collector does not take then is given up. Gives up waiting with its future.
    pub(super) async fn flush(&self) {
        let number = {
            let mut queue = lock(&self.shared.queue);
            queue.flushes += 1;
            queue.flushes
        };
        self.shared.arrived.notify_one();
        let mut flushed = self.flushed.clone();
        // An error says that the task is gone, and then nothing more goes out.
        let _ = flushed.wait_for(|done| *done >= number).await;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.shared.ended.cancel();
    }
}

impl Queue {
    fn bound(&mut self) {
        while self.entries.len() > MOST_ENTRIES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.entries.pop_front() else { return };
            self.bytes -= oldest.size();
            self.dropped += 1;
        }
    }

    /// The first entries, as many as go in a request.
    fn batch(&mut self) -> Vec<Entry> {
        let (mut count, mut bytes) = (0, 0);
        for entry in self.entries.iter().take(BATCH_ENTRIES) {
            bytes += entry.size();
            if count > 0 && bytes > BATCH_BYTES {
                break;
            }
            count += 1;
        }
        let batch: Vec<Entry> = self.entries.drain(..count).collect();
        self.bytes -= batch.iter().map(Entry::size).sum::<usize>();
        batch
    }

    /// A batch that was not delivered, back to where it was.
    fn give_back(&mut self, batch: Vec<Entry>) {
        for entry in batch.into_iter().rev() {
            self.bytes += entry.size();
            self.entries.push_front(entry);
        }
        self.bound();
    }

    fn is_full_batch(&self) -> bool {
        self.entries.len() >= BATCH_ENTRIES || self.bytes >= BATCH_BYTES
    }
}

/// Where a signal goes. An address without a path is a collector's own; its paths are known.
fn address(signal: Signal, exporter: &Exporter) -> String {
    let endpoint = exporter.endpoint.trim_end_matches('/');
    let is_bare = url::Url::parse(endpoint).is_ok_and(|url| url.path() == "/" && url.query().is_none());
    match exporter.wire {
        Wire::Grpc => format!("{endpoint}{}", signal.service()),
        _ if is_bare => format!("{endpoint}{}", signal.path()),
        _ => exporter.endpoint.clone(),
    }
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Taken,
    /// Worth another try, perhaps not before a moment that the collector names.
    Later {
        reason: String,
        after: Option<Duration>,
        is_refusal: bool,
    },
    Never(String),
}

/// The sending end: a task of its own.
struct Sender {
    shared: Arc<Shared>,
    wire: Wire,
    resource: Resource,
    post: Post,
    /// For the log.
    collector: String,
    done: watch::Sender<u64>,
    /// The log was told that the collector does not take anything.
    is_away: bool,
}

impl Sender {
    async fn run(mut self) {
        let ended = self.shared.ended.clone();
        tokio::select! {
            () = ended.cancelled() => {}
            () = self.deliver() => {}
        }
    }

    async fn deliver(&mut self) {
        let mut failures: u32 = 0;
        let mut refusals: u32 = 0;
        let mut told: Option<Duration> = None;
        loop {
            let delay = match failures {
                0 => BATCH_DELAY,
                _ => told.unwrap_or_else(|| back_off(failures)),
            };
            let flush = self.wait(delay, failures > 0).await;
            let batch = lock(&self.shared.queue).batch();
            if batch.is_empty() {
                self.done.send_replace(flush);
                continue;
            }
            let count = batch.len();
            match self.send(&batch).await {
                Outcome::Taken => {
                    (failures, refusals, told) = (0, 0, None);
                    self.delivered();
                }
                Outcome::Never(reason) => {
                    (failures, refusals, told) = (0, 0, None);
                    self.refused(&reason, count);
                }
                Outcome::Later { reason, is_refusal, .. } if is_refusal && refusals + 1 >= MOST_REFUSALS => {
                    (failures, refusals, told) = (0, 0, None);
                    self.refused(&reason, count);
                }
                Outcome::Later {
                    reason,
                    after,
                    is_refusal,
                } => {
                    failures = failures.saturating_add(1);
                    refusals += u32::from(is_refusal);
                    told = after.map(|after| after.min(LONGEST_DELAY));
                    if !std::mem::replace(&mut self.is_away, true) {
                        tracing::warn!(collector = %self.collector, %reason, "telemetry is not taken; it is tried again");
                    }
                    let is_last = {
                        let mut queue = lock(&self.shared.queue);
                        queue.give_back(batch);
                        queue.flushes > *self.done.borrow()
                    };
                    // What is to go out at once is tried once.
                    if is_last {
                        self.done.send_replace(flush);
                    }
                }
            }
        }
    }

    /// Waits until there is something to send: entries and a moment for others to join them, a whole batch, or somebody who
    /// wants all of it sent now. After a failure only time and those count. Gives the number of the last flush.
    async fn wait(&self, delay: Duration, is_failing: bool) -> u64 {
        let deadline = tokio::time::sleep(delay);
        tokio::pin!(deadline);
        let mut is_due = false;
        loop {
            {
                let queue = lock(&self.shared.queue);
                let wants_all = queue.flushes > *self.done.borrow();
                let has_some = !queue.entries.is_empty();
                if wants_all || (has_some && is_due) || (queue.is_full_batch() && !is_failing) {
                    return queue.flushes;
                }
            }
            tokio::select! {
                () = self.shared.arrived.notified() => {}
                () = &mut deadline, if !is_due => is_due = true,
            }
        }
    }

    fn delivered(&mut self) {
        let dropped = std::mem::take(&mut lock(&self.shared.queue).dropped);
        if dropped > 0 {
            tracing::warn!(collector = %self.collector, dropped, "telemetry was dropped, since the collector did not take it in time");
        }
        if std::mem::take(&mut self.is_away) {
            tracing::info!(collector = %self.collector, "telemetry is taken again");
        }
    }

    fn refused(&mut self, reason: &str, count: usize) {
        if !std::mem::replace(&mut self.is_away, true) {
            tracing::warn!(collector = %self.collector, %reason, count, "telemetry was refused, and dropped");
        }
    }

    async fn send(&self, batch: &[Entry]) -> Outcome {
        let body = super::encode(self.wire, &self.resource, batch);
        let headers: &[(&str, &str)] = match self.wire {
            Wire::Binary => &[("content-type", "application/x-protobuf")],
            Wire::Json => &[("content-type", "application/json")],
            Wire::Grpc => &[("content-type", "application/grpc"), ("te", "trailers")],
        };
        match self.post.send(headers, body, REQUEST_LIMIT).await {
            Ok(answer) => judge(self.wire, &answer),
            Err(PostError::Setup(reason)) => Outcome::Never(reason),
            Err(error) => Outcome::Later {
                reason: error.to_string(),
                after: None,
                is_refusal: false,
            },
        }
    }
}

fn back_off(failures: u32) -> Duration {
    FIRST_DELAY
        .saturating_mul(1_u32.checked_shl(failures - 1).unwrap_or(u32::MAX))
        .min(LONGEST_DELAY)
}

/// What an answer means.
fn judge(wire: Wire, answer: &Answer) -> Outcome {
    let later = |reason: String, is_refusal| Outcome::Later {
        reason,
        after: answer.retry_after,
        is_refusal,
    };
    let taken = || {
        if let Some((count, reason)) = super::rejected(wire, &answer.body) {
            tracing::warn!(count, %reason, "the collector has not taken part of the telemetry");
        }
        Outcome::Taken
    };
    match (answer.status, &answer.grpc) {
        (200..=299, Some((0, _))) => taken(),
        (200..=299, None) if wire != Wire::Grpc => taken(),
        // Cancelled, late, exhausted, aborted, out of range, unavailable, lost: the protocol says that these pass.
        (200..=299, Some((status @ (1 | 4 | 8 | 10 | 11 | 14 | 15), words))) => {
            later(format!("gRPC status {status} {words}"), false)
        }
        (200..=299, Some((status, words))) => Outcome::Never(format!("gRPC status {status} {words}")),
        (200..=299, None) => later("its answer has no gRPC status".to_owned(), true),
        (status @ (429 | 502 | 503 | 504), _) => later(format!("status {status}"), false),
        (status @ (408 | 500..=599), _) => later(format!("status {status}"), true),
        (status, _) => Outcome::Never(format!("status {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Fields, Record};
    use super::*;
    use crate::config::network::{Network, Tls};

    fn record(size: usize) -> Entry {
        Entry::Record(Record {
            at: 1,
            name: "x",
            is_failure: false,
            fields: Fields::default().with("text", "x".repeat(size)),
            place: None,
        })
    }

    fn queue(sizes: impl IntoIterator<Item = usize>) -> Queue {
        let mut queue = Queue::default();
        for size in sizes {
            let entry = record(size);
            queue.bytes += entry.size();
            queue.entries.push_back(entry);
            queue.bound();
        }
        queue
    }

    #[test]
    fn the_queue_is_bounded_by_number_and_by_size_and_loses_the_oldest() {
        let many = queue(std::iter::repeat_n(0, MOST_ENTRIES + 7));
        assert_eq!((many.entries.len(), many.dropped), (MOST_ENTRIES, 7));
        let mut large = queue([MOST_BYTES / 2, MOST_BYTES / 2, 5]);
        assert_eq!((large.entries.len(), large.dropped), (2, 1));
        let batch = large.batch();
        assert_eq!(
            (batch.len(), large.entries.len(), large.bytes),
            (1, 1, record(5).size())
        );
        large.give_back(batch);
        assert_eq!(large.entries.back(), Some(&record(5)));
        assert_eq!(large.batch().len(), 1);
        assert_eq!(large.batch().len(), 1);
        assert!(large.batch().is_empty() && large.bytes == 0);
        let mut small = queue(std::iter::repeat_n(1, BATCH_ENTRIES + 1));
        assert!(small.is_full_batch());
        assert_eq!((small.batch().len(), small.batch().len()), (BATCH_ENTRIES, 1));
    }

    #[test]
    fn addresses_by_table() {
        for (wire, endpoint, expected) in [
            (Wire::Binary, "http://c:4318", "http://c:4318/v1/traces"),
            (Wire::Json, "http://c:4318/", "http://c:4318/v1/traces"),
            (Wire::Binary, "http://c:4318/v1/traces", "http://c:4318/v1/traces"),
            (Wire::Binary, "http://c/in/?key=1", "http://c/in/?key=1"),
            (
                Wire::Grpc,
                "http://c:4317/",
                "http://c:4317/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            ),
        ] {
            let exporter = Exporter {
                wire,
                endpoint: endpoint.to_owned(),
                headers: Default::default(),
                tls: Tls::default(),
                network: Network::default(),
            };
            assert_eq!(address(Signal::Traces, &exporter), expected);
        }
    }

    #[test]
    fn answers_by_table() {
        let answer = |status, grpc: Option<i32>| Answer {
            status,
            grpc: grpc.map(|status| (status, String::new())),
            ..Answer::default()
        };
        let name = |outcome| match outcome {
            Outcome::Taken => "taken",
            Outcome::Later { is_refusal: false, .. } => "later",
            Outcome::Later { is_refusal: true, .. } => "refused",
            Outcome::Never(_) => "never",
        };
        for (wire, answer, expected) in [
            (Wire::Binary, answer(200, None), "taken"),
            (Wire::Json, answer(204, None), "taken"),
            (Wire::Binary, answer(429, None), "later"),
            (Wire::Binary, answer(503, None), "later"),
            (Wire::Binary, answer(500, None), "refused"),
            (Wire::Binary, answer(400, None), "never"),
            (Wire::Binary, answer(401, None), "never"),
            (Wire::Binary, answer(302, None), "never"),
            (Wire::Grpc, answer(200, Some(0)), "taken"),
            (Wire::Grpc, answer(200, Some(14)), "later"),
            (Wire::Grpc, answer(200, Some(16)), "never"),
            (Wire::Grpc, answer(200, None), "refused"),
            (Wire::Grpc, answer(503, None), "later"),
        ] {
            assert_eq!(name(judge(wire, &answer)), expected, "{answer:?}");
        }
    }

    #[test]
    fn waits_grow_to_a_bound() {
        let waits: Vec<u64> = (1..9).map(|failures| back_off(failures).as_millis() as u64).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
        assert_eq!(back_off(u32::MAX), LONGEST_DELAY);
    }
}
