//! Laws that hold across the room: a difference of two trees, written down and read again, leads from the one to the
//! other and back.

use super::diff::Shown;
use super::files::{FileText, Files, ReadError};
use super::hunk::tests::any_text;
use super::parse::parse;
use super::plan::error::PlanError;
use super::plan::{Plan, plan};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A text and its permission bits, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tree(BTreeMap<PathBuf, (String, u32)>);

impl Files for Tree {
    fn read(&self, path: &Path) -> Result<Option<FileText>, ReadError> {
        Ok(self.0.get(path).map(|(text, _)| FileText::from(&text[..])))
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        self.0.get(path).map(|(_, mode)| *mode)
    }
}

const ROOT: &str = "/w";

impl Tree {
    fn planned(&self, text: &str) -> Result<Plan, String> {
        let patch = parse(text).map_err(|error| format!("{error}\n{text}"))?;
        plan(&patch, Path::new(ROOT), self).map_err(|error: PlanError| format!("{error}\n{text}"))
    }

    fn after(&self, plan: &Plan) -> Self {
        let mut tree = self.clone();
        let gone: Vec<_> = plan.files.iter().map(|file| tree.0.remove(&file.path)).collect();
        for (file, gone) in plan.files.iter().zip(gone) {
            if let Some(text) = &file.after {
                let path = file.move_to().unwrap_or(&file.path).to_owned();
                let mode = file.mode.unwrap_or(gone.map_or(0o644, |(_, mode)| mode));
                tree.0.insert(path, (text.clone(), mode));
            }
        }
        tree
    }
}

/// What becomes of one file.
#[derive(Clone, Debug)]
struct Fate {
    before: Option<(String, u32)>,
    after: Option<(String, u32)>,
    moves: bool,
}

fn any_fate() -> impl Strategy<Value = Fate> {
    let side = || prop::option::weighted(0.8, (any_text(), prop_oneof![3 => Just(0o644u32), 1 => Just(0o755)]));
    (side(), side(), any::<bool>()).prop_map(|(before, after, moves)| Fate { before, after, moves })
}

const NAMES: [&str; 6] = ["a", "d/b", "é ü", "two  words", "q\"uo\\te", "tab\there"];

/// Two trees and the diff between.
fn between(fates: &[Fate]) -> (Tree, Tree, String, String) {
    let (mut old, mut new) = (Tree::default(), Tree::default());
    let (mut there, mut back) = (String::new(), String::new());
    for (name, fate) in NAMES.iter().zip(fates) {
        let path = Path::new(ROOT).join(name);
        let moves = fate.moves && fate.before.is_some() && fate.after.is_some();
        let to = if moves {
            Path::new(ROOT).join("moved").join(name)
        } else {
            path.clone()
        };
        old.0.extend(fate.before.clone().map(|file| (path.clone(), file)));
        new.0.extend(fate.after.clone().map(|file| (to.clone(), file)));
        let text = |side: &'_ Option<(String, u32)>| side.as_ref().map(|(text, _)| text.clone());
        let mode = |from: &Option<(String, u32)>, to: &Option<(String, u32)>| {
            let (from, to) = (from.as_ref().map_or(0o644, |(_, mode)| *mode), to.as_ref()?.1);
            (from != to).then_some(to)
        };
        let (before, after) = (text(&fate.before), text(&fate.after));
        let shown = |path: &Path, before: &Option<String>, after: &Option<String>, to: &Path, mode| {
            Shown {
                path,
                before: before.as_deref(),
                after: after.as_deref(),
                move_to: (to != path).then_some(to),
                mode,
            }
            .unified(Path::new(ROOT))
        };
        there += &shown(&path, &before, &after, &to, mode(&fate.before, &fate.after));
        back += &shown(&to, &after, &before, &path, mode(&fate.after, &fate.before));
    }
    (old, new, there, back)
}

/// The hunks of a diff without their numbers.
fn without_numbers(diff: &str) -> String {
    let line = |line: &str| match line.starts_with("@@ -") {
        true => "@@\n".to_owned(),
        false => line.to_owned(),
    };
    diff.split_inclusive('\n').map(line).collect()
}

fn one(before: &str, after: &str) -> String {
    let path = &Path::new(ROOT).join("f");
    let (before, after) = (Some(before), Some(after));
    Shown {
        path,
        before,
        after,
        move_to: None,
        mode: None,
    }
    .unified(Path::new(ROOT))
}

