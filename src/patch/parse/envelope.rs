//! What is around a patch: the two lines that enclose it, and a here-document or fence around those.

use super::{BEGIN, END, ENVIRONMENT, ParseError, shorten};

/// One line of the patch text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// From 1.
    pub(super) number: usize,
    pub(super) text: &'a str,
    /// It ends in `\r`, and that says something about the file.
    pub(super) returns: bool,
}

/// The lines of a text, without what may be around all of them.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut lines: Vec<Line<'_>> = text
        .split('\n')
        .enumerate()
        .map(|(index, text)| Line {
            number: index + 1,
            text,
            returns: false,
        })
        .collect();
    unwrap(&mut lines);
    lines
}

/// Whether the first line that is not empty is the envelope's.
pub(super) fn begins(lines: &[Line<'_>]) -> bool {
    let first = lines.iter().find(|line| !line.text.trim().is_empty());
    first.is_some_and(|line| line.text.trim() == BEGIN)
}

/// The lines between the envelope's two.
pub(super) struct Cursor<'a> {
    pub(super) lines: Vec<Line<'a>>,
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(mut lines: Vec<Line<'a>>) -> Result<Self, ParseError> {
        trim_blank(&mut lines);
        let first = lines.first().map_or("", |line| line.text);
        if first.trim() != BEGIN {
            return Err(ParseError::no_begin(lines.first().copied()));
        }
        // If the envelope ends in \r\n then the text was sent with such ends and they say nothing about the file.
        let sent_with_returns = first.ends_with('\r');
        for line in &mut lines {
            if let Some(bare) = line.text.strip_suffix('\r') {
                line.text = bare;
                line.returns = !sent_with_returns;
            }
        }
        if let Some(end) = lines.iter().position(|line| line.text.trim_end() == END) {
            if let Some(extra) = lines[end + 1..].iter().find(|line| !line.text.trim().is_empty()) {
                return Err(ParseError::TextAfterEnd {
                    line: extra.number,
                    found: shorten(extra.text),
                });
            }
            lines.truncate(end);
        } else {
            // The last line may be indented; a line inside that is so is a kept line of a hunk.
            let last = lines.pop().map_or("", |line| line.text);
            if last.trim() != END {
                return Err(ParseError::NoEnd { found: shorten(last) });
            }
        }
        let mut at = 1;
        while lines
            .get(at)
            .is_some_and(|line| line.text.trim().is_empty() || line.text.starts_with(ENVIRONMENT))
        {
            at += 1;
        }
        Ok(Self { lines, at })
    }

    pub(super) fn peek(&self) -> Option<Line<'a>> {
        self.lines.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<Line<'a>> {
        let line = self.peek();
        self.at += 1;
        line
    }

    /// The lines from here on.
    pub(super) fn rest(mut self) -> Vec<Line<'a>> {
        self.lines.split_off(self.at.min(self.lines.len()))
    }

    /// The first line from here on that is not empty.
    pub(super) fn peek_past_blank(&self) -> Option<Line<'a>> {
        self.lines
            .get(self.at..)?
            .iter()
            .copied()
            .find(|line| !line.text.trim().is_empty())
    }
}

fn trim_blank(lines: &mut Vec<Line<'_>>) {
    while lines.last().is_some_and(|line| line.text.trim().is_empty()) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|line| line.text.trim().is_empty()).count();
    lines.drain(..blank);
}

/// Takes away a here-document or a Markdown fence around the whole.
fn unwrap(lines: &mut Vec<Line<'_>>) {
    let is_full = |line: &Line<'_>| !line.text.trim().is_empty();
    let (Some(start), Some(end)) = (lines.iter().position(is_full), lines.iter().rposition(is_full)) else {
        return;
    };
    let (first, last) = (lines[start], lines[end]);
    if start == end {
        return;
    }
    let fenced = first.text.starts_with("```") && last.text.trim() == "```";
    let here = here_document(first.text.trim());
    let closed = here.as_ref().is_some_and(|here| last.text.trim() == here.delimiter);
    if fenced || closed {
        lines.truncate(end);
        lines.drain(..=start);
    }
    if closed && here.is_some_and(|here| here.strip_tabs) {
        for line in lines {
            line.text = line.text.trim_start_matches('\t');
        }
    }
}

/// What comes after `<<`.
pub(in crate::patch) struct HereDocument {
    pub(in crate::patch) delimiter: String,
    /// `<<-`: tabs in front of each line do not count.
    pub(in crate::patch) strip_tabs: bool,
}

/// Reads `<<EOF`, `<<'EOF'`, `<<-"EOF"`, `<< \EOF`, with or without the program's name in front, and nothing else.
fn here_document(line: &str) -> Option<HereDocument> {
    let (command, rest) = line.split_once("<<")?;
    if !matches!(command.trim(), "" | "apply_patch" | "applypatch") {
        return None;
    }
    here_delimiter(rest)
}

/// Reads what follows `<<` up to the end of the line.
pub(in crate::patch) fn here_delimiter(rest: &str) -> Option<HereDocument> {
    let (strip_tabs, rest) = rest.strip_prefix('-').map_or((false, rest), |rest| (true, rest));
    let word = rest.trim();
    let unquoted = [('\'', '\''), ('"', '"')]
        .into_iter()
        .find_map(|(open, close)| word.strip_prefix(open)?.strip_suffix(close))
        .or_else(|| word.strip_prefix('\\'))
        .unwrap_or(word);
    let plain = !unquoted.is_empty()
        && unquoted
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    plain.then(|| HereDocument {
        delimiter: unquoted.to_owned(),
        strip_tabs,
    })
}
