//! What commands do, by their words: the labelled corpus, and the laws that hold for any text.

use countersign::exec::command::{Kind, Label, judge};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A row of the corpus: an argument list, or text for `bash -lc`.
#[derive(Deserialize)]
struct Row {
    text: Option<String>,
    argv: Option<Vec<String>>,
    label: Label,
    /// Of the parts, in their order.
    kinds: Option<Vec<Kind>>,
}

impl Row {
    fn argv(&self) -> Vec<String> {
        match (&self.argv, &self.text) {
            (Some(argv), _) => argv.clone(),
            (None, text) => shell(text.as_deref().unwrap_or_default()),
        }
    }
}

fn shell(text: &str) -> Vec<String> {
    vec!["bash".to_owned(), "-lc".to_owned(), text.to_owned()]
}

fn corpus() -> Vec<Row> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/corpus/commands");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the corpus is there")
        .map(|entry| entry.expect("can be listed").path())
        .collect();
    files.sort();
    let rows = files.iter().flat_map(|file| {
        let text = std::fs::read_to_string(file).expect("can be read");
        let row = |(at, line): (usize, &str)| {
            serde_json::from_str::<Row>(line).unwrap_or_else(|error| panic!("{}:{}: {error}", file.display(), at + 1))
        };
        text.lines().enumerate().map(row).collect::<Vec<_>>()
    });
    rows.collect()
}

