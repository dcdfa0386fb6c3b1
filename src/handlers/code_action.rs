//! `textDocument/codeAction`: what the agent can do at a place. Only commands are offered, never edits, so that nothing
//! waits for a model; and never under the kinds that editors run on save.

mod findings;
mod waiting;

use super::chat;
use super::command::{self, Place};
use super::prompt;
use crate::agent::clock;
use crate::lsp::convert;
use crate::protocol::item::LineRange;
use crate::protocol::turn::{EditorContext, EditorDiagnostic};
use crate::server::presenter::{FINDINGS_SOURCE, again_title};
use crate::server::session::Session;
use crate::workspace::uri;
use lsp_types::{
    CodeAction, CodeActionContext, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse,
    CodeActionTriggerKind, Command, Diagnostic, DiagnosticSeverity, NumberOrString, Range,
};
use serde::Serialize;
use std::path::Path;

pub const QUICKFIX: &str = "quickfix.countersign";
pub const REWRITE: &str = "refactor.rewrite.countersign";
pub const SOURCE: &str = "source.countersign";

/// The kinds, for the capabilities.
pub const KINDS: &[&str] = &[QUICKFIX, REWRITE, SOURCE];

/// Source of our own hints. What is ours is not offered to be fixed as foreign diagnostics are.
pub const OWN_SOURCE: &str = "countersign";

