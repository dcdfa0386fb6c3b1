//! What an editor has made of a change beyond the change: a formatter that ran over it.

use super::Step;
use crate::patch::diff::unified_diff;
use crate::patch::hunk::hunks;
use crate::patch::rebase::{Conflict, Rebased, rebase};
use crate::workspace::Workspace;
use std::path::Path;

/// Lines of the difference that are told.
const MOST_LINES: usize = 60;

/// The difference between what was planned for an open document and what is there, where the lines of the change are
/// concerned. What the person typed elsewhere is theirs, and none of it.
pub(super) fn altered(workspace: &Workspace, cwd: &Path, step: &Step) -> Option<String> {
    let then = step.then.as_deref().filter(|_| step.document.is_some())?;
    let path = step.move_to.as_ref().unwrap_or(&step.path);
    let now = workspace.read(path).ok()?.text;
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
            };
            altered(&workspace, Path::new("/w"), &step).is_some()
        };
        assert!(!altered("\u{feff}one\n", "\u{feff}two\n", "two\n"));
        assert!(!altered("\u{feff}one\n", "\u{feff}two\n", "\u{feff}two\n"));
        assert!(!altered("one\n", "\u{feff}two\n", "two\n"));
        assert!(altered("one\n", "two\n", "three\n"));
        assert!(altered("\u{feff}one\n", "\u{feff}two\n", "three\n"));
    }
}
