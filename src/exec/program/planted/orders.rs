//! What a command gives a program to run as text: code of an interpreter, orders in options, and scripts of programs that have a
//! language of their own. Found in whatever a rule denies by its words; what code makes of other text only its run can tell.

use super::runners::{self, Behind};
use super::text;
use crate::exec::command::base_name;

const AWKS: &str = "awk gawk goawk mawk nawk";
const SEDS: &str = "sed gsed ssed";
/// Programs whose plain words may be scripts with orders in them, and what orders begin with; any text where nothing stands.
const SCRIPTS: &[(&str, &[&str])] = &[
    (AWKS, &["system", "|", "getline"]),
    ("ed ex gvim less more most nvim vi view vim", &["+"]),
    ("gh glab", &["!"]),
    (
        "duckdb mariadb mysql psql sqlite3",
        &[".shell", ".system", ".sh ", "\\!", "system", "edit("],
    ),
    ("socat", &["exec:", "system:", "shell:"]),
    ("tclsh wish expect", &["exec", "spawn"]),
];
/// Sub-commands behind which code stands.
const CODE_BY_WORD: &[(&str, &str)] = &[("bun crystal deno", "eval")];
/// Programs that run what is put into their input, beside interpreters.
const RUNNING_INPUT: &str = "at batch bun bwrap clj dc deno duckdb ed erl ex flask ftp gdb ghci gnuplot gp guile iex irb jshell julia lftp lldb \
                             mail mailx mariadb maxima mongosh mysql nvim octave parallel psql r rails screen sendmail sftp sqlite3 swipl tmux utop \
                             uv vi view vim";
/// What stands in code that runs other commands: text that it gets beside may be one.
const RUNNING_CODE: &[&str] = &[
    "eval",
    "exec",
    "getline",
    "popen",
    "qx",
    "spawn",
    "subprocess",
    "system",
    "`",
];
/// Programs whose script is a file behind `-f`, which may be their input.
const SCRIPT_FILES: &[&str] = &[AWKS, SEDS, "bmake gmake just make ninja"];
/// Names of the input.
const INPUTS: &[&str] = &["-", "/dev/fd/0", "/dev/stdin", "/proc/self/fd/0"];
/// More words of one command are not looked at.
const MOST_WORDS: usize = 2_000;

fn is_among(name: &str, names: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

/// The texts that the arguments of a command give its program to run.
pub(in crate::exec) fn orders(words: &[String]) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let name = base_name(program).to_lowercase();
    let arguments = &arguments[..arguments.len().min(MOST_WORDS)];
    let mut found = Vec::new();
    if let Some(by) = runners::interpreter(program).filter(|by| !by.is_shell) {
        for (at, word) in arguments.iter().enumerate().filter(|(_, word)| word.starts_with('-')) {
            match by.behind(word) {
                Behind::Code => found.extend(arguments.get(at + 1).cloned()),
                Behind::OwnCode(code) => found.push(code.to_owned()),
                _ => {}
            }
        }
    }
    // Sub-commands are no options, and what stands behind them is another sort of word.
    let options = runners::options(words);
    for option in options.iter().filter(|option| option.starts_with('-')) {
        let values = arguments
            .iter()
            .enumerate()
            .filter_map(|(at, word)| runners::value_of(option, word, &arguments[at + 1..]));
        found.extend(values);
    }
    if let Some((_, eval)) = CODE_BY_WORD.iter().find(|(names, _)| is_among(&name, names))
        && let Some(at) = arguments.iter().position(|word| word == eval)
    {
        found.extend(
            arguments[at + 1..]
                .iter()
                .filter(|word| !word.starts_with('-'))
                .cloned(),
        );
    }
    if is_among(&name, SEDS) {
        found.extend(scripts_of_sed(arguments).into_iter().filter_map(of_sed));
    }
    // `ext::program words` is an address that is run, and `SHELL=x` what lines of a makefile are run by.
    let run = arguments.iter().filter_map(|word| match name.as_str() {
        "git" => word.split_once("ext::").map(|(_, run)| run.replace("% ", " ")),
        "bmake" | "gmake" | "make" => word.strip_prefix("SHELL=").map(str::to_owned),
        _ => None,
    });
    found.extend(run);
    if let Some((_, signs)) = SCRIPTS.iter().find(|(names, _)| is_among(&name, names)) {
        let is_script = |word: &&String| {
            let word = word.to_lowercase();
            signs.iter().any(|sign| match *sign {
                "+" => word.starts_with('+'),
                sign => word.contains(sign),
            })
        };
        found.extend(arguments.iter().filter(is_script).cloned());
    }
    if is_code_of(program, &name) && found.iter().any(|code| runs_others(code)) {
        let beside: Vec<&str> = arguments
            .iter()
            .filter(|word| !found.contains(word))
            .map(String::as_str)
            .collect();
        if beside.iter().any(|word| !word.starts_with('-')) {
            found.push(beside.join(" "));
        }
    }
    found
}

