//! The text that commands print where their words tell all of it, for what is fed by a pipe.

use super::script::{Feed, Script, Simple};
use super::word::Word;
use super::{base_name, has_usual_place};

/// So many pipes in a row are followed.
const MOST_PIPES: usize = 16;
/// Longer text is not put together.
const MAX_TEXT: usize = 64 * 1024;

/// Print nothing, whatever they are given.
const SILENT: &[&str] = &[":", "[", "false", "sleep", "test", "true"];
/// Make programs mean something else, or have what follows read from elsewhere.
const CHANGING: &[&str] = &["alias", "enable", "exec", "hash"];

/// What is fed to a command; what a pipe brings can be told where it comes from text in the script.
pub(super) fn feed_of(simple: &Simple, all: &[Simple]) -> Feed {
    passed_on(simple, all, MOST_PIPES).map_or_else(|| simple.feed.clone(), Feed::Text)
}

/// What a command prints, if its words tell it.
pub(super) fn said(simple: &Simple, all: &[Simple]) -> Option<String> {
    printed(simple, all, MOST_PIPES)
}

/// Of each command of a script, whether more may be fed to it than is told.
pub(super) fn untold_feeds(script: &Script<'_>, all: &[Simple]) -> Vec<bool> {
    let changes = |simple: &Simple| {
        let program = simple.words.first();
        program.is_some_and(|program| CHANGING.contains(&program.text.as_str()))
    };
    let is_changed = script.has(&["function_definition"]) || all.iter().any(changes);
    let mut untold = Vec::with_capacity(all.len());
    for simple in all {
        let is_untold = simple.is_untold
            || match &simple.feed {
                Feed::Text(_) => false,
                Feed::Nothing => is_changed,
                Feed::Pipe(sources) => {
                    is_changed
                        || sources.iter().any(|at| untold.get(*at) == Some(&true))
                        || matches!(feed_of(simple, all), Feed::Pipe(_))
                }
            };
        untold.push(is_untold);
    }
    untold
}

/// The text that comes in.
fn passed_on(simple: &Simple, all: &[Simple], most: usize) -> Option<String> {
    let sources = match &simple.feed {
        Feed::Text(text) => return Some(text.clone()),
        Feed::Pipe(sources) if most > 0 && !simple.is_untold => sources,
        _ => return None,
    };
    let is_silent = |simple: &Simple| {
        let program = simple.words.first().and_then(Word::exact);
        program.is_some_and(|program| SILENT.contains(&program))
    };
    let sources = sources.iter().map(|at| all.get(*at));
    let mut speaking = sources.filter(|source| !source.is_some_and(is_silent));
    match (speaking.next(), speaking.next()) {
        (Some(Some(source)), None) => printed(source, all, most - 1),
        _ => None,
    }
}

/// The text that a command prints.
fn printed(simple: &Simple, all: &[Simple], most: usize) -> Option<String> {
    let (program, arguments) = simple.words.split_first()?;
    let program = program.exact().filter(|program| has_usual_place(program))?;
    let arguments: Vec<&str> = arguments.iter().map(literal).collect::<Option<_>>()?;
    match base_name(program) {
        "echo" => echoed(&arguments),
        "printf" => formatted(&arguments),
        "cat" if arguments.iter().all(|word| matches!(*word, "-" | "-u")) => passed_on(simple, all, most),
        "tee" => passed_on(simple, all, most),
        _ => None,
    }
}

/// The text of a word that is no pattern, for all that can be seen: those have no blanks.
fn literal(word: &Word) -> Option<&str> {
    let text = word.exact()?;
    (text.contains(char::is_whitespace) || !text.contains(['*', '?', '['])).then_some(text)
}

fn echoed(arguments: &[&str]) -> Option<String> {
    let is_option = |word: &&&str| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        !letters.is_empty() && letters.chars().all(|letter| "neE".contains(letter))
    };
    let options = arguments.iter().take_while(is_option).count();
    let text = arguments[options..].join(" ").replace("\\n", "\n");
    // Other escapes can spell anything.
    (!text.contains('\\')).then_some(text)
}

fn formatted(arguments: &[&str]) -> Option<String> {
    let arguments = match arguments {
        ["--", rest @ ..] => rest,
        _ => arguments,
    };
    let (format, values) = arguments.split_first()?;
    let format = format.replace("\\n", "\n");
    let mut pieces = format.split("%s");
    if format.starts_with('-') || pieces.clone().any(|piece| piece.contains(['%', '\\'])) {
        return None;
    }
    let front = pieces.next().unwrap_or_default();
    let pieces: Vec<&str> = pieces.collect();
    let mut values = values.iter();
    let mut text = String::new();
    // It begins again while there are values.
    loop {
        text.push_str(front);
        for piece in &pieces {
            text.push_str(values.next().copied().unwrap_or_default());
            text.push_str(piece);
        }
        if pieces.is_empty() || values.as_slice().is_empty() || text.len() > MAX_TEXT {
            break;
        }
    }
    (text.len() <= MAX_TEXT).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_by_table() {
        // Columns: a script that ends with a shell, and what that runs. None where only the run can tell.
        for (text, expected) in [
            ("echo ls -l | sh", Some("ls -l")),
            ("echo -n 'ls; pwd' | sh", Some("ls; pwd")),
            ("echo 'ls\\npwd' | sh", Some("ls\npwd")),
            ("printf ls | sh", Some("ls")),
            ("printf -- 'ls %s %s\\n' a b c | sh", Some("ls a b\nls c \n")),
            ("cat <<E | sh\nls\nE", Some("ls\n")),
            ("echo ls | cat | tee x | sh", Some("ls")),
            ("if true; then echo ls; fi | sh", Some("ls")),
            ("sh <<< 'ls'", Some("ls")),
            ("sh < <(echo ls)", Some("ls")),
            ("bash <<'E'\nx=$(date)\nE", Some("x=$(date)\n")),
            ("echo '\\ls' | sh", None),
            ("echo ls | rev | sh", None),
            ("./echo ls | sh", None),
            ("echo l* | sh", None),
            ("echo $x | sh", None),
            ("printf 'l%c' s | sh", None),
            ("printf 'l\\x73' | sh", None),
            ("printf -v x ls | sh", None),
            ("cat x | sh", None),
            ("{ echo a; echo b; } | sh", None),
            ("for i in 1 2; do printf l; done | sh", None),
            ("while read x; do echo ls; done <<E | sh\nE", None),
            ("cat <<E | sh\n$(ls)\nE", None),
            ("sh <<E\n`ls`\nE", None),
            ("sh <<< \"$x\"", None),
            ("echo() { ls; }; echo a | sh", None),
            ("exec < x; sh", None),
        ] {
            let script = Script::parse(text).expect("parses");
            let all = script.commands();
            let shell = |simple: &Simple| simple.words.first().is_some_and(|word| word.text.ends_with("sh"));
            let at = all.iter().position(shell).expect("a shell");
            let found = match (untold_feeds(&script, &all)[at], feed_of(&all[at], &all)) {
                (false, Feed::Text(text)) => Some(text),
                _ => None,
            };
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
