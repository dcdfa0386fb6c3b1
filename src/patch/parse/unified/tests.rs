use super::*;
use crate::patch::parse::{LineHint, parse};

fn sections(text: &str) -> Vec<Section> {
    let patch = parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(patch.language, Language::Unified, "{text}");
    assert_eq!(patch.steps.iter().sum::<usize>(), patch.sections.len());
    patch.sections
}

/// Every section in one line, its lines with their signs.
fn outline(text: &str) -> Vec<String> {
    let lines = |chunks: &[Chunk]| {
        let sign = |kind| match kind {
            LineKind::Keep => ' ',
            LineKind::Remove => '-',
            LineKind::Add => '+',
        };
        let chunk = |chunk: &Chunk| {
            let lines = chunk
                .lines
                .iter()
                .map(|line| format!("{}{}", sign(line.kind), line.text));
            lines.collect::<Vec<_>>().join("|")
        };
        chunks.iter().map(chunk).collect::<Vec<_>>().join(" @ ")
    };
    let mode = |executable: &Option<bool>| executable.map_or("", |runs| if runs { " +x" } else { " -x" });
    sections(text)
        .iter()
        .map(|section| match section {
            Section::Add {
                path,
                content,
                executable,
            } => format!("add {}{} {content:?}", path.display(), mode(executable)),
            Section::Delete { path, holds, .. } => {
                let holds = holds.as_ref().map_or("?".to_owned(), |chunks| lines(chunks));
                format!("delete {} {holds}", path.display())
            }
            Section::Update {
                path,
                move_to,
                chunks,
                executable,
                ..
            } => {
                let to = move_to
                    .as_ref()
                    .map_or(String::new(), |to| format!(" to {}", to.display()));
                format!("update {}{to}{} {}", path.display(), mode(executable), lines(chunks))
            }
            Section::Copy {
                from,
                path,
                chunks,
                executable,
            } => {
                let (from, path) = (from.display(), path.display());
                format!("copy {from} to {path}{} {}", mode(executable), lines(chunks))
            }
        })
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(outline(text), expected, "{text}");
}

const BODY: &str = "@@ -1 +1 @@\n-x\n+y\n";

