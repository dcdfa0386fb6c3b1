//! The command line itself: what it takes without ceremony, and what it gives to shells and to `man`.

use crate::agent::stage::{Setting, Stage};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn countersign(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    let command = command.args(arguments).env("COUNTERSIGN_HOME", home.path());
    command.output().expect("it ends")
}

fn said(arguments: &[&str]) -> String {
    let output = countersign(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// What follows the program is the program's, also where it looks like ours.
#[test]
fn a_sandboxed_command_needs_no_dashes_before_it() {
    for arguments in [
        &["sandbox", "sh", "-c", "echo $0 $1", "--network", "--help"][..],
        &[
            "sandbox",
            "--policy",
            "read-only",
            "--",
            "sh",
            "-c",
            "echo $0 $1",
            "--network",
            "--help",
        ],
    ] {
        assert_eq!(said(arguments), "--network --help\n", "{arguments:?}");
    }
    let unknown = countersign(&["sandbox", "--nonsense", "true"]);
    let words = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(!unknown.status.success() && words.contains("--nonsense"), "{words}");
}

/// The script is bash's, and completes subcommands and options.
#[test]
fn a_shell_completes_the_command_line() {
    let script = said(&["completions", "bash"]);
    let ask = "COMP_WORDS=(countersign \"$1\" \"$2\"); COMP_CWORD=$3; _countersign countersign \"${COMP_WORDS[COMP_CWORD]}\" countersign; \
               printf '%s\\n' \"${COMPREPLY[@]}\"";
    for (first, second, at, offered) in [("sand", "", "1", "sandbox"), ("sandbox", "--pol", "2", "--policy")] {
        let mut bash = Command::new("bash");
        let output = bash
            .args(["--norc", "-c", &format!("{script}\n{ask}"), "bash", first, second, at])
            .output()
            .expect("bash");
        let offers = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(offers.lines().any(|offer| offer == offered), "{offers}{output:?}");
    }
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(said(&["completions", shell]).contains("sandbox"), "{shell}");
    }
}

/// The page names the program, each subcommand and its options.
#[test]
fn the_manual_page_has_all_subcommands() {
    let page = said(&["man"]);
    assert!(page.contains(".TH countersign 1"), "{}", &page[..200]);
    for part in [
        ".SH \"SANDBOX\"",
        "\\-\\-policy",
        ".SH \"DOCTOR\"",
        ".SH \"RULES\"",
        "\\-\\-tcp",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

fn of_threads(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.arg("thread").args(arguments).env("COUNTERSIGN_HOME", home);
    command.output().expect("it ends")
}

/// What is kept is listed, printed and resumed without an editor; what was said hides nothing from a terminal.
#[tokio::test]
async fn conversations_are_listed_shown_and_resumed() {
    let script = json!([[{"say": "They sing.\u{202e}"}], [{"say": "Nothing."}]]);
    let stage = Stage::with(script, Setting::default()).await;
    let whales = stage.thread().await;
    stage.complete(&whales, "A question about whales\u{1b}[2J").await;
    let home = stage.client.home().to_owned();
    let run = |arguments: &[&str]| {
        let output = of_threads(&home, arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (
            output.status.success(),
            said,
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (good, list, _) = run(&["list"]);
    assert!(
        good && list.starts_with(&whales) && list.contains("A question about whales"),
        "{list}"
    );
    assert_eq!(list.lines().count(), 1, "{list}");
    let (_, lines, _) = run(&["list", "--json"]);
    let line: Value = serde_json::from_str(lines.trim()).expect("a line of JSON");
    assert_eq!(line["id"], json!(whales));

    let (good, text, _) = run(&["show", &whales]);
    assert!(good && text.contains("## ❯ You\n\nA question about whales"), "{text}");
    assert!(text.contains("## ◆ Agent\n\nThey sing."), "{text}");
    assert!(
        ![&list, &text].iter().any(|text| text.contains(['\u{1b}', '\u{202e}'])),
        "{list}{text}"
    );
    let (_, whole, _) = run(&["show", &whales, "--json"]);
    let whole: Value = serde_json::from_str(&whole).expect("JSON");
    assert_eq!(whole["turns"].as_array().map(Vec::len), Some(1), "{whole}");

    let (good, path, _) = run(&["resume", &whales]);
    let document = std::fs::read_to_string(path.trim()).expect("a document");
    assert!(good && document.contains(&format!("thread: {whales}\n")), "{document}");
    assert!(Path::new(path.trim()).starts_with(home.join("chats")), "{path}");

    for (arguments, expected) in [
        (
            &["show", "0199a213-81c0-7800-8aa1-bbab2a035a53"][..],
            "0199a213-81c0-7800-8aa1-bbab2a035a53",
        ),
        (&["show", "no id\u{1b}"], "no id"),
        (&["show", "last"], "no conversation in this folder"),
        (&["list", "--limit", "0"], "--limit"),
    ] {
        let (good, _, trouble) = run(arguments);
        assert!(
            !good && trouble.contains(expected) && !trouble.contains('\u{1b}'),
            "{arguments:?}: {trouble}"
        );
    }
    stage.end();
}
