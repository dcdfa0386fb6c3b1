//! What a command may run by its words: wrappers, sub-commands that run others, searches, and programs that nothing is known of.

use super::{DASHED, MOST_COMPLETING, MOST_WORDS, Meant, anything, values, words_of};
use crate::exec::command::{Starts, base_name, is_known, is_starter};
use crate::exec::program::takes_words_for_people;
use crate::exec::rules::UNKNOWN;

/// Sub-commands, and options, by which a program runs a command.
const RUNNING_BY_WORD: &[(&str, &[&str])] = &[
    ("bun", &["x"]),
    ("cabal", &["exec"]),
    ("cargo", &["watch"]),
    ("cmake", &["-E"]),
    ("conda", &["run"]),
    ("docker", &["exec", "run"]),
    ("dune", &["exec"]),
    ("flatpak", &["run"]),
    (
        "git",
        &[
            "bisect",
            "difftool",
            "filter-branch",
            "for-each-repo",
            "mergetool",
            "rebase",
            "remote-ext",
            "submodule",
        ],
    ),
    ("just", &["--command", "-c"]),
    ("kubectl", &["exec", "run"]),
    ("mamba", &["run"]),
    ("meson", &["devenv"]),
    ("mix", &["cmd"]),
    ("nix", &["develop", "run", "shell"]),
    ("npm", &["env", "exec", "explore", "x"]),
    ("nx", &["exec"]),
    ("opam", &["exec"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pnpm", &["dlx", "exec"]),
    ("podman", &["exec", "run"]),
    ("poetry", &["run"]),
    ("snap", &["run"]),
    ("stack", &["exec"]),
    ("uv", &["run"]),
    ("yarn", &["dlx", "exec"]),
];

/// Of these how many operands stand between the sub-command and what it runs: a container, a pod.
const OPERANDS: &[(&str, usize)] = &[
    ("bun", 0),
    ("conda", 0),
    ("docker", 1),
    ("kubectl", 1),
    ("mamba", 0),
    ("npm", 0),
    ("pdm", 0),
    ("pipenv", 0),
    ("pnpm", 0),
    ("podman", 1),
    ("poetry", 0),
    ("uv", 0),
    ("yarn", 0),
];

/// Sub-commands that run others of their program.
const RUNNING_OTHERS: &[&str] = &["for-each-repo", "watch"];

/// Options of programs that nothing is known of, behind which a command may stand.
const BEFORE_COMMANDS: &[&str] = &[
    "--",
    "-c",
    "-e",
    "-x",
    "--cmd",
    "--command",
    "--exec",
    "--init-command",
    "--run",
    "--shell",
];

/// Options that name the program which gets the words behind them, and so many words further on.
const NAMING: &[&str] = &["--command", "--coreutils-prog", "--entrypoint"];
const MOST_NAMED: usize = 16;

/// Short options of `xargs` and the like that take no word.
const TAKING_NOTHING: &[&str] = &["-0", "-o", "-p", "-r", "-t", "-x"];

impl Meant {
    /// What a command may run by its words, if it is one that runs commands.
    pub(super) fn run_by(&mut self, command: &[String]) {
        let Some((program, arguments)) = command.split_first() else {
            return;
        };
        let name = base_name(program);
        let by_word = running_word(name, arguments);
        let has = |word: &&&str| arguments.iter().any(|argument| argument == **word);
        if let Some(word) = by_word.and_then(|_| RUNNING_OTHERS.iter().find(has)) {
            let behind = behind(word, arguments).iter();
            let behind: Vec<String> = behind.flat_map(|argument| words_of(argument)).collect();
            for from in 0..behind.len().min(MOST_WORDS) {
                let others = behind[from..].iter().take(MOST_WORDS).cloned();
                self.add(std::iter::once(name.to_owned()).chain(others).collect());
            }
        }
        if by_word.is_none() && !is_starter(name, Starts::ItsWords) {
            if !is_known(name) && !DASHED.contains(&name) {
                self.run_by_unknown(arguments);
            }
            return;
        }
        let is_asked = |word: &String| ["-v", "-V"].contains(&word.as_str());
        if name == "command" && arguments.first().is_some_and(is_asked) {
            return;
        }
        if !command.iter().any(|word| completes(word)) {
            return match command.iter().any(|word| takes_text(base_name(word))) {
                true => {
                    self.add_from_each(words_of(&arguments.join(" ")));
                    self.add_from_each(values::words(arguments));
                    // As they stand, with what only the run can tell.
                    if is_starter(name, Starts::Behind) {
                        self.add_from_each(arguments.to_vec());
                    }
                }
                false => match by_word.zip(OPERANDS.iter().find(|(program, _)| *program == name)) {
                    Some((word, (_, operands))) => self.run_behind(*operands, behind(word, arguments)),
                    None => self.run_by_unknown(arguments),
                },
            };
        }
        for order in orders_of(name, arguments) {
            self.run_completed(name, &order);
        }
    }

    /// What stands behind a sub-command that runs it, and behind so many operands. With options between, any run of the words.
    fn run_behind(&mut self, operands: usize, words: &[String]) {
        let is_plain = |word: &String| !word.starts_with('-') && !word.contains(char::is_whitespace);
        let (front, behind) = words.split_at(operands.min(words.len()));
        let command = behind.strip_prefix(&["--".to_owned()]).unwrap_or(behind);
        if !front.iter().chain(command.first()).all(is_plain) || front.len() < operands {
            return self.run_by_unknown(words);
        }
        self.add(command.to_vec());
        self.run_by(command);
    }

    /// What a program runs that puts words of its own behind these, or in the place of some of them.
    fn run_completed(&mut self, name: &str, arguments: &[String]) {
        let is_text = takes_text(name) || arguments.iter().any(|word| takes_text(base_name(word)));
        let mut words = completed(arguments, is_text);
        // What is put in is the program only where none stands before it.
        let runs =
            |word: &String| word.starts_with('-') || word == UNKNOWN || is_starter(base_name(word), Starts::ItsWords);
        let first = words.iter().position(|word| !runs(word)).unwrap_or(words.len());
        let mut starts: Vec<usize> = beginnings(&words)
            .filter(|from| *from <= first || words[*from] != UNKNOWN)
            .collect();
        // All that is put in may be a command by itself.
        if first == words.len() && words.iter().any(|word| is_starter(base_name(word), Starts::ItsWords)) {
            starts.push(words.len());
            words.extend(anything());
        }
        words.push(UNKNOWN.to_owned());
        self.lists.push((words, starts));
        // What `parallel` is given may be commands by themselves.
        if let Some(at) = arguments.iter().position(|word| word.starts_with(":::")) {
            for word in &arguments[at + 1..] {
                self.add(words_of(word));
            }
        }
    }

    /// What is run under an option that names the program (`docker run --entrypoint=git image push`), with any of the words behind it.
    fn run_named(&mut self, arguments: &[String]) {
        for (at, word) in arguments.iter().enumerate().take(MOST_WORDS) {
            let named = NAMING.iter().find_map(|option| word.strip_prefix(option));
            let (program, behind) = match named {
                Some("") => (arguments.get(at + 1).map(String::as_str), at + 2),
                Some(value) => (value.strip_prefix('='), at + 1),
                None => continue,
            };
            let Some(program) = program else { continue };
            for from in behind..arguments.len().min(behind + MOST_NAMED) {
                self.add([&[program.to_owned()], &arguments[from..]].concat());
            }
        }
    }

    /// What a program that nothing more is known of may run: any run of its words, and what text behind the usual options says.
    /// Of other text, which is for people more often than not, what begins each command.
    fn run_by_unknown(&mut self, arguments: &[String]) {
        self.add_from_each(arguments.to_vec());
        self.run_named(arguments);
        for (at, word) in arguments.iter().enumerate() {
            let has_attached = BEFORE_COMMANDS
                .iter()
                .any(|option| *option != "--" && word.starts_with(option));
            let value = values::of_option(word).unwrap_or(word);
            if !word.contains(char::is_whitespace) {
                // It may begin the command that goes on behind it.
                if has_attached && value != word {
                    let command = std::iter::once(value.to_owned()).chain(arguments[at + 1..].iter().cloned());
                    self.add(command.take(MOST_WORDS).collect());
                }
                continue;
            }
            let before = at.checked_sub(1).map_or("", |before| arguments[before].as_str());
            let option = word.split_once('=').map_or(before, |(option, _)| option);
            if takes_words_for_people(before) || takes_words_for_people(option) {
                continue;
            }
            let is_behind = BEFORE_COMMANDS.contains(&before);
            if is_behind || has_attached {
                self.add_from_each(words_of(word));
                self.add_from_each(words_of(value));
                continue;
            }
            for piece in value.split([';', '&', '|', '\n', '(', ')', '{', '}']) {
                let sets = |word: &String| word.contains('=') && !word.starts_with('-');
                let words: Vec<String> = words_of(piece).into_iter().skip_while(sets).collect();
                if words
                    .first()
                    .is_some_and(|first| is_starter(base_name(first), Starts::ItsWords))
                {
                    self.run_by(&words);
                }
                self.add(words);
            }
        }
    }
}

/// The sub-command or option by which a program runs a command.
fn running_word(name: &str, arguments: &[String]) -> Option<&'static str> {
    let words = RUNNING_BY_WORD.iter().filter(|(program, _)| *program == name);
    let mut words = words.flat_map(|(_, words)| words.iter().copied());
    words.find(|word| arguments.iter().any(|argument| argument == word))
}

/// The arguments that stand behind one of them.
fn behind<'w>(word: &str, arguments: &'w [String]) -> &'w [String] {
    let at = arguments.iter().position(|argument| argument == word);
    at.map_or(&[], |at| &arguments[at + 1..])
}

