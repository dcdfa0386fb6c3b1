//! A command of the model: decided on, asked about, confined, run and shown; the same way for every tool that runs one.

use super::turn::Turn;
use super::undo;
use crate::config::Config;
use crate::exec::command;
use crate::exec::decide::{self, Capability, Case, Escalation, Verdict};
use crate::exec::{self, CommandRequest, Confinement, ExecError, Finished};
use crate::ids::{ApprovalId, ItemId};
use crate::patch::recognise::{BARE_PATCH_ADVICE, Recognised, recognise};
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse, CommandApproval};
use crate::protocol::item::{CommandAction, Confined, ItemStatus, ThreadItem};
use crate::protocol::settings::ApprovalPolicy;
use crate::tools::{CommandCall, ToolError, ToolOutput};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Longest run where the model names none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// Deltas of one command's output; what comes later is in the completed item.
const MOST_DELTAS: usize = 10_000;
/// Bytes of output that the model is told: head and tail, the middle cut out.
const MODEL_OUTPUT: usize = 40_000;
/// Bytes of output in the completed item.
const SHOWN_OUTPUT: usize = 64 << 10;

/// One command on its way.
struct Run<'a> {
    turn: &'a Arc<Turn>,
    item_id: ItemId,
    argv: Vec<String>,
    cwd: PathBuf,
    actions: Vec<CommandAction>,
    timeout: Duration,
    justification: Option<String>,
}

pub async fn run(turn: &Arc<Turn>, call: CommandCall) -> Result<ToolOutput, ToolError> {
    let home = turn.desk.env.get("HOME").map(Path::new);
    match recognise(&call.argv, home) {
        Recognised::Patch { text, workdir } => {
            let workdir = match (call.workdir, workdir) {
                (Some(outer), Some(inner)) => Some(PathBuf::from(outer).join(inner).display().to_string()),
                (outer, inner) => outer.or_else(|| inner.map(|dir| dir.display().to_string())),
            };
            return super::propose::run(turn, call.item_id, text, workdir).await;
        }
        Recognised::BarePatch => {
            return Err(ToolError::Answer(format!("Nothing was run: {BARE_PATCH_ADVICE}.")));
        }
        Recognised::NotAPatch => {}
    }
    if call.argv.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(ToolError::Answer(
            "The command is empty. Give the program and its arguments.".to_owned(),
        ));
    }
    let cwd = working_folder(turn, call.workdir.as_deref())?;
    let grants = turn.conversation.data().grants.clone();
    let verdict = decide::decide(&Case {
        argv: &call.argv,
        cwd: &cwd,
        approval: turn.settings.approval_policy,
        sandbox: &turn.settings.sandbox_policy,
        escalation: call.escalated.then_some(Escalation {
            justification: call.justification.as_deref(),
        }),
        grants: &grants,
    });
    let run = Run {
        turn,
        item_id: call.item_id,
        actions: command::actions(&call.argv, &cwd),
        argv: call.argv,
        cwd,
        timeout: call.timeout.unwrap_or(DEFAULT_TIMEOUT),
        justification: call.justification,
    };
    let confined = match verdict {
        Verdict::Refuse { reason } => return Ok(ToolOutput::not_done(reason)),
        Verdict::Run(confined) => confined,
        Verdict::Ask {
            reason,
            confined,
            scope,
        } => {
            run.begin(&run.item_id, confined);
            let response = run.ask(&run.item_id, reason, confined, &scope).await;
            if let Some(denied) = run.denied(&run.item_id, confined, response.as_ref()) {
                return Ok(denied);
            }
            confined
        }
    };
    run.perform(confined).await
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

