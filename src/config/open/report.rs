//! What is wrong with an open file, with the place.

use super::statements::{Statement, end_of_line, skip_blanks, statements};
use crate::config::Loaded;
use std::ops::Range;
use std::path::Path;
use toml::de::DeTable;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing in the file counts.
    Error,
    /// This does not count.
    Warning,
    /// It is right, and does nothing.
    Hint,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// In bytes.
    pub span: Range<usize>,
    pub message: String,
    pub severity: Severity,
}

/// What is wrong with the text of the file that is known by this name; `loaded` is the configuration with that text in it.
pub fn reports(text: &str, path: &Path, loaded: &Loaded) -> Vec<Report> {
    let broken = broken(text);
    if !broken.is_empty() {
        return broken;
    }
    let statements = statements(text);
    let starts = starts(text);
    let warnings = loaded.warnings.iter().map(|warning| (warning, Severity::Warning));
    let notes = loaded.notes.iter().map(|note| (note, Severity::Hint));
    let here = warnings
        .chain(notes)
        .filter(|(told, _)| told.path.as_deref() == Some(path));
    let mut reports: Vec<Report> = here
        .map(|(told, severity)| Report {
            span: place(text, &statements, &starts, told.line, &told.message),
            message: told.message.clone(),
            severity,
        })
        .collect();
    reports.sort_by_key(|report| report.span.start);
    reports.dedup();
    reports
}

/// Why the text is no TOML.
fn broken(text: &str) -> Vec<Report> {
    let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let (_, errors) = DeTable::parse_recoverable(&text[mark..]);
    let report = |error: toml::de::Error| {
        let span = error.span().unwrap_or(text.len() - mark..text.len() - mark);
        let (mut start, mut end) = ((span.start + mark).min(text.len()), (span.end + mark).min(text.len()));
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        // A place without a width is hard to see.
        if end <= start {
            let line = end_of_line(text, start);
            end = text[start..line]
                .chars()
                .next()
                .map_or(start, |letter| start + letter.len_utf8());
        }
        let message = error.message().trim().replace('\n', "; ");
        Report {
            span: start..end,
            message: format!(
                "This is not valid TOML, so nothing in the file takes effect: {}.",
                message.trim_end_matches('.')
            ),
            severity: Severity::Error,
        }
    };
    errors.into_iter().map(report).collect()
}

fn starts(text: &str) -> Vec<usize> {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).collect()
}

/// The place that a message about a line speaks of: the key, or its value.
fn place(text: &str, statements: &[Statement], starts: &[usize], line: Option<u32>, message: &str) -> Range<usize> {
    let start = line
        .and_then(|line| starts.get(line.saturating_sub(1) as usize))
        .copied()
        .unwrap_or(0);
    let end = end_of_line(text, start);
    let words = skip_blanks(text, start).min(end)..start + text[start..end].trim_end().len();
    let whole = words.start..words.end.max(words.start);
    let Some(statement) = statements.iter().find(|one| one.lines.start == start) else {
        return whole;
    };
    let about = message.split('`').nth(1).unwrap_or_default();
    let name = about.rsplit('.').next().unwrap_or_default();
    let of_key = [
        "is not a known key",
        "cannot set",
        "can set",
        "cannot stand",
        "another name",
        "known but not used",
        "known, but has no effect",
    ];
    if of_key.iter().any(|words| message.contains(words)) {
        let part = statement.parts.iter().rev().find(|part| part.name == name);
        // In an inline table it stands further on.
        let inner = || {
            let value = statement.value.clone()?;
            let at = text[value.clone()].find(name).filter(|_| !name.is_empty())?;
            Some(value.start + at..value.start + at + name.len())
        };
        return part
            .map(|part| part.span.clone())
            .or_else(inner)
            .unwrap_or_else(|| statement.key());
    }
    match &statement.value {
        // What a project may not set is the whole of it.
        Some(value) if about.contains(" = ") => statement.key().start..end_of_line(text, start).min(value.end),
        Some(value) if !value.is_empty() => value.start..value.end.min(end).max(value.start),
        _ if statement.is_header => statement.key(),
        _ => whole,
    }
}
