//! Where in a text a block of lines stands: exactly, or with the documented tolerance.

use super::lines::Lines;
use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::ops::Range;

/// How lines are compared, from strict to tolerant. The order is the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Exact,
    /// Blanks at the end of a line do not count.
    TrailingBlanks,
    /// Nor do those at its start.
    SurroundingBlanks,
    /// Nor does it matter whether dashes, quotes and spaces are typographic.
    Punctuation,
}

impl Pass {
    pub(super) const ALL: [Self; 4] = [
        Self::Exact,
        Self::TrailingBlanks,
        Self::SurroundingBlanks,
        Self::Punctuation,
    ];

    /// The part of a line that counts.
    pub(super) fn key(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Exact => Cow::Borrowed(line),
            Self::TrailingBlanks => Cow::Borrowed(line.trim_end()),
            Self::SurroundingBlanks => Cow::Borrowed(line.trim()),
            Self::Punctuation if line.is_ascii() => Cow::Borrowed(line.trim()),
            Self::Punctuation => Cow::Owned(line.chars().map(fold).collect::<String>().trim().to_owned()),
        }
    }

    fn same(self, a: &str, b: &str) -> bool {
        match self {
            Self::Exact => a == b,
            Self::TrailingBlanks => a.trim_end() == b.trim_end(),
            Self::SurroundingBlanks => a.trim() == b.trim(),
            Self::Punctuation if a.is_ascii() && b.is_ascii() => a.trim() == b.trim(),
            Self::Punctuation => self.key(a) == self.key(b),
        }
    }
}

