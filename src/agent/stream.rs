//! One thread's events: numbered, ordered, handed to every subscriber.
//!
//! A subscriber that lags costs the agent nothing and memory little: deltas of the same item that it has not
//! taken yet are joined into one, and so are the moves of one proposal.

use crate::ids::{ThreadId, TurnId};
use crate::protocol::event::{At, Event, EventKind};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Events kept for subscribers that come late. Deltas are not kept: the completed item says it all.
const REPLAY: usize = 4096;

/// Bytes of sound (as base64) that may wait for a subscriber before nobody should bring more: some seconds.
const MOST_SOUND: usize = 512 * 1024;

/// The publishing end; cheap to clone.
#[derive(Clone)]
pub struct Stream {
    shared: Arc<Shared>,
}

struct Shared {
    thread_id: ThreadId,
    state: Mutex<State>,
    /// A subscriber has taken sound, or is gone.
    sound_taken: Arc<Notify>,
}

struct State {
    last_seq: u64,
    /// Number of the latest event that is neither kept any more nor here at all.
    dropped: u64,
    kept: VecDeque<Noted>,
    queues: Vec<Arc<Queue>>,
    /// How far the record has come; see [`Stream::after`].
    record: Option<watch::Receiver<u64>>,
    closed: bool,
    /// The stream that goes on for this one; see [`Stream::take_over`].
    next: Option<Stream>,
}

/// An event, and how far the record must have come before anybody sees it.
#[derive(Clone)]
struct Noted {
    event: Event,
    line: u64,
}

#[derive(Default)]
struct Queue {
    /// Items of the history are wanted, too.
    raw: bool,
    /// Deltas are not wanted: what they come to is.
    whole_only: bool,
    waiting: Mutex<Waiting>,
    arrived: Notify,
    /// See [`Shared::sound_taken`].
    sound_taken: Arc<Notify>,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<Noted>,
    /// Bytes of sound among them.
    sound: usize,
    /// The stream is closed, or the subscriber is gone.
    ended: bool,
}

/// The receiving end.
pub struct Subscription {
    queue: Arc<Queue>,
    record: Option<watch::Receiver<u64>>,
}