fn tree_of(text: &str) -> Tree {
    Tree(BTreeMap::from([(Path::new(ROOT).join("f"), (text.to_owned(), 0o644))]))
}

/// The envelope around the hunks of a diff.
fn enveloped(diff: &str) -> Option<String> {
    let hunks = &diff[diff.find("\n@@")? + 1..];
    Some(format!("*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Several files that are made, changed, moved, given modes and deleted, with every kind of line end, byte-order
    /// mark and last line: the diff leads to the new tree, the diff of the way back leads back, and so does the inverse
    /// of the plan.
    #[test]
    fn a_diff_leads_there_and_back(fates in prop::collection::vec(any_fate(), 1..NAMES.len())) {
        let (old, new, there, back) = between(&fates);
        if there.is_empty() {
            return Ok(());
        }
        let planned = old.planned(&there).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&old.after(&planned), &new, "{}", there);
        let returned = new.planned(&back).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&new.after(&returned), &old, "{}", back);
        // What the plan shows is a diff of its own right.
        let shown = planned.unified_diff(Path::new(ROOT));
        let again = old.planned(&shown).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&old.after(&again), &new, "{}", shown);
    }

    /// Without its numbers a diff either has a certain place, and then the right one, or is refused.
    #[test]
    fn without_numbers_it_is_right_or_refused(before in any_text(), after in any_text()) {
        let diff = without_numbers(&one(&before, &after));
        if !diff.contains("\n@@") {
            return Ok(());
        }
        match tree_of(&before).planned(&diff) {
            Ok(planned) => prop_assert_eq!(planned.files[0].after.as_deref(), Some(&after[..]), "{}", diff),
            Err(error) => prop_assert!(error.contains("not unique"), "{}", error),
        }
    }

    /// The same hunks in the envelope of the other language.
    #[test]
    fn the_envelope_leads_there_too(before in any_text(), after in any_text(), numbered: bool, returns: bool) {
        let end = if returns { "\r\n" } else { "\n" };
        let unified = |text: String| text.replace("\r\n", "\n").replace('\r', "\n").replace('\n', end);
        let (before, after) = (unified(before), unified(after));
        let diff = one(&before, &after);
        let Some(patch) = enveloped(&if numbered { diff } else { without_numbers(&diff) }) else { return Ok(()) };
        match tree_of(&before).planned(&patch) {
            Ok(planned) => {
                prop_assert_eq!(planned.files[0].after.as_deref(), Some(&after[..]), "{}", patch);
                let inverse = one(&after, &before);
                let back = tree_of(&after).planned(&inverse).map_err(TestCaseError::fail)?;
                prop_assert_eq!(back.files[0].after.as_deref(), Some(&before[..]));
            }
            Err(error) => prop_assert!(!numbered && error.contains("not unique"), "{}", error),
        }
    }

    /// A diff fits also where the text has moved since, or is refused; it never changes another place.
    #[test]
    fn a_shifted_text_is_changed_in_the_right_place(
        before in prop::collection::vec("[abc]", 1..30),
        at in 0usize..30,
        above in prop::collection::vec("[xy]", 1..40),
    ) {
        let at = at % before.len();
        let mut after = before.clone();
        after[at] = "new".to_owned();
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let diff = one(&text(&before), &text(&after));
        let shifted = text(&above) + &text(&before);
        match tree_of(&shifted).planned(&diff) {
            Ok(planned) => {
                let wanted = text(&above) + &text(&after);
                // Text that repeats itself may have the very same lines at the very number that the diff names.
                let mut named: Vec<String> = above.iter().chain(&before).cloned().collect();
                named[at] = "new".to_owned();
                let after = planned.files[0].after.as_deref();
                prop_assert!(after == Some(&wanted[..]) || after == Some(&text(&named)[..]), "{}", diff);
            }
            Err(error) => prop_assert!(error.contains("not unique"), "{}", error),
        }
    }
}

