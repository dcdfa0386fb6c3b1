//! The terminal: styled text, one title line a step, everything wrapped or cut to the width. It only ever appends, so
//! that the same output reads well in a pipe, in a log and in the picture drawn from it.

use super::flow::Flow;
use super::style::{Span, Style};
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Widest text that still reads well, and what is assumed where nobody tells.
const WIDEST: usize = 92;
/// Narrower than this, lines are left to the terminal to wrap.
const NARROWEST: usize = 40;
/// Rows that one line of a command's output may take.
const MOST_ROWS: usize = 6;
/// Where text begins.
pub(super) const INDENT: usize = 3;
/// Where text begins behind a label.
pub(super) const LABELLED: usize = 11;

/// A line as it was shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// Since the beginning, when the line was complete.
    pub(super) at: Duration,
    pub(super) spans: Vec<Span>,
}

pub(super) struct Screen {
    out: Box<dyn io::Write + Send>,
    colours: bool,
    width: usize,
    start: Instant,
    shown: Vec<Line>,
    open: Vec<Span>,
    titles: usize,
}

impl Screen {
    /// Standard output as it is; `width` overrules what the terminal says.
    pub(super) fn new(width: Option<usize>) -> Self {
        let out = io::stdout();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colours = out.is_terminal() && !plain && !dumb;
        Self::over(Box::new(out), colours, width.or_else(terminal_width).unwrap_or(WIDEST))
    }

