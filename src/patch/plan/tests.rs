use super::super::edit::TextChange;
use super::super::files::{FileText, ReadError};
use super::super::hunk::tests::any_text;
use super::super::parse::parse;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Files in memory.
#[derive(Clone, Debug, Default)]
struct Memory(BTreeMap<PathBuf, String>);

impl Files for Memory {
    fn read(&self, path: &Path) -> Result<Option<FileText>, ReadError> {
        Ok(self.0.get(path).map(|text| FileText::from(&text[..])))
    }
}

fn memory(files: &[(&str, &str)]) -> Memory {
    Memory(
        files
            .iter()
            .map(|(path, text)| (Path::new("/w").join(path), (*text).to_owned()))
            .collect(),
    )
}

fn plan_in(files: &Memory, patch: &str) -> Result<Plan, PlanError> {
    let text = format!("*** Begin Patch\n{patch}\n*** End Patch\n");
    plan(
        &parse(&text).unwrap_or_else(|error| panic!("{patch}: {error}")),
        Path::new("/w"),
        files,
    )
}

/// What an update makes of the file `f`.
fn updated(before: &str, body: &str) -> Result<String, PlanError> {
    let plan = plan_in(&memory(&[("f", before)]), &format!("*** Update File: f\n{body}"))?;
    let [file] = &plan.files[..] else { panic!("{plan:?}") };
    check_hunks(file);
    Ok(file.after.clone().unwrap())
}

/// What holds for every planned file.
fn check_hunks(file: &FilePlan) {
    let all = vec![true; file.hunks.len()];
    if !file.is_noop() {
        assert_eq!(file.with(&all), file.after, "{file:?}");
    }
    assert_eq!(file.with(&[]), file.before, "{file:?}");
    let before = file.before.as_deref().unwrap_or_default();
    for hunk in &file.hunks {
        assert_eq!(Lines::new(before).slice(&hunk.old), hunk.old_text, "{file:?}");
    }
    assert!(
        file.hunks.windows(2).all(|pair| pair[0].old.end < pair[1].old.start),
        "{file:?}"
    );
}

#[track_caller]
fn check(before: &str, body: &str, after: &str) {
    match updated(before, body) {
        Ok(text) => assert_eq!(text, after, "{before:?} with\n{body}"),
        Err(error) => panic!("{before:?} with\n{body}\n{error}"),
    }
}

#[test]
fn updates_in_the_way_of_the_grammar() {
    let abc = "a\nb\nc\n";
    let rows: &[(&str, &str, &str)] = &[
        // One change, with and without context, with and without the header.
        (abc, "@@\n a\n-b\n+B\n c", "a\nB\nc\n"),
        (abc, "-b\n+B", "a\nB\nc\n"),
        (abc, "@@\n-b", "a\nc\n"),
        (abc, "@@\n b\n+x", "a\nb\nx\nc\n"),
        (abc, "@@\n+x\n b", "a\nx\nb\nc\n"),
        // Several, in the order of the file.
        (abc, "@@\n-a\n+A\n@@\n-c\n+C", "A\nb\nC\n"),
        (abc, "@@\n-a\n+A\n@@\n-b\n+B\n@@\n-c\n+C", "A\nB\nC\n"),
        // Everything, and from nothing.
        (abc, "@@\n-a\n-b\n-c", ""),
        ("", "@@\n+a", "a\n"),
        // Nothing but insertion: at the end, or right after the anchor.
        (abc, "@@\n+x\n+y", "a\nb\nc\nx\ny\n"),
        ("a\n\n", "@@\n+x", "a\n\nx\n"),
        (abc, "@@ a\n+x", "a\nx\nb\nc\n"),
        (abc, "@@ c\n+x", "a\nb\nc\nx\n"),
        (abc, "@@ a\n+x\n*** End of File", "a\nb\nc\nx\n"),
        (abc, "@@ a\n+x\n@@ a\n+y\n@@\n-c", "a\nx\ny\nb\n"),
        // An insertion at the end does not keep later hunks from their places.
        (abc, "@@\n+x\n@@\n-a\n+A", "A\nb\nc\nx\n"),
        // Line numbers place an insertion, which has nothing else.
        (abc, "@@ -1,0 +2 @@\n+x", "a\nx\nb\nc\n"),
        (abc, "@@ -0,0 +1 @@\n+x", "x\na\nb\nc\n"),
        // Empty lines: lines of the file, or looks between sections.
        ("a\n\nb\n", "@@\n a\n\n-b\n+B", "a\n\nB\n"),
        (abc, "\n@@\n-b\n+B\n\n@@\n-c\n+C\n\n", "a\nB\nC\n"),
        (abc, "\n-b\n+B", "a\nB\nc\n"),
        (abc, "@@\n+x\n\n", "a\nb\nc\nx\n"),
        // One empty line too many at the end.
        (abc, "@@\n b\n-c\n \n+C", "a\nb\nC\n"),
        (abc, "@@\n b\n-c\n-\n+C\n+", "a\nb\nC\n"),
        // No change at all.
        (abc, "@@\n a\n b", abc),
        (abc, "@@\n-b\n+b", abc),
    ];
    for (before, body, after) in rows {
        check(before, body, after);
    }
}

