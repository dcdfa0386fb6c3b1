//! Hunks follow their text: a change made against one text finds its place in what the text has become.
//!
//! Three-way: where the person did not touch the lines that a hunk replaces, nor its insertion point, the hunk moves
//! along with them. Text that was moved as a whole is found again by its surroundings if these are unique. Everything
//! else is a conflict; nothing is placed by guess.

use super::diff::{changed, changed_backwards};
use super::hunk::PlannedHunk;
use super::lines::Lines;
use std::collections::HashMap;
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

/// Follows each hunk, made against `before`, into `now`. The answers are in the order of the hunks, and the places
/// do not overlap.
pub fn rebase(before: &str, hunks: &[PlannedHunk], now: &str) -> Vec<Rebased> {
    if before == now {
        return hunks.iter().map(|hunk| Rebased::Placed(hunk.old.clone())).collect();
    }
    let (old_lines, new_lines) = (Lines::new(before), Lines::new(now));
    let (old, new) = (old_lines.all(), new_lines.all());
    let edits = |changes: Vec<(Range<usize>, Range<usize>)>| -> Vec<Edit> {
        changes
            .into_iter()
            .map(|(range, with)| Edit::new(&old, &new, range, with))
            .collect()
    };
    let follow = Follow {
        old: &old,
        new: &new,
        edits: edits(changed(&old, &new)),
    };
    let check = Follow {
        old: &old,
        new: &new,
        edits: edits(changed_backwards(&old, &new)),
    };
    let both = |hunk| match (follow.hunk(hunk), check.hunk(hunk)) {
        (Rebased::Placed(one), Rebased::Placed(other)) if one != other => Rebased::Conflict {
            why: Conflict::NotUnique,
        },
        (Rebased::Placed(_), conflict @ Rebased::Conflict { .. }) => conflict,
        (first, _) => first,
    };
    let mut found: Vec<Rebased> = hunks.iter().map(both).collect();
    follow.find_moved(hunks, &mut found);
    found
}

/// About where some lines of `before` are in `now`, also if they have changed: for showing, never for writing.
pub fn about(before: &str, lines: &Range<usize>, now: &str) -> Range<usize> {
    let (old, new) = (Lines::new(before), Lines::new(now));
    let edits = changed(&old.all(), &new.all());
    let follow = |line: usize| {
        let mut shift = 0isize;
        for (range, with) in &edits {
            if range.start < line && line < range.end {
                return with.start + (line - range.start).min(with.len());
            }
            if range.end <= line && range.start < line {
                shift += with.len() as isize - range.len() as isize;
            }
        }
        shifted(line, shift)
    };
    let start = follow(lines.start).min(new.len());
    start..follow(lines.end).min(new.len()).max(start)
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
    fn new(old: &[&str], new: &[&str], range: Range<usize>, with: Range<usize>) -> Self {
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
    old: &'a [&'a str],
    new: &'a [&'a str],
    edits: Vec<Edit>,
}

impl Follow<'_> {
    fn hunk(&self, hunk: &PlannedHunk) -> Rebased {
        let Range { start, end } = hunk.old;
        // A hunk that does not belong to this text has no place in another.
        if start > end || end > self.old.len() || self.old[start..end].concat() != hunk.old_text {
            return Rebased::Conflict { why: Conflict::Changed };
        }
        let found = if start == end {
            self.insertion(hunk, start)
        } else {
            self.replacement(hunk)
        };
        match found {
            Rebased::Placed(range) if self.would_run_on(hunk, &range) => Rebased::Conflict { why: Conflict::Changed },
            found => found,
        }
    }

    /// Whether the hunk's text, made for the end of the text, would run into a line that now follows.
    fn would_run_on(&self, hunk: &PlannedHunk, range: &Range<usize>) -> bool {
        !hunk.new_text.is_empty() && !hunk.new_text.ends_with(['\n', '\r']) && range.end < self.new.len()
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
                    let there = self.new[edit.new.clone()].concat();
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
        if above && below || above && at == self.old.len() && at > 0 || below && at == 0 {
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
            self.old[start..hunk.old.start].concat(),
            hunk.new_text.clone(),
            self.old[hunk.old.end..end].concat(),
        ]
        .concat();
        let there = [
            self.old[start..edit.old.start].concat(),
            self.new[edit.new.clone()].concat(),
            self.old[edit.old.end..end].concat(),
        ]
        .concat();
        wanted == there
    }

    /// Looks for hunks whose text was moved elsewhere as a whole: the lines with at least one unchanged line on each
    /// side must stand in today's text exactly once, and must have stood in the old text exactly once.
    fn find_moved(&self, hunks: &[PlannedHunk], found: &mut [Rebased]) {
        const MOST_CONTEXT: usize = 3;
        if found
            .iter()
            .all(|one| *one != (Rebased::Conflict { why: Conflict::Changed }))
        {
            return;
        }
        let places = |lines: &[&str]| {
            let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
            for (at, line) in lines.iter().enumerate() {
                places.entry(hash(line)).or_default().push(at);
            }
            places
        };
        let (in_old, in_new) = (places(self.old), places(self.new));
        for index in 0..hunks.len() {
            let hunk = &hunks[index];
            let inside = hunk.old.start <= hunk.old.end && hunk.old.end <= self.old.len();
            if found[index] != (Rebased::Conflict { why: Conflict::Changed })
                || !inside
                || self.old[hunk.old.clone()].concat() != hunk.old_text
            {
                continue;
            }
            for context in (1..=MOST_CONTEXT).rev() {
                let (Some(start), end) = (hunk.old.start.checked_sub(context), hunk.old.end + context) else {
                    continue;
                };
                let Some(block) = self.old.get(start..end) else {
                    continue;
                };
                let telling = block.iter().filter(|line| line.trim().len() > 3).count();
                if telling < 2 || occurrences(self.old, &in_old, block).len() != 1 {
                    continue;
                }
                let [place] = occurrences(self.new, &in_new, block)[..] else {
                    continue;
                };
                let place = place + context..place + context + hunk.old.len();
                let free = found.iter().all(|other| match other {
                    Rebased::Placed(taken) => taken.end < place.start || place.end < taken.start,
                    Rebased::Conflict { .. } => true,
                });
                if free && !self.would_run_on(hunk, &place) {
                    found[index] = Rebased::Placed(place);
                }
                break;
            }
        }
    }
}

fn overlaps(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn shifted(line: usize, shift: isize) -> usize {
    line.saturating_add_signed(shift)
}

fn hash(line: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

/// Where the block stands, at most two places.
fn occurrences(lines: &[&str], places: &HashMap<u64, Vec<usize>>, block: &[&str]) -> Vec<usize> {
    let rarest = (0..block.len())
        .min_by_key(|&line| places.get(&hash(block[line])).map_or(0, Vec::len))
        .unwrap_or(0);
    let Some(hits) = places.get(&hash(block[rarest])) else {
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
