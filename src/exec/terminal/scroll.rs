//! What is remembered of a terminal's output: what nobody has read yet, what it printed in all, and what the person has
//! not seen; each bounded by head and tail, with the middle left out.

use crate::exec::output::{Excerpt, Kept};

/// Bytes of output that wait to be read.
const UNREAD: usize = 1024 * 1024;
/// Bytes of the whole that are kept for whoever looks later.
const WHOLE: usize = 256 * 1024;
/// Bytes that are shown at a time while the program runs.
const LIVE: usize = 16 * 1024;

/// Output since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Its head and tail, if it is long.
    pub text: Excerpt,
    /// Bytes there were.
    pub bytes: u64,
}

pub(super) struct Scroll {
    unread: Kept,
    whole: Kept,
    live: Kept,
}

impl Default for Scroll {
    fn default() -> Self {
        Self {
            unread: Kept::new(UNREAD),
            whole: Kept::new(WHOLE),
            live: Kept::new(LIVE),
        }
    }
}

impl Scroll {
    pub(super) fn push(&mut self, text: &str) {
        self.unread.push(text);
        self.whole.push(text);
        self.live.push(text);
    }

    pub(super) fn take(&mut self) -> Taken {
        take(&mut self.unread, UNREAD)
    }

    pub(super) fn take_live(&mut self) -> String {
        take(&mut self.live, LIVE).text.to_string()
    }

    pub(super) fn whole(&self) -> Taken {
        Taken {
            text: self.whole.so_far(),
            bytes: self.whole.bytes(),
        }
    }
}

fn take(kept: &mut Kept, limit: usize) -> Taken {
    let full = std::mem::replace(kept, Kept::new(limit));
    Taken {
        bytes: full.bytes(),
        text: full.excerpt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_gets_what_is_new_to_it() {
        let mut scroll = Scroll::default();
        scroll.push("one\n");
        assert_eq!(scroll.take().text.to_string(), "one\n");
        assert_eq!(scroll.take(), Taken::default());
        scroll.push("two\n");
        assert_eq!(scroll.take_live(), "one\ntwo\n");
        assert_eq!(scroll.whole().text.to_string(), "one\ntwo\n");
        assert_eq!(scroll.take().text.to_string(), "two\n");
        assert_eq!(scroll.take_live(), "");
    }

    #[test]
    fn a_flood_that_nobody_reads_is_bounded_and_counted() {
        let mut scroll = Scroll::default();
        let line = format!("{}\n", "x".repeat(99));
        for _ in 0..100_000 {
            scroll.push(&line);
        }
        let taken = scroll.take();
        assert_eq!(taken.bytes, 10_000_000);
        let text = taken.text.to_string();
        assert!(text.len() <= UNREAD + 100 && text.contains("cut out"));
        assert!(scroll.whole().text.to_string().len() <= WHOLE + 100);
        assert!(scroll.take_live().len() <= LIVE + 100);
    }
}
