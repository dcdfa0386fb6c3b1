//! What a terminal would show in the end, without colours: for readers that are no terminal, such as the model. Progress
//! bars and redrawn lines are folded to their last state.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::iter::Peekable;
use std::str::Chars;

/// Rows, counted from the last, that the cursor can still reach.
const REACH: usize = 200;

/// The farthest column to which the cursor is moved; text itself may be longer.
const FARTHEST: usize = 1000;

/// Longest number in a control sequence; what is larger counts as this.
const LARGEST: usize = 10_000;

const ESCAPE: char = '\u{1B}';

/// The text with everything taken out or carried out that is meant for a terminal.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !needs_work(text) {
        return Cow::Borrowed(text);
    }
    let mut screen = Screen::new(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' | '\u{B}' | '\u{C}' | '\u{85}' => screen.next_row(),
            '\r' => screen.column = 0,
            '\u{8}' => screen.column = screen.column.saturating_sub(1),
            '\t' => screen.write(char),
            ESCAPE => escape(&mut chars, &mut screen),
            '\u{9B}' => control_sequence(&mut chars, &mut screen),
            '\u{9D}' | '\u{90}' | '\u{98}' | '\u{9E}' | '\u{9F}' => skip_string(&mut chars),
            control if control.is_control() => {}
            char => screen.write(char),
        }
    }
    Cow::Owned(screen.finish())
}

/// Whether there is a control character in it that is not just the end of a line.
fn needs_work(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        b'\n' | b'\t' => false,
        // The second byte of U+0080 to U+009F, or part of another character; a closer look costs little.
        0x80..=0x9F => at > 0 && bytes[at - 1] == 0xC2,
        byte => byte.is_ascii_control(),
    })
}

/// What follows an escape character.
fn escape(chars: &mut Peekable<Chars<'_>>, screen: &mut Screen) {
    match chars.next() {
        Some('[') => control_sequence(chars, screen),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(chars),
        // A cleared terminal.
        Some('c') => screen.clear(),
        Some('M') => screen.up(1),
        Some('D' | 'E') => screen.next_row(),
        // Character sets and the like: any number of intermediate characters and a last one.
        Some(' '..='/') => while chars.next().is_some_and(|char| matches!(char, ' '..='/')) {},
        _ => {}
    }
}

/// A title, a link, an image: up to its end, or to the end of the line where there is none.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(char) = chars.peek() {
        match char {
            '\n' => return,
            '\u{7}' | '\u{9C}' | '\u{18}' | '\u{1A}' => {
                chars.next();
                return;
            }
            &ESCAPE => {
                chars.next();
                if chars.peek() == Some(&'\\') {
                    chars.next();
                }
                return;
            }
            _ => {
                chars.next();
            }
        }
    }
}

/// Colours are left out, movements are made.
fn control_sequence(chars: &mut Peekable<Chars<'_>>, screen: &mut Screen) {
    let mut numbers: Vec<Option<usize>> = vec![None];
    let mut private = false;
    while let Some(&char) = chars.peek() {
        match char {
            '0'..='9' => {
                let digit = char as usize - '0' as usize;
                if let Some(number) = numbers.last_mut() {
                    *number = Some((number.unwrap_or(0) * 10 + digit).min(LARGEST));
                }
            }
            ';' | ':' if numbers.len() < 16 => numbers.push(None),
            ';' | ':' | ' '..='/' => {}
            '<'..='?' => private = true,
            '@'..='~' => {
                chars.next();
                screen.control(char, private, &numbers);
                return;
            }
            // Broken off by something else, which is taken for itself.
            _ => return,
        }
        chars.next();
    }
}

#[derive(Default)]
struct Row {
    chars: Vec<char>,
    /// Written over or moved in: spaces at its end are what was wiped.
    touched: bool,
}

/// The last rows, and the text of those before.
struct Screen {
    done: String,
    rows: VecDeque<Row>,
    row: usize,
    column: usize,
    /// Where the part begins that clearing clears.
    top: usize,
    saved: (usize, usize),
}

impl Screen {
    fn new(length: usize) -> Self {
        Self {
            done: String::with_capacity(length.min(1 << 20)),
            rows: VecDeque::from([Row::default()]),
            row: 0,
            column: 0,
            top: 0,
            saved: (0, 0),
        }
    }

