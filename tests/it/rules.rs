//! `countersign rules`: the real program on lines of commands and files of rules.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const RULES: &str = r#"
[[rule]]
prefix = ["cargo", ["test", "check"]]
decision = "allow"
match = ["cargo test --lib", ["cargo", "check"]]
not_match = ["cargo publish"]

[[rule]]
prefix = ["gh", "pr", "view"]
decision = "allow"
sandbox = "outside"

[[rule]]
prefix = ["git", "commit"]
decision = "ask"
reason = "I write the messages."

[[rule]]
prefix = ["git", "push"]
decision = "deny"
reason = "Never from here."
"#;

fn program(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command
        .arg("rules")
        .args(arguments)
        .env("COUNTERSIGN_HOME", home)
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn check(home: &Path, arguments: &[&str], input: &str) -> (Vec<Value>, Output) {
    let mut all = vec!["check"];
    all.extend(arguments);
    let mut child = program(home, &all).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let feeding = std::thread::spawn(move || {
        let _closed = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().expect("it ends");
    feeding.join().expect("fed");
    let lines = String::from_utf8(output.stdout.clone()).expect("text");
    let answers = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    (answers, output)
}

fn home(rules: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(home.path().join("rules")).expect("a folder");
    std::fs::write(home.path().join("rules/mine.toml"), rules).expect("written");
    home
}

/// Shows S-179, S-182.
#[test]
fn commands_by_table() {
    // Columns: the command, its label, and its verdicts under untrusted, on-request, on-failure and never.
    type Row<'r> = (Value, &'r str, [&'r str; 4]);
    let rows: &[Row<'_>] = &[
        (json!(["ls", "-la"]), "safe-readonly", ["run"; 4]),
        (json!("ls -la | head"), "safe-readonly", ["run"; 4]),
        (json!(["mkdir", "x"]), "not-safe", ["ask", "run", "run", "run"]),
        (json!(["cargo", "test", "-q"]), "not-safe", ["run"; 4]),
        (json!("cargo check && ls"), "not-safe", ["run"; 4]),
        (
            json!("cargo check && mkdir x"),
            "not-safe",
            ["ask", "run", "run", "run"],
        ),
        (json!(["gh", "pr", "view", "1"]), "safe-readonly", ["run"; 4]),
        (
            json!(["git", "commit", "-m", "x"]),
            "not-safe",
            ["ask", "ask", "ask", "refuse"],
        ),
        (
            json!("cargo test; git commit"),
            "not-safe",
            ["ask", "ask", "ask", "refuse"],
        ),
        (json!(["git", "push"]), "not-safe", ["refuse"; 4]),
        (json!("ls && git -C x push"), "not-safe", ["refuse"; 4]),
        (json!("rm -rf /"), "dangerous", ["ask", "ask", "ask", "run"]),
    ];
    let home = home(RULES);
    let input: String = rows
        .iter()
        .enumerate()
        .map(|(id, (argv, _, _))| format!("{}\n", json!({"id": id, "argv": argv})))
        .collect();
    for (column, policy) in ["untrusted", "on-request", "on-failure", "never"]
        .into_iter()
        .enumerate()
    {
        let (answers, output) = check(home.path(), &["--policy", policy], &input);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(answers.len(), rows.len());
        for (id, ((argv, label, verdicts), answer)) in rows.iter().zip(&answers).enumerate() {
            assert_eq!(answer["id"], id, "in their order");
            assert_eq!(
                (&answer["label"], &answer["verdict"]),
                (&json!(label), &json!(verdicts[column])),
                "{policy}: {argv}"
            );
            let parts = answer["parts"].as_array().expect("parts");
            assert!(
                !parts.is_empty()
                    && parts
                        .iter()
                        .all(|part| part["label"].is_string() && part["words"].is_string())
            );
            if verdicts[column] != "run" {
                assert!(
                    answer["reason"].as_str().is_some_and(|reason| !reason.is_empty()),
                    "{answer}"
                );
            }
        }
    }
    let (answers, _) = check(home.path(), &[], "{\"id\": \"a\", \"argv\": [\"git\", \"push\"]}\n");
    assert_eq!(answers[0]["id"], "a");
    assert!(answers[0]["reason"].as_str().expect("why").contains("Never from here."));
    let rule =
        json!({"decision": "deny", "prefix": "git push", "file": home.path().join("rules/mine.toml"), "line": 18});
    assert_eq!(answers[0]["rule"], rule);
    // In its own sandbox mode, with other rules, in another folder.
    let outside = "{\"id\": 1, \"argv\": [\"gh\", \"pr\", \"view\"]}\n";
    assert_eq!(check(home.path(), &[], outside).0[0]["confined"], "outside");
    assert_eq!(
        check(home.path(), &["--sandbox", "read-only"], outside).0[0]["confined"],
        "readOnly"
    );
    let other = home.path().join("other.toml");
    std::fs::write(&other, "[[rule]]\nprefix = [\"ls\"]\ndecision = \"deny\"\n").expect("written");
    let input = "{\"id\": 1, \"argv\": [\"ls\"]}\n{\"id\": 2, \"argv\": [\"git\", \"push\"]}\n";
    let (answers, _) = check(home.path(), &["--rules", other.to_str().expect("text")], input);
    assert_eq!(
        (&answers[0]["verdict"], &answers[1]["verdict"]),
        (&json!("refuse"), &json!("run"))
    );
}

/// A command on the command line is judged in words, its options included.
#[test]
fn a_command_is_judged_in_words() {
    let home = home(RULES);
    let said = |arguments: &[&str]| {
        let mut all = vec!["check"];
        all.extend(arguments);
        let output = program(home.path(), &all).output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let pushed = said(&["git", "push", "--force"]);
    assert!(
        pushed.starts_with("Is refused.\n") && pushed.contains("Never from here."),
        "{pushed}"
    );
    assert!(
        pushed.contains("\nRule: deny git push (") && pushed.contains("mine.toml:"),
        "{pushed}"
    );
    let committed = said(&["--policy", "on-request", "git commit -m x"]);
    assert!(
        committed.starts_with("Asks first; after a yes it runs") && committed.contains("I write the messages."),
        "{committed}"
    );
    let listed = said(&["ls", "-la"]);
    assert!(
        listed.starts_with("Runs in the sandbox") && listed.contains("without a question."),
        "{listed}"
    );
}

#[test]
fn a_projects_rules_count_in_its_folder_unless_it_is_not_trusted() {
    let home = home("");
    let project = tempfile::tempdir().expect("a folder");
    let project = project.path().canonicalize().expect("a path");
    std::fs::create_dir_all(project.join(".countersign/rules")).expect("a folder");
    std::fs::create_dir_all(project.join("sub/.git")).expect("a folder");
    std::fs::create_dir_all(project.join(".git")).expect("a folder");
    std::fs::remove_dir(project.join("sub/.git")).expect("removed");
    std::fs::write(
        project.join(".countersign/rules/a.toml"),
        "[[rule]]\nprefix = [\"mkdir\"]\ndecision = \"deny\"\n",
    )
    .expect("written");
    let input = "{\"id\": 1, \"argv\": [\"mkdir\", \"x\"]}\n";
    let sub = project.join("sub");
    let at = |cd: &Path| check(home.path(), &["--cd", cd.to_str().expect("text")], input).0[0]["verdict"].clone();
    assert_eq!(at(&sub), "refuse");
    assert_eq!(at(home.path()), "run");
    let config = format!(
        "[projects.{:?}]\ntrust_level = \"untrusted\"\n",
        project.to_str().expect("text")
    );
    std::fs::write(home.path().join("config.toml"), config).expect("written");
    assert_eq!(at(&sub), "run");
}

#[test]
fn bad_lines_are_answered_and_the_rest_goes_on() {
    let home = home("");
    let long = format!("{{\"id\": 1, \"argv\": [\"{}\"]}}", "x".repeat(5 << 20));
    let lines = [
        "no json",
        "[]",
        "{\"id\": 3}",
        "{\"id\": 4, \"argv\": 4}",
        "{\"id\": \"five\", \"argv\": [\"ls\", 5]}",
        "{\"id\": 6, \"argv\": []}",
        "{\"id\": 7, \"argv\": [\" \"]}",
        "{\"id\": 8, \"argv\": [\"ls\"], \"escalated\": 1}",
        &long,
        "\u{feff}{\"id\": 9}",
        "",
        "   ",
        "{\"argv\": [\"ls\"]}",
        "{\"id\": {\"any\": 1}, \"argv\": [\"ls\"]}\r",
        "{\"id\": 10, \"argv\": [\"ls\"]}",
    ];
    let (answers, output) = check(home.path(), &[], &lines.join("\n"));
    assert_eq!(output.status.code(), Some(1));
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    let expected = json!([null, null, 3, 4, "five", 6, 7, 8, null, null, null, {"any": 1}, 10]);
    assert_eq!(json!(ids), expected);
    for (at, answer) in answers.iter().enumerate() {
        assert_eq!(answer.get("error").is_some(), at < 10, "{answer}");
        assert_eq!(answer.get("verdict").is_some(), at >= 10, "{answer}");
    }
}

#[test]
fn each_line_is_answered_before_the_next_is_asked() {
    let home = home(RULES);
    let mut child = program(home.path(), &["check"]).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for id in 0..20 {
        writeln!(stdin, "{}", json!({"id": id, "argv": "ls | wc -l"})).expect("written");
        let answer: Value = serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON");
        assert_eq!((&answer["id"], &answer["verdict"]), (&json!(id), &json!("run")));
    }
    drop(stdin);
    assert!(lines.next().is_none());
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn many_lines_are_judged_in_their_order() {
    let home = home(RULES);
    let input: String = (0..2000)
        .map(|id| format!("{}\n", json!({"id": id, "argv": ["cargo", "test", format!("t{id}")]})))
        .collect();
    let (answers, output) = check(home.path(), &["--policy", "untrusted"], &input);
    assert!(output.status.success());
    assert!(
        answers
            .iter()
            .enumerate()
            .all(|(at, answer)| answer["id"] == at && answer["verdict"] == "run")
    );
    assert_eq!(answers.len(), 2000);
}

#[test]
fn what_is_loaded_is_listed_and_what_is_broken_is_said_with_its_line() {
    let home = home(&format!(
        "{RULES}\n[[permission]]\nfolder = \"/w\"\ntype = \"host\"\nhost = \"a.example\"\n\n[[rule]]\nprefix = [\"x\"]\n"
    ));
    let list = |arguments: &[&str]| {
        let mut all = vec!["list"];
        all.extend(arguments);
        let output = program(home.path(), &all)
            .stdin(Stdio::null())
            .output()
            .expect("it ends");
        (
            String::from_utf8(output.stdout.clone()).expect("text"),
            output.status.code(),
        )
    };
    let (text, code) = list(&[]);
    assert_eq!(code, Some(1), "{text}");
    for part in [
        "allow  cargo test|check",
        "outside the sandbox",
        "mine.toml:13",
        "# Never from here.",
        "a.example",
        "broken  ",
        "mine.toml:28: The rule has no `decision`.",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let (answers, output) = check(
        home.path(),
        &["--policy", "untrusted"],
        "{\"id\": 1, \"argv\": \"cargo test\"}\n",
    );
    assert_eq!(
        answers[0]["verdict"], "ask",
        "nothing is allowed while a file is broken"
    );
    assert!(
        answers[0]["reason"].as_str().expect("why").contains("broken"),
        "{}",
        answers[0]
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("mine.toml:28"));
    let empty = tempfile::tempdir().expect("a folder");
    let output = program(empty.path(), &["list"]).output().expect("it ends");
    assert_eq!(
        (output.status.code(), &output.stdout[..]),
        (Some(0), &b"There are no rules.\n"[..])
    );
    // Missing files and folders are named.
    for (arguments, part) in [
        (["check", "--rules", "nowhere.toml"], "nowhere.toml"),
        (["check", "--cd", "nowhere"], "nowhere"),
    ] {
        let output = program(home.path(), &arguments)
            .stdin(Stdio::null())
            .output()
            .expect("it ends");
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{output:?}");
    }
}
