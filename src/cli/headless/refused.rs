//! What the agent, and those that it set to work, wanted to do and was not allowed to, or did not manage: the answer to every question is
//! no.

use crate::agent::{Agent, READ_ONLY};
use crate::protocol::approval::ApprovalResponse;
use crate::protocol::event::EventKind;
use crate::protocol::item::{FileChange, ItemStatus, ThreadItem};
use crate::protocol::mcp::{McpElicitationAction, McpElicitationResponse};
use crate::protocol::proposal::{ProposalDecideParams, ProposalDecision};
use crate::shown;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

/// The tool by which the model asks for more than it may.
const REQUEST_PERMISSIONS: &str = "request_permissions";
/// Named in the last line; the output has all of them.
const MOST_NAMED: usize = 5;

#[derive(Debug, Default)]
pub(super) struct Refused {
    /// Commands and calls, as they are shown.
    declined: Vec<String>,
    /// Files whose last change came to nothing.
    unchanged: BTreeSet<PathBuf>,
    /// One of them since nothing may be changed at all.
    only_reads: bool,
}

impl Refused {
    pub(super) fn note(&mut self, event: &EventKind) {
        let EventKind::ItemCompleted(completed) = event else {
            return;
        };
        match &completed.item {
            ThreadItem::CommandExecution {
                status: ItemStatus::Declined,
                command,
                ..
            } => self.declined.push(shown::line(command)),
            ThreadItem::McpToolCall {
                status: ItemStatus::Declined,
                title,
                ..
            }
            | ThreadItem::ToolCall {
                status: ItemStatus::Declined,
                title,
                ..
            } => self.declined.push(shown::line(title)),
            // What the policy gives nobody is no failure of the tool.
            ThreadItem::ToolCall {
                status: ItemStatus::Failed,
                tool,
                title,
                ..
            } if tool == REQUEST_PERMISSIONS => self.declined.push(shown::line(title)),
            ThreadItem::FileChange {
                status,
                changes,
                outcome,
                ..
            } => {
                self.changed(*status, changes);
                self.only_reads |= outcome.as_ref().is_some_and(|words| words.contains(READ_ONLY));
            }
            _ => {}
        }
    }

    fn changed(&mut self, status: ItemStatus, changes: &[FileChange]) {
        for change in changes {
            match status {
                ItemStatus::Completed => self.unchanged.remove(&change.path),
                _ => self.unchanged.insert(change.path.clone()),
            };
        }
    }

    /// Whether a file was not changed since nothing may be.
    pub(super) fn only_reads(&self) -> bool {
        self.only_reads && !self.unchanged.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.declined.is_empty() && self.unchanged.is_empty()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self
            .unchanged
            .iter()
            .map(|path| format!("{} was not changed", shown::path(path)));
        let declined = self.declined.iter().map(|what| format!("refused: {what}"));
        let all: Vec<String> = declined.chain(files).collect();
        f.write_str(&all[..all.len().min(MOST_NAMED)].join("; "))?;
        match all.len().checked_sub(MOST_NAMED) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, "; and {more} more"),
        }
    }
}

/// Says no to what is asked all the same. The policy `never` lets nothing be asked; this is for what asks whatever it says.
pub(super) fn answer(agent: &Agent, event: &EventKind) {
    let services = agent.services().clone();
    match event {
        EventKind::ApprovalRequested(requested) => {
            services
                .approvals
                .answer(requested.approval.id(), ApprovalResponse::decline());
        }
        EventKind::UserInputRequested(requested) => {
            services.questions.answer(&requested.request.id, None);
        }
        EventKind::McpElicitationRequested(requested) => {
            let declined = McpElicitationResponse {
                action: McpElicitationAction::Decline,
                content: None,
                meta: None,
            };
            services.elicitations.answer(&requested.elicitation.id, declined);
        }
        EventKind::ProposalCreated(created)
            if created.proposal.status.is_waiting() && !created.proposal.auto_approved =>
        {
            let params = ProposalDecideParams {
                proposal_id: created.proposal.id.clone(),
                decision: ProposalDecision::Reject,
                hunk_ids: None,
                path: None,
                feedback: Some("Nobody can be asked in this run.".to_owned()),
            };
            tokio::task::spawn_blocking(move || services.proposals.decide(&params).map(drop));
        }
        _ => {}
    }
}
