//! The same functions in the plugins for VS Code and Neovim, which have no properties of Unicode at hand, or those of another
//! release: what they need of them, as a table, and what must come out, as a corpus that their own tests read.

use super::visible::{TRAITS, scripts, traits};
use icu_properties::props::Script;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

const LUA: &str = "editors/nvim/lua/countersign/characters.lua";
const TYPESCRIPT: &str = "editors/vscode/src/chat/characters.ts";
const CORPUS: &str = "tests/it/corpus/shown.jsonl";
const MARKDOWN: &str = "tests/it/corpus/inert.jsonl";

const HIDES: u16 = 1;
const MARK: u16 = 1 << 2;
const SCRIPTED: u16 = 1 << 3;

/// What there is to know of a character: its traits, and the scripts that its marks or its bases are of, where that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    traits: u16,
    scripts: Vec<Script>,
}

impl Kind {
    fn of(code: u32) -> Self {
        // In planes without characters, or with private ones only, all are of a kind, and few need to be looked at; and the
        // plugins' languages know halves of characters, too.
        let is_alone = (0x40000..0xe0000).contains(&code) || code >= 0xe1000;
        let Some(c) = char::from_u32(code).filter(|_| !is_alone || code.is_multiple_of(0x1001)) else {
            return Self {
                traits: HIDES,
                scripts: Vec::new(),
            };
        };
        let traits = traits(c);
        let any = traits & HIDES == 0 && (traits & MARK == 0 || traits & SCRIPTED != 0);
        let scripts = if any { scripts(c).iter().collect() } else { Vec::new() };
        Self { traits, scripts }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        let has = |number: usize| self.traits & (1 << number) != 0;
        TRAITS
            .into_iter()
            .enumerate()
            .filter(move |(number, _)| has(*number))
            .map(|(_, name)| name)
    }

    fn is_scripted(&self) -> bool {
        self.traits & SCRIPTED != 0
    }
}

/// Characters that matter, in ranges of one kind each, counted from 1; scripts are numbers in their list.
struct Table {
    kinds: Vec<Kind>,
    ranges: Vec<(u32, u32, usize)>,
    scripts: Vec<Script>,
}

fn table() -> Table {
    let mut all: Vec<_> = (0..=u32::from(char::MAX)).map(|code| (code, Kind::of(code))).collect();
    let scripted = all.iter().filter(|(_, kind)| kind.is_scripted());
    let scripts: BTreeSet<_> = scripted.flat_map(|(_, kind)| kind.scripts.clone()).collect();
    // Scripts that have no marks of their own make no difference.
    for (_, kind) in &mut all {
        kind.scripts.retain(|script| scripts.contains(script));
    }
    let mut table = Table {
        kinds: Vec::new(),
        ranges: Vec::new(),
        scripts: scripts.into_iter().collect(),
    };
    let mut numbers = BTreeMap::new();
    for (code, kind) in all.into_iter().filter(|(_, kind)| *kind != Kind::default()) {
        let number = *numbers.entry(kind).or_insert_with_key(|kind| {
            table.kinds.push(kind.clone());
            table.kinds.len()
        });
        match table.ranges.last_mut() {
            Some((_, end, of)) if *end + 1 == code && *of == number => *end = code,
            _ => table.ranges.push((code, code, number)),
        }
    }
    table
}

impl Table {
    /// The kinds as both languages write them, some to a line.
    fn kinds(&self, is: &str, brackets: [&str; 2]) -> String {
        let mut lines = String::new();
        for some in self.kinds.chunks(4) {
            let some: Vec<_> = some
                .iter()
                .map(|kind| format!("{{ {} }}", self.fields(kind, is, brackets)))
                .collect();
            let _ = writeln!(lines, "  {},", some.join(", "));
        }
        lines
    }

    fn fields(&self, kind: &Kind, is: &str, [open, close]: [&str; 2]) -> String {
        let mut fields: Vec<_> = kind.names().map(|name| format!("{name}{is}true")).collect();
        let number = |script: &Script| self.scripts.iter().position(|one| one == script).unwrap_or_default();
        let scripts: Vec<_> = kind.scripts.iter().map(|script| number(script).to_string()).collect();
        if !scripts.is_empty() {
            fields.push(format!("scripts{is}{open}{}{close}", scripts.join(", ")));
        }
        fields.join(", ")
    }
}

