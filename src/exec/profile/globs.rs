//! Patterns of what may not be read: asked of a path by its words, and looked up on the disk for the sandbox, which knows
//! paths only.

use globset::{GlobBuilder, GlobMatcher};
use std::fs;
use std::path::{Path, PathBuf};

/// Levels below its folder that a pattern is looked for on the disk.
const DEEPEST: usize = 16;
/// Entries looked at for one pattern. What lies beyond is closed for tools, and open to commands.
const MOST_ENTRIES: usize = 300_000;

/// What fits a pattern below a folder may not be read, and nothing inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::exec) struct Pattern {
    /// Canonical.
    base: PathBuf,
    pattern: String,
}

impl Pattern {
    pub(super) fn new(base: PathBuf, pattern: &str) -> Self {
        Self {
            base,
            pattern: pattern.to_owned(),
        }
    }

    /// Ready to be asked. One that is no pattern closes its whole folder, as what it meant is not known.
    pub(in crate::exec) fn compile(&self) -> Compiled {
        let glob = GlobBuilder::new(&self.pattern).literal_separator(true).build();
        Compiled {
            base: self.base.clone(),
            matcher: glob.ok().map(|glob| glob.compile_matcher()),
        }
    }

    /// What fits on the disk: folders as a whole, links left out.
    pub(in crate::exec) fn found(&self) -> Vec<PathBuf> {
        let compiled = self.compile();
        if compiled.matcher.is_none() {
            return vec![self.base.clone()];
        }
        // A pattern without ** reaches no deeper than it is written.
        let deepest = match self.pattern.contains("**") {
            true => DEEPEST,
            false => Path::new(&self.pattern).components().count(),
        };
        let mut found = Vec::new();
        let mut rest = vec![(self.base.clone(), 0)];
        let mut seen = 0;
        while let Some((folder, depth)) = rest.pop() {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            for entry in entries {
                seen += 1;
                let path = entry.path();
                let kind = entry.file_type();
                if kind.as_ref().is_ok_and(fs::FileType::is_symlink) {
                    continue;
                }
                if compiled.covers(&path) {
                    found.push(path);
                } else if depth + 1 < deepest && kind.is_ok_and(|kind| kind.is_dir()) {
                    rest.push((path, depth + 1));
                }
            }
            if seen > MOST_ENTRIES {
                tracing::warn!(
                    folder = %self.base.display(), pattern = %self.pattern,
                    "too many files for a pattern of what may not be read; commands may read what it names beyond the first"
                );
                break;
            }
        }
        found
    }
}

/// A pattern that can be asked.
#[derive(Debug)]
pub(in crate::exec) struct Compiled {
    base: PathBuf,
    matcher: Option<GlobMatcher>,
}

impl Compiled {
    /// Whether a path fits, or lies in a folder that does. Its links are followed already.
    pub(in crate::exec) fn covers(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.base) else {
            return false;
        };
        let Some(matcher) = &self.matcher else { return true };
        let mut parts = below.ancestors().take_while(|part| !part.as_os_str().is_empty());
        parts.any(|part| matcher.is_match(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_files_and_what_is_in_folders() {
        for (pattern, path, expected) in [
            ("**/.env", "/w/.env", true),
            ("**/.env", "/w/a/b/.env", true),
            ("**/.env", "/w/.env/inner", true),
            ("**/.env", "/w/.envrc", false),
            ("**/.env", "/other/.env", false),
            ("*.pem", "/w/a.pem", true),
            ("*.pem", "/w/sub/a.pem", false),
            ("**/*.{pem,key}", "/w/sub/a.key", true),
            ("sub/**", "/w/sub/x/y", true),
            ("sub/**", "/w/sub", false),
            ("[", "/w/anything", true),
        ] {
            let pattern = Pattern::new("/w".into(), pattern);
            assert_eq!(
                pattern.compile().covers(Path::new(path)),
                expected,
                "{pattern:?} {path}"
            );
        }
    }

    #[test]
    fn what_fits_is_found_on_the_disk_without_following_links() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        fs::create_dir_all(base.join("a/b")).expect("mkdir");
        for name in [".env", "a/b/.env", "a/x"] {
            fs::write(base.join(name), "").expect("write");
        }
        std::os::unix::fs::symlink(base.join("a"), base.join("link")).expect("symlink");
        let mut found = Pattern::new(base.clone(), "**/.env").found();
        found.sort();
        assert_eq!(found, [base.join(".env"), base.join("a/b/.env")]);
        assert_eq!(Pattern::new(base.clone(), "*/b").found(), [base.join("a/b")]);
    }
}
