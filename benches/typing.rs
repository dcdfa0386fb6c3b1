//! A person types while eight threads stream: how long until `textDocument/codeAction` is answered?
//!
//! The real server, over standard input and output, and the rehearsal model, both as processes. Keys are pressed at
//! their times whether or not the last answer has come, so that a slow answer cannot hide the ones behind it. And once more with
//! 200 hunks that wait, half of them in the file that is typed in, on a disk where every look takes 20 ms: how long until a change
//! is taken, which the answer to a request behind it shows that needs no look. Prints; asserts nothing but that everything arrives. `cargo bench --bench typing`, or with another build of the program,
//! `cargo bench --bench typing -- PROGRAM`

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long each look at the slow disk takes.
const SLOW_MS: u64 = 20;
/// Hunks that wait in the file that is typed in, and in files that are closed, five in each.
const HUNKS: usize = 100;
const SLOW_DISK: &str = include_str!("../tests/it/fixtures/slow_disk.c");

const THREADS: usize = 8;
const DELTAS: usize = 2000;
/// Between two keys.
const KEY: Duration = Duration::from_millis(4);
/// Keys pressed with each load, unless the time is over first.
const KEYS: usize = 2000;
const LIMIT: Duration = Duration::from_secs(20);
/// The aim.
const AIM: Duration = Duration::from_millis(5);
/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program under test: the first argument that is no option, else the one built with this.
fn program() -> String {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    given.unwrap_or_else(|| env!("CARGO_BIN_EXE_countersign").to_owned())
}

/// Nearly all messages begin like this; that they are only counted keeps the client out of the figures.
const DELTA: &[u8] = br#"{"jsonrpc":"2.0","method":"countersign/item/agentMessage/delta""#;

/// What the reading side needs of a message.
#[derive(Deserialize)]
struct Message<'a> {
    id: Option<i64>,
    method: Option<&'a str>,
}

#[derive(Default)]
struct Seen {
    /// When each answer came; with the whole of it for those that are waited for.
    answers: HashMap<i64, (Instant, Option<Value>)>,
    deltas: usize,
    turns_done: usize,
    proposals: usize,
    ended: bool,
}

type Shared = Arc<(Mutex<Seen>, Condvar)>;

struct Client {
    child: Child,
    input: ChildStdin,
    seen: Shared,
    last_id: i64,
}

