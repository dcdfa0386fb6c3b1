//! `countersign rehearse`: a scripted model for demonstrations, tests and bug reports.

use crate::rehearsal::{Running, Script, Server};
use crate::shown;
use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The script, a JSON file.
    script: PathBuf,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    addr: SocketAddr,
    /// Append each request to this file, as a line of JSON; keys are left out.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Listen at an address that other machines can reach.
    #[arg(long)]
    remote: bool,
}

pub fn run(args: Args) -> ExitCode {
    match rehearse(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            // Nothing is left to do if nobody reads the reason either.
            let _ = writeln!(std::io::stderr(), "countersign rehearse: {}", shown::text(&reason));
            ExitCode::FAILURE
        }
    }
}

fn rehearse(args: &Args) -> Result<(), String> {
    let Args {
        script: path,
        addr,
        record,
        remote,
    } = args;
    if !addr.ip().is_loopback() && !remote {
        return Err(format!(
            "{addr} can be reached from other machines, and whoever reaches it can read the requests. Use 127.0.0.1, or \
             add --remote if that is what you want."
        ));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read the script {}: {error}. Check the path.", shown::path(path)))?;
    let script = Script::parse(&text).map_err(|error| format!("{}: {error}", shown::path(path)))?;
    let open = |path: &PathBuf| {
        File::options().create(true).append(true).open(path).map_err(|error| {
            format!(
                "cannot write to {}: {error}. Choose another --record file.",
                shown::path(path)
            )
        })
    };
    let record = record.as_ref().map(open).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(async {
        let running = Server::start_recording(script, *addr, record)
            .await
            .map_err(|error| format!("cannot listen at {addr}: {error}. Choose another --addr, or port 0."))?;
        serve(running).await
    })
}

async fn serve(mut running: Running) -> Result<(), String> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on {}", running.base_url)
        .and_then(|()| stdout.flush())
        .map_err(|error| format!("cannot say where it listens: {error}"))?;
    tokio::select! {
        () = running.wait() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    running.stop().await;
    Ok(())
}
