//! The difference that a turn makes so far: every file from before the turn to now, however many steps led there.

use super::diff::{Name, unified_diff};
use crate::protocol::item::FileChangeKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Collects the changes of one turn.
#[derive(Clone, Debug, Default)]
pub struct TurnDiff {
    files: BTreeMap<PathBuf, FileNow>,
    /// Rises with each change that is told.
    revision: u64,
}

/// What is at a path at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Permission bits, where they are known.
    pub mode: Option<u32>,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Text(Arc<str>),
    /// A content that is not shown: no text, or too much of it. Two with one key are the same.
    Bytes {
        key: String,
        size: u64,
    },
    /// A symbolic link and where it leads.
    Link(PathBuf),
    /// A file that is only known to be there. Two with one key are the same.
    Unkept {
        key: String,
        size: u64,
    },
}

/// One path of the turn, for whoever keeps its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChanged {
    pub path: PathBuf,
    pub before: Option<Side>,
    pub after: Option<Side>,
    pub moved_from: Option<PathBuf>,
}

/// What has become of one file, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileShown {
    /// Of a file that was moved, the path that it had.
    pub path: PathBuf,
    pub kind: FileChangeKind,
    /// In the form of `git diff`.
    pub diff: String,
}

/// A name in the tree: what it held before the turn and what it holds now.
#[derive(Clone, Debug)]
struct FileNow {
    before: Option<Side>,
    after: Option<Side>,
    /// The name before the turn of the file that is now here, if it came from elsewhere.
    moved_from: Option<PathBuf>,
}

impl Side {
    pub fn text(text: &str) -> Self {
        Self {
            mode: None,
            body: Body::Text(text.into()),
        }
    }

    /// The same content under the bits that it had, where it has none of its own.
    fn with_mode_of(mut self, other: Option<&Self>) -> Self {
        self.mode = self.mode.or_else(|| other.and_then(|other| other.mode));
        self
    }

    fn shown_text(&self) -> Option<&str> {
        match &self.body {
            Body::Text(text) => Some(text),
            _ => None,
        }
    }

    /// As git has it.
    fn git_mode(&self) -> &'static str {
        match (&self.body, self.mode) {
            (Body::Link(_), _) => "120000",
            (_, Some(mode)) if mode & 0o100 != 0 => "100755",
            _ => "100644",
        }
    }
}

/// Whether both are the same to the person. Bits that are not known are no difference.
fn same(a: Option<&Side>, b: Option<&Side>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.body == b.body && (a.mode.is_none() || b.mode.is_none() || a.mode == b.mode),
        (None, None) => true,
        _ => false,
    }
}

impl TurnDiff {
    /// A file was written, created (`before` is `None`) or deleted (`after` is `None`). Its bits stayed as they were.
    pub fn record(&mut self, path: &Path, before: Option<&str>, after: Option<&str>) {
        self.record_sides(path, before.map(Side::text), after.map(Side::text));
    }

    /// Whatever is at a path was changed.
    pub fn record_sides(&mut self, path: &Path, before: Option<Side>, after: Option<Side>) {
        let file = self.file(path, before.clone());
        let last = file.after.take().or(before);
        file.after = after.map(|after| after.with_mode_of(last.as_ref()));
        if file.after.is_none() {
            file.moved_from = None;
        }
    }

    /// A file was moved and perhaps changed on the way. Its bits went along.
    pub fn record_move(&mut self, from: &Path, to: &Path, before: &str, after: &str) {
        let source = self.file(from, Some(Side::text(before)));
        // A file made in this turn is simply new at its last name.
        let origin = source
            .moved_from
            .take()
            .or_else(|| source.before.is_some().then(|| from.to_owned()));
        let last = source.after.take().or_else(|| source.before.clone());
        let target = self.file(to, None);
        target.after = Some(Side::text(after).with_mode_of(last.as_ref()));
        target.moved_from = origin.filter(|origin| origin != to);
    }

