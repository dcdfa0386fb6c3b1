//! Commands that stand in values: of options, of variables that hold what programs run, and of other names for programs.

use super::{MOST_DASHED, anything, words_of};
use crate::exec::command::{base_name, runs_its_value};
use crate::exec::program::is_run_by_git;
use std::mem;

/// So many names are followed.
const MOST_NAMES: usize = 32;
/// Variables whose value programs run, or take for options and orders that do, beside those that make any command dangerous.
#[rustfmt::skip]
const RUN: &[&str] = &[
    "AWS_PAGER", "BAT_PAGER", "CVSEDITOR", "CVS_RSH", "DELTA_PAGER", "EXINIT", "FCEDIT", "FZF_CTRL_T_COMMAND", "FZF_DEFAULT_COMMAND",
    "GH_BROWSER", "GH_EDITOR", "GH_PAGER", "GLAB_PAGER", "GVIMINIT", "HGEDITOR", "HGMERGE", "KUBE_EDITOR", "LESS", "MORE", "P4EDITOR",
    "PS0", "PS1", "PS2", "PSQL_EDITOR", "PSQL_PAGER", "RSYNC_CONNECT_PROG", "RSYNC_RSH", "SUDO_ASKPASS", "SUDO_EDITOR", "SVN_EDITOR",
    "SVN_SSH", "SYSTEMD_EDITOR", "SYSTEMD_PAGER", "TAR_OPTIONS", "VIMINIT",
];

/// What stands behind an option in the same word.
pub(super) fn of_option(word: &str) -> Option<&str> {
    let value = match word.strip_prefix("--") {
        Some(long) => long.split_once('=')?.1,
        None => {
            let mut letters = word.strip_prefix('-')?.chars();
            letters.next()?;
            letters.as_str().trim_start_matches('=')
        }
    };
    (!value.is_empty()).then_some(value)
}

/// The words of a command's arguments, also of texts that stand behind an option in the same word.
pub(super) fn words(arguments: &[String]) -> Vec<String> {
    let texts = arguments.iter().map(|argument| {
        let value = of_option(argument).filter(|value| value.contains(char::is_whitespace));
        value.unwrap_or(argument)
    });
    texts.flat_map(words_of).collect()
}

/// What a word sets a variable to of which a program runs what it holds.
pub(super) fn of_variable(word: &str) -> Option<&str> {
    let (name, value) = word.split_once('=')?;
    is_run(name.trim_end_matches('+')).then_some(value)
}

/// Whether what a variable holds is run, or set for git, which runs some of it.
fn is_run(name: &str) -> bool {
    let is_of_git = name.starts_with("GIT_CONFIG_VALUE_") || name == "GIT_CONFIG_PARAMETERS";
    is_of_git || RUN.contains(&name) || runs_its_value(name)
}

/// The same of each such variable that shell text sets, with its quotes.
pub(super) fn of_variables(text: &str) -> Vec<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let signs = text.match_indices('=').filter_map(|(at, _)| {
        let front = text[..at].strip_suffix('+').unwrap_or(&text[..at]);
        let name = &front[front.trim_end_matches(is_of_name).len()..];
        is_run(name).then(|| one_word(&text[at + 1..]))
    });
    signs.take(MOST_DASHED).collect()
}

