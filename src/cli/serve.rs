//! `countersign serve`: the language server, over the wire that the editor wants.

use crate::config::startup::Startup;
use crate::feedback::ring::Ring;
use crate::private;
use crate::secrets::Secrets;
use crate::server::log::{self, LogOptions};
use crate::server::run::{self, Setup};
use crate::server::stop::{End, Stop};
use crate::server::transport::Wire;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// Serve over standard input and output (the default).
    #[arg(long, conflicts_with_all = ["tcp", "pipe"])]
    stdio: bool,
    /// Wait for one client on this address, for example 127.0.0.1:9257, or on a port of this machine. Its first line has to be
    /// `Authorization: Bearer SECRET`, with the secret from the file that is named when the server waits.
    #[arg(long, value_name = "ADDR", conflicts_with = "pipe", value_parser = address)]
    tcp: Option<SocketAddr>,
    /// With --tcp, on this machine only: ask for no secret. Whoever connects first, also another user of this machine, works
    /// with your rights.
    #[arg(long, requires = "tcp")]
    no_auth: bool,
    /// Connect to the socket (on Windows: the named pipe) at this path, or make it and wait for one client.
    #[arg(long, value_name = "PATH")]
    pipe: Option<PathBuf>,
    /// End when this process ends.
    #[arg(long = "clientProcessId", alias = "client-process-id", value_name = "PID")]
    client_process_id: Option<u32>,
    /// Write every message of the client and of the server to this file, one line of JSON each (COUNTERSIGN_TRACE_FILE does
    /// the same). It holds all that is said; for who looks for a fault.
    #[arg(long, value_name = "PATH")]
    trace_file: Option<PathBuf>,
    /// Also write the log to standard error.
    #[arg(long)]
    log_stderr: bool,
    /// Set a configuration key above the files, as TOML has its value; may be repeated.
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE")]
    config: Vec<String>,
}

/// Serves one client; the status is 0 after `shutdown` and `exit`, else 1.
pub fn run(args: Args) -> ExitCode {
    let Some(home) = crate::cli::home() else {
        return fail(
            "no home folder is known, so there is no place for configuration and threads; set COUNTERSIGN_HOME to a folder",
        );
    };
    // One that others can write is refused in the answer to `initialize`, which editors show; a socket needs a secret in it.
    if let Err(trouble) = private::make_home(&home)
        && (args.tcp.is_some() || args.pipe.is_some())
    {
        return fail(trouble);
    }
    let mut env = crate::cli::environment();
    let startup = Startup::read(&args.config, &mut env);
    let secrets = Secrets::of_environment(&env);
    let ring = Ring::default();
    let filter = std::env::var("COUNTERSIGN_LOG").ok();
    let options = LogOptions {
        folder: &home.join("log"),
        filter: filter.as_deref(),
        stderr: args.log_stderr,
        secrets: &secrets,
        ring: Some(&ring),
    };
    let log_trouble = log::install(&options).err();
    let wire = match connect(&args, &home) {
        Ok(wire) => wire,
        Err(message) => return fail(message),
    };
    // One worker: what arrives from a model wakes one thread and not two, and work that takes long is done beside it.
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(format!("cannot start: {error}")),
    };
    let trace_file = args.trace_file.clone();
    let trace_file = trace_file.or_else(|| std::env::var_os("COUNTERSIGN_TRACE_FILE").map(PathBuf::from));
    let setup = Setup {
        home,
        env,
        startup,
        parent: args.client_process_id,
        log_trouble,
        trace_file: trace_file.filter(|path| !path.as_os_str().is_empty()),
        secrets,
        ring,
    };
    // The loop that takes messages runs here, on a thread of its own, whatever the agent's tasks do.
    let end = runtime.block_on(async {
        let stop = Stop::default();
        let asked = stop.clone();
        tokio::spawn(async move {
            super::signal::asked_to_end().await;
            asked.now(End::Signal);
        });
        run::run(wire, setup, stop).await
    });
    // Whatever still runs has been told to end and was given its time.
    runtime.shutdown_timeout(Duration::from_millis(100));
    match end {
        Ok(end) => ExitCode::from(end.code()),
        Err(error) => fail(format!("cannot start: {error}")),
    }
}

fn connect(args: &Args, home: &std::path::Path) -> Result<Wire, String> {
    let tell = |what: String| say(format!("countersign: {what}"));
    if let Some(address) = args.tcp {
        let is_here = address.ip().is_loopback();
        if args.no_auth && !is_here {
            return Err(format!(
                "{address} can be reached from other machines, so --no-auth is not allowed; leave it out, or listen on 127.0.0.1"
            ));
        }
        if args.no_auth {
            say("countersign: WARNING: --no-auth: whoever connects first, also another user of this machine, works with \
                 your rights"
                .to_owned());
        }
        if !is_here {
            say(format!(
                "countersign: WARNING: {address} can be reached from other machines, and all traffic, the secret included, \
                 can be read on the way; an ssh tunnel to 127.0.0.1 is safer"
            ));
        }
        let listening = |address, secret: Option<&std::path::Path>| {
            say(format!("countersign: waiting for a client on {address}"));
            if let Some(secret) = secret {
                say(format!(
                    "countersign: its first line has to be \"Authorization: Bearer SECRET\", with the secret from {}",
                    secret.display()
                ));
            }
        };
        let home = (!args.no_auth).then_some(home);
        return Wire::tcp(address, home, listening, &tell)
            .map_err(|error| format!("cannot listen on {address}: {error}"));
    }
    if let Some(path) = &args.pipe {
        let listening = || say(format!("countersign: waiting for a client on {}", path.display()));
        return Wire::pipe(path, listening, &tell)
            .map_err(|error| format!("cannot use the pipe {}: {error}", path.display()));
    }
    if !args.stdio && io::stdin().is_terminal() {
        say(
            "countersign: waiting for an editor to speak LSP on standard input; `countersign demo` shows what it is"
                .to_owned(),
        );
    }
    Wire::stdio().map_err(|error| format!("cannot use standard input and output: {error}"))
}

/// An address, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let text = text
        .strip_prefix("localhost:")
        .map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    text.parse()
        .map_err(|_| "give an address and a port like 127.0.0.1:9257, or a port".to_owned())
}

fn fail(message: impl std::fmt::Display) -> ExitCode {
    say(format!("countersign: {message}"));
    ExitCode::FAILURE
}

/// To standard error, which may be closed.
fn say(message: String) {
    let _ = writeln!(io::stderr(), "{message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ports_are_understood() {
        for (text, expected) in [
            ("127.0.0.1:9257", Some("127.0.0.1:9257")),
            ("9257", Some("127.0.0.1:9257")),
            (":9257", Some("127.0.0.1:9257")),
            ("localhost:1", Some("127.0.0.1:1")),
            ("[::1]:80", Some("[::1]:80")),
            ("example.org:80", None),
            ("70000", None),
            ("", None),
        ] {
            assert_eq!(
                address(text).ok().map(|address| address.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
