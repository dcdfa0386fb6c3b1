//! `countersign exec`: one turn, no editor, no question; what came of it is in the output and in the exit status.

use crate::agent::stage::{apply_patch, bash, rehearse, say};
use crate::support::git::git;
use countersign::rehearsal::Running;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

struct Place {
    folder: TempDir,
    model: Running,
}

impl Place {
    async fn new(script: Value) -> Self {
        // Not in the temporary folder, which commands may write.
        let folder = tempfile::Builder::new()
            .prefix("headless")
            .tempdir_in("/var/tmp")
            .expect("a folder");
        let model = rehearse(script).await;
        let place = Self { folder, model };
        for folder in ["home", "work"] {
            std::fs::create_dir(place.path(folder)).expect("a folder");
        }
        place.write("work/a.txt", "one\n");
        let url = &place.model.base_url;
        let config = format!(
            "model = \"rehearsal\"\nmodel_provider = \"rehearsal\"\n[model_providers.rehearsal]\nname = \"Rehearsal\"\nbase_url = \"{url}\"\n\
             request_max_retries = 0\nstream_max_retries = 0\n"
        );
        place.write("home/config.toml", &config);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("a path").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.subcommand("exec", arguments)
    }

    fn subcommand(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command
            .arg(name)
            .args(arguments)
            .env("COUNTERSIGN_HOME", self.path("home"))
            .current_dir(self.path("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        Self::ran(self.command(arguments)).await
    }

    async fn ran(mut command: Command) -> Ran {
        let output = tokio::task::spawn_blocking(move || command.output())
            .await
            .expect("it ends")
            .expect("it runs");
        Ran::of(&output)
    }

    async fn piped(&self, arguments: &[&str], words: &'static str) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped());
        let work = move || {
            let mut child = command.spawn().expect("it runs");
            // It may have ended without reading.
            let _closed = std::io::Write::write_all(&mut child.stdin.take().expect("piped"), words.as_bytes());
            child.wait_with_output().expect("it ends")
        };
        Ran::of(&tokio::task::spawn_blocking(work).await.expect("it ends"))
    }
}

#[derive(Debug)]
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            status: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn events(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON on every line"))
            .collect()
    }
}

fn patch(to: &str) -> String {
    format!("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+{to}\n*** End Patch")
}

#[tokio::test]
async fn the_answer_is_on_standard_output_and_what_happened_beside_it() {
    let script = json!([
        [bash("c1", "cat a.txt")],
        [apply_patch("c2", &patch("two"))],
        [say("Now it says two.")]
    ]);
    let place = Place::new(script).await;
    let answer = place.path("answer.md");
    let ran = place
        .run(&[
            "--sandbox",
            "workspace-write",
            "--output",
            answer.to_str().expect("text"),
            "Change it",
        ])
        .await;
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (Some(0), "Now it says two.\n"),
        "{ran:?}"
    );
    let (conversation, happened) = ran.err.split_once('\n').expect("lines");
    assert!(conversation.starts_with("conversation "), "{conversation}");
    assert_eq!(happened, "$ cat a.txt (exit status 0)\nM a.txt\n");
    assert_eq!(
        (place.text("work/a.txt").as_str(), place.text("answer.md").as_str()),
        ("two\n", "Now it says two.")
    );
    let request = &place.model.requests()[0];
    assert!(request.body.to_string().contains("Change it"));
}

/// Without a word about the sandbox nothing is changed; what was refused is said, and is in the status.
#[tokio::test]
async fn what_nobody_may_be_asked_about_is_refused_and_said() {
    let leave = json!({"call": {"tool": "shell", "id": "c2", "arguments": {
        "command": ["touch", "/var/tmp/never"], "with_escalated_permissions": true, "justification": "Please.",
    }}});
    let ask = json!({"call": {"tool": "request_user_input", "id": "c3", "arguments": {
        "questions": [{"id": "q", "header": "Which", "question": "Which one?", "options": [
            {"label": "A", "description": "a"}, {"label": "B", "description": "b"},
        ]}],
    }}});
    let script = json!([
        [apply_patch("c1", &patch("two"))],
        [leave],
        [ask],
        [say("I could not.")]
    ]);
    let place = Place::new(script).await;
    let ran = place.run(&["Change it"]).await;
    assert_eq!((ran.status, ran.out.as_str()), (Some(3), "I could not.\n"), "{ran:?}");
    assert_eq!(place.text("work/a.txt"), "one\n");
    assert!(!Path::new("/var/tmp/never").exists());
    for words in [
        "done, but not all of it",
        "refused: touch /var/tmp/never",
        "a.txt was not changed",
        "add --sandbox workspace-write",
    ] {
        assert!(ran.err.contains(words), "{words}: {ran:?}");
    }
}

