//! A second reader of shell text, small and strict. The grammar of the first is made for showing programs in colour and
//! errs at the edges (blanks that are none to a shell, a backslash at the start of a line). A command is called harmless
//! only where both find the same words at the same places. This one knows the part of the language that such commands
//! are written in, and gives up at everything else: what it gives up at is not safe.

mod arithmetic;
mod compound;
mod expansion;
mod grammar;
mod redirection;
mod value;
mod words;

use super::word::Word;
use std::collections::HashMap;
use std::ops::Range;
use value::{Facts, Value};

/// Longest text that is read, in bytes.
const MAX_TEXT: usize = 64 * 1024;
/// How deep compound commands and substitutions are followed.
const MAX_DEPTH: usize = 20;
/// The most commands that are read.
const MAX_COMMANDS: usize = 2000;

/// Which language a shell reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// What `sh`, `dash` and `bash` have in common, and what only bash has.
    Bash,
    /// A shell that may be anything from dash up.
    Plain,
    /// Shells that evaluate more than bash does: only text without expansions is read.
    Zsh,
}

/// Why a text is not read further, in words that complete "it …".
pub(super) type Refusal = &'static str;
type Read<T> = Result<T, Refusal>;

/// A simple command, wherever in the text it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub words: Vec<Word>,
    /// Where the words stand in the text.
    pub spans: Vec<Range<usize>>,
    /// Variables set for this command only.
    pub assignments: Vec<(String, Word)>,
    /// The file that it writes by a redirection, if any.
    pub writes: Option<String>,
}

impl Command {
    /// Whether the grammar of the first reader calls it a command too. It has kinds of their own for some builtins.
    pub(super) fn is_plain_command(&self) -> bool {
        const OTHERS: [&str; 8] = [
            "[", "export", "local", "declare", "typeset", "readonly", "unset", "unsetenv",
        ];
        self.words
            .first()
            .is_some_and(|word| !OTHERS.contains(&word.text.as_str()))
    }
}

/// What a text was read as.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// In the order in which they begin.
    pub commands: Vec<Command>,
    /// Names of functions that it defines on the way that every run takes, and where.
    pub functions: Vec<(String, usize)>,
    /// Files that groups of commands write by a redirection.
    pub writes: Vec<String>,
    /// Variables set for all that follows.
    pub assignments: Vec<(String, Word)>,
    /// Holds something other than plain words joined by `&&`, `||`, `;`, `|` and line ends.
    pub is_composed: bool,
}

/// Reads a text.
///
/// # Errors
/// Why it is not read, if it holds anything that this reader does not know.
pub(super) fn read(text: &str, dialect: Dialect) -> Result<Reading, Refusal> {
    if text.len() > MAX_TEXT {
        return Err("is too long to be read");
    }
    let foreign = |c: char| (c.is_control() && c != '\n' && c != '\t') || (c.is_whitespace() && !c.is_ascii());
    if text.contains(foreign) {
        return Err("holds characters that look like blanks and are none, or are not seen at all");
    }
    // What a variable holds is known only of one that is set once; the first look counts.
    let mut first = Reader::new(text, dialect, Facts::default(), true);
    first.script()?;
    let mut second = Reader::new(text, dialect, first.seen, false);
    second.script()?;
    let mut reading = second.reading;
    reading
        .commands
        .sort_by_key(|command| command.spans.first().map_or(usize::MAX, |span| span.start));
    Ok(reading)
}

/// The commands of a text that is nothing but plain words, quoted or not, joined by `&&`, `||`, `;`, `|` and line ends; each with whether a
/// pipe leads into it.
pub(super) fn plain_words(text: &str) -> Option<Vec<(Vec<Word>, bool)>> {
    let reading = read(text, Dialect::Plain).ok()?;
    if reading.is_composed || reading.commands.is_empty() {
        return None;
    }
    let mut end = 0;
    let commands = reading.commands.into_iter().map(|command| {
        let start = command.spans.first().map_or(end, |span| span.start);
        // A comment with such a sign is taken for a pipe, which asks more.
        let between = text.get(end..start).unwrap_or_default().replace("||", "");
        end = command.spans.last().map_or(end, |span| span.end);
        (command.words, between.contains('|'))
    });
    Some(commands.collect())
}

