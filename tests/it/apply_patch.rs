//! `countersign apply-patch` as a process: what it does to the disk, what it says, and that it does to a real
//! repository what git itself would.

use crate::support::git::{git, git_bytes};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_countersign");

/// Runs with the patch on standard input.
fn run(folder: &Path, words: &[&str], input: &str) -> Output {
    start(Path::new(PROGRAM), folder, &[&["apply-patch"], words].concat(), input)
}

fn start(program: &Path, folder: &Path, words: &[&str], input: &str) -> Output {
    let mut child = Command::new(program)
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // It may have refused its words already.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("ends")
}

fn out(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

#[track_caller]
fn fine(output: &Output) -> &str {
    assert!(output.status.success(), "{}{}", out(output), err(output));
    out(output)
}

#[track_caller]
fn refused<'o>(output: &'o Output, status: i32, words: &str) -> &'o str {
    assert_eq!(output.status.code(), Some(status), "{}{}", out(output), err(output));
    assert!(err(output).contains(words), "{words}: {}", err(output));
    assert_eq!(out(output), "");
    err(output)
}

fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, text) in files {
        put(folder.path(), name, text.as_bytes());
    }
    folder
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, bytes).expect("written");
}

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch\n")
}

/// Every file below a folder: its bytes and whether it may be run.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, bool)> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(path);
            } else if kind.is_file() {
                let runs = entry.metadata().expect("there").permissions().mode() & 0o100 != 0;
                let name = path.strip_prefix(folder).expect("below").to_owned();
                files.insert(name, (fs::read(&path).expect("read"), runs));
            }
        }
    }
    files
}

/// Shows S-143, S-145, S-146.
#[test]
fn carries_out_a_patch_and_says_what_it_did() {
    let folder = project(&[
        ("m.txt", "one\ntwo\n"),
        ("d.txt", "x\n"),
        ("from.sh", "echo\n"),
        ("sub/s.txt", "s\n"),
    ]);
    fs::set_permissions(folder.path().join("from.sh"), fs::Permissions::from_mode(0o755)).expect("set");
    let text = patch(
        "*** Add File: deep/er/new.txt\n+hello\n*** Update File: m.txt\n@@\n-two\n+2\n*** Delete File: d.txt\n\
         *** Update File: from.sh\n*** Move to: there/to.sh\n@@\n-echo\n+echo hello",
    );
    let done = run(folder.path(), &[], &text);
    assert_eq!(
        fine(&done),
        "A deep/er/new.txt\nM m.txt\nD d.txt\nM there/to.sh\nD from.sh\n"
    );
    assert_eq!(err(&done), "");
    let expected = [
        ("deep/er/new.txt", "hello\n", false),
        ("m.txt", "one\n2\n", false),
        ("there/to.sh", "echo hello\n", true),
        ("sub/s.txt", "s\n", false),
    ];
    let expected: BTreeMap<_, _> = expected
        .into_iter()
        .map(|(name, text, runs)| (PathBuf::from(name), (text.as_bytes().to_vec(), runs)))
        .collect();
    assert_eq!(tree(folder.path()), expected);
    // As an argument, in another folder, and as a diff.
    let sub = patch("*** Update File: s.txt\n@@\n-s\n+t");
    assert_eq!(fine(&run(folder.path(), &["--cd", "sub", &sub], "")), "M s.txt\n");
    let diff = "--- a/s.txt\n+++ b/s.txt\n@@ -1 +1 @@\n-t\n+u\n";
    assert_eq!(fine(&run(&folder.path().join("sub"), &[diff], "")), "M s.txt\n");
    assert_eq!(
        fs::read_to_string(folder.path().join("sub/s.txt")).expect("there"),
        "u\n"
    );
    // Nothing to do is no failure.
    let same = patch("*** Update File: s.txt\n@@\n u");
    let done = run(folder.path(), &["--cd", "sub"], &same);
    assert_eq!((fine(&done), err(&done).contains("nothing to do")), ("", true));
}

