//! Commands that destroy what cannot be brought back, or run what nobody has read. They ask first, whatever the policy
//! lets run, and are recognised through wrappers, quotes, pipes, substitutions and nested shells.

mod downloads;
mod embedded;
mod files;
mod git;
mod options;
mod programs;
mod table;
#[cfg(test)]
mod tests;

use super::said::feed_of;
use super::script::{Feed, Script, Simple};
use super::starters::{Starts, is_starter};
use super::word::Word;
use super::wrappers::{self, Inside};
use super::{base_name, input, kinds, reading, strict, variables};
use embedded::{of_embedded, of_program_text};
use options::{forces, recurses};
use std::cell::Cell;
use std::path::Path;

/// How deep shells within shells are followed. What is deeper counts as dangerous: nobody writes it in good faith.
const MAX_DEPTH: usize = 8;
/// How many commands are looked at in one judgement, with all that may stand within them.
const MAX_LOOKS: usize = 20_000;

/// Programs that only show their arguments, so that these mean nothing.
const SHOWING: &[&str] = &[
    "echo", "printf", "grep", "egrep", "fgrep", "rg", "man", "whatis", "apropos", "which", "type", "tldr", "info",
    "help",
];

/// Whether a program only shows its arguments.
pub(super) fn only_shows(name: &str) -> bool {
    SHOWING.contains(&name)
}

/// Have a language of their own that can run shell commands, or run the text of an option.
const EMBEDDING: &[&str] = &[
    "awk", "gawk", "mawk", "nawk", "sed", "gsed", "vim", "vi", "nvim", "ex", "ed", "emacs", "tar", "gtar", "bsdtar",
    "gdb", "lldb", "less", "more", "make",
];

const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "tcsh", "csh", "mksh", "nu", "elvish", "xonsh", "yash",
];

/// Run program text that they get as an argument or through their input.
const INTERPRETERS: &[&str] = &[
    "Rscript",
    "bun",
    "deno",
    "elixir",
    "expect",
    "groovy",
    "julia",
    "lua",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "python",
    "raku",
    "ruby",
    "tclsh",
];

const FORCED: &str = "deletes without asking (rm with force)";
const TOO_DEEP: &str = "nests commands so deeply that it cannot be followed";

/// Where a look has got to: how deep, how much is left, and in which folder the command would run.
#[derive(Clone, Copy)]
struct Depth<'b> {
    level: usize,
    left: &'b Cell<usize>,
    cwd: &'b Path,
}

impl Depth<'_> {
    fn deeper(self) -> Self {
        Self {
            level: self.level + 1,
            ..self
        }
    }

    /// Counts a look at this many bytes; whether there must be no more.
    fn is_exhausted(self, bytes: usize) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1 + bytes / 50));
        left == 0 || self.level > MAX_DEPTH
    }
}

/// Looks for danger in the commands of one judgement.
pub(super) struct Look<'c> {
    left: Cell<usize>,
    cwd: &'c Path,
}

impl<'c> Look<'c> {
    /// For a command that would run in `cwd`.
    pub(super) fn new(cwd: &'c Path) -> Self {
        Self {
            left: Cell::new(MAX_LOOKS),
            cwd,
        }
    }

    fn start(&self) -> Depth<'_> {
        Depth {
            level: 0,
            left: &self.left,
            cwd: self.cwd,
        }
    }

    /// Why a command is dangerous by its words, in words that complete "it …"; none if nothing was found.
    pub(super) fn words(&self, words: &[Word], feed: &Feed) -> Option<String> {
        of_words(words, feed, self.start())
    }

    /// Why setting a variable is dangerous, because a program runs what it holds.
    pub(super) fn assigned(&self, name: &str, value: &Word) -> Option<String> {
        of_assigned(&Word::literal(&format!("{name}={}", value.text)), self.start())
    }

    /// The same for a command of a script, with what is fed to it and where it writes.
    pub(super) fn simple(&self, simple: &Simple, all: &[Simple]) -> Option<String> {
        of_simple(simple, all, self.start())
    }
}