/// Fewer lines below a change than above it say that the text ends there: what stands near the number and does not end
/// the text is then no certain place. With as many lines below as above it is.
#[test]
fn context_cut_short_by_the_end_is_not_placed_near_the_number() {
    let near = "x\na\na\na\nc\na\n";
    let filler = "a\nb\nb\n".repeat(6);
    let text = format!("{near}{filler}a\na\nc\na\n");
    let cut = "--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n a\n a\n-c\n+new\n a\n";
    let error = tree_of(&text).planned(cut).expect_err("two places");
    assert!(error.contains("not unique"), "{error}");
    // The same lines where the text goes on below the later place.
    let longer = text.clone() + "z\n";
    let planned = tree_of(&longer).planned(cut).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(planned.files[0].after, Some(longer.replacen('c', "new", 1)));
    let whole = "--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@\n a\n-c\n+new\n a\n";
    let planned = tree_of(&text).planned(whole).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(planned.files[0].after, Some(text.replacen('c', "new", 1)));
}

/// Two files that change places, a file made where one has left, a copy of what is changed as well: within one commit
/// all of it means the files as they were.
#[test]
fn the_files_of_one_commit_change_at_once() {
    let tree = |files: &[(&str, &str)]| {
        let file = |(name, text): &(&str, &str)| (Path::new(ROOT).join(name), ((*text).to_owned(), 0o644));
        Tree(files.iter().map(file).collect())
    };
    let rename = |from: &str, to: &str| {
        format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
    };
    let change = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n";
    let copy =
        "diff --git a/a b/c\nsimilarity index 50%\ncopy from a\ncopy to c\n--- a/a\n+++ b/c\n@@ -1 +1 @@\n-1\n+2\n";
    let new = "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+new\n";
    let old = [("a", "1\n"), ("b", "2\n")];
    let rows: &[(String, &[(&str, &str)])] = &[
        (rename("a", "b") + &rename("b", "a"), &[("a", "2\n"), ("b", "1\n")]),
        (rename("b", "c") + &rename("a", "b"), &[("b", "1\n"), ("c", "2\n")]),
        (rename("a", "b") + &rename("b", "c"), &[("b", "1\n"), ("c", "2\n")]),
        (
            new.to_owned() + &rename("a", "c"),
            &[("a", "new\n"), ("b", "2\n"), ("c", "1\n")],
        ),
        (change.to_owned() + copy, &[("a", "one\n"), ("b", "2\n"), ("c", "2\n")]),
        (
            format!(
                "From 0123456 x\n{}From 1123456 x\n{}",
                rename("a", "c"),
                rename("c", "d")
            ),
            &[("b", "2\n"), ("d", "1\n")],
        ),
    ];
    for (text, expected) in rows {
        let planned = tree(&old).planned(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(tree(&old).after(&planned), tree(expected), "{text}");
    }
    for (text, words) in [
        (rename("a", "b"), "/w/b: there is a file of this name already"),
        (new.to_owned(), "/w/a: there is a file of this name already"),
        (rename("z", "y"), "/w/z: there is no such file to update"),
        (
            "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n".to_owned(),
            "/w/a: hunk 1: these lines were looked for",
        ),
        (
            "diff --git a/a b/a\ndeleted file mode 100644\nindex e69de29..0000000\n".to_owned(),
            "it has more than the patch shows, from line 1 on: 1",
        ),
    ] {
        let error = tree(&old).planned(&text).expect_err(&text);
        assert!(error.contains(words), "{error}");
    }
}

/// The names that a plain diff may mean are tried in order.
#[test]
fn a_plain_diff_finds_its_file() {
    let body = "@@ -1 +1 @@\n-1\n+2\n";
    let tree = |name: &str| {
        Tree(BTreeMap::from([(
            Path::new(ROOT).join(name),
            ("1\n".to_owned(), 0o644),
        )]))
    };
    let rows = [
        ("--- a/f\n+++ b/f\n", "f"),
        ("--- a/f\n+++ b/f\n", "a/f"),
        ("--- f.orig\n+++ f\n", "f"),
        ("--- p-1/src/f\n+++ p/src/f\n", "src/f"),
        ("--- p-1/src/f\n+++ p/src/f\n", "p/src/f"),
        ("--- src/f\n+++ src/f\n", "src/f"),
        ("--- /w/f\n+++ /w/f\n", "f"),
    ];
    for (header, name) in rows {
        let planned = tree(name)
            .planned(&format!("{header}{body}"))
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(planned.files[0].path, Path::new(ROOT).join(name), "{header}");
    }
    let new = Tree::default()
        .planned("--- f\n+++ f\n@@ -0,0 +1 @@\n+1\n")
        .expect("a new file");
    assert_eq!(
        (&new.files[0].before, new.files[0].after.as_deref()),
        (&None, Some("1\n"))
    );
}
