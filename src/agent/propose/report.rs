//! What became of a proposal, in words for the model and for the person.

use crate::agent::apply::{FileResult, HunkOutcome, HunkResult, Misfit, Outcome, Scope};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::ProposalStatus;
use std::fmt::Write;
use std::ops::Range;

/// Bytes of the text that is told of one hunk.
const MOST_TEXT: usize = 4 << 10;
/// Bytes of all such texts.
const MOST_TEXTS: usize = 24 << 10;

/// What became of each hunk, exactly, for the model and for the person.
pub(in crate::agent) fn report(scope: &Scope, outcome: &Outcome, feedback: &[String], auto_approved: bool) -> String {
    let hunks = || outcome.files.iter().flat_map(|file| &file.hunks);
    let count = |result: HunkResult| hunks().filter(|hunk| hunk.result == result).count();
    let total = hunks().count();
    let edited = hunks().any(|hunk| hunk.result == HunkResult::Taken && hunk.edited.is_some());
    let mut text = String::new();
    match (&outcome.status, &outcome.error) {
        (_, Some(error)) => {
            let _ = writeln!(text, "{error}");
        }
        (ProposalStatus::Applied, None) if count(HunkResult::Taken) < total => {
            let taken = count(HunkResult::Taken);
            let _ = writeln!(text, "Taken in part: {taken} of {total} hunks are in the files.");
        }
        (ProposalStatus::Applied, None) if edited => {
            text.push_str("Success. The person edited the patch and accepted it so; it is in the files:\n");
        }
        (ProposalStatus::Applied, None) if !auto_approved => {
            text.push_str("Success. The person accepted the whole patch; it is in the files:\n");
        }
        (ProposalStatus::Applied, None) => {
            text.push_str("Success. The policy lets this be changed without asking; it is in the files:\n");
        }
        (ProposalStatus::Rejected, None) => {
            text.push_str("The person rejected the patch; no file was changed.\n");
        }
        (_, None) => text.push_str("Nothing was changed.\n"),
    }
    // A patch that was rejected as a whole needs no list, unless there is more to say of its hunks.
    let says_more =
        |hunk: &HunkOutcome| hunk.feedback.is_some() || hunk.misfit.is_some() || hunk.result == HunkResult::Undone;
    if total == 0 || outcome.status != ProposalStatus::Rejected || hunks().any(says_more) {
        let mut told = Told {
            text: &mut text,
            room: MOST_TEXTS,
        };
        for file in &outcome.files {
            told.file(scope, file);
        }
    }
    for words in feedback {
        let _ = writeln!(text, "The person says: {}", words.trim());
    }
    text.truncate(text.trim_end().len());
    text
}

/// The part about the files.
struct Told<'a> {
    text: &'a mut String,
    /// Bytes of further texts.
    room: usize,
}

