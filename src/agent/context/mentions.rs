//! Mentions in the person's words: `@file`, `@file#L10-20`, `@folder/`, `@"a name.md"`, `@selection`, `@diagnostics`.
//!
//! Text to what it may mean, and nothing else: whether there is such a file, others look. So an e-mail address is no
//! mention, and a decorator is none unless a file has its name.

use crate::protocol::item::LineRange;

/// An `@` in a text that may be a mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where the `@` stands, in bytes.
    pub start: usize,
    /// What it can be read as, the longest first: the full stop at the end of a sentence may belong to a name or not.
    pub readings: Vec<Reading>,
    /// It is written as only a file is: should there be none, the person is told.
    pub is_plain: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Where the mention ends.
    pub end: usize,
    /// As written, without `@`, quotes and lines.
    pub name: String,
    pub lines: Option<Lines>,
    /// It was in quotes: a file, whatever the name.
    pub is_quoted: bool,
}

/// What is written behind a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    Range(LineRange),
    /// Lines count from 1.
    Zero,
}

/// Readings of one mention.
const MOST_READINGS: usize = 8;
/// Bytes of one name.
const LONGEST: usize = 4096;
/// Bytes of the lines behind a name in quotes.
const LONGEST_LINES: usize = 40;
/// Mentions of one text; what comes behind them is none.
const MOST: usize = 2000;

/// The possible mentions of a text, in order, as many as are looked for. What stands in fenced code is no mention.
pub fn candidates(text: &str) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begun = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| begun.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => in_line(line, at, &mut found),
        }
        at += line.len();
    }
    found
}

fn in_line(line: &str, offset: usize, found: &mut Vec<Candidate>) {
    let mut quoted_until = 0;
    // Where the word ends that was looked at last: all that begin in it end there.
    let mut word_end = 0;
    for (at, _) in line.match_indices('@') {
        if found.len() >= MOST {
            return;
        }
        if at < quoted_until || !may_begin(line[..at].chars().next_back()) {
            continue;
        }
        let rest = &line[at + 1..];
        let candidate = match rest.strip_prefix('"') {
            Some(inner) => quoted(inner),
            None => {
                if word_end <= at {
                    let length = rest.find(|c: char| c.is_whitespace() || c.is_control());
                    word_end = length.map_or(line.len(), |length| at + 1 + length);
                }
                bare(&line[at + 1..word_end])
            }
        };
        let Some((readings, is_plain)) = candidate else {
            continue;
        };
        let begin = offset + at + 1;
        if rest.starts_with('"') {
            quoted_until = at + 1 + readings.iter().map(|reading| reading.end).max().unwrap_or_default();
        }
        let readings = readings
            .into_iter()
            .map(|reading| Reading {
                end: begin + reading.end,
                ..reading
            })
            .collect();
        found.push(Candidate {
            start: offset + at,
            readings,
            is_plain,
        });
    }
}

/// What may stand before a mention: nothing of a word, so that `ada@example.org` is none. Scripts that are written
/// without blanks have none before a mention either.
fn may_begin(before: Option<char>) -> bool {
    before.is_none_or(|before| {
        before.is_whitespace()
            || "([{<\"'`“‘«„,;:|*>!?=".contains(before)
            || before >= '\u{2e80}'
            || "—–→".contains(before)
    })
}

/// `"a name.md"#L3`, from behind the first quote. Ends count from behind the `@`.
fn quoted(inner: &str) -> Option<(Vec<Reading>, bool)> {
    let name = inner.split(['"', '\n']).next().unwrap_or_default();
    if name.trim().is_empty() || name.len() > LONGEST || !inner[name.len()..].starts_with('"') {
        return None;
    }
    let after = &inner[name.len() + 1..];
    let suffix = match after.starts_with('#') {
        true => &after[..after.floor_char_boundary(LONGEST_LINES)],
        false => "",
    };
    let suffix = suffix.split(char::is_whitespace).next().unwrap_or_default();
    let (length, lines) = (0..=suffix.len())
        .rev()
        .filter(|length| suffix.is_char_boundary(*length))
        .find_map(|length| Some((length, lines_of(suffix[..length].strip_prefix('#')?)?)))
        .map_or((0, None), |(length, lines)| (length, Some(lines)));
    let reading = Reading {
        end: name.len() + 2 + length,
        name: name.to_owned(),
        lines,
        is_quoted: true,
    };
    Some((vec![reading], true))
}