impl Client {
    fn start(home: &Path, root: &Path, model: &str, env: &[(&str, String)]) -> Result<Self, Box<dyn Error>> {
        let config = format!(
            "model = \"rehearsal\"\nmodel_provider = \"rehearsal\"\n\
             [model_providers.rehearsal]\nname = \"Rehearsal\"\nbase_url = \"{model}\"\n"
        );
        std::fs::write(home.join("config.toml"), config)?;
        let mut child = Command::new(program())
            .env("COUNTERSIGN_HOME", home)
            .envs(env.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = child.stdout.take().ok_or("no output")?;
        let seen = Shared::default();
        let theirs = seen.clone();
        std::thread::spawn(move || {
            // It ends with the server; what that means is for whoever waits.
            let _ = read_all(output, &theirs);
            theirs.0.lock().expect("no panic while held").ended = true;
            theirs.1.notify_all();
        });
        let mut client = Self {
            child,
            input,
            seen,
            last_id: 0,
        };
        let uri = format!("file://{}", root.display());
        client.call(
            "initialize",
            json!({
                "processId": std::process::id(), "rootUri": uri, "workspaceFolders": [{"uri": uri, "name": "root"}],
                "capabilities": {"experimental": {"countersign": true}},
            }),
        )?;
        client.notify("initialized", json!({}))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> std::io::Result<()> {
        let body = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.input.write_all(frame.as_bytes())
    }

    fn notify(&mut self, method: &str, params: Value) -> std::io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn request(&mut self, method: &str, params: Value) -> std::io::Result<i64> {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}))?;
        Ok(self.last_id)
    }

    /// A request whose answer is waited for.
    fn call(&mut self, method: &str, params: Value) -> Result<Value, Box<dyn Error>> {
        let id = self.request(method, params)?;
        let answer = self
            .wait(method, |seen| seen.answers.remove(&id))?
            .1
            .unwrap_or_default();
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(format!("{method}: {answer}").into()),
        }
    }

    fn wait<T>(&self, what: &str, mut look: impl FnMut(&mut Seen) -> Option<T>) -> Result<T, Box<dyn Error>> {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().expect("no panic while held");
        loop {
            if let Some(found) = look(&mut seen) {
                return Ok(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || seen.ended {
                return Err(format!("waited in vain for {what}").into());
            }
            seen = self.seen.1.wait_timeout(seen, left).expect("no panic while held").0;
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(output: impl Read, seen: &Shared) -> Result<(), Box<dyn Error>> {
    let mut output = BufReader::with_capacity(1 << 16, output);
    let mut line = String::new();
    loop {
        line.clear();
        let mut length = 0;
        while output.read_line(&mut line)? > 0 && line != "\r\n" {
            if let Some(number) = line.strip_prefix("Content-Length: ") {
                length = number.trim().parse()?;
            }
            line.clear();
        }
        let mut body = vec![0; length];
        output.read_exact(&mut body)?;
        let arrived = Instant::now();
        if body.starts_with(DELTA) {
            seen.0.lock().expect("no panic while held").deltas += 1;
            continue;
        }
        let message: Message<'_> = serde_json::from_slice(&body)?;
        let mut state = seen.0.lock().expect("no panic while held");
        match (message.method, message.id) {
            (None, Some(id)) => {
                let whole = (body.len() < 16 << 10)
                    .then(|| serde_json::from_slice(&body))
                    .transpose()?;
                state.answers.insert(id, (arrived, whole));
            }
            (Some("countersign/turn/completed"), _) => state.turns_done += 1,
            (Some("countersign/proposal/created"), _) => state.proposals += 1,
            _ => {}
        }
        drop(state);
        seen.1.notify_all();
    }
}

/// The rehearsal model, which ends with this value.
struct Model(Child, String);

impl Model {
    fn start(folder: &Path, delay_ms: u64, first: Option<Value>) -> Result<Self, Box<dyn Error>> {
        let text = "streamed words, ".repeat(DELTAS);
        let repeated = json!({"repeat": true, "outputs": [{"say": text}]});
        let first = first.map(|output| json!({"outputs": [output]}));
        let steps: Vec<Value> = first.into_iter().chain([repeated]).collect();
        let script = json!({"chunk": 16, "delay_ms": delay_ms, "steps": steps});
        let path = folder.join("script.json");
        std::fs::write(&path, script.to_string())?;
        let mut child = Command::new(program())
            .arg("rehearse")
            .arg(path)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let url = line
            .split_whitespace()
            .last()
            .ok_or("the model does not say where it is")?;
        Ok(Self(child, url.to_owned()))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure(title: &str, delay_ms: u64) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (home, root) = (folder.path().join("home"), folder.path().join("root"));
    std::fs::create_dir_all(&home)?;
    std::fs::create_dir_all(&root)?;
    let model = Model::start(folder.path(), delay_ms, None)?;
    let mut client = Client::start(&home, &root, &model.1, &[])?;
    let uri = format!("file://{}/typed.rs", root.display());
    let text = "fn one() -> usize { 1 } // a line of a file of ordinary size\n".repeat(2000);
    let document = json!({"uri": uri, "languageId": "rust", "version": 1, "text": text});
    client.notify("textDocument/didOpen", json!({"textDocument": document}))?;
    let mut threads = Vec::new();
    for _ in 0..THREADS {
        let started = client.call("countersign/thread/start", json!({}))?;
        threads.push(started["thread"]["id"].clone());
    }

    let begin = Instant::now();
    let mut rounds = 0;
    let mut sent = Vec::new();
    while sent.len() < KEYS && begin.elapsed() < LIMIT {
        let turns_done = client.seen.0.lock().expect("no panic while held").turns_done;
        if turns_done == rounds * THREADS {
            for thread in &threads {
                let input = json!([{"type": "text", "text": "go on"}]);
                client.request("countersign/turn/start", json!({"threadId": thread, "input": input}))?;
            }
            rounds += 1;
        }
        let due = begin + KEY * u32::try_from(sent.len())?;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let line = sent.len() % 2000;
        let place = json!({"line": line, "character": 3});
        let range = json!({"start": place, "end": place});
        let version = sent.len() + 2;
        // A key that comes late because the last one was held up counts from when it was due.
        client.notify(
            "textDocument/didChange",
            json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"range": range, "text": "x"}]}),
        )?;
        let diagnostic = json!({"range": range, "severity": 1, "source": "rustc", "message": "unknown name"});
        let id = client.request(
            "textDocument/codeAction",
            json!({"textDocument": {"uri": uri}, "range": range, "context": {"diagnostics": [diagnostic]}}),
        )?;
        sent.push((id, due));
    }
    client.wait("the end of the turns", |seen| {
        (seen.turns_done == rounds * THREADS).then_some(())
    })?;
    let took = begin.elapsed();

    let mut times = Vec::new();
    for (id, due) in sent {
        let (arrived, answer) = client.wait("an answer", |seen| seen.answers.remove(&id))?;
        if !answer.is_some_and(|answer| answer["result"].is_array()) {
            return Err("a code action was not answered with a list".into());
        }
        times.push(arrived.saturating_duration_since(due));
    }
    report(title, times);
    println!(
        "  meanwhile {} deltas from the model in {:.1} s, {} messages to the client",
        rounds * THREADS * DELTAS,
        took.as_secs_f64(),
        client.seen.0.lock().expect("no panic while held").deltas
    );
    Ok(())
}

/// The times of keys in the order in which they were pressed.
fn report(title: &str, mut times: Vec<Duration>) {
    // A stall holds up all keys that are pressed while it lasts.
    let is_late = |time: &Duration| *time >= AIM;
    let late = times.iter().enumerate().filter(|(_, time)| is_late(time));
    let first = late.filter(|(at, _)| *at == 0 || !is_late(&times[at - 1]));
    let stalls: Vec<String> = first
        .map(|(at, _)| {
            let keys = times[at..].iter().take_while(|time| is_late(time)).count();
            format!(
                "{keys} from {:.1} s on",
                (KEY * u32::try_from(at).unwrap_or(u32::MAX)).as_secs_f64()
            )
        })
        .take(8)
        .collect();
    times.sort();
    let at = |permille: usize| times[(times.len() * permille / 1000).min(times.len() - 1)].as_secs_f64() * 1e3;
    println!(
        "{title}: {} times, p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, max {:.2} ms",
        times.len(),
        at(500),
        at(900),
        at(990),
        at(1000)
    );
    if !stalls.is_empty() {
        println!("  keys that were late: {}", stalls.join(", "));
    }
}

/// Line of a file, told apart by its number.
fn line(number: usize) -> String {
    format!("fn number_{number}() -> usize {{ {number} }} // a line of a file of ordinary size")
}

/// A hunk on every so many lines of a file.
fn hunks(file: &str, count: usize, apart: usize) -> String {
    let hunk = |number: usize| {
        let at = number * apart;
        let (above, old, below) = (line(at), line(at + 1), line(at + 2));
        format!("@@\n {above}\n-{old}\n+{old} // changed\n {below}\n")
    };
    let all: String = (0..count).map(hunk).collect();
    format!("*** Update File: {file}\n{all}")
}

/// The disk below a folder as a library that is preloaded; nothing where there is no compiler.
fn slow_disk(folder: &Path) -> Result<Option<String>, Box<dyn Error>> {
    let (source, library) = (folder.join("slow_disk.c"), folder.join("slow_disk.so"));
    std::fs::write(&source, SLOW_DISK)?;
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status();
    let is_there = compiled.is_ok_and(|status| status.success());
    Ok(is_there.then(|| library.display().to_string()))
}

fn measure_waiting(title: &str) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (home, root) = (folder.path().join("home"), folder.path().join("root"));
    std::fs::create_dir_all(&home)?;
    std::fs::create_dir_all(&root)?;
    let Some(library) = slow_disk(folder.path())? else {
        println!("{title}: left out, there is no C compiler");
        return Ok(());
    };
    let text: String = (0..2000).map(|number| line(number) + "\n").collect();
    let mut patch = hunks("typed.rs", HUNKS, 20);
    std::fs::write(root.join("typed.rs"), &text)?;
    for number in 0..HUNKS / 5 {
        let name = format!("closed_{number}.rs");
        std::fs::write(root.join(&name), &text)?;
        patch.push_str(&hunks(&name, 5, 300));
    }
    let input = format!("*** Begin Patch\n{patch}*** End Patch\n");
    let first = json!({"call": {"tool": "apply_patch", "arguments": {"input": input}}});
    let model = Model::start(folder.path(), 2, Some(first))?;
    let env = [
        ("LD_PRELOAD", library),
        ("SLOW_UNDER", format!("{}:{}", root.display(), home.display())),
        ("SLOW_MS", SLOW_MS.to_string()),
    ];
    let mut client = Client::start(&home, &root, &model.1, &env)?;
    let uri = format!("file://{}/typed.rs", root.display());
    let chat = format!("file://{}/talk.countersign.md", root.display());
    for (uri, text) in [(&uri, text.as_str()), (&chat, "## ❯ You\n\nwords\n")] {
        let document = json!({"uri": uri, "languageId": "text", "version": 1, "text": text});
        client.notify("textDocument/didOpen", json!({"textDocument": document}))?;
    }
    let go = |client: &mut Client| -> Result<(), Box<dyn Error>> {
        let started = client.call("countersign/thread/start", json!({}))?;
        let input = json!([{"type": "text", "text": "go on"}]);
        client.request(
            "countersign/turn/start",
            json!({"threadId": started["thread"]["id"], "input": input}),
        )?;
        Ok(())
    };
    go(&mut client)?;
    client.wait("the proposal", |seen| (seen.proposals > 0).then_some(()))?;
    for _ in 1..THREADS {
        go(&mut client)?;
    }
    let begin = Instant::now();
    let (mut taken, mut offered) = (Vec::new(), Vec::new());
    for key in 0..KEYS {
        let due = begin + KEY * u32::try_from(key)?;
        if begin.elapsed() > LIMIT {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let place = json!({"line": key % 2000, "character": 3});
        let range = json!({"start": place, "end": place});
        client.notify(
            "textDocument/didChange",
            json!({"textDocument": {"uri": uri, "version": key + 2}, "contentChanges": [{"range": range, "text": "x"}]}),
        )?;
        // All that editors ask while somebody types; what looks at the disk is not waited for.
        let document = json!({"uri": uri});
        let context = json!({"diagnostics": [], "triggerKind": 2});
        let action = json!({"textDocument": document, "range": range, "context": context});
        offered.push((client.request("textDocument/codeAction", action)?, due));
        if key % 5 == 0 {
            client.request("textDocument/codeLens", json!({"textDocument": document}))?;
        }
        if key % 20 == 0 {
            let chat = json!({"uri": chat});
            client.request(
                "textDocument/hover",
                json!({"textDocument": chat, "position": {"line": 2, "character": 1}}),
            )?;
            client.request("countersign/config/read", json!({}))?;
            client.request("countersign/permissions/profiles", json!({}))?;
            client.request("countersign/prompt/list", json!({}))?;
            let show = json!({"command": "countersign.showProposal", "arguments": [{"path": "/no/such"}]});
            client.request("workspace/executeCommand", show)?;
        }
        let folds = client.request("textDocument/foldingRange", json!({"textDocument": {"uri": chat}}))?;
        taken.push((folds, due));
    }
    for (title, sent) in [
        (format!("{title}, until a change is taken"), taken),
        (format!("{title}, until code actions are there"), offered),
    ] {
        let mut times = Vec::new();
        for (id, due) in sent {
            let (arrived, _) = client.wait("an answer", |seen| seen.answers.remove(&id))?;
            times.push(arrived.saturating_duration_since(due));
        }
        report(&title, times);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("didChange, then codeAction, while {THREADS} threads stream {DELTAS} deltas each; the aim is p99 < 5 ms");
    measure("a delta every 3 ms in each thread", 2)?;
    measure("as fast as they come", 0)?;
    measure_waiting(&format!(
        "{} hunks wait, each look at the disk takes {SLOW_MS} ms",
        2 * HUNKS
    ))
}
