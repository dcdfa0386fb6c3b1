//! `countersign config`: what is in force and where from, and bringing along what another home folder holds.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(dir.path().join("project/.git")).expect("a project");
        Self(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, text).expect("written");
        self
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn run(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_countersign"))
            .arg("config")
            .args(words)
            .env_clear()
            .env("HOME", self.0.path())
            .env("COUNTERSIGN_HOME", self.path("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(self.path("project"))
            .stdin(Stdio::null())
            .output()
            .expect("the program")
    }

    fn said(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn each_value_is_shown_with_its_layer_and_line() {
    let machine = Machine::new();
    let own = "# mine\nprofile = 'fast'\nmodel = 'm'\n\n[edits]\nhints = false\n[profiles.fast]\nmodel = 'quick'\n\
               [model_providers.acme]\nbase_url = 'https://a/v1'\nexperimental_bearer_token = 'hush-hush-1'\n\
               http_headers = { X-Any = 'hush-hush-2' }\n";
    machine
        .write("home/config.toml", own)
        .write("project/.countersign/config.toml", "\nmodel_verbosity = 'low'\n");
    let lines = machine.said(&["show", "--origin"]);
    let file =
        |name: &str, line: u32| format!("{}:{line}", machine.path(name).canonicalize().expect("there").display());
    let own = |line: u32| format!("{}:{line}", machine.path("home/config.toml").display());
    for expected in [
        format!("profile = \"fast\"  # {}", own(2)),
        format!("model = \"quick\"  # profile fast in {}", own(8)),
        format!("edits.hints = false  # {}", own(6)),
        "edits.approve = \"ask\"  # built-in".to_owned(),
        format!(
            "model_verbosity = \"low\"  # {}",
            file("project/.countersign/config.toml", 2)
        ),
        format!(
            "model_providers.acme.experimental_bearer_token = \"<hidden>\"  # {}",
            own(11)
        ),
        format!("model_providers.acme.http_headers.X-Any = \"<hidden>\"  # {}", own(12)),
    ] {
        assert!(lines.contains(&expected), "{expected}\n---\n{lines}");
    }
    assert!(!machine.said(&["show"]).contains(" # "));
    let shown: Value = serde_json::from_str(&machine.said(&["show", "--origin", "--json"])).expect("JSON");
    assert_eq!(shown["config"]["model"], "quick");
    let origin = |key: Value| {
        let all = shown["origins"].as_array().expect("a list");
        all.iter()
            .find(|one| one["key"] == key)
            .unwrap_or_else(|| panic!("{key}"))
            .clone()
    };
    let hints = origin(json!(["edits", "hints"]));
    assert_eq!((&hints["line"], &hints["value"]), (&json!(6), &json!(false)));
    assert_eq!(origin(json!(["sandbox_mode"]))["layer"], "built-in");
    assert_eq!(origin(json!(["model"]))["layer"], "profile fast");
    assert!(!shown.to_string().contains("hush-hush"), "{shown}");

    // What is wrong is said, and makes the status say so.
    machine.write("home/config.toml", "modle = 'x'\n");
    let output = machine.run(&["show"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        !output.status.success() && text.contains("config.toml:1: `modle` is not a known key"),
        "{text}"
    );
}

/// What a project writes into its file puts no line of its own, and nothing that hides, among what is shown.
#[test]
fn what_a_project_says_is_shown_as_what_it_is() {
    let machine = Machine::new();
    let name = r##"x\u001b[31m\n# fine\nsandbox_mode = \"read-only\"  # /home/config.toml\n#\u202e"##;
    let text = format!(
        "model = \"gpt\\u202eevil\\u200b\"\npersonality = \"{name}\"\n\"{name}\" = 1\n[edits]\n\"{name}\" = 1\n"
    );
    machine.write("project/.countersign/config.toml", &text);
    for words in [&["show", "--origin"][..], &["show"]] {
        let output = machine.run(words);
        let said = String::from_utf8(output.stdout).expect("text");
        assert!(!said.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{said}");
        assert!(said.contains("model = \"gpt<U+202E>evil<U+200B>\""), "{said}");
        assert_eq!(said.matches("is not a known key").count(), 2, "{said}");
        let is_theirs = |line: &str| line.starts_with("# fine") || line.starts_with("sandbox_mode = \"read-only\"");
        assert!(!said.lines().any(is_theirs), "{said}");
    }
}

#[test]
fn another_home_is_brought_along_and_nothing_is_written_over() {
    let machine = Machine::new();
    let theirs = "model = 'theirs' # liked\napproval_policy = 'never'\nmodel_instructions_file = 'base.md'\nunheard_of = 1\n\
                  wire = 2\nsandbox_mode = 'sometimes'\n[tui]\ntheme = 'dark'\n[model_providers.acme]\nname = 'Acme'\n\
                  base_url = 'https://a/v1'\nexperimental_bearer_token = 'hush-hush-1'\n[projects.\"/a.b\"]\ntrust_level = \"trusted\"\n\
                  [mcp_servers.docs]\ncommand = 'docs'\nargs = ['-x']\n";
    machine
        .write(".codex/config.toml", theirs)
        .write(".codex/AGENTS.md", "Be kind.")
        .write(".codex/prompts/new.md", "new")
        .write(".codex/prompts/same.md", "theirs")
        .write(".codex/prompts/notes.txt", "no")
        .write(".codex/auth.json", "{\"OPENAI_API_KEY\": \"hush-hush-2\"}")
        .write(
            "home/config.toml",
            "# mine\nmodel = 'mine'\n[mcp_servers.docs]\ncommand = 'own'\n",
        )
        .write("home/prompts/same.md", "mine");
    let before = machine.read("home/config.toml");
    let plan = machine.said(&["import"]);
    for words in [
        "approval_policy = \"never\"",
        "projects.\"/a.b\".trust_level = \"trusted\"",
        "`unheard_of` has no counterpart here",
        "line 5: `wire` has no counterpart here",
        "`tui` has no effect here yet",
        "`sandbox_mode` cannot be \"sometimes\"",
        "`model`",
        "`mcp_servers.docs`",
        "prompts/same.md",
        "--with-login",
        "Nothing was written",
    ] {
        assert!(plan.contains(words), "{words}\n---\n{plan}");
    }
    assert!(!plan.contains("hush-hush") && !plan.contains("notes.txt"), "{plan}");
    assert_eq!(machine.read("home/config.toml"), before);
    assert!(!machine.path("home/AGENTS.md").exists());

    let home = machine.path("home");
    assert!(
        machine
            .said(&["import", "--yes"])
            .ends_with(&format!("Written to {}.\n", home.display()))
    );
    let after = machine.read("home/config.toml");
    assert!(after.starts_with("# mine\nmodel = 'mine'\n"), "{after}");
    let values: toml::Table = after.parse().expect("TOML");
    assert_eq!(values["approval_policy"].as_str(), Some("never"));
    assert_eq!(values["mcp_servers"]["docs"]["command"].as_str(), Some("own"));
    assert!(
        values["mcp_servers"]["docs"].get("args").is_none(),
        "half of their server would make a third one of ours"
    );
    let base = machine.path(".codex/base.md");
    assert_eq!(values["model_instructions_file"].as_str(), base.to_str());
    assert_eq!(
        values["model_providers"]["acme"]["experimental_bearer_token"].as_str(),
        Some("hush-hush-1")
    );
    assert!(!values.contains_key("tui") && !values.contains_key("unheard_of") && !values.contains_key("sandbox_mode"));
    assert_eq!(machine.read("home/AGENTS.md"), "Be kind.");
    assert_eq!(machine.read("home/prompts/new.md"), "new");
    assert_eq!(machine.read("home/prompts/same.md"), "mine");
    assert!(!machine.path("home/auth.json").exists());

    // The login only where it is asked for; a second time there is nothing left.
    machine.said(&["import", "--yes", "--with-login"]);
    assert_eq!(mode(&machine.path("home/private/auth.json")), 0o600);
    assert!(
        machine
            .said(&["import", "--yes", "--with-login"])
            .contains("nothing to import")
    );
    assert_eq!(machine.read("home/config.toml"), after);
}

#[test]
fn what_cannot_be_brought_along_is_said() {
    let machine = Machine::new();
    machine
        .write("broken/config.toml", "model = \n")
        .write("home/config.toml", "");
    let home = machine.path("home").display().to_string();
    let broken = machine.path("broken").display().to_string();
    for (words, part) in [
        (vec!["import"], "is no folder"),
        (vec!["import", "--from", "nowhere"], "--from DIR"),
        (vec!["import", "--from", &home], "own home folder"),
        (vec!["import", "--from", &broken], "line 1"),
    ] {
        let output = machine.run(&words);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(part), "{words:?}: {told}");
    }
}