/// Whether what `orders` finds of a program is code, which may run what it is given beside.
fn is_code_of(program: &str, name: &str) -> bool {
    let is_interpreter = runners::interpreter(program).is_some_and(|by| !by.is_shell);
    is_interpreter || is_among(name, AWKS) || is_among(name, "tclsh wish expect")
}

fn runs_others(code: &str) -> bool {
    RUNNING_CODE.iter().any(|word| code.contains(word))
}

/// Long options of `sed` that take a value, which may be cut short as far as no other begins so, and their letters.
const SED_VALUES: &[(&str, char)] = &[("expression", 'e'), ("file", 'f'), ("line-length", 'l')];

/// An option of `sed` that takes a value, and the value where it stands in the same word. Of letters together the first counts.
fn option_of_sed(word: &str) -> Option<(char, Option<&str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long
            .split_once('=')
            .map_or((long, None), |(name, value)| (name, Some(value)));
        let fits = |full: &str| full.starts_with(name) && !name.is_empty();
        let (_, letter) = SED_VALUES.iter().find(|(full, _)| fits(full))?;
        return (!fits("follow-symlinks")).then_some((*letter, value));
    }
    let letters = word.strip_prefix('-')?;
    // What stands behind `i` is the end of a name, not letters.
    let (at, letter) = letters.char_indices().find(|(_, letter)| "efil".contains(*letter))?;
    let value = &letters[at + 1..];
    (letter != 'i').then_some((letter, (!value.is_empty()).then_some(value)))
}

/// The scripts among the arguments of `sed`: those behind `-e`, else the first word that is no option.
fn scripts_of_sed(arguments: &[String]) -> Vec<&str> {
    let mut words = arguments.iter().map(String::as_str);
    let (mut scripts, mut operands, mut is_named) = (Vec::new(), Vec::new(), false);
    while let Some(word) = words.next() {
        match option_of_sed(word) {
            _ if word == "--" => operands.extend(words.by_ref()),
            Some((letter, value)) => {
                let value = value.or_else(|| words.next());
                scripts.extend(value.filter(|_| letter == 'e'));
                is_named |= letter != 'l';
            }
            None if !word.starts_with('-') => operands.push(word),
            None => {}
        }
    }
    scripts.extend(operands.first().filter(|_| !is_named));
    scripts
}

/// What `sed` runs of a script: the command `e`, and what `s` puts in with the flag `e`. Without any text where it runs lines that it
/// reads.
fn of_sed(script: &str) -> Option<String> {
    let pieces = script.split(['\n', ';', '{', '}']);
    let orders = pieces.filter_map(|piece| {
        let command = behind_addresses(piece);
        let mut letters = command.chars();
        match (letters.next(), letters.next()) {
            (Some('e'), None) => Some(String::new()),
            (Some('e'), Some(next)) if next.is_whitespace() || next == '.' || next == '/' => {
                Some(letters.as_str().to_owned())
            }
            (Some('s'), Some(sign)) if !sign.is_alphanumeric() => {
                let flags = command.rsplit(sign).next().unwrap_or_default();
                let runs = flags.contains('e') && flags.chars().all(|c| c.is_ascii_alphanumeric());
                runs.then(|| letters.as_str().replace(sign, " "))
            }
            _ => None,
        }
    });
    let orders: Vec<String> = orders.collect();
    (!orders.is_empty()).then(|| orders.join(" ; "))
}

