//! The chunks of one update held against one text: each finds its one place, then the new text is put together.
//!
//! Kept lines stay as the file has them, also where the patch spells them a little differently; new lines take the
//! line ends of those they replace or stand next to; the file keeps its byte-order mark and its final line end, or
//! the lack of one, unless the patch says otherwise.

mod place;

use super::hunk::PlannedHunk;
use super::lines::{BOM, Lines};
use super::parse::{Chunk, ChunkLine, LineEnd, LineKind};
pub(super) use place::{Excerpt, Misfit, MisfitKind};
use std::ops::Range;

/// The result of an update.
#[derive(Debug)]
pub(super) struct Updated {
    pub(super) text: String,
    /// What was replaced, in order and not touching one another; it may hold lines that stay.
    pub(super) replaced: Vec<PlannedHunk>,
}

/// Lines of the old text and the text in their place.
struct Replaced {
    old: Range<usize>,
    new: String,
    /// Bytes of the line end with which `new` ends.
    tail: usize,
}

/// Fits the chunks to the text and makes the new text.
pub(super) fn update(text: &str, chunks: &[Chunk]) -> Result<Updated, Misfit> {
    let lines = Lines::new(text);
    let placed = place::place(&lines, chunks)?;
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (chunk, placed) in chunks.iter().zip(&placed) {
        let mut of_chunk = runs_at(&placed.lines, placed.spots[0]);
        if let Some(last) = of_chunk.last_mut() {
            last.final_newline = chunk.final_newline;
        }
        runs.append(&mut of_chunk);
    }
    // Stable: what goes to the end keeps its order, and comes after what replaces the last lines.
    runs.sort_by_key(|run| (run.old.start, run.old.end));
    Ok(assemble(&lines, &runs))
}

/// Lines of the file and the chunk's lines in their place.
struct Run<'c> {
    old: Range<usize>,
    new: Vec<&'c ChunkLine>,
    final_newline: Option<bool>,
    /// A line that is taken out shows the byte-order mark: it goes unless a new line shows it too.
    shows_mark: bool,
}

impl Run<'_> {
    /// The new lines, every one with a line end, and the length of the last end.
    fn text(&self, lines: &Lines<'_>) -> (String, usize) {
        let (mut text, mut tail) = (String::new(), 0);
        for (index, line) in self.new.iter().enumerate() {
            let end = line.end.said().unwrap_or_else(|| self.end(lines, index));
            text.push_str(&line.text);
            text.push_str(end);
            // A lone return is a part of a last line that has no line end.
            tail = if line.end == LineEnd::Return { 0 } else { end.len() };
        }
        (text, tail)
    }

    /// The end of the line that the new line replaces, else of the nearest neighbour, else what the file mostly has.
    fn end<'a>(&self, lines: &Lines<'a>, index: usize) -> &'a str {
        let twin = (index < self.old.len()).then(|| self.old.start + index);
        let above = self.old.start.checked_sub(1);
        let below = Some(self.old.end).filter(|&line| line < lines.len());
        twin.into_iter()
            .chain(self.old.clone().rev())
            .chain(above)
            .chain(below)
            .map(|line| lines.end(line))
            .find(|end| !end.is_empty())
            .unwrap_or_else(|| lines.dominant_end())
    }
}

fn runs_at(lines: &[ChunkLine], at: usize) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    let (mut at, mut open) = (at, false);
    for line in lines {
        if line.kind == LineKind::Keep {
            at += line.text.split('\r').count();
            open = false;
            continue;
        }
        if !open {
            runs.push(Run {
                old: at..at,
                new: Vec::new(),
                final_newline: None,
                shows_mark: false,
            });
            open = true;
        }
        if let Some(run) = runs.last_mut() {
            if line.kind == LineKind::Add {
                run.new.push(line);
            } else {
                at += line.text.split('\r').count();
                run.old.end = at;
                run.shows_mark |= line.text.starts_with(BOM);
            }
        }
    }
    runs
}

