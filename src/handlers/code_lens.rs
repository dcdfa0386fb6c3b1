//! `textDocument/codeLens`: accept and reject above each waiting hunk.

use super::command::{self, Decide};
use crate::protocol::proposal::{HunkStatus, ProposalDecision};
use crate::server::session::Session;
use crate::workspace::uri;
use lsp_types::{CodeLens, CodeLensParams, Command, Position, Range};

pub fn lenses(session: &Session, params: &CodeLensParams) -> Vec<CodeLens> {
    let Some(path) = uri::to_path(params.text_document.uri.as_str()).ok().flatten() else {
        return Vec::new();
    };
    let proposals = &session.agent().desk().proposals;
    if !proposals.touches(&path) {
        return Vec::new();
    }
    let mut lenses = Vec::new();
    for proposal in proposals.list(None, false) {
        for file in proposal.files.iter().filter(|file| file.path == path) {
            for hunk in &file.hunks {
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
                    let at = Position::new(hunk.range.start, 0);
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
    }
    lenses
}
