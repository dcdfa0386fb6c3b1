//! Output on its way to whoever watches: joined, so that a flood does not become a flood of messages.

use crate::exec::output::{Kept, Stream};
use std::time::Duration;
use tokio::time::Instant;

/// Between two deliveries.
const PACE: Duration = Duration::from_millis(40);

/// Bytes of one piece; of a flood, each piece is its head and tail.
const PIECE: usize = 16 * 1024;

/// Pieces that wait for one delivery; programs that take turns between their streams make many.
const PIECES: usize = 8;

/// What has not been delivered yet.
pub(super) struct Live {
    waiting: Vec<(Stream, Kept)>,
    /// When the next delivery may be.
    next: Instant,
}

impl Live {
    pub(super) fn new() -> Self {
        Self {
            waiting: Vec::new(),
            next: Instant::now(),
        }
    }

    pub(super) fn push(&mut self, stream: Stream, text: &str) {
        if text.is_empty() {
            return;
        }
        let full = self.waiting.len() >= PIECES;
        let last = self.waiting.len().saturating_sub(1);
        let place = self
            .waiting
            .iter_mut()
            .enumerate()
            .rfind(|(at, (of, _))| *of == stream && (full || *at == last));
        match place {
            Some((_, (_, kept))) => kept.push(text),
            None => {
                let mut kept = Kept::new(PIECE);
                kept.push(text);
                self.waiting.push((stream, kept));
            }
        }
    }

    /// When to deliver, if anything waits.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.next)
    }

    /// Delivers what waits if it is time to; more of it may come at once.
    pub(super) fn deliver_due(&mut self, on_output: &mut impl FnMut(Stream, &str)) {
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.deliver(on_output);
        }
    }

    /// Delivers what waits.
    pub(super) fn deliver(&mut self, on_output: &mut impl FnMut(Stream, &str)) {
        for (stream, kept) in self.waiting.drain(..) {
            on_output(stream, &kept.finish());
        }
        self.next = Instant::now() + PACE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_in_order_and_bounded() {
        let mut live = Live::new();
        let mut seen: Vec<(Stream, String)> = Vec::new();
        assert!(live.due().is_none());
        live.push(Stream::Stdout, "first");
        live.deliver_due(&mut |stream, text| seen.push((stream, text.to_owned())));
        assert_eq!(seen, [(Stream::Stdout, "first".to_owned())]);
        // The next has to wait.
        live.next = Instant::now() + Duration::from_secs(3600);
        for _ in 0..10_000 {
            live.push(Stream::Stdout, "0123456789\n");
        }
        live.push(Stream::Stderr, "err");
        live.push(Stream::Stdout, "");
        live.push(Stream::Stderr, "or");
        live.deliver_due(&mut |stream, text| seen.push((stream, text.to_owned())));
        assert_eq!(seen.len(), 1);
        live.next = Instant::now();
        live.deliver_due(&mut |stream, text| seen.push((stream, text.to_owned())));
        assert_eq!(seen.len(), 3);
        assert!(seen[1].1.len() < PIECE + 100 && seen[1].1.contains("cut out"));
        assert_eq!(seen[2], (Stream::Stderr, "error".to_owned()));
        assert!(live.due().is_none());
    }

    #[test]
    fn turns_between_streams_do_not_add_up() {
        let mut live = Live::new();
        for at in 0..1000 {
            let stream = if at % 2 == 0 { Stream::Stdout } else { Stream::Stderr };
            live.push(stream, "x");
        }
        let mut pieces = Vec::new();
        live.deliver(&mut |stream, text: &str| pieces.push((stream, text.len())));
        assert_eq!(pieces.len(), PIECES);
        assert_eq!(pieces.iter().map(|(_, length)| length).sum::<usize>(), 1000);
    }
}