fn assemble(lines: &Lines<'_>, runs: &[Run<'_>]) -> Updated {
    let length = lines.len();
    let final_newline = runs
        .iter()
        .rev()
        .take_while(|run| run.old.end == length)
        .find_map(|run| run.final_newline);
    let keeps_mark = !runs.iter().any(|run| run.old.start == 0 && run.shows_mark);
    let mut replaced = runs
        .iter()
        .map(|run| {
            let (new, tail) = run.text(lines);
            let old = run.old.clone();
            Replaced { old, new, tail }
        })
        .collect();
    merge_touching(&mut replaced);
    if let Some(last) = replaced.last_mut().filter(|last| last.old.end == length) {
        finish(lines, last, final_newline.unwrap_or(!lines.unfinished()));
        merge_touching(&mut replaced);
    }
    if let Some(first) = replaced
        .first_mut()
        .filter(|first| first.old.start == 0 && lines.bom() > 0 && keeps_mark)
    {
        if first.old.is_empty() {
            first.old = 0..1;
            first.new.push_str(lines.full(0).trim_start_matches(BOM));
        }
        first
            .new
            .insert_str(0, if first.new.starts_with(BOM) { "" } else { "\u{feff}" });
    }
    merge_touching(&mut replaced);

    let mut text = String::with_capacity(lines.start(length) + replaced.iter().map(|one| one.new.len()).sum::<usize>());
    let mut at = 0;
    for one in &replaced {
        text.push_str(lines.slice(&(at..one.old.start)));
        text.push_str(&one.new);
        at = one.old.end;
    }
    text.push_str(lines.slice(&(at..length)));
    let hunk = |one: Replaced| PlannedHunk {
        old_text: lines.slice(&one.old).to_owned(),
        new_text: one.new,
        old: one.old,
    };
    Updated {
        text,
        replaced: replaced.into_iter().map(hunk).collect(),
    }
}

/// Makes the last line of the new text end as it should. `last` reaches the end of the old text, and its new lines
/// all have ends.
fn finish(lines: &Lines<'_>, last: &mut Replaced, newline: bool) {
    let length = lines.len();
    if last.new.is_empty() {
        if !newline && last.old.start > 0 {
            // The line before becomes the last one.
            last.old.start -= 1;
            let line = last.old.start;
            last.new = lines
                .full(line)
                .strip_suffix(lines.end(line))
                .unwrap_or_default()
                .to_owned();
        }
        return;
    }
    if last.old.start == length && lines.unfinished() {
        // The line before is not the last one any more, so it needs an end; an empty one is only a byte-order mark.
        last.old.start = length - 1;
        // The mark of a first line is put in front of the whole afterwards.
        let line = match length {
            1 => lines.full(0).trim_start_matches(BOM),
            _ => lines.full(length - 1),
        };
        let end = if lines.content(length - 1).is_empty() {
            ""
        } else {
            neighbour_end(lines)
        };
        last.new.insert_str(0, &format!("{line}{end}"));
    }
    if !newline {
        last.new.truncate(last.new.len() - last.tail);
    }
}

/// The end for a last line that had none.
fn neighbour_end<'a>(lines: &Lines<'a>) -> &'a str {
    lines
        .len()
        .checked_sub(2)
        .map(|line| lines.end(line))
        .unwrap_or_else(|| lines.dominant_end())
}

/// Joins replacements that have no kept line between them.
fn merge_touching(replaced: &mut Vec<Replaced>) {
    let mut merged: Vec<Replaced> = Vec::with_capacity(replaced.len());
    for one in replaced.drain(..) {
        match merged.last_mut() {
            Some(last) if last.old.end == one.old.start => {
                last.old.end = one.old.end;
                last.new.push_str(&one.new);
                if !one.new.is_empty() {
                    last.tail = one.tail;
                }
            }
            _ => merged.push(one),
        }
    }
    *replaced = merged;
}
