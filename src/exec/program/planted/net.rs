//! Files that commands can change and that can be run, wherever the words of a command name them. A program need not be known
//! to run what it is given; what is known is which programs take their words as data.

use super::super::is_program;
use super::text::{self, Written};
use super::{Found, Looking, runners};
use crate::exec::command::{Starts, base_name, has_usual_place, is_known, is_of_the_shell, is_starter};
use std::fs;
use std::path::{Path, PathBuf};

/// More pieces of words of one command are not looked for: nobody writes as many.
pub(super) const MOST_PIECES: usize = 10_000;
/// More entries of a folder than these are not compared with a pattern, and none with more stars.
const MOST_ENTRIES: usize = 4_000;
const MOST_STARS: usize = 2;
/// So many letters may stand together in front of a value.
const MOST_LETTERS: usize = 8;

/// Programs that have a language of their own: a file among their words is data, but text may run one.
const WITH_TEXT: &str = "awk emacs ex gawk gdb goawk gsed less lldb mariadb mawk more mysql nano nawk nvim psql sed sqlite3 ssed vi \
                         view vim";

/// What an order in such a language has in it that has a file run, or read as more of the language.
const ORDERS: &[&str] = &[
    "!", "\\i", "exec", "getline", "load", "pyfile", "read", "run", "script", "shell", "so ", "source", "spawn",
    "system", "|",
];

/// Programs that take all words but options as data, or run them elsewhere. Of others it is told by the tables of commands.
const WITH_DATA: &str = "[[ bandit bsdtar code codesign docker docker-compose eslint fd fdfind find flake8 gfind gtar helm \
                         gpg gpg2 gsutil kubectl lxc minisign mypy objcopy oc podman pylint pyright rclone ruff s3cmd scp shfmt ssh \
                         strip tar twine vagrant";

/// Programs in those tables that run what some of their words name.
const RUNNING: &str = "as ava bats behave busted c++ cc clang clang++ cmake csplit ctest cucumber cypress ed g++ gcc jest \
                       karma ld meson minitest mocha nc ncat netcat ninja nose2 nosetests nox openssl phpunit playwright \
                       prove py.test pytest rspec scons socat split tox vitest";

/// Options whose value is text for people.
const FOR_PEOPLE: &[&str] = &[
    "--body",
    "--comment",
    "--description",
    "--message",
    "--notes",
    "--reason",
    "--subject",
    "--title",
    "-b",
    "-m",
    "-t",
];
/// Options whose value is a file that is written.
const WRITTEN: &[&str] = &["--output", "-O", "-o"];

/// Whether what an option of this name is given is text for people, whatever the program.
pub(in crate::exec) fn takes_words_for_people(option: &str) -> bool {
    FOR_PEOPLE.contains(&option)
}

/// Ends of the names of files that are run, or loaded, without being programs.
#[rustfmt::skip]
const CODE: &[&str] = &[
    "bash", "cjs", "dll", "dylib", "fish", "jar", "js", "lua", "mjs", "node", "php", "pl", "pm", "ps1", "py", "pyc", "rb",
    "sh", "so", "ts", "zsh",
];

/// Ends of the names of files that hold data, or are made.
#[rustfmt::skip]
const DATA: &[&str] = &[
    "a", "avi", "bin", "bmp", "c", "cc", "cpp", "csv", "db", "gif", "gz", "h", "hpp", "html", "ico", "iso", "jpeg", "jpg", "log",
    "md", "mkv", "mov", "mp3", "mp4", "o", "ogg", "out", "pdf", "png", "rs", "svg", "tar", "tgz", "tiff", "txt", "wav", "webm",
    "webp", "zip",
];

/// What a program takes its words for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Anything,
    Text,
    Data,
}

impl Takes {
    fn of(program: &str) -> Self {
        let name = base_name(program);
        let is_among = |names: &str| names.split_ascii_whitespace().any(|known| known == name);
        if !has_usual_place(program) {
            return Self::Anything;
        }
        if is_among(WITH_TEXT) {
            return Self::Text;
        }
        let runs = is_among(RUNNING) || is_starter(name, Starts::Anything) || is_starter(name, Starts::ItsWords);
        match is_among(WITH_DATA) || !runs && (is_known(name) || is_of_the_shell(name)) {
            true => Self::Data,
            false => Self::Anything,
        }
    }
}

