//! A command of the model: decided on, asked about, confined, run and shown; the same way for every tool that runs one.

mod admit;
mod ask;
mod beside;
mod permit;
mod show;

pub use beside::Beside;

use super::aside::aside;
use super::terminals::{self, Begun, Came};
use super::turn::Turn;
use super::{line, outputs, review, undo};
use crate::exec::{self, CommandRequest, Confinement, ExecError, Finished, command, decide};
use crate::ids::ItemId;
use crate::patch::recognise::{BARE_PATCH_ADVICE, Recognised, recognise};
use crate::protocol::item::{CommandAction, Confined, ItemStatus};
use crate::protocol::permission::Permission;
use crate::protocol::settings::{ApprovalPolicy, SandboxMode};
use crate::tools::{CommandCall, TerminalStart, ToolError, ToolOutput};
use ask::Asked;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Longest run where the model names none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// Deltas of one command's output; what comes later is in the completed item.
const MOST_DELTAS: usize = 10_000;

/// One command on its way.
pub(super) struct Run<'a> {
    turn: &'a Arc<Turn>,
    item_id: ItemId,
    argv: Vec<String>,
    cwd: PathBuf,
    actions: Vec<CommandAction>,
    timeout: Duration,
    /// Why the model wants it, in its words.
    justification: Option<String>,
    /// Where it goes instead of being run, in our words.
    place: Option<String>,
    /// What the model asks for beyond the policy, for this command.
    permissions: Vec<Permission>,
    /// What of it was given for this command alone.
    granted: OnceLock<Vec<Permission>>,
    /// It is no command, but goes into a program that runs on, so confined; what comes of it cannot be told for certain.
    typed: Option<Confined>,
    /// The person was shown that this would run, which commands can change, and wants it run.
    planted: OnceLock<Vec<PathBuf>>,
    how: How,
}

/// How long a command runs.
pub(super) enum How {
    /// Until it ends or its time is over.
    ToEnd,
    /// In a terminal, beyond the call if it takes long.
    InTerminal(TerminalStart),
}

/// What came of a run.
enum Ran {
    Ended {
        finished: Box<Finished>,
        output: ToolOutput,
    },
    RunsOn(ToolOutput),
}

pub(super) async fn run(turn: &Arc<Turn>, call: CommandCall, how: How) -> Result<ToolOutput, ToolError> {
    let home = turn.services.env.get("HOME").map(Path::new);
    match recognise(&call.argv, home) {
        Recognised::Patch { text, workdir } => {
            let workdir = match (call.workdir, workdir) {
                (Some(outer), Some(inner)) => Some(PathBuf::from(outer).join(inner).display().to_string()),
                (outer, inner) => outer.or_else(|| inner.map(|dir| dir.display().to_string())),
            };
            turn.may_change()?;
            line::reached().await;
            if let Some(refused) = review::refuses_patch(turn) {
                return Ok(refused);
            }
            return super::propose::run(turn, call.item_id, text, workdir).await;
        }
        Recognised::BarePatch => {
            return Err(ToolError::Answer(format!("Nothing was run: {BARE_PATCH_ADVICE}.")));
        }
        Recognised::NotAPatch => {}
    }
    if let Some(refused) = review::refuses(turn, &call) {
        return Ok(refused);
    }
    if call.escalated || !call.permissions.is_empty() {
        turn.may_change()?;
    }
    let escalated = call.escalated;
    let mut run = match Run::of(turn, call.clone()).await {
        Ok(run) => run,
        Err(_) => {
            // A call before this one may be making the folder.
            line::reached().await;
            Run::of(turn, call).await?
        }
    };
    run.how = how;
    match run.admit(escalated).await {
        Ok(confined) => run.perform(confined).await,
        Err(output) => Ok(output),
    }
}

async fn working_folder(turn: &Turn, workdir: Option<&str>) -> Result<PathBuf, ToolError> {
    let cwd = crate::workspace::uri::clean(&turn.settings.cwd.join(workdir.unwrap_or_default()));
    let looked_at = cwd.clone();
    match aside(move || std::fs::metadata(looked_at)).await {
        Ok(found) if found.is_dir() => Ok(cwd),
        Ok(_) => Err(ToolError::Answer(format!("workdir {} is not a folder.", cwd.display()))),
        Err(error) => Err(ToolError::Answer(format!(
            "workdir {} cannot be used: {error}.",
            cwd.display()
        ))),
    }
}

