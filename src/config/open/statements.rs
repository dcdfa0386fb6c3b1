//! The statements of a TOML text by their places, also where the text is broken: what a parser gives up on is what is being
//! typed.

use std::ops::Range;

/// A part of a dotted key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) span: Range<usize>,
}

/// A header of a table, or a key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// The table that it stands in; of a header the top level.
    pub(super) table: Vec<String>,
    pub(super) parts: Vec<Part>,
    pub(super) is_header: bool,
    /// Behind the `=`, without the blanks and the comment.
    pub(super) value: Option<Range<usize>>,
    /// All its lines.
    pub(super) lines: Range<usize>,
}

impl Statement {
    /// The way to what it sets.
    pub(super) fn way(&self) -> Vec<String> {
        self.way_to(self.parts.len())
    }

    /// The way to what its first parts name.
    pub(super) fn way_to(&self, number: usize) -> Vec<String> {
        let parts = self.parts.iter().take(number).map(|part| part.name.clone());
        self.table.iter().cloned().chain(parts).collect()
    }

    /// All its parts.
    pub(super) fn key(&self) -> Range<usize> {
        match (self.parts.first(), self.parts.last()) {
            (Some(first), Some(last)) => first.span.start..last.span.end,
            _ => self.lines.start..self.lines.start,
        }
    }
}

/// All statements, in their order.
pub(super) fn statements(text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut table = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let line = at..end_of_line(text, at);
        let from = skip_blanks(text, at);
        match text[from..line.end].chars().next() {
            None | Some('#') => at = next_line(text, line.end),
            Some('[') => {
                let inner = from + text[from..line.end].chars().take_while(|letter| *letter == '[').count();
                let (parts, _) = parts(text, inner, line.end);
                table = parts.iter().map(|part| part.name.clone()).collect();
                at = next_line(text, line.end);
                found.push(Statement {
                    table: Vec::new(),
                    parts,
                    is_header: true,
                    value: None,
                    lines: line,
                });
            }
            Some(_) => {
                let (parts, behind) = parts(text, from, line.end);
                let equals = skip_blanks(text, behind);
                let value = text[equals..line.end]
                    .starts_with('=')
                    .then(|| value(text, skip_blanks(text, equals + 1)));
                let end = end_of_line(text, value.as_ref().map_or(line.end, |value| value.end));
                at = next_line(text, end);
                found.push(Statement {
                    table: table.clone(),
                    parts,
                    is_header: false,
                    value,
                    lines: line.start..end,
                });
            }
        }
    }
    found
}

/// The table whose entries stand at a place.
pub(super) fn table_at(statements: &[Statement], byte: usize) -> Vec<String> {
    let header = statements.iter().rfind(|one| one.is_header && one.lines.end < byte);
    header.map(Statement::way).unwrap_or_default()
}

pub(super) fn end_of_line(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |more| at + more);
    end - usize::from(end > at && text.as_bytes()[end - 1] == b'\r')
}

fn next_line(text: &str, end: usize) -> usize {
    text[end..].find('\n').map_or(text.len(), |more| end + more + 1)
}

pub(super) fn skip_blanks(text: &str, at: usize) -> usize {
    at + text[at..]
        .bytes()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count()
}

/// The parts of a key, and where they end. After a dot at the end there is one more, which is empty.
pub(super) fn parts(text: &str, from: usize, end: usize) -> (Vec<Part>, usize) {
    let mut found = Vec::new();
    let mut at = skip_blanks(text, from).min(end);
    loop {
        let rest = &text[at..end];
        let (name, length) = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inner = &rest[1..];
                let mut escaped = false;
                let close = inner.find(|letter| {
                    let closes = letter == quote && !escaped;
                    escaped = letter == '\\' && !escaped && quote == '"';
                    closes
                });
                match close {
                    Some(close) if quote == '"' => (unescaped(&inner[..close]), close + 2),
                    Some(close) => (inner[..close].to_owned(), close + 2),
                    None => (inner.trim_end().to_owned(), rest.trim_end().len()),
                }
            }
            _ => {
                let length = rest
                    .find(|letter: char| {
                        matches!(letter, '.' | '=' | ']' | '[' | '#' | '{' | '}' | ',') || letter.is_whitespace()
                    })
                    .unwrap_or(rest.len());
                (rest[..length].to_owned(), length)
            }
        };
        if length > 0 || !found.is_empty() {
            found.push(Part {
                name,
                span: at..at + length,
            });
        }
        let behind = skip_blanks(text, at + length).min(end);
        if length == 0 || !text[behind..end].starts_with('.') {
            return (found, at + length);
        }
        at = skip_blanks(text, behind + 1).min(end);
    }
}

