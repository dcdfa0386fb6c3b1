//! Finding the one place of every chunk: after its anchors, in the order of the file, and nowhere by guess.

use super::runs_at;
use crate::patch::lines::{BOM, Lines};
use crate::patch::parse::{Chunk, ChunkLine, LineKind};
use crate::patch::seek::{Pass, Seeker, closest};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// A chunk that has no place, or more than one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::patch) struct Misfit {
    /// From 1.
    pub(in crate::patch) hunk: usize,
    pub(in crate::patch) kind: Box<MisfitKind>,
    /// Later hunks that have no place either.
    pub(in crate::patch) also: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::patch) enum MisfitKind {
    NoAnchor {
        anchor: String,
        closest: Option<Excerpt>,
    },
    NotFound {
        wanted: Vec<String>,
        closest: Option<Excerpt>,
        elsewhere: Vec<usize>,
        after: Option<usize>,
    },
    NotUnique {
        wanted: Vec<String>,
        places: Vec<usize>,
    },
    /// An insertion by line number whose line is not there, or not after the hunk before.
    BadLine {
        line: usize,
        after: usize,
        lines: usize,
    },
    /// Text and patch repeat themselves so much that looking through all possible places would take too long.
    TooMuch,
}

impl Misfit {
    fn new(index: usize, kind: MisfitKind) -> Self {
        Self {
            hunk: index + 1,
            kind: Box::new(kind),
            also: Vec::new(),
        }
    }
}

/// How much is compared before a text and a patch count as too repetitive.
const MOST_STEPS: usize = 30_000_000;

/// Lines of the text, for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::patch) struct Excerpt {
    /// The first line's number, from 1.
    pub(in crate::patch) line: usize,
    pub(in crate::patch) lines: Vec<String>,
    /// Which of them were not looked for.
    pub(in crate::patch) differs: Vec<bool>,
}

impl Excerpt {
    /// The lines most like those wanted.
    pub(in crate::patch) fn closest(lines: &Lines<'_>, wanted: &[&str]) -> Option<Self> {
        const MOST: usize = 40;
        let mut range = closest(lines, wanted)?;
        range.end = range.end.min(range.start + MOST);
        let known: HashSet<_> = wanted.iter().map(|line| Pass::Punctuation.key(line)).collect();
        Some(Self {
            line: range.start + 1,
            differs: range
                .clone()
                .map(|line| !known.contains(&Pass::Punctuation.key(lines.content(line))))
                .collect(),
            lines: range.map(|line| lines.content(line).to_owned()).collect(),
        })
    }
}

/// A chunk with the places where it may go.
pub(super) struct Placing<'c> {
    /// The chunk's lines, perhaps without empty ones that were for looks.
    pub(super) lines: Cow<'c, [ChunkLine]>,
    /// How many lines of the file it covers.
    length: usize,
    /// Never empty; one when the place is certain.
    pub(super) spots: Vec<usize>,
    /// Goes to the end whatever the other chunks do.
    loose: bool,
}

impl Placing<'_> {
    fn spans(&self) -> Range<usize> {
        let first = self.spots.first().copied().unwrap_or(0);
        first..self.spots.last().map_or(first, |last| last + self.length)
    }
}

