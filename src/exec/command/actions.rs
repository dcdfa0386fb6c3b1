//! What a command does in the words of the protocol: read, list, search, or something else.

use super::script::Script;
use super::word::Word;
use super::wrappers::{self, Inside};
use super::{base_name, display, judge, judgement, kinds, reading, shell_text, strict};
use crate::protocol::item::CommandAction;
use std::path::{Component, Path, PathBuf};

/// What each part of a command does. Parts that only shape what comes through the pipe (`| head`) and changes of folder
/// say nothing of their own. A command that cannot be taken apart is one unknown.
pub fn actions(argv: &[String], cwd: &Path) -> Vec<CommandAction> {
    let whole = || CommandAction::Unknown {
        command: shell_text(argv).map_or_else(|| display(argv), str::to_owned),
    };
    let Some(parts) = parts(argv) else {
        return vec![whole()];
    };
    let mut cwd = cwd.to_owned();
    let mut actions = Vec::new();
    for part in &parts {
        let texts: Vec<String> = part.iter().map(|word| word.text.clone()).collect();
        match classify(part, &texts, &cwd) {
            Kind::Moves(folder) => cwd = normal(&cwd.join(folder)),
            Kind::Shapes if !actions.is_empty() => {}
            Kind::Shapes => actions.push(CommandAction::Unknown {
                command: display(&texts),
            }),
            Kind::Does(action) => actions.push(action),
        }
    }
    if actions.is_empty() { vec![whole()] } else { actions }
}

/// The commands of a command, if all of it can be taken apart and none writes a file by a redirection; harmless wrappers
/// come off.
fn parts(argv: &[String]) -> Option<Vec<Vec<Word>>> {
    let commands = match shell_text(argv) {
        Some(text) => {
            let script = Script::parse(text).filter(|script| !script.has_errors())?;
            let reading = strict::read(text, strict::Dialect::Bash).ok()?;
            let writes = !reading.writes.is_empty() || reading.commands.iter().any(|command| command.writes.is_some());
            if writes || !judge::agree(&reading, &script.commands()) {
                return None;
            }
            reading.commands.into_iter().map(|command| command.words).collect()
        }
        None if argv.is_empty() => return None,
        None => vec![argv.iter().map(|text| Word::literal(text)).collect()],
    };
    Some(commands.into_iter().map(|words| bare(words, MAX_WRAPPERS)).collect())
}

/// So many wrappers come off one command.
const MAX_WRAPPERS: usize = 6;

/// A command without harmless wrappers in front (`timeout 60`, `env A=1`).
fn bare(words: Vec<Word>, most: usize) -> Vec<Word> {
    match wrappers::unwrap(&words) {
        Some(found) if most > 0 && found.caveat.is_none() && !found.adds_arguments => match found.inside.as_slice() {
            [Inside::Command(inner)] => bare(inner.clone(), most - 1),
            _ => words,
        },
        _ => words,
    }
}

enum Kind {
    /// Changes the folder for what follows.
    Moves(String),
    /// Shapes the output of what comes before.
    Shapes,
    Does(CommandAction),
}

