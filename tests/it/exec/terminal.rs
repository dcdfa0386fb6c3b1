//! Commands that outlive a call: with pseudo-terminals and with pipes, in every sandbox, to their end.

use super::place::{Place, User, has};
use countersign::exec::terminal::{Exit, Size, Terminal, TerminalError};
use countersign::exec::{self, CommandRequest, Confinement, ExecError, Input, plain};
use countersign::protocol::settings::{SandboxMode, SandboxPolicy};
use std::path::Path;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(30);

const MODES: [SandboxMode; 3] = [
    SandboxMode::ReadOnly,
    SandboxMode::WorkspaceWrite,
    SandboxMode::DangerFullAccess,
];

fn request(cwd: &Path, mode: SandboxMode, argv: &[&str]) -> CommandRequest {
    exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    let variables = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("TERM", "xterm-256color"),
        ("LC_ALL", "C.UTF-8"),
        ("PS1", "$ "),
    ];
    CommandRequest {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        cwd: cwd.to_owned(),
        env: variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        confinement: Confinement::new(&SandboxPolicy::from_mode(mode), cwd, &[], None),
        timeout: None,
        input: Input::Nothing,
        argv0: None,
        wrote: exec::Wrote::default(),
        full: exec::FullOutput::default(),
    }
}

async fn start(cwd: &Path, mode: SandboxMode, argv: &[&str]) -> Terminal {
    Terminal::start(request(cwd, mode, argv), Some(Size::default()))
        .await
        .expect("starts")
}

/// A terminal with all that was read of it.
struct Reader(Terminal, String);

