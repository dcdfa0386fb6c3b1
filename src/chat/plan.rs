//! Where something new goes in a document as it is at this moment. Only ever something is put in, never anything taken away,
//! but for values of the header that a command of the person's changes.

use super::document::{AGENT, Chat, Role, YOU};
use super::text;
use std::ops::Range;

/// One thing that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Values of the header, those that are missing.
    Header(Vec<(&'static str, String)>),
    /// A value of the header in the place of the one that is there.
    Set(&'static str, String),
    /// The person's words were sent: the agent's section begins behind them, and a new place to write behind that.
    Sent { words: String, tag: Option<String> },
    /// Words that were said elsewhere, and the agent's section behind them; above what the person is writing.
    Said { words: Option<String>, tag: Option<String> },
    /// More of a turn's answer. What begins a line begins with a line end.
    More { tag: Option<String>, text: String },
}

/// Changes of a text, by places in the text as it was; ordered, none overlapping another.
pub type Edits = Vec<(Range<usize>, String)>;

/// What has to change in a text for all of this to be in it. All line ends are those of the document.
pub fn edits(text: &str, writes: &[Write]) -> Edits {
    let mut draft = Draft::new(text);
    let newline = Chat::read(text).newline();
    for write in writes {
        let now = draft.text();
        let chat = Chat::read(&now);
        match write {
            Write::Header(fields) => header(&chat, fields, newline, &mut draft),
            Write::Set(key, value) => set(&chat, key, value, newline, &mut draft),
            Write::Sent { words, tag } => sent(&chat, words, tag.as_deref(), newline, &mut draft),
            Write::Said { words, tag } => said(&chat, words.as_deref(), tag.as_deref(), newline, &mut draft),
            Write::More { tag, text } => more(&chat, tag.as_deref(), text, newline, &mut draft),
        }
    }
    draft.edits
}

/// A text with changes, of which each knows where it lies in the text without them.
struct Draft<'a> {
    base: &'a str,
    edits: Edits,
}

impl<'a> Draft<'a> {
    fn new(base: &'a str) -> Self {
        Self {
            base,
            edits: Vec::new(),
        }
    }

    fn text(&self) -> String {
        apply(self.base, &self.edits)
    }

    /// Puts something in at a place of the changed text.
    fn insert(&mut self, at: usize, new: &str) {
        // Places in the changed text, less what the edits so far have added before.
        let (mut shifted, mut base) = (0, 0);
        for (index, (range, text)) in self.edits.iter_mut().enumerate() {
            let begin = shifted + (range.start - base);
            if at < begin {
                let place = base + (at - shifted);
                self.edits.insert(index, (place..place, new.to_owned()));
                return;
            }
            if at <= begin + text.len() {
                text.insert_str(at - begin, new);
                return;
            }
            shifted = begin + text.len();
            base = range.end;
        }
        let place = base + (at - shifted);
        self.edits.push((place..place, new.to_owned()));
    }

    /// Replaces what stands in a range of the changed text. What was put in there before is replaced with it.
    fn replace(&mut self, range: Range<usize>, new: &str) {
        // Where the edits lie in the changed text.
        let (mut shifted, mut base) = (0, 0);
        let mut spans = Vec::with_capacity(self.edits.len());
        for (old, text) in &self.edits {
            let begin = shifted + (old.start - base);
            spans.push(begin..begin + text.len());
            (shifted, base) = (begin + text.len(), old.end);
        }
        let place = |at: usize| {
            let before = spans.iter().rposition(|span| span.end <= at);
            before.map_or(at, |index| self.edits[index].0.end + (at - spans[index].end))
        };
        let first = spans.iter().position(|span| span.end > range.start);
        let first = first.unwrap_or(spans.len());
        let behind = spans.iter().rposition(|span| span.start < range.end);
        let behind = behind.map_or(first, |last| (last + 1).max(first));
        let (mut start, mut end) = (None, None);
        let (mut kept_before, mut kept_behind) = (String::new(), String::new());
        for index in first..behind {
            let (old, text) = &self.edits[index];
            if let Some(kept) = range.start.checked_sub(spans[index].start) {
                text[..kept].clone_into(&mut kept_before);
                start = Some(old.start);
            }
            if spans[index].end >= range.end {
                text[range.end - spans[index].start..].clone_into(&mut kept_behind);
                end = Some(old.end);
            }
        }
        let place = start.unwrap_or_else(|| place(range.start))..end.unwrap_or_else(|| place(range.end));
        self.edits
            .splice(first..behind, [(place, format!("{kept_before}{new}{kept_behind}"))]);
    }
}

/// A text with its edits made.
pub fn apply(text: &str, edits: &Edits) -> String {
    let mut new = String::with_capacity(text.len() + edits.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut at = 0;
    for (range, put) in edits {
        new.push_str(&text[at..range.start]);
        new.push_str(put);
        at = range.end;
    }
    new.push_str(&text[at..]);
    new
}

/// With the line ends of the document.
fn ended(text: &str, newline: &str) -> String {
    match newline {
        "\n" => text.to_owned(),
        other => text.replace('\n', other),
    }
}

fn header(chat: &Chat<'_>, fields: &[(&'static str, String)], newline: &str, draft: &mut Draft<'_>) {
    let missing = fields.iter().filter(|(key, _)| chat.field(key).is_none());
    let Some(header) = &chat.header else {
        let lines: String = missing.map(|(key, value)| format!("{key}: {value}\n")).collect();
        if !lines.is_empty() {
            draft.insert(chat.start, &ended(&format!("---\n{lines}---\n\n"), newline));
        }
        return;
    };
    let (empty, absent): (Vec<_>, Vec<_>) =
        missing.partition(|(key, _)| header.fields.iter().any(|field| field.key == *key));
    let lines: String = absent.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    // From below, so that the places above stay right.
    if !lines.is_empty() {
        draft.insert(header.close, &ended(&lines, newline));
    }
    let mut empty: Vec<_> = empty
        .iter()
        .filter_map(|(key, value)| Some((header.fields.iter().find(|field| field.key == *key)?.at.start, value)))
        .collect();
    empty.sort();
    for (at, value) in empty.into_iter().rev() {
        let blank = if chat.text[..at].ends_with(':') { " " } else { "" };
        draft.insert(at, &format!("{blank}{value}"));
    }
}

