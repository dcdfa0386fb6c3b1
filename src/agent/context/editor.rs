//! What the editor shows at the moment of asking: the file that is looked at, the selection, problems, open files, and
//! where the person has edited since their last message. Bounded, without what is kept from the model, and without what the
//! person has switched off.

use super::mentioned::{cut, fence_for, size};
use super::place::Ground;
use super::{Told, lines_in_words};
use crate::agent::prompt;
use crate::protocol::item::{LineRange, SentContext, SentContextKind};
use crate::protocol::settings::{EditorContextChange, EditorContextSettings};
use crate::protocol::turn::{EditorContext, EditorDiagnostic};
use crate::shown::envelope;
use std::fmt::Write;
use std::path::Path;

/// How the message begins.
pub(in crate::agent) const OPENING: &str = "<editor_context>";
/// Files that are named.
const MOST_FILES: usize = 30;
const MOST_PROBLEMS: usize = 50;
/// Bytes of one problem's words.
const MOST_OF_PROBLEM: usize = 600;
const MOST_EDITS: usize = 12;
/// Bytes of the selected text.
const MOST_OF_SELECTION: usize = 12 << 10;

/// Tells of the editor as far as it is not switched off. `since` is the last edit that the model was told of; the last one
/// that there was is given back.
pub(super) fn read(
    context: &EditorContext,
    settings: EditorContextSettings,
    since: u64,
    ground: &Ground<'_>,
    told: &mut Told,
) -> u64 {
    let wanted = settings.with(left_out(context));
    let mut text = String::new();
    let mut sent = |kind, label: String, path: Option<&Path>, line_range, bytes| {
        told.sent.push(SentContext {
            kind,
            label,
            path: path.map(Path::to_owned),
            line_range,
            bytes,
            note: None,
        });
    };
    let active = context
        .active_file
        .as_deref()
        .filter(|path| ground.reader.may_read(path));
    if let Some(path) = active.filter(|_| wanted.active_file) {
        let line = format!("Active file: {}\n", ground.short(path));
        sent(
            SentContextKind::ActiveFile,
            ground.short(path),
            Some(path),
            None,
            size(&line),
        );
        text.push_str(&line);
    }
    if let Some(lines) = context.selection.filter(|_| wanted.selection)
        && (active.is_some() || context.active_file.is_none())
    {
        let mut part = match active.filter(|_| !wanted.active_file) {
            Some(path) => format!("Selected: {} of {}\n", lines_in_words(lines), ground.short(path)),
            None => format!("Selected: {}\n", lines_in_words(lines)),
        };
        if let Some(selected) = active.and_then(|path| selected(ground, path, lines)) {
            let kept = cut(&selected, MOST_OF_SELECTION);
            let fence = fence_for(kept);
            let rest = if kept.len() < selected.len() {
                "(the rest is left out)\n"
            } else {
                ""
            };
            let end = if kept.ends_with('\n') { "" } else { "\n" };
            let _ = write!(part, "{fence}\n{kept}{end}{fence}\n{rest}");
        }
        sent(
            SentContextKind::Selection,
            lines_in_words(lines),
            active,
            Some(lines),
            size(&part),
        );
        text.push_str(&part);
    }
    if wanted.diagnostics {
        let lines = diagnostics(&context.diagnostics, ground);
        if !lines.is_empty() {
            let part = lines.concat();
            let label = counted(lines.len(), "problem");
            sent(SentContextKind::Diagnostics, label, None, None, size(&part));
            text.push_str(&part);
        }
    }
    if wanted.open_files {
        let open: Vec<String> = open_files(ground);
        if !open.is_empty() {
            let more = open.len().saturating_sub(MOST_FILES);
            let more = if more > 0 {
                format!(", and {more} more")
            } else {
                String::new()
            };
            let named = &open[..open.len().min(MOST_FILES)];
            let part = format!("Open files: {}{more}\n", named.join(", "));
            sent(
                SentContextKind::OpenFiles,
                counted(open.len(), "open file"),
                None,
                None,
                size(&part),
            );
            text.push_str(&part);
        }
    }
    let (edits, last) = ground.workspace.edits_since(since);
    if wanted.recent_edits {
        let edits = edits
            .iter()
            .filter(|edit| ground.reader.may_read(&edit.path))
            .take(MOST_EDITS);
        let places: Vec<String> = edits
            .map(|edit| {
                format!(
                    "{} {}",
                    ground.short(&edit.path),
                    lines_in_words(LineRange {
                        start: edit.lines.start,
                        end: edit.lines.end
                    })
                )
            })
            .collect();
        if !places.is_empty() {
            let part = format!("Edited since the last message, newest first: {}\n", places.join("; "));
            sent(
                SentContextKind::RecentEdits,
                counted(places.len(), "recent edit"),
                None,
                None,
                size(&part),
            );
            text.push_str(&part);
        }
    }
    if !text.is_empty() {
        let text = format!("{OPENING}\n{}</editor_context>", envelope::inside(&text));
        told.messages.push(prompt::message("user", text));
    }
    last
}

/// What is not told this time.
fn left_out(context: &EditorContext) -> EditorContextChange {
    let off = |kind| context.leave_out.contains(&kind).then_some(false);
    EditorContextChange {
        active_file: off(SentContextKind::ActiveFile),
        selection: off(SentContextKind::Selection),
        open_files: off(SentContextKind::OpenFiles),
        diagnostics: off(SentContextKind::Diagnostics),
        recent_edits: off(SentContextKind::RecentEdits),
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The text of lines of a file as the person sees it; nothing where there are none.
fn selected(ground: &Ground<'_>, path: &Path, lines: LineRange) -> Option<String> {
    let text = ground.workspace.read_judged(path, ground.reader).ok()?.text;
    let count = lines.end.checked_sub(lines.start)? as usize;
    let lines = text.split_inclusive('\n').skip(lines.start as usize).take(count);
    Some(lines.collect::<String>()).filter(|text| !text.trim().is_empty())
}

fn open_files(ground: &Ground<'_>) -> Vec<String> {
    let documents = ground.workspace.documents();
    let files = documents
        .iter()
        .filter_map(|document| Some((document, document.path()?)));
    let files = files.filter(|(_, path)| ground.reader.may_read(path));
    files
        .map(|(document, path)| {
            let unsaved = if document.differs_from_disk() {
                " (unsaved changes)"
            } else {
                ""
            };
            format!("{}{unsaved}", ground.short(path))
        })
        .collect()
}

/// One line for each problem.
pub(super) fn diagnostics(all: &[EditorDiagnostic], ground: &Ground<'_>) -> Vec<String> {
    let seen = all.iter().filter(|diagnostic| ground.reader.may_read(&diagnostic.path));
    let line = |diagnostic: &EditorDiagnostic| {
        let source = diagnostic.source.as_deref().map(|source| format!(" [{source}]"));
        let code = diagnostic.code.as_deref().map(|code| format!(" ({code})"));
        format!(
            "{}{}{} in {}, {}: {}\n",
            diagnostic.severity,
            source.unwrap_or_default(),
            code.unwrap_or_default(),
            ground.short(&diagnostic.path),
            lines_in_words(diagnostic.range),
            cut(diagnostic.message.trim(), MOST_OF_PROBLEM).trim_end()
        )
    };
    let mut lines: Vec<String> = seen.map(line).collect();
    let more = lines.len().saturating_sub(MOST_PROBLEMS);
    lines.truncate(MOST_PROBLEMS);
    if more > 0
        && let Some(last) = lines.last_mut()
    {
        let _ = writeln!(last, "({more} more problems are left out)");
    }
    lines
}
