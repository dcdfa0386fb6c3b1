//! One turn without an editor and without a question, for scripts and continuous integration: what `exec` and `review` share.
//!
//! Nobody is asked: the approval policy is `never`, so that the sandbox mode alone decides what may be done. What was refused is in
//! the output and in the exit status.

mod agents;
mod orders;
mod progress;
mod refused;

use crate::agent::editor::{ApplyReply, Editor, EditorChange, Saving, Unsaved};
use crate::agent::thread::{Start, Started, ThreadHandle};
use crate::agent::{self, Agent, AgentError, Opened, apply};
use crate::config::ClientSettings;
use crate::config::startup::Startup;
use crate::ids::{ThreadId, TurnId};
use crate::model::ModelClient;
use crate::private;
use crate::protocol::event::{Event, EventKind, TurnCompleted};
use crate::protocol::item::ThreadItem;
use crate::protocol::review::{ReviewOutput, ReviewTarget};
use crate::protocol::settings::{ApprovalPolicy, SandboxMode, SettingsOverride};
use crate::protocol::thread::{ThreadResumeParams, ThreadStartParams};
use crate::protocol::turn::{TurnErrorKind, TurnStatus};
use crate::secrets::Secrets;
use crate::server::log::{self, LogOptions};
use crate::shown;
use crate::telemetry::Telemetry;
use crate::tools::Registry;
use crate::workspace::Workspace;
use agents::Agents;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use progress::Progress;
use refused::Refused;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The turn failed, or could not begin.
pub(super) const FAILED: u8 = 1;
/// The command line cannot be followed. The parser of the command line uses it too.
pub(super) const USAGE: u8 = 2;
/// The agent came to its end, but something that it wanted to do was refused or did not fit.
const REFUSED: u8 = 3;
/// A bound of this run was reached.
const BUDGET: u8 = 4;
/// A signal stopped it, as shells say it of an interrupt.
const STOPPED: u8 = 130;
/// What the end of the thread may take.
const END: Duration = Duration::from_millis(2200);

/// What every run takes.
#[derive(Debug, clap::Args)]
pub(super) struct Common {
    /// Print each event as a line of JSON (docs/protocol.md) instead of the answer.
    #[arg(long)]
    pub(super) json: bool,
    /// Work in this folder, not in the current one.
    #[arg(short = 'C', long = "cd", value_name = "FOLDER")]
    cd: Option<PathBuf>,
    /// The model that answers.
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// The provider of the model, by its id in the configuration.
    #[arg(long, value_name = "ID")]
    provider: Option<String>,
    /// Keep nothing of the conversation on the disk.
    #[arg(long)]
    pub(super) ephemeral: bool,
    /// End the turn after this many requests to the model.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_requests: Option<u32>,
    /// End the turn once it has cost this many US dollars, as far as prices are known.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<f64>,
    /// Set a configuration key above the files, as TOML has its value; may be repeated.
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE")]
    config: Vec<String>,
}

/// Where a run works.
pub(super) struct Places {
    pub(super) home: PathBuf,
    pub(super) cwd: PathBuf,
}

impl Places {
    /// # Errors
    /// What is wrong with the command line, and what to do.
    pub(super) fn of(common: &Common) -> Result<Self, String> {
        Self::at(common.cd.as_deref())
    }

    /// # Errors
    /// As [`Places::of`].
    pub(super) fn at(folder: Option<&Path>) -> Result<Self, String> {
        let home = crate::cli::home().ok_or(
            "no home folder is known, so there is no place for configuration; set COUNTERSIGN_HOME to a folder",
        )?;
        let cwd = folder.unwrap_or(Path::new("."));
        let cwd = cwd
            .canonicalize()
            .ok()
            .filter(|cwd| cwd.is_dir())
            .ok_or_else(|| format!("{} is no folder to work in", cwd.display()))?;
        Ok(Self { home, cwd })
    }
}

/// What there is to do, all of it read before anything begins.
pub(super) struct Task {
    /// The subcommand: it begins what is said, and marks the conversation.
    pub(super) command: &'static str,
    pub(super) places: Places,
    pub(super) sandbox: SandboxMode,
    pub(super) resume: Option<ThreadId>,
    pub(super) work: Work,
}

pub(super) enum Work {
    Turn(Box<Start>),
    Review(ReviewTarget),
}

/// What came of a turn that ended.
pub(super) struct Outcome<'r> {
    pub(super) ended: &'r TurnCompleted,
    /// Of a review that came to a result.
    pub(super) review: Option<&'r ReviewOutput>,
    /// In words, as they are kept with the conversation.
    pub(super) review_text: &'r str,
    pub(super) cwd: &'r Path,
    /// There was a command, a change of files, or a call.
    pub(super) did_something: bool,
}

