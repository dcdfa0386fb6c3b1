use super::error::ParseError;
use super::*;
use LineKind::{Add, Keep, Remove};
use proptest::prelude::*;

/// The one update's chunks.
fn chunks(body: &str) -> Vec<Chunk> {
    let text = format!("*** Begin Patch\n*** Update File: a\n{body}\n*** End Patch");
    match parse(&text)
        .unwrap_or_else(|error| panic!("{body}: {error}"))
        .sections
        .remove(0)
    {
        Section::Update { chunks, .. } => chunks,
        other => panic!("{other:?}"),
    }
}

fn lines(chunk: &Chunk) -> Vec<(LineKind, &str)> {
    chunk.lines.iter().map(|line| (line.kind, &line.text[..])).collect()
}

#[test]
fn reads_every_section() {
    let text = "*** Begin Patch\n*** Add File: new dir/a.txt\n+one\n+\n+two\n*** Delete File: /abs/b\n*** Update File: c\n*** Move to: d/e\n@@ fn f() {\n keep\n-old\n+new\n*** Update File: only moved\n*** Move to: there\n*** End Patch\n";
    let sections = parse(text).unwrap().sections;
    assert_eq!(
        sections[0],
        Section::Add {
            path: "new dir/a.txt".into(),
            content: "one\n\ntwo\n".into(),
            executable: None,
        }
    );
    assert_eq!(
        sections[1],
        Section::Delete {
            path: "/abs/b".into(),
            or: vec![],
            holds: None
        }
    );
    let Section::Update {
        path, move_to, chunks, ..
    } = &sections[2]
    else {
        panic!()
    };
    assert_eq!((path, move_to), (&"c".into(), &Some("d/e".into())));
    assert_eq!(chunks[0].anchors, ["fn f() {"]);
    assert_eq!(lines(&chunks[0]), [(Keep, "keep"), (Remove, "old"), (Add, "new")]);
    assert_eq!(
        sections[3],
        Section::Update {
            path: "only moved".into(),
            or: vec![],
            move_to: Some("there".into()),
            chunks: vec![],
            executable: None,
        }
    );
}

#[test]
fn takes_envelopes_leniently() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";
    let expected = parse(patch).unwrap();
    let rows = [
        format!("\n\n  {patch}  \n\n"),
        format!("\u{feff}{patch}"),
        patch.replace('\n', "\r\n"),
        format!("<<EOF\n{patch}\nEOF"),
        format!("<<'EOF'\n{patch}\nEOF\n"),
        format!("<<\"PATCH\"\n{patch}\nPATCH\n"),
        format!("apply_patch <<'EOF'\n{patch}\nEOF\n"),
        format!("<<-EOF\n\t{}\n\tEOF\n", patch.replace('\n', "\n\t")),
        format!("```diff\n{patch}\n```\n"),
        patch.replace("Patch\n", "Patch\n*** Environment ID: local\n"),
        patch.replace("Patch\n", "Patch\n\n"),
        patch.replace("+x\n", "+x\n\n\n"),
        patch.replace("+x\n", "+x\n*** End of File\n"),
        patch.replace("*** End", "  *** End"),
    ];
    for row in rows {
        assert_eq!(parse(&row).as_ref(), Ok(&expected), "{row:?}");
    }
}

#[test]
fn says_what_is_wrong_and_where() {
    let in_update = |body: &str| format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch");
    let path = || PathBuf::from("f");
    let rows: &[(String, ParseError)] = &[
        ("".into(), ParseError::NoBegin { found: "".into() }),
        ("hello".into(), ParseError::NoBegin { found: "hello".into() }),
        (
            "*** Begin Patch".into(),
            ParseError::NoEnd {
                found: "*** Begin Patch".into(),
            },
        ),
        (
            "*** Begin Patch\n*** Add File: a\n+x".into(),
            ParseError::NoEnd { found: "+x".into() },
        ),
        ("*** Begin Patch\n*** End Patch".into(), ParseError::NoSections),
        (
            "*** Begin Patch\n*** Delete File: a\n*** End Patch\nmore".into(),
            ParseError::TextAfterEnd {
                line: 4,
                found: "more".into(),
            },
        ),
        (
            "*** Begin Patch\nrubbish\n*** End Patch".into(),
            ParseError::BadHeader {
                line: 2,
                found: "rubbish".into(),
            },
        ),
        (
            "\n*** Begin Patch\n*** Frobnicate: a\n*** End Patch".into(),
            ParseError::BadHeader {
                line: 3,
                found: "*** Frobnicate: a".into(),
            },
        ),
        (
            "*** Begin Patch\n*** Delete File:  \n*** End Patch".into(),
            ParseError::NoPath { line: 2 },
        ),
        (
            "*** Begin Patch\n*** Add File: a\0b\n*** End Patch".into(),
            ParseError::NoPath { line: 2 },
        ),
        (
            "*** Begin Patch\n*** Add File: f\n+x\ny\n*** End Patch".into(),
            ParseError::BadAddLine {
                path: path(),
                line: 4,
                found: "y".into(),
            },
        ),
        (in_update(""), ParseError::EmptyUpdate { path: path(), line: 2 }),
        (in_update("@@\n"), ParseError::EmptyHunk { path: path(), line: 3 }),
        (
            in_update("@@ a\n\n@@ b\n\n"),
            ParseError::EmptyHunk { path: path(), line: 5 },
        ),
        (
            in_update("@@\n x\nno sign\n"),
            ParseError::BadHunkLine {
                path: path(),
                line: 5,
                found: "no sign".into(),
            },
        ),
        (
            in_update("@@\n-x\n*** End of File\n+y\n"),
            ParseError::BadHunkLine {
                path: path(),
                line: 6,
                found: "+y".into(),
            },
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(text).as_ref(), Err(expected), "{text:?}");
    }
}

