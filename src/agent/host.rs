//! The turn as tools see it.

use super::apply::Scope;
use super::aside::aside;
use super::permissions::{self, Asked};
use super::provider::Provider;
use super::turn::Turn;
use super::{command, mode, propose, review, servers, terminals};
use crate::config::WebSearch;
use crate::config::models::EditTool;
use crate::config::permissions::is_built_in;
use crate::config::provider::WireApi;
use crate::exec::Confinement;
use crate::ids::ItemId;
use crate::mcp::Server;
use crate::model::edit_tool;
use crate::model::item::{TEXT_EDITOR, ToolSpec};
use crate::protocol::event::{EventKind, PlanUpdated};
use crate::protocol::item::{Confined, PlanStep, ThreadItem};
use crate::protocol::permission::Permission;
use crate::protocol::question::UserQuestion;
use crate::protocol::settings::{Mode, SandboxPolicy};
use crate::store::proposals::Bounds;
use crate::tools::server_tool::ServerCall;
use crate::tools::{
    CommandCall, EDIT_TOOLS, Edit, Host, Reading, Registry, TerminalStart, TerminalWrite, Tool, ToolError, ToolOutput,
    agents, apply_patch, edit, exec_command, request_permissions, request_user_input, shell, view_image, write,
    write_stdin,
};
use crate::workspace::Workspace;
use futures::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

impl Host for Arc<Turn> {
    fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    fn cwd(&self) -> &Path {
        &self.settings.cwd
    }

    fn reading(&self) -> Reading {
        Arc::new(self.reader())
    }