#[test]
fn matches_with_the_documented_tolerance() {
    let rows: &[(&str, &str, &str)] = &[
        // Kept lines stay as the file has them.
        ("a  \nb\n", "@@\n a\n-b\n+B", "a  \nB\n"),
        ("\tif x {\n\t\ty\n", "@@\n if x {\n-y\n+\t\tz", "\tif x {\n\t\tz\n"),
        (
            "say \u{201c}hi\u{201d} \u{2014} now\nb\n",
            "@@\n say \"hi\" - now\n-b\n+B",
            "say \u{201c}hi\u{201d} \u{2014} now\nB\n",
        ),
        ("a\u{a0}b\n", "@@\n-a b\n+c", "c\n"),
        // The stricter match wins wherever it stands.
        (" x\nx\n", "@@\n-x\n+y", " x\ny\n"),
        ("\u{2018}x\u{2019}\n'x'\n", "@@\n-'x'\n+y", "\u{2018}x\u{2019}\ny\n"),
        // The anchor may be spelled loosely, too.
        (
            "class A:\n    def f(self):\n        pass\n",
            "@@ def f(self):\n-        pass\n+        return",
            "class A:\n    def f(self):\n        return\n",
        ),
    ];
    for (before, body, after) in rows {
        check(before, body, after);
    }
}

const CLASSES: &str =
    "class A:\n  def f():\n    pass\n  def g():\n    pass\nclass B:\n  def f():\n    pass\n  def g():\n    pass\n";

#[test]
fn order_and_anchors_tell_the_place() {
    let with = |line: usize, text: &str| {
        let mut lines: Vec<&str> = CLASSES.lines().collect();
        lines[line - 1] = text;
        lines.join("\n") + "\n"
    };
    let pass = "-    pass\n+    done";
    let rows: &[(String, String)] = &[
        (format!("@@ class A:\n{pass}"), with(3, "    done")),
        (format!("@@ class B:\n{pass}"), with(8, "    done")),
        (format!("@@ class B:\n@@   def g():\n{pass}"), with(10, "    done")),
        (format!("@@ class A:\n@@ def g():\n{pass}"), with(5, "    done")),
        // The anchor repeated as the first line of the hunk.
        (
            format!("@@ class B:\n class B:\n   def f():\n{pass}"),
            with(8, "    done"),
        ),
        // Unified headers: the numbers are right, or the heading is.
        (format!("@@ -5,1 +5,1 @@\n{pass}"), with(5, "    done")),
        (format!("@@ -99,1 +99,1 @@ class B:\n{pass}"), with(8, "    done")),
    ];
    for (body, after) in rows {
        check(CLASSES, body, after);
    }
    // The last of three fits in one place only, so the others do too.
    check("x\nx\ny\nx\n", "@@\n-x\n+1\n@@\n-x\n+2\n@@\n-y\n+3", "1\n2\n3\nx\n");
    // An end-of-file marker names the last of several places.
    check("x\ny\nx\n", "@@\n-x\n+z\n*** End of File", "x\ny\nz\n");
    check("x\ny\nx\n", "@@\n-x\n\\ No newline at end of file\n+z", "x\ny\nz\n");
    // The same anchor twice: the second hunk is below the first.
    check("f\na\nb\n", "@@ f\n-a\n+A\n@@ f\n-b\n+B", "f\nA\nB\n");
    // Which of several equal neighbours goes makes no difference.
    check("a\nx\nx\nx\nb\n", "@@\n-x", "a\nx\nx\nb\n");
    check("{\n\n\n}\n", "@@\n \n+", "{\n\n\n\n}\n");
}

