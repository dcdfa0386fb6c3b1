//! What a command asks for beyond the policy, for itself.

use super::Run;
use crate::agent::aside::aside;
use crate::agent::permissions::{Asked, Given};
use crate::exec::Confinement;
use crate::protocol::item::{Confined, ItemStatus};
use crate::tools::ToolOutput;

impl Run<'_> {
    /// Asks for it where it is not allowed yet. What the model is told if it is not given; the command does not run then.
    pub(super) async fn permit(&self) -> Option<ToolOutput> {
        if self.permissions.is_empty() {
            return None;
        }
        let inside = self.turn.inside();
        // Where its paths lead is what the calls before it leave.
        if let Err(stopped) = self.turn_comes(inside).await {
            return Some(stopped);
        }
        self.begin(&self.item_id, inside);
        let given = self
            .turn
            .ask_for(Asked {
                item_id: &self.item_id,
                permissions: self.permissions.clone(),
                reason: self.justification.as_deref(),
                command: Some(self.as_asked()),
            })
            .await;
        match given {
            Given::Yes { permissions, .. } => {
                let _first = self.granted.set(permissions);
                None
            }
            Given::No(words) => {
                let stopped = self.turn.cancel.is_cancelled();
                let status = if stopped {
                    ItemStatus::Interrupted
                } else {
                    ItemStatus::Declined
                };
                self.not_run(&self.item_id, inside, status, &words);
                Some(ToolOutput::not_done(format!("The command was not run. {words}")))
            }
        }
    }

    /// What the command may touch, with what was given to it alone.
    pub(super) async fn confinement(&self, confined: Confined) -> Confinement {
        let (turn, granted) = (self.turn.clone(), self.granted.get().cloned().unwrap_or_default());
        aside(move || turn.confinement(confined).with(&granted)).await
    }
}
