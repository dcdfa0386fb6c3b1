//! The server killed (SIGKILL) at random moments of a running turn, over and over: nothing that a client saw completed is
//! lost, every conversation can be gone on with, and no patch is there by half.
//!
//! A run is one process: it first goes on with the conversation that the process before it was killed in, holds it against
//! what that one had shown, and then begins a conversation of its own, in which it is killed. A failing run prints the
//! seed of its chain, which `COUNTERSIGN_CRASH_SEED` plays again; `COUNTERSIGN_CRASH_RUNS` makes a chain longer.

use crate::support::client::{ServerOptions, initialize_params};
use countersign::rehearsal::{Running, Script, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// Kills in a chain.
const RUNS: u64 = 51;
/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A small generator whose runs can be played again (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

/// A server and what it says.
struct Process {
    child: Arc<Mutex<Child>>,
    input: ChildStdin,
    said: Receiver<Value>,
    last_id: u64,
}

impl Process {
    fn start(home: &Path, root: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("COUNTERSIGN_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take().expect("piped");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let (tell, said) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read_message(&mut output) {
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let mut process = Self {
            child: Arc::new(Mutex::new(child)),
            input,
            said,
            last_id: 0,
        };
        let options = ServerOptions {
            caps: crate::support::client::Caps::Plugin,
            roots: vec![root.to_owned()],
            ..ServerOptions::default()
        };
        process
            .call("initialize", initialize_params(&options))
            .expect("it begins");
        process.send(&json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
        process
    }

    /// It may be dead already.
    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let _dead = self.input.write_all(frame.as_bytes()).and_then(|()| self.input.flush());
    }

    fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    /// The next message; `None` when the server is gone.
    fn hear(&mut self) -> Option<Value> {
        match self.said.recv_timeout(LIMIT) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the server says nothing more"),
        }
    }

    /// Asks and waits for the answer of a server that lives.
    fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        loop {
            let message = self.hear().unwrap_or_else(|| panic!("{method}: the server is gone"));
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.answer(&message);
        }
    }

    /// Requests of the server get an empty answer; there are none that matter here.
    fn answer(&mut self, message: &Value) {
        if message.get("method").is_some() && message.get("id").is_some() {
            self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": null}));
        }
    }

    /// Kills the server after a time, whatever it is doing then.
    fn kill_in(&self, wait: Duration) {
        let child = self.child.clone();
        std::thread::spawn(move || {
            std::thread::sleep(wait);
            let mut child = child.lock().expect("no panic while held");
            let _dead_already = child.kill();
            let _status = child.wait();
        });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.child.lock().expect("no panic while held");
        let _dead_already = child.kill();
        let _status = child.wait();
    }
}

fn read_message(output: &mut impl std::io::BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(':') {
            Some(("Content-Length", number)) => length = number.trim().parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    // A server that is killed can leave half a message.
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// What a client saw of a turn before the server died.
#[derive(Debug, Default)]
struct Seen {
    thread: String,
    turn: Option<String>,
    /// By id.
    items: BTreeMap<String, Value>,
    /// The turn as its last event told it.
    completed: Option<Value>,
    /// A patch was accepted and told as made.
    applied: bool,
}

const BEFORE: &str = "before\n";
const AFTER: &str = "after\n";
const FILES: [&str; 3] = ["a.txt", "b.txt", "deep/c.txt"];

fn turn_of(chance: &mut Chance) -> Vec<Value> {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-before\n+after\n*** Update File: b.txt\n@@\n-before\n+after\n\
                 *** Update File: deep/c.txt\n@@\n-before\n+after\n*** End Patch";
    let plan = json!({"plan": [{"step": "Change three files", "status": "in_progress"}]});
    let mut first = vec![json!({"say": "I begin."})];
    first.push(match chance.below(4) {
        0 => json!({"call": {"tool": "shell", "arguments": {"command": ["echo", "out"]}, "id": "c1"}}),
        _ => json!({"call": {"tool": "update_plan", "arguments": plan, "id": "c1"}}),
    });
    vec![
        Value::Array(first),
        json!([{"say": "Now the patch."}, {"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "c2"}}]),
        json!([{"say": "Both are done, and here is why it was done like this and not in another way."}]),
    ]
}

struct Chain {
    home: PathBuf,
    folder: PathBuf,
    chance: Chance,
    /// How long a whole turn takes here.
    whole: Duration,
    runtime: tokio::runtime::Handle,
}

impl Chain {
    fn model(&self, steps: Vec<Value>) -> Running {
        let script = Script::from_json(&Value::Array(steps)).unwrap_or_else(|error| panic!("{error}"));
        let model = self
            .runtime
            .block_on(Server::start(script, ([127, 0, 0, 1], 0).into()))
            .expect("a free port");
        let config = format!(
            "model = \"rehearsal\"\nmodel_provider = \"rehearsal\"\n[model_providers.rehearsal]\nname = \"Rehearsal\"\n\
             base_url = \"{}\"\n",
            model.base_url
        );
        std::fs::write(self.home.join("config.toml"), config).expect("a configuration");
        model
    }

    fn work(&self, run: u64) -> PathBuf {
        let work = self.folder.join(format!("run-{run}"));
        for name in FILES {
            let path = work.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, BEFORE).expect("a file");
        }
        work
    }

    /// One process. `before`: the folder and the conversation in which the one before was killed.
    fn run(&mut self, run: u64, before: Option<(PathBuf, Seen)>) -> (PathBuf, Seen) {
        let mut steps = Vec::new();
        if before.is_some() {
            steps.push(json!([{"say": "Still here."}]));
        }
        steps.extend(turn_of(&mut self.chance));
        // A retry of a request whose server was killed never comes, so each step is asked for once.
        let _model = self.model(steps);
        let work = self.work(run);
        let mut process = Process::start(&self.home, &work);
        if let Some((work, seen)) = before {
            go_on(&mut process, &work, &seen);
        }
        let started = process.call("countersign/thread/start", json!({"settings": {"cwd": work}}));
        let thread = started.expect("a thread")["thread"]["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let begun = Instant::now();
        // The last part of the turn, and what comes after it, have their share.
        let most = self.whole.as_micros() as u64 * 5 / 4;
        if run > 0 {
            process.kill_in(Duration::from_micros(self.chance.below(most)));
        }
        let input = json!([{"type": "text", "text": "Change the files"}]);
        process.ask("countersign/turn/start", json!({"threadId": thread, "input": input}));
        let mut seen = Seen {
            thread: thread.clone(),
            ..Seen::default()
        };
        while let Some(message) = process.hear() {
            process.answer(&message);
            let params = &message["params"];
            if params["threadId"] != thread {
                continue;
            }
            match message["method"].as_str().unwrap_or_default() {
                "countersign/turn/started" => {
                    seen.turn = params["turn"]["id"].as_str().map(str::to_owned);
                }
                "countersign/item/completed" => {
                    let item = params["item"].clone();
                    seen.applied |= item["type"] == "fileChange" && item["status"] == "completed";
                    seen.items.insert(item["id"].as_str().expect("an id").to_owned(), item);
                }
                "countersign/proposal/created" => {
                    let params = json!({"proposalId": params["proposal"]["id"], "decision": "accept"});
                    process.ask("countersign/proposal/decide", params);
                }
                "countersign/turn/completed" => {
                    seen.completed = Some(params["turn"].clone());
                    if run == 0 {
                        assert_eq!(params["turn"]["status"], "completed", "{params}");
                        assert!(seen.applied, "{seen:#?}");
                        self.whole = begun.elapsed();
                        break;
                    }
                }
                _ => {}
            }
        }
        (work, seen)
    }
}

/// Goes on with a conversation whose server was killed.
fn go_on(process: &mut Process, work: &Path, seen: &Seen) {
    let resumed = match process.call("countersign/thread/resume", json!({"threadId": seen.thread})) {
        Ok(resumed) => resumed,
        Err(error) => {
            // It was killed before anything was told.
            assert!(seen.items.is_empty() && seen.completed.is_none(), "{error}: {seen:#?}");
            // Its file was not there yet, or just made.
            let kind = error["data"]["kind"].as_str().unwrap_or_default();
            assert!(["threadNotFound", "storeFailed"].contains(&kind), "{error}");
            return;
        }
    };
    let turns = resumed["thread"]["turns"].as_array().expect("turns");
    let turn = turns.iter().find(|turn| turn["id"].as_str() == seen.turn.as_deref());
    if !seen.items.is_empty() || seen.completed.is_some() {
        let turn = turn.unwrap_or_else(|| panic!("the turn is lost: {turns:#?}\n{seen:#?}"));
        let stored = turn["items"].as_array().expect("items");
        for (id, item) in &seen.items {
            let found = stored.iter().find(|stored| stored["id"] == **id);
            assert_eq!(found, Some(item), "an item is lost: {turn:#?}");
        }
        let status = match &seen.completed {
            Some(completed) => completed["status"].clone(),
            None if turn["status"] == "completed" => json!("completed"),
            None => json!("interrupted"),
        };
        assert_eq!(turn["status"], status);
    }
    let deadline = Instant::now() + LIMIT;
    let texts = loop {
        let texts = FILES.map(|name| std::fs::read_to_string(work.join(name)).unwrap_or_default());
        // What the killed writer left is put right by this server, in the background.
        if texts.iter().all(|text| text == &texts[0]) && [BEFORE, AFTER].contains(&&texts[0][..]) {
            break texts;
        }
        assert!(Instant::now() < deadline, "half a patch: {texts:?}\n{seen:#?}");
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(!seen.applied || texts[0] == AFTER, "a patch is lost: {seen:#?}");
    let input = json!([{"type": "text", "text": "Are you there?"}]);
    let params = json!({"threadId": seen.thread, "input": input});
    process.ask("countersign/turn/start", params);
    loop {
        let message = process.hear().expect("a server that lives");
        process.answer(&message);
        let params = &message["params"];
        if params["threadId"] == seen.thread && message["method"] == "countersign/turn/completed" {
            assert_eq!(params["turn"]["status"], "completed", "{params}");
            assert_eq!(params["lastAgentMessage"], "Still here.", "{params}");
            return;
        }
    }
}

/// Plays a chain of kills: with the seed of the environment, or a new one.
fn play_chain() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("after 1970");
    let seed = number("COUNTERSIGN_CRASH_SEED").unwrap_or(now.as_nanos() as u64);
    let runs = number("COUNTERSIGN_CRASH_RUNS").unwrap_or(RUNS);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::Builder::new()
        .prefix("crash")
        .tempdir_in("/var/tmp")
        .expect("a folder");
    let home = folder.path().join("home");
    std::fs::create_dir_all(&home).expect("a folder");
    let mut chain = Chain {
        home,
        folder: folder.path().canonicalize().expect("a path"),
        chance: Chance(seed),
        whole: Duration::ZERO,
        runtime: runtime.handle().clone(),
    };
    let mut before = None;
    for run in 0..=runs {
        let played = std::panic::AssertUnwindSafe(|| chain.run(run, before.take()));
        match std::panic::catch_unwind(played) {
            Ok(seen) => before = Some(seen),
            Err(panic) => {
                tell(&format!("killed in vain: COUNTERSIGN_CRASH_SEED={seed}, run {run}"));
                std::panic::resume_unwind(panic);
            }
        }
    }
}

// Chains of their own, so that they run side by side.

/// Shows S-300.
#[test]
fn killed_at_any_moment_nothing_that_was_seen_is_lost() {
    play_chain();
}

#[test]
fn a_second_chain_of_kills_loses_nothing() {
    play_chain();
}

#[test]
fn a_third_chain_of_kills_loses_nothing() {
    play_chain();
}

#[test]
fn a_fourth_chain_of_kills_loses_nothing() {
    play_chain();
}

#[test]
fn a_fifth_chain_of_kills_loses_nothing() {
    play_chain();
}

#[test]
fn a_sixth_chain_of_kills_loses_nothing() {
    play_chain();
}

#[expect(clippy::print_stderr, reason = "whoever looks into a failure needs the seed")]
fn tell(words: &str) {
    eprintln!("{words}");
}

/// What of an answer was on the screen is there again, also where the server was killed in the middle of it.
#[test]
fn what_was_said_before_a_kill_is_not_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let chain = Chain {
        home: folder.path().join("home"),
        folder: folder.path().to_owned(),
        chance: Chance(1),
        whole: Duration::ZERO,
        runtime: runtime.handle().clone(),
    };
    std::fs::create_dir_all(&chain.home).expect("a folder");
    let half = "This is the first half of the answer";
    let model = chain.model(vec![
        json!([{"say": half, "partial": true}, {"hold": "for ever"}]),
        json!([{"say": "Still here."}]),
    ]);
    let work = chain.work(0);
    let mut process = Process::start(&chain.home, &work);
    let started = process.call("countersign/thread/start", json!({"settings": {"cwd": work}}));
    let thread = started.expect("a thread")["thread"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let input = json!([{"type": "text", "text": "Tell me"}]);
    process.ask("countersign/turn/start", json!({"threadId": thread, "input": input}));
    let mut said = String::new();
    while !said.contains(half) {
        let message = process.hear().expect("it lives");
        process.answer(&message);
        if message["method"] == "countersign/item/agentMessage/delta" {
            said.push_str(message["params"]["delta"].as_str().expect("text"));
        }
    }
    let begun = Instant::now();
    let is_on_record = || {
        rollouts(&chain.home)
            .iter()
            .any(|text| text.contains("agent_message_partial"))
    };
    while !is_on_record() {
        assert!(begun.elapsed() < LIMIT, "nothing is written down");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(process);

    let mut process = Process::start(&chain.home, &work);
    let resumed = process
        .call("countersign/thread/resume", json!({"threadId": thread}))
        .expect("it is there");
    let items = resumed["thread"]["turns"][0]["items"].as_array().expect("items");
    let kept = items
        .iter()
        .find(|item| item["type"] == "agentMessage")
        .expect("the answer");
    assert_eq!(
        (&kept["text"], &kept["partial"]),
        (&json!(half), &json!(true)),
        "{items:#?}"
    );
    let input = json!([{"type": "text", "text": "Go on"}]);
    process.ask("countersign/turn/start", json!({"threadId": thread, "input": input}));
    loop {
        let message = process.hear().expect("it lives");
        process.answer(&message);
        if message["method"] == "countersign/turn/completed" {
            break;
        }
    }
    let sent = model.requests();
    assert!(sent[1].body.to_string().contains(half), "the model knows it, too");
}

/// The conversations on the disk.
fn rollouts(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.join("sessions")];
    while let Some(place) = waiting.pop() {
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            match entry.path().is_dir() {
                true => waiting.push(entry.path()),
                false => found.push(std::fs::read_to_string(entry.path()).unwrap_or_default()),
            }
        }
    }
    found
}
