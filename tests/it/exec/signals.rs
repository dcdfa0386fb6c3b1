//! `countersign sandbox` and the signals that it gets: what they ask for comes true, also where the command does not heed
//! them.

use super::fallback::plain_command;
use super::place::{Place, has, runs_with, users};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// What a command that does not heed a signal is left.
const GRACE: Duration = Duration::from_secs(3);

/// Beyond it, on a slow machine.
const SLOW: Duration = Duration::from_secs(20);

/// The signals that are sent, what the command does, its exit status, and whether it takes the whole grace.
const ROWS: &[Row] = &[
    (
        &[Signal::TERM],
        "trap '' TERM; echo up; while :; do sleep MARK; done",
        137,
        true,
    ),
    (
        &[Signal::HUP],
        "trap '' HUP; echo up; while :; do sleep MARK; done",
        137,
        true,
    ),
    (
        &[Signal::INT],
        "trap '' INT; echo up; while :; do sleep MARK; done",
        137,
        true,
    ),
    (
        &[Signal::TERM],
        "trap 'echo no' TERM INT HUP; echo up; while :; do sleep MARK; done",
        137,
        true,
    ),
    (
        &[Signal::TERM],
        "(trap '' TERM; setsid sleep MARK & sleep MARK) & trap '' TERM; echo up; wait; sleep MARK",
        137,
        true,
    ),
    (
        &[Signal::TERM],
        "trap '' TERM; echo up; kill -STOP 0; sleep MARK",
        137,
        true,
    ),
    (
        &[Signal::TERM, Signal::HUP],
        "trap '' TERM HUP; echo up; while :; do sleep MARK; done",
        137,
        false,
    ),
    (
        &[Signal::INT, Signal::HUP],
        "trap '' INT HUP; echo up; while :; do sleep MARK; done",
        137,
        false,
    ),
    (
        &[Signal::TERM],
        "trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done",
        7,
        false,
    ),
    (
        &[Signal::INT],
        "trap 'exit 8' INT; echo up; while :; do sleep 0.1; done",
        8,
        false,
    ),
    (
        &[Signal::TERM],
        "trap 'sleep 0.2; exit 9' TERM; echo up; while :; do sleep 0.1; done",
        9,
        false,
    ),
    (&[Signal::TERM], "echo up; sleep MARK", 143, false),
    // It is no wish that a program ends.
    (
        &[Signal::QUIT],
        "trap 'sleep 4; exit 5' QUIT; echo up; while :; do sleep 0.1; done",
        5,
        true,
    ),
];

/// How the sandbox is put around a command, and with which options.
type Around = (fn(&Place, &[&str], &[&str]) -> Command, &'static [&'static str]);

type Row = (&'static [Signal], &'static str, i32, bool);

struct Running {
    row: &'static Row,
    child: Child,
    /// Read from no more, and not closed either.
    _stdout: BufReader<ChildStdout>,
    mark: String,
    asked: Instant,
}

fn start(place: &Place, around: Around, mark: String, row: &'static Row) -> Running {
    let script = row.1.replace("MARK", &mark);
    let mut command = around.0(place, around.1, &["sh", "-c", &script]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("run the sandbox");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    stdout.read_line(&mut line).expect("its first line");
    assert_eq!(line, "up\n", "{script}");
    let pid = Pid::from_child(&child);
    let asked = Instant::now();
    for signal in row.0 {
        kill_process(pid, *signal).expect("a signal");
    }
    Running {
        row,
        child,
        _stdout: stdout,
        mark,
        asked,
    }
}

fn end(mut running: Running) {
    let (_, script, code, whole) = running.row;
    let status = running.child.wait().expect("wait");
    let took = running.asked.elapsed();
    let mut said = String::new();
    let mut stderr = running.child.stderr.take().expect("a pipe");
    stderr.read_to_string(&mut said).expect("utf-8");
    assert_eq!(status.code(), Some(*code), "{script}: {said}");
    assert!(took < GRACE + SLOW, "{script}: {took:?}");
    // The clock of the test begins a moment after the keeper's.
    assert!(
        !whole || took > GRACE - Duration::from_millis(500),
        "{script}: {took:?}"
    );
    assert_eq!(said.contains("ended by force"), *code == 137, "{script}: {said}");
    assert!(!runs_with(&running.mark), "{script}: something survived");
}

#[test]
fn a_command_that_does_not_heed_them_is_ended_all_the_same() {
    let mut around: Vec<Around> = vec![(Place::command, &[]), (Place::command, &["--policy", "full-access"])];
    if has("unshare") && has("setpriv") {
        around.push((plain_command, &[]));
    }
    for (who, user) in users().into_iter().enumerate() {
        let place = Place::new(user);
        for (how, around) in around.iter().enumerate() {
            // All at once, as they wait.
            let running: Vec<Running> = ROWS
                .iter()
                .enumerate()
                .map(|(at, row)| {
                    start(
                        &place,
                        *around,
                        format!("{}{who}{how}{at}", 700_000 + std::process::id()),
                        row,
                    )
                })
                .collect();
            running.into_iter().for_each(end);
        }
    }
}