/// What is asked for by its own tool and not given is refused as well; what still runs at the end is ended, and named.
#[tokio::test]
async fn what_is_not_given_and_what_is_cut_off_is_said() {
    let asks = json!({"call": {"tool": "request_permissions", "id": "c1", "arguments": {
        "permissions": [{"type": "network"}], "reason": "To look it up.",
    }}});
    let runs_on = json!({"call": {"tool": "exec_command", "id": "c2", "arguments": {
        "cmd": "sleep 100; touch late", "yield_time_ms": 300,
    }}});
    let place = Place::new(json!([[asks], [runs_on], [say("Done.")]])).await;
    let ran = place.run(&["-s", "workspace-write", "Go"]).await;
    assert_eq!(ran.status, Some(3), "{ran:?}");
    assert!(ran.err.contains("refused: Ask for permissions"), "{ran:?}");
    assert!(ran.err.contains("still running, so it is stopped: $ "), "{ran:?}");
    assert!(ran.err.contains("touch late"), "{ran:?}");
}

/// A change that came to nothing at first and was made in the end is no refusal.
#[tokio::test]
async fn what_is_made_up_for_is_done() {
    let wrong = apply_patch("c1", &patch("two").replace("-one", "-nothing like it"));
    let place = Place::new(json!([[wrong], [apply_patch("c2", &patch("two"))], [say("Done.")]])).await;
    let ran = place.run(&["-s", "workspace-write", "Change it"]).await;
    assert_eq!(
        (ran.status, place.text("work/a.txt").as_str()),
        (Some(0), "two\n"),
        "{ran:?}"
    );
    assert!(ran.err.contains("(failed: "), "{ran:?}");
}

/// What is said on the way is progress, what is said at the end is the answer, and neither passes for the other or for a line of ours; of a
/// command that failed the last lines are there.
#[tokio::test]
async fn words_on_the_way_and_the_end_of_a_failed_output_are_progress() {
    let first = say("I look first.\n$ rm -rf / (exit status 0)");
    let failing = bash("c1", r"seq 30; printf '  deep \033[31mred\n'; exit 3");
    let place = Place::new(json!([
        [first, failing],
        [bash("c2", "echo fine")],
        [say("Nearly."), bash("c3", "true")],
        [say("Done.")]
    ]))
    .await;
    let ran = place.run(&["Do it"]).await;
    assert_eq!((ran.status, ran.out.as_str()), (Some(0), "Done.\n"), "{ran:?}");
    let (_, happened) = ran.err.split_once('\n').expect("lines");
    let numbers: String = (22..=30).map(|number| format!("    {number}\n")).collect();
    let expected = format!(
        "• I look first.\n  $ rm -rf / (exit status 0)\n$ seq 30; printf ' deep \\033[31mred\\n'; exit 3 (failed, exit status 3)\n\
         {numbers}      deep <U+001B>[31mred\n$ echo fine (exit status 0)\n• Nearly.\n$ true (exit status 0)\n"
    );
    assert_eq!(happened, expected);
}

#[tokio::test]
async fn events_come_as_lines_of_json() {
    let place = Place::new(json!([[bash("c1", "true")], [say("Done.")]])).await;
    let ran = place.run(&["--json", "Do it"]).await;
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    let events = ran.events();
    let methods: Vec<&str> = events
        .iter()
        .map(|event| event["method"].as_str().expect("a method"))
        .collect();
    assert!(methods.contains(&"countersign/item/agentMessage/delta"), "{methods:?}");
    assert_eq!(methods.last(), Some(&"countersign/turn/completed"));
    let completed = &events[events.len() - 1]["params"];
    assert_eq!(
        (&completed["lastAgentMessage"], &completed["turn"]["status"]),
        (&json!("Done."), &json!("completed"))
    );
}

