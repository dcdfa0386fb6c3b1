//! `textDocument/codeAction`: what the agent can do at a place. Only commands are offered, never edits, so that nothing
//! waits for a model; and never under the kinds that editors run on save.

use super::command::{self, Decide, Place};
use crate::lsp::convert;
use crate::protocol::item::LineRange;
use crate::protocol::proposal::{Hunk, HunkStatus, Proposal, ProposalDecision};
use crate::protocol::turn::EditorDiagnostic;
use crate::server::session::Session;
use crate::workspace::uri;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse, Command, Diagnostic,
    DiagnosticSeverity, NumberOrString,
};
use serde::Serialize;
use std::path::Path;

pub const QUICKFIX: &str = "quickfix.countersign";
pub const REWRITE: &str = "refactor.rewrite.countersign";
pub const SOURCE: &str = "source.countersign";

/// The kinds, for the capabilities.
pub const KINDS: &[&str] = &[QUICKFIX, REWRITE, SOURCE];

/// Source of our own diagnostics, which are not offered to be fixed as foreign ones.
pub const OWN_SOURCE: &str = "countersign";

pub fn actions(session: &Session, params: &CodeActionParams) -> CodeActionResponse {
    let document = params.text_document.uri.as_str();
    let path = uri::to_path(document).ok().flatten();
    let lines = LineRange {
        start: params.range.start.line,
        end: params.range.end.line.saturating_add(1),
    };
    let wanted = |kind: &str| {
        params.context.only.as_ref().is_none_or(|only| {
            only.iter()
                .any(|asked| kind == asked.as_str() || kind.starts_with(&format!("{}.", asked.as_str())))
        })
    };
    let mut actions = Vec::new();
    if let Some(path) = &path {
        if wanted(QUICKFIX) {
            actions.extend(decisions(session, path, lines));
            actions.extend(fixes(document, path, &params.context.diagnostics));
        }
        let place = |lines| Place {
            uri: document.to_owned(),
            lines,
            diagnostics: Vec::new(),
            instruction: None,
        };
        if wanted(REWRITE) && params.range.start != params.range.end {
            actions.push(action(
                "Ask agent to rewrite the selection…",
                REWRITE,
                command::REWRITE,
                &place(Some(lines)),
            ));
            actions.push(action(
                "Ask agent about the selection…",
                REWRITE,
                command::ASK,
                &place(Some(lines)),
            ));
        }
        if wanted(SOURCE) {
            actions.push(action(
                "Review this file with agent",
                SOURCE,
                command::REVIEW_FILE,
                &place(None),
            ));
        }
    }
    if wanted(SOURCE) && session.agent().live().iter().any(|thread| thread.running().is_some()) {
        actions.push(action("Stop the agent", SOURCE, command::STOP, &()));
    }
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
        .filter(|diagnostic| diagnostic.source.as_deref() != Some(OWN_SOURCE))
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

fn short(message: &str) -> String {
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

/// Accept and reject, where hunks of waiting proposals lie.
fn decisions(session: &Session, path: &Path, lines: LineRange) -> Vec<CodeAction> {
    let proposals = &session.agent().desk().proposals;
    if !proposals.touches(path) {
        return Vec::new();
    }
    let mut actions = Vec::new();
    for proposal in proposals.list(None, false) {
        for (hunk, number) in hunks_at(&proposal, path, lines) {
            for (word, decision) in [
                ("Accept", ProposalDecision::Accept),
                ("Reject", ProposalDecision::Reject),
            ] {
                let conflict = if hunk.status == HunkStatus::Conflicting {
                    " (its text has changed)"
                } else {
                    ""
                };
                let argument = Decide {
                    proposal_id: proposal.id.clone(),
                    decision,
                    hunk_ids: Some(vec![hunk.id.clone()]),
                    path: None,
                };
                if decision == ProposalDecision::Reject || conflict.is_empty() {
                    let title = format!("{word} the agent's change {number}{conflict}");
                    actions.push(action(&title, QUICKFIX, command::DECIDE, &argument));
                }
            }
        }
        if proposal.files.iter().any(|file| file.path == path) {
            for (word, decision) in [
                ("Accept", ProposalDecision::Accept),
                ("Reject", ProposalDecision::Reject),
            ] {
                let argument = Decide {
                    proposal_id: proposal.id.clone(),
                    decision,
                    hunk_ids: None,
                    path: None,
                };
                let title = format!("{word} all of the agent's changes ({} files)", proposal.files.len());
                actions.push(action(&title, QUICKFIX, command::DECIDE, &argument));
            }
        }
    }
    actions
}

/// Undecided hunks of a file that touch some lines, with their number in the file, counted from 1.
fn hunks_at<'a>(proposal: &'a Proposal, path: &Path, lines: LineRange) -> impl Iterator<Item = (&'a Hunk, usize)> {
    proposal
        .files
        .iter()
        .filter(move |file| file.path == path)
        .flat_map(|file| file.hunks.iter().zip(1..))
        .filter(|(hunk, _)| matches!(hunk.status, HunkStatus::Pending | HunkStatus::Conflicting))
        .filter(move |(hunk, _)| hunk.range.start < lines.end && lines.start < hunk.range.end.max(hunk.range.start + 1))
}