impl Reader {
    /// Reads until it printed a text after what was looked at before.
    async fn until(&mut self, wanted: &str) -> String {
        let read = tokio::time::timeout(LIMIT, async {
            loop {
                self.1.push_str(&plain(&self.0.take().text.to_string()));
                if let Some(at) = self.1.find(wanted) {
                    let rest = self.1.split_off(at + wanted.len());
                    return std::mem::replace(&mut self.1, rest);
                }
                if self.0.exit().is_some() {
                    self.1.push_str(&plain(&self.0.take().text.to_string()));
                    assert!(self.1.contains(wanted), "ended without {wanted:?}: {:?}", self.1);
                    continue;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        match read.await {
            Ok(text) => text,
            Err(_) => panic!("no {wanted:?} in {:?}", self.1),
        }
    }

    async fn typed(&self, text: &str) {
        self.0.write(text.as_bytes()).await.expect("typed");
    }

    async fn exit(&self) -> Exit {
        let ended = tokio::time::timeout(LIMIT, self.0.exited()).await;
        assert!(ended.is_ok(), "it does not end: {:?}", self.0.whole().text);
        self.0.exit().expect("ended")
    }
}

async fn read(cwd: &Path, mode: SandboxMode, argv: &[&str]) -> Reader {
    Reader(start(cwd, mode, argv).await, String::new())
}

/// Shows S-196.
#[tokio::test]
async fn a_terminal_is_the_commands_own_in_every_sandbox() {
    let place = Place::new(User::Own);
    for mode in MODES {
        let script = "tty; test -t 0 && test -t 1 && test -t 2 && echo all; stty size; echo on-tty > /dev/tty; \
                      ls /proc/self/fd | wc -l; exit 7";
        let mut reader = read(&place.work, mode, &["sh", "-c", script]).await;
        let exit = reader.exit().await;
        let text = reader.until("on-tty\n").await;
        assert!(text.starts_with("/dev/pts/"), "{mode:?} {text}");
        assert!(text.contains("all\n24 80\n"), "{mode:?} {text}");
        // Its three streams, and the folder that is being listed: nothing else was inherited.
        assert_eq!(reader.1, "4\n", "{mode:?}");
        assert_eq!((exit.code, exit.not_run), (7, None), "{mode:?}");
    }
}

/// Shows S-196, S-198.
#[tokio::test]
async fn two_shells_keep_their_own_variables() {
    let place = Place::new(User::Own);
    let mut first = read(&place.work, SandboxMode::WorkspaceWrite, &["bash", "--norc", "-i"]).await;
    let mut second = read(&place.work, SandboxMode::WorkspaceWrite, &["bash", "--norc", "-i"]).await;
    for (reader, keys) in [(&mut first, "X=one\r"), (&mut second, "X=two\r")] {
        reader.until("$ ").await;
        reader.typed(keys).await;
        reader.until("$ ").await;
    }
    for (reader, value) in [(&mut first, "one"), (&mut second, "two")] {
        reader.typed("echo \"is <$X>\"\r").await;
        reader.until(&format!("is <{value}>")).await;
        reader.until("$ ").await;
        reader.typed("exit 3\r").await;
        assert_eq!(reader.exit().await.code, 3);
    }
}

#[tokio::test]
async fn keys_reach_the_program() {
    let place = Place::new(User::Own);
    let mut shell = read(&place.work, SandboxMode::WorkspaceWrite, &["bash", "--norc", "-i"]).await;
    shell.until("$ ").await;
    // Interrupt: the foreground program ends, the shell lives on. Before the program says that it runs, the terminal is
    // still the shell's, and so would be the interrupt.
    shell.typed("sh -c 'echo rea\"\"dy; exec sleep 1000'\r").await;
    shell.until("ready").await;
    shell.typed("\x03").await;
    shell.until("^C").await;
    shell.until("$ ").await;
    shell.typed("echo code $?\r").await;
    shell.until("code 130").await;
    // Arrow up, then enter.
    shell.until("$ ").await;
    shell.typed("echo a$((1+1))b\r").await;
    shell.until("a2b").await;
    shell.until("$ ").await;
    shell.typed("\x1b[A\r").await;
    shell.until("a2b").await;
    shell.until("$ ").await;
    // Stop. The kernel loses what is typed between two settings of a terminal, so each step waits for the one before.
    let cat = "sh -c 'echo rea\"\"dy; exec cat'\r";
    shell.typed(cat).await;
    shell.until("ready").await;
    shell.typed("first\n").await;
    shell.until("first\nfirst").await;
    shell.typed("\x1a").await;
    shell.until("Stopped").await;
    shell.until("$ ").await;
    shell.typed("kill -9 %1; wait; echo go''ne\r").await;
    shell.until("gone").await;
    shell.until("$ ").await;
    shell.typed(cat).await;
    shell.until("ready").await;
    shell.typed("echoed\n").await;
    shell.until("echoed\nechoed").await;
    // End of file ends cat, then the shell.
    shell.typed("\x04").await;
    shell.until("$ ").await;
    shell.typed("\x04").await;
    assert_eq!(shell.exit().await.code, 0);
    assert!(matches!(shell.0.write(b"x").await, Err(TerminalError::Ended)));
}

#[tokio::test]
async fn a_password_is_asked_for_without_echo() {
    let place = Place::new(User::Own);
    let script = "read -s -p 'Password: ' word; echo; echo \"got ${#word}\"";
    let mut reader = read(&place.work, SandboxMode::ReadOnly, &["bash", "-c", script]).await;
    reader.until("Password: ").await;
    reader.typed("hunter2\r").await;
    let text = reader.until("got 7").await;
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn interactive_programs_work() {
    let place = Place::new(User::Own);
    std::fs::write(place.work.join("page"), "line\n".repeat(500)).expect("written");
    for (argv, prompt, steps) in [
        (
            &["python3", "-i", "-q"][..],
            ">>> ",
            &[("print(6*7)\r", "42"), ("exit(4)\r", "")][..],
        ),
        (&["node", "-i"], ">", &[("6*7\r", "42"), (".exit\r", "")]),
        (
            &["gdb", "-q", "-nx"],
            "(gdb) ",
            &[("print 6*7\r", "= 42"), ("quit\r", "")],
        ),
        (&["sh", "-i"], "$ ", &[("echo $((6*7))\r", "42"), ("exit\r", "")]),
        (&["less", "page"], ":", &[("G", "(END)"), ("q", "")]),
        (
            &["vim", "-u", "NONE", "-N", "new"],
            "[New",
            &[("ihello\x1b:wq\r", ""), ("", "")],
        ),
    ] {
        if !has(argv[0]) {
            continue;
        }
        let mut reader = read(&place.work, SandboxMode::WorkspaceWrite, argv).await;
        let _started = if argv[0] == "less" {
            reader.until("line").await
        } else {
            reader.until(prompt).await
        };
        for (keys, answer) in steps {
            reader.typed(keys).await;
            reader.until(answer).await;
        }
        reader.exit().await;
    }
    if has("vim") {
        assert_eq!(
            std::fs::read_to_string(place.work.join("new")).expect("vim wrote it"),
            "hello\n"
        );
    }
}

#[tokio::test]
async fn a_new_size_is_told_to_the_program() {
    let place = Place::new(User::Own);
    let script = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done";
    let mut reader = read(&place.work, SandboxMode::ReadOnly, &["bash", "-c", script]).await;
    reader.until("ready").await;
    reader.0.resize(Size { rows: 50, columns: 132 }).expect("resized");
    reader.until("50 132").await;
    reader.0.end().await;
}

/// Nothing of it survives, whatever it does: programs that ignore signals, sessions of their own, orphans.
#[tokio::test]
async fn nothing_is_left_of_an_ended_terminal() {
    let place = Place::new(User::Own);
    for mode in MODES {
        for size in [Some(Size::default()), None] {
            let script = "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &); echo ready; \
                          while :; do sleep 0.02; done";
            let mut request = request(&place.work, mode, &["bash", "-c", script]);
            let mark = format!("terminal-{mode:?}-{}", size.is_some());
            request.env.insert("MARK".to_owned(), mark.clone());
            let terminal = Terminal::start(request, size).await.expect("starts");
            let mut reader = Reader(terminal, String::new());
            reader.until("ready").await;
            assert!(alive(&mark) >= 2, "{mode:?}: the contrast");
            let begun = Instant::now();
            reader.0.end().await;
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
            assert_eq!(alive(&mark), 0, "{mode:?}");
            assert_ne!(reader.0.exit().expect("ended").code, 0);
        }
    }
}

/// Processes with this in their environment.
fn alive(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("proc").flatten();
    let environments = entries.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    environments
        .filter(|environment| String::from_utf8_lossy(environment).contains(&format!("MARK={mark}\0")))
        .count()
}

#[tokio::test]
async fn a_dropped_terminal_is_ended() {
    let place = Place::new(User::Own);
    let mut request = request(&place.work, SandboxMode::WorkspaceWrite, &["sleep", "1000"]);
    request.env.insert("MARK".to_owned(), "dropped".to_owned());
    let terminal = Terminal::start(request, Some(Size::default())).await.expect("starts");
    drop(terminal);
    let gone = tokio::time::timeout(LIMIT, async {
        while alive("dropped") > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    gone.await.expect("it is ended");
}

#[tokio::test]
async fn with_pipes_the_input_is_closed_and_ctrl_c_gets_through() {
    let place = Place::new(User::Own);
    let pipes = |script: &'static str| {
        let request = request(&place.work, SandboxMode::WorkspaceWrite, &["bash", "-c", script]);
        async move { Reader(Terminal::start(request, None).await.expect("starts"), String::new()) }
    };
    let reader = pipes("cat; test -t 1 || echo no-terminal; echo err >&2").await;
    assert_eq!(reader.exit().await.code, 0);
    assert!(!reader.0.has_tty());
    let text = reader.0.take().text.to_string();
    assert!(text.contains("no-terminal\n") && text.contains("err\n"), "{text}");

    let mut reader = pipes("trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.05; done").await;
    reader.until("ready").await;
    assert!(matches!(reader.0.write(b"words").await, Err(TerminalError::NoTerminal)));
    assert!(matches!(
        reader.0.resize(Size::default()),
        Err(TerminalError::NoTerminal)
    ));
    reader.0.write(b"\x03").await.expect("an interrupt");
    reader.until("interrupted").await;
    assert_eq!(reader.exit().await.code, 5);
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let place = Place::new(User::Own);
    for size in [Some(Size::default()), None] {
        let terminal = Terminal::start(request(&place.work, SandboxMode::ReadOnly, &["no-such-program"]), size).await;
        let exit = Reader(terminal.expect("the walls stand"), String::new()).exit().await;
        assert_eq!(exit.code, 127);
        assert!(exit.not_run.expect("why").contains("no-such-program"));
        let empty = Terminal::start(request(&place.work, SandboxMode::ReadOnly, &[]), size).await;
        assert!(matches!(empty, Err(ExecError::Empty)));
    }
    let gone = place.work.join("gone");
    let terminal = Terminal::start(request(&gone, SandboxMode::ReadOnly, &["true"]), Some(Size::default())).await;
    let not_run = match terminal {
        Err(error) => error.to_string(),
        Ok(terminal) => Reader(terminal, String::new()).exit().await.not_run.expect("why"),
    };
    assert!(not_run.contains("gone"), "{not_run}");
}

/// The sandbox is the same as of any command: no writing outside, no way into other terminals, no words put into one's
/// own.
#[tokio::test]
async fn the_walls_stand_around_a_terminal() {
    let place = Place::new(User::Own);
    let outside = place.outside.join("x");
    let script = format!(
        "touch {0}; test -e {0} && echo escaped; touch inside && echo wrote; exit 1",
        outside.display()
    );
    let mut reader = read(&place.work, SandboxMode::WorkspaceWrite, &["sh", "-c", &script]).await;
    let exit = reader.exit().await;
    let text = reader.until("wrote").await;
    assert!(!text.contains("escaped") && !outside.exists(), "{text}");
    assert!(exit.denied.is_some(), "{exit:?}");

    // Another terminal of the same person, in the view of the server.
    let other =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).expect("a terminal");
    rustix::pty::unlockpt(&other).expect("unlocked");
    let name = rustix::pty::ptsname(&other, Vec::new())
        .expect("named")
        .into_string()
        .expect("text");
    let script = "import fcntl, os, sys, termios\n\
                  name = sys.argv[1]\n\
                  mine = os.ttyname(0)\n\
                  try:\n    fd = os.open(name, os.O_RDWR | os.O_NOCTTY); print('same' if os.fstat(fd).st_rdev == os.fstat(0).st_rdev and mine == name else 'reached')\n\
                  except OSError as error: print('closed', error.errno)\n\
                  try:\n    fcntl.ioctl(0, termios.TIOCSTI, b'x'); print('pushed')\n\
                  except OSError as error: print('refused', error.errno)\n";
    for mode in [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite] {
        let mut reader = read(&place.work, mode, &["/usr/bin/python3", "-c", script, &name]).await;
        let text = reader.until("refused").await;
        assert!(!text.contains("reached") && !text.contains("pushed"), "{mode:?} {text}");
    }
}

#[tokio::test]
async fn a_flood_that_nobody_reads_stays_bounded() {
    let place = Place::new(User::Own);
    for size in [Some(Size::default()), None] {
        let request = request(
            &place.work,
            SandboxMode::ReadOnly,
            &["sh", "-c", "yes 0123456789 | head -c 20000000; echo; echo the end"],
        );
        let reader = Reader(Terminal::start(request, size).await.expect("starts"), String::new());
        assert_eq!(reader.exit().await.code, 0);
        let taken = reader.0.take();
        assert!(taken.bytes >= 20_000_000, "{}", taken.bytes);
        let text = taken.text.to_string();
        assert!(text.len() < 1_100_000);
        assert!(text.starts_with("0123456789") && plain(&text).trim_end().ends_with("the end"));
        assert!(text.contains("cut out"));
        assert!(reader.0.whole().text.to_string().len() < 300_000);
        assert!(reader.0.take_live().len() < 20_000);
    }
}

/// Whoever floods cannot be read, but can be interrupted and ended.
#[tokio::test]
async fn a_flood_can_be_interrupted() {
    let place = Place::new(User::Own);
    let mut shell = read(&place.work, SandboxMode::ReadOnly, &["bash", "--norc", "-i"]).await;
    shell.until("$ ").await;
    shell.typed("yes\r").await;
    shell.until("y\ny\n").await;
    shell.typed("\x03").await;
    shell.until("$ ").await;
    shell.typed("echo st''ill here\r").await;
    shell.until("still here").await;
    shell.0.end().await;
}

#[tokio::test]
async fn typing_into_a_program_that_does_not_read_gives_up() {
    let place = Place::new(User::Own);
    let mut reader = read(
        &place.work,
        SandboxMode::ReadOnly,
        &["sh", "-c", "stty raw -echo; echo ready; sleep 1000"],
    )
    .await;
    reader.until("ready").await;
    let much = vec![b'x'; 1 << 20];
    match reader.0.write(&much).await {
        Err(TerminalError::NotRead { written, length }) => assert!(written < length && length == much.len()),
        other => panic!("{other:?}"),
    }
    reader.0.end().await;
}

/// Shows S-198.
#[tokio::test]
async fn sixty_four_at_once() {
    let place = Place::new(User::Own);
    let mut readers = Vec::new();
    for number in 0..64 {
        let argv = [
            "sh",
            "-c",
            "read word; echo \"$0 $word\"; read word",
            &number.to_string(),
        ]
        .map(str::to_owned);
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        readers.push(read(&place.work, SandboxMode::ReadOnly, &argv).await);
    }
    for reader in &readers {
        reader.typed("hello\r").await;
    }
    for (number, reader) in readers.iter_mut().enumerate() {
        reader.until(&format!("{number} hello")).await;
    }
    let begun = Instant::now();
    let ends: Vec<_> = readers.iter().map(|reader| reader.0.end()).collect();
    futures::future::join_all(ends).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
