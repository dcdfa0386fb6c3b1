//! `countersign acp`: the Agent Client Protocol over standard input and output.

use crate::acp::{self, Setup};
use crate::config::ClientSettings;
use crate::config::startup::Startup;
use crate::private;
use crate::secrets::Secrets;
use crate::server::log::{self, LogOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also write the log to standard error.
    #[arg(long)]
    log_stderr: bool,
    /// Sign in instead, in this terminal, and end; editors start this for their person.
    #[arg(long)]
    login: bool,
    /// Set a configuration key above the files, as TOML has its value; may be repeated.
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE")]
    config: Vec<String>,
}

/// Serves one client until it closes its end.
pub fn run(args: Args) -> ExitCode {
    if args.login {
        return super::login::run(super::login::Args::default());
    }
    let Some(home) = crate::cli::home() else {
        return fail(
            "no home folder is known, so there is no place for configuration and threads; set COUNTERSIGN_HOME to a folder",
        );
    };
    // One that others can write is refused in the answer to `initialize`, which editors show.
    let _refused_later = private::make_home(&home);
    let mut env = crate::cli::environment();
    let startup = Startup::read(&args.config, &mut env);
    let secrets = Secrets::of_environment(&env);
    let filter = std::env::var("COUNTERSIGN_LOG").ok();
    let options = LogOptions {
        folder: &home.join("log"),
        filter: filter.as_deref(),
        stderr: args.log_stderr,
        secrets: &secrets,
        ring: None,
    };
    if let Err(trouble) = log::install(&options) {
        say(&trouble);
    }
    if io::stdin().is_terminal() {
        say(
            "waiting for an editor to speak the Agent Client Protocol on standard input; docs/acp.md says how to set one up",
        );
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start: {error}")),
    };
    for problem in &startup.problems {
        say(&problem.message);
    }
    let client = ClientSettings {
        startup: startup.settings,
        ..ClientSettings::default()
    };
    let setup = Setup {
        home,
        env,
        client,
        secrets,
    };
    let end = runtime.block_on(async {
        let stop = CancellationToken::new();
        let asked = stop.clone();
        tokio::spawn(async move {
            super::signal::asked_to_end().await;
            asked.cancel();
        });
        acp::run(io::stdin(), io::stdout(), setup, stop).await
    });
    // Whatever still runs has been told to end and was given its time.
    runtime.shutdown_timeout(Duration::from_millis(100));
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("cannot start: {error}")),
    }
}

fn fail(message: &str) -> ExitCode {
    say(message);
    ExitCode::FAILURE
}

/// To standard error, which may be closed.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "countersign acp: {message}");
}
