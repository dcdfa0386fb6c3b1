//! Code that a command line names, also behind options and in the text of a shell: what a program outside the sandbox would run.

use super::{command, program};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Endings of what no program is kept in, and what changes with the work.
#[rustfmt::skip]
pub(super) const DATA: &[&str] = &[
    "csv", "db", "db3", "duckdb", "gif", "jpeg", "jpg", "log", "md", "parquet", "pdf", "png", "sqlite", "sqlite3", "svg", "tsv",
    "txt",
];
/// Endings of code that is read by the program for it.
#[rustfmt::skip]
const CODE: &[&str] = &[
    "bash", "bat", "cjs", "class", "cmd", "cts", "fish", "jar", "js", "jsx", "lua", "mjs", "mts", "php", "pl", "pm", "ps1", "py",
    "pyc", "pyz", "rb", "sh", "so", "tcl", "ts", "tsx", "zsh",
];

/// Programs that take nothing out of the folder that they run in but what they are given.
#[rustfmt::skip]
const ANYWHERE: &[&str] = &[
    "[", "afplay", "basename", "cat", "cd", "cp", "curl", "cut", "date", "dirname", "echo", "false", "head", "hostname", "jq",
    "logger", "ls", "mkdir", "mv", "notify-send", "paplay", "printf", "pwd", "rm", "say", "sleep", "tail", "tee",
    "terminal-notifier", "test", "touch", "tr", "true", "uname", "wc",
];
/// Variables of the person's session that stand in paths.
#[rustfmt::skip]
const OF_THE_SESSION: &[&str] = &[
    "HOME", "LOGNAME", "TMPDIR", "USER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Why nobody can be sure of the code that a command line runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// Commands of the agent, or other users, can change this.
    Place(PathBuf),
    /// Only the run tells what this word of it leads to.
    Unknown(String),
}

/// Code that the command line names and that commands of the agent, or other users, can change, or that only the run can tell;
/// nothing if there is none. Relative names count from `folder`.
pub(super) fn open_code(argv: &[String], folder: &Path, env: &BTreeMap<String, String>) -> Option<Open> {
    let argv = &with_variables(argv, env);
    let judged = command::judge(argv, folder).parts;
    let parts: Vec<&[String]> = judged.iter().map(|part| part.argv.as_slice()).collect();
    let standing = program::Standing {
        folder,
        is_certain: true,
        env,
    };
    let is_open = |path: &PathBuf| program::is_open(path, env);
    let (mut unknown, mut in_reach) = (None, None);
    if let Some((word, path)) = program::planted(argv, &parts, standing) {
        if is_open(&path) {
            return Some(Open::Place(path));
        }
        // It may come from any place that is named.
        unknown = Some(Open::Unknown(word));
        let mut named = argv.iter().flat_map(|argument| words(argument));
        in_reach = named.find_map(|name| Some(at(name, folder, env)).filter(is_open));
    }
    let passed = passed(&parts);
    let found = argv.iter().find_map(|argument| {
        let mut whole = whole(argument).map(|name| at(name, folder, env));
        let inside = words(argument).filter(|name| !passed.contains(name));
        let of_whole = whole.find(|path| path.exists() && !ends_in(path, DATA) && is_open(path));
        let mut inside = inside.flat_map(|name| meant(at(name, folder, env)));
        of_whole.or_else(|| inside.find(|path| is_code(path) && is_open(path)))
    });
    found.or(in_reach).map(Open::Place).or(unknown)
}

/// What a path stands for: itself, or what is there that a pattern, or a variable in it, may become.
fn meant(path: PathBuf) -> Vec<PathBuf> {
    const MOST: usize = 5_000;
    let text = path.to_string_lossy().into_owned();
    let signs = ['$', '*', '?', '['];
    let Some((known, rest)) = text.find(signs).map(|start| text.split_at(start)) else {
        return vec![path];
    };
    let Some((folder, begins)) = known.rsplit_once('/') else {
        return Vec::new();
    };
    let is_last = !rest.contains(['/', '$']);
    let ends = rest
        .rsplit(['*', '?', ']', '['])
        .next()
        .filter(|_| is_last)
        .unwrap_or_default();
    let entries = std::fs::read_dir(format!("{folder}/")).into_iter().flatten().flatten();
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(begins) && name.ends_with(ends)
    };
    entries.take(MOST).map(|entry| entry.path()).filter(is_meant).collect()
}

/// The folders that shell text only goes to, and in which it runs nothing that takes code out of them.
fn passed<'p>(parts: &[&'p [String]]) -> Vec<&'p str> {
    let program = |part: &&[String]| part.first().is_some_and(|program| ANYWHERE.contains(&program.as_str()));
    // A file of settings can have them write anywhere.
    let is_set = |part: &&[String]| part.iter().any(|word| word.starts_with("-K") || word == "--config");
    if !parts.iter().all(|part| program(part) && !is_set(part)) {
        return Vec::new();
    }
    let steps = parts
        .iter()
        .filter(|part| part.first().is_some_and(|program| program == "cd"));
    steps.filter_map(|part| part.last()).map(String::as_str).collect()
}