#[test]
fn goes_by_its_other_names() {
    let folder = project(&[("f", "1\n")]);
    let tools = TempDir::new().expect("a folder");
    for (name, old, new) in [("apply_patch", "1", "2"), ("applypatch", "2", "3")] {
        let tool = tools.path().join(name);
        symlink(PROGRAM, &tool).expect("a link");
        let text = patch(&format!("*** Update File: f\n@@\n-{old}\n+{new}"));
        assert_eq!(fine(&start(&tool, folder.path(), &[&text], "")), "M f\n");
        refused(
            &start(&tool, folder.path(), &[&text], ""),
            1,
            "were looked for but not found",
        );
        refused(&start(&tool, folder.path(), &["a", "b"], ""), 2, "Usage");
    }
    let tool = tools.path().join("apply_patch");
    assert_eq!(
        fine(&start(&tool, folder.path(), &[], &patch("*** Delete File: f"))),
        "D f\n"
    );
    assert!(fine(&start(&tool, folder.path(), &["--help"], "")).contains("--root"));
}

#[test]
fn says_how_it_is_used() {
    let folder = project(&[]);
    let text = patch("*** Add File: a\n+x");
    refused(&run(folder.path(), &[], ""), 2, "there is no patch");
    refused(&run(folder.path(), &[], " \n\n"), 2, "there is no patch");
    refused(&run(folder.path(), &[&text, &text], ""), 2, "Usage");
    refused(&run(folder.path(), &["--bogus"], ""), 2, "there is no option --bogus");
    refused(&run(folder.path(), &["--cd"], ""), 2, "--cd");
    refused(
        &run(folder.path(), &["--cd", "nowhere"], &text),
        1,
        "nowhere: this folder cannot be entered",
    );
    refused(
        &run(folder.path(), &["--root", "nowhere"], &text),
        1,
        "nowhere: this folder cannot be entered",
    );
    refused(
        &run(folder.path(), &[], "rubbish\n"),
        1,
        "the first line must be `*** Begin Patch`",
    );
    assert!(tree(folder.path()).is_empty());
    // Only said, not done.
    for word in ["--check", "--dry-run"] {
        assert_eq!(fine(&run(folder.path(), &[word], &text)), "A a\n");
        assert!(tree(folder.path()).is_empty());
    }
    let help = run(folder.path(), &["--help"], "");
    assert!(fine(&help).contains("--check") && out(&help).contains("--cd <DIR>"));
}

/// Shows S-135, S-144, S-149.
#[test]
fn what_does_not_fit_changes_nothing_and_is_explained_once() {
    let files = [
        ("a", "1\n"),
        ("b", "fn b() {\n    one();\n}\n"),
        ("c", "x\ny\nx\n"),
        ("d/e", "e\n"),
    ];
    let rows: &[(&str, &[&str])] = &[
        (
            "*** Update File: b\n@@\n fn b() {\n-    two();\n+    three();",
            &[
                "b: hunk 1: these lines were looked for but not found:\nfn b() {\n    two();\n",
                "The closest place is line 1 (lines with > differ):\n     1| fn b() {\n>    2|     one();",
                "No file was changed",
            ],
        ),
        (
            "*** Update File: b\n@@\n-no\n@@\n-one();\n@@\n-neither\n*** Update File: c\n@@\n-z",
            &["hunk 1", "Also without a place: hunk 3 of b, hunk 1 of c."],
        ),
        (
            "*** Update File: c\n@@\n-x\n+z",
            &["These lines stand at line 1, 3", "not unique"],
        ),
        ("*** Delete File: gone", &["gone: there is no such file to delete"]),
        (
            "*** Update File: gone\n@@\n-x",
            &["gone: there is no such file to update"],
        ),
        ("*** Delete File: d", &["d: it is a folder"]),
        ("*** Add File: a/b\n+x", &["a part of its path is a file"]),
        ("*** Add File: b", &["it is there already and has 3 lines"]),
        (
            "*** Update File: a\n@@ -7,0 +8 @@\n+x",
            &["hunk 1 inserts after line 7", "the file has 1 lines"],
        ),
    ];
    for (body, words) in rows {
        let folder = project(&files);
        let before = tree(folder.path());
        // The first section fits, the last does not: neither is carried out.
        let text = patch(&format!("*** Update File: a\n@@\n-1\n+2\n*** Add File: n\n+n\n{body}"));
        let said = run(folder.path(), &[], &text);
        for word in *words {
            refused(&said, 1, word);
        }
        assert_eq!(tree(folder.path()), before, "{body}");
    }
}