fn set(chat: &Chat<'_>, key: &'static str, value: &str, newline: &str, draft: &mut Draft<'_>) {
    let field = chat.header.as_ref().and_then(|header| {
        let mut fields = header.fields.iter();
        fields.find(|field| field.key == key && !field.at.is_empty())
    });
    match field {
        Some(field) if field.value == value => {}
        Some(field) => draft.replace(field.at.clone(), value),
        None => header(chat, &[(key, value.to_owned())], newline, draft),
    }
}

fn agent(tag: Option<&str>) -> String {
    match tag {
        Some(tag) => format!("{AGENT} · {tag}"),
        None => AGENT.to_owned(),
    }
}

fn sent(chat: &Chat<'_>, words: &str, tag: Option<&str>, newline: &str, draft: &mut Draft<'_>) {
    let headed = !chat.sections.is_empty();
    let Some(composer) = chat.composer() else {
        // The person has taken their place away while it was sent.
        return said(chat, Some(words), tag, newline, draft);
    };
    let body = &chat.text[composer.clone()];
    let begin = composer.start + (body.len() - body.trim_start().len());
    let agent = agent(tag);
    if chat.text[begin..composer.end].starts_with(words) && !words.is_empty() {
        let at = begin + words.len();
        let rest = &chat.text[at..composer.end];
        // What is typed on stays where the person writes.
        let end = if rest.starts_with(['\n', '\r']) { "" } else { "\n" };
        let closing = text::closing(words);
        draft.insert(at, &ended(&format!("{closing}\n\n{agent}\n\n\n{YOU}\n{end}"), newline));
        if !headed {
            draft.insert(begin, &ended(&format!("{YOU}\n\n"), newline));
        }
        return;
    }
    // Changed since: what was sent goes above, and what is there now is the next message.
    let safe = text::words(words) + &text::closing(words);
    let (before, after) = if headed {
        ("\n".to_owned(), YOU)
    } else {
        (format!("{YOU}\n\n"), YOU)
    };
    let broken = if headed && !chat.text[..composer.start].ends_with(['\n', '\r']) {
        "\n"
    } else {
        ""
    };
    draft.insert(
        composer.start,
        &ended(&format!("{broken}{before}{safe}\n\n{agent}\n\n\n{after}\n\n"), newline),
    );
}

