//! Programs that run the text that is fed to them.

use super::base_name;
use super::word::Word;
use super::wrappers::is_shell;

/// Other shells, which are read as if they were of that family.
const OTHER_SHELLS: &[&str] = &["csh", "elvish", "fish", "nu", "osh", "tcsh", "xonsh", "yash", "ysh"];

/// Programs that start a shell, or read commands, where they are given none.
const STARTING_SHELLS: &[&str] = &[
    "at", "batch", "chroot", "mosh", "newgrp", "nsenter", "runuser", "script", "ssh", "su", "unshare",
];

/// Whether a command, which holds no other, runs the text that is fed to it.
pub(super) fn runs_input(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    match base_name(&program.text) {
        "." | "source" => arguments.first().is_some_and(is_input),
        "doas" | "sudo" => {
            let mut options = arguments.iter().map(|word| word.text.as_str());
            options.any(|option| ["-i", "-s", "--login", "--shell"].contains(&option))
        }
        name if is_shell(name) || OTHER_SHELLS.contains(&name) => reads_input(arguments),
        name => STARTING_SHELLS.contains(&name),
    }
}

/// Whether a shell with these arguments reads its input: it is told to, or is given no script.
pub(super) fn reads_input(arguments: &[Word]) -> bool {
    let mut is_told = false;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let option = word.text.as_str();
        if option == "--" || option == "-" {
            return is_told || rest.next().is_none_or(is_input);
        }
        if !option.starts_with(['-', '+']) {
            return is_told || is_input(word);
        }
        if matches!(option, "--rcfile" | "--init-file") {
            rest.next();
        } else if !option.starts_with("--") {
            is_told |= option.starts_with('-') && option.contains('s');
            // `-o name` and `-O name` take a value each, also in a bundle.
            for _ in option.chars().filter(|c| matches!(c, 'o' | 'O')) {
                rest.next();
            }
        }
    }
    true
}

fn is_input(word: &Word) -> bool {
    let parts = word.text.split('/').filter(|part| !part.is_empty() && *part != ".");
    let parts: Vec<&str> = parts.collect();
    let is_of_input = matches!(
        parts.as_slice(),
        ["dev", "stdin"] | ["dev", "fd", "0"] | ["proc", _, "fd", "0"] | ["proc", _, "task", _, "fd", "0"]
    );
    word.text.starts_with('/') && is_of_input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_its_input_by_table() {
        for (text, expected) in [
            ("sh", true),
            ("bash -e", true),
            ("bash -s x", true),
            ("bash -x -s a b", true),
            ("bash -es -- x", true),
            ("bash -o pipefail", true),
            ("bash -o pipefail -s x", true),
            ("bash -", true),
            ("bash /dev/stdin x", true),
            ("bash /dev//stdin", true),
            ("bash /dev/./fd/0", true),
            ("bash /proc/thread-self/fd/0", true),
            (". /dev/stdin", true),
            ("fish", true),
            ("sudo -s", true),
            ("at now", true),
            ("su -", true),
            ("bash x.sh", false),
            ("bash -- x.sh", false),
            ("bash x.sh -s", false),
            ("bash -o pipefail x.sh", false),
            (". ./x", false),
            ("sudo -v", false),
            ("cat", false),
            ("", false),
        ] {
            let words: Vec<Word> = text.split_whitespace().map(Word::literal).collect();
            assert_eq!(runs_input(&words), expected, "{text}");
        }
    }
}
