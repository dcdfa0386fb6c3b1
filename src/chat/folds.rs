//! What of a document can be folded.

use super::document::{Chat, Role, lines};

/// A foldable range of lines, counted from 0, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    pub first: usize,
    pub last: usize,
    /// What a reader wants out of the way first.
    pub aside: bool,
}

/// What can be folded: the header, every section but the one that is written in, the parts, and fenced code.
pub fn folds(chat: &Chat<'_>) -> Vec<Fold> {
    let starts: Vec<usize> = lines(chat.text).map(|line| line.start).collect();
    let line_of = |byte: usize| starts.partition_point(|start| *start <= byte).saturating_sub(1);
    let mut folds = Vec::new();
    let mut fold = |from: usize, to: usize, aside: bool| {
        let text = chat.text[from..to].trim_end();
        let (first, last) = (line_of(from), line_of(from + text.len().saturating_sub(1)));
        if last > first {
            folds.push(Fold { first, last, aside });
        }
    };
    if chat.header.is_some() {
        fold(
            chat.text.len() - chat.text.trim_start_matches('\u{feff}').len(),
            chat.start,
            true,
        );
    }
    for (index, section) in chat.sections.iter().enumerate() {
        if section.role == Role::You && index + 1 == chat.sections.len() {
            continue;
        }
        fold(section.head.start, section.body.end, false);
        if section.role == Role::Agent {
            for part in chat.parts(section) {
                let end = part_end(chat.text, &part.body);
                fold(
                    part.head.start,
                    end,
                    part.title == "Thinking" || part.title.contains("ommand"),
                );
            }
        }
    }
    folds
}

/// Where a part ends: what the agent says after its last fence and note is the answer again.
fn part_end(text: &str, body: &std::ops::Range<usize>) -> usize {
    let mut open: Option<usize> = None;
    let mut end = None;
    for line in lines(&text[body.clone()]) {
        let words = text[body.start + line.start..body.start + line.end].trim_end();
        let run = words.len() - words.trim_start_matches('`').len();
        match open {
            Some(length) if run >= length && words.len() == run => {
                open = None;
                end = Some(body.start + line.end);
            }
            None if run >= 3 => open = Some(run),
            // A quote, or our own last words on it.
            None if words.starts_with('>') => end = Some(body.start + line.end),
            None if words.starts_with('*') && words.ends_with('*') => end = Some(body.start + line.end),
            _ => {}
        }
    }
    match (open, end) {
        (None, Some(end)) => end,
        _ => body.end,
    }
}
