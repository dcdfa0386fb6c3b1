//! Hunks follow their text: a change made against one text finds its place in what the text has become.
//!
//! Three-way: where the person did not touch the lines that a hunk replaces, nor its insertion point, the hunk moves
//! along with them. Text that was moved as a whole is found again by its surroundings if these are unique. Everything
//! else is a conflict; nothing is placed by guess.

mod index;

use super::diff::{changed_backwards, changed_numbers};
use super::hunk::PlannedHunk;
use index::Index;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher, RandomState};
use std::ops::Range;

/// Where a hunk is in today's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// It replaces these lines of today's text.
    Placed(Range<usize>),
    Conflict {
        why: Conflict,
    },
}

/// Why a hunk has no place any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    #[error("the lines it would replace have changed")]
    Changed,
    #[error("text was put in at the same place")]
    SamePlace,
    #[error("the same change is there already")]
    AlreadyThere,
    #[error("the text around it repeats itself, so that its place is not certain")]
    NotUnique,
}

/// Where a hunk is, and where to show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    pub found: Rebased,
    /// The lines of today's text that it stands at, also where it has no place: for showing, never for writing.
    pub shown: Range<usize>,
}

/// Follows each hunk, made against `before`, into `now`. The answers are in the order of the hunks, and the places
/// do not overlap.
pub fn rebase(before: &str, hunks: &[PlannedHunk], now: &str) -> Vec<Rebased> {
    let mut follower = Follower::default();
    let followed = follower.follow(before, hunks, now.to_owned());
    followed.into_iter().map(|followed| followed.found).collect()
}

/// What stays the same while somebody types, so that hunks can be followed at every key.
#[derive(Debug, Default)]
pub struct Follower {
    keys: RandomState,
    before: Option<Index>,
    now: Option<(String, Index)>,
}

impl Follower {
    /// The text that hunks were followed into last.
    pub fn now(&self) -> Option<&str> {
        self.now.as_ref().map(|(text, _)| text.as_str())
    }

    /// As [`rebase`]. A follower belongs to one text `before`.
    pub fn follow(&mut self, before: &str, hunks: &[PlannedHunk], now: String) -> Vec<Followed> {
        let keys = &self.keys;
        let index = match self.now.take() {
            Some((last, mut index)) => {
                index.update(&last, &now, keys);
                index
            }
            None if before == now => {
                // Nothing has happened yet, and perhaps nothing will.
                let there = |hunk: &PlannedHunk| Followed {
                    found: Rebased::Placed(hunk.old.clone()),
                    shown: hunk.old.clone(),
                };
                return hunks.iter().map(there).collect();
            }
            None => Index::new(&now, keys),
        };
        let base = self.before.get_or_insert_with(|| Index::new(before, keys));
        let (now, index) = self.now.insert((now, index));
        let (old, new) = (
            Text {
                text: before,
                index: base,
            },
            Text { text: now, index },
        );
        follow(old, new, hunks)
    }
}

fn follow(old: Text<'_>, new: Text<'_>, hunks: &[PlannedHunk]) -> Vec<Followed> {
    let edits = |changes: Vec<(Range<usize>, Range<usize>)>| -> Vec<Edit> {
        let edit = |(range, with)| Edit::new(old.index.numbers(), new.index.numbers(), range, with);
        changes.into_iter().map(edit).collect()
    };
    let (before, now) = (old.index.numbers(), new.index.numbers());
    let forwards = Follow {
        old,
        new,
        edits: edits(changed_numbers(before, now)),
    };
    let backwards = Follow {
        old,
        new,
        edits: edits(changed_backwards(before, now)),
    };
    let both = |hunk| match (forwards.hunk(hunk), backwards.hunk(hunk)) {
        (Rebased::Placed(one), Rebased::Placed(other)) if one != other => Rebased::Conflict {
            why: Conflict::NotUnique,
        },
        (Rebased::Placed(_), conflict @ Rebased::Conflict { .. }) => conflict,
        (first, _) => first,
    };
    let mut found: Vec<Rebased> = hunks.iter().map(both).collect();
    forwards.find_moved(hunks, &mut found);
    let shown = |(hunk, found): (&PlannedHunk, Rebased)| Followed {
        shown: match &found {
            Rebased::Placed(range) => range.clone(),
            Rebased::Conflict { .. } => forwards.about(&hunk.old),
        },
        found,
    };
    hunks.iter().zip(found).map(shown).collect()
}

/// A text and its lines.
#[derive(Clone, Copy)]
struct Text<'a> {
    text: &'a str,
    index: &'a Index,
}

impl<'a> Text<'a> {
    fn slice(&self, lines: Range<usize>) -> &'a str {
        &self.text[self.index.bytes(&lines)]
    }
}

/// A change that the person made.
struct Edit {
    old: Range<usize>,
    new: Range<usize>,
    /// The lines of `old` that it may as well have been, when the text repeats itself: one of several equal lines was
    /// removed or doubled.
    blurred: Range<usize>,
}

