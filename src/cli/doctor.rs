//! `countersign doctor`: says what is missing on this machine and how to fix it.
//!
//! Each check looks at the real thing: it puts up the sandbox, writes into the home folder, reads the
//! configuration and asks a local server. Nothing stays behind, and no key is sent anywhere.

mod checks;
mod editors;

use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// For programs.
    #[arg(long)]
    json: bool,
    /// The project whose configuration counts too; default: this folder.
    #[arg(long, value_name = "DIR")]
    cd: Option<PathBuf>,
}

/// What a check looks at.
struct Machine {
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    /// This program's own path.
    program: Option<PathBuf>,
    /// Countersign's folder, if the environment tells where it is.
    home: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    Ok,
    /// Works, but less well than it could.
    Warn,
    /// The agent cannot work.
    Fail,
}

#[derive(Clone, Debug, Serialize)]
struct Check {
    name: &'static str,
    state: State,
    /// What was found, in a line.
    summary: String,
    /// More of it, and what to do; a line each.
    details: Vec<String>,
}

impl Check {
    fn new(name: &'static str, state: State, summary: impl Into<String>) -> Self {
        Self {
            name,
            state,
            summary: summary.into(),
            details: Vec::new(),
        }
    }

    fn with(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }
}

/// The status is 0 if the agent can work here, else 1.
pub fn run(args: Args) -> ExitCode {
    let env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let here = std::env::current_dir().ok();
    let machine = Machine {
        cwd: match (here, args.cd) {
            (Some(here), Some(folder)) => Some(here.join(folder)),
            (here, folder) => folder.or(here),
        },
        program: std::env::current_exe().ok(),
        home: crate::config::home(&env),
        env,
    };
    let checks = checks::all(&machine);
    let usable = checks.iter().all(|check| check.state != State::Fail);
    let mut out = io::stdout().lock();
    let written = if args.json {
        json(&mut out, usable, &checks)
    } else {
        table(&mut out, &machine, usable, &checks)
    };
    // A reader that has seen enough is no trouble of ours.
    if let Err(error) = written.and_then(|()| out.flush())
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        return ExitCode::FAILURE;
    }
    if usable { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn json(out: &mut impl Write, usable: bool, checks: &[Check]) -> io::Result<()> {
    let report = serde_json::json!({ "usable": usable, "version": env!("CARGO_PKG_VERSION"), "checks": checks });
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")
}

fn table(out: &mut impl Write, machine: &Machine, usable: bool, checks: &[Check]) -> io::Result<()> {
    let plain = machine.env.contains_key("NO_COLOR") || machine.env.get("TERM").is_some_and(|term| term == "dumb");
    let colours = io::stdout().is_terminal() && !plain;
    let paint = |code: &str, text: &str| {
        if colours {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    };
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for check in checks {
        let (code, mark) = match check.state {
            State::Ok => ("32", "  ok"),
            State::Warn => ("33", "warn"),
            State::Fail => ("31;1", "FAIL"),
        };
        writeln!(out, "{}  {:width$}  {}", paint(code, mark), check.name, check.summary)?;
        for detail in &check.details {
            for line in detail.lines() {
                writeln!(out, "      {:width$}  {}", "", paint("2", line))?;
            }
        }
    }
    let verdict = if usable {
        "Countersign can work here."
    } else {
        "Countersign cannot work here yet: fix what is marked FAIL. `countersign demo` needs no model."
    };
    writeln!(out, "\n{verdict}")
}