/// The ranges as numbers, some to a line.
fn ranges(table: &Table) -> String {
    let mut lines = String::new();
    for some in table.ranges.chunks(8) {
        let some: Vec<_> = some
            .iter()
            .map(|(begin, end, kind)| format!("0x{begin:X}, 0x{end:X}, {kind}"))
            .collect();
        let _ = writeln!(lines, "  {},", some.join(", "));
    }
    lines
}

fn lua(table: &Table) -> String {
    let mut text =
        "--- What is known of characters, by kinds; written by the server's tests from the properties of Unicode.\n\
        -- stylua: ignore\nlocal M = {}\n\nM.kinds = {\n"
            .to_owned();
    text.push_str(&table.kinds(" = ", ["{ ", " }"]));
    text + "}\n\n--- First, last, kind.\nM.ranges = {\n" + &ranges(table) + "}\n\nreturn M\n"
}

fn typescript(table: &Table) -> String {
    let mut text =
        "/** What is known of characters, by kinds; written by the server's tests from the properties of Unicode. */\n\
        export interface Kind {\n"
            .to_owned();
    for name in TRAITS {
        let _ = writeln!(text, "  readonly {name}?: true;");
    }
    text.push_str("  readonly scripts?: readonly number[];\n}\n\nexport const KINDS: readonly Kind[] = [\n");
    text.push_str(&table.kinds(": ", ["[", "]"]));
    text + "];\n\n/** First, last, kind from 1. */\nexport const RANGES: readonly number[] = [\n"
        + &ranges(table)
        + "];\n"
}

/// A text, what [`super::text`] makes of it and what [`super::lines`] does where that is another: every kind of character between neighbors of every sort, what joins and styles
/// between any two of them, marks and blanks in numbers, and what people write.
fn corpus(table: &Table) -> String {
    const NEIGHBORS: [&str; 17] = [
        "",
        "x",
        " ",
        "/",
        "é",
        "1",
        "م",
        "٣",
        "क",
        "क\u{94d}",
        "カ",
        "ส",
        "👩",
        "❤",
        "葛",
        "ᠮ",
        "🏴",
    ];
    const BETWEEN: [&str; 6] = [
        "\u{200d}",
        "\u{200c}",
        "\u{fe0f}",
        "\u{180b}",
        "\u{e0100}",
        "\u{301}\u{200d}",
    ];
    let mut texts = Vec::new();
    let mut seen = vec![false; table.kinds.len() + 1];
    for (begin, _, kind) in &table.ranges {
        if let Some(c) = char::from_u32(*begin).filter(|_| !std::mem::replace(&mut seen[*kind], true)) {
            texts.extend(["", "x", "م", "क", "👩"].map(|one| format!("{one}{c}{one}")));
            texts.push(format!("x{}", c.to_string().repeat(5)));
        }
    }
    for before in NEIGHBORS {
        for between in BETWEEN {
            texts.extend(NEIGHBORS.iter().map(|after| format!("{before}{between}{after}")));
        }
        for mark in ['\u{301}', '\u{94d}', '\u{e38}', '\u{5b4}', '\u{20dd}'] {
            texts.push(format!("{before}{}x", mark.to_string().repeat(9)));
        }
    }
    for blanks in [1, 2, 3, 4, 40, 41, 300] {
        let (blanks, tabs) = (" ".repeat(blanks), "\t".repeat(blanks));
        for run in [&blanks, &tabs, &format!(" {tabs} ")] {
            texts.extend([
                run.clone(),
                format!("a{run}b"),
                format!("{run}a"),
                format!("a{run}"),
                format!("a\n{run}b{run}\n{run}\nc"),
                format!("م\u{200c}{run}é"),
            ]);
        }
    }
    texts.extend(PEOPLE.map(str::to_owned));
    let mut seen = BTreeSet::new();
    let mut lines = String::new();
    for text in texts.into_iter().filter(|text| seen.insert(text.clone())) {
        let (kept, counted) = (super::text(&text), super::lines(&text));
        let mut row = vec![quoted(&text), quoted(&kept)];
        row.extend(
            Some(counted)
                .filter(|counted| *counted != kept)
                .map(|counted| quoted(&counted)),
        );
        let _ = writeln!(lines, "[{}]", row.join(","));
    }
    lines
}