#[test]
fn refuses_what_has_no_certain_place() {
    let candidates = |before: &str, body: &str| match updated(before, body) {
        Err(PlanError::NotUnique { candidates, hunk, .. }) => (hunk, candidates),
        other => panic!("{body}: {other:?}"),
    };
    assert_eq!(candidates("x\na\nx\n", "@@\n-x\n+y"), (1, vec![1, 3]));
    assert_eq!(
        candidates(CLASSES, "@@   def f():\n-    pass\n+    done"),
        (1, vec![3, 8])
    );
    assert_eq!(candidates(CLASSES, "@@   def f():\n+    new"), (1, vec![3, 8]));
    assert_eq!(
        candidates(CLASSES, "@@ class A:\n-    pass\n+    done\n@@\n-    pass\n+    done"),
        (2, vec![5, 8, 10])
    );
    assert_eq!(candidates("x\na\nx\n", "@@ -2 +2 @@\n-x\n+y"), (1, vec![1, 3]));
    assert_eq!(candidates("x \na\nx \n", "@@\n-x\n+y"), (1, vec![1, 3]));

    let message = |before: &str, body: &str| updated(before, body).expect_err(body).to_string();
    let shown = message("fn a() {\n    one();\n}\n", "@@\n fn a() {\n-    two();\n+    three();");
    assert_eq!(
        shown,
        "/w/f: hunk 1: these lines were looked for but not found:\nfn a() {\n    two();\n\
         The closest place is line 1 (lines with > differ):\n     1| fn a() {\n>    2|     one();\n\
         No file was changed. Read the file again and send the whole patch with the lines as they are."
    );
    let shown = message("a\nb\nc\n", "@@\n-c\n+C\n@@\n-a\n+A");
    assert!(
        shown.contains("hunk 2") && shown.contains("after line 3") && shown.contains("They stand at line 1"),
        "{shown}"
    );
    let shown = message("def ff():\n  x\n", "@@ def f():\n-  x");
    assert!(
        shown.contains("not in the file:\ndef f():") && shown.contains(">    1| def ff():"),
        "{shown}"
    );
    assert!(message("", "@@\n-a").contains("Nothing in the file resembles them"));
    assert!(message("a\n", "@@ -7,0 +8 @@\n+x").contains("after line 7"));
    let many = "x\na\n".repeat(30);
    assert!(message(&many, "@@\n-x\n+y").contains("(30 places)"));
}

#[test]
fn keeps_line_ends() {
    let rows: &[(&str, &str, &str)] = &[
        ("a\r\nb\r\nc\r\n", "@@\n-b\n+x\n+y", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "@@\n+x", "a\r\nb\r\nx\r\n"),
        ("a\r\nb\nc\r\n", "@@\n-a\n-b\n+A\n+B", "A\r\nB\nc\r\n"),
        ("a\nb\r\n", "@@\n b\n+x", "a\nb\r\nx\r\n"),
        ("a\nb\r\n", "@@\n+x\n b", "a\nx\nb\r\n"),
        ("a\rb\rc\r", "@@\n a\n-b\n+x", "a\rx\rc\r"),
        // Returns in the patch text: sent so, or meant so.
        ("a\r\nb\r\n", "@@\n a\r\n-b\r\n+x\r", "a\r\nx\r\n"),
        ("a\nb\n", "@@\n-b\n+x\r", "a\nx\r\n"),
        // A lone return inside a line of the patch.
        ("a\rb\nc\n", "@@\n a\rb\n-c\n+C", "a\rb\nC\n"),
    ];
    for (before, body, after) in rows {
        check(before, body, after);
    }
    let text = "*** Begin Patch\r\n*** Update File: f\r\n@@\r\n-b\r\n+x\r\n*** End Patch\r\n";
    let files = memory(&[("f", "a\nb\n")]);
    let plan = plan(&parse(text).unwrap(), Path::new("/w"), &files).unwrap();
    assert_eq!(plan.files[0].after.as_deref(), Some("a\nx\n"));
}

