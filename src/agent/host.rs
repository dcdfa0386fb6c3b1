//! The turn as tools see it.

use super::apply::Scope;
use super::turn::Turn;
use super::{command, propose};
use crate::exec::Confinement;
use crate::ids::ItemId;
use crate::protocol::event::{EventKind, PlanUpdated};
use crate::protocol::item::{PlanStep, ThreadItem};
use crate::protocol::settings::SandboxPolicy;
use crate::store::proposals::Bounds;
use crate::tools::{CommandCall, Host, Registry, ToolError, ToolOutput, apply_patch};
use crate::workspace::Workspace;
use futures::future::BoxFuture;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Host for Arc<Turn> {
    fn workspace(&self) -> &Workspace {
        &self.desk.workspace
    }

    fn cwd(&self) -> &Path {
        &self.settings.cwd
    }

    fn may_read(&self, path: &Path) -> Result<(), ToolError> {
        if self.is_secret(path) {
            return Err(ToolError::Answer(format!(
                "{} holds credentials of the person's and is never read. Work without it.",
                path.display()
            )));
        }
        Ok(())
    }

    fn run_command(&self, call: CommandCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(command::run(self, call))
    }

    fn propose_patch(
        &self,
        item_id: ItemId,
        patch: String,
        workdir: Option<String>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(propose::run(self, item_id, patch, workdir))
    }

    fn show_plan(&self, item_id: ItemId, explanation: Option<String>, steps: Vec<PlanStep>) {
        self.complete_item(ThreadItem::Plan {
            id: item_id,
            explanation: explanation.clone(),
            steps: steps.clone(),
        });
        self.publish(EventKind::PlanUpdated(PlanUpdated { explanation, steps }));
    }

    fn cancelled(&self) -> CancellationToken {
        self.cancel.clone()
    }
}

impl Turn {
    /// What the model may call in this conversation.
    pub fn tools(&self) -> Registry {
        match self.config.include_apply_patch_tool {
            true => self.desk.tools.clone(),
            false => self.desk.tools.without(apply_patch::NAME),
        }
    }

    /// Where patches may write: the workspace, whatever the policy for commands, since the person decides on each.
    pub fn patch_confinement(&self) -> Confinement {
        self.bounds().confinement()
    }

    /// The same as it can be kept.
    pub fn bounds(&self) -> Bounds {
        let policy = match &self.settings.sandbox_policy {
            SandboxPolicy::WorkspaceWrite { .. } => self.settings.sandbox_policy.clone(),
            _ => SandboxPolicy::from_mode(crate::protocol::settings::SandboxMode::WorkspaceWrite),
        };
        let granted = self.conversation.granted_roots();
        Bounds {
            cwd: self.settings.cwd.clone(),
            policy,
            roots: self.roots.clone(),
            temporary_folder: self.desk.temporary_folder(),
            granted,
        }
    }

    /// Where this turn's changes are made.
    pub fn scope(&self) -> Scope {
        Scope {
            desk: self.desk.clone(),
            cwd: self.settings.cwd.clone(),
            confinement: self.patch_confinement(),
        }
    }

    /// The server's own credentials.
    fn is_secret(&self, path: &Path) -> bool {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let own = std::fs::canonicalize(&self.desk.home).unwrap_or_else(|_| self.desk.home.clone());
        ["auth.json", ".credentials.json"]
            .iter()
            .any(|name| real == own.join(name))
    }
}
