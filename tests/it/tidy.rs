//! What the tree must look like: formatting, walls between rooms, and the list of behaviours.

use regex::{Regex, bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file that belongs to the tree, with its path from the root and its text. What git ignores is left out, as are
/// pictures and the like.
fn files() -> Vec<(String, String)> {
    let walk = ignore::WalkBuilder::new(root())
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .filter_entry(|entry| entry.file_name() != ".git" && entry.file_name() != "target")
        .build();
    let mut files: Vec<(String, String)> = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| {
            let text = std::fs::read_to_string(entry.path()).ok()?;
            let path = entry.path().strip_prefix(root()).ok()?;
            Some((path.to_string_lossy().replace('\\', "/"), text))
        })
        .collect();
    files.sort();
    assert!(
        files.iter().any(|(path, _)| path == "src/lib.rs"),
        "the tree is not found"
    );
    files
}

/// The program's own code: comments and the tests at the end of a file taken out, line by line.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let tests = Regex::new(r"\n#\[cfg\([^\n]*\btest\b[^\n]*\)\]\n(?:#\[[^\n]*\n)*mod \w+ \{").unwrap();
    let end = tests.find(text).map_or(text.len(), |found| found.start());
    text[..end]
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.split("//").next().unwrap_or_default()))
}

/// Whether a path of `src/` is in one of the rooms.
fn is_in(path: &str, rooms: &[&str]) -> bool {
    rooms
        .iter()
        .any(|room| path == format!("src/{room}.rs") || path.starts_with(&format!("src/{room}/")))
}

/// A word, the rooms that may use it, and why no other may.
const WALLS: &[(&str, &[&str], &str)] = &[
    (
        r"\blsp_types\b",
        &["server", "handlers", "lsp"],
        "the shapes of LSP stop at lsp/",
    ),
    (
        r"\btower_lsp\b",
        &["server", "handlers", "lsp"],
        "the wire stops at server/",
    ),
    (r"\breqwest\b", &["model"], "HTTP to providers is the model layer's"),
    (r"\brmcp\b", &["mcp"], "MCP servers are spoken to by mcp/"),
    (
        r"\bprocess::(\{[^}]*)?\bCommand\b",
        &["exec", "cli/demo", "patch/disk/tests", "server/door/peer/linux/tests"],
        "processes are started, and ended, by exec/",
    ),
    (
        r"\benv::(vars?(_os)?|temp_dir|current_dir)\b",
        &[
            "cli",
            // The library looks for the session bus there by itself; this looks whether it would find one.
            "keyring/secret_service",
            // Tests as a whole.
            "agent/schedules",
            "exec/proxy/masks/tests",
            "model/conformance",
            "model/fuzz",
            "patch/disk/tests",
            "protocol/generate",
            "shown/twins",
        ],
        "the process's environment and folder come in by value, from cli/",
    ),
];

#[test]
fn walls_between_rooms_stand() {
    let files = files();
    let sources = files
        .iter()
        .filter(|(path, _)| path.starts_with("src/") && path.ends_with(".rs"));
    let mut breaches = Vec::new();
    for (word, rooms, reason) in WALLS {
        // Our names are ASCII, and without the tables of Unicode this takes a tenth of the time.
        let word = bytes::RegexBuilder::new(word).unicode(false).build().unwrap();
        for (path, text) in sources.clone().filter(|(path, _)| !is_in(path, rooms)) {
            for (line, code) in code(text) {
                if word.is_match(code.as_bytes()) {
                    breaches.push(format!("{path}:{line}: {} ({reason})", code.trim()));
                }
            }
        }
    }
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

#[test]
fn every_module_says_what_it_is_for() {
    let silent: Vec<String> = files()
        .into_iter()
        .filter(|(path, _)| path.starts_with("src/") && path.ends_with(".rs") && !path.ends_with("/tests.rs"))
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "no //! at the top of {silent:?}");
}

#[test]
fn every_test_file_runs() {
    let files = files();
    let (_, main) = files.iter().find(|(path, _)| path == "tests/it/main.rs").unwrap();
    let lost: Vec<&str> = files
        .iter()
        .filter_map(|(path, _)| path.strip_prefix("tests/it/")?.strip_suffix(".rs"))
        .filter(|name| !name.contains('/') && *name != "main" && !main.contains(&format!("mod {name};")))
        .collect();
    assert!(lost.is_empty(), "not in tests/it/main.rs: {lost:?}");
}