/// Names in a command that may be those of files which decide what it does: nothing is known of its program.
pub(in crate::exec) fn steering(words: &[String]) -> Vec<&str> {
    let begins = runners::beginnings(words);
    let Some(first) = begins.first() else {
        return Vec::new();
    };
    // Behind a program that takes data nothing is.
    let known = begins.iter().find(|at| Takes::of(&words[**at]) != Takes::Anything);
    let end = known.map_or(words.len(), |at| *at);
    // What starts others may read which from a file with any name.
    let starts = begins.iter().any(|at| {
        let (program, name) = (&words[*at], base_name(&words[*at]));
        !runners::is_wrapper(program) && (is_starter(name, Starts::Anything) || is_starter(name, Starts::ItsWords))
            || runners::completes(program)
    });
    let is_written = |at: usize| WRITTEN.contains(&words[at - 1].as_str()) || is_written_to(&words[at]);
    let read = (first + 1..end).filter(|at| !is_written(*at));
    let named = read
        .flat_map(|at| pieces(&words[at]))
        .filter(|piece| starts || !is_data(piece));
    named.take(MOST_PIECES).collect()
}

/// Whether an option has the name of a file attached that is written.
fn is_written_to(word: &str) -> bool {
    let short = ["-o", "-O"].iter().any(|option| word.starts_with(option));
    short || word.starts_with("--out") && word.contains('=')
}

/// Whether a file is by its name nothing that decides what a program does.
fn is_data(name: &str) -> bool {
    let end = name.rsplit_once('.').map(|(_, end)| end.to_lowercase());
    end.is_some_and(|end| DATA.contains(&end.as_str()))
}

impl Looking<'_> {
    /// A file that a command names in any way and may run.
    pub(super) fn named_by_any_word(&self, words: &[String]) -> Found {
        let begins = runners::beginnings(words);
        let program = words.get(*begins.first()?)?;
        // What a shell is given as text is read by itself.
        let is_shell = |at: &usize| {
            let interpreter = runners::interpreter(&words[*at]);
            interpreter.is_some_and(|found| found.is_shell) || is_starter(base_name(&words[*at]), Starts::Text)
        };
        let has_shell = begins.iter().any(is_shell);
        let is_text = |word: &str| word.contains([' ', '\t', '\n', ';', '<', '|', '&', '$', '`']);
        let known = begins.iter().find(|at| Takes::of(&words[**at]) != Takes::Anything);
        for (at, word) in words.iter().enumerate().skip(begins[0] + 1) {
            let takes = known
                .filter(|known| **known < at)
                .map_or(Takes::Anything, |at| Takes::of(&words[*at]));
            let is_option = word.starts_with('-');
            let is_data = match takes {
                Takes::Anything => has_shell && is_text(word),
                Takes::Text => self.places(word).iter().any(|path| path.is_file()),
                Takes::Data => !is_option || is_for_people(program, word),
            };
            if is_data {
                continue;
            }
            for piece in pieces(word) {
                let Some(left) = self.left.get().checked_sub(1) else {
                    return self.folder(program);
                };
                self.left.set(left);
                // A shell makes names of whole words only.
                let is_pattern = piece.contains(['*', '?', '[']);
                if is_pattern && (piece.len() < word.len() || takes != Takes::Anything || is_text(word)) {
                    continue;
                }
                let ordered = || {
                    let is_order = takes == Takes::Text && piece.len() < word.len();
                    (is_order && ORDERS.iter().any(|order| word.contains(order)))
                        .then(|| self.file(piece).filter(|path| path.is_file()))
                        .flatten()
                };
                if let Some(path) = self.code(piece).or_else(ordered) {
                    return Some((piece.to_owned(), path));
                }
            }
        }
        None
    }

    /// What an interpreter is given that stands anywhere among the words of a program of which nothing is known: it may start it.
    pub(super) fn started_by_any_word(&self, words: &[String]) -> Found {
        let begin = *runners::beginnings(words).first()?;
        let program = words.get(begin)?;
        let is_known = Takes::of(program) != Takes::Anything || runners::is_wrapper(program);
        if is_known || runners::interpreter(program).is_some() {
            return None;
        }
        let starts = |command: &Written| {
            let by = runners::interpreter(command.words.first()?)?;
            self.interpreted(&by, &command.words, command, false)
        };
        (begin + 1..words.len()).find_map(|at| {
            let is_text = words[at].contains([' ', '\t', '\n', '<', '|', ';']);
            let inner = match is_text {
                true => text::read(&words[at]).commands,
                false => Vec::new(),
            };
            let alone = Written {
                words: words[at..].to_vec(),
                ..Written::default()
            };
            // By itself the dot is a folder.
            let by_words = (words[at] != ".").then(|| starts(&alone)).flatten();
            by_words.or_else(|| inner.iter().find_map(starts))
        })
    }

    /// The file of a name, or one that a pattern fits, if it can be changed and is one to be run.
    pub(super) fn code(&self, name: &str) -> Option<PathBuf> {
        if name.contains(['*', '?', '[']) {
            let says_anything = !name.contains(char::is_alphanumeric);
            return self.fitting(name, can_be_run).filter(|_| !says_anything);
        }
        let mut places = self.places(name).into_iter();
        places.find(|path| can_be_run(path) && self.is_open(path))
    }

    /// The first file that a pattern fits and that can be changed.
    pub(super) fn fitting(&self, pattern: &str, counts: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let (folder, pattern) = match pattern.rfind('/') {
            Some(at) => pattern.split_at(at + 1),
            None => ("./", pattern),
        };
        if !pattern.contains(['*', '?', '[']) {
            return None;
        }
        let folders = self
            .places(folder)
            .into_iter()
            .filter_map(|folder| fs::read_dir(folder).ok());
        let mut entries = folders.flat_map(|entries| entries.flatten().take(MOST_ENTRIES));
        entries.find_map(|entry| {
            let path = entry.path();
            let name = entry.file_name();
            (fits(pattern, name.to_str()?) && path.is_file() && counts(&path) && self.is_open(&path)).then_some(path)
        })
    }
}