/// A name without quotes: the word behind the `@`.
fn bare(token: &str) -> Option<(Vec<Reading>, bool)> {
    let first = token.chars().next()?;
    if !(first.is_alphanumeric() || "./~_-[($".contains(first)) {
        return None;
    }
    if token.len() > LONGEST {
        return None;
    }
    // Where a name can end: at the end of all, and before whatever ends a name in a sentence.
    let stops = token.char_indices().filter(|(at, c)| *at > 0 && ends_name(*c));
    let mut ends: Vec<usize> = stops.map(|(at, _)| at).collect();
    ends.push(token.len());
    let mut readings: Vec<Reading> = Vec::new();
    let mut push = |end: usize, name: &str, lines: Option<Lines>| {
        let known = |one: &Reading| one.name == name && one.lines == lines;
        if !name.is_empty() && readings.len() < MOST_READINGS && !readings.iter().any(known) {
            readings.push(Reading {
                end,
                name: name.to_owned(),
                lines,
                is_quoted: false,
            });
        }
    };
    // Each end gives at least one reading.
    for end in ends.into_iter().rev().take(MOST_READINGS) {
        let whole = &token[..end];
        for name in [whole, whole.trim_end_matches('.')] {
            if let Some((file, lines)) = split_lines(name) {
                push(name.len(), file, Some(lines));
            }
            push(name.len(), name, None);
        }
    }
    let shortest = readings.last()?;
    let called = token[shortest.name.len()..].starts_with('(');
    let has_hash = readings
        .iter()
        .any(|reading| reading.lines.is_some() && token[reading.name.len()..].starts_with('#'));
    let is_plain = has_hash || !called && looks_like_a_file(&shortest.name);
    Some((readings, is_plain))
}

fn ends_name(c: char) -> bool {
    ",;:!?)]}>\"'`*|”’»。，！？；：）】」、(".contains(c)
}

/// `src/a.rs#L10-20` and `src/a.rs:10-20` as the name and the lines.
fn split_lines(token: &str) -> Option<(&str, Lines)> {
    let at = token.rfind('#').or_else(|| {
        let colon = token.find(':')?;
        token[colon + 1..]
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(colon)
    })?;
    let (name, lines) = (&token[..at], &token[at + 1..]);
    (!name.is_empty()).then_some(())?;
    match token[at..].starts_with('#') {
        true => Some((name, lines_of(lines)?)),
        false => Some((name, colon_lines(lines)?)),
    }
}

/// `L10`, `L10-20`, `L10-L20`.
fn lines_of(text: &str) -> Option<Lines> {
    let number = |text: &str| text.strip_prefix(['L', 'l']).unwrap_or(text).parse::<u32>().ok();
    if !text.starts_with(['L', 'l']) {
        return None;
    }
    match text.split_once('-') {
        Some((first, last)) => range(number(first)?, number(last)?),
        None => range(number(text)?, number(text)?),
    }
}

/// `10`, `10-20`, and `10:5`, which is a line and a column.
fn colon_lines(text: &str) -> Option<Lines> {
    let number = |text: &str| text.parse::<u32>().ok();
    match (text.split_once('-'), text.split_once(':')) {
        (Some((first, last)), _) => range(number(first)?, number(last)?),
        (None, Some((line, column))) => number(column).and(range(number(line)?, number(line)?)),
        (None, None) => range(number(text)?, number(text)?),
    }
}

/// Lines as people count them, in whichever order.
fn range(a: u32, b: u32) -> Option<Lines> {
    let (first, last) = (a.min(b), a.max(b));
    Some(match first.checked_sub(1) {
        Some(start) => Lines::Range(LineRange { start, end: last }),
        None => Lines::Zero,
    })
}

