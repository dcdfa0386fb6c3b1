//! Why a request about a proposal was refused. Nothing was changed then.

use crate::ids::{HunkId, ProposalId};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposalError {
    #[error(
        "There is no proposal {0}. It may belong to an earlier run of the server; list the proposals to see what waits."
    )]
    Unknown(ProposalId),
    #[error("Proposal {0} is settled already; nothing was changed.")]
    Settled(ProposalId),
    #[error("The server is stopping. Proposal {0} waits until it runs again; decide on it then.")]
    Stopping(ProposalId),
    #[error("Proposal {proposal} has no hunk {hunk}; nothing was changed.")]
    NoHunk { proposal: ProposalId, hunk: HunkId },
    #[error("Proposal {proposal} does not touch {path}; nothing was changed.")]
    NoFile { proposal: ProposalId, path: PathBuf },
    #[error(
        "Hunk {hunk} of proposal {proposal} cannot be accepted: {why}. Nothing was decided. Reject it, or bring the text back."
    )]
    Conflicting {
        proposal: ProposalId,
        hunk: HunkId,
        why: String,
    },
    #[error(
        "Hunk {hunk} of proposal {proposal} is in its file already, and no decision takes it out. Undo it in the editor."
    )]
    Applied { proposal: ProposalId, hunk: HunkId },
    #[error(
        "Proposal {0} has changes that were not shown yet, or changed since. Nothing was accepted; show the change and accept it then."
    )]
    NotShown(ProposalId),
    #[error("Hunk {hunk} of proposal {proposal} cannot be edited: {why}. Accept or reject it as it is.")]
    NotEditable {
        proposal: ProposalId,
        hunk: HunkId,
        why: &'static str,
    },
}