/// The data behind these locks is valid after every statement, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stream {
    pub fn new(thread_id: ThreadId) -> Self {
        let state = State {
            last_seq: 0,
            dropped: 0,
            kept: VecDeque::new(),
            queues: Vec::new(),
            record: None,
            closed: false,
            next: None,
        };
        Self {
            shared: Arc::new(Shared {
                thread_id,
                state: Mutex::new(state),
                sound_taken: Arc::default(),
            }),
        }
    }

    /// Events that are recorded are seen only once their lines are in the file, or refused by it: what a client has seen
    /// outlives the server. `record` is how far that has come.
    pub fn after(&self, record: watch::Receiver<u64>) {
        lock(&self.shared.state).record = Some(record);
    }

    /// Numbers an event and hands it to all subscribers. Never waits. Nothing is published after `thread/closed`.
    pub fn publish(&self, turn_id: Option<TurnId>, kind: EventKind) {
        self.publish_after(turn_id, kind, |_| 0);
    }

    /// As [`Stream::publish`]; `before` sees the event first, in the order of the numbers, and must not wait. It says how far
    /// the record must have come before the event is seen.
    pub fn publish_after(&self, turn_id: Option<TurnId>, kind: EventKind, before: impl FnOnce(&Event) -> u64) {
        let mut state = lock(&self.shared.state);
        if let Some(next) = state.next.clone() {
            // Whoever still holds this one tells it where the thread's events are now.
            drop(state);
            return next.publish_after(turn_id, kind, before);
        }
        if state.closed {
            tracing::warn!(
                method = kind.method(),
                "an event after the end of its thread was dropped"
            );
            return;
        }
        state.last_seq += 1;
        let at = At {
            thread_id: self.shared.thread_id.clone(),
            turn_id,
            seq: state.last_seq,
            subscription_id: None,
        };
        let event = Event { at, kind };
        let noted = Noted {
            line: before(&event),
            event,
        };
        state.queues.retain(|queue| queue.push(&noted));
        state.closed = matches!(noted.event.kind, EventKind::ThreadClosed(_));
        if state.closed {
            state.queues.drain(..).for_each(|queue| queue.end());
        }
        if !is_delta(&noted.event.kind) {
            if state.kept.len() == REPLAY
                && let Some(oldest) = state.kept.pop_front()
            {
                state.dropped = oldest.event.at.seq;
            }
            state.kept.push_back(noted);
        }
    }

    /// Goes on where another stream of the same thread was, which ends: its subscribers get what they have not taken yet,
    /// and nothing more. What is published there from now on comes here.
    pub fn take_over(&self, other: &Self) {
        if Arc::ptr_eq(&self.shared, &other.shared) {
            return;
        }
        // Held first, so that nothing is numbered here before it is known how far the other has come. The new one is held
        // before the old one, and nobody who holds an old one takes a new one.
        let mut state = lock(&self.shared.state);
        let last = {
            let mut old = lock(&other.shared.state);
            old.closed = true;
            old.next = Some(self.clone());
            old.queues.drain(..).for_each(|queue| queue.end());
            old.last_seq
        };
        state.last_seq = state.last_seq.max(last);
        // What was kept stays behind.
        state.dropped = state.dropped.max(last);
    }

    /// Nothing follows: whoever subscribes gets what is kept, and then the end.
    pub fn end(&self) {
        let mut state = lock(&self.shared.state);
        state.closed = true;
        state.queues.drain(..).for_each(|queue| queue.end());
    }

    /// Whether it is this very stream, and no other of the same thread.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Number of the latest event.
    pub fn last_seq(&self) -> u64 {
        lock(&self.shared.state).last_seq
    }

    /// Subscribes to all that comes. With `after`, what is kept of the events with higher numbers comes first.
    pub fn subscribe(&self, after: Option<u64>) -> Subscription {
        self.listen(after, None).subscription
    }

    /// The same, with what a client must know that follows by numbers. With `raw` it also gets the items of the history: first
    /// these, which are there already, and then each as it is added.
    pub fn listen(&self, after: Option<u64>, raw: Option<Vec<EventKind>>) -> Listening {
        let queue = Queue {
            raw: raw.is_some(),
            sound_taken: self.shared.sound_taken.clone(),
            ..Queue::default()
        };
        self.listen_with(queue, after, raw)
    }

    /// Subscribes to all that comes but deltas.
    pub fn subscribe_to_whole(&self) -> Subscription {
        let queue = Queue {
            whole_only: true,
            ..Queue::default()
        };
        self.listen_with(queue, None, None).subscription
    }

    /// Ends when no subscriber has much sound waiting. Whoever brings sound waits for this before it brings more.
    pub async fn room_for_sound(&self) {
        loop {
            let taken = self.shared.sound_taken.notified();
            tokio::pin!(taken);
            // From here on nothing is missed.
            taken.as_mut().enable();
            if lock(&self.shared.state)
                .queues
                .iter()
                .all(|queue| queue.has_room_for_sound())
            {
                return;
            }
            taken.await;
        }
    }

    fn listen_with(&self, queue: Queue, after: Option<u64>, raw: Option<Vec<EventKind>>) -> Listening {
        let mut state = lock(&self.shared.state);
        let queue = Arc::new(queue);
        let so_far = raw.into_iter().flatten().map(|kind| self.raw_item(&state, kind, 0));
        lock(&queue.waiting).events.extend(so_far);
        if let Some(after) = after {
            lock(&queue.waiting)
                .events
                .extend(state.kept.iter().filter(|noted| noted.event.at.seq > after).cloned());
        }
        if state.closed {
            queue.end();
        } else {
            state.queues.push(queue.clone());
        }
        let missing = after.filter(|after| *after < state.dropped);
        Listening {
            last_seq: state.last_seq,
            missing: missing.map(|after| (after + 1, state.dropped)),
            subscription: Subscription {
                queue,
                record: state.record.clone(),
            },
        }
    }

    /// Tells those who want it of an item that was added to the history. It has no number of its own and is not kept: the
    /// history is.
    pub fn publish_raw(&self, line: u64, item: impl FnOnce() -> EventKind) {
        let mut state = lock(&self.shared.state);
        if let Some(next) = state.next.clone() {
            drop(state);
            return next.publish_raw(line, item);
        }
        if state.queues.iter().any(|queue| queue.raw) {
            let noted = self.raw_item(&state, item(), line);
            state.queues.retain(|queue| !queue.raw || queue.push(&noted));
        }
    }

    fn raw_item(&self, state: &State, kind: EventKind, line: u64) -> Noted {
        let at = At {
            thread_id: self.shared.thread_id.clone(),
            turn_id: None,
            seq: state.last_seq,
            subscription_id: None,
        };
        Noted {
            event: Event { at, kind },
            line,
        }
    }
}

