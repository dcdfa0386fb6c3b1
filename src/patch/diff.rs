//! Differences of two texts: which lines changed, and that in the way of `git diff`.

use similar::{Algorithm, DiffTag};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hash;
use std::ops::Range;
use std::path::Path;

/// The ranges in which two sequences of lines differ, in order, with at least one equal line between them.
pub(super) fn changed(old: &[&str], new: &[&str]) -> Vec<(Range<usize>, Range<usize>)> {
    let (same_start, same_end) = common(old, new);
    let (old, new) = (
        &old[same_start..old.len() - same_end],
        &new[same_start..new.len() - same_end],
    );
    // Numbers compare faster than lines.
    let mut numbers = HashMap::new();
    let mut number = |line| {
        let next = numbers.len() as u32;
        *numbers.entry(line).or_insert(next)
    };
    let old: Vec<u32> = old.iter().map(|line| number(*line)).collect();
    let new: Vec<u32> = new.iter().map(|line| number(*line)).collect();
    differing(&old, &new, same_start)
}

/// Most lines of both texts together that are compared at once where the work is bounded.
const MOST_AT_ONCE: usize = 4000;
/// Most work of one comparison, in squares of such numbers of lines.
const MOST_WORK: usize = 4 * MOST_AT_ONCE * MOST_AT_ONCE;

/// The same for lines that have numbers already, with bounded work. Where that does not do, ranges are larger than need be.
/// What comes out depends on the texts alone: not on how busy the machine is, since it decides whether a change was made.
pub(crate) fn changed_numbers(old: &[u64], new: &[u64]) -> Vec<(Range<usize>, Range<usize>)> {
    let (same_start, same_end) = common(old, new);
    let (old, new) = (
        &old[same_start..old.len() - same_end],
        &new[same_start..new.len() - same_end],
    );
    if old.len() + new.len() <= MOST_AT_ONCE {
        return differing(old, new, same_start);
    }
    let mut work = MOST_WORK;
    let mut found: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut at = (0, 0);
    let ends = std::iter::once((old.len(), new.len()));
    for (old_at, new_at) in anchors(old, new).into_iter().chain(ends) {
        let (between_old, between_new) = (&old[at.0..old_at], &new[at.1..new_at]);
        let (start, end) = common(between_old, between_new);
        let inner = |range: &[u64]| range.len() - start - end;
        let size = inner(between_old) + inner(between_new);
        let (from_old, from_new) = (at.0 + start, at.1 + start);
        let (to_old, to_new) = (old_at - end, new_at - end);
        let affordable = size <= MOST_AT_ONCE && size * size <= work;
        let ranges: Vec<(Range<usize>, Range<usize>)> = if affordable {
            work -= size * size;
            let ranges = differing(&old[from_old..to_old], &new[from_new..to_new], 0);
            let shift = |range: Range<usize>, by: usize| range.start + by..range.end + by;
            let shifted = |(a, b): (Range<usize>, Range<usize>)| (shift(a, from_old), shift(b, from_new));
            ranges.into_iter().map(shifted).collect()
        } else {
            vec![(from_old..to_old, from_new..to_new)]
        };
        for (a, b) in ranges.into_iter().filter(|(a, b)| !(a.is_empty() && b.is_empty())) {
            match found.last_mut() {
                Some(last) if last.0.end == a.start && last.1.end == b.start => {
                    last.0.end = a.end;
                    last.1.end = b.end;
                }
                _ => found.push((a, b)),
            }
        }
        at = (old_at, new_at);
    }
    let down = |range: Range<usize>| same_start + range.start..same_start + range.end;
    found.into_iter().map(|(a, b)| (down(a), down(b))).collect()
}

