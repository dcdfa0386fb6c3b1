//! Where names in the person's words lead: files and folders as they see them, and nothing by guess.

use super::mentions::looks_like_a_file;
use crate::agent::permissions::Reader;
use crate::workspace::{Workspace, uri, walk};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Entries of the workspace that are looked through for a name without its folder.
const MOST_ENTRIES: usize = 50_000;
/// Places of an ambiguous name that are told.
const TOLD: usize = 5;

/// What somebody who reads for the model stands on.
pub(super) struct Ground<'a> {
    pub workspace: &'a Workspace,
    pub cwd: &'a Path,
    /// The folders of the workspace.
    pub roots: &'a [PathBuf],
    /// The person's home folder.
    pub home: Option<PathBuf>,
    pub reader: &'a Reader,
    /// The model takes images.
    pub takes_images: bool,
    /// Searches of the whole workspace that are left for an input: a pasted text can look like a thousand names.
    pub searches: Cell<usize>,
}

/// Names that are looked for in the whole workspace, an input.
pub(super) const MOST_SEARCHES: usize = 32;

/// What a name names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    One(PathBuf),
    /// Several; the first few of them.
    Many(Vec<PathBuf>),
    None,
}

impl Ground<'_> {
    /// A path as people read it.
    pub(super) fn short(&self, path: &Path) -> String {
        let name = match path.strip_prefix(self.cwd) {
            Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
            Ok(below) => below.display().to_string(),
            Err(_) => path.display().to_string(),
        };
        // No name makes a line of its own.
        match crate::shown::hides(&name) {
            true => crate::shown::exact(&name),
            false => name,
        }
    }

    /// What a name leads to from the thread's folder, else from the folders of the workspace.
    pub(super) fn find(&self, name: &str) -> Found {
        let exists = |path: &PathBuf| self.workspace.exists_in_view(path);
        if let Some(below) = name.strip_prefix('~').filter(|rest| rest.starts_with('/')) {
            let path = self.home.as_ref().map(|home| home.join(below.trim_start_matches('/')));
            return one(path.map(|path| uri::clean(&path)).filter(exists));
        }
        let here = uri::clean(&self.cwd.join(name));
        // The name of a folder must be one; an absolute path is what it is.
        if exists(&here) || Path::new(name).is_absolute() {
            return one(Some(here).filter(exists));
        }
        let below = self.roots.iter().filter(|root| *root != self.cwd).map(|root| {
            // A folder of the workspace may be named itself, where there are several.
            let named = root.file_name().and_then(|own| Path::new(name).strip_prefix(own).ok());
            let named = named.map(|rest| uri::clean(&root.join(rest)));
            named.filter(exists).unwrap_or_else(|| uri::clean(&root.join(name)))
        });
        let mut found: Vec<PathBuf> = below.filter(exists).collect();
        found.dedup();
        if found.len() > 1 {
            // Of several only those are named that may be.
            found.retain(|path| self.reader.may_read(path));
        }
        match found.len() {
            0 => Found::None,
            1 => one(found.pop()),
            _ => Found::Many(found.into_iter().take(TOLD).collect()),
        }
    }

    /// The files of the workspace whose path ends with these names: `main.rs`, `agent/mod.rs`. Whatever ignore files name
    /// is not looked for, and nothing is found where not all could be looked at.
    pub(super) fn search(&self, name: &str) -> Found {
        let wanted = Path::new(name);
        if !looks_like_a_file(name) || !wanted.is_relative() || name.starts_with('.') || name.ends_with('/') {
            return Found::None;
        }
        let Some(left) = self.searches.get().checked_sub(1) else {
            return Found::None;
        };
        self.searches.set(left);
        let open = self.workspace.documents();
        let open = open.iter().filter_map(|document| document.path().map(Path::to_owned));
        let mut found: Vec<PathBuf> = open.filter(|path| path.ends_with(wanted)).collect();
        found.retain(|path| self.roots.iter().any(|root| path.starts_with(root)) || path.starts_with(self.cwd));
        let inside = |root: &&PathBuf| !self.roots.iter().any(|other| other != *root && root.starts_with(other));
        let mut roots: Vec<&Path> = self.roots.iter().filter(inside).map(PathBuf::as_path).collect();
        if !roots.iter().any(|root| self.cwd.starts_with(root)) {
            roots.push(self.cwd);
        }
        let entries = roots.into_iter().flat_map(|root| walk::entries(root, None));
        for (count, entry) in entries.enumerate() {
            if count == MOST_ENTRIES {
                return Found::None;
            }
            if !entry.is_dir && entry.path.ends_with(wanted) && !found.contains(&entry.path) {
                found.push(entry.path);
            }
        }
        found.retain(|path| self.reader.may_read(path));
        match found.len() {
            0 => Found::None,
            1 => one(found.pop()),
            _ => {
                found.sort();
                found.truncate(TOLD);
                Found::Many(found)
            }
        }
    }
}

fn one(path: Option<PathBuf>) -> Found {
    path.map_or(Found::None, Found::One)
}