/// What one gets who listens to a stream from here on.
pub struct Listening {
    pub subscription: Subscription,
    /// Number of the latest event.
    pub last_seq: u64,
    /// First and last number of those that were asked for and are not kept any more.
    pub missing: Option<(u64, u64)>,
}

/// What the last event of its kind makes pointless.
fn is_delta(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::ProposalMoved(_)
            | EventKind::AgentMessageDelta(_)
            | EventKind::ReasoningSummaryDelta(_)
            | EventKind::ReasoningDelta(_)
            | EventKind::CommandOutputDelta(_)
            | EventKind::TerminalOutput(_)
            | EventKind::RealtimeAudioDelta(_)
            | EventKind::RealtimeTranscriptDelta(_)
    )
}

fn sound(kind: &EventKind) -> usize {
    match kind {
        EventKind::RealtimeAudioDelta(delta) => delta.audio.data.len(),
        _ => 0,
    }
}

impl Queue {
    /// False once the subscriber is gone.
    fn push(&self, noted: &Noted) -> bool {
        let mut waiting = lock(&self.waiting);
        if waiting.ended {
            return false;
        }
        let event = &noted.event;
        if self.whole_only && is_delta(&event.kind) {
            return true;
        }
        waiting.sound += sound(&event.kind);
        let last = waiting
            .events
            .back_mut()
            .map(|last| &mut last.event)
            .filter(|last| last.at.turn_id == event.at.turn_id);
        let joined = last.is_some_and(|last| {
            let joined = last.kind.join(&event.kind);
            if joined {
                last.at.seq = event.at.seq;
            }
            joined
        });
        if !joined {
            waiting.events.push_back(noted.clone());
        }
        drop(waiting);
        self.arrived.notify_one();
        true
    }

    fn has_room_for_sound(&self) -> bool {
        let waiting = lock(&self.waiting);
        waiting.ended || waiting.sound <= MOST_SOUND
    }

    fn end(&self) {
        lock(&self.waiting).ended = true;
        self.arrived.notify_one();
    }
}