/// The longest run of lines that stand once in either text and in the same order in both: places in the old, in the new.
fn anchors(old: &[u64], new: &[u64]) -> Vec<(usize, usize)> {
    #[derive(Default)]
    struct Seen {
        old: (usize, usize),
        new: (usize, usize),
    }
    let mut lines: HashMap<u64, Seen> = HashMap::new();
    for (at, line) in old.iter().enumerate() {
        let seen = &mut lines.entry(*line).or_default().old;
        *seen = (seen.0 + 1, at);
    }
    for (at, line) in new.iter().enumerate() {
        if let Some(seen) = lines.get_mut(line) {
            seen.new = (seen.new.0 + 1, at);
        }
    }
    let once = |line: &u64| {
        let seen = &lines[line];
        (seen.old.0 == 1 && seen.new.0 == 1).then_some((seen.old.1, seen.new.1))
    };
    let pairs: Vec<(usize, usize)> = old.iter().filter_map(once).collect();
    // The longest increasing run of places in the new text, by patience: each pile's top, and what lay below each card.
    let mut tops: Vec<usize> = Vec::new();
    let mut below: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (card, (_, place)) in pairs.iter().enumerate() {
        let pile = tops.partition_point(|top| pairs[*top].1 < *place);
        below.push(pile.checked_sub(1).map(|left| tops[left]));
        match tops.get_mut(pile) {
            Some(top) => *top = card,
            None => tops.push(card),
        }
    }
    let mut run: Vec<(usize, usize)> = std::iter::successors(tops.last().copied(), |card| below[*card])
        .map(|card| pairs[card])
        .collect();
    run.reverse();
    run
}

/// How many lines are the same at the start, and how many of the rest at the end.
fn common<T: PartialEq>(old: &[T], new: &[T]) -> (usize, usize) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (start, end)
}

/// The ranges in which two sequences differ that have neither their first nor their last line in common; `above` lines
/// stand above both.
fn differing<T: Eq + Hash>(old: &[T], new: &[T], above: usize) -> Vec<(Range<usize>, Range<usize>)> {
    let shift = |range: Range<usize>| above + range.start..above + range.end;
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    if old.is_empty() || new.is_empty() {
        return vec![(shift(0..old.len()), shift(0..new.len()))];
    }
    let mut found: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for op in similar::capture_diff_slices(Algorithm::Myers, old, new) {
        let (tag, old, new) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            continue;
        }
        let (old, new) = (shift(old), shift(new));
        match found.last_mut() {
            Some(last) if last.0.end == old.start && last.1.end == new.start => {
                last.0.end = old.end;
                last.1.end = new.end;
            }
            _ => found.push((old, new)),
        }
    }
    found
}

/// As [`changed_numbers`], found from the end backwards: where the text repeats itself the two may differ, and neither is
/// sure.
pub(super) fn changed_backwards(old: &[u64], new: &[u64]) -> Vec<(Range<usize>, Range<usize>)> {
    let old_reversed: Vec<u64> = old.iter().rev().copied().collect();
    let new_reversed: Vec<u64> = new.iter().rev().copied().collect();
    let turned = |range: Range<usize>, length: usize| length - range.end..length - range.start;
    let mut found: Vec<_> = changed_numbers(&old_reversed, &new_reversed)
        .into_iter()
        .map(|(before, after)| (turned(before, old.len()), turned(after, new.len())))
        .collect();
    found.reverse();
    found
}

/// What two texts have in common at their start and at their end, in whole lines that end in `\n`. Found by bytes, so
/// that a small change of a large text costs little more than reading it.
#[derive(Debug)]
pub(super) struct Frame {
    /// Bytes.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Frame {
    pub(super) fn new(before: &str, after: &str) -> Self {
        let (old, new) = (before.as_bytes(), after.as_bytes());
        let after_last = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let start = after_last(&old[..same_start(old, new)]);
        let (old, new) = (&old[start..], &new[start..]);
        let same = &old[old.len() - same_end(old, new)..];
        let first = same
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(same.len(), |at| at + 1);
        Self {
            start,
            end: same.len() - first,
        }
    }

    /// The part of one of the two texts that lies between.
    pub(super) fn middle<'t>(&self, text: &'t str) -> &'t str {
        &text[self.start..text.len() - self.end]
    }
}

/// Bytes compared at once.
const BLOCK: usize = 1024;

fn same_start(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let same = BLOCK * blocks.take_while(|(a, b)| a == b).count();
    same + a[same..].iter().zip(&b[same..]).take_while(|(a, b)| a == b).count()
}

