//! The program: roles that must start before any runtime, then the command line.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    countersign::cli::run(countersign::cli::Cli::parse())
}