/// Whether a program of this name completes the command that it runs.
pub(super) fn completes(word: &str) -> bool {
    is_starter(base_name(word), Starts::Completed)
}

/// Whether a command is one of a program that is known and runs no other, so that its words are no commands.
pub(super) fn runs_nothing(command: &[String]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return false;
    };
    let name = base_name(program);
    running_word(name, arguments).is_none()
        && !is_starter(name, Starts::ItsWords)
        && (is_known(name) || DASHED.contains(&name))
}

/// The commands that a program completes: of a search what stands behind these options, else all of its words.
fn orders_of(name: &str, arguments: &[String]) -> Vec<Vec<String>> {
    let orders: &[&str] = match name {
        "find" | "gfind" => &["-exec", "-execdir", "-ok", "-okdir"],
        "fd" | "fdfind" => &["-x", "-X", "--exec", "--exec-batch"],
        _ => return vec![arguments.to_vec()],
    };
    let found = arguments.iter().enumerate().filter_map(|(at, word)| {
        let order = orders.iter().rev().find(|order| word.starts_with(**order))?;
        let attached = word[order.len()..].trim_start_matches('=');
        let first = (!attached.is_empty()).then(|| attached.to_owned());
        Some(first.into_iter().chain(arguments[at + 1..].iter().cloned()).collect())
    });
    found.take(MOST_COMPLETING).collect()
}