#[test]
fn reads_headers_of_chunks() {
    let found = chunks(
        "@@ class A\n@@   def f(self):\n-x\n@@\n@@ g\n+y\n@@ -3,4 +5,6 @@ fn h()\n-z\n@@ -7 +7 @@\n-q\n@@ not - a header @@\n-r",
    );
    assert_eq!(found[0].anchors, ["class A", "  def f(self):"]);
    assert_eq!(found[1].anchors, ["g"]);
    assert_eq!(
        (found[2].hint, found[2].heading.as_deref()),
        (Some(LineHint { line: 3, count: 4 }), Some("fn h()"))
    );
    assert_eq!(
        (found[3].hint, found[3].heading.as_deref()),
        (Some(LineHint { line: 7, count: 1 }), None)
    );
    assert_eq!(found[4].anchors, ["not - a header"]);
    // The first header may be missing; names of a unified diff may precede it.
    assert_eq!(lines(&chunks(" a\n-b")[0]), [(Keep, "a"), (Remove, "b")]);
    assert_eq!(lines(&chunks("--- a/f\n+++ b/f\n@@\n-b")[0]), [(Remove, "b")]);
    assert_eq!(lines(&chunks("@@\n--- a\n+++ b")[0]), [(Remove, "-- a"), (Add, "++ b")]);
}

#[test]
fn empty_lines_are_kept_lines_or_looks() {
    let found = chunks("\n@@\n\n a\n\n b\n\n\n@@\n-c\n");
    assert_eq!(
        lines(&found[0]),
        [(Keep, ""), (Keep, "a"), (Keep, ""), (Keep, "b"), (Keep, ""), (Keep, "")]
    );
    assert_eq!((found[0].loose_start, found[0].loose_end), (1, 2));
    assert_eq!((found[1].loose_start, found[1].loose_end), (0, 1));
}

#[test]
fn reads_markers_at_the_end() {
    let marker = "\\ No newline at end of file";
    let one = |body: &str| chunks(body).remove(0);
    assert!(one("-a\n*** End of File").end_of_file);
    assert_eq!(one(&format!("-a\n{marker}\n+b")).final_newline, Some(true));
    assert_eq!(one(&format!("-a\n+b\n{marker}")).final_newline, Some(false));
    assert_eq!(one(&format!("-a\n{marker}\n+b\n{marker}")).final_newline, Some(false));
    assert_eq!(one(&format!("-a\n b\n{marker}")).final_newline, None);
    let text = format!("*** Begin Patch\n*** Add File: a\n+x\n+y\n{marker}\n*** End Patch");
    assert_eq!(
        parse(&text).unwrap().sections,
        [Section::Add {
            path: "a".into(),
            content: "x\ny".into(),
            executable: None,
        }]
    );
}

#[test]
fn line_ends_of_the_patch_text_say_nothing_unless_they_differ() {
    let text = "*** Begin Patch\n*** Add File: a\n+x\r\n+y\n*** End Patch";
    assert_eq!(
        parse(text).unwrap().sections,
        [Section::Add {
            path: "a".into(),
            content: "x\r\ny\n".into(),
            executable: None,
        }]
    );
    let sent = "*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n";
    assert_eq!(
        parse(sent).unwrap().sections,
        [Section::Add {
            path: "a".into(),
            content: "x\n".into(),
            executable: None,
        }]
    );
    let found = chunks("@@\n-x\r\n+y\r");
    assert!(found[0].lines.iter().all(|line| line.end == LineEnd::ReturnFeed));
}

proptest! {
    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn never_panics_on_what_looks_like_a_patch(lines in prop::collection::vec(prop_oneof![
        Just("*** Begin Patch"), Just("*** End Patch"), Just("*** Add File: a"), Just("*** Update File: a"), Just("*** Delete File: a"),
        Just("*** Move to: b"), Just("*** End of File"), Just("@@"), Just("@@ x"), Just("@@ -1,2 +3 @@"), Just("\\ No newline"),
        Just(" a"), Just("-a"), Just("+a"), Just(""), Just(" "), Just("+\r"), Just("é"), Just("<<EOF"), Just("EOF"), Just("```"),
    ], 0..12)) {
        let body = lines.join("\n");
        let _ = parse(&body);
        let _ = parse(&format!("*** Begin Patch\n*** Update File: a\n{body}\n*** End Patch"));
    }
}
