//! Text of others on its way into a document: without what terminals and readers would take for more than text, with what hides
//! shown, with nothing that is loaded by being shown, and with no line that could be one of our headings. It comes in pieces, and
//! how it is cut changes nothing.

use crate::shown::{self, Markdown, Visible};

/// How the lines that give a document its shape begin.
pub const MARKS: [&str; 3] = ["## ❯", "## ◆", "### ◆"];

/// Whether a line, without its end, gives the document its shape.
pub fn is_structural(line: &str) -> bool {
    MARKS.iter().any(|mark| line.starts_with(mark))
}

/// Takes out control sequences of terminals, and shows what else would hide; every line end becomes `\n`.
#[derive(Clone, Debug)]
pub struct Cleaner {
    state: State,
    visible: Visible,
}

impl Default for Cleaner {
    fn default() -> Self {
        Self {
            state: State::default(),
            visible: Visible::prose(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Text,
    Escape,
    /// `ESC [ …` up to its letter.
    Control,
    /// `ESC ] …` and the like, up to BEL or `ESC \`.
    Command,
    CommandEscape,
}

impl Cleaner {
    pub fn push(&mut self, piece: &str) -> String {
        let mut clean = String::with_capacity(piece.len());
        for c in piece.chars() {
            match self.state {
                State::Text => self.text(c, &mut clean),
                State::Escape => {
                    self.state = match c {
                        '[' => State::Control,
                        ']' | 'P' | 'X' | '^' | '_' => State::Command,
                        ' '..='/' => State::Escape,
                        _ => State::Text,
                    };
                }
                State::Control if ('\u{40}'..='\u{7e}').contains(&c) => self.state = State::Text,
                // Broken off: what follows is text again.
                State::Control if c == '\n' => {
                    self.state = State::Text;
                    clean.push(c);
                }
                State::Control => {}
                State::Command | State::CommandEscape if c == '\n' => {
                    self.state = State::Text;
                    clean.push(c);
                }
                State::Command if c == '\u{7}' || c == '\u{9c}' => self.state = State::Text,
                State::Command if c == '\u{1b}' => self.state = State::CommandEscape,
                State::Command => {}
                State::CommandEscape => self.state = State::Text,
            }
        }
        self.visible.push(&clean)
    }

    /// What is still held back, at the end.
    pub fn finish(&mut self) -> String {
        self.visible.finish()
    }

    fn text(&mut self, c: char, clean: &mut String) {
        match c {
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Control,
            // What a terminal does with it, nobody reads.
            '\u{7}' | '\u{8}' | '\0' => {}
            c => clean.push(c),
        }
    }
}

/// Puts a backslash before what would be one of our headings. Holds back only what the next piece decides on.
#[derive(Clone, Debug, Default)]
pub struct Escaper {
    cleaner: Cleaner,
    /// For Markdown; nothing in a fence of ours is loaded.
    markdown: Option<Markdown>,
    /// The beginning of the line, while it may become a mark.
    held: String,
    /// What came last was not at the beginning of a line.
    inside: bool,
}

impl Escaper {
    /// For text that is read as Markdown.
    pub fn of_markdown() -> Self {
        Self {
            markdown: Some(Markdown::default()),
            ..Self::default()
        }
    }

    pub fn push(&mut self, piece: &str) -> String {
        let clean = self.cleaner.push(piece);
        let clean = match &mut self.markdown {
            Some(markdown) => markdown.push(&clean),
            None => clean,
        };
        self.escape(&clean)
    }

    fn escape(&mut self, clean: &str) -> String {
        let mut safe = String::with_capacity(clean.len());
        for c in clean.chars() {
            if self.inside {
                safe.push(c);
                self.inside = c != '\n';
                continue;
            }
            self.held.push(c);
            if MARKS.contains(&self.held.as_str()) {
                safe.push('\\');
            } else if MARKS.iter().any(|mark| mark.starts_with(self.held.as_str())) {
                continue;
            }
            safe.push_str(&self.held);
            self.held.clear();
            self.inside = c != '\n';
        }
        safe
    }

    /// What is still held back, and the end of what is open, at the end.
    pub fn finish(&mut self) -> String {
        self.end(Markdown::finish)
    }

    /// The same, where something else comes between.
    pub fn pause(&mut self) -> String {
        self.end(Markdown::pause)
    }

    fn end(&mut self, end: fn(&mut Markdown) -> String) -> String {
        let mut rest = self.cleaner.finish();
        if let Some(markdown) = &mut self.markdown {
            rest = markdown.push(&rest) + &end(markdown);
        }
        let safe = self.escape(&rest);
        self.inside = false;
        safe + &std::mem::take(&mut self.held)
    }
}

/// Quotes a text, line by line: no line of it begins one of ours.
#[derive(Clone, Debug, Default)]
pub struct Quoter {
    cleaner: Cleaner,
    markdown: Markdown,
    inside: bool,
}

impl Quoter {
    pub fn push(&mut self, piece: &str) -> String {
        let clean = self.markdown.push(&self.cleaner.push(piece));
        self.quote(&clean)
    }

    /// What is still held back, and the end of what is open, at the end of the text or of a part of it.
    pub fn finish(&mut self) -> String {
        let rest = self.markdown.push(&self.cleaner.finish()) + &self.markdown.finish();
        self.quote(&rest)
    }

    /// The same, where something else comes between. What follows begins a line.
    pub fn pause(&mut self) -> String {
        let rest = self.markdown.push(&self.cleaner.finish()) + &self.markdown.pause();
        let quoted = self.quote(&rest);
        self.inside = false;
        quoted
    }

    fn quote(&mut self, clean: &str) -> String {
        let mut quoted = String::with_capacity(clean.len() + 2);
        for c in clean.chars() {
            if !std::mem::replace(&mut self.inside, c != '\n') {
                quoted.push_str(if c == '\n' { ">" } else { "> " });
            }
            quoted.push(c);
        }
        quoted
    }
}

/// A whole text of Markdown, made safe.
pub fn safe(text: &str) -> String {
    whole(Escaper::of_markdown(), text)
}

/// The same behind words of ours on the same line.
pub fn safe_inline(text: &str) -> String {
    let safe = safe(&format!("x {text}"));
    safe.strip_prefix("x ").unwrap_or(&safe).to_owned()
}

/// A person's words, which stay as they wrote them but for what would be loaded.
pub fn words(text: &str) -> String {
    let mut cleaner = Cleaner::default();
    let clean = cleaner.push(text) + &cleaner.finish();
    in_fence(&shown::inert(&clean))
}

/// A whole text for a fence of ours.
pub fn in_fence(text: &str) -> String {
    whole(Escaper::default(), text)
}

fn whole(mut escaper: Escaper, text: &str) -> String {
    let safe = escaper.push(text);
    safe + &escaper.finish()
}

/// A text for a place inside a line: one line, no more than so many characters, and nothing that ends code or a link.
pub fn inline(text: &str, most: usize) -> String {
    let mut cleaner = Cleaner::default();
    let clean = cleaner.push(text) + &cleaner.finish();
    cut(shown::inert(&shown::line(&clean)).replace('`', "'"), most)
}

fn cut(words: String, most: usize) -> String {
    match words.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words,
    }
}

/// What a person decides on, inside a line: nothing of it is taken out, neither a control sequence nor its end.
pub fn decided(text: &str) -> String {
    shown::inert(&shown::line(text)).replace('`', "'")
}

/// The same as code, which nothing inside ends.
pub fn decided_code(text: &str) -> String {
    in_code(&shown::inert(&shown::line(text)))
}

/// A text as code, of no more than so many characters.
pub fn inline_code(text: &str, most: usize) -> String {
    let mut cleaner = Cleaner::default();
    let clean = cleaner.push(text) + &cleaner.finish();
    in_code(&cut(shown::inert(&shown::line(&clean)), most))
}

/// One line as code.
pub fn in_code(words: &str) -> String {
    let fence = "`".repeat(longest_run(words) + 1);
    match fence.len() {
        1 => format!("`{words}`"),
        _ => format!("{fence} {words} {fence}"),
    }
}

/// The longest run of backticks.
pub fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// A fence that nothing inside can close.
pub fn fence_for(text: &str) -> String {
    "`".repeat(longest_run(text).max(2) + 1)
}

/// Text in a fence, whole; ends with a line end.
pub fn fenced(info: &str, text: &str) -> String {
    let text = in_fence(text);
    let fence = fence_for(&text);
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}{info}\n{text}{end}{fence}\n")
}

/// What closes the code that a person's words leave open at the margin, so that nothing that others say ends it.
pub fn closing(words: &str) -> String {
    open_fence(words).map(|fence| format!("\n{fence}")).unwrap_or_default()
}

/// The fence at the margin that a text leaves open at its end.
pub fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let body = line.trim_start_matches(' ');
        let Some(mark) = body.chars().next().filter(|c| indent < 4 && matches!(c, '`' | '~')) else {
            continue;
        };
        let run = body.chars().take_while(|c| *c == mark).count();
        let rest = &body[run..];
        match open {
            Some((with, length)) if with == mark && run >= length && rest.trim().is_empty() => open = None,
            None if indent == 0 && run >= 3 && (mark == '~' || !rest.contains('`')) => open = Some((mark, run)),
            _ => {}
        }
    }
    open.map(|(mark, length)| mark.to_string().repeat(length))
}
