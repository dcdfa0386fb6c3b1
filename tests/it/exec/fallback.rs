//! The sandbox where namespaces are not allowed: Landlock and the filter alone, and a keeper that hunts by descent.

use super::place::{Place, User, has, has_root, runs_with, skipped, users, words};
use std::fs;
use std::process::{Command, Output};

/// Starts the program whose words follow where no namespaces can be made.
pub(crate) const NO_NAMESPACES: [&str; 7] = [
    "unshare",
    "-U",
    "-r",
    "sh",
    "-c",
    "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"",
    "sh",
];

/// Our program, run by a user who may not make namespaces, without other sandboxes around.
fn without_namespaces(place: &Place, arguments: &[&str]) -> Command {
    let [unshare, rest @ ..] = NO_NAMESPACES;
    let mut command = Command::new(unshare);
    command.args(rest).arg(&place.program).args(arguments);
    place.dress(&mut command);
    command
}

pub(crate) fn plain_command(place: &Place, options: &[&str], argv: &[&str]) -> Command {
    let arguments: Vec<&str> = ["sandbox"]
        .iter()
        .chain(options)
        .chain(&["--"])
        .chain(argv)
        .copied()
        .collect();
    without_namespaces(place, &arguments)
}

pub(super) fn plain_doctor(place: &Place) -> Command {
    without_namespaces(place, &["doctor"])
}

fn plain(place: &Place, options: &[&str], script: &str) -> Output {
    let mut command = plain_command(place, options, &["sh", "-c", script]);
    command.output().expect("unshare")
}

/// Runs the sandbox inside the sandbox, where a filter listens already.
fn nested(place: &Place, options: &[&str], script: &str) -> Output {
    let outer = ["--writable", place.outside.to_str().expect("utf-8")];
    let program = place.program.to_str().expect("utf-8");
    let argv: Vec<&str> = [program, "sandbox"]
        .into_iter()
        .chain(options.iter().copied())
        .chain(["--", "sh", "-c", script])
        .collect();
    place.command(&outer, &argv).output().expect("run the sandbox")
}

pub(super) type Runner = fn(&Place, &[&str], &str) -> Output;

pub(super) fn runners() -> Vec<(&'static str, Runner)> {
    let mut runners: Vec<(&str, Runner)> = vec![("nested", nested)];
    if has("unshare") && has("setpriv") {
        runners.push(("plain", plain));
    }
    runners
}

#[test]
fn what_holds_and_what_works_without_namespaces() {
    for user in users() {
        for (kind, runner) in runners() {
            let place = Place::new(user);
            for folder in ["ws", "ws/.git", "ws/src", "bare"] {
                place.folder(&place.outside.join(folder));
            }
            place.file(&place.outside.join("ws/.git/config"), "[core]\n");
            place.file(&place.outside.join("ws/file"), "x\n");
            place.file(&place.outside.join("other"), "precious");
            let work = place.outside.join("ws").display().to_string();
            let bare = place.outside.join("bare").display().to_string();
            for (folder, script, expected) in [
                (
                    &work,
                    "cat file && echo y >> file && echo z > src/new && mkdir src/d && mv src/d src/e && echo ok > /dev/null",
                    true,
                ),
                (
                    &bare,
                    "echo x > new && mkdir d && mv new d/ && ln -s d l && rm -r d",
                    true,
                ),
                (
                    &bare,
                    "python3 -c 'import asyncio, socket; asyncio.run(asyncio.sleep(0)); a, b = socket.socketpair(); a.send(b\"x\")'",
                    true,
                ),
                // The stated price: no new entries at the top of a folder that holds a protected one.
                (&work, "echo x > new", false),
                (&work, "echo x >> .git/config", false),
                (&work, "mkdir .git/hooks", false),
                (&work, "mv .git gone", false),
                (&work, "mv ../ws ../gone", false),
                (&work, "echo x >> ../other", false),
                (&work, "rm ../other", false),
                (&work, "ln ../other src/hard", false),
                (&work, "mkdir .codex", false),
                (&work, "echo x > /tmp/countersign-$$", false),
                (&work, "kill -0 $PPID", false),
                (&work, "cat /proc/$PPID/environ", false),
                (&work, "unshare -U true", false),
                (
                    &work,
                    "python3 -c 'from socket import *; socket(AF_INET, SOCK_STREAM)'",
                    false,
                ),
                (
                    &work,
                    "python3 -c 'from socket import *; socket(AF_UNIX).connect(\"\\0x\")'",
                    false,
                ),
                (&work, "exit 3", false),
            ] {
                let output = runner(&place, &["--no-tmp", "--cd", folder], script);
                assert_eq!(
                    output.status.success(),
                    expected,
                    "{user:?} {kind} {script}: {}",
                    words(&output)
                );
                assert!(
                    !String::from_utf8_lossy(&output.stderr).contains("was not run"),
                    "{kind}: {}",
                    words(&output)
                );
            }
            assert_eq!(
                fs::read_to_string(place.outside.join("other")).expect("still there"),
                "precious"
            );
            // Where nobody can be asked, the entry is taken away at the end.
            let output = runner(&place, &["--cd", &bare], "mkdir .codex");
            assert!(!place.outside.join("bare/.codex").exists(), "{user:?} {kind}");
            if let Some(place) = super::place::set_aside(&output) {
                fs::remove_dir_all(place.parent().expect("a folder of its own")).expect("clean up");
            }
        }
    }
}

