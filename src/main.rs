//! The program: roles that must start before any runtime, then the command line.

use clap::Parser;
use countersign::exec::role;
use std::process::ExitCode;

/// The roles in which the program starts itself, by their first argument. They run before the command line is read and
/// before any thread has started.
const ROLES: &[(&str, fn() -> ExitCode)] = &[(role::SANDBOX, role::sandbox), (role::PROBE, role::probe)];

fn main() -> ExitCode {
    if let Some(first) = std::env::args_os().nth(1)
        && let Some((_, start)) = ROLES.iter().find(|(name, _)| first == *name)
    {
        return start();
    }
    countersign::cli::run(countersign::cli::Cli::parse())
}
