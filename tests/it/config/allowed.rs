//! `countersign config allowed` and `forget`: what was allowed for a folder is listed whole, and forgotten.

use countersign::config::consent;
use countersign::exec::rules;
use countersign::protocol::permission::Permission;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct Machine {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl Machine {
    /// Two folders: one where each kind of thing is allowed, and another.
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().canonicalize().expect("a path");
        for name in ["one/sub", "other", "home"] {
            std::fs::create_dir_all(base.join(name)).expect("folders");
        }
        let machine = Self { _dir: dir, base };
        machine.allow("one", "sandbox_mode", &json!("danger-full-access"), true);
        machine.allow("one", "notify", &json!(["sh", "-c", "a\u{202e}b"]), false);
        machine.allow("other", "approval_policy", &json!("never"), true);
        let (home, one) = (machine.base.join("home"), machine.base.join("one"));
        let trusted = format!(
            "# mine\n[projects.{:?}]\ntrust_level = \"trusted\"\n",
            one.display().to_string()
        );
        std::fs::write(home.join("config.toml"), trusted).expect("written");
        rules::add_permission(&home, Some(&one), &Permission::Network).expect("written");
        machine
    }

    fn allow(&self, folder: &str, key: &str, value: &Value, allow: bool) {
        let folder = self.base.join(folder);
        let mark = consent::Refused {
            key: key.to_owned(),
            value: value.clone(),
            reason: String::new(),
        };
        let answer = |remembered: &mut consent::Remembered| remembered.answer(mark.fingerprint(), (key, value), allow);
        consent::change(&self.base.join("home"), &[folder], answer).expect("written");
    }

    fn said(&self, folder: &str, words: &[&str]) -> (bool, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .arg("config")
            .args(words)
            .env_clear()
            .env("HOME", &self.base)
            .env("COUNTERSIGN_HOME", self.base.join("home"))
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.base.join(folder))
            .stdin(Stdio::null())
            .output()
            .expect("the program");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).expect("text"))
    }

    fn list(&self, folder: &str) -> Vec<Value> {
        let (good, text) = self.said(folder, &["allowed", "--json"]);
        assert!(good, "{text}");
        serde_json::from_str(&text).expect("JSON")
    }

    fn texts(&self, folder: &str) -> Vec<String> {
        let list = self.list(folder);
        list.iter()
            .map(|entry| entry["text"].as_str().expect("a text").to_owned())
            .collect()
    }
}

const OF_ONE: [&str; 4] = [
    "the setting sandbox_mode = \"danger-full-access\"",
    "the setting notify = [\"sh\",\"-c\",\"a\\u202eb\"]",
    "the project, by config.toml",
    "the permission folder = ",
];

/// In the folder, below it, by `show --origin` and by `doctor`: whole, with folder and day, and with nothing hidden.
#[test]
fn what_is_allowed_for_a_folder_is_listed_whole() {
    let machine = Machine::new();
    for folder in ["one", "one/sub"] {
        let texts = machine.texts(folder);
        assert_eq!(texts.len(), OF_ONE.len(), "{texts:?}");
        for (text, expected) in texts.iter().zip(OF_ONE) {
            assert!(text.starts_with(expected), "{text}");
        }
    }
    let today = consent::today();
    let one = machine.base.join("one").display().to_string();
    for entry in machine.list("one") {
        let by_file = entry["text"] == OF_ONE[2];
        assert_eq!(
            entry["day"],
            if by_file { Value::Null } else { json!(today) },
            "{entry}"
        );
        assert_eq!(entry["folders"], json!([one]), "{entry}");
        assert_eq!(entry["allowed"], json!(entry["text"] != OF_ONE[1]), "{entry}");
    }
    assert_eq!(machine.texts("other"), ["the setting approval_policy = \"never\""]);
    assert_eq!(machine.list("other").len(), 1);
    let (_, all) = machine.said("other", &["allowed", "--everywhere"]);
    assert_eq!(all.lines().count(), OF_ONE.len() + 1, "{all}");

    let (_, shown) = machine.said("one", &["show", "--origin"]);
    let allowed = format!("Allowed for {one} on {today}: {}", OF_ONE[0]);
    let denied = format!("Not allowed for {one} on {today}: {}", OF_ONE[1]);
    for expected in [&allowed, &denied, &format!("Trusted for {one}: ")] {
        assert!(shown.contains(expected.as_str()), "{expected}\n{shown}");
    }
}

/// One by its id, then all of the folder; what is allowed elsewhere stays, and so does the rest of each file.
#[test]
fn what_is_allowed_is_taken_back_one_by_one_and_all_at_once() {
    let machine = Machine::new();
    let id = machine.list("one")[0]["id"].as_str().expect("an id").to_owned();
    let (good, said) = machine.said("other", &["forget", &id]);
    assert!(
        good && said.contains("Forgotten: Allowed for ") && said.contains(OF_ONE[0]),
        "{said}"
    );
    assert!(!machine.texts("one").contains(&OF_ONE[0].to_owned()));
    let (good, said) = machine.said("one", &["forget", &id]);
    assert!(!good && said.contains("nothing with the id"), "{said}");
    let one = machine.base.join("one");
    let kept = |folder: &Path| consent::read(&machine.base.join("home"), &[folder.to_owned()]);
    assert!(kept(&one).allowed.is_empty() && !kept(&one).denied.is_empty());

    let (good, said) = machine.said("one/sub", &["forget", "--all"]);
    assert!(good && said.matches("Forgotten: ").count() == 3, "{said}");
    assert!(machine.list("one").is_empty() && kept(&one).denied.is_empty());
    assert_eq!(machine.list("other").len(), 1);
    let config = std::fs::read_to_string(machine.base.join("home/config.toml")).expect("a file");
    assert!(config.contains("# mine") && !config.contains("trust_level"), "{config}");
    let rules = rules::load(&rules::Sources::new(&machine.base.join("home"), &[]));
    assert!(rules.permissions().next().is_none() && rules.reports().is_empty());
    // A word is needed: nothing goes by itself.
    assert!(!machine.said("one", &["forget"]).0);
}
