//! Programs that do not behave. Each ends within its bound, and of none is anything left: no process, no descriptor, no
//! memory. All are run in a process of their own, where nothing else is measured along.

use super::place::{Place, User, has, runs_with};
use countersign::exec::{self, CommandRequest, Confinement, ExecError, Finished, Input, KEPT_OUTPUT};
use countersign::protocol::settings::{SandboxMode, SandboxPolicy};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Set where this test runs by itself.
const ALONE: &str = "COUNTERSIGN_TEST_ALONE";

/// What a program may take beyond its own time on a slow machine.
const BOUND: Duration = Duration::from_secs(20);

/// Bytes of a flood that comes as fast as the kernel gives it, in every build.
const GIGABYTE: &str = "1000000000";

/// Bytes of floods that programs have to make.
const MUCH: &str = if cfg!(debug_assertions) { "100000000" } else { GIGABYTE };

/// What the memory of the one who runs commands may grow by, in kibibytes, however much they print.
const GROWTH: u64 = 48 * 1024;

#[test]
fn programs_that_do_not_behave() {
    if std::env::var_os(ALONE).is_none() {
        let program = std::env::current_exe().expect("this program");
        let output = Command::new(program)
            .args(["--exact", "exec::robust::programs_that_do_not_behave", "--nocapture"])
            .env(ALONE, "1")
            .output()
            .expect("run this program again");
        assert!(output.status.success(), "{}", super::place::words(&output));
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let place = Place::new(User::Own);
        // The starter stays, and so does what the allocator keeps.
        run(&place, "head -c 3000000 /dev/zero; echo x >&2").await;
        let before = Left::now();
        floods(&place).await;
        let flooded = Left::now();
        assert!(
            flooded.highest < before.highest + GROWTH,
            "floods are kept in memory: {before:?} {flooded:?}"
        );
        bytes_of_all_kinds(&place).await;
        ways_to_end(&place).await;
        long_words(&place).await;
        many(&place).await;
        before.again(Duration::from_secs(10)).await;
    });
}

/// What a process holds.
#[derive(Debug)]
struct Left {
    descriptors: usize,
    children: usize,
    /// Kibibytes, now and at the most.
    resident: u64,
    highest: u64,
}