#[test]
fn keeps_the_final_line_end_and_the_byte_order_mark() {
    let marker = "\\ No newline at end of file";
    let rows: &[(&str, &str, &str)] = &[
        ("a\nb", "@@\n-b\n+x", "a\nx"),
        ("a\nb", "@@\n-a\n+x", "x\nb"),
        ("a\nb", "@@\n b\n+x", "a\nb\nx"),
        ("a\nb", "@@\n+x", "a\nb\nx"),
        ("a\r\nb", "@@\n+x", "a\r\nb\r\nx"),
        ("a\nb", "@@\n-b", "a"),
        ("a", "@@\n-a", ""),
        ("a\nb\n", "@@\n-b", "a\n"),
        // Said otherwise.
        ("a\nb", &format!("@@\n-b\n{marker}\n+x"), "a\nx\n"),
        ("a\nb\n", &format!("@@\n-b\n+x\n{marker}"), "a\nx"),
        ("a\nb", &format!("@@\n-b\n{marker}\n+x\n{marker}"), "a\nx"),
        ("a\nb", &format!("@@\n-a\n+x\n b\n{marker}"), "x\nb"),
        ("a\nb", &format!("@@\n a\n-b\n{marker}"), "a\n"),
        ("a\nb", &format!("@@\n a\n-b\n{marker}\n+b"), "a\nb\n"),
        // The mark is not part of the first line, but stays in front of it.
        ("\u{feff}a\nb\n", "@@\n-a\n+x", "\u{feff}x\nb\n"),
        ("\u{feff}a\nb\n", "@@\n+x\n a", "\u{feff}x\na\nb\n"),
        ("\u{feff}a\nb\n", "@@\n-a", "\u{feff}b\n"),
        ("\u{feff}a\nb\n", "@@\n-\u{feff}a\n+\u{feff}x", "\u{feff}x\nb\n"),
        ("\u{feff}a\nb\n", "@@\n-a\n-b", "\u{feff}"),
        ("\u{feff}", "@@\n+x", "\u{feff}x"),
        ("\u{feff}a\r\nb", "@@\n+x", "\u{feff}a\r\nb\r\nx"),
        ("\u{feff}a", "@@\n+x\n a", "\u{feff}x\na"),
    ];
    for (before, body, after) in rows {
        check(before, body, after);
    }
}

#[test]
fn hunks_are_as_small_as_the_change() {
    let before = "a\nb\nc\nd\ne\nf\ng\n";
    let files = memory(&[("f", before)]);
    let plan = plan_in(
        &files,
        "*** Update File: f\n@@\n-a\n-b\n-c\n-d\n+a\n+B\n+c\n+D\n@@\n f\n+x\n g",
    )
    .unwrap();
    let hunks: Vec<_> = plan.files[0]
        .hunks
        .iter()
        .map(|hunk| (hunk.old.clone(), &hunk.old_text[..], &hunk.new_text[..]))
        .collect();
    assert_eq!(hunks, [(1..2, "b\n", "B\n"), (3..4, "d\n", "D\n"), (6..6, "", "x\n")]);
    assert_eq!(
        plan.files[0].with(&[false, true, false]).unwrap(),
        "a\nb\nc\nD\ne\nf\ng\n"
    );
}

/// The plan's files as (path, kind, before, after).
fn outline(plan: &Plan) -> Vec<(String, String, Option<&str>, Option<&str>)> {
    plan.files
        .iter()
        .map(|file| {
            check_hunks(file);
            let name = |path: &Path| path.strip_prefix("/w").unwrap_or(path).display().to_string();
            let kind = match &file.kind {
                FileChangeKind::Add => "add".to_owned(),
                FileChangeKind::Delete => "delete".to_owned(),
                FileChangeKind::Update { move_path: None } => "update".to_owned(),
                FileChangeKind::Update { move_path: Some(to) } => format!("move to {}", name(to)),
            };
            (name(&file.path), kind, file.before.as_deref(), file.after.as_deref())
        })
        .collect()
}

#[track_caller]
fn check_plan(files: &[(&str, &str)], patch: &str, expected: &[(&str, &str, Option<&str>, Option<&str>)]) {
    let plan = plan_in(&memory(files), patch).unwrap_or_else(|error| panic!("{patch}\n{error}"));
    plan.files.iter().for_each(check_hunks);
    let expected: Vec<_> = expected
        .iter()
        .map(|&(path, kind, before, after)| (path.to_owned(), kind.to_owned(), before, after))
        .collect();
    assert_eq!(outline(&plan), expected, "{patch}");
}

