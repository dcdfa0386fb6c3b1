//! Program text that only the run can tell (`eval "$(cat x)"`, `sh -c "$x"`), and the places out of which it, or a file
//! whose name only the run can tell, may come.

use super::super::code_paths;
use super::runners::{self, Behind, Interpreter};
use super::text::Written;
use super::{Found, Looking, MOST_WORDS, values};
use std::fs;
use std::path::PathBuf;

/// Programs whose first word that is no option is a program in a language of theirs.
const BY_WORD: &[&str] = &["awk", "gawk", "gsed", "mawk", "nawk", "sed"];
/// What sets variables by its words.
const SETTING: &[&str] = &["declare", "env", "export", "local", "readonly", "typeset"];
/// From these on only the run tells a word.
const SIGNS: &[char] = &['$', '`', '*', '?', '[', '{'];
/// Entries of a folder that are looked at for a pattern.
const MOST_ENTRIES: usize = 5_000;

impl Looking<'_> {
    /// A place that the command names and that can be changed, where it runs text that only the run can tell.
    pub(super) fn unread(&self) -> Found {
        let mut all = self.all.written.iter();
        all.any(runs_unread).then(|| self.named_anywhere()).flatten()
    }

    /// A place that can be changed among all that the command names: a file, or an absolute path, whatever is there.
    pub(super) fn named_anywhere(&self) -> Found {
        let is_step = |written: &&Written| matches!(written.words.first().map(String::as_str), Some("cd" | "pushd"));
        let written = self.all.written.iter().filter(|written| !is_step(written));
        let words = written.flat_map(|written| written.words.iter().chain(&written.reads));
        let words = words.chain(&self.all.reads).chain(&self.all.piped).take(MOST_WORDS);
        words
            .flat_map(|word| values(word).chain(runners::assigned(word).map(|(_, value)| value)))
            .find_map(|word| Some((word.to_owned(), self.open_place(word)?)))
    }

    fn open_place(&self, word: &str) -> Option<PathBuf> {
        let is_absolute = is_absolute(word);
        if word.contains(SIGNS) && is_absolute {
            return self.around(word);
        }
        let is_plain = is_absolute && !word.contains(char::is_whitespace);
        // What is absolute is in no folder.
        let places = self.places(word).into_iter();
        let mut places = places.take(if is_absolute { 1 } else { usize::MAX });
        places.find(|path| (is_plain || path.is_file()) && self.is_open(path))
    }

    /// What can be changed of the places that an absolute word may lead to, of which only the run tells the end.
    pub(super) fn around(&self, word: &str) -> Option<PathBuf> {
        let home = ["${HOME}/", "$HOME/"].into_iter().find(|home| word.starts_with(*home));
        let start = home.map_or(0, |home| home.len());
        let end = word[start..].find(SIGNS).map_or(word.len(), |at| start + at);
        let (folder, begins) = word[..end].split_at(word[..end].rfind('/')? + 1);
        if !is_absolute(folder) {
            return None;
        }
        let place = self.places(folder).into_iter().next()?;
        if self.is_open(&place) {
            return Some(place.join(&word[folder.len()..]));
        }
        let entries = fs::read_dir(&place).into_iter().flatten().flatten().take(MOST_ENTRIES);
        let meant = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(begins));
        meant.map(|entry| entry.path()).find(|path| self.is_open(path))
    }
}

/// Whether a word names a place that no folder has a part in.
fn is_absolute(word: &str) -> bool {
    ["/", "~/", "$HOME/", "${HOME}/"]
        .iter()
        .any(|start| word.starts_with(start))
}

fn is_substituted(word: &str) -> bool {
    word.contains("$(") || word.contains('`')
}

/// Whether a command runs text that only the run can tell.
fn runs_unread(written: &Written) -> bool {
    let words = &written.words;
    let is_put_in = |at: usize| written.put_in.get(at).copied().unwrap_or_default();
    let mut completes = false;
    runners::beginnings(words).into_iter().any(|at| {
        let program = words[at].as_str();
        completes |= runners::completes(program);
        let name = program.rsplit('/').next().unwrap_or(program);
        let behind = at + 1..words.len();
        if is_put_in(at) && is_substituted(program) {
            return true;
        }
        if matches!(program, "eval" | "trap" | "alias") {
            return behind.clone().any(is_put_in);
        }
        if SETTING.contains(&name) && behind.clone().any(|at| is_put_in(at) && sets_unread(&words[at])) {
            return true;
        }
        if BY_WORD.contains(&name) {
            let first = behind.clone().find(|at| !words[*at].starts_with('-'));
            return first.is_some_and(|at| is_put_in(at) && words[at].starts_with(['$', '`']));
        }
        runners::interpreter(program).is_some_and(|by| {
            written.is_fed_unread
                || written.reads.iter().any(|file| file.starts_with("<("))
                || has_unread_code(&by, written, at, completes)
        })
    })
}

/// Whether a variable by which programs load code gets a value, or any variable a name, that only the run can tell.
fn sets_unread(word: &str) -> bool {
    match runners::assigned(word) {
        Some((name, value)) => code_paths::names_code(name) && is_substituted(value),
        None => word.starts_with(['$', '`']),
    }
}

/// Whether an option of an interpreter names text that only the run can tell, or its input is a file that is open already.
fn has_unread_code(by: &Interpreter, written: &Written, program: usize, completes: bool) -> bool {
    let words = &written.words;
    let stands_for = |word: &str| {
        let before = words[..program]
            .windows(2)
            .filter(|pair| pair[0] == "-I" || pair[0] == "-J");
        let named = before.map(|pair| pair[1].as_str());
        let attached = words[..program].iter().filter_map(|word| word.strip_prefix("-I"));
        let mut all = std::iter::once("{}").chain(named).chain(attached);
        completes && all.any(|sign| !sign.is_empty() && word.contains(sign))
    };
    let is_put_in = |at: usize| written.put_in.get(at).copied().unwrap_or_default();
    let is_unread = |at: usize| is_put_in(at) || stands_for(&words[at]);
    let mut behind = Behind::Nothing;
    for (at, word) in words.iter().enumerate().skip(program + 1) {
        let was = std::mem::replace(&mut behind, Behind::Nothing);
        let is_option = word.starts_with('-') && word.len() > 1;
        if was == Behind::Code && !(by.is_shell && is_option) {
            if is_unread(at) {
                return true;
            }
            continue;
        }
        if word.starts_with("/dev/fd/") || word.starts_with("/proc/self/fd/") {
            return true;
        }
        if is_option {
            // Options of a shell may stand between.
            behind = if was == Behind::Code { was } else { by.behind(word) };
            if matches!(behind, Behind::OwnCode(_)) && is_unread(at) {
                return true;
            }
        }
    }
    false
}
