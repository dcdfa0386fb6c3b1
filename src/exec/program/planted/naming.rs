//! Options that by their names are given code, settings, or a place where either lies. Whatever the program is, and whether it
//! is known here, what such an option names decides what is run.

use super::git_config::sets_what_git_runs;
use super::{Found, Looking, runners};
use crate::exec::command::base_name;

/// Parts of the names of options, as they stand between signs.
#[rustfmt::skip]
const PARTS: &[&str] = &[
    "agent", "cfg", "chdir", "cmd", "conf", "defaults", "driver", "hook", "hooks", "ld", "linker", "load", "pre", "rc", "shell",
    "toolchain",
];
/// Parts of names wherever they stand in them.
#[rustfmt::skip]
const STEMS: &[&str] = &[
    "addon", "askpass", "bootstrap", "browser", "command", "config", "editor", "engine", "envfile", "exec", "extension", "handler",
    "initfile", "interpreter", "javaagent", "library", "loader", "middleware", "module", "pager", "plugin", "preload", "prelude",
    "processor", "program", "provider", "rcfile", "renderer", "require", "runner", "script", "settings", "setup", "startup", "transform",
    "wrapper",
];
/// Names that are like them, and are given text.
const NOT: &[&str] = &["description", "subscription", "transcript"];
/// A single dash is followed by letters, or by a name of at least so many.
const LEAST: usize = 3;

/// The value of an option that by its name is given what is run: what is attached to it, else the next word.
fn value<'w>(word: &'w str, next: Option<&'w String>) -> Option<&'w str> {
    let bare = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let (name, attached) = match bare.find(['=', ':']) {
        Some(at) => (&bare[..at], Some(&bare[at + 1..])),
        None => (bare, None),
    };
    if name.len() < LEAST && !word.starts_with("--") || !gives_code(name) {
        return None;
    }
    attached.or_else(|| next.map(String::as_str).filter(|next| !next.starts_with('-')))
}

fn gives_code(name: &str) -> bool {
    let name = name.to_lowercase();
    let whole: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
    // What is switched off is given nothing.
    if name.starts_with("no-") || NOT.contains(&whole.as_str()) {
        return false;
    }
    let mut parts = name.split(|c: char| !c.is_alphanumeric());
    parts.any(|part| PARTS.contains(&part)) || STEMS.iter().any(|stem| whole.contains(stem))
}

impl Looking<'_> {
    /// A file or folder that can be changed and that an option is given by whose name it is run, or decides what is.
    pub(super) fn given_as_code(&self, command: &[String]) -> Found {
        let (program, words) = command.split_first()?;
        // Those of a wrapper are known, and what it starts has words of its own.
        if runners::is_wrapper(program) {
            return None;
        }
        if sets_what_git_runs(program, words) {
            return self.folder(program);
        }
        if runners::reads_words(program) {
            let mut named = words.iter().filter_map(|word| word.strip_prefix('@'));
            let found = named.find_map(|name| Some((name.to_owned(), self.file(name)?)));
            if found.is_some() {
                return found;
            }
        }
        let is_container = ["docker", "nerdctl", "podman"].contains(&base_name(program))
            && words
                .first()
                .is_some_and(|word| ["container", "create", "exec", "run"].contains(&word.as_str()));
        // What it sets is set in the container.
        let is_inside = |word: &str| is_container && word.starts_with("--env-file");
        let options = words.iter().enumerate().take_while(|(_, word)| *word != "--");
        let mut options = options.filter(|(_, word)| !is_inside(word));
        options.find_map(|(at, word)| {
            let value = value(word, words.get(at + 1))?;
            // It gets its words from elsewhere, and some of them from the folder.
            if runners::interpreter(value).is_some() && !word.contains("shell") && value != "." {
                return self.folder(value);
            }
            // Several may stand in one, each perhaps behind a name of its own.
            let pieces = value.split([',', ';', ':', '=']).chain([value]);
            let mut pieces = pieces.filter(|piece| !piece.is_empty() && *piece != "-");
            pieces.find_map(|piece| Some((piece.to_owned(), self.file(piece)?)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_options_are_given_code() {
        for (words, expected) in [
            ("--config x", Some("x")),
            ("--config=x y", Some("x")),
            ("--kubeconfig x", Some("x")),
            ("--plugin-dir=x", Some("x")),
            ("--scriptShell x", Some("x")),
            ("-javaagent:x", Some("x")),
            ("-chdir=x", Some("x")),
            ("--rc x", Some("x")),
            ("--pre x", Some("x")),
            ("--no-config x", None),
            ("--config -v", None),
            ("--dry-run x", None),
            ("--config", None),
            ("--description x", None),
            ("--source x", None),
            ("--arch x", None),
            ("--file x", None),
            ("--prefix-length x", None),
            ("-so x", None),
            ("config x", None),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(value(&words[0], words.get(1)), expected, "{words:?}");
        }
    }
}
