//! What all threads of a server share.

use super::approvals::Approvals;
use super::aside::aside;
use super::command::Beside;
use super::contributors::Contributors;
use super::editor::{Editor, SAVED_WITHIN, Saving, Unsaved};
use super::proposals::Proposals;
use super::provider::Clients;
use super::questions::Questions;
use super::review::Findings;
use super::servers::Elicitations;
use super::subagents::Agents;
use super::terminals::Terminals;
use super::undo::{Persons, Writers};
use crate::account::Account;
use crate::config::Config;
use crate::exec::rules::{self, Rules};
use crate::exec::{self, Confinement};
use crate::ids::ThreadId;
use crate::mcp::Pool;
use crate::secrets::Secrets;
use crate::shown;
use crate::snapshot::Snapshots;
use crate::store::typed::Typed;
use crate::tools::Registry;
use crate::workspace::Workspace;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::RwLock;
use tokio_util::task::TaskTracker;

pub struct Services {
    pub workspace: Workspace,
    pub approvals: Approvals,
    pub questions: Questions,
    /// Agents that work for agents.
    pub agents: Agents,
    pub proposals: Proposals,
    /// Who hears of each thread's beginning and end.
    pub contributors: Contributors,
    /// Commands that run on beside the conversations.
    pub terminals: Terminals,
    /// Commands that run in a sandbox now.
    pub beside: Beside,
    pub tools: Registry,
    /// The MCP servers of all threads.
    pub servers: Pool,
    /// What MCP servers want to know of the person.
    pub elicitations: Elicitations,
    /// How the person is known to providers.
    pub account: Account,
    /// What asks the models.
    pub clients: Clients,
    pub editor: Arc<dyn Editor>,
    /// Home folder of Countersign.
    pub home: PathBuf,
    /// The environment the server was started with.
    pub env: BTreeMap<String, String>,
    /// What stands in nothing that leaves.
    pub secrets: Secrets,
    /// Name of the program as it stands in requests.
    pub user_agent: String,
    /// Steps that run to their end whatever becomes of the turn that began them.
    pub steps: TaskTracker,
    /// That the notifier cannot be started was shown once.
    pub notifier_problem_shown: AtomicBool,
    /// The file of what the person typed.
    pub typed: Typed,
    /// How often the editor has told of a change of instruction files.
    pub instructions: AtomicU64,
    /// What the workspace held before commands changed it.
    pub snapshots: Snapshots,
    /// The standing rules on commands.
    pub rules: rules::Cache,
    /// What reviews found.
    pub findings: Findings,
    /// Shared by commands that may write while they run, held alone by what takes turns back.
    pub changing: Arc<RwLock<()>>,
    /// What the person's own commands change while commands of the agent run.
    pub persons: Persons,
    /// What the agent's commands write.
    pub writers: Writers,
    /// Where threads come from: the client's name, or `cli`.
    pub source: String,
}

impl Services {
    /// The rules on commands as the files say now: the person's own and those of the project that a configuration is for.
    pub fn rules(&self, config: &Config) -> Arc<Rules> {
        self.rules.rules(&rules::Sources::new(&self.home, &config.rule_folders))
    }

    /// Instruction files have changed: each conversation looks at them before its next turn.
    pub fn instructions_changed(&self) {
        self.instructions.fetch_add(1, Ordering::Relaxed);
    }

    /// How often that was said.
    pub fn changed_instructions(&self) -> u64 {
        self.instructions.load(Ordering::Relaxed)
    }

    /// Files open for a thread whose text differs from the disk.
    pub fn unsaved(&self, thread: &ThreadId) -> Vec<PathBuf> {
        let dirty = self.workspace.seen_by(thread).dirty();
        dirty
            .iter()
            .filter_map(|document| document.path().map(PathBuf::from))
            .collect()
    }

    /// Has the editor save documents, but for those whose paths lead elsewhere by now: a command can have put a link in the place of a
    /// folder, and the editor would write to where it leads. The person is told of these.
    pub async fn save(&self, thread: &ThreadId, documents: Vec<Unsaved>) {
        let workspace = self.workspace.seen_by(thread);
        let leads = move |document: &Unsaved| workspace.leads_where_it_did(&document.path);
        let (kept, moved): (Vec<_>, Vec<_>) = aside(move || documents.into_iter().partition(leads)).await;
        if !moved.is_empty() {
            let names: Vec<String> = moved.iter().map(|document| shown::path(&document.path)).collect();
            self.editor.tell(format!(
                "Not saved: {}. Since the agent changed it, a folder on its path was exchanged, so that saving would write another \
                 file. Look at where the path leads before you save it.",
                names.join(", ")
            ));
        }
        if kept.is_empty() {
            return;
        }
        let paths: Vec<PathBuf> = kept.iter().map(|document| document.path.clone()).collect();
        if self.editor.save(thread.clone(), kept).await == Saving::MayCome {
            // Whoever waits stops it with the turn.
            let _in_vain = tokio::time::timeout(SAVED_WITHIN, self.until_saved(thread, &paths)).await;
        }
    }

    /// Ends once the disk has what the editor has of these files.
    async fn until_saved(&self, thread: &ThreadId, paths: &[PathBuf]) {
        let workspace = self.workspace.seen_by(thread);
        let mut changed = workspace.changed();
        loop {
            let there = workspace.clone();
            let dirty = aside(move || there.dirty()).await;
            let is_open = |path: &PathBuf| dirty.iter().any(|document| document.path() == Some(path));
            if !paths.iter().any(is_open) || changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// A command that runs in a sandbox now, of whatever conversation, and can change files meanwhile.
    pub fn changes_meanwhile(&self) -> Option<String> {
        let in_terminal = || {
            let running = self.terminals.running(None);
            running
                .iter()
                .find(|entry| entry.changes_inside())
                .map(|entry| entry.command.clone())
        };
        self.beside.first().or_else(in_terminal)
    }

    /// The person's shell.
    pub fn shell(&self) -> &str {
        self.env
            .get("SHELL")
            .map_or("sh", |shell| shell.rsplit('/').next().unwrap_or(shell))
    }

    /// The environment of a command, by the configured policy: the same for every command, whoever runs it. The thread is
    /// empty for a command beside all threads.
    pub fn command_environment(
        &self,
        config: &Config,
        thread: &str,
        confinement: &Confinement,
    ) -> BTreeMap<String, String> {
        let keys: Vec<&str> = config.secret_variables().collect();
        let mut variables = exec::environment(
            &config.environment,
            self.env.clone(),
            &keys,
            thread,
            confinement.network(),
        );
        if confinement.reaches_nobody() {
            exec::without_retries(&mut variables, &config.environment);
        }
        variables
    }

    /// A command as it is started: through the person's login shell where that is configured.
    pub fn through_profile(&self, config: &Config, argv: &[String]) -> Vec<String> {
        match config.environment.experimental_use_profile {
            true => exec::shell::through_profile(&self.env, argv, config.secret_variables()),
            false => argv.to_vec(),
        }
    }

    pub fn temporary_folder(&self) -> Option<PathBuf> {
        self.env
            .get("TMPDIR")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
    }
}