    pub(super) fn over(out: Box<dyn io::Write + Send>, colours: bool, width: usize) -> Self {
        Self {
            out,
            colours,
            width: width.clamp(NARROWEST, WIDEST),
            start: Instant::now(),
            shown: Vec::new(),
            open: Vec::new(),
            titles: 0,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// What was shown so far, for the picture.
    pub(super) fn shown(&self) -> &[Line] {
        &self.shown
    }

    /// More text of the open line. Control characters, which a command may have written, do not reach the terminal.
    pub(super) fn print(&mut self, style: Style, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let text: String = text
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect();
        match style.sgr() {
            sgr if self.colours && !sgr.is_empty() => write!(self.out, "{sgr}{text}\x1b[0m")?,
            _ => self.out.write_all(text.as_bytes())?,
        }
        match self.open.last_mut() {
            Some((last, open)) if *last == style => open.push_str(&text),
            _ => self.open.push((style, text)),
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the open line.
    pub(super) fn newline(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")?;
        self.close_line();
        self.out.flush()
    }

    /// The person's own Enter has ended the line already.
    pub(super) fn ended_by_person(&mut self) {
        self.close_line();
    }

    fn close_line(&mut self) {
        self.shown.push(Line {
            at: self.start.elapsed(),
            spans: std::mem::take(&mut self.open),
        });
    }

    /// Ends the open line, if one is open.
    pub(super) fn fresh_line(&mut self) -> io::Result<()> {
        if self.open.is_empty() { Ok(()) } else { self.newline() }
    }

    /// A whole line, cut to the width.
    pub(super) fn row(&mut self, spans: &[(Style, &str)]) -> io::Result<()> {
        let mut left = self.width;
        for (style, text) in spans {
            // Tabs would break the columns.
            let text = text.replace('\t', "    ");
            let length = text.chars().count();
            if length > left {
                let kept: String = text.chars().take(left.saturating_sub(1)).collect();
                self.print(*style, &kept)?;
                self.print(Style::DIM, "…")?;
                break;
            }
            self.print(*style, &text)?;
            left -= length;
        }
        self.newline()
    }

    /// A line of a command's output behind a gutter: what does not fit goes on in the next row, if possible at a word.
    pub(super) fn output(&mut self, gutter: &str, line: &str) -> io::Result<()> {
        let line: Vec<char> = line.replace('\t', "    ").chars().collect();
        let room = self.width.saturating_sub(gutter.chars().count()).max(1);
        let mut rest = line.as_slice();
        for row in 1..=MOST_ROWS {
            let mut end = room.min(rest.len());
            if row < MOST_ROWS && end < rest.len() {
                let space = rest[..end].iter().rposition(|c| *c == ' ');
                end = space.map(|at| at + 1).filter(|at| *at > room / 2).unwrap_or(end);
            } else if row == MOST_ROWS {
                // Cut, with a mark.
                end = rest.len();
            }
            let text: String = rest[..end].iter().collect();
            self.row(&[(Style::DIM, gutter), (Style::PLAIN, text.trim_end())])?;
            rest = &rest[end..];
            if rest.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// A whole line with something at its right end, where both fit.
    pub(super) fn row_with(&mut self, spans: &[(Style, &str)], right: (Style, &str)) -> io::Result<()> {
        if right.1.is_empty() {
            return self.row(spans);
        }
        let length: usize = spans.iter().map(|(_, text)| text.chars().count()).sum();
        let gap = self.width.saturating_sub(length + right.1.chars().count());
        if gap < 2 {
            self.row(spans)?;
            let pad = self.width.saturating_sub(right.1.chars().count());
            return self.row(&[(Style::PLAIN, &" ".repeat(pad)), right]);
        }
        let gap = " ".repeat(gap);
        let spans: Vec<_> = spans
            .iter()
            .copied()
            .chain([(Style::PLAIN, gap.as_str()), right])
            .collect();
        self.row(&spans)
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        self.newline()
    }

    /// The line with which a step begins.
    pub(super) fn title(&mut self, text: &str) -> io::Result<()> {
        self.fresh_line()?;
        self.blank()?;
        self.titles += 1;
        let number = format!(" {} ", self.titles);
        let text = format!(" {text} ");
        let used = number.chars().count() + text.chars().count();
        let rule = "─".repeat(self.width.saturating_sub(used).max(2));
        self.row(&[(Style::CYAN.bold(), &number), (Style::BOLD, &text), (Style::DIM, &rule)])
    }

    /// A label, as wide as all labels, with which a line begins.
    pub(super) fn label(&mut self, text: &str) -> io::Result<()> {
        self.fresh_line()?;
        let label = format!("{:INDENT$}{text:<width$}", "", width = LABELLED - INDENT);
        self.print(Style::BLUE, &label)
    }

    /// What held and what did not, in two columns where there is room.
    pub(super) fn columns(&mut self, checks: &[(String, bool)]) -> io::Result<()> {
        let widest = checks.iter().map(|(words, _)| words.chars().count()).max().unwrap_or(0);
        let wide = INDENT + 2 + widest + 3;
        let is_double = 2 * wide - INDENT - 3 <= self.width;
        let rows = if is_double {
            checks.len().div_ceil(2)
        } else {
            checks.len()
        };
        for row in 0..rows {
            let right = checks.get(row + rows).filter(|_| is_double);
            let both = checks.get(row).into_iter().chain(right);
            for (column, (words, held)) in both.enumerate() {
                let (mark, mark_style, style) = match held {
                    true => ("✓ ", Style::GREEN, Style::PLAIN),
                    false => ("✗ ", Style::RED.bold(), Style::RED),
                };
                let indent = if column == 0 { INDENT } else { 3 };
                self.print(Style::PLAIN, &" ".repeat(indent))?;
                self.print(mark_style, mark)?;
                let padding = if column == 0 && right.is_some() { widest } else { 0 };
                self.print(style, &format!("{words:padding$}"))?;
            }
            self.newline()?;
        }
        Ok(())
    }

    /// Text wrapped at its words, at the given indent.
    pub(super) fn paragraph(&mut self, indent: usize, style: Style, text: &str) -> io::Result<()> {
        self.fresh_line()?;
        self.print(Style::PLAIN, &" ".repeat(indent))?;
        let mut flow = Flow::new(indent, style);
        flow.push(self, text)?;
        flow.finish(self)
    }
}

#[cfg(unix)]
fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

#[cfg(not(unix))]
fn terminal_width() -> Option<usize> {
    None
}

/// A span of time in words.
pub(super) fn seconds(duration: Duration) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = if duration < Duration::from_secs(1) {
        write!(text, "{} ms", duration.as_millis())
    } else {
        write!(text, "{:.1} s", duration.as_secs_f64())
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &Line) -> String {
        line.spans.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn no_line_is_wider_than_the_screen_and_no_control_character_gets_through() {
        let mut screen = Screen::over(Box::new(io::sink()), true, 1);
        let long = "x".repeat(100);
        screen
            .row(&[(Style::PLAIN, "ab "), (Style::RED, &long)])
            .expect("written");
        screen
            .row_with(&[(Style::PLAIN, "short")], (Style::DIM, "right"))
            .expect("written");
        screen
            .row_with(&[(Style::PLAIN, &long)], (Style::DIM, "right"))
            .expect("written");
        screen.row(&[(Style::PLAIN, "\x1b[31mred\x07")]).expect("written");
        let error = "cp: cannot create regular file '/etc/x': Read-only file system";
        screen.output("   | ", error).expect("written");
        screen.output("   | ", &"y".repeat(1000)).expect("written");
        screen.title("A step").expect("written");
        let lines: Vec<_> = screen.shown().iter().map(text).collect();
        assert!(lines.iter().all(|line| line.chars().count() <= NARROWEST), "{lines:?}");
        assert!(lines[0].ends_with('…'), "{lines:?}");
        assert!(
            lines[1].starts_with("short ") && lines[1].ends_with(" right"),
            "{lines:?}"
        );
        assert!(lines[3].ends_with("  right"), "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains('\x1b') || line.contains('\x07')));
        assert_eq!(
            lines[5..7],
            [
                "   | cp: cannot create regular file",
                "   | '/etc/x': Read-only file system"
            ]
        );
        assert!(
            lines[12].starts_with("   | yyy") && lines[12].ends_with('…'),
            "{lines:?}"
        );
        assert!(lines[14].starts_with(" 1  A step ─"), "{lines:?}");
    }
}
