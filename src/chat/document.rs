//! What a chat document holds: the header between two `---`, then sections, each under a heading of ours, the person's words at
//! the end. What is above the first heading is nobody's; in a document without headings all of it is the person's words.

use std::ops::Range;

/// Heads what the person says.
pub const YOU: &str = "## ❯ You";
/// Heads what the agent says; the turn's tag follows.
pub const AGENT: &str = "## ◆ Agent";
/// Heads a part of what the agent says.
pub const PART: &str = "### ◆ ";
/// Digits of a turn's tag.
pub const TAG: usize = 8;

/// One line of the header: `key: value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub key: String,
    pub value: String,
    /// Where the value stands, without blanks; where it would stand, if there is none.
    pub at: Range<usize>,
}

/// The header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub fields: Vec<Field>,
    /// Where the closing line begins.
    pub close: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    You,
    Agent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub role: Role,
    /// Of the agent's: the turn.
    pub tag: Option<String>,
    /// The heading with its line end.
    pub head: Range<usize>,
    pub body: Range<usize>,
}

/// A part of an agent's section, up to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub title: String,
    pub head: Range<usize>,
    pub body: Range<usize>,
}

/// A document, read. Byte places in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat<'a> {
    pub text: &'a str,
    pub header: Option<Header>,
    /// Where the header ends; 0 (or behind a byte-order mark) without one.
    pub start: usize,
    pub sections: Vec<Section>,
}

/// Lines with their ends, as LSP counts them: `\n`, `\r\n` and `\r` end one.
pub fn lines(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        if rest.is_empty() {
            return None;
        }
        let end = match rest.find(['\n', '\r']) {
            None => rest.len(),
            Some(end) if rest[end..].starts_with("\r\n") => end + 2,
            Some(end) => end + 1,
        };
        at += end;
        Some(at - end..at)
    })
}

/// A line without its end.
pub fn bare(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

impl<'a> Chat<'a> {
    pub fn read(text: &'a str) -> Self {
        let begin = if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        let (header, start) = match header(text, begin) {
            Some((header, end)) => (Some(header), end),
            None => (None, begin),
        };
        let mut sections: Vec<Section> = Vec::new();
        for line in lines(&text[start..]) {
            let line = line.start + start..line.end + start;
            let Some((role, tag)) = heading(bare(&text[line.clone()])) else {
                continue;
            };
            if let Some(last) = sections.last_mut() {
                last.body.end = line.start;
            }
            sections.push(Section {
                role,
                tag,
                body: line.end..text.len(),
                head: line,
            });
        }
        Self {
            text,
            header,
            start,
            sections,
        }
    }

    /// A value of the header; nothing if it is empty.
    pub fn field(&self, key: &str) -> Option<&str> {
        let fields = &self.header.as_ref()?.fields;
        let field = fields.iter().find(|field| field.key == key)?;
        Some(field.value.as_str()).filter(|value| !value.is_empty())
    }

    /// Where the person writes: the last section if it is theirs, all of a document without sections.
    pub fn composer(&self) -> Option<Range<usize>> {
        match self.sections.last() {
            None => Some(self.start..self.text.len()),
            Some(last) => (last.role == Role::You).then(|| last.body.clone()),
        }
    }

    /// What the person has written there.
    pub fn words(&self) -> &'a str {
        self.composer().map_or("", |range| self.text[range].trim())
    }

    /// The last section of a turn's answer.
    pub fn answer(&self, tag: Option<&str>) -> Option<&Section> {
        let mut agents = self.sections.iter().rev();
        agents.find(|section| section.role == Role::Agent && section.tag.as_deref() == tag)
    }

    /// Line ends as the document has them.
    pub fn newline(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    /// The parts of a section.
    pub fn parts(&self, section: &Section) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for line in lines(&self.text[section.body.clone()]) {
            let line = line.start + section.body.start..line.end + section.body.start;
            let Some(title) = bare(&self.text[line.clone()]).strip_prefix(PART) else {
                continue;
            };
            if let Some(last) = parts.last_mut() {
                last.body.end = line.start;
            }
            parts.push(Part {
                title: title.trim().to_owned(),
                body: line.end..section.body.end,
                head: line,
            });
        }
        parts
    }
}

fn heading(line: &str) -> Option<(Role, Option<String>)> {
    let line = line.trim_end();
    if line == YOU {
        return Some((Role::You, None));
    }
    let rest = line.strip_prefix(AGENT)?;
    if rest.is_empty() {
        return Some((Role::Agent, None));
    }
    let tag = rest.strip_prefix(" · ")?;
    let is_tag = tag.len() == TAG && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some((Role::Agent, is_tag.then(|| tag.to_owned())))
}

/// The header and where the text after it begins.
fn header(text: &str, begin: usize) -> Option<(Header, usize)> {
    let mut lines = lines(&text[begin..]).map(|line| line.start + begin..line.end + begin);
    let first = lines.next()?;
    (text[first].trim_end() == "---").then_some(())?;
    let mut fields = Vec::new();
    for line in lines {
        let words = bare(&text[line.clone()]);
        if words.trim_end() == "---" {
            let close = line.start;
            return Some((Header { fields, close }, line.end));
        }
        // A heading of ours is in no header.
        if super::text::is_structural(words) {
            return None;
        }
        if let Some((key, value)) = words.split_once(':') {
            let from = line.start + key.len() + 1;
            let blanks = value.len() - value.trim_start().len();
            let value = value.trim();
            let at = from + blanks..from + blanks + value.len();
            fields.push(Field {
                key: key.trim().to_owned(),
                value: value.trim_matches(['"', '\'']).to_owned(),
                at,
            });
        }
    }
    None
}
