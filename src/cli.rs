//! The command line: one file a subcommand.

pub mod acp;
mod allowed;
pub mod apply_patch;
pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod editor_config;
pub mod exec;
pub mod feedback;
mod headless;
pub mod login;
pub mod mcp;
pub mod model;
pub mod protocol;
pub mod rehearse;
pub mod review;
pub mod rules;
pub mod sandbox;
pub mod serve;
mod signal;
pub mod thread;

use clap::{Parser, Subcommand};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// An agent language server: a complete coding agent behind standard LSP.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(flatten)]
    serve: serve::Args,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve LSP over stdio (the default), TCP or a named pipe.
    Serve(serve::Args),
    /// Serve editors that speak the Agent Client Protocol, such as Zed and those of JetBrains.
    Acp(acp::Args),
    /// Carry out one task without an editor and without questions, for scripts and continuous integration.
    Exec(Box<exec::Args>),
    /// Review a change without an editor and without questions; the findings also as SARIF.
    Review(Box<review::Args>),
    Sandbox(Box<sandbox::Args>),
    /// Carry out a patch or a unified diff on the disk, all or none.
    ApplyPatch(apply_patch::Args),
    /// Serve scripted conversations as an OpenAI-compatible model.
    Rehearse(rehearse::Args),
    /// Show the whole product at work: no key, no network.
    Demo(demo::Args),
    /// Say what is missing on this machine and how to fix it.
    Doctor(doctor::Args),
    /// Print an editor's configuration for this server.
    EditorConfig(editor_config::Args),
    /// Show the configuration in force, print its schema, or bring one along.
    Config(config::Args),
    /// Say what standing rules make of commands, and which rules there are.
    Rules(rules::Args),
    /// List, show and resume the conversations that are kept.
    Thread(thread::Args),
    /// Sign in to the provider of models, or say how one is signed in.
    Login(login::Args),
    /// Forget what was signed in with.
    Logout(login::LogoutArgs),
    /// List the models that can be had.
    Model(model::Args),
    /// Say which MCP servers there are, and how to sign in to one.
    Mcp(mcp::Args),
    /// Show a report for whoever makes this, and save or send it.
    Feedback(feedback::Args),
    /// Print the custom protocol's types.
    Protocol(protocol::Args),
    /// Print a script that has a shell complete this command line.
    Completions(completions::Args),
    /// Print the manual page.
    Man,
}

/// The home folder: `$COUNTERSIGN_HOME`, else `.countersign` in the person's home.
pub(crate) fn home() -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    variable("COUNTERSIGN_HOME").or_else(|| variable("HOME").map(|home| home.join(".countersign")))
}

/// The environment of the process, as far as it is text.
pub(crate) fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Runs what the command line asks for.
pub fn run(cli: Cli) -> ExitCode {
    match cli.command {
        None => serve::run(cli.serve),
        Some(Command::Serve(args)) => serve::run(args),
        Some(Command::Acp(args)) => acp::run(args),
        Some(Command::Exec(args)) => exec::run(*args),
        Some(Command::Review(args)) => review::run(*args),
        Some(Command::Sandbox(args)) => sandbox::run(*args),
        Some(Command::ApplyPatch(args)) => apply_patch::run(args),
        Some(Command::Rehearse(args)) => rehearse::run(args),
        Some(Command::Demo(args)) => demo::run(args),
        Some(Command::Doctor(args)) => doctor::run(args),
        Some(Command::EditorConfig(args)) => editor_config::run(args),
        Some(Command::Config(args)) => config::run(args),
        Some(Command::Rules(args)) => rules::run(args),
        Some(Command::Thread(args)) => thread::run(args),
        Some(Command::Login(args)) => login::run(args),
        Some(Command::Logout(args)) => login::logout(args),
        Some(Command::Mcp(args)) => mcp::run(args),
        Some(Command::Model(args)) => model::run(args),
        Some(Command::Feedback(args)) => feedback::run(args),
        Some(Command::Protocol(args)) => protocol::run(args),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Man) => completions::manual(),
    }
}
