//! A round of attempts: one user, one policy, one set of walls. All are made from within one sandbox, as long as it
//! lasts; the world outside is looked at after each.

use super::super::fallback;
use super::super::place::{Place, User};
use super::attempt::{Around, Attempt, Policy};
use super::scene::{SECRET, Stage, World, given, hidden, repository, secrets};
use super::talk::Talk;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

/// What the driver may be given that belongs to the outside: descriptors that stay open unless somebody closes them.
const GIVING: &str = "exec 7>>\"$OUT/given/append\" 8<\"$OUT/given\" 9<\"$OUT/given/file\"; exec \"$@\"";

/// How long the driver may take for an attempt; it has a limit of its own.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Round {
    place: Place,
    around: Around,
    policy: Policy,
    world: World,
    driver: Option<Talk>,
    made: usize,
    /// Marks of processes that must not outlive the sandbox.
    marks: Vec<String>,
}

/// What became of an attempt.
pub(super) struct Outcome {
    /// How it shows outside that it got through; empty if it did not.
    pub evidence: Vec<String>,
    pub said: String,
}

impl Round {
    pub(super) fn new(user: User, around: Around, policy: Policy) -> Self {
        let place = Place::new(user);
        place.folder(&place.work.join("scratch"));
        given(&place);
        secrets(&place);
        repository(&place);
        let world = World::start(&place, 0);
        Self {
            place,
            around,
            policy,
            world,
            driver: None,
            made: 0,
            marks: Vec::new(),
        }
    }

    /// Makes an attempt, and looks around.
    pub(super) fn make(&mut self, attempt: &Attempt) -> Outcome {
        self.made += 1;
        let mut names = self.world.names.clone();
        let mut stage = self.stage(attempt, &mut names);
        if self.driver.is_none() {
            // The walls are put up around what is there.
            self.driver = Some(self.start_driver());
        }
        let driver = self.driver.as_mut().expect("started above");
        let starts = ["daemon(", "MARK"].iter().any(|word| attempt.script.contains(word));
        if let Some(mark) = names["MARK"].as_str().filter(|_| starts) {
            self.marks.push(mark.to_owned());
        }
        let start = Instant::now();
        driver.say(&json!({ "name": attempt.name, "script": attempt.script, "names": names }).to_string());
        let answer = driver.hear();
        let mut said = answer
            .as_ref()
            .and_then(|answer| answer["said"].as_str())
            .unwrap_or("(the driver died)")
            .to_owned();
        let mut evidence = Vec::new();
        if start.elapsed() > PATIENCE {
            evidence.push(format!("it took {:?}", start.elapsed()));
        }
        if let Some(stopped) = stopped_keeper(driver.pid()) {
            evidence.push(format!("a keeper was stopped: {stopped}"));
        }
        if answer.is_none() {
            evidence.push("the sandbox broke".to_owned());
        }
        if answer.is_none() || attempt.settles {
            let (told, survivors) = self.finish();
            said.push_str(&told);
            evidence.extend(survivors);
        }
        evidence.extend(stage.look());
        evidence.extend(self.world.look());
        if said.contains(SECRET) {
            evidence.push("a secret was seen".to_owned());
        }
        if said.contains("GOT THROUGH") {
            evidence.push("a call got through".to_owned());
        }
        if self.around == Around::Nothing {
            evidence.extend(self.survivors());
            // What was done takes a moment to be felt.
            for _ in 0..20 {
                if evidence.is_empty() {
                    std::thread::sleep(Duration::from_millis(10));
                    evidence.extend(self.world.look());
                }
            }
        }
        stage.clear();
        if !evidence.is_empty() {
            self.recover();
        }
        Outcome { evidence, said }
    }

    fn stage(&self, attempt: &Attempt, names: &mut Map<String, Value>) -> Stage {
        let may_write = match self.around {
            // What is allowed to a command that may write the workspace must not count as evidence for the others.
            Around::Nothing => attempt.counts_under(Policy::Workspace),
            _ => self.policy != Policy::ReadOnly,
        };
        Stage::set(&self.place, self.made, may_write, names)
    }

    /// Ends the sandbox; what it said, and what it left running.
    pub(super) fn finish(&mut self) -> (String, Vec<String>) {
        let Some(mut driver) = self.driver.take() else {
            return (String::new(), Vec::new());
        };
        let (status, told) = driver.end();
        let mut left = self.survivors();
        if status.is_none() {
            left.push("the sandbox does not end".to_owned());
        }
        if let Some(kept) = told.lines().find_map(|line| line.split_once(": moved to ")) {
            let kept = std::path::Path::new(kept.1.trim());
            let _absent = kept.parent().map(std::fs::remove_dir_all);
        }
        (told, left)
    }

    /// What still runs of the attempts so far. It is ended.
    fn survivors(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        for mark in std::mem::take(&mut self.marks) {
            // One that forks all the time may be between two processes in one look.
            let found = (0..5).map(|_| running(&mark)).find(|found| !found.is_empty());
            if found.is_some() {
                left.push(format!("a process has outlived the sandbox: {mark}"));
            }
            let mut looks = 0;
            while found.is_some() && looks < 2000 {
                looks += 1;
                for pid in running(&mark).into_iter().filter_map(Pid::from_raw) {
                    let _gone = kill_process(pid, Signal::KILL);
                }
                if running(&mark).is_empty() && running(&mark).is_empty() {
                    break;
                }
            }
        }
        left
    }

    /// Begins anew after an attempt that got through.
    fn recover(&mut self) {
        if self.around != Around::Nothing {
            let _told_already = self.finish();
        }
        if !self.world.look().is_empty() {
            self.world.renew(&self.place);
        }
        given(&self.place);
        secrets(&self.place);
        repository(&self.place);
    }

    fn start_driver(&self) -> Talk {
        let argv = ["python3", "-c", include_str!("driver.py")];
        let closed = [hidden(&self.place), self.place.work.join(".env")];
        let mut options = self.policy.options().to_vec();
        for path in &closed {
            options.extend(["--unreadable", path.to_str().expect("utf-8")]);
        }
        let inner = match self.around {
            Around::Everything => self.place.command(&options, &argv),
            Around::NoNamespaces => fallback::plain_command(&self.place, &options, &argv),
            Around::Nothing => {
                let mut command = Command::new(argv[0]);
                command.args(&argv[1..]);
                command
            }
        };
        let mut command = Command::new("sh");
        command
            .args(["-c", GIVING, "sh"])
            .arg(inner.get_program())
            .args(inner.get_args());
        self.place.dress(&mut command);
        let mut driver = Talk::start(command);
        if driver.hear().is_none() {
            panic!(
                "{:?} {:?}: nothing was run: {:?}",
                self.around,
                self.policy,
                driver.end()
            );
        }
        driver
    }
}

/// The processes that have this among their arguments.
fn running(mark: &str) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    processes
        .filter_map(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let named = line.split(|byte| *byte == 0).any(|part| part == mark.as_bytes());
            named.then(|| entry.file_name().to_str()?.parse().ok())?
        })
        .collect()
}

/// A process of the sandbox itself that does not run any more, though it lives.
fn stopped_keeper(pid: u32) -> Option<String> {
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let children = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        text.split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect::<Vec<u32>>()
    };
    let mut waiting = vec![pid];
    while let Some(pid) = waiting.pop() {
        let stat = stat(pid);
        let Some((before, after)) = stat.rsplit_once(')') else {
            continue;
        };
        if before.contains("(countersign") {
            if after.trim_start().starts_with(['T', 't']) {
                return Some(stat);
            }
            waiting.extend(children(pid));
        }
    }
    None
}