#[test]
fn reads_what_git_and_diff_write() {
    let rows: &[(&str, &[&str])] = &[
        // Names.
        ("--- a/f\n+++ b/f\n{}", &["update f -x|+y"]),
        ("--- f\n+++ f\n{}", &["update f -x|+y"]),
        (
            "--- f.orig\t2024-01-01 00:00:00.0 +0000\n+++ f\t2024-01-01 00:00:01.0 +0000\n{}",
            &["update f -x|+y"],
        ),
        (
            "diff -ru old/d/f new/d/f\n--- old/d/f\t2024-01-01\n+++ new/d/f\t2024-01-01\n{}",
            &["update d/f -x|+y"],
        ),
        (
            "diff --git a/f b/f\nindex 1234567..89abcde 100644\n--- a/f\n+++ b/f\n{}",
            &["update f -x|+y"],
        ),
        ("diff --git f f\n--- f\n+++ f\n{}", &["update f -x|+y"]),
        ("diff --git a/f a/f\n--- a/f\n+++ a/f\n{}", &["update a/f -x|+y"]),
        ("diff --git i/f w/f\n--- i/f\n+++ w/f\n{}", &["update f -x|+y"]),
        ("diff --git old/f new/f\n--- old/f\n+++ new/f\n{}", &["update f -x|+y"]),
        (
            "diff --git \"a/\\303\\251\" \"b/\\303\\251\"\n--- \"a/\\303\\251\"\n+++ \"b/\\303\\251\"\n{}",
            &["update é -x|+y"],
        ),
        (
            "diff --git a/x y b/x y\n--- a/x y\t\n+++ b/x y\t\n{}",
            &["update x y -x|+y"],
        ),
        // No hunks needed where names are said.
        (
            "diff --git a/f b/f\n--- a/f\n+++ b/f\n{}diff --git a/g b/g\n--- a/g\n+++ b/g\n{}",
            &["update f -x|+y", "update g -x|+y"],
        ),
        ("diff --git a/f b/f\n{}", &["update f -x|+y"]),
        // Made and deleted.
        (
            "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..e69de29\n",
            &["add f -x \"\""],
        ),
        (
            "diff --git a/f b/f\nnew file mode 100755\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n",
            &["add f +x \"a\\nb\\n\""],
        ),
        (
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n",
            &["add f \"a\""],
        ),
        (
            "--- o/f\t1970-01-01 00:00:00.000000000 +0000\n+++ n/f\t2024-01-01 00:00:00.0 +0000\n@@ -0,0 +1 @@\n+a\n",
            &["add f \"a\\n\""],
        ),
        (
            "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
            &["delete f -x"],
        ),
        (
            "diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29..0000000\n",
            &["delete f"],
        ),
        (
            "diff --git a/f b/f\ndeleted file mode 100644\nindex 1234567..0000000\n",
            &["delete f ?"],
        ),
        (
            "--- o/f\t2024-01-01 00:00:00.0 +0000\n+++ n/f\t1970-01-01 01:00:00.000000000 +0100\n@@ -1 +0,0 @@\n-x\n",
            &["delete f -x"],
        ),
        (
            "diff --git b/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n",
            &["add b/f -x \"a\\n\""],
        ),
        // Moves, copies, modes.
        (
            "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
            &["update f to g"],
        ),
        (
            "diff --git a/f b/d/g\nsimilarity index 50%\nrename from f\nrename to d/g\nindex 1..2 100644\n--- a/f\n+++ b/d/g\n{}",
            &["update f to d/g -x|+y"],
        ),
        (
            "diff --git a/f b/g\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from f\nrename to g\n",
            &["update f to g +x"],
        ),
        (
            "diff --git a/f b/g\nsimilarity index 50%\ncopy from f\ncopy to g\n--- a/f\n+++ b/g\n{}",
            &["copy f to g -x|+y"],
        ),
        (
            "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
            &["update f +x"],
        ),
        (
            "diff --git a/f b/f\nold mode 100755\nnew mode 100644\n--- a/f\n+++ b/f\n{}",
            &["update f -x -x|+y"],
        ),
        // Other text around.
        (
            "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\n- a point\n---\n f | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n{}-- \n2.47.0\n\n",
            &["update f -x|+y"],
        ),
        (
            "Here it is:\n\n```diff\n--- a/f\n+++ b/f\n{}```\n\nThat is all.",
            &["update f -x|+y"],
        ),
        ("```diff\n--- a/f\n+++ b/f\n{}```", &["update f -x|+y"]),
        ("<<'EOF'\n--- a/f\n+++ b/f\n{}EOF\n", &["update f -x|+y"]),
        (
            "Index: f\n===================================================================\n--- f\t(revision 1)\n+++ f\t(working copy)\n{}\nProperty changes on: f\n___\nAdded: p\n## -0,0 +1 ##\n+v\n",
            &["update f -x|+y"],
        ),
        (
            "commit 0123456789\nAuthor: A\n\n    words\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n{}\ncommit 1123456789\nAuthor: B\n\n    - more\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n{}",
            &["update f -x|+y", "update f -x|+y"],
        ),
        (
            "*** Begin Patch\n--- a/f\n+++ b/f\n{}*** End Patch",
            &["update f -x|+y"],
        ),
        ("Only in a: z\n--- a/f\n+++ b/f\n{}Only in b: q\n", &["update f -x|+y"]),
        (
            "\u{feff}--- a/f\r\n+++ b/f\r\n@@ -1 +1 @@\r\n-x\r\n+y\r\n",
            &["update f -x|+y"],
        ),
    ];
    for (text, expected) in rows {
        check(&text.replace("{}", BODY), expected);
    }
    let patch =
        parse(&"From 0123456 x\n--- a/f\n+++ b/f\n{}From 1123456 x\n--- a/f\n+++ b/f\n{}".replace("{}", BODY)).unwrap();
    assert_eq!(patch.steps, [1, 1]);
}

