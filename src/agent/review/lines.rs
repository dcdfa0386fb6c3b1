//! Lines of a text that are followed while the text changes.

use crate::patch::diff;
use crate::protocol::item::LineRange;
use ropey::Rope;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// A text as it was at some time, with a number for each line: equal lines have equal numbers, whatever ends them.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) rope: Rope,
    numbers: Arc<[u64]>,
}

impl Text {
    pub(super) fn new(rope: Rope) -> Self {
        let mut numbers: Vec<u64> = rope.lines().map(|line| number(line.chars())).collect();
        // What follows the last line end is no line.
        if numbers.len() > 1 && rope.line(numbers.len() - 1).len_chars() == 0 {
            numbers.pop();
        }
        let numbers = numbers.into();
        Self { rope, numbers }
    }

    /// These lines as far as the text has them; at least one.
    pub(super) fn clamp(&self, lines: LineRange) -> LineRange {
        let count = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let start = lines.start.min(count.saturating_sub(1));
        LineRange {
            start,
            end: lines.end.clamp(start + 1, count.max(start + 1)),
        }
    }

    /// How another text came from this one.
    pub(super) fn changes(&self, now: &Self) -> Changes {
        Changes(diff::changed_numbers(&self.numbers, &now.numbers))
    }
}

fn number(line: impl Iterator<Item = char>) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.filter(|c| !matches!(c, '\r' | '\n'))
        .for_each(|c| c.hash(&mut hasher));
    hasher.finish()
}

/// The ranges of lines that differ between two texts, in order.
#[derive(Debug)]
pub(super) struct Changes(Vec<(Range<usize>, Range<usize>)>);

impl Changes {
    /// Where lines of the former text are in the latter; none if one of them changed, or something came between them.
    pub(super) fn follow(&self, lines: LineRange) -> Option<LineRange> {
        let (start, end) = (lines.start as usize, lines.end as usize);
        let mut above = (0, 0);
        for (old, new) in &self.0 {
            if old.end <= start {
                above = (old.end, new.end);
            } else if old.start < end {
                return None;
            }
        }
        let moved = |line: usize| u32::try_from(line - above.0 + above.1).unwrap_or(u32::MAX);
        Some(LineRange {
            start: moved(start),
            end: moved(end),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Text {
        Text::new(Rope::from_str(text))
    }

    fn follow(before: &str, now: &str, start: u32, end: u32) -> Option<(u32, u32)> {
        let moved = text(before).changes(&text(now)).follow(LineRange { start, end });
        moved.map(|lines| (lines.start, lines.end))
    }

    #[test]
    fn lines_are_followed_by_table() {
        let before = "a\nb\nc\nd\ne\n";
        for (now, start, end, expected) in [
            (before, 1, 3, Some((1, 3))),
            // Above.
            ("x\na\nb\nc\nd\ne\n", 1, 3, Some((2, 4))),
            ("a\nx\ny\nb\nc\nd\ne\n", 1, 3, Some((3, 5))),
            ("b\nc\nd\ne\n", 1, 3, Some((0, 2))),
            ("A\nb\nc\nd\ne\n", 1, 3, Some((1, 3))),
            ("A\nA\nb\nc\nd\ne\n", 1, 3, Some((2, 4))),
            // Below.
            ("a\nb\nc\nx\nd\ne\n", 1, 3, Some((1, 3))),
            ("a\nb\nc\n", 1, 3, Some((1, 3))),
            ("a\nb\nc\nD\ne", 1, 3, Some((1, 3))),
            // The lines themselves.
            ("a\nB\nc\nd\ne\n", 1, 3, None),
            ("a\nb\nC\nd\ne\n", 1, 3, None),
            ("a\nb\nx\nc\nd\ne\n", 1, 3, None),
            ("a\nc\nd\ne\n", 1, 3, None),
            ("a\nd\ne\n", 1, 3, None),
            ("", 1, 3, None),
            ("a\nb \nc\nd\ne\n", 1, 3, None),
            // Above and below at once.
            ("x\na\nb\nc\ne\ny\n", 1, 3, Some((2, 4))),
            // Line ends are not text.
            ("a\r\nb\r\nc\r\nd\r\ne\r\n", 1, 3, Some((1, 3))),
            ("a\rb\rc\rd\re", 1, 3, Some((1, 3))),
            // The last line, with its end and without.
            ("a\nb\nc\nd\ne", 4, 5, Some((4, 5))),
            ("a\nb\nc\nd\ne\nf", 4, 5, Some((4, 5))),
            ("a\nb\nc\nd\n", 4, 5, None),
        ] {
            assert_eq!(follow(before, now, start, end), expected, "{now:?}");
        }
        assert_eq!(follow("", "", 0, 1), Some((0, 1)));
        assert_eq!(follow("a", "x\na", 0, 1), Some((1, 2)));
    }

    #[test]
    fn lines_that_are_not_there_are_the_nearest() {
        let clamp = |of: &str, start, end| {
            let lines = text(of).clamp(LineRange { start, end });
            (lines.start, lines.end)
        };
        for (of, start, end, expected) in [
            ("a\nb\nc\n", 0, 1, (0, 1)),
            ("a\nb\nc\n", 1, 9, (1, 3)),
            ("a\nb\nc\n", 3, 4, (2, 3)),
            ("a\nb\nc", 9, u32::MAX, (2, 3)),
            ("a\nb\nc", 2, 1, (2, 3)),
            ("", 0, 1, (0, 1)),
            ("", 7, 9, (0, 1)),
            ("\n", 0, 2, (0, 1)),
        ] {
            assert_eq!(clamp(of, start, end), expected, "{of:?} {start} {end}");
        }
    }

    proptest! {
        #[test]
        fn what_is_followed_is_the_same_text(
            before in proptest::collection::vec("[ab]{0,2}", 1..12),
            now in proptest::collection::vec("[ab]{0,2}", 1..12),
            start in 0..12usize,
            length in 1..4usize,
        ) {
            let start = start.min(before.len() - 1);
            let end = (start + length).min(before.len());
            let lines = LineRange { start: start as u32, end: end as u32 };
            let join = |lines: &[String]| text(&lines.join("\n"));
            if let Some(moved) = join(&before).changes(&join(&now)).follow(lines) {
                let is = now.get(moved.start as usize..moved.end as usize).unwrap_or_default();
                // An empty last line is no line.
                if is.len() == end - start {
                    prop_assert_eq!(&before[start..end], is);
                }
            }
        }
    }
}