/// Whether a name is written as only a file or a folder is, and not as a decorator, a package or a person.
pub(super) fn looks_like_a_file(name: &str) -> bool {
    if ["./", "../", "~/", "/"].iter().any(|start| name.starts_with(start)) || name.ends_with('/') {
        return true;
    }
    let last = name.rsplit('/').next().unwrap_or(name);
    let Some((stem, extension)) = last.rsplit_once('.') else {
        return false;
    };
    const LONGER: [&str; 10] = [
        "class", "gradle", "ipynb", "markdown", "patch", "proto", "scala", "scss", "svelte", "swift",
    ];
    let short = extension.len() <= 4 && extension.chars().all(|c| c.is_ascii_alphanumeric());
    let is_extension = short && extension.starts_with(|c: char| c.is_ascii_alphabetic()) || LONGER.contains(&extension);
    !stem.is_empty() && is_extension
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<Vec<String>> {
        let show = |reading: &Reading| match reading.lines {
            Some(Lines::Range(lines)) => format!("{}[{}..{}]", reading.name, lines.start, lines.end),
            Some(Lines::Zero) => format!("{}[0]", reading.name),
            None => reading.name.clone(),
        };
        let found = candidates(text);
        found
            .iter()
            .map(|candidate| candidate.readings.iter().map(show).collect())
            .collect()
    }

    #[test]
    fn what_may_be_a_mention_by_table() {
        for (text, expected) in [
            ("@src/a.rs", vec![vec!["src/a.rs"]]),
            ("see @src/a.rs.", vec![vec!["src/a.rs.", "src/a.rs"]]),
            ("@a.rs#L10-20", vec![vec!["a.rs[9..20]", "a.rs#L10-20"]]),
            ("@a.rs#L10-L20", vec![vec!["a.rs[9..20]", "a.rs#L10-L20"]]),
            ("@a.rs#l7", vec![vec!["a.rs[6..7]", "a.rs#l7"]]),
            ("@a.rs#L20-10", vec![vec!["a.rs[9..20]", "a.rs#L20-10"]]),
            ("@a.rs#L0", vec![vec!["a.rs[0]", "a.rs#L0"]]),
            ("@a.rs#Lx", vec![vec!["a.rs#Lx"]]),
            ("@a.rs:12", vec![vec!["a.rs[11..12]", "a.rs:12", "a.rs"]]),
            ("@a.rs:12:5", vec![vec!["a.rs[11..12]", "a.rs:12:5", "a.rs:12", "a.rs"]]),
            ("@a.rs: why?", vec![vec!["a.rs:", "a.rs"]]),
            ("@\"a b.md\" and", vec![vec!["a b.md"]]),
            ("@\"a b.md\"#L2,", vec![vec!["a b.md[1..2]"]]),
            ("@\"a@b.md\"", vec![vec!["a@b.md"]]),
            ("@\"open", vec![]),
            ("@\"\"", vec![]),
            ("(@a.rs)", vec![vec!["a.rs)", "a.rs"]]),
            ("`@a.rs`", vec![vec!["a.rs`", "a.rs"]]),
            ("@a.rs's", vec![vec!["a.rs's", "a.rs"]]),
            ("看@a.rs。好", vec![vec!["a.rs。好", "a.rs"]]),
            ("ada@example.org", vec![]),
            ("ada.l+x@example.org", vec![]),
            ("@@ -1 +1 @@", vec![]),
            ("@ a", vec![]),
            ("a @", vec![]),
            ("@!x", vec![]),
            ("@a.md,@b.md", vec![vec!["a.md,@b.md", "a.md"], vec!["b.md"]]),
            ("```\n@a.rs\n```\n@b.rs", vec![vec!["b.rs"]]),
            ("@selection", vec![vec!["selection"]]),
            ("@app/[id].tsx", vec![vec!["app/[id].tsx", "app/[id"]]),
            ("@.", vec![vec!["."]]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    /// As many steps for each place as there are places would take minutes here.
    #[test]
    fn a_text_full_of_mentions_takes_no_longer_than_its_length() {
        for (piece, expected) in [
            ("@\"", MOST),
            ("@\"a\"#L1,", MOST),
            ("@\"a\"#,", MOST),
            ("@a,", 0),
            ("@a.rs#L1:", 0),
            ("@a/b/c.rs ", MOST),
            ("@", 0),
        ] {
            let text = piece.repeat((1 << 20) / piece.len());
            let found = candidates(&text);
            match expected {
                // Only what ends the one word there is can be short enough for a name.
                0 => assert!(found.len() <= LONGEST, "{piece}: {}", found.len()),
                most => assert_eq!(found.len(), most, "{piece}"),
            }
            assert!(found.iter().all(|one| one.readings.len() <= MOST_READINGS), "{piece}");
        }
    }

    #[test]
    fn only_what_is_written_as_a_file_is_missed() {
        for (text, plain) in [
            ("@src/a.rs", true),
            ("@main.rs.", true),
            ("@src/", true),
            ("@./x", true),
            ("@/etc/hosts", true),
            ("@x#L3", true),
            ("@\"x\"", true),
            ("@Override", false),
            ("@angular/core", false),
            ("@types/node", false),
            ("@app.route(\"/x\")", false),
            ("@pytest.fixture", false),
            ("@x.setter", false),
            ("@ada", false),
            ("@everyone,", false),
        ] {
            let found = candidates(text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].is_plain, plain, "{text} {found:?}");
        }
    }

    proptest! {
        #[test]
        fn every_reading_lies_in_the_text_at_whole_characters(text in "[@a-c./#L0-9:\"' ,)(`\n~ä。]{0,40}") {
            for candidate in candidates(&text) {
                prop_assert!(text[candidate.start..].starts_with('@'));
                prop_assert!(!candidate.readings.is_empty());
                for reading in candidate.readings {
                    prop_assert!(reading.end > candidate.start && text.is_char_boundary(reading.end));
                    prop_assert!(text[candidate.start..reading.end].contains(&reading.name));
                }
            }
        }
    }
}