impl Edit {
    fn new(old: &[u64], new: &[u64], range: Range<usize>, with: Range<usize>) -> Self {
        let (mut up, mut down) = (0, 0);
        let slid = if range.is_empty() {
            Some(&new[with.clone()])
        } else if with.is_empty() {
            Some(&old[range.clone()])
        } else {
            None
        };
        if let Some(lines) = slid {
            let size = lines.len();
            // A block slides over a line above if that equals the block's last line, and so on around.
            let above = |steps: usize| range.start.checked_sub(steps + 1).map(|line| old[line]);
            while above(up).is_some_and(|line| line == lines[size - 1 - up % size]) {
                up += 1;
            }
            while old
                .get(range.end + down)
                .is_some_and(|line| *line == lines[down % size])
            {
                down += 1;
            }
        }
        Self {
            blurred: range.start - up..range.end + down,
            old: range,
            new: with,
        }
    }
}

struct Follow<'a> {
    old: Text<'a>,
    new: Text<'a>,
    edits: Vec<Edit>,
}

impl Follow<'_> {
    fn hunk(&self, hunk: &PlannedHunk) -> Rebased {
        let Range { start, end } = hunk.old;
        // A hunk that does not belong to this text has no place in another.
        if !self.belongs(hunk) {
            return Rebased::Conflict { why: Conflict::Changed };
        }
        let found = if start == end {
            self.insertion(hunk, start)
        } else {
            self.replacement(hunk)
        };
        match found {
            Rebased::Placed(range) if !self.fits(hunk, &range) => Rebased::Conflict { why: Conflict::Changed },
            found => found,
        }
    }

    /// Whether the hunk was made against the old text.
    fn belongs(&self, hunk: &PlannedHunk) -> bool {
        let Range { start, end } = hunk.old;
        start <= end && end <= self.old.index.len() && self.old.slice(start..end) == hunk.old_text
    }

    /// Whether the hunk may take this place: its own text stands there.
    fn fits(&self, hunk: &PlannedHunk, range: &Range<usize>) -> bool {
        self.new.slice(range.clone()) == hunk.old_text && !self.would_run_on(hunk, range)
    }

    /// About where some lines of the old text are, also if they have changed.
    fn about(&self, lines: &Range<usize>) -> Range<usize> {
        let follow = |line: usize| {
            let mut shift = 0isize;
            for Edit { old, new, .. } in &self.edits {
                if old.start < line && line < old.end {
                    return new.start + (line - old.start).min(new.len());
                }
                if old.end <= line && old.start < line {
                    shift += new.len() as isize - old.len() as isize;
                }
            }
            shifted(line, shift)
        };
        let last = self.new.index.len();
        let start = follow(lines.start).min(last);
        start..follow(lines.end).min(last).max(start)
    }

    /// Whether the hunk's text, made for the end of the text, would run into a line that now follows.
    fn would_run_on(&self, hunk: &PlannedHunk, range: &Range<usize>) -> bool {
        !hunk.new_text.is_empty() && !hunk.new_text.ends_with(['\n', '\r']) && range.end < self.new.index.len()
    }

    fn replacement(&self, hunk: &PlannedHunk) -> Rebased {
        let Range { start, end } = hunk.old;
        let mut shift = 0isize;
        for edit in &self.edits {
            // An insertion, too, must be wholly above or wholly below, wherever it may have been.
            if overlaps(&edit.blurred, &hunk.old) {
                let why = if self.same_change(edit, hunk) {
                    Conflict::AlreadyThere
                } else {
                    Conflict::Changed
                };
                return Rebased::Conflict { why };
            }
            if edit.old.end <= start {
                shift += edit.new.len() as isize - edit.old.len() as isize;
            }
        }
        Rebased::Placed(shifted(start, shift)..shifted(end, shift))
    }

    fn insertion(&self, hunk: &PlannedHunk, at: usize) -> Rebased {
        let mut shift = 0isize;
        for edit in &self.edits {
            let moved = edit.new.len() as isize - edit.old.len() as isize;
            if edit.old.is_empty() {
                // Text was put in here, or at a place that cannot be told from here.
                if edit.blurred.start <= at && at <= edit.blurred.end {
                    let there = self.new.slice(edit.new.clone());
                    let why = if there == hunk.new_text {
                        Conflict::AlreadyThere
                    } else {
                        Conflict::SamePlace
                    };
                    return Rebased::Conflict { why };
                }
            } else if edit.blurred.start < at && at < edit.blurred.end {
                return Rebased::Conflict { why: Conflict::Changed };
            }
            if edit.old.end <= at {
                shift += moved;
            }
        }
        // Both neighbours rewritten: nothing is left to hold on to.
        let above = self.edits.iter().any(|edit| !edit.old.is_empty() && edit.old.end == at);
        let below = self
            .edits
            .iter()
            .any(|edit| !edit.old.is_empty() && edit.old.start == at);
        if above && below || above && at == self.old.index.len() && at > 0 || below && at == 0 {
            let why = if self.edits.iter().any(|edit| self.same_change(edit, hunk)) {
                Conflict::AlreadyThere
            } else {
                Conflict::Changed
            };
            return Rebased::Conflict { why };
        }
        let place = shifted(at, shift);
        Rebased::Placed(place..place)
    }

    /// Whether the person made the hunk's own change.
    fn same_change(&self, edit: &Edit, hunk: &PlannedHunk) -> bool {
        // The edit's text with the hunk applied to the old text of the same lines.
        let start = edit.old.start.min(hunk.old.start);
        let end = edit.old.end.max(hunk.old.end);
        let wanted = [
            self.old.slice(start..hunk.old.start),
            &hunk.new_text,
            self.old.slice(hunk.old.end..end),
        ];
        let there = [
            self.old.slice(start..edit.old.start),
            self.new.slice(edit.new.clone()),
            self.old.slice(edit.old.end..end),
        ];
        same_text(&wanted, &there)
    }

    /// Looks for hunks whose text was moved elsewhere as a whole: the lines with at least one unchanged line on each
    /// side must stand in today's text exactly once, and must have stood in the old text exactly once.
    fn find_moved(&self, hunks: &[PlannedHunk], found: &mut [Rebased]) {
        let lost = |index: &usize| found[*index] == (Rebased::Conflict { why: Conflict::Changed });
        let lost: Vec<usize> = (0..hunks.len())
            .filter(lost)
            .filter(|&index| self.belongs(&hunks[index]))
            .collect();
        if lost.is_empty() {
            return;
        }
        let numbers = self.old.index.numbers();
        let around = |index: usize, context: usize| {
            let Range { start, end } = hunks[index].old;
            let lines = start.checked_sub(context)?..end + context;
            numbers.get(lines.clone()).map(|block| (lines, block))
        };
        // Only the lines that are looked for.
        let mut wanted = Places::default();
        for &index in &lost {
            let blocks = (1..=MOST_CONTEXT).filter_map(|context| around(index, context));
            for line in blocks.flat_map(|(_, block)| block) {
                wanted.entry(*line).or_default();
            }
        }
        let mut in_new = wanted.clone();
        note_places(numbers, &mut wanted);
        note_places(self.new.index.numbers(), &mut in_new);
        for index in lost {
            let hunk = &hunks[index];
            for context in (1..=MOST_CONTEXT).rev() {
                let Some((lines, block)) = around(index, context) else {
                    continue;
                };
                let tells = |line: &usize| self.old.slice(*line..line + 1).trim().len() > 3;
                if lines.filter(tells).take(2).count() < 2 || occurrences(numbers, &wanted, block).len() != 1 {
                    continue;
                }
                let [place] = occurrences(self.new.index.numbers(), &in_new, block)[..] else {
                    continue;
                };
                let place = place + context..place + context + hunk.old.len();
                let free = found.iter().all(|other| match other {
                    Rebased::Placed(taken) => taken.end < place.start || place.end < taken.start,
                    Rebased::Conflict { .. } => true,
                });
                if free && self.fits(hunk, &place) {
                    found[index] = Rebased::Placed(place);
                }
                break;
            }
        }
    }
}

