//! A command of the model: decided on, asked about, confined, run and shown; the same way for every tool that runs one.

mod ask;
mod permit;
mod show;

pub(super) use show::cut_middle;

use super::terminals::{self, Begun, Came};
use super::turn::Turn;
use super::{line, review, undo};
use crate::exec::command;
use crate::exec::decide::{self, Case, Escalation, SessionGrants, Verdict};
use crate::exec::rules::Rules;
use crate::exec::{self, CommandRequest, Confinement, ExecError, Finished};
use crate::ids::ItemId;
use crate::patch::recognise::{BARE_PATCH_ADVICE, Recognised, recognise};
use crate::protocol::item::{CommandAction, Confined, ItemStatus};
use crate::protocol::permission::Permission;
use crate::protocol::settings::ApprovalPolicy;
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
    justification: Option<String>,
    /// What the model asks for beyond the policy, for this command.
    permissions: Vec<Permission>,
    /// What of it was given for this command alone.
    granted: OnceLock<Vec<Permission>>,
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
    Ended { finished: Finished, output: ToolOutput },
    RunsOn(ToolOutput),
}

pub(super) async fn run(turn: &Arc<Turn>, call: CommandCall, how: How) -> Result<ToolOutput, ToolError> {
    let home = turn.desk.env.get("HOME").map(Path::new);
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
    let mut run = match Run::of(turn, call.clone()) {
        Ok(run) => run,
        Err(_) => {
            // A call before this one may be making the folder.
            line::reached().await;
            Run::of(turn, call)?
        }
    };
    run.how = how;
    match run.admit(escalated).await {
        Ok(confined) => run.perform(confined).await,
        Err(output) => Ok(output),
    }
}

