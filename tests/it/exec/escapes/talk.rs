//! A program that is talked to line by line.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Talk {
    child: Child,
    lines: Receiver<String>,
}

impl Talk {
    pub(super) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start a program");
        let out = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        // Ends with the program's output.
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// One that has ended is found out when it is listened to.
    pub(super) fn say(&mut self, line: &str) {
        if let Some(stdin) = &mut self.child.stdin {
            let _ended = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
        }
    }

    /// What it says next; nothing where it has ended, or is silent for too long.
    pub(super) fn hear(&mut self) -> Option<Value> {
        let line = self.lines.recv_timeout(PATIENCE).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Ends its input, and waits for it.
    pub(super) fn end(&mut self) -> (Option<ExitStatus>, String) {
        drop(self.child.stdin.take());
        let end = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
                Ok(status) => break status,
                Err(_) => break None,
            }
        };
        if status.is_none() {
            return (None, "it does not end".to_owned());
        }
        let mut said = String::new();
        if let Some(mut err) = self.child.stderr.take() {
            let _broken = std::io::Read::read_to_string(&mut err, &mut said);
        }
        (status, said)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // In order, if it can: what it made is taken away then.
        drop(self.child.stdin.take());
        let end = Instant::now() + Duration::from_secs(15);
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}
