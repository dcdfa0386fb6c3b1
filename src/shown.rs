//! Text of others as a person may see it: nothing in it hides, nothing turns the rest round, nothing imitates a line of ours.
//! One function decides, by the properties that Unicode gives to characters, for every surface there is; what a character's
//! neighbors make visible (an emoji sequence, a joiner inside a word) stays as it is.
//!
//! The plugins for VS Code and Neovim have [`text`] and [`lines`] once more, for what they show by themselves: on tables and a
//! corpus that the tests write (`shown/twins`).
//!
//! [`alike`] says what looks like something else, [`inert`] takes from Markdown what is loaded by being shown, [`Markdown`]
//! knows besides where its code ends, and [`envelope`] keeps text inside the tags in which a model gets it. Who shows what is
//! left to others.

pub mod alike;
pub mod envelope;
mod fences;
mod inert;
#[cfg(test)]
mod twins;
mod visible;

pub use fences::Markdown;
pub use inert::inert;
pub use visible::{Visible, is_hidden, is_mark};

/// Markdown that comes in pieces: what hides is shown, nothing is loaded by being shown, and no code is left open.
#[derive(Clone, Debug)]
pub struct Eyes {
    visible: Visible,
    markdown: Markdown,
}

impl Default for Eyes {
    fn default() -> Self {
        Self {
            visible: Visible::prose(),
            markdown: Markdown::default(),
        }
    }
}

impl Eyes {
    /// The next piece. What depends on what follows comes with it.
    pub fn push(&mut self, piece: &str) -> String {
        self.markdown.push(&self.visible.push(piece))
    }

    /// What is still held back, and the end of what is open. What comes after that is another text.
    pub fn finish(&mut self) -> String {
        self.held() + &self.markdown.finish()
    }

    /// The same, where another text comes between.
    pub fn pause(&mut self) -> String {
        self.held() + &self.markdown.pause()
    }

    /// The same, where what follows may be shown as another text.
    pub fn leave(&mut self) -> String {
        self.held() + &self.markdown.leave()
    }

    fn held(&mut self) -> String {
        self.markdown.push(&self.visible.finish())
    }
}

/// The same of a whole text.
pub fn markdown(text: &str) -> String {
    let mut eyes = Eyes::default();
    let mut shown = eyes.push(text);
    shown.push_str(&eyes.finish());
    shown
}

/// Text of several lines, Markdown or not. Line ends of every kind become `\n`, tabs stay.
pub fn prose(text: &str) -> String {
    let mut visible = Visible::prose();
    let mut shown = visible.push(text);
    shown.push_str(&visible.finish());
    shown
}

/// Text for a place of one line, such as a title: every run of blanks and line ends is one blank.
pub fn line(text: &str) -> String {
    whole(Visible::line(), text)
}

/// What a person decides on (a name, an address, a command): one line in which no two texts look the same for their blanks,
/// their line ends or what does not show.
pub fn exact(text: &str) -> String {
    whole(Visible::exact(), text)
}

/// Blanks and tabs that indent a line of what a person decides on.
const MOST_INDENT: usize = 40;

/// The same of several lines: each is as [`exact`] has it, but for what indents it.
pub fn lines(text: &str) -> String {
    let line = |line: &str| {
        let rest = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - rest.len();
        match rest.is_empty() || indent > MOST_INDENT {
            true => exact(line),
            false => line[..indent].to_owned() + &exact(rest),
        }
    };
    let lines: Vec<_> = text.split('\n').map(line).collect();
    lines.join("\n")
}

/// A name that somebody else has chosen, between backticks: they stand around all of it, since its own are shown by their number.
pub fn code(name: &str) -> String {
    format!("`{}`", exact(name).replace('`', "<U+0060>"))
}

/// Characters of a name in a sentence of ours.
const MOST_NAME: usize = 120;

/// The same, cut where it is long: for a name that says which one is meant, and is not itself decided on.
pub fn short_code(name: &str) -> String {
    let cut = |at: usize| format!("{}…", &name[..at]);
    match name.char_indices().nth(MOST_NAME) {
        Some((at, _)) => code(&cut(at)),
        None => code(name),
    }
}