/// Nothing that writes, runs or destroys is called safe; all that destroys is seen; nearly all that reads is known.
#[test]
fn the_corpus_is_judged_as_labelled() {
    let rows = corpus();
    assert!(rows.len() >= 400, "only {} rows", rows.len());
    let (mut read, mut known) = (0usize, 0usize);
    let mut wrong = Vec::new();
    let mut missed = Vec::new();
    for row in &rows {
        let argv = row.argv();
        let judgement = judge(&argv, Path::new("/w"));
        let whole = judgement
            .parts
            .iter()
            .map(|part| part.label)
            .max()
            .expect("there is a part");
        assert_eq!(judgement.label, whole, "{argv:?}");
        let said = || format!("{} for {:?}: {:?}", judgement.label.as_str(), row.label, argv.last());
        match (row.label, judgement.label) {
            (Label::SafeReadonly, label) => {
                read += 1;
                known += usize::from(label == Label::SafeReadonly);
                let reason = format!("{} ({})", said(), judgement.why().unwrap_or_default());
                match label {
                    Label::SafeReadonly => {}
                    Label::NotSafe => missed.push(reason),
                    Label::Dangerous => wrong.push(reason),
                }
            }
            (wanted, label) if wanted != label => {
                wrong.push(format!("{} ({})", said(), judgement.why().unwrap_or_default()));
            }
            _ => {}
        }
        if let Some(kinds) = &row.kinds {
            let found: Vec<Kind> = judgement.parts.iter().map(|part| part.kind).collect();
            assert_eq!(&found, kinds, "{argv:?}");
        }
        for part in &judgement.parts {
            assert_eq!(part.why.is_none(), part.label == Label::SafeReadonly, "{part:?}");
            assert!(
                !part.words.is_empty() && !part.text.is_empty() || argv.iter().all(String::is_empty),
                "{part:?}"
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong of {}:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    let missing = read - known;
    assert!(missing * 100 < read, "{known} of {read} known:\n{}", missed.join("\n"));
}

/// Texts that would take long, or for ever, to follow are given up, and never called safe.
#[test]
fn hostile_texts_are_given_up_in_time() {
    let doubling = "X=$X$X$X$X; ".repeat(60);
    for text in [
        "(".repeat(30_000),
        format!("{}ls{}", "echo $(".repeat(3_000), ")".repeat(3_000)),
        "ls && ".repeat(5_000) + "rm -rf x",
        "sudo ".repeat(5_000) + "ls",
        "env ".repeat(5_000) + "rm -rf x",
        "ssh -x ".repeat(5_000),
        "'".repeat(60_001),
        "\"$(".repeat(10_000),
        "if ".repeat(10_000),
        "cat <<E ".repeat(5_000),
        "eval ".repeat(5_000) + "x",
        "ls ".repeat(350_000),
        format!("X=aaaa; {doubling} $X"),
        format!(
            "a=aaaaaaaaaaaaaaaa; {} $z",
            ('a'..='y')
                .map(|c| format!("{}=${c}${c}; ", char::from(c as u8 + 1)))
                .collect::<String>()
        ),
    ] {
        let before = crate::busy::busy();
        let judgement = judge(&shell(&text), Path::new("/w"));
        let took = crate::busy::busy() - before;
        let cut: String = text.chars().take(40).collect();
        assert_ne!(judgement.label, Label::SafeReadonly, "{cut}…");
        assert!(judgement.parts.len() <= 300, "{cut}…");
        assert!(took.as_secs() < 20, "{cut}… took {took:?}");
    }
}

/// Pieces of texts that try to slip something by.
const PIECES: &[&str] = &[
    "ls",
    "cat x",
    "echo",
    "touch P",
    "P",
    ">P",
    "> P",
    "2>P",
    "$(touch P)",
    "`touch P`",
    "\"",
    "'",
    "\\",
    "\n",
    "#",
    ";",
    "|",
    "&&",
    "||",
    "&",
    "(",
    ")",
    "{",
    "}",
    "$x",
    "\"$x\"",
    "x=",
    "x=touch",
    "<<EOF",
    "\nEOF\n",
    "sort",
    "-oP",
    "find .",
    "-fprint",
    "if",
    "then",
    "fi",
    "for x in",
    "do",
    "done",
    "while",
    "case x in",
    "esac",
    ";;",
    "[[",
    "]]",
    "[",
    "]",
    "-v",
    "-eq",
    "!",
    "read x",
    "eval",
    "a[$(touch P)]",
    "$((",
    "))",
    "((",
    "f()",
    "sed",
    "'w P'",
    "awk",
    "'{print > \"P\"}'",
    "sh -c",
    "'touch P'",
    "env",
    "xargs",
    "time",
    "command",
    "exec",
    "<",
    "/dev/null",
    ">/dev/null",
    "2>&1",
    "<(",
    "\t",
    "*",
    "$'",
    "\\'",
    "{touch,P}",
    "${x:-",
    "\"$@\"",
    "set --",
    "\\\n",
    "\u{a0}",
    "\r",
    "`",
    "tee P",
    "|&",
    "&>P",
    "<>P",
    "<<<",
    "P=",
    "date",
    "-s",
    "uniq",
];

/// Texts that are safe as they stand, to be broken.
const WHOLES: &[&str] = &[
    "ls -la",
    "cat x | head",
    "for f in a b; do echo \"$f\"; done",
    "echo \"$(ls)\" 'a b'",
    "x=src; ls \"$x\"",
    "if [ -f x ]; then cat x; fi",
    "cat <<EOF\nhi\nEOF\nls",
    "while read -r l; do echo \"$l\"; done < x",
    "[[ -f x && a == b* ]] || ls",
    "echo $((1+2)) ${x:-y}",
    "sed -n '1,5p' x",
    "awk '{print $1}' x",
    "find . -name 'x' | xargs cat",
    "f() { ls; }; f",
    "case a in a|b) ls;; *) pwd;; esac",
    "ls 2>/dev/null; pwd >/dev/null 2>&1",
    "bash -c 'ls | wc'",
    "echo `ls` # c\npwd",
    "diff <(ls) <(ls)",
];

/// What is called safe changes nothing when real shells run it, and is text that they can read.
#[test]
fn what_is_called_safe_leaves_no_trace_in_real_shells() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().expect("a folder of its own");
    let mut seed: u64 = 0x2545_F491_4F6C_DD1D;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).expect("is below a usize")
    };
    let mut safe = 0;
    for _ in 0..1500 {
        let mut text: Vec<char> = WHOLES[random(WHOLES.len())].chars().collect();
        for _ in 0..=random(3) {
            let at = random(text.len() + 1);
            if random(4) == 0 && at < text.len() {
                text.remove(at);
            } else {
                let piece = PIECES[random(PIECES.len())].chars();
                text.splice(at..at, piece);
            }
        }
        let text: String = text.into_iter().collect();
        let program = ["bash", "sh"][random(2)];
        let argv = [program, "-c", &text].map(str::to_owned);
        if judge(&argv, folder.path()).label != Label::SafeReadonly {
            continue;
        }
        safe += 1;
        for name in ["x", "a", "b"] {
            std::fs::write(folder.path().join(name), "touch P\n1\n").expect("can be written");
        }
        let run = |options: &[&str]| {
            Command::new("timeout")
                .args(["-s", "KILL", "5", program])
                .args(options)
                .arg(&text)
                .current_dir(folder.path())
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .env("HOME", folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .expect("a shell runs")
        };
        assert!(run(&["-n", "-c"]).success(), "{program} cannot read {text:?}");
        run(&["-c"]);
        let mut names: Vec<_> = std::fs::read_dir(folder.path())
            .expect("is there")
            .map(|entry| entry.expect("can be listed").file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["a", "b", "x"], "{program} {text:?}");
    }
    assert!(safe > 100, "only {safe} texts were safe: nothing is shown");
}

proptest::proptest! {
    /// Any text is judged, and blanks around it change nothing.
    #[test]
    fn any_text_is_judged_and_blanks_do_not_matter(text in "[-a-z {}$'\"`|&;<>()\\\\\n=*#!~\\[\\]]{0,60}") {
        let cwd = Path::new("/w");
        let label = judge(&shell(&text), cwd).label;
        if label == Label::SafeReadonly && !text.ends_with('\\') {
            proptest::prop_assert_eq!(judge(&shell(&format!(" \t{text}\n")), cwd).label, label);
            proptest::prop_assert_eq!(judge(&shell(&format!("\n\n{text}")), cwd).label, label);
        }
    }

    /// Any list of words is judged.
    #[test]
    fn any_words_are_judged(words in proptest::collection::vec("(sudo|env|xargs|-c|bash|rm|-rf|git|find|\\PC{0,8})", 0..8)) {
        let judgement = judge(&words, Path::new("/w"));
        proptest::prop_assert!(!judgement.parts.is_empty());
    }
}
