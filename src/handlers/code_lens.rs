//! `textDocument/codeLens`: accept and reject above each waiting hunk.

use super::command::{self, Decide};
use crate::protocol::proposal::{HunkStatus, ProposalDecision};
use crate::server::session::Session;
use crate::workspace::uri;
use lsp_types::CodeLensParams;
use serde_json::{Value, json};

pub fn lenses(session: &Session, params: &CodeLensParams) -> Vec<Value> {
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
                    let at = json!({"line": hunk.range.start, "character": 0});
                    lenses.push(json!({
                        "range": {"start": at, "end": at},
                        "command": {"title": title, "command": command::DECIDE, "arguments": [argument]},
                    }));
                }
            }
        }
    }
    lenses
}
