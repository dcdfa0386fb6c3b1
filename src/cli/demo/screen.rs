//! The terminal: styled text, one title line a step, everything wrapped or cut to the width. It only ever appends, so
//! that the same output reads well in a pipe, in a log and in the picture drawn from it.

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Cyan,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) colour: Option<Colour>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
}

impl Style {
    pub(super) const PLAIN: Self = Self {
        colour: None,
        bold: false,
        dim: false,
        italic: false,
    };
    pub(super) const DIM: Self = Self {
        dim: true,
        ..Self::PLAIN
    };
    pub(super) const BOLD: Self = Self {
        bold: true,
        ..Self::PLAIN
    };
    pub(super) const THOUGHT: Self = Self {
        dim: true,
        italic: true,
        ..Self::PLAIN
    };
    pub(super) const RED: Self = Self::of(Colour::Red);
    pub(super) const GREEN: Self = Self::of(Colour::Green);
    pub(super) const YELLOW: Self = Self::of(Colour::Yellow);
    pub(super) const BLUE: Self = Self::of(Colour::Blue);
    pub(super) const CYAN: Self = Self::of(Colour::Cyan);

    const fn of(colour: Colour) -> Self {
        Self {
            colour: Some(colour),
            ..Self::PLAIN
        }
    }

    pub(super) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// The sequence that switches it on (ECMA-48, SGR); empty for plain text.
    fn sgr(self) -> String {
        let mut codes = Vec::new();
        codes.extend(self.bold.then_some(1));
        codes.extend(self.dim.then_some(2));
        codes.extend(self.italic.then_some(3));
        codes.extend(self.colour.map(|colour| match colour {
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Yellow => 33,
            Colour::Blue => 34,
            Colour::Cyan => 36,
        }));
        if codes.is_empty() {
            return String::new();
        }
        let codes: Vec<_> = codes.iter().map(u8::to_string).collect();
        format!("\x1b[{}m", codes.join(";"))
    }
}

/// A piece of a line.
pub(super) type Span = (Style, String);

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

    fn over(out: Box<dyn io::Write + Send>, colours: bool, width: usize) -> Self {
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

/// Text that comes in pieces, wrapped at its words. What stands between backquotes is shown as code.
pub(super) struct Flow {
    indent: usize,
    style: Style,
    column: usize,
    is_code: bool,
    /// The word that has not ended yet.
    word: Vec<Span>,
    space: bool,
}

impl Flow {
    /// The cursor is at `indent` already.
    pub(super) fn new(indent: usize, style: Style) -> Self {
        Self {
            indent,
            style,
            column: indent,
            is_code: false,
            word: Vec::new(),
            space: false,
        }
    }

    pub(super) fn push(&mut self, screen: &mut Screen, text: &str) -> io::Result<()> {
        for c in text.chars() {
            match c {
                '`' => self.is_code = !self.is_code,
                '\n' => {
                    self.end_word(screen)?;
                    self.wrap(screen)?;
                }
                c if c.is_whitespace() => {
                    self.end_word(screen)?;
                    self.space = true;
                }
                c => {
                    let style = if self.is_code { Style::CYAN } else { self.style };
                    match self.word.last_mut() {
                        Some((last, word)) if *last == style => word.push(c),
                        _ => self.word.push((style, c.to_string())),
                    }
                }
            }
        }
        screen.flush()
    }

    fn end_word(&mut self, screen: &mut Screen) -> io::Result<()> {
        if self.word.is_empty() {
            return Ok(());
        }
        let length: usize = self.word.iter().map(|(_, text)| text.chars().count()).sum();
        let needed = length + usize::from(self.space);
        if self.column > self.indent && self.column + needed > screen.width {
            self.wrap(screen)?;
        } else if self.space && self.column > self.indent {
            match self.word.first_mut() {
                Some((style, text)) if *style == self.style => text.insert(0, ' '),
                _ => screen.print(self.style, " ")?,
            }
            self.column += 1;
        }
        self.space = false;
        self.column += length;
        for (style, text) in std::mem::take(&mut self.word) {
            screen.print(style, &text)?;
        }
        Ok(())
    }

    fn wrap(&mut self, screen: &mut Screen) -> io::Result<()> {
        screen.newline()?;
        screen.print(Style::PLAIN, &" ".repeat(self.indent))?;
        self.column = self.indent;
        self.space = false;
        Ok(())
    }

    /// Ends the text and its line.
    pub(super) fn finish(mut self, screen: &mut Screen) -> io::Result<()> {
        self.end_word(screen)?;
        screen.newline()
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
    fn text_that_comes_in_pieces_is_wrapped_at_its_words() {
        let words = "The quick brown fox jumps over `the lazy` dog, and then it sleeps.\nA new line.";
        for chunk in [1, 3, 7, 100] {
            let mut screen = Screen::over(Box::new(io::sink()), true, 1);
            screen.label("says").expect("written");
            let mut flow = Flow::new(LABELLED, Style::PLAIN);
            let characters: Vec<char> = words.chars().collect();
            for piece in characters.chunks(chunk) {
                flow.push(&mut screen, &piece.iter().collect::<String>())
                    .expect("written");
            }
            flow.finish(&mut screen).expect("written");
            let lines: Vec<_> = screen.shown().iter().map(text).collect();
            assert_eq!(
                lines,
                [
                    "   says    The quick brown fox jumps",
                    "           over the lazy dog, and then",
                    "           it sleeps.",
                    "           A new line.",
                ],
                "in pieces of {chunk}"
            );
        }
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
