//! All that is written in a command: by its words, as it is understood, and in shell text within it.

use super::super::code_paths;
use super::is_unknown;
use super::runners;
use super::text::{self, Written};

/// How deep shell text within shell text is read, and how many commands.
const DEPTH: usize = 8;
const MOST_COMMANDS: usize = 2_000;

/// All that is written in a command.
#[derive(Default)]
pub(super) struct Commands {
    pub(super) written: Vec<Written>,
    /// Files that are put into the input of several of them.
    pub(super) reads: Vec<String>,
    /// Words of those that write into a pipe.
    pub(super) piped: Vec<String>,
    pub(super) repeats: bool,
    /// There is more.
    pub(super) is_cut: bool,
}

impl Commands {
    pub(super) fn of(command: &[String], parts: &[&[String]]) -> Self {
        let mut all = Self::default();
        let words_alone = |words: Vec<String>| Written {
            words,
            ..Written::default()
        };
        all.add(words_alone(command.to_vec()), DEPTH);
        for part in parts {
            // In these, what only the run can tell stands in its quotes.
            let plain = |word: &String| match is_unknown(word) {
                true => word.replace('"', ""),
                false => word.clone(),
            };
            all.add(words_alone(part.iter().map(plain).collect()), DEPTH);
        }
        all
    }

    fn add(&mut self, written: Written, depth: usize) {
        if self.written.len() >= MOST_COMMANDS {
            self.is_cut = true;
            return;
        }
        let mut texts: Vec<String> = Vec::new();
        let mut is_guess = written.is_guess;
        let programs: Vec<&String> = runners::beginnings(&written.words)
            .into_iter()
            .filter_map(|at| written.words.get(at))
            .collect();
        let is_shell = |word: &&String| runners::interpreter(word).is_some_and(|found| found.is_shell);
        let has_shell = programs.iter().any(is_shell);
        if has_shell {
            texts.extend(written.fed.iter().cloned());
        }
        if has_shell || programs.iter().any(|program| runners::is_wrapper(program)) {
            let is_text = |word: &&String| word.contains([' ', '\t', '\n', ';', '<', '|', '&', '$', '`']);
            texts.extend(written.words.iter().filter(is_text).cloned());
            is_guess |= !has_shell;
        }
        // Variables name commands, too.
        let values = written.words.iter().filter_map(|word| runners::assigned(word));
        let commands = values.filter(|(name, _)| code_paths::is_command(name));
        texts.extend(commands.map(|(_, value)| value.to_owned()));
        self.written.push(written);
        for text in texts {
            self.read(&text, depth, is_guess);
        }
    }

    fn read(&mut self, text: &str, depth: usize, is_guess: bool) {
        let Some(depth) = depth.checked_sub(1) else {
            self.is_cut = true;
            return;
        };
        let found = text::read(text);
        self.repeats |= found.repeats;
        self.reads.extend(found.reads);
        self.piped.extend(found.piped);
        for written in found.commands {
            let is_guess = is_guess || written.is_guess;
            self.add(Written { is_guess, ..written }, depth);
        }
        for inner in found.inner {
            self.read(&inner, depth, is_guess);
        }
    }
}
