//! The commands of shell text whose words tell all before the run.

use super::base_name;
use super::script::Script;
use super::word::Word;

/// What stands in such a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::exec) struct Told {
    /// Each command with its words.
    pub(in crate::exec) commands: Vec<Vec<String>>,
    /// Files that redirections write and read.
    pub(in crate::exec) writes: Vec<String>,
    pub(in crate::exec) reads: Vec<String>,
}

/// Commands that make others mean something else.
const CHANGING: &[&str] = &[".", "alias", "mapfile", "read", "readarray", "source", "unalias"];
const CHANGING_FOLDER: &[&str] = &["cd", "chdir", "popd", "pushd"];
/// Parts of a script that are no commands where they stand, or that name what only the run makes.
const ELSEWHERE: &[&str] = &["function_definition", "process_substitution"];
const REPEATING: &[&str] = &["c_style_for_statement", "for_statement", "while_statement"];

/// None where only the run can tell what its words are: by a variable, a substitution, a pattern, a function, or a change of
/// folder that is repeated.
pub(in crate::exec) fn told(text: &str) -> Option<Told> {
    // What stands in braces in front of a redirection is a word to some shells only.
    if text.contains(['$', '`']) || text.contains("}>") || text.contains("}<") {
        return None;
    }
    let script = Script::parse(text).filter(|script| !script.is_doubtful() && !script.has(ELSEWHERE))?;
    let texts = |words: Vec<Word>| words.iter().map(one).collect::<Option<Vec<String>>>();
    let commands = script.commands().into_iter().map(|simple| texts(simple.words));
    let commands: Vec<Vec<String>> = commands.collect::<Option<_>>()?;
    let changes = |words: &Vec<String>| {
        let behind = words
            .iter()
            .find(|word| !["builtin", "command"].contains(&word.as_str()));
        behind.is_some_and(|program| CHANGING.contains(&base_name(program)))
    };
    let changes_folder = |words: &Vec<String>| words.iter().any(|word| CHANGING_FOLDER.contains(&word.as_str()));
    if commands.iter().any(changes) || commands.iter().any(changes_folder) && script.has(REPEATING) {
        return None;
    }
    Some(Told {
        writes: texts(script.writes())?,
        reads: texts(script.reads())?,
        commands,
    })
}

/// The text of a word that is no pattern.
fn one(word: &Word) -> Option<String> {
    let text = word.exact()?;
    let is_test = ["[", "[["].contains(&text);
    (is_test || !text.contains(['*', '?', '['])).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_table() {
        // Columns: the text; its commands, and what redirections write and read. None where only the run can tell.
        for (text, expected) in [
            ("cp a b > log", Some("cp a b|log|")),
            ("cp a {b}>c", None),
            ("cp 'a b' c & ls", Some("cp a b c;ls||")),
            ("tar x < a.tar", Some("tar x||a.tar")),
            ("if true; then cp a . > log; fi", Some("true;cp a .|log|")),
            ("(cd sub; cp a b)", Some("cd sub;cp a b||")),
            ("cp $x b", None),
            ("cp $(ls) b", None),
            ("cp `ls` b", None),
            ("cp * b > log", None),
            ("cp a? b > log", None),
            ("cp a b > lo[g]", None),
            ("f() { cp a b; }; f", None),
            ("diff <(ls) a", None),
            ("while true; do cd sub; cp a b; done", None),
            ("read x; cp a b > log", None),
            (". ./x > log", None),
            ("cp a b > 'log", None),
        ] {
            let found = told(text).map(|told| {
                let commands: Vec<String> = told.commands.iter().map(|words| words.join(" ")).collect();
                format!(
                    "{}|{}|{}",
                    commands.join(";"),
                    told.writes.join(" "),
                    told.reads.join(" ")
                )
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
