//! Where a command may find itself by the time that it runs something.

use super::commands::Commands;
use super::{Standing, is_unknown, runners};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// More folders than these are not told apart.
const MOST_FOLDERS: usize = 16;

/// The folders that a command may find itself in, since a change of folder may have failed, and a loop may be behind it.
pub(super) struct Folders {
    pub(super) known: Vec<PathBuf>,
    /// There may be others.
    pub(super) is_unknown: bool,
}

impl Folders {
    pub(super) fn of(all: &Commands, standing: Standing<'_>) -> Self {
        let mut folders = Self {
            known: vec![standing.folder.to_owned()],
            is_unknown: !standing.is_certain,
        };
        for written in &all.written {
            folders.follow(&written.words, all.repeats, standing.env);
            if folders.known.len() > MOST_FOLDERS {
                folders.known.truncate(MOST_FOLDERS);
                folders.is_unknown = true;
            }
        }
        folders
    }

    /// Goes where a command may lead.
    fn follow(&mut self, words: &[String], repeats: bool, env: &BTreeMap<String, String>) {
        self.is_unknown |= words.iter().any(|word| word.starts_with("CDPATH="));
        for at in runners::beginnings(words) {
            let arguments = words.get(at + 1..).unwrap_or_default();
            match words[at].as_str() {
                // What it goes by is looked at like what it runs.
                "." | "source" | "trap" | "alias" => self.is_unknown = true,
                "eval" => self.is_unknown |= arguments.iter().any(|word| is_unknown(word)),
                program @ ("cd" | "chdir" | "pushd") => {
                    let is_option = |word: &&String| matches!(word.as_str(), "-L" | "-P" | "-e" | "-@" | "--");
                    let operands: Vec<&String> = arguments.iter().filter(|word| !is_option(word)).collect();
                    match operands.as_slice() {
                        [] if program == "pushd" => {}
                        [] => self.enter("~", false, env),
                        [folder] => self.enter(folder, repeats, env),
                        _ => self.is_unknown = true,
                    }
                }
                _ => {}
            }
        }
        let mut words = words.iter();
        let starts_elsewhere = words.next().is_some_and(|program| runners::is_wrapper(program));
        while let Some(word) = words.next() {
            if matches!(word.as_str(), "-execdir" | "-okdir") {
                self.is_unknown = true;
            }
            // `env -C x`, `sudo -D x`, `uv --directory x`.
            let long = [
                "--chdir",
                "--cwd",
                "--directory",
                "--project-directory",
                "--working-directory",
            ];
            let value = match word.split_once('=') {
                Some((name, value)) if long.contains(&name) => Some(value),
                _ if long.contains(&word.as_str()) || word == "-C" || word == "-D" => {
                    words.as_slice().first().map(String::as_str)
                }
                _ => word.strip_prefix("-C").or_else(|| word.strip_prefix("-D")),
            };
            let Some(value) = value else { continue };
            if starts_elsewhere && is_unknown(value) {
                self.is_unknown = true;
            } else if self.known.iter().any(|folder| folder.join(value).is_dir()) {
                self.enter(value, false, env);
            }
        }
    }

    fn enter(&mut self, folder: &str, repeats: bool, env: &BTreeMap<String, String>) {
        let variable = |name: &str| env.get(name).map(PathBuf::from).into_iter().collect::<Vec<_>>();
        let places = match folder.strip_prefix('~') {
            _ if folder == "-" => variable("OLDPWD"),
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = variable("HOME");
                self.is_unknown |= home.is_empty();
                home.iter()
                    .map(|home| home.join(rest.trim_start_matches('/')))
                    .collect()
            }
            _ if folder.starts_with(['~', '+', '-']) || is_unknown(folder) => {
                self.is_unknown = true;
                return;
            }
            _ => {
                self.is_unknown |= repeats && Path::new(folder).is_relative();
                self.known.iter().map(|from| from.join(folder)).collect()
            }
        };
        for place in places {
            // A shell goes up by the words or by what is there.
            for place in [clean(&place), place] {
                if !self.known.contains(&place) {
                    self.known.push(place);
                }
            }
        }
    }
}

/// A path without its steps up, by its words.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            _ => clean.push(part),
        }
    }
    clean
}