/// Typographic punctuation as a keyboard has it.
fn fold(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// Searches one text, many times.
pub(super) struct Seeker<'a> {
    lines: &'a Lines<'a>,
    /// Many searches, or long ones: worth an index of the text for each pass that is reached.
    indexed: bool,
    indexes: [OnceCell<Index<'a>>; 4],
    steps: Cell<usize>,
}

/// Searching by comparing line by line is fastest for a few short blocks; beyond this an index pays.
const FEW_BLOCKS: usize = 4;
const SHORT_BLOCK: usize = 64;

impl<'a> Seeker<'a> {
    /// `blocks` and `longest` say how many searches will come and how many lines the longest has.
    pub(super) fn new(lines: &'a Lines<'a>, blocks: usize, longest: usize) -> Self {
        let indexed = blocks > FEW_BLOCKS || longest > SHORT_BLOCK;
        Self {
            lines,
            indexed,
            indexes: std::array::from_fn(|_| OnceCell::new()),
            steps: Cell::new(0),
        }
    }

    /// How many lines were looked at so far: what repeats itself costs much more than its length.
    pub(super) fn steps(&self) -> usize {
        self.steps.get()
    }

    pub(super) fn count(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    /// Every line at or after `from` where the block starts, in order.
    pub(super) fn all(&self, pass: Pass, block: &[&str], from: usize) -> Vec<usize> {
        let length = self.lines.len();
        if block.is_empty() || from + block.len() > length {
            return Vec::new();
        }
        if self.indexed {
            let index = self.indexes[pass as usize].get_or_init(|| Index::new(self.lines, pass));
            let (hits, steps) = index.all(pass, block, from);
            self.count(steps);
            return hits;
        }
        self.count(length - from);
        // The longest line is the least likely to be found by chance.
        let probe = (0..block.len())
            .max_by_key(|&line| block[line].trim().len())
            .unwrap_or(0);
        (from..=length - block.len())
            .filter(|&start| pass.same(self.lines.content(start + probe), block[probe]) && self.at(pass, block, start))
            .collect()
    }

    /// Whether the block starts at this line.
    pub(super) fn at(&self, pass: Pass, block: &[&str], start: usize) -> bool {
        start + block.len() <= self.lines.len()
            && block
                .iter()
                .enumerate()
                .all(|(offset, line)| pass.same(self.lines.content(start + offset), line))
    }

    /// The hits of the first pass that has any.
    pub(super) fn earliest(&self, block: &[&str], from: usize) -> Vec<usize> {
        Pass::ALL
            .into_iter()
            .map(|pass| self.all(pass, block, from))
            .find(|hits| !hits.is_empty())
            .unwrap_or_default()
    }
}

/// Every distinct line of a text, numbered, and where each stands.
struct Index<'a> {
    numbers: HashMap<Cow<'a, str>, u32>,
    of_line: Vec<u32>,
    /// The lines with number `n` are `places[starts[n]..starts[n + 1]]`.
    starts: Vec<usize>,
    places: Vec<usize>,
}

impl<'a> Index<'a> {
    fn new(lines: &Lines<'a>, pass: Pass) -> Self {
        let mut numbers = HashMap::with_capacity(lines.len());
        let mut of_line = Vec::with_capacity(lines.len());
        for line in 0..lines.len() {
            let next = numbers.len() as u32;
            of_line.push(*numbers.entry(pass.key(lines.content(line))).or_insert(next));
        }
        let mut starts = vec![0; numbers.len() + 1];
        for &number in &of_line {
            starts[number as usize + 1] += 1;
        }
        for number in 1..starts.len() {
            starts[number] += starts[number - 1];
        }
        let mut next = starts.clone();
        let mut places = vec![0; of_line.len()];
        for (line, &number) in of_line.iter().enumerate() {
            places[next[number as usize]] = line;
            next[number as usize] += 1;
        }
        Self {
            numbers,
            of_line,
            starts,
            places,
        }
    }

    fn places(&self, number: u32) -> &[usize] {
        &self.places[self.starts[number as usize]..self.starts[number as usize + 1]]
    }

    /// The hits, and how many lines were looked at.
    fn all(&self, pass: Pass, block: &[&str], from: usize) -> (Vec<usize>, usize) {
        let Some(block) = block
            .iter()
            .map(|line| self.numbers.get(&*pass.key(line)).copied())
            .collect::<Option<Vec<u32>>>()
        else {
            return (Vec::new(), block.len());
        };
        let last = self.of_line.len() - block.len();
        let rarest = (0..block.len())
            .min_by_key(|&line| self.places(block[line]).len())
            .unwrap_or(0);
        let places = self.places(block[rarest]);
        let steps = places.len().saturating_mul(block.len());
        if steps > 4 * self.of_line.len() {
            return (occurrences(&self.of_line, &block, from), self.of_line.len());
        }
        let first = places.partition_point(|&place| place < from + rarest);
        let hits = places[first..]
            .iter()
            .map(|place| place - rarest)
            .take_while(|&start| start <= last)
            .filter(|&start| self.of_line[start..start + block.len()] == block[..])
            .collect();
        (hits, steps)
    }
}

/// Knuth, Morris and Pratt: linear however much the text repeats itself.
fn occurrences(text: &[u32], block: &[u32], from: usize) -> Vec<usize> {
    let mut borders = vec![0; block.len()];
    let mut border = 0;
    for at in 1..block.len() {
        while border > 0 && block[at] != block[border] {
            border = borders[border - 1];
        }
        if block[at] == block[border] {
            border += 1;
        }
        borders[at] = border;
    }
    let (mut hits, mut matched) = (Vec::new(), 0);
    for (at, number) in text.iter().enumerate().skip(from) {
        while matched > 0 && *number != block[matched] {
            matched = borders[matched - 1];
        }
        if *number == block[matched] {
            matched += 1;
        }
        if matched == block.len() {
            hits.push(at + 1 - matched);
            matched = borders[matched - 1];
        }
    }
    hits
}

/// The lines of a text that resemble a block the most, for a message.
pub(super) fn closest(lines: &Lines<'_>, block: &[&str]) -> Option<Range<usize>> {
    let start = by_votes(lines, block).or_else(|| by_likeness(lines, block))?;
    Some(start..(start + block.len()).min(lines.len()))
}

/// Every line that the text and the block share votes for a place of the block.
fn by_votes(lines: &Lines<'_>, block: &[&str]) -> Option<usize> {
    // Lines that stand everywhere tell nothing.
    const COMMON: usize = 1000;
    let mut wanted: HashMap<Cow<'_, str>, (Vec<usize>, usize)> = HashMap::new();
    for (offset, line) in block.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        wanted.entry(Pass::Punctuation.key(line)).or_default().0.push(offset);
    }
    let mut votes: HashMap<isize, usize> = HashMap::new();
    for line in 0..lines.len() {
        let key = Pass::Punctuation.key(lines.content(line));
        let Some((offsets, seen)) = wanted.get_mut(&key) else {
            continue;
        };
        *seen += 1;
        if *seen > COMMON {
            continue;
        }
        // A long line in common says more than a brace.
        let weight = 1 + key.len().min(40);
        for &offset in offsets.iter().take(8) {
            *votes.entry(line as isize - offset as isize).or_default() += weight;
        }
    }
    let (start, _) = votes
        .into_iter()
        .max_by_key(|&(start, votes)| (votes, std::cmp::Reverse(start)))?;
    Some(start.max(0) as usize)
}