/// A text up to where its first word ends.
fn one_word(text: &str) -> &str {
    let (mut quote, mut open, mut is_escaped) = (None, 0_usize, false);
    let end = text.char_indices().find(|(_, c)| {
        if mem::take(&mut is_escaped) {
            return false;
        }
        match (quote, *c) {
            (Some(begun), c) if begun == c => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => is_escaped = true,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(*c),
            (None, '(') => open += 1,
            (None, ')') if open > 0 => open -= 1,
            (None, c) => return open == 0 && (c.is_whitespace() || ";&|)".contains(c)),
        }
        false
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Commands by what their programs are called elsewhere among them.
pub(super) fn renamed(commands: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut names: Vec<(&str, Vec<String>)> = Vec::new();
    let mut found: Vec<Vec<String>> = Vec::new();
    for command in commands {
        let Some((program, arguments)) = command.split_first() else {
            continue;
        };
        match base_name(program) {
            "alias" | "hash" => {
                let set = arguments.iter().filter_map(|word| word.split_once('='));
                // Of zsh's kinds of aliases two need not stand in front: `alias -s txt=rm; x.txt`.
                if program == "alias" && arguments.iter().any(|word| is_of_any_word(word)) {
                    found.extend(set.clone().map(|(_, value)| words_of(value)));
                }
                names.extend(set.map(|(name, value)| (name, words_of(value))));
                names.extend(hashed(arguments));
            }
            "git" => found.extend(git_settings(arguments)),
            "cp" | "install" | "ln" | "mv" => names.extend(copied(arguments)),
            _ => {}
        }
    }
    names.truncate(MOST_NAMES);
    for command in commands {
        let Some((program, arguments)) = command.split_first() else {
            continue;
        };
        // What zsh's module `files` has in the place of programs.
        if let Some(name) = program.strip_prefix("zf_") {
            found.push([&[name.to_owned()], arguments].concat());
        }
        let meant = names
            .iter()
            .filter(|(name, _)| *name == program || *name == base_name(program));
        found.extend(meant.map(|(_, words)| [words.as_slice(), arguments].concat()));
        if found.len() > MOST_DASHED {
            found.push(anything());
            break;
        }
    }
    found
}

/// Whether an option of `alias` makes one that counts for a word's ending, or anywhere.
fn is_of_any_word(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|letters| letters.contains(['s', 'g']))
}

/// `hash -p PATH NAME`.
fn hashed(arguments: &[String]) -> Option<(&str, Vec<String>)> {
    let at = arguments.iter().position(|word| word.starts_with("-p"))?;
    let mut rest = arguments[at + 1..].iter();
    let path = match arguments[at].strip_prefix("-p") {
        Some("") | None => rest.next()?.as_str(),
        Some(path) => path,
    };
    Some((rest.next()?.as_str(), vec![path.to_owned()]))
}

/// `ln -s /usr/bin/git g`, `cp /usr/bin/git /tmp/g`: the new name stands for the program.
fn copied(arguments: &[String]) -> Option<(&str, Vec<String>)> {
    let mut paths = arguments.iter().filter(|word| !word.starts_with('-'));
    let (from, to) = (paths.next()?, paths.next()?);
    Some((base_name(to), vec![base_name(from).to_owned()]))
}

/// What git is given to run by its settings, now (`-c alias.x=y`) or later (`config core.pager y`).
fn git_settings(arguments: &[String]) -> Vec<Vec<String>> {
    let is_setting =
        |at: usize| arguments[..at].iter().any(|word| word == "config") || at > 0 && arguments[at - 1] == "-c";
    let found = arguments
        .iter()
        .enumerate()
        .filter(|(at, _)| is_setting(*at))
        .filter_map(|(at, word)| {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, value),
                None => (word.as_str(), arguments.get(at + 1)?.as_str()),
            };
            let name = name.to_lowercase();
            if !is_run_by_git(&name) {
                return None;
            }
            let is_alias = name.starts_with("alias.");
            let (front, text) = match value.strip_prefix('!') {
                Some(text) => (None, text),
                None => (is_alias.then(|| "git".to_owned()), value),
            };
            Some(front.into_iter().chain(words_of(text)).collect())
        });
    found.take(MOST_NAMES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_table() {
        for (word, expected) in [
            ("--exec=git push", Some("git push")),
            ("-xgit push", Some("git push")),
            ("-x=a", Some("a")),
            ("--exec", None),
            ("-x", None),
            ("--", None),
            ("-", None),
            ("a=b", None),
        ] {
            assert_eq!(of_option(word), expected, "{word}");
        }
        for (text, expected) in [
            ("PROMPT_COMMAND='git push' bash -i", &["'git push'"][..]),
            (
                "PS4+='$(git push)' bash -xc :; PAGER=a\\ b x",
                &["'$(git push)'", "a\\ b"],
            ),
            ("BASH_ENV=<(echo git push) bash", &["<(echo git push)"]),
            ("(PAGER=less)", &["less"]),
            ("ä=b x=c", &[]),
        ] {
            assert_eq!(of_variables(text), expected, "{text}");
        }
    }

    #[test]
    fn other_names_by_table() {
        for (commands, expected) in [
            (&["alias r=rm", "r x"][..], &["rm x"][..]),
            (&["hash -p /usr/bin/git zz", "zz push"], &["/usr/bin/git push"]),
            (&["hash -p/usr/bin/git zz", "zz push"], &["/usr/bin/git push"]),
            (&["git -c alias.p=push p"], &["git push"]),
            (&["git config alias.p !rm p"], &["rm"]),
            (&["git -c ALIAS.a=!git -c alias.b=push b"], &["git", "git push"]),
            (&["git config core.pager rm"], &["rm"]),
            (&["ln -s /usr/bin/git g", "./g push"], &["git push"]),
            (
                &["cp /usr/bin/git /tmp/g", "/tmp/g push", "g x"],
                &["git push", "git x"],
            ),
            (&["cp a b", "ls b"], &[]),
            (&["alias r=rm", "ls"], &[]),
            (&["hash -r", "git config user.name x"], &[]),
        ] {
            let split = |command: &&str| command.split(' ').map(str::to_owned).collect();
            let commands: Vec<Vec<String>> = commands.iter().map(split).collect();
            let found: Vec<String> = renamed(&commands).iter().map(|words| words.join(" ")).collect();
            assert_eq!(found, expected);
        }
    }
}