fn working_folder(turn: &Turn, workdir: Option<&str>) -> Result<PathBuf, ToolError> {
    let cwd = crate::workspace::uri::clean(&turn.settings.cwd.join(workdir.unwrap_or_default()));
    match std::fs::metadata(&cwd) {
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
    pub(super) fn of(turn: &'a Arc<Turn>, call: CommandCall) -> Result<Self, ToolError> {
        if call.argv.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(ToolError::Answer(
                "The command is empty. Give the program and its arguments.".to_owned(),
            ));
        }
        let cwd = working_folder(turn, call.workdir.as_deref())?;
        Ok(Self {
            turn,
            item_id: call.item_id,
            actions: command::actions(&call.argv, &cwd),
            argv: call.argv,
            cwd,
            timeout: call.timeout.unwrap_or(DEFAULT_TIMEOUT),
            justification: call.justification,
            permissions: call.permissions,
            granted: OnceLock::new(),
            how: How::ToEnd,
        })
    }

    /// Decides on it and, where the verdict says so, asks. How it runs, or what the model is told since it does not.
    pub(super) async fn admit(&self, escalated: bool) -> Result<Confined, ToolOutput> {
        if !escalated && let Some(refused) = self.permit().await {
            return Err(refused);
        }
        loop {
            let (grants, rules) = self.standing();
            let decided = decide::decide(&self.case(escalated, &grants, &rules));
            if let Verdict::Run(Confined::Outside)
            | Verdict::Ask {
                confined: Confined::Outside,
                ..
            } = decided.verdict
                && let Err(refused) = self.turn.may_change()
            {
                return Err(ToolOutput::not_done(refused.to_string()));
            }
            match decided.verdict {
                Verdict::Refuse { reason } => return Err(ToolOutput::not_done(reason)),
                Verdict::Run(confined) => return Ok(confined),
                Verdict::Ask {
                    reason,
                    confined,
                    scopes,
                } => match self.ask(&self.item_id, reason, confined, &scopes).await {
                    Asked::Yes => return Ok(confined),
                    Asked::No(output) => return Err(output),
                    Asked::LookAgain => {}
                },
            }
        }
    }

    /// What the person has said yes to for the session, and the rules as they stand.
    fn standing(&self) -> (SessionGrants, Arc<Rules>) {
        let grants = self.turn.conversation.data().grants.clone();
        (grants, self.turn.desk.rules(&self.turn.config))
    }

    fn case<'c>(&'c self, escalated: bool, grants: &'c SessionGrants, rules: &'c Rules) -> Case<'c> {
        Case {
            argv: &self.argv,
            cwd: &self.cwd,
            approval: self.turn.settings.approval_policy,
            sandbox: &self.turn.settings.sandbox_policy,
            escalation: escalated.then_some(Escalation {
                justification: self.justification.as_deref(),
            }),
            grants,
            rules,
        }
    }

    async fn perform(&self, confined: Confined) -> Result<ToolOutput, ToolError> {
        tokio::select! {
            () = line::reached() => {}
            () = self.turn.cancel.cancelled() => {}
        }
        if self.turn.cancel.is_cancelled() {
            return Ok(self.never_begun(confined));
        }
        self.save_first().await;
        if self.turn.cancel.is_cancelled() {
            return Ok(self.never_begun(confined));
        }
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
        if !matches!(
            self.turn.settings.approval_policy,
            ApprovalPolicy::OnFailure | ApprovalPolicy::Untrusted
        ) {
            return None;
        }
        let id = ItemId::from(format!("{}-retry", self.item_id));
        loop {
            let (grants, rules) = self.standing();
            let (scopes, given) = decide::scopes_outside(&self.case(true, &grants, &rules));
            if given {
                break;
            }
            let reason = format!(
                "It failed in the sandbox ({}). Run it again without the sandbox?",
                denial.reason
            );
            match self.ask(&id, reason, Confined::Outside, &scopes).await {
                Asked::Yes => break,
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
        let confinement = self.confinement(confined);
        // What was granted may let a command write where the policy does not.
        let writes = match confinement.writable_roots().is_empty() {
            false if confined == Confined::ReadOnly => Confined::Workspace,
            _ => confined,
        };
        let mut env = turn.command_environment(&confinement);
        if let How::InTerminal(wish) = &self.how {
            exec::for_terminal(&mut env, &turn.config.environment, wish.tty);
        }
        let request = CommandRequest {
            argv: turn.desk.through_profile(&turn.config, &self.argv),
            argv0: None,
            cwd: self.cwd.clone(),
            env,
            confinement,
            timeout: Some(self.timeout),
            input: exec::Input::Nothing,
        };
        let watch = undo::watch(turn, &self.argv, writes).await;
        if turn.cancel.is_cancelled() {
            // Stopped while the workspace was looked at.
            let finished = Finished::never_began(Duration::ZERO);
            turn.complete_item(self.finished_item(id, confined, &finished));
            return Ok(self.ended(finished));
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
                notes: self.unsaved().into_iter().collect(),
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
                    self.tell_weaker(&finished);
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
        result.map(|finished| self.ended(finished))
    }

    /// Tells the person, once in a session, what the sandbox lacks here.
    fn tell_weaker(&self, finished: &Finished) {
        if let Some(what) = &finished.weaker
            && !std::mem::replace(&mut self.turn.conversation.data().told_weaker, true)
        {
            self.turn.warn(format!(
                "Commands run in a sandbox that is weaker than it could be: {what} `countersign doctor` says what would help."
            ));
        }
    }

    fn ended(&self, finished: Finished) -> Ran {
        self.tell_weaker(&finished);
        Ran::Ended {
            output: self.output(&finished),
            finished,
        }
    }

    /// Commands see the disk: documents that the agent changed are saved first, through the editor.
    async fn save_first(&self) {
        let thread = &self.turn.conversation.id;
        let unsaved = self.turn.desk.unsaved(thread);
        let changed = self.turn.desk.proposals.changed_by_agent(thread, &unsaved);
        if changed.is_empty() {
            return;
        }
        tokio::select! {
            () = self.turn.desk.editor.save(thread.clone(), changed) => {}
            () = self.turn.cancel.cancelled() => {}
        }
    }
}

impl Turn {
    /// The environment of a command of this turn.
    pub fn command_environment(&self, confinement: &Confinement) -> BTreeMap<String, String> {
        self.desk
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
