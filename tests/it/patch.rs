//! The patch language, against a corpus of patch texts: what each means, and that nothing made of them by chance can
//! make the reader or the search for places panic or run away.

use countersign::patch::files::{FileText, Files, ReadError};
use countersign::patch::parse::{Chunk, LineKind, Patch, Section, parse};
use countersign::patch::plan::plan;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/corpus/patch")
}

/// Every text of the corpus, by name.
static CORPUS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let mut texts: Vec<_> = std::fs::read_dir(folder())
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "patch"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("text"))
        })
        .collect();
    texts.sort();
    texts
});

/// One line for each section.
fn outline(patch: &Patch) -> String {
    let mut text = format!("{:?}, steps {:?}\n", patch.language, patch.steps);
    let size = |chunks: &[Chunk]| {
        let count = |kind| {
            let lines = chunks.iter().flat_map(|chunk| &chunk.lines);
            lines.filter(|line| line.kind == kind).count()
        };
        let (keep, remove, add) = (count(LineKind::Keep), count(LineKind::Remove), count(LineKind::Add));
        format!("{} hunks ={keep} -{remove} +{add}", chunks.len())
    };
    for section in &patch.sections {
        let line = match section {
            Section::Add {
                path,
                content,
                executable,
            } => format!("add {path:?} {executable:?} {} lines", content.lines().count()),
            Section::Delete { path, holds, .. } => match holds {
                Some(chunks) => format!("delete {path:?} {}", size(chunks)),
                None => format!("delete {path:?} whatever it holds"),
            },
            Section::Update {
                path,
                move_to,
                chunks,
                executable,
                ..
            } => format!("update {path:?} to {move_to:?} {executable:?} {}", size(chunks)),
            Section::Copy {
                from,
                path,
                chunks,
                executable,
            } => format!("copy {from:?} to {path:?} {executable:?} {}", size(chunks)),
        };
        let _ = writeln!(text, "    {line}");
    }
    text
}

