//! Edits as tools ask for them that change one file in a call: a whole file, lines after a line, or text in the place of other text,
//! which they name instead of its place.
//!
//! The old text is looked for exactly, but for the ends of lines, which models write as `\n` whatever the file has. Beyond that
//! only what can mean nothing else is taken: the numbers before the lines that `read_file` shows, and blanks at their ends.

use super::hunk::PlannedHunk;
use super::lines::Lines;
use super::plan::error::{Place, Search};
use super::seek::{Pass, Seeker};
use super::update::Excerpt;
use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;

/// What is to become of one file. The path is as written; [`plan_each`](super::plan::plan_each) resolves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    pub path: PathBuf,
    pub change: TextChange,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextChange {
    /// The file with this text, new or in place of what is there.
    Whole { text: String },
    /// Text in the place of other text that stands in the file; where `old` is empty a file of `new`, which must not have text yet.
    Replace {
        old: String,
        new: String,
        /// Everywhere, and not in the one place where it must stand.
        all: bool,
    },
    /// Whole lines after a line, 0 for the start.
    Insert { after: usize, text: String },
}

/// Why old text is not replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    NotFound(Box<Search>, Option<Hint>),
    /// The lines at which it begins, from 1.
    NotUnique(Vec<usize>),
}

/// What keeps old text from being found, where that can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nothing but blanks.
    Blanks,
    /// Nothing but typographic quotes, dashes and spaces.
    Punctuation,
    /// Escapes where the file has the characters themselves.
    Escapes,
    /// The new text is there already.
    AlreadyThere,
}

/// A text with something replaced, and what that was; nothing of the latter where it was in several places.
#[derive(Debug)]
pub(super) struct Replaced {
    pub(super) text: String,
    pub(super) hunks: Option<Vec<PlannedHunk>>,
}

/// Puts `new` in the place of `old`, which is not empty and stands in the text once, or everywhere if `all`.
pub(super) fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<Replaced, Misfit> {
    let plain = Plain::new(text);
    let (old, new) = (Plain::new(old).text, Plain::new(new).text);
    for (old, new) in readings(&old, &new) {
        match plain.places(&old, all)[..] {
            [] => {}
            [place] => return Ok(at_one_place(text, &plain, place..place + old.len(), &old, &new)),
            ref places if all => return Ok(everywhere(text, &plain, places, &old, &new)),
            ref places => return Err(not_unique(&plain, places)),
        }
    }
    let lines = Lines::new(&plain.text);
    let block: Vec<&str> = Lines::new(&old)
        .all()
        .into_iter()
        .map(|line| line.trim_end_matches('\n'))
        .collect();
    let seeker = Seeker::new(&lines, 1, block.len());
    if !all && let [line] = seeker.all(Pass::TrailingBlanks, &block, 0)[..] {
        let ends = old.ends_with('\n');
        let mut range = lines.bytes(&(line..line + block.len()));
        if !ends {
            range.end -= lines.end(line + block.len() - 1).len();
        }
        let old = plain.text[range.clone()].to_owned();
        return Ok(at_one_place(text, &plain, range, &old, &new));
    }
    let hint = hint(&plain, &seeker, &block, &old, &new);
    let search = Search {
        wanted: block.iter().map(|line| (*line).to_owned()).collect(),
        closest: Excerpt::closest(&lines, &block).map(Place::from),
        elsewhere: Vec::new(),
        after: None,
    };
    Err(Misfit::NotFound(Box::new(search), hint))
}

/// Puts whole lines after a line of the text, 0 for its start. Nothing if it has fewer.
pub(super) fn insert(text: &str, after: usize, new: &str) -> Option<String> {
    let lines = Lines::new(text);
    if after > lines.len() {
        return None;
    }
    let end = lines.dominant_end();
    let mut new = with_ends(&Plain::new(new).text, end);
    if !new.is_empty() && !new.ends_with(end) {
        new.push_str(end);
    }
    let at = match after {
        // The mark stays in front.
        0 => lines.bom(),
        after => lines.start(after),
    };
    let (above, below) = text.split_at(at);
    if after > 0 && after == lines.len() && lines.unfinished() {
        // As before, the last line has no end.
        return Some(format!("{above}{end}{}", new.trim_end_matches(['\r', '\n'])));
    }
    Some(format!("{above}{new}{below}"))
}