/// Text that is no UTF-8 is named as what it is, and left alone.
#[test]
fn other_encodings_are_refused_by_name() {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let rows: &[(&str, Vec<u8>, &str)] = &[
        ("latin", b"caf\xe9\none\n".to_vec(), "Latin-1"),
        ("windows", b"\x93one\x94\none\n".to_vec(), "Windows-1252"),
        (
            "marked",
            [&[0xff, 0xfe][..], &utf16("one\n")].concat(),
            "UTF-16 (little endian)",
        ),
        ("big", b"\xfe\xff\0o\0n\0e\0\n".to_vec(), "UTF-16 (big endian)"),
        ("image", b"\x89PNG\r\n\x1a\n\0\0one\n".to_vec(), "binary"),
    ];
    for (name, bytes, kind) in rows {
        let folder = project(&[]);
        put(folder.path(), name, bytes);
        let text = patch(&format!("*** Update File: {name}\n@@\n-one\n+two"));
        let said = run(folder.path(), &[], &text);
        refused(&said, 1, "it is not UTF-8 text but");
        refused(&said, 1, kind);
        assert_eq!(&fs::read(folder.path().join(name)).expect("there"), bytes);
    }
    let bad = start(Path::new(PROGRAM), project(&[]).path(), &["apply-patch"], "");
    assert_eq!(bad.status.code(), Some(2));
}

/// What is no text is deleted and renamed as it is, links themselves; nothing else is done with it.
#[test]
fn entries_that_are_no_text_are_deleted_and_renamed_as_they_are() {
    let folder = project(&[("real", "real\n"), ("dir/in", "in\n")]);
    let at = |name: &str| folder.path().join(name);
    let bytes: [(&str, &[u8]); 4] = [
        ("image", b"\x89PNG\0\xff"),
        ("latin", b"caf\xe9\n"),
        ("moved", b"\xff\xfe\0"),
        ("odd name", b"\xff"),
    ];
    for (name, content) in bytes {
        put(folder.path(), name, content);
    }
    for (name, target) in [
        ("link", "real"),
        ("to-dir", "dir"),
        ("nowhere", "no/where"),
        ("renamed", "dir"),
    ] {
        symlink(target, at(name)).expect("a link");
    }
    let before = tree(folder.path());
    for (body, part) in [
        (
            "*** Delete File: link\n*** Add File: link\n+x",
            "is a symbolic link to real",
        ),
        ("*** Update File: link\n*** Move to: image", "is there already"),
        ("*** Update File: image\n*** Move to: real", "as it is and once"),
        (
            "*** Update File: image\n*** Move to: new\n@@\n-a\n+b",
            "it is not UTF-8 text but",
        ),
        ("*** Add File: link\n+x", "acts on the link itself"),
        ("*** Delete File: dir", "it is a folder"),
    ] {
        refused(&run(folder.path(), &[], &patch(body)), 1, part);
        assert_eq!(tree(folder.path()), before, "{body}");
    }
    let body = "*** Delete File: image\n*** Delete File: latin\n*** Delete File: link\n*** Delete File: to-dir\n*** Delete File: \
                nowhere\n*** Update File: moved\n*** Move to: sub/moved\n*** Update File: renamed\n*** Move to: sub/link";
    let said = run(folder.path(), &[], &patch(body));
    assert!(
        fine(&said).starts_with("D image\nD latin\nD link\nD to-dir\nD nowhere\nM sub/moved\nD moved\n"),
        "{}",
        out(&said)
    );
    let after = tree(folder.path());
    assert_eq!(fs::read(at("sub/moved")).expect("there"), b"\xff\xfe\0");
    assert_eq!(fs::read_link(at("sub/link")).expect("there"), Path::new("dir"));
    for name in ["image", "latin", "link", "to-dir", "nowhere", "moved", "renamed"] {
        assert!(fs::symlink_metadata(at(name)).is_err(), "{name}");
    }
    assert_eq!(fs::read_to_string(at("dir/in")).expect("there"), "in\n");
    assert_eq!(fs::read_to_string(at("real")).expect("there"), "real\n");
    assert!(after.len() < before.len());
    // As git shows them.
    symlink("real", at("gone")).expect("a link");
    let wrong = "diff --git a/gone b/gone\ndeleted file mode 120000\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-other\n\\ No newline at end of file\n";
    assert_eq!(run(folder.path(), &[], wrong).status.code(), Some(1));
    assert_eq!(
        fine(&run(folder.path(), &[], &wrong.replace("-other", "-real"))),
        "D gone\n"
    );
    let binary = "diff --git a/odd name b/odd name\ndeleted file mode 100644\nindex 1234567..0000000\nBinary files \"a/odd name\" and /dev/null differ\n";
    assert_eq!(fine(&run(folder.path(), &[], binary)), "D odd name\n");
}

