//! What the model can do: one capability a file, one registry.
//!
//! A tool says its name, its schema and what a call does; deciding, asking, confining and showing are the
//! [`Host`]'s, so that they are the same for all tools.

pub mod agents;
pub mod apply_patch;
pub mod dynamic;
pub mod edit;
pub mod exec_command;
pub mod grep_files;
pub mod image;
pub mod list_dir;
pub mod mcp_resources;
pub mod read_file;
pub mod repair;
pub mod request_permissions;
pub mod request_user_input;
pub mod server_tool;
pub mod shell;
pub mod text_editor;
pub mod update_plan;
pub mod view_image;
pub mod write;
pub mod write_stdin;

use crate::ids::ItemId;
use crate::mcp::Server;
use crate::model::item::{LocalShellAction, TEXT_EDITOR, ToolSpec};
use crate::patch::edit::FileEdit;
use crate::protocol::item::PlanStep;
use crate::protocol::permission::Permission;
use crate::protocol::question::UserQuestion;
use crate::workspace::{Judge, Workspace};
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What came of a call, for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    pub text: String,
    /// As `data:` or `https:` URLs; shown to the model after the text.
    pub images: Vec<String>,
    /// Absent where the call was not carried out (refused, denied, not possible).
    pub success: Option<bool>,
}

impl ToolOutput {
    /// A text; `success` says whether it tells of one.
    pub fn new(text: impl Into<String>, success: bool) -> Self {
        Self {
            text: text.into(),
            images: Vec::new(),
            success: Some(success),
        }
    }

    pub fn ok(text: impl Into<String>) -> Self {
        Self::new(text, true)
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(text, false)
    }

    /// The call was not carried out; the text says why.
    pub fn not_done(text: impl Into<String>) -> Self {
        Self {
            success: None,
            ..Self::new(text, false)
        }
    }
}

/// Why a call came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The model gets the text and can try again.
    #[error("{0}")]
    Answer(String),
    /// The turn cannot go on.
    #[error("{0}")]
    Fatal(String),
}

/// What a call carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// JSON text, as the model wrote it.
    Function(String),
    /// Free text.
    Custom(String),
    LocalShell(LocalShellAction),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: String,
    pub tool: String,
    pub payload: Payload,
}

/// A command that the model wants to run.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandCall {
    pub item_id: ItemId,
    pub argv: Vec<String>,
    /// Relative to the thread's folder; absent means that folder.
    pub workdir: Option<String>,
    pub timeout: Option<Duration>,
    /// The model asks to run it outside the sandbox.
    pub escalated: bool,
    pub justification: Option<String>,
    /// What the model asks for beyond the policy, for this command.
    pub permissions: Vec<Permission>,
}

/// How a command is begun that may outlive its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalStart {
    /// With a pseudo-terminal; else with pipes, and its input is closed.
    pub tty: bool,
    /// How long its end is waited for before it runs on.
    pub wait: Duration,
    /// Tokens of output in the answer.
    pub most_tokens: usize,
}

/// What the model wants to do with a command that runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalWrite {
    pub item_id: ItemId,
    /// Its number.
    pub terminal: u32,
    /// What to type; empty to only wait.
    pub text: String,
    pub wait: Duration,
    /// Tokens of output in the answer.
    pub most_tokens: usize,
}

/// A change of one file that a call asks for.
pub struct Edit {
    pub item_id: ItemId,
    /// Its path is relative to the thread's folder.
    pub edit: FileEdit,
}

/// A call that needs nothing but a look: shown as one item.
pub struct Look {
    /// In a few words, for the person.
    pub title: String,
    pub arguments: serde_json::Value,
}

/// Who says what may be read.
pub type Reading = Arc<dyn Judge>;

/// The turn, as tools see it.
pub trait Host: Send + Sync {
    fn workspace(&self) -> &Workspace;

    /// The thread's folder, absolute.
    fn cwd(&self) -> &Path;

    /// Says of any file whether the person's policy lets it be read; an error is the answer to the model. Holds for one
    /// call.
    fn reading(&self) -> Reading;