/// Does it. `conclude` says what came of a turn that came to its end, and gives the exit status in place of 0.
pub(super) fn run(common: &Common, task: Task, conclude: &dyn Fn(&Outcome<'_>) -> Result<u8, String>) -> ExitCode {
    let command = task.command;
    let say = |message: &str| say(command, message);
    let home = task.places.home.clone();
    let mut env = crate::cli::environment();
    let startup = Startup::read(&common.config, &mut env);
    if let Some(problem) = startup.problems.first() {
        say(&problem.message);
        return ExitCode::from(USAGE);
    }
    if let Err(trouble) = private::make_home(&home) {
        say(&trouble.to_string());
        return ExitCode::from(FAILED);
    }
    let secrets = Secrets::of_environment(&env);
    let filter = std::env::var("COUNTERSIGN_LOG").ok();
    let options = LogOptions {
        folder: &home.join("log"),
        filter: filter.as_deref(),
        stderr: false,
        secrets: &secrets,
        ring: None,
    };
    if let Err(trouble) = log::install(&options) {
        say(&trouble);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("cannot start: {error}"));
            return ExitCode::from(FAILED);
        }
    };
    let mut client = ClientSettings {
        startup: startup.settings,
        ..ClientSettings::default()
    };
    if let Some(most) = common.max_requests {
        client.startup.insert("max_requests_per_turn".to_owned(), json!(most));
    }
    if let Some(most) = common.max_cost {
        client.startup.insert("max_cost_per_turn".to_owned(), json!(most));
    }
    let telemetry = Telemetry::new(secrets.clone(), &env);
    let setup = agent::Setup {
        client,
        ..setup(&task.places, env, secrets, command)
    };
    let status = runtime.block_on(async {
        let agent = Agent::with(setup, Registry::standard(), vec![Arc::new(telemetry.clone())]);
        apply::put_right(home.clone(), |words| tracing::warn!("{words}")).await;
        let status = turn(&agent, task, common, conclude).await;
        if tokio::time::timeout(END, agent.shutdown()).await.is_err() {
            tracing::error!("not all threads have ended in time");
        }
        telemetry.finish().await;
        status
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    ExitCode::from(status)
}

/// What an agent is made of that has no editor.
pub(super) fn setup(places: &Places, env: BTreeMap<String, String>, secrets: Secrets, source: &str) -> agent::Setup {
    let workspace = Workspace::new();
    workspace.set_roots(vec![places.cwd.clone()]);
    agent::Setup {
        workspace,
        editor: Arc::new(NoEditor),
        home: places.home.clone(),
        env,
        client: ClientSettings::default(),
        user_agent: ModelClient::user_agent(),
        secrets,
        source: source.to_owned(),
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse() {
        Ok(usd) if usd > 0.0 && f64::is_finite(usd) => Ok(usd),
        _ => Err("it is no amount of US dollars, such as 0.50".to_owned()),
    }
}

/// Runs the turn and says what came of it; the exit status.
async fn turn(agent: &Agent, task: Task, common: &Common, conclude: &dyn Fn(&Outcome<'_>) -> Result<u8, String>) -> u8 {
    let say = |message: &str| say(task.command, message);
    let loaded = match agent.load_config(Some(&task.places.cwd), None) {
        Ok(loaded) => loaded,
        Err(error) => {
            say(&error.to_string());
            return FAILED;
        }
    };
    // Nobody is there to ask, and what the file forbids is not known.
    if loaded.is_lost {
        for warning in &loaded.warnings {
            say(&warning.in_words());
        }
        return USAGE;
    }
    // A profile that goes as far as the command line says is the one that is meant.
    let profile = loaded.config.default_permissions.clone();
    let profile = profile.filter(|_| loaded.sandbox_mode() == task.sandbox);
    let provider = common.provider.as_deref().unwrap_or(&loaded.config.model_provider);
    let provider = loaded.config.provider(provider);
    let most_connections = provider.map_or(0, |provider| provider.request_max_retries);
    let settings = SettingsOverride {
        cwd: Some(task.places.cwd.clone()),
        model: common.model.clone(),
        model_provider: common.provider.clone(),
        approval_policy: Some(ApprovalPolicy::Never),
        sandbox_policy: profile.is_none().then(|| loaded.sandbox_policy(task.sandbox)),
        permissions: profile,
        ..SettingsOverride::default()
    };
    let opened = match task.resume {
        Some(id) => {
            let resume = ThreadResumeParams {
                thread_id: Some(id),
                settings,
                ..ThreadResumeParams::default()
            };
            agent.resume_thread(resume).await
        }
        None => {
            let start = ThreadStartParams {
                settings,
                ephemeral: common.ephemeral,
                ..ThreadStartParams::default()
            };
            agent.start_thread(start).await
        }
    };
    let Opened { handle, .. } = match opened {
        Ok(opened) => opened,
        Err(error) => {
            say(&error.to_string());
            return FAILED;
        }
    };
    if !common.json && !common.ephemeral {
        say_plainly(&format!("conversation {}", handle.id()));
    }
    // What was said when the conversation was opened is among them.
    let mut events = handle.subscribe(Some(0));
    let started = match begin(&handle, task.work).await {
        Ok(started) => started,
        Err(error) => {
            say(&error.to_string());
            return FAILED;
        }
    };
    let turn = started.turn.id.clone();
    drop(started);
    let mut run = Run {
        agent,
        handle: &handle,
        turn: &turn,
        command: task.command,
        json: common.json,
        cwd: &task.places.cwd,
        progress: Progress::new(&task.places.cwd),
        refused: Refused::default(),
        agents: Agents::new(agent),
        review: None,
        most_connections,
        unreachable: None,
        did_something: false,
        terminals: BTreeMap::new(),
        only_reads: task.command == "exec" && task.sandbox == SandboxMode::ReadOnly,
    };
    let mut signal = std::pin::pin!(super::signal::asked_to_end());
    let mut is_stopped = false;
    let ended = loop {
        let event = tokio::select! {
            // The end of the turn comes after what its agents have done.
            biased;
            event = run.agents.next() => Some(event),
            event = events.next() => event,
            () = &mut signal, if !is_stopped => {
                is_stopped = true;
                let _ends_anyway = handle.interrupt(Some(turn.clone())).await;
                continue;
            }
        };
        let Some(event) = event else { break None };
        let is_out_of_reach = run.unreachable.is_some();
        run.take(&event);
        if run.unreachable.is_some() && !is_out_of_reach {
            let _ends_anyway = handle.interrupt(Some(turn.clone())).await;
        }
        if let EventKind::TurnCompleted(completed) = event.kind
            && completed.turn.id == turn
        {
            run.agents.rest().iter().for_each(|event| run.take(event));
            break Some(completed);
        }
    };
    let Some(ended) = ended else {
        say("the conversation ended before its turn did");
        return FAILED;
    };
    if is_stopped {
        say("stopped");
        return STOPPED;
    }
    run.conclude(&ended, conclude)
}

async fn begin(handle: &ThreadHandle, work: Work) -> Result<Started, AgentError> {
    match work {
        Work::Turn(start) => {
            handle.check_prompt(&start.content).await?;
            handle.start_turn(*start).await
        }
        Work::Review(target) => handle.review(target).await,
    }
}

/// A turn that runs.
struct Run<'a> {
    agent: &'a Agent,
    handle: &'a ThreadHandle,
    turn: &'a TurnId,
    command: &'static str,
    json: bool,
    cwd: &'a Path,
    progress: Progress,
    refused: Refused,
    agents: Agents,
    review: Option<(String, Option<ReviewOutput>)>,
    /// So often it is tried again to reach the model.
    most_connections: u32,
    /// Why the model could not be reached, so often that the run is ended.
    unreachable: Option<String>,
    did_something: bool,
    /// Commands that run in terminals, with their conversation and number.
    terminals: BTreeMap<(ThreadId, u32), String>,
    /// Changes need more than this run may.
    only_reads: bool,
}

impl Run<'_> {
    fn take(&mut self, event: &Event) {
        self.agents.note(&event.kind);
        // In an editor a person sees it, and may stop it; here it would be tried without end.
        let gives_up = matches!(&event.kind, EventKind::TurnRetrying(retrying)
            if retrying.limit.is_none() && retrying.attempt > self.most_connections);
        if self.json {
            print_json(&json!({"method": event.kind.method(), "params": event.params()}).to_string());
        } else {
            let agent = self.agents.name(&event.at.thread_id);
            // What an agent of the model's says is for the model.
            if agent.is_none()
                && let Some(words) = self.progress.words_before(&event.kind)
            {
                say_plainly(&words);
            }
            // It does not wait once more.
            if let Some(line) = self.progress.line(&event.kind).filter(|_| !gives_up) {
                match agent {
                    Some(name) => say_plainly(&format!("[{name}] {line}")),
                    None => say_plainly(&line),
                }
            }
        }
        if let EventKind::ItemCompleted(completed) = &event.kind
            && let ThreadItem::ExitedReviewMode { review, output, .. } = &completed.item
        {
            self.review = Some((review.clone(), output.clone()));
        }
        self.did_something |= matches!(
            &event.kind,
            EventKind::ItemCompleted(completed) if matches!(
                completed.item,
                ThreadItem::CommandExecution { .. }
                    | ThreadItem::FileChange { .. }
                    | ThreadItem::McpToolCall { .. }
                    | ThreadItem::ToolCall { .. }
            )
        );
        match &event.kind {
            EventKind::TerminalStarted(started) => {
                let place = (event.at.thread_id.clone(), started.terminal.terminal_id);
                self.terminals.insert(place, started.terminal.command.clone());
            }
            EventKind::TerminalExited(exited) => {
                self.terminals.remove(&(event.at.thread_id.clone(), exited.terminal_id));
            }
            _ => {}
        }
        if let EventKind::TurnRetrying(retrying) = &event.kind
            && gives_up
        {
            self.unreachable.get_or_insert_with(|| retrying.message.clone());
        }
        self.refused.note(&event.kind);
        refused::answer(self.agent, &event.kind);
    }

    fn conclude(&self, ended: &TurnCompleted, conclude: &dyn Fn(&Outcome<'_>) -> Result<u8, String>) -> u8 {
        let say = |message: &str| say(self.command, message);
        for command in self.terminals.values() {
            say_plainly(&format!(
                "still running, so it is stopped: $ {}",
                progress::short(command)
            ));
        }
        // It may have come to its end before the stop reached it.
        let unreachable = self.unreachable.as_ref();
        if let Some(why) = unreachable.filter(|_| ended.turn.status != TurnStatus::Completed) {
            say(&format!(
                "given up after {} more attempts (request_max_retries): {why}",
                self.most_connections
            ));
            return FAILED;
        }
        let (review_text, review) = match &self.review {
            Some((text, output)) => (text.as_str(), output.as_ref()),
            None => ("", None),
        };
        let outcome = Outcome {
            ended,
            review,
            review_text,
            cwd: self.cwd,
            did_something: self.did_something,
        };
        let status = match conclude(&outcome) {
            Ok(status) => status,
            Err(problem) => {
                say(&problem);
                return FAILED;
            }
        };
        if let Some(cost) = ended.cost.filter(|_| !self.json) {
            say_plainly(&format!("cost {cost}"));
        }
        match (ended.turn.status, &ended.turn.error) {
            (TurnStatus::Completed, _) if self.refused.is_empty() => status,
            (TurnStatus::Completed, _) => {
                let hint = match self.only_reads && self.refused.only_reads() {
                    true => "; it only reads unless you add --sandbox workspace-write",
                    false => "",
                };
                say(&format!("done, but not all of it: {}{hint}", self.refused));
                REFUSED
            }
            (_, Some(error)) => {
                say(&error.message);
                match error.kind {
                    TurnErrorKind::TooManyRounds | TurnErrorKind::CostLimitExceeded => BUDGET,
                    _ => FAILED,
                }
            }
            _ => {
                say(&format!("turn {} of {} was stopped", self.turn, self.handle.id()));
                FAILED
            }
        }
    }
}

/// A text on standard output, whose reader may be gone.
pub(super) fn print(text: &str) {
    write_line(&mut io::stdout().lock(), text, orders::undone);
}

/// The same for JSON.
pub(super) fn print_json(json: &str) {
    write_line(&mut io::stdout().lock(), json, orders::undone_in_json);
}

/// To standard error, which may be closed.
pub(super) fn say(command: &str, message: &str) {
    say_plainly(&format!("countersign {command}: {}", shown::prose(message)));
}

fn say_plainly(line: &str) {
    write_line(&mut io::stderr().lock(), line, orders::undone);
}

fn write_line(to: &mut impl io::Write, text: &str, undone: impl Fn(&str) -> Cow<'_, str>) {
    let text = match orders::are_read() {
        true => undone(text),
        false => Cow::Borrowed(text),
    };
    let _closed = writeln!(to, "{text}").and_then(|()| to.flush());
}

/// Nothing is open: files are as they are on the disk.
struct NoEditor;

impl Editor for NoEditor {
    fn apply(&self, _change: EditorChange) -> BoxFuture<'static, ApplyReply> {
        async {
            ApplyReply::Refused {
                reason: Some("there is no editor".to_owned()),
            }
        }
        .boxed()
    }

    fn save(&self, _thread: ThreadId, _documents: Vec<Unsaved>) -> BoxFuture<'static, Saving> {
        std::future::ready(Saving::Over).boxed()
    }

    fn has_resource_operations(&self) -> bool {
        false
    }
}
