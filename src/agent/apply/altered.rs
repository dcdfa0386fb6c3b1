//! What an editor has made of a change beyond the change: a formatter that ran over it.

use super::Step;
use crate::patch::diff::unified_diff;
use crate::patch::hunk::hunks;
use crate::patch::rebase::{Conflict, Rebased, rebase};
use crate::workspace::{Judge, Workspace};
use std::path::Path;

/// Lines of the difference that are told.
const MOST_LINES: usize = 60;

/// Whether an open document holds another text than was planned. An editor may send a change in pieces, the last of them a while later.
pub(super) fn differs((workspace, reader): (&Workspace, &dyn Judge), step: &Step) -> bool {
    let Some(then) = step.then.as_deref().filter(|_| step.document.is_some()) else {
        return false;
    };
    let path = step.move_to.as_ref().unwrap_or(&step.path);
    let now = workspace.read_judged(path, reader);
    now.is_ok_and(|now| now.text != as_shown(then, &now.text))
}

/// The difference between what was planned for an open document and what is there, where the lines of the change are
/// concerned. What the person typed elsewhere is theirs, and none of it.
pub(super) fn altered((workspace, reader): (&Workspace, &dyn Judge), cwd: &Path, step: &Step) -> Option<String> {
    let then = step.then.as_deref().filter(|_| step.document.is_some())?;
    let path = step.move_to.as_ref().unwrap_or(&step.path);
    let now = workspace.read_judged(path, reader).ok()?.text;
    let then = as_shown(then, &now);
    if now == then || is_whole(step.now.as_deref().unwrap_or_default(), then, &now) {
        return None;
    }
    let diff = unified_diff(path, cwd, Some(then), Some(&now), None);
    let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
    let mut text: Vec<&str> = lines.take(MOST_LINES + 1).collect();
    if text.len() > MOST_LINES {
        text[MOST_LINES] = "... and more";
    }
    Some(text.join("\n"))
}

/// A text without the byte-order mark, which editors do not show and keep beside the text.
fn as_shown<'t>(text: &'t str, now: &str) -> &'t str {
    match text.strip_prefix('\u{feff}') {
        Some(rest) if !now.starts_with('\u{feff}') => rest,
        _ => text,
    }
}

/// Whether each line of a change is in the text just as it was planned; there may be more.
pub(super) fn is_whole(before: &str, then: &str, now: &str) -> bool {
    let there = Rebased::Conflict {
        why: Conflict::AlreadyThere,
    };
    rebase(before, &hunks(before, then), now)
        .iter()
        .all(|hunk| *hunk == there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::opened::All;

    #[test]
    fn a_byte_order_mark_that_an_editor_hides_is_no_difference() {
        let document = |text: &str| {
            let workspace = Workspace::new();
            workspace.open("file:///w/a.txt", Some("/w/a.txt".into()), "", 1, text);
            workspace
        };
        let altered = |before: &str, then: &str, now: &str| {
            let workspace = document(now);
            let step = Step {
                index: 0,
                path: "/w/a.txt".into(),
                now: Some(before.to_owned()),
                then: Some(then.to_owned()),
                move_to: None,
                document: workspace.document(Path::new("/w/a.txt")),
                mode: None,
                then_mode: None,
                whole: None,
                kept: None,
            };
            altered((&workspace, &All), Path::new("/w"), &step).is_some()
        };
        assert!(!altered("\u{feff}one\n", "\u{feff}two\n", "two\n"));
        assert!(!altered("\u{feff}one\n", "\u{feff}two\n", "\u{feff}two\n"));
        assert!(!altered("one\n", "\u{feff}two\n", "two\n"));
        assert!(altered("one\n", "two\n", "three\n"));
        assert!(altered("\u{feff}one\n", "\u{feff}two\n", "three\n"));
    }

    /// Whether a change was made must not hang on how fast the machine is just now: a text that somebody has rewritten for
    /// the most part is compared as exactly as any other.
    #[test]
    fn a_change_in_a_text_that_is_rewritten_around_it_counts_as_made() {
        let text = |left: &str, middle: &str| {
            let line = |at: usize| match at {
                20_000 => format!("{middle}\n"),
                19_900..=20_100 => format!("kept {at}\n"),
                _ => format!("{left} {at} {}\n", at % 7),
            };
            (0..40_000).map(line).collect::<String>()
        };
        let (before, then) = (text("a", "one"), text("a", "two"));
        assert!(is_whole(&before, &then, &text("b", "two")));
        assert!(!is_whole(&before, &then, &text("b", "one")));
    }
}