#[test]
fn plans_whole_files() {
    check_plan(&[], "*** Add File: d/e/f\n+x", &[("d/e/f", "add", None, Some("x\n"))]);
    check_plan(&[], "*** Add File: f", &[("f", "add", None, Some(""))]);
    check_plan(
        &[("f", "x\n")],
        "*** Delete File: f",
        &[("f", "delete", Some("x\n"), None)],
    );
    check_plan(&[("f", "")], "*** Delete File: f", &[("f", "delete", Some(""), None)]);
    // Over a file that is there: shown as the change that it is.
    check_plan(
        &[("f", "x\ny\n")],
        "*** Add File: f\n+x\n+z",
        &[("f", "update", Some("x\ny\n"), Some("x\nz\n"))],
    );
    // An empty one would take everything away, which is never what was meant.
    let emptied = plan_in(&memory(&[("f", "x\n")]), "*** Add File: f").expect_err("it is there");
    assert!(
        emptied.to_string().contains("is there already and has 1 line"),
        "{emptied}"
    );
    check_plan(
        &[("f", "x\n")],
        "*** Delete File: f\n*** Add File: f",
        &[("f", "update", Some("x\n"), Some(""))],
    );
    check_plan(
        &[("f", "\u{feff}x\r\n")],
        "*** Add File: f\n+y\n+z",
        &[("f", "update", Some("\u{feff}x\r\n"), Some("\u{feff}y\r\nz\r\n"))],
    );
    // Moves.
    check_plan(
        &[("f", "x\n")],
        "*** Update File: f\n*** Move to: d/g\n@@\n-x\n+y",
        &[("f", "move to d/g", Some("x\n"), Some("y\n"))],
    );
    check_plan(
        &[("f", "x\n")],
        "*** Update File: f\n*** Move to: g",
        &[("f", "move to g", Some("x\n"), Some("x\n"))],
    );
    check_plan(
        &[("f", "x\n"), ("g", "old\n")],
        "*** Update File: f\n*** Move to: g",
        &[
            ("f", "delete", Some("x\n"), None),
            ("g", "update", Some("old\n"), Some("x\n")),
        ],
    );
    check_plan(
        &[("f", "x\nb\n"), ("g", "target\n")],
        "*** Update File: f\n*** Move to: g\n@@\n-x\n+X\n b",
        &[
            ("f", "delete", Some("x\nb\n"), None),
            ("g", "update", Some("target\n"), Some("X\nb\n")),
        ],
    );
    // Onto itself, however spelled: an ordinary update.
    for to in ["f", "./f", "d/../f", "/w/f"] {
        let patch = format!("*** Update File: f\n*** Move to: {to}\n@@\n-x\n+y");
        check_plan(&[("f", "x\n")], &patch, &[("f", "update", Some("x\n"), Some("y\n"))]);
    }
}

#[test]
fn a_file_named_twice_is_one_file() {
    let f = &[("f", "a\nb\n")];
    check_plan(
        f,
        "*** Update File: f\n@@\n-a\n+A\n*** Update File: ./f\n@@\n A\n-b\n+B",
        &[("f", "update", Some("a\nb\n"), Some("A\nB\n"))],
    );
    check_plan(
        f,
        "*** Update File: f\n@@\n-a\n+A\n*** Update File: f\n@@\n-A\n+a",
        &[("f", "update", Some("a\nb\n"), Some("a\nb\n"))],
    );
    check_plan(
        &[],
        "*** Add File: n\n+x\n*** Update File: n\n@@\n-x\n+y",
        &[("n", "add", None, Some("y\n"))],
    );
    check_plan(&[], "*** Add File: n\n+x\n*** Delete File: n", &[]);
    check_plan(
        f,
        "*** Delete File: f\n*** Add File: f\n+c",
        &[("f", "update", Some("a\nb\n"), Some("c\n"))],
    );
    check_plan(
        f,
        "*** Update File: f\n*** Move to: g\n*** Update File: g\n@@\n-a\n+A",
        &[("f", "move to g", Some("a\nb\n"), Some("A\nb\n"))],
    );
    check_plan(
        f,
        "*** Update File: f\n*** Move to: g\n*** Update File: g\n*** Move to: h",
        &[("f", "move to h", Some("a\nb\n"), Some("a\nb\n"))],
    );
    check_plan(
        f,
        "*** Update File: f\n*** Move to: g\n*** Update File: g\n*** Move to: f",
        &[("f", "update", Some("a\nb\n"), Some("a\nb\n"))],
    );
    check_plan(
        f,
        "*** Update File: f\n*** Move to: g\n*** Delete File: g",
        &[("f", "delete", Some("a\nb\n"), None)],
    );
    check_plan(
        f,
        "*** Update File: f\n*** Move to: g\n*** Add File: f\n+n",
        &[
            ("f", "update", Some("a\nb\n"), Some("n\n")),
            ("g", "add", None, Some("a\nb\n")),
        ],
    );
    check_plan(
        &[("a", "1\n"), ("b", "2\n")],
        "*** Update File: a\n*** Move to: t\n*** Update File: b\n*** Move to: a\n*** Update File: t\n*** Move to: b",
        &[
            ("a", "update", Some("1\n"), Some("2\n")),
            ("b", "update", Some("2\n"), Some("1\n")),
        ],
    );
    check_plan(
        &[],
        "*** Add File: n\n+x\n*** Update File: n\n*** Move to: m",
        &[("m", "add", None, Some("x\n"))],
    );
}

