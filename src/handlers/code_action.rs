//! `textDocument/codeAction`: what the agent can do at a place. Only commands are offered, never edits, so that nothing
//! waits for a model.
//!
//! Editors run by themselves what they find under a kind that they ask for: on save, on format, on a timer, as their own
//! configuration or a project's says. So nothing of ours is offered to whoever asks for kinds, our kinds are a tree that is under
//! no kind of LSP, and they are not announced: an editor that repeats what was announced (Zed does) would ask for kinds where a
//! person asks for all. What decides, sends or takes back is offered only where a person opened the menu.

mod findings;
mod waiting;

use super::chat;
use super::command::{self, Place};
use super::prompt;
use crate::agent::clock;
use crate::lsp::convert;
use crate::protocol::item::LineRange;
use crate::protocol::turn::{EditorContext, EditorDiagnostic};
use crate::server::chats::is_chat;
use crate::server::presenter::{FINDINGS_SOURCE, again_title};
use crate::server::session::Session;
use crate::workspace::{Document, uri};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse, CodeActionTriggerKind,
    Command, Diagnostic, DiagnosticSeverity, NumberOrString, Range,
};
use serde::Serialize;
use std::path::Path;

/// Asks the agent to fix something.
pub const FIX: &str = "countersign.fix";
/// Asks the agent about a selection, or to rewrite it.
pub const REWRITE: &str = "countersign.rewrite";
/// Has something reviewed.
pub const REVIEW: &str = "countersign.review";
/// Shows something and changes nothing.
pub const SHOW: &str = "countersign.show";
/// Decides for the person: accepts, rejects, allows, answers, sends, dismisses.
pub const DECIDE: &str = "countersign.decide";
/// Stops, repeats or takes back what the agent does.
pub const CONTROL: &str = "countersign.control";

/// Source of our own hints. What is ours is not offered to be fixed as foreign diagnostics are.
pub const OWN_SOURCE: &str = "countersign";

/// What is at the cursor is taken down at once; what is offered is found aside, since it looks at files.
pub async fn actions(session: &Session, params: CodeActionParams) -> CodeActionResponse {
    let document = params.text_document.uri.as_str();
    let path = uri::to_path(document).ok().flatten();
    session.workspace().attend(document);
    if params.context.only.is_some() {
        return Vec::new();
    }
    let is_chat = session.workspace().document_by_uri(document).is_some() && path.as_deref().is_some_and(is_chat);
    if let Some(path) = path.as_ref().filter(|_| !is_chat) {
        let foreign = params.context.diagnostics.iter();
        let foreign = foreign.filter(|diagnostic| !is_own(diagnostic.source.as_deref()));
        session.chats().looked_at(EditorContext {
            active_file: Some(path.clone()),
            selection: selected_lines(params.range),
            diagnostics: foreign.map(|diagnostic| told(path, diagnostic)).collect(),
            leave_out: Vec::new(),
        });
    }
    let by_hand = params.context.trigger_kind != Some(CodeActionTriggerKind::AUTOMATIC);
    let session = session.clone();
    let found = tokio::task::spawn_blocking(move || {
        let mut actions = found(&session, &params, path.as_deref());
        actions.retain(|action| by_hand || is_harmless(action));
        shown(&session, actions)
    });
    found.await.unwrap_or_default()
}

/// Whether an editor may be told of it that asks by itself, to show that there is something.
fn is_harmless(action: &CodeAction) -> bool {
    let kind = action.kind.as_ref().map(CodeActionKind::as_str);
    kind.is_some_and(|kind| [FIX, REWRITE, REVIEW, SHOW].contains(&kind))
}

/// All that can be done at a place. Looks at files.
fn found(session: &Session, params: &CodeActionParams, path: Option<&Path>) -> Vec<CodeAction> {
    let document = params.text_document.uri.as_str();
    if let Some(open) = session.workspace().document_by_uri(document) {
        if chat::offers::chat(session, document).is_some() || chat::offers::page(session, &open).is_some() {
            return chat::offers::actions(session, &open, DECIDE);
        }
        if chat::threads::is_list(session, &open) {
            return in_list(&open, touched_lines(params.range));
        }
    }
    let mut actions = Vec::new();
    if let Some(path) = path {
        in_file(session, params, path, &mut actions);
    }
    // An editor that asks by itself, at each move of the cursor, is told of what lies there.
    if params.context.trigger_kind != Some(CodeActionTriggerKind::AUTOMATIC) {
        of_threads(session, &mut actions);
    }
    actions
}

