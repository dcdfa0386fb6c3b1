//! `textDocument/codeLens`: accept and reject above each waiting hunk.

use super::command::{self, Decide};
use crate::protocol::proposal::{HunkStatus, ProposalDecision, ProposalFile};
use crate::server::session::Session;
use crate::workspace::uri;
use lsp_types::{CodeLens, CodeLensParams, Command, Position, Range};

pub fn lenses(session: &Session, params: &CodeLensParams) -> Vec<CodeLens> {
    let document = params.text_document.uri.as_str();
    let Some(path) = uri::to_path(document).ok().flatten() else {
        return Vec::new();
    };
    let waiting = session.agent().desk().proposals.on_document(&path, document);
    if waiting.is_empty() {
        return Vec::new();
    }
    let last = last_line(session, document);
    let mut lenses = Vec::new();
    for proposal in waiting {
        let here = |file: &&ProposalFile| file.path == path || file.uri == document;
        for hunk in proposal.files.iter().filter(here).flat_map(|file| &file.hunks) {
            let choices: &[(&str, ProposalDecision)] = match hunk.status {
                HunkStatus::Pending => &[
                    ("✓ Accept", ProposalDecision::Accept),
                    ("✗ Reject", ProposalDecision::Reject),
                ],
                HunkStatus::Conflicting => &[("✗ Reject (its text has changed)", ProposalDecision::Reject)],
                _ => &[],
            };
            for (title, decision) in choices {
                let argument = Decide {
                    proposal_id: proposal.id.clone(),
                    decision: *decision,
                    hunk_ids: Some(vec![hunk.id.clone()]),
                    path: None,
                };
                let at = Position::new(hunk.range.start.min(last), 0);
                let argument = serde_json::to_value(argument).unwrap_or_default();
                let command = Command::new((*title).to_owned(), command::DECIDE.to_owned(), Some(vec![argument]));
                lenses.push(CodeLens {
                    range: Range::new(at, at),
                    command: Some(command),
                    data: None,
                });
            }
        }
    }
    lenses
}

/// The last line that has text: some editors fail on a lens below it.
fn last_line(session: &Session, document: &str) -> u32 {
    let Some(document) = session.workspace().document_by_uri(document) else {
        return u32::MAX;
    };
    let lines = document.rope.len_lines();
    let ends_with_break = lines > 1 && document.rope.line(lines - 1).len_chars() == 0;
    u32::try_from(lines - 1 - usize::from(ends_with_break)).unwrap_or(u32::MAX)
}