impl<'a> Run<'a> {
    /// A command as the model wants it; an answer to the model where there is nothing to run, or nowhere to run it.
    pub(super) async fn of(turn: &'a Arc<Turn>, call: CommandCall) -> Result<Self, ToolError> {
        if call.argv.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(ToolError::Answer(
                "The command is empty. Give the program and its arguments.".to_owned(),
            ));
        }
        let cwd = working_folder(turn, call.workdir.as_deref()).await?;
        Ok(Self {
            turn,
            item_id: call.item_id,
            actions: command::actions(&call.argv, &cwd),
            argv: call.argv,
            cwd,
            timeout: call.timeout.unwrap_or(DEFAULT_TIMEOUT),
            justification: call.justification.filter(|words| !words.trim().is_empty()),
            place: None,
            permissions: call.permissions,
            granted: OnceLock::new(),
            typed: None,
            planted: OnceLock::new(),
            how: How::ToEnd,
        })
    }

    /// The same for what goes into a program that runs on, so confined.
    pub(super) fn typed(self, confined: Confined) -> Self {
        Self {
            typed: Some(confined),
            ..self
        }
    }

    /// The same with our own note on where it goes.
    pub(super) fn goes_to(self, place: String) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    async fn perform(&self, confined: Confined) -> Result<ToolOutput, ToolError> {
        let (finished, output) = match self.execute(&self.item_id, confined).await {
            Ok(Ran::Ended { finished, output }) => (finished, output),
            Ok(Ran::RunsOn(output)) => return Ok(output),
            Err(error) => return Ok(ToolOutput::not_done(error.to_string())),
        };
        Ok(self.offer_outside(confined, &finished).await.unwrap_or(output))
    }

    /// The sandbox stood in the way: where the policy lets the person be asked, one question offers the run outside.
    async fn offer_outside(&self, confined: Confined, finished: &Finished) -> Option<ToolOutput> {
        let denial = finished.denied.as_ref().filter(|_| confined != Confined::Outside)?;
        self.turn.may_change().ok()?;
        if self.turn.is_apart() {
            return None;
        }
        let is_offered = match self.turn.settings.approval_policy {
            ApprovalPolicy::OnFailure | ApprovalPolicy::Untrusted => true,
            // No repository is made in the sandbox, and the model need not know that beforehand.
            ApprovalPolicy::OnRequest => command::makes_a_repository(&self.argv),
            ApprovalPolicy::Granular(kinds) => kinds.sandbox_approval && command::makes_a_repository(&self.argv),
            ApprovalPolicy::Never => false,
        };
        if !is_offered {
            return None;
        }
        let id = ItemId::from(format!("{}-retry", self.item_id));
        let mut allowed = None;
        loop {
            let known = self.turn.asking.answers();
            let (scopes, given) = self.look(true, false, decide::scopes_outside).await;
            let subject = self.subject(Confined::Outside, &scopes);
            if given || allowed.as_ref() == Some(&subject) {
                if let Some(planted) = &subject.planted {
                    self.wants_planted(planted);
                }
                break;
            }
            let reason = format!(
                "It failed in the sandbox ({}). Run it again without the sandbox?",
                denial.reason
            );
            match self.ask(&id, reason, &subject, &scopes, known).await {
                Asked::Yes => allowed = Some(subject),
                Asked::No(output) => return Some(output),
                Asked::LookAgain => {}
            }
        }
        Some(match self.execute(&id, Confined::Outside).await {
            Ok(Ran::Ended { output, .. } | Ran::RunsOn(output)) => output,
            Err(error) => ToolOutput::not_done(format!("The second run, outside the sandbox, failed: {error}")),
        })
    }

    /// Runs it once, shown as one item.
    async fn execute(&self, id: &ItemId, confined: Confined) -> Result<Ran, ExecError> {
        let turn = self.turn;
        self.begin(id, confined);
        let confinement = self.confinement(confined).await;
        // What was granted may let a command write where the policy does not.
        let writes = match confinement.writable_roots().is_empty() {
            false if confined == Confined::ReadOnly => Confined::Workspace,
            _ => confined,
        };
        let mut env = turn.command_environment(&confinement);
        if let How::InTerminal(wish) = &self.how {
            exec::for_terminal(&mut env, &turn.config.environment, wish.tty);
        }
        // Nothing that a command has put into a folder of `PATH`, or where programs load code from, leaves the sandbox by its name,
        // nor by what is run there.
        let leaves =
            confined == Confined::Outside && turn.settings.sandbox_policy.mode() != SandboxMode::DangerFullAccess;
        // What the person was shown and wants run is found where it was, and nothing else is.
        let shown = self.planted.get().cloned().unwrap_or_default();
        if leaves {
            if env.contains_key("PATH") {
                let found = env.clone();
                let path = aside(move || exec::program::search_path_with(&found, &shown)).await;
                env.insert("PATH".to_owned(), path);
            }
            // What the person's own policy sets is theirs.
            let set = &turn.config.environment.set;
            exec::program::drop_open_code_paths(&mut env, |name| set.contains_key(name));
            exec::program::share_no_caches(&mut env);
        }
        let places = (confined != Confined::Outside).then(|| confinement.writable_roots().to_vec());
        let wrote = exec::Wrote::default();
        let request = CommandRequest {
            argv: match leaves {
                true => exec::shell::without_profile(&self.argv),
                false => turn.services.through_profile(&turn.config, &self.argv),
            },
            argv0: None,
            cwd: self.cwd.clone(),
            env,
            confinement,
            timeout: Some(self.timeout),
            input: exec::Input::Nothing,
            wrote: wrote.clone(),
            full: outputs::of(turn, id, show::SHOWN_OUTPUT),
        };
        let can_change = confined != Confined::Outside && writes != Confined::ReadOnly;
        let _running = can_change.then(|| turn.services.beside.enter(&self.argv));
        let watch = undo::watch(turn, id, &self.argv, writes, undo::Doing { wrote, places }).await;
        if turn.cancel.is_cancelled() {
            // Stopped while the workspace was looked at.
            let finished = Finished::never_began(Duration::ZERO);
            turn.complete_item(self.finished_item(id, confined, &finished));
            return Ok(self.ended(finished, confined));
        }
        if let How::InTerminal(wish) = &self.how {
            let begun = Begun {
                turn,
                item_id: id,
                argv: self.argv.clone(),
                confined,
                wish,
                request,
                watch,
                notes: self.notes(confined),
            };
            let item = |finished: &Finished, terminal: Option<u32>| match terminal {
                Some(number) => self.background_item(id, confined, finished, number),
                None => self.finished_item(id, confined, finished),
            };
            let came = terminals::begin(begun, item).await;
            if let Err(error) = &came {
                self.not_run(id, confined, ItemStatus::Failed, &error.to_string());
            }
            return Ok(match came? {
                Came::Ended(finished, output) => {
                    self.tell_person(&finished);
                    Ran::Ended { finished, output }
                }
                Came::RunsOn(output) => Ran::RunsOn(output),
            });
        }
        let mut deltas = 0;
        let show = |_stream, text: &str| {
            deltas += 1;
            if deltas <= MOST_DELTAS {
                turn.output_delta(id, text);
            }
        };
        let result = exec::run(request, show, turn.cancel.child_token()).await;
        match &result {
            Ok(finished) => turn.complete_item(self.finished_item(id, confined, finished)),
            Err(error) => self.not_run(id, confined, ItemStatus::Failed, &error.to_string()),
        }
        watch.finish().await;
        result.map(|finished| self.ended(finished, confined))
    }

    /// Tells the person what became of files that may be theirs and, once in a session, what the sandbox lacks here.
    fn tell_person(&self, finished: &Finished) {
        finished.left.iter().for_each(|left| self.turn.warn(left.clone()));
        if let Some(what) = &finished.weaker
            && !std::mem::replace(&mut self.turn.conversation.data().told_weaker, true)
        {
            self.turn.warn(format!(
                "Commands run in a sandbox that is weaker than it could be: {what} `countersign doctor` says what would help."
            ));
        }
    }

    fn ended(&self, finished: Finished, confined: Confined) -> Ran {
        self.tell_person(&finished);
        Ran::Ended {
            output: self.output(&finished, confined),
            finished: Box::new(finished),
        }
    }
}

impl Turn {
    /// The environment of a command of this turn.
    pub fn command_environment(&self, confinement: &Confinement) -> BTreeMap<String, String> {
        self.services
            .command_environment(&self.config, self.conversation.id.as_str(), confinement)
    }

    /// A path as people name it: below the thread's folder where it is.
    pub fn short_name(&self, path: &Path) -> String {
        path.strip_prefix(&self.settings.cwd)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}