    fn write(&mut self, char: char) {
        let column = self.column;
        self.column += 1;
        let row = &mut self.rows[self.row];
        match row.chars.get_mut(column) {
            Some(place) => {
                *place = char;
                row.touched = true;
            }
            None => {
                row.touched |= column > row.chars.len();
                row.chars.resize(column, ' ');
                row.chars.push(char);
            }
        }
    }

    fn next_row(&mut self) {
        self.column = 0;
        self.down(1);
    }

    fn down(&mut self, count: usize) {
        for _ in 0..count {
            self.row += 1;
            if self.row == self.rows.len() {
                self.rows.push_back(Row::default());
            }
            if self.rows.len() > REACH {
                self.flush_first();
            }
        }
    }

    fn up(&mut self, count: usize) {
        self.row = self.row.saturating_sub(count);
    }

    fn flush_first(&mut self) {
        if let Some(first) = self.rows.pop_front() {
            first.write_to(&mut self.done);
            self.done.push('\n');
        }
        for row in [&mut self.row, &mut self.top, &mut self.saved.0] {
            *row = row.saturating_sub(1);
        }
    }

    /// Begins a new part below all that there is, or takes the current one away if it is such a part.
    fn clear(&mut self) {
        if self.top > 0 {
            self.rows.truncate(self.top);
            self.rows.push_back(Row::default());
        } else if self.rows.iter().any(|row| !row.chars.is_empty()) {
            if self.rows.back().is_some_and(|row| !row.chars.is_empty()) {
                self.rows.push_back(Row::default());
            }
            self.top = self.rows.len() - 1;
        }
        self.row = self.rows.len() - 1;
        self.column = 0;
        while self.rows.len() > REACH {
            self.flush_first();
        }
    }

    fn control(&mut self, last: char, private: bool, numbers: &[Option<usize>]) {
        let number = |at: usize, otherwise: usize| numbers.get(at).copied().flatten().unwrap_or(otherwise);
        let count = number(0, 1).max(1);
        if private {
            // The second screen of full-screen programs: another part.
            if matches!(last, 'h' | 'l') && matches!(number(0, 0), 47 | 1047 | 1049) {
                self.clear();
                if last == 'l' {
                    self.top = 0;
                }
            }
            return;
        }
        match last {
            'A' | 'F' => self.up(count),
            'B' | 'E' | 'e' => self.down(count.min(REACH)),
            'C' | 'a' => self.column = (self.column + count).min(FARTHEST.max(self.column)),
            'D' => self.column = self.column.saturating_sub(count),
            'G' | '`' => self.column = (count - 1).min(FARTHEST),
            'H' | 'f' => {
                self.row = self.top;
                self.down((count - 1).min(REACH));
                self.column = (number(1, 1).max(1) - 1).min(FARTHEST);
            }
            'd' => {
                self.row = self.top;
                self.down((count - 1).min(REACH));
            }
            'J' => match number(0, 0) {
                0 => {
                    self.rows[self.row].erase(self.column..);
                    self.rows.truncate(self.row + 1);
                }
                2 | 3 => self.clear(),
                _ => {}
            },
            'K' => {
                let column = self.column;
                match number(0, 0) {
                    0 => self.rows[self.row].erase(column..),
                    1 => self.rows[self.row].erase(..=column),
                    2 => self.rows[self.row].erase(..),
                    _ => {}
                }
            }
            'P' => {
                let row = &mut self.rows[self.row];
                let from = self.column.min(row.chars.len());
                let to = (from + count).min(row.chars.len());
                row.chars.drain(from..to);
            }
            'X' => {
                let (from, to) = (self.column, self.column + count);
                self.rows[self.row].erase(from..to);
            }
            's' => self.saved = (self.row, self.column),
            'u' => (self.row, self.column) = (self.saved.0.min(self.rows.len() - 1), self.saved.1),
            _ => {}
        }
        if matches!(last, 'E' | 'F') {
            self.column = 0;
        }
    }

    fn finish(mut self) -> String {
        let last = self.rows.pop_back();
        for row in &self.rows {
            row.write_to(&mut self.done);
            self.done.push('\n');
        }
        if let Some(last) = last {
            last.write_to(&mut self.done);
        }
        self.done
    }
}