fn classify(words: &[Word], texts: &[String], cwd: &Path) -> Kind {
    let command = display(texts);
    let name = texts.first().map_or("", |program| base_name(program));
    if name == "cd" {
        return Kind::Moves(texts.get(1).cloned().unwrap_or_default());
    }
    if reading::reads(words).is_err() {
        let (kind, words) = kinds::describe(texts);
        return Kind::Does(match kind {
            judgement::Kind::Build => CommandAction::Build { command, words },
            judgement::Kind::Test => CommandAction::Test { command, words },
            _ => CommandAction::Unknown { command },
        });
    }
    if words.iter().any(|word| !word.known) {
        return Kind::Does(CommandAction::Unknown { command });
    }
    let arguments = &texts[1..];
    let operands = operands(name, arguments);
    let read = |path: &str| {
        let path = normal(&cwd.join(path));
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        CommandAction::Read {
            command: command.clone(),
            name,
            path,
        }
    };
    let action = match name {
        "cat" | "head" | "tail" | "nl" | "tac" | "od" | "strings" | "stat" | "file" | "wc" | "cut" | "sort"
        | "uniq" | "base64" | "md5sum" | "sha256sum" | "rev" | "fold" => match operands.first() {
            Some(path) => read(path),
            None => return Kind::Shapes,
        },
        "sed" | "jq" => match operands.get(1) {
            Some(path) => read(path),
            None => return Kind::Shapes,
        },
        "tr" | "paste" | "true" | "column" => return Kind::Shapes,
        "ls" | "tree" | "du" => CommandAction::ListFiles {
            command,
            path: operands.first().map(|path| (*path).to_owned()),
        },
        "find" => match arguments
            .iter()
            .position(|text| ["-name", "-iname", "-path", "-ipath", "-regex"].contains(&text.as_str()))
        {
            Some(at) => CommandAction::Search {
                command,
                query: arguments.get(at + 1).cloned(),
                path: arguments.first().filter(|text| !text.starts_with('-')).cloned(),
            },
            None => CommandAction::ListFiles {
                command,
                path: arguments.first().filter(|text| !text.starts_with('-')).cloned(),
            },
        },
        "fd" | "fdfind" => CommandAction::Search {
            command,
            query: first(&operands, 0),
            path: first(&operands, 1),
        },
        "rg" if arguments.iter().any(|text| text == "--files") => CommandAction::ListFiles {
            command,
            path: first(&operands, 0),
        },
        "grep" | "egrep" | "fgrep" | "rg" => {
            let given = option_value(arguments, &["-e", "--regexp"]);
            let at = usize::from(given.is_none());
            let query = given.or_else(|| first(&operands, 0));
            if query.is_none() {
                return Kind::Shapes;
            }
            CommandAction::Search {
                command,
                query,
                path: first(&operands, at),
            }
        }
        "git" => match git_command(arguments) {
            Some(("grep", rest)) => {
                let operands = rest.iter().filter(|text| !text.starts_with('-')).collect::<Vec<_>>();
                CommandAction::Search {
                    command,
                    query: operands.first().map(|text| (**text).clone()),
                    path: operands.get(1).map(|text| (**text).clone()),
                }
            }
            Some(("ls-files" | "ls-tree", _)) => CommandAction::ListFiles { command, path: None },
            _ => CommandAction::Unknown { command },
        },
        _ => CommandAction::Unknown { command },
    };
    Kind::Does(action)
}

fn first(operands: &[&str], at: usize) -> Option<String> {
    operands.get(at).map(|text| (*text).to_owned())
}

/// The arguments that are neither options nor the values of the options that take one.
fn operands<'t>(name: &str, arguments: &'t [String]) -> Vec<&'t str> {
    let with_value: &[&str] = match name {
        "head" | "tail" => &["-n", "-c", "--lines", "--bytes"],
        "cut" => &["-d", "-f", "-c", "-b"],
        "sort" => &["-k", "-t", "-S"],
        "grep" | "egrep" | "fgrep" | "rg" => &[
            "-e",
            "-A",
            "-B",
            "-C",
            "-m",
            "-g",
            "-t",
            "-T",
            "--glob",
            "--type",
            "--regexp",
            "--max-count",
            "--context",
            "--include",
            "--exclude",
        ],
        "fd" | "fdfind" => &["-e", "-t", "-d", "-E", "--extension", "--type"],
        "tree" => &["-L", "-I", "-P"],
        "du" => &["-d", "--max-depth"],
        "nl" => &["-b", "-s", "-w"],
        "od" => &["-t", "-N", "-j", "-A"],
        "fold" => &["-w"],
        "stat" => &["-c", "-f", "--format"],
        _ => &[],
    };
    let mut operands = Vec::new();
    let mut texts = arguments.iter().map(String::as_str);
    while let Some(text) = texts.next() {
        if text == "--" {
            operands.extend(texts);
            break;
        }
        if with_value.contains(&text) {
            texts.next();
        } else if !text.starts_with('-') || text == "-" {
            operands.push(text);
        }
    }
    operands
}

fn option_value(arguments: &[String], names: &[&str]) -> Option<String> {
    let at = arguments.iter().position(|text| names.contains(&text.as_str()))?;
    arguments.get(at + 1).cloned()
}