/// Finds the one assignment of places to chunks in which every chunk comes after the one before it.
pub(super) fn place<'c>(lines: &Lines<'_>, chunks: &'c [Chunk]) -> Result<Vec<Placing<'c>>, Misfit> {
    // Beyond this many the text is nothing but repetition, and remembering them all would only take memory.
    const MOST_PLACES: usize = 2_000_000;
    if let Some(placed) = as_numbered(lines, chunks) {
        return Ok(placed);
    }
    let longest = chunks.iter().map(|chunk| chunk.lines.len()).max().unwrap_or(0);
    let searches = chunks.iter().map(|chunk| 1 + chunk.anchors.len()).sum();
    let search = Search {
        lines,
        seeker: Seeker::new(lines, searches, longest),
    };
    let mut places = 0;
    let mut placed: Vec<Placing<'c>> = Vec::with_capacity(chunks.len());
    let mut floor = 0;
    for (index, chunk) in chunks.iter().enumerate() {
        let one = search
            .candidates(chunk, floor)
            .map_err(|kind| search.with_others(index, kind, chunks, floor))?;
        if !one.loose {
            floor = one.spots[0] + one.length;
        }
        places += one.spots.len();
        if places > MOST_PLACES {
            return Err(not_unique(lines, index, &one));
        }
        placed.push(one);
    }
    narrow(&mut placed, lines.len());

    let feeds = chunks
        .iter()
        .any(|chunk| chunk.hint.is_some())
        .then(|| Feeds::new(lines));
    while let Some(index) = placed.iter().position(|one| one.spots.len() > 1) {
        search.seeker.count(placed.len());
        if search.seeker.steps() > MOST_STEPS {
            return Err(Misfit::new(index, MisfitKind::TooMuch));
        }
        let decided = decide(&search, feeds.as_ref(), chunks, &placed);
        let Some((which, spot)) = decided else {
            return Err(not_unique(lines, index, &placed[index]));
        };
        placed[which].spots = vec![spot];
        narrow(&mut placed, lines.len());
    }
    Ok(placed)
}

/// The places that the headers name, if every chunk has a header with numbers and stands exactly there: then the text
/// is the one that the diff was made from.
fn as_numbered<'c>(lines: &Lines<'_>, chunks: &'c [Chunk]) -> Option<Vec<Placing<'c>>> {
    let feeds = chunks.first()?.hint.map(|_| Feeds::new(lines))?;
    let seeker = Seeker::new(lines, 0, 0);
    let mut placed = Vec::with_capacity(chunks.len());
    let mut floor = 0;
    for chunk in chunks {
        let hint = chunk.hint.filter(|_| chunk.anchors.is_empty())?;
        let block = old_block(&chunk.lines, lines.bom() > 0);
        // An insertion names the line above it.
        let spot = match (block.is_empty(), hint.count) {
            (true, 0) => feeds.line(hint.line),
            (true, _) => return None,
            (false, _) => feeds.line(hint.line.checked_sub(1)?),
        };
        let end = spot.checked_add(block.len())?;
        let fits = spot >= floor && end <= lines.len() && seeker.at(Pass::Exact, &block, spot);
        if !fits || chunk.end_of_file && end != lines.len() {
            return None;
        }
        placed.push(Placing {
            lines: Cow::Borrowed(&chunk.lines),
            length: block.len(),
            spots: vec![spot],
            loose: false,
        });
        floor = end;
    }
    Some(placed)
}

/// Programs that write diffs count what ends in `\n`; a lone `\r` ends a line here.
struct Feeds {
    /// The lines at which those other lines begin, if the counts differ.
    starts: Option<Vec<usize>>,
}

impl Feeds {
    fn new(lines: &Lines<'_>) -> Self {
        let alone = |line: usize| lines.end(line) == "\r";
        let starts = (0..lines.len()).any(alone).then(|| {
            let starts = (0..lines.len()).filter(|&line| line == 0 || !alone(line - 1));
            starts.chain([lines.len()]).collect()
        });
        Self { starts }
    }

    /// The line that has so many of the others before it.
    fn line(&self, before: usize) -> usize {
        match &self.starts {
            None => before,
            Some(starts) => starts.get(before).copied().unwrap_or(usize::MAX),
        }
    }
}

fn not_unique(lines: &Lines<'_>, index: usize, one: &Placing<'_>) -> Misfit {
    let block = old_block(&one.lines, lines.bom() > 0);
    let wanted = block.into_iter().map(str::to_owned).collect();
    let places = one.spots.iter().map(|spot| spot + 1).collect();
    let kind = MisfitKind::NotUnique { wanted, places };
    Misfit::new(index, kind)
}

