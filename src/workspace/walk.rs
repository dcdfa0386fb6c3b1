//! Walking a folder with its ignore files honoured.

use ignore::WalkBuilder;
use std::path::{Path, PathBuf};

/// Ignore file of our own, beside `.gitignore` and `.ignore`.
pub const IGNORE_FILE: &str = ".countersignignore";

/// The files that say what is left out below their folder.
pub const RULES: [&str; 3] = [".gitignore", ".ignore", IGNORE_FILE];

pub struct Entry {
    pub path: PathBuf,
    pub is_dir: bool,
}

/// What is below a folder, in the order of names, without what ignore files name and without `.git`.
/// Hidden files are there, links are not followed, unreadable places are passed over.
pub fn entries(dir: &Path, depth: Option<usize>) -> impl Iterator<Item = Entry> {
    builder(dir)
        .max_depth(depth)
        .sort_by_file_name(std::cmp::Ord::cmp)
        .build()
        .skip(1)
        .filter_map(Result::ok)
        .map(|entry| Entry {
            is_dir: entry.file_type().is_some_and(|kind| kind.is_dir()),
            path: entry.into_path(),
        })
}

/// A walk as every walk here is: what is left out is the same for all.
pub(super) fn builder(dir: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(dir);
    builder
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .add_custom_ignore_filename(IGNORE_FILE)
        .filter_entry(|entry| entry.file_name() != ".git");
    builder
}