/// How many unchanged lines are looked at on each side of text that was moved.
const MOST_CONTEXT: usize = 3;

/// Where lines stand, by their numbers, which are as good as random.
type Places = HashMap<u64, Vec<usize>, BuildHasherDefault<AsItIs>>;

#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

fn note_places(lines: &[u64], places: &mut Places) {
    for (at, line) in lines.iter().enumerate() {
        if let Some(places) = places.get_mut(line) {
            places.push(at);
        }
    }
}

/// Whether pieces make up the same text.
fn same_text(one: &[&str], other: &[&str]) -> bool {
    let bytes = |pieces: &[&str]| pieces.iter().map(|piece| piece.len()).sum::<usize>();
    bytes(one) == bytes(other) && {
        let (one, other) = (
            one.iter().flat_map(|piece| piece.bytes()),
            other.iter().flat_map(|piece| piece.bytes()),
        );
        one.eq(other)
    }
}

fn overlaps(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn shifted(line: usize, shift: isize) -> usize {
    line.saturating_add_signed(shift)
}

/// Where the block stands, at most two places.
fn occurrences(lines: &[u64], places: &Places, block: &[u64]) -> Vec<usize> {
    let rarest = (0..block.len())
        .min_by_key(|&line| places.get(&block[line]).map_or(0, Vec::len))
        .unwrap_or(0);
    let Some(hits) = block.get(rarest).and_then(|line| places.get(line)) else {
        return Vec::new();
    };
    hits.iter()
        .filter_map(|hit| hit.checked_sub(rarest))
        .filter(|&start| lines.get(start..start + block.len()) == Some(block))
        .take(2)
        .collect()
}

#[cfg(test)]
mod tests;
