//! Programs that a command of the agent could have put where they are, or could change.

mod commands;
mod folders;
mod git_config;
mod naming;
mod net;
mod orders;
mod runners;
mod text;
mod unread;

use super::code_paths::{self, Leading};
use super::places::Places;
use super::{first, interpreters, is_program};
use commands::Commands;
use folders::Folders;
pub(in crate::exec) use git_config::is_run_by_git;
pub(in crate::exec) use net::{steering, takes_words_for_people};
pub(in crate::exec) use orders::{fed, orders, sed_names_files};
use runners::{Behind, Interpreter};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use text::Written;

/// More words of an interpreter than these are not looked at.
const MOST_WORDS: usize = 2_000;

/// Text by which program text loads or runs something else.
#[rustfmt::skip]
const LOADING: &[&str] = &[
    "import", "require", "include", "load", "exec", "eval", "system", "spawn", "popen", "compile", "source", "dofile",
    "run(", "run_", "call(", "fork", "qx", "use ", "do '", "do \"", "do'", "do\"", "do(", "dlopen", "`",
];

/// Where a command would run.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    pub folder: &'a Path,
    /// Whether it is there for certain.
    pub is_certain: bool,
    /// What it would find outside the sandbox.
    pub env: &'a BTreeMap<String, String>,
}

/// The word of a command by which it runs what a command of the agent, or another user, could have put there or could
/// change, and what that is: a program by its bare name or by a path, what a script is run by, the file that an
/// interpreter is given, in whichever folder the command has gone to by then. `parts` are the commands in it as they
/// are understood.
pub fn planted(command: &[String], parts: &[&[String]], standing: Standing<'_>) -> Option<(String, PathBuf)> {
    let program = command.first()?;
    let all = Commands::of(command, parts);
    let places = Places::of(standing.env);
    let looking = Looking {
        folders: Folders::of(&all, standing),
        env: standing.env,
        places: &places,
        all: &all,
        left: Cell::new(net::MOST_PIECES),
    };
    let understood = std::iter::once(command).chain(parts.iter().copied());
    let mut programs = understood.filter_map(<[String]>::first);
    programs
        .find_map(|program| looking.program(program))
        .or_else(|| all.written.iter().find_map(|written| looking.run_by(written)))
        .or_else(|| looking.unread())
        .or_else(|| all.is_cut.then(|| looking.folder(program)).flatten())
}

/// Whether only the run can tell what a word is.
fn is_unknown(word: &str) -> bool {
    word.contains(['$', '`', '*', '?', '[']) || word.contains("{}")
}

struct Looking<'a> {
    folders: Folders,
    env: &'a BTreeMap<String, String>,
    places: &'a Places,
    all: &'a Commands,
    /// So many pieces of words are still looked for.
    left: Cell<usize>,
}

type Found = Option<(String, PathBuf)>;