#[test]
fn nothing_survives_without_namespaces_either() {
    for (at, user) in users().into_iter().enumerate() {
        let place = Place::new(user);
        for (kind, runner) in runners() {
            let mark = format!("{}{at}{}", 900_000 + std::process::id(), kind.len());
            let script =
                format!("(setsid sleep {mark} < /dev/null > /dev/null 2>&1 &); nohup sleep {mark} & echo started");
            let output = runner(&place, &[], &script);
            assert!(output.status.success(), "{kind}: {}", words(&output));
            assert!(!runs_with(&mark), "{user:?} {kind}: something survived");
        }
    }
}

/// The program in the sandbox, where it is started so.
fn started(place: &Place, by: &[&str], script: &str) -> Output {
    let mut command = Command::new(by[0]);
    command.args(&by[1..]).arg(&place.program);
    command.args(["sandbox", "--", "sh", "-c", script]);
    place.dress(&mut command);
    command.output().expect("unshare")
}

/// Where parts of `/proc` are covered, as in containers, there may be no fresh one: by the old one the keeper would look at
/// other processes than those that ask.
#[test]
fn where_there_is_no_fresh_proc_there_are_no_namespaces() {
    if !has("unshare") {
        return;
    }
    let covered = [
        "unshare",
        "-Urm",
        "sh",
        "-c",
        "mount --bind /dev/null /proc/version && exec unshare -Urm \"$@\"",
        "sh",
    ];
    for user in users() {
        let place = Place::new(user);
        let script = "echo x > legit || exit 1; for round in 1 2 3 4; do (echo evil > .envrc); done; test ! -e .envrc";
        let output = started(&place, &covered, script);
        let words = words(&output);
        assert!(output.status.success(), "{user:?}: {words}");
        assert!(words.contains("weaker than it could be"), "{user:?}: {words}");
    }
}

/// Nor does anything stand where `/proc` shows others and there are no namespaces.
#[test]
fn where_proc_shows_others_nothing_runs() {
    if !(has("unshare") && has("setpriv")) {
        return;
    }
    let foreign = [&["unshare", "-p", "-f"][..], &NO_NAMESPACES[1..]].concat();
    for user in users() {
        let place = Place::new(user);
        let output = started(&place, &foreign, "touch ran");
        let words = words(&output);
        assert_eq!(output.status.code(), Some(125), "{user:?}: {words}");
        assert!(
            words.contains("/proc shows the processes of another"),
            "{user:?}: {words}"
        );
        assert!(!place.work.join("ran").exists(), "{user:?}: {words}");
    }
}

#[test]
fn too_few_rights_for_a_mount_namespace_are_no_hindrance_for_root() {
    if !(has_root() && has("setpriv")) {
        return;
    }
    let place = Place::new(User::Own);
    let mut command = Command::new("setpriv");
    command
        .args(["--bounding-set=-sys_admin", "--inh-caps=-all"])
        .arg(&place.program);
    command.args([
        "sandbox",
        "--",
        "sh",
        "-c",
        "touch inside && mkdir new && ! touch ../outside/x && ! mkdir .git",
    ]);
    place.dress(&mut command);
    let output = command.output().expect("setpriv");
    assert!(output.status.success(), "{}", words(&output));
}

