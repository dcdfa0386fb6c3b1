//! A new proposal as it is shown: its files and hunks, of a plan.

use super::{Origin, Proposals, line_range};
use crate::ids::{HunkId, ProposalId};
use crate::patch::plan::{FilePlan, Plan};
use crate::protocol::proposal::{Hunk, HunkStatus, Proposal, ProposalFile, ProposalStatus};
use crate::shown;
use crate::workspace::{Document, Workspace, uri};
use std::path::Path;

impl Proposals {
    pub(super) fn describe(&self, id: &ProposalId, plan: &Plan, origin: Origin) -> Proposal {
        let workspace = self.shared.workspace.seen_by(&origin.thread_id);
        let files = plan
            .files
            .iter()
            .map(|file| self.describe_file(id, &workspace, file, &origin.cwd))
            .collect();
        Proposal {
            id: id.clone(),
            thread_id: origin.thread_id,
            turn_id: origin.turn_id,
            item_id: origin.item_id,
            status: ProposalStatus::Proposed,
            files,
            diff: origin.diff,
            reason: origin.reason,
            grant_root: origin.grant_root,
            auto_approved: origin.auto_approved,
            stacked_on: Vec::new(),
            superseded_by: None,
            outcome: None,
            created_at_ms: crate::agent::now_ms(),
        }
    }

    fn describe_file(&self, id: &ProposalId, workspace: &Workspace, file: &FilePlan, cwd: &Path) -> ProposalFile {
        let document = workspace.document(&file.path);
        let hunks = file
            .hunks
            .iter()
            .map(|hunk| Hunk {
                id: HunkId::fresh(),
                status: HunkStatus::Pending,
                range: line_range(&hunk.old),
                old_text: hunk.old_text.clone(),
                new_text: hunk.new_text.clone(),
                proposed_text: None,
                conflict: None,
                feedback: None,
            })
            .collect();
        tracing::debug!(proposal = %id, path = %file.path.display(), open = document.is_some(), "proposed");
        let mut described = ProposalFile {
            path: file.path.clone(),
            uri: document
                .as_ref()
                .map_or_else(|| uri::from_path(&file.path), |document| document.uri().to_owned()),
            kind: file.kind.clone(),
            open: document.is_some(),
            unsaved: document.as_ref().is_some_and(Document::differs_from_disk),
            base_version: document.as_ref().map(|document| document.version),
            version: document.map(|document| document.version),
            mode: file.mode,
            not_text: file.whole.as_ref().map(|whole| shown::line(&whole.to_string())),
            notes: Vec::new(),
            // Large, and the same in every event: who wants them reads the proposal.
            before: None,
            after: None,
            current: None,
            result: None,
            hunks,
        };
        let name = described.new_name().map(|name| name.strip_prefix(cwd).unwrap_or(name));
        described.notes = shown::alike::of_paths(name);
        described
    }
}