/// Takes out every place from which the chunks before or after could not be placed. The first place of each chunk
/// always stays, so nothing runs empty, as long as each chunk's places are at or after the end of the first place
/// of the one before.
fn narrow(placed: &mut [Placing<'_>], length: usize) {
    let mut floor = 0;
    for one in placed.iter_mut().filter(|one| !one.loose) {
        let reachable = one.spots.partition_point(|&spot| spot < floor);
        one.spots.drain(..reachable.min(one.spots.len() - 1));
        floor = one.spots[0] + one.length;
    }
    let mut ceiling = length;
    for one in placed.iter_mut().rev().filter(|one| !one.loose) {
        let reachable = one.spots.partition_point(|&spot| spot + one.length <= ceiling);
        one.spots.truncate(reachable.max(1));
        ceiling = one.spots[one.spots.len() - 1];
    }
}

/// What besides the lines themselves may tell the place: line numbers that agree with one candidate, a section
/// heading above one candidate only, or that every candidate gives the same text.
fn decide(
    search: &Search<'_, '_>,
    feeds: Option<&Feeds>,
    chunks: &[Chunk],
    placed: &[Placing<'_>],
) -> Option<(usize, usize)> {
    let open = || placed.iter().enumerate().filter(|(_, one)| one.spots.len() > 1);
    let hint = |index: usize| Some(feeds?.line(chunks[index].hint?.line.saturating_sub(1)));
    let count = |steps: usize| search.seeker.count(steps);
    for (index, one) in open() {
        let Some(named) = hint(index).filter(|line| *line != usize::MAX) else {
            continue;
        };
        // Where the text has grown or shrunk above, the chunks near by say by how much.
        let shift = |other: usize| match placed[other].spots[..] {
            [spot] if !placed[other].loose => {
                let (spot, hint) = (isize::try_from(spot).ok()?, isize::try_from(hint(other)?).ok()?);
                Some(spot - hint)
            }
            _ => None,
        };
        const NEAR: usize = 32;
        let above = (index.saturating_sub(NEAR)..index).rev().find_map(shift);
        let shift = above.or_else(|| (index + 1..placed.len().min(index + NEAR)).find_map(shift));
        let shifted = shift.map(|shift| named.saturating_add_signed(shift));
        let exact = shifted
            .into_iter()
            .chain([named])
            .find(|spot| one.spots.binary_search(spot).is_ok());
        let near = || by_far_nearest(&one.spots, shifted.unwrap_or(named));
        let meant = exact.or_else(|| near().filter(|&spot| !ends_elsewhere(search.lines, one, spot)));
        count(placed.len());
        if let Some(spot) = meant.filter(|&spot| consistent(placed, index, spot)) {
            return Some((index, spot));
        }
    }
    for (index, one) in open() {
        let Some(heading) = &chunks[index].heading else {
            continue;
        };
        let headings = search.seeker.earliest(&[heading], 0);
        let mut below: Vec<usize> = headings
            .iter()
            .filter_map(|heading| one.spots.iter().copied().find(|spot| spot > heading))
            .collect();
        below.dedup();
        if let [spot] = below[..]
            && consistent(placed, index, spot)
        {
            return Some((index, spot));
        }
    }
    open()
        .find(|&(index, one)| {
            count(placed.len() + one.lines.len() * one.spots.len().min(64));
            same_result(search.lines, placed, index, one)
        })
        .map(|(index, one)| (index, one.spots[0]))
}

/// The place near the line, if numbers that are a little wrong can mean no other: those who write diffs by hand miscount.
fn by_far_nearest(spots: &[usize], line: usize) -> Option<usize> {
    const LITTLE: usize = 3;
    let next = spots.partition_point(|&spot| spot < line);
    let around = &spots[next.saturating_sub(2)..spots.len().min(next + 2)];
    let mut near: Vec<_> = around.iter().map(|&spot| (spot.abs_diff(line), spot)).collect();
    near.sort_unstable();
    match near[..] {
        [(first, spot), (second, _), ..] if first <= LITTLE && second >= 4 * (first + LITTLE) => Some(spot),
        _ => None,
    }
}

/// Whether the place may be another than the near one because the text ends there: a program that writes diffs shows as
/// many lines below a change as above it, and fewer only where there are no more.
fn ends_elsewhere(lines: &Lines<'_>, one: &Placing<'_>, near: usize) -> bool {
    let kept = |line: &&ChunkLine| line.kind == LineKind::Keep;
    let above = one.lines.iter().take_while(kept).count();
    let below = one.lines.iter().rev().take_while(kept).count();
    let at_end = |spot: &&usize| **spot + one.length == lines.len();
    below < above && one.spots.last().filter(at_end).is_some_and(|&last| last != near)
}

/// Whether the other chunks still have places if this one goes there.
fn consistent(placed: &[Placing<'_>], index: usize, spot: usize) -> bool {
    let mut floor = 0;
    placed
        .iter()
        .enumerate()
        .filter(|(_, one)| !one.loose)
        .all(|(other, one)| {
            let fits = if other == index {
                Some(spot).filter(|&spot| spot >= floor)
            } else {
                one.spots
                    .get(one.spots.partition_point(|&candidate| candidate < floor))
                    .copied()
            };
            fits.inspect(|&fits| floor = fits + one.length).is_some()
        })
}

/// Whether the text comes out the same wherever the chunk goes, as when one of several equal lines in a row is removed.
fn same_result(lines: &Lines<'_>, placed: &[Placing<'_>], index: usize, one: &Placing<'_>) -> bool {
    const MOST_LINES: usize = 2000;
    const MOST_PLACES: usize = 64;
    let span = one.spans();
    if span.len() > MOST_LINES || one.spots.len() > MOST_PLACES || span.end == lines.len() && lines.unfinished() {
        return false;
    }
    let apart = placed.iter().enumerate().all(|(other, placing)| {
        let taken = placing.spans();
        other == index || taken.end <= span.start || span.end <= taken.start
    });
    let result = |spot: usize| {
        let (mut text, mut at) = (String::new(), span.start);
        for run in runs_at(&one.lines, spot) {
            text.push_str(lines.slice(&(at..run.old.start)));
            text.push_str(&run.text(lines).0);
            at = run.old.end;
        }
        text.push_str(lines.slice(&(at..span.end)));
        text
    };
    let first = result(one.spots[0]);
    apart && one.spots[1..].iter().all(|&spot| result(spot) == first)
}

struct Search<'s, 'a> {
    lines: &'s Lines<'a>,
    seeker: Seeker<'s>,
}

impl Search<'_, '_> {
    fn candidates<'c>(&self, chunk: &'c Chunk, floor: usize) -> Result<Placing<'c>, MisfitKind> {
        let tight = &chunk.lines[chunk.loose_start..chunk.lines.len() - chunk.loose_end];
        if tight.iter().all(|line| line.kind == LineKind::Add) {
            return self.insertion(chunk, tight, floor);
        }
        for lines in variants(chunk) {
            if self.seeker.steps() > MOST_STEPS {
                return Err(MisfitKind::TooMuch);
            }
            let block = old_block(&lines, self.lines.bom() > 0);
            let spots = self.spots(chunk, &block, floor);
            if !spots.is_empty() {
                let length = block.len();
                return Ok(Placing {
                    lines,
                    length,
                    spots,
                    loose: false,
                });
            }
        }
        Err(self.misfit(chunk, tight, floor))
    }

    /// The misfit of one chunk, with the numbers of the later ones that have no place either.
    fn with_others(&self, index: usize, kind: MisfitKind, chunks: &[Chunk], floor: usize) -> Misfit {
        let fits = |chunk: &Chunk| {
            let tight = &chunk.lines[chunk.loose_start..chunk.lines.len() - chunk.loose_end];
            tight.iter().all(|line| line.kind == LineKind::Add)
                || variants(chunk).any(|lines| {
                    let block = old_block(&lines, self.lines.bom() > 0);
                    !self.spots(chunk, &block, floor).is_empty()
                })
        };
        let mut also = Vec::new();
        for (later, chunk) in chunks.iter().enumerate().skip(index + 1) {
            if self.seeker.steps() > MOST_STEPS {
                break;
            }
            if !fits(chunk) {
                also.push(later + 1);
            }
        }
        Misfit {
            also,
            ..Misfit::new(index, kind)
        }
    }

    /// Lines to add without lines around them: after the anchor, at a line that a header names, or at the end.
    fn insertion<'c>(&self, chunk: &'c Chunk, lines: &'c [ChunkLine], floor: usize) -> Result<Placing<'c>, MisfitKind> {
        let length = self.lines.len();
        let (spots, loose) = if !chunk.anchors.is_empty() {
            (self.spots(chunk, &[], floor), false)
        } else if let Some(hint) = chunk.hint.filter(|hint| hint.count == 0) {
            let line = Feeds::new(self.lines).line(hint.line);
            if line > length || line < floor {
                return Err(MisfitKind::BadLine {
                    line: hint.line,
                    after: floor,
                    lines: length,
                });
            }
            (vec![line], false)
        } else {
            (vec![length], true)
        };
        if spots.is_empty() {
            return Err(self.misfit(chunk, lines, floor));
        }
        Ok(Placing {
            lines: Cow::Borrowed(lines),
            length: 0,
            spots,
            loose,
        })
    }

    /// Where the block may go, in order; of the earliest pass that finds it at all.
    fn spots(&self, chunk: &Chunk, block: &[&str], floor: usize) -> Vec<usize> {
        if chunk.anchors.is_empty() {
            if let Some(last) = self.last_place(chunk, block, floor) {
                return vec![last];
            }
            return self.seeker.earliest(block, floor);
        }
        let spots = self.anchored(chunk, block, floor, floor);
        if !spots.is_empty() || floor == 0 {
            return spots;
        }
        // The anchor of the chunk before, named once more, is above that chunk.
        self.anchored(chunk, block, 0, floor)
    }

    /// The end of the text, if the chunk says that it stands there and it does.
    fn last_place(&self, chunk: &Chunk, block: &[&str], floor: usize) -> Option<usize> {
        let last = self
            .lines
            .len()
            .checked_sub(block.len())
            .filter(|&last| chunk.end_of_file && last >= floor)?;
        Pass::ALL
            .into_iter()
            .any(|pass| self.seeker.at(pass, block, last))
            .then_some(last)
    }

    /// Places of the block that come first after a chain of anchors, which starts at or after `from`.
    fn anchored(&self, chunk: &Chunk, block: &[&str], from: usize, floor: usize) -> Vec<usize> {
        let anchors = match self.chain(&chunk.anchors, from) {
            Ok(anchors) => anchors,
            Err(_) => return Vec::new(),
        };
        let least = anchors[0].max(floor);
        if let Some(last) = self.last_place(chunk, block, least) {
            return vec![last];
        }
        if block.is_empty() {
            return anchors
                .into_iter()
                .map(|anchor| anchor + 1)
                .filter(|&spot| spot >= floor)
                .collect();
        }
        for pass in Pass::ALL {
            let hits = self.seeker.all(pass, block, least);
            let mut spots = Vec::new();
            for anchor in &anchors {
                // Models repeat the anchor as the first line of the block.
                spots.extend(hits.binary_search(anchor).ok().map(|hit| hits[hit]));
                spots.extend(hits.get(hits.partition_point(|hit| hit <= anchor)));
            }
            if !spots.is_empty() {
                spots.sort_unstable();
                spots.dedup();
                return spots;
            }
        }
        Vec::new()
    }

    /// The lines where a chain of anchors may end, never empty; or the number of the anchor that is not there.
    fn chain(&self, anchors: &[String], from: usize) -> Result<Vec<usize>, usize> {
        let mut ends: Vec<usize> = Vec::new();
        for (index, anchor) in anchors.iter().enumerate() {
            let from = ends.first().map_or(from, |end| end + 1);
            let hits = self.seeker.earliest(&[anchor], from);
            ends = if index == 0 {
                hits
            } else {
                let next = |end: &usize| hits.get(hits.partition_point(|hit| hit <= end)).copied();
                ends.iter().filter_map(next).collect()
            };
            ends.dedup();
            self.seeker.count(ends.len());
            if ends.is_empty() || self.seeker.steps() > MOST_STEPS {
                return Err(index);
            }
        }
        Ok(ends)
    }

    fn misfit(&self, chunk: &Chunk, tight: &[ChunkLine], floor: usize) -> MisfitKind {
        if let Err(missing) = self.chain(&chunk.anchors, 0).map_err(|index| &chunk.anchors[index]) {
            let closest = Excerpt::closest(self.lines, &[missing]);
            return MisfitKind::NoAnchor {
                anchor: missing.clone(),
                closest,
            };
        }
        let block = old_block(tight, self.lines.bom() > 0);
        let elsewhere = if block.is_empty() {
            self.chain(&chunk.anchors, 0).unwrap_or_default()
        } else {
            self.seeker.earliest(&block, 0)
        };
        MisfitKind::NotFound {
            closest: Excerpt::closest(self.lines, &block),
            elsewhere: elsewhere.into_iter().map(|line| line + 1).collect(),
            after: (floor > 0).then_some(floor),
            wanted: block.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// The chunk's lines as written; then, in case they are not found so, with fewer of the empty lines that may not be
/// meant as lines of the file.
fn variants(chunk: &Chunk) -> impl Iterator<Item = Cow<'_, [ChunkLine]>> {
    // Empty lines for looks come in ones and twos; more are not tried one by one.
    const MOST_TRIED: usize = 8;
    let whole = &chunk.lines[..];
    let starts = [0, chunk.loose_start]
        .into_iter()
        .take(if chunk.loose_start > 0 { 2 } else { 1 });
    let cut = starts.flat_map(move |start| {
        (0..=chunk.loose_end)
            .filter(move |end| start + end < whole.len() && (*end <= MOST_TRIED || *end == chunk.loose_end))
            .map(move |end| Cow::Borrowed(&whole[start..whole.len() - end]))
    });
    cut.chain(without_last_blank(whole).map(Cow::Owned))
}

/// Without an empty last old line, and without the empty new line that goes with it: many take the line end of a
/// file's last line for one more line.
fn without_last_blank(lines: &[ChunkLine]) -> Option<Vec<ChunkLine>> {
    let last_old = lines.iter().rposition(|line| line.kind != LineKind::Add)?;
    let blank = &lines[last_old];
    if !blank.text.is_empty() || lines[..last_old].iter().all(|line| line.kind == LineKind::Add) {
        return None;
    }
    let mut kept = lines.to_vec();
    if blank.kind == LineKind::Remove
        && lines
            .last()
            .is_some_and(|line| line.kind == LineKind::Add && line.text.is_empty())
    {
        kept.pop();
    }
    kept.remove(last_old);
    Some(kept)
}

/// The lines that the file should have: kept and removed ones.
fn old_block(lines: &[ChunkLine], has_bom: bool) -> Vec<&str> {
    let mut block: Vec<&str> = lines
        .iter()
        .filter(|line| line.kind != LineKind::Add)
        .flat_map(|line| line.text.split('\r'))
        .collect();
    if let Some(first) = block.first_mut().filter(|_| has_bom) {
        *first = first.strip_prefix(BOM).unwrap_or(first);
    }
    block
}