/// Git's command and what follows it.
fn git_command(arguments: &[String]) -> Option<(&str, &[String])> {
    let mut rest = arguments;
    loop {
        let (first, after) = rest.split_first()?;
        rest = match first.as_str() {
            "-C" => after.get(1..)?,
            option if option.starts_with('-') => after,
            command => return Some((command, after)),
        };
    }
}

/// A path without `.` and `..`, by its words.
fn normal(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(result.pop()),
            other => result.push(other),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Vec<CommandAction> {
        actions(&["bash".to_owned(), "-lc".to_owned(), text.to_owned()], Path::new("/w"))
    }

    /// Shows S-107.
    #[test]
    fn actions_by_table() {
        let read = |command: &str, name: &str, path: &str| CommandAction::Read {
            command: command.to_owned(),
            name: name.to_owned(),
            path: PathBuf::from(path),
        };
        let list = |command: &str, path: Option<&str>| CommandAction::ListFiles {
            command: command.to_owned(),
            path: path.map(str::to_owned),
        };
        let search = |command: &str, query: &str, path: Option<&str>| CommandAction::Search {
            command: command.to_owned(),
            query: Some(query.to_owned()),
            path: path.map(str::to_owned),
        };
        let unknown = |command: &str| CommandAction::Unknown {
            command: command.to_owned(),
        };
        let test = |command: &str| CommandAction::Test {
            command: command.to_owned(),
            words: "runs the tests with cargo".to_owned(),
        };
        let build = |command: &str, words: &str| CommandAction::Build {
            command: command.to_owned(),
            words: words.to_owned(),
        };
        for (text, expected) in [
            (
                "cat src/main.rs",
                vec![read("cat src/main.rs", "main.rs", "/w/src/main.rs")],
            ),
            (
                "cd src && cat ../a/b.rs | head -n 5",
                vec![read("cat ../a/b.rs", "b.rs", "/w/a/b.rs")],
            ),
            ("sed -n 1,5p x.rs", vec![read("sed -n 1,5p x.rs", "x.rs", "/w/x.rs")]),
            (
                "head -n 20 /etc/hosts",
                vec![read("head -n 20 /etc/hosts", "hosts", "/etc/hosts")],
            ),
            ("ls", vec![list("ls", None)]),
            ("ls -la src | wc -l", vec![list("ls -la src", Some("src"))]),
            ("rg --files src", vec![list("rg --files src", Some("src"))]),
            ("rg -n 'a b' src", vec![search("rg -n 'a b' src", "a b", Some("src"))]),
            (
                "grep -rn -A 3 foo .",
                vec![search("grep -rn -A 3 foo .", "foo", Some("."))],
            ),
            (
                "find . -name '*.rs'",
                vec![search("find . -name '*.rs'", "*.rs", Some("."))],
            ),
            ("find src", vec![list("find src", Some("src"))]),
            (
                "git grep -n foo src",
                vec![search("git grep -n foo src", "foo", Some("src"))],
            ),
            ("find . -delete", vec![unknown("find . -delete")]),
            ("rg --pre sh x", vec![unknown("rg --pre sh x")]),
            ("git grep -O x", vec![unknown("git grep -O x")]),
            ("cargo test", vec![test("cargo test")]),
            (
                "cat a && cargo test",
                vec![read("cat a", "a", "/w/a"), test("cargo test")],
            ),
            (
                "cd x && timeout 60 cargo test 2>&1 | tail -n 5",
                vec![test("cargo test")],
            ),
            ("make -j4", vec![build("make -j4", "builds with make")]),
            ("cat a 2>/dev/null", vec![read("cat a", "a", "/w/a")]),
            ("cat \"$x\"", vec![unknown("cat '$x'")]),
            ("sudo cargo test", vec![unknown("sudo cargo test")]),
            ("touch x", vec![unknown("touch x")]),
            ("cat a > b", vec![unknown("cat a > b")]),
            ("cd src", vec![unknown("cd src")]),
        ] {
            assert_eq!(shell(text), expected, "{text}");
        }
        assert_eq!(actions(&["ls".to_owned()], Path::new("/w")), [list("ls", None)]);
        assert_eq!(actions(&[], Path::new("/w")), [unknown("")]);
    }
}
