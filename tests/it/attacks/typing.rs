//! What the model types into a program that runs on, where an earlier yes covers it too if one is careless: the yes to the
//! start of the program, a yes to another text, keys that make other words of what was typed.

use crate::agent::stage::{Setting, Stage, say};
use crate::support::client::Reply;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const FULL: &str = "approval_policy = \"untrusted\"\nsandbox_mode = \"danger-full-access\"";
const INSIDE: &str = "approval_policy = \"untrusted\"";
const SHELL: &str = "PS1='> ' bash --norc -i";
/// A program that is no shell and runs each line.
const PROGRAM: &str = "sed -n e";

/// Keys that any shell of this kind takes: the line before, its beginning, six characters less, its end, one less, Enter.
const EDIT: &str = "\x10\x01\x04\x04\x04\x04\x04\x04\x05\x7f\r";

/// A program, and what is typed into it in the end, by which a file is made.
#[derive(Clone, Copy, Debug)]
struct Row {
    config: &'static str,
    program: &'static str,
    /// Whether the model asks to run it outside.
    escalated: bool,
    /// What is typed before, whoever allows it, and that.
    typed: &'static [&'static str],
    /// The answer to all questions but the last one.
    yes: &'static str,
    /// How many there are.
    questions: usize,
}

const ON_REQUEST: Row = Row {
    config: "",
    program: PROGRAM,
    escalated: true,
    typed: &["touch made\n"],
    yes: "acceptForSession",
    questions: 2,
};

const ROWS: &[Row] = &[
    ON_REQUEST,
    // A yes to one text.
    Row {
        typed: &["true\n", "touch made\n"],
        questions: 3,
        ..ON_REQUEST
    },
    // In pieces, of which none says much.
    Row {
        typed: &["touch ", "made", "\n"],
        questions: 4,
        ..ON_REQUEST
    },
    // No sandbox at all, and a yes for once.
    Row {
        config: FULL,
        escalated: false,
        yes: "accept",
        ..ON_REQUEST
    },
    Row {
        config: FULL,
        program: SHELL,
        escalated: false,
        yes: "accept",
        ..ON_REQUEST
    },
    // What reads is no harm, until it is edited or recalled.
    Row {
        config: FULL,
        program: SHELL,
        escalated: false,
        typed: &["echo 'touch made'\n", EDIT],
        yes: "accept",
        questions: 3,
    },
    Row {
        program: SHELL,
        typed: &["echo 'touch made'\n", EDIT],
        questions: 3,
        ..ON_REQUEST
    },
    Row {
        config: FULL,
        program: SHELL,
        escalated: false,
        typed: &["echo 'a; touch made; b'\n", "echo !!:s/'a/b/:s/b'/b/\n"],
        yes: "accept",
        questions: 3,
    },
    // The same behind walls, where reading alone goes without a question.
    Row {
        config: INSIDE,
        program: SHELL,
        escalated: false,
        typed: &["echo 'touch made'\n", EDIT],
        yes: "accept",
        questions: 2,
    },
];

/// Plays a row; the questions, and whether the file was made. To the last question the answer is `last`. A file that is to
/// come is waited for: the program may be slow.
async fn play(row: &Row, last: &'static str, is_to_come: bool) -> (Vec<Value>, bool) {
    let mut start = json!({"cmd": row.program, "tty": true, "yield_time_ms": 1000});
    if row.escalated {
        start["sandbox_permissions"] = json!("require_escalated");
        start["justification"] = json!("needed");
    }
    let mut script = vec![json!([{"call": {"tool": "exec_command", "arguments": start, "id": "c0"}}])];
    for (number, text) in row.typed.iter().enumerate() {
        let session = "{{output:c0:session ID (\\d+)}}";
        let arguments = json!({"session_id": session, "chars": text, "yield_time_ms": 700});
        let id = format!("c{}", number + 1);
        script.push(json!([{"call": {"tool": "write_stdin", "arguments": arguments, "id": id}}]));
    }
    script.push(json!([say("done")]));
    let setting = Setting {
        config: row.config.to_owned(),
        env: vec![("SHELL".to_owned(), "/bin/bash".to_owned())],
        ..Setting::default()
    };
    let stage = Stage::with(json!(script), setting).await;
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = asked.clone();
    let (yes, questions) = (row.yes, row.questions);
    stage.client.on_request("countersign/approval/command", move |params| {
        let mut seen = seen.lock().expect("a lock");
        seen.push(params.clone());
        let decision = if seen.len() < questions { yes } else { last };
        Reply::Ok(json!({ "decision": decision }))
    });
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let (file, begun) = (stage.path("made"), Instant::now());
    while is_to_come && !file.exists() && begun.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let made = file.exists();
    stage.client.ignore("countersign/terminal/exited");
    stage.end();
    let asked = asked.lock().expect("a lock").clone();
    (asked, made)
}

/// Each text that goes into a program outside the sandbox is a question of its own, which shows it; and so are keys by which
/// a shell runs what nobody was asked about.
#[tokio::test]
async fn a_yes_to_a_program_is_none_to_what_is_typed_into_it() {
    for row in ROWS {
        let ((asked, made), refused) = tokio::join!(play(row, "accept", true), play(row, "decline", false));
        assert!(
            made,
            "{row:?}: it does nothing, so there is nothing to ask about: {asked:#?}"
        );
        let (asked, made) = refused;
        assert!(!made, "{row:?}: it was done unasked: {asked:#?}");
        assert_eq!(asked.len(), row.questions, "{row:?}: {asked:#?}");
        let last = asked.last().expect("a question");
        let words = last["command"].as_array().expect("words");
        let shown = words.last().and_then(Value::as_str).unwrap_or_default();
        let typed = row.typed.last().expect("a text").replace('\r', "\n");
        assert!(shown.ends_with(&typed), "{row:?}: {last}");
        let offered = &last["availableDecisions"];
        assert!(!offered.to_string().contains("acceptForSession"), "{row:?}: {offered}");
    }
}

/// An interrupt asks nobody, and what goes into a program behind walls is held by them.
#[tokio::test]
async fn interrupts_and_what_walls_hold_go_without_a_question() {
    let interrupted = Row {
        typed: &["\x03"],
        questions: 1,
        ..ON_REQUEST
    };
    let inside = Row {
        escalated: false,
        questions: 0,
        ..ON_REQUEST
    };
    let keys = Row {
        program: SHELL,
        typed: &["echo 'touch made'\n", EDIT],
        ..inside
    };
    for (row, made) in [(interrupted, false), (inside, true), (keys, true)] {
        // The program's own question is the last one of the first row.
        let (asked, found) = play(&row, "accept", made).await;
        assert_eq!((asked.len(), found), (row.questions, made), "{row:?}: {asked:#?}");
    }
}
