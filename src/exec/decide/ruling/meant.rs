//! All that could be meant by a command, for rules that tighten: as it stands, taken apart, out of what would run it, and where it
//! is not understood every run of its words.

mod git;
mod running;
mod values;

use crate::exec::command::{Judgement, Part, Starts, base_name, is_starter, judge, shell_text, with_braces};
use crate::exec::decide::plain;
use crate::exec::program::{fed, orders};
use crate::exec::rules::UNKNOWN;
use running::{completes, runs_nothing, takes_text};
use std::borrow::Cow;
use std::path::Path;

/// Programs whose sub-commands may be programs by themselves, named with both.
const DASHED: &[&str] = &["cargo", "docker", "gh", "git", "kubectl"];

/// Longer commands are looked at from each of their words this far, and longer texts are not spread out.
const MOST_WORDS: usize = 256;
const MOST_TEXT: usize = 64 * 1024;
/// So many words of options are nobody's: what is behind them may be anything.
const MOST_OPTIONS: usize = MOST_WORDS / 3;
/// So many commands are looked at that run what is put in; with more of them any may be meant.
const MOST_COMPLETING: usize = 32;
/// So many words one may become.
const MOST_SPLIT: usize = 4;
/// The same of commands that are named with a dash.
const MOST_DASHED: usize = 256;