fn same_end(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK));
    let same = BLOCK * blocks.take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    same + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// How many unchanged lines surround a change.
const CONTEXT: usize = 3;

/// What became of one file in the way of `git diff`, so that `git apply` takes it. Empty if nothing did.
///
/// `before` is `None` for a new file, `after` for a deleted one. Paths below `relative_to` are shown relative to it,
/// others as they are.
pub fn unified_diff(
    path: &Path,
    relative_to: &Path,
    before: Option<&str>,
    after: Option<&str>,
    move_to: Option<&Path>,
) -> String {
    Shown {
        path,
        before,
        after,
        move_to,
        mode: None,
    }
    .unified(relative_to)
}

/// What became of one file, with its mode.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    pub path: &'a Path,
    /// `None` for a new file.
    pub before: Option<&'a str>,
    /// `None` for a deleted file.
    pub after: Option<&'a str>,
    pub move_to: Option<&'a Path>,
    /// The new permission bits, if they are others than before, or than those of any new file.
    pub mode: Option<u32>,
}

impl Shown<'_> {
    /// The difference in the way of `git diff`, so that `git apply` takes it. Empty if there is none.
    pub fn unified(&self, relative_to: &Path) -> String {
        let Self {
            path,
            before,
            after,
            move_to,
            mode,
        } = *self;
        let to = move_to.unwrap_or(path);
        if before == after && to == path && mode.is_none() {
            return String::new();
        }
        let (old_name, new_name) = (Name::new("a/", path, relative_to), Name::new("b/", to, relative_to));
        let mut diff = format!("diff --git {} {}\n", old_name.shown, new_name.shown);
        let executable = mode.is_some_and(|mode| mode & 0o100 != 0);
        let (runs, reads) = ("100755", "100644");
        match (before, after, mode) {
            (None, Some(_), _) => {
                let _ = writeln!(diff, "new file mode {}", if executable { runs } else { reads });
            }
            (Some(_), None, _) => diff.push_str("deleted file mode 100644\n"),
            (_, _, Some(_)) => {
                let (old, new) = if executable { (reads, runs) } else { (runs, reads) };
                let _ = write!(diff, "old mode {old}\nnew mode {new}\n");
            }
            _ => {}
        }
        if to != path && before.is_some() && after.is_some() {
            let (from, to) = (quote(&old_name.plain), quote(&new_name.plain));
            let _ = write!(diff, "rename from {from}\nrename to {to}\n");
        }
        let body = body(before.unwrap_or_default(), after.unwrap_or_default());
        if !body.is_empty() {
            let header = |name: &Name, there: bool| {
                if there {
                    name.in_header()
                } else {
                    "/dev/null".to_owned()
                }
            };
            let (old, new) = (header(&old_name, before.is_some()), header(&new_name, after.is_some()));
            let _ = write!(diff, "--- {old}\n+++ {new}\n{body}");
        }
        diff
    }
}

pub(super) struct Name {
    /// Without `a/` or `b/`.
    plain: String,
    pub(super) shown: String,
}

impl Name {
    pub(super) fn new(side: &str, path: &Path, relative_to: &Path) -> Self {
        let inside = path
            .strip_prefix(relative_to)
            .ok()
            .filter(|inside| !inside.as_os_str().is_empty());
        let plain = inside.unwrap_or(path).to_string_lossy().into_owned();
        let shown = quote(&if inside.is_some() {
            format!("{side}{plain}")
        } else {
            plain.clone()
        });
        Self { plain, shown }
    }

    /// A name with blanks needs a tab behind it, or a reader may take a part of it for a date.
    fn in_header(&self) -> String {
        let tab = if self.shown.contains(' ') && !self.shown.starts_with('"') {
            "\t"
        } else {
            ""
        };
        format!("{}{tab}", self.shown)
    }
}