impl Subscription {
    /// The next event; `None` after the thread's last one. Safe to cancel.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let unrecorded = {
                let mut waiting = lock(&self.queue.waiting);
                let first = waiting.events.front().map(|noted| noted.line);
                let recorded = self.record.as_ref().map_or(u64::MAX, |record| *record.borrow());
                match first {
                    Some(line) if line <= recorded => {
                        let event = waiting.events.pop_front()?.event;
                        let sound = sound(&event.kind);
                        waiting.sound -= sound;
                        if sound > 0 {
                            self.queue.sound_taken.notify_waiters();
                        }
                        return Some(event);
                    }
                    None if waiting.ended => return None,
                    other => other,
                }
            };
            match (unrecorded, &mut self.record) {
                (Some(line), Some(record)) => {
                    // Whoever recorded is gone, and nothing more comes of it.
                    if record.wait_for(|recorded| *recorded >= line).await.is_err() {
                        self.record = None;
                    }
                }
                _ => self.queue.arrived.notified().await,
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        lock(&self.queue.waiting).ended = true;
        self.queue.sound_taken.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::event::{ItemDelta, RawItem, RealtimeAudioDelta, ThreadClosed, Warning};
    use crate::protocol::realtime::RealtimeAudio;
    use futures::FutureExt as _;

    fn delta(item: &str, text: &str) -> EventKind {
        EventKind::AgentMessageDelta(ItemDelta {
            item_id: item.into(),
            delta: text.to_owned(),
        })
    }

    fn sound(bytes: usize) -> EventKind {
        EventKind::RealtimeAudioDelta(RealtimeAudioDelta {
            realtime_id: "v".into(),
            item_id: None,
            audio: RealtimeAudio {
                data: "A".repeat(bytes),
                sample_rate: 24_000,
                channels: 1,
            },
        })
    }

    #[tokio::test]
    async fn whoever_brings_sound_waits_for_the_slowest() {
        let stream = Stream::new("t".into());
        stream.publish(None, sound(MOST_SOUND));
        // Nobody listens.
        stream.room_for_sound().await;
        let (mut quick, mut slow, mut whole) = (
            stream.subscribe(None),
            stream.subscribe(None),
            stream.subscribe_to_whole(),
        );
        for _ in 0..3 {
            stream.publish(None, sound(MOST_SOUND / 2));
        }
        assert!(stream.room_for_sound().now_or_never().is_none());
        for _ in 0..3 {
            assert!(quick.next().await.is_some());
        }
        assert!(stream.room_for_sound().now_or_never().is_none());
        let waiting = tokio::spawn({
            let stream = stream.clone();
            async move { stream.room_for_sound().await }
        });
        // Never joined: each piece is whole.
        assert_eq!(slow.next().await.map(|event| event.at.seq), Some(2));
        waiting.await.unwrap();
        for _ in 0..3 {
            stream.publish(None, sound(MOST_SOUND));
        }
        drop(quick);
        assert!(stream.room_for_sound().now_or_never().is_none());
        drop(slow);
        stream.room_for_sound().await;
        // Who wants no deltas has none waiting.
        stream.publish(None, warning("after"));
        assert_eq!(whole.next().await.map(|event| event.kind), Some(warning("after")));
        assert_eq!(
            stream.subscribe(Some(0)).next().await.map(|event| event.kind),
            Some(warning("after"))
        );
    }

    fn warning(text: &str) -> EventKind {
        EventKind::Warning(Warning {
            message: text.to_owned(),
        })
    }

    async fn all(mut subscription: Subscription) -> Vec<(u64, String)> {
        let mut seen = Vec::new();
        while let Some(event) = subscription.next().await {
            let text = match event.kind {
                EventKind::AgentMessageDelta(d) => d.delta,
                EventKind::Warning(w) => w.message,
                other => other.method().to_owned(),
            };
            seen.push((event.at.seq, text));
        }
        seen
    }

    #[tokio::test]
    async fn deltas_of_one_item_are_joined_while_nobody_takes_them() {
        let stream = Stream::new("t".into());
        let slow = stream.subscribe(None);
        for _ in 0..1000 {
            stream.publish(None, delta("a", "x"));
        }
        stream.publish(None, delta("b", "y"));
        stream.publish(None, delta("a", "z"));
        stream.publish(None, EventKind::ThreadClosed(ThreadClosed {}));
        let seen = all(slow).await;
        assert_eq!(seen.len(), 4);
        assert_eq!(seen[0], (1000, "x".repeat(1000)));
        assert_eq!(seen[1..3], [(1001, "y".to_owned()), (1002, "z".to_owned())]);
    }

    #[tokio::test]
    async fn what_is_recorded_is_seen_only_once_it_is() {
        let stream = Stream::new("t".into());
        let record = watch::Sender::new(0);
        stream.after(record.subscribe());
        let mut early = stream.subscribe(None);
        stream.publish(None, warning("unrecorded"));
        stream.publish_after(None, warning("one"), |_| 1);
        stream.publish(None, warning("behind"));
        let mut late = stream.subscribe(Some(0));
        for subscription in [&mut early, &mut late] {
            assert_eq!(subscription.next().await.map(|event| event.at.seq), Some(1));
            let next = tokio::time::timeout(std::time::Duration::from_millis(5), subscription.next());
            assert!(next.await.is_err(), "it is not on record");
        }
        record.send_replace(1);
        assert_eq!(early.next().await.map(|event| event.at.seq), Some(2));
        assert_eq!(early.next().await.map(|event| event.at.seq), Some(3));
        stream.publish_after(None, warning("never"), |_| 9);
        assert_eq!(late.next().await.map(|event| event.at.seq), Some(2));
        drop(record);
        // Nobody waits for a recorder that is gone.
        assert_eq!(late.next().await.map(|event| event.at.seq), Some(3));
        assert_eq!(late.next().await.map(|event| event.at.seq), Some(4));
    }

    #[tokio::test]
    async fn a_gap_is_told_and_the_history_has_no_numbers_of_its_own() {
        let stream = Stream::new("t".into());
        for number in 0..REPLAY + 3 {
            stream.publish(None, warning(&number.to_string()));
        }
        let last = (REPLAY + 3) as u64;
        for (after, missing) in [
            (None, None),
            (Some(0), Some((1, 3))),
            (Some(2), Some((3, 3))),
            (Some(3), None),
            (Some(last), None),
        ] {
            let listening = stream.listen(after, None);
            assert_eq!((listening.last_seq, listening.missing), (last, missing), "{after:?}");
        }
        let raw = |text: &str| EventKind::RawItem(RawItem { item: text.into() });
        let mut plain = stream.listen(None, None).subscription;
        let mut wants = stream
            .listen(Some(last - 1), Some(vec![raw("a"), raw("b")]))
            .subscription;
        stream.publish_raw(0, || raw("c"));
        stream.publish(None, EventKind::ThreadClosed(ThreadClosed {}));
        let mut seen = Vec::new();
        while let Some(event) = wants.next().await {
            seen.push((event.at.seq, event.kind));
        }
        let numbers: Vec<_> = seen.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(numbers, [last, last, last, last, last + 1]);
        assert_eq!([&seen[0].1, &seen[1].1, &seen[3].1], [&raw("a"), &raw("b"), &raw("c")]);
        assert!(matches!(
            plain.next().await.map(|event| event.kind),
            Some(EventKind::ThreadClosed(_))
        ));
        // A stream that goes on for another has nothing of what that one kept.
        let next = Stream::new("t".into());
        next.take_over(&stream);
        assert_eq!(next.listen(Some(0), None).missing, Some((1, last + 1)));
    }

    /// Whoever got hold of a stream before another took it over publishes into the other.
    #[tokio::test]
    async fn what_is_published_into_a_stream_that_was_taken_over_is_not_lost() {
        let (resting, live, rests) = (
            Stream::new("t".into()),
            Stream::new("t".into()),
            Stream::new("t".into()),
        );
        resting.publish(None, warning("one"));
        live.take_over(&resting);
        let mut listening = live.subscribe(None);
        resting.publish(None, warning("two"));
        live.publish(None, warning("three"));
        rests.take_over(&live);
        let mut later = rests.subscribe(None);
        // Through both.
        resting.publish(None, warning("four"));
        let seen = |event: Option<Event>| event.map(|event| (event.at.seq, event.kind));
        assert_eq!(seen(listening.next().await), Some((2, warning("two"))));
        assert_eq!(seen(listening.next().await), Some((3, warning("three"))));
        assert_eq!(seen(listening.next().await), None);
        assert_eq!(seen(later.next().await), Some((4, warning("four"))));
    }

    /// Shows S-452.
    #[tokio::test]
    async fn every_subscriber_sees_every_event_and_late_ones_can_catch_up() {
        let stream = Stream::new("t".into());
        let first = stream.subscribe(None);
        stream.publish(None, warning("one"));
        stream.publish(None, warning("two"));
        let second = stream.subscribe(Some(1));
        stream.publish(None, warning("three"));
        stream.publish(None, EventKind::ThreadClosed(ThreadClosed {}));
        stream.publish(None, warning("after the end"));
        let closed = (4, "countersign/thread/closed".to_owned());
        let expect = |texts: &[(u64, &str)]| {
            texts
                .iter()
                .map(|(seq, text)| (*seq, (*text).to_owned()))
                .chain([closed.clone()])
                .collect::<Vec<_>>()
        };
        assert_eq!(all(first).await, expect(&[(1, "one"), (2, "two"), (3, "three")]));
        assert_eq!(all(second).await, expect(&[(2, "two"), (3, "three")]));
        assert_eq!(all(stream.subscribe(Some(3))).await, expect(&[]));
    }
}
