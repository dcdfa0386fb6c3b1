//! `countersign feedback`: a report as it would go, on standard output; then saved, or after a yes sent.

use crate::config::{self, Sources};
use crate::feedback::report::{Details, Report};
use crate::feedback::{self, FeedbackError};
use crate::secrets::Secrets;
use crate::server::log;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Bytes of the log's end that are looked at.
const MOST_LOG: u64 = 2 << 20;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What it is, in a word: bug, badResult, goodResult, other.
    #[arg(long, default_value = "other", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    classification: String,
    /// In your words.
    #[arg(long, value_name = "WORDS")]
    reason: Option<String>,
    /// The conversation that it is about.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// With the last lines of the log; of a conversation, those that are about it or about none.
    #[arg(long)]
    with_logs: bool,
    /// Save it as this file, which must not be there yet.
    #[arg(long, value_name = "PATH")]
    save: Option<PathBuf>,
    /// Send it to the endpoint in [feedback] of config.toml, after a yes.
    #[arg(long)]
    send: bool,
    /// Say yes beforehand.
    #[arg(long, requires = "send")]
    yes: bool,
}

/// The status is 0 if all that was asked for was done, else 1.
pub fn run(args: Args) -> ExitCode {
    match carry_out(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&message);
            ExitCode::FAILURE
        }
    }
}

fn carry_out(args: Args) -> Result<(), String> {
    let env = super::environment();
    let secrets = Secrets::of_environment(&env);
    let home = super::home();
    let home =
        home.ok_or("no home folder is known, so there is neither configuration nor log; set COUNTERSIGN_HOME")?;
    let sources = Sources {
        home: home.clone(),
        env: env.clone(),
        ..Sources::default()
    };
    let config = config::load(&sources).map_err(|error| error.to_string())?.config;
    secrets.learn(config.secret_values(&env));
    let thread = args.thread.as_deref();
    let lines = args.with_logs.then(|| log_lines(&home.join("log"), thread));
    let details = Details {
        reason: args.reason,
        thread: thread.map(Into::into),
        include_logs: args.with_logs,
        ..Details::new(&args.classification)
    };
    let in_words = |error: FeedbackError| error.to_string();
    let report = Report::new(details, lines, &secrets).map_err(in_words)?;
    let mut out = io::stdout().lock();
    // Nobody may read it; what is asked for is done all the same.
    let _ = out.write_all(report.text.as_bytes()).and_then(|()| out.flush());
    drop(out);
    if let Some(path) = args.save {
        let path = std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        feedback::save(&report, &path).map_err(in_words)?;
        say(&format!("saved as {}", path.display()));
    }
    if !args.send {
        return Ok(());
    }
    let endpoint = feedback::public(feedback::endpoint(&config.feedback).map_err(in_words)?);
    if !args.yes && !asked(&endpoint) {
        return Err("nothing was sent: there was no yes".to_owned());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    runtime
        .block_on(feedback::send(&config.feedback, &report))
        .map_err(in_words)?;
    say(&format!("sent to {endpoint}"));
    Ok(())
}

/// Asks on the terminal; without one the answer is no.
fn asked(endpoint: &str) -> bool {
    if !io::stdin().is_terminal() {
        return false;
    }
    let _ = write!(io::stderr(), "countersign: send exactly this to {endpoint}? [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// The end of the log, with what hides in it shown; lines that name another conversation are left out.
fn log_lines(folder: &Path, thread: Option<&str>) -> Vec<String> {
    let tail = || -> io::Result<String> {
        let mut file = std::fs::File::open(folder.join(log::FILE))?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_LOG)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = tail().unwrap_or_default();
    let is_wanted = |line: &&str| match thread {
        Some(thread) => line.contains(thread) || !line.contains("thread="),
        None => true,
    };
    text.lines().filter(is_wanted).map(crate::shown::text).collect()
}

fn say(message: &str) {
    let _ = writeln!(io::stderr(), "countersign: {message}");
}
