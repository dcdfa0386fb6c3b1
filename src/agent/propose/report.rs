//! What became of a proposal, in words for the model and for the person.

use crate::agent::apply::{FileResult, HunkResult, Outcome};
use crate::agent::turn::Turn;
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::ProposalStatus;
use std::fmt::Write;

/// What became of each hunk, exactly, for the model and for the person.
pub(super) fn report(turn: &Turn, outcome: &Outcome, feedback: &[String], auto_approved: bool) -> String {
    let mut text = String::new();
    let hunks = || outcome.files.iter().flat_map(|file| &file.hunks);
    let count = |result: HunkResult| hunks().filter(|hunk| hunk.result == result).count();
    let total = hunks().count();
    match (&outcome.status, &outcome.error) {
        (_, Some(error)) => {
            let _ = writeln!(text, "{error}");
        }
        (ProposalStatus::Applied, None) if count(HunkResult::Taken) == total => {
            text.push_str(match auto_approved {
                true => "Success. The policy lets this be changed without asking; it is in the files:\n",
                false => "Success. The person accepted the whole patch; it is in the files:\n",
            });
        }
        (ProposalStatus::Applied, None) => {
            let _ = writeln!(
                text,
                "Taken in part: {} of {total} hunks are in the files.",
                count(HunkResult::Taken)
            );
        }
        (ProposalStatus::Rejected, None) => {
            text.push_str("The person rejected the patch; no file was changed.\n");
        }
        (_, None) => text.push_str("Nothing was changed.\n"),
    }
    if total == 0 || outcome.status != ProposalStatus::Rejected {
        for file in &outcome.files {
            describe(&mut text, turn, file);
        }
    }
    for words in feedback {
        let _ = writeln!(text, "The person says: {}", words.trim());
    }
    text.truncate(text.trim_end().len());
    text
}

fn describe(text: &mut String, turn: &Turn, file: &FileResult) {
    let name = turn.short_name(&file.path);
    let taken = file
        .hunks
        .iter()
        .filter(|hunk| hunk.result == HunkResult::Taken)
        .count();
    if taken > 0 {
        let (letter, name) = match &file.kind {
            FileChangeKind::Add => ("A", name.clone()),
            FileChangeKind::Delete => ("D", name.clone()),
            FileChangeKind::Update { move_path: Some(to) } => ("M", format!("{name} -> {}", turn.short_name(to))),
            FileChangeKind::Update { move_path: None } => ("M", name.clone()),
        };
        let unsaved = if file.in_editor {
            " (in the editor, unsaved)"
        } else {
            ""
        };
        let _ = writeln!(text, "{letter} {name}{unsaved}");
    }
    if taken == file.hunks.len() {
        return;
    }
    for (number, hunk) in file.hunks.iter().enumerate() {
        let result = match hunk.result {
            HunkResult::Taken => "taken",
            HunkResult::Rejected => "rejected by the person",
            HunkResult::Conflict => "not taken: the text it would replace has changed since; read the file again",
            HunkResult::NotApplied => "not applied",
        };
        let _ = writeln!(text, "  {name} hunk {} (line {}): {result}", number + 1, hunk.line + 1);
    }
}
