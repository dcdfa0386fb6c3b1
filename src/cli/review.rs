//! `countersign review`: a change is reviewed without an editor and without questions.

mod sarif;

use super::headless::{self, Common, Outcome, Places, Task, USAGE, Work};
use crate::protocol::review::ReviewTarget;
use crate::protocol::settings::SandboxMode;
use crate::shown;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The subcommand, and how conversations of such runs are marked.
const NAME: &str = "review";
/// Something was found that is at least as important as asked for.
const FOUND: u8 = 5;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 done; 1 failed; 2 usage error; 3 done, but something that the reviewer wanted to do was refused; 4 \
                  a limit was reached; 5 something was found (with --fail-on); 130 stopped by a signal."
)]
pub struct Args {
    /// What to review, in words. Without it, and without another target: what is not committed.
    #[arg(conflicts_with_all = ["uncommitted", "base", "commit"])]
    instructions: Option<String>,
    /// Review what is not committed: staged, not staged, and new files.
    #[arg(long, conflicts_with_all = ["base", "commit"])]
    uncommitted: bool,
    /// Review what was changed since the work left this branch.
    #[arg(long, value_name = "BRANCH", conflicts_with = "commit")]
    base: Option<String>,
    /// Review what one commit changed.
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Write the findings to this file as SARIF 2.1.0, for code scanning; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Exit with 5 if something was found of this priority or a more important one: 0 must be fixed at once, 3 is minor.
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(0..=3))]
    fail_on: Option<u8>,
    #[command(flatten)]
    common: Common,
}

impl Args {
    fn target(&self) -> ReviewTarget {
        match (&self.base, &self.commit, &self.instructions) {
            (Some(branch), ..) => ReviewTarget::BaseBranch { branch: branch.clone() },
            (_, Some(sha), _) => ReviewTarget::Commit {
                sha: sha.clone(),
                title: None,
            },
            (.., Some(instructions)) => ReviewTarget::Custom {
                instructions: instructions.clone(),
            },
            _ => ReviewTarget::UncommittedChanges,
        }
    }

    fn writes_to_output(&self) -> bool {
        self.sarif.as_deref() == Some(Path::new("-"))
    }
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
    if args.common.json && args.writes_to_output() {
        return Err("standard output cannot take both events (--json) and SARIF (--sarif -); name a file".to_owned());
    }
    Ok(Task {
        command: NAME,
        places: Places::of(&args.common)?,
        // A reviewer only reads, whatever it may.
        sandbox: SandboxMode::ReadOnly,
        resume: None,
        work: Work::Review(args.target()),
    })
}

/// # Errors
/// The findings could not be written.
fn conclude(args: &Args, outcome: &Outcome<'_>) -> Result<u8, String> {
    let findings = outcome
        .review
        .map(|review| review.findings.as_slice())
        .unwrap_or_default();
    if let Some(path) = &args.sarif {
        let log = sarif::log(outcome.review, outcome.cwd);
        match args.writes_to_output() {
            true => headless::print_json(&log),
            false => std::fs::write(path, log)
                .map_err(|error| format!("the findings could not be written to {}: {error}", path.display()))?,
        }
    }
    if !args.common.json && !args.writes_to_output() {
        let text = match outcome.review_text.is_empty() {
            true => outcome.ended.last_agent_message.as_deref().unwrap_or_default(),
            false => outcome.review_text,
        };
        if !text.is_empty() {
            headless::print(&shown::prose(text));
        }
    }
    if outcome.review.is_some_and(|review| review.is_unlisted) {
        return Err(
            "the reviewer gave no list of findings, so only its own words say whether it found anything; run it again, or \
             with another model (--model)"
                .to_owned(),
        );
    }
    let is_found = args
        .fail_on
        .is_some_and(|least| findings.iter().any(|one| one.priority <= least));
    Ok(if is_found { FOUND } else { 0 })
}