    fn look_at(&self, path: &Path) -> BoxFuture<'_, ()> {
        self.services.editor.look(&self.conversation.id, vec![path.to_owned()])
    }

    fn look_below(&self, folder: &Path) -> BoxFuture<'_, ()> {
        self.services
            .editor
            .look_below(&self.conversation.id, folder.to_owned())
    }

    fn home(&self) -> Option<PathBuf> {
        permissions::home_of(&self.services)
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

    fn ask_person(
        &self,
        item_id: ItemId,
        questions: Vec<UserQuestion>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(super::questions::ask(self, item_id, questions).await) })
    }

    fn collaborate(&self, item_id: ItemId, collab: agents::Collab) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(super::subagents::carry_out(self, item_id, collab).await) })
    }

    fn call_client(
        &self,
        item_id: ItemId,
        tool: String,
        arguments: serde_json::Value,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(super::client_tools::call(self, item_id, tool, arguments))
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
        self.services.env.get("SHELL").map(String::as_str)
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

    fn propose_edits(&self, edits: Vec<Edit>) -> BoxFuture<'_, Vec<Result<ToolOutput, ToolError>>> {
        Box::pin(async move {
            match self.may_change() {
                Ok(()) => propose::edits::run(self, edits).await,
                Err(refused) => edits.iter().map(|_| Err(refused.clone())).collect(),
            }
        })
    }

    fn call_server_tool(&self, call: ServerCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if !call.tool.read_only {
                self.may_change()?;
                if self.is_apart() {
                    return Ok(ToolOutput::not_done(
                        "Nothing was done: a review only reads, and this tool may change something.",
                    ));
                }
            }
            servers::call(self, call).await
        })
    }

    fn may_read_resource(
        &self,
        item_id: ItemId,
        server: Arc<Server>,
        uri: String,
    ) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            if self.is_apart() && !server.settings.trust_annotations {
                return Err(ToolError::Answer(
                    "Nothing was read: a review only reads what an MCP server has listed.".to_owned(),
                ));
            }
            servers::may_read(self, item_id, server, uri).await
        })
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
    /// What the model may call in this conversation: our tools as far as they are on, then the client's.
    pub fn tools(&self) -> Registry {
        let left_out: Vec<&str> = self.left_out().into_iter().map(|(name, _)| name).collect();
        let on = self.services.tools.without(&left_out);
        let on = match self.is_apart() {
            true => on.only(review::allows),
            // Work apart from the conversation is not the client's.
            false => on.with(self.conversation.data().client_tools.clone()),
        };
        let all = match self.servers.is_empty() {
            true => on,
            false => on.with(self.server_tools()),
        };
        let all = match self.is_apart() {
            // It only reads in every mode, and looks by commands.
            true => all,
            false => mode::offered(self.settings.mode, all),
        };
        match all.has(exec_command::NAME) {
            // One way to run commands is enough to choose from.
            true => all.without(&[shell::NAME]),
            false => all,
        }
    }

    /// The tool behind a name that the model used. One that proposes changes and is another family's is there all the same where
    /// changes may be proposed, and so is the other way to run commands, and what a small window has no room for but answers name: the
    /// conversation may have begun with another model, some were taught it, and what is meant is beyond doubt.
    pub fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let offered = self.tools();
        offered.find(name).or_else(|| {
            let other = self.services.tools.find(name)?;
            let other_name = other.name();
            let is_small = self.provider.get().is_some_and(Provider::is_small);
            let is_meant = match other_name.as_str() {
                shell::NAME => offered.has(exec_command::NAME),
                // What refuses to read a file names it.
                request_permissions::NAME => is_small && !self.is_apart() && self.settings.mode == Mode::Agent,
                other => EDIT_TOOLS.contains(&other) && EDIT_TOOLS.iter().any(|edit| offered.has(edit)),
            };
            is_meant.then_some(other)
        })
    }

    /// The tools by which this model proposes changes.
    fn edit_tools(&self) -> &'static [&'static str] {
        let provider = self.provider.get();
        let model = provider.map_or(self.settings.model.as_str(), |provider| provider.model.as_str());
        let chosen = self.config.model_settings(model).edit_tool;
        match chosen.unwrap_or_else(|| edit_tool::of_family(model)) {
            EditTool::ApplyPatch => &[apply_patch::NAME],
            EditTool::TextEditor => &[TEXT_EDITOR],
            EditTool::Edit => &[edit::NAME, write::NAME],
            EditTool::Write => &[write::NAME],
        }
    }

    /// What the model is offered.
    pub fn tool_specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.tools().specs();
        specs.extend(self.web_search());
        specs
    }

    /// The provider's search of the web for the model, if it may. Chat Completions knows nothing of it, of the models that are
    /// spoken to as Anthropic's are not all Anthropic's, and those search only by reaching out.
    fn web_search(&self) -> Option<ToolSpec> {
        let wanted = self.config.web_search();
        let provider = self.provider.get().filter(|_| !self.is_apart())?;
        let can = match (provider.client.provider().wire_api, wanted) {
            (_, WebSearch::Disabled) | (WireApi::Chat, _) => false,
            (WireApi::Responses, _) => true,
            (WireApi::Anthropic, _) => provider.model.contains("claude") && wanted == WebSearch::Live,
        };
        can.then_some(ToolSpec::WebSearch {
            external_web_access: (wanted == WebSearch::Cached).then_some(false),
        })
    }

    /// Tools of ours that this conversation does not have, each with the reason, in words.
    fn left_out(&self) -> Vec<(&'static str, &'static str)> {
        let provider = self.provider.get();
        let blind = provider.is_some_and(|provider| provider.client.is_blind(&provider.model));
        let apart = (self.is_apart(), "this work is done without it");
        let terminals = (!self.config.unified_exec(), "terminals are switched off");
        let depth = self.conversation.agent.as_ref().map_or(0, |agent| agent.depth);
        let collab = (!self.config.multi_agent(), "working with other agents is switched off");
        let deepest = (
            depth >= self.config.agents.depth,
            "you are an agent that starts no others",
        );
        let small = self.provider.get().is_some_and(Provider::is_small);
        let small = (small, "your context window has no room for it");
        // Whoever is nobody's agent and has none has nobody to write to.
        let alone = (depth == 0 && deepest.0, "there are no other agents");
        let collab = match apart.0 {
            true => apart,
            false => collab,
        };
        let own = self.edit_tools();
        let off = (
            !self.config.include_apply_patch_tool,
            "it is switched off: send patches through a command",
        );
        [
            (exec_command::NAME, terminals),
            (write_stdin::NAME, terminals),
            (
                view_image::NAME,
                (!self.config.view_image(), "looking at images is switched off"),
            ),
            (view_image::NAME, apart),
            (request_user_input::NAME, apart),
            (
                view_image::NAME,
                (blind, "your model takes no images, so none can be shown to you"),
            ),
            (exec_command::NAME, small),
            (write_stdin::NAME, small),
            (view_image::NAME, small),
            (request_user_input::NAME, small),
            (request_permissions::NAME, small),
            (agents::SPAWN, small),
            (agents::CLOSE, small),
            (agents::SEND, small),
            (agents::WAIT, small),
            (agents::LIST, small),
            (agents::SPAWN, collab),
            (agents::SPAWN, deepest),
            (agents::CLOSE, collab),
            (agents::CLOSE, deepest),
            (agents::SEND, collab),
            (agents::SEND, alone),
            (agents::WAIT, collab),
            (agents::WAIT, alone),
            (agents::LIST, collab),
            (agents::LIST, alone),
        ]
        .into_iter()
        .chain(EDIT_TOOLS.map(|name| (name, off)))
        .chain(EDIT_TOOLS.map(|name| (name, (!own.contains(&name), "your model proposes changes with another"))))
        .filter_map(|(name, (is_out, why))| is_out.then_some((name, why)))
        .collect()
    }

    /// What the model is told that calls a tool which is not there.
    pub fn no_such_tool(&self, name: &str) -> String {
        let left_out = self.left_out();
        if let Some((_, why)) = left_out.iter().find(|(known, _)| *known == name) {
            return format!("unsupported call: there is no tool named {name} in this conversation, since {why}.");
        }
        let names = self.tools().names().join(", ");
        format!("unsupported call: there is no tool named {name}. The tools are: {names}.")
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
            temporary_folder: self.services.temporary_folder(),
            granted,
            walls: walls.flatten(),
            unreadable: self.unreadable(),
            protected: self.config.protected.clone(),
            unprotected: self.config.unprotected.clone(),
        }
    }

    /// The same as [`Turn::scope`], found aside.
    pub(super) async fn find_scope(self: &Arc<Self>) -> Scope {
        let turn = self.clone();
        aside(move || turn.scope()).await
    }

    /// Where this turn's changes are made. Looks on the disk.
    pub fn scope(&self) -> Scope {
        Scope {
            services: self.services.clone(),
            thread: self.conversation.id.clone(),
            workspace: self.workspace.clone(),
            cwd: self.settings.cwd.clone(),
            confinement: self.patch_confinement(),
            reader: Arc::new(self.reader()),
            shown_at: Vec::new(),
        }
    }
}