impl Left {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
        let field = |name: &str| -> u64 {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .expect("a field");
            line.trim().trim_end_matches(" kB").parse().expect("a number")
        };
        let tasks = std::fs::read_dir("/proc/self/task").expect("/proc").flatten();
        let children = tasks
            .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default())
            .map(|children| children.split_whitespace().count());
        Self {
            descriptors: std::fs::read_dir("/proc/self/fd").expect("/proc").count(),
            children: children.sum(),
            resident: field("VmRSS:"),
            highest: field("VmHWM:"),
        }
    }

    /// Waits until things are as they were.
    async fn again(&self, patience: Duration) {
        let end = Instant::now() + patience;
        loop {
            let now = Self::now();
            let same = now.descriptors <= self.descriptors && now.children <= self.children;
            if same && now.resident < self.resident + GROWTH {
                return;
            }
            assert!(Instant::now() < end, "something is left: {self:?} {now:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

const MODES: [SandboxMode; 2] = [SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess];

fn request(cwd: &Path, mode: SandboxMode, script: &str) -> CommandRequest {
    exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    CommandRequest {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        argv0: None,
        cwd: cwd.to_owned(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        confinement: Confinement::new(&SandboxPolicy::from_mode(mode), cwd, &[], None),
        timeout: Some(Duration::from_secs(120)),
        input: Input::Nothing,
        wrote: exec::Wrote::default(),
        full: exec::FullOutput::default(),
    }
}

async fn finish(request: CommandRequest) -> Result<Finished, ExecError> {
    exec::run(request, |_, _| {}, CancellationToken::new()).await
}

async fn run(place: &Place, script: &str) -> Finished {
    let request = request(&place.work, SandboxMode::WorkspaceWrite, script);
    finish(request).await.expect("runs")
}

/// Far more than is kept, as fast as it can come.
async fn floods(place: &Place) {
    for script in [
        // No line ever ends, and all are NUL.
        "head -c GIGABYTE /dev/zero; echo end",
        // As many lines as can come.
        "yes 'a line' | head -c MUCH; echo; echo end",
        "(yes out | head -c MUCH) & (yes err | head -c MUCH >&2) & wait; echo; echo end",
    ] {
        let script = &script.replace("GIGABYTE", GIGABYTE).replace("MUCH", MUCH);
        let finished = run(place, script).await;
        assert_eq!(finished.exit_code, 0, "{script}");
        assert!(finished.stdout.ends_with("end\n"), "{script}");
        let first = finished.stdout.chars().next();
        assert!(
            matches!(first, Some('\0' | 'a' | 'o')),
            "{script}: the beginning is kept too, not {first:?}"
        );
        for text in [&finished.stdout, &finished.stderr, &finished.aggregated.to_string()] {
            assert!(text.len() < KEPT_OUTPUT + 300, "{script}: {}", text.len());
        }
    }
    // One that floods for ever is stopped in the middle of it.
    let cancel = CancellationToken::new();
    let flood = request(&place.work, SandboxMode::WorkspaceWrite, "yes");
    let mut seen = 0;
    let stop = cancel.clone();
    let start = Instant::now();
    let finished = exec::run(
        flood,
        move |_, text| {
            seen += text.len();
            if seen > 300_000 {
                stop.cancel();
            }
        },
        cancel,
    )
    .await
    .expect("runs");
    assert!(finished.cancelled && start.elapsed() < BOUND, "{:?}", start.elapsed());
}

async fn bytes_of_all_kinds(place: &Place) {
    if !has("python3") {
        return;
    }
    // Characters of four bytes, one of them cut short now and then, so that each border falls everywhere.
    let script = "python3 -c '
import sys
for n in range(20000):
    sys.stdout.buffer.write(b\"\\xf0\\x9f\\x98\\x80\" + b\"\\xf0\\x9f\" * (n % 3 == 0) + b\"\\xff\\0\" * (n % 7 == 0) + b\"a\" * (n % 5))
    n % 11 or sys.stdout.flush()
'";
    let mut expected = Vec::new();
    for n in 0..20000 {
        expected.extend(b"\xf0\x9f\x98\x80");
        if n % 3 == 0 {
            expected.extend(b"\xf0\x9f");
        }
        if n % 7 == 0 {
            expected.extend(b"\xff\0");
        }
        expected.extend(std::iter::repeat_n(b'a', n % 5));
    }
    let finished = run(place, script).await;
    assert!(
        finished.stdout == String::from_utf8_lossy(&expected),
        "text was changed"
    );
}

/// Scripts, the time they are given, and how they end: exit code, signal, whether the time was over.
async fn ways_to_end(place: &Place) {
    let short = Duration::from_millis(600);
    let long = Duration::from_secs(60);
    for mode in MODES {
        for (at, (script, time, exit_code, timed_out)) in [
            ("trap '' TERM INT HUP; while :; do sleep MARK; done", short, 124, true),
            ("kill -STOP $$; sleep MARK", short, 124, true),
            ("sleep MARK & kill -STOP 0; sleep MARK", short, 124, true),
            (
                "i=0; while [ $i -lt 150 ]; do sleep MARK & i=$((i+1)); done; wait",
                short,
                124,
                true,
            ),
            (
                "i=0; while [ $i -lt 20 ]; do (setsid sleep MARK &); i=$((i+1)); done; sleep MARK",
                short,
                124,
                true,
            ),
            ("exec >&- 2>&-; sleep 0.2; exit 5", long, 5, false),
            ("exec <&-; exit 6", long, 6, false),
            ("exec <&- >&- 2>&-; exit 7", long, 7, false),
            ("kill -KILL $$", long, 137, false),
            ("kill -SEGV $$", long, 139, false),
            ("kill -TERM $$", long, 143, false),
            ("kill -KILL 0", long, 137, false),
            ("(setsid sleep MARK &); exit 3", long, 3, false),
            ("setsid sh -c 'trap \"\" TERM; sleep MARK' & exit 4", long, 4, false),
            (
                "echo early; (sleep 0.05; echo late; sleep MARK) & exit 0",
                long,
                0,
                false,
            ),
        ]
        .into_iter()
        .enumerate()
        {
            let mark = format!("{}{at}{}", 300_000 + std::process::id(), mode as u8);
            let mut wanted = request(&place.work, mode, &script.replace("MARK", &mark));
            wanted.timeout = Some(time);
            let start = Instant::now();
            let finished = finish(wanted).await.expect("runs");
            let ended = (finished.exit_code, finished.timed_out);
            assert_eq!(ended, (exit_code, timed_out), "{mode:?} {script}: {finished:?}");
            // Of one that had to be ended by force, the exit code says it.
            let signalled = finished.signal.is_some();
            assert!(
                timed_out || signalled == (exit_code > 128),
                "{mode:?} {script}: {finished:?}"
            );
            assert!(start.elapsed() < BOUND, "{mode:?} {script}: {:?}", start.elapsed());
            assert!(!runs_with(&mark), "{mode:?} {script}: something survived");
            assert!(!script.contains("early") || finished.stdout.starts_with("early\n"));
        }
    }
}

/// As long as the kernel takes them, and longer.
async fn long_words(place: &Place) {
    for mode in MODES {
        let mut wanted = request(&place.work, mode, "echo ${#1} $# ${#LONG}");
        wanted.argv.push("sh".to_owned());
        wanted.argv.extend((0..8).map(|_| "x".repeat(100_000)));
        wanted.env.insert("LONG".to_owned(), "y".repeat(100_000));
        assert_eq!(
            finish(wanted).await.expect("runs").stdout,
            "100000 8 100000\n",
            "{mode:?}"
        );
        let mut wanted = request(&place.work, mode, "true");
        wanted.argv.push("z".repeat(3_000_000));
        let error = finish(wanted).await.expect_err("too long");
        assert!(matches!(&error, ExecError::NotExecutable { .. }), "{mode:?} {error}");
    }
}

/// More at once than there are places.
async fn many(place: &Place) {
    let script = |n: usize| format!("echo {n}; echo {n} >&2; exit {}", n % 100);
    let runs = (0..200).map(|n| {
        let mode = MODES[usize::from(n % 4 == 0)];
        finish(request(&place.work, mode, &script(n)))
    });
    for (n, finished) in futures::future::join_all(runs).await.into_iter().enumerate() {
        let finished = finished.expect("runs");
        assert_eq!(finished.exit_code as usize, n % 100);
        assert_eq!((finished.stdout, finished.stderr), (format!("{n}\n"), format!("{n}\n")));
    }
}