#[test]
fn numbers_may_be_wrong_where_the_lines_are_clear() {
    let file = |body: &str| format!("--- a/f\n+++ b/f\n{body}");
    let rows: &[(&str, &str)] = &[
        // Too long, too short, both, for one file and for two.
        ("@@ -1,9 +1,9 @@\n a\n-x\n+y\n b\n", "update f  a|-x|+y| b"),
        ("@@ -1,1 +1,1 @@\n a\n-x\n+y\n b\n", "update f  a|-x|+y| b"),
        (
            "@@ -1,2 +1,1 @@\n a\n-x\n+y\n b\n@@ -9,9 +9,2 @@\n-c\n",
            "update f  a|-x|+y| b @ -c",
        ),
        ("@@ -1,0 +1,0 @@\n a\n-x\n+y\n", "update f  a|-x|+y"),
        // None at all, or no header.
        ("@@\n-x\n+y\n", "update f -x|+y"),
        ("@@ ... @@\n-x\n+y\n", "update f -x|+y"),
        ("@@ fn a() @@\n-x\n+y\n", "update f -x|+y"),
        (" a\n-x\n+y\n", "update f  a|-x|+y"),
        // The blank of an empty line was cut.
        ("@@ -1,3 +1,3 @@\n a\n\n-x\n+y\n", "update f  a| |-x|+y"),
        ("@@ -1,3 +1,3 @@\n-x\n+y\n a\n\n", "update f -x|+y| a|"),
        // Lines that look like something else.
        ("@@ -1,3 +1,3 @@\n--- a\n+++ b\n c\n d\n", "update f --- a|+++ b| c| d"),
        ("@@ -1,2 +1 @@\n-x\n-- \n+y\n", "update f -x|-- |+y"),
        ("@@ -1,9 +1,9 @@\n-x\n+y\n-- \n2.47.0\n", "update f -x|+y"),
        ("@@ -1,9 +1,9 @@\n-x\n+y\n\n\ncommit 0123456789\n", "update f -x|+y| |"),
        (
            "@@ -1 +1 @@\n-x\n+y\n\nThank you.\n- a point\n"
                .split_once("- a")
                .unwrap()
                .0,
            "update f -x|+y",
        ),
    ];
    for (body, expected) in rows {
        check(&file(body), &[expected]);
    }
    // The next file's names are not lines of a hunk that promised more.
    let two = file("@@ -1,2 +1,2 @@\n-x\n+y\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-q\n+r\n");
    check(&two, &["update f -x|+y", "update g -q|+r"]);
    let chunk = |text: &str| match sections(text).remove(0) {
        Section::Update { mut chunks, .. } => chunks.remove(0),
        other => panic!("{other:?}"),
    };
    // Empty lines that no number counts may be there for looks.
    let loose = chunk(&file("@@ -1,9 +1,9 @@\n-x\n+y\n\n\n"));
    assert_eq!((loose.loose_end, loose.hint), (2, Some(LineHint { line: 1, count: 9 })));
    assert_eq!(
        chunk(&file("@@ -1,2 +1,2 @@ fn a\n\n-x\n+y\n")).heading.as_deref(),
        Some("fn a")
    );
}