/// A command line with the values of the variables of the session, where it gives them no others.
fn with_variables(argv: &[String], env: &BTreeMap<String, String>) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_plain = |value: &&String| value.chars().all(|c| is_name(c) || "/._-+@".contains(c));
    // A message as JSON is none of it.
    let is_text = |argument: &&String| !argument.starts_with('{');
    let is_set = |name: &str| {
        argv.iter().filter(is_text).any(|argument| {
            argument.match_indices(name).any(|(at, _)| {
                let (before, behind) = (&argument[..at], &argument[at + name.len()..]);
                let is_whole = !before.ends_with(is_name) && !behind.starts_with(is_name);
                is_whole && !before.ends_with('$') && !before.ends_with("${")
            })
        })
    };
    let known = OF_THE_SESSION.iter().filter(|name| !is_set(name));
    let known: Vec<_> = known
        .filter_map(|name| Some((*name, env.get(*name).filter(is_plain)?)))
        .collect();
    let put_in = |argument: &String| {
        let mut text = argument.clone();
        for (name, value) in known.iter().filter(|_| is_text(&argument)) {
            text = text.replace(&format!("${{{name}}}"), value);
            let mut pieces = text
                .split(&format!("${name}"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
                .into_iter();
            let mut joined = pieces.next().unwrap_or_default();
            for piece in pieces {
                match piece.starts_with(is_name) {
                    true => joined.extend(["$", *name]),
                    false => joined.push_str(value),
                }
                joined.push_str(&piece);
            }
            text = joined;
        }
        text
    };
    argv.iter().map(put_in).collect()
}

/// What an argument may name as a whole: itself, or what stands behind an option.
fn whole(argument: &str) -> impl Iterator<Item = &str> {
    let is_option = argument.starts_with('-');
    let own = (!is_option).then_some(argument);
    let value = argument.split_once('=').map(|(_, value)| value);
    let attached = argument.find('/').filter(|_| is_option).map(|at| &argument[at..]);
    [own, value, attached]
        .into_iter()
        .flatten()
        .filter(|name| is_path(name))
}

/// The words of an argument that is the text of a shell, or several paths in one, but for what output goes to or input comes from.
/// A message as JSON is none.
fn words(argument: &str) -> impl Iterator<Item = &str> {
    let text = (!argument.starts_with('{')).then_some(argument);
    let separates = |c: char| c.is_whitespace() || "\"'`;|&(),=:<>".contains(c);
    let mut before = '\0';
    text.into_iter()
        .flat_map(move |text| text.split_inclusive(separates))
        .filter_map(move |part| {
            let word = part.trim_end_matches(separates);
            let is_redirected = matches!(before, '<' | '>');
            // A blank may stand between the sign and the file.
            if let Some(sign) = part[word.len()..].chars().next_back()
                && !(is_redirected && word.is_empty() && sign.is_whitespace())
            {
                before = sign;
            }
            (!is_redirected && is_path(word)).then_some(word)
        })
}

/// A bare word is usually none, and where it is one it lies in the folder that is looked at by itself.
pub(super) fn is_path(word: &str) -> bool {
    word.contains(['/', std::path::MAIN_SEPARATOR])
}

pub(super) fn at(name: &str, folder: &Path, env: &BTreeMap<String, String>) -> PathBuf {
    let below = ["~/", "$HOME/", "${HOME}/"]
        .iter()
        .find_map(|home| name.strip_prefix(home));
    match below.zip(env.get("HOME")) {
        Some((below, home)) => Path::new(home).join(below),
        None => folder.join(name),
    }
}

pub(super) fn ends_in(path: &Path, endings: &[&str]) -> bool {
    let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    end.is_some_and(|end| endings.contains(&end.as_str()))
}

/// A folder, in which code may lie, or a file that says itself that it is code.
pub(super) fn is_code(path: &Path) -> bool {
    let Ok(found) = std::fs::metadata(path) else {
        return false;
    };
    if found.is_dir() {
        return true;
    }
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = ends_in(path, &["exe", "com"]);
    is_script(path) || found.is_file() && may_run
}

/// A file that another program reads as its program: by its ending, or as its first line says.
pub(super) fn is_script(path: &Path) -> bool {
    let says_so = || {
        let mut start = [0; 2];
        let read = program::open_file(path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == *b"#!"
    };
    ends_in(path, CODE) && path.exists() || says_so()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_by_table() {
        let pairs = [("HOME", "/h"), ("USER", "me"), ("TMPDIR", "/a b")];
        let env = BTreeMap::from(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (text, expected) in [
            ("$HOME/bin/n \"$0\"", "/h/bin/n \"$0\""),
            ("${HOME}/n; . /x/$USER/y", "/h/n; . /x/me/y"),
            ("$HOMES/x ${HOME:-y} $USER_X", "$HOMES/x ${HOME:-y} $USER_X"),
            ("$HOME$HOMES$HOME", "/h$HOMES/h"),
            ("HOME=/w; $HOME/n $USER", "HOME=/w; $HOME/n me"),
            ("for HOME in a; do $HOME/n; done", "for HOME in a; do $HOME/n; done"),
            // Not what a shell would make one word of, not what is not set, and no message.
            ("$TMPDIR/x $XDG_DATA_HOME/x", "$TMPDIR/x $XDG_DATA_HOME/x"),
            ("{\"text\":\"$HOME\"}", "{\"text\":\"$HOME\"}"),
        ] {
            assert_eq!(with_variables(&[text.to_owned()], &env), [expected], "{text}");
        }
    }
}
