//! What the files of a server's program were when it was last started, of those that commands of the agent can write: a
//! command puts text of its own into one inside the sandbox, and the next start would run it outside. A server whose files
//! have become others is not started before the person says that they may.

use super::code::{self, Look};
use super::launch::Launch;
use crate::config::own_file::{FileError, OwnFile};
use crate::exec::{self, program};
use crate::patch::disk::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Servers that are remembered.
const MOST: usize = 500;

/// By the digest of what a server is started with.
#[derive(Default, Serialize, Deserialize)]
struct All {
    #[serde(default)]
    servers: BTreeMap<String, Files>,
    /// Those that were not started since.
    #[serde(default)]
    refused: BTreeMap<String, Refused>,
}

/// What each file, and the code in each folder, is.
type Files = BTreeMap<PathBuf, String>;

#[derive(Serialize, Deserialize)]
struct Refused {
    name: String,
    paths: BTreeSet<PathBuf>,
}

fn file(home: &Path) -> PathBuf {
    home.join("private").join("tool-servers.json")
}

/// Looks whether a server's files are what they were when it was last started; with the first start they are remembered.
///
/// # Errors
/// They are others: which, and what to do.
pub(super) fn check(home: &Path, name: &str, launch: &Launch) -> Result<(), String> {
    let Some(key) = key(name, launch) else { return Ok(()) };
    let all = match std::fs::read_to_string(file(home)) {
        Ok(text) => serde_json::from_str(&text).unwrap_or_default(),
        Err(_) => All::default(),
    };
    let empty = Files::new();
    let known = all.servers.get(&key).unwrap_or(&empty);
    let paths = paths(launch);
    let (mut now, mut changed) = (Files::new(), Vec::new());
    // Also what commands of this session cannot write: those of another one could.
    for (path, before) in known {
        match code::look(path, before) {
            Look::Same => {}
            Look::Touched(mark) => drop(now.insert(path.clone(), mark)),
            Look::Changed => changed.push(code::shown(path)),
        }
    }
    if !changed.is_empty() {
        let refused = Refused {
            name: name.to_owned(),
            paths: paths.into_iter().chain(known.keys().cloned()).collect(),
        };
        if let Err(error) = change(home, |all| drop(all.refused.insert(key, refused))) {
            tracing::warn!(%error, "that an MCP server was not started is not remembered; only one of a file can be allowed");
        }
        return Err(format!(
            "what it runs was changed since it was last started, where commands of the agent can write: {}. Look at the change; if \
             it is yours, run `countersign mcp allow {}` in a terminal in the project's folder, and start a new conversation",
            changed.join(", "),
            crate::shown::exact(&super::failure::word(name))
        ));
    }
    let new = paths.into_iter().filter(|path| !known.contains_key(path));
    now.extend(new.map(|path| (path.clone(), code::mark(&path))));
    if !now.is_empty()
        && let Err(error) = change(home, |all| all.servers.entry(key).or_default().extend(now))
    {
        tracing::warn!(%error, "what an MCP server runs is not remembered; a change of it will not be noticed");
    }
    Ok(())
}

/// Remembers the files of a server as they are now: the person has looked at them. Gives what is remembered.
///
/// # Errors
/// It cannot be written.
pub fn allow(home: &Path, name: &str, launch: &Launch) -> Result<BTreeSet<PathBuf>, FileError> {
    let Some(key) = key(name, launch) else {
        return Ok(BTreeSet::new());
    };
    let mut paths = paths(launch);
    change(home, |all| {
        // Not all that commands could write has to be known here.
        let refused = all.refused.remove(&key).into_iter().flat_map(|refused| refused.paths);
        paths.extend(refused);
        if let Some(files) = all.servers.get(&key) {
            paths.extend(files.keys().cloned());
        }
        all.servers.insert(key, marks(&paths));
    })?;
    Ok(paths)
}

/// The same of the servers with this name that were not started and run what lies in a folder, wherever they are configured.
/// Where there is none it is the only one with this name, unless `is_known` says that another is meant.
///
/// # Errors
/// It cannot be written.
pub fn allow_refused(home: &Path, name: &str, folder: &Path, is_known: bool) -> Result<BTreeSet<PathBuf>, FileError> {
    let mut paths = BTreeSet::new();
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let lies_in = |path: &PathBuf| path.starts_with(folder) || path.starts_with(&real);
    change(home, |all| {
        let named = all.refused.iter().filter(|(_, refused)| refused.name == name);
        let named: Vec<(String, bool)> = named
            .map(|(key, refused)| (key.clone(), refused.paths.iter().any(lies_in)))
            .collect();
        let is_only = !is_known && named.len() == 1;
        for (key, _) in named.into_iter().filter(|(_, is_here)| *is_here || is_only) {
            if let Some(refused) = all.refused.remove(&key) {
                all.servers.insert(key, marks(&refused.paths));
                paths.extend(refused.paths);
            }
        }
    })?;
    Ok(paths)
}

fn marks(paths: &BTreeSet<PathBuf>) -> Files {
    paths.iter().map(|path| (path.clone(), code::mark(path))).collect()
}

fn change(home: &Path, change: impl FnOnce(&mut All)) -> Result<(), FileError> {
    let file = OwnFile::open(&file(home))?;
    let known = file.text().and_then(|text| serde_json::from_str(text).ok());
    let mut all: All = known.unwrap_or_default();
    change(&mut all);
    while all.servers.len() > MOST {
        all.servers.pop_first();
    }
    while all.refused.len() > MOST {
        all.refused.pop_first();
    }
    file.replace(&serde_json::to_string_pretty(&all).unwrap_or_default(), |_| Ok(()))
}

/// What a program is started with, in a short form; nothing for a service. Where it is found depends on who looks, and so
/// does the folder of a server for which none is named.
fn key(name: &str, launch: &Launch) -> Option<String> {
    let Launch::Program { argv, cwd, env } = launch else {
        return None;
    };
    let named = Some(cwd).filter(|cwd| **cwd != program::neutral_folder(env));
    let named = named.map(|cwd| cwd.to_string_lossy());
    let text = serde_json::json!([name, argv.get(1..), named]).to_string();
    Some(hexadecimal(&Sha256::digest(text.as_bytes())))
}

/// The folder of a server, the folders that its arguments name, and the code that its command line leads to, as far as
/// commands of the agent or others can change them.
fn paths(launch: &Launch) -> BTreeSet<PathBuf> {
    let Launch::Program { argv, cwd, env } = launch else {
        return BTreeSet::new();
    };
    let named = argv.iter().map(|argument| {
        let value = argument.split_once('=').filter(|(option, _)| option.starts_with('-'));
        cwd.join(value.map_or(argument.as_str(), |(_, value)| value))
    });
    std::iter::once(cwd.clone())
        .chain(named)
        .filter(|path| path.is_dir() && program::is_open(path, env))
        .chain(exec::led_to(argv, cwd, env))
        .collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
