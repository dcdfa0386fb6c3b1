//! Fences of somebody else's Markdown, so that it is known where code begins and ends, whatever stands around it and comes
//! after it.
//!
//! What a mark means depends on all before it: on lists and quotations that it may stand in, and on what ended them. So each
//! fence is moved to the margin, where it is one whatever came before, and what is left open is closed at the end, by its own
//! mark.

use super::inert::Inert;

/// A fence at the margin.
#[derive(Clone, Copy, Debug)]
struct Fence {
    mark: char,
    length: usize,
    /// Columns that it stood at before it was moved.
    columns: usize,
    /// It stood in a quotation, and ends with that.
    quoted: bool,
}

impl Fence {
    fn line(&self) -> String {
        self.mark.to_string().repeat(self.length) + "\n"
    }
}

/// Where in its line the text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Only what may stand before a fence came so far; it is held.
    #[default]
    Start,
    /// Marks of a fence, and what may stand before them, are held.
    Marks,
    /// The rest of a line is held that is a fence unless a mark comes in it; or, in code, unless anything comes.
    Behind,
    /// It is no fence, or its line is begun.
    Inside,
}

/// Moves fences to the margin. Text may come in pieces, and how it is cut changes nothing.
#[derive(Clone, Debug)]
struct Fences {
    /// The beginning of a line, while it is not known whether it is a fence.
    held: String,
    at: At,
    /// Bytes of what is held that stand before the marks, the kind of these, and how many there are.
    before: usize,
    mark: char,
    run: usize,
    open: Option<Fence>,
    /// Was open when something else came between, and opens again with what follows.
    again: Option<Fence>,
    begins_line: bool,
}

impl Default for Fences {
    fn default() -> Self {
        Self {
            held: String::new(),
            at: At::Start,
            before: 0,
            mark: '`',
            run: 0,
            open: None,
            again: None,
            begins_line: true,
        }
    }
}

impl Fences {
    fn push(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        if !piece.is_empty()
            && let Some(fence) = self.again.take()
        {
            self.put(&fence.line(), &mut out);
            self.open = Some(fence);
        }
        for c in piece.chars() {
            self.one(c, &mut out);
        }
        out
    }

    /// What is still held, at the end of the text or of a part of it.
    fn finish(&mut self) -> String {
        let mut out = String::new();
        self.decide(&mut out);
        out
    }

    fn one(&mut self, c: char, out: &mut String) {
        if self.at == At::Start && (c == '\n' || !c.is_whitespace() && c != '>') {
            self.end_quotation(out);
        }
        let mut bytes = [0; 4];
        let text: &str = c.encode_utf8(&mut bytes);
        match self.at {
            _ if c == '\n' => {
                self.decide(out);
                self.put(text, out);
                self.at = At::Start;
            }
            At::Inside => self.put(text, out),
            At::Start if matches!(c, '`' | '~') => {
                self.before = self.held.len();
                (self.mark, self.run) = (c, 1);
                self.held.push(c);
                self.at = At::Marks;
            }
            At::Start if c.is_whitespace() || c.is_ascii_digit() || matches!(c, '>' | '-' | '*' | '+' | '.' | ')') => {
                self.held.push(c);
            }
            At::Marks if c == self.mark => {
                self.run += 1;
                self.held.push(c);
            }
            At::Marks | At::Behind if self.may_stand_behind(c) => {
                self.held.push(c);
                self.at = At::Behind;
            }
            At::Marks | At::Behind if self.run >= 3 && self.mark == '~' && self.open.is_none() => {
                self.decide(out);
                self.put(text, out);
            }
            At::Start | At::Marks | At::Behind => {
                self.is_text(out);
                self.put(text, out);
            }
        }
    }

    /// Whether it is still to be seen, with this behind its marks, what a line is: one that closes has blanks only, and what a
    /// fence of backticks is of has none of them.
    fn may_stand_behind(&self, c: char) -> bool {
        self.run >= 3 && (c.is_whitespace() || self.open.is_none() && self.mark == '`' && c != '`')
    }

    /// What is held is the beginning of a line of text, or of code.
    fn is_text(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        self.put(&held, out);
        self.at = At::Inside;
    }

    /// A line that is not of the quotation ends its code.
    fn end_quotation(&mut self, out: &mut String) {
        let goes_on = self.held.trim_start().starts_with('>');
        if let Some(fence) = self.open.filter(|fence| fence.quoted && !goes_on) {
            self.put(&fence.line(), out);
            self.open = None;
        }
    }