#[tokio::test]
async fn the_task_comes_from_standard_input_with_images_and_a_schema() {
    let place = Place::new(json!([[say("{\"ok\":true}")]])).await;
    let pixel = [
        0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1,
        8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0a, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0, 1, 0, 0, 5,
        0, 1, 0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
    ];
    std::fs::write(place.path("work/dot.png"), pixel).expect("written");
    place.write("work/schema.json", "{\"type\": \"object\"}");
    place.write("work/AGENTS.md", "Speak plainly.");
    let ran = place
        .piped(
            &["-", "--image", "dot.png", "--output-schema", "schema.json"],
            "Look at this.\n",
        )
        .await;
    assert_eq!((ran.status, ran.out.as_str()), (Some(0), "{\"ok\":true}\n"), "{ran:?}");
    let body = place.model.requests()[0].body.to_string();
    for part in [
        "Look at this.",
        "data:image/png;base64,",
        "json_schema",
        "Speak plainly.",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
}

#[tokio::test]
async fn a_conversation_is_continued_or_leaves_nothing() {
    let place = Place::new(json!([[say("Remembered.")], [say("It was blue.")], [say("Gone.")]])).await;
    assert_eq!(place.run(&["The color is blue."]).await.status, Some(0));
    let ran = place.run(&["--resume", "last", "Which color was it?"]).await;
    assert_eq!((ran.status, ran.out.as_str()), (Some(0), "It was blue.\n"), "{ran:?}");
    assert!(
        place.model.requests()[1]
            .body
            .to_string()
            .contains("The color is blue.")
    );
    let files = |place: &Place| walk(&place.path("home/sessions"));
    let before = files(&place);
    let ran = place.run(&["--ephemeral", "Something else"]).await;
    assert_eq!((ran.status, files(&place)), (Some(0), before), "{ran:?}");
    let ran = place
        .run(&["--resume", "0199aaaa-0000-7000-8000-000000000000", "Go on"])
        .await;
    assert!(ran.status == Some(1) && !ran.err.is_empty(), "{ran:?}");
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => found.extend(walk(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn bounds_failures_and_wrong_use_have_their_status() {
    let place = Place::new(json!([{"repeat": true, "outputs": [bash("", "true")]}])).await;
    let ran = place.run(&["--max-requests", "3", "Go round"]).await;
    assert_eq!((ran.status, place.model.requests().len()), (Some(4), 3), "{ran:?}");
    assert!(ran.err.contains("asked 3 times"), "{ran:?}");

    let usage = json!({"usage": {"input_tokens": 100_000, "output_tokens": 0, "total_tokens": 100_000}});
    let place = Place::new(json!([{"repeat": true, "outputs": [bash("", "true"), usage]}])).await;
    let price = "models.rehearsal.price={input = 2.0, output = 2.0}";
    let ran = place.run(&["--max-cost", "0.50", "-c", price, "Go round"]).await;
    assert_eq!((ran.status, place.model.requests().len()), (Some(4), 3), "{ran:?}");
    assert!(
        ran.err.contains("cost about $0.60") && ran.err.contains("may cost $0.50"),
        "{ran:?}"
    );

    let place =
        Place::new(json!([[{"fail": {"status": 400, "body": {"error": {"message": "the moon is full"}}}}]])).await;
    let ran = place.run(&["Hello"]).await;
    assert!(ran.status == Some(1) && ran.err.contains("the moon is full"), "{ran:?}");

    let place = Place::new(json!([])).await;
    for (arguments, words) in [
        (&["  "][..], "the prompt is empty"),
        (&[][..], "the prompt is empty"),
        (&["!touch x"], "a command of your own"),
        (&["--cd", "nowhere", "Hello"], "no folder to work in"),
        (&["--image", "nothing.png", "Hello"], "nothing.png cannot be read"),
        (&["--output-schema", "a.txt", "Hello"], "is no JSON"),
        (&["--resume", "last", "Hello"], "no conversation in this folder"),
        (&["--sandbox", "anything", "Hello"], "anything"),
        (&["--max-requests", "0", "Hello"], "0"),
        (&["--max-cost", "nothing", "Hello"], "no amount of US dollars"),
        (&["--max-cost", "-1", "Hello"], "-1"),
        (&["-c", "model", "Hello"], "KEY=VALUE"),
    ] {
        let ran = place.run(arguments).await;
        assert!(
            ran.status == Some(2) && ran.err.contains(words),
            "{arguments:?}: {ran:?}"
        );
    }
    assert!(place.model.requests().is_empty());
}

/// What cannot be done, or was not, is no success.
#[tokio::test]
async fn an_answer_that_is_none_is_a_failure() {
    for (answers, arguments, words) in [
        (json!([[say("")]]), &["Hello"][..], "the model gave no answer"),
        (
            json!([[say("no JSON")]]),
            &["--output-schema", "schema.json", "Hello"],
            "the answer is not JSON",
        ),
        (
            json!([[say("{\"a\": 1} and more")]]),
            &["--output-schema", "schema.json", "Hello"],
            "the answer is not JSON",
        ),
    ] {
        let place = Place::new(answers).await;
        place.write("work/schema.json", "{\"type\": \"object\"}");
        let ran = place.run(arguments).await;
        assert!(
            ran.status == Some(1) && ran.err.contains(words),
            "{arguments:?}: {ran:?}"
        );
    }
    // A model may do what it was asked to without a word.
    let place = Place::new(json!([[bash("c1", "true")], [say("")]])).await;
    let ran = place.run(&["Hello"]).await;
    assert_eq!(ran.status, Some(0), "{ran:?}");
}

/// A model that cannot be reached is not waited for without end.
#[tokio::test]
async fn a_model_out_of_reach_is_given_up() {
    let place = Place::new(json!([])).await;
    // A port that nobody listens at.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let config = place.text("home/config.toml");
    let config = config.replace(&place.model.base_url, &format!("http://127.0.0.1:{port}/v1"));
    place.write("home/config.toml", &config);
    let begun = Instant::now();
    let ran = place.run(&["Hello"]).await;
    assert!(ran.status == Some(1) && ran.err.contains("given up"), "{ran:?}");
    assert!(ran.err.contains("cannot be reached"), "{ran:?}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{ran:?}");
}

/// What is wrong with the configuration is said; where all of it is lost nothing begins, since nobody knows what it forbids.
#[tokio::test]
async fn what_is_wrong_with_the_configuration_is_said() {
    let place = Place::new(json!([[say("Hello.")]])).await;
    let config = place.text("home/config.toml");
    place.write("home/config.toml", &format!("sandbox = 1\n{config}"));
    let ran = place.run(&["Hello"]).await;
    assert_eq!((ran.status, ran.out.as_str()), (Some(0), "Hello.\n"), "{ran:?}");
    assert!(
        ran.err.contains("warning: ") && ran.err.contains("config.toml:1: "),
        "{ran:?}"
    );
    place.write(
        "home/config.toml",
        &format!("sandbox_mode = \"read-only\"\nmodel = \"x\n{config}"),
    );
    let ran = place.run(&["Hello"]).await;
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("not valid TOML") && ran.err.contains("config.toml:2: "),
        "{ran:?}"
    );
    assert_eq!(place.model.requests().len(), 1);
}

/// The models of the provider, one a line.
#[tokio::test]
async fn models_are_listed() {
    let place = Place::new(json!([])).await;
    let ran = Place::ran(place.subcommand("model", &["list"])).await;
    assert!(
        ran.status == Some(0) && ran.out.starts_with("rehearsal  rehearsal"),
        "{ran:?}"
    );
    let ran = Place::ran(place.subcommand("model", &["list", "--json"])).await;
    let model: Value = serde_json::from_str(ran.out.lines().next().expect("a line")).expect("JSON");
    assert_eq!(model["id"], "rehearsal", "{ran:?}");
    let ran = Place::ran(place.subcommand("model", &["list", "--provider", "nobody"])).await;
    assert!(ran.status == Some(1) && ran.err.contains("nobody"), "{ran:?}");
}

/// What runs leave is listed with what editors leave, and found by the beginning of its id.
#[tokio::test]
async fn runs_are_listed() {
    let place = Place::new(json!([[say("Red.")], [say("Blue.")]])).await;
    assert_eq!(place.run(&["Name a color"]).await.status, Some(0));
    let ran = Place::ran(place.subcommand("thread", &["list"])).await;
    let (id, rest) = ran.out.split_once("  ").expect("a line");
    assert!(rest.contains("(exec) Name a color"), "{ran:?}");
    let ran = Place::ran(place.subcommand("thread", &["show", "last"])).await;
    assert!(ran.out.contains("Red."), "{ran:?}");
    let ran = place.run(&["--resume", &id[..13], "Another one"]).await;
    assert_eq!((ran.status, ran.out.as_str()), (Some(0), "Blue.\n"), "{ran:?}");
}

/// A signal stops the turn and its commands; nothing is left.
#[tokio::test]
async fn a_signal_stops_it() {
    let place = Place::new(json!([[bash("c1", "sleep 1234.5")], [say("Never.")]])).await;
    let mut command = place.command(&["--json", "Wait"]);
    let mut child = command.spawn().expect("it runs");
    let pid = i32::try_from(child.id()).expect("a number");
    let sleeps = || {
        let found = Command::new("pgrep")
            .args(["-f", "sleep 1234.5"])
            .output()
            .expect("pgrep");
        !found.stdout.is_empty()
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while !sleeps() {
        assert!(Instant::now() < deadline, "the command does not run");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).expect("a process"),
        rustix::process::Signal::INT,
    )
    .expect("there");
    let status = tokio::task::spawn_blocking(move || child.wait())
        .await
        .expect("it ends")
        .expect("it ends");
    assert_eq!(status.code(), Some(130));
    assert!(!sleeps());
}

/// A repository whose last commit has `one` in its file, which is `two` by now, and a reviewer who finds this.
async fn reviewed(findings: Value) -> Place {
    let answer = json!({
        "findings": findings,
        "overall_correctness": "patch is incorrect",
        "overall_explanation": "That is what I saw.",
        "overall_confidence_score": 0.8,
    });
    let place = Place::new(json!([[say(&answer.to_string())]])).await;
    committed(&place);
    place
}

fn committed(place: &Place) {
    let work = place.path("work");
    git(&work, &["init", "-q", "-b", "main"]);
    git(&work, &["add", "."]);
    git(&work, &["commit", "-qm", "Begin"]);
    place.write("work/a.txt", "two\n");
}

#[tokio::test]
async fn a_review_says_what_it_found_and_writes_it_for_code_scanning() {
    let findings = json!([{
        "title": "It counts wrongly",
        "body": "One became two.",
        "confidence_score": 0.9,
        "priority": 1,
        "code_location": {"absolute_file_path": "a.txt", "line_range": {"start": 1, "end": 1}},
    }]);
    for (arguments, findings, status) in [
        (&["--fail-on", "3"][..], json!([]), 0),
        (&["--uncommitted"], findings.clone(), 0),
        (&["--fail-on", "0"], findings.clone(), 0),
        (&["--fail-on", "1"], findings.clone(), 5),
        (
            &["--sarif", "found.sarif", "--fail-on", "2", "--ephemeral"],
            findings.clone(),
            5,
        ),
        (&["--sarif", "-"], findings.clone(), 0),
    ] {
        let place = reviewed(findings.clone()).await;
        let ran = Place::ran(place.subcommand("review", arguments)).await;
        assert_eq!(ran.status, Some(status), "{arguments:?}: {ran:?}");
        let log = match arguments {
            ["--sarif", "-"] => ran.out,
            ["--sarif", ..] => place.text("work/found.sarif"),
            _ => {
                assert!(ran.out.contains("That is what I saw."), "{ran:?}");
                let title = "It counts wrongly";
                assert_eq!(ran.out.contains(title), findings != json!([]), "{ran:?}");
                continue;
            }
        };
        let log: Value = serde_json::from_str(&log).expect("JSON");
        let result = &log["runs"][0]["results"][0];
        assert_eq!(result["level"], "error");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a.txt", "{log}");
        assert_eq!(place["region"], json!({"startLine": 1, "endLine": 1}), "{log}");
    }
}

#[tokio::test]
async fn a_review_that_cannot_be_done_says_so() {
    let place = Place::new(json!([])).await;
    for (arguments, status, words) in [
        (&["--json", "--sarif", "-"][..], 2, "standard output cannot take both"),
        (&["--base", "main", "--commit", "HEAD"], 2, "cannot be used with"),
        (&["--fail-on", "4"], 2, "4"),
        (&["--sarif", "found.sarif"], 1, "git"),
    ] {
        let ran = Place::ran(place.subcommand("review", arguments)).await;
        assert_eq!(ran.status, Some(status), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(words), "{arguments:?}: {ran:?}");
    }
    let log: Value = serde_json::from_str(&place.text("work/found.sarif")).expect("JSON");
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
}

/// A reviewer that only talks may have found anything: that is no review without findings.
#[tokio::test]
async fn a_review_without_a_list_is_no_clean_one() {
    for answer in [
        "I found a serious bug: it counts wrongly.",
        "{\"overall_explanation\": \"A bug.\"}",
    ] {
        let place = Place::new(json!([[say(answer)]])).await;
        committed(&place);
        let ran = Place::ran(place.subcommand("review", &["--sarif", "found.sarif", "--fail-on", "3"])).await;
        assert!(
            ran.status == Some(1) && ran.err.contains("no list of findings"),
            "{ran:?}"
        );
        assert!(ran.out.contains("bug") && !ran.out.contains("no findings"), "{ran:?}");
        let log: Value = serde_json::from_str(&place.text("work/found.sarif")).expect("JSON");
        assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
    }
}

/// What the person's own profile denies is denied here, too, and what `[sandbox_workspace_write]` closes is closed.
#[tokio::test]
async fn the_persons_profile_and_walls_hold() {
    let profile = "default_permissions = \"shop\"\n[permissions.shop]\nextends = \":workspace\"\n[permissions.shop.filesystem]\n\
                   \":workspace_roots/docs\" = \"read\"\n\"**/.env\" = \"deny\"\n\":slash_tmp\" = \"read\"\n";
    let walls = "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n";
    let only = "default_permissions = \"few\"\n[permissions.few.filesystem]\n\":minimal\" = \"read\"\n\":workspace_roots/docs\" = \"read\"\n";
    let at = format!("/tmp/countersign-headless-{}", std::process::id());
    let script = format!(
        "cat .env && echo READ-ENV; cat a.txt && echo READ-A; echo x > docs/new && echo WROTE-DOCS; echo x > new && echo WROTE; \
         echo x > {at} && rm {at} && echo WROTE-TMP; true"
    );
    for (config, sandbox, done) in [
        (profile, "read-only", &["READ-A"][..]),
        (profile, "workspace-write", &["READ-A", "WROTE"]),
        (walls, "read-only", &["READ-ENV", "READ-A"]),
        (walls, "workspace-write", &["READ-ENV", "READ-A", "WROTE-DOCS", "WROTE"]),
        (
            "",
            "workspace-write",
            &["READ-ENV", "READ-A", "WROTE-DOCS", "WROTE", "WROTE-TMP"],
        ),
        (only, "read-only", &[]),
    ] {
        let read = json!({"call": {"tool": "read_file", "arguments": {"file_path": ".env"}, "id": "c2"}});
        let place = Place::new(json!([[bash("c1", &script)], [read], [say("Done.")]])).await;
        place.write("work/.env", "KEY=hush-hush\n");
        std::fs::create_dir(place.path("work/docs")).expect("a folder");
        let (tables, keys) = match config
            .split_once('\n')
            .filter(|(first, _)| first.starts_with("default"))
        {
            Some((first, rest)) => (rest, first),
            None => (config, ""),
        };
        let before = place.text("home/config.toml");
        place.write("home/config.toml", &format!("{keys}\n{before}\n{tables}"));
        place.run(&["--sandbox", sandbox, "Go"]).await;
        let requests = place.model.requests();
        let output = requests[1].output("c1").expect("an output");
        for word in ["READ-ENV", "READ-A", "WROTE-DOCS", "WROTE-TMP"] {
            assert_eq!(
                output.contains(word),
                done.contains(&word),
                "{config} {sandbox} {word}: {output}"
            );
        }
        assert_eq!(
            place.path("work/new").exists(),
            done.contains(&"WROTE"),
            "{config} {sandbox}"
        );
        let read = requests[2].output("c2").expect("an output");
        assert_eq!(
            read.contains("hush-hush"),
            done.contains(&"READ-ENV"),
            "{config} {sandbox}: {read}"
        );
    }
}

/// What an agent does that the model set to work is shown, is refused and counts like what it does itself.
#[tokio::test]
async fn agents_are_part_of_the_run() {
    let call =
        |tool: &str, id: &str, arguments: Value| json!({"call": {"tool": tool, "id": id, "arguments": arguments}});
    let leave = call(
        "shell",
        "s2",
        json!({"command": ["touch", "/var/tmp/never"], "with_escalated_permissions": true, "justification": "Please."}),
    );
    let usage = json!({"usage": {"input_tokens": 100_000, "output_tokens": 0, "total_tokens": 100_000}});
    let spawn = call("spawn_agent", "c1", json!({"message": "Part two", "name": "scout"}));
    let script = json!([
        {"when": {"last_user": "Part one"}, "outputs": [spawn, usage]},
        {"when": {"last_user": "Part two"}, "outputs": [bash("s1", "echo SEEN"), leave, usage]},
        {"when": {"output": {"s1": "SEEN"}}, "outputs": [say("The agent is done."), usage]},
        {"when": {"output": {"c1": "scout"}, "not": {"output": "c2"}}, "outputs": [call("wait_agents", "c2", json!({})), usage]},
        {"when": {"input": "The agent is done"}, "outputs": [say("All done."), usage]},
    ]);
    let price = "models.rehearsal.price={input = 2.0, output = 2.0}";
    let place = Place::new(script.clone()).await;
    let ran = place.run(&["-c", price, "Part one"]).await;
    assert_eq!((ran.status, ran.out.as_str()), (Some(3), "All done.\n"), "{ran:?}");
    for line in [
        "[scout] $ echo SEEN (exit status 0)\n",
        "[scout] $ touch /var/tmp/never (refused: ",
        "refused: touch /var/tmp/never",
        "cost about $1.00\n",
    ] {
        assert!(ran.err.contains(line), "{line}: {}", ran.err);
    }

    let place = Place::new(script).await;
    let ran = place.run(&["--json", "Part one"]).await;
    let events = ran.events();
    let of_agent = events
        .iter()
        .filter(|event| event["params"]["item"]["command"] == "echo SEEN");
    assert!(of_agent.count() >= 2, "{ran:?}");
    assert_eq!(events.last().expect("the end")["method"], "countersign/turn/completed");

    // An agent that never comes to an end uses up what there is for the run.
    let spawn = call("spawn_agent", "c1", json!({"message": "Part two", "name": "scout"}));
    let endless = json!([
        {"when": {"last_user": "Part one", "not": {"output": "c1"}}, "outputs": [spawn, usage]},
        {"when": {"output": {"c1": "scout"}}, "repeat": true, "outputs": [call("wait_agents", "", json!({})), usage]},
        {"repeat": true, "outputs": [bash("", "true"), usage]},
    ]);
    for bound in [["--max-requests", "6"], ["--max-cost", "1.10"]] {
        let place = Place::new(endless.clone()).await;
        let ran = place.run(&["-c", price, bound[0], bound[1], "Part one"]).await;
        // The last requests of both may be on their way when it is reached.
        let requests = place.model.requests().len();
        assert!(
            ran.status == Some(4) && (6..=7).contains(&requests),
            "{bound:?}: {requests} {ran:?}"
        );
    }
}