/// Root is bound by no limit of a user's processes; without a process namespace the keeper counts.
#[test]
fn too_many_processes_end_a_command_of_root() {
    if !(has_root() && has("unshare") && has("setpriv")) {
        return;
    }
    let place = Place::new(User::Own);
    let mark = format!("{}77", 500_000 + std::process::id());
    // Never more than a machine bears, should nobody count.
    let script = format!(
        "exec python3 -c '
import os, signal, time
for _ in range(3000):
    if os.fork() == 0:
        signal.pause()
print(\"nobody counts\", flush=True)
time.sleep(20)
' {mark}"
    );
    let output = plain(&place, &[], &script);
    let words = words(&output);
    assert!(
        !output.status.success() && words.contains("more than 2048 processes"),
        "{words}"
    );
    assert!(!words.contains("Traceback"), "{words}");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while runs_with(&mark) {
        assert!(std::time::Instant::now() < end, "something survived");
    }
}

/// Executes the words that follow where the kernel says that it has no Landlock: its system call is filtered away.
const NO_LANDLOCK: &str = "
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
load, equal, answer = 0x20, 0x15, 0x06
rules = [(load, 0, 0, 0), (equal, 0, 1, 444), (answer, 0, 0, 0x50000 | 38), (answer, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(rules), ctypes.addressof(code)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
os.execvp(sys.argv[1], sys.argv[1:])
";

/// Shows S-167.
#[test]
fn below_the_minimum_nothing_runs_but_with_full_access() {
    if !has("python3") {
        return;
    }
    for user in users() {
        let place = Place::new(user);
        let run = |options: &[&str], file: &str| {
            let mut command = Command::new("python3");
            command.args(["-c", NO_LANDLOCK]).arg(&place.program).arg("sandbox");
            command.args(options).args(["--", "touch", file]);
            place.dress(&mut command);
            let output = command.output().expect("python3");
            (output.status.code(), words(&output), place.work.join(file).exists())
        };
        for options in [&[][..], &["--policy", "read-only"], &["--network"]] {
            let (code, words, ran) = run(options, "new");
            assert_eq!((code, ran), (Some(125), false), "{user:?} {options:?}: {words}");
            for part in ["the command was not run", "no Landlock", "countersign doctor"] {
                assert!(words.contains(part), "{user:?} {options:?}: {words}");
            }
        }
        let (code, words, ran) = run(&["--policy", "full-access"], "open");
        assert_eq!((code, ran), (Some(0), true), "{user:?}: {words}");
    }
}

/// Root of the machine without namespaces: in a root folder that is not the namespace's own nobody may make any.
fn root_in_another_root(place: &Place, argv: &[&str]) -> Command {
    let root = place.outside.join("root");
    place.folder(&root);
    let script =
        "mount --rbind / \"$ROOT\" && exec chroot \"$ROOT\" setpriv --bounding-set=-sys_admin --inh-caps=-all \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh"]).arg(&place.program);
    command.args(["sandbox", "--cd"]).arg(&place.work).arg("--").args(argv);
    place.dress(&mut command);
    command.env("ROOT", &root);
    command
}

/// Whether the kernel writes down what Landlock refuses, and this process may read it.
fn is_audited() -> bool {
    let ask = "
import socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)
s.bind((0, 1))
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)
s.settimeout(2)
s.send(struct.pack('IHHII', 16, 1000, 1, 1, 0))
kind, = struct.unpack_from('H', reply := s.recv(4096), 4)
exit(0 if kind == 1000 and struct.unpack_from('I', reply, 20)[0] else 1)
";
    let asked = Command::new("python3").args(["-c", ask]).output().expect("python3");
    asked.status.success()
}

#[test]
fn the_kernels_records_explain_what_was_refused() {
    let programs = ["unshare", "setpriv", "mount", "chroot", "python3"];
    if !(has_root() && programs.into_iter().all(has)) {
        return;
    }
    let place = Place::new(User::Own);
    let run = |script: &str| {
        let output = root_in_another_root(&place, &["sh", "-c", script])
            .output()
            .expect("unshare");
        let words = words(&output);
        assert!(words.contains("weaker than it could be"), "it has namespaces: {words}");
        (output.status.success(), words)
    };
    let (good, words) = run("echo x > inside");
    assert!(good && !words.contains("the sandbox blocked"), "{words}");
    let (good, words) = run("mkdir ../outside/new 2> /dev/null");
    assert!(!good && !place.outside.join("new").exists(), "{words}");
    if is_audited() {
        assert!(words.contains("the sandbox blocked making something in"), "{words}");
        assert!(words.contains("/outside"), "{words}");
        // Refused, but it is not why it failed, and other commands' refusals are not its own.
        let (good, words) = run("mkdir ../outside/new 2> /dev/null; true");
        assert!(good && !words.contains("the sandbox blocked"), "{words}");
    } else {
        skipped("the kernel's records cannot be read here, as auditing is off or not ours to read");
        assert!(!words.contains("the sandbox blocked"), "{words}");
    }
}