    /// Whether the person's policy lets this file be read, as its path leads now. What is opened after that is judged once
    /// more.
    fn may_read(&self, path: &Path) -> Result<(), ToolError> {
        self.reading().path(path).map_err(ToolError::Answer)
    }

    /// Has the editor looked at for what it holds of a file, where it does not tell by itself.
    fn look_at(&self, path: &Path) -> BoxFuture<'_, ()>;

    /// The same for what it holds below a folder, before that is searched.
    fn look_below(&self, folder: &Path) -> BoxFuture<'_, ()>;

    /// The person's home folder.
    fn home(&self) -> Option<PathBuf>;

    /// Asks the person for more than the policy allows, and tells what they gave.
    fn request_permissions(
        &self,
        item_id: ItemId,
        permissions: Vec<Permission>,
        reason: Option<String>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// Asks the person, and tells what they answered.
    fn ask_person(&self, item_id: ItemId, questions: Vec<UserQuestion>)
    -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// Starts other agents, writes to them, waits for them.
    fn collaborate(&self, item_id: ItemId, collab: agents::Collab) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// Has the client carry out a tool that it brought along.
    fn call_client(
        &self,
        item_id: ItemId,
        tool: String,
        arguments: serde_json::Value,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// Decides on, asks about, confines and runs a command. A patch inside it is treated as a patch.
    fn run_command(&self, call: CommandCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// The same for a command that may outlive the call.
    fn start_terminal(&self, call: CommandCall, wish: TerminalStart) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// Types into a command that runs on, and waits for what it prints.
    fn write_to_terminal(&self, call: TerminalWrite) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// The person's shell, if it is known.
    fn shell(&self) -> Option<&str>;

    /// Longest wait for a command that nothing is typed into.
    fn longest_poll(&self) -> Duration;

    /// Makes a proposal of a patch and waits for the person's word. Paths are relative to `workdir`.
    fn propose_patch(
        &self,
        item_id: ItemId,
        patch: String,
        workdir: Option<String>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// Makes one proposal of changes that were asked for one after the other, waits for the person's word, and says what became of
    /// each.
    fn propose_edits(&self, edits: Vec<Edit>) -> BoxFuture<'_, Vec<Result<ToolOutput, ToolError>>>;

    /// Has a server carry out a call of one of its tools, if the person's policy or the person lets it be made.
    fn call_server_tool(&self, call: server_tool::ServerCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// Whether the person's policy or the person lets a resource be read that its server has not listed: what the URI makes the
    /// server do nobody but it knows. An error is the answer to the model.
    fn may_read_resource(
        &self,
        item_id: ItemId,
        server: Arc<Server>,
        uri: String,
    ) -> BoxFuture<'_, Result<(), ToolError>>;

    fn show_plan(&self, item_id: ItemId, explanation: Option<String>, steps: Vec<PlanStep>);

    /// Ends when the turn is stopped.
    fn cancelled(&self) -> tokio_util::sync::CancellationToken;
}

impl dyn Host + '_ {
    /// A path that the model named, made absolute and clean.
    pub fn resolve(&self, path: &str) -> PathBuf {
        crate::workspace::uri::clean(&self.cwd().join(path))
    }

    /// The same where `~/` stands for the person's home folder.
    pub fn resolve_home(&self, path: &str) -> PathBuf {
        match (
            path.strip_prefix('~')
                .filter(|rest| rest.is_empty() || rest.starts_with('/')),
            self.home(),
        ) {
            (Some(rest), Some(home)) => crate::workspace::uri::clean(&home.join(rest.trim_start_matches('/'))),
            _ => self.resolve(path),
        }
    }
}

pub trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;

    /// The name under which it is offered.
    fn name(&self) -> String {
        self.spec().name().to_owned()
    }

    /// Other names that models use for it.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Calls that only read run side by side.
    fn only_reads(&self) -> bool {
        false
    }

    /// No call changes anything, whatever else runs beside it.
    fn changes_nothing(&self) -> bool {
        self.only_reads()
    }

    /// Calls that are commands: the person may be asked about them before their turn has come, so that the questions about
    /// the commands of one answer do not wait for one another. They are decided on again once it has.
    fn asks_first(&self) -> bool {
        false
    }

    /// The change that a call asks for, for tools that change one file in a call: those of one answer are proposed together.
    ///
    /// # Errors
    /// The arguments cannot be read; the answer to the model.
    fn edit(&self, _call: &Call) -> Result<Option<FileEdit>, ToolError> {
        Ok(None)
    }

    /// What is shown of a call, for tools that show nothing by themselves.
    fn look(&self, _call: &Call) -> Option<Look> {
        None
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// A tool, and the name under which it is offered.
type Named = (Arc<str>, Arc<dyn Tool>);

/// The only place where tools are listed: what the model is offered and what is bound are one list.
#[derive(Clone)]
pub struct Registry {
    /// By name, which is asked for much more often than the rest of what a tool says of itself.
    tools: Arc<[Named]>,
}

impl Registry {
    pub fn standard() -> Self {
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(shell::Shell),
            Arc::new(exec_command::ExecCommand),
            Arc::new(write_stdin::WriteStdin),
            Arc::new(apply_patch::ApplyPatch),
            Arc::new(text_editor::TextEditor),
            Arc::new(edit::EditFile),
            Arc::new(write::WriteFile),
            Arc::new(read_file::ReadFile),
            Arc::new(list_dir::ListDir),
            Arc::new(grep_files::GrepFiles),
            Arc::new(view_image::ViewImage),
            Arc::new(update_plan::UpdatePlan),
            Arc::new(request_permissions::RequestPermissions),
            Arc::new(request_user_input::RequestUserInput),
            Arc::new(agents::SpawnAgent),
            Arc::new(agents::SendMessage),
            Arc::new(agents::WaitAgents),
            Arc::new(agents::ListAgents),
            Arc::new(agents::CloseAgent),
        ];
        Self::new(tools)
    }

    /// These tools, each under a name of its own.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let named = tools.into_iter().map(|tool| (tool.name().into(), tool));
        Self { tools: named.collect() }
    }

    /// Those of the tools that fit.
    #[must_use]
    pub fn only(&self, fits: impl Fn(&dyn Tool) -> bool) -> Self {
        let fitting = self.tools.iter().filter(|(_, tool)| fits(tool.as_ref()));
        Self {
            tools: fitting.cloned().collect(),
        }
    }

    /// The same without the tools of these names.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let others = self.tools.iter().filter(|(name, _)| !names.contains(&&**name));
        Self {
            tools: others.cloned().collect(),
        }
    }

    /// The same with more tools. One whose name is taken already is left out.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut tools: Vec<_> = self.tools.to_vec();
        for tool in more {
            let name: Arc<str> = tool.name().into();
            if tools.iter().all(|(known, _)| *known != name) {
                tools.push((name, tool));
            }
        }
        Self { tools: tools.into() }
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|(_, tool)| tool.spec()).collect()
    }