/// Whether a script among these arguments of `sed` names a file to read or write, or cannot be taken apart and may.
pub(in crate::exec) fn sed_names_files(arguments: &[String]) -> bool {
    let names_one = |script: &str| {
        let command = behind_addresses(script);
        let mut letters = command.chars();
        let mut pieces = script.split(['\n', ';', '{', '}']);
        if pieces.any(|piece| behind_addresses(piece).starts_with(['r', 'R'])) {
            return true;
        }
        match (letters.next(), letters.next()) {
            _ if script.contains(['\n', ';', '{', '}']) => script.contains(['w', 'W']),
            (Some('s'), Some(sign)) if !sign.is_alphanumeric() => flags_of(letters.as_str(), sign).contains('w'),
            (Some(letter), _) => !"=FabcDdGgHhilNnPpQqtvxyz".contains(letter) && script.contains(['w', 'W']),
            (None, _) => false,
        }
    };
    scripts_of_sed(arguments).into_iter().any(names_one)
}

/// What stands behind the second of these signs that has no backslash in front.
fn flags_of(text: &str, sign: char) -> &str {
    let (mut left, mut is_escaped) = (2, false);
    for (at, letter) in text.char_indices() {
        left -= usize::from(letter == sign && !is_escaped);
        is_escaped = letter == '\\' && !is_escaped;
        if left == 0 {
            return &text[at + letter.len_utf8()..];
        }
    }
    ""
}

/// A command of `sed` without the numbers and patterns in front that choose lines.
fn behind_addresses(piece: &str) -> &str {
    let mut rest = piece;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || " \t$,~+!".contains(c));
        let Some(pattern) = rest.strip_prefix('/') else {
            return rest;
        };
        let is_end = |at: usize| !pattern[..at].ends_with('\\');
        let end = pattern.match_indices('/').map(|(at, _)| at).find(|at| is_end(*at));
        rest = end.map_or("", |at| &pattern[at + 1..]);
    }
}

/// The texts that shell text puts into the input of programs, other than shells, that run what they read.
pub(in crate::exec) fn fed(text: &str) -> Vec<String> {
    let text = text::read(text);
    let mut found = Vec::new();
    for written in text.commands.iter().filter(|one| one.is_piped || !one.fed.is_empty()) {
        let starts = runners::beginnings(&written.words);
        if starts.iter().any(|at| runs_input(&written.words[*at..])) {
            found.extend(written.fed.iter().cloned());
            if written.is_piped {
                found.push(text.piped.join(" "));
            }
        }
    }
    found
}

