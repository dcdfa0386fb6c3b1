//! Text of others on its way into a document: without what terminals and readers would take for more than text, and with no
//! line that could be one of our headings. It comes in pieces, and how it is cut changes nothing.

/// How the lines that give a document its shape begin.
pub const MARKS: [&str; 3] = ["## ❯", "## ◆", "### ◆"];

/// Whether a line, without its end, gives the document its shape.
pub fn is_structural(line: &str) -> bool {
    MARKS.iter().any(|mark| line.starts_with(mark))
}

/// Takes out control sequences and characters that change how the rest is read; every line end becomes `\n`.
#[derive(Clone, Debug, Default)]
pub struct Cleaner {
    state: State,
    /// A carriage return came, and what follows is not known yet.
    returned: bool,
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
            if std::mem::take(&mut self.returned) {
                clean.push('\n');
                if c == '\n' {
                    continue;
                }
            }
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
        clean
    }

    fn text(&mut self, c: char, clean: &mut String) {
        match c {
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Control,
            '\r' => self.returned = true,
            '\n' | '\t' => clean.push(c),
            '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => clean.push('\n'),
            // What turns the direction of the line round, and a mark that hides in front of it.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {}
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
}

/// Puts a backslash before what would be one of our headings. Holds back only a beginning of a line that may still become one.
#[derive(Clone, Debug, Default)]
pub struct Escaper {
    cleaner: Cleaner,
    /// The beginning of the line, while it may become a mark.
    held: String,
    /// What came last was not at the beginning of a line.
    inside: bool,
}

impl Escaper {
    pub fn push(&mut self, piece: &str) -> String {
        let mut safe = String::with_capacity(piece.len());
        for c in self.cleaner.push(piece).chars() {
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

    /// What is still held back, at the end.
    pub fn finish(&mut self) -> String {
        self.inside = false;
        std::mem::take(&mut self.held)
    }
}

/// Quotes a text, line by line: no line of it begins one of ours.
#[derive(Clone, Debug, Default)]
pub struct Quoter {
    cleaner: Cleaner,
    inside: bool,
}

impl Quoter {
    /// What comes next begins a line.
    pub fn begin_line(&mut self) {
        self.inside = false;
    }

    pub fn push(&mut self, piece: &str) -> String {
        let mut quoted = String::with_capacity(piece.len() + 2);
        for c in self.cleaner.push(piece).chars() {
            if !std::mem::replace(&mut self.inside, c != '\n') {
                quoted.push_str(if c == '\n' { ">" } else { "> " });
            }
            quoted.push(c);
        }
        quoted
    }
}

/// A whole text, made safe.
pub fn safe(text: &str) -> String {
    let mut escaper = Escaper::default();
    let safe = escaper.push(text);
    safe + &escaper.finish()
}

/// A text for a place inside a line: one line, no more than so many characters, and nothing that ends code or a link.
pub fn inline(text: &str, most: usize) -> String {
    let clean = Cleaner::default().push(text);
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'");
    match words.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words,
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
    let text = safe(text);
    let fence = fence_for(&text);
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}{info}\n{text}{end}{fence}\n")
}

/// The fence that a Markdown text leaves open at its end.
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
            None if run >= 3 && (mark == '~' || !rest.contains('`')) => open = Some((mark, run)),
            _ => {}
        }
    }
    open.map(|(mark, length)| mark.to_string().repeat(length))
}
