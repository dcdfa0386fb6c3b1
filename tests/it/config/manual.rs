//! What is generated from the table of keys: the schema and the table of the manual.

use countersign::config::schema;
use std::path::PathBuf;
use std::process::Command;

fn docs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

/// Compares a committed text with what it should be, or writes it where that is wanted.
fn hold(path: &PathBuf, expected: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, expected).expect("written");
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == expected,
        "{} is out of step; run with UPDATE=1 if this is meant",
        path.display()
    );
}

#[test]
fn the_schema_is_in_step_and_is_printed() {
    let expected = format!("{:#}\n", schema::schema());
    let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(["config", "schema"])
        .output();
    let output = output.expect("the program");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    hold(&docs("config.schema.json"), &expected);
}

#[test]
fn the_manual_has_every_key() {
    let path = docs("configuration.md");
    let text = std::fs::read_to_string(&path).expect("the manual");
    let (begin, end) = ("<!-- keys: generated -->\n", "<!-- /keys -->\n");
    let (before, rest) = text.split_once(begin).expect("where the table begins");
    let (_, after) = rest.split_once(end).expect("where the table ends");
    hold(&path, &format!("{before}{begin}{}{end}{after}", schema::manual()));
}