impl Looking<'_> {
    fn is_open(&self, path: &Path) -> bool {
        self.places.refuses(path).is_some()
    }

    /// A word and a folder in which it loads what can be changed.
    fn folder(&self, word: &str) -> Found {
        let open = self.folders.known.iter().find(|folder| self.is_open(folder));
        let open = open.or_else(|| self.folders.known.first().filter(|_| self.folders.is_unknown))?;
        Some((word.to_owned(), open.clone()))
    }

    /// A program by its name, in each of the folders.
    fn program(&self, name: &str) -> Found {
        let mut known = self.folders.known.iter();
        let found = known.find_map(|folder| open_program(name, folder, self.env, self.places));
        let found = found.or_else(|| {
            let depends = name.contains('/') && Path::new(name).is_relative() && !name.starts_with("~/");
            let folder = self
                .folders
                .known
                .first()
                .filter(|_| self.folders.is_unknown && depends)?;
            Some(folder.join(name))
        });
        Some((name.to_owned(), found?))
    }

    /// What a word may name.
    fn places(&self, word: &str) -> Vec<PathBuf> {
        if let Some(inner) = by_process(word) {
            return self.folders.known.iter().map(|folder| folder.join(inner)).collect();
        }
        let by = |name: &str| self.env.get(name).map(PathBuf::from);
        let behind = |start: &str| word.strip_prefix(start);
        let home = behind("~/").or_else(|| behind("$HOME/")).or_else(|| behind("${HOME}/"));
        let here = behind("$PWD/").or_else(|| behind("${PWD}/"));
        let by_home = home.zip(by("HOME")).map(|(rest, home)| home.join(rest));
        let known = self.folders.known.iter();
        by_home
            .into_iter()
            .chain(known.map(|folder| folder.join(here.unwrap_or(word))))
            .collect()
    }

    /// The file that a word names, if it can be changed.
    fn file(&self, word: &str) -> Option<PathBuf> {
        let mut places = self.places(word).into_iter();
        places.find(|path| path.exists() && self.is_open(path))
    }

    /// The same with what an interpreter puts behind a name.
    fn code_file(&self, word: &str) -> Option<PathBuf> {
        const ENDS: &[&str] = &["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx", "py", "rb", "lua"];
        let pieces = word.split(':').filter(|piece| !piece.is_empty() && *piece != word);
        std::iter::once(word).chain(pieces).find_map(|word| {
            let ended = || ENDS.iter().find_map(|end| self.file(&format!("{word}.{end}")));
            self.file(word).or_else(|| ended().filter(|path| path.is_file()))
        })
    }

    /// A word that names a script which only the run finds, or that is not there yet.
    fn missing(&self, word: &str) -> Option<PathBuf> {
        let unknown = is_unknown(word);
        if !unknown && (!self.folders.is_unknown || word.starts_with('/') || word.starts_with("~/")) {
            return self.places(word).into_iter().find(|path| self.is_open(path));
        }
        if let Some(path) = unknown.then(|| self.around(word)).flatten() {
            return Some(path);
        }
        // What is put into it may come from any of them.
        if word.contains(['$', '`'])
            && let Some((_, path)) = self.named_anywhere()
        {
            return Some(path);
        }
        let (_, folder) = self.folder(word)?;
        Some(folder.join(word))
    }

    /// What a command runs that can be changed, beside the program that it is by its name.
    fn run_by(&self, written: &Written) -> Found {
        let words = &written.words;
        if let Some(found) = self.set(words) {
            return Some(found);
        }
        let mut completes = false;
        for at in runners::beginnings(words) {
            let command = &words[at..];
            let Some(program) = command.first() else { continue };
            completes |= runners::completes(program);
            // By its path, where only a wrapper in front of it knows that it is a program.
            let path = (program.contains('/') && !program.contains(' ')).then(|| self.file(program));
            if let Some(path) = path.flatten().filter(|path| is_program(path)) {
                return Some((program.clone(), path));
            }
            let found = runners::interpreter(program)
                .and_then(|interpreter| self.interpreted(&interpreter, command, written, completes));
            let of_folder = || {
                runners::loads_its_folder(command)
                    .then(|| self.folder(program))
                    .flatten()
            };
            let found = found
                .or_else(of_folder)
                .or_else(|| self.named_by_option(command))
                .or_else(|| self.given_as_code(command));
            if found.is_some() {
                return found;
            }
        }
        if written.is_guess {
            return None;
        }
        self.started_by_any_word(words)
            .or_else(|| self.named_by_any_word(words))
    }

    /// A variable by which a program loads code.
    fn set(&self, words: &[String]) -> Found {
        const SETTING: &[&str] = &["declare", "export", "local", "readonly", "set", "setenv", "typeset"];
        let is_assigned = |word: &&String| runners::assigned(word).is_some();
        let in_front = words.iter().take_while(is_assigned);
        let program = words.iter().find(|word| !is_assigned(word));
        let sets = program.is_some_and(|program| SETTING.contains(&program.as_str()) || runners::is_wrapper(program));
        let among = words.iter().filter(|_| sets);
        in_front.chain(among).find_map(|word| {
            let (name, value) = runners::assigned(word)?;
            let home = self.env.get("HOME").map_or("$HOME", String::as_str);
            let value = value.replace("${HOME}", home).replace("$HOME", home);
            match code_paths::leads_to_open(name, &value, self.places)? {
                Leading::Open(path) => Some((word.clone(), path)),
                Leading::Relative(path) => {
                    let (_, folder) = self.folder(word)?;
                    Some((word.clone(), folder.join(path)))
                }
            }
        })
    }

    /// The file that an interpreter is given: by a word, by its input, or by text that loads it.
    fn interpreted(&self, by: &Interpreter, command: &[String], written: &Written, completes: bool) -> Found {
        let (program, arguments) = command.split_first()?;
        // Nobody writes as many; all of them would have to be looked for.
        if arguments.len() > MOST_WORDS {
            return self.folder(program);
        }
        let mut behind = Behind::Nothing;
        let (mut is_settled, mut by_input) = (false, true);
        let put_in = ["{}".to_owned()];
        for word in arguments.iter().chain(put_in.iter().filter(|_| completes)) {
            let was = std::mem::replace(&mut behind, Behind::Nothing);
            if was == Behind::Code || was == Behind::Module {
                (is_settled, by_input) = (true, false);
                if let Some(found) = self.loaded(by, program, word, was == Behind::Module) {
                    return Some(found);
                }
                continue;
            }
            if is_input(word) {
                is_settled = true;
                continue;
            }
            let is_elsewhere = word.starts_with("/proc/") || word.starts_with("/dev/fd/");
            if !is_settled && (word == "{}" || is_elsewhere && by_process(word).is_none()) {
                return self.folder(program);
            }
            if let Some(path) = values(word).find_map(|value| self.code_file(value)) {
                return Some((word.clone(), path));
            }
            if word.starts_with('-') || by.is_shell && word.starts_with('+') {
                behind = if word == "--" { Behind::Nothing } else { by.behind(word) };
                if let Behind::OwnCode(text) | Behind::OwnModule(text) = behind {
                    (is_settled, by_input) = (true, false);
                    let is_module = matches!(behind, Behind::OwnModule(_));
                    if let Some(found) = self.loaded(by, program, text, is_module) {
                        return Some(found);
                    }
                    behind = Behind::Nothing;
                }
                continue;
            }
            if let Some(inner) = word.strip_prefix("<(") {
                (is_settled, by_input) = (true, false);
                if let Some(found) = self.written_by(&text::read(inner.trim_end_matches(')')).commands) {
                    return Some(found);
                }
                continue;
            }
            let is_value = was == Behind::Value;
            by_input &= is_value;
            if self.places(word).iter().any(|path| path.exists()) {
                is_settled |= !is_value;
                continue;
            }
            let looks_so = is_unknown(word) || self.folders.is_unknown && word.contains(['/', '.']);
            let counts = match (is_value, by.has_sub_commands) {
                (false, false) => true,
                (false, true) => looks_so || word.contains(['/', '.']),
                (true, _) => looks_so,
            };
            if !is_settled && counts && !word.contains("://") {
                if let Some(path) = self.missing(word) {
                    return Some((word.clone(), path));
                }
                is_settled |= !is_value;
            }
        }
        if by_input {
            self.by_input(by, program, written)
        } else {
            None
        }
    }

    /// What comes to an interpreter by its input.
    fn by_input(&self, by: &Interpreter, program: &str, written: &Written) -> Found {
        let mut files = written
            .reads
            .iter()
            .chain(&self.all.reads)
            .filter(|file| !is_input(file));
        let file = files.find_map(|word| {
            let path = self
                .file(word)
                .or_else(|| self.missing(word).filter(|_| is_unknown(word)))?;
            Some((word.clone(), path))
        });
        let text = || {
            written
                .fed
                .iter()
                .find_map(|text| self.loaded(by, program, text, false))
        };
        let piped = || {
            let mut words = self.all.piped.iter().filter(|_| written.is_piped);
            words.find_map(|word| Some((word.clone(), self.file(word).filter(|path| path.is_file())?)))
        };
        file.or_else(text).or_else(piped)
    }

    /// What commands read that write the program of an interpreter.
    fn written_by(&self, commands: &[Written]) -> Found {
        let mut words = commands
            .iter()
            .flat_map(|written| written.words.iter().chain(&written.reads));
        words.find_map(|word| Some((word.clone(), self.file(word).filter(|path| path.is_file())?)))
    }

    /// What program text, or the name of a module, loads from the folder.
    fn loaded(&self, by: &Interpreter, program: &str, text: &str, is_module: bool) -> Found {
        if is_module {
            let path = text.replace('.', "/");
            let named = [format!("{path}.py"), format!("{path}/__main__.py")];
            let found = named.iter().find_map(|name| self.file(name));
            return found.map(|path| (text.to_owned(), path)).or_else(|| self.folder(text));
        }
        // That of a shell is read by itself.
        if by.is_shell || !LOADING.iter().any(|loading| text.contains(loading)) {
            return None;
        }
        let is_of_path = |c: char| c.is_alphanumeric() || "._-/~".contains(c);
        let mut words = text
            .split(|c: char| !is_of_path(c))
            .filter(|word| word.contains(char::is_alphanumeric));
        let file = words.find_map(|word| Some((word.to_owned(), self.file(word).filter(|path| path.is_file())?)));
        file.or_else(|| self.folder(program))
    }

    /// What an option or a sub-command names that is run.
    fn named_by_option(&self, command: &[String]) -> Found {
        let options = runners::options(command);
        let mut arguments = command.get(1..).unwrap_or_default();
        // Letters of `tar` may stand without a sign, with their values in order behind them.
        if let Some((letters, rest)) = runners::bare_letters(command)
            && options
                .iter()
                .any(|option| option.len() == 2 && letters.contains(&option[1..]))
        {
            let mut values = rest.iter().take(letters.len());
            let file = values.find_map(|value| Some((value.clone(), self.code(value)?)));
            if file.is_some() {
                return file;
            }
        }
        while let Some((word, rest)) = arguments.split_first() {
            arguments = rest;
            for option in &options {
                let value = runners::value_of(option, word, rest);
                let file = value.as_deref().and_then(|value| self.among(option, value));
                if file.is_some() {
                    return file;
                }
            }
        }
        None
    }

    /// The first file that can be changed among the words of a command line or a setting; of an option's value also a folder.
    fn among(&self, option: &str, line: &str) -> Found {
        let counts = |path: &PathBuf| path.is_file() || option.starts_with('-');
        let words = line.split(|c: char| c.is_whitespace() || "=,;|&!'\"()<>{}\\".contains(c));
        let mut words = words.filter(|word| !word.is_empty() && *word != "-");
        let named = words.find_map(|word| {
            let is_missing = |word: &&str| word.starts_with("./") || word.starts_with("../");
            let missing = || Some(word).filter(is_missing).and_then(|word| self.missing(word));
            let fitting = || self.fitting(word, |_| true);
            let path = self.file(word).filter(counts).or_else(fitting).or_else(missing)?;
            Some((word.to_owned(), path))
        });
        // What a shell puts in only the run can tell.
        let known = ["${HOME}", "$HOME", "${PWD}", "$PWD"];
        let rest = known.iter().fold(line.to_owned(), |line, name| line.replace(name, ""));
        let is_unread = option.starts_with('-') && rest.contains(['$', '`']);
        let unread = || {
            is_unread
                .then(|| self.named_anywhere().or_else(|| self.folder(line)))
                .flatten()
        };
        named.or_else(unread)
    }
}

