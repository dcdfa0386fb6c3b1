//! What a command does, as far as its text tells. Everything here is a pure function of the argument list; shell text
//! is read with a real grammar. What is not understood is never called harmless.

mod actions;
mod danger;
mod folder;
mod input;
mod judge;
mod judgement;
mod kinds;
mod making;
mod quoting;
mod reading;
mod said;
mod script;
mod starters;
mod strict;
mod table;
mod told;
mod variables;
mod word;
mod wrappers;

pub use actions::actions;
pub use folder::runs_what_the_folder_says;
pub use judge::judge;
pub use judgement::{Judgement, Kind, Label, Part};
pub use making::{advice_on_making, makes_a_repository};
pub(super) use quoting::quoted_plainly;
pub use quoting::{asked, display, display_short};
pub(super) use starters::{Starts, is_starter};
pub(super) use told::told;

use script::Script;
use std::path::Path;
use word::Word;

/// Whether the command is known to read and print and do nothing else.
pub fn known_to_only_read(argv: &[String]) -> bool {
    judge(argv, Path::new("/")).label == Label::SafeReadonly
}

/// The same, and also that it loads no code that could do more.
pub fn known_to_change_nothing(argv: &[String]) -> bool {
    judge(argv, Path::new("/")).is_plain()
}

/// Whether a program among them tells of the machine's processes: in the sandbox it sees few of them.
pub fn lists_processes(argv: &[String]) -> bool {
    const LISTERS: [&str; 7] = ["htop", "lsof", "pgrep", "pidof", "ps", "pstree", "top"];
    let parts = judge(argv, Path::new("/")).parts;
    let mut programs = parts.iter().filter_map(|part| part.argv.first());
    programs.any(|program| LISTERS.contains(&base_name(program)))
}

/// Whether this is a command of the shell itself, which stands in no folder.
pub(super) fn is_of_the_shell(name: &str) -> bool {
    reading::is_of_the_shell(name)
}

/// Whether what a program of this name does with its words is known: it runs none of them.
pub(super) fn is_known(name: &str) -> bool {
    reading::is_known(name) || kinds::is_known(name) || danger::only_shows(name)
}

/// Whether a variable of this name holds what programs run.
pub(super) fn runs_its_value(name: &str) -> bool {
    variables::runs_by(name).is_some()
}

/// Why a command must not run without being asked about, in words that complete "it …"; none if nothing was found.
pub fn dangerous(argv: &[String]) -> Option<String> {
    judge(argv, Path::new("/")).danger().map(str::to_owned)
}

/// A text with its braces spread out, as a shell does it with each word (`{a,b}c` to `ac bc`); quotes are not looked at. A word
/// that becomes more than is followed may be any: `$`.
pub(super) fn with_braces(text: &str) -> String {
    let spread = |word: &str| match word::expand_braces(word, 0) {
        words if word::is_expanded(&words) => words.join(" "),
        _ => "$".to_owned(),
    };
    let pieces = text.split_inclusive(char::is_whitespace).map(|piece| {
        let word = piece.trim_end();
        format!("{}{}", spread(word), &piece[word.len()..])
    });
    pieces.collect()
}

/// The program's name without its folder.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The text of `bash -c TEXT`, `sh -lc TEXT` and the like, if that is all there is to the command.
pub fn shell_text(argv: &[String]) -> Option<&str> {
    let [shell, option, text] = argv else { return None };
    let is_shell = ["sh", "bash", "zsh"].contains(&base_name(shell)) && has_usual_place(shell);
    (is_shell && matches!(option.as_str(), "-c" | "-lc" | "-cl")).then_some(text)
}

/// Whether shell text of the command writes a file by a redirection.
pub fn writes_by_redirection(argv: &[String]) -> bool {
    let Some(text) = shell_text(argv) else { return false };
    if let Ok(reading) = strict::read(text, strict::Dialect::Bash) {
        return !reading.writes.is_empty() || reading.commands.iter().any(|command| command.writes.is_some());
    }
    // Here the number of a descriptor (`2>&1`) is a target like others.
    let is_file = |word: &Word| {
        word.exact()
            .is_none_or(|text| text != "/dev/null" && !text.chars().all(|c| c.is_ascii_digit()))
    };
    Script::parse(text).is_some_and(|script| script.writes().iter().any(is_file))
}

