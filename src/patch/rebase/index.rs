//! A text by lines, each with a number that equal lines share: made once, and kept up while somebody types.

use crate::patch::diff::Frame;
use crate::patch::lines::Lines;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;

/// Where the lines of a text are, and their numbers.
#[derive(Debug)]
pub(super) struct Index {
    /// Byte offsets; the last one is the length of the text.
    starts: Vec<usize>,
    numbers: Vec<u64>,
}

impl Index {
    pub(super) fn new(text: &str, keys: &RandomState) -> Self {
        let lines = Lines::new(text);
        let mut index = Self {
            starts: (0..lines.len()).map(|line| lines.start(line)).collect(),
            numbers: (0..lines.len()).map(|line| number(lines.full(line), keys)).collect(),
        };
        index.starts.push(text.len());
        index
    }

    /// Makes an index of `before` one of `after`, which costs what differs.
    pub(super) fn update(&mut self, before: &str, after: &str, keys: &RandomState) {
        let frame = Frame::new(before, after);
        let first = self.starts.partition_point(|start| *start < frame.start);
        let below = before.len() - frame.end;
        // An unfinished last line begins where nothing else does: the frame is empty then.
        let last = self
            .starts
            .partition_point(|start| *start < below)
            .min(self.numbers.len());
        let inner = Self::new(frame.middle(after), keys);
        let count = inner.numbers.len();
        self.numbers.splice(first..last, inner.numbers);
        let starts = inner.starts[..count].iter().map(|start| frame.start + start);
        self.starts.splice(first..last, starts);
        for start in &mut self.starts[first + count..] {
            *start = *start + after.len() - before.len();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// The bytes that these lines take; what is beyond the end is empty.
    pub(super) fn bytes(&self, lines: &Range<usize>) -> Range<usize> {
        let last = self.numbers.len();
        self.starts[lines.start.min(last)]..self.starts[lines.end.min(last)]
    }
}

fn number(line: &str, keys: &RandomState) -> u64 {
    keys.hash_one(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::hunk::tests::any_text;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_index_that_is_kept_up_is_the_one_made_anew(before in any_text(), after in any_text(), last in any_text()) {
            let keys = RandomState::new();
            let mut index = Index::new(&before, &keys);
            for (old, new) in [(&before, &after), (&after, &last)] {
                index.update(old, new, &keys);
                let fresh = Index::new(new, &keys);
                prop_assert_eq!(&index.starts, &fresh.starts, "{:?} {:?}", old, new);
                prop_assert_eq!(&index.numbers, &fresh.numbers);
            }
        }
    }
}
