//! Places in the folder for temporary files where programs of the person look for each other, or for what they run: whoever gets
//! something there is taken for the other end.

use super::repel;
use crate::exec::fallback::plain_command;
use crate::exec::place::{Place, has, users, words};
use std::process::{Command, Stdio};

/// What is there in the folder, what the agent's command does, and what prints something if it got through. All are shell text
/// in the folder.
type Row = (&'static str, &'static str, &'static str);

const BIND: &str = "python3 -c 'import os, socket; os.makedirs(\"tmux-7\", exist_ok=True); socket.socket(socket.AF_UNIX).bind(\"tmux-7/default\")'";
const BIND_THERE: &str = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"ssh-abc/agent.8\")'";

const ROWS: &[Row] = &[
    ("true", "mkdir tmux-7", "ls -d tmux-7"),
    ("true", BIND, "ls tmux-7/default"),
    ("true", "mkdir x; mv x tmux-7", "ls -d tmux-7"),
    ("true", "mkdir x; ln -s x tmux-7", "ls -d tmux-7"),
    ("true", "mkdir ssh-abc", "ls -d ssh-abc"),
    ("true", "touch emacs7", "ls emacs7"),
    ("true", "echo evil > x; ln x crontab.abc", "ls crontab.abc"),
    ("mkdir tmux-7; touch tmux-7/default", "mv tmux-7 other", "ls -d other"),
    (
        "mkdir tmux-7; touch tmux-7/default",
        "rm -r tmux-7; mkdir tmux-7",
        "test -e tmux-7/default || echo gone",
    ),
    (
        "mkdir ssh-abc; touch ssh-abc/agent.7",
        "mv ssh-abc/agent.7 ssh-abc/old",
        "ls ssh-abc/old",
    ),
    (
        "mkdir ssh-abc; touch ssh-abc/agent.7",
        "mv ssh-abc/agent.7 old; touch ssh-abc/agent.7",
        "ls old",
    ),
    ("mkdir ssh-abc", BIND_THERE, "ls ssh-abc/agent.8"),
    (
        "echo mine > bash-fc.abc",
        "echo evil > bash-fc.abc",
        "grep -s evil bash-fc.abc",
    ),
    (
        "echo mine > bash-fc.abc",
        "echo evil > x; mv x bash-fc.abc",
        "grep -s evil bash-fc.abc",
    ),
    (
        "mkdir .X11-unix; touch .X11-unix/X0",
        "rm .X11-unix/X0",
        "test -e .X11-unix/X0 || echo gone",
    ),
    (
        "mkdir .X11-unix; echo mine > .X11-unix/X0",
        "cd .X11-unix; touch y; mv y X0",
        "test -s .X11-unix/X0 || echo gone",
    ),
    ("touch .s.PGSQL.5432", "mv .s.PGSQL.5432 x", "ls x"),
    (
        "touch vscode-ipc-a.sock",
        "rm -f vscode-ipc-a.sock",
        "test -e vscode-ipc-a.sock || echo gone",
    ),
];

/// What commands have of their own.
const FREE: &str = "mkdir -p .X11-unix && touch .X11-unix/X99 .s.PGSQL.5433 emacs-build tmux.log && mkdir nvim.user && rm .X11-unix/X99 && echo it is done";

fn round(place: &Place, namespaces: bool, text: &str) -> Command {
    let argv = ["sh", "-c", &format!("cd \"$TMPDIR\"; {text}")];
    let mut command = match namespaces {
        true => place.command(&[], &argv),
        false => plain_command(place, &[], &argv),
    };
    command.env("TMPDIR", &place.outside);
    command
}

/// Runs shell text as the user, outside.
fn outside(place: &Place, text: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", text]);
    place.dress(&mut shell);
    let output = shell
        .current_dir(&place.outside)
        .stderr(Stdio::null())
        .output()
        .expect("a shell");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn no_command_takes_the_place_of_what_programs_look_for() {
    if !has("python3") {
        return;
    }
    let alone = has("unshare") && has("setpriv");
    let mut tries = Vec::new();
    for user in users() {
        for namespaces in [true].into_iter().chain(alone.then_some(false)) {
            for row in ROWS {
                let place = Place::new(user);
                outside(&place, row.0);
                let said = words(&round(&place, namespaces, row.1).output().expect("the sandbox"));
                tries.push(((row, user, namespaces), outside(&place, row.2), said));
            }
            let place = Place::new(user);
            outside(&place, "mkdir .X11-unix; touch .X11-unix/X0");
            let said = words(&round(&place, namespaces, FREE).output().expect("the sandbox"));
            assert!(said.contains("it is done"), "{user:?} {namespaces}: {said}");
        }
    }
    repel(
        tries.iter().map(|(row, evidence, said)| (row, evidence, said)),
        |(_, evidence, said)| match evidence.is_empty() {
            true => Ok(()),
            false => Err(format!("{evidence}{said}")),
        },
    );
}