/// Outside the roots nothing is written, made, removed or even read, also through links; `--root` names more of them.
#[test]
fn stays_inside_its_roots() {
    let world = project(&[("in/f", "1\n"), ("out/f", "secret\n")]);
    let (inside, outside) = (world.path().join("in"), world.path().join("out"));
    symlink(&outside, inside.join("link")).expect("a link");
    symlink(outside.join("f"), inside.join("file-link")).expect("a link");
    let before = tree(world.path());
    for body in [
        "*** Add File: ../new\n+x",
        "*** Update File: ../out/f\n@@\n-public\n+x",
        "*** Delete File: ../out/f",
        "*** Add File: link/new\n+x",
        "*** Update File: link/f\n@@\n-secret\n+x",
        "*** Update File: f\n*** Move to: link/f2",
        "*** Update File: f\n*** Move to: ../out/f2",
    ] {
        let said = run(&inside, &[], &patch(body));
        let said = refused(&said, 1, "it is outside the folders that may be written");
        assert!(said.contains("--root") && !said.contains("secret"), "{said}");
    }
    refused(
        &run(&inside, &[], &patch("*** Update File: file-link\n@@\n-secret\n+x")),
        1,
        "it is a symbolic link to",
    );
    let absolute = outside.join("f").display().to_string();
    let text = patch(&format!("*** Update File: {absolute}\n@@\n-secret\n+x"));
    refused(&run(&inside, &[], &text), 1, "outside");
    assert_eq!(tree(world.path()), before);
    for root in [outside.display().to_string(), "/".to_owned()] {
        let words = ["--root", &root, "--check"];
        assert_eq!(fine(&run(&inside, &words, &text)), format!("M {absolute}\n"));
    }
    assert_eq!(
        fine(&run(&inside, &["--root", "../out"], &text)),
        format!("M {absolute}\n")
    );
    // Roots that are named replace the folder of --cd.
    let own = patch("*** Update File: f\n@@\n-1\n+2");
    refused(&run(&inside, &["--root", "../out"], &own), 1, "outside");
}

/// Moves that lead nowhere: onto the file itself, in other words or through a link.
#[test]
fn a_file_moved_onto_itself_stays() {
    for to in ["f", "./f", "d/../f", "link/f"] {
        let folder = project(&[("f", "1\n"), ("d/x", "")]);
        symlink(".", folder.path().join("link")).expect("a link");
        let text = patch(&format!("*** Update File: f\n*** Move to: {to}\n@@\n-1\n+2"));
        assert_eq!(fine(&run(folder.path(), &[], &text)), "M f\n", "{to}");
        assert_eq!(
            fs::read_to_string(folder.path().join("f")).expect("there"),
            "2\n",
            "{to}"
        );
    }
}

const ROUNDS: usize = 40;

/// A state of a repository.
type State = BTreeMap<&'static str, (String, bool)>;

