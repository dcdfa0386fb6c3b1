//! The command line itself: what it takes without ceremony, and what it gives to shells and to `man`.

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
