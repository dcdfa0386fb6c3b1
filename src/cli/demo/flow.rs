//! Running text: it comes in pieces and is wrapped at its words.

use super::screen::Screen;
use super::style::{Span, Style};
use std::io;

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
        if self.column > self.indent && self.column + needed > screen.width() {
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

#[cfg(test)]
mod tests {
    use super::super::screen::{LABELLED, Line};
    use super::*;

    fn whole(line: &Line) -> String {
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
            let lines: Vec<_> = screen.shown().iter().map(whole).collect();
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
}