/// Judges shell text.
fn of_text(text: &str, depth: Depth<'_>) -> Option<String> {
    if depth.is_exhausted(text.len()) {
        return Some("nests shells so deeply that it cannot be followed".to_owned());
    }
    let Some(script) = Script::parse(text) else {
        return Some("is too long or too deeply nested to be read".to_owned());
    };
    if let Some(name) = script.bombs().first() {
        return Some(format!("starts itself over and over (a fork bomb): {name}"));
    }
    let commands = script.commands();
    let found = commands.iter().find_map(|simple| of_simple(simple, &commands, depth));
    let found = found.or_else(|| downloads::run_later(&commands));
    let found = found.or_else(|| {
        let written = script.writes();
        written.iter().find_map(|word| files::of_written(word, depth.cwd))
    });
    // Where the grammar errs, the strict reader does not.
    let found = found.or_else(|| {
        strict::plain_commands(text)?.iter().find_map(|command| {
            let words: Vec<Word> = command.iter().map(|word| Word::literal(word)).collect();
            of_words(&words, &Feed::Nothing, depth.deeper())
        })
    });
    found.or_else(|| {
        if script.has_errors() {
            of_broken_text(text, depth)
        } else {
            None
        }
    })
}

/// Judges text that the grammar does not know: cut at everything that could end a command, quotes thrown away.
fn of_broken_text(text: &str, depth: Depth<'_>) -> Option<String> {
    text.split([';', '&', '|', '\n', '(', ')', '{', '}', '`'])
        .find_map(|part| {
            let words = part.split(|c: char| c.is_whitespace() || c == ',');
            let words: Vec<Word> = words
                .map(|word| word.replace(['\'', '"', '\\'], ""))
                .filter(|word| !word.is_empty())
                .map(|word| Word::literal(&word))
                .collect();
            of_words(&words, &Feed::Nothing, depth.deeper())
        })
}

fn of_simple(simple: &Simple, all: &[Simple], depth: Depth<'_>) -> Option<String> {
    if let Some(reason) = simple.writes.iter().find_map(|word| files::of_written(word, depth.cwd)) {
        return Some(reason);
    }
    let feed = feed_of(simple, all);
    if let Some(reason) = downloads::run_at_once(simple, all) {
        return Some(reason);
    }
    of_words(&simple.words, &feed, depth)
}

/// Judges one command by its words.
fn of_words(words: &[Word], feed: &Feed, depth: Depth<'_>) -> Option<String> {
    of_command(words, feed, depth, false)
}

/// The same; of one tail among many of a command only what begins it counts.
fn of_command(words: &[Word], feed: &Feed, depth: Depth<'_>, is_tail: bool) -> Option<String> {
    // Assignments in front, as `env` takes them.
    let start = words
        .iter()
        .take_while(|word| wrappers::is_assignment(&word.text))
        .count();
    if let Some(reason) = words[..start].iter().find_map(|word| of_assigned(word, depth)) {
        return Some(reason);
    }
    let words = &words[start..];
    let (program, arguments) = words.split_first()?;
    if depth.is_exhausted(0) {
        return Some(TOO_DEEP.to_owned());
    }
    // Text in the place of a program is none.
    let is_text = program.text.contains(char::is_whitespace);
    let name = if is_text { "" } else { base_name(&program.text) };
    // Looking at all the arguments from each of many words takes its time.
    if looks_at_all(program, name) && depth.is_exhausted(words.len()) {
        return Some(TOO_DEEP.to_owned());
    }
    if let Some(reason) = programs::of_program(name, arguments, depth) {
        return Some(reason);
    }
    if let Some(reason) = programs::of_fed(name, feed, depth) {
        return Some(reason);
    }
    if SHELLS.contains(&name)
        && let Some(reason) = of_shell(arguments, feed, depth)
    {
        return Some(reason);
    }
    if name == "env" {
        let mut set = arguments.iter().filter(|word| wrappers::is_assignment(&word.text));
        if let Some(reason) = set.find_map(|word| of_assigned(word, depth)) {
            return Some(reason);
        }
    }
    if name == "." || name == "source" {
        let reads_input = arguments.first().is_some_and(|word| is_input(&word.text));
        return match feed {
            Feed::Text(text) if reads_input => of_text(text, depth.deeper()),
            Feed::Pipe(_) if reads_input => Some("pipes text that cannot be judged into a shell".to_owned()),
            _ => None,
        };
    }
    if name == "eval" || name == "trap" {
        if name == "eval" && arguments.iter().any(|word| !word.known) {
            return Some("runs text that only the run can tell (eval)".to_owned());
        }
        let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        return of_text(&texts.join(" "), depth.deeper());
    }
    if name == "alias" {
        let mut values = arguments.iter().filter_map(|word| word.text.split_once('='));
        return values.find_map(|(_, value)| of_text(value, depth.deeper()));
    }
    if is_interpreter(name) {
        return of_program_text(arguments, feed);
    }
    if EMBEDDING.contains(&name) {
        return of_embedded(arguments, feed);
    }
    if (!program.known || name.contains(['*', '?', '['])) && forces(arguments) && recurses(arguments) {
        return Some("looks like a forced deletion by a program whose name is hidden".to_owned());
    }
    if let ("ssh" | "at" | "batch", Feed::Text(text)) = (name, feed)
        && let Some(reason) = of_text(text, depth.deeper())
    {
        return Some(reason);
    }
    if is_starter(name, Starts::Text) {
        let mut texts = arguments.iter().filter(|word| word.text.contains(char::is_whitespace));
        if let Some(reason) = texts.find_map(|word| of_text(&word.text, depth.deeper())) {
            return Some(reason);
        }
    }
    if is_starter(name, Starts::AnyTail) {
        return of_wrapped(name, words, feed, depth);
    }
    if only_shows(name) || name == "git" {
        return None;
    }
    // A program that is not known may run its arguments: then at least the plainest form must not slip by. Behind a wrapper
    // each of them is looked at anyway.
    if is_tail {
        return None;
    }
    let removals = (0..arguments.len()).filter(|at| base_name(&arguments[*at].text) == "rm");
    for at in removals {
        let behind = &arguments[at + 1..];
        if depth.is_exhausted(behind.len()) {
            return Some(TOO_DEEP.to_owned());
        }
        if forces(behind) {
            return Some(FORCED.to_owned());
        }
    }
    None
}