    /// What is held is all that comes of its line, or all that matters.
    fn decide(&mut self, out: &mut String) {
        if self.at == At::Inside {
            return;
        }
        if self.at == At::Start || self.run < 3 {
            return self.is_text(out);
        }
        let held = std::mem::take(&mut self.held);
        self.at = At::Inside;
        let (before, rest) = held.split_at(self.before);
        if let Some(fence) = self.open {
            let stands = match fence.quoted {
                true => before.chars().all(|c| c.is_whitespace() || c == '>'),
                false => before.trim().is_empty() && columns(before) <= fence.columns + 3,
            };
            let is_its_mark = self.mark == fence.mark && self.run >= fence.length;
            if stands && is_its_mark {
                let marks = fence.mark.to_string().repeat(self.run);
                self.put(&marks, out);
                self.open = None;
            } else if is_its_mark && before.trim().is_empty() {
                // In a quotation a tab has fewer columns.
                let line = " ".repeat(columns(before)) + rest;
                self.put(&line, out);
            } else {
                self.put(&held, out);
            }
            return;
        }
        if !may_hold_a_fence(before) {
            return self.put(&held, out);
        }
        if !before.trim().is_empty() {
            // What it stood in gets a line of its own, which makes no heading of the line above.
            let line = format!("\n{}\n", before.trim_end());
            self.put(&line, out);
        }
        self.open = Some(Fence {
            mark: self.mark,
            length: self.run,
            columns: columns(before),
            quoted: before.contains('>'),
        });
        self.put(rest, out);
    }

    fn put(&mut self, text: &str, out: &mut String) {
        if let Some(last) = text.chars().next_back() {
            self.begins_line = last == '\n';
            out.push_str(text);
        }
    }

    /// The mark that closes what is open, on a line of its own.
    fn closing(&mut self, fence: Fence) -> String {
        let end = if self.begins_line { "" } else { "\n" };
        self.begins_line = true;
        end.to_owned() + &fence.line()
    }
}

/// Columns of blanks that a line begins with, or of what stands there instead.
fn columns(before: &str) -> usize {
    before.chars().fold(0, |at, c| match c {
        '\t' => at / 4 * 4 + 4,
        _ => at + 1,
    })
}

/// Whether what a line begins with leaves a fence behind it one: blanks, and signs of quotations and lists.
fn may_hold_a_fence(before: &str) -> bool {
    let mut rest = before.trim_start();
    while let Some(first) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let sign = match first {
            '>' => {
                rest = rest[1..].trim_start();
                continue;
            }
            '-' | '*' | '+' => 1,
            _ if (1..10).contains(&digits) && rest[digits..].starts_with(['.', ')']) => digits + 1,
            _ => return false,
        };
        let behind = &rest[sign..];
        if !behind.starts_with(char::is_whitespace) {
            return false;
        }
        rest = behind.trim_start();
    }
    true
}

/// Markdown of others: nothing is loaded by being shown, and its code ends where it ends.
#[derive(Clone, Debug, Default)]
pub struct Markdown {
    fences: Fences,
    inert: Inert,
}

impl Markdown {
    /// The next piece. What depends on what follows comes with it.
    pub fn push(&mut self, piece: &str) -> String {
        self.inert.push(&self.fences.push(piece))
    }

    /// What is still held back, and the end of what is open. What comes after that is another text.
    pub fn finish(&mut self) -> String {
        let rest = self.held();
        let open = self.fences.open;
        let closing = open.map(|fence| self.fences.closing(fence)).unwrap_or_default();
        *self = Self::default();
        rest + &closing
    }

    /// The same, where something else comes between: what is open opens again with what follows.
    pub fn pause(&mut self) -> String {
        let rest = self.held();
        // Nothing came since the last time.
        let again = self.fences.again;
        let open = self.fences.open;
        let closing = open.map(|fence| self.fences.closing(fence)).unwrap_or_default();
        *self = Self::default();
        self.fences.again = open.or(again);
        rest + &closing
    }

    /// For where readers may take what follows for another text: code that is open is closed if it is there, and nothing is
    /// left open if it is not.
    pub fn leave(&mut self) -> String {
        let Some(fence) = self.fences.open else {
            return String::new();
        };
        let rest = self.held();
        let end = if self.fences.begins_line { "" } else { "\n" };
        *self = Self::default();
        // A list with code in it, and a line that ends both; or, in the code, a line of it, its end, and a line behind it.
        format!("{rest}{end}- …\n  {}\n…\n\n", fence.line())
    }

    fn held(&mut self) -> String {
        self.inert.push(&self.fences.finish()) + &self.inert.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str) -> String {
        let mut markdown = Markdown::default();
        let shown = markdown.push(text);
        shown + &markdown.finish()
    }

