//! The files: which there are, and what becomes of one that cannot be read.

use super::cache::Sources;
use super::table::Reader;
use super::{Rules, starlark};
use crate::config::layers::read_text;
use crate::config::tree;
use crate::private;
use std::path::{Path, PathBuf};

/// More files than anybody writes; the rest are reported.
const MOST_FILES: usize = 500;

/// Reads all the rules there are. What is wrong with them is in the reports.
pub fn load(sources: &Sources) -> Rules {
    let mut rules = Rules::default();
    for (at, folder) in sources.folders().enumerate() {
        let is_project = at > 0;
        let (files, unreadable) = files(folder);
        if !is_project && let Err(trouble) = private::check(folder) {
            Reader::new(&mut rules, folder, is_project).unreadable(trouble.to_string(), None);
        }
        if let Some(cause) = unreadable {
            let mut reader = Reader::new(&mut rules, folder, is_project);
            reader.unreadable(format!("The folder of rules cannot be read: {cause}."), None);
        }
        for (at, file) in files.iter().enumerate() {
            let mut reader = Reader::new(&mut rules, file, is_project);
            if at >= MOST_FILES {
                let message =
                    format!("There are more than {MOST_FILES} files of rules; this one and the rest are not read.");
                reader.unreadable(message, None);
                break;
            }
            // What tightens still counts in one that others can write.
            if !is_project && let Err(trouble) = private::check(file) {
                reader.unreadable(trouble.to_string(), None);
            }
            read(file, &mut reader);
        }
    }
    rules
}

/// Reads these files, and those in these folders, as the person's own. One that is not there is reported.
pub fn load_files(paths: &[PathBuf]) -> Rules {
    let mut rules = Rules::default();
    for path in paths {
        let (found, unreadable) = match path.is_dir() {
            true => files(path),
            false => (vec![path.clone()], None),
        };
        if let Some(cause) = unreadable {
            let mut reader = Reader::new(&mut rules, path, false);
            reader.unreadable(format!("The folder of rules cannot be read: {cause}."), None);
        }
        for file in found {
            read(&file, &mut Reader::new(&mut rules, &file, false));
        }
    }
    rules
}

/// One file's rules, whichever folder it lies in: as the person's own.
pub(super) fn read_one(file: &Path) -> Rules {
    let mut rules = Rules::default();
    read(file, &mut Reader::new(&mut rules, file, false));
    rules
}

/// The files of rules in a folder in the order of their names, and why they are not known if they are not.
pub(super) fn files(folder: &Path) -> (Vec<PathBuf>, Option<String>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        // Where there is no folder there are no rules.
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return (Vec::new(), None);
        }
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let mut files = Vec::new();
    let mut unreadable = None;
    for entry in entries {
        match entry {
            Ok(entry) => files.push(entry.path()),
            Err(error) => unreadable = Some(error.to_string()),
        }
    }
    // What begins with a dot is an editor's, or half written.
    let is_rules = |path: &PathBuf| {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        !name.starts_with('.') && (name.ends_with(".toml") || name.ends_with(".rules")) && !path.is_dir()
    };
    files.retain(is_rules);
    files.sort();
    (files, unreadable)
}

fn read(file: &Path, reader: &mut Reader<'_>) {
    match read_text(file) {
        // It went between the look and now, or is a link to nothing.
        Ok(None) => reader.unreadable("There is no such file; it may be a link to nothing.".to_owned(), None),
        Err(cause) => reader.unreadable(format!("The file cannot be read: {cause}."), None),
        Ok(Some(text)) if file.extension().is_some_and(|ending| ending == "rules") => starlark::read(&text, reader),
        Ok(Some(text)) => text_of_toml(&text, reader),
    }
}

/// Reads the text of a TOML file; of a broken one what tightens.
pub(super) fn text_of_toml(text: &str, reader: &mut Reader<'_>) {
    let (entries, error) = tree::parse_what_can_be(text);
    if let Some(error) = error {
        reader.unreadable(
            format!(
                "The file is not valid TOML: line {}, column {}: {}.",
                error.line,
                error.column,
                error.message.trim_end_matches('.')
            ),
            Some(error.line),
        );
        // What is left of a line may look like a key.
        reader.only_tables(&entries);
        return;
    }
    reader.entries(&entries);
}