/// Whether a word stands for the input of a program, or for nothing.
fn is_input(word: &str) -> bool {
    let starts = ["/dev/fd/", "/proc/self/fd/"];
    let descriptor = starts.iter().find_map(|start| word.strip_prefix(start));
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    ["-", "/dev/null", "/dev/stdin"].contains(&word) || descriptor.is_some_and(is_number)
}

/// Where a path goes on from the folder of a process, or from its root: `/proc/self/cwd/x`, `/dev/fd/../root/x`.
fn by_process(word: &str) -> Option<&str> {
    if !word.starts_with("/proc/") && !word.starts_with("/dev/fd/") {
        return None;
    }
    let behind = |folder: &str| {
        let mut ends = word.rmatch_indices(folder).map(|(at, _)| &word[at + folder.len()..]);
        ends.find_map(|rest| rest.strip_prefix('/'))
    };
    behind("/cwd").or_else(|| behind("/root"))
}

/// What of a program by this name is open to others.
fn open_program(name: &str, folder: &Path, env: &BTreeMap<String, String>, places: &Places) -> Option<PathBuf> {
    let is_bare = !name.contains(std::path::is_separator);
    let path = match name.strip_prefix("~/").zip(env.get("HOME")) {
        // As it is written it is a path, too, and a shell knows which of them is meant.
        Some((rest, home)) if !folder.join(name).exists() => Path::new(home).join(rest),
        // Only the run tells which program that is.
        _ if is_bare && name.len() > 1 && name != "[[" && name.contains(['$', '`', '*', '?', '[', '{']) => {
            return Some(folder.join(name));
        }
        _ if is_bare => {
            let (entry, path) = first(name, env)?;
            if !entry.is_absolute() || places.refuses(&entry).is_some() {
                return Some(path);
            }
            path
        }
        _ => {
            let path = folder.join(name);
            // A step before may lead to another folder, and only the run tells what a name with a variable means.
            if Path::new(name).is_relative() && !is_program(&path) {
                return Some(path);
            }
            path
        }
    };
    if places.refuses(&path).is_some() {
        return Some(path);
    }
    let mut run_by = interpreters(&path, folder, Some(env)).into_iter();
    run_by.find(|path| places.refuses(path).is_some())
}