fn said(chat: &Chat<'_>, words: Option<&str>, tag: Option<&str>, newline: &str, draft: &mut Draft<'_>) {
    let mut section = String::new();
    if let Some(words) = words {
        let closing = text::closing(words);
        section.push_str(&format!("{YOU}\n\n{}{closing}\n\n", text::words(words).trim_end()));
    }
    section.push_str(&format!("{}\n\n\n", agent(tag)));
    match chat.sections.last() {
        Some(last) if last.role == Role::You => draft.insert(last.head.start, &ended(&section, newline)),
        // A document without headings is all words of the person's.
        None if !chat.words().is_empty() => {
            let text = &chat.text[chat.start..];
            let begin = chat.start + (text.len() - text.trim_start().len());
            draft.insert(begin, &ended(&format!("{section}{YOU}\n\n"), newline));
        }
        _ => {
            let gap = gap(chat.text);
            draft.insert(chat.text.len(), &ended(&format!("{gap}{section}{YOU}\n\n"), newline));
        }
    }
}

/// What puts a blank line before what follows.
fn gap(text: &str) -> &'static str {
    let lines = text.replace("\r\n", "\n");
    match () {
        () if lines.is_empty() || lines.ends_with("\n\n") => "",
        () if lines.ends_with('\n') => "\n",
        () => "\n\n",
    }
}

fn more(chat: &Chat<'_>, tag: Option<&str>, new: &str, newline: &str, draft: &mut Draft<'_>) {
    let Some(section) = chat.answer(tag) else {
        // The person has taken it out; what is still to come is theirs all the same.
        said(chat, None, tag, newline, draft);
        let now = draft.text();
        let chat = Chat::read(&now);
        return match chat.answer(tag) {
            Some(_) => more(&chat, tag, new, newline, draft),
            None => tracing::error!("a section that was put in is not found again"),
        };
    };
    let body = &chat.text[section.body.clone()];
    let kept = body.trim_end();
    let at = section.body.start + kept.len();
    let is_last = section.body.end == chat.text.len();
    // Behind what the person has written or taken away, the rest of a line must not become a heading.
    let begins_line = new.starts_with('\n');
    let (before, new) = match kept.is_empty() {
        true => ("", new.trim_start_matches('\n')),
        false => (kept.rsplit(['\n', '\r']).next().unwrap_or_default(), new),
    };
    let first = new.split('\n').next().unwrap_or_default();
    let escape = if !begins_line && text::is_structural(&format!("{before}{first}")) {
        "\\"
    } else {
        ""
    };
    let headed = chat.text[section.head.clone()].ends_with(['\n', '\r']);
    let gap = match (kept.is_empty(), headed) {
        (true, true) => "\n",
        (true, false) => "\n\n",
        (false, _) => "",
    };
    let mut put = format!("{gap}{escape}{new}");
    if is_last {
        put.push_str(&format!("\n\n{YOU}\n"));
        if !body[kept.len()..].starts_with(['\n', '\r']) {
            put.push('\n');
        }
    } else if !body[kept.len()..].contains(['\n', '\r']) {
        // Where the person has taken the blank lines away, the heading that follows still begins a line.
        put.push_str("\n\n");
    }
    draft.insert(at, &ended(&put, newline));
}
