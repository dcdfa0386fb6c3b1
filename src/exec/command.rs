//! What a command does, as far as its text tells. Everything here is a pure function of the argument list; shell text
//! is read with a real grammar. What is not understood is never called harmless.

mod actions;
mod danger;
mod judge;
mod judgement;
mod kinds;
mod quoting;
mod reading;
mod script;
mod strict;
mod table;
mod variables;
mod word;
mod wrappers;

pub use actions::actions;
pub use judge::judge;
pub use judgement::{Judgement, Kind, Label, Part};
pub use quoting::display;
pub(super) use quoting::quoted_plainly;

use script::Script;
use std::path::Path;
use word::Word;

/// Whether the command is known to read and print and do nothing else.
pub fn known_to_only_read(argv: &[String]) -> bool {
    judge(argv, Path::new("/")).label == Label::SafeReadonly
}

/// Why a command must not run without being asked about, in words that complete "it …"; none if nothing was found.
pub fn dangerous(argv: &[String]) -> Option<String> {
    judge(argv, Path::new("/")).danger().map(str::to_owned)
}

/// The program's name without its folder.
fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The text of `bash -c TEXT`, `sh -lc TEXT` and the like, if that is all there is to the command.
pub fn shell_text(argv: &[String]) -> Option<&str> {
    let [shell, option, text] = argv else { return None };
    let is_shell = ["sh", "bash", "zsh"].contains(&base_name(shell)) && has_usual_place(shell);
    (is_shell && matches!(option.as_str(), "-c" | "-lc" | "-cl")).then_some(text)
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
    let parts = plain_words(argv)?;
    Some(
        parts
            .into_iter()
            .map(|part| part.into_iter().map(|word| word.text).collect())
            .collect(),
    )
}

fn plain_words(argv: &[String]) -> Option<Vec<Vec<Word>>> {
    match shell_text(argv) {
        Some(text) => {
            let commands = Script::parse(text)?.plain()?;
            let words = |command: &Vec<Word>| command.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
            let agree = strict::plain_commands(text)? == commands.iter().map(words).collect::<Vec<_>>();
            agree.then_some(commands)
        }
        None if argv.is_empty() => None,
        None => Some(vec![argv.iter().map(|text| Word::literal(text)).collect()]),
    }
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