/// Whether a program is named bare or stands where the system keeps its programs: not one of the workspace's own.
pub(super) fn has_usual_place(program: &str) -> bool {
    const PLACES: [&str; 7] = [
        "/bin/",
        "/usr/bin/",
        "/usr/local/bin/",
        "/sbin/",
        "/usr/sbin/",
        "/usr/local/sbin/",
        "/opt/homebrew/bin/",
    ];
    let name = base_name(program);
    name == program || PLACES.iter().any(|place| program.strip_prefix(place) == Some(name))
}

/// The simple commands of a command, each as an argument list. Shell text is taken apart only if it is nothing but plain
/// words joined by `&&`, `||`, `;` and `|`; otherwise there is no answer. Any other command is its own only part.
pub fn plain_commands(argv: &[String]) -> Option<Vec<Vec<String>>> {
    Some(
        plain_composition(argv)?
            .into_iter()
            .map(|command| command.words)
            .collect(),
    )
}

/// One command of a composition of plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlainCommand {
    pub(super) words: Vec<String>,
    /// A shell makes names of a pattern in it (`*`, `?`, `[`).
    pub(super) has_pattern: bool,
    /// A pipe leads into it.
    pub(super) is_fed: bool,
}

/// The same as [`plain_commands`], with what is known of each.
pub(super) fn plain_composition(argv: &[String]) -> Option<Vec<PlainCommand>> {
    let Some(text) = shell_text(argv) else {
        let alone = PlainCommand {
            words: argv.to_vec(),
            has_pattern: false,
            is_fed: false,
        };
        return (!argv.is_empty()).then(|| vec![alone]);
    };
    let tolerant = Script::parse(text)?.plain()?;
    let strict = strict::plain_words(text)?;
    let texts = |command: &Vec<Word>| command.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
    if !tolerant
        .iter()
        .map(texts)
        .eq(strict.iter().map(|(words, _)| texts(words)))
    {
        return None;
    }
    // To zsh `=name` is a path.
    let is_pattern = |word: &Word| word.glob || word.text.starts_with('=');
    let commands = strict.iter().map(|(words, is_fed)| PlainCommand {
        words: texts(words),
        has_pattern: words.iter().any(is_pattern),
        is_fed: *is_fed,
    });
    Some(commands.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn plain_commands_by_table() {
        let parts = |lists: &[&[&str]]| Some(lists.iter().map(|list| argv(list)).collect::<Vec<_>>());
        for (text, expected) in [
            ("ls -la", parts(&[&["ls", "-la"]])),
            (r#"cat 'a b' "c d" e\ f"#, parts(&[&["cat", "a b", "c d", "e f"]])),
            (
                "cd src && ls; pwd || true | wc -l",
                parts(&[&["cd", "src"], &["ls"], &["pwd"], &["true"], &["wc", "-l"]]),
            ),
            ("ls\npwd # why", parts(&[&["ls"], &["pwd"]])),
            (r#"echo a"b"'c'"#, parts(&[&["echo", "abc"]])),
            (r#"echo "\"x\" \$y \n""#, parts(&[&["echo", r#""x" $y \n"#]])),
            (
                "find . -name '*.rs' -exec grep -l x {} \\;",
                parts(&[&["find", ".", "-name", "*.rs", "-exec", "grep", "-l", "x", "{}", ";"]]),
            ),
            ("ls > out", None),
            ("cat < in", None),
            ("ls 2>/dev/null", None),
            ("echo $HOME", None),
            ("echo \"$HOME\"", None),
            ("echo $(pwd)", None),
            ("echo `pwd`", None),
            ("A=1 ls", None),
            ("A=1", None),
            ("(ls)", None),
            ("{ ls; }", None),
            ("ls &", None),
            ("ls |& cat", None),
            ("! ls", None),
            ("for i in a; do ls; done", None),
            ("if true; then ls; fi", None),
            ("f() { ls; }", None),
            ("cat <<EOF\nx\nEOF", None),
            ("cat <<< x", None),
            ("diff <(ls) <(pwd)", None),
            ("echo {a,b}", None),
            ("echo \"unterminated", None),
            ("ls &&", None),
            ("[[ -f x ]]", None),
            ("", None),
            ("# nothing", None),
        ] {
            assert_eq!(plain_commands(&argv(&["bash", "-lc", text])), expected, "{text}");
        }
        assert_eq!(plain_commands(&argv(&["ls", "a b"])), parts(&[&["ls", "a b"]]));
        assert_eq!(plain_commands(&argv(&["/bin/zsh", "-c", "ls"])), parts(&[&["ls"]]));
        assert_eq!(
            plain_commands(&argv(&["bash", "script.sh"])),
            parts(&[&["bash", "script.sh"]])
        );
        assert_eq!(plain_commands(&[]), None);
    }
}