/// Where among words that are completed a command may begin: behind options and what they may take, and anywhere behind another program
/// that runs its words.
fn beginnings(words: &[String]) -> std::ops::Range<usize> {
    let may_take = |option: &String| match option.strip_prefix("--") {
        Some(long) => !long.is_empty() && !long.contains('='),
        None => option.starts_with('-') && option.len() == 2 && !TAKING_NOTHING.contains(&option.as_str()),
    };
    let runs = |at: usize| words[at] == UNKNOWN || is_starter(base_name(&words[at]), Starts::ItsWords);
    let ends = |at: usize| !words[at].starts_with('-') && (at == 0 || !may_take(&words[at - 1]));
    match (0..words.len()).find(|at| runs(*at) || ends(*at)) {
        Some(at) if !runs(at) => 0..at + 1,
        _ => 0..words.len(),
    }
}

/// Whether a program that runs others by their words may run text as well: a wrapper that stands in front of a command does not.
pub(super) fn takes_text(name: &str) -> bool {
    is_starter(name, Starts::ItsWords) && (is_starter(name, Starts::Text) || !is_starter(name, Starts::Behind))
}

/// The words of a program that completes a command, with what it puts in unknown. Without a program that takes text each word is one.
fn completed(arguments: &[String], is_text: bool) -> Vec<String> {
    let mut put_in = "{}".to_owned();
    let mut kept: Vec<&String> = Vec::new();
    let mut rest = arguments.iter().take_while(|word| !word.starts_with(":::"));
    while let Some(word) = rest.next() {
        // `xargs -I NAME`, `-INAME`, `-J NAME`, `--replace=NAME`.
        let attached = word.strip_prefix("-I").or_else(|| word.strip_prefix("--replace="));
        match (word.as_str(), attached) {
            ("-I" | "-J", _) => put_in = rest.next().cloned().unwrap_or_default(),
            (_, Some(name)) => put_in = name.to_owned(),
            _ => kept.push(word),
        }
    }
    let is_put_in = |word: &str| word.contains("{}") || !put_in.is_empty() && word.contains(&put_in);
    let words = kept.into_iter().flat_map(|word| match (is_put_in(word), is_text) {
        (true, _) => vec![UNKNOWN.to_owned()],
        (false, true) => words_of(word),
        (false, false) => vec![word.clone()],
    });
    words.collect()
}