impl Run<'_> {
    fn item(&self, id: &ItemId, confined: Confined, status: ItemStatus) -> ThreadItem {
        ThreadItem::CommandExecution {
            id: id.clone(),
            command: command::display(&self.argv),
            cwd: self.cwd.clone(),
            actions: self.actions.clone(),
            confined,
            status,
            aggregated_output: None,
            exit_code: None,
            duration_ms: None,
            reason: None,
        }
    }

    fn begin(&self, id: &ItemId, confined: Confined) {
        self.turn.start_item(self.item(id, confined, ItemStatus::InProgress));
    }

    /// Ends an item that did not run, with the reason.
    fn not_run(&self, id: &ItemId, confined: Confined, ended: ItemStatus, why: &str) {
        let mut item = self.item(id, confined, ended);
        if let ThreadItem::CommandExecution { reason, .. } = &mut item {
            *reason = Some(why.to_owned());
        }
        self.turn.complete_item(item);
    }

    /// Asks the person. `None` if the turn was stopped before the answer; the question is withdrawn then.
    async fn ask(
        &self,
        id: &ItemId,
        reason: String,
        confined: Confined,
        scope: &Capability,
    ) -> Option<ApprovalResponse> {
        let turn = self.turn;
        let approval = CommandApproval {
            id: ApprovalId::fresh(),
            thread_id: turn.conversation.id.clone(),
            turn_id: turn.id.clone(),
            item_id: id.clone(),
            command: self.argv.clone(),
            cwd: self.cwd.clone(),
            actions: self.actions.clone(),
            reason,
            justification: self.justification.clone(),
            confined,
            session_scope: scope.to_string(),
            available_decisions: available_decisions(scope),
        };
        let answer = turn.ask(Approval::Command(approval)).await;
        if answer
            .as_ref()
            .is_some_and(|response| response.decision == ApprovalDecision::AcceptForSession)
        {
            turn.conversation.data().grants.add(scope.clone());
        }
        answer
    }

    /// The output for a no; nothing for a yes.
    fn denied(&self, id: &ItemId, confined: Confined, response: Option<&ApprovalResponse>) -> Option<ToolOutput> {
        let Some(response) = response else {
            let words = "The turn was stopped before the person answered; the command was not run.";
            self.not_run(id, confined, ItemStatus::Interrupted, words);
            return Some(ToolOutput::not_done(words));
        };
        match response.decision {
            ApprovalDecision::Accept | ApprovalDecision::AcceptForSession => return None,
            ApprovalDecision::Decline | ApprovalDecision::Cancel => {}
        }
        self.not_run(id, confined, ItemStatus::Declined, "The person said no.");
        let words = match response
            .feedback
            .as_deref()
            .map(str::trim)
            .filter(|words| !words.is_empty())
        {
            Some(words) => format!(" They say: {words}"),
            None => " Do not try to reach the same by another command; find another way or ask.".to_owned(),
        };
        Some(ToolOutput::not_done(format!(
            "The person rejected this command; it was not run.{words}"
        )))
    }

    async fn perform(&self, confined: Confined) -> Result<ToolOutput, ToolError> {
        self.save_first().await;
        if self.turn.cancel.is_cancelled() {
            let words = "The turn was stopped before the command began.";
            self.not_run(&self.item_id, confined, ItemStatus::Interrupted, words);
            return Ok(ToolOutput::not_done(words));
        }
        let finished = match self.execute(&self.item_id, confined).await {
            Ok(finished) => finished,
            Err(error) => return Ok(ToolOutput::not_done(error.to_string())),
        };
        if let Some(output) = self.offer_outside(confined, &finished).await {
            return Ok(output);
        }
        Ok(self.output(&finished))
    }

    /// The sandbox stood in the way: where the policy lets the person be asked, one question offers the run outside.
    async fn offer_outside(&self, confined: Confined, finished: &Finished) -> Option<ToolOutput> {
        let denial = finished.denied.as_ref().filter(|_| confined != Confined::Outside)?;
        if !matches!(
            self.turn.settings.approval_policy,
            ApprovalPolicy::OnFailure | ApprovalPolicy::Untrusted
        ) {
            return None;
        }
        let id = ItemId::from(format!("{}-retry", self.item_id));
        let scope = Capability::of(&self.argv, &self.cwd, Confined::Outside, false);
        if !self.turn.conversation.data().grants.covers(&scope) {
            self.begin(&id, Confined::Outside);
            let reason = format!(
                "It failed in the sandbox ({}). Run it again without the sandbox?",
                denial.reason
            );
            let response = self.ask(&id, reason, Confined::Outside, &scope).await;
            if let Some(denied) = self.denied(&id, Confined::Outside, response.as_ref()) {
                return Some(denied);
            }
        }
        Some(match self.execute(&id, Confined::Outside).await {
            Ok(finished) => self.output(&finished),
            Err(error) => ToolOutput::not_done(format!("The second run, outside the sandbox, failed: {error}")),
        })
    }

    /// Runs it once, shown as one item.
    async fn execute(&self, id: &ItemId, confined: Confined) -> Result<Finished, ExecError> {
        let turn = self.turn;
        self.begin(id, confined);
        let confinement = turn.confinement(confined);
        let keys: Vec<&str> = secret_variables(&turn.config).collect();
        let env = exec::environment(
            &turn.config.environment,
            turn.desk.env.clone(),
            &keys,
            turn.conversation.id.as_str(),
            confinement.network(),
        );
        let request = CommandRequest {
            argv: self.argv.clone(),
            argv0: None,
            cwd: self.cwd.clone(),
            env,
            confinement,
            timeout: Some(self.timeout),
            input: exec::Input::Nothing,
        };
        let watch = undo::watch(turn, &self.argv, confined).await;
        if turn.cancel.is_cancelled() {
            // Stopped while the workspace was looked at.
            let finished = Finished::never_began(Duration::ZERO);
            turn.complete_item(self.finished_item(id, confined, &finished));
            return Ok(finished);
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
        result
    }

    fn finished_item(&self, id: &ItemId, confined: Confined, finished: &Finished) -> ThreadItem {
        let status = match finished {
            Finished { cancelled: true, .. } => ItemStatus::Interrupted,
            Finished {
                exit_code: 0,
                timed_out: false,
                ..
            } => ItemStatus::Completed,
            _ => ItemStatus::Failed,
        };
        let mut item = self.item(id, confined, status);
        if let ThreadItem::CommandExecution {
            aggregated_output,
            exit_code,
            duration_ms,
            reason,
            ..
        } = &mut item
        {
            *aggregated_output = Some(cut_middle(&finished.aggregated, SHOWN_OUTPUT));
            *exit_code = Some(finished.exit_code);
            *duration_ms = Some(u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX));
            *reason = finished
                .denied
                .as_ref()
                .map(|denial| format!("The sandbox stopped it: {}.", denial.reason));
        }
        item
    }

    /// What the model is told: JSON with the output, the exit code and the time.
    fn output(&self, finished: &Finished) -> ToolOutput {
        let mut text = String::new();
        if finished.timed_out {
            text.push_str(&format!(
                "command timed out after {} milliseconds\n",
                self.timeout.as_millis()
            ));
        }
        if finished.cancelled {
            text.push_str("the person stopped the command\n");
        }
        if let Some(denial) = &finished.denied {
            text.push_str(&format!("note: the sandbox stopped it: {}\n", denial.reason));
        }
        let unsaved = self.turn.desk.unsaved();
        if !unsaved.is_empty() {
            let names: Vec<_> = unsaved.iter().map(|path| self.turn.short_name(path)).collect();
            text.push_str(&format!(
                "note: the command saw the disk; unsaved in the editor, so different from what you and the person see: {}\n",
                names.join(", ")
            ));
        }
        text.push_str(&cut_middle(&exec::plain(&finished.aggregated), MODEL_OUTPUT));
        let seconds = (finished.duration.as_secs_f64() * 10.0).round() / 10.0;
        let json = serde_json::json!({
            "output": text,
            "metadata": {"exit_code": finished.exit_code, "duration_seconds": seconds},
        });
        ToolOutput {
            text: json.to_string(),
            success: Some(finished.exit_code == 0 && !finished.timed_out),
        }
    }

    /// Commands see the disk: documents that the agent changed are saved first, through the editor.
    async fn save_first(&self) {
        let unsaved = self.turn.desk.unsaved();
        let thread = &self.turn.conversation.id;
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

/// What the person may answer: some commands are asked about each time.
fn available_decisions(scope: &Capability) -> Vec<ApprovalDecision> {
    let session = scope.can_be_remembered().then_some(ApprovalDecision::AcceptForSession);
    let all = [
        Some(ApprovalDecision::Accept),
        session,
        Some(ApprovalDecision::Decline),
        Some(ApprovalDecision::Cancel),
    ];
    all.into_iter().flatten().collect()
}

/// Variables that hold the server's own credentials; no command ever gets them.
fn secret_variables(config: &Config) -> impl Iterator<Item = &str> {
    let providers = config.providers.values();
    providers
        .flat_map(|provider| provider.env_key.iter().chain(provider.env_http_headers.values()))
        .map(String::as_str)
}

/// At most `most` bytes of a text: its head and its tail, and between them how much is missing. Cut at line ends where
/// there are any.
fn cut_middle(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let head = head.rfind('\n').map_or(head, |end| &head[..=end]);
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let tail = tail.find('\n').map_or(tail, |end| &tail[end + 1..]);
    let missing = &text[head.len()..text.len() - tail.len()];
    format!(
        "{head}[… {} bytes, {} lines cut out …]\n{tail}",
        missing.len(),
        missing.lines().count()
    )
}

impl Turn {
    /// What a run of this turn may touch.
    pub fn confinement(&self, confined: Confined) -> Confinement {
        if confined == Confined::Outside {
            return Confinement::outside();
        }
        let granted = self.conversation.granted_roots();
        let confinement = Confinement::new(
            &self.settings.sandbox_policy,
            &self.settings.cwd,
            &self.roots,
            self.desk.temporary_folder().as_deref(),
        );
        match confined {
            // What only reads stays so; a folder that was opened counts for patches then.
            Confined::ReadOnly => confinement,
            _ => granted.into_iter().fold(confinement, Confinement::with_writable),
        }
    }

    /// A path as people name it: below the thread's folder where it is.
    pub fn short_name(&self, path: &Path) -> String {
        path.strip_prefix(&self.settings.cwd)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}
