//! What running a command costs: a small one beside the same one unconfined and beside a plain start, many at once, a
//! flood of output, and the memory of the process that starts them. Least and median.
//! `cargo bench --bench exec`.

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use countersign::exec::{self, CommandRequest, Confinement, Input};
use countersign::protocol::settings::{SandboxMode, SandboxPolicy};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const RUNS: usize = 200;
const FLOOD: u64 = 1 << 30;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn request(words: &[&str], cwd: &Path, mode: SandboxMode, network: bool) -> CommandRequest {
    let policy = match SandboxPolicy::from_mode(mode) {
        SandboxPolicy::WorkspaceWrite {
            writable_roots,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
            ..
        } => SandboxPolicy::WorkspaceWrite {
            writable_roots,
            network_access: network,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
        },
        other => other,
    };
    CommandRequest {
        argv: words.iter().map(|word| (*word).to_owned()).collect(),
        argv0: None,
        cwd: cwd.to_owned(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        confinement: Confinement::new(&policy, cwd, &[], None),
        timeout: Some(Duration::from_secs(120)),
        input: Input::Nothing,
    }
}

fn report(title: &str, mut times: Vec<Duration>) {
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{title}: least {:.2}, median {:.2} ms",
        ms(times[0]),
        ms(times[times.len() / 2])
    );
}

async fn run(request: CommandRequest) -> Outcome<exec::Finished> {
    let finished = exec::run(request, |_, _| {}, CancellationToken::new()).await?;
    assert_eq!(finished.exit_code, 0, "{finished:?}");
    Ok(finished)
}

/// With a pause before each run, as between a model's calls: `None` runs one upon the other.
async fn small(title: &str, cwd: &Path, mode: SandboxMode, network: bool, pause: Option<Duration>) -> Outcome<()> {
    let mut times = Vec::new();
    for at in 0..RUNS + 5 {
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        let wanted = request(&["/bin/true"], cwd, mode, network);
        let start = Instant::now();
        run(wanted).await?;
        if at >= 5 {
            times.push(start.elapsed());
        }
    }
    report(title, times);
    Ok(())
}

async fn plain() -> Outcome<()> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let start = Instant::now();
        std::process::Command::new("/bin/true").env_clear().status()?;
        times.push(start.elapsed());
    }
    report("plain true", times);
    Ok(())
}

async fn flood(title: &str, cwd: &Path, script: &str) -> Outcome<()> {
    let before = memory("self", "VmHWM:")?;
    let wanted = request(&["sh", "-c", script], cwd, SandboxMode::WorkspaceWrite, false);
    let (start, mut pieces) = (Instant::now(), 0);
    exec::run(wanted, |_, _| pieces += 1, CancellationToken::new()).await?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{title}: {:.0} MB/s, {:.0} pieces a second shown, peak memory {:.1} MB more",
        FLOOD as f64 / 1e6 / seconds,
        f64::from(pieces) / seconds,
        (memory("self", "VmHWM:")? - before) as f64 / 1e3,
    );
    Ok(())
}

/// Kilobytes, by a line of `/proc/PID/status`.
fn memory(pid: &str, line: &str) -> Outcome<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let value = status.lines().find_map(|status| status.strip_prefix(line));
    Ok(value
        .and_then(|value| value.split_whitespace().next())
        .ok_or("no such line")?
        .parse()?)
}

/// The processes that wait for orders.
fn waiting() -> Outcome<()> {
    let own = std::process::id().to_string();
    let mut parents = vec![own];
    let (mut count, mut private, mut resident) = (0, 0, 0);
    while let Some(parent) = parents.pop() {
        for child in fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?.split_whitespace() {
            let rollup = fs::read_to_string(format!("/proc/{child}/smaps_rollup"))?;
            let of = |kind: &str| -> u64 {
                let lines = rollup.lines().filter(|line| line.starts_with(kind));
                lines
                    .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
                    .sum()
            };
            count += 1;
            private += of("Private_");
            resident += of("Rss:");
            parents.push(child.to_owned());
        }
    }
    println!(
        "waiting for orders: {count} processes, {:.1} MB their own, {:.1} MB resident with shared pages",
        private as f64 / 1e3,
        resident as f64 / 1e3
    );
    Ok(())
}

async fn all() -> Outcome<()> {
    let dir = tempfile::Builder::new()
        .prefix("countersign-exec-")
        .tempdir_in("/var/tmp")?;
    let cwd = &fs::canonicalize(dir.path())?;
    fs::create_dir(cwd.join(".git"))?;
    let (workspace, full) = (SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess);
    let pause = Some(Duration::from_millis(20));
    plain().await?;
    small("sandboxed true", cwd, workspace, false, pause).await?;
    small("sandboxed true, with a network", cwd, workspace, true, pause).await?;
    small("sandboxed true, read-only", cwd, SandboxMode::ReadOnly, false, pause).await?;
    small("sandboxed true, one upon the other", cwd, workspace, false, None).await?;
    small("unconfined true", cwd, full, false, pause).await?;

    let start = Instant::now();
    let many = (0..200).map(|_| run(request(&["/bin/true"], cwd, workspace, false)));
    for finished in futures::future::join_all(many).await {
        finished?;
    }
    println!("200 at once: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    tokio::time::sleep(Duration::from_millis(100)).await;
    waiting()?;

    flood("flood of zeros", cwd, &format!("head -c {FLOOD} /dev/zero")).await?;
    flood("flood of short lines", cwd, &format!("yes | head -c {FLOOD}")).await?;
    flood(
        "flood of both streams",
        cwd,
        &format!("(head -c {0} /dev/zero >&2) & head -c {0} /dev/zero; wait", FLOOD / 2),
    )
    .await
}

fn main() -> Outcome<()> {
    exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(all())
}