/// Whether more is looked at of a program's command than its name.
fn looks_at_all(program: &Word, name: &str) -> bool {
    !program.known
        || name.contains(['*', '?', '['])
        || reading::is_known(name)
        || kinds::is_known(name)
        || is_starter(name, Starts::AnyTail)
        || is_starter(name, Starts::Text)
        || SHELLS.contains(&name)
        || EMBEDDING.contains(&name)
        || is_interpreter(name)
        || programs::is_known(name)
}

/// What a wrapper runs: where it is a program that is known, that; otherwise anything among the arguments may be it.
fn of_wrapped(name: &str, words: &[Word], feed: &Feed, depth: Depth<'_>) -> Option<String> {
    let arguments = &words[1..];
    let feed = if name == "xargs" { &Feed::Nothing } else { feed };
    if name == "xargs"
        && let Some(reason) = programs::of_deleting_list(arguments)
    {
        return Some(reason);
    }
    if let Some(found) = wrappers::unwrap(words)
        && let [Inside::Command(inner)] = found.inside.as_slice()
        && let Some(program) = inner.first().and_then(Word::exact)
        && (reading::is_known(base_name(program))
            || kinds::is_known(base_name(program))
            || is_starter(base_name(program), Starts::AnyTail))
    {
        return of_words(inner, feed, depth.deeper());
    }
    (0..arguments.len()).find_map(|from| {
        let tail = &arguments[from..];
        // An option is no program; what follows it is looked at in its turn.
        if tail[0].text.starts_with('-') {
            None
        } else {
            of_command(tail, feed, depth.deeper(), true)
        }
    })
}

/// `NAME=value`, where a program runs what the variable of that name holds.
fn of_assigned(word: &Word, depth: Depth<'_>) -> Option<String> {
    let (name, value) = word.text.split_once('=')?;
    variables::runs_by(name)?;
    of_text(value, depth.deeper())
}

/// Whether a path is that of the standard input.
fn is_input(path: &str) -> bool {
    ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(&path)
}

fn is_interpreter(name: &str) -> bool {
    // python3, python3.12, ruby3.2, …
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&bare)
}

/// A shell: its `-c` text, its here-document, or whatever a pipe brings.
fn of_shell(arguments: &[Word], feed: &Feed, depth: Depth<'_>) -> Option<String> {
    let takes_text = |option: &str| option.starts_with(['-', '+']) && !option.starts_with("--") && option.contains('c');
    if arguments.iter().any(|word| takes_text(&word.text)) {
        let texts = arguments.iter().filter(|word| !word.text.starts_with('-'));
        if let Some(hidden) = wrappers::hidden_text(arguments) {
            return Some(format!("runs text that only the run can tell: {hidden}"));
        }
        return texts.into_iter().find_map(|word| of_text(&word.text, depth.deeper()));
    }
    match feed {
        Feed::Text(text) => of_text(text, depth.deeper()),
        Feed::Pipe(_) if input::reads_input(arguments) => {
            Some("pipes text that cannot be judged into a shell".to_owned())
        }
        _ => None,
    }
}
