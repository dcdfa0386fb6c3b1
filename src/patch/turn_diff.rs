//! The difference that a turn makes so far: every file from before the turn to now, however many steps led there.

use super::diff::unified_diff;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Collects the changes of one turn.
#[derive(Clone, Debug, Default)]
pub struct TurnDiff {
    files: BTreeMap<PathBuf, FileNow>,
}

/// A name in the tree: what it held before the turn and what it holds now.
#[derive(Clone, Debug)]
struct FileNow {
    before: Option<String>,
    after: Option<String>,
    /// The name before the turn of the file that is now here, if it came from elsewhere.
    moved_from: Option<PathBuf>,
}

impl TurnDiff {
    /// A file was written, created (`before` is `None`) or deleted (`after` is `None`).
    pub fn record(&mut self, path: &Path, before: Option<&str>, after: Option<&str>) {
        let file = self.file(path, before);
        file.after = after.map(str::to_owned);
        if after.is_none() {
            file.moved_from = None;
        }
    }

    /// A file was moved and perhaps changed on the way.
    pub fn record_move(&mut self, from: &Path, to: &Path, before: &str, after: &str) {
        let source = self.file(from, Some(before));
        // A file made in this turn is simply new at its last name.
        let origin = source
            .moved_from
            .take()
            .or_else(|| source.before.is_some().then(|| from.to_owned()));
        source.after = None;
        let target = self.file(to, None);
        target.after = Some(after.to_owned());
        target.moved_from = origin.filter(|origin| origin != to);
    }

    /// The caller says what it holds now.
    fn file(&mut self, path: &Path, before: Option<&str>) -> &mut FileNow {
        self.files.entry(path.to_owned()).or_insert_with(|| FileNow {
            before: before.map(str::to_owned),
            after: None,
            moved_from: None,
        })
    }

    /// The unified diff of the whole turn so far, `None` if nothing is different from before the turn.
    pub fn unified(&self, relative_to: &Path) -> Option<String> {
        // A source still tells its own story if a new file has taken its name.
        let origin = |file: &FileNow| {
            let from = file
                .moved_from
                .as_ref()
                .filter(|_| file.before.is_none() && file.after.is_some())?;
            let source = self.files.get(from)?;
            (source.after.is_none()).then(|| (from.clone(), source.before.clone()))
        };
        // One target only: a file cannot be renamed to two.
        let mut sources: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
        for (path, file) in &self.files {
            if let Some((from, _)) = origin(file) {
                sources.entry(from).or_insert_with(|| path.clone());
            }
        }
        let mut diff = String::new();
        for (path, file) in &self.files {
            if sources.contains_key(path) {
                continue;
            }
            match origin(file).filter(|(from, _)| sources.get(from) == Some(path)) {
                Some((from, before)) => {
                    diff += &unified_diff(&from, relative_to, before.as_deref(), file.after.as_deref(), Some(path));
                }
                None => diff += &unified_diff(path, relative_to, file.before.as_deref(), file.after.as_deref(), None),
            }
        }
        (!diff.is_empty()).then_some(diff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        Path::new("/w").join(name)
    }

    fn shown(diff: &TurnDiff) -> Option<String> {
        diff.unified(Path::new("/w"))
    }

    /// Shows S-275.
    #[test]
    fn edits_of_several_rounds_show_as_one() {
        let mut diff = TurnDiff::default();
        assert_eq!(shown(&diff), None);
        diff.record(&path("a"), Some("1\n"), Some("2\n"));
        diff.record(&path("b"), None, Some("x\n"));
        diff.record(&path("a"), Some("2\n"), Some("3\n"));
        assert_eq!(
            shown(&diff).unwrap(),
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+3\n\
             diff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n"
        );
        diff.record(&path("a"), Some("3\n"), Some("1\n"));
        diff.record(&path("b"), Some("x\n"), None);
        assert_eq!(shown(&diff), None);
    }

    #[test]
    fn moves_are_followed() {
        let mut diff = TurnDiff::default();
        diff.record_move(&path("a"), &path("b"), "1\n", "1\n");
        diff.record_move(&path("b"), &path("c"), "1\n", "1\n");
        assert_eq!(
            shown(&diff).unwrap(),
            "diff --git a/a b/c\nrename from a\nrename to c\n"
        );
        diff.record_move(&path("c"), &path("a"), "1\n", "1\n");
        assert_eq!(shown(&diff), None);
        // Two files change places: no rename, two changes.
        let mut diff = TurnDiff::default();
        diff.record_move(&path("a"), &path("t"), "1\n", "1\n");
        diff.record_move(&path("b"), &path("a"), "2\n", "2\n");
        diff.record_move(&path("t"), &path("b"), "1\n", "1\n");
        let text = shown(&diff).unwrap();
        assert!(text.contains("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n"), "{text}");
        assert!(text.contains("--- a/b\n+++ b/b\n@@ -1 +1 @@\n-2\n+1\n"), "{text}");
    }

    #[test]
    fn a_new_file_that_moves_is_new() {
        let mut diff = TurnDiff::default();
        diff.record(&path("a"), None, Some("1\n"));
        diff.record_move(&path("a"), &path("b"), "1\n", "2\n");
        assert_eq!(
            shown(&diff).unwrap(),
            "diff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+2\n"
        );
    }
}