    #[test]
    fn fences_stand_at_the_margin_and_are_closed() {
        for (text, expected) in [
            // What is as it should be stays.
            ("a\n\n```rs\nlet a;\n```\nb", "a\n\n```rs\nlet a;\n```\nb"),
            (
                "~~~~ a`b\n~~~\n```\n![](u)\n~~~~\nb",
                "~~~~ a`b\n~~~\n```\n![](u)\n~~~~\nb",
            ),
            (
                "`a` and ``b``, ```c``` and\n```d``` too",
                "`a` and ``b``, ```c``` and\n```d``` too",
            ),
            ("- a\n- *b*\n1. `c`\n> d\n", "- a\n- *b*\n1. `c`\n> d\n"),
            ("**`a`**\n-```\n2.5```", "**`a`**\n-```\n2.5```"),
            // In lists.
            ("- one\n  ```sh\n  x\n  ```\n- two", "- one\n```sh\n  x\n```\n- two"),
            ("1. one\n\n\t~~~\n\tx\n\t~~~\n2. two", "1. one\n\n~~~\n\tx\n~~~\n2. two"),
            ("- ```sh\n  x\n  ```\n", "\n-\n```sh\n  x\n```\n"),
            ("  3) - ~~~\n       x\n       ~~~", "\n  3) -\n~~~\n       x\n~~~"),
            // In quotations, with which they end.
            ("> ```\n> x\n> ```\n> y", "\n>\n```\n> x\n```\n> y"),
            ("> ~~~\n> x\n\n![](u)", "\n>\n~~~\n> x\n~~~\n\n![]\\(u)"),
            ("> ~~~\ny", "\n>\n~~~\n~~~\ny"),
            // What is left open is closed by its own mark.
            ("```\nx", "```\nx\n```\n"),
            ("````a\n```\n", "````a\n```\n````\n"),
            ("~~~", "~~~\n~~~\n"),
            ("- one\n  ~~~\n  x\n\nI look.", "- one\n~~~\n  x\n\nI look.\n~~~\n"),
            ("```\nx\n    ```", "```\nx\n    ```\n```\n"),
            ("```\nx\n\t```", "```\nx\n    ```\n```\n"),
            ("```\nx\n``` \u{a0}\n![](u)", "```\nx\n```\n![]\\(u)"),
            ("```\nx\n   `````\ny", "```\nx\n`````\ny"),
            ("```\nx\n~~~\n``\n``` y\n", "```\nx\n~~~\n``\n``` y\n```\n"),
        ] {
            assert_eq!(whole(text), expected, "{text:?}");
            // What was made so stays so.
            assert_eq!(whole(expected).trim(), expected.trim(), "{text:?}");
        }
    }

    #[test]
    fn code_that_is_broken_off_is_closed_and_opens_again() {
        let mut markdown = Markdown::default();
        assert_eq!(markdown.push("a\n  ```sh\nx"), "a\n```sh\nx");
        assert_eq!(markdown.pause(), "\n```\n");
        assert_eq!(markdown.pause(), "");
        assert_eq!(markdown.push("![](u)\n```\n[a](u"), "```\n![](u)\n```\n[a]");
        assert_eq!(markdown.pause(), "\\(u");
        assert_eq!(markdown.push("```\ny"), "```\ny");
        assert_eq!(markdown.finish(), "\n```\n");
        assert_eq!(markdown.finish(), "");
        assert_eq!(markdown.push("~~~\nx"), "~~~\nx");
        assert_eq!(markdown.leave(), "\n- …\n  ~~~\n\n…\n\n");
        assert_eq!(markdown.push("![](u)"), "![]\\(u)");
        assert_eq!(markdown.leave(), "");
    }

    proptest! {
        /// However it is cut, and whatever it says: the same comes out, and its code is closed for a reader who knows fences at
        /// the margin only.
        #[test]
        fn nothing_is_left_open(
            text in "([a-c \n>~`.-]|```|~~~|\n```|\n~~~|\n  ```|\n- ```|\n> ```|1\\. |\t){0,30}",
            cut in 0..60usize,
        ) {
            let at = text.char_indices().nth(cut).map_or(text.len(), |(at, _)| at);
            let mut pieces = Markdown::default();
            let cut = pieces.push(&text[..at]) + &pieces.push(&text[at..]) + &pieces.finish();
            let shown = whole(&text);
            prop_assert_eq!(&cut, &shown);
            let mut open: Option<(char, usize)> = None;
            for line in shown.lines() {
                let indent = line.len() - line.trim_start_matches(' ').len();
                let line = line.trim_start_matches(' ');
                let mark = line.chars().next().unwrap_or_default();
                let run = line.chars().take_while(|c| *c == mark).count();
                let rest = line.get(run..).unwrap_or_default();
                let is_fence = matches!(mark, '`' | '~') && run >= 3 && indent < 4;
                open = match open {
                    Some((kind, length)) if is_fence && mark == kind && run >= length && rest.trim().is_empty() => None,
                    None if is_fence && (mark == '~' || !rest.contains('`')) => {
                        prop_assert_eq!(indent, 0, "{:?}", shown);
                        Some((mark, run))
                    }
                    open => open,
                };
            }
            prop_assert_eq!(open, None, "{:?} of {:?}", shown, text);
        }
    }
}