/// A text with `\n` as the end of every line, and how to get back.
struct Plain {
    text: String,
    /// Where in `text` there was a return before the feed.
    returns: Vec<usize>,
}

impl Plain {
    fn new(text: &str) -> Self {
        if !text.contains('\r') {
            let text = text.to_owned();
            return Self {
                text,
                returns: Vec::new(),
            };
        }
        let (mut plain, mut returns) = (String::with_capacity(text.len()), Vec::new());
        let mut rest = text;
        while let Some(at) = rest.find('\r') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            match rest.starts_with('\n') {
                true => returns.push(plain.len()),
                false => plain.push('\n'),
            }
        }
        plain.push_str(rest);
        Self { text: plain, returns }
    }

    /// A place in the text as it was.
    fn origin(&self, at: usize) -> usize {
        at + self.returns.partition_point(|&before| before < at)
    }

    /// Where `wanted` begins: all places, also those that overlap, unless it is to be replaced everywhere.
    fn places(&self, wanted: &str, apart: bool) -> Vec<usize> {
        let step = match apart {
            true => wanted.len(),
            false => wanted.chars().next().map_or(1, char::len_utf8),
        };
        let (mut places, mut from) = (Vec::new(), 0);
        while let Some(at) = self.text.get(from..).and_then(|rest| rest.find(wanted)) {
            places.push(from + at);
            from += at + step;
        }
        places
    }

    /// The line of a place, from 1.
    fn line(&self, at: usize) -> usize {
        1 + self.text[..at].bytes().filter(|byte| *byte == b'\n').count()
    }
}

fn with_ends(plain: &str, end: &str) -> String {
    match end {
        "\n" => plain.to_owned(),
        end => plain.replace('\n', end),
    }
}

/// Old and new text as they were written, and without the numbers of lines if every line has one.
fn readings<'t>(old: &'t str, new: &'t str) -> impl Iterator<Item = (Cow<'t, str>, Cow<'t, str>)> {
    let plain = (Cow::Borrowed(old), Cow::Borrowed(new));
    let numbered = without_numbers(old).map(|old| {
        let new = without_numbers(new).map_or(Cow::Borrowed(new), Cow::Owned);
        (Cow::Owned(old), new)
    });
    std::iter::once(plain).chain(numbered)
}

/// The lines without the numbers that `read_file` writes before them; nothing unless all have one.
fn without_numbers(text: &str) -> Option<String> {
    let bare = |line: &'_ str| {
        let rest = line.strip_prefix('L')?.trim_start_matches(|c: char| c.is_ascii_digit());
        let has_number = rest.len() + 1 < line.len();
        rest.strip_prefix(": ")
            .or_else(|| rest.strip_prefix(':').filter(|rest| rest.trim().is_empty()))
            .filter(|_| has_number)
            .map(str::to_owned)
    };
    text.split_inclusive('\n').map(bare).collect()
}

/// One place, no more of it than differs.
fn at_one_place(text: &str, plain: &Plain, place: Range<usize>, old: &str, new: &str) -> Replaced {
    let start = common(old.chars(), new.chars());
    let end = common(old[start..].chars().rev(), new[start..].chars().rev());
    let place = place.start + start..place.end - end;
    let place = plain.origin(place.start)..plain.origin(place.end);
    let lines = Lines::new(text);
    let new = with_ends(
        &new[start..new.len() - end],
        lines.uniform_end().unwrap_or_else(|| lines.dominant_end()),
    );
    let result = format!("{}{new}{}", &text[..place.start], &text[place.end..]);
    // Whole lines around it, which is what a patch would replace.
    let first = line_at(&lines, place.start);
    let last = line_at(&lines, place.end.max(place.start + 1) - 1);
    let old = first..(last + 1).min(lines.len());
    let bytes = lines.bytes(&old);
    let grown = bytes.end + result.len() - text.len();
    let is_whole = result[..grown].ends_with(['\n', '\r']) || grown == result.len();
    let hunk = PlannedHunk {
        old_text: text[bytes.clone()].to_owned(),
        new_text: result[bytes.start..grown].to_owned(),
        old,
    };
    Replaced {
        text: result,
        hunks: is_whole.then(|| vec![hunk]),
    }
}