/// What can be done with a conversation on one of these lines.
fn in_list(open: &Document, lines: LineRange) -> Vec<CodeAction> {
    let here = chat::threads::lenses(open).into_iter();
    let here = here.filter(|lens| (lines.start..lines.end).contains(&lens.range.start.line));
    let commands = here.filter_map(|lens| lens.command);
    let offered = commands.map(|command| CodeAction {
        title: command.title.clone(),
        kind: Some(CodeActionKind::from(DECIDE.to_owned())),
        command: Some(command),
        ..CodeAction::default()
    });
    offered.collect()
}

fn in_file(session: &Session, params: &CodeActionParams, path: &Path, actions: &mut Vec<CodeAction>) {
    let document = params.text_document.uri.as_str();
    let place = waiting::Place {
        path,
        uri: document,
        lines: touched_lines(params.range),
        by_hand: params.context.trigger_kind != Some(CodeActionTriggerKind::AUTOMATIC),
    };
    let here = waiting::here(session, &place);
    let mut nothing_here = here.is_empty();
    actions.extend(here);
    let found = findings::here(session, &place);
    nothing_here &= found.is_empty();
    actions.extend(found);
    actions.extend(fixes(document, path, &params.context.diagnostics));
    if nothing_here && place.by_hand {
        actions.extend(waiting::elsewhere(session, &place));
    }
    let place = |lines| Place {
        uri: document.to_owned(),
        lines,
        diagnostics: Vec::new(),
        instruction: None,
    };
    if let Some(selected) = selected_lines(params.range) {
        for (title, command) in [
            ("Ask agent to rewrite the selection…", command::REWRITE),
            ("Ask agent about the selection…", command::ASK),
        ] {
            actions.push(action(title, REWRITE, command, &place(Some(selected))));
        }
        for (title, call) in prompt::for_code(session, path, &place(Some(selected))) {
            actions.push(action(&title, REWRITE, command::PROMPT, &call));
        }
    }
    // Some editors give a server only its own diagnostics. Who asks by hand may mean one that we do not see; our plugins give all.
    let by_hand = params.context.trigger_kind == Some(CodeActionTriggerKind::INVOKED);
    let sees_all = session.client().can.plugin;
    if by_hand && !sees_all && params.context.diagnostics.is_empty() {
        let lines = place(Some(touched_lines(params.range)));
        actions.push(action("Fix problems here with agent", FIX, command::FIX, &lines));
    }
    let title = "Review this file with agent";
    actions.push(action(title, REVIEW, command::REVIEW_FILE, &place(None)));
    actions.extend(findings::reviews(session, document, path));
}

/// What can be done wherever the cursor is.
fn of_threads(session: &Session, actions: &mut Vec<CodeAction>) {
    let live = session.agent().live();
    if live.iter().any(|thread| thread.running().is_some()) {
        actions.push(action("Stop the agent", CONTROL, command::STOP, &()));
    }
    for thread in live {
        let which = super::thread::Which {
            thread_id: Some(thread.id().clone()),
        };
        if let Some(again) = thread.may_send_again() {
            let title = again_title(again.at_ms);
            let again = super::thread::Again::of(&thread, again.turn);
            actions.push(action(&title, CONTROL, command::SEND_AGAIN, &again));
        }
        if let Some(at) = thread.sends_at() {
            let title = format!("Do not send again at {}", clock(at));
            actions.push(action(&title, CONTROL, command::DO_NOT_SEND, &which));
        }
    }
    if !session.agent().services().terminals.running(None).is_empty() {
        let title = "Stop background terminals";
        actions.push(action(title, CONTROL, command::STOP_TERMINALS, &()));
    }
    if super::undo::live_to_undo(session).is_some_and(|thread| thread.running().is_none()) {
        actions.push(action("Agent: Undo last turn's changes", CONTROL, command::UNDO, &()));
        let title = "Agent: View changes of last turn";
        actions.push(action(title, SHOW, command::SHOW_DIFF, &()));
    }
}

/// As the client takes them.
fn shown(session: &Session, actions: Vec<CodeAction>) -> CodeActionResponse {
    let literals = session.client().can.code_action_literals;
    actions
        .into_iter()
        .filter_map(|action| match literals {
            true => Some(CodeActionOrCommand::CodeAction(action)),
            // Clients of the older kind take bare commands.
            false => action.command.map(CodeActionOrCommand::Command),
        })
        .collect()
}

fn is_own(source: Option<&str>) -> bool {
    matches!(source, Some(OWN_SOURCE | FINDINGS_SOURCE))
}

