//! A text of which only the start and the end may be there, with a right count of what is not, however often it is cut.

use super::line_ends;
use std::fmt;

/// The start and the end of a text, and how much is missing between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The whole text where nothing is missing.
    head: String,
    tail: String,
    /// Bytes, and line ends among them.
    missing: (u64, u64),
}

impl From<String> for Excerpt {
    fn from(text: String) -> Self {
        Self {
            head: text,
            ..Self::default()
        }
    }
}

impl Excerpt {
    /// What is kept of a text of so many bytes and line ends, cut at lines where there are any.
    pub(super) fn around(head: String, tail: String, (bytes, lines): (u64, u64)) -> Self {
        let (head, tail) = (start_of(&head, head.len()), end_of(&tail, tail.len()));
        let (head, tail) = (head.to_owned(), tail.to_owned());
        let bytes = bytes.saturating_sub((head.len() + tail.len()) as u64);
        let lines = lines.saturating_sub(line_ends(&head) + line_ends(&tail));
        Self {
            head,
            tail,
            missing: (bytes, lines),
        }
    }

    /// Whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.missing.0 == 0
    }

    /// The same with its texts made into others. What is missing is counted as it was.
    pub fn map(&self, change: impl Fn(&str) -> String) -> Self {
        Self {
            head: change(&self.head),
            tail: change(&self.tail),
            missing: self.missing,
        }
    }

    /// At most so many bytes of the text: its start and its end, cut at lines where there are any, and between them a line that says
    /// how much is missing.
    pub fn cut(&self, most: usize) -> Self {
        if self.head.len() + self.tail.len() <= most {
            return self.clone();
        }
        let half = most / 2;
        let tail = if self.is_whole() { &self.head } else { &self.tail };
        let (head, tail) = (within_start(&self.head, half), within_end(tail, half));
        let all = (self.head.len() + self.tail.len()) as u64 + self.missing.0;
        let lines = line_ends(&self.head) + line_ends(&self.tail) + self.missing.1;
        Self {
            missing: (
                all - (head.len() + tail.len()) as u64,
                lines - line_ends(head) - line_ends(tail),
            ),
            head: head.to_owned(),
            tail: tail.to_owned(),
        }
    }
}

/// With a line that says how much is missing.
impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head)?;
        if self.is_whole() {
            return Ok(());
        }
        if !self.head.is_empty() && !self.head.ends_with('\n') {
            f.write_str("\n")?;
        }
        let (bytes, lines) = self.missing;
        match lines {
            0 => writeln!(f, "[… {bytes} bytes cut out …]")?,
            1 => writeln!(f, "[… {bytes} bytes, 1 line cut out …]")?,
            lines => writeln!(f, "[… {bytes} bytes, {lines} lines cut out …]")?,
        }
        f.write_str(&self.tail)
    }
}

/// At most so many bytes from the start.
fn within_start(text: &str, most: usize) -> &str {
    match text.len() <= most {
        true => text,
        false => start_of(text, text.floor_char_boundary(most)),
    }
}

/// At most so many bytes to the end.
fn within_end(text: &str, most: usize) -> &str {
    match text.len() <= most {
        true => text,
        false => end_of(text, text.len() - text.ceil_char_boundary(text.len() - most)),
    }
}

/// So many bytes from the start, without a line that they begin only.
fn start_of(text: &str, bytes: usize) -> &str {
    let start = &text[..bytes];
    start.rfind('\n').map_or(start, |end| &start[..=end])
}

/// So many bytes to the end, without a line of which they have only the end; one that is longer is kept as far as it goes, rather than
/// not at all.
fn end_of(text: &str, bytes: usize) -> &str {
    let end = &text[text.len() - bytes..];
    match end.find('\n') {
        Some(at) if at + 1 < end.len() => &end[at + 1..],
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kept;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_missing_is_counted_once_however_often_it_is_cut() {
        let lines: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let mut kept = Kept::new(400);
        kept.push(&lines);
        let cut = kept.excerpt().cut(60).to_string();
        assert_eq!(
            cut,
            "line 0\nline 1\nline 2\nline 3\n[… 8835 bytes, 993 lines cut out …]\nline 997\nline 998\nline 999\n"
        );
        for (text, most, expected) in [
            ("a\nb\n", 4, "a\nb\n"),
            ("a\nb\nc\n", 4, "a\n[… 2 bytes, 1 line cut out …]\nc\n"),
            ("aaaaaaaaaa", 4, "aa\n[… 6 bytes cut out …]\naa"),
            ("ääää", 5, "ä\n[… 4 bytes cut out …]\nä"),
            ("something\n", 0, "[… 10 bytes, 1 line cut out …]\n"),
        ] {
            assert_eq!(
                Excerpt::from(text.to_owned()).cut(most).to_string(),
                expected,
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_there_and_what_is_missing_is_all(text in "[a-zä\n]{0,300}", kept in 20_usize..400, most in 0_usize..300, again in 0_usize..300) {
            let mut all = Kept::new(kept);
            all.push(&text);
            let cut = all.excerpt().cut(most).cut(again);
            prop_assert_eq!(cut.head.len() + cut.tail.len() + cut.missing.0 as usize, text.len());
            prop_assert_eq!(line_ends(&cut.head) + line_ends(&cut.tail) + cut.missing.1, line_ends(&text));
            prop_assert!(text.starts_with(&cut.head) && text.ends_with(&cut.tail));
            prop_assert!(cut.head.len() + cut.tail.len() <= most.min(again).max(kept));
        }
    }
}
