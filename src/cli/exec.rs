//! `countersign exec`: one turn without an editor and without a question, for scripts and continuous integration.
//!
//! Nobody is asked: the approval policy is `never`, so that the sandbox mode alone decides what may be done. What was refused is in
//! the output and in the exit status.

mod progress;
mod refused;

use super::thread;
use crate::agent::editor::{ApplyReply, Editor, EditorChange, Saving, Unsaved};
use crate::agent::thread::{Start, ThreadHandle};
use crate::agent::{self, Agent, Opened, apply};
use crate::config::ClientSettings;
use crate::config::startup::Startup;
use crate::ids::{ThreadId, TurnId};
use crate::model::ModelClient;
use crate::private;
use crate::protocol::event::{Event, EventKind, TurnCompleted};
use crate::protocol::item::UserInput;
use crate::protocol::settings::{ApprovalPolicy, SandboxMode, SandboxPolicy, SettingsOverride};
use crate::protocol::thread::{ThreadResumeParams, ThreadStartParams};
use crate::protocol::turn::{TurnErrorKind, TurnStatus};
use crate::secrets::Secrets;
use crate::server::log::{self, LogOptions};
use crate::shown;
use crate::telemetry::Telemetry;
use crate::tools::Registry;
use crate::workspace::Workspace;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use progress::Progress;
use refused::Refused;
use serde_json::json;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The turn failed, or could not begin.
const FAILED: u8 = 1;
/// The command line cannot be followed. The parser of the command line uses it too.
const USAGE: u8 = 2;
/// The agent came to its end, but something that it wanted to do was refused or did not fit.
const REFUSED: u8 = 3;
/// A bound of this run was reached.
const BUDGET: u8 = 4;
/// A signal stopped it, as shells say it of an interrupt.
const STOPPED: u8 = 130;
/// How conversations of such runs are marked.
const SOURCE: &str = "exec";
/// Bytes of a prompt that is read from standard input.
const LONGEST_PROMPT: u64 = 4 << 20;
/// What the end of the thread may take.
const END: Duration = Duration::from_millis(2200);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 done; 1 failed; 2 wrong use; 3 done, but something that the agent wanted to do was refused; \
                        4 a bound was reached; 130 stopped by a signal."
)]
pub struct Args {
    /// What to do. `-`, or nothing where standard input is no terminal: it is read from there.
    prompt: Option<String>,
    /// Print each event as a line of JSON (docs/protocol.md) instead of the answer.
    #[arg(long)]
    json: bool,
    /// What commands and changes may touch; nobody is asked for more.
    #[arg(short, long, value_name = "MODE", default_value = "read-only", value_parser = ["read-only", "workspace-write", "danger-full-access"])]
    sandbox: String,
    /// Work in this folder, not in the current one.
    #[arg(short = 'C', long = "cd", value_name = "FOLDER")]
    cd: Option<PathBuf>,
    /// The model that answers.
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// The provider of the model, by its id in the configuration.
    #[arg(long, value_name = "ID")]
    provider: Option<String>,
    /// An image that goes with the prompt; may be repeated.
    #[arg(short, long = "image", value_name = "FILE")]
    images: Vec<PathBuf>,
    /// A JSON Schema that the answer must follow.
    #[arg(long, value_name = "FILE")]
    output_schema: Option<PathBuf>,
    /// Write the answer to this file, too.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Continue a conversation: its id, or `last` for that of the last run in this folder.
    #[arg(long, value_name = "ID", conflicts_with = "ephemeral")]
    resume: Option<String>,
    /// Keep nothing of the conversation on the disk.
    #[arg(long)]
    ephemeral: bool,
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

/// What there is to do, all of it read before anything begins.
struct Task {
    home: PathBuf,
    cwd: PathBuf,
    input: Vec<UserInput>,
    output_schema: Option<serde_json::Value>,
    resume: Option<ThreadId>,
    settings: SettingsOverride,
}

pub fn run(args: Args) -> ExitCode {
    let task = match Task::read(&args) {
        Ok(task) => task,
        Err(problem) => {
            say(&problem);
            return ExitCode::from(USAGE);
        }
    };
    let mut env = crate::cli::environment();
    let startup = Startup::read(&args.config, &mut env);
    if let Some(problem) = startup.problems.first() {
        say(&problem.message);
        return ExitCode::from(USAGE);
    }
    if let Err(trouble) = private::make_home(&task.home) {
        say(&trouble.to_string());
        return ExitCode::from(FAILED);
    }
    let secrets = Secrets::of_environment(&env);
    let filter = std::env::var("COUNTERSIGN_LOG").ok();
    let options = LogOptions {
        folder: &task.home.join("log"),
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
    if let Some(most) = args.max_requests {
        client.startup.insert("max_requests_per_turn".to_owned(), json!(most));
    }
    if let Some(most) = args.max_cost {
        client.startup.insert("max_cost_per_turn".to_owned(), json!(most));
    }
    let telemetry = Telemetry::new(secrets.clone(), &env);
    let workspace = Workspace::new();
    workspace.set_roots(vec![task.cwd.clone()]);
    let setup = agent::Setup {
        workspace,
        editor: Arc::new(NoEditor),
        home: task.home.clone(),
        env,
        client,
        user_agent: ModelClient::user_agent(),
        secrets,
        source: SOURCE.to_owned(),
    };
    let status = runtime.block_on(async {
        let agent = Agent::with(setup, Registry::standard(), vec![Arc::new(telemetry.clone())]);
        apply::put_right(task.home.clone(), |words| tracing::warn!("{words}")).await;
        let status = turn(&agent, task, &args).await;
        if tokio::time::timeout(END, agent.shutdown()).await.is_err() {
            tracing::error!("not all threads have ended in time");
        }
        telemetry.finish().await;
        status
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    ExitCode::from(status)
}

impl Task {
    /// # Errors
    /// What is wrong with the command line, and what to do.
    fn read(args: &Args) -> Result<Self, String> {
        let home = crate::cli::home().ok_or(
            "no home folder is known, so there is no place for configuration; set COUNTERSIGN_HOME to a folder",
        )?;
        let cwd = args.cd.clone().unwrap_or_else(|| PathBuf::from("."));
        let cwd = cwd
            .canonicalize()
            .ok()
            .filter(|cwd| cwd.is_dir())
            .ok_or_else(|| format!("{} is no folder to work in", cwd.display()))?;
        let mut input = vec![UserInput::Text { text: prompt(args)? }];
        for image in &args.images {
            let path = image
                .canonicalize()
                .map_err(|error| format!("the image {} cannot be read: {error}", image.display()))?;
            input.push(UserInput::LocalImage { path });
        }
        let output_schema = args.output_schema.as_deref().map(schema).transpose()?;
        let resume = match args.resume.as_deref() {
            Some("last") => Some(thread::last(&home, &cwd, Some(vec![SOURCE.to_owned()]))?),
            Some(id) => Some(ThreadId::from(id)),
            None => None,
        };
        let mode = match args.sandbox.as_str() {
            "workspace-write" => SandboxMode::WorkspaceWrite,
            "danger-full-access" => SandboxMode::DangerFullAccess,
            _ => SandboxMode::ReadOnly,
        };
        let settings = SettingsOverride {
            cwd: Some(cwd.clone()),
            model: args.model.clone(),
            model_provider: args.provider.clone(),
            approval_policy: Some(ApprovalPolicy::Never),
            sandbox_policy: Some(SandboxPolicy::from_mode(mode)),
            ..SettingsOverride::default()
        };
        Ok(Self {
            home,
            cwd,
            input,
            output_schema,
            resume,
            settings,
        })
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse() {
        Ok(usd) if usd > 0.0 && f64::is_finite(usd) => Ok(usd),
        _ => Err("it is no amount of US dollars, such as 0.50".to_owned()),
    }
}

fn prompt(args: &Args) -> Result<String, String> {
    let text = match args.prompt.as_deref() {
        Some(text) if text != "-" => text.to_owned(),
        None if io::stdin().is_terminal() => {
            return Err("there is nothing to do: give a prompt, or pipe one in".to_owned());
        }
        _ => {
            let mut text = String::new();
            let read = io::stdin().lock().take(LONGEST_PROMPT + 1).read_to_string(&mut text);
            read.map_err(|error| format!("the prompt on standard input cannot be read: {error}"))?;
            text
        }
    };
    if text.len() as u64 > LONGEST_PROMPT {
        return Err(format!("the prompt is longer than {LONGEST_PROMPT} bytes"));
    }
    if text.trim().is_empty() {
        return Err("the prompt is empty".to_owned());
    }
    // A command of the person's own would run outside the sandbox.
    if text.starts_with('!') {
        return Err(
            "a prompt that begins with `!` is a command of your own; run it yourself, or begin otherwise".to_owned(),
        );
    }
    Ok(text)
}

fn schema(path: &Path) -> Result<serde_json::Value, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("the schema {} cannot be read: {error}", path.display()))?;
    let schema: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("the schema {} is no JSON: {error}", path.display()))?;
    match schema.is_object() {
        true => Ok(schema),
        false => Err(format!("the schema {} is no JSON object", path.display())),
    }
}

/// Runs the turn and says what came of it; the exit status.
async fn turn(agent: &Agent, task: Task, args: &Args) -> u8 {
    let opened = match task.resume {
        Some(id) => {
            let resume = ThreadResumeParams {
                thread_id: Some(id),
                settings: task.settings,
                ..ThreadResumeParams::default()
            };
            agent.resume_thread(resume).await
        }
        None => {
            let start = ThreadStartParams {
                settings: task.settings,
                ephemeral: args.ephemeral,
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
    if !args.json && !args.ephemeral {
        say_plainly(&format!("conversation {}", handle.id()));
    }
    let mut events = handle.subscribe(None);
    let start = Start {
        content: task.input,
        output_schema: task.output_schema,
        ..Start::default()
    };
    let started = match handle.start_turn(start).await {
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
        json: args.json,
        progress: Progress::new(&task.cwd),
        refused: Refused::default(),
    };
    let mut signal = std::pin::pin!(super::signal::asked_to_end());
    let mut is_stopped = false;
    let ended = loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = &mut signal, if !is_stopped => {
                is_stopped = true;
                let _ends_anyway = handle.interrupt(Some(turn.clone())).await;
                continue;
            }
        };
        let Some(event) = event else { break None };
        run.take(&event);
        if let EventKind::TurnCompleted(completed) = event.kind
            && completed.turn.id == turn
        {
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
    run.conclude(&ended, args)
}

/// A turn that runs.
struct Run<'a> {
    agent: &'a Agent,
    handle: &'a ThreadHandle,
    turn: &'a TurnId,
    json: bool,
    progress: Progress,
    refused: Refused,
}

impl Run<'_> {
    fn take(&mut self, event: &Event) {
        if self.json {
            print(&json!({"method": event.kind.method(), "params": event.params()}).to_string());
        } else if let Some(line) = self.progress.line(&event.kind) {
            say_plainly(&line);
        }
        self.refused.note(&event.kind);
        refused::answer(self.agent, &event.kind);
    }

    fn conclude(&self, ended: &TurnCompleted, args: &Args) -> u8 {
        let answer = ended.last_agent_message.as_deref().unwrap_or_default();
        if let Some(path) = &args.output
            && let Err(error) = std::fs::write(path, answer)
        {
            say(&format!(
                "the answer could not be written to {}: {error}",
                path.display()
            ));
            return FAILED;
        }
        if !self.json && !answer.is_empty() {
            print(&shown::prose(answer));
        }
        if let Some(cost) = ended.cost.filter(|_| !self.json) {
            say_plainly(&format!("cost {cost}"));
        }
        match (ended.turn.status, &ended.turn.error) {
            (TurnStatus::Completed, _) if self.refused.is_empty() => 0,
            (TurnStatus::Completed, _) => {
                say(&format!("done, but not all of it: {}", self.refused));
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

/// A line on standard output; whoever reads it may be gone.
fn print(line: &str) {
    let mut out = io::stdout().lock();
    let _closed = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// To standard error, which may be closed.
fn say(message: &str) {
    let _closed = writeln!(io::stderr(), "countersign exec: {}", shown::prose(message));
}

fn say_plainly(line: &str) {
    let _closed = writeln!(io::stderr(), "{line}");
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
