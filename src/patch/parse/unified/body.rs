//! The lines of hunks, and where each hunk ends.

use super::header::ends_a_file;
use super::{Reader, shorten};
use crate::patch::parse::chunk::{chunk_header, is_chunk_header, is_no_newline, no_newline, numbers};
use crate::patch::parse::error::ParseError;
use crate::patch::parse::{Chunk, LineEnd, LineKind};
use std::path::Path;

/// One hunk as it was written.
#[derive(Debug)]
pub(super) struct Hunk {
    /// The number of its header's line.
    pub(super) line: usize,
    pub(super) chunk: Chunk,
    /// How many lines its header says that it has, before and after.
    counts: Option<(usize, usize)>,
}

impl Hunk {
    /// Whether all its lines are of this kind, and its numbers say that the other side of the file is empty.
    pub(super) fn is_beside_nothing(&self, kind: LineKind) -> bool {
        let other = self
            .counts
            .map(|(old, new)| if kind == LineKind::Add { old } else { new });
        other == Some(0) && self.chunk.lines.iter().all(|line| line.kind == kind)
    }
}

/// What a line can be inside a hunk.
enum Inside {
    Line(LineKind),
    NoNewline,
    Other,
}

fn inside(text: &str) -> Inside {
    match text.as_bytes().first() {
        Some(b'+') => Inside::Line(LineKind::Add),
        Some(b'-') => Inside::Line(LineKind::Remove),
        Some(b'\\') if is_no_newline(text) => Inside::NoNewline,
        None | Some(b' ') => Inside::Line(LineKind::Keep),
        // A form feed or a tab without a sign is as good as an empty line.
        Some(_) if text.trim().is_empty() => Inside::Line(LineKind::Keep),
        Some(_) => Inside::Other,
    }
}

impl Reader<'_> {
    /// Reads the hunks of a file; the first may go without a header.
    pub(super) fn hunks(&mut self, path: &Path) -> Result<Vec<Hunk>, ParseError> {
        let mut hunks: Vec<Hunk> = Vec::new();
        loop {
            let mut next = self.at;
            while next < self.lines.len() && self.text(next).trim().is_empty() {
                next += 1;
            }
            let headed = is_chunk_header(self.text(next)) && super::foreign(self.text(next)).is_none();
            let bare = hunks.is_empty()
                && next == self.at
                && self.text(next).starts_with([' ', '+', '-'])
                && !self.ends_here(next);
            if !headed && !bare {
                break;
            }
            if headed {
                self.at = next;
            }
            let hunk = self.hunk(path)?;
            self.ended = Some((path.to_owned(), hunk.line));
            self.only_blank = true;
            hunks.push(hunk);
        }
        Ok(hunks)
    }

    fn hunk(&mut self, path: &Path) -> Result<Hunk, ParseError> {
        let mut hunk = Hunk {
            line: self.number(self.at),
            chunk: Chunk::default(),
            counts: None,
        };
        while hunk.counts.is_none() && is_chunk_header(self.text(self.at)) {
            hunk.line = self.number(self.at);
            let text = self.text(self.at);
            hunk.counts = numbers(&text[2..]).map(|numbers| (numbers.old.count, numbers.new.count));
            chunk_header(text, &mut hunk.chunk);
            self.at += 1;
        }
        let by_numbers = hunk.counts.and_then(|(old, new)| self.end_by_numbers(old, new));
        let end = match by_numbers {
            Some(end) => end,
            None => self.end_by_looks(path)?,
        };
        while self.at < end {
            self.take(&mut hunk.chunk);
        }
        if by_numbers.is_some() {
            // Empty lines were counted, so they are lines of the file.
            (hunk.chunk.loose_start, hunk.chunk.loose_end) = (0, 0);
        }
        if hunk.chunk.lines.len() == hunk.chunk.loose_end {
            return Err(ParseError::EmptyHunk {
                path: path.to_owned(),
                line: hunk.line,
            });
        }
        Ok(hunk)
    }

    /// Where the hunk ends if its numbers are right; nothing if they are not.
    fn end_by_numbers(&self, mut old: usize, mut new: usize) -> Option<usize> {
        let mut at = self.at;
        while old > 0 || new > 0 {
            if at >= self.lines.len() || self.is_file_with_hunk(at) {
                return None;
            }
            match inside(self.text(at)) {
                Inside::Line(kind) => {
                    if kind != LineKind::Add {
                        old = old.checked_sub(1)?;
                    }
                    if kind != LineKind::Remove {
                        new = new.checked_sub(1)?;
                    }
                }
                Inside::NoNewline => {}
                Inside::Other => return None,
            }
            at += 1;
        }
        while at < self.lines.len() && matches!(inside(self.text(at)), Inside::NoNewline) {
            at += 1;
        }
        // An empty line may be a line of the file that was not counted; what comes after it will tell.
        let over = at >= self.lines.len()
            || self.text(at).trim().is_empty()
            || self.ends_here(at)
            || matches!(inside(self.text(at)), Inside::Other);
        over.then_some(at)
    }

    /// Where the hunk ends by the look of its lines.
    fn end_by_looks(&self, path: &Path) -> Result<usize, ParseError> {
        let mut at = self.at;
        while at < self.lines.len() && !self.ends_here(at) {
            if matches!(inside(self.text(at)), Inside::Other) {
                return Err(ParseError::BadHunkLine {
                    path: path.to_owned(),
                    line: self.number(at),
                    found: shorten(self.text(at)),
                });
            }
            at += 1;
        }
        Ok(at)
    }

    /// Whether the line cannot be one of a hunk although it may look so.
    fn ends_here(&self, at: usize) -> bool {
        let text = self.text(at);
        is_chunk_header(text) || ends_a_file(text) || self.is_name_lines(at) || self.is_signature(at)
    }

    fn is_file_with_hunk(&self, at: usize) -> bool {
        self.is_name_lines(at) && is_chunk_header(self.text(at + 2))
    }

    /// The line above a mail's last lines: `-- `, or `--` where the blank was cut.
    pub(super) fn is_signature(&self, at: usize) -> bool {
        if self.text(at).trim_end() != "--" {
            return false;
        }
        let next = (at + 1..self.lines.len()).find(|&at| !self.text(at).trim().is_empty());
        next.is_none_or(|next| matches!(inside(self.text(next)), Inside::Other) && !is_chunk_header(self.text(next)))
    }

    /// Takes one line into the chunk.
    fn take(&mut self, chunk: &mut Chunk) {
        let line = self.lines[self.at];
        self.at += 1;
        match inside(line.text) {
            Inside::Line(kind) => {
                let text = match line.text.as_bytes().first() {
                    Some(b'+' | b'-' | b' ') => &line.text[1..],
                    _ => "",
                };
                chunk.push(kind, text, line.text, line.returns);
            }
            Inside::NoNewline => {
                no_newline(chunk);
                if let Some(last) = chunk.lines.last_mut().filter(|last| last.end == LineEnd::ReturnFeed) {
                    last.end = LineEnd::Return;
                }
            }
            Inside::Other => {}
        }
    }
}
