//! A person's text for a hunk, made to fit its file: line ends as the file has them, and one at the end where more follows.

use crate::patch::count_lines;
use crate::patch::plan::FilePlan;

const BOM: char = '\u{feff}';

/// What goes into the file for what the person wrote. What they meant is kept: only ends of lines are changed.
pub(super) fn fitting(planned: &FilePlan, number: usize, text: &str) -> String {
    let hunk = &planned.hunks[number];
    let before = planned.before.as_deref().unwrap_or_default();
    // For a new file, the model's own.
    let end = match uniform_end(before) {
        Some(end) => Some(end),
        None if before.is_empty() => uniform_end(&hunk.new_text),
        // Lines that end in several ways stay as they are written.
        None => None,
    };
    let mut fitting = match end {
        Some(end) => with_ends(text, end),
        None => text.to_owned(),
    };
    let at_start = hunk.old.start == 0 && hunk.old_text.starts_with(BOM);
    if at_start && hunk.new_text.starts_with(BOM) && !fitting.starts_with(BOM) {
        fitting.insert(0, BOM);
    }
    let finished = |text: &str| text.ends_with(['\n', '\r']);
    let more_follows = planned.before.is_some() && hunk.old.end < count_lines(before);
    let was_finished = match hunk.new_text.is_empty() {
        true => finished(&hunk.old_text),
        false => finished(&hunk.new_text),
    };
    if !fitting.is_empty() && !finished(&fitting) && (more_follows || was_finished) {
        fitting.push_str(end.unwrap_or_else(|| last_end(&hunk.old_text).unwrap_or("\n")));
    }
    fitting
}

/// The one way in which all lines end, if there is one.
fn uniform_end(text: &str) -> Option<&'static str> {
    let (mut lf, mut crlf, mut cr) = (false, false, false);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' if at > 0 && bytes[at - 1] == b'\r' => crlf = true,
            b'\n' => lf = true,
            b'\r' if bytes.get(at + 1) != Some(&b'\n') => cr = true,
            _ => {}
        }
    }
    match (lf, crlf, cr) {
        (true, false, false) => Some("\n"),
        (false, true, false) => Some("\r\n"),
        (false, false, true) => Some("\r"),
        _ => None,
    }
}

fn last_end(text: &str) -> Option<&'static str> {
    if text.ends_with("\r\n") {
        Some("\r\n")
    } else if text.ends_with('\n') {
        Some("\n")
    } else if text.ends_with('\r') {
        Some("\r")
    } else {
        None
    }
}

fn with_ends(text: &str, end: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    // A lone return is an end of a line only where the file has such.
    let plain = if end == "\r" { plain.replace('\r', "\n") } else { plain };
    match end {
        "\n" => plain,
        end => plain.replace('\n', end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::hunk::hunks;
    use crate::protocol::item::FileChangeKind;

    #[test]
    fn a_persons_text_gets_the_ends_of_its_file() {
        let rows: &[(&str, &str, &str, &str)] = &[
            ("a\nb\nc\n", "a\nB\nc\n", "x\ny", "x\ny\n"),
            ("a\nb\nc\n", "a\nB\nc\n", "x\r\ny\r\n", "x\ny\n"),
            ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n", "x\ny\n", "x\r\ny\r\n"),
            ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n", "x\r\ny", "x\r\ny\r\n"),
            ("a\rb\rc\r", "a\rB\rc\r", "x\ny", "x\ry\r"),
            // Several kinds of ends: as it was written, but never run into the next line.
            ("a\nb\r\nc\n", "a\nB\r\nc\n", "x\ny", "x\ny\r\n"),
            // The end of a file that has no last line end.
            ("a\nb", "a\nB", "x", "x"),
            ("a\nb", "a\nB", "x\n", "x\n"),
            ("a\nb\n", "a\nB\n", "x", "x\n"),
            // Nothing at all stays nothing.
            ("a\nb\nc\n", "a\nB\nc\n", "", ""),
            // A deletion that becomes a change.
            ("a\nb\nc\n", "a\nc\n", "x", "x\n"),
            ("a\nb\n", "a\n", "x", "x\n"),
            ("\u{feff}a\nb\n", "\u{feff}A\nb\n", "x", "\u{feff}x\n"),
            ("\u{feff}a\nb\n", "\u{feff}A\nb\n", "\u{feff}x", "\u{feff}x\n"),
        ];
        for (before, after, text, expected) in rows {
            let planned = FilePlan {
                path: "/a".into(),
                kind: FileChangeKind::Update { move_path: None },
                before: Some((*before).to_owned()),
                after: Some((*after).to_owned()),
                whole: None,
                hunks: hunks(before, after),
                mode: None,
                folders: Vec::new(),
            };
            assert_eq!(fitting(&planned, 0, text), *expected, "{before:?} {text:?}");
        }
    }

    #[test]
    fn a_new_file_keeps_the_ends_that_the_model_gave_it() {
        for (content, text, expected) in [
            ("a\nb\n", "x\r\ny", "x\ny\n"),
            ("a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"),
            ("a", "x", "x"),
            ("", "x", "x"),
        ] {
            let planned = FilePlan {
                path: "/a".into(),
                kind: FileChangeKind::Add,
                before: None,
                after: Some(content.to_owned()),
                whole: None,
                hunks: vec![crate::patch::hunk::PlannedHunk {
                    old: 0..0,
                    old_text: String::new(),
                    new_text: content.to_owned(),
                }],
                mode: None,
                folders: Vec::new(),
            };
            assert_eq!(fitting(&planned, 0, text), expected, "{content:?} {text:?}");
        }
    }
}
