//! The turn as tools see it.

use super::apply::Scope;
use super::permissions::{self, Asked};
use super::turn::Turn;
use super::{command, mode, propose, review, servers, terminals};
use crate::config::permissions::is_built_in;
use crate::exec::Confinement;
use crate::ids::ItemId;
use crate::protocol::event::{EventKind, PlanUpdated};
use crate::protocol::item::{Confined, PlanStep, ThreadItem};
use crate::protocol::permission::Permission;
use crate::protocol::settings::SandboxPolicy;
use crate::store::proposals::Bounds;
use crate::tools::server_tool::ServerCall;
use crate::tools::{
    CommandCall, Host, Reading, Registry, TerminalStart, TerminalWrite, ToolError, ToolOutput, apply_patch,
    exec_command, write_stdin,
};
use crate::workspace::Workspace;
use futures::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

impl Host for Arc<Turn> {
    fn workspace(&self) -> &Workspace {
        &self.desk.workspace
    }

    fn cwd(&self) -> &Path {
        &self.settings.cwd
    }

    fn reading(&self) -> Reading {
        let reader = self.reader();
        let answer = |refused: permissions::Refused| ToolError::Answer(refused.to_string());
        Arc::new(move |path| reader.check(path).map_err(answer))
    }

    fn home(&self) -> Option<PathBuf> {
        permissions::home_of(&self.desk)
    }

    fn request_permissions(
        &self,
        item_id: ItemId,
        permissions: Vec<Permission>,
        reason: Option<String>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.may_change()?;
            let asked = Asked {
                item_id: &item_id,
                permissions,
                reason: reason.as_deref(),
                command: None,
            };
            Ok(self.ask_for(asked).await.output())
        })
    }

    fn run_command(&self, call: CommandCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(command::run(self, call, command::How::ToEnd))
    }

    fn start_terminal(&self, call: CommandCall, wish: TerminalStart) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(command::run(self, call, command::How::InTerminal(wish)))
    }

    fn write_to_terminal(&self, call: TerminalWrite) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            // It may have been started when more was allowed.
            if !call.text.is_empty() {
                self.may_change()?;
            }
            terminals::write(self, call).await
        })
    }

    fn shell(&self) -> Option<&str> {
        self.desk.env.get("SHELL").map(String::as_str)
    }

    fn longest_poll(&self) -> Duration {
        self.config.background_terminal_max_timeout
    }

    fn propose_patch(
        &self,
        item_id: ItemId,
        patch: String,
        workdir: Option<String>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.may_change()?;
            propose::run(self, item_id, patch, workdir).await
        })
    }

    fn call_server_tool(&self, call: ServerCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(servers::call(self, call))
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
        let left_out = [
            (!self.config.include_apply_patch_tool).then_some(apply_patch::NAME),
            (!self.config.unified_exec()).then_some(exec_command::NAME),
            (!self.config.unified_exec()).then_some(write_stdin::NAME),
        ];
        let own = left_out
            .into_iter()
            .flatten()
            .fold(self.desk.tools.clone(), |tools, name| tools.without(name));
        let own = match self.is_apart() {
            true => own.only(review::allows),
            false => own,
        };
        let all = match self.servers.is_empty() {
            true => own,
            false => own.with(self.server_tools()),
        };
        match self.is_apart() {
            // It only reads in every mode, and looks by commands.
            true => all,
            false => mode::offered(self.settings.mode, all),
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
        // A profile of the person's own that opens folders says which, for patches too.
        let is_own = self.settings.permissions.as_deref().is_some_and(|id| !is_built_in(id));
        let writes = matches!(self.settings.sandbox_policy, SandboxPolicy::WorkspaceWrite { .. });
        let walls = (is_own && writes).then(|| self.confinement(Confined::Workspace).kept());
        Bounds {
            cwd: self.settings.cwd.clone(),
            policy,
            roots: self.roots.clone(),
            temporary_folder: self.desk.temporary_folder(),
            granted,
            walls: walls.flatten(),
            unreadable: self.unreadable(),
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
}