/// The same, each as an argument list.
pub(super) fn plain_commands(text: &str) -> Option<Vec<Vec<String>>> {
    let texts = |words: Vec<Word>| words.into_iter().map(|word| word.text).collect();
    Some(plain_words(text)?.into_iter().map(|(words, _)| texts(words)).collect())
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Where the text ends for this reader: that of a substitution in backquotes ends before the whole.
    end: usize,
    dialect: Dialect,
    depth: usize,
    /// What the first look found out.
    facts: Facts,
    seen: Facts,
    /// Whether this is the first look, in which values are not known yet.
    is_first: bool,
    /// What variables hold here.
    variables: HashMap<String, Value>,
    /// Names that were set since the start, and whether they had a value before.
    journal: Vec<(String, bool)>,
    /// Here-documents whose text follows the line.
    heredocs: Vec<redirection::Heredoc>,
    in_substitution: bool,
    /// Within the value of an assignment, which is not split.
    is_value: bool,
    reading: Reading,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, dialect: Dialect, facts: Facts, is_first: bool) -> Self {
        Self {
            text,
            at: 0,
            end: text.len(),
            dialect,
            depth: 0,
            facts,
            seen: Facts::default(),
            is_first,
            variables: HashMap::new(),
            journal: Vec::new(),
            heredocs: Vec::new(),
            in_substitution: false,
            is_value: false,
            reading: Reading::default(),
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Takes these characters if they stand here.
    fn eat(&mut self, wanted: &str) -> bool {
        let is_here = self.rest().starts_with(wanted);
        if is_here {
            self.at += wanted.len();
        }
        is_here
    }

    /// Goes one level down for the while of `inner`.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return Err("nests commands so deeply that it cannot be followed");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Uses a feature that text of plain words has not.
    fn composed(&mut self) {
        self.reading.is_composed = true;
    }

    /// Uses a feature that other shells read as something else.
    fn bash_only(&mut self) -> Read<()> {
        self.composed();
        match self.dialect {
            Dialect::Bash => Ok(()),
            _ => Err("is written for bash and may mean something else to another shell"),
        }
    }

    /// Uses a feature that shells evaluate each in its own way.
    fn expands(&mut self) -> Read<()> {
        self.composed();
        if self.dialect == Dialect::Zsh {
            return Err("puts in values in the way of a shell that is not followed");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_a_shell_does() {
        for (text, expected) in [
            (
                "ls -l; cat 'a b'|wc",
                Some(vec![vec!["ls", "-l"], vec!["cat", "a b"], vec!["wc"]]),
            ),
            ("echo \\\n x", Some(vec![vec!["echo", "x"]])),
            ("echo \n\\touch P", Some(vec![vec!["echo"], vec!["touch", "P"]])),
            ("echo a#b # c ; d\nls", Some(vec![vec!["echo", "a#b"], vec!["ls"]])),
            (r#"grep "a\.b$" "\$x" ''"#, Some(vec![vec!["grep", r"a\.b$", "$x", ""]])),
            ("git show HEAD@{1}", Some(vec![vec!["git", "show", "HEAD@{1}"]])),
            ("ls\x0c#; touch P", None),
            ("ls\r\ntouch P", None),
            ("ls\u{a0}x", None),
            ("ls & touch P", None),
            ("ls |& touch P", None),
            ("if x", None),
            ("echo $x", None),
            ("echo \"$x\"", None),
            ("echo $'a\\'; touch P #'", None),
            ("ls;; x", None),
            ("echo 'open", None),
            ("", None),
        ] {
            let expected = expected.map(|commands| {
                let words = |command: Vec<&str>| command.into_iter().map(str::to_owned).collect();
                commands.into_iter().map(words).collect::<Vec<Vec<String>>>()
            });
            assert_eq!(plain_commands(text), expected, "{text:?}");
        }
    }

    fn commands(text: &str) -> Option<Vec<Vec<String>>> {
        let reading = read(text, Dialect::Bash).ok()?;
        let texts = |command: Command| command.words.into_iter().map(|word| word.text).collect();
        Some(reading.commands.into_iter().map(texts).collect())
    }

    #[test]
    fn compositions_are_taken_apart() {
        for (text, expected) in [
            ("for f in *.rs; do wc -l \"$f\"; done", vec![vec!["wc", "-l", "$f"]]),
            (
                "for f in a b\ndo\n cat $f | wc\ndone",
                vec![vec!["cat", "$f"], vec!["wc"]],
            ),
            (
                "if test -f x; then cat x; else ls; fi",
                vec![vec!["test", "-f", "x"], vec!["cat", "x"], vec!["ls"]],
            ),
            (
                "while read -r l; do echo \"$l\"; done < f",
                vec![vec!["read", "-r", "l"], vec!["echo", "$l"]],
            ),
            ("(cd x && ls) 2>/dev/null", vec![vec!["cd", "x"], vec!["ls"]]),
            ("{ ls; pwd; } | wc", vec![vec!["ls"], vec!["pwd"], vec!["wc"]]),
            ("X=src; ls $X \"$X/a\"", vec![vec!["ls", "src", "src/a"]]),
            (
                "echo \"$(ls | wc -l) files\"",
                vec![vec!["echo", "$(ls | wc -l) files"], vec!["ls"], vec!["wc", "-l"]],
            ),
            ("echo `ls`", vec![vec!["echo", "`ls`"], vec!["ls"]]),
            (
                "diff <(ls a) <(ls b)",
                vec![vec!["diff", "<(ls a)", "<(ls b)"], vec!["ls", "a"], vec!["ls", "b"]],
            ),
            ("ls src/{a,b}.rs", vec![vec!["ls", "src/a.rs", "src/b.rs"]]),
            ("cat <<EOF\nhi $USER\nEOF\nls", vec![vec!["cat"], vec!["ls"]]),
            ("case $1 in a|b) ls;; *) pwd;; esac", vec![vec!["ls"], vec!["pwd"]]),
            (
                "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
                vec![vec!["[", "$i", "-lt", "3", "]"], vec!["echo", "$i"]],
            ),
            ("for ((i=0;i<3;i++)); do echo $i; done", vec![vec!["echo", "$i"]]),
            ("f() { ls \"$1\"; }; f x", vec![vec!["ls", "$1"], vec!["f", "x"]]),
            ("[[ -f x && $y == a* ]] && ls", vec![vec!["ls"]]),
            ("! grep -q x y &", vec![vec!["grep", "-q", "x", "y"]]),
        ] {
            let expected: Vec<Vec<String>> = expected
                .into_iter()
                .map(|words| words.into_iter().map(str::to_owned).collect())
                .collect();
            assert_eq!(
                commands(text),
                Some(expected),
                "{text}: {:?}",
                read(text, Dialect::Bash).err()
            );
        }
    }

    #[test]
    fn what_is_not_followed_is_refused() {
        for text in [
            "echo ${x@P}",
            "echo ${!x}",
            "echo ${a[$(touch P)]}",
            "echo $((a[$(touch P)]))",
            "echo $((x))",
            "x='a[$(touch P)]'; echo $((x))",
            "[[ -v a[$(touch P)] ]]",
            "[[ $x -eq 1 ]]",
            "((x[$(touch P)]))",
            "a=(1 2)",
            "a[0]=x",
            "coproc ls",
            "select x in a; do ls; done",
            "echo $\"x\"",
            "echo ${x:=y}",
            "for x in a; do ls",
            "if ls; then fi",
            "ls )",
            "ls (x)",
            "ls !(x)",
            "cat <<EOF\n$(touch P)\nEOF",
            "cat <<EOF\nno end",
            "cat <<EOF\nE\\\nOF\nEOF",
            "echo `echo \\`touch P\\``",
            "; ls",
            "ls && ; pwd",
            "{ls;}; } x",
        ] {
            assert!(read(text, Dialect::Bash).is_err(), "{text}");
        }
    }
}