    /// Whether something was told of a path.
    pub fn knows(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// Another number means that something was told since.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The file that is at a path now was given these permission bits.
    pub fn record_new_mode(&mut self, path: &Path, mode: u32) {
        self.revision += 1;
        if let Some(side) = self.files.get_mut(path).and_then(|file| file.after.as_mut()) {
            side.mode = Some(mode);
        }
    }

    /// The permission bits that the file at a path had before the turn, and has if it is still there or was moved.
    pub fn record_mode(&mut self, path: &Path, mode: u32) {
        self.revision += 1;
        let set = |side: Option<&mut Side>| {
            if let Some(side) = side {
                side.mode.get_or_insert(mode);
            }
        };
        if let Some(file) = self.files.get_mut(path) {
            set(file.before.as_mut());
            set(file.after.as_mut());
        }
        for file in self
            .files
            .values_mut()
            .filter(|file| file.moved_from.as_deref() == Some(path))
        {
            set(file.after.as_mut());
        }
    }

    /// Takes in a file of a record.
    pub fn restore(&mut self, file: FileChanged) {
        let FileChanged {
            path,
            before,
            after,
            moved_from,
        } = file;
        let now = FileNow {
            before,
            after,
            moved_from,
        };
        self.files.insert(path, now);
    }

    /// The caller says what it holds now.
    fn file(&mut self, path: &Path, before: Option<Side>) -> &mut FileNow {
        self.revision += 1;
        let file = self.files.entry(path.to_owned()).or_insert_with(|| FileNow {
            before: before.clone(),
            after: before.clone(),
            moved_from: None,
        });
        // Bits that are told only now: what changed the file so far left them as they were.
        let told = before.and_then(|before| before.mode);
        if let Some(now) = file.after.as_mut().filter(|now| now.mode.is_none()) {
            now.mode = told;
            if let Some(before) = &mut file.before {
                before.mode = before.mode.or(told);
            }
        }
        file
    }

    /// The paths that are not as they were before the turn, in order.
    pub fn changed(&self) -> Vec<FileChanged> {
        self.files
            .iter()
            .filter(|(_, file)| !same(file.before.as_ref(), file.after.as_ref()))
            .map(|(path, file)| FileChanged {
                path: path.clone(),
                before: file.before.clone(),
                after: file.after.clone(),
                moved_from: file.moved_from.clone(),
            })
            .collect()
    }

    /// The unified diff of the whole turn so far, `None` if nothing is different from before the turn.
    pub fn unified(&self, relative_to: &Path) -> Option<String> {
        let files = self.files_shown(relative_to).into_iter();
        let diff: String = files.map(|file| file.diff).collect();
        (!diff.is_empty()).then_some(diff)
    }

    /// What has become of each file, by its path now; a file that was moved is one.
    pub fn files_shown(&self, relative_to: &Path) -> Vec<FileShown> {
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
        self.find_renames(&mut sources);
        let targets: BTreeMap<&PathBuf, &PathBuf> = sources.iter().map(|(from, to)| (to, from)).collect();
        let mut shown = Vec::new();
        for (path, file) in &self.files {
            if sources.contains_key(path) {
                continue;
            }
            let (from, before) = match targets.get(path) {
                Some(from) => (
                    from.as_path(),
                    self.files.get(*from).and_then(|source| source.before.as_ref()),
                ),
                None => (path.as_path(), file.before.as_ref()),
            };
            let diff = one_file(from, path, relative_to, before, file.after.as_ref());
            if diff.is_empty() {
                continue;
            }
            let kind = match (before, &file.after) {
                (None, _) => FileChangeKind::Add,
                (Some(_), None) => FileChangeKind::Delete,
                (Some(_), Some(_)) => FileChangeKind::Update {
                    move_path: (from != path).then(|| path.clone()),
                },
            };
            shown.push(FileShown {
                path: from.to_owned(),
                kind,
                diff,
            });
        }
        shown
    }

    /// Files that are gone and came up elsewhere with the same content were moved, whoever moved them.
    fn find_renames(&self, sources: &mut BTreeMap<PathBuf, PathBuf>) {
        let taken: BTreeSet<PathBuf> = sources.values().cloned().collect();
        let mut gone: BTreeMap<u64, Vec<(&PathBuf, &Side)>> = BTreeMap::new();
        for (path, file) in &self.files {
            if let (Some(before), None) = (&file.before, &file.after)
                && !sources.contains_key(path)
            {
                gone.entry(weight(before)).or_default().push((path, before));
            }
        }
        for (path, file) in self.files.iter().filter(|(path, _)| !taken.contains(*path)) {
            let (None, Some(after)) = (&file.before, &file.after) else {
                continue;
            };
            // An empty file is like any other.
            if weight(after) == 0 {
                continue;
            }
            let Some(candidates) = gone.get_mut(&weight(after)) else {
                continue;
            };
            if let Some(at) = candidates.iter().position(|(_, before)| before.body == after.body) {
                let (from, _) = candidates.remove(at);
                sources.insert(from.clone(), path.clone());
            }
        }
    }
}

/// Bytes of a content.
fn weight(side: &Side) -> u64 {
    match &side.body {
        Body::Text(text) => text.len() as u64,
        Body::Bytes { size, .. } | Body::Unkept { size, .. } => *size,
        Body::Link(target) => target.as_os_str().len() as u64,
    }
}

/// What became of one file in the way of `git diff`. Empty if nothing did.
pub(super) fn one_file(
    from: &Path,
    to: &Path,
    relative_to: &Path,
    before: Option<&Side>,
    after: Option<&Side>,
) -> String {
    if from == to && same(before, after) {
        return String::new();
    }
    // A link and a file of one name: one goes, the other comes.
    if let (Some(old), Some(new)) = (before, after)
        && matches!(old.body, Body::Link(_)) != matches!(new.body, Body::Link(_))
    {
        return one_file(from, from, relative_to, before, None) + &one_file(to, to, relative_to, None, after);
    }
    let link = |side: Option<&Side>| match side.map(|side| &side.body) {
        Some(Body::Link(target)) => Some(target.to_string_lossy().into_owned()),
        _ => None,
    };
    let (old_link, new_link) = (link(before), link(after));
    let text = |side: Option<&Side>, link: &Option<String>| match side {
        None => Some(None),
        Some(side) => side.shown_text().or(link.as_deref()).map(|text| Some(text.to_owned())),
    };
    let move_to = (from != to).then_some(to);
    let texts = text(before, &old_link).zip(text(after, &new_link));
    let (mut diff, is_binary) = match &texts {
        // Texts are the same, the bits are not: there is a header all the same.
        Some((old, new)) if old == new && move_to.is_none() => (header(from, relative_to), false),
        Some((old, new)) => {
            let diff = unified_diff(from, relative_to, old.as_deref(), new.as_deref(), move_to);
            (diff, false)
        }
        None => {
            let empty = |side: Option<&Side>| side.map(|_| "");
            let diff = unified_diff(from, relative_to, empty(before), empty(after), move_to);
            let differ = before.map(|side| &side.body) != after.map(|side| &side.body);
            let diff = if diff.is_empty() {
                header(from, relative_to)
            } else {
                diff
            };
            (diff, differ)
        }
    };
    modes(&mut diff, before, after);
    if is_binary {
        diff += &binary(from, to, relative_to, before, after);
    }
    diff
}

/// The first line of a file's part.
fn header(path: &Path, relative_to: &Path) -> String {
    let whole = unified_diff(path, relative_to, None, Some(""), None);
    whole.split_inclusive('\n').next().unwrap_or_default().to_owned()
}

/// Puts the bits into the head of a file's part.
fn modes(diff: &mut String, before: Option<&Side>, after: Option<&Side>) {
    let line_end = diff.find('\n').map_or(diff.len(), |at| at + 1);
    match (before, after) {
        (None, Some(side)) => replace_first(
            diff,
            "new file mode 100644",
            &format!("new file mode {}", side.git_mode()),
        ),
        (Some(side), None) => replace_first(
            diff,
            "deleted file mode 100644",
            &format!("deleted file mode {}", side.git_mode()),
        ),
        (Some(old), Some(new)) if old.mode.is_some() && new.mode.is_some() && old.git_mode() != new.git_mode() => {
            let lines = format!("old mode {}\nnew mode {}\n", old.git_mode(), new.git_mode());
            diff.insert_str(line_end, &lines);
        }
        // Bits that git does not know.
        (Some(old), Some(new)) if diff.len() == line_end && old.body == new.body && old.mode != new.mode => {
            let (old, new) = (old.mode.unwrap_or_default(), new.mode.unwrap_or_default());
            diff.push_str(&format!("old mode 10{old:04o}\nnew mode 10{new:04o}\n"));
        }
        _ => {}
    }
}

fn replace_first(text: &mut String, from: &str, to: &str) {
    if let Some(at) = text.find(from) {
        text.replace_range(at..at + from.len(), to);
    }
}

/// The line for contents that are not shown.
fn binary(from: &Path, to: &Path, relative_to: &Path, before: Option<&Side>, after: Option<&Side>) -> String {
    let name = |side: &str, path: &Path, there: Option<&Side>| match there {
        None => "/dev/null".to_owned(),
        Some(_) => Name::new(side, path, relative_to).shown,
    };
    format!(
        "Binary files {} and {} differ\n",
        name("a/", from, before),
        name("b/", to, after)
    )
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

    fn side(mode: u32, body: Body) -> Option<Side> {
        Some(Side { mode: Some(mode), body })
    }

    fn text(mode: u32, text: &str) -> Option<Side> {
        side(mode, Body::Text(text.into()))
    }

    fn bytes(key: &str) -> Option<Side> {
        let key = key.to_owned();
        side(0o644, Body::Bytes { key, size: 9 })
    }

    #[test]
    fn what_commands_change_shows_as_git_shows_it() {
        let link = |target: &str| side(0o777, Body::Link(target.into()));
        for (name, before, after, expected) in [
            (
                "exec",
                text(0o644, "x\n"),
                text(0o755, "x\n"),
                "diff --git a/exec b/exec\nold mode 100644\nnew mode 100755\n",
            ),
            (
                "closed",
                text(0o644, "x\n"),
                text(0o600, "x\n"),
                "diff --git a/closed b/closed\nold mode 100644\nnew mode 100600\n",
            ),
            (
                "new",
                None,
                text(0o755, "x\n"),
                "diff --git a/new b/new\nnew file mode 100755\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n",
            ),
            (
                "both",
                text(0o755, "x\n"),
                text(0o644, "y\n"),
                "diff --git a/both b/both\nold mode 100755\nnew mode 100644\n--- a/both\n+++ b/both\n@@ -1 +1 @@\n-x\n+y\n",
            ),
            (
                "bin",
                bytes("1"),
                bytes("2"),
                "diff --git a/bin b/bin\nBinary files a/bin and b/bin differ\n",
            ),
            (
                "bin",
                None,
                bytes("2"),
                "diff --git a/bin b/bin\nnew file mode 100644\nBinary files /dev/null and b/bin differ\n",
            ),
            (
                "bin",
                bytes("2"),
                None,
                "diff --git a/bin b/bin\ndeleted file mode 100644\nBinary files a/bin and /dev/null differ\n",
            ),
            (
                "link",
                link("a"),
                link("b"),
                "diff --git a/link b/link\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline \
                 at end of file\n",
            ),
            (
                "link",
                link("a"),
                text(0o644, "x\n"),
                "diff --git a/link b/link\ndeleted file mode 120000\n--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at \
                 end of file\ndiff --git a/link b/link\nnew file mode 100644\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+x\n",
            ),
        ] {
            let mut diff = TurnDiff::default();
            diff.record_sides(&path(name), before.clone(), after.clone());
            assert_eq!(shown(&diff).as_deref(), Some(expected));
            // Back again, and it vanishes.
            diff.record_sides(&path(name), after, before);
            assert_eq!(shown(&diff), None, "{name}");
            assert_eq!(diff.changed(), []);
        }
    }

    #[test]
    fn a_file_that_a_command_moved_shows_as_moved() {
        let mut diff = TurnDiff::default();
        diff.record_sides(&path("a"), bytes("1"), None);
        diff.record_sides(&path("b"), None, bytes("1"));
        diff.record_sides(&path("c"), text(0o644, "c\n"), None);
        diff.record_sides(&path("d"), None, text(0o755, "c\n"));
        diff.record_sides(&path("e"), text(0o644, ""), None);
        diff.record_sides(&path("f"), None, text(0o644, ""));
        let expected = "diff --git a/a b/b\nrename from a\nrename to b\n\
            diff --git a/c b/d\nold mode 100644\nnew mode 100755\nrename from c\nrename to d\n\
            diff --git a/e b/e\ndeleted file mode 100644\n\
            diff --git a/f b/f\nnew file mode 100644\n";
        assert_eq!(shown(&diff).unwrap(), expected);
    }

    #[test]
    fn bits_are_kept_where_a_patch_does_not_know_them() {
        let mut diff = TurnDiff::default();
        diff.record(&path("run"), Some("1\n"), None);
        diff.record_mode(&path("run"), 0o755);
        let gone = &diff.changed()[0];
        assert_eq!((gone.before.clone(), gone.after.clone()), (text(0o755, "1\n"), None));
        let mut diff = TurnDiff::default();
        diff.record_move(&path("a"), &path("b"), "1\n", "2\n");
        diff.record_mode(&path("a"), 0o755);
        diff.record(&path("b"), Some("2\n"), Some("3\n"));
        let moved = &diff.changed()[1];
        assert_eq!(
            (moved.path.clone(), moved.after.clone()),
            (path("b"), text(0o755, "3\n"))
        );
        // A command makes it executable, a patch changes its text.
        let mut diff = TurnDiff::default();
        diff.record(&path("a"), Some("1\n"), Some("2\n"));
        diff.record_sides(&path("a"), text(0o644, "2\n"), text(0o755, "2\n"));
        diff.record(&path("a"), Some("2\n"), Some("1\n"));
        let expected = "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n";
        assert_eq!(shown(&diff).as_deref(), Some(expected));
    }
}