pub async fn actions(session: &Session, params: &CodeActionParams) -> CodeActionResponse {
    let document = params.text_document.uri.as_str();
    let path = uri::to_path(document).ok().flatten();
    let wanted = |kind: &str| is_wanted(kind, &params.context);
    let mut actions = Vec::new();
    session.workspace().attend(document);
    if let Some(open) = session
        .workspace()
        .document_by_uri(document)
        .filter(|_| wanted(QUICKFIX))
    {
        if chat::offers::chat(session, document).is_some() {
            actions = chat::offers::actions(session, &open, QUICKFIX);
            return shown(session, actions);
        }
        if chat::threads::is_list(session, &open) {
            let lines = touched_lines(params.range);
            let here = chat::threads::lenses(&open).into_iter();
            let here = here.filter(|lens| (lines.start..lines.end).contains(&lens.range.start.line));
            let commands = here.filter_map(|lens| lens.command);
            let offered = commands.map(|command| CodeAction {
                title: command.title.clone(),
                kind: Some(CodeActionKind::from(QUICKFIX.to_owned())),
                command: Some(command),
                ..CodeAction::default()
            });
            return shown(session, offered.collect());
        }
    }
    if let Some(path) = &path {
        let foreign = params.context.diagnostics.iter();
        let foreign = foreign.filter(|diagnostic| !is_own(diagnostic.source.as_deref()));
        session.chats().looked_at(EditorContext {
            active_file: Some(path.clone()),
            selection: selected_lines(params.range),
            diagnostics: foreign.map(|diagnostic| told(path, diagnostic)).collect(),
            leave_out: Vec::new(),
        });
        if wanted(QUICKFIX) {
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
        }
        let place = |lines| Place {
            uri: document.to_owned(),
            lines,
            diagnostics: Vec::new(),
            instruction: None,
        };
        if let Some(selected) = selected_lines(params.range).filter(|_| wanted(REWRITE)) {
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
        // Some editors tell a server only of its own diagnostics. Who asks by hand may mean one that we do not see.
        let by_hand = params.context.trigger_kind == Some(CodeActionTriggerKind::INVOKED);
        if by_hand && params.context.diagnostics.is_empty() && wanted(QUICKFIX) {
            let lines = place(Some(touched_lines(params.range)));
            actions.push(action("Fix problems here with agent", QUICKFIX, command::FIX, &lines));
        }
        if wanted(SOURCE) {
            let title = "Review this file with agent";
            actions.push(action(title, SOURCE, command::REVIEW_FILE, &place(None)));
            // What follows is about no text, so it may be later.
            actions.extend(findings::reviews(document, path).await);
        }
    }
    if wanted(SOURCE) && session.agent().live().iter().any(|thread| thread.running().is_some()) {
        actions.push(action("Stop the agent", SOURCE, command::STOP, &()));
    }
    if wanted(SOURCE) {
        for thread in session.agent().live() {
            let which = super::thread::Which {
                thread_id: Some(thread.id().clone()),
            };
            if let Some(again) = thread.may_send_again() {
                let title = again_title(again.at_ms);
                let again = super::thread::Again::of(&thread, again.turn);
                actions.push(action(&title, SOURCE, command::SEND_AGAIN, &again));
            }
            if let Some(at) = thread.sends_at() {
                let title = format!("Do not send again at {}", clock(at));
                actions.push(action(&title, SOURCE, command::DO_NOT_SEND, &which));
            }
        }
    }
    if wanted(SOURCE) && !session.agent().desk().terminals.running(None).is_empty() {
        actions.push(action(
            "Stop background terminals",
            SOURCE,
            command::STOP_TERMINALS,
            &(),
        ));
    }
    if wanted(SOURCE) && super::undo::live_to_undo(session).is_some_and(|thread| thread.running().is_none()) {
        actions.push(action("Undo the agent's last turn", SOURCE, command::UNDO, &()));
        actions.push(action(
            "Show what the agent's last turn changed",
            SOURCE,
            command::SHOW_DIFF,
            &(),
        ));
    }
    shown(session, actions)
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

/// Whether the client asked for actions of a kind. One that asks for kinds by itself does so to run them, on save or
/// on a timer: nothing of ours may run like that.
fn is_wanted(kind: &str, context: &CodeActionContext) -> bool {
    let Some(only) = &context.only else { return true };
    let covers = |asked: &str| {
        let rest = kind.strip_prefix(asked);
        asked.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    context.trigger_kind != Some(CodeActionTriggerKind::AUTOMATIC) && only.iter().any(|asked| covers(asked.as_str()))
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
    CodeAction {
        title: title.to_owned(),
        kind: Some(CodeActionKind::from(kind.to_owned())),
        command: Some(Command::new(title.to_owned(), command.to_owned(), Some(vec![argument]))),
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
            ..action(title, QUICKFIX, command::FIX, &place)
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

    #[test]
    fn kinds_are_a_tree_and_nothing_runs_by_itself() {
        let context = |only: Option<&[&str]>, trigger_kind| CodeActionContext {
            only: only.map(|only| {
                only.iter()
                    .map(|kind| CodeActionKind::from((*kind).to_owned()))
                    .collect()
            }),
            trigger_kind,
            ..CodeActionContext::default()
        };
        let all = KINDS.to_vec();
        let invoked = Some(CodeActionTriggerKind::INVOKED);
        let automatic = Some(CodeActionTriggerKind::AUTOMATIC);
        for (only, trigger, kinds) in [
            (None, None, all.clone()),
            (None, automatic, all.clone()),
            (Some(&[""][..]), invoked, all.clone()),
            (Some(&["quickfix"]), None, vec![QUICKFIX]),
            (Some(&["refactor", "source"]), invoked, vec![REWRITE, SOURCE]),
            (Some(&["refactor.rewrite"]), invoked, vec![REWRITE]),
            (Some(&["quickfix.countersign"]), invoked, vec![QUICKFIX]),
            (
                Some(&["quickfix.count", "refactor.extract", "source.fixAll"]),
                invoked,
                vec![],
            ),
            (Some(&["source.organizeImports"]), invoked, vec![]),
            (Some(&[]), invoked, vec![]),
            (Some(&["source", "quickfix"]), automatic, vec![]),
        ] {
            let context = context(only, trigger);
            let got: Vec<_> = KINDS.iter().copied().filter(|kind| is_wanted(kind, &context)).collect();
            assert_eq!(got, kinds, "{only:?} {trigger:?}");
        }
    }
}