/// The number of the line that holds this byte; the last for the end of the text.
fn line_at(lines: &Lines<'_>, byte: usize) -> usize {
    let (mut low, mut high) = (0, lines.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        match lines.start(middle) <= byte {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low.saturating_sub(1)
}

/// Bytes of the characters with which both begin.
fn common(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

fn everywhere(text: &str, plain: &Plain, places: &[usize], old: &str, new: &str) -> Replaced {
    let lines = Lines::new(text);
    let new = with_ends(new, lines.uniform_end().unwrap_or_else(|| lines.dominant_end()));
    let (mut result, mut from) = (String::with_capacity(text.len()), 0);
    for &place in places {
        result.push_str(&text[from..plain.origin(place)]);
        result.push_str(&new);
        from = plain.origin(place + old.len());
    }
    result.push_str(&text[from..]);
    Replaced {
        text: result,
        hunks: None,
    }
}

fn not_unique(plain: &Plain, places: &[usize]) -> Misfit {
    Misfit::NotUnique(places.iter().map(|&at| plain.line(at)).collect())
}

/// Why nothing was found, where it can be told for certain.
fn hint(plain: &Plain, seeker: &Seeker<'_>, block: &[&str], old: &str, new: &str) -> Option<Hint> {
    let is_there = |text: &str| !text.trim().is_empty() && plain.text.contains(text);
    if is_there(new) && new.trim().len() > 3 {
        return Some(Hint::AlreadyThere);
    }
    let unescaped = unescape(old);
    if unescaped != old && is_there(&unescaped) {
        return Some(Hint::Escapes);
    }
    if !seeker.all(Pass::SurroundingBlanks, block, 0).is_empty() {
        return Some(Hint::Blanks);
    }
    (!seeker.all(Pass::Punctuation, block, 0).is_empty()).then_some(Hint::Punctuation)
}

/// `\n`, `\t`, `\"`, `\'` and `\\` as the characters that they stand for.
fn unescape(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text.chars());
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some(c @ ('"' | '\'' | '\\' | '/' | '`' | '$')) => plain.push(c),
            other => {
                plain.push('\\');
                plain.extend(other);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, old: &str, new: &str) -> String {
        let replaced =
            replace(text, old, new, false).unwrap_or_else(|misfit| panic!("{old:?} in {text:?}: {misfit:?}"));
        if let Some(hunks) = &replaced.hunks {
            let placed: Vec<_> = hunks
                .iter()
                .map(|hunk| (hunk.old.clone(), hunk.new_text.clone()))
                .collect();
            assert_eq!(
                super::super::hunk::apply_hunks(text, &placed),
                replaced.text,
                "{old:?} in {text:?}"
            );
        }
        replaced.text
    }

    #[test]
    fn old_text_is_replaced_where_it_stands_once() {
        let table = [
            ("a\nb\nc\n", "b", "B", "a\nB\nc\n"),
            ("a\nb\nc\n", "b\n", "", "a\nc\n"),
            ("a\nb\nc\n", "a\nb\n", "x\ny\nz\n", "x\ny\nz\nc\n"),
            ("a\nb", "b", "b\nc", "a\nb\nc"),
            ("a\nb\nc", "\nc", "", "a\nb"),
            ("one two three", "two", "2", "one 2 three"),
            // The file's own line ends, also where they are mixed and no line near by changes.
            ("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n"),
            ("a\r\nb\nc\r\nd\r\n", "b\nc", "b\nC", "a\r\nb\nC\r\nd\r\n"),
            ("a\r\nb\r\n", "a\r\nb\r\n", "a\r\nB\r\n", "a\r\nB\r\n"),
            ("a\rb\r", "a\nb", "a\nB", "a\rB\r"),
            ("\u{feff}a\nb\n", "a\n", "A\n", "\u{feff}A\nb\n"),
            ("ä😀\nö\n", "😀", "é", "äé\nö\n"),
            // What can mean nothing else.
            ("fn a() {\n    1\n}\n", "L2:     1", "L2:     2", "fn a() {\n    2\n}\n"),
            (
                "fn a() {\n\n    1\n}\n",
                "L1: fn a() {\nL2: \nL3:     1",
                "fn a() {\n    2",
                "fn a() {\n    2\n}\n",
            ),
            ("a  \nb\t\nc\n", "a\nb\n", "a\nB\n", "a\nB\nc\n"),
            ("a  \nb\t\nc\n", "a\nb", "A\nb", "A\nb\nc\n"),
        ];
        for (text, old, new, wanted) in table {
            assert_eq!(replaced(text, old, new), wanted, "{old:?} to {new:?} in {text:?}");
        }
    }

    #[test]
    fn old_text_that_is_not_there_once_is_no_guess() {
        let not_found = |text: &str, old: &str, new: &str| match replace(text, old, new, false) {
            Err(Misfit::NotFound(search, hint)) => (search.closest.map(|place| place.line), hint),
            other => panic!("{old:?} in {text:?}: {other:?}"),
        };
        let code = "fn a() {\n    let s = \"x\";\n}\n";
        assert_eq!(not_found(code, "let s = \"y\";", "let t = 1;"), (Some(2), None));
        assert_eq!(
            not_found(code, "fn a() {\n  let s = \"x\";", "let t = 1;"),
            (Some(1), Some(Hint::Blanks))
        );
        assert_eq!(
            not_found(code, "    let s = \u{201c}x\u{201d};", "let t = 1;"),
            (Some(2), Some(Hint::Punctuation))
        );
        assert_eq!(
            not_found(code, "let s = \\\"x\\\";", "let t = 1;").1,
            Some(Hint::Escapes)
        );
        assert_eq!(
            not_found(code, "fn a() {\\n    let", "let t = 1;").1,
            Some(Hint::Escapes)
        );
        assert_eq!(
            not_found(code, "let r = 7;", "let s = \"x\";").1,
            Some(Hint::AlreadyThere)
        );
        assert_eq!(not_found(code, "nothing like it at all", "let t = 1;"), (None, None));
        let lines = |text: &str, old: &str| match replace(text, old, "new", false) {
            Err(Misfit::NotUnique(lines)) => lines,
            other => panic!("{old:?} in {text:?}: {other:?}"),
        };
        assert_eq!(lines("x\ny\r\nx\n", "x"), [1, 3]);
        assert_eq!(lines("aaa", "aa"), [1, 1]);
    }

    #[test]
    fn everywhere_means_every_place() {
        let all = |text: &str, old: &str, new: &str| replace(text, old, new, true).expect("found").text;
        assert_eq!(all("x y x\r\nx", "x", "xx\n"), "xx\r\n y xx\r\n\r\nxx\r\n");
        assert_eq!(all("aaa", "aa", "b"), "ba");
        assert_eq!(all("one", "one", ""), "");
    }

    #[test]
    fn lines_are_put_after_a_line() {
        let table = [
            ("a\nb\n", 0, "x", Some("x\na\nb\n")),
            ("a\nb\n", 1, "x\ny\n", Some("a\nx\ny\nb\n")),
            ("a\nb\n", 2, "x", Some("a\nb\nx\n")),
            ("a\r\nb", 2, "x\n", Some("a\r\nb\r\nx")),
            ("\u{feff}a\n", 0, "x", Some("\u{feff}x\na\n")),
            ("", 0, "x", Some("x\n")),
            ("a\n", 2, "x", None),
        ];
        for (text, after, new, wanted) in table {
            assert_eq!(
                insert(text, after, new).as_deref(),
                wanted,
                "{new:?} after {after} of {text:?}"
            );
        }
    }
}