    /// The tool behind a name that the model used: its own name, or else another that models use for it.
    pub fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let own = self.tools.iter().find(|(own, _)| **own == *name);
        let found = own.or_else(|| self.tools.iter().find(|(_, tool)| tool.aliases().contains(&name)));
        let found = found.map(|(_, tool)| tool.clone());
        found.or_else(|| self.find_by_slip(name))
    }

    /// The one tool whose name, or another for it, is this one but for case, hyphens, and what models put around names.
    fn find_by_slip(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let name = ["functions.", "function.", "tools."]
            .iter()
            .find_map(|front| name.strip_prefix(front))
            .unwrap_or(name);
        // Marks of the model's own that the server left there.
        let name = name.split("<|").next().unwrap_or(name).trim().trim_end_matches("()");
        let plain = |name: &str| name.replace('-', "_").to_ascii_lowercase();
        let is_it = |tool: &dyn Tool, own: &str| {
            plain(own) == plain(name) || tool.aliases().iter().any(|alias| plain(alias) == plain(name))
        };
        let mut found = self.tools.iter().filter(|(own, tool)| is_it(tool.as_ref(), own));
        match (found.next(), found.next()) {
            (Some((_, tool)), None) if !name.is_empty() => Some(tool.clone()),
            _ => None,
        }
    }

    /// Whether there is a tool of this very name.
    pub fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|(own, _)| **own == *name)
    }

    pub fn names(&self) -> Vec<String> {
        self.tools.iter().map(|(name, _)| name.to_string()).collect()
    }
}