impl Row {
    fn erase(&mut self, range: impl std::ops::RangeBounds<usize>) {
        self.touched = true;
        for (at, char) in self.chars.iter_mut().enumerate() {
            if range.contains(&at) {
                *char = ' ';
            }
        }
    }

    fn write_to(&self, text: &mut String) {
        let start = text.len();
        text.extend(&self.chars);
        if self.touched {
            let kept = text[start..].trim_end_matches(' ').len();
            text.truncate(start + kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_remains_by_table() {
        for (text, expected) in [
            ("plain ü text\n\tindented  \n", "plain ü text\n\tindented  \n"),
            ("one\r\ntwo\r\n", "one\ntwo\n"),
            ("\u{1B}[1;31merror\u{1B}[0m: no\u{1B}[K\n", "error: no\n"),
            ("\u{1B}[38;2;255;0;0mred\u{1B}[39m", "red"),
            ("\u{1B}[38:5:1mred\u{1B}[m", "red"),
            // Progress bars.
            ("10%\r 50%\r100%\n", "100%\n"),
            ("Downloading 1/2\rDone\u{1B}[K\n", "Done\n"),
            ("long line\r\u{1B}[2Kshort\n", "short\n"),
            ("working...\r          \rok\n", "ok\n"),
            ("abc\u{8}\u{8}X\n", "aXc\n"),
            ("bold: b\u{8}bo\u{8}o\n", "bold: bo\n"),
            // Several rows redrawn.
            ("a 1%\nb 1%\n\u{1B}[2Aa 100%\nb 100%\n", "a 100%\nb 100%\n"),
            ("one\ntwo\nthree\n\u{1B}[3A\u{1B}[Jfour\n", "four\n"),
            ("x\u{1B}[5Gy\n", "x   y\n"),
            ("\u{1B}7\u{1B}[sab\u{1B}[uc\n", "cb\n"),
            // Titles and links.
            ("\u{1B}]0;title\u{7}text\n", "text\n"),
            (
                "\u{1B}]8;;https://example.org\u{1B}\\link\u{1B}]8;;\u{1B}\\ end\n",
                "link end\n",
            ),
            ("\u{1B}]0;never ended\nnext\n", "\nnext\n"),
            ("\u{1B}P+q544e\u{1B}\\after\n", "after\n"),
            ("\u{1B}(B\u{1B})0text\u{1B}=\u{1B}>\n", "text\n"),
            // Full screens: what was there before, and the last picture.
            ("before\n\u{1B}[2J\u{1B}[Hone\n\u{1B}[2J\u{1B}[Htwo\n", "before\ntwo\n"),
            (
                "$ x\n\u{1B}[?1049h\u{1B}[2J\u{1B}[3;2Hmid\u{1B}[?1049lafter\n",
                "$ x\nafter\n",
            ),
            // What is no text at all.
            ("a\0b\u{7}c\u{7F}d\u{1}\n", "abcd\n"),
            ("\u{9B}31mred\u{9B}0m\n", "red\n"),
            ("broken \u{1B}[12\nnext", "broken \nnext"),
            ("end \u{1B}", "end "),
            ("\u{1B}[?25l\u{1B}[?2004hshown\u{1B}[?25h\n", "shown\n"),
            ("\u{1B}[999999999Cfar", &format!("{}far", " ".repeat(FARTHEST))),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_progress_stays_small_and_quick() {
        let bar: String = (0..20_000).map(|at| format!("\r{at} of 20000 done")).collect();
        assert_eq!(plain(&bar), "19999 of 20000 done");
        let tall = format!("\u{1B}[9999B{}", "x\n".repeat(5000));
        assert!(plain(&tall).ends_with("x\nx\n"));
    }

    proptest! {
        #[test]
        fn nothing_is_left_that_moves_a_terminal(text in "[\u{1B}\\[\\]0-9;HJKmA-D\r\n\u{8}a-c?\u{7}\u{9B}]{0,200}") {
            let result = plain(&text);
            prop_assert!(result.chars().all(|char| char == '\n' || char == '\t' || !char.is_control()), "{result:?}");
        }

        #[test]
        fn plain_text_stays_as_it_is(text in "[a-zä\n\t ]{0,200}") {
            prop_assert_eq!(plain(&text), text.as_str());
        }
    }
}