#[test]
fn refuses_what_is_not_there_or_cannot_be() {
    let message = |files: &[(&str, &str)], patch: &str| plan_in(&memory(files), patch).expect_err(patch).to_string();
    assert!(message(&[], "*** Update File: f\n@@\n-x").starts_with("/w/f: there is no such file to update"));
    assert!(message(&[], "*** Delete File: f").starts_with("/w/f: there is no such file to delete"));
    assert!(message(&[("f", "x")], "*** Delete File: f\n*** Update File: f\n@@\n-x").contains("no such file"));
    assert!(
        message(
            &[("f", "x")],
            "*** Update File: f\n*** Move to: g\n*** Update File: f\n@@\n-x"
        )
        .contains("no such file")
    );
    assert!(message(&[], "*** Add File: f\n*** Add File: f/g\n+x").contains("it cannot be a file"));
}

/// Shows S-134.
#[test]
fn paths_are_below_the_folder_given() {
    let patch = parse(
        "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Add File: /abs/b\n+x\n*** Add File: ../c\n+x\n*** End Patch",
    )
    .unwrap();
    let planned = plan(&patch, Path::new("/w/sub"), &Memory::default()).unwrap();
    let paths: Vec<_> = planned.paths().collect();
    assert_eq!(
        paths,
        [Path::new("/w/sub/a.txt"), Path::new("/abs/b"), Path::new("/w/c")]
    );
}

/// Shows S-146.
#[test]
fn sums_up_what_it_does() {
    let files = memory(&[("m", "x\n"), ("d", "x\n"), ("from", "x\n")]);
    let patch = "*** Add File: a\n+x\n*** Update File: m\n@@\n-x\n+y\n*** Delete File: d\n*** Update File: from\n*** Move to: to";
    let plan = plan_in(&files, patch).unwrap();
    assert_eq!(plan.summary(Path::new("/w")), "A a\nM m\nD d\nM to\nD from\n");
    assert!(
        plan.unified_diff(Path::new("/w"))
            .contains("rename from from\nrename to to\n")
    );
}

#[test]
fn large_files_and_many_files_are_planned_quickly() {
    let line = |n: usize| format!("    let value_{n} = compute({n});\n");
    let before: String = (0..100_000).map(line).collect();
    let files = memory(&[("f", &before)]);
    let one = format!(
        "*** Update File: f\n@@\n {}-{}+    changed();\n",
        line(70_000),
        line(70_001)
    );
    let many: String = (0..2000)
        .map(|n| format!("@@\n-{}+    changed();\n", line(n * 50)))
        .collect();
    let many = format!("*** Update File: f\n{many}");
    // Every line is the same: nothing is unique, and comparing everything with everything would take for ever.
    let same = "}\n".repeat(100_000);
    let repeated = memory(&[("f", &same)]);
    let block = format!("*** Update File: f\n@@\n{}-x\n", " }\n".repeat(5000));
    let each = format!("*** Update File: f\n{}", "@@\n-}\n+x\n".repeat(2000));
    let blank = format!("*** Update File: f\n@@\n-}}\n-}}\n-y\n{}@@\n-x", "\n".repeat(20_000));
    for (files, patch, fits) in [
        (&files, one.trim_end(), true),
        (&files, many.trim_end(), true),
        (&repeated, block.trim_end(), false),
        (&repeated, each.trim_end(), false),
        (&repeated, &blank[..], false),
    ] {
        let before = crate::busy::busy();
        assert_eq!(plan_in(files, patch).is_ok(), fits);
        let took = crate::busy::busy() - before;
        // An unoptimised build; the quadratic way takes minutes.
        assert!(took.as_secs() < 20, "{took:?}");
    }
}

/// A patch in the grammar's words that leads from one text to the other, with as much context as there is.
fn patch_between(before: &str, after: &str) -> Option<String> {
    let lines = Lines::new(before);
    let mut body = String::from("@@\n");
    let mut at = 0;
    for hunk in hunks(before, after) {
        let new = Lines::new(&hunk.new_text);
        (at..hunk.old.start).for_each(|line| body += &format!(" {}\n", lines.content(line)));
        hunk.old
            .clone()
            .for_each(|line| body += &format!("-{}\n", lines.content(line)));
        (0..new.len()).for_each(|line| body += &format!("+{}\n", new.content(line)));
        at = hunk.old.end;
    }
    (at..lines.len()).for_each(|line| body += &format!(" {}\n", lines.content(line)));
    (body.lines().count() > 1).then(|| format!("*** Update File: f\n{}", body.trim_end_matches('\n')))
}