/// Whether an option of a program that takes data has a value that nothing runs.
fn is_for_people(program: &str, option: &str) -> bool {
    let writes = ["curl", "wget"].contains(&base_name(program));
    let names = FOR_PEOPLE.iter().chain(WRITTEN.iter().filter(|_| writes));
    let mut fits = names.map(|name| match name.starts_with("--") {
        true => option.split_once('=').is_some_and(|(front, _)| front == *name),
        false => option.starts_with(name),
    });
    fits.any(|fits| fits)
}

/// Whether a file is a program, or is called like something that is run.
fn can_be_run(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str());
    is_program(path) || end.is_some_and(|end| CODE.contains(&end)) && path.is_file()
}

/// What a word may name: itself, what stands behind letters of options, and what is between signs.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let is_bundle = word.starts_with('-') && !word.starts_with("--");
    let letters = word
        .char_indices()
        .skip(2)
        .take(MOST_LETTERS)
        .filter(move |_| is_bundle);
    let between = word.split(|c: char| c.is_whitespace() || "=,:|;&!+()<>{}'\"`@%\\".contains(c));
    let all = std::iter::once(word)
        .chain(letters.map(move |(at, _)| &word[at..]))
        .chain(between.clone())
        .chain(between.flat_map(glued));
    all.filter(|piece| !piece.is_empty())
}

/// The paths behind letters that are no part of them, as orders of `sed` and the like have them: `1e./x`.
fn glued(piece: &str) -> impl Iterator<Item = &str> {
    let starts = ["../", "./", "~/", "/"].into_iter();
    let found = starts.filter_map(|start| piece.find(start));
    found.filter(|at| *at > 0).map(|at| &piece[at..])
}

/// Whether a name is one of those that a shell makes of a pattern.
fn fits(pattern: &str, name: &str) -> bool {
    if pattern.matches('*').count() > MOST_STARS {
        return true;
    }
    let mut rest = pattern.chars();
    let behind = |name: &str| name.chars().next().map_or(0, char::len_utf8);
    match rest.next() {
        None => name.is_empty(),
        Some('*') => {
            let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.any(|at| fits(rest.as_str(), &name[at..]))
        }
        Some('?') => !name.is_empty() && fits(rest.as_str(), &name[behind(name)..]),
        Some('[') => {
            let rest = rest.as_str().split_once(']').map_or("", |(_, rest)| rest);
            !name.is_empty() && fits(rest, &name[behind(name)..])
        }
        Some(c) => name.strip_prefix(c).is_some_and(|name| fits(rest.as_str(), name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_patterns() {
        for (word, expected) in [
            ("x|", &["x|", "x"][..]),
            ("-cI./x", &["-cI./x", "I./x", "./x", "/x", "x", "-cI./x", "./x", "/x"]),
            ("--a=./x y", &["--a=./x y", "--a", "./x", "y", "/x"]),
            ("EXEC:./x,pty", &["EXEC:./x,pty", "EXEC", "./x", "pty", "/x"]),
            ("1e./x", &["1e./x", "1e./x", "./x", "/x"]),
            ("$!e/b/x", &["$!e/b/x", "$", "e/b/x", "/b/x"]),
        ] {
            assert_eq!(pieces(word).collect::<Vec<_>>(), expected, "{word}");
        }
        for (pattern, name, expected) in [
            ("y.s?", "y.sh", true),
            ("*.sh", "y.sh", true),
            ("[xy].sh", "y.sh", true),
            ("*", "", true),
            ("*.sh", "y.txt", false),
            ("y?", "y", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