/// What an argument may name: itself, or what stands behind an option.
fn values(argument: &str) -> impl Iterator<Item = &str> {
    let is_option = argument.starts_with('-');
    let behind_letter = argument.char_indices().nth(2).map(|(at, _)| &argument[at..]);
    let behind_sign = argument.split_once('=').map(|(_, value)| value);
    let own = (!is_option).then_some(argument);
    let of_option = is_option
        .then_some([behind_letter, behind_sign])
        .into_iter()
        .flatten()
        .flatten();
    own.into_iter().chain(of_option).filter(|value| !value.is_empty())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn what_commands_could_change_by_table() {
        let dir = tempfile::Builder::new().prefix("changed").tempdir_in("/var/tmp");
        let dir = dir.expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        let at = |name: &str| base.join(name);
        let program = |name: &str, text: String| {
            fs::create_dir_all(at(name).parent().expect("a folder")).expect("mkdir");
            fs::write(at(name), text).expect("write");
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).expect("chmod");
        };
        let ws = at("ws");
        program("ws/tool.sh", "#!/bin/sh\n".to_owned());
        program("ws/.venv/bin/python", String::new());
        program("bin/own", "#!/bin/sh\n".to_owned());
        program("bin/venv", format!("#!{}/.venv/bin/python\n", ws.display()));
        program("bin/by-env", "#!/usr/bin/env inner\n".to_owned());
        program("bin/by-module", format!("#!/bin/sh {}/x.py\n", ws.display()));
        program("bin/twice", format!("#!{}\n", at("bin/venv").display()));
        program("late/inner", String::new());
        program("ws/late/inner", String::new());
        program("own.py", String::new());
        symlink(at("ws/tool.sh"), at("bin/link")).expect("a link");
        super::super::guard(&ws);
        let env = |late: &str| {
            let path = format!("{}:{}:/usr/bin:/bin", at("bin").display(), at(late).display());
            BTreeMap::from([
                ("PATH".to_owned(), path),
                ("HOME".to_owned(), base.display().to_string()),
            ])
        };
        let found = |command: &[String], env: &BTreeMap<String, String>| {
            let standing = Standing {
                folder: &ws,
                is_certain: true,
                env,
            };
            planted(command, &[], standing).map(|(_, path)| path)
        };
        for (text, expected) in [
            ("own", None),
            ("ls", None),
            ("missing", None),
            ("[ -f x ]", None),
            ("[[ -f x ]]", None),
            ("cp ./tool.sh x", None),
            ("BASE/bin/own", None),
            ("~/bin/own go", None),
            ("../bin/own", None),
            ("/bin/sh -e", None),
            ("python3 BASE/own.py", None),
            ("python3 -c 1", None),
            ("bash -c true", None),
            ("./tool.sh go", Some("ws/tool.sh")),
            ("BASE/ws/tool.sh", Some("ws/tool.sh")),
            ("BASE/bin/../ws/tool.sh", Some("bin/../ws/tool.sh")),
            (".venv/bin/python x.py", Some("ws/.venv/bin/python")),
            ("~/ws/tool.sh", Some("ws/tool.sh")),
            ("link", Some("bin/link")),
            ("BASE/bin/link", Some("bin/link")),
            ("venv", Some("ws/.venv/bin/python")),
            ("BASE/bin/venv", Some("ws/.venv/bin/python")),
            ("twice", Some("ws/.venv/bin/python")),
            ("by-module", Some("ws/x.py")),
            ("bash tool.sh", Some("ws/tool.sh")),
            ("/bin/sh -e ./tool.sh", Some("ws/tool.sh")),
            (". ./tool.sh", Some("ws/tool.sh")),
            ("source tool.sh", Some("ws/tool.sh")),
            ("python3.12 -W ignore tool.sh", Some("ws/tool.sh")),
            ("node --import=./tool.sh BASE/own.py", Some("ws/tool.sh")),
            ("node -rtool.sh", Some("ws/tool.sh")),
            ("python3 .", Some("ws/.")),
            // Only the run tells which that is, or from where it counts.
            ("./none", Some("ws/none")),
            ("$HOME/bin/own", Some("ws/$HOME/bin/own")),
            ("$T", Some("ws/$T")),
        ] {
            let command: Vec<String> = text
                .replace("BASE", &base.display().to_string())
                .split(' ')
                .map(str::to_owned)
                .collect();
            let found = found(&command, &env("late"));
            assert_eq!(found, expected.map(at), "{text}");
        }
        let by_env = ["by-env".to_owned()];
        assert_eq!(found(&by_env, &env("late")), None);
        assert_eq!(found(&by_env, &env("ws/late")), Some(at("ws/late/inner")));
        assert_eq!(found(&[], &env("late")), None);
    }

    /// What a command runs in a folder that it goes to, by its input, by text, by a variable and by an option.
    #[test]
    fn what_is_run_in_other_ways() {
        let dir = tempfile::Builder::new().prefix("ways").tempdir_in("/var/tmp");
        let dir = dir.expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        let ws = base.join("ws");
        for folder in ["ws/sub/in", "ws/pkg", "own"] {
            fs::create_dir_all(base.join(folder)).expect("mkdir");
        }
        for file in [
            "ws/t.sh",
            "ws/x.bin",
            "ws/server.js",
            "ws/pre.js",
            "ws/main.py",
            "ws/a.txt",
            "ws/sub/t2.sh",
            "ws/pkg/__main__.py",
            "own/x.py",
            "own/t.sh",
        ] {
            fs::write(base.join(file), "").expect("write");
        }
        fs::write(ws.join("go.sh"), "").expect("write");
        fs::set_permissions(ws.join("go.sh"), fs::Permissions::from_mode(0o755)).expect("chmod");
        super::super::guard(&ws);
        let env = BTreeMap::from([
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("HOME".to_owned(), base.join("own").display().to_string()),
        ]);
        let found = |text: &str| {
            let text = text.replace("BASE", &base.display().to_string());
            let command = ["bash", "-c", &text].map(str::to_owned);
            let judged = crate::exec::command::judge(&command, &ws);
            let parts: Vec<&[String]> = judged.parts.iter().map(|part| part.argv.as_slice()).collect();
            let standing = Standing {
                folder: &ws,
                is_certain: true,
                env: &env,
            };
            planted(&command, &parts, standing).map(|(_, path)| path)
        };
        let mut wrong = Vec::new();
        for (text, expected) in [
            // In another folder.
            ("cd sub && bash t2.sh", Some("ws/sub/t2.sh")),
            ("cd sub; . ./t2.sh", Some("ws/sub/t2.sh")),
            ("pushd sub; python3 t2.sh", Some("ws/sub/t2.sh")),
            ("cd sub/in; cd ..; sh t2.sh", Some("ws/sub/t2.sh")),
            ("(cd sub; sh t2.sh)", Some("ws/sub/t2.sh")),
            ("builtin cd sub; sh t2.sh", Some("ws/sub/t2.sh")),
            ("env -C sub sh t2.sh", Some("ws/sub/t2.sh")),
            ("env --chdir=sub sh t2.sh", Some("ws/sub/t2.sh")),
            ("sudo -D sub sh t2.sh", Some("ws/sub/t2.sh")),
            ("cd $X && python3 y.py", Some("ws/y.py")),
            ("for d in 1 2; do cd sub; done; python3 y.py", Some("ws/y.py")),
            ("cd ~; sh t.sh", Some("ws/t.sh")),
            ("cd ~ && sh BASE/own/t.sh", None),
            ("cd sub && sh BASE/own/t.sh", None),
            // By another name.
            ("node server", Some("ws/server.js")),
            ("node -r ./pre -e 1", Some("ws/pre.js")),
            ("python3 later.py", Some("ws/later.py")),
            ("uvicorn main:app", Some("ws")),
            ("bash *.sh", Some("ws/*.sh")),
            ("sh \"$X\"", Some("ws/$X")),
            ("python3 ~/x.py", None),
            ("python3 \"$HOME/x.py\"", None),
            ("python3 -W ignore BASE/own/x.py", None),
            ("bun install", None),
            // By its input.
            ("bash < t.sh", Some("ws/t.sh")),
            ("sudo bash <t.sh", Some("ws/t.sh")),
            ("{ true; bash; } < t.sh", Some("ws/t.sh")),
            ("python3 - < main.py", Some("ws/main.py")),
            ("cat t.sh | bash", Some("ws/t.sh")),
            ("source <(cat t.sh)", Some("ws/t.sh")),
            ("bash <<E\n. ./t.sh\nE", Some("ws/t.sh")),
            ("python3 <<E\nimport x\nE", Some("ws")),
            ("bash < BASE/own/t.sh", None),
            ("python3 BASE/own/x.py < a.txt", None),
            ("cat a.txt | sort", None),
            ("bash 2>/dev/null t.sh", Some("ws/t.sh")),
            // By text and modules.
            ("python3 -m pkg", Some("ws/pkg/__main__.py")),
            ("python3 -m pip install x", Some("ws")),
            ("python3 -c 'import x'", Some("ws")),
            ("python3 -c 'exec(open(\"main.py\").read())'", Some("ws/main.py")),
            ("node -e 'require(\"./pre.js\")'", Some("ws/pre.js")),
            ("python3 -c 'print(1)'", None),
            ("perl -pi -e 's/a/b/' BASE/own/x.py", None),
            // By a variable.
            ("PATH=.:$PATH tool", Some("ws")),
            ("export PATH=\"$PWD:$PATH\"; tool", Some("ws/$PWD")),
            ("env PATH=.:/usr/bin:/bin tool", Some("ws")),
            ("LD_PRELOAD=./x.so ls", Some("ws/x.so")),
            ("GIT_SSH_COMMAND='sh t.sh' git fetch", Some("ws/t.sh")),
            ("PATH=BASE/own:$PATH tool", None),
            ("GIT_AUTHOR_NAME=x git commit", None),
            // By another program.
            ("find . -name x -exec sh {} ;", Some("ws")),
            ("find . -name 'x' -exec grep sh {} ;", None),
            ("ls | xargs -n1 sh", Some("ws")),
            ("xargs -a a.txt grep x", None),
            ("awk -f t.sh", Some("ws/t.sh")),
            ("awk '{print}' a.txt", None),
            ("sed -nf t.sh a.txt", Some("ws/t.sh")),
            ("tar -I ./t.sh -cf x.tar a.txt", Some("ws/t.sh")),
            ("tar -cf x.tar a.txt", None),
            ("rsync -e ./t.sh a.txt h:", Some("ws/t.sh")),
            ("rsync -e ssh a.txt h:", None),
            ("git bisect run sh t.sh", Some("ws/t.sh")),
            ("git -c core.sshCommand=./t.sh fetch", Some("ws/t.sh")),
            ("git commit -m a.txt", None),
            ("crontab a.txt", Some("ws/a.txt")),
            ("vim -S t.sh", Some("ws/t.sh")),
            ("vim a.txt", None),
            ("gdb -x t.sh", Some("ws/t.sh")),
            ("make -f a.txt", Some("ws/a.txt")),
            ("make test", None),
            ("/lib64/ld-linux-x86-64.so.2 ./x.bin", Some("ws/x.bin")),
            ("docker compose up", Some("ws")),
            ("docker compose -p x run web sh", Some("ws")),
            ("docker-compose up -d", Some("ws")),
            ("docker compose exec web ls", None),
            ("docker compose logs -f web", None),
            ("docker-compose ps", None),
            ("docker ps", None),
            // By text, or a name, that only the run can tell.
            ("eval \"$(cat a.txt)\"", Some("ws/a.txt")),
            ("eval `cat BASE/ws/none`", Some("ws/none")),
            ("x=$(grep -v '^#' a.txt); eval \"$x\"", Some("ws/a.txt")),
            ("sh -c \"$(cat a.txt)\"", Some("ws/a.txt")),
            ("python3 -c \"$(cat a.txt)\"", Some("ws/a.txt")),
            ("python3 <<< \"$(cat a.txt)\"", Some("ws/a.txt")),
            ("python3 <<E\n$(cat a.txt)\nE", Some("ws/a.txt")),
            ("perl < <(cat a.txt)", Some("ws/a.txt")),
            ("cat a.txt | xargs -I% sh -c %", Some("ws/a.txt")),
            ("export $(cat a.txt | xargs); ls", Some("ws/a.txt")),
            ("awk \"$(cat a.txt)\" BASE/own/x.py", Some("ws/a.txt")),
            ("f() { eval \"$1\"; }; f \"$(cat a.txt)\"", Some("ws/a.txt")),
            ("sh BASE/ws/t*", Some("ws/t*")),
            ("sh BASE/w*/t.sh", Some("ws")),
            ("sh \"$(dirname BASE/ws/x)\"/t.sh", Some("ws/x")),
            ("eval \"$(ssh-agent -s)\"", None),
            ("cd BASE/ws && eval \"$(pyenv init -)\"", None),
            ("eval \"$(cat BASE/own/x.py)\"", None),
            ("eval 'echo \"$X\"'; cat a.txt", None),
            ("python3 - <<'E'\nprint(f'${x}')\nE\ncat a.txt", None),
            // Wherever a word names it.
            ("split --filter=./go.sh a.txt", Some("ws/./go.sh")),
            ("awk 'BEGIN{system(\"./go.sh\")}'", Some("ws/./go.sh")),
            ("sed '1e ./go.sh' a.txt", Some("ws/./go.sh")),
            ("ssh-agent ./go.sh", Some("ws/./go.sh")),
            ("ssh-agent sh t.sh", Some("ws/t.sh")),
            ("setarch x86_64 ./go.sh", Some("ws/./go.sh")),
            ("git grep --no-index -O./go.sh a", Some("ws/./go.sh")),
            ("perl -e 'open(F,\"./go.sh|\")'", Some("ws/./go.sh")),
            ("perl -ne print 'go.sh|'", Some("ws/go.sh")),
            ("gcc -wrapper ./go.sh a.c", Some("ws/./go.sh")),
            ("run-parts sub", Some("ws")),
            ("socat - EXEC:./go.sh,pty", Some("ws/./go.sh")),
            ("sqlite3 x.db '.shell ./go.sh'", Some("ws/./go.sh")),
            ("psql -c '\\! ./go.sh'", Some("ws/./go.sh")),
            ("vim '+!./go.sh'", Some("ws/./go.sh")),
            ("man -P ./go.sh ls", Some("ws/./go.sh")),
            ("timeout 5 mytool 'x ./go.sh'", Some("ws/./go.sh")),
            ("tcpdump -z ./go.sh", Some("ws/./go.sh")),
            ("go test -exec ./go.sh", Some("ws/./go.sh")),
            ("mytool run go.s?", Some("ws/./go.sh")),
            ("python3 /dev/fd/../cwd/main.py", Some("ws/main.py")),
            ("bash /proc/self/cwd/t.sh", Some("ws/t.sh")),
            ("git push '--receive-p=./go.sh x' . y", Some("ws/./go.sh")),
            ("git push --receive-pack 'sh t.s? x' . y", Some("ws/./t.sh")),
            ("tar -cI./go.sh -f o a.txt", Some("ws/./go.sh")),
            ("tar cIf ./go.sh o a.txt", Some("ws/./go.sh")),
            ("tar --use-c ./go.sh -cf o a.txt", Some("ws/./go.sh")),
            ("rsync -ae./go.sh a.txt h:", Some("ws/./go.sh")),
            ("ssh -vFa.txt h", Some("ws/a.txt")),
            ("make -sfa.txt", Some("ws/a.txt")),
            // By a folder, a setting or an order that an option names.
            ("git -c core.hooksPath=sub commit -m x", Some("ws/sub")),
            ("git --exec-path=sub status", Some("ws/sub")),
            ("git --exec-path sub status", Some("ws/sub")),
            ("git clone --template=BASE/ws/sub https://example.com/x", Some("ws/sub")),
            ("git clone --templ sub https://example.com/x", Some("ws/sub")),
            ("gcc -Bsub/ -c main.c", Some("ws/sub/")),
            ("gcc -B sub -c main.c", Some("ws/sub")),
            ("g++ -fplugin=x.bin -c main.c", Some("ws/x.bin")),
            ("clang -specs=a.txt main.c", Some("ws/a.txt")),
            ("sed -n '1e./go.sh' /etc/hosts", Some("ws/./go.sh")),
            ("sed '$!e BASE/ws/go.sh' /etc/hosts", Some("ws/go.sh")),
            ("sed 1eBASE/ws/go.sh /etc/hosts", Some("ws/go.sh")),
            ("ssh -I ./x.bin host", Some("ws/./x.bin")),
            ("ssh -vIx.bin host", Some("ws/x.bin")),
            ("scp -D ./go.sh a.txt host:", Some("ws/./go.sh")),
            ("sftp -D ./go.sh", Some("ws/./go.sh")),
            ("curl --engine ./x.bin https://example.com", Some("ws/./x.bin")),
            ("curl -sKa.txt https://example.com", Some("ws/a.txt")),
            ("wget -e use_askpass=./go.sh https://example.com", Some("ws/./go.sh")),
            ("make --eval '$(shell ./go.sh)'", Some("ws/./go.sh")),
            ("make -E '$(shell ./go.sh)'", Some("ws/./go.sh")),
            ("gpg --homedir sub -d a.txt", Some("ws/sub")),
            ("npm --prefix sub publish", Some("ws/sub")),
            ("terraform -chdir=sub apply", Some("ws/sub")),
            ("mysql --defaults-file=a.txt", Some("ws/a.txt")),
            // Whatever the program is, by the name of the option.
            ("mytool --config a.txt go", Some("ws/a.txt")),
            ("mytool go --plugin-dir=sub", Some("ws/sub")),
            ("mytool --preload=none,x.bin", Some("ws/x.bin")),
            ("mytool --set-module name:./x.bin", Some("ws/./x.bin")),
            ("java -javaagent:x.bin -version", Some("ws/x.bin")),
            ("rg --pre ./a.txt x", Some("ws/./a.txt")),
            ("gh auth status --configDir BASE/ws", Some("ws")),
            ("timeout 5 mytool --rcfile a.txt", Some("ws/a.txt")),
            ("mytool --config BASE/own/x.py", None),
            ("mytool --description a.txt", None),
            ("mytool --file a.txt --output sub", None),
            ("mytool --config none", None),
            ("mytool -- --config a.txt", None),
            ("git push --force-with-lease --config", None),
            // By shell text in a value.
            ("git push --receive-pack='sh -s<a.txt' . main", Some("ws/a.txt")),
            ("git fetch --upload-pack='sh -s<a.txt' .", Some("ws/a.txt")),
            ("git fetch --upload-pack='cat${IFS}a.txt' .", Some("ws/a.txt")),
            ("git fetch --upload-pack='$X' .", Some("ws")),
            ("git archive --remote=. --exec='{ sh;}<a.txt'", Some("ws/a.txt")),
            ("git grep -O'sh a.txt' hi", Some("ws/a.txt")),
            ("tar --to-command='sh<a.txt' -xf x.tar", Some("ws/a.txt")),
            ("split --filter='sh a.txt' x", Some("ws/a.txt")),
            ("rsync -e 'sh -c sh<a.txt' h:x .", Some("ws/a.txt")),
            ("gcc -Wl,-plugin,./a.txt x.c", Some("ws/./a.txt")),
            ("gcc -Xlinker ./a.txt x.c", Some("ws/./a.txt")),
            ("gcc @a.txt x.c", Some("ws/a.txt")),
            // By an order in a language of the program's own.
            ("sqlite3 x.db '.read a.txt'", Some("ws/a.txt")),
            ("vim -es '+!sh<a.txt' +q", Some("ws/a.txt")),
            ("awk 'BEGIN{system(\"sh a.txt\")}'", Some("ws/a.txt")),
            ("gdb -batch -ex 'source a.txt'", Some("ws/a.txt")),
            ("psql -c '\\i a.txt'", Some("ws/a.txt")),
            ("mysql -e 'source a.txt'", Some("ws/a.txt")),
            ("sftp -b a.txt host", Some("ws/a.txt")),
            // By a program that is started by one that is not known.
            ("mytool sh a.txt", Some("ws/a.txt")),
            ("mytool run python3 main.py", Some("ws/main.py")),
            ("mytool -- sh -c '. ./t.sh'", Some("ws/t.sh")),
            ("mytool 'sh<a.txt'", Some("ws/a.txt")),
            ("mytool --exec 'sh a.txt'", Some("ws/a.txt")),
            ("tmux new -d sh a.txt", Some("ws/a.txt")),
            ("kubectl kustomize --enable-helm --helm-command sh .", Some("ws")),
            ("helm x --post-renderer sh", Some("ws")),
            ("node --test", Some("ws")),
            ("docker --config sub run image", Some("ws/sub")),
            ("kubectl --kubeconfig a.txt get pods", Some("ws/a.txt")),
            ("helm x --post-renderer ./go.sh", Some("ws/./go.sh")),
            ("terraform -chdir=sub plan", Some("ws/sub")),
            ("nc -e ./go.sh h 1", Some("ws/./go.sh")),
            ("perl -e 'do\"./a.txt\"'", Some("ws/./a.txt")),
            // By a setting that is written.
            ("gh alias set x '!sh a.txt'", Some("ws")),
            ("git config core.fsmonitor ./go.sh", Some("ws")),
            ("git config alias.x '!sh a.txt'", Some("ws")),
            ("git -c a=b config --global core.hooksPath sub", Some("ws")),
            ("kubectl config set-credentials x --exec-command=sh", Some("ws")),
            ("helm plugin install ./sub", Some("ws")),
            // As data.
            ("mytool deploy a.txt", None),
            ("docker run --entrypoint sh image", None),
            ("docker run --env-file a.txt image", None),
            ("gh completion --shell bash", None),
            ("git config user.name x", None),
            ("git config --get alias.x", None),
            ("git add config alias.txt", None),
            ("kubectl --kubeconfig \"$HOME/x\" get pods", None),
            ("psql -c \"copy x from 'a.txt'\"", None),
            ("awk '{print $1}' a.txt", None),
            ("cp go.sh sub/", None),
            ("chmod -v +x ./go.sh", None),
            ("git add -f go.sh t.sh", None),
            ("git commit -m 'let ./go.sh run'", None),
            ("gh pr comment --body='see ./go.sh'", None),
            ("timeout 5 git add go.sh", None),
            ("timeout 5 git commit -m 'let ./go.sh run'", None),
            ("for f in go.sh t.sh; do git add \"$f\"; done", None),
            ("[[ -f go.sh ]]", None),
            ("trap 'rm -f go.sh' EXIT", None),
            ("psql -c 'select * from x'", None),
            ("mytool '*'", None),
            ("tar -czf x.tgz go.sh", None),
            ("sed -n 1,5p go.sh", None),
            ("vim go.sh", None),
            ("find . -name go.sh", None),
            ("docker cp go.sh c:/x", None),
            ("gpg --detach-sign go.sh", None),
            ("gpg --import a.txt", None),
            ("s3cmd put go.sh s3://x/", None),
            ("scp go.sh host:", None),
            ("twine upload go.sh", None),
            ("curl -ogo.sh https://example.com", None),
            ("mytool a.txt", None),
            // What is done each day.
            ("git push -q origin main", None),
            ("git switch -c topic && git push -u origin topic", None),
            ("cargo publish --dry-run", None),
            ("npm install", None),
            ("curl -s https://example.com/a.txt -o a.txt", None),
            ("cp a.txt sub/ && ls sub", None),
            (
                "gh pr create --title 'python3 main.py' --body 'bash t.sh; node server'",
                None,
            ),
        ] {
            let found = found(text);
            if found != expected.map(|path| base.join(path)) {
                wrong.push(format!("{text}: {found:?}, not {expected:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
