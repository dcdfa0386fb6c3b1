//! A text as lines, each with the line end it has.
//!
//! Lines are those of the language server protocol, which end in `\n`, `\r\n` or a lone `\r`, so that a line number
//! here is a line number in the editor. A byte-order mark belongs to the first line but not to its content.

use std::ops::Range;

/// The byte-order mark as it stands in a decoded text.
pub(super) const BOM: char = '\u{feff}';

#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    content_end: usize,
    end: usize,
}

/// A text and where its lines are. An empty text has no line; a text that ends in a line end has no empty line after it.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    spans: Vec<Span>,
    bom: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut spans = Vec::with_capacity(text.len() / 32 + 1);
        let mut start = 0;
        for piece in text.split_inclusive('\n') {
            split_at_returns(piece, start, &mut spans);
            start += piece.len();
        }
        let bom = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
        Self { text, spans, bom }
    }

    /// How many lines there are in a text that ends in `\n` or is empty.
    pub(super) fn count(text: &str) -> usize {
        let bytes = text.as_bytes();
        let lone_return = |pair: &&[u8]| pair[0] == b'\r' && pair[1] != b'\n';
        bytes.iter().filter(|byte| **byte == b'\n').count() + bytes.windows(2).filter(lone_return).count()
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Length of the byte-order mark, 0 if there is none.
    pub(super) fn bom(&self) -> usize {
        self.bom
    }

    /// The line without its end and without a byte-order mark.
    pub(super) fn content(&self, line: usize) -> &'a str {
        let span = self.spans[line];
        let skip = if line == 0 { self.bom } else { 0 };
        &self.text[span.start + skip..span.content_end]
    }

    /// The line's end: `\n`, `\r\n`, `\r`, or nothing where the text stops.
    pub(super) fn end(&self, line: usize) -> &'a str {
        let span = self.spans[line];
        &self.text[span.content_end..span.end]
    }

    /// The line as it stands in the text.
    pub(super) fn full(&self, line: usize) -> &'a str {
        let span = self.spans[line];
        &self.text[span.start..span.end]
    }

    /// Every line as it stands in the text.
    pub(super) fn all(&self) -> Vec<&'a str> {
        (0..self.len()).map(|line| self.full(line)).collect()
    }

    /// Byte offset of a line; the length of the text for the line after the last.
    pub(super) fn start(&self, line: usize) -> usize {
        self.spans.get(line).map_or(self.text.len(), |span| span.start)
    }

    /// The bytes that these lines take.
    pub(super) fn bytes(&self, lines: &Range<usize>) -> Range<usize> {
        self.start(lines.start)..self.start(lines.end)
    }

    /// These lines as they stand in the text.
    pub(super) fn slice(&self, lines: &Range<usize>) -> &'a str {
        &self.text[self.bytes(lines)]
    }

    /// Whether the last line lacks a line end.
    pub(super) fn unfinished(&self) -> bool {
        self.len() > 0 && self.end(self.len() - 1).is_empty()
    }

    /// The most frequent line end; `\n` where there is none.
    pub(super) fn dominant_end(&self) -> &'static str {
        let (mut lf, mut crlf, mut cr) = (0usize, 0usize, 0usize);
        for line in 0..self.len() {
            match self.end(line) {
                "\n" => lf += 1,
                "\r\n" => crlf += 1,
                "\r" => cr += 1,
                _ => {}
            }
        }
        if crlf > lf && crlf >= cr {
            "\r\n"
        } else if cr > lf {
            "\r"
        } else {
            "\n"
        }
    }

    /// The one line end that every line has, if there is one.
    pub(super) fn uniform_end(&self) -> Option<&'a str> {
        let mut ends = (0..self.len()).map(|line| self.end(line)).filter(|end| !end.is_empty());
        let first = ends.next()?;
        ends.all(|end| end == first).then_some(first)
    }
}

/// Splits one piece, which has no `\n` but perhaps a last one, at the lone `\r` in it.
fn split_at_returns(piece: &str, start: usize, spans: &mut Vec<Span>) {
    let body = piece.strip_suffix('\n').unwrap_or(piece);
    let finished = body.len() < piece.len();
    let content = if finished {
        body.strip_suffix('\r').unwrap_or(body)
    } else {
        body
    };
    let mut at = 0;
    if content.as_bytes().contains(&b'\r') {
        for (index, _) in content.match_indices('\r') {
            spans.push(Span {
                start: start + at,
                content_end: start + index,
                end: start + index + 1,
            });
            at = index + 1;
        }
    }
    if at < piece.len() {
        spans.push(Span {
            start: start + at,
            content_end: start + content.len(),
            end: start + piece.len(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn splits_at_every_kind_of_end() {
        let rows: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("a", &[("a", "")]),
            ("a\n", &[("a", "\n")]),
            ("a\r\nb\rc\nd", &[("a", "\r\n"), ("b", "\r"), ("c", "\n"), ("d", "")]),
            ("\r\r\n\n", &[("", "\r"), ("", "\r\n"), ("", "\n")]),
            ("a\r", &[("a", "\r")]),
            ("\u{feff}a\n", &[("a", "\n")]),
            ("\u{feff}", &[("", "")]),
        ];
        for (text, expected) in rows {
            let lines = Lines::new(text);
            let got: Vec<_> = (0..lines.len())
                .map(|line| (lines.content(line), lines.end(line)))
                .collect();
            assert_eq!(&got, expected, "{text:?}");
        }
    }

    #[test]
    fn tells_the_most_frequent_end() {
        for (text, end) in [
            ("", "\n"),
            ("a\r\nb\nc\r\n", "\r\n"),
            ("a\rb\r", "\r"),
            ("a\nb\r\n", "\n"),
        ] {
            assert_eq!(Lines::new(text).dominant_end(), end, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn lines_make_up_the_text(text in "[ab\u{feff}é😀\r\n]{0,40}") {
            let lines = Lines::new(&text);
            prop_assert_eq!(lines.all().concat(), text.clone());
            prop_assert_eq!(lines.slice(&(0..lines.len())), &text);
        }
    }
}
