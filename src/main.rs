//! The program: roles that must start before any runtime, then the command line.

use clap::Parser;
use countersign::cli::apply_patch as tool;
use countersign::cli::sandbox;
use countersign::exec::role;
use countersign::patch::disk::role as apply;
use std::process::ExitCode;

/// Plays a role to its end.
type Role = fn() -> ExitCode;

/// What runs before the command line is read and before any thread has started, by the first argument: the roles in which
/// the program starts itself, and what has no time for the rest of the command line.
const ROLES: &[(&str, Role)] = &[
    (role::SANDBOX, role::sandbox),
    (role::PROBE, role::probe),
    (apply::NAME, apply_patch),
    (tool::NAME, apply_patch_tool),
    (sandbox::NAME, sandbox::start),
];

/// Carries out a patch for whoever started the program.
fn apply_patch_tool() -> ExitCode {
    tool::run_words(std::env::args_os().skip(2).collect())
}

/// Writes the files of an accepted patch.
fn apply_patch() -> ExitCode {
    let status = apply::apply_role(std::io::stdin().lock(), std::io::stdout().lock());
    ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX))
}

fn main() -> ExitCode {
    // A link with this name is the tool itself.
    if std::env::args_os().next().is_some_and(|name| tool::is_name(&name)) {
        return tool::run_words(std::env::args_os().skip(1).collect());
    }
    if let Some(first) = std::env::args_os().nth(1)
        && let Some((_, start)) = ROLES.iter().find(|(name, _)| first == *name)
    {
        return start();
    }
    // As editors start it: there is nothing to parse, and the parser is large.
    if std::env::args_os().len() <= 1 {
        return countersign::cli::serve::run(countersign::cli::serve::Args::default());
    }
    countersign::cli::run(countersign::cli::Cli::parse())
}
