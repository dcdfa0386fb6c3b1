//! `run`, as the agent uses it: output, time, cancelling, errors.

use super::place::{Place, User, has, runs_with};
use countersign::exec::{self, CommandRequest, Confinement, ExecError, Finished, KEPT_OUTPUT, Stream};
use countersign::protocol::permission::Permission;
use countersign::protocol::settings::{SandboxMode, SandboxPolicy};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

pub(super) fn request(cwd: &Path, mode: SandboxMode, script: &str) -> CommandRequest {
    exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    CommandRequest {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        argv0: None,
        cwd: cwd.to_owned(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        confinement: Confinement::new(&SandboxPolicy::from_mode(mode), cwd, &[], None),
        timeout: Some(Duration::from_secs(60)),
        input: exec::Input::Nothing,
        wrote: exec::Wrote::default(),
        full: exec::FullOutput::default(),
    }
}

pub(super) async fn run(request: CommandRequest) -> Result<Finished, ExecError> {
    exec::run(request, |_, _| {}, CancellationToken::new()).await
}

const MODES: [SandboxMode; 3] = [
    SandboxMode::ReadOnly,
    SandboxMode::WorkspaceWrite,
    SandboxMode::DangerFullAccess,
];

/// Shows S-160, S-165, S-166.
#[tokio::test]
async fn the_record_of_a_run() {
    let place = Place::new(User::Own);
    for mode in MODES {
        let script = "echo out; echo err >&2; cat; pwd; exit 3";
        let finished = run(request(&place.work, mode, script)).await.expect("runs");
        assert_eq!(finished.exit_code, 3);
        assert_eq!(finished.stdout, format!("out\n{}\n", place.work.display()));
        assert_eq!(finished.stderr, "err\n");
        assert_eq!(
            finished.aggregated.to_string().len(),
            finished.stdout.len() + finished.stderr.len()
        );
        assert!(!finished.timed_out && !finished.cancelled && finished.denied.is_none());
        assert!(finished.duration > Duration::ZERO);

        let parent = run(request(&place.work, mode, "tr '\\0' '\\n' < /proc/$PPID/cmdline"))
            .await
            .expect("runs");
        assert!(
            parent.stdout.contains(exec::role::SANDBOX),
            "the parent is our program: {}",
            parent.stdout
        );

        let wrote = run(request(&place.work, mode, "touch inside; touch ../outside/x"))
            .await
            .expect("runs");
        assert_eq!(
            place.work.join("inside").exists(),
            mode != SandboxMode::ReadOnly,
            "{mode:?}"
        );
        assert_eq!(
            place.outside.join("x").exists(),
            mode == SandboxMode::DangerFullAccess,
            "{mode:?}"
        );
        assert_eq!(
            wrote.denied.is_some(),
            mode != SandboxMode::DangerFullAccess,
            "{mode:?} {wrote:?}"
        );
    }
}

#[tokio::test]
async fn what_is_taken_away_after_a_success_is_told() {
    let place = Place::new(User::Own);
    let request = request(&place.work, SandboxMode::WorkspaceWrite, "echo 'gitdir: x' > .git");
    let finished = run(request).await.expect("runs");
    assert_eq!(finished.exit_code, 0);
    assert!(!place.work.join(".git").exists());
    let printed = finished.aggregated.to_string();
    let told = printed.split_once(": moved to ").map(|(_, path)| path.trim());
    let kept = Path::new(told.expect("the output says where it is"));
    assert!(finished.stderr.contains("moved to"), "{finished:?}");
    assert!(kept.exists());
    std::fs::remove_dir_all(kept.parent().expect("a folder of its own")).expect("clean up");
}

/// Shows S-163.
#[tokio::test]
async fn output_comes_while_the_command_runs() {
    let place = Place::new(User::Own);
    // The command goes on only when what it printed has been seen.
    let script =
        "printf 'fir'; printf 'st\\303'; while ! test -e go; do sleep 0.01; done; printf '\\274\\n'; echo second >&2";
    let go = place.work.join("go");
    let mut pieces: Vec<(Stream, String)> = Vec::new();
    let finished = exec::run(
        request(&place.work, SandboxMode::WorkspaceWrite, script),
        |stream, text| {
            pieces.push((stream, text.to_owned()));
            if pieces.iter().map(|(_, text)| text.as_str()).collect::<String>() == "first" {
                std::fs::write(&go, "").expect("write");
            }
        },
        CancellationToken::new(),
    )
    .await
    .expect("runs");
    assert_eq!(finished.stdout, "firstü\n");
    assert!(pieces.contains(&(Stream::Stderr, "second\n".to_owned())), "{pieces:?}");
}

#[tokio::test]
async fn floods_are_bounded() {
    let place = Place::new(User::Own);
    let script = "head -c 30000000 /dev/zero | tr '\\0' 'x'; yes line | head -n 1000000 >&2; echo; echo end";
    let mut longest = 0;
    let request = request(&place.work, SandboxMode::ReadOnly, script);
    let finished = exec::run(
        request,
        |_, text| longest = longest.max(text.len()),
        CancellationToken::new(),
    )
    .await
    .expect("runs");
    for text in [&finished.stdout, &finished.stderr, &finished.aggregated.to_string()] {
        assert!(text.len() < KEPT_OUTPUT + 200, "{}", text.len());
    }
    assert!(finished.stdout.starts_with("xxx") && finished.stdout.ends_with("end\n"));
    assert!(finished.stderr.contains("line\n[… ") && finished.stderr.contains(" lines cut out …]\nline\n"));
    assert!(longest <= 8 * 1024 * 3, "{longest}");
}

#[tokio::test]
async fn standard_input_is_given_or_closed() {
    let place = Place::new(User::Own);
    let mut wanted = request(&place.work, SandboxMode::ReadOnly, "cat; wc -c < /dev/null");
    wanted.input = exec::Input::Bytes(vec![b'x'; 300_000]);
    let finished = run(wanted).await.expect("runs");
    assert_eq!(finished.stdout.len(), 300_002);
    let mut unread = request(&place.work, SandboxMode::ReadOnly, "exit 0");
    unread.input = exec::Input::Bytes(vec![b'x'; 3_000_000]);
    assert_eq!(run(unread).await.expect("runs").exit_code, 0);
}

#[tokio::test]
async fn time_runs_out() {
    let place = Place::new(User::Own);
    for mode in MODES {
        for (at, script) in [
            "echo before; sleep MARK",
            "trap '' TERM; setsid sleep MARK & echo before; sleep MARK; sleep MARK",
        ]
        .iter()
        .enumerate()
        {
            let mark = format!("{}{at}{}", 700_000 + std::process::id(), mode as u8);
            let mut wanted = request(&place.work, mode, &script.replace("MARK", &mark));
            wanted.timeout = Some(Duration::from_secs(4));
            let start = Instant::now();
            let finished = run(wanted).await.expect("runs");
            assert!(finished.timed_out && !finished.cancelled);
            assert_eq!(
                (finished.exit_code, finished.stdout.as_str()),
                (124, "before\n"),
                "{mode:?} {script}"
            );
            assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
            assert!(!runs_with(&mark), "{mode:?}: something survived");
        }
    }
}

#[tokio::test]
async fn cancelling_and_dropping_end_everything() {
    let place = Place::new(User::Own);
    for mode in MODES {
        for dropped in [false, true] {
            let mark = format!("{}{}{}", 800_000 + std::process::id(), mode as u8, u8::from(dropped));
            let script = format!("(setsid sleep {mark} &); sleep {mark} & echo up; wait");
            let cancel = CancellationToken::new();
            let (up, mut is_up) = tokio::sync::mpsc::unbounded_channel();
            let wanted = request(&place.work, mode, &script);
            let mut running = Box::pin(exec::run(
                wanted,
                move |_, _| up.send(()).expect("listened to"),
                cancel.clone(),
            ));
            tokio::select! {
                finished = &mut running => panic!("ended by itself: {finished:?}"),
                _ = is_up.recv() => {}
            }
            if dropped {
                drop(running);
                let end = Instant::now() + Duration::from_secs(10);
                while runs_with(&mark) {
                    assert!(Instant::now() < end, "{mode:?}: something survived");
                    tokio::task::yield_now().await;
                }
            } else {
                cancel.cancel();
                let finished = running.await.expect("runs");
                assert!(
                    finished.cancelled && !finished.timed_out && finished.exit_code == 130,
                    "{finished:?}"
                );
                assert!(!runs_with(&mark), "{mode:?}: something survived");
            }
        }
    }
}

#[tokio::test]
async fn a_background_child_that_holds_the_pipe_does_not_hang_us() {
    let place = Place::new(User::Own);
    for mode in MODES {
        let start = Instant::now();
        let finished = run(request(&place.work, mode, "(setsid sleep 600 &); echo done"))
            .await
            .expect("runs");
        assert_eq!((finished.exit_code, finished.stdout.as_str()), (0, "done\n"));
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test]
async fn commands_that_cannot_run() {
    let place = Place::new(User::Own);
    place.file(&place.work.join("plain"), "x");
    for mode in MODES {
        let with = |argv: &[&str]| {
            let mut wanted = request(&place.work, mode, "");
            wanted.argv = argv.iter().map(|word| (*word).to_owned()).collect();
            wanted
        };
        let error = run(with(&["no-such-program", "x"])).await.expect_err("cannot run");
        assert!(
            matches!(&error, ExecError::NotFound { program } if program == "no-such-program"),
            "{error}"
        );
        let error = run(with(&["./plain"])).await.expect_err("cannot run");
        assert!(
            matches!(&error, ExecError::NotExecutable { program, .. } if program == "./plain"),
            "{error}"
        );
        let error = run(with(&["echo", "a\0b"])).await.expect_err("cannot run");
        assert!(matches!(&error, ExecError::NotExecutable { .. }), "{error}");
        assert!(matches!(run(with(&[])).await, Err(ExecError::Empty)));
        let mut nowhere = with(&["true"]);
        nowhere.cwd = place.work.join("missing");
        let error = run(nowhere).await.expect_err("cannot run");
        assert!(
            matches!(&error, ExecError::Folder { path, .. } if path.ends_with("missing")),
            "{error}"
        );
        // A shell's own 127 is an exit code like any other.
        assert_eq!(
            run(with(&["sh", "-c", "no-such-program"]))
                .await
                .expect("runs")
                .exit_code,
            127
        );
    }
}

/// Shows S-169, S-178.
#[tokio::test]
async fn grants_and_a_bare_environment() {
    let place = Place::new(User::Own);
    let mut wanted = request(&place.work, SandboxMode::ReadOnly, "echo x > ../outside/granted && env");
    wanted.confinement = wanted.confinement.with_writable(place.outside.clone());
    wanted.env.clear();
    let finished = run(wanted).await.expect("runs");
    assert_eq!(finished.exit_code, 0, "{finished:?}");
    assert!(place.outside.join("granted").exists());
    assert!(finished.stdout.contains("COUNTERSIGN_SANDBOX=1"));
}

#[tokio::test]
async fn what_the_sandbox_stopped_is_told() {
    let place = Place::new(User::Own);
    for (script, expected) in [
        ("echo x > ../outside/x", "Read-only file system"),
        ("mkdir .codex", ".codex"),
        (
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"/\" + \"x\" * 3)' || kill -SYS $$",
            "system call",
        ),
        // Nobody ever writes into it, so each of them waits.
        (
            "mkfifo nothing; while :; do read x < nothing & done",
            "2048 at one time",
        ),
        ("truncate -s 65G large", "64 GiB"),
        ("python3 -c 'open(\"large\", \"w\").truncate(65 << 30)'", "64 GiB"),
    ] {
        let finished = run(request(&place.work, SandboxMode::WorkspaceWrite, script))
            .await
            .expect("runs");
        let denied = finished
            .denied
            .clone()
            .unwrap_or_else(|| panic!("{script}: {finished:?}"));
        assert!(denied.reason.contains(expected), "{script}: {}", denied.reason);
    }
}

#[tokio::test]
async fn many_at_once_leave_nothing_behind() {
    let place = Place::new(User::Own);
    let descriptors = || std::fs::read_dir("/proc/self/fd").expect("/proc").count();
    run(request(&place.work, SandboxMode::WorkspaceWrite, "true"))
        .await
        .expect("runs");
    let before = descriptors();
    let runs = (0..24).map(|n| run(request(&place.work, SandboxMode::WorkspaceWrite, &format!("echo {n}"))));
    for (n, finished) in futures::future::join_all(runs).await.into_iter().enumerate() {
        assert_eq!(finished.expect("runs").stdout, format!("{n}\n"));
    }
    // Other tests of this process open descriptors of their own.
    assert!(descriptors() < before + 100, "descriptors leak");
}

#[test]
fn support_tells_which_walls_stand() {
    exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    let support = exec::support();
    assert!(support.can_confine(), "{support:?}");
    assert!(support.landlock_version.is_some());
}

/// What goes to a host by name and comes from it is counted, host by host.
#[tokio::test]
async fn the_record_of_a_run_has_its_traffic() {
    if !has("python3") {
        return;
    }
    let place = Place::new(User::Own);
    let host = std::net::TcpListener::bind("127.0.0.1:0").expect("listen");
    let port = host.local_addr().expect("address").port();
    std::thread::spawn(move || {
        for peer in host.incoming() {
            let mut peer = peer.expect("a connection");
            let mut heard = [0; 4096];
            let _read = peer.read(&mut heard);
            let _gone = peer.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
        }
    });
    // By the proxy, as to a host that is far away.
    let script = format!(
        "python3 -c 'import base64, http.client, os, urllib.parse\n\
         way = urllib.parse.urlsplit(os.environ[\"HTTP_PROXY\"])\n\
         shown = base64.b64encode((way.username + \":\" + way.password).encode()).decode()\n\
         for _ in range(2):\n    talk = http.client.HTTPConnection(way.hostname, way.port)\n    \
         talk.request(\"GET\", \"http://localhost:{port}/\", headers={{\"Proxy-Authorization\": \"Basic \" + shown}})\n    \
         print(talk.getresponse().read().decode())'"
    );
    let mut request = request(&place.work, SandboxMode::WorkspaceWrite, &script);
    let granted = |host: &str, port| Permission::Host {
        host: host.to_owned(),
        port,
    };
    let hosts = [granted("localhost", Some(port)), granted("never.example", None)];
    request.confinement = request.confinement.with(&hosts);
    let finished = run(request).await.expect("runs");
    assert_eq!(finished.stdout, "hello\nhello\n", "{finished:?}");
    let [traffic] = &finished.traffic[..] else {
        panic!("{:?}", finished.traffic);
    };
    assert_eq!((traffic.host.as_str(), traffic.connections), ("localhost", 2));
    assert!(traffic.sent > 60 && traffic.received > 100, "{traffic:?}");
    let quiet = run(self::request(&place.work, SandboxMode::WorkspaceWrite, "true")).await;
    assert!(quiet.expect("runs").traffic.is_empty());
}
