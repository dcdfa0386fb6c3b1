//! The person's own shell, for what they run themselves, and for commands that are to find what their profile sets.

use super::{command, program};
use std::collections::BTreeMap;
use std::path::Path;

/// Where the system keeps the shell that is always there.
const SYSTEM_SHELL: &str = "/bin/sh";

/// The person's shell: `$SHELL` where that is a program that takes commands and no command can have put there, else the
/// system's.
fn of(env: &BTreeMap<String, String>) -> &str {
    let named = env.get("SHELL").map(String::as_str);
    let fits = |shell: &&str| takes_commands(shell) && !program::is_open(Path::new(shell), env);
    named.filter(fits).unwrap_or(SYSTEM_SHELL)
}

fn takes_commands(shell: &str) -> bool {
    let path = Path::new(shell);
    // What an account without a login has in place of a shell.
    let is_stub = matches!(name(shell), "nologin" | "false" | "true");
    path.is_absolute() && !is_stub && is_program(path)
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

fn name(shell: &str) -> &str {
    shell.rsplit('/').next().unwrap_or(shell)
}

/// The argument list that runs a script in the person's shell as their terminal would: a login shell.
pub fn login(env: &BTreeMap<String, String>, script: &str) -> Vec<String> {
    let shell = of(env);
    // These take the option for a login alone or not at all.
    let login = (!matches!(name(shell), "csh" | "tcsh")).then_some("-l");
    let words = [shell].into_iter().chain(login).chain(["-c", script]);
    words.map(str::to_owned).collect()
}

/// The argument list that runs a command through the person's login shell, so that what their profile sets is there.
/// What the profile sets of `without` is taken away again: names of variables that no command gets.
pub fn through_profile<'a>(
    env: &BTreeMap<String, String>,
    argv: &[String],
    without: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let is_name = |name: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(plain)
    };
    let unset: String = without
        .into_iter()
        .filter(is_name)
        .map(|name| format!(" -u {name}"))
        .collect();
    let prefix = if unset.is_empty() {
        "exec".to_owned()
    } else {
        format!("exec env{unset}")
    };
    login(env, &format!("{prefix} {}", command::quoted_plainly(argv)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn env(shell: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("SHELL".to_owned(), shell.to_owned())])
    }

    #[test]
    fn the_shell_is_the_persons_where_it_is_one() {
        for (shell, expected) in [
            ("/bin/bash", "/bin/bash"),
            ("/bin/sh", "/bin/sh"),
            ("bash", SYSTEM_SHELL),
            ("", SYSTEM_SHELL),
            ("/bin", SYSTEM_SHELL),
            ("/etc/passwd", SYSTEM_SHELL),
            ("/no/such/shell", SYSTEM_SHELL),
            ("/bin/false", SYSTEM_SHELL),
            ("/usr/sbin/nologin", SYSTEM_SHELL),
        ] {
            assert_eq!(login(&env(shell), "x y"), [expected, "-l", "-c", "x y"], "{shell:?}");
        }
        assert_eq!(login(&BTreeMap::new(), "x")[0], SYSTEM_SHELL);
    }

    #[test]
    fn words_stay_words_on_their_way_through_a_shell() {
        let argv = ["printf", "%s|", "a b", "it's", "$HOME", "", "a\nb", "*", "\\", "ä"].map(str::to_owned);
        for shell in ["/bin/sh", "/bin/bash"] {
            let command = through_profile(&env(shell), &argv, ["A_KEY", "not a name"]);
            let output = std::process::Command::new(&command[0])
                .args(&command[1..])
                .env("A_KEY", "secret")
                .output()
                .expect("a shell");
            let text = String::from_utf8(output.stdout).expect("text");
            assert_eq!(text, "a b|it's|$HOME||a\nb|*|\\|ä|", "{shell}");
        }
        let show = ["sh", "-c", "echo ${A_KEY-none}"].map(str::to_owned);
        let command = through_profile(&env("/bin/sh"), &show, ["A_KEY"]);
        let output = std::process::Command::new(&command[0])
            .args(&command[1..])
            .env("A_KEY", "secret")
            .output()
            .expect("a shell");
        assert_eq!(output.stdout, b"none\n");
    }
}