/// A path in a sentence of ours: between backticks where it could pass for more of the sentence.
pub fn path_in_words(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    match text.contains([' ', '`']) {
        true => code(&text),
        false => line(&text),
    }
}

fn whole(mut visible: Visible, text: &str) -> String {
    let mut shown = visible.push(text);
    shown.push_str(&visible.finish());
    shown
}

/// Whether something in a text hides, or its marks hide it.
pub fn hides(text: &str) -> bool {
    !text.is_ascii() && whole(Visible::word(), text) != text || text.chars().any(|c| c.is_ascii_control())
}

/// Whether a text has in it what stands here for characters that hide, or for blanks, so that it would look like a text with those.
pub fn imitates(text: &str) -> bool {
    let is_notation = |rest: &str| {
        let Some((inner, _)) = rest.split_once('>') else {
            return false;
        };
        let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
        let is_count = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let blanks = inner.strip_suffix(" blanks").or_else(|| inner.strip_suffix(" blank"));
        inner.strip_prefix("U+").is_some_and(is_number) || blanks.is_some_and(is_count)
    };
    text.match_indices('<').any(|(at, _)| is_notation(&text[at + 1..]))
}

/// Text of several lines in which blanks, line ends and tabs stay as they are.
pub fn text(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(|line| marked(line).0).collect();
    lines.join("\n")
}

/// A unified diff with what hides in its lines shown. Where all lines of a file end in the same way, that stays out of sight;
/// where they do not, each carriage return is shown, since it may be all that a change is about.
pub fn diff(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut file = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("diff --git ") {
            put_file(&file, &mut shown);
            file.clear();
        }
        file.push(line);
    }
    put_file(&file, &mut shown);
    shown
}

/// The lines of one file's diff: its heads, and from the first `@@` on what is in the file, each with its sign.
fn put_file(lines: &[&str], shown: &mut String) {
    let heads = lines.iter().take_while(|line| !line.starts_with("@@ ")).count();
    let in_file = lines[heads..]
        .iter()
        .copied()
        .filter(|line| line.starts_with(['+', '-', ' ']));
    let (windows, unix): (Vec<&str>, Vec<&str>) = in_file.partition(|line| line.ends_with("\r\n"));
    let is_mixed = !windows.is_empty() && !unix.is_empty();
    for line in lines {
        match line.strip_suffix("\r\n") {
            Some(rest) if !is_mixed => {
                shown.push_str(&text(rest));
                shown.push_str("\r\n");
            }
            _ => shown.push_str(&text(line)),
        }
    }
}

/// A line of a file with what hides in it shown, and whether something was; tabs and blanks stay.
fn marked(line: &str) -> (String, bool) {
    let shown: Vec<_> = line.split('\t').map(|part| whole(Visible::word(), part)).collect();
    let shown = shown.join("\t");
    let hid = shown != line;
    (shown, hid)
}

/// The same of a path.
pub fn path(path: &std::path::Path) -> String {
    exact(&path.to_string_lossy())
}

/// All texts of a value, keys too, with what hides in them shown; line ends and tabs stay, for whoever writes them as escapes.
pub fn value(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(in_json(text)),
        Value::Array(all) => Value::Array(all.iter().map(self::value).collect()),
        Value::Object(all) => Value::Object(all.iter().map(|(key, one)| (in_json(key), self::value(one))).collect()),
        other => other.clone(),
    }
}

/// Whoever reads the JSON has the characters themselves again, so the escapes of JSON hide nothing; a client may print them to
/// a terminal.
fn in_json(text: &str) -> String {
    let stays = |c: char| c == '\n' || c == '\t';
    let parts = text.split_inclusive(stays);
    let shown = parts.map(|part| match part.chars().next_back() {
        Some(last) if stays(last) => {
            let rest = &part[..part.len() - 1];
            whole(Visible::word(), rest) + &part[part.len() - 1..]
        }
        _ => whole(Visible::word(), part),
    });
    shown.collect()
}