/// Escapes in code that stand for blanks.
const BLANKS: &[&str] = &["\\n", "\\t", "\\x20", "\\040", "\\u0020"];

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
        for command in standing.all_meant(meant.commands()) {
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

    /// Each run of the words of code, with values apart from their names and with both as one word (`git -c a=b push`); also with the
    /// escapes that stand for blanks read as such, and what a statement has in quotes without what is between
    /// (`Command("git", {args: ["push"]})`).
    fn add_code(&mut self, code: &str) {
        let spaced = BLANKS
            .iter()
            .fold(code.to_owned(), |code, blank| code.replace(blank, " "));
        for signs in ["=:+@", ""] {
            self.add_from_each(words_of_code(code, signs));
            if spaced != code {
                self.add_from_each(words_of_code(&spaced, signs));
            }
        }
        for statement in spaced.split([';', '\n']) {
            let quoted: Vec<String> = in_quotes(statement).flat_map(words_of).collect();
            if quoted.len() > 1 {
                self.add_from_each(quoted);
            }
        }
    }

    /// As far as one reading goes.
    fn found_in(&mut self, argv: &[String], judgement: &Judgement) {
        let text = shell_text(argv);
        let is_taken_off = |command: &Vec<String>| {
            let is_hidden = judgement.parts.iter().any(|part| part.argv == *command);
            let name = base_name(command.first().map_or("", String::as_str));
            // Of others where their command begins is less sure: sub-commands and folders may stand in front.
            is_starter(name, Starts::AnyTail) && judgement.taken_off.contains(command) && !is_hidden
        };
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
            if words.iter().any(|word| completes(word)) {
                self.run_by(words);
            }
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
            if part.argv.is_empty() || plain.is_none() && judgement.parts.len() == 1 && !runs_nothing(&part.argv) {
                let runs = |word: &String| is_starter(base_name(word), Starts::ItsWords);
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
            if text.is_some() {
                self.split_by_values(part);
            }
            if let Some(program) = part.argv.first()
                && becomes_words(program, text.unwrap_or_default())
            {
                self.add(anything());
            }
            commands.push(as_quoted(part));
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
        // Where a shell reckons, or takes a text for a name, it runs what is put in there also out of quotes: `[ -v 'a[$(x)]' ]`.
        let spoken = text.map(without_documents).unwrap_or_default();
        for inner in substituted(&spoken) {
            self.add_from_each(words_of_code(inner, "=:+@"));
        }
        for value in held {
            self.held(&value);
        }
        for order in text.map(fed).unwrap_or_default() {
            self.add_code(&order);
        }
        // Git runs what comes nearest to a sub-command that it does not know.
        if argv
            .iter()
            .any(|word| word.to_ascii_lowercase().contains("help.autocorrect"))
        {
            let unknown = std::iter::repeat_n(UNKNOWN.to_owned(), MOST_SPLIT);
            self.add(std::iter::once("git".to_owned()).chain(unknown).collect());
        }
        // Whatever is made of a wrapper elsewhere: here any of its words may begin the command that it runs.
        for command in commands {
            for order in orders(&command) {
                self.add_code(&order);
            }
            if !is_taken_off(&command) || takes_text(base_name(command.first().map_or("", String::as_str))) {
                self.run_by(&command);
            }
            self.add(command);
        }
        // Of text that cannot be taken apart no wrapper is taken off.
        let is_untold = judgement.parts.iter().any(|part| part.argv.is_empty());
        if let (None, Some(text)) = (&plain, text.filter(|_| is_untold)) {
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

    /// The words of a part, of which one that may be a program becomes several where a value is put into it: `git${IFS}push`.
    fn split_by_values(&mut self, part: &Part) {
        let runs = |word: &str| {
            [Starts::ItsWords, Starts::Behind]
                .iter()
                .any(|how| is_starter(base_name(word), *how))
        };
        for (at, word) in part.argv.iter().enumerate() {
            let front = word.split(['$', '`']).next().unwrap_or_default();
            let is_split = !front.is_empty() && front.len() < word.len() && !front.contains('"');
            if !is_split || part.whole.contains(&at) || at > 0 && !runs(&part.argv[0]) {
                continue;
            }
            let unknown = std::iter::repeat_n(UNKNOWN.to_owned(), MOST_SPLIT);
            let words = [front.to_owned()].into_iter().chain(unknown);
            let words: Vec<String> = words.chain(part.argv[at + 1..].iter().cloned()).collect();
            match runs(front) {
                true => self.add_from_each(words),
                false => self.add(words),
            }
        }
    }

    /// What a variable holds that a program runs: the beginning of each command in it.
    fn held(&mut self, value: &str) {
        if value.contains("<(") {
            self.add(anything());
        }
        for piece in value.split([';', '&', '|', '\n', '(', ')', '{', '}', '`']) {
            let words = words_of(piece);
            self.run_by(&words);
            self.add_from_each(words);
        }
    }
}

/// The words of a part, those in quotes that are one word each.
fn as_quoted(part: &Part) -> Vec<String> {
    let mut words = part.argv.clone();
    for at in &part.whole {
        if let Some(word) = words.get_mut(*at).filter(|word| !word.contains('"')) {
            *word = format!("\"{word}\"");
        }
    }
    words
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

/// A text without the here-documents in which nothing is put in (`<<'E'`).
fn without_documents(text: &str) -> String {
    let mut kept = Vec::new();
    let mut lines = text.split('\n');
    while let Some(line) = lines.next() {
        kept.push(line);
        let quoted = line.split("<<").skip(1).find_map(|behind| {
            let word = behind.trim_start_matches(['-', ' ', '\t']);
            let is_quoted = word.starts_with(['\'', '"', '\\']);
            let name: String = word
                .chars()
                .skip(1)
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            (is_quoted && !name.is_empty()).then_some(name)
        });
        let is_end = |line: &str| {
            quoted
                .as_ref()
                .is_some_and(|name| line.trim_start_matches('\t') == name)
        };
        // One without an end is none.
        if lines.clone().any(is_end) {
            lines.by_ref().find(|line| is_end(line));
        }
    }
    kept.join("\n")
}

/// What stands in substitutions of a text, in quotes or not.
fn substituted(text: &str) -> impl Iterator<Item = &str> {
    let in_brackets = text
        .split("$(")
        .skip(1)
        .map(|inner| inner.split(')').next().unwrap_or(inner));
    let in_backquotes = text.split('`').skip(1).step_by(2);
    in_brackets.chain(in_backquotes).take(MOST_COMPLETING)
}

/// The words of a text without what quotes, joins, substitutes and calls (`!git` of an editor, `^git` of Nushell).
fn words_of(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || ";&|(){}<>`$\"'\\!^".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// What stands in quotes of a line of code.
fn in_quotes(code: &str) -> impl Iterator<Item = &str> {
    let mut rest = code;
    std::iter::from_fn(move || {
        let at = rest.find(['"', '\'', '`'])?;
        let quote = rest[at..].chars().next()?;
        let inner = &rest[at + 1..];
        let (inner, behind) = inner.split_once(quote).unwrap_or((inner, ""));
        rest = behind;
        Some(inner)
    })
}

/// The words of code, of whatever language: also what stands in its lists and calls, and between these signs.
fn words_of_code(text: &str, signs: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || ";&|(){}<>`$\"'\\,[]!^".contains(c) || signs.contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}