/// A first line without an end, behind a byte-order mark: what comes before and after it meets there.
#[test]
fn lines_go_around_the_line_of_a_mark() {
    for (before, chunk, wanted) in [
        ("\u{feff}", "+\n \n+x", "\u{feff}\nx"),
        ("\u{feff}a", "+a\n a\n+a", "\u{feff}a\na\na"),
        ("\u{feff}a", " a\n+b", "\u{feff}a\nb"),
        ("\u{feff}a", "+b\n a", "\u{feff}b\na"),
    ] {
        let plan = plan_in(&memory(&[("f", before)]), &format!("*** Update File: f\n{chunk}")).unwrap();
        check_hunks(&plan.files[0]);
        assert_eq!(plan.files[0].after.as_deref(), Some(wanted), "{before:?} {chunk:?}");
    }
}

proptest! {
    /// A patch that shows the whole file has one place and gives the other file's lines.
    #[test]
    fn a_patch_of_the_whole_file_gives_the_new_lines(before in any_text(), after in any_text()) {
        // A lone return in front of an empty line would make one line end of two.
        let unified = |text: String| text.replace("\r\n", "\u{1}").replace('\r', "\n").replace('\u{1}', "\r\n");
        let (before, after) = (unified(before), unified(after));
        let Some(patch) = patch_between(&before, &after) else { return Ok(()) };
        let plan = plan_in(&memory(&[("f", &before)]), &patch).map_err(|error| TestCaseError::fail(error.to_string()))?;
        check_hunks(&plan.files[0]);
        let text = plan.files[0].after.clone().unwrap();
        let (got, wanted) = (Lines::new(&text), Lines::new(&after));
        let contents = |lines: &Lines<'_>| (0..lines.len()).map(|line| lines.content(line).to_owned()).collect::<Vec<_>>();
        let trimmed = |mut lines: Vec<String>| { while lines.last().is_some_and(String::is_empty) { lines.pop(); } lines };
        prop_assert_eq!(trimmed(contents(&got)), trimmed(contents(&wanted)));
    }

    /// Whatever the patch: it fits or it does not, and if it fits then the laws of hunks hold.
    #[test]
    fn any_update_plans_or_fails(before in any_text(), lines in prop::collection::vec(prop_oneof![
        Just(" a"), Just("-a"), Just("+a"), Just("-b"), Just("+b"), Just(" "), Just(""), Just("+"), Just("-"), Just("@@"), Just("@@ a"),
        Just("@@ -1 +1 @@"), Just("@@ -2,0 +1 @@"), Just("*** End of File"), Just("\\ No newline at end of file"), Just("-é😀"), Just("+x\r"),
    ], 1..10)) {
        let text = format!("*** Begin Patch\n*** Update File: f\n{}\n*** End Patch", lines.join("\n"));
        let Ok(patch) = parse(&text) else { return Ok(()) };
        match plan(&patch, Path::new("/w"), &memory(&[("f", &before)])) {
            Ok(plan) => plan.files.iter().for_each(check_hunks),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// A move to a name that is spelled out: all of what comes there is shown, and nothing else can come.
#[test]
fn a_move_spelled_out_is_a_file_deleted_and_one_made() {
    let files = memory(&[("f", "x\ny\n"), ("h", "h\n")]);
    let patch = "*** Update File: f\n*** Move to: g\n@@\n-x\n+X\n*** Update File: h\n*** Move to: i";
    let plan = plan_in(&files, patch).expect("fits");
    let plan = plan.spelled_out(|path| path.ends_with("g"), |_| Some(0o755));
    plan.files.iter().for_each(check_hunks);
    assert_eq!(
        outline(&plan),
        [
            ("f", "delete", Some("x\ny\n"), None),
            ("g", "add", None, Some("X\ny\n")),
            ("h", "move to i", Some("h\n"), Some("h\n")),
        ]
        .map(|(path, kind, before, after)| (path.to_owned(), kind.to_owned(), before, after))
    );
    assert_eq!(plan.files[1].mode, Some(0o755));
    assert_eq!(plan.files[1].hunks[0].new_text, "X\ny\n");
}

proptest! {
    /// Whatever a patch does with several files, the hunks of each lead from what it has to what is promised.
    #[test]
    fn any_patch_of_several_files_keeps_the_laws_of_hunks(
        texts in prop::collection::vec(any_text(), 3),
        sections in prop::collection::vec((0..4usize, "[abc]", "[abcd]", prop_oneof![Just(""), Just("@@\n-a\n+n"), Just("@@\n+n")]), 1..6),
    ) {
        let names = ["a", "b", "c"];
        let there: Vec<(&str, &str)> = names.iter().zip(&texts).map(|(name, text)| (*name, text.as_str())).collect();
        let section = |(kind, from, to, body): &(usize, String, String, &str)| match (kind, *body) {
            (0, _) => format!("*** Delete File: {from}"),
            (1, _) => format!("*** Add File: {to}\n+n\n+{from}"),
            (2, "") => format!("*** Update File: {from}\n*** Move to: {to}"),
            (2, body) => format!("*** Update File: {from}\n*** Move to: {to}\n{body}"),
            (_, body) => format!("*** Update File: {from}\n{}", if body.is_empty() { "@@\n+n" } else { body }),
        };
        let patch: Vec<String> = sections.iter().map(section).collect();
        if let Ok(plan) = plan_in(&memory(&there), &patch.join("\n")) {
            plan.files.iter().for_each(check_hunks);
        }
    }
}

fn edit(change: TextChange) -> FileEdit {
    FileEdit {
        path: "f".into(),
        change,
    }
}

fn replace_one(before: &str, old: &str, new: &str) -> Result<Plan, PlanError> {
    let change = TextChange::Replace {
        old: old.to_owned(),
        new: new.to_owned(),
        all: false,
    };
    let (plan, errors) = plan_each(&[edit(change)], Path::new("/w"), &memory(&[("f", before)]))?;
    match errors.into_iter().next().flatten() {
        Some(error) => Err(error),
        None => Ok(plan),
    }
}

#[test]
fn text_that_does_not_fit_is_explained() {
    let text = "fn a() {\n    one();\n    two();\n}\nfn b() {\n    one();\n}\n";
    let table = [
        (
            "  three();",
            "x",
            &["the old text is not in it:\n  three();", "No file was changed"][..],
        ),
        (
            "\tone();\n\ttwo();",
            "x",
            &[
                "Only blanks differ",
                "The closest place is line 2",
                "     2|     one();",
            ],
        ),
        ("one();", "x", &["stands in it 2 times, at line 2, 6."]),
        ("a", "a", &["the same"]),
        ("", "x", &["the old text is empty"]),
    ];
    for (old, new, parts) in table {
        let error = replace_one(text, old, new).expect_err("no place").to_string();
        assert!(error.starts_with("/w/f: "), "{error}");
        for part in parts {
            assert!(error.contains(part), "{old:?}: {part}: {error}");
        }
    }
    let insert = |after: usize| {
        let line = "x".into();
        plan_each(
            &[edit(TextChange::Insert { after, text: line })],
            Path::new("/w"),
            &memory(&[("f", text)]),
        )
        .expect("a plan")
        .1
    };
    assert!(insert(7)[0].is_none());
    let error = insert(8)[0].as_ref().expect("no such line").to_string();
    assert!(error.contains("no line 8") && error.contains("has 7 lines"), "{error}");
}

proptest! {
    /// Whatever says it, the same change is the same plan: a patch with all lines of the old text, and the old text itself.
    #[test]
    fn replaced_text_and_a_patch_make_the_same_plan(
        lines in proptest::collection::vec("[a-d]{0,3}", 1..12),
        from in 0usize..12,
        length in 1usize..6,
        new in proptest::collection::vec("[a-d]{0,3}", 0..6),
        ending in prop_oneof![Just("\n"), Just("\r\n")],
    ) {
        let from = from % lines.len();
        let old = &lines[from..(from + length).min(lines.len())];
        // Every line is told apart, and none is the end of another (`0:` of `10:`), so that there is one place.
        let name = |(number, line): (usize, &String)| format!("{number:02}:{line}");
        let text: String = lines.iter().enumerate().map(name).map(|line| line + ending).collect();
        let old: Vec<String> = old.iter().enumerate().map(|(at, line)| name((from + at, line))).collect();
        let said = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        prop_assume!(old != new);
        let replaced = replace_one(&text, &said(&old), &said(&new));
        let signed = |sign: char, lines: &[String]| lines.iter().map(|line| format!("{sign}{line}\n")).collect::<String>();
        let body = format!("@@\n{}{}", signed('-', &old), signed('+', &new));
        let patched = plan_in(&memory(&[("f", &text)]), &format!("*** Update File: f\n{}", body.trim_end_matches('\n')));
        let (replaced, patched) = (replaced.expect("it stands there once"), patched.expect("it stands there once"));
        replaced.files.iter().for_each(check_hunks);
        prop_assert_eq!(replaced, patched);
    }

    /// Anything for anything: a plan whose hunks make its text, or an error.
    #[test]
    fn any_replacement_is_a_plan_or_an_error(text in any_text(), old in any_text(), new in any_text(), all in any::<bool>()) {
        let change = TextChange::Replace { old, new, all };
        if let Ok((plan, _)) = plan_each(&[edit(change)], Path::new("/w"), &memory(&[("f", &text)])) {
            plan.files.iter().for_each(check_hunks);
        }
    }
}