const NAMES: [&str; 9] = [
    "plain.txt",
    "d/deep/er.rs",
    "two  words.txt",
    "é ünï.txt",
    "quo\"te\\.txt",
    "tab\there.txt",
    "b/a/b.txt",
    "- dash.txt",
    "line\nend.txt",
];

fn any_state() -> impl Strategy<Value = State> {
    let line = prop::sample::select(vec![
        "fn a() {",
        "}",
        "",
        "    one();",
        "-- sql",
        "++ more",
        "é😀",
        "\ttab",
        "@@ -1 +1 @@",
        "diff --git a/x b/x",
        "last  ",
        "\\ No newline at end of file",
        "*** End Patch",
        "--- a/x",
        "+++ b/x",
        " ",
    ]);
    let end = prop_oneof![6 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
    let text = (prop::collection::vec((line, end), 0..40), any::<bool>(), any::<bool>()).prop_map(
        |(lines, uniform, finished)| {
            let first = lines.first().map_or("\n", |(_, end)| *end);
            let mut text: String = lines
                .iter()
                .flat_map(|(line, end)| [*line, if uniform { first } else { *end }])
                .collect();
            if !finished {
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
            }
            text
        },
    );
    let file = (text, prop::bool::weighted(0.3));
    prop::collection::vec(prop::option::weighted(0.7, file), NAMES.len()).prop_map(|files| {
        let named = NAMES.into_iter().zip(files);
        named.filter_map(|(name, file)| Some((name, file?))).collect()
    })
}

/// The next state: some files as they were, some with other lines, names or modes, some gone, some new.
fn any_change() -> impl Strategy<Value = (State, State)> {
    let edits = prop::collection::vec((0..6u8, any::<prop::sample::Index>(), "[a-c ]{0,3}"), 0..8);
    (any_state(), any_state(), edits).prop_map(|(old, other, edits)| {
        let mut new = old.clone();
        for (what, which, line) in edits {
            let name = NAMES[which.index(NAMES.len())];
            let target = NAMES[(which.index(NAMES.len()) + 4) % NAMES.len()];
            match what {
                0 => drop(new.remove(name)),
                1 => new.extend(other.get(name).map(|file| (name, file.clone()))),
                2 => {
                    if let Some(file) = new.remove(name) {
                        new.insert(target, file);
                    }
                }
                3 => new.extend(new.get(name).cloned().map(|file| (target, file))),
                4 => new.get_mut(name).into_iter().for_each(|file| file.1 = !file.1),
                _ => {
                    if let Some((text, _)) = new.get_mut(name) {
                        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
                        let at = if ends.is_empty() {
                            0
                        } else {
                            ends[which.index(ends.len())]
                        };
                        text.insert_str(at, &format!("{line}\n"));
                    }
                }
            }
        }
        (old, new)
    })
}

fn write_state(folder: &Path, state: &State) {
    for (name, (text, runs)) in state {
        put(folder, name, text.as_bytes());
        let mode = if *runs { 0o755 } else { 0o644 };
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).expect("set");
    }
}

fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.file_name() == ".git" {
            continue;
        }
        if entry.path().is_dir() {
            fs::remove_dir_all(entry.path()).expect("removed");
        } else {
            fs::remove_file(entry.path()).expect("removed");
        }
    }
}

/// The same cases in every run; many others were played when this was written.
fn same_cases() -> TestRunner {
    let algorithm = RngAlgorithm::ChaCha;
    TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(algorithm))
}

fn tree_of(state: &State) -> BTreeMap<PathBuf, (Vec<u8>, bool)> {
    let file =
        |(name, (text, runs)): (&&str, &(String, bool))| (PathBuf::from(name), (text.clone().into_bytes(), *runs));
    state.iter().map(file).collect()
}

fn git_takes(folder: &Path, diff: &str) -> bool {
    let words = ["apply", "--check", "-"];
    start(Path::new("git"), folder, &words, diff).status.success()
}