/// A text of Markdown, and what [`super::inert`] makes of it: pieces that mean something in any order.
fn markdown() -> String {
    const PIECES: [&str; 46] = [
        "![",
        "[",
        "]",
        "](",
        ")",
        "(",
        "<",
        "<img src=u>",
        "<b",
        "<details>",
        "</template>",
        "<sub>",
        "<T>",
        "\\",
        "`",
        "``",
        "```",
        "~~~",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        "    ",
        "https://e.org/",
        "?q=SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS",
        "a",
        "é",
        "\u{a0}",
        " ",
        "\t",
        ":",
        "!",
        "[b]: u",
        "![b]",
        "mermaid",
        "<!--",
        "-->",
        "\"",
        ">",
        "&#91;",
        "javascript:",
        "src/a.rs:12",
        "//",
        "$$",
        "\\begin{",
    ];
    let mut lines = String::new();
    // Numbers that are the same each time, by xorshift.
    let mut state = 88_172_645_463_325_252_u64;
    let mut below = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % most as u64).unwrap_or_default()
    };
    for _ in 0..1500 {
        let count = 2 + below(12);
        let text: String = (0..count).map(|_| PIECES[below(PIECES.len())]).collect();
        let _ = writeln!(lines, "[{},{}]", quoted(&text), quoted(&super::inert(&text)));
    }
    lines
}

const PEOPLE: [&str; 22] = [
    "",
    "echo a\n\techo b\n",
    "a\r\nb\rc\u{b}d\u{c}e\u{85}f\u{2028}g\u{2029}h",
    "rm \u{202e}gpj.x",
    "a\u{200b}b\u{feff}c\u{ad}d\0e\u{1b}[2Kf\u{7f}",
    "größe café naïve Ångström e\u{301} Việt Nam ǖ",
    "👩\u{200d}👩\u{200d}👧\u{200d}👦 🏳\u{fe0f}\u{200d}🌈 👩🏽\u{200d}🔬 👁\u{fe0f}\u{200d}🗨\u{fe0f} ❤\u{fe0f} ☺\u{fe0e}",
    "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} 1\u{fe0f}2 🇩🇪 ©\u{fe0f}",
    "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}",
    "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}\u{e007f}",
    "🏴\u{e0072}\u{e006d}\u{e007f} 🏴\u{e0072}x 🏴\u{e007f}",
    "السلام عليكم مَرْحَبًا می\u{200c}خواهم خانه\u{200c}ها",
    "שָׁלוֹם בְּרֵאשִׁ֖ית",
    "नमस्ते क्\u{200d}ष र्\u{200d}य শ্র র\u{200d}্য ශ්\u{200d}රී മലയാളം ന്\u{200d} ക",
    "สวัสดี น้ำ ที่ ກຳ",
    "안녕하세요 한글 각 日本語 葛\u{e0100}\u{e0101} 中文，标点。が か\u{3099}",
    "ကြွှောင့် བསྒྲུབས ខ្មែរ",
    "\u{600}12 \u{70f}12 ᠮᠣᠩᠭᠣᠯ",
    "/\u{16fe4} -\u{2d7f} _\u{11a47} /\u{1107f} \u{fffc}\u{13441}",
    "{\n  \"a\": \"b    c\",\n    \"d\": 1\n}",
    "a\u{94d}\u{200d}b a\u{200d}\u{94d} क\u{94d}\u{200d}\u{301}",
];

/// A text of JSON in plain characters, so that nothing hides in the file either.
fn quoted(text: &str) -> String {
    let mut json = "\"".to_owned();
    for unit in text.encode_utf16() {
        match char::from_u32(u32::from(unit)) {
            Some(c @ ('"' | '\\')) => json.extend(['\\', c]),
            Some(c @ ' '..='~') => json.push(c),
            _ => {
                let _ = write!(json, "\\u{unit:04x}");
            }
        }
    }
    json + "\""
}

#[test]
fn the_tables_and_the_corpus_of_the_plugins_are_in_step() {
    let table = table();
    for (path, text) in [
        (LUA, lua(&table)),
        (TYPESCRIPT, typescript(&table)),
        (CORPUS, corpus(&table)),
        (MARKDOWN, markdown()),
    ] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &text).expect("the folder can be written");
        }
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            there == text,
            "{path} is out of step; run UPDATE=1 cargo test --lib shown::"
        );
    }
}