/// Names that would break the line are quoted in the way of C.
pub(super) fn quote(name: &str) -> String {
    if !name.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
        return name.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_ascii_control() => {
                let _ = write!(quoted, "\\{:03o}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The hunks. Lines end in `\n` here, as programs that read diffs have it.
fn body(before: &str, after: &str) -> String {
    let mut frame = Frame::new(before, after);
    frame.start = up(before, frame.start, CONTEXT);
    frame.end = before.len() - down(before, before.len() - frame.end, CONTEXT);
    let above = before.as_bytes()[..frame.start]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count();
    let old: Vec<&str> = frame.middle(before).split_inclusive('\n').collect();
    let new: Vec<&str> = frame.middle(after).split_inclusive('\n').collect();
    let changes = changed(&old, &new);
    let mut text = String::new();
    let mut rest = &changes[..];
    while let Some(first) = rest.first() {
        let together = 1 + rest
            .windows(2)
            .take_while(|pair| pair[1].0.start - pair[0].0.end <= 2 * CONTEXT)
            .count();
        let (group, later) = rest.split_at(together);
        rest = later;
        let last = &group[together - 1];
        let lead = first.0.start.min(CONTEXT);
        let tail = (old.len() - last.0.end).min(CONTEXT);
        let old_range = first.0.start - lead..last.0.end + tail;
        let new_range = first.1.start - lead..last.1.end + tail;
        let _ = writeln!(text, "@@ -{} +{} @@", span(above, &old_range), span(above, &new_range));
        let mut at = old_range.start;
        for (removed, added) in group {
            old[at..removed.start]
                .iter()
                .for_each(|line| push_line(&mut text, ' ', line));
            old[removed.clone()]
                .iter()
                .for_each(|line| push_line(&mut text, '-', line));
            new[added.clone()]
                .iter()
                .for_each(|line| push_line(&mut text, '+', line));
            at = removed.end;
        }
        old[at..old_range.end]
            .iter()
            .for_each(|line| push_line(&mut text, ' ', line));
    }
    text
}

/// The start of the line so many lines above the one that starts at `at`.
fn up(text: &str, at: usize, lines: usize) -> usize {
    let above = |at: usize| text[..at.saturating_sub(1)].rfind('\n').map_or(0, |end| end + 1);
    (0..lines).fold(at, |at, _| above(at))
}

/// The start of the line so many lines below the one that starts at `at`; the text's length past its last line.
fn down(text: &str, at: usize, lines: usize) -> usize {
    let below = |at: usize| text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
    (0..lines).fold(at, |at, _| below(at))
}

fn span(above: usize, range: &Range<usize>) -> String {
    let start = above + range.start;
    match range.len() {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

fn push_line(text: &mut String, sign: char, line: &str) {
    text.push(sign);
    text.push_str(line);
    if !line.ends_with('\n') {
        text.push_str("\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use super::super::hunk::tests::any_text;
    use super::*;
    use proptest::prelude::*;

    fn diff(path: &str, before: Option<&str>, after: Option<&str>, to: Option<&str>) -> String {
        unified_diff(Path::new(path), Path::new("/w"), before, after, to.map(Path::new))
    }

    proptest! {
        /// What is the same is whole lines of both, and the lines left and right of it cannot be.
        #[test]
        fn the_frame_is_whole_lines_that_are_the_same(old in any_text(), new in any_text()) {
            let frame = Frame::new(&old, &new);
            let (start, old_end, new_end) = (frame.start, old.len() - frame.end, new.len() - frame.end);
            prop_assert_eq!(&old[..start], &new[..start]);
            prop_assert_eq!(&old[old_end..], &new[new_end..]);
            for (text, end) in [(&old, old_end), (&new, new_end)] {
                prop_assert!(start <= end);
                prop_assert!(start == 0 || text[..start].ends_with('\n'));
                prop_assert!(frame.end == 0 || text[..end].ends_with('\n'));
            }
            let first = |text: &str| text[start..].split_inclusive('\n').next().map(str::to_owned);
            let whole = first(&old).filter(|line| line.ends_with('\n') && start < old_end && start < new_end);
            prop_assert!(whole.is_none() || whole != first(&new));
        }
    }

    /// The ranges lead from the one to the other, are in order and apart, and small where anything holds the texts together.
    #[test]
    fn large_texts_are_compared_with_bounded_work() {
        let lines = |seed: u64, rewritten: &dyn Fn(usize) -> bool| -> Vec<u64> {
            let line = |at: usize| match at {
                at if rewritten(at) => seed + at as u64,
                // Some lines stand in many places.
                at if at % 5 == 0 => 7,
                at => 1_000_000 + at as u64,
            };
            (0..30_000).map(line).collect()
        };
        let old = lines(2_000_000, &|_| false);
        let in_parts = lines(3_000_000, &|at| at % 1000 < 300);
        let all_but_few = lines(4_000_000, &|at| at % 10_000 != 5001);
        let shorter: Vec<u64> = in_parts.iter().copied().filter(|line| line % 3 != 0).collect();
        for (new, most) in [(&in_parts, 30), (&all_but_few, 4), (&shorter, 30_000), (&old, 0)] {
            let found = changed_numbers(&old, new);
            assert!(found.len() <= most, "{} ranges", found.len());
            let mut made = Vec::new();
            let mut at = 0;
            for (before, after) in &found {
                assert!(
                    before.start >= at && (at == 0 || before.start > at),
                    "{before:?} after {at}"
                );
                made.extend_from_slice(&old[at..before.start]);
                assert_eq!(made.len(), after.start);
                made.extend_from_slice(&new[after.clone()]);
                at = before.end;
            }
            made.extend_from_slice(&old[at..]);
            assert!(made == *new, "{} lines are others", made.len());
            assert_eq!(found, changed_numbers(&old, new), "the same whenever it is asked");
        }
    }

    #[test]
    fn texts_longer_than_a_block_are_framed_alike() {
        let line = |at: usize| format!("line {at} of a text that is longer than what is compared at once\n");
        let old: String = (0..200).map(line).collect();
        for at in [0, 1, 57, 198, 199] {
            let new = old.replacen(&line(at), "another\n", 1);
            let frame = Frame::new(&old, &new);
            assert_eq!((frame.middle(&old), frame.middle(&new)), (&line(at)[..], "another\n"));
            let shown = diff("/w/a", Some(&old), Some(&new), None);
            let lead = at.min(3);
            let length = lead + 1 + (199 - at).min(3);
            assert!(
                shown.contains(&format!("@@ -{0},{length} +{0},{length} @@\n", at - lead + 1)),
                "{shown}"
            );
        }
        let same = Frame::new(&old, &old);
        assert_eq!((same.middle(&old), same.end), ("", 0));
    }

    #[test]
    fn is_in_the_way_of_git() {
        let rows: &[(&str, String, &str)] = &[
            (
                "new",
                diff("/w/a", None, Some("x\ny\n"), None),
                "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+x\n+y\n",
            ),
            (
                "new and empty",
                diff("/w/a", None, Some(""), None),
                "diff --git a/a b/a\nnew file mode 100644\n",
            ),
            (
                "deleted",
                diff("/w/a", Some("x"), None, None),
                "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n",
            ),
            (
                "moved only",
                diff("/w/a", Some("x\n"), Some("x\n"), Some("/w/d/b")),
                "diff --git a/a b/d/b\nrename from a\nrename to d/b\n",
            ),
            (
                "moved and changed",
                diff("/w/a", Some("x\n"), Some("y\n"), Some("/w/b")),
                "diff --git a/a b/b\nrename from a\nrename to b\n--- a/a\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n",
            ),
            (
                "final newline",
                diff("/w/a", Some("x"), Some("x\n"), None),
                "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n",
            ),
            (
                "blank in the name",
                diff("/w/a b", Some("x\n"), Some("y\n"), None),
                "diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-x\n+y\n",
            ),
            (
                "line end in the name",
                diff("/w/a\n\"b", Some("x\n"), Some("y\n"), None),
                "diff --git \"a/a\\n\\\"b\" \"b/a\\n\\\"b\"\n--- \"a/a\\n\\\"b\"\n+++ \"b/a\\n\\\"b\"\n@@ -1 +1 @@\n-x\n+y\n",
            ),
            (
                "outside",
                diff("/else/a", Some("x\n"), Some("y\n"), None),
                "diff --git /else/a /else/a\n--- /else/a\n+++ /else/a\n@@ -1 +1 @@\n-x\n+y\n",
            ),
            ("nothing", diff("/w/a", Some("x\n"), Some("x\n"), None), ""),
        ];
        for (name, got, expected) in rows {
            assert_eq!(got, expected, "{name}");
        }
    }

    #[test]
    fn near_changes_share_a_hunk() {
        let before: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let near = before.replace("\n5\n", "\nfive\n").replace("\n12\n", "\n");
        assert_eq!(
            body(&before, &near),
            "@@ -2,14 +2,13 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n 10\n 11\n-12\n 13\n 14\n 15\n"
        );
        let far = before.replace("\n3\n", "\n").replace("\n14\n", "\n14\nx\n");
        assert_eq!(body(&before, &far).matches("@@ -").count(), 2);
    }

    /// Puts a body back on a text, reading only what it says.
    fn apply(before: &str, body: &str) -> String {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let (mut text, mut at) = (String::new(), 0);
        let lines: Vec<&str> = body.split_inclusive('\n').collect();
        for (index, line) in lines.iter().enumerate() {
            let cut = lines.get(index + 1).is_some_and(|next| next.starts_with('\\'));
            let content = if cut { &line[1..line.len() - 1] } else { &line[1..] };
            match line.as_bytes()[0] {
                b'@' => {
                    let (start, count) = line[4..]
                        .split(' ')
                        .next()
                        .unwrap()
                        .split_once(',')
                        .unwrap_or((&line[4..5], "1"));
                    let start: usize = line[4..].split([',', ' ']).next().unwrap_or(start).parse().unwrap();
                    let to = if count == "0" { start } else { start - 1 };
                    text.push_str(&old[at..to].concat());
                    at = to;
                }
                b' ' => {
                    assert_eq!(old[at], content);
                    text.push_str(content);
                    at += 1;
                }
                b'-' => {
                    assert_eq!(old[at], content);
                    at += 1;
                }
                b'+' => text.push_str(content),
                _ => {}
            }
        }
        text.push_str(&old[at..].concat());
        text
    }

    #[test]
    fn git_takes_it() {
        let root = tempfile::TempDir::new().unwrap();
        type Row<'a> = (&'a str, Option<&'a str>, Option<&'a str>, Option<&'a str>);
        let rows: &[Row<'_>] = &[
            ("new", None, Some("x\n"), None),
            ("empty", None, Some(""), None),
            ("dir/gone", Some("x\ny"), None, None),
            (
                "changed é",
                Some("\u{feff}a\r\nb\r\nc"),
                Some("\u{feff}a\r\nB\r\nc\n"),
                None,
            ),
            ("from here", Some("1\n2\n3\n"), Some("1\n2\n4\n"), Some("to/there")),
            ("quoted\t\"name\"", Some("1\n"), Some("2\n"), None),
        ];
        let mut diff = String::new();
        for (name, before, after, to) in rows {
            let path = root.path().join(name);
            if let Some(before) = before {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, before).unwrap();
            }
            let to = to.map(|to| root.path().join(to));
            diff += &unified_diff(&path, root.path(), *before, *after, to.as_deref());
        }
        std::fs::write(root.path().join("the.diff"), &diff).unwrap();
        let git = std::process::Command::new("git")
            .args(["apply", "--whitespace=nowarn", "the.diff"])
            .current_dir(root.path())
            .env("GIT_CEILING_DIRECTORIES", root.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(git.status.success(), "{}\n{diff}", String::from_utf8_lossy(&git.stderr));
        for (name, _, after, to) in rows {
            let now = std::fs::read_to_string(root.path().join(to.unwrap_or(name))).ok();
            assert_eq!(now.as_deref(), *after, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_diff_applied_gives_the_new_text(old in any_text(), new in any_text()) {
            prop_assert_eq!(apply(&old, &body(&old, &new)), new);
        }
    }
}
