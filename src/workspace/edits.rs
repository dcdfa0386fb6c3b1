//! Where documents were edited lately: lines that follow the text, neighbours joined, bounded.

use super::position::Edit;
use ropey::Rope;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Places that are remembered.
const MOST: usize = 64;
/// Bytes of a text that is compared where an editor sends all of it anew.
const COMPARED: usize = 1 << 20;

/// Lines of a file that were edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentEdit {
    pub path: PathBuf,
    /// Counted from 0, as they are now.
    pub lines: Range<u32>,
    /// Rises with each edit of the session.
    pub number: u64,
}

#[derive(Debug, Default)]
pub(super) struct Edits {
    /// Oldest first.
    places: Vec<RecentEdit>,
    last: u64,
}

impl Edits {
    /// Notes an edit that turns `before` into `after`.
    pub(super) fn note(&mut self, path: &Path, edit: &Edit, before: &Rope, after: &Rope) {
        let (old, new) = match &edit.range {
            Some(range) => {
                let last = line_number(before.len_lines().saturating_sub(1));
                let (start, end) = (
                    range.start.line.min(range.end.line).min(last),
                    range.end.line.max(range.start.line).min(last),
                );
                let added = line_number(edit.text.matches('\n').count());
                (
                    start..end.saturating_add(1),
                    start..start.saturating_add(added).saturating_add(1),
                )
            }
            None => match changed(before, after) {
                Some(lines) => lines,
                None => return,
            },
        };
        self.last += 1;
        let delta = i64::from(new.end) - i64::from(old.end);
        let mut joined = new;
        let number = self.last;
        self.places.retain_mut(|place| {
            if place.path != path {
                return true;
            }
            if place.lines.start >= old.end.saturating_add(1) {
                place.lines = moved(&place.lines, delta);
                return true;
            }
            if place.lines.end < old.start {
                return true;
            }
            // They touch: one place from now on.
            let end = if place.lines.end > old.end {
                moved(&place.lines, delta).end
            } else {
                joined.end
            };
            joined = joined.start.min(place.lines.start)..joined.end.max(end);
            false
        });
        self.places.push(RecentEdit {
            path: path.to_owned(),
            lines: joined,
            number,
        });
        if self.places.len() > MOST {
            self.places.remove(0);
        }
    }

    /// The edits after a number, newest first, and the number of the last one.
    pub(super) fn since(&self, number: u64) -> (Vec<RecentEdit>, u64) {
        let later = self.places.iter().rev().filter(|place| place.number > number);
        (later.cloned().collect(), self.last)
    }

    pub(super) fn forget(&mut self, path: &Path) {
        self.places.retain(|place| place.path != path);
    }
}

fn moved(lines: &Range<u32>, delta: i64) -> Range<u32> {
    let by = |line: u32| u32::try_from((i64::from(line) + delta).max(0)).unwrap_or(u32::MAX);
    by(lines.start)..by(lines.end)
}

fn line_number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

/// The lines that differ, before and after; nothing if none do.
fn changed(before: &Rope, after: &Rope) -> Option<(Range<u32>, Range<u32>)> {
    let (old, new) = (before.len_lines(), after.len_lines());
    if before.len_bytes().max(after.len_bytes()) > COMPARED {
        return Some((0..line_number(old), 0..line_number(new)));
    }
    let shorter = old.min(new);
    let head = (0..shorter)
        .take_while(|line| before.line(*line) == after.line(*line))
        .count();
    if head == old && head == new {
        return None;
    }
    let tail = (0..shorter - head)
        .take_while(|back| before.line(old - 1 - back) == after.line(new - 1 - back))
        .count();
    let lines = |end: usize| line_number(head)..line_number((end - tail).max(head + 1));
    Some((lines(old), lines(new)))
}

#[cfg(test)]
mod tests {
    use super::super::position::{Encoding, Position, Range as Place};
    use super::*;

    /// From where to where, absent for the whole text, and what stands there then.
    type Change<'a> = (Option<(u32, u32, u32, u32)>, &'a str);

    /// Edits one after another, and the places that are left, newest first.
    fn after(text: &str, edits: &[Change]) -> Vec<(u32, u32)> {
        let mut rope = Rope::from_str(text);
        let mut noted = Edits::default();
        for (range, text) in edits {
            let at = |line, column| Position { line, column };
            let edit = Edit {
                range: range.map(|(a, b, c, d)| Place {
                    start: at(a, b),
                    end: at(c, d),
                }),
                text: (*text).to_owned(),
            };
            let before = rope.clone();
            edit.apply(&mut rope, Encoding::Utf8);
            noted.note(Path::new("/a"), &edit, &before, &rope);
        }
        let (edits, _) = noted.since(0);
        edits.iter().map(|edit| (edit.lines.start, edit.lines.end)).collect()
    }

    #[test]
    fn places_follow_the_text_by_table() {
        let text = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        for (edits, expected) in [
            (vec![(Some((3, 0, 3, 1)), "x")], vec![(3, 4)]),
            (vec![(Some((3, 0, 3, 0)), "a\nb\n")], vec![(3, 6)]),
            (
                vec![(Some((8, 0, 8, 0)), "x"), (Some((1, 0, 1, 0)), "new\nlines\n")],
                vec![(1, 4), (10, 11)],
            ),
            (
                vec![(Some((8, 0, 8, 0)), "x"), (Some((1, 0, 4, 0)), "")],
                vec![(1, 2), (5, 6)],
            ),
            (vec![(Some((3, 0, 3, 0)), "x"), (Some((4, 0, 4, 0)), "y")], vec![(3, 5)]),
            (vec![(None, "0\n1\nX\n3\n4\n5\n6\n7\n8\n9\n")], vec![(2, 3)]),
            (vec![(None, text)], vec![]),
            (vec![(Some((99, 0, 99, 0)), "x")], vec![(10, 11)]),
        ] {
            assert_eq!(after(text, &edits), expected, "{edits:?}");
        }
    }

    #[test]
    fn what_was_told_is_not_told_again_and_memory_is_bounded() {
        let mut noted = Edits::default();
        let rope = Rope::from_str("x\n");
        for number in 0..1000 {
            let path = PathBuf::from(format!("/{number}"));
            let edit = Edit {
                range: None,
                text: "y\n".to_owned(),
            };
            noted.note(&path, &edit, &rope, &Rope::from_str("y\n"));
        }
        let (all, last) = noted.since(0);
        assert_eq!((all.len(), last), (MOST, 1000));
        assert_eq!(all[0].path, Path::new("/999"));
        assert_eq!(noted.since(last).0, []);
        noted.forget(Path::new("/999"));
        assert_eq!(noted.since(999).0, []);
    }
}
