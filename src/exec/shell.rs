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

/// The same command, where it is a shell, without the files that this would read first: profiles, and what interactive shells read. What
/// they set has not been looked at, such as a `PATH` with a folder that commands can write.
pub fn without_profile(argv: &[String]) -> Vec<String> {
    let Some((shell, rest)) = argv.split_first() else {
        return Vec::new();
    };
    let options: &[&str] = match name(shell) {
        "bash" => &["--noprofile", "--norc"],
        "zsh" | "csh" | "tcsh" => &["-f"],
        "fish" => &["--no-config"],
        // They have no option for it.
        "sh" | "dash" | "ash" | "ksh" | "mksh" => return no_login(shell, rest),
        _ => return argv.to_vec(),
    };
    let options = options.iter().map(|option| (*option).to_owned());
    std::iter::once(shell.clone())
        .chain(options)
        .chain(rest.iter().cloned())
        .collect()
}

/// Without the letter that makes it a login shell, among the options in front.
fn no_login(shell: &str, rest: &[String]) -> Vec<String> {
    let is_option = |word: &&String| word.len() > 1 && word.starts_with('-') && !word.starts_with("--");
    let options = rest.iter().take_while(is_option).count();
    let (options, operands) = rest.split_at(options);
    let options = options.iter().map(|word| word.replace('l', ""));
    std::iter::once(shell.to_owned())
        .chain(options.filter(|word| word != "-"))
        .chain(operands.iter().cloned())
        .collect()
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
    fn a_shell_reads_no_files_of_its_own_first() {
        for (command, expected) in [
            ("bash -lc x", "bash --noprofile --norc -lc x"),
            ("/bin/bash -ic x", "/bin/bash --noprofile --norc -ic x"),
            ("zsh -lc x", "zsh -f -lc x"),
            ("fish -c x", "fish --no-config -c x"),
            ("sh -lc x -l", "sh -c x -l"),
            ("dash -l -c x", "dash -c x"),
            ("sh x -l", "sh x -l"),
            ("ls -l", "ls -l"),
        ] {
            let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(without_profile(&words(command)), words(expected), "{command}");
        }
        let home = tempfile::tempdir().expect("a folder");
        for file in [".profile", ".bash_profile", ".bashrc", ".zshenv", ".zprofile"] {
            std::fs::write(home.path().join(file), "export PATH=./planted:$PATH\n").expect("write");
        }
        for shell in ["/bin/sh", "/bin/bash", "/bin/zsh"]
            .iter()
            .filter(|shell| Path::new(shell).exists())
        {
            for option in ["-lc", "-c"] {
                let argv = [*shell, option, "echo \"$PATH\""].map(str::to_owned);
                let argv = without_profile(&argv);
                let output = std::process::Command::new(&argv[0])
                    .args(&argv[1..])
                    .env("HOME", home.path())
                    .env("PATH", "/usr/bin:/bin")
                    .output()
                    .expect("a shell");
                assert_eq!(output.stdout, b"/usr/bin:/bin\n", "{argv:?}");
            }
        }
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