/// Whether a program runs what it reads: it is given nothing else to run.
fn runs_input(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let name = base_name(program).to_lowercase();
    let is_input = |word: &str| INPUTS.contains(&word);
    let is_file = |word: &String| !word.starts_with('-') && !is_input(word);
    if SCRIPT_FILES.iter().any(|names| is_among(&name, names)) {
        let mut words = arguments.iter().enumerate();
        let reads = words.any(|(at, word)| {
            let attached = ["-f", "--file=", "--makefile="]
                .iter()
                .find_map(|option| word.strip_prefix(option));
            attached.is_some_and(is_input) || is_input(word) && at > 0 && arguments[at - 1].starts_with('-')
        });
        if reads {
            return true;
        }
    }
    if name == "xargs" {
        return arguments.iter().any(|word| runners::interpreter(word).is_some());
    }
    if is_among(&name, SEDS) {
        return scripts_of_sed(arguments)
            .into_iter()
            .any(|script| of_sed(script).is_some());
    }
    let given = orders(words);
    let is_interpreter = runners::interpreter(program).is_some_and(|by| !by.is_shell);
    let is_script = arguments.iter().find(|word| !word.starts_with('-') || is_input(word));
    let reads_script =
        given.is_empty() && (is_script.is_some_and(|word| is_input(word)) || !arguments.iter().any(is_file));
    let runs_lines = is_code_of(program, &name) && given.iter().any(|code| runs_others(code));
    is_among(&name, RUNNING_INPUT) || runs_lines || is_interpreter && reads_script
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let read = text::read(text).commands.into_iter().next();
        read.expect("a command").words
    }

    #[test]
    fn what_programs_are_given_to_run() {
        for (command, expected) in [
            ("python3 -c 'os.system(\"x\")'", &["os.system(\"x\")"][..]),
            ("python3 -Bc 'x' a", &["x"]),
            ("python3 x.py -c y", &["y"]),
            ("perl -ne 'print' f", &["print"]),
            ("perl -e 'system @ARGV' git push", &["system @ARGV", "-e git push"]),
            ("awk -v c=x 'BEGIN{system(c)}'", &["BEGIN{system(c)}", "-v c=x"]),
            ("node --eval=x", &["x"]),
            ("sh -c x", &[]),
            ("tar --to-command='git push' -xf a", &["git push"]),
            ("tar -cf a --checkpoint-action=exec=x b", &["exec=x"]),
            ("git commit -m 'git push'", &[]),
            ("git log --grep=push", &[]),
            ("apt install rm", &[]),
            ("sed '1e git push' f", &["git push"]),
            ("sed -n '/a/ e date' f", &["date"]),
            ("sed 's/x/git push/e' f", &["x git push e"]),
            ("sed -e'1e git push' f", &["git push"]),
            ("sed --expression='1e git push' f", &["git push"]),
            ("sed '/x/s//git push/e' f", &[" git push e"]),
            ("sed '/a\\/e/,/b/e date' f", &["date"]),
            ("sed '/a/d; /e/p' f", &[]),
            ("sed 's/git push/x/g; s/e/e/' f", &[]),
            ("sed -i 's|a|rm|' e", &[]),
            ("sed -ne '1e date' f", &["date"]),
            ("sed -n -l 5 '1e date' f", &["date"]),
            ("sed --expr='1e date' -- f", &["date"]),
            ("sed -i.bak -e p '1e date'", &[]),
            ("sed -f p '1e date'", &["p"]),
            ("sed --follow-symlinks '1e date' f", &["date"]),
            ("sed --line=5 '1e date' f", &["date"]),
            ("sed -sEi.e '1e date' f", &["date"]),
            ("sed -- '1e date' f", &["date"]),
            ("awk 'BEGIN{system(\"x\")}'", &["BEGIN{system(\"x\")}"]),
            ("awk '{print $1}' f", &[]),
            ("vim '+!x' f", &["+!x"]),
            ("sqlite3 f '.shell x'", &[".shell x"]),
            ("sqlite3 f 'select 1'", &[]),
            ("socat - EXEC:'x y'", &["EXEC:x y"]),
            ("nc -e 'x' h 1", &["x"]),
        ] {
            assert_eq!(orders(&words(command)), expected, "{command}");
        }
    }

    #[test]
    fn what_is_put_into_programs_that_run_it() {
        for (text, expected) in [
            ("python3 <<< 'x'", &["x"][..]),
            ("python3 - <<< 'x'", &["x"]),
            ("python3 x.py <<< 'y'", &[]),
            ("python3 -c y <<< 'x'", &[]),
            ("make -f - <<< 'a:'", &["a:"]),
            ("make a <<< 'b'", &[]),
            ("echo 'x y' | parallel", &["echo x y"]),
            ("sqlite3 f <<E\n.shell x\nE", &[".shell x\n"]),
            ("xargs -I{} sh -c {} <<< 'x'", &["x"]),
            ("xargs cat <<< 'x'", &[]),
            ("echo x | sed e", &["echo x"]),
            ("echo x | sed 's/a/b/'", &[]),
            ("cat <<< x", &[]),
            ("bash <<< x", &[]),
        ] {
            assert_eq!(fed(text), expected, "{text}");
        }
    }
}