#[test]
fn no_path_of_a_machine_is_committed() {
    // Put together here, so that this file does not hold them.
    let roots = [["/wo", "rk/"], ["/tmp/", "wt/"], ["/ro", "ot/"], ["/tmp/bash", "_jobs"]].map(|parts| parts.concat());
    let mut found = Vec::new();
    for (path, text) in files() {
        for (at, line) in text.lines().enumerate() {
            for machine in &roots {
                // Only where a path begins.
                let begins = line.match_indices(machine).any(|(at, _)| {
                    !line[..at].ends_with(|before: char| {
                        before.is_alphanumeric() || matches!(before, '.' | '_' | '-' | '}' | ')' | '*' | '>')
                    })
                });
                if begins {
                    found.push(format!("{path}:{}: {}", at + 1, line.trim()));
                }
            }
        }
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// With other features for its tests cargo would build the program and nearly all that it stands on twice.
#[test]
fn tests_switch_on_no_feature_that_the_program_is_built_without() {
    let packages = |edges: &str| -> BTreeSet<String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let tree = Command::new(cargo)
            .args([
                "tree",
                "--locked",
                "--offline",
                "--prefix=none",
                "--format={p} {f}",
                "--edges",
                edges,
            ])
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
        let lines = String::from_utf8(tree.stdout).expect("UTF-8");
        lines
            .lines()
            .map(|line| line.trim_end_matches(" (*)").to_owned())
            .collect()
    };
    let (program, tests) = (packages("normal,build"), packages("normal,build,dev"));
    let others: Vec<_> = program.difference(&tests).collect();
    assert!(
        others.is_empty(),
        "the tests build these with more features; name them under [dependencies] too: {others:#?}"
    );
}

#[test]
fn the_code_is_formatted() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["fmt", "--check"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "run cargo fmt (rustup component add rustfmt, if it is missing)\n{text}{trouble}"
    );
}

/// The tests that show each behaviour, by id.
fn shown() -> BTreeMap<String, BTreeSet<String>> {
    // The second part is put on here, so that this file claims nothing.
    let claim = Regex::new(&format!(r"Shows{}((?:[\s,/#*!-]|and)*S-\d{{3}})+", r"\s")).unwrap();
    let id = Regex::new(r"S-\d{3}").unwrap();
    let function = Regex::new(r"\bfn\s+(\w+)").unwrap();
    let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let places = ["src/", "tests/", "editors/"];
    for (path, text) in files()
        .iter()
        .filter(|(path, _)| places.iter().any(|place| path.starts_with(place)))
    {
        if path == "tests/it/tidy.rs" {
            continue;
        }
        for found in claim.find_iter(text) {
            let test = match path.strip_suffix(".rs") {
                Some(module) => {
                    let name = function
                        .captures(&text[found.end()..])
                        .map_or("?", |parts| parts.get(1).unwrap().as_str());
                    let module = module.trim_start_matches("tests/it/").trim_start_matches("src/");
                    format!("{}::{name}", module.replace('/', "::"))
                }
                None => path.clone(),
            };
            for id in id.find_iter(found.as_str()) {
                shown.entry(id.as_str().to_owned()).or_default().insert(test.clone());
            }
        }
    }
    shown
}

#[test]
fn behaviours_are_in_step_with_the_tests() {
    let page_path: PathBuf = root().join("docs/behaviours.md");
    let page = std::fs::read_to_string(&page_path).expect("docs/behaviours.md");
    let mut shown = shown();
    let mut made = String::new();
    let mut ids = BTreeSet::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, id, area, title, status, _, _] = cells.as_slice() else {
            made.push_str(line);
            made.push('\n');
            continue;
        };
        if !id.starts_with("S-") {
            made.push_str(line);
            made.push('\n');
            continue;
        }
        assert!(ids.insert((*id).to_owned()), "{id} stands twice");
        assert!(["open", "begun", "shown"].contains(status), "{id}: {status}");
        let tests = shown.remove(*id).unwrap_or_default();
        let status = match (*status, tests.is_empty()) {
            (_, false) => "shown",
            ("shown", true) => "begun",
            (status, true) => status,
        };
        let tests = tests
            .iter()
            .map(|test| format!("`{test}`"))
            .collect::<Vec<_>>()
            .join(", ");
        made.push_str(&format!(
            "| {id} | {area} | {title} | {status} | {tests}{}|\n",
            if tests.is_empty() { "" } else { " " }
        ));
    }
    let expected: BTreeSet<String> = (1..=457).map(|number| format!("S-{number:03}")).collect();
    assert_eq!(ids, expected, "the list has every id once");
    assert!(
        shown.is_empty(),
        "tests name behaviours that are not in the list: {shown:?}"
    );
    if made == page {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&page_path, made).expect("docs/behaviours.md can be written");
        return;
    }
    let differs: Vec<&str> = made.lines().filter(|line| !page.contains(*line)).collect();
    panic!(
        "docs/behaviours.md is out of step; run UPDATE=1 cargo test --test it tidy::\n{}",
        differs.join("\n")
    );
}

/// Each cell of the page on trust names tests that are there.
#[test]
fn the_page_on_trust_names_tests_that_exist() {
    let all = files();
    let page = all.iter().find(|(path, _)| path == "docs/trust.md").expect("the page");
    let name = Regex::new(r"`([a-z_]+(?:::[a-z_0-9]+)+)`").unwrap();
    let named: Vec<&str> = name
        .captures_iter(&page.1)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    assert!(named.len() > 30, "{named:?}");
    for test in named {
        let (room, function) = test.rsplit_once("::").expect("a path");
        let file = format!("tests/it/{}.rs", room.replace("::", "/"));
        let text = all
            .iter()
            .find(|(path, _)| *path == file)
            .map(|(_, text)| text.as_str());
        assert!(
            text.is_some_and(|text| text.contains(&format!("fn {function}("))),
            "docs/trust.md names {test}, which is not in {file}"
        );
    }
    let rows = page.1.lines().filter(|line| line.starts_with("| ")).skip(1);
    for row in rows {
        assert!(row.contains("::"), "no test is named: {row}");
    }
}
