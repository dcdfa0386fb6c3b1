//! `countersign exec`: one task without an editor and without questions.

use super::headless::{self, Common, Outcome, Places, Task, USAGE, Work};
use super::thread;
use crate::agent::thread::Start;
use crate::protocol::item::UserInput;
use crate::protocol::settings::SandboxMode;
use crate::protocol::turn::TurnStatus;
use crate::shown;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The subcommand, and how conversations of such runs are marked.
pub(super) const NAME: &str = "exec";
/// Bytes of a prompt that is read from standard input.
const LONGEST_PROMPT: u64 = 4 << 20;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 done; 1 failed; 2 usage error; 3 done, but something that the agent wanted to do was refused; \
                        4 a limit was reached; 130 stopped by a signal."
)]
pub struct Args {
    /// What to do. `-`, or nothing where standard input is no terminal: it is read from there.
    prompt: Option<String>,
    /// What commands and changes may touch; nobody is asked for more.
    #[arg(short, long, value_name = "MODE", default_value = "read-only", value_parser = ["read-only", "workspace-write", "danger-full-access"])]
    sandbox: String,
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
    #[command(flatten)]
    common: Common,
}

pub fn run(args: Args) -> ExitCode {
    match task(&args) {
        Ok(task) => headless::run(&args.common, task, &|outcome| conclude(&args, outcome)),
        Err(problem) => {
            headless::say(NAME, &problem);
            ExitCode::from(USAGE)
        }
    }
}

/// # Errors
/// What is wrong with the command line, and what to do.
fn task(args: &Args) -> Result<Task, String> {
    let places = Places::of(&args.common)?;
    let mut content = vec![UserInput::Text { text: prompt(args)? }];
    for image in &args.images {
        let path = image
            .canonicalize()
            .map_err(|error| format!("the image {} cannot be read: {error}", image.display()))?;
        content.push(UserInput::LocalImage { path });
    }
    let start = Start {
        content,
        output_schema: args.output_schema.as_deref().map(schema).transpose()?,
        ..Start::default()
    };
    let resume = match args.resume.as_deref() {
        Some("last") => Some(thread::last(&places.home, &places.cwd, Some(vec![NAME.to_owned()]))?),
        Some(id) => Some(thread::named(&places.home, id)?),
        None => None,
    };
    Ok(Task {
        command: NAME,
        places,
        sandbox: match args.sandbox.as_str() {
            "workspace-write" => SandboxMode::WorkspaceWrite,
            "danger-full-access" => SandboxMode::DangerFullAccess,
            _ => SandboxMode::ReadOnly,
        },
        resume,
        work: Work::Turn(Box::new(start)),
    })
}

/// # Errors
/// The answer could not be written, or there is none of the form that was asked for.
fn conclude(args: &Args, outcome: &Outcome<'_>) -> Result<u8, String> {
    let answer = outcome.ended.last_agent_message.as_deref().unwrap_or_default();
    let is_completed = outcome.ended.turn.status == TurnStatus::Completed;
    if let Some(path) = &args.output {
        std::fs::write(path, answer)
            .map_err(|error| format!("the answer could not be written to {}: {error}", path.display()))?;
    }
    if !args.common.json && !answer.is_empty() {
        match args.output_schema {
            Some(_) => headless::print_json(&shown::prose(answer)),
            None => headless::print(&shown::prose(answer)),
        }
    }
    // Not every provider holds its model to a schema.
    if is_completed && args.output_schema.is_some() && serde_json::from_str::<serde_json::Value>(answer).is_err() {
        return Err("the answer is not JSON, which --output-schema asks for".to_owned());
    }
    if is_completed && answer.trim().is_empty() && !outcome.did_something {
        return Err("the model gave no answer and did nothing; try again, or with another model (--model)".to_owned());
    }
    Ok(0)
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
        return Err("the prompt is empty; say what to do: countersign exec \"Fix the failing test\"".to_owned());
    }
    // A command of the person's own would run outside the sandbox.
    if text.starts_with('!') {
        return Err(
            "a prompt that begins with `!` is a command of your own; run it yourself, or begin it differently"
                .to_owned(),
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