/// Every line that a range touches.
fn touched_lines(range: Range) -> LineRange {
    LineRange {
        start: range.start.line.min(range.end.line),
        end: range.start.line.max(range.end.line).saturating_add(1),
    }
}

/// The lines of a selection; nothing for a mere cursor. One that ends at the beginning of a line leaves that line out.
fn selected_lines(range: Range) -> Option<LineRange> {
    let (start, end) = (range.start.min(range.end), range.start.max(range.end));
    let whole_lines = end.character == 0 && end.line > start.line;
    (start != end).then(|| LineRange {
        start: start.line,
        end: end.line.saturating_add(u32::from(!whole_lines)),
    })
}

/// A code action that is a command.
fn action(title: &str, kind: &str, command: &str, argument: &impl Serialize) -> CodeAction {
    let argument = serde_json::to_value(argument).unwrap_or_default();
    let title = crate::shown::line(title);
    CodeAction {
        title: title.clone(),
        kind: Some(CodeActionKind::from(kind.to_owned())),
        command: Some(Command::new(title, command.to_owned(), Some(vec![argument]))),
        ..CodeAction::default()
    }
}

/// One fix for each foreign diagnostic, and one for all where there are several.
fn fixes(document: &str, path: &Path, diagnostics: &[Diagnostic]) -> Vec<CodeAction> {
    let foreign: Vec<_> = diagnostics
        .iter()
        .filter(|diagnostic| !is_own(diagnostic.source.as_deref()))
        .collect();
    let fix = |title: &str, of: &[&Diagnostic]| {
        let lines = of.first().map(|diagnostic| lines_of(diagnostic));
        let diagnostics = of.iter().map(|diagnostic| told(path, diagnostic)).collect();
        let place = Place {
            uri: document.to_owned(),
            lines,
            diagnostics,
            instruction: None,
        };
        let of = of.iter().map(|diagnostic| (*diagnostic).clone()).collect();
        CodeAction {
            diagnostics: Some(of),
            ..action(title, FIX, command::FIX, &place)
        }
    };
    match foreign.as_slice() {
        [] => Vec::new(),
        [one] => vec![fix("Fix with agent", &[one])],
        many => {
            let mut actions: Vec<_> = many
                .iter()
                .map(|one| fix(&format!("Fix with agent: {}", short(&one.message)), &[one]))
                .collect();
            actions.push(fix(&format!("Fix all {} problems here with agent", many.len()), many));
            actions
        }
    }
}

pub(super) fn short(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

fn lines_of(diagnostic: &Diagnostic) -> LineRange {
    let range = convert::range(diagnostic.range);
    LineRange {
        start: range.start.line,
        end: range.end.line.max(range.start.line).saturating_add(1),
    }
}

fn told(path: &Path, diagnostic: &Diagnostic) -> EditorDiagnostic {
    let severity = match diagnostic.severity {
        Some(DiagnosticSeverity::WARNING) => "warning",
        Some(DiagnosticSeverity::INFORMATION) => "information",
        Some(DiagnosticSeverity::HINT) => "hint",
        _ => "error",
    };
    EditorDiagnostic {
        path: path.to_owned(),
        range: lines_of(diagnostic),
        severity: severity.to_owned(),
        source: diagnostic.source.clone(),
        code: diagnostic.code.as_ref().map(|code| match code {
            NumberOrString::Number(number) => number.to_string(),
            NumberOrString::String(text) => text.clone(),
        }),
        message: diagnostic.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lsp_types::Position;

    fn range(start: (u32, u32), end: (u32, u32)) -> Range {
        Range::new(Position::new(start.0, start.1), Position::new(end.0, end.1))
    }

    #[test]
    fn a_selection_is_its_lines() {
        for (of, lines) in [
            (range((3, 1), (3, 1)), None),
            (range((3, 1), (3, 2)), Some((3, 4))),
            (range((3, 0), (5, 0)), Some((3, 5))),
            (range((3, 0), (5, 1)), Some((3, 6))),
            (range((5, 1), (3, 0)), Some((3, 6))),
            (range((u32::MAX, 1), (u32::MAX, 2)), Some((u32::MAX, u32::MAX))),
        ] {
            let lines = lines.map(|(start, end)| LineRange { start, end });
            assert_eq!(selected_lines(of), lines, "{of:?}");
        }
        assert_eq!(touched_lines(range((7, 0), (2, 3))), LineRange { start: 2, end: 8 });
    }
}