/// What each text means, or why it means nothing, is written down beside it: a change of either shows.
#[test]
fn the_corpus_is_read_as_written_down() {
    let mut outcomes = String::new();
    for (name, text) in CORPUS.iter() {
        match parse(text) {
            Ok(patch) => {
                assert!(!name.contains("-bad"), "{name} is read");
                let _ = write!(outcomes, "{name}: {}", outline(&patch));
            }
            Err(error) => {
                let is_bad = name.contains("-bad") || ["empty", "words"].contains(&&name[..]);
                assert!(is_bad, "{name}: {error}");
                let _ = writeln!(outcomes, "{name}: {error}");
            }
        }
    }
    assert!(CORPUS.len() >= 70, "the corpus is there");
    let file = folder().join("outcomes.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &outcomes).expect("written");
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(outcomes, expected, "run with UPDATE=1 if this is meant");
}

/// Files in memory.
#[derive(Debug, Default)]
struct Memory(BTreeMap<PathBuf, String>);

impl Files for Memory {
    fn read(&self, path: &Path) -> Result<Option<FileText>, ReadError> {
        Ok(self.0.get(path).map(|text| FileText::from(&text[..])))
    }
}

const ROOT: &str = "/w";

/// Files that the patch may well fit: they hold the lines that it looks for, with `between` them.
fn files_for(patch: &Patch, between: &str) -> Memory {
    let mut files = Memory::default();
    let mut put = |path: &PathBuf, chunks: &[Chunk]| {
        let text = files.0.entry(Path::new(ROOT).join(path)).or_default();
        for chunk in chunks {
            chunk.anchors.iter().for_each(|anchor| *text += &format!("{anchor}\n"));
            let old = chunk.lines.iter().filter(|line| line.kind != LineKind::Add);
            old.for_each(|line| *text += &format!("{}\n", line.text));
            *text += between;
        }
    };
    for section in &patch.sections {
        match section {
            Section::Add { .. } => {}
            Section::Delete { path, holds, .. } => put(path, holds.as_deref().unwrap_or_default()),
            Section::Update { path, chunks, .. } => put(path, chunks),
            Section::Copy { from, chunks, .. } => put(from, chunks),
        }
    }
    files
}

/// Reads and plans, and looks whether what comes out keeps the laws of a plan. The answer says whether it fits.
fn try_out(text: &str, between: &str) -> Option<bool> {
    let patch = match parse(text) {
        Ok(patch) => patch,
        Err(error) => {
            assert!(error.to_string().len() < 2000, "{error}");
            return None;
        }
    };
    assert_eq!(patch.steps.iter().sum::<usize>(), patch.sections.len());
    let files = files_for(&patch, between);
    match plan(&patch, Path::new(ROOT), &files) {
        Ok(plan) => {
            for file in &plan.files {
                let all = vec![true; file.hunks.len()];
                if !file.is_noop() {
                    assert_eq!(file.with(&all), file.after, "{file:?}");
                }
                assert_eq!(file.with(&[]), file.before, "{file:?}");
                assert!(file.hunks.windows(2).all(|pair| pair[0].old.end < pair[1].old.start));
            }
            Some(true)
        }
        Err(error) => {
            assert!(error.to_string().starts_with(ROOT), "{error}");
            Some(false)
        }
    }
}

/// Most of what is read also fits, so that the search is tried and not only the reader.
#[test]
fn the_corpus_fits_files_made_for_it() {
    let fits: Vec<_> = CORPUS
        .iter()
        .filter_map(|(_, text)| try_out(text, "between\n"))
        .collect();
    assert!(
        fits.iter().filter(|fits| **fits).count() * 4 > fits.len() * 3,
        "{fits:?}"
    );
}

/// The processor's time that this thread has taken, which says more than the clock on a busy machine. Elsewhere than on
/// Linux it is the clock's.
fn spent() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = stat.as_deref().and_then(|stat| stat.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// A change to a patch text.
#[derive(Clone, Debug)]
enum Mutation {
    Remove(usize),
    Double(usize, usize),
    Swap(usize, usize),
    Insert(usize, &'static str),
    Cut(usize),
    Sign(usize, char),
    Blank(usize),
    Returns,
    Splice(usize, usize),
}

fn any_mutation() -> impl Strategy<Value = Mutation> {
    let line = 0..200usize;
    let token = prop::sample::select(vec![
        "*** Begin Patch",
        "*** End Patch",
        "*** Update File: a.txt",
        "*** Add File: n",
        "*** Delete File: a.txt",
        "*** Move to: b",
        "*** End of File",
        "@@",
        "@@ line 5",
        "@@ -1,3 +1,3 @@",
        "@@ -0,0 +1 @@",
        "@@ -5,0 +6,2 @@",
        "@@ -1,99 +1,99 @@ x",
        "--- a/a.txt",
        "+++ b/a.txt",
        "--- /dev/null",
        "+++ /dev/null",
        "diff --git a/a.txt b/a.txt",
        "rename from a.txt",
        "rename to z",
        "copy from a.txt",
        "copy to y",
        "new file mode 100755",
        "deleted file mode 100644",
        "old mode 100644",
        "new mode 100755",
        "index 1..2 100644",
        "\\ No newline at end of file",
        "-- ",
        "",
        " ",
        "-",
        "+",
        " line 5",
        "-line 6",
        "+line 6",
        "+\r",
        "\u{feff}",
        "```",
        "EOF",
        "é😀",
        "From 0123456789 x",
        "Binary files a and b differ",
        "***************",
        "-\u{feff}x",
        "+a\rb",
    ]);
    prop_oneof![
        4 => line.clone().prop_map(Mutation::Remove),
        2 => (line.clone(), 1..6usize).prop_map(|(at, times)| Mutation::Double(at, times)),
        2 => (line.clone(), line.clone()).prop_map(|(a, b)| Mutation::Swap(a, b)),
        4 => (line.clone(), token).prop_map(|(at, token)| Mutation::Insert(at, token)),
        1 => (0..4000usize).prop_map(Mutation::Cut),
        2 => (line.clone(), prop::sample::select(vec!['+', '-', ' ', '@', '\\', 'x', '*'])).prop_map(|(at, sign)| Mutation::Sign(at, sign)),
        1 => line.clone().prop_map(Mutation::Blank),
        1 => Just(Mutation::Returns),
        1 => (line, 0..1000usize).prop_map(|(at, other)| Mutation::Splice(at, other)),
    ]
}

fn mutated(text: &str, mutations: &[Mutation]) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for mutation in mutations {
        let count = lines.len().max(1);
        let place = |at: &usize| at % count;
        match mutation {
            _ if lines.is_empty() => break,
            Mutation::Remove(at) => drop(lines.remove(place(at))),
            Mutation::Double(at, times) => {
                let line = lines[place(at)].clone();
                (0..*times).for_each(|_| lines.insert(place(at), line.clone()));
            }
            Mutation::Swap(a, b) => lines.swap(place(a), place(b)),
            Mutation::Insert(at, token) => lines.insert(place(at), (*token).to_owned()),
            Mutation::Cut(at) => {
                let text = lines.join("\n");
                let end = (*at..=text.len())
                    .find(|&at| text.is_char_boundary(at))
                    .unwrap_or(text.len());
                lines = text[..end].split('\n').map(str::to_owned).collect();
            }
            Mutation::Sign(at, sign) => {
                let line = &mut lines[place(at)];
                let rest: String = line.chars().skip(1).collect();
                *line = format!("{sign}{rest}");
            }
            Mutation::Blank(at) => lines[place(at)].clear(),
            Mutation::Returns => lines.iter_mut().for_each(|line| line.push('\r')),
            Mutation::Splice(at, other) => {
                let (_, text) = &CORPUS[other % CORPUS.len()];
                lines.truncate(place(at));
                lines.extend(text.split('\n').map(str::to_owned));
            }
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Texts that are nearly patches: none makes the reader or the plan panic or take long.
    #[test]
    fn nothing_made_of_the_corpus_does_harm(
        which in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(any_mutation(), 1..6),
        between in prop::sample::select(vec!["", "between\n", "\n", "line 5\n", "}\n}\n}\n"]),
    ) {
        let (_, text) = which.get(&CORPUS);
        let text = mutated(text, &mutations);
        let start = spent();
        try_out(&text, between);
        prop_assert!(spent() - start < Duration::from_secs(10), "{text}");
    }
}

/// Texts made to cost much. Each is read and planned, whatever comes of it, in a time that only something linear, or
/// nearly so, can keep in an unoptimised build on a busy machine.
#[test]
fn what_is_made_to_cost_much_does_not() {
    let update = |body: &str| format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch\n");
    let unified = |body: &str| format!("--- a/f\n+++ b/f\n{body}");
    let same = "}\n".repeat(10_000);
    let numbered: String = (0..10_000).map(|at| format!("line {at}\n")).collect();
    let long = "x".repeat(3_000_000);
    let hunks = |count: usize, hunk: &dyn Fn(usize) -> String| (0..count).map(hunk).collect::<String>();
    let rows: Vec<(&str, String, &str)> = vec![
        (
            "2,000 hunks on equal lines",
            update(hunks(2000, &|_| "@@\n }\n-}\n+x\n".into()).trim_end()),
            &same,
        ),
        (
            "2,000 hunks on equal lines, with right numbers",
            unified(&hunks(2000, &|at| {
                format!("@@ -{0},3 +{0},3 @@\n }}\n-}}\n+x\n }}\n", at * 4 + 1)
            })),
            &same,
        ),
        (
            "2,000 hunks on equal lines, with wrong numbers",
            unified(&hunks(2000, &|at| {
                format!("@@ -{0},3 +{0},3 @@\n }}\n-}}\n+x\n }}\n", at * 7 + 9)
            })),
            &same,
        ),
        (
            "2,000 hunks in a moved text",
            unified(&hunks(2000, &|at| {
                format!("@@ -{0} +{0} @@\n-line {1}\n+x\n", at * 4 + 900, at * 4 + 9)
            })),
            &numbered,
        ),
        (
            "2,000 hunks that are nowhere",
            update(hunks(2000, &|at| format!("@@\n-nowhere {at}\n+x\n")).trim_end()),
            &numbered,
        ),
        (
            "10,000 nested anchors",
            update(&format!("{}-}}\n+x", "@@ }\n".repeat(9_999))),
            &same,
        ),
        (
            "anchors over and over",
            update(hunks(2000, &|_| "@@ }\n@@ }\n@@ }\n-}\n+x\n".into()).trim_end()),
            &same,
        ),
        (
            "a block of equal lines",
            update(&format!("@@\n{}-x", " }\n".repeat(5000))),
            &same,
        ),
        ("long lines", update(&format!("@@\n-{long}\n+y")), &long),
        ("long lines that differ", update(&format!("@@\n-{long}y\n+y")), &long),
        (
            "a long name",
            format!("--- \"{0}\n+++ \"{0}\n@@ -1 +1 @@\n-x\n", "\\303\\251".repeat(200_000)),
            "",
        ),
        (
            "a line of blanks",
            format!("diff --git {}\n@@ -1 +1 @@\n-x\n", " ".repeat(2_000_000)),
            "",
        ),
        ("many names", "--- a/f\n+++ b/f\n".repeat(50_000), ""),
        (
            "numbers that promise much",
            unified(&"@@ -1,99999 +1,99999 @@\n-x\n".repeat(20_000)),
            "x\n",
        ),
        (
            "empty lines",
            unified(&format!("@@ -1 +1 @@\n-x\n{}+y\n", "\n".repeat(200_000))),
            "x\n",
        ),
        (
            "empty lines in the other language",
            update(&format!("@@\n-x\n{}@@\n-y", "\n".repeat(200_000))),
            "x\ny\n",
        ),
        (
            "marks",
            unified(&format!("@@ -1 +1 @@\n-x\n{}", "\\ No newline\n".repeat(100_000))),
            "x",
        ),
        (
            "signatures",
            unified(&format!("@@ -1,9 +1 @@\n-x\n{}", "-- \n\n".repeat(50_000))),
            "x\n",
        ),
        ("prose", "--- \nfrom\n".repeat(200_000), ""),
        (
            "lone returns",
            unified(&format!("@@ -1 +1 @@\n-{}\n+y\n", "a\r".repeat(200_000))),
            "a\r",
        ),
        (
            "many files",
            format!(
                "*** Begin Patch\n{}*** End Patch\n",
                hunks(5000, &|at| format!("*** Add File: d/{at}\n+x\n"))
            ),
            "",
        ),
        (
            "many moves",
            hunks(3000, &|at| {
                format!("diff --git a/f{at} b/g{at}\nrename from f{at}\nrename to g{at}\n")
            }),
            "",
        ),
    ];
    for (title, text, file) in rows {
        let mut files = Memory::default();
        files.0.insert(Path::new(ROOT).join("f"), file.to_owned());
        let start = spent();
        let fits = parse(&text).map(|patch| plan(&patch, Path::new(ROOT), &files).map_err(|error| error.to_string()));
        if let Ok(Err(message)) = &fits {
            assert!(message.len() < 100_000, "{title}: {} bytes of message", message.len());
        }
        if title.contains("right numbers") || title.contains("moved text") {
            assert!(matches!(fits, Ok(Ok(_))), "{title}: {fits:?}");
        }
        let spent = spent() - start;
        assert!(spent < Duration::from_secs(20), "{title}: {spent:?}");
    }
}