/// Names of the tools that propose changes. A model is offered those of its family; a call of another is carried out all the same.
pub const EDIT_TOOLS: [&str; 4] = [apply_patch::NAME, TEXT_EDITOR, edit::NAME, write::NAME];

/// Proposes the one change that a call asks for.
async fn propose_one(tool: &dyn Tool, call: &Call, host: &dyn Host) -> Result<ToolOutput, ToolError> {
    let Some(edit) = tool.edit(call)? else {
        return Ok(ToolOutput::not_done("Nothing was asked for."));
    };
    let item_id = call.id.as_str().into();
    let mut proposed = host.propose_edits(vec![Edit { item_id, edit }]).await;
    proposed
        .pop()
        .unwrap_or_else(|| Ok(ToolOutput::not_done("Nothing was proposed.")))
}

/// Whether a tool changes nothing whatever it is called with.
pub fn ask_only(tool: &dyn Tool) -> bool {
    tool.changes_nothing() || tool.spec().name() == "update_plan"
}

/// Whether a tool is held to reading by the sandbox, where that is asked for.
pub fn plan_too(tool: &dyn Tool) -> bool {
    ["shell", exec_command::NAME, write_stdin::NAME].contains(&tool.spec().name())
}

/// Reads a call's JSON arguments. What is wrong with them is an answer to the model; the wrong kind of payload is fatal,
/// since then the tool was not offered in that form.
pub(crate) fn arguments<T: DeserializeOwned>(call: &Call) -> Result<T, ToolError> {
    let Payload::Function(text) = &call.payload else {
        return Err(ToolError::Fatal(format!(
            "the tool {} was called with a payload that does not fit it",
            call.tool
        )));
    };
    let text = if text.trim().is_empty() { "{}" } else { text };
    // Of a key that stands twice nobody knows which value is meant, and readers differ in which they take.
    let read = crate::model::json::unique(text).and_then(serde_json::from_value);
    read.map_err(|error| {
        ToolError::Answer(format!(
            "The arguments of {} could not be read: {error}. Call it again with arguments that fit its schema.",
            call.tool
        ))
    })
}

/// Most bytes of one answer of a tool that reads; the model is told how to see the rest.
pub(crate) const ANSWER_LIMIT: usize = 128 * 1024;

/// Runs work that blocks. A panic in it is an answer: the model can try another way.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "a tool's work broke off");
        ToolError::Answer(
            "The tool failed inside Countersign. This is its fault, not yours; try another way.".to_owned(),
        )
    })
}

/// A call's arguments for display.
pub(crate) fn shown_arguments(call: &Call) -> serde_json::Value {
    match &call.payload {
        Payload::Function(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        Payload::Custom(text) => text.as_str().into(),
        Payload::LocalShell(action) => serde_json::to_value(action).unwrap_or_default(),
    }
}

/// Schema of a function tool's arguments: an object without further properties.
pub(crate) fn schema(properties: serde_json::Value, required: &[&str]) -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows S-184.
    #[test]
    fn every_offered_tool_is_bound_and_has_one_name() {
        let registry = Registry::standard();
        let names = registry.names();
        for name in &names {
            assert_eq!(registry.find(name).expect("bound").spec().name(), name);
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1);
        }
        assert!(registry.find("no_such_tool").is_none());
        assert_eq!(registry.find("container.exec").expect("alias").spec().name(), "shell");
    }
}