/// Real diffs of a real repository, in every shape that git gives them: after ours the tree is the one that git had.
#[test]
fn does_to_a_repository_what_git_does() {
    const SHAPES: [&[&str]; 8] = [
        &["diff"],
        &["diff", "-M", "-C", "-C"],
        &["diff", "--no-renames", "--no-prefix"],
        &["diff", "-U0", "-M"],
        &["-c", "diff.mnemonicPrefix=true", "diff", "-U1", "-R"],
        &["diff", "-B", "-M"],
        &["show", "--format=email", "--stat", "-p"],
        &["diff", "--src-prefix=old/", "--dst-prefix=new/"],
    ];
    let mut runner = same_cases();
    let mut changed = 0;
    for round in 0..ROUNDS {
        let (mut old, mut new) = any_change().new_tree(&mut runner).expect("a case").current();
        let words = SHAPES[round % SHAPES.len()];
        if words.contains(&"-U0") {
            // A new line with no line of the file beside it in the diff ends as its neighbours do in the file, since most
            // diffs without a return were never meant to bring another end in.
            let files = old.values_mut().chain(new.values_mut());
            files.for_each(|(text, _)| *text = text.replace('\r', ""));
        }
        let repository = TempDir::new().expect("a folder");
        let folder = repository.path();
        git(folder, &["init", "-q"]);
        git(folder, &["config", "core.autocrlf", "false"]);
        write_state(folder, &old);
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-q", "--allow-empty", "-m", "old"]);
        let before = tree(folder);
        clear(folder);
        write_state(folder, &new);
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-q", "--allow-empty", "-m", "new\n\n- a point"]);
        let after = tree(folder);
        let ends: &[&str] = if words[0] == "show" {
            &["HEAD"]
        } else {
            &["HEAD~1", "HEAD"]
        };
        let diff = git_bytes(folder, &[words, ends].concat());
        let diff = String::from_utf8(diff).expect("text");
        let (from, wanted) = if words.contains(&"-R") {
            (&new, &before)
        } else {
            (&old, &after)
        };
        clear(folder);
        write_state(folder, from);
        if !diff.contains("diff --git") {
            continue;
        }
        changed += 1;
        let done = run(folder, &[], &diff);
        if !done.status.success() {
            // With -B git writes down renames onto files that are there, which it does not take itself.
            assert_eq!(&tree(folder), &tree_of(from), "{words:?}");
            assert!(
                words.contains(&"-B"),
                "{words:?}: {}\n{diff}\n{old:#?}\n{new:#?}",
                err(&done)
            );
            assert!(!git_takes(folder, &diff), "{}\n{diff}", err(&done));
            continue;
        }
        assert_eq!(&tree(folder), wanted, "{words:?}\n{diff}\n{old:#?}");
    }
    assert!(changed > 25, "{changed}");
}

/// What GNU diff writes, for folders and for single files.
#[test]
fn takes_what_diff_writes() {
    if Command::new("diff").arg("--version").output().is_err() {
        return;
    }
    let mut runner = same_cases();
    for round in 0..16 {
        let (mut old, mut new) = any_change().new_tree(&mut runner).expect("a case").current();
        for state in [&mut old, &mut new] {
            // It cannot say these, nor modes, nor files that are there and empty.
            state.retain(|name, (text, _)| !name.contains(['\n', '\t', '"', '\\']) && !text.is_empty());
            state.values_mut().for_each(|(_, runs)| *runs = false);
        }
        let world = TempDir::new().expect("a folder");
        for (name, state) in [("old", &old), ("new", &new), ("here", &old)] {
            fs::create_dir(world.path().join(name)).expect("made");
            write_state(&world.path().join(name), state);
        }
        let flags: &[&str] = if round % 2 == 0 {
            &["-ruN"]
        } else {
            &["-ruN", "-p", "-U1"]
        };
        let diff = Command::new("diff")
            .args(flags)
            .args(["old", "new"])
            .current_dir(world.path())
            .output()
            .expect("runs");
        let diff = String::from_utf8(diff.stdout).expect("text");
        if diff.is_empty() {
            continue;
        }
        let here = world.path().join("here");
        let done = run(&here, &[], &diff);
        assert!(done.status.success(), "{}\n{diff}\n{old:#?}", err(&done));
        assert_eq!(tree(&here), tree(&world.path().join("new")), "{diff}");
    }
}
