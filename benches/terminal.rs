//! How long from a key typed into a terminal to its echo, through the sandbox and its keeper? And how long does a terminal
//! take to start, and a flood of output to come through?
//!
//! Prints; asserts nothing but that everything arrives. `cargo bench --bench terminal`

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use countersign::exec::terminal::{Size, Terminal};
use countersign::exec::{self, CommandRequest, Confinement, Input};
use countersign::protocol::settings::{SandboxMode, SandboxPolicy};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

/// Keys typed with each kind of echo.
const KEYS: usize = 2000;
/// Terminals started.
const STARTS: usize = 50;
/// Bytes of the flood.
const FLOOD: usize = 64 << 20;
/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

fn request(cwd: &Path, mode: SandboxMode, script: &str) -> CommandRequest {
    CommandRequest {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        cwd: cwd.to_owned(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        confinement: Confinement::new(&SandboxPolicy::from_mode(mode), cwd, &[], None),
        timeout: None,
        input: Input::Nothing,
        argv0: None,
        wrote: exec::Wrote::default(),
        full: exec::FullOutput::default(),
    }
}

/// Waits until something that is new holds a text.
async fn wait_for(terminal: &Terminal, text: &str) -> Result<(), Box<dyn Error>> {
    let watcher = terminal.watcher();
    let mut seen = String::new();
    let coming = async {
        loop {
            seen.push_str(&terminal.take().text.to_string());
            if seen.contains(text) {
                return Ok(());
            }
            if watcher.has_exited() {
                return Err("it ended too early");
            }
            watcher.changed().await;
        }
    };
    Ok(tokio::time::timeout(PATIENCE, coming).await??)
}

fn print(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!(
        "{name:<44} p50 {:>9.1?}   p99 {:>9.1?}   worst {:>9.1?}   ({})",
        at(0.5),
        at(0.99),
        at(1.0),
        times.len()
    );
}

/// One key after the other, each when the one before has come back.
async fn echo(name: &str, terminal: &Terminal) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::with_capacity(KEYS);
    for number in 0..KEYS {
        let key = char::from(b'a' + (number % 26) as u8).to_string();
        let start = Instant::now();
        terminal.write(key.as_bytes()).await?;
        wait_for(terminal, &key).await?;
        times.push(start.elapsed());
        if number % 100 == 99 {
            // A line is only so long.
            terminal.write(b"\x15").await?;
            tokio::time::sleep(Duration::from_millis(5)).await;
            terminal.take();
        }
    }
    print(name, times);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    let cwd = std::env::current_dir()?;
    for mode in [SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess] {
        let terminal = Terminal::start(request(&cwd, mode, "echo ready; cat"), Some(Size::default())).await?;
        wait_for(&terminal, "ready").await?;
        echo(&format!("key to echo by the kernel, {mode:?}"), &terminal).await?;
        terminal.end().await;

        // The program itself answers each key.
        let script = "stty raw -echo; echo ready; exec cat";
        let terminal = Terminal::start(request(&cwd, mode, script), Some(Size::default())).await?;
        wait_for(&terminal, "ready").await?;
        echo(&format!("key to echo by the program, {mode:?}"), &terminal).await?;
        terminal.end().await;

        let mut starts = Vec::with_capacity(STARTS);
        let mut ends = Vec::with_capacity(STARTS);
        for _ in 0..STARTS {
            let start = Instant::now();
            let terminal =
                Terminal::start(request(&cwd, mode, "echo ready; sleep 1000"), Some(Size::default())).await?;
            wait_for(&terminal, "ready").await?;
            starts.push(start.elapsed());
            let start = Instant::now();
            terminal.end().await;
            ends.push(start.elapsed());
        }
        print(&format!("start to first output, {mode:?}"), starts);
        print(&format!("asked to end to nothing left, {mode:?}"), ends);
    }
    let script = format!("head -c {FLOOD} /dev/zero | tr '\\0' 'x'");
    for size in [Some(Size::default()), None] {
        let start = Instant::now();
        let terminal = Terminal::start(request(&cwd, SandboxMode::ReadOnly, &script), size).await?;
        tokio::time::timeout(PATIENCE, terminal.exited()).await?;
        let seconds = start.elapsed().as_secs_f64();
        let taken = terminal.take();
        if taken.bytes < FLOOD as u64 {
            return Err("the flood did not come through whole".into());
        }
        let through = if size.is_some() { "a terminal" } else { "pipes" };
        println!("flood through {through}: {:.0} MiB/s", (FLOOD >> 20) as f64 / seconds);
    }
    Ok(())
}
