//! What running a command costs: a small one beside the same one unconfined and beside a plain start, its first connection
//! with the proxy for names beside one without, many at once, a flood of output, and the memory of the process that starts
//! them. Least and median.
//! `cargo bench --bench exec`.

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use countersign::exec::{self, CommandRequest, Confinement, Input};
use countersign::protocol::permission::Permission;
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
        wrote: exec::Wrote::default(),
        full: exec::FullOutput::default(),
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

/// Measures one connection from inside, until the first byte has come back, in nanoseconds.
const CONNECTION: &str = r#"
import base64, os, socket, sys, time, urllib.parse
port, by_name = int(sys.argv[1]), sys.argv[2] == 'name'
proxy = urllib.parse.urlsplit(os.environ.get('HTTPS_PROXY', ''))
shown = base64.b64encode(f'{proxy.username}:{proxy.password}'.encode()).decode()
ask = f'CONNECT localhost:{port} HTTP/1.1\r\nProxy-Authorization: Basic {shown}\r\n\r\n'.encode()
start = time.perf_counter_ns()
s = socket.create_connection(('127.0.0.1', proxy.port if by_name else port))
if by_name:
    s.sendall(ask)
    answer = b''
    while not answer.endswith(b'\r\n\r\n'):
        answer += s.recv(1024)
    assert b' 200 ' in answer, answer
s.sendall(b'x\n')
assert s.recv(2)
print(time.perf_counter_ns() - start)
"#;

/// The first connection of a command to a server of this machine: to its address, and by name through the proxy.
async fn connections(cwd: &Path) -> Outcome<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut heard = [0; 64];
                while let Ok(read @ 1..) = peer.read(&mut heard).await {
                    let _gone = peer.write_all(&heard[..read]).await;
                }
            });
        }
    });
    let host = |host: &str, port| Permission::Host {
        host: host.to_owned(),
        port,
    };
    // The name that nobody asks for is why there is a proxy.
    let kinds = [
        ("address", vec![host("127.0.0.1", Some(port))]),
        (
            "name",
            vec![host("localhost", Some(port)), host("nobody.example", None)],
        ),
    ];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..RUNS / 4 {
        for ((kind, grants), times) in kinds.iter().zip(&mut times) {
            let argv = ["python3", "-c", CONNECTION, &port.to_string(), kind];
            let mut wanted = request(&argv, cwd, SandboxMode::WorkspaceWrite, false);
            wanted.confinement = wanted.confinement.with(grants);
            let finished = run(wanted).await?;
            times.push(Duration::from_nanos(finished.stdout.trim().parse()?));
        }
    }
    let [address, name] = times;
    report("first connection, to an address", address);
    report("first connection, by name through the proxy", name);
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
    connections(cwd).await?;

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
