//! What a command prints, in a fence, while it comes: bounded, and with a fence that is longer than any run of backticks inside.

use super::super::text::{Escaper, longest_run};

/// Bytes of output that a document gets from the beginning of it.
const HEAD: usize = 6000;
/// Bytes from its end, where there is more than that.
const TAIL: usize = 2000;

#[derive(Debug, Default)]
pub(super) struct Output {
    escaper: Escaper,
    /// All that was told, as it came, up to the bound.
    raw: String,
    /// More came than that.
    more: bool,
    /// The line that is not whole yet, escaped.
    line: String,
    /// Backticks of the open fence; 0 while none is.
    fence: usize,
}

impl Output {
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.more {
            return String::new();
        }
        let room = piece.floor_char_boundary(HEAD - self.raw.len().min(HEAD));
        self.more = room < piece.len();
        self.raw.push_str(&piece[..room]);
        let safe = self.escaper.push(&piece[..room]);
        self.lines(&safe)
    }

    fn lines(&mut self, safe: &str) -> String {
        let mut out = String::new();
        for piece in safe.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.put(&line, &mut out);
            }
        }
        out
    }

    /// Writes a whole line. A run of backticks that could close the fence gets a longer fence.
    fn put(&mut self, line: &str, out: &mut String) {
        let run = longest_run(line);
        if self.fence > 0 && run >= self.fence {
            out.push_str(&self.close());
        }
        if self.fence == 0 {
            self.fence = run.max(2) + 1;
            out.push_str(&format!("\n{}text\n", "`".repeat(self.fence)));
        }
        out.push_str(line);
    }

    fn close(&mut self) -> String {
        match std::mem::take(&mut self.fence) {
            0 => String::new(),
            fence => format!("{}\n", "`".repeat(fence)),
        }
    }

    /// The line that is begun, then the end of the fence.
    pub(super) fn pause(&mut self) -> String {
        let mut out = String::new();
        let rest = self.escaper.finish();
        let line = std::mem::take(&mut self.line) + &rest;
        if !line.is_empty() {
            self.put(&format!("{line}\n"), &mut out);
        }
        out.push_str(&self.close());
        out
    }

    /// What the final output says beyond what was told, then the end of the fence.
    pub(super) fn finish(&mut self, all: &str) -> String {
        let mut out = String::new();
        if !self.more {
            // What was told in pieces is the beginning of it; where it is not, all was told.
            if let Some(rest) = all.strip_prefix(self.raw.as_str()).map(str::to_owned) {
                out.push_str(&self.push(&rest));
            }
        }
        out.push_str(&self.pause());
        if self.more {
            let from = all.len().saturating_sub(TAIL).max(self.raw.len().min(all.len()));
            let tail = &all[all.ceil_char_boundary(from)..];
            // From the beginning of a line.
            let tail = tail.find('\n').map_or(tail, |at| &tail[at + 1..]);
            let left = all.len().saturating_sub(self.raw.len() + tail.len());
            let left = match left {
                0 => "…".to_owned(),
                left => format!("… {left} bytes are left out here; the conversation keeps them …"),
            };
            out.push_str(&format!("\n*{left}*\n"));
            self.raw.clear();
            self.more = false;
            let safe = super::super::text::in_fence(tail);
            out.push_str(&self.lines(&safe));
            out.push_str(&self.pause());
        }
        out
    }
}
