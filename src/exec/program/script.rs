//! What a script is run by, as its first line says.

use super::first;
use super::places::Places;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// As many bytes of a first line as Linux reads.
const LINE: u64 = 256;
/// An interpreter can be a script itself, so many times in a row.
const DEPTH: usize = 4;

/// Opens a regular file, without waiting for whoever may have put something else in its place.
///
/// # Errors
/// It cannot be read, or is no regular file.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC);
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// The words behind `#!`; none of a file that is no script.
fn first_line(path: &Path) -> Vec<String> {
    let mut start = Vec::new();
    let read = open_file(path).and_then(|file| file.take(LINE).read_to_end(&mut start));
    let line = start.strip_prefix(b"#!").filter(|_| read.is_ok()).unwrap_or_default();
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line)
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// The files that a script is run by: its interpreter, what that is given to load, and what runs those. A relative one counts from
/// `folder`. What `env` looks for in `PATH` is among them where `env` is given.
pub fn interpreters(script: &Path, folder: &Path, env: Option<&BTreeMap<String, String>>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut scripts = vec![script.to_owned()];
    for _ in 0..DEPTH {
        let named = scripts.iter().flat_map(|script| named(script, folder, env));
        scripts = named.filter(|path| !found.contains(path)).collect();
        found.extend(scripts.iter().cloned());
    }
    found
}

/// Those that one first line names.
fn named(script: &Path, folder: &Path, env: Option<&BTreeMap<String, String>>) -> Vec<PathBuf> {
    let words = first_line(script);
    let Some((interpreter, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let mut named = vec![folder.join(interpreter)];
    let is_env = Path::new(interpreter).file_name() == Some(OsStr::new("env"));
    let mut looked_for = env.filter(|_| is_env);
    for word in arguments {
        // What `-S` splits can be written together with it.
        let word = word.strip_prefix("-S").filter(|_| is_env).unwrap_or(word);
        let (is_option, is_assignment) = (word.starts_with('-'), word.contains('='));
        let value = word.rsplit_once('=').map_or(word, |(_, value)| value);
        match value.find('/') {
            // Also behind the letter of an option.
            Some(at) if is_option => named.push(PathBuf::from(&value[at..])),
            Some(_) => named.push(folder.join(value)),
            None if !is_option && !is_assignment && !word.is_empty() => {
                let program = looked_for.and_then(|env| first(word, env));
                named.extend(program.map(|(_, path)| folder.join(path)));
            }
            None => {}
        }
        if !is_option && !is_assignment && !word.is_empty() {
            looked_for = None;
        }
    }
    named
}

/// Why nothing is started that is run by what others could have put there.
pub(super) fn refuses_interpreter(places: &Places, script: &Path) -> Option<String> {
    // A bare name is looked for in a `PATH` without such places.
    interpreters(script, Path::new("/"), None).iter().find_map(|path| {
        let why = places.refuses(path)?;
        Some(format!("it is run by {}: {why}", path.display()))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn first_lines_by_table() {
        let dir = tempfile::tempdir().expect("a folder");
        let node = dir.path().join("bin/node");
        fs::create_dir(dir.path().join("bin")).expect("mkdir");
        fs::write(&node, [0x7f, b'E', b'L', b'F']).expect("write");
        fs::set_permissions(&node, fs::Permissions::from_mode(0o755)).expect("chmod");
        let env = BTreeMap::from([("PATH".to_owned(), dir.path().join("bin").display().to_string())]);
        let node = node.display().to_string();
        let node = node.as_str();
        for (text, expected) in [
            ("#!/bin/sh -e\nx", vec!["/bin/sh"]),
            ("#! /w/.venv/bin/python\n", vec!["/w/.venv/bin/python"]),
            ("#!bin/python", vec!["/w/bin/python"]),
            ("#!/usr/bin/env node\n", vec!["/usr/bin/env", node]),
            ("#!/usr/bin/env -S node --x\n", vec!["/usr/bin/env", node]),
            ("#!/usr/bin/env -Snode x\n", vec!["/usr/bin/env", node]),
            ("#!/usr/bin/env -i A=1 node\n", vec!["/usr/bin/env", node]),
            ("#!/usr/bin/env -S node node\n", vec!["/usr/bin/env", node]),
            ("#!/usr/bin/env /w/x\n", vec!["/usr/bin/env", "/w/x"]),
            ("#!/usr/bin/env missing\n", vec!["/usr/bin/env"]),
            ("#!/usr/bin/perl -I/w/lib\n", vec!["/usr/bin/perl", "/w/lib"]),
            ("#!/usr/bin/python3 x/y.py\n", vec!["/usr/bin/python3", "/w/x/y.py"]),
            ("#!/usr/bin/java --source=/w/x\n", vec!["/usr/bin/java", "/w/x"]),
            ("#!\n/bin/sh", vec![]),
            ("/bin/sh", vec![]),
            ("", vec![]),
        ] {
            let script = dir.path().join("script");
            fs::write(&script, text).expect("write");
            let found = named(&script, Path::new("/w"), Some(&env));
            assert_eq!(
                found,
                expected.iter().map(PathBuf::from).collect::<Vec<_>>(),
                "{text:?}"
            );
        }
        assert!(named(dir.path(), Path::new("/w"), None).is_empty());
        assert!(named(&dir.path().join("none"), Path::new("/w"), None).is_empty());
    }

    #[test]
    fn a_script_that_runs_a_script() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        let write = |name: &str, by: &Path| fs::write(at(name), format!("#!{}\n", by.display())).expect("write");
        write("a", &at("b"));
        write("b", &at("c"));
        write("c", &at("c"));
        let found = interpreters(&at("a"), Path::new("/"), None);
        assert_eq!(found, [at("b"), at("c")]);
    }
}