fn unescaped(text: &str) -> String {
    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.to_owned())
}

/// The place of a value. One that is never closed ends with its line.
fn value(text: &str, from: usize) -> Range<usize> {
    let first_line = end_of_line(text, from);
    let end = closed(text, from).unwrap_or_else(|| {
        let comment = text[from..first_line].find(" #").map(|at| from + at);
        comment.unwrap_or(first_line)
    });
    from..from + text[from..end].trim_end().len()
}

/// Where a value ends: with its line, or before a comment, once all that it opens is closed.
fn closed(text: &str, from: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = from;
    while at < text.len() {
        let rest = &text[at..];
        let letter = rest.chars().next()?;
        match letter {
            '"' | '\'' => at += string(rest, letter)?,
            '[' | '{' => {
                depth += 1;
                at += 1;
            }
            ']' | '}' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            '\n' | '#' if depth == 0 => return Some(at),
            '#' => at = end_of_line(text, at),
            other => at += other.len_utf8(),
        }
    }
    (depth == 0).then_some(text.len())
}

/// The length of a string, quotes included.
pub(super) fn string(rest: &str, quote: char) -> Option<usize> {
    let triple = [quote; 3].iter().collect::<String>();
    if rest.starts_with(&triple) {
        return rest[3..].find(&triple).map(|at| at + 6);
    }
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            _ if letter == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_know_their_places() {
        let text = "a = 1 # one\r\n[t.\"x.y\"] # two\nb.c = [\n  'x', # ]\n  \"]\",\n]\n\nd = \"\"\"\n[no]\n\"\"\"\ne = { f = 1 }\nword\n[t.\n";
        let all = statements(text);
        let seen: Vec<(String, String, &str)> = all
            .iter()
            .map(|one| {
                let value = one.value.clone().map_or("", |value| &text[value]);
                (one.table.join("|"), one.way().join("|"), value)
            })
            .collect();
        let row = |table: &str, way: &str, value: &'static str| (table.to_owned(), way.to_owned(), value);
        assert_eq!(
            seen,
            [
                row("", "a", "1"),
                row("", "t|x.y", ""),
                row("t|x.y", "t|x.y|b|c", "[\n  'x', # ]\n  \"]\",\n]"),
                row("t|x.y", "t|x.y|d", "\"\"\"\n[no]\n\"\"\""),
                row("t|x.y", "t|x.y|e", "{ f = 1 }"),
                row("t|x.y", "t|x.y|word", ""),
                row("", "t|", ""),
            ]
        );
    }

    #[test]
    fn what_is_never_closed_ends_with_its_line() {
        for text in [
            "a = [1,\n[t]\nb = 1\n",
            "a = \"\"\"x\n[t]\nb = 1\n",
            "a = 'x\n[t]\nb = 1\n",
            "a = {\n[t]\nb = 1\n",
        ] {
            let ways: Vec<String> = statements(text).iter().map(|one| one.way().join(".")).collect();
            assert_eq!(ways, ["a", "t", "t.b"], "{text:?}");
        }
    }

    /// Whatever is typed: no panic, and all places lie in the text.
    #[test]
    fn any_text_has_statements() {
        let letters = [
            'a', '.', '=', '[', ']', '{', '}', '"', '\'', '#', '\n', '\r', '\\', 'é', ' ', ',',
        ];
        let mut seed = 1u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..(seed >> 40) % 24 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                text.push(letters[(seed >> 33) as usize % letters.len()]);
            }
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            for one in statements(&text) {
                assert!(
                    text.get(one.lines.clone()).is_some() && text.get(one.key()).is_some(),
                    "{text:?} {one:?}"
                );
                assert!(one.value.is_none_or(|value| text.get(value).is_some()), "{text:?}");
            }
        }
    }
}