/// The line most like the block's longest, if it is at least half alike.
fn by_likeness(lines: &Lines<'_>, block: &[&str]) -> Option<usize> {
    let offset = (0..block.len()).max_by_key(|&line| block[line].trim().len())?;
    let wanted = pairs(block[offset]);
    if wanted.is_empty() {
        return None;
    }
    let (line, likeness) = (0..lines.len())
        .filter(|&line| {
            let (a, b) = (lines.content(line).trim().len(), block[offset].trim().len());
            a * 3 >= b && b * 3 >= a
        })
        .map(|line| (line, shared(&wanted, &pairs(lines.content(line)))))
        .max_by_key(|&(line, likeness)| (likeness, std::cmp::Reverse(line)))?;
    (likeness >= 500).then(|| line.saturating_sub(offset))
}

/// The sorted pairs of neighbouring bytes of a line, bounded.
fn pairs(line: &str) -> Vec<[u8; 2]> {
    let bytes = line.trim().as_bytes();
    let mut pairs: Vec<_> = bytes.windows(2).take(200).map(|pair| [pair[0], pair[1]]).collect();
    pairs.sort_unstable();
    pairs
}

/// How alike two lines are, from 0 to 1000.
fn shared(a: &[[u8; 2]], b: &[[u8; 2]]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                (i, j, common) = (i + 1, j + 1, common + 1);
            }
        }
    }
    2000 * common / (a.len() + b.len()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tolerance_grows_from_pass_to_pass() {
        let text = "a\na  \n\ta\n\u{201c}a\u{201d}\n";
        let lines = Lines::new(text);
        let seeker = Seeker::new(&lines, 1, 1);
        let hits = |block| Pass::ALL.map(|pass| seeker.all(pass, &[block], 0));
        assert_eq!(hits("a"), [vec![0], vec![0, 1], vec![0, 1, 2], vec![0, 1, 2]]);
        assert_eq!(hits("\"a\""), [vec![], vec![], vec![], vec![3]]);
        assert_eq!(seeker.earliest(&["a"], 1), [1]);
        assert_eq!(seeker.earliest(&["a"], 2), [2]);
    }

    #[test]
    fn names_the_closest_place() {
        let text = "fn one() {\n    let x = 1;\n}\n\nfn two() {\n    let y = 2;\n}\n";
        let lines = Lines::new(text);
        assert_eq!(closest(&lines, &["fn two() {", "    let y = 3;", "}"]), Some(4..7));
        assert_eq!(closest(&lines, &["    let yy = 2"]), Some(5..6));
        assert_eq!(closest(&lines, &["nothing like this at all"]), None);
        assert_eq!(closest(&Lines::new(""), &["x"]), None);
    }

    proptest! {
        #[test]
        fn index_and_comparison_agree(text in "(a|b|c| a|\n){0,60}", block in "(a|b|c|\n){1,6}", from in 0usize..8) {
            let lines = Lines::new(&text);
            let block: Vec<&str> = block.split('\n').collect();
            let (plain, indexed) = (Seeker::new(&lines, 1, 1), Seeker::new(&lines, 100, 1));
            for pass in Pass::ALL {
                let expected: Vec<usize> = (from..=lines.len()).filter(|&at| plain.at(pass, &block, at)).collect();
                prop_assert_eq!(plain.all(pass, &block, from), expected.clone());
                prop_assert_eq!(indexed.all(pass, &block, from), expected.clone());
                if from + block.len() <= lines.len() {
                    let index = Index::new(&lines, pass);
                    if let Some(block) = block.iter().map(|line| index.numbers.get(&*pass.key(line)).copied()).collect::<Option<Vec<_>>>() {
                        prop_assert_eq!(occurrences(&index.of_line, &block, from), expected);
                    }
                }
            }
        }
    }
}
