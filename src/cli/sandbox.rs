//! `countersign sandbox`: a command confined as the agent's commands are, with its own streams and exit status.

use crate::exec::{Confinement, role};
use crate::protocol::settings::SandboxPolicy;
use clap::ValueEnum;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the command may touch.
    #[arg(long, value_enum, default_value_t = Policy::WorkspaceWrite)]
    policy: Policy,
    /// The folder to run in, writable under workspace-write; the current one by default.
    #[arg(long, value_name = "DIR")]
    cd: Option<PathBuf>,
    /// One more folder that may be written.
    #[arg(long, value_name = "DIR")]
    writable: Vec<PathBuf>,
    /// Keep /tmp and $TMPDIR read-only.
    #[arg(long)]
    no_tmp: bool,
    /// Let the network through.
    #[arg(long)]
    network: bool,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policy {
    ReadOnly,
    WorkspaceWrite,
    #[value(alias = "danger-full-access")]
    FullAccess,
}

pub fn run(args: Args) -> ExitCode {
    match prepare(&args) {
        Ok((cwd, confinement)) => role::run_here(args.command, cwd, environment(&confinement), &confinement, tell),
        Err(reason) => {
            tell(&reason);
            ExitCode::from(role::EXIT_REFUSED)
        }
    }
}

fn tell(message: &str) {
    // Without a standard error there is nobody to tell; the exit status says the rest.
    let _closed = writeln!(std::io::stderr(), "countersign sandbox: {message}");
}

fn prepare(args: &Args) -> Result<(PathBuf, Confinement), String> {
    let here = std::env::current_dir();
    let absolute = |path: &Path| -> Result<PathBuf, String> {
        match &here {
            _ if path.is_absolute() => Ok(path.to_owned()),
            Ok(here) => Ok(here.join(path)),
            Err(error) => Err(format!(
                "the current folder cannot be found ({error}); name one with --cd"
            )),
        }
    };
    let cwd = absolute(args.cd.as_deref().unwrap_or(Path::new(".")))?;
    let cwd = std::fs::canonicalize(&cwd).map_err(|error| {
        format!(
            "the folder cannot be entered ({error}); name one that exists: {}",
            cwd.display()
        )
    })?;
    let mut roots = Vec::new();
    for root in &args.writable {
        let root = absolute(root)?;
        roots.push(std::fs::canonicalize(&root).map_err(|error| {
            format!(
                "the folder given by --writable cannot be found ({error}); make it first: {}",
                root.display()
            )
        })?);
    }
    let policy = match args.policy {
        Policy::FullAccess => SandboxPolicy::DangerFullAccess,
        Policy::ReadOnly => SandboxPolicy::ReadOnly {
            network_access: args.network,
        },
        Policy::WorkspaceWrite => SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: args.network,
            exclude_tmpdir_env_var: args.no_tmp,
            exclude_slash_tmp: args.no_tmp,
        },
    };
    let tmpdir = std::env::var_os("TMPDIR").map(PathBuf::from);
    let confinement = Confinement::new(&policy, &cwd, &[], tmpdir.as_deref());
    Ok((cwd, roots.into_iter().fold(confinement, Confinement::with_writable)))
}

/// The person's own environment, without what looks like a secret, and with the marks of the sandbox.
fn environment(confinement: &Confinement) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> = crate::cli::environment().into_iter().collect();
    if !confinement.is_outside() {
        variables.retain(|(name, _)| !crate::exec::looks_secret(name));
        variables.push(("COUNTERSIGN_SANDBOX".to_owned(), "1".to_owned()));
    }
    if !confinement.network() {
        for name in ["COUNTERSIGN_SANDBOX_NETWORK_DISABLED", "CODEX_SANDBOX_NETWORK_DISABLED"] {
            variables.push((name.to_owned(), "1".to_owned()));
        }
    }
    variables
}
