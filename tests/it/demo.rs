//! The demonstration, run as a person runs it: its status, what it shows, what it asks, and what it leaves behind.

#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_countersign");
/// Longest wait for anything. Only ever reached by a test that fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where one run may write, to see what it leaves there.
struct Place {
    tmp: TempDir,
    home: TempDir,
}

impl Place {
    fn new() -> Self {
        // Below the build's own folder: /tmp is writable for commands of many policies, this is not.
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let make = || TempDir::new_in(base).expect("a folder");
        Self {
            tmp: make(),
            home: make(),
        }
    }

    fn demo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .arg("demo")
            .args(args)
            .env("TMPDIR", self.tmp.path())
            .env("HOME", self.home.path())
            .env("OPENAI_API_KEY", "sk-of-the-person")
            .env("http_proxy", "http://127.0.0.1:9")
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    /// Nothing is left: no file, no process.
    fn assert_empty(&self) {
        for folder in [&self.tmp, &self.home] {
            let left: Vec<_> = std::fs::read_dir(folder.path()).expect("listed").flatten().collect();
            assert!(left.is_empty(), "left behind: {left:?}");
        }
        self.assert_no_process();
    }

    /// Every process of a run has the folder in its environment.
    fn assert_no_process(&self) {
        let mark = self.tmp.path().display().to_string();
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let left: Vec<_> = std::fs::read_dir("/proc")
                .expect("listed")
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| {
                    std::fs::read(path.join("environ"))
                        .is_ok_and(|environ| String::from_utf8_lossy(&environ).contains(&mark))
                })
                .collect();
            if left.is_empty() {
                return;
            }
            // One that has just been ended may not be gone yet.
            assert!(Instant::now() < deadline, "still running: {left:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(command: &mut Command) -> Output {
    command.output().expect("it runs")
}

/// The titles of the steps, in order.
fn titles(shown: &str) -> Vec<String> {
    let title = |line: &str| {
        let (head, rule) = line.trim_start().split_once("  ")?;
        let is_number = head.chars().all(|c| c.is_ascii_digit()) && !head.is_empty();
        let title = rule.trim_end_matches('─');
        (is_number && title != rule).then(|| title.trim().to_owned())
    };
    shown.lines().filter_map(title).collect()
}

#[test]
fn everything_happens_and_nothing_is_left() {
    let place = Place::new();
    let picture = place.home.path().join("picture.svg");
    let output = run(place.demo(&["--yes", "--fast", "--svg"]).arg(&picture));
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}\n{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    assert!(!shown.contains('\x1b'), "no colours for a pipe");
    let backup = place.home.path().join("countersign-demo-").display().to_string();
    for words in [
        "│ 2 of 4 tests failed",
        "~~~~~~~~  test.sh: with_tax 1999: 2378 instead of 2379",
        "› Fix with agent",
        "thinks  The price comes out one cent too low.",
        "Read-only file system",
        "stopped by the sandbox",
        &format!("cp cart.sh {backup}"),
        "Run it outside the sandbox?  [y/N] n  (--yes)",
        "not run: you said no",
        "@@ hunk 2 of 2, line 6 @@",
        "6 -     while [ $# -gt 1 ]; do",
        "  +     while [ $# -gt 0 ]; do",
        "2  # TODO: ask Ada about the reduced rate",
        "Save price.sh with your line? Commands see the disk.  [Y/n] y  (--yes)",
        "│ all 4 tests passed",
        "Done: all 4 tests passed.",
        "All 17 checks hold.",
    ] {
        assert!(shown.contains(words), "{words:?} is not in\n{shown}");
    }
    assert!(!shown.contains('✗'), "{shown}");
    // A path is as long as it is.
    let fits = |line: &str| line.chars().count() <= 92 || line.contains(&backup);
    assert!(shown.lines().all(fits), "{shown}");
    let titles = titles(&shown);
    assert_eq!(titles.len(), 9, "{titles:?}");

    let drawn = std::fs::read_to_string(&picture).expect("the picture");
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/img/demo.svg");
    let committed = std::fs::read_to_string(committed).expect("the picture of the documentation");
    for title in titles {
        assert!(drawn.contains(&title), "the picture lacks {title:?}");
        assert!(
            committed.contains(&title),
            "docs/img/demo.svg is out of date, see docs/img/README.md: {title:?}"
        );
    }
    std::fs::remove_file(picture).expect("removed");
    place.assert_empty();
}

#[test]
fn who_rejects_the_change_keeps_everything_as_it_was() {
    let place = Place::new();
    let mut person = Terminal::start(place.demo(&["--fast"]));
    person.answer("Run it outside the sandbox?", "");
    person.answer("Take it?", "what?");
    person.answer("Please type one of a, h, r", "R");
    let shown = person.end(0);
    for words in [
        "Both files are as they were.",
        "both files are as they were",
        "nothing was changed.",
    ] {
        assert!(shown.contains(words), "{words:?} is not in\n{shown}");
    }
    assert!(!shown.contains("The test again"), "{shown}");
    place.assert_empty();
}

#[test]
fn each_answer_is_taken_at_its_word() {
    // The hunks of the open and the closed file, whether to save, and what comes of it.
    for (first, second, save, result) in [
        ("y", "n", Some("y"), "with half of it the test fails"),
        ("y", "n", Some("n"), "after the no, it was not saved"),
        ("n", "y", None, "price.sh untouched, your line kept"),
        ("y", "y", Some("n"), "with half of it saved the test fails"),
        ("y", "y", Some(""), "All 17 checks hold."),
        ("n", "n", None, "nothing was changed."),
    ] {
        let place = Place::new();
        let mut person = Terminal::start(place.demo(&["--fast"]));
        person.answer("Run it outside the sandbox?", "yes");
        person.wait_for(".bak is there now");
        person.answer("Take it?", "h");
        person.answer("Hunk 1, in price.sh?", first);
        person.answer("Hunk 2, in cart.sh?", second);
        if let Some(save) = save {
            person.answer("Save price.sh with your line?", save);
        }
        let shown = person.end(0);
        for words in ["after the yes, it ran outside", result] {
            assert!(shown.contains(words), "{words:?} is not in\n{shown}");
        }
        assert!(
            !shown.contains('✗') && !shown.contains("not what I rehearsed"),
            "{shown}"
        );
        place.assert_empty();
    }
}

#[test]
fn a_closed_terminal_is_a_no() {
    let place = Place::new();
    let mut person = Terminal::start(place.demo(&["--fast"]));
    // Ctrl-D at the beginning of a line.
    person.answer_raw("Run it outside the sandbox?", b"\x04");
    let shown = person.end(0);
    assert!(
        shown.contains("after the no, nothing ran") && shown.contains("nothing was changed."),
        "{shown}"
    );
    place.assert_empty();
}

#[test]
fn signals_end_it_in_order_wherever_it_is() {
    for (until, signal, status) in [
        ("A project with a failing test", Signal::INT, 130),
        ("The agent reads", Signal::TERM, 143),
        ("thinks", Signal::HUP, 129),
        ("Run it outside the sandbox?", Signal::QUIT, 131),
        ("Run it outside the sandbox?", Signal::INT, 130),
    ] {
        let place = Place::new();
        let mut person = Terminal::start(place.demo(&[]));
        person.wait_for(until);
        kill_process(Pid::from_child(&person.child), signal).expect("a signal");
        let shown = person.end(status);
        assert!(shown.contains("the temporary folder is gone"), "{shown}");
        place.assert_empty();
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_trouble() {
    let place = Place::new();
    let mut child = place
        .demo(&["--yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut first = [0; 20];
    child
        .stdout
        .take()
        .expect("piped")
        .read_exact(&mut first)
        .expect("some output");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(1), ""));
    place.assert_empty();
}

#[test]
fn a_server_that_dies_is_told_and_the_log_kept() {
    let place = Place::new();
    let mut person = Terminal::start(place.demo(&[]));
    person.wait_for("Run it outside the sandbox?");
    let children = format!("/proc/{0}/task/{0}/children", person.child.id());
    let children = std::fs::read_to_string(children).expect("the kernel lists children");
    for child in children.split_whitespace() {
        let pid = Pid::from_raw(child.parse().expect("a number")).expect("a process");
        kill_process(pid, Signal::KILL).expect("killed");
    }
    person.send(b"n\n");
    let shown = person.end(1);
    assert!(
        shown.contains("the server has ended in the middle of the conversation"),
        "{shown}"
    );
    let left: Vec<_> = std::fs::read_dir(place.tmp.path())
        .expect("listed")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let [log] = left.as_slice() else { panic!("{left:?}") };
    assert!(shown.contains(&log.display().to_string()), "{shown}");
    let log = std::fs::read_to_string(log).expect("the log");
    for words in [
        "== the server's log",
        "initialize",
        "\"method\":\"workspace/executeCommand\"",
        "Fix this problem",
    ] {
        assert!(log.contains(words), "{words:?} is not in\n{log}");
    }
    place.assert_no_process();
}

#[test]
fn without_an_answer_a_sandbox_or_a_place_it_says_so_and_does_nothing() {
    let place = Place::new();
    let output = run(&mut place.demo(&["--fast"]));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert!(text(&output.stderr).contains("--yes"), "{}", text(&output.stderr));
    place.assert_empty();

    // Inside a sandbox no other can be put up.
    let mut command = place.demo(&[]);
    let inner: Vec<_> = ["sandbox", "--", PROGRAM, "demo", "--yes"].into();
    let mut outer = Command::new(PROGRAM);
    outer
        .args(inner)
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = run(outer.current_dir(place.tmp.path()).stdin(Stdio::null()));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(
        text(&output.stderr).contains("cannot be confined"),
        "{}",
        text(&output.stderr)
    );
    place.assert_empty();

    let nowhere = place.tmp.path().join("nowhere");
    let output = run(place.demo(&["--yes"]).env("TMPDIR", nowhere));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("TMPDIR"), "{}", text(&output.stderr));
    // A home that cannot be written proves nothing about a sandbox; another place is taken.
    let output = run(command.args(["--yes", "--fast"]).env("HOME", "/proc"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    place.assert_empty();
}

/// A person at a terminal.
struct Terminal {
    child: Child,
    keys: File,
    /// Whether any colour came.
    is_coloured: bool,
    /// Read, but not yet looked at.
    bytes: Vec<u8>,
    /// Without the colours.
    seen: String,
    /// How much of it has been looked at.
    looked: usize,
}

impl Terminal {
    fn start(mut command: Command) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let size = rustix::termios::Winsize {
            ws_row: 40,
            ws_col: 100,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(&master, size).expect("sized");
        let slave = || -> OwnedFd {
            use rustix::fs::{Mode, OFlags, open};
            open(
                name.as_c_str(),
                OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
                Mode::empty(),
            )
            .expect("its other end")
        };
        let child = command
            .stdin(slave())
            .stdout(slave())
            .stderr(slave())
            .spawn()
            .expect("it runs");
        Self {
            child,
            keys: File::from(master),
            is_coloured: false,
            bytes: Vec::new(),
            seen: String::new(),
            looked: 0,
        }
    }

    /// Reads on; false at the end.
    fn read(&mut self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut wait = [PollFd::new(&self.keys, PollFlags::IN)];
        let limit = Timespec::try_from(PATIENCE).expect("a time");
        assert!(
            poll(&mut wait, Some(&limit)).expect("polled") > 0,
            "nothing more came after\n{}",
            self.seen
        );
        let mut bytes = [0; 4096];
        // The last writer is gone: an error on Linux.
        let Ok(count @ 1..) = self.keys.read(&mut bytes) else {
            return false;
        };
        self.bytes.extend_from_slice(&bytes[..count]);
        // What is not yet whole, a character or a colour, waits for its rest.
        let whole = self
            .bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let tail = &self.bytes[whole..];
        let is_split = std::str::from_utf8(tail).is_err()
            || tail
                .iter()
                .rposition(|byte| *byte == b'\x1b')
                .is_some_and(|at| !tail[at..].contains(&b'm'));
        let taken: Vec<u8> = self
            .bytes
            .drain(..if is_split { whole } else { self.bytes.len() })
            .collect();
        let mut parts = std::str::from_utf8(&taken).expect("UTF-8").split("\x1b[");
        self.seen.push_str(parts.next().unwrap_or_default());
        for part in parts {
            self.is_coloured = true;
            self.seen.push_str(part.split_once('m').expect("a colour").1);
        }
        true
    }

    fn wait_for(&mut self, words: &str) {
        loop {
            if let Some(at) = self.seen[self.looked..].find(words) {
                self.looked += at + words.len();
                return;
            }
            assert!(self.read(), "{words:?} never came:\n{}", self.seen);
        }
    }

    fn send(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).expect("typed");
    }

    /// Waits for a question, and its prompt, then types the answer and Enter.
    fn answer(&mut self, question: &str, answer: &str) {
        self.answer_raw(question, format!("{answer}\n").as_bytes());
    }

    fn answer_raw(&mut self, question: &str, keys: &[u8]) {
        self.wait_for(question);
        if question.ends_with('?') {
            self.wait_for("] ");
        }
        self.send(keys);
    }

    /// All that was shown, once it has ended with this status.
    fn end(mut self, status: i32) -> String {
        while self.read() {}
        let ended = self.child.wait().expect("it ends");
        assert_eq!(ended.code(), Some(status), "{}", self.seen);
        assert!(self.is_coloured);
        self.seen
    }
}
