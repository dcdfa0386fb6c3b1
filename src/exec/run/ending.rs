//! How a command that has to end is ended: asked first, then told, then by force.

use super::Line;
use std::time::Duration;
use tokio::time::Instant;

/// Between asking a command to end (SIGTERM) and ending it.
const GRACE: Duration = Duration::from_millis(300);

/// How long the keeper may take to end everything before it is ended itself.
const KEEPER_PATIENCE: Duration = Duration::from_secs(3);

/// How far a command that has to end has been told so.
pub(in crate::exec) enum Ending {
    Running,
    /// SIGTERM was sent; more follows at this time.
    Asked {
        cancelled: bool,
        until: Instant,
    },
    /// The keeper was told to end everything; it is ended itself at this time.
    Ended {
        cancelled: bool,
        until: Instant,
    },
    KeeperKilled {
        cancelled: bool,
    },
}

impl Ending {
    pub(in crate::exec) fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }

    /// `heard` is whether the request to end could be sent at all.
    pub(in crate::exec) fn asked(heard: bool, cancelled: bool) -> Self {
        let grace = if heard { GRACE } else { Duration::ZERO };
        Self::Asked {
            cancelled,
            until: Instant::now() + grace,
        }
    }

    pub(in crate::exec) fn next_step(&self) -> Option<Instant> {
        match self {
            Self::Asked { until, .. } | Self::Ended { until, .. } => Some(*until),
            Self::Running | Self::KeeperKilled { .. } => None,
        }
    }

    pub(in crate::exec) fn escalate(&mut self, line: &mut Line) {
        *self = match *self {
            Self::Asked { cancelled, .. } => {
                line.end();
                Self::Ended {
                    cancelled,
                    until: Instant::now() + KEEPER_PATIENCE,
                }
            }
            Self::Ended { cancelled, .. } => {
                line.kill_keeper();
                Self::KeeperKilled { cancelled }
            }
            Self::Running | Self::KeeperKilled { .. } => return,
        };
    }

    pub(in crate::exec) fn cancelled(&self) -> bool {
        match self {
            Self::Running => false,
            Self::Asked { cancelled, .. } | Self::Ended { cancelled, .. } | Self::KeeperKilled { cancelled } => {
                *cancelled
            }
        }
    }

    pub(in crate::exec) fn timed_out(&self) -> bool {
        !self.is_running() && !self.cancelled()
    }
}
