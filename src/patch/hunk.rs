//! Hunks: the contiguous changes between two texts that a person takes or leaves one by one.

use super::diff::{Frame, changed};
use super::lines::Lines;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One contiguous change. Between two hunks there is at least one line that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedHunk {
    /// The lines of the text before that it replaces, from 0, half open; empty for an insertion in front of `start`.
    pub old: Range<usize>,
    /// Those lines with their line ends.
    pub old_text: String,
    /// What comes in their place.
    pub new_text: String,
}

/// The smallest line-wise changes that turn one text into the other, in order.
pub fn hunks(before: &str, after: &str) -> Vec<PlannedHunk> {
    let differing = Differing::new(before, after);
    let above = Lines::count(&before[..differing.start]);
    let hunk = |(lines, with): &(Range<usize>, Range<usize>)| PlannedHunk {
        old: above + lines.start..above + lines.end,
        old_text: differing.old.slice(lines).to_owned(),
        new_text: differing.new.slice(with).to_owned(),
    };
    differing.changes.iter().map(hunk).collect()
}

/// The part in which two texts differ, and how.
struct Differing<'t> {
    /// Bytes before it, which are the same.
    start: usize,
    old: Lines<'t>,
    new: Lines<'t>,
    changes: Vec<(Range<usize>, Range<usize>)>,
}

impl<'t> Differing<'t> {
    fn new(before: &'t str, after: &'t str) -> Self {
        let frame = Frame::new(before, after);
        let (old, new) = (Lines::new(frame.middle(before)), Lines::new(frame.middle(after)));
        Self {
            start: frame.start,
            changes: changed(&old.all(), &new.all()),
            old,
            new,
        }
    }
}

/// The same from what is known to have been replaced, without comparing the rest.
pub(super) fn hunks_within(replaced: &[PlannedHunk]) -> Vec<PlannedHunk> {
    let inner = |whole: &PlannedHunk| {
        let from = whole.old.start;
        let shift = move |hunk: PlannedHunk| PlannedHunk {
            old: from + hunk.old.start..from + hunk.old.end,
            ..hunk
        };
        hunks(&whole.old_text, &whole.new_text).into_iter().map(shift)
    };
    replaced.iter().flat_map(inner).collect()
}

/// The text before with some of its hunks: `accepted[i]` belongs to `hunks[i]`, a missing one counts as not accepted.
pub fn with_hunks(before: &str, hunks: &[PlannedHunk], accepted: &[bool]) -> String {
    let placed: Vec<_> = hunks
        .iter()
        .zip(accepted)
        .filter(|&(_, &accepted)| accepted)
        .map(|(hunk, _)| (hunk.old.clone(), hunk.new_text.clone()))
        .collect();
    apply_hunks(before, &placed)
}

/// Replaces lines of a text. The places count lines of `now` and must not overlap; they may come in any order,
/// and insertions at one place keep theirs. A place beyond the end means the end.
pub fn apply_hunks(now: &str, placed: &[(Range<usize>, String)]) -> String {
    let lines = Lines::new(now);
    let mut order: Vec<&(Range<usize>, String)> = placed.iter().collect();
    order.sort_by_key(|(range, _)| (range.start, range.end));
    let mut text = String::with_capacity(now.len() + placed.iter().map(|(_, new)| new.len()).sum::<usize>());
    let mut at = 0;
    for (range, new) in order {
        let bytes = lines.bytes(range);
        let start = bytes.start.max(at);
        text.push_str(&now[at..start]);
        text.push_str(new);
        at = bytes.end.max(start);
    }
    text.push_str(&now[at..]);
    text
}

/// Replacements of lines of a text as byte ranges of it, in the order given.
pub fn placed_edits(now: &str, placed: &[(Range<usize>, String)]) -> Vec<(Range<usize>, String)> {
    let lines = Lines::new(now);
    placed
        .iter()
        .map(|(range, new)| (lines.bytes(range), new.clone()))
        .collect()
}

/// The smallest line-wise edits that turn `old` into `new`: byte ranges of `old`, in order, not overlapping.
pub fn text_edits(old: &str, new: &str) -> Vec<(Range<usize>, String)> {
    let differing = Differing::new(old, new);
    let edit = |(lines, with): &(Range<usize>, Range<usize>)| {
        let bytes = differing.old.bytes(lines);
        let range = differing.start + bytes.start..differing.start + bytes.end;
        (range, differing.new.slice(with).to_owned())
    };
    differing.changes.iter().map(edit).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A text of few different lines, so that it repeats itself, with every kind of line end.
    pub(in crate::patch) fn any_text() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            Just("a"),
            Just("b"),
            Just("  c"),
            Just(""),
            Just("é😀"),
            Just("fn d() {")
        ];
        let end = prop_oneof![6 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
        (prop::collection::vec((line, end), 0..14), any::<bool>(), any::<bool>()).prop_map(|(lines, bom, finished)| {
            let mut text = if bom { "\u{feff}".to_owned() } else { String::new() };
            text.extend(lines.iter().flat_map(|(line, end)| [*line, *end]));
            if !finished {
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
            }
            text
        })
    }

    #[test]
    fn hunks_are_small_and_apart() {
        let old = "a\nb\nc\nd\ne\n";
        let found = hunks(old, "a\nB\nc\nd\ne\nf\n");
        let ranges: Vec<_> = found
            .iter()
            .map(|hunk| (hunk.old.clone(), &hunk.old_text[..], &hunk.new_text[..]))
            .collect();
        assert_eq!(ranges, [(1..2, "b\n", "B\n"), (5..5, "", "f\n")]);
        assert_eq!(with_hunks(old, &found, &[false, true]), "a\nb\nc\nd\ne\nf\n");
        assert_eq!(with_hunks(old, &found, &[true]), "a\nB\nc\nd\ne\n");
    }

    #[test]
    fn edits_are_byte_ranges() {
        assert_eq!(text_edits("é\nb\n", "é\nc\n"), [(3..5, "c\n".to_owned())]);
        assert_eq!(text_edits("a", "a\n"), [(0..1, "a\n".to_owned())]);
        assert_eq!(text_edits("", "a\n"), [(0..0, "a\n".to_owned())]);
        assert_eq!(text_edits("same\n", "same\n"), []);
    }

    #[test]
    fn places_beyond_the_end_or_overlapping_do_not_panic() {
        assert_eq!(apply_hunks("a\n", &[(5..9, "b\n".into())]), "a\nb\n");
        assert_eq!(
            apply_hunks("a\nb\n", &[(0..2, "x\n".into()), (1..2, "y\n".into())]),
            "x\ny\n"
        );
    }

    proptest! {
        #[test]
        fn hunks_lead_from_one_text_to_the_other(old in any_text(), new in any_text()) {
            let found = hunks(&old, &new);
            prop_assert_eq!(with_hunks(&old, &found, &vec![true; found.len()]), new.clone());
            prop_assert_eq!(with_hunks(&old, &found, &vec![false; found.len()]), old.clone());
            prop_assert!(found.windows(2).all(|pair| pair[0].old.end < pair[1].old.start));
            for hunk in &found {
                prop_assert_eq!(Lines::new(&old).slice(&hunk.old), &hunk.old_text);
            }
            let mut text = old.clone();
            for (range, with) in text_edits(&old, &new).into_iter().rev() {
                text.replace_range(range, &with);
            }
            prop_assert_eq!(text, new);
        }
    }
}
