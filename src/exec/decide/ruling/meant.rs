//! All that could be meant by a command, for rules that tighten: as it stands, taken apart, out of what would run it, and where it
//! is not understood every run of its words.

mod git;
mod values;

use crate::exec::command::{Judgement, Part, Starts, base_name, is_known, is_starter, judge, shell_text, with_braces};
use crate::exec::decide::plain;
use crate::exec::program::{fed, orders};
use crate::exec::rules::UNKNOWN;
use std::borrow::Cow;
use std::path::Path;

/// Sub-commands, and options, by which a program runs a command.
const RUNNING_BY_WORD: &[(&str, &[&str])] = &[
    ("bun", &["x"]),
    ("cargo", &["watch"]),
    ("conda", &["run"]),
    ("docker", &["exec", "run"]),
    (
        "git",
        &[
            "bisect",
            "difftool",
            "filter-branch",
            "for-each-repo",
            "mergetool",
            "rebase",
            "submodule",
        ],
    ),
    ("just", &["--command", "-c"]),
    ("kubectl", &["exec", "run"]),
    ("mamba", &["run"]),
    ("nix", &["develop", "run", "shell"]),
    ("npm", &["exec", "x"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pnpm", &["dlx", "exec"]),
    ("podman", &["exec", "run"]),
    ("poetry", &["run"]),
    ("uv", &["run"]),
    ("yarn", &["dlx", "exec"]),
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

/// Programs whose sub-commands may be programs by themselves, named with both.
const DASHED: &[&str] = &["cargo", "docker", "gh", "git", "kubectl"];

/// Longer commands are looked at from each of their words this far, and longer texts are not spread out.
const MOST_WORDS: usize = 256;
const MOST_TEXT: usize = 64 * 1024;
/// So many words of options are nobody's: what is behind them may be anything.
const MOST_OPTIONS: usize = MOST_WORDS / 3;
/// So many commands are looked at that run what is put in; with more of them any may be meant.
const MOST_COMPLETING: usize = 32;
/// The same of commands that are named with a dash.
const MOST_DASHED: usize = 256;

/// A command that may be any.
fn anything() -> Vec<String> {
    vec![UNKNOWN.to_owned(); 32]
}

/// Whether the program of a command is a word that may become several when it runs, by what stands in the same text: a variable that
/// is set there (`c='git push'; $c`), words that are put in its place, or what another command prints.
fn becomes_words(program: &str, text: &str) -> bool {
    let bare = program.trim_matches('"');
    if let Some(inner) = bare.strip_prefix("$(").or_else(|| bare.strip_prefix('`')) {
        let is_whole = bare.ends_with([')', '`']);
        return is_whole && !finds_one(inner.trim_end_matches([')', '`']));
    }
    let Some(name) = bare.strip_prefix('$') else {
        return false;
    };
    let name = match name.strip_prefix('{') {
        Some(braced) => match braced.strip_suffix('}') {
            // What stands for it where it is not set.
            Some(inner) if inner.contains([' ', '\t', '\n']) => return true,
            Some(inner) => inner,
            None => return false,
        },
        None => name,
    };
    let end = name
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(name.len());
    match &name[..end] {
        "" if name.starts_with(['@', '*']) => becomes_several(text, "set"),
        "" => false,
        // Something behind it makes it a part of a word.
        _ if !name[end..].is_empty() && !name[end..].starts_with(['[', ':', '-', '=', '+', '?', '@', '#', '%']) => {
            false
        }
        name => becomes_several(text, name),
    }
}

/// Whether the text of a substitution prints the path of one program, and nothing else.
fn finds_one(inner: &str) -> bool {
    const FINDING: &[&str] = &["command -v ", "type -p ", "which "];
    let is_plain = !inner.contains([';', '|', '&', '\n', '$', '`', '(', '<', '>']);
    is_plain && FINDING.iter().any(|finding| inner.trim_start().starts_with(finding))
}

/// Whether a text has a word by itself, not only as the name of a variable whose value is put in, nor to set it to the path of one
/// program (`X=$(which x)`).
fn becomes_several(text: &str, word: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = &text[..at];
        let after = &text[at + word.len()..];
        let is_value = before.ends_with('$') || before.ends_with("${");
        let set_to = after.strip_prefix('=').map(|value| value.trim_start_matches('"'));
        let inner = set_to.and_then(|value| value.strip_prefix("$(")?.split_once(')'));
        let is_path = inner.is_some_and(|(inner, behind)| {
            finds_one(inner)
                && !behind
                    .trim_start_matches('"')
                    .starts_with(|c: char| is_of_name(c) || "/.$`".contains(c))
        });
        !is_value && !is_path && !before.ends_with(is_of_name) && !after.starts_with(is_of_name)
    })
}

/// All that could be meant by a command.
#[derive(Debug, Default)]
pub(super) struct Meant {
    /// Words, and where in them a command may begin.
    lists: Vec<(Vec<String>, Vec<usize>)>,
}

impl Meant {
    /// All that could be meant. A word that only the run can tell stands as its source, or as [`UNKNOWN`].
    pub(super) fn of(argv: &[String], (cwd, home): (&Path, Option<&Path>), judgement: &Judgement) -> Self {
        let mut meant = Self::default();
        meant.found_in(argv, judgement);
        // What a shell makes of the text before it takes it apart: a line that goes on, and braces.
        let joined: Vec<String> = argv.iter().map(|word| word.replace("\\\n", "")).collect();
        let spread: Vec<String> = match shell_text(argv) {
            Some(_) => joined.iter().map(|word| with_braces(word)).collect(),
            None => joined.clone(),
        };
        let is_short = |argv: &Vec<String>| argv.iter().map(String::len).sum::<usize>() <= MOST_TEXT;
        for other in [joined, spread].into_iter().filter(is_short) {
            if other != argv {
                meant.found_in(&other, &judge(&other, cwd));
            }
        }
        let dashed = meant.commands().filter_map(|command| without_dash(&command));
        let dashed: Vec<Vec<String>> = dashed.take(MOST_DASHED).collect();
        if dashed.len() == MOST_DASHED {
            meant.add(anything());
        }
        for command in dashed {
            meant.add(command);
        }
        let standing = git::Standing {
            folders: git::folders(meant.commands(), cwd),
            home,
            brings_settings: argv.iter().any(|word| git::brings_settings(word)),
        };
        let of_git = meant.commands().flat_map(|command| standing.meant(&command));
        let of_git: Vec<Vec<String>> = of_git.take(MOST_DASHED).collect();
        for command in of_git {
            meant.add_from_each(command);
        }
        meant
    }

    /// Each command. Where one is too long to be looked at, what is left of it is [`UNKNOWN`].
    pub(super) fn commands(&self) -> impl Iterator<Item = Cow<'_, [String]>> {
        self.lists.iter().flat_map(|(words, starts)| {
            let mut options = vec![0usize];
            options.extend(words.iter().scan(0, |count, word| {
                *count += usize::from(word.starts_with(['-', '+']) || word.contains(['$', '`']));
                Some(*count)
            }));
            starts.iter().map(move |from| {
                let to = words.len().min(from + MOST_WORDS);
                let goes_on = to < words.len() && options[to] - options[*from] >= MOST_OPTIONS;
                match (starts.len() == 1, goes_on) {
                    (true, _) => Cow::Borrowed(&words[*from..]),
                    (false, false) => Cow::Borrowed(&words[*from..to]),
                    (false, true) => {
                        let mut cut = words[*from..to].to_vec();
                        cut.push(UNKNOWN.to_owned());
                        Cow::Owned(cut)
                    }
                }
            })
        })
    }

    fn add(&mut self, command: Vec<String>) {
        if !command.is_empty() {
            self.lists.push((command, vec![0]));
        }
    }

    /// Each run of the words up to their end.
    fn add_from_each(&mut self, words: Vec<String>) {
        let starts = (0..words.len()).collect();
        self.lists.push((words, starts));
    }

    /// As far as one reading goes.
    fn found_in(&mut self, argv: &[String], judgement: &Judgement) {
        let text = shell_text(argv);
        let plain: Option<Vec<Vec<String>>> =
            plain::commands(argv).map(|plain| plain.into_iter().map(|command| command.words).collect());
        let mut commands: Vec<Vec<String>> = plain.iter().flatten().cloned().collect();
        // Of text that is too long to be taken apart, or to be shown, the parts are not all that it says.
        let is_cut = |part: &Part| part.argv.is_empty() && part.text.ends_with('…');
        if judgement.parts.iter().any(is_cut) {
            let whole = argv.join(" ").replace("\\\n", "");
            self.add_from_each(words_of(&with_braces(&whole)));
            self.add_from_each(words_of(&whole));
        }
        if judgement.runs_untold {
            self.add(anything());
        }
        for words in &judgement.taken_off {
            self.add(words.clone());
        }
        for part in &judgement.parts {
            let words = words_of(&part.text);
            // What is put in by a wrapper that was taken off.
            if part.argv.iter().any(|word| word.contains("{}")) {
                let put_in = |word: &String| match word.contains("{}") {
                    true => UNKNOWN.to_owned(),
                    false => word.clone(),
                };
                self.add(part.argv.iter().map(put_in).collect());
            }
            if part.argv.is_empty() || plain.is_none() && judgement.parts.len() == 1 {
                let runs = |word: &String| is_starter(base_name(word), Starts::ItsWords);
                let completes = |word: &String| is_starter(base_name(word), Starts::Completed);
                let completing = (0..words.len()).filter(|at| completes(&words[*at]));
                let starts = words.iter().position(runs).into_iter().chain(completing);
                for (count, at) in starts.enumerate() {
                    if count > MOST_COMPLETING {
                        self.add(anything());
                        break;
                    }
                    self.run_by(&words[at..]);
                }
                self.add_from_each(words);
            } else if plain.is_some() {
                // A wrapper was taken off, and there may be a rule on it. What it runs is among the plain words.
                self.add(words);
            } else {
                commands.push(words);
            }
            if let Some(program) = part.argv.first()
                && becomes_words(program, text.unwrap_or_default())
            {
                self.add(anything());
            }
            commands.push(part.argv.clone());
        }
        for command in values::renamed(&commands) {
            self.add(command);
        }
        let of_words = commands.iter().flatten().filter_map(|word| values::of_variable(word));
        let of_text = text.filter(|_| plain.is_none()).map(values::of_variables);
        let held: Vec<String> = of_words
            .chain(of_text.into_iter().flatten())
            .map(str::to_owned)
            .collect();
        for value in held {
            self.held(&value);
        }
        for order in text.map(fed).unwrap_or_default() {
            self.add_from_each(words_of_code(&order));
        }
        // Whatever is made of a wrapper elsewhere: here any of its words may begin the command that it runs.
        for command in commands {
            for order in orders(&command) {
                self.add_from_each(words_of_code(&order));
            }
            self.run_by(&command);
            self.add(command);
        }
        // Of text that is more than plain words the wrappers are taken off already, and what they add is not seen.
        if let (None, Some(text)) = (&plain, text) {
            let pieces = text.split([';', '&', '|', '\n', '(', ')', '{', '}']).map(words_of);
            for piece in pieces {
                let runs = |word: &String| is_starter(base_name(word), Starts::ItsWords);
                if let Some(at) = piece.iter().position(runs) {
                    self.run_by(&piece[at..]);
                }
            }
        }
        self.add(argv.to_vec());
    }

    /// What a variable holds that a program runs: the beginning of each command in it.
    fn held(&mut self, value: &str) {
        if value.contains("<(") {
            self.add(anything());
        }
        for piece in value.split([';', '&', '|', '\n', '(', ')', '{', '}', '`']) {
            let words = words_of(piece);
            self.run_by(&words);
            self.add(words);
        }
    }

    /// What a command may run by its words, if it is one that runs commands.
    fn run_by(&mut self, command: &[String]) {
        let Some((program, arguments)) = command.split_first() else {
            return;
        };
        let name = base_name(program);
        let words_that_run = RUNNING_BY_WORD.iter().filter(|(program, _)| *program == name);
        let has = |word: &&&str| arguments.iter().any(|argument| argument == **word);
        let by_word = words_that_run.flat_map(|(_, words)| *words).find(has);
        if let Some(word) = by_word.and_then(|_| RUNNING_OTHERS.iter().find(has)) {
            let behind = arguments
                .iter()
                .skip_while(|argument| argument.as_str() != *word)
                .skip(1);
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
        let completes = |word: &String| is_starter(base_name(word), Starts::Completed);
        if !command.iter().any(completes) {
            return match command.iter().any(|word| takes_text(base_name(word))) {
                true => {
                    self.add_from_each(words_of(&arguments.join(" ")));
                    self.add_from_each(values::words(arguments));
                }
                false => self.run_by_unknown(arguments),
            };
        }
        let mut words = completed(arguments);
        // What is put in is the program only where none stands before it.
        let runs =
            |word: &String| word.starts_with('-') || word == UNKNOWN || is_starter(base_name(word), Starts::ItsWords);
        let first = words.iter().position(|word| !runs(word)).unwrap_or(words.len());
        let mut starts: Vec<usize> = (0..words.len())
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

    /// What a program that nothing more is known of may run: any run of its words, and what text behind the usual options says.
    /// Of other text, which is for people more often than not, what begins each command.
    fn run_by_unknown(&mut self, arguments: &[String]) {
        self.add_from_each(arguments.to_vec());
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
            let is_behind = at > 0 && BEFORE_COMMANDS.contains(&arguments[at - 1].as_str());
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

/// Whether a program that runs others by their words may run text as well: a wrapper that stands in front of a command does not.
fn takes_text(name: &str) -> bool {
    is_starter(name, Starts::ItsWords) && (is_starter(name, Starts::Text) || !is_starter(name, Starts::Behind))
}

/// The words of a program that completes a command, with what it puts in unknown.
fn completed(arguments: &[String]) -> Vec<String> {
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
    let words = kept.into_iter().flat_map(|word| match is_put_in(word) {
        true => vec![UNKNOWN.to_owned()],
        false => words_of(word),
    });
    words.collect()
}

/// `git-push` as `git push`.
fn without_dash(command: &[String]) -> Option<Vec<String>> {
    let (program, arguments) = command.split_first()?;
    let (front, sub_command) = base_name(program).split_once('-')?;
    let words = [front, sub_command].map(str::to_owned).into_iter();
    DASHED
        .contains(&front)
        .then(|| words.chain(arguments.iter().cloned()).collect())
}

/// The words of a text without what quotes, joins and substitutes.
fn words_of(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || ";&|(){}<>`$\"'\\".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The words of code, of whatever language: also what stands in its lists, calls and options.
fn words_of_code(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || ";&|(){}<>`$\"'\\,[]=:!+@".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}