#[test]
fn line_ends_are_said_where_they_differ() {
    let ends = |text: &str| match sections(text).remove(0) {
        Section::Update { chunks, .. } => {
            let lines = chunks.iter().flat_map(|chunk| &chunk.lines);
            lines.map(|line| line.end).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let text = "--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-x\r\n+y\r\n+z\n";
    assert_eq!(ends(text), [LineEnd::ReturnFeed, LineEnd::ReturnFeed, LineEnd::Feed]);
    assert_eq!(ends(&text.replace("\r\n", "\n")), [LineEnd::Unsaid; 3]);
    assert_eq!(
        ends(&text.replace("\r\n", "\n").replace('\n', "\r\n")),
        [LineEnd::Unsaid; 3]
    );
    let cut = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\r\n\\ No newline at end of file\n+y\n";
    assert_eq!(ends(cut), [LineEnd::Return, LineEnd::Feed]);
}

#[test]
fn says_what_cannot_be_applied_and_where() {
    let file = |body: &str| format!("--- a/f\n+++ b/f\n{body}");
    let rows: &[(String, &str)] = &[
        ("just words\n".into(), "a unified diff needs"),
        ("@@ -1 +1 @@\n-x\n+y\n".into(), "the hunk in line 1 belongs to no file"),
        (
            "--- a/f\n@@ -1 +1 @@\n-x\n".into(),
            "line 1 `--- a/f` has no `+++ <path>` line",
        ),
        ("+++ b/f\n@@ -1 +1 @@\n-x\n".into(), "has no `--- <path>` line"),
        (file(""), "the update of f (line 1) has no hunk"),
        (file("@@ -1 +1 @@\n"), "the hunk in line 3 (file f) has no lines"),
        (
            file("@@ -1 +1 @@\n-x\n@@ -2,2 +2,2 @@\n@@ -3 +3 @@\n-y\n"),
            "the hunk in line 5 (file f) has no lines",
        ),
        (file("@@ -1,5 +1,5 @@\n-x\nrubbish\n+y\n"), "line 5 `rubbish` (file f)"),
        (
            file("@@ -1 +1 @@\n-x\n+y\n\n+z\n"),
            "line 7 `+z` (file f) looks like a part of the hunk in line 3",
        ),
        (file("@@ -1 +1 @@\n-x\n+y\n\n z\n"), "line 7 ` z` (file f)"),
        (file("@@ -1 +1 @@\n-x\n+y\nwords\n-z\n"), "line 7 `-z` (file f)"),
        (
            file("@@ -5,3 +5,4 @@\n+new\n"),
            "only adds lines, but its numbers say that it also keeps or replaces 3",
        ),
        (
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n b\n".into(),
            "has ` b`, but the file is to be new",
        ),
        (
            "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n+b\n".into(),
            "has `+b`, but the file is to be deleted",
        ),
        (
            "--- /dev/null\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n".into(),
            "the name in line 1",
        ),
        ("--- \n+++ \n@@ -1 +0,0 @@\n-a\n".into(), "the name in line 1"),
        (
            "--- \"a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n".into(),
            "the name in line 1 `--- \"a/f`",
        ),
        (
            "diff --git a/f b/f\nGIT binary patch\nliteral 3\nabc\n".into(),
            "the change of f (line 2) is binary",
        ),
        (
            "diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n".into(),
            "the change of f (line 3) is binary",
        ),
        (
            "diff -ru a b\nBinary files a/f and b/f differ\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n".into(),
            "(line 2) is binary",
        ),
        (
            "diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+t\n".into(),
            "f (line 2) is a symbolic link",
        ),
        (
            "diff --git a/f b/f\nindex 1..2 160000\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n".into(),
            "f (line 2) is a repository inside",
        ),
        (
            "diff --git a/f b/f\nold mode 100644\nnew mode rwx\n".into(),
            "the file mode in line 3",
        ),
        ("diff --git a/f b/f\nrename from f\n".into(), "the name in line 1"),
        (
            "diff --git a/f b/g\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n".into(),
            "names two files, f and g; for a new name add `rename from f`",
        ),
        ("diff --git a/f b/f\nindex 1..2 100644\n".into(), "has no hunk"),
        (
            "diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n- x\n".into(),
            "begins a combined diff of a merge",
        ),
        (
            "*** f.orig\n--- f\n***************\n*** 1 ****\n! x\n--- 1 ----\n! y\n".into(),
            "line 3 begins a context diff",
        ),
        (
            "1c1\n< x\n---\n> y\n".into(),
            "line 1 begins a diff without lines around",
        ),
    ];
    for (text, expected) in rows {
        match parse(text) {
            Err(error) => assert!(error.to_string().contains(expected), "{text}\n{error}"),
            Ok(patch) => panic!("{text}\n{patch:?}"),
        }
    }
}

#[test]
fn a_command_that_is_a_diff_is_told_from_one_that_mentions_one() {
    for text in [
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n",
        "diff --git a/f b/f\nnew file mode 100644\n",
    ] {
        assert!(starts_like_one(text), "{text}");
    }
    for text in [
        "diff --git a b",
        "diff a b\n",
        "--- a",
        "git diff\n",
        "",
        "echo --- a\n+++ b\n",
    ] {
        assert!(!starts_like_one(text), "{text}");
    }
}
