//! Which threads' streams are shown. A thread that was closed may be live again while a slow client still takes what its old
//! stream had to say: the new one is shown after that.

use crate::agent::stream::{Stream, Subscription};
use crate::ids::ThreadId;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

/// A thread, and whether it is about its life or only about proposals of one that is not live.
pub(super) type Shown = (ThreadId, bool);

#[derive(Default)]
pub(super) struct Attached {
    streams: BTreeMap<Shown, OfThread>,
    /// How many there have been.
    begun: u64,
}

struct OfThread {
    /// The latest.
    stream: Stream,
    /// Number of the one that is being shown.
    number: u64,
    /// Those that come after it.
    waiting: VecDeque<(u64, Subscription)>,
}

impl Attached {
    /// What is to be shown at once, if a stream is; one that is shown already is not shown twice, and one of a thread whose
    /// stream before is still being shown waits for the end of that.
    pub(super) fn attach(&mut self, shown: Shown, stream: &Stream) -> Option<Subscription> {
        match self.streams.entry(shown) {
            Entry::Occupied(known) if known.get().stream.is(stream) => None,
            Entry::Occupied(mut known) => {
                self.begun += 1;
                let known = known.get_mut();
                known.stream = stream.clone();
                known.waiting.push_back((self.begun, stream.subscribe(Some(0))));
                None
            }
            Entry::Vacant(place) => {
                self.begun += 1;
                place.insert(OfThread {
                    stream: stream.clone(),
                    number: self.begun,
                    waiting: VecDeque::new(),
                });
                Some(stream.subscribe(Some(0)))
            }
        }
    }

    /// One was shown to its end: the next of the same thread.
    pub(super) fn next(&mut self, shown: &Shown) -> Option<Subscription> {
        let next = self.streams.get_mut(shown).and_then(|of_thread| {
            let (number, next) = of_thread.waiting.pop_front()?;
            of_thread.number = number;
            Some(next)
        });
        if next.is_none() {
            self.streams.remove(shown);
        }
        next
    }

    /// How far is shown once all is that has been attached by now.
    pub(super) fn so_far(&self) -> u64 {
        self.begun
    }

    /// Whether what was attached of a thread up to then is shown to its end.
    pub(super) fn is_shown(&self, shown: &Shown, so_far: u64) -> bool {
        self.streams
            .get(shown)
            .is_none_or(|of_thread| of_thread.number > so_far)
    }

    /// Whether no live thread is shown.
    pub(super) fn is_done(&self) -> bool {
        self.streams.keys().all(|(_, live)| !live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_live_again_is_shown_after_what_it_was_before() {
        let id = ThreadId::fresh();
        let shown = (id.clone(), true);
        let (old, new, newest) = (
            Stream::new(id.clone()),
            Stream::new(id.clone()),
            Stream::new(id.clone()),
        );
        let mut attached = Attached::default();
        assert!(attached.attach(shown.clone(), &old).is_some());
        assert!(attached.attach(shown.clone(), &old.clone()).is_none(), "it is shown");
        let closed = attached.so_far();
        for stream in [&new, &new, &newest] {
            assert!(
                attached.attach(shown.clone(), stream).is_none(),
                "the old one is not over"
            );
        }
        assert!(!attached.is_shown(&shown, closed));
        assert!(attached.next(&shown).is_some(), "the new one");
        assert!(attached.is_shown(&shown, closed) && !attached.is_done());
        assert!(attached.next(&shown).is_some(), "the newest");
        assert!(attached.next(&shown).is_none(), "no stream is shown twice");
        assert!(attached.is_done());
        assert!(attached.attach(shown, &newest).is_some());
    }
}