impl Told<'_> {
    fn file(&mut self, scope: &Scope, file: &FileResult) {
        let name = scope.short_name(&file.path);
        let taken = |hunk: &&HunkOutcome| hunk.result == HunkResult::Taken;
        let taken = file.hunks.iter().filter(taken).count();
        if taken > 0 {
            let (letter, name) = match &file.kind {
                FileChangeKind::Add => ("A", name.clone()),
                FileChangeKind::Delete => ("D", name.clone()),
                FileChangeKind::Update { move_path: Some(to) } => ("M", format!("{name} -> {}", scope.short_name(to))),
                FileChangeKind::Update { move_path: None } => ("M", name.clone()),
            };
            let unsaved = if file.in_editor {
                " (in the editor, unsaved)"
            } else {
                ""
            };
            let _ = writeln!(self.text, "{letter} {name}{unsaved}");
        }
        if let Some(altered) = &file.altered {
            let words = format!("{name} was changed further by the editor as it was applied (- planned, + there now):");
            self.quote(&words, altered);
        }
        let as_planned = |hunk: &HunkOutcome| hunk.result == HunkResult::Taken && hunk.edited.is_none();
        if file.hunks.iter().all(as_planned) {
            return;
        }
        let mut last_words = None;
        for (number, hunk) in file.hunks.iter().enumerate() {
            let place = format!("{name} hunk {} ({})", number + 1, in_words(&hunk.old));
            self.hunk(&place, hunk, &mut last_words);
        }
    }

    fn hunk<'h>(&mut self, place: &str, hunk: &'h HunkOutcome, last_words: &mut Option<&'h str>) {
        // Where it is now, if elsewhere.
        let now = match hunk.old.start == hunk.now.start || hunk.misfit.is_some() {
            true => String::new(),
            false => format!(" [line {} now]", hunk.now.start + 1),
        };
        match (&hunk.result, &hunk.edited) {
            (HunkResult::Taken, None) => self.line(place, &format!("taken{now}")),
            (HunkResult::Taken, Some(_)) if hunk.changes_nothing => {
                self.line(
                    place,
                    "taken as the person edited it: back to what was there, so nothing changes here",
                );
            }
            (HunkResult::Taken, Some(text)) if text.is_empty() => {
                self.line(place, "taken as the person edited it: the lines are removed");
            }
            (HunkResult::Taken, Some(text)) => {
                self.quote(&format!("{place}: taken as the person edited it{now}:"), text);
            }
            (HunkResult::Rejected, _) => {
                let words = match hunk.feedback.as_deref().map(str::trim) {
                    None => String::new(),
                    Some(words) if *last_words == Some(words) => ": the same words".to_owned(),
                    Some(words) => format!(": {words}"),
                };
                *last_words = hunk.feedback.as_deref().map(str::trim);
                self.line(place, &format!("rejected by the person{now}{words}"));
                if let Some(misfit) = &hunk.misfit {
                    self.misfit(place, "it could not have been taken: ", misfit);
                }
            }
            (HunkResult::Conflict, _) => match &hunk.misfit {
                Some(misfit) => self.misfit(place, "not taken: ", misfit),
                None => self.line(
                    place,
                    "not taken: it did not fit the text that the person was shown; propose it again if it is still wanted",
                ),
            },
            (HunkResult::NotApplied, _) => self.line(place, "not applied"),
            (HunkResult::Undone, _) => self.line(place, "taken, and undone in the file by the person since"),
        }
    }

    fn line(&mut self, place: &str, words: &str) {
        let _ = writeln!(self.text, "  {place}: {words}");
    }

    /// Why a hunk has no place, with what stands there, so that a new patch can be made without reading the file again.
    fn misfit(&mut self, place: &str, before: &str, misfit: &Misfit) {
        let why = &misfit.why;
        match &misfit.lines {
            None => self.line(place, &format!("{before}{why} since the patch was made")),
            Some(lines) if lines.trim().is_empty() => {
                self.line(
                    place,
                    &format!("{before}{why} (has changed since); no text stands there now"),
                );
            }
            Some(lines) => {
                let range = misfit.first..misfit.first + crate::patch::count_lines(lines);
                let words = format!("{place}: {before}{why} (has changed since); {} now:", in_words(&range));
                self.quote(&words, lines);
            }
        }
    }

    /// Words, and below them a text line by line, as far as there is room.
    fn quote(&mut self, words: &str, text: &str) {
        let _ = writeln!(self.text, "  {words}");
        let room = self.room.min(MOST_TEXT);
        let shown = &text[..text.floor_char_boundary(room)];
        self.room -= shown.len().min(self.room);
        for line in shown.lines() {
            let _ = writeln!(self.text, "    | {line}");
        }
        if shown.len() < text.len() {
            let _ = writeln!(
                self.text,
                "    ... {} bytes more; read the file",
                text.len() - shown.len()
            );
        }
    }
}

fn in_words(lines: &Range<usize>) -> String {
    match lines.len() {
        0 | 1 => format!("line {}", lines.start + 1),
        _ => format!("lines {}-{}", lines.start + 1, lines.end),
    }
}
