//! `textDocument/codeLens`: above each waiting hunk the ways to decide, and what it is; above the first line the same for
//! the file where it has several.

use super::chat;
use super::command::{self, Decide, ShowProposal};
use crate::ids::HunkId;
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Proposal, ProposalDecision, ProposalFile};
use crate::server::presenter::change::{Change, is_document, waiting_in};
use crate::server::session::Session;
use crate::workspace::uri;
use lsp_types::{CodeLens, CodeLensParams, Command, Position, Range};
use serde::Serialize;

/// Found aside, since it looks at files and compares texts.
pub async fn lenses(session: &Session, params: CodeLensParams) -> Vec<CodeLens> {
    let session = session.clone();
    let found = tokio::task::spawn_blocking(move || found(&session, params.text_document.uri.as_str()));
    found.await.unwrap_or_default()
}

fn found(session: &Session, document: &str) -> Vec<CodeLens> {
    if let Some(open) = session.workspace().document_by_uri(document) {
        if chat::offers::chat(session, document).is_some() || chat::offers::page(session, &open).is_some() {
            return chat::offers::lenses(session, &open);
        }
        if chat::threads::is_list(session, &open) {
            return chat::threads::lenses(&open);
        }
    }
    let Some(path) = uri::to_path(document).ok().flatten() else {
        return Vec::new();
    };
    let waiting = session.agent().services().proposals.on_document(&path, document);
    if waiting.is_empty() {
        return Vec::new();
    }
    let last = last_line(session, document);
    let mut lenses = Vec::new();
    for proposal in &waiting {
        let here = |file: &&ProposalFile| is_document(file, &path, document);
        for file in proposal.files.iter().filter(here) {
            let changes: Vec<_> = waiting_in(proposal, file).collect();
            if changes.len() > 1 {
                of_file(proposal, file, &changes, &mut lenses);
            }
            for change in &changes {
                of_change(change, last, &mut lenses);
            }
        }
    }
    lenses
}

fn of_file(proposal: &Proposal, file: &ProposalFile, changes: &[Change<'_>], lenses: &mut Vec<CodeLens>) {
    let all = |decision| Decide {
        proposal_id: proposal.id.clone(),
        decision,
        hunk_ids: None,
        path: Some(file.path.clone()),
        feedback: None,
    };
    let show = ShowProposal {
        proposal_id: Some(proposal.id.clone()),
        path: Some(file.path.clone()),
        hunk_id: None,
    };
    if changes.iter().any(|change| change.trouble().is_none()) {
        lenses.push(lens(0, "✓ Accept all", command::DECIDE, &all(ProposalDecision::Accept)));
    }
    lenses.push(lens(0, "✗ Reject all", command::DECIDE, &all(ProposalDecision::Reject)));
    lenses.push(lens(0, "Show", command::SHOW_PROPOSAL, &show));
    let title = format!("{} pending changes", changes.len());
    lenses.push(lens(0, &title, command::SHOW_PROPOSAL, &show));
}

fn of_change(change: &Change<'_>, last: u32, lenses: &mut Vec<CodeLens>) {
    // What would take the whole file stands above all of it.
    let line = match change.file.kind {
        FileChangeKind::Delete => 0,
        _ => change.hunk.range.start.min(last),
    };
    let decide = |decision| Decide {
        proposal_id: change.proposal.id.clone(),
        decision,
        hunk_ids: Some(vec![change.hunk.id.clone()]),
        path: None,
        feedback: None,
    };
    let show = show(change.proposal, &change.hunk.id);
    if change.trouble().is_none() {
        lenses.push(lens(
            line,
            "✓ Accept",
            command::DECIDE,
            &decide(ProposalDecision::Accept),
        ));
    }
    lenses.push(lens(
        line,
        "✗ Reject",
        command::DECIDE,
        &decide(ProposalDecision::Reject),
    ));
    lenses.push(lens(line, "Show", command::SHOW_PROPOSAL, &show));
    // Last, since it may not fit in the line.
    lenses.push(lens(
        line,
        &format!("Agent: {}", change.summary()),
        command::SHOW_PROPOSAL,
        &show,
    ));
}

fn show(proposal: &Proposal, hunk: &HunkId) -> ShowProposal {
    ShowProposal {
        proposal_id: Some(proposal.id.clone()),
        path: None,
        hunk_id: Some(hunk.clone()),
    }
}

fn lens(line: u32, title: &str, command: &str, argument: &impl Serialize) -> CodeLens {
    let at = Position::new(line, 0);
    let argument = serde_json::to_value(argument).unwrap_or_default();
    CodeLens {
        range: Range::new(at, at),
        command: Some(Command::new(
            crate::shown::line(title),
            command.to_owned(),
            Some(vec![argument]),
        )),
        data: None,
    }
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
